"""Envelope senders (VERP): the address to which a mail server reports about one of our mails identifies that mail."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from itertools import islice

from server.config import settings

MOST_SIGNATURES = 10
"""Addresses in a text whose signature is checked: each check costs work, and strangers may list any number."""
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_ENVELOPE = re.compile(r"bounce\+([0-9a-z]{1,14})-([a-z2-7]{10})@")


TRIAL = 0
"""The id of no email: that of the test email of `byzanz doctor --mail`."""


def envelope_sender(mail_id: int) -> str | None:
    """Return the address to which reports about a mail are sent; None while BYZANZ_MAIL_DOMAIN is not set.

    It is `bounce+<number>-<signature>@domain`: the signature is an HMAC of the mail's id; the number is the id in base
    36, masked with the signature, so that two addresses do not reveal how many mails were sent in between.
    """
    domain = settings().mail_domain
    if not domain:
        return None
    proof = _signature(mail_id)
    return f"bounce+{_base36(mail_id ^ _mask(proof))}-{proof}@{domain}"


def mail_id_in(text: str) -> int | None:
    """Return the id of our mail whose envelope sender occurs in a text, or None; forged addresses are ignored."""
    for found in islice(_ENVELOPE.finditer(text.lower()), MOST_SIGNATURES):
        number, proof = found.groups()
        mail_id = int(number, 36) ^ _mask(proof)
        if mail_id < 1 << 62 and hmac.compare_digest(_signature(mail_id), proof):
            return mail_id
    return None


def _signature(mail_id: int) -> str:
    key = hashlib.sha256(b"byzanz envelopes" + settings().secret_key.get_secret_value().encode()).digest()
    return base64.b32encode(hmac.digest(key, str(mail_id).encode(), "sha256")).decode().lower()[:10]


def _mask(proof: str) -> int:
    key = hashlib.sha256(b"byzanz masks" + settings().secret_key.get_secret_value().encode()).digest()
    return int.from_bytes(hmac.digest(key, proof.encode(), "sha256")[:8], "big") >> 2


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits or "0"
