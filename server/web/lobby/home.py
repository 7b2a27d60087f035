"""The home page with one's games, the rules, and what is said about this server."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parseaddr

import flask
from flask import Blueprint, Response, render_template, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext as _
from sqlalchemy import ColumnElement, Row, or_, select
from sqlalchemy.orm import Session, selectinload

from byzanz import games
from byzanz.games import rules_of
from byzanz.moves import BadSetup
from byzanz.rules import PUBLIC
from server import config, i18n, validation
from server.accounts import login
from server.community import blocks
from server.config import settings
from server.i18n import N_
from server.lobby import open_tables
from server.play import names, turns
from server.play.turns import Times
from server.store import links, log, outbox
from server.store.engine import reading, utc_now
from server.store.models import Game, GameStatus, Link, LinkPurpose, Person, Seat, SeatStatus, Standing, Turn
from server.store.statements import GAME, SEAT, TURN, GameRow, LinkRow, SeatRow, TurnRow
from server.web.http import csrf, error_page, limiter

blueprint = Blueprint("home", __name__)

# ---- one's games ----

ALIVE = (GameStatus.ASKED, GameStatus.INVITING, GameStatus.RUNNING)
"""The states of games that are listed."""
MOST_FINISHED = 3
"""Finished games that are listed."""
RANKS = (N_("Your turn"), N_("Waiting for your answer"), N_("Waiting for others"))
"""The headings of games by their rank."""
NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class OwnGame:
    """A game of the signed-in person on the home page.

    Args:
        seat: theirs, None if they only organise.
        others: the names of the other players.
        to_move: the names of those who are to move, without the person.
        awaited: whether the person is to move.
        times: of their turn, else of the only other player to move; None while that clock does not run.
        news: entries since their own last move.
        url: of their seat, their invitation or their organiser's page.
        host: the name of the organiser if another player is.
        seated, size: seats that are taken, and all of them.
    """

    game: GameRow
    seat: SeatRow | None
    others: Sequence[str]
    to_move: Sequence[str]
    awaited: bool
    times: Times | None
    news: int
    url: str
    host: str | None
    seated: int
    size: int

    @property
    def rank(self) -> int:
        """0 if the person is to move, 1 if they are to accept an invitation or to confirm a game, else 2."""
        return 0 if self.awaited else 1 if self.needs_answer else 2

    @property
    def invited(self) -> bool:
        """Whether the person is invited and has not answered."""
        return self.seat is not None and self.seat.status == SeatStatus.INVITED

    @property
    def needs_answer(self) -> bool:
        """Whether they are to accept an invitation or to confirm a game."""
        return self.invited or self.game.status == GameStatus.ASKED

    @property
    def button(self) -> str:
        """What opens the game says; the texts of others end with a colon in emails."""
        if self.awaited:
            return N_("Make your move:")
        return N_("Confirm") if self.game.status == GameStatus.ASKED else N_("Answer")

    def state(self, now: datetime) -> str:
        """Return what the game waits for: `me`, `confirmation`, `answer`, `players`, a `moderator` if it is paused,
        somebody who uses their time `bank`, or `others`; empty if nobody is to move.
        """
        if self.awaited:
            return "me"
        if self.game.status == GameStatus.ASKED:
            return "confirmation"
        if self.invited:
            return "answer"
        if self.game.status != GameStatus.RUNNING:
            return "players"
        if self.game.paused:
            return "moderator"
        if self.times and self.times.bank and now > self.times.allowance_end:
            return "bank"
        return "others" if self.to_move else ""

    @property
    def urgency(self) -> tuple[int, bool, datetime]:
        """What games are sorted by: their rank, the waiting tables last, then the time left."""
        return (
            self.rank,
            self.game.status != GameStatus.RUNNING,
            self.times.allowance_end if self.times else NEVER,
        )


def own_games(session: Session, me: Person) -> list[OwnGame]:
    """Return their unfinished games, the most urgent first."""
    held = select(Seat.game_id).where(Seat.person_id == me.id, Seat.status != SeatStatus.DECLINED)
    ids = select(Game.id).where((Game.organiser_id == me.id) | Game.id.in_(held), Game.status.in_(ALIVE))
    theirs = select(*GAME).where(Game.id.in_(ids)).order_by(Game.created_at.desc())
    games = [GameRow(*row) for row in session.execute(theirs)]
    seats: dict[str, list[SeatRow]] = defaultdict(list)
    for row in session.execute(select(*SEAT).where(Seat.game_id.in_(ids)).order_by(Seat.seat)):
        seat = SeatRow(*row)
        seats[seat.game_id].append(seat)
    asked: dict[str, dict[int, TurnRow]] = defaultdict(dict)
    for row in session.execute(select(*TURN).where(Turn.game_id.in_(ids))):
        turn = TurnRow(*row)
        asked[turn.game_id][turn.seat] = turn
    started = [turn.started_at for each in asked.values() for turn in each.values() if turn.started_at]
    stops = turns.outages(session, min(started)) if started else []
    last, live = log.last_moves(session, me.id), _live_links(session, me)
    found = []
    for game in games:
        table, to_move = seats[game.id], asked[game.id]
        own = next(
            (seat for seat in table if seat.person_id == me.id and seat.status != SeatStatus.DECLINED), None
        )
        url = _entry_url(me, game, own, live)
        if url is None:
            continue
        mine = to_move.get(own.seat) if own else None
        shown = mine or (next(iter(to_move.values())) if len(to_move) == 1 else None)
        reader = own.seat if own else names.ORGANISER
        called = {seat.seat: names.of(game, seat, reader) for seat in table if seat is not own}
        others = [seat for seat in table if called.get(seat.seat)]
        found.append(
            OwnGame(
                game=game,
                seat=own,
                others=[called[seat.seat] for seat in others],
                to_move=[called[seat.seat] for seat in others if seat.seat in to_move],
                awaited=mine is not None,
                times=turns.times(session, game, shown, stops) if shown else None,
                news=game.head - last.get(game.id, game.head),
                url=url,
                host=next(
                    (called[seat.seat] for seat in others if seat.person_id == game.organiser_id), None
                ),
                seated=sum(seat.status == SeatStatus.SEATED for seat in table),
                size=len(table),
            )
        )
    return sorted(found, key=lambda entry: entry.urgency)


def not_of(me: Person | None) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions of games in which a person neither has a seat nor is the organiser."""
    if me is not None:
        yield Game.id.not_in(select(Seat.game_id).where(Seat.person_id == me.id))
        yield or_(Game.organiser_id.is_(None), Game.organiser_id != me.id)


def finished_games(session: Session, me: Person) -> Sequence[Row[Game, int | None]]:
    """Return the finished games in which they held a seat to the end, the latest first, each with their place.

    The place is None until the result is counted, and for games that do not count.
    """
    held = select(Seat.game_id).where(Seat.person_id == me.id)
    own = (Standing.game_id == Game.id) & (Standing.person_id == me.id)
    query = (
        select(Game, Standing.place)
        .outerjoin(Standing, own)
        .where(Game.id.in_(held), Game.status == GameStatus.OVER)
    )
    return session.execute(query.order_by(Game.ended_at.desc(), Game.id).limit(MOST_FINISHED)).unique().all()


def _entry_url(
    me: Person, game: GameRow, seat: SeatRow | None, live: Mapping[tuple[str | None, str], LinkRow]
) -> str | None:
    """Return the URL by which a person enters a game; None for an invitation that has not been sent yet.

    Args:
        live: their newest live link for each game and purpose.
    """
    playing = seat is not None and game.status == GameStatus.RUNNING
    entries = (
        [LinkPurpose.SEAT]
        if playing
        else [LinkPurpose.ORGANISE, LinkPurpose.INVITE]
        if game.organiser_id == me.id
        else [LinkPurpose.INVITE]
    )
    # The organiser of a table that keeps going was invited by the server, and got no other link.
    for purpose in entries:
        if (game.id, purpose) in live:
            return links.url(live[game.id, purpose])
    if (
        seat is not None
        and seat.status == SeatStatus.SEATED
        and game.status == GameStatus.INVITING
        and game.listed
    ):
        return url_for("invitations.free_seat", game_id=game.id)  # who joined there was not invited
    return url_for("game.show", game_id=game.id) if playing else None


def _live_links(session: Session, me: Person) -> Mapping[tuple[str | None, str], LinkRow]:
    """Return the newest of the existing live links to each of these games, by purpose; a GET request creates none."""
    purposes = Link.purpose.in_((LinkPurpose.SEAT, LinkPurpose.ORGANISE, LinkPurpose.INVITE))
    live = (Link.person_id == me.id, purposes, Link.revoked_at.is_(None), Link.expires_at.is_(None))
    alive = (Game.id == Link.game_id, Game.status.in_(ALIVE))
    newest_first = links.select_rows(session, *live, *alive)
    return {(link.game_id, link.purpose): link for link in reversed(newest_first)}


# ---- the home page, the rules, and fresh links for dead ones ----

FEW = 5
"""Open tables that the home page shows."""
MOST_LISTED = 50
"""Running games that the home page lists at most."""


@blueprint.get("/")
def index() -> ResponseReturnValue:
    """Show the home page, with the games of the signed-in person."""
    with reading() as session:
        me = login.signed_in(session)
        own = own_games(session, me) if me else []
        seen = ~blocks.hides(session, me.id if me else None)
        return render_template(
            "lobby/lobby.html",
            me=me,
            base_url=settings().base_url,
            own_games=own,
            ranks=RANKS,
            finished=finished_games(session, me) if me else (),
            now=utc_now(),
            awaiting=sum(entry.awaited for entry in own),
            games=config.offered_games(),
            titles={rules.slug: rules.title for rules in games.latest()},
            open_tables=open_tables.open_tables(
                session, open_tables.Wanted(), me.id if me else None, most=FEW
            )[0],
            running=_listed(session, Game.status == GameStatus.RUNNING, seen, *not_of(me)),
        )


def _listed(session: Session, *which: ColumnElement[bool]) -> Sequence[Game]:
    query = (
        select(Game).where(Game.listed, Game.quarantine.is_(None), *which).options(selectinload(Game.seats))
    )
    return session.scalars(query.order_by(Game.created_at.desc()).limit(MOST_LISTED)).all()


@blueprint.post("/link")
@limiter.limit("10/minute")
def fresh_link() -> ResponseReturnValue:
    """Mail the owner of a link a fresh one, if any; the response is the same in all cases."""
    form = flask.request.form
    login.mail_fresh_link(form.get("token", ""), utc_now(), to_seat=form.get("to") == "seat")
    return render_template("lobby/link_requested.html")


csrf.exempt(fresh_link)  # it works without cookies: all that it does is send mail


@blueprint.get("/rules/<slug>")
def rules(slug: str) -> str | tuple[str, int]:
    """Show the rules of one game; `view`, the table before the first shuffle, is used to draw its cards.

    The query may choose the `step` of the example.
    """
    try:
        found = rules_of(slug)
    except BadSetup:
        return error_page(404, _("Game not found"), _("The home page lists all games."))
    view = found.view(found.setup(min(found.seats), {}), PUBLIC)
    step = validation.whole_number(flask.request.args.get("step", ""), 99, 1) or 1
    return render_template(
        "lobby/rules.html",
        rules=found,
        view=view,
        step=step,
        base_url=settings().base_url,
        offered=found in config.offered_games(),
    )


# ---- about this server ----

INDEXED = {"home.index", "home.rules", "home.about"}
"""The only pages that search engines may list; the public pages of games carry people's names."""
CONTACT_LIFETIME = timedelta(days=180)
"""For how long security.txt says that it holds."""


@blueprint.get("/about")
def about() -> str:
    """Show what is kept about people, why, for how long and how it is erased, and what to do about barriers."""
    from server.mail.incoming import receive  # here, so that servers start quickly

    return render_template(
        "lobby/about_server.html",
        contact=_contact(),
        days=outbox.RETENTION.days,
        days_in=receive.RETENTION.days,
        by_mail=bool(settings().mail_domain),
    )


def _contact() -> tuple[str, str] | None:
    """Return the operator's address: as a link, and as text; None if it is not set."""
    given = settings().contact or parseaddr(settings().mail_from)[1]
    if given.endswith("@localhost"):
        return None
    return (given if "://" in given else f"mailto:{given}"), given


@blueprint.get("/robots.txt")
def robots() -> Response:
    """Keep programs out of what takes long to answer; other pages say themselves that they are not to be listed."""
    root = flask.request.script_root
    rules = [f"Disallow: {root}{path}" for path in ("/api/", "/g/*/history", "/g/*/verify")]
    return _text("User-agent: *", *rules, f"Sitemap: {settings().base_url}/sitemap.xml")


@blueprint.get("/sitemap.xml")
def sitemap() -> Response:
    """List the pages that search engines may list."""
    paths = ["/", *(f"/rules/{rules.slug}" for rules in config.offered_games()), "/about"]
    rows = "".join(f"<url><loc>{settings().base_url}{path}</loc></url>" for path in paths)
    text = f'<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{rows}</urlset>'
    return Response(text, mimetype="application/xml")


@blueprint.get("/.well-known/security.txt")
def security() -> Response:
    """Say whom to tell about a security problem (RFC 9116)."""
    contact = _contact()
    if contact is None:
        flask.abort(404)
    expires = (utc_now() + CONTACT_LIFETIME).strftime("%Y-%m-%dT00:00:00Z")
    return _text(
        f"Contact: {contact[0]}",
        f"Expires: {expires}",
        f"Preferred-Languages: {', '.join(i18n.NAMES)}",
        f"Canonical: {settings().base_url}{url_for('.security').removeprefix(flask.request.script_root)}",
    )


def _text(*lines: str) -> Response:
    return Response("\n".join(lines) + "\n", mimetype="text/plain")
