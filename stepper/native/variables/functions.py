"""Functions, methods and cells."""

from __future__ import annotations

import inspect
import os
import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from stepper.native.bytecode import opcodes
from stepper.native.exc import unimplemented
from stepper.native.guards.class_dicts import has
from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.library import OPTIMIZERS, TORCH
from stepper.native.source import AttrSource, ClosureSource, DefaultsSource
from stepper.native.variables.base import (
    AttributeMutationExisting,
    AttributeMutationNew,
    VariableTracker,
)
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.dicts import ConstDictVariable
from stepper.native.variables.exceptions import no_attribute
from stepper.native.variables.folding import wrap_constant
from stepper.native.variables.lists import TupleVariable

if TYPE_CHECKING:
    from stepper.native.protocols import Codegen, Translator
    from stepper.native.source import Source
    from stepper.native.variables.base import TrackerOptions


class CellVariable(VariableTracker):
    """A cell; what it holds is in the side effects, once it has been written.

    local_name: the variable's name.
    pre_existing_contents: what it held when the frame was entered.
    """

    def __init__(
        self,
        local_name: str,
        pre_existing_contents: VariableTracker | None = None,
        **options: Unpack[TrackerOptions],
    ) -> None:
        super().__init__(**options)
        self.local_name = local_name
        self.pre_existing_contents = pre_existing_contents

    @classmethod
    def new(cls, tx: Translator, name: str, value: VariableTracker | None) -> CellVariable:
        """A cell that the frame makes."""
        cell = cls(name, mutation_type=AttributeMutationNew())
        if value is not None:
            tx.output.side_effects.store_attr(cell, "cell_contents", value)
        return cell

    def python_type(self) -> type:
        return types.CellType

    def is_empty(self, tx: Translator) -> bool:
        """Whether it holds nothing now."""
        found = tx.output.side_effects.load_attr(self, "cell_contents")
        return found is None and self.pre_existing_contents is None

    def contents(self, tx: Translator) -> VariableTracker:
        """What it holds now."""
        found = tx.output.side_effects.load_attr(self, "cell_contents")
        found = self.pre_existing_contents if found is None else found
        if found is None:
            raise unimplemented(f"variable {self.local_name} has no value")
        return tx.realize(found)

    def reconstruct(self, codegen: Codegen) -> None:
        codegen.load_cell(self)


def has_stored(tx: Translator, tracker: VariableTracker, value: object, name: str) -> bool:
    """Whether an attribute was stored in a function or a partial.

    value: the object; what the frame makes, in which none can be stored, has none.
    """
    if value is None:
        return False
    if tracker.source is None:
        raise tracker.refuse("hasattr")
    present = name in vars(value)
    condition = f"({name!r} in {tracker.source.name()}.__dict__) == {present}"
    install = tx.output.install_guard
    tx.output.chosen(install(tracker.source, GuardBuilder.EXPRESSION, name=condition))
    return present


def wrapped_for_others(function: types.FunctionType) -> str:
    """The attribute in which a function has one that it calls in our case; empty: there is none.

    `torch.jit` traces nothing that is captured; and once Dynamo has been used, it has the parts of
    optimizers disabled that it does itself."""
    names = function.__dict__
    if "__script_if_tracing_wrapper" in names:
        return "__original_fn"
    inner = names.get("_torchdynamo_orig_callable")
    own = type(inner) is types.FunctionType and inner.__code__.co_filename.startswith(OPTIMIZERS)
    return "_torchdynamo_orig_callable" if own else ""


def is_noted_by_dynamo(code: types.CodeType) -> bool:
    """Whether a method is what Dynamo has put in the place of `Module.__init__`: it calls that, and
    notes for Dynamo's own captures when the module was made."""
    own = code.co_filename == os.path.join(TORCH, "_dynamo", "mutation_guard.py")
    return own and code.co_name == "patched_init"


class BaseUserFunctionVariable(VariableTracker):
    """Something that is inlined when it is called."""

    def get_function(self) -> types.FunctionType:
        """A function with the code, name and globals."""
        raise NotImplementedError

    def call_function(
        self,
        tx: Translator,
        args: list[VariableTracker],
        kwargs: dict[str, VariableTracker],
    ) -> VariableTracker:
        function = self.get_function()
        inner = wrapped_for_others(function)
        if inner and self.source is not None:
            found = tx.build(AttrSource(self.source, inner), function.__dict__[inner])
            return found.call_function(tx, args, kwargs)
        if is_noted_by_dynamo(function.__code__):
            return self.closure(tx)[0].contents(tx).call_function(tx, args, kwargs)

        def bind() -> dict[str, VariableTracker]:
            bound = self.bind(tx, args, kwargs)
            names = function.__code__.co_freevars
            return {**bound, **dict(zip(names, self.closure(tx), strict=True))}

        return tx.inline_user_function(self, function, bind)

    def bind(
        self,
        tx: Translator,
        args: list[VariableTracker],
        kwargs: dict[str, VariableTracker],
    ) -> dict[str, VariableTracker]:
        """The locals with which the function's frame begins."""
        raise NotImplementedError

    def closure(self, tx: Translator) -> tuple[CellVariable, ...]:
        """The cells of the function's free variables."""
        raise NotImplementedError

    def truth(self, tx: Translator) -> bool:
        return True

    def python_type(self) -> type:
        return types.FunctionType


_FACTS = frozenset(
    {"__name__", "__qualname__", "__module__", "__doc__", "__defaults__", "__kwdefaults__"}
)
"""Attributes of all functions that can be read."""


class UserFunctionVariable(BaseUserFunctionVariable):
    """A Python function that exists.

    fn: the function.
    """

    def __init__(self, fn: types.FunctionType, **options: Unpack[TrackerOptions]) -> None:
        super().__init__(**options)
        self.fn = fn

    def describe(self) -> str:
        return f"function {self.fn.__qualname__}"

    def get_function(self) -> types.FunctionType:
        return self.fn

    def as_key(self) -> object:
        return self.fn if self.source is not None else super().as_key()

    def bound_to(self, obj: VariableTracker) -> VariableTracker:
        return UserMethodVariable(self, obj, **self.propagate(obj, self))

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        if name == "__code__":  # guarded with the function
            return ConstantVariable(self.fn.__code__, guards=self.guards)
        if not self.has_attribute(tx, name):
            raise no_attribute(types.FunctionType, name)
        if self.source is None or (name in vars(types.FunctionType) and name not in _FACTS):
            raise self.refuse(f"attribute {name}")
        found = tx.build(AttrSource(self.source, name), getattr(self.fn, name))
        return found.with_guards(self.guards)

    def has_attribute(self, tx: Translator, name: str) -> bool:
        """Whether it has the attribute: one that all functions have, or one that was stored."""
        return has(types.FunctionType, name) or has_stored(tx, self, self.fn, name)

    def closure(self, tx: Translator) -> tuple[CellVariable, ...]:
        cells = self.fn.__closure__ or ()
        names = self.fn.__code__.co_freevars
        return tuple(
            existing_cell(tx, self, position, name, cell)
            for position, (name, cell) in enumerate(zip(names, cells, strict=True))
        )

    def bind(
        self,
        tx: Translator,
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
                self._guard_count(tx, len(positional))
                defaults[names[first + index]] = self._default(tx, source, index, value)
        for name, value in (fn.__kwdefaults__ or {}).items():
            if name not in filled:
                defaults[name] = self._default(tx, source, name, value)
        return bind_arguments(tx, fn, args, kwargs, defaults)

    def _guard_count(self, tx: Translator, count: int) -> None:
        """Have checked how many defaults there are: it says whose the first is."""
        if self.source is not None:
            name = f"len({AttrSource(self.source, '__defaults__').name()}) == {count}"
            tx.output.install_guard(self.source, GuardBuilder.EXPRESSION, name=name)

    def _default(
        self, tx: Translator, source: Source | None, key: int | str, value: object
    ) -> VariableTracker:
        if source is None:
            return wrap_constant(value, self.guards)
        return tx.build(DefaultsSource(source, key), value)

    def reconstruct(self, codegen: Codegen) -> None:
        raise self.refuse("reconstruction")


def existing_cell(
    tx: Translator,
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
        f_globals: dict[str, object],
        defaults: Sequence[VariableTracker] = (),
        kwdefaults: dict[str, VariableTracker] | None = None,
        cells: Sequence[VariableTracker] = (),
        annotated: bool = False,
        **options: Unpack[TrackerOptions],
    ) -> None:
        super().__init__(**options)
        self.code = code
        self.f_globals = f_globals
        self.defaults = list(defaults)
        self.kwdefaults = dict(kwdefaults or {})
        self.cells = list(cells)
        self.annotated = annotated
        self.fn_name = code.co_qualname

    def copy(self) -> NestedUserFunctionVariable:
        """Another function that is the same so far."""
        return NestedUserFunctionVariable(
            self.code, self.f_globals, self.defaults, self.kwdefaults, self.cells, self.annotated
        )

    def describe(self) -> str:
        return f"function {self.fn_name}"

    def get_function(self) -> types.FunctionType:
        cells = tuple(types.CellType() for _ in self.code.co_freevars)
        return types.FunctionType(self.code, self.f_globals, closure=cells)

    def has_attribute(self, tx: Translator, name: str) -> bool:
        """Whether it has the attribute, which all functions have then."""
        return has(types.FunctionType, name)

    def closure(self, tx: Translator) -> tuple[CellVariable, ...]:
        return tuple(cell for cell in self.cells if isinstance(cell, CellVariable))

    def bind(
        self,
        tx: Translator,
        args: list[VariableTracker],
        kwargs: dict[str, VariableTracker],
    ) -> dict[str, VariableTracker]:
        names = self.code.co_varnames[: self.code.co_argcount]
        first = len(names) - len(self.defaults)
        defaults = dict(zip(names[first:], self.defaults, strict=True)) | self.kwdefaults
        return bind_arguments(tx, self.get_function(), args, kwargs, defaults)

    def parts(self) -> Sequence[VariableTracker]:
        return [*self.defaults, *self.kwdefaults.values(), *self.cells]

    def reconstruct(self, codegen: Codegen) -> None:
        if self.annotated or self.f_globals is not codegen.tx.f_globals:
            raise self.refuse("reconstruction")
        attributes: list[int] = []
        if self.defaults:
            codegen.foreach(self.defaults)
            codegen.build("BUILD_TUPLE", len(self.defaults))
            attributes.append(1)
        if self.kwdefaults:
            for key, value in self.kwdefaults.items():
                codegen.load_const(key)
                codegen(value)
            codegen.build("BUILD_MAP", len(self.kwdefaults))
            attributes.append(2)
        if self.cells:
            codegen.foreach(self.cells)
            codegen.build("BUILD_TUPLE", len(self.cells))
            attributes.append(8)
        codegen.load_const(self.code)
        if opcodes.FUNCTION_ATTRIBUTES_APART:
            codegen.emit("MAKE_FUNCTION")
            for flag in reversed(attributes):
                codegen.emit("SET_FUNCTION_ATTRIBUTE", flag)
        else:
            codegen.emit("MAKE_FUNCTION", sum(attributes))


def bind_arguments(
    tx: Translator,
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
    named: dict[object, VariableTracker] = {}
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

    def __init__(
        self, fn: BaseUserFunctionVariable, obj: VariableTracker, **options: Unpack[TrackerOptions]
    ) -> None:
        super().__init__(**options)
        self.fn = fn
        self.obj = obj

    def describe(self) -> str:
        return self.fn.describe()

    def python_type(self) -> type:
        return types.MethodType

    def call_function(
        self,
        tx: Translator,
        args: list[VariableTracker],
        kwargs: dict[str, VariableTracker],
    ) -> VariableTracker:
        return self.fn.call_function(tx, [self.obj, *args], kwargs)

    def parts(self) -> Sequence[VariableTracker]:
        return [self.obj]

    def reconstruct(self, codegen: Codegen) -> None:
        codegen.load_callable(types.MethodType)
        codegen(self.fn)
        codegen(self.obj)
        codegen.call(2)
