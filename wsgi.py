"""What a WSGI server imports: `gunicorn wsgi:app`; also where `flask --app wsgi db …` finds the app."""

from server import create_app

app = create_app()
