"""`byzanz demo`: a whole server to try out, with an SMTP server and an inbox of its own."""
