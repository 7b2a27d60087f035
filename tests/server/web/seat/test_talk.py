"""Table talk on a seat's pages: what stands where, what is refused, and what becomes of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

import html5lib
import pytest
from flask.testing import FlaskClient
from sqlalchemy import func, select

from server import play
from server.community import reports, talk
from server.lobby import visitors
from server.store import engine
from server.store.engine import utc_now
from server.store.models import Alert, Block, Game, Mute, Notes, Person, Word
from tests.conftest import Table, begun
from tests.support.games import change, outsider, row
from tests.support.mails import words_of
from tests.support.talk import word_id

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
LATE = timedelta(hours=1)


@pytest.fixture
def game(table: Callable[..., Table]) -> Table:
    return table(3, now=utc_now() - LATE)


def post_form(client: FlaskClient, game: Table, seat: int, path: str, **fields: object) -> tuple[int, str]:
    answer = client.post(f"/t/{game.tokens[seat]}{path}", data=fields)
    return answer.status_code, answer.headers.get("Location") or answer.text


def post_words(client: FlaskClient, game: Table, seat: int, text: str, key: str = "") -> tuple[int, str]:
    return post_form(client, game, seat, "/say", text=text, request_id=key or f"{seat}{len(text)}")


def page(client: FlaskClient, game: Table, seat: int, rest: str = "") -> str:
    answer = client.get(f"/t/{game.tokens[seat]}{rest}")
    assert answer.status_code == 200
    return answer.text


def log_of(html: str) -> list[str]:
    """Return the lines of the log, each with what it is: an entry or a word."""
    tree = html5lib.parse(html, namespaceHTMLElements=False)
    items = [item for item in tree.iter("li") if re.fullmatch(r"e\d+|w[0-9a-f]{16}", item.get("id", ""))]
    return [f"{item.get('id')} {' '.join(''.join(item.itertext()).split())}" for item in items]


def spoken_texts() -> list[str]:
    with engine.reading() as session:
        return list(session.scalars(select(Word.text).order_by(Word.id)))


def test_words_stand_between_the_entries(game: Table, client: FlaskClient) -> None:
    assert post_words(client, game, 1, "Good morning")[0] == 303
    play.submit(game.id, 0, "pass", seen=1, request_id="a", now=utc_now())
    assert post_words(client, game, 2, "And to you")[0] == 303
    first, second = (f"w{word_id(game.id, number)}" for number in (1, 2))
    shown = [line.partition(" ")[0] for line in log_of(page(client, game, 1))]
    assert shown == [second, "e2", first, "e1"]  # the newest first
    history = log_of(page(client, game, 1, "/history"))
    assert [line.partition(" ")[0] for line in history] == ["e1", first, "e2", second]
    assert history[1].startswith(f"{first} You: Good morning")
    assert history[3].startswith(f"{second} Charlie: And to you")
    assert "Good morning" not in page(client, game, 1, "/history?seat=1")


def test_what_others_said_since_the_own_move_is_among_the_news(game: Table, client: FlaskClient) -> None:
    post_words(client, game, 1, "An old word")
    post_words(client, game, 0, "My own word")
    play.submit(game.id, 0, "pass", seen=1, request_id="a", now=utc_now())
    assert "Said since" not in page(client, game, 0)
    for number in range(4):
        post_words(client, game, 1, f"Word number {number}", f"k{number}")
    html = page(client, game, 0)
    news = html.partition('class="heard"')[2].partition("</div>")[0]
    assert re.findall(r"Word number \d", news) == ["Word number 1", "Word number 2", "Word number 3"]
    assert "An old word" not in html.partition('class="before"')[0]
    assert re.findall(r"\w+: \w+ \w+ word", " ".join(log_of(html))) == [
        "You: My own word",
        "Bob: An old word",
    ]
    assert "An old word" in page(client, game, 0, "/history")


def test_the_form_leads_back_and_says_so(game: Table, client: FlaskClient) -> None:
    status, where = post_words(client, game, 0, "Hello")
    assert (status, where) == (303, f"/t/{game.tokens[0]}?done=said#talk")
    assert "The table can read it." in page(client, game, 0, "?done=said")
    assert "The table can read it." not in page(client, game, 0, "?done=<sang>")


def test_the_writer_is_told_that_an_address_or_a_personal_link_was_replaced(
    game: Table, client: FlaskClient
) -> None:
    url = f"https://byzanz.test/t/{game.tokens[0]}"
    status, where = post_words(client, game, 0, f"Write to bob@example.net or open {url}")
    assert (status, where) == (303, f"/t/{game.tokens[0]}?done=masked#talk")
    assert spoken_texts() == ["Write to [address] or open [link]"]
    told = "The table can read it, with [address] and [link] in place of email addresses"
    assert told in page(client, game, 0, "?done=masked")
    form = {"move": "pass", "seen": "1", "request_id": "m", "say": "I am alice@example.org"}
    answer = client.post(f"/t/{game.tokens[0]}", data=form)
    assert answer.headers["Location"].endswith("?played=2&done=masked")
    assert told in page(client, game, 0, "?played=2&done=masked")
    assert spoken_texts()[1:] == ["I am [address]"]


def test_a_double_click_says_it_once(game: Table, client: FlaskClient) -> None:
    assert [post_words(client, game, 0, "Hello", "k")[0] for _ in range(3)] == [303] * 3
    assert spoken_texts() == ["Hello"]


@pytest.mark.parametrize(("text", "status"), [("", 422), ("x" * 501, 422), ("late", 409)])
def test_a_refused_text_stays_in_its_field(game: Table, client: FlaskClient, text: str, status: int) -> None:
    if text == "late":
        change(Game, game.id, talk=False)
    answered, html = post_words(client, game, 0, text, "k")
    assert answered == status
    assert spoken_texts() == []
    if status == 422:
        assert 'aria-invalid="true"' in html
        assert text == "" or f">{text}</textarea>" in html
    else:
        assert "Table talk is closed in this game." in html


def test_the_twenty_first_word_of_a_day(game: Table, client: FlaskClient) -> None:
    for number in range(20):
        assert post_words(client, game, 0, "Hello", f"{number}")[0] == 303
    status, html = post_words(client, game, 0, "One more", "k")
    assert status == 429
    assert ">One more</textarea>" in html


# ---- with a move ----


def post_move(
    client: FlaskClient, game: Table, seat: int, text: str, words: str, key: str = "k"
) -> tuple[int, str]:
    seen = row(Game, game.id).head
    return post_form(client, game, seat, "", move=text, say=words, seen=seen, request_id=key)


def test_words_come_with_a_move_and_stand_after_it(game: Table, client: FlaskClient) -> None:
    assert post_move(client, game, 0, "pass", "Not for me")[0] == 303
    word = f"w{word_id(game.id, 1)}"
    assert [line.partition(" ")[0] for line in log_of(page(client, game, 0))] == [word, "e2", "e1"]
    assert [line.partition(" ")[0] for line in log_of(page(client, game, 0, "/history"))] == [
        "e1",
        "e2",
        word,
    ]
    assert "Not for me" in page(client, game, 1)


def test_a_repeated_move_says_its_words_once(game: Table, client: FlaskClient) -> None:
    fields = {"move": "pass", "say": "Not for me", "seen": 1, "request_id": "x" * 64}
    assert [post_form(client, game, 0, "", **fields)[0] for _ in range(2)] == [303, 303]
    assert spoken_texts() == ["Not for me"]


def test_a_refused_move_keeps_the_words(game: Table, client: FlaskClient) -> None:
    status, html = post_move(client, game, 0, "dance", "Look at <me>")
    assert status == 422
    assert spoken_texts() == []
    along = html.partition('<details class="along" open>')[2].partition("</details>")[0]
    assert ">Look at &lt;me&gt;</textarea>" in along


def test_words_of_a_move_that_came_too_late_are_in_the_other_field(game: Table, client: FlaskClient) -> None:
    assert post_move(client, game, 0, "pass", "")[0] == 303
    status, html = post_move(client, game, 0, "pass", "Look at me", "again")
    assert status == 409
    assert spoken_texts() == []
    assert 'class="along"' not in html
    assert ">Look at me</textarea>" in html.partition('id="say-text"')[2]


def test_refused_words_do_not_undo_the_move(game: Table, client: FlaskClient) -> None:
    status, html = post_move(client, game, 0, "pass", "x" * 501)
    assert status == 422
    assert row(Game, game.id).head == 2
    assert 'id="played"' in html
    assert f">{'x' * 501}</textarea>" in html.partition('id="say-text"')[2]
    assert post_move(client, game, 0, "pass", "x" * 501)[0] == 422  # the same again, as after a reload
    assert row(Game, game.id).head == 2


# ---- who sees it ----


@pytest.mark.parametrize("relation", ["mute", "block"])
def test_nothing_of_muted_or_blocked_people_reaches_the_page(
    game: Table, client: FlaskClient, relation: str
) -> None:
    me, other = game.people[:2]
    before = {rest: _still(page(client, game, 0, rest)) for rest in ("", "/history")}
    relations = {
        "mute": Mute(person_id=me, other_id=other),
        "block": Block(person_id=me, other_id=other, at=utc_now()),
    }
    with engine.transaction() as session:
        session.add(relations[relation])
    post_words(client, game, 1, "Hello there")
    for rest, html in before.items():
        assert _still(page(client, game, 0, rest)) == html
    assert "Hello there" in page(client, game, 2)
    assert "Hello there" in page(client, game, 1)


def _still(html: str) -> str:
    """Return a page without what is drawn anew each time."""
    return re.sub(r'name="request_id" value="[^"]+"|data-now="[^"]+"', "", html)


def test_onlookers_get_the_same_bytes_with_and_without_words(
    table: Callable[..., Table], client: FlaskClient
) -> None:
    running, over = table(3, now=utc_now() - LATE, listed=True), table(3, game_id="g2", listed=True)
    with engine.transaction() as session:
        mia = Person(email="mia@example.org", name="Mia", created_at=utc_now())
        session.add(mia)
        session.flush()
        mia_id = mia.id
    play.moderate(over.id, "!abandon", reason="done", person_id=mia_id, now=utc_now())
    paths = [
        path
        for game in (running, over)
        for path in (f"/g/{game.id}", f"/g/{game.id}/history", f"/api/v1/games/{game.id}/record")
    ]
    paths += [f"/api/v1/seats/{running.tokens[1]}/record", f"/t/{running.tokens[1]}/head", "/"]
    before = {path: client.get(path) for path in paths}
    for game in (running, over):
        assert post_words(client, game, 0, "Hello")[0] == 303
    for path, answer in before.items():
        again = client.get(path)
        assert _still(again.text) == _still(answer.text), path
        assert again.headers.get("ETag") == answer.headers.get("ETag")


def test_talk_goes_on_after_the_end(game: Table, client: FlaskClient) -> None:
    play.moderate(game.id, "!abandon", reason="done", person_id=outsider(), now=utc_now())
    assert post_words(client, game, 0, "Well played")[0] == 303
    assert "Well played" in page(client, game, 1)
    assert "Well played" in page(client, game, 1, "/history")
    change(Game, game.id, ended_at=utc_now() - timedelta(days=31))
    html = page(client, game, 1)
    assert "Well played" in html
    assert 'id="say-text"' not in html


def test_what_is_said_after_the_end_is_not_folded_away(game: Table, client: FlaskClient) -> None:
    play.moderate(game.id, "!abandon", reason="done", person_id=outsider(), now=utc_now())
    assert '<details><summary><h2 id="since-title">' in page(client, game, 1)
    post_words(client, game, 0, "Well played!")
    for seat in (0, 1):
        assert '<details open><summary><h2 id="since-title">' in page(client, game, seat)


def test_no_form_where_nobody_could_answer(client: FlaskClient) -> None:
    token = visitors.start("byzanz", "Guest", utc_now())
    html = client.get(f"/t/{token}").text
    assert 'id="say-text"' not in html
    assert 'id="notes"' not in html
    answer = client.post(f"/t/{token}/say", data={"text": "Hello", "request_id": "k"})
    assert answer.status_code == 409


def test_silenced_players_read_why(game: Table, client: FlaskClient) -> None:
    until = utc_now() + timedelta(days=3)
    change(Person, game.people[0], silenced_until=until, silenced_why="rude words")
    html = page(client, game, 0)
    assert f"taken table talk from you until {until:%Y-%m-%d %H:%M} UTC: rude words" in html
    assert 'id="say-text"' not in html
    assert 'id="say-along"' not in html
    assert 'id="say-text"' in page(client, game, 1)
    assert "rude words" not in page(client, game, 1)


def test_the_page_stays_small(game: Table, client: FlaskClient) -> None:
    with engine.transaction() as session:
        for number in range(1, 201):
            session.add(
                Word(
                    game_id=game.id,
                    number=number,
                    person_id=game.people[number % 3],
                    seat=number % 3,
                    text=f"{number}<" * 5,
                    at=utc_now(),
                    seq=1,
                    request_id=f"{number}",
                )
            )
        session.get_one(Game, game.id).said = 200
    for rest in ("", "/history"):
        html = page(client, game, 0, rest)
        assert "200&lt;" in html
        assert "100&lt;" not in html
        assert len(html.encode()) < 60_000


# ---- what can be done about words ----


def test_deleting_an_own_word_leaves_nothing(game: Table, client: FlaskClient) -> None:
    post_words(client, game, 0, "Oh no")
    assert post_form(client, game, 1, "/words", delete=word_id(game.id, 1))[0] == 303
    assert spoken_texts() == ["Oh no"]
    assert post_form(client, game, 0, "/words", delete=word_id(game.id, 1))[0] == 303
    assert spoken_texts() == []


def test_muting_hides_what_a_person_says_everywhere(game: Table, client: FlaskClient) -> None:
    other = begun(3, game_id="g2", now=utc_now() - LATE)
    for table in (game, other):
        post_words(client, table, 1, "Hello from Bob")
    assert post_form(client, game, 0, "/words", mute=word_id(game.id, 1))[0] == 303
    for table in (game, other):
        assert "Hello from Bob" not in page(client, table, 0)
        assert "Hello from Bob" in page(client, table, 2)
    again = post_form(client, game, 0, "/words", mute=word_id(game.id, 1))  # as by a double click
    own = post_form(client, game, 1, "/words", mute=word_id(game.id, 1))
    assert [again, own] == [(303, f"/t/{game.tokens[seat]}#talk") for seat in (0, 1)]
    with engine.reading() as session:
        assert [(name, other_id) for other_id, name in talk.muted(session, game.people[0])] == [
            ("Bob", game.people[1])
        ]
    talk.unmute(game.people[0], game.people[1])
    assert "Hello from Bob" in page(client, game, 0)


def test_reporting_raises_one_alert(game: Table, client: FlaskClient) -> None:
    post_words(client, game, 1, "Rude words")
    for _ in range(2):
        assert post_form(client, game, 0, "/words", report=word_id(game.id, 1))[0] == 303
    assert post_form(client, game, 1, "/words", report=word_id(game.id, 1))[0] == 422
    with engine.reading() as session:
        (alert,) = session.scalars(select(Alert).where(Alert.game_id == game.id)).all()
        assert "number 1" in str(alert.text)
        assert "Rude" not in str(alert.text)


@pytest.mark.parametrize("fields", [{}, {"delete": ""}, {"sing": "1"}])
def test_malformed_forms_change_nothing(game: Table, client: FlaskClient, fields: dict[str, str]) -> None:
    post_words(client, game, 1, "Hello")
    assert post_form(client, game, 0, "/words", **fields)[0] == 400
    assert spoken_texts() == ["Hello"]


def test_hidden_words_show_the_reason(game: Table, client: FlaskClient) -> None:
    post_words(client, game, 1, "Rude words")
    with engine.transaction() as session:
        mia = Person(email="mia@example.org", name="Mia", created_at=utc_now())
        session.add(mia)
        session.flush()
        mia_id = mia.id
    reports.hide(game.id, 1, "be <kind>", mia_id, utc_now())
    for seat in range(3):
        for rest in ("", "/history"):
            html = page(client, game, seat, rest)
            assert "Rude words" not in html
            assert "be &lt;kind&gt;" in html
    assert "A moderator has hidden what you said: be <kind>" in words_of(page(client, game, 1))


# ---- notes ----


def test_notes_are_for_their_writer_alone(game: Table, client: FlaskClient) -> None:
    assert post_form(client, game, 0, "/notes", notes="Bob holds <wine>\nand wood")[0] == 303
    assert ">Bob holds &lt;wine&gt;\nand wood</textarea>" in page(client, game, 0)
    for seat in (1, 2):
        assert "Bob holds" not in page(client, game, seat)
    assert post_form(client, game, 0, "/notes", notes="Changed")[0] == 303
    assert post_form(client, game, 0, "/notes", notes="  ")[0] == 303
    with engine.reading() as session:
        assert session.scalar(select(func.count()).select_from(Notes)) == 0


def test_notes_that_are_too_long_stay_in_their_field(game: Table, client: FlaskClient) -> None:
    assert post_form(client, game, 0, "/notes", notes="x" * 5000)[0] == 303
    status, html = post_form(client, game, 0, "/notes", notes="y" * 5001)
    assert status == 422
    assert f">{'y' * 5001}</textarea>" in html
    assert '<details class="panel notes" id="notes" open>' in html
    assert row(Notes, (game.id, game.people[0])).text == "x" * 5000


def test_the_longest_word_fits_the_form(game: Table, client: FlaskClient) -> None:
    assert f'maxlength="{talk.LONGEST}"' in page(client, game, 0)
