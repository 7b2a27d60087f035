"""Shared by all pages: whose request it is and where it came in, CSRF protection, rate limits, error pages.

The address of the server is that of BYZANZ_BASE_URL, whatever a request or a proxy claims. So nothing but the visitors'
own addresses is needed from a proxy, links never lead to a forged host, and the server may lie under a path of a host,
whether the proxy strips this path or passes it on.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any, NoReturn
from urllib.parse import urlsplit
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import flask
from flask import Flask, abort, current_app, g, make_response, render_template, request
from flask import session as cookie
from flask_babel import format_datetime, gettext
from flask_limiter import ApplicationLimit, Limiter
from flask_wtf.csrf import CSRFProtect
from sqlalchemy.orm import Session
from werkzeug.exceptions import HTTPException
from werkzeug.sansio.utils import get_host
from werkzeug.wrappers import Response

from byzanz.moves import RulesError
from server import i18n
from server.accounts import login
from server.config import ConfigError, Settings
from server.errors import InvalidLines, Refused
from server.i18n import N_
from server.i18n.characters import isolated
from server.store import engine, links, people
from server.store.engine import utc_now
from server.store.links import SeatAccess
from server.web import locale
from server.web.plain_games import in_words

CLAIMED_HOST = "byzanz.claimed-host"
"""Where a request keeps the Host header with which it came."""
ROUTE = "byzanz.route"
"""Where a request keeps its route when it ends, for the metrics."""


def init_app(app: Flask) -> None:
    """Put every request under BYZANZ_BASE_URL, with the visitor's address that the proxies tell; after all routes.

    Raises:
        ConfigError: the host of BYZANZ_BASE_URL is impossible, or its path cannot be told from that of a page.
    """
    settings: Settings = app.config["BYZANZ"]
    parts = urlsplit(settings.base_url)
    if not get_host(parts.scheme, parts.netloc):
        raise ConfigError(f"BYZANZ_BASE_URL: {parts.hostname} is not a valid host name")
    segments = parts.path.split("/")[1:]
    taken = {rule.rule.split("/")[1] for rule in app.url_map.iter_rules()}
    if {*segments[:1]} & taken or {".", ".."} & {*segments}:
        raise ConfigError(
            f"BYZANZ_BASE_URL: the path {parts.path} leads to another page; choose one like /byzanz"
        )
    app.wsgi_app = BaseUrl(app.wsgi_app, settings.base_url)  # type: ignore[method-assign]
    app.wsgi_app = Forwarded(app.wsgi_app, settings.proxy_hops)  # type: ignore[method-assign]


class BaseUrl:
    """WSGI middleware that gives each request the scheme, the host and the path of the base URL.

    Args:
        app: the application.
        base_url: without a slash at its end.
    """

    def __init__(self, app: WSGIApplication, base_url: str) -> None:
        self._app = app
        parts = urlsplit(base_url)
        self._path = parts.path
        self._given = {
            "wsgi.url_scheme": parts.scheme,
            "HTTP_HOST": parts.netloc,
            "SCRIPT_NAME": parts.path,
        }

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        asked = environ | self._given
        asked[CLAIMED_HOST] = environ.get("HTTP_HOST", "")
        path = environ.get("PATH_INFO", "")
        if self._path and f"{path}/".startswith(f"{self._path}/"):  # else the proxy has stripped it
            asked["PATH_INFO"] = path[len(self._path) :]
        return self._app(asked, start_response)


# ---- the visitor ----
# All limits by address ask here. Anybody who controls one IPv6 address usually controls many around it, so limits
# count growing networks as well.

Address = IPv4Address | IPv6Address
GROWING = {4: (32, 24), 6: (64, 56, 48)}
"""By the version of an address, how many of its first bits its networks have in common, the smallest first."""
_PORT = r"(?::[0-9]{1,4}|:[1-5][0-9]{4}|:6[0-5][0-9]{3})?"
_WRITTEN = re.compile(
    rf"\[(?P<inner>[0-9A-Fa-f.:]+)(?:%[^\]]*)?\]{_PORT}|(?P<four>[0-9.]+){_PORT}|(?P<six>[0-9A-Fa-f.:]+)(?:%.*)?",
    re.ASCII,
)
LONGEST = 100
"""Characters of an address with its port and zone; what is longer is none."""


def parse(text: str) -> Address | None:
    """Return the address in an entry of X-Forwarded-For, whatever port, quotes, brackets or zone are around it.

    An IPv4 address written as one of IPv6 is the IPv4 address.
    """
    found = _WRITTEN.fullmatch(text.strip().strip('"')) if len(text) <= LONGEST else None
    if found is None:
        return None
    try:
        address = ip_address(found["inner"] or found["four"] or found["six"])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def around(address: Address) -> tuple[str, ...]:
    """Return the networks around an address, the smallest first."""
    return tuple(str(ip_network((int(address), bits), strict=False)) for bits in GROWING[address.version])


def address() -> Address | None:
    """Return the address of this request's visitor; None if it came without one, as through a Unix socket."""
    return parse(flask.request.remote_addr or "")


def networks() -> tuple[str, ...]:
    """Return the networks of this request's visitor, as `networks_of` does."""
    return networks_of(flask.request.environ)


def networks_of(environ: WSGIEnvironment) -> tuple[str, ...]:
    """Return the networks of a request's visitor, the smallest first; requests without an address share one."""
    return _networks(environ.get("REMOTE_ADDR", ""))


@lru_cache(4096)
def _networks(text: str) -> tuple[str, ...]:
    found = parse(text)
    return around(found) if found is not None else ("no address",)


class Forwarded:
    """WSGI middleware that gives each request the address of its visitor, as the proxies before this server tell it.

    Each proxy appends to X-Forwarded-For what it sees. An entry that is no address is ignored, and with it the rest of
    the header: then the request counts as the nearest proxy's own.

    Args:
        app: the application.
        hops: the number of proxies that append to the header.
    """

    def __init__(self, app: WSGIApplication, hops: int) -> None:
        self._app = app
        self._hops = hops

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        told = environ.get("HTTP_X_FORWARDED_FOR", "").split(",")
        # Not as a list of quoted strings: a visitor's opening quote would swallow what the proxy appends.
        found = parse(told[-self._hops]) if 0 < self._hops <= len(told) else None
        if found is not None:
            environ = environ | {"REMOTE_ADDR": str(found)}
        return self._app(environ, start_response)


# ---- pages ----

csrf = CSRFProtect()
"""Protects every POST authorised by a cookie; pages authorised by a token in the URL are exempt."""


LARGEST_STEP = 60.0
"""Seconds; the machine's clock ends the counts, so they are forgotten when it jumps further than this."""


def _smallest() -> str:
    return networks()[0]


def browser() -> str:
    """Return the browser of somebody who has signed in, so that a whole house may load their data, or the visitor."""
    token = cookie.get(login.COOKIE_KEY)
    return f"browser:{token}" if isinstance(token, str) else _smallest()


def _largest() -> str:
    return networks()[-1]


def _is_reading() -> bool:
    return request.method in ("GET", "HEAD", "OPTIONS")


MOST_REQUESTS, ALL_REQUESTS = "2400/minute", "all"
MOST_CHANGES, ALL_CHANGES = "600/minute", "changes"
"""Limits of all that a visitor asks of this process, and the scopes in which they count."""
limiter = Limiter(
    _smallest,
    storage_uri="memory://",
    default_limits=["600/minute"],
    application_limits=[
        ApplicationLimit(MOST_REQUESTS, _largest, scope=ALL_REQUESTS),
        ApplicationLimit(MOST_CHANGES, _largest, exempt_when=_is_reading, scope=ALL_CHANGES),
    ],
)
"""Limits what one visitor may ask of this process: all addresses of a /64 of IPv6 are one visitor, and so are, for all
that they do together, those of a /48 or of a /24 of IPv4."""


def _spent() -> int:
    began: float = g.began
    return max(1, round((time.thread_time() - began) * 1000))


costly = limiter.shared_limit(
    "6000/minute", scope="games", cost=_spent, deduct_when=lambda _response: True, override_defaults=False
)
"""Limits the milliseconds of processor time that one visitor may take for games' public pages, which draw, replay or
verify a game for anybody who asks."""


def init_limits(app: Flask) -> None:
    """Limit how much one visitor may ask of an app."""
    clock = {"ahead": time.time() - time.monotonic()}

    def begin() -> None:
        g.began = time.thread_time()
        ahead = time.time() - time.monotonic()
        if abs(ahead - clock["ahead"]) > LARGEST_STEP:
            clock["ahead"] = ahead
            if limiter.enabled:
                limiter.reset()

    app.before_request(begin)
    limiter.init_app(app)


def refusal_text(error: Refused | RulesError, slug: str | None = None) -> str:
    """Return the message of a refusal in the reader's language.

    Args:
        slug: the game whose words name cards and moves; codes stay codes if None.
    """
    if isinstance(error, InvalidLines):
        told = [(number, refusal_text(why)) for number, why in error.lines]
        return "\n".join(gettext("Line %(line)s: %(why)s", line=number, why=why) for number, why in told)
    sentence = i18n.DOMAIN.get_translations(slug or "").ugettext(error.message)
    places = error.places | _in_words(slug, error.places) if slug else error.places
    places = {name: isolated(value) if isinstance(value, str) else value for name, value in places.items()}
    sentence = sentence % places if places else sentence
    return sentence[:1].upper() + sentence[1:]


def _in_words(slug: str, places: Mapping[str, object]) -> dict[str, str]:
    """Return the places of a refusal in the words of their game: cards, the move, and what it translates itself."""
    load = current_app.jinja_env.get_template
    cards: Any = load(f"games/{slug}/cards.html").module
    words: Any = load(f"games/{slug}/words.html").module
    found = {name: in_words(slug, value) for name, value in places.items() if isinstance(value, str)}
    for name in {"card", "cards"} & places.keys():
        found[name] = cards.card_names(str(places[name]).split()).unescape()
    if "move" in places:
        found["move"] = words.option(places["move"]).unescape()
    return found


_WITH_CITIES = {
    "Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific"
}  # fmt: skip
"""Areas whose time zones are named after cities; wherever two share a city's name, they also share its time."""


def format_moment(at: datetime, zone: str = "UTC", now: datetime | None = None) -> str:
    """Format a moment in a time zone, with the zone's short name.

    In the hour that occurs twice in autumn the offset from UTC is added, to tell the two apart.

    Args:
        now: for a line that is read at once: no zone, and no date within six days.
    """
    local = at.astimezone(i18n.zone(zone))
    twice = local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset()
    offset = f" UTC{local.isoformat()[-6:]}" if twice else ""
    soon = now is not None and abs(at - now) < timedelta(days=6)
    text = format_datetime(
        local, "EEE HH:mm" if soon else f"EEE {i18n.day_format(local)}, HH:mm", rebase=False
    )
    return f"{text}{offset}" if now is not None else f"{text}{offset} ({zone_name(zone)})"


def zone_name(zone: str) -> str:
    """Return the short name of a time zone: its city if it has one (New York), else the full name (Etc/GMT+1)."""
    area, _, place = zone.partition("/")
    return (place.rpartition("/")[2] if area in _WITH_CITIES else zone).replace("_", " ")


def error_page(status: int, title: str, sentence: str, **more: object) -> tuple[str, int]:
    """Render an error page that says what is wrong and what to do."""
    return render_template("error.html", title=title, sentence=sentence, **more), status


WRONG_CLOCK = N_("The clock of this server is wrong. Nothing has changed. Try again in a few minutes.")
"""What every page and the API say until it is right."""
RETRY_AFTER = {429: 60, 503: 5}
"""Seconds after which a request should be repeated, by the status of its answer."""


def retry_after(status: int) -> int:
    """Return in how many seconds to ask again: when the limit that was exceeded ends, else as is usual."""
    exceeded = limiter.current_limit if status == 429 else None
    ends = exceeded.reset_at if exceeded and exceeded.breached else 0
    return max(1, round(ends - time.time())) if ends else RETRY_AFTER[status]


def hidden_outage(error: HTTPException) -> Exception | None:
    """Return the database's error that Flask hides in a general one, because it arose after the view had answered."""
    original = getattr(error, "original_exception", None)
    return original if isinstance(original, engine.UNAVAILABLE) else None


def sentence_if_unsure() -> str | None:
    """Return what to say about a failed request that may have been carried out; None if nothing has changed."""
    if not engine.may_have_changed() or request.method in ("GET", "HEAD"):
        return None
    sentence: str = (
        gettext("We do not know whether your move was saved. Reload the table to see.")
        if request.endpoint in ("turn.move", "api.move")
        else gettext("We do not know whether your change was saved. Reload the page to see.")
    )
    return sentence


def seat_access(session: Session, token: str) -> SeatAccess:
    """Return the seat that a link opens, or answer the request with the page for a dead link."""
    access = links.seat_access(session, token, utc_now()) or unknown_link(token)
    meet(access)
    return access


def meet(access: SeatAccess) -> None:
    """Answer the person whose link opened a seat in their language, and note that they are at the table."""
    request.environ[locale.READER] = (access.seat.person, access.link.purpose)
    note_presence(access.link.person_id, access.game.id)


TOUCHED = "X-Touched"
"""The header by which a visible page says that a pointer or a key has touched it lately (`static/live.js`)."""


def note_presence(person_id: int, game_id: str | None) -> None:
    """Note that a person is at a table if this request shows it: it sends a form, or asks for a page in use.

    What only reads shows nothing: programs that fetch links open pages and run their scripts.
    """
    asks = request.endpoint == "turn.head" and request.method == "GET" and TOUCHED in request.headers
    if asks or not _is_reading():
        people.note(person_id, utc_now(), game_id)


GAME_ID = re.compile(r"[0-9A-Za-z_-]{1,16}")


def unknown_link(token: str) -> NoReturn:
    """Render the page for a dead link: the same whether it never existed, was revoked, or its owner left."""
    page = error_page(
        404,
        gettext("This link does not work"),
        gettext(
            "It may be incomplete, or a newer one has replaced it. "
            "Use the link in your latest email, or request a new one."
        ),
        token=token[:80],
        fresh=True,
    )
    abort(make_response(page))


# ---- links with something more at their end ----
# Mail programs and people pass them on like this: they lead to the clean address.

_TAIL = re.compile(
    r"(?:[.,;:!*)\]}>'\"]|%(?:0[AD]|2[0279AC]|3[BE]|5D|7D|C2%A0|E2%80%(?:8B|9[CD]|A6)))+", re.IGNORECASE
)


def init_link_tails(app: Flask) -> None:
    """Redirect GET and HEAD of such a link, of every kind that there is."""
    app.before_request(_redirect)


def _redirect() -> Response | None:
    request = flask.request
    if request.method not in ("GET", "HEAD") or request.path.split("/", 2)[1] not in links.PATHS.values():
        return None
    path = links.clean_path(request.path)
    query = request.query_string.decode("ascii", "replace")
    paired = "%3C" in query.upper() or "<" in query
    kept = query if paired else re.sub(rf"(?:{_TAIL.pattern})$", "", query, flags=re.IGNORECASE)
    if path is None or (path == request.path and kept == query):
        return None
    return flask.redirect(f"{request.script_root}{path}{'?' if kept else ''}{kept}", 302)
