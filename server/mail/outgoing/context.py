"""What the templates of a mail are told: rows, views and words of the log as this reader may know them, and links."""

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
from server.mail.outgoing.relevance import Facts
from server.mail.text import one_line
from server.play import history, notes, positions, turns
from server.store import facts, links, log, outbox, standing_orders
from server.store.models import Game, Link, Mail, Person, Seat, Turn

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
"""Which of its reader's links a kind of mail carries."""
EXAMPLES = 3
"""Answers by mail that a turn mail shows."""
LONGEST_EXAMPLE = 60
"""Characters that mail readers leave in one line."""
LEGAL_MOVES = 40
"""Moves that the answer to a mail lists at the most; the page has all of them."""
STORY_LINES = 40
"""Entries told in one mail at the most; the page has all of them."""


@dataclass(frozen=True, slots=True)
class Doors:
    """The addresses that a mail carries; None where it has none."""

    link: str | None
    stop: str | None
    reply: str | None = None
    """The mail address to which moves are sent."""
    seats: Mapping[str, str] = field(default_factory=dict)
    """By game, of a mail that names several."""


def doors(session: Session, found: Facts, now: datetime) -> Doors:
    """The links of a mail; in a writing transaction, because one that is missing is made."""
    seats = {game.id: _seat_link(session, found, game, now) for game, _, _ in places(session, found)}
    return Doors(_link(session, found, now), _stop(session, found, now), _reply(session, found, now), seats)


def places(session: Session, found: Facts) -> list[tuple[Game, Seat, Turn]]:
    """The turns that a mail names which is about all games of its reader."""
    if found.mail.kind == "digest":
        return digest.named_by(session, found.person.id)
    return turns.of_person(session, found.person.id) if found.mail.kind == "games" else []


def _seat_link(session: Session, found: Facts, game: Game, now: datetime) -> str:
    return links.url(links.link_for(session, "seat", found.person.id, game.id, now))


def _link(session: Session, found: Facts, now: datetime) -> str | None:
    given = outbox.details(found.mail)
    if "link" in given:
        return links.url(session.get_one(Link, given["link"]))
    if found.game is None:
        return None
    purpose = PURPOSES.get(found.mail.kind)
    if found.mail.kind == "fresh":
        purpose = given.get("purpose", "seat")
    if found.mail.kind in relevance.ABOUT_OTHERS and found.person.id == found.game.organiser_id:
        purpose = "organise"
    if purpose is None:
        return None
    return links.url(links.link_for(session, purpose, found.person.id, found.game.id, now))


def _stop(session: Session, found: Facts, now: datetime) -> str | None:
    """Where one click ends the mails about a game, for those who have a seat kept in it; of a digest all mails."""
    if found.mail.kind == "digest":
        return links.url(links.link_for(session, "stop", found.person.id, None, now))
    if found.game is None or found.seat is None:
        return None
    return links.url(links.link_for(session, "stop", found.person.id, found.game.id, now))


def _reply(session: Session, found: Facts, now: datetime) -> str | None:
    """Where an answer goes to: about the open turn, else, of an answer to a mail, to where that mail went."""
    if not settings().mail_domain or found.game is None or found.seat is None:
        return None
    if found.turn is not None:
        turn = found.turn
        return links.reply_address(
            links.link_for(session, "reply", found.person.id, found.game.id, now, turn.opened_seq)
        )
    used = session.get(Link, outbox.details(found.mail).get("reply", 0))
    return links.reply_address(used) if used and used.revoked_at is None else None


def times(session: Session, found: Facts, now: datetime) -> turns.Times | None:
    """Until when the turn has time: of a turn mail that is accepted now, else as its clock runs."""
    if found.turn is None or found.game is None:
        return None
    if found.turn.started_at is None and found.mail.kind != "answer":
        return turns.times_if_started(session, found.game, found.turn, now)
    return turns.times(session, found.game, found.turn)


def told(session: Session, found: Facts, doors: Doors, times: turns.Times | None) -> dict[str, Any]:
    """The words that a mail's templates may use; of a game only what its reader may know."""
    words: dict[str, Any] = {
        "kind": found.mail.kind,
        "name": one_line(found.person.name),
        "details": _details(found.mail),
        "link": doors.link,
        "stop": doors.stop,
        "reply": doors.reply,
        "base_url": settings().base_url,
        "zone": found.person.time_zone or (found.game.time_zone if found.game else "UTC"),
        "own_zone": found.person.time_zone is not None,
        "times": times,
    }
    if found.game is not None:
        words |= _of_game(session, found, found.game)
    if found.turn is not None and found.game is not None:
        words |= _of_turn(session, found.game, found.turn.seat)
        words["examples"] = examples(words["moves"], words["fallback"])
        words["chosen"] = {move: f"{doors.link}?{urlencode({'move': move})}" for move in words["examples"]}
    if found.mail.kind == "answer":
        words |= _of_answer(session, found)
    return words | _along(session, found, words)


def _along(session: Session, found: Facts, words: dict[str, Any]) -> dict[str, Any]:
    """The entries that a mail is about, with the news that it tells beside its own, and the ids of that news."""
    along, mail = batching.told_along(session, found.mail), found.mail
    if mail.kind == "turn":  # what its story leaves out it does not tell
        first = words["entries"][0].seq if words["entries"] else mail.seq
        along = [other for other in along if other.seq and first and other.seq >= first]
    more: dict[str, Any] = {"along": tuple(other.id for other in along)}
    if mail.kind == "answered":
        more["answers"] = [_details(other) for other in (*along, mail)]
    elif found.game is not None and mail.kind in ("timeout", "autopilot", "act", "over"):
        telling = [*along, mail] if mail.kind != "over" else along
        stretches = [_news(session, found.game, other) for other in telling if other.seq is not None]
        more["entries"] = [entry for stretch in stretches for entry in stretch]
    return more


def _news(session: Session, game: Game, mail: Mail) -> list[record.Entry]:
    """The entries that a mail is about, as its reader may read them."""
    first = mail.seq or 0
    return _entries(session, game, mail.seat, first - 1, outbox.details(mail).get("last", first))


def _details(mail: Mail) -> dict[str, Any]:
    details = outbox.details(mail)
    if mail.kind == "refused" and isinstance(details.get("error"), dict):  # an older version kept a text
        details["error"] = facts.sentence(facts.read(details["error"]))
    return {name: one_line(value) if isinstance(value, str) else value for name, value in details.items()}


def _of_game(session: Session, found: Facts, game: Game) -> dict[str, Any]:
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
        "me": found.seat.seat if found.seat else None,
        "organiser": one_line(organiser.name) if organiser else "",
        "result": json.loads(game.result) if game.result else None,
    }


def _of_turn(session: Session, game: Game, seat: int) -> dict[str, Any]:
    position = positions.load(session, game)
    rules, state = position.rules, position.state
    view, moves = rules.view(state, seat), rules.moves(state, seat)
    last_own = log.last_move(session, game.id, seat, ("player",))
    entries = _entries(session, game, seat, last_own)
    ended = standing_orders.of_seat(session, game.id, seat, last_own)
    return {
        "view": view,
        "moves": [str(move) for move in moves],
        "asides": [str(move) for move in rules.out_of_turn_moves(state, seat)],
        "fallback": str(rules.fallback(view, moves)),
        "entries": entries[-STORY_LINES:],
        "left_out": max(0, len(entries) - STORY_LINES),
        "stopped": [
            {"text": row.text, "reason": one_line(facts.sentence(row.reason))}
            for row in ended
            if row.status == "stopped"
        ],
        "head": game.head,
        "hash": log.head_hash(session, game),
    }


def examples(moves: Sequence[str], fallback: str) -> list[str]:
    """Moves that show how an answer by mail is written: of each verb one, then of any, none too long for a line.

    Args:
        moves: the legal ones.
        fallback: the one of them that is played if no answer comes.
    """
    others = [move for move in moves if move != fallback]
    verbs = {move.partition(" ")[0]: move for move in reversed(others)}
    spread = [others[0], others[len(others) // 2], others[-1]] if others else []
    wished = dict.fromkeys((fallback, *reversed(verbs.values()), *spread))
    return [move for move in wished if len(move) <= LONGEST_EXAMPLE][:EXAMPLES]


def _of_answer(session: Session, found: Facts) -> dict[str, Any]:
    """What became of a mail that came in, line by line, and what happened at the table since."""
    given = outbox.details(found.mail)
    since: list[record.Entry] = []
    seated = found.seat is not None and found.seat.status == "seated"
    if seated and found.seat and found.game and found.mail.seq and not found.game.quarantine:
        since = _entries(session, found.game, found.seat.seat, found.mail.seq - 1)
    return {
        "results": [line | {"text": one_line(line["text"]), "why": _why(line)} for line in given["lines"]],
        "fault": _why(given),
        "since": since[:STORY_LINES],
        "more": len(since) > STORY_LINES,
        "asked": found.turn is not None,
        "most": LEGAL_MOVES,
    }


def _why(given: Mapping[str, Any]) -> str:
    """A refusal as it was kept, in the reader's language; empty if there is none."""
    if not given.get("message"):
        return ""
    sentence: str = gettext(given["message"])
    return one_line(sentence % given["places"] if given["places"] else sentence)


def _entries(
    session: Session, game: Game, seat: int | None, after: int, upto: int | None = None
) -> list[record.Entry]:
    """A part of the log as this seat may read it, its notes in the language of the email."""
    viewer = PUBLIC if seat is None else seat
    seen = history.entries_for(session, game, viewer, after=after, upto=upto)
    return [
        replace(entry, note=one_line(notes.translated(entry.note))) if entry.note else entry for entry in seen
    ]
