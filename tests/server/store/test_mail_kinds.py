"""The table of mail kinds is whole, and nothing else knows a kind by its name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Index

from server import i18n
from server.config import TEMPLATES
from server.mail.outgoing import relevance, view
from server.store import mail_kinds
from server.store.mail_kinds import Content, MailKind, Reader, Requires
from server.store.models import Mail
from tests.support.folders import ROOT
from tests.support.mails import BY_THEMSELVES, KINDS

REGISTRY = ROOT / "server" / "store" / "mail_kinds.py"
NAMES = {kind.value for kind in MailKind}
MANY = 3
"""Kinds in one table or list that make it a second registry: single ones are words of other things, too."""


def missing(kind: str) -> list[str]:
    """Return what an email of this kind lacks."""
    told = mail_kinds.of(kind)
    texts = [text for text in (told.label, told.subject) if text]
    others = [code for code in i18n.NAMES if code != "en"]
    lacks = {
        "a label": not told.label,
        "a template": not (TEMPLATES / "mail" / f"{kind}.html").is_file(),
        "a sample": kind not in {*KINDS, *BY_THEMSELVES},
        "a translation": any(text not in i18n.catalogue(code) for text in texts for code in others),
        "something into which its news can go": set(told.merges_into) - NAMES,
    }
    return [what for what, lacking in lacks.items() if lacking]


@pytest.mark.parametrize("kind", MailKind)
def test_every_kind_is_whole(kind: MailKind) -> None:
    assert missing(kind) == []


def test_what_a_kind_lacks_is_found() -> None:
    assert missing("newer") == ["a label", "a template", "a sample"]


def test_there_is_a_check_for_all_that_a_kind_can_require_and_a_builder_for_all_that_it_can_tell() -> None:
    assert set(relevance.CHECKS) == set(Requires)
    assert set(view.BUILDERS) == set(Content)


def test_a_kind_that_nobody_declared_counts_and_can_be_stopped() -> None:
    unknown = mail_kinds.of("newer")
    assert unknown.counts
    assert not unknown.requested


def test_only_who_was_named_by_others_gets_emails_that_count() -> None:
    assert {kind.declared.to for kind in MailKind if kind.declared.counts} == {Reader.ADDRESS, Reader.INVITED}


def test_the_index_of_rare_emails_leaves_out_the_numerous_kinds() -> None:
    table = Mail.metadata.tables["outbox"]
    (index,) = (each for each in table.indexes if each.name == "ix_outbox_person_id")
    assert isinstance(index, Index)
    condition = str(index.dialect_options["sqlite"]["where"])
    assert condition == " AND ".join(f"kind <> '{kind}'" for kind in mail_kinds.NUMEROUS)
    assert mail_kinds.NUMEROUS


# ---- nobody else names a kind ----

QUEUES = {"enqueue", "row", "_row", "_to_holder", "_to_table", "partial", "_mail", "_queue_mail", "_add_mail"}
"""Functions that queue an email: the only places, with its template, where a kind is named."""
LIMITS = {"count_queued", "_may_have_another", "_key"}
"""What those who queue emails ask before: how many of that kind there were, and its key."""
SQL = re.compile(rf"\bkind\b\s*(?:=|<>|!=|in)\s*\(?\s*'(?:{'|'.join(NAMES)})'", re.IGNORECASE)

TEMPLATE = re.compile(rf"\bkind\b\s*(?:==|!=|in|not in)\s*\(?\s*\"(?:{'|'.join(NAMES)})\"")
"""A template that asks for a kind; a game has kinds of questions, of which some have such names."""


def is_of_kind(node: ast.expr) -> bool:
    """Whether an expression is called `kind`, and not that of an email that came in, whose kinds are others."""
    return ast.unparse(node).endswith("kind") and "IncomingMail" not in ast.unparse(node)


def texts_in(node: ast.AST) -> set[str]:
    return {each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and each.value in NAMES}


def compares(node: ast.AST) -> bool:
    """`kind == "turn"`, `kind in ("turn", "remind")`, `Mail.kind.in_(("turn", "remind"))`."""
    if isinstance(node, ast.Compare):
        return any(is_of_kind(side) for side in (node.left, *node.comparators)) and bool(texts_in(node))
    called = node.func if isinstance(node, ast.Call) else None
    return isinstance(called, ast.Attribute) and is_of_kind(called.value) and bool(texts_in(node))


def gives(node: ast.AST) -> bool:
    """`kind="turn"`"""
    return isinstance(node, ast.keyword) and node.arg == "kind" and bool(texts_in(node.value))


def is_sql(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(SQL.search(node.value))


def lists(node: ast.AST) -> bool:
    """`{"turn": 1, "remind": 2, "over": 3}`, `("turn", "remind", "over")`"""
    if not isinstance(node, ast.Dict | ast.Set | ast.Tuple | ast.List):
        return False
    inner = node.keys if isinstance(node, ast.Dict) else node.elts
    found = [each for each in inner if isinstance(each, ast.Constant) and each.value in NAMES]
    return len(found) >= MANY and len(found) == len(inner)


def queued_in(tree: ast.AST) -> set[ast.AST]:
    """Return the expressions that name a kind for a call that queues an email."""
    found: list[ast.expr] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
            given = [*node.args, *(word.value for word in node.keywords)]
            found += given if called in QUEUES | LIMITS else []
        elif isinstance(node, ast.Assign):
            found.append(node.value)
    choices = [each for each in found if isinstance(each, ast.IfExp)]
    return {*found, *(each.body for each in choices), *(each.orelse for each in choices)}


def names_in(text: str) -> Iterator[str]:
    """Find the places of a module at which a kind is named, but for the calls that queue an email."""
    tree = ast.parse(text)
    queued = queued_in(tree)
    for node in ast.walk(tree):
        named = isinstance(node, ast.Attribute) and ast.unparse(node.value) == "MailKind"
        if (named and node not in queued) or compares(node) or gives(node) or is_sql(node) or lists(node):
            yield ast.unparse(node)[:80]


def modules() -> list[Path]:
    return [
        path
        for folder in ("server", "benchmarks")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path != REGISTRY
    ]


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_names_a_kind_but_to_queue_it(path: Path) -> None:
    assert list(names_in(path.read_text())) == []


def test_no_template_asks_for_a_kind() -> None:
    templates = [path for end in ("html", "txt") for path in sorted(TEMPLATES.rglob(f"*.{end}"))]
    ours = [path for path in templates if "games" not in path.parts]
    assert [path.name for path in ours if TEMPLATE.search(path.read_text())] == []
    assert TEMPLATE.search('{% if kind == "remind" %}')
    assert not TEMPLATE.search('{% if charts.kind == "lines" %}')


@pytest.mark.parametrize(
    "planted",
    [
        'if mail.kind == "turn": pass',
        'if kind in ("invite", "nudge"): pass',
        "if mail.kind == MailKind.TURN: pass",
        'Mail.kind.in_(("turn", "remind"))',
        'LINKS = {"turn": 1, "remind": 1, "over": 2}',
        'LATE = ("turn", "remind", "over")',
        "SOME = {MailKind.TURN: 1}",
        "SQL = \"SELECT 1 FROM outbox WHERE kind = 'turn'\"",
        'enqueue(session, kind="turn")',
        "Mail.kind.in_((MailKind.TURN, other))",
    ],
)
def test_a_name_outside_the_table_is_found(planted: str) -> None:
    assert list(names_in(planted))


def test_what_queues_a_kind_may_name_it() -> None:
    assert list(names_in("_row(table, MailKind.TURN, key)")) == []
    assert list(names_in("enqueue(kind=MailKind.HELD if waits else kind)")) == []
    assert list(names_in("kind = MailKind.AUTOPILOT if late else MailKind.TIMEOUT")) == []
