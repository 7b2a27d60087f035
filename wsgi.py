"""The application for WSGI servers (`gunicorn wsgi:app`) and for `flask --app wsgi db …`."""

from server import create_app

app = create_app()
