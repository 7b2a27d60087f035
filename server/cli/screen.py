"""A game as text: the table, what happened, and the moves to choose from."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby

from byzanz.games.facts import Fact, facts
from byzanz.moves import Message, Move, Outcome, ranked
from byzanz.record import Entry
from server.cli.table import Table

WIDTH = 96
PAGE = 40
"""As many moves are listed at a time."""


def names(table: Table) -> list[str]:
    """Return what the seats are called."""
    return ["You" if seat == table.own else f"Seat {seat} ({table.bot} bot)" for seat in range(table.seats)]


def position(table: Table) -> Iterator[str]:
    """Yield the lines that show what the person may know of the table."""
    view = table.view()
    hand = getattr(view, "hand", ())
    heading = ", ".join(table.rules.heading(view))
    yield from ("", heading[:1].upper() + heading[1:]) if heading else ("",)
    shared, by_seat = facts(view, table.seats, table.rules.by_seat)
    for fact in shared:
        yield from _wrapped(f"  {_said(fact)}")
    for name, own in zip(names(table), by_seat, strict=True):
        said = "; ".join(_said(fact) for fact in own if not (hand and fact.cards == hand))
        yield from _wrapped(f"  {name}: {said}")
    if hand:
        yield from _wrapped(f"Your hand: {' '.join(hand)}")


def news(table: Table, log: Sequence[Entry], known: Sequence[Entry]) -> Iterator[str]:
    """Yield a line for each entry that was not known before, or not in this form, and what followed from it.

    Args:
        table: the game.
        log: the log now, see `Table.log`.
        known: the log at an earlier time.
    """
    called = names(table)
    for at, entry in enumerate(log):
        if entry in known[at : at + 1] or entry.move.endswith(" ?"):
            continue  # the table shows who has chosen
        who = "Chance" if entry.seat is None else called[entry.seat]
        forced = " (the only move)" if entry.by == "rules" else ""
        yield from _wrapped(f"{who}: {entry.move}{forced}")
        for message in table.told[at]:
            yield from _wrapped(f"  {_sentence(message, called, table.own)}")


def grouped(moves: Sequence[Move]) -> list[Move]:
    """Return the moves with those of one verb together."""
    verbs = list(dict.fromkeys(move.verb for move in moves))
    return sorted(moves, key=lambda move: verbs.index(move.verb))


def menu(moves: Sequence[Move], first: int) -> Iterator[str]:
    """Yield the lines of one page of a numbered list, a new line for each verb.

    Args:
        moves: all, as `grouped` returned them.
        first: the index of the first move of the page.
    """
    page = list(enumerate(moves, start=1))[first : first + PAGE]
    for _, group in groupby(page, key=lambda each: each[1].verb):
        texts = [f"{number:4} {move}" for number, move in group]
        wide = max(map(len, texts)) + 1
        across = max(1, WIDTH // wide)
        for start in range(0, len(texts), across):
            yield "".join(text.ljust(wide) for text in texts[start : start + across]).rstrip()
    left = len(moves) - first - len(page)
    if left:
        yield f"     and {left} more: type more"


def result(table: Table, outcome: Outcome) -> Iterator[str]:
    """Yield the lines that tell how a game ended."""
    ended = "" if outcome.reason == "finished" else f" ({outcome.reason})"
    yield from ("", f"The game is over{ended}.")
    for place, seat in ranked(table.places()):
        yield f"{place:3}. {names(table)[seat]}: {outcome.scores[seat]}"


def _said(fact: Fact) -> str:
    if fact.cards is None:
        return f"{fact.name} {fact.text}".rstrip()
    return f"{fact.name} {'sealed' if fact.cards == ('?',) else ' '.join(fact.cards) or 'none'}"


def _sentence(message: Message, names: Sequence[str], own: int) -> str:
    named = {
        place: ", ".join(names[seat] for seat in (seats if isinstance(seats, tuple) else (seats,)))
        for place, seats in message.seats.items()
    }
    listed = {
        place: ", ".join(map(str, value)) if isinstance(value, tuple) else value
        for place, value in message.places.items()
    }
    is_own = message.you and message.seats.get("name") == own
    return (message.you if is_own else message.text) % (listed | named)


def _wrapped(line: str) -> list[str]:
    return textwrap.wrap(line, WIDTH, subsequent_indent="      ", break_on_hyphens=False)
