"""Forms: each that makes something is carried out once, saves what was changed, and knows the page it stands on.

`drawn(values)` puts into a form what it was drawn with, as short digests; `settled` tells what to store.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import secrets
import time
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import lru_cache, partial
from urllib.parse import urlsplit

import flask
from flask import Flask, Response
from flask_babel import format_timedelta, gettext
from markupsafe import Markup
from sqlalchemy import delete, insert, select, update
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.orm import Session
from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map, RequestRedirect
from werkzeug.wrappers import Response as AnyResponse

from server import play
from server.errors import Refused
from server.i18n import N_
from server.i18n.characters import without_isolates
from server.store import engine, links
from server.store.engine import reading, transaction
from server.store.models import Link, Submission
from server.validation import excerpt

# ---- settings that were changed on the page ----

LABELS = {
    "name": N_("Your name"),
    "language": N_("Language"),
    "time_zone": N_("Your time zone"),
    "quiet_from": N_("Quiet hours from"),
    "quiet_to": N_("Quiet hours to"),
    "cadence": N_("Emails about your turns"),
    "talk": N_("Table talk by email"),
    "handle": N_("Handle"),
    "shown": N_("Who sees your profile"),
    "allowance": N_("Time per move"),
    "bank": N_("Time bank"),
    "days_off": N_("Days off"),
    "notes": N_("Notes to yourself"),
}
VALUES = {
    "each": N_("An email for each turn, plus a reminder"),
    "once": N_("An email for each turn, no reminder"),
    "digest": N_("One email a day, for all games where it is your turn"),
    "turns": N_("In the emails about my turns"),
    "never": N_("Never"),
    "nobody": N_("Nobody"),
    "met": N_("People I have played with"),
    "all": N_("Everybody"),
    "": N_("none"),
}
"""What values are called that are codes."""


class ChangedMeanwhile(Refused):
    """A setting was changed on this page and, since it was opened, elsewhere, too."""

    code = "changed_meanwhile"


def init_drawn(app: Flask) -> None:
    """Give templates `drawn(values)`."""
    app.jinja_env.globals["drawn"] = field


def field(values: Mapping[str, object]) -> Markup:
    """Return the hidden field that says what a form is drawn with: these values, or once more what the form said."""
    again = flask.request.form.get("drawn", "") if not flask.g.get("changed_meanwhile") else ""
    text = again or json.dumps(
        {name: _digest(value) for name, value in values.items()}, separators=(",", ":")
    )
    return Markup('<input type="hidden" name="drawn" value="{}">').format(text)


def settled(typed: Mapping[str, str], stored: Mapping[str, object]) -> dict[str, str]:
    """Return what to store: what was typed where that differs from what the form was drawn with, else what is stored.

    Args:
        typed: the fields that the form has.
        stored: all fields, as they are now.

    Raises:
        ChangedMeanwhile: both have changed, differently.
    """
    was = _read(flask.request.form.get("drawn", ""))
    found, both = {name: str(value) for name, value in stored.items()}, []
    for name, text in typed.items():
        if name in was and was[name] == _digest(text):
            continue
        if name in was and was[name] != _digest(found[name]) and _digest(text) != _digest(found[name]):
            both.append(name)
        found[name] = text
    if both:
        flask.g.changed_meanwhile = True
        changes = "; ".join(
            f"{gettext(LABELS.get(name, name))}: {_shown(name, str(stored[name]))}" for name in both
        )
        raise ChangedMeanwhile(
            "This was changed elsewhere since you opened the page: %(changes)s. The form still has what you entered; "
            "save again to replace it.",
            changes=changes,
        )
    return found


def _digest(value: object) -> str:
    text = "\n".join(line.rstrip() for line in without_isolates(str(value)).splitlines()).strip()
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:12]


def _read(text: str) -> dict[str, str]:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return {str(name): str(digest) for name, digest in found.items()} if isinstance(found, dict) else {}


def _shown(name: str, value: str) -> str:
    if name in ("allowance", "bank"):
        return str(format_timedelta(timedelta(seconds=int(value))))
    return str(gettext(VALUES[value])) if value in VALUES else excerpt(value)


# ---- the page of a form ----


def is_for_forms(status: int) -> bool:
    """Whether the address of a page that cannot be shown is one that only forms are sent to.

    Args:
        status: 405, or 404 where the address of another page has the same shape: /m/reachable could name a game.
    """
    request = flask.request
    if status not in (404, 405) or request.path.startswith("/api/"):
        return False
    try:
        rule, _arguments = flask.current_app.url_map.bind("").match(request.path, "POST", return_rule=True)
    except (HTTPException, RequestRedirect):
        return False
    return status == 405 or (request.url_rule is not None and rule.rule != request.url_rule.rule)


def page_of(path: str) -> str:
    """Return the nearest page above an address: /t/…/say belongs to /t/…, /account/mutes to /account, the rest to /.

    Args:
        path: without the path of the base URL.
    """
    routes = flask.current_app.url_map
    pages = {rule.rule for rule in routes.iter_rules() if "GET" in (rule.methods or ())}
    try:
        rule, _arguments = routes.bind("").match(path, method="POST", return_rule=True)
    except (HTTPException, RequestRedirect):
        return f"{flask.request.script_root}/"
    above, segments = rule.rule.rstrip("/"), path.rstrip("/")
    while above and above not in pages:
        above, segments = above.rpartition("/")[0], segments.rpartition("/")[0]
        if f"{above}/" in pages:  # the desk, or the home page
            return f"{flask.request.script_root}{segments}/"
    return flask.request.script_root + segments


# ---- forms that were sent ----
# The row is written by the first transaction of the request, so it stands exactly when something has changed.

LONGEST_ANSWER = 300
_STORED_LINK = re.compile(r"\{link (\d+)\}")


class Repeated(Exception):
    """The form has been sent before, and something has changed."""


def _claim(session: Session, key: str, now: datetime) -> None:
    """Note in a transaction that a form is being carried out.

    Raises:
        Repeated: it has been, by another request, which this one may have waited for.
    """
    try:
        session.execute(insert(Submission).values(key=key, at=now))
    except IntegrityError:
        raise Repeated from None


def _answered(key: str, location: str) -> None:
    """Store where the answer to a form leads; a token in it stays out of the database."""
    with transaction() as session:
        token = links.token_in(location)
        digest = hashlib.sha256(token.encode()).hexdigest()
        link = session.scalar(select(Link.id).where(Link.digest == digest)) if token else None
        masked = location.replace(token, f"{{link {link}}}") if token and link else location
        answer = masked if len(masked) <= LONGEST_ANSWER and not (token and link is None) else None
        session.execute(update(Submission).where(Submission.key == key).values(answer=answer))


def _forget(key: str) -> None:
    """Let a form be sent once more: it was refused after all."""
    with transaction() as session:
        session.execute(delete(Submission).where(Submission.key == key))


def _answer_to(key: str) -> tuple[str | None] | None:
    """Return where the answer to a form that was sent leads, None in place of it if that is not known; None if new."""
    with reading() as session:
        found = session.get(Submission, key)
        if found is None:
            return None
        match = _STORED_LINK.search(found.answer or "")
        if match is None or found.answer is None:
            return (found.answer,)
        link = links.get(session, int(match[1]))
        return (found.answer.replace(match[0], links.token(link)) if link else None,)


# ---- once ----
# A page with a form that makes something gets a fresh request id in it, by default. Browsers and proxies keep no page:
# an id would come back later, or from others. A repetition with the same fields is led to where the first one led.
# `SETS`, `ASKS` and `OWN` name the forms that need none.

LOGGER = logging.getLogger(__name__)

OWN = {
    "turn.move": "the log holds the request id",
    "turn.say": "the words hold the request id",
    "api.move": "the log holds the request id",
    "api.say": "the words hold the request id",
    "api.leave_order": "clients send no id; the same order is refused while it stands",
    "api.again": "there is one next game",
    "leave.play_again": "there is one next game",
    "new_game.keep": "the second press leads to the seat of the first",
    "moderation.act": "it is refused once the game has moved on since the preview",
    "account.redeem": "a link signs in once",
}
"""Forms that are recognised without an id of the page."""
SETS = {
    "account.save do=save": "saves the settings that were changed on the page",
    "account.save do=back": "removes one absence",
    "account.save do=mute": "mutes a game",
    "account.save do=unmute": "ends that",
    "account.save do=mute-all": "mutes all games",
    "account.save do=unmute-all": "ends that",
    "account.set_invitations": "allows invitations or not",
    "account.unblock": "ends a block",
    "account.end_sessions": "signs browsers out",
    "account.sign_out": "signs this browser out",
    "account.unmute": "shows somebody's words again",
    "profiles.block": "blocks somebody, or ends it",
    "profiles.block_player": "blocks somebody",
    "account.delete_account": "deletes an account",
    "account.change_address do=stop": "stops a change of address",
    "account.object_to": "stops a change of address",
    "invitations.refuse_all": "allows invitations or not",
    "invitations.act do=list": "lists the game",
    "invitations.act do=unlist": "ends that",
    "invitations.act do=talk": "allows table talk",
    "invitations.act do=hush": "ends that",
    "invitations.act do=go-on": "keeps the table going",
    "invitations.act do=end": "ends that",
    "invitations.act do=pace": "sets the time control",
    "locale.choose": "chooses a language",
    "new_game.dismiss": "hides an explanation",
    "turn.mail_again": "confirms an address",
    "turn.note": "saves the notes",
    "leave.leave": "gives up a seat, or switches the autopilot",
    "leave.offer": "offers a seat, or ends that",
    "unsubscribe.refuse_player_news": "stops or resumes emails about players",
    "unsubscribe.unsubscribe": "sets which emails are sent",
    "open_tables.stop": "ends a subscription",
    "moderation.desk.clear": "closes an alert",
    "moderation.desk.mend": "confirms an address",
    "moderation.preview": "shows what an act would do",
    "verify.upload": "stores nothing",
}
"""Forms that set a state: sent twice, it is the same, and sent later from an old page, it is wanted again."""
ASKS = {
    "home.fresh_link": "a link by email",
    "account.ask_link": "a link by email",
    "invitations.ask_link": "a link by email",
    "account.change_address do=mail": "a link by email",
    "open_tables.ask_link": "a link by email",
    "turn.mail_games": "links by email",
    "new_game.ask_to_keep": "a link by email",
}
"""Forms that ask for an email: asked again, it is wanted again, within the limits of the outbox."""
_KNOWN = frozenset((*OWN, *SETS, *ASKS))
WAIT = 2.0
"""Seconds that a repetition waits for the answer to the first request."""
_FORM = re.compile(r"(<form\b[^>]*\bmethod=\"post\"[^>]*>)(.*?)(?=</form>)", re.IGNORECASE | re.DOTALL)
_TOKEN = re.compile(r"[a-z2-7]{26}")
_ACTION = re.compile(r"\baction=\"([^\"]*)\"")


def init_app(app: Flask) -> None:
    """Put the ids into the pages of an app, and recognise repetitions; after CSRF protection and rate limits."""
    app.before_request(_begin)
    app.after_request(_end)
    app.after_request(_put_ids)
    app.register_error_handler(Repeated, _repeated)


def is_once(endpoint: str, do: str | None = None) -> bool:
    """Whether a form gets a request id.

    Args:
        do: the button that was pressed; None for the whole form.
    """
    return endpoint not in _KNOWN and (do is None or f"{endpoint} do={do}" not in _KNOWN)


def _begin() -> AnyResponse | None:
    request = flask.request
    engine.first_write(None)
    flask.g.submission = None
    if request.method != "POST" or not request.endpoint or not is_once(request.endpoint):
        return None
    request_id = request.form.get("request_id", "")
    if not play.REQUEST_ID.fullmatch(request_id) or not is_once(request.endpoint, request.form.get("do", "")):
        return None
    key = _key(request_id)
    if _answer_to(key) is not None:
        return _answer(key)
    flask.g.submission = key
    engine.first_write(partial(_claim, key=key, now=engine.utc_now()))
    return None


def _key(request_id: str) -> str:
    """Return what tells a form that was sent from all others: its id, its address and its fields."""
    request = flask.request
    fields = sorted((name, value) for name, value in request.form.items(multi=True) if name != "csrf_token")
    return hashlib.sha256(repr((request_id, request.path, fields)).encode()).hexdigest()


def _repeated(_error: Repeated) -> AnyResponse:
    key, flask.g.submission = flask.g.submission, None
    return _answer(key)


def _answer(key: str) -> AnyResponse:
    """Lead a repetition to where the first request led, or to the page that the form is on."""
    until = time.monotonic() + WAIT
    while (found := _answer_to(key)) is not None and found[0] is None and time.monotonic() < until:
        time.sleep(0.05)
    return flask.redirect((found and found[0]) or page_of(flask.request.path), 303)


def _end(response: Response) -> Response:
    key, written = flask.g.get("submission"), engine.has_written()
    engine.first_write(None)
    if key is None or not written:
        return response
    try:
        if response.status_code >= 400:
            _forget(key)
        else:
            _answered(key, response.location or "")
    except DBAPIError:
        LOGGER.warning("the answer to a form was not stored")
    return response


def _put_ids(response: Response) -> Response:
    if (
        response.mimetype == "text/html"
        and not response.direct_passthrough
        and response.status_code not in (204, 304)
    ):
        page = response.get_data(as_text=True)
        changed = _FORM.sub(_with_id, page)
        if changed is not page and changed != page:
            response.set_data(changed)
    return response


def _with_id(form: re.Match[str]) -> str:
    action = _ACTION.search(form[1])
    path = urlsplit(action[1]).path if action else flask.request.path
    path = _TOKEN.sub("a" * 26, path.removeprefix(flask.request.script_root))
    endpoint = _endpoint(flask.current_app.url_map, path)
    if endpoint is None or not is_once(endpoint):
        return form[0]
    return f'{form[0]}<input type="hidden" name="request_id" value="{secrets.token_urlsafe(16)}">'


@lru_cache(1024)
def _endpoint(routes: Map, path: str) -> str | None:
    """Return where a form leads; the paths of links to different seats count as one."""
    try:
        endpoint, _arguments = routes.bind("").match(path, method="POST")
    except (HTTPException, RequestRedirect):
        return None
    return str(endpoint)
