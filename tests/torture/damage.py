"""Damage done to a database on purpose, each kind with the checker rule that must notice it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from byzanz.record import Entry, expected_hash
from tests.torture.evidence import Row, entry, rows
from tests.torture.log_rules import start


def unguard(connection: Any) -> None:
    """Remove every trigger and constraint of the log by copying it into a plain table."""
    for statement in (
        "CREATE TABLE bare AS SELECT * FROM entry",
        "DROP TABLE entry",
        "ALTER TABLE bare RENAME TO entry",
    ):
        connection.cursor().execute(statement)


def entries(connection: Any) -> list[Entry]:
    """Return the log of the only game."""
    return [entry(row) for row in sorted(rows(connection, "entry"), key=lambda row: row["seq"])]


def forge(connection: Any, forged: Sequence[Entry]) -> None:
    """Overwrite entries with the same seq and matching hashes, as someone who knows the format could."""
    (game,) = rows(connection, "game")
    before = start(game, sorted(rows(connection, "seat"), key=lambda seat: seat["seat"]))
    mark = "?" if isinstance(connection, sqlite3.Connection) else "%s"
    for each in forged:
        sealed = replace(each, hash=expected_hash(before, each))
        before = sealed.hash
        connection.cursor().execute(
            f"UPDATE entry SET move = '{sealed.move}', hash = {mark} WHERE seq = {sealed.seq}",
            [bytes.fromhex(sealed.hash)],
        )


@dataclass(frozen=True)
class Damage:
    """One way to break a promise, in a database with one game.

    Args:
        name: what is done.
        rule: the checker rule that must notice.
        statements: the damage, in SQL.
        work: the damage, where SQL is not enough; may return further lines of the journal.
    """

    name: str
    rule: str
    statements: tuple[str, ...] = ()
    work: Callable[[Any], Sequence[Row] | None] | None = None

    def do(self, connection: Any) -> list[Row]:
        """Do the damage; return the lines to be added to the journal."""
        for statement in self.statements:
            connection.cursor().execute(statement)
        return list(self.work(connection) or ()) if self.work else []


def _stack_the_deck(connection: Any) -> None:
    first, *rest = entries(connection)
    words = first.move.split(" ")
    other = next(at for at, card in enumerate(words) if at > 2 and card != words[2])
    words[2], words[other] = words[other], words[2]
    forge(connection, [replace(first, move=" ".join(words)), *rest])


def _bid_what_is_not_held(connection: Any) -> None:
    made = entries(connection)
    at = next(number for number, each in enumerate(made) if each.move.startswith("bid "))
    forge(
        connection, [*made[:at], replace(made[at], move="bid cloth4 cloth4 cloth4 cloth4"), *made[at + 1 :]]
    )


def _forget_an_autopilot(connection: Any) -> None:
    made = entries(connection)
    at = next(number for number, each in enumerate(made) if each.move.startswith("!autopilot"))
    forge(connection, [*made[:at], replace(made[at], move="!credit 60"), *made[at + 1 :]])


def _half_a_transaction(connection: Any) -> None:
    forced = [each.seq for each in entries(connection) if each.by == "rules"][-1]
    connection.cursor().execute(f"DELETE FROM entry WHERE seq >= {forced}")
    connection.cursor().execute(f"UPDATE game SET head = {forced - 1}")


def _answer(**fields: Any) -> Callable[[Any], list[Row]]:
    """Return a journal line with an answer to the last move of a player."""

    def work(connection: Any) -> list[Row]:
        row = max(
            (row for row in rows(connection, "entry") if row["by"] == "player"), key=lambda row: row["seq"]
        )
        name = {"game": row["game_id"], "seat": row["seat"], "request": row["request_id"]}
        return [{"what": "answer", **name, "seq": row["seq"], **fields}]

    return work


_LAST = "(SELECT max(seq) FROM entry WHERE by = 'player')"
_LAST_SEAT = f"(SELECT seat FROM entry WHERE seq = {_LAST})"
_BEFORE = f"(SELECT max(seq) FROM entry WHERE by = 'player' AND seq < {_LAST} AND seat = {_LAST_SEAT})"


def _end_order(status: str, before: str) -> str:
    return (
        f"UPDATE standing_order SET status = '{status}', ended_at = left_at, ended_seq = left_seq"
        f" WHERE status = '{before}'"
    )


DAMAGES = (
    Damage("a game is gone", "begun", ("DELETE FROM entry",)),
    Damage(
        "a game is set aside",
        "begun",
        ('UPDATE game SET quarantine = \'{"code":"text","values":{"text":"poison"}}\'',),
    ),
    Damage(
        "an acknowledged move is lost with all that came after it",
        "acknowledged",
        (f"DELETE FROM entry WHERE seq >= {_LAST}", "UPDATE game SET head = (SELECT max(seq) FROM entry)"),
    ),
    Damage("a receipt names another entry", "acknowledged", work=_answer(status=200, seq=1)),
    Damage("a request was played anew", "once", work=_answer(status=201)),
    Damage("a move that was refused is played", "once", work=_answer(status=409)),
    Damage(
        "a request is two entries",
        "once",
        (
            f"UPDATE entry SET request_id = (SELECT request_id FROM entry WHERE seq = {_LAST}) WHERE seq = {_BEFORE}",
        ),
    ),
    Damage(
        "a move that nobody asked for", "once", (f"UPDATE entry SET request_id = 'x' WHERE seq = {_LAST}",)
    ),
    Damage("somebody is told of a fault", "answered", work=_answer(status=500)),
    Damage("an entry is missing", "gapless", (f"DELETE FROM entry WHERE seq = {_LAST} - 1",)),
    Damage("the game's row lags behind", "gapless", ("UPDATE game SET head = head - 1",)),
    Damage("a move is altered", "chained", (f"UPDATE entry SET move = 'pass ' WHERE seq = {_LAST}",)),
    Damage(
        "a salt is altered", "chained", (f"UPDATE entry SET salt = substr(hash, 1, 16) WHERE seq = {_LAST}",)
    ),
    Damage(
        "a time is altered", "chained", ("UPDATE entry SET at = (SELECT min(at) FROM entry) WHERE seq = 9",)
    ),
    Damage("the deck is stacked, every hash forged", "legal", work=_stack_the_deck),
    Damage("a bid of cards not held, every hash forged", "legal", work=_bid_what_is_not_held),
    Damage("an autopilot that is never switched on", "legal", work=_forget_an_autopilot),
    Damage("a transaction is half done", "legal", work=_half_a_transaction),
    Damage(
        "a choice by nobody entitled", "verified", (f"UPDATE entry SET by = 'rules' WHERE seq = {_LAST}",)
    ),
    Damage(
        "a result though nobody won",
        "verified",
        ('UPDATE game SET result = \'{"scores":[1,2,3],"winners":[2],"reason":"finished"}\'',),
    ),
    Damage(
        "an acknowledged order is lost", "kept", ("DELETE FROM standing_order WHERE status = 'standing'",)
    ),
    Damage("an order stops without a word", "kept", (_end_order("stopped", "standing"),)),
    Damage(
        "an order stands that was taken back",
        "withdrawn",
        (
            "UPDATE standing_order SET status = 'standing', ended_at = NULL, ended_seq = NULL"
            " WHERE status = 'withdrawn'",
        ),
    ),
    Damage("an order is taken back by nobody", "withdrawn", (_end_order("withdrawn", "standing"),)),
    Damage(
        "a move by an order that never was", "answer", ("DELETE FROM standing_order WHERE status = 'done'",)
    ),
    Damage(
        "an order stands that was carried out",
        "answer",
        (
            "UPDATE standing_order SET status = 'standing', ended_at = NULL, ended_seq = NULL"
            " WHERE status = 'done'",
        ),
    ),
    Damage("an order is done that did nothing", "answer", (_end_order("done", "standing"),)),
    Damage("an order says what nobody said", "answer", ("UPDATE standing_order SET text = 'take most'",)),
    Damage(
        "an order was not carried out",
        "idle",
        (
            "INSERT INTO standing_order (game_id, seat, number, text, occasion, left_at, left_seq, status)"
            " SELECT game_id, seat, 999, 'take most always', '', opened_at, opened_seq, 'standing' FROM turn",
        ),
    ),
    Damage(
        "a player is said to have left",
        "own",
        ("UPDATE entry SET move = '!leave ' || seat WHERE move LIKE '!autopilot % off'",),
    ),
    Damage("a mail came in that nobody sent", "heard", ("UPDATE received SET digest = 'x'",)),
    Damage(
        "a mail was taken and forgotten",
        "heard",
        ('UPDATE received SET outcome = \'{"code":"in_hand","values":{}}\'',),
    ),
    Damage("a move by mail that counts for nothing", "heard", ("UPDATE received SET kind = 'refused'",)),
    Damage("a bank below nothing", "banked", ("UPDATE seat SET bank = -1",)),
    Damage("a bank above what was given", "banked", ("UPDATE seat SET bank = bank + 100000",)),
    Damage("a bank that nobody drew on", "banked", ("UPDATE seat SET bank = 0",)),
    Damage("a bank that was not waited for", "punctual", ("UPDATE game SET bank = bank * 30",)),
    Damage("a turn mail was never queued", "posted", ("DELETE FROM outbox WHERE key LIKE 'turn:%:1'",)),
    Damage("a time-out mail was never queued", "posted", ("DELETE FROM outbox WHERE kind = 'timeout'",)),
    Damage(
        "a mail about an autopilot was never queued",
        "posted",
        ("DELETE FROM outbox WHERE kind = 'autopilot'",),
    ),
    Damage("a mail to the wrong player", "posted", ("UPDATE outbox SET person_id = 1 WHERE kind = 'turn'",)),
    Damage("a mail of nothing", "posted", ("UPDATE outbox SET key = key || '9' WHERE key LIKE 'turn:%:1'",)),
    Damage("mails marked as sent that never were", "accepted", ("UPDATE outbox SET status = 'sent'",)),
    Damage(
        "a mail sent again and again",
        "accepted",
        work=lambda _: [{"what": "mail", "to": "a@b", "id": "1"}] * 2,
    ),
    Damage("a snapshot of an older moment", "projected", ("UPDATE snapshot SET seq = seq - 1",)),
    Damage(
        "a snapshot of another position",
        "projected",
        ("UPDATE snapshot SET state = replace(state, 'round', 'found')",),
    ),
    Damage("a turn that was never opened", "projected", ("DELETE FROM turn",)),
    Damage("a turn of another moment", "projected", ("UPDATE turn SET opened_seq = opened_seq - 1",)),
    Damage(
        "an autopilot that nobody switched on", "projected", ("UPDATE seat SET autopilot = NOT autopilot",)
    ),
    Damage("missed turns that nobody counted", "projected", ("UPDATE seat SET missed = missed + 1",)),
    Damage("a game that is not over", "projected", ("UPDATE game SET status = 'over'",)),
    Damage("a clock that does not run", "clocked", ("UPDATE turn SET started_at = NULL",)),
    Damage("the clock played early", "punctual", ("UPDATE game SET allowance = allowance * 3",)),
    Damage(
        "the clock never played",
        "punctual",
        ("UPDATE turn SET started_at = opened_at",),
        lambda _: [{"what": "end", "at": "2036-01-01T00:00:00+00:00", "slack": 0}],
    ),
)
"""The kinds of damage that `tests/torture/test_checker.py` does to a sound database."""
