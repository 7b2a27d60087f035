"""The kinds of emails, with one declaration each; code that depends on a kind asks it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Stop = Literal["game", "invitations", "open tables", "players", "all"]
"""What readers stop by unsubscribing: a game's emails, those of a group in all games, or all but requested ones."""


@dataclass(frozen=True, slots=True)
class MailKind:
    """What holds for all emails of a kind.

    Args:
        counts: it may reach somebody who never used this server because a stranger named them, so it counts among the
            emails that one visitor can cause. A kind counts unless it is declared otherwise.
        stop: what unsubscribing stops; None if readers have requested it, so that it cannot be stopped.
    """

    counts: bool = True
    stop: Stop | None = "game"


PLAYERS = MailKind(counts=False)
"""Goes to people who hold a seat, lead a game or moderate, and to nobody whom somebody else has only named."""
IN_CHARGE = replace(PLAYERS, stop="players")
"""Tells the organiser and the moderators of a game about its players."""
INVITATION = MailKind(stop="invitations")
REQUESTED = MailKind(stop=None)
"""A person has just requested it, or it is about a change of their address."""
KINDS: dict[str, MailKind] = {
    "confirm": REQUESTED,
    "invite": INVITATION,
    "nudge": INVITATION,
    "held": INVITATION,
    "cancelled": MailKind(),
    "signin": REQUESTED,
    "fresh": REQUESTED,
    "keep": REQUESTED,
    "move": REQUESTED,
    "turn": PLAYERS,
    "remind": PLAYERS,
    "timeout": PLAYERS,
    "over": PLAYERS,
    "act": PLAYERS,
    "autopilot": PLAYERS,
    "left": PLAYERS,
    "replaced": PLAYERS,
    "former": PLAYERS,
    "seated": replace(PLAYERS, stop=None),
    "talk": PLAYERS,
    "answer": replace(PLAYERS, stop=None),
    "digest": replace(PLAYERS, stop="all"),
    "games": replace(PLAYERS, stop=None),
    "answered": IN_CHARGE,
    "open_table": IN_CHARGE,
    "refused": IN_CHARGE,
    "vacant": IN_CHARGE,
    "wish": replace(PLAYERS, stop="open tables"),
    "moving": replace(PLAYERS, stop=None),
    "moved": replace(PLAYERS, stop=None),
}


def of(kind: str) -> MailKind:
    """Return what holds for a kind; what nobody has declared is on the safe side."""
    return KINDS.get(kind, MailKind())
