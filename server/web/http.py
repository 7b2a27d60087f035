"""Shared by all pages: CSRF protection, rate limits, error pages, dates."""

from __future__ import annotations

import re
from datetime import datetime
from typing import NoReturn
from zoneinfo import ZoneInfo

from flask import abort, make_response, render_template
from flask_babel import format_datetime, gettext
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address
from flask_wtf.csrf import CSRFProtect

from byzanz.moves import RulesError
from server import i18n
from server.errors import Refused

csrf = CSRFProtect()
"""Protects every POST authorised by a cookie; pages authorised by a token in the URL are exempt."""


limiter = Limiter(get_remote_address, storage_uri="memory://", default_limits=["600/minute"])


def refusal_text(error: Refused | RulesError) -> str:
    """Return the message of a refusal in the reader's language."""
    sentence: str = gettext(error.message)
    return sentence % error.places if error.places else sentence


_WITH_CITIES = {
    "Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific"
}  # fmt: skip
"""Areas whose time zones are named after cities; wherever two share a city's name, they also share its time."""


def format_moment(at: datetime, zone: str = "UTC") -> str:
    """Format a moment in a time zone, with the zone's short name.

    In the hour that occurs twice in autumn the offset from UTC is added, to tell the two apart.
    """
    local = at.astimezone(ZoneInfo(zone))
    twice = local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset()
    offset = f" UTC{local.isoformat()[-6:]}" if twice else ""
    text = format_datetime(local, f"EEE {i18n.day_format()}, HH:mm", rebase=False)
    return f"{text}{offset} ({zone_name(zone)})"


def zone_name(zone: str) -> str:
    """Return the short name of a time zone: its city if it has one (New York), else the full name (Etc/GMT+1)."""
    area, _, place = zone.partition("/")
    return (place.rpartition("/")[2] if area in _WITH_CITIES else zone).replace("_", " ")


def error_page(status: int, title: str, sentence: str, **more: object) -> tuple[str, int]:
    """Render an error page that says what is wrong and what to do."""
    return render_template("error.html", title=title, sentence=sentence, **more), status


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
