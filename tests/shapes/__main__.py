"""Run the programs; see `cases`."""

from __future__ import annotations

import contextlib
import sys

import torch
import torch._dynamo

from tests.ready_python import leave_processor_caches
from tests.shapes import data, models, programs
from tests.shapes.cases import PROGRAMS, run

FILES = (programs, data, models)


def main(names: list[str]) -> None:
    """Run those named, or all."""
    leave_processor_caches()
    torch.manual_seed(0)
    torch._dynamo.config.capture_scalar_outputs = True
    torch._dynamo.config.capture_dynamic_output_shape_ops = True
    with contextlib.suppress(KeyboardInterrupt):
        for name in names or PROGRAMS:
            run(name)


if __name__ == "__main__":
    main(sys.argv[1:])
