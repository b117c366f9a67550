"""Commands that show the place: source, bytecode, calls, stack, locals, values, graph, guards."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING

from stepper.analysis.here import ending_at
from stepper.client.folding import LONG_STACK, Fold, folded
from stepper.client.frame_names import frame_name
from stepper.client.text import (
    block_line,
    bytecode_listing,
    clip,
    graph_code,
    graph_table,
    guard_line,
    instruction_text,
    location,
    node_line,
    node_meta,
    one_line,
    place_text,
    plural,
    short_name,
    side_effect_line,
    source_line,
    source_listing,
    value_facts,
    value_line,
)
from stepper.client.value_paths import PathError, shown, traced
from stepper.console.commands import CommandError, command, positive_number
from stepper.console.paths import resolve
from stepper.console.picture import WIDTH, check_lines, local_changes, stack_changes, stop_lines
from stepper.model.module_path import layer_of
from stepper.model.ranges import Ranges
from stepper.model.trace import FrameState, Phase, State
from stepper.model.value import ValueId

if TYPE_CHECKING:
    from stepper.console.shell import Shell

_AROUND = 5
_CHILDREN = 50
_GUARDS = 40
_DEPTH = 2
ROLES = {
    Phase.TRANSLATE: ("translated", "inlined"),
    Phase.LOOKUP: ("lookup", "entry"),
    Phase.EXECUTE: ("executed", "called"),
}
"""What the outermost frame of a walk is, and what the others are."""


@command("where", "w", "bt", usage="[all]", group="Look")
def where(shell: Shell, argument: str) -> None:
    """The call stack: the program's frames, the frame being translated, the inlined calls.

    A deep one is folded by module path; `all` shows every call."""
    if argument not in ("", "all"):
        raise CommandError("where takes no argument but `all`")
    state, recording = shell.state, shell.recording
    translation = recording.translation(state.translation)
    cwd = recording.facts.cwd
    stopped = shell.session.stopped
    if stopped is not None and shell.cursor.at_stop and stopped.stack:
        # What was recorded last is over: the program is elsewhere.
        shell.screen.lines(f"   {place_text(frame, cwd)}" for frame in stopped.stack)
        return
    if (ending := ending_at(recording, state.moment.id)) is not None:
        place = recording.place_of_end(ending)
        told = "not recorded where" if place is None else f"at {place_text(place, cwd)}"
        shell.screen.say(f"{ending.kind}: {told}; the calls of the moment before it:")
    for frame in translation.python_stack:
        shell.screen.say(f"   {place_text(frame, cwd)}", "dim")
    selected = shell.selected % len(state.frames)
    owners = [recording.owners.around(each.frame) for each in state.frames]
    layers = ["" if owner is None else layer_of(owner.path) for owner in owners]
    for row in range(len(layers)) if argument else folded(layers, long=LONG_STACK):
        if isinstance(row, Fold):
            inside = row.first <= selected < row.first + row.size
            shell.screen.say(f"{'->' if inside else '  '} {row.text('call')}", "dim")
        else:
            mark = "->" if row == selected else "  "
            shell.screen.lines(frame_lines(shell, state.frames[row], mark))


def frame_lines(shell: Shell, frame: FrameState, mark: str) -> list[str]:
    """A symbolic frame in two lines: its place, and its source line."""
    recording = shell.recording
    record = recording.frame(frame.frame)
    code = recording.code(record.code)
    instruction = code.instructions[frame.ip]
    attempt = recording.attempt(record.attempt)
    outermost, inner = ROLES[recording.translation(attempt.translation).phase]
    role = outermost if record.depth == 0 else f"{inner} {record.depth}"
    place = location(code, instruction.line, recording.facts.cwd)
    lines = [
        f"{mark} {place} in {frame_name(recording, record.id)}"
        f"  ({role}, {instruction_text(instruction)})"
    ]
    source = source_line(code, instruction.line)
    return [*lines, f"       {source}"] if source else lines


@command("list", "l", usage="[LINE]", group="Look")
def list_(shell: Shell, argument: str) -> None:
    """Source around the current line, or around LINE."""
    _source(shell, argument, _AROUND)


@command("longlist", "ll", group="Look")
def longlist(shell: Shell, argument: str) -> None:
    """Source of the whole function."""
    _source(shell, argument, None)


def _source(shell: Shell, argument: str, around: int | None) -> None:
    frame = shell.frame
    code = shell.recording.code(shell.recording.frame(frame.frame).code)
    current = code.instructions[frame.ip].line or code.first_line
    if not code.source:
        raise CommandError(f"no source was found for {code.label}: see bytecode")
    middle = positive_number(argument, "a line") if argument else current
    marks = {
        b.number: "B" if b.enabled else "b"
        for b in shell.session.breakpoints_here
        if b.number and code.filename.endswith(b.pattern)
    }
    first, last = (None, None) if around is None else (middle - around, middle + around)
    shell.screen.lines(source_listing(code, current, first, last, marks))


@command("bytecode", "dis", usage="[original | transformed]", group="Look")
def bytecode(shell: Shell, argument: str) -> None:
    """The whole function's bytecode, the current instruction marked, interpreted ones dotted.

    `bytecode original` and `bytecode transformed` show what Dynamo made of the translated frame.
    """
    recording, state = shell.recording, shell.state
    if not argument:
        frame = shell.frame
        code = recording.code(recording.frame(frame.frame).code)
        executed = recording.executed(frame.frame, state.moment.id)
        shell.screen.lines(bytecode_listing(code, frame.ip, executed))
        return
    translation = recording.translation(state.translation)
    if "original".startswith(argument):
        shell.screen.lines(bytecode_listing(recording.code(translation.code), None))
    elif "transformed".startswith(argument):
        transformed = recording.transformed(state.translation)
        if transformed is None:
            raise CommandError(
                f"there is no transformed bytecode: the translation is {translation.outcome}"
            )
        shell.screen.lines(bytecode_listing(transformed, None))
    else:
        raise CommandError(f"{argument!r}: original or transformed?")


@command("here", group="Look")
def here(shell: Shell, argument: str) -> None:
    """The current place again, as at a stop."""
    shell.screen.lines(stop_lines(shell.cursor))


@command("stack", "st", group="Look")
def stack(shell: Shell, argument: str) -> None:
    """The symbolic stack, the top first; +, ~ and - mark what the last instruction changed."""
    old, previous = _before(shell)
    lines = stack_changes(old, previous, shell.state, shell.frame)
    shell.screen.lines(lines or ["the stack is empty"])


@command("locals", "lo", usage="[PATTERN]", group="Look")
def locals_(shell: Shell, argument: str) -> None:
    """The symbolic locals; +, ~ and - mark what the last instruction changed."""
    old, previous = _before(shell)
    state, frame = shell.state, shell.frame
    if shell.recording.translation(state.translation).phase is Phase.LOOKUP:
        known = check_lines(state)
    elif old is None or previous is None:
        known = {n: f"  {n} = {value_line(state.values.get(v))}" for n, v in frame.locals.items()}
    else:
        known = local_changes(old, previous, state, frame, only_changed=False)
    lines = [line for name, line in known.items() if not argument or _matches(name, argument)]
    shell.screen.lines(lines or ["no locals" + (f" match {argument}" if argument else "")])


def _before(shell: Shell) -> tuple[State | None, FrameState | None]:
    """The state one moment earlier, and the selected frame in it, when it was there."""
    state = shell.state
    if state.moment.id < 2 or shell.recording.place(state.moment.id - 1).attempt != state.attempt:
        return None, None
    old = shell.recording.state(state.moment.id - 1)
    return old, next((f for f in old.frames if f.frame == shell.frame.frame), None)


@command("value", "v", usage="PATH [DEPTH]", group="Look")
def value(shell: Shell, argument: str) -> None:
    """Everything known of a value, and its children as a tree.

    PATH begins at a local, `stack[N]` or `$ID` and goes on by labels: `v x`, `v self.scale`,
    `v stack[-1][0]`, `v x 4` for four levels. It shows the value as it was at this moment.
    """
    path, _, depth = argument.rpartition(" ")
    if not path or not depth.isdecimal():
        path, depth = argument, str(_DEPTH)
    if not path:
        raise CommandError("which value? v NAME, v stack[-1], v NAME.child; see locals and stack")
    id, described = resolve(shell.state, shell.frame, path)
    shell.screen.say(f"{path}  (${id})")
    facts = value_facts(described)
    if described.guards:
        facts.append(("depends on", _guards_of(shell, described.guards)))
    width = max(len(name) for name, _ in facts)
    shell.screen.lines(f"  {name:<{width}}  {text}" for name, text in facts)
    for guard in shell.recording.guards(shell.cursor.position):
        if described.source and guard.source == described.source:
            shell.screen.say(f"  {'guard':<{width}}  {guard.kind}")
    shell.screen.lines(_children(shell.state, id, int(depth), "  ", set()))


def _children(
    state: State, value: ValueId, depth: int, indent: str, above: set[ValueId]
) -> list[str]:
    described = state.values.get(value)
    if described is None or not described.items or depth == 0:
        return []
    if value in above:
        return [f"{indent}… contains itself"]
    lines = []
    for item in described.items[:_CHILDREN]:
        lines.append(
            clip(f"{indent}{item.label} = {value_line(state.values.get(item.value))}", WIDTH)
        )
        lines += _children(state, item.value, depth - 1, indent + "  ", above | {value})
    hidden = max(described.length or 0, len(described.items)) - min(len(described.items), _CHILDREN)
    if hidden > 0:
        lines.append(f"{indent}… {plural(hidden, 'more child')}")
    return lines


def _guards_of(shell: Shell, ranges: Ranges) -> str:
    """The guards that a value or node carries, in one line."""
    from stepper.analysis.dependence import depends_on
    from stepper.analysis.dependence_lines import named

    found = [named(guard) for guard in depends_on(shell.recording, shell.state.attempt, ranges)]
    more = f"; and {len(found) - _GUARDS} more: depends" if len(found) > _GUARDS else ""
    return "; ".join(found[:_GUARDS]) + more


def recorded(shell: Shell, path: str) -> str:
    """What the compiler takes a value for that a person names as the program does, in a line; empty
    where there is none of that name."""
    try:
        return shown(shell.state, shell.frame, path)
    except PathError:
        return ""


@command("print", "p", "!", usage="EXPRESSION", group="Look")
def print_(shell: Shell, argument: str) -> None:
    """Evaluate EXPRESSION in the program, at its live stop, in the selected frame.

    The names are `stack`, `locals`, `inst`, `graph`, `guards` and `tx`. A local of the traced frame
    has no value there: its name, or a path that begins with it (`x.shape[0]`, `d["a"].dtype`), says
    what is recorded, in the past and in a recording, too; `locals["x"]` is its tracker.

    A statement is run there, too (`flags.clear(); n = 2`). What it assigns lasts, as in pdb: in a
    module's frame it is the program's variable, in a function's a name that further stops know, and
    with `global n; n = 2` the program's. A local, of the traced frame or of a function that runs,
    cannot be assigned, and nothing is done then. The recording notes each statement as an
    `intervention`, and with it a call that returns nothing (`model.zero_grad()`) or that works in
    place by its name (`x.add_(1)`), since both are made for what they do. An expression that gives
    a value is not noted: mostly it only looks.
    """
    if not argument:
        raise CommandError("print what? p EXPRESSION")
    if shell.cursor.at_stop:
        if known := traced(shell.recording, shell.state, shell.frame, argument):
            shell.screen.say(known)
            return
        innermost = shell.frame is shell.state.top
        frame = None if innermost else shell.frame.frame
        response = shell.session.evaluate(argument, frame).result()
        if not response.ok and (known := recorded(shell, argument)):
            shell.screen.say(known)
        else:
            shell.answer(response)
        return
    if not (known := recorded(shell, argument)):
        reason = (
            "the program stands at the newest moment, and this one is past: goto newest"
            if shell.session.stopped is not None
            else "there is no stopped program"
        )
        raise CommandError(
            f"{argument!r} cannot be evaluated here: {reason}. v shows recorded values"
        )
    shell.screen.say(f"{known}  (as recorded)")


@command("guards", usage="[PATTERN | all]", group="Look")
def guards(shell: Shell, argument: str) -> None:
    """Guards installed before this moment, in order; PATTERN filters by kind, source or module.

    `+` marks those of the last instruction. Of a large model they are folded by module path:
    `guards decoder.block[7]` shows those of one, `guards all` shows all.
    """
    position, cwd = shell.cursor.position, shell.recording.facts.cwd
    known = shell.recording.guards(shell.state.moment.id)
    layer = shell.recording.owners.layer
    if argument and argument != "all":
        found = [
            guard
            for guard in known
            if any(_matches(text, argument) for text in (guard.kind, guard.source, layer(guard)))
        ]
    else:
        found = known
    layers = [] if argument else [layer(guard) for guard in found]
    for row in folded(layers) if layers else range(len(found)):
        if isinstance(row, Fold):
            shell.screen.say(f"  {row.text('guard')}: guards {row.layer}", "dim")
            continue
        guard = found[row]
        sign = "+" if guard.moment == position - 1 else " "
        cause = f"  by {place_text(guard.user_line, cwd)}" if guard.user_line is not None else ""
        shell.screen.lines([f"{sign} {guard.id:>4}  {guard_line(guard)}  @{guard.moment}{cause}"])
        for code in guard.code:
            shell.screen.say(f"            {clip(one_line(short_name(code)), WIDTH)}", "dim")
    if not found:
        nothing = f"no guards match {argument}" if argument else shell.so_far("no guards yet")
        shell.screen.say(nothing)


@command("graph", usage="[code | table] [MODULE | all]", group="Look")
def graph(shell: Shell, argument: str) -> None:
    """The FX graph as it is at this moment, as Python code or as a table.

    That of a large model is folded by module path: `graph decoder.block[7]` shows the nodes of one,
    `graph all` shows all.
    """
    nodes = shell.recording.nodes(shell.state.moment.id)
    word, _, wanted = argument.partition(" ")
    as_table = bool(word) and "table".startswith(word)
    if not as_table and not (word and "code".startswith(word)):
        wanted = argument
    layers = ["" if node.graph else shell.recording.owners.layer(node) for node in nodes]
    rows: list[int | str] = [*range(len(nodes))]
    if not wanted:
        rows = [
            f"{row.text('node')}: graph {row.layer}" if isinstance(row, Fold) else row
            for row in folded(layers)
        ]
    elif wanted != "all":
        rows = [at for at, layer in enumerate(layers) if layer == wanted]
        if not rows:
            known = ", ".join(dict.fromkeys(filter(None, layers))) or "none is known"
            raise CommandError(
                f"{wanted!r}: graph code, graph table, or a module: {clip(known, WIDTH)}"
            )
    if not nodes:
        shell.screen.say("the graph is empty")
    else:
        shell.screen.lines((graph_table if as_table else graph_code)(nodes, rows))


@command("node", usage="NAME", group="Look")
def node(shell: Shell, argument: str) -> None:
    """A node of this attempt's graph: its meta, its inputs and users, what made it."""
    if not argument:
        raise CommandError("which node? node NAME; graph shows them")
    recording, state = shell.recording, shell.state
    found = recording.node(state.attempt, argument)
    if found is None:
        raise CommandError(f"no node {argument!r} in this attempt's graph")
    users = [n.name for n in recording.nodes(state.moment.id) if argument in n.inputs]
    facts = [
        ("op", found.op),
        ("target", short_name(found.target)),
        ("value", node_meta(found)),
        ("source", short_name(found.source)),
        ("inputs", ", ".join(found.inputs)),
        ("used by", ", ".join(users)),
        ("graph", found.graph),
        ("depends on", _guards_of(shell, found.guards)),
        ("made at", f"moment {found.moment}: origin node {found.name} goes there"),
        ("erased at", f"moment {found.erased}" if found.erased is not None else ""),
    ]
    shell.screen.say(node_line(found))
    shell.screen.lines(f"  {name:<10} {text}" for name, text in facts if text)


@command("effects", group="Look")
def effects(shell: Shell, argument: str) -> None:
    """Side effects buffered so far: what will be replayed after the graph."""
    found = shell.recording.side_effects(shell.state.moment.id)
    for effect in found:
        sign = "+" if effect.moment == shell.cursor.position - 1 else " "
        shell.screen.lines([f"{sign} {side_effect_line(effect)}  @{effect.moment}"])
    if not found:
        shell.screen.say(shell.so_far("no side effects yet"))


@command("blocks", group="Look")
def blocks(shell: Shell, argument: str) -> None:
    """The block stack of the selected frame, and the speculation it would restart from."""
    frame = shell.frame
    code = shell.recording.code(shell.recording.frame(frame.frame).code)
    shell.screen.lines([block_line(b, code) for b in frame.blocks] or ["no open blocks"])
    if frame.speculation:
        shell.screen.say(f"speculation: {frame.speculation}")


def _matches(text: str, pattern: str) -> bool:
    """A glob over the whole text, or any part of it, without regard to case."""
    text, pattern = text.lower(), pattern.lower()
    return pattern in text or fnmatch.fnmatchcase(text, pattern)
