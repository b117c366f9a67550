"""What to change where a number, a text or another plain value of the program changes from call to
call.

Whether Dynamo takes a number as an input of the graph depends on where the number stands: that of
an argument, of a container, of a closure or of an object it makes a symbol at the second value it
sees; an int that is a global or a part of one, that of a function's default and, unless a setting
says so, of an nn.Module it never does, and none where the program has said that nothing is dynamic.
And a symbol is a number again as soon as the code needs its value, in which case that line is the
cause. Each of these is told only where the recording shows it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import msgspec

from stepper.analysis.advice import Advice, Changing, Rule, compiler
from stepper.analysis.broken import COUNTS, DECIDES, FINDS
from stepper.analysis.guarded_names import CONTENT
from stepper.analysis.kept_or_handed import changed_by_itself, have
from stepper.analysis.kind_rules import (
    each_by_itself,
    entry_for_none,
)
from stepper.analysis.needed import needed_by, use_at
from stepper.analysis.origins import Origin
from stepper.analysis.shapes import Size, cause_of
from stepper.analysis.sites import called_at, made_at, way_to
from stepper.analysis.size_rules import NOTHING_DYNAMIC, dynamic_later
from stepper.analysis.slice_bounds import bounds_a_slice
from stepper.analysis.sources import FUNCTION_MODE, MADE_OF, is_key, path_of, unscoped
from stepper.analysis.taken import taken_from
from stepper.analysis.unmet_guards import Failure
from stepper.client.text import place_text
from stepper.model.change import Dynamic, Setting
from stepper.model.datum import Complex, Datum, Many, Words, number, text_of
from stepper.model.shapes import ShapeStep, ShapeStepKind
from stepper.model.trace import SideEffect
from stepper.recording.reader import Recording

_ATTRIBUTES_ARE_SYMBOLS = Setting("allow_unspec_int_on_nn_module", True)
_OF_A_MODULE = "nn_module"
"""The end of Dynamo's names for the scopes of guards on what belongs to an nn.Module."""
_OF_A_SUBMODULE = re.compile(r"[LG]\['\w+'\](?:\.__self__|\._modules\['[^']*'\])*\.\w+")
"""An attribute of a module itself: a module leads to others of its attributes, too, and to what its
class has."""
_OPTIMIZER = os.path.join("torch", "optim", "")
_SCHEDULED = re.compile(r"param_groups\[\d+\](?!\['lr'\]$)")
"""What an optimizer has for its parameters, but how fast it learns."""
_EQUALITY = re.compile(r"Eq\((?!.*(?:Mod|floor|//)).*, -?[\d.]+(?:e-?\d+)?\)")
"""A condition that what is made of a symbol is one number."""
_GLOBAL = re.compile(r"(?:G|__import_\w+)\['\w+'\]")
_KEY_OF = re.compile(r"list\((?P<dict>.+)\)\[\d+\]\Z")
"""Dynamo's expression for a key by its place."""
_DEVICE = "DEFAULT_DEVICE"
_NOT_FINITE = frozenset(map(Words, ("inf", "-inf", "nan")))
_PLAIN = frozenset({bool, int, float, str, bytes})
"""Types of which a recording has the values themselves; of others it has their words."""
_DEFAULT = re.compile(r"\.__(?:kw)?defaults__\[")
_OR_IN_A_TENSOR = ", or keep it in a tensor"
_CALL_OUTSIDE = (
    "A library changes it, in what the compiled function calls{}: make that call outside of it."
)
_CACHED = "_lru_cache_wrapper"
"""The type of a function with a cache of functools'."""
_TO_COMPUTE_WITH = "where the program only computes with it"
"""When a number can be a tensor: what is made of a constant is followed for a while only, so that
the program may yet decide by it."""


def _none(it: Changing) -> Advice | None:
    """The rule for what is None in one call, and something else in another."""
    if None not in it.series.values:
        return None
    others = tuple(value for value in it.series.values if value is not None)
    if advice := _on_several(it, others):
        text = f"{advice.text} And there is an entry for {it.name} being None{_until_set(it)}."
        return msgspec.structs.replace(advice, text=text)
    until = _until_set(it)
    text = f"There is an entry for {it.name} being None{until}."
    return it.advise(text if until else entry_for_none(it))


def _on_several(it: Changing, values: tuple[Datum, ...]) -> Advice | None:
    """What helps against entries for several of its values, the others left out; None: it is one
    value, or nothing is known."""
    if len(dict.fromkeys(map(text_of, values))) < 2:
        return None
    rest = Changing(it.entries, msgspec.structs.replace(it.series, values=values))
    return next(filter(None, (rule(rest) for rule in VALUE_RULES.values())), None)


def _not_finite(it: Changing) -> Advice | None:
    """A float that is infinite, or nan, in one call."""
    odd = [value for value in it.series.values if Words(text_of(value)) in _NOT_FINITE]
    others = tuple(value for value in it.series.values if value not in odd)
    if not odd or not all(type(value) is float for value in others):
        return None
    text = f"{compiler(it.history)} makes no symbol of {text_of(odd[0])}"
    if advice := _on_several(it, others):
        text = f"{advice.text} And {text[0].lower()}{text[1:]}, which has an entry of its own."
        return msgspec.structs.replace(advice, text=text)
    return it.advise(
        f"{text}, which has an entry of its own: keep {it.name} in a tensor, e.g. "
        f"torch.tensor(float({text_of(odd[0])!r})), {_TO_COMPUTE_WITH}, or accept both."
    )


def _until_set(it: Changing) -> str:
    """Where the compiled function itself sets what is None, and what is to be done about that."""
    effect = it.changed_inside
    if effect is None or effect.kind == "mutation" or _is_none(it.recording, effect):
        return ""
    return (
        f", until the compiled function sets it itself{it.place_inside(effect)}: set it before the "
        "first call"
    )


def _is_none(recording: Recording, effect: SideEffect) -> bool:
    """Whether what is set is None; it stands on the stack before."""
    value = recording.state(effect.moment).values.get(effect.value or 0)
    return value is not None and value.constant == "None"


def _part_of_what_is_set(it: Changing) -> Advice | None:
    """A value in what the compiled function sets itself."""
    effect = it.changed_inside
    changed = None if effect is None else path_of(effect.name)
    if effect is None or changed is None or path_of(it.series.source) == changed:
        return None
    whole = it.spell(effect.name)
    if whole == it.name:
        return None
    if unscoped(effect.name) + CONTENT == it.series.source:
        return it.advise(
            f"{it.name} is set by the compiled function itself{it.place_inside(effect)}, and the "
            "next call finds it so: do that outside of the compiled function."
        )
    return it.advise(
        f"{whole}, which {it.name} is a part of, is set by the compiled function itself"
        f"{it.place_inside(effect)}, and the next call finds it so: do that outside of the "
        "compiled function, with what it returns."
    )


def _mixed(it: Changing) -> Advice | None:
    """The rule for what is of one type in one call, and of another in another."""
    types = {type(value) for value in it.series.values}
    if len(types) < 2 or not types & _PLAIN:
        return None
    if types <= {int, float} and (not it.as_symbol[0] or it.unmet):
        return it.one_more(it.as_symbol[1]) if it.unmet else None
    return it.advise(
        f"{it.name} is of another type in one call than in another, and each has an entry of its "
        f"own: {'keep it' if have(it) == 'keep' else 'hand it over'} always as the same."
    )


def _order_of_keys(it: Changing) -> Advice | None:
    """A key by its place, or all of them."""
    path = path_of(it.series.source) if it.what == "value" else None
    key = _KEY_OF.match(it.name) if path is not None and is_key(path) else None
    seen = [value.items for value in it.series.values if isinstance(value, Many)]
    of_all = it.what == "keys" and len(seen) > 1 and len(set(map(frozenset, seen))) == 1
    if key is None and not of_all:
        return None
    return it.advise(
        f"The keys and their order are constants of the graph: {have(it)} "
        f"{key['dict'] if key else it.name} always with the same keys in the same order."
    )


def _a_number(it: Changing) -> bool:
    can = it.history.capabilities
    return can.symbols and (it.all_are(int) or it.all_are(float))


def _needed(it: Changing) -> Advice | None:
    """A number that was a symbol in the newest entry, until the program needed its value."""
    size = _newest(it) if _a_number(it) else None
    cause = None if size is None else _fixing(size)
    if size is None or cause is None:
        return None
    text, fact = needed_by(it.recording, size, cause, it.name)
    return it.advise(text, fact)


def _newest(it: Changing) -> Size | None:
    """What is known of the value in the newest entry, where it was a symbol."""
    found = it.sizes_of(it.series.source)
    if not found or found[-1].translation.id != it.entries.made[-1].id:
        return None
    return found[-1] if found[-1].symbol is not None else None


def _fixing(size: Size) -> ShapeStep | None:
    """The condition that no other value meets: it has made the symbol a number, or asks that
    something of it alone is one."""
    if size.symbol is None or size.value:
        return cause_of(size)
    name, hint = size.symbol.name, number(size.symbol.born.hint)
    for step in size.symbol.conditions:
        if step.kind is not ShapeStepKind.GUARD or {*step.symbols} != {name}:
            continue
        if _EQUALITY.fullmatch(step.expression) and isinstance(hint, float):
            return step
    return None


def _nothing_dynamic(it: Changing) -> Advice | None:
    """A number of a program that has said that nothing is dynamic."""
    if not _a_number(it) or it.as_symbol[0] or it.newest.dynamic is not False:
        return None
    if _constant_anyway(it):
        return None
    dynamic = Dynamic(it.history.capabilities.compile)
    # As a tensor an int could be no length of a slice, no index and no argument of many operators.
    constant = it.all_are(int) or _decides(it)
    or_else = "" if constant else f" Or {have(it)} {it.name} as a tensor, {_TO_COMPUTE_WITH}."
    return it.advise(
        f"{NOTHING_DYNAMIC} each value of {it.name} is compiled by itself. Leave that out, and "
        f"{compiler(it.history, begins=False)} makes the number an input of the graph at its "
        f"second value; with {dynamic} it is one from the first.{or_else}",
        f"{it.newest.compile_id} was made so",
        (dynamic,),
    )


def _ints_are_constants(it: Changing) -> Advice | None:
    """An int, where a setting says that all are constants."""
    if not _a_number(it) or not it.all_are(int) or not it.newest.specialize_int:
        return None
    if it.as_symbol[0]:
        return None
    return it.advise(
        f"With specialize_int each value of {it.name} is compiled by itself, also with "
        "dynamic=True: leave the setting off.",
        f"{it.newest.compile_id} was made with specialize_int on",
    )


def _constant_anyway(it: Changing) -> bool:
    """Whether a number stands where it is never a symbol."""
    return it.all_are(int) and bool(
        _GLOBAL.match(it.series.source)
        or _DEFAULT.search(it.series.source)
        or _belongs_to_a_module(it)
    )


def _left_by_a_break(it: Changing) -> Advice | None:
    """A number that a call has left on the stack where the graph breaks."""
    if not _a_number(it) or not it.left_by:
        return None
    return it.advise(
        f"{it.name} is what {it.left_by} goes on with after its graph break, as a number of "
        f"Python. Remove that break: why-break {it.left_by} says how.",
        "the function goes on after a graph break",
    )


def _not_made(it: Changing) -> Advice | None:
    """A number for which no entry could be made again, so that it is a constant still."""
    if not _a_number(it) or not it.refused or _constant_anyway(it):
        return None
    dynamic = Dynamic(it.history.capabilities.compile)
    return it.advise(
        f"Have {it.name} be an input of the graph from the first call on: {dynamic}.",
        f"no entry was made after {it.entries.made[-1].compile_id}" if it.entries.made else "",
        (dynamic,),
    )


def _dynamic_later(it: Changing) -> Advice | None:
    """A number that is an input of an entry which was compiled where numbers are to be inputs,
    behind one that was not."""
    return dynamic_later(it) if _a_number(it) else None


def _automatic(it: Changing) -> Advice | None:
    """A number that is an input of the graph in a later entry."""
    symbol, entry = it.as_symbol if _a_number(it) else ("", "")
    if not symbol:
        return None
    if it.unmet:
        return it.one_more(entry)
    # As an int a tensor would not do everywhere, nor as an argument that has to be a number.
    constant = it.all_are(int) or _decides(it) or _is_handed_on(it) or _of_an_optimizer(it)
    or_else = "" if constant else ", or keep it in a tensor"
    dynamic = Dynamic(it.history.capabilities.compile)
    return it.advise(
        f"{compiler(it.history)} has made {it.name} an input of the graph by itself. To save the "
        f"entry for its first value: {dynamic}{or_else}.",
        f"{entry} has it as an input",
        (dynamic,),
    )


def _of_an_optimizer(it: Changing) -> bool:
    """Whether an optimizer of torch's has it, of whose numbers the learning rate alone stays a
    tensor: a scheduler puts other floats in the place of the rest."""
    return _OPTIMIZER in it.history.filename and _SCHEDULED.search(it.series.source) is not None


def _float(it: Changing) -> Advice | None:
    """A float that is a constant of each entry."""
    if not _a_number(it) or not it.all_are(float) or _decides(it):
        return None
    return it.advise(
        f"{have(it).capitalize()} {it.name} as a tensor: {_as_tensor(it)}, {_TO_COMPUTE_WITH}."
    )


def _as_tensor(it: Changing) -> str:
    """How its user would make a tensor of it; what a function has closed over is a variable
    there."""
    return f"torch.tensor({it.name.partition(' of ')[0]})"


def _complex(it: Changing) -> Advice | None:
    """A complex number, of which there is no symbol: as a tensor it can be computed with only."""
    if not it.all_are(Complex) or _decides(it):
        return None
    return it.advise(
        f"A complex number is a constant of the graph: {have(it)} {it.name} as a tensor, "
        f"{_as_tensor(it)}, where it is computed with."
    )


def _constant_needed(it: Changing) -> Advice | None:
    """An int that is a constant, and of which the program needs the value: it could be no symbol,
    nor a tensor."""
    if not _a_number(it) or not it.all_are(int):
        return None
    for origin in _origins(it):
        purpose, remedy = use_at(it.recording, origin.moment)
        if purpose and origin.instruction is not None:
            line = origin.called_from or origin.line
            place = place_text(line.place, it.recording.facts.cwd) if line is not None else "torch"
            return it.advise(
                f"{place} needs the value of {it.name}{purpose}, so each value is compiled by "
                f"itself: {remedy}, or accept an entry for each.",
                f"its guard comes from {origin.instruction.opname}",
            )
    return None


def _origins(it: Changing) -> Iterator[Origin]:
    """Where the guards on it come from."""
    for failure in _failures(it):
        if failure.origin is not None:
            yield failure.origin


def _failures(it: Changing) -> Iterator[Failure]:
    """How the guards on it failed."""
    for each in it.history.recompilations:
        for failure in each.nearest.failures if each.nearest is not None else ():
            if unscoped(failure.source) == it.series.source:
                yield failure


def _int_of_a_module(it: Changing) -> Advice | None:
    """An int that belongs to an nn.Module: an attribute, or in a dictionary that is one."""
    if not _a_number(it) or not _belongs_to_a_module(it):
        return None
    why, instead = "An int that belongs to an nn.Module is a constant of the graph.", _instead(it)
    # With dynamic=False it would be a constant with the setting, too, as it is where its value is
    # needed.
    in_vain = it.newest.dynamic is False or FINDS in _taken(it) or _needs_a_number(it)
    if in_vain or not it.history.capabilities.dynamo_config:
        return it.advise(f"{why} {instead}")
    setting = (
        f"{_ATTRIBUTES_ARE_SYMBOLS} makes it a symbol, which helps unless something needs "
        "its value: an index into a list, say, or the length of a loop."
    )
    first = _bounds_a_slice(it) or _is_handed_on(it)
    text = f"{setting} {instead}" if first else f"{instead} {setting}"
    return it.advise(f"{why} {text}", changes=(_ATTRIBUTES_ARE_SYMBOLS,))


def _instead(it: Changing) -> str:
    """What else can be done than to have an int belong to a module."""
    if _bounds_a_slice(it):
        return (
            f"In a tensor {it.name} would break the graph, as a bound of a slice: so kept, write "
            "there by index_copy_, at torch.arange of the length plus it."
        )
    if _is_handed_on(it) and not _decides(it):
        if it.newest.dynamic is False:
            return (
                "Call what takes it outside of the compiled function, or accept an entry for each."
            )
        return "An int that is an argument is one, too, from its second value on."
    if finding := _outside_if_it_finds(it):
        return finding
    if how := _needs_a_number(it):
        return (
            f"What is computed with {it.name} has to be a number of Python ({how}): do that "
            "outside of the compiled function, or accept an entry for each."
        )
    if (effect := it.changed_inside) is not None and (call := it.call_that_changes(effect)):
        return _CALL_OUTSIDE.format(call)
    if not _decides(it):
        outside = ", or count outside of the compiled function" if it.changed_inside else ""
        how = " (register_buffer)" if _is_attribute_of_a_module(it) else ""
        return f"Keep {it.name} in a tensor{how}, {_TO_COMPUTE_WITH}{outside}."
    set_there = f", and set it there, which is done{it.place_inside(effect)}" if effect else ""
    return f"The program decides by {it.name}: do that outside of the compiled function{set_there}."


def _outside_if_it_finds(it: Changing) -> str:
    """What to do where an element is found by a number, which no symbol and no tensor does, so that
    it is of no help as an argument; empty: nothing is known to be."""
    if FINDS not in _taken(it):
        return ""
    return (
        f"The program finds an element by {it.name}: do that outside of the compiled function, and "
        "hand over what is found."
    )


def _global_int(it: Changing) -> Advice | None:
    """An int that is a global, or that one leads to."""
    found = _GLOBAL.match(it.series.source) if _a_number(it) else None
    if found is None:
        return None
    if it.name.startswith("torch."):
        return it.advise(
            f"{it.name} is torch's own, and a constant of the graph: have it alike at all calls. "
            "Where the program needs both, an entry for each is the price."
        )
    where = "a global" if found.end() == len(it.series.source) else "a part of a global"
    text = _or_else(it, f"Hand {it.name} over as an argument")
    effect = it.changed_inside or it.kept_inside
    if effect is not None and (call := it.call_that_changes(effect)):
        text = _CALL_OUTSIDE.format(call)
    elif effect is not None and (cached := _behind_a_cache(it, effect)):
        text = (
            f"It is changed{it.place_inside(effect)}, behind the cache of {cached} "
            "(functools.lru_cache), which is not looked at while a function is translated: each "
            f"translation runs it again. Call {cached} before, and hand over what it returns."
        )
    elif effect is not None:
        text = (
            f"The compiled function itself changes it{it.place_inside(effect)}: count outside of "
            f"it. Where it is needed inside: {text[0].lower()}{text[1:]}"
        )
    return it.advise(f"An int that is {where} is a constant of the graph. {text}")


def _behind_a_cache(it: Changing, effect: SideEffect) -> str:
    """The function with a cache of functools' whose call leads to a change; empty: there is
    none."""
    for site in way_to(it.recording, made_at(it.recording, effect.moment)):
        called = called_at(it.recording.state(site.moment), site.instruction)
        if called is not None and called.type == _CACHED:
            return it.spell(called.source)
    return ""


def _int_of_a_mode(it: Changing) -> Advice | None:
    """An int that a torch function mode keeps, and the program only computes with."""
    if not _a_number(it) or not FUNCTION_MODE.match(it.series.source):
        return None
    if not _or_as_what_it_is_for(it).startswith(_OR_IN_A_TENSOR):
        return None
    return it.advise(
        f"An int that a torch function mode keeps is a constant of the graph. Keep {it.name} in a "
        f"tensor, {_TO_COMPUTE_WITH}, or count outside of the compiled function."
    )


def _default_int(it: Changing) -> Advice | None:
    """An int that is the default of a function's argument."""
    if not _a_number(it) or not _DEFAULT.search(it.series.source):
        return None
    return it.advise(
        "An int that is the default of a function's argument is a constant of the graph. "
        + _or_else(it, "Take it from the function's closure")
    )


def _or_else(it: Changing, as_symbol: str) -> str:
    """What to do with an int: as what it would be a symbol, where one will do."""
    return _outside_if_it_finds(it) or f"{as_symbol}{_or_as_what_it_is_for(it)}."


def _or_as_what_it_is_for(it: Changing) -> str:
    """What else a number can be than one of Python's: of a tensor nothing can be decided, and not
    every function takes one for an int."""
    if _bounds_a_slice(it):
        return ", or take the slice outside of the compiled function"
    if _decides(it):
        return ", or hand over what is decided by it"
    return (
        "" if _is_handed_on(it) or _needs_a_number(it) else f"{_OR_IN_A_TENSOR}, {_TO_COMPUTE_WITH}"
    )


def _decides(it: Changing) -> bool:
    """Whether the program compares the number, or branches on it, as far as that is known: by what
    was asked of a symbol, or where the guard on a constant comes from."""
    size = _newest(it)
    asked = size.symbol.conditions if size is not None and size.symbol is not None else ()
    if any(step.kind is ShapeStepKind.GUARD for step in asked):
        return True
    rows = (origin.instruction for origin in _origins(it))
    return DECIDES in _taken(it) or any(
        row is not None and row.opname.startswith(("COMPARE_OP", "POP_JUMP_", "TO_BOOL"))
        for row in rows
    )


def _needs_a_number(it: Changing) -> str:
    """What takes a number of Python's only, as no tensor and no symbol is, of what is computed with
    the number; empty: nothing is known to."""
    if _is_handed_on(it):
        return ""
    return min(_taken(it) - {COUNTS, DECIDES, FINDS, ""}, default="")


def _taken(it: Changing) -> set[str]:
    """How Python itself takes the number, or what is computed with it, in entries that had it as a
    constant."""
    return {
        taken_from(it.recording, failure.origin.moment, failure.source)
        for failure in _failures(it)
        if failure.origin is not None and it.recording.has(failure.origin.moment)
    }


def _bounds_a_slice(it: Changing) -> bool:
    """Whether the number, or what is computed with it, bounds a slice: a tensor's value would be
    taken there."""
    return any(
        failure.origin is not None
        and it.recording.has(failure.origin.moment)
        and bounds_a_slice(it.recording, failure.origin.moment, failure.source)
        for failure in _failures(it)
    )


def _is_handed_on(it: Changing) -> bool:
    """Whether a function is called with it, or with its negative."""
    rows = (origin.instruction for origin in _origins(it))
    return any(
        row is not None and row.opname.startswith(("CALL", "UNARY_NEGATIVE")) for row in rows
    )


def _belongs_to_a_module(it: Changing) -> bool:
    """Whether Dynamo has guarded the value, or what it is a part of, as part of an nn.Module."""
    path = path_of(it.series.source)
    if path is None or not path.steps:
        return False
    for each in it.history.recompilations:
        for attempt in it.recording.attempts(each.translation.id)[-1:]:
            for guard in it.recording.guards(None, attempt=attempt.id):
                if guard.scope.endswith(_OF_A_MODULE):
                    guarded = path_of(guard.source)
                    if guarded is not None and guarded.leads_to(path):
                        return True
    return False


def _is_attribute_of_a_module(it: Changing) -> bool:
    """Whether it is one of the module's own, which could be a buffer there."""
    for item in it.entries.made[-1:]:
        for attempt in it.recording.attempts(item.id)[-1:]:
            for guard in it.recording.guards(None, attempt=attempt.id):
                if unscoped(guard.source) == it.series.source:
                    return _OF_A_SUBMODULE.fullmatch(guard.source) is not None
    return False


def _mode_of_a_module(it: Changing) -> Advice | None:
    """Whether a module is in training."""
    if not it.name.endswith(".training") or not it.all_are(bool):
        return None
    return it.advise(
        "Whether a module is in training is a constant of the graph: where both training and "
        "evaluation are needed, two entries are the price. Where one would do, set it once, before "
        "the first call."
    )


def _tensors_of_a_subclass(it: Changing) -> Advice | None:
    """Which tensors a tensor subclass is made of, as __tensor_flatten__ names them."""
    if not it.series.source.endswith(MADE_OF):
        return None
    of = it.spell(it.series.source.removesuffix(MADE_OF))
    return it.advise(
        f"Which tensors {of}, a tensor subclass, is made of is a constant of the graph: make it "
        "always of the same ones, a tensor that changes nothing in place of one that is left out, "
        "or accept an entry for each."
    )


def _set_changed_inside(it: Changing) -> Advice | None:
    """A set that the compiled function changes itself: as a whole it is one value."""
    kinds = {value.kind for value in it.series.values if isinstance(value, Many)}
    text = changed_by_itself(it) if kinds and kinds <= {"set", "frozenset"} else ""
    return it.advise(text) if text else None


def _each_by_itself(it: Changing) -> Advice | None:
    """Any other value. Of a number that was tried once more in vain nothing is known."""
    if _a_number(it) and not it.entries.wanted:
        return None
    effect = it.changed_inside
    if effect is not None and effect.kind != "mutation":
        return it.advise(
            f"{it.name} is set by the compiled function itself{it.place_inside(effect)}, and the "
            "next call finds it so: have it set before the first call, or set it outside."
        )
    return it.advise(each_by_itself(it))


def _of_value(rule: Rule) -> Rule:
    return lambda it: rule(it) if it.what == "value" and it.series.kind != _DEVICE else None


VALUE_RULES: dict[str, Rule] = {"order of keys": _order_of_keys} | {
    name: _of_value(rule)
    for name, rule in {
        "tensors of a subclass": _tensors_of_a_subclass,
        "None": _none,
        "not finite": _not_finite,
        "mixed types": _mixed,
        "part of what is set inside": _part_of_what_is_set,
        "number needed": _needed,
        "number, nothing dynamic": _nothing_dynamic,
        "specialize_int": _ints_are_constants,
        "left by a break": _left_by_a_break,
        "number, not made again": _not_made,
        "number, dynamic later": _dynamic_later,
        "number made dynamic": _automatic,
        "float": _float,
        "complex number": _complex,
        "constant needed": _constant_needed,
        "int of a module": _int_of_a_module,
        "global int": _global_int,
        "int of a function mode": _int_of_a_mode,
        "default int": _default_int,
        "mode of a module": _mode_of_a_module,
        "set changed inside": _set_changed_inside,
        "value": _each_by_itself,
    }.items()
}
"""In the order in which they are asked."""
