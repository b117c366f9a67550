"""`is-guarded` in recordings of the native engine, of all that the bench asks about: whether
something is guarded is told by a second compilation, after it was changed, and none otherwise."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator

import pytest

from stepper.analysis.guard_lines import guarded_lines
from stepper.recording.reader import Recording
from tests.answers.cases import of
from tests.answers.running import native_recording

pytestmark = pytest.mark.slow

CASES = {case.name: case for case in of("is-guarded")}
BUT = ("is not guarded", "not its value", "its value is an input")
PRESENCE = "only whether "
REFUSED = ("nothing is called ", "is nothing that can be asked about")
"""It says how one can ask."""
GUARDED_LATER = {
    "share_left_by_a_break": "share.item() is guarded",
    "size_of_a_subclass": "x.shape[0] is guarded",
}
"""What no guard of the first entry looks at, and one of the function that goes on after a break."""
UNCOMPILED = "device_by_default"
"""With another device by default, it runs uncompiled."""


def _compiled(recording: Recording) -> Counter[str]:
    """How many compilations there were of the functions of each program."""
    return Counter(each.name.partition(".")[0] for each in recording.translations())


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    """The programs with what is asked about as it was."""
    path = tmp_path_factory.mktemp("native") / "kept.stepper"
    with contextlib.closing(native_recording(path, "--remedied", *CASES)) as recording:
        yield recording


@pytest.mark.parametrize("name", CASES)
def test_what_is_said_of_the_first_entry_is_so(
    name: str, native: Recording, kept: Recording
) -> None:
    case = CASES[name]
    again, anyway = (_compiled(each)[name] for each in (native, kept))
    is_guarded = again > anyway
    function = case.function or f"{name}.<locals>"
    lines = [line.text for line in guarded_lines(native, case.expression, function)]
    first = next(line for line in lines if not line.startswith(" "))
    if any(words in first for words in REFUSED):
        return
    if name in GUARDED_LATER:
        assert any(GUARDED_LATER[name] in line for line in lines)
    elif anyway == 1 and name != UNCOMPILED:
        said = " is guarded" in first and not any(words in first for words in BUT)
        partly = first.partition(": ")[2].startswith(PRESENCE) or " and attributes of " in first
        assert (said or partly) >= is_guarded, lines
        assert said <= is_guarded, lines
