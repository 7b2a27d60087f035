"""Recurring work: due turns, reminders, bots, emails, heartbeats."""
