"""Private torch: what the compiler uses of torch that torch does not promise to keep.

The compiler is built on torch's public parts: FX, operators, `torch.compiler`. What torch has no
public name for stands here and in no other file of `stepper.native`
(`tests/test_private_names.py`): how tensors are guarded and faked, what torch keeps for each
thread, what its operators say of themselves. All of it is the same in torch 2.11 to 2.15; what
comes to differ is to be told apart here. What differs between the bytecodes of CPython stands in
`stepper.native.bytecode.opcodes`.

What is called at each cached call, or while a program may have replaced torch's names, is held here
under a name of ours, so a program's replacement is not called.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import sys
import threading
import types
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
import torch.fx
import torch.utils.checkpoint
from torch import _refs
from torch._C._dynamo.eval_frame import set_eval_frame
from torch._C._dynamo.guards import (
    GlobalStateGuard,
    TensorGuards,
    set_is_in_mode_without_ignore_compile_internals,
)
from torch._dispatch.python import enable_python_dispatcher
from torch._functorch import apis, eager_transforms, vmap
from torch._higher_order_ops import wrap
from torch._library.custom_ops import CustomOpDef
from torch._ops import (
    HigherOrderOperator,
    OpOverload,
    OpOverloadPacket,
    _HigherOrderNamespace,
    _OpNamespace,
    _Ops,
)
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
)
from torch.autograd import forward_ad
from torch.fx import traceback as fx_traceback
from torch.fx.experimental import proxy_tensor
from torch.fx.graph import _PyTreeCodeGen as PyTreeCodeGen
from torch.fx.graph import _PyTreeInfo as PyTreeInfo
from torch.fx.node import _get_qualified_name as qualified_name
from torch.nn import attention
from torch.nn.modules.lazy import LazyModuleMixin
from torch.utils import _device, _python_dispatch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from stepper.support.words import Classes

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from torch.fx.node import Argument

__all__ = [
    "CustomOpDef", "DataDependentOutputException", "DynamicOutputShapeException", "FakeTensor",
    "FakeTensorMode", "GlobalStateGuard", "HigherOrderOperator", "OpOverload",
    "OpOverloadPacket", "PyTreeCodeGen", "PyTreeInfo", "TensorGuards",
    "TorchDispatchMode", "pytree", "qualified_name", "set_eval_frame",
]  # fmt: skip

_C: Any = torch._C
"""Torch's stubs do not name all of it."""

# -- functions and classes that torch has made in C ------------------------------------------------

NATIVE_MODULE = torch._C
"""What torch has made in C: the functions by which its Python asks and sets its state."""
VARIABLE_FUNCTIONS: object = _C._VariableFunctions
"""Holds the operators that `torch` has as functions of its own."""
FUNCTION_NAMESPACES: tuple[object, ...] = (
    VARIABLE_FUNCTIONS, _C._nn, _C._special, _C._linalg, _C._fft,
)  # fmt: skip
"""Hold all operators that a public module of torch has as functions."""


def makes_ready(module: LazyModuleMixin) -> Callable[..., object] | None:
    """What makes a lazy module ready, as the hook that it is; None: it has other hooks, too."""
    module_: Any = module
    hooks = [getattr(hook, "__func__", None) for hook in module_._forward_pre_hooks.values()]
    return module_._infer_parameters if hooks == [LazyModuleMixin._infer_parameters] else None


def is_called_plainly(graph_module: torch.fx.GraphModule) -> bool:
    """Whether calling a graph module calls what the bases of its class, which it has alone, do."""
    kind: Any = type(graph_module)
    own = "_wrapped_call" in vars(graph_module)
    return not own and kind._wrapped_call.cls_call is None


TensorBase: type = torch._C.TensorBase
"""What `torch.Tensor` is made of: has those methods that are operators."""
sym_sqrt: Callable[..., object] = torch._sym_sqrt  # type: ignore[attr-defined]  # no stub has it
"""What FX calls for the square root of a size; `torch.sym_sqrt` is only documented."""

OWN_NAMES = ("_is_functional_tensor",)
"""The private names of `torch` that its wrappers look up when an operator is called."""
UTILITIES = ("_device",)
"""The private names of `torch.utils` that `torch` looks up at run time."""

# -- operators -------------------------------------------------------------------------------------

OPERATOR_NAMESPACES = Classes(_Ops, _OpNamespace, _HigherOrderNamespace)
"""The classes of `torch.ops` and of what is found in it by the name of a library."""
FILLED_WHEN_ASKED = Classes(_OpNamespace, _HigherOrderNamespace, OpOverloadPacket)
"""Classes of objects that keep what they were asked for by its name, if there is such a thing."""


def operator_of(custom: CustomOpDef) -> OpOverload:
    """The operator that `torch.library.custom_op` has made of a function."""
    return custom._opoverload


def is_torchs_own(operator: OpOverload | OpOverloadPacket) -> bool:
    """Whether an operator is one of torch's, and not of another library or the program."""
    return str(operator).partition(".")[0] in ("aten", "prims", "prim")


def arguments_of(overload: OpOverload) -> list[torch._C.Argument]:
    """The arguments of an operator, as its schema has them."""
    return overload._schema.arguments


# -- the state that guards are about ---------------------------------------------------------------

set_grad_enabled = torch._C._set_grad_enabled
"""Also a node of graphs: where the program changes the mode."""
tensor_of_symbols: Callable[..., object] = _refs.tensor
"""`torch.tensor`, of numbers that may be symbols without a value."""
cudnn_enabled = torch._C._get_cudnn_enabled
group_tensors: Callable[..., object] = torch._C._group_tensors_by_device_and_dtype
function_stack_size = torch._C._len_torch_function_stack
function_mode_at = torch._C._get_function_stack_at
dispatch_stack_size = torch._C._len_torch_dispatch_stack
is_tracing = torch._C._is_tracing
tracing_state = torch._C._get_tracing_state
are_transforms_active: Callable[[], bool] = _C._are_functorch_transforms_active
is_torch_function_enabled: Callable[[], bool] = torch._C._is_torch_function_enabled
LAZY_PROPERTY: type = torch.distributions.utils._lazy_property_and_property
"""What a class of distributions gives for a property; it is only asked of which class it is."""
own_backend_name = torch._C._get_privateuse1_backend_name
log_usage = torch._C._log_api_usage_once
assert_true: Callable[..., object] = torch._assert_async
check: Callable[..., object] = torch._check
CHECKS: frozenset[object] = frozenset(
    {
        check, torch._assert, torch._check_index, torch._check_value, torch._check_type,
        torch._check_not_implemented,
    }
)  # fmt: skip
"""Functions that do nothing if their first argument is true."""
autocast_is_on = torch._C._is_any_autocast_enabled

DEVICE_MODULE = _device
"""Has `CURRENT_DEVICE`, which `torch.set_default_device` sets."""


def default_device() -> object:
    """What `torch.set_default_device` has set; None: nothing."""
    return _device.CURRENT_DEVICE


def in_a_transform() -> bool:
    """Whether a transform of `torch.func` is active in this thread."""
    return torch._C._functorch.peek_interpreter_stack() is not None


def saves_with_hooks() -> bool:
    """Whether saved tensors go through hooks in this thread."""
    return torch._C._autograd._top_saved_tensors_default_hooks(True) is not None


NO_OVERRIDE: object = torch._C._disabled_torch_function_impl
"""What a class has as `__torch_function__` that is not asked."""
NO_DISPATCH: object = vars(torch.Tensor)["__torch_dispatch__"]
DEFAULT_OVERRIDE: object = vars(torch.Tensor)["__torch_function__"].__func__
push_function_mode = torch._C._push_on_torch_function_stack
pop_function_mode = torch._C._pop_torch_function_stack
SCRIPTED: type = torch.jit.ScriptFunction
WRITTEN_AS = "_torchdynamo_inline"
"""Where a function that was scripted has the one in Python."""
OVERRIDES_OFF: object = torch._C.DisableTorchFunctionSubclass


def without_overrides() -> AbstractContextManager[None]:
    """While it lasts, `__torch_function__` of a tensor's class is not called."""
    found: AbstractContextManager[None] = torch._C.DisableTorchFunctionSubclass()
    return found


# -- modes in graphs -------------------------------------------------------------------------------

_entered = threading.local()


def _entering(
    name: str, make: Callable[..., AbstractContextManager[object]]
) -> Callable[..., AbstractContextManager[object]]:
    """A node of graphs: what it makes is entered from there on."""

    def enter(*given: object) -> AbstractContextManager[object]:
        context = make(*given)
        context.__enter__()
        _entered.__dict__.setdefault("contexts", []).append(context)
        return context

    enter.__name__ = enter.__qualname__ = name
    return enter


inference_mode: Callable[..., AbstractContextManager[object]] = torch.inference_mode
_sdpa_kernel: Callable[..., AbstractContextManager[object]] = attention.sdpa_kernel
ATTENTION_KINDS: type = attention.SDPBackend
"""Its members are constants that C has made."""
READS_STATICALLY: object = vars(type(ATTENTION_KINDS))["__getattribute__"]
"""Reads attributes of classes that pybind has made, and does it as `type` but for its own."""
_vmap: Callable[..., AbstractContextManager[object]] = vmap.vmap_increment_nesting
_grad: Callable[..., AbstractContextManager[object]] = eager_transforms.grad_increment_nesting
_jvp: Callable[..., AbstractContextManager[object]] = eager_transforms.jvp_increment_nesting


def _attention(kinds: tuple[int, ...], in_order: bool) -> AbstractContextManager[object]:
    return _sdpa_kernel([*map(ATTENTION_KINDS, kinds)], in_order)


def sdpa_arguments(made: contextlib._GeneratorContextManager[object]) -> tuple[Argument, ...]:
    """What makes another such context."""
    given = {**dict(zip(("backends", "set_priority"), made.args, strict=False)), **made.kwds}
    kinds = given["backends"]
    several = kinds if isinstance(kinds, list) else [kinds]
    return tuple(map(int, several)), given.get("set_priority", False)


@contextlib.contextmanager
def _forward_mode() -> Iterator[None]:
    """All that `jvp` enters: the level for tensors with tangents is one for those within."""
    with _jvp(), _forward_gradients(True):
        first = eager_transforms.JVP_NESTING == 1
        with forward_ad.dual_level() if first else contextlib.nullcontext():
            yield


enter_autocast = _entering("enter_autocast", torch.autocast)
enter_record_function = _entering("enter_record_function", torch.autograd.profiler.record_function)
"""What runs from there on has a name in profiles."""
enter_sdpa_kernel = _entering("enter_sdpa_kernel", _attention)
"""Attention is computed in one of these ways."""
enter_inference_mode = _entering("enter_inference_mode", inference_mode)
enter_device = _entering("enter_device", torch.device)
"""What is made is made there."""
enter_vmap = _entering("enter_vmap", _vmap)
"""Operators work on each slice of what `vmap` was given."""
enter_grad = _entering("enter_grad", _grad)
"""Operators are followed by a `grad` of their own."""
enter_jvp = _entering("enter_jvp", _forward_mode)
"""Operators compute tangents of what they give, too."""
enter_without_hooks = _entering(
    "enter_without_hooks", torch.autograd.graph.disable_saved_tensors_hooks
)
"""Nobody may have saved tensors go through hooks."""


def leave_mode(context: AbstractContextManager[object], again: bool = False) -> None:
    """Leave what such a node has entered.

    again: it is autocast, and entered again at once: what it has cast is not cast again then.
    """
    _entered.contexts.remove(context)
    if again:
        torch.autocast_increment_nesting()
    context.__exit__(None, None, None)
    if again:
        torch.autocast_decrement_nesting()


def end_modes(grad_enabled: bool) -> None:
    """Have the modes be as they were before a graph has run, which may have ended anywhere."""
    set_grad_enabled(grad_enabled)
    while contexts := _entered.__dict__.get("contexts"):
        contexts.pop().__exit__(None, None, None)


OF_MODES = frozenset(
    {
        set_grad_enabled, enter_autocast, enter_record_function, enter_inference_mode, enter_vmap,
        enter_grad, enter_jvp, enter_without_hooks, enter_sdpa_kernel, enter_device, leave_mode,
    }
)  # fmt: skip
"""The nodes that are only about modes."""


def autocast_defaults(device: str) -> str:
    """What `torch.autocast` takes on a device where nothing is given, as a text."""
    return f"{torch.get_autocast_dtype(device)}, cache {torch.is_autocast_cache_enabled()}"


@contextlib.contextmanager
def without_autocast_cache() -> Iterator[None]:
    """Have autocast cast parameters each time."""
    before = torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(False)
    try:
        yield
    finally:
        torch.set_autocast_cache_enabled(before)


def autocast_arguments(made: torch.autocast) -> tuple[str | bool | torch.dtype | None, ...]:
    """What makes another such context."""
    return made.device, made.fast_dtype, made._enabled, made._cache_enabled


def autocast_before(entered: torch.autocast) -> tuple[str | bool | torch.dtype | None, ...]:
    """What makes a context in which it is as it was before this one was entered."""
    was: tuple[str | bool | torch.dtype | None, ...]
    was = tuple(vars(entered)[each] for each in ("prev_fastdtype", "prev", "prev_cache_enabled"))
    return entered.device, *was


# -- operators that are given functions ------------------------------------------------------------

cond: HigherOrderOperator = torch.ops.higher_order.cond
while_loop: HigherOrderOperator = torch.ops.higher_order.while_loop
map_impl: HigherOrderOperator = torch.ops.higher_order.map_impl
scan: HigherOrderOperator = torch.ops.higher_order.scan
wrapped: HigherOrderOperator = wrap.wrap
checkpoint = torch.utils.checkpoint.checkpoint
_checkpoint = checkpoint


def checkpointed(
    body: torch.fx.GraphModule,
    *args: object,
    preserve_rng_state: bool = True,
    use_reentrant: bool = False,
) -> object:
    """A node of graphs: `checkpoint` of a graph, which AOTAutograd knows by another name."""
    if proxy_tensor.get_proxy_mode() is None and any(type(arg) is FakeTensor for arg in args):
        return body.forward(*args)
    if dispatch_stack_size():
        told = {} if preserve_rng_state else {"preserve_rng_state": False}
        return wrap.tag_activation_checkpoint(body, *args, **told)
    return _checkpoint(  # a call tells more of an error
        body.forward, *args, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state
    )


def is_traced_again(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether a backend traces what a graph does with these, to make another graph of it."""
    if proxy_tensor.get_proxy_mode() is not None:
        return True
    return not all(type(each) is FakeTensor for each in tensors)


def numpy_of_torch(
    function: Callable[..., object],
    fill: Callable[[Sequence[object]], tuple[list[object], dict[str, object]]],
    tensors: Sequence[torch.Tensor],
) -> object:
    """What NumPy's function of that name in torch gives; `fill` makes the arguments of arrays."""
    names = importlib.import_module("torch._numpy")
    of_arrays = getattr(function, "__objclass__", None) is not None
    known = getattr(
        names.ndarray if of_arrays else names, getattr(function, "__name__", ""), function
    )
    args, kwargs = fill([*map(names.ndarray, tensors)])
    result = known(*args, **kwargs)
    return pytree.tree_map(lambda each: getattr(each, "tensor", each), result)


def take_fake_mode(kind: type[FakeTensorMode]) -> None:
    """Have operators be answered under a fake mode of this class as under torch's own."""
    for each in (cond, while_loop, map_impl, scan):
        if (known := each.python_key_table.get(FakeTensorMode)) is not None:
            each.py_impl(kind)(known)


def forget_tensors(mode: FakeTensorMode) -> None:
    """Have a fake mode, which graphs keep, know no tensor of the program's any more. It refers to
    them weakly, and what something refers to cannot be swapped (`torch.utils.swap_tensors`)."""
    describer = mode.fake_tensor_converter.meta_converter.describer
    describer.lookup_tensor.clear()
    describer.lookup_storage.clear()


# -- transforms of torch.func ----------------------------------------------------------------------

_forward_gradients: Callable[[bool], AbstractContextManager[object]] = (
    forward_ad._set_fwd_grad_enabled
)


def _begin_jvp() -> int:
    if not forward_ad._is_fwd_grad_enabled():
        raise NotImplementedError("jvp where forward gradients are off")
    if forward_ad._current_level < 0:
        forward_ad.enter_dual_level()  # type: ignore[no-untyped-call]  # torch leaves it untyped
    return int(_C._functorch._jvp_increment_nesting())


def _end_jvp() -> None:
    _C._functorch._jvp_decrement_nesting()


TRANSFORMS: dict[object, tuple[Callable[..., int], Callable[[], object], Callable[..., object]]] = {
    _vmap: (
        _C._functorch._vmap_increment_nesting,
        _C._functorch._vmap_decrement_nesting,
        enter_vmap,
    ),
    _grad: (
        _C._functorch._grad_increment_nesting,
        _C._functorch._grad_decrement_nesting,
        enter_grad,
    ),
    _jvp: (_begin_jvp, _end_jvp, enter_jvp),
}
"""What makes the contexts in which transforms are active: what begins and ends one, and what enters
one in a graph."""


_make_dual: Callable[..., torch.Tensor] = forward_ad.make_dual
_unpack_dual: Callable[..., forward_ad.UnpackedDualTensor] = forward_ad.unpack_dual


def make_dual(tensor: torch.Tensor, tangent: torch.Tensor) -> torch.Tensor:
    """A node of graphs: a tensor with a tangent, at the level that is entered."""
    return _make_dual(tensor, tangent)


def unpack_dual(dual: torch.Tensor) -> forward_ad.UnpackedDualTensor:
    """A node of graphs: what such a tensor consists of."""
    return _unpack_dual(dual)


def differentiable(x: torch.Tensor) -> torch.Tensor:
    """A node of graphs: have a tensor that `grad` was given require gradients of its own."""
    with eager_transforms.enable_inplace_requires_grad(True):
        return x.requires_grad_()


_of_vmap, _of_grad = vars(vmap), vars(eager_transforms)
OF_TRANSFORMS: frozenset[object] = frozenset(
    {
        *(_of_vmap[name] for name in ("_add_batch_dim", "_remove_batch_dim")),
        *(_of_grad[name] for name in ("_wrap_for_grad", "_unwrap_for_grad", "_autograd_grad",
                                      "_set_tensor_requires_grad")),
        _make_dual,
        _unpack_dual,
    }
)  # fmt: skip
"""The functions by which transforms deal with tensors: nodes, each."""
INSTEAD: dict[object, Callable[..., object]] = {
    eager_transforms._set_tensor_requires_grad: differentiable,
    _make_dual: make_dual,
    _unpack_dual: unpack_dual,
}
"""Those of them of which the node is another function: it is the same wherever it is called."""
SET_BY_NODES: dict[object, object] = {
    _of_grad["get_inplace_requires_grad_allowed"]: False,
    _of_grad["set_inplace_requires_grad_allowed"]: None,
    _C._is_fwd_grad_enabled: True,
    _C._set_fwd_grad_enabled: None,
}
"""What is set around transforms, which their nodes set by themselves, and what is told of it."""
load_decompositions: Callable[[], None] = _of_vmap["lazy_load_decompositions"]
is_traceable_wrapper: Callable[[object], bool] = _python_dispatch.is_traceable_wrapper_subclass
is_batched: Callable[[torch.Tensor], bool] = _C._functorch.is_batchedtensor
is_wrapped: Callable[[torch.Tensor], bool] = _C._functorch.is_functorch_wrapped_tensor


WRAPS_FUNCTION: types.CodeType = apis.vmap.__code__
"""The code of `torch.func.vmap`."""
OF_DYNAMO: frozenset[str] = frozenset(getattr(apis, "_DYNAMO_WRAPPER_ATTRS", ()))
"""What transforms take out of the `__dict__` of functions that they make."""
TAKING_OUT: frozenset[object] = frozenset(
    each
    for each in getattr(apis, "_wraps_without_dynamo_attrs", lambda: None).__code__.co_consts
    if isinstance(each, types.CodeType)
)
"""The code that does it, and does nothing else with a `__dict__`."""


def innermost(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor that transforms have wrapped."""
    while is_wrapped(tensor):
        tensor = _C._functorch.get_unwrapped(tensor)
    return tensor


def begin_transform(begin: Callable[..., int], *given: object) -> tuple[int, object]:
    """Begin one that is not active yet: its level, and what makes it active."""
    level = begin(*given)
    return level, _C._functorch.pop_dynamic_layer_stack()


@contextlib.contextmanager
def transforms_active(layers: tuple[object, ...]) -> Iterator[None]:
    """While it lasts, these are active."""
    for layer in layers:
        _C._functorch.push_dynamic_layer_stack(layer)
    try:
        yield
    finally:
        while transforms_depth():
            _C._functorch.pop_dynamic_layer_stack()


# -- tensors and graphs ----------------------------------------------------------------------------

FAKE_TENSOR_LOG = logging.getLogger(fake_tensor.__name__)
"""Reports what goes wrong when an operator runs on fake tensors."""
TorchSource = torch._guards.Source
"""Where a ShapeEnv is told that a size came from."""


def is_view(tensor: torch.Tensor) -> bool:
    """Whether a tensor shows the storage of another, which autograd knows of."""
    return bool(tensor._is_view())


def version_of(tensor: torch.Tensor) -> int | None:
    """How often a tensor was changed in place; None: it was made in inference mode, and nobody
    counts."""
    return None if tensor.is_inference() else int(tensor._version)


def python_dispatcher() -> AbstractContextManager[object]:
    """While it lasts, operators are done as torch's Python does them, where it does."""
    found: AbstractContextManager[object] = enable_python_dispatcher()
    return found


def with_version(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor that shows the same as one that was made in inference mode, and counts."""
    with inference_mode(False), torch.no_grad():
        made = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
        place = tensor.storage_offset(), tensor.size(), tensor.stride()
        return made.set_(tensor.untyped_storage(), *place)


def set_versions(versions: Sequence[tuple[torch.Tensor, int]]) -> None:
    """Have tensors count as changed in place so often."""
    if versions:
        _C._autograd._unsafe_set_version_counter(*map(tuple, zip(*versions, strict=True)))


def store_data(tensor: torch.Tensor, data: torch.Tensor) -> None:
    """`tensor.data = data`, of tensors that look alike, in the form that AOTAutograd knows."""
    before = tensor._version
    with torch.no_grad():
        tensor.set_(data)  # type: ignore[call-overload]  # no stub has a tensor alone
    set_versions([(tensor, before)])


def storage_address(tensor: torch.Tensor) -> int:
    """Where a tensor's storage is; tensors that share one have the same."""
    return int(tensor.untyped_storage()._cdata)


def end_of(graph: torch.fx.Graph) -> torch.fx.Node:
    """What stands before the first node and behind the last one of a graph."""
    return graph._root


def tracing_shapes(mode: FakeTensorMode) -> AbstractContextManager[object]:
    """While it lasts, a backend finds the fake tensors' mode and its symbols."""
    found: AbstractContextManager[object] = torch._guards.tracing(
        torch._guards.TracingContext(mode)
    )
    return found


def dynamo_setting(name: str) -> object:
    """What is set in Dynamo's `config`; None: it is not imported."""
    return getattr(sys.modules.get("torch._dynamo.config"), name, None)


# -- backends --------------------------------------------------------------------------------------


def optimized_module() -> type | None:
    """The class of what Dynamo makes of a module, if Dynamo is imported."""
    return getattr(sys.modules.get("torch._dynamo.eval_frame"), "OptimizedModule", None)


ASKED_WHETHER_COMPILING = ("torch._dynamo.external_utils", "torch._utils")
"""The modules that have functions of `torch.compiler` a second time: for code that Dynamo writes,
and as they were called before."""


def named_backend(name: str) -> Callable[..., Any] | None:
    """The backend that is registered under a name. Torch has them in Dynamo, which is imported for
    this, and for nothing else."""
    from torch._dynamo.backends.registry import list_backends, lookup_backend

    return lookup_backend(name) if name in list_backends(()) else None


# -- what torch keeps for each thread, and for all -------------------------------------------------

Ask = Callable[[], object]
Put = Callable[[Any], object]


def _of_device(device: str) -> list[tuple[Ask, Put]]:
    return [
        (partial(torch.is_autocast_enabled, device), partial(torch.set_autocast_enabled, device)),
        (partial(torch.get_autocast_dtype, device), partial(torch.set_autocast_dtype, device)),
    ]


def _deterministic() -> tuple[bool, bool]:
    warns = torch.is_deterministic_algorithms_warn_only_enabled()
    return torch.are_deterministic_algorithms_enabled(), warns


def _set_deterministic(modes: tuple[bool, bool]) -> None:
    torch._C._set_deterministic_algorithms(modes[0], warn_only=modes[1])


def _leave_forward_levels(level: int) -> None:
    while forward_ad._current_level > level:
        forward_ad.exit_dual_level()  # type: ignore[no-untyped-call]  # torch leaves it untyped


def _set_inference_mode(on: bool) -> None:
    guard = _C._InferenceMode(on)
    guard.__enter__()
    _kept.append(guard)


_kept: list[object] = []
"""Guards whose end would bring back what they have replaced."""

SETTINGS: list[tuple[Ask, Put]] = [
    (lambda: forward_ad._current_level, _leave_forward_levels),
    (torch.is_inference_mode_enabled, _set_inference_mode),  # it sets others, so it comes first
    (torch._C._only_lift_cpu_tensors, torch._C._set_only_lift_cpu_tensors),
    (_C._get_torch_function_state, _C._set_torch_function_state),
    (torch._C._is_fwd_grad_enabled, torch._C._set_fwd_grad_enabled),
    (torch.is_grad_enabled, set_grad_enabled),
    (torch._C._is_multithreading_enabled, torch._C._set_multithreading_enabled),
    (torch._C._is_view_replay_enabled, torch._C._set_view_replay_enabled),
    (torch.get_default_dtype, torch._C._set_default_dtype),
    (torch.is_autocast_cache_enabled, torch.set_autocast_cache_enabled),
    (_deterministic, _set_deterministic),
    *_of_device("cpu"),
    *_of_device("cuda"),
]
"""Settings of torch: how to ask, and how to set what was answered."""

VARIABLES: list[tuple[types.ModuleType | logging.Logger, str]] = [
    (_python_dispatch, "_is_in_torch_dispatch_mode"),
    (_python_dispatch, "_is_in_non_infra_torch_dispatch_mode"),
    (_python_dispatch, "_is_in_any_mode_without_ignore_compile_internals"),
    (_device, "CURRENT_DEVICE"),
    (proxy_tensor, "_CURRENT_MAKE_FX_TRACER"),
    (fake_tensor, "RECURSION_COUNT"),
    (FAKE_TENSOR_LOG, "disabled"),
    (fx_traceback, "current_meta"),
]
"""Variables of torch's modules that say what it is about."""

LOCALS: list[threading.local] = [
    torch._guards._TLS,
    fake_tensor.fake_tensor_tls,
    proxy_tensor._disable_update_tensor_tracker_tls,
]
"""What torch's Python keeps for each thread."""


class ModeStack(NamedTuple):
    """A stack of modes that torch keeps for each thread."""

    size: Callable[[], int]
    at: Callable[[int], object]
    pop: Callable[[], object]
    push: Callable[[Any], None]


FUNCTION_MODES = ModeStack(
    function_stack_size,
    function_mode_at,
    torch._C._pop_torch_function_stack,
    torch._C._push_on_torch_function_stack,
)
DISPATCH_MODES = ModeStack(
    dispatch_stack_size,
    torch._C._get_dispatch_stack_at,
    partial(torch._C._pop_torch_dispatch_stack, None),
    torch._C._push_on_torch_dispatch_stack,
)


def dispatch_keys() -> AbstractContextManager[None]:
    """Leaving it has the thread's dispatch keys as they were when it was entered."""
    found: AbstractContextManager[None] = _C._PreserveDispatchKeyGuard()
    return found


def transforms_depth() -> int:
    """How many transforms of `torch.func` are active in this thread."""
    return int(torch._C._functorch.get_dynamic_layer_stack_depth())


def end_transforms(depth: int) -> None:
    """Have only so many transforms of `torch.func` active."""
    torch._C._functorch.pop_dynamic_layer_stack_and_undo_to_depth(depth)


def tell_c_of_dispatch_modes() -> None:
    """Have what torch's C knows of the dispatch modes agree with what its Python knows."""
    set_is_in_mode_without_ignore_compile_internals(
        _python_dispatch._is_in_any_mode_without_ignore_compile_internals
    )


STAND_INS = {"torch.backends": "m", "torch._VF": "vf"}
"""Where torch's modules that pass on what they are asked for have the object that answers, by the
module of their class."""
