"""Executions: transformed code on real values, as a user finds it in the recording."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from stepper.model.cache import CacheListing, RunResult
from stepper.model.control import Evaluate, ListCache, Resume, RunEntry, StepEntry, Stopped
from stepper.model.stepping import Motion
from stepper.model.trace import EventKind, Outcome, Phase, State, Translation
from stepper.recording.navigation import move
from stepper.recording.reader import Recording
from tests import ready
from tests.conftest import clean_environment
from tests.debuggee.harness import Program, run_plainly

PROGRAM = """\
import threading
import torch

@torch.compile(backend="eager")
def twice(x, ys):
    y = torch.relu(x) + 2
    print("between")
    return y * ys[0]

@torch.compile(backend="eager")
def boom(x):
    y = x * 2
    print("before")
    raise ValueError("no")

@torch.compile(backend="eager")
def factorial(x, n):
    torch._dynamo.graph_break()
    return x if n == 0 else x * factorial(x, n - 1)

@torch.compile(backend="eager")
def counts(x):
    n = 0
    def more():
        nonlocal n
        n += 1
        return n
    torch._dynamo.graph_break()
    return x + more() + n

x = torch.ones(3)
print(twice(x, [x]), twice(x, [x]))
for _ in range(2):
    try:
        boom(x)
    except ValueError as error:
        print(error)
print(factorial(x, 3), counts(x))
threads = [threading.Thread(target=lambda: [twice(x, [x]) for _ in range(3)]) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""

# Before it: whatever was followed without being looked at is compared with what is there.
CHECKED = """\
import sys
from _thread import get_ident
from stepper._C import NULL, frame_locals, value_stack
from stepper.debuggee.execution import Executions
from stepper.engines.common.values import describe
make = Executions.unless_moved
followed = 0

def unless_moved(self, callback, raising):
    if callback.__name__ == "on_line":  # of sys.monitoring
        return make(self, callback, raising)
    looked = []

    def look(*event):
        looked.append(event)
        return callback(*event) if len(event) == 3 else self.step(real, *event)

    moves = make(self, look, raising)

    def check(*event):
        global followed, real
        looked.clear()
        if len(event) == 3:  # of sys.settrace
            real = event[0]
            moves(*event)
        else:
            real = sys._getframe(1)
            make(self, lambda *_: look(*event), raising)(real, "opcode", None)
        if not looked:
            followed += 1
            execution = self.running[get_ident()][-1]
            frame, hidden = execution.frame, execution.hidden
            there = [known.described.key for known in frame.stack]
            stack = value_stack(real) if hidden is None else []
            assert there == ["NULL" if v is NULL else id(v) for v in stack], there
            for known, v in zip(frame.stack, stack):
                same = v is NULL or known.described == describe(v)
                assert same or type(v) is dict, v  # what counts here is in the globals
            real_locals = {n: v for n, v in frame_locals(real).items() if n not in (hidden or ())}
            names = {name: known.described.key for name, known in frame.locals.items()}
            assert names == {name: id(v) for name, v in real_locals.items()}, names
            for name, v in real_locals.items():
                assert frame.locals[name].described == describe(v), v
        return check

    return check

Executions.unless_moved = unless_moved
"""


def record(
    source: str, folder: Path, *options: str, begins: Callable[..., list[str]] = ready.python
) -> tuple[subprocess.CompletedProcess[str], Path]:
    program, path = folder / "program.py", folder / "program.stepper"
    program.write_text(source)
    command = begins("-m", "stepper", "record", *options, "-o", path, program)
    environment = clean_environment()
    return (
        subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600),
        path,
    )


def python(*words: object) -> list[str]:
    return [sys.executable, *map(str, words)]


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    run, path = record(PROGRAM, tmp_path_factory.mktemp("execution"), "--execute")
    assert run.returncode == 0, run.stderr
    opened = Recording.open(str(path))
    yield opened
    opened.close()


def walks(recording: Recording, name: str) -> list[Translation]:
    return [
        row
        for row in recording.translations()
        if row.phase is Phase.EXECUTE and row.name == name and row.thread == "MainThread"
    ]


def states(recording: Recording, walk: Translation) -> Iterator[tuple[str, str, State]]:
    """Each moment of a walk: its instruction's name and argument, and its state."""
    assert walk.last_moment is not None
    for moment in range(walk.first_moment, walk.last_moment + 1):
        state = recording.state(moment)
        if state.translation == walk.id:
            code = recording.code(recording.frame(state.moment.frame).code)
            instruction = code.instructions[state.moment.ip]
            yield instruction.opname, instruction.argrepr, state


def test_each_call_is_a_walk_with_its_end(recording: Recording) -> None:
    first, second = walks(recording, "twice")
    assert (first.outcome, first.reason, first.level) == ("returned", "f32[3]", 0)
    assert first.instructions == second.instructions > 20
    assert first.compile_id == second.compile_id == "0/0"
    assert first.python_stack[-1].function == "<module>"


def test_stack_and_locals_are_real_values(recording: Recording) -> None:
    walk = walks(recording, "twice")[1]
    opname, argument, state = next(
        each for each in states(recording, walk) if "compiled graph" in each[1]
    )
    assert opname.startswith("CALL")
    assert argument.startswith("compiled graph __compiled_fn")
    texts = [state.values[id].text for id in state.top.stack]
    assert texts[-1] == "f32[3]"
    assert "NULL" in texts
    assert state.top.stack[-1] == state.top.locals["x"]  # one object in two places
    tensor = state.values[state.top.locals["x"]].tensor
    assert tensor is not None
    assert (tensor.dtype, tensor.shape, tensor.stride) == ("float32", ("3",), ("1",))


def test_the_graph_is_stepped_node_by_node(recording: Recording) -> None:
    walk = walks(recording, "twice")[1]
    nodes = [
        (opname, argument, {name: state.values[id].text for name, id in state.top.locals.items()})
        for opname, argument, state in states(recording, walk)
        if len(state.frames) == 2
    ]
    assert [opname for opname, _, _ in nodes] == [
        "placeholder", "call_function", "call_function", "output",
    ]  # fmt: skip
    assert nodes[1][1] == "relu = torch.relu(l_x_)"
    assert "relu" not in nodes[1][2]
    assert nodes[2][2]["relu"] == "f32[3]"


def test_stepping_goes_into_resume_functions_and_next_over_them(recording: Recording) -> None:
    outer = walks(recording, "factorial")[0]
    call = next(
        state.moment.id
        for _, argument, state in states(recording, outer)
        if argument.startswith("resume function")
    )
    inside = move(recording, call, Motion.STEP, +1)
    assert inside is not None
    assert recording.translation(recording.state(inside).translation).name.startswith(
        "torch_dynamo_resume_in_factorial"
    )
    after = move(recording, call, Motion.NEXT, +1)
    assert after is not None
    assert recording.state(after).translation == outer.id
    assert max(row.level for row in walks(recording, "factorial")) >= 3


def test_an_exception_ends_a_walk(recording: Recording) -> None:
    ends = [(row.outcome, row.reason) for row in walks(recording, "boom")]
    assert ends == [("raised", "ValueError")] * 2


def test_threads_have_walks_of_their_own(recording: Recording) -> None:
    others = [
        row
        for row in recording.translations()
        if row.phase is Phase.EXECUTE and row.thread != "MainThread" and row.name == "twice"
    ]
    assert len({row.thread for row in others}) == 3
    assert {(row.outcome, row.level) for row in others} == {("returned", 0)}
    for row in others:
        assert [state.top.ip for _, _, state in states(recording, row)] != []


def test_what_is_followed_without_a_look_is_what_is_there(tmp_path: Path) -> None:
    checked = CHECKED + PROGRAM + "print(followed)\n"
    run, path = record(checked, tmp_path, "--execute", begins=python)
    assert run.returncode == 0, run.stderr
    recording = Recording.open(str(path))
    notes = [event.text for event in recording.events() if event.kind == "note"]
    recording.close()
    assert notes == []
    assert int(run.stdout.split()[-1]) > 200


def test_the_program_sees_nothing_of_it(tmp_path: Path) -> None:
    # Objects die when they would, exceptions carry no frames of ours, tracing stays the program's.
    source = """\
import gc, sys, traceback, weakref, torch
class Held:
    pass
deaths = []
@torch.compile(backend="eager")
def f(x, h):
    y = x + 1
    print("in between")
    return y * 2
def call():
    h = Held()
    weakref.finalize(h, deaths.append, "held")
    f(torch.ones(2), h)
    return len(deaths)
@torch.compile(backend="eager")
def g(x):
    print("raises")
    raise ValueError
for _ in range(3):
    print(call(), len(deaths))
try:
    g(torch.ones(2))
except ValueError as error:
    print([frame.name for frame in traceback.extract_tb(error.__traceback__)])
print(sys.gettrace(), sys.getrecursionlimit())
"""
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone" / "program.py").write_text(source)
    alone = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path / "alone", capture_output=True, text=True
    )
    run, _ = record(source, tmp_path, "--execute")
    assert run.stdout == alone.stdout
    assert "held" not in run.stdout


def test_it_gives_way_to_a_debugger_that_is_there(tmp_path: Path) -> None:
    source = (
        "import sys, torch\nsys.settrace(lambda *a: None)\n"
        "f = torch.compile(lambda x: x + 1, backend='eager')\n"
        "print(f(torch.ones(2)), f(torch.ones(2)))\nprint(sys.gettrace() is not None)\n"
    )
    run, path = record(source, tmp_path, "--execute")
    assert run.returncode == 0, run.stderr
    assert run.stdout.endswith("True\n")
    assert "stepper does not follow transformed code as it runs" in run.stderr
    recording = Recording.open(str(path))
    assert {row.phase for row in recording.translations()} == {Phase.TRANSLATE}
    recording.close()


SMALL = """\
import torch
def f(x):
    y = x + 1
    print("out")
    return y
f = torch.compile(f, backend="eager")
print(f(torch.zeros(2)))
"""


@pytest.fixture
def debug(tmp_path: Path) -> Iterator[Callable[..., Program]]:
    programs: list[Program] = []

    def start(source: str, **options: object) -> Program:
        programs.append(Program(source, tmp_path, **options))  # type: ignore[arg-type]  # any options of its own
        return programs[-1]

    yield start
    for program in programs:
        program.close()


@pytest.mark.parametrize("detail", ["all", "stops"])
def test_a_breakpoint_stops_at_the_first_instruction_and_evaluates_there(
    debug: Callable[..., Program], detail: str
) -> None:
    program = debug(SMALL, breakpoints=("execute:f",), detail=detail)
    stopped = program.wait(Stopped)
    assert stopped.reason == "breakpoint"

    def answer(expression: str) -> str:
        return program.ask(lambda seq: Evaluate(seq, expression)).text

    assert answer("x") == "tensor([0., 0.])"
    assert answer("stack") == "[]"
    assert answer("sorted(locals)[0]") == "'x'"
    assert answer("inst.opname") != ""
    recording = Recording.open(program.recording)
    state = recording.state(stopped.moment)
    assert recording.translation(state.translation).phase is Phase.EXECUTE
    assert state.values[state.top.locals["x"]].text == "f32[2]"
    recording.close()
    program.ask(lambda seq: Resume(seq, Motion.STEP))
    assert program.wait(Stopped).reason == "step"
    program.ask(Resume)
    assert program.finish()[0] == 0


COROUTINES = """\
import asyncio
import torch

@torch.compile(backend="eager")
async def quick(x):
    y = x + 1
    return y * 2

@torch.compile(backend="eager")
async def waits(x):
    await asyncio.sleep(0.001)
    return x + 1

@torch.compile(backend="eager")
def gives(x):
    y = x + 1
    yield y
    yield helper(y) * 2

@torch.compile(backend="eager")
async def gives_later(x):
    yield x + 1
    await asyncio.sleep(0)
    yield helper(x) * 2

@torch.compile(backend="eager")
def takes(x, n):
    return sum(part for part in parts(x, n))

def parts(x, n):
    for i in range(n):
        yield x * i

@torch.compile(backend="eager")
def helper(x):
    return x + 5

def show(name, call):
    try:
        print(name, call())
    except Exception as error:
        print(name, type(error).__name__)

async def together(function):
    return await asyncio.gather(function(x), function(x + 1), function(x))

async def collect(function):
    return [part async for part in function(x)]

def interleaved():
    one, other = gives(x), gives(x + 1)
    return next(one), next(other), next(one), list(other)

x = torch.ones(3)
for _ in range(2):
    show("quick", lambda: asyncio.run(together(quick)))
    show("waits", lambda: asyncio.run(together(waits)))
    show("gives", interleaved)
    show("later", lambda: asyncio.run(collect(gives_later)))
    show("takes", lambda: takes(x, 3))
"""


def test_coroutines_and_generators(tmp_path: Path) -> None:
    """What Dynamo compiles of them depends on its version; each run of what it has is told."""
    calls = {"quick": 6, "waits": 6, "takes": 2, "helper": 6}
    plain = run_plainly(COROUTINES, tmp_path)
    program = Program(COROUTINES, tmp_path, channel=False, execute=True)
    ended = program.finish()
    program.close()
    assert ended[:2] == plain[:2]
    recording = Recording.open(program.recording)
    walks = recording.translations()
    for name, count in calls.items():
        of_name = [walk for walk in walks if walk.name == name]
        made = any(walk.outcome is Outcome.COMPILED for walk in of_name)
        ran = [walk for walk in of_name if walk.phase is Phase.EXECUTE]
        assert len(ran) == (count if made else 0), name
        assert all(walk.outcome is Outcome.RETURNED and walk.instructions > 5 for walk in ran)
    assert not recording.events(kinds={EventKind.NOTE})
    recording.close()


def test_a_coroutine_is_run_and_stepped_by_hand(tmp_path: Path) -> None:
    program = Program(COROUTINES, tmp_path, breakpoints=("entry:helper",))
    program.stopped()
    listing = program.ask(ListCache).data
    assert isinstance(listing, CacheListing)
    for code in listing.codes:
        for entry in code.entries:
            if code.name != "quick":
                continue
            ran = program.ask(partial(RunEntry, entry=entry.id, arguments="x", compare=True)).data
            assert isinstance(ran, RunResult)
            assert ran.comparison is not None
            assert ran.comparison.same
            assert ran.text == "Tensor f32[3]"
            assert program.ask(partial(StepEntry, entry=entry.id, arguments="x")).ok
            count = 0
            while (stopped := program.stopped()).reason != "back":
                count += 1
                program.resume(motion=Motion.STEP)
            assert count > 5
            assert stopped.text.endswith("returned Tensor f32[3]")
    program.resume()
    ended = program.finish()
    program.close()
    assert "never awaited" not in ended[2]


NEVER_AWAITED = """\
import asyncio, sys, threading, warnings
import torch

torch._dynamo.config.suppress_errors = True  # some versions of torch cannot compile one

@torch.compile(backend="eager")
async def quick(x):
    y = x + 1
    return y * 2

def say(what):
    print(what, sys.gettrace() is None)

async def main():
    x = torch.ones(3)
    await quick(x)
    say("awaited")
    quick(x)
    say("dropped")
    list(map(quick, [x]))
    say("called by C")
    held = [quick(x) for _ in range(3)]
    await held[1]
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    (lambda: None)()
    say("dropped by another thread")
    await quick(x)
    say("awaited again")

warnings.simplefilter("ignore")
asyncio.run(main())
"""


def test_a_coroutine_that_is_never_awaited_leaves_nothing_behind(tmp_path: Path) -> None:
    program = Program(NEVER_AWAITED, tmp_path, channel=False, execute=True)
    status, out, err = program.finish()
    program.close()
    assert status == 0, err
    assert [line.rpartition(" ")[2] for line in out.splitlines()] == ["True"] * 5, out
    recording = Recording.open(program.recording)
    walks = recording.translations()
    made = any(walk.outcome is Outcome.COMPILED for walk in walks)
    ran = [walk for walk in walks if walk.phase is Phase.EXECUTE]
    assert len(ran) == (3 if made else 0)  # those that were awaited
    assert all(walk.outcome is Outcome.RETURNED for walk in ran)
    recording.close()


def test_what_has_run_before_a_kill_is_there(tmp_path: Path) -> None:
    """The ends of walks that come close upon each other are committed together, and no later than
    with the next one that ends after a while."""
    source = """
import os, time, torch

@torch.compile(backend="eager")
def f(x):
    return x + 1

for _ in range(5):
    f(torch.ones(2))
time.sleep(0.2)
f(torch.ones(2))
os.kill(os.getpid(), 9)
"""
    _, path = record(source, tmp_path, "--execute")
    recording = Recording.open(str(path))
    walks = [each for each in recording.translations() if each.phase == Phase.EXECUTE]
    ends = [event.ref for event in recording.events() if event.kind == EventKind.END]
    recording.close()
    assert [each.outcome for each in walks] == [Outcome.RETURNED] * 6
    assert {each.id for each in walks} <= {*ends}
