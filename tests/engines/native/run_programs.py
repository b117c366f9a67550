"""`python -m tests.engines.native.run_programs [--alone] PROGRAM…`: one after the other under the
native compiler, `--alone` with nobody to watch it.

A session with that engine has it serve `torch.compile`; alone, that is done here.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import torch
import torch._dynamo


def main() -> None:
    alone, *programs = sys.argv[1:]
    if alone == "--alone":
        from stepper.engines.native.torch_compile import serve

        serve(lambda text: None)
    else:
        programs.insert(0, alone)
    for program in programs:
        print("===", Path(program).stem, flush=True)
        torch.manual_seed(0)
        torch._dynamo.reset()
        try:
            runpy.run_path(program, run_name="__main__")
        except Exception as error:
            print(type(error).__name__, error)


if __name__ == "__main__":
    main()
