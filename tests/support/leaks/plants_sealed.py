"""Planted leaks of sealed choices in Empire and of hands and the kitty in Byzantium."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import pytest

from byzanz import record
from byzanz.games.byzantium.rules import Byzantium
from byzanz.games.byzantium.state import names as slot_cards
from byzanz.games.empire.rules import Empire
from byzanz.games.empire.state import names
from byzanz.moves import IllegalMove
from byzanz.record import redaction
from byzanz.rules import ALL
from server.errors import NotYourTurn, Stale
from server.mail.outgoing import relevance
from server.mail.outgoing import view as outgoing_view
from server.mail.text import quoted
from server.play import history, moves, turns
from server.store import log
from server.store.models import Game
from server.web.api import games as api
from server.web.game import pages
from server.web.seat import turn
from tests.support.leaks.plants import (
    PLANTS,
    in_context,
    in_every_view,
    in_header,
    others,
    plant,
    position_now,
)

__all__ = ["PLANTS"]


def sealed_now() -> list[int]:
    """Return a number for the sealed choice of each seat of the game of this world."""
    chosen = position_now().state.chosen
    return [0 if cards is None else 1 + sum(card + 1 for card in cards) for cards in chosen]


# What `told` lets out too early, or of a choice that was taken back


@plant("empire")
def a_sealed_choice_is_told(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Empire, "redact_move", lambda _self, move, _seat, _viewer, _settled: str(move))


@plant("empire")
def a_sealed_meld_is_counted(patch: pytest.MonkeyPatch) -> None:
    said = Empire.redact_move

    def counted(self: Empire, move: Any, seat: Any, viewer: Any, settled: bool) -> str:
        right = said(self, move, seat, viewer, settled)
        return f"{right} {len(move.args)}" if right == "meld ?" else right

    patch.setattr(Empire, "redact_move", counted)


@plant("empire")
def a_redraw_names_its_first_card(patch: pytest.MonkeyPatch) -> None:
    said = Empire.redact_move

    def named(self: Empire, move: Any, seat: Any, viewer: Any, settled: bool) -> str:
        right = said(self, move, seat, viewer, settled)
        return " ".join((right, *move.args[:1])) if right.startswith("redraw ? ") else right

    patch.setattr(Empire, "redact_move", named)


@plant("empire", shows_in=20)
def a_card_passed_face_down_is_public(patch: pytest.MonkeyPatch) -> None:
    said = Empire.redact_move

    def named(self: Empire, move: Any, seat: Any, viewer: Any, settled: bool) -> str:
        return str(move) if settled and move.verb == "keep" else said(self, move, seat, viewer, settled)

    patch.setattr(Empire, "redact_move", named)


def _open_too(patch: pytest.MonkeyPatch, which: str) -> None:
    """Let more choices be open than the rules say: `replaced` ones, or `lying` ones of a moment that is not settled."""
    opened = redaction.open_choices

    def longer(rules: Any, seats: int, options: Any, entries: Any) -> frozenset[int]:
        log_so_far = [*entries]
        right = opened(rules, seats, options, log_so_far)
        last = max(right, default=0)
        sealed = {entry.seq for entry in log_so_far if entry.move.split(" ")[0] in rules.sealed}
        return right | {seq for seq in sealed if (seq > last) == (which == "lying")}

    for room in (redaction, record):
        patch.setattr(room, "open_choices", longer)


@plant("empire", shows_in=16)
def a_replaced_choice_is_opened_with_the_last(patch: pytest.MonkeyPatch) -> None:
    _open_too(patch, "replaced")


@plant("empire")
def a_choice_is_opened_before_the_other_is_in(patch: pytest.MonkeyPatch) -> None:
    _open_too(patch, "lying")


@plant("empire")
def salts_of_sealed_choices(patch: pytest.MonkeyPatch) -> None:
    seen = redaction._redacted

    def salted(rules: Any, entry: record.Entry, viewer: Any, settled: bool) -> record.Entry:
        right = seen(rules, entry, viewer, settled)
        return dataclasses.replace(right, salt=entry.salt) if entry.seat is not None else right

    patch.setattr(redaction, "_redacted", salted)


# What a view must not hold


@plant("empire")
def cards_under_seal_leave_the_hand(patch: pytest.MonkeyPatch) -> None:
    def smaller(state: Any, _view: Any) -> dict[str, Any]:
        pairs = zip(state.hands, state.chosen, strict=True)
        return {"hand_sizes": tuple(len(hand) - len(chosen or ()) for hand, chosen in pairs)}

    in_every_view(patch, smaller, Empire)


@plant("empire")
def a_sealed_choice_in_the_view(patch: pytest.MonkeyPatch) -> None:
    def shown(state: Any, _view: Any) -> dict[str, Any]:
        return {"chosen": tuple(None if cards is None else names(cards) for cards in state.chosen)}

    in_every_view(patch, shown, Empire)


@plant("empire")
def hands_of_both_in_the_view(patch: pytest.MonkeyPatch) -> None:
    in_every_view(patch, lambda state, _view: {"hands": tuple(map(names, state.hands))}, Empire)


@plant("empire")
def redrawn_cards_lie_face_up(patch: pytest.MonkeyPatch) -> None:
    view_of, rules = Empire.view, Empire()
    in_every_view(patch, lambda state, _view: {"decks": view_of(rules, state, ALL).decks}, Empire)


@plant("empire")
def redraws_are_counted_before_both_are_in(patch: pytest.MonkeyPatch) -> None:
    def counted(state: Any, _view: Any) -> dict[str, Any]:
        early = tuple(len(cards or ()) for cards in state.chosen)
        return {"redrawn": early} if state.step in ("redraw", "meld") and any(early) else {}

    in_every_view(patch, counted, Empire)


@plant("empire", shows_in=20)
def the_passed_card_in_the_public_view(patch: pytest.MonkeyPatch) -> None:
    def shown(state: Any, _view: Any) -> dict[str, Any]:
        return {"received": tuple(names((card,))[0] if card >= 0 else None for card in state.received)}

    in_every_view(patch, shown, Empire)


# What others' choices must not change


@plant("empire")
def choices_of_the_other_in_the_api(patch: pytest.MonkeyPatch) -> None:
    legal = api.legal_moves
    patch.setattr(
        api, "legal_moves", lambda position, seat: [*legal(position, seat), *legal(position, 1 - seat)]
    )


@plant("empire")
def the_deadline_follows_the_sealed_choice(patch: pytest.MonkeyPatch) -> None:
    deadline = turns.deadline

    def moved(session: Any, game: Any, turn: Any) -> Any:
        due = deadline(session, game, turn)
        return due and due + timedelta(minutes=sum(sealed_now()))

    patch.setattr(turns, "deadline", moved)


@plant("empire")
def last_modified_by_the_sealed_choice(patch: pytest.MonkeyPatch) -> None:
    in_header(
        patch, "Last-Modified", lambda _state: f"Mon, 02 Mar 2026 10:{sum(sealed_now()) % 60:02}:00 GMT"
    )


@plant("empire")
def etag_of_the_sealed_choice(patch: pytest.MonkeyPatch) -> None:
    in_header(patch, "ETag", lambda _state: f'"{sealed_now()}"')


@plant("empire")
def the_public_page_grows_with_what_is_sealed(patch: pytest.MonkeyPatch) -> None:
    def padded(context: dict[str, Any]) -> None:
        context["game"].name += " " * sum(sealed_now())

    in_context(patch, pages, padded)


@plant("empire")
def a_refusal_tells_what_the_other_sealed(patch: pytest.MonkeyPatch) -> None:
    apply = Empire.apply

    def refusing(self: Empire, state: Any, seat: Any, move: Any) -> Any:
        try:
            return apply(self, state, seat, move)
        except IllegalMove as error:
            raise IllegalMove(f"{error} The other has sealed {state.chosen[1 - (seat or 0)]}.") from None

    patch.setattr(Empire, "apply", refusing)


@plant("empire")
def a_stale_answer_tells_how_much_is_sealed(patch: pytest.MonkeyPatch) -> None:
    check = moves._check_turn

    def checked(session: Any, position: Any, *rest: Any) -> None:
        try:
            check(session, position, *rest)
        except (Stale, NotYourTurn) as refusal:
            refusal.message += f" {position.state.chosen}"
            raise

    patch.setattr(moves, "_check_turn", checked)


@plant("empire")
def the_fallback_of_the_other_on_the_page(patch: pytest.MonkeyPatch) -> None:
    choices = turn._choices

    def wrong(position: Any, seat: int) -> dict[str, Any]:
        hand = names(position.state.hands[others(seat)])
        return choices(position, seat) | {"fallback": " ".join(("meld", *hand))}

    patch.setattr(turn, "_choices", wrong)


@plant("empire")
def moments_of_both_hands(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(history, "viewer_of", lambda _game, _viewer: ALL)


# Emails about a sealed decision


@plant("empire")
def the_mail_names_the_sealed_choice(patch: pytest.MonkeyPatch) -> None:
    def whole(
        session: Any, game: Game, _seat: Any, after: int, upto: int | None = None
    ) -> list[record.Entry]:
        return log.entries(session, game.id, after=after, upto=upto)

    patch.setattr(outgoing_view, "_entries", whole)


@plant("empire", shows_in=39)
def the_mail_waits_for_a_large_choice(patch: pytest.MonkeyPatch) -> None:
    facts = relevance.load_rows

    def late(session: Any, mail: Any, now: Any) -> Any:
        if sealed_now()[others(mail.seat)] % 2:
            raise relevance.Outdated(quoted("the other has not sealed enough"))
        return facts(session, mail, now)

    patch.setattr(relevance, "load_rows", late)


# Byzantium: hands of others


@plant("byzantium")
def all_hands_in_the_view(patch: pytest.MonkeyPatch) -> None:
    in_every_view(patch, lambda state, _view: {"hands": tuple(map(slot_cards, state.hands))}, Byzantium)


@plant("byzantium")
def the_kitty_in_the_view(patch: pytest.MonkeyPatch) -> None:
    in_every_view(patch, lambda state, _view: {"kitty": slot_cards(state.kitty)}, Byzantium)


@plant("byzantium")
def a_place_takes_only_what_somebody_holds(patch: pytest.MonkeyPatch) -> None:
    def fewer(state: Any, view: Any) -> dict[str, Any]:
        held = {card for hand in state.hands for card in slot_cards(hand)}
        return {
            "places": tuple(
                dataclasses.replace(place, takes=tuple(card for card in place.takes if card in held))
                for place in view.places
            )
        }

    in_every_view(patch, fewer, Byzantium)


@plant("byzantium", shows_in=13)
def only_cards_that_can_be_placed_count(patch: pytest.MonkeyPatch) -> None:
    def counted(state: Any, view: Any) -> dict[str, Any]:
        takes = {card for place in view.places for card in place.takes}
        return {"hand_sizes": tuple(len(takes & set(slot_cards(hand))) for hand in state.hands)}

    in_every_view(patch, counted, Byzantium)


@plant("byzantium", shows_in=3)
def lacks_hold_what_the_kitty_holds(patch: pytest.MonkeyPatch) -> None:
    in_every_view(
        patch, lambda state, view: {"lacks": (slot_cards(state.kitty[:2]),) * view.seats}, Byzantium
    )


@plant("byzantium")
def the_deal_is_told(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Byzantium, "redact_move", lambda _self, move, _seat, _viewer, _settled: str(move))


@plant("byzantium")
def placements_of_another_in_the_api(patch: pytest.MonkeyPatch) -> None:
    legal = api.legal_moves

    def longer(position: Any, seat: int) -> list[str]:
        state = position.state
        theirs = dataclasses.replace(state, turn=others(seat)) if state.turn >= 0 else state
        return legal(position, seat) + legal(dataclasses.replace(position, state=theirs), others(seat))

    patch.setattr(api, "legal_moves", longer)


@plant("byzantium")
def the_kitty_counts_on_the_public_page(patch: pytest.MonkeyPatch) -> None:
    def counted(context: dict[str, Any]) -> None:
        state = position_now().state
        context["game"].name += f" {[sum(cards) for cards in (*state.hands, state.kitty)]}"

    in_context(patch, pages, counted)
