"""True records verify; any change to one is detected at the changed entry."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byzanz.chance import commitment
from byzanz.record import BadRecord, Entry, InvalidRecord, Record, Result, read, redact_record, verify, write
from byzanz.rules import ALL, PUBLIC
from tests.support.records import BYZANZ, RecordedTable, falsified, find, find_any, finished, wrong
from tests.support.sealed_game import Sealed

# True records


def test_a_finished_game_is_true() -> None:
    record = finished("byzanz")
    report = verify(record)
    assert (report.entries, report.unchecked, report.replayed) == (len(record.entries), 0, True)
    assert report.result == record.result


def test_everybody_who_may_choose_for_a_seat_is_believed() -> None:
    table = RecordedTable(Sealed(), 2)
    for by in ("player", "order", "clock", "autopilot", "bot"):
        table.choose(by=by)
    assert verify(table.finish().record(), find).replayed


def test_a_table_with_all_its_acts_is_true() -> None:
    table = RecordedTable(Sealed(), 2)
    for act in ("!extend 1 3600", "!bank 1 -60", "!autopilot 1 on", "!replace 1", "!link 1", "!leave 1"):
        table.act(act, seat=1)
    for act in (
        "!credit 90",
        "!look 1",
        "!look all",
        "!look public",
        "!note",
        "!dance 7 times",
        "!pause",
        "!pause",
    ):
        table.act(act)
    table.act("!credit 60", seat=0, by="clock", note=None)
    table.resume()
    table.finish()
    table.act("!note")
    table.act("!look 0")
    assert verify(table.record(), find).replayed


def test_a_void_gives_the_same_shuffle_again() -> None:
    table = RecordedTable(Sealed(), 2)
    seqs = [table.choose(), table.choose(), table.choose()]
    shuffles = [entry for entry in table.entries if entry.by == "chance"]
    assert len(shuffles) == 2
    table.void(seqs[2])
    table.act("!look 1")
    table.resume()
    table.choose()
    again = [entry for entry in table.entries if entry.by == "chance"][2]
    assert again.move == shuffles[1].move
    record = table.finish().record()
    assert verify(record, find).replayed

    def shuffle_otherwise(entries: list[Entry]) -> None:
        words = again.move.split(" ")
        entries[again.seq - 1] = replace(again, move=" ".join((*words[:2], *reversed(words[2:]))))

    found = wrong(falsified(record, shuffle_otherwise))
    assert found.seq == again.seq
    assert "a different order for shuffle deal:2" in found.reason


def test_a_void_back_to_a_forced_move_waits_for_the_resume() -> None:
    table = RecordedTable(Sealed(), 2)
    while not any(entry.by == "rules" for entry in table.entries):
        table.choose(-1)
    forced = next(entry for entry in table.entries if entry.by == "rules")
    table.void(forced.seq)
    table.act("!note")
    table.resume()
    again = table.entries[-1]
    assert (again.seat, again.by, again.move) == (forced.seat, "rules", forced.move)
    assert verify(table.finish().record(), find).replayed


def test_voids_may_reach_behind_voids() -> None:
    table = RecordedTable(BYZANZ, 3)
    seqs = [table.choose(which) for which in (5, 3, 1, 0)]
    table.void(seqs[2])
    table.resume()
    table.choose(2)
    table.void(seqs[1])
    table.resume()
    assert verify(table.finish().record()).replayed


def test_an_abandoned_game_is_true_with_its_scores_as_they_stand() -> None:
    table = RecordedTable(Sealed(), 2)
    for _ in range(4):
        table.choose()
    table.act("!abandon")
    record = table.record()
    assert record.result is not None
    assert (record.result.reason, record.result.winners) == ("abandoned", ())
    assert sum(record.result.scores) > 0
    assert verify(record, find).replayed
    assert wrong(replace(record, result=replace(record.result, winners=(0,)))).seq == len(record.entries)
    assert wrong(replace(record, header=replace(record.header, seed=None))).seq == len(record.entries)


def test_a_running_game_is_true_as_far_as_it_goes() -> None:
    table = RecordedTable(Sealed(), 2)
    for _ in range(4):
        table.choose()
    table.act("!pause")
    record = table.running()
    whole = verify(record, find)
    assert (whole.replayed, whole.result) == (True, None)
    assert whole.unchecked == sum(entry.by == "chance" for entry in record.entries) == 2
    masked = redact_record(record, 0, find)
    report = verify(masked, find)
    assert not report.replayed
    assert report.unchecked == sum(entry.salt is None for entry in masked.entries) > 2
    assert verify(Record(record.header), find).entries == 0


def test_of_a_redacted_record_all_is_checked_that_it_tells() -> None:
    table = RecordedTable(BYZANZ, 3)
    for by in ("bot", "player", "clock"):
        table.choose(by=by)
    table.act("!pause")
    masked = redact_record(table.running(), 2)
    entries = list(masked.entries)
    checkable = [entry.seq for entry in entries if entry.salt is not None]
    assert verify(masked).unchecked == len(entries) - len(checkable)
    for seq in checkable:
        damaged = [
            replace(entry, at="2030-01-01T00:00:00.000Z") if entry.seq >= seq else entry for entry in entries
        ]
        assert wrong(replace(masked, entries=tuple(damaged))).seq == seq
    for entry in (
        replace(entries[1], seat=7),
        replace(entries[1], seat=None),
        replace(entries[1], by="moderator", salt=None),
        replace(entries[1], move="!void 1", seat=None, by="moderator", salt=None),
        replace(entries[1], seq=4),
    ):
        assert wrong(replace(masked, entries=(entries[0], entry, *entries[2:]))).seq == 2


# Damage that leaves the hashes as they were


@pytest.mark.parametrize("slug", ["byzanz", "sealed"])
@given(data=st.data())
@settings(max_examples=80, deadline=None)
def test_a_flipped_sign_is_found_in_its_entry(slug: str, data: st.DataObject) -> None:
    record = finished(slug)
    lines = write(record).split("\n")
    seq = data.draw(st.integers(1, len(record.entries)))
    at = data.draw(st.integers(0, len(lines[seq]) - 1))
    sign = data.draw(
        st.characters(min_codepoint=32, max_codepoint=126).filter(lambda new: new != lines[seq][at])
    )
    lines[seq] = lines[seq][:at] + sign + lines[seq][at + 1 :]
    assert found_at("\n".join(lines)) == seq


def found_at(text: str) -> int:
    """The entry that is named when a damaged record is read and verified."""
    try:
        for record in read(text):
            verify(record, find_any)
    except BadRecord as refusal:
        return refusal.entry or 0
    except InvalidRecord as found:
        return found.seq
    pytest.fail("nobody noticed")


@pytest.mark.parametrize("slug", ["byzanz", "sealed"])
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_deleted_swapped_doubled_and_cut_entries_are_found(slug: str, data: st.DataObject) -> None:
    record = finished(slug)
    entries = record.entries
    at = data.draw(st.integers(0, len(entries) - 2))
    deleted = entries[:at] + entries[at + 1 :]
    swapped = (*entries[:at], entries[at + 1], entries[at], *entries[at + 2 :])
    for damaged in (deleted, swapped, entries[:at]):
        assert wrong(replace(record, entries=damaged)).seq == at + 1
    assert wrong(replace(record, entries=(*entries[: at + 1], *entries[at:]))).seq == at + 2
    assert wrong(replace(record, entries=entries[:at], result=None, head=None)).seq == at + 1
    assert wrong(replace(record, entries=entries[:-1])).seq == len(entries)


@pytest.mark.parametrize("field", ["at", "seat", "by", "move", "note", "salt", "hash"])
def test_every_field_is_bound_by_the_chain(field: str) -> None:
    record = finished("byzanz")
    entry = record.entries[4]
    others: dict[str, Any] = {
        "at": entry.at[:-4] + "999Z",
        "seat": 1 - entry.seat if entry.seat in (0, 1) else 0,
        "by": "player",
        "move": "done",
        "note": "because",
        "salt": "0" * 32,
        "hash": "0" * 64,
    }
    changed = replace(entry, **{field: others[field]})
    assert changed != entry
    entries = (*record.entries[:4], changed, *record.entries[5:])
    found = wrong(replace(record, entries=entries))
    assert (found.seq, found.reason) == (5, "the hash does not match this entry and the one before it")


# Lies whose hashes are right


def lie(change: Callable[[RecordedTable], None]) -> InvalidRecord:
    """What is found when somebody writes a log that is well chained but not true."""
    table = RecordedTable(BYZANZ, 3)
    table.choose(5)
    change(table)
    return wrong(table.running())


LIES: dict[str, tuple[Callable[[RecordedTable], None], str]] = {
    "illegal": (lambda table: table.write(1, "player", "take cloth"), "'take cloth': "),
    "unknown": (lambda table: table.write(1, "player", "fly"), "'fly': "),
    "abbreviated": (lambda table: table.write(1, "player", "p"), "'p' is not canonical; write 'pass'"),
    "order": (lambda table: table.write(1, "player", "bid wood1 cloth1"), "; write 'bid cloth1 wood1'"),
    "space": (lambda table: table.write(1, "player", "pass "), "'pass ' is not canonical"),
    "line": (lambda table: table.write(1, "player", "pass\n"), "'pass\\n'"),
    "another's turn": (lambda table: table.write(2, "player", "pass"), "'pass': "),
    "no such seat": (lambda table: table.write(3, "player", "pass"), "there is no seat 3"),
    "seat below": (lambda table: table.write(-1, "player", "pass"), "there is no seat -1"),
    "no seat": (lambda table: table.write(None, "player", "pass"), "there is no seat None"),
    "rules": (lambda table: table.write(1, "rules", "pass"), "by rules, though nothing was due"),
    "moderator": (
        lambda table: table.write(1, "moderator", "pass"),
        "by moderator, though nothing was due",
    ),
    "chance": (lambda table: table.write(1, "chance", "pass"), "by chance, though nothing was due"),
    "nobody": (lambda table: table.write(1, "ghost", "pass"), "by ghost, though nothing was due"),
    "shuffle": (
        lambda table: table.write(None, "chance", "shuffle deal"),
        "by chance, though nothing was due",
    ),
    "act by bot": (lambda table: table.act("!pause", by="bot"), "!pause by bot"),
    "act by order": (lambda table: table.act("!note", by="order"), "!note by order"),
    "act of no seat": (lambda table: table.act("!note", seat=3), "there is no seat 3"),
    "void of nothing": (lambda table: table.act("!void 9"), "entry 9 is not a seat's move that still counts"),
    "void of chance": (lambda table: table.act("!void 1"), "entry 1 is not a seat's move that still counts"),
    "extend nobody": (lambda table: table.act("!extend 3 60"), "must name the seat of its entry"),
    "extend another": (lambda table: table.act("!extend 1 60", seat=2), "must name the seat of its entry"),
    "extend alone": (lambda table: table.act("!extend 1 60"), "must name the seat of its entry"),
    "time": (
        lambda table: table.write(1, "player", "pass", at="2026-11-21 10:00:00.000Z"),
        "is not a time like",
    ),
    "zone": (
        lambda table: table.write(1, "player", "pass", at="2026-11-21T10:00:00.000+01:00"),
        "is not a time like",
    ),
    "day": (
        lambda table: table.write(1, "player", "pass", at="2026-02-30T10:00:00.000Z"),
        "is not a time like",
    ),
    "coarse": (
        lambda table: table.write(1, "player", "pass", at="2026-11-21T10:00:00Z"),
        "is not a time like",
    ),
    "digits": (
        lambda table: table.write(1, "player", "pass", at="２026-11-21T10:00:00.000Z"),
        "is not a time like",
    ),
    "past": (
        lambda table: table.write(1, "player", "pass", at="2026-11-21T09:59:59.999Z"),
        "is before that of",
    ),
}


@pytest.mark.parametrize("name", LIES)
def test_a_well_chained_lie_is_found(name: str) -> None:
    change, reason = LIES[name]
    found = lie(change)
    assert found.seq == 3
    assert reason in found.reason


@pytest.mark.parametrize(
    "act",
    [
        "!void", "!void two", "!pause now", "!resume now", "!credit soon", "!credit 60 s", "!extend 1", "!extend 1 h",
        "!bank 1", "!bank 1 +60", "!autopilot 1 maybe", "!replace bob", "!link", "!look", "!look bob", "!leave 1 2",
        "!abandon all", "!note well",
    ],
)  # fmt: skip
def test_an_act_with_other_words_is_found(act: str) -> None:
    found = lie(lambda table: table.act(act, seat=1))
    assert (found.seq, found.reason) == (3, f"{act!r} is not a valid {act.split(' ')[0]}")


def test_moves_in_a_pause_are_found() -> None:
    for move in ("pass", "sell cloth1 cloth1 cloth1"):

        def in_a_pause(table: RecordedTable, move: str = move) -> None:
            table.act("!pause")
            table.write(1, "player", move)

        found = lie(in_a_pause)
        assert (found.seq, found.reason) == (4, f"'{move}' while the game is paused")


def test_a_void_without_its_pause_is_found() -> None:
    for follower in ("!resume", "!note"):

        def no_pause(table: RecordedTable, follower: str = follower) -> None:
            table.act("!void 2")
            table.act(follower)

        assert "where the !pause that follows a !void should stand" in lie(no_pause).reason
    found = lie(lambda table: table.act("!void 2"))
    assert (found.seq, found.reason) == (4, "missing: the !pause that follows a !void")


def test_what_was_voided_cannot_be_voided_again() -> None:
    def twice(table: RecordedTable) -> None:
        table.void(2)
        table.act("!void 2")

    assert lie(twice).seq == 5


def sealed_lie(change: Callable[[list[Entry]], None]) -> tuple[int, str]:
    """What is found in a finished game of sealed choices whose entries somebody changed and chained anew."""
    found = wrong(falsified(with_forced_moves(), change))
    return found.seq, found.reason


@cache
def with_forced_moves() -> Record:
    for number in range(50):
        record = finished("sealed", number)
        if any(entry.by == "rules" for entry in record.entries[:-2]):
            return record
    raise AssertionError("no game with a forced move")


def first(by: str) -> Entry:
    return next(entry for entry in with_forced_moves().entries if entry.by == by)


def test_a_missing_forced_move_is_found() -> None:
    forced = first("rules")

    def drop(entries: list[Entry]) -> None:
        del entries[forced.seq - 1]

    seq, reason = sealed_lie(drop)
    assert seq == forced.seq
    assert f"where seat {forced.seat} has only one legal move: '{forced.move}' by rules" in reason


@pytest.mark.parametrize("by", ["player", "bot", "clock", "order"])
def test_a_forced_move_made_by_somebody_is_found(by: str) -> None:
    forced = first("rules")

    def claim(entries: list[Entry]) -> None:
        entries[forced.seq - 1] = replace(forced, by=by)

    assert sealed_lie(claim)[0] == forced.seq


def test_an_act_before_a_forced_move_is_found() -> None:
    forced = first("rules")

    def interrupt(entries: list[Entry]) -> None:
        entries.insert(forced.seq - 1, replace(forced, seat=None, by="moderator", move="!note"))

    assert sealed_lie(interrupt)[0] == forced.seq


def test_a_missing_shuffle_and_one_by_a_player_are_found() -> None:
    def drop(entries: list[Entry]) -> None:
        del entries[0]

    def deal_oneself(entries: list[Entry]) -> None:
        entries[0] = replace(entries[0], by="player", seat=0)

    def note_first(entries: list[Entry]) -> None:
        entries.insert(0, replace(entries[0], by="moderator", move="!note"))

    def hide(entries: list[Entry]) -> None:
        entries[0] = replace(entries[0], move="shuffle deal:1")

    def other_cards(entries: list[Entry]) -> None:
        entries[0] = replace(entries[0], move=entries[0].move.replace("ash1", "ash2"))

    for change in (drop, deal_oneself, note_first, hide):
        seq, reason = sealed_lie(change)
        assert (seq, "where the shuffle deal:1 is due, by chance" in reason) == (1, True)
    assert sealed_lie(other_cards) == (1, "these are not the cards of the shuffle deal:1")


def test_another_order_of_the_cards_is_found_when_the_seed_is_known() -> None:
    def swap(entries: list[Entry]) -> None:
        words = entries[0].move.split(" ")
        words[2], words[3] = words[3], words[2]
        entries[0] = replace(entries[0], move=" ".join(words))

    assert sealed_lie(swap) == (1, "seed and cuts give a different order for shuffle deal:1")


def test_whatever_follows_the_end_but_notes_and_looks_is_found() -> None:
    for move in ("!void 3", "!pause", "!abandon", "!dance", "decline"):

        def go_on(entries: list[Entry], move: str = move) -> None:
            seat = None if move.startswith("!") else 0
            entries.append(replace(entries[-1], by="moderator", seat=seat, move=move))

        seq, reason = sealed_lie(go_on)
        assert (seq, "after the end" in reason) == (len(with_forced_moves().entries) + 1, True)


def test_a_salt_of_another_form_and_one_withheld_are_found() -> None:
    record = finished("sealed")
    for salt, reason in ((None, "withheld"), ("0" * 31, "not 32"), ("A" * 32, "not 32")):

        def change(entries: list[Entry], salt: str | None = salt) -> None:
            entries[3] = replace(entries[3], salt=salt)

        found = wrong(falsified(record, change))
        assert (found.seq, reason in found.reason) == (4, True)
    short = replace(record.entries[3], hash="0" * 63)
    assert "not 64" in wrong(replace(record, entries=(*record.entries[:3], short))).reason


# The header and the result


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"game": "chess"}, "There is no game “chess”"),
        ({"game": "two\nlines"}, "There is no game “two lines”"),
        ({"rules": 99}, "There is no version 99 of the rules of byzanz"),
        ({"seats": ("Ann", "Bob")}, "3–6 players"),
        ({"options": {"speed": 9}}, "no option"),
        ({"cuts": ("a", "b")}, "2 cuts for 3 seats"),
        ({"cuts": ("a", "b", "c\n")}, "A cut is one line"),
        ({"cuts": ("a", "b", "c" * 65)}, "at most 64"),
        ({"uncut": (3,)}, "uncut must name seats"),
        ({"uncut": (1, 0)}, "uncut must name seats"),
        ({"uncut": (1, 1)}, "uncut must name seats"),
        ({"commitment": "ABC"}, "64 lower-case hex digits"),
        ({"commitment": "0" * 64}, "not the one that was committed to"),
        ({"seed": bytes(32)}, "not the one that was committed to"),
        ({"id": "other"}, "not the one that was committed to"),
        ({"id": "\ud800"}, "not valid Unicode"),
    ],
)
def test_a_header_that_is_not_true_is_found(fields: dict[str, Any], reason: str) -> None:
    record = finished("byzanz")
    found = wrong(replace(record, header=replace(record.header, **fields)))
    assert (found.seq, reason in found.reason) == (0, True)
    assert str(found).startswith("header: ")


def test_other_cuts_and_another_committed_seed_give_another_deal() -> None:
    record = finished("byzanz")
    header = record.header
    reseeded = replace(header, seed=bytes(32), commitment=commitment(header.id, bytes(32)))
    for changed in (replace(header, cuts=("random", "random", "Random")), reseeded):
        found = wrong(replace(record, header=changed))
        assert (found.seq, found.step) == (1, "chain")
        found = wrong(falsified(replace(record, header=changed), lambda _entries: None))
        assert (found.seq, "a different order" in found.reason) == (1, True)


def test_the_order_of_the_cuts_names_every_seat() -> None:
    record = finished("byzanz")
    for order in ((), (0, 1), (0, 1, 1), (0, 1, 3), (0, 1, 2, 2)):
        changed = replace(record, header=replace(record.header, cut_order=order))
        found = wrong(falsified(changed, lambda _entries: None))
        assert (found.seq, found.step, found.reason) == (
            0,
            "cuts",
            "cut_order must name all seats, each once",
        )


def test_a_result_that_is_not_true_is_found() -> None:
    record = finished("byzanz")
    assert record.result is not None
    last = len(record.entries)
    scores = record.result.scores
    for result in (
        replace(record.result, scores=(scores[0] + 1, *scores[1:])),
        replace(record.result, winners=(0, 1, 2)),
        replace(record.result, reason="fallen"),
        Result(scores, (), "abandoned"),
    ):
        assert wrong(replace(record, result=result)).seq == last
    assert "head" in wrong(replace(record, head="0" * 64)).reason
    assert "the result is missing" in wrong(replace(record, result=None, head=None)).reason
    assert wrong(replace(record, header=replace(record.header, seed=None))).seq == last


def test_a_seed_shown_before_the_end_is_found() -> None:
    table = RecordedTable(BYZANZ, 3)
    table.choose()
    assert "the seed is shown" in wrong(replace(table.running(), header=table.header)).reason


def test_what_was_read_from_a_file_of_many_verifies() -> None:
    records = [finished("byzanz", number) for number in range(3)] + [finished("sealed")]
    table = RecordedTable(BYZANZ, 4)
    table.choose(3)
    records += [redact_record(table.running(), viewer) for viewer in (0, PUBLIC, ALL)]
    text = "".join(map(write, records))
    assert [verify(record, find_any).replayed for record in read(text)] == [True] * 4 + [False, False, True]
    assert json.loads(text.split("\n")[0])["id"] == records[0].header.id
