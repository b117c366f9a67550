"""A guard of the native engine that fails says in what the value is not as it was: what it is on,
and never that something which is there is not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from stepper.analysis.recompile_advice import advise
from stepper.analysis.recompile_series import histories
from stepper.analysis.recompiles import recompilations
from stepper.analysis.sources import unscoped
from stepper.model.datum import text_of
from stepper.recording.reader import Recording
from tests.analysis.conftest import Recorded

HEAD = """
import torch, stepper

class C:
    scale = 2
    def m(self, x): return x * self.scale

def compiled(function): return torch.compile(function, backend="eager", dynamic=False)
def helper(x): return x + 1
def other(x): return x + 2

c, x, linear = C(), torch.ones(3), torch.nn.Linear(3, 3)
"""
PROGRAMS = {
    "type(c).scale value 2 3": """
@compiled
def f(x, c): return c.m(x)
f(x, c); C.scale = 3; f(x, c)
""",
    "__main__.C: __getattribute__, m, scale attributes as they were replaced": """
@compiled
def f(x, c): return c.m(x)
f(x, c); C.m = lambda self, x: x; f(x, c)
""",
    "c attributes without 'extra' with 'extra'": """
@compiled
def f(x, c): return x + 1 if hasattr(c, "extra") else x - 1
f(x, c); c.extra = 1; f(x, c)
""",
    "n object Many(2) Many(3)": """
import enum

class Many(enum.IntEnum):
    FEW = 2
    SOME = 3

@compiled
def f(x, n): return x * n
f(x, Many.FEW); f(x, Many.SOME)
""",
    "y identity x another object": """
@compiled
def f(x, y): return x.add_(1) + y
f(x, x); f(x, torch.ones(3))
""",
    "y alias none x": """
@compiled
def f(x, y): return x.mul_(1) + y
f(x, torch.ones(3)); f(x, x)
""",
    "torch.nn.modules.module._global_forward_hooks hooks none some": """
@compiled
def f(x): return linear(x)
f(x); torch.nn.modules.module.register_module_forward_hook(lambda *given: None); f(x)
""",
    "G['linear'] hooks none some": """
@compiled
def f(x): return linear(x)
f(x); linear.register_forward_hook(lambda *given: None); f(x)
""",
    "G['linear'].training value True False": """
@compiled
def f(x): return linear(x)
f(x); linear.eval(); f(x)
""",
    "x inference tensor False True": """
@compiled
def f(x): return x + 1
f(x)
with torch.inference_mode(): f(torch.ones(3))
""",
    "x dispatch keys those of the compilation others": """
@compiled
def f(x): return x @ x
f(x)
with torch.autocast("cpu"): f(x)
""",
    "G['helper'] object function helper another function helper": """
@compiled
def f(x): return helper(x)
f(x)
def helper(x): return x + 2
f(x)
""",
    "G['helper'].__code__ object function helper other at": """
@compiled
def f(x): return helper(x)
f(x); helper.__code__ = other.__code__; f(x)
""",
    "xs length 1 2": """
@compiled
def f(x, xs): return x * len(xs)
f(x, [1]); f(x, [1, 2])
""",
    "d keys ['a'] ['a', 'b']": """
@compiled
def f(x, d): return x * d["a"]
f(x, {"a": 1}); f(x, {"a": 1, "b": 2})
""",
    "x marks none dimensions [0]": """
@compiled
def f(x): return x * 3
f(x); torch._dynamo.mark_dynamic(x, 0); f(x)
""",
    "way.__code__ object function one.<locals>.way way at": """
def one():
    def way(x): return x + 1
    return way
def two():
    def way(x): return x + 2
    return way
@compiled
def f(x, way): return way(x)
f(x, one()); f(x, two())
""",
    "way type function partial": """
import functools
def one():
    def way(x): return x + 1
    return way
@compiled
def f(x, way): return way(x)
f(x, one()); f(x, functools.partial(torch.add, 1))
""",
    "names value {1} {1, 2}": """
@compiled
def f(x, names): return x * len(names)
f(x, {1}); f(x, {1, 2})
""",
    "c type C int": """
@compiled
def f(x, c): return x + isinstance(c, C)
f(x, c); f(x, 3)
""",
}

CONTAINERS = """
kept, names, counted = {}, set(), {"a": 1}

@compiled
def by_keys(x, d): return x * len(d)
by_keys(x, {"a": 1}); by_keys(x, {"b": 1})

@compiled
def keeps(x, k):
    kept[k] = x * 2
    return kept[k] + 1
keeps(x, "k"); keeps(x, "k")

@compiled
def notes(x, k):
    names.add(k)
    return x * 2
notes(x, "k"); notes(x, "k")

@compiled
def takes_away(x):
    names.discard("other")
    return x * 2
takes_away(x); names.add("more"); takes_away(x)

@compiled
def sets_what_is_there(x):
    counted["a"] = 2
    return x * len(counted)
sets_what_is_there(x); counted["b"] = 1; sets_what_is_there(x)
"""
BY_ITSELF = "is changed by the compiled function itself"


@pytest.fixture
def told(recorded: Recorded, program: Callable[[str], str]) -> Callable[..., list[str]]:
    """All that is said of the failures in what a program does: on what, what of it, what was
    wanted, and what was there."""

    def tell(text: str, *options: str) -> list[str]:
        recording: Recording = recorded(program(HEAD + text), "--engine", "native", *options)
        found = []
        for again in recompilations(recording):
            for failure in (each for tried in again.tried for each in tried.failures):
                assert failure.differences, failure
                assert not failure.missing, failure
                for each in failure.differences:
                    values = text_of(each.expected), text_of(each.actual)
                    found.append(" ".join((unscoped(failure.source), each.what, *values)))
        return found

    return tell


@pytest.mark.parametrize("options", [(), ("--lookups",)], ids=["plain", "lookups"])
@pytest.mark.parametrize("said", PROGRAMS)
def test_a_guard_says_in_what_it_fails(
    told: Callable[..., list[str]], said: str, options: tuple[str, ...]
) -> None:
    found = told(PROGRAMS[said], *options)
    assert [each for each in found if each.startswith(said)], found


@pytest.mark.parametrize("engine", ["dynamo", "native"])
def test_of_a_container_it_is_said_whether_the_function_changes_it_itself(
    recorded: Recorded, program: Callable[[str], str], engine: str
) -> None:
    recording = recorded(program(HEAD + CONTAINERS), "--engine", engine)
    advised = {
        history.name: " ".join(each.text for each in advise(recording, history))
        for history in histories(recording, recompilations(recording))
    }
    assert advised.keys() == {"by_keys", "keeps", "notes", "takes_away", "sets_what_is_there"}
    assert all(advised.values())
    assert {name for name, text in advised.items() if BY_ITSELF in text} == {"keeps", "notes"}
