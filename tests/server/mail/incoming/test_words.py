"""Words to the table by email: read, said once, and never mixed up with moves."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from byzanz.games import rules_of
from server import play
from server.community import talk
from server.mail.incoming import commands, quoting, receive
from server.mail.text import normalize_line
from server.store import engine, links
from server.store.facts import Fact
from server.store.models import Block, LinkPurpose, Mute, Person, Presence, Seat, StandingOrder, Turn
from tests.conftest import NOW, Table
from tests.support.game_data import SEATS
from tests.support.games import change, outsider, row, submit
from tests.support.mails import assert_same, html_of, text_of, words_of
from tests.support.sample_mails import (
    ALICE,
    count_answers,
    moves_of,
    remembered,
    send_and_return,
    with_replies,
)
from tests.support.talk import HOUR, MINUTE, answer, letter, said, say, talk_mails

Begin = Callable[..., Table]
one_database = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
BYZANZ: Any = SimpleNamespace(game=SimpleNamespace(slug="byzanz", rules=1))
LONG = "say I have thought about this lot for a long, long while now, but I had"
"""As long as a line at which mail programs break."""


@pytest.fixture
def game(app: Flask, table: Begin) -> Table:
    """Start a game of four with replies by email."""
    with_replies(app)
    return table(4)


def read_reply(text: str, name: str = "Alice") -> commands.Read:
    """Read a reply to the email about a turn."""
    return commands.read_reply(BYZANZ, quoting.own_text(text, quoting.Known((name,))).lines)


def read_talk(text: str, name: str = "Alice") -> commands.Read:
    """Read an answer to an email about table talk."""
    return commands.read_talk(BYZANZ, quoting.own_text(text, quoting.Known((name,)), talk=True).lines)


def to_alice(now: Any = NOW) -> list[str]:
    """Return the texts of the emails now sent to Alice."""
    return [text_of(message) for message in send_and_return(now) if "alice" in str(message["To"])]


# Reading


@pytest.mark.parametrize(
    ("text", "moves", "spoken"),
    [
        ("say Hello, all!", [], "Hello, all!"),
        ("SAY hello\nbid olive1", ["bid olive1"], "hello"),
        ("bid olive1\nSay: hello :-)", ["bid olive1"], "hello :-)"),
        ("Hi!\n\nsay one\nbid olive1\nsay two\n\nBest\nAlice", ["bid olive1"], "one\ntwo"),
        ("- say hello\n- pass", ["pass"], "hello"),
        ("*say hello*\npass", ["pass"], "hello"),
        ("say\xa0“Quoted”, and 2 * 3 = 6.", [], "“Quoted”, and 2 * 3 = 6."),
        ("say Thanks!\npass\nThanks!", ["pass"], "Thanks!"),
        ("say my iPhone died\npass\nSent from my iPad", ["pass"], "my iPhone died"),
        ("say look what Bob wrote:\npass\n\n> quoted", ["pass"], "look what Bob wrote:"),
        ("saying is not playing\npass", ["saying is not playing", "pass"], ""),
        ("say\npass", ["say", "pass"], ""),
        ("ｓａｙ hello", [], "hello"),
        ("> On Monday\n\nsay below\npass\n", ["pass"], "below"),
    ],
)
def test_the_lines_that_begin_with_say_are_words(text: str, moves: list[str], spoken: str) -> None:
    found = read_reply(text)
    assert (list(found.moves), found.words, found.fault) == (moves, spoken, None)


def test_a_line_that_a_mail_program_broke_is_whole_again() -> None:
    found = read_reply(
        f"{LONG}\nno better idea than to wait and see what you are all going to do with\nit\n\nbid olive1"
    )
    assert (
        found.words == f"{LONG[4:]} no better idea than to wait and see what you are all going to do with it"
    )
    assert list(found.moves) == ["bid olive1"]


@pytest.mark.parametrize(
    "text",
    [
        "say short\nbid olive1",
        f"{LONG}\n\nbid olive1",
        f"{LONG} no room for any doubt about it.\nbid olive1",  # longer than programs leave a line
    ],
)
def test_a_move_below_words_is_a_move(text: str) -> None:
    assert list(read_reply(text).moves) == ["bid olive1"]


@pytest.mark.parametrize("last", ["bid olive1", "pass", "order pass this lot", "orders off"])
def test_what_can_be_the_end_of_the_words_or_a_move_is_neither(last: str) -> None:
    found = read_reply(f"{LONG}\n{last}")
    assert (found.moves, found.words) == ((), "")
    assert last in str(found.fault)


@pytest.mark.parametrize("slug", ["byzanz", "empire", "byzantium"])
def test_no_game_has_a_move_that_says(slug: str) -> None:
    assert not commands.is_readable(rules_of(slug), "say hello")


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200), st.booleans())
def test_any_text_can_be_read(text: str, whole: bool) -> None:
    found = (read_talk if whole else read_reply)(text)
    assert not (found.fault and found.words)


@given(st.text(st.characters(categories=("L", "N")), min_size=1, max_size=40))
def test_words_are_said_as_typed(text: str) -> None:
    assert read_reply(f"say {text}, {text}!").words == f"{text}, {text}!"


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("Hello!\n\nThanks, all.", "Hello!\nThanks, all."),
        ("Thanks!", "Thanks!"),
        ("Cheers", "Cheers"),
        ("😀", "😀"),
        ("Nice one.\n\nBest\nAlice", "Nice one."),
        ("Nice one.\nAlice", "Nice one."),
        ("Nice one.\nBye\nis not\nwhat I\nmean.", "Nice one.\nBye\nis not\nwhat I\nmean."),
        ("Nice one.\n\nBest,\n\nAlice\n\n-- \nSent with my program\n+31 6 12345678", "Nice one."),
        ("Bye\n--\nAlice\nand\nall\nof us", "Bye"),
        ("Get well soon!", "Get well soon!"),
        ("My iPhone is broken,\nso I am late.", "My iPhone is broken,\nso I am late."),
        ("See you.\n\nSent from my iPhone", "See you."),
        ("See you.\n\n-- \nAlice\n+31 6 12345678", "See you."),
        ("See you.\n\nGesendet mit der Telekom Mail App", "See you."),
        ("say it loud", "say it loud"),
        ("pass\nthe salt", "pass\nthe salt"),
        ("Why not.\n\nOn Mon, 2 Mar 2026, Byzanz wrote:\n> Bob: no", "Why not."),
        ("> Bob: no\n\nWhy not.", "Why not."),
        (
            "I have thought about this lot for a long, long while now, but I have\nnothing to bid.",
            "I have thought about this lot for a long, long while now, but I have nothing to bid.",
        ),
    ],
)
def test_all_of_an_answer_to_talk_is_words(text: str, spoken: str) -> None:
    found = read_talk(text)
    assert (found.words, found.fault, found.moves) == (spoken, None, ())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no words"),
        ("> quoted", "no words"),
        ("\n".join("abcdefghijklmnopqrstuvwxyz" * 2), "more than 40 lines"),
        ("bid olive1", "reads like a move"),
        ("bid olive1\ntax olive1", "reads like a move"),
        ("Order pass this lot", "reads like a move"),
    ],
)
def test_what_is_no_talk_is_refused(text: str, why: str) -> None:
    assert why in str(read_talk(text).fault)


@pytest.mark.parametrize("slug", ["byzanz", "empire", "byzantium"])
@pytest.mark.parametrize("mark", [*"?？؟\u037e❓❔⁇⁈‽¿⸘𑅃🙺🤔", "⁉\ufe0f", "🤔🏽", "?!", "!?", "👍🤔"])
def test_a_question_is_no_move_in_any_game(slug: str, mark: str) -> None:
    rules = rules_of(slug)
    for move in ("pass", "order pass", "orders off", "bid olive1", "put 7r on 14"):
        for asked in (f"{move}{mark}", f"{move} {mark}", f"{mark} {move}", f"should I {move}{mark}"):
            (line,) = commands.read_lines(rules, (normalize_line(asked),))
            assert "question" in str(line.fault), asked


@pytest.mark.parametrize("mark", ["👍", "🙂", "✅", "🤷\u200d♀\ufe0f", "🙏🏽"])
def test_a_mark_that_does_not_ask_leaves_a_move_a_move(mark: str) -> None:
    rules = rules_of("byzanz")
    for typed in (f"pass{mark}", f"pass {mark}", f"{mark} pass"):
        (line,) = commands.read_lines(rules, (normalize_line(typed),))
        assert line.fault is None, typed


def test_a_question_about_a_move_is_not_said_to_the_table() -> None:
    assert "reads like a move" in str(read_talk("bid olive1?").fault)
    assert read_talk("Shall we play on?").words == "Shall we play on?"


@pytest.mark.parametrize(
    ("closing", "moves"),
    [
        ("Alles Liebe und Gute", ["pass"]),
        ("Sell merchant", ["pass", "Sell merchant"]),
        ("sel merchants", ["pass", "sel merchants"]),
        ("biid", ["pass", "biid"]),
        ("ordr pass", ["pass", "ordr pass"]),
    ],
)
def test_what_closes_a_mail_is_left_out_unless_it_is_like_a_move(closing: str, moves: list[str]) -> None:
    assert list(read_reply(f"pass\n\n{closing}\nAlice").moves) == moves


# In a reply to an email about a turn


def test_words_and_a_move_in_one_reply(game: Table) -> None:
    (mail,) = send_and_return()
    assert answer(mail, "say Hello, all!\nbid olive1\nsay Your turn.", sender=ALICE) == (
        "1 of 1 lines carried out; words said to the table"
    )
    assert said(game) == [(0, "Hello, all!\nYour turn.")]
    assert moves_of(game.id, 0) == ["bid olive1"]
    (text,) = to_alice()
    assert text.startswith("Your line was carried out.")
    assert "Everyone at the table can read what you said." in text
    assert "- Line 1, “bid olive1”: played (entry 2)." in text
    assert "Hello" not in text


@one_database
def test_words_alone_need_no_answer_and_tell_nothing_about_the_page(game: Table) -> None:
    (mail,) = send_and_return()
    change(Seat, (game.id, 0), autopilot=True)
    assert answer(mail, "say Hello.", sender=ALICE) == "words said to the table"
    assert said(game) == [(0, "Hello.")]
    assert count_answers(game.id) == 0
    assert row(Presence, (game.people[0], game.id)) is None
    assert row(Seat, (game.id, 0)).autopilot  # nobody has come back to play
    assert [(each.kind, each.seat) for each in remembered()] == [("reply", 0)]


@one_database
@pytest.mark.parametrize("late", [True, False])
def test_a_refused_move_does_not_swallow_the_words(game: Table, late: bool) -> None:
    (mail,) = send_and_return()
    if late:
        submit(game.id, 0, "pass")
    answer(mail, f"say Hello.\n{'bid olive1' if late else 'sing'}", sender=ALICE)
    assert said(game) == [(0, "Hello.")]
    (text,) = to_alice()
    assert text.startswith("Nothing in your email was played.\n")
    assert "Everyone at the table can read what you said." in text
    assert ("That turn is over" if late else "There is no") in text


@one_database
def test_refused_words_do_not_swallow_the_move(game: Table) -> None:
    (mail,) = send_and_return()
    answer(mail, f"say {'x' * 600}\nbid olive1", sender=ALICE)
    assert (said(game), moves_of(game.id, 0)) == ([], ["bid olive1"])
    (message,) = [message for message in send_and_return() if "alice" in str(message["To"])]
    text = text_of(message)
    assert text.startswith("Your line was carried out.")
    assert (
        "Nothing was said to the table: Write at most 500 characters and 20 lines; this text has 600" in text
    )
    assert_same(text, words_of(html_of(message)))


@one_database
def test_an_answer_tells_what_was_said_since_the_turn_began(game: Table) -> None:
    say(game, 1, "Before the email.")
    (mail,) = send_and_return()
    say(game, 2, "After it.")
    answer(mail, "bid olive1", sender=ALICE)
    say(game, 3, "After the move.")
    (text,) = to_alice()
    told = "- Bob: Before the email.\n- Charlie: After it.\n- Daphne: After the move.\n"
    assert f"Said since that turn began\n\n{told}" in text


@one_database
@pytest.mark.usefixtures("game")
def test_refused_words_alone_are_answered() -> None:
    (mail,) = send_and_return()
    assert answer(mail, f"say {'x' * 501}", sender=ALICE) == "words not said to the table"
    (text,) = to_alice()
    assert text.startswith("Nothing was said to the table: Write at most 500")
    assert [each.kind for each in remembered()] == ["refused"]


def test_a_hundred_copies_of_an_email_say_one_thing(game: Table) -> None:
    (mail,) = send_and_return()
    raw = letter("say Hello.\nbid olive1", sender=ALICE)
    done = {receive.receive(raw, ALICE, str(mail["Reply-To"]), NOW) for _ in range(100)}
    assert done == {"1 of 1 lines carried out; words said to the table", "seen before"}
    assert said(game) == [(0, "Hello.")]


def test_a_server_that_dies_in_between_says_it_once(game: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    class Dies(BaseException):
        pass

    def dies(*_: object, **__: object) -> None:
        raise Dies

    (mail,) = send_and_return()
    raw = letter("say Hello.\nbid olive1", sender=ALICE)
    for where in ("server.mail.incoming.commands._carry_out_moves", "server.mail.incoming.receive._finish"):
        with monkeypatch.context() as doomed:
            doomed.setattr(where, dies)
            with pytest.raises(Dies):
                receive.receive(raw, ALICE, str(mail["Reply-To"]), NOW)
        assert said(game) == [(0, "Hello.")]
    receive.receive(raw, ALICE, str(mail["Reply-To"]), NOW)
    assert (said(game), moves_of(game.id, 0)) == ([(0, "Hello.")], ["bid olive1"])


@one_database
def test_only_the_player_can_speak_and_no_machine(game: Table) -> None:
    (mail,) = send_and_return()
    answer(mail, "say Hello.\npass", sender="bob@example.org")
    for head in ("Auto-Submitted: auto-replied\n", "Precedence: auto_reply\n", "X-Autoreply: yes\n"):
        receive.receive(letter("say Hello.", sender=ALICE, head=head), ALICE, str(mail["Reply-To"]), NOW)
    receive.receive(letter("say Hello.", sender=ALICE), "", str(mail["Reply-To"]), NOW)
    ours = str(mail["Reply-To"])
    receive.receive(letter("say Hello.", sender=ours), ours, ours, NOW)
    assert said(game) == []
    assert count_answers(game.id) == 1  # to Alice, about the stranger


@one_database
def test_a_reply_that_may_mean_two_things_does_nothing(game: Table) -> None:
    (mail,) = send_and_return()
    answer(mail, f"{LONG}\npass", sender=ALICE)
    assert (said(game), moves_of(game.id, 0)) == ([], [])
    (text,) = to_alice()
    assert text.startswith(
        "“pass” could be a move or the end of your words, so nothing was played and nothing was said."
    )


@one_database
def test_a_days_words_by_mail_have_an_end(game: Table) -> None:
    (mail,) = send_and_return()
    for number in range(talk.A_DAY + 1):
        answer(mail, f"say {number}", sender=ALICE)
    assert len(said(game)) == talk.A_DAY
    assert count_answers(game.id) == 1


@one_database
@pytest.mark.parametrize("slug", SEATS)
def test_words_are_for_all_games_running_or_over(app: Flask, table: Begin, slug: str) -> None:
    with_replies(app)
    game = table(SEATS[slug], slug=slug)
    mail = next(message for message in send_and_return() if "alice" in str(message["To"]))
    answer(mail, "say Hello.", sender=ALICE)
    play.moderate(game.id, "!abandon", reason="x", person_id=outsider(), now=NOW)
    answer(mail, "say Good game.", sender=ALICE)
    assert said(game) == [(0, "Hello."), (0, "Good game.")]


@one_database
def test_a_word_by_mail_moves_no_clock(game: Table) -> None:
    (mail,) = send_and_return()
    with engine.reading() as session:
        before = session.get_one(Turn, (game.id, 0))
    answer(mail, "say Hello.", sender=ALICE, now=NOW + MINUTE)
    with engine.reading() as session:
        after = session.get_one(Turn, (game.id, 0))
    for column in Turn.__table__.columns:
        assert getattr(after, column.key) == getattr(before, column.key), column


# To the address of table talk


def talk_mail(game: Table, seat: int = 0) -> Any:
    """Let Bob say something, and return the email about it to another player who wants to hear at once."""
    change(Person, game.people[seat], talk="once")
    send_and_return()
    say(game, 1, "What about you?")
    (mail,) = [
        message
        for message in send_and_return(NOW + 3 * MINUTE)
        if str(message["Reply-To"]).startswith("talk+")
    ]
    return mail


def test_an_answer_to_talk_is_said_to_the_table_and_not_answered(game: Table) -> None:
    mail = talk_mail(game)
    assert answer(mail, "Thanks, fine!\nAnd you?\n\nBest\nAlice", sender=ALICE) == "words said to the table"
    assert said(game)[1:] == [(0, "Thanks, fine!\nAnd you?")]
    assert count_answers(game.id) == 0
    raw = letter("Once.", sender=ALICE)
    for _ in range(100):
        receive.receive(raw, ALICE, str(mail["Reply-To"]), NOW)
    assert said(game)[2:] == [(0, "Once.")]


@one_database
def test_a_move_sent_to_the_table_by_mistake_shows_no_cards(game: Table) -> None:
    mail = talk_mail(game)
    answer(mail, "bid olive1", sender=ALICE)
    assert (len(said(game)), moves_of(game.id, 0)) == (1, [])
    (message,) = [each for each in send_and_return() if "alice" in str(each["To"])]
    text = text_of(message)
    assert text.startswith(
        "“bid olive1” reads like a move, but everyone at the table reads replies to this address."
    )
    assert message["Reply-To"] == mail["Reply-To"]  # as the email that it answers
    assert "Everyone at the table reads replies to this email." in text
    assert "Reply with one of these" not in text
    assert_same(text, words_of(html_of(message)))


@one_database
def test_strangers_and_machines_cannot_speak_there(game: Table) -> None:
    mail = talk_mail(game)
    assert answer(mail, "Hello.", sender="bob@example.org") == "from a different address"
    away = letter("I am away.", sender=ALICE, head="Auto-Submitted: auto-replied\n")
    receive.receive(away, ALICE, str(mail["Reply-To"]), NOW)
    ours = str(mail["Reply-To"])
    assert answer(mail, "Hello.", sender=ours) == "ignored: it is one of our own emails"
    assert len(said(game)) == 1
    (text,) = to_alice()
    assert text.startswith("A message to this table came from a different address, so nothing was said.")


@one_database
def test_a_mail_that_is_no_answer_is_answered_and_not_said(game: Table) -> None:
    mail = talk_mail(game)
    change(Person, game.people[0], unreachable=Fact("not_delivered"))
    send_and_return()
    for number, subject in enumerate(("Nav uz vietas", "Poza domem", "")):
        raw = letter("Esmu prom. Byzanz, hello.", sender=ALICE).replace(
            b"Subject: Re: Byzanz", f"Subject: {subject}".encode()
        )
        receive.receive(raw, ALICE, str(mail["Reply-To"]), NOW + number * MINUTE)
    assert len(said(game)) == 1
    assert row(Person, game.people[0]).unreachable is not None
    assert count_answers(game.id) == 1


@one_database
def test_the_address_dies_with_the_seats_links(game: Table) -> None:
    mail = talk_mail(game)
    play.moderate(game.id, "!link 0", reason="lost", person_id=outsider(), now=NOW)
    with pytest.raises(receive.NoSuchAddress):
        answer(mail, "Hello.", sender=ALICE)


@one_database
def test_a_link_revoked_at_that_moment_says_nothing(game: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    def revoke(*_: object) -> None:
        play.moderate(game.id, "!link 0", reason="lost", person_id=outsider(), now=NOW)

    mail = talk_mail(game)
    monkeypatch.setattr("server.mail.deliverability.mark_reachable", revoke)
    assert answer(mail, "Hello.", sender=ALICE) == "words not said to the table"
    assert len(said(game)) == 1


@one_database
def test_the_token_of_an_address_does_nothing_at_the_other(game: Table) -> None:
    (turn,) = send_and_return()
    mail = talk_mail(game)
    for message, other in ((turn, "talk"), (mail, "play")):
        local = str(message["Reply-To"]).partition("+")[2]
        for text in ("pass", "order pass this lot", "Hello."):
            with pytest.raises(receive.NoSuchAddress):
                receive.receive(letter(text, sender=ALICE), ALICE, f"{other}+{local}", NOW)
    for purpose in ("seat", "stop"):
        with engine.transaction() as session:
            link = links.link_for(session, LinkPurpose(purpose), game.people[0], game.id, NOW)
        for way in ("play", "talk"):
            to = f"{way}+{links.token(link)}@byzanz.test"
            with pytest.raises(receive.NoSuchAddress):
                receive.receive(letter("Hi.", sender=ALICE), ALICE, to, NOW)
    assert [seat for seat, _text in said(game)] == [1]  # what Bob said in the email
    assert (moves_of(game.id, 0), remembered()) == ([], [])
    with engine.reading() as session:
        assert session.scalars(select(StandingOrder).where(StandingOrder.game_id == game.id)).all() == []


@one_database
def test_an_answer_to_talk_goes_out_from_the_address_of_talk_even_when_it_is_a_turn(game: Table) -> None:
    mail = talk_mail(game)
    answer(mail, "x" * 600, sender=ALICE)
    (message,) = [each for each in send_and_return(NOW + HOUR) if each["Auto-Submitted"] == "auto-replied"]
    assert message["Reply-To"] == mail["Reply-To"]


@one_database
def test_the_writer_is_told_where_it_is_doubtful_that_the_quote_begins(game: Table) -> None:
    mail = talk_mail(game)
    assert (
        answer(mail, "Hello.\nWrite to alice@example.org please\nBye!", sender=ALICE)
        == "words said to the table"
    )
    assert said(game)[-1] == (0, "Hello.")
    (text,) = to_alice(NOW + HOUR)
    assert "an email address or a link of yours or ours was taken for quoted text" in text


@one_database
def test_the_writer_is_told_of_what_was_replaced_in_their_words(game: Table) -> None:
    mail = talk_mail(game)
    assert answer(mail, "Write to bob@example.net!", sender=ALICE) == "words said to the table"
    assert said(game)[-1] == (0, "Write to [address]!")
    (text,) = to_alice(NOW + HOUR)
    assert "[address] and [link] stand in place of email addresses and personal links." in text
    assert "example.net" not in text


@one_database
def test_those_who_left_or_are_muted_by_all_get_a_precise_answer_or_none(game: Table) -> None:
    mail = talk_mail(game)
    with engine.transaction() as session:
        session.add(Mute(person_id=game.people[1], other_id=game.people[0]))
        session.add(Block(person_id=game.people[2], other_id=game.people[0], at=NOW))
    assert answer(mail, "Hello.", sender=ALICE) == "words said to the table"  # nobody learns of a block
    change(Seat, (game.id, 0), left=True)
    assert answer(mail, "Hello?", sender=ALICE) == "words not said to the table"
    texts = to_alice(NOW + HOUR)
    assert any("You have left this game." in text for text in texts)
    assert len(talk_mails(game)) == 1


@one_database
def test_what_is_remembered_of_words_is_none_of_them(game: Table) -> None:
    mail = talk_mail(game)
    answer(mail, "A secret.", sender=ALICE)
    answer(mail, "x" * 600, sender=ALICE)
    assert [str(each.outcome) for each in remembered()] == [
        "words said to the table",
        "words not said to the table",
    ]
