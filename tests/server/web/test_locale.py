"""Pages in the reader's language (own, the browser's or chosen), with nothing left in English."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import flask
import flask_babel
import pytest
import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient

from byzanz.games import SHIPPED
from server import i18n, play
from server.i18n import NAMES
from server.lobby import create
from server.store import engine, facts, links, people
from server.store.models import LinkPurpose, Person
from tests.conftest import NOW, Table
from tests.support.answers import feed
from tests.support.games import asked, make, position, url
from tests.support.lobby import ALICE, BOB, invited, token, wish
from tests.support.pages import Page, leftovers, log_in, look, send, strictly, texts_of

OTHERS = [code for code in NAMES if code != "en"]
SEATS = {rules.slug: max(2, min(rules.seats)) for rules in SHIPPED}
"""The games that must be translated, and their numbers of players here; packages translate what they like."""


def spoken(page: Page) -> str:
    """Return the language that a page declares; its first words must be in it, too."""
    code = page.root.get("lang", "")
    first = "Skip to content"
    told = first if code == "en" else str(i18n.catalogue(code)[first].string)
    assert told in page.text
    return code


def speaks(person_id: int, language: str | None) -> None:
    """Set the language of a person."""
    with engine.transaction() as session:
        session.get_one(Person, person_id).language = language


def stored_language(person_id: int) -> str | None:
    """Return the language of a person."""
    with engine.reading() as session:
        return session.get_one(Person, person_id).language


def person(address: str) -> int:
    """Return the id of the person with an address."""
    with engine.reading() as session:
        return session.query(Person).filter_by(email=address).one().id


def sign_in(client: FlaskClient, person_id: int) -> None:
    """Sign this person in with the browser."""
    log_in(client, person_id)


@pytest.mark.parametrize(
    ("wished", "language"),
    [
        (None, "en"),
        ("", "en"),
        ("nl", "nl"),
        ("nl-BE,nl;q=0.9,en;q=0.8", "nl"),
        ("de-AT", "de"),
        ("DE-ch", "de"),
        ("fr,de;q=0.5,nl;q=0.7", "nl"),
        ("fr", "en"),
        ("de;q=0", "en"),
        ("*", "en"),
        ("nl;q=x,,;;=", "en"),
        ("\x7f../../etc/passwd", "en"),
        ("en-GB,de", "en"),
    ],
)
def test_a_guest_reads_what_his_browser_asks_for(
    client: FlaskClient, wished: str | None, language: str
) -> None:
    headers = {} if wished is None else {"Accept-Language": wished}
    page = look(client, "/", headers=headers)
    assert spoken(page) == language


def test_a_page_opened_by_a_link_speaks_with_its_person(
    client: FlaskClient, table: Callable[..., Table]
) -> None:
    game = table(3)
    speaks(game.people[0], "de")
    speaks(game.people[1], "nl")
    sign_in(client, game.people[1])
    dutch = {"Accept-Language": "nl"}
    assert spoken(look(client, url(game, 0), headers=dutch)) == "de"
    assert spoken(look(client, f"{url(game, 0)}/history")) == "de"
    assert spoken(look(client, "/")) == "nl"
    assert spoken(look(client, url(game, 2))) == "en"  # who has chosen none, whoever is signed in here
    assert spoken(look(flask.current_app.test_client(), url(game, 2), headers=dutch)) == "nl"
    with engine.transaction() as session:
        links.revoke(session, game.people[0], game.id, NOW)
    dead = look(flask.current_app.test_client(), url(game, 0), headers=dutch)
    assert (dead.status, spoken(dead)) == (404, "nl")  # a dead link does not tell whose it was


def test_one_request_knows_nothing_of_the_one_before(client: FlaskClient) -> None:
    for language in ("nl", "en", "de", "en"):
        assert spoken(look(client, "/", headers={"Accept-Language": language})) == language


def test_refusals_are_in_the_language_of_the_page(client: FlaskClient, table: Callable[..., Table]) -> None:
    game = table(3)
    speaks(game.people[asked(game)], "de")
    fields = {"move": "pas pas", "seen": 0, "request_id": "x"}
    answer = client.post(url(game, asked(game)), data=fields)
    assert answer.status_code == 422
    told = str(i18n.catalogue("de")["%(verb)s takes no cards."].string) % {"verb": "pass"}
    assert told in answer.text
    api = client.post(f"/api/v1/seats/{game.tokens[asked(game)]}/moves", json=fields)
    assert told in api.text


# ---- choosing ----


def choose(client: FlaskClient, path: str, language: str) -> str:
    """Press the button of a language at the foot of a page; return the target."""
    answer = send(client, path, language=language)
    assert answer.status_code == 303
    return str(answer.headers["Location"])


def test_a_guest_chooses_at_the_foot_of_a_page(client: FlaskClient) -> None:
    german = {"Accept-Language": "de"}
    answer = client.post("/language", data={"language": "nl", "back": "/rules/byzanz?x=1"})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/rules/byzanz?x=1")
    assert spoken(look(client, "/", headers=german)) == "nl"
    cookie = client.get_cookie("language")
    assert cookie is not None
    assert (cookie.http_only, cookie.same_site, cookie.max_age) == (True, "Lax", 365 * 86400)
    assert client.get_cookie("byzanz") is None  # a guest is nobody
    forms = look(client, "/rules/byzanz?x=1").root.iter("form")
    form = next(item for item in forms if item.get("class") == "languages")
    assert [button.get("value") for button in form.iter("button")] == ["en", "de"]
    assert next(form.iter("input")).get("value") == "/rules/byzanz?x=1"


@pytest.mark.parametrize("language", ["", "fr", "EN", "../nl", "n\x00l"])
def test_a_language_that_we_do_not_speak_is_refused(client: FlaskClient, language: str) -> None:
    answer = client.post("/language", data={"language": language, "back": "/"})
    assert answer.status_code == 400
    assert client.get_cookie("language") is None
    client.set_cookie("language", language)
    assert spoken(look(client, "/")) == "en"


@pytest.mark.parametrize(
    "back",
    [
        "https://mallory.test/",
        "//mallory.test/",
        "/\\mallory.test",
        "/nowhere",
        "",
        "new",
        "/sign-out",
        "/?a\r\nX: y",
        "/?a\nX: y",
        "/?a\x00",
        "/?a\x85\u2028",
        "/rules/byzanz\n",
        "//?a",
    ],
)
def test_a_choice_leads_to_no_page_but_ours(client: FlaskClient, back: str) -> None:
    answer = client.post("/language", data={"language": "de", "back": back})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/")


def test_who_has_a_link_chooses_for_himself(client: FlaskClient, table: Callable[..., Table]) -> None:
    game = table(3)
    path = f"{url(game, 1)}/history?at=2"
    assert choose(client, path, "de") == path
    assert [stored_language(number) for number in game.people] == [None, "de", None]
    assert spoken(look(flask.current_app.test_client(), url(game, 1))) == "de"


@pytest.mark.parametrize("purpose", ["feed", "stop", "invite", "signin"])
def test_a_link_to_something_else_chooses_for_its_browser_alone(
    client: FlaskClient, table: Callable[..., Table], purpose: str
) -> None:
    game = table(3)
    speaks(game.people[1], "de")
    own = purpose in ("feed", "signin")
    with engine.transaction() as session:
        link = links.issue(
            session, LinkPurpose(purpose), game.people[1], engine.utc_now(), None if own else game.id
        )
        path = links.url(link).removeprefix("https://byzanz.test")
    back = f"{path}.atom" if purpose == "feed" else path
    assert client.post("/language", data={"language": "nl", "back": back}).headers["Location"] == back
    assert stored_language(game.people[1]) == "de"
    if purpose != "feed":
        assert spoken(look(client, path)) == "nl"  # the button does what it says
        assert spoken(look(flask.current_app.test_client(), path)) == "de"
    assert spoken(look(client, url(game, 1))) == "de"


def test_who_is_signed_in_chooses_for_himself_by_our_own_form_alone(
    client: FlaskClient, table: Callable[..., Table]
) -> None:
    game = table(3)
    sign_in(client, game.people[0])
    forged = client.post("/language", data={"language": "de", "back": "/"})
    assert forged.status_code == 400
    assert stored_language(game.people[0]) is None
    flask.current_app.config["WTF_CSRF_SSL_STRICT"] = False
    assert choose(client, "/account", "de") == "/account"
    assert stored_language(game.people[0]) == "de"


def test_the_account_has_a_language(client: FlaskClient, table: Callable[..., Table]) -> None:
    alice = table(3).people[0]
    sign_in(client, alice)
    assert send(client, "/account", {"language": "de"}, do="save").status_code == 303
    assert stored_language(alice) == "de"
    page = look(client, "/account", headers={"Accept-Language": "nl"})
    assert spoken(page) == "de"
    options = next(item for item in page.root.iter("select") if item.get("id") == "language")
    assert [option.get("value") for option in options] == ["", "en", "nl", "de"]
    assert [option.get("value") for option in options if option.get("selected") is not None] == ["de"]
    assert {"English", "Nederlands", "Deutsch"} <= {option.text for option in options}
    refused = send(client, "/account", {"language": "xx"}, do="save")
    assert refused.status_code == 422
    assert stored_language(alice) == "de"
    assert send(client, "/account", {"language": ""}, do="save").status_code == 303
    assert stored_language(alice) is None
    assert spoken(look(client, "/account", headers={"Accept-Language": "nl"})) == "nl"


# ---- those who join ----


def test_who_confirms_a_game_or_takes_a_seat_keeps_the_language_of_the_page(client: FlaskClient) -> None:
    _game, _host = invited(NOW, language="de")
    assert stored_language(person("alice@example.org")) is None  # confirmed without a page
    game_id = create.create_game(wish(name="Another"), NOW)
    host = token("organise", ALICE, game_id, NOW)
    for language, then in (("nl", "nl"), ("de", "nl")):
        client.post(f"/o/{host}", data={"do": "confirm"}, headers={"Accept-Language": language})
        assert stored_language(person("alice@example.org")) == then
    guest = token("invite", BOB, game_id, NOW)
    declined = {"answer": "accept", "name": "http://x.test"}
    client.post(f"/i/{guest}", data=declined, headers={"Accept-Language": "de"})
    assert stored_language(person("bob@example.org")) is None  # nothing has changed
    client.post(f"/i/{guest}", data={"answer": "accept", "name": "Bob"}, headers={"Accept-Language": "de"})
    assert stored_language(person("bob@example.org")) == "de"
    client.post(f"/i/{guest}", data={"answer": "accept", "name": "Bob"}, headers={"Accept-Language": "nl"})
    assert stored_language(person("bob@example.org")) == "de"


def test_who_signs_in_keeps_the_language_of_the_page(
    client: FlaskClient, table: Callable[..., Table]
) -> None:
    alice = table(3).people[0]
    with engine.transaction() as session:
        link = links.issue(
            session,
            LinkPurpose.SIGNIN,
            alice,
            engine.utc_now(),
            expires_at=engine.utc_now() + timedelta(hours=1),
        )
        path = links.url(link).removeprefix("https://byzanz.test")
    client.environ_base["HTTP_ACCEPT_LANGUAGE"] = "nl"
    assert send(client, path).status_code == 303
    assert stored_language(alice) == "nl"


# ---- feeds ----


def test_feeds_speak_with_their_person(client: FlaskClient, table: Callable[..., Table]) -> None:
    game = table(3)
    path = feed(game.people[0])
    for language in NAMES:
        speaks(game.people[0], language)
        name = "Byzanz: your deadlines"
        told = name if language == "en" else str(i18n.catalogue(language)[name].string)
        assert f"X-WR-CALNAME:{told}" in client.get(f"{path}.ics", headers={"Accept-Language": "fr"}).text
        atom = client.get(f"{path}.atom").text
        assert f'xml:lang="{language}"' in atom


# ---- what is stored in English ----


def test_notes_of_ours_are_told_in_the_language_of_the_page_and_those_of_people_as_they_are(
    client: FlaskClient, table: Callable[..., Table]
) -> None:
    game = table(3)
    said = "Nobody at this table answers any more, says Mia."
    play.submit(game.id, 0, "pass", seen=position(game.id).head, request_id="p", now=NOW)
    with engine.transaction() as session:
        moderator = people.get_or_create(session, "mia@example.org", "Mia", NOW).id
    play.moderate(game.id, "!note", reason=said, person_id=moderator, now=NOW)
    speaks(game.people[1], "nl")
    page = look(client, f"{url(game, 1)}/history")
    assert said in page.text


@pytest.mark.parametrize("language", OTHERS)
def test_sentences_that_are_kept_in_english_are_known_again(app: Flask, language: str) -> None:
    limit = "Passed for you: the price hit %(price)s, your limit was %(limit)s."
    sold = "Sold a set for you at the end: “%(move)s”."
    catalogue = i18n.catalogue(language)
    with app.test_request_context(), flask_babel.force_locale(language):
        told = facts.translated(limit % {"price": 10, "limit": 9})
        assert told == str(catalogue[limit].string) % {"price": 10, "limit": 9}
        move = {"move": "sell ”. (.*) %(x)s\nwine2"}
        assert facts.translated(sold % move) == str(catalogue[sold].string) % move
        assert facts.translated("Nobody at this table answers any more.") != (
            "Nobody at this table answers any more."
        )
        for text in ("", "Bob says: Nobody at this table answers any more.", "100 %", "%(price)s", "A fault"):
            assert facts.translated(text) == text
    with app.test_request_context(), flask_babel.force_locale("en"):
        assert facts.translated(limit % {"price": 10, "limit": 9}) == limit % {"price": 10, "limit": 9}


# ---- nothing is left in English ----


def paths_of(game: Table) -> Iterator[str]:
    """Return the pages of a game in its present state."""
    for seat in range(len(game.tokens)):
        yield url(game, seat)
        yield f"{url(game, seat)}/history"
    yield f"{url(game, 0)}/leave"
    yield f"{url(game, 1)}/history?at=2"
    yield f"/g/{game.id}"
    yield f"/g/{game.id}/history"


AROUND = (
    "/",
    "/new",
    "/asked",
    "/sign-in",
    "/account",
    "/verify",
    "/nowhere",
    *(f"/rules/{slug}" for slug in SEATS),
)


@pytest.mark.parametrize("language", OTHERS)
def test_nothing_around_the_tables_is_left_in_english(client: FlaskClient, language: str, cross: Any) -> None:
    game = cross(2)
    speaks(game.people[0], language)
    sign_in(client, game.people[0])
    for path in AROUND:
        check_page(client, path, language)


def check_page(client: FlaskClient, path: str, language: str) -> None:
    """Check that a page is completely in one language."""
    page = strictly(client.get(path, headers={"Accept-Language": language}).text)
    assert spoken(page) == language, path
    assert leftovers(language, texts_of(page.root)) == [], path


@pytest.mark.parametrize(
    ("slug", "language"),
    [
        pytest.param(slug, language, marks=pytest.mark.nightly if (place + number) % 2 else ())
        for place, slug in enumerate(SEATS)
        for number, language in enumerate(OTHERS)
    ],
)
def test_nothing_at_a_table_is_left_in_english(
    client: FlaskClient, table: Callable[..., Table], slug: str, language: str
) -> None:
    game = table(SEATS[slug], slug=slug)
    questions = set()
    while (now := position(game.id)).outcome is None:
        seat = min(now.awaited)
        kind = now.awaited[seat].kind
        if kind not in questions:
            questions.add(kind)
            for path in paths_of(game):
                check_page(client, path, language)
        moves = now.rules.moves(now.state, seat)
        seq = make(game, seat, str(moves[now.head % len(moves)]))
        if now.head % 40 == 0:
            check_page(client, f"{url(game, seat)}?played={seq}", language)
    for path in (*paths_of(game), f"/g/{game.id}/verify"):
        check_page(client, path, language)


@pytest.mark.usefixtures("app")
def test_the_search_for_english_finds_what_is_left() -> None:
    found = ["Since your last move", "Alice won with 12.", "Bob heeft gepast.", "Byzanz", " Save \n"]
    assert leftovers("nl", found) == ["Save", "Since your last move"]
    assert leftovers("nl", ["Alice has until Mon 3 Mar, 10:00 to move."]) != []


@pytest.mark.parametrize("signed_in", [False, True], ids=["guest", "signed in"])
def test_a_page_needs_one_connection_at_a_time(client: FlaskClient, table: Any, signed_in: bool) -> None:
    """With two, as many pages as the pool has connections could wait for each other."""
    game = table(3)
    if signed_in:
        log_in(client, game.people[0])
    pool = engine.db.engine.pool
    most = set[int]()

    def count(*_checkout: object) -> None:
        most.add(pool.checkedout())  # type: ignore[attr-defined]

    own = url(game, 0)
    sa.event.listen(pool, "checkout", count)
    try:
        for path in ("/", "/account", own, f"{own}/history", "/t/" + "a" * 26, "/g/g1", "/g/none", "/m"):
            client.get(path)
    finally:
        sa.event.remove(pool, "checkout", count)
    assert most == {1}
