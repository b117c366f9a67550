"""What the debugger sees of the native engine, through an ordinary recording."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from stepper import native
from stepper.analysis.dependence import depends_on
from stepper.analysis.failures import failures
from stepper.model.trace import EventKind, Outcome
from tests.engines.native.harness import run_graph
from tests.engines.native.watch import record

pytestmark = pytest.mark.evaluator_out


def helper(v: torch.Tensor) -> torch.Tensor:
    return v + 1


def program(a: torch.Tensor, b: torch.Tensor) -> object:
    out = [a.sin()]
    out.append(helper(b))
    print(end="")
    return out, a * b


def run() -> None:
    native.optimize(run_graph)(program)(torch.ones(2), torch.ones(2))


def decides(x: torch.Tensor) -> torch.Tensor:
    x = x * 2
    if x.sum() > 0:  # blame
        return x + 1
    return x


def run_whole() -> None:
    with pytest.raises(native.Unsupported):
        native.compile(decides, backend="eager", fullgraph=True)(torch.ones(2))


def test_a_frame_that_must_be_one_graph_and_is_not_has_failed(tmp_path: Path) -> None:
    recording = record(tmp_path / "a.stepper", run_whole)
    (item,) = recording.translations()
    assert item.outcome is Outcome.FAILED
    (failed,) = failures(recording)
    assert failed.failure.exception == "Unsupported"
    assert failed.sites[0].line.text == "if x.sum() > 0:  # blame"
    assert [each.resumes for each in recording.graph_breaks()] == [False]


def test_a_translation_is_recorded_step_by_step(tmp_path: Path) -> None:
    recording = record(tmp_path / "a.stepper", run)
    first, second = recording.translations()[:2]
    assert (first.name, first.outcome, first.graph_breaks) == ("program", Outcome.COMPILED, 1)
    assert second.resume_of == "program"
    assert first.nodes == 4
    inlined = recording.events(kinds={EventKind.INLINE})
    assert [event.text for event in inlined] == ["helper"]
    breaks = recording.events(kinds={EventKind.GRAPH_BREAK})
    assert breaks[0].text == "Failed to trace builtin operator: a call of builtin print"


def test_a_value_shows_its_guards_and_a_list_its_items_as_they_are(tmp_path: Path) -> None:
    recording = record(tmp_path / "a.stepper", run)
    (broken,) = recording.events(kinds={EventKind.GRAPH_BREAK})[:1]
    state = recording.state(broken.moment)
    out = state.values[state.top.locals["out"]]
    assert out.length == 2
    assert out.mutability == "new value"
    shown = [
        guard.source for guard in depends_on(recording, state.attempt, out.guards)
        if guard.kind == "TENSOR_MATCH"
    ]  # fmt: skip
    assert shown == ["L['a']", "L['b']"]
    sine = state.values[out.items[0].value]
    assert sine.node == "sin"
    needed = depends_on(recording, state.attempt, sine.guards)
    assert "L['b']" not in {guard.source for guard in needed}
    (append,) = recording.events(kinds={EventKind.SIDE_EFFECT})
    before = recording.state(append.moment)
    assert before.values[before.top.locals["out"]].length == 1


def test_why_it_was_captured_again_is_recorded(tmp_path: Path) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    def both() -> None:
        captured = native.optimize(run_graph)(f)
        captured(torch.ones(2))
        captured(torch.ones(3))

    recording = record(tmp_path / "a.stepper", both)
    again = recording.translations()[1]
    assert again.recompile_reason == "0/0: TENSOR_MATCH L['x']: shape[0] 2 ≠ 3"
    assert len(recording.events(kinds={EventKind.ENTRY})) == 2


def test_each_guard_that_has_failed_is_recorded_without_lookups(tmp_path: Path) -> None:
    def f(x: torch.Tensor, times: int) -> torch.Tensor:
        return x * times

    def both() -> None:
        captured = native.optimize(run_graph)(f)
        captured(torch.ones(2), 2)
        captured(torch.ones(3), 4)

    again = record(tmp_path / "a.stepper", both).translations()[1]
    (unmet,) = again.unmet
    told = [str(each.differences[0]) for each in unmet.checks if each.differences]
    assert sorted(told) == ["shape[0] 2 ≠ 3", "value 2 ≠ 4"]
    assert again.recompile_reason == str(unmet)


def scaled(x: torch.Tensor, n: int) -> torch.Tensor:
    doubled = n * 2
    print(end="")
    return x * doubled


def test_a_symbol_is_shown_with_what_it_is_now(tmp_path: Path) -> None:
    call = native.optimize(run_graph, dynamic=True)(scaled)
    recording = record(tmp_path / "a.stepper", lambda: call(torch.ones(3), 5))
    (broken,) = recording.events(kinds={EventKind.GRAPH_BREAK})[:1]
    state = recording.state(broken.moment)
    n, doubled = (state.values[state.top.locals[name]] for name in ("n", "doubled"))
    assert (n.cls, n.type, n.source) == ("SymNodeVariable", "int", "L['n']")
    assert n.text.endswith(", now 5")
    assert doubled.text == f"2*{n.text.partition(',')[0]}, now 10"
