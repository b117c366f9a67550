"""What becomes known about sizes in the native engine is what its ShapeEnv holds in the end, told
where the program asked for it; and nothing is decided because somebody looks."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch._dynamo.decorators import mark_dynamic, mark_static, maybe_mark_dynamic

from stepper import _C, native
from stepper.analysis.conditions import decided_by, not_zero_or_one
from stepper.analysis.guarded import asked
from stepper.analysis.recompile_advice import advise
from stepper.analysis.recompile_lines import recompile_lines
from stepper.analysis.recompile_series import histories
from stepper.analysis.recompiles import recompilations
from stepper.analysis.shape_lines import shape_lines
from stepper.analysis.shapes import sizes as sizes_of
from stepper.analysis.shapes import symbols_at
from stepper.model.shapes import ShapeStep, ShapeStepKind, Stage, Why
from stepper.model.trace import Outcome, Phase
from stepper.recording.reader import Recording
from tests import ready
from tests.conftest import ROOT, clean_environment
from tests.engines.native.watch import record

pytestmark = pytest.mark.evaluator_out

ones = torch.ones
W = torch.nn.Parameter(ones(6, 3))


def in_a_name(x: torch.Tensor) -> torch.Tensor:
    return x * len(f"bucket{x.shape[0]}") + x.shape[0]


def branch(x: torch.Tensor) -> torch.Tensor:
    if x.shape[0] > 4:
        return x + 1
    return x - 1


def duck(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x + y


def same(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x.reshape(-1) + y


def reshaped(x: torch.Tensor) -> torch.Tensor:
    return x.reshape(2, -1)


def with_parameter(x: torch.Tensor) -> torch.Tensor:
    return x @ W


def inner(y: torch.Tensor) -> torch.Tensor:
    return y + 1 if y.shape[0] > 4 else y


def inlined(x: torch.Tensor) -> torch.Tensor:
    return inner(x)[1:]


def indexed(x: torch.Tensor, n: int) -> torch.Tensor:
    return x * n + [10, 20, 30, 40, 50][n]


def broken(x: torch.Tensor, n: int) -> torch.Tensor:
    y = x * x.shape[0] + n
    print(end="")
    return y.reshape(-1, 2) if n > 3 else y


def doubled(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    return y * len(f"bucket{x.shape[0]}")


def product(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = x @ w
    return y.reshape(2, -1) * 2


class Case(NamedTuple):
    """A program, and what it is called with."""

    function: Callable[..., torch.Tensor]
    calls: list[tuple[Any, ...]]
    dynamic: bool | None = True


def marked(tensor: torch.Tensor, how: Callable[..., None]) -> torch.Tensor:
    """The tensor, with a mark on its first dimension."""
    how(tensor, 0)
    return tensor


CASES = {
    "text": Case(in_a_name, [(ones(5),), (ones(6),)]),
    "branch": Case(branch, [(ones(6),), (ones(3),)]),
    "duck": Case(duck, [(ones(4, 3), ones(4, 3)), (ones(7, 3), ones(7, 3))]),
    "equal": Case(same, [(ones(4), ones(4)), (ones(2, 3), ones(6))]),
    "reshape": Case(reshaped, [(ones(4),), (ones(6),)]),
    "parameter": Case(with_parameter, [(ones(4, 6),), (ones(5, 6),)]),
    "inlined": Case(inlined, [(ones(8),), (ones(3),)]),
    "index": Case(indexed, [(ones(2), 3), (ones(2), 4), (ones(2), 2)]),
    "second": Case(branch, [(ones(5),), (ones(6),), (ones(7),)], None),
    "zero-one": Case(branch, [(ones(5),), (ones(6),), (ones(1),)], None),
    "mark": Case(branch, [(marked(ones(8), mark_dynamic),)], None),
    "wish": Case(branch, [(marked(ones(8), maybe_mark_dynamic),)], None),
    "static": Case(branch, [(marked(ones(size, 3), mark_static),) for size in (8, 9)]),
    "forced": Case(in_a_name, [(marked(ones(5), mark_dynamic),)], None),
    "break": Case(broken, [(ones(4), 4), (ones(6), 5)]),
}


class Kept(NamedTuple):
    """What a compiler of torch's is handed."""

    graph: str
    env: Any


def run_case(case: Case, backend: str = "") -> tuple[list[Kept], list[object], list[object]]:
    """The graphs of a program with their ShapeEnvs, the guards of its entries, what it gives."""
    native.reset()
    kept: list[Kept] = []

    def keep(gm: torch.fx.GraphModule, fakes: list[Any]) -> Any:
        modes = (getattr(fake, "fake_mode", None) for fake in fakes)
        mode = next((mode for mode in modes if mode is not None), None)
        kept.append(Kept(gm.code, None if mode is None else mode.shape_env))
        return gm.forward

    call = native.optimize(backend or keep, dynamic=case.dynamic)(case.function)
    results: list[object] = [call(*arguments).tolist() for arguments in case.calls]
    guards = [
        (part.kind, part.name, part.expected)
        for entry in _C.code_cache(case.function.__code__).entries
        for part, _ in entry.manager.parts  # type: ignore[attr-defined]  # an entry of the native compiler's
    ]
    return kept, list(map(str, guards)), results


def watched(tmp_path: Path, case: Case, *phases: Phase) -> tuple[Recording, list[Kept]]:
    """The same, recorded."""
    kept: list[Kept] = []
    recording = record(tmp_path / "r.stepper", lambda: kept.extend(run_case(case)[0]), *phases)
    return recording, kept


def steps_of(recording: Recording) -> list[list[ShapeStep]]:
    """The steps of each attempt that led to an entry."""
    return [
        recording.shape_steps(None, attempt=recording.attempts(item.id)[-1].id)
        for item in recording.translations()
        if item.phase is Phase.TRANSLATE and item.outcome is Outcome.COMPILED
    ]


def all_steps(recording: Recording) -> list[ShapeStep]:
    return [step for steps in steps_of(recording) for step in steps]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_told_is_what_its_shape_env_holds(tmp_path: Path, case: Case) -> None:
    recording, kept = watched(tmp_path, case)
    envs = {id(each.env): each.env for each in kept if each.env is not None}
    compared = 0
    for item in recording.translations():
        attempt = recording.attempts(item.id)[-1].id
        steps = recording.shape_steps(None, attempt=attempt)
        symbols = symbols_at(recording, attempt)
        if not symbols:
            continue
        env = envs.pop(next(iter(envs)))
        compared += 1
        assert {each.name: (each.low, each.high) for each in symbols.values()} == {
            str(symbol): (str(found.lower), str(found.upper))
            for symbol, found in env.var_to_range.items()
        }
        assert {each.name: each.value for each in symbols.values() if each.value} == {
            str(symbol): str(value) for symbol, value in env.replacements.items()
        }
        assert [step.expression for step in steps if step.kind is ShapeStepKind.GUARD] == [
            str(guard.expr) for guard in env.guards
        ]
        assert {source: each.name for each in symbols.values() for source in each.sources} == {
            source: str(symbol)
            for source, symbol in env.source_to_var.items()
            if "stride" not in source and "storage_offset" not in source
        }
    assert not envs
    assert compared


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_nothing_is_decided_because_somebody_looks(tmp_path: Path, case: Case) -> None:
    def facts() -> list[object]:
        kept, guards, results = run_case(case)
        envs = [each.env for each in kept if each.env is not None]
        return [
            [each.graph for each in kept],
            [[str(guard.expr) for guard in env.guards] for env in envs],
            [str(env.var_to_range) + str(env.replacements) for env in envs],
            guards,
            results,
        ]

    alone = facts()
    found: list[object] = []
    phases = Phase.LOOKUP, Phase.EXECUTE
    record(tmp_path / "r.stepper", lambda: found.extend(facts()), *phases)
    assert found == alone


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("text", Why.DYNAMIC),
        ("second", Why.AUTOMATIC),
        ("index", Why.DYNAMIC),
        ("mark", Why.MARKED),
        ("wish", Why.MARKED_MAYBE),
    ],
)
def test_why_a_size_is_a_symbol(tmp_path: Path, name: str, why: Why) -> None:
    recording, _ = watched(tmp_path, CASES[name])
    born = [step for step in all_steps(recording) if step.kind is ShapeStepKind.SYMBOL]
    assert {step.why for step in born} == {why}


def line(function: Callable[..., object], word: str) -> int:
    """The number of a function's line that has a word in it."""
    first = function.__code__.co_firstlineno
    text = Path(__file__).read_text().splitlines()
    return next(at for at in range(first, first + 9) if word in text[at - 1])


def test_a_decision_has_the_lines_that_asked(tmp_path: Path) -> None:
    recording, _ = watched(tmp_path, CASES["inlined"])
    asked_for = [step for step in all_steps(recording) if step.expression == "s77 > 4"]
    assert [[(each.function, each.line) for each in step.user_stack] for step in asked_for] == [
        [("inlined", line(inlined, "return")), ("inner", line(inner, "return"))]
    ]
    assert recording.moment(asked_for[0].moment).ip > 0


def test_an_operator_that_asks_is_named(tmp_path: Path) -> None:
    recording, _ = watched(tmp_path, CASES["reshape"])
    assert {step.target for step in all_steps(recording) if step.kind is ShapeStepKind.GUARD} == {
        "reshape"
    }


def test_why_shape_says_what_fixed_a_size(tmp_path: Path) -> None:
    recording, _ = watched(tmp_path, CASES["text"])
    text = "\n".join(each.text for each in shape_lines(recording, "x.shape[0]"))
    assert "x.shape[0] is 5: it was the symbol s77, and was fixed" in text
    assert "a symbol because dynamic=True, by LOAD_FAST" in text
    assert "requires Eq(s77, 5), by FORMAT" in text
    assert "so s77 = 5" in text


def test_a_size_of_one_is_a_number_and_no_remedy_of_dynamos_is_told(tmp_path: Path) -> None:
    recording, _ = watched(tmp_path, CASES["zero-one"], Phase.LOOKUP)
    (step,) = [each for each in all_steps(recording) if each.kind is ShapeStepKind.ZERO_ONE]
    assert (step.source, step.hint, step.why) == ("L['x'].size()[0]", "1", Why.AUTOMATIC)
    told = [*shape_lines(recording, "x.shape[0]"), *recompile_lines(recording)]
    text = "\n".join(each.text for each in told)
    assert "(0/1 specialization)" in text
    assert "mark_unbacked" not in text
    assert "Dynamo" not in text


def test_a_size_that_is_marked_as_static_is_told(tmp_path: Path) -> None:
    recording, _ = watched(tmp_path, CASES["static"], Phase.LOOKUP)
    steps = [step for step in all_steps(recording) if step.kind is ShapeStepKind.STATIC]
    assert {(step.source, step.why) for step in steps} == {("L['x'].size()[0]", Why.MARKED_STATIC)}
    assert [step.expression for step in steps] == ["8", "9"]
    text = "\n".join(each.text for each in shape_lines(recording, "x.shape[0]"))
    assert "x.shape[0] is 8: the program has marked it as static (mark_static)" in text
    (advice,) = advise(recording, histories(recording, recompilations(recording))[0])
    assert advice.rule == "mark_static"
    assert [item.dynamic for item in recording.translations() if item.phase is Phase.TRANSLATE] == [
        True,
        True,
    ]


def test_a_size_that_a_setting_names_is_told(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(torch.compiler.config, "dynamic_sources", "L['x']:0")
    monkeypatch.setattr(torch.compiler.config, "unbacked_sources", "L['x']:1")
    recording, _ = watched(tmp_path, Case(branch, [(torch.ones(8, 3),)]))
    born = [step for step in all_steps(recording) if step.kind is ShapeStepKind.SYMBOL]
    why = {step.source: step.why for step in born}
    assert why["L['x'].size()[0]"] is Why.LISTED
    assert why["L['x'].size()[1]"] is Why.LISTED_UNBACKED
    text = "\n".join(each.text for each in shape_lines(recording, "x.shape[0]"))
    assert "a symbol because torch.compiler.config.dynamic_sources names it, by LOAD_FAST" in text


def test_a_number_of_one_is_told_only_once(tmp_path: Path) -> None:
    """Also where what has asked for it is taken back and tried again."""
    recording, _ = watched(tmp_path, Case(broken, [(ones(4), 1)]))
    for steps in steps_of(recording):
        known = [step.source for step in steps if step.kind is ShapeStepKind.ZERO_ONE]
        assert len(known) == len(set(known))
    assert "L['n']" in {step.source for step in all_steps(recording)}


def test_what_has_a_symbol_is_shown_as_it_is_when_the_symbol_was_fixed(tmp_path: Path) -> None:
    recording, _ = watched(tmp_path, Case(doubled, [(ones(5),)]))
    (steps,) = steps_of(recording)
    fixed = next(each.moment for each in steps if each.kind is ShapeStepKind.REPLACED)

    def shown(moment: int) -> str:
        state = recording.state(moment)
        return state.values[state.top.locals["y"]].text

    assert (shown(fixed), shown(fixed + 1)) == ("f32[s77]", "f32[5]")

    def sizes(moment: int) -> list[str]:
        nodes = recording.nodes(moment, attempt=steps[0].attempt)
        return [node.meta.brief for node in nodes if node.meta is not None]

    assert (sizes(fixed), sizes(fixed + 1)) == (["f32[s77]"] * 2, ["f32[5]"] * 2)


def test_each_condition_of_an_entry_has_its_decision(tmp_path: Path) -> None:
    for name in ("branch", "duck", "reshape", "text"):
        (tmp_path / name).mkdir()
        recording, _ = watched(tmp_path / name, CASES[name])
        for item in recording.translations():
            attempt = recording.attempts(item.id)[-1].id
            known = [*sizes_of(recording, item)]
            for guard in recording.guards(None, attempt=attempt):
                if guard.kind == "SHAPE_ENV" and "stride" not in guard.code[0]:
                    (condition,) = guard.code
                    from_steps = decided_by(known, condition)
                    assert from_steps or not_zero_or_one(known, condition)


def test_a_lookup_tells_the_size_that_a_condition_saw(tmp_path: Path) -> None:
    recording, _ = watched(tmp_path, CASES["branch"], Phase.LOOKUP)
    text = "\n".join(each.text for each in recompile_lines(recording))
    assert "fails: x.shape[0] >= 5, with 3  SHAPE_ENV L['x'].shape[0]" in text
    assert "requires s77 > 4" in text


def test_whether_a_size_is_guarded(tmp_path: Path) -> None:
    for name, free in (("branch", True), ("text", False)):
        (tmp_path / name).mkdir()
        recording, _ = watched(tmp_path / name, CASES[name])
        found = asked(recording, "x.shape[0]")
        assert found
        assert found[0].free is free
        assert found[0].size is not None
        assert found[0].size.value == ("" if free else "5")


def test_a_later_stage_has_the_line_of_the_node_that_it_is_at(tmp_path: Path) -> None:
    case = Case(product, [(ones(4, 6), ones(6, 3).requires_grad_())])
    recording = record(tmp_path / "r.stepper", lambda: run_case(case, "aot_eager"))
    later = [step for step in all_steps(recording) if step.stage is Stage.DISPATCH and step.node]
    assert later
    for step in later:
        (frame,) = step.program_stack
        assert (frame.function, frame.line) == ("product", line(product, "return"))


@pytest.mark.parametrize(
    ("breakpoint", "stops"),
    [
        ("specialize:L['x']*", "  s77 = 5\n"),
        ("shape-guard:Eq*", "  Eq(s77, 5)\n"),
        ("symbol", "  L['x'].size()[0] is s77 (now 5)\n"),
    ],
)
@pytest.mark.parametrize("detail", ["all", "stops"])
def test_a_breakpoint_stops_the_program(
    tmp_path: Path, breakpoint: str, stops: str, detail: str
) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import stepper, torch\n"
        "def f(x):\n"
        "    return x * len(f'bucket{x.shape[0]}')\n"
        "print(stepper.compile(f, dynamic=True, backend='eager')(torch.ones(5)))\n"
    )
    words = [part for word in ("symbols", "continue", "quit") for part in ("-x", word)]
    done = subprocess.run(
        ready.stepper("console", "--engine", "native", "--detail", detail,
                      "--break", breakpoint, *words, program),
        cwd=ROOT, env={**clean_environment(), "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.stdout.startswith(f"stopped: breakpoint 1: {breakpoint}\n{stops}"), done.stderr


def test_nothing_is_watched_any_more_afterwards(tmp_path: Path) -> None:
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    before = ShapeEnv.create_symbol.__wrapped__.__code__  # type: ignore[attr-defined]  # it is wrapped
    watched(tmp_path, CASES["branch"])
    assert ShapeEnv.create_symbol.__wrapped__.__code__ is before  # type: ignore[attr-defined]  # it is wrapped
