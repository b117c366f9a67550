"""What would be released: that it is whole, and that it says what it needs."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.distribution import (
    ROOT,
    check_description,
    check_sdist,
    copy_checkout,
    description_in_sdist,
)

WARNED_OF = """
#include <Python.h>
static int nobody_calls_this(void) { return 1; }
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_C", NULL, -1, NULL};
PyMODINIT_FUNC PyInit__C(void) { return PyModule_Create(&module); }
"""


def project() -> dict[str, Any]:
    return dict(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"])


def test_what_is_imported_is_declared_and_the_other_way_round() -> None:
    """Distributions are compared, e.g. `PyYAML` and not `yaml`."""
    here = packages_distributions()
    foreign = {
        name: path
        for path in (ROOT / "stepper").rglob("*.py")
        for name in imported_by(path)
        if name not in sys.stdlib_module_names and name != "stepper"
    }
    extras = project()["optional-dependencies"]
    required = names(project()["dependencies"])
    optional = {extra for extra in extras if extra not in ("dev", "docs")}
    offered = names([text for extra in optional for text in extras[extra]])
    # The user's own, which is imported under a name of the user's choosing where there is one.
    foreign.pop("sitecustomize")
    used = {canonicalize_name(here[name][0]) for name in foreign}
    assert required <= used <= required | offered, f"{foreign}"
    assert offered <= used


def imported_by(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]


def names(requirements: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(text).name) for text in requirements}


def test_a_source_distribution_has_all_that_it_is_built_from(tmp_path: Path) -> None:
    """Also a header and a folder of the package that were made a minute ago."""
    checkout = tmp_path / "checkout"
    copy_checkout(checkout)
    (checkout / "csrc" / "room").mkdir()
    (checkout / "csrc" / "room" / "new.h").touch()
    (checkout / "csrc" / "room" / "new.c").touch()
    (checkout / "stepper" / "room").mkdir()
    (checkout / "stepper" / "room" / "new.py").touch()
    (checkout / "tests").mkdir()
    (checkout / "tests" / "test_new.py").touch()
    build = "from setuptools.build_meta import build_sdist; build_sdist('.')"
    setup(checkout, "-c", build)
    (archive,) = checkout.glob("*.tar.gz")
    check_sdist(archive, checkout)
    described = description_in_sdist(archive)
    check_description(described)
    assert names(list(map(str, described.requires_dist or ()))) >= names(project()["dependencies"])


@pytest.mark.parametrize(("asked", "status"), [("", 0), ("1", 1)])
def test_a_warning_of_the_compiler_ends_no_installation_but_ours(
    asked: str, status: int, tmp_path: Path
) -> None:
    checkout = tmp_path / "checkout"
    copy_checkout(checkout)
    shutil.rmtree(checkout / "csrc")
    (checkout / "csrc").mkdir()
    (checkout / "csrc" / "module.c").write_text(WARNED_OF)
    command = ("setup.py", "-q", "build_ext", "--build-lib", str(tmp_path))
    done = setup(checkout, *command, STEPPER_WERROR=asked, check=False)
    assert done.returncode == status, done.stderr
    assert "nobody_calls_this" in done.stderr


@pytest.mark.parametrize(
    ("tag", "heading", "said"),
    [
        ("v1.2.3", "[1.2.3], 2026-11-26", ""),
        ("v1.2.4", "[1.2.3], 2026-11-26", "it would be v1.2.3"),
        ("v1.2.3", "[1.2.3], not released yet", "CHANGELOG.md begins with"),
    ],
)
def test_what_is_published_is_the_version_of_its_tag(
    tag: str, heading: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / ".ci").mkdir()
    (tmp_path / "stepper").mkdir()
    shutil.copy(ROOT / ".ci" / "check-release", tmp_path / ".ci")
    (tmp_path / "stepper" / "__init__.py").write_text('__version__ = "1.2.3"\n')
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n## {heading}\n")
    command = [str(tmp_path / ".ci" / "check-release"), tag]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == bool(said)
    assert said in done.stdout
    steps = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    assert steps.index('.ci/check-release "$GITHUB_REF_NAME"') < steps.index(".ci/wheels dist")


def setup(
    checkout: Path, *command: str, check: bool = True, **surroundings: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        cwd=checkout,
        env={**os.environ, **surroundings},
        capture_output=True,
        text=True,
        timeout=600,
        check=check,
    )
