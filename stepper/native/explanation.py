"""What `stepper.native.explain` says of a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch.fx


class Explanation:
    """What was captured while it listened.

    graphs: of each code, by name, its graphs.
    breaks: code name, line (None: of code that stepper has put around the program's), reason.
    skips: code name, reason.
    """

    def __init__(self) -> None:
        self.graphs: list[tuple[str, torch.fx.GraphModule]] = []
        self.breaks: list[tuple[str, int | None, str]] = []
        self.skips: list[tuple[str, str]] = []

    @property
    def graph_count(self) -> int:
        """How many graphs were made."""
        return len(self.graphs)

    @property
    def graph_break_count(self) -> int:
        """How many times a graph was broken."""
        return len(self.breaks)

    @property
    def op_count(self) -> int:
        """How many operations are in all graphs together."""
        calls = ("call_function", "call_method", "call_module")
        return sum(node.op in calls for _, gm in self.graphs for node in gm.graph.nodes)

    def __str__(self) -> str:
        lines = [
            f"{self.graph_count} graphs, {self.op_count} operations, "
            f"{self.graph_break_count} graph breaks"
        ]
        for name, line, why in self.breaks:
            place = name if line is None else f"{name} line {line}"
            lines.append(f"  break in {place}: {why}")
        lines += [f"  {name} runs as it is: {why}" for name, why in self.skips]
        return "\n".join(lines)
