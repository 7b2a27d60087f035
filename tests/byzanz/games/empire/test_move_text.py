"""Parsing moves of Empire as players write them, and refusing everything else (docs/formats.md §1)."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byzanz.moves import AmbiguousMove, Move, RulesError, UnreadableMove
from tests.support.empire_positions import EMPIRE, SHEET, game, move

FOES = [row["card"] for row in SHEET if row["deck"] == "foes"]
BYZANTINES = [row["card"] for row in SHEET if row["deck"] == "byzantines"]
SCRAPS = ("meld", "redraw", "buy-off", "with", "siege", "si", "decline", "%s", "\0", "huns", "-", "k")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("redraw", "redraw"),
        ("  MELD \t", "meld"),
        ("m", "meld"),
        ("me trib mar", "meld marriage tribute"),
        ("red huns barb", "redraw barbarians huns"),
        ("def van", "defend vandals"),
        ("defend DECLINE", "defend decline"),
        ("decl", "decline"),
        ("keep decline", "keep decline"),
        ("neg huns", "negotiate huns"),
        ("rep per", "replace persians"),
        ("b huns with const", "buy-off huns with constantinople-walls"),
        ("buy  gothic  WITH  militias", "buy-off gothic-tribes with militias"),
        ("keep siege", "keep siege"),
        ("keep siege-", "keep siege-engines"),
        ("keep decl", "keep decline"),
        ("k light-c", "keep light-cavalry"),
        ("meld light-cavalry basil", "meld basil light-cavalry"),
        ("meld light-cavalry huns siege", "meld light-cavalry siege huns"),
        ("meld light-cavalry light-cavalry", "meld light-cavalry light-cavalry"),
        ("meld civilization civil-war", "meld civil-war civilization"),
        ("keep fleets\n", "keep fleets"),
    ],
)
def test_what_players_write(text, canonical):
    assert str(EMPIRE.parse(text)) == canonical


@pytest.mark.parametrize(
    ("text", "meanings"),
    [
        ("re", "redraw or replace"),
        ("de huns", "defend or decline"),
        ("d", "defend or decline"),
        ("keep light", "light-cavalry or light-infantry"),
        ("keep tre", "treachery or treaty"),
        ("keep heavy-", "heavy-cavalry or heavy-infantry"),
        ("meld huns c", "crusaders or crisis or civil-war or cataphracts or another"),
        ("buy huns with t", "or another"),
        ("keep civil", "civil-war or civilization"),
    ],
)
def test_what_can_mean_several_things(text, meanings):
    with pytest.raises(AmbiguousMove, match=meanings):
        EMPIRE.parse(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Write a move"),
        (" \t", "Write a move"),
        ("fly", "no move fly; the moves are redraw, meld"),
        ("melds huns", "no move melds"),
        ("shuffle foes:1 huns", "no move shuffle"),
        ("!void 3", "no move !void"),
        ("decline huns", "Write decline alone"),
        ("defend", "Name one card: defend"),
        ("keep huns avars", "Name one card: keep"),
        ("negotiate", "Name one card: negotiate"),
        ("replace huns huns", "Name one card: replace"),
        ("buy-off huns", "with, and a card of your own meld"),
        ("buy-off huns militias", "with, and a card of your own meld"),
        ("buy-off huns for militias", "with, and a card of your own meld"),
        ("buy-off huns w militias", "with, and a card of your own meld"),
        ("buy-off huns with militias trade", "with, and a card of your own meld"),
        ("meld unicorn", "no card unicorn"),
        ("meld hunss", "no card hunss"),
        ("meld huns,avars", "no card huns,avars"),
        ("redraw 2", "no card 2"),
        ("redraw ?", "no card ?"),
        ("meld hun%s", "no card hun%s"),
        ("meld hünen", "plain letters"),
        ("meld huns\navars", "plain letters"),
        ("meld\u00a0huns", "plain letters"),
        ("meld ｈuns", "plain letters"),
        ("meld \u212aeep", "plain letters"),
        ("meld huns\0", "plain letters"),
        ("meld " + "barbarians " * 100, "at most 1000 characters"),
        ("x" * 1_000_001, "at most 1000 characters"),
    ],
)
def test_what_nobody_can_read(text, reason):
    with pytest.raises(UnreadableMove) as refused:
        EMPIRE.parse(text)
    assert reason in str(refused.value)
    assert len(str(refused.value)) < 200


@settings(max_examples=300)
@given(st.text(max_size=60) | st.lists(st.sampled_from(SCRAPS)).map(" ".join))
def test_any_text_is_a_move_or_refused_in_words(text):
    try:
        read = EMPIRE.parse(text)
    except RulesError as refused:
        reason = str(refused)
    else:
        assert EMPIRE.parse(str(read)) == read
        return
    assert 10 < len(reason) < 200


@settings(max_examples=100)
@given(st.sampled_from(["redraw", "meld"]), st.sampled_from([FOES, BYZANTINES]), st.data())
def test_cards_of_a_deck_come_to_stand_in_the_order_of_its_sheet(verb, deck, data):
    chosen = data.draw(st.lists(st.sampled_from(deck), max_size=15))
    assert EMPIRE.parse(" ".join((verb, *chosen))) == Move(verb, tuple(sorted(chosen, key=deck.index)))


@settings(max_examples=100)
@given(st.lists(st.sampled_from(FOES + BYZANTINES), max_size=15))
def test_cards_of_both_decks_have_one_order_too(chosen):
    read = EMPIRE.parse(" ".join(("meld", *chosen)))
    random.Random(len(chosen)).shuffle(chosen)
    assert EMPIRE.parse(" ".join(("meld", *chosen))) == read == EMPIRE.parse(str(read))


def test_every_card_can_be_named_in_full_and_by_any_clear_beginning():
    names = sorted({*FOES, *BYZANTINES})
    for name in names:
        for length in range(1, len(name) + 1):
            short = name[:length]
            fits = [other for other in names if other.startswith(short)]
            if short in names or len(fits) == 1:
                meant = short if short in names else name
                assert EMPIRE.parse(f"keep {short}") == Move("keep", (meant,))
            else:
                with pytest.raises(AmbiguousMove):
                    EMPIRE.parse(f"keep {short}")


@pytest.mark.parametrize("seed", range(3))
def test_reading_what_is_written_changes_nothing(seed):
    for state, seat, _ in game(seed):
        for listed in (*EMPIRE.moves(state, seat or 0), *EMPIRE.out_of_turn_moves(state, seat or 0)):
            assert EMPIRE.parse(str(listed)) == listed == move(str(listed))
