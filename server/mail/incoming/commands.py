"""Carrying out a reply: its lines are parsed as moves and orders, then played one after another.

Nothing is played unless every line can be parsed. Each line has its own request id, so that a line played before a
crash is not played again after it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from typing import Any

from sqlalchemy import func, or_, select

from byzanz.moves import RulesError
from byzanz.rules import Rules
from server import play
from server.errors import NotYourTurn, Refused, Stale
from server.mail.incoming import reply
from server.play import positions
from server.store.engine import reading
from server.store.links import SeatAccess
from server.store.models import Entry, IncomingMail, StandingOrder, Turn

LOGGER = logging.getLogger(__name__)
WRAP_LENGTH = 60
"""Length from which mail clients may wrap a line; a shorter line ends because its writer ended it."""


ALIKE = 0.75
"""How much of a word must be that of a verb to be taken for it mistyped."""


class BadReply(Refused):
    """A reply that cannot be used; the message says what to do."""

    status = 422
    code = "bad_mail"


@dataclass(slots=True)
class ReplyLine:
    """A line of a reply and its outcome.

    Args:
        kind: move, order or off (withdraw all orders); `text` of an order is without the word "order".
        done: played, ordered or withdrawn; empty if it was not carried out.
        seq: of the resulting entry; for withdrawn orders their number.
        order: the standing order, canonical.
        fault: why it was not carried out.
    """

    source: str
    text: str
    kind: str
    done: str = ""
    seq: int = 0
    order: str = ""
    fault: RulesError | Refused | None = None

    def as_details(self) -> dict[str, Any]:
        """Return the line as the answer's details store it."""
        row = {"text": self.source, "done": self.done, "seq": self.seq, "order": self.order}
        return row | refusal_details(self.fault)


def carry_out(
    access: SeatAccess, said: tuple[str, ...], row: IncomingMail, now: datetime
) -> tuple[list[ReplyLine], RulesError | Refused | None]:
    """Carry out a reply: nothing unless each line can be parsed, then line by line until one is refused.

    Args:
        access: the seat that its address opens.
        said: its lines.
        row: the incoming mail, claimed.

    Returns:
        The outcome of each line, and what is wrong with the mail as a whole, if anything.
    """
    if not said:
        return [], BadReply(
            "Your email contains no move, so nothing has changed. Write each move on a line of its own, above the "
            "quoted text."
        )
    if len(said) > reply.MOST_OWN_LINES:
        return [], BadReply(
            "Your email has more than %(most)s lines besides the quoted text, so nothing was played. Write each move "
            "on a line of its own and nothing else.",
            most=reply.MOST_OWN_LINES,
        )
    rules = positions.rules_of(access.game)
    lines = read_lines(rules, said)
    understood = any(line.fault is None for line in lines)
    if not any(line.fault for line in lines):
        _play_all(access, lines, row, now)
    if understood and (access.seat.autopilot or access.seat.missed):
        _reclaim(access, now)
    return lines, None


def read_lines(rules: Rules[Any, Any], said: tuple[str, ...]) -> list[ReplyLine]:
    """Parse each line as a move or an order; a line that a mail client wrapped is joined."""
    lines: list[ReplyLine] = []
    for text in said:
        line = _read_line(rules, text)
        if line.fault and lines and len(lines[-1].source) >= WRAP_LENGTH:
            mended = _read_line(rules, f"{lines[-1].source} {text}")
            if not mended.fault:
                lines[-1] = mended
                continue
        lines.append(line)
    return lines


def is_readable(rules: Rules[Any, Any], said: str) -> bool:
    """Whether a line can be read as a move or an order of this game, legal or not, or asks about one."""
    return _read_line(rules, " ".join(said.replace("?", " ").split())).fault is None


def is_like_move(rules: Rules[Any, Any], said: str) -> bool:
    """Whether a line could be meant as a move or an order: it has a verb of this game, perhaps mistyped."""
    typed = said.encode("ascii", "ignore").decode().casefold().split()
    if is_readable(rules, said) or not typed:
        return bool(typed)
    try:
        rules.parse(" ".join(typed))
    except RulesError as error:
        known = str(error.places.get("known", "")).split(", ")
    else:
        return True
    verbs = [*known, "order", "orders"]
    return known == [""] or any(get_close_matches(word, verbs, 1, ALIKE) for word in typed)


def _read_line(rules: Rules[Any, Any], said: str) -> ReplyLine:
    if "?" in said:
        question = BadReply(
            "This is a question, so nothing was played. Write the move without a question mark."
        )
        return ReplyLine(said, said, "move", fault=question)
    first, _blank, rest = said.partition(" ")
    word = first.casefold()
    if word in ("order", "orders") and rest.casefold() in ("off", "none"):
        return ReplyLine(said, "", "off")
    kind, typed = ("order", rest) if word == "order" else ("move", said)
    line = ReplyLine(said, rules.reply_text(typed), kind)
    try:
        text = line.text[: play.LONGEST_TEXT + 1]
        rules.parse_order(text) if line.kind == "order" else rules.parse(text)
    except RulesError as error:
        line.fault = error
    return line


def _play_all(access: SeatAccess, lines: list[ReplyLine], row: IncomingMail, now: datetime) -> None:
    """Play one line after another, each in its own transaction; stop at the first refusal."""
    seen = access.link.seq or 0
    left = _orders_already_left(access, row)
    for number, line in enumerate(lines, 1):
        try:
            if line.kind == "order" and left:
                left -= 1  # left before a crash; the first ones were stored
                line.done, line.order = "ordered", line.text
            elif line.kind == "order":
                ordered = play.place_order(
                    access.game.id,
                    access.seat.seat,
                    line.text,
                    now=now,
                    link_id=access.link.id,
                    left_at=row.at,
                )
                line.done, line.order = "ordered", ordered.text
            elif line.kind == "off":
                line.seq = play.withdraw_order(
                    access.game.id, access.seat.seat, None, now=now, link_id=access.link.id
                )
                line.done = "withdrawn"
            else:
                seen = _play(access, line, f"mail-{row.digest[:40]}-{number}", seen, now)
        except (NotYourTurn, Stale):
            line.fault = _outdated(access, lines)
            return
        except (RulesError, Refused) as error:
            line.fault = error
            return


def _outdated(access: SeatAccess, lines: list[ReplyLine]) -> Refused:
    if any(line.done for line in lines):
        return Stale("Not played: the game moved on after the previous line. Reply to the latest email.")
    return Stale(
        "That turn is over. If it is your turn again, reply to the latest email about “%(game)s”.",
        game=access.game.name,
    )


def _play(access: SeatAccess, line: ReplyLine, request_id: str, seen: int, now: datetime) -> int:
    """Play a move and return the seq that its writer counts as having seen for the next line."""
    receipt = play.submit(
        access.game.id,
        access.seat.seat,
        line.text,
        seen=seen,
        request_id=request_id,
        now=now,
        link_id=access.link.id,
    )
    line.done, line.seq = "played", receipt.seq
    return max(seen, _opened_by(access, receipt.seq))


def _opened_by(access: SeatAccess, seq: int) -> int:
    """Return the head at which this seat's own move opened its next question with nothing else in between; else 0.

    "bid …" and "tax …" in one mail mean the tax on that bid. A question that came after another player, chance or a
    moderator has moved cannot have been meant.
    """
    with reading() as session:
        turn = session.get(Turn, (access.game.id, access.seat.seat))
        if turn is None:
            return 0
        between = (Entry.game_id == access.game.id, Entry.seq > seq, Entry.seq <= turn.opened_seq)
        of_others = or_(Entry.seat.is_(None), Entry.seat != access.seat.seat)
        others = select(func.count()).where(*between, of_others)
        return 0 if session.scalar(others) else turn.opened_seq


def _orders_already_left(access: SeatAccess, row: IncomingMail) -> int:
    """Count the orders of this mail left before a crash: they carry the time of its first claim."""
    own = (StandingOrder.game_id == access.game.id, StandingOrder.seat == access.seat.seat)
    with reading() as session:
        return session.scalar(select(func.count()).where(*own, StandingOrder.left_at == row.at)) or 0


def _reclaim(access: SeatAccess, now: datetime) -> None:
    """End the seat's autopilot: a line that could be read shows that the player is back."""
    try:
        play.reclaim(access.game.id, access.seat.seat, now=now, link_id=access.link.id)
    except Refused as refused:
        LOGGER.info("game %s: not reclaimed by mail: %s", access.game.id, refused)


def refusal_details(fault: RulesError | Refused | None) -> dict[str, Any]:
    """Return a refusal in the form stored with the answer, to be translated for its reader."""
    if fault is None:
        return {"message": "", "places": {}}
    places = {
        name: value if isinstance(value, int) else str(value)[:200] for name, value in fault.places.items()
    }
    return {"message": fault.message, "places": places}
