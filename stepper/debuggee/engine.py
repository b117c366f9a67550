"""The contract of an engine: all that it calls, and all that it is asked.

An engine watches a compiler and reports to a `Recorder`; it knows of no channel and no file. It is
registered as an `EngineType` (see `stepper.debuggee.registry`), and how the parts are put together
is said in `stepper.debuggee.start`:

    kind = registry.find(name)
    engine = kind.create()                       # when the compiler has been imported
    recorder = Recorder(writer, controller, engine)
    controller.attach(engine, recorder)
    engine.install(recorder)

The engine decides *when* something happened and *what the compiler's objects are*. The recorder
numbers, compares with what was there before, writes, and asks the controller whether to stand
still. So a call of the recorder can take as long as the user looks at the screen; it returns
nothing that the engine has to act upon, and raises only KeyboardInterrupt (the user ended the
program at a stop).

`Engine`, `Cache` and `Describer` are for subclasses. What they define themselves is what can be
said without knowing the compiler, or that it cannot be done: an engine of a compiler that has no
such thing leaves it at that.

The compiler's own objects (translators, trackers, guards) are nothing to the recorder but what they
are compared by, and what the engine says of them; so they are objects here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from stepper._C import BY_ENGINE, ORDINARY, Hook
from stepper.debuggee.entries import Entries
from stepper.debuggee.occurrence import NO_SUBJECT, Subject
from stepper.model.cache import (
    CacheCheck,
    CacheError,
    CacheListing,
    EntryCode,
    EntryView,
    RunResult,
    WitnessSearch,
)
from stepper.model.capabilities import Capabilities
from stepper.model.change import Change
from stepper.model.control import ForkTranslation
from stepper.model.timing import CacheAnswer
from stepper.model.trace import Block, EventKind, MomentId, Outcome, Phase
from stepper.model.value import ValueId
from stepper.support.outside import comes_from_outside, limit_of

if TYPE_CHECKING:
    from stepper._C import Facts, RunTimes, Steps
    from stepper.debuggee.mirror import (
        FrameMirror,
        GuardMarks,
        GuardWords,
        LiveAttempt,
        LiveTranslation,
        Mark,
    )
    from stepper.debuggee.phase_times import GuardsBegun, PhaseMark
    from stepper.debuggee.told_again import ToldLookup
    from stepper.debuggee.walks import Names, Walk, WalkFrame, Walks
    from stepper.model.collective import CollectiveReading
    from stepper.model.failure import Failure
    from stepper.model.lookup import UnmetEntry
    from stepper.model.method_names import Entered, Owner
    from stepper.model.program import Code, PythonFrame
    from stepper.model.shapes import ShapeStep
    from stepper.model.stepping import Place
    from stepper.model.trace import Dependence, GraphBreak, Node


Say: TypeAlias = Callable[[str], None]
"""Tells the user something, and writes it down; what has been said is not said again."""


class EngineType(NamedTuple):
    """An engine that is registered."""

    compiler: str
    """The module by whose import the compiler arrives. The engine is made then, and not before: a
    program that never compiles anything need not wait for it."""
    capabilities: Capabilities
    create: Callable[[], Engine]
    entries: Callable[[], Entries] | None = None
    """The entries of its cache for `stepper.cache`; None: a program cannot ask for them. Called
    once, by a program that imports it."""
    serve: Callable[[Say], Callable[[], None]] | None = None
    """Called when a session begins, for a compiler that takes the place of another while one is
    under way. Returns what ends that."""
    doors: str = ""
    """A module whose `wait` places light probes where a program first asks something of the
    compiler, and calls its argument there; empty: none is lighter than the engine itself."""
    unsupported: str = ""
    """Why it cannot work in this Python, and what to do; empty: it can."""


# --- what an engine calls -----------------------------------------------------------------------


class Controller(Protocol):
    """Who decides whether to stand still; see `stepper.debuggee.controller.Controller`."""

    alert: bool
    """Whether it wants to see each instruction."""
    wanted: Collection[EventKind]
    """The kinds of occurrences at which a breakpoint stops."""
    passing: bool
    """Whether the compiler repeats what has been seen: nothing stops meanwhile."""
    stood: float
    """Seconds that the program has stood still, in all."""

    @property
    def stands(self) -> bool:
        """Whether this thread stands still: what runs in it was asked for at the stop."""

    def at_moment(
        self, moment: MomentId, frame: int, attempt: int, depth: int, code: Code, ip: int
    ) -> None:
        """An instruction is about to be interpreted. Blocks while the program stands still."""

    def occurred(self, kind: EventKind, moment: MomentId, text: str, subject: Subject) -> None:
        """Something happened while an instruction was interpreted. Blocks likewise."""

    def at_next_moment(self, tell: Callable[[], None]) -> None:
        """Call `tell` before the next instruction: it is about what has happened where the program
        cannot stand still."""

    def request_stop(self, reason: str, text: str = "") -> None:
        """Stop at the next moment."""

    def before_each(self, look: Callable[[], bool] | None) -> None:
        """Call this at each moment from now on, before anything stops there, and stop nowhere when
        it returns true: the interpreter goes on elsewhere. None: no more."""

    def compiling(self, *, done: bool) -> None:
        """The backend begins, or has ended."""

    def notice(self, text: str) -> None:
        """Tell the user something."""


class Recorder(Protocol):
    """What an engine reports to; see `stepper.debuggee.recorder.Recorder`."""

    controller: Controller
    everything: bool
    """Whether every instruction is recorded; with detail `stops`, only from the first stop on."""
    from_the_start: bool
    """Whether the session began before the program's first line, and not in its midst."""
    failures: int
    """How many failures were told."""
    stepping: WalkFrame | None
    """The frame of a walk that is at its newest moment now, while the controller is asked."""
    walks: Walks
    """What lookups and executions share; also the lock to write, and what was asked for."""
    runs: RunTimes
    """Tells how long what was compiled runs at calls whose lookups are told."""
    node_ids: Iterator[int]
    """Gives each node its number."""
    flush_pending: Callable[[], None]
    """Something is about to change: what there was is told now."""
    about_to_mutate: Callable[[object], None]
    """The tracker is about to change: what it was is told now, what it became with the next
    moment."""

    @property
    def steps(self) -> Steps[FrameMirror]:
        """The hot path, in C. The engine sets its `top`, the innermost frame, and says by
        `graph_changed` that `Engine.report_graph` is to be called at the next step."""

    @property
    def moment(self) -> MomentId:
        """The newest moment, 0 when there was none."""

    @property
    def current(self) -> FrameMirror | None:
        """The frame of the newest moment; it may have been left since."""

    @property
    def step(self) -> Callable[[object], None]:
        """The hook of each instruction, when every instruction is recorded: a translator is about
        to interpret one."""

    @property
    def note_position(self) -> Callable[[object], None]:
        """The hook of each instruction otherwise: it notes where the translator is, should the next
        thing be a stop."""

    # Translations, attempts, frames

    def begin_translation(
        self,
        *,
        compile_id: str,
        code: Code,
        cache_size: int,
        python_stack: tuple[PythonFrame, ...],
        resume_of: str = "",
        state: Mapping[str, str] = {},
        dynamic: bool | None = None,
        specialize_int: bool = False,
        unmet: tuple[UnmetEntry, ...] = (),
        nested: bool = False,
    ) -> LiveTranslation:
        """The compiler begins to compile a frame, in this thread; `nested`: while it is compiling
        another."""

    def recompiled(self, translation: LiveTranslation, reason: str) -> None:
        """The translation is a recompilation, for the reason that the compiler gives."""

    def cache_limit(self, translation: LiveTranslation, text: str) -> None:
        """The compiler gives the code up, because it was compiled too often."""

    def begin_attempt(self, translation: LiveTranslation) -> LiveAttempt:
        """The symbolic interpreter begins at the top."""

    def restarts(self, attempt: LiveAttempt, reason: str) -> None:
        """The attempt is about to be thrown away."""

    def end_translation(
        self,
        translation: LiveTranslation,
        outcome: Outcome,
        *,
        reason: str = "",
        transformed: Code | None = None,
        dependence: Dependence | None = None,
    ) -> None:
        """The translation is over; once more after a failure when the program goes on without
        it."""

    def skipped(self, name: str, filename: str, line: int, reason: str) -> None:
        """The compiler was asked for a frame and never began."""

    def failed(self, failure: Failure, translation: LiveTranslation | None = None) -> None:
        """An exception leaves the compiler. Its `id` and what is known of the translation need not
        be given."""

    def phase_began(self, name: str) -> None:
        """The compiler begins with something that it times."""

    def phase_ended(
        self,
        name: str,
        translation: int | None,
        compile_id: str = "",
        *,
        kernels: int | None = None,
    ) -> None:
        """The phase that began last has ended; `translation` is the innermost that is under way,
        `compile_id` says where there is none what it belongs to, `kernels` how many the backend
        has generated meanwhile."""

    def phase_mark(self, *, alone: bool = False) -> PhaseMark | None:
        """Something begins that is a phase if its end is heard; None: no phase is under way in this
        thread, and it is none `alone`."""

    def phase_took(
        self,
        name: str,
        mark: PhaseMark,
        translation: int | None,
        *,
        least: int = 0,
        side_effect: int | None = None,
    ) -> None:
        """What began at the mark, in this thread, is over; told is what took so many nanoseconds at
        least. `side_effect` is the number of the one whose bytecode was made."""

    def guards_made(self, begun: GuardsBegun, translation: int) -> None:
        """Guards were made one after the other in this thread."""

    def collectives(self, reading: CollectiveReading) -> None:
        """Torch's flight recorder was read."""

    def cache_answered(self, name: str, answer: CacheAnswer, translation: int | None) -> None:
        """The compiler's cache on disk has been asked; `name` is the compiler's for the answer."""

    def enter(
        self,
        attempt: LiveAttempt,
        translator: object,
        make_code: Callable[[object], Code],
        parent: FrameMirror | None,
    ) -> FrameMirror:
        """A symbolic frame begins: the translated one or an inlined call. `make_code(translator)`
        says what code it interprets."""

    def entered(self, frame: FrameMirror) -> None:
        """A symbolic frame has begun that was made elsewhere (`Steps.hear_frames`)."""

    def leave(self, frame: FrameMirror) -> None:
        """A symbolic frame ends, by return or by exception."""

    # What an instruction causes

    def wants(self, kind: EventKind) -> bool:
        """Whether what an instruction causes of this kind is to be reported."""

    def guard(
        self,
        attempt: LiveAttempt,
        guard: object,
        kind: str,
        source: str,
        scope: str,
        moment: MomentId,
        frame: int | None,
        line: PythonFrame | None,
    ) -> int:
        """A guard was installed by the instruction of `moment`, which is one of `line` in the
        program; returns its number. What it checks is asked in the end (`Engine.guard_code`)."""

    def guards(
        self,
        attempt: LiveAttempt,
        marks: GuardMarks,
        words: GuardWords,
    ) -> None:
        """Guards that were marked as they came, when nobody stops at one."""

    def marked_now(self, attempt: LiveAttempt, guards: Sequence[object]) -> GuardMarks:
        """Guards that the instruction of the newest moment installed, for `guards`."""

    def guard_now(
        self, attempt: LiveAttempt, guard: object, kind: str, source: str, scope: str
    ) -> int:
        """The instruction of the newest moment installed a guard; returns its number."""

    def guard_withdrawn(self, attempt: LiveAttempt, number: int) -> None:
        """The compiler takes a guard back."""

    def user_line(self, code: Code, ip: int) -> PythonFrame:
        """The line of an instruction."""

    def node(self, attempt: LiveAttempt, node: Node, *, known: bool) -> None:
        """A node appeared in the graph, or (`known`) the one of this id changed its name."""

    def node_erased(self, id: int) -> None:
        """A node was removed from the graph."""

    def side_effect(
        self,
        attempt: LiveAttempt,
        kind: str,
        target: object,
        name: str,
        how: str,
        value: object | None,
    ) -> int:
        """A mutation was buffered: of one tracker, to which another may be given. Its number; 0: it
        is not recorded."""

    def shape(self, step: ShapeStep, frame: int | None) -> None:
        """Something became known about sizes. `step` has everything but its number; `frame`: whose
        instruction asked."""

    def graph_break(self, attempt: LiveAttempt, record: GraphBreak) -> None:
        """The compiler is about to restart, or to give the frame up, because of an instruction. The
        record's id, attempt and moment are filled in, when they are 0."""

    # Lookups and executions (see `stepper.debuggee.walks`), and what happens between them

    def begin_walk(
        self,
        phase: Phase,
        code: Code,
        *,
        name: str = "",
        compile_id: str = "",
        resume_of: str = "",
        python_stack: tuple[PythonFrame, ...] = (),
        by_hand: bool = False,
        names: Names = ...,
        owner: Owner | None = None,
        wraps: str = "",
    ) -> Walk:
        """A lookup or an execution of `code` begins, in this thread; `by_hand`: the user asked for
        it at a stop."""

    def lookup_again(self, told: ToldLookup, began: int) -> int | None:
        """A lookup of this thread has found in all that is told of it what that one found, which
        was made in a thread of the same name; it began at `began`, by `time.perf_counter_ns`.
        Returns its number; None: it is to be told in full, since somebody waits for it, or it is
        in another place among the walks under way."""

    def occurred(
        self,
        kind: EventKind,
        text: str,
        number: int | None,
        subject: Subject = NO_SUBJECT,
        *,
        moment: MomentId | None = None,
    ) -> None:
        """Something happened at a moment (None: the newest), about what has a number in the table
        of its kind. Blocks while the program stands still."""

    def store_code(self, code: Code) -> None:
        """A code object that was not seen before."""

    def store_entry_end(self, entry: int, moment: MomentId, place: PythonFrame) -> None:
        """Where in the program a cache entry ended, of which an event tells."""

    def commit(self) -> None:
        """Make what was told visible to readers at once."""

    def before_commit(self, tell: Callable[[], None]) -> None:
        """`tell` what the engine has kept back whenever all that is known is to become visible."""

    # What an exception leaves

    def mark(self) -> Mark:
        """What this thread is at, for `unwind`."""

    def unwind(self, mark: Mark, reason: str) -> None:
        """What this thread has begun since, and not ended, was left by an exception: it is over.
        Harmless where there is nothing such."""

    def whole(self, function: Callable[..., None], *args: object) -> None:
        """Call something that begins a walk and ends it; an exception ends it, too, wherever it
        comes."""

    def note(self, text: str) -> None:
        """Something the user should know of the watching, while it goes on."""

    def broke_down(self, error: Exception) -> None:
        """The engine ran into a defect of its own and watches no more; the program goes on."""

    # What the controller asks

    def place(self) -> Place:
        """Where the interpreter stands now."""

    def owner_of(self, compile_id: str) -> Owner | None:
        """The module whose method was compiled under an id; None: it is none, or not known."""

    def entry_subject(self, name: str, compile_id: str) -> Subject:
        """What a breakpoint asks of a cache entry: of which function it is, and its compile id."""

    def entered_module(self) -> Entered | None:
        """The module whose method the frame of the newest moment runs; None: it runs none."""

    def stopping(self, moment: MomentId, text: str) -> MomentId:
        """The program is about to stand still: make everything up to now visible to readers.
        Returns the moment to look at."""

    def nested_recording(self) -> AbstractContextManager[None]:
        """What this thread does meanwhile is recorded, though it stands still."""


# --- what an engine is asked --------------------------------------------------------------------


class Cache(Protocol):
    """The compiler's cache: what a front end's requests ask for. See `stepper.model.control`.

    Everything raises `stepper.model.cache.CacheError` for what cannot be done.
    """

    def listing(self, function: str) -> CacheListing:
        """Every code that has entries."""
        raise _cannot_be_asked()

    def view(self, entry: int) -> EntryView:
        """One entry, whole."""
        raise _cannot_be_asked()

    def code(self, entry: int) -> EntryCode:
        """The code that an entry runs, as bytes."""
        raise _cannot_be_asked()

    def check(self, code: int, arguments: str, backend: str, compare: bool) -> CacheCheck:
        """Run arguments against a code's entries; only at a stop."""
        raise _cannot_be_asked()

    def run(self, entry: int, arguments: str, compare: bool) -> RunResult:
        """Run an entry by hand; only at a stop."""
        raise _cannot_be_asked()

    def stepping(self, entry: int, arguments: str) -> tuple[str, Callable[[], str]]:
        """Make ready to step an entry's code by hand; only at a stop. Returns what is to be minded,
        and what runs it once and gives the result in words; exceptions of the code leave it."""
        raise _cannot_be_asked()

    def clone(self, entry: int, drop: tuple[int, ...], add: tuple[str, ...]) -> EntryView:
        """A draft with other guards."""
        raise _cannot_be_asked()

    def edit(self, entry: int, bytecode: str) -> EntryView:
        """A draft with other bytecode."""
        raise _cannot_be_asked()

    def register(self, entry: int) -> EntryView:
        """Put a draft into the cache; only at a stop."""
        raise _cannot_be_asked()

    def remove(self, entry: int) -> str:
        """Take it out again, or throw a draft away; only at a stop. Returns what was done."""
        raise _cannot_be_asked()

    def find_witness(self, entry: int, guard: int, arguments: str) -> WitnessSearch:
        """Look for an input that shows that a guard is needed; only at a stop."""
        raise _cannot_be_asked()

    def mark_dynamic(self, source: str, dim: int | None, strict: bool) -> str:
        """Before a call is compiled again: make a size of a tensor a symbol for that compilation;
        only at a stop in a lookup that missed, like the next two. Returns what was done."""
        raise _cannot_be_asked()

    def relax(self, entry: int | None, drop: tuple[int, ...]) -> str:
        """Have a copy of an entry without some guards serve the call and later ones."""
        raise _cannot_be_asked()

    def skip(self) -> str:
        """Have the call run as it is, so that nothing is compiled for it."""
        raise _cannot_be_asked()


def _cannot_be_asked() -> CacheError:
    return CacheError("the engine of this session cannot do that with its compiler's cache")


class NoCache(Cache):
    """The cache of a compiler that lets nobody look at it."""


Flavour = int
"""What the trackers of a class can be: one of `stepper._C.ORDINARY` and those after it."""

Recipe = int
"""How trackers of a class are described: one of `stepper._C.BY_ENGINE` and those after it."""


class Describer(Protocol):
    """The engine's knowledge of trackers. `csrc/describe/facts.c` asks it what it cannot read
    itself."""

    facts: Facts
    """Which describes, and knows what was described: `Facts(self, the class of all trackers, that
    of all modules, what is said of one that was not looked at yet)`."""
    realized: Mapping[int, object] = {}
    """Not empty while some lazy trackers are to be shown as they were."""
    alike: frozenset[type] = frozenset()
    """Types of constants, beyond None, bool, int and str, whose equals have the same repr."""

    def kind(self, kind: type) -> tuple[Recipe, str, str, str]:
        """How a class's trackers are described, its name, the name of the Python type they
        stand for, what they stand for by name; empty where that differs."""
        return BY_ENGINE, kind.__name__, "", ""

    def special(
        self, tracker: object, fields: dict[str, object], number: Callable[[object], ValueId]
    ) -> int | None:
        """The id of a tracker's description; None: it is like the others, by name. `number` gives
        a child's number."""
        return None

    def words(self, fields: dict[str, object]) -> tuple[str, str]:
        """The names of the type and of the thing that a tracker stands for, as its fields tell."""
        return "", ""

    def tensor(self, properties: tuple[object, ...]) -> tuple[str, str, bytes]:
        """The name of a tensor's type, its short form and its encoded `TensorMeta`, asked once for
        each dtype, size, stride, device, requires_grad, layout and class."""
        return "", "", b""

    def key_text(self, key: object) -> str:
        """A key of a mapping, in words."""
        return type(key).__name__

    def mutability(self, kind: type) -> tuple[str, bool]:
        """A mutation type in words, and whether attributes stored on such a tracker are pending."""
        return kind.__name__, False

    def attributes(self, tracker: object) -> dict[str, object] | None:
        """The attributes that are pending."""
        return None

    def source_text(self, source: object) -> str:
        """The expression of a source."""
        return ""

    def owner(self, tracker: object) -> Owner | None:
        """The module that a tracker stands for, as its description says; None: it is none."""
        return None

    def wraps(self, translator: object) -> str:
        """The qualified name of the function that a translator's own, a decorator's, has been put
        around; empty: it is none such, or that is not known."""
        return ""

    def forget(self) -> None:
        """No tracker is spoken of any more: keep none, and nothing of the program's."""
        return

    def take_shown_before(self) -> list[object]:
        """Trackers that were shown as they were, since the last call."""
        return []

    def flavour(self, kind: type) -> Flavour:
        """How trackers of a class are to be treated."""
        return ORDINARY

    def block(self, translator: object, block: object) -> Block:
        """An entry of a translator's block stack."""
        return Block(ip=None, target=None, stack_index=0)

    def speculation(self, speculation: object) -> str:
        """The checkpoint that a graph break would restart from, in words."""
        return ""


class Engine(Protocol):
    """A compiler that is being watched."""

    recorder: Recorder
    """Whom it reports to, from `install` on."""
    cache: Cache = NoCache()
    lost: str = ""
    """What the program ran out of while a hook was at work (`stepper._C.Hook`), until that is
    told."""

    # What the start of a session asks

    def change(self, changes: tuple[Change, ...]) -> None:
        """Make the program another one than it is, before anything is watched.

        Raises:
            ValueError: that cannot be done.
        """
        raise ValueError("this engine cannot change a program so as to see what that comes to")

    def install(self, recorder: Recorder) -> None:
        """Begin to report.

        Raises:
            RuntimeError: the installed version is not supported; the message says which are.
        """
        self.recorder = recorder

    def uninstall(self) -> None:
        """Leave the compiler as it was before `install`; safe to call twice, and in a forked
        child."""

    def before_fork(self) -> None:
        """The program is about to fork: no thread of the engine's may be there."""
        return

    def after_fork(self) -> None:
        """It has, and this is the parent."""
        return

    # What the post-mortem asks

    def came_out(self, error: BaseException) -> bool:
        """Whether an exception was raised by the compiler, or while it was at work. It must not be
        kept."""
        return False

    # What is asked at the end

    def ended_by(self, error: BaseException) -> Failure | None:
        """What is known of an exception that ended the program, where compiled code raised it when
        it ran, or `torch.compile` of what it was given; None: it is another's, or has been told. It
        must not be kept."""
        return None

    # What the controller asks

    def breakpoints_changed(self) -> None:
        """Other breakpoints were set. The program stands still, in this thread."""
        return

    def namespace(self, frame: int | None) -> dict[str, object]:
        """The names an expression can use at a stop: `stack`, `locals`, `inst`, `graph`, `guards`,
        `tx`.

        `frame` is the id of a symbolic frame, None: the innermost. Empty when nothing is being
        translated.

        Raises:
            LookupError: no such frame is on the symbolic call stack now.
        """
        return {}

    def fork(self, request: ForkTranslation) -> str:
        """Have the translation at which the program stands go back to a moment, in another attempt,
        and on from there with something changed. Returns what is going to be done; the program has
        to run on for it.

        Raises:
            LookupError: it cannot be gone back to; the message says why.
        """
        raise LookupError("the engine of this session cannot go back in a translation")

    def jump(self, line: int) -> str:
        """Have the innermost symbolic frame go on at a line. The program stands at the beginning of
        an instruction, in this thread; returns what is done, and `jumped` is called when it is to
        run on.

        Raises:
            LookupError: it cannot go on there; the message says why.
        """
        raise LookupError("the engine of this session cannot jump")

    def jumped(self) -> None:
        """Tell the moment at which the frame goes on, unless the interpreter begins anew."""
        return

    @property
    def must_watch(self) -> bool:
        """Whether a translation is under way that cannot be carried through without it."""
        return False

    # What the recorder asks

    def make_describer(self) -> Describer:
        """What knows the trackers; called once."""

    def late_mutation_types(self) -> frozenset[type]:
        """Classes of trackers of which `about_to_mutate` is called when they have changed
        already."""
        return frozenset()

    def guard_code(self, guard: object) -> Sequence[str]:
        """What a guard checks, once it has been built: expressions, as the compiler words them."""
        return ()

    def report_graph(self) -> None:
        """Report the guards and nodes that came, went or changed since the last step; called when
        `Steps.graph_changed` is set, which this sets back."""
        self.recorder.steps.graph_changed = False

    def catch_up(self) -> None:
        """The recorder wants everything from now on, and what came before."""
        return

    def break_down(self, error: Exception) -> None:
        """A hook of the engine's has failed, or what the recorder asks. A defect of the engine's
        ends the watching. What the program itself raised goes on to it, and at a limit of its own
        the watching goes on."""
        if comes_from_outside(error):
            raise error
        if limit := limit_of(error):
            self.lost = limit
            return
        self.uninstall()
        self.recorder.broke_down(error)

    def safely(self, hook: Callable[..., None]) -> Hook:
        """A hook that the compiler can call: it has the lock to write, and what goes wrong in it
        does not reach the program (see `break_down`)."""
        return Hook(hook, self.recorder.walks.lock, self)

    def note_lost(self, what: str) -> None:
        """Tell what could not be told, if that was lost at a limit of the program's."""
        if self.lost:
            lost, self.lost = self.lost, ""
            self.recorder.note(f"{lost}: {what}")

    def is_program(self, filename: str) -> bool:
        """Whether a file is the program's own; what happens to others is no occurrence."""
        return True
