"""One of two worlds: a server with a game of a pair, differing in everything that its viewer may not know.

Besides the cards, the worlds differ in the seed, in salts, causes and notes of other players' moves, and in other
players' request ids, links, addresses and time zones. Public data is equal to the byte: ids, times, causes, cuts.
"""

from __future__ import annotations

import hashlib
import io
import re
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import time_machine
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from byzanz import chance, record
from byzanz.rules import PUBLIC
from server import create_app, play
from server.mail.outgoing import deliver
from server.mail.outgoing.smtp import Message
from server.play import running
from server.play.positions import Position
from server.store import engine, links, log, outbox, people
from server.store.facts import Fact
from server.store.models import (
    Block,
    Entry,
    Game,
    Link,
    Mail,
    Mute,
    Notes,
    Person,
    Presence,
    Seat,
    Snapshot,
    StandingOrder,
    Turn,
    Word,
)
from tests.conftest import NAMES, NOW, settings
from tests.support import game_data
from tests.support.leaks.games import Step
from tests.support.leaks.pairs import Pair, Play
from tests.support.mail_servers import received

BASE = "https://byzanz.test"
ZIP = b"PK\x03\x04"
LIVE = 3
"""Decisions at the end of a pair that are made through pages and API; earlier ones are written as a log."""
HASH = re.compile(r"[0-9a-f]{64}")
MARK = re.compile(r"\b(?:[0-9a-f]{32})?(\.?[a-z0-9]{1,16}\.\d{1,9}\.)[0-9a-f]{16}\.[0-9a-f]{16}\b")
"""Where a log stood, in a Message-ID or a link: the entry's number with a part of its hash."""
BOUNDARY = re.compile(r"=_[0-9a-f]{32}")
"""Between the parts of an email; made from its key, in which there is a part of a hash."""
ORDERS = game_data.of_all("ORDER")
ZONES = ("Europe/Amsterdam", "Asia/Tokyo")
LATER = NOW + timedelta(days=1)
"""When the last decisions are made and all requests are sent."""


class Dice:
    """Replaces `secrets`: its output follows from a label, so that both worlds draw the same when they should."""

    def __init__(self) -> None:
        self.label = ""
        self._drawn = 0

    def relabel(self, label: str) -> None:
        """Start a new sequence."""
        self.label, self._drawn = label, 0

    @contextmanager
    def labelled(self, label: str) -> Iterator[None]:
        """Draw from another sequence for a while."""
        before = self.label, self._drawn
        self.relabel(label)
        yield
        self.label, self._drawn = before

    def token_bytes(self, n: int = 32) -> bytes:
        """Like `secrets.token_bytes`."""
        self._drawn += 1
        return hashlib.shake_256(f"{self.label} {self._drawn}".encode()).digest(n)

    def token_hex(self, n: int = 32) -> str:
        """Like `secrets.token_hex`."""
        return self.token_bytes(n).hex()

    def token_urlsafe(self, n: int = 32) -> str:
        """Like `secrets.token_urlsafe`, but longer."""
        return self.token_hex(n)

    def randbelow(self, n: int) -> int:
        """Like `secrets.randbelow`."""
        return int.from_bytes(self.token_bytes(8), "big") % n

    def choice(self, items: Any) -> Any:
        """Like `secrets.choice`."""
        return items[self.randbelow(len(items))]


class Desk:
    """A mail server that stores its emails."""

    def __init__(self) -> None:
        self.kept: list[EmailMessage] = []

    def send(self, message: Message) -> None:
        """Accept an email."""
        self.kept.append(received(message))


@dataclass
class World:
    """A server with one game of a pair.

    Args:
        other: whether it is the second world, in which everything hidden differs.
        answers: the answers to the viewer's own moves.
    """

    other: bool
    file: Path
    empty: Path
    dice: Dice
    pair: Pair
    answers: list[str]

    def __post_init__(self) -> None:
        self.app = create_app(settings(f"sqlite:///{self.file}", mail_domain="byzanz.test"))
        self.app.config["WORLD"] = self
        self.masks: dict[str, str] = {}

    @property
    def seat(self) -> int | None:
        """The viewer's seat, None for a spectator."""
        return self.pair.viewer if isinstance(self.pair.viewer, int) else None

    @property
    def tag(self) -> str:
        """A label that makes hidden values differ."""
        return "B" if self.other else "A"

    @property
    def game_id(self) -> str:
        """A label that is the same in both worlds."""
        return f"pair{self.pair.seed}"

    @property
    def steps(self) -> Play:
        """The game as this world has it."""
        return self.pair.plays[self.other]

    def open(self, file: Path, pair: Pair) -> None:
        """Continue with the database of this file."""
        with self.app.app_context():
            engine.db.engine.dispose()
        for path in self.file.parent.glob(f"{self.file.name}*"):
            path.unlink()
        shutil.copy(file, self.file)
        self.pair, self.answers = pair, []
        with self.app.app_context():
            self.masks = self._masks()

    def keep(self, file: Path) -> None:
        """Copy the database to a file."""
        with self.app.app_context(), engine.db.engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        shutil.copy(self.file, file)

    def play(self, pair: Pair) -> None:
        """Write the game of a pair up to its last decisions, make those through pages and API, and email everyone."""
        self.open(self.empty, pair)
        laid, live = _split(self.steps)
        with self.app.app_context():
            with engine.transaction() as session:
                self._seat_people(session)
                self._lay_out(session, laid)
                self._leave_orders(session)
                self._talk(session)
            for number, step in enumerate(live):
                self._decide(number, step)
            self._send_mails()
            self.masks = self._masks()

    def person(self, session: Session, seat: int) -> Person:
        """Return the players."""
        found = session.get_one(Seat, (self.game_id, seat)).person
        assert found is not None
        return found

    def hidden(self, seat: int | None, by: str) -> bool:
        """Whether salt, note and true cause of such an entry are hidden from the viewer (docs/formats.md §4)."""
        return by == "chance" or (seat != self.seat and by in ("player", "order", "rules"))

    def cause(self, seq: int, seat: int | None, by: str, note: str | None) -> tuple[str, str | None]:
        """Return cause and note of an entry; in the other world it is by order where the viewer cannot tell."""
        if self.other and self.hidden(seat, by) and (by == "rules" or (by == "player" and seq % 3 == 0)):
            return "order", f"the price passed your limit of {seq % 7}"
        return by, note

    def salt_label(self, seq: int, seat: int | None, by: str, move: str) -> str:
        """Return the label of an entry's salt; nobody learns the salt of a sealed choice while the game runs."""
        sealed = move.partition(" ")[0] in self.pair.kind.rules.sealed
        return f"salt {seq} {self.tag if sealed or self.hidden(seat, by) else ''}"

    def mask(self, text: str) -> str:
        """Return the text with the hashes of the log and the commitment masked."""
        text = MARK.sub(r"<id>\1<mark>", BOUNDARY.sub("=_<boundary>", text))
        return HASH.sub(lambda found: self.masks.get(found[0], found[0]), text)

    def _masks(self) -> dict[str, str]:
        with engine.reading() as session:
            games = {game.commitment: f"<commitment of {game.id}>" for game in session.scalars(select(Game))}
            return games | {row.hash: f"<hash {row.seq}>" for row in session.scalars(select(Entry))}

    def _seat_people(self, session: Session) -> None:
        seed = hashlib.sha256(f"{self.pair.seed} {self.tag}".encode()).digest()
        persons = [self._person(session, seat) for seat in range(self.pair.seats)]
        persons[0].moderator = self.seat == 0  # one who sits here
        for name, moderates in (("Sam", False), ("Mia", True)):
            extra = people.get_or_create(session, f"{name.lower()}@example.org", name, NOW)
            extra.moderator = moderates
        game = Game(
            id=self.game_id,
            slug=self.pair.slug,
            rules=self.pair.kind.rules.version,
            name="The Golden Horn",
            organiser_id=persons[0].id,
            status="running",
            allowance=86400,
            seed=seed.hex(),
            commitment=chance.commitment(self.game_id, seed),
            created_at=NOW - timedelta(hours=1),
            started_at=NOW,
            listed=True,
        )
        session.add(game)
        session.flush()
        for seat, person in enumerate(persons):
            name = NAMES[seat]
            row = Seat(
                game_id=game.id, seat=seat, stored_name=name, status="seated", person_id=person.id, cut=name
            )
            session.add(row)
        session.flush()
        for seat, person in enumerate(persons):
            for purpose in ("seat", "stop", "invite", "feed", *(("organise",) if seat == 0 else ())):
                session.add(self._link(purpose, person.id, seat))
        session.flush()

    def _person(self, session: Session, seat: int) -> Person:
        """Create a player; others' addresses and time zones are hidden from a viewer who did not invite them."""
        strange = self.other and self.seat not in (None, seat, 0)
        address = f"{NAMES[seat].lower()}{'.other' if strange else ''}@example.org"
        person = people.get_or_create(session, address, NAMES[seat], NOW)
        person.time_zone = ZONES[strange]
        return person

    def _link(self, purpose: Any, person_id: int, seat: int) -> Link:
        mine = seat == self.seat
        nonce = hashlib.sha256(f"{purpose} {person_id} {'' if mine else self.tag}".encode()).digest()[:16]
        digest = hashlib.sha256(links.token_of(nonce).encode()).hexdigest()
        return Link(
            purpose=purpose,
            person_id=person_id,
            nonce=nonce,
            digest=digest,
            created_at=NOW,
            game_id=self.game_id,
        )

    def _lay_out(self, session: Session, steps: Play) -> None:
        game, rules = session.get_one(Game, self.game_id), self.pair.kind.rules
        state, before = rules.setup(self.pair.seats, {}), record.GENESIS
        for step in steps:
            late = not step.forced and game.head % 11 == 10
            by = "rules" if step.forced else "clock" if late else "player"
            before = self._write(
                session, game, before, step.seat, "chance" if step.seat is None else by, step.move
            ).hash
            state = rules.apply(state, step.seat, step.made)
        game.head_hash = before
        self.dice.relabel("the first turns")  # the label of a salt may say what is hidden
        with running.in_hand(session, game.id, LATER) as hand:
            position = Position(game.id, rules, state, game.head, paused=False, outcome=None)
            running.advance(hand, position, state, LATER)
        session.refresh(game)

    def _talk(self, session: Session) -> None:
        """Let everybody talk, which only players read, and note something, which only its writer reads."""
        game = session.get_one(Game, self.game_id)
        for seat in range(self.pair.seats):
            person = self.person(session, seat).id
            said = Word(
                game_id=game.id,
                number=seat + 1,
                person_id=person,
                seat=seat,
                text=f"{NAMES[seat]} speaks" + (f" in {self.tag}" if self.seat is None else ""),
                at=LATER,
                seq=game.head,
                request_id=f"{seat}",
            )
            noted = "A thought" + (f" in {self.tag}" if seat != self.seat else "")
            session.add_all([said, Notes(game_id=game.id, person_id=person, text=noted, changed_at=LATER)])
        game.said = self.pair.seats

    def _leave_orders(self, session: Session) -> None:
        """Leave orders; in the other world the others have suspended or ended orders, and the viewer's are the same."""
        game = session.get_one(Game, self.game_id)
        for seat in range(self.pair.seats):
            if seat != self.seat and not self.other:
                continue
            for number, status in enumerate(("resting", "stopped", "done", "withdrawn"), start=1):
                row = StandingOrder(
                    game_id=game.id,
                    seat=seat,
                    number=number,
                    text=ORDERS[self.pair.slug],
                    scope="",
                    left_at=NOW,
                    left_seq=1,
                    status=status,
                    reason=Fact("The price went too far.") if status == "stopped" else None,
                    ended_at=None if status == "resting" else LATER,
                    ended_seq=None if status == "resting" else game.head,
                )
                session.add(row)
                session.flush()

    def _write(
        self, session: Session, game: Game, before: str, seat: int | None, by: str, move: str
    ) -> record.Entry:
        game.head += 1
        seq = game.head
        by, note = self.cause(seq, seat, by, None)
        self.dice.relabel(self.salt_label(seq, seat, by, move))
        at = engine.stamp(NOW + timedelta(minutes=seq))
        entry = record.new_entry(before, seq, at, seat, by, move, note, self.dice.token_hex(16))
        fields = {name: getattr(entry, name) for name in record.Entry.__slots__}
        session.add(Entry(game_id=game.id, **fields))
        return entry

    def _decide(self, number: int, step: Step) -> None:
        """Make one decision as its player would, through the page or the API in turn."""
        now = LATER + timedelta(minutes=1 + number)
        assert step.seat is not None
        mine = step.seat == self.seat
        with time_machine.travel(now, tick=False):
            with engine.reading() as session:
                head = session.get_one(Game, self.game_id).head
                token = self.token(session, "seat", step.seat)
            request_id = f"request {number} {'' if mine else self.tag}".replace(" ", ".")
            fields = {"move": step.move, "seen": head, "request_id": request_id}
            browser = self.app.test_client()
            self.dice.relabel(f"decision {number}")
            if number % 2:
                answer = browser.post(f"/api/v1/seats/{token}/moves", json=fields, base_url=BASE)
            else:
                answer = browser.post(f"/t/{token}", data=fields, base_url=BASE)
            assert answer.status_code in (201, 303), answer.text
            if mine:
                self.answers.append(written(answer))

    def token(self, session: Session, purpose: str, seat: int) -> str:
        """Return the token of this seat's link."""
        theirs = (Link.purpose == purpose, Link.game_id == self.game_id)
        person = self.person(session, seat)
        (link,) = links.select_rows(session, *theirs, Link.person_id == person.id)
        return links.token(link)

    def _send_mails(self) -> None:
        now = LATER + timedelta(minutes=10)
        with time_machine.travel(now, tick=False):
            self.dice.relabel("mails")
            while deliver.deliver(now, Desk(), steady=lambda: 0.0):
                pass
            if self.seat is not None:
                with engine.transaction() as session:
                    self._queue_every_kind(session, self.seat, now)

    def _queue_every_kind(self, session: Session, seat: int, now: datetime) -> None:
        """Queue an email of each kind that is about a game to the viewer, whether or not it is due."""
        game = session.get_one(Game, self.game_id)
        turn = session.get(Turn, (game.id, seat))
        person = self.person(session, seat)
        self._talk_of_others(session, game, seat, now)
        said = {"text": "pass", "done": "played", "seq": 1, "order": "", "message": "", "places": {}}
        for kind in ("turn", "remind", "timeout", "act", "over", "answer", "talk"):
            outbox.enqueue(
                session,
                key=f"every:{kind}",
                kind=kind,
                person_id=person.id,
                now=now,
                game_id=game.id,
                seat=seat,
                seq=turn.opened_seq if turn and kind in ("turn", "remind") else 1,
                details={"last": game.head, "lines": [said], "message": "", "places": {}},
            )

        for kind in ("digest", "games"):
            outbox.enqueue(session, key=f"every:{kind}", kind=kind, person_id=person.id, now=now)
        person.cadence = "digest"  # else he is sent none

    def _talk_of_others(self, session: Session, game: Game, seat: int, now: datetime) -> None:
        """Let others talk: the viewer reads the same in both worlds.

        In one of them somebody says more, whom the viewer has muted or blocked.
        """
        unheard = self.unheard(seat)
        for number in range(1, 5):
            speaker = (seat + 1 + number % 2) % self.pair.seats
            if speaker == seat or (speaker == unheard and not self.other):
                continue
            game.said += 1
            person = self.person(session, speaker)
            session.add(
                Word(
                    game_id=game.id,
                    number=game.said,
                    person_id=person.id,
                    seat=speaker,
                    text=f"word {number}",
                    at=now,
                    seq=game.head,
                    request_id=f"other {number}",
                )
            )
        viewer = self.person(session, seat)
        viewer.talk = "once"
        session.execute(delete(Presence).where(Presence.person_id == viewer.id))
        if unheard != seat:
            other = self.person(session, unheard).id
            blocks = Block(person_id=viewer.id, other_id=other, at=now)
            session.add(blocks if self.pair.seed % 2 else Mute(person_id=viewer.id, other_id=other))

    def unheard(self, seat: int) -> int:
        """Return the seat whose player the viewer has muted or blocked."""
        return (seat + 2) % self.pair.seats

    def void(self) -> str | None:
        """Return the action that takes back some of the last moves; None if it would shuffle again."""
        shuffled = max(at for at, step in enumerate(self.steps) if step.seat is None)
        after = len(self.steps) - shuffled - 1
        return f"!void {shuffled + 2 + after // 2}" if after else None

    def moderate(self, act: str) -> None:
        """Perform a moderator's action, the same in both worlds."""
        now = LATER + timedelta(minutes=20)
        with self.app.app_context(), time_machine.travel(now, tick=False):
            with engine.reading() as session:
                mia = session.scalars(select(Person).where(Person.email == "mia@example.org")).one()
            self.dice.relabel(act)
            play.moderate(self.game_id, act, reason="because", person_id=mia.id, now=now)
            self.masks = self._masks()

    def told(self) -> list[tuple[int | None, str]]:
        """Return the history as the viewer may read it."""
        rules, viewer = self.pair.kind.rules, PUBLIC if self.seat is None else self.seat
        with self.app.app_context(), engine.reading() as session:
            entries = log.entries(session, self.game_id)
        open_seqs = record.open_choices(rules, self.pair.seats, {}, entries)
        seen = record.redact_entries(rules, entries, viewer, False, open_seqs)
        return [(entry.seat, entry.move) for entry in seen]

    def mails(self, session: Session) -> list[Mail]:
        """Return the emails queued to the viewer."""
        if self.seat is None:
            return []
        person = self.person(session, self.seat)
        return list(session.scalars(select(Mail).where(Mail.person_id == person.id).order_by(Mail.id)))


def _split(steps: Play) -> tuple[Play, Play]:
    """Return the steps to be written as a log, and the last decisions without the forced moves they cause.

    Shuffles made live would depend on the seed, so the live part begins after the last shuffle.
    """
    shuffled = max(at for at, step in enumerate(steps) if step.seat is None)
    decisions = [at for at, step in enumerate(steps) if not step.forced and at > shuffled][-LIVE:]
    if not decisions:
        return steps, ()
    return steps[: decisions[0]], tuple(steps[at] for at in decisions)


def written(answer: Any) -> str:
    """Return an answer as it is sent over the network."""
    zipped = answer.data.startswith(ZIP)  # how much smaller it gets depends on the hashes in it
    headers = "\n".join(
        f"{name}: {value}" for name, value in answer.headers if name != "Content-Length" or not zipped
    )
    return f"{answer.status}\n{headers}\n\n{unpacked(answer.data)}"


def unpacked(content: bytes) -> str:
    """Return a text, or those in a zip file."""
    if not content.startswith(ZIP):
        return content.decode()
    with zipfile.ZipFile(io.BytesIO(content)) as zipped:
        return "\n".join(f"{name}\n{zipped.read(name).decode()}" for name in zipped.namelist())


def hidden_state(game_id: str) -> str:
    """Return a game's whole state as text, hidden or not: the source of planted leaks."""
    with engine.reading() as session:
        row = session.scalars(select(Snapshot).where(Snapshot.game_id == game_id)).one()
        return row.state
