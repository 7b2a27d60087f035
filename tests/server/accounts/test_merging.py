"""Two accounts become one: the tables say what moves, doubles are left out, and some pairs must stay two."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask
from sqlalchemy.orm import Session

from server import play
from server.accounts import merging, personal_data
from server.accounts.merging import NotOne, Pair
from server.community import profiles, results, talk
from server.errors import InvalidInput, Refused
from server.lobby import create
from server.play.moderation import ActNotPossible, Newcomer
from server.store import engine, links, operations, people
from server.store.engine import Base, UtcTime
from server.store.facts import Fact, FactColumn
from server.store.models import (
    Absence,
    Alert,
    Block,
    Conduct,
    Entry,
    FormerHandle,
    Game,
    Link,
    LinkPurpose,
    Mute,
    Person,
    Reliability,
    Seat,
    Tenure,
    Turn,
    Wish,
)
from server.validation import Guest
from tests.conftest import NOW, Table
from tests.support.address_changes import row
from tests.support.games import finish, outsider
from tests.support.lobby import game_of, mails, person, seats_of, wish

pytestmark = pytest.mark.changes_busy_table
DAY = timedelta(days=1)
KEPT = Guest("Kallias", "kallias@athens.example")
OTHER = Guest("Kallias", "kallias@smyrna.example")
THIRD = Guest("Thais", "thais@smyrna.example")
GAME = "g1"


@pytest.fixture
def pair(app: Flask) -> tuple[int, int]:  # noqa: ARG001 - for its context
    """Return the ids of two accounts without games."""
    return person(KEPT, NOW), person(OTHER, NOW)


def join(pair: tuple[int, int], *, other_handle: bool = False) -> None:
    """Let the second account become one with the first."""
    with engine.transaction() as session:
        merging.check(session, *pair)
        play.lock_games(session, merging.games_of(session, *pair))
        kept, other = (session.get_one(Person, each) for each in pair)
        merging.merge(Pair(session, kept, other, NOW), OTHER.address, other_handle=other_handle)


# ---- whatever refers to a person ----


def fill(session: Session, column: sa.Column[int], whose: int, third: int, number: int) -> dict[str, Any]:
    """Insert a row of a table in which this column names a person, and the others somebody else."""
    values: dict[str, Any] = {}
    for each in column.table.columns:
        if each is column:
            values[each.key] = whose
        elif each in personal_data.references():
            values[each.key] = third
        elif each.foreign_keys:
            values[each.key] = GAME
        elif each.nullable or (each.primary_key and each.name == "id"):
            continue
        else:
            values[each.key] = _value(each, number)
    session.execute(sa.insert(column.table).values(values))
    return values


def _value(column: sa.Column[Any], number: int) -> object:
    if isinstance(column.type, FactColumn):
        return Fact("text", {"text": "x"})
    if isinstance(column.type, UtcTime):
        return NOW
    kind = column.type.python_type
    length = getattr(column.type, "length", None) or 20
    made: dict[type, object] = {str: f"x{number}"[:length], int: 100 + number, bool: False}
    return made.get(kind, f"{number:016}".encode())


ONCE = {"game"}
"""A game has one organiser; its rows are written by hand."""
GONE = {"browser_session", "reliability", "address_change"}
"""Tables whose rows do not move: they are ended or counted again."""


def test_everything_that_refers_to_a_person_moves(table: Callable[..., Table], pair: tuple[int, int]) -> None:
    table(3)
    kept, other = pair
    third = person(THIRD, NOW)
    columns = [column for column in personal_data.references() if column.table.name not in ONCE]
    assert len(columns) >= 20
    with engine.transaction() as session:
        session.get_one(Game, GAME).organiser_id = other
        for number, column in enumerate(columns):
            fill(session, column, other, third, number)
    join(pair)
    with engine.reading() as session:
        for column in (*columns, *(each for each in personal_data.references() if each.table.name in ONCE)):
            count = sa.select(sa.func.count()).select_from(column.table)
            assert session.scalar(count.where(column == other)) == 0, column
            if column.table.name not in GONE:
                assert session.scalar(count.where(column == kept)) == 1, column


def test_every_column_of_a_person_has_its_rule(app: Flask) -> None:  # noqa: ARG001
    ruled = {*merging.FIELDS, "id", "email", "digest_at"}
    assert {column.key for column in Person.__mapper__.columns} == ruled


def test_every_rule_is_for_a_table_that_refers_to_a_person() -> None:
    assert set(merging.RULES) <= {column.table.name for column in personal_data.references()}


def test_whatever_can_be_there_twice_is_there_once(
    table: Callable[..., Table], pair: tuple[int, int]
) -> None:
    table(3)
    kept, other = pair
    third = person(THIRD, NOW)
    twice = [
        column
        for column in personal_data.references()
        if any(column in key for key in merging._keys(column.table))
    ]
    assert {column.table.name for column in twice} >= {"block", "mute", "notes", "conduct", "word"}
    with engine.transaction() as session:
        for number, column in enumerate(twice):
            values = fill(session, column, kept, third, number)
            same = {**values, column.name: other} | ({"number": 999} if "number" in values else {})
            session.execute(sa.insert(column.table).values(same))
    join(pair)
    with engine.reading() as session:
        for column in twice:
            query = sa.select(sa.func.count()).select_from(column.table)
            assert session.scalar(query.where(column == other)) == 0
            gone = column.table.name in GONE
            assert session.scalar(query.where(column == kept)) == (0 if gone else 1), column


def test_nobody_blocks_or_mutes_themselves(pair: tuple[int, int]) -> None:
    kept, other = pair
    third = person(THIRD, NOW)
    with engine.transaction() as session:
        for one, two in ((kept, other), (other, kept), (third, other), (other, third)):
            session.add_all([Block(person_id=one, other_id=two, at=NOW), Mute(person_id=one, other_id=two)])
    join(pair)
    with engine.reading() as session:
        blocks, mutes = session.scalars(sa.select(Block)).all(), session.scalars(sa.select(Mute)).all()
    for rows in (
        [(each.person_id, each.other_id) for each in blocks],
        [(each.person_id, each.other_id) for each in mutes],
    ):
        assert sorted(rows) == sorted([(kept, third), (third, kept)])


def test_the_log_stays_as_it_is(table: Callable[..., Table], pair: tuple[int, int]) -> None:
    table(3)
    with engine.transaction() as session:
        seat = session.get_one(Seat, (GAME, 0))
        seat.person_id = pair[1]
        session.execute(
            sa.update(Tenure).where(Tenure.game_id == GAME, Tenure.seat == 0).values(person_id=pair[1])
        )

    def log() -> list[Any]:
        with engine.reading() as session:
            return list(session.execute(sa.select(Entry.__table__).where(Entry.game_id == GAME)))

    before = log()
    join(pair)
    assert log() == before
    assert seats_of(GAME)[0].person_id == pair[0]
    play.submit(GAME, 0, "pass", seen=game_of(GAME).head, request_id="r", now=NOW)


# ---- who must stay two ----


def play_in(seat: int, person_id: int) -> None:
    """Let a person hold a seat of the game from its start."""
    with engine.transaction() as session:
        session.get_one(Seat, (GAME, seat)).person_id = person_id
        held = sa.update(Tenure).where(Tenure.game_id == GAME, Tenure.seat == seat, Tenure.to_seq.is_(None))
        session.execute(held.values(person_id=person_id))


def test_two_players_of_one_game_stay_two(table: Callable[..., Table], pair: tuple[int, int]) -> None:
    table(3)
    play_in(0, pair[0])
    play_in(1, pair[1])
    with pytest.raises(NotOne):
        join(pair)


def test_two_who_sat_there_one_after_the_other_stay_two(
    table: Callable[..., Table], pair: tuple[int, int]
) -> None:
    table(3)
    play_in(0, pair[0])
    newcomer = Newcomer(OTHER.name, OTHER.address)
    play.moderate(GAME, "!replace 0", reason="ill", person_id=outsider(), now=NOW, newcomer=newcomer)
    assert seats_of(GAME)[0].person_id == pair[1]
    for one, other in (pair, pair[::-1]):
        with engine.reading() as session, pytest.raises(NotOne):
            merging.check(session, one, other)


def test_two_who_had_seats_in_a_game_that_was_called_off_can_join(pair: tuple[int, int]) -> None:
    game_id = create.create_game(wish(players=(KEPT, OTHER)), NOW)
    with engine.transaction() as session:
        session.execute(sa.update(Seat).where(Seat.game_id == game_id).values(status="seated"))
        session.get_one(Game, game_id).status = "cancelled"
    join(pair)
    assert sum(seat.person_id == pair[0] for seat in seats_of(game_id)) == 1


@pytest.mark.parametrize("looker", [0, 1])
def test_who_has_viewed_hidden_hands_of_the_others_game_stays_apart(
    table: Callable[..., Table], pair: tuple[int, int], looker: int
) -> None:
    table(3)
    play_in(0, pair[1 - looker])
    play.moderate(GAME, "!look 1", reason="a question", person_id=pair[looker], now=NOW)
    with pytest.raises(NotOne):
        join(pair)


def test_a_moderator_who_looked_elsewhere_can_join_and_can_still_not_sit_there(
    table: Callable[..., Table], pair: tuple[int, int]
) -> None:
    table(3)
    play.moderate(GAME, "!look 1", reason="a question", person_id=pair[1], now=NOW)
    with engine.transaction() as session:
        session.get_one(Person, pair[1]).moderator = True
    join(pair)
    assert row(pair[0]).moderator
    newcomer = Newcomer(KEPT.name, OTHER.address)
    with pytest.raises(ActNotPossible):
        play.moderate(GAME, "!replace 0", reason="x", person_id=outsider(), now=NOW, newcomer=newcomer)


def test_the_refusal_does_not_say_which_reason_holds(
    table: Callable[..., Table], pair: tuple[int, int]
) -> None:
    table(3)
    play_in(0, pair[0])
    play.moderate(GAME, "!look 1", reason="a question", person_id=pair[1], now=NOW)
    with pytest.raises(NotOne) as looked:
        join(pair)
    play_in(1, pair[1])
    with pytest.raises(NotOne) as sat:
        join(pair)
    assert str(looked.value) == str(sat.value)


HEARD_OF = [("invited", "invited"), ("seated", "invited"), ("invited", "seated")]
"""Where an invitation is given up of which the organiser waited to hear."""


@pytest.mark.parametrize(
    ("mine", "theirs", "stays"),
    [
        ("invited", "invited", "invited"),
        ("seated", "invited", "seated"),
        ("invited", "seated", "seated"),
        ("declined", "invited", "invited"),
        ("declined", "declined", "declined"),
    ],
)
def test_of_two_seats_in_a_game_that_has_not_begun_one_stays(
    pair: tuple[int, int], mine: str, theirs: str, stays: str
) -> None:
    game_id = create.create_game(wish(players=(KEPT, OTHER)), NOW)
    with engine.transaction() as session:
        session.get_one(Game, game_id).status = "inviting"
        for person_id, status in zip(pair, (mine, theirs), strict=True):
            theirs_ = sa.update(Seat).where(Seat.game_id == game_id, Seat.person_id == person_id)
            session.execute(theirs_.values(status=status, cut="c"))
    join(pair)
    found = [(seat.status, seat.person_id) for seat in seats_of(game_id)[1:]]
    assert sorted(found, key=str) == sorted([(stays, pair[0]), ("free", None)], key=str)
    assert [seat.cut for seat in seats_of(game_id) if seat.status == "free"] == [""]
    told = [json.loads(mail.details)["answer"] for mail in mails("answered")]
    assert told == (["declined"] if (mine, theirs) in HEARD_OF else [])


def test_two_who_agreed_to_play_in_one_game_that_has_not_begun_stay_two(pair: tuple[int, int]) -> None:
    game_id = create.create_game(wish(players=(KEPT, OTHER)), NOW)
    with engine.transaction() as session:
        session.execute(sa.update(Seat).where(Seat.game_id == game_id).values(status="seated"))
    with pytest.raises(NotOne):
        join(pair)


# ---- results ----


def test_results_are_counted_for_the_one_as_if_they_had_always_been_one(
    table: Callable[..., Table], pair: tuple[int, int]
) -> None:
    for number, person_id in enumerate(pair):
        game = table(3, f"r{number}", slug="byzantium", listed=True)
        with engine.transaction() as session:
            session.get_one(Seat, (game.id, 0)).person_id = person_id
            held = sa.update(Tenure).where(Tenure.game_id == game.id, Tenure.seat == 0)
            session.execute(held.values(person_id=person_id))
        finish(game.id, NOW + DAY)
        results.count(game.id, NOW + DAY)
    join(pair)

    def counted() -> list[Any]:
        with engine.reading() as session:
            return [
                sorted(
                    map(str, session.execute(sa.select(model.__table__).where(model.person_id == pair[0])))
                )
                for model in (Conduct, Reliability)
            ]

    joined = counted()
    assert [len(rows) for rows in joined] == [2, 1]
    results.everything(NOW + DAY)
    assert counted() == joined
    with engine.reading() as session:
        [figures] = session.scalars(sa.select(Reliability).where(Reliability.person_id == pair[0]))
    assert figures.games == 2


# ---- the person ----


def both(pair: tuple[int, int], mine: dict[str, Any], theirs: dict[str, Any]) -> None:
    """Set columns of the two accounts."""
    with engine.transaction() as session:
        for person_id, values in zip(pair, (mine, theirs), strict=True):
            for name, value in values.items():
                setattr(session.get_one(Person, person_id), name, value)


BOUNCED = Fact("text", {"text": "no such user"})


@pytest.mark.parametrize(
    ("mine", "theirs", "after"),
    [
        ({"moderator": True}, {}, {"moderator": True}),
        ({}, {"moderator": True}, {"moderator": True}),
        ({"silent": True}, {}, {"silent": True}),
        ({}, {"silent": True, "no_invitations": True}, {"silent": True, "no_invitations": True}),
        ({"suppressed": BOUNCED, "lost_at": NOW}, {}, {"suppressed": None, "lost_at": None}),
        ({}, {"suppressed": BOUNCED, "lost_at": NOW}, {"suppressed": BOUNCED, "lost_at": NOW}),
        (
            {"name": "One", "cadence": "once"},
            {"name": "Two", "cadence": "digest"},
            {"name": "One", "cadence": "once"},
        ),
        ({"language": None}, {"language": "de"}, {"language": "de"}),
        ({"language": "nl"}, {"language": "de"}, {"language": "nl"}),
        (
            {"time_zone": None},
            {"time_zone": "Europe/Berlin", "quiet_from": 60, "quiet_to": 120},
            {"time_zone": "Europe/Berlin", "quiet_from": 60, "quiet_to": 120},
        ),
        (
            {"time_zone": "Asia/Tokyo"},
            {"time_zone": "Europe/Berlin", "quiet_from": 60, "quiet_to": 120},
            {"time_zone": "Asia/Tokyo", "quiet_from": None},
        ),
        (
            {"silenced_until": NOW + DAY, "silenced_why": "one"},
            {"silenced_until": NOW + 2 * DAY, "silenced_why": "two"},
            {"silenced_until": NOW + 2 * DAY, "silenced_why": "two"},
        ),
        (
            {"silenced_until": NOW + DAY, "silenced_why": "one"},
            {},
            {"silenced_until": NOW + DAY, "silenced_why": "one"},
        ),
        ({}, {"silenced_until": NOW, "silenced_why": "two"}, {"silenced_until": NOW, "silenced_why": "two"}),
        ({"created_at": NOW}, {"created_at": NOW - DAY}, {"created_at": NOW - DAY}),
        ({}, {}, {"accepted": True, "email": OTHER.address, "digest_at": NOW}),
    ],
)
def test_what_becomes_of_each_setting(
    pair: tuple[int, int], mine: dict[str, Any], theirs: dict[str, Any], after: dict[str, Any]
) -> None:
    both(pair, mine, theirs)
    join(pair)
    kept = row(pair[0])
    assert {name: getattr(kept, name) for name in after} == after


def test_nothing_stays_in_the_row_of_the_account_that_ended(pair: tuple[int, int]) -> None:
    profiles.choose(pair[1], "Kallias", "all", NOW)
    both(pair, {}, {"time_zone": "Asia/Tokyo", "moderator": True})
    join(pair)
    blank = Person(email=None, name=personal_data.NAME, created_at=NOW, silent=True)
    left = row(pair[1])
    said = {column.key for column in Person.__mapper__.columns} - {"id", "created_at", "digest_at"}
    assert {name: getattr(left, name) for name in said} == {name: getattr(blank, name) for name in said}


@pytest.mark.parametrize(
    ("mine", "theirs", "take", "stays", "shown", "spare"),
    [
        ("Kallias", "Thukydides", False, "Kallias", "met", "Thukydides"),
        ("Kallias", "Thukydides", True, "Thukydides", "all", "Kallias"),
        ("Kallias", None, True, "Kallias", "met", None),
        (None, "Thukydides", False, "Thukydides", "all", None),
        (None, None, False, None, "nobody", None),
    ],
)
def test_one_handle_stays_and_nobody_else_gets_the_other(
    pair: tuple[int, int],
    mine: str | None,
    theirs: str | None,
    take: bool,
    stays: str | None,
    shown: str,
    spare: str | None,
) -> None:
    for person_id, handle, whom in ((pair[0], mine, "met"), (pair[1], theirs, "all")):
        if handle:
            profiles.choose(person_id, handle, whom, NOW)
    join(pair, other_handle=take)
    assert (row(pair[0]).handle, row(pair[0]).shown) == (stays, shown)
    with engine.reading() as session:
        former = session.scalars(sa.select(FormerHandle)).all()
    assert [(each.handle, each.person_id) for each in former] == ([(spare, pair[0])] if spare else [])
    if spare:
        with pytest.raises(InvalidInput):
            profiles.choose(person(THIRD, NOW), spare, "all", NOW)
        profiles.choose(pair[0], spare, "all", NOW)


def test_a_silence_holds_at_the_table(table: Callable[..., Table], pair: tuple[int, int]) -> None:
    table(3)
    play_in(0, pair[0])
    both(pair, {}, {"silenced_until": NOW + DAY, "silenced_why": "rude"})
    talk.say(GAME, pair[0], "Hello", request_id="a", now=NOW)
    join(pair)
    with pytest.raises(Refused):
        talk.say(GAME, pair[0], "Hello again", request_id="b", now=NOW)


# ---- rules of single tables ----


def test_absences_that_overlap_are_there_once(pair: tuple[int, int]) -> None:
    spans = {pair[0]: [(0, 3)], pair[1]: [(2, 4), (3, 5), (7, 8)]}
    with engine.transaction() as session:
        for person_id, days in spans.items():
            for start, end in days:
                away = {"from_at": NOW + start * DAY, "to_at": NOW + end * DAY, "created_at": NOW}
                session.add(Absence(person_id=person_id, **away))
    join(pair)
    with engine.reading() as session:
        rows = session.scalars(sa.select(Absence).order_by(Absence.from_at)).all()
    assert [((each.from_at - NOW).days, (each.to_at - NOW).days) for each in rows] == [(0, 3), (3, 5), (7, 8)]


def test_searches_that_are_the_same_are_there_once(pair: tuple[int, int]) -> None:
    with engine.transaction() as session:
        for person_id, slug in ((pair[0], None), (pair[1], None), (pair[1], "empire")):
            session.add(Wish(person_id=person_id, slug=slug, size=None, pace=60, created_at=NOW))
    join(pair)
    with engine.reading() as session:
        assert sorted(str(each.slug) for each in session.scalars(sa.select(Wish))) == ["None", "empire"]


def test_links_stay_but_those_that_sign_in(pair: tuple[int, int]) -> None:
    purposes: tuple[str, ...] = ("seat", "stop", "feed", "signin", "move", "object", "wish")
    with engine.transaction() as session:
        made = {
            (person_id, purpose): links.issue(session, LinkPurpose(purpose), person_id, NOW).id
            for person_id in pair
            for purpose in purposes
        }
    join(pair)
    with engine.reading() as session:
        for (_, purpose), link_id in made.items():
            link = session.get_one(Link, link_id)
            assert link.person_id == pair[0]
            assert (link.revoked_at is None) == (purpose not in ("signin", "move", "object")), purpose


def test_alerts_follow_the_account_and_those_about_the_old_address_go(
    table: Callable[..., Table], pair: tuple[int, int]
) -> None:
    table(3, "g2")
    table(3)
    play_in(0, pair[1])
    with engine.transaction() as session:
        session.get_one(Seat, ("g2", 0)).person_id = pair[0]
        for key in (
            f"refused:g2:{pair[0]}",
            f"complaint:{pair[0]}",
            f"word:{pair[0]}:g2:1",
            f"refused:g1:{pair[1]}",
            f"complaint:{pair[1]}",
            f"word:{pair[1]}:g1:4",
            f"word:{pair[1]}0:g1:4",
            "another",
        ):
            operations.raise_alert(session, key, BOUNCED, NOW)
    join(pair)
    with engine.reading() as session:
        keys = set(session.scalars(sa.select(Alert.key)))
    kept = pair[0]
    assert keys == {
        f"word:{kept}:g2:1",
        f"refused:g1:{kept}",
        f"complaint:{kept}",
        f"word:{kept}:g1:4",
        f"word:{pair[1]}0:g1:4",
        "another",
    }


# ---- clocks ----


def waiting_turn(table: Callable[..., Table], person_id: int) -> None:
    """Let a person be to move in a game whose email has not been sent."""
    table(3)
    play_in(0, person_id)
    with engine.transaction() as session:
        session.execute(sa.update(Turn).where(Turn.game_id == GAME).values(started_at=None, due_at=None))


@pytest.mark.parametrize("who", [0, 1])
def test_a_clock_for_which_no_email_comes_any_more_starts(
    table: Callable[..., Table], pair: tuple[int, int], who: int
) -> None:
    waiting_turn(table, pair[1 - who])
    both(pair, {"silent": who == 0}, {"silent": who == 1})
    join(pair)
    with engine.reading() as session:
        assert session.get_one(Turn, (GAME, 0)).started_at == NOW


def test_a_turn_that_waited_for_a_digest_is_emailed_to_who_wants_each(
    table: Callable[..., Table], pair: tuple[int, int]
) -> None:
    waiting_turn(table, pair[1])
    with engine.transaction() as session:
        session.execute(sa.text("DELETE FROM outbox WHERE game_id = 'g1'"))
    both(pair, {}, {"cadence": "digest"})
    join(pair)
    assert [mail.person_id for mail in mails("turn")] == [pair[0]]


def test_people_who_share_nothing_are_not_touched(table: Callable[..., Table], pair: tuple[int, int]) -> None:
    game = table(3)

    def others() -> list[Any]:
        with engine.reading() as session:
            return [
                list(map(str, session.execute(sa.select(model)).all()))
                for name, model in Base.metadata.tables.items()
                if name not in ("person", "total")
            ]

    before = others()
    join(pair)
    assert others() == before
    with engine.reading() as session:
        for person_id in game.people:
            assert people.find(session, session.get_one(Person, person_id).email or "") is not None


@pytest.mark.parametrize("after", [{"silent": True}, {"cadence": "digest"}, {}])
def test_a_game_on_hold_does_not_hold_its_player_up(
    table: Callable[..., Table], pair: tuple[int, int], after: dict[str, Any]
) -> None:
    waiting_turn(table, pair[1])
    with engine.transaction() as session:
        session.execute(sa.update(Turn).where(Turn.game_id == GAME).values(refused=BOUNCED, refused_at=NOW))
    play.quarantine(GAME, Fact("play_failed", {"fault": "ValueError"}), NOW)
    both(pair, {}, after)
    join(pair)
    assert seats_of(GAME)[0].person_id == pair[0]
