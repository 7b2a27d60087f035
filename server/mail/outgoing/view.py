"""What the template of a mail gets: its game, its reader, its links, and what it is about."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from flask_babel import gettext
from sqlalchemy import select
from sqlalchemy.orm import Session

from byzanz import record
from byzanz.games import title_of
from byzanz.moves import ranked
from byzanz.rules import PUBLIC
from server import i18n
from server.community import results
from server.config import settings
from server.i18n import N_, zone_of
from server.mail.outgoing import digest, letters, relevance
from server.mail.outgoing.letters import AnswerMail, EndingMail, InvitationMail, TurnMail
from server.mail.outgoing.relevance import MailRows
from server.mail.text import one_line
from server.play import history, names, positions, standing_orders, turns
from server.play.game import Table, load
from server.store import facts, links, log, outbox
from server.store.mail_kinds import Content, Lists, Reader, Stop, TurnOf
from server.store.models import Game, LinkPurpose, Rematch, Seat, SeatStatus
from server.store.statements import GameRow, LinkRow, MailRow

ANSWER_WITHIN = timedelta(days=2)
"""How soon an invitation asks for an answer; then the reminder comes (`REMIND_INVITATION_AFTER` in server/lobby)."""


def ending(table: Table, scores: Sequence[int]) -> dict[str, Any]:
    """Return the place of each seat of a finished game, with the seat, the best first, and the table as it ended.

    With it come the seats that were placed by something else than their scores.
    """
    position = positions.current(table)
    ranking = ranked(position.rules.places(position.state))
    at = {score: {place for place, seat in ranking if scores[seat] == score} for score in scores}
    return {
        "ranking": ranking,
        "tied": [seat for _place, seat in ranking if len(at[scores[seat]]) > 1],
        "view": position.rules.view(position.state, PUBLIC),
    }


def invitation(session: Session, rows: MailRows, table: Table) -> dict[str, Any]:
    """Return what only an invitation tells: who sits there, the organiser's line, cuts, and how long games take.

    If the game follows another one of its reader, it also tells which. `company` says whether it has other people.
    """
    game = table.game
    return {
        "before": _game_before(session, rows),
        "statuses": tuple(seat.status for seat in table.seats),
        "bots": [seat.seat for seat in table.seats if seat.bot],
        "company": any(seat.person_id not in (None, rows.person.id) for seat in table.seats),
        "own_game": table.game.organiser_id == rows.person.id,
        "answer_by": rows.mail.created_at + ANSWER_WITHIN,
        "message": one_line(game.message),
        "cuts": history.fixed_cuts(table.game, table.seats, _reader(rows, table.game)).values(),
        "length": results.estimate_length(session, game, table.seats),
    }


def _game_before(session: Session, rows: MailRows) -> str | None:
    """Return the name of the game that this one follows, for those who held a seat there."""
    query = (
        select(Game.name)
        .join(Rematch, Rematch.after_id == Game.id)
        .join(Seat, Seat.game_id == Game.id)
        .where(Rematch.game_id == rows.mail.game_id, Seat.person_id == rows.person.id)
    )
    name = session.scalar(query)
    return None if name is None else one_line(name)


# ---- links ----

STOPS = {
    Stop.ALL: LinkPurpose.STOP,
    Stop.INVITATIONS: LinkPurpose.NOINVITE,
    Stop.PLAYERS: LinkPurpose.NOPLAYERS,
    Stop.OPEN_TABLES: LinkPurpose.WISH,
}
"""The links that stop more than the mails of a game, by what they stop."""
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


Wanted = tuple[LinkPurpose, str | None, int | None]
"""A link of the reader: its purpose, its game, and for a reply address the head when its turn opened, if any."""

STOP_ALL: Wanted = (LinkPurpose.STOP, None, None)


def links_of(session: Session, rows: MailRows, now: datetime) -> tuple[MailLinks, Sequence[LinkRow]]:
    """Return the links of a mail, and those among them that are to be stored before it is sent."""
    own = links.live_links(session, rows.person.id, rows.game.id) if rows.game is not None else []
    found: dict[str, LinkRow] = {}
    made: list[LinkRow] = []
    wanted = _wanted(session, rows)
    for place, (purpose, game_id, seq) in wanted.items():
        link: LinkRow | None
        if rows.game is not None and game_id == rows.game.id:
            link = next((link for link in own if (link.purpose, link.seq) == (purpose, seq)), None)
        else:
            link = links.existing(session, purpose, rows.person.id, game_id, seq)
        if link is None:
            link = links.new(purpose, rows.person.id, now, game_id, seq=seq)
            made.append(link)
        found[place] = link
    given = outbox.details(rows.mail)
    if "link" in given and not rows.late:
        requested = links.get(session, given["link"])
        assert requested is not None
        found["link"] = requested
    if "reply" in given and rows.seat is not None and rows.turn is None and not given.get("talk"):
        used = links.get(session, given["reply"])  # to which the mail came
        found |= {"reply": used} if used is not None and used.revoked_at is None else {}
    reply = links.reply_address(found.pop("reply")) if "reply" in found else None
    only_talk = rows.kind.stop is Stop.TALK
    stop = links.stop_address(found["stop"], talk=only_talk) if "stop" in found else None
    stops_all = wanted.get("stop") == STOP_ALL
    urls = {place: links.url(link) for place, link in found.items()}
    if only_talk and "stop" in urls:
        urls["stop"] += STOP_TALK
    return MailLinks(urls.pop("link", None), urls.pop("stop", None), stop, stops_all, reply, urls), made


def _wanted(session: Session, rows: MailRows) -> dict[str, Wanted]:
    """Return the links that a mail needs: `link`, `stop` and `reply`, and to each seat that it lists, by its game."""
    mail, game, given = rows.mail, rows.game, outbox.details(rows.mail)
    listed = digest.listed_turns(session, mail.kind, rows.person.id)
    wanted: dict[str, Wanted] = {each.id: (LinkPurpose.SEAT, each.id, None) for each, _, _ in listed}
    if rows.kind.lists is Lists.INVITATIONS:
        wanted = {
            game_id: (LinkPurpose.INVITE, game_id, None)
            for game_id in relevance.held_games(session, rows.person.id)
        }
    stop = _wanted_stop(rows)
    if stop is not None:
        wanted["stop"] = stop
    if game is None:
        return wanted
    purpose = given.get("purpose", rows.kind.link)
    if rows.kind.to is Reader.IN_CHARGE and rows.person.id != game.organiser_id:
        purpose = None
    if purpose is not None:
        wanted["link"] = (purpose, game.id, None)
    if rows.seat is not None:
        if (rows.kind.stop is Stop.TALK or given.get("talk")) and settings().mail_domain:
            wanted["reply"] = (LinkPurpose.TALK, game.id, None)
        elif rows.turn is not None and settings().mail_domain:
            wanted["reply"] = (LinkPurpose.REPLY, game.id, rows.turn.opened_seq)
    return wanted


def _wanted_stop(rows: MailRows) -> Wanted | None:
    """Return the link with which a reader unsubscribes: from what the kind of mail names, or from a game."""
    stop = rows.kind.stop
    if stop in STOPS:
        return (STOPS[stop], None, None)
    if rows.game is not None and (rows.seat is not None or rows.kind.farewell):
        return (LinkPurpose.STOP, rows.game.id, None)
    return STOP_ALL if stop else None


# ---- the view ----

STOP_LABELS = {
    Stop.INVITATIONS: N_("Never send me invitations:"),
    Stop.OPEN_TABLES: N_("No more emails about open tables:"),
    Stop.PLAYERS: N_("No more emails about players of your games:"),
    Stop.TALK: N_("Get table talk only in the emails about your turns:"),
}
"""What stands above the link to unsubscribe, unless it stops the emails of a game, or all."""
LOG_LINES = 40
"""How many log entries one mail shows at most; the page has all of them."""


def turn_times(session: Session, rows: MailRows, now: datetime) -> turns.Times | None:
    """Return the turn's deadlines: as if a turn mail were accepted now, else as its clock runs."""
    if rows.turn is None or rows.game is None:
        return None
    if rows.turn.started_at is None and rows.kind.turn is TurnOf.MAIL:
        return turns.times_if_started(rows.game, rows.turn, now)
    return turns.times(session, rows.game, rows.turn)


def template_context(
    session: Session, rows: MailRows, mail_links: MailLinks, times: turns.Times | None
) -> dict[str, Any]:
    """Build the context for a mail's templates; of a game it holds only what the reader may know."""
    context: dict[str, Any] = {
        "kind": rows.mail.kind,
        "seated": rows.seat is not None and rows.seat.status == SeatStatus.SEATED,
        "name": one_line(rows.person.name),
        "details": _details(rows.mail),
        "link": mail_links.link,
        "late": rows.late,
        "stop": mail_links.stop,
        "stop_label": _stop_label(rows, mail_links),
        "reply": mail_links.reply,
        "base_url": settings().base_url,
        "zone": zone_of(rows.person, rows.game),
        "own_zone": rows.person.time_zone is not None,
        "times": times,
    }
    if rows.table is not None:
        context |= _game_context(rows, rows.table)
    if rows.turn is not None and rows.table is not None:
        context |= _turn_context(rows.table, rows.turn.seat)
    build = BUILDERS[rows.kind.content]
    context |= build(session, rows, context) if build is not None else {}
    if "until" in context["details"]:
        context["until"] = datetime.fromisoformat(context["details"]["until"])
    context |= _merged(session, rows, context, mail_links)
    return context | {
        "table_talk": letters.talk_in_mail(session, rows.mail, rows.game, rows.seat, rows.person, context)
    }


def _stop_label(rows: MailRows, mail_links: MailLinks) -> str:
    every = N_("Change or stop these emails:") if mail_links.stops_all else N_("Stop emails about this game:")
    return str(gettext(STOP_LABELS.get(rows.kind.stop, every) if rows.kind.stop else every))


def _turn_mail(_session: Session, rows: MailRows, context: dict[str, Any]) -> dict[str, Any]:
    """Return the view model of a turn mail; nothing if the turn is over."""
    shared = ("link", "at", "reply", "missed", "moves", "fallback", "entries", "left_out", "facts", "stopped")
    given = {name: context[name] for name in shared}
    return {"turn": TurnMail(reminder=rows.kind.reminder, **given)}


def _ending_mail(_session: Session, rows: MailRows, context: dict[str, Any]) -> dict[str, Any]:
    """Return the view model of the mail about the end of a game, and its highlights."""
    assert rows.table is not None
    result, told = context["result"], ending(rows.table, context["result"]["scores"])
    abandoned = result["reason"] == "abandoned"
    found = [] if abandoned else history.load(rows.table, PUBLIC).highlights(result["winners"])
    mail = EndingMail(
        scores=result["scores"],
        winners=result["winners"],
        ranking=told["ranking"],
        tied=told["tied"],
        abandoned=abandoned,
        me=context["me"],
    )
    return {"ending": mail, "view": told["view"], "highlights": [it for it, _seq in found]}


def _invitation_mail(session: Session, rows: MailRows, context: dict[str, Any]) -> dict[str, Any]:
    """Return the view model of an invitation, and what else it tells."""
    assert rows.table is not None
    told = invitation(session, rows, rows.table)
    shared = {name: told[name] for name in ("before", "own_game", "company", "message", "statuses", "bots")}
    mail = InvitationMail(reminder=rows.kind.reminder, names=context["names"], me=context["me"], **shared)
    return {"invitation": mail} | {name: told[name] for name in ("answer_by", "cuts", "length")}


def _tables(session: Session, rows: MailRows, _context: dict[str, Any]) -> dict[str, Any]:
    return {"tables": _wished_tables(session, rows)}


def _merged(
    session: Session, rows: MailRows, context: dict[str, Any], mail_links: MailLinks
) -> dict[str, Any]:
    """Return the entries that a mail and those merged into it are about, and the ids of the merged mails."""
    merged, mail = relevance.mergeable(rows), rows.mail
    if rows.kind.about_turn:  # it does not contain the news of entries that it leaves out
        first = context["entries"][0].seq if context["entries"] else mail.seq
        merged = [
            other
            for other in merged
            if letters.is_talk(other) or (other.seq and first and other.seq >= first)
        ]
    more: dict[str, Any] = {"merged": tuple(other.id for other in merged), "merged_mails": merged}
    content = rows.kind.content
    if content is Content.HELD:
        more |= {"game": "", "title": "", "invitations": _held_invitations(session, rows, mail_links.seats)}
    elif content is Content.ANSWERS:
        more["answers"] = [_details(other) for other in (*merged, mail)]
    elif rows.table is not None and content in (Content.ENTRIES, Content.ENDING):
        more["entries"] = []
        for other in merged if content is Content.ENDING else (*merged, mail):
            if other.seq is not None:
                last = outbox.details(other).get("last", other.seq)
                more["entries"] += _entries(rows.table, other.seat, other.seq - 1, last)
        viewer = PUBLIC if mail.seat is None else mail.seat
        more["undone"] = {
            entry.seq: history.undone_by(rows.table, viewer, entry) for entry in more["entries"]
        }
    return more


def _held_invitations(session: Session, rows: MailRows, links: Mapping[str, str]) -> list[dict[str, Any]]:
    held = (game_id for game_id in relevance.held_games(session, rows.person.id) if game_id in links)
    return [
        {
            "title": title_of(table.game.slug),
            "game": one_line(table.game.name),
            "organiser": one_line(
                names.of_person(table.game, table.seats, table.person(table.game.organiser_id), PUBLIC)
            ),
            "own_game": table.game.organiser_id == rows.person.id,
            "link": links[table.game.id],
        }
        for table in _loaded(session, held, rows.mail.created_at)
    ]


def _loaded(session: Session, game_ids: Iterable[str], now: datetime) -> list[Table]:
    return [load(session, game_id, now) for game_id in game_ids]


def _wished_tables(session: Session, rows: MailRows) -> list[dict[str, Any]]:
    tables = _loaded(session, relevance.wished_games(session, rows.mail), rows.mail.created_at)
    return [
        {
            "title": title_of(table.game.slug),
            "game": one_line(table.game.name),
            "pace": _pace(table.game),
            "free": sum(seat.status == SeatStatus.FREE for seat in table.seats),
            "link": f"{settings().base_url}/join/{table.game.id}",
        }
        for table in tables
    ]


def _pace(game: GameRow) -> dict[str, Any]:
    return {name: getattr(game, name) for name in ("allowance", "bank", "days_off", "time_zone")}


def _details(mail: MailRow) -> dict[str, Any]:
    details = outbox.details(mail)
    if "error" in details:
        details["error"] = facts.sentence(facts.read(details["error"]))
    if "again" in details:
        details["again"] = datetime.fromisoformat(details["again"])
    return {name: one_line(value) if isinstance(value, str) else value for name, value in details.items()}


def _reader(rows: MailRows, game: GameRow) -> names.Reader:
    """Return as whom the recipient of a mail reads the names at its table."""
    if rows.seat is not None:
        return rows.seat.seat
    return names.ORGANISER if rows.person.id == game.organiser_id else PUBLIC


def _game_context(rows: MailRows, table: Table) -> dict[str, Any]:
    game = table.game
    organiser = table.person(game.organiser_id)
    result = json.loads(game.result) if game.result else None
    reader = _reader(rows, game)
    return {
        "slug": game.slug,
        "title": title_of(game.slug),
        "game": one_line(game.name),
        "game_id": game.id,
        "started": game.started_at is not None,
        "pace": _pace(game),
        "names": tuple(map(one_line, names.at_table(game, table.seats, reader))),
        "me": rows.seat.seat if rows.seat else None,
        "organiser": one_line(names.of_person(game, table.seats, organiser, reader)),
        "result": result,
        "head": game.head,
        "hash": game.head_hash,
        "commitment": game.commitment,
        "at": log.marked(f"{game.id}.{game.head}.{game.head_hash[: log.LENGTH]}"),
        "others": sum(seat.bot is None for seat in table.seats) > 1,
    }


def _turn_context(table: Table, seat: int) -> dict[str, Any]:
    position = positions.current(table)
    rules, state = position.rules, position.state
    view, moves = rules.view(state, seat), rules.moves(state, seat)
    seen, last_own, own, _earlier = history.since_own_move(table, seat, LOG_LINES)
    told = history.told_since(position, seen, own)
    table.load_orders(seat, last_own)
    return {
        "view": view,
        "moves": [str(move) for move in moves],
        "out_of_turn": [str(move) for move in rules.out_of_turn_moves(state, seat)],
        "fallback": str(rules.fallback(view, moves)),
        "missed": table.seats[seat].missed > 0,
        "entries": [_in_one_line(entry) for entry in seen],
        "told": told,
        "facts": {entry.seq: messages for entry, messages in told},
        "left_out": table.game.head - last_own - len(seen),
        "last_own": last_own,
        "stopped": [
            {"text": row.text, "reason": one_line(facts.sentence(row.reason))}
            for row in standing_orders.shown(table, seat)
            if row.status == "stopped"
        ],
    }


def _answer_mail(_session: Session, rows: MailRows, context: dict[str, Any]) -> dict[str, Any]:
    """Return the view model of the answer to an incoming mail, and what has happened in the game since."""
    given, slug = outbox.details(rows.mail), rows.game.slug if rows.game else ""
    since: list[record.Entry] = []
    seated = rows.seat is not None and rows.seat.status == SeatStatus.SEATED
    if seated and rows.seat and rows.table and rows.mail.seq and not rows.table.game.quarantine:
        since = _entries(rows.table, rows.seat.seat, rows.mail.seq - 1)
    mail = AnswerMail(
        lines=[
            line | {"text": one_line(line["text"]), "why": _refusal_text(line, slug)}
            for line in given["lines"]
        ],
        fault=_refusal_text(given, slug),
        speech=_speech(given.get("words")),
        asked=rows.turn is not None,
        moves=[*context["moves"], *context["out_of_turn"]] if rows.turn is not None else [],
    )
    return {
        "answer": mail,
        "talk": bool(given.get("talk")),
        "since": since[:LOG_LINES],
        "more": len(since) > LOG_LINES,
    }


def _speech(words: Mapping[str, Any] | None) -> str:
    """Return in a sentence whether the words in an email were said; "" if there were none."""
    if not words:
        return ""
    if words["said"]:
        told = [gettext("Everyone at the table can read what you said.")]
        if words.get("masked"):
            told.append(gettext("[address] and [link] stand in place of email addresses and personal links."))
        if words.get("cut"):
            told.append(
                gettext(
                    "Everything from the line with an email address or a link of yours or ours was taken for "
                    "quoted text."
                )
            )
        return " ".join(map(str, told))
    return str(gettext("Nothing was said to the table: %(why)s", why=_refusal_text(words)))


def _refusal_text(given: Mapping[str, Any], slug: str = "") -> str:
    """Return a stored refusal in the reader's language, or "" if there is none; cards stay as they are typed."""
    if not given.get("message"):
        return ""
    sentence: str = gettext(given["message"])
    places = {name: i18n.own_text(slug, value) for name, value in given["places"].items()}
    return one_line(sentence % places if places else sentence)


def _entries(table: Table, seat: int | None, after: int, upto: int | None = None) -> list[record.Entry]:
    """Return a stretch of the log as this seat may see it."""
    viewer = PUBLIC if seat is None else seat
    return [_in_one_line(entry) for entry in history.entries_for(table, viewer, after=after, upto=upto)]


def _in_one_line(entry: record.Entry) -> record.Entry:
    return replace(entry, note=one_line(facts.translated(entry.note))) if entry.note else entry


Builder = Callable[[Session, MailRows, dict[str, Any]], dict[str, Any]]
BUILDERS: dict[Content, Builder | None] = {
    Content.DETAILS: None,
    Content.TURN: _turn_mail,
    Content.INVITATION: _invitation_mail,
    Content.HELD: None,
    Content.OVERVIEW: None,
    Content.ENTRIES: None,
    Content.ENDING: _ending_mail,
    Content.ANSWER: _answer_mail,
    Content.ANSWERS: None,
    Content.TABLES: _tables,
}
"""For whatever a kind of mail tells, what its template gets besides; None if nothing, or if `_merged` finds it."""
