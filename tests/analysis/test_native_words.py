"""What is answered of a recording of the native engine is said of it, and not of Dynamo; and what a
container of the program's own holds has the name that the program has for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from stepper.analysis.here import here_lines
from stepper.analysis.questions import QUESTIONS
from stepper.recording.reader import Recording
from tests.analysis.conftest import Recorded

PROGRAM = """
from collections import Counter, OrderedDict
from types import MappingProxyType
import torch

class Registry(OrderedDict):
    def __getitem__(self, name):
        return super().__getitem__(name)

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.hits = Counter()
        self.acts = Registry(relu=torch.relu, sin=torch.sin)
        self.view = MappingProxyType({"scale": 2})
        self.act = "relu"

    def forward(self, x):
        self.hits[self.act] += 1
        x = self.acts[self.act](x) * self.view["scale"]
        if x.sum() > 10:
            print("large")
        return x + self.hits[self.act]

net = Net()
compiled = torch.compile(net, backend="eager")
for size in 2, 3, 4:
    compiled(torch.ones(size))
net.act = "sin"
compiled(torch.ones(4))
"""


def _told(recording: Recording) -> Iterator[str]:
    for question in QUESTIONS.values():
        if question.open and question.fits(recording.facts.capabilities):
            yield from (line.text for line in question.answer()(recording))
    for moment in {event.moment for event in recording.events()}:
        if recording.has(moment):
            yield from (line.text for line in here_lines(recording, moment))


def test_no_answer_speaks_of_compiler_nor_by_names_that_nobody_has_written(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    recording = recorded(program(PROGRAM), "--engine", "native", "--lookups")
    told = [*_told(recording)]
    assert any("self.hits['relu'] grows: 1, 2" in line for line in told)
    assert any("hint: " in line for line in told)
    assert not [line for line in told if "Dynamo" in line]
    names = ("___bare", "___viewed", "___entry")
    assert not [line for line in told if any(name in line for name in names)]
