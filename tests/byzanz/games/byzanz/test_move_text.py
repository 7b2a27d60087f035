"""Parsing moves of Byzanz as players write them, and refusing everything else (docs/formats.md §1)."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byzanz.moves import AmbiguousMove, Move, RulesError, UnreadableMove
from tests.support.byzanz_positions import BYZANZ, GOODS, NAMES, game, move

SCRAPS = ("bid", "pass", "t", "m", "w2", "cloth1", "%", "%s", "\0", "sell", "2")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("pass", "pass"),
        ("  PASS \t", "pass"),
        ("p", "pass"),
        ("b sp2 c4", "bid cloth4 spice2"),
        ("Bid Wood1   cloth2 CLOTH1", "bid cloth1 cloth2 wood1"),
        ("bid\tc1", "bid cloth1"),
        ("bi wo1 wi1", "bid wine1 wood1"),
        ("tax m", "tax merchant"),
        ("tax me", "tax merchant"),
        ("tak c", "take cloth"),
        ("take m", "take merchant"),
        ("take merchant", "take merchant"),
        ("take wi", "take wine"),
        ("s merch o1 m", "sell olive1 merchant merchant"),
        ("sell wood2 wood1 wood4", "sell wood1 wood2 wood4"),
        ("di m g2", "discard grain2 merchant"),
        ("do", "done"),
        ("DONE", "done"),
        ("pass\n", "pass"),
    ],
)
def test_what_players_write(text, canonical):
    assert str(BYZANZ.parse(text)) == canonical


@pytest.mark.parametrize(
    ("text", "meanings"),
    [
        ("t c1", "tax or take"),
        ("ta c", "tax or take"),
        ("d", "discard or done"),
        ("bid w2", "wine or wood"),
        ("bid cloth1 w", "wine or wood"),
        ("take w", "wine or wood"),
        ("bid cloth", "from cloth1 to cloth4"),
        ("tax sp", "from spice1 to spice4"),
    ],
)
def test_what_can_mean_several_things(text, meanings):
    with pytest.raises(AmbiguousMove, match=meanings):
        BYZANZ.parse(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Write a move"),
        ("   \t ", "Write a move"),
        ("fly", "no move fly; the moves are bid, pass"),
        ("bidd cloth1", "no move bidd"),
        ("shuffle deal cloth1", "no move shuffle"),
        ("!void 3", "no move !void"),
        ("pass cloth1", "pass takes no cards"),
        ("done 1", "done takes no cards"),
        ("bid", "one or more cards"),
        ("discard", "one or more cards"),
        ("tax", "one card of the lot"),
        ("tax cloth1 cloth2", "one card of the lot"),
        ("take", "one group"),
        ("take cloth wood", "one group"),
        ("take cloth2", "no good cloth2"),
        ("take silk", "no good silk"),
        ("sell m m", "three cards"),
        ("sell m m m m", "three cards"),
        ("bid silk2", "no good silk"),
        ("bid cloth0", "Values go from 1 to 4"),
        ("bid cloth5", "Values go from 1 to 4"),
        ("bid cloth12", "Values go from 1 to 4"),
        ("bid cloth02", "Values go from 1 to 4"),
        ("bid merchant1", "no card merchant1"),
        ("bid m1", "no card m1"),
        ("bid merchants", "no good merchants"),
        ("bid 2", "no card 2"),
        ("bid 2cloth", "no good 2cloth"),
        ("bid cloth2,wood1", "no good cloth2,wood"),
        ("bid clo%th2", "no good clo%th"),
        ("bid cloth²", "plain letters"),
        ("bid cloth２", "plain letters"),  # a full-width two
        ("bid cloth٢", "plain letters"),  # an Arabic two
        ("bid ｃloth2", "plain letters"),
        ("bid \u212aloth2", "plain letters"),  # the Kelvin sign, whose lower case is k
        ("pa\u017f\u017f", "plain letters"),  # long s
        ("bid cloth2\0", "plain letters"),
        ("bid cloth2\nwood1", "plain letters"),
        ("bid cloth2\r\nbid wood1", "plain letters"),
        ("bid\u00a0cloth2", "plain letters"),
        ("bid cloth2\x1b[31m", "plain letters"),
        ("bid " + "cloth1 " * 200, "at most 1000 characters"),
        ("x" * 1_000_001, "at most 1000 characters"),
        ("x" * 999, "no move xxxxxxxxxxxxxxxxxxxx;"),
    ],
)
def test_what_nobody_can_read(text, reason):
    with pytest.raises(UnreadableMove) as refused:
        BYZANZ.parse(text)
    assert reason in str(refused.value)
    assert len(str(refused.value)) < 200


@settings(max_examples=300)
@given(st.text(max_size=60) | st.lists(st.sampled_from(SCRAPS)).map(" ".join))
def test_any_text_is_a_move_or_refused_in_words(text):
    try:
        read = BYZANZ.parse(text)
    except RulesError:
        return
    assert BYZANZ.parse(str(read)) == read


@settings(max_examples=100)
@given(
    st.sampled_from(["bid", "discard"]),
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=15),
    st.randoms(),
)
def test_cards_may_be_shortened_as_far_as_they_stay_clear(verb, names, rng):
    def shortened(name):
        word = name.rstrip("1234")
        clear = 2 if word in ("wine", "wood") else 1
        return word[: rng.randint(clear, len(word))] + name[len(word) :]

    written = f"{verb[: rng.randint(1 if verb == 'bid' else 2, len(verb))]} " + " ".join(
        map(shortened, names)
    )
    read = BYZANZ.parse("".join(rng.choice((letter.upper(), letter)) for letter in written))
    assert read == Move(verb, tuple(sorted(names, key=NAMES.index)))


def test_canonical_order_is_goods_by_name_then_value_then_merchants():
    everything = NAMES.copy()
    random.Random(1).shuffle(everything)
    assert BYZANZ.parse("bid " + " ".join(everything)).args == tuple(NAMES)
    assert list(GOODS) == sorted(GOODS)


@pytest.mark.parametrize("seats", [3, 4, 5, 6])
def test_reading_what_is_written_changes_nothing(seats):
    for state, seat, _ in game(seats, seats):
        for listed in (*BYZANZ.moves(state, seat), *BYZANZ.out_of_turn_moves(state, seat)):
            assert BYZANZ.parse(str(listed)) == listed == move(str(listed))
