"""A notebook's cells are compiled as ever, whatever of stepper's they call: in a real kernel."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, clean_environment
from tests.debuggee.test_uncompiled import (
    IN_SESSION,
    OURS,
    PLAIN,
    PREPARED,
    RECORDING,
    SEEN,
    nothing_of_ours,
    same,
)  # fmt: skip
from tests.ready import python, stepper

jupyter = pytest.importorskip("jupyter_client", reason="it is installed for development only")
pytest.importorskip("ipykernel", reason="it is installed for development only")

# Each function that is measured is a cell of its own.
CELLS = """
def define(source):
    assert get_ipython().run_cell(source).success
"""
IN_A_CELL = """
@torch.compile(backend="eager")
def cell(x):
    x = x + 1
    torch._dynamo.graph_break()
    {}
    return x * 2

cell(torch.ones(2))
"""


class Kernel:
    """A kernel, whose cells are run one by one."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.error = ""
        """What the last cell raised."""

    def run(self, cell: str) -> str:
        """What a cell prints."""
        printed: list[str] = []
        self.error = ""

        def hear(message: dict[str, Any]) -> None:
            if message["msg_type"] == "stream":
                printed.append(message["content"]["text"])
            if message["msg_type"] == "error":
                self.error = message["content"]["evalue"]

        self._client.execute_interactive(cell, output_hook=hear, allow_stdin=False, timeout=300)
        return "".join(printed)

    def compared(self, *cells: str) -> dict[str, dict[str, list[Any]]]:
        """What `compare` prints in these cells."""
        printed = "".join(map(self.run, cells))
        assert not self.error
        return dict(map(json.loads, printed.splitlines()))


@contextlib.contextmanager
def kernel(folder: Path, *command: str) -> Iterator[Kernel]:
    """A kernel that this command starts, as Jupyter does by what stands in a folder of its name."""
    (folder / "mine").mkdir()
    spec = {"argv": command, "display_name": "mine", "language": "python"}
    (folder / "mine" / "kernel.json").write_text(json.dumps(spec))
    specs = jupyter.kernelspec.KernelSpecManager(kernel_dirs=[str(folder)])
    manager = jupyter.KernelManager(kernel_name="mine", kernel_spec_manager=specs)
    variables = {"PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(folder), "IPYTHONDIR": str(folder)}
    manager.start_kernel(cwd=str(folder), env=clean_environment() | variables)
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=300)
        notebook = Kernel(client)
        yield notebook
        notebook.run("warnings.resetwarnings()")  # it is warned at its own end
    finally:
        client.stop_channels()
        manager.shutdown_kernel()


LAUNCHER = ("-m", "ipykernel_launcher", "-f", "{connection_file}")


def test_a_cell_that_calls_stepper_breaks_there_and_nothing_more(tmp_path: Path) -> None:
    with kernel(tmp_path, *python(*LAUNCHER)) as notebook:
        same(notebook.compared(SEEN + CELLS + PREPARED, PLAIN, RECORDING), 17)
        for way in ("breakpoint()", "debug(once)", "set_excepthook()"):
            notebook.run(IN_A_CELL.format(f"stepper.{way}"))
            assert "`with stepper.record(path):`" in notebook.error, way
        # A shell's command has a terminal there, at which nobody types.
        for command, answer in (("open", "no terminal to draw on"), ("console", "moment 1/")):
            assert answer in notebook.run(f"!{sys.executable} -m stepper {command} a.stepper")
        assert notebook.run(OURS + "print(ours())") == "[]\n"
    nothing_of_ours(tmp_path / "a.stepper")


def test_cells_of_a_kernel_that_is_recorded(tmp_path: Path) -> None:
    command = stepper("record", "--lookups", "--execute", "-o", "all.stepper", *LAUNCHER)
    with kernel(tmp_path, *command) as notebook:
        same(notebook.compared(SEEN + CELLS + PREPARED, PLAIN, IN_SESSION), 19)
    nothing_of_ours(tmp_path / "all.stepper")
