"""What a recording adds to the memory of the program: `python -m tests.benchmarks.bench_memory`.

A program compiles so many different small functions and keeps them, alone and recorded. Figures are
megabytes that are resident at its end, after a collection of garbage: the recorded one's beyond the
other's.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

_PROGRAM = """
import gc, linecache, sys, torch
from pathlib import Path

torch._dynamo.config.cache_size_limit = 1_000_000
kept, x = [], torch.ones(3)
for number in range(int(sys.argv[1])):
    text = f'''
def f(x, y):
    a = x + {number}
    b = a * y
    return torch.relu(b) + x.sum() - a
'''
    name = f"made{number}.py"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    names = {"torch": torch}
    exec(compile(text, name, "exec"), names)
    kept.append(torch.compile(names["f"], backend="eager"))
    kept[-1](x, x)
gc.collect()
status = dict(line.split(":") for line in open("/proc/self/status"))
Path(sys.argv[2]).write_text(status["VmRSS"].split()[0])
"""


def resident(functions: int, *, recorded: bool) -> float:
    """Megabytes of the program at its end."""
    with tempfile.TemporaryDirectory() as directory:
        script, told = Path(directory) / "program.py", Path(directory) / "resident"
        script.write_text(_PROGRAM)
        command = [sys.executable]
        if recorded:
            command += ["-m", "stepper", "record", "-o", str(Path(directory) / "run.stepper")]
        subprocess.run(
            [*command, str(script), str(functions), str(told)], check=True, capture_output=True
        )
        return int(told.read_text()) / 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("functions", type=int, nargs="*", default=[10, 100, 1000])
    for functions in parser.parse_args().functions:
        alone = resident(functions, recorded=False)
        more = resident(functions, recorded=True) - alone
        print(f"{functions:>6} functions  {alone:7.1f} MB alone  {more:6.1f} MB more recorded")


if __name__ == "__main__":
    main()
