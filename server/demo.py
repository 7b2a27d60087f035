"""`byzanz demo`: a complete server to try out, on this machine only, that leaves nothing behind."""

from __future__ import annotations

import itertools
import logging
import secrets
import socket
import tempfile
import time
from collections import deque
from dataclasses import dataclass
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from functools import partial
from pathlib import Path
from typing import Any

import flask
from aiosmtpd.controller import Controller
from flask import Blueprint, Flask, Response, render_template
from pydantic import SecretStr
from sqlalchemy import select

from server import config, create_app
from server.config import ConfigError, Settings
from server.lobby import create
from server.ops import logs, serve
from server.ops.checks import is_answered
from server.scheduler import jobs
from server.scheduler.loop import Scheduler
from server.store import engine, links, migrate, people
from server.store.models import LinkPurpose, Turn
from server.validation import Guest

# ---- the inbox ----

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


# ---- the mail server ----

MOST_MAILS = 500
"""Mails that the inbox keeps."""
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class StoredMail:
    """A received mail; `number` counts from 1."""

    number: int
    recipient: str
    message: EmailMessage

    def text(self) -> str:
        """Return the text part."""
        return self._part("plain")

    def html(self) -> str:
        """Return the HTML part."""
        return self._part("html")

    def _part(self, kind: str) -> str:
        part = self.message.get_body((kind,))
        return str(part.get_content()).replace("\r\n", "\n") if part is not None else ""


class Inbox:
    """An SMTP server on the loopback address; nothing it receives leaves the machine."""

    def __init__(self) -> None:
        self._mails: deque[StoredMail] = deque(maxlen=MOST_MAILS)
        self._numbers = itertools.count(1)
        self.port = free_port()
        self._controller = Controller(self, hostname=LOOPBACK, port=self.port, ready_timeout=30)

    @property
    def url(self) -> str:
        """The value for BYZANZ_MAIL_URL."""
        return f"smtp://{LOOPBACK}:{self.port}"

    def start(self) -> None:
        """Start to receive mail, in its own thread."""
        self._controller.start()

    def stop(self) -> None:
        """Stop receiving; stored mails stay readable."""
        self._controller.stop()

    def mails(self) -> list[StoredMail]:
        """Return the stored mails, newest first."""
        return list(reversed(self._mails.copy()))

    def mail(self, number: int) -> StoredMail | None:
        """Return the mail with this number, if it is still stored."""
        return next((stored for stored in self.mails() if stored.number == number), None)

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802  # aiosmtpd's name
        """Store a mail; called by aiosmtpd."""
        message = message_from_bytes(envelope.content, _class=EmailMessage, policy=default)
        self._mails.append(StoredMail(next(self._numbers), ", ".join(envelope.rcpt_tos), message))
        return "250 kept"


def free_port() -> int:
    """Return a free port of the loopback address; aiosmtpd needs one."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


# ---- the demo ----

LOGGER = logging.getLogger(__name__)
HOST = "127.0.0.1"
FIRST_PORT, LAST_PORT = 8000, 8099
"""The ports to try when none is given."""
PLAYER = Guest("Theodora", "you@byzanz.example")
MODERATOR = "moderator@byzanz.example"
BOT_TIMEOUT = 60.0
"""Seconds for the bots to move until it is your turn; they take one or two."""


def run(port: int | None, players: int, game: str, bot: str) -> None:
    """Run the demo until SIGTERM or Ctrl-C.

    Args:
        port: 0 for any free port; None for the first free one from 8000 on.
        players: how many sit at the table, including you; the others are bots.
        game: its slug.
        bot: the kind of the other players, see `bots.BOTS`.

    Raises:
        ConfigError: the port cannot be used. InvalidInput: no such game or bot, or the wrong number of players.
    """
    logs.log_to_stderr()
    serve.exit_on_sigterm()
    with tempfile.TemporaryDirectory(prefix="byzanz-demo-") as folder, _listener(port) as listener:
        _print_step(f"Starting a server in {folder}, which is removed when you stop it")
        inbox = Inbox()
        inbox.start()
        try:
            _play(_app(Path(folder), listener, inbox), listener, players, game, bot)
        finally:
            inbox.stop()


def _listener(port: int | None) -> socket.socket:
    if port is not None:
        return serve.listening(HOST, port)
    for each in range(FIRST_PORT, LAST_PORT + 1):
        try:
            return serve.listening(HOST, each)
        except ConfigError:
            continue
    raise ConfigError(f"no port from {FIRST_PORT} to {LAST_PORT} is free: choose another one with --port")


def _app(folder: Path, listener: socket.socket, inbox: Inbox) -> Flask:
    settings = Settings(  # whatever the environment says
        home=folder,
        database_url=f"sqlite:///{folder}/byzanz.db",
        database_url_file="",
        mail_url=inbox.url,
        mail_url_file="",
        mail_from="Byzanz <games@byzanz.example>",
        mail_domain="",  # no replies by email here
        base_url=f"http://{HOST}:{listener.getsockname()[1]}",
        secret_key=SecretStr(secrets.token_hex(32)),
        secret_key_file="",
        proxy_hops=0,
        rate_limits=False,  # only you can reach it
        tick=1.0,
        games="",
    )
    for line in config.game_warnings(settings):
        LOGGER.warning(line)
    app = create_app(settings)
    install(app, inbox)
    with app.app_context():
        migrate.upgrade()
    _print_step("Creating an empty database, and a mail server that delivers only to a local inbox")
    return app


def _play(app: Flask, listener: socket.socket, players: int, game: str, bot: str) -> None:
    settings: Settings = app.config["BYZANZ"]
    scheduler = Scheduler(app, settings, answers=partial(is_answered, listener.getsockname()))
    try:
        with app.app_context():
            bots = [bot] * (players - 1)
            game_id = create.quick_game(
                slug=game, players=[PLAYER], bots=bots, start=True, now=engine.utc_now()
            )
            _appoint_moderator()
            _print_step(f"Starting a game of {game}: you and {players - 1} bots")
            link = _link(game_id)
            _let_bots_move(game_id)
        greeting = "\n".join(
            (
                "",
                f"Your turn:  {link}",
                f"Your inbox: {settings.base_url}/inbox",
                f"Moderator:  sign in as {MODERATOR} at {settings.base_url}/sign-in",
                "Press Ctrl-C to stop.",
            )
        )
        serve.run(app, listener, scheduler, greeting)
    finally:
        with app.app_context():
            engine.db.engine.dispose()


def _link(game_id: str) -> str:
    with engine.transaction() as session:
        you = people.get_or_create(session, PLAYER.address, PLAYER.name, engine.utc_now())
        return links.url(links.link_for(session, LinkPurpose.SEAT, you.id, game_id, engine.utc_now()))


def _appoint_moderator() -> None:
    with engine.transaction() as session:
        people.get_or_create(session, MODERATOR, "Moderator", engine.utc_now()).moderator = True


def _let_bots_move(game_id: str) -> None:
    """Let the bots move until it is your turn: the link should open a table with a decision on it."""
    yours = select(Turn).where(Turn.game_id == game_id, Turn.seat == 0)
    limit = time.monotonic() + BOT_TIMEOUT
    while time.monotonic() < limit:
        with engine.reading() as session:
            if session.scalar(yours) is not None:
                return
        jobs.tick_bots(engine.utc_now())
    raise ConfigError("the bots took too long: this machine is too busy for a demo")


def _print_step(line: str) -> None:
    print(f"{line} …", flush=True)
