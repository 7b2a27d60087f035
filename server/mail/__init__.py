"""Mails: whether one is still news, how it is written, how it is handed to a mail server."""
