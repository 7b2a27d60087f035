"""`python -m server.cli` is `byzanz`."""

import sys

from server.cli import main

sys.exit(main())
