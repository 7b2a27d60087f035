"""The Byzanz server; `create_app` builds the Flask application."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flask import Flask

    from server.config import Settings


def create_app(settings: Settings | None = None) -> Flask:
    """Create the application: pages and API on one database.

    Args:
        settings: validated settings; if None, they are read from the environment.

    Raises:
        ConfigError: a setting is missing or invalid.
    """
    # Imported here, so that importing one module of the package does not load the whole application.
    from flask import Flask

    from server import config
    from server.mail.outgoing import queue
    from server.ops import logs, metrics
    from server.play import game
    from server.store import engine
    from server.web import http, setup

    chosen = settings or config.load()
    app = Flask("server", template_folder=str(config.TEMPLATES))
    app.config.update(config.for_flask(chosen))
    engine.init_app(app)
    setup.init_app(app)
    metrics.init_app(app)
    http.init_app(app)
    logs.init_app(app)
    game.register(app, queue.queue)
    return app
