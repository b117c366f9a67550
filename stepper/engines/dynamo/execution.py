"""What Dynamo's engine knows of executions; see `stepper.engines.common.execution`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import CodeType, FrameType, FunctionType, MethodType

from torch.fx import GraphModule

from stepper.engines.common import execution
from stepper.engines.common.execution import RunGraph
from stepper.engines.dynamo import bytecode, versions
from stepper.engines.dynamo.cache import BOOK
from stepper.engines.dynamo.graphs import ORIGINAL, compiled_names


class ExecutionWatcher(execution.ExecutionWatcher):
    """Has executions of what Dynamo has transformed followed."""

    def compiled(self, code: CodeType, compile_id: str) -> None:
        """Dynamo has made a transformed code."""
        original = versions.original_of(code)
        self.entry_made(code, code if original is None else original, compile_id)

    def transformed(self) -> Iterator[tuple[CodeType, CodeType, str]]:
        yield from versions.transformed_codes()
        yield from BOOK.registered()

    def resumed_function(self, original: CodeType) -> str:
        return bytecode.resumed_function(original)

    def graphs(self, code: CodeType, frame: FrameType) -> Iterator[RunGraph]:
        for name in compiled_names(code):
            compiled = dict.get(frame.f_globals, name)
            if type(compiled) is not FunctionType:
                continue
            forward = compiled.__dict__.get(ORIGINAL)
            if type(forward) is MethodType and isinstance(forward.__self__, GraphModule):
                yield RunGraph(name, forward.__self__, forward.__func__.__code__)

    def hear_of_runs(self, heard: Callable[..., None] | None) -> bool:
        return versions.hear_of_runs(heard)

    def watched(self, code: CodeType) -> None:
        """See `execution.ExecutionWatcher`. Dynamo tells of whatever it has transformed."""

    def leave_alone(self, code: CodeType) -> None:
        versions.leave_alone(code)
