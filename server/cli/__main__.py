"""Run `byzanz` as `python -m server.cli`."""

import sys

try:
    from server.cli import main

    status = main()
except (
    Exception
) as error:  # an upgrade is under way, say: a mail server must keep the email that it hands over
    if "--stdin" not in sys.argv:
        raise
    print(f"byzanz: cannot start: {type(error).__name__}", file=sys.stderr)
    status = 75

sys.exit(status)
