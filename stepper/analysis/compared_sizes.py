"""Where a program compares a size with something and jumps by it.

Of a size that is a number in each entry no condition is recorded: to compare two numbers asks the
compiler for nothing. So it is looked for in the code, and told only where it was interpreted. Nor
is one where it is a symbol and the range of that says it all: then there is what it compares.
"""

from __future__ import annotations

from collections.abc import Sequence

from stepper.analysis.decisions import decided_at
from stepper.analysis.needed import OF_CONSTANTS
from stepper.analysis.shapes import Size, in_sources
from stepper.analysis.sites import made_at, way_to
from stepper.model.program import Instruction, PythonFrame
from stepper.model.trace import Translation
from stepper.recording.reader import Recording

_LOCAL = frozenset({"LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK"})
_STORED = frozenset({"STORE_FAST", "DELETE_FAST"})
_ITEM = frozenset({("BINARY_SUBSCR", ""), ("BINARY_OP", "[]")})
_KNOWN = frozenset({(">=", "0"), ("<", "0")})
"""What is known of every size."""
_COMPARISONS = frozenset(f"operator.{each}" for each in ("eq", "ge", "gt", "le", "lt", "ne"))
"""What nodes of a graph call that compare."""
_LENGTH = 6
"""Instructions of `x.shape[0] > 4`."""


def compared_at(
    recording: Recording, item: Translation, name: str, dim: int
) -> tuple[PythonFrame, str] | None:
    """Where an entry's own code compares a size of a tensor that it was handed over with a
    constant, and how, as `> 4`; None: it is not seen to."""
    for attempt in recording.attempts(item.id)[-1:]:
        for frame in recording.frames(attempt.id)[:1]:
            code = recording.code(frame.code)
            rows = code.instructions
            if any(row.opname in _STORED and row.argrepr == name for row in rows):
                return None
            found = [at for at in range(len(rows)) if _compares(rows[at : at + _LENGTH], name, dim)]
            done = recording.executed(frame.id, recording.newest + 1) if found else {}
            for at in found:
                if at in done:
                    of, by = rows[at + _LENGTH - 2], rows[at + _LENGTH - 1]
                    place = PythonFrame(code.filename, by.line or code.first_line, code.label)
                    return place, f"{_operator(by)} {of.argrepr}"
    return None


def decided_by(recording: Recording, size: Size, name: str) -> tuple[PythonFrame, str] | None:
    """Where an entry for which a size is a symbol decides by what that is compared with, and the
    comparison, `name` being what the size is called; None: it does not."""
    if size.symbol is None:
        return None
    known = {size.symbol.name: size.symbol}
    for node in recording.nodes_made(size.symbol.born.attempt):
        asked = in_sources(node.meta_text, known, lambda _: name)
        if node.target not in _COMPARISONS or asked == node.meta_text:
            continue
        way = way_to(recording, made_at(recording, node.moment))
        moments = (recording.moment(site.moment) for site in way)
        codes = ((recording.code(recording.frame(at.frame).code), at.ip) for at in moments)
        if way and decided_at(codes) is not None:
            return way[0].line.place, asked
    return None


def _compares(rows: Sequence[Instruction], name: str, dim: int) -> bool:
    if len(rows) < _LENGTH:
        return False
    tensor, shape, index, item, constant, compared = rows
    return (
        (tensor.opname in _LOCAL and tensor.argrepr == name)
        and (shape.opname, shape.argrepr) == ("LOAD_ATTR", "shape")
        and (index.opname in OF_CONSTANTS and index.argrepr == str(dim))
        and (item.opname, item.argrepr) in _ITEM
        and constant.opname in OF_CONSTANTS
        and compared.opname == "COMPARE_OP"
        and (_operator(compared), constant.argrepr) not in _KNOWN
    )


def _operator(row: Instruction) -> str:
    """The comparison, which Python 3.13 may have as `bool(>)`."""
    return row.argrepr.strip("'").removeprefix("bool(").removesuffix(")")
