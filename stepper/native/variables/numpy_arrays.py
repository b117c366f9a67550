"""Arrays of NumPy's: nodes of the graph like tensors, of which a tensor has the memory.

What is called with arrays becomes a node (`stepper.native.array_calls`), if what it gives has a
shape that the shapes of its arguments tell: functions of the table here, methods and operators.
Where an array leaves the graph, it is made of the tensor that the graph gives.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
import torch.fx

from stepper.native.array_calls import ArrayCall, Place, dtype_of
from stepper.native.exc import unimplemented
from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.library import NUMPY
from stepper.native.source import CallSource, Recipe, Source
from stepper.native.variables.base import Arguments, Keywords, VariableTracker, tracker_class
from stepper.native.variables.builtin_methods import IN_PLACE, BoundBuiltinMethod
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.folding import wrap_constant
from stepper.native.variables.lists import BaseListVariable, SliceVariable, TupleVariable
from stepper.native.variables.tensor import GraphOutputVariable, TensorVariable
from stepper.support import break_kinds

if TYPE_CHECKING:
    from stepper.native.protocols import Translator

_TAKING = """
    all amax amin angle any append arange argmax argmin argsort around array array_split asarray
    ascontiguousarray atleast_1d atleast_2d atleast_3d average broadcast_arrays clip
    column_stack concatenate conj convolve copy corrcoef correlate count_nonzero cov cross cumprod
    cumsum diag diagonal diff dot dsplit dstack einsum expand_dims eye fix flip fliplr flipud full
    full_like geomspace gradient hsplit hstack hypot identity imag indices inner interp isclose
    kron linspace logspace matmul max mean median meshgrid min moveaxis nan_to_num ones ones_like
    outer percentile prod ptp quantile ravel real repeat reshape roll rollaxis rot90 round
    searchsorted sort split squeeze stack std sum swapaxes take take_along_axis tensordot tile trace
    transpose tri tril triu vander var vdot vsplit vstack where zeros zeros_like
    linalg.det linalg.norm linalg.matrix_power linalg.multi_dot fft.fft fft.ifft fft.rfft fft.irfft
    fft.fft2 fft.ifft2 fft.fftn fft.ifftn fft.fftshift fft.ifftshift
"""
"""Functions whose results have shapes that the arguments' shapes tell."""
_METHODS = frozenset(
    {
        "all", "any", "argmax", "argmin", "argsort", "astype", "clip", "conj", "conjugate", "copy",
        "cumprod", "cumsum", "diagonal", "dot", "fill", "flatten", "max", "mean", "min", "prod",
        "ravel", "repeat", "reshape", "round", "sort", "squeeze", "std", "sum", "swapaxes", "take",
        "trace", "transpose", "var",
    }
)  # fmt: skip
MADE_OF_ARRAYS = frozenset({torch.from_numpy, torch.as_tensor, torch.asarray, torch.tensor})
"""The functions of torch that make tensors of arrays."""
_IN_TORCH = (
    "make the array a tensor before the compiled function (torch.from_numpy), and use the function "
    "of torch's of the same purpose"
)
_FACTS = frozenset({"shape", "ndim", "size", "dtype", "itemsize", "nbytes", "strides"})
_VIEWS = frozenset({"T", "real", "imag", "mT"})
_CONVERTING = frozenset({"array", "asarray", "ascontiguousarray"})
"""Those that make arrays of tensors."""

FUNCTIONS: frozenset[object] = frozenset()
_WRITING: frozenset[object] = frozenset()
if NUMPY is not None:
    _places = (each.rpartition(".") for each in _TAKING.split())
    _named = (getattr(getattr(NUMPY, place, NUMPY), name, abs) for place, _, name in _places)
    _ufuncs = (each for each in vars(NUMPY).values() if type(each) is NUMPY.ufunc)
    FUNCTIONS = frozenset({*_ufuncs, *_named} - {abs})
    _WRITING = frozenset({operator.setitem, NUMPY.ndarray.fill, NUMPY.ndarray.sort})


@tracker_class
class NumpyArrayVariable(VariableTracker):
    """An array, or a number of NumPy's that is not known."""

    proxy: torch.fx.Proxy
    """The node of the tensor that has its memory."""
    kind: type
    """Its class."""

    def __post_init__(self) -> None:
        self.identity = self.proxy.node

    @property
    def tensor(self) -> TensorVariable:
        """The tensor."""
        return TensorVariable(self.proxy, guards=self.guards)

    def fact(self, name: str) -> object:
        """What NumPy says of an array that lies in memory like it."""
        fake = self.tensor.fake
        strides = [int(stride) * fake.element_size() for stride in fake.stride()]
        empty = NUMPY.zeros((), str(fake.dtype).removeprefix("torch."))
        like = NUMPY.lib.stride_tricks.as_strided(empty, [*map(int, fake.shape)], strides)
        return getattr(like, name)

    def _length(self) -> int:
        shape = self.tensor.fake.shape
        if not shape:
            raise self.refuse("the length")
        return int(shape[0])

    def python_type(self) -> type:
        return self.kind

    def truth(self, tx: Translator) -> bool:
        reason = f"the truth of {self.describe()} needs the data"
        raise unimplemented(reason, kind=break_kinds.BRANCHES)

    def unpack(self, tx: Translator) -> list[VariableTracker]:
        tx.spend(self._length())
        return [self.getitem(tx, ConstantVariable(index)) for index in range(self._length())]

    def length(self, tx: Translator) -> VariableTracker:
        """`len(array)`."""
        return ConstantVariable(self._length(), guards=self.guards)

    def getitem(self, tx: Translator, key: VariableTracker) -> VariableTracker:
        return call_numpy(tx, operator.getitem, [self, key], {})

    def setitem(self, tx: Translator, key: VariableTracker, value: VariableTracker) -> None:
        call_numpy(tx, operator.setitem, [self, key, value], {})

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        if name in _FACTS:
            return wrap_constant(self.fact(name), self.guards)
        if name in _VIEWS:
            return call_numpy(tx, getattr, [self, ConstantVariable(name)], {})
        if name in _METHODS:
            return BoundBuiltinMethod(self, name, guards=self.guards)
        raise self.refuse(f"attribute {name}", kind=break_kinds.OF_ARRAY)

    def call_method(
        self, tx: Translator, name: str, args: Arguments, kwargs: Keywords
    ) -> VariableTracker:
        if name not in _METHODS:
            raise self.refuse_method(name)
        return call_numpy(tx, getattr(NUMPY.ndarray, name), [self, *args], kwargs)

    def recipe(self) -> Recipe:
        is_array = self.kind is NUMPY.ndarray
        return torch.Tensor.numpy if is_array else number_of, self.proxy.node


def number_of(tensor: torch.Tensor) -> object:
    """The number of NumPy's that is in a tensor."""
    return tensor.numpy()[()]


def wrap_array(tx: Translator, source: Source, value: object) -> VariableTracker | None:
    """An array that is there; None: no tensor can have its memory."""
    if NUMPY is None or dtype_of(value) is None:
        return None
    array, name = NUMPY.asarray(value), source.name()
    install = tx.output.install_guard
    guards = install(source, GuardBuilder.TYPE_MATCH, value)
    for condition in (
        f"{name}.dtype.str == {array.dtype.str!r}",
        f"{name}.shape == {array.shape}",
        f"{name}.strides == {array.strides}",
        f"{name}.flags.writeable",
    ):
        guards |= install(source, GuardBuilder.EXPRESSION, name=condition)
    proxy = tx.output.placeholder(CallSource(source, torch.from_numpy), torch.from_numpy(array))
    return NumpyArrayVariable(proxy, NUMPY.ndarray, source=source, guards=guards)


def is_of_array(source: Source) -> bool:
    """Whether it leads to the tensor with an array's memory."""
    return isinstance(source, CallSource) and source.function is torch.from_numpy


def array_of(tx: Translator, tensor: TensorVariable) -> VariableTracker:
    """The array with a tensor's memory."""
    return call_numpy(tx, NUMPY.asarray, [tensor], {})


def tensor_of(
    tx: Translator, function: object, array: NumpyArrayVariable, kwargs: Keywords
) -> VariableTracker:
    """What a function of torch's that makes tensors gives for an array."""
    number = array.kind is not NUMPY.ndarray
    if (number and function is torch.from_numpy) or kwargs.keys() - {"dtype"}:
        raise array.refuse("a tensor")
    copied = NUMPY.array if function is torch.tensor else NUMPY.asarray
    made = call_numpy(tx, copied, [array], {})
    assert isinstance(made, NumpyArrayVariable)
    return tx.call_in_graph("call_method", "to", [made.tensor], kwargs) if kwargs else made.tensor


def call_numpy(
    tx: Translator, function: Callable[..., object], args: Arguments, kwargs: Keywords
) -> VariableTracker:
    """Call a function with arrays among its arguments.

    Raises:
        Unsupported: it cannot be a node.
    """
    tensors: list[TensorVariable] = []
    converts = getattr(function, "__name__", "") in _CONVERTING

    def plain(given: VariableTracker) -> object:
        given = tx.realize(given)
        if isinstance(given, NumpyArrayVariable | TensorVariable):
            tensor = given.tensor if isinstance(given, NumpyArrayVariable) else given
            fake = tensor.fake
            if tensor is given and not converts:
                raise unimplemented("a function of NumPy's of a tensor", _IN_TORCH)
            if fake.requires_grad or fake.device.type != "cpu" or fake.is_conj() or fake.is_neg():
                raise unimplemented("the array of such a tensor")
            tensors.append(tensor)
            return Place(len(tensors) - 1)
        if isinstance(given, BaseListVariable):
            items = [plain(each) for each in given.items]
            return items if given.python_type() is list else tuple(items)
        if isinstance(given, SliceVariable):
            return slice(*(plain(each) for each in given.items))
        return given.as_python_constant()

    values = [plain(each) for each in args]
    named = {key: plain(each) for key, each in kwargs.items()}
    if named.keys() & {"out", "where", "like"}:
        raise unimplemented("a function of NumPy's that is told where to write")
    if function in IN_PLACE and getattr(tx.realize(args[0]), "kind", None) is not NUMPY.ndarray:
        function = IN_PLACE[function]
    if function is operator.getitem and _chooses(args[1]):
        raise unimplemented("the size of what is taken from an array needs the data")
    writes = function in _WRITING or function in IN_PLACE
    name = f"numpy_{getattr(function, '__name__', '')}_{len(tx.output.graph.nodes)}"
    call = ArrayCall(name, function, values, named, writes)
    result = tx.call_in_graph("call_function", call, [*tensors], {})
    guards = VariableTracker.propagate(args, list(kwargs.values()))["guards"]
    found = iter(call.kinds)

    def wrapped(each: VariableTracker) -> VariableTracker:
        if isinstance(each, TensorVariable):
            return NumpyArrayVariable(each.proxy, next(found), guards=each.guards | guards)
        if isinstance(each, BaseListVariable):
            return each.make([wrapped(item) for item in each.items], each.guards)
        if isinstance(each, GraphOutputVariable):
            raise unimplemented("a function of NumPy's that gives a sequence of its own")
        return each.with_guards(guards)

    return wrapped(result)


def _chooses(key: VariableTracker) -> bool:
    """Whether a key tells by its elements what is taken."""
    if isinstance(key, TupleVariable):
        return any(map(_chooses, key.items))
    if isinstance(key, NumpyArrayVariable):
        return key.tensor.fake.dtype is torch.bool
    return False
