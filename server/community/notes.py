"""Notes to oneself at a game: only their writer ever reads them, and no moderator, email, feed or record does.

`store.words` reads them, with what was said at the table.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session

from server import play
from server.community.plain_text import cleaned
from server.store.engine import transaction
from server.store.models import Notes

LONGEST = 5000
MOST_LINES = 500


def read(session: Session, game_id: str, person_id: int) -> str:
    """Return a person's notes at a game."""
    found = session.get(Notes, (game_id, person_id))
    return found.text if found else ""


def write(game_id: str, person_id: int, text: str, now: datetime) -> None:
    """Replace a person's notes at a game; an empty text deletes them.

    Raises:
        InvalidInput: the text is too long.
    """
    text = cleaned(text, longest=LONGEST, most_lines=MOST_LINES, field="notes")
    with transaction(game_id) as session:
        game = play.lock_game(session, game_id)
        found = session.get(Notes, (game_id, person_id))
        if found is not None and not text:
            session.delete(found)
        elif found is not None:
            found.text, found.changed_at = text, now
        elif text:
            game.noted = True
            session.add(Notes(game_id=game_id, person_id=person_id, text=text, changed_at=now))
