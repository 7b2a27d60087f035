"""Melds, responses, force, territory and legacy (docs/rules/empire.md "A turn" 4 and 5, and the rulings)."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest

from byzanz.games.empire.bots import strongest
from byzanz.games.empire.state import force, legacy, melds_from
from byzanz.moves import IllegalMove, NotAwaited
from byzanz.umpire import settle
from tests.support.empire_positions import (
    BYZANTINES,
    EMPIRE,
    FOES,
    after,
    answers,
    asked,
    at,
    cards,
    game,
    hand,
    move,
    seat_of,
    words,
)
from tests.support.second_rules.empire import fits


def fight(foe="", emperor="", *, year=1, more=(), **given):
    """Both lay these melds, with other cards in hand; then the responses `more`."""
    rest = {"foe": given.pop("foe_hand", ""), "emperor": given.pop("emperor_hand", "")}
    state = at(year, foe=f"{foe} {rest['foe']}", emperor=f"{emperor} {rest['emperor']}", **given)
    laid = [f"{role} meld {meld}" for role, meld in (("F", foe), ("E", emperor)) if hand(state, role)]
    return after(state, *laid, *more)


def meld(state, role):
    return words(state.melds[seat_of(role, state.year)])


def refusal_to(state, role, line):
    with pytest.raises(IllegalMove) as refused:
        EMPIRE.apply(state, seat_of(role, state.year), move(line))
    return str(refused.value)


# What a meld may hold


LIMITS = [
    ("E", "justinian belisarius", "leader"),
    ("E", "trade trade reforms", "recovery"),
    ("E", "mercenaries mercenaries mercenaries mercenaries cataphracts", "troop"),
    ("E", "diplomacy treaty", "negotiation"),
    ("E", "coinage science literature", "legacy"),
    ("F", "huns avars", "northern"),
    ("F", "sassanids sassanids", "southern"),
    ("F", "riots crisis exhaustion", "disaster"),
    ("F", "riots crisis plague", "disaster"),
    ("F", "plague famine", "natural-disaster"),
    ("F", "barbarians barbarians siege fleets infantry", "troop"),
]


@pytest.mark.parametrize(("role", "held", "kind"), LIMITS)
def test_a_meld_has_limits(role, held, kind):
    state = at(1, **{"foe" if role == "F" else "emperor": held})
    line = str(EMPIRE.parse(f"meld {held}"))
    assert line not in answers(state, role)
    assert refusal_to(state, role, line).endswith(f"of kind {kind}.")
    assert line.rsplit(" ", 1)[0] in answers(state, role)


def test_a_full_meld_of_each_side():
    emperor = (
        "justinian mercenaries mercenaries cataphracts cataphracts diplomacy trade reforms coinage science"
    )
    assert f"meld {emperor}" in answers(at(1, emperor=emperor), "E")
    foe = "barbarians siege siege fleets huns persians plague crisis"
    assert EMPIRE.parse(f"meld {foe}") in EMPIRE.moves(at(1, foe=foe), 1)


def test_an_empty_meld_is_legal():
    state = fight(year=3, foe_hand="siege riots", emperor_hand="taxes trade")
    assert (state.step, state.territory) == ("keep", 10)


@pytest.mark.parametrize("seed", range(12))
def test_the_listed_melds_are_those_that_counting_by_hand_finds(seed):
    for state, _, _ in game(seed):
        if state.step == "meld":
            for role, deck in (("F", "foes"), ("E", "byzantines")):
                held = hand(state, role).split()
                found = {
                    each for size in range(10) for each in combinations(held, size) if fits(deck, list(each))
                }
                listed = [tuple(answer.split()[1:]) for answer in answers(state, role)]
                if listed:
                    assert len(listed) == len(set(listed))
                    assert set(listed) == found


@pytest.mark.parametrize("seed", range(12))
def test_melds_are_listed_strong_first_and_the_strongest_is_found_at_once(seed):
    for state, _, _ in game(seed):
        for deck_hand in state.hands if state.step == "meld" else ():
            melds = [
                cards(FOES if deck_hand and deck_hand[0] < 45 else BYZANTINES, " ".join(each.args))
                for each in melds_from(deck_hand)
            ]
            ranks = [(force(each), legacy(each)) for each in melds]
            assert ranks == sorted(ranks, reverse=True)
            best = strongest(deck_hand)
            assert best in melds
            assert (force(best), legacy(best)) == ranks[0]


def test_at_most_512_melds_are_listed():
    held = "justinian mercenaries cataphracts stronghold militias diplomacy trade reforms coinage"
    assert len(answers(at(1, emperor=held), "E")) == 512


def test_melds_are_sealed_until_both_are_in():
    state = after(at(1, foe="siege huns", emperor="trade"), "F meld siege")
    assert asked(state) == "E meld"
    assert (state.melds, state.played) == (((), ()), ((), ()))
    assert hand(state, "F") == "siege huns"
    state = after(state, "F meld huns", "E meld")
    assert state.battle[:2] == ((), cards(FOES, "huns"))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("meld huns", "You do not hold huns"),
        ("meld trade trade trade", "You hold only 2 of trade"),
        ("meld taxes trade", "order: trade taxes"),
        ("meld unicorn", "You do not hold unicorn"),
        ("defend vandals", "must meld"),
        ("decline", "must meld"),
        ("redraw", "must meld"),
    ],
)
def test_refused_melds(line, reason):
    assert reason in refusal_to(at(1, emperor="trade trade taxes"), "E", line)


# Force


@pytest.mark.parametrize(
    ("laid", "total"),
    [
        ("huns", 5),
        ("barbarians barbarians huns", 1 + 1 + 5 + 2 * 2),
        ("heavy-cavalry light-cavalry light-cavalry persians", 4 + 3 + 3 + 3 + 3 * 1),
        ("heavy-cavalry heavy-cavalry sassanids", 4 + 4 + 4 + 2 * 3),
        ("light-cavalry heavy-cavalry sassanids avars", 3 + 4 + (4 + 3) + (3 + 2)),
        ("barbarians barbarians barbarians huns vandals", 3 + (5 + 6) + (2 + 6)),
        ("infantry infantry bulgarians", 2 + 2 + 3 + 2 * 3),
        ("fleets varangians umayyad-caliphate", 2 + (3 + 3) + (4 + 3)),
        ("siege siege ottoman-turks crusaders", 3 + 3 + (5 + 6) + (4 + 6)),
        ("plague crisis", 5 + 3),
        ("light-cavalry muslims magyars", 3 + (5 + 1) + (3 + 2)),
    ],
)
def test_the_force_of_foes_is_printed_force_and_a_bonus_for_each_matching_troop(laid, total):
    assert force(cards(FOES, laid)) == total


def test_the_force_of_the_emperor_is_what_is_printed():
    laid = "justinian mercenaries light-cavalry diplomacy trade hagia-sophia"
    assert force(cards(BYZANTINES, laid)) == 7 + 3 + 3 + 2 + 3 + 0
    assert legacy(cards(BYZANTINES, laid)) == 3


# a. A leader: the Foe may defend


def test_against_a_leader_the_foe_may_add_a_defence_card_beyond_the_limits():
    state = fight("persians siege", "justinian", foe_hand="vandals riots crisis", emperor_hand="taxes")
    assert asked(state) == "F defend"
    assert answers(state, "F") == ["decline", "defend vandals"]
    state = after(state, "F defend vandals")
    own, theirs, _ = state.battle
    assert (words(own), words(theirs)) == ("justinian", "siege vandals persians")
    assert hand(state, "F") == "riots crisis"


def test_without_a_leader_there_is_no_defence():
    state = fight("persians", "trade", foe_hand="vandals riots", emperor_hand=["taxes", "taxes"][0])
    assert asked(state) == "F keep"


def test_a_foe_without_a_defence_card_declines_by_itself():
    state = at(1, foe="persians riots", emperor="justinian taxes")
    state = EMPIRE.apply(state, 1, move("meld persians"))
    state = EMPIRE.apply(state, 0, move("meld justinian"))
    assert (state.step, answers(state, "F")) == ("defend", ["decline"])
    state, steps = settle(EMPIRE, state, lambda _shuffle: move("none"))
    assert [(step.seat, step.by, str(step.move)) for step in steps][:1] == [(1, "rules", "decline")]


def test_the_foe_may_decline_and_the_emperor_is_not_asked():
    state = fight("siege", "justinian", foe_hand="vandals riots", emperor_hand="taxes trade")
    with pytest.raises(NotAwaited, match="not your turn"):
        EMPIRE.apply(state, 0, move("decline"))
    assert "Defend with one card" in refusal_to(state, "F", "defend riots")
    assert "Answer with defend or decline" in refusal_to(state, "F", "negotiate siege")
    state = after(state, "F decline")
    assert words(state.battle[1]) == "siege"


def test_hungarians_defend_in_the_last_age():
    state = fight("crusaders infantry", "komnenian-dynasty", year=9, foe_hand="hungarians siege")
    state = after(state, "F defend hungarians")
    assert words(state.battle[1]) == "infantry hungarians crusaders"
    assert force(state.battle[1]) == 2 + (3 + 3) + 4


# b. A negotiation: the Emperor removes, the Foe replaces


def test_a_negotiation_removes_a_northern_or_southern_card_and_keeps_its_own_force():
    state = fight("siege huns persians plague", "treaty", foe_hand="riots", emperor_hand="taxes")
    assert asked(state) == "E negotiate"
    assert answers(state, "E") == ["decline", "negotiate huns", "negotiate persians"]
    assert "northern or southern" in refusal_to(state, "E", "negotiate plague")
    state = after(state, "E negotiate huns")
    own, theirs, _ = state.battle
    assert (words(theirs), force(own)) == ("siege persians plague", 1)
    assert words(state.discards[FOES]).split().count("huns") == 1


def test_the_foe_replaces_what_was_removed_within_the_limits():
    state = fight("avars persians", "marriage", foe_hand="huns sassanids riots", more=["E negotiate avars"])
    assert asked(state) == "F replace"
    assert answers(state, "F") == ["decline", "replace huns"]
    assert "within the limits" in refusal_to(state, "F", "replace sassanids")
    assert "huns" in meld(after(state, "F replace huns"), "F")


def test_a_northern_card_may_be_replaced_by_a_southern_one_where_none_lies():
    state = fight("avars", "marriage", foe_hand="bulgarians sassanids", more=["E negotiate avars"])
    assert answers(state, "F") == ["decline", "replace sassanids", "replace bulgarians"]


def test_the_card_just_removed_is_not_in_hand_for_replacing():
    state = fight("avars", "marriage", foe_hand="riots siege", emperor_hand="taxes trade")
    state = after(state, "E negotiate avars")
    assert state.step == "keep", "the Foe has nothing but to decline"


def test_cards_added_in_defence_do_not_count_for_the_limits_of_replacing():
    state = fight(
        "avars",
        "justinian treaty",
        foe_hand="vandals persians",
        more=["F defend vandals", "E negotiate avars"],
    )
    assert answers(state, "F") == ["decline", "replace persians"], "vandals, also southern, were added"
    state = after(state, "F replace persians")
    assert words(state.battle[1]) == "vandals persians"


def test_a_card_added_in_defence_may_be_removed_and_leaves_the_limits_as_they_are():
    state = fight(
        "persians", "justinian treaty", foe_hand="vandals sassanids huns", emperor_hand="taxes",
        more=["F defend vandals"],
    )  # fmt: skip
    assert answers(state, "E") == ["decline", "negotiate vandals", "negotiate persians"]
    state = after(state, "E negotiate vandals")
    assert answers(state, "F") == ["decline", "replace huns"], "persians lie there as southern card"


def test_a_declined_negotiation_asks_nobody_to_replace():
    state = fight("avars", "marriage", foe_hand="bulgarians riots", more=["E decline"])
    assert words(state.battle[1]) == "avars"


def test_a_negotiation_without_anything_to_remove_declines_by_itself():
    state = at(1, foe="siege riots", emperor="treaty taxes")
    state = EMPIRE.apply(EMPIRE.apply(state, 1, move("meld siege")), 0, move("meld treaty"))
    assert (state.step, answers(state, "E")) == ("negotiate", ["decline"])


# c. Buying off


def test_the_emperor_may_pay_with_a_card_of_the_meld_to_remove_a_bought_off_card():
    state = fight("barbarians huns", "mercenaries militias", foe_hand="riots", emperor_hand="taxes")
    assert asked(state) == "E buy-off"
    assert answers(state, "E") == ["decline", "buy-off huns with mercenaries", "buy-off huns with militias"]
    state = after(state, "E buy-off huns with militias")
    own, theirs, _ = state.battle
    assert (words(own), words(theirs)) == ("mercenaries", "barbarians")
    assert "militias" in words(state.discards[BYZANTINES])
    assert "huns" in words(state.discards[FOES])


@pytest.mark.parametrize(
    "line",
    [
        "buy-off huns with taxes",
        "buy-off persians with militias",
        "buy-off huns",
        "buy-off huns with",
        "buy-off militias with huns",
        "buy-off huns and militias",
        "buy-off huns with militias militias",
        "buy-off",
    ],
)
def test_refused_bargains(line):
    state = fight("barbarians persians huns", "militias", emperor_hand="taxes")
    assert "bought off" in refusal_to(state, "E", line)


def test_only_one_card_a_year_is_bought_off():
    state = fight("huns", "militias trade treaty", foe_hand="gothic-tribes", more=["E negotiate huns"])
    state = after(state, "F replace gothic-tribes")
    assert asked(state) == "E buy-off", "a replacing card may be bought off, too"
    state = after(state, "E buy-off gothic-tribes with treaty")
    assert state.battle[1] == ()


def test_a_unique_card_paid_leaves_the_game_for_it_was_melded():
    state = fight("huns", "justinian", more=["E buy-off huns with justinian"])
    assert words(state.out[BYZANTINES]) == "justinian"
    assert state.battle[0] == ()


def test_a_legacy_card_paid_brings_no_legacy():
    kept = fight("huns", "coinage science mercenaries reforms", more=["E decline"])
    assert kept.legacy[0] == 10 + 2 + 1
    paid = fight("huns", "coinage science mercenaries reforms", more=["E buy-off huns with coinage"])
    assert paid.legacy[0] == 10 + 1 + 1


def test_an_emperor_without_a_meld_has_nothing_to_pay_with():
    state = at(1, foe="huns riots", emperor="taxes")
    state = EMPIRE.apply(EMPIRE.apply(state, 1, move("meld huns")), 0, move("meld"))
    assert (state.step, answers(state, "E")) == ("buy-off", ["decline"])


def test_defence_negotiation_and_buying_off_come_in_this_order():
    state = fight("huns", "justinian treaty", foe_hand="vandals gothic-tribes riots")
    asked_in_order = [asked(state)]
    for line in ("F defend vandals", "E negotiate huns", "F replace gothic-tribes"):
        state = after(state, line)
        asked_in_order.append(asked(state))
    assert asked_in_order == ["F defend", "E negotiate", "F replace", "E buy-off"]


# Territory and legacy


def test_territory_changes_by_the_difference_and_the_emperor_gains_one_for_a_rise():
    state = fight("siege", "justinian", foe_hand="riots", emperor_hand="taxes", territory=10)
    assert (state.territory, state.legacy) == (10 + 7 - 3, (11, 10))
    assert state.battle[2] == (1, 10, 14, 1)


def test_the_emperor_loses_one_for_a_fall():
    state = fight("siege siege plague", "militias", territory=12)
    assert (state.territory, state.legacy) == (12 + 1 - 11, (9, 10))


def test_seat_1_is_the_emperor_of_even_years():
    state = fight("siege", "justinian", year=2)
    assert state.legacy == (10, 11)


def test_equal_force_changes_nothing():
    state = fight("siege", "mercenaries")
    assert (state.territory, state.legacy) == (10, (10, 10))


@pytest.mark.parametrize(("before", "gained"), [(19, 1), (20, 0), (14, 1)])
def test_territory_never_exceeds_20_and_nothing_gained_there_is_no_rise(before, gained):
    state = fight("", "justinian", territory=before)
    assert (state.territory, state.legacy[0]) == (20, 10 + gained) if before > 13 else (before + 7, 11)


def test_legacy_cards_count_whether_territory_rises_or_falls():
    assert fight("", "hagia-sophia codex-justinianus trade").legacy == (10 + 1 + 3 + 2, 10)
    assert fight("siege", "hagia-sophia codex-justinianus").legacy == (10 - 1 + 3 + 2, 10)
    assert fight("", "coinage", territory=20).legacy == (11, 10)


def test_melds_are_discarded_and_melded_unique_cards_leave_the_game():
    state = fight("siege iconoclasm", "basil trade", year=5, foe_hand="riots crisis")
    assert (words(state.discards[FOES]), words(state.discards[BYZANTINES])) == ("siege", "trade")
    assert (words(state.out[FOES]), words(state.out[BYZANTINES])) == ("iconoclasm", "basil")
    assert state.melds == ((), ())


def test_a_unique_card_discarded_without_being_melded_is_an_ordinary_discard():
    state = fight(emperor_hand="basil trade", foe_hand="siege iconoclasm", year=5)
    state = after(state, "E keep trade", "F keep siege")
    assert (words(state.discards[FOES]), words(state.discards[BYZANTINES])) == ("iconoclasm", "basil")
    assert not {"iconoclasm", "basil"} & set(words(state.out[FOES] + state.out[BYZANTINES]).split())


# The end


@pytest.mark.parametrize(("before", "reached"), [(8, 0), (7, -1), (1, -7)])
def test_without_territory_the_game_ends_at_once_and_the_emperor_loses_three(before, reached):
    state = fight(
        "plague siege", "hagia-sophia", territory=before, emperor_hand="taxes trade", foe_hand="riots"
    )
    assert (state.step, state.territory, state.legacy) == ("over", reached, (7, 10))
    outcome = EMPIRE.outcome(state)
    assert outcome is not None
    assert (outcome.scores, outcome.winners, outcome.reason) == ((7, 10), (1,), "fallen")
    assert (hand(state, "E"), words(state.discards[BYZANTINES])) == ("trade taxes", "hagia-sophia")


def test_one_territory_is_enough_to_go_on():
    assert fight("plague siege", "", territory=9, emperor_hand="taxes trade").step == "keep"


def test_the_fallen_emperor_may_still_have_won():
    state = fight("plague", "", territory=5, legacy=(15, 10))
    outcome = EMPIRE.outcome(state)
    assert outcome is not None
    assert (outcome.scores, outcome.winners, outcome.reason) == ((12, 10), (0,), "fallen")


def test_after_twelve_years_the_most_legacy_wins():
    state = fight("siege", "trade reforms", year=12, legacy=(12, 10))
    outcome = EMPIRE.outcome(state)
    assert outcome is not None
    assert (outcome.scores, outcome.winners, outcome.reason) == ((12, 11), (0,), "finished")


def test_equal_legacy_is_a_draw_that_both_share():
    state = fight("siege", "trade reforms", year=12, legacy=(11, 10))
    outcome = EMPIRE.outcome(state)
    assert outcome is not None
    assert (outcome.scores, outcome.winners) == ((11, 11), (0, 1))


def test_the_empire_may_fall_in_the_last_year():
    outcome = EMPIRE.outcome(fight("plague", "", year=12, territory=5))
    assert outcome is not None
    assert outcome.reason == "fallen"


def test_after_the_end_nobody_moves():
    state = fight("plague", "", territory=5)
    for seat in (0, 1):
        assert EMPIRE.moves(state, seat) == EMPIRE.out_of_turn_moves(state, seat) == ()
        with pytest.raises(NotAwaited, match="The game is over"):
            EMPIRE.apply(state, seat, move("keep siege"))


def test_there_is_no_third_seat():
    with pytest.raises(NotAwaited, match="no seat 2"):
        EMPIRE.apply(at(1, foe="siege"), 2, move("meld"))


def test_each_player_is_emperor_six_times():
    assert Counter(seat_of("E", year) for year in range(1, 13)) == {0: 6, 1: 6}
    assert [EMPIRE.view(at(year), 0).emperor for year in range(1, 13)] == [0, 1] * 6
