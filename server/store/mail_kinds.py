"""The kinds of emails: one declaration for each, with everything that other code asks about a kind.

A new email is a declaration here, a template `templates/mail/KIND.html`, and a call that queues it. No other code names
a kind (tests/server/store/test_mail_kinds.py): it asks the declaration, and queries ask the tuples at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Self

from server.i18n import N_


class LinkPurpose(StrEnum):
    """What a link opens; the column has its text."""

    SEAT = "seat"
    STOP = "stop"
    INVITE = "invite"
    ORGANISE = "organise"
    SIGNIN = "signin"
    REPLY = "reply"
    TALK = "talk"
    FEED = "feed"
    NOINVITE = "noinvite"
    NOPLAYERS = "noplayers"
    KEEP = "keep"
    WISH = "wish"
    MOVE = "move"
    OBJECT = "object"


class Reader(Enum):
    """To whom emails of a kind go."""

    PLAYER = "holds a seat in the game and has not left it"
    INVITED = "was named by somebody else and may never have used this server"
    ORGANISER = "organises the game"
    IN_CHARGE = "organises the game or moderates; the email is about the seat of somebody else"
    ADDRESS = "reads the address that a visitor has typed"
    PERSON = "has used this server before"


class Stop(Enum):
    """What readers stop by unsubscribing."""

    GAME = "the emails of a game"
    TALK = "emails about nothing but table talk"
    INVITATIONS = "invitations"
    PLAYERS = "emails about the players of their games"
    OPEN_TABLES = "emails about open tables"
    ALL = "all emails but those that they request"


class Requires(Enum):
    """What must still hold when an email is sent; `server/mail/outgoing/relevance.py` has a check for each."""

    TURN_OPEN = "the turn is open"
    TIME_LEFT = "the turn is open, and its time is not up"
    GAME_OVER = "the game is over"
    INVITED = "the invitation is open"
    UNCONFIRMED = "the game has not been confirmed"
    LINK_LIVE = "the link that was made for the email still works"
    DIGEST_DUE = "turns wait for the daily email"
    TABLE_WAITS = "the open table still ends when the email says"
    TABLES_WAIT = "one of the open tables still waits for players"
    TALK_UNREAD = "something that was said has not been read"


class Lists(Enum):
    """What an email lists that covers all games of its reader."""

    DIGEST_TURNS = "turns that wait for the daily email"
    TURNS = "open turns"
    INVITATIONS = "held invitations"


class TurnOf(Enum):
    """Which turn an email is about."""

    MAIL = "the one for which it was queued"
    READER = "the one that its reader has when it is sent"


class Content(Enum):
    """What an email tells besides its own details; `server/mail/outgoing/view.py` has a builder for each."""

    DETAILS = "nothing else"
    TURN = "what the reader is to decide, and what has happened"
    INVITATION = "the game to which the reader is invited"
    HELD = "several such games"
    OVERVIEW = "all games in which it is the reader's turn"
    ENTRIES = "entries of the log"
    ENDING = "how a game ended"
    ANSWER = "what came of an email of the reader"
    ANSWERS = "who has answered an invitation"
    TABLES = "open tables"


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """What holds for all emails of a kind.

    Args:
        label: what moderators and players read in lists of emails.
        to: to whom it goes.
        subject: None for the name of the game, by which mail programs group emails. Nothing that a stranger has
            typed stands in the subject of an email to somebody who is only invited.
        link: the link of its reader that it carries, unless its details name another. Of those in charge, only the
            organiser has one.
        turn: the turn that it is about, if any.
        content: what it tells.
        requires: what must still hold when it is sent; None: it reports the past and stays true.
        stop: what unsubscribing stops; None if readers have requested it, so that it cannot be stopped.
        immediate: it is sent in quiet hours, too, as is what was requested: no clock counts those hours.
        merges_into: kinds of emails about the same game to the same reader that can include its news.
        lists: what it lists if it covers all games of its reader.
        starts_clocks: its acceptance starts the clock of its turn, or of the turns that it lists.
        reminder: it repeats what another email has told.
        daily: its key names only a day.
        answers_email: it answers an email of its reader. No other player may know that there was one.
        names_another: its details name a person who is not the reader.
        farewell: it is the last one about a game, to somebody without a seat there.
        keeps_details: they are read after it was sent.
        ask_again: if it goes out a day late, it has no link and says that its reader may ask once more.
        numerous: most emails are of this kind; an index of the others leaves it out.
        failure_reported: those in charge of the game hear of it if it cannot be delivered.
    """

    label: str
    to: Reader
    subject: str | None = None
    link: LinkPurpose | None = None
    turn: TurnOf | None = None
    content: Content = Content.DETAILS
    requires: Requires | None = None
    stop: Stop | None = Stop.GAME
    immediate: bool = False
    merges_into: tuple[str, ...] = ()
    lists: Lists | None = None
    starts_clocks: bool = False
    reminder: bool = False
    daily: bool = False
    answers_email: bool = False
    names_another: bool = False
    farewell: bool = False
    keeps_details: bool = False
    ask_again: bool = False
    numerous: bool = False
    failure_reported: bool = True

    @property
    def requested(self) -> bool:
        """Whether a person has just requested it, or it is about a change of their address: nothing stops it."""
        return self.stop is None

    @property
    def counts(self) -> bool:
        """Whether it counts among the emails that one visitor can cause: it may reach somebody whom they only named."""
        return self.to in (Reader.ADDRESS, Reader.INVITED)

    @property
    def invites(self) -> bool:
        """Whether it invites: a reader may want no such email, ever."""
        return self.stop is Stop.INVITATIONS

    @property
    def about_turn(self) -> bool:
        """Whether it was queued for a turn."""
        return self.turn is TurnOf.MAIL

    @property
    def has_own_link(self) -> bool:
        """Whether a link was made for it when it was queued, which its details name."""
        return self.requires is Requires.LINK_LIVE


UNKNOWN = Declaration(label="", to=Reader.ADDRESS)
"""What holds for a kind that nobody has declared, such as one of a newer version: it is on the safe side."""


class MailKind(StrEnum):
    """The kinds; the column `kind` of a mail has their texts."""

    declared: Declaration

    def __new__(cls, stored: str, declared: Declaration) -> Self:
        """Make a member: the text that is stored, with its declaration."""
        kind = str.__new__(cls, stored)
        kind._value_ = stored
        kind.declared = declared
        return kind

    CONFIRM = (
        "confirm",
        Declaration(
            label=N_("Game confirmation email"),
            to=Reader.ADDRESS,
            subject=N_("Byzanz: confirm your game"),
            link=LinkPurpose.ORGANISE,
            requires=Requires.UNCONFIRMED,
            stop=None,
            keeps_details=True,
        ),
    )
    INVITE = (
        "invite",
        Declaration(
            label=N_("Invitation"),
            to=Reader.INVITED,
            link=LinkPurpose.INVITE,
            content=Content.INVITATION,
            requires=Requires.INVITED,
            stop=Stop.INVITATIONS,
        ),
    )
    REMIND_INVITATION = (
        "nudge",
        Declaration(
            label=N_("Invitation reminder"),
            to=Reader.INVITED,
            link=LinkPurpose.INVITE,
            content=Content.INVITATION,
            requires=Requires.INVITED,
            stop=Stop.INVITATIONS,
            reminder=True,
        ),
    )
    HELD = (
        "held",
        Declaration(
            label=N_("Invitations of a day"),
            to=Reader.INVITED,
            content=Content.HELD,
            requires=Requires.INVITED,
            stop=Stop.INVITATIONS,
            merges_into=("held",),
            lists=Lists.INVITATIONS,
        ),
    )
    CANCELLED = (
        "cancelled",
        Declaration(label=N_("Email about a game called off"), to=Reader.INVITED, farewell=True),
    )
    SEATED = (
        "seated",
        Declaration(label=N_("Seat confirmation"), to=Reader.PLAYER, stop=None),
    )
    TURN = (
        "turn",
        Declaration(
            label=N_("Turn email"),
            to=Reader.PLAYER,
            link=LinkPurpose.SEAT,
            turn=TurnOf.MAIL,
            content=Content.TURN,
            requires=Requires.TURN_OPEN,
            immediate=True,
            starts_clocks=True,
            numerous=True,
        ),
    )
    REMIND_TURN = (
        "remind",
        Declaration(
            label=N_("Reminder"),
            to=Reader.PLAYER,
            link=LinkPurpose.SEAT,
            turn=TurnOf.MAIL,
            content=Content.TURN,
            requires=Requires.TIME_LEFT,
            reminder=True,
        ),
    )
    DIGEST = (
        "digest",
        Declaration(
            label=N_("Daily email"),
            to=Reader.PERSON,
            subject=N_("Byzanz: your games"),
            content=Content.OVERVIEW,
            requires=Requires.DIGEST_DUE,
            stop=Stop.ALL,
            immediate=True,
            lists=Lists.DIGEST_TURNS,
            starts_clocks=True,
            daily=True,
            keeps_details=True,
        ),
    )
    GAMES = (
        "games",
        Declaration(
            label=N_("Email with links to all games"),
            to=Reader.PERSON,
            subject=N_("Byzanz: your games"),
            content=Content.OVERVIEW,
            stop=None,
            lists=Lists.TURNS,
        ),
    )
    TIMEOUT = (
        "timeout",
        Declaration(
            label=N_("Timeout email"),
            to=Reader.PLAYER,
            link=LinkPurpose.SEAT,
            content=Content.ENTRIES,
            merges_into=("turn", "over", "timeout"),
        ),
    )
    AUTOPILOT = (
        "autopilot",
        Declaration(
            label=N_("Autopilot email"),
            to=Reader.PLAYER,
            link=LinkPurpose.SEAT,
            content=Content.ENTRIES,
        ),
    )
    ACT = (
        "act",
        Declaration(
            label=N_("Email about a moderator action"),
            to=Reader.PLAYER,
            link=LinkPurpose.SEAT,
            content=Content.ENTRIES,
            merges_into=("turn", "over", "act"),
        ),
    )
    OVER = (
        "over",
        Declaration(
            label=N_("Game over email"),
            to=Reader.PLAYER,
            link=LinkPurpose.SEAT,
            content=Content.ENDING,
            requires=Requires.GAME_OVER,
        ),
    )
    TALK = (
        "talk",
        Declaration(
            label=N_("Table talk email"),
            to=Reader.PLAYER,
            link=LinkPurpose.SEAT,
            requires=Requires.TALK_UNREAD,
            stop=Stop.TALK,
            merges_into=("turn", "over", "talk"),
        ),
    )
    ANSWER = (
        "answer",
        Declaration(
            label=N_("Answer to an email"),
            to=Reader.PERSON,
            link=LinkPurpose.SEAT,
            turn=TurnOf.READER,
            content=Content.ANSWER,
            stop=None,
            answers_email=True,
        ),
    )
    LEFT = (
        "left",
        Declaration(label=N_("Email about leaving the game"), to=Reader.PERSON, link=LinkPurpose.SEAT),
    )
    REPLACED = (
        "replaced",
        Declaration(label=N_("New seat email"), to=Reader.PLAYER, link=LinkPurpose.SEAT),
    )
    FORMER = (
        "former",
        Declaration(label=N_("Lost seat email"), to=Reader.PERSON, farewell=True),
    )
    ANSWERED = (
        "answered",
        Declaration(
            label=N_("Email about an invitation answer"),
            to=Reader.ORGANISER,
            link=LinkPurpose.ORGANISE,
            content=Content.ANSWERS,
            stop=Stop.PLAYERS,
            merges_into=("answered",),
            names_another=True,
        ),
    )
    OPEN_TABLE = (
        "open_table",
        Declaration(
            label=N_("Email about an open table that ends soon"),
            to=Reader.ORGANISER,
            link=LinkPurpose.ORGANISE,
            requires=Requires.TABLE_WAITS,
            stop=Stop.PLAYERS,
        ),
    )
    REFUSED = (
        "refused",
        Declaration(
            label=N_("Delivery failure email"),
            to=Reader.IN_CHARGE,
            link=LinkPurpose.ORGANISE,
            stop=Stop.PLAYERS,
            names_another=True,
            failure_reported=False,
        ),
    )
    VACANT = (
        "vacant",
        Declaration(
            label=N_("Request for a substitute"),
            to=Reader.IN_CHARGE,
            link=LinkPurpose.ORGANISE,
            stop=Stop.PLAYERS,
            names_another=True,
        ),
    )
    WISH = (
        "wish",
        Declaration(
            label=N_("Email about open tables"),
            to=Reader.PERSON,
            subject=N_("Byzanz: open tables"),
            content=Content.TABLES,
            requires=Requires.TABLES_WAIT,
            stop=Stop.OPEN_TABLES,
        ),
    )
    SIGNIN = (
        "signin",
        Declaration(
            label=N_("Sign-in email"),
            to=Reader.ADDRESS,
            subject=N_("Your Byzanz sign-in link"),
            requires=Requires.LINK_LIVE,
            stop=None,
            ask_again=True,
        ),
    )
    FRESH = (
        "fresh",
        Declaration(label=N_("Email with a link"), to=Reader.ADDRESS, link=LinkPurpose.SEAT, stop=None),
    )
    KEEP = (
        "keep",
        Declaration(
            label=N_("Email to keep a game"),
            to=Reader.ADDRESS,
            requires=Requires.LINK_LIVE,
            stop=None,
            ask_again=True,
        ),
    )
    MOVE = (
        "move",
        Declaration(
            label=N_("Email to confirm an address"),
            to=Reader.ADDRESS,
            subject=N_("Byzanz: your new address"),
            requires=Requires.LINK_LIVE,
            stop=None,
        ),
    )
    MOVING = (
        "moving",
        Declaration(
            label=N_("Email about a new address"),
            to=Reader.PERSON,
            subject=N_("Byzanz: your address is about to change"),
            requires=Requires.LINK_LIVE,
            stop=None,
        ),
    )
    MOVED = (
        "moved",
        Declaration(
            label=N_("Email about a changed address"),
            to=Reader.PERSON,
            subject=N_("Byzanz: the change of your address"),
            stop=None,
        ),
    )


_DECLARED: dict[str, Declaration] = {kind.value: kind.declared for kind in MailKind}


def of(kind: str) -> Declaration:
    """Return what holds for a kind."""
    return _DECLARED.get(kind, UNKNOWN)


# ---- kinds, as queries name them ----

INVITATIONS = tuple(kind.value for kind in MailKind if kind.declared.invites)
"""Those that invite: one invitation, a reminder of it, or several that were held for a day."""
SINGLE_INVITATIONS = tuple(kind for kind in INVITATIONS if of(kind).lists is None)
HELD_INVITATIONS = tuple(kind for kind in INVITATIONS if of(kind).lists is not None)
INVITATION_REMINDERS = tuple(kind for kind in INVITATIONS if of(kind).reminder)
ABOUT_A_TURN = tuple(kind.value for kind in MailKind if kind.declared.about_turn)
FIRST_ABOUT_A_TURN = tuple(kind for kind in ABOUT_A_TURN if of(kind).starts_clocks)
NAMING_ANOTHER = tuple(kind.value for kind in MailKind if kind.declared.names_another)
ANSWERS_TO_EMAILS = tuple(kind.value for kind in MailKind if kind.declared.answers_email)
KEEPING_DETAILS = tuple(kind.value for kind in MailKind if kind.declared.keeps_details)
NUMEROUS = tuple(kind.value for kind in MailKind if kind.declared.numerous)
