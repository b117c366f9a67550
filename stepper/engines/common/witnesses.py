"""Whether a guard is needed, by experiment: the code is run with what the guard refuses.

A *witness* is an input that only this guard of the entry refuses, and for which the entry's code
gives something else than eager, raises, or takes the process with it. With one, the guard is
needed. Without one nothing is proved: what was tried is told. An input that other guards refuse as
well says nothing about this one, and is not run.

Inputs are made of those of a call, by changing what the guard watches, in a copy of the process
(`stepper.engines.common.run_in_fork`): there nothing needs care. Where CUDA is in use a process
cannot be copied, and it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec
import torch

from stepper.debuggee.evaluator import describe_exception
from stepper.engines.common.run_in_fork import Died, run_in_fork
from stepper.engines.common.variations import Variation, variations
from stepper.model.cache import CacheError, Comparison, GuardRow, WitnessSearch, WitnessTrial

_SECONDS = 40.0
_OTHERS = 5


class Tried(NamedTuple):
    """The entry whose guard is in question, as its engine gives it."""

    id: int
    label: str
    rows: tuple[GuardRow, ...]
    f_globals: dict[str, Any]
    refused: Callable[[dict[str, Any]], list[GuardRow]]
    """The guards that do not pass for the locals of a call."""
    compared: Callable[[dict[str, Any]], Comparison]
    """What its code gives for them, beside what eager gives."""


def find_witness(entry: Tried, number: int, f_locals: dict[str, Any]) -> WitnessSearch:
    """Try inputs that a guard of an entry refuses.

    Args:
        entry: the entry.
        number: the guard's row.
        f_locals: the call to begin from.

    Raises:
        CacheError: there is no such guard, or the process cannot be copied.
    """
    if not 0 <= number < len(entry.rows):
        raise CacheError(f"{entry.label} has no guard {number}")
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]  # torch leaves it untyped
        raise CacheError("CUDA is in use: no input can be tried in a copy of this process")
    row = entry.rows[number]
    trials: list[WitnessTrial] = []
    begun = ""
    try:
        for piece in run_in_fork(lambda: _work(entry, row, f_locals), _SECONDS):
            if piece[:1] == b"t":
                begun = piece[1:].decode()
            else:
                begun = ""
                trials.append(msgspec.msgpack.decode(piece[1:], type=WitnessTrial))
    except Died as error:
        died = "SIG" in str(error)
        trials.append(WitnessTrial(begun or "?", trouble=str(error), died=bool(begun) and died))
    return WitnessSearch(entry.id, row, tuple(trials))


def _work(entry: Tried, row: GuardRow, f_locals: dict[str, Any]) -> Iterator[bytes]:
    """In the copy: before each trial its text, then what came of it; until one is a witness."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the others have not been copied
    scope = {"L": f_locals, "G": entry.f_globals}
    for each in variations(row, scope):
        yield b"t" + each.text.encode()
        trial = _try(entry, row, each, f_locals, threads)
        if trial is not None:
            yield b"r" + msgspec.msgpack.encode(trial)
            if trial.witness:
                return


def _try(
    entry: Tried, row: GuardRow, each: Variation, f_locals: dict[str, Any], threads: int
) -> WitnessTrial | None:
    """None: it is nothing that this guard refuses."""
    try:
        with each.made():
            torch.set_num_threads(threads)  # guards look at it
            refused = entry.refused(f_locals)
            torch.set_num_threads(1)
            if row.index not in {other.index for other in refused}:
                return None
            others = [other for other in refused if other.index != row.index]
            if others:
                named = [f"{other.kind} {other.source}".strip() for other in others[:_OTHERS]]
                return WitnessTrial(each.text, tuple(dict.fromkeys(named)))
            return WitnessTrial(each.text, comparison=entry.compared(f_locals))
    except Exception as error:  # of the program's own objects, or it cannot be made so
        return WitnessTrial(each.text, trouble=describe_exception(error))
