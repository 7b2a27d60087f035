"""Forms of a page, filled in and submitted as a browser would."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree.ElementTree import Element

from flask.testing import FlaskClient
from sqlalchemy import select
from werkzeug.test import TestResponse

from server.accounts import login
from server.store import engine
from server.store.models import BrowserSession, Mail, Person
from tests.support.invitations import sign_in_token
from tests.support.pages import Page, look


def fields(form: Element) -> dict[str, str]:
    """Return what a browser would send of an untouched form; a button only if it is the only one."""
    found: dict[str, str] = {}
    for item in form.iter():
        name = item.get("name")
        if name is None:
            continue
        if item.tag == "input" and item.get("type") in ("checkbox", "radio"):
            if item.get("checked") is not None:
                found[name] = item.get("value", "on")
        elif item.tag == "input":
            found[name] = item.get("value", "")
        elif item.tag == "textarea":
            found[name] = (item.text or "").removeprefix("\n")
        elif item.tag == "select":
            options = list(item.iter("option"))
            chosen = [option for option in options if option.get("selected") is not None] or options[:1]
            found[name] = chosen[0].get("value", chosen[0].text or "")
        elif item.tag == "button":
            found[name] = item.get("value", "")
    return found


def form(page: Page, **known: str) -> tuple[str | None, dict[str, str]]:
    """Return the action and the fields of the only form that posts these fields with these values.

    The forms for the language at the foot of every page and those that start a game are ignored; only their own tests
    use them.
    """
    forms = [
        item
        for item in page.root.iter("form")
        if item.get("method") == "post"
        and (known or not (item.get("class") == "languages" or item.get("action") == "/play"))
    ]
    fitting = [item for item in forms if known.items() <= fields(item).items()]
    assert len(fitting) == 1, (known, [fields(item) for item in forms])
    return fitting[0].get("action"), fields(fitting[0])


def send(
    client: FlaskClient, path: str, typed: Mapping[str, str] | None = None, **known: str
) -> TestResponse:
    """Open a page, fill in the form that has the `known` fields, and submit it."""
    typed = typed or {}
    action, filled = form(look(client, path), **known)
    assert set(typed) <= set(filled), (typed, filled)
    return client.post(action or path, data={**filled, **typed})


def log_in(client: FlaskClient, person_id: int, base_url: str | None = None) -> None:
    """Sign this browser in without an email."""
    token = session_of(person_id)
    with client.session_transaction(base_url=base_url) as cookie:
        cookie[login.COOKIE_KEY] = token


def session_of(person_id: int) -> str:
    """Return the token of a person's session, the same in every browser, creating the session if necessary."""
    token = f"the session of {person_id}"
    now = engine.utc_now()
    new = {"digest": login.session_digest(token), "person_id": person_id, "browser": ""}
    with engine.transaction() as session:
        engine.insert(session, BrowserSession, new | {"created_at": now, "used_at": now}, key="digest")
    return token


def sign_in(client: FlaskClient, address: str) -> None:
    """Sign this browser in with an emailed link."""
    login.mail_sign_in(address, engine.utc_now())
    with engine.reading() as session:
        query = select(Mail).join(Person, Person.id == Mail.person_id).where(Mail.kind == "signin")
        mail = session.scalars(query.where(Person.email == address).order_by(Mail.id.desc())).first()
    assert mail is not None
    assert send(client, f"/s/{sign_in_token(mail)}").status_code == 303
