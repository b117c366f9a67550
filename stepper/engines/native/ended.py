"""Whether it was a graph that raised what has left a transformed code.

What a graph raises is raised again by the program's own code, which stands in the transformed code
behind the handler of the graph's call (`stepper.native.codegen.frame_code`): the traceback has its
frame, and nothing of the graph's.
"""

from __future__ import annotations

from types import CodeType

from stepper.engines.common.ended import Frames, node_run
from stepper.engines.native.cache import graphs_of
from stepper.native.bytecode import opcodes


def of_graph(frames: Frames) -> bool:
    """Whether a graph has raised it.

    Args:
        frames: those of the traceback, from that on which runs the transformed code.
    """
    frame, _ = frames[0]
    return _runs_again(frame.f_code, frame.f_lasti) or node_run(frames[1:]) is not None


def _runs_again(code: CodeType, offset: int) -> bool:
    """Whether an instruction is of the program's own code, and nothing but an exception of the
    graph's call leads there."""
    listed = opcodes.listing(code)
    functions = {id(function) for function, _ in graphs_of(code)}
    call = next((each for each in listed.instructions if id(each.argval) in functions), None)
    if call is None or call.handler is None:
        return False
    behind = listed.instructions[call.handler].offset
    before = listed.instructions[: call.handler]
    led = {each.target or 0 for each in before} | {each.handler or 0 for each in before}
    return offset > behind and max(led) == call.handler
