"""The compiler's cache in the living program: what is in it, what it says to some arguments, and
the toolkit that copies, edits, registers and removes entries.

The cache is no part of a recording: it is asked of the program, whenever the pane is on screen and
something has happened that may have changed it. One listing is asked for at a time. Answers come on
the thread that reads the channel, and cross over as messages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from stepper.client.cache_text import check_summary, comparison_lines, entry_name, entry_reason
from stepper.client.text import one_line
from stepper.model.breakpoint import Breakpoint, BreakpointKind
from stepper.model.cache import (
    CacheCheck,
    CacheData,
    CacheError,
    CacheListing,
    EntryState,
    EntryView,
    RunResult,
)
from stepper.model.control import (
    CheckCache,
    CloneEntry,
    EditEntry,
    InspectEntry,
    ListCache,
    RegisterEntry,
    RemoveEntry,
    RunEntry,
    StepEntry,
)
from stepper.recording.recorded_call import recorded_call
from stepper.tui.asking import AskingPane
from stepper.tui.cache_actions import ACTIONS, NEEDED, Action, possible
from stepper.tui.cache_tree import CacheTree, Subject
from stepper.tui.lines import Lines
from stepper.tui.prompt import Prompt
from stepper.tui.snapshot import Snapshot, Status
from stepper.tui.tree_lines import TreeLines

_WHERE = " (empty: the call here; of N: a recorded one)"
_OF = re.compile(r"of\s+(?P<moment>\d+)\s*(?:\((?P<given>.*)\))?")

_NOTHING = "no cache entry is known yet"

_IS = {
    EntryState.DRAFT: "a draft: p puts it into the cache",
    EntryState.VALID: "in the cache: x takes it out",
    EntryState.INVALID: "invalid",
    EntryState.EVICTED: "gone",
    EntryState.NEW: "new",
}

_REST = 0.3
"""Seconds between an answer of a program that stands still and the next question for all entries,
so that stepping is not slowed down by the pane."""

_LONG_REST = 1.0
"""Seconds between two questions for all entries to a program that runs, or could not answer."""


class CachePane(AskingPane):
    """A tree of codes and entries. Enter opens a row, `m` shows what can be done with it."""

    NAME = "cache"
    HELP = "The compiler's cache, live: entries, guards, what they live on; m: what can be done."

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "menu", "Change", tooltip="What can be done with this row"),
        *(Binding(each.key, f"do('{each.name}')", each.title, show=False) for each in ACTIONS),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._tree = CacheTree(self._ask_view, self._ask_source)
        self._asked_for: Hashable = None
        """The state of the session for which the newest listing was asked."""
        self._evaluated = 0
        self._listing = False
        self._rests = False
        self._trouble = ""
        """Why the program gave no listing."""
        self._viewing: set[int] = set()
        self._decompiling: set[int] = set()
        self._opened: set[int] = set()
        """Codes that were on screen once, opened then."""
        self._arguments: dict[int, str] = {}
        """What was typed last for each code."""

    def compose(self) -> ComposeResult:
        yield TreeLines(empty="nothing yet")

    @property
    def lines(self) -> TreeLines:
        """The tree."""
        return self.query_one(TreeLines)

    def depends(self, snapshot: Snapshot) -> Hashable:
        return self._state(snapshot), snapshot.at_stop, snapshot.moment

    @staticmethod
    def _state(snapshot: Snapshot) -> Hashable:
        """What the cache can have changed with."""
        stop = snapshot.stopped.moment if snapshot.stopped else None
        return snapshot.status, stop, snapshot.cache_events, snapshot.evaluated

    def title(self, snapshot: Snapshot) -> str:
        count = sum(
            entry.position is not None for code in self._tree.codes for entry in code.entries
        )
        return f"cache {count}" if self._tree.codes else "cache"

    def has_something(self, snapshot: Snapshot) -> bool:
        return self.live or bool(self._tree.codes)

    def show(self, snapshot: Snapshot) -> None:
        if snapshot.recording is not None:
            self._tree.cwd = snapshot.recording.facts.cwd
        self._look()
        self._draw()

    def _draw(self) -> None:
        for code in self._tree.codes:
            if code.id not in self._opened:
                self._opened.add(code.id)
                self.lines.unfold(code.id)
        self._tree.note = self._note() if self._tree.codes else ""
        self.lines.show_tree(self._tree.roots(), empty=self._empty())

    def _note(self) -> str:
        snapshot = self.snapshot
        if snapshot is None or snapshot.status is Status.ENDED:
            return "as it was when the program was asked last; it has ended"
        if snapshot.stopped is not None and not snapshot.at_stop:
            where = f"where the program stands, moment {snapshot.stopped.moment:,}"
            return f"as it is {where}; you look at moment {snapshot.moment:,}"
        return ""

    def _empty(self) -> str:
        status = self.snapshot.status if self.snapshot else Status.STARTING
        if self.live:
            return self._trouble or ("asking the program …" if self._listing else _NOTHING)
        match status:
            case Status.STARTING:
                return "the program has not come so far yet"
            case Status.ENDED:
                return "gone with the program; 9 tells what became of entries"
            case _:
                return "a recording holds no cache: it is the living program's"

    # Asking

    def _look(self) -> None:
        """Ask for the listing, once for each state of the session, while the pane is seen."""
        snapshot = self.snapshot
        if snapshot is None or not self.live or not self.visible_on_desk:
            return
        state = self._state(snapshot)
        if self._listing or self._rests or state == self._asked_for:
            return
        self._listing, self._asked_for = True, state
        anew = snapshot.evaluated != self._evaluated
        self._evaluated = snapshot.evaluated
        self.ask(ListCache, lambda data: self._listed(data, anew), self._not_listed)

    def _rest(self, seconds: float) -> None:
        def rested() -> None:
            self._rests = False
            self._look()

        self._rests = True
        self.set_timer(seconds, rested)

    def _listed(self, data: CacheData | None, anew: bool) -> None:
        self._listing = False
        running = self.snapshot is not None and self.snapshot.status is Status.RUNNING
        self._rest(_LONG_REST if running else _REST)
        if not isinstance(data, CacheListing):
            return
        self._trouble = ""
        for entry in self._tree.take(data.codes, anew=anew):
            reason = entry_reason(entry, self._tree.cwd)
            self.say(f"entry {entry.id} ({entry_name(entry)}) died: {reason}")
        self._draw()
        self.post_message(self.Retitled())

    def _not_listed(self, text: str) -> None:
        """The program compiles, or has ended: ask again, it may be over soon."""
        self._listing, self._asked_for = False, None
        self._trouble = one_line(text)
        self._rest(_LONG_REST)
        self._draw()

    def _ask_view(self, entry: int) -> None:
        if entry in self._viewing or not self.live:
            return
        self._viewing.add(entry)

        def seen(data: CacheData | None) -> None:
            self._viewing.discard(entry)
            if isinstance(data, EntryView):
                self._tree.take_view(data)
                self._draw()

        def refused(text: str) -> None:
            self._viewing.discard(entry)
            self._tree.refusals[entry] = one_line(text)
            self._draw()

        self.ask(lambda seq: InspectEntry(seq, entry), seen, refused)

    def _ask_source(self, entry: int) -> None:
        if entry in self._decompiling or not self.live:
            return
        self._decompiling.add(entry)

        def decompiled(source: str) -> None:
            self._decompiling.discard(entry)
            self._tree.sources[entry] = source
            self._draw()

        self.ask_decompiled(entry, decompiled, lambda text: self._no_source(entry, text))

    def _no_source(self, entry: int, text: str) -> None:
        self._decompiling.discard(entry)
        self._tree.no_sources[entry] = one_line(text)
        self._draw()

    def _changed(self, data: CacheData | None) -> None:
        """An entry was made or changed: show it, and say what is to be minded."""
        if isinstance(data, EntryView):
            entry = data.entry
            self._tree.take_view(data)
            text = f"entry {entry.id} ({entry_name(entry)}) is {_IS[entry.state]}"
            beware = f"; beware: {'; '.join(entry.warnings)}" if entry.warnings else ""
            self.say(text + beware)
        self._asked_for = None
        self._rests = False
        self._look()

    # Doing

    def breakpoint_here(self) -> Breakpoint | None:
        subject = self._subject
        return self._breakpoint(subject) if subject is not None else None

    def _breakpoint(self, subject: Subject) -> Breakpoint:
        code = self._tree.code(subject.code)
        return Breakpoint(BreakpointKind.EXECUTE, pattern=code.qualname if code else "")

    @property
    def _subject(self) -> Subject | None:
        """What the cursor's row is about; of a row that is about nothing, that above it."""
        for index in range(min(self.lines.cursor, self.lines.count - 1), -1, -1):
            branch = self.lines.branch_at(index)
            if branch is not None and isinstance(branch.subject, Subject):
                return branch.subject
        return None

    def _possible(self, subject: Subject) -> list[Action]:
        return possible(self._tree.entry(subject.entry), subject.guard)

    def action_menu(self) -> None:
        from stepper.tui.cache_dialogs import ActionsScreen

        subject = self._subject
        if subject is None:
            self.say("there is nothing here")
            return
        code, entry = self._tree.code(subject.code), self._tree.entry(subject.entry)
        name = code.qualname or code.name if code else ""
        title = f"{name}, entry {entry.id} ({entry_name(entry)})" if entry else name
        actions = [(each.key, each.name, each.title) for each in self._possible(subject)]

        def chosen(name: str | None) -> None:
            # About the row that the menu was opened for: another may be in its place by now.
            if name is not None:
                getattr(self, f"_do_{name}")(subject)

        self.app.push_screen(ActionsScreen(title, actions), chosen)

    def action_do(self, name: str) -> None:
        subject = self._subject
        if subject is None or not any(each.name == name for each in self._possible(subject)):
            wanted = next(each for each in ACTIONS if each.name == name)
            what = f"{wanted.title[0].lower()}{wanted.title[1:]}"
            self.say(f"put the cursor on {NEEDED.get(wanted.on, 'a code')} to {what}")
            return
        getattr(self, f"_do_{name}")(subject)

    def _prompt(self, question: str, answer: Callable[[str], None], initial: str = "") -> None:
        for prompt in self.screen.query(Prompt):
            prompt.ask(question, answer, initial=initial)

    def _prompt_arguments(self, code: int, question: str, answer: Callable[[str], None]) -> None:
        def typed(text: str) -> None:
            self._arguments[code] = text.strip()
            self.say("asking the program … Ctrl-C interrupts it")
            if (arguments := self._recorded(text.strip())) is not None:
                answer(arguments)

        self._prompt(f"{question}{_WHERE}:", typed, self._arguments.get(code, ""))

    def _recorded(self, text: str) -> str | None:
        """The arguments that a text stands for, if it is `of MOMENT`; None: it cannot be."""
        match = _OF.fullmatch(text)
        recording = self.snapshot.recording if self.snapshot else None
        if match is None or recording is None:
            return text
        given = match["given"] or ""
        try:
            call = recorded_call(recording, int(match["moment"]))
            expression = call.expression(given)
        except CacheError as error:
            self.say(str(error))
            return None
        self.say(call.remark(given) or "the arguments of the recorded call")
        return expression

    def _do_check(self, subject: Subject, *, compare: bool = False) -> None:
        code = self._tree.code(subject.code)

        def ask(text: str) -> None:
            self.ask(
                lambda seq: CheckCache(seq, subject.code, text, compare=compare), self._checked
            )

        self._prompt_arguments(subject.code, f"{code.name if code else ''}(…) arguments", ask)

    def _do_compare(self, subject: Subject) -> None:
        self._do_check(subject, compare=True)

    def _checked(self, data: CacheData | None) -> None:
        if not isinstance(data, CacheCheck):
            return
        self._tree.checks[data.code] = data
        text = check_summary(data)
        if data.comparison is not None:
            text += f"; {comparison_lines(data.comparison)[0]}"
        if data.winner is not None:
            text += "; on it h runs it here, H steps it"
        self.say(text)
        self._draw()

    def _do_run(self, subject: Subject) -> None:
        entry = _entry_of(subject)

        def ran(data: CacheData | None) -> None:
            if isinstance(data, RunResult):
                self._tree.runs[data.entry] = data
                compared = f"; {comparison_lines(data.comparison)[0]}" if data.comparison else ""
                self.say(f"entry {data.entry}: {data.text}{compared}")
                self._draw()

        def ask(text: str) -> None:
            self.ask(lambda seq: RunEntry(seq, entry, text, compare=True), ran)

        self._prompt_arguments(subject.code, "run with arguments", ask)

    def _do_step(self, subject: Subject) -> None:
        entry = _entry_of(subject)

        def ask(text: str) -> None:
            self.ask(lambda seq: StepEntry(seq, entry, text), lambda data: None)

        self._prompt_arguments(subject.code, "step with arguments", ask)

    def _do_stop(self, subject: Subject) -> None:
        self.post_message(self.ToggleBreakpoint(self._breakpoint(subject)))

    def _do_drop(self, subject: Subject) -> None:
        entry = _entry_of(subject)
        branches = (self.lines.branch_at(index) for index in self.lines.selected)
        selected = {branch.subject for branch in branches if branch is not None} | {subject}
        drop = sorted(
            each.guard
            for each in selected
            if isinstance(each, Subject) and each.entry == entry and each.guard is not None
        )
        self.ask(lambda seq: CloneEntry(seq, entry, tuple(drop)), self._changed)

    def _do_add(self, subject: Subject) -> None:
        entry = _entry_of(subject)

        def ask(text: str) -> None:
            if text.strip():
                self.ask(lambda seq: CloneEntry(seq, entry, (), (text.strip(),)), self._changed)

        self._prompt("an expression over L and G that must be true:", ask)

    def _do_edit(self, subject: Subject) -> None:
        entry = _entry_of(subject)
        self.ask(lambda seq: InspectEntry(seq, entry), self._edit)

    def _edit(self, data: CacheData | None) -> None:
        from stepper.tui.cache_dialogs import BytecodeScreen

        if not isinstance(data, EntryView):
            return
        if not data.bytecode:
            self.say("its code is gone, or the compiler does not give it away")
            return
        number = data.entry.id

        def save(text: str) -> None:
            self.ask(lambda seq: EditEntry(seq, number, text), saved, screen.refuse)

        def saved(data: CacheData | None) -> None:
            screen.leave()
            self._changed(data)

        title = f"bytecode of entry {number} ({entry_name(data.entry)})"
        screen = BytecodeScreen(title, data.bytecode, save)
        self.app.push_screen(screen)

    def _do_register(self, subject: Subject) -> None:
        entry = _entry_of(subject)
        self.ask(lambda seq: RegisterEntry(seq, entry), self._changed)

    def _do_remove(self, subject: Subject) -> None:
        entry = _entry_of(subject)
        self.ask(lambda seq: RemoveEntry(seq, entry), self._changed)

    def on_lines_activated(self, message: Lines.Activated) -> None:
        message.stop()
        self.action_menu()


def _entry_of(subject: Subject) -> int:
    assert subject.entry is not None
    return subject.entry
