"""The page in a real browser: on a telephone and a desk, dark, on paper, without a mouse.

A page beside the report looks into it through a frame and says what it finds; both come from a
server on this machine, which also notes what the browser asks for.
"""

from __future__ import annotations

import functools
import json
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from stepper.recording.reader import Recording
from stepper.report.gathering import gather
from stepper.report.page import page
from tests.analysis.conftest import Recorded

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)

pytestmark = [
    pytest.mark.skipif(not BROWSER, reason="there is no Chromium"),
]

LOOKING = """<!DOCTYPE html><body style="margin:0">
<iframe src="report.html" style="border:0;width:%(width)dpx;height:800px"></iframe>
<script>
const frame = document.querySelector("iframe");
frame.onload = () => {
  const page = frame.contentDocument, view = frame.contentWindow;
  const found = (() => { %(look)s })();
  const told = document.createElement("pre");
  told.id = "told";
  told.textContent = JSON.stringify(found);
  document.body.append(told);
};
</script>
"""
Look = Callable[..., dict[str, object]]


class _Server(ThreadingHTTPServer):
    def __init__(self, folder: Path) -> None:
        self.asked: list[str] = []
        super().__init__(("127.0.0.1", 0), functools.partial(_Handler, directory=str(folder)))


class _Handler(SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, _Server)
        self.server.asked.append(self.path)
        super().do_GET()

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[_Server]:
    serving = _Server(tmp_path)
    thread = threading.Thread(target=serving.serve_forever)
    thread.start()
    yield serving
    serving.shutdown()
    thread.join()
    serving.server_close()


def browse(tmp_path: Path, *arguments: str) -> str:
    done = subprocess.run(
        [
            BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--no-first-run", f"--user-data-dir={tmp_path / 'profile'}", *arguments,
        ],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    return done.stdout


@pytest.fixture
def look(tmp_path: Path, server: _Server) -> Look:
    """Writes the report, and says what a piece of JavaScript finds in it."""

    def run(
        recording: Recording, script: str, *options: str, width: int = 1200
    ) -> dict[str, object]:
        report = page(gather(recording, name="run.stepper"))
        (tmp_path / "report.html").write_text(report, encoding="utf-8")
        (tmp_path / "look.html").write_text(LOOKING % {"width": width, "look": script})
        address = f"http://127.0.0.1:{server.server_port}/look.html"
        dumped = browse(
            tmp_path, "--dump-dom", "--virtual-time-budget=20000", "--window-size=1400,900",
            *options, address,
        )  # fmt: skip
        match = re.search(r'<pre id="told">(.*?)</pre>', dumped, re.DOTALL)
        assert match is not None, dumped[:2000]
        told: dict[str, object] = json.loads(unescape(match[1]))
        return told

    return run


@pytest.mark.parametrize("width", [360, 768, 1200])
def test_no_width_needs_scrolling_sideways(width: int, recorded: Recorded, look: Look) -> None:
    for demo in ("demos/graph_breaks.py", "demos/recompilation.py"):
        told = look(
            recorded(demo, "--lookups"),
            """
            for (const each of page.querySelectorAll("details")) each.open = true;
            const wide = [...page.querySelectorAll("body *")]
                .filter(each => !each.closest(".wide, pre, svg, .skip, thead"))
                .filter(each => each.getBoundingClientRect().right > view.innerWidth + 1);
            const root = page.documentElement;
            return {over: root.scrollWidth - root.clientWidth,
                    wide: wide.map(each => each.tagName + " " + each.textContent.slice(0, 60))};
            """,
            width=width,
        )
        assert told == {"over": 0, "wide": []}


def test_nothing_is_fetched_and_nothing_runs(
    hostile: Recording, look: Look, server: _Server
) -> None:
    told = look(
        hostile,
        """
        return {foreign: page.querySelectorAll("script, img, iframe, link, object").length,
                shown: page.body.textContent.includes("\\x3cscript>alert(1)")};
        """,
    )
    assert told == {"foreign": 0, "shown": True}
    assert set(server.asked) <= {"/look.html", "/report.html", "/favicon.ico"}


def test_it_is_dark_where_that_is_wished(recorded: Recorded, look: Look) -> None:
    script = "return {paper: view.getComputedStyle(page.body).backgroundColor};"
    recording = recorded("demos/graph_breaks.py", "--lookups")
    light = look(recording, script)["paper"]
    dark = look(recording, script, "--blink-settings=preferredColorScheme=0")["paper"]
    assert (light, dark) == ("rgb(253, 253, 252)", "rgb(22, 24, 27)")


def test_a_link_to_a_moment_unfolds_it(recorded: Recorded, look: Look) -> None:
    told = look(
        recorded("demos/graph_breaks.py", "--lookups"),
        """
        const link = page.querySelector("#cause-1 a.at");
        const target = page.querySelector(link.getAttribute("href"));
        const before = target.checkVisibility();
        link.click();
        return {before, after: target.checkVisibility(),
                command: target.textContent.includes("stepper open run.stepper --at ")};
        """,
    )
    assert told == {"before": False, "after": True, "command": True}


def test_the_keyboard_meets_links_in_the_order_of_the_page(recorded: Recorded, look: Look) -> None:
    told = look(
        recorded("demos/graph_breaks.py", "--lookups"),
        """
        const stops = [...page.querySelectorAll("a, summary, [tabindex]")]
            .filter(each => each.tabIndex >= 0 && each.checkVisibility());
        stops[0].focus();
        return {first: stops[0].textContent, forced: stops.some(each => each.tabIndex > 0),
                shown: stops[0].getBoundingClientRect().left >= 0, many: stops.length};
        """,
    )
    assert told["first"] == "Skip to the report"
    assert told["shown"]
    assert not told["forced"]
    many = told["many"]
    assert isinstance(many, int)
    assert many < 300


def test_it_can_be_printed(recorded: Recorded, look: Look, tmp_path: Path) -> None:
    look(recorded("demos/graph_breaks.py", "--lookups"), "return {};")
    printed = tmp_path / "report.pdf"
    browse(tmp_path, f"--print-to-pdf={printed}", (tmp_path / "report.html").as_uri())
    assert printed.read_bytes().startswith(b"%PDF")
    pages = re.findall(rb"/Type ?/Page\b", printed.read_bytes())
    assert 2 <= len(pages) <= 40
