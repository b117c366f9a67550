"""Functions, methods and cells."""

from __future__ import annotations

import builtins
import inspect
import os
import sys
import types
from collections.abc import Sequence
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Unpack, cast

from stepper import _C
from stepper.native import polyfills
from stepper.native.bytecode import opcodes
from stepper.native.bytecode.bytecode_analysis import assigned_cells
from stepper.native.exc import PrepareFirst, unimplemented
from stepper.native.guards.class_dicts import has
from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.library import OPTIMIZERS, STEPPER, TORCH, is_library
from stepper.native.source import AttrSource, ClosureSource, GetItemSource
from stepper.native.variables.assumed_constant import call_now, is_assumed_constant
from stepper.native.variables.base import (
    Arguments,
    AttributeMutationExisting,
    AttributeMutationNew,
    Keywords,
    TrackedKey,
    VariableTracker,
    refuse_finalizers,
    tracker_class,
)
from stepper.native.variables.builtin_methods import BoundBuiltinMethod
from stepper.native.variables.constant import ConstantVariable, is_none
from stepper.native.variables.dicts import ConstDictVariable
from stepper.native.variables.exceptions import ObservedException, misfit, no_attribute, observed
from stepper.native.variables.folding import wrap_constant
from stepper.native.variables.lists import TupleVariable
from stepper.native.variables.namespace import global_source, stored_in, vars_of
from stepper.native.versions import OF_DYNAMO, TAKING_OUT
from stepper.support.per_object import PerCode

if TYPE_CHECKING:
    from stepper.native.protocols import Codegen, Translator
    from stepper.native.source import Recipe, Source
    from stepper.native.variables.base import TrackerOptions


@tracker_class
class CellVariable(VariableTracker):
    """A cell; what it holds is in the side effects, once it has been written."""

    python_class = types.CellType

    local_name: str
    """The variable's name."""
    pre_existing_contents: VariableTracker | None = None
    """What the cell held when the frame was entered."""
    read_alone: list[UserFunctionVariable] = field(default_factory=list)
    """Functions that are known by their code and have read this cell, or the same by another
    tracker: which one they have is to be known as soon as something is put into it."""

    @classmethod
    def new(cls, tx: Translator, name: str, value: VariableTracker | None) -> CellVariable:
        """A cell that the frame makes."""
        cell = cls(name, mutation_type=AttributeMutationNew())
        if value is not None:
            tx.output.side_effects.store_attr(cell, "cell_contents", value)
        return cell

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

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        if name != "cell_contents":
            return super().var_getattr(tx, name)
        if self.is_empty(tx):
            raise observed(ValueError, "Cell is empty")
        return self.contents(tx)

    def var_setattr(self, tx: Translator, name: str, value: VariableTracker) -> None:
        if name != "cell_contents":
            super().var_setattr(tx, name, value)
        self.store(tx, value)

    def store(self, tx: Translator, value: VariableTracker) -> None:
        """Have it hold something else."""
        for reader in self.read_alone:
            reader.tell_apart()
        before = self.pre_existing_contents
        if before and tx.output.side_effects.load_attr(self, "cell_contents") is None:
            refuse_finalizers(tx.output, [before])
        tx.output.side_effects.store_attr(self, "cell_contents", value)

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
    known = tx.output.variables.get(id(vars(value)))
    if known is not None and tx.output.side_effects.latest(known[1]) is not known[1]:
        raise tracker.refuse("hasattr, once its __dict__ has been changed,")
    present = name in vars(value)
    condition = f"({name!r} in {tracker.source.name()}.__dict__) == {present}"
    install = tx.output.install_guard
    tx.output.chosen(install(tracker.source, GuardBuilder.EXPRESSION, name=condition))
    return present


def wrapped_for_others(function: types.FunctionType) -> str:
    """The attribute in which a function has one that it calls in our case; empty: there is none.

    `torch.jit` traces nothing that is captured; once Dynamo has been used, it has the parts of
    optimizers disabled that it does itself; and what was to be captured by itself is now."""
    names = function.__dict__
    if names.get("_captures") and function.__code__.co_filename.startswith(STEPPER):
        return "_torchdynamo_orig_callable"
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

    python_class: ClassVar[type | None] = types.FunctionType

    def get_function(self) -> types.FunctionType:
        """A function with the code, name and globals."""
        raise NotImplementedError

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        function = self.get_function()
        stands_in = polyfills.FUNCTIONS.get(function)
        if stands_in is not None:
            return tx.interpret(stands_in, args, kwargs)
        if is_assumed_constant(function):
            return call_now(tx, function, args, kwargs)
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

    def bind(self, tx: Translator, args: Arguments, kwargs: Keywords) -> dict[str, VariableTracker]:
        """The locals with which the function's frame begins."""
        raise NotImplementedError

    def closure(self, tx: Translator) -> tuple[CellVariable, ...]:
        """The cells of the function's free variables."""
        raise NotImplementedError

    def has_attribute(self, tx: Translator, name: str) -> bool:
        """Whether it has the attribute: one that all have, or one that was stored."""
        raise NotImplementedError

    def call_method(
        self, tx: Translator, name: str, args: Arguments, kwargs: Keywords
    ) -> VariableTracker:
        if name == "__get__" and len(args) in (1, 2) and not kwargs:
            if isinstance(args[0], ConstantVariable) and args[0].value is None:
                return self
            if (bound := self.bound_to(args[0])) is not None:
                return bound
        return super().call_method(tx, name, args, kwargs)


_FACTS = frozenset(
    {
        "__name__", "__qualname__", "__module__", "__doc__", "__defaults__", "__kwdefaults__",
        "__annotations__", "__type_params__", "__annotate__", "__dict__",
    }
)  # fmt: skip
"""Attributes of all functions that can be read."""
_KNOWN_OF_ALL = frozenset({"__name__", "__qualname__", "__doc__", "__type_params__"})
"""Those of which the code says what they are."""
_STORED_AS_IS = frozenset({"__module__", "__doc__", "__annotations__", "__type_params__"})
"""Those that can be anything, or are set from another function's."""


class UserFunctionVariable(BaseUserFunctionVariable):
    """A Python function that exists.

    fn: the function.
    by_code: it may be another one, with the same code.
    """

    def __init__(
        self, fn: types.FunctionType, *, by_code: bool = False, **options: Unpack[TrackerOptions]
    ) -> None:
        super().__init__(**options)
        self.fn = fn
        self.by_code = by_code

    def tell_apart(self) -> None:
        """Have it be known which function it is.

        Raises:
            PrepareFirst: only its code is.
        """
        if self.by_code:
            code = self.fn.__code__
            note = partial(_told_apart.set, code, True)
            raise PrepareFirst(note, f"which {self.describe()} it is, is asked")

    def describe(self) -> str:
        return f"function {self.fn.__qualname__}"

    def get_function(self) -> types.FunctionType:
        return self.fn

    def as_key(self, tx: Translator) -> TrackedKey:
        self.tell_apart()
        return super().as_key(tx) if self.source is None else TrackedKey.guarded(self, self.fn)

    def bound_to(self, obj: VariableTracker) -> VariableTracker:
        return UserMethodVariable(self, obj, **self.propagate(obj, self))

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        if name == "__code__":  # guarded with the function
            return ConstantVariable(self.fn.__code__, guards=self.guards)
        if name == "__get__":
            return BoundBuiltinMethod(self, name, guards=self.guards)
        if name == "__closure__":
            self.tell_apart()
            cells = TupleVariable(self.closure(tx), guards=self.guards)
            return cells if cells.items else ConstantVariable(None, guards=self.guards)
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

    def bind(self, tx: Translator, args: Arguments, kwargs: Keywords) -> dict[str, VariableTracker]:
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
            if name not in filled and name in _keyword_only(code):
                defaults[name] = self._default(tx, source, name, value)
        try:
            return bind_arguments(tx, fn, args, kwargs, defaults)
        except ObservedException:
            self._guard_signature(tx)
            raise

    def _guard_signature(self, tx: Translator) -> None:
        """Have checked what is told of arguments that do not fit."""
        if self.source is None:
            return
        name, fn = self.source.name(), self.fn
        told = f"({name}.__qualname__, {name}.__defaults__ and len({name}.__defaults__), "
        told += f"{name}.__kwdefaults__ and [*{name}.__kwdefaults__])"
        positional, named = fn.__defaults__, fn.__kwdefaults__
        is_now = fn.__qualname__, positional and len(positional), named and [*named]
        install = tx.output.install_guard
        tx.output.chosen(
            install(self.source, GuardBuilder.EXPRESSION, name=f"{told} == {is_now!r}")
        )

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
        where = "__defaults__" if isinstance(key, int) else "__kwdefaults__"
        return tx.build(GetItemSource(AttrSource(source, where), key), value)


_told_apart: PerCode[bool] = PerCode()
"""Codes of functions that are told apart by what they are."""


def forget_told_apart() -> None:
    """Nothing has asked yet which function it has."""
    _told_apart.clear()


def is_known_by_code(function: types.FunctionType, root: Translator) -> bool:
    """Whether it is enough to know the code of a function: it is made anew each time that the one
    around it is called. The frame's own variables, that it might share, do not change."""
    code = function.__code__
    return bool(
        code.co_flags & inspect.CO_NESTED
        and not is_library(code.co_filename)
        and _told_apart.get(code) is None
        and function.__globals__ is root.f_globals
        and getattr(function, "__builtins__") is vars(builtins)  # noqa: B009  # no stub has it
        and not _assigns_around(root.f_code, frozenset(root.f_code.co_freevars))
    )


def _assigns_around(code: types.CodeType, names: frozenset[str]) -> bool:
    """Whether a code assigns to variables of these names, which functions around it have."""
    inside = (each for each in code.co_consts if isinstance(each, types.CodeType))
    return bool(names) and (
        not names.isdisjoint(assigned_cells(code))
        or any(_assigns_around(each, names.intersection(each.co_freevars)) for each in inside)
    )


def existing_cell(
    tx: Translator, owner: UserFunctionVariable, position: int, name: str, cell: types.CellType
) -> CellVariable:
    """The cell of an existing function; one tracker for each cell, but for those of the frame's own
    variables: as long as nobody puts something into one, whether a function that is known by its
    code shares it need not be known."""
    known = tx.output.variables.get(id(cell))
    if known is None:
        made = _cell_of(tx, owner, position, name, cell)
        tx.output.remember_variable(cell, made)
        return made
    found = known[1]
    assert isinstance(found, CellVariable)
    of_frame = not isinstance(found.source, ClosureSource)
    if of_frame and owner.by_code and not tx.output.side_effects.stored(found):
        made = _cell_of(tx, owner, position, name, cell)
        for each in (found, made):
            each.read_alone.append(owner)
        return made
    if of_frame or owner.source is None:
        owner.tell_apart()
    elif isinstance(found.source, ClosureSource) and found.source.base != owner.source:
        own = ClosureSource(owner.source, position, name)
        condition = f"{own.cell.name()} is {found.source.cell.name()}"
        tx.output.install_guard(owner.source, GuardBuilder.EXPRESSION, name=condition)
    return found


def _cell_of(
    tx: Translator, owner: UserFunctionVariable, position: int, name: str, cell: types.CellType
) -> CellVariable:
    if owner.source is None:
        raise owner.refuse("a closure")
    source = ClosureSource(owner.source, position, name)
    tx.output.note_mutable(GetItemSource(AttrSource(owner.source, "__closure__"), position))
    try:
        contents = tx.lazy(source, cell.cell_contents)
    except ValueError:
        raise unimplemented(f"variable {name} has no value") from None
    return CellVariable(name, contents, source=source, mutation_type=AttributeMutationExisting())


_DEFAULTS = {"__defaults__": 1, "__kwdefaults__": 2}
"""Attributes of a function that the frame makes, by the flags of MAKE_FUNCTION."""


@tracker_class
class NestedUserFunctionVariable(BaseUserFunctionVariable):
    """A function that the frame made.

    attributes: trackers of what MAKE_FUNCTION was given, by its flags: defaults, keyword defaults,
        annotations, cells, what makes the annotations.
    """

    code: types.CodeType
    f_globals: dict[str, object]
    attributes: dict[int, VariableTracker]

    def __post_init__(self) -> None:
        self.mutation_type = AttributeMutationNew()
        super().__post_init__()

    def describe(self) -> str:
        return f"function {self.code.co_qualname}"

    def get_function(self) -> types.FunctionType:
        cells = tuple(types.CellType() for _ in self.code.co_freevars)
        return types.FunctionType(self.code, self.f_globals, closure=cells)

    def has_attribute(self, tx: Translator, name: str) -> bool:
        """Whether it has the attribute: one that all functions have, or one that was stored."""
        stored = tx.output.side_effects.load_attr(self, name)
        return stored is not None or has(types.FunctionType, name)

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        code = tx.output.side_effects.stored(self).get("__code__")
        if code is None:
            return super().call_function(tx, args, kwargs)
        given = code.as_python_constant()
        function = NestedUserFunctionVariable(given, self.f_globals, self._given(tx))
        return function.call_function(tx, args, kwargs)

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        stored = tx.output.side_effects.stored(self)
        if name in stored:
            return tx.realize(stored[name])
        if not has(types.FunctionType, name):
            raise no_attribute(types.FunctionType, name)
        if name == "__code__":
            return ConstantVariable(self.code)
        if name in _DEFAULTS:
            return self.attributes.get(_DEFAULTS[name], ConstantVariable(None))
        if name == "__annotate__":
            return ConstantVariable(None) if "__annotations__" in stored else self._annotate(tx)
        if name == "__annotations__" and is_none(self._annotate(tx)):
            pairs = self.attributes[4].unpack(tx) if 4 in self.attributes else []
            names = [each.as_python_constant() for each in pairs[::2]]
            made = ConstDictVariable.new(dict(zip(names, pairs[1::2], strict=True)), self.guards)
            self.var_setattr(tx, name, made)
            return made
        if name == "__dict__" and (
            polyfills.is_polyfill(tx.f_code)  # it only reads it
            or (tx.f_code in TAKING_OUT and OF_DYNAMO.isdisjoint(stored))
        ):
            own = {k: v for k, v in stored.items() if not has(types.FunctionType, k)}
            return ConstDictVariable.new(dict(own), self.guards)
        names_of = self.f_globals
        known = "__name__" in names_of and not polyfills.is_polyfill(self.code)
        if name == "__module__" and known and stored_in(tx, names_of, "__name__") is None:
            source = global_source(tx, names_of, "__name__")
            return tx.build(source, names_of["__name__"])
        found = getattr(self.get_function(), name) if name in _KNOWN_OF_ALL else self
        if found is self:
            raise self.refuse(f"attribute {name}")
        return wrap_constant(found, self.guards)

    def _annotate(self, tx: Translator) -> VariableTracker:
        """What was to make its annotations, when it was made or last given one."""
        given = tx.output.side_effects.load_attr(self, "__annotate__")
        return self.attributes.get(16, ConstantVariable(None)) if given is None else given

    def var_setattr(self, tx: Translator, name: str, value: VariableTracker) -> None:
        texts = name in ("__name__", "__qualname__")
        text = isinstance(value, ConstantVariable) and type(value.value) is str
        allowed = text if texts else name in _STORED_AS_IS
        if name in _DEFAULTS:
            kind = tuple if name == "__defaults__" else dict
            allowed = is_none(value) or tx.realize(value).python_type() is kind
        if name == "__code__" and isinstance(value, ConstantVariable):
            allowed = getattr(value.value, "co_freevars", None) == self.code.co_freevars
        if name == "__annotate__" and has(types.FunctionType, name):
            # One that is called when the annotations are read: what was stored as them is gone.
            stored = tx.output.side_effects.stored(self)
            makes = isinstance(value, BaseUserFunctionVariable) and "__annotations__" not in stored
            allowed = makes or is_none(value)
        if has(types.FunctionType, name) and not allowed:
            raise self.refuse(f"assignment to attribute {name}")
        tx.output.side_effects.store_attr(self, name, value)

    def closure(self, tx: Translator) -> tuple[CellVariable, ...]:
        cells = self.attributes[8].unpack(tx) if 8 in self.attributes else ()
        return tuple(cell for cell in cells if isinstance(cell, CellVariable))

    def bind(self, tx: Translator, args: Arguments, kwargs: Keywords) -> dict[str, VariableTracker]:
        names = self.code.co_varnames[: self.code.co_argcount]
        given = self._given(tx)
        positional = given[1].unpack(tx) if 1 in given else []
        named = tx.realize(given[2]) if 2 in given else None
        defaults = dict(zip(names[len(names) - len(positional) :], positional, strict=True))
        if isinstance(named, ConstDictVariable):
            last = _keyword_only(self.code)
            defaults.update((n, named.items[n]) for n in last if n in named.items)
        function = self.get_function()
        qualname = tx.output.side_effects.load_attr(self, "__qualname__")
        if isinstance(qualname, ConstantVariable):
            function.__qualname__ = qualname.value
        return bind_arguments(tx, function, args, kwargs, defaults)

    def _given(self, tx: Translator) -> dict[int, VariableTracker]:
        """What it was made of, with the defaults that it has been given since."""
        stored = tx.output.side_effects.stored(self)
        newer = {flag: stored[name] for name, flag in _DEFAULTS.items() if name in stored}
        newer = {flag: tx.realize(value) for flag, value in newer.items()}
        given = {**self.attributes, **newer}
        return {flag: value for flag, value in given.items() if not is_none(value)}

    def parts(self) -> Sequence[VariableTracker]:
        return list(self.attributes.values())

    def reconstruct(self, codegen: Codegen) -> None:
        flags = sorted(self.attributes)
        if self.f_globals is not codegen.tx.f_globals:
            name = self.f_globals.get("__name__")
            names = vars_of(sys.modules.get(name)) if type(name) is str else {}
            if polyfills.is_polyfill(self.code) or names is not self.f_globals:
                raise self.refuse("reconstruction")
            given = tuple(self.attributes[flag] for flag in flags)
            codegen.make(made_in, name, self.code, tuple(flags), given)
        else:
            codegen.foreach(self.attributes[flag] for flag in flags)
            codegen.load_const(self.code)
            if opcodes.FUNCTION_ATTRIBUTES_APART:
                codegen.emit("MAKE_FUNCTION")
                for flag in reversed(flags):
                    codegen.emit("SET_FUNCTION_ATTRIBUTE", flag)
            else:
                codegen.emit("MAKE_FUNCTION", sum(flags))
        for name, value in codegen.tx.output.side_effects.stored(self).items():
            codegen.dup()
            codegen(value)
            codegen.emit("SWAP", 2)
            codegen.emit("STORE_ATTR", name)


def made_in(
    module: str, code: types.CodeType, flags: tuple[int, ...], given: tuple[object, ...]
) -> types.FunctionType:
    """A function of another module, as its code makes it; see `attributes` for what it is given."""
    attributes = dict(zip(flags, given, strict=True))
    cells = cast("tuple[types.CellType, ...] | None", attributes.pop(8, None))
    made = types.FunctionType(code, vars_of(sys.modules[module]), closure=cells)
    if 4 in attributes:
        pairs = cast("tuple[object, ...]", attributes[4])
        attributes[4] = dict(zip(pairs[::2], pairs[1::2], strict=True))
    for flag, value in attributes.items():
        setattr(made, _GIVEN[flag], value)
    return made


_GIVEN = {1: "__defaults__", 2: "__kwdefaults__", 4: "__annotations__", 16: "__annotate__"}
_C.set_skip(made_in.__code__, "recursive")


def _keyword_only(code: types.CodeType) -> tuple[str, ...]:
    """The parameters that are given by their names only."""
    return code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]


def bind_arguments(
    tx: Translator,
    fn: types.FunctionType,
    args: Arguments,
    kwargs: Keywords,
    defaults: dict[str, VariableTracker],
) -> dict[str, VariableTracker]:
    """Sort arguments into parameters, as CPython does.

    Raises:
        Unsupported: they do not fit, and the call raises TypeError.
    """
    code = fn.__code__
    names = code.co_varnames[: code.co_argcount]
    keyword_only = _keyword_only(code)
    bound = dict(zip(names, args, strict=False))
    rest = args[len(names) :]
    at = code.co_argcount + code.co_kwonlyargcount
    if code.co_flags & inspect.CO_VARARGS:
        bound[code.co_varnames[at]] = TupleVariable(rest, **VariableTracker.propagate(rest))
        at += 1
    elif rest:
        raise misfit(fn, args, kwargs, defaults)
    named: dict[object, VariableTracker] = {}
    by_name = {*names[code.co_posonlyargcount :], *keyword_only}
    for name, value in kwargs.items():
        if name in by_name:
            if name in bound:
                raise misfit(fn, args, kwargs, defaults)
            bound[name] = value
        else:
            named[name] = value
    if code.co_flags & inspect.CO_VARKEYWORDS:
        options = VariableTracker.propagate(list(named.values()))
        bound[code.co_varnames[at]] = ConstDictVariable.new(named, options["guards"])
    elif named:
        raise misfit(fn, args, kwargs, defaults)
    for name in (*names, *keyword_only):
        if name not in bound:
            if name not in defaults:
                raise misfit(fn, args, kwargs, defaults)
            bound[name] = defaults[name]
    return bound


@tracker_class
class UserMethodVariable(BaseUserFunctionVariable):
    """A bound method of a Python function, or of another object that is called with its owner."""

    python_class = types.MethodType

    fn: VariableTracker
    """The function's tracker."""
    obj: VariableTracker
    """The object that the method is bound to."""

    def describe(self) -> str:
        return self.fn.describe()

    def has_attribute(self, tx: Translator, name: str) -> bool:
        """Whether it has the attribute, or its function."""
        if has(types.MethodType, name):
            return True
        if not isinstance(self.fn, BaseUserFunctionVariable):
            raise self.refuse("hasattr")
        return self.fn.has_attribute(tx, name)

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        if name in ("__self__", "__func__"):
            return self.obj if name == "__self__" else self.fn
        if has(types.MethodType, name) and name != "__doc__":
            return super().var_getattr(tx, name)
        return self.fn.var_getattr(tx, name).with_guards(self.guards)

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        return self.fn.call_function(tx, [self.obj, *args], kwargs)

    def recipe(self) -> Recipe:
        return types.MethodType, self.fn, self.obj
