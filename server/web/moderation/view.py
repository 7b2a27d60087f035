"""What the moderators' pages decide: the page of a game, and the desk; their templates lay it out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from server.i18n import N_
from server.play import names, powers
from server.store import operations
from server.store.facts import Fact
from server.store.models import Alert, Game, GameStatus, Mail, Person, Seat, SeatStatus, Turn
from server.store.statements import GameRow, SeatRow, TurnRow
from server.web.game.mail_log import explained
from server.web.http import format_moment

# ---- the page of a game ----

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


# ---- the desk ----

Sentence = tuple[str, Mapping[str, object]]
"""A marked text and the values of its places."""


@dataclass(frozen=True, slots=True)
class IssueList:
    """The first few occurrences.

    Args:
        rows: up to MOST_SHOWN.
        count: how many there are in all.
    """

    rows: Sequence[Any]
    count: int


@dataclass(frozen=True, slots=True)
class Case:
    """One thing that is wrong with a game, or with the server.

    Args:
        game: None for the server.
        kind: the class of its tag's colour; tag: what it is, marked for translation.
        words: what a mail server answered; when: it happened, for the reader.
        remedies: the acts that help, each with the seat concerned, if it is one.
        due: the seat and the deadline of a turn whose clock is shown.
        mail: the kind of the email concerned and the name of its reader.
        alert: the alert that it is, with a button that clears it.
    """

    game: Game | None
    kind: str
    tag: str
    sentences: Sequence[Sentence] = ()
    words: str = ""
    when: str = ""
    remedies: Sequence[tuple[str, int | None]] = ()
    due: tuple[Seat, datetime] | None = None
    mail: tuple[str, str] | None = None
    alert: Alert | None = None

    @property
    def game_id(self) -> str:
        """The game's id, or nothing."""
        return self.game.id if self.game else ""

    @property
    def needs_reason(self) -> bool:
        """Whether the alert is about something said, which is not cleared without a reason."""
        return self.alert is not None and self.alert.text.code == "word_reported"

    @property
    def button(self) -> str:
        """What the button that clears the alert says."""
        clock = self.alert is not None and self.alert.key == operations.CLOCK_JUMPED
        return N_("The clock is correct: continue") if clock else N_("Mark as resolved")


def _called(game: Game, seat: Seat) -> str:
    return names.of(GameRow.of(game), seat, names.MODERATOR)


ADVICE = {
    "mail_settings": N_("No email can go out until this is fixed. Run “byzanz doctor” to see what is wrong."),
    "mail_blocked": N_(
        "Run “byzanz doctor” to check the DNS records, and look the server up in block lists."
    ),
}
"""What to do about alerts, by their code."""


@dataclass(frozen=True)
class DeskPage:
    """The occurrences of each issue (server/web/moderation/desk.py) as cases.

    Args:
        last: when the last entry of each stuck game was made.
        unattended: the stuck games that nobody responds in.
    """

    zone: str
    now: datetime
    alerts: IssueList
    late: IssueList
    unsent: IssueList
    unreached: IssueList
    refused: IssueList
    stuck: IssueList
    on_hold: IssueList
    on_autopilot: IssueList
    last: Mapping[str, datetime]
    unattended: Collection[str]

    @cached_property
    def found(self) -> list[Case]:
        """What needs attention; a turn that is due soon only where something else is wrong with its game."""
        wrong = self._wrong
        return wrong + [self._due_soon(*row) for row in self._soon if row[0].id in self._troubled]

    @cached_property
    def soon(self) -> list[Case]:
        """Turns that are due soon in games without trouble."""
        return [self._due_soon(*row, alone=True) for row in self._soon if row[0].id not in self._troubled]

    @property
    def kinds(self) -> list[tuple[str, int, int]]:
        """The kinds of issues that the search knows, each with how many there are and how many are shown."""
        listed = {
            "late": [self.late],
            "mail": [self.unsent, self.unreached, self.refused],
            "stuck": [self.stuck],
            "aside": [self.on_hold],
            "away": [self.on_autopilot],
        }
        return [
            (kind, sum(each.count for each in lists), sum(len(each.rows) for each in lists))
            for kind, lists in listed.items()
        ]

    @property
    def later(self) -> int:
        """How many turns are due soon. Of turns that are not shown, all are due later than those that are."""
        return self.late.count - len(self.late.rows) + len(self.soon) if self.soon else 0

    @property
    def total(self) -> int:
        """How many things need attention."""
        return self.alerts.count + sum(count for _kind, count, _shown in self.kinds) - self.later

    @property
    def cut_off(self) -> list[tuple[str, int]]:
        """The kinds of which not all are shown, with how many there are."""
        return [(kind, count) for kind, count, shown in self.kinds if count > shown]

    @property
    def clear(self) -> list[str]:
        """The kinds of which there are none, unless there is nothing at all."""
        return [kind for kind, count, _shown in self.kinds if not count] if self.total else []

    @property
    def has_lost_mail(self) -> bool:
        """Whether addresses have failed, so that an outage of our own mail server may be the cause."""
        return bool(self.unreached.count or self.refused.count)

    @staticmethod
    def by_game(cases: Iterable[Case]) -> list[list[Case]]:
        """Return cases with those of one game together, where the first of them stands."""
        groups: dict[str, list[Case]] = {}
        for case in cases:
            groups.setdefault(case.game_id, []).append(case)
        return list(groups.values())

    @cached_property
    def _wrong(self) -> list[Case]:
        clock_first = sorted(self.alerts.rows, key=lambda row: row[0].key != operations.CLOCK_JUMPED)
        return [
            *(self._alert(*row) for row in clock_first),
            *(self._held(*row) for row in self.on_hold.rows),
            *(self._overdue(*row) for row in self.late.rows if row[2].due_at <= self.now),
            *(self._unreachable(*row) for row in self.unreached.rows),
            *(self._not_sent(*row) for row in self.unsent.rows),
            *(self._stalled(*row) for row in self.stuck.rows),
            *(self._played_for(*row) for row in self.on_autopilot.rows),
            *(self._rejected(*row) for row in self.refused.rows),
        ]

    @property
    def _soon(self) -> list[tuple[Game, Seat, Turn]]:
        return [row for row in self.late.rows if row[2].due_at > self.now]

    @cached_property
    def _troubled(self) -> set[str]:
        return {case.game_id for case in self._wrong}

    def _alert(self, alert: Alert, game: Game | None) -> Case:
        said = explained(alert.text)
        advice = ADVICE.get(alert.text.code, "")
        sentences: list[Sentence] = [("%(said)s", {"said": said.sentence}), (advice, {})]
        return Case(
            game,
            "bad",
            N_("Alert"),
            [sentence for sentence in sentences if sentence[0]],
            words=said.words,
            when=format_moment(alert.at, self.zone),
            alert=alert,
        )

    def _held(self, game: Game) -> Case:
        why = explained(game.quarantine).sentence
        text = N_("This game is on hold: %(why)s")
        remedies = [("resume", None), ("void", None)]
        return Case(game, "bad", N_("On hold"), [(text, {"why": why})], remedies=remedies)

    def _overdue(self, game: Game, seat: Seat, turn: Turn) -> Case:
        assert turn.due_at is not None
        values = {
            "name": _called(game, seat),
            "time": format_moment(turn.due_at, self.zone, self.now),
        }
        text = N_("%(name)s, due %(time)s; the server plays next.")
        return Case(game, "bad", N_("Late"), [(text, values)], remedies=[("extend", seat.seat)])

    def _due_soon(self, game: Game, seat: Seat, turn: Turn, alone: bool = False) -> Case:
        assert turn.due_at is not None
        tag = "" if alone else N_("Due soon")
        return Case(game, "gold", tag, remedies=[("extend", seat.seat)], due=(seat, turn.due_at))

    def _unreachable(self, game: Game, seat: Seat, person: Person, turn: Turn | None) -> Case:
        said = explained(person.suppressed or person.unreachable or (turn.refused if turn else None))
        text = N_("Email to %(name)s is failing: %(said)s")
        sentences: list[Sentence] = [(text, {"name": _called(game, seat), "said": said.sentence})]
        if turn and turn.refused_at:
            stopped = format_moment(turn.refused_at, self.zone)
            sentences.append((N_("The clock has been stopped since %(time)s."), {"time": stopped}))
        remedies = [("remail", seat.seat), ("replace", seat.seat)]
        runs = game.status == GameStatus.RUNNING
        return Case(game, "bad", N_("Unreachable"), sentences, said.words, remedies=remedies if runs else [])

    def _not_sent(self, game: Game, seat: Seat, turn: Turn) -> Case:
        values = {
            "name": _called(game, seat),
            "time": format_moment(turn.opened_at, self.zone),
        }
        text = N_("%(name)s has been to move since %(time)s, but the email has not been sent yet.")
        return Case(game, "gold", N_("Email not sent"), [(text, values)], remedies=[("remail", seat.seat)])

    def _stalled(self, game: Game, _last: object) -> Case:
        why, remedy = "", "note"
        if game.id in self.unattended:
            why, remedy = (
                N_(
                    "The game is paused because nobody is responding. It resumes as soon as a player returns."
                ),
                "replace",
            )
        elif game.paused:
            why, remedy = N_("The game is paused."), "resume"
        last = {"time": format_moment(self.last[game.id], self.zone)}
        sentences: list[Sentence] = [(why, {}), (N_("Last entry: %(time)s."), last)]
        told = [sentence for sentence in sentences if sentence[0]]
        return Case(game, "gold", N_("Stalled"), told, remedies=[(remedy, None)])

    def _played_for(self, game: Game, seat: Seat) -> Case:
        tag = N_("has left") if seat.left else N_("on autopilot")
        text = N_("The server is playing for %(name)s.")
        kind = "gold" if seat.left else ""
        return Case(
            game,
            kind,
            tag,
            [(text, {"name": _called(game, seat)})],
            remedies=[("replace", seat.seat)],
        )

    def _rejected(self, mail: Mail, person: Person, game: Game | None) -> Case:
        said = explained(mail.error)
        return Case(
            game,
            "",
            N_("Email rejected"),
            [(N_("delivery failed: %(why)s"), {"why": said.sentence})],
            words=said.words,
            when=format_moment(mail.not_before, self.zone),
            mail=(mail.kind, person.name),
        )
