"""Which page an address belongs to that only forms are sent to."""

from __future__ import annotations

import flask
from werkzeug.exceptions import HTTPException
from werkzeug.routing import RequestRedirect


def is_for_forms(status: int) -> bool:
    """Whether the address of a page that cannot be shown is one that only forms are sent to.

    Args:
        status: 405, or 404 where the address of another page has the same shape: /m/reachable could name a game.
    """
    request = flask.request
    if status not in (404, 405) or request.path.startswith("/api/"):
        return False
    try:
        rule, _arguments = flask.current_app.url_map.bind("").match(request.path, "POST", return_rule=True)
    except (HTTPException, RequestRedirect):
        return False
    return status == 405 or (request.url_rule is not None and rule.rule != request.url_rule.rule)


def page_of(path: str) -> str:
    """Return the nearest page above an address: /t/…/say belongs to /t/…, /account/mutes to /account, the rest to /.

    Args:
        path: without the path of the base URL.
    """
    routes = flask.current_app.url_map
    pages = {rule.rule for rule in routes.iter_rules() if "GET" in (rule.methods or ())}
    try:
        rule, _arguments = routes.bind("").match(path, method="POST", return_rule=True)
    except (HTTPException, RequestRedirect):
        return f"{flask.request.script_root}/"
    above, segments = rule.rule.rstrip("/"), path.rstrip("/")
    while above and above not in pages:
        above, segments = above.rpartition("/")[0], segments.rpartition("/")[0]
        if f"{above}/" in pages:  # the desk, or the home page
            return f"{flask.request.script_root}{segments}/"
    return flask.request.script_root + segments
