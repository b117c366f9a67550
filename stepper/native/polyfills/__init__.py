"""What functions and iterators of Python's do, in Python.

What the translator does not know of a builtin is not modelled: the function here is interpreted in
its place, as CPython's documentation says what it does. It has the guards of the builtin, and
nothing of it is ever seen by the program: should the graph break within, or a value be needed that
it has made, the instruction that calls the builtin is left to Python as a whole. So is every error:
where the builtin would raise one, `refuse` is called, which breaks the graph.
"""

from __future__ import annotations

from stepper.native.polyfills.functions import (
    NEW_OBJECT,
    FunctionContext,
    match_class,
    match_keys,
)
from stepper.native.polyfills.iterators import (
    called_until,
    given_by,
    hint_asked,
    is_given_by,
    items_by_index,
    iterated_from,
    length_asked,
    parts_of_template,
    reversed_list,
    reversed_sequence,
)
from stepper.native.polyfills.table import (
    CALLABLES,
    FUNCTIONS,
    ITERATORS,
    METHODS,
    OPERATIONS,
    REMAKING,
    Polyfill,
    Remaking,
    is_polyfill,
)

__all__ = [
    "CALLABLES", "FUNCTIONS", "ITERATORS", "METHODS", "NEW_OBJECT", "OPERATIONS", "REMAKING",
    "FunctionContext", "Polyfill", "Remaking", "called_until", "given_by", "hint_asked",
    "is_given_by", "is_polyfill", "items_by_index", "iterated_from", "length_asked", "match_class",
    "match_keys", "parts_of_template", "reversed_list", "reversed_sequence",
]  # fmt: skip
