"""People's own settings: signing in, requested links, absences, and how much email they get."""

from __future__ import annotations

from server.accounts.absences import add_absence, remove_absence
from server.accounts.login import mail_fresh_link, mail_games, mail_sign_in, redeem, renew_feed
from server.accounts.mail_settings import mute, mute_all, set_cadence

__all__ = [
    "add_absence",
    "mail_fresh_link",
    "mail_games",
    "mail_sign_in",
    "mute",
    "mute_all",
    "redeem",
    "remove_absence",
    "renew_feed",
    "set_cadence",
]
