"""What the header and the banner say, and the status line at a stop."""

from __future__ import annotations

from stepper.client.frame_names import brief_compiled_name
from stepper.model.trace import Phase
from stepper.tui.palette import Span
from stepper.tui.snapshot import Snapshot, Status

_STATUS_ROLES = {
    Status.STARTING: "dim",
    Status.RUNNING: "new",
    Status.STOPPED: "changed",
    Status.ENDED: "title",
    Status.RECORDING: "new",
}


_PHASE_ROLES = {Phase.LOOKUP: "lookup bold", Phase.EXECUTE: "execute bold"}


def header(snapshot: Snapshot, name: str) -> list[Span]:
    """Program, what it does, and where in the session this is; what can be long comes last."""
    role = f"{_STATUS_ROLES[snapshot.status]} reverse"
    spans: list[Span] = [(f" {name} ", "title"), (f" {snapshot.status} ", role)]
    spans.append((f" moment {snapshot.moment:,}/{snapshot.newest:,} ", "bold"))
    translation, attempt = snapshot.translation, snapshot.attempt
    if translation is not None and attempt is not None:
        if translation.phase is not Phase.TRANSLATE:
            spans.append((f" {translation.phase} ", _PHASE_ROLES[translation.phase]))
        if translation.compile_id or translation.phase is Phase.TRANSLATE:
            spans.append((f" {translation.compile_id or 'no id'} ", ""))
    if translation is not None and attempt is not None and translation.phase is Phase.TRANSLATE:
        of = f"/{snapshot.attempts}" if snapshot.attempts > 1 else ""
        spans.append((f" attempt {attempt.number}{of} ", "dim"))
    if snapshot.stopped is not None:
        away = "" if snapshot.at_stop else f" at {snapshot.stopped.moment:,}"
        spans.append((f" {snapshot.stopped.reason}{away} ", "dim"))
    if translation is not None and snapshot.recording is not None:
        spans.append((f" {brief_compiled_name(snapshot.recording, translation)}", ""))
    return spans


STOPS = {
    "entry": "the first translation begins: s steps, c continues, B breakpoints, ? helps",
    "pause": "stopped where you asked for it; c continues",
    "breakpoint()": "stopped by breakpoint() in the program; c continues",
}
"""What to say at a stop that has no text of its own, by its reason."""
OTHERS = "; Ctrl-O goes to another process"
"""What is added where the stop is not the only process's."""


def ending(snapshot: Snapshot) -> str:
    """The banner: how the program ended, and what can still be seen; empty while it goes on."""
    ended, recording = snapshot.ended, snapshot.recording
    noted = "" if recording is None else recording.ended or ""
    if recording is not None and not recording.in_order and (ended or noted):
        program = f"The program {ended}. " if ended else ""
        return f"{program}The recording ends here: {noted or 'without a word of its end'}"
    if not ended:
        return ""
    if not snapshot.newest:
        return f"The program {ended}. It translated nothing, so there is nothing to show."
    return f"The program {ended}: all its {snapshot.newest:,} moments are here."
