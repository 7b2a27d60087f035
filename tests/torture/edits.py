"""Promise 8: edits of history are detected; `byzanz doctor` and `byzanz verify` name the game and the place."""

from __future__ import annotations

import random
import re
import shutil
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from byzanz.bots.simulate import simulate_game
from byzanz.games import rules_of
from byzanz.record import Entry, Record
from tests.torture import databases
from tests.torture.damage import unguard
from tests.torture.evidence import connect, entry, moment, rows
from tests.torture.house import NO_MAIL, environment
from tests.torture.processes import Running
from tests.torture.report import Report

GAMES = 20
"""Games in a database, each edited once; the doctor lists that many one by one."""
SEED = b"edits"


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of a log.

    Args:
        kind: what was done; game: the game.
        seq: the first entry where it shows.
    """

    kind: str
    game: str
    seq: int


def run(edits: int, seconds: float, seed: int) -> Report:
    """Edit finished and running games on SQLite, and run the tools that must notice.

    Args:
        edits: at most; seconds: after which no further batch starts; on any machine there is one.
        seed: of the edits.
    """
    began, draw = time.monotonic(), random.Random(seed)
    done: list[Edit] = []
    faults: list[str] = []
    with databases.folder() as private:
        sound, log = private / "sound.db", private / "log"
        if _in_process(_fill, (GAMES,), sound, log) != 0:
            raise RuntimeError(f"no games could be played:\n{log.read_text()}")
        faults += _missed([], _in_process(_ask, (private, []), sound, log), private)
        while not done or (len(done) < edits and time.monotonic() < began + seconds):
            edited = private / "byzanz.db"
            shutil.copy(sound, edited)
            batch = _edit_all(edited, draw)
            ended = _in_process(_ask, (private, [edit.game for edit in batch]), edited, log)
            faults += _missed(batch, ended, private)
            done += batch
    kinds = ", ".join(f"{sum(edit.kind == kind for edit in done)} {kind}" for kind in EDITS)
    return Report("edits of history", len(done), f"{kinds}, {time.monotonic() - began:.0f} s", tuple(faults))


def _in_process(
    work: Callable[..., object], arguments: tuple[Any, ...], database: Path, log: Path
) -> int | None:
    """Run something that needs the server's code in a separate process; return its status."""
    settings = environment(f"sqlite:///{database}", NO_MAIL)
    return Running(work, arguments, settings, log).finish()


def _fill(games: int) -> None:
    """Put games between bots into an empty database, every second one cut off in the middle."""
    from server import config, create_app
    from server.store import engine, migrate

    with create_app(config.load(create=True)).app_context():
        migrate.upgrade()
        for number in range(games):
            record = simulate_game(rules_of("byzanz"), 3 + number % 4, SEED, number, ["random"])
            with engine.transaction() as session:
                game, rows = _rows(record if number % 2 else _half(record))
                session.add(game)
                session.flush()
                session.add_all(rows)


def _half(record: Record) -> Record:
    """Return the game before a move in its middle that a player had to choose."""
    middle = len(record.entries) // 2
    upto = next(at for at in range(middle, len(record.entries)) if record.entries[at].by == "bot")
    return replace(record, entries=record.entries[:upto], result=None, head=None)


def _rows(record: Record) -> tuple[Any, list[Any]]:
    from dataclasses import asdict
    from json import dumps

    from server.store import engine
    from server.store.models import Entry as EntryRow
    from server.store.models import Game, Seat

    header, now = record.header, engine.utc_now()
    assert header.seed is not None
    game = Game(
        id=header.id,
        slug=header.game,
        rules=header.rules,
        name="A game of bots",
        organiser_id=None,
        status="over" if record.result else "running",
        allowance=86400,
        seed=header.seed.hex(),
        commitment=header.commitment,
        created_at=now,
        started_at=now,
        head=len(record.entries),
        head_hash=record.entries[-1].hash,
        record_format=2,
        cut_order=dumps(header.cut_order),
        result=dumps(asdict(record.result)) if record.result else None,
    )
    seats = [
        Seat(game_id=header.id, seat=seat, stored_name=f"Bot {seat}", status="seated", bot="random", cut=cut)
        for seat, cut in enumerate(header.cuts)
    ]
    return game, [*seats, *(EntryRow(game_id=header.id, **asdict(entry)) for entry in record.entries)]


Log = list[Entry]


def _flipped(log: Log, draw: random.Random) -> tuple[Log, int]:
    """Change one character of one field."""
    at, name = draw.randrange(len(log)), draw.choice(("at", "seat", "by", "move", "note", "salt", "hash"))
    was = getattr(log[at], name)
    if isinstance(was, str):
        # Of a time the last digit, for the database stores times only.
        letter = len(was) - 2 if name == "at" else draw.randrange(len(was))
        now: object = was[:letter] + ("1" if was[letter] != "1" else "2") + was[letter + 1 :]
    else:
        now = "why not" if name == "note" else 0 if was is None else was + 1
    changed: dict[str, Any] = {name: now}
    return [*log[:at], replace(log[at], **changed), *log[at + 1 :]], at + 1


def _deleted(log: Log, draw: random.Random) -> tuple[Log, int]:
    """Remove an entry and leave a gap."""
    at = draw.randrange(len(log) - 1)
    return log[:at] + log[at + 1 :], at + 1


def _closed(log: Log, draw: random.Random) -> tuple[Log, int]:
    """Remove an entry and renumber those after it."""
    left, seq = _deleted(log, draw)
    return [replace(entry, seq=number) for number, entry in enumerate(left, start=1)], seq


def _swapped(log: Log, draw: random.Random) -> tuple[Log, int]:
    """Swap two entries."""
    at = draw.randrange(len(log) - 1)
    pair = [replace(log[at + 1], seq=at + 1), replace(log[at], seq=at + 2)]
    return [*log[:at], *pair, *log[at + 2 :]], at + 1


def _cut(log: Log, draw: random.Random) -> tuple[Log, int]:
    """Remove everything from one entry on."""
    at = draw.randrange(1, len(log))
    return log[:at], at + 1


EDITS = {"flipped": _flipped, "deleted": _deleted, "closed up": _closed, "swapped": _swapped, "cut": _cut}


def _edit_all(database: Path, draw: random.Random) -> list[Edit]:
    """Edit every game once, as someone would who hides that an entry is gone: the game's row matches its log.

    A running game that is cut short keeps its row; without it, only the turn emails, which carry the head, could tell.
    """
    with closing(connect(f"sqlite:///{database}")) as connection:
        unguard(connection)
        games = connection.execute("SELECT id, status FROM game ORDER BY id").fetchall()
        batch = [_edit(connection, game, status, draw) for game, status in games]
        connection.commit()
    return batch


def _edit(connection: Any, game: str, status: str, draw: random.Random) -> Edit:
    names = Entry.__slots__
    columns = ", ".join(names)
    mine = [row for row in rows(connection, "entry") if row["game_id"] == game]
    kind = draw.choice(sorted(EDITS))
    log, seq = EDITS[kind]([entry(row) for row in sorted(mine, key=lambda row: row["seq"])], draw)
    connection.execute(f"DELETE FROM entry WHERE game_id = '{game}'")
    marks = ", ".join("?" * len(names))
    connection.executemany(
        f"INSERT INTO entry (game_id, {columns}) VALUES ('{game}', {marks})",
        [_stored(each) for each in log],
    )
    if status == "over" or kind != "cut":
        last = max(log, key=lambda each: each.seq)
        own = f"UPDATE game SET head = {last.seq}, head_hash = ? WHERE id = '{game}'"
        connection.execute(own, [last.hash])
    return Edit(kind, game, seq)


def _stored(changed: Entry) -> list[Any]:
    """Return the columns of an entry as SQLite has them."""
    at = (moment(changed.at) - moment(0)) // timedelta(microseconds=1)
    stored = {"at": at, "salt": bytes.fromhex(changed.salt or ""), "hash": bytes.fromhex(changed.hash)}
    return [stored.get(name, getattr(changed, name)) for name in Entry.__slots__]


def _ask(private: Path, games: list[str]) -> None:
    """Run the doctor on everything and verify the exports of these games; their output goes to files."""
    from contextlib import redirect_stderr, redirect_stdout

    from server.cli import main

    def said(name: str, *words: str) -> Path:
        path = private / name
        with path.open("w") as file, redirect_stdout(file), redirect_stderr(file):
            main(words)
        return path

    said("doctor", "doctor", "--all")
    for game in games:
        said(f"{game}.said", "verify", str(said(f"{game}.record", "export", game)))


def _missed(batch: list[Edit], status: int | None, private: Path) -> list[str]:
    """Return the edits that were not noticed or not located, and false findings."""
    told = dict(
        re.findall(r"^WRONG  game (\S+), entry (\d+):", (private / "doctor").read_text(), re.MULTILINE)
    )
    faults = [] if status == 0 else [f"doctor, export or verify ended with {status}"]
    for edit in batch:
        if told.pop(edit.game, None) != str(edit.seq):
            faults.append(f"the doctor did not name {edit}")
        if not _placed(edit, private):
            faults.append(f"verify did not name {edit}")
    return faults + [f"the doctor found {entry} of {game}, which is sound" for game, entry in told.items()]


def _placed(edit: Edit, private: Path) -> bool:
    """Whether verify named the place, or the game still runs, so that its record hides too much to tell."""
    exported = (private / f"{edit.game}.record").read_text()
    if '"seed":null' in exported:
        return True
    said = (private / f"{edit.game}.said").read_text()
    return f"entry {edit.seq}:" in said or f"entry {edit.seq}:" in exported
