"""Hooks of modules, of tensors and of autograd, and what a module holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.nn.modules import module as hooks_of_modules

from tests.engines.native.replaced.running import (
    CASES,
    LOG,
    case,
)


def _module_of_a_case() -> torch.nn.Module:
    class Thing(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.Linear(3, 3)
            self.register_buffer("count", torch.zeros(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.count = x * 2
            return self.inner(x) + self.count

    torch.manual_seed(0)
    return Thing()


def _note(word: str) -> Any:
    def hook(*args: Any, **kwargs: Any) -> None:
        LOG.append(word)

    return hook


for _name in (
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_backward_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_buffer_registration_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
):

    def _global_hook(name: str = _name) -> Iterator[Any]:
        module = _module_of_a_case()

        def program(x: torch.Tensor) -> Any:
            module.zero_grad()
            result = module(x)
            module.other = x * 3
            result.sum().backward()
            return result.detach()

        yield program
        handle = getattr(hooks_of_modules, name)(_note(name))
        try:
            yield
        finally:
            handle.remove()
            hooks_of_modules._global_is_full_backward_hook = None
        yield

    CASES[_name] = _global_hook

    def _global_hook_on_inference(name: str = _name) -> Iterator[Any]:
        module = _module_of_a_case()
        yield lambda x: module(x) * 2
        handle = getattr(hooks_of_modules, name)(_note(name))
        try:
            yield
        finally:
            handle.remove()
            hooks_of_modules._global_is_full_backward_hook = None
        yield

    CASES[f"{_name} on a call"] = _global_hook_on_inference


for _name in (
    "register_forward_hook",
    "register_forward_pre_hook",
    "register_full_backward_hook",
    "register_full_backward_pre_hook",
    "register_state_dict_pre_hook",
    "register_state_dict_post_hook",
):
    for _where in ("", "inner"):

        def _hook(name: str = _name, where: str = _where) -> Iterator[Any]:
            module = _module_of_a_case()

            def program(x: torch.Tensor) -> Any:
                module.zero_grad()
                result = module(x) + len(module.state_dict())
                result.sum().backward()
                return result.detach()

            yield program
            handle = getattr(module.get_submodule(where), name)(_note(name))
            yield
            handle.remove()
            yield

        CASES[f"{_name} {_where}"] = _hook


@case
def forward_hook_that_answers() -> Iterator[Any]:
    module = _module_of_a_case()
    yield lambda x: module(x) + 1
    handle = module.inner.register_forward_hook(lambda mod, args, result: result * 5)
    yield
    handle.remove()
    yield
    handle = module.register_forward_pre_hook(lambda mod, args: (args[0] * 5,))
    yield
    handle.remove()
    yield


@case
def forward_of_one_module() -> Iterator[Any]:
    module = _module_of_a_case()
    yield lambda x: module(x) + 1
    module.forward = lambda x: x * 8
    yield
    del module.forward
    yield
    module.inner.forward = lambda x: x * 9
    yield


@case
def call_of_one_module() -> Iterator[Any]:
    module = _module_of_a_case()
    yield lambda x: module(x) + 1
    module._call_impl = lambda x: x * 8
    yield
    del module._call_impl
    module._compiled_call_impl = lambda x: x * 9
    yield
    module._compiled_call_impl = None
    yield


@case
def saved_tensors_hooks() -> Iterator[Any]:
    weight = torch.ones(3, requires_grad=True)

    def program(x: torch.Tensor) -> Any:
        result = (weight * x).sin()
        result.sum().backward()
        return result.detach()

    yield program
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: (LOG.append("pack"), t)[1], lambda t: (LOG.append("unpack"), t)[1]
    ):
        yield
    yield
    with torch.autograd.graph.save_on_cpu():
        yield


@case
def hook_of_a_tensor() -> Iterator[Any]:
    weight = torch.ones(3, requires_grad=True)

    def program(x: torch.Tensor) -> Any:
        result = (weight * x).sin()
        result.sum().backward()
        return result.detach()

    yield program
    handle = weight.register_hook(_note("hook"))
    yield
    handle.remove()
    yield
    handle = weight.register_post_accumulate_grad_hook(_note("after"))
    yield
    handle.remove()
    yield


@case
def training_mode() -> Iterator[Any]:
    module = torch.nn.Sequential(torch.nn.Dropout(1.0), torch.nn.BatchNorm1d(3))

    def program(x: torch.Tensor) -> Any:
        return module(x.reshape(1, 3).expand(2, 3)).detach()

    yield program
    module.eval()
    yield
    module[0].train()
    yield


@case
def contents_of_a_module() -> Iterator[Any]:
    module = torch.nn.Sequential(torch.nn.ReLU())
    module.by = 2
    module.register_buffer("buffer", torch.ones(3))
    yield lambda x: module(x) * module.by + module.buffer
    module.append(torch.nn.Tanh())
    yield
    module[0] = torch.nn.Sigmoid()
    yield
    del module[1]
    yield
    module.by = 5
    yield
    module.buffer = torch.zeros(3)
    yield
    module.buffer = None
    yield
    module.buffer = torch.ones(3, dtype=torch.float64)
    yield
    module.register_parameter("by", None) if False else module.__dict__.pop("by")
    module.register_parameter("by", torch.nn.Parameter(torch.ones(3)))
    yield
    module.double()
    yield


@case
def parameter_that_shadows_a_buffer() -> Iterator[Any]:
    module = _module_of_a_case()
    yield lambda x: module(x) + 1
    module.inner.__dict__["weight"] = torch.eye(3)
    yield
    module.inner.__dict__.pop("weight")
    yield
    type(module).inner = torch.nn.Tanh()
    yield


@case
def class_of_a_module_object() -> Iterator[Any]:
    module = _module_of_a_case()

    class Other(type(module)):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * 4

    old = type(module)
    yield lambda x: module(x) + 1
    module.__class__ = Other
    yield
    module.__class__ = old
    yield
    module.inner.__class__ = torch.nn.Identity
    yield
