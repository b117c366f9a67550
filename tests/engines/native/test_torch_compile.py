"""A program's own `torch.compile`, served by the native compiler while a session is under way."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

import pytest

from stepper.model.failure import FailedStage
from stepper.recording.reader import Recording
from tests import ready
from tests.conftest import clean_environment

ROOT = Path(__file__).parents[3]

MODEL = """\
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.linear(x).relu()
"""

WAYS = (
    r"""
import contextlib, io, runpy, sys
from pathlib import Path

import torch
import torch._dynamo as dynamo

import stepper
from stepper.native.runtime.cache_entry import GuardedCode
from stepper import _C

before = dynamo.optimize, dynamo.reset, torch.compile


def entries(code):
    return sum(isinstance(entry, GuardedCode) for entry in _C.code_cache(code).entries)


def double(x):
    return x * 2


def off_inside(x):
    return double(x) + 1


"""
    + MODEL
    + r"""

def prints(x):
    print("printed")
    return x + 1


def shifted(x):
    return x + 3


def by_size(x):
    return x * x.shape[0]


x = torch.ones(3)
earlier = torch.compile(lambda v: v - 1, backend="eager")
with stepper.record(sys.argv[1], engine="native"):
    # a function, a decorator, a module, and a module in place
    assert torch.compile(double, backend="eager")(x).tolist() == [2, 2, 2]
    assert entries(double.__code__) == 1
    decorated = torch.compile(backend="aot_eager", dynamic=True)(by_size)
    for size in (3, 4, 5):
        assert torch.equal(decorated(torch.ones(size)), torch.full((size,), float(size)))
    assert entries(by_size.__code__) == 1
    model = Model()
    expected = model(x)
    assert torch.equal(torch.compile(model, backend="eager")(x), expected)
    model.compile(backend="eager")
    assert torch.equal(model(x), expected)
    assert entries(Model.forward.__code__) > 0
    layers = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
    expected = layers(x)
    layers.compile(backend="eager")
    assert torch.equal(layers(x), expected)

    # disabled, with what it calls and without
    disabled = torch.compiler.disable(off_inside)
    _C.code_cache(double.__code__).entries[0].invalidate("a new one is looked for")
    around = torch.compile(lambda v: disabled(v.cos()) - 1, backend="eager")
    assert torch.allclose(around(x), double(x.cos()))
    assert entries(double.__code__) == 0 == entries(off_inside.__code__)
    alone = torch.compiler.disable(off_inside, recursive=False)
    around = torch.compile(lambda v: alone(v.cos()) - 1, backend="eager")
    assert torch.allclose(around(x), double(x.cos()))
    assert entries(double.__code__) == 1 and entries(off_inside.__code__) == 0

    # one graph, or an error; one that asks whether it is captured
    whole = torch.compile(prints, backend="eager", fullgraph=True)
    try:
        whole(x)
    except RuntimeError as error:
        assert "print" in str(error)
    else:
        raise AssertionError("it was not one graph")
    asks = torch.compile(lambda v: v + torch.compiler.is_compiling(), backend="eager")
    assert asks(x).tolist() == [2, 2, 2]

    # stances
    with torch.compiler.set_stance("force_eager"):
        assert torch.equal(whole(x), x + 1)
        assert asks(x).tolist() == [1, 1, 1]
    shift = torch.compile(shifted, backend="eager")
    with torch.compiler.set_stance("eager_then_compile"):
        shift(x)
        assert entries(shifted.__code__) == 0
        shift(x)
        assert entries(shifted.__code__) == 1
    with torch.compiler.set_stance("eager_on_recompile"):
        shift(x.double())
        assert entries(shifted.__code__) == 1
    with torch.compiler.set_stance("fail_on_recompile"):
        shift(x)
        try:
            shift(x.double())
        except RuntimeError as error:
            assert "fail_on_recompile" in str(error)
        else:
            raise AssertionError("it was compiled again")
    with torch.compiler.set_stance("default", force_backend="aot_eager"):
        shift(x)
        assert entries(shifted.__code__) == 2

    # the limit, and everything forgotten
    with dynamo.config.patch(recompile_limit=2):
        shift(x.double())
        assert entries(shifted.__code__) == 2
    torch.compiler.reset()
    assert entries(shifted.__code__) == 0
    shift(x)
    assert entries(shifted.__code__) == 1

    # what was made before, and what is disabled as a whole, is torch's own
    assert earlier(x).tolist() == [0, 0, 0]
    assert torch.compile(double, disable=True) is double

assert (dynamo.optimize, dynamo.reset, torch.compile) == before
assert entries(shifted.__code__) == 1
_C.remove_hook()
after = torch.compile(lambda v: v - 2, backend="eager")
assert after(x).tolist() == [-1, -1, -1]
assert type(after).__module__ == "builtins" and after._torchdynamo_wrapper_id
"""
)


@pytest.mark.timeout(300)
def test_every_way_to_compile_is_served_and_torch_is_as_before(tmp_path: Path) -> None:
    script = tmp_path / "ways.py"
    script.write_text(WAYS)
    done = subprocess.run(
        ready.python(script, tmp_path / "r.stepper"),
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("stepper: ")]
    assert said == ["stepper: " + SERVED]
    with contextlib.closing(Recording.open(str(tmp_path / "r.stepper"))) as recording:
        failures = recording.failures()
    (refused,) = [each for each in failures if each.stage is FailedStage.LOOKUP]
    assert "TENSOR_MATCH L['x']: dtype float32 ≠ float64" in refused.message


MODULES = (
    r"""
import copy, pickle, sys

import torch

import stepper


"""
    + MODEL
    + r"""

x, seen = torch.ones(2, 3), []
with stepper.record(sys.argv[1], engine="native"):
    model, linear = Model(), torch.nn.Linear(3, 3)
    whole = torch.compile(model, backend="eager", fullgraph=True)
    of_torch = torch.compile(linear, backend="eager", fullgraph=True)
    for made in (whole, of_torch):
        assert type(made) is torch._dynamo.OptimizedModule  # as libraries ask
        assert torch.equal(made(x), made._orig_mod(x))
        for copied in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
            assert torch.equal(copied(x), made(x)) and copied._orig_mod is not made._orig_mod
    again = made.dynamo_ctx(lambda v: v + 1)
    assert torch.equal(again(x), x + 1)
    assert torch.compile(torch.nn.LazyLinear(3), backend="eager")(x).shape == (2, 3)

    # called by what is captured: with hooks, after a change of the mode, and with another forward
    @torch.compile(backend="eager", fullgraph=True)
    def calls(x):
        return whole(x) + of_torch(x), whole.training

    def in_eager():
        return model(x) + linear(x), model.training

    def same():
        (value, mode), (other, expected) = calls(x), in_eager()
        return torch.equal(value, other) and mode is expected

    assert same()
    whole.eval()
    assert same()
    hook = whole.register_forward_hook(lambda *_: seen.append("hook"))
    whole(x)
    assert seen == ["hook"]
    assert same() and seen == ["hook", "hook"]
    hook.remove()
    assert same() and len(seen) == 2
    whole.forward = lambda v: v - 7
    assert torch.equal(calls(x)[0], x - 7 + linear(x))

disabled = torch.compiler.disable(Model())
with stepper.record(sys.argv[2], engine="native"):
    apart = torch.compile(lambda v: disabled(v) + 1, backend="eager")
    assert torch.equal(apart(x), disabled(x) + 1)
"""
)


def test_compiled_modules_are_what_libraries_ask_for(tmp_path: Path) -> None:
    script = tmp_path / "modules.py"
    script.write_text(MODULES)
    recordings = [tmp_path / "r.stepper", tmp_path / "disabled.stepper"]
    done = subprocess.run(
        ready.python(script, *recordings),
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    with contextlib.closing(Recording.open(str(recordings[1]))) as recording:
        (met,) = recording.graph_breaks()
    assert "disabled" in met.reason


SERVED = "torch.compile is served by stepper's native compiler, since its engine was asked for"

DEMOS = r"""
import contextlib, io, logging, runpy, sys
import torch
import torch._dynamo as dynamo
import stepper

logging.disable()
_, recording, *paths = sys.argv
sys.argv[1:] = ["2", "5"]  # one is told how much to do
for path in paths:
    printed = {}
    for engine in ("none", "native"):
        torch.manual_seed(0)
        told = io.StringIO()
        served = (
            stepper.record(recording, engine="native")
            if engine == "native"
            else dynamo.config.patch(disable=True)
        )
        with served, contextlib.redirect_stdout(told), dynamo.config.patch():
            runpy.run_path(path, run_name="__main__")
        printed[engine] = told.getvalue()
    assert printed["none"] == printed["native"], (path, printed)
"""
DIFFERENT = {"module_lifetime.py", "failures.py", "transformer.py"}
"""They print what the compiler has made of them, or need a package of their own."""


@pytest.mark.timeout(300)
def test_demos_do_the_same_with_this_engine(tmp_path: Path) -> None:
    paths = [str(p) for p in sorted((ROOT / "demos").glob("*.py")) if p.name not in DIFFERENT]
    script = tmp_path / "demos.py"
    script.write_text(DEMOS)
    done = subprocess.run(
        ready.python(script, tmp_path / "r.stepper", *paths),
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
