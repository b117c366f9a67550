"""What to change where something else than a size or a plain value changes from call to call: what
of a tensor or an object it is, or a guard of one kind."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import NamedTuple

from stepper.analysis.advice import Advice, Changing, Rule
from stepper.analysis.called_apart import compiled_for_a_break
from stepper.analysis.check_index import whose_key_is_told
from stepper.analysis.dtypes import shared_dtype
from stepper.analysis.kept_or_handed import changed_by_itself, have
from stepper.analysis.origins import Origin
from stepper.analysis.reasons import NEXT, PLACEMENTS, SPEC
from stepper.analysis.recompile_series import Series
from stepper.analysis.recompiles import changes_of
from stepper.analysis.sites import own_frame
from stepper.analysis.size_rules import a_clone, from_numpy, is_one, is_parameter, of_numpy
from stepper.analysis.sources import Path, path_of, unscoped
from stepper.analysis.unmet_guards import AUTOCAST, FUNCTORCH, INFERENCE_MODE
from stepper.analysis.wanted import wanted_by
from stepper.client.text import function_name, place_text, short_name
from stepper.model.datum import UNKNOWN, Datum, Words, text_of
from stepper.model.lookup import BASE, INVALID, Aspect
from stepper.recording.reader import Recording
from stepper.support.pythons_own import is_installed

HANDED_OVER = frozenset(
    {
        "base", "dtype", "rank", "device", "requires_grad", "type", "length", "dictionary",
        "stride", "object",
    }
)  # fmt: skip
"""What is never a symbol, and can be made the same where a value is handed over."""
_NONE = "NoneType"
_CLOSURE = "__closure__"
_SEQUENCES = ("list", "tuple")
_CODE = ".__code__"
_ARGUMENTS = {
    "args": "as many positional arguments",
    "kwargs": "the same keyword arguments",
    "kwds": "the same keyword arguments",
}
"""What wrappers call all that they are given, and what is to be the same of it."""
_QUOTED = re.compile(r"'(\w+)'")
_VALUE = Aspect("value")
_OPTIMIZER = os.path.join("torch", "optim", "")
_GRADIENT = ".grad"
_HOOKS = tuple(f"._{when}_hooks" for when in ("forward", "forward_pre", "backward", "backward_pre"))
_OF_DICTS = frozenset({"DICT_LENGTH", "DICT_MANAGER"})
"""Guards on how many keys a dictionary has."""
_ATTRIBUTES = ".__dict__"
_MODULES = "._modules"
_NAMED = 2
"""Arguments that are named; of more only that there are."""
_MODES = "TORCH_FUNCTION_MODE_STACK"
_DEVICE = "DEFAULT_DEVICE"
_DEFAULT_DTYPES = frozenset({"default_dtype", "global state (default_dtype)"})
"""How a default dtype is told that differs."""


def _dtype(it: Changing) -> str:
    if from_numpy(it.series):
        return ""
    if _only_with(it, _DEFAULT_DTYPES):
        return ""  # what is made under another default has another dtype
    seen = [text_of(value) for value in it.series.values]
    if any(each.startswith("complex") for each in seen) and not seen[0].startswith("complex"):
        return (
            f"A dtype is never a symbol: {it.name} is complex in one call, which has its own entry."
        )
    if _of_a_parameter(it):
        return (
            "A dtype is never a symbol, and that of a parameter or buffer has changed: the module "
            "was cast, or has another one in its place, between the calls. Do that before the "
            "first, or accept an entry for each dtype."
        )
    return _one_dtype(it, "to(torch.{})")


def _of_a_parameter(it: Changing) -> bool:
    """Whether it is a parameter or a buffer, or changes together with one."""
    return any(is_parameter(it, each) for each in (it.series.source, *it.series.likewise))


def _numpy_dtype(it: Changing) -> str:
    if not from_numpy(it.series) or _only_with(it, _DEFAULT_DTYPES):
        return ""
    return _one_dtype(it, "astype('{}')")


def _one_dtype(it: Changing, conversion: str) -> str:
    shared = shared_dtype(it.series.values)
    if shared:
        example = f"{it.name}.{conversion.format(shared)}"
        same = f"convert {of_numpy(it)}{it.name} before the call, e.g. {example}"
    elif "bool" in map(text_of, it.series.values):
        same = (
            f"{it.name} is bool in one call and a number in another, which as a mask or an index "
            f"means something else: {have(it)} always the one"
        )
    else:
        same = f"{have(it)} {it.name} always in one"
    return f"A dtype is never a symbol: {same}, or accept an entry for each."


def _rank(it: Changing) -> str:
    if _only_with(it, {FUNCTORCH}):
        return ""  # vmap takes a dimension
    return (
        f"A number of dimensions is never a symbol: reshape {it.name} to one rank before the call, "
        "or accept an entry for each."
    )


def _base(it: Changing) -> str:
    return (
        f"Where sizes are symbols, an entry also requires the sizes of what a tensor is a view of: "
        f"hand {it.name} over always as a view of such a tensor, or always as none, with "
        f"{it.name}.clone()."
    )


def _device(it: Changing) -> str:
    if _of_a_parameter(it):
        return (
            "A device is a constant of the graph, and that of a parameter or buffer has changed: "
            "the module was moved, or has another one in its place, between the calls. Do that "
            "before the first, or accept an entry for each device."
        )
    return f"Move {it.name} to one device before the call."


def _requires_grad(it: Changing) -> str:
    if is_parameter(it, it.series.source) or _only_with(it, {FUNCTORCH}):
        return ""
    if compiled_for_a_break(it):
        return (
            f"{short_name(it.history.name)} is compiled by itself because the graph breaks in what "
            f"calls it, with {it.name} as that has it: remove that break (why-break says how)."
        )
    same = f"Call with {it.name} always requiring grad or never"
    match it.history.computed(it.series):
        case False:
            return f"{same}: {it.name}.detach() where no gradient is needed."
        case True:
            return (
                f"{it.name} requires grad in one call as the result of what is computed before, of "
                "which a detach() would cut the gradients. Where none are needed, call it under "
                "torch.no_grad(); else accept both entries."
            )
    return f"{same}, or accept both entries."


def _frozen(it: Changing) -> str:
    if not is_parameter(it, it.series.source):
        return ""
    return (
        f"Whether {it.name} requires grad is a constant of the graph: freeze parameters "
        "(requires_grad_(False)) before the first call, or accept both entries."
    )


def _of_sequences(it: Changing) -> str:
    if not set(_SEQUENCES).issuperset(map(text_of, it.series.values)):
        return ""
    return (
        f"{'Keep' if have(it) == 'keep' else 'Pass'} {it.name} always as the same type; a list and "
        "a tuple of the same things need an entry each."
    )


def _class_again(it: Changing) -> str:
    shown = [text_of(value) for value in it.series.values]
    if len(shown) < 2 or len({each.rpartition(".")[2] for each in shown}) > 1:
        return ""
    return (
        f"{it.name} has another class each time, of the same name, as a class statement in a "
        "function makes them: make the class once, outside."
    )


def _type(it: Changing) -> str:
    if it.wraps or _of_many_classes(it, it.series):
        return _wrapper(it)
    if _NONE in map(text_of, it.series.values):
        return entry_for_none(it)
    if it.name.endswith(_MODULES):  # torch makes another kind of dictionary where one is deleted
        return _submodules(it)
    names = {text_of(value).rpartition(".")[2] for value in it.series.values}
    plain = next((name for name in names if f"Parametrized{name}" in names), "")
    if plain:
        return (
            f"Parametrized{plain} is what torch.nn.utils.parametrize, and weight_norm by it, calls "
            f"the class that it makes of {plain}: if it has made that, do so before the first "
            "call, or accept an entry for each."
        )
    if have(it) == "keep":
        return (
            f"Keep {it.name} of one type: each has an entry of its own, also where several objects "
            "of one class differ in it."
        )
    return f"Pass {it.name} always as the same type: each has an entry of its own."


def entry_for_none(it: Changing) -> str:
    """What is said of what is None in one call and something else in another."""
    return (
        f"There is an entry for {it.name} being None, and one for something else: {have(it)} "
        "always one of them, or accept both."
    )


def _length(it: Changing) -> str:
    first = it.name == "self.state" and it.series.values[0] == 0
    if _OPTIMIZER in it.history.filename and (first or it.name.startswith("list(self.state.")):
        return (
            "An optimizer makes what it keeps for each parameter (self.state) in its first step, "
            "which has an entry of its own: accept that, or take it before step is compiled."
        )
    if _OPTIMIZER in it.history.filename and it.name == "self.state":
        return (
            "For which parameters an optimizer keeps something (self.state) is a constant of the "
            "graph: do what replaces that, as load_state_dict does, before the first call of step."
        )
    if it.series.source in _ARGUMENTS or _takes_keywords(it):
        if any(
            each.aspect.what == "type" and _of_many_classes(it, each) for each in it.history.series
        ):
            return _wrapper(it)
        return _as_many_arguments(it, _ARGUMENTS.get(it.series.source, _ARGUMENTS["kwargs"]))
    if it.series.kind in _OF_DICTS or it.name.endswith(_MODULES):
        return _keys(it)
    return changed_by_itself(it) or (
        f"The length of a container is a constant of the graph: {have(it)} {it.name} always with "
        "as many elements, or do what needs all of them outside of the compiled function."
    )


def _as_many_arguments(it: Changing, same: str) -> str:
    fact = f"What a call hands over is a constant of the graph: give it {same} in each call"
    if read := _read_of(it):
        named = ", ".join(read[:_NAMED]) + ", …" * (len(read) > _NAMED)
        are = "are" if len(read) > 1 else "is"
        return (
            f"{fact}, with the same for {named}, which {are} read: None, or another value, would "
            "take an entry of its own. Where both are needed, that is the price."
        )
    return f"{fact}, with None, say, where there is nothing to tell."


def _read_of(it: Changing) -> list[str]:
    """The elements that one entry looks at itself, and another does not: what they are matters,
    too."""
    whole = path_of(it.series.source)
    entries: list[dict[str, None]] = []
    for item in it.entries.made if whole is not None else ():
        found: dict[str, None] = {}
        entries.append(found)
        for attempt in it.recording.attempts(item.id)[-1:]:
            for guard in it.recording.guards(None, attempt=attempt.id):
                path = path_of(guard.source)
                if path is None or whole is None or not whole.leads_to(path):
                    continue
                step = path.steps[len(whole.steps) :][:1]
                if step and step[0].startswith("[") and guard.kind not in _OF_DICTS:
                    found[it.spell(str(Path(path.root, (*whole.steps, *step))))] = None
    everywhere = set(entries[0]).intersection(*entries[1:]) if len(entries) > 1 else set()
    return [each for each in dict.fromkeys(chain(*entries)) if each not in everywhere]


def _takes_keywords(it: Changing) -> bool:
    """Whether it is what a function takes its other keyword arguments as, by its definition."""
    if not it.series.source.isidentifier():
        return False
    code = it.recording.code(it.history.code)
    lines = (row.line for row in code.instructions if row.line not in (None, code.first_line))
    body = next(filter(None, lines), 0)
    head = "\n".join(code.source[: max(1, body - code.source_first_line)])
    return re.search(rf"\*\*\s*{it.series.source}\b", head) is not None


def _each_object(it: Changing) -> str:
    """How a sentence begins about what changes: an argument, or what stands somewhere."""
    if it.name == "self":
        return "Each object that the method is called on"
    path = path_of(it.name)
    argument = have(it) == "hand over" and path is not None and not path.steps
    return f"Each object that {'is handed over as' if argument else 'stands in'} {it.name}"


def _hooks(it: Changing) -> str:
    """Also of the native engine, whose guard is on a module, and asks whether a call does more."""
    whose = f"{it.name}, or a forward that is the object's own," if it.what == "hooks" else ""
    if it.series.kind == "MODULE_HOOKS":
        whose = "all modules"
    return (
        f"A hook of {whose or it.name.rpartition('.')[0]} was registered, or removed, between the "
        "calls: do that before the first call, or accept an entry for each."
    )


def _keys(it: Changing) -> str:
    if it.name.endswith(_ATTRIBUTES):
        return ""
    if it.name.endswith(_HOOKS):
        return _hooks(it)
    if it.name.endswith(_MODULES):
        return _submodules(it)
    if _takes_keywords(it):
        return _as_many_arguments(it, _ARGUMENTS["kwargs"])
    known = (
        f"{have(it).capitalize()} {it.name} always with the same keys, and with values of the same "
        "kinds: None for what is not there is another kind."
    )
    return changed_by_itself(it) or known


def _submodules(it: Changing) -> str:
    return (
        f"{it.name.removesuffix(_MODULES)} has other submodules in one call than in another: add "
        "all of them before the first call; of several models that differ in them, each takes an "
        "entry."
    )


def _attributes(it: Changing) -> str:
    of_a_dict = it.what == "dictionary" or it.series.kind == "DICT_CONTAINS"
    if of_a_dict and not it.name.endswith(_ATTRIBUTES):
        return ""
    text = (
        f"{it.name.removesuffix(_ATTRIBUTES)} has an attribute in one call that it has not in "
        "another: set all of them where it is made"
    )
    if constants := _constants_in(it):
        return (
            f"{text}, to what they are later: each value of {' and '.join(constants)} is compiled "
            "by itself, and where the program needs several, that is the price."
        )
    return f"{text}."


def _constants_in(it: Changing) -> list[str]:
    """Those of the attributes that are a constant in an entry, of a kind that is never a symbol: a
    member of an enum, too."""
    owner = it.series.source.removesuffix(_ATTRIBUTES)
    names = dict.fromkeys(chain(*(_QUOTED.findall(text_of(each)) for each in it.series.values)))
    wants = [wanted_by(it.recording, each) for each in it.entries.made] if names else []
    sources = [f"{owner}.{name}" for name in names]
    return [
        it.spell(source)
        for source in sources
        if any(_is_no_number(wanted.get((source, _VALUE), UNKNOWN)) for wanted in wants)
    ]


def _is_no_number(value: Datum) -> bool:
    return isinstance(value, bool | str | Words) and value != UNKNOWN


def _stride(it: Changing) -> str:
    fact = f"Where the elements lie in memory is a constant of the graph: {have(it)}"
    if (kept := it.kept_inside) is not None:
        return (
            f"Where the elements lie in memory is a constant of the graph, and {it.name} is put "
            f"there by the compiled function itself{it.place_inside(kept)}: put a copy there that "
            "is laid out alike in each call, clone(memory_format=torch.contiguous_format)."
        )
    if is_one(it, it.series.source, it.dim):
        return f"{fact} {a_clone(it.name, it.dim)}"
    return f"{fact} {it.name} always in one memory format, e.g. {it.name}.contiguous()."


def _wrapper(it: Changing) -> str:
    return (
        f"{function_name(it.history.name)} is one code for all functions that it wraps, and each "
        "of them takes entries of it. If there are few, that is the price."
    )


def _of_many_classes(it: Changing, series: Series) -> bool:
    """Whether a decorator has put it around methods of several classes, told by `series`."""
    _, inner, name = it.history.name.rpartition("<locals>.")
    return bool(inner) and "." not in name and series.source == _SELF


def _another(it: Changing) -> bool:
    return any(isinstance(value, Words) and value.another for value in it.series.values)


def _has_died(it: Changing) -> bool:
    """Whether it is known of another call that the object had died."""
    same = (each for each in it.history.series if each.source == it.series.source)
    return any(each.kind == INVALID for each in same)


def _few_objects(it: Changing) -> str:
    if _another(it) or _has_died(it):
        return ""
    if it.wraps:
        return _wrapper(it)
    if it.name.endswith(_CODE):
        return (
            f"{it.name.removesuffix(_CODE)} is another function in one call than in another, and "
            "each is compiled by itself. If there are few, that is the price; else have one, and "
            "hand over what differs."
        )
    return (
        f"{_each_object(it)} is compiled by itself: what was traced was read from it. If there are "
        "few, that is the price."
    )


def _code_again(it: Changing) -> str:
    if not it.name.endswith(_CODE):
        return ""
    return (
        f"{it.name.removesuffix(_CODE)} is a function with code of its own each time, as exec and "
        "several definitions make them: define it once, and hand over what differs."
    )


def _object_again(it: Changing) -> str:
    if _has_died(it):
        return ""
    return (
        f"{_each_object(it)} is compiled by itself. If there are few, as the layers of a model, "
        "that is the price; if the program makes one for each call, make it once, outside, and "
        f"{'call it on' if it.name == 'self' else have(it)} that one."
    )


def _identity(it: Changing) -> str:
    other = text_of(it.series.values[0]) if it.series.values else "another"
    if whose := whose_key_is_told(other):
        return (
            f"{it.name} is looked up in {whose}: each key is compiled by itself. If "
            "there are few, that is the price; if there are many, hand over what is looked up for "
            "it."
        )
    return (
        f"{it.name} and {other} were one object when the entry was made, and that they are is a "
        f"constant of the graph: {have(it)} the same object in each call, or never (of a tensor a "
        "copy, clone)."
    )


def _same_tensor(it: Changing) -> str:
    return (
        f"Whether two inputs are the same tensor is a constant of the graph: {have(it)} a copy "
        "(clone) where they coincide."
    )


def _backend(it: Changing) -> str:
    return (
        "All compiled versions of a function share the cache of its code. Use one backend object "
        "for it, with the same dynamic, mode and options each time (with others torch.compile "
        "makes another of it), or a copy of the function for each."
    )


def _inference_tensor(it: Changing) -> str:
    if any(each.aspect.what == INFERENCE_MODE for each in it.history.series):
        return ""  # it is made where it is called, or at least it would not be enough
    return (
        f"{it.name} was made under torch.inference_mode in one call and not in another: make it "
        f"under one, or {have(it)} {it.name}.clone(), made outside of that mode."
    )


def _inference(it: Changing) -> str:
    return (
        f"{it.name} was made under torch.inference_mode, or handed over there, in one call and not "
        "in another: make it and call it under one mode."
    )


def _keys_of_dispatch(it: Changing) -> str:
    # Autocast changes the keys with which tensors are compared, whatever tensors they are.
    if _only_with(it, AUTOCAST | {FUNCTORCH}):
        return ""
    return (
        f"{it.name} comes in different kinds (a subclass, an inference tensor, another mode): make "
        "it the same kind before the call."
    )


def _only_with(it: Changing, others: AbstractSet[str]) -> bool:
    """Whether something has only changed when one of others has."""
    nearest = [each.nearest for each in it.history.recompilations if each.nearest is not None]
    differing = [{found.by.what for found in changes_of(each)} for each in nearest]
    return all(it.what not in each or each & others for each in differing)


_ALGORITHMS = "choice of algorithms (torch.use_deterministic_algorithms)"
_REDUCING = "way of adding up in torch.backends.cuda.matmul"
_OVERRIDES = "overriding of functions (torch._C.DisableTorchFunction)"
_SELF = "self"
_STATES = {
    "grad_mode": "grad mode (torch.no_grad, torch.enable_grad)",
    "inference_mode": "inference mode (torch.inference_mode)",
    **dict.fromkeys(AUTOCAST, "autocast"),
    "autocast_cache_enabled": "caching of autocast (torch.set_autocast_cache_enabled)",
    "default_dtype": "default dtype (torch.set_default_dtype)",
    "deterministic_algorithms": _ALGORITHMS,
    "deterministic_algorithms_warn_only": _ALGORITHMS,
    "num_threads": "number of threads (torch.set_num_threads)",
    "allow_tf32": "precision of matrix products (torch.set_float32_matmul_precision)",
    "allow_fp16_reduce": f"{_REDUCING} (allow_fp16_reduced_precision_reduction)",
    "allow_bf16_reduce": f"{_REDUCING} (allow_bf16_reduced_precision_reduction)",
    "torch_function": _OVERRIDES,
    "torch_function_all_disabled": _OVERRIDES,
}
_OF_A_THREAD = AUTOCAST | {"grad_mode", "inference_mode"}
_STATES |= {f"global state ({name})": words for name, words in _STATES.items()}
"""By what differs, also as it is told where torch has said that and no value is known."""


def _state(it: Changing) -> str:
    if it.what == "grad_mode" and any(
        each.aspect.what == "inference_mode"
        and (each.times, each.newest) == (it.series.times, it.series.newest)
        for each in it.history.series
    ):
        return ""  # what is in inference mode has no gradients
    same = _STATES.get(it.what, "global state of torch")
    walks = (*it.entries.made, *(each.translation for each in it.history.recompilations))
    threads = {item.thread for item in walks}
    each = " Each thread has its own, so set it in each." if len(threads) > 1 else ""
    return (
        f"Call it under one state: always the same {same}."
        f"{each if it.what in _OF_A_THREAD else ''} Where both are needed, as in training and "
        "evaluation, the two entries are the price."
    )


def _transforms(it: Changing) -> str:
    return (
        "What is called under a transform of torch.func (vmap, grad …) has an entry for it: call "
        "it always under the same, or accept an entry for each."
    )


def _modes(it: Changing) -> str:
    return "" if _sets_a_device(it) else "Call it under the same torch function modes."


def _default_device(it: Changing) -> str:
    if it.series.kind == _MODES and not _sets_a_device(it):
        return ""
    return "Set the default device once, before the first call."


def _sets_a_device(it: Changing) -> bool:
    """A default device is a torch function mode, and a guard of its own says that it is set."""
    return any(
        failure.kind == _DEVICE
        for each in it.history.recompilations
        if each.nearest is not None
        for failure in each.nearest.failures
    )


def _reached(it: Changing) -> str:
    if it.wraps:
        return _wrapper(it)
    missing = (
        failure.missing
        for each in it.history.recompilations
        if each.nearest is not None
        for failure in each.nearest.failures
        if unscoped(failure.source) == it.series.source
    )
    if it.series.kind != "TYPE_MATCH" and not any(missing):
        return ""
    if it.name.endswith(_CODE):  # what is called, but is no function, has none
        return (
            f"{it.name.removesuffix(_CODE)} is a function in one call and another thing to be "
            "called in another, and each is compiled by itself. If there are few, that is the "
            "price; else have one, and hand over what differs."
        )
    tensor = it.series.kind == "TENSOR_MATCH"
    there = ", and with a tensor there: None would take an entry, too" if tensor else ""
    return (
        f"{it.name} was there when the entry was made, and is not in another call: "
        f"{have(it)} what it is taken from always with the same keys and attributes{there}."
    )


def _died(it: Changing) -> str:
    if it.goes_on_with:
        return (
            f"{it.name} is what {it.goes_on_with} goes on with after its graph break, and has "
            "died since. If it is a method whose arguments break the graph, work them out in a "
            "statement before its call; else remove that break (why-break "
            f"{it.goes_on_with} says how)."
        )
    how = "make it once, and keep it alive"
    if it.name.endswith(_GRADIENT):
        how = (
            "keep the one that there is, which backward() adds to: zero_grad(set_to_none=False), "
            "and write into it (copy_) in place of setting another"
        )
    return (
        f"{it.name}{_of_what(it)}, which the entry knows by identity, has died since, and there is "
        f"another: {how}."
    )


def _of_what(it: Changing) -> str:
    """The type of what has died, and the program's line from which a library's function that is
    compiled has it."""
    newest = it.history.recompilations[it.series.newest]
    failures = newest.nearest.failures if newest.nearest is not None else ()
    origins = [each.origin for each in failures if each.kind == "INVALID" and each.origin]
    what = _said(it.recording, origins[0]) if origins else ""
    stack = newest.translation.python_stack if is_installed(it.history.filename) else ()
    own = own_frame(stack)
    where = f"of {place_text(own, it.recording.facts.cwd)}" if own else ""
    return f" ({', '.join(filter(None, (what, where)))})" * bool(what or own)


def _said(recording: Recording, origin: Origin) -> str:
    """What a guard is for, by its type; of a class its name, which is known once it was used."""
    if origin.value is None or origin.value.type != "type":
        return "" if origin.value is None else origin.value.type
    if recording.has(origin.moment + 1):
        for value in recording.state(origin.moment + 1).values.values():
            if value.source == origin.value.source and not value.lazy:
                return f"the class {value.text}"
    return "a class"


def _metadata(it: Changing) -> str:
    if it.what == PLACEMENTS:
        return (
            "The mesh and the placements of a DTensor are constants of the graph: bring it into "
            "the same ones before each call (redistribute), or accept an entry for each."
        )
    return (
        "What __tensor_flatten__ of a tensor subclass returns beside the tensors is a constant of "
        f"the graph: keep what changes of {it.name or 'it'} in one of the tensors, or accept an "
        "entry for each."
    )


def _next_value(it: Changing) -> str:
    return (
        f"What {it.name}, an itertools.count, gives next is a constant of the graph: call next() "
        "on it outside of the compiled function, and hand over what it gives."
    )


def _marks(it: Changing) -> str:
    return f"Mark the dimensions of {it.name} before the first call, and for every tensor alike."


def each_by_itself(it: Changing) -> str:
    """What is said where nothing better is known."""
    return (
        f"Each value of {it.name} is compiled by itself. If there are few, that is the price; if "
        "there are many, take what depends on it out of the compiled function, or hand over what "
        "it is looked up for instead."
    )


def _unread(it: Changing) -> str:
    """A value that is not the constant of the entry; what it is could not be looked at."""
    return "" if it.what or it.series.values or not it.name else each_by_itself(it)


_OF_VALUES = (
    "TYPE_MATCH", "EQUALS_MATCH", "ID_MATCH", "TRUE_MATCH", "FALSE_MATCH", "NONE_MATCH"
)  # fmt: skip


class _Row(NamedTuple):
    text: Callable[[Changing], str]
    """What is advised; empty: it does not apply."""
    what: str = ""
    """What of a thing changes."""
    kinds: tuple[str, ...] = ()
    """Kinds of guards, where what changes has no row of its own."""


_ROWS: dict[str, _Row] = {
    "dtype": _Row(_dtype, "dtype"),
    "dtype of an array": _Row(_numpy_dtype, "dtype"),
    "rank": _Row(_rank, "rank"),
    "base": _Row(_base, BASE),
    "device": _Row(_device, "device"),
    "requires_grad": _Row(_requires_grad, "requires_grad"),
    "requires_grad of a parameter": _Row(_frozen, "requires_grad"),
    "list or tuple": _Row(_of_sequences, "type"),
    "class made again": _Row(_class_again, "type"),
    "type": _Row(_type, "type"),
    "length": _Row(_length, "length"),
    "keys": _Row(_keys, "dictionary", ("DICT_CONTAINS", "DICT_LENGTH", "DICT_KEYS")),
    "hooks": _Row(_hooks, "hooks"),
    "attributes": _Row(_attributes, "dictionary", ("HASATTR", "NO_HASATTR", "DICT_CONTAINS")),
    "stride": _Row(_stride, "stride"),
    "few objects": _Row(_few_objects, "object"),
    "code made again": _Row(_code_again, "object"),
    "object made again": _Row(_object_again, "object"),
    "identity": _Row(_identity, "identity"),
    "same tensor": _Row(_same_tensor, kinds=("NO_TENSOR_ALIASING", "NO_ALIASING")),
    "backend": _Row(_backend, "backend"),
    "inference tensor": _Row(_inference_tensor, "inference tensor"),
    "inference mode": _Row(_state, INFERENCE_MODE),
    "inference": _Row(_inference, "inference"),
    "dispatch keys": _Row(_keys_of_dispatch, "dispatch keys"),
    "metadata of a subclass": _Row(_metadata, "metadata", (SPEC,)),
    "next value": _Row(_next_value, NEXT),
    "state": _Row(_state, kinds=("GLOBAL_STATE",)),
    "transforms": _Row(_transforms, FUNCTORCH),
    "function modes": _Row(_modes, kinds=(_MODES,)),
    "default device": _Row(_default_device, kinds=(_MODES, _DEVICE)),
    "not there": _Row(_reached, kinds=("", "TENSOR_MATCH", *_OF_VALUES)),
    "value unread": _Row(_unread, kinds=("EQUALS_MATCH", "TRUE_MATCH", "FALSE_MATCH")),
    "object that died": _Row(_died, kinds=("INVALID",)),
    "marks": _Row(_marks, "marks", ("DIMENSION_DYNAMIC_MARKING_GUARD",)),
}
_KNOWN = frozenset(row.what for row in _ROWS.values())


def _left_by_a_break(it: Changing) -> str:
    return (
        f"{it.name} is what {it.left_by} goes on with after its graph break, with another "
        f"{it.what} in one call than in another: remove that break (why-break {it.left_by} says "
        "how), or have it always alike."
    )


def _rule(row: _Row) -> Rule:
    def rule(it: Changing) -> Advice | None:
        if it.what and it.what in _KNOWN:
            asked = it.what == row.what
        else:
            asked = it.series.kind in row.kinds
        said = row.text(it) if asked else ""
        if said and it.left_by and row.what in HANDED_OVER:
            said = _left_by_a_break(it)
        return it.advise(said) if said else None

    return rule


KIND_RULES: dict[str, Rule] = {name: _rule(row) for name, row in _ROWS.items()}
"""In the order in which they are asked."""
