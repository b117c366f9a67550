"""What is kept over breaks and from call to call: views of dictionaries, iterators and generators,
and the data of parameters; and what is known of tensors. See `samples`.
"""

# ruff: noqa
# mypy: ignore-errors
from __future__ import annotations

import collections
import copy
import itertools
import pickle

import torch
from torch import nn

from tests.engines.native.samples import T, sample


class Keeper:
    """Keeps the views of a dictionary."""

    def __init__(self, held):
        self.held, self.names = held, held.keys()
        self.values, self.pairs = held.values(), held.items()

    def __deepcopy__(self, memo):
        return Keeper(copy.copy(self.held))


@sample(T(3), Keeper({"a": 1, "b": 2}))
def views_that_are_kept(x, keeper):
    names, pairs = keeper.names, keeper.pairs
    told = list(pairs), "a" in names, ("a", 1) in pairs, list(reversed(names)), names & {"a"}
    return x * len(names) + sum(keeper.values), told, names == {"a", "b"}


@sample(T(3), Keeper(collections.OrderedDict(a=1, b=2)))
def ordered_views_that_are_kept(x, keeper):
    told = bool(keeper.values), [*keeper.names], dict(zip(keeper.names, keeper.values))
    return x * len(keeper.names), told, type(keeper.names).__name__


@sample(T(3), Keeper({"a": T(3), "b": 2}))
def views_of_what_changes(x, keeper):
    keeper.held["c"] = 5
    names = keeper.names
    y, before = x * len(names) + keeper.held["a"], [*names]
    del keeper.held["a"]
    return y, before, list(keeper.pairs), [*names], names is keeper.names


@sample(T(3))
def view_across_a_break(x):
    held = {"a": x, "b": x + 1}
    values = held.values()
    print("between")
    held["c"] = x * 2
    return sum(values)


@sample(T(3))
def sorted_by_what_stands_first(x):
    rows = sorted([(3, x), (1, x + 1), (2, x * 2)])
    named = sorted({"b": x, "a": x + 3}.items(), reverse=True)
    return rows[0][1] - rows[2][1], [name for name, _ in named], named[1][1]


@sample(T(3))
def options_as_a_key(x):
    kept = {("f", pickle.dumps({"upper": False, "order": 2})): x + 1}
    return kept["f", pickle.dumps({"upper": False, "order": 2})] * 2


@sample(T(3), [1, 2, 3])
def chain_across_a_break(x, numbers):
    links = itertools.chain(numbers, (4, 5))
    x = x + next(links)
    print("between")
    return x * sum(links)


@sample(T(3))
def generator_across_a_break(x):
    y = x * 2
    rows = (y * each for each in range(3))
    z = next(rows) + y
    print("between")
    return z + next(rows)


def rows_of(x):
    z = x + 1
    return (z * each for each in range(3))


@sample(T(3))
def generator_of_another_function_across_a_break(x):
    y = x * 2
    rows = rows_of(y)
    z = next(rows) + y
    print("between")
    return z + sum(rows)


@sample(T(3))
def generators_in_a_list_across_a_break(x):
    y = x * 2
    rows = [(y + n for n in range(each)) for each in (1, 2)]
    print("between")
    return x + sum(sum(each) for each in rows)


# --- data


@sample(nn.Linear(2, 2), T(2, 2))
def module_moved_to_where_it_is(linear, x):
    moved = linear.to(x.device)
    return moved(x), moved is linear, linear.to(x).weight is moved.weight


@sample(nn.Linear(2, 2), T(2, 2))
def module_in_another_dtype(linear, x):
    return copy.deepcopy(linear).double()(x.double()), linear.weight.dtype


@sample(nn.Linear(3, 3), T(3))
def data_of_a_layer(linear, x):
    linear.weight.data = torch.eye(3) * x[0]
    linear.bias.data.zero_()
    return linear(x)


@sample(nn.Parameter(T(2, 2)), T(2, 2))
def data_that_is_another_tensors(p, x):
    before, y = p.data, p * 2
    p.data = x
    p.data.add_(1)
    return p * 3, y, before, x


@sample(nn.Parameter(T(2, 2)), T(2, 2))
def data_exchanged(p, x):
    q = x * 2
    p.data, x.data = x, q
    q.add_(1)
    return p.sum(), x * 2


@sample(nn.Parameter(T(2, 2)), T(2, 2))
def data_given_back(p, x):
    kept = p.data
    p.data = x * 2
    y = p * x
    p.data = kept
    return y, p * 1


@sample(nn.Parameter(T(2, 2)), T(2, 2))
def data_across_a_break(p, x):
    p.data = x * 2
    print("between")
    p.data = p.data + 1
    return p * 2


@sample(nn.Parameter(T(2, 2)), T(2, 2))
def data_beside_an_error(p, x):
    kept = []
    try:
        p.data = x * 2
        kept.append(p)
        p.view(7)
    except RuntimeError as error:
        return p * 2, type(error).__name__, kept


@sample(nn.Parameter(T(2, 2)), T(2, 2))
def data_with_other_strides(p, x):
    p.data = x.t()
    return p.stride(), p.is_contiguous(), p * 2


@sample(nn.Parameter(T(2, 2)), T(2, 2))
def data_of_another_size(p, x):
    p.data = x[0]
    return p * 2


@sample(nn.Parameter(T(2, 2)), T(2, 2))
def average_of_data(p, x):
    p.data = p.data * 0.9 + x * 0.1
    p.data = p
    return p * 1


@sample(nn.Parameter(T(2, 2)), T(2, 2))
def gradient_given(p, x):
    p.grad = x * 2
    return p * 2, p.grad


# --- known without the data


@sample(T(2), T(3))
def equal_of_other_sizes(x, y):
    if torch.equal(x, y) or x.equal(y) or torch.equal(x, y.int()) or torch.equal(x, x[None]):
        return x
    return y + 1


@sample(T(2), T(2))
def equal_of_one_size(x, y):
    if torch.equal(x + 0, y):
        return x + 1
    return y - 1
