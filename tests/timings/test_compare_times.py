"""Two recordings compared by time: what is told follows from what is recorded, to the digit."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec
import pytest

from stepper.analysis.slow_lines import slow_lines
from stepper.cli import main
from stepper.model.timing import CacheAnswer, Timing
from stepper.model.trace import SessionFacts
from stepper.recording.reader import Recording
from tests.recordings import sample_recording

MS = 1_000_000


def recording(path: Path, timings: list[Timing]) -> str:
    sample_recording(str(path))
    with sqlite3.connect(path) as connection:
        rows = [(each.id, each.moment, msgspec.msgpack.encode(each)) for each in timings]
        connection.executemany("INSERT INTO timing VALUES (?, ?, ?)", rows)
    connection.close()
    return str(path)


def compiled(tracing: int, backend: int, answer: CacheAnswer) -> list[Timing]:
    """A compilation of so many milliseconds each, with what a cache answered to the backend."""
    making = [Timing(6, "fx_codegen_and_compile", tracing * MS, backend * MS, 0, parent=4)]
    return [
        Timing(1, "entire_frame_compile", 0, (tracing + backend) * MS, 0, translation=1),
        Timing(2, "compile_attempt_0", 0, (tracing + backend) * MS, 0, parent=1),
        Timing(3, "bytecode_tracing", 0, tracing * MS, 0, parent=2),
        Timing(4, "backend_compile", tracing * MS, backend * MS, 0, parent=2),
        Timing(5, "fx_graph_cache_x", tracing * MS, 0, 0, parent=4, cache=answer),
        *(making if answer.state != "hit" else []),
    ]


def told(capsys: pytest.CaptureFixture[str], a: str, b: str) -> list[str]:
    assert main(["diff", "--time", a, b]) == 0
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_graphs_that_one_cache_had_are_told_in_one_line(tmp_path: Path) -> None:
    hit = CacheAnswer("fx_graph_cache", "hit", "one", loaded="at serve.py:14 in <module>")
    timings = compiled(40, 800, hit)
    timings += [msgspec.structs.replace(timings[4], id=number) for number in (6, 7)]
    opened = Recording.open(recording(tmp_path / "a.stepper", timings))
    found = [line.text.strip() for line in slow_lines(opened) if "serve.py" in line.text]
    assert found == [
        "what the backend made was in fx_graph_cache, which load_cache_artifacts had loaded "
        "at serve.py:14 in <module>, 3 graphs"
    ]
    opened.close()


def test_other_versions_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    timings = compiled(40, 800, CacheAnswer("fx_graph_cache", "hit", "one"))
    a, b = (recording(tmp_path / f"{name}.stepper", timings) for name in "ab")
    assert not any("ran with" in line for line in told(capsys, a, b))
    facts = msgspec.msgpack.encode(SessionFacts(torch="2.15.0", python="3.13.1"))
    with sqlite3.connect(b) as connection:
        connection.execute("UPDATE session SET facts = ?", (facts,))
    connection.close()
    (said,) = [line for line in told(capsys, a, b) if "ran with" in line]
    assert "b with 2.15.0; a ran with python" in said


def test_a_backend_that_compiles_ahead_of_time_is_told_by_what_works_in_it(tmp_path: Path) -> None:
    timings = [
        Timing(1, "fullgraph_capture", 0, 900 * MS, 0, translation=1),
        Timing(2, "bytecode_tracing", 0, 200 * MS, 0, parent=1),
        Timing(3, "create_aot_dispatcher_function", 200 * MS, 500 * MS, 0, parent=1),
        Timing(4, "compile_file", 300 * MS, 100 * MS, 0, parent=3),
    ]
    opened = Recording.open(recording(tmp_path / "a.stepper", timings))
    first = next(iter(slow_lines(opened))).text
    assert "0.50 s in the backend, of which 0.10 s in compilers of C++ or Triton" in first
    assert "0.40 s in create_aot_dispatcher_function (AOTAutograd)" in first, "most of it"
    assert "0.20 s else" in first
    opened.close()


def test_a_hit_and_what_it_saved_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    miss = CacheAnswer("fx_graph_cache", "miss", "one", nanoseconds=790 * MS)
    hit = CacheAnswer("fx_graph_cache", "hit", "one", nanoseconds=790 * MS)
    a = recording(tmp_path / "a.stepper", compiled(40, 800, miss))
    b = recording(tmp_path / "b.stepper", compiled(50, 20, hit))
    lines = told(capsys, a, b)
    assert lines[0] == ("a 0.84 s of compiling, b 70 ms: b takes 0.77 s shorter (0.08 of a)")
    assert "0.80 s 20 ms -0.78 s backend_compile (the backend)" in lines
    assert "40 ms 50 ms +10 ms bytecode_tracing (tracing)" in lines
    assert "a: fx_graph_cache miss 1" in lines
    assert "b: fx_graph_cache hit 1; hits saved 0.79 s, as they say" in lines
    assert "phases of a that hits have left out in b: fx_codegen_and_compile 0.80 s" in lines
    assert not any("another key" in line for line in lines)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            CacheAnswer("fx_graph_cache", "miss", "one", nanoseconds=790 * MS),
            "fx_graph_cache: 1 miss: a hit would have saved 0.79 s, which making it took",
        ),
        (
            CacheAnswer("autograd_cache", "miss", "one"),
            "autograd_cache: 1 miss: what a hit would have saved is not recorded",
        ),
        (
            CacheAnswer("fx_graph_cache", "hit", "one", nanoseconds=790 * MS),
            "fx_graph_cache: 1 hit: saved 0.79 s, as the cache says",
        ),
        (
            CacheAnswer("fx_graph_cache", "bypass", reason="a mutated input"),
            "fx_graph_cache: 1 graph that bypassed it: what a hit would have saved is not recorded",
        ),
        (
            CacheAnswer("fx_graph_cache", "disabled"),
            "fx_graph_cache: not enabled, asked for 1 graph",
        ),
    ],
)
def test_what_a_cache_saved_or_would_have_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], answer: CacheAnswer, said: str
) -> None:
    path = recording(tmp_path / "a.stepper", compiled(40, 800, answer))
    assert main(["why-slow", path]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert said in lines
    assert not answer.reason or answer.reason in lines


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (
            CacheAnswer("fx_graph_cache", "miss", "two", parts={"gm": "1", "config[x]": "9"}),
            "another key than in a: config[x]",
        ),
        (CacheAnswer("fx_graph_cache", "miss", "one"), "the same key as in a: what was stored"),
        (CacheAnswer("fx_graph_cache", "bypass", reason="a mutated input"), "a mutated input"),
        (CacheAnswer("fx_graph_cache", "disabled"), "the cache is not enabled"),
        (CacheAnswer("autograd_cache", "miss", "two"), "a has not asked for it"),
    ],
)
def test_a_graph_that_missed_has_its_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], answer: CacheAnswer, why: str
) -> None:
    parts = {"gm": "1", "config[x]": "2"}
    first = CacheAnswer("fx_graph_cache", "miss", "one", parts=parts)
    a = recording(tmp_path / "a.stepper", compiled(40, 800, first))
    b = recording(tmp_path / "b.stepper", compiled(40, 800, answer))
    lines = told(capsys, a, b)
    assert any(line.startswith("b: 0/0 ") and why in line for line in lines), lines
