"""``python -m gsr.islands config.toml``: a rank of a search with many islands."""

import sys

from gsr.cli.islands import main

if __name__ == "__main__":
    sys.exit(main())
