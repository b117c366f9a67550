"""Numbers and flags that the program has in globals, in its environment or by thread."""

from __future__ import annotations

import os
import threading
from typing import Any

import torch

from tests.answers.cases import Run, case

ones = torch.ones


class Batch:
    """What a server keeps beside the model, as vLLM its forward context."""

    prefills = 1


@case(
    "", "why-recompile",
    cause="Batch.prefills changes: 1, 2, 0",
    advice="Hand Batch.prefills over as an argument, or hand over what is decided by it",
    counts=(3, 2),
    never=("keep it in a tensor",),
)  # fmt: skip
def number_that_only_decides(run: Run) -> None:
    """As a tensor it would break the graph."""

    @run.compile
    def attended_to(x: Any, any_prefills: Any = None) -> Any:
        if Batch.prefills > 0 if any_prefills is None else any_prefills:  # cause
            return x + 1
        return x * 2

    for count in (1, 2, 0):
        Batch.prefills = count
        attended_to(ones(2), count > 0 if run.remedied else None)


@case(
    "", "why-recompile",
    cause=("os.environ['STEPPER_ANSWERS'] changes: b'a', b'b'", "called from"),
    advice="Each value of os.environ['STEPPER_ANSWERS'] is compiled by itself",
    counts=(2, 1),
    never=("._data changes",),
)  # fmt: skip
def variable_of_the_environment(run: Run) -> None:
    os.environ["STEPPER_ANSWERS"] = "a"

    @run.compile
    def by_variable(x: Any) -> Any:
        return x * 2 if os.environ.get("STEPPER_ANSWERS") == "a" else x * 3  # cause

    by_variable(ones(2))
    os.environ["STEPPER_ANSWERS"] = "a" if run.remedied else "b"
    by_variable(ones(2))
    del os.environ["STEPPER_ANSWERS"]


@case(
    "", "why-recompile",
    cause="flags.doubled changes",
    advice="Each value of flags.doubled is compiled by itself",
    counts=(2, 1),
)  # fmt: skip
def flag_of_a_thread(run: Run) -> None:
    """What a threading.local has is not looked at, and so no value of it is told."""
    flags = threading.local()
    flags.doubled = True

    @run.compile
    def flagged(x: Any) -> Any:
        return x * 2 if flags.doubled else x + 1  # cause

    flagged(ones(2))
    flags.doubled = run.remedied
    flagged(ones(2))


OF_A_THREAD = threading.local()


@case(
    "", "why-recompile",
    cause="OF_A_THREAD.scale changes: 1.0, 2.0",
    advice="Dynamo has made OF_A_THREAD.scale an input of the graph by itself",
    counts=(2, 1),
    never=("decides for itself", "Each value of"),
)  # fmt: skip
def scale_of_a_thread(run: Run) -> None:
    """A lookup cannot read the value without asking the object: what it was the next entry says."""

    @run.compile
    def by_thread(x: Any) -> Any:
        return x * OF_A_THREAD.scale  # cause

    for scale in (1.0, 1.0 if run.remedied else 2.0):
        OF_A_THREAD.scale = scale
        by_thread(ones(2))


LEVEL = [1]


@case(
    "", "why-recompile",
    cause="LEVEL[0] grows: 1, 3, 5",
    advice="Hand LEVEL[0] over as an argument, or hand over what is decided by it",
    counts=(3, 2),
    never=("in a tensor",),
)  # fmt: skip
def level_that_is_doubled(run: Run) -> None:
    @run.compile
    def raised(x: Any, level: Any = None) -> Any:
        doubled = (LEVEL[0] if level is None else level) * 2  # cause
        return x + doubled if doubled > 4 else x * doubled

    for level in (1, 3, 5):
        LEVEL[0] = 1 if run.remedied else level
        raised(ones(2), level if run.remedied else None)


SHOWN = {"first": 2}


@case(
    "", "why-recompile",
    cause="SHOWN['first'] grows: 2, 3, 4",
    advice="Hand SHOWN['first'] over as an argument, or take the slice outside",
    counts=(3, 2),
    never=("in a tensor",),
)  # fmt: skip
def slice_that_a_global_bounds(run: Run) -> None:
    """The number is asked for only where the slice is taken, behind the instruction that makes its
    bounds; in a tensor it would be no bound."""
    SHOWN["first"] = 2

    @run.compile
    def shown(x: Any, first: int) -> Any:
        return x[: first if run.remedied else SHOWN["first"]].sum()  # cause

    for first in (2, 3, 4):
        SHOWN["first"] = first
        shown(ones(8), first if run.remedied else 0)


NOTED = {"size": 0}


@case(
    "", "why-recompile",
    cause=(
        "NOTED['size'] grows: 2, 3, 4",
        "a compiled function sets it: tests/answers/globals_and_closures.py",
    ),
    advice="Hand NOTED['size'] over as an argument",
    counts=(5, 4),
    function="cut_to_the_noted_size",
)  # fmt: skip
def global_that_another_sets(run: Run) -> None:
    @run.compile
    def note_the_size(x: Any) -> Any:
        NOTED["size"] = x.shape[0]
        return x * 1

    @run.compile
    def cut_to_the_noted_size(x: Any, size: int) -> Any:
        return x[: size if run.remedied else NOTED["size"]].sum()  # cause

    for size in (2, 3, 4):
        note_the_size(ones(size))
        cut_to_the_noted_size(ones(8), NOTED["size"] if run.remedied else 0)


GAIN: dict[str, Any] = {"of all": 2}


@case(
    "", "why-recompile",
    cause="GAIN['of all'] grows: 2, 3, 4",
    advice="Hand GAIN['of all'] over as an argument, or keep it in a tensor",
    counts=(3, 1),
    never=("the slice",),
)  # fmt: skip
def gain_beside_a_slice(run: Run) -> None:
    """The slice on its line has bounds of its own."""

    @run.compile
    def amplified(x: Any, y: Any) -> Any:
        return x * GAIN["of all"] + y[:4]  # cause

    for value in (2, 3, 4):
        GAIN["of all"] = torch.tensor(value) if run.remedied else value
        amplified(ones(4), ones(8))
    GAIN["of all"] = 2


CUT = {"at": 2}


@case(
    "", "why-recompile",
    cause="CUT['at'] grows: 2, 3, 4",
    advice="Hand CUT['at'] over as an argument, or take the slice outside",
    counts=(3, 2),
    never=("in a tensor",),
)  # fmt: skip
def bound_worked_out_before(run: Run) -> None:
    """What bounds the slice is computed on another line."""

    @run.compile
    def cut_behind(x: Any, at: int) -> Any:
        end = (at if run.remedied else CUT["at"]) + 1  # cause
        doubled = x * 2
        return doubled[:end].sum()

    for at in (2, 3, 4):
        CUT["at"] = at
        cut_behind(ones(8), at if run.remedied else 0)
    CUT["at"] = 2
