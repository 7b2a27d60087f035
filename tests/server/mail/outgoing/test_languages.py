"""Every email in its reader's language, in a game with three languages, with nothing left in English."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from email.message import EmailMessage
from pathlib import Path

import flask
import html5lib
import pytest
from flask import Flask

from server import i18n, play
from server.accounts import login
from server.community import talk
from server.i18n import NAMES
from server.lobby import create
from server.mail.incoming.quoting import MARKER, Known, own_text
from server.mail.outgoing.deliver import deliver
from server.mail.text import LINE
from server.store import engine, outbox
from server.store.models import Mail, Person
from tests.conftest import NOW, Table, copied
from tests.support.games import make, position
from tests.support.lobby import ALICE, invited, mails, token, wish
from tests.support.mail_servers import FakeMailer
from tests.support.mails import queue_every_mail
from tests.support.pages import leftovers, texts_of
from tests.support.sample_mails import with_replies
from tests.support.talk import MINUTE, answer
from tests.support.visitors import make_visitors

OTHERS = [code for code in NAMES if code != "en"]


@pytest.fixture
def database_url(migrated_file: Path) -> Iterator[str]:
    """Use one kind of database; the checks do not depend on it."""
    with copied(migrated_file) as url:
        yield url


def speak(people: dict[int, str | None]) -> None:
    """Set the languages of these people."""
    with engine.transaction() as session:
        for person_id, language in people.items():
            session.get_one(Person, person_id).language = language


def delivered(now: datetime | None = None) -> list[EmailMessage]:
    """Deliver and return all waiting emails."""
    fake_mailer = FakeMailer()
    while deliver(now or engine.utc_now(), fake_mailer, steady=lambda: 0.0):
        pass
    return fake_mailer.sent


def to(name: str, sent: list[EmailMessage]) -> list[EmailMessage]:
    """Return the emails to one person."""
    return [mail for mail in sent if f"{name}@example.org" in mail["To"]]


def plain(mail: EmailMessage) -> str:
    """Return the text of an email."""
    body = mail.get_body(("plain",))
    assert body is not None
    return str(body.get_content())


def page(mail: EmailMessage) -> str:
    """Return the HTML of an email."""
    body = mail.get_body(("html",))
    assert body is not None
    return str(body.get_content())


def check_mail(mail: EmailMessage, language: str, *moves: str) -> None:
    """Check that text and HTML of an email are completely in one language, but for moves as one replies with them."""
    assert f'<html lang="{language}">' in page(mail)
    long = [line for line in plain(mail).split("\n") if len(line) > LINE]
    assert [line for line in long if "://" not in line and not re.search(r"\w{64}", line)] == []
    if language == "en":
        return
    root = html5lib.HTMLParser(namespaceHTMLElements=False).parse(page(mail))
    paragraphs = [part.replace("\n", " ") for part in plain(mail).split("\n\n")]
    lines = [line.lstrip("- ") for line in plain(mail).split("\n")]
    left = leftovers(language, [*lines, *paragraphs, *texts_of(root)])
    assert [text for text in left if text not in moves] == [], mail["Subject"]


def in_language(language: str, text: str) -> str:
    """Return a text in a language."""
    return text if language == "en" else str(i18n.catalogue(language)[text].string)


@pytest.mark.parametrize("slug", ["byzanz", "byzantium"])
def test_three_languages_at_one_table(table: Callable[..., Table], slug: str) -> None:
    game = table(3, slug=slug)
    spoken = dict(zip(("alice", "bob", "charlie"), NAMES, strict=True))
    speak(dict(zip(game.people, spoken.values(), strict=True)))
    for _ in range(6):
        now = position(game.id)
        seat = min(now.awaited)
        make(game, seat, str(now.rules.moves(now.state, seat)[0]))
    sent = delivered()
    for seat, (name, language) in enumerate(spoken.items()):
        advance_to(game, seat)
        sent += delivered()
        mine = to(name, sent)
        assert mine
        for mail in mine:
            check_mail(mail, language)
            assert in_language(language, "Your hand") in plain(mail)
    assert len({mail["Subject"] for mail in sent}) == 1


def advance_to(game: Table, seat: int) -> None:
    """Play until this seat is to move."""
    while seat not in (now := position(game.id)).awaited:
        other = min(now.awaited)
        make(game, other, str(now.rules.moves(now.state, other)[0]))


def test_a_person_who_chooses_another_language_stays_in_the_thread(table: Callable[..., Table]) -> None:
    game = table(3)
    first = {mail["Subject"] for mail in to("alice", delivered())}
    speak({game.people[0]: "de"})
    play.submit(game.id, 0, "pass", seen=position(game.id).head, request_id="p", now=NOW)
    advance_to(game, 0)
    (again,) = to("alice", delivered())
    check_mail(again, "de")
    assert {again["Subject"]} == first


@pytest.mark.parametrize("language", NAMES)
def test_an_answer_above_our_words_is_read_in_each_language(app: Flask, language: str) -> None:
    app.config["MAIL_DOMAIN"] = "byzanz.test"
    marker = f"##- {in_language(language, 'Reply above this line')} -##"
    assert MARKER.fullmatch(marker)
    quoted = f"Alice, the table waits.\n\n{marker}\n\nWood 3 lies here."
    assert own_text(f"bid wood3\n\n{quoted}", Known()).lines == ("bid wood3",)
    assert own_text(
        "bid wood3\n\n" + "\n".join(f"> {line}" for line in quoted.split("\n")), Known()
    ).lines == ("bid wood3",)


@pytest.mark.parametrize("language", OTHERS)
def test_every_kind_of_mail_is_in_its_readers_language(app: Flask, language: str) -> None:
    there = make_visitors(app, engine.utc_now())
    with engine.transaction() as session:
        for person in session.query(Person):
            person.language = language
        session.get_one(Person, there.person("Frank")).cadence = "digest"
        queue_every_mail(session, there)
        for kind in ("games", "digest"):
            outbox.enqueue(session, key=kind, kind=kind, person_id=there.person("Frank"), now=there.now)
    login.mail_sign_in("alice@example.org", engine.utc_now())
    play.moderate("there", "!abandon", reason="genug", person_id=there.person("Mia"), now=engine.utc_now())
    sent = delivered()
    with engine.reading() as session:
        kinds = {mail.kind for mail in session.query(Mail) if mail.status == "sent"}
    assert kinds >= {
        "turn",
        "act",
        "over",
        "signin",
        "games",
        "invite",
        "vacant",
        "answered",
        "refused",
        "left",
    }
    for mail in sent:
        check_mail(mail, language)


@pytest.mark.parametrize("language", OTHERS)
def test_table_talk_is_in_its_readers_language_but_for_the_words(
    app: Flask, table: Callable[..., Table], language: str
) -> None:
    with_replies(app)
    game = table(3)
    speak(dict.fromkeys(game.people, language))
    with engine.transaction() as session:
        session.get_one(Person, game.people[2]).talk = "once"
    (first,) = to("alice", delivered(NOW))
    for number in range(15):
        for seat in (0, 1):
            talk.say(game.id, game.people[seat], "…", request_id=f"w{number}", now=NOW)
    for text in (f"say {'x' * 600}\npass", "say …\nsing", "say x"):
        answer(first, text, sender="alice@example.org")
    sent = delivered(NOW + 3 * MINUTE)
    assert len(to("bob", sent)) == len(to("charlie", sent)) == 1
    assert len(to("alice", sent)) == 2
    for mail in sent:
        check_mail(mail, language, "pass")
    assert any(in_language(language, "Said since your last move") in plain(mail) for mail in sent)


def test_what_an_order_did_is_told_in_the_language_of_its_owner(table: Callable[..., Table]) -> None:
    game = table(3)
    speak({game.people[1]: "nl", game.people[2]: "de"})
    play.place_order(game.id, 1, "pass every lot", now=NOW)
    make(game, 0, str(position(game.id).rules.moves(position(game.id).state, 0)[0]))
    assert position(game.id).awaited.keys() == {2}
    kept = "Passed for you, as you ordered."
    client = flask.current_app.test_client()
    own, other = (client.get(f"/t/{game.tokens[seat]}/history").text for seat in (1, 2))
    assert in_language("nl", kept) in own
    assert kept not in own
    assert in_language("de", kept) not in other


# ---- before a game has begun ----


@pytest.mark.usefixtures("app")
def test_an_invitation_is_in_the_guests_language_else_in_the_organisers() -> None:
    invited(NOW)  # all are known by now
    with engine.reading() as session:
        people = {person.email: person.id for person in session.query(Person)}
    speak({people["alice@example.org"]: "nl", people["charlie@example.org"]: "de"})
    delivered()
    invited(NOW, name="Another")
    sent = delivered()
    for name, language in (("bob", "nl"), ("charlie", "de")):
        (mail,) = to(name, sent)
        check_mail(mail, language)


@pytest.mark.usefixtures("app")
def test_what_a_guest_asks_for_is_mailed_in_the_language_of_the_page() -> None:
    game_id = create.create_game(wish(language="de"), NOW)
    (mail,) = delivered()
    check_mail(mail, "de")
    assert mails("confirm", ALICE)
    create.confirm_game(token("organise", ALICE, game_id, NOW), NOW, "cut", language="de")
    assert {re.search(r'<html lang="(\w+)">', page(mail))[1] for mail in delivered()} == {"de"}  # type: ignore[index]
    with engine.transaction() as session:
        session.query(Person).filter_by(email="alice@example.org").one().language = None
    login.mail_sign_in("alice@example.org", engine.utc_now(), "nl")
    (mail,) = delivered()
    check_mail(mail, "nl")


def test_an_english_mail_is_found(table: Callable[..., Table]) -> None:
    table(3)
    (mail,) = to("alice", delivered())
    root = html5lib.HTMLParser(namespaceHTMLElements=False).parse(page(mail))
    for language in OTHERS:
        assert len(leftovers(language, [part.replace("\n", " ") for part in plain(mail).split("\n\n")])) > 6
        assert len(leftovers(language, texts_of(root))) > 9
