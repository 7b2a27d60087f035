"""`byzanz doctor --after-restore`: which games had gone further than the restored backup."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy.orm import Session

from server.ops.finding import Finding
from server.store import engine, log
from server.store.models import Game

NONE_MISSING = "no returned email and no opened link quotes an entry that the logs lack"


def run(file: Path | None) -> int:
    """Print the games whose logs lack an entry that an email quotes; those found in the file are reported first.

    Args:
        file: a log or a mailbox of the mail server, which holds the Message-IDs of our emails.

    Returns:
        0 if there are none, else 1.
    """
    if file is not None:
        with file.open(encoding="latin-1") as lines:
            for line in lines:
                log.report_missing(line, engine.utc_now())
    with engine.reading() as session:
        findings = [_finding(session, head) for head in log.reported(session)]
    for finding in findings or [Finding(True, NONE_MISSING)]:
        print(finding, flush=True)
    return 1 if findings else 0


def _finding(session: Session, head: log.Head) -> Finding:
    game = session.get(Game, head.game_id)
    stands = "the database has no such game"
    if game is not None:
        stands = f"the log ends at {game.head}" if game.head < head.seq else "the log has another entry there"
    remedy = "restore a newer backup, or tell the players which moves were lost"
    return Finding(
        False, f"game {head.game_id}, entry {head.seq} was emailed as {head.hash}…, but {stands}", remedy
    )
