"""What `byzanz doctor` finds out over the network: about the mail server, and about the proxy before the pages."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from flask import Request

from server.config import ConfigError, Settings
from server.mail.outgoing.smtp import TemporaryFailure, Transport, parse_mail_url
from server.ops import slow_clients
from server.ops.finding import CLOCK_REMEDY, WRONG_CLOCK, Finding, apart

MAIL_TIMEOUT = 10.0
"""Seconds for one reply of the mail server."""
DOCTOR = "X-Byzanz-Doctor"
"""The header of a request that `byzanz doctor` sends; it proves that doctor knows the secret key."""
PROOF_SECONDS = 60
"""How long such a proof is valid, and at most twice as long."""
MAIL_CAUSES = (
    ("535", "correct user and password in BYZANZ_MAIL_URL"),
    ("534", "correct user and password in BYZANZ_MAIL_URL (some providers want a password for apps)"),
    ("auth", "correct user, password and tls in BYZANZ_MAIL_URL, as the mail server wants them"),
    (
        "certificate",
        "use the name that the certificate of the mail server has in BYZANZ_MAIL_URL, or renew it",
    ),
    (
        "wrong version number",
        "correct tls and the port in BYZANZ_MAIL_URL (smtp:// with 587, smtps:// with 465)",
    ),
    ("starttls", "correct tls in BYZANZ_MAIL_URL: the mail server does not offer it on this port"),
    ("refused", "start the mail server, or correct host and port in BYZANZ_MAIL_URL"),
    ("name or service", "correct the host in BYZANZ_MAIL_URL, or the DNS"),
    ("timed out", "let the network and firewalls reach the mail server, or correct BYZANZ_MAIL_URL"),
)
"""What to do, by a part of what the mail server or the connection says; the first that fits counts."""
ANSWER_BYTES = 100_000
"""Of an answer, as many are looked at."""
DEAD_BEHIND = ("502", "503", "504")
"""How proxies answer for a server that does not."""
SAMPLES = "docs/deploy.md has samples for nginx, Caddy and Apache"


def mail_server(settings: Settings) -> Finding:
    """Check that the mail server lets us in."""
    try:
        server = parse_mail_url(settings.mail_url)
        with Transport(
            server, settings.sender_domain, timeout=MAIL_TIMEOUT, send_timeout=2 * MAIL_TIMEOUT
        ) as transport:
            transport.check_connection()
    except (ConfigError, TemporaryFailure) as error:
        remedy = next(
            (remedy for part, remedy in MAIL_CAUSES if part in str(error).lower()), "check BYZANZ_MAIL_URL"
        )
        return Finding(False, f"mail server: {error}", f"{remedy}; emails wait until then")
    return Finding(True, f"mail server: {server.host}, port {server.port}, tls {server.tls}")


def _proof(settings: Settings, ago: int = 0) -> str:
    key = settings.secret_key.get_secret_value().encode()
    return hmac.new(
        key, f"doctor {int(time.time()) // PROOF_SECONDS - ago}".encode(), hashlib.sha256
    ).hexdigest()


def seen(request: Request, settings: Settings) -> dict[str, int]:
    """Return what a request of `byzanz doctor` looks like here: how many proxies told whom they pass it on for.

    Anybody else learns nothing.
    """
    given = request.headers.get(DOCTOR, "").encode()
    if not any(hmac.compare_digest(given, _proof(settings, ago).encode()) for ago in (0, 1)):
        return {}
    told = [word for word in request.headers.get("X-Forwarded-For", "").split(",") if word.strip()]
    return {"forwarded": len(told), "proxy_hops": settings.proxy_hops}


def proxy(settings: Settings) -> Iterator[Finding]:
    """Check that BYZANZ_BASE_URL leads to this server, and what the proxy in front of it does."""
    yield from _answer(settings)
    yield _slow_clients(settings)


def _answer(settings: Settings) -> Iterator[Finding]:
    """Look at the server from outside, as a visitor would."""
    base = settings.base_url
    try:
        status, text = _fetch(settings, "/healthz")
        _, figures = _fetch(settings, "/metrics")
    except ssl.SSLCertVerificationError as error:
        remedy = "browsers refuse it, too: renew it, or add the intermediate certificates"
        yield Finding(False, f"the certificate of {base} is not valid ({error.verify_message})", remedy)
        return
    except socket.gaierror:
        yield Finding(False, f"the host of {base} does not resolve", "correct BYZANZ_BASE_URL or the DNS")
        return
    except (OSError, http.client.HTTPException) as error:
        remedy = f"start the server and the proxy, or correct BYZANZ_BASE_URL; {SAMPLES}"
        ok = urlsplit(base).scheme == "http"  # before its first start, a server without a proxy is not wrong
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        yield Finding(ok, f"nothing answers at {base} from here ({why})", remedy)
        return
    told = _told(text) if status == "200" else {}
    if status in DEAD_BEHIND and "status" not in told:
        what = f"{base}/healthz answers {status}: the proxy is there, but Byzanz does not answer it"
        remedy = "start `byzanz serve` or `byzanz web` and see its log, or correct the port to which the proxy passes"
        yield Finding(False, what, remedy)
    elif "status" not in told:
        remedy = (
            f"let the proxy pass everything under this address on to Byzanz ({SAMPLES}), or correct BYZANZ_BASE_URL "
            "if the address is another server's"
        )
        yield Finding(False, f"{base}/healthz answers {status} instead of reporting a healthy server", remedy)
    elif "forwarded" not in told and _is_ours_by_its_clock(settings):
        yield Finding(True, f"{base} leads to this server, whose clock differs")
    elif "forwarded" not in told:
        remedy = "correct BYZANZ_BASE_URL, or restart the server if its version or its settings have changed"
        yield Finding(False, f"at {base} another server answers, or one with another secret key", remedy)
    else:
        yield _hops(settings, told["forwarded"], told["proxy_hops"])
        if "byzanz_" in figures and (told["forwarded"] or urlsplit(base).scheme == "https"):
            yield Finding(False, f"everybody can read {base}/metrics", f"close it in the proxy; {SAMPLES}")


def clock(settings: Settings) -> Iterator[Finding]:
    """Compare this machine's clock with that of whatever answers at BYZANZ_BASE_URL; much else seems wrong if it is."""
    differs = _differs(settings)
    if differs is not None:
        what = f"the clock of this machine is {apart(differs)} that of the server at {settings.base_url}"
        yield Finding(False, what, CLOCK_REMEDY)


def _differs(settings: Settings) -> timedelta | None:
    """Return how far this machine's clock is ahead of the server's, None if that is little or unknown."""
    try:
        with _asked(settings, "/healthz") as answer:
            theirs = parsedate_to_datetime(answer.getheader("Date", "")).astimezone(UTC)
    except (OSError, http.client.HTTPException, ValueError, TypeError):
        return None
    differs = datetime.fromtimestamp(time.time(), UTC) - theirs
    return differs if abs(differs) > WRONG_CLOCK else None


def _is_ours_by_its_clock(settings: Settings) -> bool:
    """Whether the server knows the secret key, and only rejects our proof because the clocks differ."""
    differs = _differs(settings)
    if differs is None:
        return False
    _, text = _fetch(settings, "/healthz", ago=round(differs.total_seconds() / PROOF_SECONDS))
    return "forwarded" in _told(text)


def _fetch(settings: Settings, path: str, ago: int = 0) -> tuple[str, str]:
    """Return the status of an answer, with where it redirects to, and its text.

    Args:
        ago: of the proof, see `_proof`.
    """
    with _asked(settings, path, ago) as answer:
        to, text = answer.getheader("Location"), answer.read(ANSWER_BYTES).decode(errors="replace")
        return f"{answer.status} (to {to[:200]!r})" if to else str(answer.status), text


@contextmanager
def _asked(settings: Settings, path: str, ago: int = 0) -> Iterator[http.client.HTTPResponse]:
    parts = urlsplit(settings.base_url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    call = kind(parts.hostname or "", parts.port, timeout=slow_clients.ANSWER_SECONDS)
    try:
        call.request("GET", parts.path + path, headers={DOCTOR: _proof(settings, ago)})
        yield call.getresponse()
    finally:
        call.close()


def _told(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _hops(settings: Settings, forwarded: int, hops: int) -> Finding:
    base = settings.base_url
    unset = not hops and base.startswith("https:")  # `surroundings` says that it must be set
    if not forwarded and (hops or unset):
        what = f"the proxy at {base} sends no X-Forwarded-For, so all visitors share the limits of one"
        return Finding(False, what, f"let it send this header; {SAMPLES}")
    if forwarded != hops and not unset:
        what = f"BYZANZ_PROXY_HOPS is {hops}, but {forwarded} proxies before {base} add to X-Forwarded-For"
        return Finding(False, what, f"set BYZANZ_PROXY_HOPS={forwarded} and restart the server")
    return Finding(True, f"{base} leads to this server; proxies before it: {forwarded}")


def _slow_clients(settings: Settings) -> Finding:
    """Check that only whole requests reach the pages."""
    passed_on = slow_clients.passes_on_halves(settings.base_url)
    if passed_on is None:
        return Finding(
            True, f"nothing answers at {settings.base_url} from here, so slow clients were not tried"
        )
    if passed_on:
        remedy = "let the reverse proxy take in whole requests before it passes them on (docs/deploy.md)"
        return Finding(False, f"slow clients can keep the pages at {settings.base_url} busy", remedy)
    return Finding(True, f"only whole requests reach the pages at {settings.base_url}")
