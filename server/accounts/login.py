"""Signing in: links by email, the browsers that are signed in, and those that were.

What is requested in a browser that was signed in is counted apart, so that no stranger uses up what the owner of an
address may ask for. The cookie names nobody to those who read it, and opens nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

import flask
from sqlalchemy import ColumnElement, CursorResult, delete, exists, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from server import validation
from server.config import settings
from server.errors import TooMany
from server.lobby import notify
from server.mail import deliverability
from server.play import turns
from server.store import links, mail_kinds, networks, outbox, people
from server.store.engine import insert, transaction
from server.store.mail_kinds import MailKind
from server.store.models import (
    BrowserSession,
    Game,
    GameStatus,
    Link,
    LinkPurpose,
    Mail,
    Person,
    Seat,
    SeatStatus,
)
from server.store.statements import LinkRow

COOKIE = "known"
MAX_AGE = 365 * 24 * 3600
MOST = 5
"""People whom one browser remembers, the latest."""
_DIGITS = 32


def _mark(person_id: int) -> str:
    key = settings().key("known browsers")
    return hmac.digest(key, str(person_id).encode(), "sha256").hex()[:_DIGITS]


def _marks() -> list[str]:
    return flask.request.cookies.get(COOKIE, "").split(".")[:MOST]


def knows(person_id: int) -> bool:
    """Whether the browser of this request was signed in as a person; False outside a request."""
    return flask.has_request_context() and _mark(person_id) in _marks()


def remember(person_id: int) -> None:
    """Let the browser of this request remember that a person signed in."""
    mark = _mark(person_id)
    _answer_with(".".join([mark, *(other for other in _marks() if other not in ("", mark))][:MOST]))


def forget(person_id: int) -> None:
    """Let the browser of this request forget a person."""
    _answer_with(".".join(other for other in _marks() if other not in ("", _mark(person_id))))


def _answer_with(value: str) -> None:
    config = flask.current_app.config
    path, secure = str(config["SESSION_COOKIE_PATH"]), bool(config["SESSION_COOKIE_SECURE"])

    @flask.after_this_request
    def answer(response: flask.Response) -> flask.Response:
        age = MAX_AGE if value else 0
        response.set_cookie(
            COOKIE, value, max_age=age, path=path, secure=secure, httponly=True, samesite="Lax"
        )
        return response


# ---- signing in ----
# The requester learns nothing about others, not even from the response time: for an unknown address or link the same
# work is done for a decoy.

COOKIE_KEY = "login"
"""Where the cookie holds the token of the browser's session."""
TABLE_KEY = "table"
"""Where the cookie holds the game with a free seat for which the visitor asked for a sign-in link."""
SEAT_KEY = "seat"
"""Where it holds the seat of that game, if it is a seat of a running game that needs a player."""
USE_NOTED_EVERY = timedelta(hours=1)
"""How exact the last use of a session is, so that few requests write."""
SESSION_LIFETIME = timedelta(days=90)
"""How long a session lasts without use, as the cookie."""
RECENT = timedelta(minutes=15)
"""How long ago somebody may have signed in who erases an account or changes an address."""
_CURRENT = "byzanz.session"
LINKS_PER_HOUR = 3
"""Links that are mailed to one person within an hour, however often they are requested."""
LINKS_PER_DAY = 5
"""And within a day. What a browser that was signed in as them asks for, and what each of their own links asks for, is
counted apart: somebody who knows only the address cannot use these up."""
OWN_PER_DAY = 12
"""Links within a day for each of these."""
ANYBODYS = ("", "-new")
"""Proofs that prove nothing. What a table's page asks for is counted apart: what it may still cause must not depend on
how many links an address got from the page for people who are known."""
BROWSER_KEY = "redeems"
"""Where the cookie holds the secret of the browser in which a sign-in link was opened."""
PRESS_AGAIN = timedelta(minutes=10)
"""How long that browser may use the link again: an answer that was lost, with its cookie, is asked for once more."""


def mail_sign_in(
    address: str,
    now: datetime,
    language: str | None = None,
    *,
    newcomers: bool = False,
    seat_token: str = "",
) -> None:
    """Mail a sign-in link to the person with this address; the caller cannot tell whether there is one.

    Args:
        language: of the page; the mail is in it unless the person has chosen one.
        newcomers: mail it to an address without a seat as well, so that its reader can take a free one.
        seat_token: of the seat from whose page it is requested, if any.

    Raises:
        InvalidInput: the text is not an address.
        TooMany: newcomers would get one, and the visitor's networks, or all together, have caused too many emails to
            strangers within the last hour.
    """
    address = validation.clean_address(address)
    with transaction() as session:
        if newcomers:
            networks.wait_for_others(session)
        if not (full := newcomers and notify.too_many(session, now)):
            person = _reader(session, address, now, newcomers=newcomers)
            proof = _proof(session, person, seat_token, now) or ("-new" if newcomers else "")
            details = {"language": language}
            _queue_mail(session, MailKind.SIGNIN, person, now, details=details, proof=proof, counts=newcomers)
    if full:  # for every address, so that nobody learns which ones are known
        raise TooMany(
            "Too many newcomers have asked for a link. Try again in an hour. "
            "If you have played here before, sign in on the home page."
        )


def _reader(session: Session, address: str, now: datetime, *, newcomers: bool) -> int | None:
    """Return the person who gets a sign-in link at an address, a new one for a newcomer."""
    person, known = _find_person(session, Person.email == people.normalize_address(address))
    if known or not newcomers:
        return person if known else None
    guest = people.get_or_create(session, address, "", now)
    if not guest.accepted:  # no stranger's words in the mail
        guest.name = validation.name_from_address(address)
    return guest.id


def _proof(session: Session, person_id: int | None, seat_token: str, now: datetime) -> str:
    """Return what shows that a request is its person's own, empty if nothing does; each proof has its own limits."""
    if person_id is None:
        return ""
    link = links.find(session, LinkPurpose.SEAT, seat_token, now)
    if link is not None and link.person_id == person_id:
        return f"-link{link.id}"
    return "-browser" if knows(person_id) else ""


def mail_sign_in_again(person_id: int, now: datetime, language: str | None = None) -> None:
    """Mail a sign-in link to somebody who is signed in, who is to show that they still read this address."""
    with transaction() as session:
        details = {"language": language}
        _queue_mail(session, MailKind.SIGNIN, person_id, now, details=details, proof="-browser", counts=False)


def _find_person(session: Session, which: ColumnElement[bool]) -> tuple[int | None, bool]:
    """Return the id of a person and whether they may sign in: they are seated, organise a game or moderate.

    People who were only named in a form may not: nobody vouches for what a stranger types there.
    """
    seated = exists().where(Seat.person_id == Person.id, Seat.status == SeatStatus.SEATED)
    organises = exists().where(Game.organiser_id == Person.id, Game.status != GameStatus.ASKED)
    may = Person.moderator | seated | organises
    found = session.execute(select(Person.id, may).where(which, Person.email.is_not(None))).first()
    return (found[0], bool(found[1])) if found else (None, False)


def _queue_mail(
    session: Session,
    kind: str,
    person_id: int | None,
    now: datetime,
    game_id: str | None = None,
    details: Mapping[str, object] | None = None,
    *,
    proof: str = "",
    counts: bool = True,
) -> None:
    """Queue a requested mail, or write the same rows for a decoy that is deleted at the end.

    Args:
        kind: of the mail; a link is made for it if the kind says so.
        person_id: the reader; a decoy if None, or if they had their mails of this hour or day.
        proof: as `_proof` returns it.
        counts: it may go to a stranger. Otherwise it must not count: what one visitor may still cause would tell them
            whether an address is known.
    """
    decoy = Person(email=None, name="", created_at=now)
    session.add(decoy)
    session.flush()
    may = _may_have_another(session, kind, proof, person_id or decoy.id, now)
    reader = person_id if person_id and may else decoy.id
    owner = reader if mail_kinds.of(kind).has_own_link else decoy.id
    link = links.issue(session, LinkPurpose.SIGNIN, owner, now)
    outbox.enqueue(
        session,
        key=f"{kind}{proof}:{reader}:{int(now.timestamp() * 1e6)}",
        kind=kind,
        counts=counts,
        person_id=reader,
        now=now,
        game_id=game_id if reader == person_id else None,
        details={**(details or {}), "link": link.id} if mail_kinds.of(kind).has_own_link else details,
    )
    _delete_decoy(session, decoy)


def _may_have_another(session: Session, kind: str, proof: str, person_id: int, now: datetime) -> bool:
    """Whether a person may get one more mail of a kind within this hour and this day, for the same proof."""
    hour, day = (
        outbox.count_queued(session, kind, person_id, now - ago, prefix=f"{kind}{proof}:")
        for ago in (timedelta(hours=1), timedelta(days=1))
    )
    return hour < LINKS_PER_HOUR and day < (LINKS_PER_DAY if proof in ANYBODYS else OWN_PER_DAY)


def _delete_decoy(session: Session, decoy: Person) -> None:
    for statement in (
        delete(Mail).where(Mail.person_id == decoy.id),
        delete(Link).where(Link.person_id == decoy.id),
        delete(Person).where(Person.id == decoy.id),
    ):
        session.execute(statement, execution_options={"synchronize_session": False})


def redeem(token: str, now: datetime, browser: str = "") -> Person | None:
    """Use up a sign-in link and return its person, or None if it is unknown, expired or used.

    The link was in our mail, so an address that had bounced takes mail again.

    Args:
        browser: the secret of the browser that opened the link; the one that used the link may do so again for a while.
    """
    with transaction() as session:
        link = links.find_any(session, LinkPurpose.SIGNIN, token)
        if link is None or not is_usable(link, now, browser):
            return None
        used = {"used_at": now, "used_by": session_digest(browser) if browser else None}
        use = update(Link).where(Link.id == link.id, Link.used_at.is_(None)).values(used)
        first = session.execute(use, execution_options={"synchronize_session": False})
        assert isinstance(first, CursorResult)
        if first.rowcount != 1:  # another browser was faster
            link = links.get(session, link.id)
            if link is None or not is_usable(link, now, browser):
                return None
        person = session.get_one(Person, link.person_id)
        person.accepted = True
    deliverability.mark_reachable(person.id, now)
    return person


def is_usable(link: LinkRow, now: datetime, browser: str = "") -> bool:
    """Whether a browser may sign in with a link: it is new, or this browser has used it a few minutes ago."""
    if link.revoked_at is not None:
        return False
    if link.used_at is None:
        return link.expires_at is None or link.expires_at > now
    mine = bool(browser) and link.used_by == session_digest(browser)
    return mine and now - link.used_at < PRESS_AGAIN


def this_browser(*, new: bool = False) -> str:
    """Return the secret of this browser from its cookie, empty if it has none.

    Args:
        new: give it one if it has none.
    """
    known = flask.session.get(BROWSER_KEY)
    if new and not isinstance(known, str):
        known = flask.session[BROWSER_KEY] = secrets.token_urlsafe(16)
    return known if isinstance(known, str) else ""


def renew_feed(person_id: int, now: datetime) -> None:
    """Create a new link to a person's feeds and revoke the old one."""
    with transaction() as session:
        live = (Link.person_id == person_id, Link.purpose == LinkPurpose.FEED, Link.revoked_at.is_(None))
        session.execute(update(Link).where(*live).values(revoked_at=now))
        links.issue(session, LinkPurpose.FEED, person_id, now)


def mail_games(person_id: int, now: datetime) -> None:
    """Mail a person the links to all their open turns, or that there are none; nothing beyond the hourly limit."""
    with transaction() as session:
        if session.get_one(Person, person_id).email is None:
            return
        if _may_have_another(session, MailKind.GAMES, "", person_id, now):
            key = f"games:{person_id}:{int(now.timestamp() * 1e6)}"
            outbox.enqueue(session, key=key, kind=MailKind.GAMES, person_id=person_id, now=now)


def mail_fresh_link(token: str, now: datetime, *, to_seat: bool = False) -> None:
    """Mail the owner of a link a fresh link to what they may still open, if anything.

    Args:
        to_seat: an organiser wants to go to their own seat, not to the organiser's page.
    """
    with transaction() as session:
        found = [links.find_any(session, purpose, links.token_in(token)) for purpose in LinkPurpose]
        link = next((link for link in found if link is not None), None)
        opens = _still_open(session, link, to_seat)
        person, known = _find_person(session, Person.id == (link.person_id if link else 0))
        if link is None or link.purpose == LinkPurpose.SIGNIN:
            proof = f"-link{link.id}" if link is not None else ""
            _queue_mail(session, MailKind.SIGNIN, person if known else None, now, proof=proof, counts=False)
        else:
            reader, details = person if opens else None, {"purpose": opens}
            _queue_mail(session, MailKind.FRESH, reader, now, link.game_id, details, proof=f"-link{link.id}")


def _still_open(session: Session, link: LinkRow | None, to_seat: bool) -> LinkPurpose | None:
    """Return what the owner of a link to a game may open there today."""
    game_id, owner, purpose = (link.game_id or "", link.person_id, link.purpose) if link else ("", 0, "")
    held = (Seat.game_id == Game.id) & (Seat.person_id == owner)
    found = session.execute(select(Game, Seat).outerjoin(Seat, held).where(Game.id == game_id)).first()
    if found is None:
        return None
    game: Game = found[0]
    seat: Seat | None = found[1]
    if purpose == LinkPurpose.ORGANISE and not to_seat:
        return LinkPurpose.ORGANISE if game.organiser_id == owner else None
    if seat is None:
        return None
    return LinkPurpose.SEAT if game.started_at and seat.status == SeatStatus.SEATED else LinkPurpose.INVITE


def sign_in(person_id: int, browser: str, now: datetime, link: str = "") -> None:
    """Sign a person in to this browser.

    Args:
        browser: what the list of their sessions calls it.
        link: the token of the sign-in link that did it. Pressing again in this browser leads to the same session, so
            an answer that was lost leaves no session behind.
    """
    _delete_current()
    token = _session_token(link, this_browser())
    with transaction() as session:
        theirs = BrowserSession.person_id == person_id
        session.execute(delete(BrowserSession).where(theirs, BrowserSession.used_at < now - SESSION_LIFETIME))
        new = {"person_id": person_id, "browser": browser, "created_at": now, "used_at": now}
        insert(session, BrowserSession, {"digest": session_digest(token), **new}, key="digest")
    flask.session.clear()
    flask.session.permanent = True
    flask.session[COOKIE_KEY] = token
    remember(person_id)


def _session_token(link: str, browser: str) -> str:
    """Return the token of a new session, or that of the session that this link has begun in this browser."""
    if not (link and browser):
        return secrets.token_urlsafe(24)
    key = settings().key("sessions")
    return hmac.digest(key, f"{link}\n{browser}".encode(), "sha256").hex()


def sign_out() -> None:
    """Sign this browser out; copies of its cookie are signed out with it."""
    _delete_current()
    flask.session.clear()


def _delete_current() -> None:
    token = flask.session.get(COOKIE_KEY)
    if isinstance(token, str):
        with transaction() as session:
            session.execute(delete(BrowserSession).where(BrowserSession.digest == session_digest(token)))


def signed_in(session: Session) -> Person | None:
    """Return the person who is signed in to this browser, or None."""
    token = flask.session.get(COOKIE_KEY)
    if not isinstance(token, str):
        return None
    query = select(BrowserSession, Person).join(Person, Person.id == BrowserSession.person_id)
    found = session.execute(query.where(BrowserSession.digest == session_digest(token))).first()
    if found is None:
        return None
    flask.request.environ[_CURRENT] = found[0]
    return found[1]


def games_waiting(session: Session) -> int | None:
    """Return in how many games the person is to move who is signed in to this browser; None if nobody is."""
    token = flask.session.get(COOKIE_KEY)
    if not isinstance(token, str):
        return None
    count = turns.open_of(BrowserSession.person_id.expression).scalar_subquery()
    return session.scalar(select(count).where(BrowserSession.digest == session_digest(token)))


def current_session() -> BrowserSession | None:
    """Return the session of this browser if this request has looked up who is signed in."""
    return flask.request.environ.get(_CURRENT)


def is_recent(now: datetime) -> bool:
    """Whether this browser signed in a short time ago, with a link from the mailbox; call it after `signed_in`."""
    current = current_session()
    return current is not None and now - current.created_at < RECENT


def note_use(now: datetime) -> None:
    """Store that this browser's session is in use, unless that was stored within the last hour."""
    used = current_session()
    if used is None or now - used.used_at < USE_NOTED_EVERY:
        return
    with suppress(SQLAlchemyError), transaction() as session:  # the page is worth more than the note
        session.execute(update(BrowserSession).where(BrowserSession.id == used.id).values(used_at=now))


def sessions_of(session: Session, person_id: int) -> Sequence[BrowserSession]:
    """Return the browsers in which a person is signed in, the most recently used first."""
    theirs = select(BrowserSession).where(BrowserSession.person_id == person_id)
    return session.scalars(theirs.order_by(BrowserSession.used_at.desc(), BrowserSession.id.desc())).all()


def end_sessions(person_id: int, session_id: int | None = None) -> None:
    """Sign a person out of one browser, or of all of them if none is named."""
    ends = delete(BrowserSession).where(BrowserSession.person_id == person_id)
    if session_id is not None:
        ends = ends.where(BrowserSession.id == session_id)
    with transaction() as session:
        session.execute(ends)


def session_digest(token: str) -> str:
    """Return the digest under which the session with this token is stored."""
    return hashlib.sha256(token.encode()).hexdigest()


# ---- names of browsers ----

BROWSERS = {
    "Edge": r"Edg[eA]?/|EdgiOS/",
    "Opera": r"OPR/|Opera",
    "Samsung Internet": r"SamsungBrowser/",
    "Firefox": r"Firefox/|FxiOS/",
    "Chrome": r"Chrom(e|ium)/|CriOS/",
    "Safari": r"Safari/",
}
"""What each browser says of itself; the first that fits counts, since most also claim to be a later one."""
SYSTEMS = {
    "Android": "Android",
    "iPad": "iPad",
    "iPhone": "iPhone",
    "Windows": "Windows",
    "ChromeOS": "CrOS",
    "macOS": "Macintosh",
    "Linux": "Linux",
}


def browser_name(user_agent: str) -> str:
    """Return browser and system (`Firefox, Linux`) as a User-Agent header tells them; empty if it tells neither."""
    found = (
        next((name for name, pattern in table.items() if re.search(pattern, user_agent)), None)
        for table in (BROWSERS, SYSTEMS)
    )
    return ", ".join(name for name in found if name)
