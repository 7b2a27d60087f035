"""Pages and emails of Empire: forms without scripts, sealed choices, sums that readers can follow."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from email import message_from_bytes, policy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import flask
import pytest
from babel.messages.extract import extract_from_file
from flask import render_template
from flask.testing import FlaskClient
from sqlalchemy import select

from byzanz.games.empire.state import CARDS, Card
from server.config import TEMPLATES
from server.store import engine
from server.store.models import Entry, Mail, Turn
from tests.conftest import NOW, Table
from tests.support.empire_positions import EMPIRE, at, cards, seat_of
from tests.support.games import advance, count_entries, make, position, url
from tests.support.mails import compose_again
from tests.support.neighbour_game import elsewhere
from tests.support.pages import Page, assert_sound, forgotten, look, parsed, press, read

KINDS = {"redraw": 0, "meld": 0, "defend": 24, "negotiate": 19, "replace": 59, "buy-off": 1, "keep": 0}
"""Every question, with the random seed that leads to it in the game of its name."""
EMPEROR, FOE = 0, 1
"""The seats of year 1."""
ID = re.compile(r'"request_id" value="[^"]+"')

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def begin_empire(table: Any, game_id: str = "e1") -> Table:
    """Start a game of Empire between Alice, the first Emperor, and Bob."""
    game: Table = table(2, game_id, slug="empire")
    return game


def brought(table: Any, kind: str) -> tuple[Table, int]:
    """Return a game with this question open, and the seat to move."""
    game = begin_empire(table, f"e-{kind}")
    return game, advance(game, kind, KINDS[kind])


def legal_moves(game: Table, seat: int, of: str = "moves") -> list[str]:
    """Return the legal moves of a seat, also out of turn."""
    now = position(game.id)
    return [str(move) for move in getattr(now.rules, of)(now.state, seat)]


def ticks(page: Page, cards: list[str]) -> list[str]:
    """Return one checkbox for each of these cards."""
    free = list(page.form("play").boxes)
    chosen = []
    for card in cards:
        chosen.append(next(box for box in free if box.partition("#")[0] == card))
        free.remove(chosen[-1])
    return chosen


# Forms


@pytest.mark.parametrize("kind", KINDS)
def test_every_listed_move_has_a_way_on_the_page(client: FlaskClient, table: Any, kind: str):
    game, seat = brought(table, kind)
    page = look(client, url(game, seat))
    exact = {value for name, value in page.form("play").buttons if name == "move"}
    verbs = {value for name, value in page.form("play").buttons if name == "verb"}
    listed = legal_moves(game, seat)
    assert exact <= set(listed)
    assert verbs <= {move.split()[0] for move in listed}
    for move in listed:
        assert move in exact or (move.split()[0] in verbs and ticks(page, move.split()[1:])), move
    if verbs:
        hand = position(game.id).view(seat).hand
        assert sorted(box.partition("#")[0] for box in page.form("play").boxes) == sorted(hand)
    assert page.form("play").ticked == []


@pytest.mark.parametrize("count", [0, 1, 4])
def test_a_redraw_of_ticked_cards(client: FlaskClient, table: Any, count: int):
    game = begin_empire(table)
    page = look(client, url(game, FOE))
    thrown = page.form("play").boxes[-count:] if count else []
    how = ("verb", "redraw", thrown) if count else ("move", "redraw", None)
    receipt = look(client, press(client, page, *how).headers["Location"])
    assert ("You discard" if count else "You keep all cards.") in receipt.text
    assert position(game.id).view(FOE).chosen[FOE] == tuple(box.partition("#")[0] for box in thrown)


def test_nothing_ticked_is_no_meld(client: FlaskClient, table: Any):
    game, seat = brought(table, "meld")
    before = count_entries(game.id)
    answer = press(client, look(client, url(game, seat)), "verb", "meld", [])
    assert answer.status_code == 422
    assert "Select the cards first." in read(answer).text
    assert count_entries(game.id) == before
    assert press(client, read(answer), "move", "meld").status_code == 303
    assert position(game.id).view(seat).chosen[seat] == ()


def test_a_meld_beyond_the_limits_keeps_its_ticks(client: FlaskClient, table: Any):
    game, seat = brought(table, "meld")
    page = look(client, url(game, seat))
    page = read(press(client, page, "verb", "meld", page.form("play").boxes))
    assert page.status == 422
    assert "may have at most" in page.text
    assert page.form("play").ticked == page.form("play").boxes


@pytest.mark.parametrize("kind", ["defend", "negotiate", "replace", "buy-off"])
def test_an_answer_to_open_melds_says_what_it_changes(client: FlaskClient, table: Any, kind: str):
    game, seat = brought(table, kind)
    page = look(client, url(game, seat))
    view = position(game.id).view(seat)
    before = view.melds[view.foe].force
    answer = next(move for move in legal_moves(game, seat) if move != "decline")
    button = next(b for b in page.root.iter("button") if b.get("value") == answer)
    said = re.search(r"\(Foes ([+−±]\d+)", "".join(button.itertext()))
    assert said is not None
    now = position(game.id)
    state = now.rules.apply(now.state, seat, now.rules.parse(answer))
    laid = now.rules.view(state, seat)
    melds = laid.melds if any(meld.cards for meld in laid.melds) else laid.battle.melds
    assert int(said[1].replace("−", "-").replace("±", "")) == melds[view.foe].force - before
    assert press(client, page, "move", answer).status_code == 303


def test_a_card_to_keep_is_one_button(client: FlaskClient, table: Any):
    game, seat = brought(table, "keep")
    page = look(client, url(game, seat))
    card = position(game.id).view(seat).hand[0]
    receipt = look(client, press(client, page, "move", f"keep {card}").headers["Location"])
    assert re.search(r"You pass [\w ’-]+ to (Alice|Bob)\.", receipt.text)


def form_of(state: Any, role: str) -> str:
    """Return the form of a hand-made position."""
    seat = seat_of(role, state.year)
    answers: dict[str, list[str]] = {}
    for move in EMPIRE.moves(state, seat):
        answers.setdefault(move.verb, []).append(str(move))
    given = {
        "view": EMPIRE.view(state, seat),
        "names": ["Alice", "Bob"],
        "answers": answers,
        "out_of_turn": {},
    }
    with flask.current_app.test_request_context():
        return render_template("games/empire/form.html", **given, ticked=(), error=None)


@pytest.mark.usefixtures("app")
def test_cards_that_are_of_no_use_are_marked():
    keep = form_of(at(4, "keep", foe="siege huns", emperor="trade taxes"), "F")
    assert keep.count("expires after this age") == 1
    assert keep.index("Huns") < keep.index("expires after this age") < keep.index("Siege")
    assert "ends with" not in form_of(at(3, "keep", foe="siege huns", emperor="trade taxes"), "F")
    answer = form_of(at(2, "replace", foe="siege huns", emperor="trade", emperor_meld="treaty"), "F")
    assert answer.count("not now") == 1
    assert answer.index("Siege") < answer.index("not now")


# The table


def table_of(state: Any, viewer: Any = "public", *moves: str) -> Page:
    """Return the table of a hand-made position, with these moves of the Foe as news."""
    foe = seat_of("F", state.year)
    marked = [SimpleNamespace(move=move, seat=foe) for move in moves]
    given = {"view": EMPIRE.view(state, viewer), "names": ["Alice", "Bob"], "marked": marked}
    with flask.current_app.test_request_context():
        return parsed(f"<main>{render_template('games/empire/table.html', **given)}</main>")


@pytest.mark.usefixtures("app")
@pytest.mark.parametrize(("step", "shown"), [("redraw", True), ("keep", False)])
def test_a_battle_is_a_strip_once_it_is_off_the_table(step: str, shown: bool):
    battle = (cards(1, "basil"), cards(0, "huns"), (1, 7, 9, 0))
    view = EMPIRE.view(replace(at(2 if shown else 1, step), battle=battle), 0)
    entry = SimpleNamespace(seat=1, by="player")
    assert view.battle
    with flask.current_app.test_request_context():
        news = flask.current_app.jinja_env.get_template("games/empire/news.html").make_module(
            flask.current_app.jinja_env.globals
        )
        strips = str(vars(news)["strips"]([(entry, view.battle.followed)], view, ["Alice", "Bob"], 0))
    said = "You won year 1, 6 to 5; territory rose from 7 to 9"
    assert (said in strips, "Basil" in strips, "Huns" in strips) == (shown,) * 3


def bars(page: Page) -> list[tuple[str, float]]:
    """Return the force of each side as it is written, and the length of its bar."""
    sides = [item for item in page.root.iter("div") if item.get("class") == "side"]
    return [
        (
            "".join(
                next(item for item in side.iter("b") if item.get("class") == "strong").itertext()
            ).split()[-1],
            float(next(side.iter("rect")).get("width", "")),
        )
        for side in sides
    ]


@pytest.mark.usefixtures("app")
def test_the_forces_are_two_bars_on_one_scale():
    page = table_of(at(2, "replace", foe="siege huns", foe_meld="heavy-cavalry", emperor_meld="treaty"))
    assert bars(page) == [("1", 25.0), ("4", 100.0)]
    assert "So far Alice leads 4 to 1; territory would fall from 10 to 7" in page.text


@pytest.mark.usefixtures("app")
@pytest.mark.parametrize(
    ("viewer", "names"), [(0, "You (Foes)"), (1, "You (Empire)"), ("public", "Alice (Foes)")]
)
def test_each_side_bears_the_name_of_its_player_or_you(viewer: Any, names: str):
    page = table_of(
        at(2, "replace", foe="siege huns", foe_meld="heavy-cavalry", emperor_meld="treaty"), viewer
    )
    sides = ["".join(item.itertext()) for item in page.root.iter("span") if item.get("class") == "side-name"]
    assert names in sides
    assert len([side for side in sides if "You" in side]) == (viewer != "public")


@pytest.mark.usefixtures("app")
def test_a_card_in_a_meld_says_what_it_counts_there():
    state = at(2, "replace", foe_meld="light-cavalry light-cavalry avars", emperor_meld="coinage")
    coins = [
        "".join(item.itertext()) for item in table_of(state).root.iter("span") if item.get("class") == "coin"
    ]
    view = EMPIRE.view(state, "public")
    avars = next(line for line in view.melds[view.foe].cards if line.card == "avars")
    assert avars.bonus == 4
    assert {"2× Light Cavalry = 6", f"Avars {avars.force + 4}", "Coinage +1 legacy"} <= set(coins)


@pytest.mark.usefixtures("app")
def test_a_card_played_since_bears_the_initial_of_its_player():
    state = at(2, "buy-off", foe_meld="heavy-cavalry huns", emperor_meld="treaty")
    marks = [
        ("".join(item.itertext()).split()[0], next(item.iter("i")).get("data-initial"))
        for item in table_of(state, 0, "replace huns").root.iter("span")
        if "marked" in item.get("class", "").split()
    ]
    assert marks == [("Huns", "A")]
    assert "marked" not in table_of(state, 0, "meld heavy-cavalry huns").html


@pytest.mark.usefixtures("app")
def test_the_territory_that_changed_since_is_marked():
    state = replace(at(2, "redraw"), battle=((), (), (1, 7, 9, 0)), territory=9)
    page = table_of(state, 0, "decline")
    stones = [item.get("class", "") for item in page.root.iter("span") if "have" in item.get("class", "")]
    assert [("won" in stone) for stone in stones] == [False] * 7 + [True] * 2
    [track] = [item for item in page.root.iter("div") if item.get("class") == "track"]
    assert [item.text for item in track.iter("b")] == ["9"]
    quiet = table_of(state, 0, "redraw ?")
    assert "won" not in quiet.html
    assert 'class="initial"' not in quiet.html


@pytest.mark.usefixtures("app")
def test_the_result_of_a_battle_stands_first():
    page = table_of(at(1, "keep", battle=((), (), (1, 7, 0, 0)), territory=0))
    assert page.text.startswith(
        "Year 1 was a draw, 0 each territory fell from 7 to 0, and the Empire was lost. Year 1 of 12, early age Year"
    )


@pytest.mark.usefixtures("app")
def test_of_two_equal_cards_one_is_marked_as_sealed():
    state = at(1, "keep", emperor="trade trade")
    state = replace(state, chosen=(cards(1, "trade"), None), battle=((), (), (1, 7, 7, 0)))
    given = {"view": EMPIRE.view(state, 0), "names": ["Alice", "Bob"], "answers": {}, "ticked": ()}
    given |= {"out_of_turn": {"keep": ["keep trade"]}}
    with flask.current_app.test_request_context():
        form = render_template("games/empire/form.html", **given)
    assert (form.count("✓ sealed"), form.count('<span class="pick-do" aria-hidden="true">Pass Trade on')) == (
        1,
        1,
    )


@pytest.mark.usefixtures("app")
def test_who_watches_sees_the_last_battle_until_the_next():
    battle = (cards(1, "basil"), cards(0, "huns siege"), (1, 7, 9, 0))
    between = replace(at(2, "meld"), battle=battle)
    (title,) = [item for item in table_of(between).root.iter("h3") if "from 7 to 9" in (item.text or "")]
    assert len(bars(table_of(between))) == 2
    assert bars(table_of(between, 0)) == []
    assert table_of(between).text.count(str(title.text)) == 1


@pytest.mark.usefixtures("app")
def test_the_emperor_reads_what_they_lost_as_their_own():
    state = at(1, "keep", battle=((), (), (1, 7, 0, -3)), territory=0)
    own, other = table_of(state, 0).text, table_of(state, 1).text
    assert "You: −3 legacy" in own
    assert "Your legacy stays at" not in own
    assert "Alice: −3 legacy" in other
    assert "Your legacy stays at 10." in other


def test_the_page_after_the_last_meld_leaves_the_battle_to_the_table(client: FlaskClient, table: Any):
    game = begin_empire(table)
    advance(game, "keep")
    with engine.reading() as session:
        moved = Entry.game_id == game.id, Entry.by == "player"
        last = session.scalars(select(Entry).where(*moved).order_by(Entry.seq.desc())).first()
    assert last is not None
    page = look(client, f"{url(game, last.seat or 0)}?played={last.seq}")
    (strip,) = (item for item in page.root.iter("section") if item.get("id") == "played")
    assert " year 1, " in page.text
    assert " year 1, " not in "".join(strip.itertext())


@pytest.mark.usefixtures("app")
def test_a_legacy_card_shows_its_legacy_large():
    html = form_of(at(2, "keep", foe="siege", emperor="architecture trade"), "E")
    assert '<span class="plaque-force won">+2</span>' in html
    assert html.count('class="plaque-force"') == 1


@pytest.mark.parametrize("kind", ["defend", "negotiate", "replace", "buy-off", "keep"])
def test_equal_options_look_alike(client: FlaskClient, table: Any, kind: str):
    game, seat = brought(table, kind)
    form = next(form for form in look(client, url(game, seat)).root.iter("form") if form.get("id") == "play")
    options = [item for item in form.iter("button") if item.get("name") == "move"]
    assert len({item.get("class") for item in options}) == 1
    assert not any("primary" in item.get("class", "") for item in form.iter("button"))


# Choices under seal


def sealed(client: FlaskClient, game: Table, seat: int, cards: str) -> None:
    """Submit a sealed meld through the page."""
    page = look(client, url(game, seat))
    assert press(client, page, "verb", "meld", ticks(page, cards.split())).status_code == 303


def test_both_are_mailed_at_once(table: Any):
    begin_empire(table)
    with engine.reading() as session:
        due = {
            mail.seat: mail.not_before
            for mail in session.scalars(select(Mail).where(Mail.kind == "turn", elsewhere(Mail)))
        }
        assert set(due) == {0, 1}
        assert due[0] == due[1]
        opened = {turn.seat: turn.question for turn in session.scalars(select(Turn).where(elsewhere(Turn)))}
    assert opened == {0: "redraw 1", 1: "redraw 1"}


def test_a_sealed_meld_is_shown_to_its_owner_and_can_be_changed(client: FlaskClient, table: Any):
    game, _seat = brought(table, "meld")
    one, other = legal_moves(game, FOE)[:2]
    sealed(client, game, FOE, one.removeprefix("meld "))
    turn = _turn(game, EMPEROR)
    page = look(client, url(game, FOE))
    assert (
        f"Your sealed meld: force {position(game.id).view(FOE).as_meld(FOE, tuple(one.split()[1:])).force}"
        in page.text
    )
    assert "Only you can see it; you can change it until Alice has chosen." in page.text
    assert _ticked(page) == sorted(one.split()[1:])
    form = page.form("play")
    assert press(client, page, "verb", "meld", ticks(page, other.split()[1:])).status_code == 303
    assert position(game.id).view(FOE).chosen[FOE] == tuple(other.split()[1:])
    assert _turn(game, EMPEROR) == turn
    assert _ticked(look(client, url(game, FOE))) == sorted(other.split()[1:])
    stale = {name: [value] for name, value in form.hidden} | {"move": ["redraw"], "request_id": ["late"]}
    assert client.post(form.action, data=stale).status_code == 409


def _ticked(page: Page) -> list[str]:
    return sorted(box.partition("#")[0] for box in page.form("play").ticked)


def _turn(game: Table, seat: int) -> tuple[int, Any]:
    with engine.reading() as session:
        turn = session.get_one(Turn, (game.id, seat))
        return turn.opened_seq, turn.opened_at


def test_after_a_meld_the_page_counts_its_cards_and_marks_those_kept_back(client: FlaskClient, table: Any):
    game, _seat = brought(table, "meld")
    meld = next(move for move in legal_moves(game, FOE) if 1 < move.count(" ") < 6)
    seq = make(game, FOE, meld)
    page = look(client, f"{url(game, FOE)}?played={seq}")
    (heading,) = page.root.iter("h1")
    assert "".join(heading.itertext()) == f"You sealed a meld of {meld.count(' ')} cards."
    marked = page.html.count('<span class="plaque-mark">kept back</span>')
    assert marked == len(page.form("play").boxes) - meld.count(" ")
    assert f"{meld.count(' ')} cards" not in look(client, f"{url(game, FOE)}/history").text


def test_a_sealed_card_to_keep_can_be_changed(client: FlaskClient, table: Any):
    game, seat = brought(table, "keep")
    one, other = legal_moves(game, seat)[:2]
    make(game, seat, one)
    page = look(client, url(game, seat))
    assert "Your sealed card to pass on" in page.text
    assert press(client, page, "move", other).status_code == 303
    assert position(game.id).view(seat).chosen[seat] == (other.split()[1],)


def test_others_learn_that_something_is_sealed_and_no_more(client: FlaskClient, table: Any):
    game, _seat = brought(table, "meld")
    pages = [url(game, EMPEROR), f"{url(game, EMPEROR)}/history", f"/g/{game.id}/history", f"/g/{game.id}"]
    seen = []
    for meld in legal_moves(game, FOE)[:2]:
        make(game, FOE, meld)
        texts = [ID.sub("", client.get(page).text) for page in pages]
        assert all("Bob has sealed a meld." in text for text in texts[:3])
        assert all("has sealed" in text and "Bob seals" not in text for text in texts)
        records = [f"/api/v1/seats/{game.tokens[EMPEROR]}/record", f"/api/v1/games/{game.id}/record"]
        for record in records:
            assert '"move":"meld ?"' in client.get(record).text.replace('": ', '":')
            assert "redraw ? " in client.get(record).text
        seen.append(position(game.id).view(EMPEROR))
    assert seen[0] == seen[1]


def test_once_both_are_in_the_melds_are_open(client: FlaskClient, table: Any):
    game, _seat = brought(table, "meld")
    laid = {seat: legal_moves(game, seat)[0] for seat in (FOE, EMPEROR)}
    for seat in laid:
        make(game, seat, laid[seat])
    for path, mine in (
        (f"{url(game, EMPEROR)}/history", "You seal"),
        (f"/g/{game.id}/history", "Alice seals"),
    ):
        said = look(client, path).text
        assert f"{mine} a meld: " in said
        assert "Bob seals a meld: " in said
        assert "has sealed a meld" not in said


# Sums


def test_a_battle_can_be_followed_card_by_card(client: FlaskClient, table: Any):
    game, _seat = brought(table, "keep")
    page = look(client, f"/g/{game.id}")
    battle = position(game.id).view(0).battle
    assert battle is not None
    tables = [item for item in page.root.iter("table") if item.get("class") == "grid-table ledger"]
    for ledger, meld in zip(
        tables, (battle.melds[battle.emperor], battle.melds[1 - battle.emperor]), strict=True
    ):
        numbers = ["".join(cell.itertext()) for cell in ledger.iter("td")]
        assert [int(number.split("=")[-1]) for number in numbers[:-1]] == [
            c.force + c.bonus for c in meld.cards
        ]
        assert int(numbers[-1]) == sum(c.force + c.bonus for c in meld.cards) == meld.force


def test_cards_tell_in_words_what_is_printed_on_them(client: FlaskClient):
    rows = [
        ["".join(cell.itertext()) for cell in row] for row in look(client, "/rules/empire").root.iter("tr")
    ]
    told = [cells for cells in rows if len(cells) == 6 and cells[0] != "Card"]
    for card, cells in zip(CARDS, told, strict=True):
        assert (cells[0], cells[3]) == (card.name.replace("&", "and"), _kind(card))
        assert cells[1:3] == [str(card.copies), str(card.force)]
        assert (f"+{card.bonus} each" in cells[5]) == bool(card.bonus)
        assert (f"+{card.legacy} legacy" in cells[5]) == bool(card.legacy)
        assert ("bought off" in cells[5]) == (card.trait == "bought-off")
        assert ("can defend" in cells[5]) == (card.trait == "defence")
        assert ("single use" in cells[5]) == card.unique
        assert ("every age" in cells[4]) == (card.ages == "EML")


def _kind(card: Card) -> str:
    return card.kind.replace("-", " ") + (" people" if card.kind.endswith("thern") else "")


@pytest.mark.usefixtures("app")
def test_every_name_is_marked_for_translation():
    words = {"N_": None}
    found = {text for _line, text, *_ in extract_from_file("jinja2", _template("cards.html"), keywords=words)}
    assert {card.name.replace("&", "and") for card in CARDS} <= found


def _template(name: str) -> Path:
    return TEMPLATES / "games" / "empire" / name


# Mails


def mail_to(game: Table, seat: int) -> tuple[str, str]:
    """Return text and HTML of the newest turn email of a seat, as it would be sent now."""
    with engine.transaction() as session:
        query = select(Mail).where(Mail.kind == "turn", Mail.game_id == game.id, Mail.seat == seat)
        mail = session.scalars(query.order_by(Mail.id.desc())).first()
        assert mail is not None
        letter = compose_again(session, mail, NOW)
    message = message_from_bytes(letter.message.content, policy=policy.SMTP)
    text, html = message.get_body(("plain",)), message.get_body(("html",))
    assert text is not None
    assert html is not None
    return text.get_content(), html.get_content()


@pytest.mark.parametrize("kind", KINDS)
def test_a_turn_mail_says_what_is_asked_and_what_is_in_hand(table: Any, kind: str):
    game, seat = brought(table, kind)
    text, html = mail_to(game, seat)
    view = position(game.id).view(seat)
    names = {card.card: card.name.replace("&", "and") for card in CARDS}
    text = re.sub(r"\s+", " ", text)
    for part in (text, re.sub(r"\s+", " ", re.sub(r"<style>.*</style>|<[^>]+>", "", html, flags=re.DOTALL))):
        assert f"Year {view.year} of 12" in part
        hand = part[part.index("Your hand") : part.index("You can")]
        assert all(names[card] in hand for card in view.hand)
    assert "<" not in text.replace("<->", "")
    assert "&" not in re.sub(r"https://\S+", "", text)
    assert not re.search(r"- (territory|;)", text)
    if view.melds[0].cards:
        for side, who in (("Empire", view.emperor), ("Foes", view.foe)):
            name = "You" if who == seat else ("Alice", "Bob")[who]
            assert f"- {name} ({side}): {view.melds[who].force} – " in text


def test_a_mail_tells_of_a_sealed_meld_without_its_cards(table: Any):
    game, _seat = brought(table, "meld")
    make(game, FOE, legal_moves(game, FOE)[0])
    text, html = mail_to(game, EMPEROR)
    assert "\n  Has sealed a choice. " in text.replace("\r", "")
    assert "Bob has already chosen, so your choice takes effect at once." in text
    assert "Has sealed a choice" in html
    assert "seals a meld" not in text + html


# The look


def empire_pages(client: FlaskClient, table: Any) -> Iterator[tuple[str, Page]]:
    """Return every page of a running game and around it."""
    for kind in KINDS:
        game, seat = brought(table, kind)
        yield kind, look(client, url(game, seat))
        yield f"{kind} of the other", look(client, url(game, 1 - seat))
        yield f"{kind} in public", look(client, f"/g/{game.id}")
        if kind in ("redraw", "meld", "keep"):
            seq = make(game, seat, legal_moves(game, seat)[-1])
            yield f"{kind} sealed", look(client, url(game, seat))
            yield f"{kind} receipt", look(client, f"{url(game, seat)}?played={seq}")
    yield "history", look(client, f"{url(game, seat)}/history?at={count_entries(game.id)}")
    yield "public history", look(client, f"/g/{game.id}/history?at={count_entries(game.id)}")
    yield "rules", look(client, "/rules/empire")
    yield "lobby", look(client, "/")
    yield "new", look(client, "/new?game=empire")


def test_every_page_is_sound(client: FlaskClient, table: Any):
    for name, page in empire_pages(client, table):
        assert_sound(name, page)


DATA = re.compile(
    r"Byzanz|Empire and Foes|The Golden Horn|Alice|Bob|UTC|[0-9a-f]{64}|(Mon|Tue) \d+ Mar, \d\d:\d\d|\d+ Mar, \d\d:\d\d"
    r"|redraw siege riots|meld basil trade|defend vandals|negotiate avars|replace slavs|buy-off huns with taxes"
    r"|decline|keep plague|meld \?"
)


@pytest.mark.usefixtures("marked")
def test_every_text_can_be_translated(client: FlaskClient, table: Any):
    for name, page in empire_pages(client, table):
        if name not in ("lobby", "new"):
            assert forgotten(page, DATA) == [], name


def test_a_newcomer_finds_the_game(client: FlaskClient):
    lobby = look(client, "/")
    assert "Empire and Foes 2 players" in lobby.text
    assert {"/rules/empire", "/new?game=empire"} <= {item.get("href") for item in lobby.root.iter("a")}
    new = look(client, "/new?game=empire").root
    chosen = [item.get("value") for item in new.iter("input") if item.get("checked") is not None]
    assert chosen[0] == "empire"


# A whole game


@pytest.mark.parametrize(("luck", "reason"), [(6, "fallen"), (8, "finished")])
def test_a_whole_game_through_the_forms_without_scripts(
    client: FlaskClient, table: Any, luck: int, reason: str
):
    game, dice = begin_empire(table, "e-whole"), random.Random(luck)
    changed, asked_for = 0, set[str]()
    for _ in range(400):
        now = position(game.id)
        if now.outcome:
            break
        seat = dice.choice(sorted(now.awaited))
        asked_for.add(now.awaited[seat].kind)
        answer = _decide(client, look(client, url(game, seat)), dice)
        assert answer.status_code == 303, answer.text
        now = position(game.id)
        if not now.outcome and now.rules.out_of_turn_moves(now.state, seat) and dice.random() < 0.4:
            changed += 1
            answer = _decide(client, look(client, url(game, seat)), dice)
            assert answer.status_code == 303, answer.text
    assert now.outcome is not None
    assert now.outcome.reason == reason
    assert changed > 5
    assert asked_for >= {"redraw", "meld", "negotiate", "buy-off", "keep"}
    over = look(client, f"/g/{game.id}")
    assert "The most legacy wins; equal legacy is a draw." in over.text
    assert ("The Empire fell in year" in over.text) == (reason == "fallen")
    assert [str(score) in over.text for score in now.outcome.scores] == [True, True]
    assert look(client, url(game, 0)).status == 200
    history = look(client, f"{url(game, 0)}/history?at={now.head - 3}")
    assert any("’s hand" in item.get("aria-label", "") for item in history.root.iter("ul"))
    assert "?" not in [word for line in history.root.iter("li") for word in "".join(line.itertext()).split()]


def _decide(client: FlaskClient, page: Page, dice: random.Random) -> Any:
    """Press any button; in a form with checkboxes, mostly tick what it suggests, or a few."""
    buttons = page.form("play").buttons
    verbs = [value for name, value in buttons if name == "verb"]
    exact = [value for name, value in buttons if name == "move"]
    boxes = page.form("play").boxes
    if "redraw" in verbs and boxes and dice.random() < 0.7:
        return press(client, page, "verb", "redraw", dice.sample(boxes, dice.randint(1, min(4, len(boxes)))))
    if "meld" in verbs and dice.random() < 0.5 and exact[0] != "meld":
        return press(client, page, "verb", "meld", ticks(page, exact[0].split()[1:]))
    return press(client, page, "move", exact[0] if "meld" in verbs else dice.choice(exact))
