"""Visitors' games: started against bots without an address, kept by confirming an address, ended after a week."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from server import play, validation
from server.errors import Closed, NoSuchLink, Refused, TooMany
from server.lobby import create, notify
from server.lobby.create import GameRequest, create_rows, learn_name, seat_person
from server.lobby.settings import ONE_DAY
from server.play import names, positions
from server.store import links, networks, outbox, people
from server.store.engine import reading, transaction
from server.store.mail_kinds import MailKind
from server.store.models import Game, GameSettings, GameStatus, LinkPurpose, Person, Seat
from server.store.networks import HOUR, Caused, Limits
from server.store.statements import GameRow
from server.validation import Guest

LOGGER = logging.getLogger(__name__)
BOT = "greedy"
"""The kind of the bots: quick, and good enough to learn from."""
LIFETIME = timedelta(days=7)
"""After this time a game that nobody has kept ends, and its link with it."""
FROM_NETWORKS = Limits(networks=(100, 120, 150), share=20)
"""Games that one visitor's networks may have started within the last hour: a whole hall may play behind one address. A
game that has ended, was left or was kept gives its place back."""
MOST_AN_HOUR = 1000
"""What the games of all networks add together within an hour."""
STARTED = Limits(networks=(400, 480, 600), share=0)
"""Games that one visitor's networks may start within an hour, whatever becomes of them."""
MAILS_A_DAY = 3
"""Emails with the button that keeps a game, to one address within a day."""


def start(
    slug: str, name: str, now: datetime, language: str | None = None, person_id: int | None = None
) -> str:
    """Start a game against bots for a visitor; return the token of their seat.

    Args:
        name: of a visitor without an address at the table.
        language: of their pages.
        person_id: the visitor, if signed in; the seat has their own name.

    Raises:
        InvalidInput: there is no such game. TooMany: the visitor, or all together, have started too many.
    """
    rules = validation.game_rules(slug)
    bots = (BOT,) * (min(rules.seats) - 1)
    with transaction() as session:
        networks.wait_for_others(session)
        _check_crowd(session, now)
        if person_id is None:
            visitor = Person(email=None, name=name, created_at=now, language=language)
            session.add(visitor)
            session.flush()
        else:
            visitor = session.get_one(Person, person_id)
        request = GameRequest(
            Guest(visitor.name, ""), create.random_game_name(), GameSettings(slug, *ONE_DAY), bots=bots
        )
        game = create_rows(session, request, {"": visitor}, now)
        game.organiser_id, game.trial, game.status = None, True, GameStatus.INVITING
        game.origin = networks.current()
        own = positions.seats_of(session, game.id)[0]
        seat_person(session, game, own, create.random_cut(), now, uncut=True)
        notify.begin_if_full(session, game, now)
        return links.token(links.link_for(session, LinkPurpose.SEAT, visitor.id, game.id, now))


def _check_crowd(session: Session, now: datetime) -> None:
    """Check that a visitor may start one more game.

    Raises:
        TooMany: their networks, or all visitors together, have too many.
    """
    left = exists().where(Seat.game_id == Game.id, Seat.left)
    played = (Game.status == GameStatus.RUNNING) & ~left
    query = select(Game.origin, Game.created_at, played).where(Game.trial, Game.created_at > now - HOUR)
    rows = [(Caused(origin, at), goes_on) for origin, at, goes_on in session.execute(query)]
    started, going_on = [each for each, _ in rows], [each for each, goes_on in rows if goes_on]
    mine = networks.current()
    room = max(FROM_NETWORKS.room_for(mine, going_on, now), STARTED.room_for(mine, started, now))
    if room > now or FROM_NETWORKS.total(going_on, now) >= MOST_AN_HOUR:
        raise TooMany("Many visitors are playing right now. Try again in a few minutes.")


def mail_keep_link(game_id: str, address: str, now: datetime, language: str | None = None) -> None:
    """Email an address the button that keeps a visitor's game; do nothing beyond the daily limit.

    Raises:
        InvalidInput: the text is not an address. Closed: the game has been kept or has ended.
        Crowded: the visitor's networks have caused too many emails.
    """
    address = validation.clean_address(address)
    with transaction() as session:
        networks.wait_for_others(session)
        if not play.lock_game(session, game_id).trial:
            raise Closed("This game has been kept already, or it has ended.")
        delay = notify.check_crowd(session, now)
        person = people.get_or_create(session, address, validation.name_from_address(address), now)
        if outbox.count_queued(session, MailKind.KEEP, person.id, now - timedelta(days=1)) >= MAILS_A_DAY:
            return
        link = links.issue(session, LinkPurpose.KEEP, person.id, now, game_id)
        outbox.enqueue(
            session,
            key=f"keep:{link.id}",
            kind=MailKind.KEEP,
            person_id=person.id,
            now=now,
            game_id=game_id,
            details={"link": link.id, "language": language},
            delay=delay,
        )


def offer(session: Session, token: str, now: datetime) -> tuple[Game, Person] | None:
    """Return the game that a link from such an email keeps, and its reader; None if the link is dead."""
    link = links.find(session, LinkPurpose.KEEP, token, now)
    if link is None or link.game_id is None:
        return None
    return session.get_one(Game, link.game_id), session.get_one(Person, link.person_id)


def seat_url(session: Session, game: Game, person: Person) -> str | None:
    """Return the address of the seat that a person holds in a game they have kept, or None."""
    link = None if game.trial else links.existing(session, LinkPurpose.SEAT, person.id, game.id)
    return links.url(link) if link else None


def keep(token: str, name: str, now: datetime, language: str | None = None) -> str:
    """Give a visitor's seat to the person who confirms their address; return the address of the seat.

    Repeating it changes nothing.

    Args:
        name: of the person at this table.
        language: of the page with the button; it becomes theirs unless they have chosen one.

    Raises:
        NoSuchLink: the link is dead. InvalidInput: the name is invalid. Closed: somebody else has kept the game, or
            it has ended.
    """
    name = validation.clean_name(name)
    with transaction(token) as session:
        link = links.find(session, LinkPurpose.KEEP, token, now)
        if link is None or link.game_id is None:
            raise NoSuchLink("This link is not valid.")
        game = play.lock_game(session, link.game_id)
        person = session.get_one(Person, link.person_id)
        kept = seat_url(session, game, person)
        if kept is not None:
            return kept
        others = names.taken(seat for seat in positions.seats_of(session, game.id) if seat.bot)
        person.accepted, person.language = True, person.language or language
        learn_name(person, name)
        session.flush()
        play.keep_trial(session, game.id, person, validation.unique_name(name, others), now)
        made = [links.link_for(session, purpose, person.id, game.id, now) for purpose in notify.EVERY_MAIL]
        return links.url(made[0])


def keep_own(game_id: str, now: datetime) -> None:
    """Keep the game of a visitor who was signed in when it started: clocks and emails begin. Repeating changes nothing.

    Raises:
        Closed: it belongs to a visitor without an address.
    """
    with transaction() as session:
        game = play.lock_game(session, game_id)
        if not game.trial:
            return
        own = next(seat for seat in positions.seats_of(session, game_id) if seat.person_id is not None)
        person = session.get_one(Person, own.person_id)
        if person.email is None:
            raise Closed("Enter your email address to keep this game.")
        play.keep_trial(session, game_id, person, names.of(GameRow.of(game), own, own.seat), now)
        for purpose in notify.EVERY_MAIL:
            links.link_for(session, purpose, person.id, game_id, now)


def end_old(now: datetime, limit: int = 100) -> int:
    """End the visitors' games that nobody has kept within a week; return how many."""
    old = select(Game.id).where(Game.trial, Game.created_at <= now - LIFETIME).order_by(Game.created_at)
    with reading() as session:
        found = session.scalars(old.limit(limit)).all()
    return sum(_end(game_id, now) for game_id in found)


def _end(game_id: str, now: datetime) -> bool:
    try:
        return play.end_trial(game_id, now)
    except Refused as refused:
        LOGGER.debug("game %s: a visitor's game has not ended: %s", game_id, refused)
        return False
