"""Whether something is guarded is what a call shows after it was changed, on functions that nobody
wrote.

More of them: `STEPPER_GENERATED=50 pytest tests/analysis/test_generated_guards.py`.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from stepper.analysis.guard_lines import guarded_lines
from tests import ready
from tests.analysis.conftest import Recorded
from tests.analysis.generated_calls import HEAD, function
from tests.conftest import ROOT, clean_environment

FUNCTIONS = int(os.environ.get("STEPPER_GENERATED", "3"))
CHANGES = {
    "self.k": "m.k += 1",
    "self.s": "m.s += 0.5",
    "self.name": 'm.name = "cos"',
    "self.flag": "m.flag = not m.flag",
    "len(self.xs)": "m.xs.append(torch.ones(4))",
    "self.xs[-1].shape[0]": "m.xs[-1] = torch.ones(1)",
    "len(self.d)": 'm.d["more"] = 5',
    "self.cfg.width": "m.cfg.width += 1",
    "self.cfg.act": 'm.cfg.act = "tanh"',
    'self.cfg.opts["on"]': 'm.cfg.opts["on"] = False',
    "self.opt": "m.opt = torch.ones(4)",
    "self.fn": "m.fn = thrice",
    "self.part": "m.part = functools.partial(torch.add, other=3)",
    "self.tup[0]": 'm.tup = (2, 2.0, "x")',
    "self.tup[-1]": 'm.tup = (1, 2.0, "y")',
    "self.kind": "m.kind = Kind.B",
    "self.dt": "m.dt = torch.float64",
    "self.obj.bias": "m.obj.bias += 1",
    "self.obj.scale": "m.obj.scale = 3",
    "type(self.obj)": "m.obj = Other()",
    "self.obj.extra": "m.obj.extra = 4",
    "len(self.od)": 'm.od["r"] = 3',
    "self.dq[0]": "m.dq.rotate()",
    "len(self.dq)": "m.dq.append(4)",
    "self.buf.dtype": "m.buf = m.buf.double()",
    "self.ns.u": "m.ns.u = 9",
    "self.ns.v[-1]": "m.ns.v[-1] = 5",
    "self.limit": "m.limit = 11",
    "len(self.subs)": "m.subs.append(torch.nn.Linear(4, 4))",
    "self.subs[-1]": "m.subs[0] = torch.nn.ReLU()",
    "self.lin": "m.lin = torch.nn.Identity()",
    "self.lin.weight.requires_grad": "m.lin.weight.requires_grad_(False)",
    "self.training": "m.training = False",
    "G_INT": "G_INT += 1",
    "len(G_LIST)": "G_LIST.append(3)",
    "len(G_DICT)": 'G_DICT["c"] = 1',
    "G_FN": "G_FN = torch.tanh",
    "x.dtype": "x = torch.ones(4).double()",
    "x.requires_grad": "x = torch.ones(4, requires_grad=True)",
    "x.ndim": "x = torch.ones(3, 4)",
    "x.stride(0)": "x = torch.ones(8)[::2]",
    "y.dtype": "y = torch.ones(4).double()",
    "n": "n = 4",
    "len(args)": "rest = (1,)",
    "torch.is_grad_enabled()": "torch.set_grad_enabled(False)",
    "torch.get_default_dtype()": "torch.set_default_dtype(torch.float64)",
}
"""What is asked about, and a change of it."""
_CALL = "guarded(lambda: compiled(m, x, y, n, *rest))"
_BEGIN = """
set_globals(); torch.set_grad_enabled(True)
m, x, y, n, rest = Module(), torch.ones(4), torch.ones(4), 3, ()
"""
_CHANGED = f"""
import json
from torch._dynamo.utils import counters

answers = []
for code in json.loads(CHANGES):
    torch._dynamo.reset()
    {_BEGIN.strip().replace(chr(10), chr(10) + "    ")}
    counters.clear()
    {_CALL}
    frames = counters["frames"]["total"]
    change(code)
    {_CALL}
    answers.append(counters["frames"]["total"] > frames)
print(json.dumps(answers))
"""


@pytest.mark.parametrize("seed", range(FUNCTIONS))
def test_what_is_guarded_is_what_compiles_again(
    seed: int, recorded: Recorded, program: Callable[[str], str], tmp_path: Path
) -> None:
    source = f"{HEAD}\n{function(seed)}"
    truth = tmp_path / "changed.py"
    truth.write_text(f"{source}\nCHANGES = {json.dumps([*CHANGES.values()])!r}\n{_CHANGED}")
    done = subprocess.run(
        ready.python(truth),
        cwd=ROOT, env=clean_environment(), capture_output=True, text=True, timeout=600, check=True,
    )  # fmt: skip
    again = json.loads(done.stdout.splitlines()[-1])
    recording = recorded(program(f"{source}\n{_BEGIN}\n{_CALL}"))
    for expression, compiled in zip(CHANGES, again, strict=True):
        told = next(guarded_lines(recording, expression)).text
        denied = "not guarded" in told or "is free" in told or "nothing is called" in told
        assert denied is not compiled, (expression, told, source.rpartition("def f")[2])
