"""The subcommands that ask a recording, as a shell sees them."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pexpect
import pytest

from stepper.cli import main
from stepper.cli.arguments import build_parser
from stepper.model.failure import FailedStage
from stepper.model.program import Code, Instruction, PythonFrame
from stepper.model.shapes import ShapeStepKind, Why
from stepper.model.value import Value
from tests.conftest import ROOT
from tests.recordings import big_recording, sample_recording
from tests.tape import Tape

FOR_EVER = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c"


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("asking") / "sample.stepper")
    sample_recording(path)
    return path


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "stepper", *arguments]


def stepper(*arguments: str, **options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        **options,  # type: ignore[call-overload]  # any options of its own
    )


def test_a_query_writes_a_table_csv_or_json(sample: str) -> None:
    sql = "SELECT compile_id, outcome FROM frames WHERE compile_id <> ''"
    table = stepper("query", sample, sql).stdout.splitlines()
    assert table[0].split() == ["compile_id", "outcome"]
    assert table[2].split() == ["0/0", "compiled"]
    assert stepper("query", sample, sql, "--format", "csv").stdout.splitlines()[:2] == [
        "compile_id,outcome",
        "0/0,compiled",
    ]
    rows = json.loads(stepper("query", sample, "-", "--format=json", input=sql).stdout)
    assert rows[0] == {"compile_id": "0/0", "outcome": "compiled"}


def test_without_a_question_the_views_are_listed(sample: str) -> None:
    lines = stepper("query", sample).stdout.splitlines()
    assert "guards(id, frame, attempt, moment, kind, " in "\n".join(lines)


@pytest.mark.parametrize(
    "name",
    [
        "query",
        "why-recompile",
        "why-break",
        "why-shape",
        "why-failed",
        "why-guard",
        "is-guarded",
        "idle-guards",
    ],
)
def test_a_missing_file_is_one_line_and_code_2(name: str) -> None:
    more = ["x"] if name in ("why-guard", "is-guarded") else []
    result = stepper(name, "missing.stepper", *more)
    assert result.returncode == 2
    assert result.stderr.splitlines() == [
        f"stepper {name}: missing.stepper: there is no such file. Check the name."
    ]


def test_a_wrong_question_is_one_line_and_code_2(sample: str) -> None:
    result = stepper("query", sample, "DROP TABLE frames")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("stepper query: only SELECT is possible here; the views are ")


def test_a_query_ends_with_its_time_or_with_ctrl_c(sample: str) -> None:
    result = stepper("query", sample, FOR_EVER, "--timeout", "0.2")
    assert result.returncode == 2
    assert "given up after 0.2 s" in result.stderr
    with subprocess.Popen(
        command("query", sample, FOR_EVER),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        while child.poll() is None:
            child.send_signal(signal.SIGINT)
            try:
                child.wait(1)
            except subprocess.TimeoutExpired:
                continue
        assert child.returncode in (130, -signal.SIGINT)


def test_whoever_leaves_early_sees_no_error(sample: str) -> None:
    numbers = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"
    began = time.monotonic()
    script = f"{sys.executable} -m stepper query {sample} '{numbers}' | head -3"
    result = subprocess.run(
        ["bash", "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert result.stdout.split() == ["x", "───", "1"]
    assert result.stderr == ""
    assert time.monotonic() - began < 300


@pytest.mark.parametrize(
    "words",
    [
        "--version",
        "--help",
        "console -x frames -x quit FILE",
        "list",
        "query FILE 'select 1'",
        "report --format markdown FILE",
        "why-break FILE",
    ],
)
def test_nor_does_whoever_has_left_before(sample: str, words: str, tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            command(*shlex.split(words.replace("FILE", sample))),
            env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(tmp_path)},
            stdin=subprocess.DEVNULL,
            stdout=write,
            stderr=subprocess.PIPE,
            timeout=600,
            check=False,
        )
    finally:
        os.close(write)
    assert done.stderr == b""
    assert done.returncode == 128 + signal.SIGPIPE


@pytest.mark.real_terminal
@pytest.mark.parametrize("format", ["table", "csv", "json"])
def test_nothing_acts_on_the_terminal(sample: str, format: str, tmp_path: Path) -> None:
    sql = "SELECT 'a' || char(27) || '[31mb' || char(155) || 'c' AS hostile"
    child = pexpect.spawn(
        sys.executable,
        ["-m", "stepper", "query", sample, sql, "--format", format],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "NO_COLOR": "1"},
        encoding="utf-8",
        timeout=600,
    )
    child.expect(pexpect.EOF)
    assert "hostile" in child.before
    assert "\x1b" not in child.before
    assert "\x9b" not in child.before


@pytest.mark.parametrize("name", ["why-recompile", "why-break"])
def test_the_answers_lead_with_a_heading(sample: str, name: str) -> None:
    result = stepper(name, sample)
    assert result.returncode == 0
    assert re.match(r"1 (function compiled again|graph break of 1 cause)", result.stdout)
    none = stepper(name, sample, "nowhere").stdout
    assert re.fullmatch(r"no .* with 'nowhere' in its name.*\n", none)


def test_a_question_waits_for_no_garbage_collector(tmp_path: Path) -> None:
    path = str(tmp_path / "big.stepper")
    big_recording(path)
    gc.collect()
    began: list[int] = []

    def note(phase: str, told: dict[str, int]) -> None:
        if phase == "start" and told["generation"] > 0:
            began.append(told["generation"])

    gc.callbacks.append(note)
    try:
        assert main(["diff", path, path]) == 0
        assert gc.isenabled()
        _ = [[] for _ in range(gc.get_threshold()[0] + 1)]  # what was read is old by then
    finally:
        gc.callbacks.remove(note)
    assert len(began) <= 1  # of what the command began with


def test_a_difference_is_exit_code_1(sample: str, tmp_path: Path) -> None:
    other = str(tmp_path / "other.stepper")
    sample_recording(other)
    same = stepper("diff", sample, other)
    assert same.returncode == 0
    assert "no difference" in same.stdout
    big = str(tmp_path / "big.stepper")
    big_recording(big, 500)
    different = stepper("diff", sample, big)
    assert different.returncode == 1
    assert "first difference: only a compiles 0/0 Net.forward" in different.stdout


@pytest.mark.parametrize(
    ("of", "said"),
    [
        ("0/0 0/1", "0/0 Net.forward  |  0/1 Net.forward"),
        ("0/0:1 0/0:2", "the same for "),
        ("3 5", "Net.forward"),
    ],
)
def test_two_things_of_one_recording(sample: str, of: str, said: str) -> None:
    result = stepper("diff", sample, "--of", *of.split())
    assert result.returncode == 0
    assert result.stdout.startswith(said)


def test_two_moments_of_two_recordings(sample: str, tmp_path: Path) -> None:
    other = str(tmp_path / "other@2.stepper")
    sample_recording(other)
    same = stepper("diff", f"{sample}@5", f"{other}@5")
    assert same.returncode == 0
    assert "no difference" in same.stdout
    different = stepper("diff", f"{sample}@5", f"{other}@9").stdout
    assert different.startswith("a is at moment 5: ")
    assert "b is at moment 9: " in different
    within = stepper("diff", f"{sample}@3", "@5").stdout
    assert within == stepper("diff", sample, "--of", "3", "5").stdout
    # A name that looks like a moment's is a name.
    (tmp_path / "other@2.stepper").rename(tmp_path / "run@7")
    assert stepper("diff", sample, str(tmp_path / "run@7")).returncode == 0


def test_two_attempts_of_two_recordings(sample: str, tmp_path: Path) -> None:
    other = str(tmp_path / "other.stepper")
    sample_recording(other)
    same = stepper("diff", sample, other, "--of", "0/0:1", "0/0:1").stdout
    assert same.splitlines() == ["0/0 Net.forward", "  no difference"]
    different = stepper("diff", sample, other, "--of", "0/0:1", "0/0:2").stdout
    assert "thrown away since: graph break in block" in different
    assert re.search(r"alike for \d+ instructions, then", different)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "which second recording?"),
        (["--of", "7/7", "0/0"], "has no frame 7/7; it has 0/0, 1/0, 0/1"),
        (["--of", "0/0:9", "0/0:1"], "0/0 has no attempt 9; it has 2"),
        (["--of", "1", "99999"], "has no moment 99999"),
        (["@3"], "give A@N and B@M"),
    ],
)
def test_a_wrong_difference_is_one_line(sample: str, arguments: list[str], message: str) -> None:
    result = stepper("diff", sample, *arguments)
    assert (result.returncode, len(result.stderr.splitlines())) == (2, 1)
    assert message in result.stderr


HOSTILE = "\x1b]0;owned\x07\x9b31m\u202e"


@pytest.mark.parametrize(
    "arguments",
    [
        ["why-recompile"],
        ["why-break"],
        ["why-shape"],
        ["why-failed"],
        ["why-guard", "TYPE_MATCH"],
        ["is-guarded", "x"],
        ["diff", "--of", "0/0", "0/1"],
    ],
)
def test_hostile_names_are_shown_as_signs(arguments: list[str], tmp_path: Path) -> None:
    path = str(tmp_path / "hostile.stepper")
    tape = Tape(path)
    rows = (Instruction(0, f"CALL{HOSTILE}", argrepr=HOSTILE, line=1),)
    code = Code(0, HOSTILE, f"f{HOSTILE}", f"{HOSTILE}.py", 1, rows, 1, (f"f({HOSTILE})",))
    for number in (0, 1):
        reason = f"0/0: tensor 'x{HOSTILE}' size mismatch at index 0. expected 1, actual 2"
        tape.begin(code, f"0/{number}", recompile_reason=reason if number else "")
        tape.start_attempt()
        x = tape.describe(Value("TensorVariable", HOSTILE, HOSTILE, "L['x']"))
        tape.step(0, stack=(x,), locals={HOSTILE: x})
        tape.guard(
            "TYPE_MATCH",
            "L['x']",
            user_line=PythonFrame(HOSTILE, 1, HOSTILE),
            code=(f"{HOSTILE}{number}",),
        )
        tape.shape_step(
            ShapeStepKind.SYMBOL, symbol=HOSTILE, source=HOSTILE, hint=HOSTILE, why=Why.DYNAMIC,
            user_stack=(PythonFrame(HOSTILE, 1, HOSTILE),),
        )  # fmt: skip
        tape.shape_step(
            ShapeStepKind.REPLACED, symbol=HOSTILE, expression="5", reason=HOSTILE,
            asked_by=(PythonFrame(HOSTILE, 1, HOSTILE),),
        )  # fmt: skip
        tape.graph_break(HOSTILE, gb_type=HOSTILE, explanation=HOSTILE, hints=(HOSTILE,))
        tape.failure(
            FailedStage.TRACING, HOSTILE, exception=HOSTILE, name=f"f{HOSTILE}", filename=HOSTILE,
            user_stack=(PythonFrame(HOSTILE, 1, HOSTILE),),
            raised=(PythonFrame(HOSTILE, 1, HOSTILE),),
        )  # fmt: skip
        tape.end_attempt()
        tape.end()
    tape.close()
    name, *more = arguments
    result = stepper(name, path, *more)
    assert result.stderr == ""
    assert "f␛]0;owned␇·31m·" in result.stdout
    assert not set(HOSTILE[:1] + "\x07\x9b\u202e") & set(result.stdout)


UNSEEN = "the recording has no end (the program was killed, or still runs): what came later"


QUESTIONS = [each for each in build_parser()[1] if "why-" in each]


OF_FOLDERS = ["report", "is-guarded", "idle-guards"]


@pytest.mark.parametrize("question", [*QUESTIONS, *OF_FOLDERS])
def test_a_question_takes_a_session_folder_and_a_process_of_it(
    question: str, sample: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "session"
    folder.mkdir()
    for rank in (0, 1):
        shutil.copy(sample, folder / f"{rank}.stepper")
        entry = {"pid": rank + 10, "rank": rank, "recording": f"{rank}.stepper"}
        (folder / f"{rank}.json").write_text(json.dumps(entry))
    more = {"why-guard": ["1"], "why-shape": ["x.size(0)"], "report": ["-o", str(tmp_path / "r")]}
    more["is-guarded"] = ["x"]
    options = more.get(question, [])
    code = main([question, sample, *options])
    alone = capsys.readouterr().out.replace(sample, "FILE")
    for named in (["--rank", "1"], ["--process", "11"]):
        assert main([question, str(folder), *options, *named]) == code
        assert capsys.readouterr().out.replace(str(folder / "1.stepper"), "FILE") == alone
    assert main([question, str(folder), *options]) == 2
    assert "choose one with --process N or --rank N" in capsys.readouterr().err


def test_diff_takes_two_processes_of_one_or_of_two_session_folders(
    sample: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [tmp_path / "before", tmp_path / "after"]
    for folder in folders:
        folder.mkdir()
        for rank in (0, 1):
            shutil.copy(sample, folder / f"{rank}.stepper")
            entry = {"pid": rank + 10, "rank": rank, "recording": f"{rank}.stepper"}
            (folder / f"{rank}.json").write_text(json.dumps(entry))
    before, after = map(str, folders)
    for given in ([before, "--ranks", "0", "1"], [before, after, "--processes", "10", "11"]):
        assert main(["diff", *given]) == 0
        said = capsys.readouterr().out
        one, other = (line.split()[1] for line in said.splitlines()[:2])
        assert one == f"{before}/0.stepper"
        assert other == f"{given[1] if given[1] == after else before}/1.stepper"
    for missing in ([before, after], [before]):
        assert main(["diff", *missing]) == 2
        assert "--ranks X Y or --processes X Y" in capsys.readouterr().err


@pytest.mark.parametrize("question", ["report", *QUESTIONS])
def test_of_an_empty_recording_without_an_end_nothing_is_claimed(
    question: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut_off = Tape(str(tmp_path / "cut.stepper")).close("")
    with contextlib.closing(sqlite3.connect(cut_off)) as connection, connection:
        connection.execute("UPDATE session SET ended = NULL")
    more = {"report": ["--format", "markdown"], "why-guard": ["1"]}.get(question, [])
    main([*question.split(), cut_off, *more])
    said = capsys.readouterr().out
    assert "record" in said
    assert not re.search(r"nothing (was|has)|(was|has|were) (not|never)|translated nothing", said)


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_was_not_seen_to_the_end_is_no_proof_that_nothing_happened(
    question: str, sample: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut_off = tmp_path / "cut.stepper"
    shutil.copy(sample, cut_off)
    with contextlib.closing(sqlite3.connect(cut_off)) as connection, connection:
        connection.execute("UPDATE session SET ended = NULL")
    for options in ([], ["--time"]):
        main(["diff", *options, sample, str(cut_off)])
        assert UNSEEN.replace("the recording", "b") in capsys.readouterr().out
    for path, told in ((str(cut_off), 1), (sample, 0)):
        asked = [question, path, *(["1"] if question == "why-guard" else [])]
        assert main(asked) == 0
        assert capsys.readouterr().out.count(UNSEEN) == told
        main(["console", "-x", " ".join([question, *asked[2:]]), path])
        assert capsys.readouterr().out.count(UNSEEN) == told
