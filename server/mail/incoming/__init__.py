"""Email that comes in: replies, commands, bounces."""
