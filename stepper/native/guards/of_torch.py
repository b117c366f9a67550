"""What torch's own functions that are written in Python do, as long as nobody has replaced a part
of it.

`F.relu` is a node: it is not interpreted, and what it gives is known from a run on fake tensors.
But its code looks `torch.relu` up when it runs, and a program may have put a function of its own
there: that would run while the graph is made, and what is known of the result would not hold
afterwards. So the names that such a function may look up, and those of the functions of torch that
it may call, are read off their codes: none of them may mean something of the program's, and all of
that is checked with the entry (`NamespaceCheck`), as is each function's own code and defaults.

Names are taken for attributes of any module or object that the code names: one too many costs
nothing.
"""

from __future__ import annotations

import functools
import sys
import types
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from stepper._C import NamespaceCheck
from stepper.native.exc import unimplemented
from stepper.native.guards.class_dicts import is_fixed, lookup, module_of
from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.library import TORCH, is_library
from stepper.native.versions import FILLED_WHEN_ASKED
from stepper.support.disassembly import disassemble
from stepper.support.words import Classes

if TYPE_CHECKING:
    from stepper.native.protocols import Output

_NEVER_CALLED = frozenset({"handle_torch_function"})
"""With plain tensors."""
ABSENT = NamespaceCheck
"""Stands for what is not there, in what a check knows."""
_HOLDING = Classes(functools.partial, types.MethodType, staticmethod, classmethod)
"""What runs a function that is in it."""

_OF_CLASSES = ("__new__", "__init__", "__call__", "__enter__", "__exit__")
"""Methods that run where a class is called, or what comes of that."""


class _Read(NamedTuple):
    """What a function may call.

    check: says that it is all what it was.
    classes: those of torch that it names itself.
    """

    check: NamespaceCheck
    classes: list[type]


_known: weakref.WeakKeyDictionary[types.FunctionType, _Read] = weakref.WeakKeyDictionary()


def require_function(output: Output, function: object) -> None:
    """Have checked that a function stays what it is, if it is one of torch's in Python.

    Raises:
        Unsupported: it may call what is not torch's.
    """
    if is_of_torch(function):
        guard_function(output, function, check_of_function(function))


def guard_function(output: Output, function: types.FunctionType, check: NamespaceCheck) -> None:
    """Have a check asked of a function that is known and not interpreted."""
    name = f"{function.__module__}.{function.__qualname__}"
    install = output.install_guard
    install(None, GuardBuilder.ORIGINAL_FUNCTION, (function.__name__, check), name)


def check_of_function(function: types.FunctionType) -> NamespaceCheck:
    """The check that a function of torch is what it is now, and all that it may call.

    Raises:
        Unsupported: it may call what is not torch's.
    """
    known = _known.get(function)
    if known is None or not known.check():
        known = _known[function] = _read(function)
    for cls in known.classes:
        _methods(cls)  # which has them checked with the class
    return known.check


def is_of_torch(function: object) -> TypeGuard[types.FunctionType]:
    """Whether it is a function of torch that is written in Python."""
    return type(function) is types.FunctionType and function.__code__.co_filename.startswith(TORCH)


def _read(function: types.FunctionType) -> _Read:
    namespaces: dict[int, tuple[dict[str, object], dict[str, object]]] = {}
    functions: dict[int, types.FunctionType] = {}
    classes: dict[int, type] = {}
    pending: list[Any] = [function]
    while pending:
        each = pending.pop()
        if is_of_torch(each) and id(each) not in functions:
            functions[id(each)] = each
            if each.__kwdefaults__:
                keywords = each.__kwdefaults__
                namespaces[id(keywords)] = keywords, dict(keywords)
            for names, name, value in _looked_up(each):
                if value is not ABSENT and not _belongs(value, str(names.get("__name__"))):
                    reason = f"{function.__name__}, which calls {name}, which is replaced,"
                    raise unimplemented(reason)
                namespaces.setdefault(id(names), (names, {}))[1][name] = value
                pending.append(value)
                if each is function and _is_class_of_torch(value):
                    classes[id(value)] = value
                    pending += _methods(value)
            pending += _held(each)
    check = NamespaceCheck(list(namespaces.values()), list(functions.values()))
    return _Read(check, list(classes.values()))


def _is_class_of_torch(value: object) -> TypeGuard[type]:
    """Whether it is a class of torch's that can be changed."""
    return isinstance(value, type) and _family(module_of(value)) == "torch" and not is_fixed(value)


def _methods(cls: type) -> list[object]:
    return [lookup(cls, name) for name in _OF_CLASSES]


def _looked_up(function: types.FunctionType) -> Iterator[tuple[dict[str, object], str, object]]:
    """What a function's code may look up: where, the name, what is there; `ABSENT`: nothing."""
    codes = list(_codes(function.__code__))
    wanted = {name for code in codes for name in code.co_names} - _NEVER_CALLED
    for inst in (inst for code in codes for inst in disassemble(code)):
        if inst.opname == "STORE_GLOBAL":  # what it notes itself, as it runs
            wanted.discard(inst.argval)
    seen: set[int] = set()
    pending = [function.__globals__]
    while pending:
        names = pending.pop()
        if id(names) in seen:
            continue
        seen.add(id(names))
        for name in wanted:
            value = names.get(name, ABSENT)
            yield names, name, value
            fields = getattr(value, "__dict__", None)
            if type(fields) is dict:  # no class has one
                if type(value) in FILLED_WHEN_ASKED:  # as the function's first call would have it
                    for member in wanted:
                        getattr(value, member, None)
                pending.append(fields)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for each in code.co_consts:
        if type(each) is types.CodeType:
            yield from _codes(each)


def _held(function: types.FunctionType) -> Iterator[object]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:
            continue


def _belongs(value: object, module: str) -> bool:
    """Whether what a module has under a name is its own, or a library's: nothing of the program's
    runs by it."""
    kind = type(value)
    if kind in _HOLDING or kind is object:
        return False
    if kind is types.FunctionType:
        source: Any = value
        own = (_family(module), _REQUIRED)
        return is_library(source.__code__.co_filename) or _family(source.__module__) in own
    cls = value if isinstance(value, type) else kind
    said = module_of(cls)
    file = getattr(sys.modules.get(said), "__file__", None)
    own = (_family(module), _REQUIRED)
    return bool(said) and (file is None or is_library(file) or _family(said) in own)


_REQUIRED = "typing_extensions"
"""What torch has what newer Pythons have from: no package of the program's."""


def _family(module: str) -> str:
    return module.partition(".")[0]
