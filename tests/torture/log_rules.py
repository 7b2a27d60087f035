"""Rules for logs: nothing lost, nothing twice, nothing half done. Each rule yields the violations it finds."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence

from byzanz import record
from tests.torture.evidence import Evidence, Found, Game, Row

Intent = tuple[str, int, str]
"""Game, seat, and the client's own request id."""


def _intent(line: Row) -> Intent:
    return line["game"], line["seat"], line["request"]


def acknowledged(found: Evidence) -> Found:
    """An acknowledged move is in the log where the answer said."""
    moves = {_intent(line): line["move"] for line in found.lines("ask")}
    for line in found.lines("answer"):
        if line["status"] not in (200, 201):
            continue
        game, seat, request = intent = _intent(line)
        entries = found.games[game].entries if game in found.games else []
        entry = next((entry for entry in entries if entry.seq == line["seq"]), None)
        stands = entry and (entry.seat, entry.by, entry.move) == (seat, "player", moves[intent])
        if not stands or found.games[game].requests[line["seq"]] != request:
            yield (
                game,
                f"seat {seat} was told that {moves[intent]!r} is entry {line['seq']}; there is {entry}",
            )


def begun(found: Evidence) -> Found:
    """A started game exists, and none is on hold."""
    for line in found.lines("game"):
        if line["id"] not in found.games or not found.games[line["id"]].entries:
            yield line["id"], "was begun and is not there"
    for game in found.games.values():
        if game.row["quarantine"]:
            yield game.id, f"is set aside: {game.row['quarantine']}"


def once(found: Evidence) -> Found:
    """An intent is one entry, however often it was submitted; refused intents are none, and no entry is invented."""
    asked = {_intent(line): line["move"] for line in found.lines("ask")}
    refused = {_intent(line) for line in found.lines("answer") if 400 <= line["status"] < 500}
    fresh = Counter(_intent(line) for line in found.lines("answer") if line["status"] == 201)
    for intent, times in fresh.items():
        if times > 1:
            yield intent[0], f"request {intent[2]} of seat {intent[1]} was played anew {times} times"
    for game in found.games.values():
        made = [
            ((game.id, entry.seat or 0, game.requests[entry.seq] or ""), entry)
            for entry in game.entries
            if entry.by == "player" and not entry.move.startswith("!")
        ]
        for intent, times in Counter(intent for intent, _ in made).items():
            if times > 1:
                yield game.id, f"request {intent[2]} of seat {intent[1]} is {times} entries"
        for intent, entry in made:
            if intent in refused:
                yield game.id, f"entry {entry.seq}, {entry.move!r}, was refused and is in the log"
            if asked.get(intent) != entry.move:
                yield game.id, f"entry {entry.seq}, {entry.move!r}: nobody asked for this"


def answered(found: Evidence) -> Found:
    """No client gets a server error."""
    for line in found.lines("answer"):
        if line["status"] >= 500:
            yield (
                line["game"],
                f"{line['request']} was answered {line['status']}: {line.get('text', '')[:200]}",
            )


def gapless(found: Evidence) -> Found:
    """The entries of a game are 1, 2, 3 …, and the game's row knows the last."""
    for game in found.games.values():
        numbers = [entry.seq for entry in game.entries]
        if numbers != list(range(1, len(numbers) + 1)):
            missing = sorted(set(range(1, max(numbers) + 1)) - set(numbers))
            yield game.id, f"entries are missing: {missing[:5]}"
        if game.row["head"] != max(numbers, default=0):
            yield game.id, f"its head is {game.row['head']}, its last entry {max(numbers, default=0)}"


def chained(found: Evidence) -> Found:
    """Each entry carries the hash of itself and the one before, and time never runs backwards (docs/formats.md §2)."""
    names = ("seq", "at", "seat", "by", "move", "note", "salt")
    for game in found.games.values():
        before, last = start(game.row, game.seats), ""
        for entry in game.entries:
            text = json.dumps({name: getattr(entry, name) for name in names}, separators=(",", ":"))
            if entry.hash != hashlib.sha256(f"{before}\n{text}".encode()).hexdigest():
                yield game.id, f"the hash of entry {entry.seq} does not fit"
            if entry.at < last:
                yield game.id, f"entry {entry.seq} is of a time before the one before it"
            before, last = entry.hash, entry.at


def start(row: Row, seats: Sequence[Row]) -> str:
    """Return the hash before the first entry of a game (docs/formats.md §4)."""
    if row["record_format"] == 1:
        return "0" * 64
    header = {
        "id": row["id"],
        "game": row["slug"],
        "rules": row["rules"],
        "options": json.loads(row["options"]),
        "players": len(seats),
        "commitment": row["commitment"],
        "cuts": [seat["cut"] for seat in seats],
        "uncut": [seat["seat"] for seat in seats if seat["uncut"]],
        "cut_order": json.loads(row["cut_order"]),
    }
    return hashlib.sha256(f"byzanz-log/2\n{json.dumps(header, separators=(',', ':'))}".encode()).hexdigest()


def legal(found: Evidence) -> Found:
    """The log replays under the rules, including shuffles and forced moves, and nothing is half done."""
    for game in found.games.values():
        if game.wrong is not None:
            yield game.id, f"entry {game.wrong.seq}: {game.wrong}"


def verified(found: Evidence) -> Found:
    """`byzanz verify` accepts the record that the database would give of the game."""
    for game in found.games.values():
        try:
            record.verify(_record(game))
        except record.InvalidRecord as wrong:
            yield game.id, str(wrong)


def _record(game: Game) -> record.Record:
    row, over = game.row, game.row["result"] is not None
    header = record.Header(
        id=game.id,
        game=row["slug"],
        rules=row["rules"],
        options=json.loads(row["options"]),
        seats=tuple(seat["name"] for seat in game.seats),
        commitment=row["commitment"],
        seed=bytes.fromhex(row["seed"]) if over else None,
        cuts=tuple(seat["cut"] for seat in game.seats),
        uncut=tuple(seat["seat"] for seat in game.seats if seat["uncut"]),
        cut_order=tuple(json.loads(row["cut_order"])) if row["record_format"] == 2 else None,
    )
    if not over:
        return record.Record(header, tuple(game.entries))
    told = json.loads(row["result"])
    result = record.Result(tuple(told["scores"]), tuple(told["winners"]), told["reason"])
    return record.Record(header, tuple(game.entries), result, game.entries[-1].hash if game.entries else "")
