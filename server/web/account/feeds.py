"""A person's own feeds, opened by their own link: a calendar of deadlines, and news of their games.

A feed may end up in calendars and readers that others can see: it links to the public pages of games, never to a seat,
and reveals nothing beyond those but which games are theirs. The link opens nothing else and can be renewed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import flask
from flask import Blueprint, Response, render_template
from flask_babel import gettext as _
from sqlalchemy import case, or_, select
from sqlalchemy.orm import Session

from server.config import settings
from server.mail.text import one_line
from server.play import turns
from server.store import links
from server.store.engine import reading, utc_now
from server.store.models import Game, GameStatus, LinkPurpose, Person, Seat, SeatStatus
from server.store.statements import GAME, GameRow, LinkRow, TurnRow

if TYPE_CHECKING:
    import icalendar

blueprint = Blueprint("feeds", __name__)

MOST_GAMES = 50
"""Games that a feed lists at most, unless the person is to move in more."""
KEEP_FINISHED = timedelta(days=30)
"""How long a finished game stays in a feed."""
MAX_AGE = 300
"""Seconds for which a reader need not ask again."""


@dataclass(frozen=True, slots=True)
class FeedItem:
    """The state of one game for its player.

    Args:
        mark: changes with each of their turns, so that readers show it as new.
        updated: since when this is the state.
        due: their deadline, if they are to move and their clock runs.
    """

    game: GameRow
    mark: str
    updated: datetime
    awaited: bool
    due: datetime | None

    @property
    def name(self) -> str:
        """The name of the game, in one line and without what XML may not hold."""
        return one_line(self.game.name)

    @property
    def address(self) -> str:
        """The public page of the game."""
        return f"{settings().base_url}/g/{self.game.id}"


@blueprint.app_template_filter("instant")
def instant(at: datetime) -> str:
    """Format a moment as RFC 3339, in UTC, in whole seconds."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@blueprint.get("/feed/<token>.ics")
def calendar(token: str) -> Response:
    """Serve their deadlines as a calendar, in UTC."""
    import icalendar  # here: nothing else needs it

    with reading() as session:
        _link, games = _open_feed(session, token)
        own = [item for item in games if item.due is not None]
    calendar_ = icalendar.Calendar()
    calendar_.add("prodid", "-//Byzanz//Deadlines//EN")
    calendar_.add("version", "2.0")
    calendar_.add("x-wr-calname", _("Byzanz: your deadlines"))
    for item in own:
        calendar_.add_component(_event(item))
    return _feed_response(calendar_.to_ical(), "text/calendar")


def _event(item: FeedItem) -> icalendar.Event:
    import icalendar

    name = one_line(item.game.name)
    event = icalendar.Event()
    event.add("uid", f"{item.game.id}-{item.mark}@{settings().sender_domain}")
    event.add("dtstamp", item.updated)
    event.add("dtstart", item.due)
    event.add("summary", _("Your deadline in “%(game)s”", game=name))
    event.add("description", _("Move before then. The link is in the email about this turn."))
    event.add("url", item.address)
    event.add("transp", "TRANSPARENT")
    return event


@blueprint.get("/feed/<token>.atom")
def atom(token: str) -> Response:
    """Serve the state of their games as an Atom feed."""
    with reading() as session:
        link, games = _open_feed(session, token)
        person = session.get_one(Person, link.person_id)
        page = render_template(
            "account/feed.atom",
            games=games,
            feed_id=f"{settings().base_url}/#{link.digest[:32]}",
            updated=max([person.created_at, *(item.updated for item in games)]),
            base_url=settings().base_url,
        )
    return _feed_response(page.encode(), "application/atom+xml")


def _open_feed(session: Session, token: str) -> tuple[LinkRow, Sequence[FeedItem]]:
    """Return the link of a feed and its items; 404 for any other token, without a reason."""
    link = links.find(session, LinkPurpose.FEED, token, utc_now())
    if link is None:
        flask.abort(404)
    return link, _games(session, link.person_id, utc_now())


def _games(session: Session, person_id: int, now: datetime) -> Sequence[FeedItem]:
    """Return a person's games, the most recently changed first."""
    open_turns = {game.id: turn for game, _seat, turn in turns.of_person(session, person_id)}
    alive = or_(
        Game.status == GameStatus.RUNNING,
        (Game.status == GameStatus.OVER) & (Game.ended_at > now - KEEP_FINISHED),
    )
    due_first = case((Game.id.in_(open_turns), 0), else_=1)
    query = (
        select(*GAME)
        .join_from(Game, Seat, Seat.game_id == Game.id)
        .where(
            Seat.person_id == person_id, Seat.status == SeatStatus.SEATED, alive, Game.quarantine.is_(None)
        )
        .order_by(due_first, Game.started_at.desc(), Game.id)
        .limit(max(MOST_GAMES, len(open_turns)))
    )
    games = [GameRow(*row) for row in session.execute(query)]
    found = [_feed_item(session, game, open_turns.get(game.id)) for game in games]
    return sorted(found, key=lambda item: item.updated, reverse=True)


def _feed_item(session: Session, game: GameRow, turn: TurnRow | None) -> FeedItem:
    if turn is not None:
        times = turns.times(session, game, turn)
        return FeedItem(game, f"turn-{turn.opened_seq}", turn.opened_at, True, times.due if times else None)
    began = game.started_at or game.created_at
    if game.status == GameStatus.OVER:
        return FeedItem(game, "over", game.ended_at or began, False, None)
    return FeedItem(game, "waiting", began, False, None)


def _feed_response(body: bytes, kind: str) -> Response:
    """Respond with a feed that only its owner's reader may cache, and with 304 while it is unchanged."""
    response = Response(body, content_type=f"{kind}; charset=utf-8")
    response.headers["Cache-Control"] = f"private, max-age={MAX_AGE}"
    response.set_etag(hashlib.sha256(body).hexdigest()[:32])
    response.make_conditional(flask.request)
    return response
