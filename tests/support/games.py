"""Games in tests: played to a point or to their end, what they leave in the store, and games a moderator should see."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from byzanz import chance, record, umpire
from byzanz.games import rules_of
from byzanz.record import Cause
from server import play
from server.mail.text import quoted
from server.play import game as play_game
from server.play import positions, running, turns
from server.play.positions import Position
from server.store import engine, log, operations, people
from server.store.facts import Fact
from server.store.models import Entry, Game, IncomingMail, Mail, Person, Seat, Turn
from tests.conftest import NOW, Table
from tests.support.neighbour_game import elsewhere
from tests.support.pages import Page


def loaded(session: Session, game_id: str) -> play_game.Table:
    """Return the game in hand, only read."""
    return play_game.load(session, game_id, NOW)


def position(game_id: str) -> Position:
    """Return the position of the game."""
    with engine.reading() as session:
        return positions.current(loaded(session, game_id))


def entries(game_id: str, after: int = 0) -> list[record.Entry]:
    with engine.reading() as session:
        return log.entries(session, game_id, after=after)


def turn_of(game_id: str, seat: int) -> Turn | None:
    with engine.reading() as session:
        return session.get(Turn, (game_id, seat))


def mails_of(kind: str) -> list[Mail]:
    with engine.reading() as session:
        return list(session.scalars(select(Mail).where(Mail.kind == kind, elsewhere(Mail)).order_by(Mail.id)))


def submit(
    game_id: str,
    seat: int,
    text: str = "pass",
    now: datetime = NOW,
    *,
    request_id: str | None = None,
    seen: int | None = None,
    by: Cause = Cause.PLAYER,
) -> play.Receipt:
    """Play a move, by default with a request id of its own and by somebody who has seen the newest entry."""
    at = head(game_id)
    return play.submit(
        game_id,
        seat,
        text,
        seen=at if seen is None else seen,
        request_id=f"{seat}-{at}" if request_id is None else request_id,
        now=now,
        by=by,
    )


def sale_now(game_id: str) -> tuple[int, str]:
    at = position(game_id)
    for seat in range(1, 4):
        for move in at.rules.out_of_turn_moves(at.state, seat):
            return seat, str(move)
    raise AssertionError("nobody can sell; choose another deal")


def deal_with_a_set_to_sell() -> str:
    """Return the id of a game in which a seat other than 0 is dealt a set; the deal follows from the id."""
    rules = rules_of("byzanz")
    for number in range(500):
        game_id = f"sale{number}"
        key = chance.key(game_id, bytes(32), ["Alice", "Bob", "Charlie", "Daphne"])
        state, _ = umpire.settle(rules, rules.setup(4, {}), chance.deal(key))
        if 0 in rules.awaited(state) and any(rules.out_of_turn_moves(state, seat) for seat in (1, 2, 3)):
            return game_id
    raise AssertionError("no such deal among 500")


def play_on(game_id: str, count: int) -> None:
    """Play the first legal move of each seat to move, `count` times or to the end."""
    for number in range(count):
        at = position(game_id)
        if at.outcome:
            return
        seat = min(at.awaited)
        submit(game_id, seat, str(at.rules.moves(at.state, seat)[0]), request_id=f"auto{number}")


# ---- bots at a table ----

TICK = 100.0
"""Slow, so that hours pass in few heartbeats: a process may be silent for ten minutes."""


def entries_by(game_id: str, after: int = 1) -> list[tuple[int | None, str, str]]:
    return [(entry.seat, entry.by, entry.move) for entry in entries(game_id, after)]


def row(kind: type[Any], key: Any) -> Any:
    """Return a row, None if there is none."""
    with engine.reading() as session:
        return session.get(kind, key)


def all_of(kind: type[Any]) -> list[Any]:
    """Return all rows of a table."""
    with engine.reading() as session:
        return list(session.scalars(select(kind)))


def change(kind: type[Any], key: Any, **values: object) -> None:
    """Change a row, as time or another part of the server would have."""
    with engine.transaction() as session:
        row = session.get_one(kind, key)
        for name, value in values.items():
            setattr(row, name, value)


def give_to_bots(game: Table, seats: range, bot: str = "greedy") -> None:
    for seat in seats:
        change(Seat, (game.id, seat), bot=bot, person_id=None)
    with engine.transaction() as session:
        for turn in session.scalars(select(Turn).where(Turn.game_id == game.id)):
            turn.bot = turn.seat in seats


# ---- single steps of server/play ----


def start_clock(game_id: str, seat: int, at: datetime) -> Turn:
    """Start the clock of an open turn, and return the turn."""
    with engine.transaction() as session, running.in_hand(session, game_id, at) as table:
        turns.start(table, table.turns[seat], at)
    with engine.reading() as session:
        return session.get_one(Turn, (game_id, seat))


def append(game_id: str, *, now: datetime, **entry: Any) -> record.Entry:
    """Append an entry to a game's log, whatever the rules say of it."""
    with engine.transaction() as session, running.in_hand(session, game_id, now) as table:
        return table.append(now=now, **entry)


# ---- games for the tests of pages ----


def count_entries(game_id: str) -> int:
    """Return the number of entries in its log."""
    with engine.reading() as session:
        return session.scalar(select(func.count()).where(Entry.game_id == game_id)) or 0


def asked(table: Table) -> int:
    """Return the first seat to move."""
    return min(position(table.id).awaited)


def url(table: Table, seat: int) -> str:
    """Return the URL of a seat's page."""
    return f"/t/{table.tokens[seat]}"


def make(table: Table, seat: int, move: str, name: str = "made", at: datetime | None = None) -> int:
    """Play a move, by default a minute after the one before; return its seq."""
    head = position(table.id).head
    now = at or NOW + timedelta(minutes=head)
    return play.submit(table.id, seat, move, seen=head, request_id=f"{name}-{head}", now=now).seq


def advance(table: Table, kind: str, seed: int = 1, at: datetime | None = None) -> int:
    """Play at random until a seat is asked this kind of question; return that seat."""
    dice = random.Random(seed)
    for _ in range(2000):
        now = position(table.id)
        seat = min(now.awaited)
        if now.awaited[seat].kind == kind:
            return seat
        make(table, seat, str(dice.choice(now.rules.moves(now.state, seat)[:6])), at=at)
    raise AssertionError(f"nobody was asked {kind}")


# ---- short games ----


def answer(game_id: str, seat: int, now: datetime, by: Cause = Cause.PLAYER) -> int:
    """Play the first legal move of a seat; return the seq of its entry."""
    with engine.reading() as session:
        at = positions.current(loaded(session, game_id))
    move = at.rules.moves(at.state, seat)[0]
    receipt = play.submit(game_id, seat, move, seen=at.head, request_id=f"{at.head}", now=now, by=by)
    return receipt.seq


def to_move(game_id: str) -> int | None:
    """Return the seat to move; None when the game is over or paused."""
    with engine.reading() as session:
        at = positions.current(loaded(session, game_id))
    return min(at.awaited, default=None)


def finish(game_id: str, now: datetime) -> None:
    """Let everybody answer at once until the game is over."""
    while (seat := to_move(game_id)) is not None:
        with engine.reading() as session:
            bot = positions.seats_of(session, game_id)[seat].bot
        answer(game_id, seat, now, Cause.BOT if bot else Cause.PLAYER)


def last(game_id: str) -> Entry:
    """Return the newest entry that answers a question."""
    with engine.reading() as session:
        moves = [entry for entry in log.entries(session, game_id) if entry.by not in ("rules", "chance")]
        moves = [entry for entry in moves if not entry.move.startswith("!")]
        return session.get_one(Entry, (game_id, moves[-1].seq))


# ---- histories ----

LINE = re.compile(r'<li id="e(\d+)"')


def make_reader() -> int:
    with engine.transaction() as session:
        return people.get_or_create(session, "mod@example.org", "Mo", NOW).id


def seqs(page: Page) -> list[int]:
    return [int(seq) for seq in LINE.findall(page.html)]


# ---- moderators ----


def outsider() -> int:
    """Return the id of a moderator who plays nowhere."""
    with engine.transaction() as session:
        found = people.get_or_create(session, "noa@example.org", "Noa", NOW)
        found.moderator = True
        return found.id


def appoint(*ids: int) -> None:
    """Make people moderators."""
    with engine.transaction() as session:
        for person_id in ids:
            session.get_one(Person, person_id).moderator = True


# ---- one game for each issue a moderator should see ----

Begin = Callable[..., Table]
MIA = "mia@example.org"


def make_moderator(address: str, now: datetime) -> int:
    """Return the id of a moderator with this address who has no seat."""
    with engine.transaction() as session:
        person = people.get_or_create(session, address, address.partition("@")[0].title(), now)
        person.moderator = True
        return person.id


def troubled(table: Begin, now: datetime) -> dict[str, Table]:
    """Return the games by issue; their ids name it, too."""
    mia = make_moderator(MIA, now)
    names = (
        "well",
        "soon",
        "overdue",
        "unsent",
        "bounced",
        "paused",
        "rests",
        "quiet",
        "aside",
        "away",
        "left",
    )
    games = {}
    for name in names:
        began = now - timedelta(days=9 if name == "quiet" else 0, hours=2 if name == "unsent" else 0)
        games[name] = table(6 if name == "bounced" else 3, name, began)
        change(Game, name, name=f"The table {name}")
        due = timedelta(hours={"soon": 5, "overdue": -1}.get(name, 20))
        if name != "unsent":
            change(Turn, (name, 0), started_at=began, due_at=now + due)
    with engine.transaction() as session:
        felix = people.get_or_create(session, "felix@example.org", "Felix", now)
        felix.unreachable = felix.suppressed = quoted("550 5.1.1 no such user")
        _mails(session, felix.id, games["bounced"].people[1], now)
        operations.raise_alert(
            session,
            "refused:x",
            Fact("address_failed_before", {"said": quoted("550")}),
            now,
            "bounced",
        )
        said = Fact("address_failed_before", {"said": quoted("550 5.1.1 no such user")})
        for key in (f"refused:bounced:{felix.id}", f"complaint:{felix.id}"):  # the desk lists Felix already
            operations.raise_alert(session, key, said, now, "bounced")
        operations.raise_alert(
            session, "mail-settings", Fact("mail_settings", {"said": quoted("530 no")}), now
        )
        session.get_one(Game, "aside").quarantine = quoted("entry 2 is illegal")
    play.moderate("paused", "!pause", reason="A wedding", person_id=mia, now=now)
    for seat in (0, 1, 2):
        play.moderate("rests", f"!autopilot {seat} on", reason="Nobody answers", person_id=mia, now=now)
    play.moderate("away", "!autopilot 1 on", reason="Bob asked for it", person_id=mia, now=now)
    play.leave("left", 2, now=now)
    return games


def _mails(session: Any, felix: int, bob: int, now: datetime) -> None:
    """Send an email to Felix that bounces and one to Bob, whose address works again, and receive one from Bob."""
    about: dict[str, Any] = {"game_id": "bounced", "person_id": felix, "seat": 5}
    sent: dict[str, Any] = {
        "created_at": now,
        "not_before": now,
        "status": "failed",
        "attempts": 1,
        "finished_at": now,
    }
    session.add(
        Mail(
            key="turn:bounced:5:1",
            kind="turn",
            seq=1,
            error=quoted("550 5.1.1 no such user"),
            **about,
            **sent,
        )
    )
    outcome = Fact("failed", {"said": quoted("550 5.1.1 no such user")})
    session.add(IncomingMail(digest="1", at=now, kind="bounce", outcome=outcome, **about))
    about |= {"person_id": bob, "seat": 1}
    session.add(
        Mail(key="turn:bounced:1:1", kind="turn", seq=1, error=quoted("452 4.2.2 full"), **about, **sent)
    )
    outcome = Fact("carried_out", {"done": 1, "of": 1})
    session.add(IncomingMail(digest="2", at=now, kind="reply", outcome=outcome, **about))
    done: dict[str, Any] = {"created_at": now, "not_before": now, "status": "sent", "finished_at": now}
    session.add(Mail(key="answer:2", kind="answer", **about, **done))


def head(game_id: str) -> int:
    """Return the newest entry of a game."""
    with engine.reading() as session:
        return session.get_one(Game, game_id).head


def move_texts(game_id: str) -> list[str]:
    """Return the texts of all entries."""
    with engine.reading() as session:
        return [entry.move for entry in log.entries(session, game_id)]
