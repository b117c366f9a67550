"""A lookup is told entry by entry and guard by guard, as Dynamo tried them."""

from __future__ import annotations

import contextlib
import gc
import subprocess
import sys
import types
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._dynamo.testing import CompileCounter

from stepper import _C
from stepper.engines.dynamo.safe_reader import MissingValue, WouldRunUserCode, attribute
from stepper.model.breakpoint import parse_breakpoint
from stepper.model.trace import EventKind, Outcome, Phase
from stepper.recording.navigation import find_break
from stepper.recording.reader import Recording
from tests.engines.dynamo.watch import asking, watching
from tests.engines.told_lookups import entries, failing, lookups, rows

# Hits are told by a hook that cannot be put over Dynamo's (Python 3.11).
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.evaluator_out]


def record(path: Path, *calls: Callable[[], object]) -> Recording:
    torch._dynamo.reset()
    with watching(path, recorder_class=asking) as watched:
        for call in calls:
            call()
    return watched.recording()


def double(x: torch.Tensor, times: int = 2) -> torch.Tensor:
    return x * times


def test_a_first_call_misses_because_nothing_is_there(tmp_path: Path) -> None:
    compiled = torch.compile(double, backend="eager")
    recording = record(tmp_path / "r.stepper", lambda: compiled(torch.ones(2)))
    [lookup] = lookups(recording)
    assert lookup.outcome is Outcome.MISS
    assert "nothing is compiled" in lookup.reason
    assert [row.opname for row in rows(recording, lookup)] == ["MISS"]
    recording.close()


def test_another_shape_fails_at_the_tensor_guard_and_leads_to_the_recompilation(
    tmp_path: Path,
) -> None:
    compiled = torch.compile(double, backend="eager", dynamic=False)
    recording = record(
        tmp_path / "r.stepper", lambda: compiled(torch.ones(2)), lambda: compiled(torch.ones(3))
    )
    lookup = lookups(recording)[1]
    assert lookup.outcome is Outcome.MISS
    [row] = failing(recording, lookup)
    assert row.opname == "TENSOR_MATCH"
    assert row.text.startswith("L['x']")
    assert row.said["expected"] == "f32[2]"
    assert row.said["actual"] == "f32[3]"
    assert row.said["differs"] == "shape[0] 2 ≠ 3"
    assert row.said["time"].endswith("s")
    [event] = recording.events(kinds={EventKind.GUARD_FAIL})
    assert event.text == "TENSOR_MATCH L['x'] of 0/0: shape[0] 2 ≠ 3"
    following = recording.translation(lookup.id + 1)
    assert following.phase is Phase.TRANSLATE
    assert following.compile_id == "0/1"
    assert lookup.last_moment is not None
    assert following.first_moment == lookup.last_moment + 1
    recording.close()


def test_a_hit_runs_all_guards_of_the_entry_and_says_which(tmp_path: Path) -> None:
    compiled = torch.compile(double, backend="eager", dynamic=False)
    call = lambda: compiled(torch.ones(2))  # as programs are written
    recording = record(tmp_path / "r.stepper", call, call)
    lookup = lookups(recording)[1]
    assert lookup.outcome is Outcome.HIT
    assert lookup.compile_id == "0/0"
    told = rows(recording, lookup)
    assert told[-1].opname == "HIT"
    guards = [row for row in told if row.depth == 1 and row.opname != "BACKEND"]
    assert {row.said["verdict"] for row in guards} == {"pass"}
    assert {"GLOBAL_STATE", "TENSOR_MATCH"} <= {row.opname for row in guards}
    assert f"{len(guards)} guards run" in lookup.reason
    [event] = recording.events(kinds={EventKind.HIT})
    assert event.text.startswith("double: 0/0")
    recording.close()


def test_each_hit_says_what_it_found(tmp_path: Path) -> None:
    """What is remembered of an entry is its guards, not what they saw."""
    compiled = torch.compile(lambda x, many: x * len(many), backend="eager", dynamic=True)
    sizes = (3, 5, 5, 3)
    calls = [lambda size=size: compiled(torch.ones(size), [size, 1]) for size in (7, *sizes)]
    recording = record(tmp_path / "r.stepper", *calls)
    hits = [each for each in lookups(recording) if each.outcome is Outcome.HIT]
    told = [rows(recording, each) for each in hits]
    checks = [recording.tried(each.id)[0].checks for each in hits]
    recording.close()
    for size, found in zip(sizes, told, strict=True):
        [tensor] = [row for row in found if row.opname == "TENSOR_MATCH"]
        assert tensor.said["actual"] == f"f32[{size}]"
        assert {row.said["verdict"] for row in found if row.depth == 1} == {"pass"}
    for found, asked in zip(told, checks, strict=True):
        guards = [row for row in found if row.depth == 1]
        assert [row.opname for row in guards] == [row.opname for row in told[0] if row.depth == 1]
        timed = [each.nanoseconds is not None for each in asked]
        assert ["time" in row.said for row in guards] == timed


def test_the_order_is_that_in_which_dynamo_tries_the_entries(tmp_path: Path) -> None:
    compiled = torch.compile(double, backend="eager", dynamic=False)
    sizes = (2, 3, 4, 2, 2, 4, 3)
    recording = record(
        tmp_path / "r.stepper", *(lambda size=size: compiled(torch.ones(size)) for size in sizes)
    )
    tried = [entries(recording, lookup) for lookup in lookups(recording)]
    recording.close()
    assert tried == [
        [],
        ["0/0"],
        ["0/1", "0/0"],  # a new entry goes to the front
        ["0/2", "0/1", "0/0"],  # the last one matches, and moves to the front
        ["0/0"],
        ["0/0", "0/2"],
        ["0/2", "0/0", "0/1"],
    ]


def test_the_failing_guard_is_the_one_that_dynamo_finds(tmp_path: Path) -> None:
    def choose(x: torch.Tensor, mode: str, pair: Sequence[int]) -> torch.Tensor:
        return x + len(mode) + pair[0] + len(pair)

    compiled = torch.compile(choose, backend="eager", dynamic=False)
    ones = torch.ones(2)
    recording = record(
        tmp_path / "r.stepper",
        lambda: compiled(ones, "a", [1]),
        lambda: compiled(ones, "b", [1]),
        lambda: compiled(ones, "b", [1, 2]),
        lambda: compiled(ones.double(), "b", [1]),
        lambda: compiled(ones, "b", (1,)),
    )
    pairs = []
    for lookup in lookups(recording):
        following = recording.translation(lookup.id + 1)
        if following.recompile_reason:
            pairs.append((failing(recording, lookup)[0], following.recompile_reason))
    recording.close()
    assert len(pairs) == 4
    for row, reason in pairs:  # the first entry tried is the one that Dynamo speaks of
        source = row.text.split("  ")[0]
        assert source.removeprefix("L['").partition("'")[0] in reason, (row, reason)
    assert [row.said["differs"] for row, _ in pairs] == [
        "value 'a' ≠ 'b'",
        "length 1 ≠ 2",
        pairs[2][0].said["differs"],
        pairs[3][0].said["differs"],
    ]


def test_another_backend_is_a_row_of_its_own(tmp_path: Path) -> None:
    first = torch.compile(double, backend="eager")
    second = torch.compile(double, backend=CompileCounter())
    recording = record(
        tmp_path / "r.stepper", lambda: first(torch.ones(2)), lambda: second(torch.ones(2))
    )
    [row] = failing(recording, lookups(recording)[1])
    recording.close()
    assert row.opname == "BACKEND"
    assert row.said["expected"] == "eager"
    assert "CompileCounter" in row.said["actual"]


def test_global_state_is_told_and_fails_like_a_guard(tmp_path: Path) -> None:
    compiled = torch.compile(double, backend="eager")

    def without_gradients() -> None:
        with torch.no_grad():
            compiled(torch.ones(2))

    recording = record(tmp_path / "r.stepper", lambda: compiled(torch.ones(2)), without_gradients)
    [row] = failing(recording, lookups(recording)[1])
    recording.close()
    assert row.opname == "GLOBAL_STATE"


def test_objects_known_by_identity_have_names(tmp_path: Path) -> None:
    def make(name: str) -> type:
        return type(name, (), {})

    first, second = make("First"), make("Second")

    def kind(x: torch.Tensor, which: type) -> torch.Tensor:
        return x + (1 if which is first else 2)

    compiled = torch.compile(kind, backend="eager")
    recording = record(
        tmp_path / "r.stepper",
        lambda: compiled(torch.ones(2), first),
        lambda: compiled(torch.ones(2), second),
    )
    [row] = failing(recording, lookups(recording)[1])
    recording.close()
    assert row.opname == "ID_MATCH"
    assert row.said["expected"] == "First"
    assert row.said["actual"] == "Second"


def test_resume_functions_have_lookups_of_their_own(tmp_path: Path) -> None:
    def broken(x: torch.Tensor) -> torch.Tensor:
        x = x + 1
        torch._dynamo.graph_break()
        return x * 2

    compiled = torch.compile(broken, backend="eager")
    call = lambda: compiled(torch.ones(2))  # as programs are written
    recording = record(tmp_path / "r.stepper", call, call)
    found = [(lookup.outcome, bool(lookup.resume_of)) for lookup in lookups(recording)]
    recording.close()
    assert found == [
        (Outcome.MISS, False),
        (Outcome.MISS, True),
        (Outcome.HIT, False),
        (Outcome.HIT, True),
    ]


def test_telling_runs_no_code_of_the_program(tmp_path: Path) -> None:
    asked: list[str] = []

    class Shy:
        def __init__(self) -> None:
            self.plain = 3

        @property
        def loud(self) -> int:
            asked.append("loud")
            return 1

        def __eq__(self, other: object) -> bool:
            asked.append("eq")
            return True

        __hash__ = None  # type: ignore[assignment]  # how a class says that it has none

        def __repr__(self) -> str:
            asked.append("repr")
            return "Shy"

    shy = Shy()

    def use(x: torch.Tensor, thing: Shy) -> torch.Tensor:
        return x + thing.plain

    def run() -> list[str]:
        asked.clear()
        compiled(torch.ones(2), shy)
        shy.plain = 4
        compiled(torch.ones(2), shy)
        shy.plain = 3
        compiled(torch.ones(2), shy)
        return list(asked)

    torch._dynamo.reset()
    compiled = torch.compile(use, backend="eager")
    alone = run()
    seen: list[str] = []
    record(tmp_path / "r.stepper", lambda: seen.extend(run())).close()
    assert seen == alone


class Listed(list[int]):
    rate: int


class Raised(Exception):
    rate: int


@pytest.mark.parametrize("kind", [types.SimpleNamespace, Listed, Raised])
def test_an_attribute_of_what_derives_from_a_builtin_is_told(tmp_path: Path, kind: Any) -> None:
    """A builtin has a `__getattribute__` of its own, which does the same as that of `object`. (Of
    a dict whose items are as they were, Dynamo does not look at the attributes again.)"""
    thing = kind()

    def use(x: torch.Tensor, thing: Any) -> torch.Tensor:
        return x * thing.rate

    def call(rate: int) -> None:
        thing.rate = rate
        compiled(torch.ones(2), thing)

    compiled = torch.compile(use, backend="eager", dynamic=False)
    recording = record(tmp_path / "r.stepper", lambda: call(1), lambda: call(2))
    assert failing(recording, lookups(recording)[-1])[0].said["differs"] == "value 1 ≠ 2"
    recording.close()


@pytest.mark.parametrize(
    "base", [object, dict, list, tuple, set, str, bytes, int, float, complex, OrderedDict, deque]
)
def test_who_decides_for_himself_what_his_attributes_are_is_not_asked(base: Any) -> None:
    class Plain(base):  # type: ignore[misc]  # whatever it is
        pass

    class Loud(Plain):
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError("it was asked")

    plain, loud = Plain(), Loud()
    for each in (plain, loud):
        object.__setattr__(each, "rate", 3)
    assert attribute(plain, "rate") == 3
    with pytest.raises(MissingValue):
        attribute(plain, "other")
    with pytest.raises(WouldRunUserCode):
        attribute(loud, "rate")


def test_telling_keeps_nothing_alive(tmp_path: Path) -> None:
    compiled = torch.compile(double, backend="eager")
    torch._dynamo.reset()
    with watching(tmp_path / "r.stepper", recorder_class=asking) as watched:
        compiled(torch.ones(2))
        tensor = torch.ones(2)
        gone = weakref.ref(tensor)
        compiled(tensor)
        del tensor
        gc.collect()
        assert gone() is None
    watched.recording().close()


@pytest.fixture
def native_hook() -> Iterator[None]:
    """A frame hook that is there because something was captured natively; Dynamo's is over it."""
    _C.install_hook()
    yield
    with contextlib.suppress(RuntimeError):
        _C.remove_hook()


def test_the_first_run_is_no_hit_beside_the_native_engine(
    tmp_path: Path, native_hook: None
) -> None:
    compiled = torch.compile(double, backend="eager")
    call = lambda: compiled(torch.ones(2))  # as programs are written
    recording = record(tmp_path / "r.stepper", call, call)
    outcomes = [lookup.outcome for lookup in lookups(recording)]
    recording.close()
    assert outcomes == [Outcome.MISS, Outcome.HIT]


@pytest.mark.parametrize("other", ["nothing", "the native engine's hook"])
def test_counts_hits_when_nobody_asked_and_tells_nothing(
    tmp_path: Path, other: str, request: pytest.FixtureRequest
) -> None:
    if other != "nothing":
        request.getfixturevalue("native_hook")
    compiled = torch.compile(double, backend="eager", dynamic=False)
    torch._dynamo.reset()
    with watching(tmp_path / "r.stepper") as watched:
        for size in (2, 2, 2, 3, 3):
            compiled(torch.ones(size))
        entries = torch._C._dynamo.eval_frame._debug_get_cache_entry_list(double.__code__)
        counted = [watched.engine._lookups.count_of(entry.code) for entry in entries]
    recording = watched.recording()
    assert not lookups(recording)
    assert not recording.events(kinds={EventKind.HIT})
    recording.close()
    if sys.version_info >= (3, 12) or hasattr(
        torch._C._dynamo.eval_frame, "set_bytecode_debugger_callback"
    ):
        assert counted == [1, 2]
    else:
        assert counted == [None, None]


def test_the_cache_is_as_it_was(tmp_path: Path) -> None:
    def state() -> object:
        found = torch._C._dynamo.eval_frame._debug_get_cache_entry_list(double.__code__)
        return [
            (str(entry.compile_id), [
                manager.get_source() for manager in entry.guard_manager.root.get_child_managers()
            ], [manager.fail_count() for manager in entry.guard_manager.root.get_child_managers()])
            for entry in found
        ]  # fmt: skip

    def run() -> object:
        compiled = torch.compile(double, backend="eager", dynamic=False)
        for size in (2, 3, 2, 4, 3):
            compiled(torch.ones(size), 3 if size == 4 else 2)
        return state()

    torch._dynamo.reset()
    alone = run()
    torch._dynamo.reset()
    with watching(tmp_path / "r.stepper", recorder_class=asking) as watched:
        seen = run()
    watched.recording().close()
    assert seen == alone


def test_breakpoints_find_lookups_in_a_recording(tmp_path: Path) -> None:
    def other(x: torch.Tensor, mode: str = "a") -> torch.Tensor:
        return x + len(mode)

    first = torch.compile(double, backend="eager", dynamic=False)
    second = torch.compile(other, backend="eager", dynamic=False)
    recording = record(
        tmp_path / "r.stepper",
        *(lambda size=size: first(torch.ones(size)) for size in (2, 3, 2)),
        *(lambda mode=mode: second(torch.ones(2), mode) for mode in ("a", "b", "a")),
    )

    def places(text: str) -> list[str]:
        found: list[str] = []
        moment = 0
        while True:
            hit = find_break(recording, moment, [parse_breakpoint(text)], 1)
            if hit is None:
                return found
            moment = hit[0]
            [event] = [
                event.text
                for event in recording.events(after=moment - 1, before=moment + 1)
                if str(event.kind) == text.partition(":")[0]
            ]
            found.append(event)

    shapes = [
        "TENSOR_MATCH L['x'] of 0/0: shape[0] 2 ≠ 3",
        "TENSOR_MATCH L['x'] of 0/1: shape[0] 3 ≠ 2",
    ]
    assert places("guard-fail:TENSOR_MATCH") == shapes
    assert places("guard-fail:*:L['x']") == shapes
    assert len(places("guard-fail")) == 4
    assert [text.partition(",")[0] for text in places("hit:double")] == ["double: 0/0"]
    assert len(places("hit")) == 2
    assert len(places("lookup:*other")) == 3
    assert places("hit:nothing") == []
    recording.close()


def unserved(recording: Recording) -> list[str]:
    skips = [event.text for event in recording.events(kinds={EventKind.SKIP})]
    return [text for text in skips if not text.startswith("stance ")]


def test_a_call_that_nothing_serves_says_why(tmp_path: Path) -> None:
    made = torch.compile(double, backend="eager", dynamic=False)

    def under(stance: str, size: int) -> None:
        with torch.compiler.set_stance(stance):
            made(torch.ones(size))

    recording = record(
        tmp_path / "r.stepper",
        lambda: made(torch.ones(2)),
        lambda: under("force_eager", 2),
        lambda: under("eager_on_recompile", 2),  # served
        lambda: under("eager_on_recompile", 3),
        lambda: double(torch.ones(2)),
        lambda: torch.compiler.disable(double)(torch.ones(2)),
        lambda: made(torch.ones(2)),
    )
    off = "double: Dynamo is off for this call: disabled, or the function was called as it is"
    assert unserved(recording) == [
        "double: torch.compiler's stance is 'force_eager'; the cache was not looked at",
        "double: torch.compiler's stance is 'eager_on_recompile', so nothing is compiled",
        f"{off}; the cache was not looked at",
        f"{off}; the cache was not looked at",
    ]
    outcomes = [each.outcome for each in lookups(recording)]
    assert outcomes == [Outcome.MISS, Outcome.HIT, Outcome.SKIPPED, Outcome.HIT]
    [checked] = failing(recording, lookups(recording)[2])
    assert checked.said["differs"] == "shape[0] 2 ≠ 3"


def test_after_the_limit_only_the_entries_that_exist_are_tried(tmp_path: Path) -> None:
    made = torch.compile(double, backend="eager", dynamic=False)
    with torch._dynamo.config.patch(recompile_limit=2):
        recording = record(
            tmp_path / "r.stepper",
            *(lambda size=size: made(torch.ones(size)) for size in (2, 3, 4, 5, 3)),
        )
    [last] = unserved(recording)[-1:]
    assert last == "double: the recompile limit was reached, so nothing is compiled any more"
    outcomes = [each.outcome for each in lookups(recording)]
    assert outcomes == [Outcome.MISS] * 3 + [Outcome.SKIPPED, Outcome.HIT]


def test_what_was_compiled_before_the_session_is_heard(tmp_path: Path) -> None:
    torch._dynamo.reset()
    made = torch.compile(double, backend="eager", dynamic=False)
    made(torch.ones(2))
    with watching(tmp_path / "r.stepper", recorder_class=asking) as watched:
        made(torch.ones(2))
        made(torch.ones(3))
        made(torch.ones(2))
        double(torch.ones(2))
    recording = watched.recording()
    outcomes = [each.outcome for each in lookups(recording)]
    assert outcomes == [Outcome.HIT, Outcome.MISS, Outcome.HIT]
    assert len(unserved(recording)) == 1


def test_a_frame_that_is_given_up_is_told_once(tmp_path: Path) -> None:
    def gives_up(x: torch.Tensor, times: int) -> torch.Tensor:
        if times > 1:
            for _ in range(times):
                x = x + 1
                torch._dynamo.graph_break()
        return x * 2

    made = torch.compile(gives_up, backend="eager", dynamic=False)
    recording = record(
        tmp_path / "r.stepper",
        lambda: made(torch.ones(2), 1),
        lambda: made(torch.ones(2), 3),
    )
    assert not any("cache was not looked at" in text for text in unserved(recording))
    assert [each.outcome for each in lookups(recording)] == [Outcome.MISS] * 2


def test_hits_where_dynamo_stays_in(
    run_python: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """From Python 3.12 on `sys.monitoring` tells of them; before, it is said that nothing does."""
    program, path = tmp_path / "left.py", tmp_path / "left.stepper"
    program.write_text(LEFT_BY_AN_EXCEPTION)
    done = run_python(program, path)
    assert done.returncode == 0, done.stderr
    recording = Recording.open(str(path))
    notes = [each.text for each in recording.events(kinds={EventKind.NOTE})]
    phases = [each.phase for each in recording.translations()]
    if sys.version_info >= (3, 12):
        assert notes == []
        assert phases == [Phase.LOOKUP, Phase.TRANSLATE, Phase.LOOKUP]
        assert [each.outcome for each in lookups(recording)] == [Outcome.MISS, Outcome.HIT]
    else:
        assert ["hits are not told" in note for note in notes] == [True]
        assert phases == [Phase.LOOKUP, Phase.TRANSLATE]


LEFT_BY_AN_EXCEPTION = """
import sys
import stepper
import torch

def double(x):
    return x * 2

compiled = torch.compile(double, backend="eager", dynamic=False)
with torch.compiler.set_stance("fail_on_recompile"):
    try:
        compiled(torch.ones(2))
    except RuntimeError:
        pass
with stepper.record(sys.argv[1], lookups=True):
    compiled(torch.ones(3))
    compiled(torch.ones(3))
"""
