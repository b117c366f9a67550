"""What carries a mark that makes a size a symbol (mark_dynamic, mark_unbacked).

Mostly that is the tensor whose size changes. A part of a tensor subclass has sizes and guards of
its own, and a mark on it is refused: there it is the whole. And where several sizes are one symbol,
a mark on one of them leaves the others numbers.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepper.analysis.advice import Changing, measured
from stepper.analysis.break_places import resumptions
from stepper.analysis.conditions import holds
from stepper.analysis.guard_uses import guards_of
from stepper.analysis.reasons import METADATA
from stepper.analysis.shapes import Size, same, size_of, sizes
from stepper.analysis.sources import path_of, unscoped
from stepper.model.datum import number


def to_mark(it: Changing) -> tuple[str, int]:
    """What carries the mark for a size, and which of its sizes that is: of a part of a tensor
    subclass the whole, where its size is the same symbol, since a mark on the part alone is
    refused. An empty name: nothing can carry it."""
    whole = whole_of(it, it.series.source)
    if not whole:
        return it.name, it.dim or 0
    for part in reversed(it.sizes):
        for size in sizes(it.recording, part.translation):
            tensor, aspect = measured(unscoped(size.source))
            if (tensor, aspect.what) == (whole, "size") and _one_symbol(size, part):
                return it.spell(whole), aspect.at or 0
    return "", 0


def _one_symbol(one: Size, other: Size) -> bool:
    """Whether two sizes are one symbol in an entry, be it that one has replaced the other."""
    if one.symbol is None or other.symbol is None:
        return False
    became = (one.symbol.value or one.symbol.name, other.symbol.value or other.symbol.name)
    return became[0] == became[1]


def whole_of(it: Changing, source: str) -> str:
    """The tensor subclass that a tensor is a part of; empty: it is none's, as far as the guards of
    the entries say."""
    path = path_of(source)
    for item in it.entries.made:
        for guard in guards_of(it.recording, item):
            whole = path_of(unscoped(guard.source)) if guard.kind == METADATA else None
            if whole is None or path is None or same(whole, path):
                continue
            if whole.leads_to(path):
                return unscoped(guard.source)
    return ""


def others_to_mark(it: Changing) -> str:
    """`it.and_others`, without a tensor subclass and its parts: what is marked stands for them."""
    whole = whole_of(it, it.series.source) or it.series.source
    apart = [each for each in it.series.likewise if whole not in (each, whole_of(it, each))]
    if len(apart) == len(it.series.likewise):
        return it.and_others
    return f", and likewise of {' and '.join(map(it.spell, apart))}" if apart else ""


def refuses_mark(it: Changing) -> str:
    """The compile id of an entry that needs the value of a size, so that mark_dynamic is refused
    there, though others have a symbol: one that is there for this value alone, or the rest of the
    function behind a graph break, which is given the tensor with its mark. Empty: none does."""
    of_its_own = (size for size in it.sizes if is_left_out(it, it.as_symbol[1], size))
    for size in (*of_its_own, *_behind_breaks(it)):
        if size.symbol is not None and size.value:
            return size.translation.compile_id
    return ""


def _behind_breaks(it: Changing) -> Iterator[Size]:
    """What is known of the size in the rest of the function, where that has the tensor."""
    path = path_of(f"{it.series.source}.size()[{it.dim}]")
    if path is None or it.what != "size":
        return
    for item in resumptions(it.recording, it.newest):
        if (size := size_of(it.recording, item, path)) is not None:
            yield size


def is_left_out(it: Changing, entry: str, size: Size) -> bool:
    """Whether an entry that has a symbol has a condition which this value does not meet: it is that
    value which has to be asked for, and not the size."""
    value = number(size.value)
    if not isinstance(value, int):
        return False
    free = (each.symbol for each in it.sizes if each.translation.compile_id == entry)
    return any(
        holds(step.expression, {symbol.name: value}) is False
        for symbol in free
        if symbol is not None
        for step in symbol.conditions
    )


def one_symbol_with(it: Changing, known: list[Size], number: Size) -> str:
    """`, and likewise of k.shape[2]`: what is one symbol with a size where it is one, and a number
    with it where that is 0 or 1. Where only one of them is marked, the other is a number still."""
    numbers = {
        unscoped(size.source)
        for size in sizes(it.recording, number.translation)
        if size.zero_one and size.value == number.value
    }
    together = dict.fromkeys(
        unscoped(source)
        for size in known
        for source in (size.symbol.sources if size.symbol is not None else ())
    )
    own = unscoped(number.source)
    others = [it.spell(each) for each in together if each in numbers and each != own]
    return f", and likewise of {' and '.join(others)}" if others else ""
