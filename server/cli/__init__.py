"""The command `byzanz` (docs/formats.md §5): its arguments and exit status, 0 on success, else one line on stderr."""

from __future__ import annotations

import os
import sys
from argparse import Action, Namespace, _SubParsersAction
from collections.abc import Iterator, Sequence
from functools import partial
from importlib import import_module

from byzanz import __version__
from server.cli import servers
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


COMMANDS = {
    "demo": ("servers", "try out a complete server on this machine, with an inbox and a game against bots"),
    "serve": ("servers", "run web, scheduler and mailer in one process, after upgrading the database"),
    "web": ("servers", "run only the web pages, in several processes"),
    "scheduler": ("servers", "run only deadlines, reminders, bots and outgoing email"),
    "upgrade": ("servers", "create the database or upgrade it to this version"),
    "mail-in": (
        "servers",
        "receive moves by email, bounces and complaints, as an LMTP server or one email on standard input",
    ),
    "new": ("admin", "create a game, invite players by email and print the game's ID"),
    "recount": ("admin", "count the results of all finished games again"),
    "moderator": ("admin", "add, remove or list moderators"),
    "person": ("admin", "show, export, move or erase what is stored about a person"),
    "game": ("admin", "show what happened to a game"),
    "mail": ("admin", "show what happened to an outgoing email"),
    "simulate": ("records", "let bots play whole games without a server"),
    "verify": ("records", "check every record in a file by replaying it"),
    "export": ("records", "print the record of a game"),
    "new-game": ("kit", "write a new game as a package of its own"),
    "check": ("kit", "check the rules, templates and records of a game"),
    "play": ("kit", "play a game in the terminal against bots"),
    "backup": ("servers", "copy the SQLite database and the secret key into one file, while the server runs"),
    "restore": ("servers", "put a backup in the place of the SQLite database; the server must be stopped"),
    "doctor": ("servers", "report what is wrong with this server and what to do"),
}
"""The commands with the module of each, in which `add_COMMAND` adds its arguments, and their help."""


def parser() -> Parser:
    """Return the parser of all commands; the module of a command is imported when the command is chosen."""
    made = Parser(prog="byzanz", description="A play-by-email server for card games.")
    made.add_argument("--version", action="version", version=f"byzanz {__version__}")
    commands = made.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, (module, words) in COMMANDS.items():
        commands.add_parser(name, help=words, declare=partial(_declare, module, name))
    commands.add_parser(
        "completion",
        help="print a script that completes commands and options in bash, zsh or fish",
        declare=_add_completion,
    )
    return made


def _declare(module: str, name: str, command: Parser) -> None:
    getattr(import_module(f"server.cli.{module}"), f"add_{name.replace('-', '_')}")(command)


# ---- completion ----

FILES = {
    "bash": "/etc/bash_completion.d/byzanz",
    "zsh": "/usr/local/share/zsh/site-functions/_byzanz",
    "fish": "/etc/fish/completions/byzanz.fish",
}
"""The shells, and where the script of each belongs."""
PATHS = ("FILE", "FOLDER", "GAME", "SLUG|PATH")
"""What an argument that can name a file or folder is called in the help."""


def _add_completion(command: Parser) -> None:
    command.description = "Print a script for a shell. " + " ".join(
        f"`byzanz completion {shell} > {file}` installs it." for shell, file in FILES.items()
    )
    command.add_argument("shell", nargs="?", default="bash", choices=tuple(FILES), help="default: bash")
    command.set_defaults(run=_print_completion)


def _print_completion(args: Namespace) -> None:
    import shtab  # here, so that other commands start quickly

    whole = parser()
    for action in _actions(whole):
        if action.metavar in PATHS:
            action.complete = shtab.FILE  # type: ignore[attr-defined]  # how shtab is told
    print(shtab.complete(whole, args.shell))


def _actions(command: Parser) -> Iterator[Action]:
    """Yield the arguments of a command and of the commands under it."""
    for action in command.declared()._actions:
        yield action
        if isinstance(action, _SubParsersAction):
            for inner in action.choices.values():
                yield from _actions(inner)
