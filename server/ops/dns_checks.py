"""What `byzanz doctor` asks the DNS: whether other mail servers trust our emails and find us (docs/mail-out.md)."""

from __future__ import annotations

from collections.abc import Iterator
from email.utils import parseaddr

import dns.exception
import dns.name
import dns.resolver

from server.config import Settings
from server.ops.finding import Finding

SECONDS = 3.0
"""How long one question may take."""
DOCUMENT = "(docs/mail-out.md)"


class NotChecked(Exception):
    """No resolver answers; the text says why."""


def findings(settings: Settings, resolver: dns.resolver.Resolver | None = None) -> Iterator[Finding]:
    """Yield what the DNS says about the domains of our emails.

    Args:
        resolver: whom to ask; this machine's own by default.
    """
    author = parseaddr(settings.mail_from)[1].rpartition("@")[2].lower()
    if "." not in author:
        yield Finding(
            True, f"DNS: not checked, for {author} in BYZANZ_MAIL_FROM is no domain of the Internet"
        )
        return
    try:
        ask = resolver or dns.resolver.Resolver()
        envelope = settings.mail_domain.lower() or author
        if settings.mail_domain:
            yield _mx(ask, envelope)
        yield _spf(ask, envelope)
        yield _dkim(ask, author)
        yield _dmarc(ask, author, envelope)
    except (NotChecked, dns.resolver.NoResolverConfiguration) as error:
        yield Finding(True, f"DNS: not checked, no resolver answers ({error})")


def _records(ask: dns.resolver.Resolver, name: str, kind: str) -> list[str] | None:
    """Return the records of a name as text; None if the name does not exist.

    Raises:
        NotChecked: no resolver answers.
    """
    try:
        answer = ask.resolve(dns.name.from_text(name), kind, lifetime=SECONDS, raise_on_no_answer=False)
    except (dns.resolver.NXDOMAIN, dns.exception.SyntaxError, dns.name.LabelTooLong):
        return None
    except (dns.exception.DNSException, OSError) as error:
        raise NotChecked(f"{name}: {type(error).__name__}") from None
    if kind == "TXT":
        return [b"".join(record.strings).decode(errors="replace") for record in answer.rrset or ()]
    return [record.to_text() for record in answer.rrset or ()]


def _tagged(ask: dns.resolver.Resolver, name: str, version: str) -> list[str]:
    """Return the TXT records of a name that begin with a version, which ends at a blank or a semicolon."""
    found = _records(ask, name, "TXT") or []
    return [text for text in found if text.lower().replace(";", " ").split(" ", 1)[0] == version]


def _mx(ask: dns.resolver.Resolver, domain: str) -> Finding:
    hosts = [text.partition(" ")[2].rstrip(".") for text in _records(ask, domain, "MX") or []]
    if hosts == [""]:
        remedy = f"publish an MX record that names the server on which `byzanz mail-in` runs {DOCUMENT}"
        return Finding(False, f"{domain} says that it takes no email (a null MX)", remedy)
    if not hosts and not (_records(ask, domain, "A") or _records(ask, domain, "AAAA")):
        remedy = f"publish an MX record that names the server on which `byzanz mail-in` runs {DOCUMENT}"
        return Finding(False, f"replies cannot arrive: {domain} has no MX record", remedy)
    return Finding(True, f"email for {domain} goes to {', '.join(sorted(hosts)) or domain}")


def _spf(ask: dns.resolver.Resolver, domain: str) -> Finding:
    found = _tagged(ask, domain, "v=spf1")
    if len(found) != 1:
        told = "no SPF record" if not found else f"{len(found)} SPF records, so none counts"
        remedy = f'publish one TXT record like "v=spf1 mx -all" that names the server that sends {DOCUMENT}'
        return Finding(False, f"{domain}, the envelope sender's domain, has {told}", remedy)
    if {"+all", "all"} & set(found[0].lower().split()):
        return Finding(False, f"the SPF record of {domain} allows everybody to send", 'end it with "-all"')
    return Finding(True, f"SPF of {domain}: {found[0][:100]}")


def _dkim(ask: dns.resolver.Resolver, domain: str) -> Finding:
    # Selectors cannot be listed; but a name below which there are keys exists (RFC 8020).
    if _records(ask, f"_domainkey.{domain}", "TXT") is None:
        remedy = f"let your mail server sign with DKIM and publish its key {DOCUMENT}"
        return Finding(False, f"{domain}, the domain of BYZANZ_MAIL_FROM, has no DKIM key", remedy)
    return Finding(
        True, f"DKIM: {domain} has keys; `byzanz doctor --mail YOUR-ADDRESS` shows whether they fit"
    )


def _dmarc(ask: dns.resolver.Resolver, author: str, envelope: str) -> Finding:
    found = _tagged(ask, f"_dmarc.{author}", "v=dmarc1") or _tagged(
        ask, f"_dmarc.{organisation(author)}", "v=dmarc1"
    )
    if len(found) != 1:
        remedy = f'publish the TXT record _dmarc.{organisation(author)} "v=DMARC1; p=none" {DOCUMENT}'
        told = "no DMARC record" if not found else f"{len(found)} DMARC records, so none counts"
        return Finding(False, f"{author} has {told}; large providers want one", remedy)
    parts = (part.partition("=") for part in found[0].split(";"))
    tags = {name.strip().lower(): value.strip().lower() for name, _, value in parts}
    strict = tags.get("aspf") == "s"
    if author != envelope and (strict or organisation(author) != organisation(envelope)):
        what = f"SPF for {envelope} does not count for DMARC of {author}: the domains are not aligned"
        remedy = "let BYZANZ_MAIL_DOMAIN be a subdomain of the domain in BYZANZ_MAIL_FROM" + (
            ", and remove aspf=s" if strict else ""
        )
        return Finding(False, what, f"{remedy} {DOCUMENT}")
    return Finding(True, f"DMARC of {author}: {found[0][:100]}; aligned with {envelope}")


def organisation(domain: str) -> str:
    """Return the domain that somebody has registered, guessed without the list of all public suffixes."""
    labels = domain.split(".")
    country_and_kind = len(labels) > 2 and len(labels[-1]) == 2 and len(labels[-2]) <= 3  # like co.uk
    return ".".join(labels[-3 if country_and_kind else -2 :])
