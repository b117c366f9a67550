"""What watching costs, counted.

`python -m tests.benchmarks.bench_instructions [--dynamic] [MODEL…]` runs the same
compiles as `bench_tracing`, but the figures are ratios of machine instructions that
the process executed, all its threads together, as valgrind's callgrind counts them. So they say
the same on a busy machine, and differ by less than 0.002 between two runs; a clock's differ by
some percent even on an idle one. A second after which is committed is as much of the program's work
as it is without valgrind, about. What they leave out is what an instruction costs: misses of the
processor's caches and waits for the disk. Callgrind is slow: some ten minutes a model.

Needs valgrind with its headers (`apt install valgrind`) and a C compiler.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch

from stepper.recording import writer
from tests.benchmarks.bench_tracing import BOUNDS, MODELS, watched

CALLS = 30
SLOWER = 100
"""How many times as long a program takes under callgrind, on a machine that has other work."""
LEAST_RECORDING = 250_000
"""Bytes; a watching that ended early would look cheap."""
COUNTER = Path(__file__).with_name("callgrind.c")
LABEL = re.compile(r"^desc: Trigger: Client Request: (.+)$", re.MULTILINE)
TOTAL = re.compile(r"^totals: (\d+)$", re.MULTILINE)


def measure(name: str, library: str, *, dynamic: bool) -> None:
    """What runs under callgrind: each way of watching once, after a compile that is not counted."""
    counter = ctypes.CDLL(library)
    writer._QUIET *= SLOWER
    torch.manual_seed(0)
    model, inputs = MODELS[name]()
    model.eval()

    @contextmanager
    def counted(label: str) -> Iterator[None]:
        gc.collect()
        counter.begin_counting()
        try:
            yield
        finally:
            counter.end_counting(label.encode())

    with tempfile.TemporaryDirectory() as directory, torch.no_grad():
        options: dict[str, Any] = {"backend": "eager", "dynamic": dynamic or None}
        torch.compile(model, **options)(**inputs)  # imports, caches
        for mode in ("plain", *BOUNDS):
            torch._dynamo.reset()
            compiled: Callable[..., object] = torch.compile(model, **options)
            with nullcontext() if mode == "plain" else watched(mode, directory) as path:
                with counted(mode):
                    compiled(**inputs)
                with counted(f"{mode} hot"):
                    for _ in range(CALLS):
                        compiled(**inputs)
            if mode == "recorded" and path and os.path.getsize(path) < LEAST_RECORDING:
                raise SystemExit(f"{name} was not recorded")


def bench(name: str, library: str, directory: Path, *, dynamic: bool) -> None:
    """Measure one model and print a line for each way to watch it."""
    more = ["--dynamic"] if dynamic else []
    command = [
        "valgrind",
        "--tool=callgrind",
        "--instr-atstart=no",
        f"--callgrind-out-file={directory}/{name}.out",
        *(sys.executable, "-m", __spec__.name, name, "--counter", library, *more),
    ]
    # One thread of OpenMP: the others only wait for work, for as long as they please.
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    if run.returncode:
        raise SystemExit(f"{' '.join(command)}\nended with {run.returncode}:\n{run.stderr[-4000:]}")
    counts: dict[str, int] = {}
    for dump in directory.glob(f"{name}.out*"):
        text = dump.read_text()
        label, total = LABEL.search(text), TOTAL.search(text)
        if label is not None and total is not None:
            counts[label[1]] = int(total[1])
    print(f"{name:6} plain     {counts['plain'] / 1e9:7.3f} thousand million instructions")
    for mode, bound in BOUNDS.items():
        ratio, hot = (counts[mode + x] / counts["plain" + x] for x in ("", " hot"))
        print(f"{name:6} {mode:9} {ratio:7.4f} of plain (bound {bound:.2f}); hot call {hot:.4f}")
    sys.stdout.flush()


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("models", nargs="*", help=f"of {', '.join(MODELS)}; all when none is named")
    parser.add_argument("--dynamic", action="store_true", help="compile with dynamic=True")
    parser.add_argument("--counter", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.counter:
        measure(options.models[0], options.counter, dynamic=options.dynamic)
        return
    if shutil.which("valgrind") is None:
        raise SystemExit("valgrind is not installed: apt install valgrind, or run bench_tracing")
    with tempfile.TemporaryDirectory() as directory:
        library = f"{directory}/callgrind.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", library, COUNTER], check=True)
        for name in options.models or MODELS:
            bench(name, library, Path(directory), dynamic=options.dynamic)


if __name__ == "__main__":
    main()
