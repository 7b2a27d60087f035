"""Random names of games and cuts of the deck, offered in forms."""

from __future__ import annotations

import secrets
from collections.abc import Collection

from server import validation

# fmt: off
_CUT_WORDS = (
    "agate", "amber", "anchor", "apse", "arch", "basil", "bay", "bell", "bishop", "bronze", "candle",
    "cedar", "chalice", "chant", "cinnabar", "citadel", "cloak", "column", "coral", "crown", "cypress",
    "dome", "dove", "dromon", "eagle", "ebony", "enamel", "falcon", "fig", "forum", "frankincense", "gate",
    "gold", "harbour", "hazel", "horn", "icon", "indigo", "ivory", "jasper", "lamp", "lantern", "lapis",
    "laurel", "lily", "lion", "marble", "mosaic", "myrrh", "oak", "oar", "olive", "onyx", "oracle", "palm",
    "pearl", "pepper", "pillar", "porphyry", "quay",
)
# fmt: on
_ADJECTIVES = ("Golden", "Purple", "Silver", "Marble", "Amber", "Silk", "Ivory", "Saffron", "Bronze", "Cedar")
_NOUNS = ("Horn", "Gate", "Harbour", "Caravan", "Forum", "Dromon", "Dome", "Bazaar", "Mosaic", "Cistern")
_PLACES = ("Chalcedon", "Trebizond", "Nicaea", "Galata", "Chrysopolis", "Blachernae", "Adrianople", "Ephesus")

CAST = {
    "random": ("Leontios", "Kassia", "Bardas", "Euphemia", "Philaretos"),
    "greedy": ("Theodora", "Narses", "Prokopios", "Sophia", "Nikephoros"),
    "search": ("Psellos", "Komnene", "Anthemios", "Photios", "Tribonian"),
}
"""The names of bots by their kind; partials/cast.html tells their characters."""


def bot_name(kind: str, taken: Collection[str]) -> str:
    """Return the name for a bot of this kind: the first of the cast that nobody at the table has, else the first."""
    cast = CAST[kind]
    return next((name for name in cast if not validation.is_taken(name, taken)), cast[0])


def random_cut() -> str:
    """Return a random cut: six words."""
    return " ".join(secrets.choice(_CUT_WORDS) for _ in range(6))


def random_game_name() -> str:
    """Return a random name for a new game."""
    name = f"The {secrets.choice(_ADJECTIVES)} {secrets.choice(_NOUNS)}"
    return f"{name} of {secrets.choice(_PLACES)}" if secrets.randbelow(2) else name
