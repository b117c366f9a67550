"""What is recorded of a graph break, or a failure like one, that a rule of advice may look at."""

from __future__ import annotations

import re

import msgspec

from stepper.model.capabilities import Capabilities
from stepper.support import break_kinds

NUMBER = frozenset({break_kinds.ITEM, break_kinds.OPERATOR})
"""Kinds where a tensor becomes a number."""
SUBSCRIBES = ("BINARY_SUBSCR", "BINARY_OP")
"""Since CPython 3.14 the second has a kind for it; no other operator of two tensors reads data."""
DECIDES = "it decides by it"
FINDS = "it finds by it"
COUNTS = "it counts by it"
"""What the program does with a number, beside the ways of `Broken.taken`."""
_FUNCTION = re.compile(r"module: ([^,:]+), qualname: ([^,]+),")
_ASKING = ("if", "elif", "while")
_STATEMENT = re.compile(r"\s*(\w+)")


class Broken(msgspec.Struct, frozen=True):
    """What advice on a graph break may rest on."""

    kind: str
    """Dynamo's name for it."""
    explanation: str = ""
    context: str = ""
    """Dynamo's words: which method of what, with which arguments."""
    statement: str = ""
    """The text of the line."""
    in_block: bool = False
    """Whether the line begins with a statement that asks something, and the instruction is behind
    that: in what is done then."""
    opname: str = ""
    """The instruction's."""
    called: str = ""
    """Where the program has the function from that the instruction calls, as a source."""
    calls: str = ""
    """What the instruction calls, as it is shown: `.unbind` of a method."""
    can: Capabilities = Capabilities(dynamo_config=True)
    """What the compiler has."""
    hint: str = ""
    """What the native engine says to write instead; empty: nothing."""
    of_torch: bool = False
    """Whether that is torch's own."""
    checks: bool = False
    """Whether the program does nothing but raise on one side of the condition, or of that by which
    it decides what the instruction leaves."""
    library: bool = False
    """Whether the line is none of the program's."""
    of_compiler: bool = False
    """Whether it is in a function that the compiler has for one of Python's own."""
    within: str = ""
    """The name of the function that the line is in."""
    leads_there: str = ""
    """The text of the program's own line that leads to a library's; empty: it is not known."""
    unreached: bool = False
    """Whether no line of the program's leads to a library's: what is compiled is the library's."""
    marked: bool = False
    """Whether it could not be decided because of sizes only that the program has marked."""
    operands: frozenset[str] = frozenset()
    """What kinds of values the instruction takes, by the names of their trackers."""
    drawn: bool = False
    """Whether the instruction takes a number that Python's module random has drawn."""
    mapped: bool = False
    """Whether it is within a function that torch.vmap calls."""
    differentiated: bool = False
    """Whether it is within a torch.autograd.Function."""
    decides: bool = False
    """Whether the program decides by what the instruction returns, there or where it is handed to,
    and goes on either way."""
    orders: bool = False
    """Whether what the instruction leaves is by what something is sorted or left out."""
    indexes: bool = False
    """Whether what the instruction leaves is the index of a list, a dictionary or such."""
    counts: bool = False
    """Whether a loop has as many rounds as the tensor that the instruction leaves has elements."""
    taken: str = ""
    """How Python itself takes the number that the instruction leaves, where no symbol would do."""
    next_break: str = ""
    """Where the graph breaks next, if nothing is computed before that: without this break it would
    be split there; empty: something is computed, or that is not recorded."""
    of_input: bool = False
    """Whether the number is the only element of an input, of the dtype of a number of Python's: the
    setting makes it a symbol with the value of the call."""
    ends_a_loop: bool = False
    """Whether what it decides is if a loop goes on."""
    types: frozenset[str] = frozenset()
    """The types of the function's locals."""
    metaclass: str = ""
    """That of a class of which an object is made there that lacks an attribute."""
    around: str = ""
    """The loop because of which the whole function is given up: `for`, `while`; empty: none."""
    comes_of_another: bool = False
    """Whether another break was being handled when it came about."""
    around_module: str = ""
    """What leads there that torch has around a module of the program's; empty: nothing."""
    quantizes: bool = False
    """Whether a function of torch's quantization, or of a module that it has made, leads there."""

    @property
    def function(self) -> tuple[str, str]:
        """Module and name of a function into which no compiler looks; both empty: it is none."""
        said = _FUNCTION.search(self.context) if self.kind == break_kinds.SKIPPED else None
        return ("", "") if said is None else (said[1], said[2])

    @property
    def asks(self) -> str:
        """The word of a statement that asks something with what the instruction leaves: `if`,
        `elif`, `while`; empty: the line begins with none, or has done with that."""
        word = self.first_word
        return word if word in _ASKING and not self.in_block else ""

    @property
    def first_word(self) -> str:
        """The word that the statement begins with; empty: it begins with none."""
        said = _STATEMENT.match(self.statement)
        return said[1] if said is not None else ""
