"""The installed command in a real pseudo-terminal, with a real program under the debugger."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pexpect
import pyte
import pytest

from tests import ready
from tests.recordings import sample_recording

ROOT = Path(__file__).parents[2]
DOWN, RIGHT, END = "\x1b[B", "\x1b[C", "\x1b[F"
DEMO = ROOT / "demos" / "graph_breaks.py"

pytestmark = [pytest.mark.real_terminal, pytest.mark.slow, pytest.mark.xdist_group("terminal")]


class Terminal:
    """A terminal with a screen that can be looked at, and stepper running in it."""

    def __init__(self, child: pexpect.spawn[bytes], columns: int, rows: int) -> None:
        self.child = child
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)

    @property
    def lines(self) -> list[str]:
        """What is on the screen."""
        return list(self._screen.display)

    @property
    def colors(self) -> set[tuple[str, str]]:
        """In which colours something is written, and on which."""
        cells = (cell for row in self._screen.buffer.values() for cell in row.values())
        return {(cell.fg, cell.bg) for cell in cells if cell.data.strip()}

    @property
    def text(self) -> str:
        """The same as one text."""
        return "\n".join(self.lines)

    def look(self) -> None:
        """Take in what was drawn since the last look."""
        try:
            while True:
                self._stream.feed(self.child.read_nonblocking(65536, timeout=0.05))
        except (pexpect.TIMEOUT, pexpect.EOF):
            pass

    def until(self, condition: Callable[[], bool], seconds: float = 300.0) -> None:
        """Look until the condition holds."""
        deadline = time.monotonic() + seconds
        while True:
            self.look()
            if condition():
                return
            assert time.monotonic() < deadline, self.text

    def sees(self, *words: str) -> None:
        """Wait until all the words are on the screen."""
        self.until(lambda: all(word in self.text for word in words))

    def keys(self, keys: str) -> None:
        """Type."""
        self.child.send(keys)


@contextmanager
def stepper(
    *arguments: str,
    state: Path,
    size: tuple[int, int] = (80, 24),
    more: dict[str, str] | None = None,
    forked: bool = False,
) -> Iterator[Terminal]:
    """The command in a terminal of `size` columns and rows; if `forked`, its program begins as
    `tests.ready` says."""
    columns, rows = size
    env = {**os.environ, "TERM": "xterm-256color", "XDG_STATE_HOME": str(state)}
    # The terminal says how large it is; what runs tests in parallel may have said otherwise.
    for name in ("NO_COLOR", "COLUMNS", "LINES"):
        env.pop(name, None)
    env.update(more or {})
    python, *words = ready.python("-m", "stepper", *arguments, forked=forked)
    child = pexpect.spawn(
        python,
        words,
        dimensions=(rows, columns),
        env=env,
        cwd=str(ROOT),
        timeout=600,
    )
    try:
        yield Terminal(child, columns, rows)
    finally:
        child.kill(signal.SIGKILL)
        child.wait()
        child.close()


def position(terminal: Terminal) -> int:
    """The moment in the header; 0 while it is drawn."""
    found = re.search(r"moment ([\d,]+)/", terminal.lines[0])
    return int(found[1].replace(",", "")) if found else 0


def quit_and_wait(terminal: Terminal) -> int:
    """Wait until the command is gone; returns its exit code."""
    terminal.child.expect(pexpect.EOF)
    terminal.child.wait()
    return int(terminal.child.exitstatus or 0)


@pytest.mark.parametrize("more", [{}, {"NO_COLOR": "1"}], ids=["16 colours", "NO_COLOR"])
def test_sixteen_colours_are_the_terminals_own(tmp_path: Path, more: dict[str, str]) -> None:
    """A theme's colours, of which sixteen are left there, would be text on its own colour."""
    recording = tmp_path / "sample.stepper"
    sample_recording(str(recording))
    more = {"TERM": "xterm-16color", "COLORTERM": "", **more}
    with stepper("open", str(recording), "--at", "5", state=tmp_path, more=more) as terminal:
        terminal.sees("moment 5/", "[source")
        grounds = {ground for _, ground in terminal.colors}
        assert grounds == {"default"}
        assert (len(terminal.colors) > 1) == ("NO_COLOR" not in more)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
def test_break_on_a_graph_break_step_back_see_the_stack_quit_and_open_again(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    at_break = ("run", "--break", "graph-break", str(DEMO))
    with stepper(*at_break, state=tmp_path, size=size, forked=True) as terminal:
        terminal.sees("STOPPED", "with_print", "graph break")
        stop = position(terminal)
        for back in range(1, 11):
            terminal.keys("S")
            terminal.until(lambda back=back: position(terminal) == stop - back)  # type: ignore[misc]  # no type is inferred for a default
        terminal.keys("3")
        # What is there depends on this Python's bytecode.
        terminal.until(lambda: "TOS" in terminal.text or "stack is empty" in terminal.text)
        terminal.keys("q")
        terminal.sees("The program is still alive.")
        terminal.keys("k")
        assert quit_and_wait(terminal) == 0
    (recording,) = tmp_path.rglob("*.stepper")
    with stepper("open", str(recording), state=tmp_path, size=size) as terminal:
        terminal.sees("ENDED", "graph_breaks.py", "causes of graph breaks")
        terminal.keys("\x1b")
        terminal.until(lambda: "moment " in terminal.lines[0])
        assert position(terminal) == stop
        terminal.keys("q")
        assert quit_and_wait(terminal) == 0


def test_a_program_that_runs_to_its_end_leaves_its_output_and_its_exit_code(tmp_path: Path) -> None:
    script = tmp_path / "fails.py"
    script.write_text(
        "import sys, torch\n"
        "@torch.compile(backend='eager')\n"
        "def double(x):\n"
        "    return x * 2\n"
        "print('sum', double(torch.ones(3)).sum().item())\n"
        "sys.exit(7)\n"
    )
    with stepper("run", str(script), state=tmp_path, forked=True) as terminal:
        terminal.sees("STOPPED", "double")
        terminal.keys("c")
        terminal.sees("ENDED", "exit code 7")
        terminal.keys("O")
        terminal.sees("sum 6.0")
        terminal.keys("\x11")
        assert quit_and_wait(terminal) == 7


def test_the_end_of_the_program_by_a_signal_is_explained(tmp_path: Path) -> None:
    script = tmp_path / "dies.py"
    script.write_text(
        "import os, signal, torch\n"
        "@torch.compile(backend='eager')\n"
        "def double(x):\n"
        "    return x * 2\n"
        "double(torch.ones(3))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    with stepper("run", str(script), state=tmp_path, forked=True) as terminal:
        terminal.sees("STOPPED")
        terminal.keys("c")
        terminal.sees("was killed by SIGKILL (9)")
        terminal.keys("\x1b")
        terminal.until(lambda: "moment " in terminal.lines[0])
        last = position(terminal)
        terminal.keys("S")
        terminal.until(lambda: position(terminal) == last - 1)


def test_the_main_paths_of_the_screen(tmp_path: Path) -> None:
    """What one finds without a manual, each by its key: the answer, home, the palette, search,
    layouts, a breakpoint that is refused with the nearest, and what leaves without killing."""
    script = tmp_path / "net.py"
    script.write_text(
        "import torch\n"
        "class Net(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        print('seen')\n"
        "        return x * 2\n"
        "torch.compile(Net(), backend='eager')(torch.ones(3))\n"
        "name = input('name? ')\n"
        "print('hello', name, flush=True)\n"
        "while True: pass\n"
    )
    with stepper("run", str(script), state=tmp_path, size=(120, 30)) as terminal:
        terminal.sees("STOPPED", "entry")
        terminal.keys("B")
        terminal.sees("function:GLOB")
        terminal.keys("nte.py:3\r")
        terminal.sees("there is no file nte.py: did you mean net.py?")
        terminal.keys("\x1b")  # two at once would be another key
        terminal.until(lambda: "Esc leaves the line" not in terminal.text)
        terminal.keys("\x1b")
        terminal.until(lambda: "function:GLOB" not in terminal.text)
        terminal.keys("c")
        terminal.sees("LIVE", "name?")
        terminal.keys("f")
        terminal.sees("follows the recording")
        terminal.keys("O")
        terminal.sees("input for the program")
        terminal.keys("Ann\r")
        terminal.sees("hello Ann")
        terminal.keys("\x03")
        terminal.sees("stops at its next moment", "net.py:9 in <module>")
        # However long that takes: it never compiles again.
        terminal.sees("nothing new for")
        terminal.keys("\x03")
        terminal.sees("ENDED", "causes of graph breaks", "Net.forward, resumed at 4")
        terminal.keys("\r")
        terminal.sees("graph break: ", "change: ")
        terminal.keys("\x06seen")
        terminal.sees("source: 1 hit")
        terminal.keys("\x1b")
        terminal.until(lambda: "source: 1 hit" not in terminal.text)
        terminal.keys("q")
        quit_and_wait(terminal)


def test_ctrl_c_pauses_a_running_program_and_not_the_debugger(tmp_path: Path) -> None:
    script = tmp_path / "endless.py"
    script.write_text(
        "import torch\n"
        "while True:\n"
        "    torch.compiler.reset()\n"
        "    torch.compile(lambda x: x * 2, backend='eager')(torch.ones(3))\n"
    )
    with stepper("run", str(script), state=tmp_path, forked=True) as terminal:
        terminal.sees("STOPPED")
        terminal.keys("c")
        terminal.sees("LIVE")
        terminal.keys("\x03")
        terminal.sees("STOPPED", "pause")
        terminal.keys("q")
        terminal.sees("still alive")
        terminal.keys("k")
        quit_and_wait(terminal)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
def test_the_guarded_object_is_deleted_and_its_entry_is_seen_to_die(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    demo = str(ROOT / "demos" / "entry_lifetime.py")
    called = ("run", "--break", "entry:describe", demo)
    with stepper(*called, state=tmp_path, size=size, forked=True) as terminal:
        terminal.sees("STOPPED", "entry 2 of describe")
        terminal.keys("k")
        terminal.sees("cache 1", "✓ 1 0/0  valid")
        terminal.keys(DOWN + RIGHT)
        terminal.sees("♥ lives on class Scaler")
        terminal.keys("e")
        terminal.sees(">>>")
        terminal.keys("del scaler; gc.collect()\r")
        terminal.sees("entry 1 (0/0) died: class Scaler died, in the console")
        terminal.sees("✗ 1 0/0  invalid", "† lives on class Scaler")
        terminal.keys("\x1b")
        terminal.sees("s step")
        terminal.keys("9" + END)
        terminal.sees("invalidate")
        terminal.keys("c")
        terminal.sees("ENDED", "exit code 0")
        terminal.keys("k")
        terminal.sees("as it was when the program was asked")
        terminal.keys("q")
        assert quit_and_wait(terminal) == 0


def test_another_shape_fails_a_guard_and_is_compiled_again(tmp_path: Path) -> None:
    script = tmp_path / "shapes.py"
    script.write_text(
        "import torch\n"
        "@torch.compile(backend='eager', dynamic=False)\n"
        "def double(x):\n"
        "    return x * 2\n"
        "double(torch.ones(3))\n"
        "print('second', double(torch.ones(5)).sum().item())\n"
    )
    second = "lookup:double, ignore 1"
    words = ("run", "--lookups", "-b", second, str(script))
    with stepper(*words, state=tmp_path, forked=True) as terminal:
        terminal.sees("STOPPED", "lookup", "double")
        terminal.keys("42")
        terminal.sees("verdict", "ENTRY")

        def step() -> None:
            here = position(terminal)
            terminal.keys("s")
            terminal.until(lambda: position(terminal) == here + 1)

        while "FAIL" not in terminal.text:
            step()
        terminal.sees("▶  TENSOR_MATCH", "L['x']", "✗ verdict     FAIL", "shape[0] 3 ≠ 5")
        step()
        terminal.sees("MISS")
        step()
        terminal.until(lambda: "0/1  attempt 1" in terminal.lines[0])
        terminal.sees("▶   2    0 RESUME")
        terminal.keys("c")
        terminal.sees("ENDED", "exit code 0")


def test_it_ends_with_its_terminal_even_if_nobody_says_so(tmp_path: Path) -> None:
    deaf = 'trap "" HUP; exec "$0" "$@"'
    command = ["/bin/sh", "-c", deaf, sys.executable, "-m", "stepper", "run", str(DEMO)]
    env = {**os.environ, "TERM": "xterm-256color", "XDG_STATE_HOME": str(tmp_path)}
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, env=env,
        cwd=ROOT,
    ) as process:  # fmt: skip
        os.close(theirs)
        seen = b""
        while b"STOPPED" not in seen:
            seen += os.read(ours, 65536)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.close(ours)
        try:
            assert process.wait(60) == 0
        finally:
            process.kill()
    assert len(children) == 1
    with pytest.raises(ProcessLookupError):
        os.kill(int(children[0]), 0)
