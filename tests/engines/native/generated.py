"""Programs made up by hypothesis: all that they share is that every name is bound before it is
used, and that they end.

In each function `x`, `y` are tensors of three floats, `n`, `m` ints, `xs` a list of tensors, `d` a
dictionary of tensors, `o` an object with attributes `t` and `k`, and `COUNT` a global int.
"""

from __future__ import annotations

import linecache
import types
from typing import Any

import torch
from hypothesis import strategies as st

Lines = list[str]


class Box:
    """An object with attributes."""

    def __init__(self, size: int) -> None:
        self.t = torch.arange(float(size))
        self.k = 2

    def grow(self, by: int) -> int:
        self.k += by
        return self.k

    def scaled(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.k + self.t


tensor_names = st.sampled_from(["x", "y", "xs[0]", "xs[-1]", "d['a']", "o.t"])
int_names = st.sampled_from(["n", "m", "len(xs)", "o.k", "COUNT", "x.shape[0]", "len(d)"])


@st.composite
def ints(draw: Any, depth: int = 2) -> str:
    """An expression of type int."""
    kind = draw(st.integers(0, 5 if depth else 1))
    if kind == 0:
        return str(draw(st.integers(-3, 3)))
    if kind == 1:
        return str(draw(int_names))
    if kind == 2:
        operator = draw(st.sampled_from(["+", "-", "*", "//", "%", "&", "|"]))
        return f"({draw(ints(depth - 1))} {operator} {draw(ints(depth - 1))})"
    if kind == 3:
        return f"({draw(ints(depth - 1))} if {draw(bools(depth - 1))} else {draw(ints(depth - 1))})"
    if kind == 4:
        return f"max({draw(ints(depth - 1))}, {draw(ints(depth - 1))})"
    return f"sum([i for i in range({draw(st.integers(0, 3))})])"


@st.composite
def bools(draw: Any, depth: int = 2) -> str:
    """An expression that is a condition."""
    kind = draw(st.integers(0, 5 if depth else 1))
    if kind == 0:
        return str(draw(st.booleans()))
    if kind == 1:
        operator = draw(st.sampled_from(["<", "<=", "==", "!=", ">", ">="]))
        return f"({draw(ints(0))} {operator} {draw(ints(0))})"
    if kind == 2:
        operator = draw(st.sampled_from(["and", "or"]))
        return f"({draw(bools(depth - 1))} {operator} {draw(bools(depth - 1))})"
    if kind == 3:
        return f"(not {draw(bools(depth - 1))})"
    if kind == 4:
        return f"({draw(st.sampled_from(['x', 'y', 'xs', 'd', 'None']))} is None)"
    return f"('{draw(st.sampled_from('abc'))}' in d)"


@st.composite
def tensors(draw: Any, depth: int = 2) -> str:
    """An expression that is a tensor of three floats."""
    kind = draw(st.integers(0, 8 if depth else 0))
    if kind == 0:
        return str(draw(tensor_names))
    if kind == 1:
        operator = draw(st.sampled_from(["+", "-", "*"]))
        return f"({draw(tensors(depth - 1))} {operator} {draw(tensors(depth - 1))})"
    if kind == 2:
        operator = draw(st.sampled_from(["+", "*"]))
        return f"({draw(tensors(depth - 1))} {operator} {draw(ints(depth - 1))})"
    if kind == 3:
        return f"torch.{draw(st.sampled_from(['sin', 'abs', 'relu']))}({draw(tensors(depth - 1))})"
    if kind == 4:
        return f"{draw(tensors(depth - 1))}.clamp(-9, 9)"
    if kind == 5:
        return f"({draw(tensors(0))} if {draw(bools(1))} else {draw(tensors(depth - 1))})"
    if kind == 6:
        return f"o.scaled({draw(tensors(depth - 1))})"
    if kind == 7:
        return f"inner({draw(tensors(depth - 1))}, {draw(ints(0))})"
    return f"torch.stack([{draw(tensors(0))}, {draw(tensors(0))}]).sum(0)"


def indent(lines: Lines) -> Lines:
    """One level deeper."""
    return ["    " + line for line in lines]


@st.composite
def statements(draw: Any, depth: int) -> Lines:
    """Some lines."""
    kind = draw(st.integers(0, 21 if depth else 12))
    target = draw(st.sampled_from(["x", "y"]))
    match kind:
        case 0 | 1:
            return [f"{target} = {draw(tensors())}"]
        case 2:
            return [f"{draw(st.sampled_from(['n', 'm']))} = {draw(ints())} % 7"]
        case 3:
            return [f"{target} += {draw(tensors(1))}"]
        case 4:
            return [f"xs.append({draw(tensors(1))})"]
        case 5:
            return [f"xs[{draw(st.sampled_from(['0', '-1']))}] = {draw(tensors(1))}"]
        case 6:
            return [f"d['{draw(st.sampled_from('abc'))}'] = {draw(tensors(1))}"]
        case 7:
            return [draw(st.sampled_from(["x, y = y, x", "xs.reverse()", "d.pop('b', None)",
                                          "xs = [*xs]", "d = dict(d)", "o.grow(1)",
                                          "xs2 = xs; xs2.append(y)", "del xs[1:]"]))]  # fmt: skip
        case 8:
            return [f"o.{draw(st.sampled_from(['t', 'u']))} = {draw(tensors(1))}"]
        case 9:
            return ["global_step()", f"o.k = {draw(ints(1))} % 5"]
        case 10:
            return [f"print({draw(ints(1))})"]
        case 11:
            return [f"{target} = {target}.{draw(st.sampled_from(['add_', 'mul_']))}(2)"]
        case 12:
            return [f"out.append({draw(st.one_of(tensors(1), ints(1)))})"]
        case 13 | 14:
            body, other = draw(blocks(depth - 1)), draw(blocks(depth - 1))
            return [f"if {draw(bools())}:", *indent(body), "else:", *indent(other)]
        case 15:
            body = draw(blocks(depth - 1))
            condition = f"{draw(tensors(1))}.sum() > {draw(ints(0))}"
            return [f"if {condition}:", *indent(body)]
        case 16:
            ending = draw(st.sampled_from([[], [f"if {draw(bools(1))}:", "    break"]]))
            body = [*draw(blocks(depth - 1)), *ending]
            return [f"for i in range({draw(st.integers(0, 3))}):", *indent(body)]
        case 17:
            return ["for v in list(xs)[:3]:", *indent(draw(blocks(depth - 1))), "    out.append(v)"]
        case 18:
            failing = draw(st.sampled_from(["d['zz']", "1 // 0", "xs[99]", "raise ValueError(n)",
                                            "x @ torch.ones(7)"]))  # fmt: skip
            lines = [*draw(blocks(depth - 1)), failing]
            handler = draw(st.sampled_from(["except Exception:", "except (KeyError, ValueError):"]))
            finish = draw(st.sampled_from([[], ["finally:", "    out.append('f')"]]))
            return ["try:", *indent(lines), handler, *indent(draw(blocks(depth - 1))), *finish]
        case 19:
            return ["with torch.no_grad():", *indent(draw(blocks(depth - 1)))]
        case 20:
            body = draw(blocks(depth - 1))
            return ["c = 0", "while c < 2:", "    c += 1", *indent(body)]
        case _:
            return [f"{target} = sum([v * {draw(ints(0))} for v in xs])"]


@st.composite
def blocks(draw: Any, depth: int) -> Lines:
    """A few statements."""
    found: Lines = []
    for _ in range(draw(st.integers(1, 3))):
        found += draw(statements(depth))
    return found


@st.composite
def sources(draw: Any) -> str:
    """A function `f`, as text."""
    lines = ["out = []", "total = 0"]
    for _ in range(draw(st.integers(1, 6))):
        lines += draw(statements(2))
    if draw(st.booleans()):
        lines = ["def inner(v, k):", "    nonlocal total", "    total += k",
                 "    return v + total", *lines]  # fmt: skip
        lines.insert(0, "total = 0")
    else:
        lines = ["def inner(v, k=1):", "    return v * k", *lines]
    lines.append(draw(st.sampled_from(["return x, y, out", "return out, xs, total", "return x"])))
    return "\n".join(["def f(x, y, n, m, xs, d, o):", *indent(lines)]) + "\n"


_HEAD = """import torch
COUNT = 1


def global_step():
    global COUNT
    COUNT += 1


"""


def compiled(source: str) -> types.FunctionType:
    """The function, in a module of its own."""
    text = _HEAD + source
    name = f"<generated {hash(text)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"__name__": "generated"}
    exec(compile(text, name, "exec"), namespace)
    found: types.FunctionType = namespace["f"]
    return found


def arguments(size: int = 3) -> tuple[Any, ...]:
    """What `f` is called with: tensors of this size, and an int that is less by one."""
    x = torch.tensor([1.0, -2.0, 0.5, *[0.25] * (size - 3)])
    ones = torch.ones(size)
    return (x, ones, size - 1, -1, [ones * 2, ones * 0], {"a": ones.clone()}, Box(size))
