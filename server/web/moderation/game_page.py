"""What a moderator's page of a game decides: the acts that are possible, what it says of each seat, and what helps.

Sentences are marked here and translated in `templates/moderation/game.html`, which fills in names and times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from server.i18n import N_
from server.play import powers
from server.store.facts import Fact
from server.store.models import GameStatus, SeatStatus
from server.store.statements import GameRow, SeatRow, TurnRow

SEAT_TAGS = {
    SeatStatus.FREE: N_("free"),
    SeatStatus.INVITED: N_("invited"),
    SeatStatus.SEATED: "",
    SeatStatus.DECLINED: N_("declined"),
}
"""What has become of a seat; of most, nothing needs to be said."""


@dataclass(frozen=True, slots=True)
class SeatLine:
    """A seat, its clock and what could help.

    Args:
        turn: its open turn, if it is to move.
        runs: whether its game is running.
        held: the entry since which its player sits there, and the names of those before them; None if nobody was.
    """

    seat: SeatRow
    turn: TurnRow | None
    now: datetime
    runs: bool = True
    held: tuple[int, list[str]] | None = None

    @property
    def address(self) -> str:
        """The player's address, or a bot's level."""
        return (self.seat.person.email or "") if self.seat.person else self.seat.bot or ""

    @property
    def lost(self) -> Fact | None:
        """Why no email reaches the player."""
        person = self.seat.person
        return (person.suppressed or person.unreachable) if person else None

    @property
    def trouble(self) -> Fact | None:
        """Why no email reaches the player, or why that of this turn did not."""
        return self.lost or (self.turn.refused if self.turn else None)

    @property
    def is_late(self) -> bool:
        """Whether the deadline is over."""
        return self.turn is not None and self.turn.due_at is not None and self.turn.due_at <= self.now

    @property
    def on_autopilot(self) -> bool:
        """Whether the server plays for this seat."""
        return self.runs and self.seat.autopilot

    @property
    def tags(self) -> list[tuple[str, str]]:
        """What stands beside the name: classes of colour, and words."""
        seat, person = self.seat, self.seat.person
        away = (" bad", N_("has left")) if seat.left else (" gold", N_("on autopilot"))
        found = [
            (" bad", N_("Late")) if self.is_late else (" gold", N_("to move") if self.turn else ""),
            ("", SEAT_TAGS[SeatStatus(seat.status)]),
            (" bad", N_("unreachable") if self.lost else ""),
            away if self.on_autopilot else ("", N_("missed the last deadline") if seat.missed else ""),
            ("", N_("no emails") if seat.silent or (person and person.silent) else ""),
            ("", N_("Daily email") if person and person.cadence == "digest" else ""),
        ]
        return [(kind, text) for kind, text in found if text]

    @property
    def clock(self) -> str:
        """What its clock does while the seat is to move: `stopped`, `refused` for a reason that is told, `runs` or
        `waits` for the email; nothing for a bot, which has no clock.
        """
        assert self.turn is not None
        if self.turn.refused:
            return "stopped" if self.lost else "refused"
        if self.turn.due_at:
            return "runs"
        return "" if self.seat.bot else "waits"

    @property
    def remedies(self) -> list[tuple[str, str]]:
        """The acts that could help, each with words of its own, if it has any."""
        turn, away = self.turn, self.on_autopilot
        if not self.runs or self.seat.bot:
            return []
        found = [
            ("remail", "", self.lost or (turn and (turn.refused or not turn.due_at))),
            ("extend", "", turn and turn.due_at),
            ("autopilot", N_("Switch the autopilot off"), away and not self.seat.left),
            ("replace", "", self.lost or away),
        ]
        return [(verb, text) for verb, text, helps in found if helps]


@dataclass(frozen=True, slots=True)
class GamePage:
    """What a moderator can do about a game, and what its page points out.

    Args:
        seats: in the order of play.
        form: what was chosen, or typed into a form that was refused.
        history: the context of templates/game/log.html; None if the log cannot be read.
    """

    game: GameRow
    seats: Sequence[SeatLine]
    door: powers.Standing
    form: Mapping[str, str]
    unattended: bool
    history: Mapping[str, Any] | None

    @property
    def picked(self) -> str:
        """The act whose form is open."""
        return self.form.get("act", "")

    @property
    def runs(self) -> bool:
        """Whether the game is running."""
        return self.game.status == GameStatus.RUNNING

    @property
    def groups(self) -> list[tuple[str, list[str]]]:
        """The acts that are possible, by what they are about; not those that a stake at the table forbids."""
        if self.door.refused or self.game.status not in (GameStatus.RUNNING, GameStatus.OVER):
            return []
        if not self.runs:
            return [(N_("The whole game"), ["note"])]
        clocks = ["extend", "credit", "bank", *self._turned()]
        seats, whole = ["autopilot", "remail", "link"], ["note", "abandon"]
        if not self.door.stake:
            seats, whole = ["replace", *seats], ["void", *whole]
        return [(N_("Clocks"), clocks), (N_("Seats and links"), seats), (N_("The whole game"), whole)]

    def _turned(self) -> list[str]:
        if self.game.quarantine or (self.game.paused and not self.unattended):
            return ["resume"]
        return [] if self.unattended else ["pause"]

    def can(self, verb: str) -> bool:
        """Whether this act is among those that are possible."""
        return any(verb in verbs for _heading, verbs in self.groups)

    @property
    def lines(self) -> list[SeatLine]:
        """The seats, those that are late first."""
        return sorted(self.seats, key=lambda line: not line.is_late)

    @property
    def on_autopilot(self) -> list[int]:
        """The numbers of the seats for which the server plays."""
        return [line.seat.seat for line in self.seats if line.on_autopilot]

    @property
    def stage(self) -> list[str]:
        """The words for the part of the game that is being played, unless only some of the log is shown."""
        found = self.history
        if found is None or not self.runs or any(found["chosen"].values()):
            return []
        part = next(iter(found["parts"]), None)
        return [part.word, *part.sections[0][0]] if part is not None and part.word else []

    @property
    def offers_undo(self) -> bool:
        """Whether entries of the history can be undone here."""
        return self.runs and not self.door.stake

    @property
    def standstill(self) -> str:
        """Why the game stands still, with what helps: `held`, `unattended` or `paused`; else nothing."""
        if self.game.quarantine:
            return "held"
        if self.unattended:
            return "unattended"
        return "paused" if self.game.paused and self.runs else ""

    def kept(self, act: str, name: str) -> str:
        """Return what was typed into a field of this act."""
        return self.form.get(name, "") if self.picked == act else ""

    def choices(self, act: str) -> list[tuple[SeatRow, bool]]:
        """Return the seats that an act can be about, each with whether it is proposed."""
        away = self.on_autopilot
        proposed = str(away[0]) if act == "replace" and away else ""
        chosen = self.kept(act, "seat") or proposed
        seats = [line.seat for line in self.seats if act == "replace" or not line.seat.bot]
        return [(seat, str(seat.seat) == chosen) for seat in seats]

    @property
    def switches_off(self) -> bool:
        """Whether the form of the autopilot proposes to switch it off: it is on."""
        away = [str(number) for number in self.on_autopilot]
        off = not self.form.get("switch") and self.kept("autopilot", "seat") in away
        return self.kept("autopilot", "switch") == "off" or off
