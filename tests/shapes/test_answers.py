"""What is answered about sizes: each cause is a recorded step with its line, and what was not seen
is said to be unknown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stepper.analysis.guard_lines import guarded_lines
from stepper.analysis.here import why_here
from stepper.analysis.recompile_lines import recompile_lines
from stepper.analysis.shape_lines import shape_lines
from stepper.analysis.symbol_lines import symbol_lines
from stepper.model.breakpoint import parse_breakpoint
from stepper.model.shapes import ShapeStepKind
from stepper.model.trace import EventKind, Phase, SessionFacts
from stepper.recording.navigation import find_break
from stepper.recording.reader import Recording
from stepper.recording.writer import Writer
from tests.shapes.test_against_torch import run

pytestmark = pytest.mark.slow

PROGRAM = """
import contextlib
import torch
import torch.nn.functional as F

torch._dynamo.config.capture_scalar_outputs = True
dynamic = lambda f: torch.compile(f, backend="eager", dynamic=True)


@dynamic
def name(x):
    n = x.shape[0]
    bucket = f"bucket{n}"  # the name
    return x * len(bucket) + n


@dynamic
def pooled(x):
    return F.adaptive_avg_pool2d(half(x), (3, 3))


def half(x):
    return x[:, :, : x.shape[2] // 2]  # the half


@dynamic
def branch(x):
    return x + 1 if x.shape[0] > 10 else x * 2  # the branch


@dynamic
def pair(x, y):
    return x + y  # the pair


@torch.compile(backend="eager")
def by_itself(x, k):
    return x.view(-1, k)


@torch.compile(backend="eager")
def never(x):
    return x + 1


@torch.compile(backend="eager", fullgraph=True)
def data(x):
    n = x.sum().item()  # the item
    return x if n > 3 else x + 1  # the question


@dynamic
def chain(x, y):
    z = torch.cat([x, y])
    return z + torch.ones(12)  # the sum


@dynamic
def twice(x, y, mask=None):
    return x @ y.T if mask is None else (x @ y.T)[mask.sum(0) > 0]


@dynamic
def held(x):
    pair = [x * 2, x.shape[0] + 1]
    return pair[0] + torch.ones(5), pair[1]


@dynamic
def scaled(x, by):
    return x * by


held(torch.ones(5))
for size in 5, 6, 7:
    name(torch.ones(size))
pooled(torch.ones(1, 2, 8, 8))
for size in 4, 12, 1, 0:
    branch(torch.ones(size))
pair(torch.ones(6), torch.ones(6)), pair(torch.ones(6), torch.ones(7, 1))
for size in 4, 6:
    by_itself(torch.ones(2 * size), size)
never(torch.ones(3))
with contextlib.suppress(Exception):
    data(torch.arange(4))
chain(torch.ones(5), torch.ones(7))
x = torch.ones(5, 6)
twice(x, x), twice(x, x, torch.ones(5, 5))
scaled(torch.ones(1), 2.5), scaled(torch.ones(5), 2.5)
"""


def recorded(folder: Path, text: str) -> Path:
    """A recording of a program."""
    (folder / "program.py").write_text(text)
    done = run(
        "-m", "stepper", "record", "--lookups", "-o", folder / "r.stepper", folder / "program.py"
    )
    assert done.returncode == 0, done.stderr
    assert "stopped watching" not in done.stderr
    return folder / "r.stepper"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("sizes"), PROGRAM)


@pytest.fixture(scope="module")
def recording(path: Path) -> Iterator[Recording]:
    recording = Recording.open(str(path))
    yield recording
    recording.close()


@pytest.fixture(scope="module")
def why(recording: Recording) -> Callable[..., str]:
    """The whole answer, as a text."""

    def ask(expression: str = "", function: str = "") -> str:
        return "\n".join(line.text for line in shape_lines(recording, expression, function))

    return ask


def line_of(comment: str) -> str:
    (number,) = [
        number
        for number, text in enumerate(PROGRAM.splitlines(), 1)
        if text.endswith(f"# {comment}")
    ]
    return f"program.py:{number}"


def test_a_size_that_was_needed_names_the_line_and_the_instruction(why: Callable[..., str]) -> None:
    answer = why("x.shape[0]", "name")
    for entry, size in (("1/0", 5), ("1/1", 6), ("1/2", 7)):
        assert f"{entry} name: x.shape[0] is {size}: it was the symbol s77, and was fixed" in answer
        assert re.search(rf"requires Eq\(s77, {size}\), by BUILD_STRING 2 at .*", answer)
    assert line_of("the name") in answer
    assert "a symbol because dynamic=True" in answer


def test_a_size_that_autograd_asks_for_again_is_told_once(
    why: Callable[..., str], path: Path, tmp_path: Path
) -> None:
    again = Recording.open(str(recorded(tmp_path, PROGRAM.replace('"eager"', '"aot_eager"'))))
    steps = [step for each in again.attempts() for step in again.shape_steps(None, attempt=each.id)]
    assert any("AOTAutograd" in step.stage for step in steps)
    told = "\n".join(line.text for line in shape_lines(again))
    assert told.replace(str(tmp_path), str(path.parent)) == why()
    again.close()


def test_a_symbol_can_be_asked_for(why: Callable[..., str]) -> None:
    assert "x.shape[0] is 5: it was the symbol s77" in why("s77", "name")
    assert why("s999").startswith("nothing is recorded about 's999'")


def test_an_operator_of_the_graph_is_named_with_its_node(why: Callable[..., str]) -> None:
    answer = why("x.size()[0]", "chain")
    assert re.search(r"requires Eq\(.*12\).* by BINARY_OP \+ at .*" + line_of("the sum"), answer)
    assert "for the node add = operator.add" in answer


def test_a_call_within_names_the_way_there(why: Callable[..., str]) -> None:
    answer = why("x.shape[2]", "pooled")
    assert "x.shape[2] is" in answer
    assert "called from" in answer or line_of("the half") not in answer


def test_a_condition_that_leaves_a_size_free_is_told(why: Callable[..., str]) -> None:
    answer = why("x.shape[0]", "branch")
    assert "x.shape[0] is free: the symbol s77, 2 to 10" in answer
    assert "x.shape[0] is free: the symbol s77, 11 or more" in answer
    assert answer.count(line_of("the branch")) >= 4
    assert "x.shape[0] is 1: a size of 0 or 1 becomes a number (0/1 specialization)" in answer


def test_what_is_free_is_called_a_size_only_where_it_is_one(why: Callable[..., str]) -> None:
    assert "branch: 1 size free: x.shape[0]" in why("", "branch")
    answer = why("", "scaled")
    assert "scaled: 1 number free: by" in answer
    assert "scaled: 2 numbers free: x.shape[0], by" in answer


def test_sizes_that_share_a_symbol_are_told(why: Callable[..., str]) -> None:
    answer = why("y.shape[0]", "pair")
    assert "the same symbol as x.shape[0]: they had the same value, 6 (duck shaping)" in answer


def test_a_tensor_is_asked_about_by_its_name(why: Callable[..., str]) -> None:
    """Also one that came a second time, whose sizes are those of the other, and one that was not
    there in another call."""
    first, second = (why(name, "twice") for name in "xy")
    for answer in first, second:
        assert "y.shape[0] is free" in answer
        assert "y.shape[1] is free" in answer
    assert re.search(r"x\.shape is s\d+, s\d+$", first, re.MULTILINE)
    assert re.search(r"^\d+/1 .*mask.shape is s\d+, s\d+$", why("mask", "twice"), re.MULTILINE)


def test_what_was_seen_before_is_named(why: Callable[..., str]) -> None:
    answer = why("x.shape[0]", "by_itself")
    assert "a symbol because it had another value before (automatic dynamic shapes)" in answer
    assert re.search(r"\d/0 requires 8$", answer, re.MULTILINE)
    assert "never was a symbol: TENSOR_MATCH requires 8" in answer


def test_what_never_was_a_symbol_is_told(why: Callable[..., str]) -> None:
    assert "x.shape[0] never was a symbol: TENSOR_MATCH requires 3" in why("x.shape[0]", "never")
    assert why("", "never") == "no size of a function with 'never' in its name was a symbol"


def test_a_decision_on_data_names_where_its_symbol_comes_from(why: Callable[..., str]) -> None:
    answer = why("", "data")
    assert "u0 > 3 depends on data" in answer
    assert re.search(r"asked for by POP_JUMP\S* \d+ at .*" + line_of("the question"), answer)
    assert re.search(r"u0 is made by CALL 0 at .*" + line_of("the item"), answer)


def test_is_guarded_does_not_call_a_fixed_size_free(recording: Recording) -> None:
    lines = [line.text for line in guarded_lines(recording, "x.shape[0]", "name")]
    titles = [line for line in lines if not line.startswith(" ")]
    assert titles == [
        f"1/{n} name: x.shape[0] is guarded: it must be {n + 5}: its symbol s77 was fixed "
        "(why-shape says by what)"
        for n in range(3)
    ]
    assert "shape[0] s77" not in "\n".join(lines)
    (free, *_) = guarded_lines(recording, "x.shape[0]", "branch")
    assert "is free within the conditions on sizes" in free.text


def test_a_recompilation_is_blamed_on_what_fixed_the_size(recording: Recording) -> None:
    answer = "\n".join(line.text for line in recompile_lines(recording, "name"))
    assert re.search(
        r"requires Eq\(s77, 5\), by BUILD_STRING 2 at .*" + line_of("the name"), answer
    )
    assert "x.shape[0] is a symbol until " in answer
    assert "mark_dynamic" not in answer, "it is a symbol already"
    assert "dynamic=True" not in answer


def test_a_recompilation_is_blamed_on_the_condition_that_failed(recording: Recording) -> None:
    answer = "\n".join(line.text for line in recompile_lines(recording, "branch"))
    assert re.search(r"requires s77 <= 10, by POP_JUMP\S* .*" + line_of("the branch"), answer)
    assert "dynamic=True" not in answer
    assert "mark_unbacked(x, 0)" in answer
    answer = "\n".join(line.text for line in recompile_lines(recording, "pair"))
    assert re.search(r"takes the symbol s77: it has the same value, 6 \(duck", answer)


def test_no_advice_says_the_same_twice(recording: Recording) -> None:
    for line in recompile_lines(recording):
        assert line.text.count("torch.compile(dynamic=True)") <= 1, line.text


def test_symbols_are_what_they_are_at_a_moment(recording: Recording) -> None:
    item = next(
        each
        for each in recording.translations()
        if each.compile_id == "1/0" and each.phase is Phase.TRANSLATE
    )
    attempt = recording.attempts(item.id)[-1].id
    steps = recording.shape_steps(None, attempt=attempt)
    born, fixed = steps[0].moment, steps[-1].moment
    assert steps[0].kind is ShapeStepKind.SYMBOL

    def at(moment: int, name: str = "") -> list[str]:
        return [line.text for line in symbol_lines(recording, attempt, moment, name)]

    assert at(born) == ["no size is a symbol at this moment"]
    assert at(born + 1) == ["s77  dynamic  [2, int_oo]  x.shape[0] (now 5)"]
    assert at(fixed) == at(born + 1)
    assert at(fixed + 1) == ["s77  fixed to 5  [5, 5]  x.shape[0] (now 5)  asked 1×"]
    assert [line.split()[0] for line in at(fixed + 1, "s77")[1:]] == [
        "symbol", "guard", "range", "replaced",
    ]  # fmt: skip
    assert at(fixed + 1, "s1") == ["no symbol is called 's1' here. There are: s77"]


def test_what_has_a_symbol_is_shown_as_it_is_when_the_symbol_was_fixed(
    recording: Recording,
) -> None:
    item = next(
        each
        for each in recording.translations()
        if each.compile_id == "0/0" and each.phase is Phase.TRANSLATE
    )
    last = recording.attempts(item.id)[-1]
    fixed = recording.shape_steps(None, attempt=last.id)[-1].moment

    def shown(moment: int) -> dict[str, list[str]]:
        state = recording.state(moment)
        texts = {}
        for name, id in state.top.locals.items():
            value = state.values[id]
            texts[name] = [value.text, *(state.values[each.value].text for each in value.items)]
        return texts

    assert shown(fixed) == {"x": ["f32[s77]"], "pair": ["list of 2", "f32[s77]", "s77 + 1"]}
    assert shown(fixed + 1) == {"x": ["f32[5]"], "pair": ["list of 2", "f32[5]", "6"]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("symbol", ["L['x'].size()[0] is s77 (now 5)"]),
        ("symbol:s77", ["L['x'].size()[0] is s77 (now 5)"]),
        ("symbol:L['y']*", ["L['y'].size()[0] is shared s77 (now 6)"]),
        ("specialize:s77", ["s77 = 5"]),
        ("shape-guard:*> 10", ["s77 > 10"]),
        ("data-dependent", ["undecided: u0 > 3"]),
        ("symbol:s999", []),
    ],
)
def test_a_breakpoint_finds_its_step_in_a_recording(
    recording: Recording, text: str, expected: list[str]
) -> None:
    breakpoint = parse_breakpoint(text)
    assert str(breakpoint) == text
    hit = find_break(recording, recording.oldest, [breakpoint], 1)
    found = [
        step.text
        for attempt in recording.attempts()
        for step in recording.shape_steps(None, attempt=attempt.id)
        if hit is not None and step.moment == hit[0] and str(step.event) == str(breakpoint.kind)
    ]
    assert set(expected) <= set(found)
    assert bool(found) is bool(expected)


def test_a_breakpoint_stops_the_program(path: Path) -> None:
    """With nothing recorded before it: only what it takes to stop there is watched."""
    words = ("continue", "symbols s77", "why-shape", "quit")
    done = run(
        "-m", "stepper", "console", "--detail", "stops", "--break", "specialize:L['x']*",
        *(part for word in words for part in ("-x", word)), path.parent / "program.py",
    )  # fmt: skip
    assert done.stdout.startswith("stopped: breakpoint 1: specialize:L['x']*\n  s77 = 5\n")
    assert line_of("the name") in done.stdout


def test_what_a_later_stage_fixes_has_its_line_unless_it_comes_from_a_cache(tmp_path: Path) -> None:
    path, cache = str(tmp_path / "r.stepper"), str(tmp_path / "cache")
    command = ("-m", "stepper", "record", "-o", path, "-m", "tests.shapes", "fixed_by_the_backend")
    told, remedies = [], []
    for _ in range(2):
        done = run(*command, TORCHINDUCTOR_CACHE_DIR=cache)
        assert done.returncode == 0, done.stderr
        recording = Recording.open(path)
        lines = [line.text for line in shape_lines(recording, "x.shape[2]")]
        told.append(lines[next(at for at, line in enumerate(lines) if "requires" in line) :][:3])
        fixed = recording.events(kinds=(EventKind.SPECIALIZE,))[0]
        remedies.append(why_here(recording, fixed.moment).remedy)
        recording.close()
    cold, warm = told
    assert cold[0].startswith("  requires Eq(s53, 14), by Inductor at tests/shapes/models.py:")
    assert "in fixed_by_the_backend: return torch._adaptive_avg_pool2d" in cold[0]
    assert "_adaptive_avg_pool2d.default" in cold[1]
    assert cold[2].startswith("    in torch: torch/_inductor/lowering.py:")
    assert "until Inductor, at tests/shapes/models.py:" in remedies[0]
    assert warm[0] == "  requires Eq(s53, 14), by a cache"
    assert "is not recorded" in warm[1]
    assert "until a graph from a cache needs its value" in remedies[1]


def test_what_an_engine_does_not_tell_is_said_to_be_unknown(tmp_path: Path) -> None:
    path = str(tmp_path / "other.stepper")
    Writer(path, SessionFacts()).close()
    recording = Recording.open(path)
    (line,) = shape_lines(recording)
    recording.close()
    assert line.text.startswith("not recorded: ")


PARAMETER = """
import sys
import torch
import torch._dynamo.config

torch._dynamo.config.automatic_dynamic_shapes = sys.argv[1] == "automatic"

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Parameter(torch.ones(4, 2))

    def forward(self, x):
        return x + self.table.sum(0)

net = Net()
net.compile(backend="eager")
net(torch.ones(2))
net.table = torch.nn.Parameter(torch.ones(6, 2))
net(torch.ones(2))
"""


@pytest.mark.parametrize(
    ("engine", "sizes", "told"),
    [("dynamo", "automatic", True), ("dynamo", "never", False), ("native", "automatic", False)],
)
def test_a_setting_is_named_for_a_parameter_only_where_a_size_could_be_a_symbol(
    engine: str, sizes: str, told: bool, tmp_path: Path
) -> None:
    path, program = tmp_path / "r.stepper", tmp_path / "program.py"
    program.write_text(PARAMETER)
    run("-m", "stepper", "record", "--engine", engine, "-o", path, program, sizes)
    recording = Recording.open(str(path))
    answer = "\n".join(line.text for line in shape_lines(recording, "self.table.shape[0]"))
    recording.close()
    assert answer.count("never was a symbol") == 2
    assert ("it was 4 in 0/0: " in answer) is told
    assert ("force_parameter_static_shapes" in answer) is told
