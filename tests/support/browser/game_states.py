"""The pages of games: those that each game has, and those of games that are stopped or over."""

from __future__ import annotations

import secrets
from functools import partial

from sqlalchemy import select

from server.community import talk
from server.lobby import rematch
from server.mail.text import quoted
from server.store import links
from server.store.engine import reading, transaction, utc_now
from server.store.models import LinkPurpose, Word
from tests.conftest import Table
from tests.support.browser.site import (
    KINDS,
    ORDERS,
    Place,
    Site,
    Way,
    leave_order,
    moderate,
    page_at,
    play_first,
    set_game,
    set_seat,
    trial,
)
from tests.support.game_data import SEATS
from tests.support.games import make, position, url


def turn(slug: str, kind: str, site: Site) -> Place:
    """The player to move, for this question."""
    return Place(url(*site.asked(slug, kind)))


def waiting(slug: str, site: Site) -> Place:
    """Another player is to move."""
    game, seat = site.first(slug, "s-waiting")
    play_first(game, seat)
    return Place(url(game, seat))


def chosen(slug: str, site: Site) -> Place:
    """An option link has preselected an answer."""
    game, seat = site.first(slug, "s-chosen")
    now = position(game.id)
    move = str(now.rules.moves(now.state, seat)[0])
    return Place(f"{url(game, seat)}?move={move.replace(' ', '+')}")


def refused(slug: str, site: Site) -> Place:
    """A move was refused."""
    game, seat = site.first(slug, "s-refused")
    return Place(url(game, seat), None, {"move": "dance", "seen": "1", "request_id": "refused"}, 422)


def stale(slug: str, site: Site) -> Place:
    """A move came too late."""
    game, seat = site.first(slug, "s-stale")
    move = play_first(game, seat)
    return Place(url(game, seat), None, {"move": move, "seen": "1", "request_id": "stale"}, 409)


def receipt(slug: str, site: Site) -> Place:
    """The receipt of a move."""
    game, seat = site.first(slug, "s-receipt")
    now = position(game.id)
    seq = make(game, seat, str(now.rules.moves(now.state, seat)[0]), at=utc_now())
    return Place(f"{url(game, seat)}?played={seq}")


def said(slug: str, site: Site, rest: str = "") -> Place:
    """A table at which people talk."""
    game, seat = spoken(site, slug, f"s-said{len(rest)}")
    return Place(url(game, seat) + rest)


def spoken(site: Site, slug: str, name: str) -> tuple[Table, int]:
    """The game and the seat to move of a table at which all have said something: long, short, and hidden."""
    game, seat = site.first(slug, name)
    now = utc_now()
    for number in range(3):
        person = game.people[(seat + number) % len(game.people)]
        for text in (
            "Good morning",
            "https://example.org/" + "a" * 90,
            "One line\nand another\n\nand a third",
        ):
            talk.say(game.id, person, text, request_id=secrets.token_hex(), now=now)
    with transaction() as session:
        word = session.scalars(select(Word).where(Word.game_id == game.id, Word.number == 5)).one()
        word.hidden_at, word.hidden_why = now, "rude"
    talk.write_notes(game.id, game.people[seat], "Bob holds the wine.\nKeep the merchants.", now)
    return game, seat


def unsaid(slug: str, site: Site) -> Place:
    """Something was refused that a player wanted to say."""
    game, seat = site.first(slug, "s-unsaid")
    return Place(f"{url(game, seat)}/say", None, {"text": "a" * 501, "request_id": "k"}, 422)


def ordered(slug: str, site: Site) -> Place:
    """A standing order is active."""
    game, seat = site.first(slug, "s-ordered")
    idle = (seat + 1) % SEATS[slug]
    leave_order(game, idle, slug)
    return Place(url(game, idle))


def plan(slug: str, site: Site) -> Place:
    """The sheet of standing orders."""
    game, seat = site.first(slug, "s-plan")
    idle = (seat + 1) % SEATS[slug]
    leave_order(game, idle, slug)
    return Place(f"{url(game, idle)}/orders")


def order(slug: str, site: Site, written: str = "", status: int = 200) -> Place:
    """The preview of an order, or why it is refused."""
    game, seat = site.first(slug, "s-order")
    path = f"{url(game, (seat + 1) % SEATS[slug])}/orders"
    return Place(path, None, {"do": "preview", "order": written or ORDERS[slug]}, status)


def history(slug: str, site: Site, query: str = "", public: bool = False) -> Place:
    """The history of a running game."""
    game = site.midway(slug)
    path = f"/g/{game.id}" if public else url(game, 0)
    return Place(f"{path}/history{query}")


def in_public(slug: str, site: Site) -> Place:
    """The public page of a running game."""
    return Place(f"/g/{site.midway(slug).id}")


def over(slug: str, site: Site, rest: str = "") -> Place:
    """The public page of a finished game."""
    return Place(f"/g/{site.over(slug).id}{rest}")


def over_at_the_seat(slug: str, site: Site) -> Place:
    """A seat's page of a finished game."""
    return Place(url(site.over(slug), 0))


def of_game(slug: str) -> dict[str, Way]:
    """The pages of this game."""
    ways: dict[str, Way] = {f"{slug} {kind}": partial(turn, slug, kind) for kind in KINDS[slug]}
    return ways | {
        f"{slug} rules": page_at(f"/rules/{slug}"),
        f"{slug} trial": lambda _site: Place(trial(slug)),
        f"{slug} waiting": partial(waiting, slug),
        f"{slug} chosen": partial(chosen, slug),
        f"{slug} refused": partial(refused, slug),
        f"{slug} stale": partial(stale, slug),
        f"{slug} receipt": partial(receipt, slug),
        f"{slug} said": partial(said, slug),
        f"{slug} said and done": partial(said, slug, rest="?done=noted"),
        f"{slug} said in the history": partial(said, slug, rest="/history"),
        f"{slug} unsaid": partial(unsaid, slug),
        f"{slug} ordered": partial(ordered, slug),
        f"{slug} plan": partial(plan, slug),
        f"{slug} order": partial(order, slug),
        f"{slug} order refused": partial(order, slug, written="sing", status=422),
        f"{slug} history": partial(history, slug),
        f"{slug} moment": partial(history, slug, query="?at=3"),
        f"{slug} moment in public": partial(history, slug, query="?at=3", public=True),
        f"{slug} in public": partial(in_public, slug),
        f"{slug} over at the seat": partial(over_at_the_seat, slug),
        f"{slug} over": partial(over, slug),
        f"{slug} over history": partial(over, slug, rest="/history"),
        f"{slug} over moment": partial(over, slug, rest="/history?at=5"),
        f"{slug} over verified": partial(over, slug, rest="/verify"),
    }


def paused(site: Site) -> Place:
    """A moderator has paused the game."""
    game, seat = site.first("byzanz", "paused")
    moderate(site, game.id, "!pause")
    return Place(url(game, seat))


def on_autopilot(site: Site) -> Place:
    """This seat is on autopilot, and so is another one."""
    game, seat = site.first("byzanz", "autopilot")
    set_seat(game.id, (seat + 1) % 3, autopilot=True)
    set_seat(game.id, (seat + 2) % 3, autopilot=True)
    return Place(url(game, (seat + 1) % 3))


def abandoned(site: Site) -> Place:
    """A moderator has ended the game."""
    game, seat = site.first("byzanz", "abandoned")
    moderate(site, game.id, "!abandon")
    return Place(url(game, seat))


def set_aside(site: Site, path: str = "", person: str | None = None, status: int = 409) -> Place:
    """The game is on hold because of an error."""
    game, seat = site.first("byzanz", "aside")
    set_game(game.id, quarantine=quoted("entry 3 does not follow from the ones before it"))
    return Place(f"{path}/{game.id}" if path else url(game, seat), person, None, status)


def ended(site: Site, fresh: str, **values: object) -> Table:
    """Return a separate game that a moderator has ended.

    Args:
        values: columns of the game.
    """
    game, _ = site.first("byzanz", fresh)
    set_game(game.id, **values)
    moderate(site, game.id, "!abandon")
    return game


def again_missing(site: Site) -> Place:
    """The form for a new game with those of the last one who can be invited again."""
    game = ended(site, "again-missing", name="A long name for a table, forty characters")
    set_seat(game.id, 1, left=True)
    return Place(f"{url(game, 0)}/again")


def again_made(site: Site) -> Place:
    """A seat's page of a finished game that another one follows."""
    game = ended(site, "again-made")
    rematch.again(game.id, game.people[1], utc_now())
    return Place(url(game, 0))


def over_for_its_organiser(site: Site) -> Place:
    """The page of a finished game, with the buttons for the next one."""
    game = site.over("byzanz")
    own_link(game, "organise", game.id)
    return Place(f"/g/{game.id}", "Alice")


def own_link(game: Table, purpose: str, game_id: str) -> str:
    """Return the token of a link of the first player."""
    with transaction() as session:
        return links.token(links.link_for(session, LinkPurpose(purpose), game.people[0], game_id, utc_now()))


def kept_going(site: Site, purpose: str) -> Place:
    """The organiser's page or invitation of a game that the server offered in their name."""
    game = ended(site, f"again-{purpose}", keep_going=True)
    set_game(game.id, ended_at=utc_now() - rematch.OFFERED_AFTER)
    assert rematch.offer(game.id, utc_now())
    with reading() as session:
        made = rematch.next_game(session, game.id)
    assert made is not None
    own_link(game, "invite", made.id)
    return Place(f"/{links.PATHS[purpose]}/{own_link(game, purpose, made.id)}")


STOPPED: dict[str, Way] = {
    "paused": paused,
    "on autopilot": on_autopilot,
    "abandoned": abandoned,
    "again missing": again_missing,
    "again made": again_made,
    "over for its organiser": over_for_its_organiser,
    "organise a table that keeps going": lambda site: kept_going(site, "organise"),
    "invitation of a table that keeps going": lambda site: kept_going(site, "invite"),
    "set aside": set_aside,
    "set aside for the moderator": lambda site: set_aside(site, "/m", "Mia", 200),
}
