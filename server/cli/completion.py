"""The command that prints a script with which bash completes the commands of `byzanz`."""

from __future__ import annotations

import argparse
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

SCRIPT = """\
_byzanz() {{
    local words
    case "${{COMP_WORDS[*]:1:COMP_CWORD-1}} " in
{cases}
    esac
    COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _byzanz byzanz"""


def add(commands: Any, parser: ArgumentParser) -> None:
    """Add this command to `byzanz`, whose parser has all others."""
    completion = commands.add_parser(
        "completion",
        help="print a script that completes commands and options in bash",
        description="Print a script for bash; `byzanz completion > /etc/bash_completion.d/byzanz` installs it.",
    )
    completion.set_defaults(run=lambda _args: _print(parser))


def _print(parser: ArgumentParser) -> None:
    cases = [f'        "{path}"*) words="{" ".join(words)}" ;;' for path, words in _words(parser, "")]
    print(SCRIPT.format(cases="\n".join(cases)))


def _words(parser: ArgumentParser, path: str) -> Iterator[tuple[str, list[str]]]:
    """Yield what may follow each command, the longer commands first."""
    words: list[str] = []
    for action in parser._actions:
        words += action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            words += action.choices
            for name, inner in action.choices.items():
                yield from _words(inner, f"{path}{name} ")
    yield path, words
