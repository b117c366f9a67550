"""Commands that decide what becomes of a call: before it is compiled again, and meanwhile.

The first act at a stop in a lookup that found no entry (`break miss`, `break guard-fail`). Each
says what it has done; the program goes on with `c`. `fork` acts at a stop in a translation. The
recording notes it: from there on the program is not what it would have been without a debugger.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from stepper.console.caching import response_to
from stepper.console.commands import CommandError, command, positive_number
from stepper.model.control import MarkDynamic, RelaxGuard, SkipCall

if TYPE_CHECKING:
    from stepper.console.shell import Shell

_MARK = re.compile(r"(?P<source>.*?\S)??\s*(?P<dim>-?\d+)?")
_RELAX = re.compile(r"(?P<entry>\d+)?\s*(?:drop\s+(?P<rows>[\d\s,]+))?")


@command("mark-dynamic", usage="[TENSOR] [DIM] [strict]", group="Intervene")
def mark_dynamic(shell: Shell, argument: str) -> None:
    """Before a call is compiled again: make a size of a tensor a symbol for that compilation.

    At a stop in a lookup that found no entry (`break miss`, `break guard-fail`). Without arguments
    the sizes that differ from what the newest failing guard wants; `mark-dynamic x 0` names one.
    The live tensor is marked, as `torch._dynamo.maybe_mark_dynamic` does it; with `strict` as
    `mark_dynamic`: the compilation fails where the code needs that size as a number. `c` goes on.
    """
    words = argument.split()
    strict = words[-1:] == ["strict"]
    match = _MARK.fullmatch(" ".join(words[:-1] if strict else words))
    assert match is not None  # every part is optional
    source, dim = match["source"] or "", None if match["dim"] is None else int(match["dim"])
    shell.answer(response_to(shell, lambda seq: MarkDynamic(seq, source, dim, strict)))


@command("relax-guard", usage="[ENTRY] [drop ROW …]", group="Intervene")
def relax_guard(shell: Shell, argument: str) -> None:
    """In place of a compilation: have an entry serve the call, without the guard that refused it.

    At a stop in a lookup that found no entry (`break miss`, `break guard-fail`). A copy of the
    entry without that guard is put into the cache and serves this call and all later ones that pass
    its other guards; what that makes unsound is said. Without arguments the newest entry that
    refused the call; ROW is a guard's number as `entry N` shows it. `remove N` switches the copy
    off.
    """
    match = _RELAX.fullmatch(argument)
    if match is None:
        raise CommandError("relax-guard takes an entry and guards: relax-guard 1 drop 4 5")
    entry = positive_number(match["entry"], "an entry's number") if match["entry"] else None
    rows = tuple(map(int, (match["rows"] or "").replace(",", " ").split()))
    shell.answer(response_to(shell, lambda seq: RelaxGuard(seq, entry, rows)))


@command("skip-call", group="Intervene")
def skip_call(shell: Shell, argument: str) -> None:
    """In place of a compilation: run this call, and all that it calls, uncompiled.

    At a stop in a lookup that found no entry (`break miss`, `break guard-fail`). Nothing is
    compiled for it; the function's next call is looked up and compiled as ever.
    """
    shell.answer(response_to(shell, SkipCall))


@command("fork", usage="[MOMENT] [set SLOT = EXPR; …]", group="Intervene")
def fork(shell: Shell, argument: str) -> None:
    """Go back in the translation at which the program stands, and on from there otherwise.

    With --engine native. The translation begins again in another attempt, beside the first, and
    stops at MOMENT, or where the cursor is. Behind it, separated by `;`: `set x = 3` or `set
    stack[-1] = EXPR` gives a slot of the innermost frame another value (a constant, or a tracker of
    the frame), `drop-guard N` leaves a guard out, `break-graph` breaks the graph there. What is
    changed so is tried up to the end of the translation and set aside: the program goes on with
    what it gets without it. With `keep` it goes on with the fork, which is unsound. A graph break
    is sound, and its entry is kept. `W` on the screen, or `stepper diff`, compares the attempts.
    """
    from stepper.client.forks import fork_request

    try:
        request = fork_request(shell.cursor.position, argument)
    except ValueError as error:
        raise CommandError(str(error)) from None
    shell.answer(response_to(shell, request))
    shell.wait()
