"""The guards that are shown are those that Dynamo has."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import torch

from stepper.model.trace import EventKind, Guard
from tests.engines.dynamo.watch import record


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
