"""Incoming email: replies, commands and bounces."""
