"""Programs of which a part is replaced after they have been captured.

A case is a generator. What it yields first is the program, a function of a tensor; between two
yields it replaces something that the program uses: a method of a class, a hook, a global, a mode.
In each of these states the program is called by itself and captured, and both must do the same.
What was decided when the program was captured, and is not guarded, shows as a stale result.

`python -m tests.engines.native.replaced` runs all there are; the tests run a part.
"""

from __future__ import annotations

import contextlib
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

from stepper import native
from stepper.native import config
from stepper.native.explanation import Explanation
from stepper.native.watching import WATCHING
from tests.engines.native.harness import run_graph, same

Program = Callable[[torch.Tensor], Any]
Case = Callable[[], Iterator[Any]]

LOG: list[Any] = []
"""What programs note beside what they return."""


def fresh(function: Any) -> Any:
    """The function with a code of its own, which nothing has been captured of."""
    made = types.FunctionType(
        function.__code__.replace(), function.__globals__, function.__name__,
        function.__defaults__, function.__closure__,
    )  # fmt: skip
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def did(program: Program) -> tuple[Any, Any, list[Any], bool]:
    """What a call gives, raises and notes, and whether gradients are on after it."""
    LOG.clear()
    result = raised = None
    gradients = torch.is_grad_enabled()
    try:
        result = program(torch.tensor([1.0, -2.0, 3.0]))
    except Exception as error:
        raised = type(error), str(error)
    left = torch.is_grad_enabled()
    torch.set_grad_enabled(
        gradients
    )  # a replaced torch.no_grad.__enter__ keeps no mode to go back to
    return result, raised, list(LOG), left


def alike(a: Any, b: Any) -> bool:
    """Whether two results are the same; objects of the program's classes by their class."""
    if isinstance(a, torch.Tensor):
        if type(a) is not type(b) or facts(a) != facts(b):
            return False
        return a.is_meta or same(*(each.detach().to_dense() for each in (a, b)))
    if type(a) in (list, tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(alike, a, b))
    if type(a).__module__ in ("builtins", "torch"):
        return same(a, b)
    return type(a) is type(b)


def facts(tensor: torch.Tensor) -> Any:
    """What can be told of a tensor beside its values."""
    return tensor.requires_grad, tensor.is_inference(), tensor.device


class Outcome:
    """What came of a case.

    stale: in which states the captured program did something else, and what.
    graphs: how many were captured.
    """

    def __init__(self) -> None:
        self.stale: list[str] = []
        self.graphs = 0


def run(case: Case) -> Outcome:
    """Run a case through all its states; what it did is compared when everything is back."""
    outcome = Outcome()
    pairs: list[Any] = []
    limit = config.cache_size_limit
    config.cache_size_limit = 100  # or the last states would run as they are
    before = WATCHING.explanation
    explanation = WATCHING.explanation = Explanation()
    steps = case()
    try:
        with warnings.catch_warnings(), contextlib.closing(steps):
            warnings.simplefilter("ignore")
            program = next(steps)
            captured = native.optimize(run_graph)(program)
            for state in range(100):
                pairs += [(state, call, did(program), did(captured)) for call in range(2)]
                if next(steps, steps) is steps:
                    break
    finally:
        WATCHING.explanation = before
        config.cache_size_limit = limit
    outcome.graphs = explanation.graph_count
    for state, call, expected, got in pairs:
        if not all(map(alike, expected, got)):
            outcome.stale.append(f"state {state}, call {call}: {expected} became {got}")
    return outcome


@contextlib.contextmanager
def swapped(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Have an attribute of another value for a while."""
    missing = object()
    old = vars(owner).get(name, missing)
    setattr(owner, name, value)
    try:
        yield
    finally:
        delattr(owner, name) if old is missing else setattr(owner, name, old)


CASES: dict[str, Case] = {}


def case(steps: Case) -> Case:
    """Add a case."""
    CASES[steps.__name__] = steps
    return steps


def swaps(name: str, owner: Any, attribute: str, values: list[Any], program: Any) -> None:
    """Add a case in which an attribute has one value after the other."""

    def steps() -> Iterator[Any]:
        yield fresh(program)
        for value in values:
            with swapped(owner, attribute, value):
                yield
            yield

    CASES[name] = steps


def under(name: str, contexts: list[Callable[[], Any]], program: Any) -> None:
    """Add a case in which one context after the other is entered."""

    def steps() -> Iterator[Any]:
        yield fresh(program)
        for context in contexts:
            with context():
                yield
            yield

    CASES[name] = steps


def contents(name: str, make: Callable[[], Any], changes: list[Any], program: Any) -> None:
    """Add a case in which an object is changed again and again, and put back."""

    def steps() -> Iterator[Any]:
        held = make()
        yield lambda x: program(held, x)
        for change in changes:
            change(held)
            yield

    CASES[f"contents {name}"] = steps
