"""Exceptions that are made, raised and caught while tracing.

What an instruction raises travels as an `ObservedException` to the handler that the exception
table names, in this function or in one that called it, as in CPython. One that no handler of the
frame catches is a graph break before the instruction that raises it, which then does so itself.

An exception that was raised has a traceback, and that shows lines and frames that have not run. So
it can be asked for all but that, and cannot leave the captured part: where it would, or where the
graph breaks while it is handled, the break is before the instruction that raised it.
"""

from __future__ import annotations

import builtins
import inspect
import types
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from stepper import _C
from stepper.native.bytecode.opcodes import EMPTY_SLOT_NAMES_MODULE
from stepper.native.exc import Reason, Unsupported, unimplemented
from stepper.native.guards.class_dicts import class_dict, find, has, lookup, order_of, place_of
from stepper.native.polyfills import is_polyfill
from stepper.native.source import AttrSource, GetItemSource, Source
from stepper.native.variables.base import (
    Arguments,
    AttributeMutationNew,
    Keywords,
    VariableTracker,
    tracker_class,
)
from stepper.native.variables.builtin_methods import BoundBuiltinMethod, KnownCallVariable
from stepper.native.variables.constant import ConstantVariable, is_constant
from stepper.support import break_kinds
from stepper.support.words import Classes, one_of, qualified_name

if TYPE_CHECKING:
    from stepper.native.protocols import Codegen, Translator
    from stepper.native.source import Recipe

_WITH_FIELDS = (
    ImportError, OSError, SyntaxError, UnicodeError, SystemExit, StopIteration, BaseExceptionGroup,
)  # fmt: skip
"""Classes whose instances get more than `args` from their arguments."""

PLAIN: tuple[Any, ...] = tuple(
    each
    for each in vars(builtins).values()
    if isinstance(each, type)
    and issubclass(each, BaseException)
    and not issubclass(each, (*_WITH_FIELDS, MemoryError))
)
"""Classes whose instances get nothing but `args` from their arguments."""

BEGINNINGS = [class_dict(each)["__init__"] for each in PLAIN if "__init__" in class_dict(each)]
"""What their `__init__` is."""
_TEXTS = [class_dict(each)["__str__"] for each in PLAIN if "__str__" in class_dict(each)]

_SETATTR = BaseException.__setattr__

_KNOWN = Classes(
    TypeError, ValueError, KeyError, IndexError, ZeroDivisionError, OverflowError, ArithmeticError
)
"""Classes of what operations on constants raise that is the same when it is raised again."""


@tracker_class
class ExceptionClassVariable(VariableTracker):
    """A builtin class of exceptions."""

    python_class = type

    value: Any
    """The class."""

    def describe(self) -> str:
        return f"class {self.value.__name__}"

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        if kwargs:
            raise self.refuse("a call with keyword arguments")
        if issubclass(self.value, _WITH_FIELDS) and args and self.value is not StopIteration:
            raise self.refuse("a call with arguments")
        return ExceptionVariable(self, args, **self.propagate(self, args))

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        if name not in NAMES:
            raise self.refuse(f"attribute {name}")
        return ConstantVariable(getattr(self.value, name), guards=self.guards)

    def has_attribute(self, tx: Translator, name: str) -> bool:
        """Whether it has the attribute; nobody changes those."""
        return hasattr(self.value, name)

    def reconstruct(self, codegen: Codegen) -> None:
        codegen.load_const(self.value)


NAMES = ("__name__", "__qualname__", "__module__")
"""Attributes of builtin classes and functions that are texts."""


@tracker_class
class ExceptionVariable(VariableTracker):
    """An exception that the frame made."""

    cls: VariableTracker
    """Its class."""
    args: Sequence[VariableTracker]
    """What its class was called with; an `__init__` of its own may have stored other `args`."""
    fields: Mapping[str, object] = field(default_factory=dict)
    """What Python has stored in it beside them."""

    def __post_init__(self) -> None:
        self.mutation_type = AttributeMutationNew()
        super().__post_init__()

    def describe(self) -> str:
        return qualified_name(self.python_type())

    def python_type(self) -> type:
        kind: type = getattr(self.cls, "value")  # noqa: B009  # a field only of those that have a class
        return kind

    def recipe(self) -> Recipe:
        return make_instance, self.cls, *self.args

    def _arguments(self, tx: Translator) -> VariableTracker:
        from stepper.native.variables.lists import TupleVariable

        stored = tx.output.side_effects.load_attr(self, "args")
        return TupleVariable(self.args, guards=self.guards) if stored is None else stored

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        stored = tx.output.side_effects.load_attr(self, name)
        if stored is not None:
            return tx.realize(stored)
        match name:
            case "args":
                return self._arguments(tx)
            case "__cause__" | "__context__" | "__traceback__":
                return ConstantVariable(None)
            case "__suppress_context__":
                return ConstantVariable(False)
            case "__class__":
                return self.cls
            case "value" if self.python_type() is StopIteration:
                return self.args[0] if self.args else ConstantVariable(None)
            case "add_note":
                return BoundBuiltinMethod(self, name, guards=self.guards)
        if name in self.fields:
            return ConstantVariable(self.fields[name])
        return self.attribute_of_class(tx, name)

    def attribute_of_class(self, tx: Translator, name: str, start: int = 0) -> VariableTracker:
        """What the first of its classes that has the name, from `start` of their order on, gives
        for this exception: a method of the program's, or the beginning that all exceptions have."""
        kind = self.python_type()
        owner, found = find(kind, name, start)
        if name == "__init__" and found in BEGINNINGS:
            return KnownCallVariable(self._init, types.MethodWrapperType, guards=self.guards)
        if type(found) is not types.FunctionType or self.cls.source is None:
            raise self.refuse(f"attribute {name}")
        of_class: Source = self.cls.source
        if find(kind, name)[0] is not owner:
            index = place_of(owner, order_of(kind))
            of_class = GetItemSource(AttrSource(of_class, "__mro__"), index)
        method = tx.build(AttrSource(of_class, name), found).bound_to(self)
        if method is None:
            raise self.refuse_method(name)
        return method

    def _init(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        """`BaseException.__init__`: it takes its arguments."""
        from stepper.native.variables.lists import TupleVariable

        if kwargs:
            raise self.refuse("a call of __init__ with keyword arguments")
        arguments = TupleVariable(args, **self.propagate(args))
        tx.output.side_effects.store_attr(self, "args", arguments)
        return ConstantVariable(None)

    def var_setattr(self, tx: Translator, name: str, value: VariableTracker) -> None:
        kind = self.python_type()
        if name == "__traceback__" and isinstance(value, TracebackVariable):
            pass
        elif has(kind, name) or lookup(kind, "__setattr__") is not _SETATTR:
            raise self.refuse(f"assignment to attribute {name}")
        tx.output.side_effects.store_attr(self, name, value)

    def call_method(
        self, tx: Translator, name: str, args: Arguments, kwargs: Keywords
    ) -> VariableTracker:
        from stepper.native.variables.lists import ListVariable

        text = len(args) == 1 and args[0].python_type() is str and not kwargs
        if name != "add_note" or not text or has(self.python_type(), "__notes__"):
            return super().call_method(tx, name, args, kwargs)
        notes = tx.output.side_effects.load_attr(self, "__notes__")
        if notes is None:
            notes = ListVariable.new([], self.guards)
            self.var_setattr(tx, "__notes__", notes)
        return tx.realize(notes).call_method(tx, "append", args, {})

    def shown(self, tx: Translator) -> VariableTracker:
        """`repr(exception)`."""
        from stepper.native.variables.folding import fold

        found = lookup(self.python_type(), "__repr__")
        if type(found) is types.FunctionType:
            return self.attribute_of_class(tx, "__repr__").call_function(tx, [], {})
        if found is not BaseException.__repr__:
            raise self.refuse("repr()")
        name, arguments = self.python_type().__name__, self._arguments(tx)

        def show(*args: object) -> str:
            return f"{name}({args[0]!r})" if len(args) == 1 else f"{name}{args!r}"

        return fold(show, arguments.unpack(tx), {}).with_guards(arguments.guards)

    def text(self, tx: Translator) -> VariableTracker:
        """`str(exception)`."""
        from stepper.native.variables.folding import fold

        found = lookup(self.python_type(), "__str__")
        if type(found) is types.FunctionType:
            return self.attribute_of_class(tx, "__str__").call_function(tx, [], {})
        if found not in _TEXTS:
            raise self.refuse("the text")
        arguments = self._arguments(tx).unpack(tx)
        if len(arguments) == 1:
            return fold(repr if found is KeyError.__str__ else str, arguments, {})
        return ConstantVariable("") if not arguments else fold(str, [self._arguments(tx)], {})

    def reconstruct(self, codegen: Codegen) -> None:
        if codegen.tx.output.side_effects.stored_names(self):
            raise self.refuse("the traceback")
        super().reconstruct(codegen)


class TracebackVariable(VariableTracker):
    """The traceback of an exception that was raised while tracing: nobody may look at it."""

    python_class = types.TracebackType

    def describe(self) -> str:
        return "a traceback"


def make_instance(kind: Any, *args: object) -> object:
    """Call a class; nothing is captured under it."""
    return kind(*args)


_C.set_skip(make_instance.__code__, "recursive")


def is_exception_class(tracker: VariableTracker) -> bool:
    """Whether a tracker stands for a class of exceptions."""
    value = getattr(tracker, "value", None)
    return issubclass(type(value), type) and issubclass(value, BaseException)  # type: ignore[arg-type]  # a class is asked


class ObservedException(Unsupported):
    """The program raises an exception: a graph break, unless the program catches it.

    value: the exception's tracker.
    again: it was raised before, and is only passed on.
    in_polyfill: what stands in the place of a builtin has raised it.
    """

    in_polyfill = False

    def __init__(self, value: ExceptionVariable, reason: str, *, again: bool = False) -> None:
        super().__init__(reason)
        self.value = value
        self.again = again

    def counts_as(self, kind: type[BaseException]) -> bool:
        """Whether `except kind` catches it."""
        return issubclass(self.value.python_type(), kind)


def raised(value: ExceptionVariable, *, again: bool = False) -> ObservedException:
    """To be raised where the program raises an exception; `again`: it goes on with one."""
    text = [repr(arg.value) for arg in value.args if isinstance(arg, ConstantVariable)]
    reason = Reason(f"{value.describe()}({', '.join(text)}) is raised", kind=break_kinds.RAISED)
    return ObservedException(value, reason, again=again)


def observed(kind: type[BaseException], *args: object, **fields: object) -> Unsupported:
    """To be raised where an operation of the program raises an exception of these, constants
    or trackers."""
    trackers = [arg if isinstance(arg, VariableTracker) else ConstantVariable(arg) for arg in args]
    return raised(ExceptionVariable(ExceptionClassVariable(kind), trackers, fields))


def no_attribute(kind: type, name: str) -> Unsupported:
    """To be raised where an object of this class has no such attribute."""
    text = f"{_C.class_name(kind)!r} object has no attribute {name!r}"
    return observed(AttributeError, text, name=name)


def empty_slot(kind: type, name: str) -> Unsupported:
    """To be raised where a slot of an object of this class holds nothing."""
    module = type.__dict__["__module__"].__get__(kind)
    if not EMPTY_SLOT_NAMES_MODULE or module in ("builtins", "__main__"):
        return no_attribute(kind, name)
    text = f"'{module}.{qualified_name(kind)}' object has no attribute {name!r}"
    return observed(AttributeError, text, name=name)


def observed_error(error: Exception) -> Unsupported:
    """To be raised where an operation on the program's own constants has raised."""
    if type(error) in _KNOWN and all(map(is_constant, error.args)):
        return observed(type(error), *error.args)
    return unimplemented(f"{type(error).__name__}: {error}")


_NOTHING = (lambda: None).__code__


def misfit(
    fn: types.FunctionType, args: Arguments, kwargs: Keywords, defaults: Keywords
) -> Unsupported:
    """To be raised where arguments do not fit a function. What is raised says one that has the same
    parameters, and does nothing."""
    code = fn.__code__
    if is_polyfill(code):
        return unimplemented(f"TypeError: the arguments of {fn.__qualname__} do not fit")
    bare = code.replace(
        co_code=_NOTHING.co_code, co_consts=_NOTHING.co_consts, co_names=(), co_freevars=(),
        co_cellvars=(), co_exceptiontable=b"", co_linetable=_NOTHING.co_linetable,
        co_flags=code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS) | _NOTHING.co_flags,
    )  # fmt: skip
    asked = types.FunctionType(bare, {}, fn.__name__)
    asked.__qualname__ = fn.__qualname__
    given = len(defaults.keys() & {*code.co_varnames[: code.co_argcount]})
    asked.__defaults__ = fn.__defaults__ or (None,) * given
    asked.__kwdefaults__ = fn.__kwdefaults__ or dict.fromkeys(defaults)
    try:
        asked(*(None,) * len(args), **dict.fromkeys(kwargs))
    except TypeError as error:
        return observed_error(error)
    return unimplemented(f"a call of {fn.__qualname__} with these arguments")


def cannot_unpack(
    value: VariableTracker, before: int, after: int | None = None, count: int | None = None
) -> Unsupported:
    """To be raised where a value is not unpacked to so many variables, `after`: those behind one
    that takes the rest. What is raised says another value that has as many items, `count`: all
    that there were, one after the other."""
    items = getattr(value, "items", None)
    kind = value.python_type()
    if value.is_python_constant() and not isinstance(items, list):
        example = value.as_python_constant()
    elif one_of(kind, (list, tuple)) and isinstance(items, list):
        example = kind([None] * len(items))
    elif count is not None and count < before + (after or 0):
        example = iter([None] * count)
    else:
        return unimplemented("ValueError: not as many values to unpack")
    rest = [] if after is None else ["*_", *["_"] * after]
    try:
        exec(f"[{', '.join(['_'] * before + rest)}] = value", {"value": example})
    except (TypeError, ValueError) as error:
        return observed_error(error)
    return unimplemented(f"unpacking {value.describe()}")
