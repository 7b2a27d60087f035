"""People's own settings: signing in, requested links, absences, and how much email they get."""
