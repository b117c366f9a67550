"""Functions that one compilation inlines again and again, such as the layers of a model: as a
region that is traced once (`torch.compiler.nested_compile_region`).

That makes no compilation unnecessary, but each of them shorter.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator

from stepper.analysis.places import Files
from stepper.analysis.replays import Way
from stepper.model.trace import Outcome, Translation
from stepper.recording.reader import Recording
from stepper.support.pythons_own import is_installed

TIMES = 3
"""How often a function is inlined at least in one compilation."""
_MOST = 2
"""Functions that are tried, those with the most instructions."""


def ways_for(
    recording: Recording, files: Files, compilations: Iterable[Translation]
) -> Iterator[Way]:
    """What is worth a run: a function of the program that the last of a function's compilations has
    inlined again and again, as a region."""
    if recording.facts.capabilities.decorators != "torch.compiler":
        return
    made = [each.id for each in compilations if each.outcome is Outcome.COMPILED]
    attempts = recording.attempts(made[-1]) if made else []
    if not attempts:
        return
    inlined = Counter(each.code for each in recording.frames(attempts[-1].id) if each.depth)
    often = [recording.code(code) for code, times in inlined.items() if times >= TIMES]
    often.sort(key=lambda code: -inlined[code.id] * len(code.instructions))
    for code in [each for each in often if not is_installed(each.filename)][:_MOST]:
        file = files.at(code.filename)
        function = None if file is None else file.function(code.first_line, code.label)
        if file is None or not file.torch or not isinstance(function, ast.FunctionDef):
            continue
        decorator = file.torched("@torch.compiler.nested_compile_region")
        edit = None if function.decorator_list else file.line_before(function, decorator)
        if edit is not None:
            yield Way(f"torch.compiler.nested_compile_region of {code.label}", (edit,))
