"""What a VariableTracker is, said without touching it.

The rule. Describing must not run anybody's code: no property, method or `__repr__` of a tracker
(many realize a lazy tracker, which installs guards) and none of a user's object (which could do
anything). So everything here reads instance dictionaries through `object`, dispatches on `type(x)`
(`isinstance` realizes lazy trackers, and asks a user's object for `__class__`), and turns only
exact builtin and torch types to text.

The cost. A tracker is described once per step in which it is new or was mutated, so this is the
hottest part of recording. Each kind's function builds a small key first; only a key that was never
seen builds a `Value`. Equal descriptions are stored once.
"""

from __future__ import annotations

import collections
import types
import weakref
from collections.abc import Callable
from typing import Any

import msgspec
import torch
from torch._dynamo.variables import ConstantVariable
from torch._dynamo.variables.base import VariableTracker
from torch._dynamo.variables.misc import NullVariable

from stepper._C import fields as fields_of
from stepper._C import instances
from stepper.debuggee.faces import CONSTANT, LAZY, ORDINARY, Flavour
from stepper.engines.dynamo.tensors import fake_tensor_meta, symbol_text, tensor_meta
from stepper.engines.dynamo.versions import source_name
from stepper.model.trace import Block
from stepper.model.value import Item, TensorMeta, Value, ValueId

MAX_ITEMS = 100
"""Children shown of one container; its true length is recorded beside them."""
MAX_TEXT = 200
"""Characters of a constant's text."""

_type_name: Callable[[type], str] = type.__dict__["__name__"].__get__
_mro: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__
_is_subclass = type.__subclasscheck__
"""(parent, child): asks neither. A lookup would ask a metaclass's `__hash__`, `in` its `__eq__`."""

_PLAIN_TYPES = frozenset(
    {
        type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented),
        torch.dtype, torch.device, torch.Size, torch.layout, torch.memory_format,
    }
)  # fmt: skip

_CACHED = frozenset({"annotations", "dict_vt"})
"""Fields in which a tracker keeps another that says nothing more of it: Dynamo makes it when it
first needs it."""

_DICTS = frozenset({dict, collections.OrderedDict, collections.defaultdict})

_HASHED_BY_VALUE = frozenset({type(None), bool, int, str})
"""Constants that may stand in a key as they are: equal ones of one type are the same. (0.0 equals
-0.0.)"""

_WITH_ATTRIBUTES = ("AttributeMutationNew", "AttributeMutationExisting")

_MUTABILITY = {
    "ValueMutationNew": "new value",
    "ValueMutationExisting": "existing value",
    "AttributeMutationNew": "new object",
    "AttributeMutationExisting": "existing object",
}

Number = Callable[[object], ValueId]
Describe = Callable[[Any, type, dict[str, Any]], tuple[Any, ...]]


def is_plain(kind: type) -> bool:
    """Whether values of a type can be shown by their own repr."""
    return type(kind) is type and kind in _PLAIN_TYPES


def plain_text(value: object) -> str:
    """A bounded repr for exact builtin and torch types; for anything else, only its type."""
    kind = type(value)
    if kind is str or kind is bytes:
        if len(value) > MAX_TEXT:  # type: ignore[arg-type]
            return f"{value[:MAX_TEXT]!r}…"  # type: ignore[index]
        return repr(value)
    if kind is int and value.bit_length() > 4 * MAX_TEXT:  # type: ignore[attr-defined]
        return f"<int of {value.bit_length()} bits>"  # type: ignore[attr-defined]
    if is_plain(kind):
        return repr(value)
    if kind is tuple or kind is list or kind is frozenset:
        inner = ", ".join(plain_text(item) for item in list(value)[:10])  # type: ignore[call-overload]
        inner += ", …" if len(value) > 10 else ""  # type: ignore[arg-type]
        if kind is tuple:
            return f"({inner},)" if len(value) == 1 else f"({inner})"  # type: ignore[arg-type]
        return f"[{inner}]" if kind is list else f"frozenset({{{inner}}})"
    return callable_name(value) or f"<{_type_name(kind)}>"


def callable_name(value: object) -> str:
    """The qualified name of a function, builtin, class or module; empty for anything else."""
    kind = type(value)
    if (
        kind is types.FunctionType
        or kind is types.BuiltinFunctionType
        or kind is types.MethodDescriptorType
    ):
        module = getattr(value, "__module__", None)
        name = str(value.__qualname__)  # type: ignore[attr-defined]
        name = name.replace("_VariableFunctionsClass.", "")  # where torch.add really lives
        return (
            f"{module}.{name}" if type(module) is str and module not in ("", "__main__") else name
        )
    if _is_subclass(type, kind):
        return _type_name(value)  # type: ignore[arg-type]
    if kind is types.ModuleType:
        name = fields_of(value).get("__name__", "")
        return name if type(name) is str else ""
    return ""


class Describer:
    """Turns trackers into descriptions, each equal description once.

    `store(id, body)` gets every new description as msgpack of `Value`.
    """

    def __init__(self, store: Callable[[int, bytes], None]) -> None:
        self._store = store
        self._ids: dict[tuple[Any, ...], int] = {}
        self._functions: dict[type, Describe] = {}
        self._encode = msgspec.msgpack.Encoder().encode
        self._number: Number = lambda tracker: 0
        self._lazy: dict[int, weakref.ref[Any]] = {}
        self._before: dict[int, tuple[Any, tuple[str, str | None]]] = {}
        """By id: caches that the current instruction has realized, and what they said before."""
        self._shown_before: list[object] = []
        self.flavours: dict[type, Flavour] = {}
        self.children: dict[int, tuple[ValueId, ...]] = {}
        """For each description of a container, its children's numbers."""
        self.attributes: Callable[[object], dict[str, object] | None] = lambda tracker: None
        """Pending attribute mutations of a tracker, from the side effects of the current
        translation."""

    def describe(self, tracker: object, number: Number) -> int:
        """The id of the tracker's description now. `number` gives a child's number."""
        kind = type(tracker)
        fields: dict[str, Any] = fields_of(tracker)
        if self.flavours.get(kind) == LAZY:
            cache = fields["_cache"]
            if (before := self._before.get(id(cache))) is not None:
                self._shown_before.append(tracker)
                key = (kind, *_head(fields), "lazy", *before[1])
                found = self._ids.get(key)
                return self._new(key) if found is None else found
            if cache.vt is not None:
                tracker = cache.vt
                kind, fields = type(tracker), fields_of(tracker)
            else:
                self._lazy[id(cache)] = weakref.ref(tracker)
        function = self._functions.get(kind)
        if function is None:
            function = self._functions[kind] = _function_for(kind)
        self._number = number
        key = function(self, kind, fields)
        if key[2] in _WITH_ATTRIBUTES and (attributes := self.attributes(tracker)):
            key = (*key, "attributes", self.named(list(attributes.items())[:MAX_ITEMS]))
        found = self._ids.get(key)
        return self._new(key) if found is None else found

    def flavour(self, kind: type) -> Flavour:
        """How trackers of a class are to be treated; `flavours` holds the answers."""
        answer: Flavour
        if kind is ConstantVariable or kind is NullVariable:
            answer = CONSTANT
        elif any(base.__name__ == "LazyVariableTracker" for base in _mro(kind)):
            answer = LAZY
        else:
            answer = ORDINARY
        self.flavours[kind] = answer
        return answer

    def inner(self, tracker: object) -> object | None:
        """The real tracker behind a lazy one that has been realized."""
        cache = fields_of(tracker).get("_cache")
        return None if cache is None else getattr(cache, "vt", None)

    def children_of(self, description: int) -> tuple[ValueId, ...]:
        """Numbers of the trackers that a description names."""
        return self.children.get(description, ())

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
        found = self._lazy.pop(id(cache), None)
        return None if found is None else found()

    def realizing(self, cache: Any) -> None:
        """A lazy tracker's cache is about to be realized. With detail `stops`: should the current
        instruction be the one to stop at, it is shown as it was before."""
        self._before[id(cache)] = (cache, _lazy_words(cache))

    def begin_instruction(self) -> None:
        """What was realized was realized by an instruction before."""
        self._before.clear()

    def take_shown_before(self) -> list[object]:
        """The trackers that were shown as they were before the current instruction, to be shown as
        they are from now on."""
        shown, self._shown_before = self._shown_before, []
        self._before.clear()
        return shown

    def constant(self, tracker: object) -> int:
        """The description of a tracker of flavour CONSTANT: it can neither change nor have
        children, and equal ones need not be told apart."""
        kind = type(tracker)
        if kind is ConstantVariable:
            key = _constant(self, kind, fields_of(tracker))
        else:
            key = (kind, None, None, "null")
        found = self._ids.get(key)
        return self._new(key) if found is None else found

    def named(self, pairs: list[tuple[str, object]]) -> tuple[Any, ...]:
        """Labelled children as part of a key; what is no tracker (a deleted attribute's mark) is
        left out."""
        out: list[Any] = []
        for label, child in pairs:
            if is_tracker(child):
                out += (label, self._number(child))
        return tuple(out)

    def _new(self, key: tuple[Any, ...]) -> int:
        """Store a description that was never seen."""
        id = self._ids[key] = len(self._ids) + 1
        value = _build(key)
        if value.items:
            self.children[id] = tuple(item.value for item in value.items)
        self._store(id, self._encode(value))
        return id


# A key is (class, source, mutability, what, facts…). Children stand in it as one flat tuple (label,
# number, label, …): keys live as long as the session, and each nested tuple would be one more
# object for the garbage collector.


def _head(fields: dict[str, Any]) -> tuple[Any, ...]:
    source = fields.get("source")
    mutation = fields.get("mutation_type")
    return (
        None if source is None else source_name(source),
        None if mutation is None else type(mutation).__name__,
    )


def _constant(describer: Describer, kind: type, fields: dict[str, Any]) -> tuple[Any, ...]:
    value = fields["value"]
    of = type(value)
    name = _type_name(of)  # not the type itself: a metaclass could define __hash__
    source = fields["source"]
    by_value = type(of) is type and of in _HASHED_BY_VALUE
    if by_value and source is None and fields["mutation_type"] is None:
        return (kind, None, None, "constant", name, value)
    if by_value:
        return (kind, *_head(fields), "constant", name, value)
    return (kind, *_head(fields), "constant", name, None, plain_text(value))


def _subclass_name(fields: dict[str, Any]) -> str:
    """The name of a tensor's class when it is one of its own. A key must not hold the class."""
    subclass = fields.get("class_type")
    return "" if subclass is None or subclass is torch.Tensor else _type_name(subclass)


def _tensor(describer: Describer, kind: type, fields: dict[str, Any]) -> tuple[Any, ...]:
    size = fields.get("_size")
    node = fields_of(fields["proxy"])["node"]
    meta: object
    if type(size) is tuple or type(size) is torch.Size:
        meta = (
            fields.get("dtype"), size, fields.get("stride"), fields.get("device"),
            fields.get("requires_grad"), fields.get("layout"), _subclass_name(fields),
        )  # fmt: skip
    else:
        # Only the sizes are not the tracker's own: they are symbols.
        meta = fake_tensor_meta(node.meta.get("example_value"))
        grad = fields.get("requires_grad")
        if meta is not None and type(grad) is bool and meta.requires_grad is not grad:
            meta = msgspec.structs.replace(meta, requires_grad=grad)
    return (kind, *_head(fields), "tensor", meta, node.name)


def _symbol(describer: Describer, kind: type, fields: dict[str, Any]) -> tuple[Any, ...]:
    return (
        kind,
        *_head(fields),
        "symbol",
        symbol_text(fields.get("sym_num")),
        fields_of(fields["proxy"])["node"].name,
    )


def _sequence(describer: Describer, kind: type, fields: dict[str, Any]) -> tuple[Any, ...]:
    items: Any = fields.get("items")
    if type(items) not in (list, tuple):
        return _other(describer, kind, fields)
    number = describer._number
    children: list[Any] = []
    for index, child in enumerate(items[:MAX_ITEMS]):
        children += (f"[{index}]", number(child))
    return (kind, *_head(fields), "items", tuple(children), len(items), fields.get("index"))


def _range_or_slice(describer: Describer, kind: type, fields: dict[str, Any]) -> tuple[Any, ...]:
    names = (".start", ".stop", ".step")
    return (
        kind,
        *_head(fields),
        "items",
        describer.named(list(zip(names, fields["items"], strict=False))),
        None,
        None,
    )


def _mapping(describer: Describer, kind: type, fields: dict[str, Any]) -> tuple[Any, ...]:
    items: Any = fields.get("items")
    if type(items) not in _DICTS:  # Dynamo's own mappings may do anything when they are read
        return _other(describer, kind, fields)
    number = describer._number
    children: list[Any] = []
    for key, child in items.items():
        if len(children) == 2 * MAX_ITEMS:
            break
        if is_tracker(child):
            children += (f"[{_key_text(key)}]", number(child))
    return (kind, *_head(fields), "items", tuple(children), len(items), None)


def _set(describer: Describer, kind: type, fields: dict[str, Any]) -> tuple[Any, ...]:
    items: Any = fields.get("items")
    if type(items) is not dict:
        return _other(describer, kind, fields)
    keys = [getattr(key, "vt", None) for key in list(items)[:MAX_ITEMS]]
    children = describer.named([(f"{{{index}}}", child) for index, child in enumerate(keys)])
    return (kind, *_head(fields), "items", children, len(items), None)


def _key_text(key: object) -> str:
    """The text of a dictionary key's tracker."""
    tracker = getattr(key, "vt", key)
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
    if type(items) in (tuple, list):
        inner_text = ", ".join(_key_text(item) for item in items[:10])
        return f"({inner_text}{', …' if len(items) > 10 else ''})"
    proxy = fields.get("proxy")
    return f"<{_type_name(type(tracker))}>" if proxy is None else f"%{proxy.node.name}"


def _cell(describer: Describer, kind: type, fields: dict[str, Any]) -> tuple[Any, ...]:
    contents = fields.get("pre_existing_contents")
    children = describer.named([("cell_contents", contents)])
    return (kind, *_head(fields), "items", children, None, None, "name", fields.get("local_name"))


def _lazy(describer: Describer, kind: type, fields: dict[str, Any]) -> tuple[Any, ...]:
    return (kind, *_head(fields), "lazy", *_lazy_words(fields["_cache"]))


def _lazy_words(cache: Any) -> tuple[str, str | None]:
    """The type of a lazy tracker's value, and the value when it is a constant: Dynamo has that at
    hand, too, and only its guard is put off."""
    kind = type(cache.value)
    return _type_name(kind), plain_text(cache.value) if is_plain(kind) else None


def _other(describer: Describer, kind: type, fields: dict[str, Any]) -> tuple[Any, ...]:
    """Any other tracker: what it stands for by name, and every tracker among its fields as a
    child."""
    name = ""
    type_name = ""
    for field in ("value", "fn", "obj_type", "value_type", "exc_type", "code"):
        if field in fields and not name:
            name = callable_name(fields[field])
    # Not by `or`: a class can have a truth value of its own.
    types_known = (fields.get(field) for field in ("value_type", "module_type", "user_cls"))
    value_type = next((found for found in types_known if found is not None), None)
    if value_type is not None and _is_subclass(type, type(value_type)):
        type_name = _type_name(value_type)
    elif "value" in fields:
        type_name = _type_name(type(fields["value"]))
    if type(fields.get("name")) is str:
        name = name or f".{fields['name']}"
    number = describer._number
    children: list[Any] = []
    for field, child in instances(fields, VariableTracker).items():
        if field not in _CACHED:
            children += (f".{field}", number(child))
    return (kind, *_head(fields), "items", tuple(children), None, None, "name", name,
            "type", type_name)  # fmt: skip


def is_tracker(value: object) -> bool:
    """Whether it is a VariableTracker, asked of its type only."""
    return _is_subclass(VariableTracker, type(value))


_BY_CLASS: dict[str, Describe] = {
    "ConstantVariable": _constant,
    "TensorVariable": _tensor,
    "SymNodeVariable": _symbol,
    "LazyVariableTracker": _lazy,
    "RangeVariable": _range_or_slice,
    "SliceVariable": _range_or_slice,
    "BaseListVariable": _sequence,
    "ListIteratorVariable": _sequence,
    "SetVariable": _set,
    "ConstDictVariable": _mapping,
    "CellVariable": _cell,
}


def _function_for(kind: type) -> Describe:
    for base in _mro(kind):
        if (function := _BY_CLASS.get(base.__name__)) is not None:
            return function
    return _other


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


def _build(key: tuple[Any, ...]) -> Value:
    """The description that a key stands for."""
    kind, source, mutation, what, *facts = key
    cls = kind.__name__
    type_name = _PYTHON_TYPES.get(cls, "")
    text, constant, tensor, node, length, lazy = "", None, None, "", None, False
    items: tuple[Any, ...] = ()
    attributes: list[tuple[str, str]] = []
    match what:
        case "constant":
            type_name = facts[0]
            constant = text = (
                facts[2] if len(facts) > 2 and facts[1] is None else plain_text(facts[1])
            )
        case "tensor":
            tensor, node = _tensor_meta(facts[0]), facts[1]
            type_name = (tensor.subclass if tensor else "") or "Tensor"
            text = tensor.brief if tensor else ""
        case "symbol":
            text, node = facts
        case "null":
            text = "NULL"
        case "lazy":
            lazy, type_name = True, facts[0]
            text = facts[1] if facts[1] is not None else f"{type_name} (not realized)"
        case "items":
            items, length, index = facts[:3]
            if index is not None:
                attributes.append(("index", str(index)))
            rest_facts = dict(zip(facts[3::2], facts[4::2], strict=False))
            type_name = rest_facts.get("type") or type_name
            text = (
                rest_facts.get("name")
                or _builtin_name(kind)
                or _container_text(type_name or cls, length)
            )
    pairs = list(zip(items[::2], items[1::2], strict=True))
    if len(facts) >= 2 and facts[-2] == "attributes":
        stored = list(zip(facts[-1][::2], facts[-1][1::2], strict=True))
        if cls == "CellVariable":  # what was stored is what the cell holds
            pairs = stored[-1:]
        else:
            pairs += [(f".{label}", number) for label, number in stored]
    return Value(
        cls=cls,
        type=type_name,
        text=text,
        source=source or "",
        constant=constant,
        tensor=tensor,
        node=node,
        mutability=_MUTABILITY.get(mutation or "", "immutable" if mutation is None else mutation),
        lazy=lazy,
        length=length,
        items=tuple(Item(label, number) for label, number in pairs),
        attributes=tuple(attributes),
    )


def _builtin_name(kind: type) -> str:
    """The builtin that all trackers of a class stand for, e.g. `list`."""
    return callable_name(vars(kind).get("_fn"))


def _container_text(name: str, length: int | None) -> str:
    return name if length is None else f"{name} of {length}"


def _tensor_meta(meta: object) -> TensorMeta | None:
    if meta is None or type(meta) is TensorMeta:
        return meta
    facts: tuple[Any, Any, Any, Any, Any, Any, Any] = meta  # type: ignore[assignment]
    return tensor_meta(*facts)
