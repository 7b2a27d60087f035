"""The daily digest: when it is sent, which turns it lists, and when their clocks start.

People who chose it get no mail about single turns. A turn's clock starts when the mail server accepts the digest that
lists it, at the latest a day after the turn opened.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from sqlalchemy import and_, exists, literal_column, select, update
from sqlalchemy.orm import Session

from byzanz import games
from byzanz.record import Cause
from server import i18n, play
from server.mail.outgoing import letters
from server.mail.text import one_line
from server.play import clock, names, positions, turns
from server.play.game import Table, load
from server.play.positions import Broken
from server.store import log, mail_kinds, outbox
from server.store.engine import reading, transaction
from server.store.mail_kinds import Lists, MailKind
from server.store.models import Game, GameStatus, Mail, Person, Seat, SeatStatus, Turn
from server.store.statements import GameRow, MailRow, SeatRow, TurnRow

LOGGER = logging.getLogger(__name__)
NEVER = datetime.max.replace(tzinfo=UTC)

READERS_AT_ONCE = 200
"""Readers looked at in one transaction."""
QUARTER = timedelta(minutes=15)
SETTLED = timedelta(minutes=5)
"""How long after its hour a digest is looked at once more: a turn that opened before it may be committed after it."""
ENDED_LATELY = timedelta(hours=48)
"""For how long a digest names a game that has ended: twice the time between two."""
WANTS_DIGEST = Person.cadence == literal_column("'digest'")
"""The condition of the index by which the next readers are found; a bound value would hide it from the planner."""

DEFAULT_MINUTE = 7 * 60
"""The minute of the day of the digest for people without quiet hours; others get it when theirs end."""


def digest_minute(person: Person) -> int:
    """Return the minute of the day at which a person gets the digest."""
    return DEFAULT_MINUTE if person.quiet_to is None else person.quiet_to


def last_occurrence(zone: str, minute: int, now: datetime) -> tuple[date, datetime]:
    """Return the last time that clocks in a zone showed this minute of the day, and that day."""
    here = i18n.zone(zone)
    day = now.astimezone(here).date()
    while (at := clock.last_shown(here, day, minute)) > now:
        day -= timedelta(days=1)
    return day, at


def next_look(person: Person, now: datetime) -> datetime:
    """Return when the next digest to a reader may be due.

    Without a time zone of their own it comes by that of the game waiting longest, which may be any by then. All zones
    differ by whole quarters of an hour.
    """
    minute = digest_minute(person)
    if person.time_zone is None:
        past = timedelta(minutes=now.minute - minute, seconds=now.second, microseconds=now.microsecond)
        return now - past % QUARTER + QUARTER
    day, at = last_occurrence(person.time_zone, minute, now)
    if now < at + SETTLED:
        return at + SETTLED
    return clock.last_shown(i18n.zone(person.time_zone), day + timedelta(days=1), minute)


def queue_due(now: datetime) -> int:
    """Queue a digest to each person whose digest hour has passed since one of their turns opened; return how many."""
    queued, looked = 0, READERS_AT_ONCE
    while looked == READERS_AT_ONCE:
        looked, more = _queue_some(now)
        queued += more
    return queued


def _queue_some(now: datetime) -> tuple[int, int]:
    """Look at some of the readers to whom a digest may be due; return how many these were, and how many get one."""
    due = select(Person).where(WANTS_DIGEST, Person.digest_at <= now).order_by(Person.digest_at)
    due = due.limit(READERS_AT_ONCE)
    with reading() as session:  # usually there is none, and nothing is written
        if session.scalars(due.limit(1)).first() is None:
            return 0, 0
    with transaction() as session:
        readers = session.scalars(due.with_for_update(skip_locked=True)).all()
        keys = _due_keys(session, [person for person in readers if person.email and not person.silent], now)
        for key, person_id in keys.items():
            outbox.enqueue(session, key=key, kind=MailKind.DIGEST, person_id=person_id, now=now)
        for person in readers:
            person.digest_at = next_look(person, now)
    return len(readers), len(keys)


def _due_keys(session: Session, readers: Sequence[Person], now: datetime) -> dict[str, int]:
    """Return the keys of the digests that are due to these readers and not queued yet, with the readers' ids."""
    waiting = _longest_waiting(session, [person.id for person in readers])
    keys = {}
    for person in readers:
        if person.id in waiting:
            opened_at, zone = waiting[person.id]
            day, at = last_occurrence(person.time_zone or zone, digest_minute(person), now)
            if opened_at <= at:
                keys[f"digest:{person.id}:{day}"] = person.id
    for key in session.scalars(select(Mail.key).where(Mail.key.in_(keys))):
        del keys[key]
    return keys


def _longest_waiting(session: Session, person_ids: Sequence[int]) -> dict[int, tuple[datetime, str]]:
    """Return when the oldest turn that a digest to each person would list opened, and the time zone of its game.

    Open turns are those of active games, so nothing is asked about the game: the planner must not start from there.
    """
    query = (
        select(Seat.person_id, Turn.opened_at, Game.time_zone)
        .join(Turn, (Turn.game_id == Seat.game_id) & (Turn.seat == Seat.seat))
        .join(Game, Game.id == Seat.game_id)
        .where(Seat.person_id.in_(person_ids), Seat.status == SeatStatus.SEATED, ~Seat.silent, ~Game.trial)
        .order_by(Turn.opened_at, Turn.game_id)
    )
    found: dict[int, tuple[datetime, str]] = {}
    for person_id, opened_at, zone in session.execute(query):
        found.setdefault(person_id or 0, (opened_at, zone))
    return found


def look_again(session: Session, now: datetime) -> None:
    """Look at all readers: by a clock that ran ahead, the next look is too far off."""
    session.execute(update(Person).where(WANTS_DIGEST).values(digest_at=now))


def start_overdue_clocks(now: datetime) -> int:
    """Start the clocks of turns that no digest has listed within a day; return how many."""
    late = (Turn.started_at.is_(None), Turn.refused.is_(None), Turn.opened_at <= now - play.LATEST_DIGEST)
    reads_digests = (
        exists().where(  # tested turn by turn: the planner must not start from all seats of all readers
            Seat.game_id == Turn.game_id,
            Seat.seat == Turn.seat,
            Seat.status == SeatStatus.SEATED,
            ~Seat.silent,
            Game.id == Turn.game_id,
            ~Game.trial,
            Person.id == Seat.person_id,
            Person.cadence == "digest",
            ~Person.silent,
            Person.email.is_not(None),
        )
    )
    query = select(Turn.game_id, Turn.seat).where(*late, reads_digests).order_by(Turn.opened_at)
    with reading() as session:
        hints = session.execute(query).all()
    return sum(play.digest_overdue(game_id, seat, now) for game_id, seat in hints)


def start_clocks(session: Session, mail: MailRow, named: Sequence[play.NamedTurn], now: datetime) -> None:
    """Start the clocks of the turns that an accepted digest lists, and store which they are, since it may still bounce.

    Args:
        named: their games are locked.
    """
    kept = [(place.game_id, place.seat, place.opened_seq) for place in named]
    session.execute(update(Mail).where(Mail.id == mail.id).values(details=json.dumps({"named": kept})))
    play.digest_accepted(session, named, now)


def listed_turns(session: Session, kind: str, person_id: int) -> list[tuple[GameRow, SeatRow, TurnRow]]:
    """Return the turns that a mail of this kind lists: empty unless it covers all games of its reader."""
    lists = mail_kinds.of(kind).lists
    if lists is Lists.DIGEST_TURNS:
        return play.turns_for_digest(session, person_id)
    return turns.of_person(session, person_id) if lists is Lists.TURNS else []


def overview_context(
    session: Session, mail: MailRow, links: Mapping[str, str], now: datetime
) -> dict[str, Any]:
    """Build the context of a mail about all games: `items`, one per game, the most urgent first; and `named`.

    Args:
        links: to the reader's seats, by game; turns that opened after these were made wait for the next mail.
        now: when a digest is accepted: the clocks of turns that none has listed before start then.
    """
    items, named, daily = [], [], mail_kinds.of(mail.kind).daily
    for game, _, turn in listed_turns(session, mail.kind, mail.person_id):
        if game.id not in links:
            continue
        starts = daily and (turn.started_at is None or turn.refused is not None)
        times = turns.times_if_started(game, turn, now) if starts else turns.times(session, game, turn)
        try:
            items.append(_item(load(session, game.id, now), turn, times) | {"link": links[game.id]})
        except Broken as broken:  # one broken game must not block the others
            LOGGER.warning("game %s is omitted from a mail: %s", game.id, broken)
            continue
        if times is not None:
            named.append(play.NamedTurn(game.id, turn.seat, turn.opened_seq, times.due, starts))
    ended = _ended(session, mail, now) if daily else ()
    items.sort(key=lambda item: item["times"].due if item["times"] else NEVER)
    return {"items": items, "named": tuple(named), "ended": ended, "daily": daily}


def _ended(session: Session, mail: MailRow, now: datetime) -> list[dict[str, Any]]:
    """Return the games of a digest's reader that have ended since the last one, with the heads of their logs."""
    own = (Seat.game_id == Game.id, Seat.person_id == mail.person_id, Seat.status == SeatStatus.SEATED)
    lately = select(Game).join(Seat, and_(*own)).where(Game.ended_at > now - ENDED_LATELY)
    games = session.scalars(lately.where(Game.status == GameStatus.OVER).order_by(Game.ended_at, Game.id))
    return [{"game": one_line(game.name), "head": game.head, "hash": game.head_hash} for game in games]


def _item(table: Table, turn: TurnRow, times: turns.Times | None) -> dict[str, Any]:
    game, position = table.game, positions.current(table)
    return {
        "slug": game.slug,
        "title": games.title_of(game.slug),
        "game": one_line(game.name),
        "names": [*map(one_line, names.at_table(game, table.seats, turn.seat))],
        "view": position.view(turn.seat),
        "times": times,
        "zone": i18n.zone_of(table.seats[turn.seat].person, game),
        "head": game.head,
        "hash": game.head_hash,
        "said": _said(table, table.seats[turn.seat]),
    }


def _said(table: Table, seat: SeatRow) -> letters.Talk:
    """Return what was said at a table since the reader's own last move."""
    session, game = table.session, table.game
    if seat.person is None or not letters.wants_talk(game, seat.person):
        return letters.Talk()
    last_own = log.last_move(session, game.id, seat.seat, (Cause.PLAYER, Cause.BOT))
    return letters.talk_since(session, game, seat.person, last_own)
