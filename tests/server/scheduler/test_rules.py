"""A game whose package is gone is on hold: no clock runs, nobody is emailed; it goes on when the package is back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from flask import Flask
from sqlalchemy import select

from byzanz import games
from server import play
from server.errors import NotRunning
from server.play import turns
from server.scheduler import jobs
from server.store import engine, facts
from server.store.models import Alert, Game, Mail, Turn
from tests.conftest import Table
from tests.support.folders import example
from tests.support.games import TICK, change, entries_by, give_to_bots, loaded, outsider, row
from tests.support.mails import send_waiting
from tests.support.scheduler import Machine

Begin = Callable[..., Table]
HOUR = timedelta(hours=1)


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> list[games.AnyRules]:
    """Return the installed packages: Goofspiel, until it is taken out."""
    installed = [example("goofspiel").Goofspiel()]
    monkeypatch.setattr(games, "_added", installed)
    return installed


@pytest.fixture
def machine(app: Flask, packages: list[games.AnyRules]) -> Machine:  # noqa: ARG001 - requested for their effects
    made = Machine(tick=1000.0)
    made.send_heartbeats()
    return made


def dues(game: Table) -> dict[int, datetime | None]:
    with engine.reading() as session:
        hand = loaded(session, game.id)
        return {seat: turns.deadline(session, hand.game, turn) for seat, turn in hand.turns.items()}


def alerts_open() -> list[str]:
    with engine.reading() as session:
        return list(session.scalars(select(Alert.key).where(Alert.cleared_at.is_(None))))


def test_a_game_without_its_package_stops_and_goes_on_with_it(
    table: Begin, machine: Machine, packages: list[games.AnyRules]
) -> None:
    game, other = table(3, slug="goofspiel"), table(3, "g2", slug="goofspiel")
    byzanz = table(3, "g3")
    send_waiting(machine.now)
    machine.run(20 * HOUR)
    before, gone = dues(game), packages.pop()
    assert jobs.tick_rules(machine.now) == 2
    assert jobs.tick_rules(machine.now) == 0
    assert alerts_open() == ["no_rules:goofspiel:1"]
    assert "goofspiel (version 1)" in facts.sentence(row(Game, game.id).quarantine)
    held = entries_by(game.id)
    assert machine.run(30 * HOUR) == 1, "the deadline of Byzanz has passed, and no other"
    assert entries_by(game.id) == held
    assert entries_by(byzanz.id) != []
    assert all(mail["Subject"].startswith("Byzanz:") for mail in send_waiting(machine.now))
    with pytest.raises(NotRunning, match="its rules are not installed on this server"):
        play.submit(game.id, 0, "bid 1", seen=1, request_id="r", now=machine.now)

    packages.append(gone)
    assert jobs.tick_rules(machine.now) == 2
    assert alerts_open() == []
    assert row(Game, game.id).quarantine is None
    assert dues(game) == {seat: due and due + 30 * HOUR for seat, due in before.items()}
    assert entries_by(game.id) == [(seat, "clock", f"!credit {30 * 3600}") for seat in range(3)]
    play.submit(game.id, 0, "bid 1", seen=1, request_id="r", now=machine.now)
    assert machine.run(5 * HOUR) == 5, "the others of both games had four hours left"
    assert dues(other) != {}


def test_a_turn_that_was_about_to_end_has_an_hour(
    table: Begin, machine: Machine, packages: list[games.AnyRules]
) -> None:
    game = table(2, slug="goofspiel")
    send_waiting(machine.now)
    machine.run(24 * HOUR - timedelta(minutes=5))
    gone = packages.pop()
    jobs.tick_rules(machine.now)
    machine.run(HOUR)
    packages.append(gone)
    jobs.tick_rules(machine.now)
    assert set(dues(game).values()) == {machine.now + HOUR}


def test_an_email_waits_for_its_rules_without_an_alert(
    table: Begin, machine: Machine, packages: list[games.AnyRules]
) -> None:
    game, gone = table(2, slug="goofspiel"), packages.pop()
    jobs.tick_rules(machine.now)
    machine.run(60 * HOUR)
    assert send_waiting(machine.now) == []
    assert alerts_open() == ["no_rules:goofspiel:1"]
    with engine.reading() as session:
        (mail, *_others) = session.scalars(select(Mail).where(Mail.game_id == game.id))
    assert mail.attempts == 0
    packages.append(gone)
    jobs.tick_rules(machine.now)
    assert len(send_waiting(machine.now + HOUR)) == 2
    assert row(Turn, (game.id, 0)).due_at == machine.now + HOUR + 24 * HOUR


def test_bots_and_moderators_wait_as_well(table: Begin, machine: Machine) -> None:
    game = table(3, slug="goofspiel")
    give_to_bots(game, range(1, 3))
    change(Game, game.id, rules=7)  # of a later package, which was downgraded
    assert jobs.tick_bots(machine.now) == 0
    assert row(Game, game.id).quarantine is None, "a bot sees no fault in it"
    jobs.tick_rules(machine.now)
    assert alerts_open() == ["no_rules:goofspiel:7"]
    for act in ("!resume", "!abandon", "!pause", "!extend 0 60"):
        with pytest.raises(NotRunning, match="not installed"):
            play.moderate(game.id, act, reason="why", person_id=outsider(), now=machine.now)
    play.moderate(game.id, "!note", reason="why", person_id=outsider(), now=machine.now)
    change(Game, game.id, rules=1)
    assert jobs.tick_rules(machine.now) == 1
    assert jobs.tick_bots(machine.now) == 2


def test_a_game_whose_log_does_not_replay_when_its_rules_are_back_is_quarantined(
    table: Begin, machine: Machine, packages: list[games.AnyRules], monkeypatch: pytest.MonkeyPatch
) -> None:
    game, gone = table(2, slug="goofspiel"), packages.pop()
    jobs.tick_rules(machine.now)
    monkeypatch.setattr(type(gone), "state_format", 99)
    monkeypatch.setattr(type(gone), "setup", lambda *_given: 1 / 0)
    packages.append(gone)
    assert jobs.tick_rules(machine.now) == 0
    why = row(Game, game.id).quarantine
    assert why.code == "text"
    assert "ZeroDivisionError" in str(why)
    assert jobs.tick_rules(machine.now) == 0


def test_an_open_table_does_not_end_meanwhile(
    table: Begin, machine: Machine, packages: list[games.AnyRules]
) -> None:
    game = table(2, slug="goofspiel")
    change(Game, game.id, status="inviting", open_until=machine.now)
    packages.clear()
    assert jobs.tick_rules(machine.now) == 1
    machine.send_heartbeats()
    assert jobs.tick_tables(machine.now, TICK) == 0
    assert row(Game, game.id).status == "inviting"
