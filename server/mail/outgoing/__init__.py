"""Email that goes out."""
