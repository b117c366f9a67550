"""Attributes that a captured frame stores: pending until the graph has run, seen by what follows,
checked, and given up where storing means more."""

from __future__ import annotations

import abc
import collections
import datetime
import decimal
import functools
import importlib
import itertools
import operator
import random
import re
import types
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from stepper import native
from stepper.native.explanation import Explanation
from tests.engines.native.harness import check, run_graph

pytestmark = pytest.mark.evaluator_out


class Counter(nn.Module):
    calls: int
    running: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(2, 2)
        self.calls = 0
        self.last: Any = None
        self.register_buffer("running", torch.zeros(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        y: torch.Tensor = self.lin(x) * self.calls
        self.last = y
        self.running = self.running * 0.5 + y.mean(0)
        return y + self.running


def both(make: Any, *args: Any, calls: int = 3) -> Explanation:
    """Calls of an object captured and of another not captured do the same; what was captured."""
    from stepper.native.watching import WATCHING

    torch.manual_seed(0)
    plain = make()
    torch.manual_seed(0)
    one = make()
    captured = native.optimize(run_graph)(one)
    explanation = WATCHING.explanation = Explanation()
    try:
        for _ in range(calls):
            assert torch.allclose(plain(*args), captured(*args)), str(explanation)
            for name, value in vars(plain).items():
                if isinstance(value, int | torch.Tensor):
                    assert torch.equal(torch.as_tensor(value), torch.as_tensor(vars(one)[name]))
    finally:
        WATCHING.explanation = None
    if isinstance(plain, nn.Module):
        for (name, a), (_, b) in zip(plain.named_buffers(), one.named_buffers(), strict=True):
            assert torch.allclose(a, b), name
    return explanation


def test_a_module_counts_its_calls_and_keeps_a_buffer() -> None:
    explanation = both(Counter, torch.ones(3, 2))
    assert not explanation.breaks, str(explanation)
    assert not explanation.skips


def test_a_stored_attribute_is_checked_at_the_next_call() -> None:
    class Model(nn.Module):
        scale = 1.0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = x * self.scale
            self.scale = 3.0
            return y

    model = Model()
    captured = native.optimize(run_graph)(model)
    assert [captured(torch.ones(1)).item() for _ in range(3)] == [1, 3, 3]
    model.scale = 5.0
    assert captured(torch.ones(1)).item() == 5


def test_a_buffer_registered_later_under_the_name_is_noticed() -> None:
    class Model(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.seen = x + 1
            return x * 2

    model = Model()
    captured = native.optimize(run_graph)(model)
    captured(torch.ones(1))
    assert "seen" in vars(model)
    del model.seen
    model.register_buffer("seen", torch.zeros(1))
    captured(torch.ones(1))
    assert model.state_dict()["seen"].item() == 2
    assert "seen" not in vars(model)


def test_registers_and_calls_are_not_stored_into_unseen() -> None:
    class Model(nn.Module):
        b: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("b", torch.ones(2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.b = self.b + x
            total = torch.zeros(2)
            for each in self._buffers.values():
                assert each is not None
                total = total + each
            return total

    both(Model, torch.ones(2))

    class Replaced(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.weight = nn.Parameter(x.detach() + 1)
            return self.weight * 2

    explanation = both(Replaced, torch.ones(2))
    assert explanation.breaks


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self) -> None:
        self.a, self.b = 1, 2


class Setter:
    def __init__(self) -> None:
        self.raw = 1

    @property
    def doubled(self) -> int:
        return self.raw * 2

    @doubled.setter
    def doubled(self, value: int) -> None:
        self.raw = value // 2


class Logged:
    def __init__(self) -> None:
        self.names: Any = []

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "names":
            self.names.append(name)
            value = (value, name)
        super().__setattr__(name, value)


def test_slots_setters_and_methods_of_ones_own() -> None:
    def f(x: torch.Tensor, slotted: Any, setter: Any, logged: Any) -> Any:
        slotted.a += 5
        setter.doubled = 8
        logged.first = x * slotted.a
        logged.second = setter.doubled
        return x + slotted.a + setter.raw, list(logged.names), slotted.a, slotted.b

    explanation = check(f, torch.ones(2), Slotted(), Setter(), Logged())
    assert explanation.graph_count == 1, str(explanation)
    assert not explanation.breaks


def test_two_names_of_one_object_see_one_state() -> None:
    class Box:
        value = 0

    def f(x: torch.Tensor, a: Any, b: Any) -> Any:
        a.value = 1
        b.value = 2
        return x + a.value

    captured = native.optimize(run_graph)(f)
    one, other = Box(), Box()
    assert captured(torch.zeros(1), one, other).item() == 1
    assert captured(torch.zeros(1), one, one).item() == 2
    assert (one.value, other.value) == (2, 2)


def test_an_attribute_stored_before_a_failing_operator_is_stored() -> None:
    class Box:
        value = 0

    def f(x: torch.Tensor, i: torch.Tensor, box: Any) -> torch.Tensor:
        box.value += 1
        y = x[i]
        box.value += 1
        return y

    box = Box()
    captured = native.optimize(run_graph)(f)
    captured(torch.ones(2), torch.tensor([1]), box)
    assert box.value == 2
    with pytest.raises(IndexError):
        captured(torch.ones(2), torch.tensor([7]), box)
    assert box.value == 3


def test_stores_before_and_after_a_break_are_all_done_in_time() -> None:
    class Model(nn.Module):
        calls = 0
        seen: Any = None

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            self.seen = x + self.calls
            print(self.calls, self.seen.sum().item())
            self.calls += 1
            self.seen = self.seen * 2
            y: torch.Tensor = x + self.seen
            return y

    explanation = both(Model, torch.ones(2))
    assert explanation.breaks
    assert not explanation.skips, str(explanation)


def test_hooks_and_calls_of_a_module_whose_forward_is_stored() -> None:
    class Inner(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + 1

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Inner()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.inner.forward = torch.neg  # type: ignore[method-assign,assignment]  # as programs do
            y: torch.Tensor = self.inner(x)
            return y

    both(Model, torch.ones(2))


def facts(x: torch.Tensor, named: Any, partial: Any, module: Any) -> tuple[torch.Tensor, Any]:
    found: list[Any] = [
        (1).__class__ is int, [x].__class__ is list, (x, 1).__class__ is tuple,
        {}.__class__ is dict,
        "a".__class__ is str, Pair(1, 2).__class__ is Pair,
        Fixed.__mro__[1] is Base, Fixed.__base__ is Base, len(Fixed.__bases__), Fixed.__module__,
        # A metaclass has these, and what it makes of a class has them; not the class's instances.
        hasattr(named, "__mro__"), hasattr(slice(1, 2), "__mro__"), hasattr([], "mro"),
        hasattr(named, "__name__"), hasattr(named, "note"), getattr(named, "note", 7),
        hasattr(functools.partial(named, 1), "func"), hasattr(functools.partial(named, 1), "note"),
        hasattr(partial, "note"), getattr(partial, "note", 8),
        hasattr(module, "note"), getattr(module, "note", 9), hasattr(module, "__name__"),
        hasattr(lambda: 1, "__name__"), hasattr(lambda: 1, "note"),
    ]  # fmt: skip
    return x + 1, found


class Base:
    pass


class Fixed(Base):
    pass


Pair = collections.namedtuple("Pair", "a b")


def test_what_functions_partials_modules_and_classes_have() -> None:
    def named(x: int) -> int:
        return x

    partial, module = functools.partial(named), types.ModuleType("made")
    captured = native.optimize_assert(run_graph)(facts)
    arguments = torch.ones(2), named, partial, module
    changes: list[Any] = [None, named, partial, module]
    for changed in changes:
        if changed is not None:
            changed.note = 1
        assert captured(*arguments)[1] == facts(*arguments)[1]


def test_a_global_variable_of_another_module_is_read_as_it_was_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "count = 0\ndef counted(x):\n    global count\n    count += 1\n    return x * count\n"
    (tmp_path / "counting.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    other = importlib.import_module("counting")

    def f(x: torch.Tensor) -> torch.Tensor:
        return other.counted(x) + other.count + hasattr(other, "count")

    captured = native.optimize_assert(run_graph)(f)
    assert [captured(torch.ones(1)).item() for _ in range(3)] == [3, 5, 7]
    assert other.count == 3


class Vehicle:
    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return super().__new__(cls)

    def __init__(self, wheels: int) -> None:
        super().__init__()
        self.wheels = wheels


class Car(Vehicle):
    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__new__(cls)
        made.made = 1
        return made

    def __init__(self, wheels: int, doors: int = 2) -> None:
        super().__init__(wheels)
        self.doors = doors


class Elsewhere:
    """Whose instances are others."""

    def __new__(cls) -> Any:
        return Car(5)


class Unfinished:
    """Made with more than its `__init__`, which is object's, takes."""

    def __new__(cls, value: int) -> Any:
        made = object.__new__(cls)
        made.value = value  # type: ignore[attr-defined]  # made here
        return made


def test_classes_that_make_their_instances_by_a_method_of_their_own() -> None:
    def f(x: torch.Tensor) -> Any:
        made: list[Any] = [Car(4, doors=5), Elsewhere(), Unfinished(7)]
        y = x * made[0].wheels + made[0].doors + made[1].wheels + made[2].value
        return y, [type(each) for each in made], [each.__dict__ for each in made]

    captured = native.optimize_assert(run_graph)(f)
    for _ in range(2):
        assert captured(torch.ones(1)) == f(torch.ones(1))


class TensorLike:
    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return "taken over"


def test_what_is_like_a_tensor_is_so_when_captured() -> None:
    def f(x: torch.Tensor, other: Any) -> Any:
        like = torch.overrides.is_tensor_like(other), torch.overrides.is_tensor_like(x)
        taken = torch.overrides.has_torch_function((x, other))
        return torch.add(x, other) if taken else x + 1, like, type(x.shape) is torch.Size

    for other in (TensorLike(), Base()):
        check(f, torch.ones(2), other)


def test_checks_that_succeed_and_types_as_dtypes_stand_in_one_graph() -> None:
    def f(x: torch.Tensor, n: int) -> Any:
        torch._check(x.shape[0] == 3)
        torch._check(n > 0, lambda: "no number")
        pair = torch.return_types.max((x, x + n))
        kinds: tuple[Any, Any, Any] = bool, float, int  # torch takes them; its stubs do not say so
        y = x.to(kinds[0]).to(kinds[1]) + torch.zeros(3, dtype=kinds[2])
        return y, pair, type(pair).__name__

    captured = native.optimize_assert(run_graph)(f)
    assert str(captured(torch.ones(3), 2)) == str(f(torch.ones(3), 2))
    with pytest.raises(RuntimeError, match="no number"):
        native.optimize(run_graph)(f)(torch.ones(3), 0)


def test_a_number_that_is_a_symbol_has_what_numbers_have() -> None:
    def f(x: torch.Tensor, n: int) -> Any:
        return (
            x + n,
            hasattr(n, "bit_length"),
            hasattr(n, "note"),
            torch.overrides.is_tensor_like(n),
        )

    captured = native.optimize_assert(run_graph, dynamic=True)(f)
    for n in (3, 4):
        assert captured(torch.ones(n), n)[1:] == (True, False, False)


class Absent:
    """A descriptor that finds nothing."""

    def __get__(self, owner: object, cls: type | None = None) -> Any:
        raise AttributeError("there is none")


class Computing(type):
    """Gives its classes an attribute that some of them do not have."""

    @property
    def computed(cls) -> int:
        raise AttributeError("there is none")


class Computed(metaclass=Computing):
    found = Absent()
    plain = 1


class Abstract(abc.ABC):
    @abc.abstractmethod
    def method(self) -> None: ...


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (Base, "__abstractmethods__"),
        (Abstract, "__abstractmethods__"),
        (Computed, "computed"),
        (Computed, "found"),
        (Computed, "plain"),
        (Computed, "mro"),
        (Computed, "__name__"),
        (torch.ones(2), "__cuda_array_interface__"),
        (torch.ones(2), "real"),
        (torch.ones(2), "shape"),
    ],
    ids=str,
)
def test_what_is_computed_may_not_be_there(owner: Any, name: str) -> None:
    """A descriptor of that name is not enough."""

    def asks(x: torch.Tensor, owner: Any) -> torch.Tensor:
        return x + 1 if hasattr(owner, name) else x - 1

    compiled = native.optimize(run_graph)(asks)
    x = torch.ones(2)
    assert torch.equal(compiled(x, owner), asks(x, owner))


def test_tensors_keep_what_is_stored_on_them() -> None:
    """Also if what were two tensors is one, at a later call."""

    def marks(x: Any, y: Any, notes: list[int]) -> tuple[Any, Any]:
        x.mark, y.grad = notes, x + 1
        made: Any = x * 2
        made.of = x
        return made, hasattr(y, "mark") or x.grad

    compiled = native.optimize(run_graph)(marks)
    for count in (2, 1, 2):
        x, *others = (torch.ones(2) for _ in range(count))
        y, notes = (*others, x)[0], [1]
        made, asked = compiled(x, y, notes)
        assert made.of is x
        assert x.mark is notes
        assert y.grad is not None
        assert torch.equal(y.grad, torch.full((2,), 2.0))
        assert asked is (None if count == 2 else True)


class Falling:
    def __getattr__(self, name: str) -> int:
        return 5


class Caught(Falling):
    def __getattribute__(self, name: str) -> Any:
        try:
            return super().__getattribute__(name)
        except AttributeError:
            return 7


class CaughtByObject(Falling):
    def __getattribute__(self, name: str) -> Any:
        try:
            return object.__getattribute__(self, name)
        except AttributeError:
            return 8


class PassedOn(Falling):
    def __getattribute__(self, name: str) -> Any:
        return object.__getattribute__(self, name)


class RefusedByItself(Falling):
    def __getattribute__(self, name: str) -> Any:
        if name == "z":
            raise AttributeError(name)
        return super().__getattribute__(name)


class RefusedByProperty(Falling):
    @property
    def z(self) -> int:
        raise AttributeError


class RefusedTwice(RefusedByProperty):
    def __getattr__(self, name: str) -> int:
        raise AttributeError


class Ends:
    def __init__(self) -> None:
        self.left = 2

    def __iter__(self) -> Ends:
        return self

    def __next__(self) -> int:
        self.left -= 1
        if self.left < 0:
            raise StopIteration
        return self.left


@pytest.mark.parametrize(
    "kind",
    [
        Falling, Caught, CaughtByObject, PassedOn, RefusedByItself, RefusedByProperty, RefusedTwice,
    ],
)  # fmt: skip
def test_getattr_is_asked_when_nothing_else_has_the_attribute(kind: type) -> None:
    given = kind()

    def read(x: torch.Tensor) -> Any:
        found = getattr(given, "z", 3), hasattr(given, "z"), sum(Ends())
        try:
            return x + 1, found, given.z
        except AttributeError:
            return x + 2, found

    assert not check(read, torch.ones(2)).breaks


class Lazy:
    def __init__(self) -> None:
        self.size = 3

    @functools.cached_property
    def doubled(self) -> int:
        """Twice as much."""
        self.size += 1
        return self.size * 2

    def scaled(self, x: Any) -> Any:
        """As much as it is."""
        return x * self.size


def computes_once(x: Any, lazy: Lazy) -> Any:
    made = Lazy()
    return x + lazy.doubled + lazy.doubled, lazy.size, made.doubled, sorted(vars(made))


def reads_of_methods(x: Any, lazy: Lazy) -> Any:
    method: Any = lazy.scaled
    told = method.__name__, method.__qualname__, method.__doc__, method.__func__ is Lazy.scaled
    same = method == lazy.scaled, method != Lazy().scaled, method == 3, method != len
    return method(x), told, same


@pytest.mark.parametrize("function", [computes_once, reads_of_methods])
def test_what_is_computed_once_and_what_methods_tell_is_one_graph(function: Any) -> None:
    explanation = check(function, torch.ones(2), Lazy())
    assert (explanation.graph_count, explanation.breaks) == (1, [])


def asks_for_what_is_not_there(x: Any, of: Any) -> Any:
    x = x + 1
    try:
        of.nothing  # noqa: B018  # that it raises is all that is asked
    except AttributeError as error:
        return x, str(error)
    return x


@pytest.mark.parametrize(
    "of",
    [
        1, "a", (), [], {}, types.SimpleNamespace(a=1), functools.partial(print),
        collections.deque(), collections.OrderedDict(), collections.Counter(),
        collections.defaultdict(), types.MappingProxyType({}), range(1), slice(1), iter([]),
        datetime.date(2020, 1, 1), decimal.Decimal(1), re.compile("a"), random.Random(0),
        operator.itemgetter(0), torch.float32, torch.device("cpu"),
        torch.ones(1), torch.Size([1]), nn.Linear(1, 1), nn.Parameter(torch.ones(1)),
        torch.Generator(), torch.finfo(torch.float32), abc.ABC(), check, len, [].append, object(),
    ],
    ids=lambda of: type(of).__name__,
)  # fmt: skip
def test_what_is_not_there_is_told_in_the_words_of_python(of: Any) -> None:
    captured = native.optimize(run_graph)(asks_for_what_is_not_there)
    expected = asks_for_what_is_not_there(torch.ones(1), of)
    assert captured(torch.ones(1), of) == captured(torch.ones(1), of) == expected


def asks_iterators(x: Any) -> Any:
    asked: tuple[Any, ...] = (
        iter([1]), iter({1: 2}), iter(range(3)), reversed([1]), zip([1], [2], strict=True),
        enumerate([1]), itertools.tee([1])[0], (each for each in [1]),
    )  # fmt: skip
    names = "__copy__", "__length_hint__", "gi_frame"
    return x + 1, [hasattr(each, name) for each in asked for name in names]


def test_what_iterators_have_is_one_graph() -> None:
    explanation = check(asks_iterators, torch.ones(2))
    assert (explanation.graph_count, explanation.breaks) == (1, [])


def test_whether_a_slot_is_empty_is_asked_at_each_call() -> None:
    captured = native.optimize(run_graph)(lambda slotted, x: x * getattr(slotted, "b", 2))
    slotted, x = Slotted.__new__(Slotted), torch.ones(2)
    assert captured(slotted, x).tolist() == [2, 2]
    slotted.b = 5
    assert captured(slotted, x).tolist() == [5, 5]
    del slotted.b
    assert captured(slotted, x).tolist() == [2, 2]


def stores_and_deletes(slotted: Any, x: Any) -> Any:
    slotted.b = x
    del slotted.b
    return x + 1, hasattr(slotted, "b")


def test_a_slot_that_is_filled_and_emptied_was_empty_or_not() -> None:
    captured = native.optimize(run_graph)(stores_and_deletes)
    for filled in (False, True, False):
        slotted = Slotted.__new__(Slotted)
        if filled:
            slotted.b = 3
        assert captured(slotted, torch.ones(1)) == (2, False)
        assert not hasattr(slotted, "b")


class Ending:
    def __init__(self, log: list[int]) -> None:
        self.log = log

    def __del__(self) -> None:
        self.log.append(1)


@pytest.mark.parametrize("kind", [types.SimpleNamespace, Slotted, list, dict])
@pytest.mark.parametrize("deletes", [False, True])
def test_what_ends_when_it_is_replaced_ends_at_once(kind: Any, deletes: bool) -> None:
    def f(held: Any, log: list[int], x: Any) -> Any:
        if kind in (list, dict):
            held[0] = 2
            if deletes:
                del held[0]
        else:
            held.b = 2
            if deletes:
                del held.b
        return x + len(log)

    captured = native.optimize(run_graph)(f)
    for ends in (False, True, False, True):
        log: list[int] = []
        first: Any = Ending(log) if ends else 5
        held = kind.__new__(kind)
        if kind is list:
            held.append(first)
        elif kind is dict:
            held[0] = first
        else:
            held.b = first
        del first
        assert captured(held, log, torch.zeros(1)) == ends


def test_what_a_cell_holds_is_read_and_written_from_outside() -> None:
    n = 3

    def inner() -> int:
        return n

    def outer(x: Any) -> Any:
        cell = inner.__closure__[0]  # type: ignore[index]  # it has one
        before = cell.cell_contents
        cell.cell_contents = before + 1
        return x * before + inner()

    captured = native.optimize(run_graph)(outer)
    for before in (3, 4, 5):
        assert captured(torch.ones(1)).tolist() == [2 * before + 1]
        assert n == before + 1
