"""Torch's own functions, methods of tensors and of modules."""

from __future__ import annotations

import builtins
import contextlib
import operator
import types
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch._functorch import eager_transforms
from torch._functorch import vmap as vmap_module
from torch.optim import adam

from tests.engines.native.replaced.running import (
    CASES,
    LOG,
    fresh,
    swaps,
)

swaps("torch.sin", torch, "sin", [torch.cos, lambda x: x], lambda x: torch.sin(x))
swaps("F.relu", F, "relu", [torch.cos, lambda x, inplace=False: x], lambda x: F.relu(x))
swaps(
    "F.relu in a module", F, "relu", [lambda x, inplace=False: x * 7],
    lambda x: _RELU(x),
)  # fmt: skip
_RELU = torch.nn.ReLU()
_RATES = types.SimpleNamespace(decay=0.8)
_LINEAR = torch.nn.Linear(3, 3)
_NORMALIZE = torch.nn.LayerNorm(3)


def _summed(x: Any, *args: Any, **kwargs: Any) -> Any:
    LOG.append("summed")
    return x.sum()


swaps("torch.relu under F.relu", torch, "relu", [_summed, torch.cos],
      lambda x: (F.relu(x) * 2, F.relu(x).dim()))  # fmt: skip
swaps("torch.layer_norm under a module", torch, "layer_norm", [_summed],
      lambda x: (_NORMALIZE(x) * 2).dim() + x)  # fmt: skip
swaps("torch under F.relu", F, "torch", [types.SimpleNamespace(relu=_summed)],
      lambda x: (F.relu(x) * 2, F.relu(x).dim()))  # fmt: skip
swaps("_VF.split under Tensor.split", torch._VF, "split", [lambda *args: (_summed(args[0]),)],
      lambda x: (x.split(1)[0].dim() + x, len(x.split(1))))  # fmt: skip
swaps(
    "rsub under an operator",
    torch._tensor,
    "_C",
    [types.SimpleNamespace(_VariableFunctions=types.SimpleNamespace(rsub=_summed))],
    lambda x: ((2 - x).dim(), 2 - x),
)
swaps("F.linear in a module", F, "linear", [lambda x, w, b: x * 7], lambda x: _LINEAR(x).detach())
swaps("checkpoint", torch.utils.checkpoint, "checkpoint", [lambda f, x, use_reentrant: x],
      lambda x: torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=False))  # fmt: skip
swaps("cond", torch, "cond", [lambda asked, one, other, given: one(*given)],
      lambda x: torch.cond(x.sum() > 1e9, torch.sin, torch.cos, (x,)))  # fmt: skip
for _owner, _name, _values in (
    (vmap_module, "_add_batch_dim", [lambda x, dim, level: x]),
    (vmap_module, "vmap_increment_nesting", [lambda *given: contextlib.nullcontext(1)]),
    (eager_transforms, "_wrap_for_grad", [lambda x, level: x.detach()]),
    (eager_transforms, "enable_inplace_requires_grad", [lambda allowed: contextlib.nullcontext()]),
):
    swaps(f"{_name} under a transform", _owner, _name, _values,
          lambda x: torch.vmap(torch.func.grad(lambda a: a * a))(x.detach().flatten()))  # fmt: skip
_SINE, _RECTIFIED, _GELU, _FULL, _ENTROPY, _NORM = (
    torch.sin, F.relu, F.gelu, torch.full, torch.special.entr, torch.linalg.vector_norm,
)  # fmt: skip
_SINE_BY_NAME, _DOUBLE, _ALL = torch.ops.aten.sin, torch.float64, slice(None)
for _owner, _name, _calls in (
    (torch, "sin", lambda x: _SINE(x)),
    (torch, "full", lambda x: _FULL((3,), 2.0) + x),
    (F, "relu", lambda x: _RECTIFIED(x)),
    (torch._C._nn, "gelu", lambda x: _GELU(x)),
    (torch._C._special, "special_entr", lambda x: _ENTROPY(x)),
    (torch._C._linalg, "linalg_vector_norm", lambda x: _NORM(x)),
    (torch.ops.aten, "sin", lambda x: _SINE_BY_NAME(x)),
    (torch, "float64", lambda x: x.to(_DOUBLE)),
    (torch, "nn", lambda x: _RECTIFIED(x)),
    (builtins, "slice", lambda x: x[1:2] + 1),
    (builtins, "Ellipsis", lambda x: x[..., :1] + 1),
):
    # The program has the function itself: whoever calls it by its name in torch gets another.
    swaps(
        f"{_owner.__name__}.{_name} that is known by another name", _owner, _name,
        [lambda *args, **kwargs: 8, torch.float32, None, lambda *args: _ALL], _calls,
    )  # fmt: skip


def _of_torch(function: Any, attribute: str, value: Any, program: Any) -> None:
    def steps() -> Iterator[Any]:
        yield fresh(program)
        old = getattr(function, attribute)
        setattr(function, attribute, value)
        try:
            yield
        finally:
            setattr(function, attribute, old)
        yield

    CASES[f"{function.__name__} {attribute}"] = steps


def _times_eight(x: Any, inplace: bool = False) -> Any:
    return x * 8


_of_torch(F.relu, "__code__", _times_eight.__code__, lambda x: F.relu(x))
_of_torch(F.dropout, "__defaults__", (0.0, True, True), lambda x: F.dropout(x, training=False) + 1)
_of_torch(F.softmax, "__defaults__", (0, 3, torch.float64), lambda x: F.softmax(x))
_of_torch(F.softmax, "__defaults__", (0, 3, torch.float64),
          lambda x: (F.softmax(x, 0), F.softmax(x, 0).dtype))  # fmt: skip
_of_torch(F._get_softmax_dim, "__code__", (lambda *args: args[0] / 0).__code__,
          lambda x: (F.softmax(x), x + 1))  # fmt: skip
_of_torch(F.layer_norm, "__code__", (lambda x, *args: x.sum()).__code__,
          lambda x: (_NORMALIZE(x), _NORMALIZE(x).dim()))  # fmt: skip
_of_torch(torch.Tensor.norm, "__defaults__", (1, None, False, torch.float64),
          lambda x: (x.norm(), x.norm().dtype))  # fmt: skip
_of_torch(torch.no_grad.__enter__, "__code__", (lambda self: None).__code__,
          lambda x: _in_no_grad(x))  # fmt: skip
_of_torch(contextlib.nullcontext.__enter__, "__code__", (lambda self: 5).__code__,
          lambda x: _in_nothing(x))  # fmt: skip
_of_torch(torch.nn.ReLU.forward, "__code__", (lambda self, input: input * 8).__code__,
          lambda x: _RELU(x))  # fmt: skip
_of_torch(torch.nn.Module.__call__, "__code__", (lambda self, *args, **kwargs: 8).__code__,
          lambda x: (_RELU(x), x + 1))  # fmt: skip
_of_torch(torch.nn.Module._call_impl, "__code__", (lambda self, *args, **kwargs: 8).__code__,
          lambda x: (_RELU(x), x + 1))  # fmt: skip
_of_torch(torch.nn.Module.__getattr__, "__code__", (lambda self, name: 8).__code__,
          lambda x: (_LINEAR.lacking if hasattr(_LINEAR, "lacking") else 1, x + 1))  # fmt: skip
_of_torch(torch.Tensor.split, "__code__", (lambda self, *args, **kwargs: 8).__code__,
          lambda x: (x.split(1), x + 1))  # fmt: skip

for _name, _program in {
    "__add__": lambda x: x + 2,
    "__radd__": lambda x: 2 + x,
    "__mul__": lambda x: x * 2,
    "__rsub__": lambda x: 2 - x,
    "__sub__": lambda x: x - 2,
    "__pow__": lambda x: x**2,
    "__neg__": lambda x: -x,
    "__getitem__": lambda x: x[0] + 1,
    "__setitem__": lambda x: (x.__setitem__(0, 5), x + 1),
    "__iadd__": lambda x: operator.iadd(x, 2),
    "__matmul__": lambda x: x @ x,
    "__eq__": lambda x: x == 2,
    "__lt__": lambda x: x < 2,
    "__len__": lambda x: x + len(x),
    "__iter__": lambda x: [y + 1 for y in x],
    "__abs__": lambda x: abs(x),
    "__bool__": lambda x: x + 1 if x.sum() else x,
    "__contains__": lambda x: (2 in x, x + 1),
    "__torch_function__": lambda x: x + torch.sin(x),
    "add": lambda x: x.add(2),
    "sum": lambda x: x.sum(),
    "view": lambda x: x.view(3, 1),
    "split": lambda x: x.split(1)[0] + 1,
    "norm": lambda x: x.norm(),
    "shape": lambda x: x + x.shape[0],
    "dtype": lambda x: (x + 1, x.dtype),
    "ndim": lambda x: x + x.ndim,
    "T": lambda x: x.view(3, 1).T,
    "requires_grad": lambda x: (x + 1, x.requires_grad),
    "size": lambda x: x + x.size(0),
    "dim": lambda x: x + x.dim(),
    "numel": lambda x: x + x.numel(),
    "contiguous": lambda x: x.contiguous(),
    "lacking": lambda x: x + getattr(x, "lacking", 3) + hasattr(x, "lacking"),
    "__getattribute__": lambda x: x + x.ndim,
    "__getattr__": lambda x: x + getattr(x, "lacking", 3),
    "__hash__": lambda x: (x + 1, hash(x) == 3),
    "__index__": lambda x: (x + 1, [1, 2, 3][torch.tensor(1)]),
}.items():

    def _answers(self: Any, *args: Any, **kwargs: Any) -> Any:
        LOG.append("answered")
        return 2

    _stands: Any = _answers
    if _name in ("shape", "dtype", "ndim", "T", "requires_grad"):
        _stands = property(lambda self: (5,))
    elif _name == "__torch_function__":
        _stands = classmethod(lambda cls, function, types, args=(), kwargs=None: 4)
    elif _name == "__getattribute__":

        def _stands(self: Any, name: str) -> Any:
            return 77 if name == "ndim" else object.__getattribute__(self, name)

    swaps(f"Tensor.{_name}", torch.Tensor, _name, [_stands], _program)

swaps("Parameter.__add__", torch.nn.Parameter, "__add__", [lambda self, other: 4],
      lambda x: (_LINEAR.weight + 1, x + 1)[1])  # fmt: skip
swaps("torch.nn.Module.__call__", torch.nn.Module, "__call__",
      [lambda self, x: x * 9, lambda self, x: x * 8], lambda x: _RELU(x) + 1)  # fmt: skip
swaps("torch.nn.Module.__getattr__", torch.nn.Module, "__getattr__",
      [lambda self, name: torch.ones(3, 3)], lambda x: (_LINEAR(x) + 1).detach())  # fmt: skip
swaps("torch.nn.ReLU.forward", torch.nn.ReLU, "forward", [lambda self, x: x * 9],
      lambda x: _RELU(x) + 1)  # fmt: skip
swaps("torch.is_grad_enabled", torch, "is_grad_enabled", [lambda: True],
      lambda x: x + torch.is_grad_enabled())  # fmt: skip
swaps("torch.is_tensor", torch, "is_tensor", [lambda value: False],
      lambda x: x + torch.is_tensor(x))  # fmt: skip
swaps("torch.no_grad", torch, "no_grad", [contextlib.nullcontext], lambda x: _in_no_grad(x))
swaps("torch.no_grad.__enter__", torch.no_grad, "__enter__", [lambda self: LOG.append("entered")],
      lambda x: _in_no_grad(x))  # fmt: skip
swaps("torch.no_grad.__exit__", torch.no_grad, "__exit__",
      [lambda self, *args: (torch.set_grad_enabled(True), LOG.append("left"))[0] and None],
      lambda x: _in_no_grad(x))  # fmt: skip
swaps("torch.no_grad.__call__", torch.no_grad, "__call__",
      [lambda self, function: LOG.append("called") or function],
      lambda x: (torch.no_grad()(lambda y: torch.is_grad_enabled())(x), x + 1))  # fmt: skip
swaps("torch.optim.adam._get_value", adam, "_get_value", [lambda step: 5.0],
      lambda x: _stepped(x))  # fmt: skip
swaps("torch.Tensor.item", torch.Tensor, "item", [lambda self: 3.0, lambda self: 4],
      lambda x: _stepped(x))  # fmt: skip
swaps("the rates of a step", _RATES, "decay", [0.5, -0.5, 1], lambda x: _stepped(x))
swaps("torch.float32", torch, "float32", [torch.float64], lambda x: x.to(torch.float32).double())


def _in_nothing(x: torch.Tensor) -> Any:
    with contextlib.nullcontext() as given:
        y = x * 2
    return y, given


def _stepped(x: torch.Tensor) -> Any:
    """A step of Adam, which takes the number of steps out of a tensor."""
    of = [[each] for each in (x * 1, x + 1, x * 0, x * 0)]
    adam.adam(
        *of, [], [torch.tensor(2.0)], amsgrad=False, beta1=_RATES.decay, beta2=0.9, lr=0.1,
        weight_decay=0.0, eps=1e-8, maximize=False, foreach=False,
    )  # fmt: skip
    return of


def _in_no_grad(x: torch.Tensor) -> Any:
    with torch.no_grad():
        y = x * 2
    return y, torch.is_grad_enabled()
