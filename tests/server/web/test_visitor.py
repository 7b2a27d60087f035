"""Whose request it is: whatever a proxy or a visitor writes into X-Forwarded-For, one address is one visitor."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flask import Flask
from flask.testing import FlaskClient

from server import create_app
from server.store import engine
from server.web import http
from server.web.http import limiter
from tests.conftest import begun, settings

PEER = "198.51.100.7"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("203.0.113.9", "203.0.113.9"),
        (" 203.0.113.9 ", "203.0.113.9"),
        ("203.0.113.9:20001", "203.0.113.9"),
        ('"203.0.113.9:20001"', "203.0.113.9"),
        ("[203.0.113.9]:80", "203.0.113.9"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("[::ffff:203.0.113.9]:20001", "203.0.113.9"),
        ("::FFFF:cb00:7109", "203.0.113.9"),
        ("2001:db8::1", "2001:db8::1"),
        ("2001:DB8:0:0::1", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("[2001:db8::1]:20001", "2001:db8::1"),
        ('"[2001:db8::1]:20001"', "2001:db8::1"),
        ("fe80::1%eth0", "fe80::1"),
        ("[fe80::1%25eth0]:443", "fe80::1"),
    ],
)
def test_an_address_is_an_address_however_it_is_written(text: str, address: str) -> None:
    assert str(http.parse(text)) == address


@pytest.mark.parametrize(
    "text",
    [
        *("", "-", "unknown", "_hidden", "unix:", "localhost", "203.0.113", "203.0.113.256", "203.0.113.009"),
        *(
            "for=203.0.113.9",
            'for="[2001:db8::1]:4711"',
            "203.0.113.9:",
            "203.0.113.9:port",
            "203.0.113.9:1:2",
        ),
        *(
            "203.0.113.9/32",
            "3405803785",
            "0xcb007109",
            "[2001:db8::1",
            "2001:db8::1]",
            "[2001:db8::1]x",
            "[]:80",
        ),
        *(
            "203.0.113.9 203.0.113.8",
            "２０３.0.113.9",
            "203.0.113.9:99999",
            "[2001:db8::1]:-1",
            "%eth0",
            "a" * 9999,
        ),
    ],
)
def test_what_is_no_address_names_nobody(text: str) -> None:
    assert http.parse(text) is None


@pytest.mark.parametrize(
    ("address", "networks"),
    [
        ("203.0.113.9", ("203.0.113.9/32", "203.0.113.0/24")),
        ("::ffff:203.0.113.9", ("203.0.113.9/32", "203.0.113.0/24")),
        (
            "2001:db8:12:3456:789a::1",
            ("2001:db8:12:3456::/64", "2001:db8:12:3400::/56", "2001:db8:12::/48"),
        ),
    ],
)
def test_networks_grow(address: str, networks: tuple[str, ...]) -> None:
    found = http.parse(address)
    assert found is not None
    assert http.around(found) == networks


@pytest.fixture
def seen(database_url: str, request: pytest.FixtureRequest) -> Iterator[FlaskClient]:
    """Return a browser of a server behind as many proxies as the parameter says."""
    app = create_app(settings(database_url, rate_limits=True, proxy_hops=request.param))
    with app.app_context():
        begun(3, "g1")
    yield app.test_client()
    limiter.reset()
    with app.app_context():
        engine.db.engine.dispose()


def address_in(app: Flask, forwarded: str | None) -> str | None:
    """Return the visitor of a request with this header, as every part of the server sees them."""
    found: list[str | None] = []
    app.before_request_funcs[None] = [lambda: found.append(str(http.address()))]
    headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}
    app.test_client().get("/healthz", headers=headers, environ_overrides={"REMOTE_ADDR": PEER})
    return found[0]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("hops", "forwarded", "address"),
    [
        (0, "203.0.113.9", PEER),
        (1, None, PEER),
        (1, "203.0.113.9", "203.0.113.9"),
        (1, "192.0.2.66, 203.0.113.9:4711", "203.0.113.9"),
        (1, "203.0.113.9, ", PEER),
        (1, "203.0.113.9, nonsense", PEER),
        (1, '"192.0.2.66, 203.0.113.9', "203.0.113.9"),
        (1, 'for="192.0.2.66, 203.0.113.9', "203.0.113.9"),
        (2, "203.0.113.9", PEER),
        (2, "192.0.2.66, [2001:db8::1]:4711, 10.0.0.1:99", "2001:db8::1"),
        (2, "192.0.2.66, nonsense, 10.0.0.1", PEER),
    ],
)
def test_the_address_that_the_outermost_trusted_proxy_saw_counts(
    database_url: str, hops: int, forwarded: str | None, address: str
) -> None:
    app = create_app(settings(database_url, proxy_hops=hops))
    assert address_in(app, forwarded) == address


def statuses(client: FlaskClient, *forwarded: str, header: str = "X-Forwarded-For") -> set[int]:
    answers = [
        client.post("/sign-in", data={"address": "a@example.org"}, headers={header: each})
        for each in forwarded
    ]
    return {answer.status_code for answer in answers}


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("seen", [1], indirect=True)
@pytest.mark.parametrize(
    "forwarded",
    [
        [f"203.0.113.9:{20000 + n}" for n in range(14)],
        [f"[2001:db8::{n}]:{20000 + n}" for n in range(14)],
        [f"::ffff:203.0.113.9%{n}" for n in range(14)],
        [f'"203.0.113.9:{n}"' for n in range(14)],
        [f"nonsense{n}" for n in range(14)],
        [f"for=203.0.113.9;n={n}" for n in range(14)],
        [f'"{n}, 203.0.113.9' for n in range(14)],
    ],
)
def test_nothing_that_is_written_around_an_address_makes_a_new_visitor(
    seen: FlaskClient, forwarded: list[str]
) -> None:
    assert statuses(seen, *forwarded) == {200, 429}


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("seen", [1], indirect=True)
@pytest.mark.parametrize("header", ["Forwarded", "X-Real-IP", "True-Client-IP", "Client-IP"])
def test_no_other_header_is_believed(seen: FlaskClient, header: str) -> None:
    told = [f"for=203.0.113.{n}" if header == "Forwarded" else f"203.0.113.{n}" for n in range(14)]
    assert statuses(seen, *told, header=header) == {200, 429}


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("seen", [1], indirect=True)
def test_a_wide_network_has_limits_of_its_own(seen: FlaskClient) -> None:
    each = [f"2001:db8:5:{n:x}::1" for n in range(65)]
    assert statuses(seen, *(address for address in each for _ in range(10))) == {200, 429}
    assert statuses(seen, "2001:db8:6::1") == {200}
