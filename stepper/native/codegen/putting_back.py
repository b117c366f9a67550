"""What a graph has changed when it raises.

A graph that raises is followed by the program's own code, from its first instruction, which draws
the same numbers again, and writes to the same inputs: so the generators are put back first, and the
inputs are given what they held. Only graphs with an operator that draws pay for it, and those that
write to inputs beside other changes of the program, where something could raise.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from stepper import _C
from stepper.native.source import Kept
from stepper.native.versions import set_versions, version_of

if TYPE_CHECKING:
    from stepper.native.protocols import Codegen
    from stepper.native.source import Source


class Before:
    """How it was.

    generators: the states of the default ones, the CPU's and those of CUDA devices in use; empty:
        the graph draws nothing.
    of_python: those of Python's that have drawn for the graph, each with its state.
    inputs: those that the graph writes to, with what each holds and how often it was written to.
    """

    def __init__(
        self, draws: bool, drawing: Sequence[random.Random], written: Sequence[torch.Tensor]
    ) -> None:
        self.of_python = [(each, each.getstate()) for each in drawing]
        self.generators: list[torch.Tensor] = []
        if draws:
            self.generators = [torch.get_rng_state()]
            cuda: Any = torch.cuda
            if cuda.is_initialized():
                self.generators += cuda.get_rng_state_all()
        self.inputs = [(each, each.detach().clone(), version_of(each)) for each in written]

    def put_back(self) -> None:
        """Have it be so again."""
        if self.generators:
            torch.set_rng_state(self.generators[0])
            if len(self.generators) > 1:
                torch.cuda.set_rng_state_all(self.generators[1:])
        for generator, state in self.of_python:
            generator.setstate(state)
        for each, held, version in self.inputs:
            if version is None or version_of(each) != version:
                each.detach().copy_(held)
        set_versions([(each, v) for each, _, v in self.inputs if v is not None])


def _before(
    draws: bool, drawing: Sequence[random.Random], written: Sequence[torch.Tensor]
) -> Before:
    return Before(draws, drawing, written)


def _put_back(before: Before) -> None:
    before.put_back()


def call_with_versions(
    written: Sequence[tuple[int, int]], compiled: Callable[..., object], *inputs: torch.Tensor
) -> object:
    """Call what a backend has made of a graph that gives some inputs other data: to assign that is
    no change in place, but AOTAutograd counts it as one."""
    versions = [(inputs[at], inputs[at]._version + count) for at, count in written]
    results = compiled(*inputs)
    set_versions(versions)
    return results


for function in (call_with_versions, _before, _put_back, Before.__init__, Before.put_back):
    _C.set_skip(function.__code__, "recursive")


def write_saving(
    codegen: Codegen, draws: bool, drawing: list[object], written: list[Source]
) -> None:
    """Keep how it is, before the graph runs."""
    codegen.make(_before, draws, drawing, written)
    codegen.store(codegen.own_name("before"))


def write_putting_back(codegen: Codegen) -> None:
    """Have it be so again, after the graph has raised."""
    codegen.do(_put_back, Kept(codegen.own_name("before")))
    write_letting_go(codegen)


def write_letting_go(codegen: Codegen) -> None:
    """Keep it no longer."""
    codegen.emit("DELETE_FAST", codegen.own_name("before"))
