"""The application for WSGI servers (`gunicorn wsgi:app`) and for `flask --app wsgi db …`."""

from flask_migrate import Migrate

from server import config, create_app
from server.store import engine

app = create_app()
Migrate(app, engine.db, directory=str(config.MIGRATIONS), render_as_batch=True)
