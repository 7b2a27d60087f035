"""The lists of the home page: a person's own games, tables with free seats, games in progress."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from xml.etree.ElementTree import Element

import pytest
from flask.testing import FlaskClient
from sqlalchemy import delete, select

from server.accounts import login
from server.lobby import create, invitations
from server.mail.text import quoted
from server.store import engine, links
from server.store.models import Game, Link, LinkPurpose, Mail, Person, Seat, Standing, Turn
from server.web.lobby import home
from tests.conftest import NOW, Table
from tests.support.costs import more, statements
from tests.support.games import make, start_clock, url
from tests.support.lobby import ALICE, BOB, CHARLIE, DAPHNE, invited, person, token, wish
from tests.support.pages import Page, form, look, sign_in

Begin = Callable[..., Table]
DAY = timedelta(days=1)


def changed(game_id: str, **values: Any) -> None:
    """Change columns of a game."""
    with engine.transaction() as session:
        for name, value in values.items():
            setattr(session.get_one(Game, game_id), name, value)


def lines_under(page: Page, heading: str) -> list[Element]:
    """Return the rows of the list under a heading."""
    found = [part for part in page.root.iter("section") if part.get("aria-labelledby") == heading]
    return [row for part in found for row in part.iter("li")]


def listed_games(page: Page, heading: str) -> list[tuple[str, str]]:
    """Return the name and the URL of each game of a list."""
    return [
        ("".join(next(row.iter("a")).itertext()), next(row.iter("a")).get("href", ""))
        for row in lines_under(page, heading)
    ]


def texts_under(page: Page, heading: str) -> list[str]:
    return [" ".join("".join(row.itertext()).split()) for row in lines_under(page, heading)]


@pytest.mark.empty_database
def test_own_games_lead_to_where_one_plays_those_to_move_first(client: FlaskClient, table: Begin) -> None:
    asked, waits, rests = table(3, "asked"), table(3, "waits"), table(3, "rests")
    make(waits, 0, "pass")
    for number, (game_id, name) in enumerate((("asked", "Mine"), ("waits", "Theirs"), ("rests", "Paused"))):
        changed(game_id, name=name, created_at=NOW + number * DAY)
    changed("rests", paused=True)
    make_turns_go("rests")
    host = create.create_game(wish(name="Unconfirmed"), NOW + 5 * DAY)
    own, _ = invited(NOW + 6 * DAY, name="Organised", players=(BOB, CHARLIE))
    guest, _ = invited(NOW + 7 * DAY, name="Invited", organiser=BOB, players=(ALICE, CHARLIE))
    base = "https://byzanz.test"
    expected = [
        ("Mine", base + url(asked, 0)),
        ("Invited", f"{base}/i/{token('invite', ALICE, guest, NOW)}"),
        ("Unconfirmed", f"{base}/o/{token('organise', ALICE, host, NOW)}"),
        ("Paused", base + url(rests, 0)),
        ("Theirs", base + url(waits, 0)),
        ("Organised", f"{base}/o/{token('organise', ALICE, own, NOW)}"),
    ]
    sign_in(client, ALICE.address)
    page = look(client, "/")
    assert listed_games(page, "mine") == expected
    assert texts_under(page, "mine") == [
        "Byzanz · Bob and Charlie Mine Make your move",
        "Byzanz · Bob and Charlie Bob invites you since Mon 9 Mar, 10:00 Invited Answer",
        "Byzanz · Bob and Charlie waiting for your confirmation Unconfirmed Confirm",
        "Byzanz · Bob and Charlie paused Paused",
        "Byzanz · Bob and Charlie Bob is next. Theirs",
        "Byzanz · Bob and Charlie 1 of 3 seats taken Organised",
    ]
    headings = [" ".join("".join(item.itertext()).split()) for item in page.root.iter("h2")]
    assert headings[:3] == ["Your turn 1", "Waiting for your answer 2", "Waiting for others 3"]
    assert "Games (1)" in page.text
    assert "<title>(1) " in page.html


@pytest.mark.empty_database
def test_own_games_are_sorted_by_the_time_left_and_tell_what_they_wait_for(
    client: FlaskClient, table: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(home, "utc_now", lambda: NOW)
    for number, game_id in enumerate(("later", "sooner", "stopped")):
        table(3, game_id)
        changed(game_id, name=game_id, created_at=NOW + number * DAY)
    start_clock("later", 0, NOW)
    start_clock("sooner", 0, NOW - timedelta(hours=3))
    waits = table(4, "waits")
    for seat in (0, 1, 2):
        make(waits, seat, "pass")
    sign_in(client, ALICE.address)
    page = look(client, "/")
    assert [name for name, _ in listed_games(page, "mine")] == [
        "sooner",
        "later",
        "stopped",
        "The Golden Horn",
    ]
    assert texts_under(page, "mine") == [
        "Byzanz · Bob and Charlie 21 h left (Tue 07:00) sooner Make your move",
        "Byzanz · Bob and Charlie 24 h left (Tue 10:00) later",
        "Byzanz · Bob and Charlie stopped",
        "Byzanz · Bob, Charlie and Daphne Daphne is next. The Golden Horn 2 new moves",
    ]
    assert page.text.find("Your turn 3") < page.text.find("stopped") < page.text.find("Waiting for others 1")
    start_clock("waits", 3, NOW)
    assert "Daphne is next. 24 h left (Tue 10:00) The" in texts_under(look(client, "/"), "mine")[3]
    assert "/favicon-turn.svg" in page.html
    with engine.transaction() as session:
        session.query(Person).filter_by(email=ALICE.address).one().time_zone = "Asia/Tokyo"
    assert "(Tue 16:00)" in texts_under(look(client, "/"), "mine")[0]


@pytest.mark.empty_database
def test_the_header_counts_the_games_that_wait_for_who_is_signed_in(
    client: FlaskClient, table: Begin
) -> None:
    first, second, paused = table(3, "g1"), table(3, "g2"), table(3, "g3")
    changed(paused.id, paused=True)
    paths = ("/rules/byzanz", url(first, 1), "/new", "/g/g1", "/nowhere", "/")
    plain = {}
    for path in paths:
        with statements(engine.db.engine) as sent:
            page = look(client, path)
        assert "Games (" not in page.html
        assert 'href="/sign-in">Sign in</a></nav>' in page.html
        plain[path] = len(sent)
    assert plain["/rules/byzanz"] == 0
    sign_in(client, ALICE.address)
    assert all('<a href="/">Games (2)</a>' in look(client, path).html for path in paths)
    make(first, 0, "pass")
    assert '<a href="/">Games (1)</a>' in look(client, "/rules/byzanz").html
    make(second, 0, "pass")
    assert '<a href="/">Games</a>' in look(client, "/rules/byzanz").html
    login.end_sessions(first.people[0])
    assert "Games" not in look(client, "/rules/byzanz").html.partition("<nav")[2].partition("</nav>")[0]


def test_a_visitor_sees_a_table_and_free_seats_before_the_sign_in(client: FlaskClient) -> None:
    invited(NOW, name="Open", players=(BOB,), free=1, listed=True)
    page = look(client, "/")
    places = [page.html.index(part) for part in ('class="sample"', 'id="open"', 'id="games"', 'id="signin"')]
    assert places == sorted(places)
    demo = next(item for item in page.root.iter("figure") if item.get("class") == "sample")
    assert [item.get("action") for item in demo.iter("form")] == ["/play"]
    assert [(item.get("name"), item.get("value")) for item in demo.iter("button")] == [("game", "byzanz")]
    shown = [item.get("value") for item in demo.iter("input") if item.get("name") != "request_id"]
    assert shown == ["3", "1", "3", "1", "2", "4"]
    sign_in(client, ALICE.address)
    page = look(client, "/")
    assert 'class="sample"' not in page.html
    assert 'id="signin"' not in page.html


def make_turns_go(game_id: str) -> None:
    """Close the turns of a game, as a pause does."""
    with engine.transaction() as session:
        session.execute(delete(Turn).where(Turn.game_id == game_id))


@pytest.mark.empty_database
def test_games_that_are_over_declined_or_not_yet_announced_are_not_listed(
    client: FlaskClient, table: Begin
) -> None:
    table(3, "over")
    changed("over", status="over")
    declined, _ = invited(NOW, organiser=BOB, players=(ALICE, CHARLIE))
    cancelled, _ = invited(NOW, players=(BOB, CHARLIE))
    create.create_game(wish(organiser=BOB, players=(ALICE, CHARLIE)), NOW)  # its invitations are not out
    with engine.transaction() as session:
        session.get_one(Seat, (declined, 1)).status = "declined"
    changed(cancelled, status="cancelled")
    sign_in(client, ALICE.address)
    assert listed_games(look(client, "/"), "mine") == []


@pytest.mark.empty_database
def test_the_latest_finished_games_are_listed_below(client: FlaskClient, table: Begin) -> None:
    for number in range(7):
        table(3, f"g{number}")
        changed(f"g{number}", status="over", name=f"Game {number}", ended_at=NOW + number * DAY)
    sign_in(client, ALICE.address)
    for number, place in ((6, 1), (4, 3)):  # the others are not counted
        with engine.transaction() as session:
            alice = session.scalars(select(Seat.person_id).filter_by(game_id=f"g{number}", seat=0)).one()
            session.add(Standing(game_id=f"g{number}", seat=0, place=place, score=9, person_id=alice))
    expected = [(f"Game {number}", f"/g/g{number}") for number in (6, 5, 4)]
    page = look(client, "/")
    assert listed_games(page, "finished") == expected
    assert page.html.index("Open tables</a>") < page.html.index('id="finished"')
    places = [re.search(r"(won|3rd place)?$", text) for text in texts_under(page, "finished")]
    assert [found and found[0] for found in places] == ["won", "", "3rd place"]


@pytest.mark.empty_database
def test_a_game_without_a_live_link_leads_to_its_public_page(client: FlaskClient, table: Begin) -> None:
    game, other = table(3, "game"), table(3, "other")
    with engine.transaction() as session:
        links.revoke(session, game.people[0], game.id, NOW)
        links.issue(session, LinkPurpose.SEAT, game.people[0], NOW, game.id, expires_at=NOW + 9 * DAY)
    sign_in(client, ALICE.address)
    assert {address for _, address in listed_games(look(client, "/"), "mine")} == {
        "/g/game",
        "https://byzanz.test" + url(other, 0),
    }
    with engine.transaction() as session:
        fresh = [links.issue(session, LinkPurpose.SEAT, game.people[0], NOW, game.id) for _ in range(2)]
        newest = links.url(fresh[-1])
    assert newest in {address for _, address in listed_games(look(client, "/"), "mine")}


def many_games(numbers: range) -> None:
    """Create games in which Alice is to move, waits, is invited or organises, each with the link that she opens."""
    alice = person(ALICE, NOW)
    with engine.transaction() as session:
        for number in numbers:
            key, running = f"many{number}", number % 4 < 2
            session.add(
                Game(
                    id=key,
                    slug="byzanz",
                    rules=1,
                    name=key,
                    organiser_id=alice if number % 4 == 3 else None,
                    status="running" if running else "inviting",
                    allowance=86400,
                    seed="",
                    commitment="",
                    created_at=NOW,
                    listed=True,
                )
            )
            session.flush()
            session.add(Seat(game_id=key, seat=0, stored_name="Alice", status="seated", person_id=alice))
            session.add(Seat(game_id=key, seat=1, stored_name="", status="seated" if running else "free"))
            if number % 4 == 0:
                session.add(
                    Turn(game_id=key, seat=0, question="bid 1", opened_seq=1, opened_at=NOW, hours="{}")
                )
            purpose: str = "seat" if running else "organise" if number % 4 == 3 else "invite"
            links.issue(session, LinkPurpose(purpose), alice, NOW, key)


@pytest.mark.empty_database
def test_two_hundred_games_take_as_many_statements_as_four(client: FlaskClient) -> None:
    many_games(range(4))
    sign_in(client, ALICE.address)
    few: dict[str, list[str]] = {}
    many: dict[str, list[str]] = {}
    for path in ("/", "/account"):
        with statements(engine.db.engine) as few[path]:
            look(client, path)
    many_games(range(4, 200))
    for path in ("/", "/account"):
        with statements(engine.db.engine) as many[path]:
            page = look(client, path)
        assert page.html.count("many") >= 200
        assert len(many[path]) == len(few[path]), more(few[path], many[path])
    page = look(client, "/")
    assert len(listed_games(page, "mine")) == 200
    assert page.text.count("Your turn 50 ") == 1
    assert [text.endswith("Make your move") for text in texts_under(page, "mine")] == [True] + [False] * 199


def test_the_fullest_open_tables_and_the_newest_games_in_progress_are_listed(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(home, "MOST_LISTED", 2)
    monkeypatch.setattr(home, "FEW", 2)
    open_ids, run_ids = [], []
    for number in range(3):
        at = NOW + number * DAY
        open_ids.append(invited(at, name=f"Open {number}", players=(BOB,), free=1 + number, listed=True)[0])
        bots = ("greedy", "greedy")
        run_ids.append(invited(at, name=f"Run {number}", players=(), bots=bots, listed=True)[0])
    full, _ = invited(NOW + 9 * DAY, name="Full", players=(BOB, CHARLIE), listed=True)
    private, host = invited(NOW + 9 * DAY, name="Private", players=(BOB,), free=1, listed=True)
    invitations.set_listed(host, False, NOW)
    create.create_game(wish(listed=True, free=1), NOW + 9 * DAY)  # nobody has confirmed it
    page = look(client, "/")
    assert listed_games(page, "open") == [(f"Open {n}", f"/join/{open_ids[n]}") for n in (0, 1)]
    assert listed_games(page, "running") == [(f"Run {n}", f"/g/{run_ids[n]}") for n in (2, 1)]
    assert "1 of 3 seats free 1 player invited 1 day per move" in texts_under(page, "open")[0]
    assert re.fullmatch(r"Run 2 Byzanz · 3 players · running .+", texts_under(page, "running")[0])
    known = client.application.test_client()
    sign_in(known, BOB.address)
    assert "Byzanz · Alice, Theodora and " in texts_under(look(known, "/"), "running")[0]
    organising = client.application.test_client()
    sign_in(organising, ALICE.address)
    assert [listed_games(look(organising, "/"), part) for part in ("open", "running")] == [
        [],
        [],
    ]  # all are theirs
    changed(open_ids[0], quarantine=quoted("a fault"))
    changed(run_ids[2], status="over")
    page = look(client, "/")
    assert [name for name, _ in listed_games(page, "open")] == ["Open 1", "Open 2"]
    assert [name for name, _ in listed_games(page, "running")] == ["Run 1", "Run 0"]
    assert not {full, private} & set(page.html.split('"'))


def test_the_form_for_a_new_game_knows_who_is_signed_in(client: FlaskClient) -> None:
    invited(NOW)
    _, stranger = form(look(client, "/new?game=empire"), plays="yes")
    assert (stranger["name"], stranger["address"], stranger["time_zone"]) == ("", "", "UTC")
    assert (stranger["game"], stranger["allowance"], stranger["bank"]) == ("empire", "86400", "172800")
    alice = person(ALICE, NOW)
    with engine.transaction() as session:
        session.get_one(Person, alice).time_zone = "Asia/Tokyo"
    sign_in(client, ALICE.address)
    _, known = form(look(client, "/new"), plays="yes")
    assert (known["name"], known["address"], known["time_zone"]) == ("Alice", ALICE.address, "Asia/Tokyo")
    assert known["game"] == "byzanz"


def test_the_form_offers_times_from_ten_minutes_to_a_week_and_banks_to_two(client: FlaskClient) -> None:
    page = look(client, "/new")
    offered = {
        field.get("name"): [int(option.get("value", "")) for option in field.iter("option")]
        for field in page.root.iter("select")
        if field.get("name") in ("allowance", "bank")
    }
    hours = 3600
    assert offered["allowance"] == [
        *(600, hours, 2 * hours, 6 * hours, 12 * hours),
        *(24 * hours, 48 * hours, 72 * hours, 7 * 24 * hours),
    ]
    assert offered["bank"] == [
        *(0, hours, 4 * hours, 12 * hours, 24 * hours, 48 * hours),
        *(4 * 24 * hours, 7 * 24 * hours, 14 * 24 * hours),
    ]


# ---- the pages of a game that has not begun, beside another of the same people ----


def test_the_organiser_sees_the_newest_mail_of_this_game_to_each_guest(client: FlaskClient) -> None:
    game_id, host = invited(NOW - 2 * DAY)
    invited(NOW - 2 * DAY, name="Another")
    invitations.remind(host, 1, NOW)
    with engine.transaction() as session:
        for mail in session.query(Mail).filter_by(kind="invite"):
            mail.status = "sent" if mail.game_id == game_id else "failed"
        for mail in session.query(Mail).filter_by(kind="nudge"):
            mail.status = "failed"
    shown = [text.partition("Change")[0].strip() for text in texts_under(look(client, f"/o/{host}"), "seats")]
    shown = [text.partition(" since ")[0] for text in shown]
    assert shown == ["Alice seated new here", "Bob email rejected", "Charlie invited"]


def test_the_organiser_starts_with_as_many_as_the_game_takes(client: FlaskClient) -> None:
    game_id, host = invited(NOW, players=(BOB, CHARLIE, DAPHNE))
    for guest in (BOB, CHARLIE):
        assert "Start now with" not in look(client, f"/o/{host}").text
        invitations.accept(token("invite", guest, game_id, NOW), guest.name, "", NOW)
    assert "Start now with 3 players" in look(client, f"/o/{host}").text


def test_an_act_that_begins_the_game_leads_to_the_organisers_seat_in_it_and_no_other_does(
    client: FlaskClient, table: Begin
) -> None:
    table(3, "before")
    game_id, host = invited(NOW, players=(BOB,), bots=("greedy",))
    answer = client.post(f"/o/{host}", data={"do": "fill", "seat": "1", "bot": "greedy"})
    assert answer.headers["Location"] == f"https://byzanz.test/t/{token('seat', ALICE, game_id, NOW)}"
    for do in ("list", "unlist"):
        assert client.post(f"/o/{host}", data={"do": do}).headers["Location"] == f"/o/{host}"
    with engine.reading() as session:
        assert session.query(Link).filter_by(game_id=game_id, purpose="seat").count() == 1


def test_a_listed_game_tells_how_many_seats_are_free_until_it_begins(client: FlaskClient) -> None:
    game_id, _ = invited(NOW, players=(BOB,), free=2, listed=True)
    page = look(client, f"/join/{game_id}")
    assert "Join a game of Byzanz" in page.text
    assert "Players: 1 of 4 Alice organiser, new here Bob invited Free seat Free seat" in page.text
    changed(game_id, status="running")
    page = look(client, f"/join/{game_id}")
    assert "This table has no free seats." in page.text
    assert 'action="/sign-in"' not in page.html.partition("<main")[2].partition("</main>")[0]
    sign_in(client, ALICE.address)
    assert "You have a seat at this table." in look(client, f"/join/{game_id}").text
