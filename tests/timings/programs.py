"""A program that sleeps where time is to be found, and what torch says that it timed."""

from __future__ import annotations

import gc
import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch._dynamo.utils import (
    CompileEventLogger,
    compilation_time_metrics,
    dynamo_timed,
    get_compilation_metrics,
)

SLEEP = 0.3
"""Seconds: what is planted is found, however slow the machine is."""


@torch.library.custom_op("stepper_timings::slow", mutates_args=())
def slow(x: Tensor) -> Tensor:
    """Takes its time while it is traced, and none when it runs."""
    return x.clone()


@slow.register_fake
def _(x: Tensor) -> Tensor:
    time.sleep(SLEEP)
    return torch.empty_like(x)


def help_meanwhile() -> None:
    """What a worker times while the backend waits for it."""
    with dynamo_timed("compile_file"):
        time.sleep(SLEEP)


def backend(module, _inputs):
    """Takes its time, too."""
    worker = threading.Thread(target=help_meanwhile)
    worker.start()
    kept: list[list[int]] = [[] for _ in range(50_000)]
    gc.collect()
    del kept
    time.sleep(2 * SLEEP)
    worker.join()
    CompileEventLogger.instant("fx_graph_cache_bypass", {"cache_bypass_reason": "planted"})
    return module.forward


def helper(x: Tensor) -> Tensor:
    """Is inlined."""
    return slow(x) + 1  # planted: traced twice


@torch.compile(backend=backend)
def broken(x: Tensor) -> Tensor:
    """The break comes after what is slow."""
    y = helper(x)  # calls what is planted
    print("breaks")
    return y.sin()


@torch.compile(backend="aot_eager")
def trained(x: Tensor) -> Tensor:
    """Has a backward."""
    return (x.sin() * 2).sum()


def once(x: Tensor) -> Tensor:
    """Takes half as long as the other."""
    return slow(x)


def twice(x: Tensor) -> Tensor:
    """Takes longest."""
    return slow(x) + slow(x + 1)


def profiled(x: Tensor) -> Tensor:
    """Is traced with torch's profiler, which does not bear a graph break."""
    return once(x) + twice(x)


LIBRARY = "/lib/python3/site-packages/library.py"
library: dict[str, Any] = {"torch": torch}
exec(compile("def work(x):\n    y = x + 1\n    return y * 2\n", LIBRARY, "exec"), library)


def profile(functions: list[tuple[str, int]]) -> None:
    """Have torch's own profiler of tracing tell what each function took, in `functions`."""
    from torch._dynamo.dynamo_profiler import DynamoProfilerState

    def keep(state, *_):
        functions.extend((each.func_name, each.cumtime_ns) for each in state.timings)

    DynamoProfilerState.dump_stats = keep  # type: ignore[method-assign]  # it would print
    torch._dynamo.config.dynamo_profiler = True


if __name__ == "__main__":
    broken(torch.ones(3))
    trained(torch.ones(3, requires_grad=True)).backward()
    torch.compile(library["work"], backend="eager")(torch.ones(3))
    functions: list[tuple[str, int]] = []
    if hasattr(torch._dynamo.config, "dynamo_profiler"):  # not in older versions
        profile(functions)
        torch.compile(profiled, backend="eager")(torch.ones(3))
    metrics = [
        {name: value for name, value in vars(each).items() if name.endswith("_us")}
        for each in get_compilation_metrics()
    ]
    times = {name: times for name, times in compilation_time_metrics.items() if times}
    Path(sys.argv[1]).write_text(
        json.dumps(
            {
                "times": times,
                "metrics": metrics,
                "functions": functions,
                "callbacks": len(gc.callbacks),
            }
        )
    )
