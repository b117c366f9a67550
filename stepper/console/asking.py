"""Commands that ask the recording as a whole: in SQL, why it was compiled again, why it broke."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from stepper.console.commands import CommandError, command
from stepper.console.paths import resolve
from stepper.console.replaying import parted, trying
from stepper.console.screen import STYLES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stepper.analysis.line import Line
    from stepper.console.shell import Shell

_ROWS = 200
_SECONDS = 10.0


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


@command("why-recompile", usage="[--all] [--replay --yes] [FUNCTION]", group="Ask")
def why_recompile(shell: Shell, argument: str) -> None:
    """Why functions were compiled again: each entry's failing guards, series, advice.

    For each recompilation the call, what each entry's guards expected and found, and where those
    guards came from; numbers after @ are moments. With FUNCTION, only functions with that in their
    names. A recording made with --lookups says most. Of many recompilations only the first is told
    whole; with --all each is. With --replay, what would be run to try what can be done about it is
    shown; with --yes as well, it is run again with each, and what is proven is told first.
    """
    from stepper.analysis.recompile_lines import recompile_lines
    from stepper.analysis.recompile_trials import RecompileTrials

    function, options = parted(argument)
    tries, every = trying(shell, options, RecompileTrials), "--all" in options
    _say(shell, recompile_lines(shell.recording, function, every=every, trying=tries))


@command("why-break", usage="[--replay --yes] [FUNCTION]", group="Ask")
def why_break(shell: Shell, argument: str) -> None:
    """Why graphs broke and frames were skipped, over the whole run: the most expensive cause first.

    For each cause Dynamo's reason, the nearest change that avoids it where one is known, the
    instruction with its symbolic stack, what it cost, and every frame that it broke; numbers after
    @ are moments. With FUNCTION, only in functions with that in their names. --replay and --yes are
    as for why-recompile.
    """
    from stepper.analysis.break_lines import break_lines
    from stepper.analysis.break_trials import BreakTrials

    function, options = parted(argument)
    tries = trying(shell, options, BreakTrials)
    _say(shell, break_lines(shell.recording, function, trying=tries))


@command("why-failed", usage="[--replay --yes] [FUNCTION]", group="Ask")
def why_failed(shell: Shell, argument: str) -> None:
    """Why compilations failed: Dynamo's whole message, and the instruction to blame.

    For each the stage and the exception, what the instruction was about to take and where that was
    made, and the calls that led there; numbers after @ are moments. With FUNCTION, only of
    functions with that in their names. --replay and --yes are as for why-recompile.
    """
    from stepper.analysis.failed_lines import failed_lines
    from stepper.analysis.failure_trials import FailureTrials

    function, options = parted(argument)
    tries = trying(shell, options, FailureTrials)
    _say(shell, failed_lines(shell.recording, function, trying=tries))


@command("why-slow", usage="[--all] [--replay --yes] [FUNCTION]", group="Ask")
def why_slow(shell: Shell, argument: str) -> None:
    """Where compile time went: the backend, tracing, attempts thrown away, guards.

    By function, by line of the program with all that was inlined from there, and by phase as the
    compiler times itself; numbers after @ are moments. With FUNCTION, only of functions with that
    in their names. --all lists every row, not only the longest. With --replay and --yes, which are
    as for why-recompile, changes that may make compiling and guards shorter are tried.
    """
    from stepper.analysis.slow_lines import slow_lines
    from stepper.analysis.slow_trials import SlowTrials

    function, options = parted(argument)
    if " " in function:
        raise CommandError("why-slow takes one function, e.g. why-slow forward")
    tries, every = trying(shell, options, SlowTrials), "--all" in options
    _say(shell, slow_lines(shell.recording, function, every=every, trying=tries))


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


@command("idle-guards", usage="[ENTRY]", group="Ask")
def idle_guards(shell: Shell, argument: str) -> None:
    """Guards of the native engine on which no output depends, entry by entry.

    Its values carry the guards that they depend on. Counted are those of the output (what the frame
    returns, hands on or changes), those by which a way through the code was chosen, those on the
    way to such values, and those about no value; listed is the rest. ENTRY, e.g. 0/1, leaves out
    the other entries.
    """
    from stepper.analysis.dependence_lines import idle_lines

    _say(shell, idle_lines(shell.recording, argument))


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


@command("is-guarded", usage="EXPRESSION", group="Ask")
def is_guarded(shell: Shell, argument: str) -> None:
    """Whether an expression is guarded, entry by entry: is-guarded x.shape[0].

    By what its value is guarded, or a tensor of which it is a property; or else what guards look
    at: parts of it, or only what leads to it.
    """
    from stepper.analysis.guard_lines import guarded_lines

    if not argument:
        raise CommandError("is what guarded? is-guarded EXPRESSION, e.g. is-guarded x.shape[0]")
    _say(shell, guarded_lines(shell.recording, argument))


@command("why-shape", usage="[SIZE [FUNCTION]]", group="Ask")
def why_shape(shell: Shell, argument: str) -> None:
    """Why a size is fixed, or free: why-shape x.shape[0].

    What its symbol stands for, why it is one, and each condition with the line and the instruction
    that asked for it, the graph's node and torch's own frames. SIZE may be a symbol, e.g. s77, too;
    without one, every size that was to be a symbol and became a number.
    """
    from stepper.analysis.shape_lines import shape_lines

    words = argument.split()
    if len(words) > 2:
        raise CommandError("why-shape takes a size and a function, e.g. why-shape x.shape[0] f")
    _say(shell, shape_lines(shell.recording, *words))


@command("symbols", usage="[SYMBOL]", group="Look")
def symbols(shell: Shell, argument: str) -> None:
    """The symbols that sizes have at this moment: range, what they stand for, what became of them.

    With SYMBOL, all that has become known about it until now, with its moments.
    """
    from stepper.analysis.symbol_lines import symbol_lines

    _say(shell, symbol_lines(shell.recording, shell.state.attempt, shell.state.moment.id, argument))


def _say(shell: Shell, lines: Iterable[Line]) -> None:
    """Print an answer; lines that lead to a moment say to which, for `goto`."""
    from stepper.analysis.unseen import unseen

    end = () if shell.session.growing else unseen(shell.recording)
    for line in itertools.chain(lines, end):
        leads = f"  @{line.moment}" if line.moment else ""
        shell.screen.say(line.text + leads, STYLES.get(line.role, ""))
