"""Watch compiled functions in this process, with the real engine and a real recording."""

from __future__ import annotations

import contextlib
import io
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from stepper.debuggee.controller import Controller
from stepper.debuggee.recorder import Recorder
from stepper.engines.dynamo.engine import DynamoEngine
from stepper.engines.dynamo.registration import ENGINE
from stepper.model.trace import EventKind, Phase, SessionFacts
from stepper.recording.reader import Recording
from stepper.recording.writer import Writer


class Watched:
    """What is being watched: the parts while it runs, the recording afterwards."""

    def __init__(self, path: Path, engine: DynamoEngine, recorder: Recorder) -> None:
        self.path = path
        self.engine = engine
        self.recorder = recorder

    def recording(self) -> Recording:
        """The finished recording, in which nothing of ours went wrong."""
        recording = Recording.open(str(self.path))
        notes = recording.events(kinds={EventKind.NOTE})
        assert not notes, notes[0].text
        return recording


def asking(*args: Any, **kwargs: Any) -> Recorder:
    """A recorder that has lookups told."""
    recorder = Recorder(*args, **kwargs)
    recorder.walks.asked = frozenset({Phase.LOOKUP})
    return recorder


@contextlib.contextmanager
def watching(
    path: Path,
    *,
    controller: Controller | None = None,
    detail: str = "all",
    recorder_class: Callable[..., Recorder] = Recorder,
) -> Iterator[Watched]:
    """Watch what is compiled in the block."""
    writer = Writer(str(path), SessionFacts(detail=detail, capabilities=ENGINE.capabilities))
    engine = DynamoEngine()
    controller = controller or Controller(None)  # nobody to stop for
    recorder = recorder_class(writer, controller, engine, detail=detail)
    controller.attach(engine, recorder)
    engine.install(recorder)
    try:
        yield Watched(path, engine, recorder)
    finally:
        recorder.detach()
        engine.uninstall()
        writer.close()


def record(path: Path, *calls: Callable[[], object], detail: str = "all") -> Recording:
    """Start from a fresh compiler, run the calls while watching, and open what was recorded."""
    torch._dynamo.reset()
    with watching(path, detail=detail) as watched:
        for call in calls:
            call()
    return watched.recording()


def skips(recording: Recording) -> list[str]:
    """What was told of what is not translated."""
    return [event.text for event in recording.events(kinds=(EventKind.SKIP,))]


def run_program(path: Path) -> str:
    """What `python path` prints; an exception that leaves it is part of that."""
    torch._dynamo.reset()
    settings = torch._dynamo.config.save_config()
    main = types.ModuleType("__main__")
    main.__file__ = str(path)
    before, sys.modules["__main__"] = sys.modules["__main__"], main
    out = io.StringIO()
    sys.path.insert(0, str(path.parent))
    try:
        with contextlib.redirect_stdout(out), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(path.read_text(), str(path), "exec"), main.__dict__)
    except BaseException as error:
        out.write(f"{type(error).__name__}\n")
    finally:
        sys.path.remove(str(path.parent))
        sys.modules["__main__"] = before
        torch._dynamo.config.load_config(settings)
    return out.getvalue()
