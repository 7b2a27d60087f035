"""The rules of each game, in our own words."""

from __future__ import annotations

from flask import Blueprint, render_template
from flask_babel import gettext as _

from byzanz.games import rules_of
from byzanz.rules import PUBLIC, BadSetup
from server.pages import error_page

blueprint = Blueprint("rules", __name__)


@blueprint.get("/rules/<slug>")
def page(slug: str) -> str | tuple[str, int]:
    """The rules of one game, and the table before the first shuffle, from which its cards can be drawn."""
    try:
        rules = rules_of(slug)
    except BadSetup:
        return error_page(404, _("Game not found"), _("The home page lists all games."))
    view = rules.view(rules.setup(min(rules.seats), {}), PUBLIC)
    return render_template("pages/rules.html", rules=rules, view=view)
