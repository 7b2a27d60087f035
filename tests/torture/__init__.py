"""Tests that break things on purpose (promises.md): kill the server, ask ten times, race deadlines, edit history.

`checker` judges what is left: it reads the database and the journal and knows nothing of `server`.
"""
