"""`python -m gsr.cli` is the command `gsr`."""

import sys

from gsr.cli import main

if __name__ == "__main__":
    sys.exit(main())
