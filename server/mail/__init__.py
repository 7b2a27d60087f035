"""Email: outgoing, incoming, and what to do when mail to a person fails."""
