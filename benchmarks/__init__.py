"""Benchmarks: `python3 dev.py bench [NAME]`."""
