"""`python -m verdict_core`: the command line."""

import sys

from verdict_core.hosts.cli import main

if __name__ == "__main__":
    sys.exit(main())
