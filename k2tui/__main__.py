"""`python -m k2tui`."""

import sys

from k2tui.cli import main

sys.exit(main())
