"""About this server: privacy, accessibility, and what programs look for at known addresses."""

from __future__ import annotations

from datetime import timedelta
from email.utils import parseaddr

import flask
from flask import Blueprint, Response, render_template, url_for

from server import config, i18n
from server.config import settings
from server.mail.incoming import receive
from server.store import outbox
from server.store.engine import utc_now

blueprint = Blueprint("about", __name__)
INDEXED = {"lobby.index", "lobby.rules", "about.show"}
"""The only pages that search engines may list; the public pages of games carry people's names."""
CONTACT_LIFETIME = timedelta(days=180)
"""For how long security.txt says that it holds."""


@blueprint.get("/about")
def show() -> str:
    """Show what is kept about people, why, for how long and how it is erased, and what to do about barriers."""
    return render_template(
        "lobby/about_server.html",
        contact=_contact(),
        days=outbox.RETENTION.days,
        days_in=receive.RETENTION.days,
        by_mail=bool(settings().mail_domain),
    )


def _contact() -> tuple[str, str] | None:
    """Return the operator's address: as a link, and as text; None if it is not set."""
    given = settings().contact or parseaddr(settings().mail_from)[1]
    if given.endswith("@localhost"):
        return None
    return (given if "://" in given else f"mailto:{given}"), given


@blueprint.get("/robots.txt")
def robots() -> Response:
    """Keep programs out of what takes long to answer; other pages say themselves that they are not to be listed."""
    root = flask.request.script_root
    rules = [f"Disallow: {root}{path}" for path in ("/api/", "/g/*/history", "/g/*/verify")]
    return _text("User-agent: *", *rules, f"Sitemap: {settings().base_url}/sitemap.xml")


@blueprint.get("/sitemap.xml")
def sitemap() -> Response:
    """List the pages that search engines may list."""
    paths = ["/", *(f"/rules/{rules.slug}" for rules in config.offered_games()), "/about"]
    rows = "".join(f"<url><loc>{settings().base_url}{path}</loc></url>" for path in paths)
    text = f'<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{rows}</urlset>'
    return Response(text, mimetype="application/xml")


@blueprint.get("/.well-known/security.txt")
def security() -> Response:
    """Say whom to tell about a security problem (RFC 9116)."""
    contact = _contact()
    if contact is None:
        flask.abort(404)
    expires = (utc_now() + CONTACT_LIFETIME).strftime("%Y-%m-%dT00:00:00Z")
    return _text(
        f"Contact: {contact[0]}",
        f"Expires: {expires}",
        f"Preferred-Languages: {', '.join(i18n.NAMES)}",
        f"Canonical: {settings().base_url}{url_for('.security').removeprefix(flask.request.script_root)}",
    )


def _text(*lines: str) -> Response:
    return Response("\n".join(lines) + "\n", mimetype="text/plain")
