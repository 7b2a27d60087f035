"""The template context of a mail: rows, views and log entries as its reader may know them, and links."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from flask_babel import gettext
from sqlalchemy.orm import Session

from byzanz import record
from byzanz.games import rules_of
from byzanz.rules import PUBLIC
from server.config import settings
from server.mail.outgoing import batching, digest, relevance
from server.mail.outgoing.relevance import MailRows
from server.mail.text import one_line
from server.play import history, notes, positions, turns
from server.store import facts, links, log, outbox, standing_orders
from server.store.models import Game, Link, Mail, Person

PURPOSES: dict[str, links.Purpose] = {
    "turn": "seat",
    "remind": "seat",
    "timeout": "seat",
    "over": "seat",
    "act": "seat",
    "replaced": "seat",
    "autopilot": "seat",
    "left": "seat",
    "invite": "invite",
    "nudge": "invite",
    "confirm": "organise",
    "answered": "organise",
    "answer": "seat",
}
"""Which of its reader's links each kind of mail carries."""
EXAMPLES = 3
"""How many example replies a turn mail shows."""
LONGEST_EXAMPLE = 60
"""Characters that mail clients leave on one line."""
LEGAL_MOVES = 40
"""How many moves a reply to a mail lists at most; the page has all of them."""
LOG_LINES = 40
"""How many log entries one mail shows at most; the page has all of them."""


@dataclass(frozen=True, slots=True)
class MailLinks:
    """The addresses that a mail carries; None where it has none."""

    link: str | None
    stop: str | None
    reply: str | None = None
    """The email address to which moves are sent."""
    seats: Mapping[str, str] = field(default_factory=dict)
    """By game, for a mail that lists several."""


def issue_links(session: Session, rows: MailRows, now: datetime) -> MailLinks:
    """Return the links of a mail; call it in a writing transaction, since missing ones are created."""
    seats = {
        game.id: _seat_link(session, rows, game, now)
        for game, _, _ in digest.listed_turns(session, rows.mail.kind, rows.person.id)
    }
    return MailLinks(
        _link(session, rows, now),
        _unsubscribe_link(session, rows, now),
        _reply_address(session, rows, now),
        seats,
    )


def _seat_link(session: Session, rows: MailRows, game: Game, now: datetime) -> str:
    return links.url(links.link_for(session, "seat", rows.person.id, game.id, now))


def _link(session: Session, rows: MailRows, now: datetime) -> str | None:
    given = outbox.details(rows.mail)
    if "link" in given:
        return links.url(session.get_one(Link, given["link"]))
    if rows.game is None:
        return None
    purpose = PURPOSES.get(rows.mail.kind)
    if rows.mail.kind == "fresh":
        purpose = given.get("purpose", "seat")
    if rows.mail.kind in relevance.ABOUT_OTHERS and rows.person.id == rows.game.organiser_id:
        purpose = "organise"
    if purpose is None:
        return None
    return links.url(links.link_for(session, purpose, rows.person.id, rows.game.id, now))


def _unsubscribe_link(session: Session, rows: MailRows, now: datetime) -> str | None:
    """Return the link that stops the mails of a game to a seated or invited reader; for a digest, all mails."""
    if rows.mail.kind == "digest":
        return links.url(links.link_for(session, "stop", rows.person.id, None, now))
    if rows.game is None or rows.seat is None:
        return None
    return links.url(links.link_for(session, "stop", rows.person.id, rows.game.id, now))


def _reply_address(session: Session, rows: MailRows, now: datetime) -> str | None:
    """Return the reply address: for the open turn, else, in an answer to a mail, the one that mail was sent to."""
    if not settings().mail_domain or rows.game is None or rows.seat is None:
        return None
    if rows.turn is not None:
        turn = rows.turn
        return links.reply_address(
            links.link_for(session, "reply", rows.person.id, rows.game.id, now, turn.opened_seq)
        )
    used = session.get(Link, outbox.details(rows.mail).get("reply", 0))
    return links.reply_address(used) if used and used.revoked_at is None else None


def turn_times(session: Session, rows: MailRows, now: datetime) -> turns.Times | None:
    """Return the turn's deadlines: as if a turn mail were accepted now, else as its clock runs."""
    if rows.turn is None or rows.game is None:
        return None
    if rows.turn.started_at is None and rows.mail.kind != "answer":
        return turns.times_if_started(session, rows.game, rows.turn, now)
    return turns.times(session, rows.game, rows.turn)


def template_context(
    session: Session, rows: MailRows, mail_links: MailLinks, times: turns.Times | None
) -> dict[str, Any]:
    """Build the context for a mail's templates; of a game it holds only what the reader may know."""
    context: dict[str, Any] = {
        "kind": rows.mail.kind,
        "name": one_line(rows.person.name),
        "details": _details(rows.mail),
        "link": mail_links.link,
        "stop": mail_links.stop,
        "reply": mail_links.reply,
        "base_url": settings().base_url,
        "zone": rows.person.time_zone or (rows.game.time_zone if rows.game else "UTC"),
        "own_zone": rows.person.time_zone is not None,
        "times": times,
    }
    if rows.game is not None:
        context |= _game_context(session, rows, rows.game)
    if rows.turn is not None and rows.game is not None:
        context |= _turn_context(session, rows.game, rows.turn.seat)
        context["examples"] = examples(context["moves"], context["fallback"])
        context["chosen"] = {
            move: f"{mail_links.link}?{urlencode({'move': move})}" for move in context["examples"]
        }
    if rows.mail.kind == "answer":
        context |= _answer_context(session, rows)
    return context | _merged(session, rows, context)


def _merged(session: Session, rows: MailRows, context: dict[str, Any]) -> dict[str, Any]:
    """Return the entries that a mail and those merged into it are about, and the ids of the merged mails."""
    merged, mail = batching.mergeable(session, rows.mail), rows.mail
    if mail.kind == "turn":  # it does not contain the news of entries that it leaves out
        first = context["entries"][0].seq if context["entries"] else mail.seq
        merged = [other for other in merged if other.seq and first and other.seq >= first]
    more: dict[str, Any] = {"merged": tuple(other.id for other in merged)}
    if mail.kind == "answered":
        more["answers"] = [_details(other) for other in (*merged, mail)]
    elif rows.game is not None and mail.kind in ("timeout", "autopilot", "act", "over"):
        reported = [*merged, mail] if mail.kind != "over" else merged
        stretches = [_entries_about(session, rows.game, other) for other in reported if other.seq is not None]
        more["entries"] = [entry for stretch in stretches for entry in stretch]
    return more


def _entries_about(session: Session, game: Game, mail: Mail) -> list[record.Entry]:
    """Return the entries that a mail is about, as its reader may see them."""
    first = mail.seq or 0
    return _entries(session, game, mail.seat, first - 1, outbox.details(mail).get("last", first))


def _details(mail: Mail) -> dict[str, Any]:
    details = outbox.details(mail)
    if mail.kind == "refused" and isinstance(details.get("error"), dict):  # an older version kept a text
        details["error"] = facts.sentence(facts.read(details["error"]))
    return {name: one_line(value) if isinstance(value, str) else value for name, value in details.items()}


def _game_context(session: Session, rows: MailRows, game: Game) -> dict[str, Any]:
    seats = positions.seats_of(session, game.id)
    organiser = session.get(Person, game.organiser_id) if game.organiser_id else None
    return {
        "slug": game.slug,
        "title": rules_of(game.slug, game.rules).title,
        "game": one_line(game.name),
        "game_id": game.id,
        "pace": {name: getattr(game, name) for name in ("allowance", "bank", "days_off", "time_zone")},
        "begun": game.started_at is not None,
        "names": [one_line(seat.name) for seat in seats],
        "me": rows.seat.seat if rows.seat else None,
        "organiser": one_line(organiser.name) if organiser else "",
        "result": json.loads(game.result) if game.result else None,
    }


def _turn_context(session: Session, game: Game, seat: int) -> dict[str, Any]:
    position = positions.load(session, game)
    rules, state = position.rules, position.state
    view, moves = rules.view(state, seat), rules.moves(state, seat)
    last_own = log.last_move(session, game.id, seat, ("player",))
    entries = _entries(session, game, seat, last_own)
    ended = standing_orders.of_seat(session, game.id, seat, last_own)
    return {
        "view": view,
        "moves": [str(move) for move in moves],
        "out_of_turn": [str(move) for move in rules.out_of_turn_moves(state, seat)],
        "fallback": str(rules.fallback(view, moves)),
        "entries": entries[-LOG_LINES:],
        "left_out": max(0, len(entries) - LOG_LINES),
        "stopped": [
            {"text": row.text, "reason": one_line(facts.sentence(row.reason))}
            for row in ended
            if row.status == "stopped"
        ],
        "head": game.head,
        "hash": log.head_hash(session, game),
    }


def examples(moves: Sequence[str], fallback: str) -> list[str]:
    """Choose moves that show how to reply by email: one per verb, then any, all short enough for one line.

    Args:
        moves: the legal moves.
        fallback: the move that is played if no answer comes.
    """
    others = [move for move in moves if move != fallback]
    verbs = {move.partition(" ")[0]: move for move in reversed(others)}
    spread = [others[0], others[len(others) // 2], others[-1]] if others else []
    candidates = dict.fromkeys((fallback, *reversed(verbs.values()), *spread))
    return [move for move in candidates if len(move) <= LONGEST_EXAMPLE][:EXAMPLES]


def _answer_context(session: Session, rows: MailRows) -> dict[str, Any]:
    """Return the result of an incoming mail line by line, and what has happened in the game since."""
    given = outbox.details(rows.mail)
    since: list[record.Entry] = []
    seated = rows.seat is not None and rows.seat.status == "seated"
    if seated and rows.seat and rows.game and rows.mail.seq and not rows.game.quarantine:
        since = _entries(session, rows.game, rows.seat.seat, rows.mail.seq - 1)
    return {
        "results": [
            line | {"text": one_line(line["text"]), "why": _refusal_text(line)} for line in given["lines"]
        ],
        "fault": _refusal_text(given),
        "since": since[:LOG_LINES],
        "more": len(since) > LOG_LINES,
        "asked": rows.turn is not None,
        "most": LEGAL_MOVES,
    }


def _refusal_text(given: Mapping[str, Any]) -> str:
    """Return a stored refusal in the reader's language, or "" if there is none."""
    if not given.get("message"):
        return ""
    sentence: str = gettext(given["message"])
    return one_line(sentence % given["places"] if given["places"] else sentence)


def _entries(
    session: Session, game: Game, seat: int | None, after: int, upto: int | None = None
) -> list[record.Entry]:
    """Return a stretch of the log as this seat may see it."""
    viewer = PUBLIC if seat is None else seat
    seen = history.entries_for(session, game, viewer, after=after, upto=upto)
    return [
        replace(entry, note=one_line(notes.translated(entry.note))) if entry.note else entry for entry in seen
    ]
