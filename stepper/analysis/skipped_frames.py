"""Frames that run uncompiled for a reason that is no graph break."""

from __future__ import annotations

import re

import msgspec

from stepper.analysis.break_changes import CHANGES, Remedy
from stepper.analysis.break_places import left_to_python
from stepper.analysis.walks import compilations
from stepper.client.frame_names import compiled_name
from stepper.client.text import one_line
from stepper.model.trace import MomentId, Outcome, Translation, headline
from stepper.recording.reader import Recording
from stepper.support.pythons_own import is_installed

_OF_TORCHS = re.compile(r"/torch/nn/modules/\w+\.py\Z")
_FORWARD = ".forward"
_NOTHING_TRACED = "No ops traced for the FX graph"


class Skipped(msgspec.Struct, frozen=True):
    """Frames that run uncompiled for a reason that is no graph break."""

    name: str
    """The function's name."""
    filename: str
    line: int
    """Where the function begins."""
    reason: str
    """In one line."""
    times: int
    wasted: int
    """Instructions interpreted for nothing."""
    moment: MomentId
    inlined: bool = False
    """Whether it was traced as a part of what calls it, too: that was then given up."""
    for_good: bool = False
    """Whether the call that was seen computes nothing, where another one may."""
    of_torchs_module: bool = False
    """Whether it is a module of torch's own, and nothing was compiled before it."""

    @property
    def change(self) -> Remedy | None:
        """The nearest change that avoids it, where the reason begins with Dynamo's name for its
        kind; None: none is known."""
        if self.inlined:
            return None  # it is what breaks there that is to change
        if self.for_good:
            return Remedy(
                "this call computes nothing, and none that follows is compiled then: where one of "
                "those computes, let it be the first"
            )
        if self.of_torchs_module:
            return Remedy(
                "the compile() of torch's own modules leaves them to Python: compile with "
                "torch.compile(module), and call what that returns"
            )
        if is_installed(self.filename):
            return None  # it says how to write a function otherwise
        found = (change for kind, change in CHANGES.items() if self.reason.startswith(kind))
        return next(found, None)


def skipped(recording: Recording, *, after: int = 0) -> list[Skipped]:
    """Frames that were given up without a graph break, in walks after the one given, or never
    looked at; each reason once."""
    found: dict[tuple[str, str, int, str], list[tuple[int, int]]] = {}
    for_good = set()
    broken = {each.attempt for each in recording.graph_breaks()}
    for item in compilations(recording):
        if item.outcome is not Outcome.SKIPPED or item.id <= after:
            continue
        attempts = recording.attempts(item.id)
        if any(attempt.id in broken for attempt in attempts):
            continue
        reason = one_line(headline(item.reason))
        key = (compiled_name(recording, item), item.filename, item.line, reason)
        found.setdefault(key, []).append((item.first_moment, item.instructions))
        if _NOTHING_TRACED in reason and _decides(recording, item):
            for_good.add(key)
    walked = recording.derived(_walked)
    inlined = set()
    first = min((item.first_moment for item in compilations(recording)), default=None)
    of_torchs = set()
    for frame in recording.skipped_frames():
        key = (frame.name, frame.filename, frame.line, one_line(frame.reason))
        found.setdefault(key, []).append((frame.moment, 0))
        if (frame.filename, frame.line) in walked:
            inlined.add(key)
        elif (
            (first is None or frame.moment < first)
            and frame.name.endswith(_FORWARD)
            and _OF_TORCHS.search(frame.filename)
        ):
            of_torchs.add(key)
    return [
        Skipped(
            *key,
            times=len(each),
            wasted=sum(n for _, n in each),
            moment=each[0][0],
            inlined=key in inlined,
            for_good=key in for_good,
            of_torchs_module=key in of_torchs,
        )
        for key, each in found.items()
    ]


def _walked(recording: Recording) -> set[tuple[str, int]]:
    """Where each function begins that was walked."""
    return {(code.filename, code.first_line) for code in recording.codes()}


def _decides(recording: Recording, item: Translation) -> bool:
    """Whether a function that the program compiles itself has a branch, or a loop of which the call
    has made no round."""
    rows = recording.code(item.code).instructions
    return (
        not item.resume_of
        and left_to_python(recording, item) is None
        and (
            any(row.opname.startswith("POP_JUMP") for row in rows)
            or _has_an_empty_loop(recording, item)
        )
    )


def _has_an_empty_loop(recording: Recording, item: Translation) -> bool:
    """Whether a loop of the function's own was come to, and none of its rounds made."""
    for attempt in recording.attempts(item.id)[-1:]:
        last = recording.newest if attempt.last_moment is None else attempt.last_moment
        moments = recording.moments(attempt.first_moment, last)
        own = [each for each in moments if recording.frame(each.frame).depth == 0]
        come_to = {each.ip for each in own}
        rows = recording.code(recording.frame(own[0].frame).code).instructions if own else ()
        if any(rows[at].opname == "FOR_ITER" and at + 1 not in come_to for at in come_to):
            return True
    return False
