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
_LINE = re.compile(r":(?P<line>\d+) in [^\s()]+(?: \([^()]*\))?$")
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
    found = recompilations_in(run_with_log(program, "recompiles", folder))
    return [(name, [reason for reason, _ in reasons]) for name, reasons in found]


def recompilations_in(log: str) -> list[tuple[str, list[tuple[Reason, int | None]]]]:
    """Those of a log, with the line of the program that Dynamo names beside each reason."""
    found: list[tuple[str, list[tuple[Reason, int | None]]]] = []
    for logged in log.splitlines():
        if not _PREFIX.match(logged):
            continue
        line = _PREFIX.sub("", logged)
        if match := _RECOMPILING.search(line):
            found.append((match["name"], []))
        elif match := _REASON.match(line):
            place = _LINE.search(line)
            number = None if place is None else int(place["line"])
            found[-1][1].append((parse_reason(match["reason"]), number))
    return found


def breaks_logged(program: str, folder: Path) -> list[tuple[str, str]]:
    """Each graph break that Dynamo logs: compile id, and `file:line` of the user's code."""
    return breaks_in(run_with_log(program, "graph_breaks", folder))


def breaks_in(log: str) -> list[tuple[str, str]]:
    """Those of a log."""
    found = map(_BREAK.search, log.splitlines())
    return [(match["id"], match["place"]) for match in found if match is not None]
