"""Breakpoints: what to stop at, and how a person writes it.

The written form is the same everywhere (command line, console, TUI, configuration):

    graph-break                     skip                    inline
    restart                         recompile               cache-limit             exception
    FILE:LINE  or  line:FILE:LINE   function:GLOB           offset:GLOB@N           opcode:NAME
    guard[:KIND[:SOURCE-GLOB]]      node[:TARGET-GLOB]
    symbol[:GLOB]           shape-guard[:GLOB]      specialize[:GLOB]       data-dependent[:GLOB]
    lookup[:FUNCTION-GLOB]          hit[:FUNCTION-GLOB]     miss[:FUNCTION-GLOB]
    guard-fail[:KIND[:SOURCE-GLOB]]                         execute[:FUNCTION-GLOB]
    entry[:FUNCTION-GLOB]           invalidate[:FUNCTION-GLOB]      evict[:FUNCTION-GLOB]

followed by any of `, rank N`, `, process PID`, `, if CONDITION`, `, ignore N`, `, once`. Where
processes are watched that the program starts, a breakpoint stops each of them, unless it names one.
"""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec


class BreakpointKind(StrEnum):
    """What a breakpoint stops at."""

    GRAPH_BREAK = "graph-break"
    SKIP = "skip"
    LINE = "line"
    FUNCTION = "function"
    OFFSET = "offset"
    OPCODE = "opcode"
    GUARD = "guard"
    NODE = "node"
    SYMBOL = "symbol"
    SHAPE_GUARD = "shape-guard"
    SPECIALIZE = "specialize"
    DATA_DEPENDENT = "data-dependent"
    INLINE = "inline"
    RESTART = "restart"
    RECOMPILE = "recompile"
    CACHE_LIMIT = "cache-limit"
    EXCEPTION = "exception"
    LOOKUP = "lookup"
    GUARD_FAIL = "guard-fail"
    HIT = "hit"
    MISS = "miss"
    ENTRY = "entry"
    INVALIDATE = "invalidate"
    EVICT = "evict"
    EXECUTE = "execute"

    @property
    def on_instruction(self) -> bool:
        """Whether it is a property of an instruction (and not of something that happens in one)."""
        return self in INSTRUCTION_KINDS


INSTRUCTION_KINDS = frozenset(
    {
        BreakpointKind.LINE,
        BreakpointKind.FUNCTION,
        BreakpointKind.OFFSET,
        BreakpointKind.OPCODE,
    }
)

GUARD_KINDS = frozenset({BreakpointKind.GUARD, BreakpointKind.GUARD_FAIL})
"""Kinds that speak of a guard: by its kind, and by the expression that it is about."""

SHAPE_KINDS = frozenset(
    {
        BreakpointKind.SYMBOL,
        BreakpointKind.SHAPE_GUARD,
        BreakpointKind.SPECIALIZE,
        BreakpointKind.DATA_DEPENDENT,
    }
)
"""Kinds that speak of a symbol, by its name and by what it stands for, or of an expression."""

CACHE_KINDS = frozenset(
    {
        BreakpointKind.LOOKUP,
        BreakpointKind.HIT,
        BreakpointKind.MISS,
        BreakpointKind.ENTRY,
        BreakpointKind.INVALIDATE,
        BreakpointKind.EVICT,
        BreakpointKind.EXECUTE,
    }
)
"""Kinds that speak of a function whose calls are compiled."""


class BreakpointError(ValueError):
    """A breakpoint's written form cannot be understood; the message says why and what is
    possible."""


class Breakpoint(msgspec.Struct, frozen=True, omit_defaults=True):
    """A place or an occurrence to stop at."""

    kind: BreakpointKind
    pattern: str = ""
    """FUNCTION, OFFSET and CACHE_KINDS: glob over the qualified name; LINE: file name or path
    suffix; OPCODE: the name; GUARD_KINDS: the guard's kind; NODE: glob over the target;
    SHAPE_KINDS: glob over the symbol, what it stands for, or the expression."""
    source: str = ""
    """GUARD_KINDS: glob over the guarded expression."""
    number: int = 0
    """LINE: the line; OFFSET: the offset in bytes."""
    condition: str = ""
    """A Python expression over `stack`, `locals`, `inst`, `graph`, `guards` and `tx`; empty:
    always."""
    ignore: int = 0
    """How many hits to let pass first."""
    once: bool = False
    """Remove it at its first stop."""
    rank: int | None = None
    """The rank that stops; None: any process."""
    process: int | None = None
    """Number of the process that stops; None: any."""
    id: int = 0
    enabled: bool = True

    def concerns(self, pid: int, rank: int | None) -> bool:
        """Whether a process stops at it."""
        return self.process in (None, pid) and self.rank in (None, rank)

    def __str__(self) -> str:
        match self.kind:
            case BreakpointKind.LINE:
                text = f"{self.pattern}:{self.number}"
            case BreakpointKind.OFFSET:
                text = f"offset:{self.pattern}@{self.number}"
            case BreakpointKind.GUARD | BreakpointKind.GUARD_FAIL:
                text = ":".join(
                    filter(
                        None,
                        (str(self.kind), self.pattern or ("*" if self.source else ""), self.source),
                    )
                )
            case _:
                text = f"{self.kind}:{self.pattern}" if self.pattern else str(self.kind)
        if self.rank is not None:
            text += f", rank {self.rank}"
        if self.process is not None:
            text += f", process {self.process}"
        if self.condition:
            text += f", if {self.condition}"
        if self.ignore:
            text += f", ignore {self.ignore}"
        if self.once:
            text += ", once"
        return text


# A condition may hold commas of its own, so it ends only where other words close the text.
_WORDS = r"(?:\s*,\s*(?:(?:rank|process|ignore)\s+\d+|once))*"
_MODIFIERS = re.compile(
    rf"""^(?P<what>.*?)
        (?P<before>{_WORDS})
        (?:(?:\s*,\s*|\s+)if\s+(?P<condition>.+?))?
        (?P<after>{_WORDS})\s*$""",
    re.VERBOSE | re.DOTALL,
)


def parse_breakpoint(text: str) -> Breakpoint:
    """Read a breakpoint's written form.

    Raises:
        BreakpointError: the text is not a breakpoint, or its condition is not a Python expression.
    """
    match = _MODIFIERS.match(text.strip())
    assert match is not None  # every part is optional
    condition = (match["condition"] or "").strip()
    if condition:
        try:
            compile(condition, "<condition>", "eval")
        except SyntaxError as error:
            raise BreakpointError(
                f"the condition {condition!r} is not an expression: {error.msg}"
            ) from None
    given: dict[str, str] = {}
    for each in (match["before"] + match["after"]).split(",")[1:]:
        word, _, number = each.strip().partition(" ")
        if word in given:
            raise BreakpointError(f"{text!r}: {word!r} is said twice")
        given[word] = number.strip()
    return msgspec.structs.replace(
        _parse_what(match["what"].strip()),
        condition=condition,
        ignore=int(given.get("ignore", 0)),
        once="once" in given,
        rank=int(given["rank"]) if "rank" in given else None,
        process=int(given["process"]) if "process" in given else None,
    )


def _parse_what(text: str) -> Breakpoint:
    word, _, rest = text.partition(":")
    try:
        kind = BreakpointKind(word)
    except ValueError:
        return _parse_line(text)
    match kind:
        case BreakpointKind.LINE:
            return _parse_line(rest)
        case BreakpointKind.FUNCTION | BreakpointKind.OPCODE:
            if not rest:
                raise BreakpointError(f"{kind} needs a name: {kind}:NAME")
            return Breakpoint(kind, pattern=rest.upper() if kind is BreakpointKind.OPCODE else rest)
        case BreakpointKind.OFFSET:
            pattern, at, number = rest.rpartition("@")
            if not at or not number.isdecimal():
                raise BreakpointError(
                    f"{text!r}: an offset is written offset:FUNCTION@N, e.g. offset:forward@42"
                )
            return Breakpoint(kind, pattern=pattern, number=int(number))
        case BreakpointKind.GUARD | BreakpointKind.GUARD_FAIL:
            pattern, _, source = rest.partition(":")
            return Breakpoint(kind, pattern=pattern, source=source)
        case BreakpointKind.NODE:
            return Breakpoint(kind, pattern=rest)
        case _ if kind in CACHE_KINDS | SHAPE_KINDS:
            return Breakpoint(kind, pattern=rest)
        case _:
            if rest:
                raise BreakpointError(f"{kind} takes no argument, but {rest!r} was given")
            return Breakpoint(kind)


def _parse_line(text: str) -> Breakpoint:
    path, colon, number = text.rpartition(":")
    if pdbs := re.fullmatch(r"(.+:\d+)\s*,\s*(.+)", text):
        raise BreakpointError(f"{text!r}: a condition follows if: {pdbs[1]}, if {pdbs[2]}")
    if not colon or not path or not number.isdecimal():
        import difflib  # slow, and for who mistypes

        near = difflib.get_close_matches(text.partition(":")[0], list(BreakpointKind), 1, 0.75)
        if near:
            raise BreakpointError(f"{text!r} is no breakpoint: did you mean {near[0]}?")
        kinds = ", ".join(BreakpointKind)
        raise BreakpointError(f"{text!r} is no breakpoint. Write FILE:LINE or one of: {kinds}")
    return Breakpoint(BreakpointKind.LINE, pattern=path, number=int(number))
