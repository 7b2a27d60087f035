"""Invitations by email: who sits there, how to decline, and what happens if one does nothing."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from server.lobby import invitations, organiser
from tests.conftest import NOW
from tests.support.invitations import BOB, invited, token
from tests.support.mails import html_of, one_database, post, text_of, words_of

pytestmark = [one_database, pytest.mark.usefixtures("app")]


def to_charlie(now: datetime = NOW) -> tuple[str, str]:
    """Return text and HTML of the only email to Charlie."""
    (mail,) = [mail for mail in post(now) if "charlie@" in mail["To"]]
    return text_of(mail), html_of(mail)


def facts(text: str) -> dict[str, str]:
    """Return the facts of an invitation; each begins in the same column."""
    lines = [line for line in text.split("\n") if line.startswith(("Players:", "Length:", "Pace:"))]
    assert {line[10] != " " and line[9] == " " for line in lines} == {True}
    return dict(line.split(":", 1) for line in lines)


def test_an_invitation_tells_who_sits_there_and_what_follows_from_no_answer() -> None:
    invited(NOW, free=1, listed=True)
    text, html = to_charlie()
    assert facts(text)["Players"].strip() == "Alice, Bob (invited), Charlie (you), Free seat"
    shown = words_of(html)
    assert "Players: Alice, Bob (invited), Charlie (you), Free seat" in shown
    for part in (" ".join(text.split()), shown):
        assert "You accept or decline on the page of the invitation." in part
        assert (
            "If you do nothing, you get a reminder after two days, and Alice may start without you." in part
        )
    assert html.count('class="button"') == 1


def test_a_reminder_tells_the_same_and_promises_no_other() -> None:
    game_id, _host = invited(NOW)
    invitations.decline(token("invite", BOB, game_id, NOW), NOW)
    post(NOW)
    later = NOW + organiser.NUDGE_AFTER + timedelta(minutes=1)
    organiser.send_nudges(later)
    text, html = to_charlie(later + timedelta(minutes=5))
    assert facts(text)["Players"].strip() == "Alice, Bob (declined), Charlie (you)"
    assert "If you do nothing, Alice may start without you." in " ".join(text.split())
    assert 'class="facts"' in html
