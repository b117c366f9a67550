"""Objects of the program's classes that the frame makes.

Making one runs `__new__`, which is `object`'s in the end, and `__init__`; what the program has of
both is interpreted. What is stored in the object is a pending change like any other; where the
object is needed, transformed code makes an empty one and puts into it what it has then. What a
metaclass does in a `__call__` of its own is interpreted; a class with a `__del__` is refused.
"""

from __future__ import annotations

import collections
import enum
import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from stepper.native import break_contexts
from stepper.native.guards.class_dicts import (
    class_dict,
    flags_of,
    has,
    is_derived,
    lookup,
)
from stepper.native.guards.originals import is_original
from stepper.native.library import is_library
from stepper.native.source import Kept, Source
from stepper.native.variables import containers
from stepper.native.variables.base import (
    Arguments,
    AttributeMutationNew,
    Keywords,
    VariableTracker,
    tracker_class,
)
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.ctx_manager import InsideVariable
from stepper.native.variables.exceptions import (
    BEGINNINGS,
    PLAIN,
    ExceptionVariable,
    observed_error,
)
from stepper.native.variables.user_defined import (
    UserDefinedClassVariable,
    UserDefinedObjectVariable,
)
from stepper.native.versions import LAZY_PROPERTY
from stepper.support import break_kinds

if TYPE_CHECKING:
    from stepper.native.protocols import Codegen, Translator


@tracker_class
class NewObjectVariable(UserDefinedObjectVariable):
    """An object that the frame made.

    value: an empty instance of its class, which stands for it while tracing.
    """

    is_new = True

    cls: VariableTracker
    """The class of the object."""
    held: VariableTracker | None = None
    """What the object holds, if it is a container by inheritance."""

    def contents(self, tx: Translator) -> VariableTracker:
        assert self.held is not None
        return tx.output.side_effects.latest(self.held).with_guards(self.guards)

    def class_source(self) -> Source:
        if self.cls.source is None:
            raise self.refuse("the class")
        return self.cls.source

    def parts(self) -> Sequence[VariableTracker]:
        return [self.cls] if self.held is None else [self.cls, self.held]

    def begin(self, codegen: Codegen) -> None:
        """Push the object, empty."""
        base = containers.container_of(type(self.value)) or _maker_of(type(self.value))
        codegen.make(base.__new__, self.cls, *containers.given_to_make(self.held))

    def fill(self, codegen: Codegen, variable: str) -> None:
        """Store what the object has, which is in the variable."""
        stored = codegen.tx.output.side_effects.stored(self)
        if self.held is not None:
            base = containers.container_of(type(self.value))
            assert base is not None
            held = codegen.tx.output.side_effects.latest(self.held)
            most = stored.pop("maxlen", None) if base is collections.deque else None
            containers.write_contents(codegen, held, base, variable, most)
        for name, value in stored.items():
            by = self.stores_by(name)
            by = object.__setattr__ if by in (None, self.generic_setattr_method) else by
            codegen.do(by, Kept(variable), name, value)


def _refused(cls: VariableTracker) -> Exception:
    """To be raised where there is no model of how an object of a class is made."""
    kind = cls.as_python_constant()
    of_parameter = issubclass(kind, torch.nn.Parameter)
    return cls.refuse(
        "an instance",
        kind=break_kinds.PARAMETER if of_parameter else break_kinds.CALL,
        context=break_contexts.class_in_words(kind),
    )


def make_new(
    tx: Translator, cls: UserDefinedClassVariable, args: Arguments, kwargs: Keywords
) -> VariableTracker:
    """`type.__call__(cls, *args, **kwargs)`."""
    kind = cls.value
    begin = lookup(kind, "__init__")
    if issubclass(kind, BaseException):
        return _make_exception(tx, cls, args, kwargs)
    if kind is LAZY_PROPERTY and is_original(tx.output, kind, "__init__"):
        return InsideVariable(kind, tx.root.current_instruction.index)
    base = containers.container_of(kind)
    maker = _maker_of(kind) if base is None else dict if issubclass(base, dict) else base
    makes = lookup(kind, "__new__")
    if not _is_plain(cls):
        if makes is maker.__dict__["__new__"] and _is_abstract(kind):
            _raise_what_is_abstract(kind, called=bool(args or kwargs))
        raise _refused(cls)
    if type(makes) is staticmethod:
        return _make_by_program(tx, cls, args, kwargs)
    if makes is not maker.__dict__["__new__"]:
        raise _refused(cls)
    made_whole = base in (tuple, frozenset)
    by_object = begin is object.__init__ and (made_whole or not (args or kwargs))
    stores = begin is types.SimpleNamespace.__init__ and not args
    inherited = base is not None and containers.inherits(kind, "__init__")
    if not by_object and not inherited and not stores and type(begin) is not types.FunctionType:
        raise _refused(cls)
    if made_whole and (len(args) > 1 or kwargs):
        raise _refused(cls)
    held = None if base is None else containers.new_contents(tx, base, args)
    made = make_empty(cls, maker, held, given=bool(maker is object and (args or kwargs)))
    if inherited:
        containers.call_inherited(tx, made, "__init__", args, kwargs)
    elif stores:
        for name, value in kwargs.items():
            tx.output.side_effects.store_attr(made, name, value)
    elif not by_object:
        _call_init(tx, made, args, kwargs)
    return made


def make_by_object(tx: Translator, cls: VariableTracker) -> VariableTracker | None:
    """`object.__new__(cls)`; None: it is no class of which an object can be made here."""
    if not isinstance(cls, UserDefinedClassVariable) or containers.container_of(cls.value):
        return None
    if not _is_plain(cls) or issubclass(cls.value, BaseException):
        return None
    return make_empty(cls, object, None)


def make_container(
    tx: Translator, cls: VariableTracker, base: type, args: Arguments
) -> VariableTracker | None:
    """`base.__new__(cls, *args)`, of a builtin container; None: see `make_by_object`."""
    of = containers.container_of(cls.value) if isinstance(cls, UserDefinedClassVariable) else None
    if of is None or not (base is of or (base is dict and issubclass(of, dict))):
        return None
    assert isinstance(cls, UserDefinedClassVariable)
    if not _is_plain(cls) or (base in (tuple, frozenset) and len(args) > 1):
        return None
    return make_empty(cls, base, containers.new_contents(tx, of, args))


def _is_plain(cls: UserDefinedClassVariable) -> bool:
    """Whether making an instance runs `__new__` and `__init__`, and no more."""
    kind = cls.value
    called = lookup(type(kind), "__call__")
    plain = called is type.__dict__["__call__"] or (
        type(called) is types.FunctionType and not issubclass(type(kind), enum.EnumMeta)
    )
    plain = plain and not _is_abstract(kind) and not issubclass(kind, torch.Tensor)
    return plain and cls.source is not None and not has(kind, "__del__")


def _is_abstract(kind: type) -> bool:
    """Whether a class leaves methods open; it is looked at again once it is told other ones."""
    lookup(kind, "__abstractmethods__")
    return bool(flags_of(kind) & _IS_ABSTRACT)


def _raise_what_is_abstract(kind: type, *, called: bool) -> None:
    """Have the error be raised that says which methods an abstract class leaves open."""
    plain = lookup(type(kind), "__call__") is type.__dict__["__call__"]
    fits = not called or lookup(kind, "__init__") is not object.__init__
    if not plain or not fits:
        return
    try:
        object.__new__(kind)
    except TypeError as error:
        raise observed_error(error) from None


def _maker_of(kind: type) -> type:
    """Whose `__new__` makes an empty one."""
    bases = (types.SimpleNamespace, *(base for base, _ in KEEPING_MORE))
    return next((base for base in bases if is_derived(kind, base)), object)


KEEPING_MORE: list[tuple[type, type[NewObjectVariable]]] = []
"""Classes in C of which an object keeps more than its attributes, and the trackers of such that the
frame made."""
_IS_ABSTRACT = 1 << 20
"""Set in the flags of a class that has methods without a body."""


def make_empty(
    cls: VariableTracker, maker: type, held: VariableTracker | None, *, given: bool = False
) -> NewObjectVariable:
    """An object of a class, before anything is stored in it.

    given: whether it is called with arguments, which are for its `__init__`.
    """
    try:
        make: Any = maker.__new__
        empty = make(cls.as_python_constant(), *[None] * given)
    except TypeError:  # a class in C, or one of which `__new__` was deleted: Python remembers it
        raise _refused(cls) from None
    options = VariableTracker.propagate(cls)
    of = next((of for base, of in KEEPING_MORE if base is maker), NewObjectVariable)
    return of(empty, cls, held, mutation_type=AttributeMutationNew(), **options)


def _make_by_program(
    tx: Translator, cls: UserDefinedClassVariable, args: Arguments, kwargs: Keywords
) -> VariableTracker:
    """An instance of a class that has a `__new__`, which may give something else, too."""
    function = cls.var_getattr(tx, "__new__")
    made = function.call_function(tx, [cls, *args], kwargs)
    if not issubclass(made.python_type(), cls.value):
        return made
    if not isinstance(made, NewObjectVariable):
        raise _refused(cls)
    begin = lookup(made.python_type(), "__init__")
    if type(begin) is types.FunctionType:
        _call_init(tx, made, args, kwargs)
    elif containers.inherits(made.python_type(), "__init__"):
        containers.call_inherited(tx, made, "__init__", args, kwargs)
    elif begin is not object.__init__:
        raise _refused(cls)
    return made


def _call_init(
    tx: Translator, made: NewObjectVariable | ExceptionVariable, args: Arguments, kwargs: Keywords
) -> None:
    method = made.attribute_of_class(tx, "__init__")
    result = method.call_function(tx, args, kwargs)
    if not isinstance(result, ConstantVariable) or result.value is not None:
        raise made.cls.refuse("an instance whose __init__ returns something, making")


def _make_exception(
    tx: Translator, cls: UserDefinedClassVariable, args: Arguments, kwargs: Keywords
) -> VariableTracker:
    kind = cls.value
    makes, begin = lookup(kind, "__new__"), lookup(kind, "__init__")
    if makes not in [class_dict(each).get("__new__") for each in PLAIN]:
        raise _refused(cls)
    check = lookup(type(kind), "__subclasscheck__")  # where it is caught, that is asked
    asks = type(check) is types.FunctionType and not is_library(check.__code__.co_filename)
    if has(kind, "__del__") or asks:
        raise _refused(cls)
    made = ExceptionVariable(cls, args, **VariableTracker.propagate(cls, args))
    if begin in BEGINNINGS and not kwargs:
        return made
    has_own = type(begin) is types.FunctionType and type(kind) is type
    if not has_own:
        raise _refused(cls)
    _call_init(tx, made, args, kwargs)
    return made
