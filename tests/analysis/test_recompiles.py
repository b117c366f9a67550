"""Why functions were compiled again: what is said is what Dynamo itself says, and more."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
import torch
import torch._dynamo.config

import stepper
from stepper.analysis import kind_rules, recompile_advice, size_rules, value_rules
from stepper.analysis.break_lines import break_lines
from stepper.analysis.reasons import FITS, Reason, parse_reason
from stepper.analysis.recompile_advice import advise
from stepper.analysis.recompile_lines import recompile_lines
from stepper.analysis.recompile_series import History, Series, histories
from stepper.analysis.recompiles import Recompilation, recompilations
from stepper.analysis.sources import unscoped
from stepper.debuggee.registry import find
from stepper.model.datum import Datum, Many, Words, text_of
from stepper.model.lookup import Aspect, Difference
from stepper.model.value import TensorMeta
from stepper.recording.reader import Recording
from stepper.report.gathering import gather
from stepper.report.markdown import markdown
from tests.analysis.agreement import agrees, facts, is_true
from tests.analysis.conftest import Recorded
from tests.analysis.dynamo_log import recompilations_logged
from tests.tape import Tape

DEMO = "demos/recompilation.py"
PROGRAMS = [
    DEMO,
    "tests/corpus/recompiles.py",
    "tests/corpus/automatic_dynamic.py",
    "tests/corpus/cache_limit.py",
    "tests/corpus/mark_dynamic.py",
]


def function(found: list[History], name: str) -> History:
    return next(each for each in found if each.name == name)


def history_of(recording: Recording, name: str) -> History:
    return function(histories(recording, recompilations(recording)), name)


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_answer_is_dynamos_own(program: str, recorded: Recorded, tmp_path: Path) -> None:
    found = recompilations(recorded(program, "--lookups"))
    logged = recompilations_logged(program, tmp_path)
    assert [each.translation.name for each in found] == [name for name, _ in logged]
    for each, (_, reasons) in zip(found, logged, strict=True):
        assert [tried.entry for tried in each.tried] == [reason.entry for reason in reasons]
        for tried, reason in zip(each.tried, reasons, strict=True):
            agrees(tried.failures[0], reason)


@pytest.mark.parametrize("program", PROGRAMS)
def test_without_lookups_what_is_saidis_true(program: str, recorded: Recorded) -> None:
    is_true(recompilations(recorded(program)), recompilations(recorded(program, "--lookups")))


SYMBOLS = """
import torch

@torch.compile(backend="eager")
def f(x, count, scale):
    y = x * scale
    return y + 1 if count % 2 else y - 1

for size, count, scale in ((2, 3, 0.5), (3, 4, 0.25), (8, 7, 0.125), (2, 3, torch.tensor(2.0))):
    f(torch.ones(size), count, scale)
"""


def test_the_call_is_known_where_its_entry_has_symbols(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    path = program(SYMBOLS)
    inferred, known = recompilations(recorded(path)), recompilations(recorded(path, "--lookups"))
    is_true(inferred, known)
    odd = inferred[1]
    of_the_first = next(tried for tried in odd.tried if tried.entry == "0/0")
    assert set[object]().union(*map(facts, of_the_first.failures)) == {
        ("x", Aspect("size", 0), 2, 8),
        ("count", Aspect("value"), 3, 7),
        ("scale", Aspect("value"), 0.5, 0.125),
    }


COUNTED = """
from collections import defaultdict

import torch

class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.counts = defaultdict(int)

    def forward(self, x):
        self.counts["calls"] += 1
        self.counts["rows"] += x.shape[0]
        return x * 2

count = torch.compile(Counting(), backend="eager")
for _ in range(4):
    count(torch.ones(2))
"""


def test_an_entry_that_another_serves_is_not_the_nearest(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    path = program(COUNTED)
    found = history_of(recorded(path), "Counting.forward")
    assert [(each.source, each.seen) for each in found.series][:1] == [
        ("self.counts['calls']", "1, 2, 3")
    ]


SEVERAL = """
import torch

@torch.compile(backend="eager")
def f(x, mode, xs):
    return x + len(mode) + xs[0] + len(xs)

f(torch.ones(3), "a", [torch.ones(3)])
f(torch.ones(3, dtype=torch.float64), "b", [torch.ones(3), torch.ones(3)])
with torch.no_grad():
    f(torch.ones(3), "a", [torch.ones(3)])
"""


def test_all_guards_that_would_have_failed_are_named(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    second, third = recompilations(recorded(program(SEVERAL), "--lookups"))
    first, *others = second.tried[0].failures
    assert facts(first) == {("x", Aspect("dtype"), Words("float32"), Words("float64"))}
    assert set().union(*map(facts, others)) == {
        ("xs", Aspect("length"), 1, 2),
        ("mode", Aspect("value"), "a", "b"),
    }
    assert all(each.behind for each in others)
    # Of the entry for the same arguments only the state is in the way.
    nearest = third.nearest
    assert nearest is not None
    assert nearest.entry == "0/0"
    grad_mode = state("grad_mode", "True", "False")
    assert [facts(each) for each in nearest.failures] == [{grad_mode}]
    assert facts(third.tried[0].failures[0]) == {grad_mode}


STATES = """
import stepper, torch
from torch.overrides import TorchFunctionMode

class Passing(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))

@torch.compile(backend="eager")
def f(x):
    return x + 1

x = torch.ones(3)
f(x)
with torch.inference_mode(False), torch.no_grad():
    f(x)
torch.set_default_dtype(torch.float64)
f(x)
torch.set_default_dtype(torch.float32)
with torch.autocast("cpu"):
    f(x)
with Passing():
    f(x)
torch.set_default_device("meta")
f(x)
"""


def state(what: str, before: str, after: str) -> tuple[str, Aspect, Datum, Datum]:
    return ("", Aspect(what), Words(before), Words(after))


GRAD_MODE = state("grad_mode", "True", "False")
DEFAULT_DTYPE = state("default_dtype", "float32", "float64")


def test_states_of_torch_are_compared_by_name(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    found = recompilations(recorded(program(STATES), "--lookups"))
    nearest = [set().union(*map(facts, each.nearest.failures)) for each in found if each.nearest]
    assert nearest[0] == {GRAD_MODE}
    assert nearest[1] == {DEFAULT_DTYPE}
    assert state("autocast(cpu)", "off", "bfloat16") in nearest[2]
    assert nearest[3] == {state("function_modes", "none", "Passing")}
    assert state("default_device", "None", "meta") in nearest[4]


def test_the_native_engine_compares_states_too(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    text = STATES.replace("torch.compile(", "stepper.compile(")
    found = recompilations(recorded(program(text), "--engine", "native", "--lookups"))
    nearest = [set().union(*map(facts, each.nearest.failures)) for each in found if each.nearest]
    assert nearest[:2] == [{GRAD_MODE}, {DEFAULT_DTYPE}], "in other states it captures nothing"


DEATHS = """
import gc, stepper, torch

class Scaled:
    scale = 3

@torch.compile(backend="eager", dynamic=False)
def f(x, scaled):
    return x * scaled.scale

def call():
    class Twice:
        scale = 2
    f(torch.ones(3), Twice)  # the class itself: torch 2.11 keeps those of objects alive

for _ in range(2):
    call()
    gc.collect()
f(torch.ones(3), Scaled)
"""


@pytest.mark.parametrize("options", [(), ("--lookups",)], ids=["plain", "lookups"])
@pytest.mark.parametrize("engine", ["dynamo", "native"])
def test_the_death_of_an_object_is_a_cause(
    recorded: Recorded, program: Callable[[str], str], engine: str, options: tuple[str, ...]
) -> None:
    text = DEATHS
    if engine == "native":
        text = text.replace("torch.compile(", "stepper.compile(")
        options = ("--engine", "native", *options)
    recording = recorded(program(text), *options)
    first, second = recompilations(recording)
    known = [(first, "0/0"), (second, "0/1")]
    if engine == "dynamo" and not options:
        known.pop()  # Dynamo's words are on the entry that it tried first
    for again, label in known:
        dead = next(each for each in again.tried if each.entry == label)
        failure = dead.failures[0]
        assert failure.kind == "INVALID"
        assert unscoped(failure.source) == "scaled"
    told = "\n".join(line.text for line in recompile_lines(recording))
    assert "scaled (the class Twice), which the entry knows by identity, has died since" in told
    assert "backend" not in told


def test_where_a_guard_came_from(recorded: Recorded) -> None:
    for options in ((), ("--lookups",)):
        recording = recorded(DEMO, *options)
        found = history_of(recording, "by_mode").recompilations[0]
        (failure,) = found.tried[0].failures
        origin = failure.origin
        assert origin is not None
        assert origin.source == failure.source == "L['mode']"
        assert origin.instruction is not None
        assert origin.value is not None
        assert origin.value.text == "'a'"
        assert "len(mode)" in str(failure.user_line or origin.line)
        assert recording.translation_at(origin.moment) == recording.translation(
            found.tried[0].translation or 0
        )


def test_series_are_told_together(recorded: Recorded) -> None:
    recording = recorded(DEMO, "--lookups")
    (mode,) = history_of(recording, "by_mode").series
    assert mode.values == ("a", "bb", "ccc", "dddd", "eeeee")
    assert (mode.source, mode.aspect, mode.times) == ("mode", Aspect("value"), 4)
    dtype, size = history_of(recording, "by_tensor").series
    assert list(map(text_of, dtype.values)) == ["float32", "float64", "int32"]
    assert (size.aspect, size.values) == (Aspect("size", 0), (4, 5))


HANDED_ON = """
import torch

def handing_on(function):
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)
    return wrapper

@torch.compile(backend="eager")
@handing_on
def f(x, ids):
    return x + ids.shape[1]

for length in 4, 5:
    f(torch.ones(2, 4), ids=torch.ones(2, length))
"""


def test_inputs_that_are_handed_on_have_the_programs_own_names(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    recording = recorded(program(HANDED_ON), "--lookups")
    text = "\n".join(line.text for line in recompile_lines(recording))
    assert "  ids.shape[1] changes: 4, 5  (1 of 1)" in text
    assert "  0/0  ids.shape[1]: expected 4, actual 5; stride[0] of ids: " in text
    assert "of kwargs['ids']" not in text
    reported = markdown(gather(recording))
    assert "ids.shape[1]: expected 4, actual 5" in reported
    assert "of kwargs['ids']" not in reported


RESIZED = """
import torch

@torch.compile(backend="eager")
def f(x):
    return x + 1

f(torch.ones(2, 4))
f(torch.ones(2, 5))
"""


def test_strides_that_follow_from_a_size_are_no_change_of_their_own(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    recording = recorded(program(RESIZED), "--lookups")
    (history,) = histories(recording, recompilations(recording))
    assert [(str(each.aspect), each.values) for each in history.series] == [("shape[1]", (4, 5))]
    # The check itself says all that is not as wanted.
    (tried,) = history.recompilations[0].tried
    assert {str(each.aspect) for each in tried.failures[0].differences} == {"shape[1]", "stride[0]"}


@pytest.mark.parametrize(
    ("values", "trend"),
    [((1, 2, 3), "grows"), ((8, 4, 2), "shrinks"), ((1, 3, 2), "changes"), ((1, 2), "changes"),
     (("a", "b", "c"), "changes"), (("1", "2", "3"), "changes"), ((False, True, 2), "changes")],
)  # fmt: skip
def test_the_trend_of_a_series(values: tuple[Datum, ...], trend: str) -> None:
    assert Series("x", Aspect("size", 0), "TENSOR_MATCH", values, 2).trend == trend


GROWING = """
import torch

@torch.compile(backend="eager", dynamic=False)
def f(x):
    return x + 1

for size in range(2, 14):
    f(torch.ones(size))
"""


def test_a_growing_size_up_to_the_limit(recorded: Recorded, program: Callable[[str], str]) -> None:
    recording = recorded(program(GROWING), "--lookups")
    text = "\n".join(line.text for line in recompile_lines(recording))
    assert "x.shape[0] grows: 2, 3, 4, 5, 6, 7, 8, 9, 10  (8 of 8)" in text
    assert "limit reached at call 9: runs uncompiled from here; 3 later calls recorded" in text
    assert "torch._dynamo.mark_dynamic(x, 0)" in text
    plain = recorded(program(GROWING))
    text = "\n".join(line.text for line in recompile_lines(plain))
    assert "limit reached after 8 entries" in text


GROWING_BEHIND_A_BREAK = """
import torch
torch._dynamo.config.recompile_limit = 20

@torch.compile(backend="eager", dynamic=False)
def f(x):
    h = x + 1
    torch._dynamo.graph_break()
    return h * 2

for size in range(2, 14):
    f(torch.ones(size))
"""


def test_what_a_resume_function_is_given_cannot_be_marked(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    recording = recorded(program(GROWING_BEHIND_A_BREAK), "--lookups")
    resumed = "torch_dynamo_resume_in_f_at_8"
    text = "\n".join(line.text for line in recompile_lines(recording))
    behind = "\n".join(line.text for line in recompile_lines(recording, resumed))
    assert "x.shape[0] grows: 2, 3, 4, 5, 6, 7, 8, …, 13  (11 of 11)" in text
    assert "torch._dynamo.mark_dynamic(x, 0)" in text
    assert "h.shape[0] grows" in behind
    assert "mark_dynamic" not in behind
    assert "remove the graph break in f" in behind
    breaks = "\n".join(line.text for line in break_lines(recording))
    assert "goes on in 1/0 f, resumed at 8, compiled 11 more times" in breaks


def test_advice_knows_what_dynamo_has_done_by_itself(recorded: Recorded) -> None:
    recording = recorded(DEMO, "--lookups")
    by_int = advise(recording, history_of(recording, "by_int"))
    assert "made times an input of the graph by itself" in by_int[0].text
    assert by_int[0].evidence.startswith("1/1 has it as an input")
    size = advise(recording, history_of(recording, "by_tensor"))[1]
    assert "has made x.shape[0] a symbol by itself" in size.text
    assert re.match(r"0/\d has it as s\d+", size.evidence)
    special = recorded("tests/corpus/automatic_dynamic.py", "--lookups")
    texts = [each.text for each in advise(special, history_of(special, "f"))]
    assert any("Dynamo makes no symbol of a size 0 or 1" in text for text in texts)


def test_advice_names_only_what_torch_has() -> None:
    modules = (kind_rules, recompile_advice, size_rules, value_rules)
    source = "".join(Path(str(module.__file__)).read_text() for module in modules)
    names = set(re.findall(r"\btorch(?:\.\w+)+", source))
    assert "torch._dynamo.mark_dynamic" in names
    for name in names:
        reduce(getattr, name.split(".")[1:], torch)


@pytest.mark.parametrize("engine", ["dynamo", "native"])
def test_a_compiler_has_what_its_capabilities_name(engine: str) -> None:
    can = find(engine).capabilities
    decorators = (f"{can.decorators}.{name}" for name in ("allow_in_graph", "disable"))
    for name in (can.compile, can.recompile_limit, *decorators):
        module, *rest = name.split(".")
        reduce(getattr, rest, {"torch": torch, "stepper": stepper}[module])


TENSOR = "TENSOR_MATCH"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("0/0: tensor 'x' size mismatch at index 1. expected 2, actual 5",
         Reason("0/0", TENSOR, "x", (Difference("size", 2, 5, at=1),))),
        ("0/0: tensor 'self._buffers['b']' dtype mismatch. expected Half, actual BFloat16",
         Reason("0/0", TENSOR, "self._buffers['b']",
                (Difference("dtype", Words("float16"), Words("bfloat16")),))),
        ("2/1: tensor 'x' requires_grad mismatch. expected requires_grad=1",
         Reason("2/1", TENSOR, "x", (Difference("requires_grad", True, False),))),
        ("0/0: tensor 'x' dispatch key set mismatch. expected DispatchKeySet(CPU), actual "
         "DispatchKeySet(CUDA)",
         Reason("0/0", TENSOR, "x",
                (Difference("dispatch keys", Words("DispatchKeySet(CPU)"),
                           Words("DispatchKeySet(CUDA)")),))),
        ("2/1: tensor 'x' dispatch key set mismatch. expected DispatchKeySet(CPU, AutogradCPU), "
         "actual DispatchKeySet(CPU)",
         Reason("2/1", TENSOR, "x", (Difference("inference", False, True),))),
        ("1/0: n == 1              # return x * n  # y.py:3 in f\nUser stack trace:\n  File",
         Reason("1/0", "EQUALS_MATCH", "n", (Difference("value", 1),))),
        ("0/0: ___check_type_id(xs, 1405), type=<class 'list'>  # return xs[0]  # a.py:7 in f",
         Reason("0/0", "TYPE_MATCH", "xs", (Difference("type", Words("list")),))),
        ("0/0: ___check_obj_id(f, 94), type=<class 'function'>  # f(x)  # a.py:7 in g",
         Reason("0/0", "ID_MATCH", "f",
                (Difference("object", Words("the function that it was")),))),
        ("0/0: list(dict.keys(out))[0] == 'ce'  # for v in out.values():  # a.py:7 in f",
         Reason("0/0", "EQUALS_MATCH", "list(dict.keys(out))[0]", (Difference("value", "ce"),))),
        ("0/0: __dtensor_spec_140509430771648  # return x + 1  # a.py:7 in f",
         Reason("0/0", "DTENSOR_SPEC_MATCH", "", (Difference("mesh and placements"),),
                "__dtensor_spec_140509430771648")),
        ("0/0: w.__tensor_flatten__()[0] == ['a']  # return w + 1  # a.py:7 in f",
         Reason("0/0", "EQUALS_MATCH", "w.__tensor_flatten__()[0]",
                (Difference("value", Many("list", ("a",))),))),
        ("0/0: n == 2 or n == 4  # return x * n  # a.py:7 in f",
         Reason("0/0", text="n == 2 or n == 4")),
        ("0/0: xs is None  # a.py:7",
         Reason("0/0", "NONE_MATCH", "xs", (Difference("value", None),))),
        ("0/0: len(xs) == 2", Reason("0/0", "LENGTH_CHECK", "xs", (Difference("length", 2),))),
        ("0/0: not self.xs  # for x in self.xs:  # a.py:7 in f",
         Reason("0/0", "LENGTH_CHECK", "self.xs", (Difference("length", 0),))),
        ("0/0: not ___dict_contains('k', d)",
         Reason("0/0", "DICT_CONTAINS", "d",
                (Difference("keys", Words("without 'k'"), Words("with 'k'")),))),
        ("0/0: set.__contains__(s, (1, 2))  # (1, 2) in s  # a.py:7 in f",
         Reason("0/0", "SET_CONTAINS", "s",
                (Difference("elements", Words("with (1, 2)"), Words("without (1, 2)")),))),
        ("0/0: not hasattr(x, 'mask')",
         Reason("0/0", "NO_HASATTR", "x",
                (Difference("attributes", Words("without 'mask'"), Words("with 'mask'")),))),
        ("0/0: tensor 'x' Tensor device index mismatch. Expected device index to be 0, actual 1",
         Reason("0/0", "TENSOR_MATCH", "x", (Difference("device number", 0, 1),))),
        ("0/0: expected type of 'x' to be a tensor type, ' but found <class 'int'>",
         Reason("0/0", "TENSOR_MATCH", "x",
                (Difference("type", Words("a tensor type"), Words("int")),))),
        ("0/0: expected type of 'x' to be <class 'torch.Tensor'>, but found <class 'int'>",
         Reason("0/0", "TENSOR_MATCH", "x",
                (Difference("type", Words("torch.Tensor"), Words("int")),))),
        ("0/0: GLOBAL_STATE changed: grad_mode ",
         Reason("0/0", "GLOBAL_STATE", "", (Difference("global state (grad_mode)"),))),
        ("0/1: 2 <= x.size()[0]  # f(x)  # a.py:7 in g", Reason("0/1", "SYMBOLIC_SHAPE_GUARD")),
        ("something that no pattern knows", Reason("")),
    ],
)  # fmt: skip
def test_dynamos_words_are_taken_apart(words: str, reason: Reason) -> None:
    found = parse_reason(words)
    shown: Any = [getattr(found, name) for name in found.__struct_fields__ if name != "text"]
    assert shown == [getattr(reason, name) for name in reason.__struct_fields__ if name != "text"]
    assert found.text
    assert found.text in " ".join(words.split())


def test_an_entry_of_which_nothing_fails_is_said_to_fit() -> None:
    words = (
        "0/1: Unexpected recompilation: runtime guards failed even though they passed during "
        "recompilation-reason analysis. Please open an issue with a minimal repro: https://a.org"
    )
    assert parse_reason(words) == Reason("0/1", text=FITS)


def test_a_recording_without_recompilations_says_so(recorded: Recorded) -> None:
    (line,) = recompile_lines(recorded("demos/graph_breaks.py"))
    assert line.text.startswith("no function was compiled again")


def test_every_line_about_a_moment_leads_there(recorded: Recorded) -> None:
    recording = recorded(DEMO, "--lookups")
    lines = list(recompile_lines(recording))
    moments = {line.moment for line in lines if line.moment is not None}
    assert all(recording.oldest <= moment <= recording.newest for moment in moments)
    failing = next(line for line in lines if line.text.startswith("    0/0  x.shape[0]"))
    assert failing.moment is not None
    there = recording.state(failing.moment)
    assert there.values[there.top.locals["verdict"]].text == "FAIL"


def test_recompilations_are_those_of_the_recording(recorded: Recorded) -> None:
    recording = recorded(DEMO, "--lookups")
    found: list[Recompilation] = recompilations(recording)
    assert all(each.lookup is not None for each in found)
    assert [each.translation.compile_id for each in found if each.limit] == ["3/4"]


def test_of_very_many_recompilations_both_ends_are_told(tmp_path: Path) -> None:
    tape = Tape(str(tmp_path / "many.stepper"))

    def f(x: object) -> None: ...

    for size in range(40):
        reason = f"0/{size - 1}: tensor 'x' size mismatch at index 0. expected {size + 1}, actual "
        reason = reason + str(size + 2) if size else ""
        tape.begin(f, f"0/{size}", cache_size=size, recompile_reason=reason)
        tape.start_attempt()
        meta = TensorMeta("float32", (str(size + 2),), ("1",))
        tape.step(0, stack=(), locals={})
        tape.guard("TENSOR_MATCH", "L['x']")
        tape.node("x", "placeholder", "L_x_", source="L['x']", meta=meta)
        tape.end_attempt()
        tape.end()
    recording = Recording.open(tape.close())
    lines = [line.text for line in recompile_lines(recording, every=True)]
    assert len(list(recompile_lines(recording))) <= 40
    recording.close()
    told = [line.split()[0] for line in lines if " compiled  called by " in line]
    assert told == [f"0/{at}" for at in (*range(1, 17), *range(24, 40))]
    (left_out,) = [line for line in lines if "more recompilations" in line]
    assert left_out.startswith("  … 7 more recompilations; stepper query has all of them")
    # The last one tried 39 entries: there are Dynamo's words on the newest.
    assert lines.count("    … and 38 more entries, not recorded why") == 1
    assert "    0/38  x.shape[0]: expected 40, actual 41  TENSOR_MATCH L['x']" in lines


VERY_MANY = """
import torch
torch._dynamo.config.recompile_limit = 32

@torch.compile(backend="eager")
def resized(x, mode):
    return x + len(mode)

for size in range(19):
    resized(torch.ones(2), "m" * size)
"""


def test_of_entries_that_were_not_asked_it_is_said_why(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    """Without lookups sixteen are asked again at a miss; with them, all are told."""
    source = program(VERY_MANY)
    asked = [line.text for line in recompile_lines(recorded(source), every=True)]
    looked_up = [line.text for line in recompile_lines(recorded(source, "--lookups"), every=True)]
    said = "not asked: of so many the first 16 are, and all with --lookups"
    assert [line for line in asked if "more entr" in line] == [
        f"    … and 1 more entry {said}",
        f"    … and 2 more entries {said}",
    ]
    assert "    nearest of those: 0/17, made for a call from the same place" in asked
    assert not [line for line in looked_up if "more entr" in line]
    assert sum(line.startswith("    0/0 ") for line in looked_up) == 18


MANY = """
import torch
torch._dynamo.config.recompile_limit = 16

@torch.compile(backend="eager")
def resized(x, mode):
    return x + len(mode)

for size in range(9):
    resized(torch.ones(2), "m" * size)
"""


def test_many_recompilations_of_a_function_fit_a_screen(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    recording = recorded(program(MANY), "--lookups")
    brief = [line.text for line in recompile_lines(recording)]
    whole = [line.text for line in recompile_lines(recording, every=True)]
    assert "8 recompilations" in brief[0]
    assert len(brief) <= 40 < len(whole)
    assert brief[-1].endswith("--all")
    for number in range(1, 9):
        expected, actual = ("m" * size for size in (number - 1, number))
        assert any(f"mode: expected '{expected}', actual '{actual}'" in line for line in brief)


ONCE = """
import os, torch

def backend(graph, inputs):
    if {dies}:
        os._exit(0)
    return graph

@torch.compile(backend=backend)
def f(x):
    return x + 1

f(torch.ones(2))
"""


@pytest.mark.parametrize(
    ("dies", "options", "said"),
    [
        (True, (), "no function was compiled again so far; what is recorded ends in a compilation"),
        (
            False,
            (),
            "no function was compiled again; a call for which nothing was compiled is recorded "
            "only with --lookups",
        ),
        (
            False,
            ("--lookups",),
            "no function was compiled again: each call found an entry, or was the first",
        ),
    ],
)
def test_of_what_was_not_compiled_again_only_what_was_recorded_is_told(
    dies: bool,
    options: tuple[str, ...],
    said: str,
    recorded: Recorded,
    program: Callable[[str], str],
) -> None:
    recording = recorded(program(ONCE.format(dies=dies)), *options)
    assert [line.text for line in recompile_lines(recording)] == [said]


FLAGS = """
import torch

class Part(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.on = True
        self.by = 2.0

    def forward(self, x):
        return x * self.by if self.on else x

parts = [Part() for _ in range(5)]
parts[4].by = 3.0

@torch.compile(backend="eager")
def run(x):
    for part in parts:
        x = part(x)
    return x

run(torch.ones(3))
for part in parts:
    part.on, part.by = False, 5.0
run(torch.ones(3))
"""


def test_guards_that_failed_alike_are_told_together(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    recording = recorded(program(FLAGS), "--lookups")
    told = [line.text.strip() for line in recompile_lines(recording)]
    (together,) = (text for text in told if text.startswith("likewise of 4 others: "))
    assert together.endswith("parts[1].on, parts[2].on, …  (would fail too)")
    assert sum("expected True, actual False" in text for text in told) == 1
    # The last is another one: it was 3.0.
    assert sum("actual 5.0" in text for text in told) == 2
    assert told[-1].endswith("--all")
    whole = [line.text.strip() for line in recompile_lines(recording, every=True)]
    assert sum("expected True, actual False" in text for text in whole) == 5
    assert sum("actual 5.0" in text for text in whole) == 5
    assert not any(text.startswith("likewise") for text in whole)


MANY_FUNCTIONS = "\n".join(
    [
        "import torch",
        *(f"def outer{n}(x): return x * {n}" for n in range(26)),
        "for function in [value for name, value in vars().items() if name.startswith('outer')]:",
        "    compiled = torch.compile(function, backend='eager', dynamic=False)",
        "    for size in (2, 3):",
        "        compiled(torch.ones(size))",
    ]
)


def test_of_many_functions_those_that_took_most_time_are_told_whole(
    program: Callable[[str], str], recorded: Recorded
) -> None:
    recording = recorded(program(MANY_FUNCTIONS))
    text = [line.text for line in recompile_lines(recording)]
    took = [float(line.split()[-2]) for line in text if line.lstrip().startswith("outer")]
    assert len(took) == 26
    assert took == sorted(took, reverse=True)
    assert sum("x.shape[0] changes: 2, 3" in line for line in text) == 24
    assert sum("2 more functions that took less time" in line for line in text) == 1
    name = next(line.split()[0] for line in text if line.startswith("  outer"))
    assert any("changes: 2, 3" in line.text for line in recompile_lines(recording, name))
    every = [line.text for line in recompile_lines(recording, every=True)]
    assert sum("x.shape[0] changes: 2, 3" in line for line in every) == 26
