"""What the program calls the inputs of a function that only hands them on.

`torch.compile(model)` of a library's module compiles a function `inner(*args, **kwargs)`, a
decorator's wrapper is such a function, and `torch.export` compiles one of a module of its own. What
the compiler calls `args[0]` is `x` in the model's `forward`, and a person asks by that name.
"""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache

from stepper.analysis.guarded_names import (
    CELL,
    CONTENT,
    DATA,
    KEYS,
    closed_over,
    kept_in,
    keys_by_place,
)
from stepper.analysis.left_on_stack import left_on_stack
from stepper.analysis.sites import in_compiler, in_torch
from stepper.analysis.sources import Path, path_of, spelled, unscoped
from stepper.model.trace import Frame, State, Translation
from stepper.recording.reader import Recording
from stepper.support.pythons_own import is_own_file_anywhere

_HANDED = frozenset({"args", "kwargs", "kwds", "flat_args"})
"""What such a function's own arguments are called."""
_SELF = "self"
_WHOLE = frozenset({"L['fn']", "L['fn'].__self__"})
"""The module whose `forward` torch's own function wraps."""
_MOST_FRAMES = 100
_OF_METHOD = ".__self__"
_STAND_IN = re.compile(r"___named(\d+)")
"""What stands for a name of the program while the rest of a source is written as a person would."""

Spelling = Callable[[str], str]
"""How a source is written."""


def names_inside(recording: Recording, item: Translation) -> dict[str, str]:
    """The arguments of the function that is handed the inputs, with the sources that they are;
    empty: the function that is compiled takes its inputs by names of its own."""
    for _, state in _handed_over(recording, item):
        own = recording.state(item.first_moment).top.locals
        values = {
            name: state.values.get(id)
            for name, id in state.top.locals.items()
            if name not in own  # the `self` of a wrapper is not that of what it wraps
        }
        found = {name: value.source for name, value in values.items() if value and value.source}
        whole = _whole(found.get(_SELF, ""))
        return {**found, _SELF: whole} if whole else found
    return _module_alone(recording, item)


def _module_alone(recording: Recording, item: Translation) -> dict[str, str]:
    """`self` of the `forward` that torch's own function calls, where it is handed nothing."""
    if not in_torch(item.filename):
        return {}
    for frame in recording.frames_inlined(item.id)[1:_MOST_FRAMES]:
        if recording.has(frame.first_moment):
            state = recording.state(frame.first_moment)
            value = state.values.get(state.top.locals.get(_SELF, 0))
            if value is not None and value.source in _WHOLE:
                return {_SELF: value.source}
    return {}


def _whole(source: str) -> str:
    """The module that was compiled, of the source of one of its layers; empty: it is none. Where
    torch's own container is compiled, `self` is the container, and not the first layer that has a
    `forward` outside of torch."""
    path = path_of(source) if source else None
    if path is None or path.globally or path.root in _HANDED or not path.steps:
        return ""
    return f"L['{path.root}']" + _OF_METHOD * (path.steps[0] == _OF_METHOD)


def name_inside(recording: Recording, item: Translation) -> str:
    """The name of the program's own function, where the one that is compiled is torch's."""
    if in_torch(item.filename):
        for frame, _ in _handed_over(recording, item):
            return recording.code(frame.code).label
    return ""


def _handed_over(recording: Recording, item: Translation) -> Iterator[tuple[Frame, State]]:
    """The first frame, outside of torch if there is one, with an element of what is handed on under
    a name of its own, and its state when it begins."""
    frames = recording.frames_inlined(item.id)
    if not frames or not recording.has(frames[0].first_moment):
        return
    hands_on = recording.derived(_HandsOn).known
    if (code := frames[0].code) not in hands_on:  # what it begins with are its arguments
        hands_on[code] = not _HANDED.isdisjoint(recording.begins_with(frames[0]))
    if not hands_on[code]:
        return
    in_torchs: tuple[Frame, State] | None = None
    for frame in frames[1:_MOST_FRAMES]:
        state = recording.state(frame.first_moment) if recording.has(frame.first_moment) else None
        if state is None or not _has_handed(state):
            continue
        filename = recording.code(frame.code).filename
        if is_own_file_anywhere(filename) or in_compiler(filename):
            continue  # typing.cast, say, which a wrapper calls, or what Dynamo has for it
        if not in_torch(filename):
            yield frame, state
            return
        in_torchs = in_torchs or (frame, state)
    if in_torchs is not None:
        yield in_torchs


class _HandsOn:
    """Whether functions have arguments that they hand on, by their codes, as far as somebody has
    asked."""

    def __init__(self, _: Recording) -> None:
        self.known: dict[int, bool] = {}


def _has_handed(state: State) -> bool:
    """Whether an element of what is handed on has a name of its own in the innermost frame."""
    for id in state.top.locals.values():
        value = state.values.get(id)
        path = path_of(value.source) if value is not None and value.source else None
        if path is not None and path.root in _HANDED and path.steps:
            return True
    return False


def inlined_as(recording: Recording, item: Translation, name: str) -> list[str]:
    """What a variable is where the outermost inlined functions begin that have it, as sources: a
    person asks about `self` of the `forward` that is called."""
    outermost = itertools.groupby(_inlined(recording, item, name), operator.itemgetter(0))
    _, found = next(outermost, (0, ()))
    return [*dict.fromkeys(source for _, source in found)]


def inlined_anywhere(recording: Recording, item: Translation, name: str) -> list[str]:
    """What a variable is where inlined functions begin, as sources, the outermost first."""
    return [*dict.fromkeys(source for _, source in _inlined(recording, item, name))]


def _inlined(recording: Recording, item: Translation, name: str) -> Iterator[tuple[int, str]]:
    """How deep inlined functions are that have a variable, the outermost first, and its source."""
    frames = recording.frames_inlined(item.id)[1:_MOST_FRAMES]
    for frame in sorted(frames, key=lambda frame: frame.depth):
        if recording.has(frame.first_moment):
            state = recording.state(frame.first_moment)
            value = state.values.get(state.top.locals.get(name, 0))
            if value is not None and value.source:
                is_cell = CELL.fullmatch(value.source) is not None
                yield frame.depth, value.source + CONTENT * is_cell


def as_compiled(recording: Recording, item: Translation, path: Path) -> Path:
    """A path by the compiler's name, where the program's own function calls it otherwise."""
    source = names_inside(recording, item).get(path.root)
    outer = None if source is None else path_of(source)
    if outer is None or path.globally:
        return path
    return Path(outer.root, (*outer.steps, *path.steps), outer.globally)


def spelling(recording: Recording, item: Translation) -> Spelling:
    """How its user would write a source, by the names that the program's own function has."""
    names = {
        written: name
        for name, source in names_inside(recording, item).items()
        for written in (source, unscoped(source))
    }
    if item.resume_of:
        for name, written in left_on_stack(recording, item).items():
            root, dot, rest = name.partition(".")
            names |= {name: written, f"L['{root}']{dot}{rest}": written}

    by_names = _by_names(names)

    @cache
    def keys() -> Mapping[str, str]:
        return keys_by_place(recording, item)

    @cache
    def by_all_names() -> Spelling:
        by_closures = {**names, **closed_over(recording, item)}
        whole = _by_names(by_closures)
        kept = {inner: whole(of) for inner, of in kept_in(recording, item).items()}
        return _by_names({**by_closures, **kept, **keys()})

    def spell(source: str) -> str:
        known = any(part in source for part in (CONTENT, DATA, KEYS))
        return (by_all_names() if known and source not in keys() else by_names)(source)

    return spell


def _by_names(names: Mapping[str, str]) -> Spelling:
    """How a source is written where these parts of it have names."""
    if not names:
        return spelled
    longest = sorted(map(re.escape, names), key=len, reverse=True)
    anywhere = re.compile(rf"(?<![\w.'])(?:{'|'.join(longest)})(?!\w)")

    def spell(source: str) -> str:
        found: list[str] = []

        def stand_in(match: re.Match[str]) -> str:
            found.append(names[match[0]])
            return f"___named{len(found) - 1}"

        text = spelled(anywhere.sub(stand_in, source))
        return _STAND_IN.sub(lambda match: found[int(match[1])], text)

    return spell


def spelled_inside(recording: Recording, item: Translation, source: str) -> str:
    """A source as its user would write it, by the name that the program's own function has."""
    return spelling(recording, item)(source)
