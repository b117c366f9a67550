"""The cache in the console, on programs that really compile."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.client.depyf import fake_depyf
from tests.console.test_programs import ROOT, commands, console

DEMO = ROOT / "demos" / "entry_lifetime.py"
SHAPES = """
import torch

@torch.compile(backend="eager", dynamic=False)
def double(x):
    return x * 2

@torch.compile(backend="eager")
def other(x):
    return x + 1

double(torch.ones(2))
other(torch.ones(2))
print("again", double(torch.ones(2)).tolist())
print("wider", double(torch.ones(3)).tolist())
"""


def at_entry(tmp_path: Path, *texts: str) -> list[str]:
    """What each command says where the demo's second function has been compiled."""
    said = console(tmp_path, "-b", "entry:describe", *commands(*texts, "q"), DEMO)
    return re.split(r"^\(stepper\) .*\n", said, flags=re.M)[1:-1]


def test_entries_and_what_is_in_them(tmp_path: Path) -> None:
    cache, nothing, entry, code, graph, text, wrong = at_entry(
        tmp_path,
        "cache",
        "cache nobody*",
        "entry 1",
        "entry 1 code",
        "entry 1 graph",
        "entry 1 text",
        "entry 1 size",
    )
    assert re.search(r"^apply  1 entry of at most 8  .*demos/entry_lifetime\.py:25$", cache, re.M)
    assert re.search(r"^  ✓  1  0/0  valid  \d guards  0 hits  eager ", cache, re.M)
    assert "lives on class Scaler  L['scaler']  alive  because of" in cache
    assert re.search(r"^  …  2  1/0  new  \d guards ", cache, re.M)
    assert "cache lists all" in nothing
    assert "held by module __main__: scaler" in entry
    assert re.search(
        r"^    \d  TENSOR_MATCH  L\['x'\]  Tensor float32\[4\]  by .*:27 in", entry, re.M
    )
    assert "RETURN_VALUE" in code
    assert "def forward" in graph
    assert text.endswith("RETURN_VALUE\n")
    assert "guards, code, graph, python or text?" in wrong


def test_code_is_shown_as_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_depyf(tmp_path, monkeypatch, "return f'def {code.co_name}(): ...'")
    python, wrong = at_entry(tmp_path, "entry 1 python", "entry 99 python")
    assert python == "def apply(): ...\n"
    assert "no cache entry 99" in wrong
    fake_depyf(tmp_path, monkeypatch, missing=True)
    (python,) = at_entry(tmp_path, "entry 1 python")
    assert "pip install 'torch-stepper[depyf]'" in python


def test_the_object_is_deleted_and_the_entry_is_dead(tmp_path: Path) -> None:
    _, cache, entry, check = at_entry(
        tmp_path,
        "p del scaler; gc.collect()",
        "cache apply",
        "entry 1",
        "check apply (data, make_scaler())",
    )
    assert "✗  1  0/0  invalid  class Scaler died, in the console" in cache
    assert "lives on class Scaler  L['scaler']  DEAD" in cache
    assert "class Scaler died, in the console" in entry
    assert "no entry would run" in check


def test_arguments_are_run_against_the_cache(tmp_path: Path) -> None:
    miss, hit, compared, here, wrong = at_entry(
        tmp_path,
        "check apply (torch.ones(5), scaler)",
        "check apply (torch.ones(4), scaler=scaler)",
        "compare-eager apply (torch.ones(4), scaler)",
        "check",
        "check apply (torch.ones(4)",
    )
    assert "  x = Tensor f32[5]\n" in miss
    assert "  TENSOR_MATCH  L['x']  Tensor float32[4]  actual Tensor f32[5]" in miss
    assert "size [4] ≠ [5]\nno entry would run" in miss
    assert "✓  1  0/0  matches and wins" in hit
    assert "entry 1 would run\nthe same as eager\n" in compared
    assert "  x = Tensor f32[4]\n" in here
    assert "'(' was never closed" in wrong


def test_the_arguments_of_a_recorded_call_are_made_anew(tmp_path: Path) -> None:
    missing, check, run, step, _, wrong, nowhere = at_entry(
        tmp_path,
        "check of 1",
        "check of 1 (scaler=scaler)",
        "run-entry 1 of 1 (scaler=scaler)",
        "step-entry 1 of 1 (scaler=scaler)",
        "continue",
        "check of 1 (scaler)",
        "check of 999",
    )
    assert "does not hold the call whole: scaler was" in missing
    assert "made anew, with random numbers: x\n  x = Tensor f32[4]\n" in check
    assert "entry 1 would run" in check
    assert "the same as eager" in run
    assert "execute 0/0  apply by hand" in step
    assert "no keyword arguments" in wrong
    assert "moments go from 1" in nowhere


def test_a_copy_is_made_run_registered_and_removed(tmp_path: Path) -> None:
    made, run, registered, check, out, gone, refused = at_entry(
        tmp_path,
        "clone 1 drop 4 5 add L['x'].dim() == 1",
        "run-entry 3 (torch.ones(5), scaler)",
        "register 3",
        "check apply (torch.ones(5), scaler)",
        "remove 3",
        "remove 3",
        "remove 1",
    )
    assert "○  3  copy of 0/0  draft" in made
    assert "edited: without TENSOR_MATCH L['x']" in made
    assert "beware: TENSOR_MATCH L['x'] is no longer checked" in made
    assert re.search(r"^    \d  ADDED  L\['x'\]\.dim\(\) == 1$", made, re.M)
    assert run.startswith("Tensor f32[5]\nthe same as eager\n")
    assert registered.startswith("✓  3  copy of 0/0  valid")
    assert "entry 3 would run" in check
    assert "it is a draft again" in out
    assert "thrown away" in gone
    assert "copy it first" in refused


def test_bytecode_is_edited_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text("no bytecode\n")
    body = "open('it.txt').read().rstrip().removesuffix('RETURN_VALUE')"
    more = "LOAD_CONST 100.0\\nBINARY_OP BinaryOp.ADD\\nRETURN_VALUE"
    written, _, edited, run, bad, missing = at_entry(
        tmp_path,
        "entry 1 text it.txt",
        f"p text = {body}; _ = open('it.txt', 'w').write(text + '{more}')",
        "edit 1 it.txt",
        "run-entry 3 (torch.ones(4), scaler)",
        "edit 1 bad.txt",
        "edit 1",
    )
    assert written.startswith("written to it.txt")
    assert "edited: bytecode edited" in edited
    assert "values differ by up to 100" in run
    assert "no is no instruction of this Python" in bad
    assert "a file that can be read" in missing


def test_the_winners_code_is_stepped_where_the_program_runs_it_next(tmp_path: Path) -> None:
    (tmp_path / "shapes.py").write_text(SHAPES)
    walk = commands(
        "check double (torch.ones(2))", "break execute:double, once", "c", "s", "c", "q"
    )
    said = console(tmp_path, "-b", "entry:other", *walk, "shapes.py")
    check, _, stop, step, on, _ = re.split(r"^\(stepper\) .*\n", said, flags=re.M)[1:]
    assert "entry 1 would run" in check
    assert stop.startswith("stopped: breakpoint\n  0/0 double\n")
    assert "execute 0/0" in step
    assert "| again [2.0, 2.0]\n| wider [2.0, 2.0, 2.0]" in on


def test_an_entry_is_stepped_at_the_stop(tmp_path: Path) -> None:
    steps, inside, back, again, refused = at_entry(
        tmp_path,
        "step-entry 1 (torch.ones(4), scaler)",
        "p type(locals['x']).__name__, stack",
        "continue",
        "step-",
        "step-entry 99 ()",
    )
    match = re.match(r"moment (\d+)/\1  execute 0/0  apply by hand  .*demos/entry_lif", steps)
    assert match, steps
    before = int(match[1]) - 1
    assert inside == "('Tensor', [])\n"
    assert back.startswith(f"stopped: back\n  entry 1 returned Tensor f32[4]\nmoment {before}/")
    assert "1/0  describe" in back
    assert again.startswith(f"moment {before - 1}/")
    assert "no cache entry 99" in refused


def test_without_a_program_there_is_no_cache(tmp_path: Path) -> None:
    (tmp_path / "shapes.py").write_text(SHAPES)
    said = console(tmp_path, *commands("c", "cache", "q"), "-o", "it.stepper", "shapes.py")
    assert "*** the program ended with exit code 0" in said
    said = console(tmp_path, *commands("cache", "check double"), "it.stepper")
    assert said.count("*** this is a recording: there is no program to control") == 2
