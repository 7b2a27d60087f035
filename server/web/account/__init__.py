"""Signing in, settings, feeds."""
