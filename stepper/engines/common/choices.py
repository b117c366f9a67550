"""What can be chosen at a lookup that found no entry, before the call is compiled: for any engine.

The idea. A miss is told when nothing of the compilation has begun, so there the user can still
decide what becomes of the call. A *choice* is open for as long as the lookup is told; whatever is
chosen at a stop in it is kept, and when the lookup has been told the engine does that instead.

* *Mark*: a size of a live tensor is marked dynamic, as `torch._dynamo.mark_dynamic` does it. The
  compilation that follows sees the mark.
* *Relax*: a copy of an entry, without the guards that fail, serves the call.
* *Skip*: the call runs as it is. The code is not marked: its next call is looked up and compiled as
  ever.

Each of them makes the program another one than it would be unwatched; it is recorded.
"""

from __future__ import annotations

import _thread
import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import torch

from stepper.engines.common.known import E
from stepper.engines.common.words import object_text
from stepper.model.cache import CacheError
from stepper.model.lookup import Difference

_NAME = re.compile(r"[^\W\d]\w*")
_SPECIAL_SIZES = (0, 1)

NOWHERE = (
    "the program does not stand before a compilation: break miss stops there (and break lookup "
    "also before a first one)"
)


class Refusal(NamedTuple):
    """Why an entry did not match, as far as one guard is the reason."""

    source: str
    differences: Sequence[Difference]
    text: str


def would_not_match(
    label: str, number: int, others: Iterable[str], indices: Iterable[int]
) -> CacheError:
    """An entry would be refused by `others`, too, without the guard that refused it; `indices`: all
    that would have to be left out."""
    numbers = " ".join(map(str, sorted(indices)))
    return CacheError(
        f"{label} would not match yet: {', '.join(others)} fails, too. To leave that out as well: "
        f"relax-guard {number} drop {numbers}"
    )


def not_tried(number: int | None) -> CacheError:
    """There is nothing to relax: no entry, or not this one, has been refused so far."""
    if number is None:
        return CacheError("no entry has been tried yet, so there is no guard to relax")
    return CacheError(f"entry {number} has not been tried in this lookup, as far as it has come")


class CallChoice(Generic[E]):
    """What becomes of one call. Holds its values; to be dropped with the lookup."""

    skip_text = ""
    """What it means to skip the call, in words."""

    def __init__(self, f_locals: dict[str, Any]) -> None:
        self._locals = f_locals
        self._served: E | None = None
        """The copy of an entry that serves the call, if one was chosen."""
        self.skipped = False
        self.told = ""
        """What was chosen, in words; empty: to go on."""

    # --- the engine's part

    def refusals(self) -> Sequence[Refusal]:
        """Why entries did not match, the newest last."""
        raise NotImplementedError

    def reach(self, source: str) -> object:
        """The value of a source, reached without running the program's code.

        Raises:
            CacheError: it cannot be reached so.
        """
        raise NotImplementedError

    def relax(self, number: int | None, drop: tuple[int, ...]) -> str:
        """See `stepper.model.control.RelaxGuard`.

        Raises:
            CacheError: no entry has been refused by a guard, or others of its guards fail as well.
        """
        raise NotImplementedError

    def throw_away(self, draft: E) -> None:
        """A copy serves nothing."""
        raise NotImplementedError

    # --- choices

    def mark_dynamic(self, source: str, dim: int | None, strict: bool) -> str:
        """See `stepper.model.control.MarkDynamic`.

        Raises:
            CacheError: there is no such tensor, or it has no such size.
        """
        if not source or dim is None:
            found, sizes = self._differing(source)
            source, dims = found, sizes if dim is None else (dim,)
        else:
            source, dims = self._expression(source), (dim,)
        tensor = self.reach(source)
        if not issubclass(type(tensor), torch.Tensor):
            raise CacheError(f"{source} is no tensor, but {object_text(tensor)}")
        assert isinstance(tensor, torch.Tensor)
        for each in dims:
            if not -tensor.dim() <= each < tensor.dim():
                raise CacheError(f"{source} has {tensor.dim()} dimensions, and no size {each}")
        mark = torch._dynamo.mark_dynamic if strict else torch._dynamo.maybe_mark_dynamic
        for each in dims:
            mark(tensor, each)
        which = ", ".join(f"size {each}" for each in dims)
        needed = (
            "; it fails where that size must be a number"
            if strict
            else ", unless the code needs it as a number"
        )
        text = f"{which} of {source} is marked dynamic: a symbol in this compilation{needed}"
        if any(tensor.shape[each] in _SPECIAL_SIZES for each in dims):
            text += "; beware: sizes 0 and 1 are compiled as numbers all the same"
        self.choose(text)
        return f"{text}. The tensor keeps the mark"

    def mark_unbacked(self, source: str, dim: int) -> None:
        """Make a size of a tensor one of which nothing is known, so that 0 and 1 are no others.

        Raises:
            CacheError: there is no such tensor, or it has no such size.
        """
        tensor = self.reach(self._expression(source))
        if not issubclass(type(tensor), torch.Tensor):
            raise CacheError(f"{source} is no tensor, but {object_text(tensor)}")
        assert isinstance(tensor, torch.Tensor)
        if not -tensor.dim() <= dim < tensor.dim():
            raise CacheError(f"{source} has {tensor.dim()} dimensions, and no size {dim}")
        torch._dynamo.decorators.mark_unbacked(tensor, dim)

    def skip(self) -> str:
        """See `stepper.model.control.SkipCall`."""
        self.choose(self.skip_text)
        self.skipped = True
        return self.skip_text

    def serve(self, entry: E, draft: E, how: str = "") -> str:
        """A copy of an entry, without some of its guards, serves the call. Returns what is done."""
        copy = f"a copy of entry {entry.id} {', '.join(draft.facts.edits)}"
        text = f"entry {draft.id}, {copy}, serves this call{how}"
        self.choose(text)
        self._served = draft
        beware = "; ".join(draft.facts.warnings)
        return f"{text} and later ones that it fits. Beware: {beware}"

    def choose(self, text: str) -> None:
        """The newest choice holds; a mark stays where it is."""
        if self._served is not None:
            self.throw_away(self._served)
            self._served = None
        self.skipped, self.told = False, text

    def _differing(self, wanted: str) -> tuple[str, tuple[int, ...]]:
        """The tensor, and its sizes, on which the newest refusal went."""
        wanted = self._expression(wanted) if wanted else ""
        refusals = self.refusals()
        for refusal in reversed(refusals):
            if wanted not in ("", refusal.source):
                continue
            sizes = tuple(
                each.at
                for each in refusal.differences
                if each.what == "size" and each.at is not None
            )
            if sizes:
                return refusal.source, sizes
        why = "; ".join(refusal.text for refusal in refusals) or "there was no entry"
        raise CacheError(
            f"no size differs from what an entry wants ({why}): name one, e.g. mark-dynamic x 0"
        )

    def _expression(self, name: str) -> str:
        """`x.weight` as guards write it, `L['x'].weight`."""
        if name.startswith(("L[", "G[")):
            return name
        first = _NAME.match(name)
        if first is None:
            raise CacheError(f"{name!r} is no expression of a tensor, such as x or self.weight")
        scope = "L" if first[0] in self._locals else "G"
        return f"{scope}[{first[0]!r}]{name[first.end() :]}"


AnyChoice = TypeVar("AnyChoice", bound=CallChoice[Any])


class Choices(Generic[AnyChoice]):
    """The choices that are open, one for each thread."""

    def __init__(self) -> None:
        self._open: dict[int, AnyChoice] = {}
        self._made: dict[int, AnyChoice] = {}

    @contextlib.contextmanager
    def open(self, choice: AnyChoice) -> Iterator[None]:
        """A lookup that missed is told meanwhile, in this thread. An evaluation at a stop in it can
        lead to another one."""
        ident = _thread.get_ident()
        outer = self._open.get(ident)
        self._open[ident] = choice
        try:
            yield
        finally:
            if outer is None:
                del self._open[ident]
            else:
                self._open[ident] = outer
        if choice.told:
            self._made[ident] = choice

    def here(self) -> AnyChoice:
        """The choice that is open where this thread stands.

        Raises:
            CacheError: there is none.
        """
        choice = self._open.get(_thread.get_ident())
        if choice is None:
            raise CacheError(NOWHERE)
        return choice

    def take(self) -> AnyChoice | None:
        """What was chosen in the lookup that this thread has just told; None: to go on."""
        return self._made.pop(_thread.get_ident(), None)
