"""What a running program is known to do, in a sentence, from its recording so far."""

from __future__ import annotations

from stepper.client.frame_names import brief_compiled_name
from stepper.client.text import plural
from stepper.model.trace import EventKind, Outcome, Phase
from stepper.recording.reader import Recording

_LONG = 1.0
"""Seconds without a new moment after which they are counted."""

_MAKES_THE_GRAPH = "RETURN_"
"""How the names of the instructions begin at which a graph goes to the backend."""

_WAITS = "waits for input: O, then type it"

_DOES = {Phase.TRANSLATE: "interprets", Phase.LOOKUP: "looks up", Phase.EXECUTE: "executes"}


def activity(
    recording: Recording | None,
    quiet: float,
    *,
    compiles: float | None = None,
    waits: bool = False,
) -> str:
    """What happens.

    Args:
        recording: as it was read last.
        quiet: for how many seconds there was no newer moment.
        compiles: for how many seconds the backend has been at work; None: it is not.
        waits: whether the program waits for its standard input.
    """
    if waits:
        return _WAITS
    if recording is None or not recording.newest:
        return f"nothing is recorded so far, {quiet:.0f} s" if quiet > _LONG else ""
    counts = ", ".join(
        plural(recording.event_count([kind]), word)
        for kind, word in ((EventKind.TRANSLATION, "frame"), (EventKind.GRAPH_BREAK, "break"))
    )
    idle = f"nothing new for {quiet:.0f} s" if quiet > _LONG else "runs"
    return f"{counts}; {under_way(recording, quiet, compiles) or idle}"


def under_way(recording: Recording, quiet: float, compiles: float | None) -> str:
    """What the compiler does now; empty: nothing. For the arguments see `activity`; something is
    recorded."""
    translation = recording.translations()[-1]
    if compiles is not None and compiles > _LONG:
        runs = translation.outcome is Outcome.RUNNING
        name = f" {translation.compile_id} {brief_compiled_name(recording, translation)}" * runs
        return f"compiles{name}: {compiles:.0f} s in the backend"
    if translation.outcome is not Outcome.RUNNING:
        return ""
    name = f"{translation.compile_id} {brief_compiled_name(recording, translation)}".strip()
    if quiet <= _LONG:
        return f"{_DOES[translation.phase]} {name}"
    moment = recording.moment(recording.newest)
    instruction = recording.code(recording.frame(moment.frame).code).instructions[moment.ip]
    if instruction.opname.startswith(_MAKES_THE_GRAPH) and translation.phase is Phase.TRANSLATE:
        return f"newest {instruction.opname} of {name}, where its graph is made, {quiet:.0f} s ago"
    # No more is known: what comes is recorded some moments at a time.
    return f"newest {instruction.opname} of {name}, {quiet:.0f} s ago"
