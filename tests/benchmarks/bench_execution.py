"""What following executions costs: `python -m tests.benchmarks.bench_execution [--rounds N]`.

Calls a compiled function with a graph break, over and over in one process: under torch's own
bytecode debugger with each of its prompts answered by a program (`s`), followed by stepper without
stopping (a breakpoint is set that is never hit, detail `stops`), and with every instruction
recorded. Figures are microseconds per instruction beyond the plain call, the best of all rounds.
Needs Python 3.11 and a torch that has the debugger (2.13).
"""

from __future__ import annotations

import argparse
import builtins
import io
import os
import sys
import tempfile
import time
from collections.abc import Callable

import torch
import torch._dynamo.bytecode_debugger as bytecode_debugger

from stepper.debuggee.start import try_begin
from stepper.model.breakpoint import parse_breakpoint
from stepper.model.launch import DebuggeeConfig

BOUND = 10.0
"""Stepper, running without stopping, is to be so many times faster."""


def program(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    a = torch.relu(x) + y
    print("", end="")
    return a * 2 + x


class _Sink(io.TextIOBase):
    def write(self, text: str) -> int:
        return len(text)


def best(call: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)


def stepped(call: Callable[[], object], rounds: int) -> tuple[float, int]:
    """Under torch's debugger: seconds, and prompts, of a call."""
    prompts = 0

    def answer(prompt: object = "") -> str:
        nonlocal prompts
        prompts += 1
        return "s"

    real_input, real_output = builtins.input, sys.stdout
    builtins.input, sys.stdout = answer, _Sink()
    try:
        with bytecode_debugger.debug():
            call()
            prompts = 0
            seconds = best(call, rounds)
    finally:
        builtins.input, sys.stdout = real_input, real_output
    return seconds, prompts // rounds


def followed(call: Callable[[], object], rounds: int, **config: object) -> float:
    """Followed by stepper: seconds of a call."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "bench.stepper")
        session, trouble = try_begin(DebuggeeConfig(recording=path, **config))  # type: ignore[arg-type]  # any options of its own
        assert session is not None, trouble
        call()
        seconds = best(call, rounds)
        session.close()
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    rounds = parser.parse_args().rounds
    compiled = torch.compile(program, backend="eager")
    x = torch.randn(4)

    def call() -> object:
        return compiled(x, x)

    call()
    plain = best(call, rounds)
    debugged, instructions = stepped(call, rounds)
    never = (parse_breakpoint("execute:nothing_of_this_name"),)
    running = followed(call, rounds, detail="stops", breakpoints=never)
    recorded = followed(call, rounds, execute=True)
    per = {
        "torch's bytecode debugger, answered": debugged,
        "stepper, running without stopping": running,
        "stepper, recording every instruction": recorded,
    }
    theirs = (debugged - plain) / instructions
    print(f"{instructions} instructions a call; alone it takes {plain * 1e6:.0f} us")
    for what, seconds in per.items():
        cost = (seconds - plain) / instructions
        print(f"{what:38} {cost * 1e6:7.2f} us an instruction, {theirs / cost:5.1f} times faster")
    return 0 if (running - plain) / instructions * BOUND <= theirs else 1


if __name__ == "__main__":
    sys.exit(main())
