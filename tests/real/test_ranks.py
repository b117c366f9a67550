"""Ranks of a real process group that do not do the same, and what the others wait in."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepper.analysis.collectives import begun, groups
from stepper.recording.reader import Recording
from stepper.recording.session_folder import read
from tests.conftest import CORPUS, clean_environment
from tests.ready import python, stepper
from tests.real.ranks import PLANTED, PROGRAM, environment, line, missing, record, told

pytestmark = pytest.mark.slow

RANKS = 8
SKIPS = PLANTED.index("skip") + 1
"""The rank that skips a step with its collective."""


_STANDING = 200
"""Seconds after which ranks surely stand where they wait for each other."""


def done(folder: Path, ranks: int, *kinds: str, torchrun: bool = False) -> Path:
    """The session of ranks in which these are planted, rank 1 having the first."""
    recording = record(folder, ranks, *kinds, torchrun=torchrun)
    said, _ = recording.communicate(timeout=600)
    assert recording.returncode == 0, said
    return folder / "session"


def asked(folder: Path) -> tuple[int, str]:
    said = subprocess.run(
        [sys.executable, "-m", "stepper", "ranks", folder],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert not said.stderr
    return said.returncode, said.stdout


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight ranks that torchrun has started, of which six do something else, each its own."""
    return done(tmp_path_factory.mktemp("ranks"), RANKS, *PLANTED, torchrun=True)


def test_six_of_eight_ranks_under_torchrun_do_something_else(session: Path) -> None:
    code, text = asked(session)
    assert code == 1
    assert text.startswith(f"{RANKS} recordings in 7 classes that did the same")
    assert "  1  ranks 0, 7: 2 compilations" in text
    for rank, kind in enumerate(PLANTED, 1):
        assert not missing(text, kind, rank), text


@pytest.mark.parametrize("ranks", [2, 4])
def test_each_kind_in_some_of_two_and_four_ranks_under_torchrun(tmp_path: Path, ranks: int) -> None:
    others = ranks - 1
    rounds = [PLANTED[at : at + others] for at in range(0, len(PLANTED), others)]
    run = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks))
    subprocess.run(
        python(*run, PROGRAM, "rounds", *map(",".join, rounds)),
        cwd=tmp_path, env=environment(tmp_path), check=True, timeout=600, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    for kinds in rounds:
        text = told(tmp_path / ",".join(kinds))
        assert text.startswith(f"{ranks} recordings in {ranks} classes that did the same"), text
        for rank, kind in enumerate(kinds, 1):
            assert not missing(text, kind, rank), text


def test_a_collective_that_one_of_eight_ranks_skips(session: Path) -> None:
    _, _, collectives = told(session).partition(
        "collective 3 of default_pg (8 ranks) is not the same\n"
    )
    usual, odd, *_ = collectives.splitlines()
    assert usual.startswith("  ranks 0-5, 7: all_reduce f32[2] at ")
    assert f"/planted.py:{line('the usual one')} in work" in usual
    assert odd == f"  rank {SKIPS}: has begun no such one"


def test_all_collectives_are_known_with_where_they_were_begun(session: Path) -> None:
    usual = next(each for each in read(str(session)).processes if each.rank == 0)
    with contextlib.closing(Recording.open(usual.recording)) as recording:
        found = list(begun(recording))
        (group,) = groups(recording)
    assert (group.shown, group.ranks, group.enqueued) == ("default_pg", tuple(range(RANKS)), 3)
    assert [(each.collective.number, each.collective.name) for each in found] == [
        (1, "all_reduce"), (2, "all_reduce"), (3, "all_reduce"),
    ]  # fmt: skip
    assert {each.stack[-1].line for each in found} == {line("the usual one")}
    assert [each.collective.over for each in found[:2]] == [True, True]
    began = [each.collective.began for each in found]
    assert began == sorted(began)
    assert usual.started < began[0] / 1e9


def test_they_are_asked_as_a_view(session: Path) -> None:
    sql = "SELECT rank, count(*), max(number) FROM collectives GROUP BY rank ORDER BY rank"
    found = subprocess.run(
        [sys.executable, "-m", "stepper", "query", session, sql, "--format", "csv"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    expected = [f"{rank},{number},{number}" for rank, number in enumerate([3] * 6 + [2, 3])]
    assert found.stdout.splitlines()[1:] == expected


def test_recordings_of_other_machines_say_it_too(session: Path, tmp_path: Path) -> None:
    for each in read(str(session)).processes:
        if each.rank in (2, 5, SKIPS):
            shutil.copy(each.recording, tmp_path / f"host{each.rank}.stepper")
    text = told(tmp_path)
    assert "  ranks 2, 5: all_reduce f32[2] at" in text
    assert f"  rank {SKIPS}: has begun no such one" in text


@contextlib.contextmanager
def hanging(folder: Path, ranks: int) -> Iterator[Path]:
    recording = record(folder, ranks, "hang")
    try:
        yield folder / "session"
    finally:
        for each in read(str(folder / "session")).processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(each.pid, signal.SIGKILL)
        recording.communicate()


def until_told(folder: Path, text: str) -> str:
    """What is said as soon as it has a text, which it must have before long."""
    said, end = "", time.monotonic() + _STANDING
    while time.monotonic() < end:
        with contextlib.suppress(AssertionError):
            _, said = asked(folder)
            if text in said:
                return said
        time.sleep(0.2)
    raise AssertionError(f"{text!r} is not said:\n{said}")


@pytest.mark.timeout(600)
def test_a_rank_for_which_the_others_wait_is_named_while_they_wait_and_afterwards(
    tmp_path: Path,
) -> None:
    stands = "ranks 0, 2-3 stand in collective 3 of default_pg (4 ranks): all_reduce f32[2] at"
    missing = "    rank 1 has not begun it: the last is 2"
    with hanging(tmp_path, 4) as session:
        waiting = until_told(session, stands)
        assert missing in waiting.splitlines()
    code, text = asked(session)
    assert code == 1
    assert stands in text
    assert missing in text.splitlines()


def test_ranks_compute_begin_and_compile_the_same_when_they_are_watched(tmp_path: Path) -> None:
    program = CORPUS / "gloo_ranks.py"

    def printed(*command: str) -> str:
        return subprocess.run(
            command, cwd=tmp_path, env=clean_environment(), check=True, timeout=600,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        ).stdout  # fmt: skip

    alone = printed(*python(program))
    assert printed(*stepper("record", "--children", "-o", "session", program)) == alone
    recorded = read(str(tmp_path / "session")).recorded
    assert [each.how for each in recorded] == ["first", "fork"]
    for each in recorded:
        with contextlib.closing(Recording.open(each.recording)) as recording:
            assert {one.collective.name for one in begun(recording)} >= {"all_reduce", "broadcast"}
