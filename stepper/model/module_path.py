"""Where in a model something belongs, by the compiler's expression for it.

Of `L['self']._modules['decoder']._modules['block']._modules['7']._parameters['bias']` that is
`decoder.block[7]`: the name that the program's own code would write, without its root's.
"""

from __future__ import annotations

import re
from functools import lru_cache

_STEP = re.compile(r"\.(?:__dict__\['_modules'\]|_modules)\['(\w+)'\]")
_AT_END = re.compile(rf"{_STEP.pattern}$")
_SCOPED = re.compile(r"^[LG]\['(\w+)'\]")
_FOLD = re.compile(r"^.*?\[\d+\]")
_ROOT = "self"


@lru_cache(maxsize=16_384)
def module_path(source: str) -> str:
    """The innermost module on the way to a value; empty: it is the root's own, or no module's."""
    first = end = None
    steps = []
    for step in _STEP.finditer(source):
        if end is None:
            first = step.start()
        elif step.start() != end:
            break
        end = step.end()
        steps.append(f"[{step[1]}]" if step[1].isdecimal() else f".{step[1]}")
    if first is None:
        return ""
    before = source[:first]
    while before.count("(") > before.count(")"):
        before = before.partition("(")[2]  # `type(L['self']` and the like ask about the module
    root = _SCOPED.sub(r"\1", before)
    path = "".join(steps)
    return path.removeprefix(".") if root == _ROOT else root + path


def is_module(source: str) -> bool:
    """Whether an expression is of a module itself, and not of something that it has."""
    return _AT_END.search(source) is not None


def layer_of(path: str) -> str:
    """The part of a module's path under which it is folded: to its first number, as
    `decoder.block[7]` of `decoder.block[7].layer[0]`."""
    found = _FOLD.match(path)
    return found[0] if found else path
