"""The rules of the games: pure Python, no clock, no input or output, no generator of its own."""

__version__ = "0.1.0"
