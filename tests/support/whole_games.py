"""Whole games over real HTTP and SMTP: organised, played to the end, and checked."""

from __future__ import annotations

from sqlalchemy import select

from byzanz import record
from server.play import history
from server.store import engine, log, models
from tests.support.world import Player, World, link


def organise(server: World, people: dict[str, Player], slug: str = "byzanz") -> None:
    """Create a game on the page as the first player and confirm it by email; the others take their seats by email."""
    first, *friends = people.values()
    assert first.hand.open(f"{server.origin}/new") == 200
    form = first.hand.forms()[0]
    wish = {
        "game": slug,
        "title": "The Golden Horn",
        "name": "Alice",
        "address": first.address,
        "plays": "yes",
        "players": "\n".join(friend.address for friend in friends),
        "time_zone": "Europe/Berlin",
    }
    status = first.hand.press(form, form.buttons[-1], [], wish)
    assert status == 200, first.hand.text()
    server.tick()
    [(to, confirm)] = server.new_mails()
    assert to == first.address
    assert first.hand.open(link(confirm, "o")) == 200
    [press] = [form for form in first.hand.forms() if form.hidden.get("do") == "confirm"]
    assert first.hand.press(press, press.buttons[-1], [], {"cut": "from the top"}) == 200
    server.tick()
    invited = server.new_mails()
    assert sorted(to for to, _ in invited) == sorted(people)
    for to, message in invited:
        if to != first.address:  # whose mail confirms the seat
            people[to].take_seat(message)


def play_to_the_end(server: World, people: dict[str, Player]) -> dict[str, int]:
    """Let everyone answer their emails until the game is over; return how many emails of each kind came."""
    seen: dict[str, int] = {}
    ended: set[str] = set()
    idle = 0
    while ended != set(people):
        server.tick()
        mails = server.new_mails()
        idle = 0 if mails else idle + 1
        assert idle < 5, "nobody is mailed any more, and the game is not over"
        if not mails:
            server.pass_time(hours=25) if idle > 1 else server.pass_time(minutes=3)
        for to, message in mails:
            kind = kind_of(message)
            seen[kind] = seen.get(kind, 0) + 1
            if kind == "over":
                ended.add(to)
            elif kind == "turn" and people[to].answers:
                people[to].play(link(message, "t"))
    return seen


def kind_of(message: object) -> str:
    text = str(message.get_body(("plain",)).get_content())  # type: ignore[attr-defined]
    if "See how it went" in text:
        return "over"
    if "Move by" in text:
        return "turn"
    return "other"


def assert_a_true_record(server: World, n: int) -> record.Record:
    with server.app.app_context(), engine.reading() as session:
        game = session.scalars(select(models.Game)).one()
        assert game.status == "over"
        entries = log.entries(session, game.id)
        if game.slug == "byzantium":  # as many rounds as players, each with a deal; short ones hold few moves
            assert sum(entry.by == "chance" for entry in entries) == n
        elif game.slug == "empire":  # which may fall in its first year
            assert {"redraw", "meld"} <= {entry.move.partition(" ")[0] for entry in entries}
        else:
            assert len(entries) > 20 * n
        kept = history.record_for(session, game, "all")
    again = next(iter(record.read(record.write(kept).splitlines())))
    report = record.verify(again)
    assert report.replayed
    assert report.unchecked == 0
    return again
