"""What the six friends do besides playing: they talk, block, mute, are away, and one of them leaves for good."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field

import time_machine
from flask import Flask
from sqlalchemy import select

from server.accounts import absences, personal_data
from server.community import blocks, talk
from server.community.talk import public_id
from server.errors import Refused
from server.mail import deliverability
from server.mail.incoming import receive
from server.mail.text import quoted
from server.store import engine, links
from server.store.models import LinkPurpose, Mail, Word
from tests.support.decisions import DAY
from tests.support.talk import letter
from tests.support.year.events import Events, Saying, address
from tests.support.year.received import Received


@dataclass(kw_only=True)
class Behaviour(Events):
    """The friends beside the tables.

    Args:
        games: how many they play.
    """

    app: Flask
    games: int
    broken: dict[int, int] = field(default_factory=dict)
    """Whose mailbox refuses everything, and for how many more steps."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.post = Received(self)

    def chat(self) -> None:
        """Let somebody at each table say something, on their page or by a reply to an email."""
        for game_id, life in self.lives.items():
            people = sorted(set(life.seated.values()) - self.erased)
            if people and self.chance(0.01 if life.over else 0.3):
                self._say(game_id, self.draw.choice(people), f"word{self.counts['tried']}z")
                self.counts["tried"] += 1

    def _say(self, game_id: str, person: int, text: str) -> None:
        by_mail = self.post.replies.get(person, "") if self.chance(0.4) else ""
        if by_mail:
            who = address(self.names[person])
            with self.noted(), suppress(receive.NoSuchAddress):  # they hold that seat no more
                receive.receive(letter(f"say {text}", sender=who), who, by_mail, self.now)
        else:
            with engine.reading() as session:
                link = links.existing(session, LinkPurpose.SEAT, person, game_id)
            if link is None:
                return
            form = {"text": text, "request_id": text}
            with time_machine.travel(self.now, tick=False):
                self.app.test_client().post(f"/t/{links.token(link)}/say", data=form)
        with engine.reading() as session:
            word = session.scalar(select(Word).where(Word.text == text))
        if word is not None:
            assert word.person_id == person
            self.said[text] = Saying(
                text, word.game_id, public_id(word.game_id, person, word.request_id), person
            )
            self.counts["said by mail" if by_mail else "said by page"] += 1

    def quarrel(self) -> None:
        """Block and unblock, mute and unmute."""
        if self.chance(0.08):
            one, other = self.draw.sample(self.alive, 2)
            blocks.block(one, other, self.now)
            self.blocked.add((one, other))
        if self.blocked and self.chance(0.1):
            pair = self.draw.choice(sorted(self.blocked))
            blocks.unblock(*pair)
            self.blocked.discard(pair)
        words = [word for word in self.said.values() if word.sayer not in self.erased]
        if words and self.chance(0.05):
            word = self.draw.choice(words[-20:])
            reader = self.draw.choice([each for each in self.alive if each != word.sayer])
            if talk.mute(reader, word.game_id, word.id):
                self.muted.add((reader, word.sayer))
        if self.muted and self.chance(0.05):
            pair = self.draw.choice(sorted(self.muted))
            talk.unmute(*pair)
            self.muted.discard(pair)

    def own_affairs(self) -> None:
        """Let people go on holiday, mailboxes fail and work again, and one person leave for good near the end."""
        if self.chance(0.01):
            person, first = self.draw.choice(self.alive), self.now.date() + self.draw.randint(1, 3) * DAY
            last = first + self.draw.randint(0, 3) * DAY
            with suppress(Refused):
                absences.add_absence(person, f"{first}", f"{last}", self.now)
                day = self.now.replace(hour=0, minute=0)
                span = day + (first - self.now.date()), day + (last - self.now.date()) + DAY
                self.absences[person].append(span)
                self.counts["absences"] += 1
        self._mailboxes()
        if not self.erased and len(self.lives) >= 0.8 * self.games and len(self.running()) > 1:
            self._leave_for_good(self.draw.choice(self.alive))

    def _mailboxes(self) -> None:
        for person in [*self.broken]:
            self.broken[person] -= 1
            if not self.broken[person]:
                self._mend(person)
        if self.chance(0.02):
            self.broken.setdefault(self.draw.choice(self.alive), self.draw.randint(1, 20))
        if self.chance(0.03):
            self._bounce()

    def _mend(self, person: int) -> None:
        del self.broken[person]
        if person not in self.erased:
            deliverability.mark_reachable(person, self.now)
        self.unreached.discard(person)

    def _bounce(self) -> None:
        """Let one of the latest emails about a turn come back, and with it all that follow."""
        with engine.reading() as session:
            sent = select(Mail).where(Mail.kind.in_(("turn", "digest")), Mail.status == "sent")
            newest = session.scalars(sent.order_by(Mail.id.desc()).limit(6)).all()
        if not newest:
            return
        mail = self.draw.choice(newest)
        person = mail.person_id
        if person in self.erased or person in self.broken or mail.finished_at is None:
            return
        deliverability.handle_bounce(mail.id, quoted("5.1.1 nobody here"), self.now)
        with engine.reading() as session:
            status = session.get_one(Mail, mail.id).status
        if status != "sent":
            self.mail_failed(mail)
            self.unreached.add(person)
            self.broken[person] = self.draw.randint(1, 10)
            self.counts["bounced"] += 1

    def _leave_for_good(self, person: int) -> None:
        theirs = [
            (game_id, seat)
            for game_id in self.running()
            for seat, who in self._seats(game_id)
            if who == person
        ]
        with self.noted():
            self.erased.add(person)
            for game_id, seat in theirs:
                self.lives[game_id].holders[seat] = None
            personal_data.erase(person, self.now)
        self.blocked = {pair for pair in self.blocked if person not in pair}
        self.muted = {pair for pair in self.muted if person not in pair}
        self.broken.pop(person, None)
        self.counts["erased"] += 1

    def _seats(self, game_id: str) -> list[tuple[int, int]]:
        return list(self.lives[game_id].seated.items())
