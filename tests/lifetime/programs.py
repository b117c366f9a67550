"""Small programs of many kinds, each of which compiles something that nobody keeps.

A function is compiled under a code object of its own each time, as where a program makes functions
as it goes (a notebook, `exec`, a test suite): what hangs on a code object has to go with it.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import weakref
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import torch

Compile = Callable[..., Any]
"""`torch.compile` or what stands for it."""


class Roll:
    """Weak references to what the programs made and what the compiler made of it."""

    def __init__(self) -> None:
        self._references: list[tuple[str, weakref.ref[Any]]] = []

    def note(self, value: Any, name: str = "") -> Any:
        """Remember an object that can be weakly referenced, and give it back."""
        self._references.append((name or type(value).__qualname__, weakref.ref(value)))
        return value

    def living(self) -> dict[str, int]:
        """How many of them are alive, by name."""
        self._references = [each for each in self._references if each[1]() is not None]
        return dict(collections.Counter(name for name, _ in self._references))


ROLL = Roll()
_counted = 0


def own_code(function: FunctionType) -> FunctionType:
    """The same function with a code object that no other has."""
    code = ROLL.note(function.__code__.replace())
    made = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    return ROLL.note(made)


def cut() -> None:
    """A call that breaks the graph; the engine's own is put here."""
    torch._dynamo.graph_break()


def seen(graph: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
    """A backend that runs the graph as it is, and remembers everything that it was given."""
    ROLL.note(graph)
    ROLL.note(graph.graph)
    for node in graph.graph.nodes:
        ROLL.note(node)
        for value in node.meta.values():
            if isinstance(value, torch.Tensor):
                ROLL.note(value)
    for value in inputs:
        if isinstance(value, torch.Tensor):
            mode = getattr(value, "fake_mode", None)
            if mode is not None:
                ROLL.note(mode)
                if mode.shape_env is not None:
                    ROLL.note(mode.shape_env)
    return graph.forward


def refuses(graph: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
    """A backend that cannot."""
    seen(graph, inputs)
    raise ValueError("no")


def tensor(*shape: int, **options: Any) -> torch.Tensor:
    """A tensor that is expected to go."""
    made: torch.Tensor = ROLL.note(torch.ones(*shape, **options))
    return made


def breaks(compile: Compile) -> None:
    """Graph breaks with resume functions, one of them inside a context manager."""

    def function(x, items):
        y = x + 1
        cut()
        with torch.no_grad():
            y = y * 2
            cut()
            y = y - len(items)
        return y.sum()

    compile(own_code(function), backend=seen)(tensor(3), [1, 2])


def inlines(compile: Compile) -> None:
    """Calls that are inlined, of functions with code objects of their own."""

    def inner(x, y=2):
        return x.relu() * y

    one, two = own_code(inner), own_code(inner)

    def function(x):
        return [one(x), two(x, y=3)]

    compile(own_code(function), backend=seen)(tensor(3))


def closes(compile: Compile) -> None:
    """Closures that write to what they close over."""
    count = 0
    kept = tensor(3)

    def function(x):
        nonlocal count
        count += 1
        return x + kept * count

    compile(own_code(function), backend=seen)(tensor(3))


def modules(compile: Compile) -> None:
    """Modules with hooks and buffers."""

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Linear(3, 3)
            self.register_buffer("offset", tensor(3))

        def forward(self, x):
            return self.inner(x) + self.offset

    Block.forward = own_code(Block.forward)
    model = ROLL.note(torch.nn.Sequential(Block(), torch.nn.ReLU(), Block()))
    model[0].register_forward_hook(own_code(lambda module, args, result: result * 2))
    ROLL.note(Block, "Block itself")

    def function(x):
        return model(x)

    compile(own_code(function), backend=seen)(tensor(2, 3)).sum().backward()


def sizes(compile: Compile) -> None:
    """Sizes that become symbols, and recompilations."""

    def function(x, n):
        return x.view(-1) * n + x.shape[0]

    compiled = compile(own_code(function), backend=seen)
    for size, number in ((3, 1), (4, 1), (5, 2), (6, 3)):
        compiled(tensor(size, 2), number)


def subclasses(compile: Compile) -> None:
    """A tensor subclass made at run time."""

    class Named(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return super().__torch_function__(function, types, args, kwargs or {})

    ROLL.note(Named, "Named itself")

    def function(x):
        return (x + 1).as_subclass(torch.Tensor)

    compile(own_code(function), backend=seen)(tensor(3).as_subclass(Named))


def fails(compile: Compile) -> None:
    """Compilations that an exception ends: a break that is not allowed, a backend that cannot."""

    def function(x):
        y = x + 1
        cut()
        return y

    def other(x):
        return x * 2

    with contextlib.suppress(Exception):
        compile(own_code(function), backend=seen, fullgraph=True)(tensor(3))
    with contextlib.suppress(Exception):
        compile(own_code(other), backend=refuses)(tensor(3))


def trains(compile: Compile) -> None:
    """A training step through AOT autograd."""
    model = ROLL.note(torch.nn.Linear(3, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def function(x):
        return model(x).relu().sum()

    compiled = compile(own_code(function), backend="aot_eager")
    for _ in range(2):
        optimizer.zero_grad()
        compiled(tensor(2, 3)).backward()
        optimizer.step()


class Thing:
    """Something of the user's that is written to."""

    def __init__(self) -> None:
        self.items: list[Any] = []


def writes(compile: Compile) -> None:
    """Side effects on objects, lists and globals."""
    thing = ROLL.note(Thing())

    def function(x, table):
        global _counted
        _counted += 1
        thing.items.append(x * 2)
        thing.last = x
        table["sum"] = x.sum()
        cut()
        return x + len(thing.items)

    compile(own_code(function), backend=seen)(tensor(3), {})


def yields(compile: Compile) -> None:
    """Generators that are consumed inside, and comprehensions."""

    def pieces(x):
        for index in range(2):
            yield x + index

    def function(x):
        return sum(piece * 2 for piece in pieces(x)), [piece for piece in pieces(x)]  # noqa: C416 (inlined otherwise than list())

    compile(own_code(function), backend=seen)(tensor(3))


def raises(compile: Compile) -> None:
    """Exceptions of the program: one that is handled inside, one that leaves."""

    class Odd(Exception):
        pass

    ROLL.note(Odd, "Odd itself")

    def function(x):
        try:
            raise Odd("inside")
        except Odd:
            x = x + 1
        cut()
        raise Odd("outside")

    with contextlib.suppress(Odd):
        compile(own_code(function), backend=seen)(tensor(3))


@dataclasses.dataclass
class Pair:
    """A container of the user's."""

    left: Any
    right: Any


Point = collections.namedtuple("Point", "x y")


def containers(compile: Compile) -> None:
    """Tensors in containers of all kinds, one of them twice."""

    def function(pair, point, table, items):
        total = pair.left + pair.right + point.x * point.y
        for value in table.values():
            total = total + value
        return total + items[0] + items[-1], Pair(total, items)

    x, y = tensor(3), tensor(3)
    pair = ROLL.note(Pair(x, y))
    compile(own_code(function), backend=seen)(pair, Point(x, y), {"a": x, 1: y}, [x, y, x])


def iterates(compile: Compile) -> Iterator[None]:
    """Run the programs one after the other, without end."""
    while True:
        for program in PROGRAMS:
            program(compile)
            yield


PROGRAMS: tuple[Callable[[Compile], None], ...] = (
    breaks, inlines, closes, modules, sizes, subclasses, fails, trains, writes, yields, raises,
    containers,
)  # fmt: skip
