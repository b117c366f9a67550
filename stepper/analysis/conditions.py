"""The conditions on sizes of an entry, each as a guard of its own.

Dynamo installs one guard, `SHAPE_ENV`, for all that must hold of sizes. It is made of conditions
which are tested one by one, fail one by one, and come from lines of their own: so they are told
apart. A condition's words are Dynamo's, an expression over the program's values; the same condition
stands in another form in the guard that runs (`2 <= x <= 7` for `2 <= x and x <= 7`).
"""

from __future__ import annotations

import ast
import contextlib
import itertools
import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from typing import Any, NamedTuple

import msgspec

from stepper.analysis.guard_kinds import leaves_of
from stepper.analysis.shapes import Size, conditions_on, size_among, sizes
from stepper.analysis.sources import path_of, unscoped
from stepper.analysis.walks import expressions_in
from stepper.model.shapes import ShapeStep, ShapeStepKind
from stepper.model.trace import Guard, Translation
from stepper.recording.reader import Recording
from stepper.support.guarded_values import parsed

SHAPE_ENV = "SHAPE_ENV"
LEAVES = frozenset({SHAPE_ENV, *leaves_of(SHAPE_ENV)})
"""The kinds of the checks that conditions on sizes are in a lookup: Dynamo's leaves, or where each
condition is a guard of its own, as in the native engine, the guard's."""

_NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_RANGE = re.compile(rf"\w+ [<>]=? {_NUMBER}|{_NUMBER} [<>]=? \w+")
"""A decision about one symbol that only takes values from its range: Dynamo makes one condition of
all these."""


def each_condition(
    recording: Recording, item: Translation, guards: Iterable[Guard], attempt: int
) -> Iterator[Guard]:
    """The guards of an attempt, with the conditions on sizes each as a guard of its own: under the
    number of the one that Dynamo has installed, at the moment and the line of the first decision
    that it comes from, where one was recorded."""
    known: list[Size] | None = None
    for guard in guards:
        if guard.kind != SHAPE_ENV or not guard.code:
            yield guard
            continue
        if known is None:
            known = [*sizes(recording, item, attempt)]
        for condition in guard.code:
            born = not_zero_or_one(known, condition)
            steps = decided_by(known, condition) or ([] if born is None else [born])
            mine = msgspec.structs.replace(guard, code=(condition,))
            if steps:
                stack = steps[0].program_stack
                mine = msgspec.structs.replace(
                    mine, moment=steps[0].moment, user_line=stack[-1] if stack else None
                )
            yield mine


@lru_cache(maxsize=4_000)
def comparisons(condition: str) -> tuple[str, ...]:
    """What a condition compares, two by two: the same for all forms in which Dynamo writes it."""
    tree = parsed(condition)
    return (condition,) if tree is None else tuple(_compared(tree))


def _compared(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        for value in node.values:
            yield from _compared(value)
    elif isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        for left, operator, right in zip(sides, node.ops, sides[1:], strict=False):
            yield ast.unparse(ast.Compare(left, [operator], [right]))
    else:
        yield ast.unparse(node)


def same_condition(guard: Guard, code: Iterable[str]) -> bool:
    """Whether one of a check's conditions is one of a guard's."""
    mine = {comparisons(part) for part in guard.code}
    return any(comparisons(part) in mine for part in code)


def decided_by(known: Sequence[Size], condition: str) -> list[ShapeStep]:
    """The recorded decisions from which a condition comes, in order, among the sizes of an attempt;
    empty: none is known, as of what torch itself requires of strides."""
    found = conditions_on(known, expressions_in(condition))
    if any(step.kind is not ShapeStepKind.GUARD for step in found):
        return found
    if not all(map(_is_bound, comparisons(condition))):
        others = [step for step in found if not _RANGE.fullmatch(step.expression)]
        return _saying(known, condition, others) or _saying_now(known, condition)
    asked = [step for step in found if _RANGE.fullmatch(step.expression)]
    return asked or _narrowed(known, condition)


def as_installed(recording: Recording, made: Translation, said: str) -> str:
    """A condition on sizes as the entry has it: Dynamo says why an entry did not match without
    `L[…]` around the names of locals. What is no condition of the entry is left as it is."""
    codes = all_conditions(recording, made)
    return next((code for code in codes if _says(code, said)), said)


def is_condition(recording: Recording, made: Translation, said: str) -> bool:
    """Whether what Dynamo says is a condition on sizes and numbers of an entry."""
    return any(_says(code, said) for code in all_conditions(recording, made))


def _says(code: str, said: str) -> bool:
    written = unscoped(code)
    return written == said or comparisons(written) == comparisons(said)


def all_conditions(recording: Recording, made: Translation) -> list[str]:
    """The conditions on sizes of an entry."""
    attempts = recording.attempts(made.id)
    guards = recording.guards(None, attempt=attempts[-1].id) if attempts else []
    return [code for guard in guards if guard.kind == SHAPE_ENV for code in guard.code]


_STRIDES = (1, 5, 7, 11, 13, 17)
_SAMPLES = 61
"""So many values of each symbol are tried; a prime, so that each stride comes by all of them."""


def _saying(
    known: Sequence[Size],
    condition: str,
    steps: list[ShapeStep],
    now: Mapping[str, str] | None = None,
) -> list[ShapeStep]:
    """The decisions that say what a condition says, or of which that cannot be computed.

    A condition is written in the program's words and a decision in sympy's, so what tells is for
    which values they hold: some dozens of each are tried, and those beside the numbers in the
    condition. `now`: what symbols were replaced by, of which the values then are taken.
    """
    names = {}
    for source in expressions_in(condition):
        path = path_of(source)
        size = None if path is None else size_among(known, path)
        if size is not None and size.symbol is not None:
            names[source] = size.symbol.name
    if not names:  # it is no condition on sizes, but on what has the same words
        return []
    if len({*names.values()}) > len(_STRIDES):
        return steps if now is None else []
    written = tuple(step.expression for step in steps)
    alike = _alike(condition, (*names.items(),), written, (*(now or {}).items(),))
    return [step for step, says_it in zip(steps, alike, strict=True) if says_it]


@lru_cache(maxsize=4_000)  # entries of one function decide the same
def _alike(
    condition: str,
    names: tuple[tuple[str, str], ...],
    expressions: tuple[str, ...],
    now: tuple[tuple[str, str], ...],
) -> tuple[bool, ...]:
    """Which expressions hold for the same values as a condition, whose symbols have these names
    there; if none does, or if it cannot be computed, which cannot be either."""
    symbols = sorted({symbol for _, symbol in names})
    points = [_values(symbols, at) for at in range(_SAMPLES)]
    for number in map(int, re.findall(r"\b\d+\b", condition)):
        points += [dict.fromkeys(symbols, near) for near in range(number - 1, number + 2)]
    points = [{**at, **_replaced(dict(now), at)} for at in points]
    said = [holds(condition, {name: at[symbol] for name, symbol in names}) for at in points]
    found = [[holds(expression, at) for at in points] for expression in expressions]
    same = tuple(each == said for each in found)
    return same if any(same) else tuple(all(one is None for one in each) for each in found)


def _values(symbols: Sequence[str], at: int) -> dict[str, float]:
    return {
        name: 2 + at * stride % _SAMPLES for name, stride in zip(symbols, _STRIDES, strict=False)
    }


def _saying_now(known: Sequence[Size], condition: str) -> list[ShapeStep]:
    """`_saying`, where a condition is written with what its symbols were replaced by after it was
    decided: `s77 <= s27` stands as `10 - s27 <= s27` in an entry for which `s77` is `10 - s27`."""
    symbols = {size.symbol.name: size.symbol for size in known if size.symbol is not None}
    now = {name: symbol.value for name, symbol in symbols.items() if symbol.value}
    steps = {
        step.id: step
        for symbol in symbols.values()
        for step in symbol.conditions
        if step.kind is ShapeStepKind.GUARD and not now.keys().isdisjoint(step.symbols)
    }
    return _saying(known, condition, [steps[id] for id in sorted(steps)], now)


def _replaced(now: Mapping[str, str], values: Mapping[str, float]) -> dict[str, float]:
    """The values of symbols that were replaced, where those of all others are known."""
    found: dict[str, float] = {}
    for _ in now:  # what one was replaced by can be made of others that were replaced
        for name, written in now.items():
            with contextlib.suppress(*_NOT_COMPUTED):
                found[name] = _computed(_parsed(written), {**values, **found})
    return found


def _narrowed(known: Sequence[Size], condition: str) -> list[ShapeStep]:
    """The steps in which the range of a condition's only value became smaller, each behind the
    decision from which it follows: one about several values, or about what is computed with it."""
    sources = expressions_in(condition)
    if len(sources) != 1 or (path := path_of(sources.pop())) is None:
        return []
    size = size_among(known, path)
    if size is None or size.symbol is None:
        return []
    asked = {(step.moment, step.id): step for step in size.symbol.conditions}
    behind = ((asked.get((step.moment, step.id - 1)), step) for step in size.symbol.narrowed)
    return [step for both in behind for step in both if step is not None]


def _is_bound(comparison: str) -> bool:
    """Whether a value itself is compared with a number, by order."""
    match ast.parse(comparison, mode="eval").body:
        case ast.Compare(left=left, ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()]) as found:
            [right] = found.comparators
            other = right if isinstance(left, ast.Constant) else left
            numbers = any(isinstance(side, ast.Constant) for side in (left, right))
            return numbers and expressions_in(comparison) == {ast.unparse(other)}
    return False


def of_range(step: ShapeStep) -> bool:
    """Whether a decision takes nothing but values from the range of one symbol."""
    return step.kind is ShapeStepKind.GUARD and bool(_RANGE.fullmatch(step.expression))


def not_zero_or_one(known: Sequence[Size], condition: str) -> ShapeStep | None:
    """How a size became a symbol of which a condition says that it is 2 or more: 0 and 1 would have
    become numbers. None: that is not why."""
    parts = comparisons(condition)
    sources = expressions_in(condition)
    if len(sources) != 1:
        return None
    [source] = sources
    path = path_of(source)
    size = None if path is None else size_among(known, path)
    if size is None or size.symbol is None or size.symbol.born.low != "2":
        return None
    asked = {f"2 <= {source}", f"{source} >= 2"} & {*parts}
    return size.symbol.born if asked else None


_MOST_POWER = 16


def _power(base: float, exponent: float) -> float:
    """As in a square root's or a square's condition; what would take long is not computed."""
    if not 0 <= exponent <= _MOST_POWER or abs(base) >= 1 << 64:
        raise ValueError
    found: float = base**exponent
    if isinstance(found, complex):
        raise ValueError
    return found


_ARITHMETIC: dict[type[ast.AST] | str, Callable[[Any, Any], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Div: operator.truediv,
    ast.Pow: _power,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
    "Eq": operator.eq, "Ne": operator.ne, "Max": max, "Min": min,
    "Mod": operator.mod, "PythonMod": operator.mod, "FloorDiv": operator.floordiv,
    "CleanDiv": operator.floordiv, "PowByNatural": _power, "FloatPow": _power,
    "IntTrueDiv": operator.truediv, "FloatTrueDiv": operator.truediv,
}  # fmt: skip
_OF_ONE: dict[str, Callable[[float], float]] = {
    "ToFloat": float,
    "TruncToInt": math.trunc,
    "FloorToInt": math.floor,
    "CeilToInt": math.ceil,
    "floor": math.floor,
    "ceiling": math.ceil,
    "TruncToFloat": lambda value: float(math.trunc(value)),
    "Abs": abs,
    "OpaqueUnaryFn_sqrt": math.sqrt,
}
"""Functions of torch's for one value."""
_OF_PYTHON = {
    "math.floor": "FloorToInt",
    "math.ceil": "CeilToInt",
    "math.trunc": "TruncToInt",
    "math.sqrt": "OpaqueUnaryFn_sqrt",
    "torch._sym_sqrt": "OpaqueUnaryFn_sqrt",
    "torch.sym_float": "ToFloat",
    "abs": "Abs",
    "max": "Max",
    "min": "Min",
}
"""How conditions, which are Python, call what decisions have in torch's words."""


_NOT_COMPUTED = (
    SyntaxError, LookupError, ValueError, ArithmeticError, RecursionError, MemoryError,
)  # fmt: skip


def holds(expression: str, values: Mapping[str, float]) -> bool | None:
    """Whether a decision's expression, or a condition, holds where its symbols have these values;
    None: that cannot be said, since one has no value, or since it is made of more than numbers."""
    try:
        return bool(_computed(_parsed(expression), values))
    except _NOT_COMPUTED:
        return None


class _AsInPython(ast.NodeTransformer):
    """Makes Python's own operators of torch's functions and operators for conditions."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Call(ast.Name("Eq" | "Ne" as name), [left, right], []):
                return ast.Compare(left, [ast.Eq() if name == "Eq" else ast.NotEq()], [right])
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return ast.UnaryOp(ast.Not(), node.operand) if isinstance(node.op, ast.Invert) else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        match node.op:
            case ast.BitAnd():
                return ast.BoolOp(ast.And(), [node.left, node.right])
            case ast.BitOr():
                return ast.BoolOp(ast.Or(), [node.left, node.right])
        return node


def in_python(condition: str) -> str:
    """A condition in torch's words as one would write it: `Eq(a, b)` as `a == b`."""
    try:
        return ast.unparse(_AsInPython().visit(ast.parse(condition, mode="eval")))
    except _NOT_COMPUTED:
        return condition


class _Named(ast.NodeTransformer):
    """Makes a name of each source, once: an expression is computed for dozens of values."""

    def _name(self, node: ast.expr) -> ast.expr:
        return ast.Name(ast.unparse(node))

    visit_Subscript = visit_Attribute = _name

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if (known := _OF_PYTHON.get(ast.unparse(node.func))) is not None:
            node = ast.Call(ast.Name(known), node.args, node.keywords)
        elif isinstance(node.func, ast.Attribute):
            return self._name(node)
        return self.generic_visit(node)


@lru_cache(maxsize=1_000)
def _parsed(expression: str) -> ast.expr:
    parsed: ast.Expression = _Named().visit(ast.parse(expression, mode="eval"))
    return parsed.body


def _computed(node: ast.expr, values: Mapping[str, float]) -> float:
    match node:
        case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=of):
            return not _computed(of, values)
        case ast.BoolOp(op=op, values=sides):
            each = (_computed(side, values) for side in sides)
            return all(each) if isinstance(op, ast.And) else any(each)
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name(id=name):
            return values[name]
        case ast.UnaryOp(op=ast.USub(), operand=of):
            return -_computed(of, values)
        case (
            ast.BinOp(left=left, op=op, right=right)
            | ast.Compare(left=left, ops=[op], comparators=[right])
        ):
            return _ARITHMETIC[type(op)](_computed(left, values), _computed(right, values))
        case ast.Call(func=ast.Name(id=name), args=[only], keywords=[]) if name in _OF_ONE:
            return _OF_ONE[name](_computed(only, values))
        case ast.Call(func=ast.Name(id=name), args=[first, *others], keywords=[]):
            parts = (_computed(each, values) for each in others)
            return reduce(_ARITHMETIC[name], parts, _computed(first, values))
    raise LookupError


class Left(NamedTuple):
    """What the conditions of an entry leave a size together, where none of them says it alone."""

    value: float
    conditions: tuple[str, ...]
    """Those that have to do with it, in the entry's order."""


_SIZES = re.compile(r".+\.(?:size|stride)\(\)\[\d+\]")
_MOST_POINTS = 4_000


def only_left(conditions: Sequence[str], source: str) -> Left | None:
    """The one value that is left for a size, by trying all that its range and those of the sizes
    that conditions compare it with allow; None: there are more, or too many to try."""
    looked_at = {condition: expressions_in(condition) for condition in conditions}
    alone = {condition: about for condition, about in looked_at.items() if about == {source}}
    # What some of them leave, all of them leave: others of it may have no range.
    return _only_left(alone, source) or _only_left(looked_at, source)


def _only_left(looked_at: Mapping[str, set[str]], source: str) -> Left | None:
    group, used = {source}, list[str]()
    for _ in looked_at:
        used = [each for each, about in looked_at.items() if not group.isdisjoint(about)]
        group |= {name for each in used for name in looked_at[each]}
    if len(used) < 2 or not all(map(_SIZES.fullmatch, group)):
        return None
    value = _one_value(used, group, source)
    if value is None:
        return None
    for each in used:  # those that say nothing new are none to blame
        needed = [other for other in used if other is not each]
        if _one_value(needed, group, source) == value:
            used = needed
    return Left(value, tuple(used))


def _one_value(used: Sequence[str], group: set[str], source: str) -> float | None:
    """The only value that these conditions leave; None: there are more, or too many to try."""
    parts = [part for each in used for part in comparisons(each)]
    ranges = {name: found for name in group if (found := _range_in(parts, name)) is not None}
    if math.prod(map(len, ranges.values())) > _MOST_POINTS:
        return None
    equal = dict(filter(None, map(_equal_to, parts)))
    left: set[float] = set()
    for point in itertools.product(*ranges.values()):
        at: dict[str, float] = dict(zip(ranges, point, strict=True))
        at = {**_replaced(equal, at), **at}
        if at.keys() != group:
            return None
        if all(holds(each, at) is not False for each in used):
            left.add(at[source])
        if len(left) > 1:
            return None
    return left.pop() if left else None


def left_by(guards: Iterable[Guard], source: str) -> Left | None:
    """`only_left`, by the guards of an entry."""
    on_sizes = (guard for guard in guards if guard.kind == SHAPE_ENV)
    return only_left([code for guard in on_sizes for code in guard.code], source)


def _range_in(parts: Iterable[str], name: str) -> range | None:
    """What comparisons with numbers leave of whole numbers; None: no range with two ends."""
    low: int | None = None
    high: int | None = None
    for part in parts:
        match ast.parse(part, mode="eval").body:
            case ast.Compare(ast.Constant(int() as number), [order], [of]):
                kind = type(order).__name__.translate(_TURNED)
            case ast.Compare(of, [order], [ast.Constant(int() as number)]):
                kind = type(order).__name__
            case _:
                continue
        least = most = number
        if kind == "Eq":
            of, least, most = _undone(of, number)
        if ast.unparse(of) != name:
            continue
        if kind in ("Gt", "GtE", "Eq"):
            least += kind == "Gt"
            low = least if low is None else max(least, low)
        if kind in ("Lt", "LtE", "Eq"):
            most -= kind == "Lt"
            high = most if high is None else min(most, high)
    return None if low is None or high is None else range(low, high + 1)


def _undone(of: ast.expr, number: int) -> tuple[ast.expr, int, int]:
    """What is left of an expression that is a number without what is added to it and what it is
    divided by, with the range that it is in: of `(x + 1) // 2`, which is 3, x, from 5 to 6."""
    least = most = number
    while True:
        match of:
            case ast.BinOp(inner, ast.FloorDiv(), ast.Constant(int() as by)) if by > 0:
                of, least, most = inner, least * by, most * by + by - 1
            case ast.BinOp(inner, ast.Add(), ast.Constant(int() as more)) | ast.BinOp(
                ast.Constant(int() as more), ast.Add(), inner
            ):
                of, least, most = inner, least - more, most - more
            case _:
                return of, least, most


_TURNED = str.maketrans("LG", "GL")
"""The name of an order with its sides exchanged: `Lt` is `Gt`."""


def _equal_to(part: str) -> tuple[str, str] | None:
    """A size, and what a comparison says that it is equal to."""
    match ast.parse(part, mode="eval").body:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            name = ast.unparse(left)
            itself = _SIZES.fullmatch(name) and expressions_in(name) == {name}  # not one less
            return (name, ast.unparse(right)) if itself else None
    return None
