"""How long emails are kept: emptied once they are finished, deleted a month after their games have ended."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, select

from server.mail.text import quoted
from server.store import engine, outbox, people
from server.store.models import Game, Mail
from server.store.statements import MailRow
from tests.conftest import NOW, Table
from tests.support.games import change
from tests.support.mails import queue, send_waiting, statuses
from tests.support.neighbour_game import elsewhere

Begin = Callable[..., Table]
SECOND, DAY = timedelta(seconds=1), timedelta(days=1)
MONTH = outbox.RETENTION
WHY = quoted("550 no such user")


@pytest.fixture
def game(table: Begin) -> Table:
    """Return a game whose first turn was emailed at NOW."""
    begun = table(3)
    send_waiting()
    return begun


def end(game: Table, days: int) -> None:
    """End a game some days after NOW."""
    change(Game, game.id, status="over", ended_at=NOW + days * DAY)


def keys() -> set[str]:
    """Return the keys of the emails that are kept."""
    return set(statuses())


def newest(game: Table) -> None:
    """Queue an email that is never sent, for the newest one is always kept."""
    queue("newest", game.people[0], "newest", delay=10**9)


def highest_id() -> int:
    with engine.reading() as session:
        return session.scalar(select(func.max(Mail.id))) or 0


# What is emptied


def mark_sent(mail: MailRow) -> None:
    with engine.transaction() as session:
        assert outbox.mark_sent(session, mail, NOW)


def dropped(mail: MailRow) -> None:
    with engine.transaction() as session:
        assert outbox.mark_dropped(session, mail, NOW, WHY)


def failed(mail: MailRow) -> None:
    with engine.transaction() as session:
        assert outbox.mark_failed(session, mail, NOW, WHY)


def bounced(mail: MailRow) -> None:
    with engine.transaction() as session:
        outbox.mark_bounced(session, mail, NOW, WHY)


def merged(mail: MailRow) -> None:
    with engine.transaction() as session:
        outbox.mark_merged(session, [mail.id], NOW)


def tried(mail: MailRow) -> None:
    with engine.transaction() as session:
        assert outbox.retry_later(session, mail, NOW, WHY, 0.5)


def test_a_sent_mail_of_a_game_keeps_neither_its_mailer_nor_a_date_until_a_month_after_the_end(
    game: Table,
) -> None:
    newest(game)
    end(game, days=0)
    outbox.purge(NOW + MONTH - SECOND)
    with engine.reading() as session:
        mails = session.scalars(select(Mail).where(Mail.game_id == game.id)).all()
        assert [(mail.leased_by, mail.delete_at) for mail in mails] == [(None, None)]


@pytest.mark.parametrize(("end", "kind", "left"), [
    (mark_sent, "signin", {}),
    (dropped, "act", {}),
    (failed, "answered", {}),
    (bounced, "refused", {}),
    (merged, "timeout", {}),
    (tried, "refused", {"name": "Bob"}),
    (mark_sent, "confirm", {"name": "Bob"}),
    (mark_sent, "digest", {"name": "Bob"}),
])  # fmt: skip
@pytest.mark.usefixtures("app")
def test_what_only_its_template_needed_is_emptied_once_a_mail_is_finished(
    end: Callable[[MailRow], None], kind: str, left: dict[str, Any]
) -> None:
    with engine.transaction() as session:
        person = people.get_or_create(session, "ann@example.org", "Ann", NOW).id
    queue(kind, person, "a", details={"name": "Bob"})
    queue(kind, person, "b", details={"name": "Bob"})
    mail = next(each for each in outbox.lease(NOW, 2) if each.key == "a")
    end(mail)
    with engine.reading() as session:
        found = session.scalars(select(Mail).where(elsewhere(Mail)).order_by(Mail.key))
        assert [json.loads(each.details) for each in found] == [left, {"name": "Bob"}]


# What is deleted


def test_a_mail_without_a_game_is_deleted_a_month_after_it_was_sent(game: Table) -> None:
    queue("games", game.people[0], "games")
    send_waiting(NOW)
    newest(game)
    assert outbox.purge(NOW + MONTH - SECOND) == 0
    assert outbox.purge(NOW + MONTH) == 1
    assert keys() == {"newest", f"turn:{game.id}:0:1"}


def test_a_mail_about_a_game_is_deleted_a_month_after_the_game_has_ended(game: Table, table: Begin) -> None:
    other = table(3, "g2")
    send_waiting()
    newest(game)
    assert outbox.purge(NOW + 9 * MONTH) == 0
    end(game, days=5)
    assert outbox.purge(NOW + 5 * DAY) == 0
    assert outbox.purge(NOW + 5 * DAY + MONTH - SECOND) == 0
    assert outbox.purge(NOW + 5 * DAY + MONTH) == 1
    assert keys() == {"newest", f"turn:{other.id}:0:1"}


def test_a_mail_finished_after_its_game_has_ended_is_deleted_a_month_later(game: Table) -> None:
    queue("act", game.people[1], "late", game_id=game.id, seat=1, seq=1)
    newest(game)
    end(game, days=0)
    assert outbox.purge(NOW + MONTH) == 1
    assert keys() == {"late", "newest"}
    send_waiting(NOW + 2 * MONTH)
    assert statuses()["late"] == "sent"
    assert outbox.purge(NOW + 3 * MONTH - SECOND) == 0
    assert outbox.purge(NOW + 3 * MONTH) == 1


def test_a_game_that_was_called_off_counts_as_ended(game: Table) -> None:
    newest(game)
    change(Game, game.id, status="cancelled", ended_at=NOW)
    assert outbox.purge(NOW + MONTH) == 1


def test_the_newest_mail_stays_so_that_no_id_is_given_twice(game: Table) -> None:
    end(game, days=0)
    last = highest_id()
    assert outbox.purge(NOW + MONTH) == 0
    newest(game)
    assert highest_id() > last
    assert outbox.purge(NOW + MONTH) == 1


def test_a_little_is_deleted_at_a_time(game: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(8):
        queue("games", game.people[0], f"games{number}")
        queue("act", game.people[0], f"act{number}", game_id=game.id)
    send_waiting()
    newest(game)
    end(game, days=0)
    monkeypatch.setattr(outbox, "DELETED_AT_ONCE", 2)
    monkeypatch.setattr(outbox, "BATCHES", 3)
    assert outbox.purge(NOW + MONTH) == 6
    assert sum(outbox.purge(NOW + MONTH) for _ in range(9)) == 11
    assert keys() == {"newest"}
