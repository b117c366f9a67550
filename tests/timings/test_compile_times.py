"""Where compile time went, held to what is planted in a program and to what torch counts itself.

What is planted sleeps, so the least that it takes is known; nothing else is asserted of times.
"""

from __future__ import annotations

import gc
import re
import sqlite3
import subprocess
import time
from collections import Counter
from itertools import count, pairwise, takewhile
from pathlib import Path
from typing import Any

from stepper.analysis.compile_times import UNFINISHED, CompileTimes
from stepper.analysis.query import Query
from stepper.analysis.slow_lines import NOT_RECORDED, slow_lines
from stepper.debuggee.phase_times import GuardsBegun, PhaseTimes
from stepper.model.timing import (
    ASSEMBLE,
    BACKEND_PHASES,
    CODEGEN,
    FAKE_TENSORS,
    GARBAGE,
    GRAPH_RUN,
    GUARDS,
    HEARD,
    RUNS,
    TRACING,
    TRANSFORMED_RUN,
    CacheAnswer,
    Timing,
)
from stepper.model.trace import Outcome
from stepper.recording.packing import pack
from stepper.recording.reader import Recording
from stepper.recording.schema import GuardsMade
from stepper.recording.writer import Writer
from tests import ready
from tests.conftest import ROOT, clean_environment
from tests.csrc.test_recording_parts import new_steps
from tests.recordings import sample_recording
from tests.tape import FACTS
from tests.timings import programs
from tests.timings.conftest import Ran

STOP = 8
"""Seconds."""
SLEEP = int(programs.SLEEP * 1e9)
LINES = Path(programs.__file__).read_text().splitlines()
PLANTED = next(n for n, line in enumerate(LINES, 1) if "planted: traced twice" in line)
CALLING = next(n for n, line in enumerate(LINES, 1) if "calls what is planted" in line)

COLUMNS = {
    "dynamo_cumulative_compile_time_us": "entire_frame_compile",
    "aot_autograd_cumulative_compile_time_us": "backend_compile",
    "backward_cumulative_compile_time_us": "entire_backward_compile",
}
"""Of torch's `CompilationMetrics`: the phase that each is a sum of."""
WITHIN = 0.03
"""Part by which an interval may differ."""
INTERRUPTED = 2
"""Intervals that may differ by more: the clocks are read one after the other, and the machine can
stop the program between."""


def test_each_phase_that_torch_times_is_recorded(ran: Ran) -> None:
    timings = ran.recording.timings() or []
    counted = {name: len(times) for name, times in ran.times_of_torch.items()}
    phases = [each for each in timings if each.cache is None and each.guard is None]
    recorded = Counter(each.name for each in phases if each.name not in HEARD)
    assert {"bytecode_tracing", "backend_compile", "build_guards"} <= recorded.keys()
    # torch counts what it times by other means, too, and does not count the outermost.
    assert recorded == {name: counted.get(name, 0) for name in recorded} | {
        "dynamo": len(ran.times.by_function())
    }


def test_each_interval_is_as_long_as_torch_says(ran: Ran) -> None:
    """In the same run: the same intervals, each by its own clock."""
    of_name: dict[str, list[int]] = {}
    for each in sorted(ran.recording.timings() or [], key=lambda each: each.began):
        of_name.setdefault(each.name, []).append(each.nanoseconds + each.left_out)
    differ = []
    compared = set()
    for name, ours in of_name.items():
        # torch counts them when they end; none of these is within another of its name.
        for a, b in zip(ours, ran.times_of_torch.get(name, ()), strict=False):
            if b * 1e9 >= SLEEP / 2:
                compared.add(name)
                differ += [(name, a, b)] if abs(a / 1e9 - b) > WITHIN * b else []
    assert compared >= {"entire_frame_compile", "bytecode_tracing", "backend_compile"}
    assert len(differ) <= INTERRUPTED, differ


def test_the_sums_are_those_of_torchs_metrics(ran: Ran) -> None:
    for column, name in COLUMNS.items():
        theirs = sum(metrics.get(column) or 0 for metrics in ran.metrics) * 1000
        timings = ran.recording.timings() or []
        ours = sum(each.nanoseconds + each.left_out for each in timings if each.name == name)
        assert theirs > 0
        assert abs(ours - theirs) <= WITHIN * theirs + INTERRUPTED * SLEEP / 10, name


def test_what_compiling_took_is_attributed(ran: Ran) -> None:
    """All of the wall's time that torch measured, and in it all of tracing, to lines."""
    wall = sum(
        (metrics.get("end_time_us") or 0) - (metrics.get("start_time_us") or 0)
        for metrics in ran.metrics
    )
    left_out = sum(root.timing.left_out for root in ran.times.roots)
    assert ran.times.total + left_out >= 0.98 * wall * 1000
    tracing = ran.times.spent({TRACING})
    assert 0.9 * tracing <= ran.times.of_lines <= tracing


def test_what_workers_do_meanwhile_is_not_in_the_sum(ran: Ran) -> None:
    assert [each.name for each in ran.times.beside] == ["compile_file"] * 2
    assert ran.times.spent({"compile_file"}) == 0
    lines = [line.text for line in slow_lines(ran.recording)]
    at = lines.index("in other threads meanwhile, not in the sum")
    assert "compile_file (the C++ compiler)  2 times" in lines[at + 1]


def test_each_guards_making_is_timed_while_guards_are_built(ran: Ran) -> None:
    timings = {each.id: each for each in ran.recording.timings() or []}
    made = [each for each in timings.values() if each.guard is not None]
    assert all(each.parent and timings[each.parent].name == GUARDS for each in made)
    built = sum(each.nanoseconds for each in timings.values() if each.name == GUARDS)
    assert 0 < sum(each.nanoseconds for each in made) <= built
    for attempt in ran.recording.attempts():
        if ran.recording.translation(attempt.translation).outcome == Outcome.COMPILED:
            kinds = {each.id: each.kind for each in ran.recording.guards_installed(attempt.id)}
            named = {each.guard: each.name for each in made}
            assert {number: f"guard.{kind}" for number, kind in kinds.items()}.items() <= (
                named.items()
            ) or attempt.restart_reason
    lines = [line.text for line in slow_lines(ran.recording)]
    assert any(line.startswith("guards, made in ") for line in lines)
    (section,) = [part for part in "\n".join(lines).split("\n\n") if part.startswith("guards, ")]
    guards = [re.sub("  [0-9]+ times$", "", line[17:]) for line in section.splitlines()[1:]]
    assert len(set(guards)) == len(guards)


def test_what_nodes_took_is_as_long_as_torch_says(ran: Ran) -> None:
    """With tensors that have no data, where two calls sleep; of the instruction it is a part."""
    timings = {each.id: each for each in ran.recording.timings() or []}
    found = [each for each in timings.values() if each.name == FAKE_TENSORS]
    assert all(timings[each.parent or 0].name == TRACING for each in found)
    ours = sum(each.nanoseconds + each.left_out for each in found)
    theirs = sum(ran.times_of_torch["get_fake_value"]) * 1e9
    assert theirs > 4 * SLEEP
    assert abs(ours - theirs) <= WITHIN * theirs + INTERRUPTED * SLEEP / 10
    of_calls = sum(spent for name, spent in ran.times.opnames if name.startswith("CALL"))
    assert of_calls > 4 * SLEEP


def test_the_making_of_bytecode_is_timed_in_each_attempt_that_comes_to_it(ran: Ran) -> None:
    timings = {each.id: each for each in ran.recording.timings() or []}
    for attempt in (each for each in timings.values() if each.name.startswith("compile_attempt_")):
        within = Counter(each.name for each in timings.values() if each.parent == attempt.id)
        made = bool(within["backend_compile"])
        assert bool(within[CODEGEN]) == bool(within[ASSEMBLE]) == made
    assert any("making bytecode" in line.text for line in slow_lines(ran.recording))


def test_garbage_that_is_collected_has_its_own_time(ran: Ran) -> None:
    """In the backend that made it; at the end the collector's callbacks are the program's own."""
    timings = ran.recording.timings() or []
    names = {each.id: each.name for each in timings}
    within = [names[each.parent or 0] for each in timings if each.name == GARBAGE]
    assert "backend_compile" in within
    assert not set(within) & {GARBAGE, *RUNS}
    assert any(
        "Python's garbage collection" in line.text for line in slow_lines(ran.recording, every=True)
    )
    assert ran.callbacks == 0


def test_what_a_cache_answers_is_recorded_in_the_phase_that_asked(ran: Ran) -> None:
    timings = {each.id: each for each in ran.recording.timings() or []}
    told = [each for each in timings.values() if each.cache is not None]
    assert len(told) == 2
    for each in told:
        assert each.cache == CacheAnswer("fx_graph_cache", "bypass", reason="planted")
        assert each.parent is not None
        assert timings[each.parent].name == "backend_compile"


def test_a_backward_belongs_to_its_forward(ran: Ran) -> None:
    pairs = next(pairs for pairs in ran.times.by_function() if pairs[0][0].name == "trained")
    assert [root.name for _, root in pairs] == ["dynamo", "entire_backward_compile"]
    told = [line.text for line in slow_lines(ran.recording, "trained")]
    assert any("the backward, compiled when gradients were asked for" in line for line in told[4:6])
    assert not any("compiled 2 times" in line for line in told)


def test_a_librarys_lines_are_told_where_no_line_of_the_program_led_there(ran: Ran) -> None:
    lines = [line for line in ran.times.lines if line.place.filename == programs.LIBRARY]
    assert {line.place.line for line in lines} >= {2, 3}
    assert all(line.own for line in lines)


def test_a_phase_lies_within_the_one_in_whose_midst_it_is(ran: Ran) -> None:
    by_id = {each.id: each for each in ran.recording.timings() or []}
    for each in by_id.values():
        assert each.nanoseconds >= 0
        if each.parent is not None:
            outer = by_id[each.parent]
            assert outer.began <= each.began
            assert each.began + each.nanoseconds <= outer.began + outer.nanoseconds


def test_no_moment_is_before_the_one_before_it(ran: Ran) -> None:
    instants = ran.recording.instants(1, ran.recording.newest)
    assert len(instants) == ran.recording.newest
    assert instants == sorted(instants)


def test_what_the_backend_takes_is_the_backends(ran: Ran) -> None:
    graphs = 2
    assert ran.times.spent(BACKEND_PHASES) >= graphs * 2 * SLEEP


def test_a_slow_line_has_its_time_and_so_has_the_call_that_led_there(ran: Ran) -> None:
    lines = CompileTimes(ran.recording, "broken").lines
    calling = next(line for line in lines if line.place.line == CALLING)
    planted = next(line for line in lines if line.place.line == PLANTED)
    assert calling.total >= planted.total >= 2 * SLEEP
    assert calling.own < calling.total


def test_lines_add_up_to_what_tracing_took(ran: Ran) -> None:
    """All but what comes before the first instruction and after the last of an attempt."""
    functions = {item.name for item in ran.times.translations.values()}
    lines = [line.total for line in ran.times.lines if line.place.function in functions]
    assert len(lines) >= 5
    assert 2 * SLEEP <= sum(lines) <= ran.times.spent({TRACING})


def test_an_attempt_thrown_away_has_its_time_and_its_reason(ran: Ran) -> None:
    ((timed, attempt),) = ran.times.thrown_away()
    assert timed.total >= SLEEP
    assert SLEEP <= ran.times.traced_in_vain() <= min(timed.total, ran.times.spent({TRACING}))
    assert attempt.number == 1
    assert "print" in attempt.restart_reason


def test_the_answer_begins_with_the_sum(ran: Ran) -> None:
    lines = [line.text for line in slow_lines(ran.recording)]
    assert f"compiling {len(ran.times.by_function())} functions" in lines[0]
    assert "in the backend" in lines[0]
    assert "by attempts thrown away" in lines[0]
    assert any(f"programs.py:{CALLING} in broken" in line for line in lines)
    assert any("backend_compile (the backend)" in line for line in lines)


def test_only_a_functions_time_is_told(ran: Ran) -> None:
    lines = "\n".join(line.text for line in slow_lines(ran.recording, "trained"))
    assert "compiling 1 function:" in lines
    assert "broken" not in lines
    assert "no compilation" not in lines


def test_the_time_of_a_stop_is_nobodys(tmp_path: Path) -> None:
    """A step before and after a stop of some seconds are as near as if there had been none."""
    program = tmp_path / "program.py"
    program.write_text(
        "import torch\n\n@torch.compile(backend='eager')\ndef f(x):\n"
        "    y = x + 1\n    return y + 2\n\nf(torch.ones(3))\n"
    )
    file = tmp_path / "run.stepper"
    with subprocess.Popen(
        ready.stepper("console", "-o", file, "--break", "program.py:6", program),
        env=clean_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as console:
        assert console.stdin is not None
        assert console.stdout is not None
        stopped = takewhile(lambda line: not line.startswith("stopped: breakpoint"), console.stdout)
        before = list(stopped)
        time.sleep(STOP)
        console.stdin.write("continue\n")
        console.stdin.close()
        assert "the program ended" in console.stdout.read(), before
    recording = Recording.open(str(file))
    instants = recording.instants(1, recording.newest)
    assert max(b - a for a, b in pairwise(instants)) < STOP * 1e9
    assert max(each.nanoseconds for each in recording.timings() or []) < STOP * 1e9


def test_an_old_recording_says_that_it_has_no_times(tmp_path: Path) -> None:
    path = tmp_path / "old.stepper"
    sample_recording(str(path))
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE timing")
        connection.execute("PRAGMA user_version = 7")
    connection.close()
    recording = Recording.open(str(path))
    assert recording.timings() is None
    assert recording.instants(1, recording.newest) == []
    assert [line.text for line in slow_lines(recording)] == [NOT_RECORDED]


def test_a_recording_in_which_each_guards_time_has_a_row_is_read(ran: Ran, tmp_path: Path) -> None:
    timings = ran.recording.timings() or []
    path = tmp_path / "old.stepper"
    with sqlite3.connect(ran.file) as source, sqlite3.connect(path) as connection:
        source.backup(connection)
        connection.execute("DROP TABLE guards_made")
        connection.execute("PRAGMA user_version = 12")
        rows = [(each.id, each.moment, pack(each)) for each in timings if each.guard is not None]
        connection.executemany("INSERT INTO timing VALUES (?, ?, ?)", rows)
    source.close()
    connection.close()
    assert len(rows) > 1
    assert Recording.open(str(path)).timings() == timings


def test_a_recording_in_which_each_run_has_a_row_is_read(tmp_path: Path) -> None:
    new, old = str(tmp_path / "new.stepper"), str(tmp_path / "old.stepper")
    runs = [
        Timing(3, GRAPH_RUN, 120, 30, 7, 2, 1, "worker", 5),
        Timing(2, TRANSFORMED_RUN, 100, 80, 7, None, 1, "worker", 9),
        Timing(4, TRANSFORMED_RUN, 300, 60, 9, None, 2, "", 0),
    ]
    writer = Writer(new, FACTS)
    for each in runs:
        writer.run_took(
            (
                each.id, each.name, each.began, each.nanoseconds, each.moment, each.parent or 0,
                each.translation or 0, each.thread, each.left_out,
            )
        )  # fmt: skip
    writer.close()
    writer = Writer(old, FACTS)
    for each in runs:
        writer.timing(each)
    writer.close()
    with sqlite3.connect(old) as connection:
        connection.execute("DROP TABLE run_times")
        connection.execute("PRAGMA user_version = 15")
    connection.close()
    for path in (new, old):
        assert Recording.open(path).timings() == [runs[1], runs[0], runs[2]]


def test_a_compilation_that_is_not_over_is_one(ran: Ran, tmp_path: Path) -> None:
    """A phase has no row before it is over, so those around others have none when a recording ends:
    here in the midst of the backend."""
    (pairs, *_) = ran.times.by_function()
    (backend, *_) = pairs[0][1].outermost({"backend_compile"})
    end = backend.timing.began + backend.total
    timings = ran.recording.timings() or []
    missing = {each.id for each in timings if each.began + each.nanoseconds >= end}
    path = tmp_path / "cut.stepper"
    with sqlite3.connect(ran.file) as source, sqlite3.connect(path) as connection:
        source.backup(connection)
        connection.executemany("DELETE FROM timing WHERE id = ?", [(id,) for id in missing])
        connection.executemany("DELETE FROM guards_made WHERE first = ?", [(id,) for id in missing])
    source.close()
    connection.close()
    cut = CompileTimes(Recording.open(str(path)))
    (unfinished,) = (root for root in cut.roots if root.name == UNFINISHED)
    assert cut.owner(unfinished) == pairs[0][0].id
    assert TRACING in {each.name for each in unfinished.walk()}
    assert 0 < unfinished.total < pairs[0][1].total
    ours = [item.id for each in cut.by_function() for item, _ in each]
    assert len(set(ours)) == len(ours)  # no backward was compiled by then


def test_garbage_that_is_collected_while_a_guard_is_made_is_in_its_midst() -> None:
    steps = new_steps()
    phases: list[Timing] = []
    runs: list[tuple[int, GuardsMade]] = []
    served: list[object] = []
    times = PhaseTimes(phases.append, lambda *run: runs.append(run), served.append, count(1), steps)
    times.began(GUARDS, 7)
    begun = GuardsBegun(["TYPE_MATCH"] * 3, [0, 1, 2], [], [])
    for number in range(4):
        begun.clock.append(steps.clock())
        begun.away.append(steps.away)
        if number == 1:
            gc.callbacks[-1]("start", {})
            time.sleep(0.002)
            gc.callbacks[-1]("stop", {})
    times.guards_made(begun, 5)
    times.ended(GUARDS, 5, "")
    times.close()
    ((first, run),) = runs
    garbage, whole = sorted(phases, key=lambda each: -each.id)
    assert (whole.id, whole.name) == (run.parent, GUARDS)
    assert (garbage.name, garbage.parent) == (GARBAGE, first + 1)
    assert garbage.nanoseconds <= run.clock[2]


def test_times_are_there_for_queries(ran: Ran) -> None:
    query = "select name, frame, nanoseconds from timings where name = 'backend_compile'"
    done = subprocess.run(
        ready.stepper("query", "--format", "csv", ran.file, query),
        env=clean_environment(),
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    header, *rows = done.stdout.splitlines()
    assert header == "name,frame,nanoseconds"
    assert len(rows) == len(ran.times.by_function())
    slow = "select count(*) from instructions where instant is not null"
    counted = subprocess.run(
        ready.stepper("query", "--format", "csv", ran.file, slow),
        env=clean_environment(),
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    assert int(counted.stdout.split()[-1]) == ran.recording.newest


def test_instructions_have_the_time_that_they_take_in_queries(ran: Ran) -> None:
    asked = Query(
        ran.recording,
        f"SELECT DISTINCT attempt FROM instructions WHERE frame = 1 AND nanoseconds >= {SLEEP}",
    )
    attempts = [attempt for (attempt,) in asked.rows()]
    asked.close()
    assert attempts == [1, 2]  # what is planted is traced in both, and inlines library code


def test_calls_have_the_time_of_all_that_they_called_in_queries(ran: Ran) -> None:
    asked = Query(
        ran.recording,
        "SELECT function, nanoseconds FROM calls WHERE function IN ('once', 'twice', 'profiled')",
    )
    took: dict[Any, Any] = dict(asked.rows())
    asked.close()
    if took:  # some versions have no profiler, and the program leaves them out then
        assert took["profiled"] is None, "it lasts until tracing is over"
        assert took["twice"] > 2 * SLEEP
        assert SLEEP < took["once"] < took["twice"]


def test_only_what_is_traced_has_a_time_in_queries(ran: Ran) -> None:
    asked = Query(
        ran.recording,
        "SELECT count(*), sum(i.nanoseconds IS NULL) FROM instructions i"
        " WHERE i.moment IN (SELECT last_moment FROM frames)",
    )
    [(ends, unknown)] = asked.rows()
    asked.close()
    assert ends == unknown > 0


SLEEPING = f"""
import time
import torch

@torch.library.custom_op("stepper_headline::slow", mutates_args=())
def slow(x: torch.Tensor) -> torch.Tensor:
    return x.clone()

@slow.register_fake
def _(x):
    time.sleep({programs.SLEEP})
    return torch.empty_like(x)

@torch.compile(backend="eager")
def f(x):
    return slow(x) + 1

f(torch.ones(2))
f(torch.ones(3))
"""


def test_the_first_line_names_the_line_and_what_came_after_the_first_time(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(SLEEPING)
    subprocess.run(
        ready.stepper("record", "-o", "r.stepper", "program.py"),
        cwd=tmp_path, env=clean_environment(), capture_output=True, check=True,
    )  # fmt: skip
    recording = Recording.open(str(tmp_path / "r.stepper"))
    told = next(iter(slow_lines(recording))).text
    line = SLEEPING.splitlines().index("    return slow(x) + 1") + 1
    assert f"tracing, most of it at program.py:{line} in f (" in told
    assert " compiling 1 function (" in told
    assert " after the first time): " in told
    recording.close()
