"""`python -m vfxgb` is the same as the `vfxgb` command."""

import sys

from vfxgb.cli import main

if __name__ == "__main__":
    sys.exit(main())
