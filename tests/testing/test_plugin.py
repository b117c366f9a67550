"""The plugin in runs of pytest of their own, as people run it."""

from __future__ import annotations

import sys
from pathlib import Path

import pexpect
import pytest

from stepper.recording.reader import Recording
from tests.ready import executable

pytest_plugins = ["pytester"]

PROGRAM = """
import pytest
import torch

@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()

def compiled(function):
    return torch.compile(function, backend="eager", dynamic=False)

def broken(x):
    x = x + 1
    print("in between")
    return x * 2
"""

BLOCKS = """
def test_within(stepper_limits):
    function = compiled(lambda x: x + 1)
    with stepper_limits(graphs=1, breaks=0, recompilations=0):
        function(torch.ones(2))

def test_only_the_block_counts(stepper_limits):
    function = compiled(lambda x: x + 1)
    function(torch.ones(2)), function(torch.ones(3)), compiled(broken)(torch.ones(2))
    with stepper_limits(graphs=0, breaks=0, recompilations=0):
        function(torch.ones(2))

def test_compiles_again(stepper_limits):
    function = compiled(lambda x: x + 1)
    function(torch.ones(2))
    with stepper_limits(recompilations=0):
        function(torch.ones(3))

def test_own_error(stepper_limits):
    with stepper_limits(graphs=0):
        compiled(lambda x: x + 1)(torch.ones(2))
        raise KeyError("mine")
"""

MARKS = """
@pytest.mark.stepper_limits(graphs=2, breaks=1)
def test_within():
    compiled(broken)(torch.ones(2))

@pytest.mark.stepper_limits(breaks=0)
def test_breaks():
    compiled(broken)(torch.ones(2))

@pytest.mark.stepper_limits(graphs=1)
class TestGraphs:
    def test_too_many(self):
        compiled(broken)(torch.ones(2))

    def test_one(self):
        compiled(lambda x: x + 1)(torch.ones(2))

@pytest.fixture
def warm():
    function = compiled(lambda x: x + 1)
    function(torch.ones(2))
    return function

@pytest.mark.stepper_limits(graphs=0)
def test_what_a_fixture_compiles_is_not_its_own(warm):
    warm(torch.ones(2))

@pytest.mark.stepper_max_compile_seconds(0)
def test_takes_time(warm):
    compiled(broken)(torch.ones(2))

@pytest.mark.stepper_max_compile_seconds(0)
@pytest.mark.stepper_limits(graphs=0)
def test_takes_no_time(warm):
    warm(torch.ones(2))

@pytest.mark.stepper_max_compile_seconds(3600)
def test_takes_less_than_an_hour():
    compiled(broken)(torch.ones(2))

@pytest.mark.stepper_limits(graph=0)
def test_wrong_name():
    pass
"""

NESTED_MARKS = """
pytestmark = pytest.mark.stepper_limits(breaks=0)

@pytest.mark.stepper_limits(graphs=0)
class TestClass:
    @pytest.mark.stepper_limits(recompilations=0)
    def test_of_the_class(self):
        compiled(lambda x: x + 1)(torch.ones(2))

    @pytest.mark.stepper_limits(graphs=2)
    def test_of_the_module(self):
        compiled(broken)(torch.ones(2))

    @pytest.mark.stepper_limits(graphs=None, breaks=1)
    def test_lifted(self):
        compiled(broken)(torch.ones(2))

@pytest.mark.stepper_limits(seconds=0)
class TestSeconds:
    @pytest.mark.stepper_max_compile_seconds(3600)
    def test_the_other_mark_is_nearer(self):
        compiled(lambda x: x + 1)(torch.ones(2))

@pytest.mark.stepper_limits(graphs="two")
def test_words():
    pass

@pytest.mark.stepper_limits(breaks=-1)
def test_below_zero():
    pass
"""

RECORDED = """
def test_passes():
    compiled(lambda x: x + 1)(torch.ones(2))

def test_fails():
    compiled(lambda x: x + 1)(torch.ones(2))
    assert False

def test_fails_without_compiling():
    assert False

@pytest.fixture
def leaving():
    yield
    assert False

@pytest.mark.parametrize("size", [2, 3])
def test_fails_at_the_end(leaving, size):
    compiled(lambda x: x + 1)(torch.ones(size))
"""


def run(pytester: pytest.Pytester, source: str, *options: str) -> pytest.RunResult:
    pytester.makepyfile(PROGRAM + source)
    command = ["-m", "pytest", "-p", "no:cacheprovider", *options]
    return pytester.run(executable(pytester.path), *command, timeout=600)


@pytest.mark.slow
def test_a_block_is_held_to_its_limits(pytester: pytest.Pytester) -> None:
    result = run(pytester, BLOCKS)
    result.assert_outcomes(passed=2, failed=2)
    said = result.stdout.str()
    result.stdout.fnmatch_lines(
        [
            ">       with stepper_limits(recompilations=0):",
            "E       *LimitsExceeded: 1 recompilation, none allowed",
            "*x.shape?0?: expected 2, actual 3*",
            "*KeyError: 'mine'",
        ]
    )
    assert "_pytest/" not in said
    assert "Lookups were not recorded" not in said


@pytest.mark.slow
def test_a_test_is_held_to_its_mark(pytester: pytest.Pytester) -> None:
    result = run(pytester, MARKS)
    result.assert_outcomes(passed=5, failed=4)
    result.stdout.fnmatch_lines(
        [
            "1 graph break, none allowed",
            "1. Failed to trace builtin operator  *in broken",
            '*print("in between")',
            "2 graphs, at most 1 allowed",
            "  0/0 broken  *",
            "*broken, resumed at *",
            "* s of compiling, none allowed",
            "* compiling 2 functions: *",
            "*in broken: x = x + 1*",
            "*stepper_limits takes at least one of *, recompilations, seconds, by name; *",
        ]
    )
    result.stdout.no_fnmatch_line("*testing/plugin.py*")


def test_marks_of_a_class_and_a_module_hold_together_and_the_nearest_counts(
    pytester: pytest.Pytester,
) -> None:
    result = run(pytester, NESTED_MARKS)
    result.assert_outcomes(passed=2, failed=4)
    result.stdout.fnmatch_lines(
        [
            "*TestClass.test_of_the_class*",
            "1 graph, none allowed",
            "*TestClass.test_of_the_module*",
            "1 graph break, none allowed",
            "graphs='two' is no limit, which is a number from 0 on",
            "breaks=-1 is no limit, which is a number from 0 on",
        ]
    )
    result.stdout.no_fnmatch_line("*testing/plugin.py*")


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("-n", "2")])
def test_recordings_of_failing_tests_are_kept(
    pytester: pytest.Pytester, options: tuple[str, ...]
) -> None:
    result = run(pytester, RECORDED, "--stepper-record", "kept", *options)
    result.assert_outcomes(passed=3, failed=2, errors=2)
    kept = sorted(path for path in Path(pytester.path, "kept").iterdir())
    names = [path.name.partition("py-")[2].rpartition("-")[0] for path in kept]
    assert names == ["test_fails", "test_fails_at_the_end-2", "test_fails_at_the_end-3"]
    for path in kept:
        result.stdout.fnmatch_lines_random(f"stepper open {path}")
        recording = Recording.open(str(path))
        assert len(recording.translations()) == 1
        assert recording.ended == "exit"
        recording.close()


def test_a_folder_that_cannot_be_made_is_told(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test(): pass")
    pytester.makefile("", taken="")
    result = pytester.runpytest_subprocess("--stepper-record", "taken/here")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines("*--stepper-record */taken/here: Not a directory")


def test_tests_without_it_import_nothing_of_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import sys\n"
        "def test():\n"
        "    mine = {n for n in sys.modules if n.startswith('stepper.')}\n"
        "    assert mine == {'stepper.testing', 'stepper.testing.plugin'}\n"
        "    assert not {'torch', 'msgspec', 'sqlite3'} & sys.modules.keys()\n"
    )
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_recording_imports_no_torch(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import sys\ndef test(stepper_limits):\n    assert 'torch' not in sys.modules"
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--stepper-record", "kept")
    result.assert_outcomes(passed=1)


@pytest.mark.slow
@pytest.mark.real_terminal
def test_the_debugger_opens_on_a_failing_test(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")  # so the console, which has lines to wait for
    path = pytester.makepyfile(PROGRAM + RECORDED)
    child = pytester.spawn(
        f"{sys.executable} -m pytest -p no:cacheprovider --stepper-pm {path} -k 'not end'",
        expect_timeout=600.0,
    )
    child.expect_exact("::test_fails failed: ")
    child.expect("test.stepper: ")
    child.expect_exact("(stepper) ")
    child.sendline("where")
    child.expect("in test_fails")
    child.sendline("quit")
    child.expect("2 failed, 1 passed")
    child.expect(pexpect.EOF)
    child.wait()
    child.close()


def test_the_debugger_needs_the_terminal(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess("--stepper-pm", "-n", "2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines("*--stepper-pm needs the terminal*")
