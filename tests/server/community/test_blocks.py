"""Blocks: what they keep apart, in both directions, and that nobody can tell that there is one."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest
from flask import Flask
from flask.testing import FlaskClient

from server.accounts import personal_data
from server.community import blocks, talk
from server.errors import Closed, InvalidInput, TooMany
from server.lobby import create, invitations
from server.mail.outgoing.deliver import deliver
from server.store import engine
from server.store.models import Block, Game, Person, Seat
from tests.conftest import NOW, Table
from tests.support.at_once import at_once
from tests.support.games import loaded
from tests.support.lobby import ALICE, BOB, CHARLIE, DAPHNE, invited, mails, person, seats_of
from tests.support.mail_servers import FakeMailer
from tests.support.pages import log_in, look, without_ids
from tests.support.results import counted, handled, played, somebody
from tests.support.talk import say

pytestmark = pytest.mark.usefixtures("app")

DAY = timedelta(days=1)


def between(one: int, *others: int) -> set[int]:
    with engine.reading() as session:
        return blocks.between(session, one, others)


def letters(now: object = NOW) -> list[tuple[str, str]]:
    """Send what waits; return the reader and the subject of each email."""
    fake_mailer = FakeMailer()
    while deliver(now, fake_mailer):  # type: ignore[arg-type]
        pass
    return [(message["To"].addresses[0].addr_spec, message["Subject"]) for message in fake_mailer.sent]


# ---- the list ----


def test_a_block_stands_in_both_directions_and_is_one_sided() -> None:
    ann, bob, cara = somebody("Alice"), somebody("Bob"), somebody("Charlie")
    blocks.block(ann, bob, NOW)
    blocks.block(ann, bob, NOW + DAY)
    assert between(ann, bob, cara) == {bob}
    assert between(bob, ann, cara) == {ann}
    assert between(cara, ann, bob) == set()
    assert between(ann) == set()
    with engine.reading() as session:
        assert (blocks.blocked_by(session, ann), blocks.blocked_by(session, bob)) == ({bob}, set())
        assert [row.at for row in session.query(Block)] == [NOW]
    blocks.unblock(bob, ann)  # not theirs to take back
    assert between(bob, ann) == {ann}
    blocks.unblock(ann, bob)
    blocks.unblock(ann, bob)
    assert between(ann, bob) == set()


def test_nobody_blocks_themselves_or_more_than_fifty() -> None:
    ann = somebody("Alice")
    with pytest.raises(InvalidInput):
        blocks.block(ann, ann, NOW)
    others = [somebody(f"Guest{n}") for n in range(blocks.MOST + 1)]
    for other in others[:-1]:
        blocks.block(ann, other, NOW)
    blocks.block(ann, others[0], NOW)
    with pytest.raises(TooMany):
        blocks.block(ann, others[-1], NOW)
    blocks.unblock(ann, others[0])
    blocks.block(ann, others[-1], NOW)


@pytest.mark.concurrency
def test_two_presses_at_once_are_one_block_and_the_limit_holds(app: Flask) -> None:
    ann, bob = somebody("Alice"), somebody("Bob")
    for n in range(blocks.MOST - 1):
        blocks.block(ann, somebody(f"Guest{n}"), NOW)
    assert at_once(app, *[partial(blocks.block, ann, bob, NOW)] * 4) == [None] * 4
    blocks.unblock(ann, bob)
    deeds = [partial(blocks.block, ann, somebody(f"Late{n}"), NOW) for n in range(4)]
    assert sorted(answer is TooMany for answer in at_once(app, *deeds)) == [False, True, True, True]


def test_the_list_names_people_as_at_the_last_table() -> None:
    ann, bob, cara, dora = somebody("Alice"), somebody("Bob"), handled("Gina", "Cara"), somebody("Hugo")
    counted("g1", ["Alice", "Bob"], [1, 2], at=NOW - DAY)
    counted("g2", ["Alice", "Bob"], [1, 2], at=NOW + DAY)
    with engine.transaction() as session:
        session.get_one(Seat, ("g2", 1)).stored_name = "Robert"
    for days, other in enumerate((bob, cara, dora)):
        blocks.block(ann, other, NOW + days * DAY)
    with engine.reading() as session:
        names = [(row.person_id, row.name) for row in blocks.listed(session, ann)]
    assert names == [(dora, ""), (cara, "Cara"), (bob, "Robert")]


@pytest.mark.changes_busy_table
@pytest.mark.parametrize("leaver", ["Alice", "Bob"])
def test_blocks_go_with_either_person(leaver: str) -> None:
    blocks.block(somebody("Alice"), somebody("Bob"), NOW)
    blocks.block(somebody("Charlie"), somebody("Daphne"), NOW)
    personal_data.erase(somebody(leaver), NOW)
    with engine.reading() as session:
        assert session.query(Block).count() == 1


# ---- invitations ----


@pytest.mark.parametrize("blocker", ["organiser", "guest"])
def test_an_invitation_between_the_two_is_never_mailed_and_the_organiser_sees_no_difference(
    client: FlaskClient, blocker: str
) -> None:
    pages = {}
    for blocked in (False, True):
        with engine.transaction() as session:
            session.query(Block).delete()
        names = {"name": f"A table {blocked}"}
        if blocked:
            pair = (person(ALICE, NOW), person(BOB, NOW))
            one, other = pair if blocker == "organiser" else reversed(pair)
            blocks.block(one, other, NOW)
        game_id, host = invited(NOW, **names)
        sent = letters()
        assert (BOB.address in {reader for reader, _ in sent}) is not blocked
        assert CHARLIE.address in {reader for reader, _ in sent}
        assert [seat.status for seat in seats_of(game_id)] == ["seated", "invited", "invited"]
        invitations.remind(host, 1, NOW + DAY)
        assert (BOB.address in {reader for reader, _ in letters(NOW + DAY)}) is not blocked
        page = without_ids(client.get(f"/o/{host}").text)
        for secret in (host, game_id, names["name"]):
            page = page.replace(secret, "…")
        pages[blocked] = _without_cut(page)
    assert pages[False] == pages[True]


def _without_cut(page: str) -> str:
    """Return a page without what is random on it."""
    lines = without_ids(page).splitlines()
    return "\n".join(line for line in lines if "Request ID" not in line and "fingerprint" not in line.lower())


def test_silence_after_two_days_is_told_to_the_organiser_as_ever() -> None:
    blocks.block(person(BOB, NOW), person(ALICE, NOW), NOW)
    invited(NOW, players=(BOB, CHARLIE))
    letters()
    assert invitations.send_invitation_reminders(NOW + 2 * DAY) == 2
    sent = letters(NOW + 2 * DAY)
    assert [reader for reader, _ in sent].count(ALICE.address) >= 1
    assert BOB.address not in {reader for reader, _ in sent}
    assert len(mails("nudge", BOB)) == 1


def test_nobody_is_told_that_a_game_is_called_off_of_whose_invitation_they_never_heard() -> None:
    blocks.block(person(BOB, NOW), person(ALICE, NOW), NOW)
    _game, host = invited(NOW, players=(BOB, CHARLIE))
    letters()
    invitations.cancel(host, NOW + DAY)
    readers = {reader for reader, _ in letters(NOW + DAY)}
    assert CHARLIE.address in readers
    assert BOB.address not in readers


@pytest.mark.parametrize("path", ["/", "/account"])
def test_the_invitation_stands_on_no_page_of_the_invited(client: FlaskClient, path: str) -> None:
    invited(NOW, organiser=DAPHNE, players=(BOB, CHARLIE), name="A welcome table")
    blocks.block(person(ALICE, NOW), person(BOB, NOW), NOW)
    invited(NOW, players=(BOB, CHARLIE), name="A hidden table")
    letters()
    log_in(client, person(BOB, NOW))
    page = client.get(path).text
    assert "A hidden table" not in page
    assert "A welcome table" in page


# ---- the lobby ----


def listed_table(
    names: tuple[str, ...], game_id: str = "open1", status: str = "inviting", free: bool = True
) -> str:
    """Make a listed table organised by the first one, at which the others sit."""
    ids = [somebody(name) for name in names]
    with engine.transaction() as session:
        game = Game(
            id=game_id,
            slug="byzanz",
            rules=1,
            name=f"Listed {game_id}",
            organiser_id=ids[0],
            status=status,
            allowance=86400,
            seed="00" * 32,
            commitment="00" * 32,
            created_at=NOW,
            listed=True,
        )
        session.add(game)
        session.flush()
        for number, (name, person_id) in enumerate(zip(names[1:], ids[1:], strict=True)):
            session.add(
                Seat(game_id=game_id, seat=number, stored_name=name, status="seated", person_id=person_id)
            )
        if free:
            session.add(Seat(game_id=game_id, seat=len(names) - 1, stored_name="", status="free"))
            create.wait_for_players(session, game, NOW)
    return game_id


@pytest.mark.parametrize("theirs", [("Bob", "Charlie"), ("Charlie", "Bob")], ids=["organised", "seated"])
@pytest.mark.parametrize("direction", [(0, 1), (1, 0)], ids=["blocker", "blocked"])
def test_tables_of_the_other_are_hidden_and_full(
    client: FlaskClient, theirs: tuple[str, ...], direction: tuple[int, int]
) -> None:
    listed_table(theirs)
    listed_table(("Charlie", "Daphne"), "open2")
    pair = (somebody("Alice"), somebody("Bob"))
    log_in(client, pair[0])
    assert "Listed open1" in client.get("/").text
    blocks.block(pair[direction[0]], pair[direction[1]], NOW)
    page = client.get("/").text
    assert "Listed open1" not in page
    assert "Listed open2" in page
    for own, free in (("open1", False), ("open2", True)):
        joining = look(client, f"/join/{own}").root
        text = " ".join("".join(joining.itertext()).split())
        assert ("This table has no free seats." in text) is not free
        assert ("Free seat" in text) is free
    with pytest.raises(Closed, match="All seats are taken"):
        invitations.take_free_seat("open1", pair[0], "Alice", "", NOW)
    assert client.get("/join/open1").status_code == 200
    assert "Listed open1" in app_of(client).get("/").text  # a visitor is nobody in particular


@pytest.mark.parametrize("reader", ["Alice", "Bob"], ids=["seated", "organiser"])
@pytest.mark.parametrize("direction", [(0, 1), (1, 0)], ids=["blocker", "blocked"])
def test_a_table_where_both_are_stays_as_it_was(
    client: FlaskClient, reader: str, direction: tuple[int, int]
) -> None:
    listed_table(("Bob", "Alice"))
    pair = (somebody("Alice"), somebody("Bob"))
    log_in(client, somebody(reader))
    before = client.get("/join/open1").text
    assert ("You have a seat" in before, "Free seat" in before) == (reader == "Alice", True)
    blocks.block(pair[direction[0]], pair[direction[1]], NOW)
    assert _without_random_cut(client.get("/join/open1").text) == _without_random_cut(before)


def _without_random_cut(page: str) -> str:
    return re.sub(r'(name="cut"[^>]*value=")[^"]*', r"\1", _same(page))


def app_of(client: FlaskClient) -> FlaskClient:
    """Return another browser."""
    return client.application.test_client()


def test_running_tables_are_not_listed_to_the_blocker_alone(client: FlaskClient) -> None:
    listed_table(("Charlie", "Bob"), "watch", status="running", free=False)
    log_in(client, somebody("Alice"))
    assert "Listed watch" in client.get("/").text
    blocks.block(somebody("Bob"), somebody("Alice"), NOW)
    assert "Listed watch" in client.get("/").text
    blocks.block(somebody("Alice"), somebody("Bob"), NOW)
    assert "Listed watch" not in client.get("/").text


def test_a_table_without_an_organiser_is_not_hidden(client: FlaskClient) -> None:
    listed_table(("Charlie", "Daphne"))
    with engine.transaction() as session:
        session.get_one(Game, "open1").organiser_id = None
    log_in(client, somebody("Alice"))
    blocks.block(somebody("Alice"), somebody("Bob"), NOW)
    assert "Listed open1" in client.get("/").text


def test_running_games_go_on(client: FlaskClient, table: Callable[..., Table]) -> None:
    game = table(3)
    before = client.get(f"/t/{game.tokens[1]}").text
    blocks.block(game.people[0], game.people[1], NOW)
    assert _same(client.get(f"/t/{game.tokens[1]}").text) == _same(before)
    log_in(client, game.people[1])
    assert "The Golden Horn" in client.get("/").text


def _same(page: str) -> str:
    return "\n".join(line for line in without_ids(page).splitlines() if "Request ID" not in line)


PAGES = (
    "/account",
    "/account/habits",
    "/g/shared",
    "/g/shared/group",
    "/p/Alice",
    "/p/Dora",
    "/about",
    "/rules/byzanz",
)


def test_the_pages_of_the_blocked_are_the_same_to_the_byte_except_for_lists(client: FlaskClient) -> None:
    played("shared")
    handled("Daphne", "Dora")
    bob = somebody("Bob")
    log_in(client, bob)
    before = {path: _same(client.get(path).text) for path in PAGES}
    blocks.block(somebody("Alice"), bob, NOW)
    assert {path: _same(client.get(path).text) for path in PAGES} == before


# ---- hiding after the fact would tell ----


def readable(game: Table, seat: int) -> list[str]:
    with engine.reading() as session:
        return [each.text for each in talk.words(session, loaded(session, game.id).game, game.people[seat])]


def test_a_block_hides_words_from_the_blocker_alone(table: Callable[..., Table]) -> None:
    game = table(3)
    alice, bob, charlie = range(3)
    for seat, text in ((alice, "from Alice"), (bob, "from Bob")):
        say(game, seat, text)
    blocks.block(game.people[alice], game.people[bob], NOW)
    for seat, text in ((alice, "more from Alice"), (bob, "more from Bob")):
        say(game, seat, text)
    everything = ["from Alice", "from Bob", "more from Alice", "more from Bob"]
    assert readable(game, alice) == ["from Alice", "more from Alice"]
    assert readable(game, bob) == readable(game, charlie) == everything


@pytest.mark.parametrize("blocked", [False, True])
def test_the_blocked_person_is_emailed_words_as_ever(table: Callable[..., Table], blocked: bool) -> None:
    game = table(2, slug="empire")
    letters()
    with engine.transaction() as session:
        for person_id in game.people:
            session.get_one(Person, person_id).talk = "once"
    if blocked:
        blocks.block(game.people[0], game.people[1], NOW)
    say(game, 0, "from Alice", NOW)
    say(game, 1, "from Bob", NOW)
    readers = [reader for reader, _ in letters(NOW + DAY)]
    assert readers == (["bob@example.org"] if blocked else ["bob@example.org", "alice@example.org"])


@pytest.mark.parametrize("path", ["/t/{}", "/t/{}/history", "/api/v1/seats/{}/words"])
def test_the_pages_of_a_table_stay_the_same_to_the_byte_for_the_blocked(
    client: FlaskClient, table: Callable[..., Table], path: str
) -> None:
    game = table(3)
    for seat, text in ((0, "from Alice"), (1, "from Bob")):
        say(game, seat, text)
    own = path.format(game.tokens[1])
    before = _same(client.get(own).text)
    assert "from Alice" in before
    blocks.block(game.people[0], game.people[1], NOW)
    assert _same(client.get(own).text) == before


@pytest.mark.parametrize("shown", ["all", "met"])
def test_a_profile_that_its_owner_shows_stays_open_to_the_people_they_block(
    client: FlaskClient, shown: str
) -> None:
    played("shared")
    alice = handled("Alice", "Alia", shown=shown)
    log_in(client, somebody("Bob"))
    before = {path: _same(client.get(path).text) for path in ("/p/Alia", "/g/shared")}
    assert "/p/Alia" in before["/g/shared"]
    blocks.block(alice, somebody("Bob"), NOW)
    assert {path: _same(client.get(path).text) for path in before} == before
    assert app_of(client).get("/p/Alia").status_code == (200 if shown == "all" else 404)


def test_an_invitation_that_arrived_before_the_block_stays_on_the_page(client: FlaskClient) -> None:
    game_id, _host = invited(NOW, players=(BOB, CHARLIE), name="A table of friends")
    letters()
    bob = person(BOB, NOW)
    log_in(client, bob)
    before = {path: "A table of friends" in client.get(path).text for path in ("/", "/account")}
    assert before["/account"]
    blocks.block(person(ALICE, NOW), bob, NOW + DAY)
    assert {path: "A table of friends" in client.get(path).text for path in before} == before
    invited(NOW + 2 * DAY, players=(BOB, CHARLIE), name="Another table")
    letters(NOW + 2 * DAY)
    assert "Another table" not in client.get("/account").text
    assert game_id


def test_the_blocked_hear_that_a_game_is_called_off_to_which_they_were_invited_before() -> None:
    _game, host = invited(NOW, players=(BOB, CHARLIE))
    letters()
    blocks.block(person(ALICE, NOW), person(BOB, NOW), NOW)
    invitations.cancel(host, NOW + DAY)
    assert BOB.address in {reader for reader, _ in letters(NOW + DAY)}
