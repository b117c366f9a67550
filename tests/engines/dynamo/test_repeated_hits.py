"""A hit that finds what an earlier one has found is told by saying so, and reads as if in full."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode

from stepper.engines.common import kept_lookups
from stepper.engines.dynamo.repeated_hits import RepeatedHits
from stepper.model.trace import EventKind
from stepper.recording.errors import RecordingError
from stepper.recording.reader import Recording
from tests.engines.dynamo.test_lookups import record
from tests.engines.told_hits import (
    AGAIN,
    HELD,
    MEASURED,
    Reads,
    asked_whether_it_is_empty,
    calls_that_hold,
    hits,
    reads,
    repeating_and_full,
    repeats,
    told,
)
from tests.engines.told_lookups import entries, lookups, rows

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.evaluator_out]


class Holder(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.some: list[Any] = [2, 3.0, "four", (5, 6)]
        self.by_name = {"a": 2}

    def forward(self, x: torch.Tensor, times: int) -> torch.Tensor:
        for each in self.some[:2]:
            x = x * each
        return x + times + len(self.some[2]) + len(self.by_name)


def calling(function: Callable[..., object], *arguments: object, times: int) -> Any:
    return lambda: [function(*arguments) for _ in range(times)]


def test_reads_as_if_it_were_told_in_full(tmp_path: Path) -> None:
    path, x = tmp_path / "r.stepper", torch.ones(3)
    compiled = torch.compile(Holder(), backend="eager", dynamic=False)
    recording = record(path, calling(compiled, x, 2, times=9))
    found = hits(recording)
    in_full, *others = [told(recording, each) for each in found if each is not found[0]]
    assert len(found) == 8
    assert len(in_full[1]) > 12
    assert len(in_full[-1]) == 3
    for each in others:
        assert each == in_full
    instants = [recording.instants(each.first_moment, each.first_moment)[0] for each in found]
    assert instants == sorted(set(instants))
    timed = [any("time" in row.said for row in rows(recording, each)) for each in found]
    assert timed == [at in MEASURED for at in range(1, 9)]
    assert len({event.ref for event in recording.events(kinds={EventKind.LOOKUP})}) == 9
    beside = Recording.open(str(path), known=recording.known())
    assert hits(beside) == found
    assert told(beside, found[-2]) == in_full
    attempts = [each.id for lookup in hits(beside) for each in beside.attempts(lookup.id)]
    for frame in [each for attempt in attempts for each in beside.frames(attempt)]:
        assert recording.frame(frame.id) == frame
    beside.close()
    recording.close()
    assert repeats(path)  # all but 1, 2, 4, 8, and the one that they repeat


def test_a_size_that_may_be_any_is_told_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "r.stepper"
    sizes = [4, 4, 4, 4, 4, 6, 4, 7, 7, 4]
    compiled = torch.compile(lambda x: x * 2, backend="eager", dynamic=True)
    tensors = {size: torch.ones(size) for size in (*sizes, 5)}
    recording = record(path, *[lambda size=size: compiled(tensors[size]) for size in (5, *sizes)])
    found = [rows(recording, each) for each in hits(recording)]
    recording.close()
    for size, each in zip(sizes, found, strict=True):
        [tensor] = [row for row in each if row.opname == "TENSOR_MATCH"]
        assert tensor.said["actual"] == f"f32[{size}]"
        [condition] = [row for row in each if row.said.get("actual") == str(size)]
        assert "size()" in condition.text
        assert each[0].said["L['x']"].startswith(f"f32[{size}]")


def test_which_arguments_are_one_object_is_told(tmp_path: Path) -> None:
    path = tmp_path / "r.stepper"
    pair = [torch.ones(3), torch.ones(3)]
    compiled = torch.compile(lambda n, m: pair[0] + n + m, backend="eager", dynamic=True)
    numbers = [int("1000"), int("1000")]
    alike = [(0, 1)] * 6 + [(0, 0)] * 2 + [(0, 1)] * 2
    calls = [lambda a=a, b=b: compiled(numbers[a], numbers[b]) for a, b in [(0, 1), *alike]]
    recording = record(path, *calls)
    found = []
    for each in hits(recording):
        values = recording.state(each.first_moment).top.locals
        found.append(values["L['n']"] == values["L['m']"])
    recording.close()
    assert found == [a == b for a, b in alike]


def test_other_tensors_of_which_the_same_is_told_repeat_a_lookup(tmp_path: Path) -> None:
    path = tmp_path / "r.stepper"
    compiled = torch.compile(lambda x, y: x * 2 + y, backend="eager", dynamic=True)
    pairs = [(torch.ones(3), torch.ones(3)) for _ in range(12)]
    recording = record(path, *[lambda x=x, y=y: compiled(x, y) for x, y in pairs])
    found = [told(recording, each) for each in hits(recording)]
    recording.close()
    assert len(found) == 11
    assert repeats(path) == 6  # all but 1, 2, 4, 8, and the one that they repeat
    for each in found[2:]:
        assert each == found[1]


def test_of_other_tensors_it_is_told_what_they_are_and_which_are_one(tmp_path: Path) -> None:
    path = tmp_path / "r.stepper"
    compiled = torch.compile(lambda x, y: x * 2 + y, backend="eager", dynamic=True)
    sizes = [*[3] * 8, 5, 3, 7, 3, 3]
    pairs = [(torch.ones(size), torch.ones(size)) for size in sizes]
    pairs += [(x, x.clone() if at % 2 else x) for at, (x, _) in enumerate(pairs)]
    recording = record(path, *[lambda x=x, y=y: compiled(x, y) for x, y in pairs])
    asked = lookups(recording)
    assert len(asked) == len(pairs)
    for (x, y), each in zip(pairs, asked, strict=True):
        state = recording.state(each.first_moment)
        values = state.top.locals
        assert state.values[values["L['x']"]].text == f"f32[{len(x)}]"
        assert (values["L['x']"] == values["L['y']"]) == (x is y)
    recording.close()
    assert repeats(path) >= 3


def call_with_new(compiled: Callable[..., object], make: Callable[[], object]) -> None:
    compiled(make())


def read(
    function: Callable[..., object], calls: Sequence[Callable[[], object]], path: Path
) -> list[Reads]:
    """What is told of the hits of these calls."""
    torch.compiler.reset()
    compiled = torch.compile(function, backend="eager", dynamic=False)
    recording = record(path, *[partial(call_with_new, compiled, make) for make in calls])
    found = reads(recording)
    recording.close()
    return found


@pytest.mark.parametrize("name", HELD)
def test_what_is_held_reads_as_if_each_call_were_told_in_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    reading = partial(read, asked_whether_it_is_empty, calls_that_hold(name))
    repeating, full, count = repeating_and_full(monkeypatch, RepeatedHits, reading, tmp_path)
    assert repeating == full
    assert bool(count) is (name in AGAIN)


class Registry(dict[str, int]):
    """A dictionary of the program's own."""


class Settled(torch.nn.Module):
    """Reads floats, of which Dynamo makes guards twice, many names, and a dictionary of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.drops = [torch.nn.Dropout(0.1 / at) for at in range(1, 21)]
        self.registry = Registry(a=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for drop in self.drops:
            x = x * drop.p
        return x * self.registry["a"]


def test_what_was_tried_in_vain_keeps_its_lookups_while_the_order_of_its_guards_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_a_request = [lambda: torch.ones(5), *[lambda: torch.ones(1)] * 6]
    module = Settled()
    reading = partial(read, module, of_a_request * 6)
    repeating, full, count = repeating_and_full(monkeypatch, RepeatedHits, reading, tmp_path)
    assert repeating == full
    assert len(repeating[0][0][1]) > 50
    # Of six hits of a request the first comes behind the entry of the other size.
    assert count > 15


def test_sizes_that_return_repeat_the_lookup_that_had_them(tmp_path: Path) -> None:
    path = tmp_path / "r.stepper"
    compiled = torch.compile(lambda x, y: x * 2 + y, backend="eager", dynamic=True)
    sizes = [3, 4, 5, 6] * 5
    pairs = [(torch.ones(size), torch.ones(size)) for size in sizes]
    recording = record(path, *[lambda x=x, y=y: compiled(x, y) for x, y in pairs])
    found = [told(recording, each) for each in hits(recording)]
    recording.close()
    assert len(found) == 19
    for size, each in zip(sizes[1:], found, strict=True):
        assert each == found[sizes.index(size, 1) - 1]
    # All but the measured ones and the first of each size are told again.
    assert repeats(path) >= 19 - len(MEASURED) - 4


def test_calls_that_take_long_repeat_lookups_too(tmp_path: Path) -> None:
    path = tmp_path / "r.stepper"
    compiled = torch.compile(lambda x: x * 2, backend="eager")
    x = torch.ones(3)

    def call() -> None:
        compiled(x)
        time.sleep(0.06)  # after so long, what is told is committed with the end of each lookup

    record(path, *[call] * 12).close()
    assert repeats(path) >= 12 - 1 - len(MEASURED)


@pytest.mark.parametrize(("sizes", "repeat"), [(range(3, 5), True), (range(3, 15), False)])
def test_of_more_lookups_than_are_kept_the_oldest_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: range, repeat: bool
) -> None:
    monkeypatch.setattr(kept_lookups, "_MOST_KEPT", 3 * kept_lookups.A_LOOKUP)
    path = tmp_path / "r.stepper"
    compiled = torch.compile(lambda x: x * 2, backend="eager", dynamic=True)
    tensors = [torch.ones(size) for size in (*sizes, *sizes, *sizes)]
    record(path, *[lambda x=x: compiled(x) for x in tensors]).close()
    assert (repeats(path) > 0) is repeat


class Seeing(TorchFunctionMode):
    """Sees what is called of torch."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_function__(self, func: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not torch.compiler.is_compiling():
            self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


def test_a_mode_of_the_program_sees_nothing_of_it(tmp_path: Path) -> None:
    def seen(watch: Callable[..., object]) -> list[str]:
        torch.compiler.reset()
        compiled = torch.compile(lambda x: x * 2, backend="eager", dynamic=True)
        mode = Seeing()

        def call(x: torch.Tensor) -> None:
            with mode:
                compiled(x)

        tensors = [torch.ones(size) for size in (3, 3, 4, 3, 4, 3, 4, 3)]
        watch(*[partial(call, x) for x in tensors])
        return mode.seen

    def plainly(*calls: Callable[[], object]) -> None:
        for call in calls:
            call()

    assert seen(lambda *calls: record(tmp_path / "r.stepper", *calls).close()) == seen(plainly)


def test_a_new_entry_is_tried_before_the_one_that_was_hit_again_and_again(tmp_path: Path) -> None:
    path, x, y = tmp_path / "r.stepper", torch.ones(3), torch.ones(4)
    compiled = torch.compile(lambda x: x * 2, backend="eager", dynamic=False)
    order = [x] * 8 + [y] * 8 + [x, y] * 4 + [x] * 8
    recording = record(path, *[lambda each=each: compiled(each) for each in order])
    tried = [entries(recording, each) for each in lookups(recording)]
    recording.close()
    newest: list[str] = []
    for each, names in zip(order, tried, strict=True):
        label = "0/0" if each is x else "0/1"
        hit = label in newest
        assert names == (newest[: newest.index(label) + 1] if hit else newest)
        newest = [label, *(name for name in newest if name != label)]
    assert repeats(path) > 5


def test_the_line_that_made_the_call_is_told(tmp_path: Path) -> None:
    path, x = tmp_path / "r.stepper", torch.ones(3)
    compiled = torch.compile(lambda x: x * 2, backend="eager")

    def here() -> None:
        compiled(x)

    def there() -> None:
        compiled(x)

    recording = record(path, *[here, here, there] * 7)
    names = [each.python_stack[-1].function for each in lookups(recording)]
    recording.close()
    assert [name.rpartition(".")[2] for name in names] == ["here", "here", "there"] * 7
    assert repeats(path) > 10


def test_a_lookup_that_repeats_nothing_that_is_there_is_damage(tmp_path: Path) -> None:
    path, x = tmp_path / "r.stepper", torch.ones(3)
    compiled = torch.compile(lambda x: x * 2, backend="eager")
    recording = record(path, calling(compiled, x, times=9))
    recording.close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM translation WHERE id > 1")
    recording = Recording.open(str(path))
    with pytest.raises(RecordingError, match="cannot repeat"):
        recording.translations()
    recording.close()
