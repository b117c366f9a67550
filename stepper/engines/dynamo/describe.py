"""What a VariableTracker is, said without touching it.

The rule. Describing must not run anybody's code: no property, method or `__repr__` of a tracker
(many realize a lazy tracker, which installs guards) and none of a user's object (which could do
anything). So everything here reads instance dictionaries through `object`, dispatches on `type(x)`
(`isinstance` realizes lazy trackers, and asks a user's object for `__class__`), and turns only
exact builtin and torch types to text.

The cost. A tracker is described once per step in which it is new or was mutated, so this is the
hottest part of recording. Most kinds are described in C (csrc/describe/facts.c, by the same rule),
which asks here what a class is, once, and leaves to us the kinds that are like no other. Equal
descriptions are stored once.
"""

from __future__ import annotations

import collections
import operator
import types
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import torch

from stepper._C import (
    AS_CELL,
    AS_CONSTANT,
    AS_LAZY,
    AS_MAPPING,
    AS_PARTS,
    AS_SEQUENCE,
    AS_SET,
    AS_TENSOR,
    BY_ENGINE,
    BY_NAME,
    CONSTANT,
    LAZY,
    MAX_ITEMS,
    NOTHING,
    ORDINARY,
    Facts,
)
from stepper._C import fields as fields_of
from stepper.debuggee.engine import Flavour, Recipe
from stepper.engines.common.describing import TorchDescriber
from stepper.engines.common.tensors import ShownWith, fake_tensor_meta, symbol_text, tensor_meta
from stepper.engines.common.versions import source_name
from stepper.engines.common.words import MUTABILITY
from stepper.engines.dynamo.versions import ConstantVariable, NullVariable, VariableTracker
from stepper.model.method_names import Owner, owner_of
from stepper.model.trace import Block
from stepper.model.value import MODULE_FACT, Item, TensorMeta, Value, ValueId
from stepper.recording.packing import pack
from stepper.support.words import (
    callable_name,
    class_name,
    classes_of,
    is_plain,
    is_subclass,
    one_of,
    plain_text,
)

_DICTS = frozenset({collections.OrderedDict, collections.defaultdict})
"""Kinds of dict that are read here; an exact one is read in C."""

_IMMUTABLE = "immutable"
_WITH_ATTRIBUTES = ("AttributeMutationNew", "AttributeMutationExisting")

Fields = dict[str, Any]
Number = Callable[[object], ValueId]
Special = Callable[["DynamoDescriber", type, Fields, Number], Value | None]


_number_of = operator.attrgetter("value")


class DynamoDescriber(TorchDescriber):
    """Says what trackers are; each equal description is stored once, by `facts`."""

    alike = frozenset(
        {torch.dtype, torch.device, torch.layout, torch.memory_format, types.EllipsisType, bytes}
    )

    def __init__(self) -> None:
        self.realized: dict[int, tuple[Any, object]] = {}
        """By id: caches that the current instruction has realized, and their values before."""
        self._shown_before: list[object] = []
        self._special: dict[type, Special] = {}
        self.pending: Callable[[object], dict[str, object] | None] = lambda tracker: None
        """Pending attribute mutations of a tracker, from the side effects of the current
        translation."""
        self.shown_with = ShownWith()
        self.facts = Facts(self, VariableTracker, torch.nn.Module, pack((MODULE_FACT,)))

    # --- what `facts` asks

    def kind(self, kind: type) -> tuple[Recipe, str, str, str]:
        cls = class_name(kind)
        names = [base.__name__ for base in classes_of(kind)]
        name = next((name for name in names if name in _RECIPES), "")
        recipe = _RECIPES.get(name, BY_NAME)
        if name in _SPECIAL:
            self._special[kind] = _SPECIAL[name]
        if recipe == AS_CONSTANT and kind is not ConstantVariable:
            recipe = BY_ENGINE
        return recipe, cls, _PYTHON_TYPES.get(cls, ""), _builtin_name(kind)

    def special(self, tracker: object, fields: Fields, number: Number) -> int | None:
        kind = type(tracker)
        if (cache := fields.get("_cache")) is not None:
            if (before := self.realized.get(id(cache))) is not None:
                self._shown_before.append(tracker)
                return self._told(_described(self, kind, fields, **_lazy_facts(before[1])))
            if cache.vt is not None:
                return self.facts.describe(cache.vt, number)
            self.facts.lazies[id(cache)] = weakref.ref(tracker)
        describe = self._special[kind]
        value = describe(self, kind, fields, number)
        if value is None:
            return None
        if describe in _OF_SIZES:
            self.shown_with.note(value, tracker)
        mutation = fields.get("mutation_type")
        if (
            mutation is not None
            and type(mutation).__name__ in _WITH_ATTRIBUTES
            and (attributes := self.attributes(tracker))
        ):
            named = ((f".{name}", held) for name, held in list(attributes.items())[:MAX_ITEMS])
            value = msgspec.structs.replace(value, items=value.items + _named(number, named))
        return self._told(value)

    def words(self, fields: Fields) -> tuple[str, str]:
        name = ""
        for field in ("value", "fn", "obj_type", "value_type", "exc_type", "code"):
            if field in fields and (name := callable_name(fields[field])):
                break
        # Not by `or`: a class can have a truth value of its own.
        value_type = fields.get("value_type")
        if value_type is None:
            value_type = fields.get("module_type")
        if value_type is None:
            value_type = fields.get("user_cls")
        if value_type is not None and is_subclass(type, type(value_type)):
            return class_name(value_type), name
        return class_name(type(fields["value"])) if "value" in fields else "", name

    def mutability(self, kind: type) -> tuple[str, bool]:
        name = kind.__name__
        return MUTABILITY.get(name, name), name in _WITH_ATTRIBUTES

    def tensor(self, properties: tuple[Any, ...]) -> tuple[str, str, bytes]:
        meta = _own_meta(*properties)
        return meta.subclass or "Tensor", meta.brief, pack(meta)

    def attributes(self, tracker: object) -> dict[str, object] | None:
        return self.pending(tracker)

    def key_text(self, key: object) -> str:
        return _key_text(key)

    def owner(self, tracker: object) -> Owner | None:
        fields = fields_of(tracker)
        if "pre_existing_contents" in fields:  # a cell's, unless something was stored in it since
            stored = (self.attributes(tracker) or {}).get("cell_contents")
            inner = fields["pre_existing_contents"] if stored is None else stored
            return self.owner(inner) if is_tracker(inner) else None
        type_name = ""
        if (cache := fields.get("_cache")) is not None:
            if cache.vt is not None:
                return self.owner(cache.vt)
            type_name = class_name(type(cache.value))
            module = is_subclass(torch.nn.Module, type(cache.value))
        else:
            type_name = self.words(fields)[0]
            module = "NNModule" in class_name(type(tracker))
        source = fields.get("source")
        return owner_of("" if source is None else source_name(source), type_name, module=module)

    source_text = staticmethod(source_name)

    # --- what the recorder asks

    def flavour(self, kind: type) -> Flavour:
        """How trackers of a class are to be treated."""
        # torch 2.11 leaves None itself on the stack, no tracker, where it puts off a log.
        if kind is ConstantVariable or kind is types.NoneType:
            return CONSTANT
        if kind is NullVariable:
            return NOTHING
        lazy = any(base.__name__ == "LazyVariableTracker" for base in classes_of(kind))
        return LAZY if lazy else ORDINARY

    def inner(self, tracker: object) -> object | None:
        """The real tracker behind a lazy one that has been realized."""
        cache = fields_of(tracker).get("_cache")
        return None if cache is None else getattr(cache, "vt", None)

    def block(self, translator: Any, block: Any) -> Block:
        """An entry of a translator's block stack."""
        index = translator.indexof
        context = block.with_context
        return Block(
            ip=index.get(block.inst),
            target=None if block.target is None else index.get(block.target),
            stack_index=block.stack_index if type(block.stack_index) is int else 0,
            context="" if context is None else type(context).__name__,
        )

    def speculation(self, speculation: Any) -> str:
        """The checkpoint that a graph break would restart from, in words."""
        if speculation is None:
            return ""
        at = f"{speculation.inst.opname} at {speculation.instruction_pointer}"
        return f"line {speculation.lineno}, {at}"

    def lazy_of(self, cache: object) -> object | None:
        """The unrealized tracker that was described with this cache."""
        found = self.facts.lazies.pop(id(cache), None)
        return None if found is None else found()

    def realizing(self, cache: Any) -> None:
        """A lazy tracker's cache is about to be realized. With detail `stops`: should the current
        instruction be the one to stop at, it is shown as it was before."""
        self.realized[id(cache)] = (cache, cache.value)

    def begin_instruction(self) -> None:
        """What was realized was realized by an instruction before."""
        self.realized.clear()

    def forget(self) -> None:
        self.shown_with.clear()
        self.realized.clear()
        self._shown_before.clear()

    def take_shown_before(self) -> list[object]:
        """The trackers that were shown as they were before the current instruction, to be shown as
        they are from now on."""
        shown, self._shown_before = self._shown_before, []
        self.realized.clear()
        return shown

    def _told(self, value: Value) -> int:
        return self.facts.id_of(pack(value), tuple(map(_number_of, value.items)))


def _described(
    describer: DynamoDescriber,
    kind: type,
    fields: Fields,
    *,
    text: str,
    type_name: str | None = None,
    items: tuple[Item, ...] = (),
    length: int | None = None,
    **facts: Any,
) -> Value:
    """A description with what there is to say of any tracker."""
    cls = class_name(kind)
    source = fields.get("source")
    mutation = fields.get("mutation_type")
    return Value(
        cls,
        type_name if type_name is not None else _PYTHON_TYPES.get(cls, ""),
        text,
        "" if source is None else source_name(source),
        _IMMUTABLE if mutation is None else describer.mutability(type(mutation))[0],
        items,
        length,
        **facts,
    )


def _named(number: Number, pairs: Iterable[tuple[str, object]]) -> tuple[Item, ...]:
    """Labelled children; what is no tracker (a deleted attribute's mark) is left out."""
    return tuple([Item(label, number(child)) for label, child in pairs if is_tracker(child)])


def _constant(describer: DynamoDescriber, kind: type, fields: Fields, number: Number) -> Value:
    value = fields["value"]
    text = plain_text(value)
    return _described(
        describer, kind, fields, type_name=class_name(type(value)), text=text, constant=text
    )


def _null(describer: DynamoDescriber, kind: type, fields: Fields, number: Number) -> Value:
    return _described(describer, kind, fields, text="NULL")


def node_of(proxy: object) -> Any:
    """A proxy's node, if it has one yet: torch makes that of an attribute (`x.T`) when it is asked
    for it the first time, which must not be us."""
    fields = fields_of(proxy)
    return fields["node"] if "node" in fields else fields.get("_node")


def _tensor(describer: DynamoDescriber, kind: type, fields: Fields, number: Number) -> Value:
    size = fields.get("_size")
    node = node_of(fields["proxy"])
    meta: TensorMeta | None
    if type(size) is tuple or type(size) is torch.Size:
        names = ("dtype", "_size", "stride", "device", "requires_grad", "layout", "class_type")
        meta = _own_meta(*map(fields.get, names))
    else:
        # Only the sizes are not the tracker's own: they are symbols.
        meta = None if node is None else fake_tensor_meta(node.meta.get("example_value"))
        grad = fields.get("requires_grad")
        if meta is not None and type(grad) is bool and meta.requires_grad is not grad:
            meta = msgspec.structs.replace(meta, requires_grad=grad)
    return _described(
        describer, kind, fields,
        type_name=(meta.subclass if meta else "") or "Tensor",
        text=meta.brief if meta else "",
        tensor=meta,
        node="" if node is None else node.name,
    )  # fmt: skip


def _own_meta(*properties: Any) -> TensorMeta:
    """The properties of a tensor, as its tracker knows them; the last is its class or None."""
    *others, subclass = properties
    plain = subclass is None or subclass is torch.Tensor
    return tensor_meta(*others, "" if plain else class_name(subclass))


def _symbol(describer: DynamoDescriber, kind: type, fields: Fields, number: Number) -> Value:
    node, text = node_of(fields["proxy"]), symbol_text(fields.get("sym_num"))
    return _described(describer, kind, fields, text=text, node="" if node is None else node.name)


def _mapping(
    describer: DynamoDescriber, kind: type, fields: Fields, number: Number
) -> Value | None:
    mapping: Any = fields.get("items")
    if not one_of(
        type(mapping), _DICTS
    ):  # Dynamo's own mappings may do anything when they are read
        return None
    items: list[Item] = []
    for key, child in mapping.items():
        if len(items) == MAX_ITEMS:
            break
        if is_tracker(child):
            items.append(Item(f"[{_key_text(key)}]", number(child)))
    name = _PYTHON_TYPES.get(class_name(kind), "")
    text = _builtin_name(kind) or f"{name or class_name(kind)} of {len(mapping)}"
    return _described(describer, kind, fields, text=text, items=tuple(items), length=len(mapping))


def _key_text(key: object) -> str:
    """The text of a dictionary key's tracker."""
    tracker = getattr(key, "vt", key)
    if type(tracker) is ConstantVariable:
        return plain_text(tracker.value)  # an attribute of its own: it runs nothing
    fields = fields_of(tracker)
    if (cache := fields.get("_cache")) is not None:
        if (inner := getattr(cache, "vt", None)) is None:
            return plain_text(getattr(cache, "value", None))
        tracker, fields = inner, fields_of(inner)
    for name in ("value", "fn"):
        if name in fields:
            return plain_text(fields[name])
    if builtin := _builtin_name(type(tracker)):
        return builtin
    items: Any = fields.get("items")
    if one_of(type(items), (tuple, list)):
        inner_text = ", ".join(_key_text(item) for item in items[:10])
        return f"({inner_text}{', …' if len(items) > 10 else ''})"
    proxy = fields.get("proxy")
    node = None if proxy is None else node_of(proxy)
    return f"<{class_name(type(tracker))}>" if node is None else f"%{node.name}"


def _lazy(describer: DynamoDescriber, kind: type, fields: Fields, number: Number) -> Value:
    return _described(describer, kind, fields, **_lazy_facts(fields["_cache"].value))


def _lazy_facts(value: object) -> dict[str, Any]:
    """The type of a lazy tracker's value, and the value when it is a constant: Dynamo has that at
    hand, too, and only its guard is put off."""
    name = class_name(type(value))
    text = plain_text(value) if is_plain(type(value)) else f"{name} (not realized)"
    module = is_subclass(torch.nn.Module, type(value))
    attributes = (MODULE_FACT,) if module else ()
    return {"type_name": name, "text": text, "attributes": attributes, "lazy": True}


def is_tracker(value: object) -> bool:
    """Whether it is a VariableTracker, asked of its type only."""
    return is_subclass(VariableTracker, type(value))


_RECIPES: dict[str, Recipe] = {
    "ConstantVariable": AS_CONSTANT,
    "NullVariable": BY_ENGINE,
    "TensorVariable": AS_TENSOR,
    "SymNodeVariable": BY_ENGINE,
    "LazyVariableTracker": AS_LAZY,
    "RangeVariable": AS_PARTS,
    "SliceVariable": AS_PARTS,
    "SetVariable": AS_SET,
    "ConstDictVariable": AS_MAPPING,
    "CellVariable": AS_CELL,
    "BaseListVariable": AS_SEQUENCE,
    "ListIteratorVariable": AS_SEQUENCE,
}
"""How trackers of a class, or of one that inherits from it, are described."""

_SPECIAL: dict[str, Special] = {
    "ConstantVariable": _constant,
    "NullVariable": _null,
    "TensorVariable": _tensor,
    "SymNodeVariable": _symbol,
    "LazyVariableTracker": _lazy,
    "ConstDictVariable": _mapping,
}
"""Those of which some, or all, are described here."""
_OF_SIZES = frozenset({_tensor, _symbol})

_PYTHON_TYPES = {
    "TupleVariable": "tuple", "ListVariable": "list", "SizeVariable": "torch.Size",
    "SetVariable": "set", "FrozensetVariable": "frozenset", "RangeVariable": "range",
    "SliceVariable": "slice", "CellVariable": "cell", "ConstDictVariable": "dict",
    "DequeVariable": "deque", "ListIteratorVariable": "list_iterator",
    "TupleIteratorVariable": "tuple_iterator", "UserFunctionVariable": "function",
    "UserMethodVariable": "method", "NestedUserFunctionVariable": "function",
    "LambdaVariable": "function", "PythonModuleVariable": "module", "SymNodeVariable": "int",
    "NullVariable": "NULL", "UserDefinedClassVariable": "type",
    "LocalGeneratorObjectVariable": "generator", "SuperVariable": "super",
}  # fmt: skip


def _builtin_name(kind: type) -> str:
    """The builtin that all trackers of a class stand for, e.g. `list`."""
    return callable_name(vars(kind).get("_fn"))
