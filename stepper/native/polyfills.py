"""What functions and iterators of Python's do, in Python.

What the translator does not know of a builtin is not modelled: the function here is interpreted in
its place, as CPython's documentation says what it does. It has the guards of the builtin, and
nothing of it is ever seen by the program: should the graph break within, or a value be needed that
it has made, the instruction that calls the builtin is left to Python as a whole. So is every error:
where the builtin would raise one, `refuse` is called, which breaks the graph.
"""

from __future__ import annotations

import collections
import copyreg
import functools
import inspect
import itertools
import operator
import types
from collections.abc import Callable
from typing import NamedTuple

import torch

from stepper.uncompiled import keep_out

Polyfill = Callable[..., object]

FUNCTIONS: dict[object, Polyfill] = {}
"""By builtin, what is interpreted in its place."""
ITERATORS: dict[object, Polyfill] = {}
"""By builtin class of iterators, what is interpreted instead: it returns a generator."""
OPERATIONS: dict[object, Polyfill] = {}
"""By operator and class of what stands left."""
METHODS: dict[object, Polyfill] = {}
"""By method of a builtin class, what is interpreted in its place."""
CALLABLES: dict[object, Polyfill] = {}
"""By builtin class whose objects are called, what is interpreted instead: it returns a function."""


class Remaking(NamedTuple):
    """How an iterator is made anew that goes on where a generator stands.

    function: makes it.
    names: the generator's variables that it is given.
    begun: whether it can be made once a value has been given.
    """

    function: Callable[..., object]
    names: tuple[str, ...]
    begun: bool


REMAKING: dict[types.CodeType, Remaking] = {}
"""By code of the generator that gives an iterator's values."""


def refuse() -> None:
    """Not interpreted: the graph breaks."""


_FUNCTION: type = types.FunctionType


def _stands_for(table, *builtins):
    def register(function):
        table.update(dict.fromkeys(builtins, function))
        return function

    return register


def _goes_on(function, *names, begun=True):
    def register(generator):
        REMAKING[generator.__code__] = Remaking(function, names, begun)
        return generator

    return register


@_stands_for(FUNCTIONS, functools.reduce)
def _reduce(function, iterable, /, *initial):
    iterator = iter(iterable)
    if initial:
        (value,) = initial
    else:
        for value in iterator:
            break
        else:
            refuse()
    for each in iterator:
        value = function(value, each)
    return value


@_stands_for(FUNCTIONS, functools.update_wrapper)
def _update_wrapper(
    wrapper, wrapped, assigned=functools.WRAPPER_ASSIGNMENTS, updated=functools.WRAPPER_UPDATES
):
    if tuple(updated) != ("__dict__",):
        refuse()
    for name in assigned:
        if hasattr(wrapped, name):
            setattr(wrapper, name, getattr(wrapped, name))
    for name, value in getattr(wrapped, "__dict__", {}).items():
        setattr(wrapper, name, value)
    wrapper.__wrapped__ = wrapped
    return wrapper


@_stands_for(FUNCTIONS, inspect.unwrap)
def _unwrap(func, *, stop=None):
    while hasattr(func, "__wrapped__") and not (stop and stop(func)):
        func = func.__wrapped__
    return func


@_stands_for(FUNCTIONS, inspect.get_annotations)
def _get_annotations(obj, *, globals=None, locals=None, eval_str=False, format=1):
    if eval_str or format != 1 or type(obj) is not _FUNCTION:
        refuse()
    return dict(obj.__annotations__)


@_stands_for(FUNCTIONS, max)
def _max(*values, key=None):
    if len(values) == 1:
        (values,) = values
    iterator = iter(values)
    for best in iterator:
        break
    else:
        refuse()
    mark = best if key is None else key(best)
    for each in iterator:
        rank = each if key is None else key(each)
        if rank > mark:
            best, mark = each, rank
    return best


@_stands_for(FUNCTIONS, min)
def _min(*values, key=None):
    if len(values) == 1:
        (values,) = values
    iterator = iter(values)
    for best in iterator:
        break
    else:
        refuse()
    mark = best if key is None else key(best)
    for each in iterator:
        rank = each if key is None else key(each)
        if rank < mark:
            best, mark = each, rank
    return best


@_stands_for(FUNCTIONS, sorted)
def _sorted(iterable, /, *, key=None, reverse=False):
    values = list(iterable)
    sign = -1 if reverse else 1  # what is equal stays in order
    keys = values if key is None else [key(each) for each in values]
    marks = sorted([(each, sign * index) for index, each in enumerate(keys)], reverse=reverse)
    return [values[sign * index] for _, index in marks]


@_stands_for(METHODS, list.sort)
def _sort(self, /, *, key=None, reverse=False):
    self[:] = sorted(self, key=key, reverse=reverse)


_SEQUENCES = (list, tuple, str)


@_stands_for(METHODS, *[each.__contains__ for each in (dict, set, frozenset, *_SEQUENCES)])
def _contains(self, item, /):
    return item in self


@_stands_for(METHODS, *[each.__len__ for each in (dict, set, frozenset, *_SEQUENCES)])
def _len(self, /):
    return len(self)


@_stands_for(METHODS, *[each.__getitem__ for each in (dict, *_SEQUENCES)])
def _getitem(self, key, /):
    return self[key]


NEW_OBJECT = vars(copyreg)["__newobj__"]


@_stands_for(METHODS, object.__reduce_ex__)
def _reduce_ex(self, protocol, /):
    # Of an object all of whose state is in its dictionary, and that says nothing else of it.
    if protocol < 2:
        refuse()
    return NEW_OBJECT, (type(self),), self.__dict__ or None


@_stands_for(FUNCTIONS, dict.fromkeys)
def _fromkeys(iterable, value=None, /):
    made = {}
    for key in iterable:
        made[key] = value
    return made


@_stands_for(FUNCTIONS, vars(collections)["_count_elements"])
def _count_elements(mapping, iterable, /):
    for each in iterable:
        mapping[each] = mapping.get(each, 0) + 1


@_stands_for(OPERATIONS, (operator.ior, dict))
def _update(a, b, /):
    a.update(b)
    return a


@_stands_for(OPERATIONS, (operator.imul, list))
def _repeat_in_place(a, b, /):
    a[:] = a * b
    return a


@_stands_for(OPERATIONS, (operator.eq, type({}.keys())))
def _same_keys(a, b, /):
    return set(a) == set(b)


@_stands_for(OPERATIONS, (operator.and_, type({}.keys())))
def _common_keys(a, b, /):
    return {key for key in b if key in a}


@_stands_for(OPERATIONS, (operator.sub, type({}.keys())))
def _other_keys(a, b, /):
    return set(a) - set(b)


@_stands_for(OPERATIONS, (operator.or_, type({}.keys())))
def _all_keys(a, b, /):
    return set(a) | set(b)


@_stands_for(ITERATORS, filter)
def _filter(function, iterable, /):
    return _keeping(function, iter(iterable))


@_goes_on(filter, "function", "iterator")
def _keeping(function, iterator):
    for each in iterator:
        if each if function is None else function(each):
            yield each


def is_given_by(iterator, value):
    """`value in iterator`."""
    for each in iterator:  # noqa: SIM110  # `any` would be interpreted, too
        if each in (value,):  # the same, or equal
            return True
    return False


def iterated_from(sequence, index, *, iterate=iter):
    """`iter(sequence)`, or an iterator that goes back, which goes on at an index: also at one that
    the sequence does not have, since changes are pending."""
    missing = index + 1 - len(sequence) if type(sequence) is list else 0
    if missing > 0:
        sequence.extend([None] * missing)
    made = iterate(sequence)
    made.__setstate__(index)
    if missing > 0:
        del sequence[-missing:]
    return made


def reversed_from(sequence, index):
    """`reversed` of a list, which goes on at an index."""
    return iterated_from(sequence, index, iterate=reversed)


def reversed_list(sequence):
    """`reversed` of a list, which may change meanwhile."""
    return _going_back(sequence, len(sequence) - 1)


@_goes_on(reversed_from, "sequence", "index")
def _going_back(sequence, index):
    while 0 <= index < len(sequence):
        index -= 1
        yield sequence[index + 1]


def reversed_sequence(sequence):
    """`reversed` of an object with `__len__` and `__getitem__`."""
    return _counting_down(sequence, len(sequence) - 1)


def _counting_down(sequence, index):
    while index >= 0:
        yield sequence[index]
        index -= 1


@_goes_on(iter, "function", "sentinel")
def called_until(function, sentinel, /):
    """`iter(function, sentinel)`."""
    while True:
        value = function()
        if value in (sentinel,):  # the same, or equal
            return
        yield value


def items_by_index(sequence):
    """`iter` of an object that has `__getitem__` and no `__iter__`."""
    index = 0
    while True:
        try:
            value = sequence[index]
        except IndexError:
            return
        yield value
        index += 1


def parts_of_template(template):
    """`iter` of a t-string."""
    between = (*template.interpolations, None)
    for place, text in enumerate(template.strings):
        if text:
            yield text
        if between[place] is not None:
            yield between[place]


@_stands_for(ITERATORS, itertools.chain)
def _chain(*iterables):
    return chain_from_iterable(iterables)


@_stands_for(ITERATORS, itertools.chain.from_iterable)
def _from_iterable(iterables, /):
    return chain_from_iterable(iter(iterables))


@_goes_on(itertools.chain.from_iterable, "iterables", begun=False)
def chain_from_iterable(iterables, /):
    """`itertools.chain.from_iterable`."""
    for iterable in iterables:
        yield from iterable


@_stands_for(ITERATORS, itertools.count)
def _count(start=0, step=1):
    return _counting(start, step)


@_goes_on(itertools.count, "value", "step")
def _counting(value, step):
    while True:
        given, value = value, value + step
        yield given


@_stands_for(ITERATORS, itertools.cycle)
def _cycle(iterable, /):
    return _cycling(iter(iterable))


@_goes_on(itertools.cycle, "iterator", begun=False)
def _cycling(iterator):
    saved = []
    for each in iterator:
        yield each
        saved.append(each)
    while saved:
        yield from saved


@_stands_for(ITERATORS, itertools.repeat)
def _repeat(object, times=None):
    if times is not None and type(times) is not int:
        refuse()
    return _repeating(object, times)


def repeated(value, times):
    """`itertools.repeat`; None: without end."""
    return itertools.repeat(value) if times is None else itertools.repeat(value, times)


@_goes_on(repeated, "value", "times")
def _repeating(value, times):
    while times is None or times > 0:
        if times is not None:
            times -= 1
        yield value


@_stands_for(ITERATORS, itertools.islice)
def _islice(iterable, first, *others):
    start, stop, step = 0, first, 1
    if others:
        start, stop = first or 0, others[0]
        if len(others) == 2:
            step = others[1] or 1
        elif len(others) > 2:
            refuse()
    if start < 0 or step < 1 or (stop is not None and stop < 0):
        refuse()
    return _slicing(iter(iterable), start, stop, step)


@_goes_on(itertools.islice, "iterator", "start", "stop", "step")
def _slicing(iterator, start, stop, step):
    # `start` and `stop` are counted from where the iterator stands.
    while True:
        for _ in range(start):
            for _ in iterator:
                break
            else:
                return
        if stop is not None and start >= stop:
            return
        for value in iterator:
            break
        else:
            return
        taken, start = start + 1, step - 1
        if stop is not None:
            stop -= taken
            if start > stop:
                start = stop
        yield value


@_stands_for(FUNCTIONS, itertools.tee)
def _tee(iterable, n=2, /):
    if n < 0:
        refuse()
    iterator = iter(iterable)
    link = [None, None]
    return tuple([_TEE(iterator, link) for _ in range(n)])


_TEE: type = type(itertools.tee(())[0])


@_stands_for(ITERATORS, _TEE)
def _sharing(iterator, link):
    while True:
        if link[1] is None:
            for link[0] in iterator:
                break
            else:
                return
            link[1] = [None, None]
        yield link[0]
        link = link[1]


@_stands_for(ITERATORS, itertools.accumulate)
def _accumulate(iterable, func=None, *, initial=None):
    return _accumulating(iter(iterable), func, initial, False)


def accumulated(iterator, function, total, begun):
    """`itertools.accumulate`, which has given the total already, or begins with it."""
    if not begun:
        return itertools.accumulate(iterator, function, initial=total)
    made = itertools.accumulate(itertools.chain((total,), iterator), function)
    next(made)
    return made


@_goes_on(accumulated, "iterator", "function", "total", "begun")
def _accumulating(iterator, function, total, begun):
    if total is None:
        for total in iterator:
            break
        else:
            return
    begun = True  # noqa: F841  # read where it is made anew
    yield total
    for each in iterator:
        total = total + each if function is None else function(total, each)
        yield total


@_stands_for(ITERATORS, itertools.pairwise)
def _pairwise(iterable, /):
    return _pairing(iter(iterable))


@_goes_on(itertools.pairwise, "iterator", begun=False)
def _pairing(iterator):
    for before in iterator:
        break
    else:
        return
    for each in iterator:
        yield before, each
        before = each


@_stands_for(ITERATORS, itertools.takewhile)
def _takewhile(predicate, iterable, /):
    return _taking(predicate, iter(iterable))


@_goes_on(itertools.takewhile, "predicate", "iterator")
def _taking(predicate, iterator):
    for each in iterator:
        if not predicate(each):
            return
        yield each


@_stands_for(ITERATORS, itertools.dropwhile)
def _dropwhile(predicate, iterable, /):
    return _dropping(predicate, iter(iterable))


@_goes_on(itertools.dropwhile, "predicate", "iterator", begun=False)
def _dropping(predicate, iterator):
    for each in iterator:
        if not predicate(each):
            yield each
            break
    yield from iterator


@_stands_for(ITERATORS, itertools.filterfalse)
def _filterfalse(function, iterable, /):
    return _leaving(function, iter(iterable))


@_goes_on(itertools.filterfalse, "function", "iterator")
def _leaving(function, iterator):
    for each in iterator:
        if not (each if function is None else function(each)):
            yield each


@_stands_for(ITERATORS, itertools.compress)
def _compress(data, selectors):
    return _selecting(iter(data), iter(selectors))


@_goes_on(itertools.compress, "data", "selectors")
def _selecting(data, selectors):
    for each, selected in zip(data, selectors):  # noqa: B905  # as it does
        if selected:
            yield each


@_stands_for(ITERATORS, itertools.starmap)
def _starmap(function, iterable, /):
    return _calling(function, iter(iterable))


@_goes_on(itertools.starmap, "function", "iterator")
def _calling(function, iterator):
    for arguments in iterator:
        yield function(*arguments)


@_stands_for(ITERATORS, itertools.zip_longest)
def _zip_longest(*iterables, fillvalue=None):
    return _zipping([iter(each) for each in iterables], fillvalue)


def zipped_longest(iterators, fill):
    """`itertools.zip_longest`."""
    return itertools.zip_longest(*iterators, fillvalue=fill)


@_goes_on(zipped_longest, "iterators", "fill", begun=False)
def _zipping(iterators, fill):
    going = len(iterators)
    ended = [False] * going
    while going:
        values = []
        for index, iterator in enumerate(iterators):
            value = fill
            if not ended[index]:
                for value in iterator:
                    break
                else:
                    ended[index] = True
                    going -= 1
                    if not going:
                        return
                    value = fill
            values.append(value)
        yield tuple(values)


@_stands_for(ITERATORS, itertools.groupby)
def _groupby(iterable, key=None):
    return _grouping(iter(iterable), key)


def _grouping(iterator, key):
    ahead = []  # what begins the next group, once it has been seen
    for first in iterator:
        ahead.append((first if key is None else key(first), first))
        break
    while ahead:
        mark, _ = ahead[0]
        group = _group(iterator, key, mark, ahead)
        yield mark, group
        for _ in group:  # what nobody has taken of it is left out
            pass


def _group(iterator, key, mark, ahead):
    yield ahead.pop()[1]
    for each in iterator:
        rank = each if key is None else key(each)
        if rank not in (mark,):  # neither the same nor equal
            ahead.append((rank, each))
            return
        yield each


@_stands_for(ITERATORS, itertools.product)
def _product(*iterables, repeat=1):
    if repeat < 0:
        refuse()
    found = [()]
    for pool in [tuple(each) for each in iterables] * repeat:
        found = [(*before, each) for before in found for each in pool]
    return _giving(found)


@_stands_for(ITERATORS, itertools.combinations)
def _combinations(iterable, r):
    pool = tuple(iterable)
    return _giving(_chosen(pool, len(pool), r, 1))


@_stands_for(ITERATORS, itertools.combinations_with_replacement)
def _combinations_with_replacement(iterable, r):
    pool = tuple(iterable)
    return _giving(_chosen(pool, len(pool), r, 0))


def _chosen(pool, count, r, step):
    if r < 0:
        refuse()
    found = [((), 0)]
    for _ in range(r):
        found = [
            ((*before, pool[index]), index + step)
            for before, start in found
            for index in range(start, count)
        ]
    return [before for before, _ in found]


@_stands_for(ITERATORS, itertools.permutations)
def _permutations(iterable, r=None):
    pool = tuple(iterable)
    if r is None:
        r = len(pool)
    if r < 0:
        refuse()
    found = [()]
    for _ in range(r):
        found = [
            (*before, index)
            for before in found
            for index in range(len(pool))
            if index not in before
        ]
    return _giving([tuple([pool[index] for index in indices]) for indices in found])


def _giving(values):
    yield from values


@_stands_for(FUNCTIONS, torch.Tensor)
def _tensor(*given):
    return _tensor_of(given, torch.get_default_dtype())


@_stands_for(FUNCTIONS, torch.FloatTensor)
def _float_tensor(*given):
    return _tensor_of(given, torch.float32)


@_stands_for(FUNCTIONS, torch.LongTensor)
def _long_tensor(*given):
    if len(given) == 1 and type(given[0]) in (list, tuple):
        for each in given[0]:
            if type(each) is not int:
                refuse()
    return _tensor_of(given, torch.int64)


def _tensor_of(given, dtype):
    if len(given) == 1 and type(given[0]) in (list, tuple):
        return torch.tensor(given[0], dtype=dtype)
    for each in given:
        if type(each) is not int:
            refuse()
    return torch.empty(given or (0,), dtype=dtype)


def match_keys(subject, keys):
    """What MATCH_KEYS pushes: the values of a dictionary at these keys, or None."""
    found = []
    for count, key in enumerate(keys):
        if key in keys[:count]:
            refuse()
        if key not in subject:
            return None
        found.append(subject[key])
    return tuple(found)


_MATCHED_AS_THEY_ARE = (
    bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple,
)  # fmt: skip


def match_class(subject, kind, count, names):
    """What MATCH_CLASS leaves: what a subject has that is of the class, or None."""
    if not isinstance(subject, kind):
        return None
    found = []
    if count:
        if hasattr(kind, "__match_args__"):
            positional = kind.__match_args__
            if type(positional) is not tuple or len(positional) < count:
                refuse()
            for name in positional[:count]:
                if type(name) is not str:
                    refuse()
            names = (*positional[:count], *names)
        else:
            if count > 1 or kind not in _MATCHED_AS_THEY_ARE:
                refuse()
            found.append(subject)
    if len(set(names)) < len(names):
        refuse()
    for name in names:
        try:
            found.append(getattr(subject, name))
        except AttributeError:
            return None
    return tuple(found)


@_stands_for(CALLABLES, operator.itemgetter)
def _itemgetter(item, /, *items):
    if not items:
        return lambda value: value[item]
    return lambda value: tuple([value[each] for each in (item, *items)])


@_stands_for(CALLABLES, operator.attrgetter)
def _attrgetter(attr, /, *attrs):
    if attrs or "." in attr:
        refuse()
    return lambda value: getattr(value, attr)


@_stands_for(CALLABLES, operator.methodcaller)
def _methodcaller(name, /, *args, **kwargs):
    return lambda value: getattr(value, name)(*args, **kwargs)


@_stands_for(CALLABLES, vars(functools)["_lru_cache_wrapper"])
def _lru_cache(function, maxsize, typed, info, /):
    if typed:
        refuse()
    known = {}

    def call(*args):
        key = args[0] if len(args) == 1 and type(args[0]) in (int, str) else args
        if key not in known:
            if maxsize is not None and len(known) >= maxsize:
                refuse()
            known[key] = function(*args)
        return known[key]

    return call


class FunctionContext:
    """In the place of the `ctx` of a `torch.autograd.Function`, whose forward is interpreted."""

    def save_for_backward(self, *tensors):
        self.saved = tensors

    def set_materialize_grads(self, value):
        """Backward alone sees that."""

    def mark_non_differentiable(self, *tensors):
        """The node's own context is told."""


_REFUSED = refuse.__code__


def is_polyfill(code: types.CodeType) -> bool:
    """Whether the code is that of a function here, or in one."""
    return code.co_filename == _REFUSED.co_filename and code is not _REFUSED


keep_out()
