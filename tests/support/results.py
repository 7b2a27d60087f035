"""Finished and counted games, made without playing them."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from byzanz import chance
from byzanz.moves import ranked
from server.store import engine, people
from server.store.models import Conduct, Game, Person, Seat, Standing
from tests.conftest import NOW, Table, begun
from tests.support.games import make, position


def somebody(name: str, **values: Any) -> int:
    """Return the id of the person with this name, created if necessary, with columns changed."""
    with engine.transaction() as session:
        person = people.get_or_create(session, f"{name.lower()}@example.org", name, NOW)
        for column, value in values.items():
            setattr(person, column, value)
        return person.id


def handled(name: str, handle: str, shown: str = "all") -> int:
    """Return the id of a person with a handle."""
    return somebody(
        name, handle=handle, skeleton=handle.lower().translate(str.maketrans("oli_s", "011-5")), shown=shown
    )


def counted(
    game_id: str,
    names: Sequence[str],
    places: Sequence[int],
    *,
    at: datetime = NOW,
    listed: bool = True,
    slug: str = "byzanz",
    early: bool = False,
    **more: Any,
) -> str:
    """Make a finished game and its standing; return its id.

    Args:
        names: of the players, by seat; one that begins with `Bot` is a bot.
        places: where each seat came; scores follow from them.
        at: its end, three days after its beginning.
        early: a moderator ended it.
    """
    ids = [None if name.startswith("Bot") else somebody(name) for name in names]
    scores = [50 - 10 * place for place in places]
    winners = [] if early else [seat for seat, place in enumerate(places) if place == 1]
    result = {"scores": scores, "winners": winners, "reason": "abandoned" if early else "finished"}
    game = Game(
        id=game_id,
        slug=slug,
        rules=1,
        name=more.pop("name", f"Table {game_id}"),
        organiser_id=next((person for person in ids if person), None),
        status="over",
        allowance=86400,
        seed=bytes(32).hex(),
        commitment=chance.commitment(game_id, bytes(32)),
        created_at=at - timedelta(days=4),
        started_at=at - timedelta(days=3),
        ended_at=at,
        counted_at=at,
        listed=listed,
        result=json.dumps(result),
        **more,
    )
    with engine.transaction() as session:
        session.add(game)
        session.flush()
        for number, (name, person, place, score) in enumerate(zip(names, ids, places, scores, strict=True)):
            bot = "greedy" if person is None else None
            seat = Seat(
                game_id=game_id, seat=number, stored_name=name, status="seated", person_id=person, bot=bot
            )
            session.add(seat)
            session.add(
                Standing(game_id=game_id, seat=number, place=place, score=score, person_id=person, bot=bot)
            )
    return game_id


def person_of(person_id: int) -> Person:
    """Return the row of a person."""
    with engine.reading() as session:
        return session.get_one(Person, person_id)


def played(game_id: str, size: int = 2, slug: str = "empire", **more: Any) -> Table:
    """Play a game between friends at random to its end, and count it."""
    table = begun(size, game_id, slug=slug, **more)
    dice = random.Random(1)
    while (now := position(game_id)).awaited:
        seat = min(now.awaited)
        make(table, seat, str(dice.choice(now.rules.moves(now.state, seat)[:6])))
    count(table)
    return table


def count(table: Table) -> None:
    """Count a game that was played to its end, unless that is done."""
    now = position(table.id)
    assert now.outcome is not None
    with engine.transaction() as session:
        game = session.get_one(Game, table.id)
        if game.counted_at is not None:
            return
        game.counted_at = NOW
        for place, number in ranked(now.rules.places(now.state)):
            standing = Standing(game_id=table.id, seat=number, place=place, score=now.outcome.scores[number])
            standing.person_id = table.people[number]
            session.add(standing)


def habits_of(person_id: int, game_id: str) -> None:
    """Store how long a person took for three decisions in a finished game."""
    conduct = Conduct(
        game_id=game_id,
        person_id=person_id,
        ended_at=NOW,
        abandoned=False,
        substitute=False,
        answers="[[1, 60], [2, 5400], [3, 90000]]",
    )
    with engine.transaction() as session:
        session.add(conduct)
