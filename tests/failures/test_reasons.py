"""The reason of a graph break is kept as Dynamo has it, and shown wherever the break is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stepper.analysis.break_lines import break_lines
from stepper.analysis.breaks import causes
from stepper.model.trace import EventKind
from stepper.recording.reader import Recording
from stepper.report.gathering import gather
from stepper.report.markdown import markdown
from tests.failures.test_failures import run

pytestmark = pytest.mark.slow

PROGRAM = """
import logging, torch
torch._dynamo.config.capture_scalar_outputs = True
log = logging.getLogger("mine")
compiled = torch.compile(backend="eager")
@compiled
def logging_one(x):
    log.warning("hello")
    return x + 1
def chosen(x, n):
    return x + 1 if n > 3 else x - 1
@compiled
def deciding(x):
    return chosen(x, x.sum().int().item())
logging_one(torch.ones(3)), deciding(torch.ones(3))
"""
LOGGER = "logging.Logger method not supported for non-export cases"
UNDECIDED = "Could not guard on data-dependent expression"


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    folder: Path = tmp_path_factory.mktemp("reasons")
    (folder / "program.py").write_text(PROGRAM)
    done = run("-m", "stepper", "record", "-o", folder / "r.stepper", folder / "program.py")
    assert done.returncode == 0, done.stderr
    recording = Recording.open(str(folder / "r.stepper"))
    yield recording
    recording.close()


def test_the_event_says_the_reason_and_not_what_was_traced(recording: Recording) -> None:
    first, second, *_ = [each.text for each in recording.events(kinds=(EventKind.GRAPH_BREAK,))]
    assert first == LOGGER
    # Before torch 2.13 it is called after an example in torch's documentation.
    assert second.startswith(("UserError: ", "constrain_as_size_example: "))
    assert UNDECIDED in second


def test_the_context_is_told(recording: Recording) -> None:
    by_kind = {each.kind: each for each in causes(recording)}
    assert "method: <Logger mine" in by_kind[LOGGER].context
    assert "'hello'" in by_kind[LOGGER].context
    text = "\n".join(line.text for line in break_lines(recording))
    assert "context: method: <Logger mine" in text
    assert "context: `method: <Logger mine" in markdown(gather(recording))


def test_a_user_error_has_its_reason(recording: Recording) -> None:
    assert any(UNDECIDED in each.explanation for each in causes(recording))
    assert UNDECIDED in "\n".join(line.text for line in break_lines(recording))
    assert UNDECIDED in markdown(gather(recording))
