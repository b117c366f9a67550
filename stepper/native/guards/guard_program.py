"""The check of a cache entry, from its text to what C runs.

The source of a check is for its readers: each condition says in full what it looks at. A model has
hundreds that begin in the same way, `L['self']._modules['h']._modules['0']`, and most of the time
of a cached call would go into that. So what runs is a `_C.GuardProgram`: a list of values, each
reached by one step from another, and a list of conditions, in the order of the text
(csrc/evalframe/guard_program.c). What several conditions look at is one value.

It is read from the text, so that there is one place that says what a guard checks, and what is
read is exactly what the builder writes: names, steps and calls, and some ten forms of conditions.
Whatever else a condition says stays Python: a function that is called at its place. That is slow
where it has a long text (one step that was unknown in one of fifty arguments took half of a cached
call of GPT-2), so what sources can be made of is all known here.
Text is read from its end, since what stands before the last step has nearly always been read
before. Names and keys are interned, for CPython finds what a class has by the name's address.

The alternatives: compiling the text as Python took longer than all the rest of the guards, and a
cached call three times as long; a tree with the conditions at its leaves, as Dynamo has it, would
check them in another order than the text shows.
"""

from __future__ import annotations

import ast
import operator
import re
import struct
import sys
from collections.abc import Callable, Iterable, Iterator

from stepper import _C

Check = Callable[[dict[str, object], dict[str, object]], object]

_ROOT = re.compile(r"___?\w+\Z")
_CALL = re.compile(r"(___\w+|list)\((.*)\)\Z", re.DOTALL)
_INTEGER = re.compile(r"-?\d+\Z")
_CONSTANTS = {"True": True, "False": False, "None": None, "list": list}
_STRING = re.compile(r"'[^'\\]*'\Z|\"[^\"\\]*\"\Z")
_STRINGS_AND_SIGNS = re.compile(r"""'[^'\\]*'|"[^"\\]*"|[][(){},'"\\]""")


_MORE_THAN_ONE_OR = re.compile(r"['\"]| (and|if|for) | or .* or ", re.DOTALL)


class _Unreadable(Exception):
    """A text that is none of the forms that are known here."""


def check_of(conditions: Iterable[str], scope: dict[str, object]) -> Check:
    """What checks that all conditions hold; whatever a condition raises says that it does not.

    scope: what names in the conditions mean, beside `L` and `G`; kept, and looked at by each check.
    """
    reader = _Reader(scope)
    reader.read_all(conditions)
    return _C.GuardProgram(reader.values, reader.conditions, scope)


class _Reader:
    """Collects values and conditions.

    values, conditions: as `_C.GuardProgram` takes them.
    """

    def __init__(self, scope: dict[str, object]) -> None:
        self.scope = scope
        self.values: list[tuple[int, int, object]] = []
        self.conditions: list[tuple[int, int, object]] = []
        self._indexes: dict[str, int] = {}

    def read_all(self, conditions: Iterable[str]) -> None:
        """Read all of them; those that stay Python are compiled together."""
        python: dict[int, str] = {}
        for text in conditions:
            known = len(self.values), len(self._indexes)
            try:
                self.conditions += self._read(text)
            except _Unreadable:
                self._forget(*known)
                python[len(self.conditions)] = text
                self.conditions.append((_C.TEST_PYTHON, -1, None))
        if python:
            functions = ", ".join(f"lambda L, G: ({text})" for text in python.values())
            code = compile(f"[{functions}]", "<guards>", "eval")
            for index, function in zip(python, eval(code, self.scope), strict=True):
                self.conditions[index] = (_C.TEST_PYTHON, -1, function)

    def _read(self, text: str) -> list[tuple[int, int, object]]:
        one, either, other = text.partition(" or ")
        if either and not _MORE_THAN_ONE_OR.search(text):
            alternatives = self._condition(one), self._condition(other)
            return [(_C.TEST_EITHER, -1, None), *alternatives]
        return [self._condition(part) for part in _parts(text)]

    def _forget(self, values: int, indexes: int) -> None:
        """Take back what was begun for a condition that turned out to be Python."""
        del self.values[values:]
        for name in list(self._indexes)[indexes:]:
            del self._indexes[name]

    # --- conditions

    def _condition(self, text: str) -> tuple[int, int, object]:
        if text.startswith("___check_") and (found := self._leaf(text)) is not None:
            return found
        if text.startswith("("):
            return self._answer(text)
        for word, test in ((" not in ", _C.TEST_LACKS), (" in ", _C.TEST_HAS)):
            element, among, container = text.partition(word)
            if among:
                return test, self.value(container), _constant(element)
        left, same, right = text.partition(" is ")
        if same:
            return _C.TEST_SAME, self.value(left), self.value(right)
        left, equal, right = text.partition(" == ")
        if equal:
            return self._equality(left, right)
        if text.startswith("not hasattr("):
            return self._attribute(text[len("not ") :])
        if _CALL.match(text) is None:
            return _C.TEST_TRUE, self.value(text), None
        return _C.TEST_CALL, *self._call(text)

    def _leaf(self, text: str) -> tuple[int, int, object] | None:
        for name, test in _LEAVES.items():
            if text.startswith(name):
                value, _, operand = text[len(name) : -1].rpartition(", ")
                return test, self.value(value), _constant(operand)
        return None

    def _equality(self, left: str, right: str) -> tuple[int, int, object]:
        if right == "False" and left.startswith("hasattr("):
            return self._attribute(left)
        if left.startswith("___float_bits(") and left.endswith(")"):
            return _C.TEST_FLOAT, self.value(left[len("___float_bits(") : -1]), _float(right)
        if left.startswith("len(") and left.endswith(")") and _INTEGER.match(right):
            return _C.TEST_LENGTH, self.value(left[len("len(") : -1]), int(right)
        if left.startswith("list(") and right.startswith("[") and left.endswith(")"):
            container = left[len("list(") : -1]
            if [*_arguments(container)] != [container]:
                raise _Unreadable
            return _C.TEST_KEYS, self.value(container), _constant(right)
        if _CALL.match(right):
            equal = self._function(operator.eq)
            return _C.TEST_CALL, equal, (self.value(left), self.value(right))
        operand = self.scope[right] if right in self.scope else _constant(right)
        return _C.TEST_EQUALS, self.value(left), operand

    def _answer(self, text: str) -> tuple[int, int, object]:
        """Whether something is in something, and that the answer is what it was."""
        question, _, answer = text.partition(") == ")
        element, among, container = question[1:].partition(" in ")
        if not among or answer not in ("True", "False"):
            raise _Unreadable
        test = _C.TEST_HAS if answer == "True" else _C.TEST_LACKS
        return test, self.value(container), _constant(element)

    def _attribute(self, text: str) -> tuple[int, int, object]:
        value, _, name = text[len("hasattr(") : -1].rpartition(", ")
        attribute = _constant(name)
        if not text.endswith(")") or type(attribute) is not str:
            raise _Unreadable
        return _C.TEST_LACKS_ATTR, self.value(value), attribute

    # --- values

    def value(self, text: str) -> int:
        """The index of what an expression means."""
        index = self._indexes.get(text)
        if index is None:
            step = self._step(text)
            index = self._indexes[text] = len(self.values)
            self.values.append(step)
        return index

    def _step(self, text: str) -> tuple[int, int, object]:
        if text.endswith("]"):
            return self._item(text)
        if text.endswith(")"):
            for name, step in _WRAPPED.items():
                if text.startswith(name):
                    return step, self.value(text[len(name) : -1]), None
            return _C.STEP_CALL, *self._call(text)
        if text in ("L", "G"):
            return _C.STEP_LOCALS if text == "L" else _C.STEP_GLOBALS, 0, None
        before, dot, name = text.rpartition(".")
        if dot and name.isidentifier():
            return _C.STEP_ATTR, self.value(before), sys.intern(name)
        if text in self.scope or _ROOT.match(text):
            return _C.STEP_SCOPE, 0, text
        return _C.STEP_CONSTANT, 0, _constant(text)

    def _item(self, text: str) -> tuple[int, int, object]:
        begin = text.rfind("[")
        key = text[begin + 1 : -1]
        if not _STRING.match(key) and not _INTEGER.match(key):
            begin = _opening(text)  # there is a bracket in the key
            key = text[begin + 1 : -1]
        base = self.value(text[:begin])
        try:
            return _C.STEP_ITEM, base, _constant(key)
        except _Unreadable:  # it has a source of its own
            return _C.STEP_CALL, self._function(operator.getitem), (base, self.value(key))

    def _function(self, function: object) -> int:
        """The index of a function of Python's."""
        self.values.append((_C.STEP_CONSTANT, 0, function))
        return len(self.values) - 1

    def _call(self, text: str) -> tuple[int, tuple[int, ...]]:
        """The index of a function, and those of its arguments."""
        called = _CALL.match(text)
        if called is None:
            raise _Unreadable
        return self.value(called[1]), tuple(map(self.value, _arguments(called[2])))


_LEAVES = {
    "___check_obj_id(": _C.TEST_OBJ_ID,
    "___check_type_id(": _C.TEST_TYPE_ID,
    "___check_nn_module(": _C.TEST_NN_MODULE,
}
_WRAPPED = {"type(": _C.STEP_CLASS, "___instance_dict(": _C.STEP_OWN_DICT}


def _parts(text: str) -> list[str]:
    """The conditions that a condition joins, where that is all it does."""
    if " and " not in text or " or " in text or " if " in text or " for " in text:
        return [text]
    return text.split(" and ")


def _signs(text: str) -> Iterator[tuple[int, str]]:
    """Brackets and commas that are not in a string, and where they stand."""
    for found in _STRINGS_AND_SIGNS.finditer(text):
        sign = found[0]
        if sign in "'\"\\":
            raise _Unreadable
        if len(sign) == 1:
            yield found.start(), sign


def _opening(text: str) -> int:
    """Where the bracket stands that the last character closes."""
    opened: list[int] = []
    begin = -1
    for at, sign in _signs(text):
        if sign in "[({":
            opened.append(at)
        elif sign in "])}":
            if not opened:
                raise _Unreadable
            begin = opened.pop()
    return begin


def _arguments(text: str) -> Iterator[str]:
    """What stands between the brackets of a call, at its commas."""
    begin = depth = 0
    for at, sign in _signs(text):
        depth += (sign in "[({") - (sign in "])}")
        if depth < 0:  # the bracket of the call is closed before its end
            raise _Unreadable
        if sign == "," and not depth:
            yield text[begin:at]
            begin = at + len(", ")
    if text:
        yield text[begin:]


def _constant(text: str) -> object:
    """A number, a word, a string with nothing special in it, or a list or tuple of constants."""
    if _STRING.match(text):
        return sys.intern(text[1:-1])
    if _INTEGER.match(text):
        return int(text)
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[:1] in ("[", "("):
        try:
            return ast.literal_eval(text)
        except (SyntaxError, ValueError):
            raise _Unreadable from None
    raise _Unreadable


def _float(text: str) -> float:
    """The float whose bits a text says, as `___float_bits` gives them."""
    number: float = struct.unpack("<d", ast.literal_eval(text))[0]
    return number
