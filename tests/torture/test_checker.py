"""The torture checker: a sound database passes, and each kind of damage is found by its rule."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from server import create_app, play
from server.lobby import create
from server.lobby.settings import TimeControl
from server.mail.incoming import receive
from server.mail.outgoing import deliver
from server.mail.outgoing.smtp import Message
from server.play import positions
from server.store import engine, links
from server.store.models import LinkPurpose, Seat
from server.validation import Guest
from tests.conftest import NOW, settings
from tests.support.databases import migrate, postgres_database
from tests.support.folders import ROOT
from tests.support.games import loaded, start_clock
from tests.support.mail_servers import received
from tests.torture import checker, clock_rules, edits, evidence
from tests.torture.correspondence import Correspondence
from tests.torture.damage import DAMAGES, Damage, unguard
from tests.torture.evidence import Row
from tests.torture.house import MAIL_DOMAIN
from tests.torture.journal import Journal
from tests.torture.report import Report
from tests.torture.tables import Table

PEOPLE = tuple(Guest(name, f"{name.lower()}@torture.example") for name in ("Alice", "Bob", "Charlie"))
MOVES = 30
TIMED_OUT, BACK = 12, 24
"""How many moves are played, and after how many of them one seat starts to miss turns, then returns."""
ORDERED, LEFT, WRITTEN = 4, 26, 28
"""After how many moves orders are carried out, submitted and withdrawn, and one move is sent by email."""
PACE = TimeControl(86400, bank=3600)


class Lines(Journal):
    """A journal in memory."""

    def __init__(self, lines: list[Row]) -> None:
        self._lines = lines

    def write(self, what: str, **fields: Any) -> None:
        """Append a line."""
        self._lines.append({"what": what, **fields})


class Postman:
    """A mail server that records its emails, like the one of the torture runs."""

    def __init__(self, lines: list[Row], letters: Correspondence) -> None:
        self._lines = lines
        self._letters = letters

    def send(self, message: Message) -> None:
        """Accept an email."""
        stored = received(message)
        self._letters.heard(stored)
        self._lines.append({"what": "mail", "to": message.recipient, "id": stored["Message-ID"]})


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def played(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, list[Row]]]:
    """Return a database with a game under way, and the journal of its players."""
    if request.param == "sqlite":
        path = tmp_path_factory.mktemp("torture") / "byzanz.db"
        shutil.copy(request.getfixturevalue("migrated_file"), path)
        yield f"sqlite:///{path}", _play(f"sqlite:///{path}")
        return
    with postgres_database(request.getfixturevalue("postgres")) as url:
        migrate(url)
        yield url, _play(url)


def _play(url: str) -> list[Row]:
    """Play on an empty database; return the journal."""
    lines: list[Row] = []
    journal = Lines(lines)
    letters = Correspondence(journal)
    with create_app(settings(url, mail_domain=MAIL_DOMAIN)).app_context():
        game_id = _begin()
        letters.open([Table(game_id, _tokens(game_id))], 0)
        journal.write("game", id=game_id)
        now, gone = NOW, None
        for number in range(MOVES):
            now += timedelta(minutes=1)
            if number == TIMED_OUT:
                gone = min(_position(game_id).awaited)
            while gone is not None and gone in _position(game_id).awaited:
                now = _time_out(game_id, gone, now)
            if number == BACK:
                assert gone is not None
                journal.write("back", game=game_id, seat=gone)
                assert play.reclaim(game_id, gone, now=now)
                gone = None
            if number == ORDERED:
                _order(game_id, min(_position(game_id).awaited), "tax lowest", now, journal)
            if number == LEFT:
                _order(game_id, 0, "finish", now, journal)
                _order(game_id, 1, "limit sell grain lowest always", now, journal, back=True)
            if number == WRITTEN:
                _deliver(now, lines, letters)
                _write(game_id, now, letters, journal)
            else:
                _move(game_id, number, now, lines)
        _deliver(NOW + timedelta(days=9), lines, letters)
        engine.db.engine.dispose()
    return lines


def _begin() -> str:
    """Always deal the same cards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(create, "secrets", SimpleNamespace(token_bytes=bytes))
        patch.setattr(create, "random_cut", lambda: "the same cut")
        return create.quick_game(
            slug="byzanz", players=PEOPLE, time_control=PACE, start=True, now=NOW, name="The Same Game"
        )


def _tokens(game_id: str) -> dict[int, str]:
    with engine.transaction() as session:
        seats = [(seat.seat, seat.person_id or 0) for seat in positions.seats_of(session, game_id)]
        return {
            seat: links.token(links.link_for(session, LinkPurpose.SEAT, person, game_id, NOW))
            for seat, person in seats
        }


def _deliver(now: datetime, lines: list[Row], letters: Correspondence) -> None:
    while deliver.deliver(now, Postman(lines, letters)):
        pass


def _order(
    game_id: str, seat: int, text: str, now: datetime, journal: Journal, *, back: bool = False
) -> None:
    """Submit an order, and withdraw it if requested."""
    name = {"game": game_id, "seat": seat}
    journal.write("order", **name, text=text)
    left = play.place_order(game_id, seat, text, now=now)
    journal.write("ordered", **name, status=201, id=left.number, order=left.text)
    if back:
        journal.write("withdraw", **name, id=left.number)
        play.withdraw_order(game_id, seat, left.number, now=now)
        journal.write("withdrawn", **name, id=left.number, status=204)


def _write(game_id: str, now: datetime, letters: Correspondence, journal: Journal) -> None:
    """Reply to the newest turn email."""
    at, asked = _position(game_id), letters.newest()
    assert asked is not None
    assert asked.seat in at.awaited
    letter = letters.write(asked, str(at.rules.moves(at.state, asked.seat)[0]))
    assert receive.receive(letter.raw, asked.reader, asked.reply, now) == "1 of 1 lines carried out"
    journal.write("taken", digest=letter.digest, status=250, text="")


def _position(game_id: str) -> positions.Position:
    with engine.reading() as session:
        return positions.current(loaded(session, game_id))


def _move(game_id: str, number: int, now: datetime, lines: list[Row]) -> None:
    at = _position(game_id)
    seat = min(at.awaited)
    answers = [move for move in at.rules.moves(at.state, seat) if move.verb != "sell"]
    move = str(answers[-1 if number % 2 else 0])
    name = {"game": game_id, "seat": seat, "request": f"r{number}"}
    lines.append({"what": "ask", **name, "move": move})
    receipt = play.submit(game_id, seat, move, seen=at.head, request_id=f"r{number}", now=now)
    lines.append({"what": "answer", **name, "status": 201, "seq": receipt.seq})


def _time_out(game_id: str, seat: int, now: datetime) -> datetime:
    """Let the time of a seat run out; return the time at which it has."""
    turn = start_clock(game_id, seat, now)
    with engine.reading() as session:
        assert session.get_one(Seat, (game_id, seat)).person_id is not None
    assert turn.due_at is not None
    assert play.time_out(game_id, seat, turn.question, turn.due_at) is not None
    return turn.due_at


@contextmanager
def put_back(url: str) -> Iterator[Any]:
    """Return a connection whose changes are rolled back at the end."""
    with closing(evidence.connect(url)) as connection:
        if url.startswith("sqlite"):
            connection.isolation_level = None  # tables are changed inside the transaction, too
            connection.execute("BEGIN")
        yield connection
        connection.rollback()


def rules_of(faults: list[checker.Fault]) -> set[str]:
    return {fault.rule for fault in faults}


def test_a_sound_game_is_found_sound(played: tuple[str, list[Row]]) -> None:
    url, lines = played
    with put_back(url) as connection:
        assert checker.check(connection, lines) == []
        unguard(connection)
        assert checker.check(connection, lines) == []


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_each_harm_is_noticed(played: tuple[str, list[Row]], damage: Damage) -> None:
    url, lines = played
    with put_back(url) as connection:
        unguard(connection)
        more = damage.do(connection)
        assert damage.rule in rules_of(checker.check(connection, lines + more))


def test_a_file_that_is_damaged_below_its_tables_is_noticed(played: tuple[str, list[Row]]) -> None:
    url, lines = played
    if not url.startswith("sqlite"):
        pytest.skip("PostgreSQL checks its own pages when they are read")
    with put_back(url) as connection:
        connection.execute("UPDATE turn SET game_id = 'nobody'")
        assert "sound" in rules_of(checker.check(connection, lines))


def test_a_clock_that_runs_before_its_mail_is_noticed(played: tuple[str, list[Row]]) -> None:
    url, lines = played
    with put_back(url) as connection:
        connection.cursor().execute("UPDATE outbox SET status = 'waiting'")
        assert "clocked" in rules_of(checker.check(connection, lines))


def test_an_autopilot_was_at_work(played: tuple[str, list[Row]]) -> None:
    url, _lines = played
    with put_back(url) as connection:
        logged = [row["move"] for row in evidence.rows(connection, "entry") if row["move"].startswith("!")]
        assert [move.split(" ")[2] for move in logged] == ["on", "off"]
        assert any(row["by"] == "autopilot" for row in evidence.rows(connection, "entry"))


def test_an_edit_that_nobody_names_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "doctor").write_text("WRONG  game a, entry 7: …\nWRONG  game c, entry 3: …\n")
    (tmp_path / "a.record").write_text('{"seed":"00"}')
    (tmp_path / "a.said").write_text("byzanz: record 1, game a: entry 7: …")
    (tmp_path / "b.record").write_text('{"seed":null}')
    assert len(edits._missed([edits.Edit("cut", "a", 7)], 0, tmp_path)) == 1  # c is sound
    assert len(edits._missed([edits.Edit("cut", "a", 8), edits.Edit("cut", "b", 2)], 1, tmp_path)) == 5


def test_edits_are_tried_even_if_playing_the_games_took_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edits, "_in_process", lambda _work, _words, database, _log: database.touch() or 0)
    monkeypatch.setattr(edits, "_edit_all", lambda _database, _draw: [edits.Edit("cut", "a", 7)] * 20)
    monkeypatch.setattr(edits, "_missed", lambda *_: [])
    assert edits.run(10, 0.0, 1).n == 20


def test_a_torture_that_tried_nothing_has_failed() -> None:
    assert Report("kill -9", 1, "", ()).faults == ()
    assert Report("kill -9", 0, "", ()).faults == ("nothing was tried",)


def test_every_rule_has_been_seen_to_fail() -> None:
    assert {damage.rule for damage in DAMAGES} | {"sound"} == {rule.__name__ for rule in checker.RULES}


QUEUED = {"what": "queued", "to": "nobody@torture.example"}
TAKEN = {"what": "mail", "to": "nobody@torture.example", "id": "1"}


@pytest.mark.parametrize(
    ("rule", "lines"),
    [
        ("delivered", [QUEUED, TAKEN]),
        ("single", [TAKEN, TAKEN]),
        ("single", [TAKEN, TAKEN | {"id": "2"}, {"what": "kill"}]),
    ],
    ids=["a mail that is gone", "a copy too many", "copies with two names"],
)
def test_mails_that_went_wrong_are_noticed(
    played: tuple[str, list[Row]], rule: str, lines: list[Row]
) -> None:
    with put_back(played[0]) as connection:
        assert checker.check(connection, [], "mails") == []
        assert rule in rules_of(checker.check(connection, lines, "mails"))


def _in_true_time(connection: Any, lines: list[Row]) -> tuple[list[Row], Row, datetime]:
    """Return the journal of a run without faults, with the first turn that timed out and its time."""
    (game,) = evidence.gather(connection, lines).games.values()
    assert game.known is not None
    at = {entry.seq: entry.at for entry in game.entries}
    more: list[Row] = [{"what": "entries", "true": at[seq], "entries": [[game.id, seq]]} for seq in at]
    turns: list[Row] = [
        {"game": game.id, "seat": missed.turn.seat, "opened": missed.turn.opened}
        for missed in game.known.missed
    ]
    more += [{"what": "accepted", "true": at[turn["opened"]]} | turn for turn in turns]
    return lines + more, turns[0], evidence.moment(at[game.known.missed[0].first])


def _span(what: str, end: datetime, before: timedelta, after: timedelta) -> Row:
    return {"what": what, "since": (end - before).isoformat(), "to": (end + after).isoformat()}


def test_turns_that_ran_out_wrongly_are_noticed(
    played: tuple[str, list[Row]], monkeypatch: pytest.MonkeyPatch
) -> None:
    hour = timedelta(hours=1)
    with put_back(played[0]) as connection:
        lines, turn, at = _in_true_time(connection, played[1])

        def noticed(more: list[Row]) -> set[str]:
            return rules_of(checker.check(connection, more, "clocks"))

        assert noticed(lines) == set()
        assert noticed([line for line in lines if line["what"] != "accepted"]) == {"spared"}
        stopped = {"what": "stopped", "true": (at - hour).isoformat()} | turn
        assert noticed([*lines, stopped]) == {"spared"}
        early = {"what": "accepted", "true": (at - 72 * hour).isoformat()} | turn

        def again(came_back: timedelta, accepted: timedelta) -> list[Row]:
            """Bounce the email about the turn this long before its end, and accept another one."""
            marks = {"stopped": at - came_back, "accepted": at - accepted}
            return [{"what": what, "true": mark.isoformat()} | turn for what, mark in marks.items()]

        before = {"what": "accepted", "true": (at - 96 * hour).isoformat()} | turn
        lost = {"what": "stopped", "true": (at - 90 * hour).isoformat()} | turn
        assert noticed([*lines, before, lost, early, *again(20 * hour, 2 * hour)]) == set()
        assert noticed([*lines, early, *again(20 * hour, 2 * hour)]) == {"spared"}
        assert noticed([*lines, *again(20 * hour, 2 * hour)]) == {"spared"}
        assert noticed([*lines, before, lost, early, *again(hour, hour / 2)]) == set()  # one of a turn counts
        earlier = [
            {
                "game": turn["game"],
                "seat": turn["seat"],
                "opened": -opened,
                "what": what,
                "true": mark.isoformat(),
            }
            for opened in (1, 2)
            for what, mark in {"accepted": at - 200 * hour, "stopped": at - 190 * hour}.items()
        ]
        assert noticed([*lines, early, *earlier[:2], *again(20 * hour, 2 * hour)]) == {"spared"}
        assert noticed([*lines, early, *earlier, *again(20 * hour, 2 * hour)]) == set()  # two of a seat count
        assert noticed([*lines, _span("down", at, 20 * hour, -2 * hour)]) == {"spared"}
        assert noticed([*lines, _span("down", at, 20 * hour, -hour / 2)]) == {"spared", "noticed"}
        assert noticed([*lines, _span("doubt", at, hour, hour)]) == {"doubted"}
        monkeypatch.setattr(clock_rules, "AT_ONCE", 0)
        assert noticed(lines) == {"drained"}


def test_a_seat_that_is_given_up_too_early_is_noticed(played: tuple[str, list[Row]]) -> None:
    with put_back(played[0]) as connection:
        lines, turn, _at = _in_true_time(connection, played[1])
        found = evidence.gather(connection, lines)
        (game,) = found.games.values()
        assert game.known is not None
        assert list(clock_rules.given_up(found)) == []
        game.known.given_up.append((turn["seat"], turn["opened"] + 1))
        assert len(list(clock_rules.given_up(found))) == 1


def test_the_checker_knows_nothing_of_the_server() -> None:
    code = "import sys, tests.torture.checker; sys.exit('server' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
