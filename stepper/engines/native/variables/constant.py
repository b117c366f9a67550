"""Constants: values that are known, immutable, and as good as any other with the same bits."""

from __future__ import annotations

import builtins
import types
from typing import TYPE_CHECKING, Any

import torch

from stepper.engines.native.exc import unimplemented
from stepper.engines.native.variables.base import VariableTracker

if TYPE_CHECKING:
    from stepper.engines.native.codegen import PyCodegen
    from stepper.engines.native.symbolic_convert import InstructionTranslatorBase

CONSTANT_TYPES = frozenset(
    {
        type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented),
        torch.dtype, torch.device, torch.layout, torch.memory_format,
    }
)  # fmt: skip


class ConstantVariable(VariableTracker):
    """A constant.

    value: of one of `CONSTANT_TYPES`, or a frozenset of such.
    """

    is_made = False

    def __init__(self, value: Any, **options: Any) -> None:
        super().__init__(**options)
        self.value = value

    def python_type(self) -> type:
        return type(self.value)

    def is_python_constant(self) -> bool:
        return True

    def as_python_constant(self) -> Any:
        return self.value

    def as_proxy(self) -> Any:
        return self.value

    def truth(self, tx: InstructionTranslatorBase) -> bool:
        return builtins.bool(self.value)

    def unpack(self, tx: InstructionTranslatorBase) -> list[VariableTracker]:
        if not isinstance(self.value, str | bytes):
            raise self.refuse("iteration")
        return [ConstantVariable(item, guards=self.guards) for item in self.value]

    def var_getattr(self, tx: InstructionTranslatorBase, name: str) -> VariableTracker:
        from stepper.engines.native.variables.functions import BoundBuiltinMethod

        try:
            value = getattr(self.value, name)
        except AttributeError as error:
            raise unimplemented(f"AttributeError: {error}") from None
        if callable(value):
            return BoundBuiltinMethod(self, name, guards=self.guards)
        if isinstance(self.value, types.CodeType) and name == "co_consts":
            raise self.refuse(f"attribute {name}")  # another tuple would be made of it
        return wrap_constant(value, self.guards)

    def call_method(
        self,
        tx: InstructionTranslatorBase,
        name: str,
        args: list[VariableTracker],
        kwargs: dict[str, VariableTracker],
    ) -> VariableTracker:
        from stepper.engines.native.variables.builtin import fold

        return fold(getattr(self.value, name), [self, *args], kwargs, skip=1)

    def getitem(self, tx: InstructionTranslatorBase, key: VariableTracker) -> VariableTracker:
        import operator

        from stepper.engines.native.variables.builtin import fold

        return fold(operator.getitem, [self, key], {})

    def contains(self, tx: InstructionTranslatorBase, item: VariableTracker) -> bool:
        if not item.is_python_constant():
            raise self.refuse("a membership test")
        try:
            return item.as_python_constant() in self.value
        except TypeError as error:
            raise unimplemented(f"TypeError: {error}") from None

    def reconstruct(self, codegen: PyCodegen) -> None:
        codegen.load_const(self.value)


def is_constant(value: object) -> bool:
    """Whether a value is a constant, or made of nothing else."""
    kind = type(value)
    if kind in (tuple, frozenset, torch.Size):
        return all(map(is_constant, value))  # type: ignore[call-overload]
    return kind in CONSTANT_TYPES


def wrap_constant(value: Any, guards: Any = frozenset()) -> VariableTracker:
    """The tracker of a value that an operation on constants gave.

    Raises:
        Unsupported: it is no constant.
    """
    from stepper.engines.native.variables import lists

    kind = type(value)
    if kind in CONSTANT_TYPES:
        return ConstantVariable(value, guards=guards)
    if kind is tuple or kind is torch.Size:
        items = [wrap_constant(item, guards) for item in value]
        made = lists.TupleVariable if kind is tuple else lists.SizeVariable
        return made(items, guards=guards)
    if kind is list:
        return lists.ListVariable.new([wrap_constant(item, guards) for item in value], guards)
    if kind is range:
        return lists.RangeVariable(value, guards=guards)
    if kind is frozenset and is_constant(value):
        return ConstantVariable(value, guards=guards)
    raise unimplemented(f"a value of type {kind.__name__}")
