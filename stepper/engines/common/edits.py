"""What is said of copies of cache entries: what was changed, what that gives up, whom they hide."""

from __future__ import annotations

from types import CodeType

from stepper.model.cache import CacheError, GuardRow

UNCHECKED = "nobody checks that the edited bytecode computes what the original does"
"""A warning about edited bytecode."""
EDITED = "bytecode edited"


def compile_guard(text: str) -> CodeType:
    """An expression over `L` and `G`, compiled.

    Raises:
        CacheError: it is none.
    """
    try:
        return compile(text.strip(), "<guard>", "eval")
    except (SyntaxError, ValueError) as error:
        raise CacheError(f"{text!r} is no expression: {error}") from None


def unique(texts: tuple[str, ...], *more: str) -> tuple[str, ...]:
    """Remarks and further ones, each once."""
    return tuple(dict.fromkeys((*texts, *more)))


def short(row: GuardRow) -> str:
    """A guard in a few words."""
    return f"{row.kind} {row.source}".strip() if not row.made else row.code[0]


def lost(row: GuardRow) -> str:
    """What leaving a guard out gives up."""
    wanted = f" as {row.expected}" if row.expected else ""
    text = f"{short(row)} is no longer checked: the code was made for {row.source or 'it'}{wanted}"
    if row.kind == "TENSOR_MATCH":
        text += ", and compiled kernels may read beyond a tensor of another size"
    return text


def named(numbers: list[int]) -> str:
    """Entries by their numbers."""
    return ", ".join(f"entry {number}" for number in numbers)


def _key(row: GuardRow) -> tuple[str, str, tuple[str, ...]]:
    return row.kind, row.source, row.code


def alike(rows: tuple[GuardRow, ...], wanted: GuardRow) -> list[int]:
    """Which of these guards check what another one does, whatever its place."""
    return [row.index for row in rows if _key(row) == _key(wanted)]


def implied(mine: tuple[GuardRow, ...], theirs: tuple[GuardRow, ...]) -> bool:
    """Whether all that I check is checked there as well: whatever passes there, passes here."""
    return {_key(row) for row in mine} <= {_key(row) for row in theirs}


_ONE_VALUE = frozenset({"EQUALS_MATCH", "ID_MATCH", "TYPE_MATCH", "LENGTH_CHECK", "DICT_LENGTH"})


def exclusive(mine: tuple[GuardRow, ...], theirs: tuple[GuardRow, ...]) -> bool:
    """Whether nothing can pass both."""
    wanted = {(row.kind, row.source): row for row in theirs}
    for row in mine:
        other = wanted.get((row.kind, row.source))
        if other is None or other.code == row.code:
            continue
        if row.kind in _ONE_VALUE or (row.kind == "TENSOR_MATCH" and _other_tensor(row, other)):
            return True
    return False


def _other_tensor(one: GuardRow, other: GuardRow) -> bool:
    first, second = one.wants, other.wants
    if first is None or second is None:
        return False
    if (first.dtype, first.subclass) != (second.dtype, second.subclass):
        return True
    sizes, others = first.shape or (), second.shape or ()
    return len(sizes) != len(others) or any(
        a != b and "?" not in (a, b) for a, b in zip(sizes, others, strict=True)
    )
