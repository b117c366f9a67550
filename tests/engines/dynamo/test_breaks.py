"""Graph breaks and restarts, told in Dynamo's own words and at the instruction that caused them."""

from __future__ import annotations

import linecache
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._dynamo import symbolic_convert

from stepper.model.trace import EventKind, Outcome
from stepper.recording.reader import Recording
from tests.engines.dynamo.watch import record, watching


def _print(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    print("breaks")  # here
    return y * 2


def _condition(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    if y.sum() > 3:  # here
        return y
    return y * 2


def _item(x: torch.Tensor) -> torch.Tensor:
    n = x.sum().item()  # here
    return x * n


def _helper(x: torch.Tensor) -> torch.Tensor:
    y = x * 3
    torch._dynamo.graph_break()  # here
    return y


def _inlined(x: torch.Tensor) -> torch.Tensor:
    return _helper(x + 1) * 2


def _in_with(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        y = x + 1
        torch._dynamo.graph_break()  # here
        return y * 2


def _in_loop(x: torch.Tensor) -> torch.Tensor:
    for index in range(3):
        x = x + index
        torch._dynamo.graph_break()  # here
    return x


def _in_try(x: torch.Tensor) -> torch.Tensor:
    try:
        torch._dynamo.graph_break()  # here
        return x + 1
    except ValueError:
        return x


def _builtin(x: torch.Tensor) -> torch.Tensor:
    code = compile("1", "name", "eval")  # here
    return x + len(code.co_names)


BREAKING: list[Callable[[torch.Tensor], Any]] = [
    _print, _condition, _item, _inlined, _in_with, _in_loop, _in_try, _builtin,
]  # fmt: skip


class Words:
    """What Dynamo itself says: each time it logs a graph break, and each time it raises."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reasons: list[str] = []
        self.stacks: list[list[tuple[str, int]]] = []
        base = symbolic_convert.InstructionTranslatorBase
        log = base.log_graph_break

        def listen(tx: Any, code_options: Any, reason: str, exc: Any) -> None:
            if not exc.logged:
                self.reasons.append(reason)
                stack = getattr(exc, "real_stack", None) or ()
                self.stacks.append([(frame.name, frame.lineno) for frame in stack])
            log(tx, code_options, reason=reason, exc=exc)

        monkeypatch.setattr(base, "log_graph_break", listen)


def _line_at(recording: Recording, moment: int) -> str:
    place = recording.place(moment)
    code = recording.code(recording.frame(place.frame).code)
    return linecache.getline(code.filename, place.line or 0)


@pytest.mark.parametrize("function", BREAKING, ids=lambda function: function.__name__)
@pytest.mark.filterwarnings("ignore")
def test_a_break_is_told_where_it_was_and_in_dynamos_words(
    function: Callable[[torch.Tensor], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch._dynamo.reset()
    path = tmp_path / "break.stepper"
    with watching(path) as watched:
        # Behind the probe, so that the probe is in the original.
        words = Words(monkeypatch)
        torch.compile(function, backend="eager")(torch.ones(2))
    monkeypatch.undo()
    recording = watched.recording()
    breaks = recording.graph_breaks()
    assert breaks
    first = breaks[0]
    assert "# here" in _line_at(recording, first.moment)
    assert [each.reason for each in breaks] == words.reasons
    for each, stack in zip(breaks, words.stacks, strict=True):
        assert [(frame.function, frame.line) for frame in each.user_stack] == stack
        assert each.gb_type
        assert each.gb_type in each.reason or each.explanation in each.reason
        for hint in each.hints:
            assert hint in each.reason
    events = recording.events(kinds={EventKind.GRAPH_BREAK})
    assert [(event.moment, event.ref) for event in events] == [
        (each.moment, each.id) for each in breaks
    ]


def test_a_break_is_of_the_innermost_frame_with_its_stack(tmp_path: Path) -> None:
    recording = record(
        tmp_path / "inlined.stepper",
        lambda: torch.compile(_inlined, backend="eager")(torch.ones(2)),
    )
    found = recording.graph_breaks()[0]
    state = recording.state(found.moment)
    assert len(state.frames) == 2
    top = state.top
    assert recording.code(recording.frame(top.frame).code).qualname == "_helper"
    assert [state.values[id].node for id in (top.locals["y"],)] == ["y"]
    assert any("graph_break" in state.values[id].source for id in top.stack)


def test_the_second_attempt_breaks_where_the_first_one_did(tmp_path: Path) -> None:
    recording = record(
        tmp_path / "print.stepper", lambda: torch.compile(_print, backend="eager")(torch.ones(2))
    )
    translation = recording.translations()[0]
    first, second = recording.attempts(translation.id)
    assert first.restart_reason
    assert not second.restart_reason
    restart = recording.events(kinds={EventKind.RESTART})[0]
    assert restart.ref == first.id
    assert first.restart_reason.startswith(restart.text)
    assert restart.moment == first.last_moment
    # The same instructions, up to the break; the graph of the second is made anew, not at its end.
    trail = [
        [(moment.ip, recording.frame(moment.frame).code) for moment in recording.moments(*ends)]
        for ends in (
            (first.first_moment, first.last_moment or 0),
            (second.first_moment, second.last_moment or 0),
        )
    ]
    assert trail[1][: len(trail[0])] == trail[0]
    for attempt in (first, second):
        made = {node.name: node.moment for node in recording.nodes(None, attempt=attempt.id)}
        assert "y" in made
        assert "x + 1" in _line_at(recording, made["y"])


FULLGRAPH = """
import torch

def shout(x):
    y = x + 1
    print("breaks")  # here
    return y * 2

try:
    torch.compile(shout, backend="eager", fullgraph=True)(torch.ones(2))
except torch._dynamo.exc.Unsupported as error:
    print(error)
"""


def test_a_fullgraph_error_is_a_break_that_nothing_resumes(
    run_python: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    program, path = tmp_path / "full.py", tmp_path / "full.stepper"
    program.write_text(FULLGRAPH)
    done = run_python("-m", "stepper", "record", "-o", path, program)
    assert done.returncode == 0, done.stderr
    recording = Recording.open(str(path))
    (found,) = recording.graph_breaks()
    assert not found.resumes
    assert "# here" in _line_at(recording, found.moment)
    assert found.gb_type in done.stdout
    assert found.explanation in done.stdout
    assert [
        (frame.function, "# here" in linecache.getline(frame.filename, frame.line))
        for frame in found.user_stack
    ] == [("shout", True)]
    (translation,) = recording.translations()
    assert translation.outcome is Outcome.FAILED
    assert found.gb_type in translation.reason


def test_no_break_is_told_of_raises_that_dynamo_forgets(tmp_path: Path) -> None:
    def quiet(x: torch.Tensor) -> torch.Tensor:
        values = {"a": x}
        return values.get("b", x) + getattr(x, "nothing", 1)

    recording = record(
        tmp_path / "quiet.stepper", lambda: torch.compile(quiet, backend="eager")(torch.ones(2))
    )
    assert recording.graph_breaks() == []
    assert [t.outcome for t in recording.translations()] == [Outcome.COMPILED]


def test_breaks_are_counted_for_each_translation(tmp_path: Path) -> None:
    recording = record(
        tmp_path / "loop.stepper", lambda: torch.compile(_in_with, backend="eager")(torch.ones(2))
    )
    by_translation: dict[int, int] = {}
    for found in recording.graph_breaks():
        translation = recording.attempt(found.attempt).translation
        by_translation[translation] = by_translation.get(translation, 0) + 1
    counted = {each.id: each.graph_breaks for each in recording.translations()}
    assert {id: count for id, count in counted.items() if count} == by_translation
