"""The collected statements are those of one engine and one block, and a listing names what came too often."""

from __future__ import annotations

import sqlalchemy as sa

from tests.support.costs import listing, more, statements


def test_the_statements_of_a_block_are_collected_and_no_others() -> None:
    mine, other = sa.create_engine("sqlite://"), sa.create_engine("sqlite://")
    with mine.connect() as connection, other.connect() as elsewhere:
        connection.exec_driver_sql("SELECT 0")
        with statements(mine) as sent:
            connection.exec_driver_sql("SELECT 1\n  AS one")
            elsewhere.exec_driver_sql("SELECT 3")
            connection.exec_driver_sql("SELECT 2")
        connection.exec_driver_sql("SELECT 4")
    assert sent == ["SELECT 1 AS one", "SELECT 2"]


def test_a_listing_names_what_was_sent_more_often() -> None:
    assert listing(["a", "b", "b"]) == "2 × b\n1 × a"
    assert more(["a", "b"], ["b", "c", "b", "a", "b"]) == "2 × b\n1 × c"
    assert more(["a", "b"], ["b"]) == ""
