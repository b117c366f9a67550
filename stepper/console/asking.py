"""Commands that ask the recording as a whole: in SQL, why it was compiled again, why it broke."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from stepper.console.commands import CommandError, command

if TYPE_CHECKING:
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
