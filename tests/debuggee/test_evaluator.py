"""Whatever an expression does, what comes back is a short text in bounded time."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from stepper.debuggee.evaluator import LENGTH, Evaluation, evaluate


class Sleeps:
    def __repr__(self) -> str:
        time.sleep(600)
        return ""


class Spins:
    """Swallows the first interruptions."""

    def __repr__(self) -> str:
        swallowed = 0
        while True:
            try:
                while True:
                    pass
            except BaseException:
                swallowed += 1
                if swallowed == 3:
                    raise


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError


class Shapeless:
    def __bool__(self) -> bool:
        raise TypeError("neither true nor false")

    def __repr__(self) -> str:
        return "Shapeless()"


def fail() -> None:
    raise Unspeakable


NAMES: dict[str, Any] = {
    "sleeps": Sleeps(), "spins": Spins(), "fail": fail, "shapeless": Shapeless(), "x": 20,
    "names": ["a"], "add_": lambda x: x + 1,
}  # fmt: skip


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x + 1", Evaluation(True, "21")),
        (" x ", Evaluation(True, "20")),
        ("y = x", Evaluation(True, "", acted=True)),
        ("shapeless", Evaluation(True, "Shapeless()")),
        ("print('a'); print('b')", Evaluation(True, "", "a\nb\n", acted=True)),
        ("1 / 0", Evaluation(False, "ZeroDivisionError: division by zero")),
        ("fail()", Evaluation(False, "Unspeakable (its message cannot be shown: ValueError)")),
        ("raise SystemExit(3)", Evaluation(False, "SystemExit: 3", acted=True)),
        ("raise KeyboardInterrupt", Evaluation(False, "interrupted by Ctrl-C", acted=True)),
        ("names.sort()", Evaluation(True, "None", acted=True)),
        ("(lambda: None)()", Evaluation(True, "None", acted=True)),
        ("add_(1)", Evaluation(True, "2", acted=True)),
        ("print('a')", Evaluation(True, "None", "a\n")),
        ("names.index('a')", Evaluation(True, "0")),
        ("del nothing", Evaluation(False, "NameError: name 'nothing' is not defined", acted=True)),
        ("input()", Evaluation(False, "EOFError: EOF when reading a line")),
        ("__import__('sys').stderr.write('e') and 0", Evaluation(True, "0", "e")),
    ],
)
def test_outcomes(source: str, expected: Evaluation) -> None:
    assert evaluate(source, dict(NAMES)) == expected


def test_syntax_errors_and_lengths() -> None:
    assert evaluate("1 +", {}).text.startswith("SyntaxError")
    assert len(evaluate("'x' * 50_000", {}).text) == LENGTH
    assert evaluate("'x' * 50_000", {}).text.endswith("… (50,002 characters)")
    assert len(evaluate("print('x' * 10**6)", {}).printed) == 20_000


def test_conditions_tell_truth_and_show_nothing() -> None:
    assert evaluate("x > 3", dict(NAMES), condition=True) == Evaluation(True, "", truth=True)
    assert evaluate("sleeps", dict(NAMES), condition=True).truth
    assert not evaluate("[]", {}, condition=True).truth
    assert "neither" in evaluate("shapeless", dict(NAMES), condition=True).text


def in_thread(run: Callable[[], Evaluation]) -> Evaluation:
    results: list[Evaluation] = []
    thread = threading.Thread(target=lambda: results.append(run()))
    thread.start()
    thread.join()
    return results[0]


@pytest.mark.parametrize("name", ["sleeps", "spins"])
def test_a_hang_is_interrupted_and_leaves_nothing_behind(name: str) -> None:
    streams = sys.stdin, sys.stdout, sys.stderr
    handler = signal.getsignal(signal.SIGURG)
    outcome = evaluate(name, dict(NAMES), seconds=0.1)
    assert not outcome.ok
    assert outcome.text.startswith("interrupted after 0.1 s")
    assert (sys.stdin, sys.stdout, sys.stderr) == streams
    assert signal.getsignal(signal.SIGURG) == handler


def test_a_hang_on_another_thread_is_interrupted() -> None:
    outcome = in_thread(lambda: evaluate("spins", dict(NAMES), seconds=0.1))
    assert outcome.text.startswith("interrupted after 0.1 s")


def test_another_threads_output_is_not_taken(capsys: pytest.CaptureFixture[str]) -> None:
    def other() -> None:
        thread = threading.Thread(target=print, args=("from the program",))
        thread.start()
        thread.join()

    assert evaluate("other()", {"other": other}).printed == ""
    assert capsys.readouterr().out == "from the program\n"
