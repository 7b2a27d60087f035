"""How Sphinx makes the documentation site: the documents of the repository and a reference from the docstrings."""

import shutil

from sphinx.application import Sphinx

from byzanz import __version__

project = "Byzanz"
author = "The maintainers of Byzanz"
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]

# The site mirrors the repository, so that a relative link works in both.
root_doc = "README"
include_patterns = ["*.md", "docs/**.md", "tests/records/README.md"]
exclude_patterns = [".*", "instance", "site"]
myst_enable_extensions = ["html_image"]
myst_heading_anchors = 3

autodoc_default_options = {"members": True}
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
default_role = "code"  # docstrings put code between single backticks, as the documents do

html_theme = "furo"  # loads no font, script or style from another host
html_title = f"Byzanz {release}"
html_copy_source = False
html_show_copyright = False

NAVIGATION = {
    "Use it": [
        "docs/rules/*",
        "docs/orders",
        "docs/community",
        "docs/accounts",
        "docs/mail-in",
        "docs/deploy",
        "docs/settings",
        "docs/mail-out",
        "docs/backup",
        "docs/monitoring",
        "docs/containers",
        "docs/languages",
    ],
    "Understand it": [
        "docs/architecture",
        "docs/where",
        "docs/decisions/*",
        "docs/promises",
        "docs/benchmarks",
        "docs/scale",
    ],
    "Change it": [
        "CONTRIBUTING",
        "docs/new-game",
        "docs/game-templates",
        "docs/workshop",
        "tests/records/README",
        "SECURITY",
        "CHANGELOG",
    ],
    "Rely on it": ["docs/formats", "docs/reference/*"],
}
"""The menu of the site. Sphinx warns, and so the build fails, if a document is missing here."""


def add_navigation(_app: Sphinx, page: str, source: list[str]) -> None:
    """Append the menu to the README; shown as a file, the README has its own list of documents."""
    if page == root_doc:
        for caption, pages in NAVIGATION.items():
            entries = "\n".join(pages)
            source[0] += f"\n```{{toctree}}\n:hidden:\n:glob:\n:caption: {caption}\n\n{entries}\n```\n"


def keep_colons(
    _app: Sphinx, what: str, _name: str, _obj: object, _options: object, lines: list[str]
) -> None:
    """Begin the docstring of an attribute with an empty comment: napoleon takes words before a colon for its type."""
    if what in ("attribute", "data", "property"):
        lines[:0] = ["..", ""]


def add_index(app: Sphinx, error: Exception | None) -> None:
    """Open the README when somebody opens the folder."""
    if error is None:
        shutil.copy(app.outdir / f"{root_doc}.html", app.outdir / "index.html")


def setup(app: Sphinx) -> None:
    """Connect the functions above to what Sphinx does."""
    app.connect("source-read", add_navigation)
    app.connect("autodoc-process-docstring", keep_colons, priority=400)  # before napoleon
    app.connect("build-finished", add_index)
