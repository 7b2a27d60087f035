"""Whether the mail server signs as others will check it: the DKIM signatures of a test email that came back."""

from __future__ import annotations

import dkim
import dns.exception
import dns.resolver

from server.mail.incoming import mime, reply
from server.store.facts import Fact

SECONDS = 5.0
"""How long one question to the DNS may take."""
MOST = 5
"""Signatures that are checked."""
PASS, NONE = "pass", "none"
"""What is said of a right signature, and of an email without one."""


def checked(raw: bytes) -> Fact:
    """Return what the signatures of an email are worth for the domain of its author; one that is right is enough.

    Args:
        raw: the email as received.
    """
    message = mime.parse(raw)
    author = reply.author(message)[0].rpartition("@")[2].lower()
    said = [
        _verified(raw, number, author)
        for number in range(min(MOST, len(message.all_headers("dkim-signature"))))
    ]
    best = PASS if PASS in said else said[0] if said else NONE
    return Fact("dkim", {"domain": author, "said": best})


def _verified(raw: bytes, number: int, author: str) -> str:
    """Return PASS, or why a signature does not count for the author's domain."""
    try:
        signature = dkim.DKIM(raw, timeout=int(SECONDS))
        right = signature.verify(number, dnsfunc=_key)
        domain = (signature.domain or b"").decode("ascii", "replace").lower()
    except dkim.DKIMException as error:
        return f"{error}"[:200] or type(error).__name__
    if not right:
        return f"the signature of {domain} does not fit the published key"
    if domain != author and not author.endswith(f".{domain}"):
        return f"the signature is of {domain}, another domain"
    return PASS


def _key(name: bytes, timeout: int = int(SECONDS)) -> bytes | None:
    """Return the key that the DNS publishes under a name."""
    asked = name.decode("ascii", "replace")
    try:
        answer = resolver().resolve(asked, "TXT", lifetime=timeout)
    except (dns.exception.DNSException, OSError):
        return None
    return b"".join(next(iter(answer)).strings)


def resolver() -> dns.resolver.Resolver:
    """Return whom to ask: this machine's own resolver."""
    return dns.resolver.Resolver()
