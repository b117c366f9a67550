"""Is this guarded? Any expression over the inputs, a module or globals, asked of every entry.

Three things can be said of an expression in an entry. A guard looks at its value, or at something
that decides it (a tensor's size is looked at by the guard on the tensor). Or guards look at what
leads to it, or at parts of it, only: then its own value can change unnoticed. Or it is an input of
the graph, so that its value is free. What no guard comes near was not used in what was compiled, or
cannot change.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

import msgspec

from stepper.analysis.conditions import SHAPE_ENV, Left, left_by
from stepper.analysis.getters import Getter, getter_of, read_as
from stepper.analysis.guard_kinds import HIDING, aspects_of, why_unchecked
from stepper.analysis.guard_uses import entries, guards_of, of_class
from stepper.analysis.handed_on import inlined_anywhere, inlined_as, names_inside, spelling
from stepper.analysis.shapes import Size, same, size_of
from stepper.analysis.sources import BY_PLACE, Path, is_key, meant, path_of, unscoped
from stepper.analysis.walks import expressions_in
from stepper.analysis.wanted import Wanted, resolved, symbolic, wanted_by
from stepper.client.meant import is_meant
from stepper.model.datum import UNKNOWN, Datum
from stepper.model.lookup import Aspect
from stepper.model.trace import Guard, Translation
from stepper.recording.reader import Recording
from stepper.support.guarded_values import membership_of, parsed

_INHERITED = re.compile(r"\.__mro__\[[1-9]\d*\]\.__dict__\)\['\w+'\]$")
"""How a source ends that leads to an attribute of a class which a value's own derives from."""
_NAMED = re.compile(r"\['(\w+)'\]")
_INDEXED = re.compile(r"(size|stride)\((\d+)\)")
_BY_NAME = ("LOAD_FAST", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME", "LOAD_CLOSURE", "STORE_")
_SHAPES = {
    ".shape": "size",
    ".size()": "size",
    ".stride()": "stride",
}
"""All sizes, all strides."""
_OF_TENSORS = {
    ".dtype": "dtype",
    ".device": "device",
    ".requires_grad": "requires_grad",
    ".ndim": "rank",
    ".dim()": "rank",
}
"""Properties of tensors that TENSOR_MATCH compares, and how they are called in what is wanted."""
_CONTIGUOUS = ".is_contiguous()"
_FOLLOWING = {
    ".numel()": "size",
    ".nelement()": "size",
    _CONTIGUOUS: "stride",
    ".is_cpu": "device",
    ".is_cuda": "device",
    ".is_floating_point()": "dtype",
    ".is_complex()": "dtype",
    ".element_size()": "dtype",
    ".itemsize": "dtype",
}
"""Properties of tensors that follow from those."""
_TYPED = frozenset(
    {"TENSOR_MATCH", "TYPE_MATCH", "SEQUENCE_LENGTH", "EQUALS_MATCH", "CONSTANT_MATCH", "ID_MATCH",
     "BOOL_MATCH", "NONE_MATCH", "CLASS_MATCH", "FUNCTION_MATCH", "MODULE_MATCH", "NN_MODULE"}
)  # fmt: skip
"""Kinds that pass for values of one type only."""
_CONSTANTS = frozenset({"EQUALS_MATCH", "CONSTANT_MATCH"})
_ALL_KEYS = frozenset({"DICT_KEYS", "DICT_KEYS_MATCH"})
_IN_A_ROW = frozenset({"LIST_LENGTH", "SEQUENCE_LENGTH"})
"""Kinds that look at what has elements by their places."""
_LISTED = "list()"
_MODULES = "._modules"
_FROM_THE_END = re.compile(r"\[-(\d+)\]")
_PLACED = re.compile(r"\[\d+\]")
_LENGTHS = frozenset(
    {"LIST_LENGTH", "SEQUENCE_LENGTH", "MAPPING_KEYS_CHECK", *_ALL_KEYS, *_CONSTANTS}
)
"""Kinds that pass for values of one length only."""
_TENSORS = frozenset({"TENSOR_MATCH"})
_CODES = frozenset({"CLOSURE_MATCH"})
_OWN = re.compile(r"\.__dict__$")
_CONTAINS = frozenset({"DICT_CONTAINS", "DICT_NOT_CONTAINS", "HASATTR", HIDING, *_ALL_KEYS})
"""Kinds that look whether a part is there."""
_NUMBER = ".value"
_OF_ELEMENTS = frozenset({"keys", "elements"})
_FEW = 2
"""Keys or elements that are named, where guards ask for each by itself."""
_SPEC = "DTENSOR_SPEC_MATCH"
_OF_A_NUMBER = "CONSTANT_SUBCLASS_MATCH"
_MODULE_CHECKS = ("___check_nn_module(", "not ___has_hooks(")
_OF_MODULES = frozenset(
    {".training", "._forward_hooks", "._forward_pre_hooks", "._backward_hooks",
     "._backward_pre_hooks"}
)  # fmt: skip
_SELF = "self"
_OTHER_PARTS = _CONTAINS - _ALL_KEYS
"""Those that look at one part, and so not at what leads to another one."""


class Guarded(msgspec.Struct, frozen=True):
    """What an entry's guards know of an expression."""

    translation: Translation
    """The compilation that made the entry."""
    by: tuple[Guard, ...] = ()
    """Guards that look at its value."""
    through: tuple[Guard, ...] = ()
    """Guards that look at a tensor of which it is a property."""
    entry_wants: Wanted = {}
    """What the entry wants of all its values."""
    wants: tuple[Datum, ...] = ()
    """With `through`: what the property must be, of a shape each of its sizes; a symbol is free
    within the guards on shapes."""
    whole: bool = False
    """It is a shape, not one of its sizes."""
    is_call: bool = False
    """It is what a call gives, of something of which parts are guarded."""
    of_module: bool = False
    """It is the mode of a module, or a dictionary of its hooks."""
    is_key: bool = False
    """It is a key of a dictionary, by its place."""
    follows: str = ""
    """What of the tensor it follows from, where it is none of what guards compare."""
    never: bool = False
    """Whether it is False whatever is free of that."""
    meant: str = ""
    """What the root of the expression is in what was compiled, where that is called otherwise."""
    alike: int = 0
    """How many more inlined functions there are of whose root the same is true."""
    instance: str = ""
    """What is an instance of the class that the expression begins with."""
    value: Datum = UNKNOWN
    """What its value must be, where a guard compares it with a constant."""
    presence: tuple[Guard, ...] = ()
    """Guards on whether it is there, as an attribute or under its key."""
    getter: Getter | None = None
    """It is a property of its class, and this was traced for it."""
    parts: tuple[Guard, ...] = ()
    """Guards on parts of it only."""
    around: tuple[Guard, ...] = ()
    """Guards on what leads to it only."""
    inputs: tuple[str, ...] = ()
    """The graph's inputs that are its value, by name."""
    unchecked: tuple[Guard, ...] = ()
    """Guards on its value that make no check."""
    taken_back: tuple[Guard, ...] = ()
    """Guards on its value that the compiler had made, and that the entry does not check."""

    free: bool = False
    """It is a size, or sizes, of which one is a symbol at least."""

    size: Size | None = None
    """It is a size or a number that was a symbol, or was to be one."""
    left: Left | None = None
    """It is a size that is still a symbol, to which the conditions together leave one value."""

    @property
    def requires(self) -> tuple[Datum, ...]:
        """What it must be, as far as that is known: one value, of a shape each of its sizes."""
        if self.left is not None:
            return (self.left.value,)
        if self.through:
            return self.wants
        return () if self.value == UNKNOWN else (self.value,)

    @property
    def conditions(self) -> tuple[Guard, ...]:
        """Conditions on sizes or numbers that it is part of."""
        return tuple(each for each in (*self.by, *self.parts) if each.kind == SHAPE_ENV)

    @property
    def aspects(self) -> tuple[str, ...]:
        """What of it guards look at, where none looks at its value, e.g. `type`, `length`."""
        if self.is_key:
            return ()  # those are the dictionary's
        if self.of_module and any(guard.kind == "NN_MODULE" for guard in self.by):
            return ()  # that guard looks at the value itself, among others
        each = [aspects_of(guard) for guard in self.by if guard.kind != SHAPE_ENV]
        found = dict.fromkeys(what for one in each for what in one) if all(each) else {}
        for many in _OF_ELEMENTS & found.keys():
            single = [_element(guard) for guard in self.by if many in aspects_of(guard)]
            if all(single) and len(set(single)) <= _FEW:
                del found[many]
                found |= dict.fromkeys(single)
        return tuple(found)

    @property
    def inherited(self) -> bool:
        """Whether guards look at it only where it stands in a class that its own derives from: if
        another class before that one has it later, they do not see that."""
        return bool(self.by) and all(_INHERITED.search(guard.source) for guard in self.by)

    @property
    def identical(self) -> Guard | None:
        """The guard by which what it is an attribute of is always the same object: a member of an
        enum, say."""
        return next((each for each in reversed(self.around) if each.kind == "ID_MATCH"), None)

    @property
    def near(self) -> bool:
        """Whether guards look at it, at whether it is there, or at parts of it."""
        return bool(self.by or self.through or self.presence or self.parts or self.getter)

    @property
    def known(self) -> bool:
        """Whether the entry comes near it at all."""
        return bool(self.near or self.around or self.unchecked or self.taken_back or self.inputs)


def asked(recording: Recording, expression: str, function: str = "") -> list[Guarded] | None:
    """What each entry, of functions with this in their name, knows of an expression by its guards;
    None: it is none that could be guarded.

    A person's spelling will do: `self.fc.weight`, `x.shape[0]`, `config['depth']`.
    """
    path = path_of(expression)
    found = []
    for item in entries(recording):
        if is_meant(recording, item, function):
            known = asked_of(recording, item, expression) or Guarded(item)
            inlined = _of_inlined(recording, item, path) if path and not known.near else []
            found += [known] if known.inputs else inlined or [known]
    return None if path is None and not any(each.known for each in found) else found


def _as_told(recording: Recording, item: Translation, expression: str) -> Path | None:
    """The path of what an entry's guards look at that answers call so, or of a part of it, as the
    call that has left it on the stack, say; None: there is no such."""
    spell = spelling(recording, item)
    sources = {guard.source for guard in guards_of(recording, item)} - {""}
    longest, source = max(
        ((len(told), each) for each in sources if _begins(expression, told := spell(each))),
        default=(0, ""),
    )
    return path_of(f"{source}{expression[longest:]}") if source else None


def _begins(expression: str, told: str) -> bool:
    """Whether an expression is that of a value, or of a part of it."""
    return expression.startswith(told) and expression[len(told) : len(told) + 1] in ("", ".", "[")


def asked_of(recording: Recording, item: Translation, expression: str) -> Guarded | None:
    """What one entry knows of an expression by its guards; None: it is none that could be
    guarded."""
    path = path_of(expression)
    known = None if path is None else _in_entry(recording, item, path)
    if path is not None and known is not None and not known.near and known.around:
        known = _in_entry(recording, item, read_as(recording, item, path))
        if not known.near and (given := _as_given(recording, item, path)) is not None:
            known = _in_entry(recording, item, given)
    if known is None or not known.near:
        told = _as_told(recording, item, expression)
        known = known if told is None else _in_entry(recording, item, told)
    return known


def _as_given(recording: Recording, item: Translation, path: Path) -> Path | None:
    """A path whose beginning a `__getattr__` or a property gives, from where that was taken: the
    section of a configuration, say, is one of its items. None: none does."""
    guards = guards_of(recording, item)
    for at in range(len(path.steps) - 1, 0, -1):
        owner = Path(path.root, path.steps[:at], path.globally)
        getter = getter_of(recording, item, owner, guards)
        given = path_of(getter.gives) if getter is not None and getter.gives else None
        if given is not None:
            return Path(given.root, (*given.steps, *path.steps[at:]), given.globally)
    return None


def called_otherwise(
    recording: Recording, path: Path, by: Collection[Translation]
) -> list[tuple[Translation, Guard, str, Path]]:
    """The guards on what begins with another name and goes on as a path does, or on the tensor of
    which that is a property, the first of each entry that was compiled in a call by one of these
    frames, if there are such; the source of that name, and what of the path it stands for: where
    a method is compiled, that is `layers[0]` for its `self`."""
    codes = [recording.code(item.code) for item in by]
    callers = {(code.filename, code.qualname) for code in codes}
    found = []
    for item in entries(recording) if path.steps else ():
        above = {(frame.filename, frame.function) for frame in item.python_stack}
        if callers and callers.isdisjoint(above):
            continue
        guards = guards_of(recording, item)
        for at in range(len(path.steps)):
            stands_for = Path(path.root, path.steps[:at], path.globally)
            if known := _by_another_name(path, path.steps[at:], guards, whole=at == 0):
                found.append((item, *known, stands_for))
                break
    return found


def _by_another_name(
    path: Path, steps: tuple[str, ...], guards: list[Guard], *, whole: bool
) -> tuple[Guard, str] | None:
    """The first guard on what goes on with these steps after another name, and that; what is left
    of a path is looked for only after `self`."""
    for guard in guards:
        other = path_of(guard.source)
        if other is None or other.root == path.root or not (whole or other.root == _SELF):
            continue
        meant = _as_member(Path(other.root, steps, other.globally), guards)
        of, _, kinds = _property(meant)
        property_of = of is not None and guard.kind in kinds
        if meant.leads_to(other) or (
            property_of and any(other.steps == each.steps != () for each in of or ())
        ):
            return guard, f"{'G' if other.globally else 'L'}[{other.root!r}]"
    return None


def _of_inlined(recording: Recording, item: Translation, path: Path) -> list[Guarded]:
    """What an entry's guards know of an expression where its root is that of inlined functions,
    each answer once: `self` of a layer is another one than that of its model."""
    found: dict[object, Guarded] = {}
    looked_at = {
        (each.root, each.steps[:at])
        for guard in guards_of(recording, item)
        for each in _looks_at(guard)
        for at in range(1, len(each.steps) + 1)
    }
    for source in inlined_anywhere(recording, item, path.root) if path.steps else ():
        inner = path_of(source)
        if inner is None or (inner.root, (*inner.steps, path.steps[0])) not in looked_at:
            continue
        steps = (*inner.steps, *path.steps)
        known = _in_entry(recording, item, Path(inner.root, steps, inner.globally))
        if known.near:
            key = (known.requires, *(guard.kind for guard in (*known.by, *known.through)))
            if first := found.get(key):
                known = msgspec.structs.replace(first, alike=first.alike + 1)
            else:
                known = msgspec.structs.replace(known, meant=source)
            found[key] = known
    return [*found.values()]


def _in_entry(recording: Recording, item: Translation, expression: Path) -> Guarded:
    guards = guards_of(recording, item)
    every = wanted_by(recording, item)
    expression, inside, instance = _called_inside(recording, item, expression, guards)
    path = resolved(recording, item, _without_alias(expression, guards))
    path = _from_the_front(_as_key(_as_member(path, guards), guards), guards, every)
    path = _by_place(path, guards)
    by: list[Guard] = []
    through: list[Guard] = []
    presence: list[Guard] = []
    parts: list[Guard] = []
    around: list[Guard] = []
    unchecked: list[Guard] = []
    of, what, kinds = _property(path)
    for guard in guards:
        about = [each for each in _looks_at(guard) if path.same_root(each)]
        if not about:
            continue
        if why_unchecked(guard):
            if any(path.leads_to(each) for each in about):
                unchecked.append(guard)
        elif _any_same(path, about) or (guard.kind in _CONSTANTS and _is_element(path, about)):
            by.append(guard)
        elif of is not None and guard.kind in kinds and any(_any_same(each, about) for each in of):
            through.append(guard)
        elif path.steps and _any_same(path.before, about) and _compares(path.steps[-1], guard):
            by.append(guard)
        elif path.steps and _any_same(path.before, about) and _asks_for(path.steps[-1], guard):
            presence.append(guard)
        elif any(path.leads_to(each) for each in about):
            parts.append(guard)
        elif guard.kind not in _OTHER_PARTS and any(each.leads_to(path) for each in about):
            around.append(guard)
        elif (
            guard.kind == _SPEC
            and path.steps
            and any(same(path.before, each.before) for each in about)
        ):
            around.append(guard)  # what a DTensor is asked for it reads there
    getter = getter_of(recording, item, path, guards)
    given = path_of(getter.gives) if getter is not None and getter.gives else None
    size = size_of(recording, item, given or path)
    left = None if size is None or size.value else left_by(guards, size.source)
    if left is not None:
        others = [guard for guard in guards if guard.kind == SHAPE_ENV and guard not in by]
        by += [guard for guard in others if guard.code[0] in left.conditions]
    wants = _wanted(every, of, what) if through and of is not None and what is not None else ()
    numbers = what is not None and what.what in ("size", "stride")
    last = path.steps[-1] if path.steps else ""
    shape = _wanted(every, of, Aspect("size")) if last == _CONTIGUOUS and of is not None else ()
    return Guarded(
        translation=item,
        by=tuple(by),
        through=tuple(through),
        entry_wants=every,
        wants=wants,
        whole=numbers and what is not None and what.at is None,
        is_call=last.endswith("()")
        and _is_of_an_object(path.before, guards)
        and not (last == "len()" and _is_dict(path.before, guards)),
        of_module=last in _OF_MODULES,
        is_key=is_key(path),
        follows=_FOLLOWING.get(last, ""),
        never=bool(shape) and _never_contiguous(shape, wants),
        meant=inside,
        instance=instance,
        value=_value(every, path),
        presence=tuple(presence),
        getter=getter,
        parts=tuple(parts),
        around=tuple(around),
        inputs=tuple(_inputs(recording, item, path)),
        unchecked=tuple(unchecked),
        taken_back=() if by or through else tuple(_taken_back(recording, item, path)),
        free=numbers and any(map(symbolic, wants)),
        size=size,
        left=left,
    )


def _without_alias(path: Path, guards: list[Guard]) -> Path:
    """A part of one of two inputs that are one object, by the other, which stands for both in
    guards, unless they look at it by its own name all the same."""
    for guard in guards:
        if guard.kind == "DUPLICATE_INPUT" and (alias := path_of(guard.source)) is not None:
            others = [
                found
                for part in guard.code
                for each in part.split(" is ")
                if (found := path_of(each)) is not None and not same(found, alias)
            ]
            if others and len(path.steps) > len(alias.steps) and alias.leads_to(path):
                steps = (*others[0].steps, *path.steps[len(alias.steps) :])
                other = Path(others[0].root, steps, others[0].globally)
                own = any(path.leads_to(each) for known in guards for each in _looks_at(known))
                return path if own else other
    return path


def _called_inside(
    recording: Recording, item: Translation, path: Path, guards: list[Guard]
) -> tuple[Path, str, str]:
    """A path by the compiler's name, and what that is for its root, where only an inlined function
    has it under the name that was asked for; and of which value that root is the class."""
    roots = {each.root for guard in guards for each in _looks_at(guard)}
    if path.globally or path.root in roots or path.root in names_of(recording, item):
        return path, "", ""
    found = inlined_as(recording, item, path.root)
    outer = path_of(found[0]) if len(found) == 1 else None
    if outer is not None:
        return Path(outer.root, (*outer.steps, *path.steps), outer.globally), found[0], ""
    begin = recording.state(item.first_moment)
    given = filter(None, map(begin.values.get, begin.frames[0].locals.values()))
    known = of_class(path, guards, {each.source: each.type for each in given})
    return (path, "", "") if known is None else (known[0], "", known[1])


def _by_place(path: Path, guards: list[Guard]) -> Path:
    """A path with the elements of a dictionary as guards look at them where they do so by the place
    of the key, which another guard says."""
    places: dict[tuple[Path, str], str] = {}
    for guard in guards:
        key = path_of(guard.source) if guard.kind in _CONSTANTS else None
        if key is not None and key.steps and key.steps[-1].startswith(BY_PLACE):
            of = Path(key.root, key.before.steps)
            places[of, f"[{guard.code[0].rpartition(' == ')[2]}]"] = f"[{key.steps[-1]}]"
    steps: tuple[str, ...] = ()
    for step in path.steps if places else ():
        steps = (*steps, places.get((Path(path.root, steps), step), step))
    return Path(path.root, steps, path.globally) if places else path


def _as_key(path: Path, guards: list[Guard]) -> Path:
    """A path with an element of `list(config)` as guards look at it: of a dictionary that is a key
    by its place, of a list or a tuple its own element."""
    for at in range(1, len(path.steps)):
        of, place = Path(path.root, path.steps[: at - 1], path.globally), path.steps[at]
        if path.steps[at - 1] != _LISTED or not _PLACED.fullmatch(place):
            continue
        kinds = {guard.kind for guard in guards if _any_same(of, meant(guard.source))}
        if kinds & _ALL_KEYS:
            place = f"{BY_PLACE} {place[1:-1]}"
        elif not kinds & _IN_A_ROW:
            continue
        return Path(path.root, (*of.steps, place, *path.steps[at + 1 :]), path.globally)
    return path


def _element(guard: Guard) -> str:
    """The one key or element for which a guard asks; empty: it asks for more."""
    asked = membership_of(guard.code[0]) if len(guard.code) == 1 else None
    return "" if asked is None else f"{asked.what.removesuffix('s')} {asked.element}"


def _from_the_front(path: Path, guards: list[Guard], wants: Wanted) -> Path:
    """A path with elements that are counted from the end, `self.blocks[-1]`, as guards look at
    them, where they say how many there are."""
    steps: tuple[str, ...] = ()
    for step in path.steps:
        of = Path(path.root, steps, path.globally)
        counted = _FROM_THE_END.fullmatch(step)
        if counted is not None and not _is_dict(of, guards):
            found = [*_wanted(wants, (of,), Aspect("length")), *_members(of, guards)]
            at = next((each for each in found if type(each) is int), 0) - int(counted[1])
            step = f"[{at}]" if at >= 0 else step
        steps = (*steps, step)
    return Path(path.root, steps, path.globally)


def _members(path: Path, guards: list[Guard]) -> Iterator[int]:
    """How many modules there are in one that has them by their places."""
    members = Path(path.root, (*path.steps, _MODULES), path.globally)
    for guard in guards:
        if guard.kind in _ALL_KEYS and _any_same(members, meant(guard.source)):
            for part in guard.code:
                match parsed(part):
                    case ast.Compare(_, [ast.Eq()], [ast.List(keys)]):
                        yield len(keys)


def _as_member(path: Path, guards: list[Guard]) -> Path:
    """A path with an element of a module, `self.heads['a']`, as the member that guards look at."""
    for at, step in enumerate(path.steps):
        named = _NAMED.fullmatch(step)
        if named is not None:
            about = [found for guard in guards for found in _looks_at(guard)]
            steps = (*path.steps[:at], f".{named[1]}", *path.steps[at + 1 :])
            member = Path(path.root, steps, path.globally)
            as_it_is, otherwise = (
                any(Path(each.root, each.steps[: at + 1], each.globally).leads_to(other)
                    for other in about)
                for each in (path, member)
            )  # fmt: skip
            if otherwise and not as_it_is:
                path = member
    return path


def _is_of_an_object(path: Path, guards: list[Guard]) -> bool:
    """Whether guards look at a value or at parts of it, and it is no tensor: of those they compare
    what is known."""
    kinds = {guard.kind for guard in guards if any(map(path.leads_to, _looks_at(guard)))}
    return bool(kinds) and not kinds <= {*_TENSORS, SHAPE_ENV}


def _is_dict(path: Path, guards: list[Guard]) -> bool:
    """Whether a value is a dictionary: its length is compared or it is not."""
    return any(
        guard.kind == "TYPE_MATCH"
        and _any_same(path, meant(guard.source))
        and any(part.lower().endswith("dict'>") for part in guard.code)
        for guard in guards
    )


def _compares(step: str, guard: Guard) -> bool:
    """Whether a guard on a module looks at its mode, or at a dictionary of its hooks, too: the
    native engine asks all of that at once. Or one on a member of an enumeration at its number, or
    one on a dictionary at each key by its place."""
    if step == _NUMBER:
        return guard.kind == _OF_A_NUMBER
    if step.startswith(f"{BY_PLACE} "):
        return guard.kind in _ALL_KEYS
    return step in _OF_MODULES and any(part.startswith(_MODULE_CHECKS) for part in guard.code)


def _asks_for(step: str, guard: Guard) -> bool:
    """Whether a guard looks if its value has that attribute or that key."""
    if guard.kind not in _CONTAINS:
        return False
    if guard.kind in _ALL_KEYS:
        return step.startswith("[")
    return any(_part_asked_for(each) == step for each in guard.code)


@lru_cache(maxsize=4096)
def _part_asked_for(code: str) -> str:
    """The attribute or the key that a check looks for, as a step; empty: it is no such check."""
    asked = membership_of(code)
    if asked is None or asked.what == "elements":
        return ""
    if asked.name is not None and (asked.what == "attributes" or _OWN.search(asked.source)):
        return f".{asked.name}"
    return f"[{asked.element}]" if asked.what == "keys" else ""


def _value(wants: Wanted, path: Path) -> Datum:
    """What its value must be, where a guard compares it with a constant."""
    for (source, aspect), value in wants.items():
        if aspect.what == "value" and _any_same(path, meant(source)):
            return value
    return UNKNOWN


def _taken_back(recording: Recording, item: Translation, path: Path) -> Iterator[Guard]:
    attempts = recording.attempts(item.id)
    for guard in recording.guards_installed(attempts[-1].id) if attempts else []:
        if guard.withdrawn is not None:
            about = path_of(guard.source)
            if about is not None and same(path, about):
                yield guard


def arguments_of(recording: Recording, item: Translation) -> frozenset[str]:
    """The names that a function begins with, or if it is torch's, the program's own that it leads
    to."""
    inside = names_inside(recording, item)
    return frozenset(inside or recording.state(item.first_moment).frames[0].locals)


def names_of(recording: Recording, item: Translation) -> frozenset[str]:
    """What an entry's function calls things by: its arguments, the names that its code uses, and
    the roots of all that its guards look at."""
    roots = (path.root for guard in guards_of(recording, item) for path in _looks_at(guard))
    code = recording.code(item.code)
    used = [row.argrepr for row in code.instructions if row.opname.startswith(_BY_NAME)]
    return frozenset((*roots, *words_of(used))) | arguments_of(recording, item)


def words_of(arguments: Iterable[str]) -> Iterator[str]:
    """The words in arguments of instructions: what CPython puts on the stack besides stands before
    or behind a name."""
    return (word for each in arguments for word in each.replace(",", " ").split())


def is_made(recording: Recording, item: Translation, name: str) -> bool:
    """Whether a function has made a variable of this name itself, after none of its arguments."""
    return _stores(recording, item.code, name) and name not in arguments_of(recording, item)


def is_made_inside(recording: Recording, item: Translation, name: str) -> bool:
    """Whether a function that was inlined has made a variable of this name."""
    attempts = recording.attempts(item.id)
    frames = recording.frames(attempts[-1].id)[1:] if attempts else []
    codes = dict.fromkeys(frame.code for frame in frames)
    return any(_stores(recording, code, name) for code in codes)


def _stores(recording: Recording, code: int, name: str) -> bool:
    rows = recording.code(code).instructions
    return any(("STORE", name) in row.local_uses for row in rows)


def _looks_at(guard: Guard) -> tuple[Path, ...]:
    """What a guard looks at: its source, and for conditions on several values each of them."""
    if guard.source and path_of(guard.source) is not None:
        return meant(guard.source)
    return tuple(
        found for part in guard.code for each in expressions_in(part) for found in meant(each)
    )


def _any_same(path: Path, others: Iterable[Path]) -> bool:
    for each in others:  # noqa: SIM110  # a generator takes three times as long
        if same(path, each):
            return True
    return False


def _is_element(path: Path, others: Iterable[Path]) -> bool:
    """Whether it is an element of one of these: of a constant, each is compared with it."""
    return any(
        each.leads_to(path) and all(step[0] == "[" for step in path.steps[len(each.steps) :])
        for each in others
    )


def _property(path: Path) -> tuple[tuple[Path, ...] | None, Aspect | None, frozenset[str]]:
    """The values of which an expression is a property that guards compare, which one, and the
    kinds of those guards."""
    last = path.steps[-1] if path.steps else ""
    of = (path.before,) if path.steps else ()
    indexed = _INDEXED.fullmatch(last)
    if indexed is not None:
        return of, Aspect(indexed[1], int(indexed[2])), _TENSORS
    if last in _SHAPES:
        return of, Aspect(_SHAPES[last]), _TENSORS
    if last in ("type()", ".__class__"):
        return of, Aspect("type"), _TYPED
    if last == "len()":
        owner = path.before
        members = Path(owner.root, (*owner.steps, "._modules"), owner.globally)
        return (owner, members), Aspect("length"), _LENGTHS
    if last == ".__code__":
        return of, Aspect("code"), _CODES
    known = _OF_TENSORS.get(last) or _FOLLOWING.get(last)
    return (None, None, frozenset()) if known is None else (of, Aspect(known), _TENSORS)


def _never_contiguous(shape: tuple[Datum, ...], strides: tuple[Datum, ...]) -> bool:
    """Whether no tensor of these sizes and strides is contiguous, as far as they are numbers."""
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=False):
        if isinstance(stride, int) and stride != expected and size != 1:
            # A size that is free may be 1, of which the stride does not count, or 0.
            return all(isinstance(each, int) and each > 1 for each in shape)
        if not isinstance(size, int):
            return False
        expected *= size
    return False


def _wanted(wants: Wanted, of: tuple[Path, ...], what: Aspect) -> tuple[Datum, ...]:
    every = what.what in ("size", "stride") and what.at is None
    found = {
        aspect: value
        for (source, aspect), value in wants.items()
        if aspect.what == what.what
        and (every or aspect.at == what.at)
        and (other := path_of(source)) is not None
        and _any_same(other, of)
    }
    return tuple(found.values())


def _inputs(recording: Recording, item: Translation, path: Path) -> list[str]:
    attempts = recording.attempts(item.id)
    return [
        node.name
        for node in (recording.inputs(attempts[-1].id) if attempts else ())
        if _any_same(path, meant(unscoped(node.source)))
    ]
