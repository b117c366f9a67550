"""What a capture goes through, whatever it captures: Python's builtins and parts of torch.

A program that has put something of its own there would have it called by captures, so it is left
alone as long as it is there. What only some captures go through is looked at where that is met
(`guards.originals`, `guards.of_torch`).
"""

from __future__ import annotations

import builtins
import types
from typing import Any

import torch
import torch.fx
from torch.nn.modules import module as nn_module

from stepper._C import ClassCheck, NamespaceCheck
from stepper.native import versions
from stepper.native.guards.of_torch import is_of_torch

_REPLACED_BY_MANY = frozenset(
    {
        "_", "breakpoint", "copyright", "credits", "display", "exit", "help", "input",
        "license", "open", "print", "quit",
    }
)  # fmt: skip
_BUILTINS = {name: value for name, value in vars(builtins).items() if name not in _REPLACED_BY_MANY}
_builtins_are_original = NamespaceCheck([(vars(builtins), _BUILTINS)], [])

_OF_TORCH = (
    "Tensor", "Size", "Generator", "SymInt", "SymFloat", "SymBool", "default_generator",
    "is_grad_enabled", "is_inference_mode_enabled", "get_default_dtype", "get_rng_state",
    "are_deterministic_algorithms_enabled", "is_deterministic_algorithms_warn_only_enabled",
    "empty_strided", *versions.OWN_NAMES,
)  # fmt: skip
_NAMES: dict[types.ModuleType, list[str]] = {
    torch: [
        name
        for name, value in vars(torch).items()
        if name in _OF_TORCH or isinstance(value, types.ModuleType)
    ],
    torch.nn: ["Module", "Parameter", "modules", "parameter"],
    nn_module: [
        name for name, value in vars(nn_module).items() if callable(value) or name == "torch"
    ],
    torch.compiler: ["is_exporting"],
    torch.utils: [*versions.UTILITIES],
    torch.fx: list(vars(torch.fx)),
    versions.NATIVE_MODULE: list(vars(versions.NATIVE_MODULE)),
}
_TORCH = [
    (module.__name__, vars(module), {name: vars(module)[name] for name in names})
    for module, names in _NAMES.items()
]
"""The name of a module, what it has, what some of its names should mean."""
_torch_is_original = NamespaceCheck([(present, known) for _, present, known in _TORCH], [])

_OF_MODULES = ("__new__", "__init__", "__setattr__", "__delattr__", "__getattribute__")
"""Methods of `torch.nn.Module` that run where a graph becomes one."""
_METHODS = {name: vars(torch.nn.Module).get(name) for name in _OF_MODULES}


def _has_methods(cls: type) -> bool:
    return not _replaced(dict(vars(cls)), _METHODS)


_module_is_original = ClassCheck(torch.nn.Module, _has_methods)


def replaced_in_python() -> str:
    """A builtin that is not Python's own; empty: there is none."""
    return "" if _builtins_are_original() else _replaced(vars(builtins), _BUILTINS)


def replaced_in_torch() -> str:
    """A part of torch that is not its own; empty: there is none."""
    if not _module_is_original():
        return "a method of torch.nn.Module"
    if _torch_is_original():
        return ""
    replaced = ((module, _replaced(present, known)) for module, present, known in _TORCH)
    return next((f"{module}.{name}" for module, name in replaced if name), "")


def _replaced(present: dict[str, Any], known: dict[str, Any]) -> str:
    """The first name that means something of the program's; empty: none does.

    Dynamo puts a function of its own into `Module` when it is first used."""
    return next(
        (
            name
            for name, value in known.items()
            if (found := present.get(name)) is not value and not is_of_torch(found)
        ),
        "",
    )
