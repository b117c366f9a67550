"""Runs one module of CPython's tests in this process, and prints what became of each test.

    python -m tests.cpython.outcomes MODULE on|off

With `on`, every function that is called is captured where it can be, tensors or not.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import io
import json
import logging
import os
import sys
import tempfile
import time
import unittest
from typing import Any


@dataclasses.dataclass
class Report:
    """What a run gave.

    outcomes: by test: ok, failed, error or skipped; why is told after a colon.
    entries: how many cache entries were made.
    seconds: how long the tests took.
    """

    outcomes: dict[str, str]
    entries: int = 0
    seconds: float = 0.0


class Result(unittest.TestResult):
    """Notes the outcome of each test; the worst counts, where subtests have several."""

    def __init__(self) -> None:
        super().__init__()
        self.outcomes: dict[str, str] = {}

    def addSuccess(self, test: unittest.TestCase) -> None:
        self.outcomes.setdefault(test.id(), "ok")

    def _note(self, kind: str, test: Any, error: Any) -> None:
        text = str(error[1]).strip().partition("\n")[0][:120]
        self.outcomes[test.id()] = f"{kind}: {error[0].__name__}: {text}"

    def addFailure(self, test: Any, err: Any) -> None:
        self._note("failed", test, err)

    def addError(self, test: Any, err: Any) -> None:
        self._note("error", test, err)

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err is not None:
            self._note("failed", test, err)

    def addSkip(self, test: Any, reason: str) -> None:
        self.outcomes.setdefault(test.id(), "skipped")

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        self.outcomes.setdefault(test.id(), "ok")

    def addUnexpectedSuccess(self, test: Any) -> None:
        self.outcomes[test.id()] = "failed: unexpected success"


def run(module: str, captured: bool) -> Report:
    """Run the module's tests here."""
    from stepper import _C, native
    from tests.engines.native.sound_code import prove

    loaded = importlib.import_module(f"test.{module}")
    suite = unittest.defaultTestLoader.loadTestsFromModule(loaded)
    result = Result()
    began = time.perf_counter()
    # What is told of captures is no output of the program's; defects are.
    logger = logging.getLogger("stepper.native")
    logger.propagate = False
    logger.addHandler(logging.StreamHandler(sys.__stderr__))
    logger.setLevel(logging.ERROR)
    # The hook is there in both runs: what it changes by itself is not the engine's doing.
    _C.install_hook()
    if captured:
        native.config.capture_everything = True
        native.register_bytecode_hook(prove)
        with native.optimize("eager"):
            suite.run(result)
    else:
        suite.run(result)
    entries = sum(len(cache.entries) for cache in _C.code_caches())
    return Report(result.outcomes, entries, time.perf_counter() - began)


def main() -> None:
    """Print the report as JSON, whatever else the tests print."""
    module, mode = sys.argv[1:]
    out = sys.stdout
    sys.argv[1:] = []
    # The engine's modules are read before the tests look at what is imported.
    import torch._dynamo
    import torch._subclasses.fake_tensor  # noqa: F401  # it takes itself up

    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        os.chdir(folder)
        report = run(module, mode == "on")
        os.chdir("/")
    print(json.dumps(dataclasses.asdict(report)), file=out)


if __name__ == "__main__":
    main()
