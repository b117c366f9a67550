"""Dynamo's own log of a program: what the answers are compared with."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from stepper.analysis.reasons import Reason, parse_reason
from tests import ready
from tests.conftest import ROOT, clean_environment

_PREFIX = re.compile(r"^[VIWE]\d{4} \S+ \d+ \S+\] (?:\[[^\]]*\] )*\[__\w+\] ?")
_RECOMPILING = re.compile(r"Recompiling function (?P<name>\S+) in (?P<file>.*):\d+$")
_REASON = re.compile(r"    - (?P<reason>\d+/\d+: .*)")
_BREAK = re.compile(
    r"\[(?P<id>\d+/\d+)\S*\] \[__graph_breaks\] Graph break (?:\(.*\) )?in user code"
    r" at (?P<place>.*)$"
)


def run_with_log(program: str, logs: str, folder: Path) -> str:
    """What a program writes to stderr with some of Dynamo's logs on."""
    done = subprocess.run(
        ready.python(ROOT / program),
        cwd=folder,
        env=clean_environment() | {"TORCH_LOGS": logs},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    return done.stderr


def recompilations_logged(program: str, folder: Path) -> list[tuple[str, list[Reason]]]:
    """Each recompilation that Dynamo logs: the function's name, and why each entry failed, in the
    order in which they were tried."""
    found: list[tuple[str, list[Reason]]] = []
    for logged in run_with_log(program, "recompiles", folder).splitlines():
        if not _PREFIX.match(logged):
            continue
        line = _PREFIX.sub("", logged)
        if match := _RECOMPILING.search(line):
            found.append((match["name"], []))
        elif match := _REASON.match(line):
            found[-1][1].append(parse_reason(match["reason"]))
    return found


def breaks_logged(program: str, folder: Path) -> list[tuple[str, str]]:
    """Each graph break that Dynamo logs: compile id, and `file:line` of the user's code."""
    done = run_with_log(program, "graph_breaks", folder)
    found = map(_BREAK.search, done.splitlines())
    return [(match["id"], match["place"]) for match in found if match is not None]
