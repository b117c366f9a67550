"""Names of values that a person would not know by the way that leads there, as guards tell them.

Dynamo comes to a value of a dictionary that is a subclass by the place of its key, and guards what
the key is: `config[list(dict.keys(config))[1]]` is `config['args']`. What a class of Python's own
keeps its elements in is the same thing to a person: `cache.data` of a WeakKeyDictionary is `cache`.
And the variables that a function has closed over have names in the functions that were inlined.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from stepper.analysis.sites import in_torch
from stepper.analysis.sources import spelled, unscoped
from stepper.model.trace import Guard, Translation
from stepper.model.value import Value
from stepper.recording.reader import Recording
from stepper.support.guarded_values import compared_with_constant

_KEY = re.compile(r"list\(dict\.keys\(.+\)\)\[\d+\]")
KEYS = "list(dict.keys("
"""What stands in a source that leads to a key, or by way of one."""
CONTENT = ".cell_contents"
CELL = re.compile(r"(?P<of>.+)\.__closure__\[\d+\]")
_CELL = "CellVariable"
_CLOSURES = re.compile(r"(?:\.__closure__\[\d+\]\.cell_contents)+\Z")
DATA = ".data"
_KEEPS = re.compile(
    r"type=<class '(?:weakref\.Weak(?:Key|Value)Dictionary|collections\.User(?:Dict|List))'>"
)
"""Classes of Python's own that keep their elements in an attribute `data`."""
_MOST_FRAMES = 100


def keys_by_place(recording: Recording, item: Translation) -> dict[str, str]:
    """The keys that are known of dictionaries, each as it is written, by its source."""
    found: dict[str, str] = {}
    for guard in _guards(recording, item):
        if _KEY.fullmatch(guard.source):
            for code in guard.code:
                compared = compared_with_constant(code)
                if compared is not None:
                    found |= dict.fromkeys((guard.source, unscoped(guard.source)), compared[1])
    return found


def kept_in(recording: Recording, item: Translation) -> dict[str, str]:
    """What keeps its elements in an attribute of its own, by the source of that."""
    found: dict[str, str] = {}
    for guard in _guards(recording, item):
        if any(map(_KEEPS.search, guard.code)):
            written = dict.fromkeys((guard.source, unscoped(guard.source)), guard.source)
            found |= {f"{source}{DATA}": of for source, of in written.items()}
    return found


def closed_over(recording: Recording, item: Translation) -> dict[str, str]:
    """What the functions that were inlined call the variables which they have closed over, by their
    sources: `n2 of cl` for the content of a cell of `cl`, also of a function within that."""
    names: dict[str, str] = {}
    attempts = recording.attempts(item.id)
    frames = recording.frames(attempts[-1].id)[1:] if attempts else []
    later = frames[_MOST_FRAMES:]  # of these only the program's: torch has many
    own = (each for each in later if not in_torch(recording.code(each.code).filename))
    for frame in (*frames[:_MOST_FRAMES], *islice(own, _MOST_FRAMES)):
        if not recording.has(frame.first_moment):
            continue
        state = recording.state(frame.first_moment)
        for name, id in state.top.locals.items():
            value = state.values.get(id)
            cell = None if value is None else CELL.fullmatch(_cell(value))
            if cell is not None:
                source = cell[0] + CONTENT
                written = f"{name} of {spelled(_CLOSURES.sub('', cell['of']))}"
                names |= {source: written, unscoped(source): written}
    return names


def _cell(value: Value) -> str:
    """The source of a value, of a cell that of the cell itself: the native engine has that of the
    content."""
    return value.source.removesuffix(CONTENT) if value.cls == _CELL else value.source


def _guards(recording: Recording, item: Translation) -> Sequence[Guard]:
    attempts = recording.attempts(item.id)
    return recording.guards(None, attempt=attempts[-1].id) if attempts else []
