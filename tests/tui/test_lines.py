"""Long lists: drawn on demand, with a cursor, search, copying and unfolding."""

from __future__ import annotations

from itertools import combinations

import pytest
from textual.app import App, ComposeResult
from textual.color import Color
from textual.theme import BUILTIN_THEMES

from stepper.tui.inks import DISTINCT, contrast_of, distance
from stepper.tui.lines import Lines
from stepper.tui.palette import ROLES, Palette, Row, row
from stepper.tui.tree_lines import Branch, TreeLines
from tests.tui.screen import plain, until

COUNT = 100_000


class ListApp(App[None]):
    """An application that is one list."""

    def __init__(self, lines: Lines) -> None:
        super().__init__()
        self.lines = lines
        self.said: list[str] = []
        self.activated: list[int] = []

    def compose(self) -> ComposeResult:
        yield self.lines

    def on_lines_say(self, message: Lines.Say) -> None:
        self.said.append(message.text)

    def on_lines_activated(self, message: Lines.Activated) -> None:
        self.activated.append(message.index)


def numbered(index: int) -> Row:
    return row((f"{index:>7}", "number"), f" instruction {index}")


async def test_a_hundred_thousand_rows_are_shown_and_only_those_on_screen_are_made() -> None:
    app = ListApp(Lines())
    async with app.run_test(size=(40, 10)) as pilot:
        asked: list[int] = []
        app.lines.show(COUNT, lambda index: asked.append(index) or numbered(index))
        await pilot.pause()
        await pilot.press("end")
        await pilot.pause()
        assert len(asked) < 200
        assert plain(app)[-1].rstrip(" ▐") == "  99999 instruction 99999"
        await pilot.press("home", "down", "down")
        assert plain(app)[0].startswith("      0 instruction 0")
        assert app.lines.cursor == 2


def bar_of(app: ListApp) -> list[int]:
    """The lines that the bar marks."""
    return [at for at, line in enumerate(plain(app)) if line.endswith("▐")]


async def test_a_bar_says_where_one_is_and_takes_the_mouse() -> None:
    app = ListApp(Lines())
    async with app.run_test(size=(40, 10)) as pilot:
        app.lines.show(10, numbered)
        await pilot.pause()
        assert not bar_of(app), "all of it is on screen"
        app.lines.show(50, numbered)
        await pilot.pause()
        assert bar_of(app) == [0, 1]
        await pilot.press("end")
        await pilot.pause()
        assert bar_of(app) == [8, 9]
        await pilot.mouse_down(app.lines, offset=(39, 2))
        await pilot.mouse_up(app.lines, offset=(39, 2))
        assert plain(app)[0].startswith("     31 "), "a page back"
        begins = bar_of(app)[0]
        await pilot.mouse_down(app.lines, offset=(39, begins))
        await pilot.hover(app.lines, offset=(20, begins - 1))
        assert bar_of(app)[0] == begins - 1, "it is held, also beside the bar"
        await pilot.hover(app.lines, offset=(39, 0))
        await pilot.mouse_up(app.lines, offset=(39, 0))
        assert plain(app)[0].startswith("      0 ")
        await pilot.hover(app.lines, offset=(39, 5))
        assert plain(app)[0].startswith("      0 "), "it was let go"
        assert app.lines.cursor == 49, "no row was clicked"
        app.lines.show(5, numbered)
        await pilot.pause()
        assert not bar_of(app)


async def test_a_bar_that_comes_is_no_layout() -> None:
    app = ListApp(Lines())
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.pause(0.1)
        laid_out: list[object] = []
        app.screen.screen_layout_refresh_signal.subscribe(app.lines, laid_out.append)
        app.lines.show(COUNT, numbered)
        await pilot.pause(0.1)
        assert bar_of(app) == [0]
        assert not laid_out


async def test_only_rows_on_screen_are_made() -> None:
    made: list[int] = []

    def draw(index: int) -> Row:
        made.append(index)
        return numbered(index)

    app = ListApp(Lines())
    async with app.run_test(size=(40, 10)) as pilot:
        app.lines.show(COUNT, draw, cursor=50_000)
        await pilot.pause()
        assert len(set(made)) < 50
        assert any("50000" in line for line in plain(app))


async def test_search_goes_round_and_marks_the_row() -> None:
    app = ListApp(Lines())
    async with app.run_test(size=(40, 10)) as pilot:
        app.lines.show(COUNT, numbered)
        assert await app.lines.search("ION 77123")
        await pilot.pause()
        assert app.lines.cursor == 77_123
        assert any("77123" in line for line in plain(app))
        assert await app.lines.search("instruction 4", +1)
        assert app.lines.cursor == 4
        assert not await app.lines.search("nowhere")


async def test_y_copies_the_row_or_the_selection() -> None:
    app = ListApp(Lines())
    async with app.run_test(size=(40, 10)) as pilot:
        app.lines.show(5, numbered)
        await pilot.press("down", "y")
        await until(pilot, lambda: app.said != [])
        assert app.clipboard == "1 instruction 1"
        await pilot.press("shift+down", "y")
        await pilot.pause()
        assert app.clipboard.splitlines() == ["1 instruction 1", "2 instruction 2"]


async def test_a_double_click_activates_the_row() -> None:
    app = ListApp(Lines())
    async with app.run_test(size=(40, 10)) as pilot:
        app.lines.show(5, numbered)
        await pilot.pause()
        await pilot.click(Lines, offset=(3, 3), times=2)
        await until(pilot, lambda: app.activated == [3])
        assert app.lines.cursor == 3


async def test_a_tree_asks_for_children_when_opened_and_keeps_open_what_was_open() -> None:
    asked: list[str] = []

    def branch(name: str, depth: int) -> Branch:
        def children() -> list[Branch]:
            asked.append(name)
            return [branch(f"{name}{i}", depth - 1) for i in range(3)]

        return Branch(name, lambda: row(name), children if depth else None)

    tree = TreeLines()
    app = ListApp(tree)
    async with app.run_test(size=(40, 12)) as pilot:
        tree.show_tree([branch("a", 2), branch("b", 2)])
        await pilot.pause()
        assert asked == []
        await pilot.press("right", "down", "right")
        await pilot.pause()
        screen = [line.rstrip() for line in plain(app)]
        assert screen[:6] == ["▾ a", "  ▾ a0", "      a00", "      a01", "      a02", "  ▸ a1"]
        tree.show_tree([branch("a", 2), branch("c", 2)])
        await pilot.pause()
        assert [line.rstrip() for line in plain(app)][1] == "  ▾ a0"
        await pilot.press("left", "left", "left")
        await pilot.pause()
        assert [line.rstrip() for line in plain(app)][:2] == ["▸ a", "▸ c"]


async def test_control_characters_are_shown_and_not_sent_to_the_terminal() -> None:
    app = ListApp(Lines())
    async with app.run_test(size=(40, 3)) as pilot:
        app.lines.show(1, lambda _: row("a\x1b[31mb\nc"))
        await pilot.pause()
        assert plain(app)[0].rstrip() == "a␛[31mb␊c"


@pytest.mark.parametrize("theme", ["textual-dark", "ansi-dark", "ansi-light"])
async def test_every_role_has_a_style_in_every_theme(theme: str) -> None:
    app = ListApp(Lines())
    async with app.run_test(size=(60, 60)) as pilot:
        app.theme = theme
        names = list(ROLES)
        app.lines.show(len(names), lambda i: row((names[i], names[i]), role="current"))
        await pilot.pause()
        assert [line.rstrip() for line in plain(app)][: len(names)] == names


@pytest.mark.parametrize(
    "theme", [name for name, theme in BUILTIN_THEMES.items() if not theme.ansi]
)
def test_text_can_be_read_in_every_theme_also_on_marked_rows(theme: str) -> None:
    palette = Palette(BUILTIN_THEMES[theme])
    background = Color.parse(BUILTIN_THEMES[theme].to_color_system().generate()["background"])
    grounds = {"": (background, 4.4)}
    for role, least in (("current", 3.3), ("cursor", 3.0)):
        marked = palette[role].bgcolor
        assert marked is not None
        grounds[role] = (Color.from_rich_color(marked), least)
        assert contrast_of(grounds[role][0], background) > 1.2, f"{role} is not to be seen"
    for role, look in ROLES.items():
        color = palette[role].color
        if look.color and color is not None:
            for ground, (behind, least) in grounds.items():
                found = contrast_of(Color.from_rich_color(color), behind)
                assert found >= least, f"{role} on {ground or 'the background'}: {found:.1f}"
                grey = contrast_of(Color.from_rich_color(color).monochrome, behind.monochrome)
                assert grey >= least, f"{role} without colours: {grey:.1f}"


@pytest.mark.parametrize("theme", BUILTIN_THEMES)
def test_a_colour_says_one_thing_in_every_theme(theme: str) -> None:
    """What is written in one ink is told apart from all that is written in another one."""
    palette = Palette(BUILTIN_THEMES[theme])
    colors = {look.color: palette[role].color for role, look in ROLES.items() if look.color}
    if not palette.ansi:
        colors["plain"] = Color.parse(
            BUILTIN_THEMES[theme].to_color_system().generate()["foreground"]
        ).rich_color
        del colors["muted"]  # plain text of some themes stands out no more than that
    assert len(set(colors.values())) == len(colors)
    for (one, color), (other, another) in combinations(colors.items(), 2):
        if not palette.ansi:
            assert color is not None
            assert another is not None
            apart = distance(Color.from_rich_color(color), Color.from_rich_color(another))
            assert apart >= DISTINCT, f"{one} and {other}: {apart:.3f}"


async def test_another_theme_is_drawn_at_once() -> None:
    app = ListApp(Lines())
    async with app.run_test(size=(20, 3)) as pilot:
        app.lines.show(1, lambda _: row(("text", "keyword")))
        await pilot.pause()

        def color() -> object:
            style = next(iter(app.lines.render_line(0))).style
            return style and style.color

        before = color()
        app.theme = "gruvbox"
        await pilot.pause()
        assert color() != before


async def test_why_a_list_is_empty_is_read_to_its_end() -> None:
    app = ListApp(Lines(empty="a lookup installs no guards: those that it checks are in pane 2"))
    async with app.run_test(size=(30, 5)) as pilot:
        assert " ".join(line.strip() for line in plain(app)).strip().endswith("are in pane 2")
        app.lines.show(1, numbered)
        await pilot.pause()
        assert "pane" not in "".join(plain(app))
