"""Real programs under torch.compile: where they stop, what can be asked there, how they go on."""

from __future__ import annotations

import contextlib
import signal
import sqlite3
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

from stepper.model.breakpoint import parse_breakpoint
from stepper.model.control import (
    BreakpointChanged,
    Detach,
    Evaluate,
    Exiting,
    Hello,
    Notice,
    Pause,
    Response,
    Resume,
    Running,
    SetBreakpoints,
    Stopped,
    Terminate,
)
from stepper.model.stepping import Motion
from stepper.model.trace import EventKind
from stepper.recording.reader import Recording

from .harness import Program, until

Debug = Callable[..., Program]

PROGRAM = """
import torch

def helper(x):
    y = x + 1
    return y * 2

def f(x):
    a = helper(x)
    b = a.relu()
    torch._dynamo.graph_break()
    return b - 1

compiled = torch.compile(f, backend="eager")
print(compiled(torch.ones(2)).tolist())
"""
OUTPUT = (0, "[3.0, 3.0]\n", "")


def evaluate(program: Program, expression: str) -> Response:
    return program.ask(lambda seq: Evaluate(seq, expression))


def line_at(program: Program, stop: Stopped) -> tuple[str, int | None]:
    recording = Recording.open(program.recording)
    try:
        moment = recording.moment(stop.moment)
        code = recording.code(recording.frame(moment.frame).code)
        return code.name, code.instructions[moment.ip].line
    finally:
        recording.close()


def test_breakpoints_motions_and_questions(debug: Debug) -> None:
    program = debug(PROGRAM, breakpoints=("function:helper", "graph-break"), stop_at_entry=True)
    assert program.wait(Hello).recording == program.recording

    entry = program.stopped()
    assert (entry.moment, entry.reason, entry.thread) == (1, "entry", "MainThread")
    assert line_at(program, entry)[0] == "f"

    program.resume()
    program.wait(Running)
    stop = program.stopped()
    assert (stop.reason, stop.breakpoint) == ("breakpoint", 1)
    assert line_at(program, stop) == ("helper", 4)

    # Motions end where the reader's do.
    program.resume(motion=Motion.STEP)
    assert program.stopped().moment == stop.moment + 1
    program.resume(motion=Motion.STEP, count=2)
    assert program.stopped().moment == stop.moment + 3
    program.resume(motion=Motion.LINE)
    assert line_at(program, program.stopped()) == ("helper", 6)
    program.resume(motion=Motion.FINISH)
    assert line_at(program, program.stopped()) == ("f", 9)

    # Questions are answered by the stopped translator itself.
    assert evaluate(program, "tx.f_code.co_name").text == "'f'"
    assert evaluate(program, "len(stack)").ok
    assert "relu" not in evaluate(program, "graph").text
    assert evaluate(program, "n = 6") == Response(evaluate(program, "0").seq - 1)
    assert evaluate(program, "n * 7").text == "42"
    failed = evaluate(program, "nothing_of_the_kind")
    assert (failed.ok, failed.text.startswith("NameError")) == (False, True)
    assert evaluate(program, "print('aside')").printed == "aside\n"
    assert not program.ask(lambda seq: Evaluate(seq, "stack", frame=4711)).ok
    assert not program.ask(Pause).ok

    program.resume()
    stop = program.stopped()
    assert stop.breakpoint == 2
    assert line_at(program, stop) == ("f", 11)
    assert evaluate(program, "locals['b']").ok
    assert evaluate(program, "'relu' in str(graph)").text == "True"
    program.ask(lambda seq: SetBreakpoints(seq, ()))
    program.resume()
    assert program.finish() == OUTPUT
    assert any(isinstance(event, Exiting) for event in program.drain())
    recording = Recording.open(program.recording)
    assert recording.ended == "exit"
    recording.close()


def test_conditions_ignore_counts_and_one_shots(debug: Debug) -> None:
    program = debug(
        PROGRAM,
        breakpoints=(
            "opcode:LOAD_FAST*, if tx.f_code.co_name == 'helper', ignore 1, once",
            "guard, if this_name_is_unknown, once",
            "node:*relu*",
            "function:never_called",
        ),
    )
    stops = []
    changes = []
    while True:
        while not program.events:
            if not program.read():
                break
        if not program.events:
            break
        event = program.events.pop(0)
        if isinstance(event, Stopped):
            stops.append((event.breakpoint, event.text))
            program.resume()
        elif isinstance(event, BreakpointChanged):
            changes.append((event.id, event.removed, event.text.partition(":")[0]))
    assert program.finish() == OUTPUT
    assert {number for number, _ in stops} == {1, 2, 3}
    assert [number for number, _ in stops].count(1) == 1
    assert (1, True, "") in changes
    assert (2, True, "NameError") in changes
    assert any("NameError" in text for _, text in stops)


HANG = """
import time, torch

class Value:
    def __repr__(self):
        print("to stdout")
        time.sleep(600)

value = Value()

def f(x):
    return x + 1

compiled = torch.compile(f, backend="eager")
print(compiled(torch.ones(2)).tolist())
"""


def test_a_repr_that_hangs_and_prints_is_interrupted(debug: Debug) -> None:
    program = debug(HANG, stop_at_entry=True)
    program.stopped()
    answer = evaluate(program, "__import__('__main__').value")
    assert not answer.ok
    assert "interrupted after 1 s" in answer.text
    assert answer.printed == "to stdout\n"
    assert evaluate(program, "'x' * 100_000").text.endswith("… (100,002 characters)")
    assert evaluate(program, "raise SystemExit(3)").text == "SystemExit: 3"
    program.resume()
    assert program.finish() == (0, "[2.0, 2.0]\n", "")


def test_terminate_raises_keyboard_interrupt_in_the_program(debug: Debug) -> None:
    source = PROGRAM.replace("print(comp", "try:\n    print(comp") + (
        "except KeyboardInterrupt:\n    print('caught')\nprint(compiled(torch.ones(2)).tolist())\n"
    )
    program = debug(source, stop_at_entry=True, breakpoints=("graph-break",))
    program.stopped()
    assert program.ask(Terminate).ok
    # No further stop: the user has said that it is over.
    assert program.finish() == (0, "caught\n[3.0, 3.0]\n", "")


def test_ctrl_c_at_a_stop_reaches_the_program_and_not_an_evaluation(debug: Debug) -> None:
    source = PROGRAM.replace("print(comp", "try:\n    print(comp") + (
        "except KeyboardInterrupt:\n    print('caught')\n"
    )
    program = debug(source, stop_at_entry=True)
    program.stopped()
    mark = program.script.with_name("evaluating")
    asked = program.send(
        lambda seq: Evaluate(
            seq, f"open({str(mark)!r}, 'w').close() or __import__('time').sleep(9)"
        )
    )
    until(mark.exists)
    program.process.send_signal(signal.SIGINT)
    assert program.response(asked).text == "interrupted by Ctrl-C"
    assert evaluate(program, "1 + 1").text == "2"
    program.process.send_signal(signal.SIGINT)
    program.wait(Running)
    assert program.finish() == (0, "caught\n", "")


def test_a_full_disk_is_told_and_the_program_runs_on(debug: Debug) -> None:
    source = (
        PROGRAM
        + """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
torch.compile(lambda x: x.sin().cos().tan() - 3, backend="eager")(torch.ones(5))
print("on")
"""
    )
    program = debug(source)
    assert program.finish() == (0, OUTPUT[1] + "on\n", "")
    notices = [event.text for event in program.drain() if isinstance(event, Notice)]
    assert len(notices) == 1
    assert notices[0].startswith("the recording ends here, the program goes on: ")
    recording = Recording.open(program.recording)
    assert recording.translations()[0].name == "f"
    recording.close()


def test_terminate_while_running_is_ctrl_c(debug: Debug) -> None:
    program = debug(
        "import time\ntry:\n    open('waiting', 'w').close(); time.sleep(60)\n"
        "except KeyboardInterrupt:\n    print('caught')\n"
    )
    program.wait(Hello)
    until(program.script.with_name("waiting").exists)
    assert not program.ask(Resume).ok
    assert not evaluate(program, "1").ok
    assert program.ask(Terminate).ok
    assert program.finish() == (0, "caught\n", "")


def test_detach_runs_on_and_closes_the_recording(debug: Debug) -> None:
    program = debug(PROGRAM, stop_at_entry=True)
    program.stopped()
    assert program.ask(Detach).ok
    assert program.finish() == OUTPUT
    recording = Recording.open(program.recording)
    assert recording.ended == "detached"
    assert recording.newest == 1
    recording.close()


def test_a_front_end_that_dies_at_a_stop_leaves_a_whole_recording(debug: Debug) -> None:
    program = debug(PROGRAM, breakpoints=("graph-break",))
    stop = program.stopped()
    program.socket.close()
    assert program.finish() == OUTPUT
    recording = Recording.open(program.recording)
    assert recording.ended == "exit"
    assert recording.newest > stop.moment
    recording.close()


def test_killed_at_a_stop_nothing_up_to_it_is_lost(debug: Debug) -> None:
    program = debug(PROGRAM, breakpoints=("graph-break",), forked=False)
    stop = program.stopped()
    program.process.kill()
    program.process.wait()
    recording = Recording.open(program.recording)
    assert recording.ended is None
    assert recording.newest >= stop.moment
    assert recording.state(stop.moment).top
    recording.close()


def test_malformed_messages_are_refused_and_do_no_harm(debug: Debug) -> None:
    program = debug(PROGRAM, stop_at_entry=True)
    program.stopped()
    program.send_bytes(b"\xff\x00nonsense")
    assert not program.response(0).ok
    program.responses.clear()
    program.send_bytes(b"\x82\xa4type\xa6resume\xa3seq\xa3one")
    assert not program.response(0).ok
    program.responses.clear()
    program.socket.sendall((2**31).to_bytes(4, "big") + b"x" * 1000)
    assert "refused" in program.response(0).text
    # The length is believed, and what it announced is skipped: here the rest never comes.
    program.socket.close()
    assert program.finish() == OUTPUT


@pytest.mark.parametrize("detail", ["all", "stops"])
def test_breakpoint_in_compiled_code_stops_there_and_breaks_no_graph(
    debug: Debug, detail: str
) -> None:
    source = (
        PROGRAM.replace("import torch\n", "import stepper, torch\n")
        .replace("    b = a", "    stepper.breakpoint()\n    b = a")
        .replace("    torch._dynamo.graph_break()\n", "")
        .replace('backend="eager"', 'backend="eager", fullgraph=True')
    )
    program = debug(source, detail=detail)
    stop = program.stopped()
    assert stop.reason == "breakpoint()"
    assert line_at(program, stop) == ("f", 10)
    assert evaluate(program, "sorted(locals)").text == "['a', 'x']"
    program.resume(motion=Motion.LINE)
    assert line_at(program, program.stopped()) == ("f", 11)
    program.resume()
    assert program.finish() == OUTPUT


def test_pause_and_new_breakpoints_while_running(debug: Debug) -> None:
    source = PROGRAM.replace("compiled = ", "input()\ncompiled = ")
    program = debug(source)
    program.wait(Hello)
    assert program.ask(Pause).ok
    breakpoint = parse_breakpoint("line:program.py:6, once")
    assert program.ask(lambda seq: SetBreakpoints(seq, (breakpoint,))).ok
    assert program.process.stdin is not None
    program.process.stdin.write("\n")
    program.process.stdin.flush()
    assert program.stopped().reason == "pause"
    program.resume()
    assert line_at(program, program.stopped()) == ("helper", 6)
    program.resume()
    assert program.finish() == OUTPUT


@pytest.mark.skipif(
    version("torch").startswith("2.11."), reason="torch 2.11 itself crashes on this program"
)
def test_compiling_in_other_threads_stops_one_at_a_time(debug: Debug) -> None:
    source = PROGRAM.partition("compiled =")[0] + (
        "import threading\n"
        "def work(n):\n"
        "    g = lambda x: helper(x) + n\n"
        "    torch.compile(g, backend='eager')(torch.ones(2))\n"
        "ts = [threading.Thread(target=work, args=(n,), name=f'w{n}') for n in range(3)]\n"
        "[t.start() for t in ts]; [t.join() for t in ts]; print('done')\n"
    )
    program = debug(source, breakpoints=("function:helper",))
    names = set()
    for _ in range(3):
        stop = program.stopped()
        names.add(stop.thread)
        assert evaluate(program, "tx.f_code.co_name").text == "'helper'"
        program.resume()
    assert names == {"w0", "w1", "w2"}
    assert program.finish() == (0, "done\n", "")


def test_fork_in_the_midst_of_a_session(debug: Debug, tmp_path: Path) -> None:
    source = PROGRAM.replace(
        "print(",
        "import os\nif os.fork() == 0:\n    compiled(torch.zeros(3)); os._exit(0)\n"
        "os.wait()\nprint(",
    )
    program = debug(source, breakpoints=("function:helper, once",), forked=False)
    stop = program.stopped()  # the parent's: the child has let go, and would stop first
    assert stop.moment > 0
    assert int(evaluate(program, "__import__('os').getpid()").text) == program.process.pid
    program.resume()
    assert program.finish() == OUTPUT
    with contextlib.closing(sqlite3.connect(program.recording)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_what_is_run_at_a_stop_is_noted_and_what_only_looks_is_not(debug: Debug) -> None:
    program = debug(PROGRAM, stop_at_entry=True)
    stop = program.stopped()
    for expression in ("len(stack)", "kept = []", "kept.append(\n    1)", "kept[0]", "del gone"):
        evaluate(program, expression)
    recording = Recording.open(program.recording)
    noted = recording.events(kinds=(EventKind.INTERVENTION,))
    recording.close()
    assert [event.text for event in noted] == [
        "`kept = []` was run at the stop",
        "`kept.append( 1)` was run at the stop",
        "`del gone` was run at the stop",
    ]
    assert {event.moment for event in noted} == {stop.moment}


ASSIGNS = """
import torch

rate = 1

@torch.compile(backend="eager", dynamic=False)
def f(x):
    y = x + 1
    return y * 2

def train(count):
    step = 0
    for size in range(count):
        f(torch.ones(size + 1))
        step += 1
    return step

print(train(2), rate)
f(torch.ones(5))
print(mine, "name" in globals())
"""


def test_what_is_assigned_at_a_stop_lasts_or_is_refused(debug: Debug) -> None:
    program = debug(ASSIGNS, breakpoints=("line:program.py:8",))

    def texts(*sources: str) -> list[str]:
        program.stopped()
        answers = [evaluate(program, each) for each in sources]
        program.resume()
        return [each.text for each in answers]

    traced, own, ours, walrus, shadows, *rest = texts(
        "x = 3", "step = 7", "stack = []", "(step := 7)", "rate = 5", "name = 41",
        "global rate; rate = 6", "rate", "[found := 4 for _ in 'a']", "def g(a): return a + name",
    )  # fmt: skip
    assert traced.startswith("'x' is a local of the frame that is traced")
    assert own == walrus
    assert own.startswith("'step' is a local variable of train()")
    assert ours.startswith("'stack' is a name of the debugger's")
    assert shadows.startswith("rate is new here")
    assert rest == ["", "", "6", "[4]", ""]
    assert texts("name, found, g(1)", "del name", "name")[::2] == [
        "(41, 4, 42)",
        "NameError: name 'name' is not defined",
    ]
    # In a module's frame it is the program's own.
    assert texts("mine = 8", "x = 3") == ["", traced]
    assert program.finish() == (0, "2 6\n8 False\n", "")
