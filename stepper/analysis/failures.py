"""Compilations that failed: what, where in the program, and the moment that is to blame.

An exception is raised deep in the compiler, and often late: a size that was not to be fixed is
found fixed when the guards are built, when the instruction that fixed it is long over. So the
moment to blame is not always the one that was the newest. It is, in this order: the step that fixed
a marked size; the node that the backend or AOTAutograd was at; the instruction that was interpreted
when it was raised, and of library code that was inlined, the program's call that led into it.
"""

from __future__ import annotations

import re
from collections import Counter

import msgspec

from stepper.analysis.handed_on import name_inside
from stepper.analysis.shapes import Size, cause_of, sizes
from stepper.analysis.sites import Site, in_torch, made_at, text_at, way_to
from stepper.analysis.walks import compilations
from stepper.analysis.written_inside import IN_PLACE, written_inside
from stepper.client.frame_names import compiled_name
from stepper.client.meant import is_meant, is_named
from stepper.client.text import plural
from stepper.model.failure import OUTSIDE, FailedStage, Failure
from stepper.model.program import Instruction, PythonFrame
from stepper.model.shapes import Why
from stepper.model.trace import Event, Guard, MomentId, Node, Outcome, Phase, Translation
from stepper.model.value import Value
from stepper.recording.reader import Recording
from stepper.support.pythons_own import is_installed

_MARKED = frozenset({Why.MARKED, Why.MARKED_UNBACKED, Why.MARKED_MAYBE, Why.EXPORT})
_TAKES = {
    "BINARY_OP": 2, "BINARY_SUBSCR": 2, "COMPARE_OP": 2, "CONTAINS_OP": 2, "IS_OP": 2,
    "STORE_SUBSCR": 3, "STORE_ATTR": 2, "RETURN_VALUE": 1, "UNPACK_SEQUENCE": 1, "GET_ITER": 1,
    "LOAD_ATTR": 1, "LOAD_METHOD": 1, "FOR_ITER": 1, "RAISE_VARARGS": 1, "FORMAT_VALUE": 1,
    "BEFORE_WITH": 1, "LOAD_SPECIAL": 1, "UNPACK_EX": 1, "DELETE_ATTR": 1, "GET_AWAITABLE": 1,
    "CALL_FUNCTION_EX": 4, "CALL_INTRINSIC_1": 1, "CALL_INTRINSIC_2": 2,
    "BUILD_TEMPLATE": 2, "BUILD_INTERPOLATION": 2,
}  # fmt: skip
"""How many values of the stack an instruction takes; of others: those of its argument, or one."""
_DERIVATIVE = re.compile(r"\bFunction GeneratedBackwardFor_(?P<operator>\w+)Backward\b")
_WRITTEN = re.compile(
    r"modified by an inplace operation: .*, which is output \d+ of "
    r"(?P<operator>\w+?)(?:Backward\d+)?,"
)
_INSIDE = re.compile(r"(?P<error>\w+)\((?P<quote>['\"])(?P<words>.*)(?P=quote)\)\s*")
"""How Dynamo words what an operator has said of fake tensors, behind all that it was given, and
what the program raises."""
_REFUSED_CALL = re.compile(
    r"Developer debug context: (?P<error>TypeError) (?:<[^>]*>|\S+): (?P<words>\S.*)"
)
"""How it begins to say that a function of torch's was called otherwise than it can be."""
_RAISED_BY_PROGRAM = "Developer debug context: raised exception "
_LATE = re.compile(r"kernel errors might be asynchronously reported")
"""How torch words that a device works on while the program goes on, and so fails unnoticed."""
_COUNTED = ("CALL", "BUILD_")
_TAKES_ONE = ("POP_JUMP_", "JUMP_IF_", "TO_BOOL", "UNARY_")
_MOST_OPERANDS = 6


class Operand(msgspec.Struct, frozen=True):
    """A value that an instruction was about to take."""

    place: int
    """In the stack, from the bottom."""
    value: int
    """The number of its tracker."""
    made_at: MomentId | None = None
    """The moment whose instruction put its node into the graph; None: not recorded, or no node."""
    input: Node | None = None
    """The graph's input that it is."""


class Failed(msgspec.Struct, frozen=True):
    """A compilation that failed."""

    failure: Failure
    translation: Translation | None
    """None: it failed outside of one, or it is not recorded."""
    moment: MomentId
    """The one to blame; of a failure outside of tracing, the newest one then."""
    sites: tuple[Site, ...]
    """Where that is: its instruction, then the calls that led to it; empty: not recorded."""
    inside: Site | None
    """The instruction itself, where that is in a library, and the sites begin with the call that
    led into it; None: it is the first of them."""
    certain: bool
    """Whether that instruction is known to be to blame, or only was the last one, or that at which
    a device's error was noticed."""
    callers: tuple[PythonFrame, ...]
    """The program's own frames that led to it, outermost first."""
    lookup: Translation | None
    """The lookup that found no entry; None: it is not recorded, or this failed later."""
    inner: str = ""
    """The program's own function, where the translated one is torch's and leads to it."""
    shown: str = ""
    """What the translated one is called, by its place in the model and its class, where that is
    recorded."""

    line_run: str = ""
    """The text of the line at which the program was, where `torch.export` ran it."""

    @property
    def late(self) -> bool:
        """Whether a device may have failed before, and it was only noticed here."""
        return _noticed_late(self.failure)

    @property
    def suppressed(self) -> bool:
        """Whether the exception did not reach the program, whose frame runs uncompiled."""
        item = self.translation
        return self.compiling and item is not None and item.outcome is Outcome.SKIPPED

    @property
    def compiling(self) -> bool:
        """Whether it was compiled when it failed, or was to be."""
        return self.failure.stage not in OUTSIDE

    @property
    def compile_id(self) -> str:
        """Dynamo's; empty when it never got one."""
        return self.failure.compile_id

    @property
    def name(self) -> str:
        """The function's name."""
        return (
            self.inner or self.failure.name or (self.translation.name if self.translation else "")
        )

    @property
    def text(self) -> str:
        """The text of that line; empty: not recorded."""
        return self.sites[0].line.text if self.sites else self.line_run

    @property
    def place(self) -> PythonFrame | None:
        """Where the program is to be looked at; None: not recorded."""
        if self.sites:
            return self.sites[0].line.place
        stack = self.failure.user_stack
        return next((each for each in reversed(stack) if not in_torch(each.filename)), None)


def failures(recording: Recording, function: str = "", *, after: int = 0) -> list[Failed]:
    """Every compilation that failed, in order.

    Args:
        recording: what is asked.
        function: only those of functions with this in their name; empty: all.
        after: only those of walks after this one.
    """
    every = [
        each
        for each in recording.derived(_every)
        if each.translation is None or each.translation.id > after
    ]
    own = [each for each in every if _is_of(recording, each, function)]
    return own or [
        each
        for each in every
        if each.translation is not None and is_meant(recording, each.translation, function)
    ]


def _every(recording: Recording) -> list[Failed]:
    """Those of all functions and walks."""
    every = {item.id: item for item in compilations(recording)}
    found: list[Failed] = []
    told: set[int] = set()
    exported: list[MomentId] = []
    broken = {recording.attempt(each.attempt).translation for each in recording.graph_breaks()}
    for failure in recording.failures():
        item = every.get(failure.translation or 0) or _forward(failure, every)
        compiled = failure.stage not in OUTSIDE
        if compiled and failure.translation is not None and not (item and _counts(item, broken)):
            continue
        if item is not None and compiled:
            told.add(item.id)
        elif failure.stage is FailedStage.EXPORT:
            exported.append(failure.moment)
        found.append(_failed(recording, failure, item))
    found += [
        _failed(recording, _of_its_end(item), item)
        for item in every.values()
        if item.outcome is Outcome.FAILED
        and item.id not in told
        # An export tells of what left its translation.
        and not any(item.first_moment - 1 <= at <= (item.last_moment or 0) for at in exported)
    ]
    found.sort(key=lambda each: each.failure.moment)
    return found


def failure_at(recording: Recording, event: Event) -> Failed | None:
    """The failure that an exception's event is about, also while it is not known yet what comes of
    it, as at a stop there; None: a frame was given up because of a graph break, which says more."""
    every = {item.id: item for item in compilations(recording)}
    for failure in recording.failures():
        item = every.get(failure.translation or 0) or _forward(failure, every)
        if failure.id != event.ref:
            continue
        broken = {recording.attempt(each.attempt).translation for each in recording.graph_breaks()}
        if item is not None and item.outcome is not Outcome.RUNNING and not _counts(item, broken):
            return None
        return _failed(recording, failure, item)
    return None


_ENDED = {
    FailedStage.ASKED: "the program ended in torch.compile itself",
    FailedStage.RUNNING: "the program ended with what compiled code raised when it ran",
}


def failed_count(found: list[Failed]) -> str:
    """`1 compilation and 2 calls failed`: of a call that no entry served, nothing was compiled."""
    stages = Counter(each.failure.stage for each in found)
    calls = stages[FailedStage.LOOKUP]
    compiled = len(found) - calls - sum(stages[each] for each in OUTSIDE)
    parts = [plural(compiled, "compilation")] if compiled else []
    parts += [plural(calls, "call")] if calls else []
    text = f"{' and '.join(parts)} failed" if parts else "no compilation failed"
    more = (words for stage, words in _ENDED.items() if stages[stage])
    return "; ".join((text, *more))


def instead(recording: Recording, function: str = "", *, after: int = 0) -> str:
    """Behind an answer that there was nothing of what is asked about: what failed, where something
    did; empty: nothing did."""
    failed = failures(recording, function, after=after)
    return f"; {failed_count(failed)}: why-failed says why" if failed else ""


def _is_of(recording: Recording, failed: Failed, function: str) -> bool:
    item = failed.translation
    named = any(function.lower() in name.lower() for name in (failed.name, failed.shown))
    return named or (item is not None and is_named(recording, item, function))


def said_inside(message: str) -> tuple[str, str] | None:
    """The exception and the words of what Dynamo's message is about: of an operator that does not
    take its fake tensors, or of what the program raises; None: it is another error."""
    for line in message.splitlines():
        said = line.partition("}): got ")[2] or line.partition(_RAISED_BY_PROGRAM)[2]
        found = _INSIDE.fullmatch(said) or _REFUSED_CALL.search(line)
        if found is not None:
            return found["error"], found["words"]
    return None


def last_failure(recording: Recording) -> Failed | None:
    """The last compilation whose exception reached the program; None: there is none."""
    found = [each for each in failures(recording) if not each.suppressed]
    return found[-1] if found else None


def _counts(item: Translation, broken: set[int]) -> bool:
    """Whether a translation that has an exception failed of it. A frame that is given up because of
    a graph break has one, too."""
    if item.outcome is Outcome.SKIPPED:
        return item.id not in broken
    return item.outcome is Outcome.FAILED


def operands(recording: Recording, failed: Failed) -> list[Operand]:
    """What the instruction to blame was about to take, the top of the stack first."""
    if not failed.sites or not failed.certain:
        return []
    site = failed.sites[0]
    state = recording.state(site.moment)
    stack = state.top.stack
    count = min(_taken(site.instruction), len(stack), _MOST_OPERANDS)
    nodes = recording.nodes(None, attempt=state.attempt)
    inputs = {node.source: node for node in nodes if node.op == "placeholder" and node.source}
    found = []
    for place in range(len(stack) - 1, len(stack) - 1 - count, -1):
        value = state.values.get(stack[place])
        if value is None or value.cls == "NullVariable":
            continue
        node = recording.node(state.attempt, value.node) if value.node else None
        taken = inputs.get(value.source) if value.source else None
        made_at = None if node is None else node.moment
        found.append(Operand(place, stack[place], made_at, taken))
    return found


def device_of(value: Value | None, operand: Operand) -> str:
    """Where a tensor is; empty: it is none, or that is not recorded."""
    meta = None if value is None else value.tensor
    if meta is None and operand.input is not None:
        meta = operand.input.meta
    return "" if meta is None else meta.device


def fixed_sizes(recording: Recording, item: Translation) -> list[Size]:
    """The sizes that the program has marked as some that change, and that are not free: those that
    became numbers first."""
    marked = [size for size in sizes(recording, item) if size.why in _MARKED]
    found = [size for size in marked if size.value or (size.symbol and size.symbol.conditions)]
    return sorted(found, key=lambda size: not size.value)


def _taken(instruction: Instruction) -> int:
    name, argument = instruction.opname, instruction.arg or 0
    if name in _TAKES:
        return _TAKES[name]
    if name.startswith(_COUNTED):
        return argument + 2 if name.startswith("CALL") else argument
    return int(name.startswith(_TAKES_ONE))


def _forward(failure: Failure, every: dict[int, Translation]) -> Translation | None:
    """The compilation of which a failed backward is."""
    if failure.stage is not FailedStage.BACKWARD:
        return None
    made = [item for item in every.values() if item.compile_id == failure.compile_id]
    before = [item for item in made if item.first_moment <= failure.moment + 1]
    return before[-1] if before else None


def _of_its_end(item: Translation) -> Failure:
    """How a translation failed that ended without a word of Dynamo's, by Ctrl-C for instance."""
    return Failure(
        id=0,
        moment=item.last_moment or item.first_moment,
        stage=FailedStage.OTHER,
        exception="",
        message=item.reason,
        name=item.name,
        filename=item.filename,
        line=item.line,
        compile_id=item.compile_id,
        translation=item.id,
    )


def _failed(recording: Recording, failure: Failure, item: Translation | None) -> Failed:
    blamed, certain = _blamed(recording, failure, item)
    outside = failure.stage in (FailedStage.LOOKUP, FailedStage.EXPORT) or (
        failure.stage in OUTSIDE and not certain
    )
    sites = [] if outside else way_to(recording, blamed)
    certain = certain and not _noticed_late(failure)
    before = item is not None and _walk_at(recording, blamed) != item
    if not certain and (before or failure.stage is FailedStage.BACKWARD):
        sites = []  # the newest moment then has nothing to do with it
    ours = _own(sites)
    ran = failure.user_stack if failure.stage is FailedStage.EXPORT else ()
    stack = (*failure.python_stack, *ran[:-1]) or (item.python_stack if item is not None else ())
    lookup = _lookup(recording, failure)
    called = item or (None if lookup is None else _served(recording, lookup))
    return Failed(
        failure=failure,
        translation=item,
        moment=sites[ours].moment
        if sites
        else min(max(blamed, recording.oldest), recording.newest),
        sites=tuple(sites[ours:]),
        inside=sites[0] if ours else None,
        certain=certain,
        callers=tuple(frame for frame in stack if not in_torch(frame.filename)),
        lookup=lookup,
        line_run=text_at(recording, ran[-1]) if ran else "",
        inner="" if item is None else name_inside(recording, item),
        shown="" if called is None else compiled_name(recording, called),
    )


def guard_built(recording: Recording, failure: Failure, item: Translation) -> Guard | None:
    """The guard that was being built when it failed; None: none was, or it is not recorded."""
    attempts = recording.attempts(item.id)
    installed = recording.guards_installed(attempts[-1].id) if failure.guard and attempts else []
    return next((guard for guard in installed if guard.id == failure.guard), None)


def _noticed_late(failure: Failure) -> bool:
    return _LATE.search(failure.message) is not None


def _own(sites: list[Site]) -> int:
    """The first of the program's own; where all are a library's, the first that is not torch's."""
    files = [site.line.place.filename for site in sites]
    for foreign in (_is_made_or_installed, is_installed, in_torch):
        own = (at for at, file in enumerate(files) if not foreign(file))
        if (found := next(own, None)) is not None:
            return found
    return 0


def _is_made_or_installed(file: str) -> bool:
    """Whether code is a library's, or was made from text, as a dataclass makes its methods."""
    return file == "<string>" or is_installed(file)


def _blamed(
    recording: Recording, failure: Failure, item: Translation | None
) -> tuple[MomentId, bool]:
    """The moment whose instruction is to blame, and whether that is known."""
    if failure.stage in (FailedStage.TRACING, FailedStage.EXPORT):
        attempts = () if item is None else recording.attempts(item.id)
        inside = attempts and written_inside(recording, failure.message, attempts[-1].id)
        return inside or failure.moment, True
    if failure.stage is FailedStage.GUARDS and item is not None:
        for size in fixed_sizes(recording, item):
            if size.value:
                step = cause_of(size) or size.number or next(iter(size.fixed_by), None)
                return (failure.moment, False) if step is None else (step.moment, True)
        for size in fixed_sizes(recording, item):
            if size.symbol is not None and size.symbol.conditions:
                return size.symbol.conditions[0].moment, True
        if (guard := guard_built(recording, failure, item)) is not None:
            first = recording.attempt(guard.attempt).first_moment
            if first <= guard.moment <= recording.newest:
                return made_at(recording, guard.moment), True
    if failure.node and item is not None:
        attempts = recording.attempts(item.id)
        nodes = recording.nodes(None, attempt=attempts[-1].id) if attempts else []
        # A backend can have another graph, in which another node is called so. But its nodes know
        # the lines for which they are there, as Dynamo's do.
        lines = set(map(_line, failure.user_stack[-1:]))
        for node in sorted(nodes, key=lambda node: node.name != failure.node):
            at = made_at(recording, node.moment)
            way = way_to(recording, at) if node.op != "placeholder" else []
            if lines & {_line(site.line.place) for site in way}:
                return node.moment, True
    if item is not None:
        for find in (_writer, _derived):
            if (named := find(recording, failure, item)) is not None:
                return named.moment, True
    return failure.moment, False


def _writer(recording: Recording, failure: Failure, item: Translation) -> Node | None:
    """The node that writes into what the backward needs; None: torch says nothing of the kind, or
    several do."""
    said = _WRITTEN.search(failure.message)
    if said is None:
        return None
    nodes = _nodes_of(recording, item)
    made = {node.name for node in nodes if _operator(node) == said["operator"].lower()}
    found = [
        node
        for node in nodes
        if node.inputs and node.inputs[0] in made and IN_PLACE.fullmatch(node.target)
    ]
    return found[0] if len(found) == 1 else None


def _derived(recording: Recording, failure: Failure, item: Translation) -> Node | None:
    """The node of an operator of the program's own whose derivative is to blame, which torch names
    after it; None: torch says nothing of the kind, or it is there several times."""
    said = _DERIVATIVE.search(failure.message)
    if said is None:
        return None
    nodes = _nodes_of(recording, item)
    found = [node for node in nodes if node.target.replace(".", "_") == said["operator"]]
    return found[0] if len(found) == 1 else None


def _nodes_of(recording: Recording, item: Translation) -> list[Node]:
    attempts = recording.attempts(item.id)
    nodes = recording.nodes(None, attempt=attempts[-1].id) if attempts else []
    return [node for node in nodes if node.erased is None]


def _operator(node: Node) -> str:
    return node.target.rpartition(".")[2]


def _line(place: PythonFrame) -> tuple[str, int]:
    return place.filename, place.line


def _lookup(recording: Recording, failure: Failure) -> Translation | None:
    if failure.stage is not FailedStage.LOOKUP:
        return None
    walk = _walk_at(recording, failure.moment)
    if walk is None or walk.phase is not Phase.LOOKUP or not failure.name.endswith(walk.name):
        return None
    return walk


def _served(recording: Recording, lookup: Translation) -> Translation:
    """A compilation of what is looked up, by which its module is known; the lookup itself where
    none is recorded."""
    entries = recording.tried(lookup.id)
    known = (recording.owners.compiled(each.entry, lookup.first_moment) for each in entries)
    return next(filter(None, known), lookup)


def _walk_at(recording: Recording, moment: MomentId) -> Translation | None:
    """The walk that a moment is of; None: it is not recorded."""
    if not recording.has(moment):
        return None
    return recording.translation(recording.attempt(recording.place(moment).attempt).translation)
