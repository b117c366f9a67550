"""Contexts, operators, transforms and kinds of tensors; see `samples`."""

# ruff: noqa
# mypy: ignore-errors
from __future__ import annotations

import collections
import dataclasses
import functools
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from tests.engines.native.samples import T, sample


def G(*s):
    return T(*s).requires_grad_()


@sample(G(3))
def reg_hook_intermediate(x):
    y = x * 2
    y.register_hook(lambda g: g * 3)
    return y.sum()


@sample(G(3))
def reg_hook_param(x):
    h = x.register_hook(hook_fn)
    y = x * 2
    h.remove()
    return y


@sample(G(3))
def autograd_grad2(x):
    y = (x**2).sum()
    (g,) = torch.autograd.grad(y, x)
    return g


@sample(G(3))
def grad_zeroed(x):
    x.grad = None
    return (x * 2, x.grad is None, x.is_leaf, x.grad_fn)


@sample(nn.Parameter(T(3)))
def param_arg(p):
    return (p * 2, isinstance(p, nn.Parameter), type(p) is nn.Parameter)


@sample(T(2, 2))
def autocast_forms(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        a = x @ x
    with torch.amp.autocast("cpu", enabled=False):
        b = x @ x
    return (a, b)


@torch.autocast("cpu", dtype=torch.bfloat16)
def ac(x):
    return x @ x


@sample(T(2, 2))
def autocast_deco(x):
    return ac(x)


@sample(T(2, 2))
def det_algos(x):
    if torch.are_deterministic_algorithms_enabled():
        return x
    return x + torch.get_num_threads() * 0


@sample(T(2, 2))
def grad_cond(x):
    if torch.is_grad_enabled():
        x = x + 1
    prev = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    y = x * 2
    torch.set_grad_enabled(prev)
    return y


@sample(T(3))
def item_math(x):
    n = int(x[0].item())
    return (x + n, x.sum().item() > 2)


@sample(T(3))
def bool_tensor(x):
    if (x > 0).all():
        return x + 1
    return x - 1


@sample(torch.tensor([2, 3]))
def tensor_to_range(x):
    out = []
    for i in range(int(x[0])):
        out.append(x + i)
    return out


@sample(T(4))
def nonzero_len(x):
    i = torch.nonzero(x > 2)
    return (i.shape[0] + x, x[i.squeeze()])


@sample(T(3))
def iter_tensor(x):
    a, b, c = x
    return ([t * 2 for t in x], a + b * c, len(x), list(zip(x, x)))


@sample(T(3))
def tensor_ctor(x):
    return (
        torch.tensor([1, 2]) + torch.tensor(3.0),
        torch.as_tensor([1.0]),
        torch.tensor([[1], [2]]),
        torch.from_numpy(np.ones(2)),
        torch.tensor([x.shape[0], 1]),
        torch.scalar_tensor(2),
        torch.full((2,), 3),
        torch.arange(3),
        torch.linspace(0, 1, 3),
        torch.eye(2),
        torch.tensor(True),
        torch.Tensor([1, 2]),
        torch.LongTensor([1]),
        torch.FloatTensor(2).zero_(),
    )


@sample(T(3))
def tensor_types(x):
    return (
        x.to(torch.int32),
        x.long(),
        x.type(torch.float64),
        x.type_as(x.double()),
        x.dtype is torch.float32,
        x.is_cuda,
        x.device.type,
        x.to("cpu"),
        x.to(x),
        x.cpu(),
        torch.is_tensor(x),
        x.dtype.is_floating_point,
        torch.finfo(x.dtype).min,
        x.type(),
        str(x.dtype),
        x.layout,
        x.is_floating_point(),
        x.data + 1,
        x.detach(),
        x.half().float(),
        x.bool(),
        torch.iinfo(torch.int8).max,
        x.get_device(),
        torch.get_default_dtype(),
        x.dtype.itemsize,
        torch.promote_types(torch.int8, torch.float16),
        x.contiguous(memory_format=torch.contiguous_format),
    )


@sample(T(4, 4))
def indexing_all(x):
    i = torch.tensor([0, 2])
    y = x.clone()
    y[i] = 1
    y[0, ::2] += 5
    y[..., -1] = x[..., 0]
    y[[0, 1], [1, 2]] = 7
    y[:, None].mul_(2)
    return (
        x[i],
        x[i, i],
        x[:, i],
        x[[0, 1]],
        x[None],
        x[...],
        x[0],
        x[-1, 1:],
        x[0:2, ..., 0],
        x[True],
        x[torch.tensor(1)],
        x[range(2)] if False else 0,
        y,
        x[0, 1],
        torch.take(x, i),
        x.gather(0, i[None]),
        x.index_select(0, i),
        x.masked_fill(x > 3, 0),
        x.masked_scatter(x > 3, x),
        x.diagonal(),
        x.unbind(1)[0],
        x.chunk(2),
        x.split([1, 3]),
        torch.where(x > 2, x, 0),
    )


@sample(T(3))
def vmaps(x):
    return (
        torch.vmap(lambda a: a * 2 + a.sum())(T(2, 3)),
        torch.func.vmap(torch.dot, in_dims=(0, None))(T(2, 3), x),
    )


@sample(G(3))
def func_all(x):
    return (
        torch.func.grad(lambda a: (a**2).sum())(x),
        torch.func.vjp(torch.sin, x)[1](x),
        torch.func.jvp(torch.sin, (x,), (x,)),
        torch.func.jacrev(torch.sin)(x),
        torch.func.grad_and_value(lambda a: a.sum())(x),
    )


@sample(nn.Linear(3, 3), T(2, 3))
def functional_call(m, x):
    return torch.func.functional_call(m, {k: v * 2 for k, v in m.named_parameters()}, (x,))


@sample(G(3))
def checkpointed2(x):
    return torch.utils.checkpoint.checkpoint(lambda a, b: a * b + 1, x, x * 2, use_reentrant=False)


@sample(T(3))
def cond2(x):
    return torch.cond(x.sum() > 0, lambda a: a + 1, lambda a: a - 1, (x,))


@sample(T(3))
def cond_closure(x):
    y = x * 2
    return torch.cond(x.shape[0] > 2, lambda a: a + y, lambda a: a - y, [x])


@sample(T(2, 8))
def chunked_forward(x):

    def f(a, b):
        return a + b

    cs = [c for c in zip(x.chunk(2, 1), x.chunk(2, 1))]
    return torch.cat([f(*c) for c in cs], dim=1)


@sample(T(2, 4, 4))
def rotate_half(x):
    cos, sin = (x[..., :2], x[..., 2:])
    r = torch.stack((-x[..., 1::2], x[..., ::2]), -1).reshape_as(x)
    return (torch.cat((cos, sin), -1) * r, torch.einsum("bij,bjk->bik", x, x))


@sample(T(1, 3, 4, 4))
def detr_boxes(x):
    h = {}
    for i, (k, v) in enumerate({"a": x, "b": x * 2}.items()):
        h.setdefault(k, []).append(F.relu(v) * i)
    return (torch.cat([t for l in h.values() for t in l]), {k: len(v) for k, v in h.items()})


class Boxes:
    def __init__(s, t):
        s.tensor = t

    def area(s):
        return (s.tensor[:, 2] - s.tensor[:, 0]) * (s.tensor[:, 3] - s.tensor[:, 1])

    def __len__(s):
        return s.tensor.shape[0]

    @staticmethod
    def cat(bs):
        return Boxes(torch.cat([b.tensor for b in bs]))

    def __getitem__(s, i):
        return Boxes(s.tensor[i].view(1, -1)) if isinstance(i, int) else Boxes(s.tensor[i])

    @property
    def device(s):
        return s.tensor.device

    def __iter__(s):
        yield from s.tensor


@sample(T(2, 4))
def boxes(x):
    b = Boxes.cat([Boxes(x), Boxes(x + 1)])
    return (b.area(), len(b), b[0].tensor, b[1:3].tensor, b.device, [t for t in b])


class ModelOut(collections.OrderedDict):
    def __init__(s, *a, **k):
        super().__init__(*a, **k)
        s.extra = 1

    def __getattr__(s, n):
        try:
            return s[n]
        except KeyError:
            raise AttributeError(n) from None

    def to_tuple(s):
        return tuple(s.values())


@sample(T(3))
def model_out(x):
    m = ModelOut(logits=x, loss=x.sum())
    m["h"] = x + 1
    return (m.logits, m.to_tuple(), m.get("none"), len(m), "loss" in m, m.extra, list(m))


class Base(torch.nn.Module):
    def __call__(s, *a):
        return super().__call__(*a) + 1

    def forward(s, x):
        return x * 2


@sample(Base(), T(3))
def call_overridden(m, x):
    return m(x)


@sample(T(3))
def np_forms(x):
    a = np.array([1, 2, 3])
    return (
        x + torch.from_numpy(a * 2),
        np.pi * x,
        np.prod([2, 3]),
        int(np.ceil(2.5)),
        x.numpy().sum(),
        np.float32(3) * x,
        np.int64(2) + 1,
    )


@sample(T(3))
def import_in(x):
    import math as m

    from torch.nn import functional as FF

    return FF.relu(x) * m.pi


@sample(T(3))
def lru_again(x):

    @functools.lru_cache
    def f(n):
        return n + 1

    return x + f(2) + f(2)


@sample(T(3))
def staticm(x):
    f = staticmethod(lambda v: v + 1)
    return f(x)


@sample(T(3))
def setattr_tensor(x):
    y = x + 1
    y.tag = 3
    return y * y.tag


@sample([T(3), (T(3), {"a": T(3)})])
def pytree(t):
    import torch.utils._pytree as p

    return (p.tree_map(lambda v: v + 1, t), p.tree_flatten(t)[0])


@sample(T(3))
def symbolic_str(x):
    return (f"{x.shape}", str(x.dtype), repr(torch.float32), "{}".format(tuple(x.shape)), x + 1)


@sample(T(2, 2))
def linalgs(x):
    return (
        torch.linalg.norm(x),
        torch.linalg.qr(x)[0],
        torch.svd(x).S,
        x.max(0).values,
        x.topk(1).indices,
        torch.sort(x).values,
        x.median(),
        torch.std_mean(x),
        x.min(dim=1, keepdim=True)[0],
        torch.linalg.det(x),
        torch.cholesky_inverse(x),
        x.norm(p=2),
        torch.logsumexp(x, 0),
        x.cumsum(0),
        torch.outer(x[0], x[1]),
        x.amax((0, 1)),
        torch.stft(T(16), 4, return_complex=True, window=torch.ones(4)),
    )


@sample(T(2, 3))
def scripts_size(x):
    n = x.size(0)
    if n % 2 == 0:
        x = torch.cat([x, x])
    while x.size(0) > n:
        x = x[:-1]
    return (
        x,
        torch.broadcast_shapes((1, 3), (2, 1)),
        torch.zeros(n, dtype=x.dtype, device=x.device).new_full((2,), n),
    )


@torch.compiler.disable
def dis(x):
    return x + 1


@sample(T(3))
def disabled_called(x):
    return dis(x * 2) * 3


@torch._dynamo.allow_in_graph
def allowed(x):
    return x + 1


@sample(T(3))
def allowed_called(x):
    return allowed(x * 2) * 3


@sample(T(3))
def constraint(x):
    n = x.sum().long().item()
    torch._check(n >= 0)
    return torch.zeros(n) + 1


class NewObj:
    def __new__(cls, v):
        o = super().__new__(cls)
        o.v = v
        return o


@sample(T(3))
def new_forms(x):
    o = NewObj.__new__(NewObj, x)
    p = object.__new__(NewObj)
    p.__init__ = 1
    return (o.v + 1, isinstance(p, NewObj), NewObj(x).v)


@dataclasses.dataclass
class DC2:
    a: Any


@sample(T(3), 2.5)
def unions(x, n):
    kinds = int | str
    return (
        x + isinstance(n, int | float),
        isinstance(n, kinds),
        isinstance(n, (kinds, float | None)),
    )


# --- functions with a backward of their own, that do more


class AddsOne(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.add_(1)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2


@sample(G(3))
def function_in_place(x):
    y = x * 2
    z = AddsOne.apply(y)
    return z, y, z is y


@sample(T(3))
def function_in_place_on_an_input(x):
    z = AddsOne.apply(x)
    return z * 2, x + 1, z is x


@sample(T(3))
def function_in_place_before_a_break(x):
    z = AddsOne.apply(x)
    print("between")
    return z * 2, x


class PutsIn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scratch, value, index):
        ctx.index = index
        scratch.data[index] = value
        return scratch

    @staticmethod
    def backward(ctx, g):
        return g, g[ctx.index], None


@sample(T(3), G(1))
def function_that_puts_into_data(x, v):
    scratch = PutsIn.apply(torch.zeros(3), v[0], (..., 0))
    scratch = PutsIn.apply(scratch, v[0] * 2, (..., 1))
    return scratch.sum() + x


@sample(T(3), G(1))
def function_that_puts_into_an_inputs_data(x, v):
    y = x * 2
    return PutsIn.apply(x, v[0], 1) * 2, x, y


HOW_OFTEN = 3


class GivesMore(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x, y)
        return x + y, x * y, HOW_OFTEN, "name", None

    @staticmethod
    def backward(ctx, a, b, *others):
        x, y = ctx.saved_tensors
        return a + b * y, a + b * x


@sample(G(3), G(3))
def function_that_gives_more_than_tensors(x, y):
    a, b, count, name, nothing = GivesMore.apply(x, y)
    return (a * b).sum() * count, name, nothing


BUFFER = torch.zeros(3)


class WritesElsewhere(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        BUFFER.add_(1)
        return x * BUFFER

    @staticmethod
    def backward(ctx, g):
        return g


@sample(G(3))
def function_that_writes_elsewhere(x):
    BUFFER.zero_()
    return WritesElsewhere.apply(x), BUFFER.clone()


class Reshapes(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.unsqueeze_(0)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g


@sample(G(3))
def function_that_changes_a_shape(x):
    y = x * 1
    return Reshapes.apply(y), y.shape
