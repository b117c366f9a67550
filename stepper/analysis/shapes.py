"""What is known of sizes: the recorded steps, put together symbol by symbol.

A step says what became known at one instruction. A symbol's state at a moment is what its steps
before that moment have left: free, fixed to a number, equal to an expression of other symbols.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

import msgspec

from stepper.analysis.sources import Path, path_of
from stepper.model.shapes import ShapeStep, ShapeStepKind, Why, plain
from stepper.model.trace import MomentId, Translation
from stepper.recording.reader import Recording

_BORN = frozenset({ShapeStepKind.SYMBOL, ShapeStepKind.UNBACKED})
_CONDITIONS = frozenset(
    {ShapeStepKind.GUARD, ShapeStepKind.ASSERTION, ShapeStepKind.ASSUMED, ShapeStepKind.UNDECIDED}
)

_NAME = re.compile(r"[A-Za-z_]\w*")


class Symbol(msgspec.Struct):
    """A symbol, as far as it is known at a moment."""

    name: str
    born: ShapeStep
    sources: list[str] = []
    """What it stands for; more than one: they had the same value (duck shaping)."""
    shared: list[ShapeStep] = []
    """How the others came to be the same symbol."""
    low: str = ""
    high: str = ""
    narrowed: list[ShapeStep] = []
    """How the range became smaller, in order."""
    value: str = ""
    """What it was replaced by: a number or an expression; empty: it stands for itself."""
    replaced: list[ShapeStep] = []
    """The replacements, in order."""
    conditions: list[ShapeStep] = []
    """What it was asked for, in order: conditions of the entry, assertions, what was assumed."""
    others: list[ShapeStep] = []
    """What else has it, in order: other symbols that became an expression of it, evaluations that
    nothing keeps."""

    @property
    def steps(self) -> list[ShapeStep]:
        """All that became known about it, in order."""
        became = (self.born, *self.shared, *self.narrowed, *self.replaced)
        about = (*became, *self.conditions, *self.others)
        return sorted(about, key=lambda step: step.id)

    @property
    def fixed(self) -> bool:
        """Whether it is a number."""
        # Asked of the step: how the compiler writes a number (5, 1.0e-5, oo) is its own affair.
        return bool(self.value) and not self.replaced[-1].symbols

    @property
    def unbacked(self) -> bool:
        """Whether it came to be without a value."""
        return self.born.kind is ShapeStepKind.UNBACKED

    @property
    def state(self) -> str:
        """In a word or two: `dynamic`, `fixed to 5`, `equal to s15`, `unbacked`."""
        if self.value:
            return f"{'fixed to' if self.fixed else 'equal to'} {self.value}"
        return "unbacked" if self.unbacked else "dynamic"


def symbols_at(
    recording: Recording, attempt: int, moment: MomentId | None = None
) -> dict[str, Symbol]:
    """The symbols of an attempt by name, in the order of their birth; None: at its end."""
    return put_together(
        step
        for step in recording.shape_steps(None, attempt=attempt)
        if moment is None or step.moment < moment
    )


def put_together(steps: Iterable[ShapeStep]) -> dict[str, Symbol]:
    """The symbols that steps tell of, by name, in the order of their birth."""
    found: dict[str, Symbol] = {}
    for step in steps:
        symbol = found.get(step.symbol)
        if step.kind in _BORN:
            found[step.symbol] = Symbol(
                step.symbol, step, low=plain(step.low), high=plain(step.high)
            )
            found[step.symbol].sources += [step.source] if step.source else []
        elif step.kind in _CONDITIONS:
            for name in step.symbols:
                if name in found:
                    found[name].conditions.append(step)
        elif step.kind is ShapeStepKind.SUPPRESSED:
            _add_to_others(found, step)
        elif symbol is None:
            continue
        elif step.kind is ShapeStepKind.SHARED:
            symbol.sources.append(step.source)
            symbol.shared.append(step)
        elif step.kind is ShapeStepKind.RANGE:
            symbol.low, symbol.high = plain(step.low), plain(step.high)
            symbol.narrowed.append(step)
        elif step.kind is ShapeStepKind.REPLACED:
            symbol.value = step.written
            symbol.replaced.append(step)
            _add_to_others(found, step)
    return found


def _add_to_others(found: dict[str, Symbol], step: ShapeStep) -> None:
    """Tell a step to the symbols in its expression, without the one that it is about."""
    for name in step.symbols:
        if name in found and name != step.symbol:
            found[name].others.append(step)


class Size(msgspec.Struct, frozen=True):
    """What is known of one size or number in one translation, at its end."""

    translation: Translation
    source: str
    symbol: Symbol | None
    """None: it never was one."""
    number: ShapeStep | None = None
    """That it is a number from the beginning: it was 0 or 1, or was marked as static."""
    fixed_by: tuple[ShapeStep, ...] = ()
    """The chain that made it a number, in order: conditions and replacements."""

    @property
    def zero_one(self) -> bool:
        """Whether it is a number because it was 0 or 1."""
        return self.number is not None and self.number.kind is ShapeStepKind.ZERO_ONE

    @property
    def static(self) -> bool:
        """Whether it is a number because the program has marked it so."""
        return self.number is not None and self.number.kind is ShapeStepKind.STATIC

    @property
    def why(self) -> Why:
        """Why it was to be a symbol, or none."""
        step = self.number if self.symbol is None else self.symbol.born
        return Why.UNKNOWN if step is None else step.why

    @property
    def value(self) -> str:
        """The number that it is fixed to; empty: it is free, or equal to another."""
        if self.number is not None:
            return self.number.written
        return self.symbol.value if self.symbol is not None and self.symbol.fixed else ""


def sizes(recording: Recording, item: Translation, attempt: int | None = None) -> Iterator[Size]:
    """The sizes and numbers of a translation that were symbols, or were to be, or are marked to be
    none, in an attempt of it; None: in its last."""
    attempts = recording.attempts(item.id)
    if not attempts:
        return
    steps = recording.shape_steps(None, attempt=attempts[-1].id if attempt is None else attempt)
    symbols = put_together(steps)
    for symbol in symbols.values():
        chain = tuple(_chain(symbol, symbols))
        for source in symbol.sources or [symbol.name]:
            yield Size(item, source, symbol, fixed_by=chain)
    numbers: dict[str, ShapeStep] = {}
    for step in steps:
        if step.kind in (ShapeStepKind.ZERO_ONE, ShapeStepKind.STATIC):
            numbers.setdefault(step.source or str(step.id), step)  # a later stage may ask again
    for step in numbers.values():
        yield Size(item, step.source, None, step)


def _chain(symbol: Symbol, symbols: dict[str, Symbol]) -> Iterator[ShapeStep]:
    """The steps by which a symbol became what it is: for each replacement the condition that was
    being decided at that moment and those that left it no other value, then what it was replaced
    by, and so on."""
    seen: set[int] = set()
    waiting = [symbol]
    names = {symbol.name}
    found: list[ShapeStep] = []
    while waiting:
        current = waiting.pop()
        for replaced in current.replaced:
            causes = (_decided_with(current, replaced), *_bounding(current, replaced))
            for step in (*filter(None, causes), replaced):
                if step.id not in seen:
                    seen.add(step.id)
                    found.append(step)
                for name in step.symbols:
                    if name in symbols and name not in names and symbols[name].replaced:
                        names.add(name)
                        waiting.append(symbols[name])
    yield from sorted(found, key=lambda step: step.id)


def _decided_with(symbol: Symbol, step: ShapeStep) -> ShapeStep | None:
    """The condition on a symbol that was being decided when something became known of it."""
    found = [each for each in symbol.conditions if each.moment == step.moment and each.id < step.id]
    return found[-1] if found else None


def _bounding(symbol: Symbol, replaced: ShapeStep) -> Iterator[ShapeStep | None]:
    """The conditions that made a symbol's range one number: `> 5` was decided no, then `< 5`."""
    low, high = symbol.born.low, symbol.born.high
    lower = upper = None
    for step in symbol.narrowed:
        if step.id < replaced.id:
            lower = lower if step.low == low else step
            upper = upper if step.high == high else step
            low, high = step.low, step.high
    if low == high:
        for bound in (lower, upper):
            yield None if bound is None else _decided_with(symbol, bound)


def size_of(recording: Recording, item: Translation, asked: Path | str) -> Size | None:
    """What is known of an expression, or of a symbol by its name; None: nothing was recorded."""
    return size_among(sizes(recording, item), asked)


def size_among(known: Iterable[Size], asked: Path | str) -> Size | None:
    """`size_of`, of those that are known."""
    for size in known:
        if isinstance(asked, str):
            if size.symbol is not None and size.symbol.name == asked:
                return size
        elif (path := path_of(size.source)) is not None and (
            same(path, asked) or same(path.of_instance, asked)
        ):
            return size
    return None


def fixing(recording: Recording, item: Translation, source: str, dim: int) -> Size | None:
    """What made a tensor's size a number that had been a symbol; None: it had not, or it is free.

    Args:
        recording: what is asked.
        item: the translation.
        source: the tensor, as Dynamo or a person writes it.
        dim: which size.
    """
    path = path_of(f"{source}.size()[{dim}]")
    found = None if path is None else size_of(recording, item, path)
    return found if found is not None and found.symbol is not None and found.value else None


def cause_of(size: Size) -> ShapeStep | None:
    """The condition that fixed a size: of several, the last that the program asked for."""
    asked = [step for step in size.fixed_by if step.kind in _CONDITIONS]
    return asked[-1] if asked else None


def conditions_on(known: Sequence[Size], sources: Collection[str]) -> list[ShapeStep]:
    """The conditions about exactly these values together, in order, among the sizes of an
    attempt."""
    symbols: dict[str, Symbol] = {}
    for source in sources:
        path = path_of(source)
        size = None if path is None else size_among(known, path)
        if size is None or size.symbol is None:
            return []
        symbols[size.symbol.name] = size.symbol
    if len(symbols) == 1 and len(sources) > 1:
        # They are one symbol: that they are equal is required because they were.
        return [step for symbol in symbols.values() for step in symbol.shared]
    found = {
        step.id: step
        for symbol in symbols.values()
        for step in symbol.conditions
        if step.kind is ShapeStepKind.GUARD and set(step.symbols) == symbols.keys()
    }
    return [found[id] for id in sorted(found)]


def same(one: Path, other: Path) -> bool:
    """Whether two expressions are about the same value."""
    return one.steps == other.steps and one.same_root(other)


def in_sources(written: str, known: dict[str, Symbol], spell: Callable[[str], str]) -> str:
    """An expression of symbols with what they stand for in their places."""

    def standing_for(name: re.Match[str]) -> str:
        symbol = known.get(name[0])
        return spell(symbol.sources[0]) if symbol is not None and symbol.sources else name[0]

    return _NAME.sub(standing_for, written)
