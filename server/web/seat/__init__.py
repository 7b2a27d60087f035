"""A player's own pages: turn, orders, leaving."""
