"""`/inbox` of `byzanz demo`: the mails that the server has sent, each in a sandboxed frame. No other server has it."""

from __future__ import annotations

import flask
from flask import Blueprint, Flask, Response, render_template

from server.demo.smtp_sink import Inbox, StoredMail

blueprint = Blueprint("inbox", __name__, url_prefix="/inbox")
PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; frame-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""For the page that frames a mail."""
MAIL_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'; "
    "sandbox allow-top-navigation-by-user-activation"
)
"""For the mail itself: its own styles, no scripts, nothing loaded, links only by a click."""


def install(app: Flask, inbox: Inbox) -> None:
    """Add the inbox to an app; for `byzanz demo` only, which listens on the loopback address."""
    app.config["DEMO_INBOX"] = inbox
    if blueprint.name not in app.blueprints:
        app.register_blueprint(blueprint)


@blueprint.get("")
def mails() -> str:
    """List all mails, newest first."""
    return render_template("demo/inbox.html", mails=_inbox().mails(), mail=None)


@blueprint.get("/<int:number>")
def mail(number: int) -> Response:
    """Show one mail: its headers, its text, its HTML in a frame."""
    page = render_template("demo/inbox.html", mails=[], mail=_found(number))
    return Response(page, headers={"Content-Security-Policy": PAGE_POLICY})


@blueprint.get("/<int:number>/html")
def framed(number: int) -> Response:
    """Serve the HTML of a mail alone; its links open in the whole window."""
    html = _found(number).html().replace("<head>", '<head><base target="_top">', 1)
    return Response(html, headers={"Content-Security-Policy": MAIL_POLICY, "X-Frame-Options": "SAMEORIGIN"})


def _found(number: int) -> StoredMail:
    stored = _inbox().mail(number)
    if stored is None:
        flask.abort(404)
    return stored


def _inbox() -> Inbox:
    inbox = flask.current_app.config["DEMO_INBOX"]
    assert isinstance(inbox, Inbox)
    return inbox
