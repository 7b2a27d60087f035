"""The kinds of emails, with one declaration each; code that depends on a kind asks it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MailKind:
    """What holds for all emails of a kind.

    Args:
        counts: it may reach somebody who never used this server because a stranger named them, so it counts among the
            emails that one visitor can cause. A kind counts unless it is declared otherwise.
    """

    counts: bool = True


PLAYERS = MailKind(counts=False)
"""Goes to people who hold a seat, lead a game or moderate, and to nobody whom somebody else has only named."""
KINDS: dict[str, MailKind] = {
    "confirm": MailKind(),
    "invite": MailKind(),
    "nudge": MailKind(),
    "held": MailKind(),
    "cancelled": MailKind(),
    "signin": MailKind(),
    "fresh": MailKind(),
    "keep": MailKind(),
    "move": MailKind(),
    "turn": PLAYERS,
    "remind": PLAYERS,
    "timeout": PLAYERS,
    "over": PLAYERS,
    "act": PLAYERS,
    "autopilot": PLAYERS,
    "left": PLAYERS,
    "replaced": PLAYERS,
    "seated": PLAYERS,
    "talk": PLAYERS,
    "answer": PLAYERS,
    "digest": PLAYERS,
    "games": PLAYERS,
    "answered": PLAYERS,
    "open_table": PLAYERS,
    "refused": PLAYERS,
    "vacant": PLAYERS,
    "wish": PLAYERS,
    "moving": PLAYERS,
    "moved": PLAYERS,
}


def of(kind: str) -> MailKind:
    """Return what holds for a kind; what nobody has declared is on the safe side."""
    return KINDS.get(kind, MailKind())
