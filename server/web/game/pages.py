"""The public pages of a game; finished ones are kept in memory for visitors who are not signed in.

Nothing about a visitor but the language is in a page that is kept: a request with a session or a query is never
answered from here and never kept. Each process keeps its own pages, so a new release begins without any.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import flask
from flask import Blueprint, Flask, Response, render_template, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext as _
from sqlalchemy import select
from sqlalchemy.orm import Session, aliased

from byzanz.games import AnyRules
from byzanz.rules import ALL, PUBLIC, Viewer
from server import config, i18n
from server.accounts import login
from server.community import profiles
from server.config import settings
from server.config.zones import zone_of
from server.errors import Refused
from server.lobby import rematch
from server.play import autopilot, positions, standing_orders, turns
from server.play import history as play_history
from server.play.positions import why_on_hold
from server.store import links, log
from server.store.engine import reading, utc_now
from server.store.models import Game, GameStatus, LinkPurpose, Rematch
from server.store.statements import AnyGame
from server.web.game import charts, history, mail_log
from server.web.game.charts import short_names
from server.web.http import GAME_ID, costly, error_page, refusal_text, seat_access

# ---- pages kept in memory ----

MOST = 200
"""Pages that a process keeps; at 60 kB each, 12 MB."""


class Key(NamedTuple):
    """What a kept page depends on."""

    game_id: str
    revision: int
    head: int
    language: str
    following: str | None
    """The next game, if it is listed."""


@dataclass(slots=True)
class Pages:
    """The pages of one application, the most recently used last."""

    _pages: OrderedDict[Key, bytes] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, key: Key) -> bytes | None:
        """Return a page, or None."""
        with self._lock:
            if key in self._pages:
                self._pages.move_to_end(key)
            return self._pages.get(key)

    def keep(self, key: Key, page: bytes) -> None:
        """Keep a page, and drop the one that was not used for the longest time if there are too many."""
        with self._lock:
            self._pages[key] = page
            while len(self._pages) > MOST:
                self._pages.popitem(last=False)


def init_app(app: Flask) -> None:
    """Give an application its own pages."""
    app.extensions["kept_pages"] = Pages()


def may_keep(game: Game) -> bool:
    """Whether this game is over, and this visitor gets the page that everyone else gets."""
    request = flask.request
    plain = request.method == "GET" and not request.query_string and not flask.session
    return plain and game.status == GameStatus.OVER


def response(game: Game, following: Game | None, render: Callable[[], str]) -> Response:
    """Return the page of a game for which `may_keep` holds.

    Args:
        following: the next game, if everyone may know it.
        render: called if the page is not kept.
    """
    pages: Pages = flask.current_app.extensions["kept_pages"]
    language = i18n.current_language()
    key = Key(game.id, game.revision, game.head, language, following.id if following else None)
    page = pages.get(key)
    if page is None:
        page = render().encode()
        pages.keep(key, page)
    return Response(page, mimetype="text/html")


# ---- the pages ----

blueprint = Blueprint("game", __name__)
LATEST = 16
"""Entries beside the table of a running game."""


@blueprint.get("/g/<game_id>")
@costly
def show(game_id: str) -> ResponseReturnValue:
    """Show a game's public page."""
    with reading() as session:
        found, following = _game_and_next(session, game_id)
        if found is None:
            return _no_game()
        if may_keep(found):
            public = following if following and following.listed else None
            return response(found, public, lambda: _page(session, found, public))
        return _page(session, found, following)


def _page(session: Session, game: Game, following: Game | None) -> str:
    context = {
        "game": game,
        "seats": positions.seats_of(session, game.id),
        "names": history.names_of(session, game),
        "zone": _zone(session, game),
        "view": None,
        "due": {},
    }
    if game.status in (GameStatus.RUNNING, GameStatus.OVER):
        context |= _running_context(session, game)
    if game.status == GameStatus.OVER:
        context |= _again_context(session, game, following)
    return render_template("game/game.html", **context)


@blueprint.get("/g/<game_id>/history")
@costly
def public_history(game_id: str) -> ResponseReturnValue:
    """Show the history as the public may see it."""
    with reading() as session:
        found = _game(session, game_id)
        if found is None or found.status not in (GameStatus.RUNNING, GameStatus.OVER):
            return _no_game()
        here = url_for(".public_history", game_id=game_id)
        zone = _zone(session, found)
        return _history(session, found, PUBLIC, zone, here, url_for(".show", game_id=game_id))


@blueprint.get("/t/<token>/history")
def seat_history(token: str) -> ResponseReturnValue:
    """Show the history as this seat may see it."""
    with reading() as session:
        access = seat_access(session, token)
        if access.game.status not in (GameStatus.RUNNING, GameStatus.OVER):
            return _no_game()
        zone = zone_of(access.seat.person, access.game)
        here = url_for(".seat_history", token=token)
        back = url_for("turn.show", token=token)
        own = mail_log.of_seat(session, access.seat, zone)
        said = history.talk_lines(session, access.game, access.link.person_id, zone)
        return _history(session, access.game, access.seat.seat, zone, here, back, own, said, token)


def _zone(session: Session, game: Game) -> str:
    """Return the time zone of the signed-in reader, or of the table."""
    return zone_of(login.signed_in(session), game)


def _game(session: Session, game_id: str) -> Game | None:
    """Return the game, unless it is not confirmed yet."""
    found = session.get(Game, game_id) if GAME_ID.fullmatch(game_id) else None
    return found if found and found.status != GameStatus.ASKED else None


def _game_and_next(session: Session, game_id: str) -> tuple[Game | None, Game | None]:
    """Return the game as `_game` does, and the one that follows it, with one statement."""
    following = aliased(Game)
    query = select(Game, following).outerjoin(Rematch, Rematch.after_id == Game.id)
    query = query.outerjoin(following, following.id == Rematch.game_id).where(Game.id == game_id)
    found = session.execute(query).first() if GAME_ID.fullmatch(game_id) else None
    return (found[0], found[1]) if found and found[0].status != GameStatus.ASKED else (None, None)


def _no_game() -> tuple[str, int]:
    return error_page(
        404,
        _("Game not found"),
        _("Use the link in your latest email, or start from the home page."),
    )


def _history(
    session: Session,
    game: AnyGame,
    viewer: Viewer,
    zone: str,
    here: str,
    back: str,
    items: Sequence[mail_log.MailLogItem] = (),
    said: Sequence[history.WordLine] = (),
    token: str | None = None,
) -> ResponseReturnValue:
    if game.quarantine:
        raise why_on_hold(game.quarantine)
    try:
        query = {"at": str(game.head), **flask.request.args.to_dict()}
        context = history.page_context(session, game, viewer, zone, query, here)
    except Refused as error:
        return error_page(400, _("Entry not found"), refusal_text(error), back=here)
    beside = mail_log.by_entry(context, items)
    history.weave(context, said)
    me = viewer if isinstance(viewer, int) else None
    return render_template("game/history.html", back=back, beside=beside, me=me, token=token, **context)


def _running_context(session: Session, game: Game) -> dict[str, object]:
    """Return the context for the table of a running game, or the result of a finished one."""
    if game.quarantine:
        raise why_on_hold(game.quarantine)
    if game.status == GameStatus.OVER:
        return _finished_context(session, game)
    position = positions.load(session, game)
    view = position.view(PUBLIC)
    entries = play_history.entries_for(session, game, PUBLIC, after=game.head - LATEST)
    told = play_history.told(position, entries)
    open_turns = [turn for turn in turns.open_turns(session, game.id) if turn.seat in position.awaited]
    return {
        "view": view,
        "told": told,
        "lines": history.lines_of(entries, log.voids_in(entries), _zone(session, game), told),
        "latest": [entry for entry, _followed in told[-1:]],
        "trial": _trial(position) if login.current_session() is None else None,
        "due": {turn.seat: turns.times(session, game, turn) for turn in open_turns},
        "now": utc_now(),
        "unattended": autopilot.is_unattended(session, game),
    }


def _trial(position: positions.Position) -> AnyRules | None:
    """Return the rules of a game if a visitor can try it; they may be newer than those of this table."""
    return next((rules for rules in config.offered_games() if rules.slug == position.rules.slug), None)


def _finished_context(session: Session, game: Game) -> dict[str, object]:
    """Return the context of a finished game: its table, result, highlights, charts and revealed orders."""
    moments = play_history.load(session, game, ALL)
    result, me = json.loads(game.result or "null"), login.signed_in(session)
    short = short_names(history.names_of(session, game))
    return {
        "view": moments.view(game.head),
        "result": result,
        "ranking": moments.ranking(),
        "highlights": moments.highlights(result["winners"]),
        "short": short,
        "charts": [charts.draw(chart, seqs, max(map(len, short))) for chart, seqs in moments.charts()],
        "openings": history.jumps(moments.openings()),
        "revealed": standing_orders.of_game(session, game.id),
        "base_url": settings().base_url,
        "opponents": profiles.opponents(session, game.id, me.id) if me else (),
    }


def _again_context(session: Session, game: Game, following: Game | None) -> dict[str, object]:
    """Return the reader's seat, the next game, and what its makers need: the signed-in player and the organiser."""
    me = login.signed_in(session)
    seats = positions.seats_of(session, game.id) if me and not game.trial else ()
    own = next((seat for seat in seats if me and seat.person_id == me.id), None)
    found: dict[str, object] = {"following": following if following and (own or following.listed) else None}
    found["reader"] = own.seat if own else None
    if me and own and not own.left:
        found["token"] = _token(session, LinkPurpose.SEAT, me.id, game)
    if me and game.organiser_id == me.id and rematch.may_keep_going(session, game, utc_now()):
        found["keeping"] = _token(session, LinkPurpose.ORGANISE, me.id, game)
    return found


def _token(session: Session, purpose: LinkPurpose, person_id: int, game: Game) -> str | None:
    """Return the token of a link that the signed-in person has; a GET request creates none."""
    link = links.existing(session, purpose, person_id, game.id)
    return links.token(link) if link else None
