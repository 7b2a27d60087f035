"""A game's public pages: history, charts, verification."""
