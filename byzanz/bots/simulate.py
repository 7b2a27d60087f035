"""Whole games played by bots without a server: the same seed gives the same bytes (docs/formats.md §5)."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from datetime import datetime, timedelta

from byzanz.bots import decide, find_bot, playout_budget
from byzanz.chance import Stream, clean_cut, commitment, deal, key
from byzanz.moves import BadSetup
from byzanz.record import Cause, Entry, Header, Record, Result, new_entry
from byzanz.rules import Rules, S, V
from byzanz.umpire import Step, play, settle

_FIRST_DAY = datetime(2000, 1, 1)  # noqa: DTZ001 - written with Z; no clock is asked
_LONGEST_THOUGHT = 3_600_000
_PLAYOUTS = 100
"""The search bot's budget for each move."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"


class _Source:
    """Everything in a simulated game that is random or comes from a clock in a real one."""

    def __init__(self, seed: bytes, game: str) -> None:
        self._key = hmac.digest(seed, f"byzanz-simulate/1\n{game}".encode(), "sha256")
        self._thought = Stream(self._key, "thought").below
        self._milliseconds = 0

    def bytes(self, label: str) -> bytes:
        return hmac.digest(self._key, label.encode(), "sha256")

    def game_id(self) -> str:
        below = Stream(self._key, "id").below
        return "".join(_LETTERS[below(len(_LETTERS))] for _ in range(16))

    def bot(self, seat: int) -> Stream:
        return Stream(self._key, f"bot:{seat}")

    def think(self) -> None:
        """Let a moment pass before the next entry."""
        self._milliseconds += 1 + self._thought(_LONGEST_THOUGHT)

    def now(self) -> str:
        return (_FIRST_DAY + timedelta(milliseconds=self._milliseconds)).isoformat(
            timespec="milliseconds"
        ) + "Z"


def simulate_game(rules: Rules[S, V], seats: int, seed: bytes, number: int, bots: Sequence[str]) -> Record:
    """Play a whole game among bots; ids, seeds, salts, times and all choices come from the arguments.

    Args:
        rules: the game.
        seats: the number of players.
        seed: any bytes; another seed gives other games.
        number: of this game among the games of the seed, from 0.
        bots: names of bots, the first for seat 0; if fewer than seats, they repeat.

    Raises:
        BadSetup: the game is not for this number, no bot is named, or one is unknown (`UnknownBot`).
    """
    state = rules.setup(seats, {})
    if not bots:
        raise BadSetup("Name at least one bot.")
    players = tuple(clean_cut(bots[seat % len(bots)]) for seat in range(seats))
    for name in players:
        find_bot(name)
    source = _Source(seed, f"{rules.slug} {rules.version} {seats} {number}")
    header = _header(rules, players, source)
    assert header.seed is not None
    dealer = deal(key(header.id, header.seed, header.cuts))
    draws = [source.bot(seat).below for seat in range(seats)]
    entries: list[Entry] = []
    state, steps = settle(rules, state, dealer)
    _log(header, entries, steps, source)
    while (outcome := rules.outcome(state)) is None:
        source.think()
        seat = min(rules.awaited(state))
        choices = (*rules.moves(state, seat), *rules.out_of_turn_moves(state, seat))
        view = rules.view(state, seat)
        move = decide(players[seat], rules, view, choices, draws[seat], playout_budget(_PLAYOUTS))
        state, steps = settle(rules, play(rules, state, seat, move), dealer)
        _log(header, entries, (Step(seat, Cause.BOT, move), *steps), source)
    result = Result(outcome.scores, outcome.winners, outcome.reason)
    return Record(header, tuple(entries), result, entries[-1].hash)


def _header(rules: Rules[S, V], players: tuple[str, ...], source: _Source) -> Header:
    game_id, seed = source.game_id(), source.bytes("seed")
    return Header(
        id=game_id,
        game=rules.slug,
        rules=rules.version,
        options={},
        seats=players,
        commitment=commitment(game_id, seed),
        seed=seed,
        cuts=players,
        cut_order=tuple(range(len(players))),
    )


def _log(header: Header, entries: list[Entry], steps: Sequence[Step], source: _Source) -> None:
    for step in steps:
        previous = entries[-1].hash if entries else header.first_hash
        seq = len(entries) + 1
        salt = source.bytes(f"salt:{seq}")[:16].hex()
        move = str(step.move)
        entries.append(new_entry(previous, seq, source.now(), step.seat, step.by, move, None, salt))
