"""Graph breaks are forced away by running the program again, and the runs are compared."""

from __future__ import annotations

import re
from collections.abc import Callable

from stepper.analysis.break_lines import break_lines
from stepper.analysis.break_trials import BreakTrials
from stepper.client.plan import plan_of
from tests.analysis.conftest import Recorded

PROGRAM = """
import time
import torch

def helper(x):
    time.sleep(0)
    return x + 1

class Net(torch.nn.Module):
    @staticmethod
    def doubled(x):
        torch._dynamo.graph_break()
        return x * 2

    def forward(self, x):
        return helper(x) + self.doubled(x)

net = torch.compile(Net(), backend="eager")
print(net(torch.ones(2)).tolist())
print(net(torch.ones(2)).tolist())
"""


def tried(recorded: Recorded, program: str, function: str = "", *options: str) -> list[str]:
    """What is said of each trial, without times."""
    recording = recorded(program, *options)
    trials = BreakTrials(recording, plan_of(recording), 60.0)
    texts = [line.text.strip() for line in break_lines(recording, function, trying=trials.lines)]
    return [
        re.sub(r"; [\d.]+ s\b", "", text).removeprefix("tried: ")
        for text in texts
        if text.startswith(("tried", "not tried"))
    ]


def test_the_function_that_is_called_and_the_inlined_one_are_tried(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    said = tried(recorded, program(PROGRAM))
    counts = {text.partition(" leaves ")[0]: text.partition(" leaves ")[2] for text in said}
    assert {name: text[: text.index("(")].strip() for name, text in counts.items()} == {
        "torch.compiler.allow_in_graph(time.sleep)": "2 graph breaks",
        "torch.compiler.disable(helper)": "3 graph breaks",
        "torch.compiler.allow_in_graph(helper)": "2 graph breaks",
        "torch.compiler.allow_in_graph(torch._dynamo.graph_break)": "2 graph breaks",
        "torch.compiler.disable(Net.doubled)": "3 graph breaks",
        "torch.compiler.allow_in_graph(Net.doubled)": "2 graph breaks",
    }
    assert all("graph breaks (4), " in text for text in said), "those of a run as it is"
    assert all(text.endswith("; it prints the same") for text in said)


PRINTS = """
import torch

def shown(x):
    print("rows", x.shape[0])
    return x + 1

@torch.compile(backend="eager", dynamic=False)
def f(x):
    if (x.sum() * 0 + 1).item() == 1:
        x = shown(x)
    return x * 2

for size in (2, 3):
    f(torch.ones(size))
"""


def test_what_is_advised_is_tried(recorded: Recorded, program: Callable[[str], str]) -> None:
    said = tried(recorded, program(PRINTS))
    print_after = "torch._dynamo.config.reorderable_logging_functions.add(builtins.print)"
    advised = next(text for text in said if text.startswith(f"{print_after} leaves "))
    counts = re.search(r"leaves (\d+) graph breaks? \((\d+)\)", advised)
    assert counts is not None
    assert int(counts[1]) < int(counts[2])
    scalars = "torch._dynamo.config.capture_scalar_outputs = True leaves "
    assert any(text.startswith(scalars) for text in said)


UNSOUND = """
import torch

seen = []

def counted(x):
    torch._dynamo.graph_break()
    seen.append(1)
    return x + 1

@torch.compile(backend="eager")
def f(x):
    return counted(x) * 2

f(torch.ones(2))
print("counted", len(seen))
"""


def test_another_output_is_told(recorded: Recorded, program: Callable[[str], str]) -> None:
    allowed = tried(recorded, program(UNSOUND), "counted")[-1]
    assert allowed.startswith("torch.compiler.allow_in_graph(counted) leaves 0 graph breaks (2)")
    assert allowed.endswith("it PRINTS 'counted 2' instead of 'counted 1'"), (
        "once with fake tensors"
    )


OUT_OF_REACH = """
import time, torch

def make():
    def inner(x):
        torch._dynamo.graph_break()
        return x + 1
    return inner

inner = [make()]

@torch.compile(backend="eager")
def f(x):
    return inner[0](x) * 2

f(torch.ones(2))
print(time.perf_counter())
"""


def test_what_cannot_be_decorated_and_what_always_differs_is_said(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    _, disabled, _ = tried(recorded, program(OUT_OF_REACH), "f")
    assert disabled.startswith("torch.compiler.disable(make.<locals>.inner) leaves 2 graph breaks")
    assert "what it prints differs from run to run" in disabled
    assert disabled.endswith("but torch.compiler.disable(make.<locals>.inner): no module and no "
                             "class has it")  # fmt: skip


def test_breaks_of_the_native_engine_are_forced_away_with_its_own_decorators(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    text = UNSOUND.replace("import torch", "import stepper, torch")
    text = text.replace("torch.compile(", "stepper.compile(")
    disabled, allowed = tried(recorded, program(text), "counted", "--engine", "native")[-2:]
    assert disabled.startswith("stepper.native.disable(counted) leaves 1 graph break (2), ")
    assert allowed.startswith(
        "stepper.native.allow_in_graph(counted) leaves 0 graph breaks (2), 1 graph ("
    )
