"""What can be chosen at a lookup that found no entry, before Dynamo compiles the call again.

The idea. A miss is told in front of the body of Dynamo's `_compile`, and nothing of the compilation
has begun. So there the user can still decide what becomes of the call: a *choice* is open for as
long as the lookup is told, whatever is chosen at a stop in it is kept, and when the lookup has been
told the probe returns it to Dynamo in place of a compilation, or the compilation begins.

* *Mark*: a size of a live tensor is marked dynamic, as `torch._dynamo.mark_dynamic` does it. The
  compilation that follows sees the mark.
* *Relax*: a copy of an entry, without the guards that fail, is handed to Dynamo as if it were what
  the compilation had made. It becomes an entry of this call's backend and region, tried first. (To
  register it as a precompiled entry, as `stepper.cache.register` does, would have it serve calls of
  every backend, and not this one: the cache has been looked through already.)
* *Skip*: this call, and what it calls, runs as it is. The code is not marked: its next call is
  looked up and compiled as ever.

Each of them makes the program another one than it would be unwatched; it is recorded.
"""

from __future__ import annotations

import _thread
import contextlib
import re
from collections.abc import Iterable, Iterator
from types import CodeType
from typing import Any

import torch
from torch._C._dynamo.eval_frame import _FrameAction, _FrameExecStrategy
from torch._dynamo.types import ConvertFrameReturn, GuardedCode, wrap_guarded_code

from stepper.engines.common.words import object_text
from stepper.engines.dynamo.cache import BOOK, KnownEntry, locked
from stepper.engines.dynamo.cache_check import TOOLKIT
from stepper.engines.dynamo.lookup_programs import key_of
from stepper.engines.dynamo.lookup_tries import Tried, reason
from stepper.engines.dynamo.quiet import Loud, Missing, Quiet
from stepper.model.cache import CacheError, GuardRow, Verdict

_SIZE = re.compile(r"size\[(\d+)\]")
_NAME = re.compile(r"[^\W\d]\w*")
_SPECIAL_SIZES = (0, 1)

NOWHERE = (
    "the program does not stand before a compilation: break miss stops there (and break lookup "
    "also before a first one)"
)


class Choice:
    """What becomes of one call. Holds its values; to be dropped with the lookup."""

    def __init__(
        self, code: CodeType, f_locals: dict[str, Any], f_globals: dict[str, Any], compile_id: Any
    ) -> None:
        self._code = code
        self._locals = f_locals
        self._globals = f_globals
        self._compile_id = compile_id
        self._tried: list[Tried] = []
        self._served: KnownEntry | None = None
        self._skipped = False
        self.told = ""
        """What was chosen, in words; empty: to go on."""

    def refused(self, tried: Tried) -> None:
        """An entry does not match."""
        self._tried.append(tried)

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
        tensor = self._tensor(source)
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
        self._choose(text)
        return f"{text}. The tensor keeps the mark"

    def relax(self, number: int | None, drop: tuple[int, ...]) -> str:
        """See `stepper.model.control.RelaxGuard`.

        Raises:
            CacheError: no entry has been refused by a guard, or others of its guards fail as well.
        """
        with locked():
            BOOK.look_at(self._code)
            entry, tried = self._entry(number)
            rows = BOOK.tree(entry).rows if entry.draft is None else entry.draft.rows
            if not drop:
                drop = (self._row(rows, tried, entry),)
            draft = TOOLKIT.clone(entry.id, drop)
            failing = [
                draft.draft.rows[check.guard]
                for check in draft.draft.ask(self._locals)
                if check.verdict is not Verdict.PASS
            ]
            if failing:
                TOOLKIT.remove(draft.id)
                numbers = " ".join(map(str, sorted({*drop, *_indices(rows, failing)})))
                others = ", ".join(f"{row.kind} {row.source}".strip() for row in failing)
                raise CacheError(
                    f"{entry.label} would not match yet: {others} fails, too. To leave that out as "
                    f"well: relax-guard {entry.id} drop {numbers}"
                )
            TOOLKIT.warn(draft, ())
        copy = f"a copy of entry {entry.id} {', '.join(draft.facts.edits)}"
        text = f"entry {draft.id}, {copy}, serves this call as {self._compile_id}"
        self._choose(text, served=draft)
        beware = "; ".join(draft.facts.warnings)
        return f"{text} and later ones that it fits. Beware: {beware}"

    def skip(self) -> str:
        """See `stepper.model.control.SkipCall`."""
        text = "this call runs uncompiled, with all that it calls; nothing is compiled for it"
        self._choose(text, skipped=True)
        return text

    def verdict(self) -> ConvertFrameReturn | None:
        """What Dynamo is to take in place of a compilation; None: it is to compile."""
        if self._skipped:
            eagerly = _FrameExecStrategy(_FrameAction.SKIP, _FrameAction.SKIP)
            return ConvertFrameReturn(frame_exec_strategy=eagerly, apply_to_code=False)
        if self._served is not None and self._served.draft.alive:
            draft = self._served.draft
            TOOLKIT.hand_over(self._served)
            return wrap_guarded_code(GuardedCode(draft.code, draft.wrapper, self._compile_id))
        return None

    def _choose(
        self, text: str, *, served: KnownEntry | None = None, skipped: bool = False
    ) -> None:
        """The newest choice holds; a mark stays where it is."""
        before = self._served
        if before is not None and before is not served:
            TOOLKIT.remove(before.id)
        self._served, self._skipped, self.told = served, skipped, text

    def _differing(self, wanted: str) -> tuple[str, tuple[int, ...]]:
        """The tensor, and its sizes, on which the newest refusal went."""
        wanted = self._expression(wanted) if wanted else ""
        for tried in reversed(self._tried):
            row = tried.failing
            if row is None or wanted not in ("", row.source):
                continue
            sizes = tuple(
                int(size[1]) for each in tried.differences if (size := _SIZE.fullmatch(each.what))
            )
            if sizes:
                return row.source, sizes
        why = "; ".join(map(reason, self._tried)) or "there was no entry"
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

    def _tensor(self, source: str) -> torch.Tensor:
        try:
            value = Quiet(self._locals, self._globals).reach(source)
        except (Missing, Loud, SyntaxError) as error:
            raise CacheError(f"{source} cannot be reached: {error}") from None
        if not issubclass(type(value), torch.Tensor):
            raise CacheError(f"{source} is no tensor, but {object_text(value)}")
        tensor: torch.Tensor = value
        return tensor

    def _entry(self, number: int | None) -> tuple[KnownEntry, Tried]:
        for tried in reversed(self._tried):
            entry = BOOK.by_wrapper(tried.candidate.wrapper)
            if entry is not None and number in (None, entry.id):
                return entry, tried
        if number is None:
            raise CacheError("no entry has been tried yet, so there is no guard to relax")
        raise CacheError(f"entry {number} has not been tried in this lookup, as far as it has come")

    @staticmethod
    def _row(rows: tuple[GuardRow, ...], tried: Tried, entry: KnownEntry) -> int:
        failing = tried.failing
        found = _indices(rows, [failing]) if failing is not None else []
        if not found:
            raise CacheError(f"{entry.label} is refused by none of its guards: {reason(tried)}")
        return found[0]


class Choices:
    """The choices that are open, one for each thread."""

    def __init__(self) -> None:
        self._open: dict[int, Choice] = {}
        self._made: dict[int, Choice] = {}

    @contextlib.contextmanager
    def open(self, choice: Choice) -> Iterator[None]:
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

    def here(self) -> Choice:
        """The choice that is open where this thread stands.

        Raises:
            CacheError: there is none.
        """
        choice = self._open.get(_thread.get_ident())
        if choice is None:
            raise CacheError(NOWHERE)
        return choice

    def answer(self) -> ConvertFrameReturn | None:
        """What was chosen in the lookup that this thread has just told; None: to go on."""
        choice = self._made.pop(_thread.get_ident(), None)
        return None if choice is None else choice.verdict()


CHOICES = Choices()
"""Those of this process, as its cache is."""


def _indices(rows: tuple[GuardRow, ...], wanted: Iterable[GuardRow]) -> list[int]:
    keys = {key_of(row) for row in wanted}
    return [row.index for row in rows if key_of(row) in keys]
