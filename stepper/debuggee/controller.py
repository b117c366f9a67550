"""Whether the program stops, and what happens while it stands still.

The idea. The program's own thread, in the middle of Dynamo's interpreter, calls `at_moment`; to
stop is not to return from it. While it stands there, it serves the front end's requests itself, so
that an expression is evaluated on the very thread and under the very context (fake mode, tracing
context, grad mode) that the tracing has.

A second thread, the channel's, only reads. While the program runs it deals with requests itself;
while the program stands, it hands them over in a queue. Which of the two holds is decided under
one lock, so no request falls in between.

Cost. An engine calls `at_moment` only while `alert` is true. It is true while something can
stop at an instruction: a motion that is not done, a request to pause, an instruction breakpoint.
Occurrences (a guard, a graph break …) are rare and always reported to `occurred`.

What ends it. When the front end goes away, the program runs on and the recording continues. When
it detaches, the recording is closed too. In a forked child everything is let go at once.
"""

from __future__ import annotations

import _thread
import contextlib
import sys
import time
from collections.abc import Callable, Collection, Iterator
from queue import Empty, SimpleQueue

import msgspec

from stepper import _C
from stepper.debuggee.breakpoints import BreakpointTable, Hit
from stepper.debuggee.cache_requests import answer, intervention, prepare
from stepper.debuggee.channel import Channel
from stepper.debuggee.engine import Cache, Engine, Recorder
from stepper.debuggee.evaluator import describe_exception, evaluate, shorten
from stepper.debuggee.occurrence import Subject
from stepper.debuggee.position import own_stack, position
from stepper.debuggee.program_names import ProgramNames, program_frame
from stepper.debuggee.threads import interrupt_program, main_thread, thread_name
from stepper.model.breakpoint import Breakpoint
from stepper.model.cache import CacheError
from stepper.model.control import (
    BreakpointChanged,
    Compiling,
    Detach,
    Evaluate,
    ForkTranslation,
    Jump,
    Locate,
    Notice,
    Pause,
    Request,
    Response,
    Resume,
    Running,
    SetBreakpoints,
    StepEntry,
    Stopped,
    Terminate,
)
from stepper.model.method_names import Entered
from stepper.model.program import Code, PythonFrame
from stepper.model.stepping import Goal, Motion, Place
from stepper.model.trace import EventKind, MomentId

_NOTED_LENGTH = 200
"""Characters of what was run at a stop that the recording notes."""
_SPARE_RECURSION = 400
"""Calls that serving at a stop may need where the program itself has none left."""


_BEFOREHAND = frozenset({EventKind.RECOMPILE, EventKind.LOOKUP, EventKind.EXECUTE})
"""Occurrences that stop at the next moment."""
_OUTSIDE = frozenset({EventKind.INVALIDATE, EventKind.EVICT})
"""Occurrences at which the program is elsewhere than what was recorded last."""


class Controller:
    """Decides at each moment and occurrence whether to stop, and stands still."""

    def __init__(
        self,
        channel: Channel | None,
        *,
        breakpoints: tuple[Breakpoint, ...] = (),
        stop_at_entry: bool = False,
        on_detach: Callable[[], None] = lambda: None,
    ) -> None:
        self.alert = False
        """Whether `at_moment` wants to be called; read by the recorder at every step."""
        self.wanted: Collection[EventKind] = ()
        """The kinds of occurrences at which a breakpoint stops; read by the recorder."""
        self.passing = False
        """Whether the interpreter repeats what has been seen: nothing stops meanwhile."""
        self.stood = 0.0
        """Seconds that the program has stood still, in all."""
        self._channel = channel
        self._on_detach = on_detach
        self._breakpoints = BreakpointTable(breakpoints)
        self._engine: Engine | None = None
        self._recorder: Recorder | None = None
        self._goal: Goal | None = None
        self._goals_left = 0
        self._pause = "entry" if stop_at_entry else ""
        self._pause_text = ""
        self._leaving = False
        self._expected: tuple[Hit, str] | None = None
        """A breakpoint that was hit and stops at the next moment."""
        self._lock = _C.ReentrantLock()
        """Held by the one thread that stands still."""
        self._asides = 0
        """How many stops there are at which something is run by hand, each within the one before;
        only the outermost ends the session."""
        self._ending = False
        """The user has ended the program."""
        self._untold: Callable[[], None] | None = None
        """To be called at the next moment."""
        self._look: Callable[[], bool] | None = None
        """See `before_each`."""
        self._midst = False
        """The stop is in the midst of an instruction."""
        self._jumped = False
        """The frame that stands goes on elsewhere."""
        self._mode = _C.ReentrantLock()
        """Guards the hand-over of requests."""
        self.standing: int | None = None
        """The thread that stands still; C reads it (csrc/record/moves.c)."""
        self._kept: dict[str, object] = {}
        self._requests: SimpleQueue[Request | None] = SimpleQueue()
        if channel is not None:
            channel.receive = self._receive
        self._update_alert()

    def attach(self, engine: Engine, recorder: Recorder) -> None:
        """Say whom to ask for names and places; before the first moment."""
        self._engine = engine
        self._recorder = recorder

    @property
    def listens(self) -> bool:
        """Whether a front end is there to stop for."""
        return self._channel is not None and self._channel.alive

    @property
    def breakpoints(self) -> tuple[Breakpoint, ...]:
        """Those that are set."""
        return self._breakpoints.all

    @property
    def stands(self) -> bool:
        """Whether this thread stands still: what runs in it was asked for at the stop."""
        return self.standing == _thread.get_ident()

    # -- what the recorder calls -----------------------------------------------------------------

    def at_moment(
        self, moment: MomentId, frame: int, attempt: int, depth: int, code: Code, ip: int
    ) -> None:
        """The interpreter is about to run an instruction. Blocks while the program stands still.

        Raises:
            KeyboardInterrupt: the user ended the program at the stop.
        """
        if self._untold is not None:
            tell, self._untold = self._untold, None
            tell()
        if self._look is not None and self._look():
            return
        if self.passing and not self._leaving:
            self.keep_reading()
            return
        if self._goal is None and not self._pause and self._expected is None:
            armed = self._breakpoints.armed.get(code.id)
            if armed is not None and ip not in armed and not self._leaving:
                self.keep_reading()
                return
        if self.standing == _thread.get_ident():
            return  # something that an evaluation started
        self.keep_reading()
        if self._leaving:
            self._leave()
            return
        if self._expected is not None:
            self._stop_at(moment, *self._expected)
        else:
            self._judge(moment, code, ip)
        if self._jumped:
            self._jumped = False
            assert self._engine is not None
            self._engine.jumped()

    def _judge(self, moment: MomentId, code: Code, ip: int) -> None:
        """Stop at an instruction, if anything wants that."""
        hit = self._breakpoints.hit_at(code, ip, self._names, self._entered)
        reason = self._pause
        if not reason and self._goal is not None:
            assert self._recorder is not None
            place = self._recorder.place()
            if self._goal.reached(place):
                self._goals_left -= 1
                if self._goals_left <= 0:
                    reason = "step"
                else:
                    self._goal = Goal(self._goal.motion, place, self._goal.line)
        if hit is not None and reason != "jump":  # which says what it comes to
            self._stop_at(moment, hit, "")
        elif reason:
            self._stop(moment, reason, self._pause_text)

    def occurred(self, kind: EventKind, moment: MomentId, text: str, subject: Subject) -> None:
        """Something happened while an instruction was interpreted. Blocks like `at_moment`."""
        if kind not in self._breakpoints.wanted or self.standing == _thread.get_ident():
            return
        if self.passing and not self._leaving:
            return
        if self._leaving:
            self._leave()
            return
        hit = self._breakpoints.hit_by(kind, subject, self._names)
        if hit is None:
            return
        if kind in _BEFOREHAND:
            # It is known before the first moment of what it is about.
            self._expected = (hit, text)
            self._update_alert()
        else:
            self._midst = True
            try:
                self._stop_at(moment, hit, text, own_stack() if kind in _OUTSIDE else ())
            finally:
                self._midst = False

    # -- what others in this process ask for -----------------------------------------------------

    def request_stop(self, reason: str, text: str = "") -> None:
        """Stop at the next moment."""
        if self.listens:
            self._pause, self._pause_text = reason, text
            self._update_alert()

    def at_next_moment(self, tell: Callable[[], None]) -> None:
        """Call `tell` before the next instruction: it has to tell something that has happened where
        the program cannot stand still."""
        self._untold = tell
        self._update_alert()

    def before_each(self, look: Callable[[], bool] | None) -> None:
        """Call this at each moment from now on, before anything stops there, and stop nowhere when
        it returns true; None: no more."""
        self._look = look
        self._update_alert()

    def add_breakpoint(self, breakpoint: Breakpoint) -> None:
        """Set one more breakpoint from inside the program."""
        self._breakpoints.add(breakpoint)
        self._update_alert()

    def notice(self, text: str) -> None:
        """Tell the user something, if there is a front end."""
        if self._channel is not None:
            self._channel.send(Notice(text=text))

    def compiling(self, *, done: bool) -> None:
        """Tell the front end, if there is one, that the backend begins or has ended."""
        if self._channel is not None:
            self._channel.send(Compiling(done=done))

    def let_go(self) -> None:
        """Never stop again."""
        self._breakpoints.replace(())
        self._goal = None
        self._pause = ""
        self._expected = None
        self._leaving = False
        self.alert = self._look is not None

    def before_fork(self) -> None:
        """End the reading thread: a fork must find the program's own threads only."""
        if self._engine is not None:
            self._engine.before_fork()
        if self._channel is not None and self._channel.reads:
            self._channel.pause_reading()

    def after_fork(self) -> None:
        """In the parent: have the next moment read on, where nobody does before (`keep_reading`).
        Not at once, since Python counts threads just after this."""
        if self._engine is not None:
            self._engine.after_fork()
        self._update_alert()

    def keep_reading(self) -> None:
        """Have somebody hear the front end, where a fork has ended that. Not between a fork and
        its return."""
        channel = self._channel
        if channel is not None and channel.alive and not channel.reads:
            channel.start_reading()
        # Also when the reading has begun elsewhere: else every instruction is shown for nothing.
        self._update_alert()

    def abandon(self) -> None:
        """In a forked child: the session is the parent's."""
        self.let_go()
        self.standing = None
        if self._channel is not None:
            self._channel.abandon()
            self._channel = None

    # -- standing still --------------------------------------------------------------------------

    def _stop_at(
        self, moment: MomentId, hit: Hit, text: str, stack: tuple[PythonFrame, ...] = ()
    ) -> None:
        bp = hit.breakpoint
        if hit.error:
            text = f"the condition of breakpoint {bp} could not be evaluated: {hit.error}"
        if hit.error or bp.once:
            self._send(BreakpointChanged(id=bp.id, removed=bp.once, text=hit.error))
        self._stop(moment, "breakpoint", text or str(bp), bp.id, stack)

    def _stop(
        self,
        moment: MomentId,
        reason: str,
        text: str,
        breakpoint: int | None = None,
        stack: tuple[PythonFrame, ...] = (),
    ) -> None:
        if not self.listens or self._recorder is None:
            self._forget_goal()
            return
        self._lock.during(self._stop_with_lock, moment, reason, text, breakpoint, stack)
        if self._leaving:
            self._leave()

    def _stop_with_lock(
        self,
        moment: MomentId,
        reason: str,
        text: str,
        breakpoint: int | None,
        stack: tuple[PythonFrame, ...],
    ) -> None:
        assert self._recorder is not None
        limit = sys.getrecursionlimit()
        # This frame fits, so the old limit can be restored in it.
        sys.setrecursionlimit(limit + _SPARE_RECURSION)
        try:
            self._forget_goal()
            moment = self._recorder.stopping(moment, f"{reason}: {text}" if text else reason)
            hits = self._breakpoints.hits
            self._stand(Stopped(moment, reason, text, breakpoint, thread_name(), hits, stack))
        finally:
            sys.setrecursionlimit(limit)

    def _stand(self, message: Stopped) -> None:
        assert self._recorder is not None
        steps = self._recorder.steps
        began, away = time.monotonic(), steps.away
        self._mode.during(setattr, self, "standing", _thread.get_ident())
        try:
            self._send(message)
            origin = self._recorder.place()
            while self._serve(self._next_request(), origin, message):
                pass
        finally:
            stood = time.monotonic() - began
            self.stood += stood
            steps.away = away + int(stood * 1e9)
            self._mode.during(self._stand_no_more)
            self._update_alert()
            self._send(Running())

    def _stand_no_more(self) -> None:
        self.standing = None
        self._refuse_the_rest()

    def _next_request(self) -> Request | None:
        self.keep_reading()
        while True:
            if not self.listens and self._requests.empty():
                return None
            try:
                # Without a timeout a signal handler would still run; with it, a fork in an
                # evaluation cannot leave this thread waiting for a reader that is gone.
                return self._requests.get(timeout=1.0)
            except Empty:
                self.keep_reading()

    def _refuse_the_rest(self) -> None:
        while True:
            try:
                request = self._requests.get_nowait()
            except Empty:
                return
            if request is not None:
                self._while_running(request)

    def _serve(self, request: Request | None, origin: Place, message: Stopped) -> bool:
        """Deal with a request at a stop, which was told with `message`; False when the program is
        to run on."""
        match request:
            case None:
                self.let_go()
                return False
            case Resume(seq=seq, motion=motion, line=line, count=count):
                if motion is not Motion.CONTINUE:
                    self._goal = Goal(motion, origin, line)
                    self._goals_left = max(count, 1)
                self._send(Response(seq))
                return False
            case Evaluate(seq=seq, expression=expression, frame=frame):
                self._send(self._evaluate(seq, expression, frame))
            case ForkTranslation():
                return not self._fork(request)
            case Jump():
                return not self._jump(request)
            case Terminate(seq=seq):
                self._send(Response(seq))
                self.let_go()
                self._ending = True
                return self._end_program()
            case StepEntry():
                return self._step_aside(request, message)
            case Detach(seq=seq):
                self._send(Response(seq))
                self.let_go()
                self._leaving = True
                return False
            case Pause(seq=seq) | Locate(seq=seq):
                self._send(Response(seq, ok=False, text="the program stands still already"))
            case SetBreakpoints():
                self._set_breakpoints(request)
                if self._engine is not None:
                    self._engine.breakpoints_changed()
            case _:
                response = answer(self._cache, request, stands=True)
                if done := intervention(request, response):
                    self._intervened(done)
                self._send(response)
        return True

    def _intervened(self, what: str) -> None:
        """Note that from here on the run is not what it would have been."""
        if self._recorder is not None:
            self._recorder.occurred(EventKind.INTERVENTION, what, None)
            self._recorder.commit()

    def _fork(self, request: ForkTranslation) -> bool:
        """Whether the program is to run on, to go back."""
        assert self._engine is not None
        try:
            text = self._engine.fork(request)
        except LookupError as error:
            self._send(Response(request.seq, ok=False, text=str(error)))
            return False
        self._intervened(text)
        self._send(Response(request.seq, text=text))
        return True

    def _jump(self, request: Jump) -> bool:
        """Whether the program is to run on, to where the frame goes on."""
        assert self._engine is not None
        try:
            if self._midst:
                raise LookupError(
                    "the program stands in the midst of an instruction, whose work is half done: "
                    "step to the next (s), or break at a line (b FILE:LINE), and jump from there"
                )
            text = self._engine.jump(request.line)
        except LookupError as error:
            self._send(Response(request.seq, ok=False, text=str(error)))
            return False
        self._intervened(text)
        self._send(Response(request.seq, text=text))
        self._jumped = True
        self._pause, self._pause_text = "jump", text
        return True

    @staticmethod
    def _end_program() -> bool:
        """As Ctrl-C would, wherever the program stands; never true."""
        if _thread.get_ident() == main_thread():
            raise KeyboardInterrupt
        interrupt_program()
        return False

    # -- what is stepped by hand at a stop -------------------------------------------------------

    def _step_aside(self, request: StepEntry, message: Stopped) -> bool:
        """Step an entry's code, and stand here again; False when the program is to run on."""
        response, run = prepare(self._cache, request, stands=True)
        self._send(response)
        if not response.ok:
            return True
        with self._aside():
            self._pause = "step"
            self._update_alert()
            try:
                text = f"returned {run()}"
            except KeyboardInterrupt:
                text = "was interrupted"
            except CacheError as error:
                text = f"was not stepped: {error}"
            except BaseException as error:  # of the program's code; SystemExit does not end it here
                text = f"raised {describe_exception(error)}"
        if self._ending:
            return self._end_program()
        if self._leaving:
            return False
        text = f"entry {request.entry} {text}"
        self._send(msgspec.structs.replace(message, reason="back", text=text, breakpoint=None))
        return True

    @contextlib.contextmanager
    def _aside(self) -> Iterator[None]:
        """The program runs, as far as anybody can tell, and stands still again afterwards."""
        assert self._recorder is not None
        stood = self.stood
        self._mode.during(setattr, self, "standing", None)
        self._asides += 1
        self._send(Running())
        try:
            with self._recorder.nested_recording():
                yield
        finally:
            self._asides -= 1
            self._forget_goal()
            self.stood = stood
            self._recorder.commit()
            self._mode.during(setattr, self, "standing", _thread.get_ident())

    def _evaluate(self, seq: int, expression: str, frame: int | None) -> Response:
        if self._engine is None:
            return Response(seq, ok=False, text="no engine is installed: there is nothing to see")
        try:
            names = self._engine.namespace(frame)
        except LookupError as error:
            return Response(seq, ok=False, text=str(error))
        namespace = ProgramNames(names, program_frame(self._engine.is_program), self._kept)
        outcome = evaluate(expression, namespace, why_not=namespace.why_not)
        changed, said = namespace.keep()
        if outcome.acted or changed:
            told = shorten(" ".join(expression.split()), _NOTED_LENGTH)
            self._intervened(f"`{told}` was run at the stop")
        text = "\n".join(filter(None, (outcome.text, said)))
        return Response(seq, outcome.ok, text, outcome.printed)

    # -- requests while running ------------------------------------------------------------------

    def _receive(self, request: Request | None) -> None:
        self._mode.during(self._take_in, request)

    def _take_in(self, request: Request | None) -> None:
        if self.standing is not None:
            self._requests.put(request)
        elif request is None:
            self.let_go()
        else:
            self._while_running(request)

    def _while_running(self, request: Request) -> None:
        match request:
            case Pause(seq=seq, reason=reason):
                self._pause = reason
                self._update_alert()
                self._send(Response(seq))
            case SetBreakpoints():
                self._set_breakpoints(request)
            case Terminate(seq=seq):
                self.let_go()
                self._send(Response(seq))
                interrupt_program()
            case Detach(seq=seq):
                # The recording is the program's thread's to close: at its next moment or its end.
                self.let_go()
                self._leaving = True
                self.alert = True
                self._send(Response(seq))
            case Resume(seq=seq):
                self._send(Response(seq, ok=False, text="the program is running already"))
            case Evaluate(seq=seq):
                text = "the program is running: pause it to evaluate an expression"
                self._send(Response(seq, ok=False, text=text))
            case ForkTranslation(seq=seq):
                text = "the program is running: pause it in a translation to go back in it"
                self._send(Response(seq, ok=False, text=text))
            case Jump(seq=seq):
                text = "the program is running: pause it in a translation to jump"
                self._send(Response(seq, ok=False, text=text))
            case StepEntry():
                self._send(prepare(self._cache, request, stands=False)[0])
            case Locate(seq=seq):
                self._send(Response(seq, data=position()))
            case _:
                self._send(answer(self._cache, request, stands=False))

    @property
    def _cache(self) -> Cache | None:
        return self._engine.cache if self._engine is not None else None

    def _set_breakpoints(self, request: SetBreakpoints) -> None:
        self._breakpoints.replace(request.breakpoints)
        self._update_alert()
        self._send(Response(request.seq))

    # -- small things ----------------------------------------------------------------------------

    def _send(self, message: Response | Stopped | Running | BreakpointChanged) -> None:
        if self._channel is not None:
            self._channel.send(message)

    def _names(self) -> dict[str, object]:
        return self._engine.namespace(None) if self._engine is not None else {}

    def _entered(self) -> Entered | None:
        return self._recorder.entered_module() if self._recorder is not None else None

    def _leave(self) -> None:
        if self._asides or (self._engine is not None and self._engine.must_watch):
            return  # the recording is closed where the program goes on
        self.let_go()
        self._on_detach()

    def _forget_goal(self) -> None:
        self._goal = None
        self._pause = self._pause_text = ""
        self._expected = None
        self._update_alert()

    def _update_alert(self) -> None:
        self.wanted = self._breakpoints.wanted
        channel = self._channel
        unread = channel is not None and channel.alive and not channel.reads
        self.alert = bool(
            self._goal is not None
            or self._pause
            or self._leaving
            or self._expected is not None
            or self._untold is not None
            or self._look is not None
            or self._breakpoints.on_instructions
            or unread
        )
