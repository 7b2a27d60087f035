"""What happens without anybody asking: due turns, reminders, bots, emails, heartbeats."""
