"""A game's pages: history, charts, verification."""
