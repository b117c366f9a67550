"""Iterators: each is a generator that gives the same values."""

from __future__ import annotations

import itertools
import sys

from stepper.native.polyfills.table import FUNCTIONS, ITERATORS, goes_on, refuse, stands_for
from stepper.uncompiled import keep_out

_LARGEST = sys.maxsize


@stands_for(ITERATORS, filter)
def _filter(function, iterable, /):
    return _keeping(function, iter(iterable))


@goes_on(filter, "function", "iterator")
def _keeping(function, iterator):
    for each in iterator:
        if each if function is None else function(each):
            yield each


def length_asked(iterable):
    """What a list asks of an object of which it is made, and whose length it does not need."""
    try:
        len(iterable)
    except TypeError:
        refuse()


def hint_asked(iterable):
    """What a list asks of an iterable object that has no length."""
    try:
        hint = type(iterable).__length_hint__(iterable)
    except TypeError:
        refuse()
    if hint is not NotImplemented and (type(hint) is not int or not 0 <= hint <= _LARGEST):
        refuse()


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


@goes_on(reversed_from, "sequence", "index")
def _going_back(sequence, index):
    while 0 <= index < len(sequence):
        index -= 1
        yield sequence[index + 1]


def reversed_sequence(sequence):
    """`reversed` of an object with `__len__` and `__getitem__`."""
    return _counting_down(sequence, len(sequence) - 1)


def _counting_down(sequence, index):
    while index >= 0:
        try:
            value = sequence[index]
        except (IndexError, StopIteration):
            return
        yield value
        index -= 1


@goes_on(iter, "function", "sentinel")
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
        except (IndexError, StopIteration):
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


@stands_for(ITERATORS, itertools.chain)
def _chain(*iterables):
    return _linking(None, iter(iterables))


@stands_for(ITERATORS, itertools.chain.from_iterable)
def _from_iterable(iterables, /):
    return _linking(None, iter(iterables))


def linked(begun, iterables):
    """`itertools.chain.from_iterable`, which goes on in one that it has begun."""
    if begun is not None:
        iterables = itertools.chain((begun,), iterables)
    return itertools.chain.from_iterable(iterables)


@goes_on(linked, "begun", "iterables")
def _linking(begun, iterables):
    for iterable in iterables:
        begun = iter(iterable)
        yield from begun


@stands_for(ITERATORS, itertools.count)
def _count(start=0, step=1):
    for each in (start, step):
        if type(each) is not int and type(each) is not float:
            refuse()
    return _counting(start, step)


@goes_on(itertools.count, "value", "step")
def _counting(value, step):
    while True:
        given, value = value, value + step
        yield given


@stands_for(ITERATORS, itertools.cycle)
def _cycle(iterable, /):
    return _cycling(iter(iterable))


@goes_on(itertools.cycle, "iterator", begun=False)
def _cycling(iterator):
    saved = []
    for each in iterator:
        yield each
        saved.append(each)
    while saved:
        yield from saved


@stands_for(ITERATORS, itertools.repeat)
def _repeat(object, *times, **named):
    if not times and not named:
        return _repeating(object, None)
    times = (*times, *named.values())
    if len(times) > 1 or type(times[0]) is not int or (named and "times" not in named):
        refuse()
    return _repeating(object, times[0])


def repeated(value, times):
    """`itertools.repeat`; None: without end."""
    return itertools.repeat(value) if times is None else itertools.repeat(value, times)


@goes_on(repeated, "value", "times")
def _repeating(value, times):
    while times is None or times > 0:
        if times is not None:
            times -= 1
        yield value


@stands_for(ITERATORS, itertools.islice)
def _islice(iterable, first, *others):
    start, stop, step = 0, first, 1
    if others:
        start, stop = 0 if first is None else first, others[0]
        if len(others) == 2:
            step = 1 if others[1] is None else others[1]
        elif len(others) > 2:
            refuse()
    for each in (start, step, 0 if stop is None else stop):
        if type(each) is not int or not 0 <= each <= _LARGEST:
            refuse()
    if step < 1:
        refuse()
    return _slicing(iter(iterable), start, stop, step)


@goes_on(itertools.islice, "iterator", "start", "stop", "step")
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


@stands_for(FUNCTIONS, itertools.tee)
def _tee(iterable, n=2, /):
    if n < 0:
        refuse()
    if n == 0:
        return ()
    iterator = _BEGIN(iterable)
    if hasattr(iterator, "__copy__"):
        refuse()
    link = [None, None]
    return tuple([_TEE(iterator, link) for _ in range(n)])


class _Noting:
    asked = 0

    def __iter__(self):
        self.asked += 1
        return self

    __next__ = None


_noting = _Noting()
_TEE: type = type(itertools.tee(_noting)[0])


def _asked_again(iterable):
    return iter(iter(iterable))


_BEGIN = iter if _noting.asked == 1 else _asked_again
"""How `tee` asks for an iterator: not each Python does it once."""


@stands_for(ITERATORS, _TEE)
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


@stands_for(ITERATORS, itertools.accumulate)
def _accumulate(iterable, func=None, *, initial=None):
    return _accumulating(iter(iterable), func, initial, False)


def accumulated(iterator, function, total, begun):
    """`itertools.accumulate`, which has given the total already, or begins with it."""
    if not begun:
        return itertools.accumulate(iterator, function, initial=total)
    made = itertools.accumulate(itertools.chain((total,), iterator), function)
    next(made)
    return made


@goes_on(accumulated, "iterator", "function", "total", "begun")
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


@stands_for(ITERATORS, itertools.pairwise)
def _pairwise(iterable, /):
    return _pairing(iter(iterable))


@goes_on(itertools.pairwise, "iterator", begun=False)
def _pairing(iterator):
    for before in iterator:
        break
    else:
        return
    for each in iterator:
        yield before, each
        before = each


@stands_for(ITERATORS, itertools.takewhile)
def _takewhile(predicate, iterable, /):
    return _taking(predicate, iter(iterable))


@goes_on(itertools.takewhile, "predicate", "iterator")
def _taking(predicate, iterator):
    for each in iterator:
        if not predicate(each):
            return
        yield each


@stands_for(ITERATORS, itertools.dropwhile)
def _dropwhile(predicate, iterable, /):
    return _dropping(predicate, iter(iterable))


@goes_on(itertools.dropwhile, "predicate", "iterator", begun=False)
def _dropping(predicate, iterator):
    for each in iterator:
        if not predicate(each):
            yield each
            break
    yield from iterator


@stands_for(ITERATORS, itertools.filterfalse)
def _filterfalse(function, iterable, /):
    return _leaving(function, iter(iterable))


@goes_on(itertools.filterfalse, "function", "iterator")
def _leaving(function, iterator):
    for each in iterator:
        if not (each if function is None else function(each)):
            yield each


@stands_for(ITERATORS, itertools.compress)
def _compress(data, selectors):
    return _selecting(iter(data), iter(selectors))


@goes_on(itertools.compress, "data", "selectors")
def _selecting(data, selectors):
    for each, selected in zip(data, selectors):  # noqa: B905  # as it does
        if selected:
            yield each


@stands_for(ITERATORS, itertools.starmap)
def _starmap(function, iterable, /):
    return _calling(function, iter(iterable))


@goes_on(itertools.starmap, "function", "iterator")
def _calling(function, iterator):
    for arguments in iterator:
        yield function(*arguments)


@stands_for(ITERATORS, itertools.zip_longest)
def _zip_longest(*iterables, fillvalue=None):
    return _zipping([iter(each) for each in iterables], fillvalue)


def zipped_longest(iterators, fill):
    """`itertools.zip_longest`."""
    return itertools.zip_longest(*iterators, fillvalue=fill)


@goes_on(zipped_longest, "iterators", "fill", begun=False)
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


@stands_for(ITERATORS, itertools.groupby)
def _groupby(iterable, key=None):
    return _grouping(iter(iterable), key)


def _grouping(iterator, key):
    last = [None, None, False, 0]  # key and value taken last, whether it waits, number of the group
    going = _takes(iterator, key, last)
    while going:
        mark = last[0]
        yield mark, _group(iterator, key, mark, last, last[3])
        last[3] += 1  # what nobody has taken of it is left out
        while going and last[0] in (mark,):  # the same, or equal
            going = _takes(iterator, key, last)


def _group(iterator, key, mark, last, number):
    while last[3] == number:
        if not last[2] and not _takes(iterator, key, last):
            return
        if last[0] not in (mark,):  # neither the same nor equal
            return
        last[2] = False
        yield last[1]


def _takes(iterator, key, last):
    for value in iterator:
        last[0] = value if key is None else key(value)
        last[1], last[2] = value, True
        return True
    return False


def given_by(values):
    """An iterator over what is known."""
    yield from values


keep_out()
