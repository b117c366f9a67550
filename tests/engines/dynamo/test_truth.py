"""What is shown at a moment is what there was at that moment; see `audit`."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
import torch

from tests.conftest import CORPUS
from tests.engines.dynamo.audit import Auditor, lies
from tests.engines.dynamo.mutations import SAMPLES
from tests.engines.dynamo.watch import run_program, watching
from tests.shapes.__main__ import FILES
from tests.shapes.cases import PROGRAMS, run
from tests.watching import FORKS, HEAVY

LIGHT = sorted(path.stem for path in CORPUS.glob("*.py") if path.stem not in HEAVY | FORKS)
MODELS = FILES[-1].__name__
"""Of the programs about sizes those that take a minute."""
SEVENTH = 7
"""The light programs share so many tests, each of which reports all that it found."""


class Second(Auditor):
    """For what is stepped through once more with symbols for sizes."""

    every = 2


class Sampler(Auditor):
    """For programs of many thousand steps."""

    every = 199


def _lies_about_program(name: str, folder: Path, auditor: type[Auditor]) -> list[str]:
    with watching(folder / f"{name}.stepper", recorder_class=auditor) as watched:
        run_program(CORPUS / f"{name}.py")
    assert isinstance(watched.recorder, Auditor)
    recording = watched.recording()
    found = [f"{name}: {lie}" for lie in lies(recording, watched.recorder.truths)]
    recording.close()
    return found


@pytest.mark.parametrize("part", range(SEVENTH))
def test_programs_are_shown_as_they_were(part: int, tmp_path: Path) -> None:
    found = [
        lie for name in LIGHT[part::SEVENTH] for lie in _lies_about_program(name, tmp_path, Auditor)
    ]
    assert not found, "\n".join(found[:20])


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(HEAVY))
def test_models_are_shown_as_they_were(name: str, tmp_path: Path) -> None:
    found = _lies_about_program(name, tmp_path, Sampler)
    assert not found, "\n".join(found[:20])


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("part", range(3))
def test_values_that_change_are_shown_as_they_were(
    part: int, dynamic: bool, tmp_path: Path
) -> None:
    found = []
    for name in list(SAMPLES)[part::3]:
        torch._dynamo.reset()
        path = tmp_path / f"{name}.stepper"
        with (
            warnings.catch_warnings(),
            watching(path, recorder_class=Second if dynamic else Auditor) as watched,
        ):
            warnings.simplefilter("ignore")
            compiled = torch.compile(SAMPLES[name], backend="eager", dynamic=dynamic)
            # The hook of a tensor that is removed again is more than Dynamo understands.
            try:
                compiled(torch.ones(2, 3))
            except AssertionError:
                assert name == "hooks"
        assert isinstance(watched.recorder, Auditor)
        truths = watched.recorder.truths
        assert truths, name
        found += [f"{name}: {lie}" for lie in lies(watched.recording(), truths)]
    assert not found, "\n".join(found[:20])


@pytest.mark.parametrize("part", range(3))
def test_sizes_are_shown_as_they_were(part: int, tmp_path: Path) -> None:
    found = []
    for name in [name for name in PROGRAMS if PROGRAMS[name][0].__module__ != MODELS][part::3]:
        torch._dynamo.reset()
        with (
            warnings.catch_warnings(),
            torch._dynamo.config.patch(
                capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True
            ),
            watching(tmp_path / f"{name}.stepper", recorder_class=Auditor) as watched,
        ):
            warnings.simplefilter("ignore")
            run(name)
        assert isinstance(watched.recorder, Auditor)
        truths = watched.recorder.truths
        assert truths, name
        found += [f"{name}: {lie}" for lie in lies(watched.recording(), truths)]
    assert not found, "\n".join(found[:20])


def test_the_auditor_notices_a_change_that_nobody_told(tmp_path: Path) -> None:
    def grow(x: torch.Tensor) -> torch.Tensor:
        held = [x]
        held.append(x)
        y = x + 1
        return y + len(held)

    torch._dynamo.reset()
    with watching(tmp_path / "deaf.stepper", recorder_class=Auditor) as watched:
        watched.recorder.about_to_mutate = lambda tracker: None
        torch.compile(grow, backend="eager")(torch.ones(2))
    assert isinstance(watched.recorder, Auditor)
    found = list(lies(watched.recording(), watched.recorder.truths))
    assert any("held" in lie and "['[0]', '[1]']" in lie for lie in found)
