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
from torch._C._dynamo import eval_frame as native
from torch._C._dynamo import guards as C
from torch._dynamo import convert_frame
from torch._dynamo.guards import GuardManagerWrapper

from stepper.engines.common import graphs
from stepper.engines.common.assembling import assemble
from stepper.engines.common.edits import (
    EDITED,
    UNCHECKED,
    compile_guard,
    exclusive,
    implied,
    lost,
    named,
    short,
    unique,
)
from stepper.engines.dynamo.cache import EntryRegistry, KnownEntry, entries_of, locked
from stepper.engines.dynamo.guard_tree import Check, GuardTree, identity_of
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
        """It is gone, and does not wait for the end of any object any more."""
        self.alive = False
        for finalizer in self.finalizers:
            finalizer.detach()

    @property
    def kept_checks(self) -> list[Check]:
        """Those of the entry it was made of, in the order of its rows."""
        return [self.tree.checks[index] for index in self.kept]

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
                return draft._ask(index, f_locals, brief=True).verdict is Verdict.PASS

            return passes

        root = C.RootGuardManager()
        root.add_lambda_guard(begins, ["an entry that was made by hand and is in use"], None)
        for row in self.rows:
            line = row.user_line
            place = f"  # {line.text}  # {line.place}" if line is not None else ""
            words = [f"{part}{place}" for part in row.code] or [row.kind]
            root.add_lambda_guard(test(row.index), words, None)
        wrapper = GuardManagerWrapper(root)
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


class Toolkit:
    """Makes, registers and removes entries of a book."""

    def __init__(self, book: EntryRegistry) -> None:
        self._book = book

    def clone(
        self, number: int, drop: tuple[int, ...] = (), add: tuple[str, ...] = ()
    ) -> KnownEntry:
        """A draft like an entry, without the guards of some rows and with others.

        Raises:
            CacheError: there is no such entry or row, or an expression is none.
        """
        with locked():
            entry = self._book.entry(number)
            return self._make(entry, drop, add, None)

    def edit(self, number: int, text: str) -> KnownEntry:
        """A draft like an entry, with other bytecode; a draft is changed itself.

        Raises:
            CacheError: there is no such entry, its code is out of reach, the text cannot be made
                into code, or the assembler is missing.
        """
        with locked():
            entry = self._book.entry(number)
            _, transformed = self._book.parts(entry)
            if transformed is None:
                raise CacheError(f"the code of {entry.label} is out of reach: {_why(entry)}")
            code = assemble(text, transformed)
            if entry.draft is None:
                return self._make(entry, (), (), code)
            if entry.draft.registered:
                raise CacheError(f"{entry.label} is registered: remove it first, or edit a copy")
            entry.draft.code = code
            entry.change(
                edits=unique(entry.facts.edits, EDITED),
                warnings=unique(entry.facts.warnings, UNCHECKED),
                code_bytes=graphs.code_bytes(code),
            )
            return entry

    def register(self, number: int) -> KnownEntry:
        """Put a draft into Dynamo's cache, and say what that makes unsound.

        Raises:
            CacheError: it is none, is registered already, or what it depends on has died.
        """
        with locked():
            entry = self._draft(number)
            draft = entry.draft
            if draft.registered:
                raise CacheError(f"{entry.label} is registered already")
            code = entry.code.ref()
            if code is None or not draft.alive:
                raise CacheError(f"{entry.label} cannot be registered: {_why(entry)}")
            self._book.look_at(code)
            self.warn(entry, (self._goes_first(entry),))
            native._load_precompile_entry(code, draft.wrapper, draft.code)
            convert_frame.input_codes.add(code)  # what a reset goes by
            draft.registered, draft.ordinary = True, False
            self._book.listener.registered(draft.code, code, entry.facts.compile_id)
            self._book.look_at(code)
            return entry

    def hand_over(self, entry: KnownEntry) -> None:
        """A draft is about to be given to Dynamo as what a compilation has made: it becomes an
        ordinary entry, which Dynamo cannot take out again."""
        with locked():
            entry.draft.registered = entry.draft.ordinary = True
            entry.change(state=EntryState.NEW)

    def remove(self, number: int) -> KnownEntry:
        """Take a registered entry out again: it is a draft then. A draft is thrown away.

        Raises:
            CacheError: nobody made it by hand.
        """
        with locked():
            entry = self._draft(number)
            code = entry.code.ref()
            if not entry.draft.registered or code is None:
                self._forget(entry)
                return entry
            if entry.draft.ordinary:
                self._switch_off(entry, "Dynamo drops it with the others of its function")
                return entry
            self._book.look_at(code)
            others = [
                item.guard_manager
                for origin, item in entries_of(code)
                if origin is Origin.PRECOMPILED and item.guard_manager is not entry.draft.wrapper
            ]
            known = [self._book.by_wrapper(wrapper) for wrapper in others]
            drafts = [each.draft for each in known if each is not None and each.draft is not None]
            if len(drafts) < len(others):
                # Dynamo can only drop all of them, and does not give the code of foreign ones away.
                self._switch_off(entry, "since entries of a package are beside it")
                return entry
            entry.draft.registered = False
            native._reset_precompile_entries(code)
            for draft in drafts:
                native._load_precompile_entry(code, draft.wrapper, draft.code)
            entry.change(state=EntryState.DRAFT, position=None, reason="")
            self._book.look_at(code)
            return entry

    @staticmethod
    def _switch_off(entry: KnownEntry, why: str) -> None:
        entry.draft.alive = False
        entry.doomed = True
        entry.change(state=EntryState.INVALID, reason=f"switched off; it stays in the list: {why}")

    # -- making ------------------------------------------------------------------------------

    def _make(
        self, entry: KnownEntry, drop: tuple[int, ...], add: tuple[str, ...], code: CodeType | None
    ) -> KnownEntry:
        wrapper, transformed = self._book.parts(entry)
        if wrapper is None or transformed is None or entry.facts.state is EntryState.INVALID:
            raise CacheError(f"{entry.label} cannot be copied: {_why(entry)}")
        old: Draft | None = entry.draft
        rows = old.rows if old is not None else self._book.tree(entry).rows
        for index in drop:
            if not 0 <= index < len(rows):
                raise CacheError(f"{entry.label} has no guard {index}")
        for text in add:
            compile_guard(text)
        tree = old.tree if old is not None else self._book.tree(entry)
        numbers = old.kept if old is not None else list(range(len(rows)))
        kept = [number for index, number in enumerate(numbers) if index not in drop]
        before = old.added if old is not None else ()
        added = tuple(text for index, text in enumerate(before, len(numbers)) if index not in drop)
        scope = old.scope if old is not None else dict(wrapper.global_scope)
        base = old.base if old is not None else transformed
        # A code object of its own: what runs says by it which entry it is.
        draft = Draft(code or transformed.replace(), base, tree, scope, kept, (*added, *add))
        warnings = [*entry.facts.warnings] if old is not None else []
        warnings += [lost(rows[index]) for index in drop]
        edits = [*entry.facts.edits] if old is not None else []
        edits += [f"without {short(rows[index])}" for index in drop]
        edits += [f"with {text}" for text in add]
        if code is not None:
            edits.append(EDITED)
            warnings.append(UNCHECKED)
        made = self._book.add(
            entry.code,
            CacheEntry(
                0,
                0,
                entry.facts.compile_id,
                origin=Origin.MADE,
                state=EntryState.DRAFT,
                guards=len(draft.rows),
                graph_nodes=entry.facts.graph_nodes,
                code_bytes=graphs.code_bytes(draft.code),
                transformed=draft.code.co_qualname,
                copied_from=entry.id,
                edits=tuple(edits),
                warnings=tuple(warnings),
            ),
            draft.wrapper,
        )
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
                self._book.entries.pop(made.id, None)
                entry.code.entries.remove(made)
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

    def _draft(self, number: int) -> KnownEntry:
        entry = self._book.entry(number)
        if entry.draft is None:
            raise CacheError(
                f"{entry.label} was not made by hand: copy it first. Only copies are put into the "
                "cache and taken out of it"
            )
        return entry

    def _forget(self, entry: KnownEntry) -> None:
        entry.draft.retire()
        entry.code.entries.remove(entry)
        self._book.entries.pop(entry.id, None)
        entry.change(state=EntryState.EVICTED, reason="thrown away")

    # -- what it makes unsound ---------------------------------------------------------------

    def warn(self, entry: KnownEntry, about: tuple[str, ...]) -> None:
        """Say at an entry that is put into the cache what is to be minded, and which others it
        hides."""
        entry.change(warnings=unique(entry.facts.warnings, *about, *self._shadows(entry)))

    def _goes_first(self, entry: KnownEntry) -> str:
        text = "it is tried before compiled entries, for calls of every backend and region"
        source = self._book.entries.get(entry.facts.copied_from or 0)
        if source is not None and source.facts.backend:
            text += f"; it runs what the backend {source.facts.backend} compiled"
        return text

    def _shadows(self, entry: KnownEntry) -> list[str]:
        found = []
        mine = entry.draft.rows
        hidden, maybe = [], []
        for other in entry.code.entries:
            if other is entry or other.facts.state is not EntryState.VALID:
                continue
            if other.draft is not None and not other.draft.registered:
                continue
            theirs = other.draft.rows if other.draft is not None else self._book.tree(other).rows
            if implied(mine, theirs):
                hidden.append(other.id)
            elif not exclusive(mine, theirs):
                maybe.append(other.id)
        if hidden:
            found.append(f"shadowed, they never run while it is registered: {named(hidden)}")
        if maybe:
            found.append(f"may be shadowed for some calls: {named(maybe)}")
        return found


def _why(entry: KnownEntry) -> str:
    return entry.facts.reason or "its code or its guards are gone"


keep_out()
