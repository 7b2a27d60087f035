"""The pages that delete an account and serve a person's data."""

from __future__ import annotations

import io
import json
import zipfile
from contextlib import AbstractContextManager
from datetime import timedelta

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import update
from sqlalchemy.orm import Session

from server.accounts import personal_data
from server.store import engine
from server.store.models import BrowserSession, Person
from tests.conftest import NOW
from tests.support.lobby import DAPHNE, everything, mails, person
from tests.support.pages import log_in, look, sign_in
from tests.support.person_everywhere import PERSON, create, traces

pytestmark = pytest.mark.changes_busy_table


@pytest.fixture
def zeno(app: Flask) -> int:  # noqa: ARG001 - for its context
    """Return the id of Zenobia."""
    return create()


def posted(client: FlaskClient, path: str, **fields: str) -> int:
    page = look(client, path).html
    csrf = page.partition('name="csrf_token" value="')[2].partition('"')[0]
    return client.post(path, data={"csrf_token": csrf, **fields}).status_code


def test_a_person_deletes_their_account_after_a_recent_sign_in(client: FlaskClient, zeno: int) -> None:
    sign_in(client, PERSON.address)
    assert client.get("/account/data.zip").data[:2] == b"PK"
    assert posted(client, "/account/delete", do="delete") == 422
    assert posted(client, "/account/delete", do="nonsense", sure="yes") == 400
    with engine.reading() as session:
        assert session.get_one(Person, zeno).email == PERSON.address
    assert posted(client, "/account/delete", do="delete", sure="yes") == 303
    assert "Your account is deleted" in look(client, "/account/deleted").text
    with engine.reading() as session:
        assert session.get_one(Person, zeno).email is None
    for path in ("/account", "/account/delete", "/account/data.zip"):
        assert client.get(path).status_code == 303


def test_a_copy_of_the_data_is_streamed_in_short_transactions(
    zeno: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = zipfile.ZipFile(io.BytesIO(b"".join(personal_data.archive(zeno))))
    monkeypatch.setattr(personal_data, "PAGE", 2)
    pieces = []
    for piece in personal_data.archive(zeno):
        assert engine._open_reading.get() is None  # a slow reader keeps nothing open
        pieces.append(piece)
    assert len(pieces) > len(whole.namelist())
    again = zipfile.ZipFile(io.BytesIO(b"".join(pieces)))
    assert {name: again.read(name) for name in again.namelist()} == {
        name: whole.read(name) for name in whole.namelist()
    }
    assert all(
        isinstance(json.loads(whole.read(name)), list) for name in whole.namelist() if name[-5:] == ".json"
    )


def test_a_copy_of_the_data_goes_out_while_the_rest_of_it_is_read(
    client: FlaskClient, zeno: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert zeno
    sign_in(client, PERSON.address)
    transactions: list[bool] = []

    def read() -> AbstractContextManager[Session]:
        transactions.append(True)
        return engine.reading()

    monkeypatch.setattr(personal_data, "reading", read)
    answer = client.get("/account/data.zip", buffered=False)  # up to its first piece
    begun = len(transactions)
    assert "records/over.jsonl" in zipfile.ZipFile(io.BytesIO(answer.data)).namelist()
    assert 0 < begun < len(transactions)


def test_no_kept_page_of_a_finished_game_names_an_erased_player(client: FlaskClient, zeno: int) -> None:
    paths = ("/g/over", "/g/over/history", "/g/over/verify", "/g/running", "/api/v1/games/over/record")
    assert traces(look(client, "/g/over").html)
    pages = [client.get(path).text for path in paths]
    personal_data.erase(zeno, NOW)
    for path, before in zip(paths, pages, strict=True):
        assert not traces(client.get(path).text), path
        assert traces(before) or path == "/g/over/verify"


def test_an_old_session_deletes_nothing_but_gets_a_link(client: FlaskClient, zeno: int) -> None:
    sign_in(client, PERSON.address)
    with engine.transaction() as session:
        session.execute(update(BrowserSession).values(created_at=engine.utc_now() - timedelta(minutes=16)))
    before = len(mails("signin", PERSON))
    assert 'value="delete"' not in look(client, "/account/delete").html
    assert posted(client, "/account/delete", do="delete", sure="yes") == 400
    assert posted(client, "/account/delete", do="mail") == 200
    assert len(mails("signin", PERSON)) == before + 1
    with engine.reading() as session:
        assert session.get_one(Person, zeno).email == PERSON.address


def test_a_moderator_erases_who_asks_for_it(client: FlaskClient, zeno: int) -> None:
    daphne = person(DAPHNE, NOW)
    with engine.transaction() as session:
        session.get_one(Person, daphne).moderator = True
    log_in(client, daphne)
    assert posted(client, "/m/erase", address="nobody@example.org", reason="asked", sure="yes") == 422
    assert posted(client, "/m/erase", address=PERSON.address, reason="asked") == 422
    with engine.reading() as session:
        assert session.get_one(Person, zeno).email == PERSON.address
    assert posted(client, "/m/erase", address=PERSON.address.upper(), reason="asked", sure="yes") == 200
    assert traces(str(everything())) == []
