"""Whose request it is: the visitor's address and the networks around it. Everything that limits by address asks here.

Anybody who controls one IPv6 address usually controls many around it, so limits count growing networks as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import flask

Address = IPv4Address | IPv6Address
GROWING = {4: (32, 24), 6: (64, 56, 48)}
"""By the version of an address, how many of its first bits its networks have in common, the smallest first."""
_PORT = r"(?::[0-9]{1,4}|:[1-5][0-9]{4}|:6[0-5][0-9]{3})?"
_WRITTEN = re.compile(
    rf"\[(?P<inner>[0-9A-Fa-f.:]+)(?:%[^\]]*)?\]{_PORT}|(?P<four>[0-9.]+){_PORT}|(?P<six>[0-9A-Fa-f.:]+)(?:%.*)?",
    re.ASCII,
)
LONGEST = 100
"""Characters of an address with its port and zone; what is longer is none."""


def parse(text: str) -> Address | None:
    """Return the address in an entry of X-Forwarded-For, whatever port, quotes, brackets or zone are around it.

    An IPv4 address written as one of IPv6 is the IPv4 address.
    """
    found = _WRITTEN.fullmatch(text.strip().strip('"')) if len(text) <= LONGEST else None
    if found is None:
        return None
    try:
        address = ip_address(found["inner"] or found["four"] or found["six"])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def around(address: Address) -> tuple[str, ...]:
    """Return the networks around an address, the smallest first."""
    return tuple(str(ip_network((int(address), bits), strict=False)) for bits in GROWING[address.version])


def address() -> Address | None:
    """Return the address of this request's visitor; None if it came without one, as through a Unix socket."""
    return parse(flask.request.remote_addr or "")


def networks() -> tuple[str, ...]:
    """Return the networks of this request's visitor, the smallest first; requests without an address share one."""
    found = address()
    return around(found) if found is not None else ("no address",)


class Forwarded:
    """WSGI middleware that gives each request the address of its visitor, as the proxies before this server tell it.

    Each proxy appends to X-Forwarded-For what it sees. An entry that is no address is ignored, and with it the rest of
    the header: then the request counts as the nearest proxy's own.

    Args:
        app: the application.
        hops: the number of proxies that append to the header.
    """

    def __init__(self, app: WSGIApplication, hops: int) -> None:
        self._app = app
        self._hops = hops

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        told = environ.get("HTTP_X_FORWARDED_FOR", "").split(",")
        # Not as a list of quoted strings: a visitor's opening quote would swallow what the proxy appends.
        found = parse(told[-self._hops]) if 0 < self._hops <= len(told) else None
        if found is not None:
            environ = environ | {"REMOTE_ADDR": str(found)}
        return self._app(environ, start_response)
