"""Shuffles match docs/formats.md §3 to the byte, and every integer and every order is equally likely."""

import json
from collections import Counter
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byzanz.chance import BadCut, Stream, clean_cut, commitment, deal, fingerprint, key, shuffled
from byzanz.moves import Move, Shuffle
from byzanz.record import GENESIS, entry_hash, read
from tests.support.folders import VECTORS

VECTOR: dict[str, Any] = json.loads(VECTORS.read_text())
SEED = bytes.fromhex(VECTOR["seed"])
KEY = bytes.fromhex(VECTOR["key"])
DIGITS = tuple(str(digit) for digit in range(10))


def test_the_vectors_of_the_format() -> None:
    assert commitment(VECTOR["game_id"], SEED) == VECTOR["commitment"]
    assert key(VECTOR["game_id"], SEED, VECTOR["cuts"]) == KEY
    below = Stream(KEY, VECTOR["label_of_the_integers"]).below
    assert [below(52) for _ in range(8)] == VECTOR["first_8_integers_below_52"]
    for label, name in (("deal", "shuffle_deal_of_0_to_9"), ("foes:2", "shuffle_label_foes:2_of_0_to_9")):
        assert shuffled(DIGITS, Stream(KEY, label).below) == tuple(map(str, VECTOR[name]))


def test_the_vectors_of_the_log() -> None:
    first = entry_hash(GENESIS, **VECTOR["entry"])
    assert first == VECTOR["entry_hash"]
    assert entry_hash(first, **VECTOR["entry_2"]) == VECTOR["entry_2_hash"]
    assert sha256(f"{GENESIS}\n{VECTOR['entry_json']}".encode()).hexdigest() == first


def test_the_vectors_of_the_second_format() -> None:
    cut = VECTOR["cut_fingerprint"]
    assert fingerprint(cut["game_id"], cut["cut"]) == cut["hex"]
    line = json.dumps(VECTOR["record2_header"] | {"seed": None})
    (found,) = read(line)
    assert found.header.first_hash == VECTOR["record2_genesis"]
    unordered = replace(found.header, cut_order=None)
    assert (found.header.format, unordered.format) == ("byzanz-record/2", "byzanz-record/1")
    assert unordered.first_hash == GENESIS


def test_a_dealer_makes_the_move_of_a_shuffle() -> None:
    move = deal(KEY)(Shuffle("deal", DIGITS))
    assert move == Move("shuffle", ("deal", *map(str, VECTOR["shuffle_deal_of_0_to_9"])))


def test_seed_cuts_and_their_order_all_make_the_key() -> None:
    keys = [
        key("g1", SEED, ["a", "b"]),
        key("g2", SEED, ["a", "b"]),
        key("g1", SEED, ["b", "a"]),
        key("g1", SEED, ["a", "b", ""]),
        key("g1", bytes([1] * 32), ["a", "b"]),
    ]
    assert len(set(keys)) == len(keys)


@given(n=st.integers(1, 2**64), label=st.text("dealfos:0123456789", max_size=8))
@settings(max_examples=100, deadline=None)
def test_an_integer_lies_below_its_bound_and_a_stream_repeats(n: int, label: str) -> None:
    one, other = Stream(KEY, label), Stream(KEY, label)
    drawn = [one.below(n) for _ in range(9)]
    assert all(0 <= number < n for number in drawn)
    assert drawn == [other.below(n) for _ in range(9)]


@pytest.mark.parametrize("n", [0, -1, 2**64 + 1])
def test_a_bound_out_of_range_is_refused(n: int) -> None:
    with pytest.raises(ValueError, match="cannot be drawn"):
        Stream(KEY, "deal").below(n)


def test_words_above_the_last_whole_multiple_are_passed_over() -> None:
    # Half of all words lie above 2**63 + 1, so that a stream that kept them would give other integers.
    n = 2**63 + 1
    words = Stream(KEY, "deal")
    kept = [word for word in (words.below(2**64) for _ in range(200)) if word < n]
    below = Stream(KEY, "deal").below
    assert 50 < len(kept) < 150
    assert [below(n) for _ in kept] == kept


@given(st.lists(st.sampled_from(("cloth1", "cloth2", "merchant")), max_size=30), st.binary(max_size=8))
@settings(max_examples=60, deadline=None)
def test_a_shuffle_keeps_the_cards(cards: list[str], seed: bytes) -> None:
    assert Counter(shuffled(cards, Stream(seed, "deal").below)) == Counter(cards)


def test_every_order_comes_as_often() -> None:
    orders = Counter(
        shuffled("abc", Stream(number.to_bytes(2, "big"), "deal").below) for number in range(1200)
    )
    assert len(orders) == 6
    assert all(140 < times < 260 for times in orders.values())


@pytest.mark.parametrize("cut", ["", " ", "a", "Ann's cut: 7 of ♣", "é" * 64, "👩‍👩‍👧", "\u00a0"])
def test_a_cut_is_stored_as_typed(cut: str) -> None:
    assert clean_cut(cut) == cut


@pytest.mark.parametrize(
    "cut", ["a" * 65, "a\nb", "a\rb", "\t", "\x00", "\x7f", "\x85", "\u2028", "\u2029", "\ud800"]
)
def test_what_is_no_line_is_no_cut(cut: str) -> None:
    with pytest.raises(BadCut):
        clean_cut(cut)
