"""What a recorded lookup costs: `python -m tests.benchmarks.bench_lookups [--rounds N]`.

Calls a compiled function whose one entry has some ten guards, and one with some hundred, over and
over in one process, alone and with lookups recorded: with the same tensor at each call, with
another one at each, with another one in another list, with one of a hundred sizes that come again,
and with one of a size that no call before had, so that all of its lookup is told. Figures are
microseconds of processor time a call beyond the plain one, the best of all rounds. Python 3.11 and
later.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import torch

from stepper.debuggee.start import try_begin
from stepper.model.launch import DebuggeeConfig
from stepper.recording.reader import Recording

_CALLS = 200
"""Calls that are timed together."""
_SIZES = 100
"""Sizes that come again."""


class Scales(torch.nn.Module):
    """A module that reads so many numbers, each of which is a guard or two."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.scales = list(range(count))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for scale in self.scales:
            x = x * scale
        return x


class ScalesOfOne(Scales):
    """Does so with a tensor that it is given in a list."""

    def forward(self, held: list[torch.Tensor]) -> torch.Tensor:  # type: ignore[override]  # it takes another argument
        x = held[0]
        for scale in self.scales:
            x = x * scale
        return x


def best(call: Callable[[], object], rounds: int) -> float:
    """Seconds of a call."""
    times = []
    for _ in range(rounds):
        began = time.process_time()
        for _ in range(_CALLS):
            call()
        times.append((time.process_time() - began) / _CALLS)
    return min(times)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--scales", type=int, nargs="*", default=[3, 94])
    arguments = parser.parse_args()
    one = torch.randn(4)
    tensors: dict[str, list[Any]] = {
        "one tensor": [one] * _CALLS,
        "other tensors": [torch.randn(4) for _ in range(_CALLS)],
        "in other lists": [[torch.randn(4)] for _ in range(_CALLS)],
        "sizes that return": [torch.randn(4 + at % _SIZES) for at in range(_CALLS)],
        "new sizes": [torch.randn(4 + at) for at in range(_CALLS * (2 * arguments.rounds + 2))],
    }
    for count in arguments.scales:
        for kind, each in tensors.items():
            module = ScalesOfOne(count) if isinstance(each[0], list) else Scales(count)
            print(_measured(module, each, kind, arguments.rounds))
    return 0


def _measured(module: torch.nn.Module, tensors: list[Any], kind: str, rounds: int) -> str:
    """What it costs to record the calls of a module with these tensors."""
    torch._dynamo.reset()
    compiled = torch.compile(module, backend="eager", dynamic=True)
    following = itertools.cycle(tensors)

    def call() -> object:
        return compiled(next(following))

    call()
    plain = best(call, rounds)
    torch._dynamo.reset()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "bench.stepper")
        session, trouble = try_begin(DebuggeeConfig(recording=path, lookups=True))
        assert session is not None, trouble
        call()
        call()
        recorded = best(call, rounds)
        session.close()
        recording = Recording.open(path)
        last = recording.translations()[-1]
        guards = sum(len(each.checks) for each in recording.tried(last.id))
        moments = last.last_moment or 0
        recording.close()
        size = os.path.getsize(path)
    calls = rounds * _CALLS
    return (
        f"{guards:4} guards, {kind:<17}: alone {plain * 1e6:6.1f} us a call, recorded "
        f"{(recorded - plain) * 1e6:8.1f} us more, {moments / calls:.0f} moments and "
        f"{size / calls:.0f} bytes a call"
    )


if __name__ == "__main__":
    sys.exit(main())
