"""What recordings of several ranks say of their collectives, told by the files alone."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from stepper.analysis.collectives import Progress
from stepper.analysis.live_processes import waits
from stepper.analysis.rank_lines import rank_lines
from stepper.analysis.ranks import classes, compared
from stepper.model.collective import Collective, CollectiveReading, ProcessGroup
from stepper.model.program import PythonFrame
from stepper.recording.reader import Recording
from stepper.recording.session_folder import read
from stepper.recording.writer import Writer
from tests.tape import FACTS

STACK = (PythonFrame("/program.py", 7, "main"), PythonFrame("/program.py", 3, "step"))
BEGAN = 1_700_000_000_000_000_000
WORLD = (0, 1, 2)


def group(enqueued: int, completed: int, ranks: tuple[int, ...] = WORLD) -> ProcessGroup:
    return ProcessGroup("gloo", 0, enqueued, completed, "0", "default_pg", ranks)


def begun(number: int, name: str = "all_reduce", *shapes: str, over: bool = True) -> Collective:
    shapes = shapes or ("f32[2]",)
    return Collective(
        "gloo", number, 0, number, name, BEGAN, over=over, inputs=shapes, outputs=shapes, stack=0
    )


def reading(of: ProcessGroup, *collectives: Collective, whole: bool = True) -> CollectiveReading:
    return CollectiveReading(BEGAN, (of,), collectives, (STACK,), whole=whole)


def writing(folder: Path, rank: int) -> Writer:
    facts = msgspec.structs.replace(FACTS, rank=rank, pid=100 + rank)
    return Writer(str(folder / f"rank{rank}.stepper"), facts)


def write(
    folder: Path, rank: int, readings: Sequence[CollectiveReading], ended: str | None = "exit"
) -> None:
    writer = writing(folder, rank)
    for number, each in enumerate(readings, 1):
        writer.collectives(number, 0, each)
    writer.flush()
    if ended is None:
        writer.abandon()
    else:
        writer.close(ended)


def told(folder: Path) -> list[str]:
    found = classes(compared(read(str(folder)).processes))
    return [line.text for line in rank_lines(found)]


def test_ranks_that_begun_the_same_are_alike(tmp_path: Path) -> None:
    for rank in WORLD:
        write(tmp_path, rank, [reading(group(2, 2), begun(1), begun(2, "barrier"))])
    assert not any("collective" in line for line in told(tmp_path))


def test_of_recordings_that_grow_only_what_is_new_is_read(tmp_path: Path) -> None:
    ranks = {rank: Progress() for rank in WORLD}
    behind = {0: "", 1: ", not begun by ranks 0, 2", 2: ""}
    writers = [writing(tmp_path, rank) for rank in WORLD]
    for round_ in (1, 2):
        for rank, writer in zip(WORLD, writers, strict=True):
            far = 2 * round_ if rank == 1 else 2 * round_ - 1
            news = [begun(number, over=number < far) for number in (far - 1, far) if number]
            writer.collectives(round_, 0, reading(group(far, far - 1), *news))
            writer.flush()
            with contextlib.closing(
                Recording.open(str(tmp_path / f"rank{rank}.stepper"))
            ) as opened:
                ranks[rank].read_on(opened)
        for rank, progress in ranks.items():
            far = 2 * round_ if rank == 1 else 2 * round_ - 1
            told = f", all_reduce {far} of default_pg is not over"
            assert waits(progress, ranks) == (told, behind[rank])
    for writer in writers:
        writer.close("exit")
    # Of a rank of which nothing was read it is not said that it is behind.
    assert waits(ranks[1], {0: Progress(), 1: ranks[1]}).missing == ""
    assert waits(Progress(), ranks) == ("", "")


def test_who_has_not_begun_what_the_others_stand_in_is_named(tmp_path: Path) -> None:
    for rank in WORLD:
        far = 2 if rank == 1 else 3
        found = [begun(number, over=number < 3) for number in range(1, far + 1)]
        write(tmp_path, rank, [reading(group(far, 2), *found)], ended=None)
    at = told(tmp_path).index("    rank 1 has not begun it: the last is 2")
    stands = told(tmp_path)[at - 1]
    assert stands.startswith(
        "  ranks 0, 2 stand in collective 3 of default_pg (3 ranks): all_reduce f32[2] at "
        "/program.py:3 in step, begun "
    )


def test_one_that_was_not_read_before_the_end_is_known_by_its_number(tmp_path: Path) -> None:
    # The groups are asked each second, what was begun in them less often.
    for rank in WORLD:
        later = msgspec.structs.replace(group(5 if rank else 4, 4), name="", ranks=())
        write(tmp_path, rank, [reading(group(1, 1), begun(1)), reading(later)], ended=None)
    lines = told(tmp_path)
    at = lines.index("    rank 0 has not begun it: the last is 4")
    assert lines[at - 1].endswith("collective 5 of default_pg (3 ranks): which one was not read")


def test_the_first_that_is_not_the_same_is_told_with_both_sides(tmp_path: Path) -> None:
    for rank in WORLD:
        second = begun(2, "broadcast") if rank == 1 else begun(2)
        write(tmp_path, rank, [reading(group(3, 3), begun(1), second, begun(3, "barrier"))])
    lines = told(tmp_path)
    at = lines.index("collective 2 of default_pg (3 ranks) is not the same")
    assert lines[at + 1].startswith("  ranks 0, 2: all_reduce f32[2] at /program.py:3 in step")
    assert lines[at + 2].startswith("  rank 1: broadcast f32[2] at")


def test_sizes_that_have_to_be_the_same_are_compared_and_others_not(tmp_path: Path) -> None:
    for rank in WORLD:
        uneven = begun(1, "all_to_all", f"f32[{rank}]")
        write(tmp_path, rank, [reading(group(2, 2), uneven, begun(2, "all_reduce", "f32[4]"))])
    assert not any("not the same" in line for line in told(tmp_path))
    other = tmp_path / "other"
    other.mkdir()
    for rank in WORLD:
        write(other, rank, [reading(group(1, 1), begun(1, "all_reduce", f"f32[{rank}]"))])
    assert "collective 1 of default_pg (3 ranks) is not the same" in told(other)


def test_a_rank_that_ends_earlier_is_told_as_it_has_begun_no_more(tmp_path: Path) -> None:
    for rank in WORLD:
        found = [begun(number) for number in range(1, 2 + rank // 2)]
        write(tmp_path, rank, [reading(group(len(found), len(found)), *found)])
    lines = told(tmp_path)
    at = lines.index("collective 2 of default_pg (3 ranks) is not the same")
    assert lines[at + 1].startswith("  rank 2: all_reduce")
    assert lines[at + 2] == "  ranks 0-1: has begun no such one"


def test_of_a_session_that_ended_before_its_program_nothing_is_claimed(tmp_path: Path) -> None:
    for rank in WORLD:
        found = [begun(number) for number in range(1, 2 + rank // 2)]
        each = reading(group(len(found), len(found)), *found, whole=False)
        write(tmp_path, rank, [each])
    assert not any("not the same" in line for line in told(tmp_path))


def test_a_member_without_a_recording_is_named(tmp_path: Path) -> None:
    for rank in (0, 2):
        write(tmp_path, rank, [reading(group(1, 0), begun(1, over=False))], ended=None)
    assert "    not known of rank 1: not recorded" in told(tmp_path)


def test_a_file_that_says_nonsense_is_borne(tmp_path: Path) -> None:
    for rank in WORLD:
        wrong = [
            begun(1 << 60), begun(3), begun(-(1 << 60)),
            msgspec.structs.replace(begun(4), stack=1 << 40, began=1 << 62, group=99),
        ]  # fmt: skip
        write(tmp_path, rank, [reading(group(1 << 60, -5), *wrong)], ended=None)
    assert told(tmp_path)
