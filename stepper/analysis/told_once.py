"""What is said of several entries alike, said once.

A function with ten entries has ten answers to a question about one expression, and often they are
one answer: of the tenth the reader has to find out that it says nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stepper.analysis.line import Line
from stepper.client.text import first_names
from stepper.model.trace import Translation

_MOST = 6
"""As many entries are named of which the same is said."""


def told_once(answers: Iterable[tuple[Translation, Iterable[Line]]]) -> Iterator[Line]:
    """The lines about each entry, which begin with its name; those that differ in nothing else
    stand there once, where the first of them is, by the names of all their entries."""
    told: dict[tuple[str, ...], tuple[list[str], list[Line]]] = {}
    for item, each in answers:
        lines = [*each]
        name = f"{item.compile_id} "
        said = tuple(line.text.removeprefix(name) for line in lines)
        told.setdefault(said, ([], lines))[0].append(item.compile_id)
    for names, lines in told.values():
        for line in lines:
            rest = line.text.removeprefix(f"{names[0]} ")
            if len(names) == 1 or rest == line.text:
                yield line
            else:
                yield line._replace(text=f"{first_names(names, _MOST)} {rest}")
