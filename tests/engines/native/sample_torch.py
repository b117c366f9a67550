"""What people write with torch: modes, modules, numpy, transforms, subclasses; see `samples`."""

# ruff: noqa
# mypy: ignore-errors
import contextlib

import numpy as np
import torch
from functorch.experimental.control_flow import map as mapped
from torch import nn

from tests.engines.native.samples import T, sample


@sample(T(3, 3))
def autocast_cpu(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = torch.mm(x, x)
    return y + 1


@sample(T(3, 3))
def autocast_cpu_amp(x):
    with torch.amp.autocast(device_type="cpu"):
        y = torch.mm(x, x).sin()
    return y.float() + 1


@sample(T(3, 3))
def autocast_disabled(x):
    with torch.autocast("cpu", enabled=False):
        return x @ x


@sample(T(3, 3))
def autocast_nested(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x
        with torch.autocast("cpu", enabled=False):
            z = y.float() @ x
    return z


@sample(T(3))
def inference_off(x):
    with torch.inference_mode(False):
        y = x.sin() + 1
    return y


@torch.no_grad()
def deco(x):
    return x * 2


@sample(T(3).requires_grad_())
def no_grad_decorated(x):
    return deco(x) + x


@sample(T(3).requires_grad_())
def no_grad_nested_function(x):

    @torch.no_grad()
    def f(y):
        return y * 3

    return f(x) + x


@sample(T(3).requires_grad_())
def set_grad_context(x):
    with torch.set_grad_enabled(False):
        y = x * 2
    with torch.set_grad_enabled(True):
        z = x * 3
    return y + z


@sample(T(3).requires_grad_())
def grad_mode_toggle(x):
    a = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    y = x * 2
    torch.set_grad_enabled(a)
    return y + x


@sample(T(3))
def nulls(x):
    with contextlib.nullcontext() as a:
        y = x + 1
    with contextlib.nullcontext(y) as b:
        return b * 2


@contextlib.contextmanager
def cm(x):
    try:
        yield (x * 2)
    finally:
        pass


@sample(T(3))
def generator_cm(x):
    with cm(x) as y:
        z = y + 1
    return z


class CM:
    def __init__(self, n):
        self.n = n

    def __enter__(self):
        self.n += 1
        return self

    def __exit__(self, *a):
        self.n -= 1


@sample(T(3))
def user_cm(x):
    c = CM(2)
    with c as d:
        x = x + d.n
    return x * c.n


@sample(T(3))
def user_cm_break(x):
    c = CM(2)
    with c as d:
        x = x + d.n
        torch._dynamo.graph_break()
        x = x + 1
    return x * c.n


@sample(T(3))
def suppress(x):
    with contextlib.suppress(ValueError):
        y = x + 1
    return y


@sample(T(3))
def exit_stack(x):
    with contextlib.ExitStack() as st:
        st.enter_context(torch.no_grad())
        return x + 1


@sample(T(2, 3))
def module_made(x):
    m = nn.ReLU()
    return m(x - 2)


@sample(T(2, 3))
def linear_made(x):
    torch.manual_seed(0)
    m = nn.Linear(3, 2)
    return m(x)


@sample(T(2, 3), torch.tensor([0, 1]))
def loss_made(x, t):
    return nn.CrossEntropyLoss()(x, t)


@sample(T(2, 3), torch.tensor([0, 1]))
def loss_made_fancy(x, t):
    return nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 3.0]), reduction="none")(x, t)


@sample(T(2, 3))
def softmax_made(x):
    return nn.Softmax(dim=-1)(x)


@sample(T(2, 3))
def seq_made(x):
    return nn.Sequential(nn.ReLU(), nn.Sigmoid())(x)


@sample(T(2, 3))
def module_list_made(x):
    for m in nn.ModuleList([nn.ReLU(), nn.Tanh()]):
        x = m(x)
    return x


@sample(T(2, 3))
def parameter_made(x):
    p = nn.Parameter(torch.ones(3))
    return x * p


@sample(T(2, 3))
def np_basic(x):
    a = x.numpy()
    return torch.from_numpy(np.sin(a) + 1)


@sample(T(4))
def np_scalar(x):
    return x * np.float32(2.5) + np.int64(3)


@sample(T(4))
def np_consts(x):
    return x * np.pi + np.finfo(np.float32).eps + np.iinfo(np.int16).max


@sample(T(4))
def np_dtype(x):
    return torch.tensor(np.array([1, 2, 3, 4])) * x


@sample(T(4))
def np_size(x):
    a = x.numpy()
    return x * a.size + a.shape[0] + a.ndim


@sample(T(4), np.int64(4), np.float64(2.0))
def np_args(x, n, f):
    return x * n + f


@sample(T(4))
def np_math(x):
    return x * np.sqrt(4.0) + np.prod([2, 3])


class Sq(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


class Sq2(torch.autograd.Function):
    @staticmethod
    def forward(x, k):
        return x * k

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.k = inputs[1]

    @staticmethod
    def backward(ctx, g):
        return (g * ctx.k, None)


@sample(T(3).requires_grad_())
def custom_function(x):
    return Sq.apply(x) + 1


@sample(T(3))
def custom_function_nograd(x):
    return Sq.apply(x) + 1


@sample(T(3).requires_grad_())
def custom_function_setup(x):
    return Sq2.apply(x, 3.0) + 1


class UsesFn(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = Sq.apply

    def forward(self, x):
        return self.f(x)


um = UsesFn()


@sample(T(3).requires_grad_())
def custom_function_attr(x):
    return um(x) * 2


@sample(T(3))
def func_grad(x):
    return torch.func.grad(lambda y: (y * y).sum())(x)


@sample(T(3))
def func_vmap(x):
    return torch.func.vmap(lambda y: y.sin() * 2)(x)


@sample(T(3))
def func_jvp(x):
    return torch.func.jvp(torch.sin, (x,), (x,))


@sample(T(3))
def func_jacfwd(x):
    return torch.func.jacfwd(lambda y: y.sin() * y)(x)


@sample(T(3))
def func_hessian(x):
    return torch.func.hessian(lambda y: (y**3).sum())(x)


@sample(T(3))
def func_jacrev(x):
    return torch.func.jacrev(lambda y: y * y)(x)


@sample(T(3).requires_grad_())
def autograd_grad(x):
    y = (x * x).sum()
    return torch.autograd.grad(y, x)[0]


@sample(T(3).requires_grad_())
def backward_called(x):
    y = (x * x).sum()
    y.backward()
    return x.grad


@sample(T(3).requires_grad_())
def checkpointed(x):
    return torch.utils.checkpoint.checkpoint(lambda a: a.sin() + 1, x, use_reentrant=False)


@sample(T(3).requires_grad_())
def checkpointed_again(x):
    y = torch.utils.checkpoint.checkpoint(torch.sin, x * 2, use_reentrant=True)
    return y + 1


@sample(T(3))
def mapped_across_a_break(x):
    sines = torch.vmap(torch.sin)
    y = sines(x)
    print("between")
    return sines(y)


@sample(T(3).requires_grad_())
def unpacked_tangents(x):
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.ones(3))
        return torch.autograd.forward_ad.unpack_dual(dual.sin()).tangent


@sample(T(3))
def checkpointed_without_draws(x):
    return torch.utils.checkpoint.checkpoint(
        lambda a, k: a.sin() * k, x, k=2, use_reentrant=False, preserve_rng_state=False
    )


@sample(T(3))
def cond(x):
    return torch.cond(x.sum() > 0, lambda a: a.sin(), lambda a: a.cos(), (x,))


@sample(T(3, 4), T(4))
def hop_map(x, y):
    return mapped(lambda a, b: a + b, x, y)


class Sub(torch.Tensor):
    pass


@sample(T(3))
def hop_while(x):
    def body(i, y):
        return i + 1, y.sin() + x

    return torch._higher_order_ops.while_loop(lambda i, y: i < 3, body, (torch.tensor(0), x))


@sample(T(3, 2))
def hop_scan(x):
    return torch._higher_order_ops.scan(lambda c, y: (c + y, c * y), x[0] * 1, x)


@sample(T(3, 2))
def hop_associative_scan(x):
    combine = torch._higher_order_ops.associative_scan
    return combine(lambda a, b: a + b, x, 0, combine_mode="generic")


@sample(T(3))
def as_sub(x):
    return (x.as_subclass(Sub) + 1).as_subclass(torch.Tensor)


class Wrapped:
    def __init__(self, t):
        self.t = t

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        args = [a.t if isinstance(a, Wrapped) else a for a in args]
        return Wrapped(func(*args, **kwargs or {}))


@sample(T(3))
def torch_function_object(x):
    return torch.add(Wrapped(x), 2).t


@sample(T(3))
def mode(x):
    with torch.device("cpu"):
        return x + torch.ones(3)


@sample(T(3))
def type_(x):
    if x.type() == "torch.FloatTensor":
        return x.type("torch.DoubleTensor")
    return x


@sample(T(3))
def isinst_ft(x):
    if isinstance(x, torch.FloatTensor):
        return x + 1
    return x - 1


@sample(T(2, 3))
def tensor_len(x):
    return x * len(x) + x.__len__() + x.nelement() + x.ndim


@sample(T(3))
def cuda_avail(x):
    if torch.cuda.is_available():
        return x + 1
    return x - torch.cuda.device_count()


@sample(T(3))
def tolist_(x):
    return x * len(x.tolist())


@sample(T(3))
def seed(x):
    torch.manual_seed(3)
    return x + torch.rand(3)


@sample(T(3))
def rng_state(x):
    s = torch.random.get_rng_state()
    a = torch.rand(3)
    torch.random.set_rng_state(s)
    return x + a


@sample(T(3))
def out_arg(x):
    o = torch.empty(3)
    torch.add(x, 1, out=o)
    return o * 2


@sample(T(3), torch.empty(3))
def out_arg_input(x, o):
    torch.add(x, 1, out=o)
    return o * 2


@sample(T(3))
def hook(x):
    y = x * 2
    return y.requires_grad


@sample(T(3).requires_grad_())
def hook2(x):
    y = x * 2
    y.register_hook(lambda g: g * 2)
    return y + 1


@sample(T(3))
def requires_grad_call(x):
    y = x.clone().requires_grad_()
    return y * 2


@sample(T(3))
def detach_inplace(x):
    y = x * 2
    y.detach_()
    return y


@sample(T(1, 3))
def squeeze_inplace(x):
    y = x.clone()
    y.squeeze_(0)
    y.unsqueeze_(1)
    return y + 1


@sample(T(3), T(3))
def params_as_keys(x, y):
    d = {x: 1, y: 2}
    return x * d[x] + y * d[y]


@sample(T(3), T(3))
def tensor_in_list(x, y):
    l = [x, y]
    return x + 1 if any((x is e for e in l)) else x


@sample(T(3))
def tensor_method_by_class(x):
    return torch.Tensor.add(x, 1) + torch.Tensor.sum(x)


@sample(T(3))
def tensor_of_tensor(x):
    return torch.tensor([x[0], x[1]]) if False else torch.tensor([1.0, 2.0]) + torch.as_tensor(3.0)


@sample(T(3))
def stack_of_lists(x):
    return torch.tensor([[1, 2], [3, 4]]) + torch.stack([x, x])[:, :2]


@sample(T(4))
def allclose_(x):
    if torch.allclose(x, x):
        return x + 1
    return x


@sample(T(4))
def const_eq(x):
    if x.size() == (4,) and x.shape == torch.Size([4]):
        return x + 1
    return x


@sample(T(4, 2))
def size_ops(x):
    a, b = x.shape
    return (
        x.view(x.shape[0] * b, *x.shape[2:])
        + a
        + sum(x.shape)
        + max(x.shape)
        + x.size(-1)
        + x.shape.numel()
    )


np.finfo(np.float32)  # numpy keeps it, and what is told of the first time is another reason


@sample(T(3), T(3))
def wrapped_functions(x, y):
    wrap = torch.ops.higher_order.wrap
    doubled = wrap(lambda a, by: (a * by + y).sin(), x, 2)
    given = wrap(lambda a: wrap(lambda b: b.cos() + doubled, a) * 2, y)
    return doubled, given, wrap(lambda a: a, x) is x


class Masked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, mask, factor):
        ctx.factor = factor
        given = x.masked_fill(mask, -1e9).softmax(-1)
        given.masked_fill_(mask, 0)
        ctx.save_for_backward(given)
        return given * factor

    @staticmethod
    def backward(ctx, grad):
        (given,) = ctx.saved_tensors
        return grad * given * ctx.factor, None, None


@sample(T(3).requires_grad_(), torch.tensor([True, False, False]))
def own_function_changing_what_it_made(x, mask):
    y = Masked.apply(x, mask, 3) + 1
    torch._check_value(y.dim() == 1)
    return y


@sample(torch.nn.Linear(2, 2), T(2))
def module_told_to_evaluate(module, x):
    module.eval()
    module.train()
    return module(x) + ("weight" in dir(module))


@sample(T(1, 2, 3, 4))
def attention_by_one_way(x):
    kind = nn.attention.SDPBackend
    with nn.attention.sdpa_kernel([kind.MATH, kind.FLASH_ATTENTION]):
        return nn.functional.scaled_dot_product_attention(x, x, x), kind.MATH
