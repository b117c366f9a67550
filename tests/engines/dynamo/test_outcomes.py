"""How translations end, and what happens around them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._dynamo.backends.debugging import eager
from torch._dynamo.exc import FailOnRecompileLimitHit
from torch._dynamo.utils import counters

from stepper.debuggee.recorder import Recorder
from stepper.model.trace import EventKind, Outcome
from stepper.recording.reader import Recording
from tests.engines.dynamo.audit import Auditor, lies
from tests.engines.dynamo.watch import record, watching

pytestmark = pytest.mark.filterwarnings("ignore")


def _outcomes(recording: Recording) -> list[tuple[str, Outcome]]:
    return [(each.name, each.outcome) for each in recording.translations()]


def _named(name: str, x: torch.Tensor) -> torch.Tensor:
    return x + len(name)


def test_a_recompilation_says_why_as_dynamo_does(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    compiled = torch.compile(_named, backend="eager")

    def call() -> None:
        compiled("a", torch.ones(2))
        compiled("bb", torch.ones(2))

    first, second = record(tmp_path / "again.stepper", call).translations()
    assert (first.compile_id, second.compile_id) == ("0/0", "0/1")
    assert not first.recompile_reason
    assert "name == 'a'" in second.recompile_reason
    assert (first.cache_size, second.cache_size) == (0, 1)


def test_the_cache_limit_is_told_when_it_is_reached(tmp_path: Path) -> None:
    compiled = torch.compile(_named, backend="eager")

    def call() -> None:
        with torch._dynamo.config.patch(recompile_limit=2):
            for name in ("a", "bb", "ccc", "dddd"):
                compiled(name, torch.ones(2))

    recording = record(tmp_path / "limit.stepper", call)
    (event,) = recording.events(kinds={EventKind.CACHE_LIMIT})
    limited = recording.translation(event.ref or 0)
    assert limited.outcome is Outcome.SKIPPED
    assert "recompile_limit" in limited.reason
    assert [outcome for _, outcome in _outcomes(recording)] == [
        Outcome.COMPILED, Outcome.COMPILED, Outcome.SKIPPED,
    ]  # fmt: skip


def test_the_cache_limit_with_fullgraph_fails(tmp_path: Path) -> None:
    compiled = torch.compile(_named, backend="eager", fullgraph=True)

    def call() -> None:
        with torch._dynamo.config.patch(recompile_limit=1):
            compiled("a", torch.ones(2))
            for name in ("bb", "ccc"):
                with pytest.raises(FailOnRecompileLimitHit):
                    compiled(name, torch.ones(2))

    recording = record(tmp_path / "limit.stepper", call)
    outcomes = [outcome for _, outcome in _outcomes(recording)]
    assert outcomes[:2] == [Outcome.COMPILED, Outcome.FAILED]
    assert "recompile_limit" in recording.translations()[1].reason


def test_an_error_of_the_backend_fails_the_translation(tmp_path: Path) -> None:
    def backend(graph: Any, inputs: Any) -> Any:
        raise ValueError("the backend is out of order")

    def call() -> None:
        with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="out of order"):
            torch.compile(_named, backend=backend)("a", torch.ones(2))

    recording = record(tmp_path / "backend.stepper", call)
    (translation,) = recording.translations()
    assert translation.outcome is Outcome.FAILED
    assert "out of order" in translation.reason
    (event,) = recording.events(kinds={EventKind.EXCEPTION})
    assert "out of order" in event.text


def test_ctrl_c_in_the_backend_ends_it_and_the_next_translation_is_whole(tmp_path: Path) -> None:
    def backend(graph: Any, inputs: Any) -> Any:
        raise KeyboardInterrupt

    def call() -> None:
        with pytest.raises(KeyboardInterrupt):
            torch.compile(_named, backend=backend)("a", torch.ones(2))
        torch.compile(_named, backend="eager")("a", torch.ones(2))

    recording = record(tmp_path / "interrupted.stepper", call)
    first, second = recording.translations()
    assert second.outcome is Outcome.COMPILED
    assert first.outcome is Outcome.FAILED
    assert recording.attempts(second.id)[0].first_moment == second.first_moment
    (attempt,) = recording.attempts(second.id)
    assert [node.op for node in recording.nodes(None, attempt=attempt.id)] == [
        "placeholder",
        "call_function",
        "output",
    ]


def test_an_export_beside_it_changes_nothing(tmp_path: Path) -> None:
    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.sin() + 1

    def call() -> None:
        exported = torch.export.export(Net(), (torch.ones(2),), strict=True)
        assert "sin" in str(exported.graph)
        torch.compile(_named, backend="eager")("a", torch.ones(2))

    recording = record(tmp_path / "export.stepper", call)
    assert _outcomes(recording)[-1] == ("_named", Outcome.COMPILED)


def test_a_translation_in_a_backend_stands_inside_the_other(tmp_path: Path) -> None:
    def inside(x: torch.Tensor) -> torch.Tensor:
        return x.cos() - 1

    def backend(graph: Any, inputs: Any) -> Any:
        with torch._dynamo.utils.disable_cache_limit():
            torch.compile(inside, backend="eager")(torch.ones(3))
        return eager(graph, inputs)

    def outside(x: torch.Tensor) -> torch.Tensor:
        return x.sin() + 1

    recording = record(
        tmp_path / "nested.stepper", lambda: torch.compile(outside, backend=backend)(torch.ones(2))
    )
    assert len(recording.translations()) == 2
    for translation in recording.translations():
        assert translation.outcome is Outcome.COMPILED
        last = recording.attempts(translation.id)[-1]
        targets = [node.target for node in recording.nodes(None, attempt=last.id)]
        wanted, other = ("sin", "cos") if "outside" in translation.name else ("cos", "sin")
        assert wanted in targets
        assert other not in targets


def test_threads_take_turns(tmp_path: Path) -> None:
    def one(x: torch.Tensor) -> torch.Tensor:
        return x.sin() + 1

    def other(x: torch.Tensor) -> torch.Tensor:
        return x.cos() - 1

    def call() -> None:
        threads = [
            threading.Thread(
                target=torch.compile(function, backend="eager"), args=(torch.ones(2),), name=name
            )
            for name, function in (("A", one), ("B", other))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    recording = record(tmp_path / "threads.stepper", call)
    found = {each.thread: each for each in recording.translations()}
    assert found.keys() == {"A", "B"}
    for translation in found.values():
        assert translation.outcome is Outcome.COMPILED
        (attempt,) = recording.attempts(translation.id)
        for moment in recording.moments(attempt.first_moment, attempt.last_moment or 0):
            assert recording.frame(moment.frame).attempt == attempt.id


def _counting(limit: int) -> Iterator[int]:
    yield from range(limit)


def test_generators_are_frames_that_go_on_where_they_stopped(tmp_path: Path) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        first, second = _counting(2), _counting(3)
        return x + next(first) + next(second) + next(first)

    recording = record(
        tmp_path / "generators.stepper",
        lambda: torch.compile(function, backend="eager")(torch.ones(2)),
    )
    (attempt,) = recording.attempts(recording.translations()[0].id)
    frames = [
        frame
        for frame in recording.frames(attempt.id)
        if recording.code(frame.code).name == "_counting"
    ]
    assert len(frames) >= 2
    for frame in frames:
        moments = [
            each for each in recording.moments(1, recording.newest) if each.frame == frame.id
        ]
        state = recording.state(moments[-1].id)
        assert state.top.frame == frame.id
        assert recording.code(frame.code).instructions[state.top.ip].line is not None


def test_recursion_ends_as_deep_as_without(tmp_path: Path) -> None:
    def depth(x: torch.Tensor, n: int) -> torch.Tensor:
        return x if n == 0 else depth(x + 1, n - 1)

    def deepest() -> tuple[list[str], dict[str, Any]]:
        """What becomes of recursions of growing depth, under a small limit."""
        found = []
        counters.clear()
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(700)
        try:
            for n in range(2, 60, 6):
                torch._dynamo.reset()
                try:
                    compiled = torch.compile(depth, backend="eager", fullgraph=True)
                    found.append(str(compiled(torch.zeros(1), n)))
                except Exception as error:
                    found.append(type(error).__name__)
        finally:
            sys.setrecursionlimit(before)
        return found, dict(counters["frames"])

    alone = deepest()
    watched: list[Any] = []
    record(tmp_path / "deep.stepper", lambda: watched.append(deepest()))
    assert "tensor([2.])" in alone[0]
    assert any("tensor" not in each for each in alone[0])
    assert watched == [alone]


def _exhausted(recorder: Recorder, name: str, nth: int, error: type[Exception]) -> None:
    """Let the `nth` call of one of the recorder's methods find the program at its limit."""
    method, calls = getattr(recorder, name), 0

    def limited(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == nth:
            if error is RecursionError:
                limited_for_ever()
            raise error
        return method(*arguments, **options)

    def limited_for_ever() -> None:
        limited_for_ever()

    setattr(recorder, name, limited)


@pytest.mark.parametrize("error", [RecursionError, MemoryError])
@pytest.mark.parametrize(
    "name", ["enter", "leave", "node", "guard", "flush_pending", "begin_attempt"]
)
def test_the_watching_outlives_the_limits_of_the_program(
    tmp_path: Path, name: str, error: type[Exception]
) -> None:
    def inner(x: torch.Tensor, n: int) -> torch.Tensor:
        return inner(x * 2, n - 1) if n else x

    def outer(x: torch.Tensor, n: int) -> torch.Tensor:
        return inner(x, n) + inner(x, 2)

    compiled = torch.compile(outer, backend="eager")
    torch._dynamo.reset()
    with watching(tmp_path / "limits.stepper", recorder_class=Auditor) as watched:
        _exhausted(watched.recorder, name, 1 if name == "begin_attempt" else 2, error)
        assert compiled(torch.ones(2), 3).tolist() == [12.0, 12.0]
        torch._dynamo.reset()
        seen = watched.recorder.moment
        assert compiled(torch.ones(2), 3).tolist() == [12.0, 12.0]
    assert isinstance(watched.recorder, Auditor)
    recording = Recording.open(str(watched.path))
    notes = [event.text for event in recording.events(kinds={EventKind.NOTE})]
    assert len(notes) <= 1  # what a step had to tell is told with the next one
    assert not [text for text in notes if "could not be followed" not in text]
    last = recording.translations()[-1]
    assert last.outcome is Outcome.COMPILED
    assert last.instructions > 50
    truths = {at: truth for at, truth in watched.recorder.truths.items() if at > seen}
    assert len(truths) > 50
    assert not list(lies(recording, truths))
    recording.close()


def test_a_translation_that_ctrl_c_leaves_has_failed(tmp_path: Path) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    def impatient(graph: torch.fx.GraphModule, inputs: object) -> object:
        raise KeyboardInterrupt

    torch._dynamo.reset()
    with watching(tmp_path / "left.stepper") as watched:
        with pytest.raises(KeyboardInterrupt):
            torch.compile(function, backend=impatient)(torch.ones(2))
        recording = Recording.open(str(watched.path))
        left = recording.translation(1)
        recording.close()
    assert (left.outcome, left.reason) == (Outcome.FAILED, "KeyboardInterrupt left it")
    assert (left.attempts, left.nodes) == (1, 3)
    assert left.instructions > 1


def test_a_skipped_frame_says_why(tmp_path: Path) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        for _ in range(2):
            torch._dynamo.graph_break()
        return x

    recording = record(
        tmp_path / "skipped.stepper",
        lambda: torch.compile(function, backend="eager")(torch.ones(2)),
    )
    skipped = [each for each in recording.translations() if each.outcome is Outcome.SKIPPED]
    assert skipped
    assert all(each.reason for each in skipped)
    assert len(recording.events(kinds={EventKind.SKIP})) >= len(skipped)


def test_only_skipped_frames_of_the_program_are_told(tmp_path: Path) -> None:
    linear = torch.nn.Linear(2, 2)

    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for _ in range(2):
                torch._dynamo.graph_break()  # itself a function that Dynamo skips
            return linear(x)  # runs in a skipped frame, so Dynamo is asked for the module's

    recording = record(
        tmp_path / "skipped.stepper",
        lambda: torch.compile(Model(), backend="eager")(torch.ones(2, 2)),
    )
    skips = [event.text for event in recording.events(kinds={EventKind.SKIP})]
    recording.close()
    assert skips
    assert not [text for text in skips if "/torch/" in text or "<frozen" in text]
