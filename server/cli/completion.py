"""The command that prints a script with which a shell completes the commands of `byzanz`."""

from __future__ import annotations

import argparse
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any, NamedTuple


class Shell(NamedTuple):
    """How a script is written for a shell.

    Args:
        script: with a place for the cases.
        case: what may follow one command, with places for its path and the words.
        file: where to put the script.
    """

    script: str
    case: str
    file: str


SHELLS = {
    "bash": Shell(
        """\
_byzanz() {{
    local words
    case "${{COMP_WORDS[*]:1:COMP_CWORD-1}} " in
{cases}
    esac
    COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _byzanz byzanz""",
        '        "{path}"*) words="{words}" ;;',
        "/etc/bash_completion.d/byzanz",
    ),
    "zsh": Shell(
        """\
#compdef byzanz
local found
case "${{(j: :)words[2,CURRENT-1]}} " in
{cases}
esac
compadd -- ${{=found}} || _files""",
        '    "{path}"*) found="{words}" ;;',
        "/usr/local/share/zsh/site-functions/_byzanz",
    ),
    "fish": Shell(
        """\
function __byzanz_words
    switch (string join ' ' -- (commandline -opc)[2..])' '
{cases}
    end
end
complete -c byzanz -a '(__byzanz_words)'""",
        "        case '{path}*'\n            string split ' ' -- '{words}'",
        "/etc/fish/completions/byzanz.fish",
    ),
}


def add(commands: Any, parser: ArgumentParser) -> None:
    """Add this command to `byzanz`, whose parser has all others."""
    completion = commands.add_parser(
        "completion",
        help="print a script that completes commands and options in bash, zsh or fish",
        description="Print a script for a shell. "
        + " ".join(
            f"`byzanz completion {name} > {shell.file}` installs it." for name, shell in SHELLS.items()
        ),
    )
    completion.add_argument("shell", nargs="?", default="bash", choices=SHELLS, help="default: bash")
    completion.set_defaults(run=lambda args: _print(parser, SHELLS[args.shell]))


def _print(parser: ArgumentParser, shell: Shell) -> None:
    cases = [shell.case.format(path=path, words=" ".join(words)) for path, words in _words(parser, "")]
    print(shell.script.format(cases="\n".join(cases)))


def _words(parser: ArgumentParser, path: str) -> Iterator[tuple[str, list[str]]]:
    """Yield what may follow each command, the longer commands first."""
    words: list[str] = []
    for action in parser._actions:
        words += action.option_strings or action.choices or ()
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield from _words(inner, f"{path}{name} ")
    yield path, words
