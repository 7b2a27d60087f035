"""A moderator's acts on a running game; `play.moderate` is the way in."""
