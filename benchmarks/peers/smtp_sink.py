"""A mail server that accepts and forgets every email: python -m benchmarks.peers.smtp_sink PORT."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from aiosmtpd.controller import Controller


class Forget:
    """Accepts and forgets."""

    async def handle_DATA(self, _server: Any, _session: Any, _envelope: Any) -> str:  # noqa: N802 - aiosmtpd's name
        """Accept an email."""
        return "250 forgotten"


def main(port: str) -> None:
    """Run until killed."""
    Controller(Forget(), hostname="127.0.0.1", port=int(port), ready_timeout=30).start()
    asyncio.run(asyncio.Event().wait())


if __name__ == "__main__":
    main(*sys.argv[1:])
