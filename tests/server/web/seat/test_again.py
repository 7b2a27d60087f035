"""The button for the next game: where it stands, where it leads, and the form if somebody cannot be invited."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, fields, replace
from datetime import timedelta

import pytest
from flask.testing import FlaskClient
from hypothesis import HealthCheck, example, given, settings
from sqlalchemy import func, select

from server.lobby import invitations, notify, rematch, visitors
from server.mail import subscriptions
from server.play import seats
from server.store import engine, links
from server.store.models import Game, GameSettings, LinkPurpose, Mail, Seat
from tests.conftest import NOW, Table
from tests.support import pages
from tests.support.games import change, url
from tests.support.lobby import any_settings, block, ended, everything, game_of, moderator, seats_of, set_game
from tests.support.pages import Page, form, log_in, look, read, without_ids

Begin = Callable[..., Table]
ALL = "Play again with the same people"


@pytest.fixture
def over(table: Begin) -> Table:
    """Return a game of four that has ended."""
    return ended(table, 4)


def buttons(page: Page) -> list[str]:
    """Return the texts of the buttons that ask for the next game."""
    posting = [item for item in page.root.iter("form") if (item.get("action") or "").endswith("/again")]
    return ["".join(item.itertext()).strip() for item in posting]


def press(client: FlaskClient, path: str) -> str:
    """Press the only button for the next game on a page; return where it leads."""
    page = look(client, path)
    action = next(item.get("action") for item in page.root.iter("form") if item.get("id") == "again")
    answer = client.post(action or "")
    assert answer.status_code == 303
    return answer.location


def next_of(game: Table) -> Game | None:
    with engine.reading() as session:
        return rematch.next_game(session, game.id)


def link(purpose: str, person_id: int, game_id: str) -> str:
    with engine.transaction() as session:
        made = links.link_for(session, LinkPurpose(purpose), person_id, game_id, NOW)
        return f"/{links.PATHS[purpose]}/{links.token(made)}"


def test_the_first_presser_organises_and_the_second_finds_their_invitation(
    client: FlaskClient, over: Table
) -> None:
    before = everything()
    assert buttons(look(client, url(over, 0))) == [ALL]
    assert everything() == before
    first = press(client, url(over, 0))
    assert "/o/" in first
    assert "1 of 4 seats taken" in look(client, first).text
    page = look(client, url(over, 1))
    assert buttons(page) == ["Go to the next game"]
    assert "The next game: The Golden Horn (2)" in page.text
    second = press(client, url(over, 1))
    assert "/i/" in second
    assert "Alice invites you to Byzanz" in look(client, second).text


def test_a_page_that_is_opened_makes_no_game(client: FlaskClient, over: Table) -> None:
    change(Seat, (over.id, 2), left=True)
    before = everything()
    for path in (url(over, 0), f"{url(over, 0)}/again", f"/g/{over.id}"):
        for method in ("GET", "HEAD"):
            assert client.open(path, method=method).status_code == 200
    assert everything() == before


def test_whoever_left_has_no_button(client: FlaskClient, over: Table) -> None:
    change(Seat, (over.id, 0), left=True)
    assert buttons(look(client, url(over, 0))) == []
    answer = client.post(f"{url(over, 0)}/again")
    assert answer.status_code == 409
    assert "You left this game before its end" in answer.text


def test_a_visitors_game_offers_another_one_against_bots(client: FlaskClient) -> None:
    path = f"/t/{visitors.start('byzantium', 'Guest', NOW)}"
    with engine.reading() as session:
        game_id = session.scalar(select(Game.id).where(Game.trial))
    assert game_id
    seats.end_trial(game_id, NOW)
    page = look(client, path)
    if page.status == 200:  # the link may have ended with the game
        assert buttons(page) == []
    assert client.post(f"{path}/again").status_code in (404, 409)


def test_with_bots_alone_it_is_called_otherwise_and_leads_to_the_table(
    client: FlaskClient, table: Begin
) -> None:
    game = ended(table, 3, ("greedy", "greedy"))
    assert buttons(look(client, url(game, 0))) == ["Play again"]
    place = press(client, url(game, 0))
    assert "/t/" in place
    assert look(client, place).status == 200
    assert press(client, url(game, 0)) == place


def test_the_limit_of_invitations_is_told(
    client: FlaskClient, over: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notify, "INVITATIONS_A_DAY", 1)
    answer = client.post(f"{url(over, 0)}/again")
    assert answer.status_code == 429
    assert "Organisers can send 1 invitations a day" in answer.text
    assert next_of(over) is None


# ---- the page of the result ----


def test_the_result_has_the_button_for_its_players_alone(client: FlaskClient, over: Table) -> None:
    path = f"/g/{over.id}"
    assert buttons(look(client, path)) == []
    log_in(client, moderator())
    assert buttons(look(client, path)) == []
    log_in(client, over.people[1])
    assert buttons(look(client, path)) == [ALL]
    assert "/o/" in press(client, path)
    change(Seat, (over.id, 2), left=True)
    log_in(client, over.people[2])
    assert buttons(look(client, path)) == []


def test_the_next_game_is_shown_to_its_players_unless_it_is_listed(client: FlaskClient, over: Table) -> None:
    path, shown = f"/g/{over.id}", "The next game: The Golden Horn (2)"
    assert shown not in look(client, path).text  # and is kept
    found = rematch.again(over.id, over.people[0], NOW)
    assert shown not in look(client, path).text
    host = link("organise", over.people[0], found.game_id).removeprefix("/o/")
    invitations.set_listed(host, True, NOW)
    assert shown in look(client, path).text
    invitations.set_listed(host, False, NOW)
    assert shown not in look(client, path).text
    log_in(client, over.people[3])
    assert shown in look(client, path).text
    assert f'href="/g/{found.game_id}"' in look(client, path).html
    invitations.set_listed(host, True, NOW)
    invitations.cancel(host, NOW)
    assert shown not in look(client, path).text


def test_the_organiser_lets_the_table_keep_going(client: FlaskClient, over: Table) -> None:
    link("organise", over.people[0], over.id)
    set_game(over.id, ended_at=engine.utc_now())
    path = f"/g/{over.id}"
    log_in(client, over.people[1])
    assert "Keep this table going" not in look(client, path).text
    log_in(client, over.people[0])
    for do, kept in (("go-on", True), ("end", False)):
        action, filled = form(look(client, path), do=do)
        assert client.post(action or "", data=filled).status_code == 303
        assert game_of(over.id).keep_going is kept
    set_game(over.id, ended_at=engine.utc_now() - timedelta(days=1))
    assert "Keep this table going" not in look(client, path).text


def test_a_new_game_keeps_going_if_its_form_says_so(client: FlaskClient) -> None:
    _, filled = form(look(client, "/new"), plays="yes")
    given = {"name": "Ann", "address": "ann@example.org", "players": "bob@example.org, cy@example.org"}
    assert (
        client.post("/new", data=filled | given | {"title": "Going", "keep_going": "yes"}).status_code == 303
    )
    assert client.post("/new", data=filled | given | {"title": "Once"}).status_code == 303
    with engine.reading() as session:
        kept = {game.name: game.keep_going for game in session.scalars(select(Game))}
    assert (kept["Going"], kept["Once"]) == (True, False)


def test_organisers_answer_the_invitation_that_was_sent_in_their_name(
    client: FlaskClient, table: Begin
) -> None:
    game = ended(table, 3, keep_going=True)
    assert rematch.offer(game.id, NOW + timedelta(days=1))
    made = next_of(game)
    assert made is not None
    host, own = link("organise", game.people[0], made.id), link("invite", game.people[0], made.id)
    assert f'{own}">Answer your own invitation</a>' in look(client, host).html
    assert "Your next game of Byzanz" in look(client, own).text
    assert press(client, url(game, 0)).endswith(own)
    invitations.accept(own.removeprefix("/i/"), "Alice", "a cut", NOW + timedelta(days=1))
    assert "Answer your own invitation" not in look(client, host).html


def test_the_home_page_of_organisers_lists_the_invitation_in_their_name(
    client: FlaskClient, table: Begin
) -> None:
    game = ended(table, 3, keep_going=True)
    assert rematch.offer(game.id, NOW + timedelta(days=1))
    made = next_of(game)
    assert made is not None
    own = link("invite", game.people[0], made.id)  # as the emailed invitation has it
    log_in(client, game.people[0])
    page = look(client, "/")
    assert f'{own}"' in page.html
    assert "you are invited" in page.text
    host = link("organise", game.people[0], made.id)
    assert f'{host}"' in look(client, "/").html


# ---- not everybody ----


def page_of_missing(client: FlaskClient, game: Table, seat: int = 0) -> Page:
    """Press the button where somebody is missing; return the form."""
    place = press(client, url(game, seat))
    assert place.endswith(f"{url(game, seat)}/again")
    return look(client, place)


def posted(page: Page) -> dict[str, str]:
    """Return the untouched form for a new game."""
    return pages.fields(next(item for item in page.root.iter("form") if item.get("id") == "new"))


def test_the_form_is_filled_with_the_others_and_shows_no_address(client: FlaskClient, table: Begin) -> None:
    game = ended(table, 4, allowance=5 * 3600, bank=7, days_off="67", listed=True, keep_going=True)
    change(Seat, (game.id, 1), left=True)
    page = page_of_missing(client, game)
    assert "Not everyone from the last game can be invited again." in page.text
    assert "@example.org" not in page.html.replace("ann@example.org", "")
    filled = posted(page)
    assert {name: value for name, value in filled.items() if name.startswith("same")} == {
        "same_2": "@",
        "same_3": "@",
    }
    wanted = {
        "title": "The Golden Horn (2)",
        "pace": "own",
        "allowance": "18000",
        "bank": "7",
        "name": "Alice",
    }
    assert wanted.items() <= filled.items()
    assert (filled["day_6"], filled["day_7"], filled["listed"], filled["keep_going"]) == (
        *("off", "off"),
        *("yes", "yes"),
    )
    assert "Bob" not in page.text


@pytest.mark.parametrize("why", ["refuses", "blocked"])
def test_nobody_can_tell_why_somebody_is_missing(client: FlaskClient, table: Begin, why: str) -> None:
    game = ended(table, 3)
    change(Seat, (game.id, 1), left=True)
    left = without_ids(page_of_missing(client, game).html)
    change(Seat, (game.id, 1), left=False)
    match why:
        case "refuses":
            subscriptions.refuse_invitations(game.people[1], True)
        case "blocked":
            block(game.people[0], game.people[1])
    assert without_ids(page_of_missing(client, game).html) == left


def test_the_form_invites_those_chosen_and_nobody_else(client: FlaskClient, table: Begin) -> None:
    game = ended(table, 5)
    block(game.people[0], game.people[1])
    filled = posted(page_of_missing(client, game)) | {
        "same_1": "@",  # no page offers it
        "same_3": "",
        "friend_1": "Zoe",
        "friend_1_address": "zoe@example.org",
        "address": "mallory@example.org",
    }
    assert client.post("/new", data=filled).status_code == 303
    with engine.reading() as session:
        made = session.scalars(select(Game).where(Game.name == "The Golden Horn (2)")).one()
        assert made.organiser_id == game.people[0]
        mail = session.scalars(select(Mail).where(Mail.game_id == made.id)).one()
        assert (mail.kind, mail.person_id) == ("confirm", game.people[0])
    assert [seat.stored_name for seat in seats_of(made.id)] == ["Alice", "Charlie", "Eirene", "Zoe"]
    assert next_of(game) is None


def test_a_refused_form_still_knows_the_others(client: FlaskClient, table: Begin) -> None:
    game = ended(table, 4)
    change(Seat, (game.id, 1), left=True)
    filled = posted(page_of_missing(client, game)) | {"title": "", "same_3": ""}
    answer = client.post("/new", data=filled)
    assert answer.status_code == 422
    again = posted(read(answer))
    assert {name: again[name] for name in ("same_2", "same_3", "after")} == {
        "same_2": "@",
        "same_3": "",
        "after": game.tokens[0],
    }
    assert "@example.org" not in answer.text.replace("ann@example.org", "")


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chosen=any_settings())
@example(chosen=GameSettings("byzanz", 7200, 14400, "67", listed=True, asks=90, keep_going=True, talk=False))
def test_the_form_keeps_every_setting(client: FlaskClient, table: Begin, chosen: GameSettings) -> None:
    with engine.reading() as session:
        count = session.scalar(select(func.count(Game.id)))
    over = ended(table, 4, ("random", "greedy"), game_id=f"g{count}")
    set_game(over.id, **asdict(chosen))
    change(Seat, (over.id, 1), left=True)
    _action, filled = form(look(client, f"{url(over, 0)}/again"), after=over.tokens[0])
    assert client.post("/new", data=filled).status_code == 303
    with engine.reading() as session:
        made = session.scalars(select(Game).where(Game.status == "asked")).one()
        bots, last = [seat.bot for seat in made.seats if seat.bot], made.seats[-1].status
    set_game(made.id, status="cancelled")
    # A game without a free seat asks nothing of those who join.
    expected, found = replace(chosen, asks=chosen.asks if chosen.listed else 0), GameSettings.of(made)
    for field in fields(GameSettings):
        assert getattr(found, field.name) == getattr(expected, field.name), field.name
    assert bots == ["random", "greedy"]
    assert last == ("free" if chosen.listed else "seated")


@pytest.mark.parametrize("after", ["x", "a" * 26])
def test_a_form_for_an_unknown_seat_makes_nothing(client: FlaskClient, after: str) -> None:
    before = everything()
    assert client.post("/new", data={"after": after, "name": "Ann"}).status_code == 404
    assert everything() == before


def test_a_running_game_has_no_such_form(client: FlaskClient, table: Begin) -> None:
    game = table(3)
    assert client.get(f"{url(game, 0)}/again").status_code == 409
    assert client.post("/new", data={"after": game.tokens[0]}).status_code in (409, 422)


def test_where_nobody_is_missing_or_the_next_game_is_made_there_is_only_the_button(
    client: FlaskClient, over: Table
) -> None:
    assert client.get(f"{url(over, 0)}/again").location == url(over, 0)
    rematch.again(over.id, over.people[1], NOW)
    change(Seat, (over.id, 2), left=True)
    assert client.get(f"{url(over, 0)}/again").location == url(over, 0)
