"""Where the panes go, at each size of terminal."""

from __future__ import annotations

import pytest
from textual.geometry import Region

from stepper.tui.arrangement import Placed, arrange
from stepper.tui.desk import PANE_KEYS
from stepper.tui.presets import PRESETS, Group, Preset

PANES = tuple(PANE_KEYS)


@pytest.mark.parametrize("width", [20, 80, 109, 110, 120, 250])
@pytest.mark.parametrize("height", [4, 10, 22, 38, 90])
@pytest.mark.parametrize("needed", [1, 6, 1000])
def test_groups_fill_the_screen_without_overlapping(width: int, height: int, needed: int) -> None:
    for preset in PRESETS:
        placed = arrange(width, height, panes=PANES, preset=preset, needs=lambda _: needed)
        fills(width, height, placed)


def fills(width: int, height: int, placed: list[Placed]) -> None:
    """What is placed covers the screen, once."""
    screen = Region(0, 0, width, height)
    regions = [region for p in placed for region in (p.bar, p.body) if region]
    covered = 0
    for at, region in enumerate(regions):
        assert region in screen
        assert not any(region.overlaps(other) for other in regions[at + 1 :])
        covered += region.area
    # One blank column between two columns of panes.
    gaps = 2 * height if width >= 110 else 0
    assert width * height - gaps <= covered <= width * height


def test_a_wide_terminal_shows_code_state_and_timeline_at_once() -> None:
    placed = arrange(120, 38, panes=PANES)
    groups = {p.group.name: p.group.panes for p in placed}
    assert groups["source"] == ("source",)
    assert groups["stack"] == ("stack",)
    assert groups["timeline"] == ("timeline",)
    assert {p.group.name: p.body.bottom for p in placed}["timeline"] == 38


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
@pytest.mark.parametrize("size", [(80, 12), (80, 22), (100, 28), (160, 43)])
def test_every_pane_has_one_place(preset: Preset, size: tuple[int, int]) -> None:
    placed = arrange(*size, panes=PANES, preset=preset)
    assert sorted(pane for p in placed for pane in p.group.panes) == sorted(PANES)


@pytest.mark.parametrize(
    ("size", "others", "rows"),
    [((80, 22), 2, 13), ((80, 22), 50, 7), ((160, 43), 2, 20), ((160, 43), 50, 8)],
)
def test_the_answer_has_what_no_pane_needs(size: tuple[int, int], others: int, rows: int) -> None:
    placed = arrange(*size, panes=PANES, needs=lambda _: others, answer=20)
    assert placed[0].group.name == "answer"
    assert placed[0].body.height == rows
    fills(*size, placed)


def test_what_one_pane_does_not_need_the_others_have() -> None:
    def rows(group: Group) -> int:
        return 2 if group.name == "source" else 1000

    heights = {p.group.name: p.body.height for p in arrange(120, 38, panes=PANES, needs=rows)}
    assert heights["source"] == 2
    assert heights["bytecode"] > 20


def test_what_a_column_leaves_over_shows_one_more_pane_if_that_has_anything_to_show() -> None:
    cache = next(preset for preset in PRESETS if preset.name == "cache")

    def shown(needs: dict[str, int]) -> list[str]:
        def rows(group: Group) -> int:
            return next((needs[name] for name in group.panes if name in needs), 1000)

        placed = arrange(120, 38, panes=PANES, preset=cache, needs=rows)
        return [p.group.panes[0] for p in placed if p.bar.x]

    assert shown({"cache": 2}) == ["cache", "frames"]
    assert shown({"cache": 2, "frames": 3}) == ["cache", "frames", "guards"]
    assert shown({"cache": 2, "frames": 3, "guards": 0}) == ["cache", "frames"]
    assert shown({"cache": 2, "frames": 0, "guards": 3}) == ["cache", "frames"]


def test_a_narrow_terminal_has_code_above_and_tabs_below() -> None:
    placed = arrange(80, 22, panes=PANES)
    assert [p.group.name for p in placed] == ["answer", "code", "more"]
    assert all(p.body.width == 80 for p in placed)
    shown = {pane for p in placed for pane in p.group.panes}
    assert shown == set(PANES)


@pytest.mark.parametrize("size", [(80, 22), (120, 38)])
@pytest.mark.parametrize("reads", [False, True])
def test_the_answer_has_the_rows_that_it_needs_but_never_most(
    size: tuple[int, int], reads: bool
) -> None:
    def rows(answer: int) -> int:
        placed = arrange(*size, panes=PANES, answer=answer, reads=reads)
        return next(p.body.height for p in placed if p.group.name == "answer")

    assert [rows(needed) for needed in (0, 1, 4)] == [1, 1, 4]
    assert rows(100) <= size[1] // (2 if reads else 3)


def test_a_zoomed_pane_has_everything() -> None:
    (only,) = arrange(120, 38, panes=PANES, zoomed="locals")
    assert only.group.panes == ("locals",)
    assert only.body == Region(0, 1, 120, 37)


def test_a_larger_share_makes_a_group_larger() -> None:
    def height(shares: dict[str, float]) -> int:
        placed = arrange(80, 22, panes=PANES, shares=shares)
        return next(p.body.height for p in placed if p.group.name == "code")

    assert height({"group code": 2.0}) > height({})
