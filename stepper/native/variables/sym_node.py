"""Numbers that are symbols: sizes that change from call to call, and what is computed of them.

Arithmetic and comparisons are nodes of the graph. Whatever needs the number itself specializes it,
by asking torch's `ShapeEnv`, which remembers that it was asked: so a symbol can stand wherever a
constant can, at the price of a guard.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, TypeVar, cast

import torch
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from stepper.native.exc import PrepareFirst, Unsupported, unimplemented
from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.library import OPTIMIZERS
from stepper.native.tracing.source_lines import lines_as_found
from stepper.native.variables.base import Arguments, Keywords, VariableTracker, tracker_class
from stepper.native.variables.builtin_methods import IN_PLACE
from stepper.native.variables.constant import ConstantVariable
from stepper.native.versions import sym_sqrt
from stepper.support import break_kinds
from stepper.support.words import one_of

Asked = TypeVar("Asked")
_DRAW_BEFORE = "draw it before the compiled function, and hand over what is decided by it"

if TYPE_CHECKING:
    from collections.abc import Callable

    from stepper.native.protocols import Codegen, Translator

SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)
"""Classes of torch's symbolic numbers."""

_TYPES: dict[type, type] = {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}

_THEMSELVES = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge,
    operator.neg, operator.pos, operator.lshift, operator.rshift, operator.and_, operator.or_,
    operator.xor, abs, round, math.floor, math.ceil,
)  # fmt: skip
_IN_GRAPH: dict[object, object] = {
    **dict(zip(_THEMSELVES, _THEMSELVES, strict=True)),
    **{each: plain for each, plain in IN_PLACE.items() if plain in _THEMSELVES},
    max: torch.sym_max, min: torch.sym_min, float: torch.sym_float, int: torch.sym_int,
    math.trunc: torch.sym_int, math.sqrt: sym_sqrt,
}  # fmt: skip
"""Functions of numbers, and what stands for them in the graph."""

_COMPARISONS: dict[object, str] = {
    operator.lt: "<", operator.le: "<=", operator.eq: "==", operator.ne: "!=", operator.gt: ">",
    operator.ge: ">=",
}  # fmt: skip
_OF_FLOATS = frozenset(
    {
        operator.add, operator.sub, operator.mul, operator.truediv, operator.neg, operator.pos,
        operator.iadd, operator.isub, operator.imul, operator.itruediv, float, math.sqrt,
    }
)  # fmt: skip
"""Functions of floats that are nodes: they give floats, and no complex numbers."""
_OF_BITS = frozenset({operator.lshift, operator.rshift, operator.and_, operator.or_, operator.xor})
_TO_INTS = frozenset({int, round, math.floor, math.ceil, math.trunc})
"""Functions of floats that are nodes where these are computed of ints."""
_ARITIES = {max: 2, min: 2, **dict.fromkeys((float, math.sqrt, *_TO_INTS), 1)}


@tracker_class
class SymNodeVariable(VariableTracker):
    """A symbolic number."""

    proxy: Any
    """The node whose result it stands for."""

    @property
    def sym_num(self) -> object:
        """The `SymInt`, `SymFloat` or `SymBool`."""
        return self.proxy.node.meta["example_value"]

    def python_type(self) -> type:
        return _TYPES[type(self.sym_num)]

    def describe(self) -> str:
        name = self.source.name() if self.source is not None else self.proxy.node.name
        return f"symbolic {self.python_type().__name__} {name}"

    def is_python_constant(self) -> bool:
        return isinstance(self.sym_num, SYMBOLS) and has_value(self.sym_num)

    @lines_as_found
    def as_python_constant(self) -> object:
        """What it is now, which becomes a guard."""
        number = self.sym_num
        if isinstance(number, torch.SymFloat) and number.node.has_hint():
            return self._known_float(number)
        return self._as(self.python_type())

    def _known_float(self, number: torch.SymFloat) -> float:
        """A float as Python computes it; all that it is computed of is guarded. torch would guard
        the result: it solves for the symbols and simplifies, which rounds, and has one zero."""
        for node in self._computed_of():
            value = node.meta["example_value"]
            if not isinstance(value, torch.SymFloat):
                operator.truth(value) if isinstance(value, torch.SymBool) else int(value)
            elif value.node.hint == 0:
                raise PrepareFirst(self.proxy.tracer.shapes.know_floats, f"{node.name} is zero")
            else:
                float(value)
        return float(number.node.hint)

    def _computed_of(self) -> list[torch.fx.Node]:
        """The nodes of the symbols that it is computed of."""
        found, nodes = [], [self.proxy.node]
        for node in nodes:
            of = [
                each
                for each in node.all_input_nodes
                if isinstance(each.meta.get("example_value"), SYMBOLS)
            ]
            nodes += [each for each in of if each not in nodes]
            if not of:
                found.append(node)
        return found

    def _as(self, kind: Callable[[object], Asked]) -> Asked:
        """What it is now as a plain number, or a bool; torch remembers what was asked.

        Raises:
            Unsupported: it depends on the data of tensors.
        """
        try:
            return kind(self.sym_num)
        except GuardOnDataDependentSymNode as error:
            reason = f"{self.describe()} is not known before the graph runs"
            if any("drawn" in node.meta for node in self._computed_of()):
                raise unimplemented(reason, _DRAW_BEFORE) from None
            hint = "say what holds for it with torch._check"
            said = str(error).strip().partition("\n")[0]
            branches = self.python_type() is bool
            of_kind = break_kinds.BRANCHES if branches else break_kinds.OPERATOR
            raise unimplemented(reason, hint, kind=of_kind, explanation=said) from None

    def specialized(self) -> ConstantVariable:
        """The constant that it is now, which becomes a guard."""
        return ConstantVariable(self.as_python_constant(), guards=self.guards)

    def as_proxy(self) -> object:
        return self.proxy

    @lines_as_found
    def truth(self, tx: Translator) -> bool:
        if _is_float(self):
            zero = ConstantVariable(0.0)
            differs = _compare_inputs(tx, operator.ne, [self, zero]) or self.specialized()
            return differs.truth(tx)
        return self._as(bool)

    def unpack(self, tx: Translator) -> list[VariableTracker]:
        return self.specialized().unpack(tx)

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        return self.specialized().var_getattr(tx, name)

    def call_method(
        self, tx: Translator, name: str, args: Arguments, kwargs: Keywords
    ) -> VariableTracker:
        return self.specialized().call_method(tx, name, args, kwargs)

    def reconstruct(self, codegen: Codegen) -> None:
        codegen.push(self.proxy.node)


def has_value(number: torch.SymInt | torch.SymFloat | torch.SymBool) -> bool:
    """Whether a symbolic number has a value while code is captured: what depends on the data of
    tensors has none."""
    return bool(number.node.has_hint() or number.node.expr.is_number)


def is_number(value: VariableTracker) -> bool:
    """Whether a value is a number, symbolic or not."""
    if isinstance(value, ConstantVariable):
        return one_of(type(value.value), (int, float, bool))
    return isinstance(value, SymNodeVariable)


def call_symbolic(tx: Translator, function: object, args: Arguments) -> VariableTracker | None:
    """A function of numbers of which one is a symbol, in the graph; None: it needs the numbers
    themselves."""
    target = _IN_GRAPH.get(function)
    if target is None or not any(isinstance(arg, SymNodeVariable) for arg in args):
        return None
    if not all(map(is_number, args)) or len(args) != _ARITIES.get(function, len(args)):
        return None
    if target in _OF_BITS and any(arg.python_type() is not int for arg in args):
        return None
    if any(map(_is_float, args)):
        if function in _COMPARISONS:
            return _compare_inputs(tx, cast("Callable[..., object]", function), args)
        known = function in _OF_FLOATS or (function in _TO_INTS and _is_of_ints(args[0]))
        if not known and not _is_real_power(tx, function, args[0]):
            return None
    try:
        return tx.call_in_graph("call_function", target, args, {})
    except Unsupported:
        return None


def _is_of_ints(value: VariableTracker) -> bool:
    """Whether a number is computed of nothing but ints."""
    number = value.sym_num if isinstance(value, SymNodeVariable) else None
    if not isinstance(number, torch.SymFloat | torch.SymInt):
        return False
    return all(each.is_integer for each in number.node.expr.free_symbols)


def _is_real_power(tx: Translator, function: object, base: VariableTracker) -> bool:
    """Whether a function gives a power that is a float: of what is positive. Optimizers take roots
    of what they know to be so."""
    if function not in (operator.pow, operator.ipow):
        return False
    value = base.value if isinstance(base, ConstantVariable) else 0
    positive = isinstance(value, int | float) and value > 0
    return positive or tx.f_code.co_filename.startswith(OPTIMIZERS)


def _is_float(value: VariableTracker) -> bool:
    return isinstance(value, SymNodeVariable) and type(value.sym_num) is torch.SymFloat


def _compare_inputs(
    tx: Translator, compare: Callable[..., object], args: Arguments
) -> VariableTracker | None:
    """What comparing floats gives now, as a guard asks it again; None: one is computed, and is to
    be known itself. torch would solve the inequality, and round."""
    texts, values, guards = [], [], VariableTracker.propagate(args)["guards"]
    for each in args:
        if isinstance(each, SymNodeVariable):
            if each.source is None or each.proxy.node.op != "placeholder":
                return None
            texts.append(each.source.name())
            values.append(tx.output.graphargs[each.proxy.node].example)
        else:
            values.append(each.as_python_constant())
            texts.append(f"float({str(float(values[-1]))!r})")
    answer = bool(compare(*values))
    text = f"({texts[0]} {_COMPARISONS[compare]} {texts[1]}) == {answer}"
    source = next(each.source for each in args if each.source is not None)
    return ConstantVariable(
        answer, guards=guards | tx.output.install_guard(source, GuardBuilder.EXPRESSION, name=text)
    )


def specialize(value: VariableTracker) -> VariableTracker:
    """The value, known if it is a symbol."""
    return value.specialized() if isinstance(value, SymNodeVariable) else value
