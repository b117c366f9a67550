"""The native engine as the debugger sees it: see `stepper.debuggee.engine.Engine`."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import CodeType
from typing import TYPE_CHECKING, Any

import torch

from stepper import _C
from stepper.debuggee.engine import Recorder
from stepper.debuggee.mirror import names_at
from stepper.engines.common import versions
from stepper.engines.common.cache_face import CacheFace
from stepper.engines.common.choices import Choices
from stepper.engines.common.collectives import WatchesCollectives
from stepper.engines.common.ended import ended_by
from stepper.engines.common.jumps import NOT_TRACED
from stepper.engines.common.late_shapes import LateShapes
from stepper.engines.common.placed_probes import Probes
from stepper.engines.common.python_stack import program_stack
from stepper.engines.common.shapes import ShapeWatcher, hearer
from stepper.engines.common.torch_state import torch_state
from stepper.engines.native.cache import BOOK
from stepper.engines.native.cache_watch import CacheWatcher
from stepper.engines.native.changes import PendingChanges
from stepper.engines.native.choices import Choice, decided
from stepper.engines.native.code_table import CodeTable
from stepper.engines.native.describe import NativeDescriber
from stepper.engines.native.ended import of_graph
from stepper.engines.native.entries import ENTRIES
from stepper.engines.native.execution import ExecutionWatcher
from stepper.engines.native.lookups import LookupWatcher, unmet
from stepper.engines.native.net import netted
from stepper.engines.native.recording import RecordingObserver
from stepper.engines.native.resumed import ResumedCalls
from stepper.model.change import Change
from stepper.model.control import ForkTranslation
from stepper.model.failure import FailedStage, Failure
from stepper.model.lookup import unmet_text
from stepper.model.program import PythonFrame
from stepper.model.shapes import SHAPE_EVENTS
from stepper.model.trace import EventKind
from stepper.native import config
from stepper.native.codegen.resume_info import info_of
from stepper.native.exc import NativeError
from stepper.native.library import is_library
from stepper.native.watching import NOBODY, WATCHING, Decision, TranslationWatcher, Watcher
from stepper.support.per_object import PerCode

if TYPE_CHECKING:
    from stepper.debuggee.mirror import LiveTranslation, Mark
    from stepper.model.ranges import Ranges
    from stepper.native.guards.guard import Guard
    from stepper.native.skip_reasons import Call
    from stepper.native.variables.base import Guards
    from stepper.native.watching import CapturedFrame

_program_stack = program_stack(is_library)


@netted(Watcher, lambda engine: engine)
class NativeEngine(WatchesCollectives, Watcher):
    """Reports translations and what happens to entries."""

    def __init__(self) -> None:
        self.codes: CodeTable
        self._describer: NativeDescriber
        self._observers: list[RecordingObserver] = []
        self._captured: dict[RecordingObserver, CapturedFrame] = {}
        self._watcher = CacheWatcher(self._newest_translation)
        self._changes = PendingChanges()
        self._choices: Choices[Choice] = Choices()
        self._lookups = LookupWatcher(_program_stack, self._choices)
        self._executions = ExecutionWatcher(_program_stack, self.break_down)
        self.cache = CacheFace(
            ENTRIES,
            self._choices,
            self._call_of,
            self.is_program,
            partial(ResumedCalls, self._lookups.by_hand, self._executions.by_hand),
        )
        self._numbers: PerCode[int] = PerCode()
        self._count = itertools.count()
        self._translated: PerCode[int] = PerCode()
        """How often, as far as is known: an entry that has died leaves its number behind."""
        self.installed = False
        self._probes = Probes()
        self.late_shapes = LateShapes()

    def change(self, changes: tuple[Change, ...]) -> None:
        self._changes.make(changes)

    def install(self, recorder: Recorder) -> None:
        super().install(recorder)
        self.codes = CodeTable(recorder.store_code)
        self.installed = True
        WATCHING.watcher = self
        self._watcher.install(recorder, self)
        self._lookups.install(recorder, self.codes, self)
        self._executions.install(recorder, self.codes)
        recorder.before_commit(self.late_shapes.record)
        self._listen()

    def _listen(self) -> None:
        """Hear of decisions about sizes from now on, if anybody wants to."""
        if self._probes or not any(map(self.recorder.wants, SHAPE_EVENTS)):
            return
        for meaning, point in versions.POINTS.items():
            self._probes.place(point, self.safely(hearer(meaning, self._watching)))

    def _watching(self, env: object) -> ShapeWatcher | None:
        """Who watches a ShapeEnv: nobody, if it is of no attempt."""
        for observer in reversed(self._observers):
            if observer.shapes.is_of(env):
                return observer.shapes
        return self.late_shapes.of(env)

    def came_out(self, error: BaseException) -> bool:
        return issubclass(type(error), NativeError)

    def ended_by(self, error: BaseException) -> Failure | None:
        if self.came_out(error):
            return None
        entries = ((entry, BOOK.code_of(entry)) for entry in list(BOOK.entries.values()))
        asks = torch.compile.__code__
        return ended_by(error, self.recorder.moment, entries, self.is_program, asks, of_graph)

    def uninstall(self) -> None:
        super().uninstall()
        if self.installed:
            WATCHING.watcher = NOBODY
            self.late_shapes.clear()
            self._probes.remove()
            self._lookups.uninstall()
            self._executions.uninstall()
            self._watcher.uninstall()
            self._observers.clear()
            self._captured.clear()
            self.installed = False

    def breakpoints_changed(self) -> None:
        self._lookups.begin_if_wanted()
        self._executions.begin_if_wanted()
        self._listen()

    def catch_up(self) -> None:
        self._listen()

    def make_describer(self) -> NativeDescriber:
        """What knows the trackers."""
        self._describer = NativeDescriber()
        self._describer.pending = self._pending
        self._describer.newest = self._newest
        self._describer.ranges = self._ranges
        return self._describer

    def _pending(self, tracker: Any) -> dict[str, Any]:
        txs = self._observers[-1].txs if self._observers else []
        if not txs:
            return {}
        return dict(txs[0].output.side_effects.attributes.get(tracker.mutation_type, {}))

    def _newest(self, tracker: object) -> Any:
        txs = self._observers[-1].txs if self._observers else []
        return txs[0].output.side_effects.latest(tracker) if txs else tracker

    def _ranges(self, guards: Guards) -> Ranges:
        return self._observers[-1].ranges(guards) if self._observers else ()

    def shown(self, tracker: Any) -> list[Any]:
        """The trackers that a recording shows as this one's object."""
        return self._describer.shown(tracker)

    def take_with(self, symbols: Iterable[str]) -> list[object]:
        """The trackers that were shown with one of these symbols."""
        return self._describer.shown_with.take(symbols)

    def guard_code(self, guard: Any) -> Sequence[str]:
        checked: Guard = guard
        return checked.code_list

    def namespace(self, frame: int | None) -> dict[str, object]:
        return names_at(self.recorder.current, frame, lambda output: list(output.guards.values()))

    def fork(self, request: ForkTranslation) -> str:
        if not self._observers:
            raise LookupError("no translation is under way: fork at a stop in one")
        return self._observers[-1].fork(request)

    def jump(self, line: int) -> str:
        if self.recorder.stepping is not None or not self._observers:
            raise LookupError(NOT_TRACED)
        return self._observers[-1].jump(line)

    def is_program(self, filename: str) -> bool:
        return not is_library(filename)

    # --- what translations report

    def translation_begins(self, translation: CapturedFrame) -> TranslationWatcher:
        """A frame is going to be translated; who is to be told of it."""
        self._watcher.emit()
        code = translation.code
        self.note_lost("some lookups could not be told")
        number = self._numbers.get(code)
        if number is None:
            number = self._numbers.set(code, next(self._count))
        entries = len(_C.code_cache(code))
        again = self._translated.get(code) or entries
        self._translated.set(code, again + 1)
        if not entries:
            namespace = translation.function.__globals__
            self._lookups.nothing_there(code, translation.f_locals, namespace, translation.backend)
        if trouble := self._changes.before_translating(translation):
            self.recorder.note(trouble)
        live = self.recorder.walks.lock.during(
            self._begin, translation, f"{number}/{again}", entries, _program_stack(sys._getframe(1))
        )
        self._executions.pause()
        observer = RecordingObserver(self, live)
        self._observers.append(observer)
        self._captured[observer] = translation
        return observer

    def _begin(
        self,
        translation: CapturedFrame,
        compile_id: str,
        entries: int,
        stack: tuple[PythonFrame, ...],
    ) -> LiveTranslation:
        code, dynamic = translation.code, translation.dynamic
        f_locals, f_globals = translation.f_locals, translation.function.__globals__
        if dynamic is None and not config.automatic_dynamic_shapes:
            dynamic = False
        live = self.recorder.begin_translation(
            compile_id=compile_id,
            code=self.codes.plain(code),
            cache_size=entries,
            python_stack=stack,
            resume_of=info_of(code).function,
            state=torch_state(),
            dynamic=dynamic,
            specialize_int=config.specialize_int,
            unmet=(found := tuple(unmet(code, f_locals, f_globals, translation.backend))),
            nested=bool(self._observers),
        )
        if found:
            self.recorder.recompiled(live, unmet_text(found))
        return live

    @property
    def walks_are_recorded(self) -> bool:
        """Whether lookups or executions are recorded."""
        return self._lookups.wanted or self._executions.wanted

    def translation_ends(self, observer: RecordingObserver) -> None:
        """The translation is over, and its entry is in the cache if it has one."""
        self._watcher.emit()
        if observer not in self._observers:
            return  # what an exception has left ends a second time
        self._observers.remove(observer)
        captured = self._captured.pop(observer)
        if captured.entry is not None:
            compile_id = observer.translation.compile_id
            self._executions.entry_made(captured.entry.code, captured.code, compile_id)
        self._executions.go_on()

    def mark(self) -> Callable[[str], None]:
        return partial(self._unwind, len(self._observers), self.recorder.mark())

    def _unwind(self, count: int, under_way: Mark, left_by: str) -> None:
        if not self.installed:
            return
        try:
            self.recorder.unwind(under_way, f"{left_by or 'an exception'} left it")
            while len(self._observers) > count:
                self.recorder.controller.passing = False
                self._executions.go_on()
                self._captured.pop(self._observers[-1], None)
                self._observers.pop()
        except Exception as error:
            self.break_down(error)

    def _newest_translation(self) -> LiveTranslation | None:
        return self._observers[-1].translation if self._observers else None

    def _call_of(self, code: CodeType) -> dict[str, object] | None:
        for observer in reversed(self._observers):
            if (translation := self._captured[observer]).code is code:
                return translation.f_locals
        return None

    def decided(self, code: CodeType) -> Decision | None:
        """What the user has decided at the miss that was told last."""
        return decided(self._choices, code)

    def cache_limit(self, code: CodeType, text: str) -> None:
        """A code is given up."""
        self.recorder.occurred(EventKind.CACHE_LIMIT, text, None)

    def refused(self, call: Call, backend: object, message: str) -> None:
        """A call that no entry serves is about to be an error: which guards failed is told."""
        code = call.code
        entries = unmet(code, call.f_locals, call.function.__globals__, backend)
        text = "\n".join([message, *(f"- {each}" for each in entries)])
        self.recorder.failed(
            Failure(
                id=0, moment=self.recorder.moment, stage=FailedStage.LOOKUP,
                exception="RuntimeError", message=text, name=code.co_qualname,
                filename=code.co_filename, line=code.co_firstlineno,
                python_stack=_program_stack(sys._getframe(1)),
            )
        )  # fmt: skip
