"""What pages about a game before its first move decide: how its players stand, and what its organiser can do.

Sentences are marked here and translated in `templates/lobby/`, which fill in names and numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from server.community import reliability
from server.i18n import N_
from server.lobby.invitations import REMINDER_INTERVAL
from server.play import names
from server.store.models import GameStatus, Mail, MailStatus, SeatStatus
from server.store.statements import GameRow, SeatRow


@dataclass(frozen=True, slots=True)
class PlayerLine:
    """A seat of a game that has not begun, as others read it.

    Args:
        own: whether it is the reader's.
        shown: how reliably its player answers, if that is told.
    """

    game: GameRow
    seat: SeatRow
    own: bool = False
    shown: reliability.Shown | None = None

    @property
    def role(self) -> str:
        """Who sits there, if it is the reader or the organiser."""
        if self.own:
            return N_("you")
        is_organiser = self.seat.person_id and self.seat.person_id == self.game.organiser_id
        return N_("organiser") if is_organiser else ""

    @property
    def reliability(self) -> reliability.Shown | None:
        """How reliably the player answers; the reader and bots need no telling."""
        told = self.seat.status == SeatStatus.SEATED and not self.own and not self.seat.bot
        return self.shown if told else None

    @property
    def state(self) -> str:
        """What has become of the seat; empty where its level or reliability is told instead, or nothing."""
        asked = self.game.status == GameStatus.ASKED
        match self.seat.status:
            case SeatStatus.SEATED:
                return "" if self.own or self.seat.bot or self.reliability else N_("seated")
            case SeatStatus.DECLINED:
                return N_("declined")
            case SeatStatus.INVITED if asked:
                return "" if self.own else N_("not invited yet")
            case SeatStatus.INVITED:
                return N_("not answered yet") if self.own else N_("invited")
        return ""


def player_lines(
    game: GameRow, seats: Sequence[SeatRow], own: int | None, shown: Mapping[int, reliability.Shown]
) -> list[PlayerLine]:
    """Return the seats of a game as one reader sees them.

    Args:
        own: the number of the reader's seat, if they have one.
        shown: how reliably people answer, by person.
    """
    return [PlayerLine(game, seat, own == seat.seat, shown.get(seat.person_id or 0)) for seat in seats]


@dataclass(frozen=True, slots=True)
class OrganisedSeat:
    """A seat of a game that has not begun, as its organiser sees it, and what helps.

    Args:
        mail: the newest invitation or reminder to its person.
        is_next: whether the form at the top of the page invites to it.
        is_typed: whether what was typed about it was refused.
        is_reminded: whether its person has just been reminded.
        refused: whether the page shows a refusal at all.
    """

    seat: SeatRow
    now: datetime
    mail: Mail | None = None
    is_next: bool = False
    is_typed: bool = False
    is_reminded: bool = False
    refused: bool = False

    @property
    def has_failed(self) -> bool:
        """Whether the mail server rejected the invitation."""
        failed = self.mail is not None and self.mail.status == MailStatus.FAILED
        return self.seat.status == SeatStatus.INVITED and failed

    @property
    def is_open(self) -> bool:
        """Whether somebody else is needed."""
        return self.seat.status in (SeatStatus.DECLINED, SeatStatus.FREE) or self.has_failed

    @property
    def tag(self) -> tuple[str, str] | None:
        """What has become of the seat: a class of colour, and words; None for a free one and a bot's."""
        if self.has_failed:
            return (" bad", N_("email rejected"))
        if self.seat.bot:
            return None
        tags = {
            SeatStatus.SEATED: (" good", N_("seated")),
            SeatStatus.DECLINED: (" bad", N_("declined")),
            SeatStatus.INVITED: ("", N_("invited")),
        }
        return tags.get(SeatStatus(self.seat.status))

    @property
    def may_be_reminded(self) -> bool:
        """Whether the person was invited a day ago, whether or not their email was held back."""
        invited_at = self.seat.invited_at
        early = invited_at is not None and invited_at > self.now - REMINDER_INTERVAL
        waits = self.seat.status == SeatStatus.INVITED and not self.has_failed
        return waits and not self.is_reminded and not early

    @property
    def has_more(self) -> bool:
        """Whether something more can be done than the form at the top and the buttons in view do."""
        return not self.is_next or self.seat.status != SeatStatus.FREE

    @property
    def more(self) -> str:
        """What that is called."""
        if self.is_open and not self.is_next:
            return N_("Invite someone else")
        return N_("Replace") if self.seat.status == SeatStatus.INVITED else N_("Change")

    @property
    def is_unfolded(self) -> bool:
        """Whether it is in view: something was refused there, or the invitation did not arrive."""
        return self.is_wrong or (self.has_failed and not self.refused)

    @property
    def is_wrong(self) -> bool:
        """Whether the refusal belongs to the form at this seat, and not to the one at the top."""
        return self.is_typed and not self.is_next


@dataclass(frozen=True, slots=True)
class OrganiserPage:
    """What the organiser's page decides.

    Args:
        own: the organiser's seat, if they play.
        mails: the newest invitation or reminder of each person.
        sizes: the numbers of players that the rules allow.
        typed: the form that was refused, empty if none was.
        reminded: the seat whose person has just been reminded.
    """

    game: GameRow
    seats: Sequence[SeatRow]
    own: SeatRow | None
    now: datetime
    sizes: Collection[int]
    mails: Mapping[int, Mail] = field(default_factory=dict)
    typed: Mapping[str, str] = field(default_factory=dict)
    reminded: SeatRow | None = None

    def _of(self, status: SeatStatus) -> list[SeatRow]:
        return [seat for seat in self.seats if seat.status == status]

    @property
    def seated(self) -> int:
        """How many seats are taken."""
        return len(self._of(SeatStatus.SEATED))

    @property
    def free(self) -> list[SeatRow]:
        """The free seats."""
        return self._of(SeatStatus.FREE)

    @property
    def guests(self) -> list[SeatRow]:
        """The seats of others who are, or are to be, invited."""
        invited = self._of(SeatStatus.INVITED)
        return [seat for seat in invited if seat.person_id != self.game.organiser_id]

    @property
    def next(self) -> SeatRow | None:
        """The seat to which the form at the top invites: the first free one, else one that was declined."""
        open_seats = [*self.free, *self._of(SeatStatus.DECLINED)]
        is_inviting = self.game.status == GameStatus.INVITING
        return next(iter(open_seats), None) if is_inviting else None

    @property
    def lines(self) -> list[OrganisedSeat]:
        """The seats, in the order of play."""
        return [
            OrganisedSeat(
                seat,
                self.now,
                self.mails.get(seat.person_id or 0),
                is_next=seat is self.next,
                is_typed=self.typed.get("seat") == str(seat.seat),
                is_reminded=seat is self.reminded,
                refused=bool(self.typed),
            )
            for seat in self.seats
        ]

    @property
    def asked(self) -> list[str]:
        """The names of those who have been invited and not answered."""
        waiting = [line for line in self.lines if line.seat.status == SeatStatus.INVITED]
        return [names.of(self.game, line.seat, names.ORGANISER) for line in waiting if not line.has_failed]

    @property
    def only_answers_are_missing(self) -> bool:
        """Whether the game starts once those who were asked accept."""
        return bool(self.asked) and not self.next and not any(line.has_failed for line in self.lines)

    @property
    def may_start(self) -> bool:
        """Whether those who are seated are enough to begin, and not too many."""
        return self.seated in self.sizes

    @property
    def needs_others(self) -> bool:
        """Whether too few are seated, and nobody who was asked can still fill the table."""
        return not self.may_start and not self.asked

    @property
    def may_lose_seat(self) -> bool:
        """Whether the game can be played with a seat less."""
        return len(self.seats) - 1 in self.sizes

    @property
    def question(self) -> str:
        """The heading before the game is confirmed."""
        if self.guests:
            return N_("Ready to invite?")
        return N_("Ready to open the table?") if self.free else N_("Ready to start?")

    @property
    def confirmation(self) -> str:
        """What the button that confirms the game says."""
        plays = self.own is not None
        if self.guests:
            return N_("Take my seat and send the invitations") if plays else N_("Send the invitations")
        if self.free:
            return N_("Take my seat and open the table") if plays else N_("Open the table")
        return N_("Take my seat and start") if plays else N_("Start the game")

    @property
    def takes_own_seat(self) -> bool:
        """Whether the organiser cuts the deck with the button that confirms the game."""
        return self.own is not None and self.own.status == SeatStatus.INVITED

    @property
    def shuffles(self) -> bool:
        """Whether the seats are to be shuffled: as it was typed, else if several people are invited."""
        if self.typed:
            return bool(self.typed.get("shuffle"))
        return len(self._of(SeatStatus.INVITED)) > 1
