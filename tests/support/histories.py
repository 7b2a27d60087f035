"""Helpers of the tests of histories."""

from __future__ import annotations

import re

from server.store import engine, people
from tests.conftest import NOW
from tests.support.pages import Page

LINE = re.compile(r'<li id="e(\d+)"')


def moderator() -> int:
    with engine.transaction() as session:
        return people.get_or_create(session, "mod@example.org", "Mo", NOW).id


def seqs(page: Page) -> list[int]:
    return [int(seq) for seq in LINE.findall(page.html)]
