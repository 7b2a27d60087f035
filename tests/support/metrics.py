"""The figures of /metrics, read back."""

from __future__ import annotations

from flask.testing import FlaskClient
from prometheus_client.parser import text_string_to_metric_families


def figures(client: FlaskClient) -> dict[str, float]:
    """Return the figures of a scrape, by name and label."""
    answer = client.get("/metrics")
    assert answer.status_code == 200
    samples = [sample for family in text_string_to_metric_families(answer.text) for sample in family.samples]
    return {" ".join((sample.name, *sample.labels.values())): sample.value for sample in samples}
