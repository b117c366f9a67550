"""The pane of symbols, on a recording of a program that makes one of each kind."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stepper.analysis.query import Query
from stepper.analysis.shape_lines import NOT_TOLD, shape_lines
from stepper.analysis.shapes import Symbol, put_together, symbols_at
from stepper.analysis.symbol_lines import no_symbol, symbol_lines
from stepper.model.capabilities import Capabilities
from stepper.model.program import PythonFrame
from stepper.model.shapes import Late, ShapeStep, ShapeStepKind, Stage
from stepper.model.trace import MomentId, SessionFacts
from stepper.recording.reader import Recording
from stepper.recording.writer import Writer
from stepper.tui.app import StepperApp
from tests.shapes.test_against_torch import run
from tests.tape import Tape
from tests.tui.screen import plain
from tests.tui.test_app import SIZES, WIDE, opened

PROGRAM = """
import torch
import torch.fx.experimental._config

torch._dynamo.config.capture_scalar_outputs = True
torch.fx.experimental._config.use_duck_shape = False


@torch.compile(backend="eager", dynamic=True)
def each(x, y, z):
    many = z.sum().item()
    name = f"{y.shape[0]}"  # fixes one
    return torch.cat([x + z, x]) * many * len(name)


each(torch.ones(5), torch.ones(6), torch.ones(5))
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("symbols")
    (folder / "program.py").write_text(PROGRAM)
    done = run("-m", "stepper", "record", "-o", folder / "r.stepper", folder / "program.py")
    assert done.returncode == 0, done.stderr
    return folder / "r.stepper"


@pytest.fixture
def recording(recorded: Path) -> Iterator[Recording]:
    found = Recording.open(str(recorded))
    yield found
    found.close()


def rows(app: StepperApp) -> list[str]:
    """What the pane shows, when it has the whole screen."""
    return [text for line in plain(app)[2:-1] if (text := line.rstrip())]


def fixed_at(recording: Recording) -> MomentId:
    """The moment whose instruction makes a number of a symbol."""
    steps = recording.shape_steps(None, attempt=1)
    return next(s.moment for s in steps if s.kind is ShapeStepKind.REPLACED and not s.symbols)


@SIZES
async def test_each_symbol_is_shown_as_what_it_is_by_now(
    recorded: Path, recording: Recording, size: Any
) -> None:
    async with opened(recorded, size, at=recording.newest) as (app, pilot):
        await pilot.press("Y", "z")
        await pilot.pause()
        states = {row.split()[2] for row in rows(app)}
        assert states == {"fixed", "equal", "unbacked", "dynamic"}, rows(app)
        assert any("y.shape[0] (now 6)" in row for row in rows(app))


async def test_before_the_first_there_is_none(recorded: Path) -> None:
    async with opened(recorded, WIDE, at=1) as (app, pilot):
        await pilot.press("Y", "z")
        await pilot.pause()
        assert "no size is a symbol at this moment" in rows(app)[0]


async def test_a_step_leads_to_its_moment_and_back(recorded: Path, recording: Recording) -> None:
    async with opened(recorded, WIDE, at=recording.newest) as (app, pilot):
        await pilot.press("Y", "z")
        await pilot.pause()
        at = next(index for index, row in enumerate(rows(app)) if "fixed to 6" in row)
        await pilot.press("home", *["down"] * at, "enter")
        await pilot.pause()
        under = [row for row in rows(app)[at + 1 :] if row.startswith("    ")]
        replaced = next(row for row in under if "replaced" in row)
        assert "program.py:13 in each" in replaced
        down = rows(app).index(replaced) - at
        await pilot.press(*["down"] * down, "enter")
        await pilot.pause()
        assert app.snapshot is not None
        assert app.snapshot.moment == fixed_at(recording)
        await pilot.press("backspace")
        await pilot.pause()
        assert app.snapshot.moment == recording.newest


async def test_torchs_own_frames_are_a_key_away(recorded: Path, recording: Recording) -> None:
    async with opened(recorded, WIDE, at=recording.newest) as (app, pilot):
        await pilot.press("Y", "z", "home", "enter")
        await pilot.pause()
        asked = next(at for at, row in enumerate(rows(app)) if "asked in torch/" in row)
        assert not any("from torch/" in row for row in rows(app))
        await pilot.press("home", *["down"] * asked, "enter")
        await pilot.pause()
        assert any("from torch/" in row for row in rows(app))


def test_what_names_a_symbol_stands_under_it(recording: Recording) -> None:
    """That another became equal to it, too; of each kind of step."""
    steps = recording.shape_steps(None, attempt=1)
    for name, symbol in symbols_at(recording, 1).items():
        about = [step for step in steps if step.symbol == name or name in step.symbols]
        assert symbol.steps == about, name


@pytest.mark.parametrize(
    ("expression", "symbols", "state"),
    [
        ("5", (), "fixed to 5"),
        ("1.00000000000000e-5", (), "fixed to 1.00000000000000e-5"),
        ("-oo", (), "fixed to -oo"),
        ("1/3", (), "fixed to 1/3"),
        ("2*s1", ("s1",), "equal to 2*s1"),
    ],
)
def test_a_number_is_one_however_the_compiler_writes_it(
    expression: str, symbols: tuple[str, ...], state: str
) -> None:
    born = ShapeStep(1, 1, 1, ShapeStepKind.SYMBOL, "s0")
    became = ShapeStep(2, 1, 2, ShapeStepKind.REPLACED, "s0", expression, symbols)
    symbol = Symbol("s0", born, value=expression, replaced=[became])
    assert (symbol.state, symbol.fixed) == (state, not symbols)


def test_an_evaluation_that_nothing_keeps_is_told() -> None:
    born = ShapeStep(1, 1, 1, ShapeStepKind.SYMBOL, "s0")
    asked = ShapeStep(2, 1, 2, ShapeStepKind.SUPPRESSED, expression="Eq(s0, 5)", symbols=("s0",))
    assert put_together([born, asked])["s0"].steps == [born, asked]


@pytest.fixture
def with_backward(tmp_path: Path) -> Path:
    """A recording in which a backward decided when its forward had long been compiled."""
    facts = SessionFacts(capabilities=Capabilities(shape_steps=True))
    tape = Tape(str(tmp_path / "r.stepper"), facts=facts)
    for compile_id in ("0/0", "1/0"):
        tape.begin(whole, compile_id)
        tape.start_attempt()
        tape.enter(tape.code(whole))
        tape.step(0)
        if compile_id == "0/0":
            tape.shape_step(ShapeStepKind.SYMBOL, symbol="s7", source="L['x'].size()[0]", hint="5")
        tape.end_attempt()
        tape.end()
    stack = (PythonFrame("train.py", 12, "backward"),)
    for id, kind, symbol, expression, symbols in (
        (2, ShapeStepKind.UNBACKED, "u2", "", ()),
        (3, ShapeStepKind.SUPPRESSED, "", "Eq(s7, 4)", ("s7",)),
        (4, ShapeStepKind.REPLACED, "s7", "4", ()),
    ):
        step = ShapeStep(id, 1, 2, kind, symbol, expression, symbols, stage=Stage.BACKEND)
        tape.writer.shape_step(
            msgspec.structs.replace(step, late=Late.BACKWARD, node_stack=stack, reason="why")
        )
    return Path(tape.close())


def whole(x: Any) -> Any:
    return x


def test_what_a_backward_decides_later_makes_no_size_a_number(with_backward: Path) -> None:
    recording = Recording.open(str(with_backward))
    told = [line.text for line in shape_lines(recording, "x.shape[0]")]
    assert told[0].startswith("0/0 whole: x.shape[0] is free: the symbol s7")
    assert told[1:] == [
        "0/0 whole: decided in the backward, which was compiled later; no guard checks it",
        "  found Eq(s7, 4), which nothing keeps so, by Inductor at train.py:12 in backward",
        "  so s7 = 4  (why)",
    ]
    assert any("makes u2 without a value" in line.text for line in shape_lines(recording))
    assert [
        line.text.split()[:2] for line in symbol_lines(recording, 1, recording.newest, "u2")
    ] == [["unbacked", "u2"]]
    assert next(symbol_lines(recording, 2, recording.newest)).text.startswith("no size")
    with contextlib.closing(Query(recording, "SELECT kind FROM shapes WHERE late <> ''")) as found:
        assert [*found.rows()] == [("unbacked",), ("suppressed",), ("replaced",)]
    recording.close()


async def test_what_a_backward_decides_later_stands_below_the_symbols(with_backward: Path) -> None:
    async with opened(with_backward, WIDE, at=1) as (app, pilot):
        await pilot.press("Y", "z", "end", "enter")
        await pilot.pause()
        shown = rows(app)
        at = next(at for at, row in enumerate(shown) if "in the backward" in row)
        assert "3 decisions" in shown[at]
        assert "unbacked  u2 without a value" in shown[at + 1]


@pytest.mark.parametrize(("tells", "said"), [(False, NOT_TOLD), (True, "no size is a symbol")])
def test_what_an_engine_does_not_tell_is_not_said_to_be_none(
    tmp_path: Path, tells: bool, said: str
) -> None:
    path = str(tmp_path / "r.stepper")
    Writer(path, SessionFacts(capabilities=Capabilities(shape_steps=tells))).close()
    found = Recording.open(path)
    assert no_symbol(found).startswith(said)
    found.close()
