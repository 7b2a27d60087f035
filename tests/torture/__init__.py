"""Tests that break things on purpose (promises.md): kill the server, ask ten times, race deadlines, edit history.

`checker` and `book` judge what is left; they read the database and the journal and know nothing of `server`.
"""
