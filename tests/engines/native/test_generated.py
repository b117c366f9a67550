"""Programs that nobody wrote do the same with and without the engine."""

from __future__ import annotations

import os
import warnings

import pytest
import torch
from hypothesis import HealthCheck, given, settings

from stepper.native.runtime.convert_frame import reset
from tests.engines.native.generated import arguments, compiled, sources
from tests.engines.native.harness import check

pytestmark = pytest.mark.evaluator_out

EXAMPLES = int(os.environ.get("STEPPER_GENERATED", "150"))


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=EXAMPLES <= 150,
    suppress_health_check=list(HealthCheck),
    database=None,
)
@given(source=sources())
def test_a_generated_program_does_the_same(source: str) -> None:
    does_the_same(source)


FOUND = {
    "a branch on data in a loop, whose iterator is on the stack": """
def f(x, y, n, m, xs, d, o):
    for i in range(2):
        if x.sum() > 0:
            x = x + i
    return x, y
""",
    "a handler that is copied, with one that ends a loop round it": """
def f(x, y, n, m, xs, d, o):
    for i in range(1):
        try:
            x, y = y, x
            o.grow(1)
            raise ValueError(n)
        except Exception:
            x = x.add_(2)
            print(0)
    return x, y
""",
    "a copied loop whose handler unpacks": """
def f(x, y, n, m, xs, d, o):
    x = x.add_(2)
    for i in range(2):
        try:
            print(0)
            raise ValueError(n)
        except Exception:
            x, y = y, x
    return x, y
""",
}
"""What generated programs have failed by."""


@pytest.mark.parametrize("source", FOUND.values(), ids=FOUND)
def test_what_was_found_stays_mended(source: str) -> None:
    does_the_same(source)


def does_the_same(source: str) -> None:
    """Run a program with and without the engine, with several sizes."""
    function = compiled(source)
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for size in (3, 5, 4):  # the second makes symbols of sizes, which the third is served by
            check(function, *arguments(size), times=2, namespace=function.__globals__)
    reset()
