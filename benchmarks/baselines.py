"""Games of other makers, played at random beside ours where they are installed; nothing of ours needs them.

A rival is measured by the moves that its players make, forced ones among them; what chance deals is not counted,
as with ours. To have them beside ours, put them into an environment of their own, made with the same Python:

    python3 -m venv rivals && rivals/bin/pip install rlcard open_spiel
    PYTHONPATH=$(echo rivals/lib/python3*/site-packages) python3 dev.py bench moves
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, TypeAlias

Pick: TypeAlias = Callable[[Sequence[Any]], Any]
"""Draws one of several."""
Game: TypeAlias = Callable[[], int]
"""Plays one whole game and tells how many moves the seats made."""


def uno(pick: Pick) -> Game:
    """Uno of rlcard, at its default table of two: the environment lists the moves and checks the one made.

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
    """Liar's poker of open_spiel (pyspiel), written in Python, at its default table of two.

    Raises:
        ImportError: open_spiel is not installed.
    """
    import_module("open_spiel.python.games.liars_poker")  # makes it known to pyspiel
    rules = import_module("pyspiel").load_game("python_liars_poker")

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


BASELINES: dict[str, Callable[[Pick], Game]] = {"uno": uno, "liars_poker": liars_poker}
"""The rivals by the names of their figures."""


def installed(pick: Pick) -> dict[str, Game]:
    """The rivals that can be played here.

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
