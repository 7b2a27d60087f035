"""Limits by growing networks: what one attacker may cause from many addresses, and how little it takes from others."""

from __future__ import annotations

from datetime import timedelta

from server.store.networks import HOUR, Caused, Limits
from tests.conftest import NOW

LIMITS = Limits(networks=(2, 3, 5), share=4)
SECOND = timedelta(seconds=1)


def caused_by(*origins: str | None, at: timedelta = timedelta()) -> list[Caused]:
    return [Caused(origin, NOW + at) for origin in origins]


def test_a_network_has_room_until_its_limit() -> None:
    assert LIMITS.room_for("a m l", caused_by("a m l"), NOW) == NOW
    assert LIMITS.room_for("a m l", caused_by("a m l", "a m l"), NOW) == NOW + HOUR
    assert LIMITS.room_for("b m l", caused_by("a m l", "a m l"), NOW) == NOW
    assert LIMITS.room_for("c m l", caused_by("a m l", "a m l", "b m l"), NOW) == NOW + HOUR
    assert LIMITS.room_for("d n l", caused_by("a m l", "a m l", "b m l"), NOW) == NOW
    assert LIMITS.room_for("e o l", caused_by("a m l", "a m l", "b m l", "d n l", "d n l"), NOW) == NOW + HOUR
    assert LIMITS.room_for("e o k", caused_by("a m l", "a m l", "b m l", "d n l", "d n l"), NOW) == NOW


def test_an_address_of_ipv4_has_two_networks_and_one_without_an_address_has_one() -> None:
    assert LIMITS.room_for("a l", caused_by("a l", "a l"), NOW) == NOW + HOUR
    assert LIMITS.room_for("e l", caused_by("a l", "a l", "b l", "b l"), NOW) == NOW
    assert LIMITS.room_for("e l", caused_by("a l", "a l", "b l", "b l", "c l"), NOW) == NOW + HOUR
    assert LIMITS.room_for("a", caused_by("a", "a"), NOW) == NOW + HOUR
    assert LIMITS.room_for(None, caused_by(*[None] * 9), NOW) == NOW


def test_room_comes_back_as_the_hour_moves_on() -> None:
    early, late = caused_by("a m l", at=-HOUR + SECOND), caused_by("a m l", at=-SECOND)
    assert LIMITS.room_for("a m l", early + late, NOW) == NOW + SECOND
    assert LIMITS.room_for("a m l", caused_by("a m l", at=-HOUR) + late, NOW) == NOW


def test_what_waits_takes_room_in_its_own_hour() -> None:
    sent, waits = caused_by("a m l", "a m l"), caused_by("a m l", "a m l", at=HOUR)
    assert LIMITS.room_for("a m l", sent + waits, NOW) == NOW + 2 * HOUR


def test_a_network_adds_only_its_share_to_the_total() -> None:
    assert LIMITS.total(caused_by(*["a m l"] * 9), NOW) == 4
    assert LIMITS.total(caused_by(*["a m l"] * 9, "b n l", "c o k"), NOW) == 5
    assert LIMITS.total(caused_by(None, None, "a l"), NOW) == 3
    assert LIMITS.total(caused_by("a l", at=SECOND) + caused_by("b k", at=-HOUR), NOW) == 0


def test_the_total_falls_within_the_hour() -> None:
    caused = [each for n in range(5) for each in caused_by(f"a m {n}", at=-HOUR + (5 - n) * SECOND)]
    assert LIMITS.below(6, caused, NOW) == NOW
    assert LIMITS.below(5, caused, NOW) == NOW + SECOND
    assert LIMITS.below(3, caused, NOW) == NOW + 3 * SECOND
    assert LIMITS.below(0, caused, NOW) == NOW + 5 * SECOND


def test_organisers_with_a_share_of_their_own_may_cause_half_as_much_again() -> None:
    assert Limits(networks=(30, 40, 50), share=10).half_more() == Limits(networks=(45, 60, 75), share=10)
