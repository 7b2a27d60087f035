"""What reaches the six friends: their emails and their pages, each checked for words and tables they must not see."""

from __future__ import annotations

import re
from email.message import EmailMessage
from typing import TYPE_CHECKING

import time_machine
from flask.testing import FlaskClient
from sqlalchemy import delete, select

from server.mail.outgoing import deliver
from server.mail.outgoing.smtp import Message, PermanentFailure
from server.store import engine, links
from server.store.models import BrowserSession, Game, Link, LinkPurpose, Mail, Seat
from tests.support.mail_servers import received
from tests.support.pages import log_in
from tests.support.year.events import address

if TYPE_CHECKING:
    from tests.support.year.behaviour import Behaviour

WORD = re.compile(r"word\d+z")
INVITED = re.compile(r"/i/([a-z2-7]{26})")
JOIN = re.compile(r"/join/([a-z2-7]{12})")
NOT_SENT = ("failed", "dropped")


class Received:
    """Brings the emails, and looks at pages over everybody's shoulder."""

    def __init__(self, year: Behaviour) -> None:
        self.year = year
        self.by_address = {address(name): number for name, number in year.ids.items()}
        self.letters: list[tuple[int, EmailMessage]] = []
        self.replies: dict[int, str] = {}
        self.former: list[tuple[str, int]] = []
        self._invited: list[tuple[int, str]] = []

    def send(self, message: Message) -> None:
        """Take an email from the server, or refuse it."""
        person = self.by_address.get(message.recipient)
        if person in self.year.broken:
            self.year.unreached.add(person)
            self.year.counts["refused"] += 1
            raise PermanentFailure("550 5.1.1 no such user")
        self.year.counts["mails"] += 1
        if person is not None and person not in self.year.erased:
            self.letters.append((person, received(message)))

    def deliver(self) -> None:
        """Send all that is due, note which turns no email has reached, and read what came."""
        while deliver.deliver(self.year.now, self, steady=lambda: 0.0):
            pass
        self.year.mails_went_out()
        self._note_failures()
        for person, message in self.letters:
            self._read(person, message)
        self.letters.clear()

    def _note_failures(self) -> None:
        lost = sorted(self.year.unreached)
        with engine.reading() as session:
            of_them = (Mail.person_id.in_(lost), Mail.finished_at == self.year.now, Mail.status.in_(NOT_SENT))
            failed = session.scalars(select(Mail).where(*of_them).order_by(Mail.id)).all()
        for mail in failed:
            self.year.mail_failed(mail)

    def invitations(self) -> list[tuple[int, str]]:
        """Return the invitations that came and are answered now: to whom, and their tokens."""
        now = [each for each in self._invited if self.year.chance(0.6)]
        self._invited = [each for each in self._invited if each not in now]
        return [each for each in now if each[0] not in self.year.erased]

    def _read(self, person: int, message: EmailMessage) -> None:
        text = "\n".join(
            str(part.get_content()) for part in message.walk() if part.get_content_maintype() == "text"
        ) + str(message["Subject"])
        self.check_words(person, text, str(message["Subject"]))
        self.year.counts["words in mails"] += len(set(WORD.findall(text)))
        if str(message["Reply-To"] or "").startswith("play+"):
            self.replies[person] = str(message["Reply-To"])
        for token in sorted(set(INVITED.findall(text))):
            self._check_invitation(person, token)
            self._invited.append((person, token))
        for game_id in set(JOIN.findall(text)):
            assert not self._hides(person, game_id), "an email names a table that a block hides"
            self.year.counts["tables in mails"] += 1

    def _check_invitation(self, person: int, token: str) -> None:
        with engine.reading() as session:
            link = links.find(session, LinkPurpose.INVITE, token, self.year.now)
            game = session.get_one(Game, link.game_id) if link and link.game_id else None
        host = game.organiser_id if game else None
        assert host is None or not self.year.blocks(person, host), "an invitation in spite of a block"
        self.year.counts["invitations"] += 1

    def _hides(self, person: int, game_id: str) -> bool:
        with engine.reading() as session:
            return self.year.hidden(session.get_one(Game, game_id), person)

    def check_words(self, reader: int, text: str, subject: str) -> None:
        """Check that an email holds no words that its reader must not read, nor their own unless it answers them."""
        where = f"an email to {self.year.names[reader]}: {subject}"
        for found in sorted(set(WORD.findall(text))):
            word = self.year.said.get(found)
            if word is None:  # refused, and told to the one who typed it
                continue
            assert self.year.may_read(reader, word), f"{found} of {self.year.names[word.sayer]} in {where}"
            assert word.sayer != reader or subject.startswith("Re:"), f"their own {found} in {where}"

    # Pages

    def look(self) -> None:
        """Open the pages of a table and of the lobby now and then, as everybody."""
        with time_machine.travel(self.year.now, tick=False):
            if self.year.lives and self.year.chance(0.06):
                self.look_at(self.year.draw.choice([*self.year.lives]))
                self._look_at_people()
            if self.year.blocked:
                self._look_for_tables()

    def look_at(self, game_id: str) -> None:
        """Open the pages of a game, as everybody who may and as some who may not."""
        year = self.year
        words = [word for word in year.said.values() if word.game_id == game_id]
        for person in sorted(set(year.lives[game_id].seated.values()) - year.erased):
            page = f"/t/{self._token(person, game_id)}"
            may = {word.text for word in words if year.may_read(person, word)}
            for path in (f"/api/v1/seats{page[2:]}/words", f"{page}/history", page):
                text = self._get(year.app.test_client(), path)
                found = set(WORD.findall(text))
                assert found <= may, f"{found - may} on {path} of {person}"
                assert found == may or "/api/" not in path, f"{may - found} lacks on {path}"
                year.counts["words read"] += len(found)
        for path in (f"/g/{game_id}", f"/g/{game_id}/history", f"/api/v1/games/{game_id}/record"):
            for who in (None, *year.alive):
                browser = self._browser(who)
                assert not WORD.search(browser.get(path).text), f"words on {path}"
        for gone, person in self.former:
            if gone == game_id and person not in year.lives[game_id].seated.values():
                self._check_former(gone, person)

    def _check_former(self, game_id: str, person: int) -> None:
        with engine.reading() as session:
            theirs = (Link.person_id == person, Link.game_id == game_id, Link.purpose == "seat")
            tokens = [links.token(link) for link in links.select_rows(session, *theirs)]
        for token in tokens:
            for path in (f"/t/{token}", f"/t/{token}/history", f"/api/v1/seats/{token}/words"):
                answer = self.year.app.test_client().get(path)
                assert answer.status_code in (404, 410), path
                assert not WORD.search(answer.text)

    def _look_for_tables(self) -> None:
        year = self.year
        with engine.reading() as session:
            waiting = session.scalars(select(Game).where(Game.open_until.is_not(None), Game.listed)).all()
            apart = {(each, game.id): year.hidden(game, each) for each in year.alive for game in waiting}
            sat = select(Seat.person_id, Seat.game_id).where(Seat.status != "declined")
            own = {(person, game_id) for person, game_id in session.execute(sat)}
            own |= {(game.organiser_id, game.id) for game in waiting}
        for person in sorted({person for (person, _game), hidden in apart.items() if hidden}):
            browser = self._browser(person)
            home, found = self._get(browser, "/"), self._get(browser, "/tables")
            for game in waiting:
                hidden = apart[person, game.id]
                left_out = hidden or (person, game.id) in own
                assert (game.id in found) != left_out, "a block and /tables do not agree"
                assert not hidden or game.id not in home, "the home page shows a hidden table"
                year.counts["tables hidden" if hidden else "tables shown"] += 1

    def _look_at_people(self) -> None:
        names = [f"/p/{self.year.names[other]}-handle" for other in self.year.alive]
        for person in self.year.alive:
            browser = self._browser(person)
            for path in ("/", "/tables", "/account", *names):
                assert not WORD.search(browser.get(path).text), f"words on {path}"

    def _browser(self, person: int | None) -> FlaskClient:
        browser = self.year.app.test_client()
        if person is not None:
            with engine.transaction() as session:
                session.execute(delete(BrowserSession).where(BrowserSession.person_id == person))
            log_in(browser, person)
        return browser

    def _get(self, browser: FlaskClient, path: str) -> str:
        answer = browser.get(path)
        assert answer.status_code == 200, f"{answer.status_code} {path}"
        return answer.text

    def _token(self, person: int, game_id: str) -> str:
        with engine.transaction() as session:
            return links.token(links.link_for(session, LinkPurpose.SEAT, person, game_id, self.year.now))
