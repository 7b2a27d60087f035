"""Finished pages that are kept in memory for visitors who are not signed in, since everyone else gets the same one.

Nothing about a visitor but the language is in such a page: a request with a session or a query is never answered from
here and never kept. Each process keeps its own pages, so a new release begins without any.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import flask
from flask import Flask, Response

from server import i18n
from server.store.models import Game

MOST = 200
"""Pages that a process keeps; at 60 kB each, 12 MB."""


class Key(NamedTuple):
    """What a kept page depends on."""

    game_id: str
    revision: int
    head: int
    language: str
    following: str | None
    """The next game, if it is listed."""


@dataclass(slots=True)
class Pages:
    """The pages of one application, the most recently used last."""

    _pages: OrderedDict[Key, bytes] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, key: Key) -> bytes | None:
        """Return a page, or None."""
        with self._lock:
            if key in self._pages:
                self._pages.move_to_end(key)
            return self._pages.get(key)

    def keep(self, key: Key, page: bytes) -> None:
        """Keep a page, and drop the one that was not used for the longest time if there are too many."""
        with self._lock:
            self._pages[key] = page
            while len(self._pages) > MOST:
                self._pages.popitem(last=False)


def init_app(app: Flask) -> None:
    """Give an application its own pages."""
    app.extensions["kept_pages"] = Pages()


def may_keep(game: Game) -> bool:
    """Whether this game is over, and this visitor gets the page that everyone else gets."""
    request = flask.request
    plain = request.method == "GET" and not request.query_string and not flask.session
    return plain and game.status == "over"


def response(game: Game, following: Game | None, render: Callable[[], str]) -> Response:
    """Return the page of a game for which `may_keep` holds.

    Args:
        following: the next game, if everyone may know it.
        render: called if the page is not kept.
    """
    pages: Pages = flask.current_app.extensions["kept_pages"]
    language = i18n.current_language()
    key = Key(game.id, game.revision, game.head, language, following.id if following else None)
    page = pages.get(key)
    if page is None:
        page = render().encode()
        pages.keep(key, page)
    return Response(page, mimetype="text/html")
