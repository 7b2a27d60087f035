"""Reading a moderator's forms, and previewing what the act would do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from byzanz.rules import PUBLIC
from server import validation
from server.play import moderation
from server.play.moderation import ActNotPossible, InvalidAct, Newcomer
from server.store.models import Game, Seat
from server.web.game import history


@dataclass(frozen=True, slots=True)
class RequestedAct:
    """An act as a form requests it.

    Args:
        words: as the log will store it.
        newcomer: who takes over the seat, for `!replace`.
        keep_link: mail the same link again.
    """

    words: tuple[str, ...]
    newcomer: Newcomer | None = None
    keep_link: bool = False


def read_act(form: Mapping[str, str]) -> RequestedAct:
    """Return the act that a form requests.

    Raises:
        Refused: there is no such act, or one of its fields is malformed.
    """
    kind, number = form.get("act", ""), form.get("seat", "")
    match kind:
        case "void":
            return RequestedAct(("!void", form.get("entry", "")))
        case "extend":
            return RequestedAct(("!extend", number, _seconds(form.get("hours", ""))))
        case "credit":
            return RequestedAct(("!credit", _seconds(form.get("hours", ""))))
        case "bank":
            return RequestedAct(("!bank", number, _seconds(form.get("hours", ""))))
        case "autopilot":
            return RequestedAct(("!autopilot", number, _switch(form.get("switch", ""))))
        case "replace":
            guest = validation.parse_guest(form.get("who", ""), "who")
            return RequestedAct(("!replace", number), Newcomer(guest.name, guest.address))
        case "remail":
            return RequestedAct(("!link", number), keep_link=True)
        case "link":
            return RequestedAct(("!link", number))
        case "pause" | "resume" | "abandon" | "note":
            return RequestedAct((f"!{kind}",))
    raise InvalidAct("Unknown action. Choose one of: %(acts)s.", acts=", ".join(moderation.ACTS))


def _seconds(hours: str) -> str:
    number = validation.whole_number(hours, 9999)
    if number is None:
        raise InvalidAct("“%(hours)s” must be a whole number of hours.", hours=validation.excerpt(hours))
    return str(number * 3600)


def _switch(word: str) -> str:
    if word not in ("on", "off"):
        raise InvalidAct("An autopilot can only be switched on or off.")
    return word


def voided_lines(session: Session, game: Game, words: Sequence[str], zone: str) -> list[history.HistoryLine]:
    """Return the entries that a void would take back, as the public sees them; none for other acts.

    Raises:
        ActNotPossible: the entry is not a seat's move that still counts.
    """
    if words[0] != "!void":
        return []
    first = validation.whole_number(words[1], game.head, 1)
    if first is None:
        raise ActNotPossible(
            "Entry %(seq)s is not a player’s move that still counts.", seq=validation.excerpt(words[1])
        )
    lines = history.lines(session, game, PUBLIC, zone, after=first - 1)
    if lines[0].voided or lines[0].act or lines[0].entry.seat is None:
        raise ActNotPossible("Entry %(seq)s is not a player’s move that still counts.", seq=first)
    return [line for line in lines if not line.voided and not line.act]


def affected_seat(session: Session, game: Game, words: Sequence[str]) -> Seat | None:
    """Return the seat that the act concerns, None if it concerns the table.

    Raises:
        InvalidAct: there is no such seat.
    """
    if words[0] not in {"!extend", "!bank", "!autopilot", "!replace", "!link"}:
        return None
    text = words[1]
    number = validation.whole_number(text, 99)
    found = session.get(Seat, (game.id, number)) if number is not None else None
    if found is None:
        raise InvalidAct("There is no seat %(seat)s in this game.", seat=validation.excerpt(text))
    return found
