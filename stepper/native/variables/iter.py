"""Iterators: where they stand is a change of the iterator, kept like all others in the side
effects."""

from __future__ import annotations

import itertools
import sys
import types
from collections.abc import Callable, Iterator, Reversible, Sequence
from functools import partial
from typing import TYPE_CHECKING, Self

from stepper import _C
from stepper.native import polyfills
from stepper.native.exc import Reason, RestartAnalysis, Unsupported, unimplemented
from stepper.native.guards.class_dicts import lookup, order_of
from stepper.native.variables.base import ValueMutationNew, VariableTracker, tracker_class
from stepper.native.variables.builtin_methods import HasBuiltinMethods
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.dicts import (
    ConstDictVariable,
    DictionaryVariable,
    DictViewVariable,
)
from stepper.native.variables.exceptions import observed
from stepper.native.variables.folding import fold
from stepper.native.variables.lists import (
    BaseListVariable,
    RangeVariable,
    TupleVariable,
)
from stepper.native.variables.sets import SetVariable

if TYPE_CHECKING:
    from stepper.native.protocols import Codegen, Translator
    from stepper.native.source import Recipe


@tracker_class
class IteratorVariable(HasBuiltinMethods):
    """An iterator that the frame made."""

    def __post_init__(self) -> None:
        if self.mutation_type is None:
            self.mutation_type = ValueMutationNew()
        super().__post_init__()

    def next_variable(self, tx: Translator) -> VariableTracker | None:
        """The next value, None: there is none."""
        raise NotImplementedError

    def ended(self, tx: Translator) -> Unsupported:
        """To be raised where the next value is asked for, and there is none."""
        return observed(StopIteration)

    def unpack(self, tx: Translator) -> list[VariableTracker]:
        return self.take(tx, sys.maxsize)

    def take(self, tx: Translator, count: int) -> list[VariableTracker]:
        """So many values, or all that there are."""
        values: list[VariableTracker] = []
        current: VariableTracker = self
        while len(values) < count:
            assert isinstance(current, IteratorVariable)
            if (value := current.next_variable(tx)) is None:
                break
            tx.spend(1)
            values.append(value)
            current = tx.output.side_effects.latest(current)
        return values

    def contains(self, tx: Translator, item: VariableTracker) -> bool:
        answer = tx.interpret(polyfills.is_given_by, [self, item], {})
        tx.output.chosen_by(answer)
        return answer.truth(tx)


_ONE_ROUND = "avoid the break inside the loop, or compile what is done in a round"
_ITERATORS: dict[type, type] = {kind: type(iter(kind())) for kind in (list, tuple)} | {
    range: type(iter(range(0)))
}


@tracker_class
class ListIteratorVariable(IteratorVariable):
    """Over a sequence that may change meanwhile, or the characters of a text, or bytes."""

    base: VariableTracker
    """The sequence."""
    index: int | None = 0
    """The place of the next item, None: exhausted."""
    place: int = 0
    """The instruction that took the first item, if the iterator was there before the frame."""

    def python_type(self) -> type:
        if isinstance(self.base, ConstantVariable):
            return type(iter(self.base.value))
        kinds = order_of(self.base.python_type())
        return next(_ITERATORS[kind] for kind in kinds if kind in _ITERATORS)

    def _items(self, tx: Translator) -> Sequence[object]:
        base = tx.output.side_effects.latest(self.base)
        if isinstance(base, ConstantVariable):
            text: Sequence[object] = base.value
            return text
        if isinstance(base, BaseListVariable):
            return base.items
        if isinstance(base, RangeVariable) and abs(base.value.stop) < sys.maxsize // 2:
            return base.value
        raise self.refuse("iteration")

    def _moved(self, tx: Translator, index: int | None) -> None:
        begun = tx.output.side_effects.latest(self) is not self or self.place
        place = self.place if begun else tx.root.current_instruction.index
        new = type(self)(
            self.base, index, place,
            source=self.source, guards=self.guards, mutation_type=self.mutation_type,
        )  # fmt: skip
        tx.output.side_effects.mutate(self, new, "next")

    def next_variable(self, tx: Translator) -> VariableTracker | None:
        if self.index is None:
            return None
        items = self._items(tx)
        if self.index >= len(items):
            self._moved(tx, None)
            return None
        item = items[self.index]
        self._moved(tx, self.index + 1)
        if isinstance(item, VariableTracker):
            return tx.realize(item).with_guards(self.guards)
        return ConstantVariable(item, guards=self.guards)

    def taken_since(self, codegen: Codegen, before: ListIteratorVariable) -> int:
        """How many items have been taken of an iterator that was there before; -1: all.

        Raises:
            RestartAnalysis: it is left to Python.
        """
        output, root = codegen.tx.output, codegen.tx.root
        # What is left of a loop would be captured anew for each round.
        in_loop = output.broken and root.instructions[self.place].opname == "FOR_ITER"
        if in_loop or output.side_effects.latest(self.base) is not self.base:
            reason = f"iteration of {self.describe()}, which was begun"
            raise RestartAnalysis(self.place, Reason(reason, _ONE_ROUND))
        return -1 if self.index is None else self.index - (before.index or 0)

    def recipe(self) -> Recipe:
        if self.index:
            return polyfills.iterated_from, self.base, self.index
        return iter, () if self.index is None else self.base


@tracker_class
class ElementIteratorVariable(IteratorVariable):
    """Over a view of a dictionary, or a set: what must not change its size meanwhile."""

    base: VariableTracker
    """The view or set."""
    index: int | None
    """The place of the next element, None: exhausted."""
    layout: object
    """The layout of the base when the iteration began; None: it has raised an error since."""
    size: int
    """How many elements there were then."""
    back: bool = False
    """Whether it goes back."""

    @classmethod
    def begin(cls, tx: Translator, base: VariableTracker, *, back: bool = False) -> Self:
        """An iterator of which nothing has been taken.

        Raises:
            Unsupported: the order is not known.
        """
        size = len(base.unpack(tx))
        return cls(base, 0, layout_of(tx, base), size, back, guards=base.guards)

    def _becomes(self, tx: Translator, index: int | None, layout: object) -> None:
        new = type(self)(
            self.base, index, layout, self.size, self.back,
            guards=self.guards, mutation_type=self.mutation_type,
        )  # fmt: skip
        tx.output.side_effects.mutate(self, new, "next")

    def python_type(self) -> type:
        if isinstance(self.base, DictViewVariable):
            view = self.base.of_nothing()
            return type(reversed(view) if self.back else iter(view))
        return type(iter(set()))

    def next_variable(self, tx: Translator) -> VariableTracker | None:
        if self.index is None:
            return None
        base = tx.output.side_effects.latest(self.base)
        if layout_of(tx, base) is not self.layout:
            kind = type(self.base.newest(tx) if isinstance(self.base, DictViewVariable) else base)
            text = _CHANGED.get(kind)
            if text is None or (self.layout and len(base.unpack(tx)) == self.size):
                raise unimplemented(f"{self.base.describe()}, which changed during iteration,")
            self._becomes(tx, self.index, None)
            raise observed(RuntimeError, text)
        items = base.unpack(tx)
        done = self.index >= len(items)
        self._becomes(tx, None if done else self.index + 1, self.layout)
        return None if done else items[-1 - self.index if self.back else self.index]

    def reconstruct(self, codegen: Codegen) -> None:
        effects = codegen.tx.output.side_effects
        holder = self.base.base if isinstance(self.base, DictViewVariable) else self.base
        if (owner := getattr(holder, "obj", None)) is not None and effects.stored(owner):
            raise self.refuse("reconstruction, once attributes have been stored,")
        before = effects.changed.get(holder.mutation_type)  # type: ignore[arg-type]  # None is no key of it
        for each in (before, effects.latest(holder)):
            # What is pending is done when the iterator is there.
            if each is not None and layout_of(codegen.tx, each) is not self.layout:
                raise self.refuse("reconstruction, once keys have changed,")
        super().reconstruct(codegen)

    def recipe(self) -> Recipe:
        return advanced, self.base, -1 if self.index is None else self.index, self.back


_CHANGED: dict[type, str] = {
    ConstDictVariable: "dictionary changed size during iteration",
    SetVariable: "Set changed size during iteration",
}
"""What is said where an element has come or gone, at every step from then on."""


def layout_of(tx: Translator, base: VariableTracker) -> object:
    """What is another object once an element of a dictionary or set has come or gone."""
    if isinstance(base, DictViewVariable):
        return base.newest(tx).layout
    if isinstance(base, BaseListVariable):  # in a deque
        return base.items
    if isinstance(base, DictionaryVariable):
        return base.known(tx).layout
    assert isinstance(base, SetVariable)
    return base.layout


def advanced(iterable: Reversible[object], count: int, back: bool = False) -> object:
    """An iterator of which so many values have been taken; -1: all. Nothing is captured under
    it."""
    made = reversed(iterable) if back else iter(iterable)
    for _ in made if count < 0 else itertools.islice(made, count):
        pass
    return made


_C.set_skip(advanced.__code__, "recursive")


@tracker_class
class CombinedIteratorVariable(IteratorVariable):
    """`zip`, `enumerate` or `map` over other iterators."""

    function: type[Iterator[object]]
    """Which of them."""
    items: Sequence[VariableTracker]
    """The iterators; of `map`, the function before them."""
    count: int = 0
    """The next number that `enumerate` gives."""
    strict: bool = False

    def python_type(self) -> type:
        kind: type = self.function
        return kind

    def next_variable(self, tx: Translator) -> VariableTracker | None:
        values: list[VariableTracker] = []
        for each in self.items[1:] if self.function is map else self.items:
            iterator = tx.output.side_effects.latest(each)
            assert isinstance(iterator, IteratorVariable)
            value = iterator.next_variable(tx)
            if value is None:
                if self.strict:
                    self._require_end(tx, len(values))
                return None
            values.append(value)
        if not values:
            return None
        options = self.propagate(self, values)
        if self.function is zip:
            return TupleVariable(values, **options)
        if self.function is map:
            return tx.realize(self.items[0]).call_function(tx, values, {})
        new = CombinedIteratorVariable(
            self.function, self.items, self.count + 1,
            guards=self.guards, mutation_type=self.mutation_type,
        )  # fmt: skip
        tx.output.side_effects.mutate(self, new, "next")
        return TupleVariable([ConstantVariable(self.count), *values], **options)

    def _require_end(self, tx: Translator, ended: int) -> None:
        """Have an error be raised unless all end where the iterator at this place did."""
        odd, how = ended, "shorter"
        if not ended:
            newest = map(tx.output.side_effects.latest, self.items)
            rest = (isinstance(e, IteratorVariable) and e.next_variable(tx) for e in newest)
            odd, how = next((at for at, value in enumerate(rest) if value is not None), 0), "longer"
        if odd:
            others = " " if odd == 1 else "s 1-"
            text = f"zip() argument {odd + 1} is {how} than argument{others}{odd}"
            raise observed(ValueError, text)

    def recipe(self) -> Recipe:
        made: Callable[..., object] = self.function
        if self.function is enumerate:
            return made, *self.items, self.count
        return partial(made, strict=True) if self.strict else made, *self.items


def ask_length(tx: Translator, value: VariableTracker) -> None:
    """What is asked of an object of which a list is made: who has written that can see it."""
    if type(lookup(value.python_type(), "__len__")) is types.FunctionType:
        tx.interpret(polyfills.length_asked, [value], {})
    elif type(lookup(value.python_type(), "__length_hint__")) is types.FunctionType:
        tx.interpret(polyfills.hint_asked, [value], {})


def iterate(tx: Translator, value: VariableTracker) -> IteratorVariable:
    """`iter(value)`."""
    options = VariableTracker.propagate(value)
    if isinstance(value, IteratorVariable):
        return value
    if isinstance(value, BaseListVariable | RangeVariable):
        return ListIteratorVariable(value, **options)
    if isinstance(value, ConstDictVariable):
        value = DictViewVariable(value, "keys", **options)
    if isinstance(value, DictViewVariable | SetVariable):
        return ElementIteratorVariable.begin(tx, value)
    if isinstance(value, ConstantVariable) and isinstance(value.value, str | bytes):
        return ListIteratorVariable(value, **options)
    if isinstance(value, ConstantVariable):
        raise fold(iter, [value], {}).refuse("iteration")
    if (lazy := value.lazy_iterator(tx)) is not None:
        assert isinstance(lazy, IteratorVariable)
        return lazy
    # What is unpacked at once is made into a tuple: nothing can change it meanwhile.
    return ListIteratorVariable(TupleVariable(value.unpack(tx), **options), **options)
