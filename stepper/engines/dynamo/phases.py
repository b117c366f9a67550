"""The phases that torch times of itself by `dynamo_timed`, from tracing to Inductor's passes."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Callable
from typing import Any

from stepper._C import Hook, shortened
from stepper.debuggee.engine import Recorder
from stepper.engines.common.cache_news import place
from stepper.engines.dynamo import bytecode, versions
from stepper.engines.dynamo.bytecode_made import BytecodeMade
from stepper.engines.dynamo.guards_made import GuardsMade
from stepper.engines.dynamo.waits import Waits
from stepper.model.timing import (
    ATTEMPT,
    AUTOGRAD_CACHE,
    BACKEND,
    GENERATING,
    GUARDS,
    TRACING,
    CacheAnswer,
)
from stepper.support.words import one_of
from stepper.uncompiled import keep_out

_ANSWER = re.compile(r"(?P<cache>\w+_cache)_(?P<state>hit|miss|bypass|disabled)")
_MOST_PARTS = 1_000
_LONGEST = 200
"""Characters of a name or a reason."""


class Phases:
    """Hands each on, with the translation in whose midst it is; see `versions.points`."""

    def __init__(
        self, translation: Callable[[], int | None], made: BytecodeMade, guards: GuardsMade
    ) -> None:
        """`translation` gives the number of the innermost that is under way; the others hear of
        phases as well."""
        self._translation = translation
        self._made = made
        self._guards = guards
        self.waits = Waits(translation)
        self._recorder: Recorder
        self._kernels: list[int | None] = []
        """What Inductor had counted when each phase began in which code is generated now."""
        self._loaded: dict[tuple[str, str], str] = {}
        """Where the program has loaded what is in caches, by cache and key."""
        self._hear_autograd: Hook
        self._hears_autograd = False

    def begin(self, recorder: Recorder, safely: Callable[[Callable[..., None]], Hook]) -> None:
        """Report to a recorder from now on; `safely` makes a hook that the compiler can call."""
        self._recorder = recorder
        self._hear_autograd = safely(self._autograd_missed)
        self.waits.begin(recorder, safely)

    def on_autograd_enabled(self) -> None:
        self._hears_autograd = True
        versions.hear_autograd(self._hear_autograd)

    def _autograd_missed(self, message: str) -> None:
        """Compiled autograd is about to capture a backward, for this reason."""
        answer = CacheAnswer(AUTOGRAD_CACHE, "miss", reason=shortened(message, _LONGEST))
        self._recorder.cache_answered(AUTOGRAD_CACHE, answer, self._translation())

    def __bool__(self) -> bool:
        """Whether something is heard that is to be left."""
        return self._hears_autograd or bool(self.waits)

    def leave(self) -> None:
        """Hear nothing any more."""
        self.waits.leave()
        if self._hears_autograd:
            versions.leave_autograd()
            self._hears_autograd = False

    def on_phase_began(self, event_name: str) -> None:
        self.waits.listen()
        self._recorder.phase_began(event_name)
        if event_name == GUARDS:
            self._guards.entered()
        elif event_name == GENERATING:
            self._kernels.append(versions.kernels_generated())

    def on_phase_ended(self, event_name: str) -> None:
        translation = self._translation()
        compile_id = versions.compiled_now() if translation is None else ""
        if event_name.startswith(ATTEMPT):
            self._made.attempt_ended()
        elif event_name == GUARDS:
            self._guards.left()
        kernels = self._generated() if event_name == GENERATING else None
        self._recorder.phase_ended(event_name, translation, compile_id, kernels=kernels)
        if event_name == TRACING:
            self._made.tracing_ended()
        elif event_name == BACKEND:
            self._made.backend_ended()

    def _generated(self) -> int | None:
        """The kernels since the phase began that ends."""
        before = self._kernels.pop() if self._kernels else None
        now = versions.kernels_generated()
        return None if before is None or now is None else now - before

    def on_instant_noted(self, event_name: str, metadata: Any) -> None:
        """See `versions`. What torch notes without a duration are answers of its caches, mostly."""
        found = _ANSWER.fullmatch(event_name)
        if found is not None:
            answer = self._answer(found["cache"], found["state"], metadata or {})
            self._recorder.cache_answered(event_name, answer, self._translation())

    def on_artifact_noted(self, artifact: Any) -> None:
        # This hook, `CacheInfo.add`, then who notes it.
        if versions.loads_artifacts(sys._getframe(1)):
            kind = str(artifact.type())
            key = versions.ARTIFACTS.get(kind, kind), str(artifact.key)
            self._loaded[key] = str(place(bytecode.is_program))

    def package_loaded(self, key: str) -> str:
        """Where the program has loaded the artifact that is the package of that key; empty: it was
        not seen to."""
        return self._loaded.get((versions.PRECOMPILED, key), "")

    def _answer(self, cache: str, state: str, told: dict[str, Any]) -> CacheAnswer:
        parts = {}
        # Each is `[hash] name: value`; values can be as long as the graph.
        for line in itertools.islice(told.get("components") or (), _MOST_PARTS):
            hashed, _, rest = str(line).partition("] ")
            parts[shortened(rest.partition(": ")[0], _LONGEST)] = hashed.lstrip("[")[:_LONGEST]
        reason = shortened(str(told.get("cache_bypass_reason") or ""), _LONGEST)
        key = str(told.get("key") or "")
        loaded = self._loaded.get((cache, key), "") if state == "hit" else ""
        return CacheAnswer(cache, state, key, reason, parts, loaded, _nanoseconds(state, told))


def _nanoseconds(state: str, told: dict[str, Any]) -> int | None:
    """What a hit has saved, or a miss has cost."""
    for name, size in (("time_saved_ns", 1), ("time_saved_ms", 1_000_000)):
        if state == "hit" and one_of(type(told.get(name)), (int, float)):
            return int(told[name] * size)
    taken = told.get("time_taken_ns")
    return taken if state == "miss" and type(taken) is int else None


keep_out()
