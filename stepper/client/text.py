"""Records as plain lines: the one wording that every front end uses.

No colour and no terminal here. Names come before numbers, the short form first; each function says
what its line looks like.
"""

from __future__ import annotations

import ast
import itertools
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from stepper.model.program import Code, Instruction, PythonFrame, UserLine
from stepper.model.resume_names import resumed_name
from stepper.model.trace import (
    Attempt,
    Block,
    GraphBreak,
    Guard,
    Node,
    Outcome,
    Phase,
    SideEffect,
    Translation,
)
from stepper.model.value import TensorMeta, Value
from stepper.support.guarded_values import parsed
from stepper.support.pythons_own import is_installed

if TYPE_CHECKING:
    from stepper.recording.reader import Recording

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
ELLIPSIS = "…"
BY_HAND = " by hand"
"""Behind the name of a walk that the user asked for at a stop."""

# Dynamo's generated names carry random parts that mean nothing to a person. What a pattern begins
# with is looked for at once if it is plain: these go through megabytes.
_RANDOM = re.compile(
    r"__(?:(compiled_fn_\d+)_[0-9a-f]{8}(?:_[0-9a-f]{4}){3}_[0-9a-f]{12}|(_unnamed_scope)_\d+)"
)

_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]{6,16}\b")


def short_name(text: str) -> str:
    """A text without the random parts of Dynamo's generated names: `__compiled_fn_1_<uuid>` is
    `__compiled_fn_1`."""
    return _RANDOM.sub(lambda match: f"__{match[1] or match[2]}", text)


def without_addresses(text: str) -> str:
    """A text of the compiler's, or of Python's, without where in memory an object was: `<function
    polyfit at 0x7f7d19dbc0e0>` is `<function polyfit>`."""
    return _ADDRESS.sub("", text)


def function_name(qualname: str) -> str:
    """A function's name as a person would write it: without random parts, and the rest of one that
    was broken as `forward, resumed at 12`."""
    return resumed_name(short_name(qualname))


def capitalized(text: str) -> str:
    """A text as a sentence or a heading begins: the rest of it stays as it is."""
    return text[:1].upper() + text[1:]


def one_line(text: str) -> str:
    """A text with every run of white space, line ends too, as one space."""
    return " ".join(text.split())


def clip(text: str, width: int) -> str:
    """At most `width` characters, the last one `…` when something was cut off."""
    if len(text) <= width:
        return text
    return text[: max(width - 1, 0)] + ELLIPSIS if width > 0 else ""


def without_colours(text: str) -> str:
    """What a program printed, without what gives it colours on a terminal, as tracebacks have."""
    return _COLOUR.sub("", text)


def short_path(path: str, cwd: str = "") -> str:
    """A path as a person in `cwd` would write it; below site-packages, from the package on."""
    if path.startswith("<"):
        return path
    for mark in ("/site-packages/", "/dist-packages/"):
        _, found, rest = path.rpartition(mark)
        if found:
            return rest
    if cwd and path.startswith(cwd.rstrip("/") + "/"):
        return path[len(cwd.rstrip("/")) + 1 :]
    home = os.path.expanduser("~")
    if home not in ("~", "/", "") and path.startswith(home + "/"):
        return "~" + path[len(home) :]
    return path


def time_text(seconds: float, *, utc: bool = False) -> str:
    """`2026-03-01 12:00:00`, in UTC `2026-03-01T12:00:00Z`; empty when it is no time."""
    try:
        at = time.gmtime(seconds) if utc else time.localtime(seconds)
    except (OverflowError, ValueError, OSError):  # a recording can say anything
        return ""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ" if utc else "%Y-%m-%d %H:%M:%S", at)


def so_far(text: str, *, final: bool) -> str:
    """A sentence that ends in `yet`; without that where nothing more comes."""
    return text.removesuffix(" yet") if final else text


def nothing_translated(recording: Recording | None) -> str:
    """What is said of a recording without moments: where it was cut short, what would have come is
    not known."""
    whole = recording is None or recording.in_order
    return "nothing was translated" if whole else "no translation is recorded"


def plural(count: int, noun: str) -> str:
    """`1 guard`, `2,345 guards`, `1 entry`, `2 entries`, `2 processes`."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith("s"):
        return f"{count:,} {noun}es"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        noun = noun[:-1] + "ie"
    return f"{count:,} {noun}s"


def first_names(names: Sequence[str], most: int) -> str:
    """`a, b`, and of more than so many `a, b and 3 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


# -- values ------------------------------------------------------------------------------------


def tensor_line(meta: TensorMeta) -> str:
    """`f32[2, 3] stride (3, 1) cuda:0 requires_grad Parameter`; what is usual is left out."""
    parts = [meta.brief]
    if meta.stride is not None:
        parts.append(f"stride ({', '.join(meta.stride)})")
    if meta.layout != "strided":
        parts.append(meta.layout)
    parts.append(meta.device)
    if meta.requires_grad:
        parts.append("requires_grad")
    if meta.subclass:
        parts.append(meta.subclass)
    return " ".join(parts)


def value_line(value: Value | None) -> str:
    """`f32[2, 3]  TensorVariable  L['x']  = add_1`: the value, its tracker's class, where it comes
    from, and the node that computes it."""
    if value is None:
        return "(not recorded)"
    brief = value.brief
    parts = [one_line(brief)]
    if value.cls != brief:
        parts.append(value.cls)
    if value.lazy and "not realized" not in brief:
        parts.append("(lazy)")
    if value.source:
        parts.append(short_name(value.source))
    if value.node:
        parts.append(f"= {value.node}")
    return "  ".join(parts)


def value_facts(value: Value) -> list[tuple[str, str]]:
    """Everything known of a value, as (name, text) in the order in which to show it."""
    facts = [("tracker", value.cls)]
    if value.type:
        facts.append(("type", value.type))
    if value.constant is not None:
        facts.append(("constant", value.constant))
    if value.source:
        facts.append(("source", short_name(value.source)))
    if value.node:
        facts.append(("node", value.node))
    meta = value.tensor
    if meta is not None:
        facts.append(("dtype", meta.dtype))
        shape = "unknown rank" if meta.shape is None else f"({', '.join(meta.shape)})"
        facts.append(("shape", shape))
        if meta.stride is not None:
            facts.append(("stride", f"({', '.join(meta.stride)})"))
        facts.append(("device", meta.device))
        facts.append(("requires_grad", str(meta.requires_grad)))
        if meta.layout != "strided":
            facts.append(("layout", meta.layout))
        if meta.subclass:
            facts.append(("class", meta.subclass))
    if value.mutability:
        facts.append(("mutability", value.mutability))
    if value.lazy:
        facts.append(("lazy", "not realized: nothing is guarded yet"))
    if value.length is not None:
        facts.append(("length", str(value.length)))
    return facts + list(value.attributes)


# -- the program ---------------------------------------------------------------------------------


def instruction_line(instruction: Instruction) -> str:
    """`  42 LOAD_FAST  x`: offset, name, argument in words."""
    offset = "" if instruction.offset is None else str(instruction.offset)
    return f"{offset:>4} {instruction_text(instruction)}"


def instruction_text(instruction: Instruction) -> str:
    """`LOAD_FAST x`, `POP_JUMP_IF_FALSE 12`: name and argument, without the offset."""
    argument = short_name(one_line(instruction.argrepr))
    if not argument and instruction.arg is not None:
        argument = str(instruction.arg)
    return f"{instruction.opname} {argument}".rstrip()


def location(code: Code, line: int | None, cwd: str = "") -> str:
    """`demo.py:12`."""
    path = short_path(code.filename, cwd)
    return f"{path}:{line}" if line is not None else path


def source_line(code: Code, line: int | None) -> str:
    """The text of a source line, without its indentation; empty when it is not known."""
    if line is None:
        return ""
    index = line - code.source_first_line
    return code.source[index].strip() if 0 <= index < len(code.source) else ""


def columns_of(code: Code, instruction: Instruction) -> tuple[int, int]:
    """The part of its line that an instruction stands for, in characters of the line as it is
    indented; `0, 0` when that is not known."""
    line, first, last = instruction.line, instruction.col, instruction.end_col
    index = 0 if line is None else line - code.source_first_line
    if line is None or first is None or last is None or not 0 <= index < len(code.source):
        return 0, 0
    text = code.source[index]
    here = instruction.end_line in (None, line)
    return _character(text, first), _character(text, last) if here else len(text)


def expression_text(code: Code, instruction: Instruction) -> str:
    """The expression that an instruction stands for, over all of its lines; empty: not known."""
    first, last = columns_of(code, instruction)
    if instruction.line is None or first == last == 0:
        return ""
    begins = instruction.line - code.source_first_line
    ends = (instruction.end_line or instruction.line) - code.source_first_line
    lines = [*code.source[begins : ends + 1]]
    if ends > begins and len(lines) == ends - begins + 1:
        last = _character(lines[-1], instruction.end_col or 0)
    lines[-1] = lines[-1][:last]
    lines[0] = lines[0][first:]
    # Over several lines there are comments in it, and white space within brackets.
    tree = parsed("\n".join(("(", *lines, ")"))) if len(lines) > 1 else None
    return " ".join(line.strip() for line in lines) if tree is None else ast.unparse(tree)


def _character(line: str, byte: int) -> int:
    """Position in characters of a column that CPython counts in UTF-8 bytes."""
    return byte if line.isascii() else len(line.encode()[:byte].decode(errors="ignore"))


def source_listing(
    code: Code,
    current: int | None,
    first: int | None = None,
    last: int | None = None,
    marks: dict[int, str] | None = None,
) -> list[str]:
    """Source lines `first` to `last` with numbers: `-> ` before the current one, a mark
    (by line) such as `B` before others."""
    lines = []
    for index, text in enumerate(code.source):
        number = code.source_first_line + index
        if (first is not None and number < first) or (last is not None and number > last):
            continue
        sign = "->" if number == current else "  "
        mark = (marks or {}).get(number, " ")
        lines.append(f"{number:>5} {mark}{sign} {text}".rstrip())
    return lines


def bytecode_listing(
    code: Code, current: int | None, executed: dict[int, int] | None = None
) -> list[str]:
    """The whole function as `dis` would print it: line number, `-->` at the current instruction,
    `>>` at jump targets, `·` where an instruction was interpreted already."""
    targets = {i.target for i in code.instructions if i.target is not None}
    lines: list[str] = []
    last_line: int | None = None
    for instruction in code.instructions:
        shown = ""
        if instruction.line is not None and instruction.line != last_line:
            shown = str(instruction.line)
            last_line = instruction.line
            if lines:
                lines.append("")
        arrow = "-->" if instruction.index == current else "   "
        jumped = ">>" if instruction.index in targets else "  "
        done = "·" if executed and executed.get(instruction.index) else " "
        offset = instruction.offset if instruction.offset is not None else instruction.index
        argument = short_name(one_line(instruction.argrepr))
        if not argument and instruction.arg is not None:
            argument = str(instruction.arg)
        lines.append(
            f"{shown:>5} {done}{arrow} {jumped} {offset:>4} {instruction.opname:<24} "
            f"{argument}".rstrip()
        )
    return lines


def block_line(block: Block, code: Code | None = None) -> str:
    """`with NullContextVariable, handler at 42, stack 3`."""
    what = f"with {block.context}" if block.context else "try"
    target = "" if block.target is None else f", handler at {_where(code, block.target)}"
    return f"{what}{target}, stack {block.stack_index}"


def _where(code: Code | None, index: int) -> str:
    if code is None or not 0 <= index < len(code.instructions):
        return f"#{index}"
    instruction = code.instructions[index]
    return f"#{index}" if instruction.offset is None else str(instruction.offset)


# -- what the compiler made -----------------------------------------------------------------------


_ON_SIZES = ("SHAPE_ENV", "SYMBOLIC_SHAPE_GUARD")


def guarded_text(kind: str, source: str) -> str:
    """What a guard looks at: its source, or what else of a call it is about."""
    return short_name(one_line(source)) or ("(sizes)" if kind in _ON_SIZES else "(global state)")


def guard_line(guard: Guard) -> str:
    """`TENSOR_MATCH L['x']`; the kind first, `(global state)` or `(sizes)` when it is about no
    single value."""
    return f"{guard.kind} {guarded_text(guard.kind, guard.source)}"


def node_line(node: Node) -> str:
    """`add_1 = operator.add(x, y)  f32[2, 3]`."""
    text = node_code(node)
    meta = node_meta(node)
    return f"{text}  {meta}" if meta else text


def node_meta(node: Node) -> str:
    """The node's example value in one line; empty when there is none."""
    return node.meta.brief if node.meta is not None else one_line(node.meta_text)


def node_code(node: Node) -> str:
    """One statement, as FX would write it: `add = operator.add(x, y)`."""
    args, target = one_line(node.args), short_name(node.target)
    match node.op:
        case "placeholder":
            source = f"  # {short_name(node.source)}" if node.source else ""
            return f"{node.name} = input{source}"
        case "get_attr":
            return f"{node.name} = self.{target}"
        case "call_method":
            head, rest = split_arguments(args)
            return f"{node.name} = {head}.{target}({rest})"
        case "call_module":
            return f"{node.name} = self.{target}({args})"
        case "output":
            return f"return {args}"
        case _:
            return f"{node.name} = {target}({args})"


def split_arguments(args: str) -> tuple[str, str]:
    """The first argument and the rest of an argument list, brackets respected."""
    depth, quote = 0, ""
    for index, letter in enumerate(args):
        if quote:
            if letter == quote:
                quote = ""
        elif letter in "'\"":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == "," and depth == 0:
            return args[:index].strip(), args[index + 1 :].strip()
    return args.strip(), ""


def graph_code(nodes: Sequence[Node], rows: Sequence[int | str] | None = None) -> list[str]:
    """The graph as Python, one statement a node; subgraphs after the main graph.

    Args:
        nodes: all of them.
        rows: what is shown of the main graph: places of nodes, and what stands for those that are
            left out; None: all.
    """
    lines: list[str] = []
    shown = range(len(nodes)) if rows is None else rows
    for graph in dict.fromkeys(node.graph for node in nodes):
        own = [node for node in nodes if node.graph == graph]
        inputs = [node for node in own if node.op == "placeholder"]
        names = ", ".join(["self", *(node.name for node in inputs)])
        if lines:
            lines.append("")
        lines.append(f"def {graph or 'forward'}({names}):")
        for row in shown:
            if isinstance(row, str):
                lines += [] if graph else [f"    # {row}"]
            elif nodes[row].graph == graph:
                lines.append(f"    {_statement(nodes[row])}")
        if not any(node.op == "output" for node in own):
            lines.append(f"    {ELLIPSIS}")
    return lines


def table(header: Sequence[str], rows: Iterable[Sequence[str]], width: int = 40) -> list[str]:
    """Columns as wide as their widest cell, at most `width`; the last one is not cut."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    widths = [
        min(max(len(row[column]) for row in [list(header), *cells]), width)
        for column in range(len(header))
    ]
    lines = []
    for row in [list(header), *cells]:
        fitted = [clip(cell, widths[i]).ljust(widths[i]) for i, cell in enumerate(row[:-1])]
        lines.append("  ".join([*fitted, row[-1]]).rstrip())
    return lines


def _statement(node: Node) -> str:
    meta = node_meta(node)
    if node.op == "placeholder":
        about = "  ".join(filter(None, (short_name(node.source), meta)))
        return f"# {node.name}: {about}" if about else f"# {node.name}"
    return node_code(node) + (f"  # {meta}" if meta else "")


def graph_table(nodes: Sequence[Node], rows: Sequence[int | str] | None = None) -> list[str]:
    """The graph as a table: op, name, target, arguments, value. `rows`: see `graph_code`."""
    shown = range(len(nodes)) if rows is None else rows
    cells = [_node_cells(nodes[row]) for row in shown if not isinstance(row, str)]
    head, *lines = table(("op", "name", "target", "args", "value"), cells)
    made = iter(lines)
    return [head, *(row if isinstance(row, str) else next(made) for row in shown)]


def _node_cells(node: Node) -> tuple[str, ...]:
    target, args = short_name(node.target), one_line(node.args)
    return node.op, node.name, target, args, node_meta(node)


def side_effect_line(effect: SideEffect) -> str:
    """`attribute  L['self'].count = 3`."""
    return f"{effect.kind}  {one_line(effect.text)}"


def graph_break_lines(graph_break: GraphBreak, cwd: str = "") -> list[str]:
    """Dynamo's own words: the reason, why, what to do, and the user's stack."""
    lines = graph_break.reason.strip().splitlines()
    # The reason usually holds the explanation and the hints already, as Dynamo prints them.
    # There they are indented differently.
    said = one_line(graph_break.reason)
    if graph_break.explanation and one_line(graph_break.explanation) not in said:
        lines.append(f"Explanation: {one_line(graph_break.explanation)}")
    hints = map(one_line, graph_break.hints)
    lines.extend(f"Hint: {hint}" for hint in hints if hint not in said)
    if graph_break.user_stack:
        lines.append("User stack:")
        lines.extend(f"  {place_text(frame, cwd)}" for frame in graph_break.user_stack)
    if not graph_break.resumes:
        lines.append("The whole frame is given up and runs uncompiled.")
    return lines


# -- places ------------------------------------------------------------------------------------


def place_text(place: PythonFrame | None, cwd: str = "") -> str:
    """`FILE:12 in forward`; empty where there is none."""
    if place is None:
        return ""
    return f"{short_path(place.filename, cwd)}:{place.line} in {function_name(place.function)}"


_LONG_WAY = 3
"""Calls in libraries, one after the other, that are all told."""


def way_texts(way: Iterable[PythonFrame], cwd: str = "") -> Iterator[str]:
    """The calls of a stack, each as `place_text` has it; of a long way through libraries where it
    begins and where it ends."""
    for library, run in itertools.groupby(way, lambda frame: is_installed(frame.filename)):
        texts = [place_text(frame, cwd) for frame in run]
        if library and len(texts) > _LONG_WAY:
            texts[1:-1] = [f"… {plural(len(texts) - 2, 'more call')} in libraries"]
        yield from texts


def line_text(line: UserLine, cwd: str = "") -> str:
    """`FILE:12 in forward: return self.fc(x)`."""
    place = place_text(line.place, cwd)
    return f"{place}: {line.text}" if line.text else place


# -- translations -------------------------------------------------------------------------------


def walk_name(translation: Translation) -> str:
    """`0/0`, `execute 0/0`, `lookup`: which phase, and of what."""
    if translation.phase is Phase.TRANSLATE:
        return translation.compile_id or "-"
    return f"{translation.phase} {translation.compile_id}".rstrip()


def attempt_name(attempt: Attempt, translation: Translation) -> str:
    """`0/0 attempt 2`, or `lookup`; the attempt is named only when there is more than one."""
    name = walk_name(translation)
    several = attempt.number > 1 or translation.attempts > 1
    return f"{name} attempt {attempt.number}" if several else name


def translation_summary(translation: Translation) -> str:
    """`compiled  2 attempts  31 instructions  4 guards  5 nodes  1 graph break  0.12 s`."""
    if translation.phase is not Phase.TRANSLATE:
        return _walk_summary(translation)
    parts = [
        str(translation.outcome),
        plural(translation.attempts, "attempt"),
        plural(translation.instructions, "instruction"),
        plural(translation.guards, "guard"),
        plural(translation.nodes, "node"),
    ]
    if translation.graph_breaks:
        parts.append(plural(translation.graph_breaks, "graph break"))
    if translation.seconds is not None:
        parts.append(f"{translation.seconds:.2f} s")
    if translation.reason and translation.outcome is not Outcome.COMPILED:
        parts.append(clip(one_line(translation.reason), 80))
    return "  ".join(parts)


def _walk_summary(walk: Translation) -> str:
    """`miss  12 moments  0/0: size 3 ≠ 4`, `returned  31 instructions  0.12 s`."""
    noun = "moment" if walk.phase is Phase.LOOKUP else "instruction"
    parts = [str(walk.outcome)]
    if walk.outcome is not Outcome.RUNNING:
        parts.append(plural(walk.instructions, noun))
    if walk.seconds is not None and walk.phase is Phase.EXECUTE:
        parts.append(f"{walk.seconds:.2f} s")
    if walk.reason:
        parts.append(clip(one_line(walk.reason), 80))
    return "  ".join(parts)


def time_words(nanoseconds: int) -> str:
    """`4.83 s`, `83 ms`, `0.4 ms`."""
    if nanoseconds >= 100_000_000:
        return f"{nanoseconds / 1e9:.2f} s"
    milliseconds = nanoseconds / 1e6
    return f"{milliseconds:.0f} ms" if milliseconds >= 10 else f"{milliseconds:.1f} ms"
