"""The Byzanz server: `create_app` puts its rooms together."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flask import Flask

    from server.config import Settings


def create_app(settings: Settings | None = None) -> Flask:
    """The application: pages and API on one database.

    Args:
        settings: checked settings; read from the environment when None.

    Raises:
        ConfigError: a setting is missing or bad.
    """
    # Imported here, so that `import server.db` alone does not drag the whole house in.
    from flask import Flask
    from flask_migrate import Migrate
    from werkzeug.middleware.proxy_fix import ProxyFix

    from server import api, config, db, metrics, pages, where

    chosen = settings or config.load()
    app = Flask("server", template_folder=str(where.TEMPLATES))
    app.config.update(config.for_flask(chosen))
    if chosen.proxy_hops:
        hops = chosen.proxy_hops
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=hops, x_proto=hops, x_host=0)  # type: ignore[method-assign]
    db.init_app(app)
    Migrate(app, db.db, directory=str(where.MIGRATIONS), render_as_batch=True)
    pages.init_app(app)
    api.init_app(app)
    metrics.init_app(app)
    return app
