"""The engine behind `--engine dynamo`: what it listens to, and what it is asked."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import CodeType
from typing import Any

import torch

from stepper._C import Hook
from stepper.debuggee.engine import Recorder
from stepper.debuggee.mirror import (
    names_at,
)
from stepper.engines.common.cache_face import CacheFace
from stepper.engines.common.choices import Choices
from stepper.engines.common.collectives import WatchesCollectives
from stepper.engines.common.ended import ended_by
from stepper.engines.common.jumps import NOT_TRACED
from stepper.engines.common.placed_probes import Probes
from stepper.engines.common.probe_points import resolve
from stepper.engines.common.python_stack import program_stack
from stepper.engines.common.shapes import hearer
from stepper.engines.dynamo import bytecode, failures, versions
from stepper.engines.dynamo.bytecode_made import BytecodeMade
from stepper.engines.dynamo.cache import BOOK
from stepper.engines.dynamo.cache_watch import CacheWatcher
from stepper.engines.dynamo.changes import PendingChanges
from stepper.engines.dynamo.choices import Choice
from stepper.engines.dynamo.describe import DynamoDescriber
from stepper.engines.dynamo.effects_made import EffectsMade
from stepper.engines.dynamo.entries import ENTRIES
from stepper.engines.dynamo.execution import ExecutionWatcher
from stepper.engines.dynamo.fake_tensors import FakeTensors
from stepper.engines.dynamo.guards_made import GuardsMade
from stepper.engines.dynamo.guards_set import (
    code_of,
)
from stepper.engines.dynamo.lookups import LookupWatcher
from stepper.engines.dynamo.mutations import Mutations
from stepper.engines.dynamo.phases import Phases
from stepper.engines.dynamo.resumed import ResumedCalls
from stepper.engines.dynamo.translations import Translations
from stepper.engines.dynamo.untranslated import Untranslated
from stepper.engines.dynamo.versions.points import MARKED, OF_DETAIL, OF_GRAPHS, OF_SHAPES
from stepper.model.cache import CacheError
from stepper.model.change import Change
from stepper.model.control import ForkTranslation
from stepper.model.failure import FailedStage, Failure
from stepper.model.shapes import SHAPE_EVENTS
from stepper.model.trace import EventKind
from stepper.uncompiled import keep_out

_program_stack = program_stack(bytecode.is_machinery)


class DynamoEngine(WatchesCollectives):
    """The engine behind `--engine dynamo`; see `stepper.debuggee.engine.Engine`."""

    def __init__(self) -> None:
        self._probes = Probes()
        self._placed: set[str] = set()
        """What the probes that are there mean."""
        self._describer: DynamoDescriber
        self._codes = bytecode.CodeTable()
        self._changes = PendingChanges()
        choices: Choices[Choice] = Choices()
        self._lookups = LookupWatcher(self._codes, _program_stack, self._changes, choices)
        self._executions = ExecutionWatcher(_program_stack, self.break_down)
        self._entries = CacheWatcher(
            lambda: bool(self._translations.contexts), self._lookups.count_of, self._on_registered
        )
        self._translations = Translations(
            self._codes, self._lookups, self._executions, self._entries, self.note_lost
        )
        self._mutations = Mutations(self._translations)
        innermost = self._translations.innermost
        self._effects_made = EffectsMade(self._mutations.attempt)
        self._bytecode_made = BytecodeMade(innermost, self._effects_made)
        self._fake_tensors = FakeTensors(innermost)
        self._guards_made = GuardsMade(self._translations.guarded)
        self._phases = Phases(innermost, self._bytecode_made, self._guards_made)
        self._untranslated = Untranslated(self._codes, self._phases.package_loaded)
        self.cache = CacheFace(
            ENTRIES,
            choices,
            self._entries.call_of,
            bytecode.is_program,
            partial(ResumedCalls, self._lookups.by_hand, self._executions.by_hand),
        )

    # --- the face

    def change(self, changes: tuple[Change, ...]) -> None:
        self._changes.make(changes)

    def install(self, recorder: Recorder) -> None:
        points = versions.points.probe_points()
        for point in (*points.values(), *versions.points.change_points()):
            resolve(point)  # what this torch lacks is said before anything begins
        super().install(recorder)
        if untested := versions.points.untested():
            recorder.controller.notice(untested)
        translations = self._translations
        translations.begin(recorder, self._describer)
        self._mutations.begin(recorder, self._describer)
        self._effects_made.begin(recorder)
        self._bytecode_made.begin(recorder)
        self._fake_tensors.begin(recorder)
        self._phases.begin(recorder, self.safely)
        self._guards_made.begin(recorder)
        recorder.before_commit(translations.before_commit)
        recorder.steps.hear_frames(
            versions.INTERPRETERS, self._codes.traced, recorder.entered, recorder.leave,
            translations.on_frame_entered, translations.on_frame_left,
        )  # fmt: skip
        self._codes.begin(recorder.store_code)
        self._executions.install(recorder, self._codes)
        try:
            at_wish = OF_GRAPHS | OF_SHAPES | OF_DETAIL
            self._place(points.keys() - at_wish)
            self._listen()
            self._lookups.install(recorder, self.safely)
            self._entries.install(recorder, self.safely)
            self._untranslated.install(recorder, self.safely)
            with contextlib.suppress(CacheError):  # somebody compiles: what is old stays unheard
                self._lookups.listen_to_old()
            translations.join_underway(sys._getframe(1))
        except Exception:
            self.uninstall()
            raise

    def _place(self, meanings: Iterable[str]) -> None:
        """Put the probes there that are not yet."""
        points = versions.points.probe_points()
        for meaning in points:  # in their order
            if meaning in meanings and meaning not in self._placed:
                self._placed.add(meaning)
                if meaning == "step":
                    hook = self._step_hook()
                elif meaning in MARKED:
                    hook = self.safely(getattr(self.recorder.steps, meaning))
                elif meaning in OF_SHAPES:
                    of = self._translations
                    hook = self.safely(hearer(meaning, of.watching, of.shapes_wait))
                else:
                    hook = self.safely(self._hook(meaning))
                self._probes.place(points[meaning], hook)

    def _hook(self, meaning: str) -> Callable[..., None]:
        name = f"on_{meaning}"
        owners = (
            self._mutations, self._phases, self._phases.waits, self._bytecode_made,
            self._effects_made, self._fake_tensors, self._guards_made, self._translations,
        )  # fmt: skip
        owner = next(owner for owner in owners if hasattr(owner, name))
        hook: Callable[..., None] = getattr(owner, name)
        return hook

    def _place_changes(self) -> None:
        if "change" not in self._placed:
            self._placed.add("change")
            hook = self.safely(self._mutations.on_change)
            for point in versions.points.change_points():
                self._probes.place(point, hook)

    def make_describer(self) -> DynamoDescriber:
        """What knows the trackers."""
        self._describer = DynamoDescriber()
        self._describer.pending = self._mutations.pending_attributes
        return self._describer

    def late_mutation_types(self) -> frozenset[type]:
        return versions.late_mutation_types()

    def guard_code(self, guard: Any) -> Sequence[str]:
        return code_of(guard)

    def came_out(self, error: BaseException) -> bool:
        return failures.came_out(error)

    def ended_by(self, error: BaseException) -> Failure | None:
        entries = ((entry, BOOK.ran(entry)) for entry in list(BOOK.entries.values()))
        asks = torch.compile.__code__
        failure = ended_by(
            error, self.recorder.moment, entries, bytecode.is_program, asks, failures.of_graph
        )
        if failure is None or failure.stage is FailedStage.ASKED:
            return failure
        told = failures.came_out(error) or failure.exception == self._translations.failed_backward
        return None if told else failure

    def uninstall(self) -> None:
        super().uninstall()
        if not (self._probes or self._phases):  # an interrupt can come between the two
            return
        with contextlib.suppress(Exception):  # that may be what broke down
            self._translations.before_commit()
            self._translations.end_left()
        self._untranslated.uninstall()
        self._entries.uninstall()
        self._lookups.uninstall()
        self._executions.uninstall()
        self._probes.remove()
        self._placed.clear()
        self._phases.leave()
        self._translations.clear()

    def breakpoints_changed(self) -> None:
        self._listen()
        self._executions.begin_if_wanted()

    def fork(self, request: ForkTranslation) -> str:
        raise LookupError("Dynamo's trackers change in place: only --engine native can go back")

    def jump(self, line: int) -> str:
        now = self._translations.now
        if self.recorder.stepping is not None or now is None or now.attempt is None:
            raise LookupError(NOT_TRACED)
        return now.jumps.make(self.recorder, line)

    def jumped(self) -> None:
        if self.recorder.current is not None:
            self.recorder.step(self.recorder.current.key)

    @property
    def must_watch(self) -> bool:
        return any(context.jumps.made for context in self._translations.contexts)

    def namespace(self, frame: int | None) -> dict[str, object]:
        if self.recorder.stepping is not None:
            return self.recorder.stepping.namespace(frame)
        # At a graph break the frames have been left and the instruction has taken its operands: the
        # recorder has kept both as they were.
        return names_at(self.recorder.current, frame, lambda output: list(output.guards))

    def is_program(self, filename: str) -> bool:
        return bytecode.is_program(filename)

    def report_graph(self) -> None:
        self._translations.report_graph()

    def catch_up(self) -> None:
        """The recorder wants everything from now on, and what came before."""
        self._probes.replace(versions.points.probe_points()["step"], self._step_hook())
        self._listen()
        self._translations.report_all()

    def _step_hook(self) -> Callable[..., None]:
        recorder = self.recorder
        hook = recorder.step if recorder.everything else recorder.note_position
        lock = recorder.walks.lock if self._executions.wanted else None  # it is on the hot path
        return Hook(hook, lock, self)

    def _listen(self) -> None:
        """Hear of guards, nodes and changes from now on, as far as anybody wants to."""
        wants, follows = self.recorder.wants, self._translations
        hears, follows.hears = follows.hears, wants(EventKind.GUARD) or wants(EventKind.NODE)
        if follows.hears:
            self._place(OF_GRAPHS)
        if any(map(wants, SHAPE_EVENTS)):
            self._place(OF_SHAPES)
        if self.recorder.everything:
            self._place(OF_DETAIL)
            self._place_changes()
        if follows.hears and not hears:
            for context in follows.contexts:
                context.graph.catch_up()
        self.recorder.steps.records_frames = wants(EventKind.INLINE)
        stops = EventKind.INLINE in self.recorder.controller.wanted
        self.recorder.steps.writes_frames = self.recorder.everything and not stops
        follows.record_guards()
        follows.watch_graph()

    def _on_registered(self, code: CodeType, original: CodeType, compile_id: str) -> None:
        self._lookups.registered(code, original)
        self._executions.entry_made(code, original, compile_id)


keep_out()
