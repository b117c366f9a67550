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
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Any, Generic, NamedTuple, TypeVar

import torch

from stepper.engines.common import versions
from stepper.engines.common.edits import alike
from stepper.engines.common.entries import EngineEntries
from stepper.engines.common.known import E
from stepper.engines.common.words import object_text
from stepper.model.cache import CacheError, GuardCheck, GuardRow
from stepper.model.cache import Verdict as Passing
from stepper.model.lookup import Difference

Verdict = TypeVar("Verdict")

_NAME = re.compile(r"[^\W\d]\w*")
_SPECIAL_SIZES = (0, 1)

NOWHERE = (
    "the program does not stand before a compilation: break miss stops there (and break lookup "
    "also before a first one)"
)


class Refusal(NamedTuple):
    """Why an entry did not match."""

    entry: object
    """The entry, as the engine's lookup has it."""
    guard: GuardRow | None
    """The guard that failed; None: none of them alone."""
    differences: Sequence[Difference]
    text: str


class CallChoice(Generic[E, Verdict]):
    """What becomes of one call. Holds its values; to be dropped with the lookup. A verdict is what
    the compiler takes in place of a compilation."""

    skip_text = ""
    """What it means to skip the call, in words."""

    def __init__(
        self,
        entries: EngineEntries[E],
        code: CodeType,
        f_locals: dict[str, Any],
        f_globals: dict[str, Any],
    ) -> None:
        self.code = code
        self._entries = entries
        self._locals = f_locals
        self._globals = f_globals
        self._refusals: list[Refusal] = []
        self._served: E | None = None
        """The copy of an entry that serves the call, if one was chosen."""
        self.skipped = False
        self.told = ""
        """What was chosen, in words; empty: to go on."""

    def refused(self, refusal: Refusal) -> None:
        """An entry does not match."""
        self._refusals.append(refusal)

    # --- the engine's part

    def reach(self, source: str) -> object:
        """The value of a source, reached without running the program's code.

        Raises:
            CacheError: it cannot be reached so.
        """
        raise NotImplementedError

    def _known(self, entry: object) -> E | None:
        """What is known of an entry that a lookup has tried."""
        raise NotImplementedError

    def _ask(self, draft: E) -> Sequence[GuardCheck]:
        """What the guards of a copy say of the call."""
        raise NotImplementedError

    def _skipping(self) -> Verdict:
        """The call runs as it is."""
        raise NotImplementedError

    def _serving(self, draft: E) -> Verdict | None:
        """A copy serves the call, and becomes an entry; None: it has died meanwhile."""
        raise NotImplementedError

    # --- what is done

    def verdict(self) -> Verdict | None:
        """What the compiler is to take; None: it is to compile."""
        if self.skipped:
            return self._skipping()
        return None if self._served is None else self._serving(self._served)

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
        for each in dims:
            versions.mark_dynamic(tensor, each, strict=strict)
        which = ", ".join(f"{source}.shape[{each}]" for each in dims)
        needed = (
            "; it fails where that size must be a number"
            if strict
            else ", unless the code needs it as a number"
        )
        text = f"{which} is marked dynamic: a symbol in this compilation{needed}"
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
        versions.mark_unbacked(tensor, dim)

    def skip(self) -> str:
        """See `stepper.model.control.SkipCall`."""
        self.choose(self.skip_text)
        self.skipped = True
        return self.skip_text

    def relax(self, number: int | None, drop: tuple[int, ...]) -> str:
        """See `stepper.model.control.RelaxGuard`.

        Raises:
            CacheError: no entry has been refused by a guard, or others of its guards fail as well.
        """
        book = self._entries.book
        with book.held():
            book.look_at(self.code)
            entry, refusal = self._tried(number)
            rows = book.rows(entry)
            if not drop:
                same = [] if refusal.guard is None else alike(rows, refusal.guard)
                if not same:
                    why = f"{entry.label} is refused by none of its guards: {refusal.text}"
                    raise CacheError(why)
                drop = (same[0],)
            draft = book.entry(self._entries.clone(entry.id, drop, ()))
            kept = [row for row in rows if row.index not in drop]
            checks = self._ask(draft)
            failing = [kept[each.guard] for each in checks if each.verdict is not Passing.PASS]
            if failing:
                self._entries.remove(draft.id)
                others = ", ".join(f"{row.kind} {row.source}".strip() for row in failing)
                numbers = " ".join(map(str, sorted({*drop, *(row.index for row in failing)})))
                raise CacheError(
                    f"{entry.label} would not match yet: {others} fails, too. To leave that out as "
                    f"well: relax-guard {entry.id} drop {numbers}"
                )
            return self.serve(entry, draft)

    def _tried(self, number: int | None) -> tuple[E, Refusal]:
        for refusal in reversed(self._refusals):
            entry = self._known(refusal.entry)
            if entry is not None and number in (None, entry.id):
                return entry, refusal
        if number is None:
            raise CacheError("no entry has been tried yet, so there is no guard to relax")
        raise CacheError(f"entry {number} has not been tried in this lookup, as far as it has come")

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
            self._entries.remove(self._served.id)
            self._served = None
        self.skipped, self.told = False, text

    def _differing(self, wanted: str) -> tuple[str, tuple[int, ...]]:
        """The tensor, and its sizes, on which the newest refusal went."""
        wanted = self._expression(wanted) if wanted else ""
        for refusal in reversed(self._refusals):
            source = "" if refusal.guard is None else refusal.guard.source
            if wanted not in ("", source):
                continue
            sizes = tuple(
                each.at
                for each in refusal.differences
                if each.what == "size" and each.at is not None
            )
            if sizes:
                return source, sizes
        why = "; ".join(refusal.text for refusal in self._refusals) or "there was no entry"
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


AnyChoice = TypeVar("AnyChoice", bound=CallChoice[Any, Any])


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
