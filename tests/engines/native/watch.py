"""Watch captured functions in this process, with the real engine and a real recording."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from stepper.debuggee.controller import Controller
from stepper.debuggee.recorder import Recorder
from stepper.engines.native.registration import ENGINE
from stepper.model.trace import EventKind, Phase, SessionFacts
from stepper.recording.reader import Recording
from stepper.recording.writer import Writer


def record(path: Path, run: Callable[[], object], *asked: Phase) -> Recording:
    """The recording of a run, in which nothing of ours went wrong."""
    facts = SessionFacts(engine="native", capabilities=ENGINE.capabilities)
    writer = Writer(str(path), facts)
    engine = ENGINE.create()
    controller = Controller(None)
    recorder = Recorder(writer, controller, engine)
    recorder.walks.asked = frozenset(asked)
    controller.attach(engine, recorder)
    engine.install(recorder)
    try:
        run()
    finally:
        recorder.detach()
        engine.uninstall()
        writer.close()
    recording = Recording.open(str(path))
    notes = recording.events(kinds={EventKind.NOTE})
    assert not notes, notes[0].text
    return recording
