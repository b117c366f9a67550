"""Interrupts at random instants: `nice python -m tests.debuggee.interrupts [--count 2000]`.

A function is captured for the first time, and in the midst of that an exception comes: from a
tracer before one instruction of whatever Python runs, also of what puts things back (`undo`), from
a signal's handler, or from another thread. Afterwards the world must be as it was (see
`tests.debuggee.world`), the next eager operation and the next capture right, and the recording, if
there is one, readable and going on. What torch's own compiler leaves behind is torch's: with
`dynamo` only our part must be as it was.

Each piece is a process of its own, for some of these defects end it; in a piece all rounds share
it, so what one leaves behind the next one meets.
"""

from __future__ import annotations

import argparse
import ctypes
import faulthandler
import json
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import torch

from stepper import _C, native
from stepper.model.trace import EventKind, Phase
from stepper.native.runtime.surroundings import Surroundings
from tests.debuggee.world import OURS, World, changes, under_way, world
from tests.tracing import trace_instructions

ROOT = Path(__file__).resolve().parents[2]


TORCH_ENDED = "terminate called after throwing an instance of 'pybind11::error_already_set'"
"""What torch says where its C++ must not fail, and asks Python. Signals are kept out of that; what
another thread raises cannot be."""


_HUNG = 300
"""Seconds after which a round will never end."""
_OUTCOMES = "outcomes:"
"""Begins a piece's line of what came of its interrupts."""


class Setting(NamedTuple):
    """What a piece runs under."""

    engine: str
    recorded: str
    """no: without a recording; else what is recorded: compile, or everything."""
    way: str
    """How the interrupt comes: opcode, undo, signal, thread."""


SETTINGS = [
    Setting(engine, recorded, way)
    for engine in ("native", "dynamo")
    for recorded in ("no", "compile", "everything")
    for way in ("opcode", "undo", "signal", "thread")
    if engine == "native" or recorded != "no"
]
"""Dynamo without a recording is torch's own affair."""

# --- what is captured


class Block(torch.nn.Module):
    """A module, as programs have them."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.seen = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen += 1
        return torch.nn.functional.relu(self.linear(x)) + x


BLOCK = Block()


def scale(x: torch.Tensor, by: float) -> torch.Tensor:
    """Inlined."""
    return x * by + x.mean()


def straight(x: torch.Tensor) -> torch.Tensor:
    """One graph, of inlined calls."""
    found = [scale(x, by) for by in (0.5, 2.0)]
    return torch.stack(found).sum(0).clamp(max=9)


def broken(x: torch.Tensor) -> torch.Tensor:
    """Two graphs, and a resume function."""
    y = scale(x, 3.0)
    if y.sum().item() > 0:
        y = y + 1
    return scale(y, 0.5)


def through_modes(x: torch.Tensor) -> torch.Tensor:
    """Under a mode of torch's, and in a module."""
    with torch.no_grad():
        y = BLOCK(x)
    return BLOCK(y).sin()


def drawing(x: torch.Tensor) -> torch.Tensor:
    """With random numbers, of which none is needed."""
    return torch.nn.functional.dropout(x, 0.0) + torch.zeros_like(x).uniform_(1, 1)


PROGRAMS = (straight, broken, through_modes, drawing)
DRAWS = {drawing}


def fresh(function: Callable[..., Any]) -> types.FunctionType:
    """A function of which nothing is known."""
    assert isinstance(function, types.FunctionType)
    code = function.__code__.replace()
    return types.FunctionType(code, function.__globals__, function.__name__)


def run_graph(gm: Any, inputs: list[Any]) -> Any:
    """The backend."""
    return gm.forward


def captured(engine: str, function: Any, backend: Any = run_graph) -> Callable[..., Any]:
    """The function, to be captured when it is called."""
    if engine == "native":
        made: Callable[..., Any] = native.optimize(backend)(function)
        return made
    compiled: Callable[..., Any] = torch.compile(function, backend=backend)
    return compiled


# --- how it is interrupted

EXCEPTIONS: tuple[type[BaseException], ...] = (
    KeyboardInterrupt,
    KeyboardInterrupt,
    SystemExit,
    MemoryError,
    RecursionError,
    TimeoutError,
)


class Tracer:
    """Raises before the instruction of a number."""

    def __init__(self) -> None:
        self.count = 0
        self.at = -1
        self.error: type[BaseException] = KeyboardInterrupt

    def trace(self, frame: types.FrameType, event: str, argument: object) -> Any:
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        if event == "opcode":
            self.count += 1
            if self.count == self.at:
                self.place = _where(frame)
                raise self.error
        return self.trace

    place = ""


_C.own_tracer(Tracer.trace.__code__)  # or nothing would be captured under it


class Interrupter:
    """Calls something, and interrupts it."""

    def __init__(self, way: str, seed: int) -> None:
        self.way = way
        self.draw = random.Random(seed)
        self.armed = False
        self.place = ""
        self.error: type[BaseException] = KeyboardInterrupt
        self.outcomes: Counter[str] = Counter()
        """What came out of the calls that were to be interrupted."""
        self._lengths: dict[object, float] = {}
        if way == "signal":
            signal.signal(signal.SIGALRM, self._on_alarm)
        elif way == "undo":
            self._interrupt_undos()

    def _on_alarm(self, number: int, frame: types.FrameType | None) -> None:
        if self.armed:
            self.armed = False
            self.place = _where(frame)
            raise self.error

    def _interrupt_undos(self) -> None:
        """From now on, have each undo interrupted once while this is armed."""
        plain = _C.call_and_undo

        def call_and_undo(undo: Callable[[], object], function: Any, *args: Any) -> Any:
            first = [True]

            def interrupted() -> None:
                if not (self.armed and first):
                    undo()
                    return
                first.pop()
                tracer = Tracer()
                tracer.at, tracer.error = self.draw.randrange(1, 400), self.error
                try:
                    sys.call_tracing(_traced, (tracer, undo))
                finally:
                    self.place = tracer.place

            return plain(interrupted, function, *args)

        for module in [*sys.modules.values()]:
            if getattr(module, "call_and_undo", None) is plain:
                vars(module)["call_and_undo"] = call_and_undo

    def call(self, what: object, call: Callable[[], Any]) -> tuple[Any, BaseException | None]:
        """What it gave, and what came out of it. The first call of its kind is measured."""
        self.error = self.draw.choice(EXCEPTIONS)
        if self.error is TimeoutError and self.way not in ("signal", "undo"):
            self.error = SystemExit  # from a handler only: else it could be a defect of ours
        self.place = ""
        length = self._lengths.get(what)
        at = 0.0 if length is None else self.draw.uniform(0, length * 1.02)
        began = time.perf_counter()
        result: Any = None
        found: BaseException | None = None
        tracer = Tracer()
        try:
            self.armed = length is not None
            timed = self.way in ("signal", "thread")
            with self._coming(at, tracer) if timed else nullcontext():
                if self.way == "opcode":
                    tracer.at = round(at) if self.armed else -1
                    tracer.error = self.error
                    trace_instructions(tracer.trace)
                result = call()
                self.armed = False
        except BaseException as error:
            found = error
        finally:
            self.armed = False
            sys.settrace(None)
        self.place = self.place or tracer.place
        if length is None:
            took = time.perf_counter() - began
            self._lengths[what] = tracer.count if self.way == "opcode" else took
        else:
            self.outcomes["a result" if found is None else type(found).__name__] += 1
        return result, found

    @contextmanager
    def _coming(self, at: float, tracer: Tracer) -> Iterator[None]:
        if not self.armed:
            yield
        elif self.way == "signal":
            signal.setitimer(signal.ITIMER_REAL, max(at, 1e-6))
            try:
                yield
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        else:
            me = threading.get_ident()
            gone = threading.Event()

            def strike() -> None:
                if not gone.wait(at):
                    self.place = _where(sys._current_frames().get(me))
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(
                        ctypes.c_ulong(me), ctypes.py_object(self.error)
                    )

            thread = threading.Thread(target=strike)
            thread.start()
            try:
                yield
            finally:
                gone.set()
                thread.join()
                # Not taken back where it comes late: Python 3.11 then runs for ever when it traces.
                for _ in range(10):
                    time.sleep(0)


def _traced(tracer: Tracer, call: Callable[[], object]) -> None:
    trace_instructions(tracer.trace)
    try:
        call()
    finally:
        sys.settrace(None)


def _where(frame: types.FrameType | None) -> str:
    found: list[str] = []
    while frame is not None and len(found) < 6:
        found.append(f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}")
        frame = frame.f_back
    return " < ".join(found)


# --- the rounds


class Failure(NamedTuple):
    """What was not as it should be after a round."""

    round: int
    what: list[str]
    error: str
    place: str


def _right(found: object, expected: torch.Tensor) -> bool:
    return (
        isinstance(found, torch.Tensor)
        and type(found) is torch.Tensor
        and bool(torch.allclose(found, expected))
    )


def one_round(
    interrupter: Interrupter, setting: Setting, number: int, recorder: Any
) -> Failure | None:
    """Interrupt one capture, and look at what is there then."""
    program = PROGRAMS[number % len(PROGRAMS)]
    x = torch.arange(4.0) + number % 5
    expected = program(x)
    function = fresh(program)
    call = captured(setting.engine, function)
    before, books = world(recorder), under_way(recorder)
    surroundings = Surroundings()
    result, error = interrupter.call(program, lambda: call(x))
    if setting.engine == "dynamo":
        surroundings.put_back()
    kind = "" if error is None else f"{type(error).__name__}: {error}"
    error_type = type(error)
    del error
    wrong = compared(before, world(recorder), setting, draws=program in DRAWS)
    if not kind and not _right(result, expected):
        wrong.append(f"the interrupted call gave {result!r}")
    if kind and error_type is not interrupter.error and setting.engine == "native":
        wrong.append(f"the program was told {kind}")
    try:
        if not _right(torch.arange(4.0) + number % 5, x):
            wrong.append("an eager operation gives something else")
        if not _right(call(x), expected):
            wrong.append("the next call of the function gives something else")
        if not _right(captured(setting.engine, fresh(program))(x), expected):
            wrong.append("the next capture gives something else")
        wrong += changes(books, under_way(recorder))
    except Exception as after:
        wrong.append(f"afterwards: {type(after).__name__}: {str(after)[:200]}")
    return Failure(number, wrong, kind, interrupter.place) if wrong else None


def compared(before: World, after: World, setting: Setting, *, draws: bool) -> list[str]:
    """What is not as it was, of what the engine answers for."""
    found = changes(before, after)
    if setting.engine == "dynamo":
        return [each for each in found if each.partition(":")[0] in OURS]
    return [each for each in found if not (draws and each.startswith("torch random"))]


def run_piece(setting: Setting, count: int, seed: int, path: Path | None) -> list[Failure]:
    """Some rounds, in this process."""
    torch.set_num_threads(1)
    torch._dynamo.config.cache_size_limit = native.config.cache_size_limit = 1 << 20
    interrupter = Interrupter(setting.way, seed)
    failures: list[Failure] = []
    with recording(setting, path) as recorder:
        for program in PROGRAMS:  # what is imported and made once
            captured(setting.engine, fresh(program))(torch.arange(4.0))
        for number in range(count + len(PROGRAMS)):
            print(number, end="\r", flush=True)
            faulthandler.dump_traceback_later(_HUNG, exit=True)
            if (failure := one_round(interrupter, setting, number, recorder)) is not None:
                failures.append(failure)
                print(
                    f"round {failure.round}: {failure.error} at {failure.place}\n  "
                    + "\n  ".join(failure.what),
                    flush=True,
                )
                break
    faulthandler.cancel_dump_traceback_later()
    print(_OUTCOMES, json.dumps(interrupter.outcomes))
    return failures


@contextmanager
def recording(setting: Setting, path: Path | None) -> Iterator[Any]:
    """Record what is captured in the block, if that is wanted; it can be read afterwards."""
    if path is None:
        yield None
        return
    from stepper.debuggee.controller import Controller
    from stepper.debuggee.recorder import Recorder
    from stepper.debuggee.registry import find
    from stepper.model.trace import SessionFacts
    from stepper.recording.reader import Recording
    from stepper.recording.writer import Writer

    kind = find(setting.engine)
    facts = SessionFacts(engine=setting.engine, capabilities=kind.capabilities)
    writer = Writer(str(path), facts)
    engine = kind.create()
    controller = Controller(None)
    recorder = Recorder(writer, controller, engine)
    if setting.recorded == "everything":
        recorder.walks.asked = frozenset((Phase.LOOKUP, Phase.EXECUTE))
    controller.attach(engine, recorder)
    engine.install(recorder)
    try:
        yield recorder
    finally:
        recorder.detach()
        engine.uninstall()
        writer.close()
    assert not writer.failed, writer.failed
    found = Recording.open(str(path))
    notes = [note.text for note in found.events(kinds={EventKind.NOTE})]
    print(f"{path.stat().st_size} bytes, {len(list(found.translations()))} translations, {notes}")
    found.close()


def main() -> None:
    """Run the pieces that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=2_000, help="interrupts, in all")
    parser.add_argument("--piece", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="engine,recorded,way of one piece")
    options = parser.parse_args()
    if options.only:
        faulthandler.enable()
        setting = Setting(*options.only.split(","))
        with tempfile.TemporaryDirectory() as folder:
            path = None if setting.recorded == "no" else Path(folder) / "recording"
            failures = run_piece(setting, options.count, options.seed, path)
        sys.exit(bool(failures))
    began = time.monotonic()
    table: dict[Setting, Counter[str]] = {setting: Counter() for setting in SETTINGS}
    failed = done = 0
    while done < options.count:
        setting = SETTINGS[done // options.piece % len(SETTINGS)]
        command = [sys.executable, "-m", __spec__.name, "--only", ",".join(setting)]
        command += ["--count", str(options.piece), "--seed", str(options.seed + done)]
        found = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
        done += options.piece
        said = found.stdout.rpartition(_OUTCOMES)[2]
        if found.returncode == 0:
            table[setting].update(json.loads(said.splitlines()[0]))
        elif setting.way == "thread" and TORCH_ENDED in found.stderr:
            table[setting]["torch ended the process"] += 1
        else:
            failed += 1
            table[setting]["FAILED"] += 1
            print(f"--- {' '.join(command[1:])}: {found.returncode}")
            print(f"{found.stdout[-3000:]}\n{found.stderr[-3000:]}")
        print(f"{done} interrupts, {failed} pieces failed, {time.monotonic() - began:.0f} s")
        sys.stdout.flush()
    for setting, outcomes in table.items():
        came = ", ".join(f"{what} {count}" for what, count in outcomes.most_common())
        print(f"{' '.join(setting):28} {came}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
