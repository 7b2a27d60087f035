"""A game's public page and history: what each reader may see, and the position at any entry."""

from __future__ import annotations

import html
import random
import re
from typing import Any

import pytest
from flask.testing import FlaskClient
from jinja2 import ChoiceLoader, DictLoader

from byzanz.games.byzanz.state import NAME
from server import play
from server.mail.text import quoted
from server.play import history, positions
from server.store import engine, log
from server.store.models import Game, Person, Seat, StandingOrder
from server.web.game.history import PAGE_SIZE
from tests.conftest import NOW
from tests.support.games import advance, asked, count_entries, loaded, make, make_reader, position, seqs, url
from tests.support.pages import Page, assert_sound, look


def paths(game: Any) -> list[str]:
    return [f"/g/{game.id}/history", f"{url(game, 0)}/history"]


def test_it_lists_every_entry_with_its_time(client: FlaskClient, table: Any):
    game = table(4)
    advance(game, "take")
    for path in paths(game):
        page = look(client, path)
        assert seqs(page) == list(range(1, count_entries(game.id) + 1))
        assert page.html.count("<time datetime=") == count_entries(game.id)
        assert "The cards are shuffled and dealt." in page.text


def test_the_order_of_the_cards_is_told_to_nobody_while_the_game_runs(client: FlaskClient, table: Any):
    game = table(4)
    for path in [*paths(game), f"/g/{game.id}", f"/g/{game.id}/history?at=1"]:
        answer = client.get(path)
        assert not any(name in answer.text for name in NAME if name != "merchant")
        assert bytes(32).hex() not in answer.text


def test_others_never_learn_whether_a_move_was_forced(client: FlaskClient, table: Any):
    game = table(3)
    forced = None
    while forced is None:
        now = position(game.id)
        mover = min(now.awaited)
        seq = make(game, mover, str(now.rules.moves(now.state, mover)[-1]))
        with engine.reading() as session:
            made = log.entries(session, game.id, after=seq)
        forced = next((entry for entry in made if entry.by == "rules"), None)
    assert forced.seat is not None
    others = [f"/g/{game.id}/history", f"{url(game, (forced.seat + 1) % 3)}/history"]
    assert "only legal move" in line_of(look(client, f"{url(game, forced.seat)}/history"), forced.seq)
    for path in others:
        assert "only legal move" not in line_of(look(client, path), forced.seq)
        assert forced.seq not in seqs(look(client, f"{path}?cause=rules"))


def line_of(page: Page, seq: int) -> str:
    """Return the line of an entry."""
    item = next(item for item in page.root.iter("li") if item.get("id") == f"e{seq}")
    return " ".join("".join(item.itertext()).split())


def test_it_shows_the_table_as_it_stood(client: FlaskClient, table: Any):
    game = table(4)
    hand = position(game.id).view(0).hand
    advance(game, "take")
    page = look(client, f"{url(game, 0)}/history?at=1")
    drawn = re.search(r'aria-label="Alice’s hand">(.*?)</ul>', page.html)
    assert drawn
    assert drawn[1].count("<li>") == len(hand)
    assert "Bob’s hand" not in page.html
    assert 'rel="next"' in page.html
    assert 'rel="prev"' not in page.html
    last = look(client, f"/g/{game.id}/history?at={count_entries(game.id)}")
    assert 'rel="next"' not in last.html
    assert "Hand of" not in last.html


@pytest.mark.parametrize("query", ["at=0", "at=99999", "at=x", "at=-1", "at=²", "at=" + "9" * 40, "before=x"])
def test_an_entry_that_is_not_there_gets_one_clear_line(client: FlaskClient, table: Any, query: str):
    game = table(3)
    for path in paths(game):
        answer = client.get(f"{path}?{query}")
        assert answer.status_code == 400
        assert "There is no entry" in answer.text


def hours(page: Page) -> set[str]:
    """Return the hours of the times of a page's entries."""
    return {"".join(item.itertext())[-5:-3] for item in page.root.iter("time")}


def test_times_are_in_the_readers_time_zone_during_the_game_and_after_its_end(
    client: FlaskClient, table: Any
):
    game = table(3, time_zone="Asia/Tokyo")
    with engine.transaction() as session:
        session.get_one(Person, game.people[0]).time_zone = "America/New_York"
    seqs = [make(game, seat, "pass") for seat in (0, 1, 2)]
    places = [
        (url(game, 0), "05"),
        (f"{url(game, 0)}/history", "05"),
        (f"{url(game, 0)}?played={seqs[0]}", "05"),
        (url(game, 1), "19"),
        (f"{url(game, 1)}/history", "19"),
        (f"{url(game, 1)}?played={seqs[1]}", "19"),
        (f"/g/{game.id}/history", "19"),
    ]
    assert [hours(look(client, path)) for path, _ in places] == [{hour} for _, hour in places]
    play.moderate(game.id, "!abandon", reason="Enough", person_id=make_reader(), now=NOW)
    assert [hours(look(client, path)) for path, _ in places] == [{hour} for _, hour in places]


def test_it_filters_by_seat_and_cause(client: FlaskClient, table: Any):
    game = table(3)
    make(game, 0, "pass")
    make(game, 1, "pass")
    path = f"/g/{game.id}/history"
    assert seqs(look(client, f"{path}?seat=1")) == [3]
    assert seqs(look(client, f"{path}?cause=chance")) == [1]
    assert seqs(look(client, f"{path}?seat=1&cause=chance")) == []
    assert seqs(look(client, f"{path}?seat=<b>&cause=nobody")) == [1, 2, 3]


def test_what_was_taken_back_is_struck(client: FlaskClient, table: Any):
    game = table(3)
    make(game, 0, "pass")
    make(game, 1, "pass")
    play.moderate(game.id, "!void 3", reason="Bob slipped <i>", person_id=make_reader(), now=NOW)
    page = look(client, f"/g/{game.id}/history")
    assert "<s>Bob passes.</s>" in page.html
    assert "<s>Alice passes.</s>" not in page.html
    assert "undone by entry 4" in page.text
    assert html.escape("Bob slipped <i>") in page.html
    assert "Bob slipped" in look(client, url(game, 1)).text


def test_an_ended_game_is_open_to_all(client: FlaskClient, table: Any):
    game = table(3)
    make(game, 0, "pass")
    play.moderate(game.id, "!abandon", reason="Enough", person_id=make_reader(), now=NOW)
    page = look(client, f"/g/{game.id}")
    assert "The game was ended early; nobody wins." in page.text
    assert bytes(32).hex() in page.html
    assert f"/api/v1/games/{game.id}/record" in page.html
    for path in (f"/g/{game.id}", f"/g/{game.id}/history?at=1", f"{url(game, 0)}/history?at=1"):
        shown = look(client, path).html
        assert all(f"{name}’s hand" in shown for name in ("Alice", "Bob", "Charlie"))


def test_a_running_game_shows_commitment_and_cuts_to_everybody(client: FlaskClient, table: Any):
    game = table(3)
    with engine.transaction() as session:
        session.get_one(Seat, (game.id, 1)).cut = "<img src=x>"
        session.get_one(Seat, (game.id, 2)).uncut = True
        commitment = session.get_one(Game, game.id).commitment
    page = look(client, f"/g/{game.id}")
    assert commitment in page.html
    assert "<img" not in page.html
    assert "“<img src=x>”" in page.text
    assert "suggested by the server" in page.text
    assert "Hand of" not in page.html


def test_before_the_start_only_names_are_shown(client: FlaskClient, table: Any):
    game = table(3)
    with engine.transaction() as session:
        session.get_one(Game, game.id).status = "inviting"
        session.get_one(Seat, (game.id, 2)).status = "invited"
    page = look(client, f"/g/{game.id}")
    assert "Alice" in page.text
    assert "Charlie" not in page.text
    assert "’s cut" not in page.text
    assert client.get(f"/g/{game.id}/history").status_code == 404


@pytest.mark.parametrize("game_id", ["nobody", "x" * 100, "a b", "%00", "..", "asked"])
def test_an_unknown_game_is_not_found(client: FlaskClient, table: Any, game_id: str):
    game = table(3, "asked")
    with engine.transaction() as session:
        session.get_one(Game, game.id).status = "asked"
    for path in (f"/g/{game_id}", f"/g/{game_id}/history"):
        assert client.get(path).status_code == 404


def test_a_game_set_aside_says_so(client: FlaskClient, table: Any):
    game = table(3)
    with engine.transaction() as session:
        session.get_one(Game, game.id).quarantine = quoted("entry 2 is secret nonsense")
    for path in (url(game, 0), f"/g/{game.id}", *paths(game)):
        answer = client.get(path)
        assert answer.status_code == 409
        assert "This game is on hold" in answer.text
        assert "nonsense" not in answer.text


def test_a_long_log_comes_in_pages(client: FlaskClient, table: Any):
    game = table(3)
    person = make_reader()
    for number in range(2 * PAGE_SIZE + 1):
        play.moderate(game.id, "!note", reason=f"Note {number}", person_id=person, now=NOW)
    path = f"/g/{game.id}/history"
    last = 2 * PAGE_SIZE + 2
    page = look(client, path)
    assert seqs(page) == list(range(last - PAGE_SIZE + 1, last + 1))
    assert links(page, "Later entries") == []
    seen = seqs(page)
    while earlier := links(page, "Earlier entries"):
        page = look(client, path + earlier[0])
        assert not set(seqs(page)) & set(seen)
        assert links(page, "Later entries")
        seen = [*seqs(page), *seen]
    assert seen == list(range(1, last + 1))
    assert seqs(look(client, path + links(page, "Later entries")[0])) == list(range(3, 3 + PAGE_SIZE))
    for at in (1, 60, PAGE_SIZE, PAGE_SIZE + 30, last):
        assert at in seqs(look(client, f"{path}?at={at}"))
        assert len(seqs(look(client, f"{path}?at={at}"))) == PAGE_SIZE


def links(page: Page, text: str) -> list[str]:
    """Return the targets of links with this text."""
    return [item.get("href", "") for item in page.root.iter("a") if "".join(item.itertext()) == text]


def rels(page: Page) -> dict[str, str]:
    """Return the links for stepping from position to position."""
    return {item.get("rel", ""): item.get("href", "") for item in page.root.iter("a") if item.get("rel")}


def headings(page: Page, tag: str) -> list[str]:
    return ["".join(item.itertext()) for item in page.root.iter(tag)]


def test_one_steps_from_moment_to_moment_by_plain_links(client: FlaskClient, table: Any):
    game = table(3)
    for seat in (0, 1, 2):
        make(game, seat, "pass")
    last = count_entries(game.id)
    for path in paths(game):
        assert rels(look(client, f"{path}?at=1")) == {"next": "?at=2", "last": f"?at={last}"}
        assert rels(look(client, f"{path}?at=2&seat=1")) == {
            "first": "?at=1&seat=1",
            "prev": "?at=1&seat=1",
            "next": "?at=3&seat=1",
            "last": f"?at={last}&seat=1",
        }
        assert set(rels(look(client, f"{path}?at={last}"))) == {"first", "prev"}
        assert set(rels(look(client, path))) == {"first", "prev"}  # without an entry, the newest is shown
        assert f"Entry {last} of {last}" in look(client, path).text
        assert "history.js" in look(client, path).html


def test_an_entry_is_shown_with_its_cards_and_its_neighbours(client: FlaskClient, table: Any):
    game = table(3)
    card = next(card for card in position(game.id).view(0).hand if card != "merchant")
    make(game, 0, f"bid {card}")
    make(game, 1, "pass")
    page = look(client, f"/g/{game.id}/history?at=2")
    [said] = [item for item in page.root.iter() if item.get("id") == "said"]
    assert [item.get("class") for item in said.iter("svg")] == [f"card good-{card[:-1]}"]
    near = [item.text or "" for item in page.root.iter("p") if "near" in (item.get("class") or "").split()]
    assert [text.split(" ")[0] for text in near] == ["1", "3"]


def test_any_moment_is_chosen_by_a_form_without_scripts(client: FlaskClient, table: Any):
    game = table(3)
    make(game, 0, "pass")
    page = look(client, f"/g/{game.id}/history?seat=1")
    [form] = [item for item in page.root.iter("form") if any(i.get("id") == "moment" for i in item.iter())]
    fields = {item.get("name"): item for item in form.iter("input")}
    assert (form.get("method"), form.get("action")) == ("get", f"/g/{game.id}/history")
    assert (fields["at"].get("min"), fields["at"].get("max")) == ("1", str(count_entries(game.id)))
    assert fields["seat"].get("value") == "1"
    assert "Entry 2 of 2" in look(client, f"/g/{game.id}/history?seat=1&at=2").text


def test_entries_stand_under_the_parts_of_the_game(client: FlaskClient, table: Any):
    game = table(3)
    advance(game, "take")
    seat = asked(game)
    last = make(game, seat, str(position(game.id).rules.moves(position(game.id).state, seat)[0]))
    page = look(client, f"/g/{game.id}/history")
    assert headings(page, "h3") == ["Round 1"]
    assert headings(page, "h4") == ["The lot of 6", "The lot of 4", "The lot of 2", "Market day"]
    jumps = [item for item in page.root.iter("ul") if item.get("class") == "jumps"]
    [first] = [item for item in jumps[0].iter("a") if "".join(item.itertext()) == "The lot of 4"]
    shown = look(client, f"/g/{game.id}/history{first.get('href')}")
    assert "The lot of 4" in headings(shown, "h2")
    assert last in seqs(look(client, f"/g/{game.id}/history?part=round+1"))
    assert seqs(look(client, f"/g/{game.id}/history?part=round+1&seat=0")) == seqs(
        look(client, f"/g/{game.id}/history?seat=0")
    )
    assert seqs(look(client, f"/g/{game.id}/history?part=round+9")) == seqs(page)


def folded(page: Page) -> dict[str, bool]:
    """Return whether each part of the game is folded away, by its heading."""
    parts = [item for item in page.root.iter("details") if item.get("class") == "part"]
    return {"".join(next(part.iter("h3")).itertext()): part.get("open") is None for part in parts}


def test_rounds_are_folded_but_for_the_one_shown(client: FlaskClient, table: Any):
    game = table(3)
    for _ in range(1000):
        seat, begun = asked(game), position(game.id).view(0).round == 3
        make(game, seat, str(position(game.id).rules.moves(position(game.id).state, seat)[0]))
        if begun:
            break
    path, last = f"/g/{game.id}/history", count_entries(game.id)
    rounds = ["Round 1", "Round 2", "Round 3"]
    assert folded(look(client, path)) == dict(zip(rounds, (True, True, False), strict=True))
    assert folded(look(client, f"{path}?at=2")) == dict(zip(rounds, (False, True, True), strict=True))
    assert folded(look(client, f"{path}?at=2&before={last}"))["Round 1"] is False
    assert not any(folded(look(client, f"{path}?at=2&cause=player")).values())
    assert len(seqs(look(client, f"{path}?at=2"))) == last, "what is folded is on the page"


def hands(page: Page) -> list[str]:
    """Return whose hands are on the table."""
    return re.findall(r'aria-label="(\w+)’s hand"', page.html)


def viewers(page: Page) -> dict[str, str]:
    """Return the links to the same moment as others saw it."""
    [line] = [item for item in page.root.iter("p") if item.get("class") == "eyes"]
    return {"".join(item.itertext()): item.get("href", "") for item in line.iter("a")}


def test_a_finished_game_shows_each_moment_as_each_seat_saw_it(client: FlaskClient, table: Any):
    game = table(3)
    make(game, 0, "pass")
    play.moderate(game.id, "!abandon", reason="Enough", person_id=make_reader(), now=NOW)
    for path in paths(game):
        page = look(client, f"{path}?at=2&seat=0")
        assert hands(page) == ["Alice", "Bob", "Charlie"]
        assert viewers(page) == {
            "Alice": "?at=2&seat=0&as=0",
            "Bob": "?at=2&seat=0&as=1",
            "Charlie": "?at=2&seat=0&as=2",
            "spectators": "?at=2&seat=0&as=public",
        }
        as_bob = look(client, path + viewers(page)["Bob"])
        assert hands(as_bob) == ["Bob"]
        assert viewers(as_bob)["everything"] == "?at=2&seat=0"
        assert viewers(as_bob)["Charlie"] == "?at=2&seat=0&as=2"
        assert rels(as_bob)["next"] == "?at=3&as=1&seat=0"
        assert hands(look(client, f"{path}?at=2&as=public")) == []


def test_a_running_game_is_seen_by_nobody_through_another_s_eyes(client: FlaskClient, table: Any):
    game = table(3)
    make(game, 0, "pass")
    public, own = paths(game)
    assert viewers(look(client, own)) == {"spectators": "?at=2&as=public"}
    assert hands(look(client, f"{own}?at=2&as=public")) == []
    for path, shown in ((public, []), (own, ["Alice"])):
        for viewer in ("1", "all", "0", "-1", "x", ""):
            assert hands(look(client, f"{path}?at=2&as={viewer}")) == shown, viewer
    assert 'class="eyes"' not in look(client, public).html


def test_the_table_is_told_which_entry_to_mark(client: FlaskClient, table: Any, monkeypatch: Any):
    game = table(3)
    make(game, 0, "pass")
    act = play.moderate(game.id, "!note", reason="Well", person_id=make_reader(), now=NOW)
    jinja = client.application.jinja_env
    assert jinja.loader is not None
    own = DictLoader({"games/byzanz/table.html": "marked: {{ marked|map(attribute='seq')|join }}."})
    monkeypatch.setattr(jinja, "loader", ChoiceLoader([own, jinja.loader]))
    monkeypatch.setattr(jinja, "cache", None)
    assert "marked: 2." in look(client, f"{url(game, 0)}/history?at=2").text
    assert "marked: ." in look(client, f"{url(game, 0)}/history?at={act}").text


def test_a_round_is_chosen_by_itself(client: FlaskClient, table: Any):
    game = table(2, slug="byzantium")
    while position(game.id).view(0).round == 1:
        now = position(game.id)
        seat = min(now.awaited)
        make(game, seat, str(now.rules.moves(now.state, seat)[0]))
    whole = look(client, f"/g/{game.id}/history")
    first, second = (seqs(look(client, f"/g/{game.id}/history?part=round+{n}")) for n in (1, 2))
    assert [*first, *second] == seqs(whole)
    assert headings(whole, "h3") == ["Round 1", "Round 2"]
    assert "Round 2" in line_of(look(client, f"/g/{game.id}/history?part=round+2"), second[0])


def test_the_table_at_any_moment_is_the_position_of_that_moment(table: Any):
    game = table(3)
    advance(game, "take")
    person = make_reader()
    seq = next(e.seq for e in log_of(game.id) if e.move == "pass")
    play.moderate(game.id, f"!void {seq}", reason="A slip", person_id=person, now=NOW)
    play.moderate(game.id, "!resume", reason="On", person_id=person, now=NOW)
    advance(game, "take", seed=4)
    with engine.reading() as session:
        hand = loaded(session, game.id)
        told = history.load(hand, 1)
        for at in range(1, hand.game.head + 1):
            state = positions.replay(hand.game, 3, told.rules, log.entries(session, game.id, upto=at))
            assert told.view(at) == told.rules.view(state, 1), at
    begun = told.openings()
    assert begun["round 1", "lot 4"] > seq, "a part that began anew is told by its last beginning"


def log_of(game_id: str) -> list[Any]:
    with engine.reading() as session:
        return log.entries(session, game_id)


def test_sealed_orders_are_shown_at_their_moments_once_the_game_is_over(client: FlaskClient, table: Any):
    game = table(3)
    make(game, 0, "pass")
    person = make_reader()
    with engine.transaction() as session:
        session.add(
            StandingOrder(
                game_id=game.id,
                seat=2,
                number=1,
                text="pass every lot",
                scope="",
                left_at=NOW,
                left_seq=2,
                status="withdrawn",
                ended_seq=4,
            )
        )
    for seat in (1, 2):
        make(game, seat, "pass")
    assert "Sealed orders" not in look(client, f"{url(game, 2)}/history?at=3").text
    play.moderate(game.id, "!abandon", reason="Enough", person_id=person, now=NOW)
    shown = [
        at
        for at in range(1, count_entries(game.id) + 1)
        if "Standing orders at this point" in look(client, f"/g/{game.id}/history?at={at}").text
    ]
    assert shown == [2, 3]


@pytest.mark.parametrize(("slug", "n"), [("byzanz", 6), ("empire", 2), ("byzantium", 4)])
def test_a_history_is_light_wherever_one_stands(client: FlaskClient, table: Any, slug: str, n: int):
    game = table(n, slug=slug)
    dice = random.Random(5)
    while not (now := position(game.id)).outcome and now.head < 150:
        seat = min(now.awaited)
        moves = now.rules.moves(now.state, seat)
        make(game, seat, str(dice.choice(moves[: 6 if slug == "byzanz" else None])))
    last = count_entries(game.id)
    for at in (1, last // 2, last - 5):
        page = look(client, f"{url(game, 0)}/history?at={at}")
        assert_sound(slug, page)
        assert len(page.html.encode()) < 60_000, (at, len(page.html))


def test_each_end_has_its_sentence(client: FlaskClient, table: Any):
    game = table(3)
    asked(game)
    with engine.transaction() as session:
        row = session.get_one(Game, game.id)
        row.status, row.result = "over", '{"scores":[7,7,3],"winners":[0,1],"reason":"finished"}'
    assert "Alice and Bob share the win with 7 each." in look(client, f"/g/{game.id}").text
    with engine.transaction() as session:
        session.get_one(Game, game.id).result = '{"scores":[7,6,3],"winners":[0],"reason":"finished"}'
    assert "Alice won with 7." in look(client, f"/g/{game.id}").text


def test_a_running_game_is_watched_with_its_latest_moves(client: FlaskClient, table: Any):
    game = table(4)
    advance(game, "take")
    page = look(client, f"/g/{game.id}")
    last = count_entries(game.id)
    assert seqs(page) == list(range(last, last - 16, -1)), "the newest first"
    assert "The Golden Horn · Watching: hands are hidden" in page.text
    assert "What happened last" in page.text
    won_last = r'<li class="strip">\s*<p><b>\w+ (won|got) the lot of 2'
    assert re.search(won_last, page.html), "in pictures"
    assert "to move" in page.text
    assert len(set(re.findall(r'class="by" data-initial="(.)"', page.html))) == 1, (
        "only the latest move is marked"
    )
    assert "Start your own game" in page.text


@pytest.mark.parametrize("verb", ["bid", "pass", "tax", "take", "sell", "discard", "done"])
def test_every_move_marks_its_player_on_the_table(client: FlaskClient, table: Any, verb: str):
    game = table(3)
    rng = random.Random(7)
    for _turn in range(400):
        now = position(game.id)
        if now.outcome:
            break
        seat = min(now.awaited)
        moves = now.rules.moves(now.state, seat)
        make(game, seat, str(rng.choice([move for move in moves if move.verb == verb] or moves)))
    with engine.reading() as session:
        whole = log.entries(session, game.id)
    found = [entry for entry in whole[:-1] if entry.move.split()[0] == verb][:6]  # the last one ends the game
    assert found
    for entry in found:
        page = look(client, f"/g/{game.id}/history?at={entry.seq}")
        initials = re.findall(r'class="by" data-initial="(.)"', page.html)
        assert set(initials) == {name_at(game, entry.seat)[0]}, entry


def name_at(game: Any, seat: int | None) -> str:
    """Return the name of a seat."""
    with engine.reading() as session:
        return session.query(Seat).filter_by(game_id=game.id, seat=seat).one().stored_name
