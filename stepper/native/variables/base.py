"""What every tracker is.

A tracker stands for one Python value while a frame is interpreted. It is immutable: it says what
the value is, where it came from (`source`) and on which guards that knowledge depends (`guards`),
and never changes. What a program can change, it changes in `SideEffects`, which keeps for each
object, known by its `mutation_type`, the newest tracker and the stored attributes. So a state of
the interpreter is a few references, to go back is to restore them, and the guards that a value
depends on can be read off it at any moment.

The alternative, trackers that change in place as in today's Dynamo, is shorter to write; but then
neither a snapshot nor "on which guards does this depend" has an answer without a copy of it all.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypedDict, TypeVar, dataclass_transform

import torch

from stepper.native import break_contexts
from stepper.native.exc import unimplemented
from stepper.native.guards.class_dicts import has, has_finalizer, lookup
from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.source import CallSource
from stepper.support import break_kinds
from stepper.support.words import is_plain, one_of

if TYPE_CHECKING:
    from stepper.native.guards.guard import Guard
    from stepper.native.protocols import Codegen, Output, Translator
    from stepper.native.source import Recipe, Source

T = TypeVar("T")

Guards = frozenset["Guard"]
NO_GUARDS: Guards = frozenset()


_births = itertools.count()


class MutationType:
    """The identity of an object that the program can change; compared by identity.

    born: says which of two was made first.
    changed: whether it ever was changed, also if that was taken back: who holds an earlier tracker
        of it, as a list does that it is in, has not what it is now.
    """

    def __init__(self) -> None:
        self.born = next(_births)
        self.changed = False


class ValueMutationNew(MutationType):
    """A container that the frame made."""


class ValueMutationExisting(MutationType):
    """A container that was there before."""


class AttributeMutationNew(MutationType):
    """An object with attributes, or a cell, that the frame made."""


class AttributeMutationExisting(MutationType):
    """An object with attributes, or a cell, that was there before."""


Arguments = list["VariableTracker"]
"""Arguments of a call that are given by position."""
Keywords = dict[str, "VariableTracker"]
"""Arguments of a call that are given by name."""


class GuardOptions(TypedDict):
    """What a tracker depends on, as an option of its making."""

    guards: Guards


class TrackerOptions(TypedDict, total=False):
    """What any tracker can be made with; see `VariableTracker`."""

    source: Source | None
    guards: Guards
    mutation_type: MutationType | None


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def tracker_class(cls: type[T]) -> type[T]:
    """A class of trackers, made with its fields and with what every tracker can be made with."""
    return dataclass(eq=False, repr=False)(cls)


@tracker_class
class VariableTracker:
    """Stands for a value; see the module's essay."""

    is_made: ClassVar[bool] = True
    """Whether `reconstruct` makes an object, another one each time."""
    is_repeated: ClassVar[bool] = False
    """Whether what changes it is done once more at the end, and nobody can tell when."""

    python_class: ClassVar[type | None] = None
    """The class of the value, where all that these trackers stand for have one."""

    source: Source | None = field(default=None, kw_only=True)
    """Where the value was when the frame was entered, None: the frame made it."""
    guards: Guards = field(default=NO_GUARDS, kw_only=True)
    """What must hold for it to be what it is."""
    mutation_type: MutationType | None = field(default=None, kw_only=True)
    """Whose contents it has, None: it cannot change."""
    identity: object = field(init=False)
    """What all trackers of one object share, and no other has."""

    def __post_init__(self) -> None:
        self.identity = object() if self.mutation_type is None else self.mutation_type

    @staticmethod
    def propagate(*variables: VariableTracker | Sequence[VariableTracker]) -> GuardOptions:
        """The options of a tracker made from these: all their guards."""
        largest, others = NO_GUARDS, []
        for each in variables:
            for tracker in (each,) if isinstance(each, VariableTracker) else each:
                guards = tracker.guards
                # One set often has the others': a value's has those of what it is made of.
                if guards is largest or guards <= largest:
                    continue
                if largest <= guards:
                    largest = guards
                else:
                    others.append(guards)
        return {"guards": largest.union(*others) if others else largest}

    def with_guards(self, guards: Guards) -> VariableTracker:
        """A tracker of this value that depends on these guards, too."""
        if guards is self.guards or guards <= self.guards:
            return self
        return self.with_fields(guards=self.guards | guards)

    def with_fields(self, **fields: object) -> Self:
        """A tracker of this value with other fields."""
        clone = object.__new__(type(self))
        clone.__dict__.update(self.__dict__, **fields)
        return clone

    def looked_into(self, tx: Translator) -> VariableTracker:
        """A tracker of this value, only to be read, with nothing in it that is still lazy."""
        return self

    def refuse(self, what: str, hint: str = "", *, kind: str = "", context: str = "") -> Exception:
        """To be raised where something is not supported of this value; see `exc.Reason`."""
        return unimplemented(f"{what} of {self.describe()}", hint, kind=kind, context=context)

    def refuse_method(self, name: str) -> Exception:
        """To be raised where there is no model of a method of this value."""
        context = break_contexts.method_context(self, name)
        return self.refuse(f"method {name}", kind=break_kinds.METHOD, context=context)

    def refuse_call(self) -> Exception:
        """To be raised where there is no model of a call of this value."""
        return self.refuse("a call", kind=break_kinds.CALL)

    def _source(self) -> Any:
        """Where the value was, of those that are read there."""
        if self.source is None:
            raise self.refuse("attributes")
        return self.source

    def describe(self) -> str:
        """What it is, in the words of a reason."""
        try:
            name = self.python_type().__name__
        except NotImplementedError:
            name = type(self).__name__
        return f"{name} {self.source.name()}" if self.source is not None else name

    # --- what it is

    def python_type(self) -> type:
        """The class of the value: of a tracker that has it, `type(self.value)`."""
        if self.python_class is not None:
            return self.python_class
        if "value" not in vars(self):
            raise NotImplementedError
        return type(vars(self)["value"])

    def is_python_constant(self) -> bool:
        """Whether `as_python_constant` can be asked."""
        return False

    def is_constant_item(self) -> bool:
        """Whether `as_python_constant` can be asked by a container that holds this tracker."""
        changed = self.mutation_type is not None and self.mutation_type.changed
        return not changed and self.is_python_constant()

    def as_python_constant(self) -> Any:
        """The value itself, for those that are known and cannot be told from a copy."""
        raise self.refuse("the value")

    def as_key(self, tx: Translator) -> TrackedKey:
        """The value, as a key of dictionaries."""
        made = isinstance(self.mutation_type, AttributeMutationNew)
        if not (made or self.source is not None) or not is_hashed_by_identity(self.python_type()):
            raise self.refuse("use as a key")
        if self.source is not None:
            tx.output.note_key(self.source)
        return TrackedKey(self)

    def as_proxy(self) -> Any:
        """What stands for it among the arguments of a node."""
        context = f"args: {break_contexts.tracker_in_words(self)}"
        raise self.refuse("use in the graph", kind=break_kinds.TO_PROXY, context=context)

    # --- what can be done with it

    def truth(self, tx: Translator) -> bool:
        """`bool(value)`: most objects are true, since their classes do not say how to ask."""
        if any(has(self.python_type(), name) for name in ("__bool__", "__len__")):
            raise self.refuse("the truth")
        return True

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        """`value.name`."""
        raise self.refuse(f"attribute {name}")

    def var_setattr(self, tx: Translator, name: str, value: VariableTracker) -> None:
        """`value.name = value`."""
        raise self.refuse(f"assignment to attribute {name}")

    def var_delattr(self, tx: Translator, name: str) -> None:
        """`del value.name`."""
        raise self.refuse(f"deletion of attribute {name}")

    def unpack(self, tx: Translator) -> list[VariableTracker]:
        """What it gives, one by one."""
        raise self.refuse("iteration")

    def listed(self, tx: Translator) -> list[VariableTracker]:
        """`[*value]`, for a list or a tuple, which ask how long it will be."""
        return self.unpack(tx)

    def iterated(self, tx: Translator) -> list[VariableTracker]:
        """`[*iter(value)]`, for a slice or a text, which ask the iterator for a length."""
        return self.listed(tx)

    def mapping_items(self, tx: Translator) -> dict[object, VariableTracker] | None:
        """What `dict.update` takes from it by its keys; None: it takes pairs."""
        return None

    def lazy_iterator(self, tx: Translator) -> VariableTracker | None:
        """`iter(value)`, for what is not to be unpacked at once."""
        return None

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        """`value(*args, **kwargs)`."""
        raise self.refuse_call()

    def call_method(
        self, tx: Translator, name: str, args: Arguments, kwargs: Keywords
    ) -> VariableTracker:
        """`value.name(*args, **kwargs)`."""
        raise self.refuse_method(name)

    def bound_to(self, obj: VariableTracker) -> VariableTracker | None:
        """The method that a function is of an object; None: it is no function of the program's."""
        return None

    def getitem(self, tx: Translator, key: VariableTracker) -> VariableTracker:
        """`value[key]`."""
        raise self.refuse("subscription")

    def setitem(self, tx: Translator, key: VariableTracker, value: VariableTracker) -> None:
        """`value[key] = value`."""
        raise self.refuse("assignment to an item")

    def contains(self, tx: Translator, item: VariableTracker) -> bool:
        """`item in value`."""
        raise self.refuse("a membership test")

    # --- how transformed code gets it

    def recipe(self) -> Recipe | None:
        """How it is made anew, for those without a source; None: in another way, or not at all."""
        return None

    def reconstruct(self, codegen: Codegen) -> None:
        """Emit instructions that push the value."""
        if (recipe := self.recipe()) is None:
            raise self.refuse("reconstruction")
        codegen.make(*recipe)

    def parts(self) -> Sequence[VariableTracker]:
        """The trackers that its reconstruction needs."""
        return [*trackers_among(self.recipe() or ())]


def trackers_among(given: Iterable[object]) -> Iterator[VariableTracker]:
    """The trackers among the parts of a recipe."""
    for each in given:
        if isinstance(each, VariableTracker):
            yield each
        elif isinstance(each, TrackedKey):
            yield each.tracker
        elif isinstance(each, tuple | list | dict):
            yield from trackers_among(each)


class TrackedKey:
    """A key of dictionaries that is known by its tracker.

    tracker: of the object.
    equals: what it has in common with keys that are equal to it; None: it is equal to itself only.
    hashed: what has the object's hash; None: that comes of where it lies, elsewhere at each call.
    """

    def __init__(
        self, tracker: VariableTracker, equals: object = None, hashed: object = None
    ) -> None:
        self.tracker = tracker
        self.equals = tracker.identity if equals is None else equals
        self.hashed = hashed

    @classmethod
    def guarded(cls, tracker: VariableTracker, value: object) -> TrackedKey:
        """The key of an object that is guarded to be this one."""
        return cls(tracker, value, value)

    def __hash__(self) -> int:
        return hash(self.equals if self.hashed is None else self.hashed)

    def __eq__(self, other: object) -> bool:
        return bool(self.equals == (other.equals if isinstance(other, TrackedKey) else other))


def is_hashed_by_identity(kind: type) -> bool:
    """Whether objects of a class are equal to themselves only."""
    if one_of(kind, (torch.Tensor, torch.nn.Parameter)):
        return True
    return (
        lookup(kind, "__hash__") is object.__hash__
        and lookup(kind, "__eq__") is object.__dict__["__eq__"]
    )


def refuse_finalizers(output: Output, dropped: Iterable[VariableTracker]) -> None:
    """To be asked before a container or an object lets go of these: it does so later than in the
    program. Of what nobody has looked at it is guarded that it ends quietly.

    Raises:
        Unsupported: one of them was there before, and letting go of it may run something.
    """
    for tracker in dropped:
        if tracker.source is None:
            continue
        if has_finalizer(getattr(tracker, "value", None)):
            raise tracker.refuse("letting go")
        if isinstance(tracker, LazyVariableTracker) and not has_class(output, tracker.source):
            ends = CallSource(tracker.source, has_finalizer)
            condition = f"{ends.name()} == False"
            output.install_guard(ends, GuardBuilder.EXPRESSION, name=condition)
        note_let_go(output, tracker, getattr(tracker, "value", tracker))


def note_let_go(output: Output, tracker: VariableTracker, value: object) -> None:
    """To be told where something is let go that was there before, and may be in a table that holds
    it weakly: such is looked into only before, or only afterwards.

    Raises:
        Unsupported: one was looked into before.
    """
    alone = issubclass(type(value), torch.Tensor) and not weakref.getweakrefs(value)
    if not alone and not is_plain(type(value)):
        output.lets_go = True
        if output.holds_weakly:
            raise tracker.refuse("letting go, beside a table that may hold it weakly,")


def refuse_replaced(
    tx: Translator, owner: VariableTracker, name: str, source: Source, held: Mapping[str, object]
) -> None:
    """To be asked before `owner` is to hold something else than in `held`, as `refuse_finalizers`;
    what the frame itself has stored there can go."""
    if name in held and tx.output.side_effects.load_attr(owner, name) is None:
        refuse_finalizers(tx.output, [tx.lazy(source, held[name])])


def has_class(output: Output, source: Source) -> bool:
    """Whether it is guarded already of which class a value is."""
    return any((source.name(), each) in output.guards for each in _OF_CLASSES)


_OF_CLASSES = (GuardBuilder.CONSTANT_MATCH, GuardBuilder.TYPE_MATCH, GuardBuilder.TENSOR_MATCH)
"""Guards that hold the class of a value, too."""


class NullVariable(VariableTracker):
    """The NULL below a callable."""

    is_made = False

    def describe(self) -> str:
        return "NULL"

    def reconstruct(self, codegen: Codegen) -> None:
        codegen.push_null()


class DeletedVariable(VariableTracker):
    """Stands in an attribute's place that was there before and is gone."""

    is_made = False

    def describe(self) -> str:
        return "nothing"


DELETED = DeletedVariable()


class LazyVariableTracker(VariableTracker):
    """A value that nobody has looked at yet: it has no guards.

    value: the value itself.
    """

    def __init__(self, value: object, source: Source) -> None:
        super().__init__(source=source)
        self.value = value
