"""A real server goes on ticking when its clock is set back or forward, and when it is right again."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.store.operations import PARTS
from tests.support import servers
from tests.support.databases import copied

FEW = ("-4d", "+1h")
ALL = (*FEW, "-1h", "+4d")


@pytest.mark.skipif(servers.LIBRARY is None, reason="libfaketime is missing: apt-get install faketime")
@pytest.mark.parametrize(
    ("words", "parts", "steps"),
    [
        pytest.param(("serve", "--port", "0"), PARTS, FEW, id="serve"),
        pytest.param(("serve", "--port", "0"), PARTS, ALL, id="serve, all steps", marks=pytest.mark.nightly),
        pytest.param(("scheduler",), ("scheduler",), ALL, id="scheduler", marks=pytest.mark.nightly),
    ],
)
def test_ticks_go_on_whatever_the_clock_shows(
    migrated_file: Path,
    tmp_path: Path,
    words: tuple[str, ...],
    parts: tuple[str, ...],
    steps: tuple[str, ...],
) -> None:
    clock = servers.Clock(tmp_path / "clock")
    with (
        copied(migrated_file) as url,
        servers.running(words, url, tmp_path / "log", clock.environment) as server,
    ):
        server.wait_for_heartbeats(*parts)
        for step in steps:
            clock.set(step)
            server.wait(server.in_doubt, f"the alert after {step}")
            clock.set("+0")
            server.wait(lambda: not server.in_doubt(), f"the end of the alert after {step}")
            server.wait_for_heartbeats(*parts)
