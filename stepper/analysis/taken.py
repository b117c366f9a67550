"""What Python itself does with a number, or a size, that a break leaves, where no symbol would do.

Dynamo has settings that make a symbol of a number which comes from data. With a symbol the program
can compute, and hand it to torch; but it is no key, no index of a list and no argument of `str`.
What the program does is recorded where the number is known: the function that goes on after the
break has it on its stack, with where it comes from.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from stepper.analysis.broken import COUNTS, DECIDES, FINDS, SUBSCRIBES
from stepper.analysis.decisions import JUMPS, decides, decides_from
from stepper.analysis.sites import METHODS, called_at, first_value, in_torch
from stepper.model.program import Instruction
from stepper.model.trace import Attempt, Moment, MomentId, Node, State, Translation
from stepper.model.value import Value
from stepper.recording.reader import Recording

CONTAINERS = frozenset({"ModuleList", "dict", "list", "range", "str", "tuple"})
"""Types of which an element is found by a number of Python's only."""
_TENSORS = frozenset({"Parameter", "Tensor"})
_HASHED = frozenset({"dict", "frozenset", "set"})
"""Those that ask what is looked for for its hash."""
_WITH_NULL = 2
"""How many values a function takes on the stack, with the NULL beside it."""
_OF_POW = 3
"""How many arguments pow() has with a modulus."""
_MOST = 64
"""How many instructions are looked at, at most."""
_HANDED = re.compile(r"___stack(\d+)\Z")
_LEFT = re.compile(r"L\['___stack(\d+)'\]\Z")
"""What a function that goes on is handed of what stood on the stack."""
_BUILTIN = re.compile(r"(?:G\['__builtins_dict___\d+'\]|__builtins_dict__)\['(\w+)'\]\Z")
_ELSEWHERE = r"G\['(?:__import_\w+'\]\.)?"
"""How the source of a global begins: one of the module of a function that is inlined is an
attribute of that module."""
_OF_TORCH = re.compile(rf"{_ELSEWHERE}(?:torch|F)(?:'\])?(?:\.nn\.functional)?\.(\w+)\Z")
_IN_MODULE = re.compile(rf"{_ELSEWHERE}(?:__import_)?(math|random)(?:'\])?\.(\w+)\Z")
_FUNCTIONS = frozenset(
    {
        "bin", "chr", "complex", "divmod", "frozenset", "hash", "hex", "id", "oct", "print",
        "range", "repr", "set", "str",
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
_OF_TEXTS = frozenset({"float", "getattr", "hasattr", "int", "len"})
"""Builtin functions that take no text with a symbol in it."""
_LEFT_OF_A_TEXT = 4
"""How many values below a number that becomes a text are looked at for the function that is called
with it."""
_ENUMS = frozenset({"EnumMeta", "EnumType"})
"""Types of classes whose objects are found by their value."""
_OF_CONTAINERS = frozenset({"add", "count", "discard", "get", "index", "insert", "pop", "remove"})
"""Methods of Python's containers that take no symbol."""
WITH_PLAIN = frozenset(
    {
        "all", "alpha_dropout", "amax", "amin", "any", "argmax", "argmin", "argsort", "avg_pool1d",
        "batch_norm", "bernoulli", "cat", "chunk", "count_nonzero", "cross_entropy", "cummax",
        "cumprod", "cumsum", "diagonal", "diff", "dropout", "embedding", "flatten", "flip",
        "gather", "glu", "group_norm", "index_select", "layer_norm", "linspace", "log_softmax",
        "logcumsumexp", "logspace", "logsumexp", "manual_seed", "max", "max_pool1d", "mean",
        "median", "min", "mode", "movedim", "nansum", "narrow", "norm", "normal_", "normalize",
        "one_hot", "permute", "pixel_shuffle", "prod", "quantile", "repeat_interleave", "rms_norm",
        "roll", "rot90", "round", "scaled_dot_product_attention", "select", "smooth_l1_loss",
        "softmax", "sort", "split", "squeeze", "stack", "std", "sum", "swapaxes", "tensor_split",
        "topk", "transpose", "unbind", "unfold", "uniform_", "unsqueeze", "vander", "var",
    }
)  # fmt: skip
"""Functions of torch's, and methods of its tensors, for which a number has to be one of Python's: a
dimension, how many tensors come out, a probability. Each was run with a symbol."""
_PLAIN_AT = {
    "linspace": 1, "logspace": 1, "narrow": 0, "repeat_interleave": 1, "roll": 1, "select": 0,
    "topk": 1,
}  # fmt: skip
"""Where that number stands, behind the tensor, of those that take a symbol elsewhere."""
_TORCHS = "() of torch"
_OF_NUMBERS = frozenset({"bit_length", "hex", "real", "to_bytes"})
"""Attributes of a number that a symbol lacks."""
_NUMBERS = frozenset({"float", "int"})
"""Types of what is computed with a number; Dynamo has one tracker for each True of a program."""
_COMPUTING = frozenset({"abs", "float", "int", "len", "max", "min", "round", "sum"})
"""Builtin functions that make a symbol of a symbol, or of a tensor whose size is one."""
_MAKING_NODES = ("call_function", "call_method")
_SIZE = "SizeVariable"
"""The tracker of a tensor's size."""
_SIZES = ("numel", "size")
"""Methods of a tensor that say its size."""
_FORMATTING = ("FORMAT_SIMPLE", "FORMAT_VALUE", "FORMAT_WITH_SPEC")
_KEYED = ("BINARY_SUBSCR", "DELETE_SUBSCR", "STORE_SUBSCR")
_LEADING_TO_A_SIZE = ("BINARY_SUBSCR", "CACHE", "KW_NAMES", "LOAD_CONST", "PRECALL")
"""What stands between a tensor's shape and the call that one of its sizes is handed to."""
_TAKING = (
    *_FORMATTING, *_KEYED, "BINARY_OP", "BINARY_SLICE", "BUILD_LIST", "BUILD_MAP", "BUILD_SET",
    "BUILD_SLICE", "CALL", "COMPARE_OP", "CONTAINS_OP", "GET_ITER", "LOAD_ATTR", "LOAD_METHOD",
    "TO_BOOL", "UNARY_INVERT", "UNARY_NEGATIVE", "UNARY_NOT", "UNPACK_SEQUENCE", *JUMPS,
)  # fmt: skip
_BEFORE_A_CALL = ("CACHE", "KW_NAMES", "PRECALL")
_BETWEEN = ("BUILD_STRING", "CACHE", "LOAD_CONST", "PRECALL", "TO_BOOL")


def taken(recording: Recording, after: Translation, left: Sequence[Function | None]) -> str:
    """How Python itself takes the number, in words; `DECIDES`: the program decides by it, `FINDS`:
    it finds an element by it, `COUNTS`: it does something as often as there are elements of the
    tensor that is left; empty: none of that is recorded.

    `left`: what `function_of` says of what the function that goes on is handed before the
    number."""
    attempts = recording.attempts(after.id)
    if not attempts or not recording.has(begin := attempts[-1].first_moment):
        return ""
    number = _handed_last(recording.state(begin))
    return _followed(recording, attempts[-1], begin, number, left) if number else ""


def taken_from(recording: Recording, begin: MomentId, number: str) -> str:
    """How Python itself takes a number of a source from a moment on, as `taken` says it."""
    known = recording.derived(_followed_before)
    if (begin, number) not in known:  # one rule after the other asks
        attempt = recording.attempt(recording.frame(recording.moment(begin).frame).attempt)
        known[begin, number] = _followed(recording, attempt, begin, number, ())
    return known[begin, number]


def _followed_before(recording: Recording) -> dict[tuple[MomentId, str], str]:
    """What is known already, by where it was followed from."""
    return {}


def _followed(
    recording: Recording,
    attempt: Attempt,
    begin: MomentId,
    number: str,
    left: Sequence[Function | None],
) -> str:
    end = recording.newest if attempt.last_moment is None else attempt.last_moment
    nodes = _nodes_made(recording, attempt.id)
    made: set[int] = set()
    asked = 0
    for moment in recording.moments(begin, end):
        rows = recording.code(recording.frame(moment.frame).code).instructions
        if not rows[moment.ip].opname.startswith(_TAKING):
            continue
        state = recording.state(moment.id)
        node = nodes.get(moment.id)
        taking = _Taking(rows, moment.ip, state, number, left, made, node)
        how = taking.how
        if how not in (COUNTS, DECIDES) and taking.is_of_a_tensor:
            how = ""
        if how.endswith(_TORCHS) and _is_inlined(recording, moment):
            continue  # a function of the program's, of a module that has a name like torch's
        asked += 1
        if how or asked == _MOST:
            return how
        if count := taking.computed:
            made |= _left_by(recording, moment, count)
    return ""


def _nodes_made(recording: Recording, attempt: int) -> dict[MomentId, Node]:
    """The first node that each instruction of an attempt made by a call."""
    found: dict[MomentId, Node] = {}
    for each in recording.nodes_made(attempt):
        if each.op in _MAKING_NODES:
            found.setdefault(each.moment, each)
    return found


def _left_by(recording: Recording, moment: Moment, count: int) -> set[int]:
    """What an instruction leaves on top of the stack, as far as it is numbers or a size."""
    if not recording.has(moment.id + 1) or recording.moment(moment.id + 1).frame != moment.frame:
        return set()
    state = recording.state(moment.id + 1)
    return {
        each
        for each in state.top.stack[-count:]
        if (value := state.values.get(each)) and (value.type in _NUMBERS or value.cls == _SIZE)
    }


def _is_inlined(recording: Recording, call: Moment) -> bool:
    """Whether what is called is none of torch's functions: its own lines follow."""
    if not recording.has(call.id + 1):
        return False
    frame = recording.frame(recording.moment(call.id + 1).frame)
    if frame.parent != call.frame:
        return False
    return not in_torch(recording.code(frame.code).filename)


def taken_by_call(rows: Sequence[Instruction], at: int, state: State) -> str:
    """How the call takes a number whose last argument it is, as `taken` says it, where Dynamo has
    not looked at the function that goes on: the instruction at `at` leaves the number."""
    rest = [row for row in rows[at + 1 :] if row.opname not in _BEFORE_A_CALL][:2]
    if [row.opname for row in rest] == ["LOAD_CONST", "CALL_KW"]:
        rest = rest[1:]  # behind the names of the keywords
    if not rest or rest[0].opname not in ("CALL", "CALL_KW"):
        return ""
    made_by = called_at(state, rows[at])
    if made_by is None or made_by.brief == ".tolist":
        return ""  # of a list of sizes torch takes symbols
    call = rest[0]
    others = max(0, (call.arg or 0) - 1)
    below = state.top.stack[: -(rows[at].arg or 0) - 2]
    pair = below[len(below) - others - _WITH_NULL :][:_WITH_NULL]
    function = first_value(state.values.get(each) for each in pair)
    known = None if function is None else function_of(state, function)
    return "" if known is None else known.said(others, others + 1)


class Function(NamedTuple):
    """A function that takes no symbol."""

    words: str
    place: int | None = None
    """Which of its arguments takes none, counted from 0; None: each."""
    arguments: int | None = None
    """With how many arguments it takes none; None: with any number."""

    def said(self, place: int, arguments: int) -> str:
        """In words, where it is called with the number at a place; empty: it may be a symbol."""
        right_place = self.place is None or self.place == place
        return self.words if right_place and self.arguments in (None, arguments) else ""


def function_of(state: State, value: Value) -> Function | None:
    """A function that takes no symbol; None: it is none of those."""
    if value.type in _ENUMS:
        return Function("an enum, as a value of it")
    if builtin := _BUILTIN.match(value.source):
        if builtin[1] == "pow":
            return Function("pow() with a modulus", arguments=_OF_POW)
        return Function(f"{builtin[1]}()") if builtin[1] in _FUNCTIONS else None
    if found := _IN_MODULE.match(value.source):
        known = _OF_MATH if found[1] == "math" else _OF_RANDOM
        return Function(f"{found[1]}.{found[2]}()") if found[2] in known else None
    if of_torch := _OF_TORCH.match(value.source):
        name, place = of_torch[1], _PLAIN_AT.get(of_torch[1])
        # Before it stands the tensor, which is no argument of a method.
        place = None if place is None else place + 1
        return Function(f"{name}{_TORCHS}", place) if name in WITH_PLAIN else None
    owner = state.values.get(value.items[0].value) if value.items else None
    name = value.brief.removeprefix(".")
    if owner is None or value.cls not in METHODS:
        return None
    if owner.tensor is not None or owner.type in _TENSORS:
        words = f"{name}() of a tensor"
        return Function(words, _PLAIN_AT.get(name)) if name in WITH_PLAIN else None
    if owner.type not in CONTAINERS | _HASHED or name not in _OF_CONTAINERS:
        return None
    return Function(f"{name}() of a {owner.type}")


def _handed_last(state: State) -> str:
    """The source of the uppermost value of the stack that a function is handed."""
    handed = [int(found[1]) for each in state.top.locals if (found := _HANDED.match(each))]
    return f"L['___stack{max(handed)}']" if handed else ""


class _Taking:
    """An instruction, and what is on the stack for it."""

    def __init__(
        self,
        rows: Sequence[Instruction],
        at: int,
        state: State,
        number: str,
        left: Sequence[Function | None],
        made: AbstractSet[int],
        node: Node | None,
    ) -> None:
        self._rows, self._at = rows, at
        self._row = rows[at]
        self._state = state
        self._number = number
        self._left = left
        self._made = made
        """What has been computed with the number."""
        self._node = node
        """What the call has made."""

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
            case "GET_ITER" if self._has(1) and self._type(1) == "Tensor":
                return COUNTS
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
            case "CALL_KW" if self._has(*range(2, count + 2)):
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
            return "a text, as a key" if subscribes else self._text_handed_on()
        return ""

    @property
    def is_of_a_tensor(self) -> bool:
        """Whether the instruction takes the tensor that is left, and no number of its size."""
        stack = self._state.top.stack[-(self._row.arg or 0) - _WITH_NULL - 1 :]
        values = (value for each in stack if (value := self._state.values.get(each)))
        return any(
            each.source == self._number and (each.tensor is not None or each.type in _TENSORS)
            for each in values
        )

    @property
    def computed(self) -> int:
        """How many numbers or sizes it may leave that follow from the number."""
        row, count = self._row, self._row.arg or 0
        match row.opname:
            case "BINARY_OP" | "BINARY_SUBSCR":
                return int(self._has(1, 2))
            case "UNARY_NEGATIVE":
                return int(self._has(1))
            case "UNPACK_SEQUENCE":
                return count if self._has(1) else 0
            case "LOAD_ATTR":
                return int(self._has(1) and row.argrepr.endswith("shape"))
            case "CALL":
                return int(self._computes(count))
        return 0

    def _computes(self, count: int) -> bool:
        """Whether what is called makes a number of the number, or of the size of the tensor."""
        function = called_at(self._state, self._row)
        if function is None:
            return False
        if builtin := _BUILTIN.match(function.source):
            return builtin[1] in _COMPUTING and self._has(*range(1, count + 1))
        owner = self._state.values.get(function.items[0].value) if function.items else None
        named = function.brief.removeprefix(".") in _SIZES
        return named and owner is not None and owner.source == self._number

    def _has(self, *places: int) -> bool:
        """Whether the number, or what is computed with it, is at one of the places of the stack,
        counted from its top, from 1."""
        stack = self._state.top.stack
        ids = [stack[-place] for place in places if place <= len(stack)]
        values = map(self._state.values.get, ids)
        return not self._made.isdisjoint(ids) or any(
            value is not None and value.source == self._number for value in values
        )

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
        if not self._row.opname.startswith(JUMPS):
            return DECIDES if decides_from(self._rows, self._at) else ""
        return DECIDES if decides(self._rows, self._at) else ""

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
        found = first_value(values)
        builtin = found and _BUILTIN.match(found.source)
        return f"{builtin[1]}()" if builtin and builtin[1] in _OF_MANY else ""

    def _text_handed_on(self) -> str:
        """A function that is called with a text of the number, and needs the text itself."""
        if not self._follows(("CALL",)):
            return ""
        values = map(self._value, range(2, 2 + _LEFT_OF_A_TEXT))
        found = (_BUILTIN.match(each.source) for each in values if each is not None)
        builtin = next(filter(None, found), None)
        return f"a text, by {builtin[1]}()" if builtin and builtin[1] in _OF_TEXTS else ""

    def _asked(self, attribute: str) -> str:
        """What it has that is asked for: of a tensor it is the size."""
        if attribute in _OF_NUMBERS:
            return f".{attribute} of a number"
        if attribute == "shape":
            if decides_from(self._rows, self._at):
                return DECIDES
            return COUNTS if self._is_range_of_a_size() else ""
        after = self._follows(("CALL",)) if attribute in _SIZES else None
        return DECIDES if after is not None and decides_from(self._rows, after) else ""

    def _is_range_of_a_size(self) -> bool:
        """Whether `range` is called with a size of the tensor on top of the stack, which the
        instruction asks for its shape, or for its length."""
        rest = (row for row in self._rows[self._at + 1 :] if row.opname not in _LEADING_TO_A_SIZE)
        call = next(rest, None)
        if call is None or call.opname != "CALL" or call.arg != 1:
            return False
        above = 1 if self._row.opname.startswith("LOAD") else 1 + _WITH_NULL
        function = first_value(map(self._value, range(above + 1, above + 1 + _WITH_NULL)))
        builtin = function and _BUILTIN.match(function.source)
        return bool(builtin and builtin[1] == "range")

    def _called(self) -> str:
        function = called_at(self._state, self._row)
        if function is None:
            return ""
        handed = _LEFT.match(function.source)
        if handed is not None:
            known = self._left[int(handed[1])] if int(handed[1]) < len(self._left) else None
            return self._said_of(known or self._by_node())
        builtin = _BUILTIN.match(function.source)
        if builtin and builtin[1] == "len":
            if decides_from(self._rows, self._at):
                return DECIDES
            return COUNTS if self._is_range_of_a_size() else ""
        return self._said_of(function_of(self._state, function) or self._by_node())

    def _by_node(self) -> Function | None:
        """A function of torch's, as the node has it that the call has made: whatever the program
        calls it, and where Dynamo has not looked at it before."""
        node = self._node
        if node is None or (node.op == "call_function" and not node.target.startswith("torch.")):
            return None
        name = node.target.rpartition(".")[2]
        if name not in WITH_PLAIN:
            return None
        place = _PLAIN_AT.get(name)
        if node.op == "call_method":
            return Function(f"{name}() of a tensor", place)
        return Function(f"{name}{_TORCHS}", None if place is None else place + 1)

    def _said_of(self, function: Function | None) -> str:
        """How a function that is called takes it."""
        count = self._row.arg or 0
        above = self._row.opname == "CALL_KW"  # the names of the keywords
        places = [
            at
            for at in range(count)
            if self._has(place := count - at + above) and self._type(place) != "list"
        ]
        said = (function.said(at, count) for at in places) if function is not None else ()
        return next(filter(None, said), "")
