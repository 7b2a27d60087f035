"""Rules for everything beside the logs: emails, turns, clocks and snapshots. Each rule yields violations."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from datetime import datetime, timedelta

from tests.torture.book import Book
from tests.torture.evidence import Evidence, Found, Game, Row, moment, overlap

ROUNDING = timedelta(seconds=60)
"""A turn is due at a full minute."""
NOTICE = 3600
"""Seconds left at least after an outage, or the allowance if it is shorter."""


def posted(found: Evidence) -> Found:
    """The outbox holds the emails that the log implies, and no others."""
    for game in found.games.values():
        if game.known is None:
            continue
        due, may = _mails(game)
        queued = {row["key"]: _facts(row) for row in game.mails}
        for key in sorted(due.keys() - queued.keys()):
            yield game.id, f"the mail {key} was never queued"
        for key in sorted(queued.keys() - due.keys() - may.keys()):
            yield game.id, f"the mail {key} tells of nothing in the log"
        for key, facts in queued.items():
            if facts != (due | may).get(key, facts):
                yield game.id, f"the mail {key} is {facts}, not {(due | may)[key]}"


Facts = tuple[str, int, int | None, int | None]
"""Of an email: its kind, reader, seat and seq."""
Mails = dict[str, Facts]
"""By key."""


def _facts(row: Row) -> Facts:
    return row["kind"], row["person_id"], row["seat"], row["seq"]


def _mails(game: Game) -> tuple[Mails, Mails]:
    """Return the emails that must be in the outbox, and those that may be: reminders."""
    assert game.known is not None
    due: Mails = {}
    may: Mails = {}
    for turn in game.known.turns:
        person, at = game.people[turn.seat], f"{game.id}:{turn.seat}:{turn.opened}"
        if person is not None:
            may[f"remind:{at}"] = ("remind", person["id"], turn.seat, turn.opened)
        if person is not None and not person["silent"] and not game.seats[turn.seat]["silent"]:
            due[f"turn:{at}"] = ("turn", person["id"], turn.seat, turn.opened)
    answers = {f"answer:{letter['digest']}" for letter in game.letters}  # at most 40 a day are sent
    may |= {row["key"]: _facts(row) for row in game.mails if row["key"] in answers}
    due |= _of_the_late(game, game.known) | _of_the_gone(game, game.known)
    if game.known.rules.outcome(game.known.state) is not None:
        for seat, person in enumerate(game.people):
            if person is not None:
                due[f"over:{game.id}:{person['id']}"] = ("over", person["id"], seat, len(game.entries))
    return due, may


def _of_the_gone(game: Game, known: Book) -> Mails:
    """Return the emails about players who have left: to themselves and to the organiser."""
    due: Mails = {}
    organiser = game.row["organiser_id"]
    for seat, seq in known.gone:
        person = game.people[seat]
        assert person is not None
        who, day = person["id"], game.entries[seq - 1].at[:10]
        due.setdefault(f"left:{game.id}:{who}:{day}", ("left", who, seat, None))
        if organiser not in (None, who):
            due[f"vacant:{game.id}:{who}:left:{day}:{organiser}"] = ("vacant", organiser, None, None)
    return due


def _of_the_late(game: Game, known: Book) -> Mails:
    """Return the emails about turns that the clock played, and about a game paused because nobody plays."""
    due: Mails = {}
    for missed in known.missed:
        seat, person = missed.turn.seat, game.people[missed.turn.seat]
        kind = "autopilot" if missed in known.last else "timeout"
        if person is not None:
            due[f"{kind}:{game.id}:{seat}:{missed.first}"] = (kind, person["id"], seat, missed.first)
    for seq in (entry.seq for entry in game.entries if entry.move == "!pause"):
        for seat, person in enumerate(game.people):
            if person is not None:
                due[f"rest:{game.id}:{seq}:{person['id']}"] = ("act", person["id"], seat, seq)
    return due


def accepted(found: Evidence) -> Found:
    """An email marked as sent reached our mail server; there is at most one extra copy for each kill."""
    came: dict[str, set[str]] = defaultdict(set)
    for line in found.lines("mail"):
        came[line["to"]].add(line["id"])
    sent = Counter(found.people[row["person_id"]]["email"] for row in found.mails if row["status"] == "sent")
    for address, count in sent.items():
        if count > len(came[address]):
            yield None, f"{count} mails to {address} are marked as sent, {len(came[address])} came in"
    copies = len(found.lines("mail")) - sum(map(len, came.values()))
    if copies > len(found.lines("kill")):
        yield (
            None,
            f"{copies} mails came in twice, though only {len(found.lines('kill'))} processes were killed",
        )


def projected(found: Evidence) -> Found:
    """Data beside the log matches the log: the game's row, its snapshot, its turns, its autopilots."""
    for game in found.games.values():
        if game.known is None:
            continue
        outcome = game.known.rules.outcome(game.known.state)
        result = game.row["result"] and json.loads(game.row["result"])
        implied = outcome and {
            "scores": list(outcome.scores),
            "winners": list(outcome.winners),
            "reason": outcome.reason,
        }
        status = "over" if outcome else "running"
        if (game.row["status"], bool(game.row["paused"]), result) != (status, game.known.rests, implied):
            yield game.id, f"its row says {game.row['status']}, {result}; the log says {status}, {implied}"
        rules = game.known.rules
        form = f"{rules.slug}/{rules.version}/{rules.state_format}+"
        # Below the state stands what followed from the newest moves.
        kept = [(row["seq"], row["format"], row["state"].partition("\n")[0]) for row in game.snapshots]
        if kept != [(len(game.entries), form, rules.encode(game.known.state))]:
            yield game.id, f"its snapshot is not the position after entry {len(game.entries)}"
        turns = {row["seat"]: (row["question"], row["opened_seq"]) for row in game.turns}
        open_now = {turn.seat: (turn.question, turn.opened) for turn in game.known.open.values()}
        if turns != open_now:
            yield game.id, f"its turns are {turns}; by its log they are {open_now}"
        for row in game.seats:
            seat = row["seat"]
            implied_seat = (seat in game.known.autopilot, game.known.late_by[seat])
            if (bool(row["autopilot"]), row["missed"]) != implied_seat:
                yield game.id, f"seat {seat} is not as its log says: autopilot and missed {implied_seat}"


def clocked(found: Evidence) -> Found:
    """A turn's clock runs from the acceptance of its email, at once for people without email, and never for a bot."""
    for game in found.games.values():
        status = {row["key"]: row["status"] for row in game.mails}
        for turn in game.turns:
            person, seat = game.people[turn["seat"]], game.seats[turn["seat"]]
            if person is None:
                runs = False
            elif person["silent"] or seat["silent"]:
                runs = True
            else:
                runs = status.get(f"turn:{game.id}:{turn['seat']}:{turn['opened_seq']}") == "sent"
            if runs != (turn["started_at"] is not None):
                yield (
                    game.id,
                    f"the clock of seat {turn['seat']} {'stands' if runs else 'runs'}, and should not",
                )


def punctual(found: Evidence) -> Found:
    """The clock never plays early, without outages, and everything due at the last tick has been played.

    If time runs faster than the machine can keep up with, the journal says how much that may take from a turn.
    """
    slack = timedelta(milliseconds=1) + max(
        (timedelta(seconds=end["slack"]) for end in found.lines("end")), default=timedelta(0)
    )
    for game in found.games.values():
        if game.known is None:
            continue
        at = {entry.seq: moment(entry.at) for entry in game.entries}
        for missed in game.known.missed:
            opened, played = at[missed.turn.opened], at[missed.first]
            told = [
                (since, to) for since, to in found.outages if to <= played
            ]  # a later outage was not known then
            had = played - opened - overlap(told, opened, played)
            bank = _bank(found, game, missed.turn.opened, missed.turn.seat)
            if had + slack < timedelta(seconds=game.row["allowance"] + bank):
                yield game.id, f"entry {missed.first}: seat {missed.turn.seat} had but {had} for its turn"
        for end in found.lines("end"):
            for turn in game.turns:
                due = _latest(found, game, turn)
                if due is not None and due < moment(end["at"]):
                    yield game.id, f"seat {turn['seat']} was due by {due} and still is at {end['at']}"


def _latest(found: Evidence, game: Game, turn: Row) -> datetime | None:
    """Return the latest time at which an open turn can fall due."""
    if turn["started_at"] is None:
        return None
    start = moment(turn["started_at"])
    plain = start + timedelta(seconds=game.row["allowance"] + turn["bank"]) + ROUNDING
    ends = [to for since, to in found.outages if to > start]
    if not ends:
        return plain
    notice = timedelta(seconds=min(NOTICE, game.row["allowance"]))
    return max(plain + overlap(found.outages, start, max(ends)), max(ends) + notice) + ROUNDING


def _bank(found: Evidence, game: Game, upto: int, seat: int) -> float:
    """Return the least that can be left of a seat's bank after the entry `upto`."""
    assert game.known is not None
    at = {entry.seq: moment(entry.at) for entry in game.entries}
    left = float(game.row["bank"])
    for turn, closed in game.known.closed.items():
        if turn.seat == seat and closed <= upto:
            took = at[closed] - at[turn.opened] - overlap(found.outages, at[turn.opened], at[closed])
            left -= max(0.0, took.total_seconds() - game.row["allowance"])
    return max(0.0, left)


def banked(found: Evidence) -> Found:
    """No bank is negative or above its initial value, and only turns beyond their allowance have used it."""
    for game in found.games.values():
        for row in game.seats:
            if not 0 <= row["bank"] <= game.row["bank"]:
                yield game.id, f"seat {row['seat']} has {row['bank']} s in its bank of {game.row['bank']}"
            if game.known is None or row["person_id"] is None:
                continue
            least = _bank(found, game, len(game.entries), row["seat"])
            if row["bank"] < int(least) - 1:
                yield (
                    game.id,
                    f"seat {row['seat']} has {row['bank']} s in its bank, and should have {least:.0f}",
                )


def heard(found: Evidence) -> Found:
    """An incoming email is stored once and processed once accepted; its move is in the log if it counts as a reply."""
    sent = {line["digest"]: line for line in found.lines("letter")}
    taken = {line["digest"] for line in found.lines("taken") if line["status"] == 250}
    for digest, times in Counter(row["digest"] for row in found.letters).items():
        if times > 1 or digest not in sent:
            yield (
                None,
                f"the mail {digest} is remembered {times} times; it was {'' if digest in sent else 'not '}sent",
            )
    done = {row["digest"]: row for row in found.letters if json.loads(row["outcome"])["code"] != "in_hand"}
    for digest in sorted(taken - done.keys()):
        yield sent[digest]["game"], f"the mail {digest} was taken, and nothing was done about it"
    for digest in sorted(done.keys() & sent.keys()):
        line, kind = sent[digest], done[digest]["kind"]
        game = found.games.get(line["game"])
        played = game is not None and line["request"] in game.requests.values()
        if line["move"] is not None and played != (kind == "reply"):
            yield (
                line["game"],
                f"the mail {digest} counts as {kind}; its move is {'' if played else 'not '}in the log",
            )


def sound(found: Evidence) -> Found:
    """The database reports no errors about itself."""
    for fault in found.unsound:
        yield None, fault
