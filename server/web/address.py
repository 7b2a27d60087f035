"""The address under which visitors see this server: that of BYZANZ_BASE_URL, whatever a request or a proxy claims.

So nothing but the visitors' own addresses is needed from a proxy, links never lead to a forged host, and the server may
lie under a path of a host, whether the proxy strips this path or passes it on.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from flask import Flask
from werkzeug.sansio.utils import get_host

from server.config import ConfigError, Settings
from server.web.visitor import Forwarded

CLAIMED_HOST = "byzanz.claimed-host"
"""Where a request keeps the Host header with which it came."""


def init_app(app: Flask) -> None:
    """Put every request under BYZANZ_BASE_URL, with the visitor's address that the proxies tell; after all routes.

    Raises:
        ConfigError: the host of BYZANZ_BASE_URL is impossible, or its path cannot be told from that of a page.
    """
    settings: Settings = app.config["BYZANZ"]
    parts = urlsplit(settings.base_url)
    if not get_host(parts.scheme, parts.netloc):
        raise ConfigError(f"BYZANZ_BASE_URL: {parts.hostname} is not a valid host name")
    segments = parts.path.split("/")[1:]
    taken = {rule.rule.split("/")[1] for rule in app.url_map.iter_rules()}
    if {*segments[:1]} & taken or {".", ".."} & {*segments}:
        raise ConfigError(
            f"BYZANZ_BASE_URL: the path {parts.path} leads to another page; choose one like /byzanz"
        )
    app.wsgi_app = BaseUrl(app.wsgi_app, settings.base_url)  # type: ignore[method-assign]
    app.wsgi_app = Forwarded(app.wsgi_app, settings.proxy_hops)  # type: ignore[method-assign]


class BaseUrl:
    """WSGI middleware that gives each request the scheme, the host and the path of the base URL.

    Args:
        app: the application.
        base_url: without a slash at its end.
    """

    def __init__(self, app: WSGIApplication, base_url: str) -> None:
        self._app = app
        parts = urlsplit(base_url)
        self._path = parts.path
        self._given = {
            "wsgi.url_scheme": parts.scheme,
            "HTTP_HOST": parts.netloc,
            "SCRIPT_NAME": parts.path,
        }

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        asked = environ | self._given
        asked[CLAIMED_HOST] = environ.get("HTTP_HOST", "")
        path = environ.get("PATH_INFO", "")
        if self._path and f"{path}/".startswith(f"{self._path}/"):  # else the proxy has stripped it
            asked["PATH_INFO"] = path[len(self._path) :]
        return self._app(asked, start_response)
