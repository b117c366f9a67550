"""Modes, and what is written into tensors; see `samples`."""

# ruff: noqa
# mypy: ignore-errors
import collections

import torch

from tests.engines.native.samples import T, sample


class A:
    k = 2


class B(A):
    k = 3


@sample(T(3))
def inference(x):
    with torch.inference_mode():
        y = x * 2
    return y


@torch.inference_mode()
def dec(x):
    return x * 2


@sample(T(3))
def inference_deco(x):
    return dec(x)


@sample(T(3))
def inference_and_more(x):
    with torch.inference_mode():
        y = x * 2
    return (y + x, torch.is_grad_enabled())


@sample(T(3))
def inference_query(x):
    with torch.inference_mode():
        return (x + 1, torch.is_grad_enabled(), torch.is_inference_mode_enabled())


@sample(T(3))
def new_empty_(x):
    return x.new(3).shape[0] + x.new_tensor([1.0, 2.0, 3.0])


@sample(T(3))
def length(x):
    return x.__len__() + x


@sample(T(2, 3))
def rg(x):
    w = torch.ones(3, requires_grad=True)
    return ((x * w).sum(), w.requires_grad)


@sample(T(3))
def setitem_(x):
    y = torch.zeros(3)
    y[0] = x[1]
    y[1:] += 2
    return y


@sample(T(3))
def type_made(x):
    C = type("C", (), {"v": 2})
    return x * C.v


@sample(T(3))
def sets_(x):
    a = {1, 2, 3}
    a |= {4}
    b = a & {2, 4}
    a -= {1}
    a ^= {9}
    return x + len(a) + sum(b)


@sample(T(3))
def counters(x):
    c = collections.Counter("abca")
    return x * c["a"] + c.most_common(1)[0][1]


@sample(T(3))
def chainmap(x):
    c = collections.ChainMap({"a": 1}, {"b": 2})
    return x + c["b"] + c["a"]


@sample(T(3))
def str_methods(x):
    s = "a,b".split(",")
    return (x + len(s), f"{len(s):>4}", s[0].upper().center(5, "*"))


@sample(T(3))
def sorted_items(x):
    d = {"b": x, "a": x + 1}
    return torch.stack([v for _, v in sorted(d.items(), key=lambda kv: kv[0])])


@sample(T(3))
def nested_comp(x):
    return [[x * i * j for i in range(2)] for j in range(2)]


@sample(T(3))
def star(x):
    a, *b = [x, x + 1, x + 2]
    return (a, b)


@sample(T(3))
def isin(x):
    return x + (A in (A, B)) + (B in {A: 1})


@sample(T(2, 3))
def out_view_of_input(x):
    torch.mul(x[1], 2, out=x[0])
    return x + 1


@sample(T(3), T(3))
def out_input(x, y):
    torch.add(x, y, out=y)
    return y * 2


@sample(T(3))
def out_resized(x):
    y = torch.empty(0)
    torch.mul(x, 2, out=y)
    return y


@sample(T(3))
def out_none(x):
    return torch.mul(x, 2, out=None)


@sample(T(3))
def out_tuple(x):
    a, b = (torch.empty(()), torch.empty((), dtype=torch.long))
    torch.max(x, 0, out=(a, b))
    return (a, b)


@sample(T(3))
def out_and_list(x):
    y = torch.empty(3)
    l = [y]
    torch.sin(x, out=y)
    return (l[0] + y, l[0] is y)


@sample(T(1, 3))
def squeeze_input(x):
    x.squeeze_(0)
    return x + 1


@sample(T(1, 3))
def squeeze_view(x):
    y = x[:]
    y.squeeze_(0)
    return (y + 1, x.shape)


@sample(T(1, 3))
def squeeze_then_break(x):
    y = x * 2
    y.squeeze_(0)
    print("a")
    y.unsqueeze_(1)
    return y + 1


@sample(T(1, 3))
def squeeze_alias(x):
    y = x * 2
    z = y
    v = y[0]
    y.t_()
    return (z + 1, v, z.shape)


@sample(T(3).requires_grad_())
def detach_grad(x):
    y = x * 2
    z = y * 3
    y.detach_()
    return (y, z, y.requires_grad, z.requires_grad)


@sample(T(3).requires_grad_())
def detach_view(x):
    y = x * 2
    v = y[0:1]
    try:
        v.detach_()
    except RuntimeError:
        return y
    return v


def helper(x):
    y = x * 2
    y.unsqueeze_(0)
    print("break")
    return y


@sample(T(3))
def inlined_squeeze_break(x):
    return helper(x + 1) + 1


@sample(T(3))
def inf_isinf(x):
    with torch.inference_mode():
        y = x * 2
    return (y.is_inference(), torch.is_inference(y))


@sample(T(3).requires_grad_())
def inf_saved(x):
    with torch.inference_mode():
        y = x * 2
    try:
        return y * x
    except RuntimeError as e:
        return "saved"


@sample(T(3).requires_grad_())
def inf_view(x):
    with torch.inference_mode():
        y = x.view(3, 1)
    return (y.requires_grad, y.is_inference(), y)


@sample(T(3).requires_grad_())
def inf_off(x):
    with torch.inference_mode():
        with torch.inference_mode(False):
            y = x * 2
        z = x * 3
    return (y, z, torch.is_grad_enabled())


@sample(T(3).requires_grad_())
def inf_enable_grad(x):
    with torch.inference_mode():
        with torch.enable_grad():
            y = x * 2
            g = torch.is_grad_enabled()
        h = torch.is_grad_enabled()
    return (y, g, h, torch.is_grad_enabled())


@sample(T(3).requires_grad_())
def inf_break(x):
    with torch.inference_mode():
        y = x * 2
        print("b")
        z = y + 1
    return (z, torch.is_grad_enabled())


@sample(T(3).requires_grad_())
def inf_inplace(x):
    with torch.inference_mode():
        y = x * 2
    y.add_(1)
    return y


@sample(T(3).requires_grad_())
def inf_raise(x):
    try:
        with torch.inference_mode():
            y = x * 2
            raise ValueError("q")
    except ValueError:
        return (y, torch.is_grad_enabled())


@sample(T(3).requires_grad_())
def inf_return(x):
    with torch.inference_mode():
        return x * 2


@sample(T(3).requires_grad_())
def inf_arg(x):
    with torch.inference_mode(mode=False):
        return x * 2


@sample(T(3).requires_grad_())
def inf_nested_fn(x):

    @torch.inference_mode()
    def f(y):
        return y * 3

    return f(x) + 1


CTX = torch.no_grad()


@sample(T(3).requires_grad_())
def ctx_object(x):
    with CTX:
        y = x * 2
    return (y, torch.is_grad_enabled())


@sample(T(3).requires_grad_())
def ctx_param(x):
    c = torch.no_grad()
    with c:
        y = x * 2
    with c:
        z = y * x
    return (y, z)


@sample(T(3).requires_grad_())
def set_grad_break(x):
    torch.set_grad_enabled(False)
    y = x * 2
    print("x")
    z = x * 3
    torch.set_grad_enabled(True)
    return (y, z, x + 1)


@sample(T(3).requires_grad_())
def grads_nested(x):
    with torch.no_grad():
        with torch.enable_grad():
            a = x * 2
        with torch.no_grad():
            b = x * 2
        with torch.set_grad_enabled(True):
            c = x * 2
    return (a, b, c, x * 2)


@sample(T(3).requires_grad_())
def empty_modes(x):
    with torch.no_grad():
        pass
    with torch.enable_grad():
        pass
    return x * 2


@sample(T(3).requires_grad_())
def mode_with_autocast(x):
    with torch.no_grad():
        with torch.autocast("cpu", torch.bfloat16):
            y = x.view(1, 3) @ x.view(3, 1)
        with torch.enable_grad():
            z = x * 2
    return (y, z)


@sample(T(3))
def made_on_a_device(x):
    with torch.device("meta") as given:
        y = torch.ones(3)
        with torch.device("cpu"):
            z = torch.arange(3) + x
    return z, y.device, given, torch.zeros(1).device


@sample(T(3).requires_grad_())
def mode_in_autocast_across_a_break(x):
    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        y = x.view(1, 3) @ x.view(3, 1)
        print("between")
        z = x * 2
    return (y, z, x * 3)
