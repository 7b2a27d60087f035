"""Forms for settings save what was changed on them, so that an old page does not bring back what has changed meanwhile.

`drawn(values)` puts into a form what it was drawn with, as short digests; `settled` tells what to store.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import timedelta

import flask
from flask import Flask
from flask_babel import format_timedelta, gettext
from markupsafe import Markup

from server.errors import Refused
from server.i18n import N_
from server.i18n.characters import without_isolates
from server.validation import excerpt

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


def init_app(app: Flask) -> None:
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
