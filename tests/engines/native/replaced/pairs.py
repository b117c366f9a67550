"""Every method of every kind of class: absent, there, another, absent again. A case is a pair of a
kind and a feature."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from tests.engines.native.replaced import special_methods  # noqa: F401  # it takes itself up
from tests.engines.native.replaced.features import FEATURES, Feature
from tests.engines.native.replaced.kinds import KINDS, Made
from tests.engines.native.replaced.running import LOG, Case, fresh

_NAMES = ("__name__", "__qualname__")
"""What stands in no dictionary of a class, and cannot be deleted."""


def can_be_put(made: Made, each: Feature) -> bool:
    """Whether the class lets itself be changed like that."""
    missing = object()
    old = vars(made.owner).get(each.name, missing)
    if old is not missing and each.name in ("stored", "fresh", "other"):
        return False  # without it the object has no place for its attributes
    if made.owner.__module__.startswith("torch.") and each.name in ("__new__", "__init__"):
        return False  # Python does not put `__new__` back, and graphs are modules
    if each.name in _NAMES:
        return True
    try:
        setattr(made.owner, each.name, each.versions[0])
        delattr(made.owner, each.name) if old is missing else setattr(made.owner, each.name, old)
    except (AttributeError, TypeError):
        return False
    return True


def case(of_kind: str, of_feature: str) -> Case:
    """The case of a pair."""

    def steps() -> Iterator[Any]:
        made, each = KINDS[of_kind](), FEATURES[of_feature]
        thing, owner = made
        use = fresh(each.use)
        if each.name == "__exit__":
            owner.__enter__ = lambda self: LOG.append("entered")

        def program(x: torch.Tensor) -> Any:
            return use(thing, x)

        missing = object()
        old = (
            getattr(owner, each.name)
            if each.name in _NAMES
            else vars(owner).get(each.name, missing)
        )

        def back() -> None:
            if old is not missing:
                setattr(owner, each.name, old)
            elif each.name in vars(owner):  # or the program has deleted it
                delattr(owner, each.name)

        try:
            yield fresh(program)
            for version in each.versions:
                setattr(owner, each.name, version)
                yield
            back()
            yield
            setattr(owner, each.name, each.versions[0])
            yield
        finally:
            back()
            if each.name == "__exit__":
                del owner.__enter__

    return steps


def cases() -> dict[str, Case]:
    """Every pair that can be."""
    return {
        f"{of_feature} of {of_kind}": case(of_kind, of_feature)
        for of_kind in KINDS
        for of_feature in FEATURES
        if can_be_put(KINDS[of_kind](), FEATURES[of_feature])
    }
