"""The command `byzanz`: what each command does; every error is one line and an exit status."""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import combinations
from pathlib import Path
from urllib.request import urlopen

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select

from byzanz import __version__, record
from byzanz.bots import BOTS
from byzanz.chance import fingerprint
from server import create_app
from server.cli import main
from server.config.home import create_key
from server.ops import doctor, logs, serve
from server.store import engine, operations
from server.store.models import Mail, ModeratorAction, Person
from tests.conftest import NOW, Table
from tests.support.databases import copied, settings
from tests.support.games import finish
from tests.support.servers import terminate_through_another_thread

Run = Callable[..., tuple[int, str, str]]
PATIENCE = 60.0
"""Seconds in which a server starts even on a busy machine."""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in an empty folder; return its status, its output and its standard error."""
    for name in [name for name in os.environ if name.startswith("BYZANZ_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("BYZANZ_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(logs, "log_to_stderr", lambda *_: None)  # this process belongs to pytest
    monkeypatch.setattr(serve, "exit_on_sigterm", lambda: None)

    def ran(*words: str) -> tuple[int, str, str]:
        status = main(words)
        said = capsys.readouterr()
        return status, said.out, said.err

    return ran


def line(error: str) -> str:
    """Return the only line that a command has printed."""
    assert error.startswith("byzanz: ")
    assert error.endswith("\n")
    assert error.count("\n") == 1, error
    return error


COMMANDS = [
    *(
        ["demo"],
        ["serve"],
        ["upgrade"],
        ["web"],
        ["scheduler"],
        ["mail-in"],
        ["new"],
        ["play"],
        ["new-game"],
        ["recount"],
        ["simulate"],
        ["check"],
        ["verify"],
        ["export"],
        ["doctor"],
        ["backup"],
        ["restore"],
        ["completion"],
    ),
    *(["moderator"], ["moderator", "add"], ["moderator", "remove"], ["moderator", "list"], []),
    *(["person"], ["person", "show"], ["person", "export"], ["person", "move"], ["person", "erase"]),
    *(["game"], ["game", "show"], ["mail"], ["mail", "show"]),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_help(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command, "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("usage: byzanz")


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"byzanz {__version__}\n"


HEAVY = {
    "alembic",
    "apscheduler",
    "babel",
    "email_validator",
    "flask",
    "jinja2",
    "pydantic",
    "sqlalchemy",
    "werkzeug",
}
"""Libraries that take most of a second to import, and that only some commands need."""


def imported(*words: str) -> set[str]:
    """Run a command in a process of its own and return the modules that it has imported."""
    code = (
        "import sys\nfrom server.cli import main\ntry:\n    main(sys.argv[1:])\n"
        "finally:\n    print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    assert done.stdout
    return set(done.stderr.split())


@pytest.mark.parametrize(
    ("words", "also"),
    [
        (["--help"], {"byzanz.games", "byzanz.bots", "server.cli.kit"}),
        (["--version"], {"byzanz.games", "byzanz.bots", "server.cli.kit"}),
        (["serve", "--help"], {"byzanz.games", "byzanz.bots", "server.cli.kit"}),
        (["play", "--help"], {"server.cli.admin", "server.cli.records"}),
        (["completion"], {"server.config", "server.validation"}),
    ],
    ids=["help", "version", "serve", "play", "completion"],
)
def test_help_and_completion_import_nothing_that_they_do_not_need(words: list[str], also: set[str]) -> None:
    assert imported(*words) & (HEAVY | also) == set()


RARE = {"aiosmtpd", "alembic", "dkim", "dns", "flufl.bounce", "icalendar", "markdown_it", "psycopg"}
"""Libraries that a server on SQLite whose tables are up to date needs for rare requests and emails only."""


def test_a_server_starts_without_what_it_rarely_needs(migrated_file: Path, tmp_path: Path) -> None:
    with copied(migrated_file, tmp_path) as url:
        code = (
            "import sys\nfrom server import create_app\nfrom server.ops import serve\nfrom tests.support.databases "
            f"import settings\nserve._prepare(create_app(settings({url!r})), serve.migrate.upgrade)\n"
            "print(*sys.modules)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "flask" in loaded
    assert loaded & RARE == set()


ASKED = {
    "bash": """
source {script}
COMP_WORDS=({words}) COMP_CWORD={last}; _shtab_byzanz; printf '%s\n' "${{COMPREPLY[@]}}" """,
    "zsh": r"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'autoload -Uz compinit; compinit -u -D; eval "$(<{script})"
    compadd() {{
        [[ ${{@[1,(i)(-|--)]}} == *-(O|A|D)\ * ]] && {{ builtin compadd "$@"; return }}
        local -a words; builtin compadd -A words "$@"; print -rl -- $words >> found
    }}
    zstyle ":completion:*" verbose no; finish() {{ exit }}; comppostfuncs=(finish); bindkey "^I" complete-word'
zpty -w shell '{line}'$'\t'
while zpty -r shell answer; do done
sort -u found""",
    "fish": "source {script}; complete -C '{line}'",
}
"""What a shell is given to say which words complete a line; zsh does so only at a terminal."""


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        (["ser"], ["serve"]),
        (["serve", "--h"], ["--help", "--host"]),
        (["moderator", ""], ["add", "list", "remove"]),
        (["moderator", "add", "--"], ["--help"]),
        (["--v"], ["--version"]),
        (["completion", ""], ["bash", "fish", "zsh"]),
        (["completion", "-"], ["--help", "-h"]),
        (["verify", "rec"], ["records.jsonl"]),
        (["simulate", "--out", "rec"], ["records.jsonl"]),
    ],
    ids=str,
)
@pytest.mark.parametrize("shell", ASKED)
def test_a_shell_completes_commands_options_and_files(
    run: Run, tmp_path: Path, shell: str, typed: list[str], completed: list[str]
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "records.jsonl").touch()
    script = tmp_path / "script"
    script.write_text(run("completion", shell)[1])
    words = " ".join(f"'{word}'" for word in ["byzanz", *typed])
    line = " ".join(["byzanz", *typed])
    asked = ASKED[shell].format(script=script, words=words, last=len(typed), line=line)
    done = subprocess.run([shell, "-c", asked], capture_output=True, text=True, check=True, cwd=tmp_path)
    found = [each.split("\t")[0].strip() for each in done.stdout.splitlines()]
    assert (sorted(filter(None, found)), done.stderr) == (completed, "")


def test_the_script_for_bash_is_the_default(run: Run) -> None:
    assert run("completion") == run("completion", "bash")


BAD_WORDS = [
    [],
    ["dance"],
    ["moderator"],
    ["simulate", "byzanz"],
    ["simulate", "byzanz", "--players", "four", "--games", "1", "--out", "f"],
    ["simulate", "byzanz", "--players", "4", "--games", "0", "--out", "f"],
    ["simulate", "byzanz", "--players", "4", "--games", "99999999999", "--out", "f"],
    ["simulate", "byzanz", "--players", "4", "--games", "1", "--seed", "xyz", "--out", "f"],
    ["simulate", "byzanz", "--players", "4", "--games", "1", "--seed", "", "--out", "f"],
    ["mail", "show", "twelve"],
    ["export", "g1", "--as", "nobody"],
    ["export", "g1", "--as", "-1"],
    ["new", "byzanz", "--player", "ann@example.org", "--allow", "soon"],
    ["new", "byzanz", "--player", "ann@example.org", "--bank", "soon"],
    ["demo", "--port", "99999"],
    ["check"],
    ["check", "byzanz", "--seats", "none"],
    ["check", "byzanz", "--seats", "2"],
    ["verify", "--no-such-option"],
]


@pytest.mark.parametrize("words", BAD_WORDS, ids=" ".join)
def test_words_that_make_no_sense_are_refused_in_one_line(run: Run, words: list[str]) -> None:
    status, out, error = run(*words)
    assert (status, out) == (2, "")
    line(error)


@pytest.mark.parametrize("option", ["--allow", "--bank"])
def test_a_time_that_is_none_is_told_with_its_option(run: Run, option: str) -> None:
    _, _, error = run("new", "byzanz", "--player", "ann@example.org", option, "soon")
    assert f" {option}: 'soon' must be a time" in line(error)


@pytest.mark.parametrize(("words", "check_all"), [([], False), (["--all"], True)])
def test_the_doctor_checks_all_logs_on_request(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: list[str], check_all: bool
) -> None:
    monkeypatch.setattr(doctor, "run", lambda _make_app, *, check_all: 3 + check_all)
    assert run("doctor", *words) == (3 + check_all, "", "")


BAD_WISHES = [
    (["simulate", "chess", "--players", "4", "--games", "1", "--out", "f"], "byzanz"),
    (["simulate", "byzanz", "--players", "9", "--games", "1", "--out", "f"], "3–6"),
    (["simulate", "byzanz", "--players", "4", "--games", "1", "--bots", "clever", "--out", "f"], "greedy"),
    (["simulate", "byzanz", "--players", "4", "--games", "1", "--out", "no/such/folder"], "no/such/folder"),
    (["verify", "nothing"], "nothing: No such file"),
    (["verify", "."], "Is a directory"),
    (["new", "byzanz", "--player", "ann@example.org"], "there is no database"),
    (["export", "nosuchgame"], "there is no database"),
    (["moderator", "add", "ann@example.org"], "there is no database"),
    (["person", "erase", "nobody@example.org", "--yes", "--reason", "x"], "there is no database"),
    (["serve"], "BYZANZ_MAIL_URL"),
    (["web"], "BYZANZ_MAIL_URL"),
    (["scheduler"], "BYZANZ_MAIL_URL"),
    (["mail-in"], "BYZANZ_MAIL_DOMAIN"),
]


@pytest.mark.parametrize(("words", "named"), BAD_WISHES, ids=str)
def test_what_cannot_be_done_is_told_in_one_line(run: Run, words: list[str], named: str) -> None:
    status, out, error = run(*words)
    assert (status, out) == (1, "")
    assert named in line(error)
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("command", [["web"], ["scheduler"], ["mail-in"], ["doctor"]], ids=" ".join)
def test_only_serve_and_upgrade_create_a_database(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setenv("BYZANZ_MAIL_URL", "smtp://127.0.0.1:9")
    monkeypatch.setenv("BYZANZ_MAIL_DOMAIN", "example.org")
    status, out, error = run(*command)
    assert status == 1
    assert f"there is no database {Path.cwd()}/instance/byzanz.db: run " in out + error
    assert list(Path().iterdir()) == []


def test_an_upgrade_tells_from_which_revision_to_which(run: Run) -> None:
    status, out, error = run("upgrade")
    assert (status, error) == (0, "")
    newest = re.fullmatch(r"The database was empty and is now at revision (\d{4})\.\n", out)
    assert newest
    assert run("upgrade")[:2] == (0, f"The database is at revision {newest[1]} already.\n")
    with closing(sqlite3.connect("instance/byzanz.db")) as database, database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
    for command in (["upgrade"], ["moderator", "list"]):
        status, out, error = run(*command)
        assert (status, out) == (1, "")
        assert "at revision 9999, which this version of Byzanz does not know: a newer one" in line(error)
    with closing(sqlite3.connect("instance/byzanz.db")) as database, database:
        database.execute("UPDATE alembic_version SET version_num = '0012'")
    for command in (["upgrade"], ["moderator", "list"]):
        status, out, error = run(*command)
        assert (status, out) == (1, "")
        assert "install commit dc3bbcf3 and run `byzanz upgrade`, then install this version" in line(error)


SETTINGS = [
    ("BYZANZ_DATABASE_URL", "mysql://somewhere"),
    ("BYZANZ_DATABASE_URL", "sqlite:////no/such/folder/byzanz.db"),
    ("BYZANZ_DATABASE_URL", "postgresql://nobody:secret@127.0.0.1:1/none"),
    ("BYZANZ_TICK", "often"),
    ("BYZANZ_PROXY_HOPS", "-1"),
    ("BYZANZ_BASE_URL", "byzanz"),
    ("BYZANZ_MAIL_URL", "mailto:ann@example.org"),
    ("BYZANZ_MAIL_URL", "smtp://host:port"),
    ("BYZANZ_SECRET_KEY", "short"),
]


@pytest.mark.parametrize(("name", "value"), SETTINGS)
def test_bad_settings_are_told_in_one_line(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv("BYZANZ_MAIL_URL", "smtp://127.0.0.1:9")
    monkeypatch.setenv("BYZANZ_SECRET_KEY", "0123456789abcdef0123456789abcdef")
    monkeypatch.setenv(name, value)
    status, out, error = run("serve", "--port", "0")
    assert (status, out) == (1, "")
    assert "secret" not in line(error)


def test_the_same_seed_gives_the_same_bytes_and_they_verify(run: Run) -> None:
    words = [
        "simulate",
        "byzantium",
        "--players",
        "3",
        "--games",
        "1",
        "--seed",
        "0f",
        "--bots",
        ",".join(sorted(BOTS)),
    ]
    assert run(*words, "--out", "one.jsonl")[0] == 0
    status, out, _ = run(*words, "--out", "-")
    assert Path("one.jsonl").read_bytes() == out.encode()
    status, out, error = run("verify", "one.jsonl")
    assert (status, error) == (0, "")
    assert [told.split()[1] for told in out.splitlines()] == ["ok,"]


def test_each_game_of_a_seed_is_another_and_the_first_is_that_of_a_single_one(run: Run) -> None:
    words = ["simulate", "empire", "--players", "2", "--seed", "0f"]
    assert run(*words, "--games", "1", "--out", "one")[0] == 0
    assert run(*words, "--games", "3", "--out", "three")[0] == 0
    with Path("three").open("rb") as file:
        played = [made.entries for made in record.read(file)]
    assert len(played) == 3
    assert all(first != second for first, second in combinations(played, 2))
    assert Path("three").read_bytes().startswith(Path("one").read_bytes())


def test_games_without_a_seed_differ(run: Run) -> None:
    for name in ("one", "two"):
        assert run("simulate", "byzanz", "--players", "3", "--games", "1", "--out", name)[0] == 0
    assert Path("one").read_bytes() != Path("two").read_bytes()


@pytest.fixture(scope="module")
def played() -> bytes:
    """Return the records of two games."""
    command = [sys.executable, "-m", "server.cli", "simulate", "byzanz", "--players", "3", "--games", "2"]
    return subprocess.run([*command, "--seed", "01", "--out", "-"], check=True, capture_output=True).stdout


def test_the_first_wrong_entry_is_named(run: Run, played: bytes) -> None:
    lines = played.splitlines(keepends=True)
    lines[7] = re.sub(rb'"move":"[^"]*"', b'"move":"pass 2"', lines[7])
    Path("f").write_bytes(b"".join(lines))
    status, out, error = run("verify", "f")
    assert (status, out) == (1, "")
    assert re.search(r"record 1, game \w+: entry 7: the hash", line(error))


def test_a_record_after_good_ones_is_checked_too(run: Run, played: bytes) -> None:
    lines = played.splitlines(keepends=True)
    del lines[-5]
    Path("f").write_bytes(b"".join(lines))
    status, out, error = run("verify", "f")
    assert status == 1
    assert out.count(": ok, ") == 1
    assert "record 2" in line(error)


def test_verify_compares_a_record_with_what_emails_quoted(run: Run, played: bytes) -> None:
    first = next(record.read(played.decode()))
    Path("one").write_text(record.write(first))
    header, last = first.header, first.entries[-1]
    cut = fingerprint(header.id, header.cuts[1])
    true = ["--head", f"{last.seq}:{last.hash}", "--head", f"1:{first.entries[0].hash.upper()}"]
    true += ["--commitment", header.commitment, "--cut", cut]
    status, out, _ = run("verify", "one", *true)
    assert (status, out.rstrip().endswith("; 4 hashes of emails found in it")) == (0, True)
    for option, value, reason in (
        ("--head", f"{last.seq}:{cut}", f"entry {last.seq}: its hash is not {cut}"),
        (
            "--head",
            f"{last.seq + 1}:{cut}",
            f"entry {last.seq + 1}: missing, though an email quotes its hash",
        ),
        ("--commitment", cut, "header: the commitment is not"),
        ("--cut", header.commitment, "header: no cut has the fingerprint"),
    ):
        status, out, error = run("verify", "one", *true, option, value)
        assert (status, out, reason in line(error)) == (1, "", True), option
    for option, value in (
        ("--head", cut),
        ("--head", f"x:{cut}"),
        ("--cut", cut[1:]),
        ("--commitment", "x" * 64),
    ):
        status, out, error = run("verify", "one", option, value)
        assert (status, out, option in line(error)) == (2, "", True), value
    Path("two").write_bytes(played)
    status, _, error = run("verify", "two", *true)
    assert (status, "must hold one record" in line(error)) == (2, True)


def test_verify_lists_what_was_settled_after_a_seat(run: Run, played: bytes) -> None:
    first = next(record.read(played.decode()))
    Path("one").write_text(record.write(first))
    name = first.header.seats[0]
    for seat, later in ((0, f"seat 1 ({name}), seat 2 ({name})"), (2, "no cut of another seat")):
        status, out, _ = run("verify", "one", "--seat", str(seat))
        assert (status, out.splitlines()[1].startswith(f"settled after seat {seat}: {later}; also")) == (
            0,
            True,
        )
    status, _, error = run("verify", "one", "--seat", "3")
    assert (status, "has only seats 0 to 2" in line(error)) == (1, True)
    assert run("verify", "one", "--seat", "x")[0] == 2


GARBAGE = [
    (b"", "no record"),
    (b"\n\n", "no record"),
    (b"\xff\xfe\x00", "not UTF-8"),
    (b"\x00" * 100, "line 1"),
    (b"hello\n", "line 1"),
    (b"[1,2]\n", "line 1"),
    (b"[" * 100_000, "line 1"),
    (b"x" * 1_100_000, "longer than"),
    (b'{"format":"byzanz-record/1"}\n', "line 1"),
    (b'{"format":"byzanz-record/9"}\n', "byzanz-record/1"),
    (b'{"result":{},"head":""}\n', "header"),
]


@pytest.mark.parametrize(("content", "named"), GARBAGE, ids=range(len(GARBAGE)))
def test_what_is_no_record_is_refused_in_one_line(run: Run, content: bytes, named: str) -> None:
    Path("f").write_bytes(content)
    status, out, error = run("verify", "f")
    assert (status, out) == (1, "")
    assert named in line(error)


def test_a_flipped_byte_never_ends_in_a_fault(run: Run, played: bytes) -> None:
    refused = 0
    for place in range(0, len(played), 797):
        damaged = played[:place] + bytes([played[place] ^ (1 << place % 8)]) + played[place + 1 :]
        Path("f").write_bytes(damaged)
        status, _, error = run("verify", "f")
        assert status in {0, 1}
        refused += status
        assert not error or line(error)
    assert refused > 50  # names, and little else, can be changed unnoticed


def test_a_record_can_come_by_standard_input(
    run: Run, played: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(played)))
    status, out, _ = run("verify", "-")
    assert (status, out.count("\n")) == (0, 2)


def test_a_reader_who_goes_away_is_no_fault(played: bytes, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(played * 300)
    command = f"{sys.executable} -m server.cli verify {tmp_path / 'f'} | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


@pytest.fixture
def on_database(database_url: str, monkeypatch: pytest.MonkeyPatch, run: Run) -> Run:
    """Return a function that runs commands on the test's database."""
    monkeypatch.setenv("BYZANZ_DATABASE_URL", database_url)
    monkeypatch.setenv("BYZANZ_SECRET_KEY", "a secret that only the tests know")
    monkeypatch.setenv("BYZANZ_MAIL_URL", "smtp://127.0.0.1:9")
    return run


def test_recount_counts_finished_games_again(on_database: Run, table: Callable[..., Table]) -> None:
    game = table(3, slug="byzantium")
    assert on_database("recount") == (0, "Finished games counted: 0\n", "")
    finish(game.id, NOW)
    assert on_database("recount") == (0, "Finished games counted: 1\n", "")


BAD_WISHES_OF_A_SERVER = [
    (["new", "chess", "--player", "ann@example.org"], "chess"),
    (["new", "byzanz"], "player"),
    (["new", "byzanz", "--player", "Ann", "--player", "bob@example.org"], "Ann"),
    (["new", "byzanz", "--player", "ann@example.org", "--allow", "1m"], "10 minutes"),
    (["new", "byzanz", "--player", "ann@example.org", "--bank", "31d"], "30 days"),
    (["new", "byzanz", "--player", "ann@example.org", "--days-off", "sat,someday"], "someday"),
    (["new", "byzanz", "--player", "ann@example.org", "--zone", "Moon/Base"], "Moon/Base"),
    (["moderator", "add", "nobody"], "nobody"),
    (["moderator", "remove", "ann@example.org"], "not a moderator"),
]


@pytest.mark.parametrize(("words", "named"), BAD_WISHES_OF_A_SERVER, ids=str)
def test_what_a_server_cannot_do_is_told_in_one_line(on_database: Run, words: list[str], named: str) -> None:
    status, out, error = on_database(*words)
    assert (status, out) == (1, "")
    assert named in line(error)


def test_a_game_is_made_and_exported(on_database: Run) -> None:
    words = [
        "new",
        "byzanz",
        "--player",
        "Ann <ann@example.org>",
        "--player",
        "bob@example.org",
        "--bot",
        "greedy",
    ]
    paced = ["--allow", "2h", "--bank", "12h", "--days-off", "sun,sat", "--zone", "Europe/Amsterdam"]
    status, out, error = on_database(*words, *paced, "--start")
    assert (status, error) == (0, "")
    assert re.fullmatch(r"[a-z2-7]{12}\n", out)
    game_id = out.strip()
    exported = {
        reader: on_database("export", game_id, "--as", reader)[1] for reader in ("public", "0", "moderator")
    }
    assert on_database("export", game_id)[1] == exported["public"]
    shuffles = {reader: next(record.read(text)).entries[0].move for reader, text in exported.items()}
    assert shuffles["public"] == shuffles["0"] == "shuffle deal"
    assert len(shuffles["moderator"].split()) > 80
    assert all('"seed":null' in text for text in exported.values())
    status, _, error = on_database("export", game_id, "--as", "3")
    assert status == 1
    assert "seats 0 to 2" in line(error)


def test_a_game_that_has_not_begun_has_no_record(on_database: Run) -> None:
    words = [word for name in ("ann", "bob", "cas") for word in ("--player", f"{name}@example.org")]
    status, out, _ = on_database("new", "byzanz", *words)
    assert status == 0
    assert on_database("export", out.strip())[0] == 1


def test_moderators_come_and_go(on_database: Run) -> None:
    assert on_database("moderator", "add", " Ann@Example.org")[0] == 0
    assert on_database("moderator", "add", "ann@example.org")[0] == 0
    assert on_database("moderator", "list")[1] == "ann@example.org\n"
    assert on_database("moderator", "remove", "ann@example.org")[0] == 0
    assert on_database("moderator", "list")[1] == ""


def test_a_person_is_exported_and_erased(on_database: Run, tmp_path: Path) -> None:
    assert on_database("moderator", "add", "ann@example.org")[0] == 0
    status, _, error = on_database("person", "export", "nobody@example.org", "--out", "f.zip")
    assert (status, "nobody has the address nobody@example.org" in line(error)) == (1, True)
    assert on_database("person", "export", "Ann@example.org", "--out", str(tmp_path / "ann.zip"))[0] == 0
    assert (tmp_path / "ann.zip").read_bytes()[:2] == b"PK"
    status, _, error = on_database("person", "erase", "ann@example.org")
    assert (status, "--yes" in line(error)) == (2, True)
    assert on_database("moderator", "list")[1] == "ann@example.org\n"
    erase = ("person", "erase", "ann@example.org", "--yes", "--reason")
    assert on_database(*erase, "asked by phone")[:2] == (0, "Erased.\n")
    assert on_database("moderator", "list")[1] == ""
    assert on_database(*erase, "asked by phone")[0] == 1


def deeds() -> list[tuple[str, int | None, str | None]]:
    """The operator's deeds, oldest first: power, whom it concerns, and the reason."""
    with engine.reading() as session:
        own = select(ModeratorAction).where(ModeratorAction.person_id.is_(None)).order_by(ModeratorAction.id)
        return [(deed.power, deed.about_id, deed.reason) for deed in session.scalars(own)]


WITHOUT_REASON = [
    (["erase", "ann@example.org"], "add --yes and --reason TEXT"),
    (["erase", "ann@example.org", "--yes"], "say why with --reason TEXT"),
    (["erase", "ann@example.org", "--yes", "--reason", " "], "Give a reason of 1 to 500 characters"),
    (["erase", "ann@example.org", "--yes", "--reason", "a" * 501], "Give a reason of 1 to 500 characters"),
    (["erase", "ann@example.org", "--yes", "--reason", "ANN@example.org wrote"], "without name and address"),
    (["erase", "ann@example.org", "--yes", "--reason", "so says Ann"], "without name and address"),
    (["move", "ann@example.org", "new@b.example"], "add --yes and --reason TEXT"),
    (["move", "ann@example.org", "new@b.example", "--yes"], "say why with --reason TEXT"),
    (["move", "ann@example.org", "new@b.example", "--yes", "--reason", "\t"], "Give a reason of 1 to 500"),
    (["move", "ann@example.org", "new@b.example", "--yes", "--reason", "to NEW@b.example"], "without name"),
    (
        ["move", "ann@example.org", "new@b.example", "--yes", "--reason", "not ann@example.org"],
        "without name",
    ),
    (["move", "ann@example.org", "--stop"], "say why with --reason TEXT"),
    (["move", "ann@example.org", "--stop", "--reason", ""], "Give a reason of 1 to 500"),
    (["move", "ann@example.org", "--stop", "--reason", "waiting@b.example is wrong"], "without name"),
]


@pytest.mark.usefixtures("app")
@pytest.mark.parametrize(("words", "said"), WITHOUT_REASON)
def test_nothing_is_done_about_a_person_without_a_proper_reason(
    on_database: Run, words: list[str], said: str
) -> None:
    move = ("person", "move", "ann@example.org")
    assert on_database("moderator", "add", "ann@example.org")[0] == 0
    assert on_database(*move, "waiting@b.example", "--yes", "--reason", "lost mailbox")[0] == 0
    before = deeds()
    status, _, error = on_database("person", *words)
    assert (status != 0, said in line(error)) == (True, True), error
    assert deeds() == before
    assert on_database("moderator", "list")[1] == "ann@example.org\n"
    assert on_database(*move, "--stop", "--reason", "a mistake")[1] == "Stopped.\n", "the move still waits"


@pytest.mark.usefixtures("app")
def test_what_the_operator_does_about_a_person_leaves_a_deed(on_database: Run) -> None:
    move, told = ("person", "move", "ann@example.org"), ("--yes", "--reason")
    assert on_database("moderator", "add", "ann@example.org")[0] == 0
    with engine.reading() as session:
        ann = session.scalars(select(Person.id).where(Person.email == "ann@example.org")).one()
    assert on_database(*move, "--stop", "--reason", "nothing waits")[0] == 0
    assert deeds() == [], "nothing was done"
    assert on_database(*move, "a@b.example", *told, " lost\n the  mailbox ")[0] == 0
    assert on_database(*move, "--stop", "--reason", "a mistake")[0] == 0
    assert deeds() == [("move", ann, "lost the mailbox"), ("stop_move", ann, "a mistake")]
    assert on_database("person", "erase", "ann@example.org", *told, "asked by phone")[0] == 0
    assert deeds() == [("move", ann, None), ("stop_move", ann, None), ("erase", ann, "asked by phone")]


def test_a_persons_address_is_moved_and_the_move_stopped(on_database: Run) -> None:
    old, new, told = "ann@example.org", "Ann@elsewhere.example", ("--yes", "--reason", "lost mailbox")
    assert on_database("moderator", "add", old)[0] == 0
    for words, said in (
        (["nobody@example.org", new], "nobody has the address"),
        ([old, "ann"], "is not an email address"),
        ([old, old], "already the address"),
        ([old, new, "--join"], "no account at the new address"),
        ([old, "alice@example.org"], "--join joins the two"),
        ([old], "--stop"),
        ([old, new, "--stop"], "--stop"),
    ):
        status, out, error = on_database("person", "move", *words, *told)
        assert (status != 0, said in line(error), out) == (True, True, ""), words
    status, out, error = on_database("person", "move", old, new)
    assert (status, "--yes" in line(error), "gets the address ann@elsewhere.example" in out) == (
        2,
        True,
        True,
    )
    assert "change of the address" not in on_database("person", "show", old)[1]
    status, out, _ = on_database("person", "move", old, new, *told)
    assert (status, out.endswith("Both mailboxes are told.\n")) == (0, True)
    shown = on_database("person", "show", old)[1]
    assert "A change of the address was asked for by the operator" in shown
    assert "elsewhere" not in shown
    assert "replaces" in on_database("person", "move", old, "a@b.example")[1]
    stop = ("person", "move", old, "--stop", "--reason", "a mistake")
    assert on_database(*stop)[:2] == (0, "Stopped.\n")
    assert on_database(*stop)[:2] == (0, "No change of this address waits.\n")
    assert "change of the address" not in on_database("person", "show", old)[1]


def test_two_accounts_are_joined_by_the_operator(on_database: Run, table: Callable[..., Table]) -> None:
    table(3)
    assert on_database("moderator", "add", "ann@example.org")[0] == 0
    join = ("--join", "--yes", "--reason", "one person")
    status, out, _ = on_database("person", "move", "alice@example.org", "ann@example.org", *join)
    assert (status, "becomes one with them; this cannot be undone" in out) == (0, True)
    assert "joins the account there" in on_database("person", "show", "alice@example.org")[1]
    status, out, error = on_database("person", "move", "bob@example.org", "alice@example.org", *join)
    assert (status, out, "both had a seat in the same game" in line(error)) == (1, "", True)


def test_an_export_of_a_table_is_what_its_reader_may_see(
    on_database: Run, table: Callable[..., Table], client: FlaskClient
) -> None:
    seats = table(3)
    exported = on_database("export", "g1", "--as", "1")[1]
    assert exported == client.get(f"/api/v1/seats/{seats.tokens[1]}/record").text


def test_what_happened_to_a_game_a_mail_and_a_person_is_shown(
    on_database: Run, table: Callable[..., Table]
) -> None:
    table(3)
    status, out, _ = on_database("game", "show", "g1")
    assert (status, out.startswith("Game g1 ")) == (0, True)
    status, out, _ = on_database("person", "show", "Alice@example.org")
    assert (status, "To move in game g1, seat 0" in out) == (0, True)
    with engine.reading() as session:
        mail = session.scalars(select(Mail).where(Mail.game_id == "g1")).first()
    assert mail is not None
    status, out, _ = on_database("mail", "show", str(mail.id))
    assert (status, out.startswith(f"Email {mail.id} (turn) ")) == (0, True)
    for words in (["game", "show", "g9"], ["mail", "show", "999999"], ["person", "show", "no@example.org"]):
        status, out, error = on_database(*words)
        assert (status, out, words[-1] in line(error)) == (1, "", True)


@pytest.mark.usefixtures("app")
def test_what_a_command_counts_is_stored(on_database: Run) -> None:
    words = ["new", "byzanz", "--player", "ann@example.org", "--bot", "greedy", "--bot", "greedy", "--start"]
    assert on_database(*words)[0] == 0
    with engine.reading() as session:
        assert operations.stored_figures(session)["entries:chance"] == 1


@contextmanager
def running_command(
    home: Path, *words: str, folder: Path | None = None
) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Start a command that runs until it is stopped, by default in its home; its output goes to a file there."""
    folder = folder or home
    out = folder / "out.txt"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("BYZANZ_")}
    clean |= {
        "BYZANZ_HOME": str(home),
        "BYZANZ_MAIL_URL": "smtp://127.0.0.1:9",
        "BYZANZ_TICK": "0.2",
        "PYTHONPATH": os.getcwd(),
        "TMPDIR": str(folder),
    }
    # Where the tests run in the background of a script, SIGINT is ignored, and a child would inherit that.
    ours = signal.signal(signal.SIGINT, signal.default_int_handler)
    with out.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "server.cli", *words],
            cwd=folder,
            env=clean,
            stdout=file,
            stderr=file,
            text=True,
        )
    signal.signal(signal.SIGINT, ours)
    try:
        yield process, out
    finally:
        process.kill()
        process.wait()


def wait_for_output(process: subprocess.Popen[str], out: Path, pattern: str) -> str:
    """Return the output of a running command as soon as it matches the pattern."""
    limit = time.monotonic() + PATIENCE
    while time.monotonic() < limit and process.poll() is None:
        if found := re.search(pattern, out.read_text()):
            return found[0]
        time.sleep(0.05)
    raise AssertionError(f"it ended, or was silent for long, after: {out.read_text()}")


def wait_for_page(url: str, telling: str = "") -> str:
    """Return the page at a URL as soon as it answers with success and contains this text."""
    limit = time.monotonic() + PATIENCE
    why: object = "never asked"
    while time.monotonic() < limit:
        try:
            with urlopen(url, timeout=10) as answer:
                why = page = str(answer.read().decode())
            if telling in page:
                return page
        except OSError as error:
            why = error
        time.sleep(0.1)
    raise AssertionError(f"{url}: {why}")


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_a_demo_opens_a_turn_and_leaves_nothing_behind(tmp_path: Path, told: signal.Signals) -> None:
    with running_command(tmp_path, "demo", "--port", "0", "--players", "3") as (demo, out):
        link = wait_for_output(demo, out, r"http://127\.0\.0\.1:\d+/t/[a-z2-7]{26}")
        folder = Path(wait_for_output(demo, out, r"/\S*byzanz-demo-\w+"))
        assert folder.is_dir()
        assert "<form" in wait_for_page(link)
        wait_for_page(link.partition("/t/")[0] + "/inbox", telling="you@byzanz.example")
        demo.send_signal(told)
        assert demo.wait(30) == 0
        assert not folder.exists()
        assert "Traceback" not in out.read_text()


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_serve_makes_its_database_and_ends_when_told(tmp_path: Path) -> None:
    with running_command(tmp_path, "serve", "--port", "0") as (serve, out):
        address = wait_for_output(serve, out, r"http://127\.0\.0\.1:\d+")
        assert '"ready"' in wait_for_page(f"{address}/readyz")
        assert (tmp_path / "instance" / "byzanz.db").exists()
        serve.terminate()
        assert serve.wait(30) == 0
        assert "Traceback" not in out.read_text()


@pytest.mark.nightly
def test_web_and_scheduler_run_apart(tmp_path: Path, migrated_file: Path) -> None:
    port = free_port()
    create_key(tmp_path)
    shutil.copy(migrated_file, tmp_path / "instance" / "byzanz.db")
    with running_command(tmp_path, "web", "--port", str(port)) as (web, out):
        assert "alive" in wait_for_page(f"http://127.0.0.1:{port}/healthz")
        (tmp_path / "other").mkdir()
        with running_command(tmp_path, "scheduler", folder=tmp_path / "other") as (scheduler, more):
            assert '"ready"' in wait_for_page(f"http://127.0.0.1:{port}/readyz")
            wait_for_output(scheduler, more, "The scheduler is running")
            terminate_through_another_thread(scheduler)
            assert scheduler.wait(30) == 0
            assert "Traceback" not in more.read_text()
        for _ in range(20):
            wait_for_page(f"http://127.0.0.1:{port}/sign-in")
        seen = {_sign_ins(wait_for_page(f"http://127.0.0.1:{port}/metrics")) for _ in range(6)}
        assert seen == {"20.0"}, "a scrape shows the requests of all processes, whichever answers"
        assert list(tmp_path.glob("byzanz-metrics-*"))
        web.terminate()
        assert web.wait(30) == 0
        assert "Traceback" not in out.read_text()
        assert not list(tmp_path.glob("byzanz-metrics-*"))


def _sign_ins(metrics: str) -> str:
    line = 'byzanz_http_requests_total{method="GET",route="/sign-in",status="200"} '
    return metrics.partition(line)[2].partition("\n")[0]


def test_a_port_that_is_taken_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BYZANZ_MAIL_URL", "smtp://127.0.0.1:9")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for command in ("serve", "web", "demo"):
            status, _, error = run(command, "--port", port)
            assert status == 1
            assert port in line(error)


SECOND = r"byzanz: another `byzanz serve` or `byzanz scheduler` is running on \S+/byzanz\.db: stop it first"


@pytest.mark.parametrize("first", ["serve", "scheduler"])
def test_a_second_scheduler_on_one_sqlite_file_is_refused(
    run: Run, tmp_path: Path, migrated_file: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    monkeypatch.setenv("BYZANZ_MAIL_URL", "smtp://127.0.0.1:9")
    create_key(tmp_path)
    shutil.copy(migrated_file, tmp_path / "instance" / "byzanz.db")
    words = {"serve": ("serve", "--port", "0"), "scheduler": ("scheduler",)}
    greeting = {"serve": "Byzanz is listening", "scheduler": "The scheduler is running"}
    with running_command(tmp_path, *words[first]) as (one, out):
        wait_for_output(one, out, greeting[first])
        for command in words.values():
            (elsewhere := tmp_path / command[0]).mkdir()
            monkeypatch.chdir(elsewhere)
            status, _, error = run(*command)
            assert status == 1
            assert re.match(SECOND, line(error))
        one.kill()
        one.wait(30)
    with serve.only_scheduler(create_app(settings(f"sqlite:///{tmp_path}/instance/byzanz.db"))):
        pass  # a crash frees the place at once
