"""Simulated players: they look, decide, submit, and retry with the same request id when the connection fails.

They also submit and withdraw standing orders, and reply to some of their emails.
"""

from __future__ import annotations

import http.client
import json
import random
import secrets
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.torture.correspondence import Correspondence
from tests.torture.journal import Journal
from tests.torture.processes import LOOPBACK
from tests.torture.tables import Table

PAUSE = 0.02
"""Seconds before a player retries after a failed connection."""
ORDERING, WRITING, TAKING_BACK = 0.15, 0.3, 0.3
"""How often a player submits an order instead of a move, sends an email, and withdraws an order."""
ORDERS = (
    *("pass", "pass every lot", "raise upto 2", "raise upto 4 then ask", "raise upto 3 then pass every lot"),
    *(
        "tax lowest",
        "tax best always",
        "take most",
        "take best always",
        "finish",
        "limit sell grain lowest always",
    ),
)
"""Standing orders that need no particular cards (docs/orders.md)."""


class Lost(Exception):
    """Raised when the connection failed before an answer came."""


@dataclass(frozen=True, slots=True)
class Intent:
    """An intent: a move of a seat, based on what was seen, with its own request id."""

    table: Table
    seat: int
    move: str
    seen: int
    request: str


class Line:
    """The connection to a server that may be killed at any moment.

    Args:
        ports: where it listens or will listen again; any of them works.
        journal: records every request before it is sent, and every answer before anything else happens.

    `lost` counts the requests that reached a server and got no answer, `played` the acknowledged moves, `ordered` the
    acknowledged orders.
    """

    def __init__(self, ports: Sequence[int], journal: Journal) -> None:
        self._ports = ports
        self._journal = journal
        self.lost = self.played = self.ordered = 0

    def look(self, token: str) -> dict[str, Any]:
        """Return what a seat may know.

        Raises:
            Lost: no answer.
        """
        status, told = self._call("GET", f"/api/v1/seats/{token}", None)
        if status != 200:
            self._journal.write(
                "answer", game=None, seat=None, request=f"GET {status}", status=status, text=str(told)
            )
            raise Lost(str(told))
        return told

    def intend(self, table: Table, seat: int, move: str, seen: int) -> Intent:
        """Choose a move and record it."""
        intent = Intent(table, seat, move, seen, secrets.token_hex(12))
        self._journal.write("ask", game=table.id, seat=seat, request=intent.request, move=move, seen=seen)
        return intent

    def ask(self, intent: Intent) -> int:
        """Submit a move once and record the answer.

        Returns:
            The status.

        Raises:
            Lost: no answer; the move may or may not have been played.
        """
        body = {"move": intent.move, "seen": intent.seen, "request_id": intent.request}
        name = {"game": intent.table.id, "seat": intent.seat, "request": intent.request}
        status, told = self._call("POST", f"/api/v1/seats/{intent.table.tokens[intent.seat]}/moves", body)
        self._journal.write("answer", **name, status=status, seq=told.get("seq"), text=str(told)[:300])
        self.played += status in (200, 201)
        return status

    def order(self, table: Table, seat: int, text: str) -> int:
        """Submit a standing order and record the answer; return the status.

        Raises:
            Lost: no answer; the order may or may not have been stored.
        """
        name = {"game": table.id, "seat": seat}
        self._journal.write("order", **name, text=text)
        status, told = self._call("POST", f"/api/v1/seats/{table.tokens[seat]}/orders", {"order": text})
        self._journal.write("ordered", **name, status=status, id=told.get("id"), order=told.get("order"))
        self.ordered += status == 201
        return status

    def take_back(self, table: Table, seat: int, draw: random.Random) -> None:
        """Withdraw one of the orders of a seat, if it has any, and record the answer.

        Raises:
            Lost: no answer; the order may or may not have been withdrawn.
        """
        path, name = f"/api/v1/seats/{table.tokens[seat]}/orders", {"game": table.id, "seat": seat}
        _, told = self._call("GET", path, None)
        if told.get("orders"):
            order = draw.choice(told["orders"])["id"]
            self._journal.write("withdraw", **name, id=order)
            status, _ = self._call("DELETE", f"{path}/{order}", None)
            self._journal.write("withdrawn", **name, id=order, status=status)

    def _call(self, method: str, path: str, body: dict[str, Any] | None) -> tuple[int, dict[str, Any]]:
        call = http.client.HTTPConnection(LOOPBACK, random.choice(self._ports), timeout=60)
        try:
            call.connect()
        except OSError as error:
            raise Lost("nobody listens") from error
        try:
            text = None if body is None else json.dumps(body)
            call.request(method, path, text, {"Content-Type": "application/json"} if text else {})
            answer = call.getresponse()
            told = json.loads(answer.read() or b"{}")
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.lost += 1
            raise Lost(str(error)) from error
        finally:
            call.close()
        return answer.status, told


class Players:
    """Threads that play in random games for random seats until they are stopped.

    Args:
        line: the connection to the server.
        tables: the games.
        count: how many threads.
        seed: of their choices.
        letters: the emails that they get and send.
    """

    def __init__(
        self, line: Line, tables: Sequence[Table], count: int, seed: int, letters: Correspondence
    ) -> None:
        self._line = line
        self._letters = letters
        self._tables = list(tables)
        self._awaited = {table.id: sorted(table.tokens)[:1] for table in tables}
        self._stopping = threading.Event()
        self._giving_up = threading.Event()
        self._threads = [
            threading.Thread(target=self._play_on, args=(random.Random(seed + number),), daemon=True)
            for number in range(count)
        ]

    def __enter__(self) -> Players:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, error: type[BaseException] | None, *_more: object) -> None:
        """Let each thread finish its request; the server must be running for that, unless there was an error."""
        self._stopping.set()
        if error is not None:
            self._giving_up.set()
        for thread in self._threads:
            thread.join()

    def _play_on(self, draw: random.Random) -> None:
        while not self._stopping.is_set() and self._tables:
            try:
                if draw.random() < WRITING:
                    self._answer_a_mail(draw)
                self._play(draw.choice(self._tables), draw)
            except (Lost, IndexError):
                time.sleep(PAUSE)

    def _play(self, table: Table, draw: random.Random) -> None:
        people = [seat for seat in self._awaited[table.id] if seat in table.tokens]
        seat = draw.choice(people if people and draw.random() < 0.9 else sorted(table.tokens))
        told = self._line.look(table.tokens[seat])
        self._awaited[table.id] = told["awaited"]
        if told["result"] and table in self._tables:
            self._tables.remove(table)
        if not told["result"] and draw.random() < ORDERING:
            self._order(table, draw)
        elif told["moves"] and (seat in told["awaited"] or draw.random() < 0.3):
            self._insist(self._line.intend(table, seat, choose(told["moves"], draw), told["seq"]), draw)

    def _order(self, table: Table, draw: random.Random) -> None:
        """Submit an order until there is an answer, or withdraw one."""
        seat, text = draw.choice(sorted(table.tokens)), draw.choice(ORDERS)
        while not self._giving_up.is_set():
            try:
                if draw.random() < TAKING_BACK:
                    self._line.take_back(table, seat, draw)
                else:
                    self._line.order(table, seat, text)
                return
            except Lost:
                time.sleep(PAUSE)

    def _answer_a_mail(self, draw: random.Random) -> None:
        """Reply to the newest turn email, even if its turn is over, and deliver the reply until it is accepted."""
        newest = self._letters.newest()
        if newest is None:
            return
        told = self._line.look(newest.token)
        answers = told["moves"] if newest.seat in told["awaited"] else []
        letter = self._letters.write(newest, choose(answers or ["pass"], draw))
        while not self._giving_up.is_set() and not self._letters.send(letter):
            time.sleep(PAUSE)

    def _insist(self, intent: Intent, draw: random.Random) -> None:
        """Submit until there is an answer, and sometimes once more."""
        while not self._giving_up.is_set():
            try:
                self._line.ask(intent)
                if draw.random() < 0.9:
                    return
            except Lost:
                time.sleep(PAUSE)


def choose(moves: Sequence[str], draw: random.Random) -> str:
    """Choose one of the moves, each kind equally likely."""
    verb = draw.choice(sorted({move.split()[0] for move in moves}))
    return draw.choice([move for move in moves if move.split()[0] == verb])
