"""What our own reading says of a guard, held to what Dynamo said: of an entry that was hit, all
guards have passed, so none fails when it is asked again."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from stepper.debuggee.recorder import Recorder
from stepper.engines.dynamo.guard_tree import Check
from stepper.engines.dynamo.safe_reader import Answer, SafeReader
from stepper.model.cache import Verdict
from stepper.model.trace import Phase
from tests.conftest import CORPUS
from tests.engines.dynamo.mutations import SAMPLES
from tests.engines.dynamo.watch import run_program, watching
from tests.watching import FORKS, HEAVY

pytestmark = pytest.mark.evaluator_out

LIGHT = sorted(path.stem for path in CORPUS.glob("*.py") if path.stem not in HEAVY | FORKS)


class ByClass(dict[str, Any]):
    """A dictionary that is read by keys of another kind, as `transformers` has one."""

    def __setitem__(self, key: object, value: object) -> None:
        super().__setitem__(str(key), value)

    def get(self, key: object, default: object = None) -> Any:
        return super().get(str(key)) or default


REGISTRY = ByClass()
REGISTRY[1] = {"first": 2}
REGISTRY[2] = {"second": 3.0}


def by_class(x: torch.Tensor) -> torch.Tensor:
    for value in REGISTRY.get(2, {}).values():
        x = x * value
    return x + REGISTRY.get(1)["first"] + len(REGISTRY)


OF_TYPES = {int: 1, str: 2, float: 3, list: 4, dict: 5}


def by_type(x: torch.Tensor) -> torch.Tensor:
    return x * OF_TYPES[str]


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is said to fail of entries that were hit."""
    found: list[str] = []
    look = SafeReader.look

    def looked(self: SafeReader, check: Check) -> Answer:
        answer = look(self, check)
        if not check.condition:
            asked = self.ask(check, {})
            if asked.verdict is Verdict.FAIL:
                found.append(f"{check.row.kind} {check.row.source}: {asked.why}")
        return answer

    monkeypatch.setattr(SafeReader, "look", looked)
    return found


def asking(*args: Any, **kwargs: Any) -> Recorder:
    recorder = Recorder(*args, **kwargs)
    recorder.walks.asked = frozenset({Phase.LOOKUP})
    return recorder


@pytest.mark.parametrize(
    "function", [by_class, by_type, *SAMPLES.values()], ids=lambda each: each.__name__
)
def test_of_small_functions(
    function: Callable[[torch.Tensor], Any], failing: list[str], tmp_path: Path
) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="eager")
    with (
        warnings.catch_warnings(),
        watching(tmp_path / "r.stepper", recorder_class=asking) as watched,
    ):
        warnings.simplefilter("ignore")
        for _ in range(3):
            try:
                compiled(torch.ones(2, 3))
            except AssertionError:  # the hook of a tensor that is removed again
                assert function.__name__ == "hooks"
    watched.recording().close()
    assert failing == []


def test_of_programs(failing: list[str], tmp_path: Path) -> None:
    for name in LIGHT:
        with watching(tmp_path / f"{name}.stepper", recorder_class=asking):
            run_program(CORPUS / f"{name}.py")
    assert failing == []
