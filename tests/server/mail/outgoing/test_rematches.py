"""The next game of the same people in emails: where its button stands, and what its invitations say."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from email.message import EmailMessage

import pytest

from server.lobby import invitations, rematch
from server.store import engine, links, people
from server.store.models import LinkPurpose, Person
from server.validation import Guest
from tests.conftest import NOW, Table
from tests.support.games import change
from tests.support.lobby import ended
from tests.support.mails import html_of, send_waiting, text_of, words_of

Begin = Callable[..., Table]
pytestmark = [pytest.mark.usefixtures("app"), pytest.mark.empty_database]
DAY = timedelta(days=1)


def only_mail_to(name: str, sent: list[EmailMessage]) -> EmailMessage:
    """Return the only email to somebody."""
    found = [mail for mail in sent if mail["To"].addresses[0].addr_spec == f"{name}@example.org"]
    assert len(found) == 1, [text_of(mail) for mail in found]
    return found[0]


def speak(language: str, *people_: int) -> None:
    for number in people_:
        change(Person, number, language=language)


AGAIN = {
    "en": "Play again with the same people:",
    "de": "Noch einmal mit denselben Leuten:",
    "nl": "Nog een keer met dezelfde mensen:",
}


@pytest.mark.parametrize("language", AGAIN)
def test_the_email_about_the_end_leads_to_the_button(table: Begin, language: str) -> None:
    game = table(3)
    speak(language, *game.people)
    send_waiting(NOW)
    ended(lambda *_: game, 3)
    mail = only_mail_to("bob", send_waiting(NOW))
    page = f"https://byzanz.test/t/{game.tokens[1]}#again"
    assert f"{AGAIN[language]}\n{page}\n" in text_of(mail)
    assert f'href="{page}"' in html_of(mail)
    assert AGAIN[language].rstrip(":") in words_of(html_of(mail))
    assert "<form" not in html_of(mail)


def test_against_bots_it_has_another_name(table: Begin) -> None:
    game = table(3)
    send_waiting(NOW)
    ended(lambda *_: game, 3, ("greedy", "greedy"))
    assert "Play again:\n" in text_of(only_mail_to("alice", send_waiting(NOW)))


FIRST = {
    "en": "Again? The last game of this table was “The Golden Horn”.",
    "de": "Noch einmal? Das letzte Spiel an diesem Tisch war „The Golden Horn“.",
    "nl": "Nog een keer? Het vorige spel aan deze tafel was “The Golden Horn”.",
}


@pytest.mark.parametrize("language", FIRST)
def test_its_invitation_begins_with_the_question(table: Begin, language: str) -> None:
    game = ended(table, 3)
    speak(language, *game.people)
    send_waiting(NOW)
    rematch.again(game.id, game.people[0], NOW)
    sent = send_waiting(NOW)
    assert {mail["To"].addresses[0].addr_spec for mail in sent} == {"bob@example.org", "charlie@example.org"}
    mail = only_mail_to("bob", sent)
    assert text_of(mail).split("\n")[0] == FIRST[language]
    assert FIRST[language] in words_of(html_of(mail))
    assert "The Golden Horn (2)" in text_of(mail).split("\n")[2]


def test_those_who_were_not_there_are_not_asked_again(table: Begin) -> None:
    game = ended(table, 3)
    made = rematch.again(game.id, game.people[0], NOW)
    assert made.link is not None
    send_waiting(NOW)
    number = next(n for n in range(3) if n != 1)  # Alice sits on seat 1
    invitations.reinvite(links.token(made.link), number, Guest("Zoe", "zoe@example.org"), NOW)
    assert text_of(only_mail_to("zoe", send_waiting(NOW))).startswith("Alice invites you to a game of Byzanz")


OWN = {
    "en": "Your table keeps going: the next game of Byzanz is “The Golden Horn (2)”. The others are invited too.",
    "de": "Dein Tisch spielt weiter: Die nächste Partie Byzanz heißt „The Golden Horn (2)“. Die anderen sind auch "
    "eingeladen.",
    "nl": "Je tafel speelt door: het volgende spel Byzanz heet “The Golden Horn (2)”. De anderen zijn ook uitgenodigd.",
}


@pytest.mark.parametrize("language", OWN)
def test_organisers_do_not_invite_themselves(table: Begin, language: str) -> None:
    game = ended(table, 3, keep_going=True)
    speak(language, *game.people)
    send_waiting(NOW)
    rematch.offer(game.id, NOW + DAY)
    sent = send_waiting(NOW + DAY)
    assert len(sent) == 3
    assert OWN[language] in text_of(only_mail_to("alice", sent))
    assert OWN[language] not in text_of(only_mail_to("bob", sent))


ENDS = {
    "en": "This table no longer keeps going: after this game, no other will be offered automatically.",
    "de": "Dieser Tisch spielt nicht weiter: Nach diesem Spiel wird von selbst kein weiteres angeboten.",
    "nl": "Deze tafel speelt niet door: na dit spel wordt er niet vanzelf nog een aangeboden.",
}


@pytest.mark.parametrize("language", ENDS)
def test_the_organiser_learns_that_the_table_ends(table: Begin, language: str) -> None:
    game = ended(table, 3, keep_going=True)
    speak(language, *game.people)
    rematch.offer(game.id, NOW + DAY)
    send_waiting(NOW + DAY)
    with engine.transaction() as session:
        found = rematch.next_game(session, game.id)
        assert found is not None
        bob = people.find(session, "bob@example.org")
        assert bob is not None
        token = links.token(links.link_for(session, LinkPurpose.INVITE, bob.id, found.id, NOW))
    invitations.decline(token, NOW + DAY)
    mail = only_mail_to("alice", send_waiting(NOW + DAY))
    assert ENDS[language] in text_of(mail)
    assert text_of(mail).count("Bob") == 1
