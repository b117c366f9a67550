"""Functions of NumPy's as nodes of a graph.

A graph passes tensors on, so an array stands in it as a tensor that has the array's memory. A node
calls NumPy itself, on arrays of the tensors' memory, and passes on a tensor with the memory of what
that gives: what is computed is eager's to the last bit, views are views, and what warns or fails
does. Dynamo computes with functions of torch of the same names instead: that is left to backends
which trace a graph again, and cannot know what NumPy does.

What a function gives for fake tensors is learnt by calling it, too: on arrays of zeros that lie in
memory as the real ones do. So only functions are nodes whose results have a shape and a class that
the shapes of the arguments tell; numbers of NumPy's are tensors without dimensions.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import torch
from torch.autograd.graph import increment_version

from stepper.native.exc import unimplemented
from stepper.native.library import NUMPY
from stepper.native.versions import (
    dispatch_stack_size,
    is_traced_again,
    numpy_of_torch,
    storage_address,
)


class Place:
    """Where an array stands among the arguments.

    number: which of the node's tensors it is.
    """

    def __init__(self, number: int) -> None:
        self.number = number


class ArrayCall:
    """A node's function, with all arguments that are no arrays.

    writes: whether it changes its first argument.
    kinds: the classes of what it gives, as the last call with fake tensors found them.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., object],
        args: Sequence[object],
        kwargs: dict[str, object],
        writes: bool = False,
    ) -> None:
        self.function, self.args, self.kwargs = function, args, kwargs
        self.__name__ = name
        self.writes = writes
        self.kinds: list[type] = []

    def __call__(self, *tensors: torch.Tensor) -> object:
        if not dispatch_stack_size():
            return _each(_passed_on, self._called([each.numpy() for each in tensors]))
        if is_traced_again(tensors):
            return numpy_of_torch(self.function, self._with, tensors)
        return self._faked(tensors)

    def _with(self, arrays: Sequence[object]) -> tuple[list[object], dict[str, object]]:
        args = [_put(value, arrays) for value in self.args]
        return args, {key: _put(value, arrays) for key, value in self.kwargs.items()}

    def _called(self, arrays: Sequence[object]) -> object:
        args, kwargs = self._with(arrays)
        return self.function(*args, **kwargs)

    def _faked(self, fakes: Sequence[torch.Tensor]) -> object:
        memory = {storage_address(each): each for each in fakes}
        buffers = {
            key: NUMPY.zeros(int(each.untyped_storage().nbytes()), NUMPY.uint8)
            for key, each in memory.items()
        }
        with NUMPY.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = self._called([_example(f, buffers[storage_address(f)]) for f in fakes])
        if self.writes:
            increment_version(fakes[0])
        self.kinds = []

        def fake(value: object) -> torch.Tensor:
            self.kinds.append(type(value))
            if not isinstance(value, NUMPY.generic | NUMPY.ndarray):
                raise unimplemented(f"a function of NumPy's that gives {type(value).__name__}")
            array = NUMPY.asarray(value)
            if (dtype := dtype_of(array)) is None:
                raise unimplemented(f"a function of NumPy's that gives such {type(value).__name__}")
            shape = array.shape
            strides = [stride // array.itemsize for stride in array.strides]
            for key, buffer in buffers.items():
                offset = array.ctypes.data - buffer.ctypes.data
                if 0 <= offset < buffer.nbytes:
                    if dtype is not memory[key].dtype:
                        raise unimplemented("a view of an array as one of another type")
                    return memory[key].as_strided(shape, strides, offset // array.itemsize)
            return torch.empty_strided(shape, strides, dtype=dtype)

        return _each(fake, result)


def _example(fake: torch.Tensor, buffer: object) -> object:
    """An array that lies in this memory as a fake tensor's does."""
    dtype = NUMPY.dtype(str(fake.dtype).removeprefix("torch."))
    strides = [int(stride) * dtype.itemsize for stride in fake.stride()]
    start = int(fake.storage_offset()) * dtype.itemsize
    return NUMPY.ndarray([*map(int, fake.shape)], dtype, buffer, start, strides)


_NAMES = (
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64",
    "complex64", "complex128",
)  # fmt: skip
DTYPES: dict[object, torch.dtype] = (
    {} if NUMPY is None else {NUMPY.dtype(name): getattr(torch, name) for name in _NAMES}
)
"""NumPy's types of elements that torch has, too."""


def dtype_of(value: object) -> torch.dtype | None:
    """The type of the elements of an array whose memory a tensor can have; None: it is no such."""
    if type(value) is not NUMPY.ndarray:
        return None
    array = NUMPY.asarray(value)
    awry = any(stride < 0 or stride % array.itemsize for stride in array.strides)
    return None if awry or not array.flags.writeable else DTYPES.get(array.dtype)


def _passed_on(value: object) -> torch.Tensor:
    return torch.from_numpy(NUMPY.asarray(value))


def _each(function: Callable[[object], object], value: object) -> object:
    if value is None:
        return None
    if isinstance(value, tuple | list):
        return type(value)(map(function, value))
    return function(value)


def _put(value: object, arrays: Sequence[object]) -> object:
    if isinstance(value, Place):
        return arrays[value.number]
    if isinstance(value, tuple | list):
        items = [_put(each, arrays) for each in value]
        return items if isinstance(value, list) else tuple(items)
    if type(value) is slice:
        return slice(*(_put(each, arrays) for each in (value.start, value.stop, value.step)))
    return value
