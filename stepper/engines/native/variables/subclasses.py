"""Whether a class counts as a subclass of another, without running anybody's code.

Of a class whose metaclass is `type` the order of classes says it. An abstract class is asked by
`ABCMeta`: it calls the hooks of the class and of all its subclasses, and looks at what has been
registered with any of them. So first it is made sure that there are no hooks but those of Python's
own abstract classes; then it may be asked. That something counts as a subclass is for good; that it
does not, a later `register` can change, and so this is guarded by the same question.
"""

from __future__ import annotations

import abc
import builtins
import inspect
from _abc import _get_dump  # type: ignore[import-not-found]
from collections.abc import Iterable
from typing import Any

import torch

from stepper.engines.native.exc import unimplemented
from stepper.engines.native.guard_builder import GuardBuilder
from stepper.engines.native.variables.base import VariableTracker

_NO_HOOK: Any = object.__dict__["__subclasshook__"]
_STANDARD = ("collections.abc", "numbers", "typing")


def is_subclass(kind: type, of: type) -> bool:
    """`issubclass`.

    Raises:
        Unsupported: it runs somebody's code.
    """
    if type(of) is abc.ABCMeta:
        if of in kind.__mro__ and _has_no_hook(of):
            return True
        if of.__module__ in _STANDARD or _runs_nothing(of):
            return issubclass(kind, of)
    elif of is torch.nn.Parameter or type(of) is type or isinstance(of, type(torch.Tensor)):
        return of in kind.__mro__
    raise unimplemented(f"isinstance with {of.__name__}, whose class is {type(of).__name__}")


def counts_as(tx: Any, kind: type, name: str, of: VariableTracker, cls: type) -> bool:
    """The same, guarded.

    Args:
        tx: who asks.
        kind: the class that may be a subclass.
        name: what is asked about it, as an expression; empty: nothing leads to it.
        of: the tracker of the other class.
        cls: the other class.

    Raises:
        Unsupported: it runs somebody's code, or the answer cannot be guarded.
    """
    if is_subclass(kind, cls):
        return True
    if type(cls) is abc.ABCMeta and cls.__module__ not in _STANDARD:
        if of.source is None or not name:
            raise unimplemented(f"isinstance with {cls.__name__}, which has no name here")
        text = f"not issubclass({name}, {of.source.name()})"
        install = tx.output.install_guard
        tx.output.chosen(install(of.source, GuardBuilder.EXPRESSION, name=text))
    return False


def name_of_class(value: VariableTracker) -> str:
    """An expression for the class of a value; empty: there is none."""
    cls = getattr(value, "cls", None)
    if isinstance(cls, VariableTracker):
        return "" if cls.source is None else cls.source.name()
    if value.source is not None:
        return f"type({value.source.name()})"
    kind = value.python_type()
    if kind is torch.Tensor:
        return "___Tensor"
    if kind is type(None):
        return "type(None)"
    return kind.__name__ if getattr(builtins, kind.__name__, None) is kind else ""


def _runs_nothing(of: type) -> bool:
    """Whether to ask an abstract class runs nothing but Python's own code."""
    return _has_no_hook(of) and all(
        type(each) is type or (type(each) is abc.ABCMeta and _runs_nothing(each))
        for each in (*_registered(of), *type.__subclasses__(of))
    )


def _has_no_hook(of: type) -> bool:
    hook = inspect.getattr_static(of, "__subclasshook__")
    return hook is _NO_HOOK or getattr(hook, "__module__", "") in _STANDARD


def _registered(of: type) -> Iterable[type]:
    return [each for each in (reference() for reference in _get_dump(of)[0]) if each is not None]
