"""Servers in processes of their own, with the CPU time and the memory of their whole process tree."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

HOST = "127.0.0.1"
SLOWEST_START = 60.0
"""Seconds after which a server that does not listen never will."""
PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Server:
    """A running server.

    Args:
        pid: of its first process.
        port: on which it listens.
    """

    pid: int
    port: int

    def cpu_seconds(self) -> float:
        """Return the CPU time that all its processes have taken so far, those that have ended included."""
        ticks = sum(sum(map(int, stat[11:15])) for stat in _stats(self.pid))
        return ticks / os.sysconf("SC_CLK_TCK")

    def pss_megabytes(self) -> float:
        """Return the memory of all its processes, with what they share counted once."""
        kilobytes = 0
        for pid in tree(self.pid):
            with suppress(OSError):  # it has just ended
                lines = (PROC / str(pid) / "smaps_rollup").read_text().splitlines()
                kilobytes += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        return kilobytes * 1024 / 1e6


def tree(pid: int) -> list[int]:
    """Return the ids of a process and all its descendants."""
    children: dict[int, list[int]] = {}
    for each in PROC.iterdir():
        if each.name.isdigit() and (stat := _stat(int(each.name))):
            children.setdefault(int(stat[1]), []).append(int(each.name))
    found = [pid]
    for parent in found:  # grows while it is walked
        found += children.get(parent, [])
    return found


def _stats(pid: int) -> Iterator[list[str]]:
    for each in tree(pid):
        if stat := _stat(each):
            yield stat


def _stat(pid: int) -> list[str] | None:
    """Return the fields of /proc/PID/stat from the state on; None if the process has ended."""
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


@contextmanager
def started(
    command: Sequence[str], port: int, environment: Mapping[str, str] | None = None
) -> Iterator[Server]:
    """Start a server, wait until it listens, and stop it at the end.

    Args:
        environment: added to ours.

    Raises:
        RuntimeError: it has ended, or does not listen.
    """
    with subprocess.Popen(
        command, env=os.environ | dict(environment or {}), stdout=subprocess.DEVNULL, start_new_session=True
    ) as process:
        try:
            _wait_until_it_listens(process, port)
            yield Server(process.pid, port)
        finally:
            stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ask a server to stop, and kill all its processes if it does not."""
    process.send_signal(signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(10)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _wait_until_it_listens(process: subprocess.Popen[bytes], port: int) -> None:
    last = time.monotonic() + SLOWEST_START
    while not listens(port):
        if process.poll() is not None or time.monotonic() > last:
            raise RuntimeError(f"{process.args!r} does not listen on port {port}")
        time.sleep(0.05)


def listens(port: int) -> bool:
    """Whether a process listens on a port of this machine."""
    with socket.socket() as probe:
        probe.settimeout(5)
        return probe.connect_ex((HOST, port)) == 0


def free_port() -> int:
    """Return a free port of this machine."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
