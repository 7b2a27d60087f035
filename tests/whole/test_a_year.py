"""A group lives on the server for a year: what it counts is what happened, and nobody reads what is not for them."""

from __future__ import annotations

import json
import secrets
import sys

import pytest
import time_machine
from flask import Flask
from sqlalchemy import select

from server import play
from server.community import blocks, profiles, reliability, results, statistics, talk
from server.play.moderation import Newcomer
from server.scheduler import jobs
from server.store import engine
from server.store.models import Conduct, Game, Person, Reliability, Standing
from tests.conftest import NOW, Table, begun
from tests.support.costs import statements
from tests.support.decisions import DAY
from tests.support.games import asked, make
from tests.support.leaks.worlds import Dice
from tests.support.lobby import moderator
from tests.support.sample_mails import with_replies
from tests.support.talk import say, word_id
from tests.support.year import recount
from tests.support.year.recount import Result
from tests.support.year.simulation import Year

RANDOM = ("token_bytes", "token_hex", "token_urlsafe", "randbelow", "choice")


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch) -> Dice:
    """Let nothing depend on the machine's time or on chance."""
    monkeypatch.setattr(jobs, "steady", lambda: 0.0)
    dice = Dice()
    for name in RANDOM:
        monkeypatch.setattr(secrets, name, getattr(dice, name))
    return dice


@pytest.mark.parametrize("seed", [1])
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_few_games_of_a_year(app: Flask, steady: Dice, seed: int) -> None:
    live(app, steady, seed, 6)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [2, 3])
def test_a_year_of_a_hundred_games(app: Flask, steady: Dice, seed: int) -> None:
    live(app, steady, seed, 100)


def live(app: Flask, dice: Dice, seed: int, games: int) -> None:
    """Let the friends live for so many games, and compare all that is counted with what happened."""
    with_replies(app)
    dice.relabel(f"year {seed}")
    year = Year(app=app, seed=seed, games=games)
    year.live()
    with time_machine.travel(year.now, tick=False):
        for game_id in year.lives:
            year.post.look_at(game_id)
    print(
        f"{year.now:%Y-%m-%d}, {len(year.lives)} games: {dict(sorted(year.counts.items()))}", file=sys.stderr
    )
    counted = recount.results(year)
    check_rows(year, counted)
    check_people(year, counted)
    check_groups(counted)
    before = stored_counts()
    results.everything(year.now + DAY)
    assert stored_counts() == before


def stored_counts() -> dict[str, list[str]]:
    """Return all that was counted."""
    with engine.reading() as session:
        return {
            table.__tablename__: sorted(map(repr, session.scalars(select(table)).all()))
            for table in (Standing, Conduct, Reliability)
        }


def check_rows(year: Year, counted: list[Result]) -> None:
    """Compare standings and conduct."""
    with engine.reading() as session:
        standings = {
            (row.game_id, row.seat): (row.place, row.score, row.person_id)
            for row in session.scalars(select(Standing))
        }
        conduct = {
            (row.game_id, row.person_id): (json.loads(row.answers), row.abandoned, row.substitute)
            for row in session.scalars(select(Conduct))
        }
    assert standings == {
        (each.game_id, seat): (each.places[seat], each.scores[seat], each.players[seat])
        for each in counted
        for seat in range(len(each.places))
    }
    expected = {
        (each.game_id, person): (answers, left, took_over)
        for person in year.alive
        for each, answers, left, took_over in recount.conduct(counted, person)
    }
    assert expected.keys() == conduct.keys()
    for key, told in expected.items():
        assert conduct[key] == told, explained(year, key, conduct[key][0], told[0])


def explained(year: Year, key: tuple[str, int], found: list[list[int]], told: list[list[int]]) -> str:
    """Return the decisions on which server and diary do not agree, with what the diary says of them."""
    life = year.lives[key[0]]
    differ = sorted(each for each in [*found, *told] if (each in found) != (each in told))
    entries = {entry.seq: entry for entry in life.entries()}
    lines = [f"{key}: server {each in found}, diary {each in told}: {each}" for each in differ]
    more = [
        f"{entries[seq]}\n{life.told[seq]} {vars(life.told[seq].turn or object)}" for seq, _ in differ[:2]
    ]
    return "\n".join([*lines[:10], *more, f"{sorted(life.failed)} {year.absences[key[1]]} {year.outages}"])


def check_people(year: Year, counted: list[Result]) -> None:
    """Compare what is shown of each person."""
    with engine.reading() as session:
        shown = reliability.shown(session, year.alive)
        for person in year.alive:
            of = shown[person]
            figures = (of.decisions, of.missed, of.median, of.games, of.abandoned)
            assert figures == recount.shown(counted, person), year.names[person]
            found = profiles.profile(session, session.get_one(Person, person)).tallies
            record = {
                (each.slug, each.size): (each.played, each.won, each.even, each.place) for each in found
            }
            told = recount.tallies(counted, person)
            assert record == {kind: pytest.approx(row) for kind, row in told.items()}
            for other in year.alive:
                if other != person:
                    met = profiles.company(session, person, other)
                    assert (met.met, met.before) == recount.company(counted, person, other)


def check_groups(counted: list[Result]) -> None:
    """Compare the lists and rankings of all groups."""
    with engine.reading() as session:
        for each in counted:
            found = statistics.group(session, each.game_id)
            if not each.people:
                assert found is None
                continue
            assert found is not None
            games, ranking = recount.group(counted, each.people)
            assert {game.id for game in found.games} == games
            assert {
                member.person_id: (member.played, member.won, member.place, member.points)
                for member in found.members
            } == {person: pytest.approx(row) for person, row in ranking.items()}
        assert not session.scalars(select(Game.id).where(Game.quarantine.is_not(None))).all()


@pytest.mark.usefixtures("app")
def test_a_move_at_a_lively_table_takes_as_many_statements_as_at_a_quiet_one() -> None:
    sent: dict[str, int] = {}
    for name in ("quiet", "lively"):
        game = begun(4, name, listed=True)
        if name == "lively":
            enliven(game)
        for number in range(3):
            with statements(engine.db.engine) as texts:
                make(game, asked(game), "pass", name=f"{name}{number}")
            sent[f"{name}{number}"] = len(texts)
    assert [sent[f"quiet{number}"] for number in range(3)] == [sent[f"lively{number}"] for number in range(3)]


def enliven(game: Table) -> None:
    """Let the people of a table talk, block and mute each other, and let one leave, return and be replaced."""
    for number in range(12):
        say(game, number % 4, f"Hello {number}")
    talk.mute(game.people[1], game.id, word_id(game.id, 1))
    blocks.block(game.people[0], game.people[3], NOW)
    play.leave(game.id, 3, now=NOW)
    play.reclaim(game.id, 3, now=NOW)
    newcomer = Newcomer("Georgios", "georgios@example.org")
    play.moderate(game.id, "!replace 3", reason="so", person_id=moderator(), now=NOW, newcomer=newcomer)
