"""Tensors: nodes of the graph, with a fake tensor that knows all but the data."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import torch

from stepper.engines.native.exc import unimplemented
from stepper.engines.native.guard_builder import GuardBuilder
from stepper.engines.native.variables.base import VariableTracker
from stepper.engines.native.variables.constant import ConstantVariable, wrap_constant
from stepper.engines.native.variables.lists import SizeVariable, TupleVariable
from stepper.engines.native.variables.sym_node import SYMBOLS

if TYPE_CHECKING:
    from stepper.engines.native.codegen import PyCodegen
    from stepper.engines.native.symbolic_convert import InstructionTranslatorBase

_METADATA = frozenset(
    {
        "dtype", "device", "ndim", "layout", "requires_grad", "is_cuda", "is_sparse",
        "is_quantized", "is_meta", "is_mkldnn", "itemsize", "nbytes", "is_cpu",
    }
)  # fmt: skip
"""Attributes that are constants, since they are guarded."""

_QUESTIONS = frozenset(
    {
        "dim", "ndimension", "numel", "nelement", "stride", "is_contiguous", "element_size",
        "is_floating_point", "is_complex", "is_signed", "get_device", "__len__", "storage_offset",
    }
)  # fmt: skip
"""Methods that give constants, since these are guarded."""

_MEASURES = frozenset({"size", "stride", "numel", "nelement", "storage_offset", "__len__"})
"""Those of them that may be symbols."""

_VIEWS = frozenset({"T", "mT", "H", "mH", "real", "imag"})
"""Attributes that are tensors."""

_REFUSED = {
    **dict.fromkeys(
        ("item", "tolist", "numpy", "__bool__", "__int__", "__float__", "__index__", "__array__",
         "__complex__", "is_nonzero", "equal", "allclose"),
        "needs the data",
    ),
    **dict.fromkeys(
        ("data_ptr", "storage", "untyped_storage", "set_", "resize_", "resize_as_", "share_memory_",
         "is_shared", "detach_", "requires_grad_", "retain_grad", "backward", "register_hook",
         "register_post_accumulate_grad_hook", "as_subclass", "_make_subclass", "apply_", "map_",
         "map2_", "swap_tensors", "__setstate__", "__reduce__", "__reduce_ex__", "__deepcopy__",
         "unsqueeze_", "squeeze_", "transpose_", "t_", "swapaxes_", "swapdims_", "as_strided_",
         "index_put_impl_", "new", "type", "is_set_to", "rename", "rename_", "align_to",
         "refine_names", "_is_view", "__dlpack__", "record_stream", "pin_memory", "is_pinned"),
        "changes or shows more than the graph knows",
    ),
}  # fmt: skip

_PYTHON_METHODS = frozenset(
    {
        "split", "norm", "__rsub__", "__rdiv__", "__rtruediv__", "__pow__", "__rpow__", "__pos__",
        "__neg__", "__abs__", "__floordiv__", "__rfloordiv__", "__rmod__", "__rmatmul__", "stft",
        "istft", "unflatten", "lu", "unique_consecutive",
    }
)  # fmt: skip
"""Methods that are written in Python and that a graph may call."""


class TensorVariable(VariableTracker):
    """A tensor.

    proxy: its node.
    class_type: `torch.Tensor` or `torch.nn.Parameter`.
    """

    is_made = False

    def __init__(self, proxy: Any, class_type: type = torch.Tensor, **options: Any) -> None:
        super().__init__(**options)
        self.proxy = proxy
        self.class_type = class_type

    @property
    def fake(self) -> torch.Tensor:
        """The fake tensor; in-place operations have been done to it."""
        fake: torch.Tensor = self.proxy.node.meta["example_value"]
        return fake

    def python_type(self) -> type:
        return self.class_type

    def as_proxy(self) -> Any:
        return self.proxy

    def describe(self) -> str:
        name = self.source.name() if self.source is not None else self.proxy.node.name
        return f"tensor {name}"

    def truth(self, tx: InstructionTranslatorBase) -> bool:
        raise unimplemented(f"the truth of {self.describe()} needs the data")

    def unpack(self, tx: InstructionTranslatorBase) -> list[VariableTracker]:
        if self.fake.dim() == 0:
            raise unimplemented("TypeError: iteration over a 0-d tensor")
        tx.spend(int(self.fake.shape[0]))
        unbound = tx.call_in_graph("call_method", "unbind", [self, ConstantVariable(0)], {})
        return unbound.unpack(tx)

    def getitem(self, tx: InstructionTranslatorBase, key: VariableTracker) -> VariableTracker:
        return tx.call_in_graph("call_function", operator.getitem, [self, key], {})

    def setitem(
        self, tx: InstructionTranslatorBase, key: VariableTracker, value: VariableTracker
    ) -> None:
        tx.call_in_graph("call_function", operator.setitem, [self, key, value], {})

    def contains(self, tx: InstructionTranslatorBase, item: VariableTracker) -> bool:
        raise unimplemented(f"membership in {self.describe()} needs the data")

    def var_getattr(self, tx: InstructionTranslatorBase, name: str) -> VariableTracker:
        from stepper.engines.native.variables.functions import BoundBuiltinMethod

        if name == "shape":
            return self._measure(tx, "size", [])
        if name in _METADATA:
            return wrap_constant(getattr(self.fake, name), self.guards)
        if name in _VIEWS:
            arguments = [self, ConstantVariable(name)]
            return tx.call_in_graph("call_function", getattr, arguments, {})
        if name == "__class__":
            raise self.refuse("attribute __class__")
        if name in _REFUSED or is_graph_method(name):
            return BoundBuiltinMethod(self, name, guards=self.guards)
        raise self.refuse(f"attribute {name}")

    def has_attribute(self, tx: InstructionTranslatorBase, name: str) -> bool:
        """Whether it has an attribute: its class's, or one that somebody stored on it."""
        if name in dir(self.class_type):
            return True
        arg = tx.output.graphargs.get(self.proxy.node)
        if arg is None:
            return False
        stored = name in arg.example.__dict__
        condition = f"({name!r} in {arg.source.name()}.__dict__) == {stored}"
        tx.output.install_guard(arg.source, GuardBuilder.EXPRESSION, name=condition)
        return stored

    def call_method(
        self,
        tx: InstructionTranslatorBase,
        name: str,
        args: list[VariableTracker],
        kwargs: dict[str, VariableTracker],
    ) -> VariableTracker:
        if name in _REFUSED:
            raise unimplemented(f"Tensor.{name} {_REFUSED[name]}")
        if name in _QUESTIONS or (name == "size"):
            values = [arg.as_python_constant() for arg in args]
            named = {key: arg.as_python_constant() for key, arg in kwargs.items()}
            options = self.propagate(self, args, list(kwargs.values()))
            try:
                if name in _MEASURES and not named:
                    return self._measure(tx, name, values).with_guards(options["guards"])
                return wrap_constant(getattr(self.fake, name)(*values, **named), options["guards"])
            except (IndexError, TypeError, RuntimeError) as error:
                raise unimplemented(f"{type(error).__name__}: {error}") from None
        if not is_graph_method(name):
            raise self.refuse(f"method {name}")
        return tx.call_in_graph("call_method", name, [self, *args], kwargs)

    def _measure(
        self, tx: InstructionTranslatorBase, name: str, values: list[Any]
    ) -> VariableTracker:
        """A size or stride, or all; symbols are nodes."""
        if name == "__len__":
            name, values = "size", [0]
        found = getattr(self.fake, name)(*values)
        if isinstance(found, SYMBOLS):
            arguments = [self, *[ConstantVariable(value) for value in values]]
            return tx.call_in_graph("call_method", name, arguments, {})
        if isinstance(found, tuple):
            each = [self._measure(tx, name, [index]) for index in range(len(found))]
            kind = SizeVariable if name == "size" else TupleVariable
            return kind(each, guards=self.guards)
        return wrap_constant(found, self.guards)

    def reconstruct(self, codegen: PyCodegen) -> None:
        codegen.load_graph_output(self.proxy.node)


def is_graph_method(name: str) -> bool:
    """Whether a method of tensors may be a node."""
    if name in _REFUSED:
        return False
    found = getattr(torch._C.TensorBase, name, None)
    if name in _PYTHON_METHODS:
        return True
    return type(found).__name__ in ("method_descriptor", "wrapper_descriptor") and (
        getattr(torch.Tensor, name) is found
    )


class GraphOutputVariable(VariableTracker):
    """What an operator returned that is neither tensor nor plain sequence, such as
    `torch.return_types.max`: a node, whose items are known.

    proxy: its node.
    items: trackers of the items.
    """

    is_made = False

    def __init__(self, proxy: Any, items: list[VariableTracker], kind: type, **options: Any):
        super().__init__(**options)
        self.proxy = proxy
        self.items = items
        self.kind = kind

    def python_type(self) -> type:
        return self.kind

    def truth(self, tx: InstructionTranslatorBase) -> bool:
        return bool(self.items)

    def unpack(self, tx: InstructionTranslatorBase) -> list[VariableTracker]:
        return [item.with_guards(self.guards) for item in self.items]

    def getitem(self, tx: InstructionTranslatorBase, key: VariableTracker) -> VariableTracker:
        from stepper.engines.native.variables.lists import TupleVariable

        return TupleVariable(self.items, guards=self.guards).getitem(tx, key)

    def var_getattr(self, tx: InstructionTranslatorBase, name: str) -> VariableTracker:
        fields = [key for key, value in vars(self.kind).items() if is_field(value)]
        if name not in fields:
            raise self.refuse(f"attribute {name}")
        return self.items[fields.index(name)].with_guards(self.guards)

    def as_proxy(self) -> Any:
        return self.proxy

    def reconstruct(self, codegen: PyCodegen) -> None:
        codegen.load_graph_output(self.proxy.node)


def is_field(descriptor: object) -> bool:
    """Whether an entry of a class is a field of its struct sequence."""
    return type(descriptor).__name__ == "member_descriptor"
