"""Whose method a symbolic frame runs: the module that its `self` is, as it was when it began."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from operator import attrgetter
from typing import TYPE_CHECKING

from stepper.model.method_names import Entered, Owner, owner_of, wrapped_function
from stepper.model.module_path import layer_of, module_path
from stepper.model.trace import Guard, Node, Phase
from stepper.model.value import MODULE_FACT

if TYPE_CHECKING:
    from stepper.model.trace import Frame, State, Translation
    from stepper.model.value import Value
    from stepper.recording.reader import Recording

_SELF = "self"
_ARGUMENT = "L['self']"
"""The local of a lookup that is the call's `self`."""
_IN_DYNAMO = "/torch/_dynamo/"
_IN_NATIVE = "/stepper/native/"
_TORCH = "/torch/"
_NEAR = 50
"""Walks behind a lookup among which the next of its thread is looked for, and frames among which
the first outside of torch is."""


class Owners:
    """Finds them; each is looked for once, as nothing about it ever changes."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._known: dict[int, Owner | None] = {}
        self._learned: set[int] = set()
        """Attempts of which all are known."""
        self._outermost: dict[int, int | None] = {}
        """The frame that each translation begins with, of those that were asked for."""
        self._layers: dict[tuple[type, int], str] = {}
        self._translated: dict[str, list[Translation]] = {}
        """Those of each compile id, as far as they have been looked at."""
        self._seen = 0
        self._named: dict[str, list[Translation]] = {}
        """Translations of each name, as far as they have been looked at."""
        self._seen_names = 0
        self._of_calls: dict[int, Owner | None] = {}
        """By lookup."""
        self._of_names: dict[tuple[str, int], Owner | None] = {}
        """By name and number of translations."""

    def of(self, frame: int) -> Owner | None:
        """A frame's; None: it runs no method of a module, or that is not recorded."""
        if frame in self._known:
            return self._known[frame]
        recording, found = self._recording, self._recording.frame(frame)
        if not recording.has(found.first_moment):
            return None
        value = _self(recording.state(found.first_moment), frame)
        if value is not None and value.lazy and _owner(value) is None:
            # The compiler does not know yet what it is; by the frame's end it does.
            last = recording.newest if found.last_moment is None else found.last_moment
            value = _self(recording.state(last), frame) or value
            if value.lazy and found.last_moment is None:
                return None
        owner = None if value is None else _owner(value)
        owner = self._known[frame] = owner or self._wraps(found)
        return owner

    def _wraps(self, frame: Frame) -> Owner | None:
        """The function that a translation's outermost frame has been put around."""
        if frame.depth:
            return None
        attempt = self._recording.attempt(frame.attempt)
        return wrapped_function(self._recording.translation(attempt.translation).wraps)

    def learn(self, attempt: int) -> None:
        """Find those of all frames of an attempt that is over, at once."""
        recording = self._recording
        if attempt in self._learned or recording.attempt(attempt).last_moment is None:
            return
        self._learned.add(attempt)
        for frame, value in recording.entered_with(attempt, _SELF):
            owner = None if value is None else _owner(value)
            self._known[frame] = owner or self._wraps(recording.frame(frame))

    def within(self, attempt: int) -> list[Owner]:
        """Those of an attempt's frames that are over, or have been asked for; each once, in the
        order of the program."""
        self.learn(attempt)
        found = (self._known.get(frame.id) for frame in self._recording.frames(attempt))
        return list(dict.fromkeys(owner for owner in found if owner is not None))

    def entered(self, frame: int) -> Entered | None:
        """A frame's, and whether it is the first that runs a method of that module; None: see
        `of`."""
        owner, entered = self.of(frame), self._recording.frame(frame)
        if owner is None:
            return None
        wraps = owner == self._wraps(entered)
        return Entered(owner, not wraps and owner != self.around(entered.parent))

    def of_walk(self, walk: Translation) -> Owner | None:
        """That of a walk's outermost frame; an execution's and a hit's is that of the translation
        that made what is executed, a miss's that of the one that it led to."""
        recording = self._recording
        if walk.phase is not Phase.TRANSLATE:
            made = self._made(walk) if walk.compile_id else self._led_to(walk)
            if made is None and walk.phase is Phase.LOOKUP:
                return self._of_call(walk) or wrapped_function(walk.wraps)
            return None if made is None else self.of_walk(made)
        if not recording.has(walk.first_moment):
            return None
        if walk.id not in self._outermost:
            self._outermost[walk.id] = self._outermost_of(walk)
        frame = self._outermost[walk.id]
        if frame is None:
            return None
        handing = _IN_DYNAMO in walk.filename or _IN_NATIVE in walk.filename
        return self.of(frame) or (self._handed_to(walk) if handing else None)

    def _outermost_of(self, walk: Translation) -> int | None:
        """The frame that a translation begins with."""
        recording = self._recording
        frame = recording.frame(recording.moment(walk.first_moment).frame)
        # What was given up before it was traced has no moment of its own: that is another walk's.
        is_another = frame.depth or recording.attempt(frame.attempt).translation != walk.id
        return None if is_another else frame.id

    def _handed_to(self, walk: Translation) -> Owner | None:
        """That of what a function of a compiler's own is made to call: of
        `torch.compile(nn.Linear(…))` it compiles one that hands on to the module, and of a function
        that torch has decorated, as by `torch.no_grad()`, Dynamo one that hands on to that."""
        recording = self._recording
        frames = recording.frames_inlined(walk.id)
        inlined = next((frame for frame in frames if frame.depth == 1), None)
        owner = None if inlined is None else self.of(inlined.id)
        if owner is not None or _IN_DYNAMO not in walk.filename:
            return owner
        torch = walk.filename.partition(_IN_DYNAMO)[0] + _TORCH
        codes = (recording.code(frame.code) for frame in frames[:_NEAR] if frame.depth)
        own = next((code for code in codes if not code.filename.startswith(torch)), None)
        return None if own is None else Owner("", own.label)

    def _of_call(self, lookup: Translation) -> Owner | None:
        """That of the argument of the call that is looked up."""
        recording = self._recording
        if lookup.id not in self._of_calls and recording.has(lookup.first_moment):
            state = recording.state(lookup.first_moment)
            value = state.values.get(state.top.locals.get(_ARGUMENT, 0))
            self._of_calls[lookup.id] = None if value is None else _owner(value)
        return self._of_calls.get(lookup.id)

    def of_name(self, name: str) -> Owner | None:
        """That of every translation of a function with this qualified name; None: they have
        several, or none is known."""
        known = self._recording.translations()
        for each in known[self._seen_names :]:
            if each.phase is Phase.TRANSLATE:
                self._named.setdefault(each.name, []).append(each)
        self._seen_names = len(known)
        walks = self._named.get(name, ())
        key = (name, len(walks))
        if key not in self._of_names:
            owners = {self.of_walk(each) for each in walks}
            self._of_names[key] = owners.pop() if len(owners) == 1 else None
        return self._of_names[key]

    def compiled(self, compile_id: str, moment: int) -> Translation | None:
        """The translation that a compile id meant at a moment: the ids begin anew when the compiler
        is reset."""
        self._learn_compiled()
        made = self._translated.get(compile_id, ())
        return next((each for each in reversed(made) if each.first_moment <= moment + 1), None)

    def _led_to(self, lookup: Translation) -> Translation | None:
        """The translation of what a lookup found no entry for; None: it was given up, or is to
        come."""
        known = self._recording.translations()
        at = bisect_right(known, lookup.id, key=attrgetter("id"))
        later = (each for each in known[at : at + _NEAR] if each.thread == lookup.thread)
        found = next(later, None)
        if found is None or found.phase is not Phase.TRANSLATE:
            return None
        same = (found.name, found.filename) == (lookup.name, lookup.filename)
        return found if same else None

    def _made(self, execution: Translation) -> Translation | None:
        """The newest translation of its compile id before an execution: the ids begin anew when
        the compiler is reset."""
        self._learn_compiled()
        found = self._translated.get(execution.compile_id, ())
        at = bisect_left(found, execution.id, key=attrgetter("id"))
        return found[at - 1] if at else None

    def _learn_compiled(self) -> None:
        known = self._recording.translations()
        for each in known[self._seen :]:
            if each.phase is Phase.TRANSLATE and each.compile_id:
                self._translated.setdefault(each.compile_id, []).append(each)
        self._seen = len(known)

    def layer(self, item: Node | Guard) -> str:
        """The layer that a node or a guard belongs to; empty: none, or that is not known."""
        key = type(item), item.id
        found = self._layers.get(key)
        if found is None:
            found = layer_of(self.module(item))
            if found or self._recording.attempt(item.attempt).last_moment is not None:
                self._layers[key] = found
        return found

    def module(self, item: Node | Guard) -> str:
        """The path of the module that it is about by its source, else of the one whose frame made
        it."""
        recording = self._recording
        path = module_path(item.source)
        is_input = isinstance(item, Node) and item.source
        if path or is_input or not recording.has(item.moment):
            return path
        frame = recording.frame(recording.moment(item.moment).frame)
        owner = self.around(frame.id) if frame.attempt == item.attempt else None
        return "" if owner is None else owner.path

    def around(self, frame: int | None) -> Owner | None:
        """That of a frame, or of the nearest one around it that has one."""
        around = () if frame is None else reversed(self._recording.callers(frame))
        return next((owner for each in around if (owner := self.of(each.id)) is not None), None)


def _owner(value: Value) -> Owner | None:
    module = "NNModule" in value.cls or MODULE_FACT in value.attributes
    return owner_of(value.source, value.type, module=module)


def _self(state: State, frame: int) -> Value | None:
    """What a frame's `self` is at a moment, within its cell too."""
    if state.top.frame != frame:
        return None
    value = state.values.get(state.top.locals.get(_SELF, 0))
    if value is not None and value.type == "cell" and value.items:
        return state.values.get(value.items[0].value)
    return value
