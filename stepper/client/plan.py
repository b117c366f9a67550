"""What would be run to replay a recording, and whether it may be.

A recording can come from anybody, and a replay runs the command line that stands in it. So little
of that is taken over: a script or a module whose file is here, its arguments, its folder, its hash
seed, and those options of Python that reach nothing. The interpreter is this one, or one that the
user names. No other variable of the environment is in a recording, and none is set. What is left is
shown, and run only when the user says so; and what this user did not start on this machine only
when it is trusted, besides (see `stepper.client.origin`).
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator
from typing import Literal

import msgspec

from stepper.client.launch import LaunchError, LaunchSpec, command_line, need_c_part
from stepper.client.origin import digest, foreign
from stepper.client.program import program_file
from stepper.client.text import plural, short_path
from stepper.debuggee.registry import is_registered
from stepper.model.trace import WITHHELD, Translation
from stepper.recording.reader import Recording
from stepper.support.pythons_own import is_installed

HASH_SEED = "PYTHONHASHSEED"
CACHES = "TORCHINDUCTOR_CACHE_DIR"
"""Where the compiler's caches on disk are."""
_WITH_VALUE = frozenset({"-X", "-W", "--check-hash-based-pycs"})
_HARMLESS = re.compile(
    r"-[ObBdqsuvRP]+"
    r"|-X ?(dev|utf8(=[01])?|faulthandler|no_debug_ranges|tracemalloc(=\d+)?|gil=[01]"
    r"|int_max_str_digits=\d+)"
    # With a dot in the category Python imports its module.
    r"|-W ?(default|error|always|module|once|ignore)(:[^:]*(:\w*)?)?"
)
_SEED = re.compile(r"random|\d{1,10}")
_SHOWN = 12
"""Files that are named."""


class ReplayError(Exception):
    """The program of a recording cannot be run again; the message says why."""


class Plan(msgspec.Struct, frozen=True):
    """A program that would be run again, for the user to say whether it may be."""

    spec: LaunchSpec
    folder: str
    hash_seed: str
    """For the environment; empty: as it is here."""
    files: tuple[str, ...]
    """Those whose code was recorded, the program's own first."""
    since: float
    """When the program was recorded; seconds since the epoch."""
    foreign: str
    """Why the recording is not taken for this user's own; empty: it is."""
    empty_caches: bool = False
    """Whether each run begins with empty caches of the compiler."""

    def see_unchanged(self) -> None:
        """See that the files are those of the recorded program.

        Raises:
            ReplayError: one is gone, or was written since.
        """
        for path in self.files:
            try:
                changed = os.stat(path).st_mtime > self.since
            except (OSError, ValueError):
                raise ReplayError(f"{path} is gone: record the program again") from None
            if changed:
                raise ReplayError(f"{path} has changed since: record the program again")

    def lines(self) -> Iterator[str]:
        """What would be run, for a person."""
        yield f"command      {shlex.join(command_line(self.spec, self.folder))}"
        yield f"folder       {self.folder}"
        others = []
        if self.hash_seed and os.environ.get(HASH_SEED) != self.hash_seed:
            others.append(f"{HASH_SEED}={self.hash_seed}")
        if self.empty_caches:
            others.append(f"{CACHES}=an empty folder for each run")
        rest = "else as it is here" if others else "as it is here"
        yield f"environment  {', '.join((*others, rest))}"
        shown = ", ".join(short_path(path, self.folder) for path in self.files[:_SHOWN])
        left = len(self.files) - _SHOWN
        yield f"files        {shown}" + (f", … {plural(left, 'more file')}" if left > 0 else "")
        if self.foreign:
            yield f"beware       {self.foreign}"


def plan_of(
    recording: Recording, *, python: str = "", trust: bool = False, timed: bool = False
) -> Plan:
    """What would be run to replay a recording.

    Args:
        recording: of which program.
        python: the interpreter; empty: this one.
        trust: whether the recording may be another's.
        timed: whether the times of runs are to be compared: no run then finds in the compiler's
            caches what another has left there, and lookups are recorded if they were.

    Raises:
        ReplayError: it cannot be run again, is not what was recorded, or may be another's.
    """
    try:
        need_c_part()
    except LaunchError as error:
        raise ReplayError(str(error)) from None
    facts = recording.facts
    if not facts.argv:
        raise ReplayError("the recording does not hold the program's command line")
    if not facts.launched:
        raise ReplayError(
            "the program opened this recording itself, so nothing is known that would do it again; "
            "stepper record makes one that can be replayed"
        )
    if any(WITHHELD in word for word in facts.argv):
        raise ReplayError(
            "its command line held what looks like a secret, which was not recorded; "
            "record the program with --secrets to run it again"
        )
    if facts.rank is not None:
        raise ReplayError(f"it is rank {facts.rank} of several, which only run together")
    if not is_registered(facts.engine):
        raise ReplayError(
            f"its engine {facts.engine!r} is not registered here: install the package that brings "
            "it. Nothing is imported because a recording names it"
        )
    if "\0" in "".join((*facts.argv, facts.cwd)):
        raise ReplayError("its command line is damaged: no program can be given a NUL character")
    spec = _parsed(facts.argv)
    strange = foreign(facts, recording.path)
    if strange and not trust:
        raise ReplayError(
            f"{strange}. To run it anyway, look at its command line (info in stepper console) and "
            "add --trust on the command line"
        )
    if not os.path.isabs(facts.cwd) or not os.path.isdir(facts.cwd):
        raise ReplayError(f"the directory {facts.cwd!r} that it ran in is gone")
    ran = facts.argv[0]
    if os.sep in ran:  # else it is looked for where commands are
        ran = os.path.join(facts.cwd, ran)
    if not python and not _is_this_python(ran):
        if strange:
            raise ReplayError(
                f"it ran in another Python than this one ({ran}): name the one to run it "
                "with, --python PYTHON on the command line"
            )
        python = ran
    program = _program(spec, facts.cwd, recording)
    items = recording.translations()
    named = {recording.code(item.code).filename for item in items}
    # Those of the lines that call what was compiled, where a change may be tried.
    named |= set(filter(None, (_called_by(item) for item in items)))
    # Those between angle brackets are of code that was in no file.
    files = {os.path.join(facts.cwd, name) for name in named if not name.startswith("<")}
    lookups = timed and bool(recording.lookups())
    spec = msgspec.structs.replace(
        spec, python=python, engine=facts.engine, reads="nothing", lookups=lookups
    )
    try:
        command_line(spec, facts.cwd)
    except LaunchError as error:
        raise ReplayError(str(error)) from None
    plan = Plan(
        spec=spec,
        folder=facts.cwd,
        hash_seed=_seed(facts.hash_seed),
        files=(program, *sorted(files - {program})),
        since=facts.started,
        foreign=strange,
        empty_caches=timed,
    )
    plan.see_unchanged()
    return plan


def _called_by(item: Translation) -> str:
    """The program's own file that made a call; empty: it is not recorded, or no file."""
    ours = (frame.filename for frame in reversed(item.python_stack))
    return next((name for name in ours if name.endswith(".py") and not is_installed(name)), "")


def _parsed(argv: tuple[str, ...]) -> LaunchSpec:
    words = list(argv[1:])
    options: list[str] = []
    while words and words[0].startswith("-") and words[0] not in ("-", "-m", "-c"):
        options.append(words.pop(0))
        whole = options[-1]
        if options[-1] in _WITH_VALUE and words:
            options.append(words.pop(0))
            whole = f"{whole} {options[-1]}"
        if not _HARMLESS.fullmatch(whole):
            raise ReplayError(f"Python's option {whole!r} is not taken over from a recording")
    if words[:1] == ["-c"]:
        raise ReplayError("its code, given with -c, is in no file here: only a file is run again")
    kind: Literal["module", "script"] = "module" if words[:1] == ["-m"] else "script"
    rest = words[1:] if kind == "module" else words
    if not rest or rest[0] == "-":
        raise ReplayError("the program was read from standard input, and is not in the recording")
    return LaunchSpec(
        kind=kind, target=rest[0], args=tuple(rest[1:]), python_options=tuple(options)
    )


def _is_this_python(path: str) -> bool:
    """Whether a path is this interpreter's: not only the same program, but in the same folder, from
    where a virtual environment takes its packages."""
    try:
        same = os.path.samefile(path, sys.executable)
    except (OSError, ValueError):
        return False
    ours, theirs = (os.path.realpath(os.path.dirname(each)) for each in (sys.executable, path))
    return same and ours == theirs


def _program(spec: LaunchSpec, folder: str, recording: Recording) -> str:
    """The file that is run, which is the recorded one."""
    found = program_file(spec.kind, spec.target, folder)
    if not found:
        what = os.path.join(folder, spec.target)
        if spec.kind == "module":
            what = f"the module {spec.target!r}"
        raise ReplayError(f"{what} is gone: record the program again")
    origin = recording.facts.origin
    if origin is not None and origin.program and digest(found) != origin.program:
        raise ReplayError(f"{found} has changed since: record the program again")
    return found


def _seed(recorded: str) -> str:
    """The recorded hash seed, if it is one."""
    valid = _SEED.fullmatch(recorded) and (recorded == "random" or int(recorded) < 2**32)
    return recorded if valid else ""
