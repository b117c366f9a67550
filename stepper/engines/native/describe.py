"""What a tracker is, for the recording: its value, its source, and the guards it depends on.

Trackers are ours, so this could call their methods; it only reads their fields all the same, since
a method may make guards. Of user's objects only the names of classes and functions are read.
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable
from typing import Any

import torch

from stepper._C import CONSTANT, MAX_ITEMS, NOTHING, ORDINARY, Facts
from stepper.debuggee.engine import Flavour
from stepper.engines.common.describing import TorchDescriber
from stepper.engines.common.tensors import ShownWith, fake_tensor_meta, hint_text, symbol_text
from stepper.engines.common.words import MUTABILITY
from stepper.model.method_names import Owner, owner_of
from stepper.model.ranges import Ranges
from stepper.model.trace import Block
from stepper.model.value import MODULE_FACT, Item, Value, ValueId
from stepper.native.variables.base import (
    NO_GUARDS,
    Guards,
    LazyVariableTracker,
    NullVariable,
    VariableTracker,
)
from stepper.native.variables.builtin_methods import BoundBuiltinMethod, UnboundMethodVariable
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.dicts import ConstDictVariable
from stepper.native.variables.functions import CellVariable
from stepper.native.variables.sym_node import SymNodeVariable
from stepper.native.variables.tensor import TensorVariable
from stepper.recording.packing import pack
from stepper.support.words import callable_name, class_name, is_subclass, plain_text


class NativeDescriber(TorchDescriber):
    """See `stepper.debuggee.engine.Describer`. Every tracker is described here, and none of its
    fields is read in C."""

    def __init__(self) -> None:
        self.newest: Callable[[VariableTracker], VariableTracker] = lambda tracker: tracker
        """What the object of a tracker is now."""
        self._shown: weakref.WeakKeyDictionary[object, weakref.WeakSet[object]]
        self._shown = weakref.WeakKeyDictionary()
        self.pending: Callable[[VariableTracker], dict[str, VariableTracker]] = lambda _: {}
        self.ranges: Callable[[Guards], Ranges] = lambda _: ()
        """The recorded numbers of guards."""
        self.shown_with = ShownWith()
        self.facts = Facts(self, VariableTracker, torch.nn.Module, pack((MODULE_FACT,)))

    def shown(self, tracker: VariableTracker) -> list[VariableTracker]:
        """The trackers that have been described as this one's object."""
        return [tracker, *self._shown.get(tracker.mutation_type, ())]

    def special(
        self, tracker: Any, fields: dict[str, object], number: Callable[[object], ValueId]
    ) -> int | None:
        described = tracker
        if tracker.mutation_type is not None:
            self._shown.setdefault(tracker.mutation_type, weakref.WeakSet()).add(tracker)
            tracker = self.newest(tracker)
            fields = tracker.__dict__
        value = self._value(tracker, fields, number)
        if value.tensor is not None or type(tracker) is SymNodeVariable:
            self.shown_with.note(value, described)
        return self.facts.id_of(pack(value), tuple([item.value for item in value.items]))

    def owner(self, tracker: object) -> Owner | None:
        if not isinstance(tracker, VariableTracker):
            return None
        if isinstance(tracker, CellVariable):
            inner = self.pending(tracker).get("cell_contents", tracker.pre_existing_contents)
            return None if inner is None else self.owner(inner)
        kind = type(tracker.__dict__.get("value"))
        source = "" if tracker.source is None else tracker.source.name()
        return owner_of(source, class_name(kind), module=is_subclass(torch.nn.Module, kind))

    def forget(self) -> None:
        self.shown_with.clear()

    def _value(
        self, tracker: Any, fields: dict[str, Any], number: Callable[[object], ValueId]
    ) -> Value:
        kind = type(tracker)
        items, length = self._items(tracker, fields, number)
        text, type_name, constant = _words(tracker, fields, length)
        proxy = fields.get("proxy")
        node = proxy.node if proxy is not None else None
        meta = None
        if kind is TensorVariable and node is not None:
            meta = fake_tensor_meta(node.meta.get("example_value"))
            text = meta.brief if meta is not None else text
        mutation = fields.get("mutation_type")
        source = fields.get("source")
        lazy = kind is LazyVariableTracker
        module = lazy and is_subclass(torch.nn.Module, type(fields["value"]))
        return Value(
            cls=kind.__name__,
            type=type_name,
            text=text,
            source="" if source is None else source.name(),
            mutability="immutable" if mutation is None else MUTABILITY[type(mutation).__name__],
            items=items,
            length=length,
            constant=constant,
            tensor=meta,
            node="" if node is None else node.name,
            attributes=(MODULE_FACT,) if module else (),
            lazy=lazy,
            guards=self.ranges(fields.get("guards", NO_GUARDS)),
        )

    def _items(
        self, tracker: Any, fields: dict[str, object], number: Callable[[object], ValueId]
    ) -> tuple[tuple[Item, ...], int | None]:
        found: list[tuple[str, object]] = []
        length = None
        if isinstance(tracker, UnboundMethodVariable):
            fields = tracker.bound.__dict__
        held = fields.get("items")
        if isinstance(tracker, ConstDictVariable):
            length = len(tracker.items)
            found = [(f"[{plain_text(key)}]", item) for key, item in tracker.items.items()]
        elif type(held) is list:
            length = len(held)
            found = [(f"[{index}]", item) for index, item in enumerate(held)]
        elif isinstance(tracker, CellVariable):
            stored = self.pending(tracker).get("cell_contents", tracker.pre_existing_contents)
            found = [("cell_contents", stored)] if stored is not None else []
        else:
            names = ("base", "obj", "fn", "objvar")
            found = [
                (f".{name}", fields[name])
                for name in names
                if is_subclass(VariableTracker, type(fields.get(name)))
            ]
        if not isinstance(tracker, CellVariable) and tracker.mutation_type is not None:
            found += [(f".{name}", item) for name, item in self.pending(tracker).items()]
        return tuple(Item(label, number(item)) for label, item in found[:MAX_ITEMS]), length

    def key_text(self, key: object) -> str:
        return plain_text(key)

    def mutability(self, kind: type) -> tuple[str, bool]:
        return MUTABILITY.get(kind.__name__, kind.__name__), False

    def source_text(self, source: Any) -> str:
        return str(source.name())

    def flavour(self, kind: type) -> Flavour:
        if kind is ConstantVariable:
            return CONSTANT
        return NOTHING if kind is NullVariable else ORDINARY

    def block(self, translator: Any, block: Any) -> Block:
        index, exit_function = block
        return Block(ip=index, target=None, stack_index=0, context=type(exit_function).__name__)


def _words(
    tracker: Any, fields: dict[str, object], length: int | None
) -> tuple[str, str, str | None]:
    """A tracker's text, the name of its type, and the text of a constant."""
    kind = type(tracker)
    if kind is NullVariable:
        return "NULL", "NULL", None
    if kind is ConstantVariable:
        text = plain_text(tracker.value)
        return text, type(tracker.value).__name__, text
    if kind is SymNodeVariable:
        symbol = tracker.sym_num
        text = ", now ".join(filter(None, (symbol_text(symbol), hint_text(symbol))))
        return text, tracker.python_type().__name__, None
    value = fields.get("value", fields.get("fn"))
    if kind is LazyVariableTracker:
        name = type(value).__name__
        return f"{name} (not looked at yet)", name, None
    try:
        type_name = tracker.python_type().__name__
    except NotImplementedError:
        type_name = ""
    if value is None or is_subclass(VariableTracker, type(value)):
        value = fields.get("code", fields.get("local_name"))
    bound = tracker.bound if kind is UnboundMethodVariable else tracker
    if isinstance(bound, BoundBuiltinMethod):
        value = f".{bound.name}"
    text = value if type(value) is str else callable_name(value) if value is not None else ""
    if type(value) is types.CodeType:
        text = value.co_qualname
    if not text and length is not None:
        text = f"{type_name} of {length}"
    if not text and type(value) is range:
        text = repr(value)
    return text or type_name, type_name, None
