"""Why graphs broke: what is said is what Dynamo logs, counted and ranked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
import torch._dynamo

from stepper.analysis.break_changes import CHANGES, FROM_OUTSIDE
from stepper.analysis.break_lines import break_lines
from stepper.analysis.break_rules import advised
from stepper.analysis.breaks import Cause, causes
from stepper.analysis.broken import Broken
from stepper.analysis.decisions import decided_at
from stepper.analysis.query import Query
from stepper.analysis.skipped_frames import skipped
from stepper.model.program import Code, Instruction
from stepper.model.trace import SkippedFrame
from stepper.recording.reader import Recording
from stepper.support import break_kinds
from tests.analysis.conftest import Recorded
from tests.analysis.dynamo_log import breaks_logged
from tests.tape import Tape

DEMO = "demos/graph_breaks.py"
INLINED = "tests/corpus/break_inlined.py"
PROGRAMS = [
    DEMO,
    INLINED,
    "tests/corpus/break_data_dependent.py",
    "tests/corpus/break_in_loop.py",
    "tests/corpus/break_in_try.py",
    "tests/corpus/break_in_with.py",
    "tests/corpus/disabled.py",
]
NOT_IN_ALL = {
    "Attempted to copy.deepcopy a tensor",
    "Call to `torch.compiler.disable()`",
    "Call to a time function",
    "HOP: Non-nullified side effect",
    "Invalid call to __build_class__",
    "requires_grad_() intermediate leaked as output",
    "setattr() on unsupported type",
    "torch.Generator method",
}
"""Kinds that the oldest torch that is supported does not have."""


def cause_in(recording: Recording, function: str) -> Cause:
    (found,) = [
        each
        for each in causes(recording)
        if each.place is not None and each.place.function == function
    ]
    return found


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_breaks_are_those_that_dynamo_logs(
    program: str, recorded: Recorded, tmp_path: Path
) -> None:
    recording = recorded(program)
    told = [
        (each.translation.compile_id, f"{cause.place.filename}:{cause.place.line}")
        for cause in causes(recording)
        if cause.place is not None
        for each in cause.occurrences
    ]
    assert sorted(told) == sorted(breaks_logged(program, tmp_path))


def test_one_cause_is_told_once_with_what_it_cost(recorded: Recorded) -> None:
    recording = recorded(INLINED)
    (cause,) = causes(recording)
    assert cause.kind == "Call to `torch._dynamo.graph_break()`"
    assert cause.source == "torch._dynamo.graph_break()"
    assert (len(cause.occurrences), cause.splits, cause.given_up) == (4, 4, 0)
    thrown_away = {attempt.id for attempt in recording.attempts() if attempt.restart_reason}
    moments = recording.moments(recording.oldest, recording.newest)
    assert cause.wasted == sum(
        recording.frame(moment.frame).attempt in thrown_away for moment in moments
    )
    stacks = [[frame.function for frame in each.found.user_stack] for each in cause.occurrences]
    assert stacks[0] == ["f", "middle", "inner"]


def test_each_break_goes_on_in_its_own_resume_function(recorded: Recorded) -> None:
    (cause,) = causes(recorded(INLINED))
    after = {
        each.translation.compile_id: [item.compile_id for item in each.resumed]
        for each in cause.occurrences
    }
    # `f` breaks twice at the same line: in its first call, and in what resumes after that.
    assert after == {"0/0": ["5/0"], "1/0": ["4/0"], "2/0": ["3/0"], "5/0": ["6/0"]}


NATIVE = """
import stepper, torch

def helper(x):
    print("in between")
    return x * 2

@stepper.compile(backend="eager")
def f(x):
    h = helper(x + 1)
    if h.sum() > 0:
        h = h - 1
    return h.sin()

f(torch.ones(3))
"""


def test_the_native_engine_says_why_where_and_how_it_goes_on(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    recording = recorded(program(NATIVE), "--engine", "native")
    inlined, branch = causes(recording)
    assert inlined.kind == "Failed to trace builtin operator"
    assert inlined.explanation == "a call of builtin print"
    assert str(inlined.change) == "print outside of the compiled function"
    first, second = inlined.occurrences
    lines = [(frame.line, frame.function) for frame in first.found.user_stack]
    assert lines == [(10, "f"), (5, "helper")]
    assert [frame.line for frame in second.found.user_stack] == [5]
    assert branch.kind == "Data-dependent branching"
    assert branch.explanation == "the truth of tensor gt needs the data"
    assert branch.hints == ("decide on tensors with torch.where (both sides computed)",)
    assert inlined.hints == ("call it before or after the compiled function",)
    for each in (first, second, *branch.occurrences):
        (resumed,) = each.resumed
        assert resumed.id > each.translation.id
        assert resumed.resume_of == (each.translation.resume_of or each.translation.name)


def test_what_was_to_be_split_and_is_given_up_splits_nothing(
    recorded: Recorded, tmp_path: Path
) -> None:
    """Dynamo begins anew to end the graph there, and cannot make the iterator for the rest."""
    (tmp_path / "p.py").write_text(
        """
import torch

@torch.compile(backend="eager")
def f(x):
    left = iter({"a", "b"})
    next(left)
    print("broken")
    return x + len(list(left))

f(torch.ones(2))
"""
    )
    recording = recorded(str(tmp_path / "p.py"))
    assert [(each.splits, each.given_up) for each in causes(recording)] == [(0, 0), (0, 1)]
    lines = [line.text for line in break_lines(recording)]
    assert lines[0] == "2 graph breaks of 2 causes: 1 frame given up"
    assert "   would split 0/0 f, which is given up: Reconstruction failure" in lines
    with closing(Query(recording, "select resumes from graph_breaks")) as asked:
        assert [*asked.rows()] == [(0,), (0,)]


def test_a_frame_that_is_given_up(recorded: Recorded) -> None:
    cause = cause_in(recorded(DEMO), "in_a_loop")
    assert (cause.kind, cause.then) == ("Failed to trace builtin operator", "graph break in loop")
    assert (cause.splits, cause.given_up) == (0, 1)
    assert "print" in cause.explanation
    assert any("reorderable_logging_functions" in hint for hint in cause.hints)
    assert cause.page.endswith("gb0059.html")
    assert not cause.resume_functions


def test_causes_are_ranked_by_cost(recorded: Recorded) -> None:
    found = causes(recorded(DEMO))
    assert [each.cost for each in found] == sorted((each.cost for each in found), reverse=True)
    assert len(found[0].occurrences) == 2


def test_the_answer_shows_the_instruction_and_its_stack(recorded: Recorded) -> None:
    recording = recorded(DEMO)
    text = "\n".join(line.text for line in break_lines(recording, "to_number"))
    assert text.startswith("1 graph break of 1 cause: 1 graph split\n")
    assert "scale = x.max().item()" in text
    assert "capture_scalar_outputs = True" in text
    assert re.search(r"\[\d\] \.item  GetAttrVariable", text)
    assert "1 resume function made" in text
    cause = cause_in(recording, "to_number")
    lines = list(break_lines(recording, "to_number"))
    assert {line.moment for line in lines if line.text.startswith("   at ")} == {cause.moment}


def test_skipped_frames_without_a_break(recorded: Recorded) -> None:
    found = {each.name: each for each in skipped(recorded("tests/corpus/skipped_frames.py"))}
    assert "decided to skip the frame" in found["f"].reason
    assert found["f"].wasted > 0
    if "plain" in found:  # torch 2.11 says nothing of a frame that it never began
        plain = found["plain"]
        assert (Path(plain.filename).name, plain.line) == ("skipped_frames.py", 8)
    text = "\n".join(line.text for line in break_lines(recorded("tests/corpus/skipped_frames.py")))
    assert text.startswith("\nskipped without a graph break\n")


REPEATED = """
import torch

@torch.compile(backend="eager", dynamic=False)
def f(x):
    y = x + 1
    print("here")
    return y * 2

for size in (2, 3, 4):
    f(torch.ones(size))
"""


def test_a_break_that_repeats_with_each_compilation(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    (cause,) = causes(recorded(program(REPEATED)))
    assert [each.translation.compile_id for each in cause.occurrences] == ["0/0", "0/1", "0/2"]
    assert [item.compile_id for item in cause.resume_functions] == ["1/0", "1/1", "1/2"]


LEFT = """
import torch

def inner(x):
    torch._dynamo.graph_break()
    return x + 1

@torch.compiler.disable(recursive=False)
def outer(x):
    return inner(x.sin())

@torch.compile(backend="eager")
def f(x):
    return outer(x) * 2

f(torch.ones(2))
"""


def test_what_runs_by_itself_names_the_break_that_leaves_it_to_python(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    path = program(LEFT)
    recording = recorded(path)
    by_itself, leaving = cause_in(recording, "inner"), cause_in(recording, "f")
    (left,) = {each.left_by for each in by_itself.occurrences}
    assert left is leaving.occurrences[0].found
    assert {each.left_by for each in leaving.occurrences} == {None}
    text = "\n".join(line.text for line in break_lines(recording))
    number = re.search(r"^(\d)\. .* in f$", text, re.MULTILINE)
    assert number is not None
    assert re.search(
        rf"compiled by itself since {number[1]} leaves the call at .*:14 to Python", text
    )
    alone = "\n".join(line.text for line in break_lines(recording, "inner"))
    assert "compiled by itself since a break leaves the call at" in alone


TWICE = """
import torch

def clip(p):
    return torch.nn.utils.clip_grad_norm_(p, 1.0, error_if_nonfinite=True)

@torch.compile(backend="eager")
def f(p, q):
    one = torch.nn.utils.clip_grad_norm_(p, 1.0, error_if_nonfinite=True)
    other = torch.nn.utils.clip_grad_norm_(q, 2.0, error_if_nonfinite=True)
    return one + other

p = torch.ones(2, requires_grad=True)
p.grad = torch.ones(2)
f([p], [p])
"""


def test_each_line_that_leads_to_one_of_torchs_is_a_cause(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    found = causes(recorded(program(TWICE)))
    assert len({each.place for each in found}) == 1
    called = [str(each.change) for each in found]
    assert any("take what `one = " in each for each in called)
    assert any("take what `other = " in each for each in called)


BY_ITSELF = """
import torch

net = torch.nn.Linear(2, 2)
adam = torch.optim.Adam(net.parameters())

@torch.compile(backend="eager")
def step():
    adam.step()

net(torch.ones(1, 2)).sum().backward()
step()
"""


def test_a_librarys_function_that_breaks_by_itself_has_the_line_that_led_to_it(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    (found,) = causes(recorded(program(BY_ITSELF)))
    assert len(found.occurrences) == 2
    assert found.facts.leads_there == "adam.step()"
    assert "the library asks for this break itself" in str(found.change)


def test_a_skipped_frame_of_any_name_is_told_whole(tmp_path: Path) -> None:
    tape = Tape(str(tmp_path / "a.stepper"))
    frame = SkippedFrame(1, 0, "f (a.py:1): g", "b (c.py:2): d.py", 3, "why (e.py:4): so")
    tape.writer.skipped_frame(frame)
    tape.close()
    recording = Recording.open(str(tmp_path / "a.stepper"))
    (found,) = skipped(recording)
    recording.close()
    told = (found.name, found.filename, found.line, found.reason)
    assert told == (frame.name, frame.filename, frame.line, frame.reason)


def test_nothing_to_tell(recorded: Recorded) -> None:
    (line,) = break_lines(recorded("demos/recompilation.py"), "by_tensor")
    assert (
        line.text
        == "no graph break and no skipped frame in a function with 'by_tensor' in its name"
    )


def test_the_kinds_in_the_table_are_dynamos() -> None:
    kinds = _registered()
    assert set(CHANGES) - kinds <= NOT_IN_ALL
    assert set(CHANGES) >= FROM_OUTSIDE
    assert all(
        hasattr(torch._dynamo.config, each.setting) for each in CHANGES.values() if each.setting
    )


def test_the_native_engines_kinds_are_dynamos() -> None:
    named = {
        value
        for name, value in vars(break_kinds).items()
        if name.isupper() and name[0] != "_" and isinstance(value, str)
    }
    tables = (break_kinds.OF_TENSORS, break_kinds.OF_ATTRIBUTES)
    named |= {kind for table in tables for kind in table.values()}
    assert named - _registered() <= NOT_IN_ALL


def _registered() -> set[str]:
    """Dynamo's names for its kinds, of the torch that is installed."""
    path = Path(torch._dynamo.__file__).with_name("graph_break_registry.json")
    return {entry[0]["Gb_type"] for entry in json.loads(path.read_text()).values()}


PAIRS = (
    ("CALL", "0"), ("STORE_FAST_LOAD_FAST", "found, found"), ("LOAD_CONST", "3"),
    ("COMPARE_OP", ">"), ("POP_JUMP_IF_FALSE", "to 6"), ("LOAD_CONST", "1"), ("RETURN_VALUE", ""),
)  # fmt: skip
"""`found = x.item()`, `if found > 3`, as CPython 3.13 has it."""


@pytest.mark.parametrize(("kept", "decides"), [("found, found", True), ("found, other", False)])
def test_a_decision_is_found_behind_an_instruction_of_two_variables(
    kept: str, decides: bool
) -> None:
    rows = [
        Instruction(
            at, name, argrepr=kept if "STORE" in name else said, target=6 * (at == 4) or None
        )
        for at, (name, said) in enumerate(PAIRS)
    ]
    code = Code(1, "f", "f", "f.py", 1, instructions=tuple(rows))
    assert decided_at([(code, 0)]) == ((code, 4) if decides else None)


BESIDE = """
import torch
from torch import nn

class Printing(nn.Module):
    def forward(self, x):
        print("here")
        return x + 1

class Layer(nn.Module):
    def forward(self, x):
        torch._dynamo.graph_break()
        return x.sin()

class Last(nn.Module):
    def forward(self, x):
        torch._dynamo.graph_break()
        return x.cos()

compiled = torch.compile(nn.Sequential(Printing(), Layer()), backend="eager")
last = Last()
last.compile(backend="eager")
compiled(torch.ones(2))
nn.Sequential(last)(torch.ones(2))
"""


def test_a_model_that_is_not_compiled_leaves_nothing_to_python(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    """Both models call their layers at one line of torch's."""
    recording = recorded(program(BESIDE))
    inside, beside = (
        [line.text for line in break_lines(recording, function)] for function in ("Layer", "Last")
    )
    assert any("compiled by itself since" in text for text in inside)
    assert not any("compiled by itself since" in text for text in beside)


def test_a_cached_property_is_to_be_read_before() -> None:
    """Up to Python 3.11 it takes a lock, which is no context manager that is followed."""
    broken = Broken("Unsupported context manager", library=True, leads_there="x * self.scale")
    there = advised(msgspec.structs.replace(broken, within="cached_property.__get__"))
    assert "read it once before the compiled function" in str(there)
    assert "read it once" not in str(advised(broken))
