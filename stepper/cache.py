"""The cache of `torch.compile`, to look at and to change from Python.

    import stepper.cache

    stepper.cache.list(f)                        f's entries, in the order in which they are tried
    stepper.cache.check(f, x, scale=2)           what each entry says to a call, guard by guard
    stepper.cache.recorded(f, path, moment)      arguments like those of a recorded call
    copy = stepper.cache.clone(entry, drop=…)    the same code under other guards
    copy = stepper.cache.edit(entry, text)       other bytecode under the same guards
    stepper.cache.run(copy, x, scale=2)          run it by hand
    stepper.cache.register(copy)                 have compiled calls find it
    stepper.cache.remove(copy)                   take it out again

`f` is a function, a method, a module, or what `torch.compile` made of one. No debugger has to be
there; in a session, entries have the numbers that the debugger shows.

Entries of `stepper.compile` are treated like the others. Any of them can be removed, and a copy of
one is tried first until another entry has served a call.

To look changes nothing: no entry moves, nothing is counted or compiled. To register an entry can
make a program wrong: what a change gives up is said in `Entry.warnings`; nobody checks the rest.
"""

from __future__ import annotations

import builtins
import functools
import os
from collections.abc import Callable, Iterable
from types import CodeType, FunctionType, MethodType
from typing import Any

import torch

from stepper.debuggee import registry
from stepper.debuggee.entries import Entries
from stepper.engines.common import arguments, rebuilt
from stepper.model.cache import (
    CacheCheck,
    CacheEntry,
    CacheError,
    Comparison,
    EntryState,
    EntryView,
    GuardRow,
)
from stepper.model.matching import glob_matches
from stepper.recording.reader import Recording
from stepper.recording.recorded_call import recorded_call
from stepper.uncompiled import keep_out

__all__ = [
    "CacheCheck",
    "CacheError",
    "Comparison",
    "Entry",
    "GuardRow",
    "check",
    "clone",
    "compare",
    "edit",
    "list",
    "recorded",
    "register",
    "remove",
    "run",
]

_ENTRIES = registry.entries()
"""The entries of each engine's cache. An entry's number tells whose it is."""

Drop = int | str | GuardRow
"""A guard to leave out: its row, the row's number, or a glob over `KIND SOURCE`."""


class Entry:
    """A cache entry, by its number. It can go away any time: then what it has no more is empty."""

    def __init__(self, id: int) -> None:
        self.id = id
        """The number that the debugger shows."""

    @property
    def facts(self) -> CacheEntry:
        """What is known of it: state, backend, hits, age, memory, what it lives on."""
        return _entries(self.id).facts(self.id)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What its edits make unsound; empty for one that was compiled."""
        return self.facts.warnings

    @property
    def guards(self) -> tuple[GuardRow, ...]:
        """The guards, in the order in which they are checked."""
        return self._view.guards

    @property
    def bytecode(self) -> str:
        """The code as text; see `edit`."""
        return self._view.bytecode

    @property
    def code(self) -> CodeType | None:
        """The code object that runs in place of the function's own."""
        return _entries(self.id).transformed(self.id)

    @property
    def graph(self) -> torch.fx.GraphModule | None:
        """The FX graph that its code calls; None when the backend has not kept it."""
        found = _entries(self.id).graph(self.id)
        return found if isinstance(found, torch.fx.GraphModule) else None

    @property
    def _view(self) -> EntryView:
        return _entries(self.id).view(self.id)

    def __repr__(self) -> str:
        try:
            facts = self.facts
        except CacheError:
            return f"<entry {self.id}, forgotten>"
        parts = [f"entry {self.id} of {_entries(self.id).qualname(self.id)}", facts.compile_id]
        parts.append(facts.state)
        if facts.guards is not None:
            parts.append(f"{facts.guards} guards")
        if facts.backend:
            parts.append(facts.backend)
        if facts.copied_from is not None:
            parts.append(
                f"copy of entry {facts.copied_from}: {', '.join(facts.edits) or 'as it is'}"
            )
        return f"<{', '.join(filter(None, parts))}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Entry) and other.id == self.id

    def __hash__(self) -> int:
        return self.id


def list(function: Any = None) -> builtins.list[Entry]:
    """The entries of a function, in the order in which a call tries them; of all functions that
    have any, when none is given. Copies that are not registered come last.

    Raises:
        CacheError: another thread is compiling.
    """
    if function is None:
        return [
            Entry(entry.id)
            for cache in _ENTRIES
            for code in cache.listing().codes
            for entry in code.entries
            if entry.state is not EntryState.EVICTED
        ]
    code = _function(function)[0].__code__
    found = [(cache, number) for cache in _ENTRIES for number in cache.listed(code)]
    return [
        Entry(number)
        for cache, number in found
        if cache.facts(number).state is not EntryState.EVICTED
    ]


def check(function: Any, /, *args: Any, **kwargs: Any) -> CacheCheck:
    """What every entry says to a call with these arguments: each guard's verdict, which entries
    match, and the `winner` that would run (None: the call would be compiled).

    Raises:
        CacheError: the arguments do not fit, or another thread is compiling.
    """
    plain, first = _function(function)
    if set(kwargs) == {"f_locals"} and not args:
        f_locals = arguments.bound(plain.__code__, (), kwargs)
    else:
        f_locals = arguments.bind(plain, (*first, *args), kwargs)
    code = plain.__code__
    asked = next((cache for cache in _ENTRIES if cache.listed(code)), _ENTRIES[0])
    return asked.check(code, f_locals)


def recorded(
    function: Any, recording: str | os.PathLike[str], moment: int, /, **given: Any
) -> dict[str, Any]:
    """The arguments of a recorded call, made anew: what `check`, `run` and `compare` take as
    `f_locals`.

    Constants and containers of them are those of the call. Tensors have the same dtype, sizes,
    strides, device and `requires_grad`, and random numbers in them.

    Args:
        function: whose call it was.
        recording: path of the recording.
        moment: any moment of the call's lookup, translation or execution.
        given: arguments that go before what was recorded, by name; such as modules, of which a
            recording tells only the type.

    Raises:
        CacheError: an argument is missing that the recording does not tell whole.
        stepper.recording.errors.RecordingError: it cannot be read.
    """
    opened = Recording.open(os.fspath(recording))
    try:
        expression = recorded_call(opened, moment).expression()
    finally:
        opened.close()
    found: dict[str, Any] = eval(f"dict({expression})", dict(rebuilt.NAMES))["f_locals"]
    return rebuilt.whole({**found, **given}, _function(function)[0].__code__)


def clone(
    entry: Entry | int,
    *,
    drop: Drop | Iterable[Drop] = (),
    add: str | Iterable[str] = (),
) -> Entry:
    """A copy of an entry with guards left out, and with others besides.

    Args:
        drop: rows of `Entry.guards`, their numbers, or globs over the kind and the expression,
            e.g. `"TENSOR_MATCH L['x']"` or `"* L['self']*"`.
        add: Python expressions over `L`, the call's variables by name, and `G`, the globals, that
            have to be true, e.g. `"L['x'].dim() == 2"`.

    Raises:
        CacheError: there is no such guard, or an expression is none.
    """
    number = _number(entry)
    rows = Entry(number).guards
    dropped = [index for item in _several(drop) for index in _rows(rows, item)]
    added = (add,) if isinstance(add, str) else tuple(add)
    return Entry(_entries(number).clone(number, tuple(dropped), added))


def edit(entry: Entry | int, text: str | Callable[[str], str]) -> Entry:
    """A copy of an entry with other bytecode, under the same guards. A copy that is not registered
    is changed itself.

    Args:
        text: instructions as in `Entry.bytecode`, or a function that makes them of that text.

    Raises:
        CacheError: the text cannot be made into code that is safe to run.
    """
    number = _number(entry)
    if not isinstance(text, str):
        text = text(Entry(number).bytecode)
    return Entry(_entries(number).edit(number, text))


def run(entry: Entry | int, /, *args: Any, **kwargs: Any) -> Any:
    """Run an entry's code with these arguments, whatever its guards say, and return its result.
    What it calls runs uncompiled, besides its graphs.

    Raises:
        CacheError: the arguments do not fit, or its code is gone.
    """
    result, error, _ = _execute(entry, args, kwargs, compare=False)
    if error is not None:
        raise error
    return result


def compare(entry: Entry | int, /, *args: Any, **kwargs: Any) -> Comparison:
    """Run an entry's code and the original function, each on copies of these arguments and with the
    same random numbers, and say what differs.

    Raises:
        CacheError: the arguments do not fit, or its code is gone.
    """
    comparison = _execute(entry, args, kwargs, compare=True)[2]
    assert comparison is not None  # it was asked for
    return comparison


def register(entry: Entry | int) -> Entry:
    """Put a copy into the cache. Dynamo tries it before all compiled entries, by calls of every
    backend; `Entry.warnings` says which other entries it hides.

    Raises:
        CacheError: it is no copy, is registered already, or an object that it depends on has died.
    """
    number = _number(entry)
    return Entry(_entries(number).register(number))


def remove(entry: Entry | int) -> None:
    """Take a registered copy out of the cache; it can be registered again. A copy that is not
    registered is thrown away. Of the native engine, take any entry out: the next call is captured
    anew.

    Raises:
        CacheError: it is no copy; or it is the native engine's, and not in the cache.
    """
    number = _number(entry)
    _entries(number).remove(number)


# -- small things --------------------------------------------------------------------------------


def _number(entry: Entry | int) -> int:
    return entry if isinstance(entry, int) else entry.id


def _entries(number: int) -> Entries:
    """The entries among which a number is. Of one that no engine knows, the first say so."""
    return next((cache for cache in _ENTRIES if number in cache), _ENTRIES[0])


def _execute(
    entry: Entry | int, args: tuple[Any, ...], kwargs: dict[str, Any], *, compare: bool
) -> tuple[Any, BaseException | None, Comparison | None]:
    number = _number(entry)
    asked = _entries(number)
    f_locals = arguments.bound(asked.original(number), args, kwargs)
    return asked.execute(number, f_locals, compare=compare)


def _function(of: Any) -> tuple[FunctionType, tuple[Any, ...]]:
    """The plain function behind something callable, and the arguments that it has already."""
    while True:
        if isinstance(of, FunctionType):
            inner = of.__dict__.get("_torchdynamo_orig_callable")
            if inner is None:
                return of, ()
            of = inner
        elif isinstance(of, MethodType):
            owner: Any = of.__self__
            if of.__func__ is torch.nn.Module.__call__:  # the frame compiled is its `forward`'s
                of = owner.forward
            elif _compiled_forward(owner) is not None:  # which makes a lazy module whole
                of = owner
            else:
                return _function(of.__func__)[0], (owner,)
        elif isinstance(of, torch.nn.Module):
            of = _compiled_forward(of) or of.forward
        elif isinstance(of, functools.partial) and not of.keywords:
            function, first = _function(of.func)
            return function, (*first, *of.args)
        else:
            raise CacheError(
                f"{type(of).__name__} has no code of its own: give what torch.compile returned, or "
                "a function, a method or a module"
            )


def _compiled_forward(of: object) -> Any:
    """What `torch.compile(module)` calls in place of the module: its `__call__`, or, for a module
    of torch's own, a function around that; None: this is no such compiled module."""
    own = of.__dict__ if isinstance(of, torch.nn.Module) else {}
    if "_orig_mod" not in own.get("_modules", {}):
        return None
    return own.get("_forward") or own.get("forward")  # the first where a lazy module is checked


def _several(drop: Drop | Iterable[Drop]) -> tuple[Drop, ...]:
    return (drop,) if isinstance(drop, int | str | GuardRow) else tuple(drop)


def _rows(rows: tuple[GuardRow, ...], item: Drop) -> builtins.list[int]:
    if isinstance(item, GuardRow):
        return [item.index]
    if isinstance(item, int):
        return [item]
    found = [row.index for row in rows if glob_matches(item, f"{row.kind} {row.source}".strip())]
    if not found:
        raise CacheError(f"no guard is a {item!r}; there are {', '.join(_words(rows))}")
    return found


def _words(rows: tuple[GuardRow, ...]) -> builtins.list[str]:
    return sorted({f"{row.kind} {row.source}".strip() for row in rows})


keep_out()
