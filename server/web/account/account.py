"""The account: signing in and out, settings, muted people, a copy of the data, leaving, and another address."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlsplit

import flask
from flask import Blueprint, Response, render_template, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy.orm import Session

from server import i18n, validation
from server.accounts import absences, addresses, login, personal_data
from server.community import blocks, profiles, talk
from server.config import settings
from server.errors import InvalidInput, NoSuchLink, Refused
from server.i18n import N_
from server.lobby import notify
from server.lobby import settings as lobby_settings
from server.mail import subscriptions
from server.mail.outgoing import digest
from server.store import links, people
from server.store.engine import reading, transaction, utc_now
from server.store.models import Absence, BrowserSession, LinkPurpose, Person
from server.store.statements import LinkRow
from server.web import locale, submissions
from server.web.http import GAME_ID, browser, csrf, limiter, unknown_link
from server.web.templating import time_of_day

# ---- what the page decides ----
# Its sentences are marked here and translated in `templates/account/account.html`.

AUDIENCES = {"nobody": N_("Nobody"), "met": N_("People I have played with"), "all": N_("Everybody")}
"""Who can see a profile."""


@dataclass(frozen=True, slots=True)
class AccountPage:
    """The settings of a person.

    Args:
        done: what the page is to confirm, as its address says.
        absences: those that are not over.
        this_browser: the session of the browser that asks.
    """

    me: Person
    now: datetime
    refusal: Refused | None
    done: str
    absences: Sequence[Absence]
    browsers: Sequence[BrowserSession]
    this_browser: BrowserSession | None

    @property
    def wrong(self) -> str | None:
        """The field that was refused."""
        return self.refusal.field if isinstance(self.refusal, InvalidInput) else None

    @property
    def is_saved(self) -> bool:
        """Whether the settings have just been saved."""
        return self.done == "saved" and self.refusal is None

    @property
    def away(self) -> list[tuple[Absence, bool]]:
        """The absences, each with whether it has begun and can no longer be removed."""
        return [(absence, absence.from_at <= self.now) for absence in self.absences]

    @property
    def invitations(self) -> tuple[str, str, str]:
        """What is said about invitations, and what the button beside it does and says."""
        if self.me.no_invitations:
            return N_("We send you no invitations."), "allow", N_("Allow invitations")
        refuse = N_("Never send me invitations")
        return N_("Other people can invite you to games by email."), "refuse", refuse

    @property
    def sessions(self) -> list[tuple[BrowserSession, bool]]:
        """The browsers in which the person is signed in, each with whether it is the one that asks."""
        own = self.this_browser.id if self.this_browser else None
        return [(browser, browser.id == own) for browser in self.browsers]


blueprint = Blueprint("account", __name__)

# ---- signing in and settings ----

SEAT_PAGE = re.compile(f"/t/({links.TOKEN.pattern})(?:/|$)")
"""The path of a page of a seat."""


@blueprint.get("/sign-in")
def sign_in() -> ResponseReturnValue:
    """Show the sign-in form."""
    return render_template("account/sign_in.html", address="", token=_seat_behind(), refusal=None)


def _seat_behind() -> str:
    """Return the token of the seat's page that led here, empty if another page did."""
    came, ours = urlsplit(flask.request.referrer or ""), urlsplit(settings().base_url)
    found = SEAT_PAGE.match(came.path.removeprefix(ours.path))
    return found[1] if found and came.netloc == ours.netloc else ""


@blueprint.post("/sign-in")
@limiter.limit("10/minute")
def ask_link() -> ResponseReturnValue:
    """Mail a sign-in link; the response is the same whether the address is known or not."""
    address, token = flask.request.form.get("address", ""), flask.request.form.get("token", "")
    try:
        login.mail_sign_in(address, utc_now(), i18n.current_language(), seat_token=token)
    except InvalidInput as refusal:
        page = render_template("account/sign_in.html", address=address, token=token, refusal=refusal)
        return page, refusal.status
    return render_template("account/link_sent.html")


@blueprint.get("/s/<token>")
def confirm_sign_in(token: str) -> ResponseReturnValue:
    """Show a button that signs in; viewing does not use up the link, since machines open mailed links, too."""
    with reading() as session:
        link = links.find_any(session, LinkPurpose.SIGNIN, token) or unknown_link(token)
        usable = login.is_usable(link, utc_now(), login.this_browser())
        if not usable and not _has_signed_in(session, link):
            unknown_link(token)
        login.this_browser(new=True)
        person = session.get_one(Person, link.person_id)
        return render_template("account/redeem.html", token=token, person=person, done=not usable)


def _has_signed_in(session: Session, link: LinkRow) -> bool:
    """Whether a link was used and its person is signed in to this browser."""
    me = login.signed_in(session) if link.used_at is not None and link.revoked_at is None else None
    return me is not None and me.id == link.person_id


@blueprint.post("/s/<token>")
@limiter.limit("10/minute")
def redeem(token: str) -> ResponseReturnValue:
    """Sign in to this browser, once per link.

    The form needs its own page's CSRF token although the URL authorises it: otherwise a stranger's page could sign a
    visitor in as the stranger. A visitor who is signed in needs neither: a second press may come with an older page.
    """
    with reading() as session:
        link = links.find_any(session, LinkPurpose.SIGNIN, token) or unknown_link(token)
        if _has_signed_in(session, link):
            return flask.redirect(url_for("home.index"), 303)
    flask.current_app.extensions["csrf"].protect()
    person = login.redeem(token, utc_now(), login.this_browser()) or unknown_link(token)
    table, seat = flask.session.get(login.TABLE_KEY), flask.session.get(login.SEAT_KEY)
    login.sign_in(person.id, login.browser_name(flask.request.user_agent.string), utc_now(), link=token)
    locale.save_language()
    back = url_for("invitations.free_seat", game_id=table) if table else url_for("home.index")
    if table and seat is not None:
        back = url_for("open_tables.offered_seat", game_id=table, number=seat)
    return flask.redirect(back, 303)


@blueprint.post("/sign-out")
def sign_out() -> ResponseReturnValue:
    """Sign this browser out."""
    login.sign_out()
    return flask.redirect(url_for("home.index"), 303)


@blueprint.after_app_request
def note_use(response: flask.Response) -> flask.Response:
    """Store when a session was last used."""
    login.note_use(utc_now())
    return response


@blueprint.get("/account")
def account() -> ResponseReturnValue:
    """Show the settings of the signed-in person."""
    return _account_page(None)


def _account_page(refusal: Refused | None) -> ResponseReturnValue:
    with reading() as session:
        me = login.signed_in(session)
        if me is None:
            return flask.redirect(url_for(".sign_in"), 303)
        now = utc_now()
        shown = AccountPage(
            me,
            now,
            refusal,
            flask.request.args.get("done", ""),
            absences.absences_of(session, me.id, now),
            login.sessions_of(session, me.id),
            login.current_session(),
        )
        page = render_template(
            "account/account.html",
            page=shown,
            audiences=AUDIENCES,
            me=me,
            fields=_fields(me),
            stored=_stored(me),
            days_a_year=absences.BUDGET,
            tables=notify.games_of(session, me.id),
            zones=validation.time_zones(),
            unknown_zone=people.unknown_zone(session, me.id),
            hour=digest.digest_minute(me),
            feed=_feed(session, me),
            muted=talk.muted(session, me.id),
            blocked=blocks.listed(session, me.id),
            refusal=refusal,
        )
    return page, refusal.status if refusal else 200


def _feed(session: Session, me: Person) -> str | None:
    """Return the URL of their feeds without its extension, if they have created one."""
    link = links.existing(session, LinkPurpose.FEED, me.id, None)
    return links.url(link) if link else None


def _fields(me: Person) -> dict[str, str]:
    """Return the values of the forms: what was just typed, else what is stored."""
    return _stored(me) | {"away_from": "", "away_to": ""} | flask.request.form.to_dict()


def _stored(me: Person) -> dict[str, str]:
    """Return the settings as the form has them."""
    fields = {"name": me.name, "time_zone": me.time_zone or "", "quiet_from": "", "quiet_to": ""}
    fields |= {"language": me.language or "", "handle": me.handle or "", "shown": me.shown}
    fields |= {"cadence": me.cadence, "talk": me.talk}
    if me.quiet_from is not None and me.quiet_to is not None:
        fields |= {"quiet_from": time_of_day(me.quiet_from), "quiet_to": time_of_day(me.quiet_to)}
    return fields


@blueprint.post("/account")
@limiter.limit("30/minute")
def save() -> ResponseReturnValue:
    """Save the settings, add or remove an absence, or turn emails off or on, depending on the button."""
    form, now = flask.request.form, utc_now()
    with reading() as session:
        me = login.signed_in(session)
    if me is None:
        return flask.redirect(url_for(".sign_in"), 303)
    do, game_id = form.get("do"), form.get("game", "")
    try:
        match do:
            case "save":
                _save(me)
            case "away":
                absences.add_absence(me.id, form.get("away_from", ""), form.get("away_to", ""), now)
            case "back" if (
                absence := validation.whole_number(form.get("absence", ""), 999_999_999)
            ) is not None:
                absences.remove_absence(me.id, absence, now)
            case "mute" | "unmute" if GAME_ID.fullmatch(game_id):
                subscriptions.mute(game_id, me.id, do == "mute", now)
            case "mute-all" | "unmute-all":
                subscriptions.mute_all(me.id, do == "mute-all", now)
            case "player-news":
                subscriptions.refuse_player_news(me.id, False)
            case "feed":
                login.renew_feed(me.id, now)
            case _:
                flask.abort(400)
    except Refused as refusal:
        return _account_page(refusal)
    return flask.redirect(url_for(".account", done="saved" if do == "save" else None), 303)


@blueprint.post("/account/profile")
@limiter.limit("30/minute")
def unblock() -> ResponseReturnValue:
    """Unblock somebody."""
    form = flask.request.form
    with reading() as session:
        me = login.signed_in(session)
    if me is None:
        return flask.redirect(url_for(".sign_in"), 303)
    other = validation.whole_number(form.get("other", ""), 999_999_999)
    if form.get("do") != "unblock" or other is None:
        flask.abort(400)
    blocks.unblock(me.id, other)
    return flask.redirect(url_for(".account") + "#blocked", 303)


def _save(me: Person) -> None:
    """Save all settings or, if one is refused, none; what the form does not have stays as it is."""
    form, now, stored = flask.request.form, utc_now(), _stored(me)
    new = submissions.settled({name: form[name] for name in stored if name in form}, stored)
    name = me.name if new["name"] == me.name else validation.clean_name(new["name"])
    hours, language = lobby_settings.parse_own_hours(new), new["language"]
    if language and language not in i18n.NAMES:
        raise InvalidInput(
            "“%(code)s” is not one of the languages offered.",
            field="language",
            code=validation.excerpt(language),
        )
    cadence, talk = new["cadence"], new["talk"]
    if cadence not in subscriptions.CADENCES or talk not in subscriptions.TALK:
        flask.abort(400)
    profile = new["handle"], new["shown"]
    if profile != (me.handle or "", me.shown):
        profiles.choose(me.id, *profile, now)
    if (cadence, talk) != (me.cadence, me.talk):
        subscriptions.set_cadence(me.id, cadence, now, talk)
    with transaction() as session:
        person = session.get_one(Person, me.id)
        if name != me.name:
            person.name = name
        if language != stored["language"]:
            person.language = language or None
        if any(new[field] != stored[field] for field in ("time_zone", "quiet_from", "quiet_to")):
            hours.set_for(person, now)


@blueprint.post("/account/sessions")
@limiter.limit("30/minute")
def end_sessions() -> ResponseReturnValue:
    """Sign the person out of one browser or of all."""
    form = flask.request.form
    with reading() as session:
        me = login.signed_in(session)
    if me is None:
        return flask.redirect(url_for(".sign_in"), 303)
    one = validation.whole_number(form.get("session", ""), 999_999_999)
    if form.get("do") == "end-all":
        login.end_sessions(me.id)
    elif form.get("do") == "end" and one is not None:
        login.end_sessions(me.id, one)
    else:
        flask.abort(400)
    return flask.redirect(url_for(".account"), 303)


@blueprint.post("/account/invitations")
@limiter.limit("30/minute")
def set_invitations() -> ResponseReturnValue:
    """Keep all invitations from the signed-in person, or let them through again."""
    with reading() as session:
        me = login.signed_in(session)
    if me is None:
        return flask.redirect(url_for(".sign_in"), 303)
    if (do := flask.request.form.get("do")) not in ("refuse", "allow"):
        flask.abort(400)
    subscriptions.refuse_invitations(me.id, do == "refuse")
    return flask.redirect(url_for(".account"), 303)


csrf.exempt(ask_link)  # it works without cookies: it only sends mail
csrf.exempt(redeem)  # it checks the token itself


# ---- muted people ----


@blueprint.post("/account/mutes")
@limiter.limit("30/minute")
def unmute() -> ResponseReturnValue:
    """Let the signed-in person read what another says again."""
    with reading() as session:
        me = login.signed_in(session)
    if me is None:
        return flask.redirect(url_for("account.sign_in"), 303)
    other = validation.whole_number(flask.request.form.get("other", ""), 999_999_999)
    if other is None:
        flask.abort(400)
    talk.unmute(me.id, other)
    return flask.redirect(url_for("account.account"), 303)


# ---- leaving ----


@blueprint.get("/account/data.zip")
@limiter.limit("5/hour", key_func=browser)
def data() -> ResponseReturnValue:
    """Serve everything that is stored about the signed-in person, piece by piece; of many games that takes seconds."""
    with reading() as session:
        me = login.signed_in(session)
    if me is None:
        return flask.redirect(url_for("account.sign_in"), 303)
    pieces = flask.stream_with_context(personal_data.archive(me.id))
    response = Response(pieces, content_type="application/zip")
    response.headers.set("Content-Disposition", "attachment", filename=personal_data.FILE_NAME)
    return response


@blueprint.get("/account/delete")
def ask_deletion() -> ResponseReturnValue:
    """Say what deleting the account means, with a button to do it or to sign in again."""
    return _deletion_page()


def _deletion_page(unsure: bool = False) -> ResponseReturnValue:
    with reading() as session:
        if login.signed_in(session) is None:
            return flask.redirect(url_for("account.sign_in"), 303)
        page = render_template(
            "account/delete.html",
            recent=login.is_recent(utc_now()),
            unsure=unsure,
            minutes=login.RECENT // timedelta(minutes=1),
        )
    return page, 422 if unsure else 200


@blueprint.post("/account/delete")
@limiter.limit("10/minute")
def delete_account() -> ResponseReturnValue:
    """Delete the account of somebody who has just signed in, or mail them a link to sign in again."""
    form, now = flask.request.form, utc_now()
    with reading() as session:
        me = login.signed_in(session)
    if me is None:
        return flask.redirect(url_for("account.sign_in"), 303)
    if form.get("do") == "mail":
        login.mail_sign_in_again(me.id, now, i18n.current_language())
        return render_template("account/link_sent.html")
    if form.get("do") != "delete" or not login.is_recent(now):
        flask.abort(400)
    if form.get("sure") != "yes":
        return _deletion_page(unsure=True)
    personal_data.erase(me.id, now)
    flask.session.clear()
    login.forget(me.id)
    return flask.redirect(url_for(".deleted"), 303)


@blueprint.get("/account/deleted")
def deleted() -> ResponseReturnValue:
    """Say that the account is deleted."""
    return render_template("account/deleted.html")


# ---- another address ----
# Asking for it, and the pages behind the links in both mailboxes. Viewing a page changes nothing, since machines open
# mailed links, too.


@blueprint.get("/account/address")
def change_form() -> ResponseReturnValue:
    """Show the change that waits, and the form for another address to those who have just signed in."""
    return _change_page(None)


def _change_page(refusal: Refused | None) -> ResponseReturnValue:
    now = utc_now()
    with reading() as session:
        me = login.signed_in(session)
        if me is None:
            return flask.redirect(url_for("account.sign_in"), 303)
        change = addresses.of_person(session, me.id, now)
        page = render_template(
            "account/address.html",
            me=me,
            change=change,
            not_before=addresses.not_before(change) if change else None,
            recent=login.is_recent(now),
            minutes=login.RECENT.seconds // 60,
            address=flask.request.form.get("address", ""),
            refusal=refusal,
            wrong=refusal.field if isinstance(refusal, InvalidInput) else None,
        )
    return page, refusal.status if refusal else 200


@blueprint.post("/account/address")
@limiter.limit("10/minute")
def change_address() -> ResponseReturnValue:
    """Ask for another address right after signing in, stop the change, or get a link to sign in again."""
    form, now = flask.request.form, utc_now()
    with reading() as session:
        me = login.signed_in(session)
    if me is None:
        return flask.redirect(url_for("account.sign_in"), 303)
    match form.get("do"):
        case "mail":
            login.mail_sign_in_again(me.id, now, i18n.current_language())
            return render_template("account/link_sent.html")
        case "stop":
            addresses.stop(me.id, now)
        case "ask" if login.is_recent(now):
            try:
                addresses.ask(me.id, form.get("address", ""), now, i18n.current_language())
            except Refused as refusal:
                return _change_page(refusal)
        case _:
            flask.abort(400)
    return flask.redirect(url_for(".change_form"), 303)


@blueprint.get("/c/<token>")
def confirm_form(token: str) -> ResponseReturnValue:
    """Show the reader of a new address what confirming it does; they alone learn whether it has an account."""
    return _link_page(LinkPurpose.MOVE, token, None)


@blueprint.post("/c/<token>")
@limiter.limit("30/minute")
def confirm(token: str) -> ResponseReturnValue:
    """Confirm a new address, or stop the change."""
    form, now = flask.request.form, utc_now()
    with reading() as session:
        me = login.signed_in(session)
    try:
        match form.get("do"):
            case "confirm" | "join" as do:
                addresses.confirm(
                    token,
                    now,
                    signed_in=me.id if me else None,
                    join=do == "join",
                    other_handle=form.get("handle") == "other",
                )
            case "stop":
                addresses.stop_by_link(LinkPurpose.MOVE, token, now)
            case _:
                return _unclear_link(LinkPurpose.MOVE, token)
    except NoSuchLink:
        return _link_page(LinkPurpose.MOVE, token, None)
    except Refused as refusal:
        return _link_page(LinkPurpose.MOVE, token, refusal)
    return flask.redirect(url_for(".confirm_form", token=token), 303)


@blueprint.get("/x/<token>")
def object_form(token: str) -> ResponseReturnValue:
    """Show the reader of the old address the button that stops the change."""
    return _link_page(LinkPurpose.OBJECT, token, None)


@blueprint.post("/x/<token>")
@limiter.limit("30/minute")
def object_to(token: str) -> ResponseReturnValue:
    """Stop the change and sign out every browser; nobody needs to be signed in for it."""
    if flask.request.form.get("do") != "stop":
        return _unclear_link(LinkPurpose.OBJECT, token)
    try:
        addresses.stop_by_link(LinkPurpose.OBJECT, token, utc_now())
    except NoSuchLink:
        return _link_page(LinkPurpose.OBJECT, token, None)
    return flask.redirect(url_for(".object_form", token=token), 303)


def _unclear_link(purpose: LinkPurpose, token: str) -> ResponseReturnValue:
    """Answer a form without a known button: a dead link as such, else as a form that was incomplete."""
    with reading() as session:
        if not addresses.has_ended(session, purpose, token):
            unknown_link(token)
    flask.abort(400)


def _link_page(purpose: LinkPurpose, token: str, refusal: Refused | None) -> ResponseReturnValue:
    with reading() as session:
        pending = addresses.by_link(session, purpose, token, utc_now())
        if pending is None and not addresses.has_ended(session, purpose, token):
            unknown_link(token)
        me = login.signed_in(session)
        here = pending is not None and me is not None and me.id == pending.person.id
        own = pending is not None and (here or purpose == LinkPurpose.OBJECT)
        page = render_template(
            f"account/{'confirm' if purpose == LinkPurpose.MOVE else 'object'}_address.html",
            token=token,
            pending=pending,
            here=here,
            zone=(pending.person.time_zone if pending is not None and own else None) or "UTC",
            refusal=refusal,
        )
    return page, refusal.status if refusal else 200


# They work without cookies: they are authorised by the token in the URL.
csrf.exempt(confirm)
csrf.exempt(object_to)
