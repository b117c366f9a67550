"""A report's file is written whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from stepper.report.writing import WritingError, write


def only(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_a_report_is_for_its_owner_only(tmp_path: Path) -> None:
    write(str(tmp_path / "r.html"), "page ▽")
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == "page ▽"
    assert stat.S_IMODE((tmp_path / "r.html").stat().st_mode) == 0o600
    assert only(tmp_path) == ["r.html"]


def test_a_file_that_is_replaced_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    path.write_text("before")
    path.chmod(0o644)
    write(str(path), "after")
    assert path.read_text() == "after"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "r.html").symlink_to(tmp_path / "real" / "r.html")
    write(str(tmp_path / "r.html"), "page")
    assert (tmp_path / "r.html").is_symlink()
    assert (tmp_path / "real" / "r.html").read_text() == "page"


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    write(str(path), "page")
    assert os.read(reader, 100) == b"page"
    os.close(reader)
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "r.html").write_text("before")
    monkeypatch.setattr("stepper.report.writing.os.fsync", full)
    with pytest.raises(WritingError, match=r"r\.html cannot be written: No space left on device"):
        write(str(tmp_path / "r.html"), "after")
    assert (tmp_path / "r.html").read_text() == "before"
    assert only(tmp_path) == ["r.html"]


def test_a_real_device_that_is_full_is_told() -> None:
    with pytest.raises(WritingError, match="No space left on device"):
        write("/dev/full", "page")


def test_a_folder_that_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(WritingError, match="No such file or directory"):
        write(str(tmp_path / "missing" / "r.html"), "page")


def test_a_folder_that_is_read_only_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    user = os.geteuid()
    os.seteuid(user or 65534)  # root may write anywhere
    try:
        with pytest.raises(WritingError, match="Permission denied"):
            write(str(tmp_path / "r.html"), "page")
    finally:
        os.seteuid(user)
        tmp_path.chmod(0o700)
