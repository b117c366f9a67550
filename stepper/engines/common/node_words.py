"""What nodes of FX graphs say of themselves, in words."""

from __future__ import annotations

import re
import types

from stepper.engines.common.tensors import fake_tensor_meta, symbol_text
from stepper.engines.common.versions import is_operator, numpy_name
from stepper.model.program import PythonFrame
from stepper.model.value import TensorMeta
from stepper.support.words import callable_name, one_of, plain_text
from stepper.uncompiled import keep_out


def called(target: object) -> str:
    """What a node calls, by its name."""
    if type(target) is str:
        return target  # a method
    if name := callable_name(target):
        return name.removeprefix("_") if name.startswith("_operator.") else name
    if is_operator(target):
        return str(target)
    return numpy_name(target) or plain_text(target)


_FRAME = re.compile(r'^ *File "(.*)", line (\d{1,9}), in (.*?)(?:, code: .*)?$', re.MULTILINE)
"""A frame in a node's stack trace."""


def stack_of(text: object) -> tuple[PythonFrame, ...]:
    """The program's frames in the text that torch keeps as a node's stack trace, outermost first;
    empty: it is none."""
    if type(text) is not str:
        return ()
    return tuple(PythonFrame(file, int(line), name) for file, line, name in _FRAME.findall(text))


def example_of(value: object) -> tuple[TensorMeta | None, str]:
    """What a node's example value is: a tensor's properties, or words for anything else."""
    meta = fake_tensor_meta(value)
    if meta is not None:
        return meta, ""
    if one_of(type(value), (tuple, list)):
        inner = [example_of(item) for item in value]  # type: ignore[attr-defined]  # its exact type was asked for
        text = ", ".join(part.brief if part is not None else words for part, words in inner[:8])
        return None, f"({text}{', …' if len(inner) > 8 else ''})"
    if type(value).__name__ in ("SymInt", "SymFloat", "SymBool"):
        return None, symbol_text(value)
    return None, "" if value is None else f"<{type(value).__name__}>" if not _plain(
        value
    ) else plain_text(value)


def _plain(value: object) -> bool:
    return one_of(type(value), (int, float, bool, str, types.NoneType))


keep_out()
