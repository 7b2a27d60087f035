"""What moderators see and do: all games, one game with its mails and clocks, acts with a preview and a reason.

Everybody else is told that there is nothing at these addresses. Hidden hands of a running game open by a POST that
leaves a `!look` entry; the page it leads to shows the game up to that entry and no further.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flask
from flask import Blueprint, g, render_template, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import Select, exists, or_, select
from sqlalchemy.orm import Session, selectinload

from byzanz.games import rules_of
from byzanz.rules import ALL, PUBLIC, Viewer
from server import acts, alarms, autopilot, beats, outbox, people, play, positions, turns
from server.db import reading, transaction, utc_now
from server.pages import evidence, story, wanted
from server.pages.history import GAME_ID
from server.schema import Alarm, Deed, Entry, Game, Mail, Person, Seat, Turn
from server.table import Refused, Stale

blueprint = Blueprint("moderate", __name__, url_prefix="/m")

STATUSES = ("asked", "inviting", "running", "over", "cancelled")
TROUBLE = or_(
    Game.quarantine.is_not(None),
    (Game.status == "running") & Game.paused,
    exists().where(Turn.game_id == Game.id, Turn.refused.is_not(None)),
    (Game.status == "running") & exists().where(Seat.game_id == Game.id, Seat.autopilot),
    Game.status.in_(("inviting", "running"))
    & exists().where(Mail.game_id == Game.id, Mail.status == "failed"),
)
"""Games that a moderator should look at: set aside, paused, a clock that stands, an autopilot, a mail refused."""
PAGE = 50
"""Games on one page of the list."""
MAILS = 60
"""Mails that the page of a game shows, the newest."""


@blueprint.before_request
def _only_moderators() -> None:
    with reading() as session:
        me = people.signed_in(session)
    if me is None or not me.moderator:
        flask.abort(404)
    g.me = me


def _zone() -> str:
    return g.me.time_zone or "UTC"


@blueprint.get("/")
def games() -> ResponseReturnValue:
    """All games, newest first, by status and by what is searched for; and the alarms."""
    asked = flask.request.args
    status = asked.get("status", "") if asked.get("status") in (*STATUSES, "trouble") else ""
    text = asked.get("q", "").replace("\0", "").strip()[:100]
    page = int(asked["page"]) if asked.get("page", "") in {str(number) for number in range(1, 1000)} else 1
    with reading() as session:
        found = session.scalars(_search(status, text).offset((page - 1) * PAGE).limit(PAGE + 1)).all()
        return render_template(
            "pages/moderate_games.html",
            step_alarm=beats.STEP_ALARM,
            zone=_zone(),
            games=found[:PAGE],
            waits=_waits(session, [game.id for game in found[:PAGE]]),
            alarms=session.scalars(
                select(Alarm).where(Alarm.cleared_at.is_(None)).order_by(Alarm.at.desc())
            ).all(),
            statuses=STATUSES,
            status=status,
            text=text,
            page=page,
            more=len(found) > PAGE,
        )


def _search(status: str, text: str) -> Select[tuple[Game]]:
    query = select(Game).order_by(Game.created_at.desc(), Game.id).options(selectinload(Game.seats))
    if status:
        query = query.where(TROUBLE if status == "trouble" else Game.status == status)
    if text:
        sits = exists().where(
            Seat.game_id == Game.id,
            or_(
                Seat.name.icontains(text, autoescape=True),
                Seat.person_id.in_(select(Person.id).where(Person.email.icontains(text, autoescape=True))),
            ),
        )
        query = query.where(or_(Game.id == text.lower(), Game.name.icontains(text, autoescape=True), sits))
    return query


def _waits(session: Session, ids: Sequence[str]) -> dict[str, list[Turn]]:
    """The open turns of each of these games."""
    waits: dict[str, list[Turn]] = {game_id: [] for game_id in ids}
    for turn in session.scalars(select(Turn).where(Turn.game_id.in_(ids)).order_by(Turn.seat)):
        waits[turn.game_id].append(turn)
    return waits


@blueprint.post("/alarms/<int:alarm_id>")
def clear(alarm_id: int) -> ResponseReturnValue:
    """Somebody has seen to an alarm."""
    with transaction() as session:
        found = session.get(Alarm, alarm_id) if alarm_id < 2**31 else None
        if found is None:
            flask.abort(404)
        now = utc_now()
        if found.key == beats.STEP_ALARM:  # to say that the time is right is more than to have seen it
            outbox.mend(session, now)
            beats.thaw(session, now)
        else:
            alarms.clear(session, found.key, now)
    return flask.redirect(url_for(".games"), 303)


def _game(session: Session, game_id: str) -> Game:
    game = session.get(Game, game_id) if GAME_ID.fullmatch(game_id) else None
    if game is None:
        flask.abort(404)
    return game


@blueprint.get("/<game_id>")
def game(game_id: str) -> ResponseReturnValue:
    """One game: its seats, mails, clocks, acts, and its history with the eyes of the public."""
    return _game_page(game_id, None)


def _game_page(game_id: str, refusal: Refused | None) -> ResponseReturnValue:
    with reading() as session:
        game = _game(session, game_id)
        form = flask.request.form
        told = _story(session, game, PUBLIC, url_for(".game", game_id=game.id))
        if told is not None:
            told["beside"] = evidence.beside(told, evidence.of_game(session, game, _zone()))
        page = render_template(
            "pages/moderate_game.html",
            **_facts(session, game) | (told or {}),
            readable=told is not None,
            looks=_looks(session, game),
            sits=acts.sits(session, game.id, g.me.id),
            form=form,
            refusal=refusal,
        )
    return page, refusal.status if refusal else 200


def _facts(session: Session, game: Game) -> dict[str, Any]:
    seats = positions.seats_of(session, game.id)
    mails = session.scalars(
        select(Mail).where(Mail.game_id == game.id).order_by(Mail.id.desc()).limit(MAILS)
    ).all()
    ids = {mail.person_id for mail in mails} | {game.organiser_id}
    return {
        "zone": _zone(),
        "game": game,
        "title": rules_of(game.slug, game.rules).title,
        "seats": seats,
        "names": [seat.name for seat in seats],
        "left": {seat.seat for seat in seats if autopilot.has_left(session, game.id, seat.seat)},
        "rests": autopilot.rests(session, game),
        "turns": {turn.seat: turn for turn in turns.open_turns(session, game.id)},
        "mails": mails,
        "persons": {
            person.id: person for person in session.scalars(select(Person).where(Person.id.in_(ids)))
        },
    }


def _story(
    session: Session, game: Game, viewer: Viewer, here: str, last: int | None = None
) -> dict[str, Any] | None:
    """What templates/pages/story.html draws, not beyond the entry `last`; None if the log cannot be read."""
    asked = flask.request.args.to_dict()
    if last is not None:
        asked |= {
            "at": _capped(asked.get("at", ""), last),
            "before": _capped(asked.get("before", ""), last + 1),
        }
    if not game.head or asked.get("before") == str(game.head + 1):
        asked.pop("before", None)
    try:
        return story.chapter(session, game, viewer, _zone(), asked, here) if game.head else None
    except positions.Broken:
        return None


def _capped(text: str, most: int) -> str:
    small = text.isascii() and text.isdigit() and len(text) < 10 and 0 < int(text) <= most
    return text if small else str(most)


def _looks(session: Session, game: Game) -> list[Entry]:
    """The looks of this moderator into this game."""
    mine = (Deed.game_id == game.id, Deed.person_id == g.me.id, Entry.move.like("!look %"))
    joined = select(Entry).join(Deed, (Deed.game_id == Entry.game_id) & (Deed.seq == Entry.seq))
    return list(session.scalars(joined.where(*mine).order_by(Entry.seq.desc())))


@blueprint.post("/<game_id>/look")
def look(game_id: str) -> ResponseReturnValue:
    """Open hidden hands: leaves an entry with the reason, which the players see, and leads to what was opened."""
    form = flask.request.form
    with reading() as session:
        _game(session, game_id)
    try:
        act = f"!look {form.get('viewer', '')}"
        seq = play.moderate(game_id, act, reason=form.get("reason", ""), person_id=g.me.id, now=utc_now())
    except Refused as refusal:
        return _game_page(game_id, refusal)
    return flask.redirect(url_for(".looked", game_id=game_id, seq=seq), 303)


@blueprint.get("/<game_id>/look/<int:seq>")
def looked(game_id: str, seq: int) -> ResponseReturnValue:
    """The game up to a look of one's own, with the eyes it opened."""
    with reading() as session:
        game = _game(session, game_id)
        entry = next((entry for entry in _looks(session, game) if entry.seq == seq), None)
        if entry is None or acts.sits(session, game.id, g.me.id):
            flask.abort(404)
        word = entry.move.split()[1]
        viewer: Viewer = int(word) if word.isdigit() else ALL if word == ALL else PUBLIC
        here = url_for(".looked", game_id=game.id, seq=seq)
        told = _story(session, game, viewer, here, last=seq)
        return render_template(
            "pages/moderate_look.html",
            **{"game": game} | (told or {}),
            entry=entry,
            viewer=viewer,
            readable=told is not None,
        )


@blueprint.post("/<game_id>/preview")
def preview(game_id: str) -> ResponseReturnValue:
    """What an act would do; nothing is done yet."""
    return _preview_page(game_id, None)


def _preview_page(game_id: str, moved: Refused | None) -> ResponseReturnValue:
    try:
        asked = wanted.read(flask.request.form)
        with reading() as session:
            game = _game(session, game_id)
            reason = flask.request.form.get("reason", "")
            acts.check(session, game, asked.words, reason, g.me.id)
            page = render_template(
                "pages/moderate_preview.html",
                **_facts(session, game),
                act=asked.words[0][1:],
                asked=asked,
                lost=wanted.lost(session, game, asked.words, _zone()),
                seat=wanted.seat(session, game, asked.words),
                form=flask.request.form,
                refusal=moved,
            )
    except Refused as refusal:
        return _game_page(game_id, refusal)
    return page, moved.status if moved else 200


@blueprint.post("/<game_id>/act")
def act(game_id: str) -> ResponseReturnValue:
    """Do what was previewed, unless the game has moved on since: then the preview comes anew."""
    form = flask.request.form
    with reading() as session:
        _game(session, game_id)
    seen = form.get("seen", "")
    if not (seen.isascii() and seen.isdigit() and len(seen) < 10):
        flask.abort(400)
    try:
        asked = wanted.read(flask.request.form)
        play.moderate(
            game_id,
            " ".join(asked.words),
            reason=form.get("reason", ""),
            person_id=g.me.id,
            now=utc_now(),
            newcomer=asked.newcomer,
            keep_link=asked.keep_link,
            seen=int(seen),
        )
    except Stale as moved:
        return _preview_page(game_id, moved)
    except Refused as refusal:
        return _game_page(game_id, refusal)
    return flask.redirect(url_for(".game", game_id=game_id), 303)
