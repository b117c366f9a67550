"""Named tuples: tuples whose items have names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from stepper.engines.native.exc import unimplemented
from stepper.engines.native.variables.base import Guards, VariableTracker
from stepper.engines.native.variables.constant import wrap_constant
from stepper.engines.native.variables.exceptions import make_instance
from stepper.engines.native.variables.lists import TupleVariable
from stepper.engines.native.variables.user_defined import UserDefinedClassVariable

if TYPE_CHECKING:
    from stepper.engines.native.codegen import PyCodegen
    from stepper.engines.native.symbolic_convert import InstructionTranslatorBase

_OF_TUPLES = frozenset(tuple.__dict__) - {"__new__", "__getnewargs__", "__doc__", "__repr__"}


def is_named_tuple(kind: type) -> bool:
    """Whether a class is a named tuple that does nothing in another way than a tuple."""
    return (
        kind.__bases__ == (tuple,)
        and type(kind) is type
        and type(kind.__dict__.get("_fields")) is tuple
        and _OF_TUPLES.isdisjoint(kind.__dict__)
        and "__getattribute__" not in kind.__dict__
    )


class NamedTupleVariable(TupleVariable):
    """A named tuple.

    tuple_cls: its class.
    cls: the tracker of the class, None: it was there before.
    """

    def __init__(
        self,
        items: Sequence[VariableTracker],
        tuple_cls: Any,
        cls: VariableTracker | None = None,
        **options: Any,
    ) -> None:
        super().__init__(items, **options)
        self.tuple_cls = tuple_cls
        self.cls = cls

    def python_type(self) -> type:
        kind: type = self.tuple_cls
        return kind

    def is_python_constant(self) -> bool:
        return False

    def make(self, items: Sequence[VariableTracker], guards: Guards) -> VariableTracker:
        return TupleVariable(items, guards=guards)

    def var_getattr(self, tx: InstructionTranslatorBase, name: str) -> VariableTracker:
        if name in self.tuple_cls._fields:
            position = self.tuple_cls._fields.index(name)
            return tx.realize(self.items[position]).with_guards(self.guards)
        if name not in ("index", "count"):
            raise self.refuse(f"attribute {name}")
        return super().var_getattr(tx, name)

    def parts(self) -> Sequence[VariableTracker]:
        return self.items if self.cls is None else [self.cls, *self.items]

    def reconstruct(self, codegen: PyCodegen) -> None:
        if self.cls is None:
            raise self.refuse("reconstruction")
        codegen.load_callable(make_instance)
        codegen(self.cls)
        codegen.foreach(self.items)
        codegen.call(1 + len(self.items))


class NamedTupleClassVariable(UserDefinedClassVariable):
    """A class of named tuples."""

    def call_function(
        self,
        tx: InstructionTranslatorBase,
        args: list[VariableTracker],
        kwargs: dict[str, VariableTracker],
    ) -> VariableTracker:
        names = self.value._fields
        given = dict(zip(names, args, strict=False))
        if self.source is None or len(args) > len(names) or {*kwargs} - {*names[len(args) :]}:
            raise self.refuse("a call with these arguments")
        given |= kwargs
        for name in names:
            if name not in given:
                if name not in self.value._field_defaults:
                    raise unimplemented(f"TypeError: {self.describe()} without its field {name}")
                given[name] = wrap_constant(self.value._field_defaults[name])
        items = [given[name] for name in names]
        return NamedTupleVariable(items, self.value, self, **self.propagate(self, items))
