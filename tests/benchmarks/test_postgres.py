"""Small runs of the benchmarks on PostgreSQL: games, emails and turns are shared, and the log can be split."""

from __future__ import annotations

import pytest

from benchmarks import postgres

pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("ignore:XDG_RUNTIME_DIR")]


def test_two_of_each_process_share_the_emails_and_the_turns() -> None:
    figures = postgres.fleet(sizes=(2,), games=2, moves=2, emails=4)
    if figures == {"moves_per_second": None}:
        pytest.skip("there is no PostgreSQL")
    assert figures["mails_sent_twice_of_2"] == 0
    assert figures["turns_played_of_2"] == figures["turns_due_of_2"] == 6


def test_every_hot_statement_is_explained_before_and_after_the_split() -> None:
    figures = postgres.partitions(games=300, entries=3, partitions=2)
    if figures == {"seconds_to_split": None}:
        pytest.skip("there is no PostgreSQL")
    names = {f"execution_ms_of_{name}_{kind}" for name in postgres.HOT for kind in ("whole", "split")}
    assert names <= figures.keys()
