"""The C parts of stepper. Sources in `csrc/`; each file there opens with how it works and why."""

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import CodeType, FrameType, FunctionType
from typing import (
    Any,
    Final,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
    final,
)

from stepper.debuggee.described import Described
from stepper.model.trace import Block
from stepper.model.value import Value

_P = ParamSpec("_P")
_R = TypeVar("_R")

_Check: TypeAlias = Callable[[dict[str, Any], dict[str, Any]], object]
_FrameCallback: TypeAlias = Callable[[CodeType, FunctionType, dict[str, Any]], CacheEntry | None]
_Skip: TypeAlias = Literal["capture", "frame", "recursive"]
_LookupListener: TypeAlias = Callable[..., object]
_CacheEvent: TypeAlias = Literal["added", "removed", "invalidated", "error"]

INTERFACE: Final[int]
"""The checksum of this file when the C part was built: `stepper.need_c_part` compares it."""

# --- what a frame holds (csrc/evalframe/value_stack.c) ---

@final
class Null:
    """The type of `NULL`. False as a condition."""

NULL: Final[Null]
"""Stands for an empty slot of a value stack, as there are before calls and in loops' cleanup."""

def value_stack(frame: FrameType) -> list[Any] | None:
    """The values on the frame's stack, the top last, or None where CPython does not say how many.

    Never wrong and never unsafe, whatever the objects do: the end of the stack is known inside an
    `AtInstruction` callback (for the frame whose instruction is about to run); in callbacks of
    `sys.settrace` on 3.11 and of line events; of callers that CPython itself left at a call of
    another Python function; of suspended generators and coroutines; of frames that have returned.
    Elsewhere, as in a frame that waits for a C function or a destructor, it is not.
    """

def put_on_stack(frame: FrameType, index: int, value: object, /) -> Any:
    """Put another value in the place of one that `value_stack` shows, and return that one.

    For a callee, right before its call: instructions are entitled to what others have left for
    them, so in most other places only a value of the same kind will do.

    Raises:
        ValueError: no value is known to be there.
    """

def frame_locals(frame: FrameType) -> dict[str, Any]:
    """What the frame's bound locals, cells and free variables hold, by name.

    Unlike `frame.f_locals`, it leaves no copy in the frame and is only what is there now. Variables
    of modules and class bodies are not in slots, and not in this.
    """

@final
class AtInstruction(Generic[_P, _R]):
    """A callback for instruction events, in which `value_stack` knows the frame's stack.

    Register it in place of the callback: with `sys.monitoring.register_callback` for INSTRUCTION,
    or return it from a trace function for opcode events. Everything is passed on to the callback.
    On 3.11 it changes nothing, since traced frames know their stack there.
    """

    def __new__(
        cls, callback: Callable[_P, _R], depth: Callable[[CodeType, int], int | None]
    ) -> AtInstruction[_P, _R]:
        """`depth`: see `stepper.support.stack_depths.stack_depth`."""
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...

# --- hooks (csrc/support/hook.c, csrc/support/lock.c) ---

@final
class ReentrantLock:
    """The lock of whoever writes: a lock that its owner can take again, as `threading.RLock` is.

    `release` by a thread that does not have it is a RuntimeError.
    """

    def __new__(cls) -> ReentrantLock: ...
    def acquire(self, blocking: bool = True) -> bool: ...
    def release(self) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *error: object) -> None: ...
    def during(self, function: Callable[_P, _R], /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Call `function` and have the lock as long as that takes, whatever ends it.

        A `with` is left by instructions, before which a trace function can raise: the lock would
        be had for good, and every other thread that wants it would wait for ever.
        """

    def depth(self) -> int:
        """How often this thread has it."""

    def unwind(self, depth: int, /) -> None:
        """Have it only so often again as it was when `depth` said so: what an interrupt has kept
        from being given back since is given back."""

    @property
    def writer(self) -> int:
        """The thread that has the lock to write a moment of a walk; 0: none has."""

@final
class Writing:
    """To be entered for writing a moment of a walk: the lock is taken, and says so.

    Without `writes`, for what is to be recorded though this thread writes something already.
    """

    def __new__(cls, lock: ReentrantLock, writes: bool) -> Writing: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *error: object) -> None: ...

# --- walks (csrc/record/in_view.c, csrc/record/walk_moments.c, csrc/record/moves.c) ---

@final
class Viewed:
    """A value of a walk that is in view."""

    @property
    def number(self) -> int: ...
    @property
    def body(self) -> int:
        """The number of its description."""

    @property
    def children(self) -> tuple[Viewed, ...]: ...
    @property
    def described(self) -> Described | None: ...

@final
class InView:
    """Which values are in view, in a walk."""

    def __new__(
        cls,
        body: Callable[[Value, tuple[tuple[str, int], ...] | None], int],
        told: dict[int, tuple[Value, int]],
    ) -> InView:
        """`body(value, items)`: stores a description, if it is new, and says under which number;
        `items` are the labels and numbers of what the value holds, None where it holds nothing.
        `told`: by the address of a description that holds nothing, itself and its number; it is
        not asked for again."""

    @property
    def fresh(self) -> list[tuple[int, int]]:
        """Descriptions that were not told yet: (value, body)."""

    def know(self, described: Described, /) -> Viewed:
        """The value of a description, which is told when it is new."""

    def exchange(self, taken: list[Viewed], dropped: list[Viewed], /) -> None:
        """Values have moved: these stand in one place more, and those in one place less, like what
        was taken out of others meanwhile. What stands nowhere is forgotten."""

    def forget(self) -> None:
        """Nothing is in view any more."""

class WalkFrameState:
    """What changes of a walk's frame with each moment."""

    id: int
    ip: int
    last_moment: int
    stack: list[Viewed]
    locals: dict[str, Viewed]
    blocks: Sequence[Block]

class WalkState:
    """What changes of a walk with each moment."""

    values: InView
    moments: int
    last: int
    """The newest of its moments."""
    keyframe_due: int
    muted: bool

    def looked(
        self,
        steps: Steps[Any],
        frame: WalkFrameState,
        stack: list[Described],
        locals: dict[str, Described],
        blocks: Sequence[Block],
        packed: bytes | None,
        /,
    ) -> int:
        """Tell a moment at the frame's `ip`, by what has changed since its newest one; `packed`:
        the blocks, encoded, if they are others. Returns the moment's number."""

LOAD: Final[int]
"""This and the following: the operations of `stepper.debuggee.effects`."""
CONST: Final[int]
NULL_SLOT: Final[int]
COPY: Final[int]
SWAP: Final[int]
POP: Final[int]
STORE: Final[int]
DELETE: Final[int]
TOPS: Final[int]
TOPS_IF: Final[int]
MAKE: Final[int]

@final
class Moves:
    """What the instructions of a code object move."""

    def __new__(
        cls,
        index: bytes,
        targets: bytes,
        effects: list[tuple[tuple[int, Any, Any], ...] | None],
        names: list[str],
        blocks: list[tuple[Block, ...]],
        packed: list[bytes],
        /,
    ) -> Moves:
        """`index`: the instruction that begins at each code unit, -1: none; ints of C, as of an
        `array("i")`. The others have an item for each instruction: likewise where it may go besides
        to the next one (-1: nowhere), its effect (see
        `stepper.debuggee.effects`), its name, the blocks that are open, those encoded."""

class RunState:
    """A frame of watched code that runs: where it is."""

    moves: Moves | None
    nodes: dict[int, int] | None
    """Instead of moves, if it is a graph's function: its nodes by the lines that are theirs."""
    hidden: frozenset[str] | None
    """Likewise the locals that are not shown."""
    walk: Any
    frame: Any
    key: int
    """The address of the real frame."""
    at: int
    """Index of its newest instruction."""
    exact: bool
    """Whether `frame` holds what was there before that instruction."""
    looks: bool
    """Whether all moments are to be looked at."""

@final
class RunTimes:
    """Tells how long what was compiled runs at calls whose lookups are told. All of it is for the
    thread that calls (csrc/record/run_times.c)."""

    def __new__(
        cls,
        steps: Steps[Any],
        ids: Iterator[int],
        open: dict[int, list[Any]],
        write: Callable[[tuple[int, str, int, int, int, int, int, str, int]], object],
        thread: Callable[[], str],
        left: Callable[[], object],
        transformed: str,
        graph: str,
        /,
    ) -> Self:
        """`open`: by thread, the phases that are under way, the innermost last; each has an `id`,
        which `ids` gives, and a `name`: that of a run is `transformed` or `graph`. `write` takes a
        run when it has ended, as a row of `RunTimes` in `stepper.recording.schema`; it is written
        in C. `thread`: what is told of the thread. `left` is called when phases have been dropped
        that an exception has left."""

    def telling(self, nanoseconds: int, /) -> None:
        """So long it took to tell of something: no run took that."""

    def hit(self, code: CodeType, lookup: int, caller: FrameType | None, /) -> None:
        """A transformed code is about to run for a call whose lookup has that number."""

    def awaits(self, code: CodeType, caller: FrameType | None, /) -> bool:
        """Whether a code that begins is a graph that runs for a call that is told."""

    def begins(self, code: CodeType, /) -> None:
        """A graph that is awaited begins."""

    def ends(self, code: CodeType, /, *more: object) -> None:
        """A transformed code or a graph has ended; nothing happens if it is another."""

@final
class Passage:
    """Moments that are told again, as they were told before (csrc/record/passage.c)."""

    first_frame: int
    """The number of the first frame."""

    def __new__(cls, steps: Steps[Any]) -> Passage:
        """They begin behind the newest moment, with frames behind the newest frame."""

    def end(self, count: int, /) -> bool:
        """They are over, and so many. False: it is not known any more what was told, or somebody
        else's are among them."""

    def again(self, frame: int, write: Callable[[_R], object], row: _R, /) -> object:
        """Tell them once more, all at this instant; `frame`: the first frame's number. Then calls
        `write(row)`, and nothing can come between the two.

        Raises:
            RuntimeError: `end` has not said that they are known, or others are told now.
        """

@final
class Unchanged:
    """`unchanged(value, described)`: whether the description still says what is so. False, too,
    where nobody can say that for less than it takes to describe the value."""

    def __new__(
        cls,
        tensors: dict[Any, Value],
        types: dict[str, Value],
        tensor: type,
        parameter: type,
        size: type,
        strided: object,
        mode_is_on: Callable[[], bool],
        class_name: Callable[[type], str],
        callables: frozenset[type],
        callable_name: Callable[[object], str],
        plain_text: Callable[[object], str],
        own: frozenset[type],
        /,
    ) -> Unchanged:
        """`tensors`: what is said of a tensor with these facts (type, dtype, shape, device,
        requires_grad, layout, and stride where that is `strided`); `types`: what is said of objects
        of other types, by the class's name. `mode_is_on`: whether the getters of tensors would call
        somebody. `callables`: of which the name is said. `plain_text`: what is said of a constant.
        `own`: builtin types of which more is said than their names."""

    def __call__(self, value: object, described: Described, /) -> bool: ...
    def alike(self, values: tuple[object, ...], described: tuple[Described, ...], /) -> bool:
        """Whether all that descriptions say of some values is so of these, which can be others:
        those that were one object are one, and no others."""

VALUE_DEPTH: Final[int]
VALUE_ITEMS: Final[int]

@final
class Eyes:
    """How the values of a frame are looked at (csrc/record/looks.c)."""

    def __new__(
        cls,
        describe: Callable[[object], Described],
        inside: Callable[[object, int], Described],
        container: Callable[[Any, type, tuple[tuple[str, Described], ...], int], Described],
        unchanged: Callable[[object, Described], bool],
        value_stack: Callable[[FrameType], list[Any] | None],
        frame_locals: Callable[[FrameType], dict[str, Any]],
        leaves: tuple[type, ...],
        null: object,
        null_slot: Described,
        /,
    ) -> Eyes:
        """`inside` describes a value that so many levels of are shown of; `container` makes a
        description of a list or a tuple from its key, its type, what it holds and its length.
        `unchanged`: whether a description still says what is so. `leaves`: exact types whose values
        are described alike at each level. `null` is what an empty slot holds, `null_slot` its
        description."""

    def look(
        self, values: InView, frame: FrameType, hidden: frozenset[str] | None, /
    ) -> tuple[list[Described], dict[str, Described]]:
        """The values of a frame's stack, and of its locals. With `hidden` it is a graph's function,
        which has no stack to be shown, nor these locals."""

@final
class UnlessMoved:
    """A callback for instructions, called only where more happens than can be told in C."""

    def __new__(
        cls,
        callback: Callable[..., object],
        running: Mapping[int, list[Any]],
        raising: Mapping[int, Any],
        lock: ReentrantLock,
        recorder: object,
        walks: object,
        controller: object,
        steps: Steps[Any],
        no_code_runs: Callable[[str, list[Viewed]], bool],
        frozen: frozenset[type],
        break_down: Callable[[Exception], None],
        eyes: Eyes,
        /,
    ) -> UnlessMoved:
        """`running` and `raising`: the executions of each thread, the frames that an exception
        goes through."""

    def __call__(self, *args: Any) -> Any: ...

# --- interrupts (csrc/support/undo.c, csrc/support/undisturbed.c) ---

def call_and_undo(undo: Callable[[], object], function: Callable[..., _R], /, *args: Any) -> _R:
    """Call `function(*args)`, and then, whatever ended it, `undo()`.

    An interrupt cannot come in between, and one that comes while `undo` runs has it run again,
    from its beginning, until it comes to its end; then the interrupt goes on. In it,
    `sys.exception()` is what has ended the call.
    """

def call_undisturbed(function: Callable[_P, _R], /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
    """Call a function. What comes meanwhile from a signal is handled when it has returned, and no
    trace function is called."""

class _Watcher(Protocol):
    lost: str
    def break_down(self, error: Exception) -> None: ...

@final
class Hook:
    """A hook with a net under it: called like `function`, which has the `lock`, if there is one,
    meanwhile.

    An exception of it goes to `watcher.break_down`; a RecursionError or MemoryError is the
    program's own limit and only sets `watcher.lost`, in words. What is no Exception passes through.
    """

    def __new__(
        cls, function: Callable[..., object], lock: ReentrantLock | None, watcher: _Watcher
    ) -> Hook: ...
    def __call__(self, *args: Any, **kwargs: Any) -> None: ...
    def release(self) -> None:
        """Let go of the function, the lock and the watcher: calls do nothing from now on."""

# --- instructions (csrc/describe/instructions.c) ---

def instruction_rows(
    make: Callable[..., _R],
    listed: list[Any],
    constants: tuple[Any, ...],
    meanings: dict[str, tuple[str, ...] | None],
    longest: int,
    other: Callable[[Any], str],
    targets: list[int | None] = ...,
    handlers: list[int | None] = ...,
    /,
) -> tuple[_R, ...]:
    """Calls `make` for each instruction with its index, name, argument, text of that, offset, the
    four parts of its positions (None without any), target and handler.

    Without `targets`, an instruction's `target` is one of the list itself, and without `handlers`
    so is that of its `exn_tab_entry`; what is None or none of the list becomes None.

    The text is empty for a jump (which has a target) and an instruction without argument. An
    identifier of at most `longest` characters is its own. A number means to an instruction in
    `meanings` what stands there (None: one of `constants`). Other plain constants, and short tuples
    of them, have their repr, cut to `longest` characters, a code its name. `other` says the rest,
    given the value."""

def opname_marks(listed: tuple[Any, ...], table: dict[str, bool], /) -> bytes:
    """One byte for each instruction: whether `table[opname]` is true."""

# --- code objects (csrc/describe/code_lines.c) ---

def last_line(code: CodeType, /) -> int:
    """The last line of a code object and of those within it; 0: they have none."""

# --- nodes in words (csrc/describe/node_words.c) ---

def node_words(
    positional: tuple[Any, ...],
    named: dict[str, Any],
    node: type,
    other: Callable[[Any], str],
    /,
) -> str:
    """The arguments of an FX node as they would stand in a call. An instance of `node` has its
    `name`; short strings, floats, numbers of a machine's size, True, False and None their repr;
    tuples and lists, and subclasses of them, brackets around what they hold. `other` says the
    rest."""

# --- what may be a secret (csrc/support/sieve.c)

FOLLOWS_ANYTHING: Final[int]
"""Whatever follows a pattern, it may be a secret."""
FOLLOWS_RANDOM: Final[int]
"""Letters and digits that look random must follow."""
FOLLOWS_VALUE: Final[int]
"""The pattern is a name, in letters of any case, that ends there: a value follows."""

@final
class Sieve:
    """Lets texts through that surely hold none of its patterns: bytes, at least three, what must
    follow them, and a bit that says of which kind they are (see `stepper.recording.secrets`)."""

    def __new__(cls, patterns: list[tuple[bytes, int, int]]) -> Sieve: ...
    def kept(self, values: list[Any], /) -> list[int]:
        """The places of the texts and bytes among values that may hold a pattern, and of lists,
        tuples and dicts that hold such."""
    def kinds(self, text: str, /) -> int:
        """The kinds of the patterns that a text may hold."""

def shortened(text: str, most: int, /) -> str:
    """A text in at most `most` characters, with `…` for what was cut: no word, or so much of it
    that what looks like a secret can be recognized (csrc/support/shorten.c)."""

def shortest(times: int, function: Callable[..., Any], /, *arguments: Any) -> tuple[Any, int]:
    """What a function returns for some arguments, and the nanoseconds of the shortest of so many
    calls."""

def shortened_at(text: str, most: int, /) -> int:
    """How much of a text is kept when it has more than `most` characters."""

# --- the stack of frames (csrc/support/stack_chunk.c) ---

def keep_stack_chunk() -> None:
    """From now on CPython's last chunk of frames is kept for the next call that needs one, and not
    given back to the system at each return. Harmless when that is so already."""

def release_stack_chunk() -> None:
    """Have CPython give its chunks back again, if `keep_stack_chunk` has been called."""

# --- events (csrc/record/event_run.c) ---

@final
class EventRun:
    """Events that wait to be written. `flush` is called by the first that comes `quiet` seconds
    after the last `take`; `kinds` are all that there can be."""

    def __new__(
        cls, flush: Callable[[], object], quiet: float, kinds: tuple[str, ...]
    ) -> EventRun: ...
    def add(
        self,
        moment: int,
        kind: str,
        text: str,
        ref: int | None = None,
        frame: int | None = None,
        /,
    ) -> None:
        """Add an event; those of one moment stay in the order in which they come."""

    def add_at(self, steps: Steps[Any], kind: str, text: str, ref: int | None, /) -> None:
        """Add an event of the newest moment of `steps`, in its frame."""

    def add_late(
        self,
        moment: int,
        kind: str,
        text: str,
        ref: int | None = None,
        frame: int | None = None,
        /,
    ) -> None:
        """Add an event of an earlier moment, behind what else happened at that one."""

    def take(self) -> tuple[int, int, int, int, bytes, bytes] | None:
        """The events that wait, as a row of the table `events` (`stepper.recording.schema`); None:
        none waits."""

# --- what runs (csrc/evalframe/frame_hook.c) ---

def install_hook() -> None:
    """Be there whenever a Python function is called (PEP 523).

    TorchDynamo puts its own hook over this one while it is active, and so this one sees what Dynamo
    runs: transformed codes, resume functions, originals. A call costs some 30 to 50 ns more while
    it is installed, and nothing once it is removed.

    Raises:
        RuntimeError: another evaluator is there already, be it Dynamo's: two that pass frames on to
            each other never end.
    """

def remove_hook() -> None:
    """Put CPython's own evaluator back.

    Raises:
        RuntimeError: another evaluator has been put over the hook since.
    """

def put_hook_aside() -> bool:
    """Do without the hook until `put_hook_back`, while this thread captures nothing.

    Returns False, and does nothing, where the hook has anything to do for others: for another
    thread, an observer, another evaluator.
    """

def put_hook_back() -> None:
    """Have the hook again after `put_hook_aside`; nothing happens if it was not aside."""

def hook_installed() -> bool:
    """Whether `install_hook` was called, and not yet `remove_hook`. For tests."""

def set_observer(
    enter: Callable[[CodeType, Any], object] | None,
    leave: Callable[[CodeType, Any, bool], object] | None = None,
) -> None:
    """Tell `enter(code, tag)` and `leave(code, tag, raised)` about each call of a watched code.

    In whatever thread it is. Where `enter` returns False, the end of that call is not told. What
    they call themselves is not told, and what they raise goes to `sys.unraisablehook`. They are
    ordinary Python functions: have Dynamo skip their code, or it will compile them.
    """

def entering_call() -> tuple[dict[str, Any], dict[str, Any]]:
    """For use in `enter`: the arguments and free variables that the code begins with, by name, and
    its globals.

    Raises:
        RuntimeError: it is not being called by `enter`.
    """

def watch(code: CodeType, tag: object = None, *, inside: bool = False) -> None:
    """Count the calls of this code object, and tell the observer about them; `inside`: only about
    those that watched code makes.

    While there is none, the hook does not count: it may be in for another's sake, and whoever hears
    of calls in another way counts them with `count_call`. Only of this very object: a copy, like
    the one that a compiler made of it, is another.
    """

def unwatch(code: CodeType) -> None: ...
def count_call(code: CodeType) -> None:
    """Count a call of a watched code, for who hears of it without the hook being installed."""

def watched_calls(code: CodeType) -> int:
    """How often it was called since it is watched, or was until it was unwatched."""

# --- what runs in a frame's place (csrc/evalframe/frame_hook.c, csrc/evalframe/frame_replace.c) ---

def set_frame_callback(
    callback: _FrameCallback | Literal[False] | None,
    backend: object = None,
    nopython: bool = False,
    /,
) -> tuple[_FrameCallback | Literal[False] | None, object, bool]:
    """Whom this thread asks what to run in place of the functions that it calls.

    The answer is an entry, whose code runs in the frame's place, or None: the frame runs as it is.
    Before it is asked, the code's cache is looked through; an entry that holds is taken. False in
    place of a callback: only caches are looked through. None: nothing is.

    `callback(code, function, locals)` gets the arguments and the contents of free variables by
    name. It, and checks of entries, run without a callback in the thread. What it raises, the call
    raises. Generators and coroutines, and whatever is no function, run as they are unasked.

    `backend` is what the thread captures for: entries for another are passed over; None: for any.
    With `nopython`, a call is to become one graph: see `parts_will_do`.

    Returns what was set before, for `set_frame_callback(*before)`. For tests; all others have it
    set for the time of a call (`Capturing`).
    """

def current_backend() -> Any:
    """What this thread captures for; None: nothing, or whoever set the callback did not say."""

def parts_will_do() -> bool:
    """Whether an entry may run that captures only a part of its frame: what this thread calls need
    not become one graph."""

class Capturing:
    """Sets the thread's frame callback and backend for the time of a call, or of a `with` block,
    whatever ends it: see `set_frame_callback`."""

    callback: Any
    backend: Any
    nopython: bool
    def __new__(cls, callback: Any, backend: Any, nopython: bool = False) -> Self: ...
    def call(
        self, function: Callable[..., _R], args: tuple[Any, ...], kwargs: dict[str, Any], /
    ) -> _R: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *error: object) -> None: ...

def dynamo_callback_set_by(function: Callable[[Any], Any], /) -> None:
    """What sets Dynamo's frame callback in a thread, and returns what it was: a block that captures
    has Dynamo stay out."""

def set_skip(code: CodeType, mark: _Skip | None, unless_whole: bool = False) -> None:
    """What is not to be done for calls of this code.

    "capture": its cache is looked through, but the callback is not asked.
    "frame": it runs as it is; what it calls is seen to.
    "recursive": it runs as it is, and so does all that it calls.

    unless_whole: but for calls that are to become one graph.
    """

def get_skip(code: CodeType) -> _Skip | None: ...

@final
class ResumeCall:
    """The call of a function that a frame leaves to the hook."""

    @property
    def function(self) -> FunctionType:
        """What is to be called."""

    @property
    def args(self) -> tuple[Any, ...]:
        """With what; nothing once it has begun."""

def resume(function: FunctionType, /, *args: Any) -> ResumeCall:
    """What transformed code returns to have a function called once its frame has ended.

    To whoever called the frame, what the function returns is the frame's result.
    """

def finish(result: object, /) -> Any:
    """What the result of transformed code comes to, for a frame that did not run under the hook:
    the calls that `resume` stands for are made."""

def load_special(manager: object, name: str, /) -> Callable[..., object]:
    """A method that a `with` statement calls, looked up as it does and bound."""

def leave_resume_calls(flag: bool, /) -> bool:
    """Whether the hook gives the callers of this thread's frames the `ResumeCall` that a frame
    returns, instead of making it; returns what it was before."""

def traced() -> bool:
    """Whether a trace function of the program's (`sys.settrace`) follows this thread: then frames
    run as they are."""

def own_tracer(code: CodeType, /) -> None:
    """Trace functions with this code are stepper's own: they are to see what really runs."""

def force_helper(flag: bool, /) -> None:
    """For tests: run other code by calling a helper function, even where the frame can take it."""

# --- the cache (csrc/evalframe/: cache_entry.c, code_cache.c) ---

class CacheEntry:
    """One capture of a code object: what may run in its place, and when. Can be subclassed.

    It is kept by the cache that it is in, and keeps neither the code for which it was captured nor
    what it `dies_with`. But code objects are unknown to the garbage collector: what an entry does
    keep (its check, say) must not lead back to the original code, or neither is ever freed.
    """

    code: Final[CodeType]
    """What runs."""
    check: Final[_Check]
    """`check(locals, globals)`: whether it may. One that raises has failed, and is reported."""
    guards: Final[tuple[tuple[Any, _Check], ...]]
    """The parts of the check, each with what stands for it in reports."""
    backend: Final[Any]
    """For which it was captured; None: for any."""
    hits: Final[int]
    reason: Final[Any]
    """What `invalidate` or `dies_with` was given, once it has ended; None until then."""

    def __new__(
        cls,
        original: CodeType,
        code: CodeType,
        check: _Check,
        guards: Iterable[tuple[Any, _Check]] = (),
        backend: object = None,
    ) -> Self:
        """
        Raises:
            ValueError: the code takes other arguments or has other free variables than the
                original, or one of them is a generator's or no function's.
        """

    @property
    def original(self) -> CodeType | None:
        """For which it was captured; None when that is gone."""

    @property
    def valid(self) -> bool:
        """Whether nothing has ended it."""

    def dies_with(self, object: object, reason: object = None, /) -> None:
        """End it as soon as the object dies, before its address can be another's.

        Raises:
            TypeError: the object cannot be referred to weakly.
            ValueError: the entry has ended.
        """

    def invalidate(self, reason: object = None, /) -> None:
        """End it: it leaves its cache and is never found again. The first reason counts."""

def set_lookup_listener(callback: _LookupListener | None) -> None:
    """Whom to tell of the lookup that a call makes in a cache with entries, when it is over and
    before what it has found runs.

    `callback(code, tried, locals, globals, backend, found, may_capture)`: the entries in the order
    in which they were tried, up to and beyond the one that was found, if one was; else whether the
    frame callback is asked next. It runs without one. What it raises, the call raises.
    """

@final
class CodeCache:
    """What was captured of one code object, in the order in which it is tried."""

    @property
    def code(self) -> CodeType | None:
        """Whose cache it is; None when that is gone, and the entries with it."""

    @property
    def entries(self) -> tuple[CacheEntry, ...]: ...
    def __len__(self) -> int: ...
    def add(self, entry: CacheEntry, /) -> None:
        """Put it before all others.

        Raises:
            ValueError: it was captured for other code, is in a cache, or has ended.
        """

    def remove(self, entry: CacheEntry, /) -> None:
        """Take it out; it does not end, and can be added again.

        Raises:
            ValueError: it is not in this cache.
        """

    def clear(self) -> None: ...
    def lookup(
        self, locals: dict[str, Any], globals: dict[str, Any], backend: object = None
    ) -> CacheEntry | None:
        """What a call with these would find: the first entry that is for the backend and whose
        check passes. It is counted and moves to the front."""

def code_cache(code: CodeType, /) -> CodeCache:
    """The cache of this code object, which lives as long as the code does."""

def code_caches() -> list[CodeCache]:
    """All caches that there are, empty ones too."""

def set_cache_listener(
    listener: Callable[[_CacheEvent, CacheEntry, Any], object] | None, /
) -> None:
    """Tell `listener(event, entry, detail)` what happens to entries, when it happens.

    The detail of "invalidated" is the reason, that of "error" the exception of a check; of the
    others it is None. Without a listener, a check's error goes to `sys.unraisablehook`.
    """

# --- what an object holds (csrc/support/fields.c) ---

def fields(object: object, /) -> dict[str, Any]:
    """The object's own attributes by name, to be read only, without running any code of its own.

    Unlike `__dict__` it leaves no dictionary in the object, which would make the program slower.
    """

# --- steps (csrc/record/: steps.c, trackers.c, mirror.c; csrc/describe/facts.c) ---

class Mirror:
    """A symbolic frame as the recorder saw it last. A subclass must not add fields."""

    id: Final[int]
    depth: Final[int]
    """0: the translated frame; else how many calls were inlined around it."""
    key: Final[Any]
    """The engine's translator."""
    parent: Any
    """The Mirror of the caller, None: there is none."""
    attempt: Any
    call_moment: Any
    ip: int
    """Index of the instruction of its newest step."""
    written: bool
    stores: bytes | None
    """For each instruction of the code, whether it can change which value a local has; None: the
    frame has not been written."""

    def __init__(
        self,
        id: int,
        key: object,
        make_code: Callable[[Any], object],
        parent: Mirror | None,
        attempt: object,
        call_moment: int | None,
    ) -> None: ...
    @property
    def code(self) -> Any:
        """What `make_code(key)` returned when it was first asked for."""

    @property
    def stack(self) -> list[Any]:
        """The trackers on its stack at its newest step."""

class NodeMarks:
    """Which nodes of some FX graphs came and went since they were reported."""

    graphs: dict[int, Any]
    """The graphs that have been met, by id."""
    known: dict[Any, Any]
    """The nodes that were reported, and as what."""
    inserted: dict[Any, None]
    """Those that came, in order."""
    removed: list[Any]
    """Those that were known and went."""
    changed: bool
    """Whether there is anything to report."""

    def __init__(self) -> None: ...
    def is_ours(self, graph: Any, /) -> bool:
        """Whether a graph that was not met yet is one of those; for subclasses."""

    def sync(self) -> None:
        """Report what came and went; for subclasses."""

class NodeRecords(NodeMarks):
    """Puts them into records."""

    def __init__(
        self,
        record: Callable[..., Any],
        node: type,
        argument: Callable[[Any], str],
        called: Callable[[Any], str],
        meta: Callable[[Any], tuple[Any, str]],
        source: Callable[[Any], str],
        fake: type,
        fake_device: str,
        strided: object,
        modes: Callable[[], bool],
        tensor_meta: Callable[..., Any],
    ) -> None:
        """`record` makes a `stepper.model.trace.Node` of its first fields, up to `source`. Words
        come from `argument` (see `node_words`, which has `node`, too), from `called` of a target
        that is no str, from `source` of a placeholder, and from `meta` of an example value, behind
        its TensorMeta if it has one.

        But the TensorMeta of what is exactly of the type `fake` and has plain numbers for sizes,
        and for strides if its layout is `strided`, is what `tensor_meta` answers to dtype, shape,
        stride, device, requires_grad, layout and an empty str: unless there are `modes` of torch
        functions. Its device is in the field `fake_device`."""

    def record(self, node: Any, id: int, attempt: int, moment: int, /) -> Any:
        """The record of a node that was not known, of a graph in `graphs`."""

    def target(self, node: Any, /) -> str:
        """What a node calls, in words."""

    def arguments(self, node: Any, /) -> str:
        """A node's arguments as text, cut where it is long."""

    def rank(self, node: Any, /) -> float:
        """A number between those of the nearest known nodes of its graph."""

    def forget(self) -> None:
        """Forget all nodes and graphs."""

_M = TypeVar("_M", bound=Mirror)

ORDINARY: Final[int]
"""The flavour of most trackers."""
CONSTANT: Final[int]
"""Can neither change nor have children; equal ones need not be told apart."""
LAZY: Final[int]
"""Stands for another tracker, once that is made."""
NOTHING: Final[int]
"""Is no value, like the NULL below a callable; all are the same."""

BY_ENGINE: Final[int]
"""The engine's `special` describes a tracker."""
BY_NAME: Final[int]
"""By what it stands for, and the trackers among its fields."""
AS_SEQUENCE: Final[int]
"""By the trackers in its field `items`."""
AS_LAZY: Final[int]
"""As what it stands for, once that is made, else by `special`."""
AS_CONSTANT: Final[int]
"""By its field `value`, if that is of a common type, else by `special`."""
AS_MAPPING: Final[int]
"""By the trackers in its field `items`, if that is an exact dict, else by `special`."""
AS_TENSOR: Final[int]
"""By its properties and its node, if its sizes are numbers, else by `special`."""
AS_SET: Final[int]
"""By the trackers that the keys in its field `items` stand for, if that is an exact dict."""
AS_PARTS: Final[int]
"""A range or a slice, by the three trackers in its field `items`."""
AS_CELL: Final[int]
"""By its name, and what was stored in it last."""

MAX_ITEMS: Final[int]
"""Children shown of one container; its true length is recorded beside them."""
MAX_TEXT: Final[int]
"""Characters of a string that are shown."""

@final
class Facts:
    """Descriptions of trackers, each equal one once.

    engine: see `stepper.debuggee.engine.Describer`, which asks and is asked.
    base: the class of all trackers.
    module, as_module: the class of all modules of the program's, and the packed
        `Value.attributes` of one that the compiler has not looked at yet.
    """

    lazies: dict[int, weakref.ref[Any]]
    """Lazy trackers that were described, by the address of the cache that will realize them."""

    def __init__(
        self, engine: object, base: type, module: type = ..., as_module: bytes = ...
    ) -> None: ...
    def describe(self, tracker: object, number: Callable[[Any], int], /) -> int:
        """The id of the tracker's description now. `number` gives a child's number."""

    def id_of(self, body: bytes, children: tuple[int, ...], /) -> int:
        """The id of a description, an encoded Value, that names these children."""

    def take(self) -> tuple[int, int, bytes] | None:
        """The descriptions that are new since the last time, whose ids follow each other: the
        first's id, how many there are, and a MessagePack list of them; None: there are none."""

KEYFRAME_EVERY: Final[int]
"""Moments: a state is rebuilt from at most so many deltas."""
MOMENTS_PER_COMMIT: Final[int]
"""After so many `Steps` wants them to be written."""

@final
class Steps(Generic[_M]):
    """Notes steps and makes moments of them."""

    top: _M | None
    """The innermost frame that is being interpreted; steps of other translators are ignored."""
    current: _M | None
    """The frame of the newest step; it may have been left since."""
    moment: int
    """Number of the newest moment."""
    waiting: int
    """Moments that were not taken yet."""
    away: int
    """Nanoseconds that `clock` leaves out: those of the steps noted here are added here, those for
    which the program stands still by the controller."""
    graph_changed: bool
    nodes_changed: bool
    """`on_graph` is to be called at the next step."""
    graph: NodeMarks | None
    """The graphs of the translation at work."""
    last_frame: int
    """The newest number of a frame."""
    records_frames: bool
    """Somebody wants to hear of frames; else they are only followed."""
    writes_frames: bool
    """Inlined calls are put down as rows and events instead of being handed on."""
    guards_of: Any
    """The attempt whose guards are marked, or None."""
    guards_lost: bool
    """The marks do not tell what there is: the whole set of guards is to be looked at."""
    times_guards: bool
    """Guards are being made, and each is marked."""

    def __init__(
        self,
        controller: object,
        describer: object,
        late_mutation_types: frozenset[type],
        on_graph: Callable[[], object],
        on_alert: Callable[[_M], object],
        on_adopt: Callable[[_M], object],
        on_error: Callable[[Exception], object],
        pack_blocks: Callable[[Any, list[Any]], bytes],
        speculation_text: Callable[[Any], str],
        write_keyframe: Callable[[int, bytes], object],
        flush: Callable[[], object],
    ) -> None:
        """
        controller: its `alert` says at each step whether `on_alert(frame)` is to be called.
        describer: see `stepper.debuggee.engine.Describer`.
        late_mutation_types: see `stepper.debuggee.engine.Engine`.
        on_adopt: a frame's first step; sets the frame's `stores`.
        on_error: a defect of ours; the step is over.
        pack_blocks: (translator, its block stack) as the schema wants it.
        flush: some thousands of moments wait to be taken.
        """

    def step(self, tx: object, behind: int = 0, /) -> None:
        """The translator is about to interpret an instruction, `behind` its instruction pointer.

        Reads `instruction_pointer`, `stack`, `symbolic_locals`, `block_stack` and
        `current_speculation` of it. Raises only what is no Exception.
        """

    def note_position(self, tx: object, /) -> None:
        """Note where `tx` is, by its stack alone; no moment is made."""

    def flush(self) -> None:
        """Turn all that was noted into moments."""

    def record_whole(self, frame: _M, /) -> None:
        """Record the whole state of a frame and its callers, of which nothing was recorded before,
        as the next moment; `moment` is left to be counted by the caller."""

    def touched(self, tracker: object, /) -> None:
        """The tracker is about to change: record what it was now, what it became with the next
        step."""

    def number(self, tracker: object, /) -> int:
        """The tracker's number; a new one is described with the next step."""

    def restart(self) -> None:
        """The next moment begins an attempt: it gets a keyframe."""

    def clear(self) -> None:
        """Let go of every tracker; what was noted and not recorded becomes moments without a
        change."""

    def add(self, frame: int, ip: int, delta: bytes | None, /) -> int:
        """A moment that is no step: recorded at once, after all that was noted; its number."""

    def clock(self) -> int:
        """The compiler's clock: nanoseconds that only go on while it works. Each moment has its
        instant on it."""

    def take(self) -> tuple[int, int, bytes] | None:
        """The moments since the last call: the first's number, how many, and encoded Moments; None
        when there are none."""

    def hear_frames(
        self,
        interpreters: str,
        make_code: Callable[[Any], object],
        entered: Callable[[_M], object],
        left: Callable[[_M], object],
        on_enter: Callable[[Any, Any], object],
        on_leave: Callable[[Any], object],
        /,
    ) -> None:
        """How frames are followed: an output has its translators, the innermost last, in its
        attribute `interpreters`; `make_code` see Mirror; `entered` and `left` are told of those
        inlined calls whose caller is the top frame; the others are left to `on_enter(output, tx)`
        and `on_leave(output)`, which see to `top` themselves."""

    def write_frames(
        self,
        facts_of: Callable[[Any], tuple[int, bytes, str]],
        event: Callable[..., object],
        begun: str,
        ended: str,
        /,
    ) -> None:
        """How inlined calls are put down, with `writes_frames`: `facts_of(code)` gives the number,
        `stores` and label of what `make_code` gave; `event` see EventRun.add, which is told that
        they have begun and ended as events of these kinds."""

    def take_frames(self, rows: list[Any], ends: list[Any], /) -> None:
        """Add the frames put down since the last call to two lists: the rows of those that began,
        one after the other; of those that ended whose rows were taken before, the last moment and
        the number."""

    def follow(self, attempt: Any, output: Any, /) -> None:
        """Follow the frames of an attempt, which has this output; or (None, None) nobody's."""

    def frame_entered(self, output: object, tx: object, /) -> None:
        """A translator begins to work for an output, and is not among its translators yet."""

    def frame_left(self, output: object, /) -> None:
        """The innermost of an output's translators is about to end."""

    def watch_guards(self, attempt: Any, at_once: bool, fresh: bool, /) -> None:
        """Mark the guards of an attempt from now on, or (None) of nobody; what was marked is
        forgotten. `at_once`: each calls `on_graph` with the next step. `fresh`: it has none yet."""

    def node_inserted(self, node: object, /) -> None:
        """A node joins some graph of torch.fx."""

    def node_removed(self, node: object, /) -> None:
        """A node leaves some graph of torch.fx."""

    def guard_added(self, guards: object, /) -> None:
        """A guard is about to be added to this GuardsSet, if it is not in there: with the next step
        it will be looked for."""

    def take_guards(self) -> list[Any]:
        """The guards that came since the last call, in order, five values for each: guard, moment,
        frame (0: none), and the code and instruction that this frame was at; the code is None in
        the frame of another attempt."""

    def guards_seen(self, contents: dict[Any, None], /) -> None:
        """All guards in this dictionary have been reported; nothing is lost any more."""

    def guard_made(self, guard: object, /) -> None:
        """A guard is about to be made, of a cache entry or of a copy of one."""

    def take_made(self) -> list[Any]:
        """The guards whose making began since the last call, in order, three values for each:
        guard, `clock`, `away`."""

# --- checks of cache entries (csrc/evalframe/guard_program.c) ---

STEP_LOCALS: Final[int]
STEP_GLOBALS: Final[int]
STEP_SCOPE: Final[int]
STEP_CONSTANT: Final[int]
STEP_ATTR: Final[int]
STEP_ITEM: Final[int]
STEP_CLASS: Final[int]
STEP_OWN_DICT: Final[int]
STEP_CALL: Final[int]
TEST_TRUE: Final[int]
TEST_OBJ_ID: Final[int]
TEST_TYPE_ID: Final[int]
TEST_NN_MODULE: Final[int]
TEST_HAS: Final[int]
TEST_LACKS: Final[int]
TEST_LACKS_ATTR: Final[int]
TEST_LENGTH: Final[int]
TEST_EQUALS: Final[int]
TEST_FLOAT: Final[int]
TEST_SAME: Final[int]
TEST_CALL: Final[int]
TEST_PYTHON: Final[int]
TEST_EITHER: Final[int]
TEST_KEYS: Final[int]

class NamespaceCheck:
    """`check()` says whether names mean what they meant, and functions are what they were.

    See csrc/evalframe/namespace_check.c."""

    def __new__(
        cls,
        namespaces: list[tuple[dict[str, object], dict[str, object]]],
        functions: list[FunctionType],
    ) -> Self:
        """
        Args:
            namespaces: dictionaries, each with what some of its names should mean; this class
                stands for a name that should not be there.
            functions: of which code and defaults should stay what they are.
        """

    def __call__(self) -> bool: ...

class ClassCheck:
    """`check()` says whether a class still has what was found in it.

    See csrc/evalframe/class_check.c."""

    def __new__(cls, of: type, recheck: Callable[[type], bool]) -> Self:
        """
        Args:
            of: the class; it is not held.
            recheck: looks again, when something has been changed in the class or a base of it.
        """

    def __call__(self) -> bool: ...

def class_name(cls: type, /) -> str:
    """A class's name, as what Python raises has it: with the module, of most that C makes."""

class GuardProgram:
    """Checks conditions about values, in order: `program(L, G)` says whether all hold.

    An `Exception` says that they do not; others are the caller's.
    """

    def __new__(
        cls,
        values: list[tuple[int, int, Any]],
        conditions: list[tuple[int, int, Any]],
        scope: dict[str, Any],
    ) -> Self:
        """
        Args:
            values: for each value, how it is reached: the step, the index of an earlier value from
                which it begins, and the key: the name of an attribute, the key of an item, the name
                in the scope.
            conditions: for each, the test, the index of the value, and the operand: an id, a bool,
                an element, a name, a length, an equal value, a float, the index of another value,
                a tuple of indexes, or a function of `L` and `G`.
            scope: where names are looked up, at each check.

        Raises:
            ValueError: an index or an operand that does not fit.
        """

    def __call__(self, f_locals: dict[str, Any], f_globals: dict[str, Any], /) -> bool: ...

# --- leaf checks of guards (csrc/evalframe/leaf_checks.c) ---

def check_obj_id(object: object, id: int, /) -> bool:
    """Whether it is the object of this id."""

def check_type_id(object: object, id: int, /) -> bool:
    """Whether its class is the one of this id."""

def no_aliasing(*objects: object) -> bool:
    """Whether no two are the same object."""

def check_nn_module(module: object, training: bool, /) -> bool:
    """Whether a module, known by its identity, is in this mode and calling it is calling its
    `forward`.

    Raises:
        AttributeError: it has no attributes of its own.
    """

def instance_dict(object: object, /) -> dict[str, Any]:
    """An object's own attributes, without running code of its class.

    Raises:
        AttributeError: it has none.
    """

# --- where another thread is (csrc/support/thread_frames.c) ---

def thread_frames(ident: int, most: int, /) -> list[tuple[str | None, str, str, int]]:
    """Module, function, file and line of at most so many frames of a thread, innermost first;
    empty: there is no such thread. No frame is kept, and nothing else runs meanwhile."""

# --- where the program is (csrc/support/program_stack.c) ---

@final
class ProgramStack(Generic[_R]):
    """`stack(frame)`: the places of a frame and of those that led to it, outermost first, without
    those in files of the machinery."""

    def __new__(
        cls,
        is_machinery: Callable[[str], bool],
        make: Callable[[str, int, str], _R],
        most: int,
        /,
    ) -> Self:
        """`is_machinery` is asked about each file, and `make` for each place (its file, line and
        function), once for thousands of times that they are met; `most`: so many places, the
        innermost."""

    def __call__(self, frame: FrameType | None, /) -> tuple[_R, ...]: ...

# --- functions that start and end processes (csrc/support/processes.c) ---

def hook_processes(
    environment: Callable[[Any], object],
    leaving: Callable[[int], object],
    ended: Callable[[int, int], object],
    forked: Callable[[int], object],
    /,
) -> None:
    """Put hooks into the functions by which Python code starts, replaces, leaves and waits for
    processes; the functions stay the same objects. What a hook raises is dropped.

    Args:
        environment: is given the environment of a process that is to be started, a list of bytes or
            a mapping (None: that of `os.environ`, as a mapping), and returns the one that it gets.
        leaving: called before `os._exit`, with its argument.
        ended: called with what `os.waitpid` returns.
        forked: called in the parent with what `os.fork` returns.
    """
