"""The t-strings of Python 3.14. Their programs are texts: other Pythons cannot read them."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

import pytest
import torch

from stepper import native
from stepper.engines.common.assembler import from_text, to_text
from stepper.native.bytecode import opcodes
from tests.engines.native.harness import run_graph

pytestmark = pytest.mark.skipif(sys.version_info < (3, 14), reason="Python 3.14 has them")

PROGRAMS = """
import torch
from string.templatelib import Interpolation, Template

def read(x):
    y = x + 1
    t = t"a {y!r} and {x.shape[0]:>{3}} {len('b')}"
    return t.strings, [(i.value, i.expression, i.conversion, i.format_spec) for i in t.interpolations]

def handed_on(x):
    y = x + 1
    return t"{y}{x!s:.2f}{x!a}!", y * 2

def walked(x):
    found = []
    for part in t"a{x + 1}b{x:x}{x * 2!a}":
        found.append(part if isinstance(part, str) else part.value + 1)
    return found, [*t"{x}c"][1:], bool(t"")

def values(x):
    a, b = t"{x} {x * 3}".values
    return a + b

def render(template):
    total = 0
    for part in template:
        if isinstance(part, Interpolation):
            total = total + part.value
    return total

def inlined(x):
    return render(t"<{x}>{x + 1}</>")

def one_object(x):
    y = x + 1
    t = t"{y}"
    part = t.interpolations[0]
    return t, part, part is t.interpolations[0], part.value is y

def nested(x):
    y = x + 1
    t = t"{t'{y}'} {y!r:{'a'}}"
    return t.values[0].values[0] * 2, t.interpolations[1].format_spec

def in_a_loop(x):
    for number in range(3):
        x = t"{x:{number}}".values[0] + number
    return x

def broken(x):
    y = x + 1
    t = t"{y!r} {str(y.sum().item())} {x!a:>{int(x.sum().item())}}"
    return t, y * 2

def broken_after(x):
    y = x + 1
    t = t"{y!r}" + t" and {x!s:x}"
    return t, y * 2

def iterator(x):
    parts = iter(t"a{x + 1}")
    return [next(parts)], parts

def matched(x):
    match t"{x + 1!r}".interpolations[0]:
        case Interpolation(value, expression, "r"):
            return value * 2, expression

def outside(x):
    return read_from(TEMPLATE, x)

def read_from(template, x):
    return template.values[0] + x, [part if isinstance(part, str) else part.value for part in template]

TEMPLATE = t"a{torch.ones(3)!r:>2}"
"""  # noqa: E501  # as a person would write it
WHOLE = (
    "read", "handed_on", "walked", "values", "inlined", "one_object", "nested", "in_a_loop",
    "outside",
)  # fmt: skip
"""Those that are one graph."""
BROKEN = ("broken", "broken_after", "iterator", "matched")


def programs() -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": __name__}
    exec(compile(PROGRAMS, __file__, "exec"), namespace)
    return namespace


def plain(value: Any) -> Any:
    """What a result is made of, to be compared."""
    kind: object = type(value)
    match value:
        case torch.Tensor():
            return value.tolist()
        case tuple() | list():
            return [type(value).__name__, *map(plain, value)]
        case _ if kind is opcodes.TEMPLATE:
            return ["template", value.strings, plain(value.interpolations)]
        case _ if kind is opcodes.INTERPOLATION:
            parts = value.expression, value.conversion, value.format_spec
            return ["interpolation", plain(value.value), *parts]
        case _ if kind is opcodes.TEMPLATE_ITERATOR:
            return ["iterator", *map(plain, value)]
    return value


@pytest.mark.parametrize("name", [*WHOLE, *BROKEN])
def test_it_is_what_python_makes(name: str) -> None:
    namespace = programs()
    function: Callable[..., Any] = namespace[name]
    backend = run_graph
    compiled = (
        native.optimize_assert(backend)(function)
        if name in WHOLE
        else native.optimize(backend)(function)
    )
    for x in (torch.arange(3.0), torch.arange(3.0), torch.ones(4) if name != "outside" else None):
        if x is not None:
            assert plain(compiled(x)) == plain(function(x))


def test_one_object_stays_one() -> None:
    compiled = native.optimize_assert(run_graph)(programs()["one_object"])
    template, part, *_ = compiled(torch.ones(3))
    assert template.interpolations[0] is part


def test_another_template_is_seen() -> None:
    namespace = programs()
    compiled = native.optimize_assert(run_graph)(namespace["outside"])
    for text in ("t'a{torch.ones(3)}'", "t'b{torch.zeros(3)}'", "t'{torch.ones(3)}{torch}'"):
        namespace["TEMPLATE"] = eval(text, namespace)
        x = torch.ones(3)
        assert plain(compiled(x)) == plain(namespace["outside"](x))


def test_bytecode_with_one_can_be_edited() -> None:
    code = programs()["handed_on"].__code__
    text = to_text(code)
    for was, now, expected in ((2, 2, None), (2, 10, "r")):
        made = from_text(text.replace(f"INTERPOLATION {was}\n", f"INTERPOLATION {now}\n"), code)
        template, _ = types.FunctionType(made, {})(torch.ones(1))
        assert [part.conversion for part in template.interpolations] == [expected, "s", "a"]
