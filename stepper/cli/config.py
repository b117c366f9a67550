"""Defaults from `[tool.stepper]` in the nearest pyproject.toml."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec


class ConfigError(Exception):
    """The configuration cannot be understood; the message names the file and the entry."""


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """What can stand in `[tool.stepper]`; an option on the command line replaces it."""

    breakpoints: Annotated[
        tuple[str, ...], msgspec.Meta(description="breakpoints to begin with, as for --break")
    ] = msgspec.field(default=(), name="break")
    output: Annotated[str, msgspec.Meta(description="where to record, as for --output")] = ""
    engine: Annotated[str, msgspec.Meta(description="the compiler's name, as for --engine")] = (
        "dynamo"
    )
    detail: Annotated[
        Literal["all", "stops"], msgspec.Meta(description="how much to record, as for --detail")
    ] = "all"
    lookups: Annotated[bool, msgspec.Meta(description="record lookups, as with --lookups")] = False
    execute: Annotated[
        bool, msgspec.Meta(description="record what transformed code does, as with --execute")
    ] = False
    secrets: Annotated[
        bool, msgspec.Meta(description="record what looks like a secret, as with --secrets")
    ] = False
    theme: Annotated[str, msgspec.Meta(description="colours of the terminal interface")] = ""


def load_config(start: Path) -> Config:
    """The configuration that holds in a directory: that of the nearest pyproject.toml upwards.

    Raises:
        ConfigError: that file is not TOML, or its `[tool.stepper]` has something unknown in it.
    """
    for directory in (start, *start.parents):
        path = directory / "pyproject.toml"
        if path.is_file():
            return _read(path)
    return Config()


def _read(path: Path) -> Config:
    try:
        text = path.read_text(encoding="utf-8")
        if "stepper" not in text:
            return Config()  # most projects' files; whatever is wrong in them is not ours to say
        import tomllib

        document = tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: {error}") from None
    section = document.get("tool", {}).get("stepper", {})
    if isinstance(section, dict) and isinstance(section.get("break"), str):
        section = section | {"break": [section["break"]]}
    try:
        return msgspec.convert(section, Config)
    except msgspec.ValidationError as error:
        known = ", ".join(_names())
        raise ConfigError(f"{path}: [tool.stepper]: {error}. It can have: {known}") from None


def _names() -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(Config)]
