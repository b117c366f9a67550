"""A compiler's words on why an entry did not match, taken apart.

They are what a recording without lookups has: the reason of the entry that was tried first, for
people to read. `0/0: tensor 'x' size mismatch at index 0. expected 4, actual 5` names all that is
to be known; `1/0: times == 1  # return x * times  # …` only what was expected. What no pattern
knows is kept as it is.
"""

from __future__ import annotations

import re

import msgspec

from stepper.analysis.sources import unscoped
from stepper.client.text import one_line

_LABEL = re.compile(r"\s*(?P<label>\d+/\d+|None|[\w/!]+): ")
_COMMENT = re.compile(r"\s{2,}# |\s+# (?=.*# )|\nUser stack trace:")

_TENSOR = re.compile(
    r"tensor '(?P<source>.*?)' (?P<what>size|stride|dtype|rank|requires_grad|dispatch key set)"
    r" mismatch(?: at index (?P<at>\d+))?\.\s+expected (?P<expected>.*?)[,.] actual (?P<actual>.*)",
    re.DOTALL,
)
_TENSOR_ONE_SIDED = re.compile(
    r"tensor '(?P<source>.*?)' requires_grad mismatch\. expected requires_grad=(?P<expected>\d)"
)
_TYPE = re.compile(
    r"___check_type_id\((?P<source>.*), \d+\)(?:, type=<class '(?P<expected>[^']*)'>)?"
)
_IDENTITY = re.compile(r"___check_obj_id\((?P<source>.*), \d+\)(?:, type=(?P<expected>.*))?")
_LENGTH = re.compile(r"len\((?P<source>.*)\) == (?P<expected>\d+)")
_STATE = re.compile(r"(?P<what>GLOBAL_STATE) changed: (?P<actual>.*)")
_BACKEND = re.compile(
    r"BACKEND_MATCH failure: .*?Cached backend: (?P<expected>.*?)\."
    r" New backend: (?P<actual>.*?)\. ",
    re.DOTALL,
)
_SIZE = re.compile(r".*\.(?:size|stride|storage_offset)\(\).*")
_NONE = re.compile(r"(?P<source>\w[\w.\[\]'\"]*) is (?P<expected>None)$")
_EQUAL = re.compile(r"(?P<source>\w[\w.\[\]'\"]*) == (?P<expected>.+)")

_DIED = re.compile(
    r"^(?:Cache line invalidated because )?(?P<source>.+?) "
    r"(?:got deallocated$|died, (?:at|in) )"
)
_SAID = re.compile(
    r"(?P<kind>[A-Z_]+)(?: (?P<source>\S+))?: (?P<what>[\w.\[\]()]+) (?P<expected>.+?) ≠ "
    r"(?P<actual>.+?)(?:, |$)"
)
"""The native engine's words."""
_KINDS = (
    (_SAID, "", ""),
    (_DIED, "INVALID", ""),
    (_TENSOR, "TENSOR_MATCH", ""),
    (_TENSOR_ONE_SIDED, "TENSOR_MATCH", "requires_grad"),
    (_TYPE, "TYPE_MATCH", "type"),
    (_IDENTITY, "ID_MATCH", "object"),
    (_LENGTH, "LENGTH_CHECK", "length"),
    (_STATE, "GLOBAL_STATE", "global state"),
    (_BACKEND, "BACKEND", "backend"),
    (_SIZE, "SYMBOLIC_SHAPE_GUARD", "size"),
    (_NONE, "NONE_MATCH", "value"),
    (_EQUAL, "EQUALS_MATCH", "value"),
)

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
    what: str = ""
    """In what it differs: `size[0]`, `dtype`, `value` …"""
    expected: str = ""
    actual: str = ""
    """Empty when the words do not say."""
    text: str = ""
    """The words themselves, in one line, without the label and the code behind them."""


_COMPARISONS = frozenset({"TYPE_MATCH", "LENGTH_CHECK", "NONE_MATCH", "EQUALS_MATCH"})
_CHECKS = tuple(each for each in _KINDS if each[1] in _COMPARISONS)


def parse_check(code: str) -> tuple[str, str, str] | None:
    """What a guard's code compares with a constant: the expression, what of it, the constant. None
    when it is no such comparison."""
    for pattern, _, what in _CHECKS:
        match = pattern.match(code)
        if match is not None:
            found = match.groupdict()
            return found["source"], what, one_line(found["expected"] or "")
    return None


def parse_reason(reason: str) -> Reason:
    """Take the words on one entry apart."""
    label = _LABEL.match(reason)
    words = reason[label.end() :] if label else reason
    words = _COMMENT.split(words, maxsplit=1)[0].strip()
    entry = label["label"] if label else ""
    text = one_line(words)
    for pattern, kind, what in _KINDS:
        match = pattern.match(words)
        if match is None:
            continue
        found = match.groupdict()
        told = found.get("what") or what
        if pattern is _STATE:
            told = f"{what} ({one_line(found['actual'])})"
            found["actual"] = ""
        if found.get("at") is not None:
            told = f"{told}[{found['at']}]"
        expected, actual = (one_line(found.get(name) or "") for name in ("expected", "actual"))
        if told == "dtype":
            expected, actual = (_DTYPES.get(name, name) for name in (expected, actual))
        if pattern is _TENSOR_ONE_SIDED:
            expected, actual = ("True", "False") if expected == "1" else ("False", "True")
        kind = found.get("kind") or kind
        source = unscoped(found.get("source") or "")
        return Reason(entry, kind, source, told, expected, actual, text)
    return Reason(entry, text=text)
