"""The names that Dynamo gives to functions that go on after a graph break.

`torch_dynamo_resume_in_forward_at_12` goes on in `forward`, which was broken at line 12. The native
engine names its own in the same way. Nothing else says, in a code object, what a function goes on
with, so the name is taken apart, and only here.
"""

from __future__ import annotations

import re
from typing import NamedTuple

BEGINS = "torch_dynamo_resume_in_"
RESUME_NAME = re.compile(rf"\b{BEGINS}(?P<function>\w+?)_at_(?P<line>\d+)\b")


class Resumed(NamedTuple):
    """What the name of a resume function says."""

    function: str
    """The name of the function that was broken, with `_` for what is no letter in it."""
    line: int
    """Where it was broken."""


def resumed(name: str) -> Resumed | None:
    """What a name says, qualified or not, if it is that of a resume function."""
    found = RESUME_NAME.search(name)
    return None if found is None else Resumed(found["function"], int(found["line"]))


def resumed_name(text: str) -> str:
    """A text with resume functions as a person would call them:
    `Net.torch_dynamo_resume_in_forward_at_12` is `Net.forward, resumed at 12`."""
    return RESUME_NAME.sub(r"\g<function>, resumed at \g<line>", text)
