"""What to change so that a function is compiled less often, by what changes from call to call.

Each piece of advice says what in the recording speaks for it. Whether it helps can be tried where
the change can be made from outside (`stepper.analysis.recompile_trials`); whether the program may
be changed so is for its author to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from stepper.analysis.recompile_series import History, Series
from stepper.analysis.recompiles import changes_of
from stepper.analysis.shapes import Size, cause_of, size_of
from stepper.analysis.sources import path_of, spelled
from stepper.analysis.wanted import Wanted, symbolic, wanted_by
from stepper.client.text import plural, python_frame_line, short_name
from stepper.model.capabilities import Capabilities
from stepper.model.change import Change, Dynamic, MarkSize, Setting
from stepper.model.datum import UNKNOWN, text_of
from stepper.model.lookup import Aspect
from stepper.model.shapes import Why
from stepper.model.trace import Outcome
from stepper.recording.reader import Recording

_SPECIAL_SIZES = (0, 1)
_ATTRIBUTES_ARE_SYMBOLS = Setting("allow_unspec_int_on_nn_module", True)


_Entries = list[tuple[str, Wanted]]
"""The recompiled entries of a function, the newest first: compile id, and what it wants."""


class Advice(msgspec.Struct, frozen=True):
    """Something to change, and what speaks for it."""

    text: str
    evidence: str
    """What the recording shows; nobody has tried the change."""
    source: str = ""
    aspect: Aspect = Aspect("")
    """What of it changes."""
    changes: tuple[Change, ...] = ()
    """Each a way to try it; empty: it is about the program's own text."""
    together: bool = False
    """They are one way, made at once."""


def advise(recording: Recording, history: History) -> list[Advice]:
    """Advice on a function, on what changes most often first."""
    found: list[Advice] = []
    wanted = [
        (each.translation.compile_id, wanted_by(recording, each.translation))
        for each in history.recompilations
        if each.translation.outcome is Outcome.COMPILED
    ][::-1]
    for series in history.series:
        found += _on(recording, history, wanted, series)
    found += _at_once(history, [each.changes[-1] for each in found if each.changes])
    limit = history.limit
    if limit is not None:
        limited_by = history.capabilities.recompile_limit or "the limit"
        found.append(
            Advice(
                f"Remove the cause rather than raise {limited_by}: a "
                "higher limit lets the same calls compile more entries, and each call tries them "
                "in turn.",
                f"{plural(history.entries, 'entry')} made before the limit"
                + (f", {plural(history.calls_after_limit, 'call')} run uncompiled after it"
                   if history.calls_after_limit else ""),
            )
        )  # fmt: skip
    return found


def _at_once(history: History, changes: list[Change]) -> Iterator[Advice]:
    """One thing that is left as it was is enough for a compilation."""
    nearest = (each.nearest for each in history.recompilations)
    several = sum(each is not None and len(changes_of(each)) > 1 for each in nearest)
    changes = list(dict.fromkeys(changes))
    if several and len(changes) > 1:
        yield Advice(
            f"Change all of it: {'; '.join(map(str, changes))}. One alone leaves calls that differ "
            "in something else.",
            f"{several} of {plural(len(history.recompilations), 'recompilation')} differ from the "
            "nearest entry in more than one thing",
            changes=tuple(changes),
            together=True,
        )


def _on(
    recording: Recording, history: History, wanted: _Entries, series: Series
) -> Iterator[Advice]:
    name = spelled(series.source)
    what, dim = series.aspect
    can = history.capabilities
    if what == "size" and dim is not None and can.symbols:
        sizes = _known(recording, history, series, dim)
        if sizes and sizes[-1].symbol is not None and sizes[-1].value:
            yield from _on_fixed(recording, sizes[-1], series, name, dim)
            return
        if any(size.why not in (Why.AUTOMATIC, Why.UNKNOWN) for size in sizes):
            yield from _on_zero_one(sizes, series, name, dim)
            return
        advice = _on_size(history, wanted, series, name, dim)
        dynamic = Dynamic(can.compile)
        at = MarkSize(history.name, history.filename, history.line, series.source, dim)
        changes = (dynamic,) if history.resume_of else (at, dynamic)
        yield msgspec.structs.replace(advice, changes=changes)
        return
    if what == "value":
        advice = _on_value(wanted, series, name, can)
        yield msgspec.structs.replace(
            advice, changes=_on_attribute(series, name) if can.dynamo_config else ()
        )
        return
    known = _BY_WHAT.get(what) or _BY_KIND.get(series.kind)
    if known is None and ".size()" in series.source:
        known = _of_a_range
    if known is not None:
        text = known(name, series)
        yield Advice(text, _seen(series, name), series.source, series.aspect)


def _known(recording: Recording, history: History, series: Series, dim: int) -> list[Size]:
    """What is known of a size in each entry that was made again, the newest last."""
    path = path_of(f"{series.source}.size()[{dim}]")
    found = [
        size_of(recording, each.translation, path)
        for each in history.recompilations
        if path is not None and each.translation.outcome is Outcome.COMPILED
    ]
    return [size for size in found if size is not None]


def _on_zero_one(known: list[Size], series: Series, name: str, dim: int) -> Iterator[Advice]:
    """The program has made a size a symbol: what is left are the sizes that never are."""
    entries = [size.translation.compile_id for size in known if size.zero_one is not None]
    if entries:
        yield Advice(
            f"Sizes 0 and 1 become numbers, also where sizes are symbols. Torch's remedy: "
            f"torch._dynamo.decorators.mark_unbacked({name}, {dim}).",
            f"{', '.join(entries)} has it as a number; {_seen(series, name)}",
            series.source,
            series.aspect,
        )


def _on_fixed(
    recording: Recording, size: Size, series: Series, name: str, dim: int
) -> Iterator[Advice]:
    """A size that was a symbol, until something that the program does needed its value."""
    cause, symbol = cause_of(size), size.symbol
    assert symbol is not None
    if cause is None or not cause.user_stack:
        return
    place = python_frame_line(cause.user_stack[-1], recording.facts.cwd)
    by = f" for {cause.target}" if cause.target else ""
    yield Advice(
        f"Size {dim} of {name} is a symbol until {place}{by} needs its value. As long as that is "
        "asked for, each value is compiled by itself: take it out of the compiled function, or do "
        "it without the value.",
        f"{size.translation.compile_id} has {cause.expression} from there; {_seen(series, name)}",
        series.source,
        series.aspect,
    )


def _on_size(history: History, wanted: _Entries, series: Series, name: str, dim: int) -> Advice:
    dynamic = f"{history.capabilities.compile}(dynamic=True)"
    how = (
        # What the code before a graph break has computed, nobody can mark.
        f"{dynamic}, or remove the graph break in {short_name(history.resume_of)}"
        if history.resume_of
        else f"torch._dynamo.mark_dynamic({name}, {dim}) before the first call, or {dynamic}"
    )
    special = any(value in _SPECIAL_SIZES for value in series.values)
    symbol, entry = _symbol(wanted, series)
    if symbol:
        text = (
            f"Dynamo has made size {dim} of {name} a symbol by itself, so other sizes fit that "
            f"entry. To save the compilation for the first size: {how}."
        )
        evidence = f"{entry} has it as {symbol}; {_seen(series, name)}"
    elif special:
        text = (
            f"Sizes 0 and 1 are never symbols. Keep size {dim} of {name} at 2 or more (pad, or "
            "repeat), or give that case a function of its own."
        )
        evidence = _seen(series, name)
    else:
        text = (
            f"Make size {dim} of {name} a symbol: {how}. Dynamo does so by itself at the second "
            "size, unless the tensor is marked static or dynamic shapes are off."
        )
        evidence = f"each entry has it as a number; {_seen(series, name)}"
    return Advice(text, evidence, series.source, series.aspect)


def _on_value(wanted: _Entries, series: Series, name: str, can: Capabilities) -> Advice:
    symbol, entry = _symbol(wanted, series)
    if symbol:
        text = f"Dynamo has made {name} an input of the graph by itself; other values fit now."
        evidence = f"{entry} has it as an input; {_seen(series, name)}"
        return Advice(text, evidence, series.source, series.aspect)
    if not can.symbols:
        text = _each_by_itself(name)
    elif _all(int, series) and "." in name:
        text = (
            f"An int that is an attribute is a constant of the graph. Keep {name} in a tensor "
            "(for a module: register_buffer), or count outside of the compiled function."
        )
        if can.dynamo_config:
            text += f" For an nn.Module, {_ATTRIBUTES_ARE_SYMBOLS} does without."
    elif _all(int, series):
        text = (
            f"Pass {name} as a tensor. Dynamo makes an int argument a symbol at its second value, "
            "unless the code needs it as a constant (as an index of a Python list, a loop's "
            "bound, a dict's key) or dynamic shapes are off."
        )
    elif _all(float, series):
        text = f"Pass {name} as a tensor: torch.tensor({name})."
        if can.dynamo_config:
            text += (
                " (Dynamo makes a float an input by itself only where "
                "torch._dynamo.config.specialize_float is False and the code computes with it.)"
            )
    else:
        text = _each_by_itself(name)
    return Advice(text, _seen(series, name), series.source, series.aspect)


def _each_by_itself(name: str) -> str:
    return (
        f"Each value of {name} is compiled by itself. If there are few, that is the price of "
        "branching on it; if there are many, take what depends on it out of the compiled "
        "function, or hand over what it is looked up for instead."
    )


def _on_attribute(series: Series, name: str) -> tuple[Change, ...]:
    if "." in name and _all(int, series):
        return (_ATTRIBUTES_ARE_SYMBOLS,)
    return ()


def _symbol(wanted: _Entries, series: Series) -> tuple[str, str]:
    """What the newest entry has that has no constant there, and its compile id; empty: none."""
    source, aspect = series.source, series.aspect
    for compile_id, wants in wanted:
        has = wants.get((source, aspect), UNKNOWN)
        if aspect.what == "value":
            typed = (source, Aspect("type")) in wants
            found = "an input" if typed and has == UNKNOWN else ""
        else:
            found = text_of(has) if has != UNKNOWN and symbolic(has) else ""
        if found:
            return found, compile_id
    return "", ""


def _all(kind: type, series: Series) -> bool:
    """Whether all values that were seen are of a type."""
    return all(type(value) is kind for value in series.values)


def _seen(series: Series, name: str) -> str:
    if len(series.values) == 1:
        return f"{_what(series, name)} is no longer {text_of(series.values[0])}"
    if not series.seen:
        return f"{_what(series, name)} differed {plural(series.times, 'time')}"
    return f"{_what(series, name)} was {series.seen}"


def _what(series: Series, name: str) -> str:
    return " of ".join(filter(None, (str(series.aspect), name)))


def _global_state(name: str, series: Series) -> str:
    return (
        "Call it under one state: the same grad mode (torch.no_grad), autocast, default dtype and "
        "deterministic algorithms. Where both are needed, as in training and evaluation, the two "
        "entries are the price."
    )


def _of_a_range(name: str, series: Series) -> str:
    return (
        "An entry for a range of sizes does not fit this size. Sizes 0 and 1 always have entries "
        "of their own; other conditions come from code that branches on a size. Keep sizes on one "
        "side, or state the range: torch._dynamo.mark_dynamic(tensor, dim, min=…, max=…)."
    )


_Text = Callable[[str, Series], str]

_BY_WHAT: dict[str, _Text] = {
    "dtype": lambda name, _: (
        f"A dtype is never a symbol: convert {name} before the call, e.g. {name}.to(torch.float32),"
        " or accept an entry for each."
    ),
    "rank": lambda name, _: (
        f"A number of dimensions is never a symbol: reshape {name} to one rank before the call, or "
        "accept an entry for each."
    ),
    "device": lambda name, _: f"Move {name} to one device before the call.",
    "requires_grad": lambda name, _: (
        f"Call with {name} always requiring grad or never: {name}.detach() where no gradient is "
        "needed."
    ),
    "type": lambda name, _: (
        f"Pass {name} always as the same type; a list and a tuple of the same things need an entry "
        "each."
    ),
    "length": lambda name, _: (
        f"The length of a container is a constant of the graph: pass {name} as one stacked tensor, "
        "pad it to one length, or loop over it outside of the compiled function."
    ),
    "object": lambda name, _: (
        f"{name} is another object each time: make it once, outside of the call, and hand over "
        "that one (functions defined in a loop and lambdas are new ones each time)."
    ),
    "backend": lambda _, __: (
        "All compiled versions of a function share the cache of its code. Use one backend object "
        "for it, or a copy of the function for each backend."
    ),
    "dispatch keys": lambda name, _: (
        f"{name} comes in different kinds (a subclass, an inference tensor, another mode): make "
        "it the same kind before the call."
    ),
}  # fmt: skip

_BY_KIND: dict[str, _Text] = {
    "GLOBAL_STATE": _global_state,
    "SYMBOLIC_SHAPE_GUARD": _of_a_range,
    "NO_TENSOR_ALIASING": lambda _, __: (
        "Whether two inputs are the same tensor is a constant of the graph: hand over a copy "
        "(clone) where they coincide."
    ),
    "OBJECT_ALIASING": lambda _, __: (
        "Two inputs were one object when the entry was made: hand over the same object, or never."
    ),
    "DICT_CONTAINS": lambda name, _: f"Hand over {name} always with the same keys.",
    "DICT_LENGTH": lambda name, _: f"Hand over {name} always with the same keys.",
    "INVALID": lambda _, __: (
        "An object that the entry knows by identity has died (a function, class or code made at "
        "run time): keep it alive, or make it once."
    ),
    "TORCH_FUNCTION_MODE_STACK": lambda _, __: "Call it under the same torch function modes.",
    "DEFAULT_DEVICE": lambda _, __: "Set the default device once, before the first call.",
    "DIMENSION_DYNAMIC_MARKING_GUARD": lambda name, _: (
        f"Mark the dimensions of {name} before the first call, and for every tensor alike."
    ),
}
"""For what has no difference in words."""
