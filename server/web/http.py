"""What pages share: guards, limits, error pages."""

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
"""Guards every POST that a cookie vouches for; pages opened by a token in the address are exempt."""


limiter = Limiter(get_remote_address, storage_uri="memory://", default_limits=["600/minute"])


def said(error: Refused | RulesError) -> str:
    """What a refusal says, in the reader's language."""
    sentence: str = gettext(error.message)
    return sentence % error.places if error.places else sentence


def moment(at: datetime, zone: str = "UTC") -> str:
    """A moment in words, in this time zone, with the zone named.

    In the hour that comes twice in autumn the offset from UTC is named, too: without it nobody knew which one is meant.
    """
    local = at.astimezone(ZoneInfo(zone))
    twice = local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset()
    offset = f" UTC{local.isoformat()[-6:]}" if twice else ""
    return f"{format_datetime(local, f'EEE {i18n.day()}, HH:mm', rebase=False)}{offset} ({zone.replace('_', ' ')})"


def error_page(status: int, title: str, sentence: str, **more: object) -> tuple[str, int]:
    """A page that says what is wrong and what would do."""
    return render_template("error.html", title=title, sentence=sentence, **more), status


GAME_ID = re.compile(r"[0-9A-Za-z_-]{1,16}")


def unknown_link(token: str) -> NoReturn:
    """Answer that a link opens nothing: the same page whether it never existed, was revoked, or its owner left.

    A view says `links.find(…) or unknown_link(token)`: it goes no further, and a transaction that is open rolls back.
    """
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
