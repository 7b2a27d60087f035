"""`byzanz demo`: a complete server to try out, on this machine only, that leaves nothing behind."""

from __future__ import annotations

import logging
import secrets
import socket
import tempfile
import time
from functools import partial
from pathlib import Path

from flask import Flask
from pydantic import SecretStr
from sqlalchemy import select

from server import create_app
from server.config import ConfigError, Settings, offered
from server.demo import inbox as inbox_pages
from server.demo.smtp_sink import Inbox
from server.lobby import create
from server.ops import logs, serve
from server.ops.slow_clients import is_answered
from server.scheduler import jobs
from server.scheduler.clockwork import Scheduler
from server.store import engine, links, migrate, people
from server.store.models import Turn
from server.validation import Guest

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
    for line in offered.warnings(settings):
        LOGGER.warning(line)
    app = create_app(settings)
    inbox_pages.install(app, inbox)
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
        return links.url(links.link_for(session, "seat", you.id, game_id, engine.utc_now()))


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
