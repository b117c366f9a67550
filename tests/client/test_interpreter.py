"""Which environment a program runs in, when stepper is a tool of its own and has no torch."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepper.client import interpreter


@pytest.fixture(autouse=True)
def _no_torch_of_our_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(interpreter, "find_spec", lambda name: None)
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)


def environment(folder: Path, *settings: str, torch: str = "lib/python3.12/site-packages") -> str:
    """As `venv` makes one; `torch` is where in it the package is, if anywhere."""
    for name in ("bin", *((f"{torch}/torch",) if torch else ())):
        (folder / name).mkdir(parents=True)
    python = folder / "bin" / "python"
    python.touch()
    (folder / "pyvenv.cfg").write_text("\n".join(settings))
    if torch:
        (folder / torch / "torch" / "__init__.py").touch()
    return str(python)


def test_the_nearest_that_has_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "my project" / "src"
    folder.mkdir(parents=True)
    assert interpreter.python_of(str(folder)) == ""
    above = environment(tmp_path / "venv")
    environment(folder / ".venv", torch="")
    assert interpreter.python_of(str(folder)) == above
    beside = environment(folder.parent / ".venv")
    assert interpreter.python_of(str(folder)) == beside
    active = environment(tmp_path / "active")
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "active"))
    assert interpreter.python_of(str(folder)) == active


@pytest.mark.parametrize("packages", ["lib/python3.12/site", "local/lib/python3.12/dist"])
def test_one_that_takes_torch_from_what_it_was_made_from(packages: str, tmp_path: Path) -> None:
    system = environment(tmp_path / "system", torch=f"{packages}-packages")
    home = f"home = {Path(system).parent}"
    environment(tmp_path / "alone" / ".venv", home, torch="")
    assert interpreter.python_of(str(tmp_path / "alone")) == ""
    more = "include-system-site-packages = true"
    made = environment(tmp_path / "more" / ".venv", home, more, torch="")
    assert interpreter.python_of(str(tmp_path / "more")) == made
