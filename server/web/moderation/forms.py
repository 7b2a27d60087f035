"""A moderator's act as his forms ask for it, and what it would do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from byzanz.rules import PUBLIC
from server import validation
from server.play.moderation import acts
from server.store.models import Game, Seat
from server.web.game import history


@dataclass(frozen=True, slots=True)
class Wanted:
    """An act as the forms ask for it.

    Args:
        words: as the log will write it.
        newcomer: who takes over the seat of a `!replace`.
        keep_link: mail the same link again.
    """

    words: tuple[str, ...]
    newcomer: acts.Newcomer | None = None
    keep_link: bool = False


def read(form: Mapping[str, str]) -> Wanted:
    """The act that a form asks for.

    Raises:
        Refused: there is no such act, or a field of it is malformed.
    """
    kind, number = form.get("act", ""), form.get("seat", "")
    match kind:
        case "void":
            return Wanted(("!void", form.get("entry", "")))
        case "extend":
            return Wanted(("!extend", number, _seconds(form.get("hours", ""))))
        case "credit":
            return Wanted(("!credit", _seconds(form.get("hours", ""))))
        case "bank":
            return Wanted(("!bank", number, _seconds(form.get("hours", ""))))
        case "autopilot":
            return Wanted(("!autopilot", number, _switch(form.get("switch", ""))))
        case "replace":
            guest = validation.read_guest(form.get("who", ""), "who")
            return Wanted(("!replace", number), acts.Newcomer(guest.name, guest.address))
        case "remail":
            return Wanted(("!link", number), keep_link=True)
        case "link":
            return Wanted(("!link", number))
        case "pause" | "resume" | "abandon" | "note":
            return Wanted((f"!{kind}",))
    raise acts.InvalidAct("Unknown action. Choose one of: %(acts)s.", acts=", ".join(acts.ACTS))


def _seconds(hours: str) -> str:
    number = validation.whole_number(hours, 9999)
    if number is None:
        raise acts.InvalidAct("“%(hours)s” must be a whole number of hours.", hours=validation.shown(hours))
    return str(number * 3600)


def _switch(word: str) -> str:
    if word not in ("on", "off"):
        raise acts.InvalidAct("An autopilot can only be switched on or off.")
    return word


def lost(session: Session, game: Game, words: Sequence[str], zone: str) -> list[history.Line]:
    """The entries that would no longer count after a void, in the words of the public; none for other acts.

    Raises:
        NotPossible: the entry is no seat's move that still counts.
    """
    if words[0] != "!void":
        return []
    first = validation.whole_number(words[1], game.head, 1)
    if first is None:
        raise acts.ActNotPossible(
            "Entry %(seq)s is not a player’s move that still counts.", seq=validation.shown(words[1])
        )
    lines = history.lines(session, game, PUBLIC, zone, after=first - 1)
    if lines[0].voided or lines[0].act or lines[0].entry.seat is None:
        raise acts.ActNotPossible("Entry %(seq)s is not a player’s move that still counts.", seq=first)
    return [line for line in lines if not line.voided and not line.act]


def seat(session: Session, game: Game, words: Sequence[str]) -> Seat | None:
    """The seat that the act concerns, None if it concerns the table.

    Raises:
        BadAct: there is no such seat.
    """
    if words[0] not in {"!extend", "!bank", "!autopilot", "!replace", "!link"}:
        return None
    text = words[1]
    number = validation.whole_number(text, 99)
    found = session.get(Seat, (game.id, number)) if number is not None else None
    if found is None:
        raise acts.InvalidAct("There is no seat %(seat)s in this game.", seat=validation.shown(text))
    return found
