"""What operators copy: the table of settings and the files in docs/deploy/ agree with the code."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from importlib.metadata import requires
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]
from packaging.requirements import Requirement

from server import config
from server.cli import parser
from tests.support.folders import ROOT

UNIT = ROOT / "docs/deploy/byzanz@.service"
DOCKERFILE = ROOT / "docs/deploy/Dockerfile"
PARTS = ("serve", "web", "scheduler", "mail-in")

SETTINGS = {f"BYZANZ_{name.upper()}": field.default for name, field in config.Settings.model_fields.items()}


def test_the_table_of_settings_lists_each_with_its_default() -> None:
    text = (ROOT / "docs/settings.md").read_text()
    rows = dict(re.findall(r"^\| `(BYZANZ_\w+)` \| *(.*?) *\|", text, re.MULTILINE))
    assert set(rows) == set(SETTINGS)
    for name, default in SETTINGS.items():
        if isinstance(default, str | float) and default != "":
            shown = "on" if default is True else f"{default:g}" if isinstance(default, float) else default
            assert rows[name] == f"`{shown}`", name


def test_the_example_settings_are_valid_and_name_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / ".env.example").read_text()
    assert set(re.findall(r"^#?(BYZANZ_\w+)=", text, re.MULTILINE)) == set(SETTINGS) - {"BYZANZ_HOME"}
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("BYZANZ_HOME", str(tmp_path))
    (tmp_path / ".env").write_text(text)
    assert config.read("mailing").proxy_hops == 1
    assert config.unknown() == []


def values(unit: str, name: str) -> list[str]:
    """Return the values of a setting in a unit file."""
    return re.findall(rf"^{name}=(.*)$", unit, re.MULTILINE)


def test_the_unit_runs_commands_that_exist_and_tries_again() -> None:
    unit = UNIT.read_text()
    assert values(unit, "ExecStartPre") == ["/usr/bin/python3 dev.py upgrade"]
    assert values(unit, "ExecStart") == ["/usr/bin/python3 dev.py %i $OPTIONS"]
    for part in PARTS:
        assert f"`byzanz@{part}`" in unit
        parser().parse_args([part])
    assert values(unit, "Restart") + values(unit, "StartLimitIntervalSec") == ["always", "0"]
    assert values(unit, "TimeoutStartSec") == ["infinity"]  # else a long upgrade would be repeated for ever
    for name in re.findall(r"LoadCredential=(\w+):", unit):
        assert name.upper() in SETTINGS


def rates_units() -> bool:
    """Whether this machine has a systemd-analyze that rates unit files: version 250 or later."""
    if not shutil.which("systemd-analyze"):
        return False
    shown = subprocess.run(["systemd-analyze", "--help"], capture_output=True, text=True, check=False)
    return "--offline" in shown.stdout


@pytest.mark.skipif(not rates_units(), reason="systemd-analyze 250 or later is not installed")
@pytest.mark.parametrize("part", PARTS)
def test_systemd_takes_the_unit_and_finds_it_hardened(tmp_path: Path, part: str) -> None:
    for name in ("byzanz@.service", f"byzanz@{part}.service"):
        shutil.copy(UNIT, tmp_path / name)
    unit = str(tmp_path / f"byzanz@{part}.service")
    verified = subprocess.run(
        ["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False
    )
    said = verified.stdout + verified.stderr
    assert not [line for line in said.splitlines() if "byzanz" in line], said
    rated = subprocess.run(
        ["systemd-analyze", "security", "--offline=yes", "--threshold=15", "--no-pager", unit],
        capture_output=True,
        text=True,
        check=False,
    )
    assert rated.returncode == 0, rated.stdout[-200:] + rated.stderr


def steps() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile, each with its argument."""
    lines = [line for line in DOCKERFILE.read_text().splitlines() if not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in joined.splitlines() if line)]


def test_the_image_runs_a_command_that_exists_as_an_ordinary_user() -> None:
    last = dict(steps())
    assert steps()[-1][0] == "CMD"
    assert json.loads(last["ENTRYPOINT"]) == ["byzanz"]
    args = parser().parse_args(json.loads(last["CMD"]))
    assert f"http://127.0.0.1:{args.port}/healthz" in last["HEALTHCHECK"]
    assert last["EXPOSE"] == str(args.port)
    assert int(last["USER"]) > 0
    assert f"useradd --uid {last['USER']} --home-dir {last['VOLUME']} --create-home" in last["RUN"]
    assert f"BYZANZ_HOME={last['VOLUME']}" in last["ENV"].split()
    compile(json.loads(last["HEALTHCHECK"].partition("CMD")[2])[2], "health check", "exec")


def test_the_image_is_built_from_files_that_exist_and_are_let_in() -> None:
    let_in = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    copied = [
        name
        for word, rest in steps()
        if word == "COPY" and not rest.startswith("--from")
        for name in rest.split()[:-1]
    ]
    assert sorted(copied) == sorted(let_in)
    assert not [name for name in copied if not (ROOT / name).exists()]
    packaged = (ROOT / "build_hook.py").read_text()
    assert {"templates", "migrations"} <= {name for name in copied if f'"{name}"' in packaged}


def test_the_image_builds_the_wheel_with_locked_tools() -> None:
    (pattern,) = re.findall(r"awk '(.+?)'", DOCKERFILE.read_text())
    lock = ROOT / "requirements-dev.txt"
    chosen = subprocess.run(["awk", pattern, lock], capture_output=True, text=True, check=True).stdout
    names = set(re.findall(r"^([\w-]+)==", chosen, re.MULTILINE))
    needed = {"hatchling"} | {
        wanted.name
        for wanted in map(Requirement, requires("hatchling") or [])
        if wanted.marker is None or wanted.marker.evaluate()
    }
    assert names == needed
    assert chosen.count("==") == len(names) <= chosen.count("--hash=")
    for _word, rest in (step for step in steps() if "pip install" in step[1]):
        for install in re.findall(r"pip install [^&]+", rest):
            assert "--require-hashes -r " in install or "--no-deps --no-index /wheel/" in install


def test_the_compose_file_runs_commands_that_exist_with_settings_that_exist() -> None:
    compose = yaml.safe_load((ROOT / "docs/deploy/compose.yml").read_text())
    ours = {name: service for name, service in compose["services"].items() if service["image"] == "byzanz"}
    assert set(ours) == {"upgrade", "web", "scheduler", "mail-in"}
    for name, service in ours.items():
        args = parser().parse_args(service["command"])
        assert set(service["environment"]) <= set(SETTINGS)
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        if name == "web":
            assert f"reverse_proxy web:{args.port} {{" in compose["configs"]["caddyfile"]["content"]
        else:
            assert service["healthcheck"] == {"disable": True}
        for port in service.get("ports", []):
            assert port == f"127.0.0.1:{args.port}:{args.port}"
        build = ROOT / "docs/deploy" / service["build"]["context"]
        assert (build / service["build"]["dockerfile"]).samefile(DOCKERFILE)
    for service in compose["services"].values():
        assert set(service.get("secrets", [])) <= set(compose["secrets"])
        assert set(service.get("depends_on", [])) <= set(compose["services"])
        for volume in service.get("volumes", []):
            assert volume.partition(":")[0] in compose["volumes"]
    text = (ROOT / "docs/containers.md").read_text()
    for secret in compose["secrets"].values():
        assert f"> {secret['file'].removeprefix('./')}" in text


def test_the_settings_of_the_compose_file_are_valid(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    compose = yaml.safe_load((ROOT / "docs/deploy/compose.yml").read_text())
    (tmp_path / "database_url").write_text("postgresql://byzanz:secret@database/byzanz")
    (tmp_path / "secret_key").write_text("k" * 64)
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    for name, value in compose["services"]["web"]["environment"].items():
        given = re.sub(r"\$\{\w+:[?-]\}", "byzanz.example.org", str(value))
        monkeypatch.setenv(name, given.replace("/run/secrets", str(tmp_path)))
    assert config.load("mailing").base_url == "https://byzanz.example.org"


def test_the_sample_of_litestream_copies_the_embedded_database() -> None:
    sample = yaml.safe_load((ROOT / "docs/deploy/litestream.yml").read_text())
    (database,) = sample["dbs"]
    assert database["path"].endswith(f"/{config.home.DATABASE}")
    assert database["replicas"]
