"""What to change so that a function is compiled less often, by what changes from call to call.

Each piece of advice says what in the recording speaks for it. Whether it helps can be tried where
the change can be made from outside (`stepper.analysis.recompile_trials`); whether the program may
be changed so is for its author to say.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import msgspec

from stepper.analysis.advice import Advice, Entries, needed_by, seen, symbol_of
from stepper.analysis.conditions import LEAVES
from stepper.analysis.recompile_series import TOLD, History, Series
from stepper.analysis.recompiles import changes_of
from stepper.analysis.shapes import Size, cause_of, size_of
from stepper.analysis.sources import path_of, spelled, unscoped
from stepper.analysis.value_advice import on_value
from stepper.analysis.wanted import wanted_by
from stepper.client.text import plural, short_name
from stepper.model.change import Change, Dynamic, MarkSize, Setting
from stepper.model.datum import Words, text_of
from stepper.model.shapes import ShapeStep, ShapeStepKind, Why
from stepper.model.trace import Outcome
from stepper.recording.reader import Recording

_SPECIAL_SIZES = (0, 1)
_SEQUENCES = ("list", "tuple")
_CODE = ".__code__"
_ATTRIBUTES = ".__dict__"
_MODES = "TORCH_FUNCTION_MODE_STACK"
_DUCK = Setting("use_duck_shape", False, "torch.fx.experimental._config")
_STATIC = Setting("force_parameter_static_shapes", False)
_AUTOCAST = ("autocast(cpu)", "autocast(cuda)")


def advise(recording: Recording, history: History) -> list[Advice]:
    """Advice on a function, on what changes most often first."""
    found: list[Advice] = []
    wanted = [
        (each.translation.compile_id, wanted_by(recording, each.translation))
        for each in history.recompilations
        if each.translation.outcome is Outcome.COMPILED
    ][::-1]
    for series in history.series[:TOLD]:
        found += _on(recording, history, wanted, series)
    found += _shared(history)
    found += _at_once(history, [each.changes[-1] for each in found if each.changes])
    found = list({each.text: each for each in reversed(found)}.values())[::-1]
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
    recording: Recording, history: History, wanted: Entries, series: Series
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
            yield from _on_zero_one(history, sizes, series, name, dim)
            return
        if can.dynamo_config and _of_a_parameter(history, series):
            yield Advice(
                f"The sizes of a parameter are numbers, whether they are marked or not. {_STATIC} "
                "makes them symbols, as those of other tensors.",
                f"{name} is a Parameter; {seen(series, name)}",
                series.source,
                series.aspect,
                (_STATIC,),
            )
            return
        advice = _on_size(history, wanted, series, name, dim)
        dynamic = Dynamic(can.compile)
        at = MarkSize(history.name, history.filename, history.line, series.source, dim)
        changes = (dynamic,) if history.resume_of else (at, dynamic)
        yield msgspec.structs.replace(advice, changes=changes)
        return
    if what == "value":
        yield from on_value(recording, history, wanted, series, name)
        return
    known = _BY_WHAT.get(what) or _BY_KIND.get(series.kind)
    if series.kind == _MODES and _set_a_device(history):
        known = _BY_KIND["DEFAULT_DEVICE"]
    if what == "dispatch keys" and _of_autocast(history, series):
        return
    if known is None and series.source and series.kind in LEAVES:
        if len(list(_shared_steps(history))) < series.times:
            yield _on_condition(recording, history, series, name)
    elif known is not None:
        text = known(name, series)
        yield Advice(text, seen(series, name), series.source, series.aspect)


def _shared(history: History) -> Iterator[Advice]:
    """Two sizes that had one value when an entry was made, and have two."""
    for step in _shared_steps(history):
        # Of one symbol nothing is asked, so it is not recorded whether the program would ask.
        yield Advice(
            "Sizes that have the same value when an entry is made are one symbol of it (duck "
            f"shaping): {_DUCK} before the first call, or make the entry with sizes that differ. "
            "It helps unless the program itself, or an operator, asks whether they are equal.",
            f"{step.symbol} stands for both in the entry",
            changes=(_DUCK,),
        )


def _shared_steps(history: History) -> Iterator[ShapeStep]:
    """For each recompilation that is there because two sizes are no longer equal: how they came to
    be one symbol. What else fails of such a symbol, strides say, fails for that."""
    for each in history.recompilations:
        failures = each.nearest.failures if each.nearest is not None else ()
        steps = itertools.chain.from_iterable(failure.conditions for failure in failures)
        if shared := next((step for step in steps if step.kind is ShapeStepKind.SHARED), None):
            yield shared


def _of_a_parameter(history: History, series: Series) -> bool:
    """Whether the tensor was an nn.Parameter when an entry was made."""
    return any(
        failure.origin is not None
        and failure.origin.value is not None
        and failure.origin.value.type == "Parameter"
        for each in history.recompilations
        if each.nearest is not None
        for failure in each.nearest.failures
        if unscoped(failure.source) == series.source
    )


def _set_a_device(history: History) -> bool:
    """A default device is a torch function mode, and a guard of its own says that it is set."""
    return any(
        failure.kind == "DEFAULT_DEVICE"
        for each in history.recompilations
        if each.nearest is not None
        for failure in each.nearest.failures
    )


def _of_autocast(history: History, series: Series) -> bool:
    """Autocast changes the keys with which tensors are compared, whatever tensors they are."""
    return any(
        each.aspect.what in _AUTOCAST and each.times == series.times for each in history.series
    )


def _on_condition(recording: Recording, history: History, series: Series, name: str) -> Advice:
    """A size for which an entry's conditions do not hold."""
    path = path_of(series.source)
    for each in history.recompilations:
        size = None if path is None else size_of(recording, each.translation, path)
        if size is not None and size.zero_one is not None:
            return Advice(
                _never_a_symbol(history, "tensor", "dim"),
                f"{each.translation.compile_id} has {name} as {size.value}",
                series.source,
                series.aspect,
            )
    return Advice(_of_a_range(name, series), seen(series, name), series.source, series.aspect)


def _known(recording: Recording, history: History, series: Series, dim: int) -> list[Size]:
    """What is known of a size in each entry that was made again, the newest last."""
    path = path_of(f"{series.source}.size()[{dim}]")
    found = [
        size_of(recording, each.translation, path)
        for each in history.recompilations
        if path is not None and each.translation.outcome is Outcome.COMPILED
    ]
    return [size for size in found if size is not None]


def _never_a_symbol(history: History, tensor: str, dim: int | str) -> str:
    """What can be said to one who wants a size to be a symbol that is 0 or 1."""
    text = (
        f"{_compiler(history)} makes no symbol of a size 0 or 1, also where sizes are symbols, and "
        "so has an entry for it alone."
    )
    if not history.capabilities.unbacked:
        return text
    return f"{text} Torch's remedy: torch._dynamo.decorators.mark_unbacked({tensor}, {dim})."


def _compiler(history: History) -> str:
    """What the compiler is called at the beginning of a sentence."""
    return "Dynamo" if history.capabilities.dynamo_config else "The compiler"


def _on_zero_one(
    history: History, known: list[Size], series: Series, name: str, dim: int
) -> Iterator[Advice]:
    """The program has made a size a symbol: what is left are the sizes that never are."""
    entries = [size.translation.compile_id for size in known if size.zero_one is not None]
    if entries:
        yield Advice(
            _never_a_symbol(history, name, dim),
            f"{', '.join(entries)} has it as a number; {seen(series, name)}",
            series.source,
            series.aspect,
        )


def _on_fixed(
    recording: Recording, size: Size, series: Series, name: str, dim: int
) -> Iterator[Advice]:
    """A size that was a symbol, until something that the program does needed its value."""
    cause = cause_of(size)
    if cause is not None and cause.user_stack:
        text, fact = needed_by(recording, size, cause, f"Size {dim} of {name}")
        yield Advice(text, f"{fact}; {seen(series, name)}", series.source, series.aspect)


def _on_size(history: History, wanted: Entries, series: Series, name: str, dim: int) -> Advice:
    dynamic = f"{history.capabilities.compile}(dynamic=True)"
    how = (
        # What the code before a graph break has computed, nobody can mark.
        f"{dynamic}, or remove the graph break in {short_name(history.resume_of)}"
        if history.resume_of
        else f"torch._dynamo.mark_dynamic({name}, {dim}) before the first call, or {dynamic}"
    )
    special = any(value in _SPECIAL_SIZES for value in series.values)
    symbol, entry = symbol_of(wanted, series)
    if symbol:
        text = (
            f"{_compiler(history)} has made size {dim} of {name} a symbol by itself. To save the "
            f"entry for its first size: {how}."
        )
        evidence = f"{entry} has it as {symbol}; {seen(series, name)}"
    elif special:
        text = _never_a_symbol(history, name, dim)
        evidence = seen(series, name)
    else:
        text = (
            f"Make size {dim} of {name} a symbol: {how}. {_compiler(history)} does so by itself at "
            "the second size, unless the tensor is marked static or dynamic shapes are off."
        )
        evidence = f"each entry has it as a number; {seen(series, name)}"
    return Advice(text, evidence, series.source, series.aspect)


def _global_state(name: str, series: Series) -> str:
    return (
        "Call it under one state: the same grad mode (torch.no_grad) and inference mode, autocast, "
        "default dtype and deterministic algorithms. Where both are needed, as in training and "
        "evaluation, the two entries are the price."
    )


def _of_a_range(name: str, series: Series) -> str:
    return (
        f"An entry holds for the {'sizes' if '.size()' in series.source else 'values'} that its "
        "conditions allow, and for this one they do not: keep them on one side of the condition, "
        "or do without what asks for it."
    )


def _same_keys(name: str, series: Series) -> str:
    if name.endswith(_ATTRIBUTES):
        return _all_attributes(name.removesuffix(_ATTRIBUTES), series)
    return f"Hand over {name} always with the same keys."


def _all_attributes(name: str, _: Series) -> str:
    return (
        f"{name} has an attribute in one call that it has not in another: set all of them where it "
        "is made."
    )


def _object(name: str, series: Series) -> str:
    if not any(isinstance(value, Words) and value.another for value in series.values):
        return (
            f"Each object that is handed over as {name} is compiled by itself: what was traced was "
            "read from it. If there are few, that is the price."
        )
    if name.endswith(_CODE):
        return (
            f"{name.removesuffix(_CODE)} is a function with code of its own each time, as exec and "
            "several definitions make them: define it once, and hand over what differs."
        )
    return f"{name} is another object each time: make it once, outside, and hand over that one."


def _type(name: str, series: Series) -> str:
    shown = [text_of(value) for value in series.values]
    if set(_SEQUENCES).issuperset(shown):
        return (
            f"Pass {name} always as the same type; a list and a tuple of the same things need an "
            "entry each."
        )
    if len(shown) > 1 and len({each.rpartition(".")[2] for each in shown}) == 1:
        return (
            f"{name} has another class each time, of the same name, as a class statement in a "
            "function makes them: make the class once, outside."
        )
    return f"Pass {name} always as the same type: each has an entry of its own."


def _reached(name: str, _: Series) -> str:
    return (
        f"{name} was there when the entry was made, and is not in another call: hand over what it "
        "is taken from always with the same keys and attributes."
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
    "type": _type,
    "length": lambda name, _: (
        f"The length of a container is a constant of the graph: hand over {name} always with as "
        "many elements, or do what needs all of them outside of the compiled function."
    ),
    "dictionary": _same_keys,
    "stride": lambda name, _: (
        f"Where the elements lie in memory is a constant of the graph: hand over {name} always in "
        f"one memory format, e.g. {name}.contiguous()."
    ),
    "object": _object,
    "backend": lambda _, __: (
        "All compiled versions of a function share the cache of its code. Use one backend object "
        "for it, or a copy of the function for each backend."
    ),
    "inference tensor": lambda name, _: (
        f"{name} was made under torch.inference_mode in one call and not in another: make it under "
        f"one, or hand over {name}.clone(), made outside of that mode."
    ),
    "inference mode": lambda _, __: (
        "Call it always under torch.inference_mode or never: it changes the keys of all tensors."
    ),
    "inference": lambda name, _: (
        f"{name} was made, or the entry was compiled, under torch.inference_mode, and now neither: "
        "make it and call it under one mode."
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
    "HASATTR": _all_attributes,
    "NO_HASATTR": _all_attributes,
    "DICT_CONTAINS": _same_keys,
    "DICT_LENGTH": _same_keys,
    "TYPE_MATCH": _reached,
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
