"""The kinds of guards: each a method that writes conditions over `L` and `G`.

A method is given its guard; `self.add` takes a condition. Values are compared so that nothing that
Python tells apart passes for the same: `True` is not 1, `0.0` is not `-0.0`, a NaN is the same NaN
when its bits are.
"""

from __future__ import annotations

import builtins
import struct
import sys
import types
from collections.abc import Mapping
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import SYMPY_INTERP
from torch.nn.modules import module as nn_module

from stepper._C import ClassCheck, instance_dict
from stepper.native import config
from stepper.native.guards import current_backend
from stepper.native.guards.class_dicts import recheck_of
from stepper.native.guards.guard import Dims, Guard
from stepper.native.guards.not_subclass import NotSubclass
from stepper.native.guards.scope import SCOPE, GlobalState, has_hooks, is_immortal
from stepper.native.versions import autocast_defaults, cudnn_enabled
from stepper.support.words import class_name, in_words, one_of, plain_text

float_bits = struct.Struct("<d").pack
"""What makes two floats the same."""


def complex_bits(value: complex) -> bytes:
    """What makes two complex numbers the same."""
    return struct.pack("<dd", value.real, value.imag)


def bare_value(member: object) -> float | str:
    """The number or text that a value is by inheritance, as a member of an enumeration, alone."""
    if isinstance(member, int):
        return int.__pos__(member)
    if isinstance(member, float):
        return float.__pos__(member)
    assert isinstance(member, str)
    return str.__getitem__(member, slice(None))


def member_text(member: object) -> str:
    """Such a value in words, without asking its class how it is written: `Mode(2)`; any other as
    ever."""
    if not issubclass(type(member), (int, float, str)):
        return in_words(member)
    return f"{class_name(type(member))}({plain_text(bare_value(member))})"


class GuardBuilder:
    """Collects what the guards of one translation check.

    code: each condition, with its guard.
    dims: what is asked of the sizes of tensors of which some are symbols, by name.
    tensors, tensor_names: what is checked together, behind the conditions.
    shapes: conditions about symbols, which are checked last.
    weak: objects that the guards know by their identity.
    scope: what names mean in conditions.
    """

    def __init__(self, state: GlobalState, dims: Mapping[str, Dims]) -> None:
        self.state = state
        self.dims = dims
        self.code: list[tuple[Guard, str]] = []
        self.tensors: list[torch.Tensor] = []
        self.tensor_names: list[str] = []
        self.shapes: list[str] = []
        self.examples: list[tuple[Guard, torch.Tensor]] = []
        self.weak: list[tuple[object, str]] = []
        self.scope: dict[str, object] = {
            **SCOPE,
            "___float_bits": float_bits,
            "___complex_bits": complex_bits,
        }
        self.guard: Guard

    def add(self, condition: str) -> None:
        """Add a condition to the guard that is being written."""
        self.code.append((self.guard, condition))
        self.guard.code_list.append(condition)

    def name_of(self, value: object, prefix: str) -> str:
        """A name by which conditions can call the value."""
        for name, known in self.scope.items():
            if known is value and name.startswith(prefix):
                return name
        name = f"{prefix}{len(self.scope)}"
        self.scope[name] = value
        return name

    def identify(self, name: str, value: object) -> None:
        """Check that it is this very object; the entry dies with it, before another can have its
        address."""
        self.add(f"___check_obj_id({name}, {id(value)})")
        if value is None or value is True or value is False or value is Ellipsis:
            return
        if is_immortal(value):
            self.name_of(value, "___held_")
        else:
            self.weak.append((value, name))

    # --- of any value

    def TYPE_MATCH(self, guard: Guard) -> None:
        """The value has this very class."""
        kind = type(guard.value)
        self.add(f"___check_type_id({guard.name}, {id(kind)})")
        if not is_immortal(kind):
            self.weak.append((kind, f"type({guard.name})"))

    def ID_MATCH(self, guard: Guard) -> None:
        """The value is this object."""
        self.identify(guard.name, guard.value)

    def FUNCTION_MATCH(self, guard: Guard) -> None:
        """The value is this function, and has the code that it had."""
        self.identify(guard.name, guard.value)
        if type(guard.value) is types.FunctionType:
            self.identify(f"{guard.name}.__code__", guard.value.__code__)

    def CLOSURE_MATCH(self, guard: Guard) -> None:
        """The value is a function of this module with this code, which is made anew each time."""
        self.add(f"___check_type_id({guard.name}, {id(types.FunctionType)})")
        self.identify(f"{guard.name}.__code__", guard.value.__code__)
        self.add(f"{guard.name}.__globals__ is G")
        self.add(f"___check_obj_id({guard.name}.__builtins__, {id(vars(builtins))})")

    def BUILTIN_MATCH(self, guard: Guard) -> None:
        """The value is this builtin."""
        self.identify(guard.name, guard.value)

    def PYMODULE_MATCH(self, guard: Guard) -> None:
        """The value is this module of Python."""
        self.identify(guard.name, guard.value)

    def CLASS_MATCH(self, guard: Guard) -> None:
        """The value is this class."""
        self.identify(guard.name, guard.value)

    def NN_MODULE(self, guard: Guard) -> None:
        """The value is an `nn.Module` of this class, in the same mode, and calling it means what it
        meant: calling `forward`, unless it has hooks."""
        self.TYPE_MATCH(guard)
        if config.guard_nn_modules:
            training = guard.value.__dict__.get("training")
            hooks = has_hooks(guard.value)  # then calling it is left to Python
            if not hooks and training is not None:
                self.add(f"___check_nn_module({guard.name}, {training})")
                return
            self.scope["___has_hooks"] = has_hooks
            if training is not None:
                self.add(f"{guard.name}.__dict__['training'] is {training}")
            self.add(f"{'' if hooks else 'not '}___has_hooks({guard.name})")

    def CONSTANT_MATCH(self, guard: Guard) -> None:
        """The value is this constant, of this type."""
        self._equals(guard.name, guard.value)

    def CONSTANT_SUBCLASS_MATCH(self, guard: Guard) -> None:
        """The value, of a class that another guard asks for, is this number or text."""
        self.add(f"{guard.name} == {bare_value(guard.value)!r}")

    def EQUALS_MATCH(self, guard: Guard) -> None:
        """The value equals this one, and so do its parts, each of the same type."""
        self._equals(guard.name, guard.value)

    def _equals(self, name: str, value: Any) -> None:
        kind = type(value)
        if value is None or kind is bool or kind is type(Ellipsis):
            self.add(f"___check_obj_id({name}, {id(value)})")
            return
        self.add(f"___check_type_id({name}, {id(kind)})")
        if kind is float:
            self.add(f"___float_bits({name}) == {float_bits(value)!r}")
        elif kind is complex:
            self.add(f"___complex_bits({name}) == {complex_bits(value)!r}")
        elif one_of(kind, (int, str, bytes)):
            self.add(f"{name} == {value!r}")
        elif one_of(kind, (range, slice)):
            self.add(f"{name} == {value!r}")
            for part in ("start", "stop", "step"):
                self._equals(f"{name}.{part}", getattr(value, part))
        elif one_of(kind, (tuple, torch.Size)):
            self.add(f"len({name}) == {len(value)}")
            for index, item in enumerate(value):
                self._equals(f"{name}[{index}]", item)
        elif hasattr(kind, "tobytes"):  # a number of NumPy's
            self.add(f"{name}.tobytes() == {value.tobytes()!r}")
        else:
            self.add(f"{name} == {self.name_of(value, '___value_')}")

    # --- of containers

    def LIST_LENGTH(self, guard: Guard) -> None:
        """The value has this many items."""
        self.add(f"len({guard.name}) == {len(guard.value)}")

    def DICT_KEYS(self, guard: Guard) -> None:
        """The value has these keys, in this order, each of the same type.

        Compared one by one: keys are constants, and `1`, `1.0` and `True` are equal."""
        keys = list(guard.value)
        self.add(f"list({guard.name}) == {keys!r}")
        kinds = {type(key) for key in keys}
        if kinds - {str}:
            types_name = self.name_of([type(key) for key in keys], "___types_")
            self.add(f"[type(key) for key in {guard.name}] == {types_name}")

    def HASATTR(self, guard: Guard) -> None:
        """`guard.value` is (name, whether): its own dictionary has an entry of that name."""
        name, present = guard.value
        self.scope["___instance_dict"] = instance_dict
        self.add(f"{name!r} {'' if present else 'not '}in ___instance_dict({guard.name})")

    def EXPRESSION(self, guard: Guard) -> None:
        """The name of the guard is the condition itself."""
        self.add(guard.name)

    # --- of tensors

    def TENSOR_MATCH(self, guard: Guard) -> None:
        """Class, dtype, device, requires_grad, dispatch keys, dimensions, sizes and strides.

        A capture for sizes that are marked as dynamic also serves tensors without marks."""
        marks = guard.value.__dict__.get("_dynamo_dynamic_indices")
        asked = f"hasattr({guard.name}, '_dynamo_dynamic_indices')"
        if marks is None:
            self.add(f"{asked} == False")
        else:
            name = f"{guard.name}._dynamo_dynamic_indices"
            self.add(f"({name}.issubset({set(marks)!r}) if {asked} else True)")
        self.tensors.append(guard.value)
        self.tensor_names.append(guard.name)
        self.examples.append((guard, guard.value))

    def DUPLICATE_INPUT(self, guard: Guard) -> None:
        """`guard.value` is the expression of the same object."""
        self.add(f"{guard.name} is {guard.value}")

    def NO_ALIASING(self, guard: Guard) -> None:
        """`guard.value` are expressions of objects, no two of which are the same."""
        self.add(f"___no_aliasing({', '.join(guard.value)})")

    def SHAPE_ENV(self, guard: Guard) -> None:
        """The name of the guard is a condition about sizes."""
        self.scope.update(SYMPY_INTERP)
        self.add(guard.name)
        self.shapes.append(guard.name)

    # --- of the world

    def GLOBAL_STATE(self, guard: Guard) -> None:
        """Grad mode, autocast, deterministic algorithms, default dtype, threads."""
        self.scope["___check_global_state"] = self.state.guard.check
        self.add("___check_global_state()")
        self.add("___function_modes() == 0")

    def GRAD_MODE(self, guard: Guard) -> None:
        """Whether gradients are recorded; the global state has it."""

    def INFERENCE_MODE(self, guard: Guard) -> None:
        """Whether inference mode is active."""
        self.scope["___inference_mode"] = torch.is_inference_mode_enabled
        self.add(f"___inference_mode() == {self.state.inference}")

    def DETERMINISTIC_ALGORITHMS(self, guard: Guard) -> None:
        """Whether algorithms must be deterministic; the global state has it."""

    def PARTS_WILL_DO(self, guard: Guard) -> None:
        """The call need not be one graph: the graph is broken here."""
        self.scope["___parts_will_do"] = current_backend.parts_will_do
        self.add("___parts_will_do()")

    def CUDNN_ENABLED(self, guard: Guard) -> None:
        """`torch.backends.cudnn.enabled`."""
        self.scope["___cudnn_enabled"] = cudnn_enabled
        answer = "" if cudnn_enabled() else "not "
        self.add(f"{answer}___cudnn_enabled()")

    def NOTHING_HANDLED(self, guard: Guard) -> None:
        """No exception is being handled by whoever calls."""
        self.scope["___exc_info"] = sys.exc_info
        self.add("___exc_info()[0] is None")

    def AUTOCAST(self, guard: Guard) -> None:
        """What `torch.autocast` takes on the device `guard.value` where nothing is given. The
        global state has the dtype only while autocast is on."""
        self.scope["___autocast_defaults"] = autocast_defaults
        found = autocast_defaults(guard.value)
        self.add(f"___autocast_defaults({guard.value!r}) == {found!r}")

    def CLASS_ATTRIBUTES(self, guard: Guard) -> None:
        """`guard.value` is what was found in a class, and is still there."""
        found = guard.value
        name = f"___has_what_{class_name(found.cls)}_had_"
        name = name if name.isidentifier() else "___has_what_a_class_had_"
        self.add(f"{self.name_of(ClassCheck(found.cls, recheck_of(found)), name)}()")

    def ORIGINAL_FUNCTION(self, guard: Guard) -> None:
        """`guard.value` is the name of a function of a library, which is known and not interpreted,
        and the check that it is what it was."""
        name, check = guard.value
        name = name if name.isidentifier() else "a_function"
        self.add(f"{self.name_of(check, f'___{name}_is_what_it_was_')}()")

    def NOT_SUBCLASS(self, guard: Guard) -> None:
        """`guard.value` are a class and an abstract one, of which it counts as no subclass."""
        self.add(f"{self.name_of(NotSubclass(*guard.value), '___not_subclass_')}()")

    def MODULE_HOOKS(self, guard: Guard) -> None:
        """`guard.value` names torch's dictionaries of hooks for all modules; they are empty."""
        self.scope["___module_globals"] = vars(nn_module)
        for name in guard.value:
            self.add(f"len(___module_globals[{name!r}]) == 0")

    def DEFAULT_DEVICE(self, guard: Guard) -> None:
        """`torch.set_default_device`."""
        device = self.state.default_device
        text = "None" if device is None else self.name_of(device, "___device_")
        self.add(f"utils_device.CURRENT_DEVICE == {text}")

    def BACKEND_MATCH(self, guard: Guard) -> None:
        """The thread captures for the same backend, or runs what was captured for any."""
        self.scope["___skip_backend_check"] = current_backend.skip_backend_check
        self.scope["___current_backend"] = current_backend.current_backend
        key, self.scope["___lookup_backend"] = current_backend.numbered(guard.value)
        self.add(f"___skip_backend_check() or ___current_backend() == ___lookup_backend({key})")
