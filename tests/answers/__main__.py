"""Runs the programs of the bench: `python -m tests.answers [--remedied] [--experiments] [NAME...]`.

Printed is how many graphs each made, and how often Dynamo met what it does not support or did not
compile a frame; with `--experiments` also how many the experiments made after the change. With
`--with=SETTING` a setting of torch._dynamo.config is on, with `--with=dynamic` what is compiled is
compiled with dynamic=True."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
from collections.abc import Iterable

import torch
from torch._dynamo.utils import counters

from tests.answers import programs  # noqa: F401  # it takes them up
from tests.answers.cases import CASES, Case, Run
from tests.answers.guard_experiments import EXPERIMENTS, recompiled
from tests.ready_python import leave_processor_caches

_WITH = "--with="


def run(case: Case, *, remedied: bool, given: Iterable[str] = ()) -> tuple[int, int]:
    """Run a program in a Dynamo of its own; how many graphs it made, and how often there was
    trouble."""
    torch._dynamo.reset()
    counters.clear()
    torch.manual_seed(0)
    made = Run(case.name, remedied=remedied)
    before = torch._dynamo.config.get_config_copy()
    for setting in given:
        if setting == "dynamic":
            made.options["dynamic"] = True
        else:
            setattr(torch._dynamo.config, setting, True)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            case.program(made)
    finally:
        for name, value in torch._dynamo.config.get_config_copy().items():
            if value != before[name]:
                setattr(torch._dynamo.config, name, before[name])
    frames = counters["frames"]
    # Some breaks are counted as the one, some as the other, and most as both.
    breaks = counters["graph_break"].total() + counters["unimplemented"].total()
    trouble = breaks + frames["total"] - frames["ok"] + made.errors
    return made.graphs, trouble


def main(words: list[str]) -> None:
    remedied = "--remedied" in words
    names = [word for word in words if not word.startswith("-")] or list(CASES)
    given = [word.removeprefix(_WITH) for word in words if word.startswith(_WITH)]
    logging.disable(logging.WARNING)
    leave_processor_caches()
    for name in names:
        print(name, *run(CASES[name], remedied=remedied, given=given))
    for name in EXPERIMENTS if "--experiments" in words else ():
        print(name, recompiled(name))


if __name__ == "__main__":
    main(sys.argv[1:])
