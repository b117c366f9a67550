"""Where the arguments come from with which a front end asks the cache.

A text that is evaluated with the program's names, or the call at which the program stands.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any

from stepper.debuggee.program_names import ProgramNames, program_frame
from stepper.engines.common import arguments, rebuilt
from stepper.model.cache import CacheError


def locals_of_call(
    code: CodeType, text: str, here: dict[str, Any] | None, is_program: Callable[[str], bool]
) -> dict[str, Any]:
    """The locals of a call, from what would stand between its parentheses.

    Args:
        here: the locals of the call at which the program stands, if that is one of this code.
        is_program: whether a file is the program's own.

    Raises:
        CacheError: they do not fit, or there is no call to take them from.
    """
    if not text.strip():
        if here is None:
            raise CacheError(
                f"the program does not stand at a call of {code.co_qualname}: write its "
                "arguments, as they would stand in the call"
            )
        return dict(here)
    names = ProgramNames(dict(here or {}), program_frame(is_program))
    args, kwargs = _evaluate(text, names)
    return rebuilt.whole(arguments.bound(code, args, kwargs), code)


def _evaluate(text: str, names: ProgramNames) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call. An exception of an expression is the caller's to tell."""
    names.update(rebuilt.NAMES)
    names["__arguments__"] = lambda *args, **kwargs: (args, kwargs)
    try:
        code = compile(f"__arguments__({text}\n)", "<evaluate>", "eval")
    except SyntaxError as error:
        raise CacheError(f"{text!r} are no arguments: {error.msg}") from None
    names.setdefault("__builtins__", __builtins__)
    found: tuple[tuple[Any, ...], dict[str, Any]] = eval(code, names)
    return found
