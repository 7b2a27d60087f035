"""A server with one game for each issue a moderator should see, and one game without any."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from server import play
from server.mail.text import quoted
from server.store import alerts, engine, log, people
from server.store.facts import Fact
from server.store.models import Game, IncomingMail, Mail, Turn
from tests.conftest import Table

Begin = Callable[..., Table]
MIA = "mia@example.org"


def moderator(address: str, now: datetime) -> int:
    """Return the id of a moderator with this address who has no seat."""
    with engine.transaction() as session:
        person = people.get_or_create(session, address, address.partition("@")[0].title(), now)
        person.moderator = True
        return person.id


def change(row: type[Any], key: object, **values: Any) -> None:
    """Change a row, as time or another part of the server would have."""
    with engine.transaction() as session:
        found = session.get_one(row, key)
        for name, value in values.items():
            setattr(found, name, value)


def troubled(table: Begin, now: datetime) -> dict[str, Table]:
    """Return the games by issue; their ids name it, too."""
    mia = moderator(MIA, now)
    names = (
        "well",
        "soon",
        "overdue",
        "unsent",
        "bounced",
        "paused",
        "rests",
        "quiet",
        "aside",
        "away",
        "left",
    )
    games = {}
    for name in names:
        began = now - timedelta(days=9 if name == "quiet" else 0, hours=2 if name == "unsent" else 0)
        games[name] = table(6 if name == "bounced" else 3, name, began)
        change(Game, name, name=f"The table {name}")
        due = timedelta(hours={"soon": 5, "overdue": -1}.get(name, 20))
        if name != "unsent":
            change(Turn, (name, 0), started_at=began, due_at=now + due)
    with engine.transaction() as session:
        felix = people.get_or_create(session, "felix@example.org", "Felix", now)
        felix.unreachable = felix.suppressed = quoted("550 5.1.1 no such user")
        _mails(session, felix.id, games["bounced"].people[1], now)
        alerts.raise_alert(
            session,
            "refused:x",
            Fact("address_failed_before", {"said": quoted("550")}),
            now,
            "bounced",
        )
        said = Fact("address_failed_before", {"said": quoted("550 5.1.1 no such user")})
        for key in (f"refused:bounced:{felix.id}", f"complaint:{felix.id}"):  # the desk lists Felix already
            alerts.raise_alert(session, key, said, now, "bounced")
        alerts.raise_alert(session, "mail-settings", Fact("mail_settings", {"said": quoted("530 no")}), now)
        session.get_one(Game, "aside").quarantine = quoted("entry 2 is illegal")
    play.moderate("paused", "!pause", reason="A wedding", person_id=mia, now=now)
    for seat in (0, 1, 2):
        play.moderate("rests", f"!autopilot {seat} on", reason="Nobody answers", person_id=mia, now=now)
    play.moderate("away", "!autopilot 1 on", reason="Bob asked for it", person_id=mia, now=now)
    play.leave("left", 2, now=now)
    return games


def _mails(session: Any, felix: int, bob: int, now: datetime) -> None:
    """Send an email to Felix that bounces and one to Bob, whose address works again, and receive one from Bob."""
    about: dict[str, Any] = {"game_id": "bounced", "person_id": felix, "seat": 5}
    sent: dict[str, Any] = {
        "created_at": now,
        "not_before": now,
        "status": "failed",
        "attempts": 1,
        "finished_at": now,
    }
    session.add(
        Mail(
            key="turn:bounced:5:1",
            kind="turn",
            seq=1,
            error=quoted("550 5.1.1 no such user"),
            **about,
            **sent,
        )
    )
    outcome = Fact("failed", {"said": quoted("550 5.1.1 no such user")})
    session.add(IncomingMail(digest="1", at=now, kind="bounce", outcome=outcome, **about))
    about |= {"person_id": bob, "seat": 1}
    session.add(
        Mail(key="turn:bounced:1:1", kind="turn", seq=1, error=quoted("452 4.2.2 full"), **about, **sent)
    )
    outcome = Fact("carried_out", {"done": 1, "of": 1})
    session.add(IncomingMail(digest="2", at=now, kind="reply", outcome=outcome, **about))
    done: dict[str, Any] = {"created_at": now, "not_before": now, "status": "sent", "finished_at": now}
    session.add(Mail(key="answer:2", kind="answer", **about, **done))


def head(game_id: str) -> int:
    """Return the newest entry of a game."""
    with engine.reading() as session:
        return session.get_one(Game, game_id).head


def entries(game_id: str) -> list[str]:
    """Return the texts of all entries."""
    with engine.reading() as session:
        return [entry.move for entry in log.entries(session, game_id)]
