"""Programs made up by chance whose calls differ in what guards look at.

Each function of a program computes with attributes of a module, globals, its arguments and the
state of torch. Between its calls some of that is changed, mostly what the function uses. A change
that does not apply (a key that is not there) changes nothing, and a call may raise.
"""

from __future__ import annotations

import random
from textwrap import indent

HEAD = """
import collections, dataclasses, enum, functools, types, warnings
import torch

warnings.simplefilter("ignore")
torch.manual_seed(0)


class Kind(enum.Enum):
    A = 1
    B = 2


@dataclasses.dataclass
class Config:
    width: int = 4
    act: str = "relu"
    opts: dict = dataclasses.field(default_factory=lambda: {"on": True, "n": 3})


class Plain:
    scale = 2

    def __init__(self):
        self.bias = 1
        self.ts = [torch.ones(4)]

    @property
    def total(self):
        return self.bias + self.scale


class Other(Plain):
    scale = 5


def twice(x):
    return x * 2


def thrice(x):
    return x * 3


def set_globals():
    global G_DICT, G_FN, G_INT, G_LIST, G_T
    G_DICT, G_FN, G_INT, G_LIST, G_T = {"a": 1, "b": 2}, torch.relu, 3, [1, 2], torch.ones(4)
    Module.limit, Plain.scale = 7, 2
    torch.set_default_dtype(torch.float32)
    torch.use_deterministic_algorithms(False)


class Module(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)
        self.subs = torch.nn.ModuleList([torch.nn.Linear(4, 4)])
        self.register_buffer("buf", torch.ones(4))
        self.k, self.s, self.name, self.flag, self.opt = 2, 0.5, "sin", True, None
        self.xs, self.d = [torch.ones(4), torch.zeros(4)], {"a": torch.ones(4), "n": 3}
        self.od, self.dq = collections.OrderedDict(p=1, q=2), collections.deque([1, 2])
        self.tup, self.st, self.kind, self.dt = (1, 2.0, "x"), {1, 2}, Kind.A, torch.float32
        self.fn, self.part = twice, functools.partial(torch.mul, other=2)
        self.cfg, self.obj, self.ns = Config(), Plain(), types.SimpleNamespace(u=1, v=[1, 2])


class Another(Module):
    limit = 9


def guarded(function, *arguments):
    try:
        return function(*arguments)
    except Exception as error:
        return type(error)


def change(code):
    try:
        exec(code, globals())
    except (AttributeError, IndexError, KeyError, TypeError, RuntimeError):
        pass
"""

_STATEMENTS = """
x = x * self.k
x = x + self.s
x = getattr(torch, self.name)(x)
if self.flag: x = x + 1
for t in self.xs: x = x + t.sum()
x = x + len(self.xs)
for q in self.d: x = x + len(q)
if "b" in self.d: x = x + self.d["b"]
x = x + self.d["n"]
x = x * self.cfg.width
x = getattr(torch, self.cfg.act)(x)
if self.cfg.opts["on"]: x = x - self.cfg.opts["n"]
if self.opt is not None: x = x + self.opt
for layer in self.subs: x = layer(x)
x = self.lin(x)
x = self.fn(x)
x = self.part(x)
x = x + self.tup[0] * self.tup[1]
if 2 in self.st: x = x.abs()
if self.kind is Kind.A: x = x.neg()
x = x.to(self.dt)
x = x + self.obj.total
x = x + self.obj.scale
x = x + self.obj.ts[0]
if hasattr(self.obj, "extra"): x = x + self.obj.extra
if isinstance(self.obj, Other): x = x + 3
for q, v in self.od.items(): x = x + v
x = x + self.dq[0] + len(self.dq)
x = x + self.buf
x = x + self.ns.u + self.ns.v[-1]
x = x + self.limit
x = x + G_INT
x = x + sum(G_LIST)
x = x + G_DICT["a"]
for q in G_DICT: x = x + len(q)
x = x + G_T
x = G_FN(x)
if self.training: x = x * 1.5
if torch.is_grad_enabled(): x = x + 0.25
if x.requires_grad: x = x * 2
if x.shape[0] > 3: x = x + 3
if x.is_contiguous(): x = x + 9
if x.dtype == torch.float64: x = x + 1
if x is y: x = x + 4
x = x + y
x = x + y.mean()
x = x + n
if n > 3: x = x - 3
if args: x = x + args[0]
x = x + len(args)
x = x + options.get("scale", 1)
if "mask" in options: x = x * options["mask"].sum()
for q in options: x = x + len(q)
self.k = self.k + 1; x = x + self.k
x = x * float(x.shape[-1])
x = x + torch.arange(x.shape[0], dtype=x.dtype).sum()
if x.ndim == 2: x = x.sum(0)
if x.numel() % 2: x = x + 1
x = torch.cat([x, x])[: x.shape[0]]
torch._dynamo.graph_break()
print(end="")
""".strip().splitlines()

_CHANGES = """
m.k += 1
m.k = 2
m.s = m.s + 0.5
m.name = "cos"
m.flag = not m.flag
m.xs.append(torch.ones(4))
m.xs = tuple(m.xs)
m.d["b"] = torch.ones(4)
m.d.pop("b")
m.d["n"] = m.d["n"] + 1
m.d = {"n": 3, "a": torch.ones(4)}
m.cfg.width += 1
m.cfg.act = "tanh"
m.cfg.opts["on"] = not m.cfg.opts["on"]
m.cfg.opts = {"on": True, "n": 5}
m.opt = torch.ones(4)
m.opt = 2.5
m.subs.append(torch.nn.Linear(4, 4))
m.subs[0] = torch.nn.ReLU()
m.lin = torch.nn.Linear(4, 4, bias=False)
m.lin = torch.nn.Identity()
m.fn = thrice
m.fn = torch.exp
m.part = functools.partial(torch.add, other=3)
m.tup = (2, 2.0, "x")
m.tup = (1, 2.0)
m.st.discard(2)
m.kind = Kind.B
m.dt = torch.float64
m.obj = Other()
m.obj.bias += 1
m.obj.scale = 3
m.obj.extra = 4
m.obj.ts[0] = torch.ones(1)
m.od.move_to_end("p")
m.od["r"] = 3
m.dq.rotate()
m.dq.append(4)
m.buf = torch.ones(1)
m.ns.u = 9
m.ns.v.append(4)
m.limit = 11
m.__class__ = Another
Module.limit = 8
G_INT += 1
G_LIST.append(3)
G_DICT["a"] += 1
G_DICT = {"b": 2, "a": 1}
G_DICT["c"] = 1
G_T = torch.ones(1)
G_FN = torch.tanh
m.eval()
m.train()
m.double()
torch.set_default_dtype(torch.float64)
torch.use_deterministic_algorithms(True)
m.lin.register_forward_pre_hook(lambda module, inputs: None)
""".strip().splitlines()

_TENSORS = [
    "torch.ones(4)", "torch.ones(3, 4)", "torch.ones(1, 4)", "torch.ones(4, 4).t()",
    "torch.ones(4).double()", "torch.ones(4, requires_grad=True)", "torch.ones(8)[::2]",
    "torch.ones(4, dtype=torch.int64)", "torch.nn.Parameter(torch.ones(4))", "torch.zeros(0, 4)",
    "torch.ones(6, 4)[2:]", "torch.ones(1).expand(4)",
]  # fmt: skip
_OTHERS = ["x", "torch.ones(1)", "torch.ones(4).double()", "x.detach()", "torch.tensor(2.0)"]
_NUMBERS = ["4", "1", "0", "2.5", "True", "None", "torch.tensor(3)"]
_REST = ["1", "1, 2", "torch.ones(4)", "scale=2", "scale=2.5", "mask=torch.ones(5)", "None"]
_STATES = ["torch.no_grad()", "torch.inference_mode()", 'torch.autocast("cpu", torch.bfloat16)']


def program(seed: int, functions: int) -> str:
    """The source of a program with so many functions."""
    chance = random.Random(seed)
    return "\n".join([HEAD, *(_function(chance, f"f{number}") for number in range(functions))])


def function(seed: int) -> str:
    """The source of a function that is compiled whole, without a call."""
    whole = [each for each in _STATEMENTS if "graph_break" not in each and "print" not in each]
    return "\n".join(_compiled(random.Random(seed), "f", whole)[0])


def _compiled(
    chance: random.Random, name: str, statements: list[str]
) -> tuple[list[str], list[str]]:
    """The lines of a function, and its statements."""
    body = chance.sample(statements, chance.randint(2, 5))
    arguments = "(self, x, y, n, *args, **options)"
    lines = [f"\ndef {name}{arguments}:", *(indent(line, "    ") for line in body), "    return x"]
    options = chance.choice(["", "", ", dynamic=True"])
    return [*lines, f'compiled = torch.compile({name}, backend="eager"{options})'], body


def _function(chance: random.Random, name: str) -> str:
    lines, body = _compiled(chance, name, _STATEMENTS)
    lines += ["set_globals()", "m = Module()"]
    used = [change for change in _CHANGES if _changed(change) in "\n".join(body)]
    for number in range(chance.randint(4, 7)):
        lines += _call(chance, used or _CHANGES, first=not number)
    return "\n".join(lines)


def _changed(change: str) -> str:
    """What a change is of, as a function would say it."""
    name = change.removeprefix("m.").split("(")[0].split()[0].partition("[")[0]
    owner, _, method = name.rpartition(".")
    name = owner if method in ("append", "discard", "move_to_end", "pop", "rotate") else name
    return f"self.{name}" if change.startswith("m.") else name


def _call(chance: random.Random, changes: list[str], *, first: bool) -> list[str]:
    """A call, and what is changed before it."""
    if first:
        return ["x = torch.ones(4); guarded(compiled, m, x, torch.ones(4), 3)"]
    lines = [f"change({chance.choice(changes)!r})" for _ in range(chance.choice([0, 1, 1, 2]))]
    if chance.random() < 0.25:
        lines.append(f"change({chance.choice(_CHANGES)!r})")
    x = chance.choice(_TENSORS) if chance.random() < 0.4 else "torch.ones(4)"
    y = chance.choice(_OTHERS) if chance.random() < 0.2 else "torch.ones(4)"
    n = chance.choice(_NUMBERS) if chance.random() < 0.2 else "3"
    rest = f", {chance.choice(_REST)}" if chance.random() < 0.2 else ""
    call = f"x = {x}; guarded(lambda: compiled(m, x, {y}, {n}{rest}))"
    state = chance.choice(_STATES) if chance.random() < 0.2 else ""
    return [*lines, f"with {state}: {call}" if state else call]
