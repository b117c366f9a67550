"""Tensors of classes derived from `torch.Tensor`: with methods and attributes of their own, and a
`__torch_function__` that says what operations give."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tests.engines.native.samples import T, sample


class Scaled(torch.Tensor):
    factor = 3

    def scaled(self) -> Any:
        return self * self.factor

    @property
    def doubled(self) -> Any:
        return self * 2


class Tenfold(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.add:
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {})) * 10
        return super().__torch_function__(func, types, args, kwargs or {})


class Halved(nn.Parameter):
    def halved(self) -> Any:
        return self / 2


@sample(T(3))
def tensors_of_a_class(x):
    made = x.as_subclass(Scaled)
    told = isinstance(made, Scaled), type(made * 2) is Scaled, type(made.shape)
    return (made + 1).as_subclass(Scaled).sin(), told


@sample(T(3))
def tensors_with_methods(x):
    made = x.as_subclass(Scaled)
    return made.scaled() + made.doubled, hasattr(made, "factor"), made[1:]


@sample(T(3))
def tensors_that_say_what_comes_of_them(x):
    made = x.as_subclass(Tenfold)
    return torch.add(made, 1) + torch.mul(made, 2), torch.cat([x, made]), torch.stack([made, x])


@sample(T(3))
def tensors_whose_class_is_not_asked(x):
    made = x.as_subclass(Tenfold)
    with torch._C.DisableTorchFunctionSubclass():
        plain = torch.add(made, 1)
    return plain, type(plain) is torch.Tensor, torch.add(plain, made)


@sample(T(3))
def tensors_of_a_class_across_a_break(x):
    made = x.as_subclass(Scaled)
    y = made * 2
    print("between")
    return y + made, made.scaled()


@sample(Halved(T(3)), T(3))
def parameters_with_methods(p, x):
    return p.halved() + x, isinstance(p, nn.Parameter)
