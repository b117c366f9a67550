"""What the program calls the inputs of a function of torch's that only hands them on.

`torch.compile(model)` of a library's module compiles a function `inner(*args, **kwargs)`, and
`torch.export` one of a module of its own: what the compiler calls `args[0]` is `x` in the model's
`forward`. A person asks by that name.
"""

from __future__ import annotations

from stepper.analysis.sites import in_torch
from stepper.analysis.sources import Path, path_of, spelled
from stepper.model.trace import Frame, Translation
from stepper.recording.reader import Recording


def names_inside(recording: Recording, item: Translation) -> dict[str, str]:
    """The arguments of the program's own function that one of torch's leads to first, with the
    sources that they are; of a function of the program's own: none."""
    frame = _inside(recording, item)
    if frame is None or not recording.has(frame.first_moment):
        return {}
    state = recording.state(frame.first_moment)
    values = {name: state.values.get(id) for name, id in state.top.locals.items()}
    return {name: value.source for name, value in values.items() if value and value.source}


def name_inside(recording: Recording, item: Translation) -> str:
    """That function's name; empty: the one that is compiled is the program's own."""
    frame = _inside(recording, item)
    return "" if frame is None else recording.code(frame.code).label


def _inside(recording: Recording, item: Translation) -> Frame | None:
    attempts = recording.attempts(item.id) if in_torch(item.filename) else []
    frames = recording.frames(attempts[-1].id) if attempts else []
    own = (each for each in frames if not in_torch(recording.code(each.code).filename))
    return next(own, None)


def as_compiled(recording: Recording, item: Translation, path: Path) -> Path:
    """The same by the compiler's name, where the program's own function calls it otherwise."""
    source = names_inside(recording, item).get(path.root)
    outer = None if source is None else path_of(source)
    if outer is None or path.globally:
        return path
    return Path(outer.root, (*outer.steps, *path.steps), outer.globally)


def spelled_inside(recording: Recording, item: Translation, source: str) -> str:
    """A source as its user would write it, by the name that the program's own function has."""
    for name, inside in names_inside(recording, item).items():
        if source.startswith(inside) and source[len(inside) :][:1] in ("", ".", "["):
            return f"{name}{source.removeprefix(inside)}"
    return spelled(source)
