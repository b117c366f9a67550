"""A breakpoint says what it will do, and one that can do nothing is refused with the nearest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepper.client.placing import placed_text
from stepper.client.session import number_breakpoints
from stepper.client.text import plural
from stepper.model.breakpoint import (
    CACHE_KINDS,
    GUARD_KINDS,
    Breakpoint,
    BreakpointError,
    BreakpointKind,
    parse_breakpoint,
)
from stepper.recording.reader import Recording
from tests.recordings import sample_recording


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    path = tmp_path_factory.mktemp("placing") / "r.stepper"
    sample_recording(str(path))
    recording = Recording.open(str(path))
    yield recording
    recording.close()


@pytest.mark.parametrize("live", [False, True])
def test_it_says_how_many_places_fit(recording: Recording, live: bool) -> None:
    text = placed_text(parse_breakpoint("function:Net.forward"), recording, live=live)
    assert text == "fits 1 place" + " so far" * live
    assert "happened" in placed_text(parse_breakpoint("graph-break"), recording, live=live)


_FOUND = {
    BreakpointKind.GUARD: ("*", "TENSOR_MATCH"),
    BreakpointKind.NODE: ("*",),
    BreakpointKind.SYMBOL: ("*",),
}


@pytest.mark.parametrize("kind", BreakpointKind, ids=str)
def test_of_each_kind_it_says_what_there_is_or_refuses(
    recording: Recording, kind: BreakpointKind
) -> None:
    """With a pattern and without: `fits 2 places`, `happened 3 times`, `never happened …`."""
    patterns = ("", *_FOUND.get(kind, ("*",) if kind in CACHE_KINDS | GUARD_KINDS else ()))
    for pattern in patterns:
        breakpoint = Breakpoint(kind, pattern)
        for live in (True, False):
            try:
                text = placed_text(breakpoint, recording, live=live)
            except BreakpointError:
                assert not live
            else:
                assert re.match(r"(fits|happened|has not happened|never happened|waits)\b", text)


def test_what_is_found_is_counted_as_it_is_stopped_at(recording: Recording) -> None:
    guards = [g for a in recording.attempts() for g in recording.guards_installed(a.id)]
    some = next(guard for guard in guards if guard.source)
    same = [g for g in guards if (g.kind, g.source) == (some.kind, some.source)]
    written = Breakpoint(BreakpointKind.GUARD, some.kind, source=some.source)
    text = placed_text(written, recording, live=False)
    assert text == f"happened {plural(len(same), 'time')}"
    nodes = [n for a in recording.attempts() for n in recording.nodes_made(a.id)]
    same_name = [node for node in nodes if node.name == nodes[0].name]
    text = placed_text(Breakpoint(BreakpointKind.NODE, nodes[0].name), recording, live=True)
    assert text == f"happened {plural(len(same_name), 'time')} so far"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("guard:TENSOR_MATHC", "did you mean TENSOR_MATCH?"),
        ("recordings.py:1", "the nearest lines that have: "),
        ("recording.py:47", "did you mean recordings.py?"),
        ("function:Net.forwart", "did you mean Net.forward?"),
        ("opcode:LOAD_FASR", "did you mean LOAD_FAST"),
    ],
)
def test_what_can_never_stop_is_refused_with_the_nearest(
    recording: Recording, written: str, said: str
) -> None:
    with pytest.raises(BreakpointError) as refused:
        placed_text(parse_breakpoint(written), recording, live=False)
    assert said in str(refused.value)


def test_an_unknown_kind_is_told_the_nearest() -> None:
    with pytest.raises(BreakpointError, match="did you mean graph-break"):
        parse_breakpoint("grph-break")


def test_of_a_living_program_the_file_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("def f(x):\n    # nothing\n\n    return x\n")
    assert "waits" in placed_text(parse_breakpoint("train.py:4"), None, live=True)
    with pytest.raises(BreakpointError, match="nearest lines that have: 1 and 4"):
        placed_text(parse_breakpoint("train.py:2"), None, live=True)
    with pytest.raises(BreakpointError, match=r"did you mean train\.py"):
        placed_text(parse_breakpoint("trian.py:4"), None, live=True)
    # A module of a library that has not been loaded is no mistake.
    said = placed_text(parse_breakpoint("modeling_gpt2.py:9"), None, live=True)
    assert said == "waits for a module that is not loaded: there is no modeling_gpt2.py here"


def test_the_same_is_set_once() -> None:
    both = [parse_breakpoint("graph-break"), parse_breakpoint("graph-break")]
    assert [each.id for each in number_breakpoints(both)] == [1]
    other = parse_breakpoint("graph-break, once")
    assert len(number_breakpoints([*both, other])) == 2
