"""What a program of the bench is: a function that is run twice, as reported and with the remedy.

For `is-guarded` there is nothing to remedy: there a program changes the value that is asked about
between its calls, and the other run leaves it as it was. Torch itself tells what is true then:
where the change is guarded against, it takes one compilation more."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

Question = Literal["why-recompile", "why-break", "why-failed", "why-shape", "is-guarded"]

Program = Callable[["Run"], None]


class Case(NamedTuple):
    """A program, where it comes from, and what the right answer says."""

    report: str
    """Where it was reported; empty: written for a rule, after no report."""
    ask: Question
    expression: str
    """What is asked about, where a question takes that."""
    cause: tuple[str, ...]
    """What the answer says of the cause."""
    advice: str
    """What the first piece of advice says; empty: there must be none."""
    counts: tuple[int, int]
    """Graphs handed to the backend as reported, and with the remedy; of `is-guarded`: with the
    value changed, and with it as it was."""
    never: tuple[str, ...]
    """What would be wrong to say."""
    function: str
    """The function asked about, where it is a library's."""
    program: Program

    @property
    def name(self) -> str:
        """That of the program."""
        return self.program.__name__

    @property
    def file(self) -> Path:
        """The program's."""
        return Path(inspect.getfile(self.program))

    @property
    def line(self) -> int | None:
        """The line that ends in the comment `# cause`; None: it is none of the program's."""
        lines, first = inspect.getsourcelines(self.program)
        found = [number for number, line in enumerate(lines, first) if "# cause" in line]
        return found[0] if found else None


class Run:
    """One run of a program: compiles its functions, and counts."""

    def __init__(self, name: str, *, remedied: bool) -> None:
        self.name = name
        self.remedied = remedied
        """Whether the remedy is to be applied, or a value left as it was."""
        self.graphs = 0
        self.errors = 0
        """How often what was compiled, or was to be, failed."""
        self.options: dict[str, Any] = {}
        """Options for all that is compiled, in place of the program's own."""

    def __call__(self, graph: Any, example_inputs: Any) -> Callable[..., Any]:
        """As a backend: run the graph as it is."""
        self.graphs += 1
        forward: Callable[..., Any] = graph.forward
        return forward

    def traced_again(self, graph: Any, example_inputs: Any) -> Callable[..., Any]:
        """As a backend: have AOTAutograd trace the graph again, and run that."""
        from torch._dynamo.backends.debugging import aot_eager

        self.graphs += 1
        made: Callable[..., Any] = aot_eager(graph, example_inputs)
        return made

    def compile(self, function: Any, **options: Any) -> Any:
        """torch.compile, with the backend that counts."""
        import torch

        return torch.compile(function, backend=self, **{**options, **self.options})

    def count_with_torch(self) -> None:
        """Count the graphs of a program that needs a backend of torch's own."""
        from torch._dynamo.utils import counters

        self.graphs += counters["stats"]["unique_graphs"]

    @contextlib.contextmanager
    def failing(self) -> Iterator[None]:
        """Goes on behind an error, and counts it."""
        try:
            yield
        except Exception:
            self.errors += 1

    def whole(self, function: Any) -> Any:
        """Compile into one graph, or fail."""
        return self.compile(function, fullgraph=True)


CASES: dict[str, Case] = {}


def case(
    report: str,
    ask: Question,
    *,
    expression: str = "",
    cause: str | tuple[str, ...],
    advice: str = "",
    counts: tuple[int, int],
    never: tuple[str, ...] = (),
    function: str = "",
) -> Callable[[Program], Program]:
    """Take a program up; see `Case`."""

    def take(program: Program) -> Program:
        causes = (cause,) if isinstance(cause, str) else cause
        made = Case(report, ask, expression, causes, advice, counts, never, function, program)
        assert CASES.setdefault(made.name, made) is made
        return program

    return take


def of(question: Question) -> Iterator[Case]:
    """The cases of a question."""
    return (each for each in CASES.values() if each.ask == question)
