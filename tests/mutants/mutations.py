"""All single-point faults that can be planted in one module, found in its syntax tree and applied to its text."""

from __future__ import annotations

import ast
import io
import tokenize
from bisect import bisect_left
from collections.abc import Iterator, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from babel.messages.extract import DEFAULT_KEYWORDS

MARK = "XX"
"""What a mutated string ends with."""
SWAPPED = {
    "==": "!=",
    "!=": "==",
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "in": "not in",
    "not in": "in",
    "is": "is not",
    "is not": "is",
    "and": "or",
    "or": "and",
    "+": "-",
    "-": "+",
    "+=": "-=",
    "-=": "+=",
}
OPERATORS: dict[type[ast.AST], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.And: "and",
    ast.Or: "or",
    ast.Add: "+",
    ast.Sub: "-",
}
CONDITIONS = ("where", "filter", "and_", "or_")
"""The calls that take several conditions, of which one can be dropped."""
TEXTS = ("help", "description", "epilog", "metavar", "documentation")
"""The keyword arguments that hold texts for people: the help of commands, settings and metrics."""
LOGGERS = ("LOGGER", "logger", "logging", "_log")
TYPING = ("Literal", "TypeVar", "ParamSpec", "NewType", "cast", "dataclass", "lru_cache")
"""The calls and subscripts that say something about types, and decorators that change no behaviour."""
TRANSLATED = frozenset(DEFAULT_KEYWORDS) | {"N_"}
"""The functions whose arguments are texts for translators."""

Point: TypeAlias = tuple[tuple[int, int], str, str, int]
"""What can be replaced: where, by what, its kind and its line."""


@dataclass(frozen=True)
class Mutant:
    """One fault: a stretch of a module's text and what replaces it.

    Args:
        path: the module, from the root of the checkout.
        kind: what is mutated: "comparison", "condition", "call" …
        line: where the mutated code starts; statement: where its statement starts.
        at_import: whether the code runs when the module is imported.
        start: the first character that is replaced; end: the one after the last.
        new: the replacement.
    """

    path: str
    kind: str
    line: int
    statement: int
    at_import: bool
    start: int
    end: int
    new: str

    def applied(self, text: str) -> str:
        """Return the module's text with the fault."""
        return text[: self.start] + self.new + text[self.end :]

    def diff(self, text: str) -> str:
        """Return the changed lines before and after the fault, as one line."""
        first = text.rfind("\n", 0, self.start) + 1
        last = text.find("\n", self.end)
        last = len(text) if last == -1 else last
        before, after = text[first:last], text[first : self.start] + self.new + text[self.end : last]
        return f"{' '.join(before.split())} → {' '.join(after.split()) or 'nothing'}"


def mutants(path: str, text: str, translated: Set[str] = TRANSLATED) -> list[Mutant]:
    """Return all mutants of a module in the order of its text; each one compiles.

    Args:
        path: the module, from the root of the checkout.
        translated: the functions and errors whose texts are translated.
    """
    finder = _Finder(path, text, translated)
    finder.visit(ast.parse(text))
    return sorted(finder.found, key=lambda each: (each.start, each.end, each.new))


def compiles(mutant: Mutant, text: str) -> bool:
    """Whether the mutated module compiles, to something other than before."""
    try:
        return ast.dump(ast.parse(mutant.applied(text))) != ast.dump(ast.parse(text))
    except SyntaxError:
        return False


class _Text:
    """A module's text with its tokens, by the positions of the syntax tree."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))
        idle = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
        self.tokens = [
            (self.starts[token.start[0] - 1] + token.start[1], token.string)
            for token in tokenize.generate_tokens(io.StringIO(text).readline)
            if token.type not in idle and token.string
        ]

    def place(self, line: int, column: int) -> int:
        """Return the index of a character; the syntax tree counts columns in bytes."""
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

    def span(self, node: ast.expr | ast.stmt | ast.keyword) -> tuple[int, int]:
        """Return where a node begins and ends."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.place(node.lineno, node.col_offset), self.place(node.end_lineno, node.end_col_offset)

    def operator(self, left: ast.expr, operator: str) -> tuple[int, int]:
        """Return where the operator between two operands begins and ends."""
        words = operator.split()
        index = bisect_left(self.tokens, (self.span(left)[1], ""))
        while self.tokens[index][1] != words[0]:
            index += 1
        last, string = self.tokens[index + len(words) - 1]
        return self.tokens[index][0], last + len(string)

    def argument(self, node: ast.expr | ast.keyword) -> tuple[int, int]:
        """Return the stretch to remove so that an argument disappears, with its parentheses and a comma."""
        start, end = self.span(node)
        before = bisect_left(self.tokens, (start, "")) - 1
        after = bisect_left(self.tokens, (end, ""))
        while isinstance(node, ast.expr) and self.tokens[before][1] == "(" and self.tokens[after][1] == ")":
            start, end = self.tokens[before][0], self.tokens[after][0] + 1
            before, after = before - 1, after + 1
        if self.tokens[after][1] == ",":
            end = self.tokens[after][0] + 1
            while self.text[end : end + 1] == " ":
                end += 1
        elif self.tokens[before][1] == ",":
            start = self.tokens[before][0]
        return start, end


class _Finder(ast.NodeVisitor):
    """Collects the mutants of a module."""

    def __init__(self, path: str, text: str, translated: Set[str]) -> None:
        self.path = path
        self.source = _Text(text)
        self.translated = translated
        self.found: list[Mutant] = []
        self.statement = 1
        self.in_function = False

    def visit(self, node: ast.AST) -> None:
        """Collect the mutants of a node and of all below it, unless it only serves types, texts or checks."""
        if _is_skipped(node):
            return
        outer = self.statement
        if isinstance(node, ast.stmt):
            self.statement = node.lineno  # a decorated function or class: that of `def` or `class`
        for span, new, kind, line in self.points(node):
            place = (self.path, kind, line, self.statement, not self.in_function)
            self.found.append(Mutant(*place, *span, new))
        self.descend(node)
        self.statement = outer

    def descend(self, node: ast.AST) -> None:
        """Visit the children of a node that can hold mutants."""
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                self.descend_function(node)
            case ast.Call():
                self.descend_call(node)
            case ast.AnnAssign():
                if node.value and ast.unparse(node.annotation) != "TypeAlias":
                    self.visit(node.value)
            case ast.JoinedStr():
                pass  # before Python 3.12, positions inside these strings are wrong
            case _:
                self.generic_visit(node)

    def descend_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        """Visit the decorators and defaults, which run when the function is made, and then its body."""
        for child in getattr(node, "decorator_list", []) + node.args.defaults + node.args.kw_defaults:
            if child is not None:
                self.visit(child)
        outer, self.in_function = self.in_function, True
        for inner in [node.body] if isinstance(node, ast.Lambda) else node.body:
            self.visit(inner)
        self.in_function = outer

    def descend_call(self, node: ast.Call) -> None:
        """Visit the arguments of a call that are not texts for people."""
        self.visit(node.func)
        for argument in node.args:
            if not (name_of(node.func) in self.translated and is_text(argument)):
                self.visit(argument)
        for keyword in node.keywords:
            if keyword.arg not in TEXTS:
                self.visit(keyword.value)

    def points(self, node: ast.AST) -> Iterator[Point]:
        """Return what can be replaced at this node."""
        match node:
            case ast.stmt():
                yield from self.statements(node)
            case ast.Constant() | ast.JoinedStr():
                yield from self.constants(node)
            case ast.Call():
                yield from self.arguments(node)
            case ast.expr():
                yield from self.operators(node)
        for test in _conditions(node):
            start, end = self.source.span(test)
            yield (start, end), f"not ({self.source.text[start:end]})", "condition", test.lineno

    def statements(self, node: ast.stmt) -> Iterator[Point]:
        """Return what can be done to a statement."""
        match node:
            case ast.Expr(value=ast.Call() | ast.Await()):
                yield self.source.span(node), "pass", "call", node.lineno
            case ast.Return(value=ast.expr() as value) if not _is_falsy(value):
                yield self.source.span(value), "None", "return", value.lineno
            case ast.Break() | ast.Continue():
                new = "continue" if isinstance(node, ast.Break) else "break"
                yield self.source.span(node), new, "break/continue", node.lineno
            case ast.AugAssign(op=ast.Add() | ast.Sub()):
                yield self.swapped(node.target, f"{OPERATORS[type(node.op)]}=", node.value, "arithmetic")

    def operators(self, node: ast.expr) -> Iterator[Point]:
        """Return the operators of an expression that have a counterpart."""
        match node:
            case ast.Compare():
                operands = [node.left, *node.comparators]
                for left, operator, right in zip(operands, node.ops, node.comparators, strict=False):
                    yield self.swapped(left, OPERATORS[type(operator)], right, "comparison")
            case ast.BoolOp():
                for left, right in pairwise(node.values):
                    yield self.swapped(left, OPERATORS[type(node.op)], right, "and/or")
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                yield self.swapped(node.left, OPERATORS[type(node.op)], node.right, "arithmetic")

    def swapped(self, left: ast.expr, operator: str, right: ast.expr, kind: str) -> Point:
        """Return the mutant that replaces the operator between two operands by its counterpart."""
        return self.source.operator(left, operator), SWAPPED[operator], kind, right.lineno

    def constants(self, node: ast.Constant | ast.JoinedStr) -> Iterator[Point]:
        """Return the other values that a constant can take."""
        start, end = self.source.span(node)
        value = node.value if isinstance(node, ast.Constant) else ""
        last = node.end_lineno or node.lineno
        if isinstance(value, bool):
            yield (start, end), str(not value), "truth value", node.lineno
        elif isinstance(value, int):
            yield (start, end), str(value + 1), "number", node.lineno
            yield (start, end), str(value - 1), "number", node.lineno
        elif isinstance(value, str | bytes):
            quotes = 3 if self.source.text[end - 3 : end] in ('"""', "'''") else 1
            yield (end - quotes, end - quotes), MARK, "string", last

    def arguments(self, node: ast.Call) -> Iterator[Point]:
        """Return the arguments that a call may do without."""
        for keyword in node.keywords:
            if keyword.arg is not None and keyword.arg not in TEXTS:
                yield self.source.argument(keyword), "", "argument", node.lineno
        if name_of(node.func) in CONDITIONS and len(node.args) > 1:
            for argument in node.args:
                yield self.source.argument(argument), "", "where", node.lineno


def name_of(function: ast.expr) -> str:
    """Return the last part of a called name, or an empty string."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def is_text(node: ast.expr) -> bool:
    """Whether a node is a string."""
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _conditions(node: ast.AST) -> list[ast.expr]:
    """Return the conditions that decide what a node does, without constants such as that of `while True`."""
    match node:
        case ast.If() | ast.While() | ast.IfExp():
            tests = [node.test]
        case ast.comprehension():
            tests = node.ifs
        case ast.match_case(guard=ast.expr() as guard):
            tests = [guard]
        case _:
            tests = []
    return [test for test in tests if not isinstance(test, ast.Constant)]


def _is_falsy(node: ast.expr) -> bool:
    """Whether returning nothing instead of this constant would usually be the same."""
    return isinstance(node, ast.Constant) and not node.value


def _is_skipped(node: ast.AST) -> bool:
    """Whether nothing below a node is mutated."""
    match node:
        case ast.Assert() | ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()):
            return True
        case ast.If():
            test = ast.unparse(node.test)
            return test.endswith("TYPE_CHECKING") or "__name__" in test
        case ast.Assign(targets=[ast.Name(id="__all__" | "__slots__")]):
            return True
        case ast.Expr(value=ast.Call() as call) if _is_logging(call):
            return True
        case ast.Call():
            return name_of(node.func) in TYPING or _is_logging(node)
        case ast.Subscript():
            return name_of(node.value) in TYPING
    return type(node).__name__ == "TypeAlias"


def _is_logging(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and name_of(call.func.value) in LOGGERS
