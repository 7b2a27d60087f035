"""The fallback move of Empire, and what a bot one move ahead prefers (docs/rules/empire.md "Default moves")."""

from __future__ import annotations

from dataclasses import replace

import pytest

from byzanz.games.empire.state import force, legacy
from byzanz.rules import PUBLIC
from tests.support.empire_positions import EMPIRE, after, at, cards, game, remembered, seat_of
from tests.support.second_rules.empire import force as plain_force


def fallback(state, role):
    seat = seat_of(role, state.year)
    return str(EMPIRE.fallback(EMPIRE.view(state, seat), EMPIRE.moves(state, seat)))


def test_nothing_is_redrawn():
    assert fallback(at(1, "redraw", foe="riots barbarians"), "F") == "redraw"


@pytest.mark.parametrize(
    ("role", "held", "laid"),
    [
        ("E", "justinian belisarius trade", "justinian trade"),
        ("E", "taxes trade reforms campaigns", "trade campaigns"),
        ("E", "coinage hagia-sophia civilization militias", "militias hagia-sophia civilization"),
        ("E", "diplomacy marriage tribute", "marriage"),
        ("F", "plague famine riots", "riots plague"),
        ("F", "riots crisis plague famine", "crisis plague"),
        ("F", "huns avars light-cavalry light-cavalry", "light-cavalry light-cavalry avars"),
        ("F", "huns avars light-cavalry barbarians", "barbarians light-cavalry huns"),
        ("F", "barbarians barbarians siege siege siege siege huns", "barbarians barbarians siege siege huns"),
        ("F", "barbarians barbarians barbarians barbarians siege siege huns vandals",
         "barbarians barbarians barbarians barbarians huns vandals"),
    ],
)  # fmt: skip
def test_the_meld_with_the_most_force_is_laid_legacy_cards_included(role, held, laid):
    assert fallback(at(1, **{"foe" if role == "F" else "emperor": held}), role) == f"meld {laid}"


def test_an_empty_hand_lays_nothing():
    assert fallback(at(1, emperor="trade"), "F") == "meld"


@pytest.mark.parametrize("seed", range(6))
def test_no_legal_meld_has_more_force(seed):
    for state, _, _ in game(seed):
        for seat in EMPIRE.awaited(state) if state.step == "meld" else ():
            role = "E" if seat == seat_of("E", state.year) else "F"
            deck = "byzantines" if role == "E" else "foes"
            most = max(plain_force(deck, list(each.args)) for each in EMPIRE.moves(state, seat))
            assert plain_force(deck, fallback(state, role).split()[1:]) == most


@pytest.mark.parametrize(
    ("role", "held", "kept"),
    [
        ("F", "huns siege barbarians plague", "barbarians"),
        ("E", "hagia-sophia mercenaries trade", "mercenaries"),
        ("E", "civilization stronghold science", "science"),
        ("E", "civilization trade", "trade"),
        ("E", "campaigns civilization", "campaigns"),
    ],
)
def test_the_card_of_the_least_worth_is_passed_on_legacy_counting_double(role, held, kept):
    assert fallback(at(2, "keep", **{"foe" if role == "F" else "emperor": held}), role) == f"keep {kept}"


def responding(step, **given):
    return at(given.pop("year", 1), step, **given)


def test_a_defence_helps_always():
    state = responding("defend", foe="vandals", foe_meld="barbarians persians", emperor_meld="justinian")
    assert fallback(state, "F") == "defend vandals"


def test_the_removed_card_is_the_one_that_counts_most_with_its_bonus():
    melds = {
        "foe_meld": "light-cavalry light-cavalry light-cavalry avars sassanids",
        "emperor_meld": "treaty",
    }
    assert fallback(responding("negotiate", **melds), "E") == "negotiate avars"
    melds["foe_meld"] = "light-cavalry sassanids avars barbarians"
    assert fallback(responding("negotiate", **melds), "E") == "negotiate avars"
    melds["foe_meld"] = "heavy-cavalry light-cavalry sassanids avars"
    assert fallback(responding("negotiate", **melds), "E") == "negotiate sassanids"


def test_without_anything_to_remove_it_declines():
    assert fallback(responding("negotiate", foe_meld="siege", emperor_meld="treaty"), "E") == "decline"


def test_the_replacing_card_is_the_one_that_adds_most():
    state = responding(
        "replace", foe="huns avars", foe_meld="light-cavalry light-cavalry", emperor_meld="treaty"
    )
    assert fallback(state, "F") == "replace avars"


def test_a_card_is_bought_off_with_the_least_if_that_helps():
    state = responding("buy-off", foe_meld="barbarians huns", emperor_meld="justinian militias trade")
    assert fallback(state, "E") == "buy-off huns with militias"
    state = responding("buy-off", foe_meld="gothic-tribes", emperor_meld="stronghold")
    assert fallback(state, "E") == "decline", "4 for 4 changes nothing"
    state = responding("buy-off", foe_meld="gothic-tribes", emperor_meld="stronghold coinage")
    assert fallback(state, "E") == "buy-off gothic-tribes with coinage"


# Prospects


def prospects(state, role):
    return EMPIRE.evaluate(EMPIRE.view(state, seat_of(role, state.year)))


def test_only_seats_have_prospects():
    assert EMPIRE.evaluate(EMPIRE.view(at(1), PUBLIC)) == 0.0


def test_legacy_counts():
    state = at(3, "keep", foe="siege", emperor="trade")
    assert prospects(replace(state, legacy=(12, 10)), "E") > prospects(state, "E")
    assert prospects(replace(state, legacy=(12, 10)), "F") < prospects(state, "F")


def test_after_the_end_the_lead_is_all():
    assert prospects(replace(at(12), step="over", legacy=(9, 12)), "E") == 3.0
    assert prospects(replace(at(12), step="over", legacy=(9, 12)), "F") == -3.0


def test_a_strong_sealed_meld_is_better_than_a_weak_one():
    for role, held in (("E", "justinian trade"), ("F", "huns plague")):
        state = at(3, foe="huns plague", emperor="justinian trade")
        assert prospects(after(state, f"{role} meld {held}"), role) > prospects(
            after(state, f"{role} meld"), role
        )


@pytest.mark.parametrize("step", ["redraw", "meld"])
def test_before_the_meld_a_strong_hand_is_better_than_a_weak_one(step):
    strong = at(3, step, foe="huns plague", emperor="justinian militias")
    weak = at(3, step, foe="infantry infantry", emperor="trade taxes")
    for role in "FE":
        assert prospects(strong, role) > prospects(weak, role)


def test_legacy_cards_belong_in_the_meld():
    state = at(3, emperor="coinage trade trade", foe="siege")
    with_it, without = after(state, "E meld coinage trade trade"), after(state, "E meld trade trade")
    assert prospects(with_it, "E") > prospects(without, "E")


def test_open_melds_are_weighed_as_they_lie():
    given = {"emperor_meld": "justinian trade", "foe": "vandals"}
    strong, weak = (
        at(3, "defend", foe_meld="huns plague", **given),
        at(3, "defend", foe_meld="siege", **given),
    )
    assert prospects(strong, "F") > prospects(weak, "F")
    assert prospects(strong, "E") < prospects(weak, "E")


def test_an_empire_close_to_its_fall_threatens_the_next_emperor():
    low, high = at(3, "keep", territory=2, foe="siege"), at(3, "keep", territory=18, foe="siege")
    assert prospects(low, "E") > prospects(high, "E"), "the other one is the next"


def test_a_weak_card_is_the_better_one_to_pass_on():
    state = at(3, "keep", foe="plague barbarians", emperor="trade taxes")
    assert prospects(after(state, "F keep barbarians"), "F") > prospects(after(state, "F keep plague"), "F")
    passed = remembered()
    better = replace(passed, received=(cards(0, "barbarians")[0], passed.received[1]))
    assert prospects(better, "E") > prospects(passed, "E")


def test_it_does_not_look_at_what_is_hidden():
    for state, _, _ in game(5):
        for seat in (0, 1):
            view = EMPIRE.view(state, seat)
            world = EMPIRE.sample_state(view, lambda n: n - 1)
            assert EMPIRE.evaluate(EMPIRE.view(world, seat)) == EMPIRE.evaluate(view)


def test_force_and_legacy_are_what_the_first_listed_meld_has():
    assert force(cards(1, "trade hagia-sophia")) == 3
    assert legacy(cards(1, "trade hagia-sophia")) == 3
