"""Templates of t-strings and their interpolations (Python 3.14). Nothing can change them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from stepper.native import polyfills
from stepper.native.bytecode import opcodes
from stepper.native.source import AttrSource
from stepper.native.variables.base import AttributeMutationNew, VariableTracker
from stepper.native.variables.lists import TupleVariable
from stepper.native.variables.polyfilled import make_iterator

if TYPE_CHECKING:
    from stepper.native.protocols import Codegen, Translator
    from stepper.native.source import Recipe, Source
    from stepper.native.variables.base import Guards, TrackerOptions


class _Fixed(VariableTracker):
    """An object whose attributes are known.

    fields: their trackers, by their names.
    """

    kind: type | None = None
    names: tuple[str, ...] = ()

    def __init__(
        self, fields: Sequence[VariableTracker], **options: Unpack[TrackerOptions]
    ) -> None:
        super().__init__(**options)
        self.fields = dict(zip(self.names, fields, strict=True))

    @classmethod
    def new(cls, *fields: VariableTracker) -> VariableTracker:
        """One that the frame makes."""
        return cls(fields, mutation_type=AttributeMutationNew(), **cls.propagate(fields))

    @classmethod
    def wrap(cls, tx: Translator, source: Source, value: object, guards: Guards) -> VariableTracker:
        """One that was there before."""
        fields = [tx.lazy(AttrSource(source, name), getattr(value, name)) for name in cls.names]
        return cls(fields, source=source, guards=guards)

    def python_type(self) -> type:
        assert self.kind is not None
        return self.kind

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        if name not in self.fields:
            raise self.refuse(f"attribute {name}")
        return tx.realize(self.fields[name]).with_guards(self.guards)

    def parts(self) -> Sequence[VariableTracker]:
        return list(self.fields.values())


class InterpolationVariable(_Fixed):
    """What stands between braces: its value, text, conversion and format."""

    kind = opcodes.INTERPOLATION
    names = ("value", "expression", "conversion", "format_spec")

    def recipe(self) -> Recipe:
        return self.python_type(), *self.fields.values()


class TemplateVariable(_Fixed):
    """A t-string: a tuple of texts, and one of the interpolations between them."""

    kind = opcodes.TEMPLATE
    names = ("strings", "interpolations")

    def _tuple(self, tx: Translator, name: str) -> list[VariableTracker]:
        return self.var_getattr(tx, name).unpack(tx)

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        if name != "values":
            return super().var_getattr(tx, name)
        values = [each.var_getattr(tx, "value") for each in self._tuple(tx, "interpolations")]
        return TupleVariable(values, **self.propagate(self, values))

    def lazy_iterator(self, tx: Translator) -> VariableTracker:
        assert opcodes.TEMPLATE_ITERATOR is not None
        return make_iterator(tx, opcodes.TEMPLATE_ITERATOR, polyfills.parts_of_template, [self])

    def unpack(self, tx: Translator) -> list[VariableTracker]:
        found = []
        texts, between = self._tuple(tx, "strings"), self._tuple(tx, "interpolations")
        for place, text in enumerate(texts):
            if text.as_python_constant():
                found.append(text)
            found += between[place : place + 1]
        return found

    def reconstruct(self, codegen: Codegen) -> None:
        codegen.foreach(self.fields.values())
        codegen.emit("BUILD_TEMPLATE")
