"""What Python itself does with a number, or a size, that a break leaves, where no symbol would do.

Dynamo has settings that make a symbol of a number which comes from data. With a symbol the program
can compute, and hand it to torch; but it is no key, no index of a list and no argument of `str`.
What the program does is recorded where the number is known: the function that goes on after the
break has it on its stack, with where it comes from.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from stepper.analysis.broken import DECIDES, FINDS, SUBSCRIBES
from stepper.analysis.decisions import JUMPS, decides, decides_from
from stepper.analysis.sites import called_at
from stepper.model.program import Instruction
from stepper.model.trace import State, Translation
from stepper.model.value import Value
from stepper.recording.reader import Recording

CONTAINERS = frozenset({"ModuleList", "dict", "list", "range", "str", "tuple"})
"""Types of which an element is found by a number of Python's only."""
_HASHED = frozenset({"dict", "frozenset", "set"})
"""Those that ask what is looked for for its hash."""
_MOST = 64
"""How many instructions are looked at, at most."""
_HANDED = re.compile(r"___stack(\d+)\Z")
_LEFT = re.compile(r"L\['___stack(\d+)'\]\Z")
"""What a function that goes on is handed of what stood on the stack."""
_BUILTIN = re.compile(r"G\['__builtins_dict___\d+'\]\['(\w+)'\]\Z")
_IN_MODULE = re.compile(r"G\['(?:__import_)?(math|random)'\]\.(\w+)\Z")
_FUNCTIONS = frozenset(
    {
        "bin", "chr", "complex", "divmod", "frozenset", "hash", "hex", "id", "oct", "range",
        "repr", "set", "str",
    }
)  # fmt: skip
"""Builtin functions that take no symbol."""
_OF_MATH = frozenset(
    {
        "comb", "copysign", "erf", "exp", "fabs", "fmod", "gcd", "isfinite", "isinf", "isnan",
        "log", "pow",
    }
)  # fmt: skip
"""Functions of the module math that take no symbol; of others, torch has one of symbols."""
_OF_RANDOM = frozenset({"randint", "uniform"})
_OF_MANY = frozenset({"all", "any", "sorted"})
"""Builtin functions that take no list or tuple with a symbol in it."""
_METHODS = frozenset({"add", "count", "discard", "get", "index", "insert", "pop", "remove"})
"""Methods of Python's containers that take no symbol."""
_OF_NUMBERS = frozenset({"bit_length", "hex", "real", "to_bytes"})
"""Attributes of a number that a symbol lacks."""
_SIZES = ("numel", "size")
"""Methods of a tensor that say its size."""
_FORMATTING = ("FORMAT_SIMPLE", "FORMAT_VALUE", "FORMAT_WITH_SPEC")
_KEYED = ("BINARY_SUBSCR", "DELETE_SUBSCR", "STORE_SUBSCR")
_TAKING = (
    *_FORMATTING, *_KEYED, "BINARY_OP", "BINARY_SLICE", "BUILD_LIST", "BUILD_MAP", "BUILD_SET",
    "BUILD_SLICE", "CALL", "COMPARE_OP", "CONTAINS_OP", "LOAD_ATTR", "LOAD_METHOD", "TO_BOOL",
    "UNARY_INVERT", "UNARY_NOT", *JUMPS,
)  # fmt: skip
_BETWEEN = ("BUILD_STRING", "CACHE", "LOAD_CONST", "PRECALL", "TO_BOOL")


def taken(recording: Recording, after: Translation, left: Sequence[str]) -> str:
    """How Python itself takes the number, in words; `DECIDES`: the program decides by it, `FINDS`:
    it finds an element by it; empty: none of that is recorded.

    `left`: what `function_of` says of what the function that goes on is handed before the
    number."""
    attempts = recording.attempts(after.id)
    if not attempts or not recording.has(begin := attempts[-1].first_moment):
        return ""
    number = _handed_last(recording.state(begin))
    end = recording.newest if attempts[-1].last_moment is None else attempts[-1].last_moment
    asked = 0
    for moment in recording.moments(begin, end) if number else ():
        rows = recording.code(recording.frame(moment.frame).code).instructions
        if not rows[moment.ip].opname.startswith(_TAKING):
            continue
        how = _Taking(rows, moment.ip, recording.state(moment.id), number, left).how
        asked += 1
        if how or asked == _MOST:
            return how
    return ""


def function_of(state: State, value: Value) -> str:
    """A function that takes no symbol, in words; empty: it is none of those."""
    if builtin := _BUILTIN.match(value.source):
        return f"{builtin[1]}()" if builtin[1] in _FUNCTIONS else ""
    if found := _IN_MODULE.match(value.source):
        known = _OF_MATH if found[1] == "math" else _OF_RANDOM
        return f"{found[1]}.{found[2]}()" if found[2] in known else ""
    owner = state.values.get(value.items[0].value) if value.items else None
    name = value.brief.removeprefix(".")
    if owner is None or value.cls != "GetAttrVariable" or owner.type not in CONTAINERS | _HASHED:
        return ""
    return f"{name}() of a {owner.type}" if name in _METHODS else ""


def _handed_last(state: State) -> str:
    """The source of the uppermost value of the stack that a function is handed."""
    handed = [int(found[1]) for each in state.top.locals if (found := _HANDED.match(each))]
    return f"L['___stack{max(handed)}']" if handed else ""


class _Taking:
    """An instruction, and what is on the stack for it."""

    def __init__(
        self, rows: Sequence[Instruction], at: int, state: State, number: str, left: Sequence[str]
    ) -> None:
        self._rows, self._at = rows, at
        self._row = rows[at]
        self._state = state
        self._number = number
        self._left = left

    @property
    def how(self) -> str:
        """How it takes the number, as `taken` says it."""
        row, count = self._row, self._row.arg or 0
        name = row.opname
        match name:
            case "UNARY_INVERT" if self._has(1):
                return "~"
            case "UNARY_NOT" if self._has(1):
                return self._decided() if self._follows(JUMPS) else "not"
            case "COMPARE_OP" if self._has(1, 2):
                return self._decided()
            case "LOAD_ATTR" | "LOAD_METHOD" if self._has(1):
                return self._asked(row.argrepr.rpartition(" ")[2].removeprefix("."))
            case "CONTAINS_OP" if self._has(2) and self._type(1) in _HASHED:
                return f"in of a {self._type(1)}"
            case "BUILD_MAP" if self._has(*range(2, 2 * count + 1, 2)):
                return "a dict, as a key"
            case "BUILD_SET" if self._has(*range(1, count + 1)):
                return "a set"
            case "BINARY_SLICE" if self._has(1, 2) and self._type(3) in CONTAINERS:
                return f"a slice of a {self._type(3)}"
            case "BUILD_SLICE" if self._has(*range(1, count + 1)):
                container = self._type(count + 1)
                return f"a slice of a {container}" if container in CONTAINERS else ""
            case "CALL" if self._has(*range(1, count + 1)):
                return self._called()
            case "BUILD_LIST" if self._has(*range(1, count + 1)):
                return self._handed_on(count)
        if name.startswith(JUMPS) and self._has(1) and "NONE" not in name:
            return self._decided()
        if (name in _KEYED or "[]" in row.argrepr) and self._has(1):
            return FINDS if self._type(2) in CONTAINERS else ""
        if name == "BINARY_OP" and self._has(1):
            return self._computed()
        if name in _FORMATTING and self._has(1, 2):
            at = self._follows(SUBSCRIBES)
            subscribes = at is not None and self._rows[at].argrepr in ("", "[]")
            return "a text, as a key" if subscribes else ""
        return ""

    def _has(self, *places: int) -> bool:
        """Whether the number is at one of the places of the stack, counted from its top, from 1."""
        found = map(self._value, places)
        return any(value is not None and value.source == self._number for value in found)

    def _value(self, place: int) -> Value | None:
        stack = self._state.top.stack
        return self._state.values.get(stack[-place]) if place <= len(stack) else None

    def _type(self, place: int) -> str:
        value = self._value(place)
        return "" if value is None else value.type

    def _follows(self, names: tuple[str, ...]) -> int | None:
        """The next instruction, if it is one of those that are named."""
        for at in range(self._at + 1, len(self._rows)):
            if self._rows[at].opname not in _BETWEEN:
                return at if self._rows[at].opname.startswith(names) else None
        return None

    def _decided(self) -> str:
        at = self._at if self._row.opname.startswith(JUMPS) else self._follows(JUMPS)
        return DECIDES if at is not None and decides(self._rows, at) else ""

    def _computed(self) -> str:
        """An operator that takes no symbol on its right."""
        operator, left = self._row.argrepr.rstrip("="), self._type(2)
        if operator in {"%", "*"} and left in CONTAINERS:
            return f"{operator} of a {left}"
        return "** of a number" if operator == "**" and left in {"int", "float"} else ""

    def _handed_on(self, count: int) -> str:
        """A function that is called with a list of the number."""
        if not self._follows(("CALL",)):
            return ""
        values = map(self._value, range(count + 1, count + 3))
        found = next((each for each in values if each and each.cls != "NullVariable"), None)
        builtin = found and _BUILTIN.match(found.source)
        return f"{builtin[1]}()" if builtin and builtin[1] in _OF_MANY else ""

    def _asked(self, attribute: str) -> str:
        """What it has that is asked for: of a tensor it is the size."""
        if attribute in _OF_NUMBERS:
            return f".{attribute} of a number"
        if attribute == "shape":
            return DECIDES if decides_from(self._rows, self._at) else ""
        after = self._follows(("CALL",)) if attribute in _SIZES else None
        return DECIDES if after is not None and decides_from(self._rows, after) else ""

    def _called(self) -> str:
        function = called_at(self._state, self._row)
        if function is None:
            return ""
        handed = _LEFT.match(function.source)
        if handed is not None:
            return self._left[int(handed[1])] if int(handed[1]) < len(self._left) else ""
        builtin = _BUILTIN.match(function.source)
        if builtin and builtin[1] == "len":
            return DECIDES if decides_from(self._rows, self._at) else ""
        return function_of(self._state, function)
