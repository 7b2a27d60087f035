"""The CPU time of an email of a turn, composed and sent, beside one whose bytes are ready.

Both are sent by this process, so that its CPU time is theirs, to a mail server that forgets them.
"""

from __future__ import annotations

import smtplib
from collections.abc import Iterator, Mapping
from time import process_time

from benchmarks.fixtures import ScriptedMove, play_line, script, start_game, temporary_server
from benchmarks.peers import programs
from benchmarks.processes import HOST
from benchmarks.table.figures import Figures, Size
from server.mail.outgoing import deliver
from server.mail.outgoing.smtp import MailServer, Message, Transport
from server.store import engine

BEGUN = 12
"""Moves that are made in each game first, so that there is something to tell."""


def measure(size: Size, figures: Figures) -> None:
    """In each round, make one move in each game and send the emails of the turns that this opens."""
    with temporary_server(), programs.smtp_sink() as port:
        started = [start_game(f"mail{number}") for number in range(size.mails)]
        lines = {game_id: iter(script(game_id, BEGUN + size.rounds + 1)) for game_id in started}
        for _ in range(BEGUN):
            _move_in(lines)
        ready = Collector()
        deliver_all(ready)
        for number in range(size.rounds + 1):
            into = figures if number else Figures()  # the first round warms up
            _move_in(lines)
            with Transport(MailServer(HOST, port, "none"), "example.org") as transport:
                _add("cpu_milliseconds_a_mail", *_composed(transport), into)
            _add("cpu_milliseconds_a_ready_mail", *_ready(port, ready.messages[: size.mails]), into)


class Collector:
    """A mail sender that keeps the messages."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def send(self, message: Message) -> None:
        """Keep a message."""
        self.messages.append(message)


class Counter:
    """A mail sender that counts what another one sends.

    Args:
        transport: the other one.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.sent = 0

    def send(self, message: Message) -> None:
        """Send a message."""
        self._transport.send(message)
        self.sent += 1


def deliver_all(sender: deliver.Sender) -> None:
    """Deliver everything that is due."""
    while deliver.deliver(engine.utc_now(), sender):
        pass


def _move_in(games: Mapping[str, Iterator[ScriptedMove]]) -> None:
    for game_id, lines in games.items():
        play_line(game_id, next(lines))


def _composed(transport: Transport) -> tuple[float, int]:
    counter = Counter(transport)
    start = process_time()
    deliver_all(counter)
    return process_time() - start, counter.sent


def _ready(port: int, messages: list[Message]) -> tuple[float, int]:
    start = process_time()
    with smtplib.SMTP(HOST, port) as smtp:
        for message in messages:
            smtp.sendmail(message.sender, [message.recipient], message.content)
    return process_time() - start, len(messages)


def _add(name: str, seconds: float, mails: int, figures: Figures) -> None:
    if not mails:
        raise RuntimeError("no email was sent")
    figures.add(name, seconds * 1000 / mails)
