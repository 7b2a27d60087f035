"""Setup, drawing, ageing, redrawing and keeping a card: the course of a year (docs/rules/empire.md)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from hashlib import sha256

import pytest

from byzanz.moves import BadSetup, IllegalMove, Move, NotAwaited
from tests.support.empire_positions import (
    ALL_CARDS,
    BYZANTINES,
    EMPIRE,
    FOES,
    SHEET,
    SHEET_FILE,
    after,
    answers,
    asked,
    at,
    cards,
    dealt,
    game,
    hand,
    move,
    seat_of,
    words,
)

FIVE = "light-cavalry light-cavalry infantry infantry fleets"
"""Five cards of the Foes that fill a hand."""


def refusal_to(state, role, line):
    with pytest.raises(IllegalMove) as refused:
        EMPIRE.apply(state, seat_of(role, state.year), move(line))
    return str(refused.value)


def first_year():
    """Year 1, both decks just shuffled: they lie in canonical order."""
    return dealt(EMPIRE.setup(2, {}), "", "")


# Set-up


def test_the_sheet_has_91_foes_and_59_byzantines():
    decks = Counter(dict.fromkeys(("foes", "byzantines"), 0))
    for (deck, _), copies in ALL_CARDS.items():
        decks[deck] += copies
    assert decks == {"foes": 91, "byzantines": 59}


def test_the_sheet_is_the_one_that_version_1_is_played_with():
    """Another sheet is another game: a change of it raises the version, and old records keep the old one."""
    assert sha256(SHEET_FILE.read_bytes()).hexdigest() == (
        "5559526e2bab49a03c5f3e43d4d193512f68fe605c8c903968b538d86084a150"
    )


def test_at_the_start_69_and_53_cards_are_shuffled_the_foes_first():
    state = EMPIRE.setup(2, {})
    due = EMPIRE.chance(state)
    assert due is not None
    assert (due.label, len(due.cards)) == ("foes:1", 69)
    due = EMPIRE.chance(dealt(state, ""))
    assert due is not None
    assert (due.label, len(due.cards)) == ("byzantines:1", 53)


def test_cards_to_be_shuffled_stand_in_the_order_of_the_sheet_copies_together():
    due = EMPIRE.chance(EMPIRE.setup(2, {}))
    assert due is not None
    lines = [row for row in SHEET if row["deck"] == "foes" and row["ages"][0] == "E"]
    assert due.cards == tuple(row["card"] for row in lines for _ in range(int(row["copies"])))


def test_the_table_at_the_start():
    state = first_year()
    assert (state.territory, state.legacy, state.year) == (10, (10, 10), 1)
    assert (len(state.hands[1]), len(state.hands[0])) == (8, 9), "seat 0 is the Emperor of year 1"
    assert asked(state) == "FE redraw"
    assert [len(pile) for pile in state.aside] == [91 - 69, 59 - 53]
    assert EMPIRE.view(state, 0).emperor == 0


@pytest.mark.parametrize("seats", [0, 1, 3])
def test_empire_is_for_two(seats):
    with pytest.raises(BadSetup, match="for 2 players"):
        EMPIRE.setup(seats, {})


def test_empire_has_no_options():
    with pytest.raises(BadSetup, match="no option “long”"):
        EMPIRE.setup(2, {"long": True})


@pytest.mark.parametrize(
    "line",
    [
        "shuffle foes:1",
        "shuffle byzantines:1 huns",
        "shuffle foes:1 huns huns",
        "redraw",
        "shuffle",
    ],
)
def test_another_shuffle_than_the_due_one_is_refused(line):
    with pytest.raises(IllegalMove, match="foes:1"):
        EMPIRE.apply(EMPIRE.setup(2, {}), None, move(line))


def test_nobody_moves_before_the_shuffle_and_nothing_is_shuffled_in_between():
    with pytest.raises(NotAwaited, match="not been shuffled yet"):
        EMPIRE.apply(EMPIRE.setup(2, {}), 0, move("redraw"))
    with pytest.raises(IllegalMove, match="Nothing is to be shuffled"):
        EMPIRE.apply(first_year(), None, move("shuffle foes:2"))


# Draw


@pytest.mark.parametrize(("year", "emperor"), [(1, 9), (4, 9), (5, 8), (8, 8), (9, 7), (12, 7)])
def test_the_foe_fills_to_8_and_the_emperor_to_9_8_or_7(year, emperor):
    before = at(year - 1, "keep", foe="siege", emperor="trade") if year > 1 else None
    state = first_year() if before is None else after(before)
    state = dealt(state, "", "") if EMPIRE.chance(state) else state
    assert state.year == year
    assert (len(state.hands[seat_of("F", year)]), len(state.hands[seat_of("E", year)])) == (8, emperor)


def test_the_roles_swap_and_the_passed_card_fits_the_next_deck():
    state = after(
        at(1, "keep", foe="siege rebellion", emperor="trade militias"), "F keep siege", "E keep trade"
    )
    assert state.year == 2
    assert state.received == cards(FOES, "siege") + cards(BYZANTINES, "trade")
    assert "siege" in hand(state, "F")
    assert "trade" in hand(state, "E")
    assert words(state.discards[FOES]) == "rebellion"
    assert words(state.discards[BYZANTINES]) == "militias"


def test_the_first_four_cards_drawn_are_shown_as_they_came():
    tops = ("siege plague huns riots fleets", "trade justinian reforms coinage reforms")
    state = after(at(2, "keep", foe="siege", emperor="taxes", piles=tops))
    assert words(state.shown[seat_of("F", 3)]) == "siege plague huns riots"
    assert words(state.shown[seat_of("E", 3)]) == "trade justinian reforms coinage"


def test_when_the_pile_is_empty_its_discards_are_shuffled_and_the_draw_goes_on():
    state = at(2, "keep", foe="siege", emperor="taxes", piles=("plague riots", "trade"), dry=True)
    state = after(state)
    due = EMPIRE.chance(state)
    assert due is not None
    assert due.label == "foes:2"
    assert words(state.discards[FOES]).split() == list(due.cards)
    assert hand(state, "F") == "siege riots plague"
    state = dealt(state, "crisis exhaustion weakness")
    assert words(state.shown[seat_of("F", 3)]) == "plague riots crisis exhaustion"
    assert state.discards[FOES] == ()
    assert len(state.hands[seat_of("F", 3)]) == 8
    due = EMPIRE.chance(state)
    assert due is not None
    assert due.label == "byzantines:2"
    assert asked(dealt(state, "")) == "FE redraw"


def test_when_both_pile_and_discards_are_empty_no_more_is_drawn():
    most = words(at(2).piles[FOES]).replace("plague plague", "")
    state = after(at(2, "keep", emperor="taxes", out=(most, "")))
    assert asked(state) == "FE redraw"
    assert hand(state, "F") == "plague plague"
    assert answers(state, "F") == ["redraw", "redraw plague", "redraw plague plague"]


# Age


@pytest.mark.parametrize(("year", "foes", "byzantines"), [(5, 10, 3), (9, 12, 3)])
def test_the_cards_of_an_age_are_shuffled_into_the_draw_piles_only(year, foes, byzantines):
    discards = ("plague", "trade")
    state = after(at(year - 1, "keep", foe="siege", emperor="taxes", discards=discards))
    piles = [len(pile) for pile in state.piles]
    for deck, (name, new) in enumerate([("foes", foes), ("byzantines", byzantines)]):
        due = EMPIRE.chance(state)
        assert due is not None
        assert due.label == f"{name}:2"
        assert len(due.cards) == piles[deck] + new
        state = dealt(state, "")
    assert [words(pile) for pile in state.discards] == list(discards)


def test_the_new_cards_are_those_whose_first_age_begins():
    state = after(at(4, "keep", foe="siege", emperor="taxes"))
    due = EMPIRE.chance(state)
    assert due is not None
    new = Counter(due.cards) - Counter(words(state.piles[FOES]).split())
    assert sorted(new) == sorted(
        row["card"] for row in SHEET if row["deck"] == "foes" and row["ages"][0] == "M"
    )
    assert "slavs" not in new
    state = dealt(state, "")
    due = EMPIRE.chance(state)
    assert due is not None
    assert "theme-system" in due.cards


def test_a_card_of_another_age_leaves_the_game_and_is_replaced_until_none_is_left():
    tops = "huns plague siege avars fleets sassanids vandals persians riots crisis"
    state = dealt(after(at(4, "keep", foe="siege", emperor="taxes")), tops, "hagia-sophia basil")
    assert hand(state, "F").split()[-3:] == ["riots", "crisis", "plague"]
    assert sorted(words(state.out[FOES]).split()) == sorted(
        ["huns", "avars", "sassanids", "vandals", "persians"]
    )
    assert "hagia-sophia" in words(state.out[BYZANTINES])
    assert words(state.shown[seat_of("F", 5)]) == "huns plague siege avars", "what was drawn, expired or not"
    assert len(state.hands[seat_of("F", 5)]) == 8
    assert len(state.hands[seat_of("E", 5)]) == 8


def test_a_passed_card_may_expire_too():
    state = after(at(4, "keep", foe="huns", emperor="taxes"))
    state = dealt(state, "", "")
    assert words(state.out[FOES]) == "huns"
    assert "huns" not in hand(state, "F")
    assert len(state.hands[seat_of("F", 5)]) == 8


def test_slavs_live_into_the_middle_age_and_bulgarians_for_ever():
    state = dealt(after(at(4, "keep", foe="slavs", emperor="taxes")), "bulgarians", "")
    assert {"slavs", "bulgarians"} <= set(hand(state, "F").split())
    state = dealt(after(at(8, "keep", foe="slavs", emperor="taxes")), "bulgarians", "")
    assert words(state.out[FOES]) == "slavs"
    assert "bulgarians" in hand(state, "F")


def test_draws_come_before_ages_and_the_foe_before_the_emperor():
    """The Foe draws the last cards of the pile, one of them expired; the Emperor draws before that is replaced."""
    seven = "plague plague riots crisis disease famine huns"
    state = at(5, "keep", foe="siege", emperor="taxes", piles=(seven, "trade"), dry=True)
    state = after(state)
    due = EMPIRE.chance(state)
    assert due is not None
    assert (due.label, state.step) == ("byzantines:2", "draw")
    state = dealt(state, "reforms " * 2)
    due = EMPIRE.chance(state)
    assert due is not None
    assert (due.label, state.step) == ("foes:2", "age")
    assert words(state.out[FOES]) == "huns"


# Redraw


def test_up_to_four_cards_are_redrawn_from_none():
    state = at(1, "redraw", foe="siege huns", emperor="trade")
    assert answers(state, "F") == ["redraw", "redraw siege", "redraw huns", "redraw siege huns"]
    assert answers(state, "E") == ["redraw", "redraw trade"]


def test_equal_cards_are_one_choice():
    state = at(1, "redraw", foe="barbarians " * 8)
    assert answers(state, "F") == ["redraw" + " barbarians" * count for count in range(5)]


def test_nine_different_cards_make_256_redraws():
    state = at(
        1, "redraw", emperor="justinian mercenaries cataphracts diplomacy trade taxes reforms coinage science"
    )
    assert len(answers(state, "E")) == 1 + 9 + 36 + 84 + 126


def test_the_cards_are_thrown_away_and_as_many_drawn():
    state = at(
        1, "redraw", foe=f"{FIVE} huns riots plague", emperor="trade " * 2, piles=("crisis avars", "taxes")
    )
    state = after(state, "F redraw riots plague", "E redraw trade")
    assert asked(state) == "FE meld"
    assert sorted(hand(state, "F").split()) == sorted([*FIVE.split(), "huns", "crisis", "avars"])
    assert state.redrawn == (1, 2)
    assert [words(batch) for _, _, batch, _ in state.buried] == ["trade", "riots plague"]
    assert state.discards == ((), ())


def test_nothing_happens_before_both_are_in_and_a_further_choice_replaces_the_first():
    state = at(1, "redraw", foe="siege huns", emperor="trade taxes")
    one = after(state, "F redraw siege")
    assert asked(one) == "E redraw"
    assert one.hands == state.hands
    assert list(map(str, EMPIRE.out_of_turn_moves(one, 1))) == answers(state, "F")
    assert EMPIRE.is_out_of_turn(one, 1, move("redraw huns"))
    assert not EMPIRE.is_out_of_turn(one, 0, move("redraw trade"))
    assert EMPIRE.awaited(one)[0] == EMPIRE.awaited(state)[0]
    two = after(one, "F redraw huns")
    assert asked(two) == "E redraw"
    done = after(two, "E redraw")
    assert [words(batch) for _, _, batch, _ in done.buried] == ["huns"]
    assert EMPIRE.out_of_turn_moves(done, 1) == ()


def test_an_expired_card_drawn_leaves_the_game_and_is_replaced_at_once():
    state = at(6, "redraw", foe=f"{FIVE} riots plague crisis", piles=("huns avars rus siege", ""))
    state = after(state, "F redraw plague crisis")
    assert words(state.out[FOES]) == "huns avars"
    assert {"rus", "siege"} <= set(hand(state, "F").split())


def test_redrawn_cards_are_thrown_away_before_cards_are_drawn():
    """The pile is empty: what was just thrown away is shuffled with the other discards."""
    full = f"{FIVE} riots plague crisis"
    state = at(1, "redraw", foe=full, emperor="trade", discards=("huns", ""))
    state = replace(state, piles=((), state.piles[1]))
    state = after(state, "F redraw plague crisis", "E redraw")
    due = EMPIRE.chance(state)
    assert due is not None
    assert (due.label, due.cards) == ("foes:2", ("huns", "crisis", "plague"))
    state = dealt(state, "plague huns")
    assert {"plague", "huns"} <= set(hand(state, "F").split())
    assert words(state.piles[FOES]) == "crisis"
    assert state.buried == ()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("redraw plague", "You do not hold plague"),
        ("redraw trade trade trade", "You hold only 2 of trade"),
        ("redraw trade justinian", "in this order: justinian trade"),
        ("redraw justinian trade trade taxes reforms", "at most 4"),
        ("meld trade", "must redraw"),
        ("decline", "must redraw"),
    ],
)
def test_refused_redraws(line, reason):
    state = at(1, "redraw", emperor="justinian trade trade taxes reforms")
    assert reason in refusal_to(state, "E", line)


# Keep


def test_a_player_with_cards_keeps_exactly_one():
    state = at(1, "keep", foe="siege siege plague", emperor="taxes trade")
    assert answers(state, "F") == ["keep siege", "keep plague"]
    assert asked(after(state, "E keep trade")) == "F keep"
    assert "exactly one" in refusal_to(state, "F", "keep siege plague")
    assert "exactly one" in refusal_to(state, "F", "keep")


def test_a_hand_of_one_passes_that_card_by_itself():
    state = after(at(1, "keep", foe="siege", emperor="taxes trade"))
    assert asked(state) == "E keep"
    state = after(state, "E keep taxes")
    assert (state.year, words(state.received[1:]), words(state.received[:1])) == (2, "taxes", "siege")


def test_equal_cards_leave_no_choice_either():
    assert asked(after(at(1, "keep", foe="siege siege", emperor="taxes trade"))) == "E keep"


def test_who_has_no_card_keeps_none_and_is_not_asked():
    state = at(1, "keep", emperor="taxes trade")
    assert asked(state) == "E keep"
    with pytest.raises(NotAwaited, match="no card to keep"):
        EMPIRE.apply(state, seat_of("F", 1), move("keep siege"))
    state = after(state, "E keep taxes")
    assert state.received == (-1, cards(BYZANTINES, "taxes")[0])


def test_without_cards_in_both_hands_the_next_year_begins_at_once():
    state = after(at(1, "meld", foe="siege", emperor="taxes"), "F meld siege", "E meld taxes")
    assert (state.year, state.received, asked(state)) == (2, (-1, -1), "FE redraw")


def test_a_kept_card_may_be_thought_over_until_the_other_is_in():
    state = after(at(1, "keep", foe="siege plague", emperor="taxes trade"), "F keep siege", "F keep plague")
    assert asked(state) == "E keep"
    assert words(after(state, "E keep taxes").received[:1]) == "plague"


def test_the_last_year_has_no_passing_on():
    state = after(at(12, "meld", foe="siege plague", emperor="taxes trade"), "F meld siege", "E meld trade")
    assert state.step == "over"
    assert (hand(state, "F"), hand(state, "E")) == ("plague", "taxes")


@pytest.mark.parametrize("seed", range(8))
def test_the_numbers_of_questions_rise_by_one(seed):
    last = 0
    for state, _, _ in game(seed):
        for question in EMPIRE.awaited(state).values():
            assert question.number in (last, last + 1)
            last = question.number


def test_labels_count_the_shuffles_of_a_deck():
    for seed in range(6):
        labels = [made.args[0] for _, seat, made in game(seed) if seat is None and made != Move("over")]
        for deck in ("foes", "byzantines"):
            mine = [label for label in labels if label.startswith(deck)]
            assert mine == [f"{deck}:{count + 1}" for count in range(len(mine))]
