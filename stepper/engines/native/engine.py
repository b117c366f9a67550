"""The native engine as the debugger sees it: see `stepper.debuggee.engine.Engine`."""

from __future__ import annotations

import itertools
import sys
from types import CodeType
from typing import TYPE_CHECKING, Any

from stepper import _C
from stepper.debuggee.mirror import names_at
from stepper.debuggee.threads import thread_name
from stepper.engines.common.python_stack import program_stack
from stepper.engines.common.torch_state import torch_state
from stepper.engines.native.cache import BOOK
from stepper.engines.native.cache_face import NativeCache
from stepper.engines.native.cache_watch import CacheWatcher
from stepper.engines.native.changes import PENDING
from stepper.engines.native.choices import decided
from stepper.engines.native.code_book import CodeBook
from stepper.engines.native.convert_frame import is_library
from stepper.engines.native.describe import NativeDescriber
from stepper.engines.native.execution import ExecutionWatcher
from stepper.engines.native.lookups import LookupWatcher, refusals
from stepper.engines.native.observer import OBSERVERS, Decision, TranslationObserver
from stepper.engines.native.per_code import PerCode
from stepper.engines.native.recording import RecordingObserver
from stepper.engines.native.resume_execution import info_of
from stepper.model.control import ForkTranslation
from stepper.model.trace import EventKind

if TYPE_CHECKING:
    from stepper.debuggee.mirror import LiveTranslation
    from stepper.debuggee.recorder import Recorder
    from stepper.engines.native.convert_frame import Translation
    from stepper.engines.native.variables.base import Guards
    from stepper.model.ranges import Ranges

_program_stack = program_stack(is_library)


class NativeEngine:
    """Reports translations and what happens to entries."""

    name = "native"

    def __init__(self) -> None:
        self.recorder: Recorder
        self.codes: CodeBook
        self._describer: NativeDescriber
        self._observers: list[RecordingObserver] = []
        self._captured: dict[RecordingObserver, Translation] = {}
        self._watcher = CacheWatcher(self._newest_translation)
        self._lookups = LookupWatcher(_program_stack)
        self._executions = ExecutionWatcher(_program_stack, self.break_down)
        self.cache = NativeCache(self._call_of, self._executions.by_hand, self._lookups.by_hand)
        self.lost = ""
        """What the program ran out of while a lookup was to be told, until that is told."""
        self._numbers: PerCode[int] = PerCode()
        self._count = itertools.count()
        self._translated: PerCode[int] = PerCode()
        """How often, as far as is known: an entry that has died leaves its number behind."""
        self._installed = False

    def install(self, observer: Any) -> None:
        """See `Engine.install`. `observer` is the recorder."""
        self.recorder = observer
        self.codes = CodeBook(observer.store_code)
        self._installed = True
        OBSERVERS.engine = self
        self._watcher.install(observer)
        self._lookups.install(observer, self.codes, self)
        self._executions.install(observer, self.codes)

    def uninstall(self) -> None:
        """See `Engine.uninstall`."""
        if self._installed:
            self._installed = False
            OBSERVERS.engine = None
            self._lookups.uninstall()
            self._executions.uninstall()
            self._watcher.uninstall()
            self._observers.clear()
            self._captured.clear()

    def wishes_changed(self) -> None:
        """See `Engine.wishes_changed`."""
        self._lookups.begin_if_wanted()
        self._executions.begin_if_wanted()

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

    def _newest(self, tracker: Any) -> Any:
        txs = self._observers[-1].txs if self._observers else []
        return txs[0].output.side_effects.latest(tracker) if txs else tracker

    def _ranges(self, guards: Guards) -> Ranges:
        return self._observers[-1].ranges(guards) if self._observers else ()

    def shown(self, tracker: Any) -> list[Any]:
        """The trackers that a recording shows as this one's object."""
        return self._describer.shown(tracker)

    def told_late(self) -> frozenset[type]:
        """Kinds of trackers whose changes are told when they are made already: none."""
        return frozenset()

    def report_graph(self) -> None:
        """Nodes are reported when they are made."""
        self.recorder.steps.graph_changed = False

    def catch_up(self) -> None:
        """The recorder wants everything from now on."""

    def break_down(self, error: Exception) -> None:
        """A defect of ours: watch no more."""
        self.uninstall()
        self.recorder.broke_down(error)

    def namespace(self, frame: int | None) -> dict[str, object]:
        """See `Engine.namespace`."""
        return names_at(self.recorder.current, frame, lambda output: list(output.guards.values()))

    def fork(self, request: ForkTranslation) -> str:
        """See `Engine.fork`."""
        if not self._observers:
            raise LookupError("no translation is under way: fork at a stop in one")
        return self._observers[-1].fork(request)

    def is_program(self, filename: str) -> bool:
        """See `Engine.is_program`."""
        return not is_library(filename)

    # --- what translations report

    def translation_begins(self, translation: Translation) -> TranslationObserver:
        """A frame is going to be translated; who is to be told of it."""
        self._watcher.tell()
        code = translation.code
        if self.lost:
            lost, self.lost = self.lost, ""
            self.recorder.note(f"{lost}: some lookups could not be told")
        number = self._numbers.get(code)
        if number is None:
            number = self._numbers.set(code, next(self._count))
        entries = len(_C.code_cache(code))
        again = self._translated.get(code) or entries
        self._translated.set(code, again + 1)
        if not entries:
            namespace = translation.function.__globals__
            self._lookups.nothing_there(code, translation.f_locals, namespace, translation.backend)
        if trouble := PENDING.before_translating(translation):
            self.recorder.note(trouble)
        with self.recorder.walks.turn:
            live = self.recorder.begin_translation(
                compile_id=f"{number}/{again}",
                code=self.codes.plain(code),
                cache_size=entries,
                python_stack=_program_stack(sys._getframe(1)),
                thread=thread_name(),
                resume_of=info_of(code).function,
                state=torch_state(),
                nested=bool(self._observers),
            )
            reason = self._why_recompiled(translation)
            if reason:
                self.recorder.recompiled(live, reason)
        self._executions.pause()
        observer = RecordingObserver(self, live)
        self._observers.append(observer)
        self._captured[observer] = translation
        return observer

    @property
    def walks_are_told(self) -> bool:
        """Whether lookups or executions are recorded."""
        return self._lookups.wanted or self._executions.wanted

    def translation_ends(self, observer: RecordingObserver) -> None:
        """It is over, and its entry is in the cache if it has one."""
        self._watcher.tell()
        self._observers.remove(observer)
        captured = self._captured.pop(observer)
        if captured.entry is not None:
            compile_id = observer.translation.compile_id
            self._executions.entry_made(captured.entry.code, captured.code, compile_id)
        self._executions.go_on()

    def _newest_translation(self) -> LiveTranslation | None:
        return self._observers[-1].translation if self._observers else None

    def _call_of(self, code: CodeType) -> dict[str, Any] | None:
        for observer in reversed(self._observers):
            if (translation := self._captured[observer]).code is code:
                return translation.f_locals
        return None

    def _why_recompiled(self, translation: Translation) -> str:
        code, namespace = translation.code, translation.function.__globals__
        call = code, translation.f_locals, namespace, translation.backend
        return "\n".join(refusals(*call)) or BOOK.death(code)

    def decided(self, code: CodeType) -> Decision | None:
        """What the user has decided at the miss that was told last."""
        return decided(code)

    def cache_limit(self, code: CodeType, text: str) -> None:
        """A code is given up."""
        self.recorder.occurred(EventKind.CACHE_LIMIT, text, None)


def create() -> NativeEngine:
    """The engine, not yet installed."""
    return NativeEngine()
