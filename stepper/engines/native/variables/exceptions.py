"""Exceptions: they are made, and then raising them ends the capture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from stepper.engines.native.variables.base import VariableTracker

if TYPE_CHECKING:
    from stepper.engines.native.codegen import PyCodegen
    from stepper.engines.native.symbolic_convert import InstructionTranslatorBase


class ExceptionClassVariable(VariableTracker):
    """A builtin class of exceptions.

    value: the class.
    """

    def __init__(self, value: Any, **options: Any) -> None:
        super().__init__(**options)
        self.value = value

    def describe(self) -> str:
        return f"class {self.value.__name__}"

    def python_type(self) -> type:
        return type

    def call_function(
        self,
        tx: InstructionTranslatorBase,
        args: list[VariableTracker],
        kwargs: dict[str, VariableTracker],
    ) -> VariableTracker:
        if kwargs:
            raise self.refuse("a call with keyword arguments")
        return ExceptionVariable(self.value, args, **self.propagate(self, args))

    def reconstruct(self, codegen: PyCodegen) -> None:
        codegen.load_const(self.value)


class ExceptionVariable(VariableTracker):
    """An exception that the frame made.

    exc_type: its class.
    args: the arguments.
    """

    def __init__(self, exc_type: Any, args: Sequence[VariableTracker], **options: Any) -> None:
        super().__init__(**options)
        self.exc_type = exc_type
        self.args = list(args)

    def python_type(self) -> type:
        kind: type = self.exc_type
        return kind

    def parts(self) -> Sequence[VariableTracker]:
        return self.args

    def reconstruct(self, codegen: PyCodegen) -> None:
        codegen.load_callable(self.exc_type)
        codegen.foreach(self.args)
        codegen.call(len(self.args))
