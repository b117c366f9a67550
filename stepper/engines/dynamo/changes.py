"""What is to be tried with a program, made where it runs.

A setting is a setting. A size is marked where Dynamo is about to compile a call: a mark matters to
nothing else, since an entry that was compiled for a marked tensor takes others, too. So it is as if
the program had marked the tensor before each call.
"""

from __future__ import annotations

from types import CodeType
from typing import Any

import torch._dynamo.config

from stepper.engines.dynamo.choices import Choice
from stepper.model.cache import CacheError
from stepper.model.change import Change, MarkSize, Setting

_Place = tuple[str, str, int]


class Marks:
    """The sizes that are to be marked dynamic, by function."""

    def __init__(self, wanted: tuple[MarkSize, ...]) -> None:
        self._wanted: dict[_Place, list[MarkSize]] = {}
        for each in wanted:
            place = (each.function, each.filename, each.line)
            self._wanted.setdefault(place, []).append(each)

    def before_compiling(
        self, code: CodeType, f_locals: dict[str, Any], f_globals: dict[str, Any]
    ) -> str:
        """Mark what is to be marked of a call; says what could not be."""
        if not self._wanted:
            return ""
        place = (code.co_qualname, code.co_filename, code.co_firstlineno)
        call = Choice(code, f_locals, f_globals, None)
        trouble = []
        for each in self._wanted.get(place, ()):
            try:
                call.mark_dynamic(each.source, each.dim, strict=True)
            except CacheError as error:
                trouble.append(f"{each}: {error}")
        return "; ".join(trouble)


def make_changes(changes: tuple[Change, ...]) -> Marks:
    """Change the settings, and return the marks.

    Raises:
        ValueError: this torch has no such setting.
    """
    for each in changes:
        if isinstance(each, Setting):
            if not hasattr(torch._dynamo.config, each.name):
                raise ValueError(f"this torch has no setting {each.name}")
            setattr(torch._dynamo.config, each.name, each.value)
    return Marks(tuple(each for each in changes if isinstance(each, MarkSize)))
