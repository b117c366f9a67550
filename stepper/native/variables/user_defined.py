"""Objects and classes of the program.

What is read of an object is read as `object.__getattribute__` would, without calling it: the class
decides (a data descriptor, or a method of its own for attributes, is refused), then the object's
dictionary, then what the class has. Each step that could come out otherwise is guarded: the class
of the object, whether its dictionary has the name, and what the class has.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import enum
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from stepper import _C
from stepper.native import break_contexts, polyfills
from stepper.native.guards.class_dicts import (
    MISSING,
    class_dict,
    find,
    flags_of,
    has,
    has_dict,
    lookup,
    module_of,
    order_of,
    place_of,
    says_its_class,
)
from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.guards.originals import require
from stepper.native.source import (
    AttrSource,
    CallSource,
    ConstantSource,
    GetItemSource,
    Source,
    instance_dict_of,
    subclasses,
    type_of,
)
from stepper.native.variables import containers
from stepper.native.variables.asked_of_classes import (
    MAKER,
    REDUCE,
    assigned_in,
    in_class,
    is_reduced_plainly,
    makes_alias,
)
from stepper.native.variables.base import (
    DELETED,
    NO_GUARDS,
    Arguments,
    Guards,
    Keywords,
    TrackedKey,
    VariableTracker,
    has_class,
    is_hashed_by_identity,
    refuse_finalizers,
    refuse_replaced,
    tracker_class,
)
from stepper.native.variables.builtin_methods import (
    METHODS_OF_C,
    BoundBuiltinMethod,
    GenericAliasVariable,
    KnownCallVariable,
)
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.descriptors import (
    TUPLE_GETTER,
    gets_by_python,
    held_as,
    is_data_descriptor,
    is_plain_attribute,
    is_property,
    is_slot,
    runs_program,
    stands_empty,
)
from stepper.native.variables.dicts import is_placed, is_plain_record, key_of
from stepper.native.variables.exceptions import (
    ObservedException,
    empty_slot,
    no_attribute,
    observed,
)
from stepper.native.variables.functions import BaseUserFunctionVariable, UserMethodVariable
from stepper.native.variables.instance_dict import InstanceDictVariable, store_in_dict
from stepper.native.variables.iter import ask_length, iterate
from stepper.native.variables.lists import ListVariable
from stepper.native.variables.tensor import (
    StoredAttributesVariable,
    StructSequenceVariable,
    is_graph_method,
)
from stepper.native.versions import READS_STATICALLY
from stepper.support import break_kinds
from stepper.support.words import one_of, qualified_name

if TYPE_CHECKING:
    from stepper.native.protocols import Translator


_OF_NAMESPACES: object = types.SimpleNamespace.__setattr__
"""Stores attributes as `object` does."""
_PLAIN_BASES = (
    object, dict, list, tuple, set, frozenset, str, int, float, collections.OrderedDict,
    collections.defaultdict, collections.deque, BaseException, bytearray, torch.nn.Module,
    types.SimpleNamespace,
)  # fmt: skip
"""Classes whose instances have their attributes in the ordinary way."""


@tracker_class
class UserDefinedVariable(VariableTracker):
    """The base of objects and classes of the program."""

    value: Any
    """The object."""

    def python_type(self) -> type:
        return type(self.value)

    def unpack(self, tx: Translator) -> list[VariableTracker]:
        return iterate(tx, self).unpack(tx)

    def listed(self, tx: Translator) -> list[VariableTracker]:
        iterator = iterate(tx, self)
        ask_length(tx, self)
        return iterator.unpack(tx)

    def iterated(self, tx: Translator) -> list[VariableTracker]:
        return iterate(tx, self).listed(tx)


_FACTS = (
    "__name__", "__qualname__", "__module__", "__base__", "__bases__", "__mro__", "__flags__",
)  # fmt: skip
"""Attributes of all classes that can be read."""
_OF_ABSTRACT: object = type.__dict__["__abstractmethods__"]
_NOT_ALWAYS = frozenset({"__annotations__", "__annotate__"})
"""What `type` computes for a class, and for some raises."""


def is_immutable(cls: object) -> bool:
    """Whether it is a class, and nobody can assign to its attributes."""
    return isinstance(cls, type) and bool(flags_of(cls) & 1 << 8)


class UserDefinedClassVariable(UserDefinedVariable):
    """A class."""

    def describe(self) -> str:
        return f"class {qualified_name(self.value)}"

    def as_python_constant(self) -> object:
        return self.value

    def as_key(self, tx: Translator) -> TrackedKey:
        if self.source is None or not is_hashed_by_identity(type(self.value)):
            raise self.refuse("use as a key")
        return TrackedKey.guarded(self, self.value)

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        if self.source is None:
            raise self.refuse(f"attribute {name}")
        kind = type(self.value)
        if name == "__subclasses__" and lookup(kind, name) is type.__dict__[name]:
            return KnownCallVariable(self._subclasses, guards=self.guards)
        if name in _FACTS and lookup(kind, name) is type.__dict__[name]:
            return tx.build(AttrSource(self.source, name), getattr(self.value, name))
        read = lookup(kind, "__getattribute__")
        if read is not type.__dict__["__getattribute__"] and read is not READS_STATICALLY:
            raise self.refuse(f"attribute {name}")
        if not order_of(self.value):
            raise self.refuse(f"attribute {name}, while its bases are put in order,")
        of_class = lookup(kind, name)
        if of_class is not MISSING and is_data_descriptor(of_class):
            return self.of_metaclass(tx, name)
        if (stored := assigned_in(tx, self.value, name)) is not None:
            return stored
        found = lookup(self.value, name)
        if found is MISSING and of_class is not MISSING:
            return self.of_metaclass(tx, name)
        if gets_by_python(found) or is_property(found):
            descriptor = in_class(tx, self.source, self.value, name)
            if is_property(found):
                return descriptor
            if isinstance(descriptor, UserDefinedObjectVariable):
                return descriptor.special(tx, "__get__", [ConstantVariable(None), self])
        if self.value is torch.Tensor and is_graph_method(name):
            require(tx.output, torch.Tensor, name)
            method = getattr(torch.Tensor, name)
            return tx.build(ConstantSource(method), method).with_guards(self.guards)
        if found is MISSING and not self.has_attribute(tx, name):
            text = f"type object {_C.class_name(self.value)!r} has no attribute {name!r}"
            raise observed(AttributeError, text, name=name)
        return self.attribute(tx, AttrSource(self.source, name), found).with_guards(self.guards)

    def var_setattr(self, tx: Translator, name: str, value: VariableTracker) -> None:
        kind, of = type(self.value), tx.realize(value).python_type()
        plain = lookup(kind, "__setattr__") is type.__dict__["__setattr__"] and not has(kind, name)
        plain = plain and not is_immutable(self.value) and not name.startswith("__")
        if not plain or self.source is None or any(has(of, each) for each in _OF_DESCRIPTORS):
            raise self.refuse(f"assignment to attribute {name}")
        if id(self.value) not in tx.output.contents:
            tx.output.remember_contents(self.value, StoredAttributesVariable.of(self))
        contents, source = tx.output.contents[id(self.value)], AttrSource(self.source, name)
        refuse_replaced(tx, contents, name, source, class_dict(self.value))
        tx.output.consulted.assigned.add((self.value, name))
        tx.output.side_effects.store_attr(contents, name, value)

    def of_metaclass(self, tx: Translator, name: str, start: int = 0) -> VariableTracker:
        """What the class's own class gives for it; the search begins at `start` of their order."""
        meta = type(self.value)
        owner, found = find(meta, name, start)
        if self.source is None:
            raise self.refuse(f"attribute {name}")
        order = AttrSource(type_of(self.source), "__mro__")
        source = AttrSource(GetItemSource(order, place_of(owner, order_of(meta))), name)
        if type(found) is property and type(found.fget) is types.FunctionType:
            getter = tx.build(AttrSource(source, "fget"), found.fget)
            return getter.call_function(tx, [self], {})
        if not is_plain_attribute(found):
            raise self.refuse(f"attribute {name}")
        tracker = tx.build(source, found)
        if type(found) is types.FunctionType:
            tracker = tracker.bound_to(self) or tracker
        return tracker.with_guards(self.guards)

    def attribute(self, tx: Translator, source: Source, found: object) -> VariableTracker:
        """What the class gives that has found this in itself or a base, which `source` leads to."""
        if type(found) is staticmethod:
            found = found.__func__
        if type(found) is classmethod and type(found.__func__) is types.FunctionType:
            function = tx.build(AttrSource(source, "__func__"), found.__func__)
            if isinstance(function, BaseUserFunctionVariable):
                return UserMethodVariable(function, self, **self.propagate(self, function))
        from stepper.native.variables.autograd_function import APPLY, apply_of

        if found is APPLY:
            return apply_of(tx, self, source)
        if type(found) is types.ClassMethodDescriptorType and is_immutable(self.value):
            method = found.__get__(None, self.value)
            return tx.build(ConstantSource(method), method)
        if found is MISSING or is_data_descriptor(found) or not is_plain_attribute(found):
            raise self.refuse("an attribute")
        return tx.build(source, found)

    def _subclasses(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        """A list of the classes that have it among their bases now."""
        if args or kwargs or is_immutable(self.value):
            raise self.refuse_method("__subclasses__")
        found = subclasses(self.value)
        source = CallSource(self._source(), subclasses)
        guards = tx.output.install_guard(source, GuardBuilder.LIST_LENGTH, found) | self.guards
        items = [tx.build(GetItemSource(source, at), each) for at, each in enumerate(found)]
        guards |= self.propagate(items)["guards"]
        tx.output.chosen(guards)
        return ListVariable.new(items, guards)

    def has_attribute(self, tx: Translator, name: str) -> bool:
        """Whether the class, or its own class, has an attribute of this name."""
        kind = type(self.value)
        of_class, found = lookup(kind, name), lookup(self.value, name)
        if is_data_descriptor(of_class):
            if of_class is _OF_ABSTRACT:  # each class has its own, or none
                return name in class_dict(self.value)
            # Its own class computes it, and may find that there is none.
            if of_class is not type.__dict__.get(name) or name in _NOT_ALWAYS:
                raise self.refuse("hasattr")
            return True
        if gets_by_python(of_class) or gets_by_python(found):
            raise self.refuse("hasattr")
        if found is not MISSING or of_class is not MISSING:
            return True
        plain = lookup(kind, "__getattribute__") is type.__dict__["__getattribute__"]
        if not plain or has(kind, "__getattr__"):
            raise self.refuse("hasattr")
        return False

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        from stepper.native.variables import polyfilled
        from stepper.native.variables.new_object import make_new

        made = polyfilled.call(tx, self.value, self, args, kwargs)
        if made is None and module_of(self.value) == "torch.return_types":
            made = self._struct_sequence(tx, args, kwargs)
        if made is None and issubclass(type(self.value), enum.EnumMeta):
            made = self._member(tx, args, kwargs)
        called = lookup(type(self.value), "__call__")
        if made is None and (type(called) is types.FunctionType or called is dict):  # `TypedDict`
            made = self.of_metaclass(tx, "__call__").call_function(tx, args, kwargs)
        return make_new(tx, self, args, kwargs) if made is None else made

    def _struct_sequence(
        self, tx: Translator, args: Arguments, kwargs: Keywords
    ) -> VariableTracker:
        """What has the shape of an operator's several results, made of a sequence."""
        items = args[0].unpack(tx) if len(args) == 1 and not kwargs else []
        if len(items) != getattr(self.value, "n_fields", None):
            raise self.refuse("an instance", kind=break_kinds.CALL)
        return StructSequenceVariable(items, self.value, **self.propagate(self, args))

    def _member(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        """What an enumeration gives for a value."""
        plain = lookup(type(self.value), "__call__") is enum.EnumMeta.__call__
        made_by = lookup(self.value, "__new__")
        if not plain or getattr(made_by, "__func__", made_by) is not enum.Enum.__new__:
            raise self.refuse("a call")
        if len(args) != 1 or kwargs:
            raise self.refuse("a call")
        missing = getattr(lookup(self.value, "_missing_"), "__func__", None)
        if missing is _COMBINED and args[0].python_type() is int:
            key = args[0].as_python_constant()
            with contextlib.suppress(ValueError):
                self.value(key)  # Python keeps it with the members
            if (known := class_dict(self.value)["_value2member_map_"].get(key)) is None:
                raise self.refuse("a call")
            source = GetItemSource(AttrSource(self._source(), "_value2member_map_"), key)
            return tx.build(source, known).with_guards(args[0].guards)
        finds = tx.build(ConstantSource(enum.Enum.__new__), enum.Enum.__new__)
        return finds.call_function(tx, [self, *args], {})

    def special(self, tx: Translator, name: str, args: Arguments) -> VariableTracker:
        """Call a method that Python looks for in the class's own class, and that is written in
        Python."""
        found = lookup(type(self.value), name)
        if type(found) is not types.FunctionType or self.source is None:
            raise self.refuse_method(name)
        method = tx.build(AttrSource(type_of(self.source), name), found)
        return method.call_function(tx, [self, *args], {})

    def getitem(self, tx: Translator, key: VariableTracker) -> VariableTracker:
        if not has(type(self.value), "__getitem__") and makes_alias(self.value):
            found = GenericAliasVariable.of(self, self.value, key)
            if found is not None:
                return found
        if not has(type(self.value), "__getitem__") and has(self.value, "__class_getitem__"):
            return self.var_getattr(tx, "__class_getitem__").call_function(tx, [key], {})
        return self.special(tx, "__getitem__", [key])

    def contains(self, tx: Translator, item: VariableTracker) -> bool:
        return self.special(tx, "__contains__", [item]).truth(tx)

    def length(self, tx: Translator) -> VariableTracker:
        """`len(class)`."""
        return self.special(tx, "__len__", [])

    def lazy_iterator(self, tx: Translator) -> VariableTracker:
        return self.special(tx, "__iter__", [])


class UserDefinedObjectVariable(UserDefinedVariable):
    """An object.

    generic_setattr_method: what stores its attributes, unless its class has another method.
    """

    generic_setattr_method: Callable[..., object] = staticmethod(object.__setattr__)
    is_new = False
    """Whether the frame made it: it has the attributes that the frame stored, and no others."""

    def describe(self) -> str:
        name = f"object of class {qualified_name(type(self.value))}"
        return f"{name} {self.source.name()}" if self.source is not None else name

    def truth(self, tx: Translator) -> bool:
        kind = type(self.value)
        name = next((each for each in ("__bool__", "__len__") if has(kind, each)), None)
        if name is None:
            return True
        said = self.special(tx, name, [])
        answer = said.as_python_constant()
        if type(answer) is not (bool if name == "__bool__" else int) or answer < 0:
            raise self.refuse("the truth")
        tx.output.chosen_by(said)
        return bool(answer)

    def refuse_call(self) -> Exception:
        if break_contexts.is_in_c(type(self.value)):
            context = break_contexts.function_context(self.value)
            return self.refuse("a call", kind=break_kinds.SKIPPED, context=context)
        return super().refuse_call()

    def class_source(self) -> Source:
        """Where its class is found."""
        return type_of(self._source())

    def has_getattribute(self) -> bool:
        """Whether its class has a method of its own for reading attributes."""
        found = lookup(type(self.value), "__getattribute__")
        if type(found) is types.WrapperDescriptorType:
            return found.__objclass__ not in _PLAIN_BASES
        return True

    def instance_dict(self) -> dict[str, Any]:
        """The object's own attributes."""
        found = object.__getattribute__(self.value, "__dict__")
        if type(found) is not dict:
            raise self.refuse("attributes")
        return found

    def has_attribute(self, tx: Translator, name: str) -> bool:
        """Whether it has the attribute."""
        try:
            self.var_getattr(tx, name)
        except ObservedException as error:
            if not error.counts_as(AttributeError):
                raise
            return False
        return True

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        stored = tx.output.side_effects.load_attr(self, name)
        is_known = stored is not None and stored is not DELETED
        by_program = self.has_special("__getattribute__")
        found: VariableTracker | None = None
        try:
            if by_program or (self.has_getattribute() and not is_known):
                found = self.special(tx, "__getattribute__", [ConstantVariable(name)])
            else:
                found = self._attribute(tx, name)
        except ObservedException as error:
            # Whatever raises it, a property, say, `__getattr__` is asked then.
            if not error.counts_as(AttributeError) or not has(type(self.value), "__getattr__"):
                raise
            tx.output.chosen_by_all()
        return self.missing(tx, name) if found is None else found

    def generic_getattr(self, tx: Translator, name: str) -> VariableTracker:
        """What `object.__getattribute__` gives, which asks no `__getattr__`."""
        found = self._attribute(tx, name)
        if found is None:
            raise no_attribute(type(self.value), name)
        return found

    def _attribute(self, tx: Translator, name: str) -> VariableTracker | None:
        """What the object or its class has; None: neither has it."""
        kind = type(self.value)
        stored = tx.output.side_effects.load_attr(self, name)
        if stored is not None and stored is not DELETED and not self.is_given(name):
            return tx.realize(stored).with_guards(self.guards)
        if name == "__class__" and not says_its_class(kind):
            return tx.class_variable(self)
        if name == "__dict__" and has_dict(kind):
            return InstanceDictVariable(self, **self.propagate(self))
        assigned = assigned_in(tx, kind, name)
        of_class = lookup(kind, name) if assigned is None else MISSING
        if is_data_descriptor(of_class) and has(type(of_class), "__get__"):
            return self.data_descriptor(tx, name, of_class)
        guards: Guards = NO_GUARDS
        if has_dict(kind) and not self.is_new and stored is not DELETED:
            source, fields = self._source(), self.instance_dict()
            if name in fields:
                own: Source = AttrSource(source, name)
                if self.has_getattribute():
                    own = GetItemSource(instance_dict_of(source), name)
                return tx.build(own, fields[name]).with_guards(self.guards)
            guards = tx.output.install_guard(
                source, GuardBuilder.HASATTR, (name, False), key=(name, False)
            )
        if assigned is not None:
            return assigned.with_guards(guards | self.guards)
        if of_class is MISSING:
            tx.output.chosen(guards | self.guards)
            return None
        return self.attribute_of_class(tx, name).with_guards(guards)

    def is_given(self, name: str) -> bool:
        """Whether a descriptor of the program's gives the attribute, whatever the dictionary
        has."""
        of_class = lookup(type(self.value), name)
        return runs_program(of_class) and has(type(of_class), "__get__")

    def stores_by(self, name: str) -> Callable[..., object] | None:
        """What stores under the name of an attribute what was stored while tracing; None: it is to
        be assigned to."""
        if runs_program(lookup(type(self.value), name)):
            return store_in_dict
        return self.generic_setattr_method if self.has_setattr() else None

    def missing(self, tx: Translator, name: str) -> VariableTracker:
        """What neither the object nor its class has."""
        if has(type(self.value), "__getattr__"):
            return self.special(tx, "__getattr__", [ConstantVariable(name)])
        raise no_attribute(type(self.value), name)

    def data_descriptor(self, tx: Translator, name: str, descriptor: object) -> VariableTracker:
        """What a property, or another data descriptor of the class, gives."""
        if is_property(descriptor):
            return self.attribute_of_class(tx, name)
        if type(descriptor) is TUPLE_GETTER:
            place = descriptor.__reduce__()[1][0]
            return self.contents(tx).getitem(tx, ConstantVariable(place))
        shown = containers.shows(type(self.value), name)
        if type(descriptor) is types.MemberDescriptorType or shown:  # a slot
            if tx.output.side_effects.load_attr(self, name) is DELETED:
                raise empty_slot(type(self.value), name)
            try:
                value = descriptor.__get__(self.value)  # type: ignore[attr-defined]  # both have it
            except AttributeError as error:
                if not self.is_new:
                    self.guard_slot(tx, name, empty=True)
                raise observed(AttributeError, str(error), name=name) from None
            return tx.build(AttrSource(self._source(), name), value).with_guards(self.guards)
        return self._described(tx, name, descriptor)

    def guard_slot(self, tx: Translator, name: str, *, empty: bool) -> None:
        """Have checked whether nothing is in a slot."""
        found = CallSource(self._source(), stands_empty, (name,))
        condition = f"{found.name()} == {empty}"
        tx.output.chosen(tx.output.install_guard(found, GuardBuilder.EXPRESSION, name=condition))

    def attribute_of_class(self, tx: Translator, name: str, start: int = 0) -> VariableTracker:
        """What the first of its classes that has the name gives for this object; the search begins
        at `start` of their order."""
        whole = type(self.value)
        kind, found = find(whole, name, start)
        # What runs later reads it of the class.
        asked = type(lookup(type(whole), "__getattribute__")) is types.FunctionType
        if found is MISSING or asked:
            raise self.refuse(f"attribute {name}")
        of_type: Source = self.class_source()
        # `type(x).f` finds what the first class of the order has, unless that is asked for.
        first = find(whole, name)[0]
        if first is not kind:
            of_type = GetItemSource(AttrSource(of_type, "__mro__"), place_of(kind, order_of(whole)))
        source = AttrSource(of_type, name)
        if is_property(found) and type(found.fget) is types.FunctionType:
            function = tx.build(AttrSource(source, "fget"), found.fget)
            return function.call_function(tx, [self], {})
        if type(found) is staticmethod:
            return tx.build(source, found.__func__).with_guards(self.guards)
        if type(found) is classmethod and type(found.__func__) is types.FunctionType:
            function = tx.build(AttrSource(source, "__func__"), found.__func__)
            bound = function.bound_to(tx.class_variable(self))
            if bound is not None:
                return bound.with_guards(self.guards)
        if type(found) is types.FunctionType:
            function = tx.build(source, found)
            if not isinstance(function, BaseUserFunctionVariable):
                raise self.refuse_method(name)
            options = self.propagate(self, function)
            plain = first is kind and not self.has_getattribute() and self.source is not None
            own = AttrSource(self._source(), name) if plain else None
            return UserMethodVariable(function, self, source=own, **options)
        if type(found) in METHODS_OF_C:
            known = containers.inherits(whole, name, start)
            polyfill = containers.polyfill_of(whole, found)
            if found is REDUCE and is_reduced_plainly(whole):
                tx.output.chosen(tx.build(MAKER, polyfills.NEW_OBJECT).guards)
                return BoundBuiltinMethod(self, name, guards=self.guards)
            given = (self, name, first is kind, known, polyfill)
            return containers.InheritedMethodVariable(*given, guards=self.guards)
        if has(type(found), "__get__"):
            return self._described(tx, name, found)
        return tx.build(source, found).with_guards(self.guards)

    def _descriptor(self, tx: Translator, name: str, found: object) -> VariableTracker:
        """The tracker of a descriptor of the class, as it is there."""
        if lookup(type(self.value), name) is not found:
            raise self.refuse(f"attribute {name}")
        return in_class(tx, self.class_source(), type(self.value), name)

    def _described(self, tx: Translator, name: str, found: object) -> VariableTracker:
        """What a descriptor of the program's gives for this object."""
        descriptor = self._descriptor(tx, name, found)
        if not isinstance(descriptor, UserDefinedObjectVariable):
            raise self.refuse(f"attribute {name}")
        given = [self, tx.class_variable(self)]
        return descriptor.special(tx, "__get__", given).with_guards(self.guards)

    def contents(self, tx: Translator) -> VariableTracker:
        """What it holds, if it is a container by inheritance."""
        base = containers.container_of(type(self.value))
        assert base is not None
        known = tx.output.contents.get(id(self.value))
        if known is None:
            known = containers.existing_contents(tx, self, self.value, self._source(), base)
            if known is None:
                raise self.refuse("the contents")
            tx.output.remember_contents(self.value, known)
        return tx.output.side_effects.latest(known).with_guards(self.guards)

    def mapping_items(self, tx: Translator) -> dict[object, VariableTracker] | None:
        kind = type(self.value)
        if not has(kind, "keys") and not (
            has(kind, "__getattr__") and self.has_attribute(tx, "keys")
        ):
            return None
        return containers.mapping_items(tx, self)

    def var_setattr(self, tx: Translator, name: str, value: VariableTracker) -> None:
        if self.has_setattr():
            self.special(tx, "__setattr__", [ConstantVariable(name), value])
        else:
            self.generic_setattr(tx, name, value)

    def as_key(self, tx: Translator) -> TrackedKey:
        kind = type(self.value)
        if not is_plain_record(kind):
            return super().as_key(tx)
        names = [each.name for each in dataclasses.fields(kind) if each.hash or each.compare]
        fields = [self.var_getattr(tx, name) for name in names]
        tx.output.chosen_by(*fields)
        keys = tuple(key_of(tx, each) for each in fields)
        return TrackedKey(self, (kind, *keys), keys if is_placed(keys) else None)

    def has_setattr(self) -> bool:
        """Whether its class has a method of its own for storing attributes."""
        own = lookup(type(self.value), "__setattr__")
        return own not in (self.generic_setattr_method, _OF_NAMESPACES)

    def generic_setattr(self, tx: Translator, name: str, value: VariableTracker) -> None:
        """What `generic_setattr_method` does."""
        kind = type(self.value)
        of_class = lookup(kind, name)
        if self._done_by_class(tx, name, "__set__", "fset", [value]):
            return
        if not is_slot(of_class) and (is_data_descriptor(of_class) or not has_dict(kind)):
            raise self.refuse(f"assignment to attribute {name}")
        self.store_own(tx, name, value)

    def _done_by_class(
        self, tx: Translator, name: str, method: str, of_property: str, args: Arguments
    ) -> bool:
        """Whether a property, or another descriptor of the program's, stores or deletes it."""
        of_class = lookup(type(self.value), name)
        function = getattr(of_class, of_property) if is_property(of_class, method) else None
        if type(function) is types.FunctionType:
            source = AttrSource(AttrSource(self.class_source(), name), of_property)
            tx.build(source, function).call_function(tx, [self, *args], {})
            return True
        if type(lookup(type(of_class), method)) is not types.FunctionType:
            return False
        descriptor = self._descriptor(tx, name, of_class)
        known = isinstance(descriptor, UserDefinedObjectVariable)
        if known:
            descriptor.special(tx, method, [self, *args])  # type: ignore[attr-defined]  # asked above
        return known

    def store_own(self, tx: Translator, name: str, value: VariableTracker) -> None:
        """Store what has this name in the object's dictionary, or in a slot."""
        deleted = tx.output.side_effects.load_attr(self, name) is DELETED
        if deleted and self.in_own_dict(name):  # it would keep its place
            raise self.refuse(f"assignment to attribute {name}, which was deleted,")
        if not self.is_new and tx.output.side_effects.load_attr(self, name) is None:
            self._let_go(tx, name)
        tx.output.side_effects.store_attr(self, name, value)

    def _let_go(self, tx: Translator, name: str) -> None:
        """To be asked before the object is to hold something else, or nothing, under a name."""
        source: Source = AttrSource(self._source(), name)
        if not has_class(tx.output, source):  # it may not be there
            source = CallSource(self._source(), held_as, (name,))
        refuse_finalizers(tx.output, [tx.lazy(source, held_as(self.value, name))])

    def var_delattr(self, tx: Translator, name: str) -> None:
        if id(lookup(type(self.value), "__delattr__")) not in _DELATTRS:
            self.special(tx, "__delattr__", [ConstantVariable(name)])
        else:
            self.generic_delattr(tx, name)

    def generic_delattr(self, tx: Translator, name: str) -> None:
        """What `object.__delattr__` does."""
        of_class = lookup(type(self.value), name)
        if self._done_by_class(tx, name, "__delete__", "fdel", []):
            return
        if not self.is_new and is_data_descriptor(of_class) and not is_slot(of_class):
            raise self.refuse(f"deletion of attribute {name}")
        self.delete_own(tx, name)

    def delete_own(self, tx: Translator, name: str) -> None:
        """Delete what has this name in the object's dictionary, or in a slot."""
        kind = type(self.value)
        stored = tx.output.side_effects.load_attr(self, name)
        of_class = lookup(kind, name)
        in_slot = is_slot(of_class) and not self.is_new
        if in_slot and stored is None:  # it has to be there
            tx.output.chosen_by(self.var_getattr(tx, name))
        elif in_slot:
            in_slot = not stands_empty(self.value, name)
            self.guard_slot(tx, name, empty=not in_slot)
        before = in_slot or (has_dict(kind) and not self.is_new and name in self.instance_dict())
        if (
            not (self.has_special("__delattr__") or id(lookup(kind, "__delattr__")) in _DELATTRS)
            or stored is DELETED
            or (runs_program(lookup(kind, name)) and not self.is_new)
            or (stored is None and not before)
        ):
            raise self.refuse(f"deletion of attribute {name}")
        if stored is None:
            self._let_go(tx, name)
        if before and not in_slot:
            found = name, True
            install = tx.output.install_guard
            tx.output.chosen(install(self._source(), GuardBuilder.HASATTR, found, key=found))
        tx.output.side_effects.delete_attr(self, name, before)

    def in_own_dict(self, name: str) -> bool:
        """Whether what is stored under the name goes into the object's dictionary."""
        return type(lookup(type(self.value), name)) is not types.MemberDescriptorType

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        called = lookup(type(self.value), "__call__")
        if not one_of(type(called), (types.FunctionType, staticmethod)):
            raise self.refuse_call()
        method = self.attribute_of_class(tx, "__call__")
        return method.call_function(tx, args, kwargs)

    def call_method(
        self, tx: Translator, name: str, args: Arguments, kwargs: Keywords
    ) -> VariableTracker:
        return self.var_getattr(tx, name).call_function(tx, args, kwargs)

    def special(self, tx: Translator, name: str, args: Arguments) -> VariableTracker:
        inherited = containers.name_inherited(type(self.value), name)
        if inherited is not None:
            return containers.call_inherited(tx, self, inherited, args, {})
        return self.bound_special(tx, name).call_function(tx, args, {})

    def bound_special(self, tx: Translator, name: str) -> VariableTracker:
        """A method that Python looks for in the class only, bound."""
        if not self.has_special(name):
            raise self.refuse_method(name)
        return self.attribute_of_class(tx, name)

    def has_special(self, name: str) -> bool:
        """Whether its class has such a method, written in Python, or one that stands for it."""
        found = lookup(type(self.value), name)
        if type(found) in METHODS_OF_C:
            return containers.polyfill_of(type(self.value), found) is not None
        return type(found) is types.FunctionType

    def getitem(self, tx: Translator, key: VariableTracker) -> VariableTracker:
        if module_of(type(self.value)) == "typing":
            found = GenericAliasVariable.of(self, self.value, key)
            if found is not None:
                return found
        return self.special(tx, "__getitem__", [key])

    def setitem(self, tx: Translator, key: VariableTracker, value: VariableTracker) -> None:
        self.special(tx, "__setitem__", [key, value])

    def contains(self, tx: Translator, item: VariableTracker) -> bool:
        if not has(type(self.value), "__contains__"):
            answer = tx.interpret(polyfills.is_given_by, [self.lazy_iterator(tx), item], {})
        else:
            answer = self.special(tx, "__contains__", [item])
        tx.output.chosen_by(answer)
        return answer.truth(tx)

    def length(self, tx: Translator) -> VariableTracker:
        """`len(object)`."""
        return self.special(tx, "__len__", [])

    def lazy_iterator(self, tx: Translator) -> VariableTracker:
        from stepper.native.variables import polyfilled
        from stepper.native.variables.user_iterator import UserIteratorVariable

        if not has(type(self.value), "__iter__") and self.has_special("__getitem__"):
            kind = type(iter(_ByIndex()))
            return polyfilled.make_iterator(tx, kind, polyfills.items_by_index, [self], sized=self)
        iterator = self.special(tx, "__iter__", [])
        if not isinstance(iterator, UserDefinedObjectVariable):
            return iterator
        if not iterator.has_special("__next__"):
            raise iterator.refuse("iteration")
        return UserIteratorVariable(iterator, guards=iterator.guards)


_COMBINED: object = getattr(enum.Flag, "_missing_").__func__  # noqa: B009  # the same
_DELATTRS = frozenset(map(id, (object.__delattr__, types.SimpleNamespace.__delattr__)))


class _ByIndex:
    def __getitem__(self, index: int) -> int:
        raise IndexError


_OF_DESCRIPTORS = ("__get__", "__set__", "__delete__", "__set_name__")
