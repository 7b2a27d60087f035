"""Records as text: written, read back, and refused with the number of the faulty line."""

import json
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byzanz.bots.simulate import simulate_game
from byzanz.games import rules_of
from byzanz.record import (
    BadRecord,
    Entry,
    Header,
    Record,
    Result,
    abandoned,
    effective,
    new_entry,
    paused,
    read,
    table_act,
    write,
)

HASH = "ab" * 32
TEXT = st.text(max_size=12)
ENTRIES = st.builds(
    Entry,
    seq=st.integers(),
    at=TEXT,
    seat=st.none() | st.integers(),
    by=TEXT,
    move=TEXT,
    note=st.none() | TEXT,
    salt=st.none() | TEXT,
    hash=TEXT,
)
HEADERS = st.builds(
    Header,
    id=TEXT,
    game=TEXT,
    rules=st.integers(),
    options=st.dictionaries(TEXT, st.integers() | TEXT | st.booleans(), max_size=3),
    seats=st.lists(TEXT, max_size=4).map(tuple),
    commitment=TEXT,
    seed=st.none() | st.binary(min_size=32, max_size=32),
    cuts=st.lists(TEXT, max_size=4).map(tuple),
    uncut=st.lists(st.integers(0, 5), max_size=4).map(tuple),
)
NUMBERS = st.lists(st.integers(), max_size=4).map(tuple)
ENDINGS = st.none() | st.tuples(st.builds(Result, scores=NUMBERS, winners=NUMBERS, reason=TEXT), TEXT)
RECORDS = st.builds(
    lambda header, entries, ending: Record(header, tuple(entries), *(ending or (None, None))),
    HEADERS,
    st.lists(ENTRIES, max_size=3),
    ENDINGS,
)


def entry(seq: int, move: str, seat: int | None = None) -> Entry:
    return Entry(seq, "2026-11-21T10:00:00.000Z", seat, "player", move, None, "00" * 16, HASH)


@cache
def small_game(seats: int = 3) -> Record:
    return simulate_game(rules_of("byzanz"), seats, b"record", 0, ["random"])


@given(st.lists(RECORDS, max_size=3))
@settings(max_examples=100, deadline=None)
def test_what_is_written_is_read_back(records: list[Record]) -> None:
    text = "".join(map(write, records))
    assert list(read(text)) == records
    assert list(read(text.splitlines(keepends=True))) == records


def test_a_record_looks_as_the_format_says() -> None:
    record = small_game()
    header, first, *_, ending = map(json.loads, write(record).splitlines())
    assert list(header) == [
        "format",
        "id",
        "game",
        "rules",
        "options",
        "seats",
        "commitment",
        "seed",
        "cuts",
        "uncut",
        "cut_order",
    ]
    assert (header["format"], header["cut_order"]) == ("byzanz-record/2", [0, 1, 2])
    assert header["seats"] == [{"seat": seat, "name": "random"} for seat in range(3)]
    assert list(first) == ["seq", "at", "seat", "by", "move", "note", "salt", "hash"]
    assert list(ending) == ["result", "head"]
    assert list(ending["result"]) == ["scores", "winners", "reason"]
    assert ending["head"] == record.entries[-1].hash


def test_names_of_any_script_stay_and_the_file_is_ascii() -> None:
    header = replace(small_game().header, seats=("Åse\u2028", "Владимир", "\x00"))
    text = write(replace(small_game(), header=header))
    assert text.isascii()
    assert next(read(text)).header == header


def test_records_stand_one_after_another_and_empty_lines_do_not_matter() -> None:
    one, running = small_game(), replace(small_game(4), result=None, head=None)
    text = f"\n{write(one)}\n{write(running)}{write(running)}\r\n{write(one)}\n\n"
    assert list(read(text)) == [one, running, running, one]
    assert list(read("")) == []


def test_records_are_read_as_they_come() -> None:
    lines = iter([*write(small_game()).splitlines(), "rubbish"])
    records = read(lines)
    assert next(records) == small_game()
    with pytest.raises(BadRecord, match="not JSON"):
        next(records)


HEADER, ENTRY, ENDING = write(
    Record(
        Header("g", "byzanz", 1, {}, ("Ann", "Bob", "Cem"), HASH, bytes(32), ("", "x", ""), ()),
        (entry(1, "pass", 0),),
        Result((1, 2, 3), (2,), "rounds"),
        HASH,
    )
).splitlines()


def changed(line: str, **fields: object) -> str:
    return json.dumps({**json.loads(line), **fields})


def without(line: str, name: str) -> str:
    return json.dumps({key: value for key, value in json.loads(line).items() if key != name})


@pytest.mark.parametrize(
    ("lines", "line", "reason"),
    [
        (["rubbish"], 1, "not JSON"),
        (["[]"], 1, "not a JSON object"),
        (["[" * 100_000], 1, "nested too deeply"),
        (['{"format":1}'], 1, 'the field format must be "byzanz-record/1"'),
        ([ENTRY], 1, "a record begins with a header"),
        ([ENDING], 1, "a record begins with a header"),
        ([HEADER, ENTRY, ENDING, ENTRY], 4, "a record begins with a header"),
        ([HEADER, ENTRY, "{}"], 3, "the field seq is missing"),
        ([HEADER, "{" + ENTRY], 2, "not JSON"),
        ([HEADER, ENTRY[:-1]], 2, "not JSON"),
        ([HEADER, ENTRY.replace('"seq":1', '"seq":1,"seq":2')], 2, "a field is given twice"),
        ([HEADER, ENTRY.replace('"seq":1', '"seq":NaN')], 2, "NaN is not a value of JSON"),
        ([HEADER, ENTRY.replace('"seq":1', '"seq":' + "1" * 5000)], 2, "not JSON"),
        ([HEADER, changed(ENTRY, seq=True)], 2, "the field seq must be a whole number"),
        ([HEADER, changed(ENTRY, seq=1.0)], 2, "the field seq must be a whole number"),
        ([HEADER, changed(ENTRY, seat="0")], 2, "the field seat must be a whole number or null"),
        ([HEADER, changed(ENTRY, salt=0)], 2, "the field salt must be a text or null"),
        ([HEADER, changed(ENTRY, hash=None)], 2, "the field hash must be a text"),
        ([HEADER, changed(ENTRY, extra=1)], 2, "the field 'extra' does not belong here"),
        ([HEADER, without(ENTRY, "note")], 2, "the field note is missing"),
        ([changed(HEADER, seed="00")], 1, "the field seed must be 64 hex digits or null"),
        ([changed(HEADER, seed="A" * 64)], 1, "the field seed must be 64 hex digits or null"),
        ([changed(HEADER, seats=["Ann"])], 1, "the field seats must be a list of"),
        ([changed(HEADER, seats=[{"seat": 1, "name": "Ann"}])], 1, "the field seats must be a list of"),
        ([changed(HEADER, cuts="abc")], 1, "the field cuts must be a list of texts"),
        ([changed(HEADER, uncut=[None])], 1, "the field uncut must be a list of whole numbers"),
        ([changed(HEADER, options=[])], 1, "the field options must be an object"),
        ([without(HEADER, "uncut")], 1, "the field uncut is missing"),
        ([changed(HEADER, format="byzanz-record/2")], 1, "the field cut_order is missing"),
        ([changed(HEADER, cut_order=[0])], 1, "the field 'cut_order' does not belong here"),
        (
            [changed(HEADER, format="byzanz-record/2", cut_order=["0"])],
            1,
            "the field cut_order must be a list of whole numbers",
        ),
        ([HEADER, changed(ENDING, result=[])], 2, "the field result must be an object"),
        ([HEADER, without(ENDING, "head")], 2, "the field head is missing"),
        ([HEADER, changed(ENDING, result={"scores": [1]})], 2, "the field winners is missing"),
    ],
)
def test_what_is_no_record_is_refused_with_its_line(lines: list[str], line: int, reason: str) -> None:
    with pytest.raises(BadRecord) as refused:
        list(read("\n".join(lines)))
    assert (refused.value.line, reason in refused.value.reason) == (line, True)
    assert "\n" not in str(refused.value)


def test_a_bad_entry_is_named_by_its_number_in_its_game() -> None:
    text = write(small_game()) + "\n".join([HEADER, ENTRY, "rubbish"])
    with pytest.raises(BadRecord, match="entry 2 of its game"):
        list(read(text))


@given(st.lists(st.sampled_from([HEADER, ENTRY, ENDING, "{}", "", "nul"]), max_size=6), st.data())
@settings(max_examples=100, deadline=None)
def test_any_text_is_records_or_a_refusal(lines: list[str], data: st.DataObject) -> None:
    text = "\n".join(lines)
    at = data.draw(st.integers(0, len(text)))
    text = text[:at] + data.draw(st.text(max_size=3)) + text[at + data.draw(st.integers(0, 3)) :]
    try:
        records = list(read(text))
    except BadRecord as refusal:
        found = refusal.line
    else:
        assert list(read("".join(map(write, records)))) == records
        return
    assert 1 <= found <= text.count("\n") + 1


def test_table_acts_are_told_from_moves() -> None:
    assert table_act(entry(1, "!void 7")) == ("!void", "7")
    assert table_act(entry(1, "!pause")) == ("!pause",)
    assert table_act(entry(1, "pass", 0)) is None


def test_a_void_takes_back_from_an_entry_on_and_a_later_one_looks_further() -> None:
    moves = [
        "shuffle deal a",
        "bid a",
        "!note",
        "bid b",
        "pass",
        "!void 4",
        "!pause",
        "bid c",
        "!void 2",
        "pass",
    ]
    entries = [entry(at, move) for at, move in enumerate(moves, start=1)]
    assert [kept.seq for kept in effective(entries[:5])] == [1, 2, 4, 5]
    assert [kept.seq for kept in effective(entries[:8])] == [1, 2, 8]
    assert [kept.seq for kept in effective(entries)] == [1, 10]


def test_pause_and_abandon_are_read_off_the_log() -> None:
    entries = [
        entry(1, "pass"),
        entry(2, "!pause"),
        entry(3, "!look 0"),
        entry(4, "!resume"),
        entry(5, "!abandon"),
    ]
    assert [paused(entries[:count]) for count in range(6)] == [False, False, True, True, False, False]
    assert [abandoned(entries[:count]) for count in range(6)] == [False] * 5 + [True]


def test_a_sealed_entry_bears_its_hash() -> None:
    first = small_game().entries[0]
    assert first.salt is not None
    assert (
        new_entry(small_game().header.first_hash, 1, first.at, None, "chance", first.move, None, first.salt)
        == first
    )
