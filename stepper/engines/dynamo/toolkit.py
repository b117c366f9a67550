"""Copies of cache entries with other guards or bytecode, and their way into the cache and out.

How a copy is guarded. Dynamo's leaf guards cannot be taken apart or made anew: what they compare
with is out of reach. But they can be called. So a copy has a guard tree of its own, in which every
guard that is kept is a lambda that reaches the value as the original does and calls the original's
leaf; what was added is a lambda, too. It is slower than the original, and it means the same. The
leaves read the thread's state from the tree that they were made in, which reads it anew at the
beginning of each check; so the first of a copy's guards begins one, on nothing.

How it gets into the cache. `_load_precompile_entry` takes a guard manager and code. Such entries
are tried before all others, whatever the backend and region of the call: what that means for the
other entries is said when one is registered.

What a copy lives on. The original's objects that it still knows by identity: it gets finalizers of
its own, and is switched off when one dies, before the address can be used again. It holds none of
them.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import CodeType
from typing import Any

import msgspec

from stepper.engines.common import graphs
from stepper.engines.common.edits import compile_guard, exclusive, named
from stepper.engines.common.entry_guards import Result
from stepper.engines.common.toolkit import Toolkit
from stepper.engines.dynamo.cache import BOOK, EntryRegistry, KnownEntry, entries_of, locked
from stepper.engines.dynamo.guard_tree import Check, GuardTree, identity_of, strip_comment
from stepper.engines.dynamo.versions import cache as dynamo
from stepper.model.cache import (
    CacheEntry,
    CacheError,
    EntryState,
    GuardCheck,
    GuardRow,
    Origin,
    Verdict,
)
from stepper.uncompiled import keep_out


class Draft:
    """What is kept of an entry that was made: all that is needed to run it and to register it."""

    def __init__(
        self,
        code: CodeType,
        base: CodeType,
        tree: GuardTree,
        globals_scope: dict[str, Any],
        kept: list[int],
        added: tuple[str, ...],
    ) -> None:
        self.code = code
        self.base = base
        """The transformed code it comes from: the graph's global name lives as long as it."""
        self.tree = tree
        self.kept = kept
        self.added = added
        self.scope = globals_scope
        self.alive = True
        """Whether all objects live that it knows by identity, and it was not taken out."""
        self.registered = False
        self.ordinary = False
        """Whether Dynamo has it among the entries that were compiled."""
        self.finalizers: list[weakref.finalize[Any, Any]] = []
        rows = [tree.checks[index].row for index in kept]
        rows += [
            GuardRow(-1, "ADDED", "", code=(text,), expected="True", made=True, depth=1)
            for text in added
        ]
        self.rows: tuple[GuardRow, ...] = tuple(
            msgspec.structs.replace(row, index=index) for index, row in enumerate(rows)
        )
        self._expressions = [compile_guard(text) for text in added]
        self.wrapper = self._wrap()

    def retire(self) -> None:
        """Give the draft up: it does not wait for the end of any object any more."""
        self.alive = False
        for finalizer in self.finalizers:
            finalizer.detach()

    @property
    def kept_checks(self) -> list[Check]:
        """The checks kept of the entry that this was made of, in the order of its rows."""
        return [self.tree.checks[index] for index in self.kept]

    def run(self, f_locals: dict[str, Any]) -> tuple[Result, tuple[GuardCheck, ...]]:
        said = self.wrapper.root.check_verbose(f_locals)
        checks = self.ask(f_locals)
        reason = "" if said.result else " ".join(str(part) for part in said.verbose_code_parts)
        return Result(bool(said.result), strip_comment(reason), len(checks)), checks

    def ask(self, f_locals: dict[str, Any]) -> tuple[GuardCheck, ...]:
        """What each of its guards says of these locals, whatever the ones before said."""
        self.tree.root.check_verbose({})  # see the module's essay
        return tuple(self._ask(index, f_locals) for index in range(len(self.rows)))

    def _ask(self, index: int, f_locals: dict[str, Any], *, brief: bool = False) -> GuardCheck:
        if index < len(self.kept):
            check = self.tree.checks[self.kept[index]]
            found = self.tree.ask_one(check, f_locals, brief=brief)
            return msgspec.structs.replace(found, guard=index)
        expression = self._expressions[index - len(self.kept)]
        try:
            passed = bool(eval(expression, self.scope, {"L": f_locals}))
        except Exception as error:  # of values it was not meant for
            return GuardCheck(index, Verdict.FAIL, "", type(error).__name__)
        return GuardCheck(index, Verdict.PASS if passed else Verdict.FAIL)

    def _wrap(self) -> Any:
        # The garbage collector sees no cycle that goes through the root: that must not hold us.
        reference = weakref.ref(self)

        def begins(f_locals: dict[str, Any]) -> bool:
            draft = reference()
            return draft is not None and draft._begin(f_locals)

        def test(index: int) -> Callable[[dict[str, Any]], bool]:
            def passes(f_locals: dict[str, Any]) -> bool:
                draft = reference()
                if draft is None:
                    return False
                return not draft._ask(index, f_locals, brief=True).verdict.refuses

            return passes

        root = dynamo.RootGuardManager()
        root.add_lambda_guard(begins, ["an entry that was made by hand and is in use"], None)
        for row in self.rows:
            line = row.user_line
            place = f"  # {line.text}  # {line.place}" if line is not None else ""
            words = [f"{part}{place}" for part in row.code] or [row.kind]
            root.add_lambda_guard(test(row.index), words, None)
        wrapper = dynamo.GuardManagerWrapper(root)
        wrapper.closure_vars = {}
        wrapper.global_scope = self.scope
        wrapper.args = ["L", "**___kwargs_ignored"]
        wrapper.code_parts = [part for row in self.rows for part in row.code]
        wrapper.verbose_code_parts = list(wrapper.code_parts)
        wrapper.diff_guard_root = root
        return wrapper

    def _begin(self, f_locals: dict[str, Any]) -> bool:
        if self.alive:
            self.tree.root.check_verbose({})
        return self.alive


class DynamoToolkit(Toolkit[KnownEntry]):
    """Makes entries of Dynamo's cache."""

    _book: EntryRegistry

    def hand_over(self, entry: KnownEntry) -> None:
        """A draft is about to be given to Dynamo as what a compilation has made: it becomes an
        ordinary entry, which Dynamo cannot take out again."""
        with locked():
            entry.draft.registered = entry.draft.ordinary = True
            entry.change(state=EntryState.NEW)

    def warn(self, entry: KnownEntry, about: tuple[str, ...]) -> None:
        """See `Toolkit.warn`. It is also said which other entries it hides."""
        super().warn(entry, (*about, *self._shadows(entry)))

    # -- the cache ---------------------------------------------------------------------------

    def _why_dead(self, entry: KnownEntry) -> str:
        if entry.draft is not None:
            return "" if entry.draft.alive else _why(entry)
        invalid = entry.facts.state is EntryState.INVALID
        return _why(entry) if invalid or None in self._book.parts(entry) else ""

    def _is_draft(self, entry: KnownEntry) -> bool:
        draft = entry.draft
        return draft is not None and not (draft.registered and entry.code.ref() is not None)

    def _recode(self, draft: KnownEntry, code: CodeType) -> None:
        draft.draft.code = code

    def _beware(self, draft: KnownEntry) -> tuple[str, ...]:
        text = "it is tried before compiled entries, for calls of every backend and region"
        source = self._book.entries.get(draft.facts.copied_from or 0)
        if source is not None and source.facts.backend:
            text += f"; it runs what the backend {source.facts.backend} compiled"
        return (text,)

    def _put_in(self, draft: KnownEntry, original: CodeType) -> None:
        made = draft.draft
        dynamo.load_precompiled(original, made.wrapper, made.code)
        dynamo.note_seen(original)  # what a reset goes by
        made.registered, made.ordinary = True, False
        self._book.listener.registered(made.code, original, draft.facts.compile_id)

    def _take_out(self, entry: KnownEntry) -> None:
        code, made = entry.code.ref(), entry.draft
        if made is None or code is None:
            raise CacheError(
                f"{entry.label} was not made by hand: copy it first. Only copies are put into the "
                "cache and taken out of it"
            )
        if made.ordinary:
            self._switch_off(entry, "Dynamo drops it with the others of its function")
            return
        self._book.look_at(code)
        others = [
            item.guard_manager
            for origin, item in entries_of(code)
            if origin is Origin.PRECOMPILED and item.guard_manager is not made.wrapper
        ]
        known = [self._book.by_wrapper(wrapper) for wrapper in others]
        drafts = [each.draft for each in known if each is not None and each.draft is not None]
        if len(drafts) < len(others):
            # Dynamo can only drop all of them, and does not give the code of foreign ones away.
            self._switch_off(entry, "since entries of a package are beside it")
            return
        made.registered = False
        dynamo.drop_precompiled(code)
        for draft in drafts:
            dynamo.load_precompiled(code, draft.wrapper, draft.code)
        entry.change(state=EntryState.DRAFT, position=None, reason="")
        self._book.look_at(code)

    @staticmethod
    def _switch_off(entry: KnownEntry, why: str) -> None:
        entry.draft.alive = False
        entry.doomed = True
        entry.change(state=EntryState.INVALID, reason=f"switched off; it stays in the list: {why}")

    def _retire(self, draft: KnownEntry) -> None:
        draft.draft.retire()

    # -- making ------------------------------------------------------------------------------

    def _make(
        self, entry: KnownEntry, drop: tuple[int, ...], add: tuple[str, ...], code: CodeType | None
    ) -> KnownEntry:
        wrapper, transformed = self._book.parts(entry)
        assert transformed is not None  # else it was not copied
        old: Draft | None = entry.draft
        tree = old.tree if old is not None else self._book.tree(entry)
        numbers = old.kept if old is not None else list(range(len(tree.checks)))
        kept = [number for index, number in enumerate(numbers) if index not in drop]
        before = old.added if old is not None else ()
        added = tuple(text for index, text in enumerate(before, len(numbers)) if index not in drop)
        scope = old.scope if old is not None else dict(wrapper.global_scope)
        base = old.base if old is not None else transformed
        # A code object of its own: what runs says by it which entry it is.
        draft = Draft(code or transformed.replace(), base, tree, scope, kept, (*added, *add))
        facts = CacheEntry(
            0, 0, "",
            guards=len(draft.rows),
            code_bytes=graphs.code_bytes(draft.code),
            transformed=draft.code.co_qualname,
        )  # fmt: skip
        made = self._book.add(entry.code, facts, draft.wrapper)
        made.draft = draft
        made.bonds = [
            bond
            for bond in entry.bonds
            if any(identity_of(tree.checks[number].row) == bond.id for number in kept)
        ]
        reference = weakref.ref(made)
        for bond in made.bonds:
            value = bond.object()
            if value is None:
                self._book.discard(made)
                raise CacheError(f"{entry.label} cannot be copied: {bond.text} has died")
            finalizer = weakref.finalize(value, self._end, reference, bond.source, bond.text)
            finalizer.atexit = False
            draft.finalizers.append(finalizer)
            del value
        return made

    def _end(self, reference: weakref.ref[KnownEntry], source: str, text: str) -> None:
        """An object has died that a made entry knows by identity."""
        entry = reference()
        if entry is None or entry.draft is None or not entry.draft.alive:
            return
        entry.draft.alive = False
        entry.doomed = True
        entry.change(state=EntryState.INVALID, reason=f"{text} died, which it knows as {source}")
        self._book.listener.died(entry, source)

    # -- what it makes unsound ---------------------------------------------------------------

    def _shadows(self, entry: KnownEntry) -> list[str]:
        mine, hidden, found = entry.draft.rows, self._hidden(entry), []
        maybe = [
            other.id
            for other in entry.code.entries
            if other is not entry
            and other.facts.state is EntryState.VALID
            and other.id not in hidden
            and not exclusive(mine, self._book.rows(other))
        ]
        if hidden:
            found.append(f"shadowed, they never run while it is registered: {named(hidden)}")
        if maybe:
            found.append(f"may be shadowed for some calls: {named(maybe)}")
        return found


TOOLKIT = DynamoToolkit(BOOK)
"""The one of this process, as its book is."""


def _why(entry: KnownEntry) -> str:
    return entry.facts.reason or "its code or its guards are gone"


keep_out()
