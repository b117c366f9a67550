"""What a tensor is a view of, where sizes are symbols.

Of an argument that is a view Dynamo then asks for the sizes of the tensor behind it, its base:
`L['x']._base.size()[0]`. No guard before asks whether there is one, and of how many dimensions it
is. So to a call with a tensor that is no view such a condition is not false: what it compares
cannot be read, and all that Dynamo says of the entry is what Python says of that. Nothing else in
conditions can be missing so: tensors and their ranks have guards of their own, which are asked
before.
"""

from __future__ import annotations

import re

import msgspec

from stepper.analysis.conditions import LEAVES, SHAPE_ENV, all_conditions, as_installed
from stepper.analysis.sources import unscoped
from stepper.analysis.unmet_guards import Failure
from stepper.analysis.walks import expressions_in
from stepper.model.datum import Words
from stepper.model.lookup import Difference
from stepper.model.trace import Translation
from stepper.recording.reader import Recording

BASE = "base"
"""What of a tensor differs."""
_OF_A_BASE = re.compile(r"(?P<tensor>.+?)\._base\.(?:size|stride|storage_offset)\(\)")
_OF_NONE = re.compile(r"'NoneType' object has no attribute '(?:size|stride|storage_offset)'$")
_OUT_OF_RANGE = "tuple index out of range"
_NO_SIZES, _NO_ELEMENT = "None has no sizes", "it has no element "
"""How recorded lookups say that it could not be read."""


def with_bases(recording: Recording, made: Translation, failures: list[Failure]) -> list[Failure]:
    """What a call did not pass, with the conditions on what a tensor is a view of told as one
    failure of that tensor, where it is known which one that is."""
    told: dict[object, Failure] = {}
    for at, failure in enumerate(failures):
        found = _with_base(recording, made, failure)
        told.setdefault(at if found is failure else found.source, found)
    return [*told.values()]


def _with_base(recording: Recording, made: Translation, failure: Failure) -> Failure:
    if failure.differences:
        return failure
    text = failure.text
    read, _, missing = text.rpartition(": ")
    none = missing == _NO_SIZES or _OF_NONE.search(text) is not None
    short = missing.startswith(_NO_ELEMENT) or text == _OUT_OF_RANGE
    if failure.kind in LEAVES:
        compared = read if none or short else as_installed(recording, made, text)
    elif none or short:
        compared = " and ".join(all_conditions(recording, made))
    else:
        return failure
    found = (_OF_A_BASE.match(each) for each in expressions_in(compared))
    tensors = {each["tensor"] for each in found if each is not None}
    if len(tensors) != 1:
        return failure
    expected, actual = Words("one of these sizes"), Words("one of others")
    if short:
        expected, actual = Words("one of more dimensions"), Words("one of fewer")
    return msgspec.structs.replace(
        failure,
        kind=failure.kind or SHAPE_ENV,
        source=unscoped(tensors.pop()),
        differences=(
            Difference(BASE, Words("a tensor"), None) if none
            else Difference(BASE, expected, actual),
        ),
        missing=False,
    )  # fmt: skip
