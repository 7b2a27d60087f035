"""The public pages of a game; finished ones are kept in memory for visitors who are not signed in.

Nothing about a visitor but the language is in a page that is kept: a request with a session or a query is never
answered from here and never kept. Each process keeps its own pages, so a new release begins without any.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import flask
from flask import Blueprint, Flask, Response, render_template, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext as _
from sqlalchemy import select
from sqlalchemy.orm import Session

from byzanz.games import AnyRules
from byzanz.rules import ALL, PUBLIC, Viewer
from server import config, i18n
from server.accounts import login
from server.community import profiles
from server.config import settings
from server.errors import Refused
from server.i18n import zone_of
from server.lobby import rematch
from server.play import autopilot, positions, standing_orders, turns
from server.play import history as play_history
from server.play.game import Table, load
from server.play.positions import why_on_hold
from server.play.turns import Times
from server.store import links, log
from server.store.engine import reading, utc_now
from server.store.models import Game, GameStatus, LinkPurpose, Rematch
from server.store.statements import GAME, GameRow, split
from server.web.game import charts, history, mail_log
from server.web.game.charts import Drawing, short_names
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


def may_keep(game: GameRow) -> bool:
    """Whether this game is over, and this visitor gets the page that everyone else gets."""
    request = flask.request
    plain = request.method == "GET" and not request.query_string and not flask.session
    return plain and game.status == GameStatus.OVER


def response(game: GameRow, following: GameRow | None, render: Callable[[], str]) -> Response:
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


def clocks(due: Mapping[int, Times | None], now: datetime) -> list[tuple[int, Times, bool]]:
    """Return the clocks that run, by seat, each with whether only the time left of it is said, without a name.

    Args:
        due: the times of all seats that are to move, None while a clock waits for its email.
    """
    return [
        (seat, times, len(due) == 1 and not (times.bank and now > times.allowance_end))
        for seat, times in due.items()
        if times
    ]


@dataclass(frozen=True, slots=True)
class FinishedPage:
    """What the page of a finished game decides; `templates/game/finished.html` lays it out.

    Args:
        result: scores, winners and reason, as the game's row has them.
        ranking: pairs of place and seat, the best first.
        reader: the seat of the signed-in player, if they had one.
    """

    game: GameRow
    result: Mapping[str, Any]
    ranking: Sequence[tuple[int, int]]
    charts: Sequence[Drawing]
    reader: int | None = None

    @property
    def lost(self) -> bool:
        """Whether the reader played and did not win, so that their place comes first."""
        if self.reader is None or self.result["reason"] == "abandoned":
            return False
        return self.reader not in self.result["winners"]

    @property
    def second(self) -> tuple[int, int] | None:
        """The second seat and how many points it is behind one winner; None if that says nothing to the reader."""
        winners, scores = self.result["winners"], self.result["scores"]
        if len(winners) != 1 or len(self.ranking) < 2:
            return None
        seat = self.ranking[1][1]
        behind = abs(scores[winners[0]] - scores[seat])
        return (seat, behind) if behind and seat != self.reader else None

    @property
    def open_charts(self) -> list[Drawing]:
        """The charts beside the result: the first two, unless they are rows."""
        return [chart for chart in self.charts[:2] if chart.kind != "rows"]

    @property
    def folded_charts(self) -> list[Drawing]:
        """The other charts, rows first."""
        rows = [chart for chart in self.charts if chart.kind == "rows"]
        return rows + [chart for chart in self.charts[2:] if chart.kind != "rows"]

    @property
    def has_group(self) -> bool:
        """Whether the game counts for the results of its group."""
        return bool(self.result["winners"] and self.game.counted_at)


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
            return response(found, public, lambda: _page(session, game_id, public))
        return _page(session, game_id, following)


def _page(session: Session, game_id: str, following: GameRow | None) -> str:
    table = load(session, game_id, utc_now())
    game = table.game
    context: dict[str, Any] = {
        "game": game,
        "seats": table.seats,
        "names": history.names_of(table),
        "zone": _zone(session, game),
        "view": None,
    }
    if game.status in (GameStatus.RUNNING, GameStatus.OVER):
        context |= _running_context(table)
    if game.status == GameStatus.OVER:
        context |= _again_context(table, following)
        names = ("game", "result", "ranking", "charts", "reader")
        context["page"] = FinishedPage(**{name: context[name] for name in names})
    return render_template("game/game.html", **context)


@blueprint.get("/g/<game_id>/history")
@costly
def public_history(game_id: str) -> ResponseReturnValue:
    """Show the history as the public may see it."""
    with reading() as session:
        found, _following = _game_and_next(session, game_id)
        if found is None or found.status not in (GameStatus.RUNNING, GameStatus.OVER):
            return _no_game()
        table = load(session, game_id, utc_now())
        here = url_for(".public_history", game_id=game_id)
        zone = _zone(session, table.game)
        return _history(table, PUBLIC, zone, here, url_for(".show", game_id=game_id))


@blueprint.get("/t/<token>/history")
def seat_history(token: str) -> ResponseReturnValue:
    """Show the history as this seat may see it."""
    with reading() as session:
        access = seat_access(session, token)
        table = load(session, access.game.id, utc_now())
        if table.game.status not in (GameStatus.RUNNING, GameStatus.OVER):
            return _no_game()
        zone = zone_of(access.seat.person, access.game)
        here = url_for(".seat_history", token=token)
        back = url_for("turn.show", token=token)
        own = mail_log.of_seat(session, access.seat, zone)
        said = history.talk_lines(session, access.game, access.link.person_id, zone)
        return _history(table, access.seat.seat, zone, here, back, own, said, token)


def _zone(session: Session, game: GameRow) -> str:
    """Return the time zone of the signed-in reader, or of the table."""
    return zone_of(login.signed_in(session), game)


_following = Game.__table__.alias("following")


def _game_and_next(session: Session, game_id: str) -> tuple[GameRow | None, GameRow | None]:
    """Return the game, unless it is not confirmed yet, and the one that follows it, with one statement."""
    query = select(*GAME, *(_following.c[str(column.key)] for column in GAME))
    query = query.outerjoin_from(Game, Rematch, Rematch.after_id == Game.id)
    query = query.outerjoin(_following, _following.c.id == Rematch.game_id)
    found = session.execute(query.where(Game.id == game_id)).first() if GAME_ID.fullmatch(game_id) else None
    game, after = split(found, GameRow, GameRow) if found else (None, None)
    if game is None or game.status == GameStatus.ASKED:
        return None, None
    return game, after if after.id is not None else None


def _no_game() -> tuple[str, int]:
    return error_page(
        404,
        _("Game not found"),
        _("Use the link in your latest email, or start from the home page."),
    )


def _history(
    table: Table,
    viewer: Viewer,
    zone: str,
    here: str,
    back: str,
    items: Sequence[mail_log.MailLogItem] = (),
    said: Sequence[history.WordLine] = (),
    token: str | None = None,
) -> ResponseReturnValue:
    if table.game.quarantine:
        raise why_on_hold(table.game.quarantine)
    try:
        query = {"at": str(table.game.head), **flask.request.args.to_dict()}
        reader = viewer if isinstance(viewer, int) else PUBLIC
        context = history.page_context(table, viewer, zone, query, here, reader=reader)
    except Refused as error:
        return error_page(400, _("Entry not found"), refusal_text(error), back=here)
    beside = mail_log.by_entry(context, items)
    history.weave(context, said)
    me = viewer if isinstance(viewer, int) else None
    return render_template("game/history.html", back=back, beside=beside, me=me, token=token, **context)


def _running_context(table: Table) -> dict[str, object]:
    """Return the context for the table of a running game, or the result of a finished one."""
    game = table.game
    if game.quarantine:
        raise why_on_hold(game.quarantine)
    if game.status == GameStatus.OVER:
        return _finished_context(table)
    position = positions.current(table)
    view = position.view(PUBLIC)
    entries = play_history.entries_for(table, PUBLIC, after=game.head - LATEST)
    told = play_history.told(position, entries)
    due = {seat: times for seat, times in turns.times_of_table(table).items() if seat in position.awaited}
    now = utc_now()
    return {
        "view": view,
        "told": told,
        "lines": history.lines_of(entries, log.voids_in(entries), _zone(table.session, game), told),
        "latest": [entry for entry, _followed in told[-1:]],
        "trial": _trial(position) if login.current_session() is None else None,
        "clocks": clocks(due, now),
        "now": now,
        "unattended": autopilot.is_unattended(table),
    }


def _trial(position: positions.Position) -> AnyRules | None:
    """Return the rules of a game if a visitor can try it; they may be newer than those of this table."""
    return next((rules for rules in config.offered_games() if rules.slug == position.rules.slug), None)


def _finished_context(table: Table) -> dict[str, object]:
    """Return the context of a finished game: its table, result, highlights, charts and revealed orders."""
    session, game = table.session, table.game
    moments = play_history.load(table, ALL)
    result, me = json.loads(game.result or "null"), login.signed_in(session)
    short = short_names(history.names_of(table))
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


def _again_context(table: Table, following: GameRow | None) -> dict[str, object]:
    """Return the reader's seat, the next game, and what its makers need: the signed-in player and the organiser."""
    session, game = table.session, table.game
    me = login.signed_in(session)
    seats = table.seats if me and not game.trial else ()
    own = next((seat for seat in seats if me and seat.person_id == me.id), None)
    found: dict[str, object] = {"following": following if following and (own or following.listed) else None}
    found["reader"] = own.seat if own else None
    if me and own and not own.left:
        found["token"] = _token(session, LinkPurpose.SEAT, me.id, game)
    if me and game.organiser_id == me.id and rematch.may_keep_going(table, utc_now()):
        found["keeping"] = _token(session, LinkPurpose.ORGANISE, me.id, game)
    return found


def _token(session: Session, purpose: LinkPurpose, person_id: int, game: GameRow) -> str | None:
    """Return the token of a link that the signed-in person has; a GET request creates none."""
    link = links.existing(session, purpose, person_id, game.id)
    return links.token(link) if link else None
