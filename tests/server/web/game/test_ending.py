"""The page of a finished game: the podium, its highlights, and the preview that messengers show."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from xml.etree.ElementTree import Element

import flask
import pytest
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import example, given
from hypothesis import strategies as st

from byzanz.games import latest
from server.config import settings
from server.store import engine
from server.store.models import Game, Person, Seat, Turn
from server.web.game.charts import short_names
from tests.conftest import NOW, Table
from tests.server.web.game.test_charts import CHARTS, finish
from tests.support.game_data import SEATS
from tests.support.mails import html_of, send_waiting, text_of
from tests.support.pages import Page, assert_sound, log_in, look

Begin = Callable[..., Table]


def finished_game(table: Begin, slug: str = "byzanz") -> Table:
    """Play a game to its end."""
    game = table(SEATS[slug], slug=slug)
    finish(game)
    return game


def result(game_id: str) -> dict[str, list[int]]:
    """Return the stored result."""
    with engine.reading() as session:
        found: dict[str, list[int]] = json.loads(session.get_one(Game, game_id).result or "")
        return found


def by_class(page: Page, name: str) -> Element:
    """Return the element with this class."""
    return next(item for item in page.root.iter() if name in (item.get("class") or "").split())


def text(item: Element) -> str:
    """Return the words of an element."""
    return " ".join("".join(item.itertext()).split())


@pytest.mark.parametrize("slug", CHARTS)
def test_the_podium_ranks_everybody_and_marks_the_winner(
    client: FlaskClient, table: Begin, slug: str
) -> None:
    game = finished_game(table, slug)
    page = look(client, f"/g/{game.id}")
    assert_sound(slug, page)
    places = [text(item) for item in by_class(page, "podium")]
    told, found = result(game.id), []
    scores = told["scores"]
    best_first = sorted(range(len(scores)), key=lambda seat: (seat not in told["winners"], scores[seat]))
    if slug != "byzantium":
        best_first.sort(key=lambda seat: (seat not in told["winners"], -scores[seat]))
    for seat in best_first:
        place = 1 + [scores[other] for other in best_first].index(scores[seat])
        name = ("Alice", "Bob", "Charlie")[seat]
        found.append(f"{name} {told['scores'][seat]}{', winner' if seat in told['winners'] else ''}{place}")
    assert places == found


def test_the_steps_of_the_podium_are_to_scale(client: FlaskClient, table: Begin) -> None:
    game = finished_game(table, "byzanz")
    page = look(client, f"/g/{game.id}")
    scores = sorted(result(game.id)["scores"], reverse=True)
    steps = [item.find("svg") for item in page.root.iter("span") if item.get("class") == "step"]
    heights = [
        int((step.get("viewBox") or step.get("viewbox") or "").split(" ")[3])
        for step in steps
        if step is not None
    ]
    assert heights == [round(150 * max(score / scores[0], 0.2)) for score in scores]


@pytest.mark.parametrize(
    ("scores", "ranking", "heights"),
    [
        ([0, 0, 0], [(1, 0), (1, 1), (1, 2)], [150, 150, 150]),  # nobody has sold anything
        ([-4, 0], [(1, 0), (2, 1)], [150, 75]),  # the fewest points win
        ([0, 0], [(1, 1), (1, 0)], [150, 150]),
        ([-2, -4], [(1, 0), (2, 1)], [150, 75]),
    ],
)
def test_a_podium_without_positive_scores_has_steps_by_place(
    app: Flask, scores: list[int], ranking: list[tuple[int, int]], heights: list[int]
) -> None:
    result = {"scores": scores, "winners": [ranking[0][1]]}
    with app.test_request_context():
        html = flask.render_template(
            "partials/podium.html", names=["Ann", "Bob", "Cem"], result=result, ranking=ranking
        )
    assert [int(height) for height in re.findall(r'viewBox="0 0 100 (\S+)"', html)] == heights


def test_it_says_how_it_was_won_and_leads_to_another_game(client: FlaskClient, table: Begin) -> None:
    game = finished_game(table, "byzanz")
    page = look(client, f"/g/{game.id}")
    scores = result(game.id)["scores"]
    first, second, _third = sorted(scores, reverse=True)
    behind = f"{('Alice', 'Bob', 'Charlie')[scores.index(second)]} came second, {first - second} behind."
    assert behind in page.text
    assert "/new?game=byzanz" in {item.get("href") for item in page.root.iter("a")}
    again = next(item for item in page.root.iter("form") if item.get("action") == "/play")
    assert [item.get("value") for item in again.iter("button")] == ["byzanz"]
    shown, folded = page.html.split("More charts")
    assert [part.count("<figure") for part in (shown, folded)] == [2, 2]


def test_the_page_speaks_to_the_reader_and_marks_their_place(client: FlaskClient, table: Begin) -> None:
    game = finished_game(table, "byzanz")
    told = result(game.id)
    scores, winner = told["scores"], told["winners"][0]
    ranked = sorted(range(3), key=lambda seat: (seat != winner, -scores[seat]))
    for seat, place in zip(ranked, ("1st", "2nd", "3rd"), strict=True):
        log_in(client, game.people[seat])
        page = look(client, f"/g/{game.id}")
        assert_sound(place, page)
        (heading,) = page.root.iter("h1")
        won = f"{('Alice', 'Bob', 'Charlie')[winner]} won with {scores[winner]}."
        assert text(heading) == (
            f"You won with {scores[winner]}!" if seat == winner else f"You came {place} with {scores[seat]}."
        )
        assert (won in page.text) == (seat != winner)
        podium = [text(item) for item in by_class(page, "podium") if " you " in text(item)]
        assert podium == [
            text(item) for item in by_class(page, "podium") if "reader" in item.get("class", "")
        ]
        assert len(podium) == 1
        assert podium[0].startswith(("Alice", "Bob", "Charlie")[seat])
        strong = [item for item in page.root.iter("g") if "reader" in item.get("class", "")]
        assert len(strong) == 1
        assert text(strong[0]) == ("Alice", "Bob", "Charlie")[seat]
    assert 'og:title" content="The Golden Horn: You' not in page.html


def test_the_winner_of_a_tie_is_said_to_have_more_cards(client: FlaskClient, table: Begin) -> None:
    game = finished_game(table, "byzanz")
    assert "ties go to the player with more cards left." in look(client, f"/g/{game.id}").text
    with flask.current_app.test_request_context():
        words = flask.current_app.jinja_env.get_template("games/byzanz/words.html").module
        view = SimpleNamespace(hand_sizes=(1, 2, 1, 4))
        scores = {"scores": [23, 27, 28, 23]}
        ranking = [(1, 2), (2, 1), (3, 3), (4, 0)]
        said = words.rule(view, ("Ann", "Chloe", "Bob", "Dan"), scores, ranking)  # type: ignore[attr-defined]
    assert said.endswith("more cards left: Dan 4, Ann 1.")


@pytest.mark.parametrize("slug", CHARTS)
def test_the_highlights_are_told_in_the_order_of_the_game(
    client: FlaskClient, table: Begin, slug: str
) -> None:
    game = finished_game(table, slug)
    told = by_class(look(client, f"/g/{game.id}"), "told")
    seqs = [int(seq) for item in told.iter() for seq in re.findall(r"\?at=(\d+)$", item.get("href") or "")]
    assert len(seqs) >= 2
    assert seqs == sorted(seqs)


def test_highlights_are_told_to_those_whose_they_are(client: FlaskClient, table: Begin) -> None:
    game = finished_game(table, "byzanz")
    said = [text(item) for item in by_class(look(client, f"/g/{game.id}"), "told").iter("p")]
    for seat, name in enumerate(("Alice", "Bob", "Charlie")):
        log_in(client, game.people[seat])
        own = [text(item) for item in by_class(look(client, f"/g/{game.id}"), "told").iter("p")]
        assert [each.replace("You ", f"{name} ").replace(" you ", f" {name} ") for each in own] == said
        assert [("You " in each or " you " in each) for each in own] == [name in each for each in said]


@pytest.mark.parametrize("slug", CHARTS)
def test_each_highlight_leads_to_the_history(client: FlaskClient, table: Begin, slug: str) -> None:
    game = finished_game(table, slug)
    items = list(by_class(look(client, f"/g/{game.id}"), "told"))
    assert 2 <= len(items) <= 3
    for item in items:
        [link] = [each for each in item.iter() if each.tag.endswith("a")]
        assert re.fullmatch(rf"/g/{game.id}/history\?at=\d+", link.get("href") or "")
        assert look(client, link.get("href") or "").status == 200


def test_a_messenger_can_show_the_result_and_nothing_private(client: FlaskClient, table: Begin) -> None:
    game = finished_game(table)
    page = look(client, f"/g/{game.id}").html
    tags = dict(re.findall(r'<meta property="(og:\w+)" content="([^"]*)">', page))
    assert tags["og:title"].startswith("The Golden Horn: ")
    assert all(name in tags["og:description"] for name in ("Alice", "Bob", "Charlie"))
    base = settings().base_url
    assert tags["og:url"] == f"{base}/g/{game.id}"
    assert tags["og:image"] == f"{base}/static/share-byzanz.png"
    assert f'value="{base}/g/{game.id}"' in page
    assert not any(token in page for token in game.tokens)
    assert "@" not in "".join(tags.values())


@pytest.mark.parametrize("slug", [rules.slug for rules in latest()])
def test_the_picture_of_each_game_is_there(client: FlaskClient, slug: str) -> None:
    page = look(client, f"/rules/{slug}").html
    [picture] = re.findall(r'<meta property="og:image" content="([^"]*)">', page)
    with client.get(picture.removeprefix(settings().base_url)) as answer:
        assert (answer.status_code, answer.mimetype) == (200, "image/png")


def test_a_running_game_has_no_preview(client: FlaskClient, table: Begin) -> None:
    assert "og:" not in look(client, f"/g/{table(3).id}").html


def test_long_names_in_charts_are_cut_so_that_they_differ(client: FlaskClient, table: Begin) -> None:
    game = finished_game(table)
    names = ("Annabella the Great", "Annabella the Small", "Ann")
    with engine.transaction() as session:
        for seat, name in enumerate(names):
            session.get_one(Seat, (game.id, seat)).stored_name = name
    page = look(client, f"/g/{game.id}").html
    labels = re.findall(r'<text x="\d+\.\d" y="[\d.]+">([^<]+)</text>', page)
    assert set(labels) >= {"Annab…eat", "Annab…all", "Ann"}


@given(
    st.lists(
        st.from_regex(r"[ab]{1,6}( [ab]{1,9}){0,2}|[ab…1]{8,12}", fullmatch=True), max_size=6, unique=True
    )
)
@example(["Ann Marie", "Ann", "Annamarie Small", "Annamarie Tall"])
@example(["aaaaaaaaaa", "aaaaaaaa…", "aaaaa…aaa", "aaaaaaa…1"])
def test_no_two_short_names_are_alike(names: list[str]) -> None:
    short = short_names(names)
    assert len(set(short)) == len(names)
    assert all(len(cut) <= 9 or cut == name for cut, name in zip(short, names, strict=True))
    assert all(cut == name for cut, name in zip(short, names, strict=True) if len(name) <= 9)


def test_public_pages_tell_times_in_the_signed_in_readers_zone(client: FlaskClient, table: Begin) -> None:
    game = table(3, time_zone="Europe/Berlin")
    with engine.transaction() as session:
        for turn in session.query(Turn).filter_by(game_id=game.id):
            turn.started_at = NOW
    pages = (f"/g/{game.id}", f"/g/{game.id}/history")
    assert "Times: Berlin" in look(client, pages[0]).text
    before = look(client, pages[1]).text
    with engine.transaction() as session:
        session.get_one(Person, game.people[1]).time_zone = "Asia/Tokyo"
    log_in(client, game.people[1])
    assert "Times: Tokyo" in look(client, pages[0]).text
    assert look(client, pages[1]).text != before


@pytest.mark.parametrize("slug", CHARTS)
def test_the_email_about_the_end_tells_the_same_moments(client: FlaskClient, table: Begin, slug: str) -> None:
    game = finished_game(table, slug)
    page = look(client, f"/g/{game.id}")
    told = [text(item) for item in by_class(page, "told").iter("strong")]
    mails = [
        mail
        for mail in send_waiting(NOW + timedelta(days=400))
        if "Everything is now revealed" in text_of(mail)
    ]
    assert mails
    for mail in mails:
        moments = text_of(mail).partition("Highlights\n")[2].partition("Everything is")[0]
        assert [line.partition(":")[0] for line in moments.splitlines() if line] == [
            f"- {title}" for title in told
        ]
        assert not re.search(r":$", moments, re.MULTILINE)
        assert "<h2" in html_of(mail).partition("Highlights")[0][-300:]
