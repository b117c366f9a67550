"""What the program has registered for operators on fake tensors.

Such a function says which sizes an operator returns, and nobody compares that with what it does
return: what fails later, fails at another line. torch keeps the functions by the operators' names;
they are read there and not called.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType

from stepper.engines.common.versions import fakes
from stepper.model.program import PythonFrame
from stepper.uncompiled import keep_out

_MOST = 100


def registered(is_program: Callable[[str], bool]) -> tuple[tuple[str, PythonFrame], ...]:
    """Each operator's name with where the program's function for its fake tensors begins."""
    found: dict[str, PythonFrame] = {}
    for name, function in fakes():
        if type(function) is FunctionType and name not in found and len(found) < _MOST:
            code = function.__code__
            if is_program(code.co_filename):
                place = PythonFrame(code.co_filename, code.co_firstlineno, code.co_qualname)
                found[name] = place
    return tuple(found.items())


keep_out()
