"""The arguments of a recorded call, made anew and run against the cache."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import stepper
import stepper.cache as cache
from stepper.model.cache import CacheCheck, CacheError, CacheListing
from stepper.model.control import CheckCache, ListCache, Response
from stepper.model.trace import Phase, Translation
from stepper.model.value import TensorMeta, Value
from stepper.recording.reader import Recording
from stepper.recording.recorded_call import recorded_call
from tests.debuggee.harness import Program
from tests.recordings import block
from tests.tape import Tape

PROGRAM = """
import torch

class Net(torch.nn.Module):
    @torch.compile(backend="eager", dynamic=False)
    def forward(self, x, scale=2.0, *rest, mode=("a", None)):
        return x * scale + len(rest)

def outer(offset):
    @torch.compile(backend="eager", dynamic=False)
    def inner(x):
        return offset(x)
    return inner

@torch.compile(backend="eager", dynamic=False)
def mixed(x, y, n, opts):
    return x * n + y.sum() + opts["k"][0] + (x is y)

@torch.compile(backend="eager", dynamic=False)
def last(x):
    return x + 1

net, inner = Net(), outer(torch.relu)
for size in (2, 4):
    t = torch.ones(size, 3, dtype=torch.float64)
    mixed(t, t, 3, {"k": [float("inf"), t.t(), torch.int8]})
    mixed(t, t + 1, 3, {"k": [float("inf"), t.t(), torch.int8]})
    net(t, 2.0, torch.nn.Parameter(t[:1].expand(2, 3)))
    inner(t)
last(t)
"""


class Recorded:
    """The program at its last stop, with what was recorded so far."""

    def __init__(self, directory: Path) -> None:
        self.program = Program(
            PROGRAM, directory, breakpoints=("entry:last",), lookups=True, execute=True
        )
        self.program.stopped()
        self.recording = Recording.open(self.program.recording)

    def walks(self, name: str, phase: Phase) -> list[Translation]:
        found = self.recording.translations()
        return [each for each in found if each.phase is phase and each.name.endswith(name)]

    def code(self, name: str) -> Any:
        data = self.program.ask(ListCache).data
        assert isinstance(data, CacheListing)
        return next(code for code in data.codes if code.name == name)

    def ask(self, walk: Translation, given: str = "") -> Response:
        call = recorded_call(self.recording, walk.last_moment or walk.first_moment)
        code = self.code(walk.name.rpartition(".")[2])
        return self.program.ask(lambda seq: CheckCache(seq, code.id, call.expression(given)))

    def winner(self, walk: Translation, given: str = "") -> str:
        """Compile id of the entry that the call would run now."""
        response = self.ask(walk, given)
        assert isinstance(response.data, CacheCheck), response.text
        entries = {
            entry.id: entry.compile_id for entry in self.code(walk.name.rpartition(".")[2]).entries
        }
        return entries[response.data.winner or 0]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    made = Recorded(tmp_path_factory.mktemp("recorded"))
    yield made
    made.recording.close()
    made.program.close()


@pytest.mark.parametrize("phase", [Phase.LOOKUP, Phase.EXECUTE])
def test_each_call_finds_the_entry_that_served_it(recorded: Recorded, phase: Phase) -> None:
    """Dtypes, sizes, strides, parameters, constants, containers and aliases are as they were."""
    walks = recorded.walks("mixed", Phase.EXECUTE)
    served = [walk.compile_id for walk in walks]
    assert len(set(served)) == 4
    for walk, entry in zip(recorded.walks("mixed", phase), served, strict=True):
        assert recorded.winner(walk) == entry
    for walk in recorded.walks("Net.forward", phase):
        assert recorded.winner(walk, "self=net")


def test_a_translation_tells_what_it_has_looked_at(recorded: Recorded) -> None:
    for walk in recorded.walks("last", Phase.TRANSLATE):
        assert recorded.ask(walk).ok


def test_what_a_recording_does_not_hold_has_to_be_given(recorded: Recorded) -> None:
    walk = recorded.walks("Net.forward", Phase.EXECUTE)[0]
    response = recorded.ask(walk)
    assert not response.ok
    assert "self was <Net>. Give it by keyword: self=…" in response.text
    response = recorded.ask(walk, "self=net, x=torch.ones(9)")
    assert isinstance(response.data, CacheCheck)
    assert dict(response.data.arguments)["x"] == "Tensor f32[9]"
    with pytest.raises(CacheError, match="no keyword arguments"):
        recorded.ask(walk, "net")


def test_variables_of_the_enclosing_function_are_its_own(recorded: Recorded) -> None:
    for walk in recorded.walks("inner", Phase.EXECUTE):
        assert recorded.winner(walk) == walk.compile_id


def test_it_is_said_what_is_random(recorded: Recorded) -> None:
    walk = recorded.walks("Net.forward", Phase.EXECUTE)[0]
    call = recorded_call(recorded.recording, walk.first_moment)
    assert call.remark() == "made anew, with random numbers: x, rest"
    assert call.remark("x=t, rest=()") == ""
    with pytest.raises(CacheError, match="moments go from 1"):
        recorded_call(recorded.recording, 10**9)


def scaled(x: torch.Tensor, factor: float = 2.0) -> torch.Tensor:
    return x * factor


def test_in_a_program_of_ones_own(tmp_path: Path) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(scaled, backend="eager", dynamic=False)
    path = tmp_path / "it.stepper"
    with stepper.record(str(path)):
        compiled(torch.ones(3, dtype=torch.float16, requires_grad=True))
    before = torch.random.get_rng_state()
    made = cache.recorded(compiled, path, 1)
    assert torch.equal(before, torch.random.get_rng_state())
    assert (made["x"].dtype, made["x"].shape, made["x"].requires_grad) == (
        torch.float16,
        (3,),
        True,
    )
    (entry,) = cache.list(compiled)
    assert cache.check(compiled, f_locals=made).winner == entry.id
    assert cache.compare(entry, f_locals=made).same
    assert cache.check(compiled, f_locals={**made, "factor": 3.0}).winner is None


def test_nothing_that_is_written_in_a_recording_is_run(tmp_path: Path) -> None:
    evil = "__import__('os').abort()"
    tape = Tape(str(tmp_path / "evil.stepper"))
    tape.begin(block, "0/0")
    tape.start_attempt()
    bad = {
        "constant": Value("ConstantVariable", constant=evil),
        "dtype": Value("TensorVariable", tensor=TensorMeta(f"{evil}", (), ())),
        "device": Value("TensorVariable", tensor=TensorMeta("float32", (), (), evil)),
        "torch": Value("ConstantVariable", constant="torch.hub"),
    }
    tape.step(0, locals={name: tape.describe(value) for name, value in bad.items()})
    tape.end()
    call = recorded_call(Recording.open(tape.close()), 1)
    assert set(call.lost) == {"constant", "dtype", "device"}
    with pytest.raises(CacheError, match="no constant 'hub'"):
        cache.recorded(block, tape.path, 1)
