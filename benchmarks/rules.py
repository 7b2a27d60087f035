"""How fast the rules are beside engines of other projects, how strong the bots are, and whether some seat is better."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from copy import copy
from importlib import import_module
from itertools import count, repeat
from math import sqrt
from multiprocessing import get_context
from pathlib import Path
from random import Random
from runpy import run_path
from time import monotonic, process_time, thread_time
from typing import Any, NamedTuple, TypeAlias

from byzanz import bots, chance, umpire
from byzanz.games import latest, rules_of
from byzanz.rules import Rules

Pick: TypeAlias = Callable[[Sequence[Any]], Any]
"""Chooses one of several."""
Game: TypeAlias = Callable[[], int]
"""Plays one whole game and returns how many moves the seats made."""
EXAMPLE = Path(__file__).parents[1] / "examples" / "goofspiel" / "goofspiel.py"
ROUNDS = 20
SEATS = 4


def measure_moves(seconds: float = 5.0) -> dict[str, float | None]:
    """Play whole random games of Byzanz and Goofspiel with four seats, and of each baseline that is installed.

    Every move is listed, checked and settled. Seconds are CPU time of this process. The games take turns in short
    rounds, so that a temporarily slower machine slows all of them.

    Args:
        seconds: for each engine; a game that has begun is played to its end.

    Returns:
        Moves made by seats (including forced ones, not chance) per second; None for a baseline that is not
        installed; the time to copy a position, relative to one `apply`.
    """
    random = Random(2026).random  # noqa: S311 - chooses moves, keeps nothing secret

    def pick(items: Sequence[Any]) -> Any:
        return items[int(random() * len(items))]

    games = {"byzanz": byzanz_game(pick), "goofspiel": goofspiel_game(pick), **installed(pick)}
    speeds = _speeds(games, seconds)
    figures: dict[str, float | None] = {
        "moves_per_second": speeds["byzanz"],
        "goofspiel_moves_per_second": speeds["goofspiel"],
    }
    for name in BASELINES:
        ours = speeds["goofspiel" if "goofspiel" in name else "byzanz"]
        figures[f"{name}_moves_per_second"] = speed = speeds.get(name)
        figures[f"ratio_to_{name}"] = speed and ours / speed
    return figures | _copies(pick, seconds / 10)


def byzanz_game(pick: Pick) -> Game:
    """Play Byzanz through the umpire, choosing among answers and out-of-turn moves; only the chosen bid is built."""
    rules, numbers = rules_of("byzanz"), count()

    def game() -> int:
        deal = chance.deal(chance.key(f"bench{next(numbers)}", bytes(32), "abcd"))
        state, steps = umpire.settle(rules, rules.setup(SEATS, {}), deal)
        made = len(steps) - 1  # the shuffle is nobody's move
        while awaited := rules.awaited(state):
            seat = min(awaited)
            answers, out_of_turn_moves = rules.moves(state, seat), rules.out_of_turn_moves(state, seat)
            at = pick(
                range(-len(answers), len(out_of_turn_moves))
            )  # negative indexes count answers from the end
            move = answers[at] if at < 0 else out_of_turn_moves[at]
            state, steps = umpire.settle(rules, umpire.play(rules, state, seat, move), deal)
            made += 1 + len(steps)
        return made

    return game


def goofspiel_game(pick: Pick) -> Game:
    """Play the example game Goofspiel with four seats by its rules alone, with a view for each move, as bots do."""
    rules, numbers = run_path(str(EXAMPLE), run_name="goofspiel")["Goofspiel"](), count()

    def game() -> int:
        deal = chance.deal(chance.key(f"bench{next(numbers)}", bytes(32), "abcd"))
        state, made = rules.setup(SEATS, {}), 0
        state = rules.apply(state, None, deal(rules.chance(state)))
        while awaited := rules.awaited(state):
            seat = min(awaited)
            rules.view(state, seat)
            state = rules.apply(state, seat, pick(rules.moves(state, seat)))
            made += 1
        return made

    return game


def _speeds(games: Mapping[str, Game], seconds: float) -> dict[str, float]:
    made, spent = dict.fromkeys(games, 0), dict.fromkeys(games, 0.0)
    for _ in range(ROUNDS):
        for name, game in games.items():
            start = process_time()
            while (passed := process_time() - start) < seconds / ROUNDS:
                made[name] += game()
            spent[name] += passed
    return {name: made[name] / spent[name] for name in games}


def _copies(pick: Pick, seconds: float) -> dict[str, float | None]:
    """Measure the cost of copying a position, relative to one `apply` at the same positions.

    States are frozen, so nobody needs a copy to keep one: sharing it costs nothing. A clone here is another state
    with the same fields; written and read is one that shares nothing with the first.
    """
    rules, positions = rules_of("byzanz"), _positions(pick)
    costs: dict[str, Callable[[Any, int, Any], Any]] = {
        "apply": rules.apply,
        "clone": lambda state, *_: copy(state),
        "written_and_read": lambda state, *_: rules.decode(rules.encode(state)),
    }

    def once(cost: Callable[[Any, int, Any], Any]) -> Game:
        def game() -> int:
            for position in positions:
                cost(*position)
            return len(positions)

        return game

    speeds = _speeds({name: once(cost) for name, cost in costs.items()}, seconds)
    return {
        "microseconds_per_apply": 1e6 / speeds["apply"],
        "clone_to_apply": speeds["apply"] / speeds["clone"],
        "written_and_read_to_apply": speeds["apply"] / speeds["written_and_read"],
    }


def _positions(pick: Pick) -> list[tuple[Any, int, Any]]:
    """Return all positions of a game in which a seat chose: the state, the seat and the move."""
    rules, deal = rules_of("byzanz"), chance.deal(bytes(32))
    state, _ = umpire.settle(rules, rules.setup(SEATS, {}), deal)
    positions = []
    while rules.outcome(state) is None:
        seat = min(rules.awaited(state))
        positions.append((state, seat, pick(rules.moves(state, seat))))
        state, _ = umpire.settle(rules, umpire.play(rules, *positions[-1]), deal)
    return positions


# Games of other projects, played at random beside ours where they are installed; nothing of ours needs them. They are
# measured by the moves of their players, including forced ones but not chance, as ours are. To run them, put them into
# their own environment, made with the same Python:
#
#     python3 -m venv baselines && baselines/bin/pip install rlcard open_spiel
#     PYTHONPATH=$(echo baselines/lib/python3*/site-packages) python3 dev.py bench moves


def uno(pick: Pick) -> Game:
    """Uno from rlcard, at its default table of two: the environment lists the moves and checks the one made.

    Raises:
        ImportError: rlcard is not installed.
    """
    table = import_module("rlcard").make("uno")

    def game() -> int:
        made = 0
        position, _ = table.reset()
        while not table.is_over():
            position, _ = table.step(pick(list(position["legal_actions"])))
            made += 1
        return made

    return game


def liars_poker(pick: Pick) -> Game:
    """Liar's poker from open_spiel (pyspiel), written in Python, at its default table of two.

    Raises:
        ImportError: open_spiel is not installed.
    """
    import_module("open_spiel.python.games.liars_poker")  # registers it with pyspiel
    return _open_spiel(import_module("pyspiel").load_game("python_liars_poker"), pick)


def goofspiel(pick: Pick) -> Game:
    """Goofspiel from open_spiel (pyspiel), written in C++, for four, who choose one after another. None is in Python.

    Raises:
        ImportError: open_spiel is not installed.
    """
    settings = {"players": 4, "num_cards": 13}
    return _open_spiel(import_module("pyspiel").load_game_as_turn_based("goofspiel", settings), pick)


def _open_spiel(rules: Any, pick: Pick) -> Game:
    def game() -> int:
        made = 0
        position = rules.new_initial_state()
        while not position.is_terminal():
            if position.is_chance_node():
                position.apply_action(pick(position.chance_outcomes())[0])
            else:
                position.apply_action(pick(position.legal_actions()))
                made += 1
        return made

    return game


BASELINES: dict[str, Callable[[Pick], Game]] = {
    "uno": uno,
    "liars_poker": liars_poker,
    "open_spiel_goofspiel": goofspiel,
}
"""The baselines by the names of their figures."""


def installed(pick: Pick) -> dict[str, Game]:
    """Return the baselines that are installed.

    Args:
        pick: chooses their moves and their chance.
    """
    found = {}
    for name, rival in BASELINES.items():
        try:
            found[name] = rival(pick)
        except ImportError:
            continue
    return found


# How often each bot beats the next weaker one: matches in every game, each deal played from every seat. One seat is the
# stronger bot's, all others the weaker one's. Its share of the win is measured, with a 95 % Wilson interval: a draw for
# two is half a win. A bot is clearly better (1, else 0) if the whole interval lies above the even share. The thinking
# time of `search` is CPU time of its own thread, so that a busy machine does not distort it.


class Match(NamedTuple):
    """Games of one bot against others of another kind.

    Args:
        game: its slug.
        seats: at the table.
        bot: on one seat.
        other: on all other seats.
        games: how many are played.
    """

    game: str
    seats: int
    bot: str
    other: str
    games: int


MATCHES = (
    Match("byzanz", 6, "search", "greedy", 36),
    Match("empire", 2, "search", "greedy", 80),
    Match("byzantium", 2, "search", "greedy", 40),
    Match("byzantium", 4, "search", "greedy", 48),
    Match("byzanz", 6, "greedy", "random", 60),
    Match("empire", 2, "greedy", "random", 60),
    Match("byzantium", 2, "greedy", "random", 60),
    Match("byzantium", 4, "greedy", "random", 60),
)
"""Byzanz at its largest table; Empire is for two."""
SURE = 1.96
"""Standard deviations to each side that hold 95 % of a normal distribution."""


def measure_bots(milliseconds: float = 200, most: int | None = None, processes: int = 2) -> dict[str, float]:
    """Play all matches.

    Args:
        milliseconds: that `search` has for a move.
        most: games of each match at most; all if None.
        processes: that play at once.
    """
    tasks = [
        (match, number)
        for match in MATCHES
        for number in range(match.games if most is None else min(most, match.games))
    ]
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        shares = list(pool.map(_share, *zip(*tasks, strict=True), repeat(milliseconds / 1000)))
    figures: dict[str, float] = {}
    for match in MATCHES:
        won = [share for (each, _), share in zip(tasks, shares, strict=True) if each == match]
        figures |= _figures_of_match(match, won)
    return figures


def _figures_of_match(match: Match, won: list[float]) -> dict[str, float]:
    found, even = _share_of_wins(won), 1 / match.seats
    found |= {"even": even, "clearly_better": float(found["from"] > even), "games": len(won)}
    name = f"{match.game}_{match.seats}_{match.bot}_v_{match.other}"
    return {f"{name}_{what}": figure for what, figure in found.items()}


def _share_of_wins(shares: Sequence[float]) -> dict[str, float]:
    """Return the mean of the shares of each game's win, with its interval."""
    low, high = interval(sum(shares), len(shares))
    return {"share": sum(shares) / len(shares), "from": low, "to": high}


def interval(wins: float, games: int) -> tuple[float, float]:
    """Return the 95 % interval of the true share of wins (Wilson score interval).

    Args:
        wins: may include shares.
        games: at least one.
    """
    share, spread = wins / games, SURE**2 / games
    middle = (share + spread / 2) / (1 + spread)
    half = SURE * sqrt(share * (1 - share) / games + spread / (4 * games)) / (1 + spread)
    return middle - half, middle + half


def _share(match: Match, number: int, seconds: float) -> float:
    """Return the bot's share of the win in one game; each deal is played from every seat."""
    deal, one = divmod(number, match.seats)
    names = [match.bot if seat == one else match.other for seat in range(match.seats)]
    return play(f"bots{deal}", rules_of(match.game), names, lambda: bots.time_budget(seconds, thread_time))[
        one
    ]


def play(
    name: str, rules: Rules[Any, Any], players: Sequence[str], budget: Callable[[], Callable[[], float]]
) -> list[float]:
    """Play one game of bots and return each seat's share of the win.

    Args:
        name: of the deal.
        rules: the game.
        players: the bot on each seat.
        budget: makes what a bot has for a move.
    """
    key = chance.key(name, bytes(32), [])
    deal = chance.deal(key)
    draws = [chance.Stream(key, f"bot:{seat}").below for seat in range(len(players))]
    state, _ = umpire.settle(rules, rules.setup(len(players), {}), deal)
    while (outcome := rules.outcome(state)) is None:
        seat = min(rules.awaited(state))
        moves = (*rules.moves(state, seat), *rules.out_of_turn_moves(state, seat))
        move = bots.decide(players[seat], rules, rules.view(state, seat), moves, draws[seat], budget())
        state, _ = umpire.settle(rules, umpire.play(rules, state, seat, move), deal)
    return [outcome.winners.count(seat) / len(outcome.winners) for seat in range(len(players))]


# Whether some seat is better: games of the search bot against itself in every game and size. They go on where the last
# run stopped: each finished one is a line of a file. What has had the least time is played next, so short games are
# played more often. The bots think with a number of playouts a move, so the same games are played on every machine.


FILE = Path(__file__).parents[1] / ".peers" / "seats.jsonl"
"""The games that were played so far; to begin anew, delete it."""
PLAYOUTS = 20
"""The playouts that a bot has for a move: few, so that there is time for many games."""


def measure_seats(minutes: float = 30, playouts: int = PLAYOUTS, file: Path = FILE) -> dict[str, float]:
    """Play for some minutes, and return each seat's share of the wins in all games so far, with its 95 % interval.

    Args:
        minutes: of this run; a game that has begun is played to its end.
        playouts: that a bot has for a move.
        file: the games so far.
    """
    tables = {f"{rules.slug}_{seats}": (rules, seats) for rules in latest() for seats in rules.seats}
    file.parent.mkdir(exist_ok=True)
    file.touch()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    played = [line for line in lines if line["table"] in tables and line.get("playouts") == playouts]
    until = monotonic() + 60 * minutes
    while monotonic() < until:
        spent = {name: sum(line["seconds"] for line in played if line["table"] == name) for name in tables}
        name = min(spent, key=lambda each: spent[each])
        number = sum(line["table"] == name for line in played)
        began = thread_time()
        rules, seats = tables[name]
        shares = play(f"seats{number}", rules, ["search"] * seats, lambda: bots.playout_budget(playouts))
        about = {"table": name, "number": number, "playouts": playouts}
        played.append(about | {"shares": shares, "seconds": thread_time() - began})
        with file.open("a") as kept:
            kept.write(json.dumps(played[-1]) + "\n")
    return {what: figure for name in tables for what, figure in _figures_of_seats(name, played).items()}


def _figures_of_seats(name: str, played: list[Mapping[str, Any]]) -> dict[str, float]:
    games = [line["shares"] for line in played if line["table"] == name]
    found: dict[str, float] = {f"{name}_games": len(games)}
    for seat, shares in enumerate(zip(*games, strict=True)):
        found |= {f"{name}_seat_{seat}_{what}": figure for what, figure in _share_of_wins(shares).items()}
    return found
