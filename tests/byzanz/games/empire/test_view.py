"""What each viewer may know in Empire (docs/rules/empire.md "What is public and what is hidden", promise 10)."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, replace

import pytest

from byzanz.games.empire.state import deck_of, known_of
from byzanz.rules import ALL, PUBLIC, Viewer
from tests.support.empire_positions import (
    BYZANTINES,
    EMPIRE,
    FOES,
    after,
    at,
    dealt,
    game,
    move,
    remembered,
    words,
)

FOE, EMPEROR = 1, 0
"""The seats of year 1."""
EVERYBODY: tuple[Viewer, ...] = (0, 1, PUBLIC, ALL)
HELD = "barbarians light-cavalry light-cavalry infantry siege avars famine riots"


# What is seen


def test_a_seat_sees_its_own_hand_and_no_other():
    state = at(1, "redraw", foe="siege huns", emperor="trade")
    assert EMPIRE.view(state, FOE).hands == (None, ("siege", "huns"))
    assert EMPIRE.view(state, FOE).hand == ("siege", "huns")
    assert EMPIRE.view(state, EMPEROR).hands == (("trade",), None)
    assert EMPIRE.view(state, PUBLIC).hands == (None, None)
    assert EMPIRE.view(state, PUBLIC).hand is None
    assert EMPIRE.view(state, PUBLIC).hand_sizes == (1, 2)
    everything = EMPIRE.view(state, ALL)
    assert everything.hands == (("trade",), ("siege", "huns"))
    assert [deck.pile for deck in everything.decks] == [tuple(words(pile).split()) for pile in state.piles]
    assert all(deck.pile is None for viewer in (0, 1, PUBLIC) for deck in EMPIRE.view(state, viewer).decks)


def test_a_view_counts_cards_as_a_meld():
    view = EMPIRE.view(at(1, "meld", foe="barbarians barbarians huns", emperor="hagia-sophia trade"), FOE)
    meld = view.as_meld(FOE, ("huns", "barbarians", "barbarians"))
    assert [(card.card, card.force, card.bonus) for card in meld.cards] == [
        ("barbarians", 1, 0),
        ("barbarians", 1, 0),
        ("huns", 5, 4),
    ]
    assert meld.force == 11
    own = view.as_meld(EMPEROR, ("light-cavalry", "hagia-sophia"))
    assert [(card.card, card.force, card.legacy) for card in own.cards] == [
        ("light-cavalry", 3, 0),
        ("hagia-sophia", 0, 3),
    ]


def test_a_view_tells_the_table():
    discards, out = ("plague", "trade"), ("huns", "justinian")
    state = at(
        6, "redraw", foe=HELD, emperor="basil", discards=discards, out=out, territory=13, legacy=(12, 9)
    )
    view = EMPIRE.view(state, 0)
    assert (view.viewer, view.step, view.number, view.age) == (0, "redraw", 1, "M")
    assert (view.year, view.years) == (6, 12)
    assert (view.emperor, view.foe, view.territory, view.legacy) == (1, 0, 13, (12, 9))
    assert (view.awaited, view.question) == ((0, 1), "redraw 1")
    assert EMPIRE.view(state, PUBLIC).question is None
    foes, byzantines = view.decks
    assert (foes.name, foes.seat, byzantines.name, byzantines.seat) == ("foes", 0, "byzantines", 1)
    assert (foes.discards, byzantines.discards) == (("plague",), ("trade",))
    assert (foes.out, byzantines.out) == (("huns",), ("justinian",))
    assert (foes.size, foes.shuffles) == (len(state.piles[FOES]), 1)
    assert "crusaders" in foes.aside
    assert "rus" not in foes.aside
    assert view.deck(0) is foes
    assert view.deck(0).facts("light-cavalry").deck == "foes"
    assert view.deck(1).facts("light-cavalry").deck == "byzantines"
    assert (byzantines.facts("basil").name, byzantines.facts("basil").force) == ("Basil", 6)
    assert view.age in foes.facts("slavs").ages


def test_melds_are_shown_card_by_card_with_their_bonuses():
    state = at(1, foe="barbarians siege huns barbarians", emperor="justinian coinage treaty")
    state = after(state, "F meld barbarians barbarians siege huns", "E meld justinian coinage treaty")
    view = EMPIRE.view(state, PUBLIC)
    own, theirs = view.melds
    assert [(card.card, card.force, card.bonus, card.legacy) for card in theirs.cards] == [
        ("barbarians", 1, 0, 0), ("barbarians", 1, 0, 0), ("siege", 3, 0, 0), ("huns", 5, 4, 0)
    ]  # fmt: skip
    assert (theirs.force, own.force) == (1 + 1 + 3 + 5 + 2 * 2, 7 + 1)
    assert [(card.card, card.legacy) for card in own.cards][-1] == ("coinage", 1)
    assert (view.step, view.awaited) == ("negotiate", (EMPEROR,))


def test_the_last_battle_is_remembered():
    state = at(2, foe="siege plague", emperor="justinian coinage", territory=9)
    assert EMPIRE.view(state, PUBLIC).battle is None
    state = after(state, "F meld siege", "E meld justinian")
    fought = EMPIRE.view(state, PUBLIC).battle
    assert fought is not None
    assert (fought.year, fought.emperor, fought.before, fought.after, fought.legacy) == (2, 1, 9, 13, 1)
    assert [meld.force for meld in fought.melds] == [3, 7]
    assert [card.card for card in fought.melds[1].cards] == ["justinian"]
    assert EMPIRE.view(state, PUBLIC).melds[0].cards == ()


def test_a_view_becomes_json():
    state = after(at(1, foe="siege huns", emperor="justinian"), "F meld siege", "E meld justinian")
    view = json.loads(json.dumps(asdict(EMPIRE.view(state, 1))))
    assert view["battle"]["melds"][1]["cards"] == [{"card": "siege", "force": 3, "bonus": 0, "legacy": 0}]
    assert view["decks"][0]["name"] == "foes"


def test_a_sealed_choice_shows_that_it_is_there_and_no_more():
    before = at(1, foe="siege huns", emperor="justinian trade")
    one, other = after(before, "F meld siege huns"), after(before, "F meld")
    for viewer in (EMPEROR, PUBLIC):
        assert EMPIRE.view(one, viewer) == EMPIRE.view(other, viewer)
        assert EMPIRE.view(one, viewer).sealed == (False, True)
        assert EMPIRE.view(one, viewer).chosen == (None, None)
    assert EMPIRE.view(one, FOE).chosen == (None, ("siege", "huns"))
    assert EMPIRE.view(one, ALL).chosen == (None, ("siege", "huns"))
    assert EMPIRE.view(other, FOE).chosen == (None, ())


# What is remembered


def test_the_first_four_cards_drawn_are_public():
    shown = (("avars", "huns", "riots", "crisis"), ("reforms", "reforms", "marriage", "treaty"))
    for viewer in EVERYBODY:
        assert EMPIRE.view(remembered(), viewer).shown == shown


def test_the_passed_card_is_known_to_the_players_alone():
    state = remembered()
    for viewer in (*EVERYBODY[:2], ALL):
        assert EMPIRE.view(state, viewer).received == ("siege", "taxes")
        assert EMPIRE.view(state, viewer).known[0] == ("siege", "huns", "avars", "riots", "crisis")
    assert EMPIRE.view(state, PUBLIC).received == ("?", "?")
    assert EMPIRE.view(state, PUBLIC).known[0] == ("huns", "avars", "riots", "crisis")
    assert EMPIRE.view(at(1, "redraw", foe="siege"), 0).received == (None, None)


def test_what_is_laid_open_is_no_longer_in_hand():
    state = after(remembered(), "F redraw", "E redraw", "F meld siege huns riots", "E meld justinian")
    view = EMPIRE.view(state, 1)
    assert view.known[0] == ("avars", "crisis")
    assert view.played[0] == ("siege", "huns", "riots")


def test_after_a_redraw_what_was_known_may_lie_face_down():
    state = after(remembered(), "F redraw huns crisis", "E redraw")
    view = EMPIRE.view(state, 1)
    assert (view.redrawn, view.known[0]) == ((2, 0), ("siege", "huns", "avars", "riots", "crisis"))
    batch = view.decks[FOES].buried[0]
    assert (batch.year, batch.seat, batch.size, batch.cards, batch.known) == (2, 0, 2, None, ())
    assert EMPIRE.view(state, 0).decks[FOES].buried[0].cards == ("huns", "crisis")
    assert EMPIRE.view(state, PUBLIC).decks[FOES].buried[0].cards is None
    assert "huns" not in view.decks[FOES].discards


def test_at_the_end_of_a_year_the_players_work_out_what_lies_face_down():
    """The opponent saw huns and crisis drawn and neither melded, discarded nor passed on: there they lie."""
    state = after(remembered(), "F redraw huns crisis", "E redraw", "F meld avars", "E meld", "E keep taxes")
    held = state.hands[0]
    state = after(state, f"F keep {words(held).split()[0]}")
    assert state.year == 3
    for viewer, known in ((0, ("huns", "crisis")), (1, ("huns", "crisis")), (PUBLIC, ())):
        assert EMPIRE.view(state, viewer).decks[FOES].buried[0].known == known
    assert EMPIRE.view(state, 0).decks[FOES].buried[0].cards == ("huns", "crisis")
    assert EMPIRE.view(state, 1).decks[FOES].buried[0].cards is None


def test_cards_face_down_are_forgotten_when_their_deck_is_shuffled():
    state = after(remembered(), "F redraw huns crisis", "E redraw")
    state = replace(
        state, step="draw", hands=((), state.hands[1]), discards=(state.piles[0], ()), piles=((), ())
    )
    assert "huns" in words(state.buried[0][2])
    state = dealt(state, "")
    assert state.buried == ()


@pytest.mark.parametrize("seed", range(10))
def test_what_is_remembered_is_true(seed):
    """What is known of a hand lies there or was redrawn this year; what is known to lie face down lies there."""
    for state, _, _ in game(seed):
        for seat in (0, 1):
            batches = [batch for year, whose, batch, _ in state.buried if (year, whose) == (state.year, seat)]
            there = Counter(sum(batches, state.hands[seat]))
            for passed in (False, True):
                lost = Counter(known_of(state, seat, passed)) - there
                assert not lost or (not batches and lost.total() <= state.redrawn[seat])
        for _, _, batch, known in state.buried:
            assert not Counter(known) - Counter(batch)


# What is told


@pytest.mark.parametrize(
    ("line", "sealed", "opponent", "public"),
    [
        ("redraw barbarians huns", "redraw ?", "redraw ? 2", "redraw ? 2"),
        ("redraw", "redraw ?", "redraw ? 0", "redraw ? 0"),
        ("meld huns", "meld ?", "meld huns", "meld huns"),
        ("meld", "meld ?", "meld", "meld"),
        ("keep huns", "keep ?", "keep huns", "keep ?"),
    ],
)
def test_sealed_choices_are_told_as_far_as_they_are_open(line, sealed, opponent, public):
    for viewer, is_open in ((1, opponent), (PUBLIC, public)):
        assert EMPIRE.redact_move(move(line), 0, viewer, False) == sealed
        assert EMPIRE.redact_move(move(line), 0, viewer, True) == is_open
    for settled in (False, True):
        assert (
            EMPIRE.redact_move(move(line), 0, 0, settled)
            == EMPIRE.redact_move(move(line), 0, ALL, settled)
            == line
        )


@pytest.mark.parametrize(
    "line", ["defend vandals", "decline", "negotiate huns", "replace huns", "buy-off huns with trade"]
)
def test_responses_are_told_to_all(line):
    for viewer in EVERYBODY:
        assert EMPIRE.redact_move(move(line), 0, viewer, False) == line


def test_of_a_shuffle_the_label_is_told():
    for viewer in (0, 1, PUBLIC):
        assert EMPIRE.redact_move(move("shuffle foes:2 huns avars"), None, viewer, True) == "shuffle foes:2"
    assert EMPIRE.redact_move(move("shuffle foes:2 huns"), None, ALL, False) == "shuffle foes:2 huns"


def test_after_the_end_a_seat_still_sees_only_what_it_may_know():
    *_, (state, _, _) = game(3)
    view = EMPIRE.view(state, 1)
    assert view.step == "over"
    assert [hand is None for hand in view.hands] == [True, False]
    assert deck_of(1, state.year) in (FOES, BYZANTINES)
