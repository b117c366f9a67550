"""What the native engine costs beside Dynamo: `python -m tests.benchmarks.bench_native`.

The same functions under both, each engine in a process of its own, for the frame evaluator can only
be one's. Three figures for each function:

* a cached call: lookup, guards and transformed code, with a backend whose graphs return at once;
* instructions translated per second of CPU time, from the call to the entry;
* a miss: a call that none of four entries serves, and that nobody may capture.

Each is the best of several rounds, in which whatever else the machine does counts least.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import torch
import transformers
from torch import nn

BOUNDS = {"cached call": 1.0, "instructions per second": 3.0}
"""A cached call costs at most Dynamo's, and three times as many instructions are translated."""

Subject = tuple[Callable[..., Any], tuple[Any, ...]]


def simple() -> Subject:
    """One tensor."""
    return lambda x: x + 1, (torch.ones(3),)


def many() -> Subject:
    """Ten tensors in a list, a dictionary and numbers."""

    def f(xs: list[torch.Tensor], table: dict[str, int], n: int) -> torch.Tensor:
        total = xs[0] * n
        for x in xs:
            total = total + x * table["scale"] - table["shift"]
        return total

    return f, ([torch.ones(3) for _ in range(10)], {"scale": 2, "shift": 1}, 3)


def layers() -> Subject:
    """Twelve modules with parameters."""
    blocks = [nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.ReLU()) for _ in range(4)]
    return nn.Sequential(*blocks), (torch.ones(2, 4),)


def gpt2() -> Subject:
    """Four layers of GPT-2."""
    config = transformers.GPT2Config(
        n_layer=4, n_head=2, n_embd=32, vocab_size=64, n_positions=32, use_cache=False,
        bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    return transformers.GPT2Model(config).eval(), (torch.arange(8)[None],)


SUBJECTS = {"simple": simple, "many": many, "layers": layers, "gpt2": gpt2}


computing = [0.0]
"""Seconds of CPU time that graphs have computed."""


def at_once(gm: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
    """A backend whose graphs return what they returned first."""
    kept: list[Any] = []

    def run(*args: Any) -> Any:
        if not kept:
            begin = time.process_time()
            kept.append(gm.forward(*args))
            computing[0] += time.process_time() - begin
        return kept[0]

    return run


class Native:
    """The native engine."""

    def __init__(self) -> None:
        from stepper import native
        from stepper.native.tracing.symbolic_convert import InstructionTranslatorBase

        self.reset = native.reset
        self.translator = InstructionTranslatorBase

    def compile(self, function: Any, dynamic: bool | None = None) -> Any:
        from stepper import native

        return native.optimize(at_once, dynamic=dynamic)(function)

    def without_capturing(self, function: Any) -> Any:
        """Only look up."""
        from stepper import native

        return native.run(function)


class Dynamo:
    """TorchDynamo."""

    def __init__(self) -> None:
        from torch._dynamo.symbolic_convert import InstructionTranslatorBase

        self.reset = torch._dynamo.reset
        self.translator = InstructionTranslatorBase

    def compile(self, function: Any, dynamic: bool | None = None) -> Any:
        return torch.compile(function, backend=at_once, dynamic=dynamic)

    def without_capturing(self, function: Any) -> Any:
        """Only look up."""
        return torch._dynamo.run(function)


ENGINES: dict[str, Callable[[], Any]] = {"native": Native, "dynamo": Dynamo}


def per_call(function: Callable[..., Any], args: tuple[Any, ...], rounds: int) -> float:
    """Microseconds of one call."""
    begin = time.process_time()
    function(*args)
    calls = max(10, min(2000, int(0.02 / (time.process_time() - begin))))
    best = float("inf")
    for _ in range(rounds):
        begin = time.process_time()
        for _ in range(calls):
            function(*args)
        best = min(best, (time.process_time() - begin) / calls)
    return best * 1e6


@contextmanager
def counted(translator: Any) -> Any:
    """The number of instructions that are translated meanwhile, in a list."""
    step, count = translator.step, [0]

    def counting(self: Any) -> Any:
        count[0] += 1
        return step(self)

    translator.step = counting
    try:
        yield count
    finally:
        translator.step = step


def speed(engine: Any, function: Any, args: tuple[Any, ...], rounds: int) -> float:
    """Instructions per second."""
    with counted(engine.translator) as count:
        engine.reset()
        engine.compile(function)(*args)
    best = float("inf")
    for _ in range(rounds):
        engine.reset()
        compiled = engine.compile(function)
        gc.collect()
        computing[0] = 0.0
        begin = time.process_time()
        compiled(*args)
        best = min(best, time.process_time() - begin - computing[0])
    return count[0] / best


def other_sizes(value: Any, factor: int) -> Any:
    """The arguments with larger tensors."""
    if isinstance(value, torch.Tensor):
        return torch.cat([value] * factor)
    if isinstance(value, list | tuple):
        return type(value)(other_sizes(item, factor) for item in value)
    return value


def measure(engine: Any, rounds: int) -> dict[str, dict[str, float]]:
    """All figures, by function."""
    found = {}
    for name, make in SUBJECTS.items():
        torch.manual_seed(0)
        function, args = make()
        figures = {"instructions per second": speed(engine, function, args, rounds)}
        engine.reset()
        compiled = engine.compile(function, dynamic=False)
        compiled(*args)
        figures["cached call"] = per_call(compiled, args, rounds)
        for factor in (2, 3, 4):
            compiled(*other_sizes(args, factor))
        missing = engine.without_capturing(function)
        figures["miss"] = per_call(missing, other_sizes(args, 5), rounds)
        figures["miss"] -= per_call(function, other_sizes(args, 5), rounds)
        found[name] = figures
    return found


def main() -> None:
    """Measure both engines, and print a line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--engine", choices=ENGINES, help="only this one's figures, as JSON")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.engine:
        torch.set_num_threads(1)
        with torch.no_grad():
            print(json.dumps(measure(ENGINES[options.engine](), options.rounds)))
        return
    found = {}
    for engine in ENGINES:
        command = [sys.executable, "-m", __spec__.name, "--engine", engine]
        command += ["--rounds", str(options.rounds)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found[engine] = json.loads(done.stdout.splitlines()[-1])
    print(f"{'':32} {'native':>10} {'Dynamo':>10}   ratio")
    for name, figures in found["native"].items():
        for figure, value in figures.items():
            other = found["dynamo"][name][figure]
            unit = "/s" if figure in BOUNDS and BOUNDS[figure] > 1 else "µs"
            bound = f"  (bound {BOUNDS[figure]:.0f})" if figure in BOUNDS else ""
            row = f"{name} {figure}"
            print(f"{row:32} {value:8.0f}{unit} {other:8.0f}{unit} {value / other:6.2f}{bound}")


if __name__ == "__main__":
    main()
