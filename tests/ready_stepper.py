"""`python -m stepper` for tests: its programs begin as `tests.ready` says."""

from __future__ import annotations

import os
import sys

from stepper.cli import main
from tests.ready import use

if __name__ == "__main__":
    use(os.getppid())
    sys.exit(main())
