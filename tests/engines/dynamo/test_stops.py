"""With detail `stops` nothing is recorded until somebody stops; then it is all there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from stepper.debuggee.controller import Controller
from stepper.debuggee.occurrence import Subject
from stepper.debuggee.recorder import Recorder
from stepper.model.program import Code
from stepper.model.trace import EventKind, Outcome, State
from stepper.recording.reader import Recording
from tests.engines.dynamo.watch import record, watching

pytestmark = pytest.mark.filterwarnings("ignore")


class Stopper(Controller):
    """Stops once, at the first place that is of interest."""

    def __init__(self, kind: EventKind | None, opname: str = "") -> None:
        super().__init__(None)
        self.recorder: Recorder
        self._kind = kind
        self._opname = opname
        self.stops: list[int] = []
        self.alert = kind is None
        self.wanted = () if kind is None else (kind,)

    def occurred(self, kind: EventKind, moment: int, text: str, subject: Subject) -> None:
        if kind is self._kind and not self.stops:
            self.stops.append(self.recorder.stopping(moment, text))

    def at_moment(
        self, moment: int, frame: int, attempt: int, depth: int, code: Code, ip: int
    ) -> None:
        if depth > 0 and code.instructions[ip].opname == self._opname and not self.stops:
            self.stops.append(self.recorder.stopping(moment, "here"))
            self.alert = False


def _helper(x: torch.Tensor, held: list[Any]) -> torch.Tensor:
    y = x.sin()
    held.append(y)
    torch._dynamo.graph_break()
    return y * len(held)


def _program(x: torch.Tensor) -> torch.Tensor:
    held: list[Any] = [x, 3]
    with torch.no_grad():
        names = {"a": x + 1}
        y = _helper(names["a"], held)
    return y + x


def _run() -> None:
    torch.compile(_program, backend="eager")(torch.ones(2))


def _told(state: State, recording: Recording) -> object:
    """What a state says, without the numbers that differ between two recordings."""

    def value(id: int, path: tuple[int, ...] = ()) -> object:
        found = state.values[id]
        if id in path:
            return "cycle"
        inner = [(item.label, value(item.value, (*path, id))) for item in found.items]
        return (found.cls, found.text, found.node, found.mutability, found.source), inner

    return [
        (
            recording.code(recording.frame(frame.frame).code).qualname,
            frame.ip,
            [value(id) for id in frame.stack],
            {name: value(id) for name, id in sorted(frame.locals.items())},
            frame.blocks,
            frame.speculation,
        )
        for frame in state.frames
    ]


def _first_stop(path: Path, stopper: Stopper) -> tuple[Recording, int]:
    torch._dynamo.reset()
    with watching(path, controller=stopper, detail="stops") as watched:
        stopper.recorder = watched.recorder
        _run()
    (stop,) = stopper.stops
    return watched.recording(), stop


@pytest.mark.parametrize(
    ("make", "find"),
    [
        pytest.param(
            lambda: Stopper(EventKind.GRAPH_BREAK),
            lambda whole: whole.graph_breaks()[0].moment,
            id="graph break",
        ),
        pytest.param(
            lambda: Stopper(None, "LOAD_GLOBAL"),
            lambda whole: next(
                moment.id
                for moment in whole.moments(1, whole.newest)
                if whole.place(moment.id).depth == 1
                and whole.code(whole.frame(moment.frame).code).instructions[moment.ip].opname
                == "LOAD_GLOBAL"
            ),
            id="instruction",
        ),
    ],
)
def test_the_first_stop_shows_what_a_whole_recording_has_there(
    make: Callable[[], Stopper], find: Callable[[Recording], int], tmp_path: Path
) -> None:
    whole = record(tmp_path / "all.stepper", _run)
    moment = find(whole)
    stopped, stop = _first_stop(tmp_path / "stops.stepper", make())
    assert stopped.oldest == stop
    assert _told(stopped.state(stop), stopped) == _told(whole.state(moment), whole)
    assert [node.name for node in stopped.nodes(stopped.newest)][:2]
    # From the stop on everything is there.
    assert len(stopped.moments(stop, stopped.newest)) == whole.newest - moment + 1


def test_guards_and_nodes_before_the_first_stop_are_caught_up(tmp_path: Path) -> None:
    whole = record(tmp_path / "all.stepper", _run)
    first = whole.attempts(whole.translations()[0].id)[0]
    stopped, _ = _first_stop(tmp_path / "stops.stepper", Stopper(EventKind.GRAPH_BREAK))
    attempt = stopped.attempts(stopped.translations()[0].id)[0]
    guards = [
        sorted((guard.kind, guard.source) for guard in recording.guards(None, attempt=found.id))
        for recording, found in ((whole, first), (stopped, attempt))
    ]
    assert guards[1] == guards[0]
    names = [
        [node.name for node in recording.nodes(None, attempt=found.id)]
        for recording, found in ((whole, first), (stopped, attempt))
    ]
    assert names[1] == names[0]


def test_without_a_stop_there_are_translations_and_no_moments(tmp_path: Path) -> None:
    recording = record(tmp_path / "none.stepper", _run, detail="stops")
    # A graph break is told with its state, stop or not.
    first = recording.translations()[0]
    assert (first.name, first.outcome) == ("_program", Outcome.COMPILED)
