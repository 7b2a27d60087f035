"""What the jobs read: on a database with many games, each statement goes to the few rows concerned by an index."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

import pytest
from sqlalchemy import delete, literal, literal_column, select, text, tuple_, update
from sqlalchemy.orm import Session

from benchmarks import load
from benchmarks.load import IDLE
from server.accounts import addresses
from server.community import talk
from server.ops import metrics
from server.play import positions
from server.scheduler import jobs
from server.store import engine, outbox, people
from server.store.models import GOING_ON, Game, GameStatus, Person, Seat, Turn, Wish
from server.web.moderation import desk
from tests.conftest import NOW, Table
from tests.support import lobby
from tests.support.costs import Statement, executed
from tests.support.games import change, give_to_bots, troubled
from tests.support.plans import LARGE, PLANNED, fill, is_bounded, reads, scans

Begin = Callable[..., Table]

GAMES = 20_000
"""Enough for PostgreSQL to prefer an index, and for one statement per game to be noticed."""
KEYS = {f"pk_{table}" for table in LARGE} | {"uq_outbox_key"}
INDEXES: dict[str, set[str]] = {
    "heartbeats": set(),
    "presence": set(),
    "totals": set(),
    "addresses": set(),
    "rules": {"ix_game_rules", "ix_game_on_hold"},
    "turns": {"ix_turn_due_at"},
    "unreached": {"ix_turn_refused_at"},
    "reminders": {"ix_turn_remind_at"},
    "bots": {"ix_turn_bots"},
    "outbox": {"ix_outbox_waiting"},
    "digests": {"ix_person_digest", "ix_turn_unstarted"},
    "purge": {
        *("ix_outbox_expiring", "ix_outbox_counted", "ix_game_undated", "ix_game_trial", "ix_presence_at"),
        *("ix_former_handle_until", "ix_submission_at", "ix_word_hidden"),
    },
    "results": {"ix_game_uncounted"},
    "nudges": {"ix_seat_invited", "ix_person_lost"},
    "rematches": {"ix_game_kept_going"},
    "tables": {"ix_game_open"},
    "rejected emails": {"ix_outbox_failed"},
    "emails of a person": {"ix_outbox_person_id"},
    "metrics": {"ix_outbox_waiting", "ix_turn_refused_at", "ix_game_on_hold", "ix_game_uncounted"},
}
"""The indexes, besides the keys, that each job searches, and two queries of pages that share its tables."""
QUERIES: dict[str, Callable[[Session], object]] = {
    "rejected emails": lambda session: desk.refused(session, NOW).rows,
    "emails of a person": lambda session: outbox.count_queued(session, "answer", 1, NOW),
    "metrics": lambda session: not metrics.families(session, NOW),
}
MORE = {
    "nudges": {"ix_outbox_reader", "ix_outbox_person_id"},
    "tables": {"ix_outbox_person_id", "ix_wish_person_id"},
    "metrics": {"ix_outbox_tried"},
    "rejected emails": {"ix_seat_person_id"},
}
"""Further indexes that a job may use: by one of them it looks for an earlier email to the same person."""
COUNTED = {"ix_outbox_waiting", "ix_outbox_tried", "ix_game_on_hold", "ix_game_uncounted"}
"""Indexes of few rows from which the metrics read one end, or count a limited number."""

pytestmark = pytest.mark.empty_database


def strange_reads(job: str) -> list[str]:
    """Run an idle job or a query; return what it reads not by its own indexes, and which of these it does not use."""
    with executed(engine.db.engine) as sent:
        if job in IDLE:
            assert not IDLE[job](NOW + timedelta(seconds=5))
        else:
            with engine.reading() as session:
                assert not QUERIES[job](session)
    mine = INDEXES[job] | KEYS | MORE.get(job, set())
    found, used = [], set()
    for statement, parameters in sent:
        if statement.startswith(PLANNED):
            for read in reads(statement, parameters):
                used.add(read.index)
                bounded = is_bounded(read, statement) or (job == "metrics" and read.index in COUNTED)
                if read.table in LARGE and (read.index not in mine | {""} or not bounded):
                    found.append(f"{job}: {read.table} by {read.index or 'reading all'}: {statement}")
    return found + [f"{job}: {index} is not used" for index in INDEXES[job] - used]


@pytest.mark.usefixtures("app")
def test_each_idle_job_reads_by_its_own_indexes() -> None:
    load.add_heartbeats(NOW)
    load.add_games(GAMES, NOW)
    strange = []
    if engine.db.engine.dialect.name == "sqlite":  # it plans without counting the rows unless it is told to
        strange += [line for job in INDEXES for line in strange_reads(job)]
    load.count_rows()
    strange += [line for job in INDEXES for line in strange_reads(job)]
    assert not strange, "\n".join(strange)


# ---- jobs that find something to do ----

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
MOMENTS = (
    *(timedelta(0), HOUR, 21 * HOUR, 25 * HOUR, 50 * HOUR, 4 * DAY, 8 * DAY, 15 * DAY, 22 * DAY, 32 * DAY),
    100 * DAY,
)
"""When the jobs run: each has something to do at one of these moments at least."""
LATER = 3650 * DAY
WORKS = {*IDLE} - {"heartbeats", "presence", "totals"}
"""The jobs that return how much they have done."""


def add_quiet_games() -> None:
    """Add many games, half of them over, in which nothing ever falls due: what the jobs find are a few others."""
    load.add_heartbeats(NOW)
    load.add_games(GAMES, NOW)
    with engine.transaction() as session:
        if session.get_bind().dialect.name == "postgresql":  # the people were added with numbers of their own
            session.execute(text("SELECT setval('person_id_seq', (SELECT max(id) FROM person))"))
        over = (literal_column("substr(id, length(id))").in_(("1", "3", "5", "7")), Game.id.like("g%"))
        session.execute(delete(Turn).where(Turn.game_id.in_(select(Game.id).where(*over))))
        ended = NOW - LATER
        values = {"started_at": ended, "ended_at": ended, "counted_at": NOW, "mails_dated": True}
        session.execute(update(Game).where(*over).values(status=GameStatus.OVER, result="{}", **values))
        session.execute(update(Turn).values(due_at=NOW + LATER, remind_at=NOW + LATER))
        session.execute(update(Person).values(digest_at=NOW + LATER))
        session.execute(update(Seat).where(Seat.invited_at.is_not(None)).values(invited_at=NOW + LATER))
    fill(GAMES // 5, NOW)
    load.count_rows()


def make_work(table: Begin) -> None:
    """Make games, people and emails of which each job finds some."""
    games = troubled(table, NOW)
    change(Turn, (games["bounced"].id, 0), refused_at=NOW - 80 * HOUR, started_at=None, due_at=None)
    give_to_bots(table(3, "bots"), range(3))
    change(Game, table(3, "rules").id, rules=7)
    change(Game, table(3, "trial").id, trial=True)
    change(Person, table(4, "digest").people[3], cadence="digest", digest_at=NOW)
    lobby.ended(table, game_id="over", keep_going=True)
    lobby.open_table("open")
    person_id = games["well"].people[0]
    with engine.transaction() as session:
        wish = Wish(person_id=games["well"].people[2], slug=None, size=None, pace=None, created_at=NOW - DAY)
        session.add(wish)
    addresses.move(person_id, "new@example.org", NOW, reason="A lost mailbox")
    people.note(person_id, NOW, games["well"].id)
    talk.say(games["well"].id, person_id, "Hello", request_id="1", now=NOW)


def run_all(moment: datetime) -> Iterator[tuple[str, int, list[Statement]]]:
    """Run all jobs once; yield what each has done and sent to the database."""
    load.add_heartbeats(moment)
    for name, job in (IDLE | {"figures": jobs.tick_figures}).items():
        if name != "heartbeats" or moment == NOW:  # later ones would find an outage
            with executed(engine.db.engine) as sent:
                done = job(moment)
            yield name, done, sent


@pytest.mark.usefixtures("app")
def test_a_planted_scan_is_found() -> None:
    load.add_games(GAMES, NOW)
    load.count_rows()
    running = Game.status.in_((GameStatus.ASKED, GameStatus.INVITING, GameStatus.RUNNING))
    planted = {
        "a condition without an index": select(Game.id).where(Game.name == "x"),
        "most games by their status": select(Game.id).where(running, ~positions.has_rules()).limit(9),
        "all of an index": select(Seat.game_id).where(Seat.seat > 5),
        "every kind of rules in use": select(Game.slug).where(text(GOING_ON)).group_by(Game.slug),
        "a change of all": update(Person).where(Person.name == "x").values(silent=True),
    }
    if engine.db.engine.dialect.name == "sqlite":  # PostgreSQL compares pairs by an index
        pairs = tuple_(Game.slug, Game.rules) > tuple_(literal("byzanz"), literal(1))
        planted["all games with the first of a pair"] = select(Game.id).where(text(GOING_ON), pairs).limit(1)
    for what, statement in planted.items():
        with executed(engine.db.engine) as sent, engine.transaction() as session:
            session.execute(statement)
        assert len(scans(sent)) == 1, what


def test_each_busy_job_reads_by_indexes(table: Begin) -> None:
    sent: dict[str, dict[str, object]] = {}
    done = dict.fromkeys(IDLE, 0)
    add_quiet_games()
    make_work(table)
    for after in MOMENTS:
        for name, more, statements in run_all(NOW + after):
            done[name] = done.get(name, 0) + more
            sent.setdefault(name, {}).update(statements)
    assert {name for name in WORKS if not done[name]} == set(), "nothing to do"
    counted = sent.pop("figures")  # which counts all rows of an index, every ten minutes
    assert counted
    found = {name: scans(statements.items()) for name, statements in sent.items()}
    assert not any(found.values()), "\n".join(f"{name}: {line}" for name in found for line in found[name])
