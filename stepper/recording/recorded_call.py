"""The arguments of a recorded call, as an expression that makes ones like them.

A recording holds no objects, and while a program runs nothing of its own is held for later: by the
time that somebody asks, most arguments of a call are gone. What is left is what the compiler looks
at. So the arguments are made anew from their descriptions: constants and containers of them as they
were, tensors with the same dtype, sizes, strides, device and `requires_grad`, and random numbers in
them, dataclasses and the like from their fields. To guards the two are alike; results are not those
of the recorded call. What a description does not tell whole (a module, a very long list) has to be
given by the user, or the call is refused. Lookups tell more of their arguments than other phases
do: see `stepper.engines.common.rebuildable`.

To keep weak references instead would have found the very objects, as long as they live: modules,
which the user can name anyway, and hardly a tensor.

The text is made of literals that were read back and of names that were checked, so evaluating it
runs nothing that somebody has written into a recording. The functions that it calls are the
engine's, `stepper.engines.common.rebuilt`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

import msgspec

from stepper.model.cache import CacheError
from stepper.model.trace import FrameState, Phase, State, Translation
from stepper.model.value import CLASS_FACT, MEMBER_FACT, TensorMeta, Value, ValueId
from stepper.recording.reader import Recording

_WORD = re.compile(r"[A-Za-z_]\w*")
_DEVICE = re.compile(r"[a-z]+(:\d+)?")
_LOCAL = re.compile(r"L\['([^']+)'\]")
_FLOATS = frozenset({"nan", "inf", "-inf"})
_DEPTH = 20
"""Containers within containers; a description can hold itself."""


class RecordedCall(msgspec.Struct, frozen=True):
    """A call that was recorded."""

    function: str
    arguments: dict[str, str]
    """An expression for each variable that the description tells whole."""
    lost: dict[str, str]
    """What the others were, in words."""
    random: tuple[str, ...]
    """Variables with tensors, whose numbers are random."""

    def expression(self, given: str = "") -> str:
        """What would stand between the parentheses of `stepper.cache.check`.

        Args:
            given: keyword arguments as text, which go before what was recorded.

        Raises:
            CacheError: they are no keyword arguments.
        """
        parts = [f"{name!r}: {text}" for name, text in self.arguments.items()]
        parts += [f"{name!r}: recorded_lost({text!r})" for name, text in self.lost.items()]
        if given.strip():
            if _keywords(given) is None:
                raise CacheError(f"{given!r} are no keyword arguments: write NAME=EXPRESSION, …")
            parts.append(f"**dict({given})")
        return f"f_locals={{{', '.join(parts)}}}"

    def remark(self, given: str = "") -> str:
        """What is to be minded of it; empty: the arguments are those of the call."""
        names = [name for name in self.random if name not in (_keywords(given) or ())]
        return f"made anew, with random numbers: {', '.join(names)}" if names else ""


def recorded_call(recording: Recording, moment: int) -> RecordedCall:
    """The call that a moment belongs to: a lookup, a translation or an execution.

    Raises:
        CacheError: the moment belongs to none.
    """
    if not recording.has(moment):
        raise CacheError(f"moments go from {recording.oldest} to {recording.newest}")
    translation = recording.translation(recording.state(moment).translation)
    states = [recording.state(translation.first_moment)]
    if translation.phase is Phase.TRANSLATE:
        last = recording.attempts(translation.id)[-1]
        states = [recording.state(last.first_moment)]
        if last.last_moment:
            states.append(recording.state(last.last_moment))
    found = _Arguments(states)
    found.read(translation, _nodes(recording, translation))
    return RecordedCall(
        translation.name,
        found.arguments,
        found.lost,
        tuple(found.random),
    )


def _nodes(recording: Recording, translation: Translation) -> Mapping[str, TensorMeta]:
    """What a translation has found out of its inputs, by source."""
    if translation.phase is not Phase.TRANSLATE:
        return {}
    attempt = recording.attempts(translation.id)[-1]
    return {
        node.source: node.meta
        for node in recording.nodes_made(attempt.id)
        if node.source and node.meta is not None
    }


class _Arguments:
    """Reads the variables of a call's outermost frame."""

    def __init__(self, states: list[State]) -> None:
        self._states = states
        self._known: dict[ValueId, str] = {}
        self.arguments: dict[str, str] = {}
        self.lost: dict[str, str] = {}
        self.random: list[str] = []

    def read(self, translation: Translation, tensors: Mapping[str, TensorMeta]) -> None:
        """Read them, as that phase has told them."""
        outermost: FrameState = self._states[0].frames[0]
        for label, number in outermost.locals.items():
            name = label
            if translation.phase is Phase.LOOKUP:
                match = _LOCAL.fullmatch(label)
                if match is None:
                    continue
                name = match[1]
            if number in self._known:  # one object under two names: guards look at that
                self.arguments[name] = f"recorded_same({self._known[number]!r})"
                continue
            value = self._newest(number)
            if value is None:
                continue
            source = _LOCAL.fullmatch(value.source)
            if source is not None and source[1] != name and source[1] in outermost.locals:
                self.arguments[name] = f"recorded_same({source[1]!r})"
                continue
            text = self._text(number, tensors, _DEPTH)
            if text is None:
                self.lost[name] = value.brief
            else:
                self.arguments[name] = text
                if "recorded_tensor(" in text:
                    self.random.append(name)
            if text is not None and (value.constant is None or value.items):
                self._known[number] = name

    def _newest(self, number: ValueId) -> Value | None:
        """A value as it was told last; a lazy tracker tells nothing before it is realized."""
        values = [state.values[number] for state in self._states if number in state.values]
        return next((value for value in values if not value.lazy), values[0] if values else None)

    def _text(self, number: ValueId, tensors: Mapping[str, TensorMeta], depth: int) -> str | None:
        value = self._newest(number)
        if value is None or depth == 0:
            return None
        if value.constant is not None:
            return _constant(value)
        meta = value.tensor or tensors.get(value.source)
        if meta is not None:
            return _tensor(meta, parameter=value.type == "Parameter")
        module, found, qualname = dict(value.attributes).get(CLASS_FACT, "").partition(":")
        if found:
            return self._object(value, module, qualname, tensors, depth)
        return self._container(value, tensors, depth)

    def _object(
        self,
        value: Value,
        module: str,
        qualname: str,
        tensors: Mapping[str, TensorMeta],
        depth: int,
    ) -> str | None:
        """Write an object that is nothing but its fields, or a member of an enumeration."""
        if member := dict(value.attributes).get(MEMBER_FACT):
            return f"recorded_member({module!r}, {qualname!r}, {member!r})"
        fields = []
        for item in value.items:
            text = self._text(item.value, tensors, depth - 1)
            if text is None:
                return None
            fields.append(f"{item.label.removeprefix('.')!r}: {text}")
        return f"recorded_instance({module!r}, {qualname!r}, {{{', '.join(fields)}}})"

    def _container(self, value: Value, tensors: Mapping[str, TensorMeta], depth: int) -> str | None:
        kind = value.type or value.cls
        if value.length is None or value.length != len(value.items):
            return None
        inner = []
        for item in value.items:
            text = self._text(item.value, tensors, depth - 1)
            if text is None:
                return None
            if kind == "dict":
                key = _literal(item.label[1:-1])
                if key is None:
                    return None
                text = f"{key}: {text}"
            inner.append(text)
        if kind == "tuple":
            return f"({', '.join(inner)}{',' if len(inner) == 1 else ''})"
        if kind in ("set", "frozenset"):
            return f"{kind}([{', '.join(inner)}])"
        if kind == "list":
            return f"[{', '.join(inner)}]"
        return f"{{{', '.join(inner)}}}" if kind == "dict" else None


def _literal(text: str) -> str | None:
    """A literal as it is written, if it is one."""
    try:
        return repr(ast.literal_eval(text))
    except (ValueError, SyntaxError):
        return None


def _constant(value: Value) -> str | None:
    text = value.constant or ""
    if text in _FLOATS:
        return f"float({text!r})"
    if text.startswith("torch.") and _WORD.fullmatch(name := text.removeprefix("torch.")):
        return f"recorded_constant({name!r})"
    return _literal(text)


def _tensor(meta: TensorMeta, *, parameter: bool) -> str | None:
    """None: some size is a symbol, or it is no ordinary tensor."""
    sizes = (meta.shape, meta.stride)
    known = [each is not None and all(text.isdecimal() for text in each) for each in sizes]
    if not all(known) or meta.layout != "strided" or meta.subclass:
        return None
    if not _WORD.fullmatch(meta.dtype) or not _DEVICE.fullmatch(meta.device):
        return None
    shape, stride = ([int(text) for text in each or ()] for each in sizes)
    words = [repr(meta.dtype), str(shape), str(stride)]
    if meta.device != "cpu":
        words.append(f"device={meta.device!r}")
    if meta.requires_grad:
        words.append("requires_grad=True")
    if parameter:
        words.append("parameter=True")
    return f"recorded_tensor({', '.join(words)})"


def _keywords(text: str) -> list[str] | None:
    """The names of keyword arguments; None: the text is something else."""
    try:
        call = ast.parse(f"dict({text}\n)", mode="eval").body
    except SyntaxError:
        return None
    if not isinstance(call, ast.Call) or call.args:
        return None
    names = [keyword.arg for keyword in call.keywords]
    return None if None in names else [name for name in names if name is not None]
