"""Games of other projects, played at random beside ours where they are installed; nothing of ours needs them.

A baseline is measured by the moves of its players, including forced ones but not chance, as ours is. To run them, put
them into their own environment, made with the same Python:

    python3 -m venv baselines && baselines/bin/pip install rlcard open_spiel
    PYTHONPATH=$(echo baselines/lib/python3*/site-packages) python3 dev.py bench moves
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, TypeAlias

Pick: TypeAlias = Callable[[Sequence[Any]], Any]
"""Chooses one of several."""
Game: TypeAlias = Callable[[], int]
"""Plays one whole game and returns how many moves the seats made."""


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
