"""`byzanz doctor` asks the DNS whether emails will be trusted and replies arrive."""

from __future__ import annotations

from unittest.mock import Mock

import dns.resolver
import pytest

from server.config import Settings
from server.demo import free_port
from server.ops import checks
from server.ops.checks import Finding
from tests.support.name_servers import serving

SOUND = {
    ("play.example.org", "MX"): ["10 mail.example.org."],
    ("play.example.org", "TXT"): ['"some other text"', '"v=spf1 mx " "-all"'],
    ("s1._domainkey.example.org", "TXT"): ['"v=DKIM1; k=rsa; p=AAAA"'],
    ("_dmarc.example.org", "TXT"): ['"v=DMARC1; p=quarantine"'],
}


def settings(author: str = "Byzanz <byzanz@example.org>", domain: str = "play.example.org") -> Settings:
    return Settings(mail_from=author, mail_domain=domain)


def findings(changes: dict[tuple[str, str], list[str]], given: Settings | None = None) -> list[Finding]:
    """Return the findings after these records of a sound set-up have changed; an empty list removes them."""
    records = {key: found for key, found in (SOUND | changes).items() if found}
    with serving(records) as resolver:
        return list(checks.dns_findings(given or settings(), resolver))


def test_a_sound_set_up_is_told() -> None:
    assert [str(found) for found in findings({})] == [
        "ok     email for play.example.org goes to mail.example.org",
        "ok     SPF of play.example.org: v=spf1 mx -all",
        "ok     DKIM: example.org has keys; `byzanz doctor --mail YOUR-ADDRESS` shows whether they fit",
        "ok     DMARC of example.org: v=DMARC1; p=quarantine; aligned with play.example.org",
    ]


FAULTS = [
    ({("play.example.org", "MX"): []}, "replies cannot arrive: play.example.org has no MX record"),
    ({("play.example.org", "MX"): ["0 ."]}, "play.example.org says that it takes no email"),
    ({("play.example.org", "TXT"): []}, "play.example.org, the envelope sender's domain, has no SPF record"),
    ({("play.example.org", "TXT"): ['"v=spf10"']}, "has no SPF record"),
    ({("play.example.org", "TXT"): ['"v=spf1 mx"', '"v=spf1 a"']}, "has 2 SPF records, so none counts"),
    ({("play.example.org", "TXT"): ['"v=spf1 +ALL"']}, "allows everybody to send"),
    ({("s1._domainkey.example.org", "TXT"): []}, "the domain of BYZANZ_MAIL_FROM, has no DKIM key"),
    ({("_dmarc.example.org", "TXT"): []}, "example.org has no DMARC record"),
    ({("_dmarc.example.org", "TXT"): ['"v=DMARC1"'] * 2 + ['"v=DMARC1;p=none"']}, "2 DMARC records"),
    ({("_dmarc.example.org", "TXT"): ['"v=DMARC1; p=none; aspf=s"']}, "remove aspf=s"),
]


@pytest.mark.parametrize(("changes", "told"), FAULTS, ids=range(len(FAULTS)))
def test_each_missing_record_is_named_with_its_remedy(
    changes: dict[tuple[str, str], list[str]], told: str
) -> None:
    (wrong,) = [found for found in findings(changes) if not found.ok]
    assert told in str(wrong)
    assert wrong.remedy


def test_an_address_may_take_the_place_of_an_mx() -> None:
    changes = {("play.example.org", "MX"): [], ("play.example.org", "A"): ["192.0.2.1"]}
    assert all(found.ok for found in findings(changes))


def test_without_replies_only_the_author_counts() -> None:
    found = findings({("example.org", "TXT"): ['"v=spf1 a -all"']}, settings(domain=""))
    assert [each.ok for each in found] == [True, True, True]
    assert "SPF of example.org" in found[0].what


def test_a_reply_domain_of_somebody_else_is_not_aligned() -> None:
    changes = {("play.example.net", "MX"): ["1 mx."], ("play.example.net", "TXT"): ['"v=spf1 mx -all"']}
    (wrong,) = [each for each in findings(changes, settings(domain="play.example.net")) if not each.ok]
    assert "SPF for play.example.net does not count for DMARC of example.org" in wrong.what


def test_a_policy_of_the_organisation_counts_for_its_subdomains() -> None:
    changes = {("s1._domainkey.mail.example.org", "TXT"): ['"v=DKIM1; p=A"']}
    found = findings(changes, settings("byzanz@mail.example.org"))
    assert all(each.ok for each in found)
    assert found[-1].what.startswith("DMARC of mail.example.org: v=DMARC1")


@pytest.mark.parametrize(
    ("domain", "registered"),
    [
        ("example.org", "example.org"),
        ("a.play.example.org", "example.org"),
        ("play.example.co.uk", "example.co.uk"),
        ("example.de", "example.de"),
        ("play.games.de", "games.de"),
    ],
)
def test_the_registered_domain_is_guessed(domain: str, registered: str) -> None:
    assert checks.organisation(domain) == registered


def test_nothing_is_wrong_where_no_resolver_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    resolver = dns.resolver.Resolver(configure=False)
    resolver.nameservers, resolver.port = ["127.0.0.1"], free_port()
    monkeypatch.setattr(checks, "SECONDS", 0.2)
    (found,) = checks.dns_findings(settings(), resolver)
    assert found.ok
    assert found.what.startswith("DNS: not checked, no resolver answers (play.example.org: ")
    resolver.nameservers = []
    (found,) = checks.dns_findings(settings(), resolver)
    assert "not checked" in found.what
    unset = Mock(side_effect=dns.resolver.NoResolverConfiguration)
    monkeypatch.setattr(dns.resolver, "Resolver", unset)
    (found,) = checks.dns_findings(settings())
    assert found.ok
    assert found.what.startswith("DNS: not checked, no resolver answers")
    (found,) = checks.dns_findings(settings("byzanz@localhost"))
    assert found.what.startswith("DNS: not checked, for localhost")
