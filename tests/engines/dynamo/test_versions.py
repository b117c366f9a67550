"""A torch that is newer than those that were tested: watched, if it has what is watched."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from stepper.engines.common.probe_points import ProbePoint, UnsupportedTorch
from stepper.engines.dynamo.versions import points
from tests.conftest import ROOT
from tests.real.running import COMPILED, run


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the installed torch had come out after this stepper."""
    major, minor = points.torch_version()
    before = major, minor - 1
    monkeypatch.setattr(points, "NEWEST", before)
    monkeypatch.setattr(points, "OLDEST", before)
    monkeypatch.setitem(points._OVERRIDES, before, points._OVERRIDES.get((major, minor), {}))


@pytest.mark.usefixtures("newer")
def test_a_newer_torch_that_has_everything_is_watched_with_a_notice() -> None:
    assert points.probe_points()
    assert f"torch {torch.__version__} is newer than" in points.untested()


@pytest.mark.usefixtures("newer")
@pytest.mark.parametrize(
    ("point", "named"),
    [
        (ProbePoint("torch._dynamo.gone", "f", ()), "torch._dynamo.gone.f"),
        (ProbePoint("torch._dynamo.exc", "gone", ()), "torch._dynamo.exc.gone"),
        (ProbePoint("torch._dynamo.exc", "unimplemented", ("x",)), "exc.unimplemented(x)"),
    ],
)
def test_a_newer_torch_that_lacks_something_is_refused(
    point: ProbePoint, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(points._POINTS, "step", point)
    (lacking,) = points.lacking()
    assert lacking.endswith(named)
    with pytest.raises(UnsupportedTorch, match="stepper doctor"):
        points.probe_points()


def test_what_is_tested_needs_no_notice() -> None:
    assert points.untested() == ""


@pytest.mark.skipif(
    points.torch_version() == points.NEWEST, reason="the newest torch has what the newest has"
)
def test_a_newer_torch_that_is_other_is_said_to_who_records(tmp_path: Path) -> None:
    """As 2.13 is other than 2.15, whose computed caches it does not have."""
    program = tmp_path / "program.py"
    program.write_text(f"import torch\ntorch.__version__ = '2.99.0'\n{COMPILED}")
    done = run(["-m", "stepper", "record", "-o", tmp_path / "run.stepper", program], tmp_path)
    assert done.status == 0, done.err
    assert "supports torch 2.11 to 2.15, but 2.99.0 is installed" in done.err


@pytest.mark.parametrize("first", ["torch._dynamo", "stepper.engines.dynamo.versions"])
def test_dynamo_is_kept_out_of_stepper_whatever_is_imported_first(first: str) -> None:
    program = f"import stepper.uncompiled, {first}\nfrom torch._dynamo.trace_rules import SKIP_DIRS"
    done = run(["-c", f"{program}\nprint(*SKIP_DIRS, sep='\\n')"], ROOT)
    assert done.status == 0, done.err
    assert f"{ROOT}/stepper/" in done.out.splitlines()
