"""Links: what a token opens, and when it stops working."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from server import play
from server.errors import NoSuchLink
from server.play.game import load
from server.store import engine, links, models, people
from server.store.models import LinkPurpose
from tests.conftest import NOW, Table

Begin = Callable[..., Table]


def test_a_token_is_26_small_letters_and_stored_nowhere(table: Begin) -> None:
    game = table(3)
    assert all(re.fullmatch(r"[a-z2-7]{26}", token) for token in game.tokens)
    assert len(set(game.tokens)) == 3
    with engine.reading() as session:
        for link in session.scalars(select(models.Link)):
            kept = f"{link.nonce.hex()} {link.digest} {link.nonce!r}"
            assert not any(token in kept for token in game.tokens)


def test_a_link_begins_with_the_address_of_the_settings(app: Flask, table: Begin) -> None:
    game = table(3)
    with app.test_request_context(headers={"Host": "evil.example"}), engine.reading() as session:
        link = links.find(session, LinkPurpose.SEAT, game.tokens[0], NOW)
        assert link is not None
        assert links.url(link) == f"https://byzanz.test/t/{game.tokens[0]}"


def test_a_token_opens_its_own_seat_and_purpose_only(table: Begin) -> None:
    game = table(3)
    with engine.reading() as session:
        place = links.seat_access(session, game.tokens[1], NOW)
        assert place is not None
        assert (place.game.id, place.seat.seat) == (game.id, 1)
        for purpose in ("stop", "invite", "organise", "signin"):
            assert links.find(session, LinkPurpose(purpose), game.tokens[1], NOW) is None


def test_an_address_opens_a_seat_only_with_a_token_of_its_own_purpose(app: Flask, table: Begin) -> None:
    game = table(3)
    app.config["BYZANZ"] = app.config["BYZANZ"].model_copy(update={"mail_domain": "byzanz.test"})
    with engine.transaction() as session:
        issued = {
            purpose: links.issue(session, LinkPurpose(purpose), game.people[0], NOW, game.id)
            for purpose in LinkPurpose
        }
        assert set(links.ADDRESSES.values()) | set(links.PATHS) == set(issued)
        for (way, meant), (purpose, link) in itertools.product(links.ADDRESSES.items(), issued.items()):
            found = links.address_access(session, f"{way}+{links.token(link)}", NOW)
            assert (found is not None) == (purpose == meant), (way, purpose)
        for way in ("", "bounce", "say", "reply", "PLAY"):
            for link in issued.values():
                assert links.address_access(session, f"{way}+{links.token(link)}", NOW) is None
        for way, meant in links.ADDRESSES.items():
            assert links.reply_address(issued[meant]) == f"{way}+{links.token(issued[meant])}@byzanz.test"


def test_no_link_but_those_for_moves_moves(table: Begin) -> None:
    game = table(3)
    for purpose in LinkPurpose:
        with engine.transaction() as session:
            link = links.issue(session, LinkPurpose(purpose), game.people[0], NOW, game.id)
        given: Any = {"now": NOW, "link_id": link.id}
        if purpose in ("seat", "reply"):
            play.place_order(game.id, 0, "pass this lot", **given)
            continue
        with pytest.raises(NoSuchLink):
            play.submit(game.id, 0, "pass", seen=1, request_id=purpose, **given)
        with pytest.raises(NoSuchLink):
            play.place_order(game.id, 0, "pass this lot", **given)
        with pytest.raises(NoSuchLink):
            play.withdraw_order(game.id, 0, None, **given)


@pytest.mark.parametrize("text", ["", "x", "a" * 26, "A" * 26, "a" * 27, "é" * 26, "a" * 25 + "\n", "../etc"])
def test_a_made_up_token_opens_nothing(table: Begin, text: str) -> None:
    table(3)
    with engine.reading() as session:
        assert links.seat_access(session, text, NOW) is None


def test_revoked_and_expired_links_open_nothing_but_are_known(table: Begin) -> None:
    game = table(3)
    with engine.transaction() as session:
        links.revoke(session, game.people[0], game.id, NOW)
        short = links.issue(
            session, LinkPurpose.SIGNIN, game.people[1], NOW, expires_at=NOW + timedelta(hours=1)
        )
        token = links.token(short)
    with engine.reading() as session:
        assert links.seat_access(session, game.tokens[0], NOW) is None
        assert links.find_any(session, LinkPurpose.SEAT, game.tokens[0]) is not None
        assert links.find(session, LinkPurpose.SIGNIN, token, NOW) is not None
        assert links.find(session, LinkPurpose.SIGNIN, token, NOW + timedelta(hours=1)) is None


def test_another_secret_makes_other_tokens(app: Flask, table: Begin) -> None:
    game = table(3)
    with engine.reading() as session:
        link = links.find(session, LinkPurpose.SEAT, game.tokens[0], NOW)
        assert link is not None
        chosen = app.config["BYZANZ"]
        app.config["BYZANZ"] = chosen.model_copy(update={"secret_key": type(chosen.secret_key)("z" * 32)})
        assert links.token(link) != game.tokens[0]


@pytest.mark.usefixtures("app")
def test_an_address_is_one_person_however_it_is_written() -> None:
    with engine.transaction() as session:
        first = people.get_or_create(session, "Ann@Example.org ", "Ann", NOW)
        again = people.get_or_create(session, " ann@example.ORG", "Anna", NOW)
        assert first.id == again.id


def test_a_link_opens_the_seat_of_its_own_game_only(table: Begin) -> None:
    first, second = table(3, "first"), table(3, "second")
    with engine.reading() as session:
        for game, other in ((first, second), (second, first)):
            for seat, token in enumerate(game.tokens):
                place = links.seat_access(session, token, NOW)
                assert place is not None
                assert (place.game.id, place.seat.game_id, place.seat.seat) == (game.id, game.id, seat)
                for asked, owner in ((game, game.people[seat]), (other, None)):
                    found = load(session, asked.id, NOW, link_id=place.link.id)
                    assert found is not None
                    assert found.link_person == owner


def test_a_move_with_the_link_of_another_game_is_refused(table: Begin) -> None:
    first, second = table(3, "first"), table(3, "second")
    with engine.reading() as session:
        place = links.seat_access(session, second.tokens[0], NOW)
        assert place is not None
    for played in (
        lambda: play.submit(first.id, 0, "pass", seen=1, request_id="r", now=NOW, link_id=place.link.id),
        lambda: play.place_order(first.id, 0, "pass every lot", now=NOW, link_id=place.link.id),
        lambda: play.withdraw_order(first.id, 0, None, now=NOW, link_id=place.link.id),
        lambda: play.confirm_orders(first.id, 0, now=NOW, link_id=place.link.id),
        lambda: play.reclaim(first.id, 0, now=NOW, link_id=place.link.id),
        lambda: play.leave(first.id, 0, now=NOW, link_id=place.link.id),
    ):
        with pytest.raises(NoSuchLink):
            played()


def test_links_to_other_games_stay_when_those_to_one_are_revoked(table: Begin) -> None:
    first, second = table(3, "first"), table(3, "second")
    with engine.transaction() as session:
        links.revoke(session, first.people[0], first.id, NOW)
        assert links.seat_access(session, first.tokens[0], NOW) is None
        for token in (first.tokens[1], *second.tokens):
            assert links.seat_access(session, token, NOW) is not None
        for game, seat in ((first, 1), (second, 0), (second, 2)):
            again = links.link_for(session, LinkPurpose.SEAT, game.people[seat], game.id, NOW)
            assert links.token(again) == game.tokens[seat]
        assert links.token(links.link_for(session, LinkPurpose.SEAT, first.people[0], first.id, NOW)) not in {
            *first.tokens,
            *second.tokens,
        }


def test_the_owner_of_a_live_link_is_known_by_any_purpose(table: Begin) -> None:
    game = table(3)
    with engine.transaction() as session:
        feed = links.link_for(session, LinkPurpose.FEED, game.people[1], None, NOW)
        short = links.issue(
            session, LinkPurpose.SIGNIN, game.people[2], NOW, expires_at=NOW + timedelta(hours=1)
        )
        tokens = {"seat": game.tokens[0], "feed": links.token(feed), "signin": links.token(short)}
        for seat, (purpose, token) in enumerate(tokens.items()):
            found = links.owner(session, token, NOW)
            assert found is not None
            assert (found[0].id, found[1]) == (game.people[seat], purpose)
        assert links.owner(session, tokens["signin"], NOW + timedelta(hours=1)) is None
        links.revoke(session, game.people[0], game.id, NOW)
        assert links.owner(session, tokens["seat"], NOW) is None
        assert links.owner(session, "a" * 26, NOW) is None
