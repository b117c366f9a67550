"""The pane of symbols, on a recording of a program that makes one of each kind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stepper.model.shapes import ShapeStepKind
from stepper.model.trace import MomentId
from stepper.recording.reader import Recording
from stepper.tui.app import StepperApp
from tests.shapes.test_against_torch import run
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
        assert any("y.size()[0] (now 6)" in row for row in rows(app))


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
