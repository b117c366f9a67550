"""Run programs of the corpus under the witness, alone or watched, and compare what it saw."""

from __future__ import annotations

import difflib
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests import ready
from tests.conftest import CORPUS, TESTS, clean_environment

# Each takes seconds of tracing, and gets a process of its own.
HEAVY = frozenset({"bert", "generate", "generate_caches", "gpt2", "llama", "t5", "train_step"})
FORKS = frozenset({"gloo_ranks"})
"""Programs that fork. A process in which others have run autograd may refuse that (it does where
torch is built for an accelerator), and nobody parts what the two print: `tests/real/test_ranks.py`
runs them alone."""
BATCH = 18

WITNESS = str(TESTS / "witness.py")


@dataclass(frozen=True)
class Account:
    """What one run of one program did: its output, and the witness's file."""

    output: str
    report: str


@dataclass(frozen=True)
class Run:
    accounts: dict[str, Account]
    status: int
    errors: str


def light_batches() -> list[list[str]]:
    """The small programs, dealt out so that each batch pays for one import of torch."""
    names = sorted(path.stem for path in CORPUS.glob("*.py") if path.stem not in HEAVY | FORKS)
    count = -(-len(names) // BATCH)
    return [names[start::count] for start in range(count)]


def witness(names: list[str], folder: Path, prefix: list[str]) -> Run:
    """Run the programs in one process; ``prefix`` is what stands between Python and the script.
    The first batch begins as a user begins a program."""
    folder.mkdir()
    programs = [str(CORPUS / f"{name}.py") for name in names]
    command = [*prefix, WITNESS, "--batch", str(folder), *programs]
    outcome = subprocess.run(
        ready.python(*command, forked=names != light_batches()[0]),
        cwd=folder.parent,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    accounts = {}
    for section in outcome.stdout.split("=== ")[1:]:
        name, _, output = section.partition("\n")
        report = folder / f"{name}.json"
        accounts[name] = Account(output, report.read_text() if report.exists() else "{}")
    return Run(accounts, outcome.returncode, outcome.stderr)


def alone(names: list[str], folder: Path) -> Run:
    return witness(names, folder / "alone", [])


def watched(names: list[str], folder: Path, recording: Path, *options: str) -> Run:
    command = ["-m", "stepper", "record", *options, "-o", str(recording)]
    return witness(names, folder / "watched", command)


def attempts_seen(run: Run) -> int:
    """How often the tracer started, by its own log."""
    return sum(
        message.startswith("Step 1: torchdynamo start tracing")
        for account in run.accounts.values()
        for _, _, message, _ in json.loads(account.report)["logs"]
    )


def explain_difference(expected: str, actual: str) -> str:
    """The lines that differ, each under the path of keys that leads to it; empty if none do."""
    if expected == actual:
        return ""
    lines: list[str] = []
    _compare(json.loads(expected), json.loads(actual), "", lines)
    return "\n".join(lines[:60])


def _compare(expected: object, actual: object, path: str, lines: list[str]) -> None:
    if expected == actual:
        return
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in sorted(expected.keys() | actual.keys()):
            _compare(expected.get(key), actual.get(key), f"{path}.{key}", lines)
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for index, (left, right) in enumerate(zip(expected, actual, strict=True)):
            _compare(left, right, f"{path}[{index}]", lines)
    else:
        lines.append(f"{path}:")
        left_lines, right_lines = _lines(expected), _lines(actual)
        lines.extend(
            difflib.unified_diff(left_lines, right_lines, "alone", "watched", n=1, lineterm="")
        )


def _lines(value: object) -> list[str]:
    if isinstance(value, str):
        return value.splitlines()
    if isinstance(value, list):
        return [str(item) for item in value]
    return [str(value)]
