"""Whether mail reaches a person: what is done when his address refuses, bounces or complains, and when it mends."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from server import play
from server.mail.outgoing import digest
from server.store import alerts, facts, log, outbox, people
from server.store.engine import reading, transaction
from server.store.facts import Fact
from server.store.models import Game, Mail, Person, Seat

HEEDED = timedelta(days=7)
"""How long after a mail was sent a report about it counts: mail servers give up after five days."""


def locked(session: Session, mail: Mail) -> dict[str, Game]:
    """Lock the games that a mail is about: its own, and of a digest those that it named.

    By their ids, and before anything is written about mail or person, as everybody does who changes both: else two
    could wait for each other.
    """
    games = {game_id for game_id, _, _ in digest.named_in(session, mail)} if mail.kind == "digest" else set()
    games |= {mail.game_id} if mail.game_id else set()
    found = {game_id: log.lock_game(session, game_id) for game_id in sorted(games)}
    return {game_id: game for game_id, game in found.items() if game is not None}


def lost(session: Session, games: dict[str, Game], mail: Mail, said: Fact, now: datetime) -> None:
    """A mail will never arrive: the clock of its turn stops, and those who can do something about it are told.

    Args:
        games: that it is about, locked.
        said: by the mail server.
    """
    person, game = session.get_one(Person, mail.person_id), games.get(mail.game_id or "")
    person.unreachable = said
    if mail.kind == "digest":
        _digest_lost(session, games, mail, person, said, now)
    stopped = play.mail_failed(session, game, mail, said, now)
    if game is None:
        return
    fact = Fact("address_refused", {"said": said})
    alerts.raise_alert(session, _key(game.id, person.id), fact, now, game.id)
    if mail.kind != "refused":
        _tell(session, game, mail, person, said, stopped, now)


def withheld(session: Session, games: dict[str, Game], mail: Mail, why: Fact, now: datetime) -> None:
    """A mail is not even sent, because the address bounced or complained before: its turn stops all the same.

    Organiser and moderators are told once a game, until the address is mended.
    """
    person, game = session.get_one(Person, mail.person_id), games.get(mail.game_id or "")
    if mail.kind == "digest":
        _digest_lost(session, games, mail, person, why, now)
    stopped = play.mail_failed(session, game, mail, why, now)
    if game is None or not stopped:
        return
    _tell_once(session, game, mail, person, why, now)


def bounced(mail_id: int, said: Fact, now: datetime) -> Mail | None:
    """A mail that was accepted came back for good: as if it had been refused, and nothing more is sent there.

    Nothing is done about one that is old, that has come back before, or that another copy has followed.

    Returns:
        The mail, None if there is no such mail.
    """
    with transaction() as session:
        mail = session.get(Mail, mail_id)
        if mail is None:
            return None
        games = locked(session, mail)
        session.refresh(mail)
        if not _is_fresh(mail, now) or _is_followed(session, mail):
            return mail
        outbox.mark_bounced(session, mail, now, said)
        session.get_one(Person, mail.person_id).suppressed = said
        lost(session, games, mail, said, now)
        return mail


def complained(mail_id: int, said: Fact, now: datetime) -> Mail | None:
    """Whoever reads an address does not want our mail: nothing but mail asked for goes there, moderators are told.

    Nothing is done about a mail that is old, or never arrived.

    Returns:
        The mail, None if there is no such mail.
    """
    with transaction() as session:
        mail = session.get(Mail, mail_id)
        if mail is None or not _is_fresh(mail, now):
            return mail
        session.get_one(Person, mail.person_id).suppressed = Fact("complaint", {"said": said})
        fact = Fact("mail_unwanted", {"said": said})
        alerts.raise_alert(session, f"complaint:{mail.person_id}", fact, now, mail.game_id)
        return mail


def _is_fresh(mail: Mail, now: datetime) -> bool:
    """Whether a report about a mail is heeded: it may have been accepted, and not long ago."""
    sent_at = mail.finished_at or now
    return mail.status in ("waiting", "sent") and sent_at > now - HEEDED


def _is_followed(session: Session, mail: Mail) -> bool:
    """Whether another copy of a turn's mail is on its way or was sent: then the address was said to be good."""
    copies = (Mail.game_id == mail.game_id, Mail.seat == mail.seat, Mail.seq == mail.seq, Mail.kind == "turn")
    newer = select(Mail.id).where(*copies, Mail.id > mail.id, Mail.status != "dropped")
    return mail.kind in ("turn", "remind") and session.scalar(newer.limit(1)) is not None


def again(person_id: int, now: datetime) -> bool:
    """An address takes mail again: turns that were stopped are mailed once more, and the alerts about them end.

    All of it in one transaction: a turn whose address is thought to be good is mailed by nothing else.

    Returns:
        False if nothing was wrong with it.
    """
    with reading() as session:  # the usual case locks nothing
        person = session.get_one(Person, person_id)
        well = person.suppressed is None and person.unreachable is None
        if well and not play.has_stopped_turns(session, person_id):
            return False
    with transaction() as session:
        play.address_works(
            session, person_id, now
        )  # games first, then the person, like everybody who locks both
        person = session.get_one(Person, person_id)
        person.suppressed = person.unreachable = None
        for game_id in session.scalars(select(Seat.game_id).where(Seat.person_id == person_id)).all():
            alerts.clear(session, _key(game_id, person_id), now)
        alerts.clear(session, f"complaint:{person_id}", now)
    return True


def _key(game_id: str, person_id: int) -> str:
    return f"refused:{game_id}:{person_id}"


def _digest_lost(
    session: Session, games: dict[str, Game], mail: Mail, person: Person, why: Fact, now: datetime
) -> None:
    """A digest does not arrive: stop the clocks of the turns that it named, and tell those in charge of each game."""
    for game in play.digest_failed(session, games, digest.named_in(session, mail), why, now):
        _tell_once(session, game, mail, person, why, now)


def _tell_once(session: Session, game: Game, mail: Mail, person: Person, why: Fact, now: datetime) -> None:
    """A clock has stopped: moderators and organiser are told, unless they know it of this player and game."""
    if alerts.standing(session, _key(game.id, person.id)) is None:
        fact = Fact("address_failed_before", {"said": why})
        alerts.raise_alert(session, _key(game.id, person.id), fact, now, game.id)
        _tell(session, game, mail, person, why, True, now)


def _tell(
    session: Session, game: Game, mail: Mail, person: Person, said: Fact, stopped: bool, now: datetime
) -> None:
    for reader in sorted(people.in_charge(session, game) - {person.id}):
        outbox.enqueue(
            session,
            key=f"refused:{mail.id}:{game.id}:{reader}",
            kind="refused",
            person_id=reader,
            now=now,
            game_id=game.id,
            details={"name": person.name, "error": facts.stored(said), "stopped": stopped},
        )
