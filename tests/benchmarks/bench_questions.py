"""How fast questions are answered: `python -m tests.benchmarks.bench_questions`.

The recording is synthetic, with 100,000 steps: functions that are compiled again and again, each
time after a lookup that tries all their entries, up to the limit; graph breaks with resume
functions; guards and nodes in proportion. It is compared with itself, and with one that has another
function before all others, so that no number is the same in both. Times are the processor's, of the
best of three; each question opens its recordings anew. The bound for each question is 200 ms, and
1 s of a million steps: `python -m tests.benchmarks.bench_questions 1000000`.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from stepper.analysis.break_lines import break_lines
from stepper.analysis.compare_recordings import compare_runs
from stepper.analysis.guard_lines import guard_lines, guarded_lines
from stepper.analysis.query import Query
from stepper.analysis.recompile_lines import recompile_lines
from stepper.cli.asking import opened
from stepper.model.cache import Verdict
from stepper.model.lookup import Check, CheckedGuard, Difference
from stepper.model.program import Code, Instruction, PythonFrame
from stepper.model.trace import Outcome, Phase
from stepper.model.value import TensorMeta, Value
from stepper.recording.reader import Recording
from tests.tape import Tape


def most_seconds(steps: int) -> float:
    """What a question may take."""
    return max(0.2, steps / 1_000_000)


ENTRIES = 8
GUARDS = 30
STEPS_OF_A_FRAME = 600
STEPS_OF_AN_ATTEMPT = 400

QUERIES = (
    "SELECT opname, count(*) FROM instructions GROUP BY opname",
    "SELECT kind, count(*) FROM guards WHERE final GROUP BY kind",
    "SELECT * FROM recompilations",
    "SELECT type, line, count(*) FROM graph_breaks GROUP BY 1, 2",
    "SELECT kind, count(*) FROM events GROUP BY kind",
)


def main(steps: int = 100_000) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as directory:
        path, shifted = (str(Path(directory) / f"{name}.stepper") for name in ("busy", "shifted"))
        busy_recording(path, steps)
        busy_recording(shifted, steps, first=-1)
        for name, question in questions(path, shifted).items():
            seconds = min(time_of(path, question) for _ in range(3))
            verdict = "ok" if seconds < most_seconds(steps) else "TOO SLOW"
            print(f"{name:<70} {seconds * 1e3:6.0f} ms  {verdict}")


Question = Callable[[Recording], object]


def questions(path: str, shifted: str) -> dict[str, Question]:
    return {
        "why-recompile": lambda recording: list(recompile_lines(recording)),
        "why-break": lambda recording: list(break_lines(recording)),
        "why-guard TENSOR_MATCH": lambda recording: list(guard_lines(recording, "TENSOR_MATCH")),
        "is-guarded x.shape[0]": lambda recording: list(guarded_lines(recording, "x.shape[0]")),
        "diff, the same": _comparing(path),
        "diff, all numbers others": _comparing(shifted),
        **{sql: asking(sql) for sql in QUERIES},
    }


def _comparing(path: str) -> Question:
    def compare(recording: Recording) -> object:
        second = Recording.open(path)
        try:
            return compare_runs(recording, second)
        finally:
            second.close()

    return compare


def asking(sql: str) -> Question:
    def ask(recording: Recording) -> object:
        answer = Query(recording, sql)
        try:
            return list(answer.rows())
        finally:
            answer.close()

    return ask


def time_of(path: str, question: Question) -> float:
    begun = time.process_time()
    with opened(path) as recording:
        question(recording)
    return time.process_time() - begun


# The recording


def busy_recording(path: str, steps: int = 100_000, *, first: int = 0) -> None:
    """Write functions that are compiled up to the limit, one after the other, until there are so
    many steps; they are numbered from `first` on."""
    tape = Tape(path)
    number = first
    while tape.moment < steps:
        _function(tape, number)
        number += 1
    tape.close()


def _function(tape: Tape, number: int) -> None:
    body = _code(f"f{number}", STEPS_OF_A_FRAME, "LOAD_FAST", number)
    for size in range(ENTRIES):
        reason = ""
        if size:
            _lookup(tape, number, size, body)
            reason = (
                f"{number}/{size - 1}: tensor 'x' size mismatch at index 0. "
                f"expected {size + 1}, actual {size + 2}"
            )
        tape.begin(body, f"{number}/{size}", cache_size=size, recompile_reason=reason)
        _attempt(tape, number, size, breaks=number % 4 == 0)
        if number % 4 == 0:
            tape.end_attempt("print cannot be traced")
            _attempt(tape, number, size, breaks=False)
        tape.end_attempt()
        tape.end()


def _attempt(tape: Tape, number: int, size: int, *, breaks: bool) -> None:
    tape.start_attempt()
    meta = TensorMeta("float32", (str(size + 2), "3"), ("3", "1"))
    x = tape.describe(Value("TensorVariable", "Tensor", meta.brief, "L['x']", tensor=meta))
    for at in range(STEPS_OF_AN_ATTEMPT):
        tape.step(at, stack=(x,) * (at % 5), locals={"x": x})
        if at == 1:
            tape.guard(
                "TENSOR_MATCH", "L['x']", user_line=PythonFrame("train.py", at, f"f{number}")
            )
            tape.node("x", "placeholder", "L_x_", source="L['x']", meta=meta)
        elif at < GUARDS:
            source = f"L['self'].p{at}"
            tape.guard("CONSTANT_MATCH", source, code=(f"{source} == {at}",))
            tape.node(f"add_{at}", "call_function", "operator.add", args="x, 1", meta=meta)
    if breaks:
        tape.graph_break(
            "Failed to trace builtin operator",
            gb_type="Failed to trace builtin operator",
            explanation="Dynamo does not know how to trace builtin operator `print`",
            user_stack=(PythonFrame("train.py", 10 + STEPS_OF_AN_ATTEMPT // 3, f"f{number}"),),
        )


def _lookup(tape: Tape, number: int, entries: int, body: Code) -> None:
    """A lookup that tries all entries; the fifth guard of each fails."""
    rows = [Instruction(at, "ENTRY", argrepr=f"{number}/{at}") for at in range(entries)]
    rows.append(Instruction(entries, "MISS", argrepr="no entry matches"))
    program = Code(0, body.name, body.qualname, body.filename, body.first_line, tuple(rows))
    walk = tape.begin(program, "", phase=Phase.LOOKUP)
    tape.start_attempt()
    for at in range(entries):
        entry = f"{number}/{at}"
        before = tape.step(at, stack=(), locals=_told(tape, entry=entry, verdict="no match"))
        guards = tape.code(_guards_of(entry, body.filename))
        tape.enter(guards)
        checks = [_check(tape, place, at, entries) for place in range(5)]
        tape.leave()
        tape.tried(before, entry, guards, _PROGRAM, checks)
    tape.step(entries, stack=(), locals=_told(tape, because="size[0]"))
    tape.end_attempt()
    tape.end(Outcome.MISS, name=walk.name, reason="size[0]")


_PROGRAM = [
    *(CheckedGuard("CONSTANT_MATCH", f"L['self'].p{at}", expected=at) for at in range(4)),
    CheckedGuard("TENSOR_MATCH", "L['x']"),
]


def _check(tape: Tape, place: int, entry: int, entries: int) -> Check:
    fails = place == 4
    moment = tape.step(place, stack=(), locals=_told(tape, verdict="FAIL" if fails else "pass"))
    if not fails:
        return Check(place, Verdict.PASS, moment, 900 + place, place)
    differs = Difference("size", entry + 2, entries + 2, at=0)
    return Check(place, Verdict.FAIL, moment, 900 + place, differences=(differs,))


def _told(tape: Tape, **texts: str) -> dict[str, int]:
    return {name: tape.describe(Value("", text=text)) for name, text in texts.items()}


def _guards_of(entry: str, filename: str) -> Code:
    rows = [
        Instruction(at, "CONSTANT_MATCH", argrepr=f"L['self'].p{at}  {at}") for at in range(4)
    ] + [Instruction(4, "TENSOR_MATCH", argrepr="L['x']  Tensor float32")]
    name = f"guards of {entry}"
    return Code(0, name, name, filename, 1, tuple(rows))


def _code(name: str, length: int, opname: str, number: int) -> Code:
    rows = tuple(Instruction(at, opname, 0, "x", 2 * at, 10 + at // 3) for at in range(length))
    source: Iterable[str] = (f"    x = x + {at}" for at in range(length // 3))
    return Code(0, name, name, "/home/ann/project/train.py", 10 + number, rows, 10, tuple(source))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
