"""Commands over a finished recording: what a person types, and what they read."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import stepper.console
from stepper.client.session import open_recording
from stepper.console import shell as _fills_the_table
from stepper.console.commands import GROUPS, TABLE, reference
from tests.recordings import sample_recording

assert _fills_the_table.COMMAND_MODULES

Talk = Callable[..., list[str]]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("console") / "sample.stepper")
    sample_recording(path)
    return path


@pytest.fixture
def talk(sample: str, capsys: pytest.CaptureFixture[str]) -> Talk:
    """Carries commands out; returns what each one printed, by command."""

    def carry_out(*commands: str) -> list[str]:
        session = open_recording(sample)
        code = stepper.console.run(session, commands)
        session.close()
        _, *answers = re.split(r"^\(stepper\) .*\n", capsys.readouterr().out, flags=re.M)
        assert code == any(answer.startswith("*** ") for answer in answers)
        return answers

    return carry_out


def test_a_stop_shows_where_it_is_and_what_changed(talk: Talk) -> None:
    (stop,) = talk("s 5")
    lines = stop.splitlines()
    assert re.match(r"moment 6/\d+  0/0 attempt 1  Net.forward  .*recordings.py:\d+", lines[0])
    assert "h = block(x, scale)" in lines[1]
    assert re.search(r" LOAD_FAST\w* x", lines[2])  # Python 3.14 takes two at once
    assert "~ scale = 2.0  ConstantVariable  L['self'].scale" in lines
    assert "+ guard CLOSURE_MATCH G['block']" in lines
    assert "    [0] block  UserFunctionVariable  (lazy)  G['block']" in lines


def test_an_empty_line_repeats_movements_only(talk: Talk) -> None:
    moves = talk("s 2", "", "where", "")
    assert moves[1].startswith("moment 5/")
    assert moves[3] == "the recording is in " + moves[3].partition("in ")[2]


@pytest.mark.parametrize("back", ["s- 3", "step - 3", "bs 3"])
def test_stepping_back(talk: Talk, back: str) -> None:
    assert talk("goto 10", back)[1].startswith("moment 7/")


def test_to_the_graph_break_and_what_it_says(talk: Talk) -> None:
    stop, why, where = talk("to graph-break", "why", "w")
    assert stop.startswith("graph-break: Attempted to call function marked as skipped")
    assert "Hint: Move the print out of the compiled function." in why
    assert "restarts: graph break in block" in why
    outer, translated, _, inlined, _ = where.splitlines()[:5]
    assert outer == "   train.py:12 in <module>"
    assert "in Net.forward  (translated, CALL" in translated
    assert inlined.startswith("-> ")
    assert "in block  (inlined 1, CALL" in inlined


def test_breakpoints_are_set_changed_and_hit_in_the_past(talk: Talk) -> None:
    answers = talk(
        "b graph-break",
        "b block",
        "b opcode:BINARY_OP, if len(stack) > 1",
        "tbreak node:*mul",
        "disable 2",
        "ignore 3 2",
        "cl 3",
        "b",
        "c",
    )
    assert answers[0].startswith("breakpoint 1: graph-break\n  happened ")
    assert answers[1] == "breakpoint 2: function:block\n  fits 1 place\n"
    assert answers[3] == "breakpoint 4: node:*mul, once\n  happened 4 times\n"
    assert answers[4] == "breakpoint 2: function:block  (disabled)\n"
    assert "ignore 2" in answers[5]
    assert len(answers[7].splitlines()) == 3
    assert answers[8].startswith("breakpoint 4: node:*mul, once\n")


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("stpe", "did you mean step"),
        ("b graphbreak", "did you mean graph-break"),
        ("b nofile:", "is no breakpoint"),
        ("b f.py:1, if )", "not an expression"),
        ("b f.py:1 if )", "not an expression"),
        ("b f.py:1, x > 3", "f.py:1, if x > 3"),
        ("b f.py:1 if x > 3", "nothing of f.py is recorded: there is"),
        ("cl 9", "there is no breakpoint 9"),
        ("s x", "'x' is not a count"),
        ("where-", "does not go backwards"),
        ("goto 99999", "moments go from 1"),
        ("to nowhere", "no kind of event"),
        ("v nothing", "no value 'nothing'. Give a local"),
        ("v self.nope", "it has .scale"),
        ("v stack[40]", "the stack has 0 entries"),
        ("p 1 + 1", "no stopped program"),
        ("node nope", "no node 'nope'"),
        ("compare 1 9", "2 attempts"),
        ("detach", "no program to let go"),
        ("1 + 1", "is no command"),
        ("bs-", "does not go backwards"),
    ],
)
def test_mistakes_are_explained(talk: Talk, typed: str, hint: str) -> None:
    (answer, *_) = talk(typed)
    assert answer.startswith("*** ")
    assert hint in answer


def test_values_as_trees_and_paths(talk: Talk) -> None:
    whole, part, printed = talk("v self", "v self.scale", "p self.scale")
    assert "mutability" in whole
    assert "  .scale = 2.0  ConstantVariable  L['self'].scale" in whole
    assert "constant" in part
    assert printed.startswith("2.0  ConstantVariable")
    assert "(as recorded)" in printed


def test_graph_guards_effects_and_bytecode(talk: Talk) -> None:
    _, code, table, guards, dis, transformed = talk(
        "goto 21", "graph", "graph table", "guards closure*", "dis", "dis transformed"
    )
    assert "    mul = operator.mul(x)  # f32[2, 3]" in code.splitlines()
    assert table.splitlines()[0].split() == ["op", "name", "target", "args", "value"]
    assert len(re.findall(r"^. +\d+  CLOSURE_MATCH ", guards, flags=re.M)) >= 2
    assert "TENSOR_MATCH" not in guards
    assert len(re.findall("-->", dis)) == 1
    assert "·" in dis
    assert "-->" not in transformed


def test_frames_attempts_and_their_difference(talk: Talk) -> None:
    frames, attempts, difference = talk("frames", "attempts", "compare")
    assert [line.split()[0] for line in frames.splitlines()[1:]] == ["->", "1/0", "0/1", "-", "2/0"]
    assert attempts.startswith("-> attempt 1")
    assert "- node mul" in difference


def test_search_events_output_and_session(talk: Talk) -> None:
    search, _, output, events, info = talk(
        "search binary", "search- resume", "output", "events /print", "i"
    )
    assert "BINARY_OP" in search
    assert output == "| epoch 1\n"
    assert all("print" in line for line in events.splitlines())
    assert "torch 2.13.0" in info


def test_selecting_frames_changes_what_locals_are(talk: Talk) -> None:
    _, inner, up, outer, down, refused = talk("goto 10", "locals", "u", "locals", "d", "d")
    assert "self" not in inner
    assert "Net.forward" in up
    assert "self = Net()" in outer
    assert "in block" in down
    assert "innermost" in refused


def test_every_command_has_help_and_stands_in_the_reference(talk: Talk) -> None:
    (overview,) = talk("help")
    text = reference()
    for entry in TABLE.values():
        assert entry.group in GROUPS
        assert entry.summary.endswith((".", ":", "?", "!")), entry.name
        assert f"  {entry.heading}" in overview
        assert f"`{entry.heading}`" in text
        (help_text, *_) = talk(f"help {entry.name}")
        assert entry.summary in help_text


def test_a_pipe_gets_no_colour(talk: Talk) -> None:
    assert not any("\x1b" in answer for answer in talk("s 5", "stack", "nonsense"))


def test_it_says_where_the_recording_is(talk: Talk, sample: str) -> None:
    assert talk("q")[-1] == f"the recording is in {sample}\n"


def test_why_over_the_whole_run(talk: Talk) -> None:
    recompiled, broken, views, rows = talk(
        "why-recompile", "why-break", "query", "query SELECT count(*) AS n FROM graph_breaks"
    )[:4]
    assert "x.shape[0]: expected 2, actual 5" in recompiled
    assert re.search(r"^1\. Attempted to call function marked as skipped .* @\d+$", broken, re.M)
    assert views.startswith("frames(id, phase, ")
    assert rows.split()[:3] == ["n", "─", "1"]
    guard, expression, *_ = talk("why-guard TENSOR_MATCH:x 0/1", "is-guarded x.shape[0]")
    assert guard.startswith("TENSOR_MATCH L['x']  of 0/1 Net.forward")
    assert re.search(r"^0/1 Net\.forward: x\.shape\[0\] is free: it is the symbol s0  @\d+$",
                     expression, re.M)  # fmt: skip
    frames, unknown, *_ = talk("compare 0/0 0/1", "compare 0/0 9/9")
    assert frames.startswith("0/0 Net.forward  |  0/1 Net.forward")
    assert unknown.startswith("*** there is no frame 9/9")
    (refused, *_) = talk("query DROP TABLE frames")
    assert refused.startswith("*** only SELECT is possible here")


@pytest.mark.parametrize("place", ["goto 6", "to lookup"])
@pytest.mark.parametrize("nonsense", ["zzq", "7zz zzq"])
def test_no_command_passes_over_what_it_was_given(talk: Talk, place: str, nonsense: str) -> None:
    others = ("quit", "kill", "alias", "commands", "display", "undisplay", "symbols")
    names = [name for name in TABLE if name not in others]
    _, *answers = talk(place, *(f"{name} {nonsense}" for name in names))
    passed_over = {
        name for name, answer in zip(names, answers, strict=True)
        if not answer.startswith("*** ") and "zz" not in answer
    }  # fmt: skip
    assert not passed_over
