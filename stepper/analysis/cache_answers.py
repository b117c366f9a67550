"""What the compiler's caches on disk answered, and what that has saved, or would have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from stepper.analysis.compile_times import CompileTimes, Timed
from stepper.analysis.line import Line
from stepper.client.frame_names import compiled_title
from stepper.client.text import plural, time_words
from stepper.model.timing import AUTOGRAD_CACHE, CacheAnswer

_WORDS = {"hit": "hit", "miss": "miss", "bypass": "graph that bypassed it"}


def answers(times: CompileTimes) -> list[tuple[str, CacheAnswer]]:
    """What caches on disk answered, in order, each with the compilation that asked."""
    return [
        (asking(times, root), each.timing.cache)
        for root in times.roots
        for each in root.walk()
        if each.timing.cache is not None and each.timing.cache.cache != AUTOGRAD_CACHE
    ]


def asking(times: CompileTimes, root: Timed) -> str:
    """The compilation that a phase is of; empty: it is not known."""
    item = times.translations.get(times.owner(root) or 0)
    name = "" if item is None else compiled_title(times.recording, item)
    return f"{name}{' backward' * (root.name == 'entire_backward_compile')}"


def saved_text(found: list[tuple[str, CacheAnswer]]) -> str:
    """`; saved 4.10 s, as they say`, of the hits that say it."""
    said = [
        answer.nanoseconds
        for _, answer in found
        if answer.state == "hit" and answer.nanoseconds is not None
    ]
    return f"; hits saved {time_words(sum(said))}, as they say" if said else ""


def cache_lines(times: CompileTimes) -> Iterator[Line]:
    """Each cache with its answers, and what they come to; nothing where none was asked."""
    by_answer: dict[tuple[str, str], list[CacheAnswer]] = defaultdict(list)
    for _, answer in answers(times):
        by_answer[answer.cache, answer.state].append(answer)
    if not by_answer:
        return
    yield Line("")
    yield Line("caches of the compiler on disk", role="title")
    for (cache, state), some in sorted(by_answer.items()):
        if state == "disabled":
            yield Line(f"  {cache}: not enabled, asked for {plural(len(some), 'graph')}")
            continue
        text = plural(len(some), _WORDS.get(state, state))
        yield Line(f"  {cache}: {text}{_comes_to(state, some)}")
        for reason in dict.fromkeys(each.reason for each in some if each.reason):
            yield Line(f"      {reason}", role="dim")


def _comes_to(state: str, some: list[CacheAnswer]) -> str:
    known = [each.nanoseconds for each in some if each.nanoseconds is not None]
    left = f", of {len(some) - len(known)} it is not recorded" if len(known) < len(some) else ""
    if state == "hit":
        said = f": saved {time_words(sum(known))}, as the cache says{left}"
        return said if known else ": not recorded what it saved"
    if state == "miss" and known:
        return f": a hit would have saved {time_words(sum(known))}, which making it took{left}"
    return ": what a hit would have saved is not recorded"
