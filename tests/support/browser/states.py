"""Every page in every possible state, by name, and how to reach it."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from datetime import timedelta
from functools import partial

from sqlalchemy import select

from server import play
from server.accounts import absences, addresses, login
from server.community import blocks, profiles, reports, talk
from server.lobby import create, open_tables, rematch, visitors
from server.lobby.open_tables import Wanted
from server.lobby.settings import TimeControl
from server.mail.text import quoted
from server.play import positions
from server.play.powers import Asker
from server.store import links
from server.store.engine import reading, transaction, utc_now
from server.store.models import Conduct, Game, Link, LinkPurpose, Person, Reliability, Seat, Turn, Word
from server.validation import Guest
from tests.conftest import Table
from tests.support.browser.site import (
    KINDS,
    ORDERS,
    Place,
    Site,
    leave_order,
    moderate,
    play_first,
    set_game,
    set_seat,
    set_zone,
)
from tests.support.game_data import SEATS
from tests.support.games import make, position, url
from tests.support.lobby import BOB, CHARLIE, DAPHNE, invited, token, wish
from tests.support.lobby import person as invited_person
from tests.support.pages import session_of
from tests.support.results import count, counted, habits_of, handled
from tests.support.talk import word_id

Way = Callable[[Site], Place]


def at(path: str, person: str | None = None, status: int = 200) -> Way:
    """A page that is only opened."""
    return lambda _site: Place(path, person, None, status)


def sent(path: str, person: str | None = None, status: int = 200, **fields: str) -> Way:
    """A page that answers a form."""
    return lambda _site: Place(path, person, fields, status)


def by_link(letter: str, game: str, name: str, purpose: str, rest: str = "", **fields: str) -> Way:
    """A page opened by a person's link; with fields, one that answers a form."""
    return lambda site: Place(f"/{letter}/{site.token(game, name, purpose)}{rest}", None, fields or None)


# ---- pages around the games ----


def organise_unconfirmed(_site: Site) -> Place:
    """The organiser's page before the invitations are sent."""
    game_id = create.create_game(wish(organiser=CHARLIE, players=(BOB, DAPHNE)), utc_now())
    return Place(f"/o/{token('organise', CHARLIE, game_id, utc_now())}")


def trial(slug: str) -> str:
    """The path of the table of a visitor's game."""
    return f"/t/{visitors.start(slug, 'Guest', utc_now())}"


def own_trial(site: Site) -> Place:
    """The table of a visitor who was signed in."""
    return Place(f"/t/{visitors.start('byzanz', 'Guest', utc_now(), None, site.there.person('Sam'))}", "Sam")


def keep_page(_site: Site) -> Place:
    """The button that keeps a visitor's game."""
    path = trial("byzanz")
    with reading() as session:
        found = links.find(session, LinkPurpose.SEAT, path.removeprefix("/t/"), utc_now())
    assert found is not None
    visitors.mail_keep_link(found.game_id or "", "keeper@example.org", utc_now())
    with reading() as session:
        link, *_ = links.select_rows(session, Link.purpose == "keep")
        return Place(f"/k/{links.token(link)}")


def organise_invited(_site: Site) -> Place:
    """The organiser's page after the invitations are sent, before anyone has answered."""
    return Place(f"/o/{invited(utc_now())[1]}")


def organise_open(_site: Site) -> Place:
    """The organiser's page of an open table with a long time control."""
    slow = TimeControl(2 * 86400, 4 * 86400, "67")
    return Place(f"/o/{invited(utc_now(), time_control=slow, players=(), free=3, listed=True)[1]}")


def organise_refused(site: Site) -> Place:
    """The organiser has entered an invalid address."""
    path = f"/o/{site.token('open', 'Hugo', 'organise')}"
    return Place(path, None, {"do": "invite", "seat": "2", "guest": "nobody"}, 422)


def pace_refused(site: Site) -> Place:
    """The organiser has chosen a time control that is none."""
    path = f"/o/{site.token('open', 'Hugo', 'organise')}"
    return Place(path, None, {"do": "pace", "allowance": "1", "bank": "0"}, 422)


def invitation_refused(site: Site) -> Place:
    """An invited person accepts with an invalid name."""
    path = f"/i/{site.token('open', 'Ida', 'invite')}"
    return Place(path, None, {"answer": "accept", "name": "http://spam.example", "cut": ""}, 422)


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


def account_known(site: Site) -> Place:
    """An account with a handle and somebody blocked."""
    eve = site.there.person("Eve")
    profiles.choose(eve, "Eudokia", "met", utc_now())
    blocks.block(eve, site.there.person("Sam"), utc_now())
    return Place("/account", "Eve")


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


def looked(site: Site) -> Place:
    """A page that a moderator opened."""
    return Place(f"/m/here/look/{site.there.look}", "Mia")


def offered_game(site: Site) -> Table:
    """A game in which one seat is offered, and another player is away."""
    game, seat = site.first("byzanz", "away")
    with reading() as session:
        if session.get_one(Seat, (game.id, (seat + 1) % 3)).offered_at:
            return game
    for number in ((seat + 1) % 3, (seat + 2) % 3):
        play.leave(game.id, number, now=utc_now())
    open_tables.offer_as_moderator(
        game.id, (seat + 1) % 3, Asker(site.there.person("Mia"), "A word."), utc_now()
    )
    return game


def offered_seat(site: Site) -> str:
    """The game and the number of an offered seat, as in the path of its page."""
    game = offered_game(site)
    with reading() as session:
        return next(
            f"{game.id}/{seat.seat}" for seat in positions.seats_of(session, game.id) if seat.offered_at
        )


def offered_table(site: Site) -> str:
    """The path of the table of a player who is not away there."""
    game = offered_game(site)
    with reading() as session:
        here = next(seat.seat for seat in positions.seats_of(session, game.id) if not seat.autopilot)
    return url(game, here)


def organise_vacant(site: Site) -> Place:
    """The organiser's page of a running game whose players are away."""
    game = offered_game(site)
    with transaction() as session:
        host = session.get_one(Game, game.id).organiser_id
        assert host is not None
        link = links.link_for(session, LinkPurpose.ORGANISE, host, game.id, utc_now())
        return Place(f"/o/{links.token(link)}")


def tables_full(site: Site) -> Place:
    """The open tables, an offered seat, and two searches."""
    offered_game(site)
    sam = site.there.person("Sam")
    for which in (Wanted("byzanz", 4, 86400), Wanted()):
        open_tables.add(sam, which, utc_now())
    return Place("/tables?game=byzanz&pace=3600", "Sam")


def talked(site: Site) -> Place:
    """The page of a moderator's look, with what was said."""
    alice, mia, now = site.there.person("Alice"), site.there.person("Mia"), utc_now()
    for text in ("Hello", "Hello again\nand more"):
        talk.say("here", alice, text, request_id=secrets.token_hex(), now=now)
    reports.hide("here", 1, "twice", mia, now)
    seq = moderate(site, "here", "!look public")
    return Place(f"/m/here/look/{seq}", "Mia")


def account_muted(site: Site) -> Place:
    """An account from which somebody is muted."""
    game, seat = spoken(site, "byzanz", "s-muted")
    talk.mute(game.people[(seat + 1) % 3], game.id, word_id(game.id, 1))
    with reading() as session:
        return Place("/account", session.get_one(Person, game.people[(seat + 1) % 3]).name)


def preview(act: str, reason: str = "A word.", status: int = 200, **fields: str) -> Way:
    """A preview of a moderator's action."""
    return sent("/m/here/preview", "Mia", status, act=act, reason=reason, **fields)


AROUND: dict[str, Way] = {
    "front": at("/"),
    "front signed in": at("/", "Alice"),
    "front waiting": front_waiting,
    "about this server": at("/about"),
    "sign in": at("/sign-in"),
    "sign in refused": sent("/sign-in", status=422, address="nobody"),
    "sign in mailed": sent("/sign-in", address="nobody@example.org"),
    "sign in by link": by_link("s", "open", "Hugo", "signin"),
    "signed in already": lambda site: Place(f"/s/{site.token('here', 'Bob', 'signin')}", "Bob"),
    "account": at("/account", "Sam"),
    "account full": account_full,
    "account known": account_known,
    "account unknown zone": account_unknown_zone,
    "account handle refused": sent("/account", "Sam", 422, do="save", name="Sam", handle="-", shown="met"),
    "profile": profile(None),
    "profile of an opponent": profile("Bob"),
    "own profile": profile("Alice"),
    "no profile": at("/p/Nobody-here", status=404),
    "habits": about_me("/account/habits"),
    "habits of nobody": at("/account/habits", "Sam"),
    "group": about_me("/g/known0/group"),
    "group against bots": group_of_one,
    "opponents": opponents,
    "account refused": sent("/account", "Sam", 422, do="save", name="", time_zone=""),
    "answers": at("/account/answers", "Sam"),
    "answers full": answers_of("Eve", "/account/answers"),
    "account delete": signed_in("/account/delete", "Sam", timedelta(0)),
    "account delete refused": signed_in("/account/delete", "Sam", timedelta(0), 422, do="delete"),
    "account delete later": signed_in("/account/delete", "Gina", timedelta(hours=1)),
    "account deleted": at("/account/deleted"),
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
    "new": at("/new"),
    "new refused": sent("/new", status=422, title="", address="nobody", players="a b c"),
    "new asked": at("/asked"),
    "organise": by_link("o", "open", "Hugo", "organise"),
    "organise unconfirmed": organise_unconfirmed,
    "organise invited": organise_invited,
    "organise open": organise_open,
    "organise refused": organise_refused,
    "organise pace refused": pace_refused,
    "organise running": by_link("o", "here", "Alice", "organise"),
    "invitation": by_link("i", "open", "Ida", "invite"),
    "invitation refused": invitation_refused,
    "invitation answered": by_link("i", "there", "Frank", "invite"),
    "no invitations": by_link("n", "open", "Ida", "noinvite"),
    "no invitations any more": by_link("n", "there", "Frank", "noinvite", do="never"),
    "join": at("/join/open"),
    "join signed in": at("/join/open", "Sam"),
    "join someone known": answers_of("Hugo", "/join/open"),
    "join refused": sent("/join/open", "Sam", 422, name="", cut=""),
    "tables": at("/tables"),
    "tables signed in": tables_full,
    "tables refused": at("/tables?game=chess", status=422),
    "tables nothing": at("/tables?game=empire&size=2&free=1", "Sam"),
    "take": lambda site: Place(f"/take/{offered_seat(site)}"),
    "take signed in": lambda site: Place(f"/take/{offered_seat(site)}", "Sam"),
    "take refused": lambda site: Place(f"/take/{offered_seat(site)}", "Sam", {"name": ""}, 422),
    "take no more": at("/take/there/1", "Sam"),
    "offer": lambda site: Place(f"{offered_table(site)}/offer"),
    "offer nobody": by_link("t", "there", "Gina", "seat", "/offer"),
    "organise vacant": organise_vacant,
    "moderate vacant": lambda site: Place(f"/m/{offered_seat(site).partition('/')[0]}", "Mia"),
    "wishes": by_link("w", "there", "Eve", "wish"),
    "no wishes any more": by_link("w", "there", "Gina", "wish", do="stop"),
    "player news": by_link("z", "here", "Alice", "noplayers"),
    "no player news any more": by_link("z", "there", "Frank", "noplayers", do="stop"),
    "stop": by_link("u", "here", "Alice", "stop"),
    "talk stopped": by_link("u", "there", "Frank", "stop", "?do=talk", do="talk"),
    "stopped": by_link("u", "there", "Gina", "stop", do="all"),
    "nothing here": at("/nothing", status=404),
    "no such link": at(f"/t/{'a' * 26}", status=404),
    "fresh link": sent("/link", token="a" * 26),
    "games mailed": by_link("t", "here", "Alice", "seat", "/games", do="x"),
    "trial signed in": own_trial,
    "keep": keep_page,
    "keep refused": lambda site: Place(keep_page(site).path, None, {"name": ""}, 422),
    "keep mailed": lambda _site: Place(f"{trial('byzanz')}/keep", None, {"address": "a@example.org"}),
    "keep mail refused": lambda _site: Place(f"{trial('byzanz')}/keep", None, {"address": "a"}, 422),
    "leave": by_link("t", "here", "Alice", "seat", "/leave"),
    "before": by_link("t", "open", "Hugo", "seat"),
    "before in public": at("/g/open"),
    "no such rules": at("/rules/chess", status=404),
    "verify": at("/verify"),
    "verify refused": sent("/verify", "Sam", 422, record="nothing"),
    "moderate": at("/m/", "Mia"),
    "moderate erase": at("/m/erase", "Mia"),
    "moderate erase, signed in long ago": signed_in("/m/erase", "Daphne", timedelta(hours=1)),
    "moderate erase refused": sent("/m/erase", "Mia", 422, address="nobody"),
    "moderate search": at("/m/games?q=table&status=running", "Mia"),
    "moderate nothing found": at("/m/games?q=zzz", "Mia"),
    "moderate deeds": at("/m/deeds", "Mia"),
    "moderate game": at("/m/here", "Mia"),
    "moderate own game": at("/m/here", "Daphne"),
    "moderate history": at("/m/here?at=3", "Mia"),
    "moderate void": preview("void", entry="2"),
    "moderate replace": preview("replace", seat="1", who="Zed <zed@example.org>"),
    "moderate extend": preview("extend", seat="3", hours="12"),
    "moderate refused": preview("note", reason="", status=422),
    "moderate look": looked,
    "moderate talk": talked,
    "moderate talk refused": sent("/m/here/talk", "Mia", 422, do="silence", seat="0", days="400", reason="x"),
    "account muted": account_muted,
}


# ---- pages of games ----


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


def said(slug: str, site: Site, rest: str = "") -> Place:
    """A table at which people talk."""
    game, seat = spoken(site, slug, f"s-said{len(rest)}")
    return Place(url(game, seat) + rest)


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
        f"{slug} rules": at(f"/rules/{slug}"),
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
STATES: dict[str, Way] = AROUND | of_game("byzanz") | of_game("byzantium") | of_game("empire") | STOPPED
"""All of them."""


ALIKE = ("stale", "moment in public", "order refused", "chosen", "over moment", "over verified")
"""States of a game that say nothing which others do not say, too."""
LANGUAGES = ("de", "nl")
SPOKEN = [
    (LANGUAGES[number % 2], state)
    for number, state in enumerate(state for state in STATES if not state.endswith(ALIKE))
]
"""Every page in one language or the other."""
SPOKEN_AT_NIGHT = [
    (language, state) for language in LANGUAGES for state in AROUND if (language, state) not in SPOKEN
]
"""The pages around the games in the other language."""


def place_of(site: Site, state: str) -> Place:
    """Return where a state can be seen; the steps to it run only once."""
    if state not in site.places:
        site.places[state] = STATES[state](site)
    return site.places[state]
