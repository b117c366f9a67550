"""What may be done about a compilation that failed is tried."""

from __future__ import annotations

import re
from collections.abc import Callable

from stepper.analysis.failed_lines import failed_lines
from stepper.analysis.failure_trials import FailureTrials
from stepper.client.plan import plan_of
from tests.analysis.conftest import Recorded

OUTCOME = re.compile("proven|no help|not advised|failed: |not tried")


def tried(recorded: Recorded, program: str, told: re.Pattern[str] = OUTCOME) -> list[str]:
    """What came of each trial, without times."""
    recording = recorded(program)
    trials = FailureTrials(recording, plan_of(recording), 60.0)
    texts = [line.text.strip() for line in failed_lines(recording, trying=trials.lines)]
    return [re.sub(r" \([\d.]+ s\)$", "", text) for text in texts if told.match(text)]


FIXED = """
import torch

@torch.compile(backend="eager")
def f(x):
    return x * len(range(x.shape[0]))

x = torch.ones(3)
torch._dynamo.mark_dynamic(x, 0)
print(f(x))
"""


def test_a_mark_that_the_code_does_not_keep(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    assert tried(recorded, program(FIXED)) == [
        "proven: maybe_mark_dynamic instead of mark_dynamic: 1 failure → 0; it ends with exit "
        "code 0"
    ]


ON_DATA = """
import torch
torch._dynamo.config.capture_scalar_outputs = True

@torch.compile(backend="eager", fullgraph=True)
def data(x):
    n = x.sum().int().item()
    if n > 3:
        return x + 1
    return x - 1

print(data(torch.ones(5)))
"""


def test_a_condition_on_data(recorded: Recorded, program: Callable[[str], str]) -> None:
    checked, broken, refuted = tried(recorded, program(ON_DATA))
    assert checked.startswith("proven: torch._check(n > 3) before it, which other data may fail: ")
    assert broken.startswith("proven, too: fullgraph=False: 1 failure → 0")
    assert refuted.startswith("not advised: torch._check(n <= 3) before it, ")
    assert "RuntimeError: Runtime assertion failed" in refuted


IN_ONE_GRAPH = """
import torch

@torch.compile(backend="eager", fullgraph=True)
def whole(x):
    x = x * 2
    %s
    return x + 1

whole(torch.ones(2))
"""


def test_one_graph_is_given_up_last(recorded: Recorded, program: Callable[[str], str]) -> None:
    printed, broken = tried(recorded, program(IN_ONE_GRAPH % "print('half')"))
    assert printed.startswith(
        "proven: torch._dynamo.config.reorderable_logging_functions.add(print), "
    )
    assert "1 graph break → 0" in printed
    assert broken.startswith("proven, too: fullgraph=False: 1 failure → 0")


def test_what_would_leave_one_graph_is_told_beside(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    text = program(IN_ONE_GRAPH % "open('/dev/null').close()")
    broken, change = tried(recorded, text, re.compile("proven|change"))
    assert broken.startswith("proven: fullgraph=False: 1 failure → 0")
    assert change == "change, not proven: read or write files outside of the compiled function"


BY_THE_BACKEND = """
import torch

def no_backend(graph, inputs):
    raise ValueError("out of order")

torch.compile(lambda x: x + 1, backend=no_backend)(torch.ones(2))
"""


def test_where_nothing_is_known_it_is_said(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    assert tried(recorded, program(BY_THE_BACKEND)) == [
        "not tried: no change is known that could be tried"
    ]


TOO_OFTEN = """
import torch
torch._dynamo.config.fail_on_recompile_limit_hit = True
torch._dynamo.config.recompile_limit = 3

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.step = 0

    def forward(self, x):
        self.step += 1
        return x + 1 if self.step % 2 else x

net = torch.compile(Net(), backend="eager", fullgraph=True)
for _ in range(5):
    print(net(torch.ones(3)))
"""


def test_what_is_tried_against_recompilations_is_tried_where_one_too_many_fails(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    first, *others = tried(recorded, program(TOO_OFTEN))
    setting = "torch._dynamo.config.allow_unspec_int_on_nn_module = True"
    same = "it prints what it did before it failed, and ends with exit code 0"
    assert first == f"proven: {setting}: 1 failure → 0; {same}"
    # The guards that it takes away are those by which the second call was told from the first.
    unsafe = next(each for each in others if "skip_guard_on_all_nn_modules_unsafe" in each)
    assert unsafe.startswith("not advised: ")
    assert "it PRINTS 'tensor([2., 2., 2.])' instead of 'tensor([1., 1., 1.])'" in unsafe
