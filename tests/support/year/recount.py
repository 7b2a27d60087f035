"""A second count of a year, from the logs and from what the friends know happened; written unlike the server's own."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import mean, median_low
from typing import Any

from byzanz import record, umpire
from byzanz.games import rules_of
from server.store import engine
from server.store.models import Game
from tests.support.year.events import Events, YearGame

TWO_YEARS = timedelta(days=730)


@dataclass(frozen=True)
class Result:
    """A game that was played to its end.

    Args:
        places, scores: by seat.
        players: who held each seat at the end; None for a bot, for nobody, and for an erased person.
    """

    game_id: str
    slug: str
    listed: bool
    ended_at: datetime
    places: tuple[int, ...]
    scores: tuple[int, ...]
    players: tuple[int | None, ...]
    life: YearGame

    @property
    def people(self) -> frozenset[int]:
        """The people who held a seat at the end."""
        return frozenset(player for player in self.players if player is not None)

    def place(self, person: int) -> int:
        """Where a person came."""
        return self.places[self.players.index(person)]

    def points(self, person: int) -> float:
        """The share of the others who came behind a person, in hundredths."""
        own = self.players.index(person)
        others = [place for seat, place in enumerate(self.places) if seat != own]
        return mean(
            100.0 if place > self.places[own] else 50.0 if place == self.places[own] else 0.0
            for place in others
        )


def results(year: Events) -> list[Result]:
    """Return the games that count, the latest first."""
    with engine.reading() as session:
        games = {game_id: session.get_one(Game, game_id) for game_id in year.lives}
    found = [_result(games[game_id], life, year.erased) for game_id, life in year.lives.items()]
    return sorted(
        (each for each in found if each), key=lambda each: (each.ended_at, each.game_id), reverse=True
    )


def _result(game: Game, life: YearGame, erased: set[int]) -> Result | None:
    entries = life.entries()
    if any(entry.move.startswith("!abandon") for entry in entries):
        return None
    rules = rules_of(game.slug, game.rules)
    state: Any = rules.setup(life.size, json.loads(game.options))
    for entry in record.effective(entries):
        state = rules.apply(state, entry.seat, umpire.read_logged(rules, entry.move))
    outcome = rules.outcome(state)
    assert outcome is not None
    assert game.ended_at is not None
    holders = [life.holders[seat] for seat in range(life.size)]
    return Result(
        game_id=game.id,
        slug=game.slug,
        listed=game.listed,
        ended_at=game.ended_at,
        places=tuple(rules.places(state)),
        scores=tuple(outcome.scores),
        players=tuple(None if holder in erased else holder for holder in holders),
        life=life,
    )


def conduct(results: Iterable[Result], person: int) -> list[tuple[Result, list[list[int]], bool, bool]]:
    """Return how a person answered: by game their decisions, and whether they left it or took it over."""
    found = []
    for each in results:
        if person in each.life.everybody:
            stayed = person in each.players
            took_over = stayed and person not in each.life.first.values()
            found.append((each, each.life.expected(person), not stayed, took_over))
    return found


def shown(results: Iterable[Result], person: int) -> tuple[int, int, int, int, int]:
    """Return what others see of a person: decisions, misses, the median, games, and those that they left."""
    rows = [row for row in conduct(results, person) if row[0].listed]
    rows = [row for row in rows if rows[0][0].ended_at - row[0].ended_at < TWO_YEARS]
    window = [seconds for row in rows for _seq, seconds in sorted(row[1], reverse=True)][:200]
    kept = [seconds for seconds in window if seconds >= 0]
    left = sum(bool(gone) - bool(took) for _each, _answers, gone, took in rows[:20])
    middle = median_low(kept) if kept else 0
    return len(window), len(window) - len(kept), middle, len(rows[:20]), max(0, left)


def tallies(results: Iterable[Result], person: int) -> dict[tuple[str, int], tuple[int, int, float, float]]:
    """Return a person's public record by game and size: games, wins, the wins by chance, the average place."""
    grouped: dict[tuple[str, int], list[Result]] = defaultdict(list)
    for each in results:
        if each.listed and person in each.people and len(each.people) > 1:
            grouped[each.slug, len(each.places)].append(each)
    return {
        kind: (
            len(games),
            sum(each.place(person) == 1 for each in games),
            sum(each.places.count(1) / len(each.places) for each in games),
            mean(each.place(person) for each in games),
        )
        for kind, games in grouped.items()
    }


def company(results: Iterable[Result], one: int, other: int) -> tuple[int, int]:
    """Return how often two people met, and how often the first was placed before the other."""
    met = [each for each in results if {one, other} <= each.people]
    return len(met), sum(each.place(one) < each.place(other) for each in met)


def group(
    results: Iterable[Result], people: frozenset[int]
) -> tuple[set[str], dict[int, tuple[int, int, float, float]]]:
    """Return the games of exactly these people, and of each their games, wins, average place and points."""
    games = [each for each in results if each.people == people]
    ranking = {
        person: (
            len(games),
            sum(each.place(person) == 1 for each in games),
            mean(each.place(person) for each in games),
            mean(each.points(person) for each in games),
        )
        for person in people
    }
    return {each.game_id for each in games}, ranking
