"""What to change where a size of a tensor changes from call to call.

A size becomes a symbol by itself at its second value, and with that entry the matter is over. Where
it does not, something has made it a number: the program needs its value, it belongs to a parameter,
it is 0 or 1, it is marked as static, or nothing is to be dynamic. Each of these has its own remedy,
and those of the others are in vain; so each is told only where the recording shows it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from stepper.analysis.advice import Advice, Changing, Entries, Rule, compiler
from stepper.analysis.compared_sizes import compared_at, decided_by
from stepper.analysis.conditions import LEAVES, holds, left_by
from stepper.analysis.guard_uses import guards_of
from stepper.analysis.handed_on import Spelling
from stepper.analysis.marks import (
    is_left_out,
    one_symbol_with,
    others_to_mark,
    refuses_mark,
    to_mark,
    whole_of,
)
from stepper.analysis.needed import asks_whether_equal, needed_by, place_of
from stepper.analysis.origins import origin_of
from stepper.analysis.recompile_series import History, Series
from stepper.analysis.recompiles import STRIDE, changes_of
from stepper.analysis.shapes import Size, cause_of, same, size_among, sizes
from stepper.analysis.sites import in_torch
from stepper.analysis.sources import FROM_NUMPY, PARAMETER, path_of, unscoped
from stepper.analysis.unmet_guards import Failure
from stepper.analysis.wanted import Wanted, wants_by
from stepper.client.text import function_name, place_text
from stepper.model.change import Change, Dynamic, MarkSize, Setting
from stepper.model.datum import UNKNOWN, Datum, number, text_of
from stepper.model.lookup import Aspect
from stepper.model.shapes import ShapeStep, ShapeStepKind, Why
from stepper.model.trace import Outcome, Translation
from stepper.recording.reader import Recording
from stepper.support.pythons_own import is_installed

_SPECIAL = (0, 1)
_ANOTHER = frozenset({"value", "type", "length", "dictionary", "identity"})
"""What changes of a thing where something else is in its place, or is there for the first time."""
_BUILTIN_MODULE = "builtin_nn_module"
"""The end of Dynamo's names for the scopes of guards on torch's own modules."""
_SIZE = re.compile(r"size\((\d+)\)")
_STRIDES = re.compile(r"\.stride\(\)\[(\d+)\]")
_INNER = "._"
"""In the source of what nobody hands over, or could mark: an inner tensor of a nested one, say."""
_PART = re.compile(r"\._(min|max)_seqlen_tensor\Z")
"""The tensor of which a size is the length of a nested tensor's shortest or longest part."""
_WHICH = {"min": "shortest", "max": "longest"}
_OFFSET = ".storage_offset()"
_EQUAL = "Eq("
_NAME = re.compile(r"[a-z]\w*")

NOTHING_DYNAMIC = "With dynamic=False, or automatic_dynamic_shapes off,"
"""How advice begins where nothing is to be dynamic: which of both it is the compiler's settings do
not say."""
PARAMETERS = Setting("force_parameter_static_shapes", False)
MODULES = Setting("force_nn_module_property_static_shapes", False)


def _never_a_symbol(
    history: History, tensor: str = "", dim: int | str = "", more: str = "", asked: str = ""
) -> str:
    """What can be said to one who wants a size to be a symbol that is 0 or 1; `tensor`: of what can
    be marked; `more`: what else is to be done; `asked`: who asks for its value."""
    text = (
        f"{compiler(history)} makes no symbol of a size 0 or 1, also where sizes are symbols, and "
        "so has an entry for it alone."
    )
    if not history.capabilities.unbacked or not tensor:
        return text
    if asked:
        mark = f"torch._dynamo.decorators.mark_unbacked({tensor}, {dim})"
        return f"{text} That is the price: {mark} would not do, since {asked}, which takes a value."
    return (
        f"{text} Torch's remedy: {_mark_unbacked(tensor, dim, more)}. Where something takes the "
        "size's value, that fails or breaks the graph."
    )


def _mark_unbacked(tensor: str, dim: int | str, more: str) -> str:
    return f"torch._dynamo.decorators.mark_unbacked({tensor}, {dim}) before the first call{more}"


def _in_short(it: Changing, advice: Advice, tensor: str, dim: int | str, more: str = "") -> Advice:
    """Advice on a size of 0 or 1, with how it is told once it is known that there is no symbol."""
    if not it.history.capabilities.unbacked or not tensor:
        return advice
    again = f"Likewise: {_mark_unbacked(tensor, dim, more)}."
    return msgspec.structs.replace(advice, again=again)


def from_numpy(series: Series) -> bool:
    """Whether it is an array of numpy, or a number, which Dynamo takes as a tensor."""
    return FROM_NUMPY in series.source


def of_numpy(it: Changing) -> str:
    """Which of these it is, before its name; empty: neither, or that is not recorded."""
    if not from_numpy(it.series):
        return ""
    guards = itertools.chain.from_iterable(
        guards_of(it.recording, each) for each in it.entries.made
    )
    origins = (
        origin_of(it.recording, guard)
        for guard in guards
        if unscoped(guard.source) == it.series.source
    )
    types = {each.value.type for each in origins if each.value is not None}
    if not types:
        return ""
    return "the array " if types == {"ndarray"} else "the numpy number "


def _parameter(it: Changing) -> Advice | None:
    """A size of a parameter or a buffer, or one that has to be the same."""
    source = _parameter_like(it)
    settings = settings_of(it)
    if not settings:
        return None
    with_it = "" if source == it.series.source else f", and {it.name} changes with it"
    fact = f"{it.spell(source)} is one{with_it}"
    text = (
        "The sizes of a module's parameters and buffers, and of any Parameter, are numbers, "
        "whether they are marked or not."
    )
    if it.newest.dynamic is False:
        return it.advise(
            f"{text} Symbols they are with {' and '.join(map(str, settings))}, where neither "
            "dynamic=False is given nor automatic_dynamic_shapes off.",
            fact,
        )
    if len({*it.series.values}.difference(_SPECIAL)) < 2:
        return it.advise(
            f"{text} 0 and 1 are numbers with {' and '.join(map(str, settings))}, too: let it have "
            "one size from the first call on, or accept an entry for each.",
            fact,
        )
    if it.series.times == 1:
        dynamic = Dynamic(it.history.capabilities.compile)
        return it.advise(
            f"{text} Give it its size before the first call, or accept an entry for each of the "
            f"two. If more sizes are to come: with {' and '.join(map(str, settings))} they are "
            f"symbols from the second one on, and with {dynamic} from the first.",
            fact,
        )
    return it.advise(
        f"{text} {' and '.join(map(str, settings))}: with that they are symbols, as those of other "
        "tensors.",
        fact,
        settings,
    )


def _parameter_like(it: Changing) -> str:
    """The source of a parameter whose size changes in the same way; empty: there is none."""
    sources = [it.series.source, *it.series.likewise]
    for each in it.history.series:
        if each.aspect.what == "size" and _together(each.values, it.series.values):
            sources += [each.source, *each.likewise]
    return next((each for each in dict.fromkeys(sources) if is_parameter(it, each)), "")


def _together(one: tuple[Datum, ...], other: tuple[Datum, ...]) -> bool:
    """Whether two sizes change in the same way, as long as both are known."""
    both = min(len(one), len(other))
    return both > 1 and one[:both] == other[:both]


def is_parameter(it: Changing, source: str) -> bool:
    """Whether a tensor was a parameter or a buffer of a module, or a Parameter, in an entry."""
    if PARAMETER.search(source):
        return True
    return any(
        failure.origin is not None
        and failure.origin.value is not None
        and failure.origin.value.type == "Parameter"
        for each in it.history.recompilations
        if each.nearest is not None
        for failure in each.nearest.failures
        if unscoped(failure.source) == source
    )


def settings_of(it: Changing) -> tuple[Setting, ...]:
    """The settings with which the sizes of a parameter, or one that changes with them, are symbols:
    those of torch's own modules are numbers by one more. Empty: it is none."""
    source = _parameter_like(it)
    if not source or not it.history.capabilities.dynamo_config:
        return ()
    path = path_of(source)
    for item in it.entries.made[-1:]:
        for attempt in it.recording.attempts(item.id)[-1:]:
            for guard in it.recording.guards(None, attempt=attempt.id):
                guarded = path_of(guard.source) if guard.scope.endswith(_BUILTIN_MODULE) else None
                if guarded is not None and path is not None and same(guarded, path):
                    return PARAMETERS, MODULES
    return (PARAMETERS,)


def _needed(it: Changing) -> Advice | None:
    """A size that was a symbol in the newest entry that was made for it, until the program needed
    its value."""
    known = it.sizes_until_it_changed
    needed = _asked_for(it, known[-1]) if known and not _of_a_new_one(it, known[-1]) else None
    cause = cause_of(known[-1]) if needed else None
    if needed is None or cause is None:
        return None
    return msgspec.structs.replace(it.advise(*needed), asked_at=cause.moment)


def _needed_elsewhere(it: Changing, entry: str, symbol: str) -> Advice | None:
    """A size that is a symbol in the newest entry, and of which an earlier one needed the value:
    there a mark is refused, and a symbol from the first call on saves nothing."""
    known = it.sizes_until_it_changed
    known += [
        size for size in it.sizes[len(known) :] if _failed_on(it, size.translation.compile_id)
    ]
    for size in reversed(known):
        if is_left_out(it, entry, size) or _of_a_new_one(it, size):
            continue
        if needed := _asked_for(it, size):
            text, fact = needed
            return it.advise(text, f"{fact}, though {entry} has it as {symbol}")
    return None


def _of_a_new_one(it: Changing, size: Size) -> bool:
    """Whether a size that was a symbol was made the number that a tensor has which no entry before
    had seen, as a mask that was None until then. What is new is a number at first, and is a symbol
    when it changes, as the size then is: so nothing needs the value itself."""
    cause = cause_of(size)
    if cause is None or not asks_whether_equal(it.recording, cause):
        return False
    for again in it.history.recompilations:
        if again.translation.id != size.translation.id or again.nearest is None:
            continue
        changes = changes_of(again.nearest)
        new = [path_of(unscoped(each.source)) for each in changes if each.by.what in _ANOTHER]
        equal = (
            path_of(source)
            for (source, aspect), has in again.find_made().items()
            if aspect.what == "size" and text_of(has) == size.value
        )
        return any(each and path and each.leads_to(path) for path in equal for each in new)
    return False


def _failed_on(it: Changing, entry: str) -> bool:
    """Whether a later call did not fit an entry in this."""
    return any(
        unscoped(failure.source) == it.series.source and it.series.aspect == by.aspect
        for each in it.history.recompilations[it.series.newest + 1 :]
        for tried in each.tried
        if tried.entry == entry
        for failure in tried.failures
        for by in failure.differences
    )


def _asked_for(it: Changing, size: Size) -> tuple[str, str] | None:
    """See `needed_by`; None: the size was no symbol, or nothing needed its value."""
    cause = cause_of(size) if size.symbol is not None and size.value else None
    if cause is None:
        return None
    return needed_by(it.recording, size, cause, it.what_changes)


def _static(it: Changing) -> Advice | None:
    """A size that the program has marked as static."""
    entries = [size.translation.compile_id for size in it.sizes if size.static]
    if not entries:
        return None
    return it.advise(
        f"{it.what_changes} is marked as static (torch._dynamo.mark_static), and so is a "
        f"number also with dynamic=True: leave the mark out, or outweigh it by "
        f"torch._dynamo.mark_dynamic({it.name}, {it.dim}){it.and_others}.",
        f"it is marked in {', '.join(entries)}",
        (_mark(it, "mark_dynamic"),),
    )


def _zero_one(it: Changing) -> Advice | None:
    """A size of 0 or 1, which has an entry of its own whatever sizes are marked."""
    entries = [size.translation.compile_id for size in it.sizes_until_it_changed if size.zero_one]
    if not entries and not any(value in _SPECIAL for value in it.series.values):
        return None
    others = {*it.series.values}.difference(_SPECIAL)
    if it.newest.dynamic is False and len(others) > 1 and not it.as_symbol[0]:
        return None  # they would be as many entries without it
    fact = f"it is a number in {', '.join(entries)}" if entries else ""
    if it.left_by:
        return it.advise(
            f"{_never_a_symbol(it.history)} {it.name} is what {it.left_by} goes on with after its "
            f"graph break, so nobody can mark it before. Remove that break: why-break {it.left_by} "
            "says how.",
            fact or "the function goes on after a graph break",
        )
    if effect := it.replaced_inside:
        return it.advise(
            f"{_never_a_symbol(it.history)} {it.name} is set by the compiled function itself"
            f"{it.place_inside(effect)}, so no mark from before the first call is on it: begin "
            "with one of which the size is 2 or more, or accept the entry.",
            fact,
        )
    if asked := _asked(it, it.sizes, it.what_changes) or _compared(it):
        return it.advise(_never_a_symbol(it.history, it.name, it.dim or 0, asked=asked), fact)
    tensor, dim = to_mark(it)
    more = others_to_mark(it)
    if expanded := _expanded(it):
        more += (
            f"; and hand over {expanded}.contiguous(): its strides are others where it is expanded"
        )
    more += _where_own(it)
    can_be_tried = (_mark(it, "mark_unbacked"),) if it.history.capabilities.unbacked else ()
    text = _never_a_symbol(it.history, tensor, dim, more)
    advice = it.advise(text, fact, can_be_tried if tensor else ())
    return _in_short(it, advice, tensor, dim, more)


def _expanded(it: Changing) -> str:
    """A tensor that changes so, and of which one call has an expanded one, of stride 0; empty:
    there is none. A symbol for its size does not save that entry."""
    sources = {it.series.source, *it.series.likewise}
    for each in it.history.recompilations:
        for failure in each.nearest.failures if each.nearest is not None else ():
            strides = [found for found in failure.differences if found.what == "stride"]
            if unscoped(failure.source) in sources and any(
                0 in (found.expected, found.actual) for found in strides
            ):
                return it.spell(failure.source)
    return ""


def _asked(it: Changing, known: list[Size], name: str) -> str:
    """What the program itself asks of a size where it is a symbol; empty: nothing is seen."""
    cwd = it.recording.facts.cwd
    for size in known:
        for step in size.symbol.conditions if size.symbol is not None else ():
            # Operators mostly do without an answer.
            if step.kind is ShapeStepKind.GUARD and step.user_stack and not step.target:
                return f"{place_text(step.user_stack[-1], cwd)} asks for {step.expression}"
        if found := decided_by(it.recording, size, name):
            return f"{place_text(found[0], cwd)} asks for {found[1]}"
    return ""


def _compared(it: Changing) -> str:
    """How the program compares a size, which is a number in each entry, with a constant; empty: it
    is not seen to."""
    name = unscoped(it.series.source)
    for item in it.entries.made if name.isidentifier() else ():
        if found := compared_at(it.recording, item, name, it.dim or 0):
            place, how = found
            return f"{place_text(place, it.recording.facts.cwd)} asks whether it is {how}"
    return ""


def _marked(it: Changing) -> bool:
    """Whether the program has made the size a symbol, so what is left is none that would help."""
    known = (Why.AUTOMATIC, Why.UNKNOWN, Why.MARKED_STATIC)
    return any(size.why not in known for size in it.sizes)


def _nothing_dynamic(it: Changing) -> Advice | None:
    """A size of a program that has said that nothing is dynamic."""
    if it.newest.dynamic is not False or it.as_symbol[0] or _marked(it):
        return None
    mark = f"{_mark_words(it)}, or " if _can_be_marked(it) else ""
    if it.history.resume_of:
        mark = f"remove the graph break in {function_name(it.history.resume_of)}, or "
    return it.advise(
        f"{NOTHING_DYNAMIC} each size is compiled by itself that is not marked: {mark}leave that "
        f"out, and {compiler(it.history, begins=False)} makes {it.what_changes} a symbol when it "
        "is another one. Where that is on purpose, as with sizes padded to a few, an entry for "
        "each is the price.",
        f"{it.newest.compile_id} was made so",
        _ways(it),
    )


def dynamic_later(it: Changing) -> Advice | None:
    """What is a symbol in an entry that was compiled where all sizes are to be, behind one that was
    not."""
    symbol, entry = it.as_symbol
    known = it.sizes if it.what == "size" else it.sizes_of(it.series.source)
    made = next((size for size in known if size.translation.compile_id == entry), None)
    if not symbol or made is None or made.why is not Why.DYNAMIC or it.unmet:
        return None
    before = [
        item
        for item in it.entries.made
        if item.id < made.translation.id and item.dynamic is not True
    ]
    if not before:
        return None
    dynamic = Dynamic(it.history.capabilities.compile)
    setting = " (or assume_static_by_default off)" if it.history.capabilities.dynamo_config else ""
    return it.advise(
        f"{it.changing} is a symbol in {entry}, which was compiled with dynamic=True{setting}, and "
        f"a number in {before[-1].compile_id}, which was compiled without that: have it so at the "
        f"first call: {dynamic}.",
        f"{entry} was made so, and {before[-1].compile_id} was not",
        (dynamic,),
    )


def _automatic(it: Changing) -> Advice | None:
    """A size that is a symbol in a later entry."""
    symbol, entry = it.as_symbol
    if not symbol:
        return None
    if it.unmet:
        return it.one_more(entry)
    if _marked(it):
        return None
    if needed := _needed_elsewhere(it, entry, symbol):
        return needed
    return it.advise(
        f"{compiler(it.history)} has made {it.what_changes} a symbol by itself. To save "
        f"the entry for its first size: {_how(it)}.",
        f"{entry} has it as {symbol}",
        _ways(it),
    )


def _not_made(it: Changing) -> Advice | None:
    """A size for which no entry could be made again, so that it is a number still."""
    if not it.refused or _marked(it):
        return None
    return it.advise(
        f"Make {it.what_changes} a symbol: {_how(it)}.",
        f"no entry was made after {it.entries.made[-1].compile_id}" if it.entries.made else "",
        _ways(it),
    )


def _mark_words(it: Changing) -> str:
    tensor, dim = to_mark(it)
    return f"torch._dynamo.{_how_to_mark(it)}({tensor}, {dim}){others_to_mark(it)}"


def _how_to_mark(it: Changing) -> str:
    return "maybe_mark_dynamic" if refuses_mark(it) else "mark_dynamic"


def _mark(it: Changing, how: str) -> MarkSize:
    history = it.history
    place = (history.name, history.filename, history.line)
    whole = whole_of(it, it.series.source)
    _, dim = to_mark(it)
    return MarkSize(*place, whole or it.series.source, dim, how)  # type: ignore[arg-type]  # one of three


def _can_be_marked(it: Changing) -> bool:
    """What the code before a graph break has computed, nobody can mark, nor an array, nor what the
    compiled function puts in its place, nor a part of a tensor subclass that has another size."""
    made = it.history.resume_of or it.replaced_inside
    return not made and not from_numpy(it.series) and bool(to_mark(it)[0])


def _where_own(it: Changing) -> str:
    """On what condition the program can mark a tensor, where the function is not called by the
    program, but by a library that is not torch; empty: it can."""
    stack = it.newest.python_stack
    if not stack or not is_installed(stack[-1].filename) or in_torch(stack[-1].filename):
        return ""
    return ", where that is the program's own tensor, since a library calls this function"


def _how(it: Changing) -> str:
    """How a size is made a symbol from the first call on."""
    dynamic = str(Dynamic(it.history.capabilities.compile))
    if number := _as_a_number(it):
        return f"{dynamic}; a mark alone is refused where {number} has to be the same"
    if number := _follows_from(it):
        return f"{dynamic}; a mark alone is refused, as it follows from {number}"
    if _can_be_marked(it) and (where := _where_own(it)):
        return f"{dynamic}; or {_mark_words(it)} before the first call{where}"
    if _can_be_marked(it) and (other := _equal_at_first(it)):
        return (
            f"{_mark_words(it)} before the first call. {dynamic} would make one symbol of it and "
            f"{other}, which are equal there"
        )
    if _can_be_marked(it):
        refused = f"; mark_dynamic is refused in {entry}" if (entry := refuses_mark(it)) else ""
        return f"{_mark_words(it)} before the first call, or {dynamic}{refused}"
    if it.history.resume_of:
        return f"{dynamic}, or remove the graph break in {function_name(it.history.resume_of)}"
    if it.replaced_inside:
        return f"{dynamic}; a mark would not be on what the compiled function sets itself"
    if from_numpy(it.series):
        return f"{dynamic}; an array of numpy cannot be marked"
    return f"{dynamic}; a mark on a part of a tensor subclass is refused"


def _ways(it: Changing) -> tuple[Change, ...]:
    dynamic = Dynamic(it.history.capabilities.compile)
    if not _can_be_marked(it) or _as_a_number(it) or _follows_from(it):
        return (dynamic,)
    mark = _mark(it, _how_to_mark(it))
    return (mark,) if _equal_at_first(it) else (mark, dynamic)


def _equal_at_first(it: Changing) -> str:
    """Another size that the first call had alike, and that is not the same symbol later: where all
    are symbols, both are one (duck shaping), and the next call does not fit. Empty: there is
    none."""
    key = it.series.source, it.series.aspect
    symbol, entry = it.as_symbol
    later: Wanted = dict(it.entries.wanted).get(entry, {})
    first = it.series.values[0] if it.series.values and symbol else None
    for item in it.entries.made if first is not None else ():
        before = wants_by(it.recording, item).call
        if before.get(key) != first:
            continue
        alike = ((*other, size) for other, size in before.items() if other[1].what == "size")
        for source, aspect, size in alike:
            another = later.get((source, aspect), UNKNOWN) not in (UNKNOWN, later.get(key))
            if another and size == first and not is_parameter(it, source):
                return aspect.of(it.spell(source))
        break
    return ""


def _as_a_number(it: Changing) -> str:
    """A number that changes as the size does, and may be compared with it; empty: none does."""
    own = it.series
    alike = (
        each
        for each in it.history.series
        if each.aspect.what == "value" and _together(each.values, own.values)
        if (each.times, each.newest) == (own.times, own.newest)
    )
    return next((it.spell(each.source) for each in alike), "")


def _follows_from(it: Changing) -> str:
    """A number that changes as well, and from which an entry requires that the size follows; empty:
    none does."""
    symbols = {
        name
        for size in it.sizes
        if size.symbol is not None
        for step in size.symbol.conditions
        if step.kind is ShapeStepKind.GUARD and step.expression.startswith(_EQUAL)
        for name in step.symbols
    }
    computed, _ = it.as_symbol
    symbols |= set() if computed.isidentifier() else {*_NAME.findall(computed)}
    numbers = (
        each
        for each in it.history.series
        if each.aspect.what == "value" and {*map(type, each.values)} == {int}
        for size in it.sizes_of(each.source)
        if size.symbol is not None and size.symbol.name in symbols
    )
    return next((it.spell(each.source) for each in numbers), "")


def _of_size(rule: Rule) -> Rule:
    def asked(it: Changing) -> Advice | None:
        about = it.what == "size" and it.dim is not None and it.history.capabilities.symbols
        return rule(it) if about else None

    return asked


def _zero_one_condition(it: Changing) -> Advice | None:
    """A condition on a size that is 0 or 1 now, or that requires 2 or more."""
    path = path_of(it.series.source)
    if not _on_condition(it) or path is None or not path.steps:
        return None
    tensor = _tensor(it)
    if (part := _PART.search(tensor)) is not None:
        return it.advise(
            f"{tensor[: part.start()]} is a nested tensor, whose {_WHICH[part[1]]} part is shorter "
            "than 2 here: such a length is no symbol. Leave such parts out, pad them, or accept "
            "the entry.",
            f"an entry requires {it.spell(it.series.condition)}, by which torch has that length",
        )
    known = it.sizes_of(it.series.source)
    number = next((size for size in known if size.zero_one), None)
    if number is None or _INNER in tensor:
        return None
    dim = _SIZE.fullmatch(path.steps[-1])
    others = one_symbol_with(it, known, number)
    of = tensor, int(dim[1]) if dim else "dim", others + _where_own(it)
    fact = f"{number.translation.compile_id} has {it.name} as {number.value}"
    if asked := _asked(it, known, it.name):
        return it.advise(_never_a_symbol(it.history, *of, asked=asked), fact)
    return _in_short(it, it.advise(_never_a_symbol(it.history, *of), fact), *of)


def _condition(it: Changing) -> Advice | None:
    """A size or number for which an entry's conditions do not hold."""
    if not _on_condition(it):
        return None
    for each in it.history.recompilations:
        for failure in each.nearest.failures if each.nearest is not None else ():
            about = unscoped(failure.source), unscoped(failure.text)
            if failure.differences or about != (it.series.source, it.series.condition):
                continue
            made = each.nearest.translation if each.nearest is not None else None
            if found := _one_value(it, made, failure) or one_side(it.recording, failure, it.spell):
                return it.advise(*found)
            if it.name.endswith(_OFFSET):
                tensor = it.name.removesuffix(_OFFSET)
                return it.advise(
                    f"Where in its memory {tensor} begins is a condition of the entry, as of a "
                    f"slice of another tensor: hand it over as {tensor}.clone()."
                )
            if STRIDE in failure.text:
                return it.advise(_laid_out_alike(it, failure))
    return None


def is_one(it: Changing, source: str, dim: int | None) -> bool:
    """Whether a tensor's size is 1 in an entry."""
    key = (source, Aspect("size", dim))
    return any(wants.get(key) == 1 for _, wants in it.entries.wanted)


def a_clone(name: str, dim: int | None) -> str:
    """What to hand over in place of a tensor, one element long, so that its stride is the same."""
    return (
        f"{name}.clone(memory_format=torch.contiguous_format). contiguous() would leave it as it "
        f"is: shape[{dim}] is 1, so its stride does not matter there."
    )


def _laid_out_alike(it: Changing, failure: Failure) -> str:
    """What is to be done where a condition on strides does not hold. Where a tensor is one element
    long, its stride counts nothing to `contiguous`, and all the same for the condition."""
    tensor, path = _tensor(it), path_of(it.series.source)
    fact = f"Where the elements of {tensor} lie in memory is a condition of the entry"
    dims = {int(at) for at in _STRIDES.findall(failure.text)}
    ones = [dim for dim in sorted(dims) if path and is_one(it, str(path.before), dim)]
    if ones:
        return f"{fact}: hand over {a_clone(tensor, ones[0])}"
    return f"{fact}: hand it over always in one memory format, e.g. {tensor}.contiguous()."


def _one_value(it: Changing, made: int | None, failure: Failure) -> tuple[str, str] | None:
    """What is to be done where the conditions of an entry leave a symbol one value, so that each
    value takes an entry; None: they leave it more, or no line is known that asks."""
    known = it.sizes_of(it.series.source)
    size = next((each for each in known if each.translation.id == made and not each.value), None)
    if failure.asking is None or size is None:
        return None
    attempt = it.recording.attempts(size.translation.id)[-1]
    if left_by(it.recording.guards(None, attempt=attempt.id), size.source) is None:
        return None
    return needed_by(it.recording, size, failure.asking, it.name)


def _tensor(it: Changing) -> str:
    """The tensor of whose size a condition is."""
    return it.name.partition(".shape[")[0]


def one_side(recording: Recording, failure: Failure, spell: Spelling) -> tuple[str, str] | None:
    """What is to be done where a condition of an entry does not hold, and what speaks for it; None:
    no line is known that asks for it."""
    step = failure.asking
    if step is None:
        return None
    text = (
        f"The entry requires {spell(unscoped(failure.text))}, which "
        f"{place_of(step.program_stack, recording.facts.cwd)} asks for: keep the calls on one side "
        "of it, or do without what asks. Else each side takes an entry."
    )
    return text, f"{step.written} is a condition from there"


def _on_condition(it: Changing) -> bool:
    if it.what or not it.series.source or it.series.kind not in LEAVES:
        return False
    # What fails because two sizes were one symbol is told of both at once.
    equal = [each.entry for each in were_equal(it.entries)]
    newest = it.history.recompilations[it.series.newest].translation.compile_id
    return newest not in equal or len(equal) < it.series.times


class WereEqual(NamedTuple):
    """Sizes that were one symbol in an entry because they had one value."""

    shared: ShapeStep
    entry: str
    """Compile id of the entry for which they are several symbols."""
    asked: ShapeStep | None
    """What that one asks of them that did not hold when they were equal; None: nothing."""


def were_equal(entries: Entries) -> Iterator[WereEqual]:
    """For each recompilation that is there because sizes are no longer equal: how they came to be
    one symbol. What else fails of such a symbol, strides say, fails for that.

    Whether several symbols would have saved it the new entry shows, where they are; else nothing
    is told.
    """
    for each in entries.history.recompilations:
        nearest, made = each.nearest, each.translation
        failures = nearest.failures if nearest is not None else ()
        steps = itertools.chain.from_iterable(failure.conditions for failure in failures)
        shared = next((step for step in steps if step.kind is ShapeStepKind.SHARED), None)
        if nearest is None or shared is None or made.outcome is not Outcome.COMPILED:
            continue
        before = next((item for item in entries.made if item.id == nearest.translation), None)
        found = None if before is None else _relations(entries.recording, shared, before, made)
        if found is not None:
            asked = [step for step, held in found if held is False]
            if asked or all(held for _, held in found):
                yield WereEqual(shared, made.compile_id, asked[0] if asked else None)


def _relations(
    recording: Recording, shared: ShapeStep, before: Translation, made: Translation
) -> list[tuple[ShapeStep, bool | None]] | None:
    """What one entry asks of the sizes together that are one symbol in another, and whether it held
    for the values there; None: they are not several symbols in it."""
    old = [*sizes(recording, before)]
    names: set[str] = set()
    values: dict[str, float] = {}
    for size in sizes(recording, made):
        path = path_of(size.source)
        was = None if path is None else size_among(old, path)
        if was is None or was.symbol is None:
            continue
        together = was.symbol.name == shared.symbol
        if size.symbol is None or size.symbol.value:
            if together:
                return None
            continue
        if together:
            names.add(size.symbol.name)
        hint = number(was.symbol.born.hint)
        if isinstance(hint, int | float):
            values[size.symbol.name] = hint
    if len(names) < 2:
        return None
    attempt = recording.attempts(made.id)[-1].id
    return [
        (step, holds(step.expression, values))
        for step in recording.shape_steps(None, attempt=attempt)
        if step.kind is ShapeStepKind.GUARD and len(names & {*step.symbols}) > 1
    ]


SIZE_RULES: dict[str, Rule] = {
    **{
        name: _of_size(rule)
        for name, rule in {
            "parameter": _parameter,
            "size needed": _needed,
            "mark_static": _static,
            "0/1": _zero_one,
            "size, nothing dynamic": _nothing_dynamic,
            "size, dynamic later": dynamic_later,
            "size made dynamic": _automatic,
            "size, not made again": _not_made,
        }.items()
    },
    "0/1 condition": _zero_one_condition,
    "condition": _condition,
}
"""In the order in which they are asked."""
