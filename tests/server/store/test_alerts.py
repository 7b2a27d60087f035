"""Alerts: raised once, cleared once, each by its own key."""

from __future__ import annotations

from datetime import datetime, timedelta
from threading import Event

import pytest
import sqlalchemy as sa
from flask import Flask

from server.store import engine, operations
from server.store.facts import Fact
from server.store.models import Alert
from tests.conftest import NOW
from tests.support.at_once import at_once, wait_until_held_up

SECOND = timedelta(seconds=1)


def raised(key: str, now: datetime, code: str = "game_rests") -> None:
    with engine.transaction() as session:
        operations.raise_alert(session, key, Fact(code), now)


def stored(key: str) -> tuple[str, datetime, datetime | None]:
    """Return the code of an alert, when it was raised, and when it was cleared."""
    with engine.reading() as session:
        found = session.scalars(sa.select(Alert).where(Alert.key == key)).one()
        return found.text.code, found.at, found.cleared_at


@pytest.mark.usefixtures("app")
def test_an_alert_keeps_its_first_time_until_it_is_cleared_and_raised_again() -> None:
    for number, key in enumerate(("one", "two")):
        raised(key, NOW + number * SECOND)
    raised("one", NOW + SECOND, "seat_left")
    with engine.transaction() as session:
        operations.clear_alerts(session, "two", NOW + 2 * SECOND)
        assert operations.open_alert(session, "one") is not None
        assert operations.open_alert(session, "two") is None
    assert stored("one") == ("game_rests", NOW, None)
    assert stored("two") == ("game_rests", NOW + SECOND, NOW + 2 * SECOND)
    raised("two", NOW + 3 * SECOND, "seat_left")
    assert stored("two") == ("seat_left", NOW + 3 * SECOND, None)


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_an_alert_cleared_twice_at_once_keeps_the_first_time(app: Flask) -> None:
    raised("one", NOW)
    clearing = Event()

    def first() -> None:
        with engine.transaction() as session:
            operations.clear_alerts(session, "one", NOW + SECOND)
            session.flush()
            clearing.set()
            wait_until_held_up(session)

    def again() -> None:
        assert clearing.wait(timeout=30)
        with engine.transaction() as session:
            operations.clear_alerts(session, "one", NOW + 2 * SECOND)

    assert at_once(app, first, again) == [None, None]
    assert stored("one") == ("game_rests", NOW, NOW + SECOND)


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_look_at_an_alert_holds_nobody_up(app: Flask) -> None:
    raised("one", NOW)
    looked = Event()

    def look() -> bool:
        with engine.transaction() as session:
            found = operations.open_alert(session, "one")
            looked.set()
            cleared.wait(timeout=5)
            return found is not None and cleared.is_set()

    def clear() -> None:
        assert looked.wait(timeout=30)
        with engine.transaction() as session:
            operations.clear_alerts(session, "one", NOW)
        cleared.set()

    cleared = Event()
    assert at_once(app, look, clear) == [True, None]
