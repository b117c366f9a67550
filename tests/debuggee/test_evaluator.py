"""Whatever an expression does, what comes back is a short text in bounded time."""

from __future__ import annotations

import contextlib
import signal
import subprocess
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


@pytest.mark.parametrize(
    "source",
    [
        "[1, 2.5, 'a\\n\\'b', None]", "(1,)", "()", "[]", "{}", "set()", "frozenset()", "{3}",
        "frozenset({3})", "{'a': [1, {2: (3,)}], b'x': bytearray(b'y')}", "Ellipsis", "1e300",
        "[x for x in [[]] if not x.append(x)]", "slice(1, 2)", "range(3)", "'x' * 100",
        "(1, ('x' * 500,))",
    ],
)  # fmt: skip
def test_what_is_short_is_shown_by_its_own_repr(source: str) -> None:
    assert evaluate(source, {}).text == repr(eval(source))


@pytest.mark.parametrize(
    ("source", "counted"),
    [
        ("'a' * 3 * 10**8", "300,000,000 characters"),
        ("b'a' * 3 * 10**8", "300,000,000 characters"),
        ("[0] * 5 * 10**7", "50,000,000 items"),
        ("[['a' * 10**8]] * 10**6", "1,000,000 items"),
        ("{'k' * 10**8: 'v' * 10**8}", "1 items"),
        ("{}['a' * 3 * 10**8]", ""),
    ],
)
def test_a_huge_result_is_not_made_into_a_text_first(source: str, counted: str) -> None:
    def taken(call: Callable[[], object]) -> float:
        before = time.process_time()
        call()
        return time.process_time() - before

    def make() -> None:
        with contextlib.suppress(KeyError):
            eval(source)

    made = taken(make)
    outcomes: list[Evaluation] = []
    # A text of all of it would take several times as long as the value itself is made and freed.
    assert taken(lambda: outcomes.append(evaluate(source, {}, seconds=120))) < 3 * made + 1.5
    [outcome] = outcomes
    assert len(outcome.text) <= LENGTH
    assert counted in outcome.text


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


TRACED_AFTERWARDS = """
import sys, threading
from stepper.debuggee.evaluator import evaluate

def spin():
    while True:
        pass

def run():
    for source in ("1 + 1", "spin()", "2"):
        print(evaluate(source, {"spin": spin}, seconds=0.1).text)

thread = threading.Thread(target=run)
thread.start()
thread.join()
sys.settrace(lambda *event: None)
(lambda: None)()
print("traced")
"""


def test_functions_can_be_traced_after_a_hang_on_another_thread(
    run_python: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    done = run_python("-c", TRACED_AFTERWARDS)
    assert done.stdout.splitlines()[-1] == "traced", done.stderr


def test_another_threads_output_is_not_taken(capsys: pytest.CaptureFixture[str]) -> None:
    def other() -> None:
        thread = threading.Thread(target=print, args=("from the program",))
        thread.start()
        thread.join()

    assert evaluate("other()", {"other": other}).printed == ""
    assert capsys.readouterr().out == "from the program\n"
