"""Limits by networks hold for requests at the same moment, on both databases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest
from flask import Flask
from sqlalchemy import func, select

from server.accounts import login
from server.errors import TooMany
from server.lobby import create, visitors
from server.store import engine, networks
from server.store.models import Mail
from server.store.networks import Limits
from server.validation import Guest
from tests.conftest import NOW
from tests.support.at_once import at_once
from tests.support.lobby import wish

pytestmark = [pytest.mark.concurrency, pytest.mark.empty_database]
LIMITS = Limits(networks=(3, 4, 4), share=4)


EVERYBODY = 5
"""What all networks together may cause."""


@contextmanager
def visitor(number: int, network: int = 113) -> Iterator[None]:
    """Let what is done come from one of several addresses of a network."""
    networks.begin((f"203.0.{network}.{number}/32", f"203.0.{network}.0/24"))
    try:
        yield
    finally:
        networks.end()


def _newcomer(number: int) -> object:
    login.mail_sign_in(f"somebody{number}@example.org", NOW, newcomers=True)
    return None


def _game_with(number: int) -> object:
    return create.create_game(wish(organiser=Guest("Zoe", f"zoe{number}@example.org")), NOW)


def _trial(_number: int) -> object:
    return visitors.start("byzanz", "Guest", NOW)


@pytest.mark.parametrize("deed", [_newcomer, _game_with, _trial])
def test_a_limit_holds_at_once(
    app: Flask, monkeypatch: pytest.MonkeyPatch, deed: Callable[[int], object]
) -> None:
    for module in ("notify", "visitors"):
        monkeypatch.setattr(f"server.lobby.{module}.FROM_NETWORKS", LIMITS)

    def ask(number: int) -> object:
        with visitor(number):
            return deed(number)

    found = at_once(app, *(partial(ask, number) for number in range(12)))
    refused = [each for each in found if isinstance(each, type) and issubclass(each, TooMany)]
    assert len(refused) == 12 - LIMITS.networks[-1]


@pytest.mark.parametrize("deed", [_newcomer, _game_with, _trial])
def test_a_total_for_everybody_holds_at_once(
    app: Flask, monkeypatch: pytest.MonkeyPatch, deed: Callable[[int], object]
) -> None:
    monkeypatch.setattr("server.lobby.notify.INVITATIONS_AN_HOUR", EVERYBODY)
    monkeypatch.setattr("server.lobby.visitors.MOST_AN_HOUR", EVERYBODY)

    def ask(number: int) -> object:
        with visitor(number, number):
            return deed(number)

    found = at_once(app, *(partial(ask, number) for number in range(12)))
    refused = sum(isinstance(each, type) and issubclass(each, TooMany) for each in found)
    with engine.reading() as session:
        delayed = session.scalar(select(func.count(Mail.id)).where(Mail.not_before > NOW)) or 0
    assert refused + delayed == 12 - EVERYBODY
