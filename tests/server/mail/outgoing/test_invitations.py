"""Invitations by email: who sits there, how to decline, and what happens if one does nothing."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import pytest
from flask.testing import FlaskClient

from server.lobby import invitations
from server.mail.outgoing import view
from tests.conftest import NOW
from tests.support.lobby import BOB, invited, token
from tests.support.mails import html_of, one_database, send_waiting, text_of, words_of

pytestmark = [one_database, pytest.mark.usefixtures("app")]


def to_charlie(now: datetime = NOW) -> tuple[str, str]:
    """Return text and HTML of the only email to Charlie."""
    (mail,) = [mail for mail in send_waiting(now) if "charlie@" in mail["To"]]
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
        assert "Please answer by 4 Mar. After that, Alice may start without you." in part
        assert (
            "If you do not answer, you get one reminder. If you do not know Alice, ignore this email." in part
        )
    assert html.count('class="button"') == 1
    (page,) = re.findall(r'<a class="button"[^>]* href="([^"]+)"', html)
    assert re.findall(r'<a class="button second bare-link"[^>]* href="([^"]+)"', html) == [f"{page}#decline"]
    assert f"No, thank you:\n{page}#decline\n" in text


def test_a_reminder_tells_the_same_and_promises_no_other() -> None:
    game_id, _host = invited(NOW)
    invitations.decline(token("invite", BOB, game_id, NOW), NOW)
    send_waiting(NOW)
    later = NOW + invitations.REMIND_INVITATION_AFTER + timedelta(minutes=1)
    invitations.send_invitation_reminders(later)
    text, html = to_charlie(later + timedelta(minutes=5))
    assert facts(text)["Players"].strip() == "Alice, Bob (declined), Charlie (you)"
    assert "\nAlice may start without you.\n" in text
    assert "Please answer by" not in text
    assert "reminder" not in text
    assert 'class="facts"' in html


def test_the_day_that_an_invitation_names_is_that_of_the_reminder() -> None:
    assert invitations.REMIND_INVITATION_AFTER == view.ANSWER_WITHIN


def test_the_link_to_decline_leads_to_the_form_that_does(client: FlaskClient) -> None:
    game_id, _host = invited(NOW)
    page = client.get(f"/i/{token('invite', BOB, game_id, NOW)}").text
    assert re.search(r'<form method="post" id="decline">', page)
