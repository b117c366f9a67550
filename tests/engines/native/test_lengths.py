"""What a list or a tuple is made of is asked for its length, before it gives anything: a program
whose `__len__` or `__length_hint__` can be seen, or raises, sees each of these calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from tests.engines.native.harness import check

pytestmark = pytest.mark.evaluator_out


class Noting:
    """Its answers to questions for its length are seen in `asked`."""

    def __init__(self, answer: object) -> None:
        self.answer = answer
        self.asked: list[str] = []

    def note(self, what: str) -> Any:
        """Answer what it was made with, or raise it."""
        self.asked.append(what)
        if isinstance(self.answer, type):
            raise self.answer("no")
        return self.answer


class WithLength(Noting):
    def __iter__(self) -> Iterator[int]:
        self.asked.append("iter")
        return iter([1, 2, 3])

    def __len__(self) -> int:
        length: int = self.note("len")
        return length


class WithHint(Noting):
    def __iter__(self) -> Iterator[int]:
        self.asked.append("iter")
        yield from (1, 2, 3)

    def __length_hint__(self) -> int:
        hint: int = self.note("hint")
        return hint


class ByIndex(Noting):
    def __getitem__(self, index: int) -> int:
        return (1, 2, 3)[index]

    def __len__(self) -> int:
        length: int = self.note("len")
        return length


class Itself(Noting):
    given = 0

    def __iter__(self) -> Itself:
        self.asked.append("iter")
        return self

    def __next__(self) -> int:
        if self.given == 3:
            raise StopIteration
        self.given += 1
        return self.given

    def __length_hint__(self) -> int:
        hint: int = self.note("hint")
        return hint


def starred(x: Any, of: Any) -> Any:
    x = x + 1
    first, *rest = of
    return x, first, rest


def changed(x: Any, of: Any) -> Any:
    x = x + 1
    items = [0]
    items.extend(of)
    items += of
    items[:1] = of
    return x, items


def arguments(x: Any, of: Any) -> Any:
    return x + 1, (lambda *given: given)(*of), (lambda *given: given)(0, *of)


MADE: list[Callable[..., Any]] = [
    starred, changed, arguments,
    lambda x, of: (x + 1, list(of)),
    lambda x, of: (x + 1, tuple(of)),
    lambda x, of: (x + 1, [*of], (*of, 0), {*of}),
    lambda x, of: (x + 1, sorted(of), ",".join(map(str, of)), bytes(of)),
    lambda x, of: (x + 1, "".join(of)),
    lambda x, of: (x + 1, list(iter(of)), list(enumerate(of)), list(zip(of, of, strict=False))),
    lambda x, of: (x + 1, list(reversed(of))),
]  # fmt: skip
ANSWERS: list[object] = [3, 7, 0, -1, "3", NotImplemented, TypeError, ValueError]


@pytest.mark.parametrize("kind", [WithLength, WithHint, ByIndex, Itself])
@pytest.mark.parametrize("answer", ANSWERS, ids=repr)
def test_questions_for_a_length_are_seen(kind: type[Noting], answer: object) -> None:
    for function in MADE:
        check(function, torch.ones(2), kind(answer), times=2)


def test_a_length_that_nobody_sees_breaks_nothing() -> None:
    for function in MADE[:6]:
        found = check(function, torch.ones(2), WithLength(3))
        assert not found.breaks, str(found)
