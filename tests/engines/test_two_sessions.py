"""A session leaves nothing of itself in the process: the next one finds it as the first one did."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch._dynamo

from stepper import native
from stepper.debuggee import start
from stepper.engines.common import versions as common
from stepper.engines.common.probe_points import ProbePoint, resolve
from stepper.engines.dynamo import versions
from stepper.engines.dynamo.cache import BOOK, NOBODY
from stepper.model.change import MarkSize
from stepper.model.launch import DebuggeeConfig
from stepper.native.watching import NOBODY as NO_WATCHER
from stepper.native.watching import WATCHING
from stepper.recording.reader import Recording
from tests.csrc.test_stack_chunk import most_faults, unlike

pytestmark = pytest.mark.evaluator_out
MARKS = "_dynamo_dynamic_indices"


def scaled(x: torch.Tensor, n: int) -> torch.Tensor:
    y = x.relu() * n
    return y + len(x)


CHANGE = MarkSize(
    scaled.__qualname__, __file__, scaled.__code__.co_firstlineno, "L['x']", 0, "mark_dynamic"
)


@pytest.fixture
def compiled(engine: str) -> Iterator[Callable[..., torch.Tensor]]:
    reset = native.reset if engine == "native" else torch._dynamo.reset
    compile: Any = native.compile if engine == "native" else torch.compile
    reset()
    yield compile(scaled, backend="eager")
    reset()


def left() -> dict[str, object]:
    """All through which a session hears of something."""
    points: list[ProbePoint] = [
        *versions.points.probe_points().values(),
        *versions.points.change_points(),
        *versions.points.cache_points().values(),
        *versions.points.lookup_points().values(),
        *versions.points.untranslated_points().values(),
        *common.POINTS.values(),
    ]
    found: dict[str, object] = {str(point): resolve(point).__code__ for point in points}
    return found | {"listener": BOOK.listener, "watcher": WATCHING.watcher}


def run(
    engine: str, path: Path, call: Callable[..., torch.Tensor], **how: Any
) -> tuple[list[weakref.ref[Any]], torch.Tensor]:
    config = DebuggeeConfig(recording=str(path), engine=engine, lookups=True, execute=True, **how)
    session, trouble = start.try_begin(config)
    assert session is not None, trouble
    try:
        x = torch.ones(3)
        for given in (x, torch.ones(3), torch.ones(4)):
            call(given, 2)
    finally:
        session.close()
    parts = (session, session._engine, session._recorder, session.controller)
    return [weakref.ref(part) for part in parts if part is not None], x


def told(path: Path) -> list[tuple[object, ...]]:
    recording = Recording.open(str(path))
    try:
        told = [(str(t.phase), t.name, str(t.outcome)) for t in recording.translations()]
        return [*told, *((each.id, each.ip) for each in recording.moments(1, 10**6))]
    finally:
        recording.close()


@pytest.mark.parametrize("engine", ["dynamo", "native"])
def test_a_session_leaves_nothing_to_the_next(
    engine: str, compiled: Callable[..., torch.Tensor], tmp_path: Path
) -> None:
    before = left()
    assert before["listener"] is NOBODY
    assert before["watcher"] is NO_WATCHER

    parts, x = run(engine, tmp_path / "1.stepper", compiled, changes=(CHANGE,))
    assert hasattr(x, MARKS), "the change was not made"
    assert len(parts) == 4
    gc.collect()
    assert [part() for part in parts] == [None] * 4
    assert left() == before

    (native.reset if engine == "native" else torch._dynamo.reset)()
    _, x = run(engine, tmp_path / "2.stepper", compiled)
    assert not hasattr(x, MARKS), "a change of the first session was made in the second"
    assert left() == before

    (native.reset if engine == "native" else torch._dynamo.reset)()
    _, _ = run(engine, tmp_path / "3.stepper", compiled)
    assert told(tmp_path / "3.stepper") == told(tmp_path / "2.stepper")


def test_a_session_keeps_the_last_chunk_of_frames_and_gives_it_back(tmp_path: Path) -> None:
    before = most_faults()
    session, trouble = start.try_begin(DebuggeeConfig(recording=str(tmp_path / "r.stepper")))
    assert session is not None, trouble
    try:
        kept = most_faults()
    finally:
        session.close()
    assert unlike(kept, before)
    assert unlike(kept, most_faults())
