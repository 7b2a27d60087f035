"""Tests that break things on purpose: kill the server, repeat requests, race deadlines, edit history.

`checker` checks the result: it reads the database and the journal and imports nothing of `server`.
"""
