"""The moderators' desk: issues with the action that helps, the search, and the list of actions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from xml.etree.ElementTree import Element

import pytest
from flask.testing import FlaskClient
from sqlalchemy import event, select

from byzanz import games
from server import play
from server.mail.text import quoted
from server.store import engine, people
from server.store.models import Game, Person, Seat
from server.web.moderation import desk
from tests.conftest import NOW, Table
from tests.support.games import MIA, change, make, make_moderator, move_texts, outsider, troubled
from tests.support.lobby import everything, invited, mails
from tests.support.pages import Page, assert_sound, forgotten, form, look, read, send, sign_in

Begin = Callable[..., Table]
Town = dict[str, Table]


@pytest.fixture(autouse=True)
def _now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk, "utc_now", lambda: NOW)


@pytest.fixture
def mia(client: FlaskClient) -> FlaskClient:
    """Return the browser of a signed-in moderator who has no seat."""
    make_moderator(MIA, NOW)
    sign_in(client, MIA)
    return client


@pytest.fixture
def site(table: Begin) -> Town:
    """Return a game for each kind of issue."""
    return troubled(table, NOW)


def sections(page: Page) -> dict[str, list[Element]]:
    """Return the cases of each part of the desk, by the id of the part."""
    found = {}
    for section in page.root.iter("section"):
        found[section.get("aria-labelledby", "")] = [
            item for ul in section.iter("ul") for item in ul.iter("li")
        ]
    return found


def by_game(page: Page, part: str = "attention") -> list[tuple[str, list[Element]]]:
    """Return the cases of a part of the desk, each list with the heading above it: one for each game."""
    found: dict[str, tuple[str, list[Element]]] = {}
    for section in page.root.iter("section"):
        for item in section.iter("li") if section.get("aria-labelledby") == part else ():
            if (heading := item.find("p[@class='which']")) is not None:
                link = heading.find("a")
                key = link.get("href", "") if link is not None else ""
                assert key not in found
                found[key] = (text_of_case(heading), list(item.iterfind("ul/li")))
    return list(found.values())


def tag_of(case: Element) -> str:
    """Return the tag of a case; what is due soon and nothing else has none."""
    tags = [item for item in case.iter("span") if item.get("class", "").startswith("tag")]
    return "".join(tags[0].itertext()) if tags else "Due soon"


def told(page: Page) -> dict[str, list[tuple[str, Element]]]:
    """Return the cases of the desk by their tags, in the order of the list, each with the game that it is about."""
    found: dict[str, list[tuple[str, Element]]] = {}
    for heading, cases in (*by_game(page), *by_game(page, "soon")):
        for case in cases:
            found.setdefault(tag_of(case), []).append((heading, case))
    return found


KINDS = {
    "On hold": "aside", "Late": "late", "Due soon": "late", "Unreachable": "mail", "Email not sent": "mail",
    "Email rejected": "mail", "Stalled": "stuck", "has left": "away", "on autopilot": "away",
}  # fmt: skip
"""The kind of issue, as the search names it, of each tag but the alerts'."""


def text_of_case(case: Element) -> str:
    """Return the text of a case, with whitespace collapsed."""
    return " ".join(" ".join(case.itertext()).split())


def ids(page: Page) -> set[str]:
    """Return the games that a page links to."""
    return set(re.findall(r'href="/m/([a-z0-9]+)(?:[?"])', page.html)) - {"games", "deeds"}


# ---- at a glance ----


TOLD = [
    ("Late", "overdue", "Alice, due Mon 09:00; the server plays next.", {"extend"}),
    ("Due soon", "soon", "Alice: 5 h 0 min left (Mon 15:00)", {"extend"}),
    (
        "Unreachable",
        "bounced",
        "Email to Felix is failing: the address does not exist. 550 5.1.1 no such user",
        {"remail", "replace"},
    ),
    (
        "Email rejected",
        "bounced",
        "Turn email (Bob): delivery failed: the mailbox is full. Mon 2 Mar, 10:00 (UTC) · 452 4.2.2 full",
        set(),
    ),
    (
        "Email not sent",
        "unsent",
        "Alice has been to move since Mon 2 Mar, 08:00 (UTC), but the email has not been sent yet.",
        {"remail"},
    ),
    ("Stalled", "paused", "The game is paused. Last entry: Mon 2 Mar, 10:00 (UTC).", {"resume"}),
    (
        "Stalled",
        "rests",
        "The game is paused because nobody is responding. It resumes as soon as a player returns.",
        {"replace"},
    ),
    ("Stalled", "quiet", "Stalled Last entry: Sat 21 Feb, 10:00 (UTC).", {"note"}),
    ("On hold", "aside", "This game is on hold: entry 2 is illegal.", {"void", "resume"}),
    ("on autopilot", "away", "The server is playing for Bob.", {"replace"}),
    ("has left", "left", "The server is playing for Charlie.", {"replace"}),
    (
        "Alert",
        "bounced",
        "A player gets no emails because an earlier one was rejected: it rejects the address.",
        set(),
    ),
]


@pytest.mark.empty_database  # the whole desk is counted
@pytest.mark.usefixtures("site")
def test_the_desk_tells_each_trouble_with_the_way_to_what_helps(mia: FlaskClient) -> None:
    page = look(mia, "/m/")
    cases = told(page)
    for tag, game, sentence, acts in TOLD:
        (case,) = [
            case
            for at, case in cases[tag]
            if sentence in text_of_case(case) and at == f"The table {game} Byzanz"
        ]
        links = [link.get("href", "") for link in case.iter("a")]
        assert all(link.startswith(f"/m/{game}?") for link in links)
        assert {re.findall(r"do=(\w+)", link)[0] for link in links} == acts, sentence
    assert {tag: len(found) for tag, found in cases.items()} == {
        "On hold": 1, "Late": 1, "Unreachable": 1, "Alert": 2, "Email not sent": 1, "Due soon": 1, "Stalled": 3,
        "on autopilot": 4, "has left": 1, "Email rejected": 1,
    }  # fmt: skip
    assert list(dict.fromkeys(tag_of(own[0]) for _game, own in by_game(page))) == [
        "Alert", "On hold", "Late", "Email not sent", "Stalled", "on autopilot", "has left",
    ]  # fmt: skip
    assert "well" not in ids(page)
    assert "Needs attention 15" in page.text
    assert "Due soon 1" in page.text
    assert "All clear:" not in page.text


def test_what_is_due_soon_stands_with_what_else_is_wrong_with_its_game(mia: FlaskClient, site: Town) -> None:
    change(Seat, ("soon", 1), autopilot=True)
    page = look(mia, "/m/")
    (own,) = [cases for game, cases in by_game(page) if game == "The table soon Byzanz"]
    assert [tag_of(case) for case in own] == ["on autopilot", "Due soon"]
    assert by_game(page, "soon") == []
    assert site


@pytest.mark.usefixtures("site")
def test_what_takes_something_away_from_players_looks_like_it(mia: FlaskClient) -> None:
    links = [link for link in look(mia, "/m/").root.iter("a") if "?do=" in link.get("href", "")]
    grave = {act_of(link) for link in links if "danger" in link.get("class", "").split()}
    harmless = {act_of(link) for link in links if "danger" not in link.get("class", "").split()}
    assert grave == {"void", "replace"}
    assert harmless == {"extend", "remail", "resume", "note"}


def act_of(link: Element) -> str:
    """Return the act that a link leads to."""
    return str(re.findall(r"do=(\w+)", link.get("href", ""))[0])


@pytest.mark.usefixtures("site")
def test_each_way_leads_to_a_form_that_stands_open_for_that_seat(mia: FlaskClient) -> None:
    links = re.findall(r'href="(/m/[a-z]+\?do=[^"]+)"', look(mia, "/m/").html)
    assert len(links) > 8
    for link in links:
        asked = dict(re.findall(r"(do|of)=(\w+)", link))
        page = look(mia, link.replace("&amp;", "&"))
        (shown,) = [item for item in page.root.iter("details") if item.get("id") == f"do-{asked['do']}"]
        assert shown.get("open") is not None, link
        if "of" in asked:
            assert form(page, act=asked["do"])[1]["seat"] == asked["of"]


@pytest.mark.usefixtures("site")
def test_a_way_with_nonsense_opens_nothing(mia: FlaskClient) -> None:
    before = everything()
    for query in ("do=burn", "do=%00&of=%00", "do=extend&of=99", "do=extend&of=<b>", "do=&of=", "do=a&do=b"):
        page = look(mia, f"/m/well?{query}")
        assert page.status == 200
        shown = [
            item.get("id")
            for item in page.root.iter("details")
            if item.get("open") is not None and item.get("id")
        ]
        assert shown == (["do-extend"] if "extend" in query else [])
    assert everything() == before


def test_an_empty_desk_says_that_all_is_well(mia: FlaskClient) -> None:
    page = look(mia, "/m/")
    assert page.text.count("Nothing here. All is well.") == 1
    assert "Needs attention 0" in page.text
    assert sections(page)["attention"] == []


@pytest.mark.empty_database  # the whole desk is counted
def test_what_the_desk_tells_the_search_finds(mia: FlaskClient, site: Town) -> None:
    cases = told(look(mia, "/m/"))
    everywhere = set()
    for kind in desk.KINDS:
        own = [case for tag, found in cases.items() if KINDS.get(tag) == kind for case in found]
        games = {at.removeprefix("The table ").removesuffix(" Byzanz") for at, _case in own}
        assert ids(look(mia, f"/m/games?status={kind}")) == games, kind
        everywhere |= games
    assert ids(look(mia, "/m/games?status=trouble")) == everywhere == set(site) - {"well"}


@pytest.mark.empty_database  # the whole desk is counted
def test_troubles_end_with_their_games(mia: FlaskClient, site: Town) -> None:
    for name in site:
        change(Game, name, status="over", quarantine=None)
    page = look(mia, "/m/")
    assert {tag: len(found) for tag, found in told(page).items()} == {"Alert": 6, "Email rejected": 1}
    assert "All clear: Late or due soon, Stalled, On hold, Autopilots and vacant seats" in page.text
    assert ids(look(mia, "/m/games?status=trouble")) == set()


@pytest.mark.empty_database  # the whole desk is counted
def test_an_invitation_that_came_back_is_told_too(mia: FlaskClient) -> None:
    invited(NOW)
    with engine.transaction() as session:
        people.get_or_create(session, "bob@example.org", "Bob", NOW).unreachable = quoted("550 no")
    ((_at, case),) = told(look(mia, "/m/"))["Unreachable"]
    assert "Email to Bob is failing: it rejects the address. 550 no" in text_of_case(case)
    assert list(case.iter("a")) == []  # what helps is its organiser's


def test_who_wants_one_mail_a_day_waits_for_no_mail(mia: FlaskClient, site: Town) -> None:
    change(Person, site["unsent"].people[0], cadence="digest")
    assert "Email not sent" not in told(look(mia, "/m/"))


def test_more_than_the_desk_holds_is_counted_and_one_press_away(mia: FlaskClient, table: Begin) -> None:
    for number in range(desk.MOST_SHOWN + 3):
        game = table(3, f"g{number}")
        play.moderate(game.id, "!pause", reason="x", person_id=outsider(), now=NOW)
    page = look(mia, "/m/")
    assert len(told(page)["Stalled"]) == desk.MOST_SHOWN
    assert f"Show all: Stalled ({desk.MOST_SHOWN + 3})" in page.text
    assert len(ids(look(mia, "/m/games?status=stuck"))) == desk.MOST_SHOWN + 3
    assert 'href="/m/games?status=stuck"' in page.html


# ---- after an outage of our own mail server ----


def test_a_moderator_mends_all_addresses_with_one_button(mia: FlaskClient, site: Town) -> None:
    felix = site["bounced"].people[5]
    change(Person, felix, lost_at=NOW - timedelta(hours=3))
    reason = "Our relay was down."
    for hours, why in (("0", reason), ("999", reason), ("6", " ")):
        assert send(mia, "/m/", {"hours": hours, "reason": why}, hours="24").status_code == 422
    for hours, mended in (("1", 0), ("6", 1)):
        done = send(mia, "/m/", {"hours": hours, "reason": reason}, hours="24")
        assert (done.status_code, done.location) == (303, f"/m/?mended={mended}")
    assert "1 address counts as working again." in look(mia, done.location).html
    with engine.reading() as session:
        assert session.get_one(Person, felix).unreachable is None


# ---- the search ----


def test_games_come_page_by_page_each_once(
    mia: FlaskClient, table: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk, "PAGE_SIZE", 4)
    for number in range(9):
        table(3, f"g{number}", NOW + timedelta(minutes=number))
    path, seen = "/m/games?q=horn&kind=byzanz&status=running", []
    while path:
        page = look(mia, path)
        seen += re.findall(r'<p><a href="/m/(g\d)">', page.html)
        further = [link for link in page.root.iter("a") if link.get("rel") == "next"]
        path = further[0].get("href", "") if further else ""
    assert seen == [f"g{number}" for number in reversed(range(9))]


@contextmanager
def counted_rows() -> Iterator[list[str]]:
    """Collect the statements that reach the database within the block."""
    seen: list[str] = []

    def note(_conn: object, _cursor: object, statement: str, *_more: object) -> None:
        seen.append(statement)

    event.listen(engine.db.engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(engine.db.engine, "before_cursor_execute", note)


def asked_for(mia: FlaskClient, path: str) -> int:
    """Return how many statements a page takes."""
    with counted_rows() as seen:
        assert look(mia, path).status == 200
    return len(seen)


def in_trouble(table: Begin, number: int) -> None:
    """Create another game that shows in several parts of each page."""
    game = table(3, f"t{number}")
    mia = make_moderator(MIA, NOW)
    play.moderate(game.id, "!autopilot 1 on", reason="x", person_id=mia, now=NOW)
    play.moderate(game.id, "!look all", reason="x", person_id=mia, now=NOW)
    if number % 2:
        play.moderate(game.id, "!pause", reason="x", person_id=mia, now=NOW)
    change(Person, game.people[2], unreachable=quoted("550 no"))


PATHS = ("/m/", "/m/games", "/m/games?q=horn&status=trouble", "/m/deeds", "/m/deeds?what=look&game=t1")


def test_fifty_games_take_as_many_queries_as_one(mia: FlaskClient, table: Begin) -> None:
    for number in range(2):
        in_trouble(table, number)
    few = {path: asked_for(mia, path) for path in PATHS}
    for number in range(2, 50):
        in_trouble(table, number)
    many = {path: asked_for(mia, path) for path in PATHS}
    extra = {"/m/": 5}  # where there are more than are shown they are counted by a query of their own
    assert {
        path: many[path] - few[path] for path in PATHS if many[path] > few[path] + extra.get(path, 0)
    } == {}
    assert max(many.values()) < 30


def test_a_query_for_each_game_would_be_noticed(
    mia: FlaskClient, table: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk, "_search", lambda **_sought: select(Game))
    table(3, "one")
    one = asked_for(mia, "/m/games")
    for number in range(5):
        table(3, f"g{number}")
    assert asked_for(mia, "/m/games") >= one + 5


# ---- deeds ----


def test_deeds_are_told_by_moderator_and_by_game(mia: FlaskClient, table: Begin) -> None:
    one, two = table(3, "one"), table(3, "two")
    change(Game, "two", name="The other table")
    max_id, mia_id = make_moderator("max@example.org", NOW), make_moderator(MIA, NOW)
    play.moderate(one.id, "!extend 0 3600", reason="A funeral", person_id=mia_id, now=NOW)
    play.moderate(two.id, "!note", reason="Be kind <b>", person_id=max_id, now=NOW)
    play.moderate(two.id, "!look 1", reason="A complaint", person_id=mia_id, now=NOW + timedelta(hours=1))
    page = look(mia, "/m/deeds")
    listed = [text_of_case(item) for item in page.root.iter("li") if "entry" in text_of_case(item)]
    found = [text for text in listed if "The Busy Bazaar" not in text]
    assert [re.sub(r" (one|two) ", " ", text) for text in found] == [
        "The other table A moderator views Bob’s hand. viewed A complaint "
        "Mia · Mon 2 Mar, 11:00 (UTC) · entry 3",
        "The other table Note from a moderator: Be kind <b> Max · Mon 2 Mar, 10:00 (UTC) · entry 2",
        "The Golden Horn A moderator gives Alice 1 hour more. A funeral Mia · Mon 2 Mar, 10:00 (UTC) · entry 2",
    ]
    for query, count in (
        (f"by={max_id}", 1),
        (f"by={mia_id}&game=two", 1),
        ("game=two", 2),
        ("what=look", 1),
        ("what=act", 3),  # one is of the busy table, and so is one of all
        ("what=burn&by=x&game=%00&page=0", 4),
        ("game=nothing", 0),
        ("page=2", 0),
    ):
        assert look(mia, f"/m/deeds?{query}").text.count("· entry") == count, query
    assert 'href="/m/deeds?game=one"' in look(mia, "/m/one").html


def test_deeds_come_page_by_page(mia: FlaskClient, table: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk, "PAGE_SIZE", 3)
    game = table(3)
    for number in range(5):
        play.moderate(game.id, "!note", reason=f"word {number}", person_id=make_moderator(MIA, NOW), now=NOW)
    first, second = look(mia, "/m/deeds"), look(mia, "/m/deeds?page=2")
    assert re.findall(r"word \d", first.text) == ["word 4", "word 3", "word 2"]
    assert re.findall(r"word \d", second.text) == ["word 1", "word 0"]
    assert "Older" in first.text
    assert "Older" not in second.text


# ---- mails of one game ----


def mails_shown(page: Page, part: str) -> list[str]:
    """Return the lines of a list of emails."""
    return [text_of_case(case) for case in sections(page)[part]]


def test_a_game_shows_what_went_out_and_what_came_in(mia: FlaskClient, site: Town) -> None:
    page = look(mia, "/m/bounced")
    out = mails_shown(page, "mails")
    assert "Turn email (Felix): delivery failed: 550 5.1.1 no such user · Attempts: 1" in out
    assert "Answer to an email (Bob): sent 2 Mar, 10:00" in out
    assert mails_shown(page, "received") == [
        "Email received and carried out (Bob): 1 of 1 lines carried out 2 Mar, 10:00",
        "Email bounced (Felix): failed: 550 5.1.1 no such user 2 Mar, 10:00",
    ]
    assert mails_shown(look(mia, "/m/well"), "received") == ["None."]
    assert not any(token in page.html for token in site["bounced"].tokens)


def test_a_moderator_who_sits_there_is_not_told_what_others_wrote(client: FlaskClient, site: Town) -> None:
    change(Person, site["bounced"].people[0], moderator=True)
    sign_in(client, "alice@example.org")
    page = look(client, "/m/bounced")
    assert mails_shown(page, "received") == [
        "Email bounced (Felix): failed: 550 5.1.1 no such user 2 Mar, 10:00"
    ]
    assert "Answer to an email" not in page.text
    assert "carried out" not in page.text
    assert "cannot see what others wrote" in page.text
    change(Person, site["bounced"].people[0], moderator=False)
    change(Person, site["bounced"].people[1], moderator=True)
    other = client.application.test_client()
    sign_in(other, "bob@example.org")
    assert "1 of 1 lines carried out" in look(other, "/m/bounced").text  # his own


def test_a_moderator_who_sits_acts_with_a_reason_that_the_table_is_mailed(
    client: FlaskClient, table: Begin
) -> None:
    game = table(3)
    change(Person, game.people[0], moderator=True)
    sign_in(client, "alice@example.org")
    typed = {"reason": "My own fault", "hours": "3", "seat": "1"}
    preview = read(send(client, f"/m/{game.id}", typed, act="bank"))
    assert "Bob gets 3 hours more" in preview.text
    action, filled = form(preview, act="bank")
    assert client.post(action or "", data=filled).status_code == 409
    assert client.post(action or "", data=filled | {"warned": "yes"}).status_code == 303
    assert move_texts(game.id)[-1] == "!bank 1 10800"
    assert {mail.person_id for mail in mails("act")} == set(game.people)
    assert "My own fault" in look(client, f"/t/{game.tokens[1]}/history").text
    sent = filled | {"viewer": "1", "reason": "curious"}
    before = everything()
    assert read(client.post(f"/m/{game.id}/look", data=sent)).status == 409
    assert everything() == before


@pytest.mark.usefixtures("site")
def test_nobody_is_given_time_when_nobody_is_awaited(mia: FlaskClient) -> None:
    before = everything()
    preview = read(send(mia, "/m/paused", {"reason": "x", "hours": "3"}, act="credit"))
    assert "nobody is to move" in preview.text
    action, filled = form(preview, act="credit")
    assert read(mia.post(action or "", data=filled)).status == 409
    assert everything() == before


@pytest.mark.usefixtures("site")
def test_a_refused_act_keeps_its_form_open_with_what_was_typed(mia: FlaskClient) -> None:
    page = read(send(mia, "/m/well", {"reason": "because", "hours": "many"}, act="extend"))
    assert page.status == 422
    (shown,) = [item for item in page.root.iter("details") if item.get("open") is not None and item.get("id")]
    assert shown.get("id") == "do-extend"
    assert form(page, act="extend")[1]["hours"] == "many"
    assert form(page, act="bank")[1]["hours"] == "24"


# ---- every page ----


def every_page(mia: FlaskClient, site: Town) -> Iterator[tuple[str, Page]]:
    """Return each page for moderators, in each state that looks different."""
    for path in ("/m/", "/m/games", "/m/games?status=mail&q=x", "/m/deeds", "/m/deeds?what=look"):
        yield path, look(mia, path)
    for name in site:
        yield name, look(mia, f"/m/{name}")
    game_id, _host = invited(NOW, name="The table open")
    yield "open", look(mia, f"/m/{game_id}")
    yield "moment", look(mia, "/m/well?at=1")
    yield "void", look(mia, "/m/well?do=void")
    make(site["well"], 0, "pass")
    action, filled = form(look(mia, "/m/well?do=void&entry=2"), act="void")
    yield "undo", read(mia.post(action or "", data=filled | {"reason": "x"}))
    yield "refused", read(mia.post(action or "", data=filled | {"reason": "x", "entry": "x"}))
    for act, typed in (
        ("extend", {"hours": "2"}), ("credit", {"hours": "2"}), ("bank", {"hours": "2"}), ("pause", {}), ("note", {}),
        ("autopilot", {}), ("replace", {"who": "Eve <eve@example.org>"}), ("remail", {}), ("link", {}), ("abandon", {}),
    ):  # fmt: skip
        yield act, read(send(mia, "/m/well", {"reason": "x", **typed}, act=act))
    send(mia, "/m/well", {"viewer": "1", "reason": "x"}, viewer="0")
    yield "looked", look(mia, "/m/well/look/2")
    yield "looks", look(mia, "/m/well")
    play.moderate("well", "!abandon", reason="x", person_id=make_moderator(MIA, NOW), now=NOW)
    yield "over", look(mia, "/m/well")


def test_every_page_of_moderators_is_sound(mia: FlaskClient, site: Town) -> None:
    for name, page in every_page(mia, site):
        assert_sound(name, page)


DATA = re.compile(
    r"Nobody at this table.*"  # a note of the log
    rf"|Bob asked for it|{'|'.join(re.escape(rules.title) for rules in games.latest())}"
    r"|The (table|Golden) \w+|\w+@example.org"
    r"|The Busy Bazaar|Welcome to the bazaar\..*"
    r"|Alice|Bob|Charlie|Daphne|Eirene|Felix|Mia|UTC|550 [^()]*|530 no"
    r"|A wedding|Nobody answers|entry 2 is illegal|failed: |1 of 1 lines carried out|greedy|Greedy"
    r"|[0-9a-f]{64}|([A-Z][a-z]{2} )?\d+ [A-Z][a-z]{2}, \d\d:\d\d|[A-Z][a-z]{2} \d\d:\d\d"
    r"|English|Nederlands|Deutsch"
)


def test_every_text_of_moderators_can_be_translated(
    mia: FlaskClient,
    site: Town,
    marked: None,  # noqa: ARG001 - last, or the texts of the site are marked when it is built
) -> None:
    for name, page in every_page(mia, site):
        assert forgotten(page, DATA) == [], name


@pytest.mark.usefixtures("mia", "site")
def test_mails_of_acts_carry_nothing_of_the_desk() -> None:
    assert all(json.loads(mail.details).keys() <= {"reason"} for mail in mails("act"))
