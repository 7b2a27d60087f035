"""The rules of the games: pure Python without a clock, I/O or a random generator."""

__version__ = "0.1.0"
