"""Every form of a moderator goes through the door of powers, and what a moderator who plays sees of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from xml.etree.ElementTree import Element

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import delete, select

from server import play
from server.accounts import addresses, login, personal_data
from server.community import blocks, reports, talk
from server.lobby import open_tables
from server.play import powers
from server.play.powers import Asker, Conflict, Unwarned
from server.store import engine, log
from server.store.models import Alert, BrowserSession, Game, Link, ModeratorAction, Person, Seat, Tenure, Word
from tests.conftest import NOW, Table
from tests.support.games import appoint, change, outsider, row
from tests.support.lobby import everything
from tests.support.mails import send_waiting, text_of
from tests.support.pages import fields, form, look, send, sign_in
from tests.support.talk import word_id

Begin = Callable[..., Table]
pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
ACTS = (
    *("void", "pause", "resume", "extend", "credit", "bank", "autopilot"),
    *("replace", "remail", "link", "note", "abandon"),
)
CHANGES_NOTHING = {"moderation.preview"}
"""Forms of moderators that only show something."""


@pytest.fixture
def game(table: Begin) -> Table:
    """Return a game in which Bob has said something rude, which Charlie has reported, and has left."""
    made = table(4, now=engine.utc_now() - timedelta(hours=2))
    talk.say(made.id, made.people[1], "Rude words", request_id="a", now=NOW)
    reports.report(made.id, made.people[2], word_id(made.id, 1), engine.utc_now())
    change(Seat, (made.id, 1), autopilot=True, left=True)
    return made


def alert_id() -> int:
    with engine.reading() as session:
        return session.scalars(select(Alert.id).where(Alert.key.like("word:%"))).one()


def forms() -> Iterator[tuple[str, dict[str, str]]]:
    """Yield every form of a moderator that changes something: its path and fields."""
    for act in (
        "void",
        "pause",
        "resume",
        "extend",
        "credit",
        "bank",
        "autopilot",
        "replace",
        "remail",
        "link",
        "note",
    ):
        more = {"entry": "2", "seat": "1", "hours": "1", "switch": "off", "who": "zoe@example.org"}
        yield "/m/g1/act", {"act": act, "seen": "1", **more}
    yield "/m/g1/look", {"viewer": "all"}
    yield "/m/g1/offer", {"seat": "1", "do": "offer"}
    for do in ("hide", "close", "open", "silence"):
        yield "/m/g1/talk", {"do": do, "number": "1", "seat": "1", "days": "7"}
    yield f"/m/alarms/{alert_id()}", {}
    yield "/m/reachable", {"hours": "24"}
    yield "/m/erase", {"address": "daphne@example.org", "sure": "yes"}


def _token(client: FlaskClient) -> str:
    page = look(client, "/m/erase")
    return next(i.get("value", "") for i in page.root.iter("input") if i.get("name") == "csrf_token")


def test_every_form_goes_through_the_door(
    app: Flask, client: FlaskClient, game: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert game
    with app.app_context():
        change(Person, outsider(), name="Noa")
    sign_in(client, "noa@example.org")
    token = _token(client)
    known = {rule.endpoint for rule in app.url_map.iter_rules() if rule.endpoint.startswith("moderation.")}
    posts = {
        rule.endpoint
        for rule in app.url_map.iter_rules()
        if rule.endpoint in known and "POST" in (rule.methods or set())
    }
    tried: set[str] = set()

    def shut(*_args: object, **_more: object) -> None:
        raise Conflict("The door is shut.")

    monkeypatch.setattr(powers, "admit", shut)
    adapter = app.url_map.bind("localhost")
    for path, sent in forms():
        before = everything()
        answer = client.post(path, data={**sent, "reason": "because", "csrf_token": token, "warned": "yes"})
        assert (answer.status_code, "The door is shut." in answer.text) == (409, True), (path, sent)
        assert everything() == before, (path, sent)
        tried.add(adapter.match(path, method="POST")[0])
    assert tried == posts - CHANGES_NOTHING


# ---- a moderator who plays, and another who does not ----


def test_a_moderator_who_plays_is_told_that_another_must_decide(client: FlaskClient, game: Table) -> None:
    appoint(game.people[0], outsider())
    sign_in(client, "alice@example.org")
    page = look(client, "/m/g1")
    assert "You play or played at this table. Another moderator must decide." in page.text
    posts = [item.get("action", "") for item in page.root.iter("form") if item.get("method") == "post"]
    assert [action for action in posts if action.startswith("/m/")] == []
    assert "Undo from here" not in page.text


def test_the_page_says_what_to_do_if_all_moderators_play(client: FlaskClient, game: Table) -> None:
    appoint(*game.people[:2])
    sign_in(client, "alice@example.org")
    page = look(client, "/m/g1").text
    assert "If all moderators play, the administrator can add one: byzanz moderator add" in page


def test_a_moderator_who_plays_is_not_sent_to_the_desk_about_a_vacant_seat(game: Table) -> None:
    change(Game, game.id, organiser_id=None)
    appoint(game.people[0], outsider())
    play.leave(game.id, 2, now=engine.utc_now())
    sent = [mail for mail in send_waiting(engine.utc_now()) if "has left" in text_of(mail)]
    texts = {mail["To"].addresses[0].addr_spec: text_of(mail) for mail in sent}
    assert f"/m/{game.id}" in texts["noa@example.org"]
    assert f"/m/{game.id}" not in texts["alice@example.org"]
    assert "so only another moderator can give the seat to someone else." in texts["alice@example.org"]


@pytest.mark.parametrize("number", range(4))
def test_what_was_said_is_no_business_of_a_moderator_who_plays(game: Table, number: int) -> None:
    alice = game.people[0]
    appoint(alice, outsider())
    deed = (
        lambda: reports.hide(game.id, 1, "x", alice, NOW, warned=True),
        lambda: reports.set_talk(game.id, False, "x", alice, NOW, warned=True),
        lambda: reports.silence(game.id, "1", "7", "x", alice, NOW, warned=True),
        lambda: reports.resolve(alert_id(), "x", alice, NOW),
    )[number]
    before = everything()
    with pytest.raises(Conflict):
        deed()
    assert everything() == before


def test_a_person_is_not_silenced_by_way_of_another_table(game: Table, table: Begin) -> None:
    """Alice plays with Charlie at one table, and another table has Charlie without her."""
    other = table(3, game_id="g2")
    mia = outsider()
    change(Seat, ("g2", 0), person_id=mia)
    alice = game.people[0]
    appoint(alice)
    with engine.transaction() as session:
        for table_of in (Tenure, Link):
            session.execute(delete(table_of).where(table_of.game_id == "g2"))
    with pytest.raises(Conflict):
        reports.silence(other.id, "2", "7", "x", alice, NOW, warned=True)
    assert row(Person, game.people[2]).silenced_until is None


def test_hiding_and_silencing_leave_deeds(client: FlaskClient, game: Table) -> None:
    noa = outsider()
    reports.hide(game.id, 1, "be kind", noa, NOW)
    reports.silence(game.id, "1", "7", "be kinder", noa, NOW)
    reports.resolve(alert_id(), "done", noa, NOW)
    with engine.reading() as session:
        rows = session.scalars(select(ModeratorAction).where(ModeratorAction.person_id == noa))
        found = [(each.power, each.game_id, each.seq, each.about_id, each.reason) for each in rows]
    bob = game.people[1]
    assert found == [
        ("hide", "g1", None, bob, "be kind"),
        ("silence", "g1", None, bob, "be kinder"),
        ("clear", "g1", None, None, "done"),
    ]
    sign_in(client, "noa@example.org")
    page = look(client, "/m/deeds").text
    for told in ("Hides something that was said (Bob)", "be kinder", "Marks an alert as resolved"):
        assert told in page


def test_a_report_is_not_cleared_without_a_reason(client: FlaskClient, game: Table) -> None:
    assert game
    outsider()
    sign_in(client, "noa@example.org")
    action, filled = form(look(client, "/m/"), reason="")
    assert client.post(action or "", data=filled).status_code == 422
    assert client.post(action or "", data=filled | {"reason": "read it"}).status_code == 303


# ---- the only moderator plays ----


def test_the_only_moderator_ticks_a_box(client: FlaskClient, game: Table) -> None:
    appoint(game.people[0])
    sign_in(client, "alice@example.org")
    page = look(client, "/m/g1")
    acts = {filled["act"] for filled in _fields(page.root) if "act" in filled}
    assert acts == {"extend", "credit", "bank", "pause", "autopilot", "remail", "link", "note", "abandon"}
    typed = {"act": "pause", "reason": "dinner", "csrf_token": _token(client)}
    change(Game, game.id, paused=False)
    shown = client.post("/m/g1/preview", data=typed)
    assert "there is no other moderator" in shown.text
    for warned, status in ((None, 409), ("yes", 303)):
        answer = client.post("/m/g1/act", data=typed | {"seen": "1"} | ({"warned": warned} if warned else {}))
        assert answer.status_code == status
    with engine.reading() as session:
        noted = [entry.note for entry in log.entries(session, game.id) if entry.by == "moderator"]
    assert noted == ["dinner (the moderator, who plays seat 1)"]


def _fields(root: Element) -> list[dict[str, str]]:
    return [fields(item) for item in root.iter("form")]


def test_the_table_reads_who_hid_what_was_said(client: FlaskClient, game: Table) -> None:
    alice = game.people[0]
    appoint(alice)
    with pytest.raises(Unwarned):
        reports.hide(game.id, 1, "rude", alice, NOW)
    reports.hide(game.id, 1, "rude", alice, NOW, warned=True)
    reports.silence(game.id, "1", "7", "x" * 150, alice, NOW, warned=True)
    with engine.reading() as session:
        assert session.scalars(select(Word.hidden_why).where(Word.game_id == game.id)).one() == (
            "rude (the moderator, who plays seat 1)"
        )
    assert "rude (the moderator, who plays seat 1)" in look(client, f"/t/{game.tokens[2]}").text
    german = client.get(f"/t/{game.tokens[2]}", headers={"Accept-Language": "de"}).text
    assert "rude (die Moderation, die selbst auf Platz 1 spielt)" in german
    assert len(row(Person, game.people[1]).silenced_why or "") <= 200


def test_a_long_reason_closes_the_talk_of_the_only_moderators_table_at_once(game: Table) -> None:
    appoint(game.people[0])
    reports.set_talk(game.id, False, "x" * 500, game.people[0], NOW, warned=True)
    assert row(Game, game.id).talk is False


def test_the_only_moderators_offer_is_told_to_the_table(game: Table) -> None:
    alice, now = game.people[0], engine.utc_now()
    appoint(alice)
    change(Seat, (game.id, 1), autopilot=False, left=False)
    play.leave(game.id, 1, now=now)
    with pytest.raises(Unwarned):
        open_tables.offer_as_moderator(game.id, 1, Asker(alice, "gone"), now)
    open_tables.offer_as_moderator(game.id, 1, Asker(alice, "gone", warned=True), now)
    assert row(Seat, (game.id, 1)).offered_at == now
    with engine.reading() as session:
        noted = [entry.note for entry in log.entries(session, game.id) if entry.move == "!note"]
    assert noted == ["gone (the moderator, who plays seat 1)"]


# ---- erasing others ----


@pytest.mark.changes_busy_table
def test_erasing_others_needs_a_reason_and_a_fresh_sign_in(client: FlaskClient, game: Table) -> None:
    noa = outsider()
    sign_in(client, "noa@example.org")
    typed = {"address": "bob@example.org", "reason": "asked by phone", "sure": "yes"}
    for reason in ("", "x" * 501, "Bob asked", "bob@example.org wrote"):
        answer = send(client, "/m/erase", {"address": "bob@example.org", "reason": reason}, address="")
        assert answer.status_code == 422
    with engine.transaction() as session:
        for each in session.scalars(select(BrowserSession).where(BrowserSession.person_id == noa)):
            each.created_at -= login.RECENT
    token = _token(client)
    assert client.post("/m/erase", data=typed | {"csrf_token": token}).status_code == 422
    assert row(Person, game.people[1]).email == "bob@example.org"
    assert send(client, "/m/erase", do="mail").status_code == 200
    sign_in(client, "noa@example.org")
    assert client.post("/m/erase", data=typed | {"csrf_token": _token(client)}).status_code == 200
    assert row(Person, game.people[1]).email is None
    with engine.reading() as session:
        deed = session.scalars(select(ModeratorAction).where(ModeratorAction.power == "erase")).one()
    assert (deed.person_id, deed.about_id, deed.reason) == (noa, game.people[1], "asked by phone")
    assert "Erases a person" in look(client, "/m/deeds").text


@pytest.mark.changes_busy_table
def test_what_the_administrator_does_is_listed_with_the_deeds(client: FlaskClient, game: Table) -> None:
    noa, now, bob = outsider(), engine.utc_now(), game.people[1]
    addresses.move(bob, "new@b.example", now, reason="lost mailbox")
    addresses.stop_as_operator(bob, "a mistake", now)
    reports.silence(game.id, "1", "7", "be kinder", noa, now)
    sign_in(client, "noa@example.org")
    page = look(client, "/m/deeds").text
    assert "Begins a change of somebody’s address (Bob) lost mailbox The administrator ·" in page
    assert "Stops a change of somebody’s address (Bob) a mistake The administrator ·" in page
    personal_data.erase_as_operator(bob, "asked by phone", now)
    page = look(client, "/m/deeds?by=administrator").text
    assert "Erases a person (Former player) asked by phone The administrator ·" in page
    assert ("be kinder" in page, "lost mailbox" in page, page.count("The administrator ·")) == (
        False,
        False,
        3,
    )
    assert "The administrator ·" not in look(client, f"/m/deeds?by={noa}").text


@pytest.mark.changes_busy_table
@pytest.mark.parametrize("by", ["moderator", "administrator", "themselves"])
def test_the_log_names_the_true_cause(client: FlaskClient, game: Table, by: str) -> None:
    change(Seat, (game.id, 1), autopilot=False, left=False)
    bob, now = game.people[1], engine.utc_now()
    send_waiting()
    if by == "moderator":
        personal_data.erase_as_moderator(bob, Asker(outsider(), "asked by phone"), now)
    elif by == "administrator":
        personal_data.erase_as_operator(bob, "asked by phone", now)
    else:
        personal_data.erase(bob, now)
    with engine.reading() as session:
        (entry,) = [each for each in log.entries(session, game.id) if each.move == "!leave 1"]
    causes = {"moderator": personal_data.BY_MODERATOR, "administrator": personal_data.BY_ADMINISTRATOR}
    cause = causes.get(by)
    assert (entry.by, entry.note) == ("moderator" if cause else "player", cause)
    page = look(client, f"/t/{game.tokens[2]}").text
    assert ("Former player no longer plays." in page) == (cause is not None)
    assert ("Former player leaves the game." in page) == (cause is None)
    letters = [text_of(mail) for mail in send_waiting(now) if str(mail["To"]).startswith("Alice")]
    told = [letter for letter in letters if "because their account was erased" in letter]
    assert bool(told) == (cause is not None)


def test_the_page_says_that_another_moderator_must_erase_them(client: FlaskClient, game: Table) -> None:
    appoint(game.people[0], outsider())
    sign_in(client, "alice@example.org")
    typed = {"address": "charlie@example.org", "reason": "because", "sure": "yes"}
    answer = client.post("/m/erase", data=typed | {"csrf_token": _token(client)})
    assert answer.status_code == 409
    assert "Another moderator must decide." in answer.text


def test_nobody_erases_the_people_they_play_with(game: Table) -> None:
    alice = game.people[0]
    appoint(alice)
    before = everything()
    for others in (False, True):
        if others:
            outsider()
            before = everything()
        with pytest.raises(Conflict) as refused:
            personal_data.erase_as_moderator(game.people[2], Asker(alice, "because", warned=True), NOW)
        assert not isinstance(refused.value, Unwarned)
    assert everything() == before


@pytest.mark.changes_busy_table
def test_nobody_becomes_the_only_moderator_by_erasing_the_other(game: Table) -> None:
    alice, noa = game.people[0], outsider()
    appoint(alice)
    personal_data.erase_as_moderator(noa, Asker(alice, "because"), NOW)
    with pytest.raises(Conflict) as refused:
        play.moderate(game.id, "!note", reason="x", person_id=alice, now=NOW, warned=True)
    assert not isinstance(refused.value, Unwarned)


def test_nobody_erases_somebody_they_block(game: Table) -> None:
    noa = outsider()
    blocks.block(noa, game.people[2], NOW)
    with pytest.raises(Conflict):
        personal_data.erase_as_moderator(game.people[2], Asker(noa, "because"), NOW)
