"""Functions whose bytecode uses the stack in every way that Python has, each with its arguments.

`PROGRAMS` lists calls: a function, its arguments. All of them are pure: running one twice gives the
same result, so that it can be compared with and without somebody watching.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any


def arithmetic(a: int, b: int) -> int:
    return (a + b) * (a - b) ** 2 // (b or 1)


def calls(a: int, b: int) -> list[Any]:
    named = {"b": b}
    return [
        max(a, min(b, 3), key=lambda x: -x),
        dict(a=a, **named),
        print.__name__.upper().join(["x", "y"]),
        sorted(*[[a, b]], reverse=True),
    ]


def branches(n: int) -> str:
    word = "big" if n > 3 else "small" if n else "none"
    while n > 0:
        n -= 2
        if n == 1:
            break
    else:
        word += "!"
    return (word and word.title()) or "nothing"


def loops(n: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(n) for j in range(i) if (i + j) % 2]


def exceptions(n: int) -> list[str]:
    log = []
    for i in range(n):
        try:
            try:
                log.append(str(1 // (i - 1)))
                [][i]
            except IndexError as error:
                log.append(type(error).__name__)
                if i == 2:
                    continue
                raise KeyError(i) from error
            finally:
                log.append("finally")
        except (ZeroDivisionError, KeyError) as error:
            log.append(repr(error))
    return log


@contextlib.contextmanager
def swallow(log: list[str]) -> Iterator[int]:
    try:
        yield 7
    except ValueError:
        log.append("swallowed")


def managers() -> list[str]:
    log: list[str] = []
    with swallow(log) as seven, swallow(log):
        log.append(str(seven))
        raise ValueError
    with contextlib.suppress(Exception):
        log.append("in")
    return log


def closures(n: int) -> list[int]:
    total = 0

    def add(x: int) -> int:
        nonlocal total
        total += x + n
        return total

    return [add(i) for i in range(n)]


def generators(n: int) -> list[Any]:
    def inner(k: int) -> Iterator[int]:
        got = yield from range(k)
        yield -1 if got is None else got

    def outer() -> Iterator[Any]:
        for i in range(n):
            yield {"i": i, "inner": list(inner(i))}

    return list(outer())


def unpacking(*args: int, key: str = "k", **rest: int) -> Any:
    first, *middle, last = args
    a, b = b, a = (first, last)
    return {key: [a, b, *middle, *args], **rest}, f"{a!r:>4}{b}", args[1:-1]


def matching(thing: object) -> object:
    match thing:
        case {"kind": kind, **rest}:
            return kind, rest
        case [int(x), *others] if x:
            return x, others
        case str() | None:
            return "text"
    return "other"


def coroutines(n: int) -> list[int]:
    async def numbers() -> AsyncIterator[int]:
        for i in range(n):
            await asyncio.sleep(0)
            yield i

    async def main() -> list[int]:
        async with contextlib.AsyncExitStack():
            return [i async for i in numbers()]

    return asyncio.run(main())


def classes(n: int) -> list[Any]:
    class Base:
        def __init__(self, n: int) -> None:
            self.n = n

        def __add__(self, other: Any) -> int:
            return self.n + other

    class Child(Base):
        def __init__(self, n: int) -> None:
            super().__init__(n)
            self.n += 1

    child = Child(n)
    child.n += 2
    del Base
    return [child + 1, child.n < 9 < 10, not child.n, hasattr(child, "m")]


PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (arithmetic, (7, 3)),
    (calls, (1, 5)),
    (branches, (5,)),
    (loops, (5,)),
    (exceptions, (5,)),
    (managers, ()),
    (closures, (4,)),
    (generators, (3,)),
    (unpacking, (1, 2, 3, 4)),
    (matching, ({"kind": 1, "other": 2},)),
    (matching, ([3, 4],)),
    (matching, (None,)),
    (matching, (0.5,)),
    (coroutines, (3,)),
    (classes, (3,)),
]
NAMES = [f"{function.__name__}{index}" for index, (function, _) in enumerate(PROGRAMS)]
