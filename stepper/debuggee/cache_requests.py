"""Answers to what a front end asks of the compiler's cache.

To look is possible while the program runs: the engine sees to it that nothing is compiled
meanwhile. Whatever runs code of the program's, or changes the cache, is done at a stop, in the
program's own thread; output is caught and hangs are interrupted, as for an evaluation.
"""

from __future__ import annotations

from collections.abc import Callable

from stepper.debuggee.engine import Cache
from stepper.debuggee.evaluator import SECONDS, Timeout, caught, describe_exception
from stepper.model.cache import CacheData, CacheError, RunResult
from stepper.model.control import (
    CacheRequest,
    CheckCache,
    CloneEntry,
    EditEntry,
    FetchCode,
    FindWitness,
    InspectEntry,
    ListCache,
    MarkDynamic,
    RegisterEntry,
    RelaxGuard,
    RemoveEntry,
    Response,
    RunEntry,
    SkipCall,
    StepEntry,
)

RUN_SECONDS = 60.0
"""How long the program's code may take that is run on request."""

_MAKE_READY = SECONDS * 10

_CHANGES = (RegisterEntry, RemoveEntry, MarkDynamic, RelaxGuard, SkipCall)
_RUNS_CODE = (CheckCache, RunEntry, FindWitness)
_AT_A_STOP = (*_RUNS_CODE, *_CHANGES)
_NOTHING = "nothing has been compiled yet: the compiler is not imported"
_RUNS = "the program is running: pause it first, this needs it to stand still"


def answer(cache: Cache | None, request: CacheRequest, *, stands: bool) -> Response:
    """The answer to a request. `stands`: the program stands still, in this thread."""
    seq = request.seq
    if cache is None:
        return Response(seq, ok=False, text=_NOTHING)
    if not stands and isinstance(request, _AT_A_STOP):
        return Response(seq, ok=False, text=_RUNS)
    seconds = RUN_SECONDS if isinstance(request, _RUNS_CODE) else _MAKE_READY

    def ask() -> Response:
        if not stands:
            return _response(seq, _ask(cache, request), "")
        return _response(seq, *caught(lambda: _ask(cache, request), seconds))

    return _answer(seq, seconds, ask)


def intervention(request: CacheRequest, response: Response) -> str:
    """What a request has changed in what the program does, in words; empty: nothing."""
    if not response.ok or not isinstance(request, _CHANGES):
        return ""
    if isinstance(request, RegisterEntry):
        return f"entry {request.entry} is put into the cache"
    return response.text


def prepare(
    cache: Cache | None, request: StepEntry, *, stands: bool
) -> tuple[Response, Callable[[], str]]:
    """The answer to the wish to step an entry, and, if it is no refusal, what runs the entry: it
    gives the result in words, and raises what the entry's code raises."""
    seq = request.seq
    ready: list[Callable[[], str]] = []
    if cache is None or not stands:
        text = _NOTHING if cache is None else _RUNS
        return Response(seq, ok=False, text=text), str

    def make() -> Response:
        (beware, run), printed = caught(
            lambda: cache.stepping(request.entry, request.arguments), _MAKE_READY
        )
        ready.append(run)
        return Response(seq, text=beware, printed=printed)

    return _answer(seq, _MAKE_READY, make), ready[0] if ready else str


def _answer(seq: int, seconds: float, ask: Callable[[], Response]) -> Response:
    """What `ask` says, or why it cannot be done."""
    try:
        return ask()
    except CacheError as error:
        return Response(seq, ok=False, text=str(error))
    except Timeout:
        return Response(seq, ok=False, text=f"interrupted after {seconds:g} s: it took too long")
    except KeyboardInterrupt:
        return Response(seq, ok=False, text="interrupted by Ctrl-C")
    except BaseException as error:  # of the program's code; SystemExit does not end it here
        return Response(seq, ok=False, text=describe_exception(error))


def _ask(cache: Cache, request: CacheRequest) -> CacheData | str:
    match request:
        case ListCache(function=function):
            return cache.listing(function)
        case InspectEntry(entry=entry):
            return cache.view(entry)
        case FetchCode(entry=entry):
            return cache.code(entry)
        case CheckCache(code=code, arguments=text, backend=backend, compare=compare):
            return cache.check(code, text, backend, compare)
        case RunEntry(entry=entry, arguments=text, compare=compare):
            return cache.run(entry, text, compare)
        case CloneEntry(entry=entry, drop=drop, add=add):
            return cache.clone(entry, drop, add)
        case EditEntry(entry=entry, bytecode=text):
            return cache.edit(entry, text)
        case RegisterEntry(entry=entry):
            return cache.register(entry)
        case RemoveEntry(entry=entry):
            return cache.remove(entry)
        case FindWitness(entry=entry, guard=guard, arguments=text):
            return cache.find_witness(entry, guard, text)
        case MarkDynamic(source=source, dim=dim, strict=strict):
            return cache.mark_dynamic(source, dim, strict)
        case RelaxGuard(entry=number, drop=drop):
            return cache.relax(number, drop)
        case SkipCall():
            return cache.skip()


def _response(seq: int, data: CacheData | str, printed: str) -> Response:
    if isinstance(data, str):
        return Response(seq, text=data, printed=printed)
    if isinstance(data, RunResult):
        return Response(seq, text=data.text, printed=printed, data=data)
    return Response(seq, printed=printed, data=data)
