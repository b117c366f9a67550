"""`python -m stepper`."""

from __future__ import annotations

import sys

from stepper.cli import main

if __name__ == "__main__":
    sys.exit(main())
