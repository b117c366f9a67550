"""A lookup is told entry by entry and guard by guard, as the cache tried them."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from stepper import native
from stepper.analysis.recompiles import recompilations
from stepper.model.trace import EventKind, Outcome, Phase
from stepper.recording.reader import Recording
from tests.engines.native import watch
from tests.engines.native.harness import run_graph
from tests.engines.told_lookups import entries, failing, lookups, rows

pytestmark = pytest.mark.evaluator_out


def record(path: Path, *calls: Callable[[], object]) -> Recording:
    def run() -> None:
        for call in calls:
            call()

    native.reset()
    return watch.record(path / "a.stepper", run, Phase.LOOKUP)


def capture(function: Any) -> Any:
    return native.optimize(run_graph, dynamic=False)(function)


def double(x: torch.Tensor, times: int = 2) -> torch.Tensor:
    return x * times


def test_a_first_call_misses_because_nothing_is_there(tmp_path: Path) -> None:
    recording = record(tmp_path, lambda: capture(double)(torch.ones(2)))
    [lookup] = lookups(recording)
    assert lookup.outcome is Outcome.MISS
    assert "nothing is compiled" in lookup.reason
    assert [row.opname for row in rows(recording, lookup)] == ["MISS"]
    assert recording.translation(lookup.id + 1).phase is Phase.TRANSLATE


def test_another_shape_fails_at_the_tensor_guard_and_leads_to_the_recompilation(
    tmp_path: Path,
) -> None:
    captured = capture(double)
    recording = record(
        tmp_path, lambda: captured(torch.ones(2)), lambda: captured(torch.ones(3, 1))
    )
    lookup = lookups(recording)[1]
    assert lookup.outcome is Outcome.MISS
    [row] = failing(recording, lookup)
    assert row.opname == "TENSOR_MATCH"
    assert row.said["expected"] == "f32[2]"
    assert row.said["actual"] == "f32[3, 1]"
    assert row.said["differs"] == "rank 1 ≠ 2"
    assert row.said["time"].endswith("s")
    assert rows(recording, lookup)[-1].said["L['x']"] == "f32[3, 1]"
    [event] = recording.events(kinds={EventKind.GUARD_FAIL})
    assert event.text == "TENSOR_MATCH L['x'] of 0/0: rank 1 ≠ 2"
    following = recording.translation(lookup.id + 1)
    assert (following.phase, following.compile_id) == (Phase.TRANSLATE, "0/1")
    assert lookup.last_moment is not None
    assert following.first_moment == lookup.last_moment + 1


def test_a_hit_runs_all_guards_of_the_entry_and_says_which(tmp_path: Path) -> None:
    captured = capture(double)
    call = lambda: captured(torch.ones(2))  # as programs are written
    recording = record(tmp_path, call, call)
    lookup = lookups(recording)[1]
    assert (lookup.outcome, lookup.compile_id) == (Outcome.HIT, "0/0")
    told = rows(recording, lookup)
    assert told[-1].opname == "HIT"
    guards = [row for row in told if row.depth == 1 and row.opname != "BACKEND"]
    assert {row.said["verdict"] for row in guards} == {"pass"}
    assert {"GLOBAL_STATE", "TENSOR_MATCH", "CONSTANT_MATCH"} <= {row.opname for row in guards}
    assert f"{len(guards)} guards run" in lookup.reason


def test_the_order_is_that_in_which_the_entries_are_tried(tmp_path: Path) -> None:
    captured = capture(double)
    sizes = (2, 3, 4, 2, 2, 4, 3)
    recording = record(tmp_path, *(lambda size=size: captured(torch.ones(size)) for size in sizes))
    assert [entries(recording, lookup) for lookup in lookups(recording)] == [
        [],
        ["0/0"],
        ["0/1", "0/0"],
        ["0/2", "0/1", "0/0"],
        ["0/0"],
        ["0/0", "0/2"],
        ["0/2", "0/0", "0/1"],
    ]


class Scale:
    def __init__(self, factor: Any) -> None:
        self.factor = factor


VARIANTS = {
    "value 2 ≠ 3": (double, (torch.ones(2), 2), (torch.ones(2), 3)),
    "dtype float32 ≠ float64": (double, (torch.ones(2),), (torch.ones(2).double(),)),
    "requires_grad False ≠ True": (
        double, (torch.ones(2),), (torch.ones(2, requires_grad=True),),
    ),
    "value 2 ≠ 2.0": (double, (torch.ones(2), 2), (torch.ones(2), 2.0)),
    "length 1 ≠ 2": (
        lambda x, ys: x + len(ys), (torch.ones(2), [1]), (torch.ones(2), [1, 2]),
    ),
    "keys ['a'] ≠ ['b']": (
        lambda x, table: x + sum(table.values()),
        (torch.ones(2), {"a": 1}), (torch.ones(2), {"b": 1}),
    ),
    "value 1 ≠ 5": (
        lambda x, scale: x * scale.factor,
        (torch.ones(2), Scale(1)), (torch.ones(2), Scale(5)),
    ),
    "object torch._VariableFunctionsClass.sin ≠ torch._VariableFunctionsClass.cos": (
        lambda x, f: f(x), (torch.ones(2), torch.sin), (torch.ones(2), torch.cos),
    ),
}  # fmt: skip


@pytest.mark.parametrize("differs", VARIANTS)
def test_what_a_value_is_and_should_be_is_told(differs: str, tmp_path: Path) -> None:
    function, first, second = VARIANTS[differs]
    captured = capture(function)
    recording = record(tmp_path, lambda: captured(*first), lambda: captured(*second))
    [row] = failing(recording, lookups(recording)[1])
    what, _, rest = differs.partition(" ")
    wanted, _, actual = rest.partition(" ≠ ")
    told = row.said["differs"]
    assert told.startswith(what)
    assert wanted.rpartition(".")[2] in told.partition("≠")[0]
    assert actual.rpartition(".")[2] in told.partition("≠")[2]


def test_what_would_have_failed_too_is_told_and_so_why_it_was_captured_again(
    tmp_path: Path,
) -> None:
    captured = capture(double)
    recording = record(
        tmp_path, lambda: captured(torch.ones(2), 2), lambda: captured(torch.ones(3), 5)
    )
    [again] = recompilations(recording)
    assert again.lookup is not None
    [tried] = again.tried
    told = {
        (failure.source, str(each.aspect), each.expected, each.actual, failure.behind)
        for failure in tried.failures
        for each in failure.differences
    }
    assert {facts[:4] for facts in told} == {
        ("L['x']", "shape[0]", 2, 3),
        ("L['times']", "value", 2, 5),
    }
    assert [facts[4] for facts in told].count(True) == 1
    assert all(failure.origin is not None for failure in tried.failures)


def test_another_backend_is_told_before_any_guard(tmp_path: Path) -> None:
    def other(gm: Any, example_inputs: list[Any]) -> Any:
        return gm.forward

    recording = record(
        tmp_path,
        lambda: capture(double)(torch.ones(2)),
        lambda: native.optimize(other)(double)(torch.ones(2)),
    )
    [row] = failing(recording, lookups(recording)[1])
    assert row.opname == "BACKEND"
    assert "run_graph" in row.said["expected"]
    assert "other" in row.said["actual"]


def test_a_call_that_nothing_may_be_captured_for_is_skipped_with_the_reason(
    tmp_path: Path,
) -> None:
    captured = capture(double)
    recording = record(
        tmp_path,
        lambda: captured(torch.ones(2)),
        lambda: native.run(double)(torch.ones(3)),
        lambda: native.run(double)(torch.ones(2)),
    )
    skipped, hit = lookups(recording)[1:]
    assert skipped.outcome is Outcome.SKIPPED
    assert "only entries that exist" in skipped.reason
    assert hit.outcome is Outcome.HIT
    [event] = recording.events(kinds={EventKind.SKIP})
    assert "only entries that exist" in event.text


def broken(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    print(end="")
    return y * 2


def test_a_resume_function_has_lookups_of_its_own(tmp_path: Path) -> None:
    captured = capture(broken)
    recording = record(tmp_path, *[lambda: captured(torch.ones(2))] * 2)
    told = [(each.outcome, each.resume_of) for each in lookups(recording)]
    assert told == [
        (Outcome.MISS, ""),
        (Outcome.MISS, "broken"),
        (Outcome.HIT, ""),
        (Outcome.HIT, "broken"),
    ]


def test_nothing_of_the_call_is_held(tmp_path: Path) -> None:
    captured = capture(double)
    tensor = torch.ones(3)
    watched = weakref.ref(tensor)

    def dies() -> None:
        nonlocal tensor
        captured(tensor)
        captured(torch.ones(4))
        del tensor
        gc.collect()
        assert watched() is None

    record(tmp_path, dies)


def test_threads_tell_theirs_beside_each_other(tmp_path: Path) -> None:
    captured = capture(double)

    def call() -> None:
        for _ in range(20):
            captured(torch.ones(2))

    def both() -> None:
        captured(torch.ones(2))
        threads = [threading.Thread(target=call) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    found = lookups(record(tmp_path, both))
    assert [each.outcome for each in found].count(Outcome.HIT) == 60
    assert {each.outcome for each in found} == {Outcome.MISS, Outcome.HIT}


def test_nobody_listens_when_nobody_asks(tmp_path: Path) -> None:
    captured = capture(double)

    def twice() -> None:
        captured(torch.ones(2))
        captured(torch.ones(2))

    native.reset()
    recording = watch.record(tmp_path / "a.stepper", twice)
    assert not lookups(recording)
