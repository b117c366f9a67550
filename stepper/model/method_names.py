"""What a method of a module is called: by the module's place in the model, its class, and the
function.

Libraries wrap the methods of their modules, so the qualified name of what is compiled can be
`can_return_tuple.<locals>.wrapper`, once for every model there is. Whose method it is, is known
from its `self`.
"""

from __future__ import annotations

from typing import NamedTuple

from stepper.model.module_path import is_module, module_path
from stepper.model.resume_names import RESUME_NAME, resumed, resumed_name

LOCALS = ".<locals>"
"""What a qualified name has behind a function that it is within."""


class Owner(NamedTuple):
    """A module whose method is run; or a function of the program's, where what is compiled hands on
    to it: one of the compiler's own, or a decorator's."""

    path: str
    """Its place in the model, `decoder.block[7]`; empty: it is the model."""
    type: str
    """The name of its class, or of the function."""


class Entered(NamedTuple):
    """A frame that runs a method of a module."""

    owner: Owner
    from_outside: bool
    """Whether it is a module's, and none of the module's methods is around it."""


def owner_of(source: str, type_name: str, *, module: bool) -> Owner | None:
    """The owner that a method's `self` is, by the compiler's expression for it and its class; None:
    that is no module, as far as the expression and `module` say."""
    return Owner(module_path(source), type_name) if module or is_module(source) else None


def wrapped_function(wraps: str) -> Owner | None:
    """The owner that a function is which is wrapped, by its qualified name; None: it has none."""
    return Owner("", local_name(wraps)) if wraps else None


def local_name(qualname: str) -> str:
    """A qualified name without the functions around it: `wrap.<locals>.inner` is `inner`,
    `wrap.<locals>.<listcomp>` is `<listcomp> of wrap`; the rest of a function that was broken is
    `f, resumed at 12`.
    """
    around, _, text = qualname.rpartition(f"{LOCALS}.")
    if text.startswith("<") and around:
        text = f"{text} of {around.rpartition('.')[2]}"
    return resumed_name(text)


def walk_label(name: str, resume_of: str, owner: Owner | None) -> str:
    """What a walk's function is called: `GPT2LMHeadModel, wrapper of can_return_tuple`, and behind
    it `, resumed at 12` where it is the rest of one.

    Args:
        name: its qualified name.
        resume_of: that of the function that it continues; empty: it continues none.
        owner: whose method it is.
    """
    rest = resumed(name)
    behind = "" if rest is None else f", resumed at {rest.line}"
    if resume_of and (rest is None or LOCALS in resume_of):
        name, behind = resume_of, behind or ", resumed"
    elif rest is not None:
        name = RESUME_NAME.sub(rest.function, name)
    return (method_name(name, owner) if LOCALS in name else name) + behind


def walk_names(name: str, resume_of: str, owner: Owner | None) -> tuple[str, ...]:
    """All that a walk's function goes by: the names that are shown, and its own."""
    shown = walk_label(name, resume_of, owner)
    names = [name, name.rpartition(".")[2], shown, shown.rpartition(".")[2]]
    if owner is not None:
        path, type = owner
        names += [path, type, f"{path} {type}"]
    return tuple(filter(None, dict.fromkeys(names)))


def method_name(qualname: str, owner: Owner | None) -> str:
    """What a function is called that runs a method of a module: `decoder.block[7] T5Block.forward`,
    `GPT2LMHeadModel, wrapper of can_return_tuple`; its qualified name where it runs none."""
    around, local, _ = qualname.partition(LOCALS)
    if owner is None:
        return qualname
    function = local_name(qualname)
    if local and "." not in function:
        function = f"{owner.type}, {function} of {around}"
    elif not owner.path:
        return qualname  # says the class itself
    return f"{owner.path} {function}".lstrip()
