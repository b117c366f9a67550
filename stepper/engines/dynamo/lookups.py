"""Lookups: each call of a compiled function looks for a cache entry whose guards pass.

Dynamo does this in C and tells nobody, so it is known from what follows. A *miss* is followed by a
compilation, whose first Python function gets the call's locals. A *hit* is followed by the run of
the entry's transformed code, which begins with the very arguments that the guards have seen
(`hits` hears of it). At both points nothing of the program has run since, so the lookup can be told
then: entry by entry and guard by guard, in the order in which they were tried (`lookup_programs`),
each value and each verdict looked at once more without disturbing anything (`safe_reader`).

The verdicts are Dynamo's. Of an entry that matched, every guard has passed. Of one that did not,
the first guard that fails when it is asked again is the one that failed; when none does (all that
can be asked passes), it is among those that cannot be asked, and that is what is said.

A lookup is a walk of two levels: the entries, and for each the guards. So *next* goes from entry to
entry, *step* from guard to guard.

When nobody asked for lookups, hits are counted, and of a miss the compilation is told which guards
of each entry have failed (`unmet`): a compilation takes longer by far than to ask them again.
"""

from __future__ import annotations

import _thread
import sys
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter_ns
from types import CodeType, FrameType
from typing import Any

from stepper import _C
from stepper.debuggee.engine import Recorder
from stepper.debuggee.occurrence import Subject
from stepper.engines.common import lookup_walk
from stepper.engines.common.choices import Choices, Refusal
from stepper.engines.common.lookup_walk import ASKED_AGAIN, Call, EntryTrial, record_lookup
from stepper.engines.common.placed_probes import Probes
from stepper.engines.common.python_stack import ProgramStack
from stepper.engines.dynamo import bytecode, versions
from stepper.engines.dynamo.cache import BOOK, KnownEntry, entries_of, locked
from stepper.engines.dynamo.changes import PendingChanges
from stepper.engines.dynamo.choices import Choice, chosen
from stepper.engines.dynamo.graph_calls import GraphCalls
from stepper.engines.dynamo.hits import Hits, Listener, listen
from stepper.engines.dynamo.lookup_programs import EVERYBODY, Candidate, Programs
from stepper.engines.dynamo.lookup_tries import (
    Tried,
    reason,
    region_notes,
    tried_notes,
    try_entry,
)
from stepper.engines.dynamo.repeated_hits import RepeatedHits
from stepper.engines.dynamo.safe_reader import SafeReader, forget
from stepper.model.cache import Origin
from stepper.model.failure import FailedStage, Failure
from stepper.model.lookup import UnmetEntry
from stepper.model.trace import EventKind, Phase
from stepper.support.per_object import PerCode
from stepper.uncompiled import keep_out

_BY_HAND_ALONE = "stepped by hand, so nothing is compiled and it runs as it is"
_REFUSED = "torch.compiler's stance is {!r}: that no entry serves the call is an error"
_REFUSED_AHEAD = "it was compiled ahead of time, so that its guards do not hold is an error"


class _Missed:
    """A call that found no entry, without holding anything of it. Arguments that allow no weak
    reference, such as numbers and lists, cannot be told from others."""

    def __init__(self, code: CodeType, arguments: dict[str, Any]) -> None:
        self._code = weakref.ref(code)
        self._arguments = list(map(_reference, arguments.values()))

    def was(self, code: CodeType, arguments: dict[str, Any]) -> bool:
        """Whether it was the call of a code with these very objects."""
        return (
            self._code() is code
            and len(arguments) == len(self._arguments)
            and all(
                before is None or before() is value
                for before, value in zip(self._arguments, arguments.values(), strict=True)
            )
        )


def _reference(value: object) -> weakref.ref[Any] | None:
    try:
        return weakref.ref(value)
    except TypeError:
        return None


class LookupWatcher(lookup_walk.LookupWatcher[Choice]):
    """Tells lookups to the recorder."""

    def __init__(
        self,
        codes: bytecode.CodeTable,
        program_stack: ProgramStack,
        changes: PendingChanges,
        choices: Choices[Choice],
    ) -> None:
        super().__init__(program_stack, choices)
        self._changes = changes
        self._programs = Programs(codes)
        self._repeated = RepeatedHits()
        self._probes = Probes()
        self._hits: Hits | None = None
        self._graph_calls = GraphCalls()
        self._originals: PerCode[weakref.ref[CodeType]] = PerCode()
        self._ahead: PerCode[weakref.ref[Any]] = PerCode()
        """By its transformed code: what was compiled ahead of time."""
        self._unpacked: PerCode[list[weakref.ref[CodeType]]] = PerCode()
        """The transformed codes of a code's entries that come from a package, in their order."""
        self._unmet: dict[int, tuple[UnmetEntry, ...]] = {}
        """By thread: what it is about to compile something for; until that begins."""
        self._missed: dict[int, _Missed] = {}
        """By thread: the newest call for which the compiler was asked and made no entry yet."""

    def install(self, recorder: Recorder, safely: Callable[..., Callable[..., None]]) -> None:
        """Begin to listen. After the engine's own probes: a lookup comes before its compilation."""
        self._recorder = recorder
        for meaning, point in versions.points.lookup_points().items():
            hook = safely(getattr(self, f"_on_{meaning}"))
            in_place = partial(chosen, self._choices) if meaning == "missed" else None
            self._probes.place(point, hook, in_place)
        self._hits = listen(
            Listener(
                safely(self._on_hit), safely(self._on_unserved), lambda: self.wanted, recorder.runs
            )
        )

    def uninstall(self) -> None:
        """Listen no more; before the engine's own probes go."""
        self._probes.remove()
        if self._hits is not None:
            self._hits.close()
        self._programs.clear()
        self._repeated.clear()
        self._originals.clear()
        self._ahead.clear()
        self._unpacked.clear()
        self._missed.clear()
        self._unmet.clear()
        forget()

    def count_of(self, transformed: CodeType) -> int | None:
        """How many calls an entry's code has served; None when nobody counted."""
        return self._hits.count_of(transformed) if self._hits is not None else None

    def _misses_wanted(self, code: CodeType) -> bool:
        """Whether a lookup of a code that finds no entry is to be told."""
        if self.wanted:
            return True
        return EventKind.MISS in self._recorder.controller.wanted and bool(entries_of(code))

    @property
    def _unmet_wanted(self) -> bool:
        """Whether compilations are to be told what failed before them."""
        return self._recorder.everything

    def _say_trouble(self) -> None:
        """Once, that hits are wanted and cannot be told."""
        if self._hits is not None and self._hits.trouble:
            self._recorder.note(self._hits.trouble)
            self._hits.trouble = ""

    # -- what is heard -----------------------------------------------------------------------

    def _on_missed(
        self,
        code: CodeType,
        locals: dict[str, Any],
        globals: dict[str, Any],
        compiler_fn: Any,
    ) -> None:
        if trouble := self._changes.before_compiling(code, locals, globals):
            self._recorder.note(trouble)
        self._unmet.pop(_thread.get_ident(), None)
        if self._misses_wanted(code):
            self._missed[_thread.get_ident()] = _Missed(code, locals)
            # This hook, then `_compile`.
            compiling = _caller(1)
            stack = self._program_stack(compiling)
            backend = versions.cache.innermost_backend(compiler_fn)
            compile_id = compiling.f_locals.get("compile_id") if compiling is not None else None
            choice = Choice(code, locals, globals, compile_id)
            with self._choices.open(choice):
                self._record(Call(code, locals, globals, backend, None, stack, choice))
        elif self._unmet_wanted:
            backend = versions.cache.innermost_backend(compiler_fn)
            call = Call(code, locals, globals, backend, None)
            self._unmet[_thread.get_ident()] = tuple(self._asked_again(call))

    def unmet(self) -> tuple[UnmetEntry, ...]:
        """The entries that do not serve the call for which this thread begins to compile, where its
        lookup is not told."""
        return self._unmet.pop(_thread.get_ident(), ())

    def _asked_again(self, call: Call) -> Iterator[UnmetEntry]:
        reader = SafeReader(call.f_locals, call.f_globals, timed=False)
        for each in self._candidates(call, followed=False)[:ASKED_AGAIN]:
            yield try_entry(each, call.backend, reader, matches=False, hit=False).unmet

    def _on_refused(self, frame: Any) -> None:
        # This hook, `has_tensor_in_frame`, then who asks.
        asking = _caller(2)
        callback = versions.refused_callback(asking)
        if callback is None:
            return
        code, why = frame.f_code, _REFUSED.format(versions.stance())
        if self.wanted or entries_of(code):
            backend, stack = versions.cache.innermost_backend(callback), self._program_stack(asking)
            call = Call(code, frame.f_locals, frame.f_globals, backend, None, stack)
            self._record(call, unserved=why)
        else:
            text = f"{code.co_qualname}: {why}"
            self._recorder.occurred(EventKind.SKIP, text, None, Subject(name=code.co_qualname))
        if versions.surely_compiled(frame.f_locals) and not versions.cache.compiled_entries(code):
            self.refused(code, asking, why)

    def _on_reasons_asked(self, frame: Any) -> None:
        # This hook, `get_and_maybe_log_recompilation_reasons`, then who asks.
        asking = _caller(2)
        if asking is not None and versions.refused_callback(asking) is not None:
            # All but the guards that failed, which are found out now.
            self.refused(frame.f_code, asking, str(asking.f_locals["message"]))

    def _on_asked_why(self, x: Any) -> None:
        # This hook, `check_verbose`, then who asks.
        asking = _caller(2)
        refusing = versions.refusing_ahead_of_time(asking)
        if refusing is None or type(x) is not dict:
            return
        artifacts, f_globals = refusing
        code, stack = artifacts.original_code, self._program_stack(asking)
        call = Call(code, x, f_globals, None, None, stack)
        candidate = self._made_ahead(artifacts)
        self._recorder.whole(self._record_walk, call, _REFUSED_AHEAD, [candidate])
        tried = try_entry(candidate, None, SafeReader(x, call.f_globals), matches=False, hit=False)
        self.refused(code, asking, f"{_REFUSED_AHEAD}: {reason(tried)}")

    def _made_ahead(self, artifacts: Any) -> Candidate:
        memory = self._programs.memory(artifacts.guard_manager)
        return Candidate(Origin.PRECOMPILED, artifacts, memory)

    def _on_made_ahead(self, compiled: Any) -> None:
        transformed, original = versions.ahead_of_time(compiled)
        self._ahead.set(transformed, weakref.ref(compiled))
        self.registered(transformed, original)

    def _on_unpacked(self, target_code: CodeType) -> None:
        # This hook, `load_guard_manager`, then who has it made.
        transformed = versions.unpacked_code(_caller(2))
        if transformed is not None:
            codes = self._unpacked.get(target_code) or []
            del codes[len(versions.cache.precompiled_entries(target_code)) :]  # others are out
            self._unpacked.set(target_code, [*codes, weakref.ref(transformed)])
            self.registered(transformed, target_code)

    def refused(
        self, code: CodeType, asking: FrameType | None, text: str, exception: str = "RuntimeError"
    ) -> None:
        """A call that no entry serves is about to be an error.

        Args:
            code: what is called.
            asking: the frame from which the program's own are looked for.
            text: the error's message.
            exception: the name of its class.
        """
        stack = self._program_stack(asking)
        self._recorder.failed(
            Failure(
                id=0, moment=self._recorder.moment, stage=FailedStage.LOOKUP,
                exception=exception, message=text, name=code.co_qualname,
                filename=code.co_filename, line=code.co_firstlineno, python_stack=stack,
            )
        )  # fmt: skip

    def _on_entry_made(self, code: CodeType, guard_manager: Any) -> None:
        compiling = _enclosing(_caller(1), self._compile_name)
        if compiling is None:
            return
        names = compiling.f_locals
        original = names.get("code")
        if type(original) is not CodeType:
            return
        self._know(code, original)
        self._missed.pop(_thread.get_ident(), None)
        if self._hits is not None:
            self._hits.watch(code, original)
        if self.wanted:
            self._say_trouble()
        misses = self._unmet_wanted or EventKind.MISS in self._recorder.controller.wanted
        if self.wanted or misses:
            memory = self._programs.memory(guard_manager)
            reader = SafeReader(names.get("locals") or {}, names.get("globals") or {})
            memory.learn(guard_manager, reader)

    def registered(self, code: CodeType, original: CodeType) -> None:
        """A copy of an entry has been put into the cache."""
        self._know(code, original)
        if self._hits is not None:
            self._hits.watch(code, original, compiled=False)

    def listen_to_old(self) -> None:
        """Listen to what was compiled before the session, too.

        Raises:
            CacheError: another thread is compiling.
        """
        if self._hits is None:
            return
        with locked():
            for reference in versions.cache.codes_seen():
                if (original := reference()) is None:
                    continue
                for _, item in entries_of(original):
                    if item.code is None:
                        continue  # it was invalidated, and is still in the cache
                    self._know(item.code, original)
                    self._hits.watch(item.code, original)
                    _C.count_call(item.code)  # its first run is over

    def _know(self, transformed: CodeType, original: CodeType) -> None:
        self._originals.set(transformed, weakref.ref(original))
        self._repeated.changed(original)

    _compile_name = versions.points.probe_points()["translation_begins"].qualname

    def _on_hit(
        self,
        transformed: CodeType,
        f_locals: dict[str, Any],
        f_globals: dict[str, Any],
        caller: FrameType | None,
    ) -> None:
        known = self._originals.get(transformed)
        original = None if known is None else known()
        if original is None:
            return
        candidates = None
        if (ahead := self._ahead.get(transformed)) is not None:
            compiled = ahead()
            artifacts = None if compiled is None else versions.artifacts_asked(compiled)
            if artifacts is None:
                return
            candidates = [self._made_ahead(artifacts)]
            candidates[0].code = transformed
        began = perf_counter_ns()
        stack = self._program_stack(caller)
        told = None
        if candidates is None and Phase.LOOKUP in self._recorder.walks.asked:
            told = self._repeated.tell(
                self._recorder, original, transformed, f_locals, f_globals, stack, began
            )
        if told is None:
            call = Call(original, f_locals, f_globals, None, transformed, stack)
            told = self._record(call, candidates=candidates)
        else:
            self._recorder.runs.telling(perf_counter_ns() - began)
        if told is not None and self._hits is not None:
            self._graph_calls.listen(self._hits.watch_graph, transformed, f_globals)
            self._recorder.runs.hit(transformed, told, caller)

    def _on_unserved(
        self,
        code: CodeType,
        f_locals: dict[str, Any],
        f_globals: dict[str, Any],
        caller: FrameType | None,
    ) -> None:
        missed = self._missed.pop(_thread.get_ident(), None)
        if missed is not None and missed.was(code, f_locals):
            return  # the compiler was asked, and gave it up: that is told
        why, looked = _why_unserved(code)
        if looked:
            call = Call(code, f_locals, f_globals, None, None, self._program_stack(caller))
            self._record(call, unserved=why)
        else:
            text = f"{code.co_qualname}: {why}; the cache was not looked at"
            self._recorder.occurred(EventKind.SKIP, text, None, Subject(name=code.co_qualname))

    def by_hand(
        self,
        code: CodeType,
        f_locals: dict[str, Any],
        f_globals: dict[str, Any],
        entry: KnownEntry | None,
        caller: FrameType | None,
    ) -> None:
        """Tell a lookup that was made by hand, in which that entry has won."""
        winner = None
        if entry is not None:
            with locked():
                winner = BOOK.parts(entry)[1]
        stack = self._program_stack(caller)
        call = Call(code, f_locals, f_globals, None, winner, stack, by_hand=True)
        self._record(call, "" if winner is not None else _BY_HAND_ALONE)

    # -- what is told ------------------------------------------------------------------------

    def _record(
        self, call: Call, unserved: str = "", candidates: list[Candidate] | None = None
    ) -> int | None:
        """The lookup's number; None: it was not told to its end."""
        began = perf_counter_ns()
        found: list[int] = []
        try:
            self._recorder.whole(self._record_walk, call, unserved, candidates, found)
        finally:
            self._recorder.runs.telling(perf_counter_ns() - began)
        return found[0] if found else None

    def _record_walk(
        self,
        call: Call,
        unserved: str,
        candidates: list[Candidate] | None = None,
        found: list[int] | None = None,
    ) -> None:
        """`candidates`: what was tried in place of the code's entries in the cache. `found`: takes
        the lookup's number."""
        if candidates is None:
            candidates = self._candidates(call)
        regions = versions.current_region()[1]
        winner = next(
            (each for each in candidates if call.winner and each.code is call.winner), None
        )
        if winner is not None:
            call = call._replace(backend=winner.backend)
        code = self._programs.of_entries(call.code, candidates, regions)
        repeated = self._repeated
        kept = not call.by_hand and repeated.can_be_kept(candidates, winner)
        timed = not kept or repeated.measures(call.winner)
        reader = SafeReader(call.f_locals, call.f_globals, timed=timed)
        tried: list[Tried] = []
        try:
            number = record_lookup(
                self._recorder,
                call,
                code,
                self._tries(call, candidates, reader, tried),
                resume_of=bytecode.resumed_function(call.code),
                winner="" if winner is None else winner.label,
                unserved=unserved,
                keep=None
                if timed
                else lambda told: repeated.keep_if_alike(
                    call, tried[0], self._programs.order(call.code), reader, told
                ),
            )
            if found is not None:
                found.append(number)
            if winner is not None and not winner.asks_few:
                winner.memory.learn(winner.wrapper, reader)
        finally:
            order = self._programs.note_order(call.code)
            repeated.looked_up(call.code, candidates, winner, order)

    def _candidates(self, call: Call, *, followed: bool = True) -> list[Candidate]:
        """The entries that the lookup of a call tries; `followed`: lookups are told."""
        found = self._programs.candidates(call.code, followed=followed)
        self._know_unpacked(call.code, found)
        region = versions.current_region()[0]
        return [
            each
            for each in found
            if each.precompiled or each.region in (region, EVERYBODY) or call.winner is each.code
        ]

    def _know_unpacked(self, code: CodeType, candidates: list[Candidate]) -> None:
        """Say which code each entry has that comes from a package: Dynamo does not."""
        codes = self._unpacked.get(code) or []
        entries = versions.cache.precompiled_entries(code)
        if len(codes) == len(entries):
            for entry, transformed in zip(entries, codes, strict=True):
                for each in candidates:
                    if each.wrapper is entry.guard_manager:
                        each.code = transformed()

    def _tries(
        self, call: Call, candidates: list[Candidate], reader: SafeReader, all: list[Tried]
    ) -> Iterator[EntryTrial]:
        """`all`: takes each."""
        for each in candidates:
            hit = call.winner is not None
            matches = hit and each.code is call.winner
            tried = try_entry(each, call.backend, reader, matches=matches, hit=hit)
            all.append(tried)
            if call.choice is not None:
                failing, why = tried.failing, reason(tried)
                call.choice.refused(Refusal(each.wrapper, failing, tried.differences, why))
            yield EntryTrial(
                each.label,
                self._programs.of_guards(call.code, each, tried.guards),
                tried.guards,
                tried_notes(tried),
                tried.checks,
                tried.executed,
                tried.behind,
                reason(tried),
                tried.nanoseconds,
                region_notes(each.region),
                each.memory.told,
            )


def _caller(above: int) -> FrameType | None:
    return sys._getframe(above + 1)


def _enclosing(frame: FrameType | None, name: str) -> FrameType | None:
    """The innermost frame of a function of Dynamo's, from `frame` outwards."""
    while frame is not None:
        if frame.f_code.co_name == name and bytecode.is_torch_internal(frame.f_code.co_filename):
            return frame
        frame = frame.f_back
    return None


def _why_unserved(code: CodeType) -> tuple[str, bool]:
    """Why a call ran the code as it is although there are entries for it, and whether the cache was
    looked at first."""
    strategy = BOOK.know(code).strategy
    if strategy == "skip":
        return "Dynamo skips this code", False
    if strategy:
        return "the recompile limit was reached, so nothing is compiled any more", True
    stance = versions.stance()
    if stance == "force_eager":
        return f"torch.compiler's stance is {stance!r}", False
    if stance != "default":
        return f"torch.compiler's stance is {stance!r}, so nothing is compiled", True
    if versions.cache.callback_now() is None:
        return "Dynamo is off for this call: disabled, or the function was called as it is", False
    return "only entries that exist are used now, so nothing is compiled", True


keep_out()
