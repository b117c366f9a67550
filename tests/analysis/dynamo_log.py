"""Dynamo's own log of a program: what the answers are compared with."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from stepper.analysis.reasons import Reason, parse_reason
from tests.conftest import ROOT, clean_environment

_PREFIX = re.compile(r"^[VIWE]\d{4} \S+ \d+ \S+\] (?:\[[^\]]*\] )*\[__\w+\] ?")
_RECOMPILING = re.compile(r"Recompiling function (?P<name>\S+) in (?P<file>.*):\d+$")
_REASON = re.compile(r"    - (?P<reason>\d+/\d+: .*)")


def log_of(program: str, logs: str, folder: Path) -> list[str]:
    """The lines of one of Dynamo's logs, without what stands before each."""
    done = subprocess.run(
        [sys.executable, ROOT / program],
        cwd=folder,
        env=clean_environment() | {"TORCH_LOGS": logs},
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    lines = done.stderr.splitlines()
    return [_PREFIX.sub("", line) for line in lines if _PREFIX.match(line)]


def recompilations_logged(program: str, folder: Path) -> list[tuple[str, list[Reason]]]:
    """Each recompilation that Dynamo logs: the function's name, and why each entry failed, in the
    order in which they were tried."""
    found: list[tuple[str, list[Reason]]] = []
    for line in log_of(program, "recompiles", folder):
        if match := _RECOMPILING.search(line):
            found.append((match["name"], []))
        elif match := _REASON.match(line):
            found[-1][1].append(parse_reason(match["reason"]))
    return found
