"""Functions, methods and cells."""

from __future__ import annotations

import inspect
import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from stepper.engines.native.exc import unimplemented
from stepper.engines.native.source import AttrSource, ClosureSource, DefaultsSource
from stepper.engines.native.variables.base import (
    AttributeMutationExisting,
    AttributeMutationNew,
    VariableTracker,
)
from stepper.engines.native.variables.constant import ConstantVariable, wrap_constant
from stepper.engines.native.variables.dicts import ConstDictVariable
from stepper.engines.native.variables.lists import TupleVariable

if TYPE_CHECKING:
    from stepper.engines.native.codegen import PyCodegen
    from stepper.engines.native.symbolic_convert import InstructionTranslatorBase


class CellVariable(VariableTracker):
    """A cell; what it holds is in the side effects, once it has been written.

    local_name: the variable's name.
    pre_existing_contents: what it held when the frame was entered.
    """

    def __init__(
        self,
        local_name: str,
        pre_existing_contents: VariableTracker | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.local_name = local_name
        self.pre_existing_contents = pre_existing_contents

    @classmethod
    def new(cls, tx: InstructionTranslatorBase, name: str, value: VariableTracker | None) -> Any:
        """A cell that the frame makes."""
        cell = cls(name, mutation_type=AttributeMutationNew())
        if value is not None:
            tx.output.side_effects.store_attr(cell, "cell_contents", value)
        return cell

    def python_type(self) -> type:
        return types.CellType

    def is_empty(self, tx: InstructionTranslatorBase) -> bool:
        """Whether it holds nothing now."""
        found = tx.output.side_effects.load_attr(self, "cell_contents")
        return found is None and self.pre_existing_contents is None

    def contents(self, tx: InstructionTranslatorBase) -> VariableTracker:
        """What it holds now."""
        found = tx.output.side_effects.load_attr(self, "cell_contents")
        found = self.pre_existing_contents if found is None else found
        if found is None:
            raise unimplemented(f"variable {self.local_name} has no value")
        return tx.realize(found)

    def reconstruct(self, codegen: PyCodegen) -> None:
        codegen.load_cell(self)


class BaseUserFunctionVariable(VariableTracker):
    """Something that is inlined when it is called."""

    def get_function(self) -> types.FunctionType:
        """A function with the code, name and globals."""
        raise NotImplementedError

    def call_function(
        self,
        tx: InstructionTranslatorBase,
        args: list[VariableTracker],
        kwargs: dict[str, VariableTracker],
    ) -> VariableTracker:
        return tx.inline_user_function(self, args, kwargs)

    def bind(
        self,
        tx: InstructionTranslatorBase,
        args: list[VariableTracker],
        kwargs: dict[str, VariableTracker],
    ) -> dict[str, VariableTracker]:
        """The locals with which the function's frame begins."""
        raise NotImplementedError

    def closure(self, tx: InstructionTranslatorBase) -> tuple[CellVariable, ...]:
        """Its free variables' cells."""
        raise NotImplementedError

    def truth(self, tx: InstructionTranslatorBase) -> bool:
        return True

    def python_type(self) -> type:
        return types.FunctionType


class UserFunctionVariable(BaseUserFunctionVariable):
    """A Python function that exists.

    fn: the function.
    """

    def __init__(self, fn: types.FunctionType, **options: Any) -> None:
        super().__init__(**options)
        self.fn = fn

    def describe(self) -> str:
        return f"function {self.fn.__qualname__}"

    def get_function(self) -> types.FunctionType:
        return self.fn

    def var_getattr(self, tx: InstructionTranslatorBase, name: str) -> VariableTracker:
        if name in ("__name__", "__qualname__", "__module__", "__doc__"):
            if self.source is None:
                raise self.refuse(f"attribute {name}")
            return tx.build(AttrSource(self.source, name), getattr(self.fn, name)).with_guards(
                self.guards
            )
        if name == "__code__":  # guarded with the function
            return ConstantVariable(self.fn.__code__, guards=self.guards)
        raise self.refuse(f"attribute {name}")

    def has_attribute(self, tx: InstructionTranslatorBase, name: str) -> bool:
        """Whether it has the attribute, which all functions have."""
        self.var_getattr(tx, name)
        return True

    def closure(self, tx: InstructionTranslatorBase) -> tuple[CellVariable, ...]:
        cells = self.fn.__closure__ or ()
        names = self.fn.__code__.co_freevars
        return tuple(
            existing_cell(tx, self, position, name, cell)
            for position, (name, cell) in enumerate(zip(names, cells, strict=True))
        )

    def bind(
        self,
        tx: InstructionTranslatorBase,
        args: list[VariableTracker],
        kwargs: dict[str, VariableTracker],
    ) -> dict[str, VariableTracker]:
        fn = self.fn
        source = self.source
        defaults: dict[str, VariableTracker] = {}
        code = fn.__code__
        names = code.co_varnames[: code.co_argcount]
        positional = fn.__defaults__ or ()
        first = len(names) - len(positional)
        filled = {*names[: len(args)], *kwargs}
        for index, value in enumerate(positional):
            if names[first + index] not in filled:
                defaults[names[first + index]] = self._default(tx, source, index, value)
        for name, value in (fn.__kwdefaults__ or {}).items():
            if name not in filled:
                defaults[name] = self._default(tx, source, name, value)
        return bind_arguments(tx, fn, args, kwargs, defaults)

    def _default(
        self, tx: InstructionTranslatorBase, source: Any, key: int | str, value: Any
    ) -> VariableTracker:
        if source is None:
            return wrap_constant(value, self.guards)
        return tx.build(DefaultsSource(source, key), value)

    def reconstruct(self, codegen: PyCodegen) -> None:
        raise self.refuse("reconstruction")


def existing_cell(
    tx: InstructionTranslatorBase,
    owner: UserFunctionVariable,
    position: int,
    name: str,
    cell: types.CellType,
) -> CellVariable:
    """The cell of an existing function; one tracker for each cell."""
    known = tx.output.variables.get(id(cell))
    if known is not None:
        found = known[1]
        assert isinstance(found, CellVariable)
        return found
    if owner.source is None:
        raise owner.refuse("a closure")
    source = ClosureSource(owner.source, position, name)
    try:
        contents = tx.lazy(source, cell.cell_contents)
    except ValueError:
        raise unimplemented(f"variable {name} has no value") from None
    made = CellVariable(name, contents, source=source, mutation_type=AttributeMutationExisting())
    tx.output.remember_variable(cell, made)
    return made


class NestedUserFunctionVariable(BaseUserFunctionVariable):
    """A function that the frame made.

    code: its code.
    f_globals: its globals.
    defaults, kwdefaults, cells: trackers.
    fn_name: its qualified name.
    """

    def __init__(
        self,
        code: types.CodeType,
        f_globals: dict[str, Any],
        defaults: Sequence[VariableTracker] = (),
        kwdefaults: dict[str, VariableTracker] | None = None,
        cells: Sequence[VariableTracker] = (),
        annotated: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.code = code
        self.f_globals = f_globals
        self.defaults = list(defaults)
        self.kwdefaults = dict(kwdefaults or {})
        self.cells = list(cells)
        self.annotated = annotated
        self.fn_name = code.co_qualname

    def describe(self) -> str:
        return f"function {self.fn_name}"

    def get_function(self) -> types.FunctionType:
        cells = tuple(types.CellType() for _ in self.code.co_freevars)
        return types.FunctionType(self.code, self.f_globals, closure=cells)

    def closure(self, tx: InstructionTranslatorBase) -> tuple[CellVariable, ...]:
        return tuple(cell for cell in self.cells if isinstance(cell, CellVariable))

    def bind(
        self,
        tx: InstructionTranslatorBase,
        args: list[VariableTracker],
        kwargs: dict[str, VariableTracker],
    ) -> dict[str, VariableTracker]:
        names = self.code.co_varnames[: self.code.co_argcount]
        first = len(names) - len(self.defaults)
        defaults = dict(zip(names[first:], self.defaults, strict=True)) | self.kwdefaults
        return bind_arguments(tx, self.get_function(), args, kwargs, defaults)

    def parts(self) -> Sequence[VariableTracker]:
        return [*self.defaults, *self.kwdefaults.values(), *self.cells]

    def reconstruct(self, codegen: PyCodegen) -> None:
        if self.annotated or self.f_globals is not codegen.tx.f_globals:
            raise self.refuse("reconstruction")
        codegen.make_function(self)


def bind_arguments(
    tx: InstructionTranslatorBase,
    fn: types.FunctionType,
    args: list[VariableTracker],
    kwargs: dict[str, VariableTracker],
    defaults: dict[str, VariableTracker],
) -> dict[str, VariableTracker]:
    """Sort arguments into parameters, as CPython does.

    Raises:
        Unsupported: they do not fit, and the call raises TypeError.
    """
    code = fn.__code__
    names = code.co_varnames[: code.co_argcount]
    keyword_only = code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]
    mismatch = unimplemented(f"TypeError: the arguments of {fn.__qualname__} do not fit")
    bound = dict(zip(names, args, strict=False))
    rest = args[len(names) :]
    at = code.co_argcount + code.co_kwonlyargcount
    if code.co_flags & inspect.CO_VARARGS:
        bound[code.co_varnames[at]] = TupleVariable(rest, **VariableTracker.propagate(rest))
        at += 1
    elif rest:
        raise mismatch
    named: dict[Any, VariableTracker] = {}
    by_name = {*names[code.co_posonlyargcount :], *keyword_only}
    for name, value in kwargs.items():
        if name in by_name:
            if name in bound:
                raise mismatch
            bound[name] = value
        else:
            named[name] = value
    if code.co_flags & inspect.CO_VARKEYWORDS:
        options = VariableTracker.propagate(list(named.values()))
        bound[code.co_varnames[at]] = ConstDictVariable.new(named, options["guards"])
    elif named:
        raise mismatch
    for name in (*names, *keyword_only):
        if name not in bound:
            if name not in defaults:
                raise mismatch
            bound[name] = defaults[name]
    return bound


class UserMethodVariable(BaseUserFunctionVariable):
    """A bound method of a Python function.

    fn: the function's tracker.
    obj: what it is bound to.
    """

    def __init__(self, fn: BaseUserFunctionVariable, obj: VariableTracker, **options: Any) -> None:
        super().__init__(**options)
        self.fn = fn
        self.obj = obj

    def describe(self) -> str:
        return self.fn.describe()

    def python_type(self) -> type:
        return types.MethodType

    def call_function(
        self,
        tx: InstructionTranslatorBase,
        args: list[VariableTracker],
        kwargs: dict[str, VariableTracker],
    ) -> VariableTracker:
        return self.fn.call_function(tx, [self.obj, *args], kwargs)

    def parts(self) -> Sequence[VariableTracker]:
        return [self.obj]

    def reconstruct(self, codegen: PyCodegen) -> None:
        codegen.load_callable(types.MethodType)
        codegen(self.fn)
        codegen(self.obj)
        codegen.call(2)


class BoundBuiltinMethod(VariableTracker):
    """A method of a builtin type, or of a tensor, with its object.

    obj: the object.
    name: of the method.
    """

    def __init__(self, obj: VariableTracker, name: str, **options: Any) -> None:
        super().__init__(**options)
        self.obj = obj
        self.name = name

    def describe(self) -> str:
        return f"method {self.name} of {self.obj.describe()}"

    def python_type(self) -> type:
        return types.BuiltinMethodType

    def truth(self, tx: InstructionTranslatorBase) -> bool:
        return True

    def call_function(
        self,
        tx: InstructionTranslatorBase,
        args: list[VariableTracker],
        kwargs: dict[str, VariableTracker],
    ) -> VariableTracker:
        return tx.output.side_effects.latest(self.obj).call_method(tx, self.name, args, kwargs)

    def parts(self) -> Sequence[VariableTracker]:
        return [self.obj]

    def reconstruct(self, codegen: PyCodegen) -> None:
        codegen(self.obj)
        codegen.load_attr(self.name)
