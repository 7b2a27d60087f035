"""What a seat's page decides: which sentences it says, what it leads to, what it leaves out; and the form of a move.

Sentences are marked here and translated in `templates/seat/`, which fill in names and times.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from flask_babel import gettext as _
from flask_babel import ngettext
from sqlalchemy.orm import Session
from werkzeug.datastructures import MultiDict

from byzanz import record, umpire
from byzanz.games import rules_of
from byzanz.moves import Outcome, RulesError, UnreadableMove
from byzanz.record import Cause
from server import play
from server.accounts import login
from server.community import talk
from server.i18n import N_
from server.play import history as play_history
from server.play import turns
from server.play.game import Table
from server.play.positions import Position
from server.play.turns import Times
from server.store import links, log
from server.store.links import SeatAccess
from server.store.models import GameStatus, Link, LinkPurpose
from server.store.statements import OrderRow, SeatRow
from server.validation import whole_number
from server.web.game import history
from server.web.game.history import HistoryLine, WordLine
from server.web.game.pages import clocks
from server.web.http import refusal_text

DONE = {
    "said": N_("The table can read it."),
    "masked": N_(
        "The table can read it, with [address] and [link] in place of email addresses and personal links."
    ),
    "reported": N_("Thank you. A moderator will look at it."),
    "muted": N_("You no longer read what this player says. Your account page can undo this."),
    "deleted": N_("Deleted."),
    "noted": N_("Saved."),
}
"""What the page confirms."""


@dataclass(frozen=True, slots=True)
class TalkPanel:
    """Table talk below the log.

    Args:
        shown: whether there is anybody to talk to, or was.
        closed: why the player cannot say anything now; empty if they can.
        words: whether the page shows something that was said.
        done: what the page confirms, one of DONE; empty for nothing.
    """

    shown: bool
    closed: str
    words: bool
    request_id: str
    done: str = ""
    longest: int = talk.LONGEST

    @property
    def confirmed(self) -> str:
        """The sentence about what was said or done; empty for notes, whose own panel has it."""
        return DONE[self.done] if self.done not in ("", "noted") else ""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why the page is shown again.

    Args:
        sentence: for the top of the page.
        at_hand: whether the ticked cards are to blame.
    """

    sentence: str
    at_hand: bool = False


@dataclass(frozen=True, slots=True)
class TurnPage:
    """What a seat's page decides; the template lays it out and fills names and times into the sentences.

    Args:
        typed: the form that was sent here, if any; its texts stay in their fields.
        due: the times of the seats that are to move, None while a clock waits for its email.
        view: what the seat sees; None before the first move.
        answers: its moves by verb; fallback: what is played if it does not answer.
        lines: the log since the player's last move; woven: with what was said; before: what came before that move.
        played: the move that led here; changed_since: the page was refused because the table had moved on.
        next: the player's other open turns, if this browser may know them.
    """

    table: Table
    number: int
    typed: Mapping[str, str]
    now: datetime
    due: Mapping[int, Times | None] = field(default_factory=dict)
    view: Any = None
    outcome: Outcome | None = None
    unattended: bool = False
    answers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    fallback: str | None = None
    lines: Sequence[HistoryLine] = ()
    woven: Sequence[HistoryLine | WordLine] = ()
    before: Sequence[HistoryLine | WordLine] = ()
    played: HistoryLine | None = None
    changed_since: bool = False
    problem: Problem | None = None
    orders: Sequence[OrderRow] | None = None
    talk: TalkPanel | None = None
    notes: str | None = None
    unsaid: str | None = None
    next: Sequence[tuple[str, str]] | None = None

    @classmethod
    def of(cls, context: Mapping[str, Any], **more: Any) -> TurnPage:
        """Return the page of what its template gets."""
        names = (each.name for each in fields(cls))
        return cls(**{name: context[name] for name in names if name in context}, **more)

    @property
    def seat(self) -> SeatRow:
        """The reader's seat."""
        return self.table.seats[self.number]

    @property
    def asked(self) -> bool:
        """Whether the reader is to move."""
        return bool(self.view and self.view.question and self.answers)

    @property
    def waiting(self) -> int:
        """In how many games the reader is to move, as far as this browser may know."""
        return len(self.next or ()) + self.asked

    @property
    def over_the_table(self) -> bool:
        """Whether the move that led here stands in a strip; else it is the heading."""
        return bool(self.asked or self.outcome or self.table.game.paused)

    @property
    def clockless(self) -> str:
        """Why no clock of the reader's runs; empty if it does."""
        if self.table.game.trial:
            return N_("No clock runs: take your time.")
        if self.due.get(self.number):
            return ""
        if self.seat.person is not None and self.seat.person.cadence == "digest":
            return N_(
                "Your clock starts when your daily email lists this turn, no later than a day after it began."
            )
        return N_("Your clock starts when the email is sent.")

    @property
    def clocks(self) -> list[tuple[int, Times, bool]]:
        """The clocks that run, by seat, each with whether only the time left of it is said."""
        return clocks(self.due, self.now)

    @property
    def meanwhile(self) -> str:
        """What a reader who is not to move can expect; nothing while the server plays for them."""
        if self.table.game.trial:
            return N_("The others are playing.")
        return "" if self.seat.left or self.seat.autopilot else N_("We will email you.")

    @property
    def substitute(self) -> str:
        """That the server plays for the reader, who can take the seat back."""
        if not self.view or self.outcome or not self.seat.autopilot:
            return ""
        if self.seat.left:
            return N_(
                "You left this game. The server plays for you until someone else takes your seat; "
                "until then you can come back."
            )
        return N_("Your seat is on autopilot: the default move is played for you immediately.")

    @property
    def timed_out(self) -> list[HistoryLine]:
        """What was played for the reader since, because they ran out of time."""
        own = [line for line in self.lines if line.entry.by == Cause.CLOCK and line.entry.seat == self.number]
        counts = [line for line in own if self.number not in line.former and not line.act]
        return [line for line in counts if not line.voided] if self.view and not self.outcome else []

    @property
    def marked(self) -> list[record.Entry]:
        """The moves whose changes the table marks."""
        lines = () if self.outcome else self.lines
        return [line.entry for line in lines if not line.act and not line.voided]

    @property
    def newest(self) -> list[HistoryLine | WordLine]:
        """The log since the player's last move, the newest first."""
        return list(reversed(self.woven))

    @property
    def away(self) -> list[SeatRow]:
        """The other seats for which the server is playing."""
        others = [] if self.outcome else self.table.seats
        return [seat for seat in others if seat.autopilot and seat.seat != self.number]

    @property
    def news_title(self) -> str:
        """The heading of what happened."""
        return N_("Meanwhile") if self.changed_since or self.played else N_("While you were away")

    @property
    def may_leave(self) -> bool:
        """Whether the page leads to leaving the game."""
        return not (self.outcome or self.seat.left or self.table.game.trial)

    @property
    def may_play_again(self) -> bool:
        """Whether the reader of a finished game can make the next one."""
        return not (self.table.game.trial or self.seat.left)

    @property
    def has_group(self) -> bool:
        """Whether people have played a game together that has counted."""
        people = [seat for seat in self.table.seats if seat.person_id]
        return bool(self.outcome and self.outcome.winners and len(people) > 1)

    @property
    def default_move(self) -> str | None:
        """What is played if the reader misses the deadline, where there is one."""
        return None if self.table.game.trial else self.fallback

    @property
    def says_along(self) -> bool:
        """Whether words can be sent with the move."""
        return bool(self.asked and self.talk and self.talk.shown and not self.talk.closed)

    @property
    def said_along(self) -> str:
        """The words that came with a move that was refused."""
        return self.typed.get("say", "") if self.problem else ""

    @property
    def log_title(self) -> str:
        """The heading of the log; without one, that of what is left."""
        if self.woven:
            return N_("Since you opened this page") if self.changed_since else N_("Since your last move")
        if self.before:
            return N_("Latest moves")
        return N_("Table talk") if self.talk and self.talk.shown else N_("History")

    @property
    def log_is_folded(self) -> bool:
        """Whether the log is folded: what led to the end is on the page of the game."""
        return bool(self.outcome and self.woven)

    @property
    def log_is_open(self) -> bool:
        """Whether a folded log is open, because something was said."""
        return any(isinstance(line, WordLine) for line in self.woven)

    # Words and notes

    @property
    def note_is_wrong(self) -> bool:
        """Whether it is a note that was refused."""
        return bool(self.unsaid) and "notes" in self.typed

    @property
    def word_is_wrong(self) -> bool:
        """Whether it is something to be said that was refused."""
        return bool(self.unsaid) and "notes" not in self.typed

    @property
    def word(self) -> str:
        """What the field for words holds: what was refused, or came with a move that is no longer possible."""
        along = self.typed.get("say", "") if self.unsaid or not self.asked else ""
        return self.typed.get("text") or along

    @property
    def notes_are_open(self) -> bool:
        """Whether the notes are unfolded: they were just saved, or refused."""
        return self.note_is_wrong or (self.talk is not None and self.talk.done == "noted")

    # Orders, and keeping a visitor's game

    def orders_that(self, status: str) -> list[OrderRow]:
        """Return the orders of this status."""
        return [order for order in self.orders or () if order.status == status]

    @property
    def keep_lead(self) -> str:
        """What a visitor gains by keeping the game."""
        over = self.table.game.status == GameStatus.OVER
        if self.seat.person is not None and self.seat.person.email:
            return (
                N_("This page’s link works for a week. Keep the game, and it keeps working.")
                if over
                else N_(
                    "You are playing against bots: no clock runs, and the game ends after a week. "
                    "Keep it to play on by email."
                )
            )
        return (
            N_("This page’s link works for a week. With your email address, it keeps working.")
            if over
            else N_(
                "You are playing without an account: no clock runs, and this page’s link works for a week. "
                "Keep the game to play on by email."
            )
        )


# ---- a move that a link has chosen beforehand ----


@dataclass(frozen=True, slots=True)
class Preselected:
    """A move named by a link; nothing is played before a button is pressed.

    Args:
        text: the move, canonical; empty if the link names none.
        ticked: the values of the boxes of its cards.
        why: why it cannot be played now; empty if it can.
    """

    text: str
    ticked: tuple[str, ...] = ()
    why: str = ""


def preselected(position: Position, seat: int, text: str) -> Preselected:
    """Check the move that a link names.

    Args:
        text: the move in the URL, which anyone may have written.
    """
    if position.outcome or position.paused:
        return Preselected("", why=_("Nobody is to move in this game now."))
    if not text.isprintable():
        return Preselected("", why=_("The link does not contain a valid answer."))
    rules, state = position.rules, position.state
    move = None
    try:
        move = rules.parse(text[: play.LONGEST_TEXT + 1])
        umpire.play(rules, state, seat, move)
    except RulesError as error:
        return Preselected(str(move or ""), why=refusal_text(error, rules.slug))
    return Preselected(str(move), _boxes(position.view(seat).hand, move.args))


def _boxes(hand: Sequence[str], cards: Sequence[str]) -> tuple[str, ...]:
    """Return the checkboxes of these cards in a hand; duplicates have different numbers."""
    found: dict[str, str] = {}
    for card in cards:
        places = [f"{name}#{number}" for number, name in enumerate(hand) if name == card]
        free = next((box for box in places if box not in found), None)
        if free is not None:
            found[free] = card
    return (*found, *found.values())


# ---- after a move ----


def after_move(
    table: Table,
    access: SeatAccess,
    position: Position,
    own: record.Entry,
    entries: Sequence[record.Entry],
    zone: str,
    elsewhere: Sequence[tuple[str, str]] | None,
) -> dict[str, Any]:
    """Return what seat/played.html shows; no move to show if it was undone since.

    Args:
        position: of the game.
        own: the move that led to the page; entries: those after it.
        zone: the reader's time zone.
        elsewhere: the player's other open turns, None if this browser may not know them; then only counted.
    """
    told = play_history.told(position, [own, *entries])
    (line,) = history.lines_of([own], log.voids_in(entries), zone, told)
    person = access.seat.person
    others = len(elsewhere or ())
    if elsewhere is None and person is not None and person.email is not None:
        others = turns.open_elsewhere(table.session, person.id, table.game.id)
    return {
        "played": None if line.voided else line,
        "others": others,
    }


def next_games(session: Session, access: SeatAccess) -> list[tuple[str, str]] | None:
    """Return name and URL of the person's other open turns, the most urgent first; None if they are not signed in."""
    person = login.signed_in(session)
    if person is None or person.id != access.seat.person_id:
        return None
    games = [game for game, *_ in turns.of_person(session, person.id) if game.id != access.game.id]
    live = (Link.purpose == LinkPurpose.SEAT, Link.person_id == person.id, Link.revoked_at.is_(None))
    newest_first = links.select_rows(session, *live, Link.game_id.in_([game.id for game in games]))
    urls = {link.game_id: links.url(link) for link in reversed(newest_first)}
    return [(game.name, urls[game.id]) for game in games if game.id in urls]


# ---- the form ----

_VERB = re.compile(r"[a-z][a-z-]{0,19}")
_CARD = re.compile(r"[a-z0-9-]{1,40}(#[0-9]{1,3})?")


NO_VERSION = N_("The form lacks the game version it was made from.")


class MalformedForm(Exception):
    """A form that no page of this server sends; the text, to be translated, says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class MoveForm:
    """A submitted move form.

    Args:
        text: the move.
        seen: the newest entry when the page was rendered.
        ticked: values of the ticked boxes, to be ticked again if the move is refused.
    """

    text: str
    seen: int
    request_id: str
    ticked: tuple[str, ...]


def read_form(form: MultiDict[str, str]) -> MoveForm:
    """Read a form strictly: our own pages send nothing else.

    Raises:
        MalformedForm: a field is missing or cannot be what the page sent.
    """
    seen, request_id = whole_number(form.get("seen", ""), log.NO_END), form.get("request_id", "")
    if seen is None:
        raise MalformedForm(NO_VERSION)
    if not play.REQUEST_ID.fullmatch(request_id):
        raise MalformedForm(N_("The form lacks its request ID."))
    ticked = tuple(form.getlist("card"))
    if not all(map(_CARD.fullmatch, ticked)):
        raise MalformedForm(N_("The form names an invalid card."))
    return MoveForm(_move_text(form, ticked), seen, request_id, ticked)


def _move_text(form: MultiDict[str, str], ticked: Iterable[str]) -> str:
    text = form.get(f"move-{form['list']}") if "list" in form else form.get("move")
    if text is not None:
        if len(text) > play.LONGEST_TEXT or not text.isprintable():
            raise MalformedForm(N_("The move in the form is not a single line of text."))
        return text
    verb = form.get("verb", "")
    if not _VERB.fullmatch(verb):
        raise MalformedForm(N_("The form does not say what to do."))
    return " ".join((verb, *(value.partition("#")[0] for value in ticked)))


def why_refused(error: RulesError, slug: str, form: MoveForm) -> str:
    """Return why a move was refused; of ticked cards, that they are too few or too many."""
    places, given = rules_of(slug).grammar.get(form.text.split(" ")[0], ()), len(form.ticked)
    if isinstance(error, UnreadableMove) and given and places and given != len(places):
        said = ngettext(
            "Select %(num)s card, not %(given)s.",
            "Select %(num)s cards, not %(given)s.",
            len(places),
            given=given,
        )
        return str(said)
    return refusal_text(error, slug)
