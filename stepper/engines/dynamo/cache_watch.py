"""What happens to cache entries in a session: made, invalidated, evicted. Each is told when it
happens, with the entry's number. When that is: see `stepper.engines.common.cache_news`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, FunctionType
from typing import Any

from stepper._C import frame_locals
from stepper.debuggee.engine import Recorder
from stepper.debuggee.occurrence import Subject
from stepper.engines.common.arguments import parameters
from stepper.engines.common.cache_news import CacheNews, Place, place
from stepper.engines.common.entry_news import Death, EntryNews
from stepper.engines.common.placed_probes import Probes
from stepper.engines.dynamo import bytecode, versions
from stepper.engines.dynamo.cache import BOOK, NOBODY, CacheListener, KnownEntry, locked
from stepper.model.cache import CacheError, EntryState
from stepper.model.trace import EventKind, Phase
from stepper.uncompiled import keep_out

_STRATEGIES = {"SKIP": "skip", "RUN_ONLY": "run only"}


class CacheWatcher(EntryNews, CacheListener):
    """Tells the recorder what happens to entries."""

    def __init__(
        self,
        compiling: Callable[[], bool],
        hits: Callable[[CodeType], int | None],
        registered: Callable[[CodeType, CodeType, str], None],
    ) -> None:
        """
        Args:
            compiling: whether any translation is under way.
            hits: see `CacheListener.hits`.
            registered: see `CacheListener.registered`.
        """
        self._compiling = compiling
        self._hits = hits
        self._registered = registered
        self._probes = Probes()
        self._recorder: Recorder | None = None
        self._evicting: Place | None = None
        """Where the program has asked to evict entries, while that is done."""
        self._told = ""
        """What was told last of how calls are served."""

    def install(self, recorder: Recorder, safely: Callable[..., Callable[..., None]]) -> None:
        """Begin to listen, after all others: probes are removed in the opposite order."""
        self._recorder = recorder
        self._news = CacheNews(recorder, self._interprets, _finalizes)
        self._tell_stance(versions.stance(), "set before this session")
        for meaning, point in versions.points.cache_points().items():
            hook = safely(getattr(self, f"_on_{meaning}"))
            self._probes.place(point, hook)
        BOOK.listener = self
        try:
            with locked():
                BOOK.refresh()  # while the objects live that old entries depend on
        except CacheError:
            return  # a compilation is under way; the entries are seen when somebody looks

    def uninstall(self) -> None:
        """Listen no more."""
        if not self._probes:
            return
        self.emit()
        self._probes.remove()
        BOOK.listener = NOBODY
        BOOK.forget_strategies()
        self._recorder = self._news = None

    # -- what is heard -----------------------------------------------------------------------

    def entry_made(
        self, transformed: CodeType, wrapper: Any, compile_id: str, translation: int
    ) -> None:
        """Called by the engine when a translation has ended well: the entry is about to be put into
        the cache."""
        original = next(_compilations(sys._getframe(1)), {}).get("code")
        if not isinstance(original, CodeType):
            return
        entry = BOOK.announce(original, transformed, wrapper, compile_id, translation)
        self._note_made(entry)
        self.emit()

    def call_of(self, code: CodeType) -> dict[str, Any] | None:
        """The locals of the call of a code at which this thread stands: one that is compiled, or
        that looks for an entry, or whose transformed code runs."""
        for compiling in _compilations(sys._getframe(1)):
            if compiling.get("code") is code and type(compiling.get("locals")) is dict:
                found: dict[str, Any] = compiling["locals"]
                return found
        recorder = self._recorder
        if recorder is not None and recorder.stepping is not None:
            names, record = recorder.stepping.namespace(None), recorder.stepping.walk.record
            local = names.get("L")
            if record.phase is Phase.EXECUTE and record.name == code.co_qualname:
                local = names.get("locals")
            if type(local) is dict and all(name in local for name in parameters(code)):
                wanted = {*parameters(code), *code.co_freevars}
                return {name: value for name, value in local.items() if name in wanted}
        return None

    def _on_invalidated(self, manager: Any, obj_str: str) -> None:
        wrapper = manager.__dict__.get("guard_manager")
        if (
            wrapper is None
            or isinstance(wrapper, versions.cache.DeletedGuardManagerWrapper)
            or wrapper.cache_entry is None
        ):
            return
        entry = BOOK.by_wrapper(wrapper)
        if entry is None or entry.facts.state is EntryState.EVICTED:
            return  # older than the session, and nobody has looked yet; or told of already
        self._ended(entry, obj_str)

    def hits(self, transformed: CodeType) -> int | None:
        return self._hits(transformed)

    def registered(self, code: CodeType, original: CodeType, compile_id: str) -> None:
        self._registered(code, original, compile_id)

    def died(self, entry: KnownEntry, source: str) -> None:
        self._ended(entry, source)

    def _ended(self, entry: KnownEntry, source: str) -> None:
        BOOK.measure(entry)  # while its guards can be read
        death = Death(entry, source, place(bytecode.is_program))
        entry.doomed = True
        entry.change(state=EntryState.INVALID, reason=death.reason)
        self._note_died(entry, death)
        self._emit_if_safe()

    def evicted(self, entry: KnownEntry) -> None:
        self._note_evicted(entry, self._evicting)
        if self._evicting is None:
            self._emit_if_safe()

    def _evict(self, reason: str, code: CodeType | None = None) -> None:
        """Note all that goes before the program can stand still for the first."""
        self._evicting = place(bytecode.is_program)
        try:
            BOOK.evict_all(f"{reason}, {self._evicting}", code)
        finally:
            self._evicting = None
        self._emit_if_safe()

    def _on_reset(self) -> None:
        self._evict("torch._dynamo.reset()")

    def _on_removed(self, function: Any) -> None:
        code = function if isinstance(function, CodeType) else None
        if isinstance(function, FunctionType):
            code = function.__code__
        if code is not None:
            self._evict("removed from the cache", code)

    def _on_strategy(self, strategy: Any) -> None:
        name = _STRATEGIES.get(getattr(getattr(strategy, "cur_action", None), "name", ""))
        if name is None:
            return
        # This hook, `ConvertFrameReturn`, then who returns it, about its `frame`.
        frame = frame_locals(sys._getframe(2)).get("frame")
        code = getattr(frame, "f_code", None)
        if isinstance(code, CodeType):
            BOOK.know(code).strategy = name

    def _on_stance(self, stance: Any) -> None:
        self._tell_stance(stance.stance, f"set {place(bytecode.is_program)}")

    def _tell_stance(self, stance: str, when: str) -> None:
        meant = versions.STANCES.get(stance)
        if meant is not None:
            self._tell(f"stance {stance!r} {when}", meant)

    def _on_run_only(self) -> None:
        what = f"torch._dynamo.run asked for {place(bytecode.is_program)}"
        self._tell(what, "the entries that exist serve it, or none")

    def _tell(self, what: str, meant: str) -> None:
        text = f"{what}. A call of a compiled function: {meant}"
        if self._recorder is not None and text != self._told:  # torch sets a stance twice
            self._told = text  # and a loop again and again
            self._recorder.occurred(EventKind.SKIP, text, None, Subject())

    def _interprets(self, frame: FrameType | None) -> bool:
        return self._compiling() and not _between_instructions(frame)


def _compilations(frame: FrameType | None) -> Iterator[dict[str, Any]]:
    """The variables of Dynamo's `_compile` where it runs in this thread, the innermost first."""
    while frame is not None:
        code = frame.f_code
        if code.co_name == "_compile" and code.co_filename.endswith("convert_frame.py"):
            yield frame_locals(frame)
        frame = frame.f_back


def _finalizes(frame: FrameType) -> bool:
    name = frame.f_globals.get("__name__", "")
    return name == "weakref" or versions.cache.is_invalidation(name, frame.f_code.co_name)


def _between_instructions(frame: FrameType | None) -> bool:
    """Whether this thread compiles, and interprets no instruction meanwhile."""
    if frame is None or frame.f_globals.get("__name__", "") in versions.points.probed_modules():
        return False  # possibly within a hook
    while frame is not None and not versions.is_compile(frame.f_code):
        if versions.is_interpreting(frame.f_code):
            return False
        if versions.is_backend(frame.f_code):
            return True
        frame = frame.f_back
    return frame is not None


keep_out()
