"""Facts: stored as codes and values, read in any language; every code that the server writes has its sentence."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from typing import Any

import flask_babel
import pytest
import sqlalchemy as sa
from flask import Flask

from server.store import engine, facts
from server.store.facts import SENTENCES, Fact
from server.store.models import Game
from tests.conftest import Table
from tests.support.mails import Begin
from tests.words import found

NESTED = Fact("address_failed_before", {"said": Fact("complaint", {"said": Fact("text", {"text": "100 %"})})})


def test_a_fact_comes_back_from_the_database_as_it_went_in(table: Begin) -> None:
    game: Table = table(3)
    with engine.transaction() as session:
        session.get_one(Game, game.id).quarantine = NESTED
    with engine.reading() as session:
        assert session.get_one(Game, game.id).quarantine == NESTED
        assert session.scalar(sa.select(Game.id).where(Game.quarantine == NESTED)) == game.id
        (text,) = session.execute(
            sa.text("SELECT quarantine FROM game WHERE id = :id"), {"id": game.id}
        ).one()
    assert json.loads(text)["code"] == "address_failed_before"
    assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))


def test_a_fact_is_read_in_the_language_of_the_page(app: Flask) -> None:
    before = "A player gets no emails because an earlier one was rejected: complaint: 100 %"
    assert str(NESTED) == before
    with app.test_request_context(), flask_babel.force_locale("nl"):
        assert facts.sentence(NESTED) == (
            "Een speler krijgt geen e-mails omdat een eerdere is geweigerd: klacht: 100 %"
        )
        assert str(NESTED) == before
        assert facts.sentence(None) == ""


def codes() -> Iterator[tuple[str, str]]:
    """Where the server makes a fact, and the code it gives it."""
    for path in found.code():
        for call in ast.walk(ast.parse(path.read_text())):
            match call:
                case ast.Call(func=ast.Name("Fact"), args=[ast.Constant(value=str(code)), *_]):
                    yield f"{path.relative_to(found.ROOT)}:{call.lineno}", code


def test_every_code_has_its_sentence() -> None:
    written = list(codes())
    assert [(place, code) for place, code in written if code not in SENTENCES] == []
    made = {
        "failed",
        "expired",
        "delayed",
        "complaint",
        "nothing",
        "seat_left",
        "seat_lost",
        "said",
        "not_said",
        "no_rules",
        *("address_refused", "address_silent", "refuses_us", "tried_again"),
        *("blocked", "clock_ahead", "clock_behind"),
    }  # from a word of the caller
    assert {code for _, code in written} | made == SENTENCES.keys()


@pytest.mark.parametrize("code", SENTENCES)
def test_every_sentence_fills_its_places(code: str) -> None:
    places = (
        "text",
        "said",
        "why",
        "kind",
        "at",
        "fault",
        "done",
        "of",
        "most",
        "game",
        "version",
        "seq",
        "hash",
        "number",
        "lines",
        "words",
        *("machine", "machines", "seconds", "domain"),
    )
    assert "%(" not in str(Fact(code, dict.fromkeys(places, "x")))


@pytest.mark.usefixtures("app")
def test_a_query_by_a_fact_is_compiled_once() -> None:
    compiled: dict[Any, Any] = {}
    with engine.db.engine.connect().execution_options(compiled_cache=compiled) as connection:
        for _ in range(2):
            connection.execute(sa.select(Game.id).where(Game.quarantine == NESTED))
    assert len(compiled) == 1
