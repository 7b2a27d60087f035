"""What strangers can use up for others: emails to new addresses, visitors' games, an owner's own sign-in links."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import func, select

from server.accounts import login
from server.config import TEMPLATES
from server.lobby import create, invitations, notify, visitors
from server.store import engine, links, mail_kinds, outbox, people
from server.store.models import Game, Mail, Person
from server.store.networks import Limits
from server.validation import Guest
from tests.conftest import NOW, Table, begun
from tests.support.lobby import ALICE, BOB, CHARLIE, DAPHNE, game_of, invited, known, mails, token, wish
from tests.support.mails import queue, send_waiting, statuses
from tests.support.pages import form, look, sign_in, sign_in_token

pytestmark = [pytest.mark.parametrize("database_url", ["sqlite"], indirect=True), pytest.mark.empty_database]
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
HERE, ELSEWHERE = "203.0.113.9", "198.51.100.7"
ZOE = Guest("Zoe", "zoe@example.org")


@pytest.fixture(autouse=True)
def still() -> Iterator[time_machine.Traveller]:
    """Stop the clock."""
    with time_machine.travel(NOW, tick=False) as clock:
        yield clock


def from_(address: str) -> dict[str, Any]:
    return {"environ_overrides": {"REMOTE_ADDR": address}}


def open_table() -> str:
    """Return the page of a table with a free seat."""
    game_id, _host = invited(
        NOW - 2 * HOUR, organiser=DAPHNE, players=(), bots=("greedy",), listed=True, free=1
    )
    return f"/join/{game_id}"


def newcomers(client: FlaskClient, page: str, addresses: Iterable[str], tag: str) -> list[int]:
    """Ask from each network address for a newcomer's link to an email address of its own; return the statuses."""
    action, _fields = form(look(client, page))
    _action, fields = form(look(client, page))
    return [
        client.post(
            action or page, data={**fields, "address": f"{tag}{number}@new.example"}, **from_(each)
        ).status_code
        for number, each in enumerate(addresses)
    ]


def confirmed_from(client: FlaskClient, address: str, host: Guest, *players: Guest) -> str:
    """Request a game and confirm it on its organiser's page, from an address; return the game's id."""
    with engine.transaction() as session:
        people.get_or_create(session, host.address, host.name, NOW).accepted = True
    game_id = create.create_game(wish(organiser=host, players=players or (BOB, CHARLIE)), engine.utc_now())
    path = f"/o/{token('organise', host, game_id, engine.utc_now())}"
    _action, fields = form(look(client, path), do="confirm")
    assert client.post(path, data=fields, **from_(address)).status_code == 303
    return game_id


def invitations_to(game_id: str) -> list[str]:
    with engine.reading() as session:
        of_game = (Mail.game_id == game_id, Mail.kind.in_(mail_kinds.INVITATIONS))
        return list(session.scalars(select(Mail.kind).where(*of_game).order_by(Mail.id)))


def to_strangers() -> int:
    """Return how many emails were queued to addresses that nobody has confirmed."""
    with engine.reading() as session:
        query = select(func.count(Mail.id)).join(Person, Person.id == Mail.person_id)
        return session.scalar(query.where(~Person.accepted)) or 0


# ---- few networks use nothing up for others ----


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a fifth of the emails be enough: each limit in the same proportion to the others."""
    monkeypatch.setattr(notify, "FROM_NETWORKS", Limits(networks=(6, 8, 10), share=2))
    monkeypatch.setattr(notify, "INVITATIONS_AN_HOUR", 60)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    "networks",
    [
        [f"2001:db8:1:{n:x}::1" for n in range(10)],
        [f"2001:db8:{n:x}:1::1" for n in range(1, 11)],
        [f"203.0.113.{n}" for n in range(10)],
    ],
)
def test_a_few_networks_neither_close_the_door_nor_hold_invitations(
    client: FlaskClient, networks: list[str]
) -> None:
    page = open_table()
    tried = newcomers(client, page, [each for each in networks for _ in range(7)], "n")
    assert 429 in tried
    wide = {each.rpartition(".")[0] or ":".join(each.split(":")[:3]) for each in networks}
    assert tried.count(200) <= notify.FROM_NETWORKS.networks[-1] * len(wide)
    assert newcomers(client, page, [ELSEWHERE], "u") == [200]
    assert invitations_to(confirmed_from(client, ELSEWHERE, ALICE)) == ["invite", "invite"]


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(("step", "level"), [(1, 1), (256, 2)])
def test_ten_networks_of_one_attacker_are_one_attacker(client: FlaskClient, step: int, level: int) -> None:
    tried = newcomers(
        client, open_table(), [f"2001:db8:1:{n * step:x}::1" for n in range(10) for _ in range(2)], "n"
    )
    assert tried.count(200) == notify.FROM_NETWORKS.networks[level]


def test_when_all_are_too_many_an_organiser_waits_until_the_hour_is_over(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch, still: time_machine.Traveller
) -> None:
    monkeypatch.setattr(notify, "INVITATIONS_AN_HOUR", 40)
    newcomers(client, open_table(), [f"203.0.{n}.1" for n in range(4) for _ in range(10)], "n")
    still.shift(20 * MINUTE)
    game_id = confirmed_from(client, ELSEWHERE, ALICE)
    assert invitations_to(game_id) == ["held", "held"]
    assert not to_bob(send_waiting(NOW + 59 * MINUTE))
    assert to_bob(send_waiting(NOW + HOUR))


def to_bob(sent: Iterable[Any]) -> list[Any]:
    return [message for message in sent if BOB.address in message["To"]]


def test_an_organiser_whose_invitations_were_accepted_keeps_a_share(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch, still: time_machine.Traveller
) -> None:
    monkeypatch.setattr(notify, "INVITATIONS_AN_HOUR", 40)
    earlier = confirmed_from(client, HERE, ALICE, CHARLIE, DAPHNE)
    invitations.accept(token("invite", CHARLIE, earlier, NOW), "Charlie", "", NOW)
    still.shift(2 * HOUR)
    page = open_table()
    newcomers(client, page, [HERE] * 60, "own")
    newcomers(client, page, [f"203.0.{n}.1" for n in range(6) for _ in range(10)], "n")
    assert newcomers(client, page, [ELSEWHERE], "u") == [429]
    game_id = confirmed_from(client, HERE, ALICE, BOB, ZOE)
    assert invitations_to(game_id) == ["invite", "invite"]
    unproven = confirmed_from(client, ELSEWHERE, Guest("Yan", "yan@example.org"), BOB, ZOE)
    assert invitations_to(unproven) == ["held", "held"]


def test_what_one_network_causes_waits_hour_by_hour(client: FlaskClient) -> None:
    hosts = [Guest(f"Host {n}", f"host{n}@spam.example") for n in range(10)]
    for n, host in enumerate(hosts):
        confirmed_from(
            client, HERE, host, *(Guest(f"V {n} {m}", f"v{n}-{m}@victim.example") for m in range(5))
        )
    assert len(mails("invite")) == notify.FROM_NETWORKS.networks[0]
    waits = [mail.not_before for mail in mails("held")]
    assert max(map(waits.count, waits)) <= notify.FROM_NETWORKS.networks[0]
    assert {at - NOW for at in waits} == {HOUR}


def test_a_reminder_counts_for_whoever_caused_the_invitation(
    client: FlaskClient, still: time_machine.Traveller
) -> None:
    game_id = confirmed_from(client, HERE, ALICE)
    still.shift(2 * timedelta(days=1))
    newcomers(client, open_table(), [HERE] * 30, "n")
    invitations.send_invitation_reminders(engine.utc_now())
    assert invitations_to(game_id) == ["invite", "invite", "held", "held"]


# ---- every email to a stranger counts ----


@pytest.mark.usefixtures("few")
def test_one_machine_reaches_few_strangers_with_its_words(client: FlaskClient) -> None:
    page = look(client, "/new")
    filled = form(page, plays="yes")[1] | {"players": "a@example.org\nb@example.org"}
    told = set()
    for number in range(20):
        fields = filled | {
            "name": "Cheap watches",
            "title": f"Buy {number}",
            "address": f"s{number}@x.example",
        }
        told.add(client.post("/new", data=fields, **from_(HERE)).status_code)
    table = client.post("/play", data={"game": "byzantium"}, **from_(HERE)).headers["Location"]
    for number in range(20):
        answer = client.post(f"{table}/keep", data={"address": f"k{number}@x.example"}, **from_(HERE))
        told.add(answer.status_code)
    assert told == {303, 429}
    assert to_strangers() == notify.FROM_NETWORKS.networks[0]
    assert "Your network has requested too many emails" in answer.text
    assert (
        client.post(
            "/new", data=filled | {"name": "Zoe", "address": ZOE.address}, **from_(ELSEWHERE)
        ).status_code
        == 303
    )
    assert len(mails("confirm", ZOE)) == 1


def test_emails_that_keep_a_game_count_by_themselves(client: FlaskClient) -> None:
    table = client.post("/play", data={"game": "byzantium"}, **from_(HERE)).headers["Location"]
    told = [
        client.post(f"{table}/keep", data={"address": f"k{number}@x.example"}, **from_(HERE)).status_code
        for number in range(notify.FROM_NETWORKS.networks[0] + 2)
    ]
    assert len(mails("keep")) == notify.FROM_NETWORKS.networks[0]
    assert told[-2:] == [429, 429]


def test_games_and_keeping_them_wait_while_all_are_too_many(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notify, "INVITATIONS_AN_HOUR", 20)
    newcomers(client, open_table(), [f"203.0.{n}.1" for n in range(2) for _ in range(10)], "n")
    create.create_game(wish(organiser=ZOE), NOW)
    [mail] = mails("confirm", ZOE)
    assert mail.not_before == NOW + HOUR
    assert "confirm:" + (mail.game_id or "") not in {key for key, how in statuses().items() if how == "sent"}
    send_waiting(NOW + HOUR)
    assert [each.status for each in mails("confirm", ZOE)] == ["sent"]


def test_somebody_who_is_signed_in_asks_for_games_of_their_own(client: FlaskClient) -> None:
    invited(NOW, players=(), bots=("greedy", "greedy"))
    sign_in(client, ALICE.address)
    newcomers(app_client(client), open_table(), ["127.0.0.1"] * 40, "n")
    filled = form(look(client, "/new"), plays="yes")[1] | {"players": "a@example.org\nb@example.org"}
    assert client.post("/new", data=filled).status_code == 303


def app_client(client: FlaskClient) -> FlaskClient:
    """Return another browser."""
    return client.application.test_client()


def test_a_kind_of_email_counts_unless_it_says_otherwise(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notify, "INVITATIONS_AN_HOUR", 3)
    page = open_table()
    stranger = known_by_name("stranger@x.example")
    for number in range(3):
        queue("turn", stranger, f"turn:{number}")
    assert newcomers(client, page, [ELSEWHERE], "u") == [200]
    for number in range(2):
        queue("brand-new", stranger, f"new:{number}")
    assert newcomers(client, page, [ELSEWHERE], "w") == [429]


def known_by_name(address: str) -> int:
    with engine.transaction() as session:
        return people.get_or_create(session, address, "S", NOW).id


@pytest.mark.usefixtures("app")
def test_each_kind_of_email_is_declared() -> None:
    parts = {
        "blocks",
        "due",
        "entry",
        "fixed",
        "foot",
        "head",
        "highlights",
        "html",
        "podium",
        "position",
        "ranking",
    }
    parts |= {"seats", "text", "worth"}
    found = {path.stem for path in Path(TEMPLATES, "mail").glob("*.html")}
    assert found - parts == set(mail_kinds.MailKind)


@pytest.mark.usefixtures("few")
def test_no_visitor_learns_whether_an_address_is_known(client: FlaskClient) -> None:
    page, room = open_table(), []
    known(BOB, NOW - 3 * HOUR)
    for number, address in enumerate((BOB.address, "nobody@x.example")):
        here = f"203.0.{number}.1"
        for _ in range(3):
            client.post("/sign-in", data={"address": address}, **from_(here))
            _action, fields = form(look(client, page))
            client.post(f"{page}/sign-in", data={**fields, "address": address}, **from_(here))
        room.append(newcomers(client, page, [here] * 10, f"r{number}-").count(200))
    assert room[0] == room[1]


def test_networks_are_forgotten(client: FlaskClient) -> None:
    client.post("/play", data={"game": "byzantium"}, **from_(HERE))
    newcomers(client, open_table(), [HERE], "n")
    [mail] = [each for each in mails("signin") if each.origin]
    with engine.reading() as session:
        game = session.scalars(select(Game).where(Game.trial)).one()
    assert mail.origin == game.origin
    assert mail.origin is not None
    assert len(mail.origin.split()) == 2
    assert HERE not in mail.origin
    send_waiting(NOW)
    outbox.purge(NOW + outbox.ORIGIN_RETENTION + MINUTE)
    assert [(each.origin, each.counts_at) for each in mails("signin")] == [(None, None)]
    visitors.end_old(NOW + visitors.LIFETIME)
    assert game_of(game.id).origin is None


# ---- a hall, and visitors' games ----


def start(client: FlaskClient, address: str) -> int:
    return client.post("/play", data={"game": "byzantium"}, **from_(address)).status_code


@pytest.fixture
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let trials of this test be small in number, not in time."""
    monkeypatch.setattr(visitors, "FROM_NETWORKS", Limits(networks=(10, 12, 15), share=2))
    monkeypatch.setattr(visitors, "MOST_AN_HOUR", 50)


def test_a_hall_behind_one_address_plays(client: FlaskClient) -> None:
    assert {start(client, HERE) for _ in range(40)} == {303}


@pytest.mark.usefixtures("cheap")
def test_twenty_one_addresses_do_not_close_it(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visitors, "FROM_NETWORKS", Limits(networks=(3, 4, 5), share=2))
    for n in range(21):
        while start(client, f"203.0.{n}.1") == 303:
            pass
    assert start(client, ELSEWHERE) == 303


@pytest.mark.usefixtures("cheap")
def test_who_leaves_makes_room_for_the_next(client: FlaskClient) -> None:
    tables = [
        client.post("/play", data={"game": "byzantium"}, **from_(HERE)).headers["Location"] for _ in range(10)
    ]
    assert start(client, HERE) == 429
    assert start(client, "203.0.113.10") == 303
    assert client.post(f"{tables[0]}/leave", data={"do": "leave"}, **from_(HERE)).status_code == 303
    assert start(client, HERE) == 303
    assert start(client, HERE) == 429


@pytest.mark.usefixtures("cheap")
def test_starting_and_leaving_for_ever_ends(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visitors, "STARTED", Limits(networks=(5, 6, 7), share=0))
    for _ in range(5):
        table = client.post("/play", data={"game": "byzantium"}, **from_(HERE)).headers["Location"]
        client.post(f"{table}/leave", data={"do": "leave"}, **from_(HERE))
    assert start(client, HERE) == 429


# ---- an owner's own links ----


def ask_hourly(client: FlaskClient, still: time_machine.Traveller, hours: int = 24) -> None:
    """Ask as a stranger for sign-in links to Alice's address, four times an hour."""
    for _ in range(hours):
        for _again in range(4):
            assert client.post("/sign-in", data={"address": ALICE.address}).status_code == 200
        still.shift(HOUR)


def test_a_stranger_causes_few_sign_in_emails_a_day(
    client: FlaskClient, still: time_machine.Traveller
) -> None:
    begun(3)
    ask_hourly(client, still)
    assert len(mails("signin", ALICE)) == login.LINKS_PER_DAY
    still.shift(HOUR)
    ask_hourly(client, still, 1)
    assert len(mails("signin", ALICE)) > login.LINKS_PER_DAY


@pytest.mark.parametrize("signed_out", [True, False])
def test_a_browser_that_was_signed_in_as_the_owner_gets_links_all_the_same(
    app: Flask, client: FlaskClient, still: time_machine.Traveller, signed_out: bool
) -> None:
    begun(3)
    sign_in(client, ALICE.address)
    if signed_out:
        _action, fields = form(look(client, "/account"), do="end-all")
        client.post("/account/sessions", data=fields)
    ask_hourly(app.test_client(), still, 12)
    before = len(mails("signin", ALICE))
    assert client.post("/sign-in", data={"address": ALICE.address}).status_code == 200
    assert len(mails("signin", ALICE)) == before + 1
    client.post("/sign-in", data={"address": BOB.address})
    ask_hourly(app.test_client(), still, 1)
    assert len(mails("signin", ALICE)) == before + 1


def test_the_page_of_a_seat_leads_to_a_link_all_the_same(
    app: Flask, client: FlaskClient, still: time_machine.Traveller
) -> None:
    game = begun(3)
    ask_hourly(client, still, 12)
    before = len(mails("signin", ALICE))
    base = app.config["BYZANZ"].base_url
    page = look(client, "/sign-in", headers={"Referer": f"{base}/t/{game.tokens[0]}?played=3"})
    _action, fields = form(page)
    assert fields["token"] == game.tokens[0]
    client.post("/sign-in", data=fields | {"address": BOB.address})
    client.post("/sign-in", data={"address": ALICE.address, "token": game.tokens[1]})  # with Bob's link
    assert len(mails("signin", ALICE)) == before
    client.post("/sign-in", data=fields | {"address": ALICE.address})
    assert len(mails("signin", ALICE)) == before + 1


@pytest.mark.parametrize("referer", ["", "https://evil.example/t/{}", "{base}/g/{}", "{base}/t/short"])
def test_no_other_page_brings_a_token(app: Flask, client: FlaskClient, referer: str) -> None:
    where = referer.replace("{base}", app.config["BYZANZ"].base_url).replace("{}", "a" * 26)
    page = look(client, "/sign-in", headers={"Referer": where})
    assert "token" not in form(page)[1]


def test_an_old_link_of_ones_own_brings_a_new_one_all_the_same(
    client: FlaskClient, still: time_machine.Traveller
) -> None:
    game = begun(3)
    ask_hourly(client, still, 12)
    revoke(game)
    client.post("/link", data={"token": game.tokens[0]})
    assert len(mails("fresh", ALICE)) == 1


def test_an_old_sign_in_link_of_ones_own_brings_a_new_one_all_the_same(
    client: FlaskClient, still: time_machine.Traveller
) -> None:
    begun(3)
    client.post("/sign-in", data={"address": ALICE.address})
    [mail] = mails("signin", ALICE)
    ask_hourly(client, still, 12)
    before = len(mails("signin", ALICE))
    client.post("/link", data={"token": sign_in_token(mail)})
    assert len(mails("signin", ALICE)) == before + 1


def revoke(game: Table) -> None:
    with engine.transaction() as session:
        links.revoke(session, game.people[0], game.id, engine.utc_now())


def test_the_cookie_that_knows_a_browser_names_nobody(client: FlaskClient) -> None:
    begun(3)
    sign_in(client, ALICE.address)
    cookie = client.get_cookie("known")
    assert cookie is not None
    assert re.fullmatch("[0-9a-f]{32}", cookie.value)
    assert (cookie.http_only, cookie.secure, cookie.same_site) == (True, True, "Lax")


def test_a_deleted_account_is_forgotten_by_its_browser(client: FlaskClient) -> None:
    begun(3)
    sign_in(client, ALICE.address)
    _action, fields = form(look(client, "/account/delete"), do="delete")
    client.post("/account/delete", data=fields | {"sure": "yes"})
    assert client.get_cookie("known") is None
