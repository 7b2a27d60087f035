"""Finished games that must replay bit for bit under the rules they name, forever (see README.md here).

`shelf` stores the games and their hashes; `replay` replays one and reports every difference.
"""
