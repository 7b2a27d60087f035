"""What moderators see and do, and that nobody else sees it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import timedelta

import pytest
from flask.testing import FlaskClient

from server import play
from server.errors import Paused
from server.mail.text import quoted
from server.play import positions
from server.store import engine, links, log, operations, people
from server.store.models import Game, Mail, ModeratorAction, Person, Seat, Turn
from server.web.game import history
from server.web.moderation import desk
from tests.conftest import NOW, Table
from tests.support.games import append, make, position
from tests.support.lobby import ALICE, BOB, everything, game_of, invited, mails, token
from tests.support.neighbour_game import NEIGHBOUR
from tests.support.pages import Page, form, look, read, send, sign_in

Begin = Callable[..., Table]
MIA = "mia@example.org"


@pytest.fixture
def mia(client: FlaskClient) -> FlaskClient:
    """Return the browser of a signed-in moderator who has no seat."""
    with engine.transaction() as session:
        people.get_or_create(session, MIA, "Mia", NOW).moderator = True
    sign_in(client, MIA)
    return client


def moves(game_id: str) -> list[str]:
    """Return the texts of all entries."""
    with engine.reading() as session:
        return [entry.move for entry in log.entries(session, game_id)]


def ask(browser: FlaskClient, game: str, act: str, typed: Mapping[str, str] | None = None) -> Page:
    """Fill in the form of an action and open its preview."""
    query = "?do=void&entry=2" if act == "void" else ""
    return read(send(browser, f"/m/{game}{query}", {"reason": "because"} | dict(typed or {}), act=act))


def agree(browser: FlaskClient, preview: Page, act: str) -> int:
    """Press the button of a preview; return the status of the answer."""
    action, filled = form(preview, act=act)
    assert action is not None
    return browser.post(action, data=filled).status_code


def do(browser: FlaskClient, game: str, act: str, typed: Mapping[str, str] | None = None) -> None:
    """Perform an action through its preview."""
    preview = ask(browser, game, act, typed)
    assert preview.status == 200
    assert agree(browser, preview, act) == 303


# ---- who may ----


def test_everybody_else_finds_nothing(client: FlaskClient, table: Begin) -> None:
    game = table(3)
    stranger = client.application.test_client()
    player = client.application.test_client()
    sign_in(player, "alice@example.org")
    before = everything()
    for browser in (stranger, player):
        for path in ("/m/", f"/m/{game.id}", f"/m/{game.id}/look/1", "/m/nothing"):
            answer = browser.get(path)
            assert answer.status_code == 404
            assert "The Golden Horn" not in answer.text
        for path in ("preview", "act", "look"):
            csrf = form(look(browser, "/new"))[1].get("csrf_token", "")
            answer = browser.post(
                f"/m/{game.id}/{path}", data={"act": "pause", "reason": "x", "csrf_token": csrf}
            )
            assert answer.status_code in (400, 404)
    assert everything() == before


def test_no_act_goes_without_the_page_s_own_form(mia: FlaskClient, table: Begin) -> None:
    game = table(3)
    with engine.transaction() as session:
        operations.raise_alert(session, "x", quoted("Something."), NOW)
    before = everything()
    sent = {"act": "pause", "reason": "x", "seen": "1", "viewer": "all"}
    for path in (f"/m/{game.id}/preview", f"/m/{game.id}/act", f"/m/{game.id}/look", "/m/alarms/1"):
        assert read(mia.post(path, data=sent)).status == 400
    assert everything() == before


def test_rights_taken_away_end_at_once(mia: FlaskClient) -> None:
    assert look(mia, "/m/").status == 200
    with engine.transaction() as session:
        people.get_or_create(session, MIA, "Mia", NOW).moderator = False
    assert look(mia, "/m/").status == 404


# ---- an act starts from the line that it is about ----


def undo_links(page: Page) -> dict[int, str]:
    """Return the links that undo an entry, by its number."""
    found = {}
    for item in page.root.iter("li"):
        for link in item.iter("a"):
            if "Undo from here" in "".join(link.itertext()):
                found[int(item.get("id", "")[1:])] = link.get("href", "")
    return found


def test_each_move_that_still_counts_can_be_undone_from_its_line(mia: FlaskClient, table: Begin) -> None:
    game = table(3)
    for seat in (0, 1):
        make(game, seat, "pass")
    do(mia, game.id, "note")
    path = f"/m/{game.id}"
    assert undo_links(look(mia, path)) == {seq: f"{path}?do=void&entry={seq}#do-void" for seq in (2, 3)}
    page = look(mia, undo_links(look(mia, path))[3])
    assert "Entry 3 and everything after it is undone: Bob passes." in page.text
    (shown,) = [item for item in page.root.iter("details") if item.get("id") == "do-void"]
    assert shown.get("open") is not None
    action, filled = form(page, act="void")
    assert filled["entry"] == "3"
    preview = read(mia.post(action or "", data=filled | {"reason": "A slip"}))
    assert agree(mia, preview, "void") == 303
    assert moves(game.id)[-2:] == ["!void 3", "!pause"]
    assert list(undo_links(look(mia, path))) == [2]


def test_without_an_entry_chosen_nothing_is_typed(mia: FlaskClient, table: Begin) -> None:
    game = table(3)
    make(game, 0, "pass")
    for query in ("do=void", "do=void&entry=1", "do=void&entry=99", "do=void&entry=x", "entry=2&entry=3"):
        page = look(mia, f"/m/{game.id}?{query}")
        if query.startswith("do"):
            assert 'name="entry"' not in page.html, query
        assert ("Press “Undo from here” at an entry of the history." in page.text) == query.startswith("do")


def test_a_log_that_cannot_be_read_is_undone_by_number(
    mia: FlaskClient, table: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = table(3)

    def broken(*_args: object, **_more: object) -> None:
        raise positions.Broken("no")

    monkeypatch.setattr(history, "page_context", broken)
    page = look(mia, f"/m/{game.id}?do=void")
    assert form(page, act="void")[1]["entry"] == ""


@pytest.mark.parametrize(
    ("what", "says", "button"),
    [
        ("remail", "The link stays the same.", "Email the link again"),
        ("link", "links to this game stop working", "Revoke and email"),
    ],
)
def test_a_preview_says_what_becomes_of_the_link(
    mia: FlaskClient, table: Begin, what: str, says: str, button: str
) -> None:
    game = table(3)
    preview = ask(mia, game.id, what, {"seat": "0", "reason": "lost it"})
    assert says in preview.text
    assert button in ["".join(item.itertext()) for item in preview.root.iter("button")]
    old = game.tokens[0]
    assert agree(mia, preview, what) == 303
    assert (look(mia, f"/t/{old}").status == 200) is (what == "remail")


def test_the_remedy_stands_beside_the_seat(mia: FlaskClient, table: Begin) -> None:
    game = table(3)

    def ways() -> set[tuple[str, str]]:
        (seats,) = [
            item
            for item in look(mia, f"/m/{game.id}").root.iter("section")
            if item.get("aria-labelledby") == "seats"
        ]
        links = [link.get("href", "") for link in seats.iter("a")]
        return {re.findall(r"do=([a-z]+)&of=(\d)", link)[0] for link in links}

    assert ways() == {("remail", "0")}  # Alice's email has not been sent
    with engine.transaction() as session:
        turn = session.get_one(Turn, (game.id, 0))
        turn.started_at, turn.due_at = NOW, NOW + timedelta(days=1)
        session.get_one(Person, game.people[1]).unreachable = quoted("550 no such user")
        session.get_one(Seat, (game.id, 2)).autopilot = True
    assert ways() == {
        ("extend", "0"),
        ("remail", "1"),
        ("replace", "1"),
        ("autopilot", "2"),
        ("replace", "2"),
    }


# ---- the list ----


def test_games_are_found_by_status_name_id_player_and_address(
    mia: FlaskClient, table: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk, "utc_now", lambda: NOW)
    game = table(3)
    other, _host = invited(NOW, name="Amber 100%", organiser=ALICE, players=(BOB,), bots=("greedy",))
    both, horn, amber = {game.id, other}, {game.id}, {other}
    for query, expected in (
        ("", both),
        ("status=running", horn),
        ("status=inviting", amber),
        ("status=nonsense", both),
        ("status=trouble", set()),
        ("q=golden", horn),
        ("q=100%25", amber),
        ("q=%25", amber),
        (f"q={game.id}", horn),
        ("q=charlie", horn),
        ("q=alice@example", both),
        ("q=Theodora", amber),
        ("q=nobody", set()),
        ("q=%00", both),
        ("q=%27%22--", set()),
        ("kind=byzanz&q=golden", horn),
        ("kind=empire", set()),
        ("kind=chess", both),
        ("page=2", set()),
        ("page=-1", both),
        ("page=x", both),
    ):
        found = set(re.findall(r'href="/m/([a-z0-9]+)"', look(mia, f"/m/games?{query}").html))
        assert found - {NEIGHBOUR} == expected, query


def test_the_list_tells_who_is_awaited_and_what_is_wrong(mia: FlaskClient, table: Begin) -> None:
    game = table(3)
    page = look(mia, "/m/games")
    assert "Alice: email not sent yet" in page.text
    with engine.transaction() as session:
        session.get_one(Turn, (game.id, 0)).refused = quoted("550 no such user")
        session.get_one(Game, game.id).quarantine = quoted("a poison entry")
    page = look(mia, "/m/games?status=trouble")
    assert "email rejected" in page.text
    assert "on hold" in page.text


def test_alarms_stand_until_somebody_has_seen_to_them(mia: FlaskClient, table: Begin) -> None:
    game = table(3)
    with engine.transaction() as session:
        operations.raise_alert(session, "clock", quoted("The clock jumped by three days."), NOW, game.id)
    assert "The clock jumped" in look(mia, "/m/").text
    _action, filled = form(look(mia, "/m/"))
    assert send(mia, "/m/").status_code == 303
    assert "The clock jumped" not in look(mia, "/m/").text
    assert mia.post("/m/alarms/999", data=filled).status_code in (400, 404)
    assert mia.post(f"/m/alarms/{2**40}", data=filled).status_code in (400, 404)


# ---- one game ----


def test_one_game_shows_seats_clocks_mails_and_history(mia: FlaskClient, table: Begin) -> None:
    game = table(3)
    make(game, 0, "pass")
    with engine.transaction() as session:
        mail = session.query(Mail).filter_by(kind="turn", game_id=game.id).order_by(Mail.id).first()
        assert mail is not None
        mail.status, mail.error = "failed", quoted("550 5.1.1 no such user")
    page = look(mia, f"/m/{game.id}")
    for told in ("alice@example.org", "550 5.1.1 no such user", "Bid for the lot", "Alice passes", game.id):
        assert told in page.text
    assert look(mia, f"/m/{game.id}?at=2").status == 200
    assert look(mia, "/m/nothing").status == 404
    assert mia.get("/m/a%00b").status_code == 404
    assert not any(mine in page.html for mine in game.tokens)
    with engine.reading() as session:
        assert session.get_one(Game, game.id).seed not in page.html


def test_the_newest_entry_stands_first_and_an_email_beside_it_unless_it_was_sent(
    mia: FlaskClient, table: Begin
) -> None:
    game = table(3)
    for seat in (0, 1):
        make(game, seat, "pass")
    with engine.transaction() as session:
        first, second, third = session.query(Mail).filter_by(kind="turn", game_id=game.id).order_by(Mail.id)
        first.status, third.status = "sent", "dropped"
        second.status, second.error = "failed", quoted("550 5.1.1 no such user")
    page = look(mia, f"/m/{game.id}")
    listed = [item for item in page.root.iter("li") if re.fullmatch(r"e\d+", item.get("id", ""))]
    assert [item.get("id") for item in listed] == ["e3", "e2", "e1"]
    beside = ["".join(item.itertext()) for item in page.root.iter("li") if item.get("class") == "evidence"]
    assert len(beside) == 1
    assert "550 5.1.1 no such user" in beside[0]


def test_older_entries_follow_below_the_newer_ones(
    mia: FlaskClient, table: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "PAGE_SIZE", 2)
    game = table(4)
    for seat in (0, 1, 2):
        make(game, seat, "pass")
    page = look(mia, f"/m/{game.id}").html
    assert page.index('id="e4"') < page.index('id="e3"') < page.index("?before=3")
    older = look(mia, f"/m/{game.id}?before=3").html
    assert older.index("?before=5") < older.index('id="e2"') < older.index('id="e1"')


def test_a_game_not_begun_has_a_page_too(mia: FlaskClient) -> None:
    game_id, _host = invited(NOW)
    page = look(mia, f"/m/{game_id}")
    assert page.status == 200
    assert "bob@example.org" in page.text
    assert "invite" in page.text


def test_a_game_set_aside_can_still_be_seen(mia: FlaskClient, table: Begin) -> None:
    game = table(3)
    append(game.id, seat=0, by="player", move="tax cloth1", now=NOW)
    with engine.transaction() as session:
        session.get_one(Game, game.id).quarantine = quoted("entry 2 is illegal")
    page = look(mia, f"/m/{game.id}")
    assert page.status == 200
    assert "entry 2 is illegal" in page.text


# ---- acts ----


def test_a_preview_changes_nothing(mia: FlaskClient, table: Begin) -> None:
    game = table(3)
    make(game, 0, "pass")
    before = everything()
    for act, typed in (
        ("void", {"entry": "2"}),
        ("extend", {"seat": "1", "hours": "2"}),
        ("pause", {}),
        ("replace", {"seat": "1", "who": "Eve <eve@example.org>"}),
        ("link", {"seat": "1"}),
        ("note", {}),
        ("abandon", {}),
    ):
        preview = ask(mia, game.id, act, typed)
        assert preview.status == 200
        assert "because" in preview.text
    assert everything() == before


def test_a_void_shows_what_is_lost_takes_back_and_resumes(mia: FlaskClient, table: Begin) -> None:
    game = table(4)
    for seat in (0, 1, 2):
        make(game, seat, "pass")
    preview = ask(mia, game.id, "void", {"entry": "3"})
    assert "Bob passes" in preview.text
    assert "Charlie passes" in preview.text
    assert "Alice passes" not in preview.text
    assert agree(mia, preview, "void") == 303
    assert moves(game.id)[4:] == ["!void 3", "!pause"]
    assert set(position(game.id).awaited) == set()
    do(mia, game.id, "resume")
    assert set(position(game.id).awaited) == {1}
    with engine.reading() as session:
        mine = session.query(Person).filter_by(email=MIA).one()
        assert {deed.person_id for deed in session.query(ModeratorAction).filter_by(game_id=game.id)} == {
            mine.id
        }


def test_more_time_is_given_in_hours(mia: FlaskClient, table: Begin) -> None:
    game = table(3)
    do(mia, game.id, "extend", {"seat": "0", "hours": "48"})
    assert moves(game.id)[-1] == "!extend 0 172800"
    with engine.reading() as session:
        assert session.get_one(Turn, (game.id, 0)).extra == 172800


def test_a_pause_and_a_note_and_the_end(mia: FlaskClient, table: Begin) -> None:
    game = table(3)
    do(mia, game.id, "pause")
    assert game_of(game.id).paused
    do(mia, game.id, "note")
    do(mia, game.id, "resume")
    do(mia, game.id, "abandon")
    assert game_of(game.id).status == "over"
    do(mia, game.id, "note")
    assert moves(game.id)[1:] == ["!pause", "!note", "!resume", "!abandon", "!note"]
    assert len(mails("act")) == 3 * 5


def test_a_seat_is_given_to_somebody_else(mia: FlaskClient, table: Begin) -> None:
    game = table(3)
    preview = ask(mia, game.id, "replace", {"seat": "1", "who": "Eve <EVE@example.org>"})
    assert "eve@example.org" in preview.text
    assert agree(mia, preview, "replace") == 303
    with engine.reading() as session:
        seat = session.get_one(Seat, (game.id, 1))
        assert seat.person is not None
        assert (seat.stored_name, seat.person.email, seat.cut) == ("Eve", "eve@example.org", "Bob")
        assert links.seat_access(session, game.tokens[1], NOW) is None
    assert mia.get(f"/t/{game.tokens[1]}").status_code == 404
    assert len(mails("replaced")) == 1
    page = look(mia, f"/m/{game.id}").text
    assert page.count("At this seat since entry") == 1
    assert "At this seat since entry 2. Before that: Bob." in page  # whose moves the entries before it are
    assert "Former player" not in page, "moderators see who it was"


def test_a_link_is_revoked_and_a_new_one_mailed(mia: FlaskClient, table: Begin) -> None:
    game = table(3)
    do(mia, game.id, "link", {"seat": "2"})
    assert mia.get(f"/t/{game.tokens[2]}").status_code == 404
    assert [mail.person_id for mail in mails("fresh")] == [game.people[2]]


CANNOT_BE_DONE = [
    ("void", {"entry": "1"}),
    ("void", {"entry": "99"}),
    ("void", {"entry": "x"}),
    ("void", {"entry": "2 3"}),
    ("void", {"entry": "\0"}),
    ("void", {"entry": "2", "reason": ""}),
    ("void", {"entry": "2", "reason": "two\nlines"}),
    ("void", {"entry": "2", "reason": "x" * 501}),
    ("extend", {"seat": "1", "hours": "0"}),
    ("extend", {"seat": "0", "hours": "1"}),
    ("extend", {"seat": "1", "hours": "-1"}),
    ("extend", {"seat": "9", "hours": "1"}),
    ("extend", {"seat": "1", "hours": "9999"}),
    ("replace", {"seat": "1", "who": "nobody"}),
    ("replace", {"seat": "1", "who": "Evil www.example.org <e@example.org>"}),
    ("replace", {"seat": "1", "who": "Alice <alice@example.org>"}),
    ("replace", {"seat": "x", "who": "Eve <eve@example.org>"}),
    ("link", {"seat": ""}),
]


def test_what_cannot_be_done_is_said_and_changes_nothing(mia: FlaskClient, table: Begin) -> None:
    game = table(3)
    make(game, 0, "pass")
    before = everything()
    for act, typed in CANNOT_BE_DONE:
        page = ask(mia, game.id, act, typed)
        if page.status == 200:  # only the game itself can say no
            action, filled = form(page, act=act)
            page = read(mia.post(action or "", data=filled))
        assert page.status in (409, 422)
        assert 'role="alert"' in page.html
        assert everything() == before


UNKNOWN = [{}, {"act": "burn"}, {"act": "look"}, {"act": "credit"}]


def test_an_act_nobody_knows_is_refused(mia: FlaskClient, table: Begin) -> None:
    game = table(3)
    _action, filled = form(look(mia, f"/m/{game.id}"), act="pause")
    before = everything()
    csrf = {"csrf_token": filled["csrf_token"], "reason": "x", "seen": "1"}
    for sent in UNKNOWN:
        for path in ("preview", "act"):
            assert read(mia.post(f"/m/{game.id}/{path}", data=csrf | sent)).status == 422
            assert mia.post(f"/m/nothing/{path}", data=csrf | sent).status_code in (404, 422)
        assert everything() == before


def test_a_second_press_and_a_game_that_moved_on_bring_the_preview_again(
    mia: FlaskClient, table: Begin
) -> None:
    game = table(3)
    preview = ask(mia, game.id, "extend", {"seat": "0", "hours": "1"})
    assert agree(mia, preview, "extend") == 303
    action, filled = form(preview, act="extend")
    page = read(mia.post(action or "", data=filled))
    assert page.status == 409
    assert "moved on" in page.text
    assert moves(game.id).count("!extend 0 3600") == 1
    assert agree(mia, page, "extend") == 303


def test_the_only_moderator_who_plays_may_act_after_a_warning_but_not_look(
    client: FlaskClient, table: Begin
) -> None:
    game = table(3)
    with engine.transaction() as session:
        session.get_one(Person, game.people[0]).moderator = True
    sign_in(client, "alice@example.org")
    page = look(client, f"/m/{game.id}")
    assert 'name="viewer"' not in page.html
    _action, filled = form(page, act="pause")
    before = everything()
    sent = {"viewer": "all", "reason": "curious", "csrf_token": filled["csrf_token"]}
    assert read(client.post(f"/m/{game.id}/look", data=sent)).status == 409
    assert everything() == before
    preview = read(send(client, f"/m/{game.id}", {"reason": "dinner"}, act="pause"))
    action, filled = form(preview, act="pause")
    assert client.post(action or "", data=filled).status_code == 409
    assert not game_of(game.id).paused
    assert client.post(action or "", data=filled | {"warned": "yes"}).status_code == 303
    assert game_of(game.id).paused


# ---- looking ----


def hand(game: Table, seat: int) -> tuple[str, ...]:
    """Return the cards of a seat."""
    found = position(game.id).view(seat).hands[seat]
    assert found is not None
    return tuple(found)


def test_hidden_hands_open_by_a_button_that_leaves_an_entry(mia: FlaskClient, table: Begin) -> None:
    game = table(3)
    public = look(mia, f"/m/{game.id}?at=1")
    answer = send(mia, f"/m/{game.id}", {"viewer": "1", "reason": "a complaint"}, viewer="0")
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/m/{game.id}/look/2")
    assert moves(game.id)[-1] == "!look 1"
    assert len(mails("act")) == 3
    page = look(mia, f"/m/{game.id}/look/2")
    assert page.status == 200
    assert "a complaint" in page.text
    assert page.html.count('class="card') > public.html.count('class="card')
    told = look(mia, f"/g/{game.id}/history")
    assert "views Bob’s hand" in told.text
    assert "a complaint" in told.text
    make(game, 0, "pass")
    later = look(mia, f"/m/{game.id}/look/2")
    assert "Alice passes" not in later.text
    for beyond in ("at=3", "before=4", "at=99", "at=x", "at=-1", "before=99"):
        assert "Alice passes" not in look(mia, f"/m/{game.id}/look/2?{beyond}").text


def test_a_look_opens_those_eyes_and_no_others(mia: FlaskClient, table: Begin) -> None:
    game = table(3)
    send(mia, f"/m/{game.id}", {"viewer": "1", "reason": "a complaint"}, viewer="0")
    one = look(mia, f"/m/{game.id}/look/2").html
    send(mia, f"/m/{game.id}", {"viewer": "all", "reason": "a complaint"}, viewer="0")
    everybody = look(mia, f"/m/{game.id}/look/3").html
    assert everybody.count('class="card') > one.count('class="card')
    with engine.reading() as session:
        [dealt] = log.entries(session, game.id, upto=1)
    assert dealt.move not in one
    assert "deal" in moves(game.id)[0]


def test_a_look_is_its_moderator_s_own(mia: FlaskClient, table: Begin) -> None:
    game = table(3)
    send(mia, f"/m/{game.id}", {"viewer": "all", "reason": "a complaint"}, viewer="0")
    with engine.transaction() as session:
        people.get_or_create(session, "max@example.org", "Max", NOW).moderator = True
    other = mia.application.test_client()
    sign_in(other, "max@example.org")
    assert look(other, f"/m/{game.id}/look/2").status == 404
    for seq in ("1", "3", "99", "x"):
        assert mia.get(f"/m/{game.id}/look/{seq}").status_code == 404


def test_looking_at_the_pages_leaves_no_entry(mia: FlaskClient, table: Begin) -> None:
    game = table(3)
    send(mia, f"/m/{game.id}", {"viewer": "all", "reason": "a complaint"}, viewer="0")
    before = everything()
    for path in ("/m/", f"/m/{game.id}", f"/m/{game.id}?at=1", f"/m/{game.id}/look/2", f"/m/{game.id}/look"):
        mia.get(path)
        mia.head(path)
    assert everything() == before


@pytest.mark.parametrize(
    "sent", [{"viewer": ""}, {"viewer": "9"}, {"viewer": "all", "reason": ""}, {"viewer": "x y"}]
)
def test_a_look_at_nothing_or_without_reason_is_refused(
    sent: dict[str, str], mia: FlaskClient, table: Begin
) -> None:
    game = table(3)
    _action, filled = form(look(mia, f"/m/{game.id}"), viewer="0")
    before = everything()
    assert read(mia.post(f"/m/{game.id}/look", data=filled | {"reason": "why"} | sent)).status == 422
    assert everything() == before
    assert mia.post("/m/nothing/look", data=filled).status_code == 404


def test_a_game_not_begun_cannot_be_looked_into(mia: FlaskClient, table: Begin) -> None:
    filled = form(look(mia, f"/m/{table(3).id}"), viewer="0")[1]
    game_id, _host = invited(NOW)
    page = read(mia.post(f"/m/{game_id}/look", data=filled | {"reason": "why", "viewer": "all"}))
    assert page.status == 409


def test_who_has_looked_cannot_be_seated(mia: FlaskClient, table: Begin) -> None:
    game = table(3)
    send(mia, f"/m/{game.id}", {"viewer": "all", "reason": "a complaint"}, viewer="0")
    preview = ask(mia, game.id, "replace", {"seat": "1", "who": f"Mia <{MIA}>"})
    action, filled = form(preview, act="replace")
    before = everything()
    assert read(mia.post(action or "", data=filled)).status == 409
    assert everything() == before


def test_reasons_and_names_with_scripts_stand_as_text(mia: FlaskClient, table: Begin) -> None:
    game = table(3)
    evil = "<script>alert(1)</script>"
    do(mia, game.id, "note", {"reason": evil})
    for path in (f"/m/{game.id}", f"/g/{game.id}/history"):
        page = look(mia, path)
        assert evil in page.text
        assert evil not in page.html


def test_the_mail_of_an_act_knows_its_entry(mia: FlaskClient, table: Begin) -> None:
    game = table(3)
    do(mia, game.id, "pause", {"reason": "a wedding"})
    assert {mail.seq for mail in mails("act")} == {2}
    assert json.loads(mails("act")[0].details) == {}
    later = NOW + timedelta(hours=1)
    with pytest.raises(Paused):
        play.submit(game.id, 0, "pass", seen=1, request_id="a", now=later)
    assert token("seat", ALICE, game.id, NOW) == game.tokens[0]
