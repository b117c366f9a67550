"""Whether a breakpoint speaks of an instruction, a guard or a node: live and in the past alike.

Conditions, ignore counts and `enabled` are the business of whoever asks; here is only what the
pattern means. In a pattern `*` stands for any text and `?` for any character. Brackets stand for
themselves, unlike in a shell: guarded expressions are full of them (`L['x']`), and character
classes are of no use there.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import PurePath

from stepper.model.breakpoint import GUARD_KINDS, Breakpoint, BreakpointKind
from stepper.model.method_names import Entered, Owner, method_name, walk_names
from stepper.model.program import Code
from stepper.model.resume_names import resumed_name


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"([*?])", pattern)
    wild = {"*": ".*", "?": "."}
    return re.compile("".join(wild.get(part) or re.escape(part) for part in parts), re.DOTALL)


def glob_matches(pattern: str, text: str) -> bool:
    """Whether the whole text fits the pattern. An empty pattern fits every text."""
    return not pattern or _compiled(pattern).fullmatch(text) is not None


def instruction_matches(bp: Breakpoint, code: Code, index: int) -> bool:
    """Whether an instruction breakpoint stops before instruction `index` of `code`.

    False for kinds that speak of something that happens in an instruction, and for an index out
    of range.
    """
    if not 0 <= index < len(code.instructions):
        return False
    match bp.kind:
        case BreakpointKind.LINE:
            return starts_line(code, index, bp.number) and path_matches(bp.pattern, code.filename)
        case BreakpointKind.FUNCTION:
            return index == entry_index(code) and function_matches(bp.pattern, code)
        case BreakpointKind.OFFSET:
            at = code.instructions[index].offset == bp.number
            return at and function_matches(bp.pattern, code)
        case BreakpointKind.OPCODE:
            return glob_matches(bp.pattern, code.instructions[index].opname)
        case _:
            return False


def guard_matches(bp: Breakpoint, kind: str, source: str) -> bool:
    """Whether a guard breakpoint stops at a guard of this kind on this expression."""
    return (
        bp.kind in GUARD_KINDS
        and glob_matches(bp.pattern.upper(), kind.upper())
        and glob_matches(bp.source, source)
    )


def node_matches(bp: Breakpoint, target: str, name: str) -> bool:
    """Whether a node breakpoint stops at an FX node: by its target, its last part, its name."""
    return bp.kind is BreakpointKind.NODE and any(
        glob_matches(bp.pattern, text) for text in (target, target.rpartition(".")[2], name)
    )


def shape_matches(pattern: str, name: str, source: str) -> bool:
    """Whether a pattern fits a symbol or an expression of them, or what the symbol stands for."""
    return any(glob_matches(pattern, text) for text in (name, source) if text or not pattern)


def function_matches(pattern: str, code: Code) -> bool:
    """Whether the pattern fits a function's (qualified) name, with or without its file's stem.

    `forward`, `Net.forward`, `*.forward` and `model.Net.forward` all find `Net.forward` of
    `model.py`.
    """
    stem = PurePath(code.filename).stem
    own = (code.qualname, code.name)
    names = (*own, *(f"{stem}.{name}" for name in own), *map(resumed_name, own))
    return any(glob_matches(pattern, name) for name in names)


def entry_matches(bp: Breakpoint, code: Code, index: int, entered: Entered | None) -> bool:
    """Whether a function breakpoint stops where a method of a module begins, by the names that it
    is shown by: `decoder.block[7]`, `T5Block`, both, and both with the function."""
    if entered is None or bp.kind is not BreakpointKind.FUNCTION or index != entry_index(code):
        return False
    path, type = owner = entered.owner
    names = [resumed_name(method_name(code.label, owner))]
    if entered.from_outside:
        names += [path, type, f"{path} {type}"]
    return any(name and glob_matches(bp.pattern, name) for name in names)


def walk_matches(pattern: str, name: str, resume_of: str, owner: Owner | None) -> bool:
    """Whether the pattern fits a function whose calls are compiled: by its qualified name, or by
    those that it is shown by (see `walk_names`)."""
    names = walk_names(name, resume_of, owner)
    return not pattern or any(glob_matches(pattern, each) for each in names)


_FAILED_GUARD = re.compile(r"^(?P<kind>\w+)(?: (?P<source>.*?))? of \S+: ", re.DOTALL)
_ENTRY = re.compile(r"^entry \d+ of (?P<name>.+?)(?: \((?P<id>[^()]+)\))?(?=: |$)", re.DOTALL)


ENTRY_KINDS = frozenset({BreakpointKind.ENTRY, BreakpointKind.INVALIDATE, BreakpointKind.EVICT})
"""Kinds whose events begin with the entry that they are of."""
CALL_ENDS = frozenset({BreakpointKind.HIT, BreakpointKind.MISS})
"""Kinds whose events are of a lookup that ends."""


def failed_guard_matches(bp: Breakpoint, text: str) -> bool:
    """Whether a guard that failed is one to stop at, by its event's text: `TENSOR_MATCH L['x'] of
    0/1: …`."""
    found = _FAILED_GUARD.match(text)
    return found is not None and guard_matches(bp, found["kind"], found["source"] or "")


def entry_of(text: str) -> tuple[str, str]:
    """Name of the function and compile id of the entry that an event's text begins with: `entry 3
    of Net.forward (0/1): …`; empty: it names none."""
    found = _ENTRY.match(text)
    return ("", "") if found is None else (found["name"], found["id"] or "")


def function_told(kind: BreakpointKind, text: str) -> str:
    """What an event's text calls its function: `0/1 Net.forward` where a walk begins,
    `Net.forward: 0/1, …` for a hit or a miss."""
    if kind in ENTRY_KINDS:
        return entry_of(text)[0]
    return text.partition(": ")[0] if kind in CALL_ENDS else text.rpartition(" ")[2]


def path_matches(pattern: str, filename: str) -> bool:
    """Whether the file's path is `pattern` or ends in it, at a directory's border."""
    pattern = pattern.removeprefix("./")
    return filename == pattern or filename.endswith("/" + pattern)


def starts_line(code: Code, index: int, line: int) -> bool:
    """Whether the instruction is the first of a run of instructions that belong to `line`.

    Instructions without a line, which Dynamo made up, do not interrupt a run.
    """
    if code.instructions[index].line != line:
        return False
    for before in reversed(code.instructions[:index]):
        if before.line is not None:
            return before.line != line
    return True


def entry_index(code: Code) -> int:
    """Index of the instruction where the function's own work begins: its RESUME, or its first."""
    for instruction in code.instructions:
        if instruction.opname == "RESUME":
            return instruction.index
    return 0
