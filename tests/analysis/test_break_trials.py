"""Graph breaks are forced away by running the program again, and the runs are compared."""

from __future__ import annotations

import re
from collections.abc import Callable

from stepper.analysis.break_changes import CHANGES, Remedy
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
    """What came of each trial, without times."""
    recording = recorded(program, *options)
    trials = BreakTrials(recording, plan_of(recording), 60.0)
    texts = [line.text.strip() for line in break_lines(recording, function, trying=trials.lines)]
    return [re.sub(r" \([\d.]+ s\)$", "", text) for text in texts if OUTCOME.match(text)]


OUTCOME = re.compile("proven|no help|not advised|failed: |not tried")
SAME = "the output and the exit code are the same"


def test_the_function_that_is_called_and_the_inlined_one_are_tried(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    said = tried(recorded, program(PROGRAM))
    assert {text[: text.index(" graph breaks →") + 17] for text in said} == {
        "proven: torch.compiler.allow_in_graph(helper): 4 graph breaks → 2",
        "proven, too: torch.compiler.allow_in_graph(time.sleep): 4 graph breaks → 2",
        "proven, too: torch.compiler.disable(helper): 4 graph breaks → 3",
        "proven: without torch._dynamo.graph_break(): 4 graph breaks → 2",
        "proven, too: torch.compiler.allow_in_graph(torch._dynamo.graph_break): 4 graph breaks → 2",
        "proven, too: torch.compiler.disable(Net.doubled): 4 graph breaks → 3",
        "proven, too: torch.compiler.allow_in_graph(Net.doubled): 4 graph breaks → 2",
    }
    assert all(text.endswith(SAME) for text in said)


PRINTS = """
import torch

def shown(x):
    print("rows", x.shape[0])
    return x + 1

@torch.compile(backend="eager", dynamic=False)
def f(x):
    one = (x.sum() * 0 + 1).item()
    if one == 1:
        x = shown(x)
    return x * 2

for size in (2, 3):
    f(torch.ones(size))
"""


def test_what_is_advised_is_tried_and_proven_only_by_what_it_leaves(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    said = tried(recorded, program(PRINTS))
    # Where a graph breaks after it, torch loses what is printed later.
    print_after = "torch._dynamo.config.reorderable_logging_functions.add(builtins.print)"
    (lost,) = [text for text in said if print_after in text]
    assert lost.startswith(f"not advised: {print_after}: 6 graph breaks → 2, ")
    assert lost.endswith("it PRINTS nothing instead of 'rows 2'")
    # The number that became a symbol is branched on.
    scalars = "torch._dynamo.config.capture_scalar_outputs = True"
    assert any(text.startswith(f"no help: {scalars}: 6 graph breaks → 6, ") for text in said)


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
    (allowed,) = [
        text
        for text in tried(recorded, program(UNSOUND), "counted")
        if "torch.compiler.allow_in_graph(counted)" in text
    ]
    assert allowed.startswith(
        "not advised: torch.compiler.allow_in_graph(counted): 2 graph breaks → 0, "
    )
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
    said = tried(recorded, program(OUT_OF_REACH), "f")
    found = {text.partition(": ")[2].partition(": ")[0]: text for text in said}
    assert "what it prints differs from run to run" in found["without torch._dynamo.graph_break()"]
    inner = found["torch.compiler.disable(make.<locals>.inner)"]
    assert ": 2 graph breaks → 1, " in inner


def test_breaks_of_the_native_engine_are_forced_away_with_its_own_decorators(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    text = UNSOUND.replace("import torch", "import stepper, torch")
    text = text.replace("torch.compile(", "stepper.compile(")
    said = tried(recorded, program(text), "counted", "--engine", "native")
    assert any("stepper.native.disable(counted): 2 graph breaks → 1, " in each for each in said)
    assert any(
        "stepper.native.allow_in_graph(counted): 2 graph breaks → 0, " in each for each in said
    )


def test_what_was_tried_in_vain_is_not_advised_once_more() -> None:
    number = CHANGES["Unsupported Tensor.item() call with capture_scalar_outputs=False"]
    setting = "torch._dynamo.config.capture_scalar_outputs = True"
    assert setting in str(number)
    assert str(number.without([setting])) == "keep the value a tensor"
    assert number.without(["torch.compiler.disable(helper)"]) == number
    after = Remedy("print elsewhere; or {reordering}, which prints later", reordered="print")
    added = "torch._dynamo.config.reorderable_logging_functions.add(builtins.print)"
    assert str(after.without([added])) == "print elsewhere"
    assert (
        Remedy("{setting}", "allow_rnn").without(["torch._dynamo.config.allow_rnn = True"]) is None
    )
