"""What is to be tried with a program, made where it runs; see `stepper.engines.common.changes`."""

from __future__ import annotations

from types import CodeType
from typing import TYPE_CHECKING

from stepper.engines.common.changes import Pending
from stepper.engines.native.choices import Choice
from stepper.native.runtime.eval_frame import disable
from stepper.native.variables.torch import allow_in_graph

if TYPE_CHECKING:
    from stepper.native.watching import CapturedFrame


class PendingChanges(Pending):
    """The changes that wait for the native compiler's next call, of one session."""

    def before_translating(self, translation: CapturedFrame) -> str:
        """Change what is to be changed for a call; says what could not be."""
        if self.dynamic:
            translation.dynamic = True
        namespace = translation.function.__globals__
        return self.before_compiling(translation.code, translation.f_locals, namespace)

    def call(
        self, code: CodeType, f_locals: dict[str, object], f_globals: dict[str, object]
    ) -> Choice:
        return Choice(code, f_locals, f_globals, first=True)

    def allow_in_graph(self, called: object) -> object:
        return allow_in_graph(called)

    def disable(self, function: object) -> object:
        return disable(function)
