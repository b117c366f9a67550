"""A guard of an entry that a call did not pass: as it was found when it was asked again, or as the
compiler says it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial

import msgspec

from stepper.analysis.conditions import LEAVES, as_installed, decided_by
from stepper.analysis.origins import Origin
from stepper.analysis.reasons import NO_ATTRIBUTE, Reason, parse_reason
from stepper.analysis.shapes import cause_of, conditions_on, fixing, sizes
from stepper.analysis.sources import CODE, path_of, spelled, unscoped
from stepper.analysis.walks import expressions_in, source_of
from stepper.analysis.wanted import Wanted, had_instead, moved, wants_of
from stepper.model.datum import UNKNOWN, Datum, Words, alike, literal, text_of
from stepper.model.lookup import Aspect, Check, CheckedGuard, Difference
from stepper.model.program import UserLine
from stepper.model.shapes import ShapeStep, ShapeStepKind
from stepper.model.trace import AUTOCAST_DEVICES, Guard, MomentId, Translation
from stepper.recording.reader import Recording

_SAME_LEAF = {
    "EQUALS_MATCH": ("EQUALS_MATCH", "CONSTANT_MATCH"),
    "LENGTH_CHECK": ("SEQUENCE_LENGTH",),
    "DICT_LENGTH": ("SEQUENCE_LENGTH", "DICT_KEYS_MATCH"),
    "OBJECT_ALIASING": ("DUPLICATE_INPUT",),
    "ID_MATCH": ("ID_MATCH", "CLOSURE_MATCH", "FUNCTION_MATCH", "BUILTIN_MATCH", "CLASS_MATCH"),
}
"""Leaf guards by the GuardBuilder methods that make them, where the names differ."""

FUNCTORCH = "functorch"
"""The transforms of torch.func around a call."""
_ON_FUNCTORCH = ".compare_functorch_state("
"""What the guard on them asks; its leaf can be about anything."""
_DEVICE = "default_device"
_NOT_SET = "None"
_OF_STATE: dict[str, tuple[str, ...]] = {
    "GLOBAL_STATE": (),
    "TORCH_FUNCTION_MODE_STACK": ("function_modes",),
    "DEFAULT_DEVICE": (_DEVICE,),
    "FUNCTORCH_STACK_MATCH": (FUNCTORCH,),
}
"""What of torch's state a leaf guard checks; none: all but what has a guard of its own."""
STATE = "GLOBAL_STATE"
AUTOCAST = frozenset(f"autocast({device})" for device in AUTOCAST_DEVICES)
"""What of torch's state gives tensors other dispatch keys."""
INFERENCE_MODE = "inference_mode"
GRADIENT_KEYS = "keys for gradients"
"""Those of a tensor's dispatch keys that inference mode takes away, as long as it lasts."""
_IN_INFERENCE = frozenset({"inference", "inference mode"})
"""What is said to differ of a tensor of which these keys do."""
_THERE, _TAKEN = Words("there"), Words("taken away by inference mode")
_OF_SEVERAL = frozenset({"OBJECT_ALIASING", "DUPLICATE_INPUT", "NO_ALIASING"})
"""Kinds of guards that say another expression than the one they are on."""
_SAME_OBJECT = "OBJECT_ALIASING"
_ANOTHER = Words("another object")
_IS, _AND = " is ", "; "
"""In the words of a guard in Python, and between those of several."""
_OF_NAN = frozenset({"FLOAT_IS_NAN", "COMPLEX_IS_NAN"})
_TENSOR = "TENSOR_MATCH"
_STATE_APART = frozenset(itertools.chain.from_iterable(_OF_STATE.values()))


class Failure(msgspec.Struct, frozen=True):
    """A guard of an entry that the call did not pass."""

    kind: str
    """Name of the leaf guard."""
    source: str
    """The expression guarded; empty for global state, or when it is not known."""
    differences: tuple[Difference, ...] = ()
    words: str = ""
    """The failure in words, when no difference is known."""
    user_line: UserLine | None = None
    """The line that made the compiler depend on it."""
    saw: Datum = UNKNOWN
    """For a condition on sizes, the value that did not fit, or each by its expression."""
    moment: MomentId | None = None
    """The moment of the check in the recorded lookup."""
    nanoseconds: int | None = None
    behind: bool = False
    """Dynamo had found another one before, and did not look at this one."""
    unguarded: bool = False
    """No guard is on it: it is the state of torch, in which what guards are on differs."""
    missing: bool = False
    """There is no such value: it could not be got to."""
    decides: bool = False
    """It says that the function is there for another call of what it wraps: a decorator's wrapper
    has one code for all that it wraps, and what else differs, its arguments, follows from that."""
    find_text: Callable[[], str] | None = None
    find_origin: Callable[[], Origin] | None = None
    find_conditions: Callable[[], list[ShapeStep]] | None = None

    @property
    def text(self) -> str:
        """The failure in words, also where the differences say all."""
        return self.words if self.find_text is None else self.find_text()

    @property
    def conditions(self) -> list[ShapeStep]:
        """The decisions about sizes from which the guard comes; looked for like the origin."""
        return [] if self.find_conditions is None else self.find_conditions()

    @property
    def asking(self) -> ShapeStep | None:
        """The first of them for which a line of the program asks."""
        guards = (step for step in self.conditions if step.kind is ShapeStepKind.GUARD)
        return next((step for step in guards if step.program_stack), None)

    @property
    def origin(self) -> Origin | None:
        """Where the guard came from; None when that is not known. It is looked for when it is first
        asked for, since that takes the state of a moment."""
        return None if self.find_origin is None else self.find_origin()


def conditions_behind(recording: Recording, made: Translation, failure: Failure) -> list[ShapeStep]:
    """For a size that was a symbol and became a number, what made it one; for a condition on sizes,
    where it was asked for."""
    found: list[ShapeStep] = []
    for each in failure.differences:
        if each.what == "size" and each.at is not None and failure.source:
            size = fixing(recording, made, failure.source, each.at)
            cause = None if size is None else cause_of(size)
            found += [] if cause is None else [cause]
    if found:
        return found
    condition = as_installed(recording, made, failure.words) if failure.words else ""
    if condition and expressions_in(condition):
        return decided_by([*sizes(recording, made)], condition)
    if ".size()" in failure.source:
        return conditions_on([*sizes(recording, made)], {failure.source})
    return []


def with_state(made: Translation, item: Translation, failure: Failure) -> Failure:
    """A guard on torch's state, with what of it differs between two compilations."""
    if _ON_FUNCTORCH in failure.text:
        failure = msgspec.structs.replace(failure, kind="FUNCTORCH_STACK_MATCH")
    of = _OF_STATE.get(failure.kind)
    if of is None or made.state == item.state:
        return failure
    if of == (_DEVICE,):
        differences = tuple(_of_devices(made, item, failure))
    else:
        differences = tuple(differing_state(made, item, of))
    return msgspec.structs.replace(failure, differences=differences or failure.differences)


def _of_devices(made: Translation, item: Translation, failure: Failure) -> Iterator[Difference]:
    """What differs of the default device: one may be set that is the same without."""
    before, now = made.state.get(_DEVICE), item.state.get(_DEVICE)
    if before is None or now is None:
        return
    if failure.text.endswith(_NOT_SET):
        before = _NOT_SET
    elif before == now:
        now = _NOT_SET
    yield Difference(_DEVICE, Words(before), Words(now))


def differing_state(
    made: Translation, item: Translation, of: tuple[str, ...]
) -> Iterator[Difference]:
    """What of torch's state differs between two compilations, of these names; of none: all that
    have no guard of their own."""
    for name, before in made.state.items():
        now = item.state.get(name, before)
        if (name in of or (not of and name not in _STATE_APART)) and now != before:
            yield Difference(name, Words(before), Words(now))


def under_a_mode(made: Translation, item: Translation, failures: list[Failure]) -> list[Failure]:
    """What a call did not pass, with what tensors have otherwise because one of the two calls was
    made in inference mode, or under a transform of torch.func: none of them need have been made
    there. No guard is on the mode itself, nor on there being no transform."""
    known = {each.what for failure in failures for each in failure.differences}
    if known & _IN_INFERENCE and (mode := _differs(INFERENCE_MODE, made, item)):
        failures = [
            msgspec.structs.replace(each, differences=tuple(map(_of_the_mode, each.differences)))
            for each in failures
        ]
        failures += [] if INFERENCE_MODE in known else [_unguarded(mode)]
    of_tensors = any(each.kind == _TENSOR for each in failures)
    if of_tensors and FUNCTORCH not in known and (stack := _differs(FUNCTORCH, made, item)):
        failures = [*failures, _unguarded(stack)]
    return failures


def _differs(name: str, made: Translation, item: Translation) -> Difference | None:
    before, now = (each.state.get(name, "") for each in (made, item))
    if before == now or not (before and now):
        return None
    return Difference(name, Words(before), Words(now))


def _unguarded(mode: Difference) -> Failure:
    return Failure("", "", (mode,), behind=True, unguarded=True)


def _of_the_mode(difference: Difference) -> Difference:
    if difference.what not in _IN_INFERENCE:
        return difference
    gone = difference.expected is True
    return Difference(GRADIENT_KEYS, *((_TAKEN, _THERE) if gone else (_THERE, _TAKEN)))


def installed(guards: list[Guard], failure: Failure) -> Guard | None:
    """The installed guard that a leaf belongs to: of those on its source the one that says the
    same, as several ask a dictionary each for another key, else the nearest by kind."""
    if failure.words:
        for guard in guards:
            if failure.words in map(unscoped, guard.code):
                return guard
    # A function is guarded by its code, and in the native engine a module's mode with the module.
    source = unscoped(failure.source).removesuffix(CODE)
    if failure.kind == "NN_MODULE":
        source = source.removesuffix(".training")
    here = [guard for guard in guards if unscoped(guard.source) == source]
    methods = (failure.kind, *_SAME_LEAF.get(failure.kind, ()))
    return next((guard for guard in here if guard.kind in methods), here[0] if here else None)


def failure_at(
    guard: CheckedGuard, check: Check, entry: str, said: list[Reason], *, behind: bool
) -> Failure:
    """What was found of a guard that failed, or that would have, behind one that did."""
    state = guard.kind == "GLOBAL_STATE"
    differences = check.differences
    for words in said:
        if state and (words.entry, words.kind) == (entry, guard.kind):
            differences = tuple(Difference(each.what) for each in words.differences)
    if guard.kind in _OF_NAN and not differences:
        differences = (Difference("value", Words("nan"), literal(text_of(check.actual))),)
    same = ""
    if guard.kind in LEAVES and not differences and _IS in check.failure(guard):
        same, differences = _no_longer_one(check.failure(guard))
    if guard.kind in _OF_SEVERAL:
        differences = tuple(
            msgspec.structs.replace(
                each, expected=_spelled(each.expected), actual=_spelled(each.actual)
            )
            for each in differences
        )
    return Failure(
        kind=_SAME_OBJECT if same else guard.kind,
        source=next((each.source for each in differences), "") or same or source_of(guard),
        differences=differences or ((Difference("global state"),) if state else ()),
        words="" if check.differences else check.failure(guard),
        user_line=guard.user_line,
        saw=check.actual if guard.kind in LEAVES else UNKNOWN,
        # A lookup says of a value that is there in what it differs.
        missing=bool(not state and check.why and not differences and check.actual == UNKNOWN),
        moment=check.moment or None,
        nanoseconds=check.nanoseconds,
        behind=behind,
        find_text=partial(check.failure, guard) if check.differences else None,
    )


def _no_longer_one(words: str) -> tuple[str, tuple[Difference, ...]]:
    """What is another object, of a guard in Python by which several pairs of values are one object
    each; empty: it is about something else. Of several pairs that fail it is what all of them
    have."""
    reasons = [parse_reason(part) for part in words.split(_AND)]
    if any(each.kind != _SAME_OBJECT for each in reasons):
        return "", ()
    pairs = [
        (each.source, unscoped(text_of(by.expected))) for each in reasons for by in each.differences
    ]
    both = set(pairs[0]).intersection(*pairs)
    source, other = pairs[0] if pairs[0][0] in both else pairs[0][::-1]
    return source, (Difference("identity", _spelled(Words(other)), _ANOTHER),)


def _spelled(expression: Datum) -> Words:
    return Words(spelled(text_of(expression)))


def said_failure(words: Reason, new: Wanted, entry: Wanted | None = None) -> Failure:
    """What the compiler said; what it leaves out is what the new compilation wants, and the
    entry."""
    differences = tuple(
        _completed(each, words.source, new, entry or {}) if words.source else each
        for each in words.differences
    )
    source = words.source
    if words.missing and words.text.startswith(NO_ATTRIBUTE):
        source = _attribute_of(source, entry or {}) or source
    failure = Failure(words.kind, source, differences, words.text, missing=words.missing)
    return explained(failure, entry or {}, new)


def _attribute_of(source: str, entry: Wanted) -> str:
    """The attribute of a name that is not there: Dynamo says of some only which name lacks it.
    Empty: it is not the name of a whole, or the entry asks for more than one."""
    path = path_of(source)
    if path is None or path.steps:
        return ""
    asked = {
        each
        for each, _ in entry
        if (of := path_of(each)) is not None and of.steps and of.before == path
    }
    return asked.pop() if len(asked) == 1 else ""


def explained(failure: Failure, entry: Wanted, new: Wanted) -> Failure:
    """A failure of which a check says no more than no, with what was there by the compilation that
    followed: how many keys a dictionary had, and what a module has in place of None."""
    if failure.missing and (other := moved(entry, new, unscoped(failure.source))) is not None:
        kind = failure.kind or "NONE_MATCH"
        return msgspec.structs.replace(failure, kind=kind, differences=(other,), missing=False)
    if [each.what for each in failure.differences] != ["dictionary"]:
        return failure
    source = unscoped(failure.source)
    was, now = (wants_of(each, source, Aspect("length")) for each in (entry, new))
    if UNKNOWN in (was, now) or was == now:
        return failure
    return msgspec.structs.replace(failure, differences=(Difference("length", was, now),))


def _completed(difference: Difference, source: str, new: Wanted, entry: Wanted) -> Difference:
    expected, actual = difference.expected, difference.actual
    if expected == UNKNOWN:
        expected = wants_of(entry, source, difference.aspect)
        difference = msgspec.structs.replace(difference, expected=expected)
    if actual == UNKNOWN:
        actual = had_instead(new, source, difference)
    if difference.what == "type" and actual != UNKNOWN and alike(actual, expected):
        actual = Words(text_of(actual), another=True)
    return msgspec.structs.replace(difference, actual=actual)
