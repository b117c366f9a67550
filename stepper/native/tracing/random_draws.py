"""Graphs that draw random numbers.

A graph that raises is followed by the program's own code, from its first instruction, and that
draws the same numbers again: so the generators are put back first. Only graphs with an operator
that draws pay for it; which these are the operators say themselves, by a tag, when they run on fake
tensors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from stepper import _C
from stepper.native.tracing.source_lines import lines_as_found
from stepper.native.versions import FakeTensorMode, arguments_of, take_fake_mode

if TYPE_CHECKING:
    from stepper.native.protocols import Codegen


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
        if torch.Tag.nondeterministic_seeded in func.tags and not _drops_nothing(
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


def generator_states() -> list[torch.Tensor]:
    """The states of the default generators: the CPU's, and those of CUDA devices in use."""
    states = [torch.get_rng_state()]
    cuda: Any = torch.cuda
    if cuda.is_initialized():
        states += cuda.get_rng_state_all()
    return states


def put_back(states: list[torch.Tensor]) -> None:
    """Give the generators the states that `generator_states` returned."""
    torch.set_rng_state(states[0])
    if len(states) > 1:
        torch.cuda.set_rng_state_all(states[1:])


for function in (generator_states, put_back):
    _C.set_skip(function.__code__, "recursive")


def write_saving(codegen: Codegen) -> None:
    """Keep the states, before the graph runs."""
    codegen.load_callable(generator_states)
    codegen.call(0)
    codegen.store(codegen.own_name("random"))


def write_putting_back(codegen: Codegen) -> None:
    """Give them back, after it has raised."""
    codegen.load_callable(put_back)
    codegen.emit("LOAD_FAST", codegen.own_name("random"))
    codegen.call(1)
    codegen.pop_top()
