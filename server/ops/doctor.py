"""`byzanz doctor`: what is wrong with this server, and what to do about it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

from flask import Flask
from sqlalchemy import String, func, select, text, type_coerce
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from byzanz import chance, record, umpire
from byzanz.rules import ALL, Rules
from server import config
from server.config import ConfigError, Settings, zones
from server.ops import database_checks, dns_checks, mail_checks, reach, surroundings
from server.ops.finding import Finding, minute
from server.play import history, positions
from server.scheduler import heartbeat
from server.store import alerts, engine, links, processes
from server.store.models import Alert, Entry, Game, Link, Outage, Person

SAMPLE = 1_000
"""Games whose logs are checked unless all are requested: the newest."""
MOST_SHOWN = 20
"""Findings of one kind that are printed one by one."""
CLOCK_REMEDY = "set the clock; once it is correct, run `byzanz doctor --clock-is-right`"
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
    yield from reach.clock(settings)
    yield from surroundings.findings(settings)
    file = config.database_file(settings)
    if file is None or file.exists():
        with make_app(settings).app_context():
            tables = database_checks.tables(settings)
            yield tables
            if tables.ok:
                yield from _looked_at(settings, check_all)
            if settings.mail_url:
                yield from _outgoing(settings, tables.ok)
            engine.db.engine.dispose()
    else:
        yield surroundings.no_database(settings)
        if settings.mail_url:
            yield reach.mail_server(settings)
    yield from reach.proxy(settings)


def _looked_at(settings: Settings, check_all: bool) -> Iterator[Finding]:
    """Yield what the database tells; a damaged one may fail at any row."""
    try:
        yield from _database_findings(settings, engine.utc_now(), check_all)
    except SQLAlchemyError as error:
        yield database_checks.unusable(error)


def _outgoing(settings: Settings, tables_ok: bool) -> Iterator[Finding]:
    server = reach.mail_server(settings)
    yield server
    if server.ok and tables_ok:
        yield mail_checks.relay(settings)
    yield from dns_checks.findings(settings)


def _database_findings(settings: Settings, now: datetime, check_all: bool) -> Iterator[Finding]:
    with engine.reading() as session:
        yield from database_checks.findings(session, settings, check_all)
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
    newest = session.scalar(select(Link).order_by(Link.id.desc()).limit(1))
    if newest is None or hashlib.sha256(links.token(newest).encode()).hexdigest() == newest.digest:
        return Finding(True, "secret key")
    remedy = "restore the old BYZANZ_SECRET_KEY; no emailed link works with a different key"
    return Finding(False, "BYZANZ_SECRET_KEY differs from the key of the emailed links", remedy)


def _logs(session: Session, check_all: bool) -> Iterator[Finding]:
    query = select(Game).where(Game.started_at.is_not(None), positions.has_rules())
    query = query.order_by(Game.started_at.desc(), Game.id)
    games = session.scalars(query if check_all else query.limit(SAMPLE)).all()
    damaged = 0
    for game in games:
        fault = _fault(session, game)
        if fault and (damaged := damaged + 1) <= MOST_SHOWN:
            remedy = "its log was changed, or the rules have a bug: compare it with a backup"
            yield Finding(False, f"game {game.id}, {fault}", remedy)
    if damaged > MOST_SHOWN:
        yield Finding(False, f"{damaged} damaged logs in total", "restore the database from a backup")
    if not damaged:
        yield Finding(True, f"the logs of {len(games)} games: hashes, shuffles, moves and results")


def _fault(session: Session, game: Game) -> str | None:
    """Return what is wrong with the log of a game, naming the entry, or None."""
    last = session.scalar(select(func.max(Entry.seq)).where(Entry.game_id == game.id)) or 0
    if last != game.head:
        return f"entry {min(last, game.head) + 1}: the log ends at {last}, its game at {game.head}"
    try:
        full_record = history.record_for(session, game, ALL)
        record.verify(full_record)
        newest = full_record.entries[-1].hash if full_record.entries else record.GENESIS
        if newest != game.head_hash:
            return f"entry {last}: its hash is not the one that its game remembers"
        return _state_fault(session, game, full_record) if game.status == "running" else None
    except (record.InvalidRecord, positions.Broken) as wrong:
        return str(wrong)
    except Exception as fault:  # nothing in a damaged row may end the checks
        return f"it cannot be read: {type(fault).__name__}"


def _state_fault(session: Session, game: Game, full_record: record.Record) -> str | None:
    """Return what in a running game's row disagrees with its log, the sealed seed included, or None."""
    if chance.commitment(game.id, bytes.fromhex(game.seed)) != game.commitment:
        return "the seed does not match the commitment"
    if record.paused(full_record.entries) != game.paused:
        return "it is paused in the database but not in its log, or vice versa"
    position = positions.load(session, game)
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
    query = query.where(Game.status != "cancelled", ~positions.has_rules()).group_by(Game.slug, Game.rules)
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
            if not zones.known(zone):
                whose = f"1 {who}" if count == 1 else f"{count} {'people' if who == 'person' else 'games'}"
                instead = "each table's" if who == "person" else zones.DEFAULT
                yield Finding(
                    False,
                    f"the time zone {zone!r} of {whose} is unknown here; {instead} is used instead",
                    remedy,
                )


def _heartbeats(session: Session, settings: Settings, now: datetime) -> Iterator[Finding]:
    for part in heartbeat.PARTS:
        if heartbeat.is_ahead(session, part, now):
            what = f"the last heartbeat of the {part} lies in the future: the clock was set back"
            yield Finding(False, what, CLOCK_REMEDY)
        elif heartbeat.is_silent(session, part, now, settings.tick):
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
        if alert.key == alerts.CLOCK_JUMPED:
            remedy = CLOCK_REMEDY
        elif alert.key.startswith((processes.DATABASE_CLOCK, processes.MACHINE_CLOCK)):
            remedy = "set that clock; the alert ends by itself"
        elif alert.text.code == "mail_blocked":
            remedy = "check the DNS records, look the server up in block lists, then clear the alert"
        place = f", game {alert.game_id}" if alert.game_id else ""
        yield Finding(False, f"alert since {minute(alert.at)}{place}: {alert.text}", remedy)
    if not open_ones:
        yield Finding(True, "no alerts")
