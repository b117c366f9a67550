"""`python -m tests.engines.native.replaced [WORDS]`: all cases, or those with a word. With
`--sweep` each name of torch's modules, too, put to another use: some minutes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from stepper import _C
from stepper.native.runtime.convert_frame import reset
from tests.engines.native.replaced import torch_names
from tests.engines.native.replaced.running import run
from tests.engines.native.replaced.tables import PAIRS, PARTS, WORLD


def _stale_cases(words: list[str]) -> Iterator[str]:
    cases = {
        name: case
        for name, case in {**WORLD, **PARTS, **PAIRS}.items()
        if not words or any(word in name for word in words)
    }
    graphs = 0
    for name, case in cases.items():
        try:
            outcome = run(case)
        except Exception as error:
            yield f"{name}: ends with {type(error).__name__}: {error}"
            continue
        graphs += bool(outcome.graphs)
        if outcome.stale:
            yield f"{name}: {outcome.stale[0]}"
        reset()
    print(f"{len(cases)} cases, {graphs} with graphs")


def _stale_names(words: list[str]) -> Iterator[str]:
    names = [
        each
        for each in torch_names.all_names()
        if not words or any(word in str(each) for word in words)
    ]
    for each in names:
        yield from torch_names.differences(each)[:1]
    print(f"{len(names)} names of torch")


def main() -> int:
    """Run them; print what is stale."""
    parser = argparse.ArgumentParser()
    parser.add_argument("words", nargs="*")
    parser.add_argument("--sweep", action="store_true")
    options = parser.parse_args()
    _C.install_hook()
    stale = 0
    for source in (_stale_cases, _stale_names) if options.sweep else (_stale_cases,):
        for line in source(options.words):
            stale += 1
            print(line, flush=True)
    print(f"{stale} stale")
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main())
