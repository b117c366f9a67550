"""Which graphs draw random numbers: operators say by a tag that they do, when they run on fake
tensors.

What a generator of Python's draws, of which nobody knows the state, is no operator's: as in Dynamo,
all such numbers of a frame are drawn before its graph, in the program's order, and are inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from stepper import _C
from stepper.native.tracing.source_lines import lines_as_found
from stepper.native.versions import FakeTensorMode, arguments_of, take_fake_mode

Drawn = tuple[object, Callable[..., float], tuple[object, ...], dict[str, object]]
"""A generator, or its tracker; its method, and what that is given."""
DRAWN = "drawn"
"""The variable of the transformed code with what was drawn, behind the prefix of such."""


def drawn_numbers(calls: Iterable[Drawn]) -> list[float]:
    """What generators give, one after the other."""
    return [method(generator, *args, **kwargs) for generator, method, args, kwargs in calls]


def boxed(number: float) -> torch.Tensor:
    """A tensor with this number as it is."""
    kind = torch.float64 if type(number) is float else torch.int64
    return torch.tensor(number, dtype=kind, device="cpu")


for function in (drawn_numbers, boxed):
    _C.set_skip(function.__code__, "recursive")


class NotingFakeTensorMode(FakeTensorMode):  # type: ignore[no-untyped-call]  # torch leaves it untyped
    """A fake mode that notes which operators draw.

    draws: how many have.
    """

    @lines_as_found
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.draws = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """No: nobody compiles the translator, and for each operator that takes a while."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        kwargs = kwargs or {}
        if torch.Tag.nondeterministic_seeded in getattr(func, "tags", ()) and not _drops_nothing(
            func, args, kwargs
        ):
            self.draws += 1
        return self.dispatch(func, types, args, kwargs)


take_fake_mode(NotingFakeTensorMode)


def _drops_nothing(func: Any, args: Any, kwargs: Any) -> bool:
    """Whether an operator that draws for its dropout is told to drop nothing, as attention is in
    evaluation mode: then it does not draw."""
    for index, argument in enumerate(arguments_of(func)):
        if argument.name == "dropout_p":
            given = args[index] if index < len(args) else argument.default_value
            return bool(kwargs.get("dropout_p", given) == 0.0)
    return False
