"""Is this guarded? Any expression over the inputs, a module or globals, asked of every entry.

Three things can be said of an expression in an entry. A guard looks at its value, or at something
that decides it (a tensor's size is looked at by the guard on the tensor). Or guards look at what
leads to it, or at parts of it, only: then its own value can change unnoticed. Or it is an input of
the graph, so that its value is free. What no guard comes near was not used in what was compiled, or
cannot change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from stepper.analysis.guard_kinds import why_unchecked
from stepper.analysis.guard_uses import entries, guards_of
from stepper.analysis.shapes import Size, same, size_of
from stepper.analysis.sources import Path, path_of, unscoped
from stepper.analysis.walks import expressions_in
from stepper.analysis.wanted import Wanted, symbolic, wanted_by
from stepper.model.datum import Datum
from stepper.model.lookup import Aspect
from stepper.model.trace import Guard, Translation
from stepper.recording.reader import Recording

_SIZE = re.compile(r"size\((\d+)\)")
_BY_NAME = ("LOAD_FAST", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME", "LOAD_CLOSURE", "STORE_")
_SHAPE = Aspect("size")
"""All sizes."""
_OF_TENSORS = {
    ".dtype": "dtype",
    ".device": "device",
    ".requires_grad": "requires_grad",
    ".ndim": "rank",
    ".dim()": "rank",
}
"""Properties of tensors that TENSOR_MATCH compares, and how they are called in what is wanted."""


class Guarded(msgspec.Struct, frozen=True):
    """What an entry's guards know of an expression."""

    translation: Translation
    """That made the entry."""
    by: tuple[Guard, ...] = ()
    """Guards that look at its value."""
    through: tuple[Guard, ...] = ()
    """Guards that look at a tensor of which it is a property."""
    entry_wants: Wanted = {}
    """What the entry wants of all its values."""
    wants: tuple[Datum, ...] = ()
    """With `through`: what the property must be, of a shape each of its sizes; a symbol is free
    within the guards on shapes."""
    whole: bool = False
    """It is a shape, not one of its sizes."""
    parts: tuple[Guard, ...] = ()
    """Guards on parts of it only."""
    around: tuple[Guard, ...] = ()
    """Guards on what leads to it only."""
    inputs: tuple[str, ...] = ()
    """The graph's inputs that are its value, by name."""
    unchecked: tuple[Guard, ...] = ()
    """Guards on its value that make no check."""
    taken_back: tuple[Guard, ...] = ()
    """Guards on its value that the compiler had made, and that the entry does not check."""

    free: bool = False
    """It is a size, or sizes, of which one is a symbol at least."""

    size: Size | None = None
    """It is a size or a number that was a symbol, or was to be one."""

    @property
    def known(self) -> bool:
        """Whether the entry comes near it at all."""
        near = (
            self.by
            or self.through
            or self.parts
            or self.around
            or self.unchecked
            or self.taken_back
        )
        return bool(near or self.inputs)


def asked(recording: Recording, expression: str) -> list[Guarded] | None:
    """What each entry's guards know of an expression; None: it is none that could be guarded.

    A person's spelling will do: `self.fc.weight`, `x.shape[0]`, `config['depth']`.
    """
    path = path_of(expression)
    if path is None:
        return None
    return [_in_entry(recording, item, path) for item in entries(recording)]


def _in_entry(recording: Recording, item: Translation, path: Path) -> Guarded:
    by: list[Guard] = []
    through: list[Guard] = []
    parts: list[Guard] = []
    around: list[Guard] = []
    unchecked: list[Guard] = []
    tensor, what = _property(path)
    for guard in guards_of(recording, item):
        about = [found for each in _sources(guard) if (found := path_of(each)) is not None]
        if why_unchecked(guard):
            if any(path.leads_to(each) for each in about):
                unchecked.append(guard)
        elif any(same(path, each) for each in about):
            by.append(guard)
        elif tensor is not None and guard.kind == "TENSOR_MATCH" and _any_same(tensor, about):
            through.append(guard)
        elif any(path.leads_to(each) for each in about):
            parts.append(guard)
        elif any(each.leads_to(path) for each in about):
            around.append(guard)
    every = wanted_by(recording, item)
    wants = _wanted(every, tensor, what) if through else ()
    free = what is not None and what.what == "size" and any(map(symbolic, wants))
    return Guarded(
        translation=item,
        by=tuple(by),
        through=tuple(through),
        entry_wants=every,
        wants=wants,
        whole=what == _SHAPE,
        parts=tuple(parts),
        around=tuple(around),
        inputs=tuple(_inputs(recording, item, path)),
        unchecked=tuple(unchecked),
        taken_back=() if by or through else tuple(_taken_back(recording, item, path)),
        free=free,
        size=size_of(recording, item, path),
    )


def _taken_back(recording: Recording, item: Translation, path: Path) -> Iterator[Guard]:
    attempts = recording.attempts(item.id)
    for guard in recording.guards_installed(attempts[-1].id) if attempts else []:
        if guard.withdrawn is not None:
            about = path_of(guard.source)
            if about is not None and same(path, about):
                yield guard


def arguments_of(recording: Recording, item: Translation) -> frozenset[str]:
    """The names that a function begins with."""
    return frozenset(recording.state(item.first_moment).frames[0].locals)


def names_of(recording: Recording, item: Translation) -> frozenset[str]:
    """What an entry's function calls things by: its arguments, the names that its code uses, and
    the roots of all that its guards look at."""
    roots = [
        path.root
        for guard in guards_of(recording, item)
        for source in _sources(guard)
        if (path := path_of(source)) is not None
    ]
    code = recording.code(item.code)
    used = [row.argrepr for row in code.instructions if row.opname.startswith(_BY_NAME)]
    # What CPython puts on the stack besides stands before or behind the name.
    words = [word for each in used for word in each.replace(",", " ").split()]
    return frozenset((*roots, *words)) | arguments_of(recording, item)


def _sources(guard: Guard) -> list[str]:
    """What a guard looks at: its source, and for conditions on several values each of them."""
    if guard.source:
        return [guard.source]
    return [each for part in guard.code for each in expressions_in(part)]


def _any_same(path: Path, others: list[Path]) -> bool:
    return any(same(path, each) for each in others)


def _property(path: Path) -> tuple[Path | None, Aspect | None]:
    """The tensor of which an expression is a property that its guard compares, and which one."""
    if not path.steps:
        return None, None
    tensor = Path(path.root, path.steps[:-1], path.globally)
    last = path.steps[-1]
    size = _SIZE.fullmatch(last)
    if size is not None:
        return tensor, Aspect("size", int(size[1]))
    if last in (".shape", ".size()"):
        return tensor, _SHAPE
    known = _OF_TENSORS.get(last)
    return (None, None) if known is None else (tensor, Aspect(known))


def _wanted(wants: Wanted, tensor: Path | None, what: Aspect | None) -> tuple[Datum, ...]:
    if tensor is None or what is None:
        return ()
    found = {
        aspect: value
        for (source, aspect), value in wants.items()
        if (other := path_of(source)) is not None and same(tensor, other)
    }
    if what == _SHAPE:
        return tuple(value for aspect, value in found.items() if aspect.what == "size")
    return (found[what],) if what in found else ()


def _inputs(recording: Recording, item: Translation, path: Path) -> list[str]:
    attempts = recording.attempts(item.id)
    nodes = recording.nodes(None, attempt=attempts[-1].id) if attempts else []
    return [
        node.name
        for node in nodes
        if node.op == "placeholder"
        and node.source
        and not node.graph
        and (other := path_of(unscoped(node.source))) is not None
        and same(path, other)
    ]
