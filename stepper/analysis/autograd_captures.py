"""Why compiled autograd captured backwards: each capture, with what it says its cache lacked.

It keeps what it has captured by the nodes of the graph of gradients, and compiles that like any
function: as one that is new, so Dynamo never says that it was compiled again.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepper.analysis.line import Line
from stepper.analysis.sites import own_frame
from stepper.client.frame_names import compiled_title
from stepper.client.text import place_text, plural
from stepper.model.timing import AUTOGRAD_CACHE, Timing
from stepper.model.trace import Translation
from stepper.recording.reader import Recording

_MOST = 12


def capture_lines(recording: Recording, after: int = 0) -> Iterator[Line]:
    """Each capture, with the reason and what was compiled of it, where there was more than one;
    `after`: only those after this walk."""
    since = (recording.translation(after).last_moment or 0) if after else 0
    reasons: list[str] = []
    captures: list[tuple[Timing, list[str]]] = []
    for timing in recording.timings() or ():
        if timing.name != AUTOGRAD_CACHE:
            continue
        if timing.cache is not None:
            reasons.append(timing.cache.reason)
        else:
            captures.append((timing, reasons))
            reasons = []
    captures = [each for each in captures if each[0].moment >= since]
    if len(captures) < 2:
        return
    made: dict[str, Translation] = {}
    for item in recording.translations():
        if item.compile_id.startswith("!"):
            made.setdefault(item.compile_id.partition("/")[0], item)
    yield Line("")
    times = plural(len(captures), "backward")
    yield Line(f"compiled autograd captured {times}, each compiled as a new function", role="title")
    for capture, why in captures[:_MOST]:
        yield from _capture(recording, capture, why, made.get(capture.compile_id))
    if len(captures) > _MOST:
        yield Line(f"  … {plural(len(captures) - _MOST, 'more capture')}", role="dim")


def _capture(
    recording: Recording, capture: Timing, why: list[str], item: Translation | None
) -> Iterator[Line]:
    what = capture.compile_id if item is None else compiled_title(recording, item)
    moment = capture.moment if item is None else item.first_moment
    frames = () if item is None else item.python_stack
    own = own_frame(frames)
    at = "" if own is None else f"  {place_text(own, recording.facts.cwd)}"
    yield Line(f"  {what}{at}", moment)
    for reason in why or ["not recorded why"]:
        yield Line(f"    {reason}", moment, "dim")
