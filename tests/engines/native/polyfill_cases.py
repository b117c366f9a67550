"""Calls of each builtin that `stepper.native.polyfills` has a function for.

A case is an expression in which `f` is the builtin, or what stands in its place. The other names
are those of `polyfill_objects`.
"""

from __future__ import annotations

import collections
import functools
import inspect
import itertools
import math
import operator
import pickle
import re
import types
from collections.abc import Callable
from typing import Any

import torch

from stepper.native.bytecode import opcodes
from stepper.native.versions import group_tensors
from tests.engines.native.polyfill_objects import length_asked, matched_class, matched_keys

deque = collections.deque
ANY_ALL = (
    "f([])", "f([0, 1, 0])", "f([nan])", "f(Given(Num(0), Num(1), Num(0)))",
    "f(Given(Num(1), ValueError('x'), Num(0)))", "f(Given(Num(0), ValueError('x'), Num(0)))",
    "f(5)", "f()", "f([1], [2])", "f([''])", "f('ab')", "f({})", "f([Row()])", "f([Row([0])])",
    "f(iterable=[1])", "f(Items(1, 0))", "f([None])", "f(each for each in [0.0, -0.0])",
)  # fmt: skip
BEST = (
    "f([1, 3, 2])", "f(1, 3, 2)", "f([])", "f()", "f(1)", "f([], default=5)", "f([1], default=5)",
    "f(1, 2, default=3)", "f([1.0, nan, 2.0])", "f([nan, 1.0])", "f([0.0, -0.0])", "f(-0.0, 0.0)",
    "f(True, 1)", "f(1, 1.0, True)", "f('b', 'a')", "f('ab')", "f(1, 'a')",
    "f(Num(1), Num(1, 'b'))", "f(Num(2, 'a'), Num(1, 'b'), Num(2, 'c'))", "f(1, Num(2), 3)",
    "f([Num(1), 2, Num(3)])", "f(Given(1, 2, ValueError('x')))", "f([1, -3, 2], key=abs)",
    "f([1, -3, 2], key=told)", "f([1, -3, 3], key=abs)", "f([1], key=told)", "f([1, 2], key=None)",
    "f([1, 2], key=fails)", "f(1, 2, key=stops)", "f([], key=told)",
    "f([Says([]), Says([1])]) and 0", "f(Says(0), Says(0)) and 0", "f([1, 2], other=3)",
    "f({2: 1, 1: 2})", "f({3, 1, 2})", "f(Items(3, 1))", "f((1, 2), (1, 3))", "f([1, 2], [1])",
    "f(5, key=told)", "f(None, None)",
)  # fmt: skip
OF_SETS = (
    "f({1: 2}.keys(), {1: 3}.keys())", "f({1: 2}.items(), {1: 2}.items())", "f({1: 2}.keys(), {1})",
    "f({1: 2}.items(), {(1, 2)})", "f({1: 2}.keys(), frozenset([1, 2]))", "f({}.keys(), set())",
    "f({}.keys(), {1})", "f({1: 2}.keys(), {})", "f({1: 2}.keys(), [1])", "f({1: 2}.keys(), (1,))",
    "f({1: 2}.keys(), '1')", "f({1: 2}.keys(), None)", "f({1: 2}.keys(), 1)",
    "f({1: 2, 2: 3}.keys(), {3: 1, 2: 1}.keys())", "f({1: []}.items(), {1: []}.items())",
    "f({1: []}.items(), {(1, 2)})", "f({1: 2}.keys(), Says(7))", "f({1: 2}.keys(), Given(1, 2))",
    "f({1: 2}.keys(), [[]])", "f({1: nan}.items(), {1: nan}.items())",
    "f({1: 2}.keys(), {1: 2}.values())", "f({1: 2}.keys(), range(3))",
    "f({1: 2}.items(), [(1, 2), (1, 2)])", "f({Num(1): 2}.keys(), {Num(1, 'b')})",
    "f({1: 2}.keys(), [Num(1, 'b')])", "f({'a': 1, 'b': 2}.keys(), ['b'])", "f({1: 2}.items(), 5)",
    "f({1: Num(3)}.items(), {1: Num(3, 'b')}.items())", "f({1: 2}.keys(), {1, 2})",
    "f({1: 2, 2: 3}.keys(), {1})", "f({1: 2}.keys(), {1.0: 2, 2: 3}.keys())",
    "f({1: 2}.keys(), {1.0, 2.0})", "f({1: 2, 3: 4}.keys(), {1.0})", "f({1: 2}.keys(), [1.0])",
    "f({1: 2}.keys(), frozenset([1.0, 2.0]))", "f({1: 2, 2: 3}.items(), {1.0: 2.0}.items())",
    "f({1: 2}.items(), {1.0: 2.0, 3: 4}.items())",
)  # fmt: skip
OF_TENSORS = (
    "f(2, 3).shape", "f().shape", "f([1, 2])", "f([[1, 2], [3, 4]])", "f(torch.Size([2])).shape",
    "f((1, 2))", "f(2.5)", "f('a')", "f([])", "f(True).shape", "f(Index(2)).shape", "f([1.5])",
    "f(2, 3).dtype", "f([1]).dtype", "f(0).shape", "f(2, device='cpu').shape", "f(None)",
)  # fmt: skip

FUNCTIONS: dict[object, tuple[str, ...]] = {
    functools.reduce: (
        "f(joined, [1, 2, 3])", "f(joined, [1])", "f(joined, [])", "f(joined, [], 5)",
        "f(joined, [1, 2], None)", "f(operator.add, Given(1, 2, 3))", "f(fails, [1, 2])",
        "f(joined, Given(1, 2, ValueError('x')))", "f(None, [1])", "f(joined, 5)",
        "f(stops, [1, 2])", "f(joined)", "f(joined, [1, 2], 3, 4)", "f(joined, 'abc')",
        "f(joined, [1, 2], initial=3)", "f(operator.add, [Num(1), 2, Num(3)])",
        "f(operator.add, [0.1] * 10)", "f(None, [1, 2])", "f(function=joined, iterable=[1, 2])",
    ),
    operator.delitem: (
        "changed([1, 2], lambda row: f(row, 0))", "changed({'a': 3}, lambda row: f(row, 'a'))",
        "changed([1, 2, 3], lambda row: f(row, slice(1, None)))", "f([], 0)", "f({}, 'a')",
        "f((1,), 0)", "f([1])", "f(5, 0)", "f([1], b=0)",
    ),
    **dict.fromkeys(
        (operator.is_, operator.is_not),
        (
            "f(1, 1)", "f(None, None)", "f([], [])", "f(True, 1)", "f('a', 'a')", "f(len, len)",
            "f(1)", "f(a=1, b=2)", "f(1, 2, 3)", "f((), ())", "f(Num(1), Num(1))", "f(int, int)",
        ),
    ),
    operator.countOf: (
        "f([1, 2, 1], 1)", "f('abba', 'b')", "f([nan, nan], nan)", "f(Given(1, 2, 1), 1)",
        "f([Num(1), 2], Num(1))", "f([True, 1.0], 1)", "f([], 1)", "f({1: 2}, 1)", "f(5, 1)",
        "f(Given(1, ValueError('x')), 1)", "f([1])", "f([1], b=1)", "f(iter([1, 1]), 1)",
    ),
    operator.indexOf: (
        "f([1, 2, 1], 1)", "f('abba', 'b')", "f([nan], nan)", "f([1], 2)", "f([], 1)",
        "f(Given(2, 1, ValueError('x')), 1)", "f(Given(ValueError('x')), 1)", "f([1.0], 1)",
        "f([Num(2), Num(1)], Num(1))", "f(5, 1)", "f([1])", "f([1], b=1)", "f(iter('ab'), 'b')",
    ),
    functools.update_wrapper: (
        "vars(f(lambda: 0, documented))", "f(lambda: 0, documented).__name__",
        "f(lambda: 0, documented).__doc__", "f(lambda: 0, documented).__wrapped__ is documented",
        "f(lambda: 0, twice_wrapped).__wrapped__ is twice_wrapped",
        "f(lambda: 0, documented, ('__doc__',)).__name__",
        "f(lambda: 0, documented, updated=()).__dict__",
        "f(lambda: 0, documented, assigned=['missing']).__name__", "f(lambda: 0, Plain(a=1)).a",
        "f(Plain(b=2), Plain(a=1, __name__='x')).__name__", "f(lambda: 0, 5).__wrapped__",
        "f(5, documented)", "f(lambda: 0, documented).__annotations__",
        "f(lambda: 0, documented).__qualname__", "f(lambda: 0, documented).__module__",
        "getattr(f(lambda: 0, documented), '__type_params__', 0)",
    ),
    inspect.unwrap: (
        "f(documented) is documented", "f(twice_wrapped) is documented", "f(5)",
        "f(twice_wrapped, stop=lambda each: each is wrapper) is wrapper",
        "f(twice_wrapped, stop=fails)", "f(Plain(__wrapped__=5))", "f(Plain(__wrapped__=None))",
        "f(twice_wrapped, stop=None) is documented", "f(twice_wrapped, wrapper)",
    ),
    inspect.get_annotations: (
        "f(documented)", "f(Plain)", "f(len)", "f(5)", "f(documented, eval_str=False)",
        "f(documented, eval_str=True)", "f(documented, globals={}, locals={})", "f(lambda: 0)",
        "f(documented) is documented.__annotations__", "f(wrapper)",
    ),
    any: ANY_ALL,
    all: ANY_ALL,
    sum: (
        "f([1, 2, 3])", "f([])", "f([], 5)", "f([1], start=2)", "f([1, 2], start=0.5)",
        "f([0.1] * 10)", "f([0.1] * 10, 0.0)", "f([1e16, 1.0, -1e16])", "f([1, 0.1, 0.2])",
        "f([0.1, 1, 0.2])", "f([1e16, 1, 1, -1e16])", "f([0.1, 2**70])", "f([2**70, 0.1])",
        "f([inf, -inf])", "f([inf, 1.0])", "f([-0.0])", "f([-0.0], -0.0)", "f([-0.0, -0.0], -0.0)",
        "f([], -0.0)", "f([nan])", "f([True, True])", "f([True, 0.5])", "f([Int(2), 3])",
        "f([0.1, Float(0.2), 0.3])", "f([Float(0.1)] * 10)", "f([0.1] * 10, Float(0.0))",
        "f([1j, 2])", "f([0.1j] * 10)", "f([0.1, 1j, 0.1])", "f([0.1] * 3 + [0.1j] * 7)",
        "f([Num(1), 2, Num(3)])", "f([1, Num(2), 3])", "f([InPlace(1), InPlace(2)])",
        "f([1], InPlace(2))", "f([[1], [2]], [])", "f([[1]])", "f(['a'], '')", "f([b'a'], b'')",
        "f([(1,), (2,)], ())", "f([Row([1])], Row())", "f(['a'])", "f('12')", "f([1], '')",
        "f(Given(1, ValueError('x')))", "f(5)", "f()", "f([1], 2, 3)", "f(iterable=[1])",
        "f([0.5, 'a'])", "f([1, None])", "f([0.1, 0.2, Num(0.3), 0.4])", "f([2**62, 2**62, 2**62])",
        "f([1e308, 1e308])", "f([1e308, 1e308, -1e308])", "f([1.5, True, 10**400])",
        "f([1e16, True, 1.0])", "f([], start=Num(3))", "f([torch.ones(2), torch.ones(2)])",
        "f({1: 2, 3: 4})", "f([1e-320] * 3, 1e300)", "f([0.1, 0.2], Int(1))",
        "f([Int(1), 0.1, 0.2])", "f([[1]], Row())",
        "changed([9], lambda total: f([[1], [2]], total))", "f(Items(1, 2))",
        "f([Text('a')], Text('b'))",
    ),
    max: BEST,
    min: BEST,
    sorted: (
        "f([3, 1, 2])", "f([])", "f('bca')", "f([3, 1, 2], reverse=True)",
        "f([3, 1, 2], key=lambda each: -each)", "f([-1, 1, -1.0, 1.0], key=abs)",
        "f([-1, 1, -1.0, 1.0], key=abs, reverse=True)", "f([1.0, True, 1])",
        "f([True, 1.0, 1], reverse=True)", "f([1, 'a'])", "f(5)", "f()",
        "f([2, 1], lambda each: 0)", "f([2, 1], key=None, reverse=0)", "f([2, 1], reverse='')",
        "f([2, 1], reverse=None)", "f([1, 2], reverse=[1])", "f([2, 1], key=told)",
        "f([1, 2], key=fails)", "f([], key=5)", "f([1], key=5)", "f(Given(2, 1))",
        "f(Given(2, ValueError('x')))", "f([nan, 1.0, nan, 0.5])", "f([0.0, -0.0, 0])",
        "f([(1, 'b'), (1, 'a')])", "f([(2, len), (1, len)]) == [(1, len), (2, len)]",
        "f([(nan, len), (1.0, len), (nan, len), (0.5, len)])[1][0]", "f([(True, len), (1, len)])",
        "f([(2,), (), (1,)])", "f([('b', 1), ('a', len)], reverse=True)[0][0]",
        "f([(1, len), ('a', len)])", "f([(1.0, len), (0, len), (True, 2)])",
        "f({'b': len, 'a': 5}.items())[0]", "f([[2], [1]])", "f([Num(2), Num(1)]) and 0",
        "f([None])", "f([None, None])", "f({3: 1, 1: 2})", "f([2, 1], other=1)",
        "f(iterable=[2, 1])",
        "f([2, 1], reverse=Index(1))", "f([b'b', b'a'])", "f([2, 1], reverse=2)",
        "f([2, 1], reverse=1.5)", "f([Int(2), 1])", "f([Text('b'), 'a'])", "f(Items(2, 1))",
        "f([Says(True), Says(False)]) and 0", "f([{1}, {1, 2}, {2}])", "f([{2}, {1}, {1, 2}])",
        "f([inf, -inf, 0])", "f([(1, nan), (1, 1.0)])", "f([1j])", "f([1j, 2j])", "f([[], {}])",
        "f([1, None], key=lambda each: each is None)", "f([1, 2], key=lambda each: None)",
        "f([1, 2], key=lambda each: 1j)", "f([()] * 3)",
    ),
    group_tensors: (
        "f([[torch.ones(1), torch.zeros(2)]])", "f([[torch.ones(1), torch.zeros(2)]], False)",
        "f([[torch.ones(1), torch.zeros(2)]], True)",
        "f([[torch.ones(1), torch.ones(1).int()]]) and 0", "f([[None]])", "f([[]])", "f([])",
        "f([[torch.ones(1)], [None]])", "f([[torch.ones(1)]], with_indices=True)",
    ),
    dict.fromkeys: (
        "f([1, 2])", "f('ab', 3)", "f([1, 1.0, True], 2)", "f([[]])", "f(5)", "f()", "f([1], 2, 3)",
        "f([1], value=2)", "f(Given(2, 1, 2))", "f(Given(2, ValueError('x')))",
        "f([Num(1), Num(1, 'b')], 2)", "f({3: 1, 1: 2}, 0)", "f([nan, nan])",
        "f([1, 2], [])[1] is f([1], [])", "f({2, 1})", "f(iterable=[1])",
    ),
    vars(collections)["_count_elements"]: (
        "changed({}, lambda counts: f(counts, 'abca'))",
        "changed({'a': 2}, lambda counts: f(counts, 'ab'))",
        "changed({}, lambda counts: f(counts, [1, 1.0, True]))",
        "changed({}, lambda counts: f(counts, [[]]))",
        "changed(collections.Counter('a'), lambda counts: f(counts, 'ab'))",
        "changed({}, lambda counts: f(counts, Given(1, 1)))",
        "changed({}, lambda counts: f(counts, 5))",
        "changed({1: 0.5}, lambda counts: f(counts, [1]))",
        "changed({1: Num(2)}, lambda counts: f(counts, [1]))",
        "changed({1: 'a'}, lambda counts: f(counts, [1]))",
        "changed({}, lambda counts: f(counts, [Num(1), Num(1, 'b')]))",
        "changed(collections.defaultdict(int), lambda counts: f(counts, 'aa'))",
        "changed({}, lambda counts: f(counts))",
        "changed({}, lambda counts: f(counts, iterable=[1]))",
    ),
    torch.Tensor: OF_TENSORS,
    torch.FloatTensor: OF_TENSORS,
    torch.LongTensor: OF_TENSORS,
    math.prod: (
        "f([2, 3])", "f([])", "f([1.5, 2])", "f([0.1] * 10)", "f([2, 3], start=4)", "f([2, 3], 4)",
        "f(5)", "f()", "f(['a', 2])", "f([Num(2), 3])", "f([2, Num(3), 4])",
        "f([InPlace(2), InPlace(3)])", "f(Given(2, ValueError('x')))", "f([True, True])",
        "f([inf, 0])", "f([-0.0, 1])", "f([1, -0.0])", "f([2**40, 2**40])", "f([2**40, 0.5])",
        "f([0.5, 2**1100])", "f([1j, 1j])", "f([nan, 1])", "f([Int(2), Float(0.5)])", "f([None])",
        "f([0.1, True, 3])", "f([2, 'a'])", "f([torch.ones(2), 2])", "f([3, 0.1, 3])",
        "f([2**63, 1.5])", "f([1e200, 1e200, 0])", "f(iterable=[1])", "f([[1], 2])",
    ),
    functools.cached_property.__get__: (
        "f(vars(Lazy)['found'], Lazy())", "f(vars(Lazy)['found'], None, Lazy)",
        "f(vars(Lazy)['failing'], Lazy())",
        "changed(Lazy(), lambda one: (f(vars(Lazy)['found'], one), f(vars(Lazy)['found'], one, "
        "Lazy)))[0]",
        "changed(Lazy(), lambda one: (vars(one).update(found=3), f(vars(Lazy)['found'], one)))[0]",
        "f(vars(Slotted)['found'], Slotted())", "f(functools.cached_property(told), Lazy())",
        "f(vars(Lazy)['found'])", "f(vars(Lazy)['found'], instance=Lazy(), owner=None)",
    ),
}  # fmt: skip
"""By builtin, as `polyfills.FUNCTIONS` has it."""

METHODS: dict[object, tuple[str, ...]] = {
    list.sort: (
        "changed([3, 1, 2], lambda row: f(row))",
        "changed([3, 1, 2], lambda row: f(row, reverse=True))",
        "changed([3, -1, 2], lambda row: f(row, key=abs))",
        "changed([-1, 1, -1.0], lambda row: f(row, key=abs, reverse=True))",
        "changed([1, 'a'], lambda row: f(row))", "changed([1, 2], lambda row: f(row, key=fails))",
        "changed([2, 1], lambda row: f(row, told))",
        "changed([2, 1], lambda row: f(row, key=lambda each: len(row)))",
        "changed([2, 1], lambda row: f(row, key=lambda each: row.append(each)))",
        "changed(Row([2, 1]), lambda row: f(row))", "f((2, 1))",
        "changed([nan, 1.0, 0.5], lambda row: f(row))", "changed([], lambda row: f(row, key=5))",
        "changed([True, 1, 1.0], lambda row: f(row, reverse=1))",
        "changed([2, 1], lambda row: f(row, reverse=None))",
    ),
    object.__reduce_ex__: (
        "f(Plain(), 2)", "f(Plain(a=1), 2)", "f(Plain(a=1), 4)", "f(Plain(a=1), 1) and 0",
        "f(Plain(a=1), 0) and 0", "f(Plain(a=1))", "f(Plain(a=[]), 5)", "f(Plain(a=1), 6)",
        "f(Plain(a=1), 'a')", "f(Plain(a=1), protocol=2)", "f(Plain(a=1), True) and 0",
    ),
    **dict.fromkeys(
        (collections.OrderedDict.__eq__, collections.OrderedDict.__ne__),
        tuple(
            case.replace("od", "collections.OrderedDict")
            for case in (
                "f(od({1: 2, 3: 4}), od({3: 4, 1: 2}))", "f(od({1: 2, 3: 4}), {3: 4, 1: 2})",
                "f(od({1: 2, 3: 4}), od({1: 2, 3: 4}))", "f(od({1: 2}), od({1: 3}))",
                "f(od({1: 2}), {1: 3})", "f(od(), od())", "f(od({1: nan}), od({1: nan}))",
                "f(od({1: 2}), 3)", "f(od(), None)", "f(od())", "f({1: 2}, od({1: 2}))",
                "f(od({1: od()}), od({1: {}}))", "f(od({True: 2}), od({1: 2.0}))",
                "f(od(), collections.Counter())", "f(od({1: 2}), [(1, 2)])", "f(od(), od(), od())",
            )
        ),
    ),
    **dict.fromkeys(
        (type({}.keys()).isdisjoint, type({}.items()).isdisjoint),
        (
            *OF_SETS, "f({1: 2, 3: 4}.items(), Given((1, 2), ValueError('x')))",
            "f({1: 2}.keys(), Given(3, 1, 4))", "f({1: 2}.keys())", "f({1: 2}.keys(), other=[1])",
            "f({1: 2, 2: 3}.keys(), [Num(1), Num(2)])",
            "changed({1: 2}.keys(), lambda view: f(view, view))", "f({1: 2}.keys(), {1: 2, 3: 4})",
            "f({}.keys(), Given(1))", "f({1: 2}.keys(), Sized(1, 2))",
        ),
    ),
    deque.insert: (
        "changed(deque([1, 2]), lambda row: f(row, 1, 3))",
        "changed(deque([1, 2]), lambda row: f(row, -9, 3))",
        "changed(deque([1, 2], 3), lambda row: f(row, 9, 3))",
        "changed(deque([1, 2], 2), lambda row: f(row, 0, 3))", "f(deque(), 'a', 1)", "f([], 0, 1)",
        "f(deque(), 0)",
    ),
    **dict.fromkeys(
        (deque.copy, deque.__copy__),
        (
            "f(deque([1, 2]))", "f(deque([1, 2], 2)).maxlen", "f(deque(), 1)", "f([])",
            "changed(deque([[]]), lambda row: f(row)[0] is row[0])",
        ),
    ),
    deque.__add__: (
        "f(deque([1]), deque([2]))", "f(deque([1, 2], 2), deque([3]))", "f(deque([1]), [2])",
        "changed(deque([1], 3), lambda row: f(row, row).maxlen)", "f(deque())",
    ),
    deque.__imul__: (
        "changed(deque([1, 2]), lambda row: f(row, 2) is row)",
        "changed(deque([1, 2], 3), lambda row: f(row, 2) is row)",
        "changed(deque([1, 2]), lambda row: f(row, -1) is row)", "f(deque([1]), 'a')",
        "f(deque([1]), True)",
    ),
    **dict.fromkeys(
        (deque.__mul__, deque.__rmul__),
        (
            "f(deque([1, 2]), 2)", "f(deque([1, 2], 3), 2)", "f(deque([1]), 0)",
            "f(deque([1]), 'a')", "f(deque([1]))",
        ),
    ),
    torch.Tensor.new: (
        "f(torch.ones(1), 2, 3).shape", "f(torch.ones(1).int(), [1, 2])", "f(torch.ones(1)).shape",
        "f(torch.ones(1).double(), [1.5])", "f(torch.ones(1), (2,))",
        "f(torch.ones(1), torch.Size([2])).shape", "f(torch.ones(1), 2.5)",
        "f(torch.ones(1).bool(), [1, 0])", "f(torch.ones(1).int(), [1.5])",
        "f(torch.ones(1).half(), []).dtype", "f(torch.ones(1), True).shape",
        "f(torch.ones(1), device='cpu').shape", "f(torch.ones(1).cfloat(), [1])",
    ),
    torch.Size.numel: (
        "f(torch.Size([]))", "f(torch.Size([2, 3]))", "f(torch.Size([0, 3]))", "f((2, 3))",
        "f(torch.Size([2]), 3)",
    ),
}  # fmt: skip
"""By method, as `polyfills.METHODS` has it."""

_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.items()))
_ORDERED: Any = collections.OrderedDict()
_ORDERED_VIEWS: tuple[type, ...] = (type(_ORDERED.keys()), type(_ORDERED.items()))
_IN_ORDER = tuple(
    re.sub(r"(\{[^{}]*\})(?=\.(keys|items))", r"collections.OrderedDict(\1)", case)
    for case in OF_SETS
    if "Num" not in case
)
"""The same of ordered dictionaries, without keys that count how often they are hashed: a graph that
breaks beside one hashes them more often."""
_BY_SETS = (
    operator.eq, operator.ne, operator.le, operator.lt, operator.ge, operator.gt, operator.and_,
    operator.sub, operator.or_, operator.xor,
)  # fmt: skip


def _is_followed(operation: object, view: type) -> bool:
    """Whether there is a function for it."""
    of_items = operation is operator.xor and "items" in view.__name__
    return of_items or operation in (operator.eq, operator.ne, operator.and_)


_ON_VIEWS = {
    **{(operation, view): OF_SETS for operation in _BY_SETS for view in _VIEWS},
    **{(operation, view): _IN_ORDER for operation in _BY_SETS for view in _ORDERED_VIEWS},
}
WITH_SETS = {key: calls for key, calls in _ON_VIEWS.items() if not _is_followed(*key)}
"""What the compiler does with a set that it makes of a view, by operator and class of the view."""
OPERATIONS: dict[object, tuple[str, ...]] = {
    (operator.ior, dict): (
        "changed({1: 2}, lambda a: f(a, {1: 3, 2: 4}))",
        "changed({1: 2}, lambda a: f(a, [(3, 4)]))", "changed({1: 2}, lambda a: f(a, 5))",
        "changed({1: 2}, lambda a: f(a, None))", "changed({1: 2}, lambda a: f(a, a) is a)",
        "changed({1: 2}, lambda a: f(a, ['ab']))",
        "changed({1: 2}, lambda a: f(a, Given((1, 2), 3)))",
        "changed({1: 2}, lambda a: f(a, [[[], 1]]))", "changed({1: 2}, lambda a: f(a, Num(1)))",
        "changed({1: 2}, lambda a: f(a, collections.Counter('a')))",
        "changed({}, lambda a: f(a, 'ab'))", "changed({}, lambda a: f(a, ()))",
    ),
    (operator.imul, list): (
        "changed([1], lambda a: f(a, 2))", "changed([1], lambda a: f(a, 0))",
        "changed([1], lambda a: f(a, -1))", "changed([1], lambda a: f(a, 'a'))",
        "changed([1], lambda a: f(a, 1.5))", "changed([1], lambda a: f(a, True))",
        "changed([1], lambda a: f(a, Index(2)))", "changed([1], lambda a: f(a, 2) is a)",
        "changed([1], lambda a: f(a, [2]))", "changed([[]], lambda a: f(a, 2)[0] is a[1])",
        "changed([1], lambda a: f(a, Int(2)))", "changed([1], lambda a: f(a, Num(2))) and 0",
        "changed([1], lambda a: f(a, 2**70))", "changed([1], lambda a: f(a, None))",
    ),
    **{key: calls for key, calls in _ON_VIEWS.items() if key not in WITH_SETS},
    **dict.fromkeys(
        ((operator.eq, types.MethodType), (operator.ne, types.MethodType)),
        (
            "f(ONE.method, ONE.method)", "f(ONE.method, OTHER.method)", "f(ONE.method, 5)",
            "f(ONE.method, None)", "f(ONE.method, Says(7))", "f(ONE.method, Plain.method)",
            "f(types.MethodType(len, []), types.MethodType(len, []))",
            "f(types.MethodType(Num(1), ONE), types.MethodType(Num(1, 'b'), ONE))",
            "f(types.MethodType(told, 1), types.MethodType(told, 1.0))",
            "f(types.MethodType(Says([]), ONE), types.MethodType(Says([]), ONE))",
            "f(types.MethodType(Says([1]), ONE), types.MethodType(Says([1]), ONE))",
            "f(types.MethodType(Num(1), ONE), types.MethodType(Num(2), OTHER))",
        ),
    ),
}  # fmt: skip
"""By operator and class, as `polyfills.OPERATIONS` has it."""

_KEEPING = (
    "list(f(None, [0, 1, '', 2]))", "list(f(told, [0, 1, 2]))", "list(f(less_one, Given(1, 2, 3)))",
    "take(f(told, Given(0, 1, 2, 3)), 1)", "list(f(fails, [1]))", "list(f(stops, [1, 2]))",
    "f(told, 5)", "list(f(None, Given(Num(0), Num(1))))",
    "list(f(told, Given(1, ValueError('x'))))", "f(told, Given(1)) and 0", "list(f(5, [1]))",
    "list(f(5, []))", "list(f(told))", "list(f(bool, [0, 1]))", "list(f(told, [Num(0), Num(1)]))",
    "list(f(function=told, iterable=[1]))",
    "changed(f(told, [1, 0, 1]), lambda it: take(it, 4))[0]", "list(f(None, 'ab'))",
    "list(f(lambda each: each > 1, [0, 1, 2, 3]))",
)  # fmt: skip
_CHOICES = (
    "list(f([1, 2, 3], 2))", "list(f('abc', 0))", "list(f([], 2))", "list(f([], 0))",
    "list(f([1], 2))", "f([1], -1)", "f([1], 'a')", "f([1], 1.0)", "list(f([1, 2], Index(1)))",
    "list(f([1, 2], True))", "list(f(Given(1, 2), r=1))", "f(Given(1, ValueError('x')), 1)",
    "f(5, 1)", "f([1]) and 0", "list(f(iterable=[1, 2], r=2))", "take(f([1, 2, 3], 2), 2)",
    "list(f([1, 1], 2))", "f([1], 1, 2)", "list(f([1, 2], None))", "list(f([1, 2, 3, 4], 3))",
)  # fmt: skip
ITERATORS: dict[object, tuple[str, ...]] = {
    filter: _KEEPING,
    itertools.filterfalse: _KEEPING,
    itertools.takewhile: _KEEPING,
    itertools.dropwhile: _KEEPING,
    itertools.chain: (
        "list(f())", "list(f([1], 'ab', (2,)))", "list(f(5))", "take(f([1], 5), 1)",
        "take(f([1], 5), 2)", "list(f(Given(1), Given(2, ValueError('x'))))",
        "take(f(Given(1, 2), Given(3)), 1)", "f(Given(1)) and 0", "list(f([1], iterable=2))",
        "list(f(Given(1, name='a'), Given(2, name='b')))", "list(f({1: 2}, {3}))",
        "list(f([1], None))", "list(f(Items(1, 2)))",
    ),
    itertools.chain.from_iterable: (
        "list(f([[1], 'ab']))", "list(f(Given([1], [2])))", "take(f(Given(Given(1), Given(2))), 2)",
        "f(Given([1])) and 0", "f(5)", "list(f([5]))", "list(f([]))", "list(f('ab'))",
        "list(f([[1], 5]))", "f([1], [2])", "f()", "list(f(iterable=[[1]]))",
    ),
    itertools.count: (
        "take(f(), 3)", "take(f(5), 2)", "take(f(5, 2), 3)", "take(f(step=3), 3)",
        "take(f(0.1, 0.1), 12)", "take(f(1, 0.1), 12)", "take(f(1.0), 3)", "take(f(-0.0), 2)",
        "take(f(0, -0.0), 2)", "take(f(2**63 - 1), 3)", "take(f(2**70, -1), 3)", "take(f(True), 3)",
        "take(f(Int(3)), 2)", "take(f(nan), 2)", "take(f(1j), 2)", "f('a')", "take(f(1, None), 2)",
        "take(f(Num(1)), 2) and 0", "take(f(1, Num(2)), 2) and 0", "take(f(start=2, step=0), 2)",
        "take(f(Int(3), 0), 2)", "take(f(True, 0), 2)", "take(f(0.5, Int(2)), 3)", "f(1, 2, 3)",
        "take(f(Float(0.5)), 2)", "take(f(Float(0.5), 1), 2)", "take(f(1, True), 2)",
        "take(f(True, True), 2)", "take(f(3, 1), 2)", "take(f(1e16), 3)",
    ),
    itertools.cycle: (
        "take(f([1, 2]), 5)", "take(f([]), 2)", "take(f(Given(1, 2)), 5)", "f(5)",
        "take(f(Given(1, ValueError('x'))), 2)", "f(Given(1)) and 0", "f()", "take(f('ab'), 3)",
        "take(f(iterable=[1]), 1)", "take(f(Given(1)), 3)",
    ),
    itertools.repeat: (
        "take(f(1), 3)", "list(f(1, 2))", "list(f(1, 0))", "list(f(1, -1))", "list(f(1, times=2))",
        "list(f(object=1, times=2))", "list(f(1, True))", "list(f(1, Index(2)))", "f(1, None)",
        "f(1, 1.0)", "f(1, 'a')", "f()", "f(1, 2, 3)", "list(f(1, Int(2)))",
    ),
    itertools.islice: (
        "list(f([1, 2, 3], 2))", "list(f([1, 2, 3], 1, None))",
        "list(f(Given(1, 2, 3, 4, 5), 1, 4, 2))", "list(f(Given(1, 2, 3), 0))",
        "list(f(Given(1, 2, 3), 2, 1))", "list(f(Given(1, 2, 3), 5, 6))",
        "list(f(range(10), 0, None, 3))", "f([1], -1)", "f([1], 1, -1)", "f([1], 0, 1, 0)",
        "f([1], 0, 1, -1)", "f([1], 'a')", "f([1], 1.0)", "list(f([1, 2, 3], Index(2)))",
        "list(f([1, 2, 3], True))", "list(f([1, 2], None))", "list(f([1, 2], None, None, None))",
        "f(5, 1)", "f([1])", "f([1], 1, 2, 3, 4)", "f(Given(1), 1) and 0",
        "take(f(Given(1, 2, 3), 1, 3), 1)", "take(f(Given(1, 2, 3), 2), 3)",
        "list(f(Given(1, ValueError('x')), 1))", "list(f(Given(1, ValueError('x')), 2))",
        "list(f(Given(1, 2, 3, 4), 1, 3, 5))", "list(f(iterable=[1], stop=1))",
        "list(f([1, 2], 2**70))", "list(f([1, 2, 3], Int(2)))",
        "changed(Given(1, 2, 3, 4, 5), lambda given: (list(f(given, 2)), list(given)))[0]",
        "changed(Given(1, 2, 3, 4, 5), lambda given: (list(f(given, 0, 4, 2)), list(given)))[0]",
        "list(f(range(10), 3, 8, 4))", "take(f(range(10), 3, 8, 4), 4)",
    ),
    itertools.accumulate: (
        "list(f([1, 2, 3]))", "list(f([]))", "list(f([], initial=5))", "list(f([1], initial=None))",
        "list(f([1, 2], joined))", "list(f([1, 2], func=None, initial=0))",
        "list(f(Given(1, 2), joined, initial=0))", "f(Given(1)) and 0",
        "take(f(Given(1, 2, 3)), 2)", "list(f([None, 1]))", "list(f([None, 1], joined))",
        "list(f([1, 2], lambda *_: None))", "list(f([0.1] * 10))",
        "list(f([InPlace(1), InPlace(2)]))", "list(f([Num(1), 2]))", "list(f([1, Num(2)]))",
        "list(f('ab'))", "list(f([1, 'a']))", "list(f([1, 2], fails))", "list(f([1, 2], stops))",
        "f(5)", "f()", "list(f([1], joined, 2))", "list(f(iterable=[1, 2], func=joined))",
        "list(f([[1], [2]]))", "take(f(Given(1, ValueError('x'))), 2)",
        "take(f(Given(1), initial=0), 1)", "list(f([None]))", "list(f([None, None], joined))",
        "list(f([-0.0, 0]))",
    ),
    itertools.pairwise: (
        "list(f([1, 2, 3]))", "list(f([1]))", "list(f([]))", "take(f(Given(1, 2, 3)), 1)",
        "f(Given(1)) and 0", "f(5)", "f()", "list(f('abc'))",
        "take(f(Given(1, ValueError('x'))), 1)", "take(f(Given(1)), 3)", "list(f(iterable=[1, 2]))",
    ),
    itertools.compress: (
        "list(f('abc', [1, 0, 1]))", "list(f('abc', [1]))", "list(f('a', [1, 1]))",
        "list(f(Given(1, 2, name='a'), Given(0, 1, 1, name='b')))",
        "list(f(Given(1, 2), [Num(0), Num(1)]))", "f(5, [1])", "f([1], 5)", "f([1])",
        "list(f(data=[1], selectors=[1]))",
        "take(f(Given(1, 2, name='a'), Given(0, 1, name='b')), 1)",
        "list(f(Given(1, ValueError('x'), name='a'), Given(1, 1, name='b')))",
        "list(f(Given(1, 2, name='a'), Given(1, ValueError('x'), name='b')))",
        "f(Given(1, name='a'), Given(1, name='b')) and 0",
    ),
    itertools.starmap: (
        "list(f(joined, [(1, 2), [3]]))", "list(f(joined, Given((1,), Given(2, 3))))",
        "list(f(joined, ['ab']))", "list(f(joined, [5]))", "f(joined, 5)", "list(f(fails, [(1,)]))",
        "list(f(stops, [(1,)]))", "f(joined)", "list(f(5, [(1,)]))", "list(f(5, []))",
        "take(f(joined, Given((1,), (2,))), 1)", "list(f(joined, [()]))", "list(f(pow, [(2, 3)]))",
        "list(f(function=joined, iterable=[]))", "list(f(joined, [{1: 2}]))",
    ),
    itertools.zip_longest: (
        "list(f([1, 2], 'a'))", "list(f([1, 2], 'a', fillvalue=0))", "list(f())", "list(f([]))",
        "list(f([], []))", "list(f(Given(1, name='a'), Given(2, 3, name='b')))",
        "list(f(Given(1, 2, name='a'), Given(3, name='b')))",
        "take(f(Given(1, name='a'), Given(2, 3, name='b')), 2)", "f(5)", "f([1], 5)",
        "list(f([1], fill=0))", "list(f(Given(1, ValueError('x'), name='a'), [1]))",
        "f(Given(1, name='a'), Given(2, name='b')) and 0",
        "take(f(Given(1, name='a'), Given(2, name='b')), 4)",
        "list(f([1], [2, 3], [4, 5, 6], fillvalue=None))",
    ),
    itertools.groupby: (
        "[(key, list(group)) for key, group in f('aabbca')]",
        "[(key, list(group)) for key, group in f([1, 1.0, 2], key=told)]",
        "[key for key, _ in f('aabbca')]", "[(key, next(group)) for key, group in f('aabbca')]",
        "list(map(list, [group for _, group in f('aab')]))",
        "[(key, list(group)) for key, group in f([])]",
        "[(key, list(group)) for key, group in f([nan, nan])]",
        "[(key, list(group)) for key, group in f([1, 2, 3, 4], lambda each: each > 2)]",
        "[(key, list(group)) for key, group in f(Given(Num(1), Num(1, 'b'), Num(2)))]",
        "f(Given(1)) and 0", "take(f(Given(1, 2)), 1) and 0", "f(5)", "f()", "list(f([1], fails))",
        "[(key, list(group)) for key, group in f(Given(1, 1, ValueError('x')))]",
        "[key for key, _ in f(Given(1, 1, 2, 2), told)]",
        "[(key, list(group)) for key, group in f(iterable='aab', key=None)]",
        "[(key, list(group)) for key, group in f([1, 2], key=stops)]",
        "changed(f('aab'), lambda it: (next(it)[1], next(it)[0]))[0][1]",
        "changed(f('aab'), lambda it: [next(it)[1], next(it)[0]][0].__next__())",
        "[(key, list(group), list(group)) for key, group in f('aab')]",
        "all_of([group for _, group in f('aabb')])",
        "[(key, list(group)) for key, group in f([Says(0), Says(1)])] and 0",
        "[take(group, 1) for _, group in f(Given(1, 1, 1, 2))]",
    ),
    type(itertools.tee([])[0]): (),
}  # fmt: skip
"""By builtin, as `polyfills.ITERATORS` has it. What `tee` makes is made by it alone."""

HANDLED: dict[Any, tuple[str, ...]] = {
    pickle.dumps: (
        "f({})",
        "f(dict())",
        "f({'a': 1})",
        "f({}, 2)",
        "f({}, protocol=2)",
        "f([])",
        "f(5)",
        "f(deque())",
        "f({'upper': False, 'n': None, 'x': 0.5, 'large': 1 << 70})",
        "f({'a': 'b'})",
        "f({1: 2})",
        "f({'a': []})",
    ),
}
"""Functions of which a tracker's method knows what they do."""

ARRANGED: dict[object, tuple[str, ...]] = {
    itertools.product: (
        "list(f())", "list(f([1, 2], 'ab'))", "list(f([1, 2], repeat=2))",
        "list(f([1, 2], repeat=0))", "f([1], repeat=-1)", "f([1], repeat='a')",
        "f([1], repeat=1.0)", "list(f([1, 2], []))",
        "f(Given(1, name='a'), Given(2, name='b')) and 0", "f(5)", "f([1], 5)",
        "list(f([1], repeat=Index(2)))", "list(f([1, 2], [3], repeat=2))", "list(f(repeat=3))",
        "take(f([1, 2], [3, 4]), 3)", "f([1], other=2)", "f(Given(1, ValueError('x')))",
        "list(f([1, 2], repeat=True))", "f([1], repeat=None)",
        "f(Given(1, name='a'), Given(2, ValueError('x'), name='b'))", "f(Given(1), repeat=0) and 0",
        "f(5, repeat=0) and 0", "list(f(5, repeat=0))",
    ),
    itertools.combinations: _CHOICES,
    itertools.combinations_with_replacement: _CHOICES,
    itertools.permutations: (
        *_CHOICES, "list(f([1, 2, 3]))", "list(f([]))", "list(f([1, 2], r=None))",
        "list(f(Given(1, 2)))",
    ),
}  # fmt: skip
"""What is called with the places of what it is given."""

FUNCTIONS[itertools.tee] = (
    "all_of(f([1, 2]))", "f([], 0)", "all_of(f('ab', 3))", "in_turn(f(Given(1, 2)), 3)",
    "f(Given(1)) and 0", "f([1], -1)", "f(5)", "f([1], 'a')", "f([1], 1.0)", "f()", "f([1], 2, 3)",
    "all_of(f([1], Index(2)))", "all_of(f([1], True))", "in_turn(f(Given(1, ValueError('x'))), 2)",
    "f([1], n=2)", "all_of(f(iterable=[1]))", "f(5, 0)", "f(Given(1), 0)",
    "changed(f([1, 2, 3]), lambda both: (next(both[0]), all_of(f(both[0])), all_of(both)))[0]",
    "changed(f([1, 2, 3]), lambda both: (next(both[0]), take(f(both[0])[1], 2), all_of(both)))[0]",
    "changed(f([1, 2, 3]), lambda both: f(both[0])[0] is both[0])[0]",
    "all_of(f(Copied((1, 2), '')))", "in_turn(f(Copied((1, 2), ''), 3), 3)",
    "changed(Copied((1, 2), ''), lambda it: (all_of(f(it)), list(it)))[0]",
    "changed(f([1, 2, 3]), lambda both: (take(f(both[0], 3)[2], 2), take(f(both[0])[0], 1), "
    "all_of(both)))[0]",
    "changed(f([1, 2]), lambda both: (f(both[0], 1)[0] is both[0], f(both[1], 0)))[0]",
)  # fmt: skip

CALLABLES: dict[object, tuple[str, ...]] = {
    operator.itemgetter: (
        "f(1)([1, 2])", "f(1, 0)([1, 2])", "f('a')({'a': 3})", "f(5)([1])", "f()", "f(1)(5)",
        "f(1)()", "f(1)([1, 2], 3)", "f(slice(1))([1, 2])", "f(0)(Items(7, 8))",
        "f(0, 1)(Items(7, ValueError('x')))", "f(item=1)", "f(Index(1))([1, 2])", "f([])({})",
        "f(0)(obj=[1])", "f(0, 0)('a')",
    ),
    operator.attrgetter: (
        "f('a')(Plain(a=1))", "f('a', 'b')(Plain(a=1, b=2))", "f('a.b')(Plain(a=Plain(b=2)))",
        "f('a')(5)", "f()", "f(5)", "f('a')()", "f('a', 'c')(Plain(a=1))", "f('')(Plain())",
        "f('real')(5)", "f(Text('a'))(Plain(a=1))", "f(attr='a')", "f('a')(obj=Plain(a=1))",
    ),
    operator.methodcaller: (
        "f('method')(Plain())", "f('method', 1, a=2)(Plain())", "f('upper')('a')", "f('none')('a')",
        "f()", "f(5)", "f('method')()", "f('split', 'b', maxsplit=1)('abcbd')",
        "f('method', name=2)(Plain())", "f(Text('upper'))('a')", "f('upper')('a', 1)",
        "f(name='upper')", "f('append', 1)([2])",
    ),
    vars(functools)["_lru_cache_wrapper"]: (
        "changed(f(told, None, False, NamedInfo), lambda call: [call(1), call(1), call(2), "
        "call(1.0), call(True), call('a'), call('a')])[0]",
        "changed(f(told, 1, False, NamedInfo), lambda call: [call(1), call(2), call(1)])[0]",
        "changed(f(told, 0, False, NamedInfo), lambda call: [call(1), call(1)])[0]",
        "changed(f(joined, 4, False, NamedInfo), lambda call: [call(), call(), call(1, 2), "
        "call(1, 2), call(1), call(1), call((1,))])[0]",
        "changed(f(told, 4, True, NamedInfo), lambda call: [call(1), call(1.0)])[0]",
        "f(told, 4, False, NamedInfo)([])",
        "changed(f(joined, 4, False, NamedInfo), lambda call: [call((1, 2)), call(1, 2)])[0]",
        "f(fails, 4, False, NamedInfo)(1)", "f(joined, 4, False, NamedInfo)(a=1)",
        "changed(f(told, -1, False, NamedInfo), lambda call: [call(1), call(1)])[0]",
        "f(told, 'a', False, NamedInfo)", "f(5, 4, False, NamedInfo)",
        "changed(f(told, None, False, NamedInfo), lambda call: [call(0.0), call(-0.0), call(0), "
        "call(False)])[0]",
        "changed(f(told, None, False, NamedInfo), lambda call: [call(Num(1)), call(Num(1, "
        "'b'))])[0]",
        "changed(f(joined, None, False, NamedInfo), lambda call: [call(1), call((1,)), call(1, "
        "2), call((1, 2))])[0]",
        "changed(f(told, None, False, NamedInfo), lambda call: [call(None), call(None)])[0]",
        "changed(f(told, None, False, NamedInfo), lambda call: [call(Int(1)), call(1), "
        "call(Text('a')), call('a')])[0]",
        "changed(f(joined, None, False, NamedInfo), lambda call: [call(nan), call(nan), "
        "call(1.0), call(1)])[0]",
        "changed(f(joined, None, False, NamedInfo), lambda call: [call(()), call()])[0]",
    ),
}  # fmt: skip
"""By class, as `polyfills.CALLABLES` has it."""

OF_CLASSES = (
    "f(5, int, 0, ())", "f(5, int, 1, ())", "f(5, str, 1, ())", "f(True, int, 1, ())",
    "f(5, int, 2, ())", "f('a', Text, 1, ())", "f(Text('a'), str, 1, ())", "f([1], list, 1, ())",
    "f(1j, complex, 1, ())", "f(Pair(1, 2), Pair, 2, ())", "f(Pair(1, 2), Pair, 1, ('b',))",
    "f(Pair(1, 2), Pair, 1, ('a',))", "f(Pair(1, 2), Pair, 0, ('a',))", "f(Named(1), Named, 1, ())",
    "f(Named(1), Named, 2, ())", "f(Named(1), Named, 1, ('b',))",
    "f(ListNamed(1), ListNamed, 1, ())", "f(Computed(), Computed, 1, ())",
    "f(Computed(), Computed, 0, ('a',))", "f(5, 5, 0, ())", "f(5, (int, str), 0, ())",
    "f(5, object, 1, ())", "f(b'', bytes, 1, ())", "f({1}, set, 1, ())", "f(Row([1]), list, 1, ())",
    "f(Row([1]), Row, 1, ())", "f(5, int, 0, ('a',))", "f(None, Plain, 0, ())",
    "f(Plain(a=1), Plain, 1, ())", "f(5, int | str, 0, ())",
)  # fmt: skip
OTHERS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "called_until": (iter, (
        "take(f(Given(1, 2, 3).__next__, 3), 4)", "take(f(Given(1, 2).__next__, 5), 4)",
        "take(f(Given(1, 1.0).__next__, True), 2)",
        "take(f(Given(Num(1), Num(2)).__next__, Num(2, 'b')), 3)", "take(f(fails, 1), 1)",
        "take(f(Given(1, nan).__next__, nan), 3)", "take(f(stops, 1), 1)",
        "take(f(Given(1).__next__, Says(0)), 1)",
    )),
    "hint_asked": (length_asked, (
        "f(Hinted(0))", "f(Hinted(5))", "f(Hinted(-1))", "f(Hinted('a'))",
        "f(Hinted(NotImplemented))", "f(Hinted(True))", "f(Hinted(Int(2)))",
        "f(Guessed(TypeError('x')))", "f(Guessed(ValueError('x')))", "f(Hinted(2**70))",
        "f(Hinted(None))",
    )),
    "is_given_by": (operator.contains, (
        "f(Given(1, 2), 1)", "f(Given(1, 2), 3)", "f(Given(nan), nan)", "f(Given(1, 2), 1.0)",
        "f(Given(Num(1), Num(2)), 2)", "f(Given(1, 2), Num(2))", "f(Given(1, ValueError('x')), 3)",
        "f(Given(1, ValueError('x')), 1)", "f(Given(Says([])), 1)", "f(Given(Says('a')), 1)",
        "f(Given(1), Says(5))",
    )),
    "items_by_index": (iter, (
        "[each for each in f(Items(1, 2))]", "[each for each in f(Items())]",
        "[each for each in f(Items(1, ValueError('x')))]",
        "[each for each in f(Items(1, StopIteration(3), 2))]",
        "[each for each in f(Items(1, IndexError('x'), 2))]",
        "[each for each in f(Items(1, KeyError('x')))]", "take(f(Items(1, 2)), 1)",
        "take(f(Items(1)), 3)",
    )),
    "length_asked": (length_asked, (
        "f(Sized(1, 2))", "f(Measured(TypeError('x')))", "f(Measured(ValueError('x')))",
        "f(Row([1]))",
    )),
    "match_class": (matched_class, OF_CLASSES),
    "match_keys": (matched_keys, (
        "f({1: 2, 3: 4}, (1, 3))", "f({1: 2}, (1, 3))", "f({1: 2}, (1, 1))", "f({1: 2}, (3, 3))",
        "f({1: 2}, (1, 1.0))", "f({1: 2}, (3, []))", "f({1: 2, 3: 4}, (1, True))", "f({}, (1, 2))",
        "f(collections.defaultdict(int, {1: 2}), (1, 3))", "f({nan: 2, 3: 4}, (nan, 3))",
        "f(collections.Counter('ab'), ('a', 'c'))",
    )),
    "parts_of_template": (iter, (
        () if opcodes.TEMPLATE is None else (
            "[str(type(each)) for each in f(eval('t\"a{log}b{inf}{nan}\"'))]",
            "list(f(eval('t\"\"')))", "list(f(eval('t\"ab\"')))",
        )
    )),
    "reversed_list": (reversed, (
        "list(f([1, 2, 3]))", "list(f([]))",
        "changed([1, 2, 3], lambda row: [row.clear() or each for each in f(row)])",
        "changed([1, 2], lambda row: changed(f(row), lambda it: row.append(3)))[0][1].__next__()",
        "changed([1, 2, 3], lambda row: [(each, row.pop()) for each in f(row)])",
        "changed([1, 2, 3], lambda row: [(each, row.append(0)) for each in f(row)])",
    )),
    "reversed_sequence": (reversed, (
        "[each for each in f(Items(1, 2))]", "[each for each in f(Items())]",
        "take(f(Items(1, 2)), 1)", "[each for each in f(Items(ValueError('x'), 1))]",
        "[each for each in f(Items(0, IndexError('x'), 1))]",
        "[each for each in f(Items(0, StopIteration(3), 1))]", "f(Items(1)) and 0",
    )),
}  # fmt: skip
"""By function that stands for no builtin of its own: what does the same, and calls of it."""
