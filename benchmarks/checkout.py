"""A process with the code of one checkout, which measures a round of pages or emails each time it is asked.

`beside.py` starts it with the interpreter of each of two checkouts and asks both in turn, so it may import only what
both have. It reads a JSON array from each line of standard input, a name and a number, and answers with a JSON object.
"""

from __future__ import annotations

import json
import smtplib
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from functools import cached_property
from time import process_time

from flask import Flask
from werkzeug.test import create_environ, run_wsgi_app

from benchmarks import load, servers
from benchmarks.load import Collector, ScriptedMove
from benchmarks.servers import CLIENTS, HOST, Server
from server.mail.outgoing import deliver
from server.mail.outgoing.smtp import MailServer, Message, Transport
from server.store import engine

WORKERS = 2
"""Processes of `byzanz web`, which is its default."""
BEGUN = 12
"""Moves that are made in each game first, so that there is something to tell."""
READERS = 4
"""Games in each round of pages; in each, somebody else reads."""
ROUNDS = 20
"""Of emails, at most."""
DELAYED = timedelta(minutes=10)
"""After this time, nothing waits any more that was queued with a delay."""
PHONE = "Mozilla/5.0 (Linux; Android 15) Mobile"


class Checkout:
    """What can be asked of this process.

    Args:
        app: the application, its context pushed, on an empty database.
        stack: stops what runs besides.
    """

    def __init__(self, app: Flask, stack: ExitStack) -> None:
        self._app = app
        self._stack = stack

    def pages(self, moves: int) -> dict[str, float]:
        """Make moves in new games; after each, open the page of a player who did not make it, twice."""
        cold, warm, views = 0.0, 0.0, 0
        for reader in range(READERS):
            game_id = load.start_game()
            token = load.tokens_of(game_id)[reader]
            for number, line in enumerate(load.script(game_id, BEGUN + moves)):
                load.play_line(game_id, line)
                if number >= BEGUN and line.seat != reader:
                    cold += self._view(token)
                    warm += self._view(token)
                    views += 1
        return {
            "cpu_milliseconds_a_cold_page": cold * 1000 / views,
            "cpu_milliseconds_a_warm_page": warm * 1000 / views,
        }

    def _view(self, token: str) -> float:
        """Return the CPU seconds of a page."""
        headers = {"Accept-Language": "en", "User-Agent": PHONE}
        environ = create_environ(f"/t/{token}", f"http://{HOST}", headers=headers)
        start = process_time()
        _, status, _ = run_wsgi_app(self._app.wsgi_app, environ, buffered=True)
        spent = process_time() - start
        if not status.startswith("200"):
            raise RuntimeError(f"a page answered {status}")
        return spent

    def mails(self, games: int) -> dict[str, float]:
        """Make a move in each of some games and send the emails of the turns that this opens, which are all new."""
        started, port, ready = self._started(games), self._mail_server, Collector()
        deliver_all(engine.utc_now() + DELAYED, Collector())  # of pages, browsers and the round before
        _move_in(started)
        with Transport(MailServer(HOST, port, "none"), "example.org") as transport:
            composed = _composed(transport, ready)
        return {
            "cpu_milliseconds_a_mail": composed * 1000 / len(ready.messages),
            "cpu_milliseconds_a_ready_mail": _ready(port, ready.messages) * 1000 / len(ready.messages),
        }

    @cached_property
    def _mail_server(self) -> int:
        return self._stack.enter_context(servers.smtp_sink())

    @cached_property
    def _games(self) -> dict[str, Iterator[ScriptedMove]]:
        return {}

    def _started(self, games: int) -> dict[str, Iterator[ScriptedMove]]:
        """Return games, the same each time, and their next moves."""
        if not self._games:
            for game_id in [load.start_game() for _ in range(games)]:
                self._games[game_id] = iter(load.script(game_id, BEGUN + ROUNDS))
            for _ in range(BEGUN):
                _move_in(self._games)
        return self._games

    def browsers(self, moves: int) -> dict[str, object]:
        """Return the port and process of `byzanz web`, and for each of eight clients a new game's moves."""
        games = load.scripts(CLIENTS, moves)
        lines = [[(line.token, line.move, line.seen) for line in game] for game in games]
        return {"port": self._web.port, "pid": self._web.pid, "games": lines}

    @cached_property
    def _web(self) -> Server:
        return self._stack.enter_context(servers.byzanz_web(load.environment(), WORKERS))


def _move_in(games: dict[str, Iterator[ScriptedMove]]) -> None:
    for game_id, lines in games.items():
        load.play_line(game_id, next(lines))


def deliver_all(now: datetime, sender: deliver.Sender) -> None:
    """Deliver all emails that are due."""
    while deliver.deliver(now, sender):
        pass


def _composed(transport: Transport, ready: Collector) -> float:
    """Return the CPU seconds of all emails that wait, composed and sent; keep them."""
    sender = Collector(transport)
    start = process_time()
    deliver_all(
        engine.utc_now() + DELAYED, sender
    )  # also about turns that their own person's move has opened
    spent = process_time() - start
    ready.messages += sender.messages
    if not ready.messages:
        raise RuntimeError("no email was sent")
    return spent


def _ready(port: int, messages: list[Message]) -> float:
    """Return the CPU seconds of sending emails whose bytes are ready."""
    start = process_time()
    with smtplib.SMTP(HOST, port) as smtp:
        for message in messages:
            smtp.sendmail(message.sender, [message.recipient], message.content)
    return process_time() - start


def main() -> None:
    """Answer until standard input ends."""
    with ExitStack() as stack:
        app, _ = stack.enter_context(load.temporary_server())
        checkout = Checkout(app, stack)
        calls: dict[str, Callable[[int], object]] = {
            "pages": checkout.pages,
            "mails": checkout.mails,
            "browsers": checkout.browsers,
        }
        for line in sys.stdin:
            name, number = json.loads(line)
            print(json.dumps(calls[name](number)), flush=True)


if __name__ == "__main__":
    main()
