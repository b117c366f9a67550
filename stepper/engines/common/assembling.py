"""The assembler, imported when it is first asked for.

It takes the package `bytecode`, which an environment where programs are only recorded may lack.
"""

from __future__ import annotations

from types import CodeType

from stepper.model.cache import CacheError
from stepper.support.needed import explain_import


def editable_text(code: CodeType) -> str:
    """A code's instructions as text that can be edited; without the assembler, a comment in the
    same form that says why there are none."""
    try:
        from stepper.engines.common.assembler import to_text
    except ModuleNotFoundError as error:
        return f"# {explain_import(error) or error}\n"
    return to_text(code)


def assemble(text: str, original: CodeType) -> CodeType:
    """The code with other instructions; see `stepper.engines.common.assembler.from_text`.

    Raises:
        CacheError: the text cannot be made into code, or the assembler is missing.
    """
    try:
        from stepper.engines.common.assembler import from_text
    except ModuleNotFoundError as error:
        raise CacheError(explain_import(error) or str(error)) from None
    return from_text(text, original)
