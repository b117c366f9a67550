"""The symbols of an attempt at a moment, in words."""

from __future__ import annotations

from collections.abc import Iterator

from stepper.analysis.line import Line
from stepper.analysis.shape_lines import LATE, NOT_TOLD, WHY
from stepper.analysis.shapes import Symbol, symbols_at
from stepper.analysis.sources import spelled
from stepper.client.text import place_text
from stepper.model.shapes import ShapeStep, Stage
from stepper.model.trace import MomentId
from stepper.recording.reader import Recording


def symbol_lines(
    recording: Recording, attempt: int, moment: MomentId, name: str = ""
) -> Iterator[Line]:
    """A line for each symbol; with `name`, all that became known about that one before the
    moment."""
    found = symbols_at(recording, attempt, moment)
    late = [
        step
        for step in recording.late_shape_steps(attempt)
        if not name or name in (step.symbol, *step.symbols)
    ]
    if not found and not late:
        yield Line(no_symbol(recording))
    elif not name:
        for symbol in found.values():
            yield Line(_line(symbol), symbol.born.moment)
    elif name in found:
        yield Line(_line(found[name]), found[name].born.moment, "title")
        for step in found[name].steps:
            yield Line(f"  {step_text(step, recording.facts.cwd)}", step.moment)
    elif not late:
        yield Line(f"no symbol is called {name!r} here. There are: {', '.join(found)}")
    for step in late:
        yield Line(step_text(step, recording.facts.cwd), step.moment, "dim")


def no_symbol(recording: Recording) -> str:
    """What to say where no symbol was found: that there is none, as far as that was recorded."""
    if not recording.facts.capabilities.shape_steps:
        return NOT_TOLD
    partly = ", as far as that was recorded (--detail stops)"
    return f"no size is a symbol at this moment{partly * (recording.facts.detail == 'stops')}"


def _line(symbol: Symbol) -> str:
    asked = f"  asked {len(symbol.conditions)}×" if symbol.conditions else ""
    return f"{symbol.name}  {symbol.state}  {range_text(symbol)}  {stands_for(symbol)}{asked}"


def stands_for(symbol: Symbol) -> str:
    """Which sizes or numbers a symbol is, and their value now."""
    sources = ", ".join(map(spelled, symbol.sources)) or "what an operator gives"
    return f"{sources} (now {symbol.born.hint})" if symbol.born.hint else sources


def range_text(symbol: Symbol) -> str:
    """The values that it can have, both ends included; `?`: not known."""
    return f"[{symbol.low or '?'}, {symbol.high or '?'}]"


def step_text(step: ShapeStep, cwd: str) -> str:
    """One step, with the last of the program's lines for which it was asked."""
    why = f"  because {WHY[step.why]}" if step.why in WHY else ""
    stage = "" if step.stage is Stage.TRACING else f"  by {step.stage}"
    stack = step.program_stack
    where = f"  {place_text(stack[-1], cwd)}" if stack else ""
    late = f"  {LATE[step.late]}" if step.late else ""
    return f"{step.kind}  {step.text}{why}{stage}{late}{where}"
