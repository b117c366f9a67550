"""Counts whatever a program could notice of being looked at: modes and subclasses that see what is
called of torch, and a metaclass that is asked for a hash or an equality."""

import collections

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

seen = collections.Counter()


def note(*what):
    if not torch.compiler.is_compiling():
        seen[what] += 1


class Functions(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        note("mode", getattr(func, "__name__", str(func)))
        return func(*args, **(kwargs or {}))


class Dispatches(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        note("dispatch", str(func))
        return func(*args, **(kwargs or {}))


class Named(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        note("subclass", getattr(func, "__name__", str(func)))
        return super().__torch_function__(func, types, args, kwargs or {})


class Wrapped(torch.Tensor):
    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, dtype=inner.dtype, device=inner.device
        )

    def __init__(self, inner):
        self.inner = inner

    def __tensor_flatten__(self):
        note("flatten")
        return ["inner"], None

    @staticmethod
    def __tensor_unflatten__(inner, meta, size, stride):
        note("unflatten")
        return Wrapped(inner["inner"])

    def __repr__(self):
        note("repr")
        return "Wrapped"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        note("wrapped", str(func))
        out = func(*[x.inner if isinstance(x, Wrapped) else x for x in args], **(kwargs or {}))
        return Wrapped(out) if isinstance(out, torch.Tensor) else out


class Asked(type):
    def __instancecheck__(cls, other):
        note("instancecheck")
        return type.__instancecheck__(cls, other)

    def __eq__(cls, other):
        note("class eq")
        return cls is other

    def __hash__(cls):
        note("class hash")
        return 5


class Settings(metaclass=Asked):
    scale = 3.0


class Items(dict):
    def __len__(self):
        note("len")
        return dict.__len__(self)

    def keys(self):
        note("keys")
        return dict.keys(self)


class Held(dict, metaclass=Asked):
    pass


settings = Settings()


def passed(x, thing):
    x = x + 1
    torch._dynamo.graph_break()
    return x * 2, thing


def read(x):
    return x * settings.scale


def added(x, held):
    for name in held:
        x = x + held[name]
    return x


adding = torch.compile(added, backend="eager")
passing = torch.compile(passed, backend="eager")
reading = torch.compile(read, backend="eager")
free = torch.compile(lambda x: x.sin() + 1, backend="eager", dynamic=True)


def called(make):
    for size in (2, 3, 3, 3, 3, 4, 3):
        make(torch.ones(size))


def told(name):
    print(name, sorted((*map(str, what), count) for what, count in seen.items()))
    seen.clear()


with Functions():
    called(free)
told("function mode")
with Dispatches():
    called(free)
told("dispatch mode")
called(lambda x: free(x.as_subclass(Named)))
told("subclass")
called(lambda x: passing(Wrapped(x), Items(a=2)))
told("wrapper")
called(lambda x: passing(x, Settings))
called(lambda x: passing(x, settings))
called(lambda x: passing(x, [settings, Settings]))
called(lambda x: passing(x, {settings: 1, "of": Settings}))
called(reading)
told("metaclass")
called(lambda x: adding(x, Held(a=1, b=2)))
called(lambda x: adding(x, Held(a=1, b=2, c=3)))
told("dictionary of a metaclass")
