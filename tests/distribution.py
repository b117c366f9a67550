"""Tries what would be released: `python -m tests.distribution FOLDER`, run by `make dist`.

The folder holds one source distribution, a wheel that was built from it for the Python that runs
this, and the one without the C part, which reads recordings on any system. Looked at is what is in
them and what a package index would show; then the wheel is installed into an empty environment,
that has what the wheel says it needs and nothing else: not torch, and no compiler is to be found.
From there a demo is recorded in the environment of its own that lies beside it, which has torch and
nothing else, then asked, walked and reported, far from the checkout. The reader, in an environment
of the same kind, answers about that recording, and says of a program that it cannot watch it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from packaging.metadata import Metadata

from tests.environments import install, make_environment, site_packages

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "demos" / "toy_example.py"
TO_BUILD = ("csrc", "stepper", "setup.py", "MANIFEST.in", "pyproject.toml")
"""What the source distribution is made of, ..."""
TO_READ = ("CHANGELOG.md", "LICENSE", "README.md")
"""... and what comes with it."""
MADE = {"setup.cfg", "PKG-INFO", "torch_stepper.egg-info"}
"""What setuptools adds to it."""
NO_SOURCE = ("__pycache__", "*.so", "*.egg-info")


def copy_checkout(target: Path) -> None:
    """What a distribution is made of, as if it were just checked out."""
    target.mkdir()
    for name in (*TO_BUILD, *TO_READ):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns(*NO_SOURCE))
        else:
            shutil.copy(source, target)


def source_files(root: Path) -> set[str]:
    """Every file of the C part and of the package, as paths below a checkout."""
    return {
        str(path.relative_to(root))
        for room in ("csrc", "stepper")
        for path in (root / room).rglob("*")
        if path.is_file() and not any(path.match(pattern) for pattern in NO_SOURCE)
        if "__pycache__" not in path.parts
    }


def names_in_sdist(archive: Path) -> set[str]:
    """The files of a source distribution, without the folder that holds them."""
    with tarfile.open(archive) as opened:
        members = [member.name for member in opened.getmembers() if member.isfile()]
    return {name.partition("/")[2] for name in members}


def description_in_sdist(archive: Path) -> Metadata:
    """What a source distribution says of itself, read as strictly as an index reads it."""
    with tarfile.open(archive) as opened:
        (name,) = (n for n in opened.getnames() if re.fullmatch(r"[^/]+/PKG-INFO", n))
        file = opened.extractfile(name)
        assert file is not None
        return Metadata.from_email(file.read(), validate=True)


def check_sdist(archive: Path, root: Path) -> None:
    """It has everything that is needed to build from it, and nothing of anything else."""
    names = names_in_sdist(archive)
    alone = {name for name in (*TO_BUILD, *TO_READ) if (root / name).is_file()}
    wanted = source_files(root) | alone
    assert not (absent := wanted - names), f"not in the source distribution: {sorted(absent)}"
    strange = {name for name in names - wanted if name.partition("/")[0] not in MADE}
    assert not strange, f"should not be in the source distribution: {sorted(strange)}"


def check_description(described: Metadata) -> None:
    """An index shows the README elsewhere: every link and picture needs its whole address."""
    assert described.description_content_type == "text/markdown"
    assert "Source" in (described.project_urls or {})
    links = re.findall(r"\]\(([^)]*)\)", described.description or "")
    assert links
    relative = [link for link in links if not link.startswith("https://")]
    assert not relative, f"links that lead nowhere from an index: {relative}"


def check_wheel(wheel: Path, root: Path, *, reader: bool = False) -> Metadata:
    """It has the package, its compiled part (a reader: none) and its data, and no tests or sources
    in C."""
    # Those that auditwheel has renamed tell of folders, too.
    names = {name for name in zipfile.ZipFile(wheel).namelist() if not name.endswith("/")}
    wanted = {name for name in source_files(root) if name.startswith("stepper/")}
    assert not (absent := wanted - names), f"not in the wheel: {sorted(absent)}"
    strange = {
        name for name in names - wanted if not re.search(r"^stepper/_C\.|\.dist-info/", name)
    }
    assert not strange, f"should not be in the wheel: {sorted(strange)}"
    assert reader is not any(re.fullmatch(r"stepper/_C\..*\.so", name) for name in names)
    (license_name,) = (name for name in names if name.endswith(".dist-info/licenses/LICENSE"))
    (name,) = (name for name in names if name.endswith(".dist-info/METADATA"))
    with zipfile.ZipFile(wheel) as opened:
        assert opened.read(license_name).decode() == (root / "LICENSE").read_text()
        return Metadata.from_email(opened.read(name), validate=True)


def try_wheels(wheel: Path, reader: Path, described: Metadata, folder: Path) -> None:
    """Install them, and use them as somebody would who has never seen the checkout."""
    requirements = map(str, described.requires_dist or ())
    environment = folder / "tool"
    python = make_environment(environment, requirements)
    install(python, wheel, Path(sys.executable))
    programs = make_environment(folder / ".venv", ["torch"])
    shutil.copy(DEMO, folder)
    text = DEMO.read_text().replace("import torch", "import stepper, torch")
    (folder / "native.py").write_text(text.replace("@torch.compile", "@stepper.compile"))
    stepper = python.with_name("stepper")

    keep = {name: value for name, value in os.environ.items() if name not in ("CC", "PYTHONPATH")}
    bare = {**keep, "PATH": str(folder / "tool" / "include")}

    def run(*command: str | Path, status: int = 0) -> str:
        print("+", *command, flush=True)
        done = subprocess.run(
            command,
            cwd=folder,
            env=bare,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout if status == 0 else done.stderr

    where = run(python, "-c", "import stepper.tui.app; print(stepper.__file__)")
    assert Path(where.strip()).is_relative_to(site_packages(environment).resolve()), where
    assert str(described.version) in run(stepper, "--version")
    for engine, program in (("dynamo", DEMO.name), ("native", "native.py")):
        said = run(stepper, "record", "--engine", engine, "-o", f"{engine}.stepper", program)
        assert said == run(programs, DEMO.name)
    for file in ("dynamo.stepper", "native.stepper"):
        count = run(stepper, "query", "--format", "csv", file, "select count(*) as n from frames")
        assert int(count.split()[-1]) > 0, count
    walk = ("-x", "break graph-break", "-x", "continue", "-x", "where", "-x", "quit")
    assert DEMO.name in run(stepper, "console", *walk, DEMO.name)
    run(stepper, "report", "-o", "report.html", "dynamo.stepper")
    assert "<style>" in (folder / "report.html").read_text()
    alone = make_environment(folder / "laptop", map(str, described.requires_dist or ()))
    install(alone, reader, Path(sys.executable))
    reads = alone.with_name("stepper")
    assert "toy_example" in run(reads, "why-break", "dynamo.stepper")
    refused = run(reads, "record", "--python", programs, DEMO.name, status=2)
    assert "C part" in refused, refused
    # In an environment that has both, as `pip install torch-stepper[torch]` makes it.
    both = make_environment(folder / "both", [*map(str, described.requires_dist or ()), "torch"])
    install(both, wheel, Path(sys.executable))
    run(both.with_name("stepper"), "record", "-o", "both.stepper", DEMO.name)


def main(folder: Path) -> None:
    """Check everything in a folder of distributions."""
    (sdist,), (reader,) = folder.glob("*.tar.gz"), folder.glob("*-py3-none-any.whl")
    (wheel,) = folder.glob("*-cp{}{}-*.whl".format(*sys.version_info))
    check_sdist(sdist, ROOT)
    check_description(description_in_sdist(sdist))
    described = check_wheel(wheel, ROOT)
    check_description(described)
    assert check_wheel(reader, ROOT, reader=True).requires_dist == described.requires_dist
    with tempfile.TemporaryDirectory() as scratch:
        try_wheels(wheel, reader, described, Path(scratch).resolve())
    print(f"{sdist.name}, {wheel.name} and {reader.name} can be released")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
