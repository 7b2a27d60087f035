"""Every page in every possible state, by name, and how to reach it."""

from __future__ import annotations

from tests.support.browser.account_states import ACCOUNTS
from tests.support.browser.game_states import STOPPED, of_game
from tests.support.browser.lobby_states import LOBBY
from tests.support.browser.moderation_states import MODERATION
from tests.support.browser.site import Place, Site, Way

AROUND: dict[str, Way] = ACCOUNTS | LOBBY | MODERATION
"""The pages around the games."""
STATES: dict[str, Way] = AROUND | of_game("byzanz") | of_game("byzantium") | of_game("empire") | STOPPED
"""All of them."""


ALIKE = ("stale", "moment in public", "order refused", "chosen", "over moment", "over verified")
"""States of a game that say nothing which others do not say, too."""
LANGUAGES = ("de", "nl")
SPOKEN = [
    (LANGUAGES[number % 2], state)
    for number, state in enumerate(state for state in STATES if not state.endswith(ALIKE))
]
"""Every page in one language or the other."""
SPOKEN_AT_NIGHT = [
    (language, state) for language in LANGUAGES for state in AROUND if (language, state) not in SPOKEN
]
"""The pages around the games in the other language."""


def place_of(site: Site, state: str) -> Place:
    """Return where a state can be seen; the steps to it run only once."""
    if state not in site.places:
        site.places[state] = STATES[state](site)
    return site.places[state]
