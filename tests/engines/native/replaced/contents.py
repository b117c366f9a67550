"""What containers, tensors and constants hold."""

from __future__ import annotations

import collections
import enum
import types
from typing import Any

import numpy
import torch

from tests.engines.native.replaced.running import (
    contents,
)


class Table(dict):
    """A dictionary that does one thing more."""

    def total(self) -> object:
        """What is in it."""
        return sum(self.values())


class Row(list):
    """A list of another class."""


contents(
    "of a list", lambda: [1, 2],
    [lambda h: h.append(3), lambda h: h.reverse(), lambda h: h.clear(), lambda h: h.append(2.0),
     lambda h: h.__setitem__(0, True), lambda h: h.__setitem__(0, 1),
     lambda h: h.__setitem__(0, "text")],
    lambda h, x: (x + sum(each for each in h if not isinstance(each, str)), len(h), 2 in h, h[:1]),
)  # fmt: skip
contents(
    "of a dictionary", lambda: {"a": 1, "b": 2},
    [lambda h: h.update(c=3), lambda h: h.pop("a"), lambda h: h.update(a=1),
     lambda h: h.__setitem__("b", 2.0), lambda h: h.__setitem__(1, 5), lambda h: h.clear()],
    lambda h, x: (x + sum(h.values()), list(h), "a" in h, h.get("c", 9), len(h)),
)  # fmt: skip
contents(
    "of an array", lambda: numpy.arange(6.0).reshape(2, 3),
    [lambda h: setattr(h, "shape", (3, 2)), lambda h: h.__setitem__(0, 7),
     lambda h: setattr(h, "strides", (8, 16)), lambda h: h.flags.__setitem__("WRITEABLE", False),
     lambda h: setattr(h, "dtype", "i8")],
    lambda h, x: (x + 1, h * 2, h[0].sum(), h.shape, torch.from_numpy(h + 1)),
)  # fmt: skip
WEIGHT = torch.nn.Parameter(torch.ones(3))
contents(
    "of a dictionary with texts and parameters as keys", lambda: {"a": 1, WEIGHT: 2, "b": 3},
    [lambda h: h.update({"a": h.pop("a")}), lambda h: h.pop(WEIGHT),
     lambda h: h.update({torch.nn.Parameter(torch.ones(3)): 2}), lambda h: h.update({WEIGHT: 4}),
     lambda h: (h.pop("b"), h.update({0: 3})), lambda h: h.clear()],
    lambda h, x: (x + h.get("a", 5), h.get(WEIGHT), [*h.values()], WEIGHT in h, len(h)),
)  # fmt: skip
contents(
    "of a dictionary, in another order", lambda: {"a": 1, "b": 2},
    [lambda h: h.update({"a": h.pop("a")}), lambda h: h.update({"b": h.pop("b")})],
    lambda h, x: (x + 1, list(h), next(iter(h)), [*h.values()]),
)  # fmt: skip
contents(
    "keys that are equal", lambda: {1: 2},
    [lambda h: (h.clear(), h.update({True: 2})), lambda h: (h.clear(), h.update({1.0: 2}))],
    lambda h, x: (x + 1, list(h), [type(key) for key in h]),
)  # fmt: skip
contents(
    "of a set", lambda: {1, 2},
    [lambda h: h.add(3), lambda h: h.discard(1), lambda h: h.clear(), lambda h: h.add(True)],
    lambda h, x: (x + len(h), 1 in h, 3 in h, sorted(h)),
)  # fmt: skip
contents(
    "of an ordered dictionary", lambda: collections.OrderedDict(a=1, b=2),
    [lambda h: h.move_to_end("a"), lambda h: h.update(c=3), lambda h: h.pop("b"),
     lambda h: h.__setitem__("a", 1.0), lambda h: h.clear()],
    lambda h, x: (x + sum(h.values()), list(h), "a" in h, h.get("c", 9), len(h), bool(h)),
)  # fmt: skip
contents(
    "of a dictionary of one's own", lambda: Table(a=1, b=2),
    [lambda h: h.update(a=h.pop("a")), lambda h: h.update(c=3), lambda h: h.pop("b"),
     lambda h: setattr(Table, "__len__", lambda self: 7), lambda h: delattr(Table, "__len__"),
     lambda h: setattr(Table, "__iter__", lambda self: iter("xy")),
     lambda h: delattr(Table, "__iter__"),
     lambda h: setattr(Table, "values", lambda self: [5]), lambda h: delattr(Table, "values"),
     lambda h: setattr(Table, "__missing__", lambda self, key: 8),
     lambda h: delattr(Table, "__missing__"), lambda h: h.clear()],
    lambda h, x: (x + sum(h.values()), list(h), h.total(), len(h), bool(h), "c" in h),
)  # fmt: skip
contents(
    "of a list of one's own", lambda: Row([1, 2]),
    [lambda h: h.append(3), lambda h: h.reverse(), lambda h: h.__setitem__(0, 1.5),
     lambda h: setattr(Row, "__getitem__", lambda self, key: 4),
     lambda h: delattr(Row, "__getitem__"),
     lambda h: setattr(Row, "__iter__", lambda self: iter([9])),
     lambda h: delattr(Row, "__iter__"), lambda h: h.clear()],
    lambda h, x: (x + sum(h), h[-1:] == [2], len(h), 2 in h, bool(h)),
)  # fmt: skip
contents(
    "of a deque", lambda: collections.deque([1, 2], maxlen=3),
    [lambda h: h.append(3), lambda h: h.append(4), lambda h: h.rotate(), lambda h: h.clear()],
    lambda h, x: (x + len(h), list(h)),
)  # fmt: skip
contents(
    "of a counter", lambda: collections.Counter("aab"),
    [lambda h: h.update("b"), lambda h: h.subtract("aa")],
    lambda h, x: (x + h["a"], h.most_common(1), h["z"]),
)  # fmt: skip
contents(
    "of a chain of maps", lambda: collections.ChainMap({"a": 1}, {"b": 2}),
    [lambda h: h.update(a=2), lambda h: h.maps.pop(), lambda h: h.maps.append({"c": 3})],
    lambda h, x: (x + h["a"], sorted(h)),
)  # fmt: skip
contents(
    "of a default dictionary", lambda: collections.defaultdict(lambda: 4, a=1),
    [lambda h: h.update(a=2), lambda h: setattr(h, "default_factory", None),
     lambda h: setattr(h, "default_factory", lambda: 6)],
    lambda h, x: (x + h["a"], h.get("b"), "b" in h, h.default_factory is None),
)  # fmt: skip
contents(
    "of an ordered dictionary", lambda: collections.OrderedDict(a=1, b=2),
    [lambda h: h.move_to_end("a"), lambda h: h.update(c=3), lambda h: h.popitem()],
    lambda h, x: (x + h["a"], list(h), list(h.values())),
)  # fmt: skip
contents(
    "of nested containers", lambda: {"a": [1, {"b": (2, [3])}]},
    [lambda h: h["a"][1]["b"][1].append(4), lambda h: h["a"].append(5),
     lambda h: h["a"].__setitem__(1, {"b": (6, [7])})],
    lambda h, x: (x + h["a"][0] + h["a"][1]["b"][1][-1], len(h["a"])),
)  # fmt: skip
contents(
    "that are one object", lambda: [[1], [1]],
    [lambda h: h.__setitem__(1, h[0]), lambda h: h.__setitem__(1, [1])],
    lambda h, x: (x + 1, h[0] is h[1], h[0] == h[1]),
)  # fmt: skip
contents(
    "tensors that are one", lambda: [torch.ones(3), torch.ones(3)],
    [lambda h: h.__setitem__(1, h[0]), lambda h: h.__setitem__(1, torch.ones(3)),
     lambda h: h.__setitem__(1, h[0][:])],
    lambda h, x: (h[0].fill_(1), h[1].fill_(1), h[0].add_(x), h[1] * 2, h[0] is h[1]),
)  # fmt: skip
contents(
    "tensors of other kinds", lambda: [torch.ones(3)],
    [lambda h: h.__setitem__(0, torch.ones(3, dtype=torch.int64)),
     lambda h: h.__setitem__(0, torch.ones(1)), lambda h: h.__setitem__(0, torch.ones(2, 3)),
     lambda h: h.__setitem__(0, torch.ones(3, requires_grad=True)),
     lambda h: h.__setitem__(0, torch.nn.Parameter(torch.ones(3))),
     lambda h: h.__setitem__(0, torch.ones(3).to_sparse()),
     lambda h: h.__setitem__(0, torch.ones(3, dtype=torch.complex64).conj()),
     lambda h: h.__setitem__(0, torch.ones(3, device="meta")),
     lambda h: h.__setitem__(0, torch.ones(3)[::1].expand(3)),
     lambda h: h.__setitem__(0, torch.tensor(1)), lambda h: h.__setitem__(0, 1),
     lambda h: h.__setitem__(0, None), lambda h: h.__setitem__(0, _inference_tensor())],
    lambda h, x: (h[0] + 1, h[0].dim(), h[0].requires_grad),
)  # fmt: skip


def _inference_tensor() -> torch.Tensor:
    with torch.inference_mode():
        return torch.ones(3)


contents(
    "attributes of a tensor", lambda: torch.ones(3),
    [lambda h: setattr(h, "mark", 3), lambda h: delattr(h, "mark"),
     lambda h: h.requires_grad_(), lambda h: h.requires_grad_(False), lambda h: h.resize_(1),
     lambda h: setattr(h, "data", torch.ones(3, dtype=torch.float64)),
     lambda h: setattr(h, "grad", None), lambda h: h.__dict__.update(shape=5)],
    lambda h, x: (x[:1] + h, getattr(h, "mark", 1), hasattr(h, "mark"), h.grad),
)  # fmt: skip
contents(
    "where a tensor begins in its memory", lambda: [torch.arange(9.0)[2:5]],
    [lambda h: h.__setitem__(0, torch.arange(9.0)[3:6]), lambda h: h.__setitem__(0, torch.ones(3))],
    lambda h, x: (x + h[0].storage_offset(), h[0][1:].storage_offset(), h[0].view(3, 1)[2:].T + 1,
                  h[0].clone().storage_offset()),
)  # fmt: skip
contents(
    "the gradient of a tensor", lambda: torch.ones(3, requires_grad=True),
    [lambda h: setattr(h, "grad", torch.ones(3)), lambda h: setattr(h, "grad", None),
     lambda h: setattr(h, "_backward_hooks", None)],
    lambda h, x: (x + 1, h.grad, h.grad is None, h.is_leaf),
)  # fmt: skip
contents(
    "of a namespace", lambda: types.SimpleNamespace(a=1),
    [lambda h: setattr(h, "a", 2), lambda h: setattr(h, "b", 3), lambda h: delattr(h, "a")],
    lambda h, x: (x + getattr(h, "a", 7), hasattr(h, "b"), dict(h.__dict__)),
)  # fmt: skip
contents(
    "of a slice and a range", lambda: [slice(1, 2), range(3)],
    [lambda h: h.__setitem__(0, slice(0, 2)), lambda h: h.__setitem__(1, range(1, 3)),
     lambda h: h.__setitem__(1, range(0, 3, 1)), lambda h: h.__setitem__(0, slice(True, 2))],
    lambda h, x: (x[h[0]], [*h[1]], h[0].start),
)  # fmt: skip
contents(
    "numbers of other types", lambda: [1],
    [lambda h: h.__setitem__(0, True), lambda h: h.__setitem__(0, 1.0),
     lambda h: h.__setitem__(0, 1 + 0j), lambda h: h.__setitem__(0, 0.0),
     lambda h: h.__setitem__(0, -0.0), lambda h: h.__setitem__(0, float("nan")),
     lambda h: h.__setitem__(0, 2**70), lambda h: h.__setitem__(0, type("I", (int,), {})(1))],
    lambda h, x: (x + 1, h[0], type(h[0]).__name__, h[0] * 2),
)  # fmt: skip


class _Number(int):
    by = 5

    def __add__(self, other: object) -> int:
        return _Number.by


def _set_number(number: int) -> None:
    _Number.by = number


for _name, _make in {
    "a size": lambda: torch.Size([_Number(2), 3]), "a tuple": lambda: (_Number(2), 3),
    "a range": lambda: range(_Number(2), 3), "a slice": lambda: slice(_Number(0), _Number(2)),
}.items():  # fmt: skip
    contents(
        f"numbers of the program's in {_name}", lambda make=_make: [make()],
        [lambda h: _set_number(6), lambda h: _set_number(5)],
        lambda h, x: (x + 1, (h[0].start if isinstance(h[0], range | slice) else h[0][0]) + 1),
    )  # fmt: skip
contents(
    "constants of torch", lambda: [torch.float32, torch.device("cpu"), torch.Size([1])],
    [lambda h: h.__setitem__(0, torch.float64), lambda h: h.__setitem__(1, torch.device("meta")),
     lambda h: h.__setitem__(2, torch.Size([1, 2])), lambda h: h.__setitem__(2, (1, 2))],
    lambda h, x: (x.to(h[0]) + 1, str(h[1]), h[2], type(h[2]).__name__),
)  # fmt: skip


class _Kind(enum.Enum):
    ONE = 1


def _by_kind(table: Any, x: torch.Tensor) -> Any:
    table[_Kind] = x
    found = [x * factor for key, factor in table.items() if key is not _Kind]
    del table[_Kind]
    keys = list(table)  # a break below is in the program's own frame from Python 3.12 on
    return found, [str(key) for key in keys], table.get(int)


contents(
    "a dictionary by class and member",
    lambda: {int: 2, _Kind.ONE: 3, torch.sin: 4, float: 5},
    [
        lambda table: table.update({int: 7}),
        lambda table: table.update({str: 1}),
        lambda table: table.pop(int),
        lambda table: (table.pop(_Kind.ONE), table.update({torch.cos: 3})),
        lambda table: table.update({float: torch.ones(3)}),
    ],
    _by_kind,
)
