"""Bad input gets a clear answer (promise 13): no error 500, no traceback, and refusals change nothing."""

from __future__ import annotations

import io
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server import create_app
from server.community.talk import public_id
from server.store import engine
from tests.conftest import settings as configured
from tests.support.folders import RECORDS
from tests.support.lobby import everything
from tests.support.routes import DOORS, routes
from tests.support.visitors import UNKNOWN, Visitors, make_visitors

REQUESTS = int(os.environ.get("TEST_REQUESTS", "400"))
ANN = "Ann <ann@example.org>"
WORDS = ["because", "Ida", ""]
MOVES = ["pass", "bid cloth1", "sell merchant merchant merchant", "discard wine1", "b sp1", "done"]
ACTS = [
    "void",
    "extend",
    "credit",
    "bank",
    "autopilot",
    "pause",
    "resume",
    "replace",
    "link",
    "abandon",
    "note",
]
MODERATE = {
    "act": ACTS,
    "reason": WORDS,
    "entry": ["2", "3", "4"],
    "seat": ["0", "1", "3"],
    "hours": ["2"],
    "who": [ANN],
    "seen": ["7", "8"],
}
SAID = ["0" * 16]
"""Ids of words; those of the server are added once it has a key."""
FORMS: dict[str, dict[str, list[str]]] = {
    "/t/<token>": {
        "move": MOVES,
        "verb": ["bid", "sell"],
        "card": ["cloth1#0", "wine2#1"],
        "seen": ["4", "5", "7"],
        "request_id": ["a", "b", "c"],
        "say": WORDS,
    },
    "/api/v1/seats/<token>/moves": {"move": MOVES, "seen": ["5"], "request_id": ["a", "b"]},
    "/i/<token>": {"answer": ["accept", "decline"], "name": WORDS, "cut": WORDS},
    "/o/<token>": {
        "do": [
            *(
                "confirm",
                "remind",
                "drop",
                "invite",
                "fill",
                "start",
                "list",
                "unlist",
                "go-on",
                "end",
                "pace",
            ),
            *("keep-open", "fill-all", "offer", "talk", "hush"),
        ],
        "seat": ["0", "1", "2"],
        "guest": [ANN],
        "bot": ["greedy", "random"],
        "cut": WORDS,
        "allowance": ["172800", "1"],
        "bank": ["0", "86400"],
        "day_6": ["off"],
    },
    "/u/<token>": {"do": ["game", "undo-game", "all", "undo-all", "talk"], "talk": ["once", "never"]},
    "/join/<game_id>": {"name": WORDS, "cut": WORDS},
    "/tables/wishes": {
        "do": ["add", "delete"],
        "wish": ["1", "2"],
        "game": ["byzanz"],
        "size": ["3"],
        "pace": ["3600"],
    },
    "/take/<game_id>/<int(max=99):number>": {"name": WORDS},
    "/take/<game_id>/<int(max=99):number>/sign-in": {"address": ["alice@example.org"]},
    "/t/<token>/offer": {"seat": ["1", "2"]},
    "/m/<game_id>/offer": {"seat": ["1", "2"], "do": ["offer", "withdraw"]},
    "/account/address": {"do": ["ask", "stop", "mail"], "address": ["alice@example.org", "new@example.org"]},
    "/c/<token>": {"do": ["confirm", "join", "stop"], "handle": ["own", "other"]},
    "/x/<token>": {"do": ["stop"]},
    "/sign-in": {"address": ["alice@example.org", "bob@example.org"]},
    "/link": {"token": [UNKNOWN]},
    "/new": {
        "title": ["A table"],
        "name": ["Ann"],
        "address": ["ann@example.org"],
        "players": [ANN, "bob@example.org\ncharlie@example.org", "a@b.example, c@d.example"],
        "allowance": ["86400", "1"],
        "time_zone": ["UTC", "Europe/Amsterdam"],
        "plays": ["yes"],
        "listed": ["yes"],
        "keep_going": ["yes"],
        "after": ["a" * 26, "x"],
        "same_1": ["@", ""],
        "free": ["0", "1"],
        "asks": ["0", "95"],
        "bots": ["0", "2"],
        "strength": ["greedy", "x"],
        "game": ["byzanz"],
    },
    "/account": {
        "do": ["save", "mute", "unmute", "mute-all", "unmute-all"],
        "cadence": ["each", "once", "digest", "hourly"],
        "talk": ["turns", "once", "never"],
        "handle": ["Solo", "hug0", "", "admin"],
        "shown": ["nobody", "met", "all"],
        "game": ["here", "there"],
        "name": ["Alice"],
        "time_zone": ["UTC"],
    },
    "/account/profile": {
        "do": ["unblock"],
        "other": ["1", "2", "3"],
    },
    "/p/<handle>/block": {"do": ["block", "unblock"]},
    "/g/<game_id>/block": {"do": ["block", "unblock"], "seat": ["0", "1"]},
    "/account/mutes": {"other": ["1", "2", "3"]},
    "/t/<token>/say": {"text": WORDS, "request_id": ["a", "b", "c"]},
    "/t/<token>/words": {"delete": SAID, "mute": SAID, "report": SAID},
    "/t/<token>/notes": {"notes": WORDS},
    "/api/v1/seats/<token>/words": {"text": WORDS, "request_id": ["a", "b"]},
    "/m/<game_id>/talk": {
        "do": ["hide", "close", "open", "silence"],
        "number": ["1", "2"],
        "look": ["8"],
        "seat": ["0", "1"],
        "days": ["0", "7"],
        "reason": WORDS,
    },
    "/m/<game_id>/look": {"viewer": ["0", "3", "all", "public"], "reason": WORDS},
    "/m/<game_id>/preview": MODERATE,
    "/m/<game_id>/act": MODERATE,
}
"""The fields of each form, with values that are sometimes plausible."""
RECORD = next(RECORDS.rglob("3-*.jsonl")).read_text()
FILES = {"/verify": {"record": [RECORD, RECORD[:2000], RECORD.replace("put", "pu", 1), "{}", "null"]}}
"""Forms that upload a file, with contents that are sometimes plausible."""
QUERY = {
    "at": ["1", "4"],
    "before": ["3"],
    "seat": ["1"],
    "cause": ["rules"],
    "q": ["bob"],
    "status": ["running"],
    "page": ["2"],
    "kind": ["byzanz"],
    "do": ["extend"],
    "of": ["1"],
    "by": ["1"],
    "what": ["look"],
    "game": ["here", "byzanz"],
    "size": ["3"],
    "pace": ["86400"],
    "language": ["de"],
    "free": ["1"],
    "part": ["1", "2"],
    "after": ["1"],
    "done": ["said"],
}
ODD = [
    *("", " ", "0", "-1", "2", "99999999999999999999", "1e9", "٣", "\0", "\r\nX: y", "\u202e", "%", "%s%n"),
    *("{{7*7}}", "'; DROP TABLE entry; --", "../../etc/passwd", "a" * 5000, "<script>", "!void 2", "é" * 300),
]
odd = st.sampled_from(ODD) | st.text(max_size=40)


@pytest.fixture(scope="module")
def there(migrated_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitors]:
    """Return games with every kind of visitor, the same for all requests."""
    path = tmp_path_factory.mktemp("fuzz") / "byzanz.db"
    shutil.copy(migrated_file, path)
    app = create_app(configured(f"sqlite:///{path}"))
    with app.app_context():
        made = make_visitors(app, engine.utc_now())
        SAID.extend(public_id("here", person, request_id) for person in (1, 2, 3) for request_id in "ab")
    yield made
    with app.app_context():
        engine.db.engine.dispose()


def filled(there: Visitors, pattern: str, data: st.DataObject) -> str:
    """Draw a path of this pattern: mostly tokens and ids that open something, else anything."""
    purpose = DOORS.get(pattern.split("/")[1], "")
    tokens = [links[purpose] for links in there.tokens.values() if purpose in links]
    ids = {"token": [*tokens, UNKNOWN], "game_id": ["here", "there", "open"], "handle": ["Hugo", "solo"]}
    ids["kind"] = ["csv", "json"]
    path = ""
    for part in pattern.split("/")[1:]:
        good = ids.get(part.strip("<>"), ["1", "2", "7", "byzanz"])
        word = data.draw(mostly(good)) if part.startswith("<") else part
        path += "/" + quote(word, safe="")
    return path


def mostly(good: list[str]) -> st.SearchStrategy[str]:
    """Draw one of these three times out of four."""
    right = st.sampled_from(good)
    return st.one_of(right, right, right, odd)


def sent(data: st.DataObject, pattern: str) -> dict[str, tuple[io.BytesIO, str]]:
    """Draw the files of a form, each of which may be missing, odd or without a name."""
    drawn = data.draw(some_of(FILES[pattern])) if pattern in FILES else {}
    names = st.sampled_from(["game.jsonl", "game.jsonl", ""])
    return {name: (io.BytesIO(text.encode()), data.draw(names)) for name, text in drawn.items()}


def some_of(fields: dict[str, list[str]]) -> st.SearchStrategy[dict[str, str]]:
    """Draw a form with missing, odd or unknown fields."""
    return st.fixed_dictionaries(
        {}, optional={name: mostly(good) for name, good in fields.items()} | {"x": odd}
    )


@pytest.mark.nightly
def test_whatever_is_sent_is_answered(there: Visitors) -> None:
    asked = [(name.split(" ", 1)[0], rule.rule) for name, rule in routes(there.app) if "static" not in name]
    assert {pattern for method, pattern in asked if method == "POST"} >= FORMS.keys()
    asked += [("POST", pattern) for pattern in FORMS] * 2  # there is more to get wrong in them
    asked += [("POST", pattern) for pattern in FILES]
    tally: Counter[int] = Counter()

    @settings(max_examples=REQUESTS, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(data=st.data())
    def ask(data: st.DataObject) -> None:
        method, pattern = data.draw(st.sampled_from(asked))
        browser = there.browser(data.draw(st.sampled_from([None, "Alice", "Daphne", "Mia", "Mia"])))
        path = filled(there, pattern, data)
        body = None
        if method == "GET":
            words = data.draw(some_of(QUERY)).items()
            path += "?" + "&".join(f"{name}={quote(text, safe='')}" for name, text in words)
        else:
            body = data.draw(some_of(FORMS.get(pattern, {}))) | sent(data, pattern)
        with there.app.app_context():
            before = everything()  # only now: a browser that was signed out has been signed in again
            answer = there.ask(browser, method, path, body)
            tally[answer.status_code] += 1
            assert answer.status_code < 500 or pattern == "/readyz"
            assert b"Traceback" not in answer.data
            assert not any(set(value) & {"\r", "\n", "\0"} for value in answer.headers.values())
            if method == "GET" or answer.status_code >= 400:
                assert everything() == before

    ask()
    print(f"requests by status: {dict(sorted(tally.items()))}")
    assert tally.keys() >= {200, 303, 400, 404, 422}
