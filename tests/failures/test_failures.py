"""Compilations that failed are told as torch tells them, and at the line that is to blame."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stepper.analysis.failed_lines import failed_lines
from stepper.analysis.failures import Failed, failures
from stepper.analysis.recompile_lines import recompile_lines
from stepper.model.failure import FailedStage
from stepper.model.trace import EventKind, Outcome
from stepper.recording.reader import Recording
from stepper.report.gathering import gather
from stepper.report.markdown import markdown
from stepper.report.page import page
from tests import ready
from tests.conftest import ROOT, clean_environment

pytestmark = pytest.mark.slow

PROGRAMS = Path(__file__).with_name("programs.py")
STAGES = {
    "unsupported": FailedStage.TRACING,
    "fake": FailedStage.TRACING,
    "branch": FailedStage.TRACING,
    "data": FailedStage.TRACING,
    "differing": FailedStage.TRACING,
    "inside": FailedStage.TRACING,
    "raising": FailedStage.TRACING,
    "marked": FailedStage.GUARDS,
    "added": FailedStage.GUARDS,
    "backend": FailedStage.BACKEND,
    "dispatched": FailedStage.DISPATCH,
    "lowered": FailedStage.BACKEND,
    "backwards": FailedStage.BACKWARD,
    "again": FailedStage.LOOKUP,
    "refused": FailedStage.LOOKUP,
    "limited": FailedStage.LOOKUP,
}


def run(*command: object, cwd: Path = ROOT, typed: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**clean_environment(), "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0"}
    return subprocess.run(
        ready.python(*command),
        cwd=cwd, env=environment, input=typed, capture_output=True, text=True, check=False,
        timeout=900,
    )  # fmt: skip


@pytest.fixture(scope="module")
def said() -> dict[str, dict[str, Any]]:
    """What torch says, without stepper, by the function's name."""
    done = run(PROGRAMS)
    assert done.returncode == 0, done.stderr
    found = map(json.loads, done.stdout.splitlines())
    return {each["name"]: each for each in found}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory, said: dict[str, dict[str, Any]]) -> Path:
    path = tmp_path_factory.mktemp("failures") / "r.stepper"
    done = run("-m", "stepper", "record", "--lookups", "-o", path, PROGRAMS)
    assert done.returncode == 0, done.stderr
    assert "stopped watching" not in done.stderr
    assert f"{len(STAGES)} failed" in done.stderr
    assert {json.loads(line)["name"] for line in done.stdout.splitlines()} == said.keys()
    return path


@pytest.fixture(scope="module")
def recording(path: Path) -> Iterator[Recording]:
    recording = Recording.open(str(path))
    yield recording
    recording.close()


@pytest.fixture(scope="module")
def found(recording: Recording) -> dict[str, Failed]:
    return {each.name: each for each in failures(recording)}


def blamed(name: str) -> int | None:
    """The line that is marked, if one is."""
    lines = PROGRAMS.read_text().splitlines()
    marked = [at for at, line in enumerate(lines, 1) if line.endswith(f"# blame {name}")]
    return marked[0] if marked else None


def answer(recording: Recording, name: str) -> str:
    return "\n".join(line.text for line in failed_lines(recording, name))


def test_each_of_them_is_told(
    found: dict[str, Failed], said: dict[str, dict[str, Any]], recording: Recording
) -> None:
    assert found.keys() == said.keys() == STAGES.keys()
    assert recording.event_count((EventKind.EXCEPTION,)) == len(STAGES)


@pytest.mark.parametrize("name", STAGES)
def test_it_is_told_in_the_words_of_torch(
    found: dict[str, Failed], said: dict[str, dict[str, Any]], name: str
) -> None:
    failed, truth = found[name], said[name]
    assert failed.failure.stage is STAGES[name]
    assert failed.failure.exception == truth["exception"]
    # What Dynamo adds afterwards is the stack, advice on how to report it, and the operator.
    whole = re.split(r"\n+from user code:|\n+Set TORCHDYNAMO_VERBOSE", truth["message"])[0]
    whole = re.sub(r"\n    triggered by the following guard failure.*", "", whole, flags=re.S)
    whole = re.sub(r"\n *Higher Order Operator: .*", "", whole)
    told = re.sub(r"\s+", " ", failed.failure.message)
    assert re.sub(r"\s+", " ", whole).strip() in told


@pytest.mark.parametrize("name", STAGES)
def test_the_line_to_blame_is_the_one_that_is(
    found: dict[str, Failed], said: dict[str, dict[str, Any]], recording: Recording, name: str
) -> None:
    failed, line = found[name], blamed(name)
    assert failed.certain is (line is not None)
    if line is None:
        return
    assert failed.place is not None
    assert (failed.place.filename, failed.place.line) == (str(PROGRAMS), line)
    assert recording.place(failed.moment).line == line
    # Where torch says the line, too, it is the same.
    frames = re.findall(r'File "([^"]+)", line (\d+)', said[name]["message"])
    ours = [int(number) for file, number in frames if file == str(PROGRAMS)]
    assert not ours or ours[-1] == line


def test_the_answer_says_where_operands_come_from(recording: Recording) -> None:
    text = answer(recording, "fake")
    assert "at BINARY_OP @" in text
    assert re.search(r"made by .*: c = a \* 2", text)
    assert re.search(r"called from .*: return _product\(x.relu\(\), x\) \+ 1", text)
    text = answer(recording, "data")
    assert re.search(r"u\d+ comes from .*n = x.sum\(\).int\(\).item\(\)", text)


def test_what_is_not_known_is_said(recording: Recording) -> None:
    text = answer(recording, "backend")
    assert "which node of the graph is to blame is not recorded" in text
    assert re.search(r"raised in .*programs.py:\d+ in _no_backend", text)
    assert "no compilation of a function with 'nothing' in its name failed" in answer(
        recording, "nothing"
    )


def test_nowhere_is_a_failure_told_as_compiled(recording: Recording) -> None:
    text = "\n".join(line.text for line in recompile_lines(recording))
    assert re.search(r"\d/1 failed .*called by", text)
    assert not re.search(r"\d/1 compiled", text)
    assert "0 recompilations" in text
    text = "\n".join(line.text for line in recompile_lines(recording, "backend"))
    assert "each call found an entry" not in text
    outcomes = {item.name: item.outcome for item in recording.translations() if item.compile_id}
    assert outcomes["again"] is Outcome.FAILED


@pytest.mark.parametrize("form", [page, markdown], ids=["html", "markdown"])
def test_reports_tell_all_of_them(recording: Recording, form: Any) -> None:
    report = gather(recording)
    assert [str(each.name) for each in report.failed] == list(STAGES)
    text = form(report)
    assert re.search(r"^ *ValueError: the backend is out of order(</pre>.*)?$", text, re.MULTILINE)
    assert all(each in text for each in STAGES)


def test_a_redacted_report_tells_no_words_of_them(recording: Recording) -> None:
    for each in gather(recording, redact=True).failed:
        assert not each.message
        assert not each.source


@pytest.mark.parametrize("name", ["fake", "marked", "differing", "refused", "backwards", "again"])
def test_a_program_that_dies_of_it_is_opened_there(tmp_path: Path, name: str) -> None:
    done = run(
        "-m", "stepper", "run", "--post-mortem", "-o", "a.stepper", PROGRAMS, name, cwd=tmp_path,
        typed="where\n",
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert re.search(rf"^\S* ?{name} failed ", done.stdout, re.MULTILINE), done.stdout
    if (line := blamed(name)) is not None:
        assert f"programs.py:{line} in" in done.stdout
