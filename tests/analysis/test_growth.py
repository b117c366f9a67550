"""Questions about twice as many functions take twice as long, and not four times.

A session of tests compiles hundreds of functions, and a question that looks at all of them for each
is answered in minutes. Counted are the calls of functions, which are the same on each machine; what
a function in C does for long is not seen.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from stepper.analysis.break_lines import break_lines
from stepper.analysis.dependence_lines import idle_lines
from stepper.analysis.failed_lines import failed_lines
from stepper.analysis.guard_lines import guarded_lines
from stepper.analysis.here import here_lines
from stepper.analysis.overview import overview_lines
from stepper.analysis.recompile_lines import recompile_lines
from stepper.analysis.shape_lines import shape_lines
from stepper.analysis.slow_lines import slow_lines
from stepper.model.trace import EventKind
from stepper.recording.reader import Recording
from tests.analysis.conftest import Recorded

PROGRAM = """
import gc

import torch
import torch._dynamo.config

gc.freeze()
torch._dynamo.config.accumulated_recompile_limit = 10_000

SOURCE = '''
def f{n}(x, k):
    y = helper(x, k) * {n}
    torch._dynamo.graph_break()
    if x.shape[0] > 3:
        y = y + 1
    return y * len(f"{{x.shape[1]}}")

def g{n}(x):
    return x + {n} if x.sum() > {n} else x

def h{n}(x, kind):
    return x * kind.factor
'''

def helper(x, k):
    return x + k

for n in range(COUNT):
    names = {"torch": torch, "helper": helper}
    exec(compile(SOURCE.format(n=n), __file__, "exec"), names)
    f = torch.compile(names[f"f{n}"], backend="eager")
    for rows in (2, 4):
        f(torch.ones(rows, 3), 2 + n)
    try:
        torch.compile(names[f"g{n}"], backend="eager", fullgraph=True)(torch.ones(3))
    except Exception:
        pass
    kind = type("Kind", (), {"factor": 2.0})
    torch.compile(names[f"h{n}"], backend="eager")(torch.ones(3), kind)
    del kind
    gc.collect()
"""

Question = Callable[[Recording], Iterable[object]]
QUESTIONS: dict[str, Question] = {
    "why-break": break_lines,
    "why-recompile": recompile_lines,
    "why-failed": failed_lines,
    "why-slow": slow_lines,
    "why-shape": shape_lines,
    "why-shape of one": lambda recording: shape_lines(recording, "x.shape[1]"),
    "is-guarded": lambda recording: guarded_lines(recording, "x.shape[1]"),
    "idle-guards": idle_lines,
    "overview": overview_lines,
}
FEW, MANY = 8, 32


@pytest.fixture(scope="module")
def grown(recorded: Recorded, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Recordings of few functions, and of four times as many."""
    folder = tmp_path_factory.mktemp("grown")
    paths = []
    for count in (FEW, MANY):
        program = folder / f"of{count}.py"
        program.write_text(PROGRAM.replace("COUNT", str(count)))
        paths.append(Path(recorded(str(program), "--lookups").path))
    return paths[0], paths[1]


def _calls(path: Path, question: Question, *, before: Question | None = None) -> int:
    """How many calls a question makes, asked of a recording that nobody has asked, or somebody has
    asked another question before."""
    recording = Recording.open(str(path))
    count = 0

    def counted(frame: Any, event: str, arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    for _ in before(recording) if before is not None else ():
        pass
    profiled = sys.getprofile()
    try:
        sys.setprofile(counted)
        for _ in question(recording):
            pass
    finally:
        sys.setprofile(profiled)
        recording.close()
    return count


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_grows_with_what_it_is_about(name: str, grown: tuple[Path, Path]) -> None:
    question = QUESTIONS[name]
    few, many = (_calls(path, question) for path in grown)
    assert many < few * (MANY / FEW) * 1.3, (few, many)


OF_ONE: dict[str, Callable[[Recording, str], Iterable[object]]] = {
    "why-break": break_lines,
    "why-recompile": recompile_lines,
    "why-failed": failed_lines,
    "why-shape": lambda recording, function: shape_lines(recording, "x.shape[1]", function),
    "is-guarded": lambda recording, function: guarded_lines(recording, "x.shape[1]", function),
    "is-guarded of a setting": lambda recording, function: guarded_lines(
        recording, "torch.is_grad_enabled()", function
    ),
    "is-guarded by another name": lambda recording, function: guarded_lines(
        recording, "y", function
    ),
}
"""Questions about one function."""
_OF_OTHERS = 200
"""Calls that it takes to see of another function that it is not meant, in each of its walks."""


@pytest.mark.parametrize("name", OF_ONE)
def test_a_second_question_about_one_function_works_through_no_other(
    name: str, grown: tuple[Path, Path]
) -> None:
    """A bench asks hundreds of questions of one recording, and so does who looks for something."""
    question = OF_ONE[name]
    few, many = (
        _calls(path, lambda it: question(it, "f7"), before=lambda it: question(it, "f6"))
        for path in grown
    )
    assert many < few + _OF_OTHERS * (MANY - FEW), (few, many)


KINDS = (
    EventKind.GRAPH_BREAK, EventKind.EXCEPTION, EventKind.RECOMPILE, EventKind.MISS,
    EventKind.GUARD_FAIL, EventKind.SHAPE_GUARD, EventKind.INVALIDATE,
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_second_answer_at_an_event_works_through_no_other_function(
    kind: EventKind, grown: tuple[Path, Path]
) -> None:
    """The screen answers at each event where somebody stops."""
    with contextlib.closing(Recording.open(str(grown[0]))) as recording:
        count = recording.event_count((kind,))

    def asked(path: Path) -> int:
        with contextlib.closing(Recording.open(str(path))) as recording:
            moments = [each.moment for each in recording.events((kind,))[:count]]
        one, other = moments[-1 - count // FEW], moments[-1]  # of one function, and of the next
        assert one is not None
        assert other is not None
        return _calls(path, lambda it: here_lines(it, other), before=lambda it: here_lines(it, one))

    few, many = map(asked, grown)
    assert many < few + _OF_OTHERS * (MANY - FEW), (few, many)
