"""A new game: its names and seats, and the row that it begins with."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from byzanz import chance
from server import errors, play, validation
from server.community import reliability
from server.errors import Closed, NoSuchLink
from server.lobby import notify
from server.lobby.settings import NO_HOURS, ONE_DAY, OwnHours, TimeControl, clean_time_control
from server.play import names, positions
from server.store import links, networks, people
from server.store.engine import transaction
from server.store.models import Game, GameSettings, GameStatus, LinkPurpose, Person, Seat, SeatStatus
from server.validation import Guest

# fmt: off
_CUT_WORDS = (
    "agate", "amber", "anchor", "apse", "arch", "basil", "bay", "bell", "bishop", "bronze", "candle",
    "cedar", "chalice", "chant", "cinnabar", "citadel", "cloak", "column", "coral", "crown", "cypress",
    "dome", "dove", "dromon", "eagle", "ebony", "enamel", "falcon", "fig", "forum", "frankincense", "gate",
    "gold", "harbour", "hazel", "horn", "icon", "indigo", "ivory", "jasper", "lamp", "lantern", "lapis",
    "laurel", "lily", "lion", "marble", "mosaic", "myrrh", "oak", "oar", "olive", "onyx", "oracle", "palm",
    "pearl", "pepper", "pillar", "porphyry", "quay",
)
# fmt: on
_ADJECTIVES = ("Golden", "Purple", "Silver", "Marble", "Amber", "Silk", "Ivory", "Saffron", "Bronze", "Cedar")
_NOUNS = ("Horn", "Gate", "Harbour", "Caravan", "Forum", "Dromon", "Dome", "Bazaar", "Mosaic", "Cistern")
_PLACES = ("Chalcedon", "Trebizond", "Nicaea", "Galata", "Chrysopolis", "Blachernae", "Adrianople", "Ephesus")

CAST = {
    "random": ("Leontios", "Kassia", "Bardas", "Euphemia", "Philaretos"),
    "greedy": ("Theodora", "Narses", "Prokopios", "Sophia", "Nikephoros"),
    "search": ("Psellos", "Komnene", "Anthemios", "Photios", "Tribonian"),
}
"""The names of bots by their kind; partials/cast.html tells their characters."""


def bot_name(kind: str, taken: Collection[str]) -> str:
    """Return the name for a bot of this kind: the first of the cast that nobody at the table has, else the first."""
    cast = CAST[kind]
    return next((name for name in cast if not validation.is_taken(name, taken)), cast[0])


def random_cut() -> str:
    """Return a random cut: six words."""
    return " ".join(secrets.choice(_CUT_WORDS) for _ in range(6))


def random_game_name() -> str:
    """Return a random name for a new game."""
    name = f"The {secrets.choice(_ADJECTIVES)} {secrets.choice(_NOUNS)}"
    return f"{name} of {secrets.choice(_PLACES)}" if secrets.randbelow(2) else name


# ---- seats ----

WAITS = timedelta(days=21)
"""How long a listed table waits for players after the last change of its seats."""


def wait_for_players(session: Session, game: Game, now: datetime) -> None:
    """Let a locked game with free seats wait for players from now on if it is listed; call it after each change."""
    session.flush()
    free = select(Seat.seat).where(Seat.game_id == game.id, Seat.status == SeatStatus.FREE).limit(1)
    waits = game.listed and game.status == GameStatus.INVITING and session.scalar(free) is not None
    game.open_until = now + WAITS if waits else None
    if waits:
        game.listed_at = game.listed_at or now


def check_asked(session: Session, game: Game, person_id: int) -> None:
    """Check that a person who takes a seat answers as reliably as the organiser asks.

    Raises:
        Closed: they do not, or too little is known of them.
    """
    if not game.asks:
        return
    shown = reliability.shown(session, [person_id])[person_id]
    if shown.new or shown.percent < game.asks:
        raise errors.Closed(
            "This table asks for players who have answered at least %(percent)s%% of their decisions in time.",
            percent=game.asks,
        )


def seat_bot(seat: Seat, kind: str, taken: Sequence[str], now: datetime) -> None:
    """Give a seat to a bot; its cut is its name (docs/formats.md §3).

    Args:
        taken: the names at the table.
    """
    seat.stored_name = seat.cut = validation.unique_name(bot_name(kind, taken), taken)
    seat.bot, seat.status = kind, SeatStatus.SEATED
    seat.person_id, seat.uncut, seat.answered_at = None, False, now


def seat_person(
    session: Session, game: Game, seat: Seat, cut: str, now: datetime, *, uncut: bool = False
) -> None:
    """Seat the person for whom a seat is reserved; if they had muted the invitation, they get the mails of the game.

    Args:
        game: locked.
        cut: their cut of the deck, validated.
        uncut: they were not asked; the cut is the server's offer, and no email says what was fixed before it.
    """
    seat.cut, seat.uncut, seat.status, seat.answered_at = cut, uncut, SeatStatus.SEATED, now
    seat.silent = False
    game.cuts_made += 1
    seat.cut_number = game.cuts_made
    if not uncut:
        notify.confirm_seat(session, game, seat, now)


def has_name(person: Person) -> bool:
    """Whether the account of a person has a name of its own, not one made from the address."""
    return person.name != validation.name_from_address(person.email or "")


def learn_name(person: Person, name: str) -> None:
    """Let a name that a person types at a table be that of the account if it has none; else it is for this table."""
    if not has_name(person):
        person.name = name


def check_name_free(session: Session, seat: Seat, name: str) -> None:
    """Check that nobody else at the table has a name that looks like this one.

    Raises:
        InvalidInput: somebody has.
    """
    others = [other for other in positions.seats_of(session, seat.game_id) if other.seat != seat.seat]
    if validation.is_taken(name, names.taken(others)):
        raise errors.InvalidInput(
            "Another player at this table is already called %(name)s.", field="name", name=name
        )


def shuffle_seats(session: Session, game: Game) -> None:
    """Seat everybody at random in a locked game in which no player has cut the deck yet.

    Later, anyone who knows the seed could choose among the deals to which the orders of the seats lead.
    """
    order = [seat.seat for seat in positions.seats_of(session, game.id)]
    secrets.SystemRandom().shuffle(order)
    renumber(session, game, order)


def renumber(session: Session, game: Game, order: Sequence[int]) -> None:
    """Number the seats of a locked game from 0, in this order of all their present numbers."""
    session.flush()
    seats = {seat.seat: seat for seat in positions.seats_of(session, game.id)}
    aside = 1 + max(order)  # each moves to a number that is free
    for start in (aside, 0):
        for number, former in enumerate(order, start):
            seats[former].seat = number
        session.flush()


# ---- the game ----

ASKS = (0, 90, 95, 98)
"""The percentages of decisions answered in time that an organiser may ask for."""


@dataclass(frozen=True, slots=True)
class GameRequest:
    """A game as it is requested.

    Args:
        organiser: the person who asks; they get seat 0 if `plays`.
        name: the name of this game.
        settings: what is chosen for it.
        players: the people to invite, in the order of their seats.
        bots: the kinds of the bots, after the players.
        free: the number of free seats, the last ones.
        language: in which the organiser asks; None if unknown.
        message: the organiser's personal line to the people they invite.
    """

    organiser: Guest
    name: str
    settings: GameSettings
    players: Sequence[Guest] = ()
    bots: Sequence[str] = ()
    free: int = 0
    plays: bool = True
    language: str | None = None
    message: str = ""

    @property
    def guests(self) -> tuple[Guest, ...]:
        """The people who are to play, in the order of their seats."""
        return self.everyone if self.plays else tuple(self.players)

    @property
    def everyone(self) -> tuple[Guest, ...]:
        """The organiser, playing or not, and the people they invite."""
        return (self.organiser, *self.players)


def validated(request: GameRequest) -> GameRequest:
    """Return the request with names and addresses normalised.

    Raises:
        InvalidInput: the first invalid field.
    """
    chosen = request.settings
    rules = validation.game_rules(chosen.slug)
    host = Guest(
        validation.clean_name(request.organiser.name), validation.clean_address(request.organiser.address)
    )
    players = tuple(
        Guest(validation.clean_name(name, "players"), validation.clean_address(address, "players"))
        for name, address in request.players
    )
    granted = replace(
        request,
        organiser=host,
        name=validation.clean_title(request.name),
        settings=replace(
            chosen,
            **clean_time_control(TimeControl.of(chosen))._asdict(),
            time_zone=validation.clean_zone(chosen.time_zone),
        ),
        players=players,
        bots=tuple(validation.clean_bot(kind) for kind in request.bots),
        message=validation.clean_message(request.message),
    )
    validation.check_distinct_addresses(granted.guests)
    if request.free and not chosen.listed:
        raise errors.InvalidInput("Only games listed on the home page can have free seats.", field="free")
    if chosen.asks not in ASKS:
        raise errors.InvalidInput("Choose one of the percentages on offer.", field="asks")
    if chosen.asks and not request.free:
        raise errors.InvalidInput(
            "Only a table with free seats can ask how reliably players answer.", field="asks"
        )
    validation.check_player_count(rules, len(granted.guests) + len(granted.bots) + max(0, request.free))
    return granted


def create_game(request: GameRequest, now: datetime, requester_id: int | None = None) -> str:
    """Create a game that waits for its organiser's confirmation, and email them the page with the button.

    Until then nobody vouches for the request: people created from it are named after their addresses.

    Args:
        requester_id: the person who asks, if signed in; no limit applies to games for themselves.

    Returns:
        The game's id.

    Raises:
        InvalidInput: a field is invalid.
        TooMany: many games wait under this address already. Do not show this to a stranger.
    """
    request = validated(request)
    with transaction() as session:
        networks.wait_for_others(session)
        addresses = [guest.address for guest in request.everyone]
        named = [(address, validation.name_from_address(address)) for address in addresses]
        persons = _persons(session, named, now)
        host = persons[request.organiser.address]
        game = create_rows(session, request, persons, now)
        details = {"name": request.organiser.name}
        details |= {"language": request.language} if request.language else {}
        notify.ask_to_confirm(session, game, host, details, now, limited=host.id != requester_id)
        return game.id


def _persons(session: Session, named: Iterable[tuple[str, str]], now: datetime) -> dict[str, Person]:
    """Return everybody in a game by address, creating unknown people with the name beside it.

    They are created in one order and before anything else is locked: otherwise two people who invite each other at
    the same time would wait for each other.
    """
    return {address: people.get_or_create(session, address, name, now) for address, name in sorted(named)}


def create_rows(session: Session, request: GameRequest, persons: Mapping[str, Person], now: datetime) -> Game:
    """Create the rows of a game and its seats; people are invited but not emailed yet."""
    game_id = base64.b32encode(secrets.token_bytes(10)).decode().lower()[:12]
    seed = secrets.token_bytes(32)
    game = Game(
        id=game_id,
        **asdict(request.settings),
        rules=validation.game_rules(request.settings.slug).version,
        name=request.name,
        organiser_id=persons[request.organiser.address].id,
        status=GameStatus.ASKED,
        seed=seed.hex(),
        commitment=chance.commitment(game_id, seed),
        created_at=now,
        message=request.message,
    )
    session.add(game)
    session.flush()
    session.add_all(_seats(request, game, persons, now))
    session.flush()
    return game


def _seats(request: GameRequest, game: Game, persons: Mapping[str, Person], now: datetime) -> Iterator[Seat]:
    taken: list[str] = []
    for number, guest in enumerate(request.guests):
        taken.append(validation.unique_name(guest.name, taken))
        person_id = persons[guest.address].id
        yield Seat(
            game_id=game.id,
            seat=number,
            stored_name=taken[-1],
            status=SeatStatus.INVITED,
            person_id=person_id,
        )
    for number, kind in enumerate(request.bots, len(request.guests)):
        seat = Seat(game_id=game.id, seat=number, stored_name="", status=SeatStatus.FREE)
        seat_bot(seat, kind, taken, now)
        taken += names.taken([seat])
        yield seat
    for number in range(len(taken), len(taken) + request.free):
        yield Seat(game_id=game.id, seat=number, stored_name="", status=SeatStatus.FREE)


def confirm_game(
    token: str,
    now: datetime,
    cut: str = "",
    name: str | None = None,
    language: str | None = None,
    *,
    message: str | None = None,
    hours: OwnHours = NO_HOURS,
    shuffle: bool = False,
) -> str:
    """Confirm a game: the invitations go out, and the organiser is seated if they play. Repeating it changes nothing.

    Args:
        token: of the organiser's page.
        cut: the organiser's cut of the deck, if they play.
        name: the organiser's name from now on; if None, the one in the request.
        language: of the page with the button; it becomes the organiser's unless they have chosen one.
        message: their personal line; if None, the one in the request.
        hours: theirs, unless they have chosen some.
        shuffle: seat everybody at random before anybody cuts the deck.

    Returns:
        The game's id.

    Raises:
        NoSuchLink, Closed (cancelled), TooMany (invitations today), InvalidInput (a field).
    """
    cut = validation.clean_cut(cut)
    name = None if name is None else validation.clean_name(name)
    message = None if message is None else validation.clean_message(message)
    with transaction() as session:
        game = lock_organised_game(session, token, now)
        if game.status == GameStatus.CANCELLED:
            raise Closed("This game was called off.")
        if game.status == GameStatus.ASKED:
            notify.lock_people(session, game)
            host = session.get_one(Person, game.organiser_id)
            host.name, host.accepted = name or notify.requested_name(session, game), True
            host.language = host.language or language
            hours.propose_to(host, now)
            game.message = game.message if message is None else message
            if shuffle:
                shuffle_seats(session, game)
            _send_invitations(session, game, host, cut, now)
        return game.id


def _send_invitations(session: Session, game: Game, host: Person, cut: str, now: datetime) -> None:
    invited = [seat for seat in positions.seats_of(session, game.id) if seat.status == SeatStatus.INVITED]
    others = [seat for seat in invited if seat.person_id != host.id]
    notify.check_invitations(session, host.id, len(others), now)
    for seat in invited:
        if seat in others:
            notify.invite(session, seat, now)
        else:
            check_name_free(session, seat, host.name)
            seat.stored_name = host.name
            seat_person(session, game, seat, cut, now)
    game.status = GameStatus.INVITING
    notify.begin_if_full(session, game, now)
    wait_for_players(session, game, now)


def lock_organised_game(session: Session, token: str, now: datetime) -> Game:
    """Return the game whose organiser's page this token opens, locked for the transaction.

    Raises:
        NoSuchLink: it is unknown or revoked, or the game has another organiser now.
    """
    link = links.find(session, LinkPurpose.ORGANISE, token, now)
    game = play.lock_game(session, link.game_id) if link and link.game_id else None
    if link is None or game is None or game.organiser_id != link.person_id:
        raise NoSuchLink("This link is not valid.")
    return game


def quick_game(
    *,
    slug: str,
    players: Sequence[Guest],
    now: datetime,
    name: str | None = None,
    bots: Sequence[str] = (),
    time_control: TimeControl = ONE_DAY,
    time_zone: str = "UTC",
    start: bool = False,
) -> str:
    """Create a game from the command line: no confirmation, invitations go out at once.

    Args:
        players: the first one is also the organiser.
        name: the name of the game; a random one if None.
        start: seat everybody without asking, each with a random cut that nobody chose (`uncut`), and begin.

    Returns:
        The game's id.

    Raises:
        InvalidInput: an argument is invalid.
    """
    if not players:
        raise errors.InvalidInput("Name at least one player, as “Ann <ann@example.org>”.", field="players")
    title = random_game_name() if name is None else name
    chosen = GameSettings(slug, *time_control, time_zone=time_zone)
    request = validated(GameRequest(players[0], title, chosen, players[1:], bots))
    with transaction() as session:
        persons = _persons(session, [(guest.address, guest.name) for guest in request.everyone], now)
        game = create_rows(session, request, persons, now)
        game.status = GameStatus.INVITING
        asked = [seat for seat in positions.seats_of(session, game.id) if seat.person_id is not None]
        notify.lock_people(session, game)
        for seat in asked:
            if start:
                seat_person(session, game, seat, random_cut(), now, uncut=True)
            else:
                notify.invite(session, seat, now)
        notify.begin_if_full(session, game, now)
        return game.id
