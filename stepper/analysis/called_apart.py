"""Advice on what differs between calls of a function that is compiled only because its caller's
graph breaks.

Nobody asked for such a function to be compiled by itself. Without the break each of its calls would
be traced where it stands, as a part of what calls it, and two calls on different lines could hand
over different things at no cost. To have them hand over the same would mend nothing that the
program wants mended, and where both lines are a library's nobody can. So where two calls that
differ were made from different lines, the break is what is advised to be removed.

That holds of all but sizes and numbers, which can be symbols: advice on those helps without the
break, too.
"""

from __future__ import annotations

from stepper.analysis.advice import Advice, Changing
from stepper.analysis.break_places import left_to_python
from stepper.analysis.recompiles import changes_of
from stepper.analysis.sources import path_of, unscoped
from stepper.client.text import place_text, short_name
from stepper.model.program import PythonFrame

CALLED_APART = "called apart"
"""The name of the rule."""


def called_apart(it: Changing) -> Advice | None:
    """That the break is to be removed because of which the calls are not part of what makes
    them."""
    path = path_of(it.series.source)
    if path is None or path.globally or _can_be_symbol(it):
        return None
    lines = _lines_apart(it)
    if lines is None or not compiled_for_a_break(it):
        return None
    name, cwd = short_name(it.history.name), it.recording.facts.cwd
    return it.advise(
        f"{name} is compiled by itself because the graph breaks in what calls it, and the lines "
        f"that do differ in {it.name}: remove that break (why-break says how), and each of its "
        "calls is traced where it stands.",
        " and ".join(f"called at {place_text(line, cwd)}" for line in lines),
    )


def compiled_for_a_break(it: Changing) -> bool:
    """Whether the function is compiled by itself only because the graph of what calls it breaks."""
    made = [*it.entries.made, *(each.translation for each in it.history.recompilations)]
    left = all(left_to_python(it.recording, each) for each in made)
    return left and not it.history.resume_of


def _can_be_symbol(it: Changing) -> bool:
    of_sizes = it.what in ("size", "stride") or bool(it.series.condition)
    return of_sizes or (it.what == "value" and it.all_are(int, float))


def _lines_apart(it: Changing) -> tuple[PythonFrame, PythonFrame] | None:
    """The lines of two calls that differ in it: that for which an entry was made, and that which
    did not fit; None: it was one line, or is not recorded."""
    for each in it.history.recompilations:
        nearest = each.nearest
        if nearest is None or nearest.translation is None:
            continue
        changed = {(unscoped(found.source), found.by.aspect) for found in changes_of(nearest)}
        before = it.recording.translation(nearest.translation).python_stack
        now = each.translation.python_stack
        if (it.series.source, it.series.aspect) in changed and before and now:
            lines = before[-1], now[-1]
            if len({(line.filename, line.line) for line in lines}) > 1:
                return lines
    return None
