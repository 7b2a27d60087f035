"""What a process has drawn once and keeps is what it would draw anew, whoever reads it, and whenever."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from datetime import timedelta
from functools import cache
from typing import Any

import pytest
from flask import Flask
from jinja2 import nodes
from jinja2.meta import find_undeclared_variables
from sqlalchemy import update

from server import create_app, i18n
from server.mail.outgoing.compose import ComposedMail
from server.store import engine, outbox
from server.store.models import Game, Mail, Person, Seat
from server.web import assets, templating
from server.web.game import history
from tests.conftest import NOW, Table
from tests.support.databases import settings
from tests.support.game_data import SEATS
from tests.support.games import play_on, position, submit, url
from tests.support.mails import compose_again, one_database
from tests.support.pages import without_ids

KNOWN = {
    *("once", "_", "gettext", "ngettext", "pgettext", "N_", "plain", "sprite", "said"),
    *("range", "dict", "namespace", "loop", "caller", "none", "zone_of"),
}
"""What macros may use besides their arguments and what their file defines or imports; of a request, nothing but its
language and the path under which the server lies."""


@cache
def _templates(app: Flask) -> dict[str, nodes.Template]:
    environment = app.jinja_env
    assert environment.loader is not None
    names = [name for name in environment.list_templates() if name.endswith(".html")]
    return {name: environment.parse(environment.loader.get_source(environment, name)[0]) for name in names}


def _imported(tree: nodes.Template) -> dict[str, str]:
    """Return the ends of the names of the files that a template imports macros from, by its names for them."""
    found = {}
    each: Any
    for each in (*tree.find_all(nodes.Import), *tree.find_all(nodes.FromImport)):
        texts = [str(each.template.value)] if isinstance(each.template, nodes.Const) else []
        texts += [str(const.value) for const in each.template.find_all(nodes.Const)]
        if isinstance(each, nodes.Import):
            found[each.target] = (texts or [f"/{each.target}.html"])[-1]
        else:
            found |= {name[1] if isinstance(name, tuple) else name: texts[-1] for name in each.names}
    return found


def _kept(app: Flask) -> set[tuple[str, str]]:
    """Return the macros whose drawings are kept: the file, or how its name ends, and the macro."""
    found = set()
    for name, tree in _templates(app).items():
        imported = _imported(tree)
        for call in tree.find_all(nodes.Call):
            if not (isinstance(call.node, nodes.Name) and call.node.name == "once" and call.args):
                continue
            macro = call.args[0]
            if isinstance(macro, nodes.Getattr) and isinstance(macro.node, nodes.Name):
                alias = macro.node.name if macro.node.name != "part" else "mail"
                found.add((imported.get(alias, f"/{alias}.html"), macro.attr))
            elif isinstance(macro, nodes.Name):
                found.add((imported.get(macro.name, name), macro.name))
    return found


def _looks_at(app: Flask, tree: nodes.Template, macro: nodes.Macro) -> set[str]:
    """Return what a macro looks at besides its arguments, and what stands in its file for all readers."""
    own = {each.name for each in tree.find_all(nodes.Macro)} | set(_imported(tree))
    for each in (*tree.body, *macro.find_all(nodes.Assign)):
        if isinstance(each, nodes.Assign):
            own |= {
                name.name
                for name in (each.target, *each.target.find_all(nodes.Name))
                if hasattr(name, "name")
            }
    alone = nodes.Template([macro])
    alone.set_environment(app.jinja_env)
    return find_undeclared_variables(alone) - own - KNOWN


def test_what_is_kept_looks_at_nothing_but_its_arguments(app: Flask) -> None:
    kept = _kept(app)
    assert {("games/byzanz/parts.html", "bidder"), ("partials/log.html", "_entry")} <= kept
    found = {
        (file, macro.name, name)
        for file, tree in _templates(app).items()
        for macro in tree.find_all(nodes.Macro)
        if any(file.endswith(end) and macro.name == name for end, name in kept)
        for name in _looks_at(app, tree, macro)
    }
    assert found == set()


def _forget(app: Flask) -> None:
    """Forget everything that is kept."""
    once: Any = app.jinja_env.globals["once"]
    inspect.getclosurevars(once).nonlocals["make"].cache_clear()
    i18n._translated.cache_clear()
    history._short.cache_clear()
    templating._path.cache_clear()
    assets._sheet_path.cache_clear()


CHANGES: dict[str, Callable[[], None]] = {}


def change(what: Callable[[], None]) -> Callable[[], None]:
    """Register something on which a page depends."""
    CHANGES[what.__name__] = what
    return what


@change
def nothing() -> None:
    """Nothing changes."""


@change
def a_move() -> None:
    """Somebody moves."""
    now = position("g1")
    seat = min(now.awaited)
    submit("g1", seat, str(now.rules.moves(now.state, seat)[0]))


@change
def a_name() -> None:
    """A player has another name, written from right to left."""
    _set(Seat, stored_name="\u05d3\u05e0\u05d9 <b>")


@change
def a_zone() -> None:
    """All readers live elsewhere."""
    _set(Person, time_zone="Asia/Kolkata")


@change
def a_language() -> None:
    """All readers read German."""
    _set(Person, language="de")


@change
def another_zone_of_the_table() -> None:
    """The table has another time zone."""
    _set(Game, time_zone="America/New_York")


@change
def a_former_player() -> None:
    """Nobody keeps the name of a player."""
    _set(Seat, stored_name="Former player")


def _set(model: type[Game | Seat | Person], **values: object) -> None:
    where = {Game: Game.id == "g1", Seat: (Seat.game_id == "g1") & (Seat.seat == 1), Person: Person.id > 0}[
        model
    ]
    with engine.transaction() as session:
        session.execute(update(model).where(where).values(**values))


@one_database
@pytest.mark.parametrize("slug", ["byzanz", "byzantium", "empire"])
@pytest.mark.parametrize("what", CHANGES)
def test_pages_are_those_that_nothing_was_kept_for(
    app: Flask, table: Callable[..., Table], slug: str, what: str
) -> None:
    game = table(SEATS[slug], slug=slug)
    play_on(game.id, 12)
    everybody = range(SEATS[slug])
    warm = app.test_client()
    for seat in everybody:  # each reader, so that none may see what another has had drawn
        warm.get(url(game, seat))
    CHANGES[what]()
    kept = [without_ids(warm.get(url(game, seat)).text) for seat in everybody]
    anew = []
    for seat in everybody:
        _forget(app)
        anew.append(without_ids(warm.get(url(game, seat)).text))
    assert _without_now(kept) == _without_now(anew)
    assert len(set(kept)) == len(kept)


def _without_now(pages: list[str]) -> list[str]:
    return [re.sub(r' data-now="[^"]*"', "", page) for page in pages]


@one_database
@pytest.mark.parametrize("what", CHANGES)
def test_emails_are_those_that_nothing_was_kept_for(
    app: Flask, table: Callable[..., Table], what: str
) -> None:
    game = table(4)
    play_on(game.id, 12)
    _mail(game)
    CHANGES[what]()
    kept = _mail(game)
    _forget(app)
    assert _mail(game).message.content == kept.message.content


def _mail(game: Table) -> ComposedMail:
    """Return the email of the turn that is open."""
    seat = min(position(game.id).awaited)
    with engine.transaction() as session:
        outbox.enqueue(
            session,
            key=f"again:{seat}",
            kind="turn",
            person_id=game.people[seat],
            now=NOW,
            game_id=game.id,
            seat=seat,
            seq=position(game.id).head,
        )
        mail = session.query(Mail).filter_by(key=f"again:{seat}").one()
        return compose_again(session, mail, NOW + timedelta(minutes=1))


@one_database
def test_a_server_below_a_path_shares_no_addresses_with_another(
    app: Flask, table: Callable[..., Table], database_url: str
) -> None:
    game = table(4)
    above = app.test_client().get(url(game, 0)).text
    below = create_app(settings(database_url, base_url="https://byzanz.test/below")).test_client()
    assert 'href="/below/static/style-byzanz-turn-' in below.get(url(game, 0)).text
    assert "/below/" not in above
