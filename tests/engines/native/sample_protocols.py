"""What Python does by protocol: containers by inheritance, descriptors, operators, iterators, and
functions of its library that take them, each with arguments; see `samples`.
"""

# ruff: noqa
# mypy: ignore-errors
from __future__ import annotations

import dataclasses
import enum
import functools
import itertools
import operator
import typing
from collections import OrderedDict, namedtuple

import torch
from torch import nn

from tests.engines.native.samples import T, sample

# --- containers by inheritance


class Table(dict):
    def total(self):
        return sum(self.values())


class Listed(OrderedDict):
    def first(self):
        return next(iter(self.values()))


class Row(list):
    def total(self):
        result = 0
        for each in self:
            result = result + each
        return result


class Pair(tuple):
    def first(self):
        return self[0]


class Tags(set):
    def add(self, item):
        super().add(item.lower())

    def joined(self):
        return ",".join(sorted(self))


class Fixed(frozenset):
    def __new__(cls, items=()):
        return super().__new__(cls, items)

    def has_all(self, *items):
        return all(each in self for each in items)


class Open(dict):
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name)

    def __setattr__(self, name, value):
        self[name] = value


@dataclasses.dataclass
class Output(OrderedDict):
    hidden: typing.Any = None
    extra: typing.Any = None

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None:
                self[field.name] = value

    def __getitem__(self, key):
        if isinstance(key, str):
            return dict(self.items())[key]
        return self.to_tuple()[key]

    def to_tuple(self):
        return tuple(self[key] for key in self.keys())


Point = namedtuple("Point", ["x", "y"])


@sample(Table(a=T(3), b=T(3)))
def dictionary_of_ones_own(table):
    return table.total() + table["a"], len(table), "c" in table, list(table)


@sample(T(3))
def dictionary_of_ones_own_made(x):
    table = Table(a=x, b=x + 1)
    table["c"] = x * 2
    table.pop("a")
    return table.total(), table


@sample(OrderedDict(a=T(3), b=T(3)))
def ordered_dictionary(table):
    return table["a"] + list(table.values())[1], dict(table)


@sample(T(3))
def ordered_dictionary_made(x):
    table = OrderedDict([("a", x), ("b", x + 1)])
    table.move_to_end("a")
    name, value = table.popitem(last=False)
    return name, value * 2, table


@sample(Listed(a=T(3)))
def ordered_dictionary_of_ones_own(table):
    return table.first() + 1


@sample(Row([T(3), T(3)]))
def list_of_ones_own(row):
    return row.total() + row[0], len(row)


@sample(T(3))
def list_of_ones_own_made(x):
    row = Row([x])
    row.append(x + 1)
    row.reverse()
    return row.total(), row


@sample(Pair((T(3), T(3))))
def tuple_of_ones_own(pair):
    return pair.first() + pair[1]


@sample(T(3))
def tuple_of_ones_own_made(x):
    pair = Pair((x, x + 1))
    return pair.first() + pair[1], pair


@sample(T(3), Tags({"b", "c"}))
def set_of_ones_own(x, tags):
    tags.add("D")
    tags.discard("b")
    tags |= {"e"}
    return x * len(tags), tags.joined(), "d" in tags, sorted(tags - {"c"}), bool(tags)


@sample(T(3))
def set_of_ones_own_made(x):
    tags = Tags(["a"])
    tags.add("B")
    tags.update("cd")
    return x * len(tags), tags.joined(), tags | {"z"}, tags == {"a", "b", "c", "d"}


@sample(T(3), Fixed(["a", "b"]))
def frozenset_of_ones_own(x, fixed):
    made = Fixed(["b", 1])
    return x * (2 if fixed.has_all("a", "b") else 3), made & fixed, made.has_all(1), len(made)


class Word(str):
    def shout(self):
        return super().upper() + "!"


class Count(int):
    def twice(self):
        return self * 2


@sample(T(3), Count(2))
def int_with_methods_of_ones_own(x, n):
    found = (
        n.twice(),
        n.bit_length(),
        n.real,
        [0] * n,
        [*range(n)],
        n // 2,
        -n,
        n.to_bytes(1, "big"),
    )
    return x[n] * n + x[n - 1], found, n == 2, f"{n:03d}", {2: "two"}[n]


@sample(T(3), Word("a b"))
def text_of_ones_own(x, word):
    found = word.shout(), word.split(), word[0], word[1:], [*word], "b" in word, word.join("xy")
    return x * len(word), found, word + "c", word.find("b"), word == "a b", f"{word:>5}", bool(word)


@sample(Open(a=T(3)))
def items_as_attributes(table):
    return table.a + 1, hasattr(table, "zz"), getattr(table, "zz", 3)


@sample(T(3))
def items_as_attributes_made(x):
    table = Open()
    table.a = x + 1
    return table.a * 2, table


@sample(Output(hidden=T(3), extra=T(3)))
def model_output(output):
    return output.hidden + output["extra"] + output[0], output.to_tuple()[1], "zz" in output


@sample(T(3))
def model_output_made(x):
    output = Output(hidden=x)
    return output.hidden + output["hidden"], output


@sample(T(3))
def named_tuple_as_dictionary(x):
    point = Point(x, x + 1)
    return point._asdict()["x"] + len(point._fields)


# --- attributes, class methods, operators


class Base:
    kind = 3

    def __init__(self, value):
        self.value = value

    @classmethod
    def make(cls, value):
        return cls(value)

    @staticmethod
    def add(a, b):
        return a + b


class Derived(Base):
    @classmethod
    def make(cls, value):
        return super().make(value + 1)


class Doubled:
    def __get__(self, owner, kind=None):
        return owner.value * 2

    def __set__(self, owner, value):
        owner.value = value / 2


class Described(Base):
    doubled = Doubled()


class Guarded(Base):
    def __init__(self, value):
        object.__setattr__(self, "value", value)

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value + 1)

    def __getattr__(self, name):
        if name == "magic":
            return self.value * 7
        raise AttributeError(name)


class Number(Base):
    def __add__(self, other):
        return Number(self.value + (other.value if isinstance(other, Number) else other))

    def __radd__(self, other):
        return Number(self.value + other + 100)

    def __iadd__(self, other):
        self.value = self.value + other
        return self

    def __mul__(self, other):
        return NotImplemented

    def __eq__(self, other):
        return isinstance(other, Number) and self.value is other.value

    def __hash__(self):
        return 3

    def __len__(self):
        return 2


class Scale:
    def __rmul__(self, other):
        return other.value * 3


@sample(T(3))
def class_methods(x):
    return Derived.make(x).value + Base.add(x, 1), Derived(x).make(x).value


@sample(Described(T(3)))
def descriptors(thing):
    before = thing.doubled
    thing.doubled = before + 1
    return thing.value, thing.doubled


@sample(Guarded(T(3)))
def attributes_by_method(thing):
    thing.value = thing.value * 2
    return thing.value + thing.magic, hasattr(thing, "zz")


@sample(Base(T(3)))
def attribute_that_is_not_there(thing):
    try:
        return thing.missing
    except AttributeError as error:
        return thing.value + 1, str(error)


@sample(Number(T(3)))
def operators_of_an_object(number):
    total = sum([number, number])
    return (number + 1).value, (number + number).value, (1 + number).value, total.value


@sample(Number(T(3)))
def operators_of_two_classes(number):
    return number * Scale(), number == number, number != 3, number == Number(number.value)


@sample(T(3))
def operator_in_place(x):
    number = Number(x)
    number += 2
    return number.value, 1 if number else 2


# --- iterators


class Counting:
    def __init__(self, tensor):
        self.tensor = tensor
        self.count = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.count += 1
        if self.count > 3:
            raise StopIteration
        return self.tensor + self.count


class Indexed:
    def __init__(self, tensor):
        self.tensor = tensor

    def __len__(self):
        return 2

    def __getitem__(self, index):
        if index >= 2:
            raise IndexError(index)
        return self.tensor + index


@sample(T(3))
def iterator_of_ones_own(x):
    counting = Counting(x)
    first = next(counting)
    return first, [each for each in counting], counting.count, next(counting, None)


@sample(Indexed(T(3)))
def items_by_index(thing):
    return [each for each in thing], [each for each in reversed(thing)]


@sample(T(3))
def chained_and_counted(x):
    for index, each in zip(itertools.count(1), itertools.chain([x], (x, x))):
        x = x + index * each
    return x, list(itertools.chain.from_iterable([[1], [2]])) if False else None


@sample(T(3))
def combined(x):
    pairs = [x + a * b for a, b in itertools.product([1, 2], repeat=2)]
    return pairs, list(itertools.combinations([1, 2, 3], 2)), list(itertools.permutations([1, 2]))


@sample(T(3))
def sliced_and_cycled(x):
    repeated = [x + n for n in itertools.islice(itertools.cycle([1, 2]), 1, 6, 2)]
    return repeated, list(itertools.repeat(2, 3)), [*itertools.islice(iter([1, 2, 3]), 2)]


@sample(T(3))
def accumulated_and_paired(x):
    sums = list(itertools.accumulate([x, x, x]))
    return sums, list(itertools.accumulate([1, 2], operator.mul)), [*itertools.pairwise([1, 2, 3])]


@sample(T(3))
def taken_and_dropped(x):
    small = lambda n: n < 3
    taken = [x + n for n in itertools.takewhile(small, [1, 2, 3, 1])]
    dropped = list(itertools.dropwhile(small, [1, 2, 3, 1]))
    return (
        taken,
        dropped,
        list(itertools.filterfalse(small, [1, 3])),
        [*itertools.compress("ab", [0, 1])],
    )


@sample(T(3))
def zipped_to_the_longest(x):
    longest = list(itertools.zip_longest([1, 2], [3], fillvalue=0))
    return longest, list(itertools.starmap(operator.add, [(x, 1)])), [*zip([1], [2], strict=True)]


@sample(T(3))
def iterator_kept_across_a_break(x):
    numbers = itertools.chain([1, 2], [3])
    x = x + next(numbers)
    print("between")
    return x + next(numbers), list(numbers)


@sample(T(3))
def called_until(x):
    values = [1, 2, 3]
    return [x + each for each in iter(lambda: values.pop(), 1)], values


@sample(T(3))
def sent_to_a_generator(x):
    def adds():
        total = x
        while True:
            total = total + (yield total)

    running = adds()
    next(running)
    return running.send(1), running.send(2)


# --- functions that take functions


@sample(T(3))
def reduced_by_functions(x):
    product = functools.reduce(lambda a, b: a * b, [1, 2, 3], 1)
    return functools.reduce(operator.add, [x, x, x]) + product, sum([x, x], start=x)


@sample(T(3))
def largest(x):
    by_length = max(["aa", "b"], key=len)
    return x + max([1, -3], key=abs) + min([4, 5], key=lambda n: -n), by_length, min("b", "a")


@sample(T(3))
def getters(x):
    second, shape = operator.itemgetter(1), operator.attrgetter("shape")
    return second([x, x + 1]) + shape(x)[0], operator.methodcaller("sum")(x)


# --- torch


HOOKED = nn.Linear(3, 3)
HOOKED.register_forward_hook(lambda module, args, output: output + 1)
HOOKED.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
ATTENTION = nn.MultiheadAttention(4, 2, batch_first=True).eval()
CELL = nn.LSTMCell(3, 3)


@sample(T(2, 3))
def hooks_of_a_module(x):
    return HOOKED(x)


@sample(T(1, 3, 4))
def attention_of_torch(x):
    return ATTENTION(x, x, x)[0]


@sample(T(2, 3))
def cell(x):
    return CELL(x)[0]


@sample(T(3).requires_grad_())
def gradient_mode_as_a_call(x):
    torch.set_grad_enabled(False)
    y = x * 2
    torch.set_grad_enabled(True)
    with torch.set_grad_enabled(False):
        z = x * 3
    return y, z, x + 1


@sample(T(3).requires_grad_())
def facts_of_a_leaf(x):
    return x.is_leaf, x.grad, x.grad_fn, (x * 2).detach().is_leaf, x.__class__ is torch.Tensor


@sample(T(3))
def methods_of_the_class(x):
    return torch.Tensor.add(x, 1), torch.Tensor.__mul__(x, 2), x.type(torch.float16), x.data + 1


@sample(T(3))
def values_of_torch(x):
    device = torch.device("cpu")
    return x.to(device), device.type, torch.zeros(torch.Size([2])), torch.as_tensor(x) is x


class Measured:
    def __init__(self, number, unit):
        self.number, self.unit = number, unit

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        units = [each.unit for each in args if isinstance(each, Measured)]
        numbers = [each.number if isinstance(each, Measured) else each for each in args]
        if func is torch.mul:
            units = ["*".join(units)]
        return cls(func(*numbers, **(kwargs or {})), units[0])


class Length(Measured):
    pass


class Noting:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is torch.add and len(types) > 1:
            return NotImplemented
        return func.__name__, [each.__name__ for each in types], len(args), list(kwargs or {})


@sample(Length(T(3), "m"), T(3))
def objects_given_to_torch(length, x):
    other = torch.add(length, x, alpha=2)
    area = torch.mul(other, Measured(x, "s"))
    return area.number, area.unit, type(area).__name__, torch.mean(other).number


@sample(Noting(), T(3))
def objects_asked_by_torch(noting, x):
    asked = torch.add(x, noting), torch.add(input=x, other=noting, alpha=3)
    torch.add(noting, Length(x, "m"))
    return x + len(asked), asked, torch.stack([x, noting]), torch.mul(2, noting)


class Colour(enum.Flag):
    RED = enum.auto()
    GREEN = enum.auto()
    BLUE = enum.auto()


@sample(Colour.GREEN, T(3))
def flags_combined(colour, x):
    both = colour | Colour.RED
    asked = Colour.RED in both, Colour.BLUE in both, bool(both & Colour.BLUE), Colour(3) is both
    return x * both.value, both & ~Colour.RED, both ^ Colour.BLUE, [*both], both.name, asked


@sample(OrderedDict(a=1, b=2), T(3))
def views_of_ordered(d, x):
    compared = (
        d.keys() >= {"a"},
        d.items() > {("a", 1)},
        {"a"} < d.keys(),
        d.keys() == {"a": 1}.keys(),
    )
    made = d.keys() & {"a", "c"}, d.keys() - {"a"} == {"b"}, d.keys() | {"c"} == {"a", "b", "c"}
    return x + len(d.keys() ^ {"a"}), compared, made, d.items().isdisjoint([("a", 2)])
