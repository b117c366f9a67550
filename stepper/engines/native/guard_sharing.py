"""What several conditions of a check look at is looked up once.

The source of a check is for its readers: each condition says in full what it looks at. A model has
hundreds that begin in the same way, `L['self']._modules['h']._modules['0']`, and most of their time
would go into that. So what is compiled is another text, in which a lookup that comes again has a
name: `(___1 := L['self']._modules['h'])` where it is done first, `___1` afterwards. All conditions
hold or the check ends, so what one has looked up the next ones have; conditions of which a part may
not be evaluated stay as they are.

It is done on the text, since a syntax tree of such a check takes longer to build than all the rest
of a translation. The alternative, a tree of lookups with the conditions at its leaves as Dynamo has
it in C++, is faster still, and no longer a function that can be read.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Iterator

_TEXT = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_STEP = re.compile(rf"\.\w+|\[(?:{_TEXT}|-?\d+)\]")
_CHAIN = re.compile(rf"(?:{_TEXT})|(?P<chain>(?<![\w.])(?:L|G|__\w+)(?:{_STEP.pattern})+)")
"""A literal, which may have anything in it, or a variable with attributes and items."""
_ASIDE = re.compile(r"\b(?:or|if|for|lambda)\b")
"""In conditions with these words, a part may not be evaluated."""


def share(conditions: Iterable[str]) -> list[str]:
    """The conditions of a check, in order, to the same effect."""
    written = list(conditions)
    found = [list(_chains(text)) for text in written]
    shared = _shared(itertools.chain.from_iterable(found))
    names: dict[str, str] = {}

    def rewrite(match: re.Match[str]) -> str:
        return _named(match["chain"], shared, names) if match["chain"] else match.group()

    return [
        _CHAIN.sub(rewrite, text) if chains else text
        for text, chains in zip(written, found, strict=True)
    ]


def _chains(text: str) -> Iterator[str]:
    if not _ASIDE.search(text):
        for match in _CHAIN.finditer(text):
            if match["chain"]:
                yield match["chain"]


@functools.lru_cache(maxsize=4096)
def _prefixes(chain: str) -> list[tuple[str, str]]:
    """Each lookup of a chain, the first alone first, and the step that follows it."""
    ends = [match.end() for match in _STEP.finditer(chain)]
    return [
        (chain[:end], chain[end:following])
        for end, following in zip(ends, [*ends[1:], ends[-1]], strict=True)
    ]


def _shared(chains: Iterable[str]) -> set[str]:
    """The lookups that lead to several others, or are themselves needed more than once."""
    seen: dict[str, set[str]] = {}
    shared = set()
    whole: set[str] = set()
    for chain in chains:
        if chain in whole:
            shared.add(chain)
            continue
        whole.add(chain)
        for prefix, step in _prefixes(chain):
            steps = seen.setdefault(prefix, set())
            if steps and (step not in steps or not step):
                shared.add(prefix)
            steps.add(step)
    return shared


def _named(chain: str, shared: set[str], names: dict[str, str]) -> str:
    """A chain that begins with a name if its beginning has one, and gives names on its way."""
    text, done = "", 0
    for prefix, _ in _prefixes(chain):
        if prefix in names:
            text = names[prefix]
        else:
            text += prefix[done:]
            if prefix in shared:
                names[prefix] = f"___{len(names)}"
                text = f"({names[prefix]} := {text})"
        done = len(prefix)
    return text
