"""The processes of a session folder, in words, and which of them a question is about."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from stepper.analysis.failures import failures
from stepper.analysis.line import Line
from stepper.client.status import signal_name
from stepper.client.text import clip, plural
from stepper.model.trace import EventKind
from stepper.recording.errors import RecordingError
from stepper.recording.reader import Recording
from stepper.recording.session_folder import Process, SessionFolder, is_session, read

_WIDTH = 118
_OPENED = 500
"""Recordings that are opened to see what they have to tell."""


class ChoiceError(Exception):
    """No single process is meant; the message says why, and `lines` is what to choose from."""

    def __init__(self, message: str, lines: tuple[Line, ...]) -> None:
        super().__init__(message)
        self.lines = lines


def chosen(folder: SessionFolder, process: int | None, rank: int | None, how: str) -> Process:
    """The process that is asked for by its number or its rank; without either, the one that has
    something to tell.

    Args:
        folder: the session's.
        process: the number, if it was said.
        rank: likewise.
        how: how to say it, in words.

    Raises:
        ChoiceError: there is none, or there are several.
    """
    recorded = folder.recorded
    found = [
        each
        for each in recorded
        if (process is None or each.pid == process) and (rank is None or each.rank == rank)
    ]
    if process is None and rank is None and len(found) > 1:
        found = [each for each in found if tells(each)] or found[:1]
    if len(found) == 1:
        return found[0]
    lines = tuple(process_lines(folder))
    if found:
        raise ChoiceError(
            f"{folder.path} has recordings of {plural(len(found), 'process')} that are meant: "
            f"choose {how}",
            lines,
        )
    asked = [f"--process {process}"] * (process is not None) + [f"--rank {rank}"] * (
        rank is not None
    )
    what = f"no recording for {' '.join(asked)}" if asked else "no recording"
    raise ChoiceError(f"{folder.path} has {what}", lines)


def tells(process: Process) -> bool:
    """Whether anything was translated, or refused, in a process. One that cannot be read tells
    that."""
    try:
        with contextlib.closing(Recording.open(process.recording)) as recording:
            return bool(recording.newest or recording.event_count((EventKind.SKIP,)))
    except RecordingError:
        return True


def overview(folder: SessionFolder) -> str:
    """What a folder holds, in a line."""
    recorded = len(folder.recorded)
    lost = sum(each.state in ("killed", "gone") for each in folder.processes)
    left = sum(each.state == "running" for each in folder.recorded)
    parts = [plural(len(folder.processes), "process"), plural(recorded, "recording")]
    parts += [f"{lost:,} killed or gone"] * bool(lost) + [f"{left:,} still recording"] * bool(left)
    return ", ".join(parts)


def process_lines(folder: SessionFolder, here: str = "") -> Iterator[Line]:
    """Each process of a folder, and what it has to tell.

    Args:
        folder: whose processes.
        here: path of the recording that is looked at; its process is marked.
    """
    yield Line(f"{folder.path}: {overview(folder)}", role="title")
    silent = 0
    for number, each in enumerate(folder.processes):
        if not each.recording and each.state == "exited" and not (each.exit or each.note):
            silent += 1
            continue
        sign = "->" if is_recording_of(each, here) else "  "
        yield Line(clip(f"{sign} {process_text(each, opened=number < _OPENED)}", _WIDTH))
        if each.note:
            yield Line(clip(f"       {each.note}", _WIDTH))
    if silent:
        yield Line(f"   and {plural(silent, 'process')} that compiled nothing", role="dim")
    for text in folder.unreadable:
        yield Line(clip(f"   cannot be read: {text}", _WIDTH))


def process_text(process: Process, *, opened: bool = True) -> str:
    """One process in a line: its number, rank and end, what was recorded, and its command."""
    rank = "" if process.rank is None else f"rank {process.rank}"
    what = _recorded(process) if opened else ""
    return (
        f"{process.pid:<8} {rank:<8} {end_text(process):<18} {what:<32} {label(process)}".rstrip()
    )


def _recorded(process: Process) -> str:
    if not process.recording:
        return "nothing recorded"
    try:
        with contextlib.closing(Recording.open(process.recording)) as recording:
            breaks = recording.event_count((EventKind.GRAPH_BREAK,))
            failed = len([each for each in failures(recording) if each.compiling])
            made = plural(recording.event_count((EventKind.TRANSLATION,)), "translation")
    except RecordingError as error:
        return str(error)
    parts = [made, plural(breaks, "break") if breaks else "", f"{failed} failed" if failed else ""]
    return ", ".join(filter(None, parts))


def end_text(process: Process) -> str:
    """Whether a process runs, or how it ended."""
    if process.state == "killed" and process.exit is not None:
        return f"killed, {signal_name(process.exit)}"
    if process.state == "exited" and process.exit is not None:
        return f"exited, {process.exit}"
    return process.state


def is_recording_of(process: Process, path: str) -> bool:
    """Whether a recording of its session folder is a process's, by the paths of both."""
    return bool(path) and os.path.basename(process.recording) == os.path.basename(path)


def title_in_session(path: str) -> str:
    """What the process of a recording is called among those of its session folder: `process 4711,
    rank 1`, as `stepper.analysis.live_processes` calls one that lives. Empty: it is the only one,
    or the recording is in no session folder."""
    folder = os.path.dirname(os.path.abspath(path))
    if not is_session(folder):
        return ""
    try:
        recorded = read(folder).recorded
    except RecordingError:
        return ""
    found = next((each for each in recorded if is_recording_of(each, path)), None)
    if found is None or len(recorded) < 2:
        return ""
    return f"process {found.pid}" + ("" if found.rank is None else f", rank {found.rank}")


def label(process: Process) -> str:
    """What a process is called: by `multiprocessing`, or after its command."""
    if process.name:
        return process.name
    words = list(process.command)
    if words:
        words[0] = os.path.basename(words[0])
    return " ".join(words)
