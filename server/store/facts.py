"""Stored facts: a code with its values, rendered as a sentence in the reader's language."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from flask_babel import gettext
from sqlalchemy import Dialect, Text
from sqlalchemy.types import TypeDecorator

from server import i18n
from server.i18n import N_

SENTENCES = {
    "text": "%(text)s",  # another program's words, verbatim
    # Alerts, and why a game is in quarantine
    "address_refused": N_("The mail server rejects a player’s address: %(said)s"),
    "address_silent": N_("A player’s mail server did not take an email in time: %(said)s"),
    "address_failed_before": N_("A player gets no emails because an earlier one was rejected: %(said)s"),
    "mail_unwanted": N_("Someone marked one of our emails as spam and gets no more of them: %(said)s"),
    "mail_blocked": N_(
        "A mail server refuses our emails because of this server, not of their reader: %(said)s"
    ),
    "mail_settings": N_("The mail server rejects our settings: %(said)s"),
    "mail_late": N_("An email (%(kind)s) has been waiting since %(at)s UTC: %(said)s"),
    "clock_jumped": N_(
        "The server’s clock jumped. All deadlines are suspended until it is correct: see byzanz doctor."
    ),
    "clock_ahead": N_(
        "The clock of the machine %(machine)s is %(seconds)s seconds ahead of the database’s. "
        "Its processes do nothing until it is right."
    ),
    "clock_behind": N_(
        "The clock of the machine %(machine)s is %(seconds)s seconds behind the database’s. "
        "Its processes do nothing until it is right."
    ),
    "database_clock": N_(
        "The clocks of the database and of all processes (%(machines)s) differ by %(seconds)s seconds. "
        "Set the one that is wrong. Until then nobody can move and no email is sent."
    ),
    "many_invitations": N_(
        "Too many emails went to new addresses within an hour (limit: %(most)s). "
        "Further ones wait until the hour is over, and newcomers get no sign-in links meanwhile."
    ),
    "game_rests": N_("A game is paused because nobody in it is responding."),
    "word_reported": N_("A player reported what was said at a table (number %(number)s)."),
    "seat_left": N_("A player has left their game: give the seat to someone else."),
    "seat_lost": N_("Email to a player has failed for 72 hours; the server is playing for them."),
    "log_behind": N_(
        "An email quotes entry %(seq)s with the hash %(hash)s of game %(game)s, which its log does not have: "
        "was an older backup restored?"
    ),
    "no_rules": N_("The rules of %(game)s (version %(version)s) are not installed on this server."),
    "play_failed": N_("%(fault)s while the server or a bot was playing for a seat"),
    # Outcomes of incoming email
    "in_hand": N_("being processed"),
    "ignored": N_("ignored: %(why)s"),
    "unsubscribed": N_("emails stopped at their reader’s request"),
    "another_address": N_("from a different address"),
    "carried_out": N_("%(done)s of %(of)s lines carried out"),
    "said": N_("words said to the table"),
    "not_said": N_("words not said to the table"),
    "with_words": "%(lines)s; %(words)s",
    "failed": N_("failed: %(said)s"),
    "expired": N_("not delivered in time: %(said)s"),
    "blocked": N_("refused because of this server: %(said)s"),
    "delayed": N_("delayed: %(said)s"),
    "complaint": N_("complaint: %(said)s"),
    "nothing": N_("no action taken: %(said)s"),
    # Why it was ignored
    "ours": N_("it is one of our own emails"),
    "too_big": N_("too big"),
    "no_sender": N_("it has no sender to reply to"),
    "automatic": N_("it was sent automatically: %(said)s"),
    "bulk": N_("it is bulk email"),
    "machine": N_("it was sent by a program"),
    "report": N_("it is a delivery report"),
    "automatic_subject": N_("its subject is that of an automatic reply"),
    # What a report says that has no words of its own
    "not_delivered": N_("the email was not delivered"),
    "tried_again": N_("not delivered in time, next attempt %(at)s UTC: %(said)s"),
    "refuses_us": N_("the mail server refuses emails from this server, next attempt %(at)s UTC: %(said)s"),
    "mail_delayed": N_("the email is delayed"),
    "no_failure": N_("the report does not mention a failure"),
    "no_report": N_("it contains no report"),
    "dkim": N_("DKIM of %(domain)s: %(said)s"),
    # Why a mail was not sent
    "no_address": N_("the person no longer has an address"),
    "silent": N_("the person has turned off emails"),
    "silent_here": N_("the person has turned off emails about this game"),
    "no_invitations": N_("the person wants no invitations"),
    "no_player_news": N_("the person wants no emails about the players of their games"),
    "not_seated": N_("the person no longer has this seat"),
    "has_left": N_("the person has left the game"),
    "turn_over": N_("the turn is over"),
    "no_time_left": N_("it is too late for a reminder"),
    "not_over": N_("the game is not over"),
    "invitation_closed": N_("the invitation has been answered or withdrawn"),
    "confirmation_closed": N_("the game has been confirmed or called off"),
    "table_closed": N_("the table no longer waits for players"),
    "link_dead": N_("the link has been used or has expired"),
    "no_digest": N_("the person no longer wants the daily email"),
    "newer_digest": N_("a newer daily email is waiting"),
    "nothing_to_tell": N_("it is not the person’s turn in any game"),
    "no_talk": N_("the person does not want table talk at once any more"),
    "words_read": N_("the person has read the words, or may not read them any more"),
    "told_by_another": N_("another email already says this"),
    # Why it was not handed over
    "quarantined": N_("the game is on hold"),
    "connection_lost": N_("connection lost: %(said)s"),
    "no_connection": N_("no connection: %(said)s"),
    "ascii_only": N_("the mail server does not accept non-ASCII addresses"),
    "bad_address": N_("the address is not valid"),
    # Why a standing order has ended; beside these, a rule's message is its own code
    "game_over": N_("The game is over."),
    "left_game": N_("You have left the game."),
    "seat_replaced": N_("Someone else has taken the seat."),
}
"""The sentence for each code, with placeholders for its values."""


@dataclass(frozen=True, slots=True)
class Fact:
    """An event or a reason; `str` gives it in English, `sentence` in the reader's language.

    Args:
        code: a key of SENTENCES, or a message of the rules itself.
        values: texts, numbers or facts for the placeholders of the sentence.
    """

    code: str
    values: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        return _sentence(self, str)


def sentence(fact: Fact | None) -> str:
    """Return a fact in the language of this page or email; an empty text for None."""
    return _sentence(fact, gettext) if fact else ""


def _sentence(fact: Fact, translated: Callable[[str], str]) -> str:
    text = translated(SENTENCES.get(fact.code, fact.code))
    values = {
        name: _sentence(value, translated) if isinstance(value, Fact) else value
        for name, value in fact.values.items()
    }
    return text % values if values else text


def stored(fact: Fact) -> dict[str, Any]:
    """Return a fact as a JSON object."""
    values = {
        name: stored(value) if isinstance(value, Fact) else value if isinstance(value, int) else str(value)
        for name, value in fact.values.items()
    }
    return {"code": fact.code, "values": values}


def read(found: Mapping[str, Any]) -> Fact:
    """Return the fact from a JSON object that `stored` made."""
    values = {
        name: read(value) if isinstance(value, dict) else value for name, value in found["values"].items()
    }
    return Fact(found["code"], values)


class FactColumn(TypeDecorator[Fact]):
    """A fact as canonical JSON."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Fact | None, _dialect: Dialect) -> str | None:
        return None if value is None else json.dumps(stored(value), sort_keys=True, separators=(",", ":"))

    def process_result_value(self, value: str | None, _dialect: Dialect) -> Fact | None:
        return None if value is None else read(json.loads(value))


# ---- notes of log entries ----
# They are stored in English (docs/formats.md §2) and recognised by matching them against the known sentences. When a
# sentence is reworded, its old version stays here as well, so that older logs can still be translated.

KEPT = "kept"
"""The comment in the catalogues that marks the sentences of notes."""
_PLACE = re.compile(r"%\((\w+)\)[sd]")


def kept(sentence: str) -> str:
    """Mark a sentence as a note of the log; `OrderAnswer` marks those of standing orders."""
    return sentence


MISSED = kept("Two decisions in a row were not answered in time.")
UNREACHED = kept("No mail has reached this player for 72 hours.")
CLOCK_GOES_ON = kept("Mail to this player keeps coming back. From now on their clock runs nevertheless.")
NOBODY = kept("Nobody at this table answers any more.")


def translated(note: str) -> str:
    """Translate a note into the language of this page or email; a moderator's words stay as they are.

    Args:
        note: a sentence of the server with its placeholders filled, or a moderator's words.
    """
    language = i18n.current_language()
    for pattern, sentence in _sentences(language):
        if match := pattern.fullmatch(note):
            found: str = i18n.translations(language).gettext(sentence)
            return found % match.groupdict() if match.groupdict() else found
    return note


@cache
def _sentences(language: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    """The sentences of notes with their patterns, the longest first; none for English."""
    if language == i18n.DEFAULT:
        return ()
    marked = [str(message.id) for message in i18n.catalogue(language) if KEPT in message.auto_comments]
    marked.sort(key=lambda sentence: (-len(_PLACE.sub("", sentence)), sentence))
    return tuple((_pattern(sentence), sentence) for sentence in marked)


def _pattern(sentence: str) -> re.Pattern[str]:
    """The pattern of a sentence with filled placeholders; one that occurs twice must have the same value."""
    found, parts = set(), _PLACE.split(sentence)
    for at in range(1, len(parts), 2):
        name = parts[at]
        parts[at] = f"(?P={name})" if name in found else f"(?P<{name}>.*)"
        found.add(name)
    parts[::2] = [re.escape(part.replace("%%", "%")) for part in parts[::2]]
    return re.compile("".join(parts), re.DOTALL)
