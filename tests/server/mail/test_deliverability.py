"""Rejected, bounced and unwanted emails: the reason is stored, shown, and told to those in charge of the game."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from sqlalchemy import select

from server.mail import deliverability
from server.mail.outgoing import deliver
from server.mail.outgoing.smtp import PermanentFailure
from server.mail.text import quoted
from server.store import engine, facts, outbox
from server.store.facts import Fact
from server.store.models import Alert, Mail, Person, Turn
from tests.conftest import NOW, Table
from tests.support.mail_servers import Pigeons
from tests.support.mails import change, one_database, post, queue, row, text_of, the_mail

Begin = Callable[..., Table]
pytestmark = one_database
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
GONE = quoted("550 gone")


def alerts() -> list[tuple[str, str, str | None]]:
    """Return the key, the text and the game of each open alert."""
    with engine.reading() as session:
        found = session.scalars(select(Alert).where(Alert.cleared_at.is_(None)).order_by(Alert.id))
        return [(alert.key, str(alert.text), alert.game_id) for alert in found]


def notices(game: Table) -> list[tuple[int, dict[str, Any]]]:
    """Return to whom the failures in a game were told, and what."""
    with engine.reading() as session:
        own = (Mail.kind == "refused", Mail.game_id == game.id)
        found = session.scalars(select(Mail).where(*own).order_by(Mail.person_id))
        return [(mail.person_id, outbox.details(mail)) for mail in found]


def refused(game: Table, seat: int, why: str = "550 5.1.1 no such user") -> Mail:
    """Queue an email to a player, which the mail server rejects."""
    queue("act", game.people[seat], f"refused-{seat}", game_id=game.id, seat=seat, seq=1)
    deliver.deliver(NOW, Pigeons(*[PermanentFailure(why)] * 9))
    with engine.reading() as session:
        return session.query(Mail).filter_by(key=f"refused-{seat}").one()


def test_the_reason_of_a_rejection_is_kept_and_told(table: Begin) -> None:
    game = table(3)
    post()
    mail = refused(game, 1)
    said = quoted("550 5.1.1 no such user")
    assert (mail.status, mail.error) == ("failed", said)
    assert row(Person, game.people[1]).unreachable == said
    rejected = f"The mail server rejects a player’s address: {said}"
    assert alerts() == [(f"refused:{game.id}:{game.people[1]}", rejected, game.id)]
    expected = {"name": "Bob", "error": facts.stored(said), "stopped": False}
    assert notices(game) == [(game.people[0], expected)]
    (message,) = post(NOW + MINUTE)
    assert "The server said: 550 5.1.1 no such user" in text_of(message)
    assert "The clock is stopped" not in text_of(message)


def test_a_reason_of_ours_is_told_in_the_readers_language(table: Begin) -> None:
    game = table(3)
    post()
    change(Person, game.people[0], language="de")
    queue("act", game.people[1], game_id=game.id, seat=1, seq=1)
    deliver.deliver(NOW, Pigeons(PermanentFailure(Fact("bad_address"))))
    (message,) = post(NOW + MINUTE)
    assert "die Adresse ist ungültig" in text_of(message)


def test_those_in_charge_are_not_told_of_their_own_address(table: Begin) -> None:
    game = table(3)
    refused(game, 0)
    assert notices(game) == []
    assert len(alerts()) == 1


def test_a_rejected_mail_about_no_game_is_told_to_nobody(table: Begin) -> None:
    game = table(3)
    post()
    queue("signin", game.people[1], "signin")
    with engine.transaction() as session:
        mail = session.query(Mail).filter_by(key="signin").one()
        deliverability.delivery_failed(session, {}, mail, GONE, NOW)
    assert row(Person, game.people[1]).unreachable == GONE
    assert (alerts(), notices(game)) == ([], [])


def test_a_withheld_turn_stops_and_is_told_once_a_game(table: Begin) -> None:
    game = table(3)
    change(Person, game.people[0], suppressed=GONE)
    with engine.transaction() as session:
        session.get_one(Person, game.people[2]).moderator = True
    post()
    assert row(Turn, (game.id, 0)).refused == GONE
    key = f"refused:{game.id}:{game.people[0]}"
    before = "A player gets no emails because an earlier one was rejected: 550 gone"
    assert alerts() == [(key, before, game.id)]
    told = [(game.people[2], {"name": "Alice", "error": facts.stored(GONE), "stopped": True})]
    assert notices(game) == told
    queue("act", game.people[0], "news", game_id=game.id, seat=0, seq=1)
    queue("remind", game.people[0], "remind", game_id=game.id, seat=0, seq=1)
    change(Turn, (game.id, 0), due_at=NOW + DAY)
    post(NOW + MINUTE)
    assert (notices(game), len(alerts())) == (told, 1)


def test_news_that_is_withheld_is_told_to_nobody(table: Begin) -> None:
    game = table(3)
    post()
    change(Person, game.people[1], suppressed=GONE)
    queue("act", game.people[1], game_id=game.id, seat=1, seq=1)
    assert post(NOW + MINUTE) == []
    assert (alerts(), notices(game)) == ([], [])


# Bounces and complaints


def test_a_bounce_counts_once_and_only_of_a_mail_of_ours(table: Begin) -> None:
    game = table(3)
    mail = the_mail(game)
    post()
    assert deliverability.handle_bounce(10**6, GONE, NOW) is None
    found = deliverability.handle_bounce(mail.id, GONE, NOW + MINUTE)
    assert found is not None
    assert found.id == mail.id
    assert (row(Mail, mail.id).status, row(Mail, mail.id).error) == ("failed", GONE)
    assert row(Person, game.people[0]).suppressed == row(Person, game.people[0]).unreachable == GONE
    assert deliverability.handle_bounce(mail.id, quoted("551 other"), NOW + DAY) is not None
    assert row(Person, game.people[0]).suppressed == GONE
    assert [row(Person, person).suppressed for person in game.people[1:]] == [None, None]


def test_reports_count_for_a_week_after_the_mail_was_sent(table: Begin) -> None:
    game = table(3)
    mail = the_mail(game)
    post()
    late = NOW + deliverability.REPORT_WINDOW
    deliverability.handle_bounce(mail.id, GONE, late)
    deliverability.handle_complaint(mail.id, quoted("abuse"), late)
    assert row(Person, game.people[0]).suppressed is None
    deliverability.handle_bounce(mail.id, GONE, late - timedelta(seconds=1))
    assert row(Person, game.people[0]).suppressed == GONE


def test_a_complaint_suppresses_mail_and_alerts_but_stops_no_clock(table: Begin) -> None:
    game = table(3)
    mail = the_mail(game)
    post()
    assert deliverability.handle_complaint(10**6, GONE, NOW) is None
    assert deliverability.handle_complaint(mail.id, quoted("abuse"), NOW) is not None
    person = row(Person, game.people[0])
    assert (str(person.suppressed), person.unreachable) == ("complaint: abuse", None)
    unwanted = "Someone marked one of our emails as spam and gets no more of them: abuse"
    assert alerts() == [(f"complaint:{game.people[0]}", unwanted, game.id)]
    assert row(Turn, (game.id, 0)).refused is None
    assert row(Mail, mail.id).status == "sent"


def test_a_report_about_a_dropped_mail_counts_for_nothing(table: Begin) -> None:
    game = table(3)
    mail = the_mail(game)
    change(Mail, mail.id, status="dropped", finished_at=NOW)
    deliverability.handle_bounce(mail.id, GONE, NOW)
    deliverability.handle_complaint(mail.id, GONE, NOW)
    assert (row(Mail, mail.id).status, row(Person, game.people[0]).suppressed) == ("dropped", None)


def test_a_newer_copy_excuses_the_older_one_of_the_same_turn_alone(table: Begin) -> None:
    game = table(3)
    first = the_mail(game)
    post()
    about: dict[str, Any] = {"game_id": game.id, "seat": 0}
    queue("turn", game.people[0], "another turn", **about, seq=9)
    queue("act", game.people[0], "another kind", **about, seq=1)
    queue("turn", game.people[1], "another seat", game_id=game.id, seat=1, seq=1)
    queue("turn", game.people[0], "dropped", **about, seq=1)
    with engine.transaction() as session:
        session.query(Mail).filter_by(key="dropped").one().status = "dropped"
        news = session.query(Mail).filter_by(key="another kind").one().id
    queue("turn", game.people[0], "copy", **about, seq=1)
    deliverability.handle_bounce(first.id, GONE, NOW)
    assert row(Mail, first.id).status == "sent"
    with engine.transaction() as session:
        session.delete(session.query(Mail).filter_by(key="copy").one())
    deliverability.handle_bounce(first.id, GONE, NOW)
    assert row(Mail, first.id).status == "failed"
    deliverability.handle_bounce(news, GONE, NOW)
    assert row(Mail, news).status == "failed"


def test_a_reminder_is_excused_by_a_newer_copy_of_its_turns_mail(table: Begin) -> None:
    game = table(3)
    post()
    about: dict[str, Any] = {"game_id": game.id, "seat": 0, "seq": 1}
    queue("remind", game.people[0], "reminder", **about)
    queue("turn", game.people[0], "copy", **about)
    with engine.reading() as session:
        reminder = session.query(Mail).filter_by(key="reminder").one().id
    deliverability.handle_bounce(reminder, GONE, NOW)
    assert row(Person, game.people[0]).suppressed is None
    assert row(Turn, (game.id, 0)).refused is None


# Addresses that work again


def test_an_address_that_works_again_clears_what_was_said_of_it_in_all_its_games(table: Begin) -> None:
    games = [table(3, game_id="one"), table(3, game_id="two")]
    alice, bob = games[0].people[:2]
    for game in games:
        for seat in (0, 1):
            queue("act", game.people[seat], f"{game.id}-{seat}", game_id=game.id, seat=seat, seq=1)
    deliver.deliver(NOW, Pigeons(*[PermanentFailure("550 gone")] * 9))
    with engine.reading() as session:
        failed = session.query(Mail).filter_by(key="one-1").one()
    change(Mail, failed.id, status="sent")
    deliverability.handle_complaint(failed.id, quoted("abuse"), NOW)
    assert len(alerts()) == 5
    assert deliverability.mark_reachable(bob, NOW + MINUTE)
    assert (row(Person, bob).unreachable, row(Person, bob).suppressed) == (None, None)
    assert {key for key, _text, _game in alerts()} == {f"refused:{game.id}:{alice}" for game in games}
    assert row(Person, alice).unreachable == GONE
    assert not deliverability.mark_reachable(bob, NOW + MINUTE)


def test_an_address_that_works_again_is_mailed_its_stopped_turn(table: Begin) -> None:
    game = table(3)
    deliver.deliver(NOW, Pigeons(PermanentFailure("550 gone")))
    assert row(Turn, (game.id, 0)).refused == GONE
    assert deliverability.mark_reachable(game.people[0], NOW + MINUTE)
    assert row(Turn, (game.id, 0)).refused is None
    texts = [text_of(message) for message in post(NOW + MINUTE) if "Alice" in message["To"]]
    assert any("Bid for the lot, or pass." in text for text in texts)
    assert row(Turn, (game.id, 0)).started_at == NOW + MINUTE


def test_an_address_is_mended_whichever_way_it_failed(table: Begin) -> None:
    game = table(3)
    for fault in ("unreachable", "suppressed"):
        change(Person, game.people[0], **{fault: GONE})
        assert deliverability.mark_reachable(game.people[0], NOW)
        assert getattr(row(Person, game.people[0]), fault) is None
