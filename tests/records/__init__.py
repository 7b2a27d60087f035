"""Finished games that must replay bit for bit under the rules they name, for ever (README.md here says how).

`shelf` keeps the games and their hashes, `replay` plays one over again and says what is no longer so.
"""
