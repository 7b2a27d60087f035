"""Parsing moves of Byzantium as players write them, and refusing everything else (docs/formats.md §1)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byzanz.games.byzantium.state import SLOTS
from byzanz.moves import AmbiguousMove, Move, RulesError, UnreadableMove
from tests.support.byzantium_positions import BYZANTIUM, game, move
from tests.support.second_rules.byzantium import CARDS, NAMES

SCRAPS = ("put", "pass", "pu", "p", "on", "7r", "10b", "ar", "e", "elf", "%", "%s", "\0", "7", "o")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("pass", "pass"),
        ("  PASS \t", "pass"),
        ("pa", "pass"),
        ("put 7r on e", "put 7r on e"),
        ("Put 10B On nLF", "put 10b on nlf"),
        ("pu kr\ton   w", "put kr on w"),
        ("put 2b on sr\n", "put 2b on sr"),
        ("put 2r on ell", "put 2r on ell"),  # a name of the cross, though dead
    ],
)
def test_what_players_write(text, canonical):
    assert str(BYZANTIUM.parse(text)) == canonical


@pytest.mark.parametrize(
    ("text", "meanings"),
    [
        ("p", "put or pass"),
        ("p 7r on e", "put or pass"),
        ("put 7 on e", "7r or 7b"),
        ("put 1 on e", "10r or 10b"),
        ("put 10 on e", "10r or 10b"),
        ("put k on e", "kr or kb"),
    ],
)
def test_what_can_mean_several_things(text, meanings):
    with pytest.raises(AmbiguousMove, match=meanings):
        BYZANTIUM.parse(text)


SHAPE = "Write put, a card, on and a slot, such as put 7r on el."


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Write a move"),
        ("   \t ", "Write a move"),
        ("fly", "no move fly; the moves are put, pass"),
        ("putt 7r on e", "no move putt"),
        ("shuffle deal:1 2r", "no move shuffle"),
        ("!void 3", "no move !void"),
        ("pass 7r", "Write pass alone"),
        ("put", SHAPE),
        ("put 7r", SHAPE),
        ("put 7r e", SHAPE),
        ("put 7r at e", SHAPE),
        ("put 7r o e", SHAPE),
        ("put e on 7r on e", SHAPE),
        ("put 7r on e w", SHAPE),
        ("put on 7r e", SHAPE),
        ("put ar on e", "The Aces lie in the middle"),
        ("put AB on n", "The Aces lie in the middle"),
        ("put a on n", "no card a"),
        ("put 1r on n", "no card 1r"),
        ("put 11r on n", "no card 11r"),
        ("put 7s on n", "no card 7s"),
        ("put r7 on n", "no card r7"),
        ("put 7red on n", "no card 7red"),
        ("put e on 7r", "no card e;"),
        ("put 7%s on n", "no card 7%s"),
        ("put 7r on x", "no slot x"),
        ("put 7r on lef", "no slot lef"),
        ("put 7r on efff", "no slot efff"),
        ("put 7r on east", "no slot east"),
        ("put 7r on 7r", "no slot 7r"),
        ("put 7² on e", "plain letters"),
        ("put ７r on e", "plain letters"),  # a full-width seven
        ("put \u212ar on e", "plain letters"),  # the Kelvin sign, whose lower case is k
        ("pa\u017f\u017f", "plain letters"),  # long s
        ("put 7r on e\0", "plain letters"),
        ("put 7r\non e", "plain letters"),
        ("put\u00a07r on e", "plain letters"),
        ("put 7r on e\x1b[31m", "plain letters"),
        ("put 7r on " + "e" * 1000, "at most 1000 characters"),
        ("x" * 1_000_001, "at most 1000 characters"),
        ("put 7r on " + "e" * 900, "no slot eeeeeeeeeeeeeeeeeeee;"),
    ],
)
def test_what_nobody_can_read(text, reason):
    with pytest.raises(UnreadableMove) as refused:
        BYZANTIUM.parse(text)
    assert reason in str(refused.value)
    assert len(str(refused.value)) < 200


@settings(max_examples=300)
@given(st.text(max_size=60) | st.lists(st.sampled_from(SCRAPS), max_size=6).map(" ".join))
def test_any_text_is_a_move_or_refused_in_words(text):
    try:
        read = BYZANTIUM.parse(text)
    except RulesError:
        return
    assert BYZANTIUM.parse(str(read)) == read


@settings(max_examples=60)
@given(st.sampled_from(CARDS), st.sampled_from(NAMES), st.randoms())
def test_every_card_on_every_slot_is_read_in_any_case_and_spacing(card, slot, rng):
    line = f"put {card} on {slot}"
    written = "".join(rng.choice((letter.upper(), letter)) for letter in line)
    written = written.replace(" ", " " * rng.randint(1, 4))
    assert BYZANTIUM.parse(written) == Move("put", (card, "on", slot))


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_reading_what_is_written_changes_nothing(seats):
    for state, seat, _ in game(seats, seats):
        for listed in BYZANTIUM.moves(state, -1 if seat is None else seat):
            assert BYZANTIUM.parse(str(listed)) == listed == move(str(listed))


def test_a_reply_may_number_the_slots() -> None:
    rules = BYZANTIUM
    for number, slot in enumerate(SLOTS, 1):
        assert rules.reply_text(f"PUT 7r  on {number}") == f"PUT 7r  on {slot}"
        assert (
            rules.reply_text(f"7r on {number}, 10b on {number} then any")
            == f"7r on {slot}, 10b on {slot} then any"
        )
    for kept in ("put 7r on el", "put 7r on 0", "put 7r on 53", "put 7r on 140", "pass", "10b", "on", ""):
        assert rules.reply_text(kept) == kept
    with pytest.raises(UnreadableMove):
        rules.parse("put 7r on 14")  # neither the API nor the log knows the numbers
