"""A setting that is advised first saves what it is said to save: with nothing else changed, each
program of the bench makes fewer graphs by it. Programs that set it themselves say so with their
counts already."""

from __future__ import annotations

import inspect
from collections import defaultdict

import pytest

from stepper.analysis.breaks import causes
from stepper.analysis.recompile_advice import advise
from stepper.analysis.recompile_series import histories
from stepper.analysis.recompiles import recompilations
from stepper.model.change import Dynamic, Setting
from tests.answers.cases import CASES, of
from tests.answers.running import Recorded, counts, run
from tests.answers.test_break_rules import told

pytestmark = pytest.mark.slow

NOT_ALONE = {
    "average_over_all_batches": "torch hands the number on, which the advice excludes",
    "backward_inside": "it returns what must be detached with the setting, as the advice says",
}
"""Programs of which the setting alone leaves as many graphs, and why that is not said wrongly."""


def sets(name: str, setting: str) -> bool:
    """Whether a program sets it itself, for one of its two runs."""
    written = "dynamic=" if setting == "dynamic" else setting
    return written in inspect.getsource(CASES[name].program)


def advised(recorded: Recorded) -> dict[tuple[str, ...], list[str]]:
    """The programs by what is advised on them first, where that is nothing but settings."""
    recording, *_ = recorded
    found: dict[tuple[str, ...], list[str]] = defaultdict(list)
    every = causes(recording)
    for case in of("why-break"):
        cause = told(every, case)
        remedy = None if cause is None else cause.change
        if remedy is not None and remedy.setting:
            found[remedy.setting,].append(case.name)
    for case in of("why-recompile"):
        name = case.function or f"{case.name}.<locals>"
        for history in histories(recording, recompilations(recording, name))[:1]:
            first = next(iter(advise(recording, history)), None)
            settings = tuple(
                "dynamic" if isinstance(change, Dynamic) else change.name
                for change in (() if first is None else first.changes)
                if isinstance(change, Dynamic) or (isinstance(change, Setting) and change.value)
            )
            if first is not None and settings and len(settings) == len(first.changes):
                found[settings].append(case.name)
    return found


def test_a_setting_saves_what_it_is_advised_for(recorded: Recorded) -> None:
    wrong = []
    for settings, every in sorted(advised(recorded).items()):
        names = [name for name in every if not any(sets(name, each) for each in settings)]
        if not names:
            continue
        given = run("-m", "tests.answers", *(f"--with={each}" for each in settings), *names)
        for name, graphs in counts(given).items():
            was, _ = CASES[name].counts
            if name not in NOT_ALONE and graphs >= was > 0:
                wrong.append((name, *settings, was, graphs))
    assert not wrong
