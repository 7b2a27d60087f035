"""Changing the address of an account: asking for it, and the pages behind the links in both mailboxes.

Viewing a page changes nothing, since machines open mailed links, too.
"""

from __future__ import annotations

import flask
from flask import Blueprint, render_template, url_for
from flask.typing import ResponseReturnValue

from server import i18n
from server.accounts import addresses, login
from server.errors import InvalidInput, NoSuchLink, Refused
from server.store.engine import reading, utc_now
from server.store.models import LinkPurpose
from server.web.http import csrf, limiter, unknown_link

blueprint = Blueprint("moving", __name__)


@blueprint.get("/account/address")
def show() -> ResponseReturnValue:
    """Show the change that waits, and the form for another address to those who have just signed in."""
    return _page(None)


def _page(refusal: Refused | None) -> ResponseReturnValue:
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
def change() -> ResponseReturnValue:
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
                return _page(refusal)
        case _:
            flask.abort(400)
    return flask.redirect(url_for(".show"), 303)


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
                return _unclear(LinkPurpose.MOVE, token)
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
        return _unclear(LinkPurpose.OBJECT, token)
    try:
        addresses.stop_by_link(LinkPurpose.OBJECT, token, utc_now())
    except NoSuchLink:
        return _link_page(LinkPurpose.OBJECT, token, None)
    return flask.redirect(url_for(".object_form", token=token), 303)


def _unclear(purpose: LinkPurpose, token: str) -> ResponseReturnValue:
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
