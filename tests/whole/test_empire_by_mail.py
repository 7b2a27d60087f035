"""A game of Empire by the links in emails: sealed choices, changed before the opponent answers, and battles."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest
from sqlalchemy import select

from server.store import engine, log, models
from tests.support.live_server import (
    Button,
    Form,
    LiveServer,
    PlainHand,
    Player,
    assert_a_true_record,
    kind_of,
    link,
    live_server,
    organise,
    play_to_the_end,
)

ALICE, BOB = "alice@example.org", "bob@example.org"


@pytest.fixture
def server(database_url: str) -> Iterator[LiveServer]:
    with live_server(database_url) as running:
        yield running


class Schemer(Player):
    """Makes random sealed choices, and sometimes replaces one before the opponent has chosen.

    Args:
        changed: how often.
    """

    changed = 0

    def play(self, address: str) -> None:
        """Open the link of a turn email, answer everything that is asked, and sometimes change the choice."""
        assert self.hand.open(address) == 200
        while "Your turn, " in self.hand.text():
            self._decide(self.form())
        if "Your sealed" in self.hand.text() and self.chance.random() < 0.3:
            self._decide(self.form())
            self.changed += 1

    def form(self) -> Form:
        """Return the form for moves of the current page."""
        return next(form for form in self.hand.forms() if "seen" in form.hidden)

    def seal(self, address: str, verb: str, count: int) -> str:
        """Select the first cards of the hand and submit them sealed; return the move."""
        assert self.hand.open(address) == 200
        ticked = self.form().boxes[:count]
        button = Button("verb", verb) if ticked else Button("move", verb)
        assert self.hand.press(self.form(), button, ticked, {}) == 200, self.hand.text()
        return " ".join((verb, *(value.partition("#")[0] for value in ticked)))

    def _decide(self, form: Form) -> bool:
        ticking = [button for button in form.buttons if button.name == "verb"]
        often = (
            0.5 if any(button.value == "redraw" for button in ticking) else 0.1
        )  # weak melds soon end the Empire
        if ticking and self.chance.random() < often:
            ticked = sorted(self.chance.sample(form.boxes, min(3, len(form.boxes))), key=form.boxes.index)
            if self.hand.press(form, ticking[0], ticked, {}) == 200:
                self.moves += 1
                return True
            self.refused += 1
            form = self.form()
        exact = [button for button in form.buttons if button.name == "move" and button.value != "meld"]
        self._press(form, self.chance.choice(exact))
        return True


def made(server: LiveServer) -> list[tuple[int | None, str]]:
    """Return all entries of the log so far."""
    with server.app.app_context(), engine.reading() as session:
        game = session.scalars(select(models.Game)).one()
        return [(entry.seat, entry.move) for entry in log.entries(session, game.id)]


def turn_mails(server: LiveServer) -> dict[str, str]:
    """Return the link in each turn email of the next tick, by recipient."""
    server.tick()
    return {to: link(message, "t") for to, message in server.new_mails() if kind_of(message) == "turn"}


def later_mails(server: LiveServer) -> dict[str, str]:
    """The same, including players whose own move opened their next turn."""
    server.pass_time(minutes=3)
    return turn_mails(server)


def fought(player: Player, address: str) -> bool:
    """Whether the page of a seat shows the first battle."""
    assert player.hand.open(address) == 200
    return (
        re.search(
            r"year 1(, \d+ to \d+| was a draw, \d+ each) [Tt]erritory (fell|rose|stayed)", player.hand.text()
        )
        is not None
    )


@pytest.mark.parametrize(
    "database_url", [pytest.param("sqlite", marks=pytest.mark.nightly), "postgresql"], indirect=True
)
def test_friends_play_empire_by_the_links_in_their_mails(server: LiveServer) -> None:
    alice, bob = (Schemer(name, PlainHand(), random.Random(f"empire {name}")) for name in (ALICE, BOB))
    people: dict[str, Player] = {ALICE: alice, BOB: bob}
    organise(server, people, "empire")
    links = turn_mails(server)
    assert set(links) == {ALICE, BOB}, "both are mailed at once"

    first = alice.seal(links[ALICE], "redraw", 1)
    assert turn_mails(server) == {}, "a choice under seal is news to nobody"
    second = alice.seal(links[ALICE], "redraw", 2)
    assert alice.hand.open(links[ALICE]) == 200
    assert "Your sealed redraw" in alice.hand.text()
    assert bob.hand.open(links[BOB]) == 200
    assert bob.hand.text().count("Alice has sealed a redraw.") == 2
    none = bob.seal(links[BOB], "redraw", 0)
    assert made(server)[-3:] == [(0, first), (0, second), (1, none)]

    links = later_mails(server)
    assert set(links) == {ALICE, BOB}, "the meld is asked of both"
    bob.play(links[BOB])
    assert "Your sealed meld" in bob.hand.text()
    assert alice.hand.open(links[ALICE]) == 200
    assert "Bob has sealed a meld" in alice.hand.text()
    alice.play(links[ALICE])
    for _ in range(6):
        if all(fought(people[to], address) for to, address in links.items()):
            break
        links |= later_mails(server)  # answers to the open melds, where they give cause
        for to, address in links.items():
            people[to].play(address)
    else:
        raise AssertionError("both melds are in and answered, and there is no battle")

    play_to_the_end(server, people)
    kept = assert_a_true_record(server, 2)
    assert kept.header.game == "empire"
    assert all(player.moves for player in people.values())
    replaced = [entry.move for entry in kept.entries[:4] if entry.seat == 0]
    assert replaced == [first, second], "once it is over, what was replaced is open, too"
    assert kept.result is not None
    assert kept.result.reason in ("finished", "fallen")
    assert alice.hand.open(links[ALICE]) == 200
    assert "The game is over" in alice.hand.text()
