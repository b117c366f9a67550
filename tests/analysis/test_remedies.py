"""Remedies are found in the text of real programs, tried, and told as a patch that applies."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import msgspec
import pytest

from stepper.analysis.places import Files
from stepper.analysis.recompile_lines import recompile_lines
from stepper.analysis.recompile_remedies import ways_for
from stepper.analysis.recompile_series import histories
from stepper.analysis.recompile_trials import RecompileTrials
from stepper.analysis.recompiles import recompilations
from stepper.client.plan import plan_of
from stepper.client.scratch import Sources
from stepper.engines.dynamo.versions.points import torch_version
from stepper.recording.reader import Recording
from tests import ready
from tests.conftest import clean_environment


def record(folder: Path, files: dict[str, str], *command: str) -> Recording:
    """A program of some files, recorded."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    words = ready.stepper("record", "--lookups", "-o", "r.stepper", *command)
    subprocess.run(
        words, cwd=folder, env=clean_environment(), capture_output=True, check=True, timeout=600
    )
    return Recording.open(str(folder / "r.stepper"))


def tried(recording: Recording, function: str = "") -> list[str]:
    """What came of each trial, and the patch, without times."""
    trials = RecompileTrials(recording, plan_of(recording), 60.0)
    lines = recompile_lines(recording, function, trying=trials.lines)
    texts = [line.text[2:] for line in lines if line.text.startswith("  ")]
    since = next(at for at, text in enumerate(texts) if OUTCOME.match(text))
    until = next(at for at, text in enumerate(texts) if END.match(text))
    return [re.sub(r" \([\d.]+ s\)$", "", text) for text in texts[since:until]]


OUTCOME = re.compile("run again|proven|no help|not advised|failed|not tried")
END = re.compile(r"advice: |\d+/\d+ ")
SAME = "the output and the exit code are the same"


def patch_of(said: list[str], folder: Path) -> None:
    """Apply the patch that was told, as a user would."""
    text = "".join(f"{line[2:]}\n" for line in said[1:] if line.startswith("  "))
    done = subprocess.run(
        ["patch", "-p1"], cwd=folder, input=text, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr + text


PACKAGE = {
    "main.py": """import sys
from lib.model import Scaled
from lib import data

model = Scaled()
for batch in data.batches(int(sys.argv[1])):
    print(model.forward(batch, factor=batch.shape[0] + 0.5).sum().item())
""",
    "lib/__init__.py": "",
    "lib/model.py": """import torch


class Scaled:
    @torch.compile(backend="eager")
    def forward(self, x, factor):
        return x * factor
""",
    "lib/data.py": """import torch


def batches(count):
    return [torch.ones(size, 2) for size in range(4, 4 + count)]
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("command", [("main.py", "4"), ("-m", "main", "4")])
def test_a_program_of_several_files(command: tuple[str, ...], tmp_path: Path) -> None:
    recording = record(tmp_path, PACKAGE, *command)
    said = tried(recording)
    recording.close()
    # The call is in a file that does not import torch, so that nothing can be marked there.
    assert said[0] == f"proven: torch.compile(dynamic=True): 2 compilations → 1; {SAME}"
    assert "  --- a/lib/model.py" in said
    for name, text in PACKAGE.items():
        assert (tmp_path / name).read_text() == text, "only a copy was changed"
    patch_of(said, tmp_path)
    again = record(tmp_path, {}, *command)
    assert not recompilations(again)
    again.close()


LOADED = """import torch
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.ones(10, 2)), batch_size=4)

@torch.compile(backend="eager", dynamic=False)
def step(x):
    return x * 2

seen = 0
for (batch,) in loader:
    step(batch)
    seen += {counted}
print("batches", seen)
"""


@pytest.mark.slow
def test_the_last_batch_of_a_loader(tmp_path: Path) -> None:
    recording = record(tmp_path, {"p.py": LOADED.format(counted=0)}, "p.py")
    said = tried(recording)
    recording.close()
    assert said[0].startswith("proven: ")
    assert f"proven, too: drop_last=True of the DataLoader: 2 compilations → 1; {SAME}" in said


@pytest.mark.slow
def test_what_changes_the_result_is_not_advised(tmp_path: Path) -> None:
    recording = record(tmp_path, {"p.py": LOADED.format(counted=1)}, "p.py")
    said = tried(recording)
    recording.close()
    assert (
        "not advised: drop_last=True of the DataLoader: 2 compilations → 1, but it PRINTS "
        "'batches 2' instead of 'batches 3'"
    ) in said


ALIASED = """import torch

@torch.compile(backend="eager")
def pair_sum(x, y):
    x.add_(1)
    return x + y

x, y = torch.ones(2), torch.ones(2)
print(pair_sum(x, y))
print(pair_sum(x, x))
"""


@pytest.mark.slow
def test_a_copy_that_changes_the_result_is_not_advised(tmp_path: Path) -> None:
    recording = record(tmp_path, {"p.py": ALIASED}, "p.py")
    said = tried(recording)
    recording.close()
    assert not any(text.startswith("proven") for text in said)
    assert any(
        text.startswith("not advised: y.clone() at the calls: 2 compilations → 1, but it PRINTS")
        for text in said
    )


AGAIN = """import torch

def by_eager(graph, inputs):
    return graph.forward

def step(x):
    return x * 2

for number in range(3):
    compiled_step = torch.compile(step, backend=lambda graph, inputs: graph.forward)
    print(compiled_step(torch.ones(2)))
"""


@pytest.mark.slow
def test_what_is_compiled_in_a_loop_is_compiled_once(tmp_path: Path) -> None:
    recording = record(tmp_path, {"p.py": AGAIN}, "p.py")
    said = tried(recording)
    recording.close()
    assert said[0] == f"proven: torch.compile once, outside: 3 compilations → 1; {SAME}"
    patch_of(said, tmp_path)
    again = record(tmp_path, {}, "p.py")
    assert not recompilations(again)
    again.close()


KEYS = """import torch

@torch.compile(backend="eager")
def total(parts):
    found = 0
    for name in parts:
        found = found + parts[name]
    return found

print(total({"a": torch.ones(2), "b": torch.ones(2)}))
print(total({"b": torch.ones(2), "a": torch.ones(2)}))
"""


@pytest.mark.slow
def test_keys_in_another_order_are_sorted(tmp_path: Path) -> None:
    recording = record(tmp_path, {"p.py": KEYS}, "p.py")
    said = tried(recording)
    recording.close()
    assert said[0] == (
        f"proven: dict(sorted(parts.items())) at the calls: 2 compilations → 1; {SAME}"
    )


DUCKS = """import torch

@torch.compile(backend="eager", dynamic=True)
def outer(x, y):
    return x[:, None] * y

for a, b in ((4, 4), (5, 6), (7, 8)):
    print(outer(torch.ones(a), torch.ones(b)).shape)
"""


@pytest.mark.slow
def test_sizes_that_were_the_same_once(tmp_path: Path) -> None:
    recording = record(tmp_path, {"p.py": DUCKS}, "p.py")
    said = tried(recording)
    recording.close()
    setting = "torch.fx.experimental._config.use_duck_shape = False"
    assert any(text.startswith(f"proven: {setting}: 2 compilations → 1") for text in said)


SIZES = """import torch

@torch.compile(backend="eager")
def f(x):
    return x + 1

for size in (4, 5):
    f(torch.ones(size))
"""


def test_what_a_recording_says_is_not_written_into_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step of a source is code of whoever made the recording."""
    recording = record(tmp_path, {"p.py": SIZES}, "p.py")
    (history,) = histories(recording, recompilations(recording))
    files = Files(Sources(plan_of(recording)))
    assert any(way.edits for way in ways_for(recording, files, history)[0])
    for source in (
        "x[__import__('os').system('id')]", "x.y(print())", "x['\\n']", "x[print()]",
        "__import__('os')", "x[(lambda: 1)()]",
    ):  # fmt: skip
        series = [type(history.series[0])(**{
            name: getattr(history.series[0], name) for name in history.series[0].__struct_fields__
        } | {"source": source})]  # fmt: skip
        forged = msgspec.structs.replace(history)
        vars(forged)["series"] = tuple(series)
        for way in (way for some in ways_for(recording, files, forged) for way in some):
            for edit in way.edits:
                assert "import" not in edit.text
                assert "print" not in edit.text
                assert "lambda" not in edit.text
    recording.close()


LAYERS = """import torch

class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4))

    def forward(self, x):
        for _ in range(5):
            x = (x * self.weight).sin() + 1
        return x

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(Layer() for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

net = torch.compile(Net(), backend="aot_eager", dynamic=False)
for size in (3, 4):
    print(net(torch.ones(size, 4)).sum().item())
"""


@pytest.mark.slow
def test_layers_that_are_alike_are_a_region(tmp_path: Path) -> None:
    recording = record(tmp_path, {"p.py": LAYERS}, "p.py")
    said = tried(recording)
    recording.close()
    (region,) = [text for text in said if "nested_compile_region of Layer.forward: " in text]
    counts = re.search(r"2 compilations → 2, (\d+) instructions → (\d+) interpreted", region)
    assert counts is not None
    fewer = int(counts[2]) < int(counts[1])
    assert region.startswith("proven, too: " if fewer else "no help: ")
    assert fewer is (torch_version() > (2, 11))  # which interprets each of them all the same


DIES = """import torch

@torch.compile(backend="eager")
def scaled(x, factor):
    return x * factor

for factor in (1.5, 2.5):
    print(scaled(torch.ones(2), factor))
raise ValueError("as ever")
"""


@pytest.mark.slow
def test_a_program_that_ends_with_an_error_is_held_to_that(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(DIES)
    words = ready.stepper("record", "-o", "r.stepper", "p.py")
    subprocess.run(
        words, cwd=tmp_path, env=clean_environment(), capture_output=True, check=False, timeout=600
    )
    recording = Recording.open(str(tmp_path / "r.stepper"))
    said = tried(recording)
    recording.close()
    assert said[:2] == [
        "run again as it is: it ended with exit code 1: ValueError: as ever",
        f"proven: torch.tensor(factor) at the calls: 2 compilations → 1; {SAME}",
    ]


def test_nobody_is_told_to_mark_what_a_break_has_left_on_the_stack(tmp_path: Path) -> None:
    program = """
import torch

@torch.compile(backend="eager")
def f(x, mask):
    return x[torch.nonzero(mask).squeeze(-1)].sum(0)

f(torch.ones(4, 3), torch.tensor([1, 0, 1, 1]))
f(torch.ones(4, 3), torch.tensor([1, 0, 0, 0]))
"""
    recording = record(tmp_path, {"p.py": program}, "p.py")
    told = [line.text for line in recompile_lines(recording)]
    recording.close()
    assert any("makes no symbol of a size 0 or 1" in text for text in told), told
    assert not any("mark_" in text for text in told), told
    assert any("Remove that break: why-break f says how." in text for text in told), told
