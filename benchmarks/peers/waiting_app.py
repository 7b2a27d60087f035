"""Byzanz with one more address, /wait?SECONDS, which answers later: for comparing web servers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from server import create_app

Environ: TypeAlias = dict[str, Any]
StartResponse: TypeAlias = Callable[..., Any]
byzanz = create_app()


def application(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    """Answer a request."""
    if environ["PATH_INFO"] != "/wait":
        return byzanz(environ, start_response)
    time.sleep(float(environ["QUERY_STRING"]))
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "6")])
    return [b"waited"]
