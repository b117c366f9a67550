"""Graph and guards of a large model are folded by module path, on the screen and in the console."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

import stepper.console
from stepper.client.folded_graph import FoldedGraph
from stepper.client.folding import Fold, folded, row_of
from stepper.client.session import open_recording
from stepper.model.module_path import module_path
from stepper.model.value import Value
from tests.tape import Tape
from tests.tui.screen import plain, until
from tests.tui.test_app import WIDE, opened

LAYERS = 20
OF_EACH = 5


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("folding") / "large.stepper"
    tape = Tape(str(path))
    tape.begin(folded, "0/0")
    tape.start_attempt()
    for layer in range(LAYERS):
        tape.step(0)
        for at in range(OF_EACH):
            source = f"L['self']._modules['h']._modules['{layer}']._parameters['p{at}']"
            tape.node(f"p{layer}_{at}", "placeholder", f"p{layer}_{at}", source=source)
            tape.guard("TENSOR_MATCH", source)
    tape.step(0)
    tape.end_attempt()
    tape.end()
    tape.close()
    return path


def test_neighbours_of_a_layer_become_one_row_that_opens() -> None:
    layers = ["", "a", *["b"] * 4, "", *["b"] * 5, *["c"] * 4]
    first, second = Fold("b", 1, 2, 4, False), Fold("b", 2, 7, 5, True)
    rows = folded(layers, {("b", 2)}, long=1)
    assert rows == [0, 1, first, 6, second, 7, 8, 9, 10, 11, 12, 13, 14, 15]
    assert row_of(rows, 3) == 2, "the fold that hides it"
    assert row_of(rows, 8) == 6
    assert first.text("node") == "b: 4 nodes"
    assert folded(layers) == [*range(16)], "short lists are left alone"


def test_a_question_about_a_module_is_the_modules() -> None:
    assert module_path("dict(type(L['self']._modules['h']._modules['0']).__dict__)") == "h[0]"


@pytest.mark.parametrize(
    ("pane", "noun", "row"), [("6", "nodes", "p0_1"), ("7", "guards", "h[0].p1")]
)
async def test_a_fold_is_opened_and_closed(large: Path, pane: str, noun: str, row: str) -> None:
    async with opened(large, WIDE, at=LAYERS + 1) as (app, pilot):

        def shown() -> str:
            return "\n".join(plain(app))

        await pilot.press(pane, "z", "home")
        await until(pilot, lambda: f"▸ h[0]: 5 {noun}" in shown())
        assert row not in shown()
        for opens, closes in (("enter", "enter"), ("right", "left")):
            await pilot.press(opens)
            await until(pilot, lambda: f"▾ h[0]: 5 {noun}" in shown())
            assert row in shown()
            await pilot.press(closes)
            await until(pilot, lambda: f"▸ h[0]: 5 {noun}" in shown())
            assert row not in shown()


def test_the_console_folds_and_opens(large: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = open_recording(str(large))
    asked = ("goto newest", "graph", "graph table h[3]", "guards", "guards h[3]", "graph what")
    assert stepper.console.run(session, asked) == 1
    session.close()
    said = capsys.readouterr().out.split("(stepper) ")[2:]
    assert "    # h[0]: 5 nodes: graph h[0]\n" in said[0]
    assert "p0_1:" not in said[0]
    assert said[1].count("placeholder") == OF_EACH
    assert "h[0]: 5 guards: guards h[0]" in said[2]
    assert said[3].count("TENSOR_MATCH") == OF_EACH
    assert "graph code, graph table, or a module: h[0], h[1]" in said[4]


def test_a_layer_is_one_node_of_the_drawing_until_it_is_opened() -> None:
    nodes = [_Node("w", "get_attr"), _Node("x", "placeholder")]
    layers = ["h[3]", ""]
    before = "x"
    for layer in range(12):
        for at in range(5):
            name = f"n{layer}_{at}"
            nodes.append(_Node(name, "call_function", (before, *(["w"] if name == "n3_2" else []))))
            layers.append(f"h[{layer}]")
            before = name
    nodes.append(_Node("output", "output", (before, "n2_4")))
    layers.append("")
    shut = FoldedGraph(nodes, layers, ())
    assert [item.layer if isinstance(item, Fold) else nodes[item].name for item in shut.items] == [
        "x", *(f"h[{layer}]" for layer in range(12)), "output",
    ]  # fmt: skip
    # What only one layer reads is in it; what is read outside of a layer is read from it.
    assert shut.drawn[4].inputs == ("h[2] 1",)
    assert shut.drawn[-1].inputs == ("h[11] 1", "h[2] 1")
    opened = FoldedGraph(nodes, layers, {("h[3]", 1)})
    at = next(at for at, item in enumerate(opened.items) if item == 2 + 3 * 5 + 2)
    assert opened.drawn[at].name == "n3_2"
    assert opened.drawn[at].inputs == ("n3_1", "w")
    assert len(opened.items) == len(shut.items) + 5


class _Node(NamedTuple):
    name: str
    op: str
    inputs: tuple[str, ...] = ()
    graph: str = ""


async def test_a_deep_stack_is_folded_on_the_screen_and_in_the_console(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "deep.stepper"
    tape = Tape(str(path))
    tape.begin(folded, "0/0")
    tape.start_attempt()
    tape.step(0)
    for layer in range(4):
        source = f"L['self']._modules['h']._modules['{layer}']"
        me = tape.describe(Value("NNModuleVariable", f"Block{layer}", "Block", source))
        for _ in range(6):
            tape.enter(tape.code(row_of))
            tape.step(0, locals={"self": me})
    tape.end_attempt()
    tape.end()
    tape.close()
    async with opened(path, WIDE, at=25) as (app, pilot):
        await pilot.press("5", "z")
        text = "\n".join(plain(app))
        assert "▸ h[2]: 6 calls" in text
        # The newest are there, innermost first.
        assert text.index("h[3] ") < text.index("h[2]") < text.index("h[0]")
        await pilot.press("home", *["down"] * 7, "enter")
        await until(pilot, lambda: "▾ h[1]: 6 calls" in "\n".join(plain(app)), 60)
    session = open_recording(str(path))
    stepper.console.run(session, ("goto 25", "where", "where all"))
    session.close()
    shut, whole = capsys.readouterr().out.split("(stepper) ")[2:4]
    assert "   h[2]: 6 calls\n" in shut
    assert shut.count("inlined") == 6
    assert whole.count("inlined") == 24
