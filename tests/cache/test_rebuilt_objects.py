"""Long containers, dataclasses, named tuples and enumerations among the arguments of a recorded
lookup, made anew.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

import stepper
import stepper.cache as cache
from stepper.engines.common.rebuildable import describe_whole
from stepper.model.cache import CacheError
from stepper.model.trace import Phase
from stepper.recording.reader import Recording
from stepper.recording.recorded_call import RecordedCall, recorded_call


class Mode(enum.Enum):
    FAST = "fast"
    SLOW = "slow"


class Key:
    """Compared by code of the program's."""

    def __hash__(self) -> int:
        return 1

    def __eq__(self, other: object) -> bool:
        _compared.append(self)
        return self is other


_compared: list[Key] = []


class Size(NamedTuple):
    height: int
    width: int


@dataclass
class Options:
    scale: float
    mode: Mode = Mode.FAST
    parts: list[torch.Tensor] = field(default_factory=list)

    def __post_init__(self) -> None:
        _made.append(self)


@dataclass(frozen=True, slots=True)
class Fixed:
    size: Size
    names: tuple[str, ...] = ()


_made: list[Options] = []


def used(x: torch.Tensor, given: Any) -> torch.Tensor:
    return x + 1


def recorded_lookup(path: Path, given: Any) -> RecordedCall:
    torch._dynamo.reset()
    compiled = torch.compile(used, backend="eager")
    with stepper.record(str(path), lookups=True):
        compiled(torch.ones(2), given)
    recording = Recording.open(str(path))
    lookup = next(each for each in recording.translations() if each.phase is Phase.LOOKUP)
    return recorded_call(recording, lookup.first_moment)


def made_anew(path: Path, given: Any) -> Any:
    call = recorded_lookup(path, given)
    assert not call.lost
    return cache.recorded(used, path, 1)["given"]


@pytest.mark.parametrize(
    "given",
    [
        list(range(2000)),
        tuple(f"name {at}" for at in range(100)),
        {at: at / 2 for at in range(300)},
        set(range(50)),
        [Mode.SLOW, Mode.FAST],
        Size(3, 4),
        Fixed(Size(1, 2), ("a", "b")),
        {"deep": [Size(1, 2), (Fixed(Size(5, 6)), [[["x"]]])]},
    ],
    ids=lambda given: type(given).__name__,
)
def test_it_is_equal_and_of_the_same_types(tmp_path: Path, given: Any) -> None:
    found = made_anew(tmp_path / "it.stepper", given)
    assert found == given
    assert repr(found) == repr(given)


def test_an_object_is_made_without_running_its_code(tmp_path: Path) -> None:
    _made.clear()
    given = Options(2.0, Mode.SLOW, [torch.ones(at, 2) for at in range(1, 40)])
    found = made_anew(tmp_path / "it.stepper", given)
    assert _made == [given]
    assert type(found) is Options
    assert (found.scale, found.mode) == (2.0, Mode.SLOW)
    assert [part.shape for part in found.parts] == [part.shape for part in given.parts]


def local_class() -> Any:
    @dataclass
    class Local:
        x: int

    return Local(1)


def more_than_its_fields() -> Any:
    options = Options(1.0)
    options.__dict__["extra"] = 1
    return options


@pytest.mark.parametrize(
    "make",
    [
        lambda: list(range(100_000)),
        lambda: [object()] * 40,
        lambda: [[at] for at in range(600)],
        lambda: [float("nan"), *range(40), object()],
        local_class,
        more_than_its_fields,
    ],
)
def test_what_is_not_told_whole_has_to_be_given(tmp_path: Path, make: Callable[[], Any]) -> None:
    path = tmp_path / "it.stepper"
    assert set(recorded_lookup(path, make()).lost) == {"given"}
    with pytest.raises(CacheError, match=r"given was .* Give it by keyword: given="):
        cache.recorded(used, path, 1)


def test_telling_compares_nothing() -> None:
    keys = [Key() for _ in range(40)]
    given: list[Any] = [set(keys), dict.fromkeys(keys), frozenset(keys)]
    del given[1][keys[3]]
    _compared.clear()
    for each in given:
        describe_whole(each)
    assert not _compared


def test_a_class_that_the_program_has_not_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "it.stepper"
    made_anew(path, Size(3, 4))
    monkeypatch.delitem(globals(), "Size")
    with pytest.raises(CacheError, match=r"no class tests\.cache\.test_rebuilt_objects\.Size"):
        cache.recorded(used, path, 1)
