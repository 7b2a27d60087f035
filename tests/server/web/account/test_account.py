"""Signing in by email, the account, and the unsubscribe link."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select
from werkzeug.test import TestResponse

from server import create_app
from server.accounts import login
from server.lobby import invitations
from server.store import engine, links, people
from server.store.models import Absence, Game, Link, LinkPurpose, Person, Seat, Turn
from tests.conftest import NOW, Table, settings
from tests.support.lobby import (
    ALICE,
    BOB,
    CHARLIE,
    DAPHNE,
    everything,
    invited,
    mails,
    person,
    seats_of,
    token,
)
from tests.support.neighbour_game import NEIGHBOUR
from tests.support.pages import form, look, read, send, sign_in, sign_in_token


def me(address: str = "alice@example.org") -> Person:
    with engine.reading() as session:
        return session.query(Person).filter_by(email=address).one()


@pytest.fixture
def alice(client: FlaskClient) -> FlaskClient:
    """Return Alice's browser, signed in; she plays against two bots."""
    invited(NOW, players=(), bots=("greedy", "greedy"))
    sign_in(client, "alice@example.org")
    return client


# ---- signing in ----


@pytest.mark.empty_database  # whom the server knows is what it is about
def test_known_and_unknown_addresses_get_the_same_answer_to_the_byte(client: FlaskClient) -> None:
    invited(NOW)
    addresses = ["alice@example.org", "nobody@example.org", "ALICE@example.org", "bob@example.org"]
    answers = [client.post("/sign-in", data={"address": address}) for address in addresses * 3]
    assert {(answer.status_code, answer.data, str(answer.headers)) for answer in answers} == {
        (200, answers[0].data, str(answers[0].headers))
    }
    assert len(mails("signin", ALICE)) == len(mails("signin")) == 3


def test_what_is_no_address_is_named_and_kept(client: FlaskClient) -> None:
    page = read(client.post("/sign-in", data={"address": "alice at home"}))
    assert page.status == 422
    assert form(page)[1]["address"] == "alice at home"
    assert read(client.post("/sign-in")).status == 422


@pytest.mark.empty_database
def test_a_domain_that_can_mean_two_is_shown_before_anything_is_mailed(client: FlaskClient) -> None:
    with engine.transaction() as session:
        stranger = people.get_or_create(session, "ann@strasse.de", "Stranger", NOW)
        stranger.moderator = True  # may sign in
    page = read(client.post("/sign-in", data={"address": "ann@straße.de"}))
    assert page.status == 422
    assert "ann@xn--strae-oqa.de" in page.text
    assert "ann@strasse.de" in page.text
    assert not mails("signin")


def test_looking_at_the_link_signs_nobody_in(client: FlaskClient) -> None:
    invited(NOW)
    login.mail_sign_in(ALICE.address, engine.utc_now())
    [mail] = mails("signin")
    path = f"/s/{sign_in_token(mail)}"
    before = everything()
    for _ in range(10):
        assert client.get(path).status_code == 200
        client.head(path)
    assert everything() == before
    assert "alice@example.org" not in look(client, "/").html
    assert client.get("/account").status_code == 303


def test_the_button_signs_in_once(client: FlaskClient) -> None:
    invited(NOW)
    login.mail_sign_in(ALICE.address, engine.utc_now())
    path = f"/s/{sign_in_token(mails('signin')[0])}"
    answer = send(client, path)
    assert answer.headers["Location"] == "/"
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "Secure" in cookie
    assert "SameSite=Lax" in cookie
    assert look(client, "/account").status == 200
    other = client.application.test_client()
    assert look(other, path).status == 404


def test_a_stranger_s_page_cannot_sign_somebody_in(client: FlaskClient) -> None:
    invited(NOW)
    login.mail_sign_in(ALICE.address, engine.utc_now())
    path = f"/s/{sign_in_token(mails('signin')[0])}"
    assert read(client.post(path)).status == 400
    assert client.get("/account").status_code == 303
    assert send(client, path).status_code == 303


def test_an_expired_link_signs_nobody_in(client: FlaskClient) -> None:
    invited(NOW)
    login.mail_sign_in(ALICE.address, engine.utc_now() - timedelta(minutes=61))
    path = f"/s/{sign_in_token(mails('signin')[0])}"
    page = look(client, path)
    assert page.status == 404
    action, filled = form(page)
    assert client.post(action or "", data=filled).status_code == 200
    assert len(mails("signin")) == 2


def test_signing_out_forgets(alice: FlaskClient) -> None:
    assert alice.post("/sign-out", data={"csrf_token": form_token(alice)}).status_code == 303
    assert alice.get("/account").status_code == 303


def copy_of(client: FlaskClient) -> FlaskClient:
    """Return another browser with the same cookie."""
    other = client.application.test_client()
    stolen = client.get_cookie("byzanz")
    assert stolen is not None
    other.set_cookie("byzanz", stolen.value, secure=stolen.secure)
    return other


def test_invitations_are_refused_and_allowed_on_the_account_page(alice: FlaskClient) -> None:
    for do, refused in (("refuse", True), ("allow", False)):
        assert send(alice, "/account", do=do).status_code == 303
        assert me().no_invitations is refused
        assert ("We send you no invitations" in look(alice, "/account").text) == refused


def test_a_copied_cookie_is_worth_nothing_after_signing_out(alice: FlaskClient) -> None:
    thief = copy_of(alice)
    assert look(thief, "/account").status == 200
    alice.post("/sign-out", data={"csrf_token": form_token(alice)})
    assert thief.get("/account").status_code == 303


def test_a_cookie_of_an_earlier_version_signs_nobody_in(client: FlaskClient, alice: FlaskClient) -> None:
    assert alice is client
    alice.post("/sign-out", data={"csrf_token": form_token(alice)})
    with client.session_transaction() as cookie:
        cookie["person"] = me().id
    assert client.get("/account").status_code == 303
    assert "Alice" not in look(client, "/").text


def test_sessions_are_listed_and_ended_one_by_one_or_all_at_once(
    alice: FlaskClient,
) -> None:
    phone, tablet, bob = (alice.application.test_client() for _ in range(3))
    agent = "Mozilla/5.0 (Android 15; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0"
    phone.environ_base["HTTP_USER_AGENT"] = agent
    sign_in(phone, ALICE.address)
    sign_in(tablet, ALICE.address)
    invited(NOW, organiser=BOB, players=(), bots=("greedy", "greedy"))
    sign_in(bob, BOB.address)
    page = look(alice, "/account")
    assert page.text.count("Last used") == 3
    assert page.text.count("this browser") == 1
    assert "Firefox, Android" in page.text
    assert "Unknown browser" in page.text
    with engine.reading() as session:
        ids = {row.browser: row.id for row in login.sessions_of(session, me().id)}
        [foreign] = login.sessions_of(session, me(BOB.address).id)
    for number, status in ((foreign.id, 200), (ids["Firefox, Android"], 303)):
        fields = {"csrf_token": form_token(alice), "do": "end", "session": str(number)}
        assert alice.post("/account/sessions", data=fields).status_code == 303
        assert phone.get("/account").status_code == status
    assert [look(browser, "/account").status for browser in (alice, tablet, bob)] == [200] * 3
    nonsense = {"csrf_token": form_token(alice), "do": "end", "session": "all"}
    assert alice.post("/account/sessions", data=nonsense).status_code == 400
    everywhere = {"csrf_token": form_token(alice), "do": "end-all"}
    assert alice.post("/account/sessions", data=everywhere).status_code == 303
    assert [browser.get("/account").status_code for browser in (alice, tablet, bob)] == [303, 303, 200]


def test_signing_in_again_ends_the_session_before_and_those_long_unused(alice: FlaskClient) -> None:
    thief = copy_of(alice)
    other = alice.application.test_client()
    sign_in(other, ALICE.address)
    with engine.transaction() as session:
        oldest = min(login.sessions_of(session, me().id), key=lambda row: row.id)
        newest = max(login.sessions_of(session, me().id), key=lambda row: row.id)
        oldest.used_at = engine.utc_now() - timedelta(days=89)
        newest.used_at = engine.utc_now() - timedelta(days=91)
    sign_in(alice, ALICE.address)
    assert thief.get("/account").status_code == 303
    with engine.reading() as session:
        [left] = login.sessions_of(session, me().id)
    assert left.digest not in (oldest.digest, newest.digest)


def test_the_last_use_is_noted_once_an_hour(alice: FlaskClient) -> None:
    def used(ago: timedelta) -> timedelta:
        before = engine.utc_now() - ago
        with engine.transaction() as session:
            login.sessions_of(session, me().id)[0].used_at = before
        look(alice, "/account")
        with engine.reading() as session:
            return login.sessions_of(session, me().id)[0].used_at - before

    assert used(timedelta(minutes=58)) == timedelta(0)
    assert used(timedelta(minutes=62)) >= timedelta(minutes=62)


def form_token(client: FlaskClient) -> str:
    return form(look(client, "/account"), do="save")[1]["csrf_token"]


# ---- the account ----


def test_name_and_time_zone_are_kept(alice: FlaskClient) -> None:
    typed = {"name": "  Alicia  the   Great ", "time_zone": "Europe/Amsterdam"}
    assert send(alice, "/account", typed, do="save").status_code == 303
    assert (me().name, me().time_zone) == ("Alicia the Great", "Europe/Amsterdam")
    assert send(alice, "/account", {"time_zone": ""}, do="save").status_code == 303
    assert me().time_zone is None


@pytest.mark.parametrize("typed", [{"time_zone": "Asia/Tokyo"}, {"quiet_from": "23:00", "quiet_to": "07:00"}])
def test_a_new_time_zone_or_new_quiet_hours_move_the_next_digest(
    alice: FlaskClient, typed: dict[str, str]
) -> None:
    with engine.transaction() as session:
        session.get_one(Person, me().id).digest_at = NOW + timedelta(days=9999)
    assert send(alice, "/account", typed, do="save").status_code == 303
    assert me().digest_at <= engine.utc_now()


MISTAKES = [
    ({"name": ""}, "name-wrong"),
    ({"name": "a\nb"}, "name-wrong"),
    ({"name": "evil.example"}, "name-wrong"),
    ({"time_zone": "Moon/Base"}, "time_zone-wrong"),
    ({"time_zone": "\0"}, "time_zone-wrong"),
    ({"quiet_from": "23:00"}, "quiet_to-wrong"),
    ({"quiet_to": "07:00"}, "quiet_from-wrong"),
    ({"quiet_from": "24:00", "quiet_to": "07:00"}, "quiet_from-wrong"),
    ({"quiet_from": "23:00", "quiet_to": "soon\0"}, "quiet_to-wrong"),
    ({"quiet_from": "23:00", "quiet_to": "09:01"}, "quiet_to-wrong"),
    ({"quiet_from": "23:00", "quiet_to": "23:00"}, "quiet_to-wrong"),
]


def test_the_page_says_that_it_has_saved_and_not_after_a_mistake(alice: FlaskClient) -> None:
    assert "Saved." not in look(alice, "/account").text
    answer = send(alice, "/account", {"name": "Alicia"}, do="save")
    assert answer.status_code == 303
    assert "Saved." in look(alice, answer.location).text
    mistake = read(send(alice, answer.location, {"name": ""}, do="save"))
    assert (mistake.status, "Saved." in mistake.text) == (422, False)
    assert "Saved." not in look(alice, send(alice, answer.location, do="mute-all").location).text


def test_a_mistake_changes_nothing(alice: FlaskClient) -> None:
    before = everything()
    for typed, wrong in MISTAKES:
        page = read(send(alice, "/account", typed, do="save"))
        assert page.status == 422
        assert f'id="{wrong}"' in page.html
        assert everything() == before


def test_one_button_saves_all_settings_or_none(alice: FlaskClient) -> None:
    before = everything()
    typed = {"name": "Alicia", "quiet_from": "23:00", "quiet_to": "07:00", "talk": "never"}
    typed |= {"cadence": "digest", "handle": "-", "shown": "all"}
    refused = read(send(alice, "/account", typed, do="save"))
    assert (refused.status, 'id="handle-wrong"' in refused.html) == (422, True)
    assert 'value="digest" checked' in refused.html
    assert everything() == before
    assert send(alice, "/account", typed | {"handle": "Solo"}, do="save").status_code == 303
    assert (me().name, me().quiet_from, me().handle, me().shown) == ("Alicia", 1380, "Solo", "all")
    assert (me().cadence, me().talk) == ("digest", "never")
    page = look(alice, "/account")
    assert page.html.count(' primary"') == 1
    fields = {"do": "save", "name": "Alice", "csrf_token": form(page, do="save")[1]["csrf_token"]}
    assert alice.post("/account", data=fields | {"cadence": "hourly"}).status_code == 400
    assert alice.post("/account", data=fields).status_code == 303
    assert (me().name, me().handle, me().cadence, me().talk) == ("Alice", "Solo", "digest", "never")


def test_quiet_hours_are_kept_and_shown(alice: FlaskClient) -> None:
    assert send(alice, "/account", {"quiet_from": "21:30", "quiet_to": "07:30"}, do="save").status_code == 303
    assert (me().quiet_from, me().quiet_to) == (21 * 60 + 30, 7 * 60 + 30)
    _, shown = form(look(alice, "/account"), do="save")
    assert (shown["quiet_from"], shown["quiet_to"]) == ("21:30", "07:30")
    assert send(alice, "/account", {"quiet_from": "", "quiet_to": ""}, do="save").status_code == 303
    assert me().quiet_from is None


def day(ahead: int) -> str:
    return (
        (engine.utc_now() + timedelta(days=ahead)).astimezone(ZoneInfo("Asia/Kathmandu")).date().isoformat()
    )


def away(browser: FlaskClient, first: int, last: int) -> TestResponse:
    return send(browser, "/account", {"away_from": day(first), "away_to": day(last)}, do="away")


def test_absences_are_entered_listed_and_taken_back(alice: FlaskClient) -> None:
    assert "Set your time zone first" in away(alice, 10, 12).text
    send(alice, "/account", {"time_zone": "Asia/Kathmandu"}, do="save")
    assert away(alice, 10, 12).status_code == 303
    assert away(alice, 0, 0).status_code == 303
    with engine.reading() as session:
        today, later = session.scalars(select(Absence).order_by(Absence.from_at))
    assert (later.from_at.hour, later.from_at.minute) == (18, 15)  # midnight in Kathmandu
    assert later.to_at - later.from_at == timedelta(days=3)
    page = look(alice, "/account")
    assert page.html.count('value="back"') == 1  # today's has begun
    assert send(alice, "/account", do="back").status_code == 303
    csrf = form_token(alice)
    for number in (today.id, 0, 10**8):
        alice.post("/account", data={"do": "back", "absence": str(number), "csrf_token": csrf})
    with engine.reading() as session:
        assert [row.id for row in session.scalars(select(Absence))] == [today.id]


AWAY = [
    ((-1, 3), "away_from", "today at the earliest"),
    ((5, 4), "away_to", "before the first"),
    ((800, 801), "away_to", "two years ahead"),
    ((20, 54), "away_to", "36 days away within a year"),
    ((12, 14), "away_from", "already entered some of these days"),
]


def test_an_absence_that_cannot_be_says_why_and_changes_nothing(alice: FlaskClient) -> None:
    send(alice, "/account", {"time_zone": "Asia/Kathmandu"}, do="save")
    assert away(alice, 14, 14).status_code == 303
    before = everything()
    for (first, last), field, why in AWAY:
        page = read(away(alice, first, last))
        assert (page.status, f'id="{field}-wrong"' in page.html) == (422, True), why
        assert why in page.text
        assert everything() == before
    for text in ("", "tomorrow", "2026-13-01", "2026-02-30", "99999-01-01", "\0"):
        page = read(send(alice, "/account", {"away_from": text, "away_to": day(3)}, do="away"))
        assert page.status == 422
        assert everything() == before


def test_mails_of_one_game_and_all_are_switched_off_and_on(alice: FlaskClient) -> None:
    with engine.reading() as session:
        game_id = session.query(Game.id).filter(Game.id != NEIGHBOUR).scalar()
    assert send(alice, "/account", do="mute", game=game_id).status_code == 303
    assert seats_of(game_id)[0].silent
    with engine.reading() as session:
        assert session.get_one(Turn, (game_id, 0)).started_at is not None
    assert send(alice, "/account", do="unmute", game=game_id).status_code == 303
    assert not seats_of(game_id)[0].silent
    assert send(alice, "/account", do="mute-all").status_code == 303
    assert me().silent
    assert send(alice, "/account", do="unmute-all").status_code == 303
    assert not me().silent


NONSENSE = [
    ({}, 400),
    ({"do": "burn"}, 400),
    ({"do": "back"}, 400),
    ({"do": "back", "absence": "²"}, 400),
    ({"do": "away"}, 422),
    ({"do": "mute"}, 400),
    ({"do": "mute", "game": "a\0b"}, 400),
    ({"do": "mute", "game": "unknown"}, 404),
]


def test_nonsense_changes_nothing(alice: FlaskClient) -> None:
    csrf = form_token(alice)
    before = everything()
    for sent, status in NONSENSE:
        assert read(alice.post("/account", data=sent | {"csrf_token": csrf})).status == status
        assert everything() == before


def test_every_post_of_somebody_signed_in_needs_the_page_s_token(alice: FlaskClient) -> None:
    before = everything()
    for path in ("/account", "/sign-out"):
        for sent in ({}, {"do": "mute-all"}, {"do": "save", "name": "Eve", "csrf_token": "forged"}):
            assert read(alice.post(path, data=sent)).status == 400
    assert everything() == before
    assert look(alice, "/account").status == 200


def test_a_language_that_is_not_offered_is_named_and_a_chosen_one_can_be_given_up(
    alice: FlaskClient,
) -> None:
    csrf = form_token(alice)
    typed = {"do": "save", "name": "Alice", "csrf_token": csrf}
    for language, status, kept in (("nl", 303, "nl"), ("xx", 422, "nl"), ("", 303, None)):
        answer = alice.post("/account", data=typed | {"language": language})
        assert (answer.status_code, me().language) == (status, kept)
        assert ("language-wrong" in answer.text) == (status == 422)


def rename_game(game: Table, name: str) -> None:
    """Give a game another name."""
    with engine.transaction() as session:
        session.get_one(Game, game.id).name = name


def test_the_account_shows_ones_own_feed_games_and_switches_only(
    client: FlaskClient, table: Callable[..., Table]
) -> None:
    rename_game(table(3, "over"), "Long over")
    rename_game(table(3, "on"), "Still on")
    rename_game(table(3, "off"), "Called off")
    invited(NOW, name="About to begin")
    invited(NOW, organiser=DAPHNE, players=(BOB, CHARLIE), name="Of others")
    with engine.transaction() as session:
        session.get_one(Game, "over").status = "over"
        session.get_one(Game, "off").status = "cancelled"
        session.get_one(Game, "on").created_at = NOW - timedelta(days=1)
        session.get_one(Seat, ("on", 1)).silent = True
    sign_in(client, ALICE.address)
    login.renew_feed(person(BOB, NOW), NOW)
    page = look(client, "/account")
    assert "/feed/" not in page.html
    names = ("Long over", "Still on", "Called off", "About to begin", "Of others")
    shown = sorted((page.text.index(name), name) for name in names if name in page.text)
    assert [name for _, name in shown] == ["About to begin", "Still on"]  # the newest first
    assert "no emails: your clock starts" not in page.text
    for _ in range(2):
        login.renew_feed(person(ALICE, NOW), NOW)
    with engine.reading() as session:
        mine = (Link.person_id == me().id, Link.purpose == "feed", Link.revoked_at.is_(None))
        (own,) = links.select_rows(session, *mine)
        address = links.url(own)
    with engine.transaction() as session:
        links.issue(session, LinkPurpose.SEAT, own.person_id, NOW, "on")
    assert f"{address}.ics" in look(client, "/account").html
    with engine.transaction() as session:
        session.get_one(Link, own.id).revoked_at = NOW
    assert "/feed/" not in look(client, "/account").html


# ---- unsubscribing ----


def test_one_click_of_a_mail_reader_stops_the_game_s_mails(client: FlaskClient) -> None:
    game_id, _host = invited(NOW, players=(), bots=("greedy", "greedy"))
    path = f"/u/{token('stop', ALICE, game_id, NOW)}"
    bare = client.application.test_client(use_cookies=False)
    answer = bare.post(
        path, data="List-Unsubscribe=One-Click", content_type="application/x-www-form-urlencoded"
    )
    assert answer.status_code == 200
    assert seats_of(game_id)[0].silent
    assert not me().silent
    page = read(answer)
    assert "no longer get emails about" in page.text
    assert bare.post(path, data=form(page, do="undo-game")[1]).status_code == 200
    assert not seats_of(game_id)[0].silent


def test_one_click_as_a_multipart_form_counts_too(client: FlaskClient) -> None:
    game_id, _host = invited(NOW, players=(), bots=("greedy", "greedy"))
    path = f"/u/{token('stop', ALICE, game_id, NOW)}"
    sent = {"List-Unsubscribe": "One-Click"}
    assert client.post(path, data=sent, content_type="multipart/form-data").status_code == 200
    assert seats_of(game_id)[0].silent


def test_the_page_offers_to_stop_everything_and_to_undo_it(client: FlaskClient) -> None:
    game_id, _host = invited(NOW)
    path = f"/u/{token('stop', BOB, game_id, NOW)}"
    assert read(send(client, path, do="all")).status == 200
    assert me("bob@example.org").silent
    assert not seats_of(game_id)[1].silent
    assert read(send(client, path, do="undo-all")).status == 200
    assert not me("bob@example.org").silent
    assert read(send(client, path, do="game")).status == 200
    assert seats_of(game_id)[1].silent


def test_the_page_is_about_this_game_and_this_person(
    client: FlaskClient, table: Callable[..., Table]
) -> None:
    rename_game(table(3, "one"), "One")
    rename_game(table(3, "two"), "Two")
    with engine.transaction() as session:
        session.get_one(Seat, ("one", 0)).silent = True
        session.get_one(Seat, ("two", 1)).silent = True
        for guest, values in ((ALICE, {"quiet_from": 22 * 60, "quiet_to": 6 * 60}), (BOB, {"silent": True})):
            found = people.get_or_create(session, guest.address, guest.name, NOW)
            for column, value in values.items():
                setattr(found, column, value)
    for guest, game_id, about, stopped, hour in (
        (ALICE, "one", "no longer get emails about “One”", False, "06:00"),
        (ALICE, "two", "You get emails about “Two”", False, "06:00"),
        (BOB, "one", "You get emails about “One”", True, None),
        (BOB, "two", "no longer get emails about “Two”", True, None),
        (CHARLIE, "one", "You get emails about “One”", False, "07:00"),
    ):
        page = look(client, f"/u/{token('stop', guest, game_id, NOW)}")
        assert about in page.text
        assert ("no emails from us except" in page.text) == stopped
        assert (f"At {hour}." in page.text) == (hour is not None)


def test_a_link_about_all_games_stops_everything_and_offers_no_game(client: FlaskClient) -> None:
    game_id, _host = invited(NOW)
    with engine.transaction() as session:
        bob = people.get_or_create(session, BOB.address, BOB.name, NOW).id
        path = f"/u/{links.token(links.link_for(session, LinkPurpose.STOP, bob, None, NOW))}"
    page = look(client, path)
    assert "emails about “" not in page.text
    for word in ("game", "undo-game"):
        assert client.post(path, data={"do": word}).status_code == 400
    assert not me(BOB.address).silent
    assert client.post(path, data={"List-Unsubscribe": "One-Click"}).status_code == 200
    assert me(BOB.address).silent
    assert not seats_of(game_id)[1].silent


def test_who_has_no_seat_any_more_can_stop_everything(client: FlaskClient) -> None:
    game_id, host = invited(NOW)
    path = f"/u/{token('stop', BOB, game_id, NOW)}"
    invitations.drop(host, 1, NOW)
    assert read(send(client, path, do="all")).status == 200
    assert me("bob@example.org").silent


def test_looking_or_a_wrong_word_stops_nothing(client: FlaskClient) -> None:
    game_id, host = invited(NOW)
    path = f"/u/{token('stop', BOB, game_id, NOW)}"
    before = everything()
    assert client.get(path).status_code == 200
    assert client.get(f"{path}?List-Unsubscribe=One-Click").status_code == 200
    assert read(client.post(path, data={"do": "burn"})).status == 400
    assert read(client.post(f"/u/{host}")).status == 404
    assert read(client.post("/u/nothing")).status == 404
    assert everything() == before


def test_a_person_without_address_cannot_be_signed_in_again(client: FlaskClient) -> None:
    number = person(ALICE, NOW)
    with engine.transaction() as session:
        session.get_one(Person, number).email = None
    login.mail_sign_in("alice@example.org", engine.utc_now())
    assert not mails("signin")
    assert client.post("/sign-in", data={"address": ""}).status_code == 422


def test_sign_in_is_limited_per_address_of_the_network(database_url: str) -> None:
    app = create_app(settings(database_url, rate_limits=True))
    with app.app_context():
        browser = app.test_client()
        statuses = [
            browser.post("/sign-in", data={"address": "x@example.org"}).status_code for _ in range(11)
        ]
        engine.db.session.remove()
        engine.db.engine.dispose()
    assert statuses == [200] * 10 + [429]
