"""The folders that tests read files from, and the games in `examples/`, loaded as any package would be."""

from __future__ import annotations

import sys
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
SERVER = ROOT / "server"
STATIC = SERVER / "static"
RECORDS = ROOT / "tests" / "records"
CORPUS = ROOT / "tests" / "server" / "mail" / "incoming" / "corpus"
"""Emails as email programs write them; manifest.toml says what becomes of each."""
VECTORS = ROOT / "tests" / "byzanz" / "vectors.json"
"""The test vectors of docs/formats.md."""


# ---- games in `examples/` ----

EXAMPLES = Path(__file__).parents[2] / "examples"


@cache
def example(name: str) -> ModuleType:
    """Return the module of an example game."""
    spec = spec_from_file_location(name, EXAMPLES / name / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
