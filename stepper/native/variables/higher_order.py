"""Operators that are given functions: `torch.utils.checkpoint.checkpoint`, `torch.cond`.

The function is interpreted like any other that is called, into the same graph. What that has added
is then taken out of the graph, and becomes one of its own: what it needs of the nodes before are
its inputs. So a function may use whatever it sees. It may only compute: what it changes that was
there before would be changed at another time than in eager, or more often, and is refused.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
import torch.fx

from stepper.native.exc import unimplemented
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
from stepper.native.variables.lists import TupleVariable
from stepper.native.variables.sym_node import SymNodeVariable
from stepper.native.variables.tensor import TensorVariable
from stepper.native.versions import checkpoint, checkpointed, cond, version_of

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
        tensors = [each for each in map(_tensor_of, known) if each is not None]
        before = [*map(version_of, tensors)], output.grad_enabled, output.modes
        stored, born = _stored(output), MutationType().born
        self.result = tx.realize(function).call_function(tx, args, kwargs)
        after = [*map(version_of, tensors)], output.grad_enabled, output.modes
        changed = {
            key
            for key, value in _stored(output).items()
            if key not in stored or stored[key] != value
        }
        if before != after or any(key.born < born or isinstance(key, _EXISTING) for key in changed):
            raise unimplemented(f"{function.describe()}, which does more than compute,")
        self.nodes = [n for n in output.graph.nodes if n not in known and n.op != "placeholder"]
        parts = self.result.unpack(tx) if isinstance(self.result, TupleVariable) else [self.result]
        self.leaves = [tx.realize(each) for each in parts]

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
        leaves = [
            made[each.proxy.node].with_guards(each.guards)
            if isinstance(each, TensorVariable)
            else each
            for each in self.leaves
        ]
        if not isinstance(self.result, TupleVariable):
            return leaves[0].with_guards(self.result.guards)
        return self.result.make(leaves, self.result.guards)


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

    value: types.FunctionType
    """The function of torch."""

    def describe(self) -> str:
        return f"torch function {self.value.__name__}"

    def python_type(self) -> type:
        return type(self.value)

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        return OPERATORS[self.value](self, tx, args, kwargs).with_guards(self.guards)


_REENTRANT = {"use_reentrant": False, "preserve_rng_state": True}
"""What `checkpoint` is to be told, or not to be told otherwise."""
_OF_CHECKPOINT = frozenset({*_REENTRANT, "context_fn", "determinism_check", "debug", "early_stop"})


def _checkpoint(
    me: HigherOrderVariable, tx: Translator, args: Arguments, kwargs: Keywords
) -> VariableTracker:
    told = {key: kwargs[key] for key in kwargs if key in _OF_CHECKPOINT}
    known = all(each.is_python_constant() for each in told.values())
    if not args or not known or "use_reentrant" not in told:
        raise me.refuse("a call with these arguments")
    if any(_REENTRANT.get(key) is not value.as_python_constant() for key, value in told.items()):
        raise me.refuse("a call with these arguments")
    rest = {key: value for key, value in kwargs.items() if key not in told}
    region = Region(tx, args[0], args[1:], rest)
    if not region.given():
        return region.result
    inputs = list(dict.fromkeys(region.needed))
    body = region.take_out(tx.output, inputs)
    given = [body, *[_of_node(tx.output, each) for each in inputs]]
    results = tx.call_in_graph("call_function", checkpointed, given, {})
    return region.with_results(tx, results.unpack(tx))


def _cond(
    me: HigherOrderVariable, tx: Translator, args: Arguments, kwargs: Keywords
) -> VariableTracker:
    if kwargs or len(args) not in (3, 4):
        raise me.refuse("a call with these arguments")
    chosen, *functions = map(tx.realize, args[:3])
    operands = [tx.realize(each) for each in args[3].unpack(tx)] if len(args) == 4 else []
    if not all(isinstance(each, TensorVariable) for each in (chosen, *operands)):
        raise me.refuse("a call with what is no tensor")
    regions = [Region(tx, each, operands, {}) for each in functions]
    one, other = ([_facts(each) for each in region.leaves] for region in regions)
    if one != other or type(regions[0].result) is not type(regions[1].result):
        raise me.refuse("a call with functions that give different things")
    if len(one) != len(regions[0].given()) or len(one) != len(regions[1].given()):
        raise me.refuse("a call with functions that give something else than tensors, each once")
    needed = [each for region in regions for each in region.needed]
    inputs = list(dict.fromkeys([*[each.as_proxy().node for each in operands], *needed]))
    bodies = [region.take_out(tx.output, inputs) for region in regions]
    given = TupleVariable([_of_node(tx.output, each) for each in inputs])
    results = tx.call_in_graph("call_function", cond, [chosen, *bodies, given], {})
    return regions[0].with_results(tx, results.unpack(tx))


def _facts(leaf: VariableTracker) -> object:
    if not isinstance(leaf, TensorVariable):
        return None
    fake = leaf.fake
    return fake.dtype, fake.device, fake.shape, fake.stride()


OPERATORS: dict[object, Callable[..., VariableTracker]] = {
    checkpoint: _checkpoint,
    torch.cond: _cond,
}
"""What calling each means."""
