"""What the describers of both engines have in common, whose translators are alike."""

from __future__ import annotations

from typing import Any

from stepper.debuggee.engine import Describer
from stepper.support.wrapping import wrapped


class TorchDescriber(Describer):
    """Describes translators that have the code of their function, and what it was called with."""

    def wraps(self, translator: Any) -> str:
        return wrapped(translator.f_code, translator.f_locals)
