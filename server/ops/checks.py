"""What `byzanz doctor` finds out about this machine, DNS, and whether the server can be reached."""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import http.client
import ipaddress
import json
import os
import shutil
import socket
import ssl
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parseaddr, parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from flask import Request
from sqlalchemy import make_url

from byzanz.games import latest
from server import config
from server.config import ConfigError, Settings, home
from server.mail.outgoing.smtp import TemporaryFailure, Transport, parse_mail_url

if TYPE_CHECKING:
    import dns.resolver

ANSWER_SECONDS = 5.0
"""A server that answers nothing for this long counts as silent."""
HALF_SECONDS = 2.0
"""How long to wait whether half a request is answered."""

WRONG_CLOCK = timedelta(seconds=60)
"""How far the clocks of two machines may differ."""
CLOCK_REMEDY = "set the one that is wrong, and keep both right with NTP"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check.

    Args:
        ok: nothing is wrong.
        what: what was found.
        remedy: what to do, if something is wrong.
    """

    ok: bool
    what: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"ok     {self.what}" if self.ok else f"WRONG  {self.what}: {self.remedy}"


def apart(differs: timedelta) -> str:
    """Return how far a clock is from another one, as `2 minutes ahead of`."""
    minutes = abs(differs) / timedelta(minutes=1)
    count, unit = (minutes / 60, "hours") if minutes >= 120 else (minutes, "minutes")
    return f"{count:.0f} {unit} {'ahead of' if differs > timedelta() else 'behind'}"


def minute(at: datetime) -> str:
    """Return a time as findings tell it."""
    return f"{at:%Y-%m-%d %H:%M} UTC"


# ---- the machine ----

LEAST_SPACE = 200 * 1024 * 1024
"""Bytes that must be free where the database lies: an upgrade rewrites it, and a full disk stops every move."""
FS_IOC_GETFLAGS, FS_IMMUTABLE_FL = 0x80086601, 0x10
"""How Linux is asked for the attributes of a file, and the one that forbids changes."""
BESIDE = ("-wal", "-shm", ".lock")
"""What lies beside an SQLite database while it is used, by the ends of the names."""
USUAL_HOMES = (Path("/var/lib/byzanz"), Path("/srv/byzanz"))
"""Where packages and containers keep the database (docs/deploy)."""
PRIVATE_ENDINGS = (".local", ".localhost", ".lan", ".home.arpa", ".internal", ".test")


def machine_findings(settings: Settings) -> Iterator[Finding]:
    """Yield what is wrong with the settings and the files, and which files are used."""
    yield from _paths(settings)
    yield from (Finding(False, line) for line in config.unknown())
    yield from _games(settings)
    yield from _base_url(settings)
    if (
        _is_public(urlsplit(settings.base_url).hostname or "")
        and "mail_from" not in settings.model_fields_set
    ):
        what = (
            f"emails come from {settings.mail_from}, to which nobody can write: BYZANZ_MAIL_FROM is not set"
        )
        yield Finding(False, what, "set it to an address of your domain, like Byzanz <byzanz@example.org>")
    file = config.database_file(settings)
    if file is not None and file.exists():
        yield _writable(file)
        yield _space(file.parent)


def elsewhere(settings: Settings) -> Path | None:
    """Return another home that holds an embedded database, if these settings lead to one of their own choice."""
    file = config.database_file(settings)
    if settings.home is None or file != settings.home / home.DATABASE:
        return None
    places = (Path.cwd(), home.CHECKOUT, *USUAL_HOMES)
    found = (place for place in places if place != settings.home and (place / home.DATABASE).is_file())
    return next(found, None)


def no_database(settings: Settings) -> Finding:
    """Say that there is no database file, and where one is instead."""
    file, other = config.database_file(settings), elsewhere(settings)
    if other is not None:
        remedy = f"set {home.HOME}={other} if that is yours; else create one with `byzanz upgrade`"
        return Finding(False, f"there is no database {file}, but one in {other / home.DATABASE}", remedy)
    return Finding(
        False, f"there is no database {file}", "run `byzanz serve` or `byzanz upgrade` to create it"
    )


def _paths(settings: Settings) -> Iterator[Finding]:
    env = settings.home and settings.home / ".env"
    yield Finding(True, f"settings from {env}" if env and env.exists() else "no settings file .env")
    file = config.database_file(settings)
    where = file or make_url(settings.database_url).render_as_string(hide_password=True)
    yield Finding(True, f"database at {where}")


def _games(settings: Settings) -> Iterator[Finding]:
    """Tell which games are installed, and which packages and settings do not lead to one."""
    yield Finding(True, f"games: {', '.join(rules.slug for rules in latest())}")
    for line in config.game_warnings(settings):
        yield Finding(False, line, "repair or remove the package, or correct BYZANZ_GAMES, and restart")


def _base_url(settings: Settings) -> Iterator[Finding]:
    """Check that players can open the links in emails, and nobody on the way can read them."""
    parts = urlsplit(settings.base_url)
    host = parts.hostname or ""
    if settings.mail_url and "base_url" not in settings.model_fields_set:
        what = f"emails link to {settings.base_url}, which only this machine can open: BYZANZ_BASE_URL is not set"
        yield Finding(False, what, "set it to the address that players open, like https://byzanz.example.org")
    elif settings.mail_url and _is_here(host) and not _is_here(urlsplit(settings.mail_url).hostname or ""):
        what = f"emails link to {settings.base_url}, which only this machine can open"
        yield Finding(False, what, "set BYZANZ_BASE_URL to the address that players open")
    elif parts.scheme == "http" and _is_public(host):
        what = f"{settings.base_url} is not encrypted: anybody on the way can read the links to seats"
        yield Finding(False, what, "let the proxy serve HTTPS and set BYZANZ_BASE_URL to https://…")
    elif parts.scheme == "https" and not settings.proxy_hops:
        what = (
            "BYZANZ_PROXY_HOPS is 0, but HTTPS needs a proxy in front: all visitors share the limits of one"
        )
        yield Finding(False, what, "set BYZANZ_PROXY_HOPS=1, or to the number of proxies")
    else:
        yield Finding(True, f"emails link to {settings.base_url}")


def _is_here(host: str) -> bool:
    """Whether a name or an address is this machine's alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_public(host: str) -> bool:
    """Whether a name or an address is one of the Internet's, and not of a private network."""
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        return "." in host and not host.endswith(PRIVATE_ENDINGS)


def _writable(file: Path) -> Finding:
    """Check that the owner of an SQLite database may write it and its folder, which holds its write-ahead log."""
    beside = [path for name in BESIDE if (path := file.with_name(f"{file.name}{name}")).exists()]
    for place in (file, *beside, file.parent):
        wrong = _why_not_written(place, file)
        if wrong is not None:
            return wrong
    return Finding(True, f"the database belongs to {_owner(file)}, who may write it")


def _why_not_written(place: Path, file: Path) -> Finding | None:
    """Return what keeps this user from writing a file or folder of the database, the cause before its effects."""
    if os.statvfs(place).f_flag & os.ST_RDONLY:
        what = f"the file system of {place} is mounted read-only"
        return Finding(
            False, what, "mount it writable; if it was, the log of the kernel (dmesg) says why it changed"
        )
    if not place.stat().st_mode & 0o200:
        return Finding(False, f"{place} is read-only", f"allow its owner to write: chmod u+w {place}")
    if os.access(place, os.W_OK):
        return None
    if _is_immutable(place):
        return Finding(False, f"{place} is protected against changes", f"remove that: chattr -i {place}")
    if place not in (file, file.parent) and _owner(place) != _owner(file):
        what = f"{place} belongs to {_owner(place)}, but the database to {_owner(file)}"
        return Finding(False, what, f"stop Byzanz, then: chown {_owner(file)} {place}")
    remedy = f"run doctor as its owner ({_owner(place)}), or let the user that runs Byzanz own it"
    return Finding(False, f"this user may not write {place}", remedy)


def _is_immutable(place: Path) -> bool:
    """Whether a file or folder is protected even against root (chattr), where the file system can tell."""
    try:
        opened = os.open(place, os.O_RDONLY)
    except OSError:
        return False
    try:
        flags = fcntl.ioctl(opened, FS_IOC_GETFLAGS, bytes(8))
        return bool(int.from_bytes(flags[:4], sys.byteorder) & FS_IMMUTABLE_FL)
    except OSError:
        return False
    finally:
        os.close(opened)


def _owner(place: Path) -> str:
    try:
        return place.owner()
    except KeyError:
        return f"user {place.stat().st_uid}"


def _space(folder: Path) -> Finding:
    free = shutil.disk_usage(folder).free
    told = f"{free // 1024**2:,} MB free in {folder}"
    if free < LEAST_SPACE:
        return Finding(False, f"only {told}", "make room: without it no move can be stored")
    return Finding(True, told)


# ---- DNS ----

SECONDS = 3.0
"""How long one question may take."""
DOCUMENT = "(docs/mail-out.md)"


class NotChecked(Exception):
    """No resolver answers; the text says why."""


def dns_findings(settings: Settings, resolver: dns.resolver.Resolver | None = None) -> Iterator[Finding]:
    """Yield what the DNS says about the domains of our emails.

    Args:
        resolver: whom to ask; this machine's own by default.
    """
    import dns.resolver  # here and below: servers share this module with `byzanz doctor`, and start without it

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
    import dns.exception
    import dns.name
    import dns.resolver

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


# ---- reaching the server ----

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
    call = kind(parts.hostname or "", parts.port, timeout=ANSWER_SECONDS)
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
    passed_on = passes_on_halves(settings.base_url)
    if passed_on is None:
        return Finding(
            True, f"nothing answers at {settings.base_url} from here, so slow clients were not tried"
        )
    if passed_on:
        remedy = "let the reverse proxy take in whole requests before it passes them on (docs/deploy.md)"
        return Finding(False, f"slow clients can keep the pages at {settings.base_url} busy", remedy)
    return Finding(True, f"only whole requests reach the pages at {settings.base_url}")


def passes_on_halves(base_url: str) -> bool | None:
    """Whether a half-sent request to the pages reaches them, so that slow clients can keep them busy.

    Returns:
        None if nothing answers there.
    """
    parts = urlsplit(base_url)
    https = parts.scheme == "https"
    address = (parts.hostname or "", parts.port or (443 if https else 80))
    half = f"GET {parts.path}/healthz HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Length: 2\r\n\r\n-"
    try:
        with socket.create_connection(address, timeout=ANSWER_SECONDS) as plain:
            tls = ssl.create_default_context()
            to = tls.wrap_socket(plain, server_hostname=address[0]) if https else plain
            with to:
                to.sendall(half.encode())
                to.settimeout(HALF_SECONDS)
                with suppress(TimeoutError):
                    return bool(to.recv(1))
                to.settimeout(ANSWER_SECONDS)
                to.sendall(b"-")
                return False if to.recv(1) else None
    except OSError:
        return None


def is_answered(address: tuple[Any, ...]) -> bool:
    """Whether a server of this machine answers requests at an address."""
    call = http.client.HTTPConnection(address[0], address[1], timeout=ANSWER_SECONDS)
    with closing(call):
        try:
            call.request("GET", "/healthz")
            return call.getresponse().status < 500
        except (OSError, http.client.HTTPException):
            return False
