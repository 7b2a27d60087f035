"""The alert rules, the dashboard and docs/monitoring.md know the metrics that there are, and no others."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from flask.testing import FlaskClient
from prometheus_client.parser import text_string_to_metric_families

from server.ops import metrics
from server.scheduler import jobs, loop
from server.store import engine, operations
from tests.support.folders import ROOT

ALERTS = ROOT / "docs/deploy/alerts.yml"
DASHBOARD = ROOT / "docs/deploy/dashboard.json"
DOCUMENT = ROOT / "docs/monitoring.md"
NAME = re.compile(r"byzanz_\w+")
SELECTED = re.compile(r"(byzanz_\w+)(?:\{([^}]*)\})?")
GROUPED = re.compile(r"\bby \(([\w, ]+)\)")
OF_PROMETHEUS = {"job", "instance", "le"}
"""Labels that Prometheus adds, and that of the buckets of a histogram."""


@pytest.fixture
def exposed(client: FlaskClient) -> dict[str, set[str]]:
    """Return the samples of a scrape of a server that runs, by name, each with its labels."""
    for part in operations.PARTS:
        loop.record_heartbeat(operations.HeartbeatRecorder(part, 5.0), engine.utc_now(), jobs.steady())
    operations.note_figure("job:turns", 1)
    operations.store_figures()
    client.get("/healthz")
    text = client.get("/metrics").text
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(ALERTS.read_text())["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def expressions() -> dict[str, str]:
    """Return every expression of the rules and the dashboard, by where it stands."""
    found = {rule["alert"]: rule["expr"] for rule in rules()}
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        found |= {f"{panel['title']} {target['refId']}": target["expr"] for target in panel["targets"]}
    return found


def unknown(expression: str, exposed: dict[str, set[str]]) -> Iterator[str]:
    """Yield the metrics and labels of an expression that no scrape shows."""
    labels = set(OF_PROMETHEUS)
    for name, chosen in SELECTED.findall(expression):
        labels |= exposed.get(name, set())
        if name not in exposed:
            yield name
        for label in re.findall(r"(\w+)\s*[=!]", chosen):
            if label not in exposed.get(name, set()) | OF_PROMETHEUS:
                yield f"{name}: {label}"
    for each in GROUPED.findall(expression):
        yield from (label for label in each.split(", ") if label not in labels)


def test_each_rule_and_panel_asks_for_what_is_exposed(exposed: dict[str, set[str]]) -> None:
    found = expressions()
    assert len(found) > 25
    assert {
        place: list(unknown(each, exposed)) for place, each in found.items() if list(unknown(each, exposed))
    } == {}


@pytest.mark.parametrize(
    ("planted", "found"),
    [
        ("max(byzanz_gone) > 0", ["byzanz_gone"]),
        ('byzanz_games{state="running"}', ["byzanz_games: state"]),
        ("max by (kind) (byzanz_mails_in_total)", ["kind"]),
        ('sum by (le, route) (byzanz_http_request_duration_seconds_bucket{route!~"/x"})', []),
    ],
)
def test_a_name_that_is_not_exposed_is_found(
    exposed: dict[str, set[str]], planted: str, found: list[str]
) -> None:
    assert list(unknown(planted, exposed)) == found


def test_the_values_that_rules_choose_exist() -> None:
    chosen = re.findall(r'outcome="(\w+)"', " ".join(expressions().values()))
    assert chosen
    assert set(chosen) <= {*metrics.SENDING, *metrics.RECEIVING}


def test_each_metric_is_explained_and_drawn_and_each_alert_has_a_remedy(exposed: dict[str, set[str]]) -> None:
    families = {re.sub("_(bucket|count|sum)$", "", name) for name in exposed}
    text = DOCUMENT.read_text()
    assert set(NAME.findall(text)) == families
    for name in families:
        row = next(line for line in text.splitlines() if re.search(rf"^\|.*`{name}[`{{]", line))
        labels = exposed.get(name, set()) | exposed.get(f"{name}_count", set())
        assert not labels or f"`{name}{{{','.join(sorted(labels))}}}`" in row
    drawn = {re.sub("_(bucket|count|sum)$", "", name) for name in NAME.findall(DASHBOARD.read_text())}
    assert families - drawn == {"byzanz_clock_in_doubt"}
    assert re.findall(r"^\| `(Byzanz\w+)`", text, re.MULTILINE) == [rule["alert"] for rule in rules()]
    for kind in (*metrics.SENDING, *metrics.RECEIVING):
        assert f"`{kind}`" in text


def test_every_rule_says_how_bad_it_is_and_what_it_means() -> None:
    for rule in rules():
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert rule["annotations"]["summary"].endswith(".")


SLOW = "byzanz_http_request_duration_seconds"
FIRING: dict[str, tuple[str, str, str]] = {
    "ByzanzDown": ('up{job="byzanz"}', "0x60", "1x60"),
    "ByzanzDatabaseDown": ("byzanz_database_up", "0x60", "1x60"),
    "ByzanzHeartbeatMissing": ('byzanz_beat_age_seconds{part="web"}', "0+60x60", "5x60"),
    "ByzanzClockWrong": ("byzanz_clock_off_seconds", "7200x60", "60x60"),
    "ByzanzClockFrozen": ("byzanz_clock_frozen", "1x60", "0x60"),
    "ByzanzJobFailing": ('byzanz_job_last_success_timestamp_seconds{name="turns"}', "0x60", "0+60x60"),
    "ByzanzMailLate": ("byzanz_outbox_oldest_seconds", "0+60x60", "0x30 20x30"),
    "ByzanzMailRejected": ('byzanz_mails_out_total{outcome="rejected"}', "0+1x60", "0+0.1x60"),
    "ByzanzMailInFailing": ('byzanz_mails_in_total{outcome="deferred"}', "0+1x60", "7x60"),
    "ByzanzTurnsStopped": ("byzanz_turns_stopped", "30x60", "20x60"),
    "ByzanzGameOnHold": ("byzanz_games_set_aside", "1x60", "0x60"),
    "ByzanzResultsLate": ("byzanz_results_oldest_seconds", "0+300x170", "0x170"),
    "ByzanzAlertsOpen": ("byzanz_alarms_open", "1x170", "0x170"),
    "ByzanzErrors": ('byzanz_http_requests_total{route="/new",status="503"}', "0+1x60", "0+0.1x60"),
    "ByzanzSlow": (f'{SLOW}_bucket{{le="10"}} {SLOW}_bucket{{le="+Inf"}} {SLOW}_count', "0+9x60", "0+1x60"),
}
"""Of each alert the series that it asks about, each minute of an hour: first it fires, then it does not."""


def trials() -> Iterator[dict[str, Any]]:
    """Yield each alert with both values, for `promtool test rules`."""
    for alert, (series, *both) in FIRING.items():
        step, until = ("5m", "14h") if alert in ("ByzanzResultsLate", "ByzanzAlertsOpen") else ("1m", "1h")
        for values, fires in zip(both, (1, 0), strict=True):
            query = f'count(ALERTS{{alertname="{alert}",alertstate="firing"}}) or vector(0)'
            expected = [{"labels": "{}", "value": fires}]
            yield {
                "interval": step,
                "input_series": [{"series": each, "values": values} for each in series.split()],
                "promql_expr_test": [{"expr": query, "eval_time": until, "exp_samples": expected}],
            }


@pytest.fixture
def promtool() -> str:
    """Return the program that checks rules."""
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("promtool is not installed (Debian's package prometheus)")
    return found


@pytest.mark.nightly
def test_each_rule_fires_when_it_should_and_only_then(promtool: str, tmp_path: Path) -> None:
    assert list(FIRING) == [rule["alert"] for rule in rules()]
    trial = tmp_path / "trial.yml"
    whole = {"rule_files": [str(ALERTS)], "evaluation_interval": "5m", "tests": list(trials())}
    trial.write_text(yaml.safe_dump(whole))
    done = subprocess.run(
        [promtool, "test", "rules", str(trial)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_accepts_the_rules(promtool: str) -> None:
    done = subprocess.run(
        [promtool, "check", "rules", str(ALERTS)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_prometheus_accepts_the_queries_of_the_dashboard(promtool: str, tmp_path: Path) -> None:
    asked = [each.replace("$__rate_interval", "2m") for each in expressions().values()]
    records = [{"record": f"byzanz:query:{number}", "expr": each} for number, each in enumerate(asked)]
    file = tmp_path / "rules.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": records}]}))
    done = subprocess.run(
        [promtool, "check", "rules", str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(asked)} rules found" in done.stdout
