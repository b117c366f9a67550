"""The graphs that a transformed code calls: how long they run is told apart.

A graph is the function that a transformed code calls by the name that the compiler gave it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

from stepper.support.per_object import PerCode
from stepper.uncompiled import keep_out

_GRAPH_NAME = "__compiled_fn"


class GraphCalls:
    """Has the beginning and the end of graphs told."""

    def __init__(self) -> None:
        self._told: PerCode[bool] = PerCode()

    def listen(
        self, listen: Callable[[CodeType], None], code: CodeType, f_globals: dict[str, Any]
    ) -> None:
        """Have `listen` hear of the graphs of a transformed code, if it has not yet."""
        if self._told.get(code):
            return
        for name in code.co_names:
            graph = f_globals.get(name) if name.startswith(_GRAPH_NAME) else None
            if type(graph) is FunctionType:
                listen(graph.__code__)
        self._told.set(code, True)


keep_out()
