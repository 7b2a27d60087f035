"""The log of a running server: on standard error, as text or JSON, without tokens and addresses."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime

from server.config import Settings
from server.ops import request_ids
from server.ops.outage_log import OutageFilter
from server.store import links

_SECRET = re.compile(rf"{links.TOKEN.pattern}|[^\s<>@\"'/\\]{{1,64}}@[^\s<>@\"'/\\]+")
"""Link tokens, and whatever looks like an email address or the password of a URL."""


class TextFormatter(logging.Formatter):
    """Formats a record as a line of text: time, level, logger, the ID of the request if there is one, message."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s%(request)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """Format the record and its traceback, if any."""
        record.request = f" [{request_ids.current()}]" if request_ids.current() else ""
        return str(_masked(super().format(record)))


class JsonFormatter(logging.Formatter):
    """Formats a record as a JSON object on one line; the values of a message are keys of their own."""

    def format(self, record: logging.LogRecord) -> str:
        """Format the record; its traceback, if any, is the value of `error`."""
        line = dict(record.args) if isinstance(record.args, Mapping) else {}
        line |= {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if request_ids.current():
            line["request_id"] = request_ids.current()
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps({name: _masked(value) for name, value in line.items()})


def _masked(value: object) -> object:
    return value if value is None or isinstance(value, int) else _SECRET.sub("…", str(value))


def formatter(settings: Settings | None) -> logging.Formatter:
    """Return the formatter that the settings ask for; text if there are none."""
    return JsonFormatter() if settings and settings.log_format == "json" else TextFormatter()


def log_to_stderr(settings: Settings | None = None) -> None:
    """Log to standard error: warnings and errors of all libraries, and of the server what the settings ask for."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter(settings))
    handler.addFilter(OutageFilter())
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
    if settings:
        logging.getLogger("server").setLevel(settings.log_level.upper())
        logging.getLogger().setLevel(max(logging.WARNING, logging.getLogger("server").level))
    # Not what a lost connection makes of its clean-up, nor requests that wait a moment.
    for name in ("psycopg", "waitress.queue"):
        logging.getLogger(name).setLevel(logging.ERROR)
