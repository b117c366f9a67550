"""All programs of the bench: to import this takes them up."""

from tests.answers import (  # noqa: F401
    breaks,
    breaks_in_python,
    breaks_on_data,
    constants,
    exports,
    failures,
    guarded,
    guarded_state,
    left_free,
    operators,
    rare_breaks,
    recompiles,
    reported_breaks,
    reported_failures,
    reported_recompiles,
    reported_sizes,
    sizes,
    specialized,
    state,
    wrapped,
)
