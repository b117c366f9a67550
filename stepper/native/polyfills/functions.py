"""Functions, methods and operators, and what the interpreter's own instructions do."""

from __future__ import annotations

import collections
import copyreg
import functools
import inspect
import math
import operator
import types
from operator import gt, lt
from typing import Any

import torch

from stepper.native.polyfills.table import (
    CALLABLES,
    FUNCTIONS,
    METHODS,
    OPERATIONS,
    refuse,
    stands_for,
)
from stepper.native.versions import group_tensors
from stepper.uncompiled import keep_out

_FUNCTION: type = types.FunctionType
_METHOD: type = types.MethodType
_BUILTIN: type = types.BuiltinFunctionType
_SIZE: type = torch.Size
_DEQUE: Any = collections.deque
_ORDERED_DICT: type = collections.OrderedDict
_CLEAR, _EXTEND = collections.deque.clear, collections.deque.extend


@stands_for(FUNCTIONS, functools.reduce)
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


@stands_for(FUNCTIONS, functools.update_wrapper)
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


@stands_for(FUNCTIONS, inspect.unwrap)
def _unwrap(func, *, stop=None):
    while hasattr(func, "__wrapped__") and not (stop and stop(func)):
        if isinstance(func, type):  # older Pythons take what a class has, newer ones the class
            refuse()
        func = func.__wrapped__
    return func


@stands_for(FUNCTIONS, inspect.get_annotations)
def _get_annotations(obj, *, globals=None, locals=None, eval_str=False, format=1):
    if eval_str or format != 1 or type(obj) is not _FUNCTION:
        refuse()
    return dict(obj.__annotations__)


@stands_for(FUNCTIONS, any)
def _any(iterable, /):
    for each in iterable:
        if each:
            break
    else:
        return False
    return True


@stands_for(FUNCTIONS, all)
def _all(iterable, /):
    for each in iterable:
        if not each:
            break
    else:
        return True
    return False


@stands_for(FUNCTIONS, operator.delitem)
def _delete_item(a, b, /):
    del a[b]


@stands_for(FUNCTIONS, operator.countOf)
def _count_of(a, b, /):
    count = 0
    for each in a:
        if each is b or each == b:
            count += 1
    return count


@stands_for(FUNCTIONS, operator.indexOf)
def _index_of(a, b, /):
    for index, each in enumerate(a):
        if each is b or each == b:
            return index
    return refuse()


_CORRECTED = tuple(kind for kind in (float, complex) if sum([kind(0.1)] * 10) == 1)
"""Numbers of which `sum` makes good what rounding loses: floats since CPython 3.12, complex ones
since 3.14."""


@stands_for(FUNCTIONS, sum)
def _sum(iterable, /, start=0):
    if isinstance(start, (str, bytes, bytearray)):
        refuse()
    for each in iterable:
        if type(start) in _CORRECTED and type(each) in _CORRECTED:
            refuse()
        start = start + each
    return start


@stands_for(FUNCTIONS, max)
def _max(*values, key=None, **default):
    return _best(values, key, default, gt)


@stands_for(FUNCTIONS, min)
def _min(*values, key=None, **default):
    return _best(values, key, default, lt)


def _best(values, key, default, is_better):
    if default and (len(values) != 1 or [*default] != ["default"]):
        refuse()
    if len(values) == 1:
        (values,) = values
    iterator = iter(values)
    for best in iterator:
        break
    else:
        if not default:
            refuse()
        return default["default"]
    mark = best if key is None else key(best)
    for each in iterator:
        rank = each if key is None else key(each)
        if is_better(rank, mark):
            best, mark = each, rank
    return best


_TUPLE: type = tuple
_COMPARED = (str, int, float, bool)
"""Classes of what tuples are often sorted by."""


@stands_for(FUNCTIONS, sorted)
def _sorted(iterable, /, *, key=None, reverse=False):
    values = list(iterable)
    sign = -1 if reverse else 1  # what is equal stays in order
    keys = values if key is None else [key(each) for each in values]
    if all(type(each) is _TUPLE and each and type(each[0]) in _COMPARED for each in keys):
        firsts = [each[0] for each in keys]
        if len(set(firsts)) == len(firsts):  # nobody looks at what is behind them
            keys = firsts
    sorted(keys)  # what is equal may have no order
    marks = sorted([(each, sign * index) for index, each in enumerate(keys)], reverse=reverse)
    return [values[sign * index] for _, index in marks]


@stands_for(METHODS, list.sort)
def _sort(self, /, *, key=None, reverse=False):
    if key is None:
        self[:] = sorted(self, reverse=reverse)
        return
    values = self[:]
    self[:] = ()  # as whoever asks for a key sees it
    try:
        made = sorted(values, key=key, reverse=reverse)
    except BaseException:
        self[:] = values
        raise
    if self:
        refuse()
    self[:] = made


@stands_for(FUNCTIONS, group_tensors)
def _group_tensors(tensorlistlist, with_indices, /):
    groups = {}
    for index, tensor in enumerate(tensorlistlist[0]):
        if tensor is None:
            refuse()
        lists, indices = groups.setdefault((tensor.device, tensor.dtype), ([[]], []))
        lists[0].append(tensor)
        if with_indices:
            indices.append(index)
    if len(groups) != 1 or len(tensorlistlist) != 1:
        refuse()  # the order of groups is that of a hash table
    return groups


NEW_OBJECT = vars(copyreg)["__newobj__"]


@stands_for(METHODS, object.__reduce_ex__)
def _reduce_ex(self, protocol, /):
    # Of an object all of whose state is in its dictionary, and that says nothing else of it.
    if protocol < 2:
        refuse()
    return NEW_OBJECT, (type(self),), self.__dict__ or None, None, None


@stands_for(FUNCTIONS, dict.fromkeys)
def _fromkeys(iterable, value=None, /):
    made = {}
    for key in iterable:
        made[key] = value
    return made


@stands_for(FUNCTIONS, operator.is_)
def _is(a, b, /):
    return a is b


@stands_for(FUNCTIONS, operator.is_not)
def _is_not(a, b, /):
    return a is not b


@stands_for(FUNCTIONS, vars(collections)["_count_elements"])
def _count_elements(mapping, iterable, /):
    for each in iterable:
        mapping[each] = mapping.get(each, 0) + 1


@stands_for(OPERATIONS, (operator.ior, dict))
def _update(a, b, /):
    a.update(b)
    return a


@stands_for(OPERATIONS, (operator.imul, list))
def _repeat_in_place(a, b, /):
    a[:] = a * b
    return a


_ORDERED = collections.OrderedDict[object, object]()
_VIEWS: tuple[Any, ...] = (
    type({}.keys()), type({}.items()), type(_ORDERED.keys()), type(_ORDERED.items())
)  # fmt: skip
_KEYS, _ITEMS, _ORDERED_KEYS, _ORDERED_ITEMS = _VIEWS


def _of_views(*operations):
    return [(operation, view) for operation in operations for view in _VIEWS]


def _is_view(value, /):
    kind = type(value)  # whose own class is not asked whether it is another
    is_ordered = kind is _ORDERED_KEYS or kind is _ORDERED_ITEMS
    return kind is _KEYS or kind is _ITEMS or is_ordered


def _says_nothing(value, /):
    """Whether it is of a class that has nothing to say when it is compared with a set or method."""
    kind = type(value)
    if value is None or kind is list or kind is tuple or kind is dict or kind is str:
        return True
    return kind is int or kind is float or kind is bool or kind is _FUNCTION or kind is _BUILTIN


@stands_for(OPERATIONS, *_of_views(operator.eq))
def _same_elements(a, b, /):
    if not _says_nothing(b):
        refuse()
    return False


@stands_for(OPERATIONS, *_of_views(operator.ne))
def _other_elements(a, b, /):
    return not _same_elements(a, b)


@stands_for(OPERATIONS, *_of_views(operator.and_))
def _common(a, b, /):
    if type(b) is set and len(a) <= len(b):
        return {each for each in a if each in b}
    if _is_view(b) and len(a) < len(b):
        a, b = b, a
    return {each for each in b if each in a}


@stands_for(OPERATIONS, (operator.xor, _ITEMS), (operator.xor, _ORDERED_ITEMS))
def _in_one(a, b, /):
    if type(b) is not _ITEMS and type(b) is not _ORDERED_ITEMS:
        refuse()
    rest, made = dict(a), set()
    for key, value in b:
        if key in rest and [rest[key]] == [value]:
            del rest[key]
        else:
            made.add((key, value))
    made.update(rest.items())
    return made


@stands_for(METHODS, *[view.isdisjoint for view in _VIEWS])
def _isdisjoint(self, other, /):
    return all(each not in self for each in other)


@stands_for(METHODS, _ORDERED_DICT.__eq__)
def _same_in_order(self, other, /):
    if not isinstance(other, dict):
        return NotImplemented
    if type(self) is not _ORDERED_DICT or type(other) is not _ORDERED_DICT:
        if type(other) is not dict:
            refuse()  # what may have an order of its own
        return dict(self) == other
    return dict(self) == dict(other) and [*self] == [*other]


@stands_for(METHODS, _ORDERED_DICT.__ne__)
def _not_same_in_order(self, other, /):
    same = _same_in_order(self, other)
    return same if same is NotImplemented else not same


@stands_for(METHODS, _DEQUE.insert)
def _insert(self, index, item, /):
    if self.maxlen is not None and len(self) >= self.maxlen:
        refuse()  # an error
    items = [*self]
    items.insert(index, item)
    _CLEAR(self)
    _EXTEND(self, items)


@stands_for(METHODS, _DEQUE.copy, _DEQUE.__copy__)
def _copy(self, /):
    if type(self) is not _DEQUE:
        refuse()
    return type(self)(self, self.maxlen)


@stands_for(METHODS, _DEQUE.__add__)
def _concatenated(self, other, /):
    if not isinstance(other, _DEQUE):
        refuse()
    made = _copy(self)
    made.extend(other)
    return made


@stands_for(METHODS, _DEQUE.__imul__)
def _repeat_deque(self, times, /):
    items = [*self] * times
    _CLEAR(self)
    _EXTEND(self, items)
    return self


@stands_for(METHODS, _DEQUE.__mul__, _DEQUE.__rmul__)
def _repeated_deque(self, times, /):
    return _repeat_deque(_copy(self), times)


@stands_for(FUNCTIONS, torch.Tensor)
def _tensor(*given):
    return _tensor_of(given, torch.get_default_dtype())


@stands_for(FUNCTIONS, torch.FloatTensor)
def _float_tensor(*given):
    return _tensor_of(given, torch.float32)


@stands_for(FUNCTIONS, torch.LongTensor)
def _long_tensor(*given):
    return _tensor_of(given, torch.int64)


@stands_for(METHODS, torch.Tensor.new)
def _new(self, /, *given):
    return _tensor_of(given, self.dtype, self.device)


def _tensor_of(given, dtype, device="cpu"):
    content = len(given) == 1 and type(given[0]) in (list, tuple)
    if len(given) == 1 and type(given[0]) in (_SIZE, list, tuple):
        (given,) = given
    if not (content and dtype.is_floating_point):
        for each in given:
            if type(each) is not int:
                refuse()
    if content:
        return torch.tensor(given, dtype=dtype, device=device)
    return torch.empty(given or (0,), dtype=dtype, device=device)


@stands_for(METHODS, torch.Size.numel)
def _numel(self, /):
    return _prod(self)


@stands_for(FUNCTIONS, math.prod)
def _prod(iterable, /):
    product = 1
    for each in iterable:
        product = product * each
    return product


@stands_for(FUNCTIONS, functools.cached_property.__get__)
def _cached_property(self, instance, owner=None):
    # Older Pythons have a lock around it: what is interpreted is done at once.
    if instance is None or self.attrname is None or not hasattr(instance, "__dict__"):
        refuse()
    cache = instance.__dict__
    if self.attrname not in cache:
        cache[self.attrname] = self.func(instance)
    return cache[self.attrname]


@stands_for(OPERATIONS, (operator.eq, types.MethodType))
def _same_method(a, b, /):
    if _says_nothing(b):
        return False
    if type(b) is not _METHOD:
        refuse()
    return b.__func__ in (a.__func__,) and a.__self__ is b.__self__


@stands_for(OPERATIONS, (operator.ne, types.MethodType))
def _other_method(a, b, /):
    return not _same_method(a, b)


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
    if not isinstance(kind, type):
        refuse()
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


@stands_for(CALLABLES, operator.itemgetter)
def _itemgetter(item, /, *items):
    if not items:
        return lambda value: value[item]
    return lambda value: tuple([value[each] for each in (item, *items)])


@stands_for(CALLABLES, operator.attrgetter)
def _attrgetter(attr, /, *attrs):
    for each in (attr, *attrs):
        if type(each) is not str:
            refuse()

    def get(value, names):
        for name in names.split("."):
            value = getattr(value, name)
        return value

    if not attrs:
        return lambda value: get(value, attr)
    return lambda value: tuple([get(value, each) for each in (attr, *attrs)])


@stands_for(CALLABLES, operator.methodcaller)
def _methodcaller(name, /, *args, **kwargs):
    if type(name) is not str:
        refuse()
    return lambda value: getattr(value, name)(*args, **kwargs)


@stands_for(CALLABLES, vars(functools)["_lru_cache_wrapper"])
def _lru_cache(function, maxsize, typed, info, /):
    if typed or not callable(function) or (maxsize is not None and type(maxsize) is not int):
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

    save_for_forward = save_for_backward

    def mark_dirty(self, *tensors):
        self.dirty = tensors

    def set_materialize_grads(self, value):
        """Backward alone sees that."""

    def mark_non_differentiable(self, *tensors):
        """The node's own context is told."""


keep_out()
