"""Code as Python: by a decompiler that may be missing, fail or hang."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
import torch

from stepper.client.decompiling import DecompilerError, decompile
from stepper.engines.common import portable_code
from stepper.model.cache import EntryCode
from tests.client.depyf import fake_depyf


def _converts(x):
    return x.to("a type")  # nothing that depyf cannot read in some version of Python


def entry_code(python: str = sys.executable) -> EntryCode:
    """Code as Dynamo makes it: with constants that are no literals, also further inside."""
    code = _converts.__code__
    data = portable_code.to_bytes(code.replace(co_consts=(*code.co_consts, torch.float32, (list,))))
    return EntryCode(1, data, python, (sys.version_info[0], sys.version_info[1]))


def test_the_installed_one_is_used_or_it_is_said_what_to_install() -> None:
    if importlib.util.find_spec("depyf") is None:
        with pytest.raises(DecompilerError, match=r"pip install 'torch-stepper\[depyf\]'"):
            decompile(entry_code())
    elif sys.version_info >= (3, 14):  # depyf 0.20 does not know its bytecode
        with pytest.raises(DecompilerError, match="depyf could not decompile it"):
            decompile(entry_code())
    else:
        text = decompile(entry_code())
        assert text.startswith("def _converts(x):")
        assert ".to('a type')" in text


def test_objects_are_told_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_depyf(tmp_path, monkeypatch, "return repr(code.co_consts[-2:])")
    assert decompile(entry_code()) == "(⟨torch.float32⟩, (⟨list⟩,))"


def test_torch_is_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_depyf(tmp_path, monkeypatch, "return repr(sys.modules['torch'])")
    assert decompile(entry_code()) == "None"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise KeyError('BINARY_OP')", "could not decompile it: KeyError: 'BINARY_OP'"),
        ("import os; os.abort()", "could not decompile it: it said nothing"),
        ("return ''", "it said nothing"),
        ("import time; time.sleep(60)", "it took more than 1 s"),
        ("return 'x' * (8 << 30)", "MemoryError"),
    ],
)
def test_a_bad_one_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, words: str
) -> None:
    fake_depyf(tmp_path, monkeypatch, body)
    with pytest.raises(DecompilerError, match=words):
        decompile(entry_code(), seconds=1 if "sleep" in body else 20)


def test_where_the_program_has_none_our_own_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_depyf(tmp_path, monkeypatch, "return 'x'")
    without = tmp_path / "python"
    without.write_text("#!/bin/sh\nexit 3\n")
    without.chmod(0o755)
    assert decompile(entry_code(str(without))) == "x"
    with pytest.raises(DecompilerError, match="cannot be started"):
        decompile(entry_code(str(tmp_path / "nothing")))
