"""The documents: their links lead somewhere, the code refers only to files that exist, and what they show is so."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask

from byzanz import __version__
from tests.support.browser.states import SPOKEN, SPOKEN_AT_NIGHT, STATES
from tests.support.folders import RECORDS, ROOT, VECTORS
from tests.support.leaks.plants_sealed import PLANTS

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\]\(([^)#\s]+)(?:#([^)\s]+))?\)")
FOLDERS = ("byzanz", "server", "templates", "migrations", "benchmarks", "tests", "docs", r"\.ci", r"\.github")
SECTION = re.compile(r'(docs/[\w/-]+\.md) "([^"\n]+)"')
REFERENCE = re.compile(r"(?<![\w./*-])([\w./-]+\.md)\b")
LONGEST_README = 90
KINDS_OF_CHANGES = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def anchors(document: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken_links(document: Path) -> Iterator[str]:
    """The relative links of a document that lead nowhere."""
    for path, anchor in LINK.findall(re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL)):
        if re.match(r"[a-z]+:", path):
            continue
        target = (document.parent / path).resolve()
        if not target.exists() or (anchor and anchor not in anchors(target)):
            yield f"{path}#{anchor}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_links_lead_somewhere(document: Path) -> None:
    assert list(broken_links(document)) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# A title, here\n")
    document = tmp_path / "page.md"
    document.write_text(
        "[a](there.md#a-title-here) [b](there.md#other) [c](gone.md) [d](https://example.org/x.md)"
    )
    assert list(broken_links(document)) == ["there.md#other", "gone.md#"]


def missing_files(text: str) -> list[str]:
    """The files and folders of the repository that a document names and that do not exist."""
    named_files = re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]*)`", text)
    return [name for name in named_files if "CODE" not in name and not (ROOT / name).exists()]


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_documents_name_only_files_of_the_repository(document: Path) -> None:
    assert missing_files(document.read_text()) == []


def test_a_name_of_no_file_is_found() -> None:
    assert missing_files("`server/web/`, `server/web/gone.py`") == ["server/web/gone.py"]


def references(path: Path) -> Iterator[str]:
    """The documents and headings to which code refers and which are not in the repository, in docs/ or beside it."""
    for reference in REFERENCE.findall(path.read_text()):
        if not any((folder / reference).exists() for folder in (ROOT, ROOT / "docs", path.parent)):
            yield reference
    for document, heading in SECTION.findall(path.read_text()):
        text = (ROOT / document).read_text() if (ROOT / document).exists() else ""
        if not re.search(rf"^#+ {re.escape(heading)}$", text, re.MULTILINE):
            yield f"{document} {heading}"


def code() -> Iterator[Path]:
    """The files of the code and its templates."""
    for folder in ("byzanz", "server", "benchmarks", "migrations", "templates", "tests", ".ci"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".html", ".txt", ".css", ".js", ".toml") and path != Path(__file__):
                yield path
    yield from (ROOT / name for name in ("dev.py", "wsgi.py", "build_hook.py", "pyproject.toml"))


def test_code_refers_only_to_documents_of_the_repository() -> None:
    assert {named(path): missing for path in code() if (missing := list(references(path)))} == {}


def test_a_reference_to_no_document_is_found(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(
        '"""As docs/formats.md §2 and README.md say, and elsewhere.md."""\n'
        '"""See docs/rules/empire.md "A turn" and docs/rules/empire.md "A year"."""\n'
    )
    assert list(references(path)) == ["elsewhere.md", "docs/rules/empire.md A year"]


def test_the_reference_has_a_page_for_every_module_of_byzanz() -> None:
    places = [
        path
        for path in (ROOT / "byzanz").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    ]
    pages = {path.stem for path in (ROOT / "docs" / "reference").iterdir()}
    assert pages == {path.stem for path in places} - {"__init__"}
    for page in pages:
        assert f".. automodule:: byzanz.{page}\n" in (ROOT / "docs" / "reference" / f"{page}.md").read_text()


def faults_of_changelog(text: str) -> list[str]:
    """What is not in the form of Keep a Changelog, or not about this version."""
    first, *releases = re.findall(r"^## (.*)$", text, re.MULTILINE)
    faults = [] if first == "[Unreleased]" else [first]
    dated = [re.fullmatch(r"\[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)", release) for release in releases]
    faults += [release for release, fits in zip(releases, dated, strict=True) if not fits]
    days = [fits[2] for fits in dated if fits]
    faults += [] if days == sorted(days, reverse=True) else ["the newest release is not the first"]
    faults += [] if dated and dated[0] and dated[0][1] == __version__ else [f"{__version__} is missing"]
    return faults + [
        kind for kind in re.findall(r"^### (.*)$", text, re.MULTILINE) if kind not in KINDS_OF_CHANGES
    ]


def test_the_changelog_lists_this_version_in_the_usual_form() -> None:
    assert faults_of_changelog((ROOT / "CHANGELOG.md").read_text()) == []


def test_a_changelog_in_another_form_is_found() -> None:
    planted = f"## Next\n### New\n## [{__version__}] - 2026-11-22\n## 0.0.2\n## [0.0.1] - 2026-12-01\n"
    assert faults_of_changelog(planted) == ["Next", "0.0.2", "the newest release is not the first", "New"]
    assert faults_of_changelog("## [Unreleased]\n## [0.0.1] - 2026-11-01\n") == [f"{__version__} is missing"]


def test_the_readme_fits_on_a_screen_and_shows_a_true_game(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text()
    assert text.count("\n") <= LONGEST_README
    session = re.search(r"```\n(\$ python3 dev\.py simulate.*?)```", text, re.DOTALL)
    assert session
    shown = ""
    for line in session[1].splitlines():
        if line.startswith("$ "):
            shown += line + "\n"
            command = line[2:].replace("python3 dev.py", f"{sys.executable} -m server.cli")
            done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=True,
                                  env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"})  # fmt: skip
            shown += done.stdout + done.stderr
    assert shown == session[1]


def test_the_readme_says_of_the_api_what_it_does(app: Flask) -> None:
    """An API that makes more than moves needs another sentence."""
    assert "**A JSON API** plays a seat; the rest needs the pages." in (ROOT / "README.md").read_text()
    writes = {
        str(rule)
        for rule in app.url_map.iter_rules()
        if str(rule).startswith("/api/") and {"POST", "PUT", "DELETE"} & set(rule.methods or ())
    }
    assert writes
    assert {path for path in writes if not path.startswith("/api/v1/seats/<token>/")} == set()


def test_the_document_of_templates_names_filters_that_keep_lines(app: Flask) -> None:
    document = (ROOT / "docs/game-templates.md").read_text()
    named = set(re.findall(r"`\|(\w+)`", document))
    board = "<b>a</b> b\n1 X &amp;"
    folding = {name for name in named if "\n" not in str(app.jinja_env.call_filter(name, board))}
    assert named - folding == {"as_text"}
    assert folding == {"striptags"}
    assert "(Jinja's own `|striptags` folds it into one line.)" in document


def test_the_promises_count_what_there_is() -> None:
    """The other figures of that page come from runs that take minutes, by the command beside each."""
    lines = [line for path in RECORDS.rglob("*.jsonl") for line in path.read_text().splitlines()]
    games, entries = (sum(line.startswith(f'{{"{key}"') for line in lines) for key in ("format", "seq"))
    planted = sum(map(len, PLANTS.values()))
    text = (ROOT / "docs/promises.md").read_text()
    at_night = len(SPOKEN) + len(SPOKEN_AT_NIGHT)
    assert f"| {len(STATES)} states of all pages in English; {len(SPOKEN)} in German or Dutch (" in text
    assert f" in German or Dutch ({at_night} with `--nightly`)," in text
    assert f"| {5 * len(PLANTS)} pairs of worlds, 5 of each game; {planted} planted leaks found |" in text
    assert f"| {games} games, {entries:,} positions, each with five hash seeds |" in text


def test_the_test_vectors_of_the_formats_are_those_of_the_tests() -> None:
    text = (ROOT / "docs/formats.md").read_text()
    vectors = json.loads(VECTORS.read_text())
    for name in ("commitment", "key", "entry_hash", "entry_json", "record2_genesis"):
        assert vectors[name] in text, name
    assert vectors["cut_fingerprint"]["hex"] in text
    for name in ("first_8_integers_below_52", "shuffle_deal_of_0_to_9", "shuffle_label_foes:2_of_0_to_9"):
        assert " ".join(map(str, vectors[name])) in text, name
