"""What happened since a player's last move: strips at the top of the turn page, and the log in full words."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select

from byzanz.games.byzanz.state import Lot
from byzanz.moves import Message
from server import play
from server.store import engine
from server.store.models import Entry, Person, Snapshot
from tests.conftest import NOW
from tests.support.games import advance, asked, make, position, url
from tests.support.mails import html_of, send_waiting, text_of, words_of
from tests.support.pages import look


def auction(game: Any) -> Lot:
    """Let Bob win the first lot against Alice, who bids first; return it."""
    for seat in (0, 1):
        bid = next(move for move in legal_moves(game, seat) if move.startswith("bid"))
        make(game, seat, bid)
    for seat in (2, 3, 0):
        make(game, seat, "pass")
    make(game, 1, f"tax {position(game.id).view(1).lot[0]}")
    lot: Lot = position(game.id).view(0).lots[0]
    return lot


def legal_moves(game: Any, seat: int) -> list[str]:
    now = position(game.id)
    return [str(move) for move in now.rules.moves(now.state, seat)]


def sales(game: Any, seat: int) -> list[str]:
    now = position(game.id)
    return [str(move) for move in now.rules.out_of_turn_moves(now.state, seat)]


def strips(client: FlaskClient, address: str) -> list[str]:
    """Return the HTML of the strips of a page."""
    return look(client, address).html.partition("</ol>\n")[0].split('<li class="strip">')[1:]


def test_a_lot_is_a_strip_with_winner_price_cards_and_bids(client: FlaskClient, table: Any):
    game = table(4)
    lot = auction(game)
    (strip,) = strips(client, url(game, 3))  # Daphne has only passed
    assert f"<b>Bob won the lot of 5 for {lot.price}</b>" in strip
    assert f"Alice bid {lot.bid(0)[0][-1]}; Charlie and you passed." in strip
    taken, market = strip.split('aria-label="→ market"')
    assert (taken.count("<svg"), market.count("<svg")) == (len({*lot.taken}), len({*lot.bid(1), *lot.tax}))
    (own,) = strips(client, url(game, 0))
    assert f"You bid {lot.bid(0)[0][-1]}; Charlie and Daphne passed." in own
    assert strips(client, url(game, 1)) == []  # Bob's tax was the last move


def test_nothing_is_shown_of_a_game_that_has_just_begun(client: FlaskClient, table: Any):
    game = table(4)
    assert "While you were away" not in look(client, url(game, 0)).text


def test_a_strip_goes_with_the_moves_that_are_taken_back(client: FlaskClient, table: Any):
    game = table(4)
    auction(game)
    with engine.reading() as session:
        person = session.scalars(select(Person.id)).all()[0]
    play.moderate(game.id, "!void 5", reason="Look again", person_id=person, now=NOW)
    assert strips(client, url(game, 3)) == []
    page = look(client, f"{url(game, 3)}/history")
    assert "<s>Bob wins the lot of 5 for " in page.html


def test_an_auction_that_runs_is_in_the_mail_and_on_the_table(client: FlaskClient, table: Any):
    game = table(4)
    make(game, 0, legal_moves(game, 0)[1])
    make(game, 1, "pass")
    assert strips(client, url(game, 2)) == []
    (message,) = [each for each in send_waiting(NOW + timedelta(hours=1)) if each["To"].startswith("Charlie")]
    assert "- The lot of 5: Alice bid 1; Bob passed.\n" in text_of(message)


def test_sales_are_one_line(client: FlaskClient, table: Any):
    game = table(4)
    for _ in range(200):
        sellers = [seat for seat in range(4) if sales(game, seat)]
        if sellers:
            break
        make(game, asked(game), legal_moves(game, asked(game))[0])
    seat = sellers[0]
    make(game, seat, sales(game, seat)[0])
    other = (seat + 1) % 4
    name, points = ("Alice", "Bob", "Charlie", "Daphne")[seat], max(position(game.id).view(other).profits)
    assert f"{name} sold a set for {points}." in look(client, url(game, other)).text


class Made(NamedTuple):
    """What news look at in an entry."""

    move: str
    seat: int


def test_sales_are_told_with_the_lot_that_they_followed(app: Flask):
    with app.test_request_context():
        news = app.jinja_env.get_template("games/byzanz/news.html").module
        sale = (Made(move="sell wine1 wine2 merchant", seat=1), ())
        mine = (Made(move="sell wood1 wood2 wood4", seat=0), ())
        won = {"size": 2, "price": 3, "cards": "wood2", "market": "wine3 wood1", "others": ((1, 0),)}
        lot = (Made(move="tax wood1", seat=0), (Message("", won, {"name": 0}),))
        names, view = ("Ann", "Bob"), SimpleNamespace()
        assert "Bob sold a set for 2." in news.rest([sale], view, names, 0)  # type: ignore[attr-defined]
        assert news.rest([sale, lot], view, names, 0).strip() == ""  # type: ignore[attr-defined]

        def sold(*told: Any) -> list[str]:
            shown = str(news.strips(told, view, names, 0))  # type: ignore[attr-defined]
            return [
                " ".join(re.findall(r"[A-Z]\w+ sold[^.]*\.", strip))
                for strip in shown.split('class="strip"')[1:]
            ]

        assert sold(lot, sale, lot) == ["", "Bob sold a set for 2."], "the newest first"
        assert sold(lot, sale, mine) == ["Bob sold a set for 2, you sold a set for 4."]
        assert sold(sale, lot, lot) == ["", "Bob sold a set for 2."], "of the auction before"


def test_what_was_taken_from_the_market_is_one_strip(client: FlaskClient, table: Any):
    game = table(4)
    seat = advance(game, "take")
    group, cards = position(game.id).view(seat).market[0]
    make(game, seat, f"take {group}")
    other = min(position(game.id).awaited)
    (found, *_) = strips(client, url(game, other))
    assert "<b>Market day</b>" in found
    assert found.count("<svg") == len({*cards})
    assert sum(map(int, re.findall("×([0-9]+)<", found))) == len(cards) - len(
        [c for c in {*cards} if cards.count(c) == 1]
    )
    names = ["Alice", "Bob", "Charlie", "Daphne"]
    assert f"{names[seat]} takes " in look(client, url(game, other)).text
    history = look(client, f"{url(game, seat)}/history").text
    assert "You take " in history
    assert "from the market." in history


def test_a_state_stored_before_lots_were_kept_is_computed_again(client: FlaskClient, table: Any):
    game = table(4)
    auction(game)
    now = strips(client, url(game, 3))
    with engine.transaction() as session:
        row = session.scalars(select(Snapshot).where(Snapshot.game_id == game.id)).one()
        state = json.loads(row.state.partition("\n")[0])
        del state["lots"], state["takes"]
        row.format, row.state = "byzanz/1/1", json.dumps(state)
    assert strips(client, url(game, 3)) == now
    make(game, 2, legal_moves(game, 2)[1])


def test_the_log_says_who_what_for_how_much_and_with_which_cards(client: FlaskClient, table: Any):
    game = table(4)
    lot = auction(game)
    said = look(client, f"{url(game, 0)}/history").text
    public = look(client, f"/g/{game.id}/history").text
    assert "You bid 1: " in said
    assert "Alice bids 1: " in public
    won = f"Bob wins the lot of 5 for {lot.price}: "
    assert won in said
    assert won in public
    assert "goes to market, Bob takes " in public
    assert "goes to market, you take " in look(client, f"{url(game, 1)}/history").text
    assert "You pass." in said
    assert "Alice passes." in public
    assert won in look(client, url(game, 3)).text


def test_a_raise_says_to_how_much(client: FlaskClient, table: Any):
    game = table(3)
    for seat in (0, 1):
        make(game, seat, legal_moves(game, seat)[1])
    make(game, 2, "pass")
    more = legal_moves(game, 0)[1]
    make(game, 0, more)
    total = position(game.id).view(0).totals[0]
    assert f"Alice raises to {total} with " in look(client, url(game, 1)).text


def outcome(battle: Any, names: list[str], me: int | None = None) -> tuple[str, str]:
    """Return who won a battle of Empire and what became of the territory, in the words for a reader."""
    own, theirs = (battle.melds[seat].force for seat in (battle.emperor, 1 - battle.emperor))
    victor = battle.emperor if own > theirs else 1 - battle.emperor
    who = "You" if victor == me else names[victor]
    won = f"{who} won year {battle.year}, {max(own, theirs)} to {min(own, theirs)}"
    if own == theirs:
        won = f"Year {battle.year} was a draw, {own} each"
    land = (
        f"{'rose' if battle.after > battle.before else 'fell'} from {battle.before} to {max(battle.after, 0)}"
    )
    if battle.after == battle.before:
        land = f"stayed at {battle.before}"
    return won, f"territory {land}{', and the Empire was lost' if battle.after <= 0 else ''}"


@pytest.mark.parametrize(("name", "seed"), [("g1", 1), ("g5", 5)])
def test_the_battle_of_empire_lies_on_the_table_with_all_its_cards(
    client: FlaskClient, table: Any, name: str, seed: int
) -> None:
    game = table(2, name, slug="empire")
    advance(game, "keep", seed)
    battle = position(game.id).view(0).battle
    names = ["Alice", "Bob"]
    for seat in (0, 1):
        won, land = outcome(battle, names, seat)
        page = look(client, url(game, seat))
        assert not any(land in strip for strip in strips(client, url(game, seat)))
        shown = next(item for item in page.root.iter("section") if "fought" in item.get("class", ""))
        text = " ".join("".join(shown.itertext()).split())
        assert text.startswith(f"{won} {land}. ")
        assert f"Year {battle.year} of 12, early age" in text
        who = "You" if seat == battle.emperor else names[battle.emperor]
        assert (f"{who}: {battle.legacy:+} legacy" in text) == bool(battle.legacy)
        assert (f"Your legacy stays at {position(game.id).view(seat).legacy[seat]}." in text) == (
            seat != battle.emperor
        )
        earned = sum(card.legacy for card in battle.melds[battle.emperor].cards) if battle.after > 0 else 0
        parts = f"(cards {earned:+}, battle {battle.legacy - earned:+})".replace("-", "−")
        assert (parts in text) == (bool(battle.legacy) and earned not in (0, battle.legacy))
        assert len(shown.findall(".//ul[@class='coins']/li")) == sum(
            len({card.card for card in meld.cards}) for meld in battle.melds
        )
        assert f"{won}; {land}. " in look(client, f"{url(game, seat)}/history").text
    assert f"{'; '.join(outcome(battle, names))}. " in look(client, f"/g/{game.id}/history").text


ALWAYS = (
    "redraw none",
    "meld most",
    "defend most",
    "negotiate most",
    "replace most",
    "buy-off most",
    "keep most",
)


def played_by_orders(table: Any, years: int) -> tuple[Any, list[str]]:
    """Return a game of Empire in which orders play for Alice, and the title of each year's battle, the newest first."""
    game = table(2, "orders", slug="empire")
    for order in ALWAYS:
        play.place_order(game.id, 0, f"{order} always", now=NOW)
    titles: list[str] = []
    while len(titles) < years or position(game.id).view(0).step in ("keep", "over"):
        seat = asked(game)
        assert seat == 1
        make(game, seat, legal_moves(game, seat)[0])
        battle = position(game.id).view(0).battle
        if battle and len(titles) < battle.year:
            titles.insert(0, "; ".join(outcome(battle, ["Alice", "Bob"], 0)))
    return game, titles


def test_each_year_that_orders_played_is_told(client: FlaskClient, table: Any):
    game, titles = played_by_orders(table, 4)
    found = strips(client, url(game, 0))
    assert len(found) == 4
    passed = found[3].count("You pass ") + found[3].count(" passes you ")
    assert passed == 2  # of these years only what followed the last battle
    for title, strip in zip(titles[:2], found[:2], strict=True):
        assert f"<strong>{title}</strong>" in strip
        assert strip.count('<ul class="coins"') == 2
    older = re.search(r"<summary>2 earlier years</summary>(.*)</details>", found[2], re.DOTALL)
    assert older is not None
    assert re.findall(r"<p>([^<]*?; territory [^<.]*)", older[1]) == titles[2:]
    assert not any("territory" in strip for strip in strips(client, url(game, 1)))  # Bob saw each battle
    log = look(client, url(game, 0)).text.partition("Since your last move")[2]
    assert all(f"{title}. " in log for title in titles)


def test_each_year_that_orders_played_is_in_the_mail(table: Any):
    game, titles = played_by_orders(table, 3)
    play.withdraw_order(game.id, 0, None, now=NOW)
    while asked(game) == 1:
        make(game, 1, legal_moves(game, 1)[0])
    message = [each for each in send_waiting(NOW + timedelta(hours=1)) if each["To"].startswith("Alice")][-1]
    text = " ".join(text_of(message).split())
    news = text.partition("While you were away")[2].partition("Your hand")[0]
    assert all(news.count(f"{title}. ") == 1 for title in titles)
    assert sorted(titles, key=news.index) == titles
    battles = re.findall(r"won year (\d+), \d+ to \d+[^–]* - [^–]*: \d+ – [^–]*: \d+ – ", text)
    assert battles == re.findall(r"year (\d+)", news)[:2]  # with the melds of both


def test_a_year_that_was_taken_back_is_not_told(client: FlaskClient, table: Any):
    game, titles = played_by_orders(table, 3)
    with engine.reading() as session:
        person = session.scalars(select(Person.id)).all()[0]
    with engine.reading() as session:
        melds = select(Entry.seq).where(Entry.game_id == game.id, Entry.seat == 1, Entry.move.like("meld%"))
        year_3 = session.scalars(melds.order_by(Entry.seq)).all()[-1]
    play.moderate(game.id, f"!void {year_3}", reason="Look again", person_id=person, now=NOW)
    said = " ".join(strips(client, url(game, 0)))
    assert titles[-1] in said
    assert titles[0] not in said


@pytest.mark.parametrize(("slug", "seats"), [("empire", 2), ("byzantium", 3)])
def test_the_score_stands_beside_every_question(client: FlaskClient, table: Any, slug: str, seats: int):
    page = look(client, url(table(seats, slug=slug), 0))
    (score,) = [item for item in page.root.iter("section") if " score" in item.get("class", "")]
    text = " ".join("".join(score.itertext()).split())
    assert text.count("legacy " if slug == "empire" else " points") == seats
    assert text.count(" cards") == seats
    assert ("Round 1 of 3" in text) == (slug == "byzantium")


def test_cards_on_the_cross_are_ringed_there_and_a_round_ends_with_its_points(
    client: FlaskClient, table: Any
):
    game = table(3, slug="byzantium")
    cards = []
    for seat in (0, 1):
        cards.append(legal_moves(game, seat)[0].split(" "))
        make(game, seat, " ".join(cards[-1]))
    (placed,) = strips(client, url(game, 2))
    arms = {"e": "east", "n": "north", "s": "south", "w": "west"}
    told = [(name, arms[put[3][0]]) for name, put in zip(("Alice", "Bob"), cards, strict=True)]
    assert re.findall(r"<b>(\w+) placed</b>.*?<span class=\"muted\">(\w+)</span>", placed) == told
    assert placed.count("<svg") == 2
    assert look(client, url(game, 2)).html.count('class="newest"') == 2
    while position(game.id).view(0).round == 1:
        seat = min(position(game.id).awaited)
        make(game, seat, legal_moves(game, seat)[0])
    points = [len(hand) for hand in position(game.id).view(0).shown[0]]
    said = f"Round 1 is over: you +{points[0]}, Bob +{points[1]}, Charlie +{points[2]}."
    assert said in look(client, f"{url(game, 0)}/history").text
    assert sum("Round 1 is over: " in strip for seat in range(3) for strip in strips(client, url(game, seat)))
    assert (
        "Out for this round" not in look(client, url(game, 2)).text
    )  # the round of which they were out is over


def test_the_mail_of_a_turn_begins_with_the_news(table: Any):
    game = table(4)
    auction(game)
    (message,) = [each for each in send_waiting(NOW + timedelta(hours=1)) if each["To"].startswith("Charlie")]
    text, html = text_of(message), words_of(html_of(message))
    assert text.index("While you were away\n- Bob won the lot of 5 for ") < text.index("Your hand")
    assert "; Daphne and you passed." in " ".join(text.split())
    for said in (text, html):
        assert "Bob won the lot of 5 for " in said
        assert "Since your last move" not in said  # the news say it
