"""Rules for standing orders and seats on autopilot: none lost, none carried out twice.

The rules of a game determine what an order answers; database and journal must agree on when each began and ended.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from byzanz import orders as ordering
from byzanz.moves import RulesError
from byzanz.record import Entry
from tests.torture.book import Book
from tests.torture.evidence import Evidence, Found, Game, Row

ALIVE = ("standing", "resting")
Place = tuple[str, int]
"""Game and seat."""
Name = tuple[str, int, int]
"""Of an order: game, seat, and its number among the seat's orders."""


def _place(line: Row) -> Place:
    return line["game"], line["seat"]


def _name(line: Row) -> Name:
    """Return the order that a journal line is about."""
    return line["game"], line["seat"], line["id"]


def _own_name(row: Row) -> Name:
    return row["game_id"], row["seat"], row["number"]


def _rows(found: Evidence) -> dict[Name, Row]:
    return {_own_name(row): row for game in found.games.values() for row in game.orders}


def kept(found: Evidence) -> Found:
    """An acknowledged order is stored, and one that ended says when and why."""
    rows = _rows(found)
    for line in found.lines("ordered"):
        if line["status"] == 201 and _name(line) not in rows:
            yield (
                line["game"],
                f"seat {line['seat']} was told that it has the order {line['id']}; it has none",
            )
    for row in rows.values():
        ended = row["ended_at"] is not None and row["ended_seq"] is not None
        if ended == (row["status"] in ALIVE) or (row["status"] == "stopped" and not row["reason"]):
            yield row["game_id"], f"the order {row['id']} is {row['status']}; ended: {ended}, {row['reason']}"


def withdrawn(found: Evidence) -> Found:
    """An order whose withdrawal was acknowledged has ended, and no order is withdrawn that nobody withdrew."""
    rows = _rows(found)
    for line in found.lines("withdrawn"):
        row = rows.get(_name(line))
        if line["status"] == 204 and row is not None and row["status"] != "withdrawn":
            yield line["game"], f"the order {row['id']} was taken back and is {row['status']}"
    asked = {_name(line) for line in found.lines("withdraw")}
    for game in found.games.values():
        for row in game.orders:
            if row["status"] == "withdrawn" and _own_name(row) not in asked and not _gone(game, row):
                yield game.id, f"the order {row['id']} of seat {row['seat']} is withdrawn; nobody did that"


def _gone(game: Game, row: Row) -> bool:
    """Whether a newer order replaced this one, the game ended, or its player left."""
    if row["reason"] is not None:
        return game.known is not None and (
            game.known.rules.outcome(game.known.state) is not None
            or any(seat == row["seat"] and seq == row["ended_seq"] + 1 for seat, seq in game.known.gone)
        )
    return any(
        (newer["seat"], newer["left_seq"]) == (row["seat"], row["ended_seq"]) and newer["id"] > row["id"]
        for newer in game.orders
    )


@dataclass
class Standing:
    """An order over time.

    Args:
        texts: what it may say by now; one text if its owner was told which it is.
        spent: the entry at which it was used up.
    """

    row: Row
    texts: set[str]
    spent: int | None = None

    def made(self, known: Book, entry: Entry) -> bool:
        """Whether the order was active at this entry and says its move; the rest of it remains active."""
        row = self.row
        past = row["ended_seq"] is not None and row["ended_seq"] < entry.seq
        if self.spent or past or row["seat"] != entry.seat or row["left_seq"] >= entry.seq:
            return False
        rules, before = known.rules, known.states[entry.seq - 1]
        view, moves = rules.view(before, row["seat"]), rules.moves(before, row["seat"])
        for text in sorted(self.texts):
            answer = rules.answer_order(rules.parse_order(text), view, moves)
            if answer is not None and str(answer.move) == entry.move:
                self.texts = {answer.remaining.text} if answer.remaining else set()
                self.spent = None if answer.remaining else entry.seq
                return True
        return False

    def wrong(self, known: Book) -> Iterator[str]:
        """Yield contradictions in its row."""
        row, name = self.row, f"the order {self.row['id']} of seat {self.row['seat']}"
        if self.spent is not None:
            if (row["status"], row["ended_seq"]) != ("done", self.spent):
                yield f"{name} was carried out by entry {self.spent} and is {row['status']}"
        elif row["status"] == "done":
            view = known.rules.view(known.states[row["ended_seq"]], row["seat"])
            if not row["occasion"] or not known.rules.order_expired(row["occasion"], view):
                yield f"{name} is done, though no entry did what it says"
        elif row["status"] in ALIVE and row["text"] not in self.texts:
            yield f"{name} says {row['text']!r}, not {sorted(self.texts)}"


def answer(found: Evidence) -> Found:
    """Each move by order is what an active order of its seat said; one that is used up makes no other."""
    said, meant = _said(found)
    for game in found.games.values():
        known = game.known
        if known is None:
            continue
        standing = [
            Standing(
                row,
                {said[_own_name(row)]}
                if _own_name(row) in said
                else _alike(known, meant[game.id, row["seat"]], row["text"]),
            )
            for row in game.orders
        ]
        for entry in game.entries:
            if entry.by == "order" and not any(each.made(known, entry) for each in standing):
                yield game.id, f"entry {entry.seq}, {entry.move!r}: no order of seat {entry.seat} says this"
        for each in standing:
            for fault in each.wrong(known):
                yield game.id, fault


def _alike(known: Book, texts: set[str], left: str) -> set[str]:
    """What an order may have said of which this is left: a seat has only one active order of each kind."""
    kind = known.rules.parse_order(left).kind
    return {left} | {text for text in texts if known.rules.parse_order(text).kind == kind}


def _said(found: Evidence) -> tuple[dict[Name, str], dict[Place, set[str]]]:
    """Return the text of each acknowledged order, by its id, and everything that each seat has requested."""
    said = {_name(line): line["order"] for line in found.lines("ordered") if line["status"] == 201}
    meant: dict[Place, set[str]] = defaultdict(set)
    for line in found.lines("order"):
        game = found.games.get(line["game"])
        if game is not None and game.known is not None:
            try:
                meant[_place(line)].add(game.known.rules.parse_order(line["text"]).text)
            except RulesError:
                continue  # it was refused
    return said, meant


def idle(found: Evidence) -> Found:
    """No active order answers a question that is open now; it would have been carried out."""
    for game in found.games.values():
        known = game.known
        if known is None:
            continue
        for seat in known.open:
            left = [
                ordering.PlacedOrder(row["id"], known.rules.parse_order(row["text"]), row["occasion"])
                for row in game.orders
                if row["status"] == "standing" and row["seat"] == seat
            ]
            decision = ordering.decide(known.rules, known.state, seat, left)
            if decision is not None:
                yield (
                    game.id,
                    f"the order {decision.placed.key} of seat {seat} should have made {decision.answer.move}",
                )


def own(found: Evidence) -> Found:
    """Only its own player leaves or reclaims a seat, and a seat is given up only if no email reached it."""
    signs = ("ask", "order", "withdraw", "letter", "back")
    there = {_place(line) for line in found.lines(*signs)}
    gone = {_place(line) for line in found.lines("left")}
    unreached = {_place(line) for line in found.lines("unreached")}
    for game in found.games.values():
        for entry in game.entries:
            place = game.id, entry.seat if entry.seat is not None else -1
            back = entry.by == "player" and entry.move.endswith(" off")
            if (back and place not in there) or (entry.move.startswith("!leave") and place not in gone):
                yield game.id, f"entry {entry.seq}, {entry.move!r}: its player did not ask for this"
        for seat, seq in game.known.given_up if game.known else ():
            if (game.id, seat) not in unreached:
                yield game.id, f"entry {seq}: seat {seat} is given up, though it was reached"
