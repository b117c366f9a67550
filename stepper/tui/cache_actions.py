"""What can be done with a row of the cache: the keys, and what each needs the row to be about."""

from __future__ import annotations

from typing import NamedTuple

from stepper.model.cache import CacheEntry, EntryState, Origin


class Action(NamedTuple):
    key: str
    name: str
    title: str
    on: str
    """What the row must be about: `code`, `entry`, `guard`, `draft`, `copy`."""


ACTIONS = (
    Action("a", "check", "Run arguments against the cache", "code"),
    Action("A", "compare", "Run arguments, and compare the winner with eager", "code"),
    Action("h", "run", "Run the entry by hand, whatever its guards say", "entry"),
    Action("H", "step", "Step the entry's code here, and come back", "entry"),
    Action("b", "stop", "Stop where the program runs it next, to step its code", "code"),
    Action("d", "drop", "Copy the entry without this guard (or the selected ones)", "guard"),
    Action("w", "add", "Copy the entry with one more guard", "entry"),
    Action("E", "edit", "Copy the entry with other bytecode, edited as text", "entry"),
    Action("p", "register", "Put the draft into the cache", "draft"),
    Action("x", "remove", "Take a copy out of the cache; throw a draft away", "copy"),
)
"""What can be done with a row; the keys act in the pane at once, `m` shows them as a menu."""

NEEDED = {
    "entry": "an entry",
    "guard": "a guard of an entry",
    "draft": "a draft (d, w and E make one)",
    "copy": "a copy that was made here",
}
"""What the row is to be about, in words."""


def possible(entry: CacheEntry | None, guard: int | None) -> list[Action]:
    """What can be done with a row about a code, or about an entry, or about a guard of it."""
    about = {
        "code": True,
        "entry": entry is not None,
        "guard": entry is not None and guard is not None,
        "draft": entry is not None and entry.state is EntryState.DRAFT,
        "copy": entry is not None and entry.origin is Origin.MADE,
    }
    return [action for action in ACTIONS if about[action.on]]
