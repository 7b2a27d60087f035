"""Naming the browser of a request in words, for the list of a person's sessions."""

from __future__ import annotations

import re

BROWSERS = {
    "Edge": r"Edg[eA]?/|EdgiOS/",
    "Opera": r"OPR/|Opera",
    "Samsung Internet": r"SamsungBrowser/",
    "Firefox": r"Firefox/|FxiOS/",
    "Chrome": r"Chrom(e|ium)/|CriOS/",
    "Safari": r"Safari/",
}
"""What each browser says of itself; the first that fits counts, since most also claim to be a later one."""
SYSTEMS = {
    "Android": "Android",
    "iPad": "iPad",
    "iPhone": "iPhone",
    "Windows": "Windows",
    "ChromeOS": "CrOS",
    "macOS": "Macintosh",
    "Linux": "Linux",
}


def browser_name(user_agent: str) -> str:
    """Return browser and system (`Firefox, Linux`) as a User-Agent header tells them; empty if it tells neither."""
    found = (
        next((name for name, pattern in table.items() if re.search(pattern, user_agent)), None)
        for table in (BROWSERS, SYSTEMS)
    )
    return ", ".join(name for name in found if name)
