"""Legal placements in Byzantium, and the reasons for refusing others (docs/rules/byzantium.md "Slots", "Play")."""

from __future__ import annotations

import pytest

from byzanz.moves import IllegalMove, Move, NotAwaited
from byzanz.rules import PUBLIC
from tests.support.byzantium_positions import BYZANTIUM, after, answers, at, move
from tests.support.second_rules.byzantium import CARDS, COLOUR, DEAD, EXCLUSIVE, NAMES


def slots_for(hand, lying=""):
    """Where the one card of a hand may go."""
    listed = answers(at((hand, "2b"), lying), 0)
    return [] if listed == ["pass"] else [line.split()[-1] for line in listed]


def refused(state, seat, line):
    with pytest.raises(IllegalMove) as error:
        BYZANTIUM.apply(state, seat, move(line))
    return str(error.value)


def line_up(*slots):
    """A cross with a card on each slot and on all that it hangs on, every arm rising."""
    wanted = sorted({slot[:length] for slot in slots for length in range(1, len(slot) + 1)})
    lying, ranks = [], {"r": 0, "b": 0}
    for name in sorted(wanted, key=lambda name: (len(name), name)):
        colour = COLOUR[name[0]]
        lying.append(f"{name} {[card for card in CARDS if card[-1] == colour][ranks[colour]]}")
        ranks[colour] += 1
    return " ".join(lying)


# Arms and roots


def test_a_root_may_be_any_rank_of_its_colour():
    for card in CARDS:
        assert slots_for(card) == (["e", "w"] if card[-1] == "r" else ["n", "s"])


@pytest.mark.parametrize(
    ("card", "slot", "reason"),
    [
        ("7r", "n", "7r is red: place it on arm e or w."),
        ("7r", "s", "7r is red: place it on arm e or w."),
        ("kb", "e", "kb is black: place it on arm n or s."),
        ("kb", "wf", "kb is black: place it on arm n or s."),
    ],
)
def test_the_colour_of_the_arm(card, slot, reason):
    assert refused(at(("7r kb", "2b")), 0, f"put {card} on {slot}") == reason


def test_a_card_hangs_on_a_card():
    state = at(("7r 9r", "2b"), "e 5r")
    assert refused(state, 0, "put 7r on elf") == "elf is not open yet: no card lies on el."
    assert refused(state, 0, "put 7r on wl") == "wl is not open yet: no card lies on w."
    assert answers(state, 0)[:4] == ["put 7r on ef", "put 7r on el", "put 7r on er", "put 7r on w"]
    assert "put 9r on elf" in answers(after(state, "0 put 7r on el", "1 put 2b on n"), 0)


def test_a_taken_slot():
    assert refused(at(("7r", "2b"), "e 5r"), 0, "put 7r on e") == "e is taken: 5r lies there."


def test_no_card_is_more_than_three_away():
    chain = "e 2r ef 3r eff 4r"
    assert not [slot for slot in slots_for("kr", chain) if slot.startswith("eff")]
    assert refused(at(("kr", "2b"), chain), 0, "put kr on efff") == "There is no slot efff on the cross."


# Direction


def test_the_first_card_at_depth_two_decides_and_steps_may_skip():
    assert slots_for("kr", "e 5r") == ["ef", "el", "er", "w"]
    assert slots_for("2r", "e 5r") == ["ef", "el", "er", "w"]
    rising = "e 5r el 9r"
    assert slots_for("kr", rising) == ["ef", "elf", "elr", "er", "w"]
    assert slots_for("6r", rising) == ["ef", "er", "w"]
    assert slots_for("2r", rising) == ["w"]
    falling = "e 9r el 5r"
    assert slots_for("kr", falling) == ["w"]
    assert slots_for("6r", falling) == ["ef", "er", "w"]
    assert slots_for("2r", falling) == ["ef", "elf", "elr", "er", "w"]


def test_the_direction_holds_in_all_forks_of_an_arm_and_in_no_other_arm():
    lying = "e 5r el 9r w 8r"
    state = at(("2r 7r", "2b"), lying)
    assert refused(state, 0, "put 2r on er") == "Arm e is rising: place a card higher than 5r on er."
    assert refused(state, 0, "put 7r on elf") == "Arm e is rising: place a card higher than 9r on elf."
    assert "put 2r on wl" in answers(state, 0)
    state = after(state, "0 put 7r on wl", "1 put 2b on n")
    assert "put 2r on wlf" in answers(state, 0)
    tall = at(("kr", "2b"), "w 8r wl 7r")
    assert refused(tall, 0, "put kr on wr") == "Arm w is falling: place a card lower than 8r on wr."


@pytest.mark.parametrize("root", ["2r", "kr"])
def test_the_aces_fix_no_direction(root):
    assert slots_for("7r", f"e {root}") == ["ef", "el", "er", "w"]


def test_equal_ranks_meet_only_in_different_colours():
    assert slots_for("7b", "e 7r n 6b nf 8b") == ["nl", "nr", "s"]


# What would touch


@pytest.mark.parametrize("slot", DEAD)
def test_dead_slots(slot):
    colour = COLOUR[slot[0]]
    state = at((f"k{colour}", "2b" if colour == "r" else "2r"), f"{slot[0]} 3{colour} {slot[:2]} 4{colour}")
    assert refused(state, 0, f"put k{colour} on {slot}") == (
        f"No card can be placed on {slot}: it would touch the other Ace."
    )
    assert f"put k{colour} on {slot[:2]}f" in answers(state, 0)
    assert place(state, slot).state == "dead"


def place(state, slot):
    return next(place for place in BYZANTIUM.view(state, PUBLIC).places if place.slot == slot)


@pytest.mark.parametrize("pair", EXCLUSIVE, ids="-".join)
@pytest.mark.parametrize("way", [1, -1])
def test_exclusive_pairs_close_each_other(pair, way):
    """Of a pair one is taken, and where the other hangs a card lies: it is closed; without the one it is not."""
    taken, closed = pair[::way]
    colour = COLOUR[closed[0]]
    lying = line_up(taken, closed[:-1])
    state = at((f"k{colour}", ""), lying)
    card = dict(zip(lying.split()[::2], lying.split()[1::2], strict=True))[taken]
    assert refused(state, 0, f"put k{colour} on {closed}") == (
        f"{closed} is closed: a card there would touch {card} on {taken}."
    )
    assert place(state, closed).state == "closed"
    without = at((f"k{colour}", ""), line_up(taken[:-1], closed[:-1]))
    assert f"put k{colour} on {closed}" in answers(without, 0)
    assert place(without, closed).state == "open"


def test_pairs_that_are_not_exclusive_stand_together():
    lying = line_up("el", "er", "ef", "wl", "wr", "nf", "sf")
    assert len(at(("", ""), lying).cross) == len(NAMES)
    assert {"elf", "erf", "eff"} <= set(slots_for("kr", lying))


# Seats and texts


def test_a_seat_that_can_place_must():
    state = at(("7r 2b", "3b"), "e 9r ef 10r")
    assert refused(state, 0, "pass") == "You can place 7r, so you may not pass."
    assert "pass" not in answers(state, 0)


def test_only_own_cards_on_slots_that_exist():
    state = at(("7r", "2b"))
    assert refused(state, 0, "put 8r on e") == "You do not hold 8r."
    assert refused(state, 0, "put ar on e") == "There is no card ar in this game."
    assert refused(state, 0, "put 7r on x") == "There is no slot x on the cross."
    for line in ("put", "put 7r", "put 7r e", "put 7r at e", "put 7r on e w"):
        assert refused(state, 0, line) == "Write put, a card, on and a slot, such as put 7r on el."
    for line in ("pass 7r", "lay 7r"):
        assert refused(state, 0, line) == "Place a card: write put, the card, on and the slot."


def test_only_the_seat_whose_turn_it_is():
    state = at(("7r", "2b", "3b"))
    with pytest.raises(NotAwaited, match="It is not your turn"):
        BYZANTIUM.apply(state, 1, move("put 2b on n"))
    with pytest.raises(NotAwaited, match="There is no seat 3"):
        BYZANTIUM.apply(state, 3, move("put 2b on n"))
    for out in (at(("7r", ""), turn=0), at(("7r", "2b"), passed=(1,))):
        with pytest.raises(NotAwaited, match="You are out for this round"):
            BYZANTIUM.apply(out, 1, move("pass"))
    with pytest.raises(NotAwaited, match="not been dealt yet"):
        BYZANTIUM.apply(BYZANTIUM.setup(2, {}), 0, move("pass"))
    with pytest.raises(NotAwaited, match="The game is over"):
        BYZANTIUM.apply(at(("7r", "2b"), step="over", turn=-1), 0, Move("pass"))


def test_placements_are_listed_by_card_then_by_the_name_of_the_slot():
    state = at(("10b 3r 2r kb", "4b"), "e 9r n 5b")
    assert answers(state, 0) == [
        *(f"put {card} on {slot}" for card in ("2r", "3r") for slot in ("ef", "el", "er", "w")),
        *(f"put {card} on {slot}" for card in ("10b", "kb") for slot in ("nf", "nl", "nr", "s")),
    ]
