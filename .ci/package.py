"""Install the example package beside the wheel and play a game of it by email: two players answer with replies."""

import os
import smtplib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from aiosmtpd.controller import Controller

GOOFSPIEL = Path(__file__).resolve().parents[1] / "examples" / "goofspiel"
DOMAIN = "play.byzanz.example"
PLAYERS = ("ann@example.org", "bob@example.org")
ROUNDS = 13
PATIENCE = 60.0
"""Seconds in which each email must come; generous, because CI machines are busy."""


def plays_a_package(bin_folder: Path, folder: Path) -> None:
    """Check that the example package passes its tests, installs, is found and can be played by email.

    Args:
        bin_folder: the programs of an environment with the wheel of Byzanz.
        folder: for the package's wheel and the server's home.
    """
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], cwd=GOOFSPIEL, check=True
    )
    install(bin_folder, folder)
    home = folder / "home"
    home.mkdir()
    letters, smtp_port = Letters(), free_port()
    mail_server = Controller(letters, hostname="127.0.0.1", port=smtp_port)
    mail_server.start()
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("BYZANZ_", "PYTHON"))},
        "BYZANZ_HOME": str(home),
        "BYZANZ_MAIL_URL": f"smtp://127.0.0.1:{smtp_port}",
        "BYZANZ_MAIL_DOMAIN": DOMAIN,
        "BYZANZ_TICK": "0.5",
        "BYZANZ_LOG_LEVEL": "warning",
    }

    def byzanz(*words: str, status: int | None = 0) -> str:
        command = [str(bin_folder / "byzanz"), *words]
        done = subprocess.run(command, env=environment, cwd=home, capture_output=True, text=True, check=False)
        assert status is None or done.returncode == status, (words, done.stdout, done.stderr)
        return done.stdout

    try:
        byzanz("upgrade")
        assert "games: byzanz, empire, byzantium, goofspiel" in byzanz("doctor", status=None)
        byzanz("check", "goofspiel")
        lmtp_port = free_port()
        with (
            running([bin_folder / "byzanz", "serve", "--port", str(free_port())], environment),
            running([bin_folder / "byzanz", "mail-in", "--port", str(lmtp_port)], environment),
        ):
            guests = [word for address in PLAYERS for word in ("--player", f"{address[:3]} <{address}>")]
            game = byzanz("new", "goofspiel", "--start", *guests).strip()
            play(letters, lmtp_port)
        (home / "record.jsonl").write_text(byzanz("export", game))
        assert f"{game}: ok, goofspiel for 2, " in byzanz("verify", "record.jsonl")
    finally:
        mail_server.stop()


def install(bin_folder: Path, folder: Path) -> None:
    """Build the wheel of the example and install it."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "package")]
    subprocess.run(build, cwd=GOOFSPIEL, check=True)
    (wheel,) = (folder / "package").glob("*.whl")
    pip = [str(bin_folder / "python"), "-m", "pip", "--disable-pip-version-check", "-qq", "install"]
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True)


class Letters:
    """A mail server that keeps what it gets."""

    def __init__(self) -> None:
        self.waiting: Queue[EmailMessage] = Queue()

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802 - aiosmtpd's name
        """Keep an email."""
        read = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(read, EmailMessage)
        self.waiting.put(read)
        return "250 OK"

    def next(self) -> EmailMessage:
        """Return the next email that tells of a turn or of the end, once it has come."""
        with suppress(Empty):
            while True:
                message = self.waiting.get(timeout=PATIENCE)
                if message["Auto-Submitted"] != "auto-replied":  # no answer to a reply
                    return message
        raise AssertionError("no email came")


def play(letters: Letters, lmtp_port: int) -> None:
    """Answer each email about a turn with the bids for its round and the next, until the game is over.

    The second to bid in a round opens the next one; a player's own next turn is emailed only after two minutes.
    """
    bids = dict.fromkeys(PLAYERS, 0)
    while "Reply-To" in (message := letters.next()):
        player = str(message["To"].addresses[0].addr_spec)
        other = bids[PLAYERS[player == PLAYERS[0]]]
        if bids[player] > other or bids[player] >= ROUNDS - 1:
            continue  # this bid is made, or the only card left is played by itself
        first = bids[player] + 1
        last = min(ROUNDS - 1, other + 1)
        bids[player] = last
        answer(lmtp_port, message, [f"bid {number}" for number in range(first, last + 1)])


def answer(lmtp_port: int, message: EmailMessage, lines: list[str]) -> None:
    """Reply to an email as its reader."""
    reply = EmailMessage()
    reply["From"], reply["To"], reply["Subject"] = message["To"], message["Reply-To"], message["Subject"]
    reply["Message-ID"], reply["In-Reply-To"] = f"<re.{message['Message-ID'][1:]}", message["Message-ID"]
    reply.set_content("\n".join(lines) + "\n")
    limit = time.monotonic() + PATIENCE
    while True:
        try:
            with smtplib.LMTP("127.0.0.1", lmtp_port) as connection:
                connection.send_message(reply)
            return
        except ConnectionRefusedError:  # it has not started yet
            assert time.monotonic() < limit, "nothing receives email"
            time.sleep(0.2)


@contextmanager
def running(command: list[Path | str], environment: dict[str, str]) -> Iterator[None]:
    """Run a program during the block."""
    with subprocess.Popen(command, env=environment, cwd=environment["BYZANZ_HOME"]) as started:
        try:
            yield
            assert started.poll() is None, f"{command[1]} has stopped"
        finally:
            started.terminate()


def free_port() -> int:
    """Return a port of this machine that is free now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
