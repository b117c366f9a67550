"""The number of a moment; see `stepper.model.trace`."""

from __future__ import annotations

MomentId = int
