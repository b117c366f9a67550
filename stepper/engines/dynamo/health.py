"""Whether the installed torch has what the dynamo engine needs of it, for `stepper doctor`.

It is asked in the program's Python, which alone has torch, and answers in JSON on stdout.
"""

from __future__ import annotations

import json

from stepper.support.needed import explain_import, unsupported


def look() -> dict[str, object]:
    """What there is to say of this Python's torch.

    `torch` is its version, empty when it has none; `trouble` why it cannot be watched at all;
    `lacks` names the functions that the engine watches and that it does not have.
    """
    try:
        import torch
    except Exception as error:
        return {"torch": "", "trouble": f"torch cannot be imported: {error}"}
    found: dict[str, object] = {"torch": torch.__version__}
    if trouble := unsupported():
        return {**found, "trouble": trouble}
    try:
        import stepper.recording.writer  # noqa: F401  # with what it needs of the environment
        from stepper.engines.dynamo import versions

        found["oldest"], found["newest"] = versions.points.OLDEST, versions.points.NEWEST
        found["lacks"] = versions.points.lacking()
    except Exception as error:
        found["trouble"] = explain_import(error) or f"{type(error).__name__}: {error}"
    return found


def main() -> None:
    """Say it."""
    print(json.dumps(look()))
