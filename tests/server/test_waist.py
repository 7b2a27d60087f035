"""One waist, one reader: only `server/play` changes a running game or decides what may be read of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from server import play
from server.store.models import Turn
from tests.support.folders import SERVER

READERS = {
    "autopilot": {"is_unattended", "unattended"},
    "clock": None,
    "events": None,
    "game": {"Table", "load", "register", "tenures_of"},
    "history": None,
    "names": None,
    "moderation": {
        *("ActNotPossible", "InvalidAct", "Newcomer", "has_looked", "looked_at"),
        *("ACTS", "LONGEST_REASON", "check", "check_known", "gives_time"),
    },
    "positions": {
        *("Broken", "NO_RULES", "NoRules", "Position", "check_running", "current", "has_rules", "installed"),
        *("on_hold", "rules_of", "seats_of", "why_on_hold", "without_or_back"),
    },
    "powers": {
        *("Asker", "ERASE_MODERATOR", "Conflict", "Stake", "Standing", "Unwarned"),
        *("admit", "forget", "note_operator", "LONGEST_REASON", "standing", "use"),
    },
    "standing_orders": {"last_number", "of_game", "of_seat", "shown", "standing", "supported"},
    "turns": {
        "Times",
        "bots_to_move",
        "deadline",
        "due_games",
        "due_reminders",
        "give_up_time",
        "of_person",
        "open_elsewhere",
        "open_of",
        "outages",
        "times",
        "times_if_started",
        "times_of_table",
        "to_move",
        "unreachable",
    },
}
"""The modules of `server/play` that others may import, and the names in them that others may use; None: all of them."""
CLOCKS = {column.name for column in Turn.__table__.columns} - {"game_id", "seat", "bot", "hours"}
OWN = CLOCKS | {"autopilot", "missed", "bounces", "left", "held_since"}
OWN |= {"head", "head_hash", "paused", "quarantine", "result"}
"""Attributes that only `server/play` and `server/store` may set: of turns, and what play keeps of seats and games."""
ROWS = {"Entry", "Turn", "Snapshot", "ModeratorAction"}
"""Tables that only `server/play` and `server/store` may write."""


TABLE: dict[str, set[str]] = {
    "server.store.statements": {
        *("GameRow", "LinkRow", "MailRow", "OrderRow", "PersonRow", "SeatRow", "TurnRow"),
        *("GAME", "LINK", "MAIL", "ORDER", "PERSON", "SEAT", "TURN", "split"),
    },
}
"""The module with the statements of a move, and the names in it that others may import: the rows."""


def breaches(tree: ast.AST) -> Iterator[str]:
    """What a module outside `server/play` does that only the waist may do."""
    used = dict[str, str]()
    for node in ast.walk(tree):
        yield from imported(node, used)
    for node in ast.walk(tree):
        yield from names_used(node, used)
        if isinstance(node, ast.Call):
            yield from called(node)


def imported(node: ast.AST, used: dict[str, str]) -> Iterator[str]:
    """What is imported past the façade; fills `used` with the readers by the names they get."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name.startswith("server.play"))
    if not isinstance(node, ast.ImportFrom):
        return
    for alias in node.names:
        if alias.name not in TABLE.get(node.module or "", {alias.name}):
            yield f"import of {node.module}.{alias.name}"
        if f"{node.module}.{alias.name}" in TABLE:
            yield f"import of {node.module}.{alias.name}"
    if not f"{node.module}.".startswith("server.play."):
        return
    inside = (node.module or "").removeprefix("server.play").removeprefix(".")
    for alias in node.names:
        module = f"{inside}.{alias.name}".removeprefix(".")
        if module in READERS:
            used[alias.asname or alias.name] = module
        elif inside not in READERS or not allowed(inside, alias.name):
            yield f"import of {module}"


def allowed(module: str, name: str) -> bool:
    """Whether others may use this name of a reader."""
    names = READERS[module]
    return names is None or name in names


def names_used(node: ast.AST, used: dict[str, str]) -> Iterator[str]:
    """Names of the waist that others may not use, and attributes that they may not set."""
    match node:
        case ast.Attribute(value=ast.Name(id="self")):
            pass
        case ast.Attribute(value=ast.Name(id="play"), attr=attr) if attr not in play.__all__:
            yield f"play.{attr}"
        case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in used and not allowed(
            used[name], attr
        ):
            yield f"{name}.{attr}"
        case ast.Attribute(attr=attr, ctx=ast.Store() | ast.Del()) if attr in OWN:
            yield f".{attr} ="


def called(call: ast.Call) -> Iterator[str]:
    """Calls that write what only the waist writes."""
    match call:
        case ast.Call(func=ast.Attribute(attr="append" | "put" as method), keywords=keywords) if (
            method == "put" or any(each.arg == "move" for each in keywords)
        ):
            yield f"table.{method}"
        case ast.Call(func=ast.Attribute(attr="tell"), args=[ast.Call(func=ast.Attribute(attr="WordSaid"))]):
            pass  # what people say is no change of the game
        case ast.Call(func=ast.Attribute(value=ast.Name(id="table"), attr="tell")):
            yield "table.tell"
        case ast.Call(func=ast.Name(id="setattr")):
            yield "setattr"
        case ast.Call(func=ast.Name(id=name)) if name in ROWS:
            yield f"{name}()"
        case ast.Call(func=ast.Name(id="insert" | "update" | "delete"), args=[ast.Name(id=name)]) if (
            name in ROWS
        ):
            yield f"write to {name}"
        case ast.Call(func=ast.Attribute(attr="values"), keywords=keywords):
            yield from (f"values({each.arg}=)" for each in keywords if each.arg in OWN)


WITHOUT_A_DATABASE = {"cli/drawings.py", "cli/kit.py"}
"""The modules of `byzanz check` and `byzanz play`, whose games have a log of their own that nobody stores."""


def outside() -> Iterator[Path]:
    """The modules of the server that are not the waist, nor the tables below it."""
    for path in SERVER.rglob("*.py"):
        name = path.relative_to(SERVER)
        if name.parts[0] not in ("play", "store") and str(name) not in WITHOUT_A_DATABASE:
            yield path


READS = {"entries", "by_request", "redact_entries", "open_choices", "redact_record"}
"""Functions of `log` and `record` that give entries, or decide what of them may be read: for `play.history` alone."""
ACTS = {
    "mail/incoming/commands.py": "counts the entries between a move and the next turn",
    "ops/doctor.py": "compares the head of a game with its log",
    "web/moderation/desk.py": "lists the acts of moderators for moderators, and finds when a game last went on",
    "web/moderation/game.py": "finds a moderator's own looks",
}
"""Modules that may read rows of `Entry` for what no player has to be shown, and why."""


def readings(tree: ast.AST, path: str) -> Iterator[str]:
    """How a module outside `server/play` reads the log past `play.history`."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="log" | "record" as module), attr=attr) if attr in READS:
                yield f"{module}.{attr}"
            case ast.ImportFrom(module=str(module), names=names) if module.startswith(
                ("server.store", "byzanz.record")
            ):
                imports = {alias.name for alias in names}
                yield from imports & (READS | (set() if path in ACTS else {"Entry"}))
            case ast.Attribute(value=ast.Name(id="models"), attr="Entry"):
                yield "models.Entry"
            case ast.Call(
                func=ast.Attribute(attr="like" | "not_like" | "startswith"),
                args=[ast.Constant(value=str(text))],
            ):
                if text.startswith("!"):
                    yield f"a query for {text}: ask store.log"


def test_games_without_a_database_know_none() -> None:
    for name in WITHOUT_A_DATABASE:
        assert "server.store" not in (SERVER / name).read_text(), name


def test_only_history_decides_what_may_be_read() -> None:
    paths = {str(path.relative_to(SERVER)): path for path in outside()}
    found = {name: list(readings(ast.parse(path.read_text()), name)) for name, path in paths.items()}
    assert set(ACTS) <= set(found)
    assert {name: faults for name, faults in found.items() if faults} == {}


@pytest.mark.parametrize(
    "fault",
    [
        "from server.store import log\nlog.entries(session, game.id)",
        "from server.store.log import entries",
        "from server.store.models import Entry, Game",
        "from server.store import models\nselect(models.Entry.note)",
        "from byzanz import record\nrecord.redact_entries(rules, entries, viewer, False)",
        "from byzanz.record import redact_record",
        "query.where(move.like('!void %'))",
    ],
)
def test_a_reader_past_history_is_found(fault: str) -> None:
    assert list(readings(ast.parse(fault), "web/game/pages.py"))


def test_only_the_waist_changes_a_running_game() -> None:
    found = {path: list(breaches(ast.parse(path.read_text()))) for path in outside()}
    assert len(found) > 50
    assert {str(path): faults for path, faults in found.items() if faults} == {}


@pytest.mark.parametrize(
    "fault",
    [
        "table.append(seat=None, by='clock', move='!pause', now=now)",
        "table.put()",
        "table.tell(events.GameOver(at=now, seq=1))",
        "table.game.head_hash = ''",
        "seat.left = False",
        "from server.play.game import lock",
        "from server.play import game\ngame.lock(session, 'g')",
        "from server.store import statements",
        "from server.store.statements import CHANGE_GAME",
        "from server.play import turns\nturns.start(table, turn, now)",
        "from server.play import turns\nbegin = turns.await_mail",
        "from server.play.turns import close_all",
        "from server.play import turns as clocks\nclocks.reconcile(session, game, {}, now)",
        "from server.play import running\nrunning.advance(session, game, position, state, now)",
        "from server.play import running",
        "from server.play.deliveries import mail_failed",
        "from server.play.moderation import extend",
        "from server.play.moderation import carry_out",
        "from server.play import moderation\nmoderation.carry_out(session, game, act)",
        "import server.play.running",
        "from server import play\nplay.turns.start(session, game, turn, now)",
        "from server.play import autopilot\nautopilot.switch_off(session, seat, now)",
        "from server.play import positions\npositions.save(session, game, position)",
        "turn.due_at = now",
        "turn.refused, turn.remind_at = why, None",
        "turn.extra += 60",
        "del turn.due_at",
        "seat.autopilot = True",
        "seat.bank -= 1",
        "game.paused = False",
        "game.quarantine = None",
        "setattr(turn, 'due_at', now)",
        "session.add(Turn(game_id='g'))",
        "session.execute(delete(Turn).where(Turn.seat == 0))",
        "session.execute(update(Turn).values(seat=1))",
        "session.execute(update(Seat).values(autopilot=True))",
    ],
)
def test_a_change_of_a_running_game_elsewhere_is_found(fault: str) -> None:
    assert list(breaches(ast.parse(fault)))


def test_the_readers_are_there() -> None:
    for module, names in READERS.items():
        path = SERVER.joinpath("play", *module.split("."))
        text = (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text()
        assert all(name in text or (path / f"{name}.py").exists() for name in names or ()), module
