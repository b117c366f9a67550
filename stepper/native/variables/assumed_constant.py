"""Functions of which the program says that they give the same at each call
(`assume_constant_result`).

Such a function is called while the frame is captured, once, with what its arguments are at this
call: of tensors that the graph computes, this is computed first, and all tensors are copies, so
that what it gives is no input that the next call has otherwise. The result is the translation's own
from then on. It sees none of what the frame has left to be done behind the graph; so after a change
the call is Python's, as all is that cannot be captured.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, TypeVar, cast

import torch
import torch.fx

from stepper.native.exc import Unsupported, unimplemented
from stepper.native.source import ConstantSource
from stepper.native.variables.base import Arguments, Keywords, VariableTracker
from stepper.native.variables.dicts import ConstDictVariable
from stepper.native.variables.lists import ListVariable, TupleVariable
from stepper.support.words import class_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from stepper.native.protocols import Output, Translator

_MARK = "_dynamo_marked_constant"
"""The attribute by which `torch.compiler.assume_constant_result` marks a function, too."""
F = TypeVar("F", bound="Callable[..., object]")


def assume_constant_result(fn: F) -> F:
    """Have a function be called once for each capture: what it gives then is taken for what it
    gives at all calls."""
    setattr(fn, _MARK, True)
    return fn


def is_assumed_constant(function: types.FunctionType) -> bool:
    """Whether the program says of a function that it gives the same at each call."""
    return _MARK in function.__dict__


def call_now(
    tx: Translator, function: types.FunctionType, args: Arguments, kwargs: Keywords
) -> VariableTracker:
    """What such a function gives.

    Raises:
        Unsupported: it would not see its arguments as they are.
    """
    if not tx.output.is_untouched():
        raise unimplemented(
            f"a call of {function.__qualname__}, whose result is assumed constant, after a change"
        )
    options = VariableTracker.propagate(args, list(kwargs.values()))
    tx.output.chosen(options["guards"])
    try:
        given = [_value_of(tx, each) for each in args]
        named = {name: _value_of(tx, each) for name, each in kwargs.items()}
        result = function(*given, **named)
    except Unsupported:
        raise
    except Exception as error:  # Python is to raise it, where the call is
        what = f"{function.__qualname__}, whose result is assumed constant,"
        raise unimplemented(f"{type(error).__name__} raised by {what}") from None
    return tx.build(ConstantSource(result), result).with_guards(options["guards"])


def _value_of(tx: Translator, value: VariableTracker) -> object:
    value = tx.realize(value)
    if issubclass(value.python_type(), torch.Tensor):
        return _computed(tx.output, value.as_proxy().node)
    if value.is_python_constant():
        return value.as_python_constant()
    if isinstance(value, ListVariable | TupleVariable):
        return value.python_type()([_value_of(tx, each) for each in value.items])
    if isinstance(value, ConstDictVariable) and value.python_type() is dict:
        return {key: _value_of(tx, each) for key, each in value.items.items()}
    if value.source is not None and "value" in vars(value):
        found: object = vars(value)["value"]
        return found
    raise value.refuse("use in a call whose result is assumed constant")


def _computed(output: Output, wanted: torch.fx.Node) -> object:
    """What a node of the graph gives at this call: all of the graph is run, what writes to
    tensors that it has made among it."""
    runs = torch.fx.Interpreter(torch.nn.Module(), graph=output.graph)
    for node in [wanted] if wanted in output.graphargs else output.graph.nodes:
        given = output.graphargs.get(node)
        runs.env[node] = runs.run_node(node) if given is None else _copied(given.example)
    return cast("object", runs.env[wanted])


def _copied(value: torch.Tensor | float) -> object:
    if not isinstance(value, torch.Tensor):
        return value
    is_parameter = type(value) is torch.nn.Parameter
    if not (is_parameter or type(value) is torch.Tensor):
        raise unimplemented(
            f"a call whose result is assumed constant, of {class_name(type(value))}"
        )
    copy = value.detach().clone()
    if is_parameter:
        return torch.nn.Parameter(copy, value.requires_grad)
    return copy.requires_grad_(value.requires_grad)
