"""Modules of `torch.nn`.

A module is known as other objects are, by its class and by what was read of it: so one entry serves
all layers that are alike. Calling it means calling its `forward`, unless it has hooks; whether it
has is guarded, and so is its `training` mode. Parameters and buffers are inputs of the graph,
checked like all tensors.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING

import torch
import torch.fx
from torch.nn.modules import module as nn_module

from stepper.native import versions
from stepper.native.guards.class_dicts import find, has, lookup
from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.guards.originals import is_original
from stepper.native.guards.scope import HOOKS_OF_CALLS, has_hooks
from stepper.native.source import AttrSource, GetItemSource
from stepper.native.variables.base import (
    Arguments,
    Keywords,
    VariableTracker,
    tracker_class,
)
from stepper.native.variables.builtin_methods import KnownCallVariable
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.dicts import ConstDictVariable
from stepper.native.variables.exceptions import no_attribute
from stepper.native.variables.lazy_module import is_to_be_prepared, prepare
from stepper.native.variables.lists import SliceVariable, TupleVariable
from stepper.native.variables.user_defined import UserDefinedObjectVariable
from stepper.native.versions import is_called_plainly

if TYPE_CHECKING:
    from stepper.native.protocols import Translator

_REGISTRIES = ("_parameters", "_buffers", "_modules")
"""Where a module has what is no plain attribute."""

_OF_CALLS = frozenset(
    {
        "forward", "_call_impl", "_compiled_call_impl", "_forward_hooks", "_forward_pre_hooks",
        "_backward_hooks", "_backward_pre_hooks", "_non_persistent_buffers_set",
    }
)  # fmt: skip
"""Attributes that decide what calling the module means."""


_CALLED = frozenset({"_call_impl", "_compiled_call_impl"})
"""Attributes of a module's own that are called in the place of its class's methods, by C."""


def _is_changed(tx: Translator, held: object) -> bool:
    """Whether the frame has changed a dictionary that was there before."""
    known, inside = tx.output.variables.get(id(held)), tx.output.contents.get(id(held))
    newest = tx.output.side_effects.newest
    return any(each.mutation_type in newest for each in (known and known[1], inside) if each)


def has_hooks_of_all(tx: Translator, names: tuple[str, ...]) -> bool:
    """Whether hooks are registered for all modules; that there are none is guarded.

    names: of torch's dictionaries of them.
    """
    if any(vars(nn_module)[name] or _is_changed(tx, vars(nn_module)[name]) for name in names):
        return True
    tx.output.install_guard(None, GuardBuilder.MODULE_HOOKS, names, name=", ".join(names))
    return False


def _is_of_torch(tx: Translator, kind: type, name: str) -> bool:
    return is_original(tx.output, kind, name, of=torch.nn.Module)


_OF_GRAPHS = next(
    each
    for each in torch.fx.GraphModule.recompile.__code__.co_consts
    if isinstance(each, types.CodeType) and each.co_name == "call_wrapped"
)
"""The code of the method that a class of graph modules is given for a `__call__`."""


def _is_plain_graph(module: NNModuleVariable, called: object) -> bool:
    """Whether a graph module's class comes to `nn.Module.__call__`; it has only this object."""
    next_owner = find(type(module.value), "__call__", 1)[0]
    plain = is_called_plainly(module.value) and next_owner is torch.nn.Module
    return plain and getattr(called, "__code__", None) is _OF_GRAPHS


class NNModuleVariable(UserDefinedObjectVariable):
    """A module."""

    def missing(self, tx: Translator, name: str) -> VariableTracker:
        if not _is_of_torch(tx, type(self.value), "__getattr__"):
            if find(type(self.value), "__getattr__")[0] is torch.nn.Module:
                raise self.refuse(f"attribute {name}")
            return super().missing(tx, name)
        return self.registered(tx, name)

    def attribute_of_class(self, tx: Translator, name: str, start: int = 0) -> VariableTracker:
        found = find(type(self.value), name, start)
        if name == "__getattr__" and found[0] is torch.nn.Module:
            return KnownCallVariable(self._getattr, guards=self.guards)
        return super().attribute_of_class(tx, name, start)

    def _getattr(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        """`nn.Module.__getattr__`, where its class has a method of its own before that."""
        if len(args) != 1 or kwargs:
            raise self.refuse("a call of __getattr__ with these arguments")
        return self.registered(tx, args[0].as_python_constant())

    def registered(self, tx: Translator, name: str) -> VariableTracker:
        """What `nn.Module.__getattr__` gives."""
        if not _is_of_torch(tx, torch.nn.Module, "__getattr__"):
            raise self.refuse(f"attribute {name}")
        fields = self.instance_dict()
        for where in _REGISTRIES:
            known = tx.output.variables.get(id(fields[where]))
            begun = None if known is None else known[1]
            now = None if begun is None else tx.output.side_effects.latest(begun)
            if isinstance(now, ConstDictVariable) and now is not begun:
                if name in now.items:
                    return tx.realize(now.items[name])
            elif name in fields[where]:
                source = GetItemSource(AttrSource(self._source(), where), name)
                return tx.build(source, fields[where][name])
        if self.source is not None:
            own = self.source.name()
            # To ask the module itself would make it raise an error, at every call.
            places = [f"{name!r} not in {own}.{place}" for place in ("__dict__", *_REGISTRIES)]
            condition = " and ".join(places)
            install = tx.output.install_guard
            tx.output.chosen(install(self.source, GuardBuilder.EXPRESSION, name=condition))
        raise no_attribute(type(self.value), name)

    def generic_setattr(self, tx: Translator, name: str, value: VariableTracker) -> None:
        if name in _OF_CALLS:
            raise self.refuse(f"assignment to attribute {name}")
        super().generic_setattr(tx, name, value)

    def truth(self, tx: Translator) -> bool:
        if has(type(self.value), "__len__") and not has(type(self.value), "__bool__"):
            return bool(self.length(tx).as_python_constant())
        return super().truth(tx)

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        kind = type(self.value)
        if (inner := vars(kind).get("stands_for_module")) is not None:
            return self.registered(tx, inner).call_function(tx, args, kwargs)
        if kind is versions.optimized_module():
            if has_hooks_of_all(tx, HOOKS_OF_CALLS):  # it warns
                raise self.refuse("a call with hooks of all modules")
            return self.var_getattr(tx, "_call_impl").call_function(tx, args, kwargs)
        owner, called = find(kind, "__call__")
        of_graph = isinstance(self.value, torch.fx.GraphModule) and _is_plain_graph(self, called)
        if owner is not torch.nn.Module and not of_graph:
            return super().call_function(tx, args, kwargs)
        torchs = _is_of_torch(tx, torch.nn.Module if of_graph else kind, "__call__")
        if not torchs or not _is_of_torch(tx, kind, "_call_impl"):
            raise self.refuse("a call, which is not torch's own,")
        if lookup(kind, "_compiled_call_impl") is not None:
            raise self.refuse("a call that is compiled by itself")
        if has_hooks_of_all(tx, HOOKS_OF_CALLS):
            raise self.refuse("a call with hooks of all modules")
        if is_to_be_prepared(self.value, tx):
            raise prepare(tx, self.value, args, kwargs)
        fields = self.instance_dict()
        if has_hooks(self.value) or any(_is_changed(tx, fields.get(each)) for each in _OF_CALLS):
            if not _CALLED.isdisjoint(name for name in fields if fields[name] is not None):
                raise self.refuse("a call that is replaced")
            return self.attribute_of_class(tx, "_call_impl").call_function(tx, args, kwargs)
        forward = self.attribute_of_class(tx, "forward")
        return forward.call_function(tx, args, kwargs)

    def getitem(self, tx: Translator, key: VariableTracker) -> VariableTracker:
        of_class = lookup(type(self.value), "__getitem__")
        if isinstance(key, SliceVariable) and of_class is torch.nn.ModuleList.__getitem__:
            items = TupleVariable(self.unpack(tx), guards=self.guards).getitem(tx, key)
            return ModuleListSliceVariable(items, **self.propagate(items))
        return super().getitem(tx, key)


@tracker_class
class ModuleListSliceVariable(VariableTracker):
    """A slice of a `ModuleList`, which is a list of its own: to go through."""

    python_class = torch.nn.ModuleList

    items: VariableTracker
    """A tuple of its modules."""

    def unpack(self, tx: Translator) -> list[VariableTracker]:
        return self.items.unpack(tx)

    def getitem(self, tx: Translator, key: VariableTracker) -> VariableTracker:
        if isinstance(key, SliceVariable):
            raise self.refuse("a slice")
        return self.items.getitem(tx, key)

    def length(self, tx: Translator) -> VariableTracker:
        """`len(slice)`."""
        return ConstantVariable(len(self.unpack(tx)), guards=self.guards)
