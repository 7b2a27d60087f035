"""`byzanz verify` as a page: an uploaded record, or a finished game of this server, checked step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO

import flask
from flask import Blueprint, render_template
from flask_babel import gettext as _
from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session
from werkzeug.exceptions import RequestEntityTooLarge

from byzanz import games, record
from byzanz.record import BadRecord, Mailed, Record, Report
from byzanz.rules import PUBLIC
from server.accounts import login
from server.errors import NoSuchGame, Refused
from server.i18n import N_
from server.i18n.characters import shown
from server.play import history
from server.play.game import load
from server.play.positions import why_on_hold
from server.store.engine import reading, utc_now
from server.store.models import Game, GameStatus, Seat, SeatStatus
from server.web.http import GAME_ID, costly, error_page, limiter

blueprint = Blueprint("verify", __name__)

MOST_GAMES = 20
"""Records that an uploaded file may hold; the command takes any number."""
MOST_PASTED = 20_000
"""Characters of lines from emails."""
MOST_OFFERED = 20
"""Finished games that the form lists at most."""
MOST_SEATS = 12
"""Seats of an untrusted record that the page lists."""


class BadUpload(Refused):
    """The upload is not a file of records that can be checked here."""

    status = 422


class NotOver(Refused):
    """The deal of a game stays hidden until it is over."""


@dataclass(frozen=True, slots=True)
class ScoreLine:
    """A score of a record beside what follows from its moves.

    Args:
        score: as an untrusted record has it.
        worked_out: None if the moves were not all replayed.
    """

    name: str
    score: object
    won: bool
    worked_out: int | None
    worked_out_won: bool

    @property
    def differs(self) -> bool:
        """Whether another score follows from the moves."""
        return self.worked_out is not None and self.worked_out != self.score


@dataclass(frozen=True, slots=True)
class CheckedRecord:
    """A record, the report on it, and what the page says of both; an untrusted record’s texts go through `plain`."""

    record: Record
    report: Report

    @property
    def title(self) -> str:
        """The title of its game, or its slug if the game is unknown."""
        return games.title_of(self.record.header.game)

    def settled_after(self, seat: int) -> list[str]:
        """Return the names of the seats whose cuts were settled after that of a seat."""
        header = self.record.header
        return [header.seats[other] for other in record.settled_after(header, seat) or ()]

    @property
    def verdict(self) -> str:
        """`wrong`, `unfinished` if it could not all be checked because the game was not over, or `right`."""
        if self.report.wrong:
            return "wrong"
        return "unfinished" if self.report.unchecked or not self.report.result else "right"

    @property
    def about_commitment(self) -> str:
        """What the commitment proves, now that the seed is revealed or before."""
        if self.record.header.seed:
            return N_(
                "Before anyone took a seat, the server drew a secret number, the seed, and published its fingerprint, "
                "the commitment. Any other seed has a different fingerprint. Now that the seed is revealed, its "
                "fingerprint can be computed again. That the commitment itself was not replaced is shown by the emails "
                "that quoted it: compare it with yours."
            )
        return N_(
            "Before anyone took a seat, the server drew a secret number, the seed, and published its fingerprint, "
            "the commitment. The seed is revealed when the game is over; its fingerprint can then be computed again."
        )

    @property
    def commitment_matches(self) -> bool:
        """Whether the seed has the fingerprint that was published."""
        return self.report.commitment == self.record.header.commitment

    @property
    def cuts(self) -> list[tuple[str, str, bool]]:
        """The cuts, each with the name of its seat and whether the server suggested it."""
        header = self.record.header
        cuts = enumerate(header.cuts[:MOST_SEATS])
        return [(self._name(seat), cut, seat in header.uncut) for seat, cut in cuts]

    @property
    def settled(self) -> list[tuple[str, list[str]]]:
        """What was settled after each seat's cut; nothing where the record does not say it, or is not to be trusted."""
        header = self.record.header
        cuts = next(step for step in self.report.steps if step.name == "cuts")
        if (
            header.cut_order is None
            or cuts.state not in ("right", "hidden")
            or len(header.seats) > MOST_SEATS
        ):
            return []
        return [(name, self.settled_after(seat)) for seat, name in enumerate(header.seats)]

    @property
    def head(self) -> str:
        """The newest hash according to the record."""
        entries = self.record.entries
        return self.record.head or (entries[-1].hash if entries else "–")

    @property
    def scores(self) -> list[ScoreLine]:
        """The scores of a game that is over."""
        result, worked_out = self.report.result, self.report.worked_out
        if result is None:
            return []
        computed = worked_out.scores if worked_out else ()
        winners = worked_out.winners if worked_out else ()
        return [
            ScoreLine(
                self._name(seat),
                score,
                seat in result.winners,
                computed[seat] if seat < len(computed) else None,
                seat in winners,
            )
            for seat, score in enumerate(result.scores[:MOST_SEATS])
        ]

    def _name(self, seat: int) -> str:
        names = self.record.header.seats
        return names[seat] if seat < len(names) else "–"


@blueprint.app_template_filter("plain")
def printable(text: object, most: int = 80) -> str:
    """Return text from an untrusted record, printable and no longer than `most`."""
    drawn = "".join(char for char in str(text) if char.isprintable())
    return shown(drawn if len(drawn) <= most else drawn[: most - 1] + "…")


@blueprint.get("/verify")
def form() -> str:
    """Show a form to upload a record, and finished games whose deal can be checked here."""
    return _form(None, [])


@blueprint.post("/verify")
@limiter.limit("10/minute")
@costly
def upload() -> str | tuple[str, int]:
    """Check the records of a file, up to the first error, and lines of emails with them. Nothing is stored."""
    checked: list[CheckedRecord] = []
    try:
        mailed = _mailed(flask.request.form.get("lines", ""))
        for each in _check_records(_file(), mailed):
            checked.append(each)
    except BadUpload as refusal:
        return _form(refusal, checked), refusal.status
    return render_template("game/verified.html", checked=checked, game=None, mailed=mailed)


@blueprint.get("/g/<game_id>/verify")
@limiter.limit("30/minute")
@costly
def game(game_id: str) -> str:
    """Check a finished game of this server from its log."""
    with reading() as session:
        table = load(session, game_id if GAME_ID.fullmatch(game_id) else "", utc_now())
        if table.game.status not in (GameStatus.RUNNING, GameStatus.OVER):
            raise NoSuchGame("There is no game with this ID. Check the link.")
        if table.game.quarantine:
            raise why_on_hold(table.game.quarantine)
        if table.game.status != GameStatus.OVER:
            raise NotOver(
                "This game is still in progress. When it is over, the server’s secret is revealed and the deal can be "
                "verified here. Until then, the game’s page shows the commitment."
            )
        full_record = history.record_for(table, PUBLIC)
        return render_template(
            "game/verified.html",
            checked=[CheckedRecord(full_record, record.examine(full_record))],
            game=table.game,
            mailed=None,
        )


@blueprint.errorhandler(413)
def too_much(_error: RequestEntityTooLarge) -> tuple[str, int]:
    """The upload is larger than this server accepts."""
    return error_page(
        413,
        _("This file is too large to check here"),
        _(
            "This page accepts files of up to %(most)s MB. "
            "The command “byzanz verify” on your own machine accepts any size.",
            most=flask.current_app.config["MAX_CONTENT_LENGTH"] // 1024**2,
        ),
        back=flask.url_for(".form"),
    )


def _form(refusal: BadUpload | None, checked: Sequence[CheckedRecord]) -> str:
    with reading() as session:
        return render_template(
            "game/verify.html",
            refusal=refusal,
            checked=checked,
            games=_finished_games(session),
            titles={rules.slug: rules.title for rules in games.latest()},
            most_games=MOST_GAMES,
            lines=flask.request.form.get("lines", "")[:MOST_PASTED],
            most=flask.current_app.config["MAX_CONTENT_LENGTH"] // 1024**2,
        )


def _finished_games(session: Session) -> Sequence[Game]:
    """Return the newest finished games that are listed in the lobby, and those of the signed-in person."""
    known: ColumnElement[bool] = Game.listed.is_(True)
    if (me := login.signed_in(session)) is not None:
        seats = select(Seat.game_id).where(Seat.person_id == me.id, Seat.status == SeatStatus.SEATED)
        known = known | Game.id.in_(seats)
    query = select(Game).where(Game.status == GameStatus.OVER, Game.quarantine.is_(None), known)
    return session.scalars(query.order_by(Game.ended_at.desc()).limit(MOST_OFFERED)).all()


def _file() -> IO[bytes]:
    sent = flask.request.files.get("record")
    if sent is None or not sent.filename:
        raise BadUpload("Choose a record file first.")
    return sent.stream


def _mailed(lines: str) -> Mailed:
    """Return what the pasted lines of emails quote.

    Raises:
        BadUpload: they quote nothing, or are too long.
    """
    if len(lines) > MOST_PASTED:
        raise BadUpload("Paste only the lines with “head”, “commitment” or “cut”.")
    mailed = record.mailed_in(lines)
    if lines.strip() and not mailed:
        raise BadUpload("The pasted text has no line with “head”, “commitment” or “cut” and its hash.")
    return mailed


def _check_records(file: IO[bytes], mailed: Mailed) -> Iterator[CheckedRecord]:
    """Check the records of a file one after another; the first wrong one comes last.

    Args:
        mailed: what emails quote of the only game in the file.

    Raises:
        BadUpload: the file holds no records, or too many.
    """
    number = 0
    try:
        for number, each in enumerate(record.read(record.lines(file)), start=1):
            if number > MOST_GAMES:
                raise BadUpload(
                    "This file holds more than %(most)s games. Upload fewer at a time.", most=MOST_GAMES
                )
            if number > 1 and mailed:
                raise BadUpload("With lines from emails, the file must hold one game.")
            report = record.examine(each, mailed=mailed)
            yield CheckedRecord(each, report)
            if report.wrong is not None:
                return
    except BadRecord as fault:
        raise BadUpload("This is not a record: %(fault)s.", fault=printable(fault, 300)) from fault
    if not number:
        raise BadUpload("This file contains no record.")
