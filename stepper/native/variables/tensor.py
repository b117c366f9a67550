"""Tensors: nodes of the graph, with a fake tensor that knows all but the data."""

from __future__ import annotations

import operator
import types
from collections import Counter
from typing import TYPE_CHECKING, Any, Unpack

import torch

from stepper.native import break_contexts
from stepper.native.exc import NativeError, unimplemented
from stepper.native.guards.class_dicts import MISSING, find, has, lookup
from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.guards.of_torch import require_function
from stepper.native.guards.originals import require
from stepper.native.library import OPTIMIZERS
from stepper.native.source import AttrSource
from stepper.native.variables.base import (
    NO_GUARDS,
    Arguments,
    AttributeMutationExisting,
    Guards,
    Keywords,
    TrackedKey,
    VariableTracker,
    refuse_replaced,
    tracker_class,
)
from stepper.native.variables.builtin_methods import BoundBuiltinMethod
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.exceptions import no_attribute
from stepper.native.variables.folding import wrap_constant
from stepper.native.variables.lists import ListVariable, SizeVariable, TupleVariable
from stepper.native.variables.sym_node import SYMBOLS, SymNodeVariable, has_value
from stepper.native.versions import TensorBase, innermost, is_view, storage_address, store_data
from stepper.support import break_kinds
from stepper.support.words import one_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from stepper.native.protocols import Codegen, Output, Translator
    from stepper.native.source import Recipe
    from stepper.native.variables.base import TrackerOptions

_METADATA = frozenset(
    {
        "dtype", "device", "ndim", "layout", "requires_grad", "is_cuda", "is_sparse",
        "is_quantized", "is_meta", "is_mkldnn", "itemsize", "nbytes", "is_cpu", "is_nested",
        "is_mps", "is_xla", "is_xpu",
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

ANSWERS = _QUESTIONS | {
    "size", "is_conj", "is_neg", "is_inference", "is_distributed", "is_same_size", "dense_dim",
    "sparse_dim", "result_type", "_is_zerotensor", "_debug_has_internal_overlap",
    "_has_compatible_shallow_copy_type", "item", "_parse_to",
}  # fmt: skip
"""Methods and functions that give what is no tensor, and is known from what is guarded. Whatever
else a fake tensor answers is about itself: its text, where it is, what kernels it suits."""

DTYPE_CLASSES = type(torch.FloatTensor)
"""The class of those that stand for one type of elements, device and layout."""

_VIEWS = frozenset({"T", "mT", "H", "mH", "real", "imag", "data"})
"""Attributes that are tensors."""

_NEEDS_DATA = "needs the data"
_KEEP_IT = "keep the value a tensor, or take it outside of the compiled function"
_REFUSED = {
    **dict.fromkeys(
        ("item", "tolist", "numpy", "__bool__", "__int__", "__float__", "__index__", "__array__",
         "__complex__", "is_nonzero", "equal", "allclose"),
        _NEEDS_DATA,
    ),
    **dict.fromkeys(
        ("data_ptr", "storage", "untyped_storage", "set_", "resize_", "resize_as_", "share_memory_",
         "is_shared", "requires_grad_", "retain_grad", "backward", "register_hook",
         "register_post_accumulate_grad_hook", "as_subclass", "_make_subclass", "apply_", "map_",
         "map2_", "swap_tensors", "__setstate__", "__reduce__", "__reduce_ex__", "__deepcopy__",
         "as_strided_",
         "index_put_impl_", "new", "type", "is_set_to", "rename", "rename_", "align_to",
         "refine_names", "_is_view", "__dlpack__", "record_stream", "pin_memory", "is_pinned"),
        "changes or shows more than the graph knows",
    ),
}  # fmt: skip

_HINTS = {
    "data_ptr": "decide by the address before the compiled function, and pass what follows from it",
    **dict.fromkeys(
        ("resize_", "resize_as_", "set_"), "make a new tensor of that size, with torch.empty say"
    ),
}
"""What to write in place of others."""
_AS_A_WHOLE = (
    "do it with the tensor as a whole (torch.where in place of what picks some), or have the loop "
    "outside of the compiled function"
)
_OUT_OF_PLACE = (
    "the shape of an argument is changed in place: use the method without its underscore, which "
    "returns another tensor, or do it before the call"
)
_RESHAPING = frozenset(
    {"detach_", "unsqueeze_", "squeeze_", "transpose_", "t_", "swapaxes_", "swapdims_"}
)
"""Methods that change what a tensor is, and not its data: of those that the graph has made."""

_PYTHON_METHODS = frozenset(
    {
        "split", "norm", "__rsub__", "__rdiv__", "__rtruediv__", "__pow__", "__rpow__", "__pos__",
        "__neg__", "__abs__", "__floordiv__", "__rfloordiv__", "__rmod__", "__rmatmul__", "stft",
        "istft", "unflatten", "lu", "unique_consecutive",
    }
)  # fmt: skip
"""Methods that are written in Python and that a graph may call."""


@tracker_class
class TensorVariable(VariableTracker):
    """A tensor."""

    is_made = False

    proxy: Any
    """Its node."""
    class_type: type = torch.Tensor
    """`torch.Tensor` or `torch.nn.Parameter`."""

    def __post_init__(self) -> None:
        self.identity = self.proxy.node

    @property
    def fake(self) -> torch.Tensor:
        """The fake tensor; in-place operations have been done to it."""
        fake: torch.Tensor = self.proxy.node.meta["example_value"]
        return fake

    @property
    def is_one_on_cpu(self) -> bool:
        """Whether it is one number in the memory of the processor."""
        shape = self.fake.shape
        return self.fake.device.type == "cpu" and all(type(n) is int and n == 1 for n in shape)

    def python_type(self) -> type:
        return self.class_type

    def as_proxy(self) -> object:
        return self.proxy

    def as_key(self, tx: Translator) -> TrackedKey:
        self.proxy.node.meta["is_key"] = True
        return TrackedKey(self)

    def describe(self) -> str:
        name = self.source.name() if self.source is not None else self.proxy.node.name
        return f"tensor {name}"

    def asks(self, tx: Translator) -> bool:
        """Whether its class is asked what an operation gives, by a `__torch_function__`."""
        return False

    def _is_asked(self, tx: Translator) -> bool:
        """Whether a mode is asked what an operation gives, or its class."""
        return bool(tx.output.function_modes) or self.asks(tx)

    def truth(self, tx: Translator) -> bool:
        reason = f"the truth of {self.describe()} needs the data"
        hint = "decide on tensors with torch.where (both sides computed)"
        raise unimplemented(reason, hint, kind=break_kinds.BRANCHES)

    def unpack(self, tx: Translator) -> list[VariableTracker]:
        if self._is_asked(tx):
            raise self.refuse("iteration, of which somebody is told,")
        require(tx.output, self.class_type, "__iter__")
        if self.fake.dim() == 0:
            raise unimplemented("TypeError: iteration over a 0-d tensor")
        if isinstance(self.fake.shape[0], torch.SymInt) and not has_value(self.fake.shape[0]):
            raise unimplemented(f"the length of {self.describe()} {_NEEDS_DATA}", _AS_A_WHOLE)
        tx.spend(int(self.fake.shape[0]))
        unbound = tx.call_in_graph("call_method", "unbind", [self, ConstantVariable(0)], {})
        return unbound.unpack(tx)

    def getitem(self, tx: Translator, key: VariableTracker) -> VariableTracker:
        if isinstance(key, SymNodeVariable) and key.python_type() is int:
            require(tx.output, self.class_type, "__getitem__")  # which wants the number itself
            args = [self, ConstantVariable(0), key]
            return tx.call_in_graph("call_function", torch.select, args, {})
        return tx.call_in_graph("call_function", operator.getitem, [self, key], {})

    def setitem(self, tx: Translator, key: VariableTracker, value: VariableTracker) -> None:
        tx.call_in_graph("call_function", operator.setitem, [self, key, value], {})

    def contains(self, tx: Translator, item: VariableTracker) -> bool:
        reason = f"membership in {self.describe()} {_NEEDS_DATA}"
        raise unimplemented(reason, _KEEP_IT, kind=break_kinds.ITEM)

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        if not one_of(self.class_type, (torch.Tensor, torch.nn.Parameter)):
            found = lookup(self.class_type, name)
            if found is not MISSING and not has(torch.nn.Parameter, name):
                return self._of_class(tx, name, found)
        of_c = lookup(TensorBase, name) if self._is_asked(tx) else MISSING
        if type(of_c) is types.GetSetDescriptorType:
            arguments = [self, ConstantVariable(name)]
            return tx.call_in_graph("call_function", getattr, arguments, {})
        require(tx.output, self.class_type, "__getattribute__", name)
        if name == "shape":
            return self._measure(tx, "size", [])
        if name in _METADATA:
            return wrap_constant(getattr(self.fake, name), self.guards)
        if name in _VIEWS:
            arguments = [self, ConstantVariable(name)]
            return tx.call_in_graph("call_function", getattr, arguments, {})
        if name == "__class__":
            return tx.class_variable(self)
        if (stored := self._stored(tx, name)) is not None:
            return tx.realize(stored)
        if name in ("grad", "is_leaf", "grad_fn"):
            return self._of_autograd(tx, name)
        if name in _REFUSED or name == "__len__" or is_graph_method(name):
            return BoundBuiltinMethod(self, name, guards=self.guards)
        if not self.has_attribute(tx, name):
            raise no_attribute(self.class_type, name)
        arg = tx.output.graphargs.get(self.proxy.node)
        if arg is None or has(self.class_type, name):
            raise self.refuse(f"attribute {name}")
        return tx.build(AttrSource(arg.source, name), arg.example.__dict__[name])

    def _of_class(self, tx: Translator, name: str, found: object) -> VariableTracker:
        """What its own class has under a name."""
        cls = tx.class_variable(self)
        if type(found) is property:
            getter = AttrSource(AttrSource(cls._source(), name), "fget")
            return tx.build(getter, found.fget).call_function(tx, [self], {})
        made = cls.var_getattr(tx, name)
        bound = made.bound_to(self) if type(found) is types.FunctionType else None
        return bound or made

    def var_setattr(self, tx: Translator, name: str, value: VariableTracker) -> None:
        if self._is_asked(tx):
            raise self.refuse(f"assignment to attribute {name}, of which somebody is told,")
        require(tx.output, self.class_type, "__setattr__", name)
        if name == "data" and self.source is not None and isinstance(value, TensorVariable):
            self._store_data(tx, value)
            return
        if has(self.class_type, name) and not (name == "grad" and self._fits_as_grad(value)):
            kind = break_kinds.OF_ATTRIBUTES.get(name, "")
            raise self.refuse(f"assignment to attribute {name}", kind=kind)
        node = self.proxy.node
        if id(node) not in tx.output.contents:
            tx.output.remember_contents(node, StoredAttributesVariable.of(self))
        node.meta["is_key"] = True
        arg, contents = tx.output.graphargs.get(node), tx.output.contents[id(node)]
        if arg is not None:
            refuse_replaced(tx, contents, name, AttrSource(arg.source, name), vars(arg.example))
        tx.output.side_effects.store_attr(contents, name, value)

    def _fits_as_grad(self, value: VariableTracker) -> bool:
        """Whether it may have that as its gradient, an input that it is."""
        if self.source is None:
            return False
        if isinstance(value, TensorVariable):
            return self._is_like(value) and value.proxy.node is not self.proxy.node
        return isinstance(value, ConstantVariable) and value.value is None

    def _is_like(self, value: TensorVariable) -> bool:
        """Whether another tensor differs from it in its strides and data only."""
        facts = [(t.shape, t.dtype, t.device, t.layout) for t in (self.fake, value.fake)]
        return facts[0] == facts[1]

    def _store_data(self, tx: Translator, value: TensorVariable) -> None:
        """`self.data = value`: no other tensor notices."""
        if value.proxy.node is self.proxy.node:
            return  # it has them
        output = tx.output
        plain = self._is_like(value) and self.fake.is_leaf and not is_view(self.fake)
        lazy = any(each.fake.is_conj() or each.fake.is_neg() for each in (self, value))
        if not plain or lazy or output.transforms or output.inference:
            kind = break_kinds.OF_ATTRIBUTES["data"]
            raise self.refuse("assignment to attribute data", kind=kind)
        before, place = self.fake.detach(), tx.root.current_instruction.index
        tx.call_in_graph("call_function", store_data, [self, value], {})
        output.note_data(self.proxy.node, before, place)

    def _stored(self, tx: Translator, name: str) -> VariableTracker | None:
        """What the frame has stored as an attribute; None: nothing."""
        node, effects = self.proxy.node, tx.output.side_effects
        if effects.pending:  # maybe on this tensor, by another name
            node.meta["is_key"] = True
        of = tx.output.contents.get(id(node))
        return None if of is None else effects.load_attr(of, name)

    def _of_autograd(self, tx: Translator, name: str) -> VariableTracker:
        """What it has to do with gradients, where that is known: of what needs none, and of leaves
        that were there before."""
        if not self.fake.requires_grad and name != "grad":
            return ConstantVariable(True if name == "is_leaf" else None, guards=self.guards)
        arg = tx.output.graphargs.get(self.proxy.node)
        if arg is None and name == "is_leaf":
            return ConstantVariable(self.fake.is_leaf, guards=self.guards)
        source = None if arg is None else arg.source
        if arg is None or source is None or source is not self.source:
            raise self.refuse(f"attribute {name}")
        assert isinstance(arg.example, torch.Tensor)
        if not arg.example.is_leaf:
            raise self.refuse(f"attribute {name}")
        condition = f"{source.name()}.is_leaf == True"
        guards = self.guards | tx.output.install_guard(
            source, GuardBuilder.EXPRESSION, name=condition
        )
        if name == "is_leaf":
            return ConstantVariable(True, guards=guards)
        if name == "grad_fn":
            return ConstantVariable(None, guards=guards)
        return tx.build(AttrSource(source, name), arg.example.grad).with_guards(guards)

    def has_attribute(self, tx: Translator, name: str) -> bool:
        """Whether it has an attribute: its class's, or one that somebody stored on it."""
        require(tx.output, self.class_type, "__getattribute__", "__getattr__")
        if has(self.class_type, name):
            if name == "imag" or type(lookup(self.class_type, name)) is property:
                raise self.refuse("hasattr")  # it is computed, and some have none
            return True
        if self._stored(tx, name) is not None:
            return True
        arg = tx.output.graphargs.get(self.proxy.node)
        if arg is None:
            return False
        stored = name in arg.example.__dict__
        condition = f"({name!r} in {arg.source.name()}.__dict__) == {stored}"
        tx.output.install_guard(arg.source, GuardBuilder.EXPRESSION, name=condition)
        return stored

    def call_method(
        self, tx: Translator, name: str, args: Arguments, kwargs: Keywords
    ) -> VariableTracker:
        if self._is_asked(tx):
            return tx.call_in_graph("call_method", name, [self, *args], kwargs)
        if name == "type" and len(args) < 2 and not kwargs:
            require(tx.output, self.class_type, name)
            if not args:
                return ConstantVariable(self.fake.type(), guards=self.guards)
            wanted = args[0].as_python_constant()
            if type(wanted) is DTYPE_CLASSES:  # a graph's code has no name for it
                wanted = f"{wanted.__module__}.{wanted.__name__}"
                args = [ConstantVariable(wanted, guards=args[0].guards)]
            if one_of(type(wanted), (torch.dtype, str)):
                return tx.call_in_graph("call_method", name, [self, *args], {})
        if name == "requires_grad_" and not kwargs and len(args) < 2:
            wanted = args[0].as_python_constant() if args else True
            if wanted is self.fake.requires_grad:  # as it is
                require(tx.output, self.class_type, name)
                return self
        if name in ("numpy", "__array__") and not args and not kwargs:
            from stepper.native.variables.numpy_arrays import array_of

            require(tx.output, self.class_type, name)
            return array_of(tx, self)
        if name == "equal" and len(args) == 1 and self._has_other_size(args[0]):
            require(tx.output, self.class_type, name)
            return ConstantVariable(False, **self.propagate(self, args))
        if name == "register_hook" and len(args) == 1 and not kwargs:
            from stepper.native.variables.higher_order import register_hook

            require(tx.output, self.class_type, name)
            return register_hook(tx, self, tx.realize(args[0]))
        if name == "as_subclass" and len(args) == 1 and not kwargs:
            tx.output.asks = True
            return tx.call_in_graph("call_method", name, [self, *args], {})
        counts = tx.f_code.co_filename.startswith(OPTIMIZERS)  # its steps, in tensors
        scalars = (tx.output.shapes.scalars or counts) and not (args or kwargs)
        if name in ("item", "tolist") and scalars:
            require(tx.output, self.class_type, name)
            return self._item(tx) if name == "item" else self._to_list(tx)
        if name in _REFUSED:
            why = _REFUSED[name]
            hint = _KEEP_IT if why is _NEEDS_DATA else _HINTS.get(name, "")
            kind = break_kinds.OF_TENSORS.get(name, "")
            context = break_contexts.method_context(self, name)
            raise unimplemented(f"Tensor.{name} {why}", hint, kind=kind, context=context)
        require(tx.output, self.class_type, name)
        if name in _RESHAPING:
            # AOTAutograd would differentiate it as it was, and its sizes say what a symbol is.
            needed = self.fake.requires_grad or any(type(n) is not int for n in self.fake.shape)
            if needed and self.proxy.node in tx.output.graphargs:
                reason = f"Tensor.{name} of a tensor that is not the graph's own"
                raise unimplemented(reason, _OUT_OF_PLACE)
            tx.output.altered.append(storage_of(self.fake))
        if name in _QUESTIONS or (name == "size"):
            values = [arg.as_python_constant() for arg in args]
            named = {key: arg.as_python_constant() for key, arg in kwargs.items()}
            options = self.propagate(self, args, list(kwargs.values()))
            try:
                if name in _MEASURES and not named:
                    return self._measure(tx, name, values).with_guards(options["guards"])
                return wrap_constant(getattr(self.fake, name)(*values, **named), options["guards"])
            except NativeError:
                raise
            except (IndexError, TypeError, RuntimeError) as error:
                raise unimplemented(f"{type(error).__name__}: {error}") from None
        if not is_graph_method(name):
            raise self.refuse_method(name)
        return tx.call_in_graph("call_method", name, [self, *args], kwargs)

    def _has_other_size(self, other: VariableTracker) -> bool:
        """Whether another value is a tensor on its device that is known to have another size."""
        if not isinstance(other, TensorVariable) or other.fake.device != self.fake.device:
            return False
        sizes = (self.fake.shape, other.fake.shape)
        return all(type(n) is int for size in sizes for n in size) and sizes[0] != sizes[1]

    def _item(self, tx: Translator) -> VariableTracker:
        """Its only element: a symbol without a value, or what it is known to be."""
        with tx.output.shapes.with_scalars():
            found = tx.call_in_graph("call_method", "item", [self], {})
        return found.with_guards(self.guards)

    def _to_list(self, tx: Translator) -> VariableTracker:
        if self.fake.dim() == 0:
            return self._item(tx)
        rows: list[VariableTracker] = []
        for each in self.unpack(tx):
            assert isinstance(each, TensorVariable)
            rows.append(each._to_list(tx))
        return ListVariable.new(rows, self.guards)

    def _measure(self, tx: Translator, name: str, values: list[object]) -> VariableTracker:
        """A size or stride, or all; symbols are nodes."""
        if name == "__len__":
            name, values = "size", [0]
        found = getattr(self.fake, name)(*values)
        if name == "storage_offset" and type(found) is int:
            return wrap_constant(found, self.guards | _guard_offset(tx.output, self.fake))
        if isinstance(found, SYMBOLS):
            arguments = [self, *[ConstantVariable(value) for value in values]]
            return tx.call_in_graph("call_method", name, arguments, {})
        if isinstance(found, tuple):
            each = [self._measure(tx, name, [index]) for index in range(len(found))]
            kind = SizeVariable if name == "size" else TupleVariable
            return kind(each, guards=self.guards)
        return wrap_constant(found, self.guards)

    def reconstruct(self, codegen: Codegen) -> None:
        codegen.push(self.proxy.node)


@tracker_class
class StoredAttributesVariable(VariableTracker):
    """A tensor or a class, as what has the attributes that the frame has stored on it."""

    is_made = False

    owner: VariableTracker
    """The tensor or class."""

    @classmethod
    def of(cls, owner: VariableTracker) -> StoredAttributesVariable:
        """What has nothing stored yet."""
        return cls(owner, mutation_type=AttributeMutationExisting())

    def describe(self) -> str:
        return self.owner.describe()

    def parts(self) -> Sequence[VariableTracker]:
        return [self.owner]

    def reconstruct(self, codegen: Codegen) -> None:
        codegen(self.owner)


def may_overlap(written: Iterable[torch.Tensor], given: Iterable[torch.Tensor]) -> bool:
    """Whether an operator that writes to tensors, of those that it is given, may find that several
    elements of one are one, or that another one has its memory: it does not look at fake ones."""
    places = Counter(map(storage_of, given))
    return any(
        places[storage_of(each)] > 1
        or any(type(stride) is int and stride == 0 for stride in each.stride())
        for each in written
    )


def storage_of(value: torch.Tensor) -> int:
    """What tells whether two fake tensors share memory; 0 for those that have none."""
    try:
        return storage_address(innermost(value))
    except (NotImplementedError, RuntimeError):
        return 0


def _guard_offset(output: Output, fake: torch.Tensor) -> Guards:
    """Have checked where the inputs that share a tensor's memory begin in it: no other guard has
    to do with that."""
    guards = NO_GUARDS
    for node, arg in output.graphargs.items():
        known, example = node.meta["example_value"], arg.example
        if isinstance(example, torch.Tensor) and storage_of(known) == storage_of(fake):
            condition = f"{arg.source.name()}.storage_offset() == {example.storage_offset()}"
            guards |= output.install_guard(arg.source, GuardBuilder.EXPRESSION, name=condition)
    return guards


def require_methods(output: Output, op: str, target: Any, args: Sequence[VariableTracker]) -> None:
    """Make sure that what an operation calls of tensors is torch's own, and have checked that it
    stays so: also what functions of torch call that are written in Python.

    Raises:
        Unsupported: it is not.
    """
    require_function(output, target)
    for cls, name in _methods(op, target, args):
        require(output, cls, name)
        require_function(output, find(cls, name)[1])


def _methods(op: str, target: Any, args: Sequence[VariableTracker]) -> Iterator[tuple[type, str]]:
    """The methods of tensors that an operation calls, with their classes."""
    first = args[0] if args else None
    names: tuple[str, ...] = ()
    if op == "call_method":
        names = (target,)
    elif target is getattr:
        names = (args[1].as_python_constant(),)
    elif target in _OPERATIONS:
        *own, mirrored = _OPERATIONS[target]
        names = tuple(own)
        for second in args[1:2]:
            if isinstance(second, TensorVariable) and not _alike(args[0], second):
                yield second.class_type, mirrored
    if isinstance(first, TensorVariable):
        for name in names:
            yield first.class_type, name


def _alike(a: VariableTracker, b: VariableTracker) -> bool:
    return a.python_type() is b.python_type()


_MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}


def _methods_of(name: str) -> tuple[str, ...]:
    """The methods of the first operand that does it, the last: of the second."""
    plain = name.strip("_")
    in_place = plain[0] == "i" and any(hasattr(operator, plain[1:] + end) for end in ("", "_"))
    if in_place:
        plain = plain[1:]  # iadd
    own = (f"__i{plain}__", f"__{plain}__") if in_place else (f"__{plain}__",)
    return *own, f"__{_MIRRORED.get(plain, f'r{plain}')}__"


_OPERATIONS: dict[object, tuple[str, ...]] = {
    **{getattr(operator, name): _methods_of(name) for name in operator.__all__},
    **{each: _methods_of(each.__name__) for each in (abs, pow, round, divmod)},
}
"""The methods of tensors by which Python does these."""


def is_graph_method(name: str) -> bool:
    """Whether a method of tensors may be a node."""
    if name in _REFUSED:
        return False
    found = getattr(TensorBase, name, None)
    if name in _PYTHON_METHODS:
        return True
    return type(found).__name__ in ("method_descriptor", "wrapper_descriptor") and (
        getattr(torch.Tensor, name) is found
    )


@tracker_class
class GraphOutputVariable(VariableTracker):
    """What an operator returned that is neither tensor nor plain sequence, such as
    `torch.return_types.max`: a node, whose items are known.
    """

    is_made = False

    proxy: Any
    """The node whose result it stands for."""
    items: list[VariableTracker]
    """Trackers of the items."""
    kind: type

    def python_type(self) -> type:
        return self.kind

    def truth(self, tx: Translator) -> bool:
        return bool(self.items)

    def unpack(self, tx: Translator) -> list[VariableTracker]:
        return [item.with_guards(self.guards) for item in self.items]

    def getitem(self, tx: Translator, key: VariableTracker) -> VariableTracker:
        return TupleVariable(self.items, guards=self.guards).getitem(tx, key)

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        fields = [key for key, value in vars(self.kind).items() if is_field(value)]
        if name not in fields:
            raise self.refuse(f"attribute {name}")
        return self.items[fields.index(name)].with_guards(self.guards)

    def as_proxy(self) -> object:
        return self.proxy

    def reconstruct(self, codegen: Codegen) -> None:
        codegen.push(self.proxy.node)


class StructSequenceVariable(GraphOutputVariable):
    """What looks like an operator's several results, and was made of a sequence by the frame."""

    is_made = True

    def __init__(
        self, items: list[VariableTracker], kind: type, **options: Unpack[TrackerOptions]
    ) -> None:
        super().__init__(None, items, kind, **options)

    def as_proxy(self) -> object:
        raise self.refuse("use in the graph")

    def recipe(self) -> Recipe:
        return self.kind, tuple(self.items)

    def reconstruct(self, codegen: Codegen) -> None:
        VariableTracker.reconstruct(self, codegen)


def is_field(descriptor: object) -> bool:
    """Whether an entry of a class is a field of its struct sequence."""
    return type(descriptor).__name__ == "member_descriptor"
