"""Ranks of a real process group, some of which do something else: each kind of that.

    python -m tests.real.ranks --ranks 8 --torchrun

records all kinds one by one with so many ranks, forked or as torchrun starts them, prints what
`stepper ranks` says of each, and fails where that is not what was planted.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from stepper.analysis import rank_lines, ranks
from stepper.client.text import short_path
from stepper.recording.session_folder import read
from tests.conftest import ROOT, clean_environment
from tests.ready import executable, stepper

PROGRAM = ROOT / "tests" / "real" / "planted.py"
SHOWN = short_path(str(PROGRAM))
SAME = ("same", "traced")
PLANTED = ("shape", "branch", "environment", "break", "cache", "skip")
"""Kinds of divergence that end, and that ranks of one job can have each its own of."""
KINDS = (*SAME, *PLANTED, "collective", "graph")
"""All that end; in `hang`, one rank never begins a collective in which the others then wait."""


def record(folder: Path, ranks: int, *kinds: str, torchrun: bool = False) -> subprocess.Popen[str]:
    """Record a job into the session folder `session`: rank 1 has the first kind, and so on."""
    run = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", ranks)
    command = stepper(
        "record", "--children", "-o", "session", *(run if torchrun else ()), PROGRAM, ranks, *kinds
    )
    return subprocess.Popen(
        command, cwd=folder, env=environment(folder), text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def environment(folder: Path) -> dict[str, str]:
    """Of a job in this folder, whose ranks begin as `tests.ready` says."""
    return clean_environment() | {"OMP_NUM_THREADS": "1", "PYTHON_EXEC": executable(folder)}


def line(part: str) -> int:
    """Number of a line of the program."""
    lines = PROGRAM.read_text().splitlines()
    (found,) = [at for at, text in enumerate(lines, 1) if part in text]
    return found


def told(folder: Path, *, everything: bool = False) -> str:
    """What `stepper ranks` says of a session folder."""
    found = ranks.classes(ranks.compared(read(str(folder)).processes))
    lines = rank_lines.rank_lines(found, everything=everything)
    return "\n".join(line.text for line in lines)


def of_rank(text: str, rank: int) -> str:
    """What is said of a rank that is a class of its own."""
    (found,) = [part for part in text.split("\n\n") if f", rank {rank}: against rank 0 of" in part]
    return found


def missing(text: str, kind: str, rank: int) -> list[str]:
    """What should be said of a rank in which a kind is planted, and is not."""
    said = of_rank(text, rank)
    return [each for each in _expected(kind, f"rank {rank}") if each not in said]


def _expected(kind: str, rank: str) -> tuple[str, ...]:
    if kind == "shape":
        return (
            "TENSOR_MATCH L['x']",
            "shape[0] 4",
            "shape[0] 8",
            f"{rank}  l_x_ = input # L['x'] f32[8]",
        )
    if kind == "branch":
        odd = f"line {line('if odd:')}: if odd:"
        return (
            f"rank 0  decides by L['odd'], which is False, {odd}",
            f"{rank}  decides by L['odd'], which is True, {odd}",
            f"step, line {line('y - 1')}: y = y - 1",
        )
    if kind == "environment":
        at = line('os.environ.get("FAST")')
        return (f"{rank}  decides by True, line {at}: if os.environ.get",)
    if kind == "break":
        return (f"{rank} breaks the graph at {SHOWN}:{line('graph_break()')}",)
    if kind == "cache":
        at = line("before all others")
        return (f"{rank}  was called at {SHOWN}:{at}", "L['scale'] == 3")
    if kind == "skip":
        return (
            "first divergence: only rank 0 compiles 0/1 work.<locals>.step",
            "expected 4, actual 5",
            f"{rank} compiled nothing there: whether it made the call",
            "(--lookups records it)",
        )
    assert kind in KINDS
    return ()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.real.ranks")
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--torchrun", action="store_true")
    options = parser.parse_args()
    wrong = []
    for kind in KINDS:
        print(f"== {kind}, {options.ranks} ranks", flush=True)
        with tempfile.TemporaryDirectory() as made:
            recording = record(Path(made), options.ranks, kind, torchrun=options.torchrun)
            said, _ = recording.communicate()
            if recording.returncode:
                sys.exit(said)
            text = told(Path(made) / "session")
        print(text, flush=True)
        absent = missing(text, kind, 1) if kind in PLANTED else []
        if kind in SAME and f"all {options.ranks} recordings did the same" not in text:
            absent.append("did the same")
        wrong += [f"{kind} does not say: {each}" for each in absent]
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
