"""Operators that are given functions: `torch.utils.checkpoint.checkpoint`, and those that
`torch.cond`, `while_loop`, `map` and `scan` call, whose own Python is interpreted.

The function is interpreted like any other that is called, into the same graph. What that has added
is then taken out of the graph, and becomes one of its own: what it needs of the nodes before are
its inputs. So a function may use whatever it sees. It may only compute: what it changes that was
there before would be changed at another time than in eager, or more often, and is refused. What an
operator gives its functions are nodes that are there while these are interpreted, and no longer.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from types import CodeType
from typing import TYPE_CHECKING, NamedTuple

import torch
import torch.fx
from torch.utils.hooks import RemovableHandle

from stepper import _C
from stepper.native.bytecode.opcodes import listing
from stepper.native.exc import Unsupported, unimplemented
from stepper.native.variables.base import (
    Arguments,
    AttributeMutationExisting,
    Keywords,
    MutationType,
    ValueMutationExisting,
    VariableTracker,
    tracker_class,
)
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.ctx_manager import InsideVariable
from stepper.native.variables.dicts import ConstDictVariable
from stepper.native.variables.functions import BaseUserFunctionVariable
from stepper.native.variables.lists import BaseListVariable, TupleVariable
from stepper.native.variables.sym_node import SymNodeVariable
from stepper.native.variables.tensor import (
    ANSWERS,
    TensorVariable,
    is_graph_method,
    storage_of,
)
from stepper.native.versions import (
    checkpoint,
    checkpointed,
    cond,
    map_impl,
    scan,
    while_loop,
    wrapped,
)
from stepper.support import break_kinds

if TYPE_CHECKING:
    from stepper.native.protocols import Output, Translator


_EXISTING = (ValueMutationExisting, AttributeMutationExisting)


class Region:
    """What a call has added to the graph, without having changed anything else.

    result: what the call gives.
    nodes: what it has added.
    """

    def __init__(
        self, tx: Translator, function: VariableTracker, args: Arguments, kwargs: Keywords
    ) -> None:
        output = tx.output
        known = dict.fromkeys(output.graph.nodes)
        before, count = (output.grad_enabled, output.modes), len(output.altered)
        stored, born = _stored(output), MutationType().born
        self.result = tx.realize(function).call_function(tx, args, kwargs)
        after = output.grad_enabled, output.modes
        changed = {
            key
            for key, value in _stored(output).items()
            if key not in stored or stored[key] != value
        }
        outside = any(key.born < born or isinstance(key, _EXISTING) for key in changed)
        if before != after or outside or output.has_altered({**known, **output.graphargs}, count):
            reason = f"{function.describe()}, which does more than compute,"
            raise unimplemented(reason, kind=break_kinds.CHANGES_MORE)
        self.nodes = [n for n in output.graph.nodes if n not in known and n.op != "placeholder"]
        self.leaves = [*_leaves(tx, self.result)]

    @property
    def needed(self) -> list[torch.fx.Node]:
        """The nodes before that it uses."""
        own = set(self.nodes)
        return [n for each in self.nodes for n in each.all_input_nodes if n not in own]

    def given(self) -> list[torch.fx.Node]:
        """The nodes that it gives.

        Raises:
            Unsupported: it gives something else than tensors that it has made, and constants.
        """
        own = set(self.nodes)
        found = [each.proxy.node for each in self.leaves if isinstance(each, TensorVariable)]
        others = [each for each in self.leaves if not isinstance(each, TensorVariable)]
        if not all(isinstance(each, ConstantVariable) for each in others) or not own.issuperset(
            found
        ):
            raise unimplemented(f"a function that gives {self.result.describe()}, to an operator")
        return list(dict.fromkeys(found))

    def take_out(self, output: Output, inputs: list[torch.fx.Node]) -> VariableTracker:
        """Have it be a graph of its own, with these inputs."""
        graph = torch.fx.Graph()
        copies = {each: graph.placeholder(each.name) for each in inputs}
        for node in self.nodes:
            copies[node] = graph.node_copy(node, copies.__getitem__)
        graph.output(tuple(copies[each] for each in self.given()))
        for node in reversed(self.nodes):
            output.erase(node)
        return SubgraphVariable(output.attach(graph))

    def with_results(self, tx: Translator, results: list[VariableTracker]) -> VariableTracker:
        """What the call gives, once an operator gives these in the place of its nodes."""
        made = dict(zip(self.given(), results, strict=True))

        def filled(value: VariableTracker) -> VariableTracker:
            value = tx.realize(value)
            if isinstance(value, BaseListVariable):
                return value.make([*map(filled, value.items)], value.guards)
            if isinstance(value, ConstDictVariable):
                items = {key: filled(each) for key, each in value.items.items()}
                return ConstDictVariable.new(items, value.guards)
            if not isinstance(value, TensorVariable):
                return value
            found = made[value.proxy.node].with_guards(value.guards)
            if isinstance(found, TensorVariable) and value.class_type is not found.class_type:
                return value.with_fields(proxy=found.proxy, guards=found.guards)
            return found

        return filled(self.result)


def _leaves(tx: Translator, value: VariableTracker) -> Iterator[VariableTracker]:
    value = tx.realize(value)
    if isinstance(value, BaseListVariable | ConstDictVariable):
        held = value.items.values() if isinstance(value, ConstDictVariable) else value.items
        for each in held:
            yield from _leaves(tx, each)
    else:
        yield value


def _tensor_of(node: torch.fx.Node) -> torch.Tensor | None:
    value = node.meta.get("example_value")
    return value if isinstance(value, torch.Tensor) else None


def _stored(output: Output) -> dict[MutationType, object]:
    effects = output.side_effects
    attributes = {key: dict(value) for key, value in effects.attributes.items()}
    return {**effects.newest, **attributes}


@tracker_class
class SubgraphVariable(VariableTracker):
    """A graph among the arguments of an operator."""

    proxy: torch.fx.Proxy
    """The node that gets it."""

    def as_proxy(self) -> object:
        return self.proxy


def _of_node(output: Output, node: torch.fx.Node) -> VariableTracker:
    proxy = torch.fx.Proxy(node)
    return SymNodeVariable(proxy) if _tensor_of(node) is None else TensorVariable(proxy)


@tracker_class
class HigherOrderVariable(VariableTracker):
    """An operator that is given functions."""

    value: Callable[..., object]
    """The function of torch, or the operator."""

    def describe(self) -> str:
        return f"torch function {getattr(self.value, '__name__', '')}"

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        call = _APPLIED.get(self.value, _operator)
        return call(self, tx, args, kwargs).with_guards(self.guards)


_SAVES_DRAWS = "preserve_rng_state"
_OF_CHECKPOINT = frozenset(
    {"use_reentrant", _SAVES_DRAWS, "context_fn", "determinism_check", "debug", "early_stop"}
)
"""What `checkpoint` is told, and its function is not."""


def _checkpoint(
    me: HigherOrderVariable, tx: Translator, args: Arguments, kwargs: Keywords
) -> VariableTracker:
    told = {key: kwargs[key] for key in kwargs if key in _OF_CHECKPOINT}
    known = all(each.is_python_constant() for each in told.values())
    if not args or not known or "use_reentrant" not in told:
        raise me.refuse("a call with these arguments")
    rest = {key: value for key, value in kwargs.items() if key not in told}
    flags = {key: each.as_python_constant() for key, each in told.items()}
    if told.keys() - {_SAVES_DRAWS, "use_reentrant"} or {*map(type, flags.values())} != {bool}:
        raise me.refuse("a call with these arguments")
    if flags["use_reentrant"]:
        return _checkpoint_reentrant(me, tx, args, kwargs)
    region = Region(tx, args[0], args[1:], rest)
    return _applied(tx, checkpointed, region, {} if flags.get(_SAVES_DRAWS, True) else told)


def _checkpoint_reentrant(
    me: HigherOrderVariable, tx: Translator, args: Arguments, kwargs: Keywords
) -> VariableTracker:
    """`checkpoint` as a function with gradients of its own, where these are those of any other: it
    is given all that it sees and has gradients, and all that it gives depends on that."""
    given = [each.proxy.node for each in map(tx.realize, args) if isinstance(each, TensorVariable)]
    if len(kwargs) > 1 or not any(map(_requires_gradient, given)):
        raise me.refuse("a call with these arguments")
    region = Region(tx, args[0], args[1:], {})
    seen = [each for each in region.needed if _requires_gradient(each) and each not in given]
    depend = not tx.output.grad_enabled or all(map(_requires_gradient, region.given()))
    if not depend or not all(_is_leaf(tx.output, each) for each in seen):
        raise me.refuse("a call with this function")
    return _applied(tx, checkpointed, region, kwargs)


def _requires_gradient(node: torch.fx.Node) -> bool:
    value = _tensor_of(node)
    return value is not None and value.requires_grad


def _is_leaf(output: Output, node: torch.fx.Node) -> bool:
    arg = output.graphargs.get(node)
    return arg is not None and isinstance(arg.example, torch.Tensor) and arg.example.is_leaf


def _wrap(
    me: HigherOrderVariable, tx: Translator, args: Arguments, kwargs: Keywords
) -> VariableTracker:
    if not args:
        raise me.refuse("a call with these arguments")
    region = Region(tx, args[0], args[1:], kwargs)
    try:
        region.given()
    except Unsupported:
        return region.result  # in eager it is a call like any other
    return _applied(tx, wrapped, region)


def _applied(
    tx: Translator, operator: Callable[..., object], region: Region, told: Keywords | None = None
) -> VariableTracker:
    """What a region gives, with an operator of its graph, which is told this, in its place."""
    if not region.given():
        return region.result
    inputs = list(dict.fromkeys(region.needed))
    body = region.take_out(tx.output, inputs)
    given = [body, *[_of_node(tx.output, each) for each in inputs]]
    results = tx.call_in_graph("call_function", operator, given, told or {})
    return region.with_results(tx, results.unpack(tx))


_APPLIED: dict[object, Callable[..., VariableTracker]] = {checkpoint: _checkpoint, wrapped: _wrap}
"""What is given one function, and calls it."""


class Form(NamedTuple):
    """What an operator does with its arguments, each told by its place.

    functions: which of them are functions.
    same: containers of tensors which functions are given.
    slices: containers of which they are given the first slice of each.
    seen: the container to which is added what functions see beside.
    """

    functions: tuple[int, ...]
    same: tuple[int, ...]
    slices: tuple[int, ...]
    seen: int


FORMS: dict[object, Form] = {
    cond: Form((1, 2), (3,), (), 3),
    while_loop: Form((0, 1), (2, 3), (), 3),
    map_impl: Form((0,), (2,), (1,), 2),
    scan: Form((0,), (1, 3), (2,), 3),
}
"""What is given functions as the operators of control flow are."""


OPERATORS: frozenset[object] = frozenset({*FORMS, wrapped})
"""The operators that are known."""


def _operator(
    me: HigherOrderVariable, tx: Translator, args: Arguments, kwargs: Keywords
) -> VariableTracker:
    form = FORMS[me.value]
    args = [*map(tx.realize, [*args, *kwargs.values()])]
    if len(args) != 1 + max(*form.functions, *form.same, *form.slices):
        raise me.refuse("a call with these arguments")
    if me.value is cond and args[0].is_python_constant():
        chosen = args[1 if args[0].as_python_constant() else 2]
        return chosen.call_function(tx, args[3].unpack(tx), {})
    given = {place: [*_tensors(me, tx, args[place])] for place in form.same + form.slices}
    operands = [
        _stand_in(tx, each, place in form.slices)
        for place in (*form.same[:-1], *form.slices, form.same[-1])
        for each in given[place]
    ]
    regions = [Region(tx, args[place], operands, {}) for place in form.functions]
    known = [[_facts(each) for each in region.leaves] for region in regions]
    if me.value is cond and known[0] != known[1]:
        raise me.refuse("a call with functions that give different things")
    if any(len(facts) != len(each.given()) for facts, each in zip(known, regions, strict=True)):
        raise me.refuse("a call with functions that give something else than tensors, each once")
    own = [operand.as_proxy().node for operand in operands]
    seen = {node: None for region in regions for node in region.needed if node not in own}
    if me.value is map_impl:  # which refuses that in eager
        mapped = {storage_of(each.fake) for each in given[1]}
        others = [node.meta["example_value"] for node in [*own[len(given[1]) :], *seen]]
        if not mapped.isdisjoint(map(storage_of, others)):
            raise me.refuse("a call with one tensor's memory twice")
    for place, region in zip(form.functions, regions, strict=True):
        args[place] = region.take_out(tx.output, [*own, *seen])
    for node in reversed(own):
        tx.output.erase(node)
    beside = [_of_node(tx.output, each) for each in seen]
    args[form.seen] = TupleVariable([*given[form.seen], *beside])
    results = tx.call_in_graph("call_function", me.value, args, {})
    return regions[-1].with_results(tx, results.unpack(tx))


def _tensors(
    me: HigherOrderVariable, tx: Translator, container: VariableTracker
) -> Iterator[TensorVariable]:
    for each in map(tx.realize, container.unpack(tx)):
        if not isinstance(each, TensorVariable):
            raise me.refuse("a call with what is no tensor")
        yield each


def _stand_in(tx: Translator, tensor: VariableTracker, sliced: bool) -> VariableTracker:
    """What a function is given for a tensor, or for its slices."""
    if sliced:
        first = ConstantVariable(0)
        return tx.call_in_graph("call_method", "select", [tensor, first, first], {})
    return tx.call_in_graph("call_method", "view_as", [tensor, tensor], {})


def _facts(leaf: VariableTracker) -> tuple[object, ...]:
    if not isinstance(leaf, TensorVariable):
        return ()
    fake = leaf.fake
    return fake.dtype, fake.device, fake.shape, fake.stride()


def register_hook(tx: Translator, tensor: TensorVariable, hook: VariableTracker) -> VariableTracker:
    """Have the gradient of what the graph has made go through a function, as a graph of its own."""
    output = tx.output
    plain = not (tensor.proxy.node in output.graphargs or output.modes or output.transforms)
    code = hook.get_function().__code__ if isinstance(hook, BaseUserFunctionVariable) else None
    if code is None or not (plain and _computes(code)):
        raise unimplemented("Tensor.register_hook of what may do more than compute")
    gradient = _stand_in(tx, tensor, False)
    region = Region(tx, hook, [gradient], {})
    if len(region.given()) != 1 or _facts(region.result)[:3] != _facts(tensor)[:3]:
        raise unimplemented("Tensor.register_hook of what gives no such gradient")
    own = gradient.as_proxy().node
    body = region.take_out(output, [own])
    output.erase(own)
    tx.call_in_graph("call_function", hooked, [tensor, body], {})
    # Nobody can have what takes it away again, for the graph registers it.
    return InsideVariable(RemovableHandle, tx.root.current_instruction.index)


def _computes(code: CodeType) -> bool:
    """Whether all that a function does is to compute with what it is given: it asks nothing of it,
    for a gradient is not what its tensor is, and reads nothing that may be another until then."""
    return (
        code.co_argcount == 1
        and not (code.co_freevars or code.co_kwonlyargcount or code.co_flags & _OPEN)
        and all(is_graph_method(name) and name not in ANSWERS for name in code.co_names)
        and all(i.target is None and i.opname not in _ASK for i in listing(code).instructions)
    )


_OPEN = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_ASK = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "IS_OP", "CONTAINS_OP", "MAKE_FUNCTION"})


@torch.fx.node.has_side_effect
def hooked(tensor: torch.Tensor, body: torch.fx.GraphModule) -> torch.Tensor:
    """A node of graphs: the tensor's gradient goes through a graph."""
    tensor.register_hook(partial(_through, body))  # type: ignore[no-untyped-call]  # torch leaves it untyped
    return tensor


def _through(body: torch.fx.GraphModule, gradient: torch.Tensor) -> object:
    return body.forward(gradient)[0]


_C.set_skip(_through.__code__, "recursive")
