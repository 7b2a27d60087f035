"""Standing orders of Empire: how they are read, how long they last, what they answer (docs/orders.md)."""

from __future__ import annotations

import pytest

from byzanz.moves import AmbiguousMove, IllegalMove, UnreadableMove, UnreadableOrder
from tests.support.empire_positions import EMPIRE, at, seat_of

FOE = "huns vandals persians infantry infantry plague"
EMPEROR = "belisarius trade taxes science militias diplomacy"


def answered_by_order(state, role, text):
    """What an order makes of the question that a role is asked."""
    seat = seat_of(role, state.year)
    return EMPIRE.answer_order(EMPIRE.parse_order(text), EMPIRE.view(state, seat), EMPIRE.moves(state, seat))


def played(state, role, text):
    answer = answered_by_order(state, role, text)
    return str(answer.move) if answer.move else None


def order_scope(state, role, text):
    return EMPIRE.order_scope(EMPIRE.parse_order(text), EMPIRE.view(state, seat_of(role, state.year)))


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("REDRAW none", "redraw none"),
        ("red inf  huns inf", "redraw infantry infantry huns"),
        ("order meld most always", "meld most always"),
        ("meld tra basil", "meld basil trade"),
        ("meld none", "meld none"),
        ("keep trade taxes least", "keep trade taxes least"),
        ("defend v", "defend vandals then decline"),
        ("defend hung van then a always", "defend hungarians vandals then ask always"),
        ("neg huns most", "negotiate huns most then decline"),
        ("replace none always", "replace none always"),
        ("buy huns with tax, avars with tr", None),
        (
            "buy huns with taxes goth with trade",
            "buy-off huns with taxes, gothic-tribes with trade then decline",
        ),
        ("buy-off huns with taxes,most then ask", "buy-off huns with taxes, most then ask"),
    ],
)
def test_an_order_is_read_as_freely_as_a_move(written, canonical):
    if canonical is None:
        with pytest.raises((UnreadableOrder, AmbiguousMove)):
            EMPIRE.parse_order(written)
        return
    order = EMPIRE.parse_order(written)
    assert (order.text, order.kind) == (canonical, canonical.split()[0])
    assert EMPIRE.parse_order(order.text) == order


@pytest.mark.parametrize(
    "text",
    [
        "", "order", "sing", "redraw", "redraw always", "redraw most", "redraw silk", "redraw none huns",
        "redraw huns huns huns huns huns", "redraw huns always", "meld justinian belisarius", "meld huns trade",
        "keep none", "keep", "keep trade trade", "defend", "defend huns", "defend none vandals", "defend then ask",
        "defend vandals then", "defend vandals then sing", "defend vandals then ask now", "negotiate plague",
        "negotiate huns huns", "buy-off huns", "buy-off huns with", "buy-off huns with plague",
        "buy-off huns with taxes, huns with taxes", "r none", "decline", "m\x00ld", "keep " + "trade " * 300,
    ],
)  # fmt: skip
def test_what_is_no_order_is_refused_with_a_sentence(text):
    with pytest.raises((UnreadableOrder, AmbiguousMove, UnreadableMove)) as refused:
        EMPIRE.parse_order(text)
    assert str(refused.value).endswith(".")
    assert "%(" not in str(refused.value), "every place is filled"


def test_a_choice_under_seal_is_made_as_ordered_and_once():
    state = at(1, "redraw", foe=FOE, emperor=EMPEROR)
    answer = answered_by_order(state, "F", "redraw infantry plague")
    assert (str(answer.move), answer.remaining) == ("redraw infantry plague", None)
    lasting = answered_by_order(state, "E", "redraw none always")
    assert str(lasting.move) == "redraw"
    assert str(lasting.remaining) == "redraw none always"
    assert answered_by_order(state, "E", "meld none") is None


def test_a_meld_is_the_ordered_one_or_the_one_of_most_force():
    state = at(1, "meld", foe=FOE, emperor="militias trade taxes science")
    assert played(state, "E", "meld militias") == "meld militias"
    assert played(state, "E", "meld most") == "meld militias trade taxes science"
    assert played(state, "E", "meld none") == "meld"


def test_a_choice_that_is_not_possible_any_more_stops_with_a_reason():
    stopped = answered_by_order(at(1, "meld", foe=FOE, emperor=EMPEROR), "E", "meld reconquest")
    assert stopped.move is None
    assert str(stopped) == "“meld reconquest” is not possible any more."
    assert answered_by_order(at(1, "keep", foe=FOE, emperor=EMPEROR), "E", "keep reconquest").move is None


def test_what_is_kept_is_the_first_of_the_list_in_hand():
    state = at(1, "keep", foe=FOE, emperor="reconquest taxes militias")
    assert played(state, "E", "keep trade taxes") == "keep taxes"
    assert played(state, "E", "keep trade most") == "keep reconquest"
    assert played(state, "E", "keep least") == "keep militias"
    assert played(state, "F", "keep least") == "keep infantry"


def test_a_response_is_the_first_of_the_list_that_is_allowed():
    leader = at(1, "defend", foe="vandals infantry", emperor_meld="justinian", foe_meld="persians")
    assert played(leader, "F", "defend vandals") == "defend vandals"
    assert played(leader, "F", "defend most") == "defend vandals"
    assert played(leader, "F", "defend none") == "decline"
    assert played(leader, "F", "defend hungarians") == "decline"
    assert answered_by_order(leader, "F", "defend hungarians then ask").move is None
    bargain = at(1, "buy-off", emperor_meld="trade taxes", foe_meld="huns")
    assert played(bargain, "E", "buy-off huns with militias, huns with taxes") == "buy-off huns with taxes"
    assert played(bargain, "E", "buy-off most") == "buy-off huns with trade"


def test_most_gives_way_to_what_follows_where_nothing_helps():
    state = at(1, "buy-off", emperor_meld="justinian", foe_meld="huns")
    assert played(state, "E", "buy-off most") == "decline"
    assert answered_by_order(state, "E", "buy-off most then ask").move is None
    assert played(state, "E", "buy-off most, huns with justinian") == "buy-off huns with justinian"


def test_an_order_is_for_the_next_year_in_which_its_seat_can_be_asked():
    state = at(3, "meld", foe=FOE, emperor=EMPEROR)
    assert order_scope(state, "E", "meld trade") == "year 3"
    assert order_scope(state, "E", "redraw none") == "year 4"
    assert order_scope(state, "E", "negotiate most") == "year 3"
    assert order_scope(state, "E", "defend vandals") == "year 4"
    assert order_scope(state, "F", "defend vandals") == "year 3"
    assert order_scope(state, "F", "keep most") == "year 3"
    assert order_scope(state, "F", "keep most always") == ""
    late = at(3, "keep", foe=FOE, emperor=EMPEROR)
    assert order_scope(late, "E", "negotiate most") == "year 5"
    assert EMPIRE.order_expired("year 2", EMPIRE.view(late, 0))
    assert not EMPIRE.order_expired("year 3", EMPIRE.view(late, 0))


@pytest.mark.parametrize(
    ("role", "text", "why"),
    [
        ("E", "meld reconquest", "reconquest"),
        ("E", "redraw taxes taxes", "taxes"),
        ("F", "meld trade", "trade"),
    ],
)
def test_cards_that_are_not_held_are_refused(role, text, why):
    with pytest.raises(IllegalMove, match=f"You do not hold {why}"):
        order_scope(at(1, "redraw", foe=FOE, emperor=EMPEROR), role, text)


def test_what_will_not_be_asked_any_more_is_refused():
    with pytest.raises(IllegalMove, match="no further turn to keep"):
        order_scope(at(12, "meld", foe="normans", emperor="trade"), "E", "keep most")
    with pytest.raises(IllegalMove, match="no further turn to defend"):
        order_scope(at(12, "meld", foe="normans", emperor="trade"), "E", "defend vandals")
    with pytest.raises(IllegalMove, match="yet"):
        order_scope(at(2, "meld", foe=FOE, emperor=EMPEROR), "E", "redraw trade")
