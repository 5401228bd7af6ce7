"""`python -m mialib` is the command `mialib`."""

import sys

from mialib.cli import main

if __name__ == "__main__":
    sys.exit(main())
