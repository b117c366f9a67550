"""The page on costs, all of it measured anew: a part of `make bench`."""

from __future__ import annotations

import inspect
import os
import platform
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version

from tests.conftest import ROOT

PAGE = ROOT / "docs" / "performance.md"
PLOT = ROOT / "docs" / "images" / "growth.svg"
BENCHES = ("bench_execution", "bench_lookups", "bench_memory", "bench_native", "bench_growth")

_INTRODUCTION = """\
# What it costs, and how it grows

Everything here was printed by the programs named, one after the other, by `make bench`: on
{machine}, with a load of {load:.1f} at the beginning, with Python {python} and
torch {torch}. What makes it so, and what recording adds to a compile, is told in the
[architecture](architecture.md#what-watching-costs).
"""
_PICTURE = "![how each row grows, both axes logarithmic](images/growth.svg)"


def page() -> str:
    """The whole page; draws the picture, too."""
    machine = f"{os.cpu_count()} cores of {platform.machine()}, {platform.system()}"
    introduction = _INTRODUCTION.format(
        machine=machine,
        load=os.getloadavg()[0],
        python=platform.python_version(),
        torch=version("torch"),
    )
    return "\n".join([introduction, *map(section, BENCHES), _PICTURE, ""])


def section(bench: str) -> str:
    """What one of them says of itself and prints."""
    name = f"tests.benchmarks.{bench}"
    documentation = inspect.getdoc(import_module(name)) or ""
    first, _, rest = documentation.partition("\n\n")
    title = first.partition(":")[0]
    command = [sys.executable, "-m", name, *(["--plot", str(PLOT)] if "growth" in bench else [])]
    print(name, file=sys.stderr, flush=True)
    told = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True).stdout
    return f"## {title}\n\n{rest}\n\n`python -m {name}`:\n\n```\n{told.rstrip()}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
