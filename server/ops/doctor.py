"""`byzanz doctor`: what is wrong with this server, and what to do about it."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from flask import Flask
from sqlalchemy import String, func, select, text, type_coerce
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from byzanz import chance, record, umpire
from byzanz.rules import ALL, Rules
from server import config, i18n
from server.config import ConfigError, Settings, home
from server.ops import checks, mail_checks
from server.ops.checks import CLOCK_REMEDY, WRONG_CLOCK, Finding, apart, minute
from server.play import history, positions
from server.play.game import Table, load
from server.store import engine, links, log, migrate, operations
from server.store.engine import utc_now
from server.store.models import Alert, Entry, Game, GameStatus, Outage, Person

# ---- the database ----

CAUSES = (
    ("password authentication failed", "correct the password in BYZANZ_DATABASE_URL"),
    ("no password supplied", "write user and password into BYZANZ_DATABASE_URL"),
    ("pg_hba.conf", "allow this machine and user in pg_hba.conf of PostgreSQL"),
    (
        "permission denied",
        "let this user own the database and its tables, or correct the user in BYZANZ_DATABASE_URL",
    ),
    ("does not exist", "create it in PostgreSQL (createdb, createuser), or correct BYZANZ_DATABASE_URL"),
    ("connection refused", "start PostgreSQL, or correct host and port in BYZANZ_DATABASE_URL"),
    ("could not translate host name", "correct the host in BYZANZ_DATABASE_URL, or the DNS"),
    ("failed to resolve host", "correct the host in BYZANZ_DATABASE_URL, or the DNS"),
    ("timeout expired", "let the network and firewalls reach PostgreSQL, or correct BYZANZ_DATABASE_URL"),
    ("too many clients", "raise max_connections of PostgreSQL, or use a pooler (docs/scale.md)"),
    ("remaining connection slots", "raise max_connections of PostgreSQL, or use a pooler (docs/scale.md)"),
    ("malformed", "the file is damaged: stop Byzanz and restore a backup (byzanz restore)"),
    ("not a database", "the file is damaged or another: restore a backup, or correct BYZANZ_DATABASE_URL"),
    (
        "disk i/o error",
        "the disk fails: see the log of the kernel (dmesg), and restore a backup on a sound one",
    ),
    ("disk is full", "make room: without it no move can be stored"),
    ("readonly database", "let this user write it, on a file system that is mounted writable"),
    ("unable to open", "let this user read and write the file and its folder"),
    ("locked", "another process holds its lock: stop it, or wait until it is done"),
)
"""What to do, by a part of what the driver says; the first that fits counts."""


def tables(settings: Settings) -> Finding:
    """Check that the database answers and is at the revision of this code; this runs in the application's context."""
    try:
        present, newest = migrate.current_revision(), migrate.head_revision()
    except SQLAlchemyError as error:
        return unusable(error)
    try:
        migrate.refuse_unknown(present)
    except ConfigError as error:
        what, _, remedy = str(error).partition(": ")
        return Finding(False, f"database: {what.removeprefix('the database is ')}", remedy)
    if present is None and (other := checks.elsewhere(settings)):
        remedy = f"set {home.HOME}={other} if that is yours; else run `byzanz upgrade`"
        return Finding(False, f"the database is empty, but there is one in {other / home.DATABASE}", remedy)
    if present != newest:
        state = f"at revision {present}, not {newest}" if present else "empty"
        return Finding(False, f"database: {state}", "run `byzanz upgrade`")
    return Finding(True, f"database: {engine.db.engine.dialect.name}, at revision {present}")


def unusable(error: SQLAlchemyError) -> Finding:
    """Say what the driver reports, and what to do about it."""
    line = migrate.error_line(error)
    remedy = next((remedy for part, remedy in CAUSES if part in line.lower()), "check BYZANZ_DATABASE_URL")
    return Finding(False, f"database: {line}", remedy)


def database_findings(session: Session, settings: Settings, check_all: bool) -> Iterator[Finding]:
    """Yield what is wrong with a database at the revision of this code.

    Args:
        check_all: also read every page of an SQLite file.
    """
    yield from _another_one(session, settings)
    if session.get_bind().dialect.name == "postgresql":
        yield _clock(session)
    elif check_all:
        yield _pages(session)


def _another_one(session: Session, settings: Settings) -> Iterator[Finding]:
    """Warn of an empty database beside another one, which is probably the right one."""
    if session.scalar(select(func.count(Person.id))):
        return
    other = checks.elsewhere(settings)
    if other is not None and _has_people(other / home.DATABASE):
        file = config.database_file(settings)
        what = f"nobody is in {file}, and there is another database in {other / home.DATABASE}"
        yield Finding(False, what, f"set {home.HOME}={other} and restart, if players are missing their games")


def _has_people(file: Path) -> bool:
    """Whether anybody is in another database, which is only read."""
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as connection:
            return connection.execute("SELECT 1 FROM person LIMIT 1").fetchone() is not None
    except sqlite3.Error:
        return False


def _clock(session: Session) -> Finding:
    theirs = session.execute(text("SELECT clock_timestamp()")).scalar_one()
    differs = engine.utc_now() - theirs.astimezone(UTC)
    if abs(differs) > WRONG_CLOCK:
        what = f"the clock of this machine is {apart(differs)} that of the database"
        return Finding(False, what, CLOCK_REMEDY)
    return Finding(True, "the clocks of this machine and of the database agree")


def _pages(session: Session) -> Finding:
    said = session.execute(text("PRAGMA quick_check(1)")).scalar_one()
    if said != "ok":
        return Finding(False, f"the database file is damaged ({said})", "stop Byzanz and restore a backup")
    return Finding(True, "every page of the database file can be read")


# ---- all findings ----

SAMPLE = 1_000
"""Games whose logs are checked unless all are requested: the newest."""
MOST_SHOWN = 20
"""Findings of one kind that are printed one by one."""
OUTAGE_REMEDY = "set the clock; once it is correct, run `byzanz doctor --clock-is-right`"
TRIGGERS = {
    "sqlite": {"entry_no_update", "entry_no_delete"},
    "postgresql": {"entry_no_change", "entry_no_truncate"},
}
"""The triggers that keep the log append-only; every healthy database has them."""


def run(make_app: Callable[[Settings], Flask], *, check_all: bool) -> int:
    """Run all checks and print the findings.

    Args:
        make_app: makes the application from checked settings.
        check_all: check the logs of all games, not only of the newest.

    Returns:
        0 if nothing is wrong, else 1.
    """
    wrong = 0
    for finding in findings(make_app, check_all):
        print(finding, flush=True)
        wrong += not finding.ok
    print(f"{wrong} wrong" if wrong else "Nothing is wrong.")
    return 1 if wrong else 0


def findings(make_app: Callable[[Settings], Flask], check_all: bool) -> Iterator[Finding]:
    """Yield all findings, in the order in which they should be fixed."""
    try:
        settings = config.read("mailing")
        yield Finding(True, "configuration")
    except ConfigError as error:
        yield Finding(False, "configuration", str(error))
        try:
            settings = config.read()  # the other checks work without mail
        except ConfigError:
            return
    if missing := config.missing_key(settings):
        yield Finding(False, *missing.split(": ", 1))
    yield from checks.clock(settings)
    yield from checks.machine_findings(settings)
    file = config.database_file(settings)
    if file is None or file.exists():
        with make_app(settings).app_context():
            existing = tables(settings)
            yield existing
            if existing.ok:
                yield from _looked_at(settings, check_all)
            if settings.mail_url:
                yield from _outgoing(settings, existing.ok)
            engine.db.engine.dispose()
    else:
        yield checks.no_database(settings)
        if settings.mail_url:
            yield checks.mail_server(settings)
    yield from checks.proxy(settings)


def _looked_at(settings: Settings, check_all: bool) -> Iterator[Finding]:
    """Yield what the database tells; a damaged one may fail at any row."""
    try:
        yield from _database_findings(settings, engine.utc_now(), check_all)
    except SQLAlchemyError as error:
        yield unusable(error)


def _outgoing(settings: Settings, tables_ok: bool) -> Iterator[Finding]:
    server = checks.mail_server(settings)
    yield server
    if server.ok and tables_ok:
        yield mail_checks.relay(settings)
    yield from checks.dns_findings(settings)


def _database_findings(settings: Settings, now: datetime, check_all: bool) -> Iterator[Finding]:
    with engine.reading() as session:
        yield from database_findings(session, settings, check_all)
        yield _triggers(session)
        if not config.missing_key(settings):
            yield _secret_key(session)
        yield from _logs(session, check_all)
        yield from _quarantine(session)
        yield from _without_rules(session)
        yield from zone_findings(session)
        yield from _heartbeats(session, settings, now)
        yield _outages(session, now)
        yield from _alerts(session)
        yield from mail_checks.findings(session, settings, now)


def _triggers(session: Session) -> Finding:
    dialect = session.get_bind().dialect.name
    query = (
        "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'entry' AND sql LIKE '%RAISE(ABORT%'"
        if dialect == "sqlite"
        else "SELECT t.tgname FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid "
        "WHERE t.tgrelid = 'entry'::regclass AND t.tgenabled IN ('O', 'A') AND p.prosrc LIKE '%RAISE EXCEPTION%'"
    )
    missing = TRIGGERS[dialect] - set(session.scalars(text(query)))
    if missing:
        remedy = (
            "they were removed: recreate them as the first migration does, then check all logs with --all"
        )
        return Finding(
            False, f"the log can be changed: triggers missing: {', '.join(sorted(missing))}", remedy
        )
    return Finding(True, "the log is append-only")


def _secret_key(session: Session) -> Finding:
    newest = next(iter(links.select_rows(session, limit=1)), None)
    if newest is None or hashlib.sha256(links.token(newest).encode()).hexdigest() == newest.digest:
        return Finding(True, "secret key")
    remedy = "restore the old BYZANZ_SECRET_KEY; no emailed link works with a different key"
    return Finding(False, "BYZANZ_SECRET_KEY differs from the key of the emailed links", remedy)


def _logs(session: Session, check_all: bool) -> Iterator[Finding]:
    query = select(Game.id).where(Game.started_at.is_not(None), positions.has_rules())
    query = query.order_by(Game.started_at.desc(), Game.id)
    games = session.scalars(query if check_all else query.limit(SAMPLE)).all()
    damaged = 0
    for game_id in games:
        fault = _fault(session, game_id)
        if fault and (damaged := damaged + 1) <= MOST_SHOWN:
            remedy = "its log was changed, or the rules have a bug: compare it with a backup"
            yield Finding(False, f"game {game_id}, {fault}", remedy)
    if damaged > MOST_SHOWN:
        yield Finding(False, f"{damaged} damaged logs in total", "restore the database from a backup")
    if not damaged:
        yield Finding(True, f"the logs of {len(games)} games: hashes, shuffles, moves and results")


def _fault(session: Session, game_id: str) -> str | None:
    """Return what is wrong with the log of a game, naming the entry, or None."""
    try:
        table = load(session, game_id, utc_now())
        game = table.game
        last = session.scalar(select(func.max(Entry.seq)).where(Entry.game_id == game_id)) or 0
        if last != game.head:
            return f"entry {min(last, game.head) + 1}: the log ends at {last}, its game at {game.head}"
        full_record = history.record_for(table, ALL)
        record.verify(full_record)
        newest = full_record.entries[-1].hash if full_record.entries else record.GENESIS
        if newest != game.head_hash:
            return f"entry {last}: its hash is not the one that its game remembers"
        return _state_fault(table, full_record) if game.status == GameStatus.RUNNING else None
    except (record.InvalidRecord, positions.Broken) as wrong:
        return str(wrong)
    except Exception as fault:  # nothing in a damaged row may end the checks
        return f"it cannot be read: {type(fault).__name__}"


def _state_fault(table: Table, full_record: record.Record) -> str | None:
    """Return what in a running game's row disagrees with its log, the sealed seed included, or None."""
    game = table.game
    if chance.commitment(game.id, bytes.fromhex(game.seed)) != game.commitment:
        return "the seed does not match the commitment"
    if record.paused(full_record.entries) != game.paused:
        return "it is paused in the database but not in its log, or vice versa"
    position = positions.current(table)
    replayed = _replayed(position.rules, full_record, bytes.fromhex(game.seed))
    if position.rules.encode(position.state) != position.rules.encode(replayed):
        return "its snapshot differs from its log"
    return None


def _replayed(rules: Rules[Any, Any], full_record: record.Record, seed: bytes) -> Any:
    header = full_record.header
    deal = chance.deal(chance.key(header.id, seed, header.cuts))
    state = rules.setup(len(header.seats), header.options)
    for entry in record.effective(full_record.entries):
        due = rules.chance(state)
        if due and str(deal(due)) != entry.move:
            raise record.InvalidRecord(
                entry.seq, f"seed and cuts give a different order for shuffle {due.label}"
            )
        state = rules.apply(state, entry.seat, umpire.read_logged(rules, entry.move))
    return state


def _quarantine(session: Session) -> Iterator[Finding]:
    on_hold = session.scalars(
        select(Game)
        .where(Game.quarantine.is_not(None), positions.has_rules())
        .order_by(Game.id)
        .limit(MOST_SHOWN)
    )
    for game in on_hold:
        yield Finding(
            False,
            f"game {game.id} is on hold ({game.quarantine})",
            "see its log on the moderation page; other games are not affected",
        )


def _without_rules(session: Session) -> Iterator[Finding]:
    """For each game whose rules are not installed, say how many tables need them."""
    query = select(Game.slug, Game.rules, func.count(), func.min(Game.id))
    query = query.where(Game.status != GameStatus.CANCELLED, ~positions.has_rules()).group_by(
        Game.slug, Game.rules
    )
    for slug, version, count, first in session.execute(query.order_by(Game.slug, Game.rules)):
        who = f"game {first} needs" if count == 1 else f"{count} games need, such as game {first}"
        what = f"the rules of {slug} (version {version}) are not installed, which {who}"
        yield Finding(False, what, "install their package and restart; until then these games are on hold")


def zone_findings(session: Session) -> Iterator[Finding]:
    """Name the stored time zones that this machine does not know."""
    remedy = "install newer time zones (Debian: tzdata and tzdata-legacy; or the Python package) and restart"
    for model, who in ((Person, "person"), (Game, "game")):
        stored = type_coerce(model.time_zone, String)
        counts = session.execute(select(stored, func.count()).where(stored.is_not(None)).group_by(stored))
        for zone, count in counts:
            if not i18n.known_zone(zone):
                whose = f"1 {who}" if count == 1 else f"{count} {'people' if who == 'person' else 'games'}"
                instead = "each table's" if who == "person" else i18n.DEFAULT_ZONE
                yield Finding(
                    False,
                    f"the time zone {zone!r} of {whose} is unknown here; {instead} is used instead",
                    remedy,
                )


def _heartbeats(session: Session, settings: Settings, now: datetime) -> Iterator[Finding]:
    for part in operations.PARTS:
        if operations.is_ahead(session, part, now):
            what = f"the last heartbeat of the {part} lies in the future: the clock was set back"
            yield Finding(False, what, OUTAGE_REMEDY)
        elif operations.is_silent(session, part, now, settings.tick):
            remedy = f"start `byzanz serve` or `byzanz {part}`; all clocks are stopped until then"
            yield Finding(False, f"no heartbeat from the {part}", remedy)
        else:
            yield Finding(True, f"the {part} is running")


def _outages(session: Session, now: datetime) -> Finding:
    """Tell how long the server was away; parts that were away at the same time count once."""
    since = now - timedelta(days=7)
    rows = session.scalars(select(Outage).where(Outage.to_at > since).order_by(Outage.from_at)).all()
    seconds, until = 0.0, since
    for row in rows:
        seconds += max(0.0, (row.to_at - max(row.from_at, until)).total_seconds())
        until = max(until, row.to_at)
    what = f"outages in the last 7 days: {len(rows)}, {seconds / 60:.0f} minutes in all, not counted by any clock"
    return Finding(True, what)


def _alerts(session: Session) -> Iterator[Finding]:
    open_ones = session.scalars(select(Alert).where(Alert.cleared_at.is_(None)).order_by(Alert.at)).all()
    for alert in open_ones[:MOST_SHOWN]:
        remedy = "fix the cause, then clear the alert on the moderation desk"
        if alert.key == operations.CLOCK_JUMPED:
            remedy = OUTAGE_REMEDY
        elif alert.key.startswith((operations.DATABASE_CLOCK, operations.MACHINE_CLOCK)):
            remedy = "set that clock; the alert ends by itself"
        elif alert.text.code == "mail_blocked":
            remedy = "check the DNS records, look the server up in block lists, then clear the alert"
        place = f", game {alert.game_id}" if alert.game_id else ""
        yield Finding(False, f"alert since {minute(alert.at)}{place}: {alert.text}", remedy)
    if not open_ones:
        yield Finding(True, "no alerts")


# ---- after a backup was restored ----

NONE_MISSING = "no returned email and no opened link quotes an entry that the logs lack"


def after_restore(file: Path | None) -> int:
    """Print the games whose logs lack an entry that an email quotes; those found in the file are reported first.

    Args:
        file: a log or a mailbox of the mail server, which holds the Message-IDs of our emails.

    Returns:
        0 if there are none, else 1.
    """
    if file is not None:
        with file.open(encoding="latin-1") as lines:
            for line in lines:
                log.report_missing(line, engine.utc_now())
    with engine.reading() as session:
        findings = [_finding(session, head) for head in log.reported(session)]
    for finding in findings or [Finding(True, NONE_MISSING)]:
        print(finding, flush=True)
    return 1 if findings else 0


def _finding(session: Session, head: log.Head) -> Finding:
    game = session.get(Game, head.game_id)
    stands = "the database has no such game"
    if game is not None:
        stands = f"the log ends at {game.head}" if game.head < head.seq else "the log has another entry there"
    remedy = "restore a newer backup, or tell the players which moves were lost"
    return Finding(
        False, f"game {head.game_id}, entry {head.seq} was emailed as {head.hash}…, but {stands}", remedy
    )
