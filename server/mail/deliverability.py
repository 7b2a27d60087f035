"""Deliverability: what happens when mail to a person is rejected, bounces or is reported as spam."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from server.i18n import kept
from server.mail.outgoing import digest
from server.play import mailing, turns
from server.store import alerts, log, outbox, people
from server.store.engine import reading, transaction
from server.store.models import Game, Mail, Person, Seat, Turn
from server.validation import one_line

REPORT_WINDOW = timedelta(days=7)
"""How long after sending a report about a mail counts: mail servers give up after five days."""
_SECRET = re.compile(r"[a-z2-7]{26}|[^\s<>]+@[^\s<>]+")


def mask(text: str) -> str:
    """Return what a mail server or a stranger wrote as one short line without tokens and addresses."""
    return one_line(_SECRET.sub("…", text))[:300]


def mailed_turn(session: Session, game: Game | None, mail: Mail) -> Turn | None:
    """Return the turn that a mail was queued for if it is still open; its game must be locked."""
    if game is None or mail.seat is None or mail.kind not in ("turn", "remind"):
        return None
    turn = session.get(Turn, (game.id, mail.seat))
    return turn if turn is not None and turn.opened_seq == mail.seq else None


def lock_games(session: Session, mail: Mail) -> dict[str, Game]:
    """Lock the games that a mail is about: its own, or for a digest all that it lists.

    Games are locked by id and before anything is written about mail or person, as everywhere else: otherwise two
    transactions could wait for each other.
    """
    games = {game_id for game_id, _, _ in digest.turns_in(session, mail)} if mail.kind == "digest" else set()
    games |= {mail.game_id} if mail.game_id else set()
    found = {game_id: log.lock_game(session, game_id) for game_id in sorted(games)}
    return {game_id: game for game_id, game in found.items() if game is not None}


def delivery_failed(
    session: Session, games: dict[str, Game], mail: Mail, diagnostic: str, now: datetime
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
    stopped = _stop_clock(session, game, mail, diagnostic, now)
    if game is None:
        return
    text = kept("The address of a player is refused: %(said)s") % {"said": diagnostic}
    alerts.raise_alarm(session, _alert_key(game.id, person.id), text, now, game.id)
    if mail.kind != "refused":
        _notify(session, game, mail, person, diagnostic, stopped, now)


def delivery_withheld(
    session: Session, games: dict[str, Game], mail: Mail, reason: str, now: datetime
) -> None:
    """Handle a mail that is not sent because the address bounced or complained before: its turn stops all the same.

    Organiser and moderators are told once per game until the address works again.
    """
    person, game = session.get_one(Person, mail.person_id), games.get(mail.game_id or "")
    if mail.kind == "digest":
        _stop_digest_turns(session, games, mail, person, reason, now)
    stopped = _stop_clock(session, game, mail, reason, now)
    if game is None or not stopped:
        return
    _notify_once(session, game, mail, person, reason, now)


def handle_bounce(mail_id: int, diagnostic: str, now: datetime) -> Mail | None:
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


def handle_complaint(mail_id: int, diagnostic: str, now: datetime) -> Mail | None:
    """Suppress all mail that was not requested to a person who reported ours as spam, and alert the moderators.

    Ignore reports about an old mail or one that never arrived.

    Returns:
        The mail, or None if there is no such mail.
    """
    with transaction() as session:
        mail = session.get(Mail, mail_id)
        if mail is None or not _is_fresh(mail, now):
            return mail
        session.get_one(Person, mail.person_id).suppressed = f"complaint: {diagnostic}"
        text = kept("A person has marked a mail of ours as unwanted and gets none any more: %(said)s") % {
            "said": diagnostic
        }
        alerts.raise_alarm(session, f"complaint:{mail.person_id}", text, now, mail.game_id)
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
        if well and not session.execute(_stopped_turns(person_id)).all():
            return False
    with transaction() as session:
        stopped = session.execute(_stopped_turns(person_id)).tuples().all()
        for game_id, seat in stopped:  # lock games before the person, as everywhere else
            game = log.lock_game(session, game_id)
            turn = session.get(Turn, (game_id, seat))
            if game is not None and turn is not None and turn.refused:
                turns.wait(session, game, turn)
                when = f":again{int(now.timestamp() * 1e6)}"
                mailing.mail_turn(session, game, turn, person_id, now, again=when)
        person = session.get_one(Person, person_id)
        person.suppressed = person.unreachable = None
        for game_id in session.scalars(select(Seat.game_id).where(Seat.person_id == person_id)).all():
            alerts.clear(session, _alert_key(game_id, person_id), now)
        alerts.clear(session, f"complaint:{person_id}", now)
    return True


def _stopped_turns(person_id: int) -> Select[tuple[str, int]]:
    """Select the person's turns that are stopped because no mail reached them, by game."""
    same_seat = (Seat.game_id == Turn.game_id) & (Seat.seat == Turn.seat)
    query = select(Turn.game_id, Turn.seat).join(Seat, same_seat).where(Seat.person_id == person_id)
    return query.where(Turn.refused.is_not(None)).order_by(Turn.game_id, Turn.seat)


def _alert_key(game_id: str, person_id: int) -> str:
    return f"refused:{game_id}:{person_id}"


def _stop_clock(session: Session, game: Game | None, mail: Mail, reason: str, now: datetime) -> bool:
    turn = mailed_turn(session, game, mail)
    if turn is not None:
        _stop(turn, reason, now)
    return turn is not None


def _stop(turn: Turn, reason: str, now: datetime) -> None:
    turn.refused_at = turn.refused_at or now
    turn.refused, turn.due_at, turn.remind_at = reason, None, None


def _stop_digest_turns(
    session: Session, games: dict[str, Game], mail: Mail, person: Person, reason: str, now: datetime
) -> None:
    """Stop the clocks of all turns that a failed digest listed, and tell the people in charge of each game."""
    for game_id, seat, opened_seq in digest.turns_in(session, mail):
        game, turn = games.get(game_id), session.get(Turn, (game_id, seat), populate_existing=True)
        if game is None or turn is None or turn.opened_seq != opened_seq:
            continue
        _stop(turn, reason, now)
        _notify_once(session, game, mail, person, reason, now)


def _notify_once(
    session: Session, game: Game, mail: Mail, person: Person, reason: str, now: datetime
) -> None:
    """Tell moderators and organiser that a clock has stopped, unless they already know of this player and game."""
    if alerts.standing(session, _alert_key(game.id, person.id)) is None:
        text = kept("A player gets no mail, for his address did not take it before: %(said)s") % {
            "said": reason
        }
        alerts.raise_alarm(session, _alert_key(game.id, person.id), text, now, game.id)
        _notify(session, game, mail, person, reason, True, now)


def _notify(
    session: Session, game: Game, mail: Mail, person: Person, diagnostic: str, stopped: bool, now: datetime
) -> None:
    for reader in sorted(people.organiser_and_moderators(session, game) - {person.id}):
        outbox.enqueue(
            session,
            key=f"refused:{mail.id}:{game.id}:{reader}",
            kind="refused",
            person_id=reader,
            now=now,
            game_id=game.id,
            details={"name": person.name, "error": diagnostic, "stopped": stopped},
        )
