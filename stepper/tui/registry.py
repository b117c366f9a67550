"""The panes there are, in the order of their numbers."""

from __future__ import annotations

from stepper.tui.pane import Pane
from stepper.tui.panes.answer import AnswerPane
from stepper.tui.panes.bytecode import BytecodePane
from stepper.tui.panes.cache import CachePane
from stepper.tui.panes.calls import CallsPane
from stepper.tui.panes.console import ConsolePane
from stepper.tui.panes.effects import EffectsPane
from stepper.tui.panes.events import EventsPane
from stepper.tui.panes.flame import FlamePane
from stepper.tui.panes.frames import FramesPane
from stepper.tui.panes.graph import GraphPane
from stepper.tui.panes.guards import GuardsPane
from stepper.tui.panes.output import OutputPane
from stepper.tui.panes.result import ResultPane
from stepper.tui.panes.source import SourcePane
from stepper.tui.panes.symbols import SymbolsPane
from stepper.tui.panes.timeline import TimelinePane
from stepper.tui.panes.values import LocalsPane, StackPane


def all_panes() -> list[Pane]:
    """One of each."""
    return [
        AnswerPane(),
        SourcePane(),
        BytecodePane(),
        StackPane(),
        LocalsPane(),
        CallsPane(),
        GraphPane(),
        GuardsPane(),
        EffectsPane(),
        SymbolsPane(),
        EventsPane(),
        FramesPane(),
        OutputPane(),
        ConsolePane(),
        ResultPane(),
        TimelinePane(),
        CachePane(),
        FlamePane(),
    ]
