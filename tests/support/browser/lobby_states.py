"""The pages of games before they begin: new games, invitations, open tables, visitors' games, and offered seats."""

from __future__ import annotations

from server import play
from server.lobby import create, open_tables, visitors
from server.lobby.open_tables import Wanted
from server.lobby.settings import TimeControl
from server.play import positions
from server.play.powers import Asker
from server.store import links
from server.store.engine import reading, transaction, utc_now
from server.store.models import Game, Link, LinkPurpose, Seat
from tests.conftest import Table
from tests.support.browser.account_states import answers_of
from tests.support.browser.site import (
    Place,
    Site,
    Way,
    by_link,
    page_at,
    sent,
    trial,
)
from tests.support.games import url
from tests.support.lobby import BOB, CHARLIE, DAPHNE, invited, token, wish


def organise_unconfirmed(_site: Site) -> Place:
    """The organiser's page before the invitations are sent."""
    game_id = create.create_game(wish(organiser=CHARLIE, players=(BOB, DAPHNE)), utc_now())
    return Place(f"/o/{token('organise', CHARLIE, game_id, utc_now())}")


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


LOBBY: dict[str, Way] = {
    "new": page_at("/new"),
    "new refused": sent("/new", status=422, title="", address="nobody", players="a b c"),
    "new asked": page_at("/asked"),
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
    "join": page_at("/join/open"),
    "join signed in": page_at("/join/open", "Sam"),
    "join someone known": answers_of("Hugo", "/join/open"),
    "join refused": sent("/join/open", "Sam", 422, name="", cut=""),
    "tables": page_at("/tables"),
    "tables signed in": tables_full,
    "tables refused": page_at("/tables?game=chess", status=422),
    "tables nothing": page_at("/tables?game=empire&size=2&free=1", "Sam"),
    "take": lambda site: Place(f"/take/{offered_seat(site)}"),
    "take signed in": lambda site: Place(f"/take/{offered_seat(site)}", "Sam"),
    "take refused": lambda site: Place(f"/take/{offered_seat(site)}", "Sam", {"name": ""}, 422),
    "take no more": page_at("/take/there/1", "Sam"),
    "offer": lambda site: Place(f"{offered_table(site)}/offer"),
    "offer nobody": by_link("t", "there", "Gina", "seat", "/offer"),
    "organise vacant": organise_vacant,
    "trial signed in": own_trial,
    "keep": keep_page,
    "keep refused": lambda site: Place(keep_page(site).path, None, {"name": ""}, 422),
    "keep mailed": lambda _site: Place(f"{trial('byzanz')}/keep", None, {"address": "a@example.org"}),
    "keep mail refused": lambda _site: Place(f"{trial('byzanz')}/keep", None, {"address": "a"}, 422),
    "leave": by_link("t", "here", "Alice", "seat", "/leave"),
    "before": by_link("t", "open", "Hugo", "seat"),
    "before in public": page_at("/g/open"),
}
