"""Which sizes and numbers are symbols, and what must hold for what was concluded of them.

A size that is a symbol is a `SymInt` of torch's `ShapeEnv`. Whatever is computed from it is an
expression, and each question that the program or an operator asks of it (a branch, a broadcast, a
loop's length) is answered for the value that is there and remembered. In the end the answers are
conditions over the program's own expressions, such as `L['x'].size()[0] >= 2`: guards of the kind
SHAPE_ENV. A number that has to be known, for `range` or as an index of a list, is specialized: its
guard says that it is equal to what it was.

What becomes a symbol is Dynamo's choice, too:

* a dimension that the program has marked (`torch._dynamo.mark_dynamic`, `maybe_mark_dynamic`), and
  none that it has marked static;
* what `torch.compiler.config.dynamic_sources` names, a dimension of a tensor or a number;
* with `dynamic=True` everything, with False nothing else;
* otherwise what has changed: a code's calls are remembered by the names of their inputs, and what
  differs from the call that was captured before is a symbol from then on.

Sizes that are zero and one are never symbols: too much depends on them. Ints that are zero and one
are where they have changed, as counters do, and floats always. Nor are the sizes of
parameters and buffers and of what torch's own modules hold, and the numbers of all modules. A
symbol has a value here while code is captured: what is marked as unbacked (`mark_unbacked`,
`unbacked_sources`) is a symbol that may come to be a number, as if by `maybe_mark_dynamic`.

The alternative, to guess from the code which sizes are going to change, captures programs with
fixed sizes worse than they deserve; the second capture is the price of knowing.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from types import CodeType
from typing import TYPE_CHECKING, Any

import torch
from torch.compiler import config as settings
from torch.fx.experimental.symbolic_shapes import (
    ConstraintViolationError,
    DimDynamic,
    PendingUnbackedSymbolNotFound,
    RelaxedUnspecConstraint,
    ShapeEnv,
    StatelessSymbolicContext,
    compute_unbacked_bindings,
)
from torch.fx.proxy import GraphAppendingTracer

from stepper.native import config
from stepper.native.exc import SkipFrame, unimplemented
from stepper.native.guards.guard import Dims
from stepper.native.source import ChainedSource
from stepper.native.versions import FakeTensorMode, TorchSource, dynamo_setting, is_view
from stepper.support.per_object import PerCode

if TYPE_CHECKING:
    from stepper.native.source import Source

_Sizes = tuple[float | None, ...]

_seen: PerCode[dict[str, _Sizes]] = PerCode()
"""The sizes of each code's inputs by name; None: it has changed. A number is a size alone."""

_BOUND = re.compile(r"(-?(?<!\d)\d++) (<=|<) ([^<>=]+)")


_floats_known: PerCode[bool] = PerCode()
"""Codes of which a backend could do nothing with symbols for floats, or one had to be known."""


def forget() -> None:
    """No input has changed yet."""
    _seen.clear()
    _floats_known.clear()


class Cause(Enum):
    """Why a size or number is to be a symbol."""

    MARKED = auto()
    """The program has marked it as dynamic."""
    WISHED = auto()
    """The program has marked it as one that may be."""
    ASKED = auto()
    """Everything is one, by `dynamic=True`."""
    CHANGED = auto()
    """It was another one in a call that was captured before."""
    UNBACKED = auto()
    """The program has marked it as one without a value."""
    LISTED = auto()
    """`dynamic_sources` names it."""
    LISTED_UNBACKED = auto()
    """`unbacked_sources` names it."""
    STATIC = auto()
    """It is to be none: the program has marked it as static."""


@dataclass(frozen=True)
class SymbolicInput:
    """An input with symbols.

    value: the tensor or number itself.
    symbolic: the fake tensor or `SymInt`.
    """

    source: Source
    value: object
    symbolic: Any
    torch_source: Any
    context: Any = None


@dataclass(frozen=True)
class _NamedSource(TorchSource):
    """A source as torch wants it, for an expression."""

    text: str

    @property
    def _name_template(self) -> str:
        return self.text


class Tracer(GraphAppendingTracer):
    """That of the nodes' proxies, by which a symbolic number finds what symbols there are."""

    def __init__(self, graph: torch.fx.Graph, shapes: SymbolicShapes) -> None:
        super().__init__(graph)
        self.shapes = shapes


class SymbolicShapes:
    """The symbols of one attempt to translate a code.

    dynamic: True: everything is a symbol; False: only what is marked; None: what changes.
    one_graph: whether the code is to be one graph: then what depends on the data is a symbol, too.
    known: told the expression and value of what is not a symbol because it is 0 or 1, and why it
        would have been one; and of what is marked as static.
    inputs: those that have symbols, by the names of their sources.
    causes: why sizes and numbers are to be symbols: by the names of their sources and, of sizes,
        the dimension.
    modules: whether modules are of a class of torch's, by the names of their sources.
    scalars: whether elements of tensors are symbols without a value.
    unbacked: whether there are such symbols.
    """

    def __init__(
        self,
        code: CodeType,
        dynamic: bool | None,
        known: Callable[[str, int, Cause], object] = lambda name, value, cause: None,
        one_graph: bool = False,
    ) -> None:
        self.dynamic = dynamic
        self.causes: dict[tuple[str, int | None], Cause] = {}
        self._known = known
        self.inputs: dict[str, SymbolicInput] = {}
        self.modules: dict[str, bool] = {}
        self.unbacked = False
        self.scalars = one_graph or _is_set("capture_scalar_outputs")
        sizes = one_graph or _is_set("capture_dynamic_output_shape_ops")
        self.without_value = self.scalars or sizes
        self.shape_env = ShapeEnv(
            allow_scalar_outputs=self.scalars, allow_dynamic_output_shape_ops=sizes
        )
        self._code = code
        self._seen = _seen.get(code) or _seen.set(code, {})

    def fake_tensor(self, mode: FakeTensorMode, source: Source, value: torch.Tensor) -> Any:
        """The fake tensor of an input; its changing sizes are symbols."""
        name = source.name()
        context = self._context(source, value)
        if context is None:
            return mode.from_tensor(value, static_shapes=True)
        torch_source = _NamedSource(name)
        plain = value.detach() if is_view(value) else value  # else its base has symbols, too
        fake = mode.from_tensor(plain, source=torch_source, symbolic_context=context)
        self.inputs[name] = SymbolicInput(source, value, fake, torch_source, context)
        return fake

    def number(self, source: Source, value: float) -> object:
        """The `SymInt` or `SymFloat` of an input that is a number; None: it is to be known."""
        name = source.name()
        is_int = type(value) is int
        fixed = config.specialize_int if is_int else self._float_is_known(value)
        changes = self._changes(name, (value,))[0] and not fixed
        listed = _listed(name, None) if is_int else None
        if not (changes or listed) or self._of_module(source):
            return None
        cause = self.causes[name, None] = listed or self._general_cause()
        if type(value) is int and value in (0, 1) and cause is not Cause.CHANGED:
            self._known(name, value, cause)
            return None
        if name not in self.inputs:
            torch_source = _NamedSource(name)
            symbol: object
            if type(value) is int:
                symbol = self.shape_env.create_unspecified_symint_and_symbol(
                    value, torch_source, DimDynamic.DYNAMIC
                )
            else:
                made = self.shape_env.create_unspecified_symbol(
                    value, torch_source, DimDynamic.DYNAMIC
                )
                symbol = self.shape_env.create_symfloatnode(made, hint=value, source=torch_source)
            self.inputs[name] = SymbolicInput(source, value, symbol, torch_source)
        return self.inputs[name].symbolic

    def _float_is_known(self, value: float) -> bool:
        return not math.isfinite(value) or _floats_known.get(self._code) is True

    def know_floats(self) -> None:
        """To be done before the code is translated again: floats are no symbols then."""
        _floats_known.set(self._code, True)

    def _changes(self, name: str, sizes: Sequence[float]) -> list[bool]:
        before = self._seen.get(name)
        if before is None or len(before) != len(sizes):
            before = tuple(sizes)
        now = tuple(a if a == b else None for a, b in zip(before, sizes, strict=True))
        self._seen[name] = now
        if self.dynamic is not None or not config.automatic_dynamic_shapes:
            return [bool(self.dynamic)] * len(sizes)
        return [size is None for size in now]

    def _context(
        self, source: Source, value: torch.Tensor
    ) -> StatelessSymbolicContext[Any, object] | None:
        marks = value.__dict__
        static = marks.get("_dynamo_static_indices", ())
        asked = marks.get("_dynamo_dynamic_indices", ())
        wished = marks.get("_dynamo_weak_dynamic_indices", ())
        unbacked = (
            *marks.get("_dynamo_unbacked_indices", ()),
            *marks.get("_dynamo_strict_unbacked_indices", ()),
        )
        changes = self._changes(source.name(), value.shape)
        fixed = type(value) is not torch.Tensor or self._of_module(source, is_tensor=True)
        if is_view(value) and value.requires_grad:
            return None  # a fake tensor of its own would be a leaf
        sizes: list[Any] = []
        for index, size in enumerate(value.shape):
            cause = None
            if index in asked:
                cause = Cause.MARKED
            elif index in unbacked:
                cause = Cause.UNBACKED
            elif index in wished:
                cause = Cause.WISHED
            elif index in static:
                self._known(f"{source.name()}.size()[{index}]", size, Cause.STATIC)
            elif not fixed:
                cause = _listed(source.name(), index)
                if cause is None and changes[index]:
                    cause = self._general_cause()
            sizes.append(self._kind_of_size(source.name(), index, size, cause))
        if all(size is DimDynamic.STATIC for size in sizes):
            return None
        must_stay = RelaxedUnspecConstraint(warn_only=False)
        constraints: list[Any] = [
            must_stay if size is DimDynamic.DYNAMIC else None for size in sizes
        ]
        return StatelessSymbolicContext(dynamic_sizes=sizes, constraint_sizes=constraints)

    def _kind_of_size(self, name: str, index: int, size: int, cause: Cause | None) -> DimDynamic:
        if cause is None:
            return DimDynamic.STATIC
        self.causes[name, index] = cause
        if size in (0, 1):
            self._known(f"{name}.size()[{index}]", size, cause)
            return DimDynamic.STATIC
        return DimDynamic.DYNAMIC if cause is Cause.MARKED else DimDynamic.DUCK

    def _general_cause(self) -> Cause:
        return Cause.ASKED if self.dynamic else Cause.CHANGED

    def _of_module(self, source: Source, *, is_tensor: bool = False) -> bool:
        """Whether a module holds it; a tensor, as a buffer, unless the class is torch's."""
        name = source.name()
        while isinstance(source, ChainedSource):
            source = source.base
            base = source.name()
            if base in self.modules:
                of_torch = self.modules[base]
                return of_torch or not is_tensor or name.startswith(f"{base}._buffers[")
        return False

    @contextlib.contextmanager
    def with_scalars(self) -> Iterator[None]:
        """Elements of tensors are symbols without a value meanwhile."""
        before, self.without_value = self.shape_env.settings, True
        self.shape_env.settings = replace(before, allow_scalar_outputs=True)
        try:
            yield
        finally:
            self.shape_env.settings = before

    def note_result(self, value: object) -> object:
        """The symbols without a value that an operator's result has for the first time, and where
        in it; None: it has none.

        Raises:
            Unsupported: there is one that is of something else.
        """
        try:
            found = compute_unbacked_bindings(self.shape_env, value) if self.without_value else None
        except PendingUnbackedSymbolNotFound:
            raise unimplemented("a size that depends on the data, of no result") from None
        self.unbacked |= bool(found)
        return found

    def conditions(self) -> list[str]:
        """What must hold for what was concluded.

        Raises:
            SkipFrame: the code needs a size to be known that is marked as dynamic.
        """
        inputs = list(self.inputs.values())
        if not inputs:
            return []
        try:
            written = self.shape_env.produce_guards_verbose(
                [each.symbolic for each in inputs],
                [each.torch_source for each in inputs],
                input_contexts=[each.context for each in inputs],
            )
        except ConstraintViolationError as error:
            raise SkipFrame(f"a size that is marked as dynamic is not: {error}") from None
        return [_BOUND.sub(_turned, text) for text in written[0].exprs]

    def dims(self) -> dict[str, Dims]:
        """What the guards of tensors with symbols ask, by the tensors' names."""
        return {
            name: Dims(_known(each.symbolic.size()), _known(each.symbolic.stride()))
            for name, each in self.inputs.items()
            if isinstance(each.symbolic, torch.Tensor)
        }


def _is_set(name: str) -> bool:
    """Whether something is on in stepper's settings, or in Dynamo's."""
    return getattr(config, name) or dynamo_setting(name) is True


def _listed(name: str, dim: int | None) -> Cause | None:
    """Whether one of torch's lists names a source, or a dimension of a tensor: an exact name or a
    pattern, with `:0` behind it for one dimension alone."""
    for cause, listed in (
        (Cause.LISTED, settings.dynamic_sources),
        (Cause.LISTED_UNBACKED, settings.unbacked_sources),
    ):
        for entry in filter(None, listed.replace(" ", "").split(",")):
            pattern, colon, number = entry.rpartition(":")
            if not (colon and number.isdecimal()):
                pattern, number = entry, ""
            if dim is not None and number and int(number) != dim:
                continue
            with contextlib.suppress(re.error):  # a name that is no pattern
                if pattern == name or re.match(pattern, name):
                    return cause
    return None


def _turned(match: re.Match[str]) -> str:
    """A bound as people write it, the number last."""
    number, operator, expression = match.groups()
    if match.end() != len(match.string):
        return match.group()
    return f"{expression} {operator.replace('<', '>')} {number}"


def _known(sizes: Sequence[Any]) -> tuple[int | None, ...]:
    return tuple(size if type(size) is int else size.node.maybe_as_int() for size in sizes)
