"""The folders that tests read files from."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
SERVER = ROOT / "server"
STATIC = SERVER / "static"
RECORDS = ROOT / "tests" / "records"
CORPUS = ROOT / "tests" / "server" / "mail" / "incoming" / "corpus"
"""Emails as email programs write them; manifest.toml says what becomes of each."""
VECTORS = ROOT / "tests" / "byzanz" / "vectors.json"
"""The test vectors of docs/formats.md."""
