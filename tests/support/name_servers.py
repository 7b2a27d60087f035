"""A DNS server on loopback with the records of a test."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import dns.flags
import dns.message
import dns.rcode
import dns.resolver
import dns.rrset


@contextmanager
def serving(records: Mapping[tuple[str, str], list[str]]) -> Iterator[dns.resolver.Resolver]:
    """Answer questions about these names and kinds until the block ends; return a resolver that asks here."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.bind(("127.0.0.1", 0))
    thread = threading.Thread(target=_answer, args=(listener, records))
    thread.start()
    resolver = dns.resolver.Resolver(configure=False)
    resolver.nameservers, resolver.port = ["127.0.0.1"], listener.getsockname()[1]
    try:
        yield resolver
    finally:
        listener.sendto(b"", listener.getsockname())
        thread.join()
        listener.close()


def _answer(listener: socket.socket, records: Mapping[tuple[str, str], list[str]]) -> None:
    while True:
        raw, client = listener.recvfrom(4096)
        if not raw:
            return
        question = dns.message.from_wire(raw)
        asked = question.question[0]
        name, kind = asked.name.to_text().rstrip("."), dns.rdatatype.to_text(asked.rdtype)
        answer = dns.message.make_response(question)
        answer.flags |= dns.flags.RA
        found = records.get((name, kind), [])
        if found:
            answer.answer.append(dns.rrset.from_text(asked.name, 60, "IN", kind, *found))
        elif not any(known == name or known.endswith(f".{name}") for known, _ in records):
            answer.set_rcode(dns.rcode.NXDOMAIN)
        listener.sendto(answer.to_wire(), client)
