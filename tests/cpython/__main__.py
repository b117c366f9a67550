"""See `tests.cpython`."""

from __future__ import annotations

import argparse

from tests.cpython.table import MODULES, PAGE, compare, page


def main() -> None:
    """Run the modules, tell of each as it comes, and write their rows of the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.cpython", description=__doc__)
    parser.add_argument("modules", nargs="*", help="modules of CPython's tests; none: all")
    parser.add_argument(
        "--timeout", type=float, default=600.0, metavar="SECONDS", help="of each run"
    )
    options = parser.parse_args()
    for module in options.modules or MODULES:
        found = compare(module, options.timeout)
        print(found.row, flush=True)
        for line in found.changes:
            print(f"  {line}", flush=True)
        PAGE.write_text(page([found], PAGE.read_text()))


if __name__ == "__main__":
    main()
