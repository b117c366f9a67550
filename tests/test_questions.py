"""A question is a row of one table, and every front end asks it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from stepper.analysis.questions import QUESTIONS
from stepper.console.replaying import parted
from stepper.recording.reader import Recording
from tests.conftest import TESTS, clean_environment
from tests.recordings import sample_recording

TOY = str(TESTS / "toy_question.py")
ANSWER = re.compile(r"\d+ instructions in [1-9]\d* frames")


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("questions") / "sample.stepper"
    sample_recording(str(path))
    return str(path)


def toy(*arguments: str) -> str:
    """What stepper prints that has the toy question, too."""
    return run(TOY, *arguments).stdout


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        env=clean_environment(), capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip


def test_the_command_line_asks_it(recording: str) -> None:
    assert ANSWER.fullmatch(toy("how-many", recording).strip())
    assert toy("how-many", recording, "nobody").startswith("0 instructions in 0 frames")
    assert "how many instructions were interpreted" in toy("--help")


def test_the_console_asks_it_and_explains_it(recording: str) -> None:
    said = toy("console", "-x", "how-many", "-x", "help how-many", "-x", "quit", recording)
    assert ANSWER.search(said)
    assert "How many instructions were interpreted, in how many frames." in said


def test_the_screen_asks_it(recording: str) -> None:
    code = (
        "import sys, tests.toy_question\n"
        "from stepper.recording.reader import Recording\n"
        "from stepper.tui.questions import of_the_run\n"
        "recording = Recording.open(sys.argv[1])\n"
        "for each in of_the_run(recording, recording.newest):\n"
        "    print(each.title, *(line.text for line in each.answer(recording, 80)), sep='|')\n"
    )
    *_, last = run("-c", code, recording).stdout.splitlines()
    title, answer = last.split("|")
    assert title == "how many instructions there were"
    assert ANSWER.fullmatch(answer)


@pytest.mark.parametrize("form", ["html", "markdown", "json"])
def test_a_report_answers_it(form: str, recording: str, tmp_path: Path) -> None:
    out = tmp_path / "report"
    toy("report", "--format", form, "-o", str(out), recording)
    text = out.read_text()
    assert ANSWER.search(text)
    if form == "json":
        (answer,) = json.loads(text)["answers"]
        assert answer["question"] == "how-many"
    else:
        assert "How many instructions there were" in text


def test_a_redacted_report_has_no_sentences(recording: str, tmp_path: Path) -> None:
    out = tmp_path / "report"
    toy("report", "--redact", "--format", "json", "-o", str(out), recording)
    assert json.loads(out.read_text())["answers"] == []


def test_the_plugin_for_pytest_asks_it(tmp_path: Path) -> None:
    test = tmp_path / "test_it.py"
    test.write_text("""\
import pytest, torch

def test_it(stepper_ask):
    torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
    (line,) = stepper_ask("how-many")
    assert line.endswith("in 1 frames")
    assert stepper_ask("why-break") == ["no graph break and no skipped frame"]
    assert "x" in " ".join(stepper_ask("is-guarded", "x.shape[0]"))
    with pytest.raises(ValueError, match="is-guarded takes expression function"):
        stepper_ask("is-guarded")
    with pytest.raises(ValueError, match="no question is called 'why'"):
        stepper_ask("why")
""")
    done = run(
        "-m", "pytest", "-q", "-p", "tests.toy_question", "-p", "no:cacheprovider", str(test)
    )
    assert "1 passed" in done.stdout


def test_each_question_is_answered_as_in_its_first_example(recording: str) -> None:
    opened = Recording.open(recording)
    for question in QUESTIONS.values():
        words = question.examples[0].replace('"', "").split()
        assert [line.text for line in question.answer()(opened, *words)]


@pytest.mark.parametrize(
    ("argument", "words", "options"),
    [
        ("config['a b'] forward", ["config['a b']", "forward"], set()),
        ("x.shape[0]", ["x.shape[0]"], set()),
        ("x.size (0) + 1", ["x.size (0) + 1"], set()),
        ("--all forward", ["--all", "forward"], set()),
        ("", [], set()),
    ],
)
def test_the_console_takes_expressions_with_spaces(
    argument: str, words: list[str], options: set[str]
) -> None:
    assert parted(argument, QUESTIONS["is-guarded"]) == (words, options)
    assert parted("f --replay --all", QUESTIONS["why-slow"]) == (["f"], {"--replay", "--all"})
