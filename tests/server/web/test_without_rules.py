"""Games whose rules are not installed: no page, email, job or command fails, and nothing is lost."""

from __future__ import annotations

import logging
from email.utils import parseaddr

import pytest
from flask import Flask
from sqlalchemy import select

from byzanz import games
from server.community import results
from server.config import settings
from server.ops import doctor, explain
from server.scheduler import jobs
from server.store import engine
from server.store.models import Entry, Game
from tests.conftest import NOW, begun
from tests.support import sample_mails
from tests.support.games import finish
from tests.support.mails import one_database, send_waiting, text_of
from tests.support.neighbour_game import NEIGHBOUR
from tests.support.routes import BODIES, address, routes
from tests.support.visitors import Visitor, Visitors, make_visitors

pytestmark = [one_database, pytest.mark.changes_busy_table]
HELD = "its rules are not installed on this server at the moment. Nothing has been lost, and no clock runs."
OF_GAMES = ("/g/{}", "/g/{}/history", "/g/{}/verify", "/g/{}/group", "/api/v1/games/{}/record", "/m/{}")


@pytest.fixture
def there(app: Flask) -> Visitors:
    """Return games of Byzanz with every kind of visitor, and a finished one of Byzantium."""
    sample_mails.with_replies(app)
    made = make_visitors(app, NOW)
    finish(begun(2, "ended", NOW, slug="byzantium").id, NOW)
    return made


def uninstall(patch: pytest.MonkeyPatch) -> None:
    """Leave only Empire."""
    patch.setattr(games, "SHIPPED", tuple(each for each in games.SHIPPED if each.slug == "empire"))


def walk(there: Visitors) -> dict[str, int]:
    """Ask for every route as a player or, on their pages, as a moderator; return the status of each answer."""
    alice, mia = there.visitor("Alice", cookie=True), Visitor("Mia")
    browsers = {visitor.name: there.browser(visitor.name) for visitor in (alice, mia)}
    found = {}
    for name, rule in routes(there.app):
        method, _, path = name.partition(" ")
        visitor = mia if path.startswith("/m") else alice
        if path not in ("/sign-out", "/readyz"):  # the one ends the walk, and no scheduler runs here
            body = BODIES.get(name, {}) if method == "POST" else None
            answer = there.ask(browsers[visitor.name], method, address(there, rule, visitor), body)
            found[name] = answer.status_code
    for game_id in ("here", "open", "ended", NEIGHBOUR):
        for place in OF_GAMES:
            answer = there.ask(browsers["Mia"], "GET", place.format(game_id))
            found[place.format(game_id)] = answer.status_code
    return found


def log_of_all() -> list[tuple[str, int, str]]:
    with engine.reading() as session:
        rows = session.execute(select(Entry.game_id, Entry.seq, Entry.hash))
        return sorted((game_id, seq, digest) for game_id, seq, digest in rows)


def waiting_for_results() -> list[str]:
    with engine.reading() as session:
        return [game_id for game_id, _ended_at in results.due(session, NOW, 9)]


def run_jobs() -> None:
    """Run each job that looks at games, long after every deadline."""
    late = NOW.replace(year=NOW.year + 1)
    for job in (jobs.tick_bots, jobs.tick_reminders, jobs.tick_invitation_reminders, jobs.tick_rematches):
        job(late)
    for slow in (jobs.tick_turns, jobs.tick_unreached, jobs.tick_digests, jobs.tick_results):
        slow(late, 5.0)


def test_no_page_and_no_job_fails(
    there: Visitors, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    usual, before = walk(there), log_of_all()
    uninstall(monkeypatch)
    for noticed in (False, True):
        assert not noticed or jobs.tick_rules(NOW) == 4
        answers = walk(there)
        assert {name: status for name, status in answers.items() if status >= 500} == {}
        assert {answers[name] for name in ("GET /t/<token>", "GET /g/<game_id>", "/g/ended")} == {409}
        assert answers["GET /m/<game_id>"] == 200
        run_jobs()
        assert waiting_for_results() == [], "a game that cannot be counted must not stand before others"
    assert [line.getMessage() for line in caplog.records if line.levelno >= logging.ERROR] == []
    assert log_of_all() == before
    monkeypatch.undo()
    assert jobs.tick_rules(NOW) == 4
    assert walk(there) == usual
    assert waiting_for_results() == ["ended"]


@pytest.mark.usefixtures("there")
def test_a_reply_is_told_why_nothing_was_played(monkeypatch: pytest.MonkeyPatch) -> None:
    message = next(each for each in sample_mails.send_and_return(NOW) if each["Reply-To"])
    box = sample_mails.Mailbox(message["Reply-To"], message["Return-Path"])
    uninstall(monkeypatch)
    jobs.tick_rules(NOW)
    assert box.write("pass", sender=parseaddr(message["To"])[1]) == "0 of 0 lines carried out"
    (answer,) = send_waiting(NOW)
    assert HELD in text_of(answer)


@pytest.mark.usefixtures("there")
def test_commands_tell_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    uninstall(monkeypatch)
    jobs.tick_rules(NOW)
    with engine.reading() as session:
        lines = list(explain.game(session, session.get_one(Game, "here"), NOW))
    assert any("The rules of byzanz (version 1) are not installed on this server." in line for line in lines)
    found = [(it.ok, it.what) for it in doctor._database_findings(settings(), NOW, check_all=True)]
    assert (True, "the logs of 0 games: hashes, shuffles, moves and results") in found
    assert [what for ok, what in found if "not installed" in what and not ok and "alert" not in what] == [
        "the rules of byzantium (version 1) are not installed, which game ended needs",
        "the rules of byzanz (version 1) are not installed, which 4 games need, such as game busy",
    ]
