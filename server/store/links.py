"""Capability links: each opens one page for one person. Tokens are computed when needed and never stored."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, insert, or_, select, update
from sqlalchemy.orm import Session

from server.config import settings
from server.store import statements
from server.store.engine import connection_of
from server.store.models import Link, LinkPurpose, Person
from server.store.statements import GameRow, LinkRow, PersonRow, SeatRow

PATHS: dict[str, str] = {
    LinkPurpose.SEAT: "t",
    LinkPurpose.STOP: "u",
    LinkPurpose.INVITE: "i",
    LinkPurpose.ORGANISE: "o",
    LinkPurpose.SIGNIN: "s",
    LinkPurpose.FEED: "feed",
    LinkPurpose.NOINVITE: "n",
    LinkPurpose.NOPLAYERS: "z",
    LinkPurpose.KEEP: "k",
    LinkPurpose.WISH: "w",
    LinkPurpose.MOVE: "c",
    LinkPurpose.OBJECT: "x",
}
"""The first path segment of each kind of link that is a page; the others are email addresses."""


ADDRESSES: dict[str, LinkPurpose] = {"play": LinkPurpose.REPLY, "talk": LinkPurpose.TALK}
"""How the email addresses that are links begin, and the purpose whose tokens each takes: no other opens anything."""


LIFETIMES: dict[str, timedelta] = {
    LinkPurpose.SIGNIN: timedelta(hours=1),
    LinkPurpose.KEEP: timedelta(days=1),
    LinkPurpose.MOVE: timedelta(days=1),
}
"""How long links of a purpose work, counted from when a mail server accepts their email; the others do not expire."""
TOKEN = re.compile(r"[a-z2-7]{26}")
_WITHIN = re.compile(rf"(?<![a-z2-7]){TOKEN.pattern}(?![a-z2-7])")
_PATH = re.compile(
    rf"/(?P<first>{'|'.join(PATHS.values())})/[^/a-z2-7]*(?P<token>{TOKEN.pattern})(?P<kind>\.(?:ics|atom)(?![a-z]))?"
    r"(?:(?P<page>(?:/[a-z0-9]+(?:\.[a-z]+)?)*)(?![a-z0-9]).*)?",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class SeatAccess:
    """The one seat that a seat link opens, with its game and its person."""

    link: LinkRow
    game: GameRow
    seat: SeatRow


def token(link: LinkRow) -> str:
    """Compute a link's token: HMAC-SHA256 of its nonce under the link key, as 26 lower-case base32 characters."""
    return token_of(link.nonce)


def token_of(nonce: bytes) -> str:
    """Compute the token of a link from its nonce, as `token` does."""
    mac = hmac.digest(settings().key("links"), nonce, "sha256")
    return base64.b32encode(mac).decode().lower()[:26]


def url(link: LinkRow) -> str:
    """Return the URL of a link; it starts with BYZANZ_BASE_URL, never with the host that a request claims."""
    return f"{settings().base_url}/{PATHS[link.purpose]}/{token(link)}"


def issue(
    session: Session,
    purpose: LinkPurpose,
    person_id: int,
    now: datetime,
    game_id: str | None = None,
    expires_at: datetime | None = None,
    seq: int | None = None,
) -> LinkRow:
    """Create a link with a fresh nonce; existing links stay valid.

    Args:
        expires_at: by default as late as its purpose says (`LIFETIMES`), until its email goes out.
        seq: for a reply address, the head of the log when the turn opened.
    """
    link = new(purpose, person_id, now, game_id, expires_at, seq)
    added = insert(Link).values(_columns(link)).returning(Link.id)
    return replace(link, id=session.execute(added).scalar_one())


def new(
    purpose: LinkPurpose,
    person_id: int,
    now: datetime,
    game_id: str | None = None,
    expires_at: datetime | None = None,
    seq: int | None = None,
) -> LinkRow:
    """Return a link with a fresh nonce that is not stored yet (`add_all`); the arguments are those of `issue`."""
    nonce = secrets.token_bytes(16)
    if expires_at is None and purpose in LIFETIMES:
        expires_at = now + LIFETIMES[purpose]
    return LinkRow(
        id=0,
        purpose=purpose,
        person_id=person_id,
        nonce=nonce,
        digest=_digest(token_of(nonce)),
        created_at=now,
        game_id=game_id,
        expires_at=expires_at,
        revoked_at=None,
        used_at=None,
        used_by=None,
        seq=seq,
    )


def add_all(session: Session, made: Sequence[LinkRow]) -> None:
    """Store links that `new` has made, with one statement."""
    statements.ADD_LINKS.run(connection_of(session), [_columns(link) for link in made])


def _columns(link: LinkRow) -> dict[str, Any]:
    return {name: getattr(link, name) for name in LinkRow.__slots__ if name != "id"}


def begin_lifetime(session: Session, link_id: int, now: datetime) -> None:
    """Let a link expire as long after its email has gone out as its purpose says."""
    link = get(session, link_id)
    if link is not None and link.purpose in LIFETIMES and link.expires_at is not None:
        until = now + LIFETIMES[link.purpose]
        session.execute(update(Link).where(Link.id == link_id).values(expires_at=until))


def live_links(session: Session, person_id: int, game_id: str) -> list[LinkRow]:
    """Return all live links of a person to a game, the newest first."""
    values = {"person": person_id, "game": game_id}
    return [LinkRow(*row) for row in statements.LIVE_LINKS.all(connection_of(session), values)]


def link_for(
    session: Session,
    purpose: LinkPurpose,
    person_id: int,
    game_id: str | None,
    now: datetime,
    seq: int | None = None,
) -> LinkRow:
    """Return a person's live link to a game, creating it if there is none; the arguments are those of `existing`."""
    found = existing(session, purpose, person_id, game_id, seq)
    return found or issue(session, purpose, person_id, now, game_id, seq=seq)


def existing(
    session: Session, purpose: LinkPurpose, person_id: int, game_id: str | None, seq: int | None = None
) -> LinkRow | None:
    """Return a person's live link to a game, or None.

    Args:
        game_id: None for a link that covers all their games: to unsubscribe from digests, or to feeds.
        seq: for a reply address, the head of the log when the turn opened.
    """
    about = (Link.purpose == purpose, Link.person_id == person_id, Link.game_id == game_id)
    same = Link.seq == seq if seq is not None else Link.seq.is_(None)
    return next(iter(select_rows(session, *about, same, Link.revoked_at.is_(None), limit=1)), None)


def select_rows(
    session: Session, *conditions: ColumnElement[bool], limit: int | None = None
) -> list[LinkRow]:
    """Return the links for which these conditions hold, the newest first."""
    query = select(*statements.LINK).where(*conditions).order_by(Link.id.desc()).limit(limit)
    return [LinkRow(*row) for row in session.execute(query)]


def get(session: Session, link_id: int) -> LinkRow | None:
    """Return the link with this id, or None."""
    return next(iter(select_rows(session, Link.id == link_id)), None)


def reply_address(link: LinkRow) -> str | None:
    """Return the email address that a link for replies or for talk is, or None while BYZANZ_MAIL_DOMAIN is not set."""
    domain = settings().mail_domain
    way = next(way for way, purpose in ADDRESSES.items() if purpose == link.purpose)
    return f"{way}+{token(link)}@{domain}" if domain else None


def address_access(session: Session, local: str, now: datetime) -> SeatAccess | None:
    """Return the seat that an email address opens for what it is meant for, or None.

    Args:
        local: the part before the @, lower-case; what stands before its `+` must fit the purpose of the token.
    """
    way, _plus, text = local.partition("+")
    purpose = ADDRESSES.get(way)
    return seat_access(session, text, now, purpose) if purpose is not None else None


def stop_address(link: LinkRow, *, talk: bool = False) -> str | None:
    """Return the address to which mail programs write to stop an email, or None while BYZANZ_MAIL_DOMAIN is not set.

    Args:
        talk: it stops only emails about nothing but table talk.
    """
    domain = settings().mail_domain
    return f"{'stoptalk' if talk else 'stop'}+{token(link)}@{domain}" if domain else None


def find(session: Session, purpose: LinkPurpose, text: str, now: datetime) -> LinkRow | None:
    """Return the live link with this token and purpose, or None."""
    link = find_any(session, purpose, text)
    if link is None or link.revoked_at or (link.expires_at and link.expires_at <= now):
        return None
    return link


def find_any(session: Session, purpose: LinkPurpose, text: str) -> LinkRow | None:
    """Return the link with this token, even if revoked or expired, so that its owner can be emailed a fresh one."""
    if not TOKEN.fullmatch(text):
        return None
    return next(iter(select_rows(session, Link.digest == _digest(text), Link.purpose == purpose)), None)


def token_in(text: str) -> str:
    """Return the token in a text that may have more, such as a full stop or the whole link; "" if it has none."""
    found = _WITHIN.search(text)
    return found[0] if found else ""


def clean_path(path: str) -> str | None:
    """Return the path of a page that a link opens without what mail programs and people add to it, None if it is none.

    Only what follows a character that belongs to no path of ours is dropped, such as a bracket, a blank or `&fbclid=…`.
    """
    found = _PATH.fullmatch(path)
    if found is None:
        return None
    return f"/{found['first']}/{found['token']}{found['kind'] or ''}{found['page'] or ''}"


def owner(session: Session, text: str, now: datetime) -> tuple[Person, str] | None:
    """Return the owner and the purpose of the live link with this token, or None."""
    if not TOKEN.fullmatch(text):
        return None
    live = (Link.revoked_at.is_(None), or_(Link.expires_at.is_(None), Link.expires_at > now))
    query = select(Person, Link.purpose).join(Link, Link.person_id == Person.id)
    found = session.execute(query.where(Link.digest == _digest(text), *live)).first()
    return (found[0], found[1]) if found else None


@dataclass(frozen=True, slots=True)
class KnownSeat:
    """What a seat's link has opened in this process; whether it still does is checked under the lock."""

    link_id: int
    person_id: int
    game_id: str
    seat: int


_known: OrderedDict[str, KnownSeat] = OrderedDict()
MOST_KNOWN = 8192


def known_seat(text: str) -> KnownSeat | None:
    """Return the seat that this token opened when it was last looked up in this process, or None."""
    return _known.get(_digest(text))


def known(access: SeatAccess) -> KnownSeat:
    """Return what is kept of a seat that a link has just opened."""
    return KnownSeat(access.link.id, access.link.person_id, access.game.id, access.seat.seat)


def forget() -> None:
    """Forget which seats were opened: for another database."""
    _known.clear()


def seat_access(
    session: Session, text: str, now: datetime, purpose: LinkPurpose = LinkPurpose.SEAT
) -> SeatAccess | None:
    """Return the seat that this token opens, or None if it is unknown, revoked, or its owner no longer holds the seat.

    Args:
        purpose: `seat`; that of an email address is asked for by `address_access`.
    """
    if not TOKEN.fullmatch(text):
        return None
    values = {"digest": _digest(text), "purpose": purpose, "now": now}
    found = statements.OPEN_SEAT.first(connection_of(session), values)
    if found is None:
        return None
    link, game, seat, seat.person = statements.split(found, LinkRow, GameRow, SeatRow, PersonRow)
    access = SeatAccess(link, game, seat)
    if purpose == LinkPurpose.SEAT:
        _known[link.digest] = known(access)
        if len(_known) > MOST_KNOWN:
            with suppress(KeyError):  # another thread has emptied it
                _known.popitem(last=False)
    return access


def revoke(session: Session, person_id: int, game_id: str, now: datetime) -> None:
    """Revoke all links of a person to one game except unsubscribe links, since any of them may lead to the seat."""
    session.execute(
        update(Link)
        .where(Link.person_id == person_id, Link.game_id == game_id, Link.purpose != LinkPurpose.STOP)
        .where(Link.revoked_at.is_(None))
        .values(revoked_at=now)
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
