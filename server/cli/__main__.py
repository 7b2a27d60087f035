"""Run `byzanz` as `python -m server.cli`."""

import sys

from server.cli import main

sys.exit(main())
