"""The translation that the moment belongs to, as it ended; at a moment of an execution, the one
that made what is executed.

All of it is read from the recording but one view: Python is decompiled from the code object, which
only the living program has.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import ClassVar

from stepper.client.frame_names import brief_compiled_name
from stepper.client.text import one_line, translation_summary
from stepper.model.cache import CacheData, CacheListing
from stepper.model.control import ListCache
from stepper.model.program import Code
from stepper.model.trace import Attempt, Outcome, Phase, Translation
from stepper.recording.reader import Recording
from stepper.tui.asking import AskingPane
from stepper.tui.lines import Lines
from stepper.tui.listing import ListingPane
from stepper.tui.palette import Row, row
from stepper.tui.results import (
    Item,
    Pair,
    aligned,
    attempt_items,
    break_items,
    graph_items,
    guard_items,
    lookup_items,
    side_by_side,
    side_by_side_headings,
    so_far,
)
from stepper.tui.snapshot import Snapshot

_NO_PROGRAM = "a recording holds no code to decompile: this view needs the living program"
_NO_ENTRY = "the program's cache has no entry of this translation any more to decompile"


class ResultPane(ListingPane, AskingPane):
    """Bytecode before and after, guards, graph code, graph breaks, attempts compared, Python."""

    NAME = "result"
    HELP = "What came of it: both bytecodes, guards, graph, breaks, attempts, decompiled Python."
    VIEWS: ClassVar[tuple[str, ...]] = (
        "bytecode",
        "guards",
        "graph",
        "breaks",
        "attempts",
        "python",
    )

    def __init__(self) -> None:
        super().__init__()
        self._items: list[Item] = []
        self._pairs: list[Pair] = []
        self._codes: tuple[Code, Code] | None = None
        self._made_for: Hashable = None
        self._sources: dict[int, str] = {}
        """Decompiled code, by translation."""
        self._troubles: dict[int, str] = {}
        """Why there is none."""
        self._asked: set[int] = set()

    def depends(self, snapshot: Snapshot) -> Hashable:
        return snapshot.translation, snapshot.newest, self._current(snapshot), self.size.width

    def show(self, snapshot: Snapshot) -> None:
        recording, translation = snapshot.recording, snapshot.maker or snapshot.translation
        if recording is None or translation is None:
            self.list_rows(0, empty="there is no translation at this moment")
            return
        summary = translation_summary(so_far(recording, translation))
        name = brief_compiled_name(recording, translation)
        name = f"{translation.compile_id or '(no compile id)'} {name}"
        changed = self._make(recording, translation)
        heading = row((name, "title"), f"  {summary}", role="dim")
        if self._codes is not None:
            headings = [heading, side_by_side_headings(self._code_width)]
            cursor = next((at for at, p in enumerate(self._pairs) if self._is_current(p)), None)
            self.list_rows(len(self._pairs), headings=headings, cursor=cursor)
        else:
            empty = self._nothing(translation)
            cursor = 0 if changed else None
            self.list_rows(len(self._items), headings=[heading], cursor=cursor, empty=empty)

    def _make(self, recording: Recording, translation: Translation) -> bool:
        """Make the rows of the view, if they are not those that are there; True when they were."""
        attempts = recording.attempts(translation.id)
        grown = recording.newest if self._runs(translation) else 0
        made_for = (self.view, translation, len(attempts), grown, self.lines.size.width)
        if made_for == self._made_for:
            return False
        self._made_for = made_for
        self._items, self._pairs, self._codes = [], [], None
        if translation.phase is Phase.LOOKUP:
            self._items = lookup_items(translation, self.lines.size.width)
        elif self.view == "bytecode":
            transformed = recording.transformed(translation.id)
            if transformed is not None:
                self._codes = recording.code(translation.code), transformed
                self._pairs = aligned(*self._codes)
        elif self.view == "python":
            self._items = self._python_items(translation)
        elif attempts:
            self._items = self._items_of(recording, translation, attempts)
        return True

    def _items_of(
        self, recording: Recording, translation: Translation, attempts: list[Attempt]
    ) -> list[Item]:
        match self.view:
            case "guards":
                return guard_items(recording, attempts[-1])
            case "graph":
                return graph_items(recording, translation, attempts[-1])
            case "breaks":
                return break_items(recording, attempts, recording.facts.cwd, self.lines.size.width)
            case _:
                return attempt_items(recording, attempts)

    # Decompiled code

    def view_changed(self) -> None:
        self._troubles.clear()  # whoever comes back to the view asks again
        super().view_changed()

    def _python_items(self, translation: Translation) -> list[Item]:
        """The transformed code as Python; asked for when it is not there yet."""
        source = self._sources.get(translation.id)
        if source is not None:
            return [Item((), python=line) for line in source.splitlines()]
        if translation.outcome is Outcome.COMPILED:
            self._ask_python(translation.id)
        return []

    def _ask_python(self, translation: int) -> None:
        if translation in self._asked or translation in self._troubles:
            return
        if not self.live:
            self._troubles[translation] = _NO_PROGRAM
            return
        self._asked.add(translation)

        def settled(found: dict[int, str], text: str) -> None:
            self._asked.discard(translation)
            found[translation] = text
            self._made_for = None
            self.redraw()

        def listed(data: CacheData | None) -> None:
            codes = data.codes if isinstance(data, CacheListing) else ()
            entries = [each for code in codes for each in code.entries]
            entry = next((each.id for each in entries if each.translation == translation), None)
            if entry is None:
                refused(_NO_ENTRY)
            else:
                self.ask_decompiled(entry, partial(settled, self._sources), refused)

        refused = partial(settled, self._troubles)
        self.ask(ListCache, listed, refused)

    def _nothing(self, translation: Translation) -> str:
        """Why the view is empty."""
        if self.view == "breaks":
            return "no graph break so far" if self._runs(translation) else "no graph break"
        if self._runs(translation):
            return "not finished: there is a result when the translation has ended"
        if translation.outcome is Outcome.COMPILED and self.view == "python":
            return one_line(self._troubles.get(translation.id, "decompiling …"))
        if translation.outcome is Outcome.COMPILED:
            return f"no {self.view} was recorded for this translation"
        ended = "failed" if translation.outcome is Outcome.FAILED else f"was {translation.outcome}"
        return f"the translation {ended}: {one_line(translation.reason)}"

    @staticmethod
    def _runs(translation: Translation) -> bool:
        return translation.outcome is Outcome.RUNNING

    @staticmethod
    def _current(snapshot: Snapshot) -> int | None:
        """Index of the instruction at which the outermost frame stands."""
        return snapshot.state.frames[0].ip if snapshot.state and snapshot.state.frames else None

    def _is_current(self, pair: Pair) -> bool:
        """Whether the next instruction stands on a row."""
        assert self.snapshot is not None
        executed = self.snapshot.phase is Phase.EXECUTE
        here = pair.transformed if executed else pair.original
        return here is not None and here == self._current(self.snapshot)

    def draw_row(self, index: int) -> Row:
        if self._codes is None:
            return self._items[index].row()
        pair = self._pairs[index]
        return side_by_side(pair, *self._codes, self._code_width, self._is_current(pair))

    @property
    def _code_width(self) -> int:
        return self.lines.size.width - 1

    def on_lines_activated(self, message: Lines.Activated) -> None:
        item = self._items[message.index] if self._codes is None else None
        if item is None or item.moment is None:
            self.post_message(self.Say("this row belongs to no single step"))
        else:
            self.go_to(item.moment, item.why)
