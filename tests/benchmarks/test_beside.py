"""Two checkouts side by side: who is asked what, in which order, and what one process answers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import beside, servers
from benchmarks.beside import beside as measure
from benchmarks.checkout import Checkout
from benchmarks.load import temporary_server
from benchmarks.report import QUICK, ROWS, YARDSTICKS, Figures, Size
from benchmarks.servers import ROOT

TINY = replace(QUICK, moves=2, page_moves=4, mails=3)
FIGURES = {row.figure for row in (*ROWS, *YARDSTICKS) if row.command == "beside"}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders of the checkouts in the order in which they are measured; none is started."""
    found: list[str] = []

    class Fake:
        """A checkout that costs as much as its folder's name is long."""

        def __init__(self, folder: Path) -> None:
            self._folder = folder

        def measured(self, _size: Size) -> dict[str, float]:
            found.append(self._folder.name)
            return {"cost": float(len(self._folder.name))}

    @contextmanager
    def running(folder: Path, _python: str) -> Iterator[Fake]:
        yield Fake(folder)

    monkeypatch.setattr(beside, "running", running)
    return found


def test_the_checkouts_take_turns(asked: list[str]) -> None:
    figures = Figures()
    measure(replace(TINY, rounds=2), figures, Path("/srv/former"))
    ours = ROOT.name
    assert asked == [ours, "former", "former", ours, ours, "former"]
    assert figures.rounds == {"cost": [float(len(ours))] * 2, "other_cost": [6.0, 6.0]}, (
        "the warm-up was counted"
    )
    assert not figures.missing


def test_without_another_checkout_its_figures_are_named_as_missing(asked: list[str]) -> None:
    figures = Figures()
    measure(TINY, figures)
    assert set(asked) == {ROOT.name}
    assert figures.missing == {"the other checkout": "name the folder of one with --beside"}
    assert not any(name.startswith(beside.OTHER) for name in figures.rounds)


def test_a_checkout_that_fails_is_told(tmp_path: Path) -> None:
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "__init__.py").touch()  # a checkout without what is measured
    with (
        beside.running(tmp_path, sys.executable) as checkout,
        pytest.raises(RuntimeError, match="its pages failed, as told above"),
    ):
        checkout.measured(TINY)


@pytest.mark.nightly
def test_this_checkout_is_measured_in_a_process_of_its_own() -> None:
    with beside.running(ROOT, sys.executable) as checkout:
        found = checkout.measured(TINY)
    assert set(found) == FIGURES
    assert min(found.values()) > 0


def test_pages_and_mails_have_a_cost() -> None:
    with temporary_server() as (app, _), ExitStack() as stack:
        checkout = Checkout(app, stack)
        found = checkout.pages(4) | checkout.mails(4)
        assert checkout.mails(4).keys() <= found.keys(), "the same games go on"
    assert set(found) == {name for name in FIGURES if "browser" not in name}
    assert min(found.values()) > 0


def test_a_browser_sends_a_form_and_opens_the_next_page() -> None:
    form, page = beside._way("token", "bid Grain 1", 7)
    assert form.endswith("move=bid+Grain+1&seen=7&request_id=request-7")
    assert page.startswith("GET /t/token?played=8 ")
    assert servers.form_request("/t/x", {"move": "ü"}).endswith("Content-Length: 11\r\n\r\nmove=%C3%BC")


def test_a_process_answers_lines_of_json() -> None:
    """The script runs by its path, so that it can run the code of another folder."""
    done = subprocess.run(
        [sys.executable, "-P", str(ROOT / "benchmarks" / "checkout.py")],
        input=json.dumps(["pages", 3]) + "\n",
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout).keys() == {"cpu_milliseconds_a_cold_page", "cpu_milliseconds_a_warm_page"}
