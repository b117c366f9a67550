"""Where compile time goes: what the compiler times of itself."""

from __future__ import annotations

import msgspec

from stepper.model.trace import MomentId

TRACING, GUARDS = "bytecode_tracing", "build_guards"
ATTEMPT = "compile_attempt_"
"""How the name of an attempt's phase begins; behind it stands a number."""
BACKEND = "backend_compile"
BACKEND_PHASES = frozenset({BACKEND, "entire_backward_compile"})
"""The call of the backend, and a backward that is compiled when gradients are asked for."""
TRANSFORMED_RUN = "run.transformed_code"
"""The name of what is no phase of compiling: a call's run of what was compiled."""
GRAPH_RUN = "run.graph"
"""In its midst, the run of a graph."""
GARBAGE = "python.gc"
"""What Python's garbage collector took in the midst of a phase."""
COMPILE_LOCK, FILE_LOCK = "wait.compile_lock", "wait.file_lock"
"""For what a thread had to wait: the lock under which the compiler works, while another thread did;
and that of a file in a cache on disk, which other processes take, too."""
WAITS = frozenset({COMPILE_LOCK, FILE_LOCK})
CODEGEN, SIDE_EFFECTS, ASSEMBLE = "dynamo.codegen", "dynamo.side_effects", "dynamo.assemble"
"""The making of bytecode when tracing is over: its instructions, those of them that make side
effects happen, and the code object that is put together of them."""
FAKE_TENSORS = "dynamo.fake_tensors"
"""What it took to find out a node's result, with tensors that have no data."""
EFFECT_MADE = "dynamo.side_effect"
"""What it took to make the bytecode of one side effect."""
GENERATING = "GraphLowering.codegen"
"""The backend's name for generating code, with its compilers where they do not work beside."""
HEARD = frozenset({GARBAGE, *WAITS, CODEGEN, SIDE_EFFECTS, EFFECT_MADE, ASSEMBLE, FAKE_TENSORS})
"""The names of what the compiler does not time itself."""
GUARD_MADE = "guard."
"""How the name of what it took to make a guard begins; behind it stands the guard's kind."""
AUTOGRAD_CACHE = "compiled_autograd"
"""The name of the phase in which compiled autograd captures a backward, and of its cache of what it
has captured, which is in memory. It says only when there is nothing, and why."""
RUNS = frozenset({TRANSFORMED_RUN, GRAPH_RUN})


class CacheAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a compiler's cache answered when it was asked for a graph."""

    cache: str
    """The compiler's name of the cache: `fx_graph_cache` of Inductor, `autograd_cache`, both on
    disk; or `AUTOGRAD_CACHE`."""
    state: str
    """`hit`, `miss`, `bypass` or `disabled`."""
    key: str = ""
    """The graph's; empty: it has none, as where the cache was bypassed."""
    reason: str = ""
    """Why the cache was bypassed, or had nothing, in the compiler's words."""
    parts: dict[str, str] = {}
    """What the key is made of, each with its hash; what differs between two keys says why there
    was no hit."""
    loaded: str = ""
    """Where the program had what was hit loaded by `torch.compiler.load_cache_artifacts`; empty: it
    was not seen to, so it was there already."""
    nanoseconds: int | None = None
    """In the compiler's words, of a hit what it has saved, of a miss what it took to make what was
    not there; None: it does not say."""


class Timing(msgspec.Struct, frozen=True, omit_defaults=True):
    """A phase of the compiler, from its beginning to its end."""

    id: int
    """1, 2, … in the order in which they began."""
    name: str
    """The compiler's own, e.g. `bytecode_tracing`; or one that stands above, or that of a guard's
    making."""
    began: int
    """Nanoseconds on the compiler's clock, on which moments have their instants, too. It goes on
    only while the compiler works, and means nothing but beside others."""
    nanoseconds: int
    """How long it took, without the time for which the program stood still at a stop, and without
    what it took to note the instructions."""
    moment: MomentId
    """The newest moment when it began; 0: there was none."""
    parent: int | None = None
    """The phase of this thread in whose midst it was."""
    translation: int | None = None
    """The innermost translation that was under way when it ended; of a run, the lookup."""
    thread: str = ""
    """Empty: the main thread."""
    left_out: int = 0
    """Nanoseconds of the wall's clock that are not in `nanoseconds`: at stops, and noting."""
    cache: CacheAnswer | None = None
    """Where this is no phase but an answer, which takes no time."""
    guard: int | None = None
    """The number of the guard that was made in it."""
    side_effect: int | None = None
    """The number of the side effect whose bytecode was made in it: the last one of that object, or
    of that attribute of it."""
    kernels: int | None = None
    """How many kernels the backend has counted while it generated code; None: it counts none."""
    compile_id: str = ""
    """The compiler's name of the compilation that this belongs to, where no translation was under
    way: a backward is compiled long after its forward."""
