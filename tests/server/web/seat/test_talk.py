"""Table talk on a seat's pages: what stands where, what is refused, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask.testing import FlaskClient

from tests.conftest import Table
from tests.support.mails import submit

Begin = Callable[..., Table]
pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture
def game(table: Begin) -> Table:
    return table(3)


def test_first(game: Table, client: FlaskClient) -> None:
    answer = client.post(f"/t/{game.tokens[0]}/say", data={"text": "Hello <b>all</b>", "request_id": "a"})
    assert answer.status_code == 303, answer.text
    page = client.get(f"/t/{game.tokens[1]}")
    assert page.status_code == 200
    assert "Hello &lt;b&gt;all&lt;/b&gt;" in page.text
    page = client.get(f"/t/{game.tokens[1]}/history")
    assert page.status_code == 200
    assert "Hello &lt;b&gt;all&lt;/b&gt;" in page.text
