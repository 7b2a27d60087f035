"""What a moderator's pages take from one game and not from another, and where each kind of issue begins."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select

from server import play
from server.mail.text import quoted
from server.store import engine, operations, outbox
from server.store.facts import Fact
from server.store.models import Alert, Entry, Game, IncomingMail, Mail, Outage, Person, Seat, Turn
from server.web.moderation import desk, game
from tests.conftest import NOW, Table
from tests.support.games import MIA, change, make, make_moderator
from tests.support.pages import look, sign_in

Begin = Callable[..., Table]
SECOND, HOUR, DAY = timedelta(seconds=1), timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def mia(client: FlaskClient) -> FlaskClient:
    """Return the browser of a signed-in moderator who has no seat."""
    make_moderator(MIA, NOW)
    sign_in(client, MIA)
    return client


def moderate_as_mia(game_id: str, text: str) -> int:
    return play.moderate(game_id, text, reason="a complaint", person_id=make_moderator(MIA, NOW), now=NOW)


def test_a_look_opens_its_own_game_and_nothing_but_a_look_does(mia: FlaskClient, table: Begin) -> None:
    one, two = table(3, "one"), table(3, "two")
    make(two, 0, "pass")
    first, note = moderate_as_mia(one.id, "!look 1"), moderate_as_mia(one.id, "!note")
    moderate_as_mia(two.id, "!note")
    second = moderate_as_mia(one.id, "!look all")
    assert [mia.get(f"/m/one/look/{seq}").status_code for seq in (first, note, second)] == [200, 404, 200]
    assert [mia.get(f"/m/two/look/{seq}").status_code for seq in (first, note, second)] == [404] * 3
    page = look(mia, "/m/one")
    looks = [item.get("href") for item in page.root.iter("a") if "/look/" in item.get("href", "")]
    assert looks == [f"/m/one/look/{second}", f"/m/one/look/{first}"]  # the newest first
    assert "/look/" not in "".join(item.get("href", "") for item in look(mia, "/m/two").root.iter("a"))


def test_a_look_shows_the_moment_asked_for_and_else_its_own(mia: FlaskClient, table: Begin) -> None:
    one = table(3, "one")
    make(one, 0, "pass")
    seq = moderate_as_mia(one.id, "!look 1")
    make(one, 1, "pass")
    for query, shown in (
        ("", seq),
        ("?at=2", 2),
        (f"?at={seq}", seq),
        (f"?at={seq + 1}", seq),
        ("?at=x", seq),
    ):
        assert f"Entry {shown} of {seq}" in look(mia, f"/m/one/look/{seq}{query}").text, query


def test_the_newest_emails_of_this_game_are_listed(
    mia: FlaskClient, table: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(game, "MOST_MAILS", 2)
    people = table(3, "one").people
    table(3, "two")
    with engine.transaction() as session:
        for number in range(3):
            at = NOW + number * HOUR
            for game_id in ("one", "two"):
                outbox.enqueue(
                    session,
                    key=f"{game_id}{number}",
                    kind="act",
                    person_id=people[number],
                    now=at,
                    game_id=game_id,
                )
                session.add(
                    IncomingMail(
                        digest=f"{game_id}{number}",
                        at=at,
                        kind="reply",
                        outcome=quoted(f"{game_id} said {number}"),
                        person_id=people[number],
                        game_id=game_id,
                    )
                )
    page = look(mia, "/m/one")
    parts = {part.get("aria-labelledby"): part for part in page.root.iter("section")}
    sent = next(part for part in parts["mails"] if part.tag == "div")
    lines = {
        name: [" ".join(" ".join(row.itertext()).split()) for row in part.iter("li")]
        for name, part in (("mails", sent), ("received", parts["received"]))
    }
    assert [("(Charlie)" in line, "(Bob)" in line) for line in lines["mails"]] == [
        (True, False),
        (False, True),
    ]
    assert ["one said 2" in lines["received"][0], "one said 1" in lines["received"][1]] == [True, True]
    assert len(lines["received"]) == 2


@pytest.mark.empty_database
def test_clearing_the_alert_of_a_wrong_clock_confirms_the_time(mia: FlaskClient, table: Begin) -> None:
    table(3, now=NOW + 900 * DAY)
    with engine.transaction() as session:
        operations.raise_alert(session, "other", quoted("something else"), NOW)
        operations.raise_alert(session, operations.CLOCK_JUMPED, Fact("clock_jumped"), NOW)
        found = session.scalars(select(Alert).where(Alert.key == operations.CLOCK_JUMPED)).one().id
    page = look(mia, "/m/")
    token = next(i.get("value", "") for i in page.root.iter("input") if i.get("name") == "csrf_token")
    answer = mia.post(f"/m/alarms/{found}", data={"csrf_token": token})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/m/")
    with engine.reading() as session:
        assert [row.part for row in session.scalars(select(Outage))] == ["clock"]
        open_ = session.scalars(select(Alert.key).where(Alert.cleared_at.is_(None))).all()
        assert open_ == ["other"]
        waiting = session.scalars(select(Mail).where(Mail.kind == "turn")).one()
        assert waiting.not_before < NOW + 900 * DAY


# ---- where issues begin and end ----


def set_turn(**values: Any) -> Callable[[Table], None]:
    return lambda table: change(Turn, (table.id, 0), **values)


def set_game(**values: Any) -> Callable[[Table], None]:
    return lambda table: change(Game, table.id, **values)


def set_person(**values: Any) -> Callable[[Table], None]:
    return lambda table: change(Person, table.people[0], **values)


def set_seat(**values: Any) -> Callable[[Table], None]:
    return lambda table: change(Seat, (table.id, 0), **values)


STARTED = set_turn(started_at=NOW, due_at=NOW + 20 * HOUR)
LATE = set_turn(started_at=NOW, due_at=NOW)
UNSENT = set_turn(opened_at=NOW - HOUR)
REFUSED = set_turn(refused=quoted("550 no"), refused_at=NOW)
CASES: list[tuple[set[str], list[Callable[[Table], None]]]] = [
    (set(), [STARTED]),
    ({"late"}, [set_turn(started_at=NOW, due_at=NOW + 6 * HOUR)]),
    (set(), [set_turn(started_at=NOW, due_at=NOW + 6 * HOUR + SECOND)]),
    (set(), [LATE, set_turn(bot=True)]),
    ({"stuck"}, [LATE, set_game(paused=True)]),
    ({"aside"}, [LATE, set_game(quarantine=quoted("a fault"))]),
    (set(), [LATE, set_game(status="over")]),
    ({"mail"}, [UNSENT]),
    (set(), [set_turn(opened_at=NOW - HOUR + SECOND)]),
    (set(), [UNSENT, set_turn(started_at=NOW, due_at=NOW + 20 * HOUR)]),
    (set(), [UNSENT, set_person(cadence="digest")]),
    (set(), [UNSENT, set_turn(bot=True)]),
    ({"stuck"}, [UNSENT, set_game(paused=True)]),
    ({"mail"}, [STARTED, REFUSED]),
    ({"mail"}, [STARTED, set_person(unreachable=quoted("550 no"))]),
    ({"mail"}, [STARTED, set_person(suppressed=quoted("spam"))]),
    (set(), [STARTED, set_person(suppressed=quoted("spam")), set_game(status="over")]),
    (set(), [STARTED, set_person(suppressed=quoted("spam")), set_seat(status="declined")]),
    ({"away"}, [STARTED, set_seat(autopilot=True)]),
    (set(), [STARTED, set_seat(autopilot=True), set_game(status="over")]),
]
"""What happens to a game, and the kinds of issues that it then has."""


def kinds_of(game_id: str) -> set[str]:
    with engine.reading() as session:
        return {
            kind
            for kind in desk.KINDS
            if game_id in session.scalars(select(Game.id).where(desk.games_with(kind, NOW))).all()
        }


@pytest.mark.parametrize("number", range(len(CASES)))
def test_each_kind_of_issue_begins_and_ends_where_it_should(table: Begin, number: int) -> None:
    table(3, "other")
    change(Turn, ("other", 0), started_at=NOW, due_at=NOW + 20 * HOUR)
    expected, happens = CASES[number]
    troubled = table(3, "troubled")
    for each in happens:
        each(troubled)
    assert kinds_of("troubled") == expected
    with engine.reading() as session:
        listed = {
            "late": desk.late(session, NOW),
            "stuck": desk.stuck_games(session, NOW),
            "aside": desk.quarantined(session),
            "away": desk.autopilot_games(session),
        }
        mail = [*desk.unreached(session).rows, *desk.unsent(session, NOW).rows]
    here = {kind for kind, found in listed.items() if "troubled" in [row[0].id for row in found.rows]}
    assert here | ({"mail"} if "troubled" in [row[0].id for row in mail] else set()) == expected


UNREACHABLE = set_person(unreachable=quoted("550 no"))


@pytest.mark.empty_database  # the person sits nowhere else
@pytest.mark.parametrize(
    ("listed", "happens"),
    [
        (True, []),
        (False, [UNREACHABLE]),
        (False, [set_person(suppressed=quoted("spam"))]),
        (False, [REFUSED]),
        (True, [UNREACHABLE, set_game(status="over")]),
        (True, [UNREACHABLE, set_seat(status="declined")]),
    ],
)
def test_a_rejected_email_to_an_unreachable_player_is_not_listed_too(
    table: Begin, listed: bool, happens: list[Callable[[Table], None]]
) -> None:
    bounced = table(3, "bounced")
    with engine.transaction() as session:
        about: dict[str, Any] = {
            "person_id": bounced.people[0],
            "game_id": "bounced",
            "created_at": NOW,
            "not_before": NOW,
        }
        session.add(Mail(key="bounce", kind="over", status="failed", error=quoted("550 no"), **about))
    for each in happens:
        each(bounced)
    with engine.reading() as session:
        found = {mail.key for mail, _, _ in desk.refused(session, NOW).rows}
    assert ("bounce" in found) == listed


@pytest.mark.empty_database
def test_each_seat_that_no_email_reaches_is_listed_with_its_own_turn(table: Begin) -> None:
    """Alice is to move in two games, and only one of them has stopped her clock."""
    games = [table(3, name) for name in ("one", "two")]
    REFUSED(games[0])
    change(Person, games[0].people[1], unreachable=quoted("550 no"))
    with engine.reading() as session:
        rows = [
            (game_.id, seat.seat, person.name, turn and (turn.game_id, turn.seat))
            for game_, seat, person, turn in desk.unreached(session).rows
        ]
    assert rows == [
        ("one", 0, "Alice", ("one", 0)),
        ("one", 1, "Bob", None),
        ("two", 1, "Bob", None),
    ]


def test_a_turn_whose_email_was_refused_is_not_listed_as_unsent_too(table: Begin) -> None:
    for name in ("unsent", "refused"):
        UNSENT(table(3, name))
    change(Turn, ("refused", 0), refused=quoted("550 no"), refused_at=NOW)
    with engine.reading() as session:
        assert [row[0].id for row in desk.unsent(session, NOW).rows] == ["unsent"]
        assert [row[0].id for row in desk.unreached(session).rows] == ["refused"]


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.empty_database
def test_there_is_a_next_page_only_if_something_is_on_it(
    mia: FlaskClient, table: Begin, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(desk, "PAGE_SIZE", 3)
    for number in range(count):
        moderate_as_mia(table(3, f"g{number}").id, "!note")
    for path in ("/m/games", "/m/deeds"):
        further = [item for item in look(mia, path).root.iter("a") if item.get("rel") == "next"]
        assert len(further) == (count > 3)


@pytest.mark.empty_database
@pytest.mark.parametrize(("age", "stuck"), [(7 * DAY, True), (7 * DAY - SECOND, False)])
def test_a_game_is_stuck_a_week_after_its_last_entry(table: Begin, age: timedelta, stuck: bool) -> None:
    game_ = table(3, now=NOW - age)
    change(Turn, (game_.id, 0), started_at=NOW, due_at=NOW + 20 * HOUR)
    with engine.reading() as session:
        assert session.query(Entry).count() == 1
    assert ("stuck" in kinds_of(game_.id)) == stuck


def test_failed_emails_are_listed_for_a_week_the_newest_first(table: Begin) -> None:
    people = table(3).people
    with engine.transaction() as session:
        for name, age, status in (
            ("newest", HOUR, "failed"),
            ("old", 7 * DAY, "failed"),
            ("older", 7 * DAY - SECOND, "failed"),
            ("sent", HOUR, "sent"),
        ):
            outbox.enqueue(session, key=name, kind="act", person_id=people[1], now=NOW - age, game_id="g1")
            session.scalars(select(Mail).where(Mail.key == name)).one().status = status
    with engine.reading() as session:
        found = desk.refused(session, NOW)
        assert ([mail.key for mail, _, _ in found.rows], found.count) == (["newest", "older"], 2)
        assert {(person.id, game_.id) for _, person, game_ in found.rows} == {(people[1], "g1")}


def test_failed_emails_to_people_who_left_the_table_need_nothing_more(table: Begin) -> None:
    people = table(3).people
    with engine.transaction() as session:
        for key, person, game_id in (
            ("host", 0, "g1"),
            ("gone", 1, "g1"),
            ("own", 1, None),
            ("sits", 2, "g1"),
        ):
            outbox.enqueue(session, key=key, kind="act", person_id=people[person], now=NOW, game_id=game_id)
            session.scalars(select(Mail).where(Mail.key == key)).one().status = "failed"
        for seat in (0, 1):
            session.get_one(Seat, ("g1", seat)).person_id = people[2]
    with engine.reading() as session:
        assert {mail.key for mail, _, _ in desk.refused(session, NOW).rows} == {"host", "own", "sits"}


def test_the_most_urgent_is_listed_first(table: Begin) -> None:
    for number in range(3):
        game_ = table(3, f"g{number}", NOW - number * DAY)
        change(Turn, (game_.id, 0), started_at=NOW, due_at=NOW - number * HOUR)
        change(Game, game_.id, paused=number == 0)
    with engine.transaction() as session:
        for number in range(3):
            operations.raise_alert(session, f"a{number}", quoted(f"alert {number}"), NOW + number * HOUR)
        operations.raise_alert(session, "gone", quoted("gone"), NOW)
        operations.clear_alerts(session, "gone", NOW)
    with engine.reading() as session:
        assert [game_.id for game_, _, _ in desk.late(session, NOW).rows] == ["g2", "g1"]
        assert [alert.key for alert, _ in desk.open_alerts(session).rows] == ["a2", "a1", "a0"]
    for number in range(3):
        change(Game, f"g{number}", paused=True)
    with engine.reading() as session:
        assert [game_.id for game_, _ in desk.stuck_games(session, NOW).rows] == ["g2", "g1", "g0"]


def test_a_form_that_cannot_be_read_says_which_word_is_wrong(mia: FlaskClient, table: Begin) -> None:
    table(3, "one")
    page = look(mia, "/m/one")
    token = next(i.get("value", "") for i in page.root.iter("input") if i.get("name") == "csrf_token")
    for typed, said in (
        ({"act": "extend", "seat": "0", "hours": "many"}, "“many” must be a whole number of hours."),
        ({"act": "extend", "seat": "7", "hours": "1"}, "There is no seat 7 in this game."),
        ({"act": "extend", "seat": "x", "hours": "1"}, "There is no seat x in this game."),
        ({"act": "void", "entry": "seven"}, "Entry seven is not a player’s move that still counts."),
        ({"act": "void", "entry": "1"}, "Entry 1 is not a player’s move that still counts."),
        ({"act": "void", "entry": "2"}, "Entry 2 is not a player’s move that still counts."),
        ({"act": "autopilot", "seat": "1", "switch": "up"}, "An autopilot can only be switched on or off."),
        ({"act": "burn"}, "Choose one of: !void, !pause,"),
    ):
        answer = mia.post("/m/one/preview", data=typed | {"reason": "x", "csrf_token": token})
        assert answer.status_code in (409, 422)
        assert said in answer.text, typed
        assert "%(" not in answer.text


# ---- the search and the list of actions ----


def found_games(**filters: str) -> list[str]:
    with engine.reading() as session:
        query = desk._search(**{"q": "", "status": "", "kind": ""} | filters)
        return [game_.id for game_ in session.scalars(query)]


@pytest.mark.empty_database
def test_the_search_finds_by_each_word_alone_and_by_all_filters_together(table: Begin) -> None:
    table(3, "first", NOW)
    table(3, "second", NOW + HOUR, slug="byzantium")
    table(6, "third", NOW + 2 * HOUR)
    change(Game, "first", name="Blue 100%", status="over")
    change(Seat, ("second", 1), stored_name="Zoe")
    assert found_games() == ["third", "second", "first"]
    for word, games in (
        ("SECOND", ["second"]),
        ("secon", []),
        ("blue", ["first"]),
        ("100%", ["first"]),
        ("1%0", []),
        ("zOE", ["second"]),
        ("felix@", ["third"]),
        ("Felix", ["third"]),
        ("alice@example", ["third", "second", "first"]),
        ("nobody", []),
    ):
        assert found_games(q=word) == games, word
    assert found_games(status="over") == ["first"]
    assert found_games(status="running", kind="byzanz") == ["third"]
    assert found_games(kind="byzantium") == ["second"]
    assert found_games(q="alice", status="running", kind="byzantium") == ["second"]
    assert found_games(status="aside") == []


def test_the_organiser_is_found_who_has_no_seat(table: Begin) -> None:
    table(3, "first")
    change(Game, "first", organiser_id=make_moderator(MIA, NOW))
    assert found_games(q=MIA) == ["first"]


@pytest.mark.parametrize(
    ("text", "page"), [("", 1), ("0", 1), ("1", 1), ("2", 2), ("999", 999), ("1000", 1), ("x", 1)]
)
def test_a_page_that_cannot_be_is_the_first(text: str, page: int) -> None:
    assert desk._page(text) == page
