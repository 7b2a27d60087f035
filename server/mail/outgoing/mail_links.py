"""The links in a mail: to its reader's seat, to stop the mails, to reply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from server.config import settings
from server.mail.outgoing import digest, relevance
from server.mail.outgoing.relevance import MailRows
from server.store import links, mail_kinds, outbox
from server.store.models import Link
from server.store.statements import LinkRow

PURPOSES: dict[str, links.Purpose] = {
    "turn": "seat",
    "remind": "seat",
    "timeout": "seat",
    "over": "seat",
    "act": "seat",
    "replaced": "seat",
    "autopilot": "seat",
    "left": "seat",
    "invite": "invite",
    "nudge": "invite",
    "confirm": "organise",
    "answered": "organise",
    "open_table": "organise",
    "answer": "seat",
    "talk": "seat",
}
"""Which of its reader's links each kind of mail carries."""


STOPS: dict[mail_kinds.Stop, links.Purpose] = {
    "all": "stop",
    "invitations": "noinvite",
    "players": "noplayers",
    "open tables": "wish",
}
"""The links that stop more than the mails of a game, by what they stop."""
FAREWELLS = frozenset({"cancelled", "former"})
"""What people without a seat in a game get is the last mail about it; only an invitation could follow."""
STOP_TALK = "?do=talk"
"""What is added to the link that stops a game's emails, so that it stops only emails about table talk alone."""


@dataclass(frozen=True, slots=True)
class MailLinks:
    """The addresses that a mail carries; None where it has none.

    Args:
        stop: stops the mails of a game, or what else the kind of the mail names.
        stop_address: the email address that does the same.
        stops_all: it stops all mails, not those of one game.
        reply: the email address to which moves are sent, or in emails about table talk, words.
        seats: by game, for a mail that lists several.
    """

    link: str | None
    stop: str | None
    stop_address: str | None
    stops_all: bool
    reply: str | None
    seats: Mapping[str, str]


Wanted = tuple[links.Purpose, str | None, int | None]
"""A link of the reader: its purpose, its game, and for a reply address the head when its turn opened, if any."""

STOP_ALL: Wanted = ("stop", None, None)


def issue_links(session: Session, rows: MailRows, now: datetime) -> None:
    """Make those links of a mail that are missing; call it in a writing transaction."""
    for purpose, game_id, seq in _wanted(session, rows).values():
        links.link_for(session, purpose, rows.person.id, game_id, now, seq)


def existing_links(session: Session, rows: MailRows) -> MailLinks | None:
    """Return the links of a mail, or None if any of them is missing."""
    own = links.live_links(session, rows.person.id, rows.game.id) if rows.game is not None else []
    found: dict[str, Link | LinkRow] = {}
    wanted = _wanted(session, rows)
    for place, (purpose, game_id, seq) in wanted.items():
        link: Link | LinkRow | None
        if rows.game is not None and game_id == rows.game.id:
            link = next((link for link in own if (link.purpose, link.seq) == (purpose, seq)), None)
        else:
            link = links.existing(session, purpose, rows.person.id, game_id, seq)
        if link is None:
            return None
        found[place] = link
    given = outbox.details(rows.mail)
    if "link" in given and not rows.late:
        found["link"] = session.get_one(Link, given["link"])
    if "reply" in given and rows.seat is not None and rows.turn is None and not given.get("talk"):
        used = session.get(Link, given["reply"])  # to which the mail came
        found |= {"reply": used} if used is not None and used.revoked_at is None else {}
    reply = links.reply_address(found.pop("reply")) if "reply" in found else None
    only_talk = rows.mail.kind == "talk"
    stop = links.stop_address(found["stop"], talk=only_talk) if "stop" in found else None
    stops_all = wanted.get("stop") == STOP_ALL
    urls = {place: links.url(link) for place, link in found.items()}
    if only_talk and "stop" in urls:
        urls["stop"] += STOP_TALK
    return MailLinks(urls.pop("link", None), urls.pop("stop", None), stop, stops_all, reply, urls)


def _wanted(session: Session, rows: MailRows) -> dict[str, Wanted]:
    """Return the links that a mail needs: `link`, `stop` and `reply`, and to each seat that it lists, by its game."""
    mail, game, given = rows.mail, rows.game, outbox.details(rows.mail)
    listed = digest.listed_turns(session, mail.kind, rows.person.id)
    wanted: dict[str, Wanted] = {each.id: ("seat", each.id, None) for each, _, _ in listed}
    if mail.kind == "held":
        wanted = {
            each.id: ("invite", each.id, None) for each in relevance.held_games(session, rows.person.id)
        }
    stop = _wanted_stop(rows)
    if stop is not None:
        wanted["stop"] = stop
    if game is None:
        return wanted
    purpose = given.get("purpose", "seat") if mail.kind == "fresh" else PURPOSES.get(mail.kind)
    if mail.kind in relevance.ABOUT_OTHERS and rows.person.id == game.organiser_id:
        purpose = "organise"
    if purpose is not None:
        wanted["link"] = (purpose, game.id, None)
    if rows.seat is not None:
        if (mail.kind == "talk" or given.get("talk")) and settings().mail_domain:
            wanted["reply"] = ("talk", game.id, None)
        elif rows.turn is not None and settings().mail_domain:
            wanted["reply"] = ("reply", game.id, rows.turn.opened_seq)
    return wanted


def _wanted_stop(rows: MailRows) -> Wanted | None:
    """Return the link with which a reader unsubscribes: from what the kind of mail names, or from a game."""
    kind, stop = rows.mail.kind, mail_kinds.of(rows.mail.kind).stop
    if stop in STOPS:
        return (STOPS[stop], None, None)
    if rows.game is not None and (rows.seat is not None or kind in FAREWELLS):
        return ("stop", rows.game.id, None)
    return STOP_ALL if stop else None
