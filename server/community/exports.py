"""Results out: a person's or a group's finished games as CSV and JSON, and records as a zip archive."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import IO, Any
from urllib.parse import quote, urlencode

from sqlalchemy.orm import Session

from byzanz import record
from byzanz.rules import ALL
from server.community.ended import Ended, Placed
from server.community.groups import Group
from server.config import settings
from server.play import history, positions
from server.store.engine import stamp
from server.store.models import Game

BG_STATS = "https://app.bgstatsapp.com/createPlay.html"
MOST_GAMES = 5000
"""The latest games of a person that a list of results contains."""
MOST_RECORDS = 200
"""Records in one archive; more come in further archives."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
OWN = (
    *(
        "date",
        "id",
        "game",
        "name",
        "size",
        "place",
        "score",
        "points",
        "opponents",
        "scores",
        "seconds",
        "url",
    ),
)
"""The columns of a person's results."""
SEATS = ("date", "id", "game", "name", "size", "player", "bot", "place", "score", "points", "url")
"""The columns of a group's results: a row for each seat of each game."""


def cell(value: object) -> object:
    """Return a value for a cell of a spreadsheet; a text that looks like a formula gets an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV (RFC 4180), with the names of the columns in the first line."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(columns)
    writer.writerows([cell(value) for value in row] for row in rows)
    return out.getvalue()


def own_table(games: Iterable[Ended], person_id: int) -> str:
    """Return a person's results as CSV."""
    return table(OWN, (_own_row(game, game.of(person_id)) for game in games))


def _own_row(game: Ended, own: Placed) -> tuple[object, ...]:
    others = "; ".join(seat.name for seat in game.seats if seat is not own)
    scores = "; ".join(f"{seat.name} {seat.score}" for seat in game.ranked)
    return (
        *(f"{game.ended_at:%Y-%m-%d}", game.id, game.title, game.name, game.size),
        *(own.place, own.score, _points(game, own), others, scores, _seconds(game), _url(game)),
    )


def own_list(games: Iterable[Ended], person_id: int) -> str:
    """Return a person's results as JSON."""
    return _json({"games": [_game(game) | {"seat": game.of(person_id).seat} for game in games]})


def group_table(group: Group) -> str:
    """Return the results of a group as CSV."""
    return table(SEATS, (_seat_row(game, seat) for game in group.games for seat in game.ranked))


def _seat_row(game: Ended, seat: Placed) -> tuple[object, ...]:
    return (
        *(f"{game.ended_at:%Y-%m-%d}", game.id, game.title, game.name, game.size),
        *(seat.name, seat.bot or "", seat.place, seat.score, _points(game, seat), _url(game)),
    )


def group_list(group: Group) -> str:
    """Return the ranking and the games of a group as JSON."""
    ranking = [
        {
            "name": member.name,
            "played": member.played,
            "won": member.won,
            "place": round(member.place, 2),
            "points": round(member.points, 1),
        }
        for member in group.members
    ]
    return _json({"ranking": ranking, "games": [_game(game) for game in group.games]})


def bg_stats(game: Ended) -> str:
    """Return the link that adds a game to BG Stats, an app in which people log what they play.

    Its format is at https://www.bgstatsapp.com/support/push-plays-to-bg-stats-from-other-apps-or-websites/. A game by
    email has no duration that would be comparable to others there.
    """
    best = game.ranked[0].score
    play = {
        "sourceName": "Byzanz",
        "sourcePlayId": game.id,
        "playDate": f"{game.ended_at:%Y-%m-%d %H:%M:%S}",
        "game": {
            "name": game.title,
            "sourceGameId": game.slug,
            "highestWins": all(seat.score <= best for seat in game.seats),
        },
        "players": [
            {
                "name": seat.name,
                "sourcePlayerId": seat.name,
                "rank": seat.place,
                "score": seat.score,
                "winner": seat.place == 1,
                "startPlayer": seat.seat == 0,
            }
            for seat in game.seats
        ],
    }
    return f"{BG_STATS}?{urlencode({'data': json.dumps(play, ensure_ascii=False)}, quote_via=quote)}"


def _game(game: Ended) -> dict[str, Any]:
    seats = [
        {
            "name": seat.name,
            "bot": seat.bot,
            "place": seat.place,
            "score": seat.score,
            "points": _points(game, seat),
        }
        for seat in game.seats
    ]
    return {
        "id": game.id,
        "game": game.slug,
        "name": game.name,
        "started": stamp(game.started_at),
        "ended": stamp(game.ended_at),
        "seconds": _seconds(game),
        "url": _url(game),
        "seats": seats,
    }


def _points(game: Ended, seat: Placed) -> float:
    return round(game.points(seat), 1)


def _seconds(game: Ended) -> int:
    return (game.ended_at - game.started_at) // timedelta(seconds=1)


def _url(game: Ended) -> str:
    return f"{settings().base_url}/g/{game.id}"


def _json(content: dict[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def records(session: Session, games: Iterable[Ended], out: IO[bytes]) -> None:
    """Write the records of finished games into a zip archive; one that is on hold is left out."""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as zipped:
        for game in games:
            try:
                text = record.write(history.record_for(session, session.get_one(Game, game.id), ALL))
            except positions.Broken:
                continue
            name = f"{game.ended_at:%Y-%m-%d}-{game.slug}-{game.id}.jsonl"
            zipped.writestr(zipfile.ZipInfo(name, game.ended_at.timetuple()[:6]), text, zipfile.ZIP_DEFLATED)
