"""A program cannot see from what it is that it was started under the debugger."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from stepper.model.control import Exiting, Hello, Notice
from tests.waits import Waits

from . import harness
from .harness import Program

Debug = Callable[..., Program]

run_plainly = partial(harness.run_plainly, forked=False)


@pytest.fixture
def debug(debug: Debug) -> Debug:
    return partial(debug, forked=False)


LOOK_AROUND = """
import os, sys, signal, threading, atexit
print(sorted(k for k in os.environ if k.startswith(("PYTHON", "STEPPER"))))
print(sys.path)
print("sitecustomize" in sys.modules, os.environ.get("PYTHONPATH"))
print([p for p in sys.path_importer_cache if "startup" in p])
print([t.name for t in threading.enumerate()])
print(sys.argv, __name__, __file__, sys.excepthook is sys.__excepthook__)
print(sys.stdout.name, sys.stdin.read())
print([signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGURG)])
print(signal.pthread_sigmask(signal.SIG_BLOCK, []), sys.gettrace(), sys.getprofile())
print(sorted(m for m in sys.modules if m.split(".")[0] in ("torch", "textual", "rich")))
print(sys.getrecursionlimit(), sys.flags, os.getcwd(), sys.orig_argv[1:])
"""


@pytest.mark.parametrize("path", [None, "/somewhere", "/somewhere:/else"])
def test_program_sees_what_it_would_see_without(
    debug: Debug, tmp_path: Path, path: str | None
) -> None:
    env = {} if path is None else {"PYTHONPATH": path}
    plain = run_plainly(LOOK_AROUND, tmp_path, "a", env=env)
    program = debug(LOOK_AROUND, args=("a",), env=env)
    assert program.finish() == plain
    kinds = [type(event) for event in program.drain()]
    assert kinds == [Hello, Exiting]


@pytest.mark.parametrize(
    "custom",
    [
        "print('mine'); value = 3",
        "import os; print('PYTHONPATH' in os.environ)",
        "raise RuntimeError('broken')",
        "import not_there",
        "import sitecustomize; sitecustomize.value = 4",
    ],
)
def test_sitecustomize_of_the_user_runs_as_ever(debug: Debug, tmp_path: Path, custom: str) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text(custom)
    source = (
        "import sys\n"
        "m = sys.modules.get('sitecustomize')\n"
        "print(getattr(m, '__file__', None), getattr(m, 'value', None))\n"
    )
    env = {"PYTHONPATH": str(own)}
    plain = run_plainly(source, tmp_path, env=env)
    assert debug(source, env=env).finish() == plain


@pytest.fixture(scope="module")
def waits(tmp_path_factory: pytest.TempPathFactory) -> Waits:
    return Waits(tmp_path_factory.mktemp("waits"))


@pytest.mark.parametrize(
    "ending",
    [
        "raise SystemExit(7)",
        "raise SystemExit('words')",
        "import os; os._exit(9)",
        "1 / 0",
        "import sys; sys.excepthook = lambda *a: print('hook', a[0]); 1 / 0",
        "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
        "import os, signal; os.kill(os.getpid(), signal.SIGINT)",
        "import ctypes; ctypes.string_at(0)",
        "import sys; sys.stdout.close(); sys.exit(2)",
        "import os; os.close(1); os.close(2)",
        "import os; os.closerange(3, 100)",
        "import os\nfor number in range(3, 60): os.dup2(1, number)",
        "import os\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\n"
        "os.closerange(3, 100)",
        "import os, subprocess, sys\nargv = [sys.executable, '-c', 'print(1)']\n"
        "subprocess.run(argv, preexec_fn=lambda: os.closerange(3, 60))",
        "import os; os.chdir('/'); print(open('/dev/null').fileno() > 2)",
        "import signal; signal.signal(signal.SIGPIPE, signal.SIG_DFL)",
        "import atexit; atexit.register(print, 'bye')",
        "import threading; threading.Thread(target=lambda: 1 / 0).start()",
    ],
)
def test_program_ends_as_it_would_end_without(
    debug: Debug, tmp_path: Path, waits: Waits, ending: str
) -> None:
    plain = run_plainly(ending, tmp_path)
    program = debug(ending, env=waits.env)
    assert program.finish() == plain
    assert waits.take() == []


FORK = """
import os, sys, warnings
warnings.simplefilter("always")
child = os.fork()
if child == 0:
    before = len(os.listdir("/proc/self/fd"))
    from stepper.debuggee.start import current
    print("child", current(), flush=True)
    sys.exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
import multiprocessing
def work(x): return x * x
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(work, [1, 2, 3]))
"""


def test_forked_children_let_go_and_nobody_is_warned(debug: Debug, tmp_path: Path) -> None:
    program = debug(FORK)
    status, out, err = program.finish()
    assert (status, out, err) == (0, "child None\n3\n[1, 4, 9]\n", "")
    # The children were not taken for the session's end.
    assert [type(event) for event in program.drain()] == [Hello, Exiting]


def test_a_front_end_that_dies_is_not_missed(debug: Debug, tmp_path: Path) -> None:
    program = debug("import signal; signal.signal(signal.SIGPIPE, signal.SIG_DFL)\nprint(input())")
    program.wait(Hello)
    program.socket.close()
    assert program.process.stdin is not None
    program.process.stdin.write("on\n")
    assert program.finish() == (0, "on\n", "")


def test_a_recording_that_cannot_be_made_is_told_and_the_program_runs(
    debug: Debug, tmp_path: Path
) -> None:
    foreign = tmp_path / "notes.txt"
    foreign.write_text("precious")
    program = debug("print('ran')", recording=str(foreign))
    assert program.wait(Hello).recording == ""
    assert str(foreign) in program.wait(Notice).text
    assert program.finish() == (0, "ran\n", "")
    assert foreign.read_text() == "precious"


def test_a_recording_of_the_same_name_is_replaced(debug: Debug, tmp_path: Path) -> None:
    for _ in range(2):
        program = debug("print('ran')")
        assert program.wait(Hello).recording == program.recording
        assert program.finish() == (0, "ran\n", "")


def test_pid_and_rank_are_filled_into_the_name(debug: Debug, tmp_path: Path) -> None:
    program = debug("", recording=str(tmp_path / "r{rank}-{pid}.stepper"), env={"RANK": "3"})
    hello = program.wait(Hello)
    assert hello.recording == str(tmp_path / f"r3-{program.process.pid}.stepper")
    assert hello.facts.rank == 3
    assert hello.facts.python == ".".join(map(str, sys.version_info[:3]))


@pytest.mark.parametrize("option", ["-I", "-S", "-E"])
def test_an_isolated_python_ends_the_channel_without_a_hello(debug: Debug, option: str) -> None:
    program = debug("print('ran')", options=(option,))
    assert program.finish() == (0, "ran\n", "")
    assert program.drain() == []


def test_a_broken_configuration_ends_the_channel(debug: Debug) -> None:
    program = debug("print(input())", engine="unheard-of")
    assert Exiting not in map(type, program.drain())
    assert program.process.stdin is not None
    program.process.stdin.write("on\n")
    assert program.finish() == (0, "on\n", "")
