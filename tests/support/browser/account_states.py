"""The pages about people: the front page, signing in, accounts, profiles, groups, and the links in emails."""

from __future__ import annotations

import json
from datetime import timedelta

from server.accounts import absences, addresses, login
from server.community import blocks, profiles, talk
from server.store import links
from server.store.engine import reading, transaction, utc_now
from server.store.models import Conduct, Game, Link, Person, Reliability, Turn
from server.validation import Guest
from tests.support.browser.game_states import spoken
from tests.support.browser.site import (
    Place,
    Site,
    Way,
    by_link,
    page_at,
    sent,
    set_seat,
    set_zone,
)
from tests.support.lobby import person as invited_person
from tests.support.pages import session_of
from tests.support.results import count, counted, habits_of, handled
from tests.support.talk import word_id


def account_full(site: Site) -> Place:
    """An account with a feed, an absence and games."""
    eve, now = site.there.person("Eve"), utc_now()
    set_zone(eve, "Europe/Berlin")
    login.renew_feed(eve, now)
    first, last = (now + timedelta(days=days) for days in (30, 36))
    absences.add_absence(eve, f"{first:%Y-%m-%d}", f"{last:%Y-%m-%d}", now)
    return Place("/account", "Eve")


def account_unknown_zone(site: Site) -> Place:
    """An account whose stored time zone this machine does not know."""
    set_zone(site.there.person("Frank"), "Atlantis/A_city_that_has_sunk_into_the_sea")
    return Place("/account", "Frank")


def account_known(site: Site) -> Place:
    """An account with a handle and somebody blocked."""
    eve = site.there.person("Eve")
    profiles.choose(eve, "Eudokia", "met", utc_now())
    blocks.block(eve, site.there.person("Sam"), utc_now())
    return Place("/account", "Eve")


def account_muted(site: Site) -> Place:
    """An account from which somebody is muted."""
    game, seat = spoken(site, "byzanz", "s-muted")
    talk.mute(game.people[(seat + 1) % 3], game.id, word_id(game.id, 1))
    with reading() as session:
        return Place("/account", session.get_one(Person, game.people[(seat + 1) % 3]).name)


def group_of_one(site: Site) -> Place:
    """The results of a game against bots."""
    known(site)
    counted(
        "alone", ("Alice", "Bot Greedy", "Bot Random"), (2, 1, 3), at=utc_now(), name="An evening at home"
    )
    return Place("/g/alone/group", "Alice")


def answers_of(name: str, place: str) -> Way:
    """A page that says how a person answers, who has missed some decisions and left a game."""

    def way(site: Site) -> Place:
        person, now = site.there.person(name), utc_now()
        with transaction() as session:
            entries = range(1, 1 + session.get_one(Game, "there").head)
            answers = json.dumps([[seq, -1 if seq % 2 else 3600 * seq] for seq in entries])
            row = session.get(Conduct, ("there", person)) or Conduct(
                game_id="there", person_id=person, ended_at=now, abandoned=True, substitute=False, answers=""
            )
            row.answers = answers
            session.add(row)
            session.merge(
                Reliability(
                    person_id=person, decisions=200, missed=3, median=4 * 3600 + 9, games=20, abandoned=1
                )
            )
        return Place(place, name)

    return way


def known(site: Site) -> None:
    """Make finished games, counted, of people who are in each page about them."""
    if "known" not in site.places:
        site.places["known"] = Place("/")
        names = ("Alice", "Bob", "A person with a name of forty characters")
        for n, places in enumerate(((1, 2, 3), (2, 1, 3), (1, 1, 3))):
            counted(f"known{n}", names, places, at=utc_now(), name=f"The Golden Harbour of Trebizond {n}")
        alice = handled("Alice", "Anna-Komnene")
        habits_of(alice, "known0")


def profile(person: str | None) -> Way:
    """A profile, its owner's or somebody else's view of it."""

    def way(site: Site) -> Place:
        known(site)
        return Place("/p/Anna-Komnene", person)

    return way


def front_waiting(site: Site) -> Place:
    """Your games, one of which waits for somebody with a long name, whose clock runs."""
    game, seat = site.first("byzanz", "front-waiting")
    set_seat(game.id, seat, name="A person with a name of forty characters")
    with transaction() as session:
        session.get_one(Turn, (game.id, seat)).started_at = utc_now()
        reader = session.get_one(Person, game.people[(seat + 1) % 3])
        return Place("/", reader.name)


def about_me(path: str) -> Way:
    """A page about Alice's games."""

    def way(site: Site) -> Place:
        known(site)
        return Place(path, "Alice")

    return way


def opponents(site: Site) -> Place:
    """The page of a finished game, for one of its players."""
    count(site.over("byzanz"))
    return Place("/g/byzanz-over", "Alice")


def signed_in(path: str, name: str, ago: timedelta, status: int = 200, **fields: str) -> Way:
    """A page that deletes an account, some time after the person has signed in."""

    def way(site: Site) -> Place:
        person = site.there.person(name)
        session_of(person)
        with transaction() as session:
            for row in login.sessions_of(session, person):
                row.created_at = utc_now() - ago
        return Place(path, name, fields or None, status)

    return way


def address_of(name: str, *, ago: int = 0, status: int = 200, **fields: str) -> Way:
    """The page on which somebody new changes their address, some minutes after they have signed in."""

    def way(_site: Site) -> Place:
        mover(name, ago)
        return Place("/account/address", name, fields or None, status)

    return way


def mover(name: str, ago: int = 0) -> int:
    """Return the id of a person who signed in some minutes ago; people made for these pages have a handle."""
    person = invited_person(Guest(name, f"{name.lower()}@example.org"), utc_now())
    session_of(person)
    if name.startswith("Mover"):
        profiles.choose(person, name, "all", utc_now())
    with transaction() as session:
        session.get_one(Person, person).accepted = True
        for row in login.sessions_of(session, person):
            row.created_at = utc_now() - timedelta(minutes=ago)
    return person


def changing(
    name: str, to: str, page: str, *, confirmed: bool = False, stopped: bool = False, here: bool = False
) -> Way:
    """A page of a change of address that waits.

    Args:
        to: the new address; if it is that of somebody in the site, the two accounts could be joined.
        page: `account`, or the kind of the link: `move` or `object`.
        stopped: the change has ended.
        here: the page is opened in the asker's browser.
    """

    def way(_site: Site) -> Place:
        person, now = mover(name), utc_now()
        addresses.ask(person, to, now)
        with reading() as session:
            theirs = links.select_rows(session, Link.person_id == person)
            links_of = {link.purpose: links.token(link) for link in theirs}
        if confirmed:
            addresses.confirm(links_of["move"], now)
        if stopped:
            addresses.stop(person, now)
        path = "/account/address" if page == "account" else f"/{links.PATHS[page]}/{links_of[page]}"
        return Place(path, name if here else None)

    return way


def changing_at_one_table(_site: Site) -> Place:
    """Two players of one game cannot have one account."""
    alice, now = mover("Alice"), utc_now()
    addresses.ask(alice, "daphne@example.org", now)
    with reading() as session:
        newest, *_ = links.select_rows(session, Link.person_id == alice, Link.purpose == "move")
        return Place(f"/c/{links.token(newest)}", "Alice")


ACCOUNTS: dict[str, Way] = {
    "front": page_at("/"),
    "front signed in": page_at("/", "Alice"),
    "front waiting": front_waiting,
    "about this server": page_at("/about"),
    "sign in": page_at("/sign-in"),
    "sign in refused": sent("/sign-in", status=422, address="nobody"),
    "sign in mailed": sent("/sign-in", address="nobody@example.org"),
    "sign in by link": by_link("s", "open", "Hugo", "signin"),
    "signed in already": lambda site: Place(f"/s/{site.token('here', 'Bob', 'signin')}", "Bob"),
    "account": page_at("/account", "Sam"),
    "account full": account_full,
    "account known": account_known,
    "account unknown zone": account_unknown_zone,
    "account handle refused": sent("/account", "Sam", 422, do="save", name="Sam", handle="-", shown="met"),
    "profile": profile(None),
    "profile of an opponent": profile("Bob"),
    "own profile": profile("Alice"),
    "no profile": page_at("/p/Nobody-here", status=404),
    "habits": about_me("/account/habits"),
    "habits of nobody": page_at("/account/habits", "Sam"),
    "group": about_me("/g/known0/group"),
    "group against bots": group_of_one,
    "opponents": opponents,
    "account refused": sent("/account", "Sam", 422, do="save", name="", time_zone=""),
    "answers": page_at("/account/answers", "Sam"),
    "answers full": answers_of("Eve", "/account/answers"),
    "account delete": signed_in("/account/delete", "Sam", timedelta(0)),
    "account delete refused": signed_in("/account/delete", "Sam", timedelta(0), 422, do="delete"),
    "account delete later": signed_in("/account/delete", "Gina", timedelta(hours=1)),
    "account deleted": page_at("/account/deleted"),
    "address": address_of("Mover-one"),
    "address later": address_of("Mover-two", ago=20),
    "address refused": address_of("Mover-three", status=422, do="ask", address="nobody"),
    "address asked": changing("Mover-four", "four@elsewhere.example", "account", here=True),
    "address confirmed": changing(
        "Mover-five", "five@elsewhere.example", "account", confirmed=True, here=True
    ),
    "new address": changing("Mover-six", "six@elsewhere.example", "move"),
    "new address confirmed": changing("Mover-seven", "seven@elsewhere.example", "move", confirmed=True),
    "new address of an account": changing("Mover-eight", "hugo@example.org", "move"),
    "new address to be joined": changing("Mover-nine", "hugo@example.org", "move", here=True),
    "new address not to be joined": changing_at_one_table,
    "new address ended": changing("Mover-ten", "ten@elsewhere.example", "move", stopped=True),
    "old address": changing("Mover-eleven", "eleven@elsewhere.example", "object", confirmed=True),
    "old address ended": changing("Mover-twelve", "twelve@elsewhere.example", "object", stopped=True),
    "wishes": by_link("w", "there", "Eve", "wish"),
    "no wishes any more": by_link("w", "there", "Gina", "wish", do="stop"),
    "player news": by_link("z", "here", "Alice", "noplayers"),
    "no player news any more": by_link("z", "there", "Frank", "noplayers", do="stop"),
    "stop": by_link("u", "here", "Alice", "stop"),
    "talk stopped": by_link("u", "there", "Frank", "stop", "?do=talk", do="talk"),
    "stopped": by_link("u", "there", "Gina", "stop", do="all"),
    "nothing here": page_at("/nothing", status=404),
    "no such link": page_at(f"/t/{'a' * 26}", status=404),
    "fresh link": sent("/link", token="a" * 26),
    "games mailed": by_link("t", "here", "Alice", "seat", "/games", do="x"),
    "no such rules": page_at("/rules/chess", status=404),
    "verify": page_at("/verify"),
    "verify refused": sent("/verify", "Sam", 422, record="nothing"),
    "account muted": account_muted,
}
