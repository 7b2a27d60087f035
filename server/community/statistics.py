"""Games in numbers: of a group, of a person's habits, and as files to download."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import IO, Any
from urllib.parse import quote, urlencode

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from byzanz import record
from byzanz.record import Cause
from byzanz.rules import ALL
from server import i18n
from server.community import profiles, results
from server.community.profiles import Company
from server.community.results import Ended, Placed
from server.config import settings
from server.play import history, positions
from server.play.game import load
from server.store import log
from server.store.engine import parse_stamp, stamp
from server.store.models import Conduct, Game, Seat, Standing

MOST_GAMES_OF_A_GROUP = 500
"""The latest games of a group that are counted."""


@dataclass(frozen=True, slots=True)
class Member:
    """One of the group over all its games.

    Args:
        name: at the last table.
        place: the average one.
        points: of 100 a game: the share of the others at the table who came behind.
    """

    person_id: int
    name: str
    played: int
    won: int
    place: float
    points: float


@dataclass(frozen=True, slots=True)
class Group:
    """A group: its members, the best first, and its games, the latest first."""

    members: Sequence[Member]
    games: Sequence[Ended]


def group(session: Session, game_id: str) -> Group | None:
    """Return the group of a game's people, who may be one that plays against bots; None if the game is not counted."""
    found = results.load(session, Game.id == game_id, 1)
    people = found[0].people if found else frozenset()
    if not people:
        return None
    theirs = select(Standing.game_id).where(Standing.person_id.in_(people)).group_by(Standing.game_id)
    all_of_them = theirs.having(func.count() == len(people))
    others = select(Standing.game_id).where(
        Standing.person_id.not_in(people), Standing.game_id.in_(all_of_them)
    )
    games = results.load(session, Game.id.in_(all_of_them) & Game.id.not_in(others), MOST_GAMES_OF_A_GROUP)
    members = [_member(games, person) for person in people]
    return Group(sorted(members, key=lambda each: (-each.points, each.place, each.name)), games)


def _member(games: Sequence[Ended], person_id: int) -> Member:
    seats = [(game, game.of(person_id)) for game in games]
    return Member(
        person_id=person_id,
        name=seats[0][1].name,
        played=len(seats),
        won=sum(seat.place == 1 for _game, seat in seats),
        place=sum(seat.place for _game, seat in seats) / len(seats),
        points=sum(game.points(seat) for game, seat in seats) / len(seats),
    )


# ---- files to download ----

BG_STATS = "https://app.bgstatsapp.com/createPlay.html"
MOST_GAMES_IN_A_FILE = 5000
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
                table = load(session, game.id, game.ended_at)
                text = record.write(history.record_for(table, ALL))
            except positions.Broken:
                continue
            name = f"{game.ended_at:%Y-%m-%d}-{game.slug}-{game.id}.jsonl"
            zipped.writestr(zipfile.ZipInfo(name, game.ended_at.timetuple()[:6]), text, zipfile.ZIP_DEFLATED)


# ---- habits ----
# Counted when the page is opened, from the latest games only, so that it takes as long for everybody.

MOST_GAMES_OF_HABITS = 200
"""The latest games that are counted."""
MOST_COMPANY = 20
"""The people one has met most often, who are listed."""
HOUR, DAY = 3600, 86400
BLOCK = 3
"""Hours in a row of the table of hours."""

Answers = Mapping[str, Sequence[float]]
"""Seconds of counted time for each decision that a person made themselves, by game."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a person answers in one game.

    Args:
        median: seconds of counted time.
        within_hour, within_day: shares of the decisions, from 0 to 1.
    """

    slug: str
    decisions: int
    median: float
    within_hour: float
    within_day: float


@dataclass(frozen=True, slots=True)
class Saved:
    """What standing orders saved: the decisions that they answered, and the seconds these usually take."""

    decisions: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Mate:
    """Somebody with whom a person plays: the name at the last table, and the handle if there is a profile to see."""

    name: str
    handle: str | None
    company: Company


@dataclass(frozen=True, slots=True)
class Habits:
    """Everything on the page.

    Args:
        weekdays: decisions by day, from Monday.
        hours: decisions by time of day, in blocks of three hours from midnight.
    """

    games: int
    paces: Sequence[Pace]
    weekdays: Sequence[int]
    hours: Sequence[int]
    saved: Saved
    tallies: Sequence[profiles.Tally]
    mates: Sequence[Mate]


def habits(session: Session, person_id: int, zone: str) -> Habits:
    """Return a person's habits in their latest games, private ones included.

    Args:
        zone: the IANA name of the time zone of days and hours.
    """
    slugs = _games(session, person_id)
    entries = _entries(session, person_id, slugs)
    answers = _answers(session, person_id, entries)
    local = [at.astimezone(i18n.zone(zone)) for at, by in entries.values() if by == Cause.PLAYER]
    days, hours = Counter(at.weekday() for at in local), Counter(at.hour // BLOCK for at in local)
    games = results.of_person(session, person_id, MOST_GAMES_OF_HABITS)
    return Habits(
        games=len(slugs),
        paces=_paces(slugs, answers),
        weekdays=[days[day] for day in range(7)],
        hours=[hours[block] for block in range(24 // BLOCK)],
        saved=_saved(entries, slugs, answers),
        tallies=profiles.tallies(games, person_id),
        mates=_mates(session, person_id, games),
    )


def _games(session: Session, person_id: int) -> dict[str, str]:
    """Return the latest games that have begun in which a person holds a seat, with what is played."""
    query = select(Game.id, Game.slug).join(Seat, Seat.game_id == Game.id)
    theirs = query.where(Seat.person_id == person_id, Game.started_at.is_not(None))
    rows = session.execute(theirs.order_by(Game.started_at.desc(), Game.id).limit(MOST_GAMES_OF_HABITS))
    return {game_id: slug for game_id, slug in rows}  # noqa: C416 - a row is no pair to mypy


Entries = Mapping[tuple[str, int], tuple[datetime, str]]
"""When a person's decisions were answered and whether by `player` or `order`, by game and seq."""


def _entries(session: Session, person_id: int, games: Iterable[str]) -> Entries:
    moves = log.held_moves(session, person_id, [*games], (Cause.PLAYER, Cause.ORDER))
    return {(game, seq): (parse_stamp(at), by) for game, seq, at, by in moves}


def _answers(session: Session, person_id: int, entries: Entries) -> Answers:
    """Return how long decisions took that neither a standing order nor the server answered."""
    query = select(Conduct.game_id, Conduct.answers).where(Conduct.person_id == person_id)
    found: dict[str, list[float]] = defaultdict(list)
    for game_id, text in session.execute(query.order_by(Conduct.ended_at.desc()).limit(MOST_GAMES_OF_HABITS)):
        for seq, seconds in json.loads(text):
            by = entries.get((game_id, seq), (None, Cause.PLAYER))[1]
            if seconds >= 0 and by == Cause.PLAYER:
                found[game_id].append(seconds)
    return found


def _paces(slugs: Mapping[str, str], answers: Answers) -> list[Pace]:
    grouped: dict[str, list[float]] = defaultdict(list)
    for game_id, times in answers.items():
        if game_id in slugs:
            grouped[slugs[game_id]] += times
    return [_pace(slug, times) for slug, times in sorted(grouped.items()) if times]


def _pace(slug: str, times: Sequence[float]) -> Pace:
    quick = sum(seconds <= HOUR for seconds in times) / len(times)
    return Pace(slug, len(times), median(times), quick, sum(seconds <= DAY for seconds in times) / len(times))


def _saved(entries: Entries, slugs: Mapping[str, str], answers: Answers) -> Saved:
    """Return what orders saved: each would have taken as long as the person's usual answer in that game."""
    usual = {pace.slug: pace.median for pace in _paces(slugs, answers)}
    games = [game_id for (game_id, _seq), (_at, by) in entries.items() if by == Cause.ORDER]
    return Saved(len(games), sum(usual.get(slugs[game_id], 0) for game_id in games))


def _mates(session: Session, person_id: int, games: Sequence[Ended]) -> list[Mate]:
    met: Counter[int] = Counter()
    before: Counter[int] = Counter()
    names: dict[int, str] = {}
    for game in games:  # the latest first
        own = game.of(person_id).place
        for seat in game.seats:
            if seat.person_id not in (None, person_id):
                met[seat.person_id] += 1
                before[seat.person_id] += own < seat.place
                names.setdefault(seat.person_id, seat.name)
    shown = profiles.handles_for(session, met)
    often = sorted(met, key=lambda other: (-met[other], names[other]))[:MOST_COMPANY]
    return [Mate(names[other], shown.get(other), Company(met[other], before[other])) for other in often]
