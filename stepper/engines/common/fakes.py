"""What the program has registered for operators on fake tensors.

Such a function says which sizes an operator returns, and nobody compares that with what it does
return: what fails later, fails at another line. torch keeps the functions by the operators' names;
they are read there and not called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType

from torch._library.custom_ops import OPDEFS
from torch._library.simple_registry import singleton

from stepper.model.program import PythonFrame
from stepper.uncompiled import keep_out

_MOST = 100


def registered(is_program: Callable[[str], bool]) -> tuple[tuple[str, PythonFrame], ...]:
    """Each operator's name with where the program's function for its fake tensors begins."""
    found: list[tuple[str, PythonFrame]] = []
    for name, entry in [*singleton._data.items()]:
        for function in _functions(name, entry.fake_impl.kernel):
            code = function.__code__
            if is_program(code.co_filename) and len(found) < _MOST:
                place = PythonFrame(code.co_filename, code.co_firstlineno, code.co_qualname)
                found.append((name, place))
                break
    return tuple(found)


def _functions(name: str, kernel: object) -> Iterator[FunctionType]:
    """The function that is registered; of an operator that torch.library.custom_op has made, torch
    has one of its own, which calls the program's."""
    for each in (getattr(kernel, "func", None), getattr(OPDEFS.get(name), "_abstract_fn", None)):
        if type(each) is FunctionType:
            yield each


keep_out()
