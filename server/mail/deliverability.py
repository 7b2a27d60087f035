"""Deliverability: what happens when mail to a person is rejected, bounces or is reported as spam."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from server import play
from server.store import alerts, facts, log, outbox, people
from server.store.engine import reading, transaction
from server.store.facts import Fact
from server.store.models import Game, Mail, Person, Seat

REPORT_WINDOW = timedelta(days=7)
"""How long after sending a report about a mail counts: mail servers give up after five days."""


def lock_games(session: Session, mail: Mail) -> dict[str, Game]:
    """Lock the games that a mail is about: its own, or for a digest all that it lists.

    Games are locked by id and before anything is written about mail or person, as everywhere else: otherwise two
    transactions could wait for each other.
    """
    games = (
        {game_id for game_id, _, _ in play.turns_in_digest(session, mail)} if mail.kind == "digest" else set()
    )
    games |= {mail.game_id} if mail.game_id else set()
    found = {game_id: log.lock_game(session, game_id) for game_id in sorted(games)}
    return {game_id: game for game_id, game in found.items() if game is not None}


def delivery_failed(
    session: Session, games: dict[str, Game], mail: Mail, diagnostic: Fact, now: datetime
) -> None:
    """Handle a mail that will never arrive: stop the clock of its turn and tell those who can help.

    Args:
        games: the games it is about, locked.
        diagnostic: the mail server's reply, masked.
    """
    person, game = session.get_one(Person, mail.person_id), games.get(mail.game_id or "")
    person.unreachable = diagnostic
    if mail.kind == "digest":
        _stop_digest_turns(session, games, mail, person, diagnostic, now)
    stopped = play.mail_failed(session, game, mail, diagnostic, now)
    if game is None:
        return
    fact = Fact("address_refused", {"said": diagnostic})
    alerts.raise_alert(session, _alert_key(game.id, person.id), fact, now, game.id)
    if mail.kind != "refused":
        _notify(session, game, mail, person, diagnostic, stopped, now)


def delivery_withheld(
    session: Session, games: dict[str, Game], mail: Mail, reason: Fact, now: datetime
) -> None:
    """Handle a mail that is not sent because the address bounced or complained before: its turn stops nevertheless.

    The organiser and the moderators get one email per game until the address works again.
    """
    person, game = session.get_one(Person, mail.person_id), games.get(mail.game_id or "")
    if mail.kind == "digest":
        _stop_digest_turns(session, games, mail, person, reason, now)
    stopped = play.mail_failed(session, game, mail, reason, now)
    if game is None or not stopped:
        return
    _notify_once(session, game, mail, person, reason, now)


def handle_bounce(mail_id: int, diagnostic: Fact, now: datetime) -> Mail | None:
    """Treat an accepted mail that bounced as rejected, and suppress further mail to the address.

    Ignore reports about an old mail, about one that already bounced, or about one that a newer copy has replaced.

    Returns:
        The mail, or None if there is no such mail.
    """
    with transaction() as session:
        mail = session.get(Mail, mail_id)
        if mail is None:
            return None
        games = lock_games(session, mail)
        session.refresh(mail)
        if not _is_fresh(mail, now) or _has_newer_copy(session, mail):
            return mail
        outbox.mark_bounced(session, mail, now, diagnostic)
        session.get_one(Person, mail.person_id).suppressed = diagnostic
        delivery_failed(session, games, mail, diagnostic, now)
        return mail


def handle_complaint(mail_id: int, diagnostic: Fact, now: datetime) -> Mail | None:
    """Suppress all mail that was not requested to a person who reported ours as spam, and alert the moderators.

    Ignore reports about an old mail or one that never arrived.

    Returns:
        The mail, or None if there is no such mail.
    """
    with transaction() as session:
        mail = session.get(Mail, mail_id)
        if mail is None or not _is_fresh(mail, now):
            return mail
        session.get_one(Person, mail.person_id).suppressed = Fact("complaint", {"said": diagnostic})
        fact = Fact("mail_unwanted", {"said": diagnostic})
        alerts.raise_alert(session, f"complaint:{mail.person_id}", fact, now, mail.game_id)
        return mail


def _is_fresh(mail: Mail, now: datetime) -> bool:
    """Whether a report about the mail counts: it may have been accepted, and not long ago."""
    sent_at = mail.finished_at or now
    return mail.status in ("waiting", "sent") and sent_at > now - REPORT_WINDOW


def _has_newer_copy(session: Session, mail: Mail) -> bool:
    """Whether a newer copy of a turn's mail was sent or waits: then the address has been confirmed since."""
    copies = (Mail.game_id == mail.game_id, Mail.seat == mail.seat, Mail.seq == mail.seq, Mail.kind == "turn")
    newer = select(Mail.id).where(*copies, Mail.id > mail.id, Mail.status != "dropped")
    return mail.kind in ("turn", "remind") and session.scalar(newer.limit(1)) is not None


def mark_reachable(person_id: int, now: datetime) -> bool:
    """Resume mail to an address: mail the stopped turns again and clear the alerts about them.

    This is one transaction, since nothing else mails a turn whose address is believed to be good.

    Returns:
        False if nothing was wrong with the address.
    """
    with reading() as session:  # usually there is nothing to do, and nothing is locked
        person = session.get_one(Person, person_id)
        well = person.suppressed is None and person.unreachable is None
        if well and not play.has_stopped_turns(session, person_id):
            return False
    with transaction() as session:
        play.address_works(session, person_id, now)  # locks games before the person, as all who lock both do
        person = session.get_one(Person, person_id)
        person.suppressed = person.unreachable = None
        for game_id in session.scalars(select(Seat.game_id).where(Seat.person_id == person_id)).all():
            alerts.clear(session, _alert_key(game_id, person_id), now)
        alerts.clear(session, f"complaint:{person_id}", now)
    return True


def _alert_key(game_id: str, person_id: int) -> str:
    return f"refused:{game_id}:{person_id}"


def _stop_digest_turns(
    session: Session, games: dict[str, Game], mail: Mail, person: Person, reason: Fact, now: datetime
) -> None:
    """Stop the clocks of the turns that a failed digest listed, and tell those in charge of each game."""
    for game in play.digest_failed(session, games, play.turns_in_digest(session, mail), reason, now):
        _notify_once(session, game, mail, person, reason, now)


def _notify_once(
    session: Session, game: Game, mail: Mail, person: Person, reason: Fact, now: datetime
) -> None:
    """Tell moderators and organiser that a clock has stopped, unless they already know of this player and game."""
    if alerts.find_open(session, _alert_key(game.id, person.id)) is None:
        fact = Fact("address_failed_before", {"said": reason})
        alerts.raise_alert(session, _alert_key(game.id, person.id), fact, now, game.id)
        _notify(session, game, mail, person, reason, True, now)


def _notify(
    session: Session, game: Game, mail: Mail, person: Person, diagnostic: Fact, stopped: bool, now: datetime
) -> None:
    for reader in sorted(people.organiser_and_moderators(session, game) - {person.id}):
        outbox.enqueue(
            session,
            key=f"refused:{mail.id}:{game.id}:{reader}",
            kind="refused",
            person_id=reader,
            now=now,
            game_id=game.id,
            details={"name": person.name, "error": facts.stored(diagnostic), "stopped": stopped},
        )
