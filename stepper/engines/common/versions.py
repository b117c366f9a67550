"""Private torch that every engine needs, `ShapeEnv`, fake tensors, the state of a thread; and what
differs between the versions of CPython.

Whoever captures programs for torch's compilers has torch decide about sizes, and runs operators on
fake tensors. No other file of `stepper.engines.common` names what is private to torch
(`tests/test_private_names.py`). All of it is the same in the versions that are supported; what
differs would be told apart here, as in `stepper.engines.dynamo.versions`.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import sys
import traceback
from collections.abc import Iterator
from types import CodeType
from typing import Any

import torch
import torch.fx
from torch._C._dynamo.guards import GlobalStateGuard
from torch._library.custom_ops import OPDEFS
from torch._library.simple_registry import singleton as _operators
from torch._subclasses.fake_tensor import FakeTensor
from torch.overrides import _get_current_function_mode_stack
from torch.utils import _device

from stepper.engines.common.probe_points import ProbePoint

__all__ = ["FakeTensor"]

# -- CPython -----------------------------------------------------------------------------------

_PYTHON = sys.version_info[:2]

HAS_MONITORING = _PYTHON >= (3, 12)
"""`sys.monitoring` tells of the beginning of single code objects."""
CALL_SHAPE: tuple[bool, bool] = {
    (3, 11): (True, True),
    (3, 12): (True, False),
    (3, 13): (False, False),
    (3, 14): (False, False),
}[_PYTHON]
"""How a call stands on the stack: whether NULL is below the callable, and whether PRECALL comes."""
NONE_JUMP: tuple[str, int] = {
    (3, 11): ("POP_JUMP_FORWARD_IF_NONE", 0),
    (3, 12): ("POP_JUMP_IF_NONE", 0),
    (3, 13): ("POP_JUMP_IF_NONE", 1),
    (3, 14): ("POP_JUMP_IF_NONE", 1),
}[_PYTHON]
"""How to jump if a value is None: the opcode, and its inline cache entries."""

# -- symbolic shapes ---------------------------------------------------------------------------

_SHAPES = "torch.fx.experimental.symbolic_shapes"

POINTS: dict[str, ProbePoint] = {
    "symbol_asked": ProbePoint(
        _SHAPES, "ShapeEnv.create_symbol", ("self", "val", "source", "dynamic_dim")
    ),
    "symbol_unbacked": ProbePoint(
        _SHAPES, "ShapeEnv._log_create_unbacked_symbol", ("self", "symbol", "source")
    ),
    "shape_condition": ProbePoint(_SHAPES, "ShapeEnv._log_guard", ("self", "prefix", "g")),
    "replacement_asked": ProbePoint(
        _SHAPES, "ShapeEnv._set_replacement", ("self", "a", "tgt", "msg")
    ),
    "range_asked": ProbePoint(_SHAPES, "ShapeEnv._update_var_to_range", ("self", "symbol")),
    "shape_undecided": ProbePoint(
        _SHAPES, "ShapeEnv._make_data_dependent_error", ("self", "unhinted_expr")
    ),
    "shape_assumed": ProbePoint(
        _SHAPES, "ShapeEnv._log_suppressed_dde", ("self", "a", "assumed_value")
    ),
}
"""What the call of one of a ShapeEnv's methods means, and where that is: the methods of
`stepper.engines.common.shapes.ShapeWatcher` of these names."""

_CACHES = {
    "find_guarded_entry": os.path.join("_inductor", "codecache.py"),
    "evaluate_guards": os.path.join("_functorch", "_aot_autograd", "autograd_cache.py"),
}
_BACKWARD = os.path.join("_functorch", "_aot_autograd", "runtime_wrappers.py")
_TORCH = f"{os.path.dirname(torch.__file__)}{os.sep}"
_DECIDING = (
    os.path.join(_TORCH, "__init__.py"),  # torch._check
    *(
        os.path.join(_TORCH, "fx", "experimental", name)
        for name in ("symbolic_shapes.py", "sym_node.py", "recording.py")
    ),
    os.path.join(_TORCH, "_inductor", "sizevars.py"),
)


def source_name(source: Any) -> str:
    """The expression of a Source of torch's, e.g. `L['x'].weight`; empty when torch itself has
    none."""
    try:
        name = source.name
    except NotImplementedError:
        return ""
    return name if type(name) is str else str(name())


def is_size_or_number(source: Any) -> bool:
    """Whether a Source is that of a tensor's size or of a number: not of a stride or an offset."""
    what = getattr(source, "prop", None)
    return what is None or what._name_ == "SIZE"


def is_running_graph(code: CodeType) -> bool:
    """Whether a code object is that of what runs or lowers a graph, its local `node` after node."""
    return code.co_name == "run" and code.co_filename == torch.fx.interpreter.__file__


def is_cache(code: CodeType) -> bool:
    """Whether a code object is that of what evaluates the conditions of a graph from a cache."""
    return any(
        code.co_name == name and code.co_filename.endswith(file) for name, file in _CACHES.items()
    )


def is_backward(code: CodeType) -> bool:
    """Whether a code object is that of what runs a compiled backward."""
    return code.co_name in ("backward", "_backward_impl") and code.co_filename.endswith(_BACKWARD)


def is_backward_compile(code: CodeType) -> bool:
    """Whether a code object is that of what has a backward compiled when gradients are asked
    for."""
    # Since torch 2.13 a method of its own; before, it is done in the backward itself.
    names = ("get_or_compile", "_backward_impl", "backward")
    return code.co_name in names and code.co_filename.endswith(_BACKWARD)


def traced_frames() -> traceback.StackSummary:
    """The program's frames that torch knows of in what is compiled in this thread, the outermost
    first."""
    return torch._guards.TracingContext.extract_stack()


def part_of_torch(filename: str) -> str:
    """The subpackage of torch that a file belongs to, e.g. `_inductor`; empty: to none."""
    return filename[len(_TORCH) :].partition(os.sep)[0] if filename.startswith(_TORCH) else ""


def asks_for_shapes(filename: str) -> bool:
    """Whether a file is torch's, and none of those that decide about sizes."""
    return filename.startswith(_TORCH) and filename not in _DECIDING


# -- tensors -----------------------------------------------------------------------------------

without_torch_function = torch._C.DisableTorchFunction
"""While it lasts, no `__torch_function__` is called, of modes neither."""
function_mode_is_on = torch._C._is_torch_function_mode_enabled


def buffers_of(module: torch.nn.Module) -> list[torch.Tensor | None]:
    """A module's own buffers, those that are None, too."""
    return [*module._buffers.values()]


def is_operator(value: object) -> bool:
    """Whether something is an operator of `torch.ops`, or all overloads of one: classes whose `str`
    is their name."""
    return type(value).__module__ == torch._ops.__name__


_NUMPY = {
    "numpy_to_tensor_wrapper": "numpy.{}",
    "numpy_method_wrapper": "numpy.ndarray.{}",
    "numpy_operator_wrapper": "operator.{}",
}
"""What Dynamo puts into a graph for functions of numpy, methods of its arrays, and operators."""


def fakes() -> Iterator[tuple[str, object]]:
    """What is registered for fake tensors, with the operator's name. Of an operator that
    `torch.library.custom_op` has made torch has a function of its own, which calls the program's;
    that comes next."""
    for name, entry in [*_operators._data.items()]:
        yield name, getattr(entry.fake_impl.kernel, "func", None)
        yield name, getattr(OPDEFS.get(name), "_abstract_fn", None)


def numpy_name(value: object) -> str:
    """What of numpy a node of a graph calls; empty: something else."""
    kind = type(value)
    if kind.__module__ != "torch._dynamo.utils" or kind.__name__ not in _NUMPY:
        return ""
    name: str = vars(value)["__name__"]
    return _NUMPY[kind.__name__].format(name.removeprefix("wrapped_"))


def mark_dynamic(tensor: torch.Tensor, dim: int, *, strict: bool) -> None:
    """Have a tensor's size be a symbol; where it must be a number, that is an error if `strict`."""
    mark = torch._dynamo.mark_dynamic if strict else torch._dynamo.maybe_mark_dynamic
    mark(tensor, dim)


def mark_unbacked(tensor: torch.Tensor, dim: int) -> None:
    """Have a tensor's size be a symbol of which nothing is known, so that 0 and 1 are no others."""
    torch._dynamo.decorators.mark_unbacked(tensor, dim)


# -- the state of a thread ---------------------------------------------------------------------

_REDUCED = ("allow_fp16_reduce", "allow_bf16_reduce")
_REDUCTIONS = {0: "True", 1: "False", 2: "False, nor split-K"}
"""By the number that the guard has (`at::CuBLASReductionOption`), as
`torch.backends.cuda.matmul` is set."""


def function_modes() -> list[object]:
    """The torch function modes that are active, the innermost last."""
    found: list[object] = _get_current_function_mode_stack()  # type: ignore[no-untyped-call]  # torch leaves it untyped
    return found


def functorch_transforms() -> list[str]:
    """The transforms of torch.func around what runs, by their names, the outermost first."""
    stack = torch._C._functorch.get_interpreter_stack() or ()
    return [each.key().name.lower() for each in stack]


def global_state() -> dict[str, str]:
    """The switches that torch's guard on the global state compares, by its own names, as far as
    this torch has them."""
    of = json.loads(str(GlobalStateGuard().__getstate__()))
    caches = of.get("autocast_state", {}).get("cached_enabled")
    return {
        **{name: str(on) for name, on in of.items() if isinstance(on, bool)},
        **{name: _REDUCTIONS.get(of[name], str(of[name])) for name in _REDUCED if name in of},
        **({} if caches is None else {"autocast_cache_enabled": str(caches)}),
    }


def default_device() -> Any:
    """What `torch.set_default_device` has set; None: nothing."""
    return _device.CURRENT_DEVICE


# -- collectives -------------------------------------------------------------------------------

GROUP_MADE = ProbePoint("torch.distributed.distributed_c10d", "_new_process_group_helper", ())
"""Makes a process group. Dynamo traces none of its module."""

HAS_COLLECTIVES = torch.distributed.is_available()
"""Whether this torch can have process groups."""

_FLIGHT_RECORDERS = {"gloo": "_dump_fr_trace", "nccl": "_dump_nccl_trace"}
_UNSIGNED_64 = 1 << 64


def flight_records(*, collectives: bool) -> dict[str, dict[str, Any]]:
    """What torch's flight recorders have now, by backend, as torch documents its dump: how far each
    process group is, and with `collectives` the newest of them with the stacks that began them.

    Torch keeps them whether somebody reads them or not, unless the program's environment forbids it
    (`TORCH_FR_BUFFER_SIZE=0`). To read them changes nothing.
    """
    found = {}
    for backend, name in _FLIGHT_RECORDERS.items():
        dump = getattr(torch._C._distributed_c10d, name, None)
        if dump is not None:
            # Pickled by torch in this process, just now.
            found[backend] = pickle.loads(dump(collectives, collectives, False))
    return found


def sequence_number(value: Any) -> int:
    """The number of a collective in a flight recorder's status; 0: it says that there is none."""
    number = int(value)
    return number if 0 < number < _UNSIGNED_64 - 1 else 0


def process_groups() -> dict[str, tuple[int, ...]]:
    """The process groups that there are: the global ranks of their members, by torch's names."""
    found: dict[str, tuple[int, ...]] = {}
    # They are made and destroyed by other threads.
    with contextlib.suppress(RuntimeError, AttributeError):
        world = torch.distributed.distributed_c10d._world
        for group, name in list(world.pg_names.items()):
            found[str(name)] = tuple(sorted(world.pg_group_ranks.get(group, ())))
    return found
