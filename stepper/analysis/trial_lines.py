"""What came of trying changes, in words: what is proven first, as a patch, the rest in a line each.

Proven is what helps while the program does what it did. What leaves least comes first, then what
changes least of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from stepper.analysis.line import Line
from stepper.client.text import plural

if TYPE_CHECKING:  # an answer for which nothing is tried begins sooner without
    from stepper.analysis.replays import Replays, RunFacts, Verdict, Way

Told = Generator[Line, None, "list[Tried]"]
"""What came of trying, in lines; at the end, all that was tried."""

MOST = 10
"""Ways that are tried for one thing, besides all at once."""


class Left(NamedTuple):
    """What a run leaves of what is too much."""

    counts: tuple[int, ...]
    """What there should be little of, the most important first."""
    words: str
    """Both sides, before and after."""
    helps: bool
    """Whether there is less of it than as it is."""
    nothing: bool
    """Whether what is left is no longer too much."""
    details: tuple[str, ...] = ()
    """What else there is to say of it, where it is proven."""


class Tried(NamedTuple):
    """A way that was tried."""

    way: Way
    verdict: Verdict
    left: Left

    @property
    def proven(self) -> bool:
        """Whether it helps, and the program does what it did."""
        return self.left.helps and not self.verdict.trouble

    @property
    def rank(self) -> tuple[object, ...]:
        """What is best is least."""
        sound = not self.verdict.trouble
        return not self.proven, not sound, self.left.counts, self.way.size


def try_all(
    replays: Replays,
    ways: Iterable[Way],
    left: Callable[[RunFacts, RunFacts], Left],
    *,
    failing: bool = False,
) -> Iterator[Tried | Line]:
    """Try each; gives what came of it, or a line that says why it could not be tried.

    Args:
        replays: what runs them.
        ways: what is tried.
        left: says what a run leaves, of one as it is and one with a change.
        failing: whether it is to go on where it fails now.
    """
    from stepper.client.plan import ReplayError

    for way in ways:
        try:
            verdict = replays.judged(way, failing=failing)
        except ReplayError as error:
            yield Line(f"not tried: {way.words}: {error}", role="dim")
            continue
        yield Tried(way, verdict, left(verdict.usual.found, verdict.trial.found))


def enough(tried: list[Tried]) -> bool:
    """Whether something is proven that leaves nothing. Then advice that is not proven has nothing
    to say any more."""
    return any(each.proven and each.left.nothing for each in tried)


def in_vain(tried: Iterable[Tried]) -> list[str]:
    """What did not help, or only where the program does something else, in words."""
    return [each.way.words for each in tried if not each.proven]


def trial_lines(replays: Replays, every: Iterable[Tried | Line], indent: str) -> Told:
    """All that was tried, the best first.

    Args:
        replays: what ran it.
        every: what came of each way.
        indent: before each line.
    """
    every = list(every)
    tried = sorted((each for each in every if isinstance(each, Tried)), key=lambda each: each.rank)
    for at, each in enumerate(tried):
        verdict, words = each.verdict, each.way.words
        if not each.proven:
            yield Line(f"{indent}{_without_proof(each)}", role="dim")
            continue
        text = f"{words}: {each.left.words}; {verdict.compared}"
        if at:
            yield Line(f"{indent}proven, too: {text}", role="dim")
            continue
        yield Line(f"{indent}proven: {text} ({verdict.trial.seconds:.1f} s)", role="title")
        for patched in replays.sources.patch(each.way.edits, replays.plan.folder):
            yield Line(f"{indent}  {patched}".rstrip())
        yield from (Line(f"{indent}  {text}") for text in each.left.details)
    for line in every:
        if isinstance(line, Line):
            yield line._replace(text=f"{indent}{line.text}")
    return tried


def _without_proof(tried: Tried) -> str:
    words, trouble = tried.way.words, tried.verdict.trouble
    if trouble and tried.left.helps:
        return f"not advised: {words}: {tried.left.words}, but {trouble}"
    if trouble:
        return f"failed: {words}: {trouble}"
    return f"no help: {words}: {tried.left.words}"


def counted(was: int, now: int, noun: str) -> str:
    """`4 compilations → 1`."""
    return f"{plural(was, noun)} → {now:,}"
