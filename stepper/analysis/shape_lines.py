"""Why sizes are what they are, in words: for the command line, the console, the screen and reports.

Every sentence is a recorded step with its line, or says that there is none.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache, partial
from typing import NamedTuple

from stepper.analysis.conditions import SHAPE_ENV, Left, decided_by, left_by, of_range
from stepper.analysis.entryless import inlined_lines
from stepper.analysis.guard_kinds import aspects_of
from stepper.analysis.guard_uses import entries
from stepper.analysis.guarded import Guarded, asked, asked_of
from stepper.analysis.handed_on import spelled_inside
from stepper.analysis.line import Line
from stepper.analysis.shapes import Size, Symbol, cause_of, in_sources, size_of, sizes, symbols_at
from stepper.analysis.sites import made_at, program_line, site_at, way_to
from stepper.analysis.sources import PARAMETER, Path, path_of, spelled, unscoped
from stepper.analysis.told_once import told_once
from stepper.analysis.unread import is_unread, unread_lines
from stepper.analysis.unseen import so_far
from stepper.analysis.walks import compilations
from stepper.analysis.wanted import resolved, symbolic, wanted_by
from stepper.client.frame_names import compiled_title
from stepper.client.meant import is_meant
from stepper.client.text import (
    first_names,
    instruction_text,
    line_text,
    place_text,
    plural,
    source_line,
)
from stepper.model.datum import text_of
from stepper.model.program import PythonFrame, UserLine
from stepper.model.shapes import Late, ShapeStep, ShapeStepKind, Stage, Why
from stepper.model.trace import Frame, MomentId, Outcome, Phase, Translation
from stepper.model.value import Value
from stepper.recording.reader import Recording

NOT_TOLD = (
    "not recorded: the engine that made this recording does not tell what becomes known about sizes"
)
_NAME = re.compile(r"[A-Za-z_]\w*")
_NUMBERS = (
    "the sizes of parameters and buffers are numbers whatever they were, unless "
    "torch._dynamo.config.force_parameter_static_shapes is off, and for torch's own modules "
    "force_nn_module_property_static_shapes, too"
)
_CELL = "CellVariable"
_MOST_CONDITIONS = 8
_MOST_LATE = 12
_MOST_NAMES = 8
_ITEM = ".item()"
_OF_TENSORS = re.compile(r"\.(size|stride|storage_offset)\(\)")
"""In what a symbol stands for: that it is a tensor's, not a number of its own."""
_MOST_FRAMES = 100
"""Calls of a translation whose locals are looked at."""
_NOT_OVER = {
    Outcome.RUNNING: "is under way, and can ask for more",
    Outcome.CUT_OFF: "was not over when the recording ended",
}
_ASKING = 2
"""Torch's own frames that are shown of who asked."""

WHY = {
    Why.DYNAMIC: "dynamic=True",
    Why.AUTOMATIC: "it had another value before (automatic dynamic shapes)",
    Why.OPERATOR: "an operator's result depends on data",
    Why.EXPORT: "the dynamic_shapes of torch.export say so",
    Why.MARKED: "it was marked by mark_dynamic",
    Why.MARKED_MAYBE: "it was marked by maybe_mark_dynamic",
    Why.MARKED_UNBACKED: "it was marked by mark_unbacked",
    Why.LISTED: "torch.compiler.config.dynamic_sources names it",
    Why.LISTED_UNBACKED: "torch.compiler.config.unbacked_sources names it",
}
"""Why a size is a symbol, behind `because`."""

LATE = {
    Late.BACKWARD: "in the backward, which was compiled later",
    Late.OTHERWISE: "after it was compiled",
}
"""When something was decided, where the guards had been made."""


def shape_lines(recording: Recording, expression: str = "", function: str = "") -> Iterator[Line]:
    """Why a size is fixed or free, in each translation.

    Args:
        recording: what is asked.
        expression: a size or number as a person writes it, e.g. `x.shape[0]`, or a symbol; empty:
            every one that was fixed, or was to be a symbol.
        function: only in functions with this in their name; empty: in all.
    """
    if not recording.facts.capabilities.shape_steps:
        yield Line(NOT_TOLD)
        return
    yield from inlined_lines(recording, function)
    items = [
        item
        for item in recording.translations()
        if item.phase is Phase.TRANSLATE and is_meant(recording, item, function)
    ]
    lines = (
        _of(recording, items, expression, function) if expression else _overview(recording, items)
    )
    none = True
    for line in lines:
        none = False
        yield line
    if none and function and not items:
        no = f"no compilation{so_far(recording)}"
        yield Line(f"{no} is of a function with {function!r} in its name")
    elif none:
        yield Line(_nothing(recording, expression, function))


def _nothing(recording: Recording, expression: str, function: str) -> str:
    where = f" of a function with {function!r} in its name" if function else ""
    if expression:
        return (
            f"nothing is recorded about {expression!r} in a translation{where}: give a tensor's "
            "size (x.shape[0], self.w.size(1)), a number that is an input or a local, or a symbol "
            "(s77)"
        )
    partly = ", as far as that was recorded (--detail stops)"
    return f"no size{where} was a symbol{partly * (recording.facts.detail == 'stops')}"


def _overview(recording: Recording, items: list[Translation]) -> Iterator[Line]:
    """First what was fixed, then how many sizes are free."""
    answers = ((item, lines) for item in items for lines in _about_each(recording, item))
    yield from told_once(answers)


def _about_each(recording: Recording, item: Translation) -> Iterator[list[Line]]:
    """The lines about each size that was fixed, or several that were by one line for one operator,
    about those that are free, and about what was decided otherwise."""
    fixed: dict[object, list[tuple[Size, Left | None]]] = {}
    free: list[Size] = []
    for size in sizes(recording, item):
        left = _left(recording, size)
        if size.value or left is not None:
            cause = None if left is not None else cause_of(size)
            by: object = id(size)
            if cause is not None and cause.program_stack:
                by = cause.program_stack[-1], cause.target, size.value
            fixed.setdefault(by, []).append((size, left))
        else:
            free.append(size)
    for first, *others in fixed.values():
        lines = [*_size_lines(recording, *first)]
        if others:
            spelled_each = [spelled_inside(recording, item, size.source) for size, _ in others]
            likewise = first_names(spelled_each, _MOST_NAMES)
            text = f"  likewise {likewise}, by the same line for the same operator"
            lines.append(Line(text, item.first_moment))
        yield lines
    if free:
        free.sort(key=lambda size: size.source.endswith(_ITEM))  # of modules there are many
        names = first_names([_free_name(recording, size) for size in free], _MOST_NAMES)
        what = "size" if all(_OF_TENSORS.search(size.source) for size in free) else "number"
        text = f"{compiled_title(recording, item)}: {plural(len(free), what)} free: {names}"
        yield [Line(text, item.first_moment, "dim")]
    yield [*_undecided(recording, item)]
    yield [*_late(recording, item)]


def _free_name(recording: Recording, size: Size) -> str:
    """A size that is not fixed, with what it is equal to where that is another one."""
    spell = partial(spelled_inside, recording, size.translation)
    symbol = size.symbol
    if symbol is None or not symbol.value:
        return spell(size.source)
    known = symbols_at(recording, symbol.born.attempt)
    return f"{spell(size.source)} (equal to {in_sources(symbol.value, known, spell)})"


def _not_compiled(item: Translation) -> Iterator[Line]:
    """Say of what is known of a size that no entry has it, or none has it yet."""
    if item.outcome is Outcome.SKIPPED:
        yield Line("  that is not compiled, but given up: why-break says why", role="dim")
    if item.outcome is Outcome.FAILED:
        yield Line("  no entry has it: its compilation failed, why-failed says why", role="dim")
    if item.outcome in _NOT_OVER:
        yield Line(f"  so far: its compilation {_NOT_OVER[item.outcome]}", role="dim")


def _left(recording: Recording, size: Size) -> Left | None:
    """What the entry's conditions together leave a size that is still a symbol."""
    attempts = recording.attempts(size.translation.id)
    if size.value or size.symbol is None or not attempts:
        return None
    return left_by(recording.guards(None, attempt=attempts[-1].id), size.source)


def _of(
    recording: Recording, items: list[Translation], expression: str, function: str
) -> Iterator[Line]:
    # Who names a tensor asks about all its sizes; another call can have no tensor there.
    spelled = (expression, f"{expression}.shape")

    @cache
    def guarded(written: str) -> dict[int, Guarded]:
        return {each.translation.id: each for each in asked(recording, written, function) or ()}

    def of_entry(item: Translation) -> list[Line]:
        for written in spelled:
            if lines := [*_of_one(recording, item, written, guarded(written).get(item.id))]:
                return lines
        return []

    yield from told_once((item, of_entry(item)) for item in items)


def _of_one(
    recording: Recording, item: Translation, expression: str, guarded: Guarded | None
) -> Iterator[Line]:
    path = path_of(expression)
    is_name = path is not None and not path.steps
    found = None
    if path is not None:
        found = size_of(recording, item, resolved(recording, item, path))
    if found is None and is_name:
        found = size_of(recording, item, expression)
    if found is not None:
        yield from size_lines(recording, found)
        if path is not None and expression != (found.symbol and found.symbol.name):
            first = found.value or (found.symbol.value or found.symbol.name if found.symbol else "")
            yield from _replaced(recording, item, path, expression, first)
    else:
        never = [] if guarded is None else [*_never(recording, guarded, expression)]
        never += [] if guarded is None or not never else _of_a_parameter(recording, guarded)
        yield from never
        wants = guarded.requires if guarded is not None and never else ()
        if never and path is not None and len(wants) == 1:
            yield from _replaced(recording, item, path, expression, text_of(wants[0]))
        elif not never and path is not None:
            made = [*_made_inside(recording, item, path, expression)]
            yield from made or unread_lines(recording, item, path, expression)
    symbol = None if found is None else found.symbol
    if is_name or symbol is not None:
        yield from _late(recording, item, expression if symbol is None else symbol.name)


class _Becomes(NamedTuple):
    """What a size, or a number, is in the function itself."""

    written: str
    """As the compiler has it."""
    set: bool
    """Whether it is a part of something that the function sets; else of a local of its own."""
    place: str
    moment: MomentId
    attempt: int
    was: str = ""
    """As the compiler had it before it became that number."""


def _becomes(recording: Recording, item: Translation, path: Path, frames: int) -> _Becomes | None:
    """What an attribute, or an item, is set to at last, or what a local is where the first of so
    many frames ends that has it."""
    attempts = recording.attempts(item.id)
    if not attempts or path.globally:
        return None
    attempt, cwd = attempts[-1].id, recording.facts.cwd
    asked_for = resolved(recording, item, path)
    for effect in reversed(recording.side_effects(None, attempt=attempt)):
        changed = path_of(effect.name)
        line = program_line(recording, effect.moment)
        if changed is None or line is None or not changed.leads_to(asked_for):
            continue
        steps = asked_for.steps[len(changed.steps) :]
        value = recording.state(effect.moment).values.get(effect.value or 0)
        if value is not None and (written := _written(value, steps)):
            return _Becomes(written, True, line_text(line, cwd), effect.moment, attempt)
    for frame in recording.frames(attempt)[:frames]:
        end = frame.last_moment
        if end is None or not recording.has(end):
            continue
        state = recording.state(end)
        value = state.values.get(state.top.locals.get(path.root, 0))
        if value is not None and value.cls == _CELL:  # an inner function has it, too
            inside = (each.value for each in value.items if each.label == ".cell_contents")
            value = state.values.get(next(inside, 0))
        if value is not None and (written := _written(value, path.steps)):
            at, was = end, ""
            if written.isdecimal():
                at, was = _was_symbol(recording, frame, path) or (end, "")
            site = site_at(recording, at)
            assert site is not None
            return _Becomes(written, False, place_text(site.line.place, cwd), at, attempt, was)
    return None


def _was_symbol(recording: Recording, frame: Frame, path: Path) -> tuple[MomentId, str] | None:
    """Where a frame made a local that is a number at its end, and which symbol it was then; None:
    it was a number then, too."""
    rows = recording.code(frame.code).instructions
    storing = {at for at, row in enumerate(rows) if ("STORE", path.root) in row.local_uses}
    last = frame.last_moment or recording.newest
    for moment in recording.walk(last, -1, codes=(frame.code,)):
        if moment.id < frame.first_moment:
            return None
        if moment.frame == frame.id and moment.ip in storing and recording.has(moment.id + 1):
            state = recording.state(moment.id + 1)
            value = state.values.get(state.top.locals.get(path.root, 0))
            was = "" if value is None else _written(value, path.steps)
            return (moment.id, was) if was and not was.isdecimal() else None
    return None


def _made_inside(
    recording: Recording, item: Translation, path: Path, expression: str
) -> Iterator[Line]:
    """Say what a size or number is that the function makes itself."""
    found = _becomes(recording, item, path, _MOST_FRAMES)
    if found is None or (not found.set and is_unread(recording, item, path)):
        return
    written, title = found.written, compiled_title(recording, item)
    if found.set:
        text = f"{expression} is set to {written}, at {found.place}"
    else:
        how = "a number" if written.isdecimal() else "made of symbols"
        how = "a symbol" if _NAME.fullmatch(written) else how
        how = f"and was {found.was} before that was fixed" if found.was else how
        text = f"{expression} is {written}, {how}, at {found.place}"
    yield Line(f"{title}: {text}", found.moment, "title")
    yield from _not_compiled(item)
    for name in dict.fromkeys(_NAME.findall(found.was)):
        if (size := size_of(recording, item, name)) is not None:
            yield from size_lines(recording, size)
    yield from _standing_for(recording, item, found.attempt, _NAME.findall(written))


def _replaced(
    recording: Recording, item: Translation, path: Path, expression: str, before: str
) -> Iterator[Line]:
    """Say what the function makes of a size or number that it is called with."""
    found = _becomes(recording, item, path, 1)
    if found is not None and found.written != before:
        text = f"  the function itself makes {expression} {found.written}, at {found.place}"
        yield Line(text, found.moment)
        names = {*_NAME.findall(found.written)} - {before}
        yield from _standing_for(recording, item, found.attempt, names)


def _written(value: Value, steps: tuple[str, ...]) -> str:
    """A tensor's size, or a number that is no constant, as the compiler has it; empty: it is
    neither."""
    if not steps:
        return value.text if value.tensor is None and value.type == "int" else ""
    shape = value.tensor.shape if value.tensor is not None else None
    for dim, size in enumerate(shape or ()):
        if steps == (f"size({dim})",):
            return size
    return ""


def _late(recording: Recording, item: Translation, symbol: str = "") -> Iterator[Line]:
    """What was decided when the entry was made already, about a symbol or any."""
    found = [
        step
        for attempt in recording.attempts(item.id)
        for step in recording.late_shape_steps(attempt.id)
        if not symbol or symbol in (step.symbol, *step.symbols)
    ]
    for late, words in LATE.items():
        steps = [step for step in found if step.late is late]
        if steps:
            title = f"{compiled_title(recording, item)}: decided {words}; no guard checks it"
            yield Line(title, steps[0].moment, "title")
        for step in steps[:_MOST_LATE]:
            yield from step_lines(recording, step)
        if len(steps) > _MOST_LATE:
            more = f"  … {plural(len(steps) - _MOST_LATE, 'more decision')}: symbols"
            yield Line(more, role="dim")


def _of_a_parameter(recording: Recording, found: Guarded) -> Iterator[Line]:
    """Say why the size of a parameter or a buffer is no symbol, where an entry before has another:
    of any other tensor's one is made then, unless nothing is to be dynamic."""
    guard, item = next(iter(found.through), None), found.translation
    if guard is None or not PARAMETER.search(guard.source):
        return
    if item.dynamic is False or not recording.facts.capabilities.dynamo_config:
        return
    source = unscoped(guard.source)
    now = {
        key: size
        for key, size in wanted_by(recording, item).items()
        if key[0] == source and key[1].what == "size" and [size] == [*found.requires]
    }
    for before in compilations(recording):
        if before.code == item.code and before.id < item.id:
            wanted = wanted_by(recording, before)
            for key, size in now.items():
                was = wanted.get(key, size)
                if was != size and isinstance(was, int) and size not in (0, 1):
                    yield Line(f"  it was {was} in {before.compile_id}: {_NUMBERS}", role="dim")
                    return


def _never(recording: Recording, found: Guarded, expression: str) -> Iterator[Line]:
    """Say that a number never was a symbol, which guard has it, and which instruction made that."""
    guards = [each for each in found.through or found.by if each.kind != SHAPE_ENV]
    # Of a tuple another guard knows only how long it is.
    guard = next((each for each in guards if not aspects_of(each)), guards[0] if guards else None)
    if guard is not None and found.requires:
        wants = ", ".join(map(text_of, found.requires))
        name = compiled_title(recording, found.translation)
        free = found.free and any(map(symbolic, found.requires))
        if found.follows in ("size", "stride"):
            text = f"{name}: {expression} follows from the {found.follows}s {wants}"
        elif free and len(found.requires) > 1:
            text = f"{name}: {expression} is {wants}"
        elif free:
            text = f"{name}: {expression} is no symbol of its own: it is {wants}"
        else:
            text = f"{name}: {expression} never was a symbol: {guard.kind} requires {wants}"
        yield Line(text, guard.moment, "title")
        if guard.moment >= recording.attempt(guard.attempt).first_moment:
            cwd = recording.facts.cwd
            for at, site in enumerate(way_to(recording, made_at(recording, guard.moment))):
                line = line_text(site.line, cwd)
                if at == 0:
                    by = instruction_text(site.instruction)
                    yield Line(f"  guarded by {by} at {line}", site.moment)
                else:
                    yield Line(f"    called from {line}", site.moment, "dim")
        for symbol in dict.fromkeys(_NAME.findall(wants)) if free else ():
            if (size := size_of(recording, found.translation, symbol)) is not None:
                yield from size_lines(recording, size)


def size_lines(recording: Recording, size: Size, *, failed: bool = False) -> Iterator[Line]:
    """A size: whether it is fixed or free, why it is a symbol, and what fixed it; and where its
    compilation failed that it did, unless that is known."""
    return _size_lines(recording, size, _left(recording, size), failed)


def _size_lines(
    recording: Recording, size: Size, left: Left | None, failed: bool = False
) -> Iterator[Line]:
    item, symbol = size.translation, size.symbol
    became = () if failed else (*_not_compiled(item),)
    name, title = spelled_inside(recording, item, size.source), compiled_title(recording, item)
    if size.number is not None:
        step = size.number
        yield Line(f"{title}: {name} {decision_text(step)}", step.moment, "title")
        yield from became
        yield from _place("  first used", recording, step)
        if size.zero_one and recording.facts.capabilities.unbacked:
            remedy = "torch._dynamo.decorators.mark_unbacked(tensor, dim)"
            unless = "where something takes the value, that fails or breaks the graph"
            yield Line(f"  torch's remedy: {remedy}; {unless}", role="dim")
        return
    assert symbol is not None
    if left is None:
        headline = _headline(name, symbol)
    else:
        headline = f"{name} is {left.value}: the conditions on sizes together leave nothing else"
    yield Line(f"{title}: {headline}", symbol.born.moment, "title")
    yield from became
    yield from _born(recording, size, symbol)
    if symbol.fixed:
        for step in size.fixed_by:
            yield from step_lines(recording, step, asking=_ASKING)
        yield from _others(recording, size, size.fixed_by)
        return
    asked = [each for each in symbol.conditions if each.kind is not ShapeStepKind.UNDECIDED]
    steps = {step.id: step for step in (*size.fixed_by, *asked)}
    # What made it what it is is told whole.
    causes = {step.id for step in size.fixed_by}
    if left is not None:
        known = [*sizes(recording, item)]
        decided = [decided_by(known, each) for each in left.conditions]
        # All that leave a range have a part in it; of others each says the whole condition.
        behind = [
            step for each in decided for step in (each if all(map(of_range, each)) else each[:1])
        ]
        steps |= {step.id: step for step in behind}
        causes = {step.id for step in behind} or {*steps}
        steps = {id: steps[id] for id in causes}
    # The later ones leave less: what follows from those before is not asked again.
    rest = sorted((id for id in steps if id not in causes), reverse=True)
    told = {*causes, *rest[: max(0, _MOST_CONDITIONS - len(causes))]}
    shown = [steps[id] for id in sorted(told)]
    if more := len(steps) - len(shown):
        words = f"{plural(more, 'earlier condition')} not shown: symbols {symbol.name}"
        yield Line(f"  … {words}", role="dim")
    for step in shown:
        yield from step_lines(recording, step, asking=_ASKING)
    yield from _others(recording, size, shown)


def _others(recording: Recording, size: Size, steps: Sequence[ShapeStep]) -> Iterator[Line]:
    """What the other symbols of these steps stand for."""
    assert size.symbol is not None
    names = {name for step in steps for name in step.symbols} - {size.symbol.name}
    yield from _standing_for(recording, size.translation, size.symbol.born.attempt, names)


def _standing_for(
    recording: Recording, item: Translation, attempt: int, names: Collection[str]
) -> Iterator[Line]:
    """What symbols stand for, or where they come from."""
    spell = partial(spelled_inside, recording, item)
    for symbol in symbols_at(recording, attempt).values():
        if symbol.name in names and symbol.sources:
            sources = ", ".join(map(spell, symbol.sources))
            yield Line(f"  {symbol.name} is {sources}", symbol.born.moment, "dim")
        elif symbol.name in names and symbol.unbacked:
            yield from _place(f"  {symbol.name} is made", recording, symbol.born)


def _headline(name: str, symbol: Symbol) -> str:
    if symbol.fixed:
        return f"{name} is {symbol.value}: it was the symbol {symbol.name}, and was fixed"
    if symbol.value:
        return f"{name} is {symbol.value}: its symbol {symbol.name} was replaced"
    if symbol.unbacked:
        return f"{name} has no value while it is compiled: the symbol {symbol.name}{_range(symbol)}"
    asked = [each for each in symbol.conditions if each.kind is ShapeStepKind.GUARD]
    within = "" if all(map(of_range, asked)) else " within the conditions on it"
    return f"{name} is free{within}: the symbol {symbol.name}{_range(symbol)}"


def _range(symbol: Symbol) -> str:
    low = "" if symbol.low in ("", "-int_oo", "-oo") else symbol.low
    high = "" if symbol.high in ("", "int_oo", "oo") else symbol.high
    if low and high:
        return f", {low} to {high}"
    if low:
        return f", {low} or more"
    return f", at most {high}" if high else ""


def _born(recording: Recording, size: Size, symbol: Symbol) -> Iterator[Line]:
    born = symbol.born
    before = _before(recording, size) if born.why is Why.AUTOMATIC else None
    why = WHY.get(born.why, "")
    if born.why is Why.AUTOMATIC and before is None:
        why = "the compiler made it one; by which of its rules is not recorded"
        if size.source.endswith(_ITEM):
            why = "the tensor holds one number, which torch reads when it takes the tensor"
    if born.why is Why.DYNAMIC and recording.facts.capabilities.dynamo_config:
        why += " (assume_static_by_default is off)"
    if born.why is Why.EXPORT:  # before the first instruction
        yield Line(f"  a symbol because {why}", born.moment)
    elif why:
        yield from _place(f"  a symbol because {why},", recording, born)
    if before is not None:
        yield before
    spell = partial(spelled_inside, recording, size.translation)
    others = [spell(each) for each in symbol.sources if each != size.source]
    if others:
        yield Line(
            f"  the same symbol as {', '.join(others)}: they had the same value, {born.hint} "
            "(duck shaping)",
            born.moment,
        )


def _before(recording: Recording, size: Size) -> Line | None:
    """The newest earlier entry of the same code that requires another number there, or had another
    one when it was compiled, with that."""
    for item in reversed(entries(recording)):
        if item.code != size.translation.code or item.id >= size.translation.id:
            continue
        found = asked_of(recording, item, size.source)
        if found is not None and found.requires and not found.free:
            wants = ", ".join(map(text_of, found.requires))
            return Line(f"    {item.compile_id} requires {wants}", item.first_moment, "dim")
        born = found.size.symbol.born if found and found.size and found.size.symbol else None
        assert size.symbol is not None
        if born is not None and born.hint and born.hint != size.symbol.born.hint:
            text = f"    {item.compile_id} was compiled for {born.hint}"
            return Line(text, item.first_moment, "dim")
    return None


def step_lines(recording: Recording, step: ShapeStep, *, asking: int = 0) -> Iterator[Line]:
    """One step: what it requires, where the program asked, for which node; and so many of torch's
    own frames that asked."""
    if step.kind is ShapeStepKind.REPLACED:
        yield Line(f"  {decision_text(step)}", step.moment, "dim")
        return
    yield from _place(f"  {decision_text(step)},", recording, step)
    if step.stage is Stage.CACHE:
        yield Line(
            "    it came with a graph that torch had compiled before and kept: which line needs it"
            " is not recorded; TORCHINDUCTOR_FORCE_DISABLE_CACHES=1 has it compiled anew",
            step.moment,
            "dim",
        )
    if step.node:
        yield Line(f"    for the node {step.node} = {step.target}", step.moment, "dim")
    for frame in step.asked_by[:asking]:
        yield Line(f"    in torch: {place_text(frame)}", step.moment, "dim")


def decision_text(step: ShapeStep) -> str:
    """What was decided, e.g. `requires Eq(s77, 5)`."""
    match step.kind:
        case ShapeStepKind.REPLACED:
            return f"so {step.text}  ({step.reason})"
        case ShapeStepKind.SHARED:
            same = f"{spelled(step.source)} takes the symbol {step.symbol}"
            return f"{same}: it has the same value, {step.hint} (duck shaping)"
        case ShapeStepKind.ZERO_ONE:
            return f"is {step.written}: a size of 0 or 1 becomes a number (0/1 specialization)"
        case ShapeStepKind.STATIC:
            return f"is {step.written}: the program has marked it as static (mark_static)"
        case ShapeStepKind.ASSERTION:
            return f"asserts {step.written} when the graph runs"
        case ShapeStepKind.RANGE:
            return f"so {step.text}"
        case ShapeStepKind.ASSUMED:
            return f"assumes {step.written}"
        case ShapeStepKind.SUPPRESSED:
            return f"found {step.written}, which nothing keeps so"
        case ShapeStepKind.SYMBOL | ShapeStepKind.UNBACKED:
            return f"makes {step.text}" if step.kind is ShapeStepKind.UNBACKED else step.text
        case _:
            return f"requires {step.written}"


def _place(what: str, recording: Recording, step: ShapeStep) -> Iterator[Line]:
    """What happened, with the program's line and the instruction, or with the later stage."""
    cwd = recording.facts.cwd
    first = recording.attempt(step.attempt).first_moment
    at = ""
    if first <= step.moment <= recording.newest:
        moment = recording.moment(step.moment)
        code = recording.code(recording.frame(moment.frame).code)
        row = code.instructions[moment.ip]
        place = step.program_stack[-1] if step.program_stack else None
        traced = step.stage is Stage.TRACING and not step.late
        if traced and place is None:
            place = PythonFrame(code.filename, row.line or 0, code.name)
        if place is not None:
            here = (place.filename, place.line) == (code.filename, row.line)
            line = UserLine(place, source_line(code, place.line) if here else "")
            at = f" at {line_text(line, cwd)}"
        if traced:
            at = f" by {instruction_text(row)}{at}"
    stage = "" if step.stage is Stage.TRACING else f" by {step.stage}"
    yield Line(f"{what}{stage}{at}", step.moment)
    for frame in reversed(step.program_stack[:-1]):
        yield Line(f"    called from {place_text(frame, cwd)}", step.moment, "dim")


def _undecided(recording: Recording, item: Translation) -> Iterator[Line]:
    """Decisions that depend on data: where they were asked for, and where their symbols come
    from."""
    if item.outcome is Outcome.COMPILED:
        return
    attempts = recording.attempts(item.id)
    steps = recording.shape_steps(None, attempt=attempts[-1].id) if attempts else []
    born = {step.symbol: step for step in steps if step.kind is ShapeStepKind.UNBACKED}
    for step in steps:
        if step.kind is ShapeStepKind.UNDECIDED:
            text = f"{compiled_title(recording, item)}: {step.written} depends on data"
            yield Line(text, step.moment, "title")
            yield from _place("  asked for", recording, step)
            for name in step.symbols:
                if name in born:
                    yield from _place(f"  {name} is made", recording, born[name])
