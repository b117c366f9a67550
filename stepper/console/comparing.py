"""Two moments, or two attempts, side by side in signs."""

from __future__ import annotations

from stepper.client.frame_names import frame_name
from stepper.client.text import (
    clip,
    function_name,
    guard_line,
    instruction_text,
    node_line,
    plural,
    side_effect_line,
    source_line,
    value_line,
)
from stepper.console.commands import CommandError
from stepper.console.picture import WIDTH
from stepper.model.trace import Attempt
from stepper.model.value import Value
from stepper.recording.diff import compare_attempts, diff
from stepper.recording.reader import Recording


def moments_diff_lines(
    a: Recording, one: int, b: Recording, other: int, *, width: int = WIDTH
) -> list[str]:
    """What two moments have different: what changed in between when they are of one attempt, else
    one beside the other."""
    if a.path != b.path or a.place(one).attempt != b.place(other).attempt:
        from stepper.analysis.run_lines import moment_lines

        return [line.text for line in moment_lines(a, one, b, other, width=width)]
    return state_diff_lines(a, one, other) or ["nothing changed"]


def state_diff_lines(recording: Recording, a: int, b: int) -> list[str]:
    """What changed from moment `a` to moment `b`; empty when nothing did."""
    found = diff(recording, a, b)
    new_values = recording.state(b).values
    lines: list[str] = []
    for frame in found.frames:
        if not frame:
            continue
        code = recording.code(recording.frame(frame.frame).code)
        lines.append(f"{function_name(code.label)}{'  (entered)' if frame.entered else ''}")
        for local in frame.locals:
            old = found.old_values.get(local.old or 0)
            new = new_values.get(local.new or 0)
            lines.append(_change(local.name, old, new, local.old, local.new))
        for entry in frame.stack:
            old = found.old_values.get(entry.old or 0)
            new = new_values.get(entry.new or 0)
            lines.append(_change(f"stack[{entry.index}]", old, new, entry.old, entry.new))
        if frame.blocks:
            lines.append("~ block stack")
    lines += [
        f"~ ${value.id} {value_line(value.new)}  (was {value_line(value.old)})"
        for value in found.values
    ]
    lines += [f"+ guard {guard_line(guard)}" for guard in found.guards_added]
    lines += [f"- guard {guard_line(guard)}" for guard in found.guards_removed]
    lines += [f"+ node {node_line(node)}" for node in found.nodes_added]
    lines += [f"- node {node_line(node)}" for node in found.nodes_removed]
    lines += [f"+ effect {side_effect_line(effect)}" for effect in found.side_effects_added]
    lines += [f"- effect {side_effect_line(effect)}" for effect in found.side_effects_removed]
    return [clip(line, WIDTH) for line in lines]


def _change(
    name: str, old: Value | None, new: Value | None, old_id: int | None, new_id: int | None
) -> str:
    if not old_id:
        return f"+ {name} = {value_line(new)}"
    if not new_id:
        return f"- {name} = {value_line(old)}"
    return f"~ {name} = {value_line(new)}  (was {value_line(old)})"


def attempt_diff_lines(recording: Recording, a: Attempt, b: Attempt) -> list[str]:
    """Where two attempts part, and the guards and nodes that only one has: `-` the first's,
    `+` the second's."""
    found = compare_attempts(recording, a.id, b.id)
    lines = [f"the same for {plural(found.common, 'instruction')}"]
    for attempt, moment in ((a, found.diverges_a), (b, found.diverges_b)):
        if moment is None:
            lines.append(f"then attempt {attempt.number} is over")
        else:
            lines.append(f"then attempt {attempt.number} {_at(recording, moment)}")
    lines += [f"- guard {guard_line(guard)}" for guard in found.guards_only_a]
    lines += [f"+ guard {guard_line(guard)}" for guard in found.guards_only_b]
    lines += [f"- node {node_line(node)}" for node in found.nodes_only_a]
    lines += [f"+ node {node_line(node)}" for node in found.nodes_only_b]
    return [clip(line, WIDTH) for line in lines]


def _at(recording: Recording, moment: int) -> str:
    found = recording.moment(moment)
    code = recording.code(recording.frame(found.frame).code)
    instruction = code.instructions[found.ip]
    source = source_line(code, instruction.line)
    where = frame_name(recording, found.frame)
    return f"is at moment {moment}: {instruction_text(instruction)} in {where}" + (
        f", line {instruction.line}: {source}" if source else ""
    )


def frame_diff_lines(recording: Recording, compile_ids: list[str]) -> list[str]:
    """Two frames by their compile ids, side by side.

    Raises:
        CommandError: there are not two, or one of them is not recorded.
    """
    from stepper.analysis.run_lines import entry_lines
    from stepper.analysis.walks import compilations

    by_id = {item.compile_id: item for item in compilations(recording)}
    unknown = [each for each in compile_ids if each not in by_id]
    if len(compile_ids) != 2 or unknown:
        raise CommandError(
            f"there is no frame {unknown[0]}: see frames" if unknown else "compare needs two frames"
        )
    one, other = (by_id[each] for each in compile_ids)
    return [line.text for line in entry_lines(recording, one, recording, other, width=WIDTH)]
