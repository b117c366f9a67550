"""`stepper.breakpoint()`, `stepper.record()` and `stepper.debug()` in programs of one's own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pexpect
import pytest

from stepper.model.control import Notice
from stepper.recording.reader import Recording
from tests.conftest import clean_environment

from .harness import Program, run_plainly

ROOT = str(Path(__file__).resolve().parents[2])
HERE = {"PYTHONPATH": ROOT}

COMPILED = """
import stepper, torch
def f(x):
    y = x + 1
    {line}
    return y * 2
graphs = []
def backend(module, inputs):
    graphs.append(module.code)
    return module.forward
compiled = torch.compile(f, backend=backend, fullgraph=True)
"""


def test_importing_stepper_costs_nothing() -> None:
    source = "import sys, stepper; print([m for m in sys.modules if m.startswith('stepper.')])"
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout == "[]\n"


def test_record_records_what_is_compiled_inside(tmp_path: Path) -> None:
    source = COMPILED.format(line="pass") + (
        "import os\n"
        "with stepper.record('one-{pid}.stepper'):\n"
        "    compiled(torch.ones(2))\n"
        "with stepper.record('two.stepper') as two:\n"
        "    torch.compile(lambda x: x - 1, backend='eager')(torch.ones(2))\n"
        "torch.compile(lambda x: x - 2, backend='eager')(torch.ones(2))\n"
        "try:\n"
        "    with stepper.record('/nowhere/at/all'): pass\n"
        "except stepper.SessionError as error: print(error)\n"
        "print(two)\n"
        "print(os.getpid())\n"
    )
    status, out, err = run_plainly(source, tmp_path, env=HERE)
    assert (status, err) == (0, "")
    refusal, shown, pid = out.splitlines()
    assert "/nowhere/at/all" in refusal
    assert shown == f"<stepper recording {str(tmp_path / 'two.stepper')!r}>"
    for name, function in ((f"one-{pid}.stepper", "f"), ("two.stepper", "<lambda>")):
        recording = Recording.open(str(tmp_path / name))
        assert [t.name for t in recording.translations()] == [function]
        assert recording.ended == "exit"
        recording.close()


LOST = (
    COMPILED.format(line="pass")
    + """
import os
with stepper.record("run-{{pid}}.stepper") as recording:
    compiled(torch.ones(2))
    first = recording.path
    {what}
    torch.compile(lambda x: x - 1, backend="eager")(torch.ones(2))
print(first == os.path.abspath(f"run-{{os.getpid()}}.stepper"))
print(recording.path)
"""
)


@pytest.mark.parametrize("what", ["os.rename(first, 'else.stepper')", "os.unlink(first)"])
def test_a_recording_that_is_taken_away_is_told_and_found(what: str, tmp_path: Path) -> None:
    status, out, err = run_plainly(LOST.format(what=what), tmp_path, env=HERE)
    was, path = out.splitlines()
    (first,) = {each.name.split("-")[1].split(".")[0] for each in tmp_path.glob("run-*.stepper")}
    old = str(tmp_path / f"run-{first}.stepper")
    assert (status, was, path) == (0, "True", str(tmp_path / f"run-{first}-2.stepper"))
    told = f"{old} was moved or deleted while it was written; the recording goes on in {path}"
    assert err == f"stepper: {told}\n"
    with closing(Recording.open(path)) as recording:
        assert recording.ended == "exit"
        assert [each.name for each in recording.translations()] == ["f", "<lambda>"]
    if (tmp_path / "else.stepper").exists():
        with closing(Recording.open(str(tmp_path / "else.stepper"))) as recording:
            assert recording.ended == told
            assert [each.name for each in recording.translations()] == ["f"]


@pytest.mark.parametrize("front_end", [False, True])
def test_a_recording_that_can_be_written_no_more_is_told_once(
    front_end: bool, tmp_path: Path
) -> None:
    """Of a file that may grow no more; for a full disk: `tests.recording.test_full_disk`."""
    what = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))"
    source = LOST.format(what=what)
    if front_end:
        (tmp_path / "own.py").write_text(source)
        done = subprocess.run(
            [sys.executable, "-m", "stepper", "record", "-o", "r.stepper", "own.py"],
            cwd=tmp_path, env=clean_environment() | HERE, capture_output=True, text=True,
            timeout=600, check=False,
        )  # fmt: skip
        status, err = done.returncode, done.stderr
        path = tmp_path / "r.stepper"
    else:
        status, out, err = run_plainly(source, tmp_path, env=HERE)
        path = Path(out.splitlines()[1])
    assert status == 0
    ends = "stepper: the recording ends here, the program goes on: "
    assert err.count(ends) == 1
    assert front_end or (err.startswith(ends) and err.count("\n") == 1)
    with closing(Recording.open(str(path))) as recording:
        assert recording.translations()[0].name == "f"


def test_record_inside_a_session_leaves_it_alone(debug: Callable[..., Program]) -> None:
    program = debug("import stepper\nwith stepper.record('x.stepper'): print('in')\n", env=HERE)
    assert "x.stepper" in program.wait(Notice).text
    assert program.finish() == (0, "in\n", "")


def test_breakpoint_in_compiled_code_leaves_graphs_as_they_are(tmp_path: Path) -> None:
    printing = "print(len(graphs), graphs[0])\n"
    calls = "compiled(torch.ones(2)); compiled(torch.ones(2))\n"
    with_it = COMPILED.format(line="stepper.breakpoint()") + (
        "with stepper.record('a.stepper'):\n    " + calls + printing
    )
    without = COMPILED.format(line="pass") + calls + printing
    plain = run_plainly(without, tmp_path, env=HERE)
    assert plain[0] == 0
    assert run_plainly(with_it, tmp_path, env=HERE) == plain


def test_debug_stops_at_the_functions_next_translation(debug: Callable[..., Program]) -> None:
    source = COMPILED.format(line="pass") + (
        "torch.compile(lambda x: x - 1, backend='eager')(torch.ones(2))\n"
        "assert stepper.debug(compiled) is compiled\n"
        "compiled(torch.ones(2)); compiled(torch.ones(3)); print('done')\n"
    )
    program = debug(source, env=HERE)
    stop = program.stopped()
    assert stop.reason == "breakpoint"
    recording = Recording.open(program.recording)
    assert recording.code(recording.frame(recording.moment(stop.moment).frame).code).name == "f"
    recording.close()
    program.resume()
    assert program.finish() == (0, "done\n", "")


@pytest.mark.parametrize(
    ("base", "method"), [("torch.nn.Module", "forward"), ("object", "__call__")]
)
def test_debug_takes_what_is_called(debug: Callable[..., Program], base: str, method: str) -> None:
    source = (
        "import stepper, torch\n"
        f"class Net({base}):\n"
        f"    def {method}(self, x): return x + 1\n"
        "net = stepper.debug(torch.compile(Net(), backend='eager'))\n"
        "net(torch.ones(2)); print('done')\n"
    )
    program = debug(source, env=HERE)
    assert program.stopped().text == f"function:Net.{method}, once"
    program.resume()
    assert program.finish() == (0, "done\n", "")


def test_without_a_terminal_breakpoint_says_what_to_do(tmp_path: Path) -> None:
    status, _, err = run_plainly("import stepper; stepper.breakpoint()", tmp_path, env=HERE)
    assert status == 1
    assert "stepper run" in err.splitlines()[-1]


@pytest.mark.real_terminal
@pytest.mark.parametrize("inside", [False, True])
def test_breakpoint_opens_the_console_on_this_terminal(tmp_path: Path, inside: bool) -> None:
    lines = ("stepper.breakpoint()", "pass") if inside else ("pass", "stepper.breakpoint()")
    script = tmp_path / "program.py"
    script.write_text(
        COMPILED.format(line=lines[0]) + f"{lines[1]}\nprint(compiled(torch.ones(2)).tolist())\n"
    )
    child = pexpect.spawn(
        sys.executable,
        [str(script)],
        env={**os.environ, **HERE, "XDG_STATE_HOME": str(tmp_path / "state"), "TERM": "dumb"},
        cwd=str(tmp_path),
        encoding="utf-8",
        timeout=600,
    )
    child.expect(r"\(stepper\)")
    child.sendline("p tx.f_code.co_name")
    child.expect("'f'")
    child.sendline("detach")
    child.expect(r"\[4\.0, 4\.0\]")
    child.expect(pexpect.EOF)
    child.wait()
    child.close()
    assert child.exitstatus == 0
    assert list((tmp_path / "state" / "stepper" / "recordings").glob("program-*.stepper"))
