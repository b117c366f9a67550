"""Numbers and lists that a page has by hand are those of the code.

What can be generated is generated (`test_generated`); what stands in a sentence is held here. A
number with a unit that is neither held nor told to be measured fails, so that the next one is not
forgotten.
"""

from __future__ import annotations

import importlib
import pkgutil
import pydoc
import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from textual import constants

import stepper.engines
import stepper.native
from stepper._C import MOMENTS_PER_COMMIT
from stepper.analysis import recompile_lines, row_lines, trial_lines, views
from stepper.analysis.limits import Limits
from stepper.cli import query
from stepper.cli.config import Config
from stepper.client import paths, replay
from stepper.debuggee import cache_requests, evaluator, start
from stepper.debuggee.occurrence import BREAKPOINT_OF_EVENT
from stepper.engines.common import lookup_walk, rebuildable, values
from stepper.engines.dynamo.versions import points
from stepper.model.breakpoint import BreakpointKind
from stepper.model.trace import EventKind
from stepper.recording import secrets
from stepper.report import room
from stepper.support.needed import PYTHONS
from tests.conftest import CORPUS, ROOT
from tests.docs.transcripts import DOCS, pages

WORDS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
BIG = {"twenty": 20, "minute": 60, "second": 1}


CUDA = CORPUS / "cuda"
HELD: list[tuple[str, str, object]] = [
    ("architecture.md", r"in batches of ([\d,]+) moments", MOMENTS_PER_COMMIT),
    ("architecture.md", r"with a limit of a (second) and of length", evaluator.SECONDS),
    ("architecture.md", r"breakpoints, for at most (\d+) seconds", start.FIRST_WORDS),
    ("guides/processes.md", r"last batch \(([\d,]+) moments", MOMENTS_PER_COMMIT),
    ("breakpoints.md", r"A condition has (one) second", evaluator.SECONDS),
    ("configuration.md", r"The newest (\w+) are kept", paths.KEEP),
    ("guides/cache.md", r"up to (\d+) kB each", rebuildable.MAX_BYTES // 1024),
    ("guides/cache.md", r"up to\s+(\d+) elements in all", rebuildable._MAX_DESCRIBED),
    ("guides/cache.md", r"a list of more than (\d+),", values.MAX_ITEMS),
    ("guides/cache.md", r"for a (minute) at most", cache_requests.RUN_SECONDS),
    ("guides/report.md", r"longer than (\d+) MB", room.LONGEST // 1_000_000),
    ("versions.md", r"an H100, the (\d+) programs of", len([*CUDA.glob("*.py")])),
    ("guides/secrets.md", r"values of less than (\w+) characters", secrets._SHORTEST),
    ("guides/executions.md", r"containers (\w+) levels deep", values.DEPTH),
    ("guides/query.md", r"cuts cells at (\d+) characters", row_lines.WIDEST),
    ("guides/query.md", r"has worked for a (minute) \(`--timeout", query.SECONDS),
    ("guides/recompile.md", r"more than (\d+) recompilations", 2 * recompile_lines._AT_AN_END),
    ("guides/recompile.md", r"more than (\w+) recompilations only", recompile_lines.WHOLE),
    ("guides/recompile.md", r"the first and the last (\w+); with", recompile_lines.BRIEF_AT_AN_END),
    ("guides/recompile.md", r"the first and the last (\d+) are", recompile_lines._AT_AN_END),
    ("guides/recompile.md", r"of each (\d+) entries", recompile_lines._ENTRIES),
    ("guides/recompile.md", r"with more than (\d+) entries only", lookup_walk.ASKED_AGAIN),
    ("troubleshooting.md", r"more than (\d+) entries of a function", lookup_walk.ASKED_AGAIN),
    ("guides/recompile.md", r"Up to (\d+) ways are tried", trial_lines.MOST),
    ("guides/recompile.md", r"`--seconds` \((\d+)\)", replay.SECONDS),
    ("guides/native.md", r"do the same: (\d+)\s+in each test run", 150),
]
"""A page, a sentence with one number in it, and that number."""

MEASURED = {
    "guides/recompile.md": {"3 compilations", "4 as recorded"},
    "architecture.md": {"1,000,000 moments", "132 MB", "9.0 MB", "five dozen such probes"},
    "guides/processes.md": {"100,000 moments", "164 MB"},
    "guides/query.md": {"256 recordings", "110 kB", "five compilations", "84 MB", "40 MB"},
    "guides/slow.md": {"60 steps", "400 steps", "four compilations"},
    "guides/native.md": {"8500 programs", "200 programs", "2838 calls"},
    "tutorial.md": {"ten minutes"},
    "index.md": {"ten minutes"},
}
"""What was seen once, or is said of an example."""

_NUMBER = rf"(?:\d[\d,.]*|{'|'.join(WORDS[3:])}|twenty)"
_UNIT = "moments|seconds|minutes|characters|elements|entries|recompilations|compilations|levels|programs|calls|probes|recordings|steps"  # noqa: E501  # as programs are written
_BETWEEN = (
    r"(?:(?:more|such|other|different|new|small|whole|dozen|hundred|thousand|million|of|the)\s+)"
)
"""Words that can stand between a number and its unit."""
_BYTES = r"(?:MB|kB|megabytes|kilobytes)"
_QUANTITY = re.compile(rf"\b{_NUMBER}\s+{_BETWEEN}*(?:{_UNIT}|{_BYTES})\b|\b{_BYTES}:\s+{_NUMBER}")


def prose(page: Path) -> str:
    """A page without what is run, quoted or tabulated as an example."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^    .*$", "", text, flags=re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "", text)


def number(text: str) -> float:
    if text in BIG:
        return BIG[text]
    return WORDS.index(text) if text in WORDS else float(text.replace(",", ""))


@pytest.mark.parametrize(("page", "sentence", "value"), HELD)
def test_a_number_is_that_of_the_code(page: str, sentence: str, value: Any) -> None:
    found = re.findall(sentence, (DOCS / page).read_text())
    assert [number(text) for text in found] == [value], f"{page}: {sentence}"


GENERATED = {
    "keys.md", "command-line.md", "console-commands.md", "query-views.md", "recording-schema.md",
    "report-format.md", "native-against-dynamo.md", "native-and-cpython.md", "python-api.md",
    "answers.md", "performance.md",
}  # fmt: skip


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_every_number_with_a_unit_is_held_or_measured(page: Path) -> None:
    name = str(page.relative_to(DOCS)) if page.is_relative_to(DOCS) else page.name
    if name in GENERATED:
        return
    text = prose(page)
    held = [match.span() for of, sentence, _ in HELD if of == name
            for match in re.finditer(sentence, text)]  # fmt: skip
    loose = [
        " ".join(found[0].split())
        for found in _QUANTITY.finditer(text)
        if not any(start <= found.start() < end for start, end in held)
        and " ".join(found[0].split()) not in MEASURED.get(name, set())
    ]
    assert not loose, "hold it in HELD, or say in MEASURED that it was measured"


@pytest.mark.parametrize(
    "text", ["9.0 MB more", "9.0 more\nmegabytes", "in megabytes: 9.0 more", "five of the calls"]
)
def test_a_number_is_seen_wherever_its_unit_stands(text: str) -> None:
    assert _QUANTITY.search(text)


# -- lists ---------------------------------------------------------------------------------------


def engines() -> list[str]:
    found = (each.name for each in pkgutil.iter_modules(stepper.engines.__path__))
    return sorted(set(found) - {"common"})


def test_the_engines_that_can_be_configured_are_all_there_are() -> None:
    (row,) = re.findall(r"^\| `engine` .*$", (DOCS / "configuration.md").read_text(), re.MULTILINE)
    assert sorted(set(re.findall(r'`"(\w+)"`', row))) == engines()


def test_defaults_of_settings() -> None:
    rows = re.findall(
        r'^\| `(\w+)` \| `(true|false|"[^"]*")` \|', (DOCS / "configuration.md").read_text(),
        re.MULTILINE,
    )  # fmt: skip
    told = {name: msgspec.json.decode(value) for name, value in rows}
    assert told.pop("theme") == constants.DEFAULT_THEME
    fields = {field.encode_name: field.default for field in msgspec.structs.fields(Config)}
    assert told == {name: fields[name] for name in told}
    assert set(fields) - set(told) == {"break", "output", "theme"}


def test_every_package_is_in_the_architecture() -> None:
    text = (DOCS / "architecture.md").read_text()
    rooms = [f"stepper.{each.name}" for each in pkgutil.iter_modules(stepper.__path__)]
    rooms += [f"stepper.engines.{each.name}" for each in pkgutil.iter_modules(
        stepper.engines.__path__)]  # fmt: skip
    absent = {"stepper._C", "stepper.__main__", "stepper.engines"}
    assert [room for room in rooms if f"`{room}`" not in text and room not in absent] == []


def test_the_ideas_of_the_documents_are_where_the_architecture_says() -> None:
    text = (DOCS / "architecture.md").read_text()
    section = text.partition("## The native compiler")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| .* \| (.*) \|$", section.partition("| there | here |")[2], re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`([\w./]+)`", row)]
    assert len(named) > 30
    files = {name for name in named if "/" in name}
    absent = [name for name in files if not (ROOT / name).exists()]
    absent += [name for name in named if name not in files and not _is_there(name)]
    assert absent == []


def _is_there(name: str) -> bool:
    module, _, member = name.rpartition(".")
    try:
        return pydoc.locate(f"stepper.{name}") is not None or hasattr(
            importlib.import_module(f"stepper.{module}"), member
        )
    except ImportError:
        return False


def test_every_folder_of_the_native_compiler_is_in_the_architecture() -> None:
    text = (DOCS / "architecture.md").read_text()
    folders = [each.name for each in pkgutil.iter_modules(stepper.native.__path__) if each.ispkg]
    assert [name for name in folders if f"| `native.{name}` |" not in text] == []


def test_every_guide_is_on_the_first_page() -> None:
    nav = yaml.safe_load(re.sub(r"!!python\S+", "", (ROOT / "mkdocs.yml").read_text()))["nav"]
    (guides,) = (each["Guides"] for each in nav if isinstance(each, dict) and "Guides" in each)
    text = (DOCS / "index.md").read_text()
    assert [guide for guide in guides if f"({guide})" not in text] == []


def test_the_views_of_a_recording_are_all_there_are() -> None:
    text = (DOCS / "guides/query.md").read_text()
    (sentence,) = re.findall(r"The views are (.*?);", text, re.DOTALL)
    assert re.findall(r"`(\w+)`", sentence) == re.findall(r'CREATE TABLE "?(\w+)', views.SCHEMA)


def test_the_limits_of_a_test_are_all_there_are() -> None:
    text = (DOCS / "guides/pytest.md").read_text()
    table = text[text.index("| limit | counts |") :].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(Limits.__struct_fields__)


def test_what_the_native_engine_offers_is_there_and_told() -> None:
    text = (DOCS / "guides/native.md").read_text()
    section = text[text.index("## In a program") : text.index("## What breaks a graph")]
    table = "\n".join(line.split("|")[1] for line in section.splitlines() if line.startswith("|"))
    told = set(re.findall(r"`(\w+)(?:\(|`)", table))
    offered = set(stepper.native.__all__) - {"Unsupported", "compile", "optimize"}
    assert told == offered
    (row,) = (line for line in section.splitlines() if line.startswith("| `config` |"))
    for setting in re.findall(r"`(\w+)`", row)[1:]:
        assert hasattr(stepper.native.config, setting)


def test_breakpoints_that_have_their_phase_recorded() -> None:
    """The sentence counts rows of the table, from its own on."""
    text = (DOCS / "breakpoints.md").read_text()
    (count,) = re.findall(r"This and the next (\w+) kinds", text)
    kinds = re.findall(r"^\| `([a-z-]+)", text, re.MULTILINE)
    start = kinds.index("lookup")
    phased = {BreakpointKind(kind) for kind in kinds[start : start + 1 + int(number(count))]}
    recorded = {*lookup_walk.LOOKUP_EVENTS, EventKind.MISS, EventKind.EXECUTE}
    assert phased == {BREAKPOINT_OF_EVENT[event] for event in recorded}


def test_supported_versions_are_those_that_are_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pythons = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))
    text = (DOCS / "versions.md").read_text()
    assert f"| Python | {', '.join(pythons)} |" in text
    ends = tuple(tuple(map(int, pythons[place].split("."))) for place in (0, -1))
    assert ends == PYTHONS
    startup = (ROOT / "stepper/debuggee/startup/sitecustomize.py").read_text()
    assert f"_PYTHONS = {PYTHONS}" in startup
    oldest, newest = (".".join(map(str, each)) for each in (points.OLDEST, points.NEWEST))
    assert project["optional-dependencies"]["torch"] == [f"torch>={oldest}"]
    assert f"| torch | {oldest} to {newest} |" in text
    matrix = (ROOT / ".ci/matrix").read_text()
    for version, with_torch in re.findall(r'"(3\.\d+) (2\.\d+)\.\d+"', matrix):
        assert f"Python {version} with torch {with_torch}" in " ".join(text.split())


NAMED = {"bert", "generate", "generate_caches", "gpt2", "llama", "t5", "train_step"}
"""Programs of the corpus that the page names beside the small ones."""


def test_the_corpus_is_as_large_as_is_said() -> None:
    (said,) = re.findall(r"some (\w+) small ones", (DOCS / "architecture.md").read_text())
    tens = {"seventy": 70, "eighty": 80}[said]
    small = {path.stem for path in CORPUS.glob("*.py")} - NAMED
    assert tens <= len(small) < tens + 10


def test_there_are_as_many_probes_as_is_said() -> None:
    assert "There are some five dozen such\nprobes" in (DOCS / "architecture.md").read_text()
    assert 54 <= len(points.probe_points()) <= 65
