"""Why a frame is not looked at: all the reasons, one table.

A frame runs as it is for one of `REASONS`, or because its translation has led to nothing
(`convert_frame`). Where calls are to become one graph (`nopython`, `fullgraph`) each of them is an
error that says so; but for those that are `innocent`, by which nothing is left out that the program
has asked for.
"""

from __future__ import annotations

import collections
import contextlib
import dis
import itertools
import os
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import torch

from stepper import _C
from stepper.native import config, versions
from stepper.native.bytecode.opcodes import Instruction, listing
from stepper.native.capture_parts import replaced_in_python, replaced_in_torch
from stepper.native.guards.class_dicts import class_dict, flags_of, module_of, order_of
from stepper.native.guards.originals import replaced_in_tensors
from stepper.native.guards.scope import function_modes, is_tracing
from stepper.native.library import NUMPY, STEPPER, TORCH, is_library
from stepper.support.per_object import PerCode
from stepper.uncompiled import keep_out

Mark = Literal["capture", "frame", "recursive"]

OBJECT_COUNTERS = frozenset({"get_objects", "getallocatedblocks", "gettotalrefcount"})
"""Names of functions that see all objects of the process, the engine's among them."""
LOCALS_READERS = frozenset({"locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe"})
"""Names of functions that see a frame's variables, or the frame itself."""

_GENERATORS = 0x20 | 0x80 | 0x100 | 0x200
"""Flags of code whose call makes a generator, a coroutine or an asynchronous generator."""

wrappers: PerCode[bool] = PerCode()
"""Codes of `wrap_inline`'s functions: interpreted, though they are stepper's own."""
demanded: PerCode[bool] = PerCode()
"""Codes of which somebody has asked that a call becomes one graph, whatever it is called with."""


class Call(NamedTuple):
    """A frame that is about to begin."""

    code: types.CodeType
    function: Any
    f_locals: dict[str, Any]

    @property
    def is_captured_at_all(self) -> bool:
        """Whether it is to be captured whatever is in sight, and whose code it may be."""
        code = self.code
        return config.capture_everything and not code.co_filename.startswith((TORCH, STEPPER))


class Reason(NamedTuple):
    """One reason.

    name: to be known by.
    why: says it in words for a call that runs as it is; empty for others.
    mark: what the code is marked with, so that nobody asks again; None: it holds for this call
        only.
    innocent: it is no error where calls are to become one graph.
    """

    name: str
    why: Callable[[Call], str]
    mark: Mark | None = None
    innocent: bool = False


def _builtins_replaced(call: Call) -> str:
    replaced = replaced_in_python()
    return f"the builtin {replaced} is not Python's own" if replaced else ""


def _torch_replaced(call: Call) -> str:
    replaced = replaced_in_torch()
    return f"{replaced} is not torch's own" if replaced else ""


_DYNAMO = os.path.join(TORCH, "_dynamo") + os.sep
_COMPILERS = (
    f"{_DYNAMO}convert_frame.py",
    *(os.path.join(TORCH, name) + os.sep for name in ("export", "_export", "_inductor")),
)


def _compiles(call: Call) -> str:
    code = call.code
    if code.co_filename == f"{_DYNAMO}eval_frame.py":
        # What `torch.compile` has made: whatever it calls, Dynamo captures.
        entered = code.co_qualname.startswith("_TorchDynamoContext.__call__.")
    else:
        entered = code.co_filename.startswith(_COMPILERS)
    return "torch.compile captures it, or torch.export" if entered else ""


def _is_disabled(call: Call) -> str:
    code = call.code
    if code.co_filename != f"{_DYNAMO}eval_frame.py":
        return ""
    made = code.co_qualname.startswith("DisableContext.__call__.")
    return "torch.compiler.disable made it" if made else ""


def _is_disabled_alone(call: Call) -> str:
    if call.code.co_filename != f"{_DYNAMO}external_utils.py":
        return ""
    if call.code.co_name != "nonrecursive_disable_wrapper":
        return ""
    inner = getattr(call.f_locals.get("fn"), "__code__", None)
    if type(inner) is types.CodeType:  # what it calls now is what is not to be captured
        _C.set_skip(inner, "frame")
    return "torch.compiler.disable made it"


def _of_a_library(call: Call) -> str:
    own = is_library(call.code.co_filename) and not wrappers.get(call.code)
    return (
        "it is torch's, NumPy's, Python's or stepper's own"
        if own and not call.is_captured_at_all
        else ""
    )


def reads_its_frame(code: types.CodeType) -> frozenset[str]:
    """The names of what a code may call that reads its caller's frame. What pytest writes for an
    `assert` calls `locals` on the way to the error only, where nothing is captured."""
    readers = LOCALS_READERS.intersection(code.co_names)
    if readers and not _MAY_LEAD_TO_THEM.intersection(code.co_names):
        readers = frozenset(
            inst.argval
            for inst in listing(code).instructions
            if inst.argval in readers
            and (inst.opname not in _OF_OBJECTS or inst.argval in _FRAME_GETTERS)
        )
    if readers and readers <= {"vars", "dir"} and all(_asks_of_objects(code, n) for n in readers):
        return frozenset()
    if readers == {"locals"} and copies_its_variables(code):
        return frozenset()
    if readers and "@py_builtins" in code.co_names:
        instructions = listing(code).instructions
        readers = frozenset(
            inst.argval
            for before, inst in itertools.pairwise(instructions)
            if inst.argval in readers and before.argval != "@py_builtins"
        )
    return readers


_MAY_LEAD_TO_THEM = frozenset({"builtins", "__builtins__", "@py_builtins"})
_OF_OBJECTS = ("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR")
"""Instructions that name an attribute: `eval` is one of modules."""
_FRAME_GETTERS = frozenset({"_getframe", "currentframe"})


def _asks_of_objects(code: types.CodeType, name: str) -> bool:
    """Whether all that is done with a builtin is to call it with one argument, which no branch is
    in."""
    instructions = [i for i in listing(code).instructions if i.opname != "CACHE"]
    for place, inst in enumerate(instructions):
        if inst.argval != name or inst.opname in _OF_OBJECTS:
            continue
        null = place > 0 and instructions[place - 1].opname == "PUSH_NULL"
        if not _takes_one(instructions[place - null :]):
            return False
    return True


def _takes_one(instructions: Sequence[Instruction]) -> bool:
    """Whether what the first ones put onto the stack to be called is called with one argument."""
    height, before = 0, ""
    for inst in instructions:
        if inst.opname in ("CALL", "PRECALL") and height == 2 + (inst.arg or 0):
            return inst.arg == 1 and before != "KW_NAMES"
        if height < 0 or "JUMP" in inst.opname:
            return False
        height, before = height + dis.stack_effect(inst.opcode, inst.arg), inst.opname
    return False


def copies_its_variables(code: types.CodeType) -> bool:
    """Whether all that a code does with `locals` is to call it once: what it gives is a dictionary
    like others then. Before 3.13, a second call changes what the first gave."""
    if "locals" not in code.co_names:
        return False
    instructions = [i for i in listing(code).instructions if i.opname not in _FILLING]
    named = [
        place
        for place, inst in enumerate(instructions)
        if inst.argval == "locals" and inst.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    ]
    again = any("JUMP_BACKWARD" in inst.opname for inst in instructions)
    return len(named) == 1 and not again and instructions[named[0] + 1].opname == "CALL"


_FILLING = ("CACHE", "PUSH_NULL", "PRECALL")
"""Instructions that may stand between a function and its call."""


def _reads_its_frame(call: Call) -> str:
    readers = reads_its_frame(call.code)
    return f"it may read its own frame ({', '.join(sorted(readers))})" if readers else ""


def _counts_objects(call: Call) -> str:
    # What captures make would be in its count.
    counts = OBJECT_COUNTERS.intersection(call.code.co_names)
    return "it looks at all objects of the process" if counts else ""


def _is_generator(call: Call) -> str:
    made = call.code.co_flags & _GENERATORS
    return "a call of it makes a generator or a coroutine, which runs in parts" if made else ""


def _unlike_a_function(call: Call) -> str:
    plain = type(call.function.__globals__) is dict
    return "" if plain else "its globals are no dictionary"


def _handles_an_exception(call: Call) -> str:
    return "an exception is being handled" if sys.exc_info()[0] is not None else ""


def _is_traced(call: Call) -> str:
    return "a trace function is set (sys.settrace)" if _C.traced() else ""


def _jit_traces(call: Call) -> str:
    return "torch.jit is tracing" if is_tracing() else ""


def _in_a_function_mode(call: Call) -> str:
    return "a torch function mode is active" if function_modes() else ""


def _tensors_replaced(call: Call) -> str:
    replaced = replaced_in_tensors()
    return f"torch.Tensor.{replaced} is not torch's own" if replaced else ""


def _in_a_transform(call: Call) -> str:
    active = versions.in_a_transform()
    return "a transform of torch.func is active" if active else ""


def _saves_with_hooks(call: Call) -> str:
    # Fake tensors would be saved, too.
    active = versions.saves_with_hooks()
    return "hooks of saved tensors are active" if active else ""


def _without_tensors(call: Call) -> str:
    wanted = call.is_captured_at_all or demanded.get(call.code) or wrappers.get(call.code)
    return "" if wanted or has_tensor_in_frame(*call) else "no tensor is in sight"


REASONS = (
    Reason("builtins", _builtins_replaced),
    Reason("torch", _torch_replaced),
    Reason("compiler", _compiles, "recursive", innocent=True),
    Reason("disabled", _is_disabled, "recursive", innocent=True),
    Reason("disabled alone", _is_disabled_alone, innocent=True),
    Reason("library", _of_a_library, "frame", innocent=True),
    Reason("own frame", _reads_its_frame, "frame"),
    Reason("objects", _counts_objects, "recursive"),
    Reason("generator", _is_generator, "frame"),
    Reason("globals", _unlike_a_function, "frame"),
    Reason("exception", _handles_an_exception),
    Reason("traced", _is_traced),
    Reason("jit", _jit_traces),
    Reason("function mode", _in_a_function_mode),
    Reason("tensors", _tensors_replaced),
    Reason("transform", _in_a_transform),
    Reason("saved tensors", _saves_with_hooks),
    Reason("no tensor", _without_tensors, innocent=True),
)
"""In the order in which they are asked."""


def why_skip(call: Call) -> tuple[str, Reason] | None:
    """Why a frame is not looked at, in words, and the reason; None: it is."""
    for reason in REASONS:
        if words := reason.why(call):
            return words, reason
    return None


def has_tensor_in_frame(
    code: types.CodeType, function: types.FunctionType, f_locals: dict[str, Any]
) -> bool:
    """Whether a frame can have to do with tensors: through its variables, or by a module of
    torch."""
    if any(has_tensor(value, 3) for value in f_locals.values()):
        return True
    namespace = function.__globals__
    for name in code.co_names:
        value = namespace.get(name)
        if type(value) is types.ModuleType:
            if str(value.__name__).partition(".")[0] == "torch":
                return True
        elif issubclass(type(value), torch.Tensor | torch.nn.Module):
            return True
    return False


def _slots(value: object) -> Iterator[object]:
    """What is in the slots of an object."""
    for cls in order_of(type(value)):
        for slot in class_dict(cls).values():
            if type(slot) is types.MemberDescriptorType:
                with contextlib.suppress(AttributeError):
                    yield slot.__get__(value)


def has_tensor(value: Any, depth: int) -> bool:
    """Whether a value is a tensor, array, module or optimizer, or has one in it."""
    kind = type(value)
    if NUMPY is not None and kind is NUMPY.ndarray:
        return True
    if issubclass(kind, torch.Tensor | torch.nn.Module | torch.optim.Optimizer):
        return True
    if depth == 0:
        return False
    for sequence in (list, tuple):
        if issubclass(kind, sequence):
            items = sequence.__getitem__(value, slice(50))
            return any(has_tensor(item, depth - 1) for item in items)
    if kind is types.MappingProxyType:
        return has_tensor(dict(value), depth - 1)
    if issubclass(kind, collections.deque):
        return any(has_tensor(item, depth - 1) for item in list(value)[:50])
    if issubclass(kind, dict):
        return any(has_tensor(item, depth - 1) for item in list(dict.values(value))[:50])
    if module_of(kind) != "builtins" and any(has_tensor(each, depth - 1) for each in _slots(value)):
        return True
    if module_of(kind) != "builtins" and flags_of(kind) & (1 << 9):
        try:
            fields = object.__getattribute__(value, "__dict__")
        except AttributeError:
            return False
        if type(fields) is dict:
            return any(has_tensor(item, depth - 1) for item in list(fields.values())[:50])
    return False


keep_out()
