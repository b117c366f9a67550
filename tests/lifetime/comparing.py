"""Runs programs with and without being watched, and says what the watched one left more."""

from __future__ import annotations

import json
import subprocess
from functools import cache

from tests import ready
from tests.conftest import ROOT, clean_environment
from tests.lifetime.census import Census

ENGINES = ("dynamo", "native")

_OURS = (
    "stepper.",
    "ast.",
    "builtins.",
    "weakref.",
    "functools.",
    "collections.",
    "itertools.",
    "re.",
    "types.",
    "typing.",
)
"""Modules whose objects are stepper's own, or may be: it keeps so many of them and no more."""
_STRAY = 3
"""Objects of a type by which two runs may differ."""


@cache
def taken(way: str, rounds: int) -> dict[str, Census]:
    """What was alive at the middle and the end of a run in a process of its own, and after it."""
    done = subprocess.run(
        ready.python("-m", "tests.lifetime.child", way, rounds),
        cwd=ROOT,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Census] = json.loads(done.stdout)
    return found


def held(engine: str, how: str, rounds: int) -> list[str]:
    """What the watched run holds that the other does not: what grows from its middle to its end,
    and what is there more when all is over."""
    alone, watched = taken(f"{engine}:plain", rounds), taken(f"{engine}:{how}", rounds)
    found = []
    for part in ("made by the programs or for them", "names", "objects", "process"):
        names = {*alone["after"][part], *watched["end"][part], *watched["after"][part]}
        for name in sorted(names):
            stray = 0
            if part == "objects":
                if name.startswith(_OURS):
                    continue
                stray = _STRAY
            more = growth(watched, part, name) - growth(alone, part, name)
            if more > stray:
                found.append(f"{part}: {more} more {name}")
            at_last = watched["after"][part].get(name, 0) - alone["after"][part].get(name, 0)
            if at_last > stray and (part, name) not in _STAYS and name != "torch.Size":
                found.append(f"{part}: {at_last} more {name} after the session")
    found += [
        f"objects: a {name} after the session"
        for name in _OF_A_SESSION
        if name in watched["after"]["objects"]
    ]
    return found


def growth(run: dict[str, Census], part: str, name: str) -> int:
    """What came of something between the middle and the end."""
    return run["end"][part].get(name, 0) - run["middle"][part].get(name, 0)


_STAYS = {("process", "modules"), ("process", "files of modules"), ("process", "lines of files")}
"""What is imported stays imported."""

_OF_A_SESSION = (
    "stepper._C.Facts",
    "stepper._C.Steps",
    "stepper.debuggee.controller.Controller",
    "stepper.debuggee.recorder.Recorder",
    "stepper.debuggee.start.Debuggee",
    "stepper.debuggee.walks.Walk",
    "stepper.engines.dynamo.engine.DynamoEngine",
    "stepper.engines.native.engine.NativeEngine",
    "stepper.model.program.Code",
)
