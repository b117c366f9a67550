"""Commands that ask the recording as a whole: in SQL, and each question of the table in
`stepper.analysis.questions`."""

from __future__ import annotations

import itertools
from textwrap import fill
from typing import TYPE_CHECKING, Any

from stepper.analysis.questions import QUESTIONS, Question
from stepper.client.text import capitalized
from stepper.console.commands import CommandError, Handler, command
from stepper.console.paths import resolve
from stepper.console.replaying import parted, trying
from stepper.console.screen import STYLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from stepper.analysis.line import Line
    from stepper.console.shell import Shell

_ROWS = 200
_SECONDS = 10.0
_WIDTH = 96
"""How wide the help of a question is, in characters."""


@command("query", usage="SQL", group="Ask")
def query(shell: Shell, argument: str) -> None:
    """Asks the recording in SQL: query SELECT kind, count(*) FROM guards GROUP BY kind.

    Without SQL: the views and their columns. The first 200 rows are shown; `stepper query FILE SQL`
    shows all, also as CSV and JSON.
    """
    from stepper.analysis.query import Query, QueryError
    from stepper.analysis.row_lines import table_lines
    from stepper.analysis.views import COLUMNS

    if not argument:
        shell.screen.lines(f"{name}({', '.join(names)})" for name, names in COLUMNS.items())
        return
    try:
        answer = Query(shell.recording, argument, seconds=_SECONDS)
        try:
            rows = answer.rows()
            shell.screen.lines(table_lines(answer.columns, itertools.islice(rows, _ROWS)))
            if next(rows, None) is not None:
                shell.screen.say(f"… the first {_ROWS} rows; stepper query shows all", "dim")
        finally:
            answer.close()
    except QueryError as error:
        raise CommandError(str(error)) from None


@command("why-guard", usage="GUARD [ENTRY]", group="Ask")
def why_guard(shell: Shell, argument: str) -> None:
    """Why a guard is there: what it protects against, where it came from, how often it fails.

    GUARD is a number as `guards` shows it, a kind (TENSOR_MATCH), an expression (self.fc.weight) or
    KIND:EXPRESSION, with * and ?; ENTRY, e.g. 0/1, leaves out the other entries. How often it ran
    and failed, and its part of the time, come from recorded lookups (--lookups).
    """
    from stepper.analysis.guard_lines import guard_lines

    words = argument.split()
    if len(words) not in (1, 2):
        raise CommandError("why-guard needs a guard, e.g. why-guard TENSOR_MATCH:x 0/0")
    _say(shell, guard_lines(shell.recording, *words))


@command("depends", usage="PATH | NODE", group="Ask")
def depends(shell: Shell, argument: str) -> None:
    """On which guards a value or a node of the native engine depends, and what these are for.

    PATH is a value's as `value` takes it, NODE a node's name: depends x, depends stack[-1],
    depends add_1.
    """
    from stepper.analysis.dependence_lines import dependence_lines

    if not argument:
        raise CommandError("what depends? depends NAME, depends stack[-1], depends NODE")
    recording, attempt = shell.recording, shell.state.attempt
    node = recording.node(attempt, argument)
    held = node if node is not None else resolve(shell.state, shell.frame, argument)[1]
    _say(shell, dependence_lines(recording, attempt, argument, held.guards))


@command("symbols", usage="[SYMBOL]", group="Look")
def symbols(shell: Shell, argument: str) -> None:
    """The symbols that sizes have at this moment: range, what they stand for, what became of them.

    With SYMBOL, all that has become known about it until now, with its moments.
    """
    from stepper.analysis.symbol_lines import symbol_lines

    _say(shell, symbol_lines(shell.recording, shell.state.attempt, shell.state.moment.id, argument))


def _asks(question: Question) -> Handler:
    """The command of a row of the table."""

    def ask(shell: Shell, argument: str) -> None:
        words, options = parted(argument, question)
        if not words and not question.open:
            raise CommandError(f"{question.name} what? {question.name} {question.examples[0]}")
        more: dict[str, Any] = {"every": "--all" in options} if question.every else {}
        if question.trials:
            more["trying"] = trying(shell, options, question.trying)
        _say(shell, question.answer()(shell.recording, *words, **more))

    ask.__doc__ = "\n\n".join(fill(" ".join(part), _WIDTH) for part in _help(question))
    return ask


def _help(question: Question) -> Iterator[list[str]]:
    """The paragraphs, each in sentences."""
    yield [f"{capitalized(question.summary)}."]
    yield [question.description, "Numbers after @ are moments."]
    more = [f"{each.name.upper()}: {each.help}." for each in question.arguments]
    if question.every:
        more.append(f"With --all: {question.every}.")
    if question.trials:
        more.append(f"With --replay --yes: {question.replay}; without --yes, only say what is run.")
    yield more


for _question in QUESTIONS.values():
    command(_question.name, usage=_question.usage, group="Ask")(_asks(_question))


def _say(shell: Shell, lines: Iterable[Line]) -> None:
    """Print an answer; lines that lead to a moment say to which, for `goto`."""
    from stepper.analysis.unseen import unseen

    end = () if shell.session.growing else unseen(shell.recording)
    for line in itertools.chain(lines, end):
        leads = f"  @{line.moment}" if line.moment else ""
        shell.screen.say(line.text + leads, STYLES.get(line.role, ""))
