"""One method for each opcode of CPython 3.11 to 3.14, found by its name.

A method of one opcode means the same in each version that has it; what differs between versions in
the meaning of an argument or the order on the stack is in `opcodes`.
"""

from __future__ import annotations

from stepper.native.tracing.instructions.calls import CallInstructions
from stepper.native.tracing.instructions.flow import FlowInstructions
from stepper.native.tracing.instructions.patterns import PatternInstructions
from stepper.native.tracing.instructions.raising import RaisingInstructions


class Instructions(CallInstructions, FlowInstructions, PatternInstructions, RaisingInstructions):
    """All of them."""
