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
from stepper.model.change import Change, MarkSize

_Place = tuple[str, str, int]


class Marks:
    """The sizes that are to be marked dynamic, by function."""

    def __init__(self) -> None:
        self._wanted: dict[_Place, list[MarkSize]] = {}

    def add(self, mark: MarkSize) -> None:
        """Mark one more."""
        place = (mark.function, mark.filename, mark.line)
        self._wanted.setdefault(place, []).append(mark)

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


MARKS = Marks()
"""Those of this process, as its settings are."""


def change(changes: tuple[Change, ...]) -> None:
    """Make the program another one than it is, from now on.

    Raises:
        ValueError: this torch has no such setting.
    """
    for each in changes:
        if isinstance(each, MarkSize):
            MARKS.add(each)
        elif hasattr(torch._dynamo.config, each.name):
            setattr(torch._dynamo.config, each.name, each.value)
        else:
            raise ValueError(f"this torch has no setting {each.name}")
