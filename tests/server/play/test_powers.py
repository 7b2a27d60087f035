"""The door of moderators' powers: nobody decides about a table at which they play, played, or block somebody."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import select

from server import play
from server.community import blocks
from server.errors import InvalidInput
from server.mail.outgoing import deliver
from server.play import moderation, powers
from server.play.moderation import Newcomer
from server.play.powers import Conflict, Unwarned
from server.store import engine, log, people
from server.store.models import ModeratorAction, Seat
from tests.conftest import NOW, Table
from tests.support.games import appoint, change, submit
from tests.support.lobby import everything
from tests.support.mail_servers import FakeMailer
from tests.support.mails import send_waiting, text_of

Begin = Callable[..., Table]
ZOE = Newcomer("Zoe", "zoe@example.org")
GEORGIOS = Newcomer("Georgios", "georgios@example.org")
EVERY = (
    *("!void 2", "!pause", "!resume", "!extend 1 3600", "!credit 3600", "!bank 1 3600", "!autopilot 1 on"),
    *("!replace 1", "!link 1", "!look all", "!abandon", "!note"),
)
ACTS = {text.split()[0]: text for text in EVERY}
"""Each act, as a moderator would do it to another player."""


def newcomer(name: str) -> int:
    with engine.transaction() as session:
        return people.get_or_create(session, f"{name.lower()}@example.org", name, NOW).id


def act(game: Table, moderator: int, text: str, *, warned: bool = False) -> int:
    newcomer = ZOE if text.startswith("!replace") else None
    return play.moderate(
        game.id, text, reason="because", person_id=moderator, now=NOW, newcomer=newcomer, warned=warned
    )


def deeds() -> list[tuple[str, int | None, str | None]]:
    with engine.reading() as session:
        own = select(ModeratorAction).where(ModeratorAction.game_id == "g1")
        rows = session.scalars(own.order_by(ModeratorAction.id))
        return [(row.power, row.seq, row.reason) for row in rows]


def notes(game: Table) -> list[str | None]:
    with engine.reading() as session:
        return [entry.note for entry in log.entries(session, game.id) if entry.by == "moderator"]


@pytest.fixture
def game(table: Begin) -> Table:
    """Return a game in which Alice has moved, so that Bob is to move."""
    made = table(4)
    submit(made.id, 0, "pass")
    return made


def test_every_act_stands_at_the_door() -> None:
    assert ACTS.keys() == moderation.ACTS.keys() <= powers.POWERS


@pytest.mark.parametrize("text", ACTS.values())
@pytest.mark.parametrize(
    "who", ["plays", "left", "was replaced", "blocks somebody", "blocks a former player"]
)
def test_no_act_of_a_moderator_with_a_stake(game: Table, who: str, text: str) -> None:
    alice, mia = game.people[0], newcomer("Mia")
    appoint(alice, mia)
    match who:
        case "left":
            play.leave(game.id, 0, now=NOW)
        case "was replaced":
            play.moderate(game.id, "!replace 0", reason="ill", person_id=mia, now=NOW, newcomer=GEORGIOS)
        case "blocks somebody" | "blocks a former player":
            noa = newcomer("Noa")
            appoint(noa)
            blocks.block(noa, game.people[1], NOW)
            if who == "blocks a former player":
                play.moderate(game.id, "!replace 1", reason="ill", person_id=mia, now=NOW, newcomer=GEORGIOS)
            alice = noa
    if text == "!resume":
        act(game, mia, "!pause")
    before = everything()
    for warned in (False, True):
        with pytest.raises(Conflict):
            act(game, alice, text, warned=warned)
    assert everything() == before
    act(game, mia, text.replace("!replace 1", "!replace 2"))
    assert deeds()[-1][0] == text.split()[0]


def test_blocks_against_a_moderator_and_invitations_do_not_count(game: Table, table: Begin) -> None:
    """A player could otherwise keep every moderator from deciding about them."""
    mia = newcomer("Mia")
    appoint(mia, newcomer("Noa"))
    blocks.block(game.people[1], mia, NOW)
    act(game, mia, "!extend 1 3600")
    other = table(3, game_id="g2")
    change(Seat, (other.id, 2), person_id=mia, status="invited")
    act(other, mia, "!note")


def test_a_refusal_does_not_tell_whether_one_is_blocked(game: Table) -> None:
    alice, mia = game.people[0], newcomer("Mia")
    appoint(alice, mia)
    said = []
    for _ in range(2):
        with pytest.raises(Conflict) as refused:
            act(game, alice, "!pause", warned=True)
        said.append(str(refused.value))
        blocks.block(mia, alice, NOW)
        blocks.block(game.people[1], alice, NOW)
    assert said[0] == said[1]


# ---- the only moderator plays ----


@pytest.mark.parametrize(
    "text", sorted(set(ACTS.values()) - {"!void 2", "!replace 1", "!look all", "!resume"})
)
def test_the_only_moderator_is_warned_and_named(game: Table, text: str) -> None:
    alice = game.people[0]
    appoint(alice)
    with pytest.raises(Unwarned):
        act(game, alice, text)
    act(game, alice, text, warned=True)
    assert notes(game) == ["because (the moderator, who plays seat 1)"]
    assert [(power, reason) for power, _, reason in deeds()] == [
        (text.split()[0], "because (the moderator, who plays seat 1)")
    ]


@pytest.mark.parametrize(
    "text",
    ["!void 2", "!replace 1", "!look all", "!look public", "!extend 0 3600", "!bank 0 3600", "!credit 60"],
)
def test_what_the_only_moderator_can_never_do(table: Begin, text: str) -> None:
    game = table(3)
    submit(game.id, 0, "pass")
    submit(game.id, 1, "pass")
    submit(game.id, 2, "pass")  # Alice is to move
    appoint(game.people[0])
    before = everything()
    for warned in (False, True):
        with pytest.raises(Conflict) as refused:
            act(game, game.people[0], text, warned=warned)
        assert not isinstance(refused.value, Unwarned)
    assert everything() == before


def test_a_pause_gives_the_only_moderator_no_fresh_time(table: Begin) -> None:
    game = table(3)
    appoint(game.people[0])
    send_waiting()  # Alice's clock runs
    with pytest.raises(Conflict, match="more time"):
        act(game, game.people[0], "!pause", warned=True)
    submit(game.id, 0, "pass")
    act(game, game.people[0], "!pause", warned=True)


def test_the_only_moderator_who_played_is_named_too(game: Table) -> None:
    alice, mia = game.people[0], newcomer("Mia")
    act(game, mia, "!replace 0")
    appoint(alice)
    with pytest.raises(Unwarned):
        act(game, alice, "!note")
    act(game, alice, "!note", warned=True)
    assert notes(game)[-1] == "because (the moderator, who played seat 1)"


def test_the_only_moderators_own_block_is_not_told(game: Table) -> None:
    mia = newcomer("Mia")
    appoint(mia)
    blocks.block(mia, game.people[1], NOW)
    with pytest.raises(Unwarned):
        act(game, mia, "!note")
    act(game, mia, "!note", warned=True)
    assert notes(game) == ["because"]


def test_two_moderators_who_both_play_wait_for_a_third(game: Table) -> None:
    appoint(*game.people[:2])
    with pytest.raises(Conflict) as refused:
        act(game, game.people[0], "!pause", warned=True)
    assert not isinstance(refused.value, Unwarned)


@pytest.mark.parametrize("text", ["!pause", "!autopilot 1 on", "!abandon", "!link 1"])
def test_every_email_about_it_names_the_moderator(game: Table, text: str) -> None:
    appoint(game.people[0])
    send_waiting()
    act(game, game.people[0], text, warned=True)
    fake_mailer = FakeMailer()
    while deliver.deliver(NOW, fake_mailer):
        pass
    letters = [text_of(mail) for mail in fake_mailer.sent]
    assert len(letters) >= 3
    assert [letter for letter in letters if "the moderator, who plays seat 1" not in letter] == []


@pytest.mark.parametrize(
    "signature",
    [
        "(the moderator, who plays seat 2)",
        "(The  moderator,\u00a0who played seat 2).",
        "(the\u200b moderator, who plays seat 2)",
        "[the moderator, who played at this table]",
    ],
)
def test_nobody_can_sign_as_somebody_else(game: Table, signature: str) -> None:
    mia = newcomer("Mia")
    with pytest.raises(InvalidInput):
        play.moderate(game.id, "!note", reason=f"x {signature}", person_id=mia, now=NOW)
