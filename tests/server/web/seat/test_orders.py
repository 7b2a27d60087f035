"""Standing orders on a seat's page: previewed, submitted, refused, withdrawn, confirmed; leaving autopilot."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select
from werkzeug.test import TestResponse

from byzanz.moves import Move, OrderAnswer, OrderCase
from server import play
from server.mail.outgoing.deliver import deliver
from server.play import standing_orders
from server.play.moderation import Newcomer
from server.store import engine, links, people
from server.store.models import LinkPurpose, Seat, StandingOrder
from server.web.seat.orders import Draft
from tests.conftest import NAMES, NOW
from tests.support.games import asked, entries, make, outsider, position, url
from tests.support.mail_servers import FakeMailer
from tests.support.mails import text_of
from tests.support.orders import PAGE, rows
from tests.support.pages import Page, look, read


def post_order(client: FlaskClient, game: Any, seat: int, **fields: Any) -> TestResponse:
    return client.post(url(game, seat) + "/orders", data=fields)


def kept(game: Any) -> list[tuple[int, str, str]]:
    with engine.reading() as session:
        return [(row.seat, row.text, row.status) for row in standing_orders.of_game(session, game.id)]


def follow(client: FlaskClient, answer: TestResponse) -> Page:
    assert answer.status_code == 303
    return look(client, answer.headers["Location"].partition("#")[0])


def test_an_order_is_shown_in_plain_words_before_it_is_kept(client: FlaskClient, table: Any) -> None:
    game = table(4)
    page = read(post_order(client, game, 1, do="preview", order="RAISE upto 7"))
    assert page.status == 200
    assert "Bid as little as needed, up to 7 on one lot; above that, pass." in page.text
    assert kept(game) == []
    left = read(post_order(client, game, 1, do="preview", part=["take", "wine", "", "most", "always"]))
    assert (
        "Take the first of these available at the market: Wine, then the most valuable group. Every time."
        in left.text
    )
    shown = follow(client, post_order(client, game, 1, do="leave", order="take wine most always"))
    assert "Wine, then the most valuable group. Every time." in shown.text
    assert kept(game) == [(1, "take wine most always", "standing")]


def test_the_preview_says_what_would_be_done_at_once_and_what_it_replaces(
    client: FlaskClient, table: Any
) -> None:
    game = table(4)
    seat = asked(game)
    other = (seat + 1) % 4
    post_order(client, game, other, do="leave", order="pass every lot")
    page = read(post_order(client, game, other, do="preview", order="raise upto 3"))
    assert "This replaces your order: Pass every lot." in page.text
    now = read(post_order(client, game, seat, do="preview", order="pass"))
    assert "This is played at once: Pass" in now.text
    head = entries(game.id)[-1].seq
    follow(client, post_order(client, game, seat, do="leave", order="pass"))
    assert entries(game.id)[head].by == "order"


def test_a_refused_order_can_be_mended(client: FlaskClient, table: Any) -> None:
    game = table(4)
    answer = post_order(client, game, 0, do="leave", order='ladder "><script>alert(1)</script>')
    page = read(answer)
    assert page.status == 422
    assert "Nothing has changed." in page.text
    assert "<script>alert" not in page.html
    assert read(post_order(client, game, 0, do="nonsense")).status == 400
    assert read(post_order(client, game, 0, do="withdraw", id="x")).status == 400
    assert read(post_order(client, game, 0, do="withdraw", id="99")).status == 404
    assert kept(game) == []


def test_what_stopped_is_told_on_the_page_and_nobody_else_sees_any_of_it(
    client: FlaskClient, table: Any
) -> None:
    game = table(4)
    seat = asked(game)
    other = (seat + 1) % 4
    post_order(client, game, other, do="leave", order="raise upto 1 then ask")
    bid = position(game.id).rules.moves(position(game.id).state, seat)[-1]
    play.submit(game.id, seat, str(bid), seen=entries(game.id)[-1].seq, request_id="b", now=NOW)
    assert "Your order stopped: The price is" in look(client, url(game, other)).text
    assert "Stopped: The price is" in look(client, url(game, other) + "/orders").text
    for stranger in range(4):
        if stranger != other:
            for path in (url(game, stranger), url(game, stranger) + "/orders"):
                text = look(client, path).text
                assert "topped: The price" not in text
                assert "up to 1 on one lot" not in text


def test_who_takes_a_seat_over_is_not_told_what_its_last_player_had_ordered(
    client: FlaskClient, table: Any
) -> None:
    game = table(4)
    seat = asked(game)
    other = (seat + 1) % 4
    post_order(client, game, other, do="leave", order="raise upto 1 then ask")
    post_order(client, game, other, do="leave", order="take wine")
    bid = position(game.id).rules.moves(position(game.id).state, seat)[-1]
    play.submit(game.id, seat, str(bid), seen=entries(game.id)[-1].seq, request_id="b", now=NOW)
    assert "up to 1 on one lot" in look(client, url(game, other) + "/orders").text
    zoe = Newcomer("Zoe", "zoe@example.org")
    act = f"!replace {other}"
    play.moderate(game.id, act, reason="gone", person_id=outsider(), now=NOW, newcomer=zoe)
    with engine.transaction() as session:
        person = people.get_or_create(session, zoe.email, zoe.name, NOW)
        game.tokens[other] = links.token(links.link_for(session, LinkPurpose.SEAT, person.id, game.id, NOW))
    page = look(client, url(game, other) + "/orders")
    assert "up to 1 on one lot" not in page.text
    assert "has stopped" not in page.text
    fake_mailer = FakeMailer()
    while deliver(NOW + timedelta(hours=1), fake_mailer, steady=lambda: 0.0):
        pass
    told = "".join(map(text_of, fake_mailer.to("zoe")))
    assert "to Zoe." in told
    assert "raise upto 1" not in told
    post_order(client, game, other, do="leave", order="raise upto 2 then ask")
    assert "up to 2 on one lot" in look(client, url(game, other) + "/orders").text


def test_orders_that_rest_are_confirmed_with_a_button(client: FlaskClient, table: Any) -> None:
    game = table(4)
    seat = asked(game)
    other = (seat + 1) % 4
    post_order(client, game, other, do="leave", order="pass every lot")
    play.submit(game.id, seat, "pass", seen=entries(game.id)[-1].seq, request_id="p", now=NOW)
    for act in (f"!void {entries(game.id)[1].seq}", "!resume"):
        play.moderate(game.id, act, reason="to test", person_id=outsider(), now=NOW)
    assert "Your orders are paused" in look(client, url(game, other)).text
    follow(client, post_order(client, game, other, do="confirm"))
    assert kept(game) == [(other, "pass every lot", "standing")]


def test_the_page_has_one_line_that_leads_to_the_sheet(client: FlaskClient, table: Any) -> None:
    game = table(4)
    other = (asked(game) + 1) % 4
    page = look(client, url(game, other))
    assert f'<a class="button" href="{url(game, other)}/orders">Plan ahead</a>' in page.html
    assert "Decide now what to play when your turn comes." in page.text
    assert not [field for field in page.root.iter("select") if field.get("name") == "part"]
    post_order(client, game, other, do="leave", order="take wine")
    assert "Plan ahead 1 order standing" in look(client, url(game, other)).text
    answer = post_order(client, game, other, do="leave", order="tax lowest")
    assert answer.headers["Location"] == f"{url(game, other)}/orders"
    assert "Plan ahead 2 orders standing" in look(client, url(game, other)).text


def test_an_order_that_moves_at_once_leads_back_to_the_table(client: FlaskClient, table: Any) -> None:
    game = table(4)
    seat = asked(game)
    assert post_order(client, game, seat, do="leave", order="pass").headers["Location"] == url(game, seat)


def test_the_preview_says_what_it_would_do_as_things_stand(client: FlaskClient, table: Any) -> None:
    game = table(4)
    seat = asked(game)
    other = (seat + 1) % 4
    page = read(post_order(client, game, other, do="preview", order="raise upto 4"))
    assert re.search(
        r"What it would do If nobody bids before you Bid .+ When more than 4 is needed Pass", page.text
    )
    page = read(post_order(client, game, seat, do="preview", order="raise upto 4"))
    assert "This is played at once: Bid" in page.text
    assert (
        "It is your turn: an order that fits is played at once."
        in look(client, f"{url(game, seat)}/orders").text
    )
    assert "It is your turn:" not in look(client, f"{url(game, other)}/orders").text
    assert "When more than 4 is needed Pass" in page.text
    assert "If nobody bids before you" not in page.text


def disabled(page: Page) -> list[str]:
    """Return the labels of the buttons of a page that cannot be pressed."""
    return ["".join(item.itertext()) for item in page.root.iter("button") if "disabled" in item.attrib]


def test_the_sheet_opens_with_the_orders_that_stand(client: FlaskClient, table: Any) -> None:
    game = table(4)
    seat = (asked(game) + 1) % 4
    goods = [name for name in position(game.id).view(seat).hand if name != "merchant"]
    sheet = look(client, url(game, seat) + "/orders")
    assert values(sheet, "raise") == {"part1": "1", "part2": "then pass", "part3": "this lot", "card": []}
    assert "Your orders" not in sheet.text
    first = sorted(goods, key=lambda name: name[-1])[0]
    ladder = f"ladder {first} upto 5 then ask every lot"
    for order in (ladder, "tax best", "take wine spice most", "limit sell always"):
        post_order(client, game, seat, do="leave", order=order)
    sheet = look(client, url(game, seat) + "/orders")
    told = values(sheet, "raise")
    assert [value.partition("#")[0] for value in told["card"]] == [first]
    assert (told["part1"], told["part2"], told["part3"]) == ("5", "then ask", "every lot")
    assert values(sheet, "tax") == {"part1": "best", "part2": "", "card": []}
    take = {"part1": "wine", "part2": "spice", "part3": "", "part4": "most", "part5": "", "card": []}
    assert values(sheet, "take") == take
    assert values(sheet, "limit") == {"part1": "sell", "part2": "always", "card": []}
    assert sheet.text.index("As tax, pay the card of the lot that I need least. Once.") < sheet.text.index(
        "Change or add an order"
    )
    assert "This is your order as it stands. Change something to replace it." in sheet.text
    assert disabled(sheet) == ["Change the order"], "nothing would change"
    changed = read(post_order(client, game, seat, do="preview", order="raise upto 2"))
    assert "Change the order" in changed.text
    assert disabled(changed) == []
    same = read(post_order(client, game, seat, do="preview", order="tax best"))
    assert "This is your order as it stands. Change something to replace it." in same.text
    assert disabled(same) == ["Change the order"]
    post_order(client, game, seat, do="leave", order="pass every lot")
    assert values(look(client, url(game, seat) + "/orders"), "pass") == {"part1": "every lot", "card": []}


def test_the_sheet_of_byzantium_opens_with_the_order_that_stands(client: FlaskClient, table: Any) -> None:
    game = table(3, slug="byzantium")
    seat = (asked(game) + 1) % 3
    view = position(game.id).view(seat)
    card, place = next(
        (card, place.slot)
        for card in reversed(view.hand)
        for place in view.places
        if place.state == "open" and card in place.takes
    )
    post_order(client, game, seat, do="leave", order=f"put {card} on {place} then any")
    wanted = values(look(client, url(game, seat) + "/orders"), "put")
    assert wanted["part1"] == f"{card} on {place}"
    assert wanted["part2"] == "then any"
    post_order(client, game, seat, do="leave", order="put any always")
    assert values(look(client, url(game, seat) + "/orders"), "put any") == {"part1": "always", "card": []}


def values(sheet: Page, first: str) -> dict[str, Any]:
    """Return what is filled in in the form of orders that begin with a word: its fields, and the ticked cards."""
    found: dict[str, Any] = {"card": []}
    form = next(
        form
        for form in sheet.root.iter("form")
        for field in form.iter("input")
        if (field.get("name"), field.get("value")) == ("part", first)
    )
    for field in form.iter():
        name = field.get("name", "")
        if field.tag == "select":
            chosen = [each for each in field.iter("option") if each.get("selected") is not None]
            value = (chosen or list(field.iter("option")))[0].get("value")
            found[name] = found.get(name) or value
        elif field.tag == "input" and name.startswith("part") and name != "part":
            found[name] = field.get("value")
        elif field.tag == "input" and name == "card" and field.get("checked") is not None:
            found["card"].append(field.get("value"))
    return found


def test_an_order_that_can_do_nothing_any_more_says_so(client: FlaskClient, table: Any) -> None:
    game = table(2, slug="empire")
    held = position(game.id).view(0).hand
    absent = next(card for card in ("trade", "taxes", "science", "literature", "coinage") if card not in held)
    post_order(client, game, 0, do="leave", order=f"keep {absent} always")
    sheet = look(client, url(game, 0) + "/orders").text
    assert "the order stops: None of the cards on your list is in your hand." in sheet


def test_the_sheet_of_a_game_that_takes_no_orders_now_leads_to_the_table(
    client: FlaskClient, table: Any
) -> None:
    game = table(4)
    play.moderate(game.id, "!abandon", reason="Enough", person_id=outsider(), now=NOW)
    answer = client.get(url(game, 0) + "/orders")
    assert (answer.status_code, answer.headers["Location"]) == (303, url(game, 0))


def test_an_order_is_withdrawn_with_a_button(client: FlaskClient, table: Any) -> None:
    game = table(4)
    post_order(client, game, 2, do="leave", order="finish")
    with engine.reading() as session:
        (row,) = standing_orders.of_game(session, game.id)
    assert read(post_order(client, game, 1, do="withdraw", id=str(row.number))).status == 404
    follow(client, post_order(client, game, 2, do="withdraw", id=str(row.number)))
    assert kept(game) == [(2, "finish", "withdrawn")]


def test_a_seat_on_autopilot_is_taken_back_with_a_button(client: FlaskClient, table: Any) -> None:
    game = table(4)
    with engine.transaction() as session:
        session.get_one(Seat, (game.id, 2)).autopilot = True
    waiting = look(client, url(game, 2)).text
    assert "Your seat is on autopilot" in waiting
    assert "We will email you." not in waiting
    page = follow(client, post_order(client, game, 2, do="reclaim"))
    assert "Your seat is on autopilot" not in page.text
    assert "We will email you." in page.text
    assert entries(game.id)[-1].move == "!autopilot 2 off"


def test_a_ladder_is_put_together_from_fields(client: FlaskClient, table: Any) -> None:
    game = table(4)
    goods = [name for name in position(game.id).view(2).hand if name != "merchant"]
    sheet = look(client, url(game, 2) + "/orders")
    ticks = [field.get("value", "") for field in sheet.root.iter("input") if field.get("name") == "card"]
    assert sorted(value.partition("#")[0] for value in ticks) == sorted(goods)
    assert [value.partition("#")[0][-1] for value in ticks] == sorted(
        name[-1] for name in goods
    )  # lowest first
    parts = ["raise", "*", "upto"]
    page = read(
        post_order(client, game, 2, do="preview", part=parts, part1="9", part2="then ask", card=ticks[:2])
    )
    cards = " ".join(value.partition("#")[0] for value in ticks[:2])
    assert f"ladder {cards} upto 9 then ask" in page.text
    page = read(post_order(client, game, 2, do="preview", part=parts, part1="9", part2="then ask"))
    assert "raise upto 9 then ask" in page.text


def test_every_form_of_every_game_makes_an_order_that_is_told_in_words(
    client: FlaskClient, table: Any
) -> None:
    for number, (slug, seats) in enumerate((("byzanz", 4), ("empire", 2), ("byzantium", 3))):
        game = table(seats, game_id=f"g{number}", slug=slug)
        page = look(client, url(game, 0) + "/orders")
        forms = [form for form in page.root.iter("form") if any(True for _ in form.iter("select"))]
        assert len(forms) >= 2
        for form in forms:
            shown = read(post_order(client, game, 0, do="preview", **chosen_fields(form)))
            assert shown.status == 200, (slug, chosen_fields(form), shown.text)
            assert "Save this order?" in shown.text


def test_the_sheets_draw_the_hand_to_choose_from(client: FlaskClient, table: Any) -> None:
    cross = table(3, game_id="g1", slug="byzantium")
    page, view = look(client, url(cross, 0) + "/orders"), position(cross.id).view(0)
    places = [field for field in page.root.iter("select") if field.get("name") == "part1"]
    wishes = [[option.get("value", "") for option in field.iter("option")] for field in places][1:]
    assert len(wishes) == len(view.hand)
    assert all(
        value.startswith(f"{card} on ")
        for card, own in zip(view.hand, wishes, strict=True)
        for value in own[1:]
    )
    both = [own[-1] for own in wishes if len(own) > 1][:2]
    told = read(post_order(client, cross, 0, do="preview", part=["put"], part1=both, part2="then ask"))
    assert f"put {', '.join(both)} then ask" in told.text
    year = table(2, game_id="g2", slug="empire")
    page, hand = look(client, url(year, 0) + "/orders"), position(year.id).view(0).hand
    ticks = [field.get("value", "") for field in page.root.iter("input") if field.get("name") == "card"]
    assert [value.partition("#")[0] for value in ticks] == [*hand, *hand], "to meld, and to pass on"
    told = read(
        post_order(client, year, 0, do="preview", part=["keep", "*"], part1="least", part2="", card=ticks[:2])
    )
    assert f"keep {' '.join(hand[:2])} least" in told.text


def test_every_order_that_the_page_of_orders_shows_is_told_in_words(app: Flask) -> None:
    for rules, _, kept in rows(PAGE.read_text("utf-8")):
        template = app.jinja_env.get_template(f"games/{rules.slug}/orders.html")
        with app.test_request_context():
            told = str(template.make_module().describe(kept))  # type: ignore[attr-defined]
        assert told.rstrip().endswith("."), (kept, told)
        assert kept not in told


def chosen_fields(form: Any) -> dict[str, list[str]]:
    """Return what a browser sends of a form in which only required fields are filled in."""
    sent: dict[str, list[str]] = {}
    for field in form.iter():
        name = field.get("name", "")
        if field.tag == "input" and name.startswith("part"):
            sent.setdefault(name, []).append(field.get("value"))
        if field.tag == "select":
            values = [option.get("value") for option in field.iter("option")]
            first = next((value for value in values if value), "") if name == "part1" else values[0]
            sent.setdefault(name, [])
            if not any(sent[name]):
                sent[name].append(first)
    return sent


def test_an_order_that_can_be_read_no_more_stops_and_its_owner_is_told(
    client: FlaskClient, table: Any
) -> None:
    game = table(4)
    seat = asked(game)
    other = (seat + 1) % 4
    post_order(client, game, other, do="leave", order="pass every lot")
    with engine.transaction() as session:
        session.scalars(select(StandingOrder).filter_by(game_id=game.id)).one().text = "sing every lot"
    assert read(post_order(client, game, other, do="preview", order="take wine")).status == 200
    make(game, seat, "pass")
    assert kept(game) == [(other, "sing every lot", "stopped")]
    told = look(client, url(game, other)).text
    assert re.search(r"Your order stopped: \S[^.]+\.", told)
    assert asked(game) == other
    assert "stopped" not in look(client, url(game, seat)).text


def test_after_the_end_the_seats_page_lists_no_orders_and_the_games_page_all_of_its_own(
    client: FlaskClient, table: Any
) -> None:
    game, another = table(4), table(4, game_id="another")
    post_order(client, another, 3, do="leave", order="raise upto 9")
    seat = asked(game)
    other = (seat + 1) % 4
    for text in ("raise upto 1 then ask", "take wine"):
        post_order(client, game, other, do="leave", order=text)
    bid = position(game.id).rules.moves(position(game.id).state, seat)[-1]
    make(game, seat, str(bid))
    answer = make(game, other, "pass")
    paths = [url(game, other), f"{url(game, other)}?played={answer}"]
    for path in paths:
        assert 'id="orders"' in look(client, path).html
    play.moderate(game.id, "!abandon", reason="Enough", person_id=outsider(), now=NOW)
    for path in paths:
        page = look(client, path)
        assert 'id="orders"' not in page.html
        assert not [f for f in page.root.iter("form") if f.get("action", "").endswith("/orders")]
    public = look(client, f"/g/{game.id}").text
    assert f"{NAMES[other]}, after entry 1: Bid as little as needed, up to 1 on one lot; above" in public
    assert "stopped after entry" in public
    assert f"{NAMES[other]}, after entry 1: At the market, take Wine." in public
    assert "up to 9" not in public
    assert "standing orders, now revealed" not in look(client, f"/g/{another.id}").text.lower()


@pytest.mark.parametrize(
    ("replaces", "move", "same", "replaced", "button"),
    [
        (None, None, False, "", "Save this order"),
        ("a", None, False, "a", "Change the order"),
        ("b", None, True, "", "Change the order"),
        ("b", Move("pass"), False, "", "Play it and save the order"),
        ("a", Move("pass"), False, "a", "Play it and save the order"),
    ],
)
def test_the_button_says_what_becomes_of_a_draft(
    replaces: str | None, move: Move | None, same: bool, replaced: str, button: str
) -> None:
    case = OrderCase("now", OrderAnswer(move, ""))
    now = OrderAnswer(move, "") if move else None
    draft = Draft(play.OrderPreview("b", "", replaces, now, (case,)))
    assert (draft.is_same, draft.replaced, draft.button) == (same, replaced, button)
    assert draft.move == ("pass" if move else "")
    assert draft.ahead == (() if now else (case,))
