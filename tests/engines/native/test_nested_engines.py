"""Dynamo and the native engine, each in the midst of what the other captures: the innermost of them
captures, and what comes of it is what Python computes."""

from __future__ import annotations

import contextlib
import io
import itertools
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._C._dynamo.eval_frame import set_eval_frame

from stepper import _C, native
from tests.engines.native.harness import run_graph

pytestmark = pytest.mark.evaluator_out

Function = Callable[..., Any]
Way = Callable[[Function], Function]


def dynamo(function: Function) -> Function:
    """Captured by Dynamo."""
    compiled: Function = torch.compile(function, backend="eager")
    return compiled


def wrapped(function: Function) -> Function:
    """Captured by the native engine."""
    captured: Function = native.optimize(run_graph)(function)
    return captured


def in_a_block(function: Function) -> Function:
    """Called in a block of the native engine's."""

    def call(*args: Any) -> Any:
        with native.optimize(run_graph):
            return function(*args)

    return call


def by_itself(function: Function) -> Function:
    """Not captured."""
    return function


WAYS: dict[str, Way] = {"dynamo": dynamo, "native": wrapped, "block": in_a_block}
LOG: list[Any] = []

# --- what is called in the midst; each breaks its graph


def branches(x: Any) -> Any:
    y = x + 1
    if y.sum() > 0:
        y = y * 2
    LOG.append("branches")
    return y - 1


def prints(x: Any, by: int = 3) -> Any:
    y = branches(x) + by
    print("by", by)
    return [y, torch.add(y, branches(y))][1]


def raises(x: Any) -> Any:
    y = branches(x)
    print("raises")
    raise ValueError(float(y.sum()))


# --- what calls it


def straight(way: Way, x: Any) -> Any:
    y = x * 3
    z = way(prints)(y)
    return z + y


def below_on_the_stack(way: Way, x: Any) -> Any:
    return torch.stack([x, way(prints)(x + 1), x - 1], 0).sum(0) + x


def broken(way: Way, x: Any) -> Any:
    y = x + 1
    print("before")
    z = way(prints)(y)
    if z.sum() > 0:
        z = z * 2
    return way(branches)(z)


def in_a_loop(way: Way, x: Any) -> Any:
    for number in range(2):
        x = way(branches)(x) + number
        print(number)
    return x


def in_a_closure(way: Way, x: Any) -> Any:
    by = 2

    def adds(v):
        return way(branches)(v) + by

    y = adds(x)
    by = 5
    return y + adds(y)


def in_a_handler(way: Way, x: Any) -> Any:
    y = x + 1
    try:
        way(raises)(y)
    except ValueError as error:
        LOG.append(str(error))
        y = way(branches)(y) * 2
    return y


def in_a_generator(way: Way, x: Any) -> Any:
    return sum(way(branches)(v) for v in (x, x + 1))


def by_recursion(way: Way, x: Any, depth: int = 2) -> Any:
    if depth == 0:
        return branches(x)
    return way(by_recursion)(way, x + depth, depth - 1) * 2


def around_several(way: Way, x: Any) -> Any:
    y = x + 1
    if way is by_itself:
        y = prints(y)
        z = branches(y)
    else:
        with native.optimize(run_graph):
            y = prints(y)
            z = branches(y)
    print("after")
    return y + way(branches)(z)


CALLERS = [
    straight, below_on_the_stack, broken, in_a_loop, in_a_closure, in_a_handler, in_a_generator,
    by_recursion, around_several,
]  # fmt: skip


def did(call: Callable[[], Any]) -> tuple[Any, str, list[Any]]:
    """What a call gives, prints and notes."""
    LOG.clear()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        result = call()
    return result.tolist(), printed.getvalue(), list(LOG)


def check(caller: Any, outer: Way, inner: Way) -> None:
    """Assert that a caller does what it does by itself."""
    torch._dynamo.reset()
    native.reset()
    x = torch.arange(3.0)
    expected = did(lambda: caller(by_itself, x))
    captured = outer(caller)
    for _ in range(2):
        assert did(lambda: captured(inner, x)) == expected
    assert set_eval_frame(None) is None
    assert _C.current_backend() is None


PAIRS = [pair for pair in itertools.permutations(WAYS, 2) if "dynamo" in pair]
NESTED = [
    (outer, inner, caller)
    for (i, (outer, inner)), (j, caller) in itertools.product(enumerate(PAIRS), enumerate(CALLERS))
    if (i + j) % 2 == 0
]


@pytest.mark.parametrize(("outer", "inner", "caller"), NESTED)
def test_one_engine_in_the_midst_of_the_other(outer: str, inner: str, caller: Any) -> None:
    check(caller, WAYS[outer], WAYS[inner])


@pytest.mark.parametrize("inner", ["native", "block"])
def test_the_hook_comes_while_dynamos_evaluator_is_in(inner: str) -> None:
    for caller in CALLERS:
        _C.remove_hook()
        check(caller, dynamo, WAYS[inner])


def test_what_is_called_in_the_midst_of_dynamo_is_captured() -> None:
    graphs: list[Any] = []

    def backend(gm: Any, inputs: Any) -> Any:
        graphs.append(gm)
        return gm.forward

    def program(x: Any) -> Any:
        print(end="")
        captured = native.optimize(backend)(inner)
        return captured(x), dynamo(inner)(x), captured(x)

    def inner(x: Any) -> Any:
        return x.cos().sin()

    _C.remove_hook()
    x = torch.ones(3)
    assert all(torch.equal(each, inner(x)) for each in dynamo(program)(x))
    assert len(graphs) == 1
    assert not _C.hook_installed()


@pytest.mark.parametrize(("middle", "inner"), PAIRS[::2])
def test_three_of_them(middle: str, inner: str) -> None:
    def both(function: Function) -> Function:
        return WAYS[middle](lambda *args: WAYS[inner](function)(*args))

    check(broken, dynamo, both)


def test_a_block_ends_where_it_ends() -> None:
    """Behind it Dynamo captures again, also where an exception has left it."""
    graphs: list[Any] = []

    def backend(gm: Any, inputs: Any) -> Any:
        graphs.append(gm)
        return gm.forward

    def program(x: Any) -> Any:
        try:
            with native.optimize(run_graph):
                branches(x)
                raise LookupError
        except LookupError:
            pass
        return late(x)

    def late(x: Any) -> Any:
        return x.cos().sin()

    torch._dynamo.reset()
    compiled = torch.compile(program, backend=backend)
    x = torch.ones(3)
    assert torch.equal(compiled(x), late(x))
    assert any("cos" in gm.code for gm in graphs)


def test_names_of_the_programs_that_look_like_ours() -> None:
    def program(___stack0: Any, ___graph_out: Any) -> Any:
        ___stack1 = ___stack0 + 1
        ___tmp_1 = [___stack1, ___stack1]
        print(___graph_out)
        return torch.add(___tmp_1[0], branches(___stack1)) + ___stack0, ___tmp_1, ___graph_out

    x = torch.ones(3)
    captured = wrapped(program)
    for _ in range(2):
        result, made, given = captured(x, 5)
        assert torch.equal(result, program(x, 5)[0])
        assert made[0] is made[1]
        assert given == 5


IN_TWO_THREADS = """
import threading
import torch
from stepper import native

def breaks(x):
    y = x + 1
    print(end="")
    return y * 2

def many(captured):
    x = torch.arange(3.0)
    barrier.wait()
    right.extend(torch.equal(captured(x), (x + 1) * 2) for _ in range(3))

right = []
barrier = threading.Barrier(2)
dynamo = torch.compile(breaks, backend="eager")
ways = dynamo, native.optimize(lambda gm, inputs: gm.forward)(breaks)
threads = [threading.Thread(target=many, args=(captured,)) for captured in ways]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(right)
"""


@pytest.mark.skipif(
    torch.__version__.startswith("2.11."),
    reason="two fake modes at once crash this torch by itself",
)
def test_one_engine_in_a_thread_while_the_other_runs_in_another(
    run_python: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    # In a process of its own: an exception in a thread would leave Dynamo's evaluator in this one.
    done = run_python("-c", IN_TWO_THREADS)
    assert (done.stdout, done.stderr) == (f"{[True] * 6}\n", "")
