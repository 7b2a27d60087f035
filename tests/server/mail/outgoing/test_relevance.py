"""Each email is checked just before it is sent: whether it is still true, wanted, and about its reader."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from server import play
from server.mail.outgoing import relevance
from server.mail.text import quoted
from server.store import engine, links, outbox
from server.store.facts import Fact
from server.store.models import Game, Link, LinkPurpose, Mail, Person, Seat, Turn
from server.store.statements import TurnRow
from tests.conftest import NOW, Table
from tests.support.games import change, outsider, submit
from tests.support.mails import one_database, queue, send_waiting, text_of, the_mail

Begin = Callable[..., Table]
pytestmark = one_database


def why(key: str = "probe") -> str | None:
    """Return the code of the reason for which an email is outdated; None if it may go out."""
    with engine.reading() as session:
        (mail,) = outbox.find(session, Mail.key == key)
        try:
            relevance.load_rows(session, mail, NOW)
        except relevance.AddressSuppressed as old:
            return f"suppressed: {old.why}"
        except relevance.Outdated as old:
            return old.why.code
    return None


def probe(kind: str, person: int, **more: Any) -> str | None:
    """Queue an email and return why it would not go out."""
    queue(kind, person, f"probe-{kind}", **more)
    return why(f"probe-{kind}")


def test_a_person_without_an_address_or_who_wants_none_gets_only_what_they_asked_for(table: Begin) -> None:
    game = table(3)
    about: dict[str, Any] = {"game_id": game.id, "seat": 0, "seq": 1}
    queue("act", game.people[0], "probe", **about)
    assert why() is None
    change(Person, game.people[0], silent=True)
    assert why() == "silent"
    assert probe("answer", game.people[0], **about, details={"lines": []}) is None
    change(Person, game.people[0], email=None)
    assert why() == why("probe-answer") == "no_address"


def test_a_muted_game_sends_nothing_but_what_was_asked_for_or_is_about_others(table: Begin) -> None:
    game = table(3)
    change(Seat, (game.id, 0), silent=True)
    about: dict[str, Any] = {"game_id": game.id, "seat": 0, "seq": 1}
    assert probe("act", game.people[0], **about) == "silent_here"
    assert probe("fresh", game.people[0], **about) is None
    assert probe("refused", game.people[0], **about) is None
    assert probe("vacant", game.people[0], **about) is None


def test_what_is_for_seated_players_goes_to_nobody_else(table: Begin) -> None:
    game = table(3)
    seated = ("act", "autopilot", "over", "remind", "replaced", "timeout", "turn")
    for kind in seated:
        queue(kind, game.people[1], f"probe-{kind}", game_id=game.id, seat=1, seq=1)
    change(Seat, (game.id, 1), status="invited")
    assert {why(f"probe-{kind}") for kind in seated} == {"not_seated"}
    change(Seat, (game.id, 1), status="seated", person_id=None)
    assert {why(f"probe-{kind}") for kind in seated} == {"not_seated"}
    assert probe("former", game.people[1], game_id=game.id, seat=1, seq=1) is None


def test_who_has_left_hears_nothing_more(table: Begin) -> None:
    game = table(3)
    queue("act", game.people[1], "probe", game_id=game.id, seat=1, seq=1)
    play.leave(game.id, 1, now=NOW)
    assert why() == "has_left"
    queue("act", game.people[2], "another", game_id=game.id, seat=2, seq=1)
    assert why("another") is None


def test_a_suppressed_address_gets_only_what_was_asked_for(table: Begin) -> None:
    game = table(3)
    change(Person, game.people[0], suppressed=quoted("550 gone"))
    about: dict[str, Any] = {"game_id": game.id, "seat": 0, "seq": 1}
    assert probe("turn", game.people[0], **about) == "suppressed: 550 gone"
    assert probe("fresh", game.people[0], **about) is None


@pytest.mark.parametrize("kind", ["turn", "remind"])
def test_a_turn_is_mailed_while_it_is_open(table: Begin, kind: str) -> None:
    game = table(3)
    send_waiting()
    queue(kind, game.people[0], "probe", game_id=game.id, seat=0, seq=1)
    queue(kind, game.people[0], "older", game_id=game.id, seat=0, seq=0)
    queue(kind, game.people[0], "seatless", game_id=game.id, seq=1)
    assert (why(), why("older"), why("seatless")) == (None, "turn_over", "turn_over")
    change(Game, game.id, paused=True)
    assert why() == "turn_over"
    change(Game, game.id, paused=False, status="over")
    assert why() == "turn_over"
    change(Game, game.id, status="running")
    submit(game.id, 0, "pass")
    assert why() == "turn_over"


def test_a_reminder_needs_time_that_runs_and_is_left(table: Begin) -> None:
    game = table(3)
    send_waiting()
    queue("remind", game.people[0], "probe", game_id=game.id, seat=0, seq=1)
    change(Turn, (game.id, 0), due_at=NOW + timedelta(seconds=1))
    assert why() is None
    change(Turn, (game.id, 0), due_at=NOW)
    assert why() == "no_time_left"
    change(Turn, (game.id, 0), due_at=None)
    assert why() == "no_time_left"


def test_the_end_is_told_when_it_has_come(table: Begin) -> None:
    game = table(3)
    about: dict[str, Any] = {"game_id": game.id, "seat": 0, "seq": 1}
    assert probe("over", game.people[0], **about) == "not_over"
    change(Game, game.id, status="over")
    assert why("probe-over") is None


@pytest.mark.parametrize("kind", ["invite", "nudge"])
def test_an_invitation_is_for_who_has_not_answered_it(table: Begin, kind: str) -> None:
    game = table(3)
    queue(kind, game.people[1], "probe", game_id=game.id, seat=1)
    change(Game, game.id, status="inviting")
    assert why() == "invitation_closed"
    change(Seat, (game.id, 1), status="invited")
    assert why() is None
    change(Game, game.id, status="running")
    assert why() == "invitation_closed"
    change(Game, game.id, status="inviting")
    change(Seat, (game.id, 1), person_id=None)
    assert why() == "invitation_closed"


def test_a_game_is_to_be_confirmed_until_it_is(table: Begin) -> None:
    game = table(3)
    queue("confirm", game.people[0], "probe", game_id=game.id)
    assert why() == "confirmation_closed"
    change(Game, game.id, status="asked")
    assert why() is None


@pytest.mark.parametrize("ends", ["revoked_at", "used_at"])
def test_a_sign_in_link_is_mailed_while_it_opens(table: Begin, ends: str) -> None:
    (person, *_) = table(3).people
    with engine.transaction() as session:
        link = links.issue(session, LinkPurpose.SIGNIN, person, NOW, expires_at=NOW + timedelta(seconds=1)).id
    queue("signin", person, "probe", details={"link": link})
    assert why() is None
    change(Link, link, **{ends: NOW})
    assert why() == "link_dead"
    queue("signin", person, "lost", details={"link": 10**6})
    assert why("lost") == "link_dead"


def test_a_link_that_expired_while_its_email_waited_is_mailed(table: Begin) -> None:
    (person, *_) = table(3).people
    with engine.transaction() as session:
        link = links.issue(session, LinkPurpose.SIGNIN, person, NOW - timedelta(hours=2)).id
    queue("signin", person, "probe", details={"link": link})
    assert why() is None


def test_news_about_the_entry_at_which_a_turn_opened_is_not_about_the_turn(table: Begin) -> None:
    game = table(3)
    for kind, found in (("act", False), ("turn", True)):
        queue(kind, game.people[0], kind, game_id=game.id, seat=0, seq=1)
        with engine.reading() as session:
            (mail,) = outbox.find(session, Mail.key == kind)
            assert (relevance.load_rows(session, mail, NOW).turn is not None) == found


def test_a_digest_waits_for_no_other_persons_and_no_sent_one(table: Begin) -> None:
    game = table(3)
    alice, bob = game.people[:2]
    queue("digest", alice, "probe")
    assert why() == "no_digest"
    for person in (alice, bob):
        change(Person, person, cadence="digest")
    queue("digest", bob, "bobs")
    queue("games", alice, "another kind")
    assert (why(), why("bobs")) == (None, "nothing_to_tell")
    queue("digest", alice, "newer")
    assert (why(), why("newer")) == ("newer_digest", None)
    with engine.transaction() as session:
        session.query(Mail).filter_by(key="newer").one().status = "sent"
    assert why() is None


def test_an_answer_knows_the_open_turn_of_its_reader(table: Begin) -> None:
    game = table(3)

    def asked(person: int) -> TurnRow | None:
        with engine.reading() as session:
            (mail,) = outbox.find(session, Mail.key == f"answer-{person}")
            return relevance.load_rows(session, mail, NOW).turn

    for person in game.people:
        queue("answer", person, f"answer-{person}", game_id=game.id, details={"lines": []})
    turn = asked(game.people[0])
    assert turn is not None
    assert (turn.game_id, turn.seat) == (game.id, 0)
    assert asked(game.people[1]) is None
    change(Game, game.id, quarantine=quoted("a fault"))
    assert asked(game.people[0]) is None
    change(Game, game.id, quarantine=None)
    change(Seat, (game.id, 0), status="declined")
    assert asked(game.people[0]) is None


def test_an_answer_while_the_game_is_paused_offers_no_moves(table: Begin) -> None:
    game = table(3)
    the_turn = the_mail(game)
    play.moderate(game.id, "!pause", reason="a look", person_id=outsider(), now=NOW)
    details = {"lines": [{"text": "pass", "done": "", "seq": 0, "order": "", "message": "", "places": {}}]}
    queue("answer", game.people[0], game_id=game.id, seat=0, details=details)
    messages = {
        str(message["Subject"]): text_of(message) for message in send_waiting() if "Alice" in message["To"]
    }
    texts = "\n".join(messages.values())
    assert "It is not your turn now." in texts
    for choice in ("Reply with one of these", "- bid olive1", "?move=", "You can"):
        assert choice not in texts
    with engine.reading() as session:
        turn_mail = session.get_one(Mail, the_turn.id)
        assert (turn_mail.status, turn_mail.error) == ("dropped", Fact("turn_over"))
        assert json.loads(turn_mail.details) == {}
