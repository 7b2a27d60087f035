"""Each form that makes something is carried out once, however often a browser sends it.

A page with a form of such a kind gets a fresh request id in it, by default. Browsers and proxies keep no page: an id
would come back later, or from others. A repetition with the same fields is led to where the first one led.
`SETS`, `ASKS` and `OWN` name the forms that need none.
"""

from __future__ import annotations

import hashlib
import logging
import re
import secrets
import time
from functools import lru_cache, partial
from urllib.parse import urlsplit

import flask
from flask import Flask, Response
from sqlalchemy.exc import DBAPIError
from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map, RequestRedirect
from werkzeug.wrappers import Response as AnyResponse

from server import play
from server.store import engine, submissions
from server.store.submissions import Repeated
from server.web import belongs

LOGGER = logging.getLogger(__name__)

OWN = {
    "turn.move": "the log holds the request id",
    "talk.say": "the words hold the request id",
    "api.move": "the log holds the request id",
    "api.say": "the words hold the request id",
    "api.leave_order": "clients send no id; the same order is refused while it stands",
    "api.again": "there is one next game",
    "again.press": "there is one next game",
    "trials.keep": "the second press leads to the seat of the first",
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
    "mutes.unmute": "shows somebody's words again",
    "people.block": "blocks somebody, or ends it",
    "people.block_player": "blocks somebody",
    "leaving.delete": "deletes an account",
    "moving.change do=stop": "stops a change of address",
    "moving.object_to": "stops a change of address",
    "invitations.refuse_all": "allows invitations or not",
    "invitations.act do=list": "lists the game",
    "invitations.act do=unlist": "ends that",
    "invitations.act do=talk": "allows table talk",
    "invitations.act do=hush": "ends that",
    "invitations.act do=go-on": "keeps the table going",
    "invitations.act do=end": "ends that",
    "invitations.act do=pace": "sets the time control",
    "locale.choose": "chooses a language",
    "trials.dismiss": "hides an explanation",
    "turn.mail_again": "confirms an address",
    "talk.note": "saves the notes",
    "leave.leave": "gives up a seat, or switches the autopilot",
    "seat_offers.offer": "offers a seat, or ends that",
    "unsubscribe.refuse_player_news": "stops or resumes emails about players",
    "unsubscribe.unsubscribe": "sets which emails are sent",
    "tables.stop": "ends a subscription",
    "moderation.desk.clear": "closes an alert",
    "moderation.desk.mend": "confirms an address",
    "moderation.preview": "shows what an act would do",
    "verify.upload": "stores nothing",
}
"""Forms that set a state: sent twice, it is the same, and sent later from an old page, it is wanted again."""
ASKS = {
    "lobby.fresh_link": "a link by email",
    "account.ask_link": "a link by email",
    "joining.ask_link": "a link by email",
    "moving.change do=mail": "a link by email",
    "offers.ask_link": "a link by email",
    "turn.mail_games": "links by email",
    "trials.ask_to_keep": "a link by email",
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
    if submissions.find(key) is not None:
        return _answer(key)
    flask.g.submission = key
    engine.first_write(partial(submissions.claim, key=key, now=engine.utc_now()))
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
    while (found := submissions.find(key)) is not None and found[0] is None and time.monotonic() < until:
        time.sleep(0.05)
    return flask.redirect((found and found[0]) or belongs.page_of(flask.request.path), 303)


def _end(response: Response) -> Response:
    key, written = flask.g.get("submission"), engine.has_written()
    engine.first_write(None)
    if key is None or not written:
        return response
    try:
        if response.status_code >= 400:
            submissions.forget(key)
        else:
            submissions.answered(key, response.location or "")
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
