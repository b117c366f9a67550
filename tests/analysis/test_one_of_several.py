"""What changes of one of several alike, of what all are symbols, and of what no node takes."""

from __future__ import annotations

from collections.abc import Callable

from stepper.analysis.guard_lines import guarded_lines
from stepper.analysis.recompile_advice import advise
from stepper.analysis.recompile_lines import recompile_lines
from tests.analysis.conftest import Recorded
from tests.analysis.test_recompiles import history_of

OF_SEVERAL = """
import torch
from tests.answers.subclasses import Quantized

@torch.compile(backend="eager")
def both(first, second):
    return first + 1, second * 2

@torch.compile(backend="eager", dynamic=True)
def four_or_not(x):
    return x + 1 if x.shape[0] == 4 else x * 2

@torch.compile(backend="eager")
def as_many(x, like):
    return x * like.shape[0]

def of(bits): return Quantized(torch.ones(3), None, bits)

as_many(torch.ones(3), torch.ones(4))

both(of(4), of(4))
both(of(4), of(8))
for size in (4, 6, 7):
    four_or_not(torch.ones(size))
"""


def test_of_several_subclasses_the_one_is_named_that_differs(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    """Dynamo's words for it name none. And a size that one entry needs, where all are symbols, is
    not one on which there would be nothing to say; nor is that of a tensor which no node takes."""
    recording = recorded(program(OF_SEVERAL), "--lookups")
    texts = [line.text for line in recompile_lines(recording)]
    assert any("metadata of second differs" in text for text in texts)
    (advice,) = advise(recording, history_of(recording, "four_or_not"))
    assert "that of the others requires x.shape[0] != 4" in advice.text
    (size, *_) = guarded_lines(recording, "like.shape[0]")
    assert size.text.endswith("like.shape[0] is guarded: it must be 4")
