"""Commands over the compiler's cache in the living program: look, ask, change."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from stepper.client.cache_text import (
    VERDICT_SIGNS,
    check_summary,
    code_line,
    comparison_lines,
    entry_check_line,
    entry_line,
    from_here,
    guard_row_line,
    lifeline_line,
    witness_lines,
)
from stepper.client.decompiling import DecompilerError, decompile
from stepper.client.text import bytecode_listing, place_text, short_path
from stepper.console.commands import CommandError, command, positive_number
from stepper.model.cache import (
    CacheCheck,
    CachedCode,
    CacheEntry,
    CacheError,
    CacheListing,
    EntryCode,
    EntryView,
    RunResult,
    Verdict,
    WitnessSearch,
)
from stepper.model.control import (
    CheckCache,
    CloneEntry,
    EditEntry,
    FetchCode,
    FindWitness,
    InspectEntry,
    ListCache,
    RegisterEntry,
    RemoveEntry,
    Request,
    Response,
    RunEntry,
    StepEntry,
)
from stepper.recording.recorded_call import recorded_call

if TYPE_CHECKING:
    from stepper.console.shell import Shell

Data = TypeVar("Data")

_OF = re.compile(r"(?:(?P<name>.*\S)\s+)?of\s+(?P<moment>\d+)")
_EDIT = re.compile(r"\b(drop|add)\b")


@command("cache", usage="[FUNCTION]", group="Cache")
def cache(shell: Shell, argument: str) -> None:
    """Every code that has cache entries, and its entries in the order of lookup.

    FUNCTION is a glob over the names. The number before an entry is what the other commands take;
    `✗` is an invalid entry, `○` a draft, `–` one that is gone.
    """
    codes = _listing(shell, argument)
    if not codes:
        text = "no cache entry is known yet"
        raise CommandError(f"no entries of {argument!r}; cache lists all" if argument else text)
    cwd = _cwd(shell)
    for code in codes:
        shell.screen.say(f"{code_line(code)}  {short_path(code.filename, cwd)}:{code.line}")
        for entry in code.entries:
            shell.screen.say(f"  {entry_line(entry, cwd)}")
            shell.screen.lines(f"      {text}" for text in _remarks(entry, cwd))


@command("entry", usage="N [guards | code | graph | python | text [FILE]]", group="Cache")
def entry(shell: Shell, argument: str) -> None:
    """One entry: its guards in the order of checks, what it lives on; its code; its graph.

    `entry N python` shows the code decompiled, where the extra `depyf` is installed. `entry N text`
    prints the bytecode in the form that `edit` takes, or writes it into FILE.
    """
    number, _, part = argument.partition(" ")
    if part.strip() == "python":
        shell.screen.lines(_decompiled(shell, _entry(number)))
        return
    view = _ask(shell, EntryView, lambda seq: InspectEntry(seq, _entry(number)))
    part, _, path = (part.strip() or "guards").partition(" ")
    if part == "guards":
        _print_view(shell, view)
    elif part == "code":
        if view.code is None:
            raise CommandError("its code is gone, or the compiler does not give it away")
        shell.screen.lines(bytecode_listing(view.code, None))
    elif part == "graph":
        shell.screen.lines(view.graph.splitlines() or ["its backend kept no graph"])
    elif part == "text" and path:
        _write(shell, path.strip(), view.bytecode)
    elif part == "text":
        shell.screen.lines(view.bytecode.splitlines())
    else:
        raise CommandError(f"{part!r}: guards, code, graph, python or text?")


def _decompiled(shell: Shell, number: int) -> list[str]:
    code = _ask(shell, EntryCode, lambda seq: FetchCode(seq, number))
    try:
        return decompile(code).splitlines()
    except DecompilerError as error:
        raise CommandError(str(error)) from None


def _write(shell: Shell, path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise CommandError(f"the bytecode cannot be written: {error}") from None
    shell.screen.say(f"written to {path}; edit N {path} makes a draft of what you make of it")


def _remarks(entry: CacheEntry, cwd: str) -> Iterator[str]:
    """What there is to say of an entry below its line. (Who holds an object is known of an entry
    that was asked for alone.)"""
    for line in entry.lifelines:
        yield f"lives on {lifeline_line(line, cwd)}"
        yield from (f"  held by {from_here(holder, cwd)}" for holder in line.holders)
    yield from (f"edited: {text}" for text in entry.edits)
    yield from (f"beware: {text}" for text in entry.warnings)


def _print_view(shell: Shell, view: EntryView) -> None:
    cwd = _cwd(shell)
    shell.screen.say(entry_line(view.entry, cwd))
    shell.screen.lines(f"  {text}" for text in _remarks(view.entry, cwd))
    for row in view.guards:
        line = row.user_line
        because = f"  by {place_text(line.place, cwd)}" if line is not None else ""
        shell.screen.say(f"  {row.index:>3}  {guard_row_line(row)}{because}")


@command("check", usage="[FUNCTION] [of MOMENT] [(ARGUMENTS)]", group="Cache")
def check(shell: Shell, argument: str) -> None:
    """Run arguments against the cache: every entry's verdict, which match, which would run.

    `check scale (x, factor=2.0)` asks the entries of `scale`; the arguments are evaluated in the
    program, as for a call. Without arguments those of the call at which the program stands.
    `check of 35` takes those of the recorded call that moment 35 belongs to: constants as they
    were, tensors like those, with random numbers; `check of 35 (self=model)` gives what a recording
    does not hold.
    Nothing is changed by asking. `run-entry` lets the winner run, `step-entry` steps its code here;
    `break execute:scale` stops where the program runs it next.
    """
    _check(shell, argument, compare=False)


@command("compare-eager", usage="[FUNCTION] [of MOMENT] [(ARGUMENTS)]", group="Cache")
def compare_eager(shell: Shell, argument: str) -> None:
    """As `check`, and run the winner and the function itself on copies of the arguments."""
    _check(shell, argument, compare=True)


def _check(shell: Shell, argument: str, *, compare: bool) -> None:
    function, arguments = _call(shell, argument)
    code = _one_code(shell, function)
    found = _ask(
        shell, CacheCheck, lambda seq: CheckCache(seq, code.id, arguments, compare=compare)
    )
    for name, text in found.arguments:
        shell.screen.say(f"  {name} = {text}")
    entries = {each.id: each for each in code.entries}
    for each in found.entries:
        shell.screen.say(entry_check_line(each, entries.get(each.entry)))
        rows = {row.index: row for row in found.guards.get(each.entry, ())}
        for guard in each.checks:
            if guard.verdict is Verdict.PASS:
                continue
            row = rows.get(guard.guard)
            name = guard_row_line(row) if row is not None else str(guard.guard)
            actual = f"  actual {guard.actual}" if guard.actual else ""
            differs = f"  {guard.difference}" if guard.difference else ""
            sign = VERDICT_SIGNS[guard.verdict]
            shell.screen.say(f"    {sign} {guard.guard:>3}  {name}{actual}{differs}")
    shell.screen.say(check_summary(found))
    if found.comparison is not None:
        shell.screen.lines(comparison_lines(found.comparison))


@command("run-entry", usage="N [of MOMENT] [(ARGUMENTS)]", group="Cache")
def run_entry(shell: Shell, argument: str) -> None:
    """Run an entry's code by hand, whatever its guards say, and compare with eager."""
    number, arguments = _call(shell, argument)
    found = _ask(
        shell, RunResult, lambda seq: RunEntry(seq, _entry(number), arguments, compare=True)
    )
    shell.screen.say(found.text)
    if found.comparison is not None:
        shell.screen.lines(comparison_lines(found.comparison))


@command("step-entry", usage="N [of MOMENT] [(ARGUMENTS)]", group="Cache")
def step_entry(shell: Shell, argument: str) -> None:
    """Step an entry's code by hand, whatever its guards say, and come back to this stop.

    It runs on copies of the arguments and stops at its first instruction; `s`, `n`, `c` and the
    others go on, and its end leads back here. What it calls runs uncompiled. It is recorded like
    the program's own executions; the cache stays as it is.
    """
    number, arguments = _call(shell, argument)
    shell.answer(response_to(shell, lambda seq: StepEntry(seq, _entry(number), arguments)))
    shell.wait()


@command("witness", usage="N ROW [of MOMENT] [(ARGUMENTS)]", group="Cache")
def witness(shell: Shell, argument: str) -> None:
    """Whether a guard is needed, by experiment: look for an input that shows it.

    ROW is the guard's number as `entry N` shows it. Inputs are made of those of the call, by
    changing just what the guard watches; the entry's code is run with them and compared with eager,
    in a copy of the process. What differs is a witness; without one, what was tried is said.
    """
    numbers, arguments = _call(shell, argument)
    words = numbers.split()
    if len(words) != 2 or not words[1].isdecimal():
        raise CommandError("witness takes an entry and the number of a guard: witness 1 4")
    entry, row = _entry(words[0]), int(words[1])
    found = _ask(shell, WitnessSearch, lambda seq: FindWitness(seq, entry, row, arguments))
    shell.screen.lines(witness_lines(found))


@command("clone", usage="N [drop ROW …] [add EXPRESSION]", group="Cache")
def clone(shell: Shell, argument: str) -> None:
    """Copy an entry as a draft, with guards left out or added.

    ROW is a guard's number as `entry N` shows it. EXPRESSION is over `L` (the locals) and `G` (the
    globals): `clone 1 drop 4 5 add L['x'].dim() == 1`. The compiler knows the draft only after
    `register`.
    """
    number, drop, add = _clone_arguments(argument)
    view = _ask(shell, EntryView, lambda seq: CloneEntry(seq, number, drop, add))
    _print_view(shell, view)


def _clone_arguments(text: str) -> tuple[int, tuple[int, ...], tuple[str, ...]]:
    parts = _EDIT.split(text, maxsplit=1)
    number, rest = _entry(parts[0].strip()), text[len(parts[0]) :]
    before, _, added = rest.partition("add ")
    rows = before.removeprefix("drop").replace(",", " ").split()
    if any(not row.isdecimal() for row in rows):
        raise CommandError("drop takes the numbers of guards: clone 1 drop 4 5")
    return number, tuple(map(int, rows)), (added.strip(),) if added.strip() else ()


@command("edit", usage="N FILE", group="Cache")
def edit(shell: Shell, argument: str) -> None:
    """Make a draft of an entry with the bytecode in FILE, as `entry N text FILE` writes it.

    A draft is changed itself.
    """
    number, _, path = argument.partition(" ")
    try:
        with open(path.strip(), encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        raise CommandError(f"edit needs an entry and a file that can be read: {error}") from None
    _print_view(shell, _ask(shell, EntryView, lambda seq: EditEntry(seq, _entry(number), text)))


@command("register", usage="N", group="Cache")
def register(shell: Shell, argument: str) -> None:
    """Put a draft into the compiler's cache; says what that makes unsound."""
    view = _ask(shell, EntryView, lambda seq: RegisterEntry(seq, _entry(argument)))
    shell.screen.say(entry_line(view.entry, _cwd(shell)))
    shell.screen.lines(f"  beware: {text}" for text in view.entry.warnings)


@command("remove", usage="N", group="Cache")
def remove(shell: Shell, argument: str) -> None:
    """Take a registered copy out of the cache, or throw a draft away."""
    shell.answer(response_to(shell, lambda seq: RemoveEntry(seq, _entry(argument))))


# -- what they share -----------------------------------------------------------------------------


def response_to(shell: Shell, make: Callable[[int], Request]) -> Response:
    """The program's answer. It runs code of its own for it, which Ctrl-C interrupts."""
    answer = shell.session.request(make)
    while True:
        try:
            return answer.result()
        except KeyboardInterrupt:
            shell.session.interrupt()


def _ask(shell: Shell, kind: type[Data], make: Callable[[int], Request]) -> Data:
    response = response_to(shell, make)
    if response.printed:
        shell.screen.program(response.printed)
    if not response.ok or not isinstance(response.data, kind):
        raise CommandError(response.text or "the program's answer was not understood")
    return response.data


def _listing(shell: Shell, function: str) -> tuple[CachedCode, ...]:
    return _ask(shell, CacheListing, lambda seq: ListCache(seq, function)).codes


def _cwd(shell: Shell) -> str:
    return shell.session.recording.facts.cwd if shell.session.recording else ""


def _entry(text: str) -> int:
    return positive_number(text, "an entry's number (cache lists them)")


def _call(shell: Shell, text: str) -> tuple[str, str]:
    """A name and arguments: between parentheses, or those of a recorded call."""
    name, parenthesis, rest = text.partition("(")
    if parenthesis and not rest.rstrip().endswith(")"):
        raise CommandError("the arguments go between parentheses: check scale (x, factor=2.0)")
    arguments = rest.rstrip()[:-1].strip() if parenthesis else ""
    match = _OF.fullmatch(name.strip())
    if match is None:
        return name.strip(), arguments
    try:
        call = recorded_call(shell.recording, int(match["moment"]))
        expression = call.expression(arguments)
    except CacheError as error:
        raise CommandError(str(error)) from None
    if remark := call.remark(arguments):
        shell.screen.say(remark)
    return match["name"] or call.function, expression


def _one_code(shell: Shell, function: str) -> CachedCode:
    """The one code that is meant; without a name, that at which the program stands."""
    if not function:
        state, recording = shell.state, shell.recording
        function = recording.translation(state.translation).name
    codes = _listing(shell, function)
    if len(codes) == 1:
        return codes[0]
    if not codes:
        raise CommandError(f"no entries of {function!r}; cache lists all")
    names = ", ".join(code.qualname or code.name for code in codes[:5])
    raise CommandError(f"{function!r} is several: {names}")
