"""The command `byzanz` (docs/formats.md §5): its arguments and exit status, 0 on success, else one line on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from byzanz import __version__
from server.cli import admin, kit, records, servers
from server.cli import parser as cli_parser
from server.cli.parser import CommandError, Parser, error_line

INTERRUPTED = 130
"""The status after Ctrl-C."""
BROKEN_PIPE = 141
"""The status when the reader of our output went away."""


def main(words: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        words: the arguments after `byzanz`; those of this process when None.

    Returns:
        The exit status.
    """
    words = sys.argv[1:] if words is None else words
    return servers.exit_status(words, _run(words))


def _run(words: Sequence[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # show what the terminal cannot print as escapes
    try:
        args = parser().parse_args(words)
        status = args.run(args) or 0
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that the final flush cannot fail
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        line = error_line(error)
        if line is None:
            raise
        print(f"byzanz: {line}", file=sys.stderr)
        return error.status if isinstance(error, CommandError) else 1
    return int(status)


def parser() -> Parser:
    """Return the parser of all commands."""
    made = Parser(prog="byzanz", description="A play-by-email server for card games.")
    made.add_argument("--version", action="version", version=f"byzanz {__version__}")
    commands = made.add_subparsers(title="commands", metavar="COMMAND", required=True)
    servers.add(commands)
    admin.add_games(commands)
    admin.add_people(commands)
    admin.add_show(commands)
    records.add(commands)
    kit.add(commands)
    servers.add_backups(commands)
    servers.add_checks(commands)
    cli_parser.add_completion(commands, made)
    return made
