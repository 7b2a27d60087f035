"""Rules for emails sent to a failing server: none lost, none sent again without a crash."""

from __future__ import annotations

from collections import defaultdict

from tests.torture.evidence import Evidence, Found


def delivered(found: Evidence) -> Found:
    """Each queued email is accepted or permanently refused; none waits forever, and none stays marked as being sent."""
    taken = {line["to"] for line in found.lines("mail", "swallowed")}
    refused = {line["to"] for line in found.lines("refused")}
    status = {found.people[row["person_id"]]["email"]: row["status"] for row in found.mails}
    for line in found.lines("queued"):
        said = status.get(line["to"], "gone")
        if not (said == "sent" and line["to"] in taken) and not (said == "failed" and line["to"] in refused):
            yield None, f"the mail to {line['to']} is {said}; taken: {line['to'] in taken}"


def single(found: Evidence) -> Found:
    """There is at most one extra copy for each killed mailer, and all copies of an email are equal."""
    names: dict[str, set[str]] = defaultdict(set)
    for line in found.lines("mail", "swallowed"):
        names[line["to"]].add(line["id"])
    for to, its in names.items():
        if len(its) > 1:
            yield None, f"the copies of the mail to {to} have {len(its)} names"
    taken = found.lines("mail")
    copies, kills = len(taken) - len({line["to"] for line in taken}), len(found.lines("kill"))
    if copies > kills:
        yield None, f"{copies} mails were taken twice, though only {kills} mailers were killed"
