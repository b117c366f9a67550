"""No recording makes a report of many megabytes; what is left out is counted and still folded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from stepper.model.program import Code, Instruction, PythonFrame
from stepper.model.trace import Outcome
from stepper.model.value import Value
from stepper.recording.reader import Recording
from stepper.report.contents import Report
from stepper.report.encoding import encoded
from stepper.report.gathering import gather
from stepper.report.markdown import markdown
from stepper.report.page import page
from stepper.report.room import LONGEST, Room, fitted
from tests.report.reading import Page
from tests.tape import Tape

COMPILED = 3
LAYERS = 40
EACH = 20
LONG = "<\"'&>" * 60


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    """A model of many layers, each with many guards and nodes, compiled again and again."""
    path = str(tmp_path_factory.mktemp("large") / "large.stepper")
    tape = Tape(path)
    rows = tuple(Instruction(at, "RESUME", 0, "", 2 * at, 1) for at in range(2))
    body = Code(0, "forward", LONG, "/home/me/model.py", 1, rows, 1, (LONG,))
    frame = PythonFrame(LONG, 1, LONG)
    for number in range(COMPILED):
        tape.begin(body, f"0/{number}", python_stack=(frame,) * 9)
        tape.start_attempt()
        model = tape.describe(Value("UnspecializedNNModuleVariable", "Net", source="L['self']"))
        tape.step(0, locals={"self": model})
        for layer in range(LAYERS):
            module = f"L['self']._modules['decoder']._modules['block']._modules['{layer}']"
            for at in range(EACH):
                tape.guard("TYPE_MATCH", f"{module}.a{at}", code=(LONG,), user_line=frame)
                source = f"{module}._parameters['w{at}']"
                tape.node(f"n{layer}_{at}", "placeholder", LONG, source=source)
        tape.step(1, locals={"self": model})
        tape.end_attempt()
        tape.end(Outcome.COMPILED, transformed_code=tape.code(body))
    tape.close()
    recording = Recording.open(path)
    yield recording
    recording.close()


@pytest.mark.parametrize("write", [page, markdown, encoded])
def test_a_report_is_short_whatever_is_recorded(
    write: Callable[[Report], str], large: Recording
) -> None:
    text = fitted(lambda room: partial(gather, large)(room=room), write)
    assert len(text.encode()) <= LONGEST


def test_what_is_left_out_is_counted_and_folded_by_module(large: Recording) -> None:
    report = gather(large, room=Room(1_500_000))
    told = sum(len(entry.guards) for entry in report.entries)
    assert report.left_out["guards"] == COMPILED * LAYERS * EACH - told
    assert report.totals.guards == COMPILED * LAYERS * EACH
    found = Page(page(report))
    found.check()
    words = " ".join(found.text)
    assert f"{report.left_out['guards']:,} of guards" in words
    for entry in report.entries:
        assert entry.guard_count > len(entry.guards)
        assert [(layer.path, layer.guards, layer.nodes) for layer in entry.layers] == [
            (f"decoder.block[{layer}]", EACH, EACH) for layer in range(LAYERS)
        ]
        # One of each kind of guard comes before what other layers have likewise.
        assert {guard.source.rpartition(".")[2] for guard in entry.guards} == {
            f"a{at}" for at in range(EACH)
        }
