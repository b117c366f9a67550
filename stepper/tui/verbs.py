"""What the palette offers of this recording and this moment: `next graph-break`, `origin of x`,
`frame Net.forward`, `break on guard TENSOR_MATCH`, each found by some of its letters.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from textual.app import SystemCommand
from textual.message import Message

from stepper.client.frame_names import brief_compiled_name, compiled_name
from stepper.model.breakpoint import Breakpoint, BreakpointKind
from stepper.model.printing import printable
from stepper.model.trace import EventKind, Translation
from stepper.recording.reader import Recording
from stepper.tui.pane import Pane
from stepper.tui.presets import PRESETS
from stepper.tui.snapshot import Snapshot

if TYPE_CHECKING:
    from stepper.tui.app import StepperApp

_T = TypeVar("_T")
_MOST = 400
"""How many are offered of a sort that there can be thousands of."""


def verbs(app: StepperApp) -> Iterator[SystemCommand]:
    """All of them; they are offered to who types, and not listed before."""
    for preset in PRESETS:
        run = partial(app.action_preset, preset.name)
        yield _verb(f"layout {preset.name}", preset.help, run)
    for kind, _ in app.cursor.event_counts():
        yield from _of_kind(app, kind)
    if app.snapshot is not None:
        yield from _origins(app, app.snapshot)
        for guard in _each(guard.kind for guard in app.snapshot.guards):
            breakpoint = Breakpoint(BreakpointKind.GUARD, pattern=guard)
            yield _break(app, f"break on guard {guard}", breakpoint)
        for target in _each(node.target for node in reversed(app.snapshot.nodes)):
            breakpoint = Breakpoint(BreakpointKind.NODE, pattern=target)
            yield _break(app, f"break on node {target}", breakpoint)
    if app.session.recording is not None:
        yield from _places(app, app.session.recording)


def _verb(title: str, text: str, run: Callable[[], None]) -> SystemCommand:
    return SystemCommand(printable(title), text, run, False)


def _break(app: StepperApp, title: str, breakpoint: Breakpoint) -> SystemCommand:
    run = partial(_post, app, Pane.ToggleBreakpoint(breakpoint))
    return _verb(title, "Set or remove the breakpoint.", run)


def _each(names: Iterable[_T]) -> Iterator[_T]:
    """The names that are there, each once."""
    return islice(dict.fromkeys(name for name in names if name), _MOST)


def _of_kind(app: StepperApp, kind: EventKind) -> Iterator[SystemCommand]:
    yield _verb(
        f"next {kind}", "Go to the next event of this kind.", partial(app.to_event, kind, 1)
    )
    text = "Go to the previous event of this kind."
    yield _verb(f"previous {kind}", text, partial(app.to_event, kind, -1))
    if kind in set(map(str, BreakpointKind)):
        yield _break(app, f"break on {kind}", Breakpoint(BreakpointKind(str(kind))))


def _origins(app: StepperApp, snapshot: Snapshot) -> Iterator[SystemCommand]:
    text = "Go to the instruction that made it."
    for slot in snapshot.locals:
        if slot.value is not None:
            message = Pane.GotoOrigin("value", slot.value)
            yield _verb(f"origin of {slot.label}", text, partial(_post, app, message))
    for name in _each(node.name for node in reversed(snapshot.nodes)):
        yield _verb(f"origin of %{name}", text, partial(_post, app, Pane.GotoOrigin("node", name)))


def _places(app: StepperApp, recording: Recording) -> Iterator[SystemCommand]:
    for translation in islice(reversed(recording.translations()), _MOST):
        message = Pane.Goto(translation.first_moment, _frame(recording, translation))
        yield _verb(
            _frame(recording, translation), "Go to where it begins.", partial(_post, app, message)
        )
    labels: dict[str, None] = {}
    firsts: dict[str, int] = {}  # of each file, the one that was seen last at the end
    for code in recording.codes():
        labels.setdefault(code.label)
        firsts[code.filename] = firsts.pop(code.filename, code.first_line)
    shown = (compiled_name(recording, each) for each in recording.translations()[:_MOST])
    for name in _each((*shown, *labels)):
        breakpoint = Breakpoint(BreakpointKind.FUNCTION, pattern=name)
        yield _break(app, f"break in {name}", breakpoint)
    state = app.cursor.state
    for path, name in _each(recording.owners.within(state.attempt) if state is not None else ()):
        breakpoint = Breakpoint(BreakpointKind.FUNCTION, pattern=path or name)
        yield _break(app, f"break in {path} {name}".replace("in  ", "in "), breakpoint)
    for filename, line in islice(reversed(firsts.items()), _MOST):
        breakpoint = Breakpoint(BreakpointKind.LINE, filename, number=line)
        yield _break(app, f"break at {os.path.basename(filename)}:{line}", breakpoint)


def _frame(recording: Recording, translation: Translation) -> str:
    name = brief_compiled_name(recording, translation)
    return f"frame {translation.compile_id} {name} {translation.phase}"


def _post(app: StepperApp, message: Message) -> None:
    app.post_message(message)
