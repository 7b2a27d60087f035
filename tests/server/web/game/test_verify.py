"""Verifying a record in the browser: every step, the fault at its own step, and a clear answer to any upload."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from werkzeug.test import TestResponse

from byzanz.bots.simulate import simulate_game
from byzanz.chance import fingerprint
from byzanz.games import latest, rules_of
from byzanz.record import Record, examine, read, redact_record, write
from byzanz.rules import PUBLIC
from server import create_app, play
from server.mail.text import quoted
from server.play import history
from server.store import engine, people
from server.store.models import Game
from server.web.game.verify import MOST_GAMES
from tests import conftest
from tests.conftest import NOW
from tests.support import records as support_records
from tests.support.folders import VECTORS
from tests.support.games import advance, count_entries, loaded
from tests.support.lobby import everything
from tests.support.pages import Page, assert_sound, forgotten, log_in, look
from tests.support.pages import read as page_of
from tests.support.records import FAULTS, finished, swapped

VECTOR = json.loads(VECTORS.read_text())
BYZANZ = rules_of("byzanz")


@pytest.fixture
def database_url(migrated_file: Path, tmp_path: Path) -> str:
    """Use one kind of database; the checks concern an upload or a log."""
    shutil.copy(migrated_file, tmp_path / "byzanz.db")
    return f"sqlite:///{tmp_path / 'byzanz.db'}"


@pytest.fixture
def send(client: FlaskClient, app: Flask) -> Callable[[bytes | str], TestResponse]:
    """Upload a file to be verified, as the form does."""
    app.config["WTF_CSRF_ENABLED"] = False
    return lambda content: post_record(client, content)


def post_record(client: FlaskClient, content: bytes | str) -> TestResponse:
    whole = content if isinstance(content, bytes) else content.encode()
    head = b'--x\r\nContent-Disposition: form-data; name="record"; filename="game.jsonl"\r\n\r\n'
    body = head + whole + b"\r\n--x--\r\n"
    return client.post("/verify", data=body, content_type="multipart/form-data; boundary=x")


def signs(page: Page) -> dict[str, str]:
    """Return the result of each step, in words."""
    steps = [item for item in page.root.iter("li") if (item.get("class") or "") == "panel"]
    return {step.get("id", ""): sign(step) for step in steps}


def sign(step: Any) -> str:
    head = next(item for item in step.iter("div") if item.get("class") == "panel-head")
    return " ".join("".join(next(iter(head.iter("span"))).itertext()).split())


def text_of_step(page: Page, step: str) -> str:
    found = next(item for item in page.root.iter("li") if item.get("id") == step)
    return " ".join("".join(found.itertext()).split())


# A true record


@pytest.mark.parametrize("slug", [rules.slug for rules in latest()])
def test_all_steps_of_a_true_record_are_right(send: Any, slug: str) -> None:
    rules = rules_of(slug)
    record = simulate_game(rules, max(rules.seats), b"verify", 1, ["random"])
    page = page_of(send(write(record)))
    assert page.status == 200
    assert_sound(slug, page)
    assert list(signs(page).values()) == ["✓ correct"] * 7
    assert "Everything is correct." in page.text
    assert record.header.seed is not None
    assert record.header.seed.hex() in text_of_step(page, "commitment")
    assert text_of_step(page, "commitment").count(record.header.commitment) == 2
    report = examine(record)
    assert report.key is not None
    assert report.key.hex() in text_of_step(page, "cuts")
    for deal in report.shuffles:
        assert f"Shuffle {deal.label}: {len(deal.cards)} cards ✓ matches" in text_of_step(page, "shuffles")
        assert " ".join(deal.logged) in text_of_step(page, "shuffles")
    assert f"{len(record.entries)} of {len(record.entries)} entries are correct." in text_of_step(
        page, "chain"
    )
    assert record.head is not None
    assert record.head in text_of_step(page, "chain")
    for name in record.header.seats:
        assert name in text_of_step(page, "result")


@pytest.mark.parametrize("slug", [rules.slug for rules in latest()])
def test_the_lines_of_python_check_the_record_they_stand_beside(
    send: Any, slug: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = rules_of(slug)
    record = simulate_game(rules, min(rules.seats), b"python", 2, ["random"])
    page = page_of(send(write(record)))
    (tmp_path / "record.jsonl").write_text(write(record))
    monkeypatch.chdir(tmp_path)
    _, told = run_script(page)
    report = examine(record)
    assert report.key is not None
    assert told == [
        f"commitment {record.header.commitment} True",
        f"key {report.key.hex()}",
        *(f"shuffle {deal.label} True" for deal in report.shuffles),
        f"head {record.head} True",
    ]
    damaged = list(record.entries)
    damaged[4] = replace(damaged[4], note="because")
    (tmp_path / "record.jsonl").write_text(write(replace(swapped(record), entries=tuple(damaged))))
    assert "entry 5 does not fit" in run_script(page)[1]
    (tmp_path / "record.jsonl").write_text(write(swapped(record)))
    assert f"shuffle {report.shuffles[0].label} False" in run_script(page)[1]


def run_script(page: Page) -> tuple[dict[str, Any], list[str]]:
    """Run the lines that a page shows, in order; return their variables and their output."""
    shown_lines = ["".join(item.itertext()) for item in page.root.iter("pre")]
    assert len(shown_lines) == 4
    left: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile("\n".join(shown_lines), "page", "exec"), left)
    return left, out.getvalue().splitlines()


def test_the_lines_of_python_give_the_vectors_of_the_format(
    send: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(support_records, "SEED", bytes.fromhex(VECTOR["seed"]))
    table = support_records.RecordedTable(BYZANZ, 3, cuts=tuple(VECTOR["cuts"]))
    record = table.finish().record()
    assert record.header.id == VECTOR["game_id"]
    page = page_of(send(write(record)))
    assert set(signs(page).values()) == {"✓ correct"}
    (tmp_path / "record.jsonl").write_text(write(record))
    monkeypatch.chdir(tmp_path)
    left, told = run_script(page)
    assert left["fingerprint"] == VECTOR["commitment"]
    assert left["key"].hex() == VECTOR["key"]
    for label, name in (("deal", "shuffle_deal_of_0_to_9"), ("foes:2", "shuffle_label_foes:2_of_0_to_9")):
        assert left["shuffled"](label, range(10)) == VECTOR[name]
    assert told[-1] == f"head {record.head} True"


# Lines of emails


def compare_page(client: FlaskClient, content: str, lines: str) -> Page:
    file = (io.BytesIO(content.encode()), "game.jsonl")
    return page_of(client.post("/verify", data={"record": file, "lines": lines}))


@pytest.mark.usefixtures("send")
def test_lines_of_emails_are_compared_with_the_record(client: FlaskClient) -> None:
    record = finished("byzanz")
    header, last = record.header, record.entries[-1]
    cut = fingerprint(header.id, header.cuts[0])
    lines = f"> head {last.seq}:{last.hash}\n> commitment {header.commitment}\n> cut {cut}\n"
    page = compare_page(client, write(record), f"Dear all,\n{lines}")
    assert "The record contains all 3 hashes from your emails." in page.text
    assert_sound("lines", page)
    for wrong, step, reason in (
        (f"head {last.seq}:{cut}", "chain", f"its hash is not {cut}, which an email quotes"),
        (f"commitment {cut}", "commitment", "which an email quotes"),
        (f"cut {header.commitment}", "cuts", "it was withdrawn or changed"),
    ):
        page = compare_page(client, write(record), lines + wrong)
        assert "Something is wrong." in page.text
        assert [name for name, told in signs(page).items() if told == "✗ wrong"] == [step]
        assert reason in text_of_step(page, step)
        assert "hashes from your emails" not in page.text


@pytest.mark.usefixtures("send")
def test_lines_that_cannot_be_compared_are_refused(client: FlaskClient) -> None:
    one = write(finished("byzanz"))
    commitment = f"commitment {finished('byzanz').header.commitment}"
    for content, lines, why in (
        (one, "no line", "has no line with “head”, “commitment” or “cut” and its hash"),
        (one, commitment + " " * 20_000, "Paste only the lines"),
        (one + one, commitment, "the file must hold one game"),
    ):
        page = compare_page(client, content, lines)
        assert (page.status, why in page.text) == (422, True)
    assert compare_page(client, one, " \n").status == 200


def test_the_page_says_what_is_proven_and_what_was_settled_after_each_seat(
    send: Any, client: FlaskClient
) -> None:
    record = finished("byzanz")
    names = tuple(f"Player {seat}" for seat in range(3))
    header = replace(record.header, seats=names, cut_order=(2, 0, 1))
    rechained = support_records.falsified(replace(record, header=header), lambda _entries: None)
    page = page_of(send(write(rechained)))
    told = text_of_step(page, "cuts")
    assert "Player 0Player 1 Player 1no other seat Player 2Player 0, Player 1" in told
    for shown in (page, look(client, "/verify")):
        assert "Proven: the cards follow from the seed and the cuts" in shown.text
        assert "Not proven: someone who knows the seed could still steer the deal" in shown.text
    first = support_records.falsified(
        replace(record, header=replace(header, cut_order=None)), lambda _entries: None
    )
    assert "does not say in which order the cuts were made" in text_of_step(
        page_of(send(write(first))), "cuts"
    )


# Faults


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_shown_at_its_step(send: Any, fault: str) -> None:
    step, seq, plant = FAULTS[fault]
    record = plant(finished("byzanz"))
    page = page_of(send(write(record)))
    assert page.status == 200
    assert_sound(fault, page)
    wrong = examine(record).wrong
    assert wrong is not None
    assert [name for name, told in signs(page).items() if told == "✗ wrong"] == [step]
    place = "the header" if seq == 0 else f"entry {wrong.seq}"
    assert f"Something is wrong. First problem, in {place}: {wrong.reason}" in page.text
    assert f"✗ {place}: {wrong.reason}" in text_of_step(page, step)
    assert "Everything is correct" not in page.text


def test_a_false_shuffle_shows_both_orders_and_the_first_difference(send: Any) -> None:
    record = swapped(finished("byzanz"))
    page = page_of(send(write(record)))
    (deal,) = examine(record).shuffles
    assert deal.order is not None
    assert deal.differs is not None
    marked = [item for item in page.root.iter("li") if item.get("class") == "differs"]
    told = ["".join(item.itertext()).split() for item in marked]
    assert told == [["differs:", deal.logged[deal.differs]], ["differs:", deal.order[deal.differs]]]
    assert f"position {deal.differs + 1} is the first to differ" in page.text


def test_a_changed_entry_stops_the_steps_after_it(send: Any) -> None:
    step, seq, plant = FAULTS["a changed entry"]
    page = page_of(send(write(plant(finished("byzanz")))))
    assert (step, seq) == ("chain", 7)
    assert signs(page)["moves"] == signs(page)["result"] == "– not reached"
    assert "6 of" in text_of_step(page, "chain")
    assert "5 of" in text_of_step(page, "moves")


def test_a_record_of_a_running_game_says_what_is_hidden(send: Any) -> None:
    table = support_records.RecordedTable(BYZANZ, 3)
    table.choose(3)
    record = redact_record(table.running(), PUBLIC)
    page = page_of(send(write(record)))
    assert_sound("running", page)
    assert f"{examine(record).unchecked} entries could not be checked" in page.text
    assert signs(page) == {
        "table": "✓ correct",
        **dict.fromkeys(("commitment", "cuts", "shuffles", "chain", "moves", "result"), "… not yet"),
    }
    assert list(page.root.iter("pre")) == []


# Several games in a file


def test_of_several_games_all_are_named_and_the_last_is_shown(send: Any) -> None:
    records = [finished("byzanz", number) for number in range(3)]
    page = page_of(send("".join(map(write, records))))
    assert "All of these games are correct." in page.text
    for record in records:
        assert record.header.id in page.text
    assert text_of_step(page, "commitment").count(records[2].header.commitment) == 2


def test_the_first_wrong_game_of_several_is_shown(send: Any) -> None:
    good, bad, last = (finished("byzanz", number) for number in range(3))
    page = page_of(send(write(good) + write(swapped(bad)) + write(last)))
    assert signs(page)["shuffles"] == "✗ wrong"
    assert good.header.id in page.text
    assert last.header.id not in page.text
    assert "The rest of the file was not checked." in page.text


def test_a_file_of_too_many_games_is_refused(send: Any) -> None:
    table = support_records.RecordedTable(BYZANZ, 3)
    answer = page_of(send(write(redact_record(table.running(), PUBLIC)) * (MOST_GAMES + 1)))
    assert answer.status == 422
    assert f"more than {MOST_GAMES} games" in answer.text


def test_what_stands_before_a_damaged_line_was_checked(send: Any) -> None:
    page = page_of(send(write(finished("byzanz")) + "nonsense\n"))
    assert page.status == 422
    assert_sound("damaged", page)
    assert "Games checked before this one" in page.text
    assert finished("byzanz").header.id in page.text


# Whatever else is sent


def packed() -> bytes:
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("record.jsonl", "0" * 10_000_000)
    return kept.getvalue()


JUNK: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "This file contains no record."),
    "blank lines": (b"\n \n", "This file contains no record."),
    "not UTF-8": (b"\xff\xfe\x00", "line 1: not UTF-8"),
    "a packed file": (packed(), "Unpack it first"),
    "a page": (b"<html><script>alert(1)</script>", "line 1: not JSON"),
    "a list": (b"[]", "not a JSON object"),
    "nested deeply": (b"[" * 500_000, "nested too deeply"),
    "options nested deeply": (b'{"format":' + b'{"a":' * 100_000, "nested too deeply"),
    "a long number": (b'{"format":' + b"9" * 10_000 + b"}", "not JSON"),
    "a long line": (b"x" * 1_500_000, "longer than"),
    "an odd field": (b'{"' + b"\\ud800" * 1000 + b'":1}', "a record begins with a header"),
}


@pytest.mark.parametrize("junk", JUNK)
def test_junk_is_refused_with_a_reason(send: Any, junk: str) -> None:
    content, reason = JUNK[junk]
    page = page_of(send(content))
    assert page.status == 422
    assert_sound(junk, page)
    assert reason in page.text


def test_a_form_without_a_file_is_refused(client: FlaskClient, app: Flask) -> None:
    app.config["WTF_CSRF_ENABLED"] = False
    for data in ({}, {"record": "text"}, {"record": (io.BytesIO(b""), "")}):
        page = page_of(client.post("/verify", data=data))
        assert (page.status, "Choose a record file first." in page.text) == (422, True)


def test_a_file_that_is_too_long_is_refused(send: Any) -> None:
    page = page_of(send(b" " * 2_200_000))
    assert page.status == 413
    assert "files of up to 2 MB" in page.text


def test_odd_texts_in_a_record_harm_no_page(send: Any) -> None:
    record = finished("byzanz")
    odd = ("\ud800", "<script>alert(1)</script>", "\u202e" + "x" * 100_000)
    named = replace(record, header=replace(record.header, seats=odd))
    page = page_of(send(write(named)))
    assert set(signs(page).values()) == {"✓ correct"}  # names bind nobody
    assert_sound("names", page)
    for change in (
        {"id": "\ud800" * 9},
        {"id": "x" * 100_000},
        {"game": "<b>\ud800" * 1000},
        {"rules": 10**4000},
        {"cuts": odd},
        {"commitment": "\ud800" * 90},
        {"seats": ("Ann",) * 4000},
        {"uncut": (10**4000,)},
    ):
        page = page_of(send(write(replace(record, header=replace(record.header, **change)))))
        assert page.status == 200
        assert_sound(str(change)[:40], page)
        assert "✗ wrong" in signs(page).values()


@cache
def lines() -> tuple[str, ...]:
    return tuple(write(finished("byzanz")).splitlines())


ODD = st.sampled_from(
    ['"\\ud800"', "null", "[]", "{}", "-1", "1e999", '"!void 1"', '"shuffle deal"', '""', "9" * 30]
)


def fields_of(line: str) -> dict[str, Any]:
    """Return the fields of a line of a record, or none if earlier damage left no object."""
    try:
        fields = json.loads(line)
    except json.JSONDecodeError:
        return {}
    return fields if isinstance(fields, dict) else {}


def test_whatever_is_sent_is_answered(send: Any) -> None:
    """Draw damaged records: values swapped, lines removed, duplicated and cut."""
    tally = set()

    @settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(data=st.data())
    def damage(data: st.DataObject) -> None:
        kept = list(lines())
        for _ in range(data.draw(st.integers(1, 3))):
            at = data.draw(st.integers(0, min(len(kept) - 1, 12)) | st.just(len(kept) - 1))
            fields = fields_of(kept[at])
            kind = data.draw(st.sampled_from(["field", "field", "drop", "double", "cut", "bytes"]))
            if kind == "field" and fields:
                name = data.draw(st.sampled_from(sorted(fields)))
                kept[at] = json.dumps(fields | {name: "ODD"}).replace('"ODD"', data.draw(ODD))
            elif kind == "cut":
                kept[at] = kept[at][: data.draw(st.integers(0, len(kept[at])))]
            elif kind == "bytes":
                kept[at] = data.draw(st.text(max_size=20).filter(lambda text: text.isascii()))
            else:
                kept[at : at + 1] = [] if kind == "drop" else [kept[at]] * 2
            kept = kept or ["{}"]
        answer = send("\n".join(kept))
        tally.add(answer.status_code)
        assert answer.status_code in (200, 422)
        page_of(answer)

    damage()
    assert tally == {200, 422}


# Games of this server


def give_up(game: Any) -> None:
    play.moderate(game.id, "!abandon", reason="no time", person_id=make_mo(), now=NOW)


def make_mo() -> int:
    with engine.transaction() as session:
        return people.get_or_create(session, "mod@example.org", "Mo", NOW).id


@pytest.fixture
def over(table: Any) -> Any:
    """Return a game that a moderator ended."""
    game = table(4)
    advance(game, "take")
    give_up(game)
    return game


def test_a_finished_game_is_checked_from_its_log(client: FlaskClient, over: Any) -> None:
    page = look(client, f"/g/{over.id}/verify")
    assert page.status == 200
    assert_sound("finished", page)
    assert set(signs(page).values()) == {"✓ correct"}
    assert f"{count_entries(over.id)} of {count_entries(over.id)} entries are correct." in page.text
    door = next(item for item in page.root.iter("a") if item.get("download"))
    (kept,) = read(client.get(door.get("href", "")).text)
    with engine.reading() as session:
        assert kept == history.record_for(loaded(session, over.id), PUBLIC)


def test_a_changed_log_is_shown_and_leads_to_its_entry(
    client: FlaskClient, over: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = history.record_for

    def false(*args: Any) -> Record:
        record = true(*args)
        changed = (*record.entries[:4], replace(record.entries[4], note="x"), *record.entries[5:])
        return replace(record, entries=changed)

    monkeypatch.setattr(history, "record_for", false)
    page = look(client, f"/g/{over.id}/verify")
    assert signs(page)["chain"] == "✗ wrong"
    leads = [item.get("href") for item in page.root.iter("a") if "".join(item.itertext()) == "entry 5"]
    assert leads == [f"/g/{over.id}/history?at=5"] * 2


def test_pages_of_a_finished_game_lead_there(client: FlaskClient, over: Any) -> None:
    for path in (f"/g/{over.id}", f"/g/{over.id}/history", f"/t/{over.tokens[0]}/history"):
        assert f'href="/g/{over.id}/verify"' in look(client, path).html, path


def test_of_a_running_game_nothing_is_shown(client: FlaskClient, table: Any) -> None:
    game = table(4)
    page = look(client, f"/g/{game.id}/verify")
    assert page.status == 409
    assert "still in progress" in page.text
    assert not re.search("[0-9a-f]{64}", page.html)
    for path in (f"/g/{game.id}", f"/g/{game.id}/history", "/verify"):
        assert f"/g/{game.id}/verify" not in look(client, path).html


def test_a_game_that_never_began_or_is_set_aside_is_not_checked(client: FlaskClient, over: Any) -> None:
    for path in ("/g/nothing/verify", "/g/%00/verify", "/g/" + "x" * 60 + "/verify"):
        assert look(client, path).status == 404
    with engine.transaction() as session:
        session.get_one(Game, over.id).quarantine = quoted("a fault")
    assert look(client, f"/g/{over.id}/verify").status == 409
    with engine.transaction() as session:
        session.get_one(Game, over.id).status = "cancelled"
    assert look(client, f"/g/{over.id}/verify").status == 404


def test_the_form_offers_finished_games_that_may_be_known(client: FlaskClient, over: Any) -> None:
    path = f'href="/g/{over.id}/verify"'
    assert path not in look(client, "/verify").html
    log_in(client, over.people[0])
    page = look(client, "/verify")
    assert_sound("form", page)
    assert path in page.html
    with client.session_transaction() as cookie:
        cookie.clear()
    assert path not in look(client, "/verify").html
    with engine.transaction() as session:
        session.get_one(Game, over.id).listed = True
    assert path in look(client, "/verify").html


def test_checking_changes_nothing(send: Any, client: FlaskClient, over: Any) -> None:
    before = everything()
    client.get(f"/g/{over.id}/verify")
    send(write(finished("byzanz")))
    send(b"junk")
    assert everything() == before


# Guards and looks


def test_a_forged_form_is_refused_and_one_of_ours_is_not(client: FlaskClient) -> None:
    assert post_record(client, write(finished("byzanz"))).status_code == 400
    page = look(client, "/verify")
    token = next(item.get("value") for item in page.root.iter("input") if item.get("name") == "csrf_token")
    file = (io.BytesIO(write(finished("byzanz")).encode()), "game.jsonl")
    answer = client.post("/verify", data={"record": file, "csrf_token": token})
    assert answer.status_code == 200


@pytest.fixture
def limited(database_url: str) -> Iterator[FlaskClient]:
    """Return a browser of a server with rate limits."""
    app = create_app(conftest.settings(database_url, rate_limits=True))
    app.config["WTF_CSRF_ENABLED"] = False
    with app.app_context():
        yield app.test_client()
        engine.db.session.remove()
        engine.db.engine.dispose()


def test_nobody_keeps_the_server_busy_with_checking(limited: FlaskClient) -> None:
    statuses = [post_record(limited, b"junk").status_code for _ in range(12)]
    assert (statuses[0], statuses[-1]) == (422, 429)
    statuses = [limited.get("/g/nothing/verify").status_code for _ in range(32)]
    assert (statuses[0], statuses[-1]) == (404, 429)


DATA = re.compile(
    r"[0-9a-z]{16,}|Byzanz|byzanz[-\w]*|\bg1\b|bot \d+|random|Alice|Bob|Charlie|Daphne|Golden Horn|The"
)
"""Texts that need no translation: names, ids, codes."""


@pytest.mark.usefixtures("marked")
def test_every_text_of_the_page_can_be_translated(send: Any, client: FlaskClient, over: Any) -> None:
    pages = [look(client, "/verify"), page_of(send(b"junk")), look(client, f"/g/{over.id}/verify")]
    pages.append(page_of(send(write(swapped(finished("byzanz"))))))
    for page in pages:
        for parent in page.root.iter():
            for item in list(parent):
                if item.tag == "pre" or item.get("class") in ("order", "wrong"):
                    item.clear()
        left = [text for text in forgotten(page, DATA) if "seed and cuts give another order" not in text]
        assert left == []
