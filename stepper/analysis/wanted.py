"""What a compilation wants of the values that it was made for, as far as its findings say.

A guard that compares with a constant says it in its code, `L['times'] == 1`. What TENSOR_MATCH
compares stands in no code that Dynamo gives away, but the graph's input of the same source shows
it: a size that is a number is guarded, one that is a symbol is free.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from stepper.analysis.conditions import SHAPE_ENV
from stepper.analysis.handed_on import as_compiled
from stepper.analysis.origins import origin_of
from stepper.analysis.reasons import parse_check
from stepper.analysis.shapes import same, symbols_at
from stepper.analysis.sources import Path, path_of, unscoped
from stepper.model.datum import UNKNOWN, Datum, Words, literal, number, size
from stepper.model.lookup import Aspect, Difference
from stepper.model.trace import Node, Outcome, Translation
from stepper.recording.reader import Recording

_RANK = Aspect("rank")
_TENSOR = Words("Tensor")
_TORCH_TENSOR = Words("torch.Tensor")
_NONE = Words("NoneType")
_NUMBERS = (bool, int, float, complex)
_TYPES_OF_NUMBERS = tuple(Words(each.__name__) for each in _NUMBERS)
_PLAIN = frozenset(each.__name__ for each in (*_NUMBERS, str))
_CONTAINERS = frozenset(each.__name__ for each in (dict, list, tuple))
_MEMBERS = ("_parameters", "_buffers", "_modules")
"""Where a module keeps what is no plain attribute."""
_FROM_END = re.compile(r"(size|stride)\((-\d+)\)")

Wanted = dict[tuple[str, Aspect], Datum]
"""By source, without `L[…]` around locals, and by what of it: what it must be."""


class Wants(NamedTuple):
    """What a compilation wants."""

    all: Wanted
    had: Wanted
    """What the call had that it was made for, where it wants a symbol."""

    @property
    def call(self) -> Wanted:
        """What the call had, as far as it is known."""
        return self.all | self.had


def wanted_by(recording: Recording, translation: Translation) -> Wanted:
    """What the entry that a translation made wants; empty when it made none."""
    return wants_by(recording, translation).all


def wants_by(recording: Recording, translation: Translation) -> Wants:
    """What the entry that a translation made wants, and what the call had for which it was made,
    where the entry has a symbol of which the compiler says the number; empty when it made none."""
    attempts = recording.attempts(translation.id)
    if not attempts:
        return Wants({}, {})
    found: Wanted = {}
    for guard in recording.guards(None, attempt=attempts[-1].id):
        for part in guard.code:
            said = _said(part)
            # A condition that makes it equal to another size compares it with no constant.
            if said is not None and not (guard.kind == SHAPE_ENV and isinstance(said[1], Words)):
                found[said[0]] = said[1]
    if translation.outcome is not Outcome.COMPILED:
        found |= _as_it_was(recording, attempts[-1].id)
    # What an input's example shows is how it was when the input was made. One that the graph does
    # not need in the end is erased there, and its guards stay.
    symbols = symbols_at(recording, attempts[-1].id)
    fixed = {name: symbol.value for name, symbol in symbols.items() if symbol.fixed}
    numbers = {name: number(symbol.born.hint) for name, symbol in symbols.items()}
    had: Wanted = {
        (unscoped(source), Aspect("value")): numbers[name]
        for name, symbol in symbols.items()
        for source in symbol.sources
    }
    for node in recording.inputs(attempts[-1].id, erased=True):
        source = unscoped(node.source)
        # A float that is an input is a tensor in the graph, and nowhere else.
        if found.get((source, Aspect("type"))) not in _TYPES_OF_NUMBERS:
            found.update(_of_tensor(source, node, fixed))
        for at, each in enumerate((node.meta.shape if node.meta else None) or ()):
            had[source, Aspect("size", at)] = numbers.get(each, UNKNOWN)
    return Wants(found, {key: value for key, value in had.items() if value != UNKNOWN})


def _as_it_was(recording: Recording, attempt: int) -> Wanted:
    """What values were for which guards were to be made, where no entry came of it: a guard gets
    its code when the entry is made."""
    found: Wanted = {}
    for guard in recording.guards(None, attempt=attempt):
        value = origin_of(recording, guard).value if guard.source and not guard.code else None
        if value is None:
            continue
        source = unscoped(guard.source)
        if value.type == _NONE.text:
            found[source, Aspect("value")] = None
        elif value.type in _PLAIN and value.text != f"{value.type} (not realized)":
            found[source, Aspect("value")] = literal(value.text)
        elif value.type in _CONTAINERS:
            found[source, Aspect("type")] = Words(value.type)
        elif value.type == _TENSOR.text:
            found[source, Aspect("type")] = _TORCH_TENSOR
    return found


@lru_cache(maxsize=16_384)
def _said(code: str) -> tuple[tuple[str, Aspect], Datum] | None:
    """What a guard's code compares with a constant, and with which; entries of one function mostly
    say the same."""
    check = parse_check(unscoped(code))
    return (
        None if check is None or check[2] == UNKNOWN else ((check[0], Aspect(check[1])), check[2])
    )


def _of_tensor(source: str, node: Node, fixed: dict[str, str]) -> Wanted:
    meta = node.meta
    if meta is None:
        return {}
    found: Wanted = {
        (source, Aspect("dtype")): Words(meta.dtype),
        (source, Aspect("device")): Words(meta.device),
        (source, Aspect("requires_grad")): meta.requires_grad,
    }
    for name, sizes in (("size", meta.shape), ("stride", meta.stride)):
        if sizes is None:
            continue
        if name == "size":
            found[source, _RANK] = len(sizes)
        for at, each in enumerate(sizes):
            found[source, Aspect(name, at)] = size(fixed.get(each, each))
    return found


def resolved(recording: Recording, translation: Translation, path: Path) -> Path:
    """A path by the compiler's name, with the number of a dimension where that is counted from
    the end, and with the first size for a tensor's length; what is no tensor's is left as it is."""
    path = as_compiled(recording, translation, path)
    last = path.steps[-1] if path.steps else ""
    counted = _FROM_END.fullmatch(last)
    if counted is None and last != "len()":
        return path
    what, at = (counted[1], int(counted[2])) if counted else ("size", 0)
    for (source, aspect), rank in wanted_by(recording, translation).items():
        if aspect == _RANK and isinstance(rank, int) and -rank <= at < rank:
            tensor = path_of(source)
            if tensor is not None and same(tensor, path.before):
                step = f"{what}({at % rank})"
                return Path(path.root, (*path.steps[:-1], step), path.globally)
    return path


def symbolic(size: Datum) -> bool:
    """Whether a size is a symbol, or made of symbols, and so is not guarded as a number."""
    return type(size) is not int


def moved(earlier: Wanted, later: Wanted, source: str) -> Difference | None:
    """What was None as an attribute of a module, and is a parameter, a buffer or a submodule for
    the later one: those are kept elsewhere, so that no attribute is there; None: it was not."""
    base, dot, name = source.rpartition(".")
    if not dot or earlier.get((source, Aspect("value")), UNKNOWN) is not None:
        return None
    kinds = (_kind_of(later, f"{base}.{each}['{name}']") for each in _MEMBERS)
    kind = next((each for each in kinds if each not in (None, _NONE)), None)
    return None if kind is None else Difference("value", None, _one(kind))


def wants_of(wanted: Wanted, source: str, aspect: Aspect) -> Datum:
    """What is wanted of a source: of its type also what its other guards show."""
    found = wanted.get((source, aspect), UNKNOWN)
    if found == UNKNOWN and aspect == Aspect("type"):
        return _kind_of(wanted, source) or UNKNOWN
    return found


def had_instead(wanted: Wanted, source: str, difference: Difference) -> Datum:
    """What a call had for which a compilation was made, in place of what was expected: of a value
    of another type at least that."""
    found = wants_of(wanted, source, difference.aspect)
    kind = _kind_of(wanted, source)
    if found != UNKNOWN or difference.what != "value" or kind is None:
        return found
    expected = difference.expected
    plain = expected is None or type(expected) in (*_NUMBERS, str)
    return _one(kind) if plain and kind != Words(type(expected).__name__) else UNKNOWN


def _one(kind: Words) -> Words:
    """A value of a type, of which nothing else is known."""
    return Words(f"<{kind.text}>")


def _kind_of(wanted: Wanted, source: str) -> Words | None:
    """The type that a value must have; None: it is not known."""
    value = wanted.get((source, Aspect("value")), UNKNOWN)
    if value is None:
        return _NONE
    if type(value) in _NUMBERS:
        return Words(type(value).__name__)
    known = wanted.get((source, Aspect("type")))
    if isinstance(known, Words) and known != _TORCH_TENSOR:
        return known
    return _TENSOR if known is not None or (source, Aspect("dtype")) in wanted else None
