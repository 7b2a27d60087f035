"""An address that only forms are sent to leads to the page it belongs to; blocked cookies are named."""

from __future__ import annotations

import pytest
from flask import Flask
from flask.testing import FlaskClient

from server.store import engine
from tests.support.lobby import ALICE
from tests.support.mails import one_database
from tests.support.routes import address, routes, visitors
from tests.support.visitors import make_visitors


@pytest.mark.empty_database
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_every_form_s_address_leads_to_its_page(app: Flask) -> None:
    there = make_visitors(app, engine.utc_now())
    gets = {str(rule) for name, rule in routes(app) if name.startswith("GET ")}
    wrong, tried, moderator = [], 0, visitors(there)[6]
    for name, rule in routes(app):
        if not name.startswith("POST ") or str(rule) in gets or name.startswith("POST /api/"):
            continue
        tried += 1
        for method in ("GET", "HEAD"):
            path = address(there, rule, moderator)
            answer = there.ask(there.browser(moderator.name), method, path)
            if answer.status_code != 302 or not path.startswith(answer.location):
                wrong.append(f"{method} {path}: {answer.status_code} {answer.location}")
            elif there.ask(there.browser(moderator.name), "GET", answer.location).status_code == 405:
                wrong.append(f"{path} leads nowhere")
    assert tried > 20
    assert not wrong, "\n".join(wrong)


@one_database
def test_words_that_a_phone_restores_lead_to_the_table(client: FlaskClient) -> None:
    assert client.get("/t/aaaaaaaaaaaaaaaaaaaaaaaaaa/say?x=1").location == "/t/aaaaaaaaaaaaaaaaaaaaaaaaaa"
    assert client.get("/account/mutes").location == "/account"
    assert client.get("/m/alarms/3").location == "/m/"
    assert client.get("/api/v1/seats/aaaaaaaaaaaaaaaaaaaaaaaaaa/moves").status_code == 405
    assert client.put("/play").status_code == 405


@one_database
def test_a_browser_without_cookies_is_told_so(app: Flask) -> None:
    blocked = app.test_client(use_cookies=False)
    page = blocked.post("/account", data={"do": "save", "name": ALICE.name})
    assert page.status_code == 400
    assert "sent no cookies" in page.text
    kept = app.test_client()
    kept.set_cookie("language", "en")
    assert "has expired" in kept.post("/account", data={"do": "save"}).text
