"""What is named in place of a script: a command, an interpreter, something else."""

from __future__ import annotations

import py_compile
import sys
from pathlib import Path

import pytest

from stepper.client.script_file import NoScriptError, script_file


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in PATH, the only one."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def put(folder: Path, name: str, begin: str | bytes) -> Path:
    file = folder / name
    file.write_bytes(begin.encode() if isinstance(begin, str) else begin)
    file.chmod(0o755)
    return file


def test_a_file_is_what_it_is_called(tmp_path: Path) -> None:
    put(tmp_path, "train.py", "#!/usr/bin/env -S uv run\nprint()\n")
    assert script_file("train.py", str(tmp_path)) == "train.py"
    assert script_file(str(tmp_path / "train.py"), "/") == str(tmp_path / "train.py")
    assert script_file("-", str(tmp_path)) == "-"
    assert script_file(".", str(tmp_path)) == "."  # its __main__.py
    compiled = tmp_path / "compiled"
    py_compile.compile(str(put(tmp_path, "short.py", "print()\n")), cfile=str(compiled))
    assert script_file("compiled", str(tmp_path)) == "compiled"
    put(tmp_path, "archive", b"PK\3\4\0\0")
    assert script_file("archive", str(tmp_path)) == "archive"


@pytest.mark.parametrize(
    "begin",
    [
        "#!/opt/env/bin/python\nimport re\n",
        "#!/bin/sh\n'''exec' \"/opt/my env/bin/python3\" \"$0\" \"$@\"\n' '''\nimport re\n",
    ],
)
def test_a_command_that_is_a_script_is_that_script(
    commands: Path, tmp_path: Path, begin: str
) -> None:
    file = put(commands, "torchrun", begin)
    assert script_file("torchrun", str(tmp_path)) == str(file)
    put(tmp_path, "torchrun", "print()\n")  # one's own comes first, as for Python
    assert script_file("torchrun", str(tmp_path)) == "torchrun"


@pytest.mark.parametrize("name", ["python", "python3", "python3.13t"])
def test_an_interpreter_is_to_be_left_out(commands: Path, tmp_path: Path, name: str) -> None:
    put(commands, name, b"\x7fELF\0")
    with pytest.raises(NoScriptError, match=f"{name} is an interpreter.*leave it out"):
        script_file(name, str(tmp_path))


def test_so_is_one_that_is_named_by_its_path() -> None:
    with pytest.raises(NoScriptError, match=rf"--python {sys.executable} runs it"):
        script_file(sys.executable, "/")


@pytest.mark.parametrize("begin", [b"\x7fELF\2\1\1\0\0", b"#!/usr/bin/env bash\nexec pyenv exec\n"])
def test_what_is_no_python_is_refused(commands: Path, tmp_path: Path, begin: bytes) -> None:
    file = put(commands, "launcher", begin)
    for named in ("launcher", str(file)):
        with pytest.raises(NoScriptError, match=f"{file} is no program in Python"):
            script_file(named, str(tmp_path))


def test_what_is_nowhere_is_said_to_be(commands: Path, tmp_path: Path) -> None:
    with pytest.raises(NoScriptError, match=r"can't open file .*missing.py': no such file"):
        script_file("missing.py", str(tmp_path))
    put(commands, "there.py", "print()\n")
    with pytest.raises(NoScriptError, match="no such file"):
        script_file("./there.py", str(tmp_path))
