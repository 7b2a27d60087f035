"""`byzanz demo`: a complete server to try out, with its own SMTP server and inbox."""
