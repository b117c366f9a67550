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
from stepper.model.lookup import BASE, NO_BASE, SMALLER_BASE, Difference
from stepper.model.trace import Translation
from stepper.recording.reader import Recording

_OF_A_BASE = re.compile(r"(?P<tensor>.+?)\._base\.(?:size|stride|storage_offset)\(\)")
_OF_NONE = re.compile(r"'NoneType' object has no attribute '(?:size|stride|storage_offset)'$")
_OUT_OF_RANGE = "tuple index out of range"


def with_bases(recording: Recording, made: Translation, failures: list[Failure]) -> list[Failure]:
    """What a call did not pass, with the conditions on what a tensor is a view of told as one
    failure of that tensor, where it is known which one that is."""
    told: dict[object, Failure] = {}
    for at, failure in enumerate(failures):
        found = _with_base(recording, made, failure)
        told.setdefault(found.source if _is_of_a_base(found) else at, found)
    return [*told.values()]


def _is_of_a_base(failure: Failure) -> bool:
    return any(each.what == BASE for each in failure.differences)


def _with_base(recording: Recording, made: Translation, failure: Failure) -> Failure:
    """A guard that was asked again says itself what cannot be read; the compiler has Python's
    words."""
    if failure.differences:
        return failure
    text = failure.text
    difference = Difference(BASE, Words("one of these sizes"), Words("one of others"))
    if failure.kind in LEAVES:
        compared = as_installed(recording, made, text)
    elif _OF_NONE.search(text) or text == _OUT_OF_RANGE:
        difference = SMALLER_BASE if text == _OUT_OF_RANGE else NO_BASE
        compared = " and ".join(all_conditions(recording, made))
    else:
        return failure
    found = (_OF_A_BASE.match(each) for each in expressions_in(compared))
    tensors = {each["tensor"] for each in found if each is not None}
    if len(tensors) != 1:
        return failure
    return msgspec.structs.replace(
        failure,
        kind=failure.kind or SHAPE_ENV,
        source=unscoped(tensors.pop()),
        differences=(difference,),
        missing=False,
    )
