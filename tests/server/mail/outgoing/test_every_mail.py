"""What all emails have in common: a way to stop them, a Feedback-ID, and nothing that only programs see."""

from __future__ import annotations

import re
from collections.abc import Callable
from email.message import EmailMessage
from html.parser import HTMLParser

import pytest
from flask import Flask
from sqlalchemy import update

from server import play
from server.accounts import login
from server.mail.incoming import receive
from server.mail.outgoing import relevance
from server.mail.outgoing.deliver import deliver
from server.store import engine, links, mail_kinds, outbox
from server.store.mail_kinds import Stop
from server.store.models import Mail, Person, Seat
from tests.conftest import Table
from tests.support import mails
from tests.support.games import submit
from tests.support.mail_servers import FakeMailer
from tests.support.mails import KINDS, queue_every_mail
from tests.support.sample_mails import with_replies
from tests.support.visitors import make_visitors

one_database = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
REQUESTED = (
    *("signin", "fresh", "confirm", "seated", "answer", "games", "keep"),
    *("move", "moving", "moved"),
)
"""The kinds that people get because they have just asked for them, or because they guard the account."""
HIDES = re.compile(
    r"display:none|visibility:hidden|opacity:0(?![.0-9]*[1-9])|mso-hide|color:transparent"
    r"|(?:font-size|line-height|max-height|height|width):0(?:px|pt|em)?(?:;|!|$)|text-indent:-|left:-"
)
"""Styles by which filters know a text that its reader is not meant to see."""


class Words(HTMLParser):
    """Collects the words of an email with the styles of the elements around them."""

    def __init__(self) -> None:
        super().__init__()
        self.around: list[tuple[str, str]] = []
        self.hidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("br", "meta", "img", "hr"):
            style = "".join((dict(attrs).get("style") or "").lower().split())
            self.around.append((tag, "display:none" if "hidden" in dict(attrs) else style))

    def handle_endtag(self, tag: str) -> None:
        while self.around and self.around.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        inside = [tag for tag, _style in self.around]
        if data.strip() and not {"head", "style", "title"} & set(inside):
            self.hidden += [data for _tag, style in self.around if HIDES.search(style)]


def hidden_in(html: str) -> list[str]:
    """Return the words of a page that its styles hide."""
    words = Words()
    words.feed(html)
    return words.hidden


@pytest.fixture
def sent(app: Flask, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[EmailMessage]]:
    """Send an email of every kind and return them by kind."""
    with_replies(app)
    made = make_visitors(app, engine.utc_now())
    with engine.transaction() as session:
        session.get_one(Person, made.person("Frank")).cadence = "digest"
        queue_every_mail(session, made)
        for kind in ("games", "digest"):
            outbox.enqueue(session, key=kind, kind=kind, person_id=made.person("Frank"), now=made.now)
        for kind in ("former", "timeout"):  # Bob was replaced
            outbox.enqueue(
                session,
                key=kind,
                kind=kind,
                person_id=made.person("Bob" if kind == "former" else "Zoe"),
                now=made.now,
                game_id="here",
                seat=1,
                seq=1,
                details={"by": "Zoe", "reason": "gone"},
            )
    login.mail_sign_in("alice@example.org", made.now)
    monkeypatch.setattr(relevance, "MERGED_INTO", {})  # each by itself
    found: dict[str, list[EmailMessage]] = {}
    fake_mailer = FakeMailer()
    deliver(engine.utc_now(), fake_mailer, 100)
    play.moderate("there", "!abandon", reason="enough", person_id=made.person("Mia"), now=made.now)
    while deliver(engine.utc_now(), fake_mailer):
        pass
    with engine.reading() as session:
        kinds = [mail.kind for mail in session.query(Mail).where(Mail.status == "sent").order_by(Mail.id)]
    for message in fake_mailer.sent:
        found.setdefault(str(message["Feedback-ID"]).partition(":")[0], []).append(message)
    assert {*KINDS, "digest", "former", "over", "signin"} <= set(found) == set(kinds)
    return found


@one_database
def test_all_but_those_asked_for_can_be_stopped_by_a_link_and_by_email(
    sent: dict[str, list[EmailMessage]],
) -> None:
    for kind, messages in sent.items():
        assert mail_kinds.of(kind).requested is (kind in REQUESTED)
        for message in messages if kind not in REQUESTED else ():
            found = re.fullmatch(
                r"<https://byzanz\.test/[unwz]/([a-z2-7]{26})(?:\?do=talk)?>, "
                r"<mailto:stop(?:talk)?\+\1@byzanz\.test\?subject=unsubscribe>",
                str(message["List-Unsubscribe"]),
            )
            assert found is not None, kind
            assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
            body = message.get_body(("plain",))
            assert body is not None
            assert found[1] in body.get_content(), kind


@one_database
def test_unsubscribing_stops_that_kind_and_at_most_what_the_kind_names(
    app: Flask, sent: dict[str, list[EmailMessage]]
) -> None:
    for kind, messages in sent.items():
        stop = mail_kinds.of(kind).stop
        if stop is None:
            continue
        address = str(messages[0]["List-Unsubscribe"]).partition(">")[0].removeprefix("<https://byzanz.test")
        with engine.reading() as session:
            theirs = session.query(Mail).join(Person).filter(Mail.kind == kind, Mail.status == "sent")
            token = address[3:29]
            link = next(filter(None, (links.find_any(session, way, token) for way in receive.STOPS)))
            theirs = theirs.filter(Mail.person_id == link.person_id)
            mail = (theirs.filter(Mail.game_id == link.game_id) if link.game_id else theirs).first()
            assert mail is not None
        before = _choices(mail.person_id)
        assert not before.silent
        assert app.test_client().post(address, data={"List-Unsubscribe": "One-Click"}).status_code == 200
        after = _choices(mail.person_id)
        assert after.silent is (stop is Stop.ALL), kind
        assert after.no_invitations is (stop is Stop.INVITATIONS), kind
        assert after.no_player_news is (stop is Stop.PLAYERS), kind
        if stop is not Stop.OPEN_TABLES and kind != "former":  # those have no more to come
            mail.status = "waiting"
            with engine.reading() as session:
                (row,) = outbox.find(session, Mail.id == mail.id)
            with engine.reading() as session, pytest.raises(relevance.Outdated) as dropped:
                relevance.load_rows(session, row, engine.utc_now())
            assert dropped.value.why.code in STOPPED, kind
        _restore(mail, before)


STOPPED = ("silent", "silent_here", "no_invitations", "no_player_news", "no_talk")


def _choices(person_id: int) -> Person:
    with engine.reading() as session:
        return session.get_one(Person, person_id)


def _restore(mail: Mail, before: Person) -> None:
    with engine.transaction() as session:
        person = session.get_one(Person, mail.person_id)
        person.silent = person.no_invitations = person.no_player_news = False
        person.talk = before.talk
        session.execute(update(Seat).where(Seat.person_id == mail.person_id).values(silent=False))


@one_database
def test_no_text_is_hidden(sent: dict[str, list[EmailMessage]]) -> None:
    for kind, messages in sent.items():
        for message in messages:
            body = message.get_body(("html",))
            assert body is not None
            assert hidden_in(body.get_content()) == [], kind


@one_database
@pytest.mark.parametrize(
    ("slug", "seats", "moves"), [("byzanz", 3, 15), ("byzantium", 2, 6), ("empire", 2, 15)]
)
def test_no_game_hides_text_in_the_emails_about_its_turns(
    table: Callable[..., Table], slug: str, seats: int, moves: int
) -> None:
    game = table(seats, slug=slug)
    messages = mails.send_waiting()
    for _ in range(moves):
        seat = mails.awaited(game.id)
        submit(game.id, seat, mails.bold_move(game.id, seat))
        messages += mails.send_waiting()
    assert [hidden for message in messages for hidden in hidden_in(mails.html_of(message))] == []


def test_what_hides_text_is_found() -> None:
    for style in ("display: none", "font-size:0", "opacity: 0", "max-height:0; overflow: hidden"):
        assert hidden_in(f'<p style="{style}">psst <b>you</b></p><p>Hello</p>') == ["psst ", "you"]
    assert hidden_in("<p hidden>psst</p>") == ["psst"]
    assert hidden_in('<p style="opacity:0.5; line-height:0.9; width:0.5em">Hello</p>') == []


@one_database
def test_the_feedback_id_names_the_kind_and_nobody(sent: dict[str, list[EmailMessage]]) -> None:
    for kind, messages in sent.items():
        assert {str(message["Feedback-ID"]) for message in messages} == {f"{kind}:byzanz"}
