"""Planted leaks, each by one change of the running code; the paired-worlds check must find every one.

A plant takes a MonkeyPatch. Plants whose code runs inside a request leak from the requested game.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import flask
import pytest

from byzanz import record
from byzanz.games.byzanz.rules import Byzanz
from byzanz.games.byzanz.state import VALUE, names
from byzanz.games.byzanz.view import View
from byzanz.moves import IllegalMove
from byzanz.record import jsonl, redaction
from byzanz.rules import ALL, PUBLIC, Rules
from server.community import talk
from server.errors import NotYourTurn, Stale
from server.mail.outgoing import compose, digest, relevance
from server.mail.outgoing import view as outgoing_view
from server.mail.text import quoted
from server.play import history, moves, positions, standing_orders
from server.play.game import Table
from server.store import engine, links, log
from server.store.models import Game, Link, Snapshot
from server.web.account import feeds
from server.web.api import games as api
from server.web.game import history as web_history
from server.web.game import pages
from server.web.lobby import home
from server.web.seat import turn, turn_page
from tests.support.games import loaded

Plant = Callable[[pytest.MonkeyPatch], None]
PLANTS: dict[str, dict[str, Plant]] = {}
"""The leaks planted in each game, by name."""


SHOWS_IN: dict[str, int] = {}
"""The pairs in which some leaks show; only a matter of time, as all kept pairs are compared until one differs."""


def plant(slug: str, shows_in: int | None = None) -> Callable[[Plant], Plant]:
    """Register a leak for a game under the name of its function.

    Args:
        shows_in: the kept pair to begin with; by default the first.
    """

    def named(leak: Plant) -> Plant:
        PLANTS.setdefault(slug, {})[leak.__name__] = leak
        if shows_in is not None:
            SHOWS_IN[leak.__name__] = shows_in
        return leak

    return named


def in_every_view(
    patch: pytest.MonkeyPatch,
    more: Callable[[Any, Any], dict[str, Any]],
    game: type[Rules[Any, Any]] = Byzanz,
) -> None:
    """Add `more`, computed from the whole state, to each view of a game."""
    view = game.view
    patch.setattr(
        game,
        "view",
        lambda self, state, viewer: dataclasses.replace(
            view(self, state, viewer), **more(state, view(self, state, viewer))
        ),
    )


def in_context(patch: pytest.MonkeyPatch, room: Any, change: Callable[[dict[str, Any]], None]) -> None:
    """Render a page of a package with changed values."""
    draw = room.render_template

    def drawn(page: str, /, **context: Any) -> str:
        change(context)
        return str(draw(page, **context))

    patch.setattr(room, "render_template", drawn)


def in_header(patch: pytest.MonkeyPatch, name: str, value: Callable[[str], str]) -> None:
    """Add a header computed from the whole state to every answer."""
    process = flask.Flask.process_response

    def processed(self: flask.Flask, response: flask.Response) -> flask.Response:
        done = process(self, response)
        done.headers[name] = value(whole_state())
        return done

    patch.setattr(flask.Flask, "process_response", processed)


def whole_state() -> str:
    """Return the state of the game of this world, including hidden cards."""
    with engine.reading() as session:
        return str(session.query(Snapshot).one().state)


def position_now() -> positions.Position:
    """Return the position of the game of this world."""
    with engine.reading() as session:
        return positions.current(loaded(session, session.query(Game).one().id))


def others(viewer: Any) -> int:
    """Return a seat that is not the viewer's."""
    return 1 if viewer == 0 else 0


# What a view must not hold


@plant("byzanz")
def hands_of_all_in_the_view(patch: pytest.MonkeyPatch) -> None:
    in_every_view(patch, lambda state, _view: {"hands": tuple(map(names, state.hands))})


@plant("byzanz")
def known_is_the_whole_hand(patch: pytest.MonkeyPatch) -> None:
    in_every_view(patch, lambda state, _view: {"known": tuple(map(names, state.hands))})


@plant("byzanz")
def hand_sizes_leave_merchants_out(patch: pytest.MonkeyPatch) -> None:
    sizes = lambda state: tuple(sum(map(bool, (VALUE[card] for card in hand))) for hand in state.hands)  # noqa: E731
    in_every_view(patch, lambda state, _view: {"hand_sizes": sizes(state)})


@plant("byzanz")
def news_with_the_hand_of_another(patch: pytest.MonkeyPatch) -> None:
    """The latest lots are remembered with a card of a hand as their tax."""

    def lots(state: Any, view: View) -> dict[str, Any]:
        tax = names(state.hands[others(view.viewer)])[:1]
        return {"lots": tuple(lot._replace(cards=lot.cards + tax, tax=tax) for lot in view.lots)}

    in_every_view(patch, lots)


@plant("byzanz")
def deck_in_the_view(patch: pytest.MonkeyPatch) -> None:
    in_every_view(patch, lambda state, _view: {"deck": names(state.deck)})


@plant("byzanz")
def removed_cards_in_the_view(patch: pytest.MonkeyPatch) -> None:
    in_every_view(patch, lambda state, _view: {"removed": names(state.removed)})


@plant("byzanz")
def next_card_of_the_deck_counts(patch: pytest.MonkeyPatch) -> None:
    in_every_view(
        patch,
        lambda state, _view: {"deck_size": len(state.deck) + (VALUE[state.deck[0]] if state.deck else 0)},
    )


@plant("byzanz")
def own_hand_in_the_order_of_the_deck(patch: pytest.MonkeyPatch) -> None:
    def sorted_hands(state: Any, view: View) -> dict[str, Any]:
        rank = {name: at for at, name in enumerate(names((*state.deck, *state.removed)))}
        return {
            "hands": tuple(
                hand and tuple(sorted(hand, key=lambda name: (rank.get(name, 0), name)))
                for hand in view.hands
            )
        }

    in_every_view(patch, sorted_hands)


@plant("byzanz", shows_in=7)
def lot_in_the_order_of_the_deal(patch: pytest.MonkeyPatch) -> None:
    told_by_api = api._seat_state

    def told_in_order(session: Any, game_id: str, seat: int) -> dict[str, Any]:
        made = told_by_api(session, game_id, seat)
        deal = log.entries(session, game_id, upto=1)[0].move.split(" ")
        made["view"]["lot"] = sorted(made["view"]["lot"], key=lambda name: (deal.index(name), name))
        return made

    patch.setattr(api, "_seat_state", told_in_order)


# The log, the history and the record


@plant("byzanz")
def shuffle_told(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Byzanz, "redact_move", lambda _self, move, _seat, _viewer, _settled: str(move))


@plant("byzanz")
def history_unredacted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(record, "redact_entries", lambda _rules, entries, *_rest: tuple(entries))


@plant("byzanz")
def record_unredacted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(record, "redact_record", lambda whole, _viewer: whole)


@plant("byzanz")
def record_with_the_seed(patch: pytest.MonkeyPatch) -> None:
    shown = record.redact_record

    def seeded(whole: jsonl.Record, viewer: Any) -> jsonl.Record:
        with engine.reading() as session:
            seed = bytes.fromhex(session.query(Game).one().seed)
        part = shown(whole, viewer)
        return dataclasses.replace(part, header=dataclasses.replace(part.header, seed=seed))

    patch.setattr(record, "redact_record", seeded)


def _unmasked(patch: pytest.MonkeyPatch, *fields: str) -> None:
    """Let these fields of others' entries stand as they are."""
    seen = redaction._redacted
    patch.setattr(
        redaction,
        "_redacted",
        lambda rules, entry, viewer, settled: dataclasses.replace(
            seen(rules, entry, viewer, settled), **{name: getattr(entry, name) for name in fields}
        ),
    )


@plant("byzanz")
def cause_of_others_moves(patch: pytest.MonkeyPatch) -> None:
    _unmasked(patch, "by")


@plant("byzanz")
def notes_of_others_moves(patch: pytest.MonkeyPatch) -> None:
    _unmasked(patch, "note")


@plant("byzanz")
def salts_of_others_moves(patch: pytest.MonkeyPatch) -> None:
    _unmasked(patch, "salt")


@plant("byzanz")
def filter_by_the_true_cause(patch: pytest.MonkeyPatch) -> None:
    def kept(told: Any, chosen: dict[str, str]) -> list[Any]:
        with engine.reading() as session:
            true = {entry.seq: entry.by for entry in log.entries(session, session.query(Game).one().id)}
        found = made(told, chosen | {"cause": ""})
        return [entry for entry in found if chosen["cause"] in ("", true[entry.seq])]

    made = web_history._filtered
    patch.setattr(web_history, "_filtered", kept)


@plant("byzanz")
def moments_with_all_eyes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(history, "viewer_of", lambda _game, _viewer: ALL)


@plant("byzanz", shows_in=37)
def moderator_sees_all_without_a_look(patch: pytest.MonkeyPatch) -> None:
    view = history.Timeline.view

    def seen(self: Any, seq: int, *viewer: Any) -> Any:
        self = dataclasses.replace(self, viewer=ALL) if flask.request.path.startswith("/m/") else self
        return view(self, seq, *viewer)

    patch.setattr(history.Timeline, "view", seen)


@plant("byzanz")
def moments_seen_by_others_before_the_end(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(web_history, "_other_viewers", lambda _viewer, seats: tuple(range(seats)))


@plant("byzanz", shows_in=20)
def headings_by_what_is_hidden(patch: pytest.MonkeyPatch) -> None:
    part = Byzanz.heading

    def shifted(self: Byzanz, view: Any) -> Any:
        return part(self, view)[: 1 + hidden[-1] % 2]

    def read(table: Table, viewer: Any, upto: int | None = None) -> Any:
        hands = positions.current(table).state.hands
        hidden.append(sum(len(hand) * card for hand in hands for card in hand))
        return made(table, viewer, upto)

    hidden: list[int] = []
    made = history.load
    patch.setattr(Byzanz, "heading", shifted)
    patch.setattr(history, "_parts", OrderedDict())  # what is remembered was made without the fault
    patch.setattr(history, "load", read)


# What a viewer can do


@plant("byzanz", shows_in=7)
def moves_of_another_in_the_api(patch: pytest.MonkeyPatch) -> None:
    legal = api.legal_moves

    def longer(position: positions.Position, _seat: int) -> list[str]:
        everybody = range(len(position.rules.scores(position.state)))
        return [move for one in everybody for move in legal(position, one)]

    patch.setattr(api, "legal_moves", longer)


@plant("byzanz", shows_in=7)
def asides_of_another_on_the_page(patch: pytest.MonkeyPatch) -> None:
    choices = turn._choices

    def wrong(position: positions.Position, seat: int) -> dict[str, Any]:
        theirs = [
            choices(position, other)["out_of_turn"]
            for other in range(position.rules.view(position.state, PUBLIC).seats)
        ]
        return choices(position, seat) | {
            "out_of_turn": {"sell": [m for each in theirs for m in each.get("sell", [])]}
        }

    patch.setattr(turn, "_choices", wrong)


@plant("byzanz")
def fallback_of_another_on_the_page(patch: pytest.MonkeyPatch) -> None:
    choices = turn._choices

    def wrong(position: positions.Position, seat: int) -> dict[str, Any]:
        hands = position.rules.view(position.state, ALL).hands
        return choices(position, seat) | {"fallback": " ".join(("discard", *hands[others(seat)]))}

    patch.setattr(turn, "_choices", wrong)


@plant("byzanz")
def count_of_anothers_bids_in_the_title(patch: pytest.MonkeyPatch) -> None:
    def counted(context: dict[str, Any]) -> None:
        state = position_now().state
        hands = "".join(str(sum(VALUE[card] for card in hand) % 10) for hand in state.hands)
        context["game"].name += f" ({hands})"

    in_context(patch, turn, counted)


@plant("byzanz")
def refusal_names_the_cards_of_another(patch: pytest.MonkeyPatch) -> None:
    apply = Byzanz.apply

    def refusing(self: Byzanz, state: Any, seat: int | None, move: Any) -> Any:
        try:
            return apply(self, state, seat, move)
        except IllegalMove as error:
            raise IllegalMove(f"{error} The others hold {[*map(names, state.hands)]}.") from None

    patch.setattr(Byzanz, "apply", refusing)


@plant("byzanz")
def stale_answer_says_who_can_sell(patch: pytest.MonkeyPatch) -> None:
    check = moves._check_turn

    def checked(session: Any, position: positions.Position, seat: int, move: Any, seen: int) -> None:
        try:
            check(session, position, seat, move, seen)
        except (Stale, NotYourTurn) as refusal:
            refusal.message += f" {[sum(hand) for hand in position.state.hands]}"
            raise

    patch.setattr(moves, "_check_turn", checked)


# Emails


@plant("byzanz", shows_in=7)
def mail_drawn_from_anothers_view(patch: pytest.MonkeyPatch) -> None:
    of_turn = outgoing_view._turn_context

    def wrong(table: Table, seat: int) -> dict[str, Any]:
        position = positions.current(table)
        right = of_turn(table, seat)
        hands = position.rules.view(position.state, ALL).hands
        mine = [*right["view"].hands]
        mine[seat] = hands[(seat + 1) % len(hands)]
        return right | {"view": dataclasses.replace(right["view"], hands=tuple(mine))}

    patch.setattr(outgoing_view, "_turn_context", wrong)


@plant("byzanz")
def mail_with_the_true_causes(patch: pytest.MonkeyPatch) -> None:
    def whole(
        session: Any, game: Game, _seat: Any, after: int, upto: int | None = None
    ) -> list[record.Entry]:
        return log.entries(session, game.id, after=after, upto=upto)

    patch.setattr(outgoing_view, "_entries", whole)


@plant("byzanz")
def subject_with_a_sum_of_the_state(patch: pytest.MonkeyPatch) -> None:
    subject = compose.subject
    patch.setattr(
        compose,
        "subject",
        lambda *given: f"{subject(*given)} {len(whole_state())} {_short(whole_state())}",
    )


@plant("byzanz", shows_in=7)
def no_mail_when_nobody_can_answer(patch: pytest.MonkeyPatch) -> None:
    facts = relevance.load_rows

    def silent(session: Any, mail: Any, now: Any, *beside: Any) -> Any:
        hands = position_now().state.hands
        if sum(map(sum, hands)) % 2:
            raise relevance.Outdated(quoted("nobody can answer"))
        return facts(session, mail, now, *beside)

    patch.setattr(relevance, "load_rows", silent)


@plant("byzanz")
def message_id_of_the_state(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(compose, "message_id", lambda key, _mark="": f"<{_short(key + whole_state())}@byzanz.test>")


@plant("byzanz", shows_in=7)
def digest_with_the_eyes_of_another(patch: pytest.MonkeyPatch) -> None:
    item = digest._item

    def peeking(table: Table, turn: Any, times: Any) -> Any:
        hands = position_now().state.hands
        name = f"{table.game.name} {[hand for place, hand in enumerate(hands) if place != turn.seat]}"
        return item(table, turn, times) | {"game": name}

    patch.setattr(digest, "_item", peeking)


@plant("byzanz", shows_in=7)
def calendar_says_who_holds_much(patch: pytest.MonkeyPatch) -> None:
    event = feeds._event

    def telling(news: Any) -> Any:
        made = event(news)
        made.add("comment", _short(whole_state()))
        return made

    patch.setattr(feeds, "_event", telling)


@plant("byzanz")
def an_answer_that_a_link_names_is_refused_with_the_hands(patch: pytest.MonkeyPatch) -> None:
    chosen = turn_page.preselected

    def telling(position: Any, seat: Any, text: str) -> Any:
        found = chosen(position, seat, text)
        return dataclasses.replace(found, why=f"{found.why} {position.state.hands}") if found.why else found

    patch.setattr(turn_page, "preselected", telling)


# Headers, cookies, links


def _short(state: str) -> str:
    return hashlib.sha1(state.encode(), usedforsecurity=False).hexdigest()


@plant("byzanz")
def header_with_a_hash_of_the_hands(patch: pytest.MonkeyPatch) -> None:
    in_header(patch, "X-State", _short)


@plant("byzanz")
def etag_of_the_snapshot(patch: pytest.MonkeyPatch) -> None:
    in_header(patch, "ETag", lambda state: f'W/"{hashlib.sha256(state.encode()).hexdigest()}"')


@plant("byzanz")
def time_taken_tells_how_many_bids_there_were(patch: pytest.MonkeyPatch) -> None:
    in_header(patch, "Server-Timing", lambda state: f"moves;dur={sum(map(sum, json.loads(state)['hands']))}")


@plant("byzanz")
def cookie_remembers_the_hands(patch: pytest.MonkeyPatch) -> None:
    in_header(patch, "Set-Cookie", lambda state: f"seen={_short(state)[:8]}; Path=/")


@plant("byzanz")
def link_of_another_on_the_page(patch: pytest.MonkeyPatch) -> None:
    def linked(context: dict[str, Any]) -> None:
        with engine.reading() as session:
            found = links.select_rows(session, Link.purpose == "seat")
            tokens = {link.person_id: links.token(link) for link in reversed(found)}
        context["names"] = tuple(
            f"{name} {token}" for name, token in zip(context["names"], tokens.values(), strict=True)
        )

    in_context(patch, turn, linked)
    in_context(patch, pages, linked)


@plant("byzanz")
def addresses_at_the_table(patch: pytest.MonkeyPatch) -> None:
    names_of = web_history.names_of

    def addressed(table: Table) -> tuple[str, ...]:
        return tuple(
            f"{name} <{seat.person and seat.person.email}>"
            for name, seat in zip(names_of(table), table.seats, strict=True)
        )

    patch.setattr(web_history, "names_of", addressed)


@plant("byzanz")
def seed_on_the_public_page(patch: pytest.MonkeyPatch) -> None:
    def seeded(context: dict[str, Any]) -> None:
        context["game"].name += context["game"].seed[:4]

    in_context(patch, pages, seeded)


@plant("byzanz", shows_in=37)
def lobby_names_the_smallest_hand(patch: pytest.MonkeyPatch) -> None:
    def luck(context: dict[str, Any]) -> None:
        weights = [str(sum(hand)) for hand in position_now().state.hands]
        for game in context.get("running", ()):
            game.name += " " + min(weights)

    in_context(patch, home, luck)


@plant("byzanz")
def deck_order_in_the_records_options(patch: pytest.MonkeyPatch) -> None:
    record_for = history.record_for

    def optioned(table: Table, viewer: Any) -> record.Record:
        made = record_for(table, viewer)
        top = json.loads(whole_state())["deck"][:3]
        return dataclasses.replace(made, header=dataclasses.replace(made.header, options={"top": top}))

    patch.setattr(history, "record_for", optioned)


def _everybodys_orders(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        standing_orders, "of_seat", lambda session, game_id, *_: standing_orders.of_game(session, game_id)
    )


@plant("byzanz")
def orders_of_others_on_the_page_and_in_the_api(patch: pytest.MonkeyPatch) -> None:
    """The standing orders of all seats are shown to each seat."""
    _everybodys_orders(patch)


@plant("byzanz")
def orders_that_stood_then_before_the_end(patch: pytest.MonkeyPatch) -> None:
    """The history of a running game reveals the hidden orders of its moments."""
    patch.setattr(
        web_history, "_orders_at", lambda table, _at: standing_orders.of_game(table.session, table.game.id)
    )


@plant("byzanz")
def the_number_of_a_word(patch: pytest.MonkeyPatch) -> None:
    """The numbers of words run on over those that are hidden from their reader."""
    patch.setattr(talk.WordRow, "id", property(lambda row: f"{row.number}"))


@plant("empire")
def orders_of_the_other_player(patch: pytest.MonkeyPatch) -> None:
    """The other seat's standing orders are shown."""
    _everybodys_orders(patch)


@plant("byzantium")
def orders_before_the_end_on_the_public_page(patch: pytest.MonkeyPatch) -> None:
    """The public page reveals the hidden orders while the game runs."""

    def early(context: dict[str, Any]) -> None:
        with engine.reading() as session:
            told = [f"{row.seat} {row.text}" for row in standing_orders.of_game(session, context["game"].id)]
        context["game"].name += str(told)

    in_context(patch, pages, early)
