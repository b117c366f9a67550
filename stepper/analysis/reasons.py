"""Why entries did not match, as the compiler says when it compiles again.

Dynamo tells it in words, of the entry that was tried first, for people to read, and these are taken
apart here. Where the engine has no other words than of what it found itself (`Translation.unmet`),
none are. `0/0: tensor 'x' size mismatch at index 0. expected 4, actual
5` names all that is to be known; `1/0: times == 1  # return x * times  # …` only what was expected.
What no pattern knows is kept as it is.
"""

from __future__ import annotations

import ast
import re

import msgspec

from stepper.analysis.sources import MADE_OF, path_of, unscoped
from stepper.client.text import one_line
from stepper.model.datum import Datum, Words, literal
from stepper.model.lookup import Difference, UnmetEntry, unmet_text
from stepper.model.trace import Translation
from stepper.support.guarded_values import compared_with_constant, membership_of, parsed

_LABEL = re.compile(r"\s*(?P<label>\d+/\d+|None|[\w/!]+): ")
_ENTRY = re.compile(r"\d+/\d+: ")
_COMMENT = re.compile(r"(?<!\s)(?:\s{2,}+# |\s++# (?=.*# ))|\nUser stack trace:")

_AS_TENSOR = "___as_tensor("
"""With it torch up to 2.11 compares a float that is an input of the graph with itself."""
METADATA = "TENSOR_SUBCLASS_METADATA_MATCH"
SPEC = "DTENSOR_SPEC_MATCH"
PLACEMENTS = "mesh and placements"
"""What is compared of a DTensor."""
MARKED = "DIMENSION_DYNAMIC_MARKING_GUARD"
COUNTED = "COUNT_ITERATOR_MATCH"
NEXT = "next value"
"""What of an itertools.count is compared."""
DEVICE_NUMBER = "device number"
"""Which of several devices of one kind a tensor is on."""
OF_A_DEVICE = frozenset({"dispatch keys", DEVICE_NUMBER})
"""What differs of a tensor on another device, because it is on that."""
A_TENSOR = "a tensor type"
"""What Dynamo calls the type that it has seen, whichever it was."""
_TENSOR = re.compile(
    r"tensor '(?P<source>.*?)' (?P<what>size|stride|dtype|rank|requires_grad|dispatch key set)"
    r" mismatch(?: at index (?P<at>\d+))?\.\s+expected (?P<expected>.*?)[,.] actual (?P<actual>.*)",
    re.DOTALL,
)
_ADVISED = ". Guard failed on "
"""How Dynamo goes on with advice behind a size of a parameter."""
_KEYS_OF_DISPATCH = "dispatch key set"
_GRADIENTS = "Autograd"
"""In the names of the dispatch keys with which gradients are recorded."""
_TENSOR_ONE_SIDED = re.compile(
    r"tensor '(?P<source>.*?)' requires_grad mismatch\. expected requires_grad=(?P<expected>\d)"
)
_TENSOR_DEVICE = re.compile(
    r"tensor '(?P<source>.*?)' Tensor device index mismatch\. "
    r"Expected device index to be (?P<expected>\d+), actual (?P<actual>\d+)"
)
"""Two devices of one kind, which is not said."""
_TENSOR_TYPE = re.compile(
    rf"expected type of '(?P<source>.*?)' to be (?:(?P<expected>{A_TENSOR}), '"
    r"|<class '(?P<class>[^']*)'>,) but found <class '(?P<actual>[^']*)'>"
)
"""Which type it has seen, torch says from 2.15 on."""
_TYPE = re.compile(
    r"___check_type_id\((?P<source>.*), \d+\)(?:, type=<class '(?P<expected>[^']*)'>)?"
)
_DICT_OF_ANOTHER_TYPE = re.compile(r"TYPE_MISMATCH\((?P<source>.*)\)$")
"""How Dynamo words that what it reads by keys is another kind of dictionary."""
_IDENTITY = re.compile(r"___check_obj_id\((?P<source>.*), \d+\)(?:, type=(?P<expected>.*))?")
_THIS_OBJECT = re.compile(
    r"___check_obj_id\((?P<source>[^,]+), (?P<number>\d+)\)(?:, type=(?P<kind>.*))?"
)
_CLASS = re.compile(r"<class '(?:.*\.)?(\w+)'>")
_LENGTH = re.compile(r"len\((?P<source>.*)\) == (?P<expected>\d+)")
_KEYS = re.compile(r"len\((?P<source>.*)\) != (?P<expected>\d+)$")
"""How Dynamo words that a dictionary, whose keys it reads by their places, has not as many."""
_EMPTY = re.compile(r"not (?P<source>\w[\w.\[\]'\"]*)$")
"""How Dynamo words that a container has no elements."""
_STATE = re.compile(r"(?P<what>GLOBAL_STATE) changed: (?P<actual>.*)")
_BACKEND = re.compile(
    r"BACKEND_MATCH failure: (?>.*?Cached backend: )(?P<expected>(?>.*?(?=\. New backend: )))"
    r"\. New backend: (?P<actual>.*?)\. ",
    re.DOTALL,
)
_SIZE = re.compile(r".*\.(?:size|stride|storage_offset)\(\).*")
_NONE = re.compile(r"(?P<source>\w[\w.\[\]'\"]*) is (?P<expected>None)$")
_OF_A_CLASS = r"(?:dict\(type\([\w.\[\]'\"]+\)[\w.\[\]]*\)|type\([\w.\[\]'\"]+\))"
"""How Dynamo comes to the attributes of a value's class."""
_KEY = r"list\(dict\.keys\([\w.\[\]'\"]+\)\)\[\d+\]"
"""How Dynamo comes to a key by its place."""
_SAME = re.compile(
    rf"(?P<expected>(?:{_KEY}|\w)[\w.\[\]'\"]*) is (?P<source>(?:{_KEY}|\w)[\w.\[\]'\"]*)$"
)
"""How Dynamo words that two inputs are one object, or an input a key."""
_VALUE = rf"dict\.__getitem__\([\w.\[\]'\"]+, {_KEY}\)"
"""How Dynamo comes to the value of such a key."""
_MADE_OF = rf"[\w.\[\]'\"]+{re.escape(MADE_OF)}"
"""How Dynamo comes to the names of the tensors that a tensor subclass is made of."""
_EQUAL = re.compile(
    rf"(?P<source>(?:{_VALUE}|{_OF_A_CLASS}|{_KEY}|{_MADE_OF}|\w)[\w.\[\]'\"]*)"
    r" == (?P<expected>.+)"
)

_COUNTED = re.compile(
    r"___normalize_count_iter\((?P<source>.+)\) == \((?P<expected>[^,()]+), [^,()]+\)"
)
"""How Dynamo words where an itertools.count stands: the number that it gives next, and the step."""
NO_ATTRIBUTE = "getattr failed on source"
_UNREACHED = re.compile(
    rf"(?:KeyError on|IndexError on|{NO_ATTRIBUTE}|\w+: Not a \w[\w ]* on)"
    r" (?P<source>\S.*)"
)
"""How Dynamo words that it came to no value at all."""

_NAN = re.compile(
    r"\(type\((?P<source>[^()]+)\) is (?P<type>float|complex) and __\w+_is(?P<expected>nan)\("
)
_MODES = re.compile(r"___check_torch_function_mode_stack\(\)")
_DUPLICATE = re.compile(r'Duplicate tensors found: \["(?P<other>[^"]*)", "(?P<source>[^"]*)"\]')
_MARKED = re.compile(r"_has_dynamo_dim_marking is present ")
"""How Dynamo words that a dimension is marked that was not; it does not say of which tensor."""

_METADATA = re.compile(r"___check_metadata_\d+_c")
"""How Dynamo words that a tensor subclass has other metadata; it does not say which tensor."""
_SPEC = re.compile(r"__dtensor_spec_\d+")
"""How Dynamo words that a DTensor is laid out otherwise; it does not say which."""
FITS = "nothing was found to fail: when the compiler looked, all its guards held"
"""What is to be said of an entry that fits by then: another thread may have made it meanwhile."""
_FITS = re.compile(r"Unexpected recompilation: runtime guards failed even though they passed\b")
"""How Dynamo words that it finds nothing which failed."""
_DIED = re.compile(r"^(?:Cache line invalidated because )?(?P<source>.+?) got deallocated$")
_KINDS = (
    (_DIED, "INVALID", ""),
    (_FITS, "", ""),
    (_METADATA, METADATA, "metadata"),
    (_SPEC, SPEC, PLACEMENTS),
    (_TENSOR, "TENSOR_MATCH", ""),
    (_TENSOR_ONE_SIDED, "TENSOR_MATCH", "requires_grad"),
    (_TENSOR_DEVICE, "TENSOR_MATCH", DEVICE_NUMBER),
    (_TENSOR_TYPE, "TENSOR_MATCH", "type"),
    (_TYPE, "TYPE_MATCH", "type"),
    (_DICT_OF_ANOTHER_TYPE, "DICT_MANAGER", "type"),
    (_IDENTITY, "ID_MATCH", "object"),
    (_LENGTH, "LENGTH_CHECK", "length"),
    (_KEYS, "DICT_LENGTH", "length"),
    (_EMPTY, "LENGTH_CHECK", "length"),
    (_STATE, "GLOBAL_STATE", "global state"),
    (_BACKEND, "BACKEND", "backend"),
    (_NAN, "FLOAT_IS_NAN", "value"),
    (_MODES, "TORCH_FUNCTION_MODE_STACK", ""),
    (_DUPLICATE, "NO_TENSOR_ALIASING", ""),
    (_MARKED, MARKED, ""),
    (_SIZE, "SYMBOLIC_SHAPE_GUARD", ""),
    (_NONE, "NONE_MATCH", "value"),
    (_SAME, "OBJECT_ALIASING", "identity"),
    (_EQUAL, "EQUALS_MATCH", "value"),
    (_COUNTED, COUNTED, NEXT),
    (_UNREACHED, "", ""),
)

_IN_OUR_WORDS = {
    _FITS: FITS,
    _DIED: "an object that it depends on has died: {source}",
    _DUPLICATE: "{source} is the same tensor as {other}",
}
"""What recorded lookups say where Dynamo has other words."""
_PLAIN = frozenset(
    {DEVICE_NUMBER, "value", "length", "rank", "size", "stride", "requires_grad", NEXT}
)
"""What is compared with a plain value."""
_DTYPES = {
    "Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16",
    "Int": "int32", "Long": "int64", "Short": "int16", "Char": "int8", "Byte": "uint8",
    "Bool": "bool", "ComplexFloat": "complex64", "ComplexDouble": "complex128",
}  # fmt: skip
"""C++'s names, as the reasons have them."""


class Reason(msgspec.Struct, frozen=True):
    """Why an entry did not match, as far as the words say."""

    entry: str
    """Compile id of the entry; empty when the words begin with none."""
    kind: str = ""
    """The leaf guard that these words belong to; empty when no pattern knows them."""
    source: str = ""
    """The expression, without `L[…]` around the names of locals."""
    differences: tuple[Difference, ...] = ()
    """In what it differs; an actual value is unknown when the words do not say it."""
    text: str = ""
    """The words themselves, in one line, without the label and the code behind them."""
    missing: bool = False
    """There is no such value: it could not be got to."""


_COMPARISONS = frozenset({"TYPE_MATCH", "LENGTH_CHECK", "NONE_MATCH", "EQUALS_MATCH", COUNTED})
_CHECKS = tuple(each for each in _KINDS if each[1] in _COMPARISONS)


def parse_check(code: str) -> tuple[str, str, Datum] | None:
    """What a guard's code compares with a constant: the expression, what of it, the constant. None
    when it is no such comparison."""
    if _AS_TENSOR in code:
        return None
    for pattern, _, what in _CHECKS:
        match = None if pattern is _EQUAL and _is_one_of_several(code) else pattern.match(code)
        if match is not None:
            found = match.groupdict()
            return found["source"] or "", what, _datum(what, _expected(pattern, found))
    compared = _equality(code)
    return None if compared is None else (compared[0], "value", literal(compared[1]))


def _is_one_of_several(words: str) -> bool:
    """Whether it is enough that one of several conditions holds: `n == 2 or n == 4`."""
    return " or " in words and isinstance(parsed(words), ast.BoolOp)


def _equality(words: str) -> tuple[str, str] | None:
    """An expression that leads to a value, and the constant that it is compared with, where the
    way there is one that no pattern knows: through dictionaries within dictionaries, say."""
    compared = compared_with_constant(words)
    return None if compared is None or path_of(compared[0]) is None else compared


def identity_in(code: str) -> tuple[str, str, Words] | None:
    """Which object a guard's code wants: the expression, its number, and what it is called; None:
    it wants something else."""
    found = _THIS_OBJECT.match(code)
    if found is None:
        return None
    kind = _CLASS.fullmatch(found["kind"] or "")
    return (
        found["source"],
        found["number"],
        Words(f"the {kind[1] if kind else 'object'} that it was"),
    )


def reasons_of(item: Translation) -> list[Reason]:
    """Why entries did not match before a compilation, as far as the compiler said; none were there
    before the first."""
    if item.recompile_reason == unmet_text(item.unmet):
        return [*map(_reason, item.unmet)]
    return [parse_reason(item.recompile_reason)] if item.recompile_reason else []


def _reason(unmet: UnmetEntry) -> Reason:
    if unmet.first is None:
        return Reason(unmet.entry, text=str(unmet))
    guard, check = unmet.first
    source = unscoped(guard.source)
    return Reason(unmet.entry, guard.kind, source, check.differences, check.failure(guard))


def reasons_in(message: str) -> list[Reason]:
    """Why entries did not match, as the error says that is raised in place of a compilation."""
    lines = (line.strip().removeprefix("- ") for line in message.splitlines())
    return [parse_reason(line) for line in lines if _ENTRY.match(line)]


def parse_reason(reason: str) -> Reason:
    """Take Dynamo's words on one entry apart."""
    label = _LABEL.match(reason)
    words = reason[label.end() :] if label else reason
    words = _COMMENT.split(words, maxsplit=1)[0].strip()
    entry = label["label"] if label else ""
    text = one_line(words)
    for pattern, kind, what in _KINDS:
        match = pattern.match(words)
        if match is None or (pattern is _EQUAL and _is_one_of_several(words)):
            continue
        found = match.groupdict()
        return Reason(
            entry,
            kind,
            unscoped(found.get("source") or ""),
            tuple(filter(None, (_difference(pattern, what, found),))),
            _IN_OUR_WORDS[pattern].format(**found) if pattern in _IN_OUR_WORDS else text,
            pattern is _UNREACHED,
        )
    if (compared := _equality(words)) is not None:
        difference = Difference("value", literal(compared[1]))
        return Reason(entry, "EQUALS_MATCH", unscoped(compared[0]), (difference,), text)
    asked = membership_of(words)
    if asked is None:
        return Reason(entry, text=text)
    expected, actual = map(Words, asked.words)
    differences = (Difference(asked.what, expected, actual),)
    return Reason(entry, asked.kind, unscoped(asked.source), differences, text)


def _difference(
    pattern: re.Pattern[str], what: str, found: dict[str, str | None]
) -> Difference | None:
    if pattern is _STATE:
        return Difference(f"{what} ({one_line(found['actual'] or '')})")
    what = found.get("what") or what
    if not what:
        return None
    if pattern is _TENSOR_ONE_SIDED:
        wants_grad = found["expected"] == "1"
        return Difference("requires_grad", wants_grad, not wants_grad)
    if what == _KEYS_OF_DISPATCH:
        return _of_keys(found["expected"] or "", found["actual"] or "")
    at = found.get("at")
    expected = _datum(what, _expected(pattern, found))
    if pattern is _IDENTITY and (kind := _CLASS.fullmatch(found["expected"] or "")) is not None:
        expected = Words(f"the {kind[1]} that it was")
    said = found.get("actual")
    actual = _datum(what, said if said is None else said.partition(_ADVISED)[0])
    return Difference(what, expected, actual, None if at is None else int(at))


def _of_keys(expected: str, actual: str) -> Difference:
    """A tensor that is made in inference mode, or seen there, has no keys for gradients."""
    without = [_GRADIENTS not in keys for keys in (expected, actual)]
    if without[0] != without[1]:
        return Difference("inference", without[0], without[1])
    return Difference("dispatch keys", Words(one_line(expected)), Words(one_line(actual)))


def _expected(pattern: re.Pattern[str], found: dict[str, str | None]) -> str | None:
    return "0" if pattern is _EMPTY else found.get("expected") or found.get("class")


def _datum(what: str, text: str | None) -> Datum:
    """What a compiler's words say of a value, as data."""
    text = one_line(text or "")
    if what == "dtype":
        return Words(_DTYPES.get(text, text))
    return literal(text) if what in _PLAIN and text else Words(text)
