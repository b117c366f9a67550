"""What Python's library offers, used around tensors: flags, variables as a dictionary, getters,
stacks of exits; and functions of torch and operators that ask an object. See `samples`.
"""

# ruff: noqa
# mypy: ignore-errors
from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
import graphlib
import operator
import random
import re
import struct
import typing
import weakref
from collections import Counter, deque

import torch
import torch.nn.functional as F

from tests.engines.native.samples import T, sample

# --- flags


class Access(enum.IntFlag):
    READ = 4
    WRITE = 2
    RUN = 1


@sample(T(3), Access.READ | Access.WRITE)
def flags_that_are_numbers(x, access):
    if access & Access.READ:
        x = x + 1
    if access & Access.RUN:
        x = x * 10
    told = access == 6, access != Access.READ, access < 7, Access.RUN in access, bool(Access(0))
    return x * int(access), told, access | Access.RUN, ~access, access + 1, access.bit_length()


@sample(T(3), Access.READ)
def flags_beside_tensors(x, access):
    return x * access, access + x, x.sum() - Access.RUN, [0] * Access.WRITE, range(8)[access]


# --- variables


@sample(T(3), 2)
def variables_as_a_dictionary(x, n):
    k = 4

    def inner():
        return k + n

    found = locals()
    return x + inner() + found["n"], list(found), found["inner"] is inner


class Options(typing.TypedDict):
    scale: int


@sample(T(3))
def typed_dictionary(x):
    options = Options(scale=3)
    return x * options["scale"], type(options).__name__, {**options, "more": 1}


@dataclasses.dataclass(slots=True)
class Held:
    size: int
    tensor: torch.Tensor = None


@sample(T(3))
def equal_where_it_is_the_same_tensor(x):
    held = Held(1, x)
    return held.tensor + 1, held == Held(1, x), [x] == [x]


# --- getters and exits


@sample(T(3))
def getters_of_several_parts(x):
    held = Held(Held(2, x), x)
    inner, both = operator.attrgetter("size.tensor"), operator.attrgetter("tensor", "size.size")
    return inner(held) * both(held)[1], operator.itemgetter(0, 2)("abc")


@sample(T(3))
def exits_that_are_functions(x):
    log = []
    with contextlib.ExitStack() as stack:
        stack.push(lambda *error: log.append(error[0]))
        stack.callback(log.append, "called")
        y = x + 1
    return y, log


# --- objects that torch asks


class Quantity:
    asked = []

    def __init__(self, number):
        self.number = number

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        Quantity.asked.append((func.__name__, types, len(args), kwargs))
        numbers = [each.number if isinstance(each, Quantity) else each for each in args]
        return Quantity(func(*numbers, **(kwargs or {})))


def asked_by(results):
    asked = list(Quantity.asked)
    Quantity.asked.clear()
    return [each.number for each in results], asked


@sample(T(3))
def operators_that_ask_an_object(x):
    q = Quantity(x)
    return asked_by([x + q, q + x, x * q, x - q, q - x, x / q, x @ q, q // x, q**x, x > q, q < x])


@sample(T(3))
def operator_in_place_that_asks_an_object(x):
    y = x.clone()
    y += Quantity(x)
    return asked_by([y]), type(y).__name__


@sample(T(3))
def functions_in_python_that_ask_an_object(x):
    q = Quantity(x)
    found = [F.relu(q), F.softmax(q, dim=0), F.dropout(q, 0.0), F.layer_norm(q, (3,)), F.gelu(q)]
    return asked_by(found)


HANDLERS = {
    torch.mean: lambda q: q.number.sum(),
    F.relu: lambda q, inplace: q.number * 10,
    torch.Tensor.add: lambda a, b: a - b.number,
}


class Handled(Quantity):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return HANDLERS[func](*args, **(kwargs or {})) if func in HANDLERS else NotImplemented


@sample(T(3))
def functions_in_a_table_of_handlers(x):
    q = Handled(x)
    return torch.mean(q), F.relu(q), x + q


@dataclasses.dataclass(frozen=True)
class Key:
    layer: int
    name: str = "w"


SCALES = {Key(1): 2.0, Key(2, "b"): 3.0}
CHOSEN = frozenset({Key(1), Key(3)})


@sample(T(3))
def records_seen_once(x):
    seen = set()
    for key in (Key(1), Key(2, "b"), Key(1)):
        if key not in seen:
            seen.add(key)
            x = x * SCALES[key] + (key in CHOSEN)
    return x, len(seen), [key.layer for key in seen]


@sample(T(3), {torch.nn.ReLU, torch.nn.GELU, "other", None})
def set_of_everything(x, kinds):
    made = {torch.nn.Tanh, len, 3, Key(2)}
    named = [each for each in kinds if isinstance(each, str)]
    return x + len(made | kinds), made - kinds, named, "other" in kinds, torch.nn.Tanh in kinds


@sample(T(3), {"a": 1, "b": 2}, {"b": 3, "c": 4})
def keys_joined_in_order(x, given, others):
    for key in given.keys() | others.keys():
        x = x * 2 + ord(key)
    return x, [*(given.keys() ^ others.keys())], given.keys() - {"a"}, given.keys() <= others.keys()


@sample(T(3))
def in_topological_order(x):
    order = graphlib.TopologicalSorter({"b": {"a"}, "c": {"b"}})
    for name in order.static_order():
        x = x * 2 + ord(name)
    return x


@sample(T(3))
def next_as_a_function(x):
    following = map(torch.sin, [x, x + 1]).__next__
    return following() + following()


@sample(T(3), [])
def largest_of_nothing(x, given):
    found = Counter(name for name in "abca").most_common(1)
    return x + max(given, default=2) + min((1, 5), default=0, key=abs), found


# --- what is held weakly, and what is chosen by a class


class Holder:
    scale = 2

    @functools.singledispatchmethod
    def measured(self, value):
        return self.scale

    @measured.register
    def _(self, value: int):
        return value * self.scale


HOLDER = Holder()
HELD = weakref.WeakKeyDictionary({HOLDER: 3, Holder: 4})
NAMED = weakref.WeakValueDictionary({"one": HOLDER})
SEEN = weakref.WeakSet([HOLDER])


@sample(T(3))
def held_weakly(x):
    found = HELD[HOLDER] + HELD.get(Access, 5) + NAMED["one"].scale
    held = [each is HOLDER for each in HELD], sum(HELD.values()), len(SEEN)
    return x * found, Holder in HELD, HOLDER in SEEN, "two" in NAMED, NAMED.get("two"), held


@sample(T(3))
def method_by_class(x):
    return x * HOLDER.measured(3) + HOLDER.measured("a")


# --- deques, cells, slots, and operands that do not fit


def error_of(function):
    try:
        return function()
    except (AttributeError, IndexError, RuntimeError, TypeError) as error:
        return type(error).__name__, str(error)


class Queue(deque):
    def doubled(self):
        self *= 2
        return self


@sample(T(3), deque([1, 2, 3], maxlen=5), Queue([1, 2]))
def deques_as_sequences(x, given, own):
    given.insert(1, 9)
    given.insert(-1, 8)
    full = error_of(lambda: given.insert(0, 7))
    last = deque([x, x + 1, x + 2], 2)
    copied = last.copy()
    copied *= 2
    own.insert(1, 7)
    own.doubled()
    compared = deque("abc") < deque("abd"), deque([1]) == deque([1], 3), deque([1]) == [1]
    joined = last + copied, deque([1]) * 2, 2 * deque([3], 1)
    return sum(last), full, given, copied.maxlen, joined, own, compared


def counting():
    count = 0

    def counter(x):
        nonlocal count
        count += 1
        return x * count

    return counter


COUNTER = counting()


@sample(T(3))
def cells_of_a_function(x):
    y = COUNTER(x) + COUNTER(x)
    (cell,) = COUNTER.__closure__
    seen = cell.cell_contents, type(cell).__name__, cell is COUNTER.__closure__[0]
    cell.cell_contents = 0
    z = COUNTER(x)
    cell.cell_contents = 0
    return y, z, seen, error_of.__closure__


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


@sample(T(3), Slotted(2))
def slot_that_is_empty(x, slotted):
    found = error_of(lambda: slotted.b), hasattr(slotted, "b"), getattr(slotted, "b", 4)
    slotted.b = 3
    return x * slotted.a * slotted.b, found


@sample(T(3), [1], {2}, {"a": 1})
def operands_that_do_not_fit(x, numbers, names, table):
    told = [
        error_of(lambda: numbers - names),
        error_of(lambda: names | numbers),
        error_of(lambda: table + table),
        error_of(lambda: table < names),
        error_of(lambda: {1: x} | [x]),
        error_of(lambda: [1] + (2,)),
        error_of(lambda: None + [1]),
    ]
    return x + len(told), told


def raise_again():
    raise


@sample(T(3))
def nothing_to_raise_again(x):
    outside = error_of(raise_again)
    try:
        raise TypeError("another")
    except TypeError:
        return x + 1, outside, error_of(raise_again)


# --- texts and bytes


@sample(T(3))
def texts_and_bytes(x):
    table = str.maketrans("ab", "cd", "z")
    parts = re.match(r"(?P<name>[a-z]+)(?P<at>\d+)?", "layer12").groupdict()
    packed = struct.pack("<ih", 5, 2)
    return x * int(parts["at"]), "abz".translate(table), parts, struct.unpack("<ih", packed)


# --- random numbers, of a generator that others have seeded, and once there is a seed


@sample(T(3))
def numbers_of_chance(x):
    number = random.randint(2, 9)
    return (x + number) * random.uniform(1, 2) + random.random(), number


@sample(T(3))
def numbers_of_chance_across_a_break(x):
    y = x * random.random()
    print("between")
    return y + random.randrange(0, 10, 2)


@sample(T(3))
def sizes_of_chance(x):
    rows, columns = random.randint(2, 4), random.randint(2, 4)
    return x * 2, torch.ones(rows, columns).sum()


@sample(T(3))
def seeded_generator(x):
    drawn = random.Random(5)
    return x * drawn.random() + drawn.randint(1, 9), drawn.choice([1, 2, 3]), drawn.gauss(0, 1)


@sample(T(3))
def seeded_module(x):
    random.seed(3)
    order = list(range(5))
    random.shuffle(order)
    told = random.sample(range(10), 3), random.choices([1, 2], weights=[1, 2], k=2)
    return x * random.randint(1, 10) + random.uniform(0, 1), order, told, random.getrandbits(5)


@sample(T(3))
def seeded_before_a_break(x):
    random.seed(1)
    drawn = random.Random(2)
    first = random.random(), drawn.random()
    print("between")
    return x * first[0], first, random.random(), random.gauss(0, 1), drawn.random()


@sample(T(3))
def state_given_back(x):
    random.seed(1)
    state = random.getstate()
    first = random.random()
    random.setstate(state)
    return x * first, first == random.random()


class Augments:
    def __init__(self):
        self.drawn = random.Random(7)

    def __call__(self, x):
        return x * 2 if self.drawn.random() < 0.5 else x + 1


@sample(T(3))
def generator_that_an_object_has(x):
    augments = Augments()
    y = augments(augments(x))
    print("between")
    return augments(y), augments.drawn.gauss_next


class Fixed(random.Random):
    def random(self):
        return 0.25


@sample(T(3))
def generator_of_ones_own(x):
    drawn = Fixed(3)
    return x * drawn.random(), drawn.uniform(0, 4), drawn.getrandbits(8)


@sample(T(3))
def generator_that_is_asked_wrongly(x):
    drawn = random.Random(2)
    told = error_of(lambda: drawn.setstate(5)), error_of(lambda: drawn.getrandbits(-1))
    return x + 1, told, drawn.random()
