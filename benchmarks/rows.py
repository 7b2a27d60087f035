"""The rows of the benchmarks that are not sections of the table: what each shows, and the paths it depends on."""

from __future__ import annotations

from benchmarks import measure, people, postgres, rules, web_servers
from benchmarks.report import MOVE, PAGE, Paths, Row
from byzanz.games import latest

RULES: Paths = (
    *("benchmarks/rules.py", "byzanz/chance.py", "byzanz/games", "byzanz/moves.py", "byzanz/rules.py"),
    "byzanz/umpire.py",
)
BOTS: Paths = (*RULES, "byzanz/bots")
WAITS: Paths = (*BOTS, "benchmarks/people.py", "byzanz/orders.py")
SERVERS: Paths = (
    "benchmarks/peers",
    "benchmarks/web_servers.py",
    "requirements.txt",
    "requirements-bench.txt",
    *MOVE,
)
FLEET: Paths = ("benchmarks/postgres.py", *MOVE, "server/mail", "server/scheduler")
PARTITIONS: Paths = ("benchmarks/load.py", "benchmarks/postgres.py", "migrations", "server/store")
INTERVAL = "{{{0}_from:.2f}} to {{{0}_to:.2f}}"
"""The 95 % interval of a share."""


def _rules() -> tuple[Row, ...]:
    speed = "a second of CPU time"
    return (
        Row(f"moves of random players through the umpire, {speed}", "moves_per_second", "moves", RULES),
        Row("µs to apply a move", "microseconds_per_apply", "moves", RULES),
        Row(
            f"moves of Goofspiel for four by its rules, with a view for each, {speed}",
            "goofspiel_moves_per_second",
            "moves",
            (*RULES, "examples/goofspiel"),
        ),
        Row(
            "the same ÷ OpenSpiel's in C++, which has none in Python",
            "ratio_to_open_spiel_goofspiel",
            "moves",
            (*RULES, "examples/goofspiel"),
        ),
    )


def _web() -> tuple[Row, ...]:
    longest = f"milliseconds_at_{measure.LONG}"
    return (
        Row("durable moves of one client after another a second", "submissions_per_second", "submit", MOVE),
        Row("the same ÷ raw commits of one row", "ratio_to_raw", "submit", MOVE),
        Row(
            f"a turn page at {measure.LONG:,} entries ÷ at {measure.SHORT}",
            longest,
            "page",
            PAGE,
            over=f"milliseconds_at_{measure.SHORT}",
            unit=" ms",
        ),
    )


def _bots() -> tuple[Row, ...]:
    found = []
    for match in rules.MATCHES:
        name = f"{match.game}_{match.seats}_{match.bot}_v_{match.other}"
        found.append(
            Row(
                f"share of the wins of one {match.bot} bot beside {match.other} bots, {match.game} for {match.seats}",
                f"{name}_share",
                "bots",
                BOTS,
                detail=f"{INTERVAL.format(name)}; {{{name}_games:.0f}} games; {{{name}_even:.2f}} is even",
            )
        )
    return tuple(found)


def _seats() -> tuple[Row, ...]:
    found = []
    for game in latest():
        for seats in game.seats:
            name = f"{game.slug}_{seats}"
            shares = "; ".join(
                (f"seat {seat}: {{{name}_seat_{seat}_share:.2f}}, " if seat else "")
                + INTERVAL.format(f"{name}_seat_{seat}")
                for seat in range(seats)
            )
            found.append(
                Row(
                    f"share of the wins of seat 0, {game.slug} for {seats}",
                    f"{name}_seat_0_share",
                    "seats",
                    BOTS,
                    detail=f"{shares}; {{{name}_games:.0f}} games",
                )
            )
    return tuple(found)


def _waits() -> tuple[Row, ...]:
    return tuple(
        Row(
            f"turns that a player had to act on, with standing orders ÷ without, {slug} for {seats}",
            f"{slug}_{seats}_waits_with_orders",
            "waits",
            WAITS,
            over=f"{slug}_{seats}_waits_without_orders",
        )
        for slug, seats in people.TABLES
    )


_DEMANDS = {
    "CPU of a turn page, in ms": "cpu_milliseconds_a_page",
    "seconds for a page beside 300 half-sent headers": "seconds_for_a_page_beside_300_half_sent_headers",
    "seconds for a page beside 300 half-sent bodies": "seconds_for_a_page_beside_300_half_sent_bodies",
    "half-sent bodies still open after 35 s": "half_sent_bodies_open_after_35_s",
    "seconds for a page beside 300 slow readers": "seconds_for_a_page_beside_300_slow_readers",
    "seconds for a page beside 300 clients that do not hang up": "seconds_for_a_page_beside_300_that_do_not_hang_up",
    "seconds for a page beside 200 open streams": "seconds_for_a_page_beside_200_streams",
    "believes a forged address (1 is yes)": "believes_a_forged_address",
    "acknowledged moves lost at a stop": "acknowledged_and_lost",
    "MB of 2 processes": "megabytes_of_2_processes",
    "MB of 4 processes": "megabytes_of_4_processes",
}
"""What is told of each web server besides its moves, by the words of the row."""


def _servers() -> tuple[Row, ...]:
    found = []
    for name in web_servers.CANDIDATES:
        cost, rate = f"{name}_cpu_milliseconds_a_move", f"{{{name}_moves_per_second:.0f}} moves a second"
        found.append(Row(f"{name}: CPU of a move, in ms", cost, "servers", SERVERS, detail=rate))
        found += [
            Row(f"{name}: {words}", f"{name}_{figure}", "servers", SERVERS)
            for words, figure in _DEMANDS.items()
        ]
    return tuple(found)


def _postgres() -> tuple[Row, ...]:
    found = []
    for n in postgres.SIZES:
        found += [
            Row(f"moves/s; web processes: {n}", f"moves_per_second_of_{n}", "fleet", FLEET),
            Row(
                f"emails/s with the start of the schedulers; schedulers with a mailer each: {n}",
                f"mails_sent_or_dropped_per_second_of_{n}",
                "fleet",
                FLEET,
                detail=f"{{mails_sent_twice_of_{n}:.0f}} sent twice; share of a mailer "
                f"{{smallest_share_of_a_mailer_of_{n}:.2f}} to {{largest_share_of_a_mailer_of_{n}:.2f}}",
            ),
            Row(
                f"overdue turns/s; schedulers: {n}",
                f"turns_played_per_second_of_{n}",
                "fleet",
                FLEET,
                detail=f"{{turns_played_of_{n}:.0f}} of {{turns_due_of_{n}:.0f}} played; share of a scheduler "
                f"{{smallest_share_of_a_scheduler_of_{n}:.2f}} to {{largest_share_of_a_scheduler_of_{n}:.2f}}",
            ),
        ]
    return (
        *found,
        Row(
            "seconds to split a log of 5,000,000 entries into 64 partitions",
            "seconds_to_split",
            "partitions",
            PARTITIONS,
        ),
        Row(
            "MB of the split log ÷ of the whole one",
            "megabytes_of_split",
            "partitions",
            PARTITIONS,
            over="megabytes_of_whole",
        ),
        Row(
            "MB of the indexes of the split log ÷ of the whole one",
            "megabytes_of_indexes_of_split",
            "partitions",
            PARTITIONS,
            over="megabytes_of_indexes_of_whole",
        ),
    )


OTHERS = (*_rules(), *_web(), *_bots(), *_seats(), *_waits(), *_servers(), *_postgres())
