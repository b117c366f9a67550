"""The breakpoints of a live session: which of them the program has just come to.

Instruction breakpoints must cost next to nothing while they are not hit: for each code object, the
instructions at which any of them can stop are worked out once, when the code is first met.
"""

from __future__ import annotations

import ast
import builtins
import os
from collections.abc import Callable, Collection, Iterable

import msgspec

from stepper.debuggee.evaluator import Evaluation, evaluate, shorten
from stepper.debuggee.occurrence import BREAKPOINT_OF_EVENT, Subject
from stepper.model.breakpoint import CACHE_KINDS, SHAPE_KINDS, Breakpoint, BreakpointKind
from stepper.model.matching import (
    entry_index,
    entry_matches,
    guard_matches,
    instruction_matches,
    node_matches,
    shape_matches,
    walk_matches,
)
from stepper.model.method_names import Entered
from stepper.model.program import Code
from stepper.model.trace import EventKind
from stepper.recording.process_entry import rank

Armed = dict[int, tuple[Breakpoint, ...]]


class Hit(msgspec.Struct, frozen=True):
    """A breakpoint at which to stop."""

    breakpoint: Breakpoint
    error: str = ""
    """What its condition raised; empty when it was true or there is none."""


class BreakpointTable:
    """The breakpoints that are set now.

    Replaced as a whole by the reading thread while the program looks at it, so each of its parts
    is only ever replaced and not changed in place; `armed` alone is filled as codes are met.
    """

    def __init__(self, breakpoints: Iterable[Breakpoint] = ()) -> None:
        self._hits: dict[Breakpoint, int] = {}
        self._all: tuple[Breakpoint, ...] = ()
        self._instruction: tuple[Breakpoint, ...] = ()
        self._occurrence: dict[EventKind, tuple[Breakpoint, ...]] = {}
        self.wanted: Collection[EventKind] = self._occurrence
        """The kinds of occurrences at which any stops."""
        self.armed: dict[int, Armed] = {}
        """For each code (by id): the instructions at which to look closer."""
        self.replace(breakpoints)

    def replace(self, breakpoints: Iterable[Breakpoint]) -> None:
        """Set these and no others. One that was set before keeps the hits it has counted."""
        self._all = tuple(breakpoints)
        self._hits = {bp: self._hits[bp] for bp in self._all if bp in self._hits}
        enabled = [bp for bp in self._all if bp.enabled and _may_concern_us(bp)]
        self._instruction = tuple(bp for bp in enabled if bp.kind.on_instruction)
        self._occurrence = {
            event: found
            for event, kind in BREAKPOINT_OF_EVENT.items()
            if (found := tuple(bp for bp in enabled if bp.kind is kind))
        }
        self.wanted = self._occurrence
        self.armed = {}

    def add(self, breakpoint: Breakpoint) -> None:
        """Set one more."""
        self.replace((*self._all, breakpoint))

    @property
    def all(self) -> tuple[Breakpoint, ...]:
        """Those that are set, in other processes, too."""
        return self._all

    @property
    def hits(self) -> dict[int, int]:
        """How often each was met, by its number."""
        return {bp.id: count for bp, count in self._hits.items()}

    @property
    def on_instructions(self) -> bool:
        """Whether any stops at an instruction."""
        return bool(self._instruction)

    def arm(self, code: Code) -> Armed:
        """The instructions of a code at which to stop, worked out at its first moment."""
        table = self.armed
        found: Armed = {}
        entry = entry_index(code)
        for index in range(len(code.instructions)):
            # Whose method begins, another one each time, is asked for where it does.
            here = tuple(
                bp
                for bp in self._instruction
                if instruction_matches(bp, code, index)
                or (bp.kind is BreakpointKind.FUNCTION and index == entry)
            )
            if here:
                found[index] = here
        table[code.id] = found
        return found

    def hit_at(
        self,
        code: Code,
        ip: int,
        names: Callable[[], dict[str, object]],
        entered: Callable[[], Entered | None],
    ) -> Hit | None:
        """The breakpoint to stop at before an instruction, if any. `names` gives what a condition
        can speak of, `entered` whose method begins."""
        armed = self.armed.get(code.id)
        if armed is None:
            armed = self.arm(code)
        here = armed.get(ip)
        if here is None:
            return None
        if not all(instruction_matches(bp, code, ip) for bp in here):
            found = entered()
            here = tuple(
                bp
                for bp in here
                if instruction_matches(bp, code, ip) or entry_matches(bp, code, ip, found)
            )
        return self._first_hit(here, names)

    def hit_by(
        self, kind: EventKind, subject: Subject, names: Callable[[], dict[str, object]]
    ) -> Hit | None:
        """The breakpoint to stop at for an occurrence, if any."""
        here = [bp for bp in self._occurrence.get(kind, ()) if _concerns(bp, subject)]
        return self._first_hit(here, names)

    def _first_hit(
        self, here: Iterable[Breakpoint], names: Callable[[], dict[str, object]]
    ) -> Hit | None:
        first: Hit | None = None
        for bp in here:
            error = ""
            if bp.rank is not None and bp.rank != rank():
                continue
            if bp.condition:
                outcome = _check(bp.condition, names)
                if outcome.ok and not outcome.truth:
                    continue
                error = "" if outcome.ok else outcome.text
            # Each counts its own hits, also those that another one's stop hides.
            count = self._hits[bp] = self._hits.get(bp, 0) + 1
            if first is None and (error or count > bp.ignore):
                first = Hit(bp, error)
        if first is not None and first.breakpoint.once:
            self.replace(bp for bp in self._all if bp != first.breakpoint)
        return first


def _may_concern_us(bp: Breakpoint) -> bool:
    # A process can learn its rank later; so it is asked again where one stops.
    known = rank()
    return bp.concerns(os.getpid(), bp.rank if known is None else known)


def _concerns(bp: Breakpoint, subject: Subject) -> bool:
    match bp.kind:
        case BreakpointKind.GUARD | BreakpointKind.GUARD_FAIL:
            return guard_matches(bp, subject.kind, subject.source)
        case BreakpointKind.NODE:
            return node_matches(bp, subject.target, subject.name)
        case _ if bp.kind in SHAPE_KINDS:
            return shape_matches(bp.pattern, subject.name, subject.source)
        case _ if bp.kind in CACHE_KINDS:
            return walk_matches(bp.pattern, subject.name, subject.resume_of, subject.owner)
        case _:
            return True


def _check(condition: str, names: Callable[[], dict[str, object]]) -> Evaluation:
    try:
        namespace = names()
    except LookupError as error:
        return Evaluation(False, str(error))
    outcome = evaluate(condition, namespace, condition=True)
    there = "" if outcome.ok else _names_there(condition, namespace)
    return msgspec.structs.replace(outcome, text=outcome.text + there) if there else outcome


def _names_there(condition: str, namespace: dict[str, object]) -> str:
    """Which names there are, where a condition has one that is not; else empty."""
    try:
        tree = ast.parse(condition.strip(), mode="eval")
    except SyntaxError:
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not hasattr(builtins, node.id):
            try:
                namespace[node.id]
            except NameError:
                return ""  # that says what there is instead
            except KeyError:
                break
    else:
        return ""
    known = namespace.get("locals")
    traced = ", ".join(map(repr, known)) if type(known) is dict and known else "none"
    names = ", ".join(name for name in namespace if not name.startswith("_"))
    return shorten(f"; locals of the traced frame: {traced}; also here: {names or 'none'}")
