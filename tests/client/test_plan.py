"""What a recording may have run: little, shown before, and only when the user says so."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import msgspec
import pexpect
import pytest

from stepper.cli import main
from stepper.client.launch import LaunchSpec, make_config
from stepper.client.plan import Plan, ReplayError, plan_of
from stepper.client.program import program_file
from stepper.model.trace import Origin, SessionFacts
from stepper.recording.reader import Recording
from stepper.recording.writer import Writer
from tests import ready
from tests.conftest import ROOT, clean_environment

Forge = Callable[..., str]
LATE = 4e9
"""A start after which no file has changed."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to start from, with a program and a state of its own."""
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "program.py").write_text("open('ran', 'w')\n")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def forge(home: Path) -> Forge:
    """Writes a recording that says something of itself; with `seal` as `stepper record` would."""

    def make(*words: str, python: str = sys.executable, seal: bool = False, **facts: object) -> str:
        path = str(home / "r.stepper")
        spec = LaunchSpec(target="program.py", python=python if seal else "", recording=path)
        config = make_config(spec, None)
        told = SessionFacts(
            argv=(python, *(words or ("program.py",))), cwd=str(home), launched=True, started=LATE
        )
        told = msgspec.structs.replace(told, **{"origin": config.origin if seal else None, **facts})
        Writer(path, told).close("exit")
        return path

    return make


def planned(path: str, **how: object) -> Plan:
    recording = Recording.open(path)
    try:
        return plan_of(recording, **how)  # type: ignore[arg-type]  # any options of its own
    finally:
        recording.close()


def refused(path: str, **how: object) -> str:
    with pytest.raises(ReplayError) as raised:
        planned(path, **how)
    return str(raised.value)


def ask(path: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ready.stepper("why-recompile", path, "--replay", *options),
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_what_this_user_started_here_is_planned(forge: Forge, home: Path) -> None:
    plan = planned(forge(seal=True))
    assert plan.foreign == ""
    assert list(plan.lines()) == [
        f"command      {sys.executable} program.py",
        f"folder       {home}",
        "environment  as it is here",
        "files        program.py",
    ]


def test_what_ran_in_an_environment_of_its_own_runs_there_again(
    forge: Forge, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for a stepper that is installed as a tool; a recording without a seal names no Python."""
    venv.create(home / ".venv", symlinks=True, with_pip=False)
    python = str(home / ".venv" / "bin" / "python")
    assert planned(forge(seal=True, python=python)).spec.python == python
    (home / "r.stepper").unlink()
    # As it was named from that folder, when asked from another.
    recording = forge(seal=True, python=".venv/bin/python")
    with monkeypatch.context() as elsewhere:
        elsewhere.chdir(home.parent)
        assert planned(recording).spec.python == python
    (home / "r.stepper").unlink()
    unsealed = forge(python=python)
    assert "another Python than this one" in refused(unsealed, trust=True)


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({}, "it does not say who made it"),
        ({"origin": Origin(os.getuid(), os.uname().nodename)}, "nothing shows that it was made by"),
        ({"origin": Origin(os.getuid(), os.uname().nodename, seal="é")}, "nothing shows that it"),
        ({"origin": Origin(os.getuid() + 1, "h")}, f"made by user {os.getuid() + 1} of h"),
        ({"origin": Origin(os.getuid(), "other")}, "made on another machine, other"),
    ],
)
def test_what_others_made_needs_trust(forge: Forge, facts: dict[str, object], why: str) -> None:
    path = forge(**facts)
    assert why in refused(path)
    assert "--trust" in refused(path)
    plan = planned(path, trust=True)
    assert why in plan.foreign
    assert any(why in line for line in plan.lines())


@pytest.mark.parametrize(
    "other",
    [
        {"argv": (sys.executable, "program.py", "more")},
        {"cwd": "/"},
        {"engine": "native"},
        {"hash_seed": "7"},
    ],
)
def test_a_seal_is_for_one_command_only(forge: Forge, other: dict[str, object]) -> None:
    assert "nothing shows that it was made by you" in refused(forge(seal=True, **other))


def test_a_key_that_others_can_read_seals_nothing(forge: Forge, tmp_path: Path) -> None:
    path = forge(seal=True)
    key = tmp_path / "state" / "stepper" / "key"
    assert key.stat().st_mode & 0o777 == 0o600
    key.chmod(0o644)
    assert "nothing shows that it was made by you" in refused(path)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_needs_trust(forge: Forge) -> None:
    path = forge(seal=True)
    os.chown(path, 12345, -1)
    assert "its file belongs to user 12345" in refused(path)


@pytest.mark.parametrize(
    ("words", "facts", "why"),
    [
        (("-c", "touch ran"), {"python": "/bin/sh"}, "in no file here"),
        (("program.py",), {"python": "/bin/sh"}, "another Python than this one"),
        (("program.py",), {"python": "python3"}, "another Python than this one"),
        (("-c", "open('ran', 'w')"), {}, "in no file here"),
        (("-",), {}, "read from standard input"),
        (("gone.py",), {}, "gone.py is gone"),
        (("/dev/stdin",), {}, "is gone"),
        (("-m", "nowhere.at_all"), {}, "'nowhere.at_all' is gone"),
        (("-m", "../program"), {}, "'../program' is gone"),
        (("-W", "ignore::program.Warned", "program.py"), {}, "is not taken over"),
        (("-Wignore::program.Warned", "program.py"), {}, "is not taken over"),
        (("-X", "pycache_prefix=/tmp", "program.py"), {}, "is not taken over"),
        (("-X", "importtime", "program.py"), {}, "is not taken over"),
        (("-i", "program.py"), {}, "is not taken over"),
        (("-Sx", "program.py"), {}, "is not taken over"),
        (("program.py", "a\0b"), {}, "NUL"),
        (("program.py",), {"engine": "common"}, "'common' is not registered"),
        (("program.py",), {"engine": "dynamo.engine"}, "'dynamo.engine' is not registered"),
        (("program.py",), {"engine": "os:system"}, "'os:system' is not registered"),
        (("program.py",), {"cwd": "home"}, "is gone"),
        (("program.py",), {"cwd": "/no\0where"}, "NUL"),
    ],
)
def test_nothing_else_of_a_recording_is_run(
    forge: Forge,
    home: Path,
    words: tuple[str, ...],
    facts: dict[str, str],
    why: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = forge(*words, **facts)
    assert main(["why-recompile", path, "--replay", "--yes", "--trust"]) == 2
    error = capsys.readouterr().err
    assert "cannot be replayed" in error
    assert why in error
    assert not (home / "ran").exists()


def test_another_program_under_its_name_is_not_run(forge: Forge, home: Path) -> None:
    path = forge(seal=True)
    (home / "program.py").write_text("open('stolen', 'w')\n")
    assert "program.py has changed since" in refused(path)


@pytest.mark.parametrize(
    ("seed", "shown"),
    [
        ("7", "PYTHONHASHSEED=7, else as it is here"),
        ("random", "PYTHONHASHSEED=random, else as it is here"),
        ("4294967296", "as it is here"),
        ("0\nLD_PRELOAD=/tmp/x.so", "as it is here"),
        ("", "as it is here"),
    ],
)
def test_of_the_environment_only_a_hash_seed_is_taken(forge: Forge, seed: str, shown: str) -> None:
    lines = list(planned(forge(hash_seed=seed), trust=True).lines())
    assert f"environment  {shown}" in lines


def test_without_a_terminal_it_is_run_only_with_yes(forge: Forge, home: Path) -> None:
    path = forge(seal=True)
    answer = ask(path)
    assert answer.returncode == 2
    assert "program.py" in answer.stderr, "what it would have been"
    assert answer.stderr.endswith("there is no terminal to ask on; --yes agrees to it\n")
    assert not (home / "ran").exists()


def test_yes_is_not_trust(forge: Forge, home: Path) -> None:
    answer = ask(forge(), "--yes")
    assert answer.returncode == 2
    assert "it does not say who made it" in answer.stderr
    assert not (home / "ran").exists()


GUARD = ("why-guard", "*", "--experiment")


@pytest.mark.real_terminal
@pytest.mark.parametrize("words", [("why-recompile", "--replay"), ("why-break", "--replay"), GUARD])
def test_on_a_terminal_it_is_asked(forge: Forge, home: Path, words: tuple[str, ...]) -> None:
    name, *options = words
    child = pexpect.spawn(
        sys.executable,
        ["-m", "stepper", name, forge(seal=True), *options],
        env=os.environ | {"PYTHONPATH": str(ROOT), "TERM": "xterm", "NO_COLOR": "1"},
        encoding="utf-8",
        timeout=600,
    )
    child.expect("command +.*program.py")
    child.expect(r"run it\? \[y/N\] ")
    child.sendline("")
    child.expect("nothing was run")
    child.expect(pexpect.EOF)
    child.wait()
    child.close()
    assert child.exitstatus == 2
    assert not (home / "ran").exists()


def test_the_file_of_a_program_is_found_and_nothing_imported(tmp_path: Path) -> None:
    package = tmp_path / "pack" / "inner"
    package.mkdir(parents=True)
    for at in ("pack/__init__.py", "pack/inner/__init__.py"):
        (tmp_path / at).write_text("raise SystemExit('imported')\n")
    (package / "__main__.py").touch()
    (package / "part.py").touch()
    folder = str(tmp_path)
    assert program_file("module", "pack.inner", folder) == str(package / "__main__.py")
    assert program_file("module", "pack.inner.part", folder) == str(package / "part.py")
    assert program_file("module", "pack.inner.none", folder) == ""
    assert program_file("module", "timeit", folder).endswith("timeit.py")
    assert program_file("script", "pack/inner", folder) == f"{folder}/pack/inner/__main__.py"
    assert program_file("code", "pass", folder) == ""


def test_record_seals_what_it_starts(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("print('hi')\n")
    environment = clean_environment() | {"XDG_STATE_HOME": str(tmp_path / "state")}
    command = ready.stepper("record", "-o", "r.stepper", "program.py", "a b")
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, timeout=600)
    recording = Recording.open(str(tmp_path / "r.stepper"))
    facts = recording.facts
    recording.close()
    assert facts.origin is not None
    assert len(facts.origin.program) == len(facts.origin.seal) == 64
    assert facts.origin.user == os.getuid()
