"""A program that asks every guard of entries that were hit once more: `python -m
tests.engines.dynamo.asked_again FOLDER NAME...`.

Names are those of functions here, of `mutations.SAMPLES` and of the corpus. It says which it has
done, and what was said to fail. Some leave Dynamo's evaluator in, by errors, and no hit is told
over that on Python 3.11: it ends there, and is to be called again with the rest."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import torch

from stepper.engines.dynamo import lookup_tries
from stepper.model.cache import Verdict
from tests.conftest import CORPUS, evaluator_is_in
from tests.engines.dynamo.mutations import SAMPLES
from tests.engines.dynamo.watch import asking, run_program, watching


class ByClass(dict[str, Any]):
    """A dictionary that is read by keys of another kind, as `transformers` has one."""

    def __setitem__(self, key: object, value: object) -> None:
        super().__setitem__(str(key), value)

    def get(self, key: object, default: object = None) -> Any:
        return super().get(str(key)) or default


REGISTRY = ByClass()
REGISTRY[1] = {"first": 2}
REGISTRY[2] = {"second": 3.0}
OF_TYPES = {int: 1, str: 2, float: 3, list: 4, dict: 5}


def by_class(x: torch.Tensor) -> torch.Tensor:
    for value in REGISTRY.get(2, {}).values():
        x = x * value
    return x + REGISTRY.get(1)["first"] + len(REGISTRY)


def by_type(x: torch.Tensor) -> torch.Tensor:
    return x * OF_TYPES[str]


FUNCTIONS = {"by_class": by_class, "by_type": by_type, **SAMPLES}


def call(name: str) -> None:
    """Run a program, or call a compiled function some times."""
    if name not in FUNCTIONS:
        run_program(CORPUS / f"{name}.py")
        return
    compiled = torch.compile(FUNCTIONS[name], backend="eager")
    for _ in range(3):
        try:
            compiled(torch.ones(2, 3))
        except AssertionError:  # the hook of a tensor that is removed again
            assert name == "hooks"


def main(folder: str, *names: str) -> None:
    ask = lookup_tries._ask

    def asked(candidate: Any, reader: Any, matches: bool) -> Any:
        found = ask(candidate, reader, matches)
        for check, answer in zip(candidate.checks, found[0], strict=False):
            if matches and answer.verdict is Verdict.FAIL:
                sys.stderr.write(f"FAILS {check.row.kind} {check.row.source}: {answer.why}\n")
        return found

    lookup_tries._ask = asked
    warnings.simplefilter("ignore")
    for name in names:
        torch._dynamo.reset()
        path = Path(folder, f"{name}.stepper")
        with watching(path, recorder_class=asking) as watched:
            call(name)
        watched.recording().close()
        sys.stderr.write(f"DONE {name}\n")
        if evaluator_is_in():
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
