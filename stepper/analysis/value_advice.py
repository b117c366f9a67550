"""What to change where a number, a text or another plain value of the program changes from call to
call.

Whether Dynamo takes a number as an input of the graph depends on where the number stands: that of
an argument, of a container, of a closure or of an object it makes a symbol at the second value it
sees; that of a global, of a function's default and, unless a setting says so, of an nn.Module it
never does. And a symbol is a number again as soon as the code needs its value, in which case that
line is the cause. Each of these is told only where the recording shows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stepper.analysis.advice import Advice, Entries, all_are, needed_by, seen, symbol_of
from stepper.analysis.recompile_series import History, Series
from stepper.analysis.shapes import Size, cause_of, same, size_of
from stepper.analysis.sources import path_of
from stepper.model.change import Dynamic, Setting
from stepper.model.trace import Outcome
from stepper.recording.reader import Recording

_ATTRIBUTES_ARE_SYMBOLS = Setting("allow_unspec_int_on_nn_module", True)
_OF_A_MODULE = "nn_module"
"""The end of Dynamo's names for the scopes of guards on what belongs to an nn.Module."""
_GLOBAL = re.compile(r"G\['\w+'\]\Z")
_KEY_OF = re.compile(r"list\(dict\.keys\((?P<dict>.+)\)\)\[\d+\]\Z")
"""Dynamo's expression for a key by its place."""
_DEFAULT = re.compile(r"\.__(?:kw)?defaults__\[")


def on_value(
    recording: Recording, history: History, wanted: Entries, series: Series, name: str
) -> Iterator[Advice]:
    """Advice on a value, if there is any.

    Args:
        recording: what is asked.
        history: of the function.
        wanted: what its entries want.
        series: how the value changes.
        name: the value, as its user would write it.
    """
    since = seen(series, name)
    number = all_are(int, series) or all_are(float, series)
    can = history.capabilities
    if None in series.values:
        text = (
            f"There is an entry for {name} being None, and one for something else: hand over "
            "always one of them, or accept both."
        )
        yield Advice(text, since, series.source, series.aspect)
        return
    if key := _KEY_OF.match(name):
        text = (
            f"The order of the keys is a constant of the graph: hand over {key['dict']} always "
            "with the same keys in the same order."
        )
        yield Advice(text, since, series.source, series.aspect)
        return
    if not number or not can.symbols:
        yield Advice(_each_by_itself(name), since, series.source, series.aspect)
        return
    if size := _fixed(recording, history, series):
        cause = cause_of(size)
        assert cause is not None
        text, fact = needed_by(recording, size, cause, name)
        yield Advice(text, f"{fact}; {since}", series.source, series.aspect)
        return
    symbol, entry = symbol_of(wanted, series)
    if symbol:
        # As a tensor an int could be no length of a slice, no index and no argument of many
        # operators; what it is used for is not recorded.
        or_else = "" if all_are(int, series) else ", or keep it in a tensor"
        dynamic = Dynamic(can.compile)
        yield Advice(
            f"Dynamo has made {name} an input of the graph by itself. To save the entry for its "
            f"first value: {dynamic}{or_else}.",
            f"{entry} has it as an input; {since}",
            series.source,
            series.aspect,
            (dynamic,),
        )
    elif all_are(float, series):
        text = f"Hand over {name} as a tensor: torch.tensor({name})."
        yield Advice(text, since, series.source, series.aspect)
    elif _belongs_to_a_module(recording, history, series):
        text = (
            f"An int that is an attribute of an nn.Module is a constant of the graph. Keep {name} "
            "in a tensor (register_buffer), or count outside of the compiled function."
        )
        if can.dynamo_config:
            text += (
                f" {_ATTRIBUTES_ARE_SYMBOLS} makes it a symbol, which helps unless something needs "
                "its value: an index into a list, say, or the length of a loop."
            )
        changes = (_ATTRIBUTES_ARE_SYMBOLS,) if can.dynamo_config else ()
        yield Advice(text, since, series.source, series.aspect, changes)
    elif _GLOBAL.match(series.source):
        text = (
            "An int that is a global is a constant of the graph. Hand "
            f"{name} over as an argument, or keep it in a tensor."
        )
        yield Advice(text, since, series.source, series.aspect)
    elif _DEFAULT.search(series.source):
        text = (
            "An int that is the default of a function's argument is a constant of the graph. Take "
            "it from the function's closure, or keep it in a tensor."
        )
        yield Advice(text, since, series.source, series.aspect)
    else:
        yield Advice(_each_by_itself(name), since, series.source, series.aspect)


def _fixed(recording: Recording, history: History, series: Series) -> Size | None:
    """What is known of the value in the newest entry, if it was a symbol there that was fixed."""
    path = path_of(series.source)
    for each in reversed(history.recompilations):
        if path is not None and each.translation.outcome is Outcome.COMPILED:
            size = size_of(recording, each.translation, path)
            known = size is not None and size.symbol is not None and size.value
            return size if known and size is not None and _has_cause(size) else None
    return None


def _has_cause(size: Size) -> bool:
    cause = cause_of(size)
    return cause is not None and bool(cause.user_stack)


def _belongs_to_a_module(recording: Recording, history: History, series: Series) -> bool:
    """Whether Dynamo has guarded the value as part of an nn.Module."""
    path = path_of(series.source)
    if path is None or not path.steps or not path.steps[-1].startswith("."):
        return False
    for each in history.recompilations:
        for attempt in recording.attempts(each.translation.id)[-1:]:
            for guard in recording.guards(None, attempt=attempt.id):
                if guard.scope.endswith(_OF_A_MODULE):
                    guarded = path_of(guard.source)
                    if guarded is not None and same(guarded, path):
                        return True
    return False


def _each_by_itself(name: str) -> str:
    return (
        f"Each value of {name} is compiled by itself. If there are few, that is the price of "
        "branching on it; if there are many, take what depends on it out of the compiled "
        "function, or hand over what it is looked up for instead."
    )
