"""A function is asked about by the name that is shown, which for a model of a library is its class:
its qualified name is that of a decorator."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import stepper
from stepper.analysis.failed_lines import failed_lines
from stepper.analysis.guard_lines import guarded_lines
from stepper.analysis.line import Line
from stepper.analysis.recompile_lines import recompile_lines
from stepper.analysis.shape_lines import shape_lines
from stepper.analysis.slow_lines import slow_lines
from stepper.recording.reader import Recording


def handing_on(forward: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(forward)
    def wrapper(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        return forward(self, *args, **kwargs)

    return wrapper


class Bounded(nn.Module):
    @handing_on
    def forward(self, ids: Any) -> Any:
        return ids + 1 if ids.shape[0] > 3 else ids


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    path: Path = tmp_path_factory.mktemp("named") / "run.stepper"
    torch._dynamo.reset()

    def backend(graph: Any, inputs: Any) -> Any:
        return graph.forward

    with stepper.record(str(path)):
        compiled = torch.compile(Bounded(), backend=backend)
        for size in (4, 5, 2):
            compiled(torch.ones(size))
        with pytest.raises(torch._dynamo.exc.BackendCompilerFailed):
            torch.compile(Bounded(), backend=lambda *_: 1 / 0, dynamic=False)(torch.ones(7, 2))
    torch._dynamo.reset()
    found = Recording.open(str(path))
    yield found
    found.close()


@pytest.mark.parametrize(
    "ask",
    [recompile_lines, failed_lines, shape_lines, slow_lines, guarded_lines],
    ids=lambda each: each.__name__,
)
def test_each_question_knows_the_shown_name(
    ask: Callable[..., Iterator[Line]], recording: Recording
) -> None:
    asked = functools.partial(ask, recording)
    if ask in (shape_lines, guarded_lines):
        asked = functools.partial(ask, recording, "ids.shape[0]")
    every, named, none = (list(asked(function)) for function in ("", "bounded", "nosuch"))
    assert len(named) > 1
    assert {*named} <= {*every}  # of a part, why-slow leaves out what is only told of the whole
    assert {*none}.isdisjoint(every)
