"""Why guards are there, and whether something is guarded: compared with what Dynamo really does."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch._C._dynamo.guards as leaf_guards
from torch._dynamo.guards import GuardBuilder
from torch._dynamo.testing import CompileCounter

from stepper.analysis.guard_kinds import KINDS, leaves_of
from stepper.analysis.guard_lines import guard_lines, guarded_lines
from stepper.analysis.guard_uses import (
    GuardUse,
    Implications,
    Uses,
    entries,
    guards_of,
    matching,
)
from stepper.analysis.guarded import Guarded, asked
from stepper.analysis.recompile_lines import recompile_lines
from stepper.analysis.sources import path_of, spelled
from stepper.analysis.walks import lookup_checks
from stepper.model.trace import Guard, Phase
from stepper.recording.reader import Recording
from tests.analysis.conftest import Recorded

DEMO = ("demos/recompilation.py", "--lookups")
NOT_IN_ALL = {
    "CONSTANT_SUBCLASS_MATCH", "COUNT_ITERATOR_MATCH", "COW_TENSOR_MATCH", "CURRENT_STREAM_MATCH",
    "DICT_NOT_CONTAINS", "DIMENSION_DYNAMIC_MARKING_GUARD", "DYNAMIC_INDICES",
    "FAKE_SCRIPT_TYPE_MATCH", "LIST_REVERSEITERATOR_LEN", "SET_NOT_CONTAINS",
}  # fmt: skip
"""Kinds that only some of the supported versions of torch have."""
OF_LOOKUPS = {"BACKEND", "INVALID", "DICT_MANAGER"}
"""Rows of a lookup that are no leaf guards."""


def names_of(owner: object) -> set[str]:
    return {name for name in dir(owner) if name.isupper()}


def test_every_kind_of_guard_is_explained() -> None:
    installed = names_of(GuardBuilder)
    leaves = names_of(leaf_guards)
    assert installed | leaves <= set(KINDS)
    assert set(KINDS) - installed - leaves <= NOT_IN_ALL | OF_LOOKUPS
    for name in installed:
        assert KINDS[name].fact.endswith(f"GuardBuilder.{name}")
        assert set(leaves_of(name)) <= leaves | OF_LOOKUPS | NOT_IN_ALL | installed


def test_kinds_without_a_check_are_those_that_the_global_state_checks() -> None:
    for name in names_of(GuardBuilder):
        passes = "we always guard on this via GlobalStateGuard()" in inspect.getsource(
            getattr(GuardBuilder, name)
        )
        assert passes == (not leaves_of(name))


PROGRAM = """
import torch

BIAS = 1.5
UNUSED = 1

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 3)
        self.scale = 2.0
        self.unused = 1

    def forward(self, x, options):
        if options["double"]:
            x = x * 2
        return self.fc(x) * self.scale + BIAS

net = Net()
options = {"double": True, "other": 1}

def run(backend):
    return torch.compile(net, backend=backend)

if __name__ == "__main__":
    run("eager")(torch.ones(2, 3), options)
"""

CHANGES: dict[str, Callable[[dict[str, Any], dict[str, Any]], None]] = {
    "self.scale": lambda names, _: setattr(names["net"], "scale", 3.0),
    "self.unused": lambda names, _: setattr(names["net"], "unused", 5),
    "self.training": lambda names, _: names["net"].eval(),
    "options['double']": lambda _, call: call["options"].update(double=False),
    "options['other']": lambda _, call: call["options"].update(other=2),
    "BIAS": lambda names, _: names.update(BIAS=2.5),
    "UNUSED": lambda names, _: names.update(UNUSED=2),
    "x.dtype": lambda names, call: (
        names["net"].double(), call.update(x=torch.ones(2, 3, dtype=torch.float64))
    )[1],
    "x.shape[0]": lambda _, call: call.update(x=torch.ones(4, 3)),
    "self.fc._forward_hooks": lambda names, _: (
        names["net"].fc.register_forward_hook(lambda *args: None)
    ),
}  # fmt: skip
"""Expressions, and a change of just that."""


def guarded(found: Guarded) -> bool:
    """Whether a change of the value is noticed, as the answer says."""
    if found.through:
        return not found.free
    return bool(found.by) and not found.inputs


@pytest.mark.parametrize("expression", list(CHANGES))
def test_what_is_guarded_is_what_makes_dynamo_compile_again(
    expression: str, recorded: Recorded, program: Callable[[str], str]
) -> None:
    recording = recorded_once(recorded, program)
    (entry,) = [
        each for each in asked(recording, expression) or [] if "forward" in each.translation.name
    ]
    torch._dynamo.reset()
    names: dict[str, Any] = {"__name__": "program"}
    exec(compile(PROGRAM, "program.py", "exec"), names)
    counter = CompileCounter()
    compiled = names["run"](counter)
    call = {"x": torch.ones(2, 3), "options": dict(names["options"])}
    compiled(**call)
    assert counter.frame_count == 1
    CHANGES[expression](names, call)
    compiled(**call)
    assert (counter.frame_count == 2) == guarded(entry), list(guarded_lines(recording, expression))


_program: list[Recording] = []


def recorded_once(recorded: Recorded, program: Callable[[str], str]) -> Recording:
    """The recording of the program above, made once for all tests."""
    if not _program:
        _program.append(recorded(program(PROGRAM)))
    return _program[0]


def test_a_parameter_is_an_input_that_is_guarded(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    recording = recorded_once(recorded, program)
    (found,) = asked(recording, "self.fc.weight") or []
    assert found.by
    assert found.inputs
    lines = [line.text for line in guarded_lines(recording, "self.fc.weight")]
    assert (
        "is guarded as to what kind of tensor it is, not its elements; its value is an input"
        in lines[0]
    )
    assert any("dtype float32" in line for line in lines)


def test_an_expression_that_nothing_looks_at(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    recording = recorded_once(recorded, program)
    for name in ("UNUSED", "net", "net.scale"):  # the last two are called otherwise in forward
        lines = [line.text for line in guarded_lines(recording, name)]
        assert lines[0].startswith(f"nothing is called {name.partition('.')[0]} in what was")
        assert lines[1] == "  Net.forward has options, self, x"
        otherwise = (
            "  but 0/0 Net.forward guards self.scale: if its self is net, net.scale is guarded"
        )
        assert lines[2:] == ([otherwise] if name == "net.scale" else [])
    (line,) = guarded_lines(recording, "1 + 2")
    assert "nothing that can be asked about" in line.text


def test_a_guard_that_makes_no_check_guards_nothing(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    skipping = recorded_once(recorded, program)
    setting = "import torch\ntorch._dynamo.config.skip_nnmodule_hook_guards = False\n"
    checking = recorded(program(setting + PROGRAM))
    first, *_ = guarded_lines(skipping, "self.fc._forward_hooks")
    assert ": self.fc._forward_hooks is not guarded: Dynamo makes no check" in first.text
    first, *_ = guarded_lines(checking, "self.fc._forward_hooks")
    assert first.text.endswith(": self.fc._forward_hooks is guarded")
    (use,) = uses(skipping, "EMPTY_NN_MODULE_HOOKS_DICT:*fc*._forward_hooks")
    lines = [line.text for line in guard_lines(skipping, str(use.guard.id))]
    assert any(line.startswith("  runs no check: Dynamo makes no check of") for line in lines)


FILTERED = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = 2.0

    def forward(self, x):
        return x * self.scale

def not_constants(guards):
    return [guard.guard_type != "CONSTANT_MATCH" for guard in guards]

net = Net()
compiled = torch.compile(net, backend="eager", options={"guard_filter_fn": not_constants})
compiled(torch.ones(2))
net.scale = 3.0
print(compiled(torch.ones(2)).tolist())  # still [2.0, 2.0]
"""


def test_a_guard_that_the_program_has_filtered_out_guards_nothing(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    recording = recorded(program(FILTERED))
    (entry,) = entries(recording)  # Dynamo did not compile again, though the value is another
    lines = [line.text for line in guarded_lines(recording, "self.scale")]
    assert lines[0].endswith("self.scale is not guarded: no guard that was made on it is checked")
    (left_out,) = [line for line in lines if "CONSTANT_MATCH" in line]
    assert left_out.endswith(
        "was made, and left out when the guards were built: "
        "a guard_filter_fn or caching_precompile does so"
    )
    assert {guard.kind for guard in guards_of(recording, entry)} >= {"TENSOR_MATCH", "TYPE_MATCH"}


def test_sizes_are_told_as_numbers_or_symbols(recorded: Recorded) -> None:
    recording = recorded(*DEMO)
    titles = [line.text for line in guarded_lines(recording, "x.shape[0]") if line.role == "title"]
    assert titles[0] == "0/0 by_tensor: x.shape[0] is guarded: it must be 4"
    assert titles[1].startswith("0/1 by_tensor: x.shape[0] is free within the conditions on sizes")


def test_entries_are_chosen_by_their_functions_name(recorded: Recorded) -> None:
    titles = [
        line.text
        for line in guarded_lines(recorded(*DEMO), "x.shape[0]", "int")
        if line.role == "title"
    ]
    assert [title.partition(":")[0] for title in titles] == ["1/0, 1/1 by_int"]
    (line,) = guarded_lines(recorded(*DEMO), "x", "nowhere")
    assert line.text == "no entry is of a function with 'nowhere' in its name"


ENTRYLESS = """
import torch

SCALE = 2.0

def scaled(x):
    return x * SCALE

@torch.compile(backend="eager")
def whole(x):
    return scaled(x) + 1

@torch.compile(backend="eager")
def in_a_loop(x):
    for _ in range(2):
        x = x + 1
        torch._dynamo.graph_break()
    return x

@torch.compile(backend="eager", fullgraph=True)
def in_one_graph(x):
    torch._dynamo.graph_break()
    return x

whole(torch.ones(2))
in_a_loop(torch.ones(2))
try:
    in_one_graph(torch.ones(2))
except torch._dynamo.exc.Unsupported:
    pass
"""


@pytest.mark.parametrize(
    ("function", "became"),
    [
        ("in_a_loop", "in_a_loop: it was given up, and runs uncompiled: "),
        ("in_one_graph", "in_one_graph: its compilation failed: "),
    ],
)
def test_a_function_without_an_entry_is_told_what_became_of_it(
    recorded: Recorded, tmp_path: Path, function: str, became: str
) -> None:
    path = tmp_path / "entryless.py"
    path.write_text(ENTRYLESS)
    heading, line = guarded_lines(recorded(str(path)), "SCALE", function)
    assert heading.text == f"no entry is of a function with {function!r} in its name"
    assert became in line.text
    assert line.moment


def test_a_function_that_is_only_inlined_is_asked_about_in_what_it_is_inlined_into(
    recorded: Recorded, tmp_path: Path
) -> None:
    path = tmp_path / "entryless.py"
    path.write_text(ENTRYLESS)
    recording = recorded(str(path))
    told, answer, *_ = guarded_lines(recording, "SCALE", "scaled")
    assert told.text == "scaled is not compiled by itself, but inlined: this is about whole"
    assert answer.text == "0/0 whole: SCALE is guarded: it must be 2.0"
    again = [line.text for line in recompile_lines(recording, "scaled")]
    assert again[0] == told.text
    assert "none was compiled" not in again[1]


OF_ITS_CLASS = """
import torch

class Rows:
    def __init__(self):
        self.held = {"a": 2.0}
    def __getitem__(self, key):
        return self.held[key]

rows, plain = Rows(), {"a": 2.0, "b": 3.0}

@torch.compile(backend="eager")
def scaled(x):
    return x * rows["a"] * plain["a"]

scaled(torch.ones(2))
"""


def test_an_item_that_a_class_of_the_program_gives_is_for_that_to_say(
    recorded: Recorded, tmp_path: Path
) -> None:
    path = tmp_path / "of_its_class.py"
    path.write_text(OF_ITS_CLASS)

    def answer(expression: str) -> str:
        return next(guarded_lines(recorded(str(path)), expression, "scaled")).text

    assert "rows['a'] is what __getitem__ gives" in answer("rows['a']")
    assert answer("rows['b']").endswith("its class says, Rows: ask about what that reads")
    assert answer("rows.held['a']").endswith("is guarded: it must be 2.0")
    assert "class says" not in answer("plain['b']")


def uses(recording: Recording, wanted: str, entry: str = "") -> list[GuardUse]:
    found = Uses(recording)
    return [found.of(each) for each in matching(recording, wanted, entry)]


def test_guards_are_named_in_several_ways(recorded: Recorded) -> None:
    recording = recorded(*DEMO)
    (use,) = uses(recording, "TENSOR_MATCH:x", "0/0")
    guard = use.guard
    for name in (str(guard.id), "L['x']", "x", "TENSOR_MATCH:L[*x*]"):
        assert [each.guard for each in uses(recording, name, "0/0")] == [guard]
    kinds = {each.guard.kind for each in uses(recording, "TENSOR_*")}
    assert kinds == {"TENSOR_MATCH"}
    (line,) = guard_lines(recording, "nothing like it")
    assert "give a guard's number, a kind" in line.text


def test_runs_failures_and_times_are_those_of_the_lookups(recorded: Recorded) -> None:
    recording = recorded(*DEMO)
    (use,) = uses(recording, "x", "0/0")
    lookups = [item for item in recording.translations() if item.phase is Phase.LOOKUP]
    checks = [
        [check for check in lookup_checks(recording, item) if check.entry == "0/0"]
        for item in lookups
    ]
    tried = [lookup for lookup in checks if lookup]
    # It is the guard that failed each time that its entry was tried.
    assert (use.runs, use.failures) == (len(tried), len(tried))
    assert use.of_nanoseconds == sum(
        each.check.nanoseconds or 0 for each in itertools.chain(*tried)
    )
    assert 0 < use.nanoseconds < use.of_nanoseconds
    # It fails before the guard on marks is reached, which is installed by the same method.
    assert use.nanoseconds == sum(
        each.check.nanoseconds or 0
        for lookup in tried
        for each in lookup
        if each.guard.source == "L['x']"
    )


def test_without_lookups_it_says_what_to_record(recorded: Recorded) -> None:
    texts = [line.text for line in guard_lines(recorded("demos/recompilation.py"), "x", "0/0")]
    assert any("--lookups records how often it runs" in text for text in texts)
    assert any(text.startswith("  installed by BINARY_OP *") for text in texts)


def test_guards_on_global_state_come_before_the_first_instruction(recorded: Recorded) -> None:
    (use,) = uses(recorded(*DEMO), "GRAD_MODE", "0/0")
    assert use.origin.instruction is None
    assert use.implied is not None
    assert use.implied.by.kind == "GLOBAL_STATE"


def guard(id: int, kind: str, source: str, *code: str) -> Guard:
    return Guard(id, 1, id, kind, source, "local", code)


@pytest.mark.parametrize(
    ("one", "other", "implied"),
    [
        (guard(1, "TYPE_MATCH", "L['x']"), guard(2, "TENSOR_MATCH", "L['x']"), True),
        (guard(1, "TYPE_MATCH", "L['x']"), guard(2, "TENSOR_MATCH", "L['y']"), False),
        (guard(1, "TENSOR_MATCH", "L['x']"), guard(2, "TYPE_MATCH", "L['x']"), False),
        (guard(1, "TYPE_MATCH", "L['x']"), guard(2, "ID_MATCH", "L['x']"), False),
        (guard(1, "NOT_NONE_MATCH", "L['x']"), guard(2, "NONE_MATCH", "L['x']"), False),
        (guard(1, "WEAKREF_ALIVE", "L['x']"), guard(2, "TENSOR_MATCH", "L['x']"), True),
        (guard(2, "ID_MATCH", "L['f']", "a"), guard(1, "ID_MATCH", "L['f']", "a"), True),
        (guard(1, "ID_MATCH", "L['f']", "a"), guard(2, "ID_MATCH", "L['f']", "a"), False),
        (guard(2, "CONSTANT_MATCH", "L['n']", "L['n'] == 3"),
         guard(1, "EQUALS_MATCH", "L['n']", "L['n'] == 3"), True),
        (guard(1, "EQUALS_MATCH", "L['n']", "L['n'] == 3"),
         guard(2, "CONSTANT_MATCH", "L['n']", "L['n'] == 3"), False),
        (guard(1, "HASATTR", "L['m']", "hasattr(L['m'], 'w')"),
         guard(2, "TENSOR_MATCH", "L['m'].w"), True),
        (guard(1, "HASATTR", "L['m']", "not hasattr(L['m'], 'w')"),
         guard(2, "TENSOR_MATCH", "L['m'].w"), False),
        (guard(1, "DICT_CONTAINS", "L['d']", "___dict_contains('k', L['d'])"),
         guard(2, "CONSTANT_MATCH", "L['d']['k']"), True),
        (guard(1, "SEQUENCE_LENGTH", "L['d']"), guard(2, "DICT_KEYS_MATCH", "L['d']"), True),
        (guard(1, "GRAD_MODE", ""), guard(2, "GLOBAL_STATE", ""), True),
        (guard(1, "DEFAULT_DEVICE", ""), guard(2, "GLOBAL_STATE", ""), False),
    ],
)  # fmt: skip
def test_what_one_guard_says_of_another(one: Guard, other: Guard, implied: bool) -> None:
    assert (Implications([one, other]).of(one) is not None) == implied


def test_implied_guards_never_fail_alone(recorded: Recorded) -> None:
    """In every recorded lookup: where an implied guard failed, the other would have, too."""
    recording = recorded(*DEMO)
    for entry in entries(recording):
        for each in guards_of(recording, entry):
            found = Implications(guards_of(recording, entry)).of(each)
            if found is None:
                continue
            (use,) = uses(recording, str(each.id), entry.compile_id)
            assert use.failures == 0


@pytest.mark.parametrize(
    ("source", "person"),
    [
        ("L['x']", "x"),
        ("L['self']._modules['fc']._parameters['weight']", "self.fc.weight"),
        ("L['self']._modules['layers']._modules['0']", "self.layers[0]"),
        ("L['x'].size()[1]", "x.shape[1]"),
        ("L['x'].size()[1]", "x.size(1)"),
        ("G['config']['depth']", "config['depth']"),
        ("G['__builtins_dict___4']['len']", "len"),
        ("L['self'].__dict__['scale']", "self.scale"),
    ],
)
def test_a_persons_spelling_means_the_same(source: str, person: str) -> None:
    one, other = path_of(source), path_of(person)
    assert one is not None
    assert other is not None
    assert one.leads_to(other)
    assert other.leads_to(one)


def test_a_local_and_a_global_of_one_name_are_two() -> None:
    one, other = path_of("L['x']"), path_of("G['x']")
    assert one is not None
    assert other is not None
    assert not one.leads_to(other)
    assert spelled("L['x'].y") == spelled("G['x'].y") == "x.y"
