"""The page on the bench: `python -m tests.answers.document > docs/answers.md`."""

from __future__ import annotations

from collections.abc import Iterator

from tests.answers import programs  # noqa: F401  # it takes them up
from tests.answers.cases import CASES, Case

_INTRODUCTION = """\
# How right are the answers?

A debugger that is wrong once is not asked again. So the repository has a bench of {programs} small
programs, {reported} of them after public reports, each with the cause, the line and the remedy that
somebody found who looked at torch's own logs. The tests record each program and ask stepper: the
cause must be named, the line must be the right one, and the first piece of advice must be the
remedy. The remedy is applied, too, and the graphs are counted that the program hands to its
backend: as it was reported, recorded and, of each fourth program, without stepper; and after it.

For `why-shape` the truth is what `TORCH_LOGS=+dynamic` says of the size that is asked about. For
`is-guarded` there is nothing to remedy: the program changes the value that is asked about between
its calls, and the other run leaves it as it was. Where torch guards against the change, it makes
one graph more.

To ask it yourself: `stepper record --lookups -o answers.stepper -m tests.answers NAME`, then
`stepper why-recompile answers.stepper`, `why-break` or `why-failed`, or with what is asked about
`stepper why-shape answers.stepper "x.shape[0]"` or `is-guarded`. The programs are in
`tests/answers`; those without a report were written for a rule by which advice is given, or for a
kind of value.

| program | question | cause | advice | graphs |
| --- | --- | --- | --- | --- |"""


def page() -> str:
    """The whole page."""
    reported = sum(bool(case.report) for case in CASES.values())
    introduction = _INTRODUCTION.format(programs=len(CASES), reported=reported)
    return "\n".join([introduction, *map(_row, CASES.values()), ""])


def _row(case: Case) -> str:
    cells = (
        f"`{case.name}`" + (f" ({case.report})" if case.report else ""),
        f"`{case.ask} {case.expression}`" if case.expression else f"`{case.ask}`",
        "; ".join(case.cause),
        case.advice,
        "{} → {}".format(*case.counts),
    )
    return "| " + " | ".join(_cells(cells)) + " |"


def _cells(cells: tuple[str, ...]) -> Iterator[str]:
    for cell in cells:
        yield cell if "`" in cell else cell.replace("|", "\\|").replace("_", "\\_")


if __name__ == "__main__":
    print(page(), end="")
