"""Two worlds that share nothing but the random seed."""

from __future__ import annotations

import secrets
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import flask
import pytest

from byzanz.record import Cause
from byzanz.rules import PUBLIC
from server.play.game import Table
from server.store import engine
from tests.support import game_data
from tests.support.leaks.pairs import Pair, pair
from tests.support.leaks.worlds import Dice, World

NOTHING = Pair("byzanz", 0, 3, PUBLIC, ((), ()), "", frozenset(), 0)


@dataclass(frozen=True)
class Worlds:
    """Both worlds, and the random stream they draw from."""

    one: World
    other: World
    dice: Dice

    def play(self, pair: Pair) -> None:
        """Play a pair in both worlds."""
        for world in (self.one, self.other):
            world.play(pair)
        self._check()

    def moderate(self, act: str) -> None:
        """Perform a moderator's action in both worlds."""
        for world in (self.one, self.other):
            world.moderate(act)
        self._check()

    def _check(self) -> None:
        assert self.one.told() == self.other.told(), "the public events of a pair are not the same"


@dataclass
class Tally:
    """What a run has compared.

    Args:
        secrets: what differed between the worlds, and how often.
        dropped: changes of a game that were undone because the viewer would have noticed them.
    """

    pairs: int = 0
    secrets: Counter[str] = field(default_factory=Counter)
    dropped: int = 0
    answers: int = 0
    planted: int = 0
    leaks: int = 0

    def count(self, found: Pair) -> None:
        """Add a pair."""
        self.pairs += 1
        self.secrets.update(found.differing)
        self.dropped += found.dropped


@pytest.fixture(scope="session")
def tally(request: pytest.FixtureRequest) -> Iterator[Tally]:
    """Print the counts at the end of the run, even if output is captured."""
    counted = Tally()
    yield counted
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        print(
            f"\npaired worlds: {counted.pairs} pairs equal ({counted.dropped} changes dropped), "
            f"{counted.answers} answers compared, {counted.leaks} of {counted.planted} planted leaks found; "
            f"differing: {dict(counted.secrets.most_common())}",
            file=sys.stderr,
        )


@pytest.fixture(scope="session")
def servers(migrated_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worlds]:
    """Return two servers with empty databases."""
    folder, dice = tmp_path_factory.mktemp("worlds"), Dice()
    made = [World(other, folder / f"{other}.db", migrated_file, dice, NOTHING, []) for other in (False, True)]
    yield Worlds(made[0], made[1], dice)
    for world in made:
        with world.app.app_context():
            engine.db.engine.dispose()


@pytest.fixture
def worlds(servers: Worlds, monkeypatch: pytest.MonkeyPatch) -> Worlds:
    """Return the two servers, with randomness from a fixed stream."""
    load(servers.dice, monkeypatch)
    return servers


def load(dice: Dice, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw all randomness from this stream, and write every entry as its world requires."""
    for name in ("token_bytes", "token_hex", "token_urlsafe", "randbelow", "choice"):
        monkeypatch.setattr(secrets, name, getattr(dice, name))
    write = Table.append

    def append(
        table: Table, *, seat: int | None, by: str, move: str, note: str | None = None, **rest: Any
    ) -> Any:
        world: World = flask.current_app.config["WORLD"]
        seq = table.game.head + 1
        by, note = world.cause(seq, seat, by, note)
        with dice.labelled(world.salt_label(seq, seat, by, move)):
            return write(table, seat=seat, by=Cause(by), move=move, note=note, **rest)

    monkeypatch.setattr(Table, "append", append)


Kept = tuple[Pair, Path, Path]


@pytest.fixture(scope="session")
def ready(servers: Worlds, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Kept]]:
    """Play a few pairs of each game to their moment and save them, for the tests that plant a leak."""
    folder = tmp_path_factory.mktemp("ready")
    kept: dict[str, list[Kept]] = {slug: [] for slug in READY}
    with pytest.MonkeyPatch.context() as patch:
        load(servers.dice, patch)
        for slug, seed in ((slug, seed) for slug, seeds in READY.items() for seed in seeds):
            found = pair(slug, seed)
            servers.play(found)
            files = folder / f"{slug}.{seed}.one.db", folder / f"{slug}.{seed}.other.db"
            servers.one.keep(files[0])
            servers.other.keep(files[1])
            kept[slug].append((found, *files))
    return kept


READY = game_data.of_all("PAIRS_WITH_LEAKS")
