"""The witness is fair: two plain runs look the same to it, and a real difference does not."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import CORPUS, TESTS
from tests.watching import alone, explain_difference, witness

# Names with random parts, ids in guards, random numbers, hooks, deaths, restarts, subgraphs.
SAMPLE = ["cond", "hostile_counts", "lifetime", "random_numbers", "recompiles", "restarts", "vmap"]

# A watcher that does what ours must not: it realizes lazy trackers, with a frame of its own.
NOSY = """
import runpy, sys
from torch._dynamo.symbolic_convert import InstructionTranslatorBase
original = InstructionTranslatorBase.step
def step(self):
    for value in self.stack:
        value.realize()
    return original(self)
InstructionTranslatorBase.step = step
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    runs = [alone(SAMPLE, tmp_path_factory.mktemp("witness")) for _ in range(2)]
    assert [run.status for run in runs] == [0, 0], runs[0].errors
    return {name: [run.accounts[name].report for run in runs] for name in SAMPLE}


@pytest.mark.xdist_group("witness")
@pytest.mark.parametrize("name", SAMPLE)
def test_two_plain_runs_are_equal(name: str, reports: dict[str, list[str]]) -> None:
    first, second = reports[name]
    assert not explain_difference(first, second), explain_difference(first, second)


@pytest.mark.xdist_group("witness")
def test_everything_the_compiler_made_is_there(reports: dict[str, list[str]]) -> None:
    report = json.loads(reports["recompiles"][0])
    assert report["outcome"] == "None"
    assert report["counters"]["stats"]["unique_graphs"] == len(report["graphs"])
    assert len(report["translations"]) == len(report["graphs"]) > 3
    (function,) = report["cache"]
    assert len(function["entries"]) == len(report["translations"])
    assert all(entry["guards"]["parts"] for entry in report["translations"])
    assert any("Recompiling function f" in message for _, _, message, _ in report["logs"])


@pytest.mark.xdist_group("witness")
def test_a_dead_entry_says_why(reports: dict[str, list[str]]) -> None:
    # The program's own reset empties the cache; the deaths before it show as new translations.
    report = json.loads(reports["lifetime"][0])
    assert [row["compile_id"] for row in report["translations"]] == ["0/0", "0/1", "0/0"]


def test_a_nosy_watcher_is_caught(tmp_path: Path) -> None:
    names = ["deep_inlining", "lazy_arguments"]
    plain = alone(names, tmp_path).accounts
    nosy = witness(names, tmp_path / "nosy", ["-c", NOSY]).accounts
    for name in names:
        assert plain[name].output != nosy[name].output


def test_a_program_keeps_its_output_arguments_and_exit_code(
    tmp_path: Path, run_python: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    program = tmp_path / "program.py"
    program.write_text("import sys\nprint(__name__, *sys.argv[1:])\nsys.exit(3)\n")
    outcome = run_python(TESTS / "witness.py", tmp_path / "out.json", program, "a", "b")
    assert outcome.stdout == "__main__ a b\n"
    assert outcome.returncode == 3
    assert json.loads((tmp_path / "out.json").read_text())["outcome"] == "SystemExit(3)"


def test_a_difference_is_named_by_its_place() -> None:
    expected = json.dumps({"graphs": [{"code": "a\nb"}], "same": 1})
    actual = json.dumps({"graphs": [{"code": "a\nc"}], "same": 1})
    assert explain_difference(expected, actual).splitlines() == [
        ".graphs[0].code:",
        "--- alone",
        "+++ watched",
        "@@ -1,2 +1,2 @@",
        " a",
        "-b",
        "+c",
    ]


def test_the_corpus_is_large_enough() -> None:
    assert len(list(CORPUS.glob("*.py"))) >= 50
