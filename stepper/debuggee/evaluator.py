"""Running an expression of the user's at a stop, without letting it reach the tracing.

Whatever the expression and the `__repr__` of its result do, the outcome is a short text in bounded
time: exceptions become text, output is caught, a hang is interrupted.

How a hang is interrupted. A watchdog thread lives as long as the evaluation. When the time is up it
raises `_Interrupted` in the evaluating thread, again and again until that has given up (the
expression may swallow the first one): on the main thread through a signal, which also ends a
`time.sleep` or a read; on other threads through `PyThreadState_SetAsyncExc`, which waits for the
next bytecode. The signal is SIGURG, which nobody uses and whose default action is to be ignored;
its handler is ours only while the evaluation lasts.
"""

from __future__ import annotations

import _thread
import ast
import ctypes
import io
import os
import signal
import sys
import traceback
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

import msgspec

from stepper._C import shortened_at
from stepper.debuggee.rendering import rendered
from stepper.recording.at_once import at_once

SECONDS = 1.0
"""How long an evaluation may take."""
LENGTH = 2000
"""How many characters of a text are shown."""
_PRINTED_LENGTH = 20_000
_SIGNAL = signal.SIGURG
_AGAIN_SECONDS = 0.05
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

T = TypeVar("T")


class Evaluation(msgspec.Struct, frozen=True):
    """What came of an expression."""

    ok: bool
    text: str
    """The value's bounded repr (empty for a statement), or what went wrong."""
    printed: str = ""
    """What was written to stdout and stderr meanwhile."""
    truth: bool = False
    """The value's truth, when it was asked for."""
    acted: bool = False
    """It was run for what it does, not for its value: a statement, however it ended, or a call
    that returned nothing or whose name says that it works in place (`add_`)."""


class Timeout(Exception):
    """The evaluation took too long and was interrupted."""


class _Interrupted(BaseException):
    """Raised into the evaluating thread by the watchdog."""


def evaluate(
    source: str,
    namespace: dict[str, object],
    *,
    condition: bool = False,
    seconds: float = SECONDS,
    why_not: Callable[[str], str] | None = None,
) -> Evaluation:
    """Evaluate an expression, or run statements, with `namespace` as its global names.

    With `condition`, the outcome tells the value's truth and not its repr. `why_not` may say why a
    source is not to be run. Never raises because of the expression; a Ctrl-C meanwhile interrupts
    only the expression.
    """
    capture = _Capture()
    run = _Run(source, namespace, condition, why_not)
    try:
        with capture:
            ok, text, truth = bounded(run, seconds)
            return Evaluation(ok, text, capture.text(), truth, run.acted)
    except Timeout:
        text = f"interrupted after {seconds:g} s: evaluating, or showing the result, took too long"
    except KeyboardInterrupt:
        text = "interrupted by Ctrl-C"
    except Exception as error:  # of our own making, e.g. no thread can be started
        text = f"nothing can be evaluated here: {describe_exception(error)}"
    return Evaluation(False, text, capture.text(), acted=run.acted)


def caught(run: Callable[[], T], seconds: float) -> tuple[T, str]:
    """Call `run` as an expression is evaluated: bounded in time, its output caught and returned.

    Raises:
        Timeout: it took too long.
    """
    capture = _Capture()
    with capture:
        result = bounded(run, seconds)
    return result, capture.text()


class _Run:
    """Runs a source once; says whether it was OK, its text and its truth."""

    def __init__(
        self,
        source: str,
        namespace: dict[str, object],
        condition: bool,
        why_not: Callable[[str], str] | None,
    ) -> None:
        self._why_not = why_not
        self._source = source.strip()
        self._namespace = namespace
        self._condition = condition
        self.acted = False

    def __call__(self) -> tuple[bool, str, bool]:
        namespace = self._namespace
        namespace.setdefault("__builtins__", __builtins__)
        try:
            if self._why_not is not None and (why := self._why_not(self._source)):
                return False, why, False
            try:
                tree = ast.parse(self._source, "<evaluate>", "eval")
            except SyntaxError:
                code = compile(self._source, "<evaluate>", "exec")
                self.acted = True
                exec(code, namespace)
                return True, "", False
            value: object = eval(compile(tree, "<evaluate>", "eval"), namespace)
            self.acted = _acts(tree.body, value)
            if self._condition:
                return True, "", bool(value)
            return True, rendered(value, LENGTH), False
        except (_Interrupted, KeyboardInterrupt):
            raise
        except BaseException as error:  # also SystemExit: evaluating does not end the program
            return False, describe_exception(error), False


def _acts(expression: ast.expr, value: object) -> bool:
    """Whether an expression was plainly called for what it does. Most that change something give a
    value as well; they cannot be told from those that only look."""
    match expression:
        case ast.Call(func=ast.Name(id="print")):
            return False
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return value is None or (name.endswith("_") and not name.endswith("__"))
        case ast.Call():
            return value is None
        case _:
            return False


def describe_exception(error: BaseException) -> str:
    """An exception in one bounded text, whatever its own `__str__` does."""
    name = type(error).__name__
    try:
        is_key = type(error) is KeyError and len(error.args) == 1
        text = rendered(error.args[0], LENGTH) if is_key else str(error)
    except Exception as another:
        return f"{name} (its message cannot be shown: {type(another).__name__})"
    return shorten(f"{name}: {text}" if text else name)


def place_of(error: BaseException) -> str:
    """` at FILE:LINE` of our own code that an exception passed through last, and of the code that
    raised it, which is often torch's or Python's; empty where it was never raised."""
    called = traceback.extract_tb(error.__traceback__)
    ours = [each for each in called if each.filename.startswith(_PACKAGE)]
    places = [f"{each.filename}:{each.lineno}" for each in (*ours[-1:], *called[-1:])]
    return f" at {', '.join(dict.fromkeys(places))}" if places else ""


def shorten(text: str, length: int = LENGTH) -> str:
    """The text, cut to `length` characters; what was cut is counted."""
    # A subclass of str could do anything in slicing.
    text = str.__str__(text)
    if len(text) <= length:
        return text
    note = f"… ({len(text):,} characters)"
    return text[: shortened_at(text, length - len(note))] + note


def bounded(run: Callable[[], T], seconds: float) -> T:
    """Call `run`, and interrupt it when it takes longer.

    Raises:
        Timeout: it took too long.
    """
    watchdog = _Watchdog(seconds)
    late = False
    ctrl_c = False
    result: T
    try:
        watchdog.start()
        result = run()
        watchdog.stop()
    except _Interrupted:
        late = True
    finally:
        # The watchdog can strike until it is seen to be gone, so also here.
        while True:
            try:
                watchdog.stop()
                break
            except _Interrupted:
                late = True
            except KeyboardInterrupt:
                ctrl_c = True
    if ctrl_c:
        raise KeyboardInterrupt
    if late:
        raise Timeout
    return result


class _Watchdog:
    """Interrupts the thread that started it, from `seconds` later on until it is stopped."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._thread = _thread.get_ident()
        self._stop = _thread.allocate_lock()
        self._gone = _thread.allocate_lock()
        self._started = False
        self._by_signal = False
        self._struck = False
        self._old_handler: Any = None
        self._done = False

    def start(self) -> None:
        try:
            old = signal.getsignal(_SIGNAL)
            if old is not None:  # None: not a Python handler, we could not put it back
                signal.signal(_SIGNAL, _interrupt)
                self._old_handler = old
                self._by_signal = True
        except ValueError:  # only the main thread may
            self._by_signal = False
        self._stop.acquire()
        self._gone.acquire()
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            _thread.start_new_thread(self._watch, ())
            self._started = True
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def stop(self) -> None:
        """End the watch and leave nothing behind; to be repeated when `_Interrupted` falls in."""
        if self._done:
            return
        if self._started:
            if self._stop.locked():
                self._stop.release()
            at_once((self._gone.acquire,), (self._gone.release,))
            self._drain()
        if self._by_signal:
            signal.signal(_SIGNAL, self._old_handler)
        self._done = True

    def _drain(self) -> None:
        if self._by_signal:
            os.getpid()  # a system call: a signal on its way is delivered on its return,
            for _ in range(2):  # and its Python handler runs at the end of a loop's turn
                pass
        elif self._struck:
            # Received, and not taken back: after PyThreadState_SetAsyncExc(thread, NULL) Python
            # 3.11 and 3.12 look for an exception at every call from then on, and 3.11 never
            # leaves the first instruction of a function that sys.settrace watches.
            try:
                self._strike()
                while True:
                    pass
            except _Interrupted:
                self._struck = False

    def _watch(self) -> None:
        # The locks and not flags: they are all that this thread shares with the evaluation.
        timeout = self._seconds
        while not self._stop.acquire(timeout=timeout):
            timeout = _AGAIN_SECONDS
            if self._by_signal:
                signal.pthread_kill(self._thread, _SIGNAL)
            else:
                self._struck = True
                self._strike()
        self._gone.release()

    def _strike(self) -> None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(self._thread), ctypes.py_object(_Interrupted)
        )


def _interrupt(signum: int, frame: FrameType | None) -> None:
    raise _Interrupted


class _Capture(io.TextIOBase):
    """Stands in for stdout and stderr, for this thread only; stdin is empty meanwhile."""

    def __init__(self) -> None:
        self._thread = _thread.get_ident()
        self._parts: list[str] = []
        self._length = 0
        self._streams: tuple[Any, Any, Any] = (None, None, None)

    def __enter__(self) -> _Capture:
        self._streams = (sys.stdin, sys.stdout, sys.stderr)
        sys.stdin, sys.stdout, sys.stderr = io.StringIO(), self, self
        return self

    def __exit__(self, *exc: object) -> None:
        sys.stdin, sys.stdout, sys.stderr = self._streams

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if _thread.get_ident() != self._thread:
            # Another thread of the program: what it prints is the program's output.
            stream = self._streams[1]
            return int(stream.write(text)) if stream is not None else 0
        room = _PRINTED_LENGTH - self._length
        if room > 0:
            self._parts.append(str(text[:room]))
            self._length += len(text)
        return len(text)

    def text(self) -> str:
        """What was printed, bounded."""
        return "".join(self._parts)
