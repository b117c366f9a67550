"""The guards of one cache entry, as a list of checks that can be asked one by one.

Dynamo keeps an entry's guards as a tree: a *manager* for each value that is looked at, with *leaf
guards* about the value and *accessors* to the values below it. A lookup walks it depth first, the
leaves of a manager before what is below, accessors in an order that moves those that failed before
to the front; after the tree come the epilogue's lambdas. Here that walk is written down once as a
list. Each check can then be asked on its own: the value is reached by the manager's source, which
is a Python expression by design, and the leaf is called with it.

Some guards compare several values (aliasing, shapes that are related). They keep state between
calls, so they are never called; what they say is evaluated instead, in Dynamo's own words, as
Dynamo does to explain a recompilation. Whether the entry matches is always decided by the tree
itself: its `check_verbose` runs the same guards, and neither reorders nor counts.
"""

from __future__ import annotations

import collections
import linecache
import re
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from types import CodeType
from typing import Any, NamedTuple

import msgspec
import torch

from stepper.engines.common.entry_guards import Result
from stepper.engines.common.shape_conditions import (
    IN_CPP,
    IN_PYTHON,
    same_object_as,
    seen,
    values_in,
)
from stepper.engines.common.tensors import fake_tensor_meta
from stepper.engines.common.versions import source_name, without_torch_function
from stepper.engines.common.words import object_text
from stepper.engines.dynamo.versions import SHAPE_SCOPE, cache
from stepper.model.cache import GuardCheck, GuardRow, Verdict
from stepper.model.program import PythonFrame, UserLine
from stepper.model.value import TensorMeta
from stepper.support.exceptions import arguments_of
from stepper.support.words import class_name, is_plain, plain_text

_SIZED = (dict, list, tuple, set, frozenset, collections.deque)
"""Containers whose length is a matter of C data."""
_COMMENT = re.compile(
    # The user's line may end with a comment of its own: the place is behind the last mark.
    r"^(?P<code>.*?)(?:  # (?P<user>.*?))?  # (?P<line>\S(?:(?!  # )[^\n])*?:\d+ in \S+)"
    r"(?: \((?:HINT: )?(?P<hint>.*)\))?$",
    re.S,
)
_NO_LINE = re.compile(r"(?<!\s)\s*+# (?:\(unknown source|duck sizing added) .*$", re.S)
"""What stands behind a condition on a size of which torch does not know who used it first, and
behind one that says that two are the same."""
_TENSOR = re.compile(
    r"^check_tensor\(.*, (?P<cls>\S+), DispatchKeySet\((?P<keys>[^()]*)\), torch\.(?P<dtype>\w+), "
    r"device=(?P<device>[^,]*), requires_grad=(?P<grad>\w+), size=\[(?P<size>[^\]]*)\], "
    r"stride=\[(?P<stride>[^\]]*)\]\)$",
    re.S,
)
_BACKEND = re.compile(
    r"(?:^|, )(?:Autograd|Sparse(?:Csr)?|Quantized|NestedTensor)?"
    r"(CPU|CUDA|XPU|MPS|HPU|MTIA|XLA|Meta)(?:,|$)"
)
"""The dispatch keys that say the kind of a device."""
_PLACE = re.compile(r"(?P<file>.*?) ?:(?P<line>\d+) in (?P<function>.*)", re.S)
_WORDS_KEPT = 8_000
"""Texts of guards of which it is remembered what they say."""
_IDENTITY = re.compile(r"^___check_(?:obj|type)_id\(.*, (?P<id>\d+)\), type=(?P<type>.*)$", re.S)


class WantedDict(NamedTuple):
    """What a dict's manager asks for by itself."""

    kind: type
    least: int
    """How many keys there are at least: it has guards for them, by their places."""
    length: int | None
    """How many there are; None: Dynamo does not tell, and nobody looked when it was made."""


class Check(NamedTuple):
    """One guard: what to show of it and how to ask it."""

    row: GuardRow
    leaf: Any
    """Dynamo's leaf guard; None for what a dict's manager checks itself."""
    reach: CodeType | None
    """The expression of the value; None: the locals themselves."""
    wanted_dict: WantedDict | None = None
    """What a manager wants of the dict that it looks at; None: it is about no dict."""
    condition: bool = False
    """It is one of the conditions of a shape guard: its words are evaluated, since the leaf is the
    guard of them all."""


def dict_passes(check: Check, value: Any) -> bool | None:
    """What a dict's manager says of a value; None: nobody can say, as it is not known how many
    keys it wants, or as Dynamo names the dictionary of a class by the class."""
    wanted, found = check.wanted_dict, length_of(value)
    if wanted is None or found is None or not issubclass(type(value), dict):
        return None
    if type(value) is not wanted.kind or found < wanted.least:
        return False
    return None if wanted.length is None else found == wanted.length


class GuardTree:
    """The checks of one entry, in the order of a lookup.

    Holds the tree, and so what the entry holds itself; to be dropped after use.
    """

    def __init__(
        self,
        wrapper: Any,
        names: dict[int, str] | None = None,
        *,
        lengths: Mapping[str, int] | None = None,
        few: bool = False,
        checks: list[Check] | None = None,
    ) -> None:
        """
        Args:
            wrapper: the entry's `guard_manager`.
            names: says by id what the objects are that it knows by identity.
            lengths: how many keys the dicts had when it was made, by source.
            few: only the guards that have told entries apart; see `versions.asks_few_guards`.
            checks: those of the tree, if it was read before.
        """
        self._names = names or {}
        self._lengths = lengths or {}
        self.root = wrapper.diff_guard_root if few else wrapper.root
        self._wrapper = wrapper
        self._seen: dict[int, Any] = {}
        self._unaliased: list[str] = [
            name if isinstance(name, str) else source_name(name)
            for name in wrapper.no_tensor_aliasing_sources or ()
        ]
        self.checks: list[Check] = checks or []
        if self.root is not None and checks is None:
            for manager, source, depth in _managers(self.root):
                if isinstance(manager, cache.DictGuardManager):
                    self._add_dict(manager, source, depth)
                for leaf in manager.get_leaf_guards():
                    self._add_leaf(leaf, source, depth)
            for leaf in self.root.get_epilogue_lambda_guards():
                self._add_leaf(leaf, "", 1, epilogue=True)
            self._number()

    @cached_property
    def scope(self) -> dict[str, Any]:
        """The names that the words of guards use besides L and G."""
        return {
            **self._wrapper.closure_vars,
            **self._wrapper.global_scope,
            **SHAPE_SCOPE,
            "check_overlapping": _check_overlapping,
        }

    @property
    def rows(self) -> tuple[GuardRow, ...]:
        """What to show, in order."""
        return tuple(check.row for check in self.checks)

    # -- reading -----------------------------------------------------------------------------

    def _add_leaf(self, leaf: Any, source: str, depth: int, *, epilogue: bool = False) -> None:
        relational = isinstance(leaf, cache.RelationalGuard)
        kind = type(leaf).__name__
        if relational:
            if id(leaf) in self._seen:
                if kind == IN_CPP:  # it decides where it is met last
                    self.checks = [check for check in self.checks if check.leaf is not leaf]
                    self._add_conditions(leaf, kind)
                return
            self._seen[id(leaf)] = leaf  # alive, so that its id stays its own
        about_sizes = kind == IN_CPP or (epilogue and kind == IN_PYTHON)
        if about_sizes and self._add_conditions(leaf, kind):
            return
        reach = _expression(source)
        parts = tuple(map(str, leaf.verbose_code_parts()))
        if epilogue and kind == IN_PYTHON and (other := same_object_as(_words(parts).code)):
            # What C++ has a leaf for is a function in Python here, which is given the locals.
            kind, source, reach = "OBJECT_ALIASING", other, None
        row = _leaf_row(len(self.checks), kind, source, depth, relational, parts)
        if name := self._names.get(identity_of(row) or 0):
            row = msgspec.structs.replace(row, expected=name)
        self.checks.append(Check(row, leaf, reach))

    def _add_conditions(self, leaf: Any, kind: str) -> bool:
        """A row for each condition of a shape guard; False: it is none."""
        found = [_words((str(part),)) for part in leaf.verbose_code_parts()]
        if any(not row.code or values_in(row.code[0]) is None for row in found):
            return False
        relational = kind == IN_CPP
        for row in found:
            row = msgspec.structs.replace(row, kind=kind, depth=1, relational=relational)
            self.checks.append(Check(row, leaf, None, condition=True))
        return True

    def _number(self) -> None:
        """Say in each row which one it is."""
        self.checks = [
            check._replace(row=msgspec.structs.replace(check.row, index=index))
            if check.row.index != index
            else check
            for index, check in enumerate(self.checks)
        ]

    def _add_dict(self, manager: Any, source: str, depth: int) -> None:
        kind = manager.get_type_of_guarded_value()
        # Dynamo does not tell the length that it wants, but where it is what fails.
        least = max(manager.get_key_value_managers(), default=-1) + 1
        length = self._lengths.get(source)
        name = plain_text(kind)
        row = GuardRow(
            index=len(self.checks),
            kind="DICT_MANAGER",
            source=source,
            # Guards are known again by their code, so it is the same when the length is learned.
            code=(f"type({source}) is {name}", f"len({source}) >= {least}"),
            expected=f"{name} of {'as many keys as then' if length is None else length}",
            depth=depth,
        )
        wanted = WantedDict(kind, least, length)
        self.checks.append(Check(row, None, _expression(source), wanted))

    # -- asking ------------------------------------------------------------------------------

    def verdict(self, f_locals: dict[str, Any]) -> Result:
        """What Dynamo says of all guards together.

        Raises:
            Exception: a guard raised; Dynamo reports that as an error of the program.
        """
        info = self.root.check_verbose(f_locals)
        passed = bool(info.result)
        reason = "" if passed else " ".join(str(part) for part in info.verbose_code_parts)
        return Result(passed, strip_comment(reason), info.num_guards_executed)

    def run(self, f_locals: dict[str, Any]) -> tuple[Result, tuple[GuardCheck, ...]]:
        """Dynamo's verdict, and every check's own beside it.

        Raises:
            Exception: see `verdict`.
        """
        result = self.verdict(f_locals)
        checks = tuple(self.ask(f_locals))
        if result.passed:
            checks = tuple(
                check
                if check.verdict is Verdict.PASS
                else msgspec.structs.replace(check, verdict=Verdict.PASS, difference="")
                for check in checks
            )
        elif not any(check.verdict.refuses for check in checks):
            checks = tuple(self._blame(check, result.reason) for check in checks)
        return result, checks

    def _blame(self, check: GuardCheck, reason: str) -> GuardCheck:
        """All that was asked passes, and yet Dynamo says no: the dict whose size it names."""
        row = self.checks[check.guard].row
        if row.kind == "DICT_MANAGER" and reason.startswith(f"len({row.source})"):
            return msgspec.structs.replace(check, verdict=Verdict.FAIL, difference=reason)
        return check

    def ask(self, f_locals: dict[str, Any]) -> Iterator[GuardCheck]:
        """Ask every check, in order, whatever the ones before said. `verdict` comes first: it lets
        the leaves see the thread's present state."""
        for check in self.checks:
            yield self.ask_one(check, f_locals)

    def ask_one(self, check: Check, f_locals: dict[str, Any], *, brief: bool = False) -> GuardCheck:
        """Ask one check; see `ask`. `brief`: only the verdict is of interest."""
        if check.row.depth == 0:
            return self._ask(check, f_locals, brief)
        with without_torch_function():  # as Dynamo does below the root
            return self._ask(check, f_locals, brief)

    def _ask(self, check: Check, f_locals: dict[str, Any], brief: bool) -> GuardCheck:
        row = check.row
        scope = {"L": f_locals}
        if check.condition:
            return self._ask_condition(row, scope, brief)
        try:
            if row.relational:
                return self._ask_relation(row, scope)
            value = f_locals
            if check.reach is not None:
                try:
                    value = eval(check.reach, self.scope, scope)
                except Exception as error:
                    return GuardCheck(row.index, Verdict.UNREACHED, "", _brief_error(error))
            passed = dict_passes(check, value) if check.leaf is None else bool(check.leaf(value))
        except Exception as error:
            return GuardCheck(row.index, Verdict.ERROR, "", _brief_error(error))
        verdict = Verdict.UNKNOWN if passed is None else Verdict.PASS if passed else Verdict.FAIL
        if brief or check.reach is None:
            return GuardCheck(row.index, verdict)
        difference = _difference(row, value) if verdict is Verdict.FAIL else ""
        return GuardCheck(row.index, verdict, actual_text(row.kind, value), difference)

    def _ask_condition(self, row: GuardRow, scope: dict[str, Any], brief: bool) -> GuardCheck:
        [condition] = row.code
        actual = ""
        try:
            passed = bool(eval(condition, self.scope, scope))
            if not brief:
                names = values_in(condition) or ()
                found = {name: eval(name, self.scope, scope) for name in names}
                actual = object_text(seen(found))
        except Exception as error:
            return GuardCheck(row.index, Verdict.UNREACHED, "", _brief_error(error))
        if passed:
            return GuardCheck(row.index, Verdict.PASS, actual)
        return GuardCheck(row.index, Verdict.FAIL, actual, condition)

    def _ask_relation(self, row: GuardRow, scope: dict[str, Any]) -> GuardCheck:
        if row.kind == "NO_TENSOR_ALIASING":
            seen: dict[int, str] = {}
            for source in self._unaliased:
                try:
                    value = eval(source, self.scope, scope)
                except Exception:
                    continue  # another guard says so
                if (other := seen.setdefault(id(value), source)) is not source:
                    text = same_object_text(source, other, value)
                    return GuardCheck(row.index, Verdict.FAIL, "", text)
            return GuardCheck(row.index, Verdict.PASS)
        failing = [part for part in row.code if not eval(part, self.scope, scope)]
        verdict = Verdict.FAIL if failing else Verdict.PASS
        return GuardCheck(row.index, verdict, "", "; ".join(failing))


def same_object_text(source: str, other: str, value: object) -> str:
    """What is wrong where two values are one object that are to be tensors of their own: instead of
    a tensor there may be None."""
    if value is None:
        return f"{source} and {other} are both None"
    return f"{source} is the same tensor as {other}"


def _check_overlapping(
    overlapping: list[torch.Tensor], non_overlapping: list[torch.Tensor]
) -> bool:
    """What `STORAGE_OVERLAPPING` guards say, in whose words a function of this name is called: that
    the memory of just these tensors overlaps with that of others."""
    tensors = [*overlapping, *non_overlapping]
    found = cache.compute_overlapping_tensors(tensors, symbolic=True)
    return bool(found == set(range(len(overlapping))))


def leaves_of_kind(wrapper: Any, kind: str) -> Iterator[tuple[str, tuple[str, ...] | None]]:
    """An entry's leaf guards of one kind, wherever they stand: the source of each, and what it
    checks, as in `GuardRow`; words are read of no other leaf, and none is remembered. Beside them
    the source of each dict of which a manager wants a length, with None."""
    for manager, source, _ in () if wrapper.root is None else _managers(wrapper.root):
        if isinstance(manager, cache.DictGuardManager):
            yield source, None
        for leaf in manager.get_leaf_guards():
            if type(leaf).__name__ == kind:
                parts = map(str, leaf.verbose_code_parts())
                yield source, tuple(_code_and_comment(part)[0] for part in parts)


def _managers(manager: Any, depth: int = 0) -> Iterator[tuple[Any, str, int]]:
    """The managers of a tree in the order in which Dynamo goes to them, each with the source of its
    value and how far below the root it is."""
    yield manager, "" if depth == 0 else manager.get_source(), depth
    for below in _below(manager):
        yield from _managers(below, depth + 1)


def _below(manager: Any) -> Iterator[Any]:
    """The managers below one, in the order in which Dynamo goes to them."""
    yield from manager.get_child_managers()
    if isinstance(manager, cache.DictGuardManager):
        pairs = manager.get_key_value_managers()
        for index in sorted(pairs):
            for below in pairs[index]:
                if below is not None:
                    yield below


# A tree is read at every lookup that is told, and its words are the same each time.


@lru_cache(maxsize=_WORDS_KEPT)
def _expression(source: str) -> CodeType | None:
    if not source:
        return None
    try:
        return compile(source, "<guard>", "eval")
    except SyntaxError:
        # Some sources are in words only; then the check says that the value cannot be reached.
        return compile(f"({source!r}).unreachable", "<guard>", "eval")


@lru_cache(maxsize=_WORDS_KEPT)
def _leaf_row(
    index: int, kind: str, source: str, depth: int, relational: bool, parts: tuple[str, ...]
) -> GuardRow:
    """What to show of a leaf, but for the names of objects."""
    row = _words(parts)
    return msgspec.structs.replace(
        row,
        index=index,
        kind=kind,
        source=source,
        depth=depth,
        relational=relational,
        expected=_expected(kind, row.code),
        wants=wanted_tensor(row.code[0]) if kind == "TENSOR_MATCH" and row.code else None,
    )


@lru_cache(maxsize=_WORDS_KEPT)
def _words(parts: tuple[str, ...]) -> GuardRow:
    """A leaf's verbose code parts, taken apart: what it checks and the user's line behind it."""
    codes, found = [], {"user": "", "line": "", "hint": ""}
    for part in parts:
        code, match = _code_and_comment(part)
        codes.append(code)
        if match is not None:
            for name in found:
                found[name] = found[name] or (match[name] or "").strip()
    place = _place(found["line"])
    return GuardRow(
        index=-1,
        kind="",
        source="",
        code=tuple(codes),
        user_line=None if place is None else UserLine(place, found["user"]),
        hint=found["hint"],
    )


def _code_and_comment(part: str) -> tuple[str, re.Match[str] | None]:
    """What a verbose code part checks, and what stands behind it where torch says whose it is."""
    text = _NO_LINE.sub("", part)
    match = _COMMENT.match(text)
    return (text.strip() if match is None else match["code"].strip()), match


@lru_cache(maxsize=1024)
def _place(words: str) -> PythonFrame | None:
    """What torch writes as `file:line in function`, with all of the path: torch leaves out what the
    path has in common with its own, and one letter more when that is the root alone."""
    match = _PLACE.fullmatch(words)
    if match is None:
        return None
    path = match["file"]
    # Whose lines torch has read.
    known = (name for name in list(linecache.cache) if name.endswith(path))
    filename = next((name for name in known if cache.shortened(name) == path), path)
    return PythonFrame(filename, int(match["line"]), match["function"])


def strip_comment(text: str) -> str:
    """A guard's words without the user's line behind them."""
    text = _NO_LINE.sub("", text)
    match = _COMMENT.match(text)
    return (match["code"] if match is not None else text).strip()


def identity_of(row: GuardRow) -> int | None:
    """The id that the guard compares with; None when it is about no identity."""
    if row.kind not in ("ID_MATCH", "TYPE_MATCH") or not row.code:
        return None
    return _identity(row.code[0])


@lru_cache(maxsize=_WORDS_KEPT)
def _identity(code: str) -> int | None:
    match = _IDENTITY.match(code)
    return int(match["id"]) if match is not None else None


# -- in words ----------------------------------------------------------------------------------


def length_of(value: object) -> int | None:
    """How many elements a builtin container has; None for anything else."""
    kind = type(value)
    for base in _SIZED:
        if kind is base or type.__subclasscheck__(base, kind):
            return base.__len__(value)  # type: ignore[arg-type]  # a container, whose base it is
    return None


def actual_text(kind: str, value: object) -> str:
    """What the guard found, as far as it looks."""
    match kind:
        case "TYPE_MATCH":
            return plain_text(type(value))
        case "LENGTH_CHECK" | "DICT_LENGTH" if (length := length_of(value)) is not None:
            return f"length {length}"
        case "DICT_MANAGER" if isinstance(value, dict):
            return f"{plain_text(type(value))} of {len(value)}"
        case _:
            return object_text(value)


def _expected(kind: str, code: tuple[str, ...]) -> str:
    first = code[0] if code else ""
    match kind:
        case "TENSOR_MATCH":
            fields = tensor_fields(first)
            if fields is None:
                return first
            size = fields["size"].replace("None", "?")
            grad = ", requires_grad" if fields["grad"] == "True" else ""
            return f"{fields['cls']} {fields['dtype']}[{size}]{grad}"
        case "ID_MATCH" | "TYPE_MATCH":
            match = _IDENTITY.match(first)
            if match is None:
                return first
            kind_of = match["type"].partition(" (HINT: ")[0]
            name = re.sub(r"^<class '(.*)'>$", r"\1", kind_of)
            name = re.sub(r"^<(\w+ ?\w*) '?([\w.]+)'?(?: (?:at|from) .*)?>$", r"\1 \2", name)
            return name if kind == "TYPE_MATCH" else f"one certain {name}"
        case "LENGTH_CHECK" | "DICT_LENGTH" if first.startswith("not "):
            return "0"
        case "EQUALS_MATCH" | "LENGTH_CHECK" | "DICT_LENGTH" | "DEFAULT_DEVICE":
            return first.rpartition(" == ")[2]
        case "OBJECT_ALIASING":
            return first.partition(" is ")[0]
        case "NONE_MATCH":
            return "None"
        case "TRUE_MATCH":
            return "True"
        case "FALSE_MATCH":
            return "False"
        case _:
            return ""


def tensor_fields(code: str) -> dict[str, str] | None:
    """What a TENSOR_MATCH wants, by name: cls, keys, dtype, device, grad, size, stride."""
    match = _TENSOR.match(code)
    return match.groupdict() if match is not None else None


def wanted_tensor(code: str) -> TensorMeta | None:
    """What a TENSOR_MATCH wants."""
    fields = tensor_fields(code)
    if fields is None:
        return None
    return TensorMeta(
        dtype=fields["dtype"],
        shape=_sizes(fields["size"]),
        stride=_sizes(fields["stride"]),
        device=_wanted_device(fields),
        requires_grad=fields["grad"] == "True",
        subclass="" if fields["cls"] == "Tensor" else fields["cls"],
    )


def _wanted_device(fields: dict[str, str]) -> str:
    """The device that a TENSOR_MATCH wants, of which it says the number, and the kind only among
    the dispatch keys; empty: it is of a kind that is not known."""
    kind = _BACKEND.search(fields["keys"])
    if kind is None:
        return ""
    name, number = kind[1].lower(), fields["device"]
    return f"{name}:{number}" if name not in ("cpu", "meta") and number.isdecimal() else name


def _sizes(text: str) -> tuple[str, ...]:
    return tuple(size.replace("None", "?") for size in text.split(", ") if size)


def _difference(row: GuardRow, value: object) -> str:
    """What of the value is not as the guard wants it."""
    if row.kind == "TENSOR_MATCH" and row.code:
        return _tensor_difference(row.code[0], value)
    if row.expected:
        return f"{row.expected} ≠ {actual_text(row.kind, value)}"
    return ""


def _tensor_difference(code: str, value: object) -> str:
    fields, meta = tensor_fields(code), fake_tensor_meta(value)
    if fields is None:
        return ""
    if meta is None:
        return f"{fields['cls']} ≠ {object_text(value)}"
    found = []
    if fields["cls"] != type(value).__name__:
        found.append(f"class {fields['cls']} ≠ {type(value).__name__}")
    if fields["dtype"] != meta.dtype:
        found.append(f"dtype {fields['dtype']} ≠ {meta.dtype}")
    for name, wanted, actual in (
        ("size", fields["size"], meta.shape),
        ("stride", fields["stride"], meta.stride),
    ):
        sizes = [size for size in wanted.split(", ") if size]
        same = len(sizes) == len(actual or ()) and all(
            size in ("None", got) for size, got in zip(sizes, actual or (), strict=True)
        )
        if not same:
            shown = ", ".join(size.replace("None", "?") for size in sizes)
            found.append(f"{name} [{shown}] ≠ [{', '.join(actual or ())}]")
    if (fields["grad"] == "True") != meta.requires_grad:
        found.append(f"requires_grad {fields['grad']} ≠ {meta.requires_grad}")
    if (device := _wanted_device(fields)) not in ("", meta.device):
        found.append(f"device {device} ≠ {meta.device}")
    if not found:
        found.append(f"dispatch keys: {fields['keys']} wanted, on {meta.device}")
    return ", ".join(found)


def forget() -> None:
    """Nobody reads guards any more: let go of what their words say."""
    for cached in (_place, _expression, _leaf_row, _words, _identity):
        cached.cache_clear()


def _brief_error(error: Exception) -> str:
    """An exception in one line; a KeyError and the like come from the containers themselves."""
    name, arguments = class_name(type(error)), arguments_of(error)
    if arguments and is_plain(type(arguments[0])):
        return f"{name}: {plain_text(arguments[0])}"
    return name
