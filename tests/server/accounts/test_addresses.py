"""Changing an address: both mailboxes prove it, the old one may object for a day, and only then anything moves."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import event, func, select, update

from server.accounts import addresses, login, merging, personal_data
from server.accounts.merging import NotOne
from server.errors import Closed, InvalidInput, NoSuchLink, TooMany
from server.lobby import notify
from server.mail import deliverability
from server.store import engine, links, people
from server.store.facts import Fact
from server.store.models import (
    AddressChange,
    BrowserSession,
    Link,
    LinkPurpose,
    Mail,
    Outage,
    Person,
    Seat,
    Turn,
)
from server.validation import Guest
from tests.conftest import NOW, Table
from tests.support.address_changes import (
    ANN,
    DAY,
    MINUTE,
    NEW,
    ask_and_confirm,
    change_of,
    id_at,
    mailed,
    row,
    send_waiting,
    tick,
    token,
    trust_the_clock,
)
from tests.support.at_once import at_once
from tests.support.lobby import everything, known
from tests.support.pages import session_of, sign_in_token

OTHER = Guest("Zoe", "zoe@smyrna.example")
WHY = "lost mailbox"
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the jobs trust the clock."""
    trust_the_clock(monkeypatch)


@pytest.fixture
def ann(app: Flask) -> int:  # noqa: ARG001 - for its context
    """Return the id of Ann, who plays and has signed in."""
    return signed_in_once(ANN)


def signed_in_once(guest: Guest) -> int:
    """Return the id of a person who plays and has signed in."""
    found = known(guest, NOW - DAY)
    with engine.transaction() as session:
        session.get_one(Person, found).accepted = True
    send_waiting(NOW - HOUR)
    return found


def traces(text: str, address: str) -> bool:
    """Whether an address stands in a text."""
    return address in text or address.partition("@")[0] in text


# ---- the way of a change ----


def test_both_mailboxes_prove_a_change_and_a_day_later_it_is_done(ann: int) -> None:
    addresses.ask(ann, f"  {NEW.upper()} ", NOW)
    sent = send_waiting(NOW).sent
    assert [
        message["To"].addresses[0].addr_spec for message in sent if "new address" in message["Subject"]
    ] == [NEW]
    assert mailed("moving") == []  # an address that nobody has confirmed is no news
    addresses.confirm(token("move"), NOW)
    told = send_waiting(NOW).sent
    assert [message["To"].addresses[0].addr_spec for message in told] == [ANN.address]
    assert not traces(str(told[0]), NEW)
    assert tick(NOW + DAY - MINUTE) == 0
    assert row(ann).email == ANN.address
    assert tick(NOW + DAY) == 1
    assert (row(ann).email, id_at(ANN.address), change_of(ann)) == (NEW, None, None)
    done = send_waiting(NOW + DAY).sent
    assert [message["To"].addresses[0].addr_spec for message in done] == [NEW]
    assert "signed out" in str(done[0].get_body(("plain",)))
    assert tick(NOW + 2 * DAY) == 0


def test_emails_that_go_out_days_late_still_have_their_links(ann: int) -> None:
    addresses.ask(ann, NEW, NOW)
    late = NOW + DAY + HOUR
    (asked,) = send_waiting(late).sent
    assert f"/c/{token('move')}" in str(asked.get_body(("plain",)))
    addresses.confirm(token("move"), late)
    (told,) = send_waiting(late + DAY + HOUR).sent
    assert f"/x/{token('moving')}" in str(told.get_body(("plain",)))


def test_games_go_on_with_the_new_address_and_old_links_open_their_seats(ann: int) -> None:
    with engine.reading() as session:
        game_id = session.scalars(select(Seat.game_id).where(Seat.person_id == ann)).one()
        link = links.existing(session, LinkPurpose.SEAT, ann, game_id)
        assert link is not None
        seat = links.token(link)
    ask_and_confirm(ann, NEW, NOW)
    tick(NOW + DAY)
    with engine.reading() as session:
        access = links.seat_access(session, seat, NOW + DAY)
    assert access is not None
    assert access.seat.person is not None
    assert access.seat.person.email == NEW


def test_the_old_address_leaves_every_table(ann: int) -> None:
    ask_and_confirm(ann, NEW, NOW)
    assert traces(str(everything()), ANN.address)
    tick(NOW + DAY)
    assert not traces(str(everything()), ANN.address)
    send_waiting(NOW + DAY)
    assert not traces(str(everything()), ANN.address)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_old_address_leaves_the_files_and_an_erasure_the_new_one(ann: int) -> None:
    path = engine.db.engine.url.database
    assert path is not None

    def bytes_of_files() -> bytes:
        return b"".join(file.read_bytes() for file in Path(path).parent.glob(f"{Path(path).name}*"))

    ask_and_confirm(ann, NEW, NOW)
    assert b"ann.old" in bytes_of_files()
    tick(NOW + DAY)
    assert b"ann.old" not in bytes_of_files()
    assert b"ann.new" in bytes_of_files()
    personal_data.erase(ann, NOW + DAY)
    assert b"ann.new" not in bytes_of_files()


def test_nothing_moves_before_the_email_to_the_old_mailbox_was_sent_a_day_ago(ann: int) -> None:
    addresses.ask(ann, NEW, NOW)
    addresses.confirm(token("move"), NOW)
    assert tick(NOW + 2 * DAY) == 0  # it still waits
    send_waiting(NOW + 2 * DAY)
    assert tick(NOW + 3 * DAY - MINUTE) == 0
    assert tick(NOW + 3 * DAY) == 1


def test_a_mailbox_that_no_server_takes_email_for_holds_nobody_up_for_ever(ann: int) -> None:
    addresses.ask(ann, NEW, NOW)
    addresses.confirm(token("move"), NOW)
    assert tick(NOW + 3 * DAY - MINUTE) == 0
    assert tick(NOW + 3 * DAY) == 1


def test_an_outage_does_not_count_for_nobody_could_object(ann: int) -> None:
    ask_and_confirm(ann, NEW, NOW)
    with engine.transaction() as session:
        session.add(Outage(part="web", from_at=NOW + HOUR, to_at=NOW + 6 * HOUR))
    assert tick(NOW + DAY + 5 * HOUR - MINUTE) == 0
    assert tick(NOW + DAY + 5 * HOUR) == 1


def test_nothing_is_done_while_the_clock_is_in_doubt(ann: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ask_and_confirm(ann, NEW, NOW)
    monkeypatch.setattr("server.store.operations.enforced_until", lambda *_: None)
    assert tick(NOW + 2 * DAY) == 0


def test_a_change_that_nobody_confirms_ends_and_its_address_goes(ann: int) -> None:
    addresses.ask(ann, NEW, NOW)
    send_waiting(NOW)
    confirming = token("move")
    assert tick(NOW + DAY) == 0, "the email may have been a day late"
    assert tick(NOW + addresses.CONFIRM_WITHIN) == 1
    assert change_of(ann) is None
    assert not traces(str(everything()), NEW)
    with pytest.raises(NoSuchLink):
        addresses.confirm(confirming, NOW + addresses.CONFIRM_WITHIN)


def test_the_link_is_dead_after_a_day_even_before_the_job_runs(ann: int) -> None:
    addresses.ask(ann, NEW, NOW)
    with pytest.raises(NoSuchLink):
        addresses.confirm(token("move"), NOW + DAY)


def test_confirming_twice_is_once(ann: int) -> None:
    addresses.ask(ann, NEW, NOW)
    for minute in range(3):
        addresses.confirm(token("move"), NOW + minute * MINUTE)
    assert len(mailed("moving")) == 1
    change = change_of(ann)
    assert change is not None
    assert change.confirmed_at == NOW


def test_asking_again_replaces_the_change_and_its_links(ann: int) -> None:
    addresses.ask(ann, NEW, NOW)
    first = token("move")
    addresses.ask(ann, "third@smyrna.example", NOW)
    with pytest.raises(NoSuchLink):
        addresses.confirm(first, NOW)
    assert not traces(str(everything()), NEW)
    send_waiting(NOW)
    addresses.confirm(token("move"), NOW)
    send_waiting(NOW)
    tick(NOW + DAY)
    assert row(ann).email == "third@smyrna.example"


@pytest.mark.parametrize(
    "typed", ["ann.old@athens.example", " Ann.Old@ATHENS.example ", "nobody", "", "a@b@c", "a@x"]
)
def test_an_address_goes_through_the_one_check(ann: int, typed: str) -> None:
    before = everything()
    with pytest.raises(InvalidInput):
        addresses.ask(ann, typed, NOW)
    assert everything() == before


def test_an_international_domain_and_a_tag_are_stored_as_everywhere(ann: int) -> None:
    ask_and_confirm(ann, "Ann+Games@Bücher.Example", NOW)
    tick(NOW + DAY)
    assert row(ann).email == "ann+games@xn--bcher-kva.example"


# ---- limits ----


def test_a_person_can_ask_three_times_a_day(ann: int) -> None:
    for number in range(3):
        addresses.ask(ann, f"n{number}@smyrna.example", NOW)
    with pytest.raises(TooMany):
        addresses.ask(ann, "n3@smyrna.example", NOW)
    addresses.stop(ann, NOW)
    with pytest.raises(TooMany):
        addresses.ask(ann, "n3@smyrna.example", NOW + DAY - MINUTE)
    addresses.ask(ann, "n3@smyrna.example", NOW + DAY)


def test_a_new_address_gets_three_such_emails_a_day_whoever_asks(ann: int) -> None:
    others = [signed_in_once(Guest("P", f"p{number}@athens.example")) for number in range(4)]
    for person_id in (ann, *others):
        addresses.ask(person_id, NEW, NOW)
    assert len(mailed("move")) == 3
    assert all(change_of(person_id) for person_id in (ann, *others))  # nobody learns of it


def test_a_server_that_has_emailed_too_many_strangers_refuses_everybody(
    ann: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed_in_once(OTHER)
    monkeypatch.setattr(notify, "too_many", lambda *_: True)
    for address in (NEW, OTHER.address):
        with pytest.raises(TooMany):
            addresses.ask(ann, address, NOW)
    assert mailed("move") == []


def test_emails_about_a_change_go_out_to_those_who_want_none(ann: int) -> None:
    with engine.transaction() as session:
        person = session.get_one(Person, ann)
        person.silent, person.suppressed = True, Fact("text", {"text": "bounced"})
    ask_and_confirm(ann, NEW, NOW)
    assert [mail.status for mail in mailed("moving")] == ["sent"]
    tick(NOW + DAY)
    send_waiting(NOW + DAY)
    assert [mail.status for mail in mailed("moved")] == ["sent"]


# ---- nobody learns what is at an address ----


def test_asking_says_the_same_of_known_and_unknown_addresses(ann: int) -> None:
    signed_in_once(OTHER)

    def told(address: str) -> object:
        addresses.ask(ann, address, NOW)
        [mail] = [str(message.get_body(("plain",))) for message in send_waiting(NOW).sent]
        data = b"".join(personal_data.archive(ann))
        with engine.reading() as session:
            change = session.get_one(AddressChange, ann)
            columns = {name: getattr(change, name) for name in ("confirmed_at", "joins", "other_handle")}
        addresses.stop(ann, NOW)
        words = mail.replace(token("move"), "TOKEN")
        return words, columns, len(data) // 100

    assert told("yyy@smyrna.example") == told(OTHER.address)


def test_a_strangers_words_do_not_reach_the_new_address(ann: int) -> None:
    with engine.transaction() as session:
        session.get_one(Person, ann).name = "Call 555 now"
        people.get_or_create(session, NEW, "Call 666 now", NOW)
    addresses.ask(ann, NEW, NOW)
    [mail] = send_waiting(NOW).sent
    assert "Call" not in str(mail)
    assert ANN.address not in str(mail)


# ---- attackers ----


def test_who_has_only_the_new_mailbox_gets_nothing(ann: int) -> None:
    addresses.ask(ann, NEW, NOW)
    addresses.confirm(token("move"), NOW)
    send_waiting(NOW)
    login.mail_sign_in(NEW, NOW)  # before the day is over, it opens nothing of Ann's
    assert [mail.person_id for mail in mailed("signin")] == []
    addresses.stop_by_link(LinkPurpose.OBJECT, token("moving"), NOW + HOUR)
    assert tick(NOW + 5 * DAY) == 0
    assert row(ann).email == ANN.address


def test_an_objection_stops_everything_and_signs_every_browser_out(ann: int) -> None:
    ask_and_confirm(ann, NEW, NOW)
    session_of(ann)
    confirming = token("move")
    addresses.stop_by_link(LinkPurpose.OBJECT, token("moving"), NOW + DAY - MINUTE)
    assert tick(NOW + 5 * DAY) == 0
    assert (row(ann).email, change_of(ann), id_at(NEW)) == (ANN.address, None, None)
    with engine.reading() as session:
        assert session.scalars(select(BrowserSession).where(BrowserSession.person_id == ann)).all() == []
    with pytest.raises(NoSuchLink):
        addresses.confirm(confirming, NOW + DAY)
    with pytest.raises(NoSuchLink):
        addresses.stop_by_link(LinkPurpose.OBJECT, token("moving"), NOW + DAY)


def test_the_new_mailbox_can_stop_it_as_well_and_browsers_stay_signed_in(ann: int) -> None:
    ask_and_confirm(ann, NEW, NOW)
    session_of(ann)
    addresses.stop_by_link(LinkPurpose.MOVE, token("move"), NOW + HOUR)
    assert change_of(ann) is None
    with engine.reading() as session:
        assert session.scalar(select(func.count()).where(BrowserSession.person_id == ann)) == 1


def test_an_old_sign_in_link_is_dead_after_the_change(ann: int) -> None:
    ask_and_confirm(ann, NEW, NOW)
    login.mail_sign_in(ANN.address, NOW + DAY - MINUTE)
    late = sign_in_token(mailed("signin")[-1])
    session_of(ann)
    tick(NOW + DAY)
    assert login.redeem(late, NOW + DAY) is None
    with engine.reading() as session:
        assert session.scalar(select(func.count()).where(BrowserSession.person_id == ann)) == 0


def test_a_link_of_another_change_or_purpose_opens_nothing(ann: int) -> None:
    addresses.ask(ann, NEW, NOW)
    addresses.confirm(token("move"), NOW)
    with pytest.raises(NoSuchLink):
        addresses.stop_by_link(LinkPurpose.OBJECT, token("move"), NOW)
    with pytest.raises(NoSuchLink):
        addresses.confirm(token("moving"), NOW)


# ---- joining ----


def test_an_account_at_the_new_address_joins_only_in_a_browser_signed_in_to_both(ann: int) -> None:
    other = signed_in_once(OTHER)
    addresses.ask(ann, OTHER.address, NOW)
    before = everything()
    for signed_in, join in ((None, True), (other, True), (ann, False)):
        with pytest.raises(Closed):
            addresses.confirm(token("move"), NOW, signed_in=signed_in, join=join)
    assert everything() == before
    addresses.confirm(token("move"), NOW, signed_in=ann, join=True)
    send_waiting(NOW)
    assert tick(NOW + DAY) == 1
    assert (row(ann).email, row(other).email) == (OTHER.address, None)
    with engine.reading() as session:
        assert session.scalar(select(func.count()).where(Seat.person_id == ann)) == 2


def test_an_account_that_comes_up_meanwhile_is_not_swallowed(ann: int) -> None:
    ask_and_confirm(ann, NEW, NOW)
    meanwhile = signed_in_once(Guest("New", NEW))
    assert tick(NOW + DAY) == 1
    assert (row(ann).email, row(meanwhile).email) == (ANN.address, NEW)
    assert change_of(ann) is None
    [mail] = send_waiting(NOW + DAY).sent[-1:]
    assert mail["To"].addresses[0].addr_spec == ANN.address
    assert "has not changed" in str(mail.get_body(("plain",)))


def test_two_who_have_met_are_not_joined_in_any_browser(ann: int) -> None:
    zoe = signed_in_once(OTHER)
    meet(ann, zoe)
    addresses.ask(ann, OTHER.address, NOW)
    with pytest.raises(NotOne):
        addresses.confirm(token("move"), NOW, signed_in=ann, join=True)
    with pytest.raises(NotOne):
        addresses.move(ann, OTHER.address, NOW, reason=WHY, join=True)
    assert mailed("moving") == []


def test_a_game_that_comes_up_while_games_are_locked_is_waited_for(
    ann: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask_and_confirm(ann, NEW, NOW)
    before, found = everything(), iter([[], *(["busy"],) * 9])
    with monkeypatch.context() as patch:
        patch.setattr(merging, "games_of", lambda *_: next(found))
        assert tick(NOW + DAY) == 0
    assert everything() == before
    assert tick(NOW + DAY) == 1


def meet(one_id: int, other_id: int) -> None:
    """Let a person sit at the table of another."""
    with engine.transaction() as session:
        game_id = session.scalars(select(Seat.game_id).where(Seat.person_id == other_id)).one()
        seat = session.scalars(select(Seat).where(Seat.game_id == game_id, Seat.bot.is_not(None))).first()
        assert seat is not None
        seat.person_id, seat.bot = one_id, None


def test_two_who_meet_before_the_day_is_over_are_not_joined(ann: int) -> None:
    other = signed_in_once(OTHER)
    ask_and_confirm(ann, OTHER.address, NOW)
    meet(ann, other)
    assert tick(NOW + DAY) == 1
    assert (row(ann).email, row(other).email) == (ANN.address, OTHER.address)


# ---- erasure and export ----


def test_an_erasure_ends_a_change_and_leaves_neither_address(ann: int) -> None:
    ask_and_confirm(ann, NEW, NOW)
    personal_data.erase(ann, NOW + HOUR)
    for address in (ANN.address, NEW):
        assert not traces(str(everything()), address)
    assert tick(NOW + 2 * DAY) == 0


def test_an_erasure_that_was_interrupted_lets_nobody_move(ann: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ask_and_confirm(ann, NEW, NOW)

    def dies(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(personal_data, "_leave_running_games", dies)
        with pytest.raises(KeyboardInterrupt):
            personal_data.erase(ann, NOW + HOUR)
    assert tick(NOW + 2 * DAY) == 0
    assert row(ann).email == ANN.address
    personal_data.erase(ann, NOW + 2 * DAY)
    assert not traces(str(everything()), ANN.address)


def test_an_erased_account_asks_for_nothing(ann: int) -> None:
    personal_data.erase(ann, NOW)
    before = everything()
    for change in (addresses.ask, partial(addresses.move, reason=WHY)):
        with pytest.raises(Closed):
            change(ann, NEW, NOW)
    assert everything() == before


def test_the_account_at_the_new_address_can_be_erased_meanwhile(ann: int) -> None:
    other = signed_in_once(OTHER)
    ask_and_confirm(ann, OTHER.address, NOW)
    personal_data.erase(other, NOW + HOUR)
    assert tick(NOW + DAY) == 1
    assert row(ann).email == OTHER.address


def test_an_invited_address_stays_when_a_change_to_it_is_stopped(ann: int) -> None:
    invitee = known(Guest("Guest", NEW), NOW)
    addresses.ask(ann, NEW, NOW)
    addresses.stop(ann, NOW)
    assert id_at(NEW) == invitee


@pytest.mark.parametrize("wish", ["silent", "no_invitations"])
def test_an_address_that_wants_no_email_stays_known(ann: int, wish: str) -> None:
    with engine.transaction() as session:
        setattr(people.get_or_create(session, NEW, "x", NOW), wish, True)
    addresses.ask(ann, NEW, NOW)
    addresses.stop(ann, NOW)
    assert id_at(NEW) is not None


def test_an_address_with_a_link_of_its_own_stays(ann: int) -> None:
    with engine.transaction() as session:
        links.issue(session, LinkPurpose.KEEP, people.get_or_create(session, NEW, "x", NOW).id, NOW)
    addresses.ask(ann, NEW, NOW)
    addresses.stop(ann, NOW)
    assert id_at(NEW) is not None


def test_an_address_that_two_wait_for_stays_for_the_second(ann: int) -> None:
    zoe = signed_in_once(OTHER)
    addresses.ask(ann, NEW, NOW)
    addresses.ask(zoe, NEW, NOW)
    addresses.stop(ann, NOW)
    assert id_at(NEW) is not None
    send_waiting(NOW)
    addresses.confirm(token("move"), NOW)
    send_waiting(NOW)
    tick(NOW + DAY)
    assert row(zoe).email == NEW


# ---- the mailbox that failed ----


def test_a_confirmed_address_takes_email_again_even_if_it_had_bounced(ann: int) -> None:
    zoe = signed_in_once(OTHER)
    with engine.transaction() as session:
        person = session.get_one(Person, zoe)
        person.suppressed = person.unreachable = Fact("text", {"text": "no such user"})
    ask_and_confirm(ann, OTHER.address, NOW)
    tick(NOW + DAY)
    assert (row(ann).suppressed, row(ann).unreachable) == (None, None)


def test_stopped_clocks_go_on_when_the_new_address_is_there(table: Callable[..., Table]) -> None:
    game = table(3)
    player = game.people[0]
    with engine.transaction() as session:
        person, said = session.get_one(Person, player), Fact("text", {"text": "no such user"})
        person.email, person.accepted = ANN.address, True
        person.unreachable, person.suppressed, person.lost_at = said, said, NOW
        turn = update(Turn).where(Turn.game_id == game.id, Turn.seat == 0)
        session.execute(turn.values(refused=said, refused_at=NOW, started_at=NOW))
    addresses.move(player, NEW, NOW, reason=WHY)
    send_waiting(NOW)
    tick(NOW + DAY)
    person = row(player)
    assert (person.unreachable, person.suppressed, person.lost_at, person.retry_at) == (None,) * 4
    with engine.reading() as session:
        assert session.get_one(Turn, (game.id, 0)).refused is None
    sent = send_waiting(NOW + DAY).sent
    assert {message["To"].addresses[0].addr_spec for message in sent} == {NEW}
    assert {mail.kind for mail in everything_sent_to(player)} >= {"turn", "moved"}


def everything_sent_to(person_id: int) -> list[Mail]:
    """Return the emails that went to a person."""
    with engine.reading() as session:
        theirs = select(Mail).where(Mail.person_id == person_id, Mail.status == "sent")
        return list(session.scalars(theirs))


# ---- the operator ----


def test_an_operators_change_tells_both_mailboxes_and_waits_a_day(ann: int) -> None:
    addresses.move(ann, NEW, NOW, reason=WHY)
    sent = send_waiting(NOW).sent
    assert {message["To"].addresses[0].addr_spec for message in sent} == {ANN.address, NEW}
    assert all("operator" in str(message.get_body(("plain",))) for message in sent)
    assert tick(NOW + DAY - MINUTE) == 0
    assert tick(NOW + DAY) == 1
    assert row(ann).email == NEW


@pytest.mark.parametrize(("purpose", "kind"), [("move", "move"), ("object", "moving")])
def test_both_mailboxes_can_stop_an_operators_change(ann: int, purpose: str, kind: str) -> None:
    addresses.move(ann, NEW, NOW, reason=WHY)
    addresses.stop_by_link(LinkPurpose(purpose), token(kind), NOW + 20 * HOUR)
    assert tick(NOW + 4 * DAY) == 0
    assert row(ann).email == ANN.address


def test_a_mistyped_address_that_takes_no_email_does_not_become_anybodys(ann: int) -> None:
    typo = "ann.new@smyrna.exmaple"
    addresses.move(ann, typo, NOW, reason=WHY)
    send_waiting(NOW)
    deliverability.handle_bounce(mailed("move")[-1].id, Fact("text", {"text": "no such user"}), NOW + HOUR)
    tick(NOW + DAY)
    assert row(ann).email == ANN.address
    (told,) = send_waiting(NOW + DAY).to(ANN.address)
    assert "does not accept email" in str(told.get_body(("plain",)))
    addresses.move(ann, typo, NOW + DAY, reason=WHY)
    send_waiting(NOW + DAY)
    tick(NOW + 3 * DAY)
    assert row(ann).email == typo, "it is tried again"


def test_an_operator_says_whether_an_account_joins(ann: int) -> None:
    other = signed_in_once(OTHER)
    with pytest.raises(Closed):
        addresses.move(ann, OTHER.address, NOW, reason=WHY)
    with pytest.raises(Closed):
        addresses.move(ann, NEW, NOW, reason=WHY, join=True)
    with pytest.raises(InvalidInput):
        addresses.move(ann, ANN.address, NOW, reason=WHY)
    addresses.move(ann, OTHER.address, NOW, reason=WHY, join=True)
    send_waiting(NOW)
    tick(NOW + DAY)
    assert (row(ann).email, row(other).email) == (OTHER.address, None)


# ---- crashes and races ----


def test_a_crash_at_any_statement_changes_nothing_or_all(ann: int) -> None:
    signed_in_once(OTHER)
    ask_and_confirm(ann, OTHER.address, NOW)
    before, ran = everything(), 0
    while change_of(ann) is not None:
        ran += 1
        assert ran < 2000, "the change never ends"
        left = [ran]

        def kill(*_: Any, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise RuntimeError("killed")

        event.listen(engine.db.engine, "before_cursor_execute", kill)
        try:
            tick(NOW + DAY)
        except RuntimeError:
            pass
        finally:
            event.remove(engine.db.engine, "before_cursor_execute", kill)
        if change_of(ann) is not None:
            assert everything() == before, ran
    assert ran > 40
    assert row(ann).email == OTHER.address
    assert len(mailed("moved")) == 1
    assert tick(NOW + DAY) == 0


@pytest.mark.concurrency
def test_two_browsers_confirm_at_once(app: Flask, ann: int) -> None:
    addresses.ask(ann, NEW, NOW)
    confirming = token("move")
    done = at_once(app, *[partial(addresses.confirm, confirming, NOW)] * 4)
    assert done == [None] * 4
    assert len(mailed("moving")) == 1


@pytest.mark.concurrency
def test_an_objection_races_the_job_and_one_of_them_wins(app: Flask, ann: int) -> None:
    zoe = signed_in_once(OTHER)
    for mover, address in ((ann, NEW), (zoe, "zoe.new@smyrna.example")):
        old = row(mover).email
        ask_and_confirm(mover, address, NOW)
        late = NOW + DAY
        done = at_once(
            app,
            partial(addresses.stop_by_link, LinkPurpose.OBJECT, token("moving"), late),
            partial(addresses.carry_out, mover, late, late),
            partial(addresses.carry_out, mover, late, late),
        )
        moved = done.count(True)
        assert row(mover).email == (address if moved else old)
        assert done[0] is (NoSuchLink if moved else None)
        assert moved <= 1


@pytest.mark.concurrency
def test_two_who_want_each_others_address_wait_for_nobody_for_ever(app: Flask, ann: int) -> None:
    zoe = signed_in_once(OTHER)
    done = at_once(
        app,
        partial(addresses.ask, ann, OTHER.address, NOW),
        partial(addresses.ask, zoe, ANN.address, NOW),
    )
    assert done == [None, None]
    for mail in mailed("move"):
        with engine.reading() as session:
            (link,) = links.select_rows(session, Link.id == int(mail.key.partition(":")[2]))
            asker, confirming = link.person_id, links.token(link)
        addresses.confirm(confirming, NOW, signed_in=asker, join=True)
    send_waiting(NOW)
    at_once(app, *(partial(addresses.carry_out, mover, NOW + DAY, NOW + DAY) for mover in (ann, zoe)))
    tick(NOW + DAY)
    assert sorted(filter(None, (row(ann).email, row(zoe).email))) in ([ANN.address], [OTHER.address])


def test_mails_of_a_change_are_kept_no_longer_than_others(ann: int) -> None:
    ask_and_confirm(ann, NEW, NOW)
    with engine.reading() as session:
        kept = session.scalars(select(Mail).where(Mail.kind.in_(("move", "moving")))).all()
    assert all(mail.delete_at is not None for mail in kept)
