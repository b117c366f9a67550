"""What is to be tried with a program and is about one function of it, made where it runs.

It is made where a call of that function is about to be compiled, since nothing else asks for it: an
entry that was compiled for a marked tensor takes others, too, so it is as if the program had marked
the tensor before each call. And by then everything is there that the call leads to.
"""

from __future__ import annotations

import ast
from types import CodeType
from typing import Any

from stepper.engines.common.choices import CallChoice
from stepper.engines.common.decorating import decorate, place_of
from stepper.model.cache import CacheError
from stepper.model.change import Admit, Change, Decorate, Dynamic, MarkSize, Setting


class Pending:
    """The changes that wait for calls to be compiled; each engine has its own way to make them."""

    def __init__(self) -> None:
        self._wanted: dict[tuple[str, str, int], list[MarkSize | Admit | Decorate]] = {}

        self.dynamic = False
        """Whether everything is to be compiled with `dynamic=True`."""

    def make(self, changes: tuple[Change, ...]) -> None:
        """Make the program another one than it is, from now on.

        Raises:
            ValueError: the compiler has no such setting.
        """
        for each in changes:
            if isinstance(each, Setting):
                self.set(each)
            elif isinstance(each, Dynamic):
                self.dynamic = True
            else:
                place = (each.function, each.filename, each.line)
                self._wanted.setdefault(place, []).append(each)

    def before_compiling(
        self, code: CodeType, f_locals: dict[str, Any], f_globals: dict[str, Any]
    ) -> str:
        """Make those that are about a call; says what could not be."""
        if not self._wanted:
            return ""
        place = place_of(code)
        trouble = []
        for each in tuple(self._wanted.get(place, ())):
            try:
                if not isinstance(each, Decorate):
                    _see_it_only_reaches(each.source)
                if isinstance(each, MarkSize):
                    call = self.call(code, f_locals, f_globals)
                    if each.how == "mark_unbacked":
                        call.mark_unbacked(each.source, each.dim)
                    else:
                        strict = each.how == "mark_dynamic"
                        call.mark_dynamic(each.source, each.dim, strict=strict)
                    continue
                if isinstance(each, Admit):
                    known = f_globals | self.aliases(each.source)
                    self.admit(self.call(code, f_locals, known).reach(each.source), each)
                else:
                    self._decorate(each)
                self._wanted[place].remove(each)
            except (CacheError, TypeError) as error:  # torch's, of what it cannot decorate
                trouble.append(f"{each}: {error}")
        return "; ".join(trouble)

    def _decorate(self, change: Decorate) -> None:
        allows = change.decorator == "allow_in_graph"
        place = (change.decorated, change.decorated_filename, change.decorated_line)
        decorate(place, self.allow_in_graph if allows else self.disable)

    # --- the engine's part

    def set(self, setting: Setting) -> None:
        """Make a setting.

        Raises:
            ValueError: there is none of this name.
        """
        raise ValueError(f"this compiler has no setting {setting.name}")

    def call(
        self, code: CodeType, f_locals: dict[str, Any], f_globals: dict[str, Any]
    ) -> CallChoice[Any, Any]:
        """The call, of which values can be reached."""
        raise NotImplementedError

    def aliases(self, source: str) -> dict[str, Any]:
        """The globals in a source that the compiler makes itself, and will have made by then."""
        return {}

    def admit(self, called: Any, change: Admit) -> None:
        """Do with what is called as is wanted."""
        self.allow_in_graph(called)

    def allow_in_graph(self, called: Any) -> Any:
        """The decorator of this name."""
        raise NotImplementedError

    def disable(self, function: Any) -> Any:
        """The decorator of this name."""
        raise NotImplementedError


_REACHING = frozenset({"type", "___instance_dict", "___member"})
"""Functions in the engines' expressions that only look."""


def _see_it_only_reaches(source: str) -> None:
    """See that an expression does nothing but lead to a value: it comes from a recording, which
    anybody can have written, and an engine may evaluate it.

    Raises:
        CacheError: it does more.
    """
    try:
        nodes = list(ast.walk(ast.parse(source, mode="eval").body))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise CacheError(f"{source} is no expression") from None
    for node in nodes:
        if isinstance(node, ast.Call):
            known = isinstance(node.func, ast.Name) and node.func.id in _REACHING
            if known and not node.keywords:
                continue
        elif isinstance(node, _PARTS):
            continue
        raise CacheError(f"{source} does more than lead to a value")


_PARTS = (
    ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.UnaryOp, ast.USub, ast.Tuple,
    ast.Load,
)  # fmt: skip
