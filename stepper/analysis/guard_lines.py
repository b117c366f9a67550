"""Guards in words: why one is there, and whether an expression is guarded."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from stepper.analysis.conditions import SHAPE_ENV, decided_by, not_zero_or_one
from stepper.analysis.dependence_lines import named, purpose_lines
from stepper.analysis.entryless import inlined_lines, without_entry
from stepper.analysis.failures import instead
from stepper.analysis.guard_kinds import (
    BY_THE_PROGRAM,
    HIDING,
    aspects_of,
    leaves_of,
    why_needless,
    why_unchecked,
)
from stepper.analysis.guard_uses import GuardUse, Uses, checked, entries, matching
from stepper.analysis.guarded import (
    Guarded,
    arguments_of,
    asked,
    called_otherwise,
    is_made,
    is_made_inside,
    names_of,
)
from stepper.analysis.handed_on import spelled_inside
from stepper.analysis.known_parts import not_known_to_be_there, where_absent
from stepper.analysis.line import Line
from stepper.analysis.process_state import compared_with, of_state
from stepper.analysis.recompile_lines import seen_text
from stepper.analysis.shape_lines import step_lines
from stepper.analysis.shapes import Size, sizes
from stepper.analysis.sources import path_of, spelled
from stepper.analysis.told_once import told_once
from stepper.analysis.walks import compilations
from stepper.analysis.wanted import symbolic
from stepper.client.frame_names import compiled_title
from stepper.client.text import (
    clip,
    function_name,
    instruction_text,
    line_text,
    one_line,
    plural,
    short_name,
    value_line,
)
from stepper.model.datum import UNKNOWN, text_of
from stepper.model.trace import Guard, Outcome, Translation
from stepper.recording.reader import Recording

_OF_TENSORS = "TENSOR_MATCH"
_BY_PLACE = re.compile(r"\[-?\d+\]\Z")
_OF_OBJECT = re.compile(r"type=<class '(?!collections\.)[\w.]+\.(\w+)'>")
_OTHER_SEQUENCE = re.compile(r"type=<class '\w+\.")
_MOST = 10
_TEXT = 200
_FORMS = "a guard's number, a kind, an expression, or KIND:EXPRESSION, with * and ?"


def guard_lines(recording: Recording, wanted: str, entry: str = "") -> Iterator[Line]:
    """Why guards are there; see `stepper.analysis.guard_uses.matching` for how they are named."""
    found = matching(recording, wanted, entry)
    uses = Uses(recording)
    for number, each in enumerate(found[:_MOST]):
        if number:
            yield Line("")
        yield from use_lines(recording, uses.of(each))
    if not found:
        where = f" in {entry}" if entry else ""
        yield Line(f"no guard of an entry{where} is {wanted!r}: give {_FORMS}")
    elif len(found) > _MOST:
        more = plural(len(found) - _MOST, "more guard")
        yield Line("")
        yield Line(f"… {more}: give KIND:EXPRESSION, or the entry, to see fewer", role="dim")


def use_lines(recording: Recording, use: GuardUse) -> Iterator[Line]:
    """Why a guard is there, and what is known of how often it ran."""
    guard, item, cwd = use.guard, use.translation, recording.facts.cwd
    moment = guard.moment
    name = compiled_title(recording, item)
    yield Line(f"{named(guard)}  of {name}  (guard {guard.id})", moment, "title")
    if use.kind is not None:
        yield Line(f"  protects against {use.kind.protects}", moment)
        yield Line(f"    ({use.kind.fact})", moment, "dim")
    else:
        yield Line("  what it protects against is not in stepper's table yet", moment, "dim")
    for part in use.checks:
        yield Line(f"  checks {clip(short_name(one_line(part)), _TEXT)}", moment)
    if guard.kind == SHAPE_ENV:
        yield from _decisions(recording, use)
        yield from purpose_lines(recording, guard)
        yield Line(f"  {_runs(use)}", moment)
        return
    origin = use.origin
    if origin.instruction is not None:
        value = f", for {value_line(origin.value)}" if origin.value is not None else ""
        yield Line(f"  installed by {instruction_text(origin.instruction)}{value}", moment)
    else:
        yield Line("  installed before the first instruction", moment)
    if origin.line is not None:
        yield Line(f"  because of {line_text(origin.line, cwd)}", moment)
    if origin.called_from is not None:
        yield Line(f"    called from {line_text(origin.called_from, cwd)}", moment)
    yield from purpose_lines(recording, guard)
    yield Line(f"  {_runs(use)}", moment)
    if use.implied is not None:
        by = use.implied.by
        yield Line(f"  implied by {named(by)} (guard {by.id}): {use.implied.why}", by.moment)
    else:
        yield Line("  not implied by another guard of this entry, as far as kinds tell", role="dim")


def _decisions(recording: Recording, use: GuardUse) -> Iterator[Line]:
    """Where a condition on sizes comes from, and what it saw."""
    none = True
    known = [*sizes(recording, use.translation)]
    for condition in use.guard.code:
        for step in decided_by(known, condition):
            none = False
            yield from step_lines(recording, step)
        born = not_zero_or_one(known, condition)
        if born is not None:
            none = False
            yield Line(
                f"  2 or more because a size of 0 or 1 would have become a number: {born.symbol} is"
                " a symbol (0/1 specialization)",
                born.moment,
            )
    if none and use.guard.code:
        yield Line("  no decision is recorded from which it comes", role="dim")
    for text, count in Counter(map(seen_text, use.refused)).most_common(_MOST):
        yield Line(f"  failed with {text}" + (f", {count} times" if count > 1 else ""))


def _runs(use: GuardUse) -> str:
    if why := why_unchecked(use.guard) or why_needless(use.guard):
        return f"runs no check: {why}"
    if use.recorded and not use.lookups:
        return "not run in a recorded lookup: there is none after the entry was made"
    if not use.lookups:
        return "no lookup of this entry is recorded: --lookups records how often it runs and fails"
    if not leaves_of(use.guard.kind):
        return "runs no check of its own"
    if use.died and not use.runs:
        return "not run in a recorded lookup: its object had died, and the entry with it"
    if not use.runs:
        return "not run in a recorded lookup: others failed before it, or it made no check"
    text = f"run in {plural(use.runs, 'lookup')}, failed in {use.failures}"
    if use.died:
        text += f"; in {use.died} more its object had died, and the entry with it"
    if not use.timed:
        return f"{text}; its time is not recorded"
    if use.of_nanoseconds:
        share = 100 * use.nanoseconds / use.of_nanoseconds
        each = use.nanoseconds / use.timed / 1000
        text += f"; {each:.2f} µs each, {share:.0f} % of the guards' time"
    return text


def _state_lines(
    recording: Recording, expression: str, state: list[tuple[Translation, Guard]]
) -> Iterator[Line]:
    for id, item in {item.id: item for item, _ in state}.items():
        guards = [guard for each, guard in state if each.id == id]
        besides = compared_with(expression, guards[0])
        title = f"{compiled_title(recording, item)}: {expression} is guarded{besides}"
        yield Line(title, item.first_moment, "title")
        for guard in guards:
            yield Line(f"  {named(guard)}", guard.moment)


def guarded_lines(recording: Recording, expression: str, function: str = "") -> Iterator[Line]:
    """Whether an expression is guarded, entry by entry.

    Args:
        recording: what is asked.
        expression: what may be guarded, as a person writes it.
        function: only in entries of functions with this in their name; empty: in all.
    """
    yield from inlined_lines(recording, function)
    state = of_state(recording, expression, function)
    if state:
        yield from _state_lines(recording, expression, state)
        return
    found = asked(recording, expression, function)
    if found is None:
        yield Line(
            f"{expression!r} is nothing that can be asked about: give a name with attributes and "
            "constant indices, e.g. self.fc.weight or x.shape[0]"
        )
        return
    if not found and function:
        yield from without_entry(recording, function)
        return
    if not entries(recording):
        yield Line(_nothing_compiled(recording))
        return
    known = [each for each in found if each.known]
    answers = ((each.translation, _guarded(recording, expression, each)) for each in known)
    yield from told_once(answers)
    others = len(found) - len(known)
    if not known:
        yield from _not_near(recording, expression, found)
    elif others:
        yield Line(f"no guard of {plural(others, 'other entry')} comes near it", role="dim")
    if not any(each.near for each in known):
        by = [each.translation for each in known]
        yield from _elsewhere(recording, expression, by)


def _nothing_compiled(recording: Recording) -> str:
    """What is said where no entry was made."""
    outcomes = {item.outcome for item in compilations(recording)}
    if not outcomes:
        return "no compilation is recorded, so no guard is"
    if outcomes & {Outcome.RUNNING, Outcome.CUT_OFF}:
        return "no compilation is over so far, so no guard is"
    given_up = "; frames were given up: why-break says why" * (Outcome.SKIPPED in outcomes)
    return f"no compilation made an entry, so no guard is{instead(recording)}{given_up}"


def _elsewhere(recording: Recording, expression: str, by: list[Translation]) -> Iterator[Line]:
    """Where an attribute of this name is guarded in the entry of a function that one of these
    frames called, of something else: as where a method is compiled by itself that is called behind
    a graph break. Without such frames, nothing has the name: then in whichever entry."""
    path = path_of(expression)
    if path is None:
        return
    for item, guard, root, stands_for in called_otherwise(recording, path, by)[:_MOST]:
        name = spelled_inside(recording, item, guard.source)
        unchecked = why_unchecked(guard)
        guards = "makes no check of" if unchecked else "guards"
        comes = f"not guarded: {unchecked}" if unchecked else "guarded"
        yield Line(
            f"  but {compiled_title(recording, item)} {guards} {name}: if its"
            f" {spelled_inside(recording, item, root)} is {stands_for}, {expression} is {comes}",
            guard.moment,
        )


def _not_near(recording: Recording, expression: str, found: list[Guarded]) -> Iterator[Line]:
    """No guard comes near it; but the same object may be called otherwise in what was compiled."""
    path = path_of(expression)
    assert path is not None
    name = path.root
    items = [each.translation for each in found]
    made = sum(is_made(recording, item, name) for item in items)
    if made:
        yield _is_made_by("the function itself", name, made)
        return
    own = next((item for item in items if item.name.rpartition(".")[2] == name), None)
    if own is not None and path.steps:
        called = ", ".join(sorted(arguments_of(recording, own))) or "no arguments"
        yield Line(
            f"{name} is the compiled function itself, which its guards do not look at: an entry is "
            f"of its code, and its defaults are asked about by its arguments' names: {called}"
        )
        return
    named = sum(name in names_of(recording, item) for item in items)
    if named:
        yield Line(
            f"{expression} is not guarded: no guard of {plural(named, 'entry')} looks at it, at a "
            "part of it, or at what leads to it"
        )
        return
    inside = sum(is_made_inside(recording, item, name) for item in items)
    if inside:
        yield _is_made_by("an inlined function", name, inside)
        return
    yield Line(
        f"nothing is called {name} in what was compiled: if that is called otherwise there, ask by "
        "that name; if it is not used there, nothing looks at it"
    )
    told = {item.name: item for item in reversed(items)}
    for function, item in [*reversed(told.items())][:_MOST]:
        called = ", ".join(sorted(arguments_of(recording, item))) or "no arguments"
        yield Line(f"  {function_name(function)} has {called}", role="dim")


def _is_made_by(what: str, name: str, entries: int) -> Line:
    return Line(
        f"{name} is made by {what} ({plural(entries, 'entry')}), so no guard looks at it: "
        "ask about what it is made from"
    )


def _guarded(recording: Recording, expression: str, found: Guarded) -> Iterator[Line]:
    item = found.translation
    name = compiled_title(recording, item)
    path = path_of(expression)
    if not found.meant or path is None:
        absent = where_absent(recording, found, path)
        yield Line(f"{name}: {absent or _verdict(expression, found)}", item.first_moment, "title")
        if not absent and (text := not_known_to_be_there(recording, found, path)):
            yield Line(f"  {text}", item.first_moment)
    else:
        meant = spelled_inside(recording, item, found.meant)
        alike = f", and {plural(found.alike, 'other')} alike" if found.alike else ""
        of = f"{meant}{expression.removeprefix(path.root)}"
        yield Line(f"{name}: {_verdict(of, found)}", item.first_moment, "title")
        text = f"  {path.root} of an inlined function is {meant} of the compiled one{alike}"
        yield Line(text, item.first_moment)
        if path.root in names_of(recording, item):
            own = f"  {expression} of the compiled one itself is not guarded"
            yield Line(own, item.first_moment)
    if found.instance and path is not None:
        text = f"  {path.root} is the class of {spelled_inside(recording, item, found.instance)}"
        yield Line(text, item.first_moment)
    for guard in found.taken_back[:_MOST]:
        at_the_end = guard.withdrawn == item.last_moment
        how = (
            "left out when the guards were built: a guard_filter_fn or caching_precompile does so"
            if at_the_end
            else "taken back while the function was translated"
        )
        yield Line(f"  {named(guard)} was made, and {how}", guard.withdrawn)
    for label, guards in (
        ("", found.by), ("", found.through), ("whether it is there: ", found.presence),
        ("read in it: ", found.getter.reads if found.getter else ()), ("a part: ", found.parts),
        ("on the way: ", found.around),
    ):  # fmt: skip
        told: dict[str, int | None] = {}  # several guards of one entry can check the same
        for guard in guards:
            checks = "; ".join(checked(guard, found.entry_wants))
            text = f"{named(guard)}  {clip(short_name(one_line(checks)), _TEXT)}"
            told.setdefault(f"  {label}{text}".rstrip(), guard.moment)
        for text, moment in [*told.items()][:_MOST]:
            yield Line(text, moment)
        if len(told) > _MOST:
            yield Line(f"  … {len(told) - _MOST} more", role="dim")


def _in_a_row(words: Sequence[str]) -> str:
    """Words as a sentence has them."""
    *before, last = words
    return f"{', '.join(before)} and {last}" if before else last


def _wants(found: Guarded) -> str:
    text = ", ".join(map(text_of, found.wants))
    return f"[{text}]" if found.whole else text


def _following(expression: str, found: Guarded) -> str:
    """What is said when no guard compares a tensor's property, but what it follows from."""
    several = found.follows in ("size", "stride")
    of = f"{found.follows}s" if several else found.follows
    wants = _wants(found)
    if found.never:
        return f"{expression} is guarded: it follows from the {of} {wants}, with which it is False"
    if found.free:
        return f"{expression} follows from the {of} {wants}: it is free as far as these are"
    if not wants:
        return f"{expression} is guarded: it follows from the {of}, and must be as it was"
    return f"{expression} is guarded: it follows from the {of}, which must be {wants}"


def _fixed(size: Size) -> str:
    """How it came to be a number."""
    if size.static:
        return ", since it is marked as static (torch._dynamo.mark_static)"
    if size.symbol is None:
        return ", since a size of 0 or 1 becomes a number"
    return f": its symbol {size.symbol.name} was fixed (why-shape says by what)"


def _verdict(expression: str, found: Guarded) -> str:
    near = found.by or found.through or found.parts or found.inputs
    if found.unchecked and not near:
        return f"{expression} is not guarded: {why_unchecked(found.unchecked[0])}"
    taken = f"; its value is an input of the graph ({', '.join(found.inputs)})"
    inputs = taken if found.inputs else ""
    where = "sizes" if found.through else "it"
    kept = f" within the conditions on {where}" if found.conditions else ""
    if found.size is not None and found.size.value:
        return f"{expression} is guarded: it must be {found.size.value}{_fixed(found.size)}"
    if found.left is not None:
        together = "which is all that the conditions on sizes together leave"
        return f"{expression} is guarded: it must be {found.left.value}, {together}"
    symbol = found.size.symbol if found.size is not None else None
    if found.through and not found.wants and symbol is not None:  # TENSOR_MATCH compares no size
        return f"{expression} is free{kept}: it is the symbol {symbol.name}"
    if found.follows and found.through:
        return _following(expression, found)
    if found.getter is not None and not found.through and found.value == UNKNOWN:
        symbol = found.size.symbol if found.size is not None else None
        if symbol is not None:
            return f"{expression} is free: {found.getter.method} gives the symbol {symbol.name}"
        missed = ", but not that something is not there which it looks for"
        but = missed if found.getter.missed else ""
        if found.getter.code is None:
            gives = f"{expression} is what {found.getter.method} gives"
            return f"{gives}: what that reads is guarded{but}"
        return f"{expression} is a property: its code is guarded, and what that reads{but}"
    if found.whole and found.through and not found.wants:
        return f"what {expression} must be is not recorded as a whole: ask about one of its sizes"
    symbols = [text_of(each) for each in found.wants if symbolic(each)]
    if found.through and found.free and len(symbols) < len(found.wants):
        are = "are" if len(symbols) > 1 else "is"
        return (
            f"{expression} is guarded{kept}: it must be {_wants(found)}, of which "
            f"{' and '.join(symbols)} {are} free"
        )
    if found.through and found.free:
        return f"{expression} is free{kept}: it is the symbol {_wants(found)}"
    if found.through:
        return f"{expression} is guarded: it must be {_wants(found) or 'as it was'}"
    if found.by and found.inputs and found.size is not None and found.size.symbol is not None:
        only = f", and only its {' and '.join(found.aspects)} is guarded" if found.aspects else ""
        return f"{expression} is free{kept}: it is the symbol {found.size.symbol.name}{only}"
    if found.by and found.aspects:
        are = "are" if len(found.aspects) > 1 else "is"
        parts = ", and parts of it" if found.parts else ""
        return f"only the {_in_a_row(found.aspects)} of {expression} {are} guarded{parts}{inputs}"
    if found.by and all(each.kind == "DUPLICATE_INPUT" for each in found.by):
        return f"{expression} is guarded: it must be the same object{inputs}"
    if (
        found.by
        and any(each.kind == _OF_TENSORS for each in found.by)
        and all(each.kind == _OF_TENSORS or aspects_of(each) for each in found.by)
    ):
        return f"{expression} is guarded as to what kind of tensor it is, not its elements{inputs}"
    if found.by:
        must = f": it must be {text_of(found.value)}" if found.value != UNKNOWN else ""
        if found.inherited:
            hidden = "; that a class derived from that gets its own is not seen"
            return f"{expression} is guarded in its base class{must}{hidden}{inputs}"
        return f"{expression} is guarded{must}{inputs}"
    if found.inputs:
        return f"{expression} is not guarded{inputs}"
    if found.presence and all(each.kind == HIDING for each in found.presence):
        return f"{expression} is guarded: no attribute of its own may hide the one of its class"
    if found.presence:
        return f"only whether {expression} is there is guarded, not its value"
    if found.parts:
        return f"only parts of {expression} are guarded"
    if found.is_call and not found.taken_back:
        return (
            f"{expression} is what a call gives, which no guard compares: whether what is guarded "
            "decides it cannot be said; ask about what it is computed from"
        )
    if found.taken_back:
        return f"{expression} is not guarded: no guard that was made on it is checked"
    if found.identical is not None:
        of = spelled(found.identical.source)
        return f"only the identity of {of} is guarded, not {expression}"
    by_the_program = next((each for each in found.around if each.kind in BY_THE_PROGRAM), None)
    if by_the_program is not None:
        of, what = spelled(by_the_program.source), BY_THE_PROGRAM[by_the_program.kind]
        return (
            f"whether {expression} is guarded is not recorded: of {of}, {what} compared as a "
            "whole, and it may be a part of that"
        )
    if (kind := _says_its_items(expression, found.around)) is not None:
        return (
            f"{expression} is not guarded itself: the recorded guards look only at what leads to "
            f"it, and which item that is its class says, {kind}: ask about what that reads"
        )
    itself = "itself"
    if _BY_PLACE.search(expression) and any(map(_of_a_class, found.around)):
        itself = "by its place (of a named tuple ask by the field's name)"
    return (
        f"{expression} is not guarded {itself}: the recorded guards look only at what leads to it"
    )


def _says_its_items(expression: str, around: Sequence[Guard]) -> str | None:
    """The class, not one of Python's own, of what an item is asked of; None: no guard is on it."""
    owner, bracket, _ = expression.rpartition("[")
    for guard in around:
        if bracket and guard.kind == "TYPE_MATCH" and spelled(guard.source) == owner:
            for code in guard.code:
                if known := _OF_OBJECT.search(code):
                    return known[1]
    return None


def _of_a_class(guard: Guard) -> bool:
    """Whether a guard is on the length of a sequence that is no list or tuple of Python's own."""
    return guard.kind == "SEQUENCE_LENGTH" and any(map(_OTHER_SEQUENCE.search, guard.code))
