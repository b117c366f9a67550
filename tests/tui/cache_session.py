"""A session whose program is played by the test, and has a cache: one function of two entries, the
older of which depends on a class.
"""

from __future__ import annotations

import marshal
import sys
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TypeVar

import msgspec

from stepper.model.cache import (
    CacheCheck,
    CacheData,
    CachedCode,
    CacheEntry,
    CacheListing,
    Comparison,
    EntryCheck,
    EntryCode,
    EntryState,
    EntryView,
    GuardCheck,
    GuardRow,
    Lifeline,
    Origin,
    RunResult,
    Verdict,
)
from stepper.model.control import (
    CheckCache,
    CloneEntry,
    EditEntry,
    FetchCode,
    InspectEntry,
    ListCache,
    MarkDynamic,
    RegisterEntry,
    RemoveEntry,
    Request,
    Response,
    RunEntry,
)
from stepper.model.program import Code, Instruction, PythonFrame, UserLine
from tests.tui.test_session_panes import PlayedSession

FILE = "/home/ann/project/net.py"
_PLACE = PythonFrame(FILE, 27, "apply")
_LINE = UserLine(_PLACE)
GUARDS = (
    GuardRow(0, "GLOBAL_STATE", "", code=("___check_global_state()",)),
    GuardRow(1, "TENSOR_MATCH", "L['x']", expected="Tensor float32[4]", depth=1, user_line=_LINE),
    GuardRow(2, "ID_MATCH", "L['scaler']", expected="class Scaler", depth=1, user_line=_LINE),
)
_CODE = Code(
    0, "apply", "apply", FILE, 25, (Instruction(0, "RETURN_VALUE", None, "", 0, 25, 25, 0, 0),)
)
_LIFE = Lifeline("L['scaler']", "class Scaler", user_line=_PLACE, guards=(2,))
_OLDER = CacheEntry(
    1, 1, "0/0", position=0, backend="eager", guards=3, hits=2, graph_nodes=3, lifelines=(_LIFE,)
)
_NEWER = CacheEntry(2, 1, "0/1", position=1, backend="eager", guards=3, hits=0, graph_nodes=3)
_LOST = "TENSOR_MATCH L['x'] is no longer checked"

Asked = TypeVar("Asked", bound=Request)


class CacheSession(PlayedSession):
    """Answers what is asked of the cache, and keeps what was asked."""

    def __init__(self, path: Path, moment: int = 20) -> None:
        super().__init__(path, moment)
        self.requests: list[Request] = []
        self.entries: dict[int, CacheEntry] = {1: _OLDER, 2: _NEWER}
        self.refusal = ""
        """Why every request is refused; empty: none is."""
        self.held: list[Callable[[], None]] | None = None
        """Answers that are held back, when a list is here."""

    def asked_for(self, kind: type[Asked]) -> list[Asked]:
        """The requests of one kind."""
        return [each for each in self.requests if isinstance(each, kind)]

    def kill(self) -> None:
        """What the death of the class comes to."""
        dead = msgspec.structs.replace(_LIFE, alive=False)
        self.entries[1] = msgspec.structs.replace(
            _OLDER,
            state=EntryState.INVALID,
            reason="class Scaler died, in the console",
            lifelines=(dead,),
        )

    def request(self, make: Callable[[int], Request]) -> Future[Response]:
        future: Future[Response] = Future()
        request = make(len(self.requests) + 1)
        self.requests.append(request)
        if self.held is not None:
            self.held.append(lambda: future.set_result(self._response(request)))
        else:
            future.set_result(self._response(request))
        return future

    def _response(self, request: Request) -> Response:
        if self.refusal:
            return Response(request.seq, ok=False, text=self.refusal)
        if isinstance(request, RemoveEntry):
            del self.entries[request.entry]
            return Response(request.seq, text=f"entry {request.entry} is thrown away")
        if isinstance(request, MarkDynamic):
            return Response(request.seq, text="x.shape[0] is marked dynamic")
        if isinstance(request, EditEntry) and "RETURN_VALUE" not in request.bytecode:
            return Response(request.seq, ok=False, text="'NOTHING' is no instruction")
        return Response(request.seq, data=self._answer_to(request))

    def _answer_to(self, request: Request) -> CacheData | None:
        match request:
            case ListCache():
                code = CachedCode(
                    1, "apply", "apply", FILE, 25, tuple(self.entries.values()), limit=8, nearest=2
                )
                return CacheListing((code,))
            case InspectEntry(entry=entry):
                return self._view(entry)
            case FetchCode(entry=entry):
                version = (sys.version_info[0], sys.version_info[1])
                data = marshal.dumps(compile("x * 2", "net.py", "eval"))
                return EntryCode(entry, data, sys.executable, version)
            case CheckCache(arguments=arguments, compare=compare):
                return _check(arguments, compare)
            case RunEntry(entry=entry):
                same = Comparison(same=True, entry="Tensor f32[4]", eager="Tensor f32[4]")
                return RunResult(entry, "Tensor f32[4]", comparison=same)
            case CloneEntry(drop=drop, add=add):
                edits = (*(f"without guard {row}" for row in drop), *(f"with {e}" for e in add))
                return self._draft(edits)
            case EditEntry():
                return self._draft(("bytecode edited",))
            case RegisterEntry(entry=entry):
                self.entries[entry] = msgspec.structs.replace(
                    self.entries[entry], state=EntryState.VALID, position=0
                )
                return self._view(entry)
            case _:
                return None

    def _draft(self, edits: tuple[str, ...]) -> EntryView:
        self.entries[3] = CacheEntry(
            3, 1, "0/0", origin=Origin.MADE, state=EntryState.DRAFT, guards=2, copied_from=1,
            edits=edits, warnings=(_LOST,),
        )  # fmt: skip
        return self._view(3)

    def _view(self, number: int) -> EntryView:
        entry = self.entries[number]
        if entry.state is EntryState.INVALID:
            return EntryView(entry)
        held = tuple(
            msgspec.structs.replace(line, holders=("module __main__: scaler",))
            for line in entry.lifelines
        )
        return EntryView(
            msgspec.structs.replace(entry, lifelines=held),
            GUARDS,
            _CODE,
            graph="def forward(self, x):\n    return x * 2",
            bytecode="RETURN_VALUE\n",
        )


def _check(arguments: str, compare: bool) -> CacheCheck:
    passes = GuardCheck(0, Verdict.PASS)
    fails = GuardCheck(1, Verdict.FAIL, "Tensor f32[5]", "size [4] ≠ [5]")
    checks = (
        EntryCheck(1, False, reason="tensor 'L['x']' size mismatch", checks=(passes, fails)),
        EntryCheck(2, True, wins=True, checks=(passes,)),
    )
    same = Comparison(same=True, entry="Tensor f32[5]", eager="Tensor f32[5]")
    told = (("x", arguments or "Tensor f32[5]"),)
    return CacheCheck(
        1, told, checks, {1: GUARDS, 2: GUARDS}, winner=2, comparison=same if compare else None
    )
