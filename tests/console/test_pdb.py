"""pdb's commands: at a live stop, in a recording, and out of files."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import stepper.console
from stepper.client.session import open_recording
from stepper.console.scripting import expanded, not_trusted
from tests.console.test_programs import PROMPT, commands, console, typed
from tests.recordings import sample_recording

Talk = Callable[..., list[str]]
ADDED = """
import torch

@torch.compile(backend="eager")
def added(x, times=2):
    y = x * times
    for i in range(3):
        y = y + i
    kept = lambda: y
    return kept()

y = "another one"
added(torch.ones(3))
"""


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("pdb") / "sample.stepper")
    sample_recording(path)
    return path


@pytest.fixture
def talk(sample: str, capsys: pytest.CaptureFixture[str]) -> Talk:
    """Carries commands out in a recording; returns what each one printed."""

    def carry_out(*commands: str) -> list[str]:
        session = open_recording(sample)
        stepper.console.run(session, commands)
        session.close()
        return re.split(r"^\((?:stepper|commands)\) .*\n", capsys.readouterr().out, flags=re.M)[1:]

    return carry_out


def test_at_a_live_stop(tmp_path: Path) -> None:
    (tmp_path / "added.py").write_text(ADDED)
    walk = commands(
        "b added.py:8", "commands", "silent", "p len(graph.nodes)", "end",
        "display y", "c", "b", "whatis stack", "pp {'a': [1] * 40}", "!n = 41", "p n + 1",
        "m = n; print(m)", "interact", "for each in range(2):", "    print(each)", "", "exit",
        "p y", "whatis y", "p y.shape[0]", "p y.dtype", "p x.size()", "p times + 1", "p y.nope",
        "whatis y.shape", "pp y.shape", "cl 1", "retval", "r", "a", "c",
    )  # fmt: skip
    text = console(tmp_path, *walk, "-o", "run.stepper", "added.py")
    answers = re.split(r"^(?:\((?:stepper|commands)\)|>>>|\.\.\.) .*\n", text, flags=re.M)[1:]
    hit = answers[6]
    assert "stopped:" not in hit
    assert re.search(r"^display y: f32\[3\]", hit, re.M)
    assert answers[7].strip().isdecimal()
    assert "(met 1 time)  then: silent; p len(graph.nodes)" in answers[8]
    assert "list" in answers[9]
    assert answers[10].count("\n") > 2
    assert answers[12] == "42\n"
    assert answers[13] == "| 41\n"
    assert re.search(r"^f32\[3\]  TensorVariable", answers[19], re.M), "a local by its name"
    assert answers[20].startswith("Tensor  (TensorVariable")
    assert answers[21:24] == ["3\n", "torch.float32\n", "torch.Size([3])\n"]
    assert "'times' is a local of the frame that is traced" in answers[24]
    assert "'str' object" not in answers[25], "it is not the program's own y that is meant"
    assert "torch.Size([3])" in answers[26]
    assert "torch.Size([3])" in answers[27]
    assert "this frame has returned nothing" in text
    assert "  times = 2  ConstantVariable" in text


def test_in_a_recording(talk: Talk) -> None:
    answers = talk("goto 10", "whatis x", "pp x", "a", "display x", "s 3", "undisplay x", "jump 3",
                   "interact", "goto newest", "retval", "goto 10", "p x.shape", "p x.dim()",
                   "p x.shape[7]", "p x.shape.nope")  # fmt: skip
    assert answers[1] == "torch.Tensor  (TensorVariable, as recorded)\n"
    assert "  dtype " in answers[2]
    assert "  x = " in answers[3]
    assert answers[4].startswith("display x: f32[")
    assert "with --engine native fork goes back" in answers[7]
    assert "there is no live stop here" in answers[8]
    assert answers[12].startswith("torch.Size([")
    assert answers[13].partition(" ")[0].isdecimal()
    assert "cannot be evaluated here" in answers[14]
    assert "cannot be evaluated here" in answers[15]


def test_what_a_breakpoint_does_in_a_recording(talk: Talk) -> None:
    answers = talk("b graph-break", "commands", "here", "end", "b", "c")
    assert answers[4].endswith("then: here\n")
    stop, done = answers[5], answers[6]
    assert stop.startswith("breakpoint 1") or "graph-break" in stop
    assert done.startswith("moment ")


def test_aliases(talk: Talk) -> None:
    answers = talk("alias two s %1;;s %1", "two 3", "alias", "unalias two", "two 3")
    assert answers[1].count("moment ") == 2
    assert answers[2] == "two = s %1;;s %1\n"
    assert "unknown command 'two'" in answers[4]
    assert expanded("a 1 2", {"a": "b %2 %*", "b": "a"}) == ["a 2 1 2"]


def test_a_file_of_commands_says_which_line_failed(
    tmp_path: Path, sample: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "good").write_text("# a comment\nalias two s 2\ngoto 5\n")
    (tmp_path / "bad").write_text("goto 5\nnonsense here\ngoto 7\n")
    session = open_recording(sample)
    code = stepper.console.run(session, [f"source {tmp_path}/good", f"source {tmp_path}/bad"])
    session.close()
    told = capsys.readouterr()
    assert code == 1
    assert f"{tmp_path}/bad:2: 'nonsense here': unknown command" in told.out
    assert "moment 5/" in told.out
    assert "moment 7/" not in told.out
    assert "line 2: 'source " in told.err


def test_only_the_users_own_file_is_carried_out_unasked(
    tmp_path: Path, sample: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    (home / ".stepperrc").write_text("alias mine info\n")
    (work / ".stepperrc").write_text("alias foreign info\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    session = typed(work, "console", sample)
    session.expect("of this folder is not read: source .stepperrc does that")
    session.expect(PROMPT)
    session.sendline("alias")
    session.expect("mine = info")
    session.expect(PROMPT)
    assert "foreign" not in (session.before or "")
    session.sendline("q")
    session.expect("the recording is in")
    session.close()
    (home / ".stepperrc").chmod(0o666)
    assert not_trusted(home / ".stepperrc") == "everybody may write it"


def test_a_chain_of_origins_is_walked(talk: Talk) -> None:
    answers = talk("to graph-break", "chain node mul", "chain 1", "chain 9", "chain stack[-1]")
    made, read = answers[1].splitlines()
    assert made.startswith("  1  mul = operator.mul(x)")
    assert "in scaled: z = x * scale" in made
    assert read.startswith("  2  x = input")
    assert re.match(r"moment \d+/\d+  .*  scaled  ", answers[2])
    assert "BINARY_OP *" in answers[2]
    assert answers[3] == "*** the chain has 2 steps\n"
