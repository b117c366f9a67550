"""What is captured, or runs compiled, without a translation here: told once, so that a recording
does not look as if nothing had been there.

`torch.export.export` without `strict` runs the program and notes its operators; no bytecode is
interpreted. When it fails, its traceback says where. `torch.compile` can be told to leave a
function as it is, and what it makes runs as it is, or is refused, where FX, an export or
TorchScript trace what calls it. Code that was compiled in another process comes from a file: of a
function compiled ahead of time, or of a package of precompiled code. Each is an event that says so.
"""

from __future__ import annotations

import _thread
import sys
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any

from stepper.debuggee.engine import Recorder
from stepper.debuggee.occurrence import Subject
from stepper.engines.common.cache_news import place
from stepper.engines.common.placed_probes import Probes
from stepper.engines.common.python_stack import program_stack
from stepper.engines.dynamo import bytecode, failures, versions
from stepper.engines.dynamo.cache import BOOK
from stepper.model.trace import EventKind
from stepper.uncompiled import keep_out

_EXPORTED = (
    "captured by torch.export without strict=True, which runs it and interprets no bytecode: "
    "not recorded"
)
_LOADED = {
    versions.AHEAD_OF_TIME: "loaded as it was compiled ahead of time",
    versions.PACKAGED: "loaded from a package of precompiled code",
}


_program_stack = program_stack(bytecode.is_machinery)


class Untranslated:
    """Tells the recorder of it."""

    def __init__(self, codes: bytecode.CodeTable, package_loaded: Callable[[str], str]) -> None:
        """
        Args:
            codes: has them stored.
            package_loaded: where the program has loaded a package with others; see `Phases`.
        """
        self._codes = codes
        self._package_loaded = package_loaded
        self._probes = Probes()
        self._told: set[str] = set()
        self._failures: dict[int, int] = {}
        """How many failures there were when a thread's newest export began, by the thread."""
        self._hears_calls = False

    def install(self, recorder: Recorder, safely: Callable[..., Callable[..., None]]) -> None:
        """Begin to listen."""
        self._recorder = recorder
        self._safely = safely
        points = versions.points.untranslated_points()
        for meaning, point in points.items():
            self._probes.place(point, safely(getattr(self, f"_on_{meaning}")))
        # What imports Dynamo, and so begins a session, can be the export itself.
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if versions.is_export(frame.f_code):
                self._on_exported(frame.f_locals["mod"], frame.f_locals["strict"])
            frame = frame.f_back

    def uninstall(self) -> None:
        """Listen no more."""
        self._probes.remove()
        self._hears_calls = False
        self._told.clear()
        self._failures.clear()

    def _on_exported(self, mod: Any, strict: bool) -> None:
        self._failures[_thread.get_ident()] = self._recorder.failures
        if not strict:
            self._tell(type(mod).__qualname__, f"{_EXPORTED}; {place(bytecode.is_program)}")

    _on_drafted = _on_exported

    def _on_export_noted(self) -> None:
        # This hook, the function that notes, then who calls it.
        failed = versions.failed_export(sys._getframe(2))
        before = self._failures.get(_thread.get_ident())
        if failed is None or before is None or self._recorder.failures > before:
            return  # of what Dynamo translated, it is told already
        export, error = failed
        name = type(export.f_locals["mod"]).__qualname__
        stack = _program_stack(export)
        failure, innermost = failures.of_export(error, self._recorder.moment, name, stack)
        if innermost is not None:
            self._codes.plain(innermost.f_code)
        self._recorder.failed(failure)

    def _on_left_as_it_is(self, fn: Any) -> None:
        self._tell_of(
            fn, f"torch.compile leaves it as it is, since {versions.rule_of_no_compilation()}"
        )

    def _on_called_in_trace(self) -> None:
        found = versions.nested_call(sys._getframe())
        if found is not None:
            self._tell_of(*found)

    _on_called_in_fx = _on_called_in_export = _on_called_in_trace

    def _on_jit_traces(self) -> None:
        if not self._hears_calls:
            self._hears_calls = True
            self._probes.place(versions.points.CALLED, self._safely(self._on_called_in_trace))

    def _on_scripted(self, fn: Any) -> None:
        compiled = versions.scripted_compiled(fn)
        if compiled is not None:
            self._tell_of(compiled, "torch.jit.script makes TorchScript of it as it was before")

    def _on_guards_made(self, f_code: CodeType) -> None:
        # This hook, the guards' `__init__`, then who has them made.
        making = sys._getframe(1)
        loaded = _LOADED.get(versions.loading(making))
        if loaded is not None:
            here = place(bytecode.is_program)
            before = self._package_loaded(versions.package_key(making))
            brought = f", which load_cache_artifacts had loaded {before}" * bool(before)
            BOOK.know(f_code).loaded = f"loaded {here}{brought}"
            where = f"({f_code.co_filename}:{f_code.co_firstlineno})"
            text = f"{where} {loaded}{brought}: it is not translated here; {here}"
            self._tell(f_code.co_qualname, text)

    def _tell_of(self, fn: Any, text: str) -> None:
        self._tell(_name(fn), f"{text}; {place(bytecode.is_program)}")

    def _tell(self, name: str, text: str) -> None:
        said = f"{name}: {text}"
        if said not in self._told:
            self._told.add(said)
            self._recorder.occurred(EventKind.SKIP, said, None, Subject(name=name))


def _name(fn: Any) -> str:
    """What `torch.compile` was given is called so."""
    of = fn.__func__ if type(fn) is MethodType else fn
    if type(of) is not FunctionType:
        of = type(of)
    elif of is not fn and not bytecode.is_program(of.__code__.co_filename):
        of = type(fn.__self__)  # a method that all modules have, by `Module.compile`
    return str(of.__qualname__)


keep_out()
