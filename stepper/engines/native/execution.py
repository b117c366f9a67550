"""What the native engine knows of executions; see `stepper.engines.common.execution`.

Transformed code returns the call of a resume function instead of making it (`stepper._C.resume`),
so that one follows its caller's walk and does not lie within it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import CodeType, FrameType, MethodType

from stepper import _C
from stepper.debuggee.described import Described
from stepper.engines.common import execution
from stepper.engines.common.execution import RunGraph
from stepper.engines.native.cache import BOOK, graphs_of
from stepper.model.resume_names import resumed_name
from stepper.model.value import Value
from stepper.native.codegen.resume_info import info_of
from stepper.native.runtime.cache_entry import GuardedCode


class ExecutionWatcher(execution.ExecutionWatcher):
    """Has executions of what the native engine has transformed followed."""

    def describe(self, value: object, /) -> Described:
        """See `Knowledge.describe`."""
        if type(value) is _C.ResumeCall:
            text = f"call of {resumed_name(value.function.__qualname__)}"
            return Described(id(value), Value(cls="ResumeCall", type="ResumeCall", text=text))
        return super().describe(value)

    def transformed(self) -> Iterator[tuple[CodeType, CodeType, str]]:
        for cache in _C.code_caches():
            if (original := cache.code) is None:
                continue
            known = BOOK.know(original)
            for entry in cache.entries:
                if isinstance(entry, GuardedCode):
                    facts = BOOK.recognize(known, entry).facts
                    yield entry.code, original, facts.compile_id

    def resumed_function(self, original: CodeType) -> str:
        return info_of(original).function

    def graphs(self, code: CodeType, frame: FrameType) -> Iterator[RunGraph]:
        for function, graph in graphs_of(code):
            forward = graph.forward
            if type(forward) is MethodType:
                yield RunGraph(function.__name__, graph, forward.__func__.__code__)

    def hear_of_runs(self, heard: Callable[..., None] | None) -> bool:
        _C.set_observer(heard)
        return True

    def watched(self, code: CodeType) -> None:
        _C.watch(code)

    def leave_alone(self, code: CodeType) -> None:
        _C.set_skip(code, "recursive")
