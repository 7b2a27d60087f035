"""What the account page decides; its sentences are marked here and translated in `templates/account/account.html`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from server.errors import InvalidInput, Refused
from server.i18n import N_
from server.store.models import Absence, BrowserSession, Person

AUDIENCES = {"nobody": N_("Nobody"), "met": N_("People I have played with"), "all": N_("Everybody")}
"""Who can see a profile."""


@dataclass(frozen=True, slots=True)
class AccountPage:
    """The settings of a person.

    Args:
        done: what the page is to confirm, as its address says.
        absences: those that are not over.
        this_browser: the session of the browser that asks.
    """

    me: Person
    now: datetime
    refusal: Refused | None
    done: str
    absences: Sequence[Absence]
    browsers: Sequence[BrowserSession]
    this_browser: BrowserSession | None

    @property
    def wrong(self) -> str | None:
        """The field that was refused."""
        return self.refusal.field if isinstance(self.refusal, InvalidInput) else None

    @property
    def is_saved(self) -> bool:
        """Whether the settings have just been saved."""
        return self.done == "saved" and self.refusal is None

    @property
    def away(self) -> list[tuple[Absence, bool]]:
        """The absences, each with whether it has begun and can no longer be removed."""
        return [(absence, absence.from_at <= self.now) for absence in self.absences]

    @property
    def invitations(self) -> tuple[str, str, str]:
        """What is said about invitations, and what the button beside it does and says."""
        if self.me.no_invitations:
            return N_("We send you no invitations."), "allow", N_("Allow invitations")
        refuse = N_("Never send me invitations")
        return N_("Other people can invite you to games by email."), "refuse", refuse

    @property
    def sessions(self) -> list[tuple[BrowserSession, bool]]:
        """The browsers in which the person is signed in, each with whether it is the one that asks."""
        own = self.this_browser.id if self.this_browser else None
        return [(browser, browser.id == own) for browser in self.browsers]
