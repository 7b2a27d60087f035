"""Stored facts: a code with its values, rendered as a sentence in the reader's language."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from flask_babel import gettext
from sqlalchemy import Dialect, Text
from sqlalchemy.types import TypeDecorator

from server.i18n import N_

SENTENCES = {
    "text": "%(text)s",  # another program's words, verbatim
    # Alerts, and why a game is in quarantine
    "address_refused": N_("The address of a player is refused: %(said)s"),
    "address_failed_before": N_("A player gets no mail, for his address did not take it before: %(said)s"),
    "mail_unwanted": N_("A person has marked a mail of ours as unwanted and gets none any more: %(said)s"),
    "mail_settings": N_("The mail server objects to our settings: %(said)s"),
    "mail_late": N_("A mail (%(kind)s) waits since %(at)s UTC: %(said)s"),
    "clock_jumped": N_(
        "The clock of the machine jumped. Nobody is played for until it is right: see byzanz doctor."
    ),
    "game_rests": N_("A game rests, for nobody in it answers."),
    "seat_left": N_("A player has left his game: give his seat to somebody else."),
    "seat_lost": N_("No mail has reached a player for 72 hours; the server plays for him."),
    "play_failed": N_("%(fault)s when the server or a bot was to play for a seat"),
    # What became of a mail that came in
    "in_hand": N_("in hand"),
    "ignored": N_("ignored: %(why)s"),
    "another_address": N_("from another address"),
    "carried_out": N_("%(done)s of %(of)s lines carried out"),
    "failed": N_("failed: %(said)s"),
    "delayed": N_("delayed: %(said)s"),
    "complaint": N_("complaint: %(said)s"),
    "nothing": N_("nothing: %(said)s"),
    # Why it was ignored
    "ours": N_("it is a mail of ours"),
    "too_big": N_("too big"),
    "no_sender": N_("it has no sender to answer to"),
    "automatic": N_("it was sent automatically: %(said)s"),
    "bulk": N_("it is bulk mail"),
    "machine": N_("a machine has sent it"),
    "report": N_("it is a report"),
    "automatic_subject": N_("its subject is that of an automatic answer"),
    # What a report says that has no words of its own
    "not_delivered": N_("the mail was not delivered"),
    "mail_delayed": N_("the mail is delayed"),
    "no_failure": N_("a report that says nothing of a failure"),
    "no_report": N_("no report"),
    # Why a mail was not sent
    "no_address": N_("the person has no address any more"),
    "silent": N_("the person wants no mail"),
    "silent_here": N_("the person wants no mail about this game"),
    "not_seated": N_("the person sits there no more"),
    "has_left": N_("the person has left the game"),
    "turn_over": N_("the turn is over"),
    "no_time_left": N_("there is no time left to remind of"),
    "not_over": N_("the game is not over"),
    "invitation_closed": N_("the invitation is answered or withdrawn"),
    "confirmation_closed": N_("the game is confirmed or called off"),
    "link_dead": N_("the link is used or has expired"),
    "no_digest": N_("the person wants no digest any more"),
    "newer_digest": N_("a newer digest waits"),
    "nothing_to_tell": N_("no game awaits the person"),
    "told_by_another": N_("another mail has told it"),
    # Why it was not handed over
    "quarantined": N_("the game is set aside"),
    "connection_lost": N_("connection lost: %(said)s"),
    "no_connection": N_("no connection: %(said)s"),
    "ascii_only": N_("the mail server takes no addresses with letters beyond ASCII"),
    "bad_address": N_("no mail server can have this address"),
    # Why a standing order has ended; beside these, a rule's message is its own code
    "game_over": N_("The game is over."),
    "left_game": N_("You have left the game."),
    "seat_replaced": N_("Somebody else has taken the seat."),
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
    """A fact as canonical JSON; any other text, from before facts were stored as JSON, is read verbatim."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Fact | None, dialect: Dialect) -> str | None:
        return None if value is None else json.dumps(stored(value), sort_keys=True, separators=(",", ":"))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Fact | None:
        if value is None:
            return None
        if not value.startswith('{"code":'):
            return Fact("text", {"text": value})
        return read(json.loads(value))
