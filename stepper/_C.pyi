"""The C parts of stepper. Sources in `csrc/`; each file there opens with how it works and why."""

from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, Final, Generic, ParamSpec, TypeVar, final

_P = ParamSpec("_P")
_R = TypeVar("_R")

# --- what a frame holds (csrc/value_stack.c) ---

@final
class Null:
    """The type of `NULL`. False as a condition."""

NULL: Final[Null]
"""Stands for an empty slot of a value stack, as there are before calls and in loops' cleanup."""

def value_stack(frame: FrameType) -> list[Any] | None:
    """The values on the frame's stack, the top last, or None where CPython does not say how many.

    Never wrong and never unsafe, whatever the objects do: the end of the stack is known inside an
    `AtInstruction` callback (for the frame whose instruction is about to run); in callbacks of
    `sys.settrace` on 3.11 and of line events; of callers that CPython itself left at a call of
    another Python function; of suspended generators and coroutines; of frames that have returned.
    Elsewhere, as in a frame that waits for a C function or a destructor, it is not.
    """

def frame_locals(frame: FrameType) -> dict[str, Any]:
    """What the frame's bound locals, cells and free variables hold, by name.

    Unlike `frame.f_locals`, it leaves no copy in the frame and is only what is there now. Variables
    of modules and class bodies are not in slots, and not in this.
    """

def stack_depth(code: CodeType, offset: int) -> int | None:
    """How deep the stack is before the instruction at this offset (in bytes, as in `dis`).

    None where control never comes, and everywhere in code whose jumps, exception table and
    `co_stacksize` contradict each other.
    """

@final
class AtInstruction(Generic[_P, _R]):
    """A callback for instruction events, in which `value_stack` knows the frame's stack.

    Register it in place of the callback: with `sys.monitoring.register_callback` for INSTRUCTION,
    or return it from a trace function for opcode events. Everything is passed on to the callback.
    On 3.11 it changes nothing, since traced frames know their stack there.
    """

    def __new__(cls, callback: Callable[_P, _R]) -> AtInstruction[_P, _R]: ...
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...

# --- what runs (csrc/frame_hook.c) ---

def install_hook() -> None:
    """Be there whenever a Python function is called (PEP 523).

    The evaluator that was there before goes on running the frames, so under TorchDynamo's own hook
    this one sees what Dynamo runs: transformed codes, resume functions, originals. For that order,
    install it while Dynamo is not active in any thread; Dynamo then puts itself above it, and back
    to it. A call costs some 30 to 50 ns more while it is installed, and nothing once it is removed.
    """

def remove_hook() -> None:
    """Put back the evaluator that was there before.

    Raises:
        RuntimeError: another evaluator has been put over the hook since.
    """

def hook_installed() -> bool: ...
def set_observer(
    enter: Callable[[CodeType, Any], object] | None,
    leave: Callable[[CodeType, Any, bool], object] | None = None,
) -> None:
    """Tell `enter(code, tag)` and `leave(code, tag, raised)` about each call of a watched code.

    In whatever thread it is. What they call themselves is not told, what they return is ignored and
    what they raise goes to `sys.unraisablehook`. They are ordinary Python functions: have Dynamo
    skip their code, or it will compile them.
    """

def watch(code: CodeType, tag: object = None) -> None:
    """Count the calls of this code object, and tell the observer about them.

    Only of this very object: a copy, like the one that a compiler made of it, is another.
    """

def unwatch(code: CodeType) -> None: ...
def watched_calls(code: CodeType) -> int:
    """How often it was called since it is watched, or was until it was unwatched."""
