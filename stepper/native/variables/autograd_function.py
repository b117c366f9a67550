"""`apply` of the program's subclasses of `torch.autograd.Function`.

The call is a node: what it does when the graph runs, its backward included, is torch's matter. But
the node's `forward` is the program's code, and what that gives may depend on anything that it
reads. So it is interpreted first, with a stand-in for `ctx`, only to learn on what it depends: all
is taken back that came of it but the guards. It may write to tensors of the graph's, which the node
does, too; what else does more than compute is left to Python.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import torch

from stepper.native.exc import Unsupported, unimplemented
from stepper.native.guards.class_dicts import lookup
from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.polyfills import FunctionContext
from stepper.native.source import ConstantSource, Source
from stepper.native.variables.base import Arguments, Keywords, VariableTracker
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.functions import UserFunctionVariable, UserMethodVariable
from stepper.native.variables.lists import TupleVariable
from stepper.native.variables.new_object import make_new
from stepper.native.variables.tensor import TensorVariable, storage_of
from stepper.native.variables.user_defined import UserDefinedClassVariable
from stepper.support import break_kinds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stepper.native.protocols import Translator

APPLY: Any = lookup(torch.autograd.Function, "apply")
"""A class method; from torch 2.15 on one that C has made, which has no function behind it."""
APPLY_FUNCTION: Any = getattr(APPLY, "__func__", None)
_TWO_PARTS = torch.autograd.Function.setup_context


def apply(cls: type[torch.autograd.Function], *args: object) -> object:
    """`cls.apply`, for graphs: FX calls those of all classes by one name of torch's, and finds none
    for what C has made."""
    return cls.apply(*args)  # type: ignore[no-untyped-call]  # torch's stubs say nothing of it


def apply_of(tx: Translator, cls: UserDefinedClassVariable, source: Source) -> VariableTracker:
    """`apply` of a class, of which C has made it."""
    name = source.name()
    text = f"{name}.__class__.__name__ == 'builtin_function_or_method'"
    guards = tx.output.install_guard(source, GuardBuilder.EXPRESSION, name=text) | cls.guards
    function = ApplyVariable(APPLY, guards=guards)
    return UserMethodVariable(function, cls, source=source, guards=guards)


def _may_be_given(value: VariableTracker) -> bool:
    try:
        value.as_proxy()
    except Unsupported:
        return False
    return True


def _facts(nodes: Sequence[torch.fx.Node]) -> dict[torch.fx.Node, object]:
    """All that is known of tensors, which to write to their memory does not change."""
    found: dict[torch.fx.Node, object] = {}
    for node in nodes:
        value = node.meta.get("example_value")
        found[node] = isinstance(value, torch.Tensor) and (
            value.shape, value.stride(), value.storage_offset(), value.dtype, value.requires_grad,
            storage_of(value),
        )  # fmt: skip
    return found


class ApplyVariable(UserFunctionVariable):
    """The function behind `apply`."""

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        if not args or kwargs or not isinstance(args[0], UserDefinedClassVariable):
            raise self.refuse("a call with these arguments")
        cls, given = args[0], [tx.realize(arg) for arg in args[1:]]
        output = tx.output
        plain = not (output.grad_enabled or output.transforms)
        if plain and not all(map(_may_be_given, given)):
            return self._forward_alone(tx, cls, given)
        mark, found = output.mark(), dict(output.guards)
        changed, nodes = dict(output.side_effects.changed), [*output.graph.nodes]
        count, facts = len(output.altered), _facts(nodes)
        grad_enabled, output.grad_enabled = output.grad_enabled, False
        try:
            self._interpret(tx, cls, given)
        finally:
            output.grad_enabled = grad_enabled
        late = [node for node in output.graphargs if node not in facts]
        told = _facts(nodes) != facts or output.has_altered(late, count)
        if output.side_effects.changed != changed or told:
            raise unimplemented(f"{cls.describe()}, whose forward does more than compute,")
        if not output.has_altered(nodes, count):
            del output.altered[count:]
        needed = {key: guard for key, guard in output.guards.items() if key not in found}
        output.rollback(mark)
        guards = output.install_again(needed)
        target = types.MethodType(apply, cls.value)
        result = tx.call_in_graph("call_function", target, given, {})
        return result.with_guards(self.guards | cls.guards | guards)

    def _forward_alone(
        self, tx: Translator, cls: UserDefinedClassVariable, given: list[VariableTracker]
    ) -> VariableTracker:
        """A call without gradients: all that it does is what `forward` does, with any arguments."""
        guards = self.guards | cls.guards
        result = tx.realize(self._interpret(tx, cls, given)).with_guards(guards)
        items = result.unpack(tx) if isinstance(result, TupleVariable) else [result]
        made = {storage_of(each.fake) for each in items if isinstance(each, TensorVariable)}
        before = (node.meta["example_value"] for node in tx.output.graphargs)
        if not made.isdisjoint(storage_of(each) for each in before if torch.is_tensor(each)):
            raise unimplemented(f"{cls.describe()}, whose forward gives what was there before,")
        return TupleVariable(items, guards=guards) if len(items) > 1 else result

    def _interpret(
        self, tx: Translator, cls: UserDefinedClassVariable, given: list[VariableTracker]
    ) -> VariableTracker:
        source = ConstantSource(FunctionContext)
        context = make_new(tx, UserDefinedClassVariable(FunctionContext, source=source), [], {})
        needs = [
            ConstantVariable(isinstance(arg, TensorVariable) and arg.fake.requires_grad)
            for arg in given
        ]
        tx.output.side_effects.store_attr(context, "needs_input_grad", TupleVariable(needs))
        forward = cls.var_getattr(tx, "forward")
        if cls.value.setup_context is _TWO_PARTS:
            result = forward.call_function(tx, [context, *given], {})
        else:
            result = forward.call_function(tx, given, {})
            told = [context, TupleVariable(given), result]
            cls.var_getattr(tx, "setup_context").call_function(tx, told, {})
        dirty = tx.output.side_effects.load_attr(context, "dirty")
        returned = result.unpack(tx) if isinstance(result, TupleVariable) else [result]
        known = {tx.realize(each).identity for each in returned}
        if dirty and any(tx.realize(each).identity not in known for each in dirty.unpack(tx)):
            reason = f"{cls.describe()}, which does not return what it marks as dirty,"
            raise unimplemented(reason, kind=break_kinds.NOT_RETURNED)
        return result
