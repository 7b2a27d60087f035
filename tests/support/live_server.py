"""A server with a real web port and a real mail port, and people who know only what their emails say."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from email.message import EmailMessage
from html.parser import HTMLParser
from http.client import HTTPConnection
from typing import Protocol
from urllib.parse import urlencode, urljoin, urlsplit

import time_machine
from flask import Flask
from sqlalchemy import select

from byzanz import record
from server import create_app
from server.demo import Inbox, free_port
from server.mail.outgoing.smtp import Transport, parse_mail_url
from server.play import history
from server.scheduler import jobs, loop
from server.store import engine, log, models, operations
from tests.conftest import NOW, settings
from tests.support.games import loaded
from tests.support.servers import below, serving

TICK = 86400.0
"""Seconds between heartbeats in the settings; days may pass here between two of them."""
LINK = re.compile(r"^https?://\S+/([a-z])/[a-z2-7]{26}$", re.MULTILINE)


@dataclass
class LiveServer:
    """The running server.

    Args:
        origin: its URL.
        inbox: its mail server, which stores incoming emails.
        read: how many emails have been read.
    """

    app: Flask
    origin: str
    inbox: Inbox
    traveller: time_machine.Traveller
    read: int = 0

    def pass_time(self, **span: float) -> None:
        """Let the machine's clock jump ahead."""
        self.traveller.shift(timedelta(**span))

    def tick(self) -> None:
        """Run one tick of the scheduler, sending emails over real SMTP."""
        now = engine.utc_now()
        with self.app.app_context():
            for part in operations.PARTS:
                loop.record_heartbeat(operations.HeartbeatRecorder(part, TICK), now, now.timestamp())
            jobs.tick_turns(now, TICK)
            jobs.tick_reminders(now)
            with Transport(parse_mail_url(self.inbox.url), "byzanz.test") as transport:
                while jobs.tick_outbox(now, transport):
                    pass

    def new_mails(self) -> list[tuple[str, EmailMessage]]:
        """Return the recipients and emails that arrived since the last call, oldest first."""
        mails = [kept for kept in reversed(self.inbox.mails()) if kept.number > self.read]
        if mails:
            self.read = mails[-1].number
        return [(kept.recipient, kept.message) for kept in mails]


@contextmanager
def live_server(database_url: str, path: str = "") -> Iterator[LiveServer]:
    """Run a server on this database, under a path of its host, its clock starting at NOW, until the block ends."""
    inbox = Inbox()
    port = free_port()
    origin = f"http://127.0.0.1:{port}{path}"
    app = create_app(settings(database_url, base_url=origin, mail_url=inbox.url))
    inbox.start()
    try:
        with serving(app, port, below(app, path)), time_machine.travel(NOW, tick=True) as traveller:
            yield LiveServer(app, origin, inbox, traveller)
    finally:
        inbox.stop()


def link(message: EmailMessage, kind: str) -> str:
    """Return the only link of this kind (`t`, `i`, `o`) that stands on its own line in the text part."""
    body = message.get_body(("plain",))
    assert body is not None
    text = body.get_content().replace("\r\n", "\n")
    found = [match.group(0) for match in LINK.finditer(text) if match.group(1) == kind]
    assert len(set(found)) == 1, (kind, text)
    return found[0]


@dataclass
class Button:
    """A button of a form."""

    name: str
    value: str


@dataclass
class Form:
    """A form of a page: its action, hidden fields, boxes and buttons."""

    action: str
    hidden: dict[str, str]
    boxes: list[str]
    buttons: list[Button]


class Hand(Protocol):
    """A way to use pages: by plain HTTP, or in a browser."""

    def open(self, address: str) -> int:
        """Open a page; return its status."""

    def forms(self) -> list[Form]:
        """Return the posting forms of the current page."""

    def press(self, form: Form, button: Button, ticked: list[str], fields: dict[str, str]) -> int:
        """Fill in a form and press a button; return the status of the next page."""

    def text(self) -> str:
        """Return the text of the page."""


class Sheet(HTMLParser):
    """Parse the posting forms and the text of a page."""

    def __init__(self, here: str, markup: str) -> None:
        super().__init__()
        self._here = here
        self._form: Form | None = None
        self.forms: list[Form] = []
        self.text = ""
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Handle forms and their contents."""
        at = {name: value or "" for name, value in attrs}
        if tag == "form":
            posts = at.get("method", "get").lower() == "post"
            self._form = Form(urljoin(self._here, at.get("action", "")), {}, [], []) if posts else None
            self.forms += [self._form] if self._form else []
        elif self._form is not None and tag == "button":
            self._form.buttons.append(Button(at.get("name", ""), at.get("value", "")))
        elif self._form is not None and tag == "input":
            self._entry(self._form, at)

    @staticmethod
    def _entry(form: Form, at: dict[str, str]) -> None:
        if at.get("type") in ("checkbox", "radio") and at.get("name") == "card":
            form.boxes.append(at["value"])
        elif at.get("type", "text") in ("hidden", "text"):
            form.hidden[at["name"]] = at.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        """Handle the end of a form."""
        if tag == "form":
            self._form = None

    def handle_data(self, data: str) -> None:
        """Collect the text of the page."""
        self.text += data


class PlainHand:
    """Pages over plain HTTP, without cookies."""

    def __init__(self) -> None:
        self.page = Sheet("", "")

    def _request(self, method: str, address: str, body: str | None = None) -> int:
        parts = urlsplit(address)
        connection = HTTPConnection(parts.netloc, timeout=30)
        headers = {"Content-Type": "application/x-www-form-urlencoded"} if body is not None else {}
        connection.request(method, parts.path, body=body, headers=headers)
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        if response.status in (302, 303):
            return self._request("GET", urljoin(address, response.getheader("Location") or ""))
        self.page = Sheet(address, text)
        return response.status

    def open(self, address: str) -> int:
        """Open a page; return its status."""
        return self._request("GET", address)

    def forms(self) -> list[Form]:
        """Return the posting forms of the current page."""
        return self.page.forms

    def press(self, form: Form, button: Button, ticked: list[str], fields: dict[str, str]) -> int:
        """Fill in a form and press a button; return the status of the next page."""
        sent = [*(form.hidden | fields).items(), *(("card", value) for value in ticked)]
        if button.name:
            sent.append((button.name, button.value))
        return self._request("POST", form.action, urlencode(sent))

    def text(self) -> str:
        """Return the text of the page."""
        return " ".join(self.page.text.split())


@dataclass
class Player:
    """A player who chooses at random from what the page offers.

    Args:
        answers: whether they ever answer a turn email.
        refused: how many moves the server refused with a reason.
        moves: how many they made.
    """

    address: str
    hand: Hand
    chance: random.Random
    answers: bool = True
    refused: int = 0
    moves: int = 0

    def take_seat(self, message: EmailMessage) -> None:
        """Follow the invitation and take the seat with a cut."""
        assert self.hand.open(link(message, "i")) == 200
        form = next(form for form in self.hand.forms() if form.hidden.get("answer") == "accept")
        assert self.hand.press(form, form.buttons[0], [], {"cut": f"cut of {self.address}"}) == 200

    def play(self, address: str) -> None:
        """Open the link of a turn email and play until the page asks nothing more."""
        assert self.hand.open(address) == 200
        for _ in range(40):
            form = next((form for form in self.hand.forms() if "seen" in form.hidden), None)
            if form is None or not form.buttons:
                return
            if not self._decide(form):  # the page that comes back asks on
                return
        raise AssertionError("a turn that never ends")

    def _decide(self, form: Form) -> bool:
        """Press one button; return False if this seat is not to move."""
        exact = [button for button in form.buttons if button.name == "move"]
        asked = [button for button in exact if not button.value.startswith("sell")]
        if not asked:
            return False
        if (
            any(button.value == "bid" for button in form.buttons)
            and form.boxes
            and self.chance.random() < 0.6
        ):
            self._bid(form)
            return True
        sales = [button for button in exact if button.value.startswith("sell")]
        self._press(form, self.chance.choice(sales if sales and self.chance.random() < 0.7 else asked))
        return True

    def _bid(self, form: Form) -> None:
        goods = [box for box in form.boxes if not box.startswith("merchant")]
        ticked = self.chance.sample(goods, self.chance.randint(1, min(3, len(goods)))) if goods else []
        status = self.hand.press(form, Button("verb", "bid"), ticked, {})
        if status == 422:
            self.refused += 1
            again = next(form for form in self.hand.forms() if "seen" in form.hidden)
            self._press(again, Button("move", "pass"))
        else:
            assert status == 200, (status, self.hand.text())
            self.moves += 1

    def _press(self, form: Form, button: Button) -> None:
        status = self.hand.press(form, button, [], {})
        assert status == 200, (status, button, self.hand.text())
        self.moves += 1


# ---- whole games over HTTP and SMTP ----


def organise(server: LiveServer, people: dict[str, Player], slug: str = "byzanz") -> None:
    """Create a game on the page as the first player and confirm it by email; the others take their seats by email."""
    first, *friends = people.values()
    assert first.hand.open(f"{server.origin}/new") == 200
    form = first.hand.forms()[0]
    wish = {
        "game": slug,
        "title": "The Golden Horn",
        "name": "Alice",
        "address": first.address,
        "plays": "yes",
        "players": "\n".join(friend.address for friend in friends),
        "time_zone": "Europe/Berlin",
    }
    status = first.hand.press(form, form.buttons[-1], [], wish)
    assert status == 200, first.hand.text()
    server.tick()
    [(to, confirm)] = server.new_mails()
    assert to == first.address
    assert first.hand.open(link(confirm, "o")) == 200
    [press] = [form for form in first.hand.forms() if form.hidden.get("do") == "confirm"]
    assert first.hand.press(press, press.buttons[-1], [], {"cut": "from the top"}) == 200
    server.tick()
    invited = server.new_mails()
    assert sorted(to for to, _ in invited) == sorted(people)
    for to, message in invited:
        if to != first.address:  # whose mail confirms the seat
            people[to].take_seat(message)


def play_to_the_end(server: LiveServer, people: dict[str, Player]) -> dict[str, int]:
    """Let everyone answer their emails until the game is over; return how many emails of each kind came."""
    seen: dict[str, int] = {}
    ended: set[str] = set()
    idle = 0
    while ended != set(people):
        server.tick()
        mails = server.new_mails()
        idle = 0 if mails else idle + 1
        assert idle < 5, "nobody is mailed any more, and the game is not over"
        if not mails:
            server.pass_time(hours=25) if idle > 1 else server.pass_time(minutes=3)
        for to, message in mails:
            kind = kind_of(message)
            seen[kind] = seen.get(kind, 0) + 1
            if kind == "over":
                ended.add(to)
            elif kind == "turn" and people[to].answers:
                people[to].play(link(message, "t"))
    return seen


def kind_of(message: object) -> str:
    text = str(message.get_body(("plain",)).get_content())  # type: ignore[attr-defined]
    if "See how it went" in text:
        return "over"
    if "Move by" in text:
        return "turn"
    return "other"


def assert_a_true_record(server: LiveServer, n: int) -> record.Record:
    with server.app.app_context(), engine.reading() as session:
        game = session.scalars(select(models.Game)).one()
        assert game.status == "over"
        entries = log.entries(session, game.id)
        if game.slug == "byzantium":  # as many rounds as players, each with a deal; short ones hold few moves
            assert sum(entry.by == "chance" for entry in entries) == n
        elif game.slug == "empire":  # which may fall in its first year
            assert {"redraw", "meld"} <= {entry.move.partition(" ")[0] for entry in entries}
        else:
            assert len(entries) > 20 * n
        kept = history.record_for(loaded(session, game.id), "all")
    again = next(iter(record.read(record.write(kept).splitlines())))
    report = record.verify(again)
    assert report.replayed
    assert report.unchecked == 0
    return again
