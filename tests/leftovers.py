"""What a test could leave behind for those that run in the same process after it.

A lock that nobody gives back has another thread wait for ever, hours later and in a test that knows
nothing of it; the same goes for a signal's handler, a trace function, a mode of torch. So each test
is held to leave them as they were, and what it left is put right for the others. All of them
together leave no new file in the checkout.
"""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """A test leaves the process as it was for those that run in it after it."""
    before = {name: (look, look()) for name, look in _LOOKS.items()}
    yield
    left = {}
    for name, (look, was) in before.items():
        now = look()
        if now != was:
            left[name] = f"{was!r} before, {now!r} now"
    if left:
        _put_right()
    assert not left, [*left]


def _modes() -> tuple[object, ...]:
    """Gradients, inference, the default dtype, determinism; torch's own where it is not loaded."""
    torch = sys.modules.get("torch")
    if torch is None:
        return (True, False, "torch.float32", False)
    return (
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        str(torch.get_default_dtype()),
        torch.are_deterministic_algorithms_enabled(),
    )


def _kept_locks() -> list[str]:
    """The locks of this process that this thread has, of those that others wait for."""
    files = sys.modules.get("stepper.recording.files")
    convert_frame = sys.modules.get("torch._dynamo.convert_frame")
    native = sys.modules.get("stepper.native.runtime.convert_frame")
    kept = []
    if files is not None and files.lock.depth():
        kept.append("stepper.recording.files.lock")
    if convert_frame is not None and convert_frame.compile_lock._is_owned():
        kept.append("Dynamo's compile_lock")
    if native is not None and native.compile_lock.depth():
        kept.append("the native engine's compile_lock")
    return kept


_LOOKS: dict[str, Callable[[], object]] = {
    "modes of torch": _modes,
    "locks": _kept_locks,
    "handlers of signals": lambda: [signal.getsignal(number) for number in _SIGNALS],
    "timer": lambda: signal.getitimer(signal.ITIMER_VIRTUAL)[0] > 0,
    "trace function": sys.gettrace,
    "profile function": sys.getprofile,
    "trace function of threads": threading.gettrace,
    "profile function of threads": threading.getprofile,
    "hooks": lambda: [sys.excepthook, sys.displayhook, sys.breakpointhook, sys.unraisablehook],
    "streams": lambda: [sys.stdin, sys.stdout, sys.stderr],
    "working directory": os.getcwd,
    "environment": lambda: {
        # pytest names the phase of the test there, torch 2.11 its folder when it is first used.
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTEST_CURRENT_TEST", "TORCHINDUCTOR_CACHE_DIR")
    },
    "recursion limit": sys.getrecursionlimit,
    "switch interval": sys.getswitchinterval,
    "garbage collection": gc.isenabled,
    "sys.path": lambda: list(sys.path),
}


def _put_right() -> None:
    """What the tests after this one need most."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_grad_enabled(True)
        torch.set_default_dtype(torch.float32)
        torch.use_deterministic_algorithms(False)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.settrace(None)
    sys.setprofile(None)


def untracked() -> set[str]:
    """The files of the checkout that git neither has nor ignores."""
    command = ["git", "ls-files", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):  # no git, or no checkout
        return set()
    return set(done.stdout.splitlines())
