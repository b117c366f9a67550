"""Remedies that can be tried from outside are found and proven, with the counts of the bench.

`python -m tests.answers.proving [NAME...]` goes through all programs, in an hour or two: each way
is a run of its own. It says of each what is proven. Nothing is of most breaks: what is advised is
to write the line otherwise, which the bench's own second run does. The tests have one program for
each kind of remedy.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from stepper.analysis.break_lines import break_lines
from stepper.analysis.break_trials import BreakTrials
from stepper.analysis.failed_lines import failed_lines
from stepper.analysis.failure_trials import FailureTrials
from stepper.analysis.recompile_lines import recompile_lines
from stepper.analysis.recompile_trials import RecompileTrials
from stepper.client.plan import plan_of
from stepper.recording.reader import Recording
from tests import ready
from tests.answers import programs  # noqa: F401  # they take themselves up
from tests.answers.cases import CASES, Case
from tests.answers.scripts import script
from tests.conftest import clean_environment

PROVEN = {
    "counter_of_a_module": "torch._dynamo.config.allow_unspec_int_on_nn_module = True",
    "float_argument": "torch.tensor(scale) at the calls",
    "int_in_a_dict": "torch.tensor(packed['most']) at the calls",
    "inference_tensor": "x.clone() at the calls",
    "without_gradients": "all calls under torch.no_grad()",
    "modules_with_other_floats": "net.b in a tensor where it is set",
    "learning_rate": "self.param_groups[0]['lr'] in a tensor where it is set",
    "batches_of_other_sizes": "torch._dynamo.mark_dynamic(x, 0) before the calls",
    "prompt_and_single_token": "torch._dynamo.maybe_mark_dynamic(x, 1) before the calls",
    "frozen_and_not": "x.detach() at the calls",
    "other_dtype": "x.to(torch.float32) at the calls",
    "channels_last": "x.contiguous() at the calls",
    "list_or_tuple": "list(states) at the calls",
    "one_tensor_twice": ".clone() at the calls",
    "float_in_a_dataclass": "torch.tensor(config.alpha) at the calls",
    "closure_over_an_int": "weight in a tensor where it is set",
    "int_argument": "torch.compile(dynamic=True)",
    "int_that_is_computed_with": "torch.compile(dynamic=True)",
    "single_row": "torch._dynamo.decorators.mark_unbacked(x, 0) before the calls",
    "trained_then_served": "all calls under torch.inference_mode()",
    "logger_info": "torch._dynamo.config.ignore_logging_functions.add(logging.Logger.info)",
    "printing": "torch._dynamo.config.reorderable_logging_functions.add(builtins.print)",
    "item_of_a_tensor": "torch._dynamo.config.capture_scalar_outputs = True",
    "disabled_helper": "without torch.compiler.disable of off",
    "frame_skipped_by_hand": "without torch._dynamo.skip_frame()",
    "asked_for": "without torch._dynamo.graph_break()",
    "size_from_data": "torch._dynamo.config.capture_dynamic_output_shape_ops = True",
    "warning": "torch._dynamo.config.reorderable_logging_functions.add(warnings.warn)",
}
"""Programs, and what is proven of each, besides what else may be."""


_TRIED = ("proven", "not ", "change", "advice")
"""How lines on what was tried begin."""


def proven(case: Case, folder: Path) -> list[str]:
    """What is said to be proven of a program, the best first."""
    (folder / "program.py").write_text(script(case))
    subprocess.run(
        ready.stepper("record", "--lookups", "-o", "r.stepper", "program.py"),
        cwd=folder, env=clean_environment(), capture_output=True, timeout=600,
        check=case.ask != "why-failed",
    )  # fmt: skip
    recording = Recording.open(str(folder / "r.stepper"))
    try:
        plan = plan_of(recording)
        name = case.function or case.name
        if case.ask == "why-recompile":
            trials = RecompileTrials(recording, plan, 120.0)
            lines = list(recompile_lines(recording, name, trying=trials.lines))
        elif case.ask == "why-break":
            lines = list(break_lines(recording, trying=BreakTrials(recording, plan, 120.0).lines))
        else:
            failing = FailureTrials(recording, plan, 120.0)
            lines = list(failed_lines(recording, name, trying=failing.lines))
    finally:
        recording.close()
    found = [line.text.strip() for line in lines]
    assert not any("^^^" in text for text in found if text.startswith(_TRIED))
    assert not any(re.match("(advice|change): ", text) for text in found)
    proven = [text for text in found if text.startswith("proven")]
    if case.ask == "why-recompile" and proven and "→ 1;" in proven[0]:
        assert not any(text.startswith("advice") for text in found)
    return proven


UNKNOWN = sorted(
    name
    for name, case in CASES.items()
    if case.counts[0] == case.counts[1] and case.ask == "why-recompile"
)
"""Programs that nothing makes compile less."""


def check_proven(name: str, folder: Path) -> None:
    """Hold what is said to be proven of a program of `PROVEN` to that and to the bench's counts."""
    case = CASES[name]
    was, now = case.counts
    counts = (
        f"{was} compilations → {now}"
        if case.ask == "why-recompile"
        else f"{was} graph{'s' * (was != 1)} → {now}"
    )
    found = proven(case, folder)
    assert found, "nothing is proven"
    if PROVEN[name] not in found[0]:  # there is something better
        assert int(re.search(r"→ (\d+)", found[0])[1]) <= now  # type: ignore[index]
    assert any(PROVEN[name] in text and counts in text for text in found)


TRIED = ("why-recompile", "why-break", "why-failed")


def main(names: list[str]) -> None:
    """Go through the programs that are named, or all, and say what is proven of each."""
    with ready.forking():
        for name in names or [case.name for case in CASES.values() if case.ask in TRIED]:
            with tempfile.TemporaryDirectory() as folder:
                print(f"{name}: {_of(name, Path(folder))}", flush=True)


def _of(name: str, folder: Path) -> str:
    if name in PROVEN:
        check_proven(name, folder)
        return f"proven: {PROVEN[name]}"
    found = proven(CASES[name], folder)
    assert not (name in UNKNOWN and found), found
    return found[0] if found else "nothing is proven"


if __name__ == "__main__":
    main(sys.argv[1:])
