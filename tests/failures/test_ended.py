"""What a program ended with when neither it nor the compiler had raised that: compiled code when it
ran, or torch.compile of what it was given."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from stepper.analysis.failed_lines import failed_lines
from stepper.analysis.failure_changes import WHEN_RUN
from stepper.analysis.failures import failures
from stepper.model.failure import FailedStage
from stepper.recording.reader import Recording
from tests import ready
from tests.conftest import clean_environment

pytestmark = pytest.mark.slow

BACKEND = """\
import torch

def build(backend):
    return torch.compile(torch.relu, backend=backend)

build("induktor")
"""
MODE = """\
import torch

torch.compile(torch.relu, mode="max-speed")
"""
AN_INDEX = """\
import torch

@torch.compile(backend=BACKEND)
def pick(x, at):
    h = x * 2
    return h[at] + 1

pick(torch.ones(4), torch.tensor([1, 2]))
pick(torch.ones(4), torch.tensor([1, 9]))
"""
A_MODULE = """\
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(10, 4)

    def forward(self, ids):
        return self.table(ids).relu()

torch.compile(Net(), backend="eager")(torch.tensor([1, 12]))
"""
A_DTYPE = """\
import torch

@torch.compile(backend="eager")
def apply(x, y):
    x = x.to(torch.float16)
    return torch.nn.functional.linear(x, y)

apply(torch.randn(2, 4), torch.randn(3, 4))
"""
TWICE = """\
import torch

@torch.compile(backend="aot_eager")
def energy(x):
    return (x ** 3).sum()

x = torch.ones(3, requires_grad=True)
force, = torch.autograd.grad(energy(x), x, create_graph=True)
force.sum().backward()
"""
KEPT = """\
import torch
import torch._functorch.config

decoder = torch.nn.Sequential(torch.nn.LayerNorm(4), torch.nn.Tanh(), torch.nn.Linear(4, 4))
out = torch.compile(decoder, backend="aot_eager", dynamic=True)(torch.ones(2, 4))
for loss in (out.sum(), -out.mean()):
    torch.autograd.grad(loss, decoder[0].weight, retain_graph=True)
"""
A_TANGENT = """\
import torch
from torch.testing._internal.two_tensor import TwoTensor

@torch.compile(backend="aot_eager")
def double(x):
    return x * 2

x = TwoTensor(torch.ones(3), torch.ones(3)).requires_grad_()
double(x).backward(GRADIENT)
"""
A_HOOK = """\
import torch

torch._dynamo.config.compiled_autograd = True
model = torch.nn.Linear(4, 4)
model.register_full_backward_hook(lambda module, given, got: None)
compiled = torch.compile(model, backend="aot_eager")

def step():
    compiled(torch.ones(2, 4)).sum().backward()

BEGIN()
"""
REMEDIES = {
    "twice": (
        TWICE, "take the first derivative inside of what is compiled (torch.func.grad)",
        ("force, = torch.autograd.grad(energy(x), x, create_graph=True)",
         "force = torch.compile(torch.func.grad(lambda x: (x ** 3).sum()))(x)"),
    ),
    "donated": (
        KEPT, "torch._functorch.config.donated_buffer = False before the first call",
        ("import torch._functorch.config\n",
         "import torch._functorch.config\ntorch._functorch.config.donated_buffer = False\n"),
    ),
    "tangent": (
        A_TANGENT.replace("GRADIENT", "torch.ones(3)"), "hand backward() one that is like it",
        ("torch.ones(3))\n", "TwoTensor(torch.ones(3), torch.ones(3)))\n"),
    ),
    "compiled autograd": (
        A_HOOK.replace("BEGIN", "step"), "is at work where backward() is called in a compiled",
        ("step()\n", 'torch.compile(step, backend="aot_eager")()\n'),
    ),
}  # fmt: skip
"""For each rule on what compiled code raises a program, what is advised, and what that changes."""
BACKWARD = """\
import torch

def refuse(graph, inputs):
    raise RuntimeError("no backward here")

from torch._dynamo.backends.common import aot_autograd

@torch.compile(backend=aot_autograd(fw_compiler=lambda graph, inputs: graph, bw_compiler=refuse))
def energy(x):
    return (x ** 3).sum()

energy(torch.ones(3, requires_grad=True)).backward()
"""
BY_ITSELF = """\
import json, torch

@torch.compile(backend="eager")
def read(x, text):
    torch._dynamo.graph_break()
    return x * len(json.loads(text))

read(torch.ones(2), "[1]")
read(torch.ones(2), "{")
"""
SAVED = """\
import torch

@torch.compile(backend="eager")
def step(x):
    y = x * 2
    torch.save(y, "/nowhere/of/ours.pt")
    return y + 1

step(torch.ones(2))
"""
DISABLED = """\
import torch

@torch.compiler.disable
def check(x):
    raise ValueError("of its own")

@torch.compile(backend="eager")
def step(x):
    y = x * 2
    check(y)
    return y + 1

step(torch.ones(2))
"""
BETWEEN = """\
import torch

@torch.compile(backend="aot_eager")
def force(x):
    energy = (x.sin() * x.cos()).sum()
    torch._dynamo.graph_break()
    first, = torch.autograd.grad(energy, x)
    return first + torch.autograd.grad(energy, x)[0]

force(torch.ones(2, requires_grad=True))
"""
BROKEN = """\
import torch

@torch.compile(backend="eager")
def read(x, table):
    try:
        print((x * 2).shape, table["nothing"])
    except ValueError:
        return x

read(torch.ones(2), {})
"""
BESIDE = """\
import torch

torch.compile(torch.relu, backend="eager")(torch.ones(2))
raise ValueError("of its own")
"""
HANDLED = """\
import torch

try:
    torch.compile(torch.relu, backend="induktor")
except Exception:
    pass
torch.compile(torch.relu, backend="eager")(torch.ones(2))
"""
INTERRUPTED = """\
import signal, torch

@torch.library.custom_op("stepper_ended::interrupted", mutates_args=())
def interrupted(x: torch.Tensor) -> torch.Tensor:
    signal.raise_signal(signal.SIGINT)
    return x.clone()

@interrupted.register_fake
def _(x):
    return x.clone()

@torch.compile(backend="eager")
def apply(x):
    return interrupted(x) + 1

apply(torch.ones(2))
"""
LATE = """\
import torch

def copy_back(x: torch.Tensor) -> torch.Tensor:
    # What torch raises of a device, in its own words: no device is needed for that.
    raise RuntimeError(
        "CUDA error: device-side assert triggered\\nCUDA kernel errors might be asynchronously "
        "reported at some other API call, so the stacktrace below might be incorrect.\\nFor "
        "debugging consider passing CUDA_LAUNCH_BLOCKING=1"
    )

copy = torch.library.custom_op("stepper_ended::copy_back", copy_back, mutates_args=())
copy.register_fake(torch.empty_like)

@torch.compile(backend="eager")
def positive(x):
    return copy(x * 3) + 1

positive(torch.ones(2))
"""
HOSTILE = """\
import torch

class Own(IndexError):
    def __getattribute__(self, name):
        print("asked", name)
        return super().__getattribute__(name)

@torch.library.custom_op("stepper_ended::refuse", mutates_args=())
def refuse(x: torch.Tensor) -> torch.Tensor:
    raise Own("of ones own")

@refuse.register_fake
def _(x):
    return x.clone()

@torch.compile(backend="eager")
def apply(x):
    return refuse(x) + 1

apply(torch.ones(2))
"""


def ended(path: Path, text: str, engine: str = "dynamo") -> tuple[Recording, str]:
    """The recording of a program and what is told of its end; it ends as it does alone."""
    program = path / "program.py"
    program.write_text(text)
    alone, recorded = (
        subprocess.run(
            command, cwd=path, env=clean_environment(), capture_output=True, text=True,
            check=False, timeout=300,
        )
        for command in (
            ready.python("program.py"),
            ready.stepper("record", "--engine", engine, "-o", "run.stepper", "program.py"),
        )
    )  # fmt: skip
    assert alone.returncode == recorded.returncode
    assert alone.stdout == recorded.stdout
    if engine == "dynamo" and "'inductor'" not in text:  # which names its files anew
        assert alone.stderr in recorded.stderr
    recording = Recording.open(str(path / "run.stepper"))
    return recording, "\n".join(line.text for line in failed_lines(recording))


@pytest.mark.parametrize("text", [BACKEND, MODE], ids=["backend", "mode"])
def test_what_torch_compile_refuses_is_told(tmp_path: Path, text: str) -> None:
    recording, said = ended(tmp_path, text)
    (failure,) = recording.failures()
    assert failure.stage is FailedStage.ASKED
    assert said.startswith("no compilation failed; the program ended in torch.compile itself")
    assert ("induktor" in said) == (text is BACKEND)
    assert ("max-speed, should be one of" in said) == (text is MODE)
    place = "program.py:4 in build" if text is BACKEND else "program.py:3 in <module>"
    assert f"called by {place}" in said


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_what_compiled_code_raises_is_told_at_the_line_of_its_node(
    tmp_path: Path, backend: str
) -> None:
    recording, said = ended(tmp_path, AN_INDEX.replace("BACKEND", repr(backend)))
    (failure,) = recording.failures()
    assert failure.stage is FailedStage.RUNNING
    assert failure.compile_id == "0/0"
    assert "the program ended with what compiled code raised when it ran" in said
    assert "0/0 pick: IndexError when its compiled code ran  program.py:6 in pick" in said
    assert "     return h[at] + 1" in said
    assert "index 9 is out of bounds" in said
    assert "called by program.py:9 in <module>" in said


def test_an_entry_that_died_with_the_call_that_failed_is_known_all_the_same(
    tmp_path: Path,
) -> None:
    _, said = ended(tmp_path, A_DTYPE)
    assert "apply: RuntimeError when its compiled code ran  program.py:6 in apply" in said


def test_with_inductor_the_node_is_not_known(tmp_path: Path) -> None:
    _, said = ended(tmp_path, AN_INDEX.replace("BACKEND", "'inductor'"))
    assert "0/0 pick: RuntimeError when its compiled code ran\n" in said
    assert "which node of the graph raised it is not recorded" in said


def test_the_native_engine_tells_it_too(tmp_path: Path) -> None:
    recording, said = ended(tmp_path, A_MODULE, "native")
    assert [failure.stage for failure in recording.failures()] == [FailedStage.RUNNING]
    assert "0/0 Net.forward: IndexError when its compiled code ran" in said


def test_with_the_native_engine_it_is_raised_by_the_programs_own_line(tmp_path: Path) -> None:
    recording, said = ended(tmp_path, AN_INDEX.replace("BACKEND", "'eager'"), "native")
    assert [failure.stage for failure in recording.failures()] == [FailedStage.RUNNING]
    assert "0/0 pick: IndexError when its compiled code ran\n" in said
    assert "raised in program.py:6 in pick" in said


@pytest.mark.parametrize("text", [BY_ITSELF, BROKEN], ids=["left", "broken"])
def test_what_stands_beside_the_native_engines_graph_is_no_failure(
    tmp_path: Path, text: str
) -> None:
    recording, said = ended(tmp_path, text, "native")
    assert not recording.failures()
    assert said.startswith("no compilation failed; what compiled code raises")


def test_no_operation_is_blamed_for_what_a_device_says_late(tmp_path: Path) -> None:
    _, said = ended(tmp_path, LATE)
    assert "0/0 positive: RuntimeError when its compiled code ran\n" in said
    assert (
        "a device may fail earlier than that is noticed: which operation failed is not recorded"
        in said
    )
    noticed = "noticed at CALL 1 for the node copy_back_default program.py:16 in positive"
    assert noticed in said
    assert "consider passing CUDA_LAUNCH_BLOCKING=1" in said


def test_a_compiled_backward_is_told_without_a_function(tmp_path: Path) -> None:
    _, said = ended(tmp_path, TWICE)
    assert "the backward: RuntimeError when its compiled code ran" in said
    assert "does not currently support double backward" in said


def test_a_backward_between_graphs_is_told_where_it_is_called(tmp_path: Path) -> None:
    _, said = ended(tmp_path, BETWEEN)
    assert "the backward: RuntimeError when its compiled code ran" in said
    line = BETWEEN.splitlines().index("    return first + torch.autograd.grad(energy, x)[0]") + 1
    assert f"called by program.py:{line} in force, resumed at" in said


@pytest.mark.parametrize("rule", WHEN_RUN)
def test_the_advice_on_what_compiled_code_raises_is_of_use(tmp_path: Path, rule: str) -> None:
    text, advice, (before, after) = REMEDIES[rule]
    recording, said = ended(tmp_path, text)
    assert advice in said
    (failed,) = failures(recording)
    assert [name for name, each in WHEN_RUN.items() if each(recording, failed)] == [rule]
    head, found, rest = text.rpartition(before)
    assert found
    assert "change:" not in ended(tmp_path, head + after + rest)[1]


def test_a_backward_that_does_not_compile_is_told_once(tmp_path: Path) -> None:
    recording, _ = ended(tmp_path, BACKWARD)
    assert [failure.stage for failure in recording.failures()] == [FailedStage.BACKWARD]


@pytest.mark.parametrize(
    "text",
    [BY_ITSELF, SAVED, DISABLED, BESIDE, HANDLED, INTERRUPTED],
    ids=["left", "torch's", "disabled", "beside", "handled", "Ctrl-C"],
)
def test_what_the_program_raises_itself_or_handles_is_no_failure(tmp_path: Path, text: str) -> None:
    recording, said = ended(tmp_path, text)
    assert not recording.failures()
    assert said.startswith("no compilation failed; what compiled code raises")


def test_an_exception_of_the_programs_own_is_not_asked(tmp_path: Path) -> None:
    recording, said = ended(tmp_path, HOSTILE)
    assert [failure.exception for failure in recording.failures()] == ["Own"]
    assert "of ones own" in said
