"""Who held a seat: at each moment of a begun game each seat has one tenure, and the last agrees with its row."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from sqlalchemy import select

from server import play
from server.accounts import personal_data
from server.errors import Refused
from server.lobby import visitors
from server.play import positions
from server.play.game import tenures_of
from server.play.moderation import Newcomer
from server.store import engine, people
from server.store.models import Game, Person, Seat, Tenure
from tests.conftest import NOW, Table
from tests.support.costs import statements
from tests.support.games import loaded, start_clock

pytestmark = pytest.mark.usefixtures("app")
Begin = Callable[..., Table]
HOUR = timedelta(hours=1)
SUBSTITUTES = ("Georgios", "Helena")


def held(game_id: str, seat: int) -> list[tuple[int, int | None, int | None, str | None]]:
    """Return the tenures of a seat: from, to, person and bot."""
    with engine.reading() as session:
        found = [row for row in tenures_of(session, game_id) if row.seat == seat]
        return [(row.from_seq, row.to_seq, row.person_id, row.bot) for row in found]


def check_seats(game_id: str) -> None:
    """Check the law of tenures for each seat of a game."""
    with engine.reading() as session:
        head = session.get_one(Game, game_id).head
        for seat in session.scalars(select(Seat).where(Seat.game_id == game_id)).unique():
            own = held(game_id, seat.seat)
            assert own[0][0] == 0
            assert own[-1][1] is None
            assert all(earlier[1] == later[0] for earlier, later in pairwise(own))
            assert all(0 < later[0] <= head for later in own[1:])
            person = session.get(Person, seat.person_id or 0)
            game = session.get_one(Game, game_id)
            gone = seat.left or (person is not None and person.email is None and not game.trial)
            assert own[-1][2:] == ((None, None) if gone else (seat.person_id, seat.bot))


def moderator() -> int:
    with engine.transaction() as session:
        return people.get_or_create(session, "mia@example.org", "Mia", NOW).id


def moderate_as_mia(
    game_id: str, act: str, mia: int, now: datetime = NOW, who: Newcomer | None = None
) -> None:
    play.moderate(game_id, act, reason="so", person_id=mia, now=now, newcomer=who)


def answer_as(game_id: str, seat: int, now: datetime) -> None:
    with engine.reading() as session:
        position = positions.current(loaded(session, game_id))
    moves = position.rules.moves(position.state, seat)
    if moves:
        request = f"{position.head}-{seat}"
        play.submit(game_id, seat, moves[-1], seen=position.head, request_id=request, now=now)


def any_act(game_id: str, dice: random.Random, mia: int, now: datetime) -> None:
    """Let somebody do something; a refusal is fine."""
    seat = dice.randrange(3)
    newcomer = Newcomer(name := dice.choice(SUBSTITUTES), f"{name.lower()}@example.org")
    acts: list[Callable[[], object]] = [
        lambda: answer_as(game_id, seat, now),
        lambda: play.leave(game_id, seat, now=now),
        lambda: play.reclaim(game_id, seat, now=now),
        lambda: play.place_order(game_id, seat, "tax best always", now=now),
        lambda: moderate_as_mia(game_id, f"!replace {seat}", mia, now, newcomer),
        lambda: moderate_as_mia(game_id, f"!replace {seat}", mia, now, Newcomer("Greedy bot", bot="greedy")),
        lambda: moderate_as_mia(game_id, f"!autopilot {seat} {dice.choice(('on', 'off'))}", mia, now),
        lambda: moderate_as_mia(game_id, f"!void {dice.randrange(2, 9)}", mia, now),
        lambda: moderate_as_mia(game_id, "!resume", mia, now),
    ]
    try:
        dice.choice(acts)()
    except Refused:
        return


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(2, 6))]
)
def test_each_seat_always_has_one_tenure_and_the_last_agrees_with_its_row(table: Begin, seed: int) -> None:
    dice, game, mia = random.Random(seed), table(3, f"law{seed}"), moderator()
    check_seats(game.id)
    for number in range(60):
        any_act(game.id, dice, mia, NOW + number * HOUR)
        check_seats(game.id)
    assert sum(len(held(game.id, seat)) for seat in range(3)) > 3


def test_leaving_ends_a_tenure_and_returning_begins_one(table: Begin) -> None:
    game = table(3)
    play.leave(game.id, 1, now=NOW)
    play.reclaim(game.id, 1, now=NOW + HOUR)
    bob = game.people[1]
    [(_, left, first, _), (_, back, nobody, _), (_, end, second, _)] = held(game.id, 1)
    assert (first, nobody, second, end) == (bob, None, bob, None)
    assert left is not None
    assert back is not None
    assert left < back
    assert held(game.id, 0) == [(0, None, game.people[0], None)]


def test_autopilot_and_voids_change_no_tenure(table: Begin) -> None:
    game, mia = table(3), moderator()
    start_clock(game.id, 0, NOW)
    for day in (2, 5):
        play.time_out(game.id, 0, "bid 1", NOW + timedelta(days=day))
    moderate_as_mia(game.id, "!autopilot 1 on", mia)
    play.reclaim(game.id, 1, now=NOW)
    moderate_as_mia(game.id, "!void 2", mia)
    assert [len(held(game.id, seat)) for seat in range(3)] == [1, 1, 1]


def test_a_moderator_who_ends_the_autopilot_of_a_player_who_left_begins_a_tenure(table: Begin) -> None:
    game, mia = table(3), moderator()
    play.leave(game.id, 1, now=NOW)
    moderate_as_mia(game.id, "!autopilot 1 off", mia)
    assert [row[2] for row in held(game.id, 1)] == [game.people[1], None, game.people[1]]


@pytest.mark.parametrize("left_before", [False, True])
def test_a_substitute_begins_a_tenure_with_the_act(table: Begin, left_before: bool) -> None:
    game, mia = table(3), moderator()
    if left_before:
        play.leave(game.id, 1, now=NOW)
    moderate_as_mia(game.id, "!replace 1", mia, who=Newcomer("Georgios", "georgios@example.org"))
    with engine.reading() as session:
        newcomer = people.find(session, "georgios@example.org")
        seat = session.get_one(Seat, (game.id, 1))
        assert newcomer is not None
    assert held(game.id, 1)[-1] == (seat.held_since, None, newcomer.id, None)
    assert held(game.id, 1)[0][2] == game.people[1]
    assert len(held(game.id, 1)) == 2 + left_before


def test_a_visitor_who_keeps_the_game_has_held_it_from_the_start() -> None:
    token = visitors.start("byzantium", "Guest", NOW, "en")
    with engine.transaction() as session:
        [game] = session.scalars(select(Game).where(Game.trial)).unique()
        check_seats(game.id)
        ann = people.get_or_create(session, "ann@example.org", "Ann", NOW)
        play.keep_trial(session, game.id, ann, "Ann", NOW + HOUR)
    assert token
    assert held(game.id, 0) == [(0, None, ann.id, None)]
    check_seats(game.id)


@pytest.mark.changes_busy_table
def test_an_erased_person_holds_nothing_and_never_did(table: Begin) -> None:
    game, mia = table(3), moderator()
    moderate_as_mia(game.id, "!replace 2", mia, who=Newcomer("Georgios", "georgios@example.org"))
    for person in (game.people[1], game.people[2]):
        personal_data.erase(person, NOW)
        with engine.reading() as session:
            assert not session.scalars(select(Tenure).where(Tenure.person_id == person)).all()
    check_seats(game.id)
    moderate_as_mia(game.id, "!autopilot 1 off", mia)
    check_seats(game.id)


def test_a_move_writes_no_tenure_and_the_start_writes_them_at_once(table: Begin) -> None:
    with statements(engine.db.engine) as sent:
        game = table(3)
    assert len([text for text in sent if "tenure" in text]) == 1
    with statements(engine.db.engine) as sent:
        answer_as(game.id, 0, NOW)
    assert not [text for text in sent if "tenure" in text]
