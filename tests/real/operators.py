"""torch's own samples of its operators, compiled: `python -m tests.real.operators [--native]`.

Calls each operator with a few of the arguments that torch's tests use for it, as function and as
method, eagerly and compiled, and prints where the two differ. `stepper record -m
tests.real.operators` shows whether the watching bears all that Dynamo makes of them.
"""

from __future__ import annotations

import argparse
import itertools
import logging
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_map

import stepper.native

SAMPLES = 3
"""Of each operator."""


def copied(value: Any) -> Any:
    """The arguments anew, with tensors of their own."""
    return tree_map(
        lambda x: x.detach().clone().requires_grad_(x.requires_grad) if torch.is_tensor(x) else x,
        value,
    )


def outcome(call: Callable[[], Any], arguments: Any) -> tuple[Any, str]:
    """What the call returned and made of its arguments, or which exception it raised."""
    torch.manual_seed(0)
    try:
        return (call(), arguments), ""
    except Exception as error:
        return None, type(error).__name__


def difference(eager: Any, compiled: Any) -> str:
    """What differs between two structures of tensors and numbers; empty: nothing."""
    (left, shape), (right, other) = tree_flatten(eager), tree_flatten(compiled)
    if shape != other:
        return f"{shape} and {other}"
    for one, two in zip(left, right, strict=True):
        if not torch.is_tensor(one):
            if type(one) is not type(two) or (one != two and one == one):
                return f"{one!r} and {two!r}"
            continue
        try:
            torch.testing.assert_close(one, two, rtol=0, atol=0, equal_nan=True, check_stride=True)
        except AssertionError as error:
            return " ".join(str(error).split())
        if one.requires_grad is not two.requires_grad:
            return "requires_grad"
    return ""


def samples(op: Any) -> Iterator[tuple[Callable[..., Any], Any]]:
    """The operator as function and as method, each with some of its arguments."""
    dtype = torch.float32 if torch.float32 in op.dtypes else next(iter(op.dtypes))
    grad = op.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
    made = op.sample_inputs("cpu", dtype, requires_grad=grad)
    for sample in itertools.islice(made, SAMPLES):
        for call in filter(None, (op.op, op.method_variant)):
            yield call, (sample.input, sample.args, sample.kwargs)


def compare(op: Any, compile: Callable[..., Any], reset: Callable[[], None]) -> int:
    """Compile the operator's samples, print what differs, and say how many were called."""
    reset()
    pairs = list(samples(op))
    for call, arguments in pairs:

        def run(given: Any, args: Any, kwargs: Any, call: Any = call) -> Any:
            return call(given, *args, **kwargs)

        here, there = copied(arguments), copied(arguments)
        eager, raised = outcome(partial(run, *here), here)
        compiled, raised_too = outcome(partial(compile(run), *there), there)
        if raised != raised_too:
            print(f"{op.full_name}: {raised or 'nothing'} and {raised_too or 'nothing'} raised")
        elif found := difference(eager, compiled):
            print(f"{op.full_name}: {found}")
    return len(pairs)


def main() -> None:
    """Compare the operators that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--native", action="store_true", help="compile with stepper's own engine")
    parser.add_argument("--every", type=int, default=1, help="only each so-manieth operator")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    compile: Any = stepper.native.compile if options.native else torch.compile
    reset = stepper.native.reset if options.native else torch._dynamo.reset
    # What is left uninitialized is another memory's each time; some are for other devices only.
    chosen = [op for op in op_db[:: options.every] if "empty" not in op.name and op.dtypes]
    calls = sum(compare(op, partial(compile, backend="eager"), reset) for op in chosen)
    print(f"{calls} calls of {len(chosen)} operators compared")


if __name__ == "__main__":
    main()
