"""The guards that are shown are those that Dynamo has."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import torch

from stepper.debuggee.controller import Controller
from stepper.model.trace import EventKind, Guard
from stepper.recording.reader import Recording
from tests.engines.dynamo.watch import record, watching


def named(guards: list[Guard]) -> Counter[tuple[str, str]]:
    return Counter((guard.kind, guard.source) for guard in guards)


def test_type_match_is_withdrawn_when_the_constant_is_read(tmp_path: Path) -> None:
    def double(x: torch.Tensor) -> torch.Tensor:
        return torch.vmap(lambda row: row * 2)(x)

    compiled = torch.compile(double, backend="eager")
    recording = record(tmp_path / "r.stepper", lambda: compiled(torch.ones(2, 3)))
    [attempt] = recording.attempts()
    installed = recording.guards_installed(attempt.id)
    holding = recording.guards(None, attempt=attempt.id)
    read = {(g.source, g.moment) for g in holding if g.kind == "CONSTANT_MATCH"}
    assert read  # vmap's own defaults
    for guard in installed:
        if guard.withdrawn is not None:
            assert guard.kind == "TYPE_MATCH"
            assert (guard.source, guard.withdrawn) in read
            assert guard in recording.guards(guard.withdrawn)
            assert guard not in recording.guards(guard.withdrawn + 1)
    assert recording.translation(1).guards == len(holding)
    assert len(installed) == len(recording.events(kinds={EventKind.GUARD}))
    recording.close()


def test_guards_on_a_parameter_made_in_the_graph_are_never_there(tmp_path: Path) -> None:
    def wrap(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.Parameter(x) * x

    compiled = torch.compile(wrap, backend="eager")
    recording = record(tmp_path / "r.stepper", lambda: compiled(torch.ones(2)))
    [attempt] = recording.attempts()
    # Dynamo installs them on a made-up local and takes them back at once.
    sources = {guard.source for guard in recording.guards_installed(attempt.id)}
    recording.close()
    assert "L['x']" in sources
    assert not [source for source in sources if "synth" in source or "param" in source]


def test_equal_guards_of_one_line_are_told_once(tmp_path: Path) -> None:
    limits = {"low": 1, "high": 4}

    def clamp(x: torch.Tensor) -> torch.Tensor:
        return x.clamp(limits["low"], limits["high"]) + limits["low"] + limits["low"]

    held: list[Counter[tuple[str, str]]] = []

    def backend(graph: torch.fx.GraphModule, inputs: object) -> object:
        guards = torch._guards.TracingContext.get().guards_context.dynamo_guards.inner
        held.append(
            Counter((g.inner_create_fn().__name__, g.originating_source.name) for g in guards)
        )
        return graph

    compiled = torch.compile(clamp, backend=backend)
    recording = record(tmp_path / "r.stepper", lambda: compiled(torch.ones(2)))
    [real] = held
    [attempt] = recording.attempts()
    shown = named(recording.guards(None, attempt=attempt.id))
    recording.close()
    assert not real - shown
    extra = shown - real  # what is installed after the backend was called
    assert not [guard for guard in extra if "limits" in guard[1]]


class Asks(Controller):
    """Wants to hear of each guard at once, and stops at none."""

    def __init__(self) -> None:
        super().__init__(None)
        self.wanted = frozenset({EventKind.GUARD})


def test_a_guard_is_of_its_moment_whenever_it_is_told(tmp_path: Path) -> None:
    scales = {"low": 1.0, "high": 4.0}

    def inner(x: torch.Tensor, key: str) -> torch.Tensor:
        return x * scales[key] if x.shape[0] > 1 else x

    def outer(x: torch.Tensor) -> torch.Tensor:
        y = torch.vmap(lambda row: row * 2)(x)  # a guard is withdrawn in it
        print("a graph break")
        return inner(y, "low") + torch.nn.Parameter(inner(x, "high"))

    def guards(recording: Recording) -> Sequence[tuple[object, ...]]:
        found = [
            (
                g.attempt,
                g.kind,
                re.sub(r"___\d+", "", g.source),
                g.scope,
                g.moment,
                g.withdrawn,
                g.user_line,
            )
            for attempt in recording.attempts()
            for g in recording.guards_installed(attempt.id)
        ]
        moments = [event.moment for event in recording.events()]
        told = [event.moment for event in recording.events(kinds={EventKind.GUARD})]
        assert told == sorted(told)
        assert len(moments) > len(told) == len(found) > 10
        recording.close()
        return found

    torch.compile(outer, backend="eager")(ones)  # a first time imports, and guards that
    late = record(tmp_path / "late.stepper", lambda: torch.compile(outer, backend="eager")(ones))
    torch._dynamo.reset()
    with watching(tmp_path / "at-once.stepper", controller=Asks()) as watched:
        torch.compile(outer, backend="eager")(ones)
    assert guards(late) == guards(watched.recording())


ones = torch.ones(2, 3)
