"""Begins a session in a program that a front end starts. `site` imports this before the program.

The front end put this directory first on PYTHONPATH and the session's configuration in one
variable. Both are gone again when the program begins: `os.environ`, `sys.path`, the importer cache
and `sys.modules["sitecustomize"]` are as they would be without us. A process that the program
starts comes here in the same way, when children are recorded, with another variable. A
`sitecustomize` of the user's own runs in our place, and its errors are reported by `site` as ever.
"""

import _imp
import os
import sys

_PYTHONS = ((3, 11), (3, 14))
"""As in `stepper.support.needed`, which may not be found from here."""


def _begin() -> None:
    text = os.environ.pop("STEPPER_SESSION", None)
    inherited = os.environ.pop("STEPPER_CHILD", None)
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if entry != here]
    sys.path_importer_cache.pop(here, None)
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if here in entries:
        entries = [entry for entry in entries if entry != here]
        if any(entries):
            os.environ["PYTHONPATH"] = os.pathsep.join(entries)
        else:
            del os.environ["PYTHONPATH"]
    if text is None and inherited is None:
        return
    path = list(sys.path)
    # The program may not be able to import us by itself, e.g. when it runs from elsewhere.
    home = os.path.dirname(os.path.dirname(os.path.dirname(here)))
    known = home in sys.path_importer_cache
    try:
        if _built_for_this_python(home):
            sys.path.insert(0, home)
            import stepper

            stepper.need_c_part()
            # What we need is the program's own if it has it: its versions are not ours to choose.
            sys.path[:] = [*path, home]
        else:
            _see_that_it_has_its_own(text or (inherited or "").split("\n", 2)[1])
        if text is None:
            from stepper.debuggee.children import begin_child

            begin_child(inherited or "", home)
        else:
            from stepper.debuggee.start import begin
            from stepper.model.launch import decode_config

            begin(decode_config(text))
    except Exception as error:
        if text is not None:
            _refuse(text, _reason(error))
        _forget()
    finally:
        sys.path[:] = path
        if not known:
            sys.path_importer_cache.pop(home, None)


def _built_for_this_python(home: str) -> bool:
    c_part = os.path.join(home, "stepper", "_C")
    return any(os.path.exists(c_part + suffix) for suffix in _imp.extension_suffixes())


def _see_that_it_has_its_own(text: str) -> None:
    """The front end's stepper is built for another Python: one that is installed here will do, if
    the two understand each other."""
    import json
    import shlex

    wanted = json.loads(text)["stepper"]
    try:
        from stepper import __version__ as found
        from stepper import need_c_part

        need_c_part()
    except ImportError:
        found = ""
    if found != wanted:
        own = f"stepper {found} is installed there" if found else "there is none there"
        version = ".".join(map(str, sys.version_info[:2]))
        if "t" in sys.abiflags:
            raise _UnlikeError(f"{sys.executable} is free-threaded, and stepper relies on the GIL")
        if not _PYTHONS[0] <= sys.version_info[:2] <= _PYTHONS[1]:
            oldest, newest = (".".join(map(str, each)) for each in _PYTHONS)
            raise _UnlikeError(
                f"{sys.executable} is Python {version}; stepper watches programs of Python "
                f"{oldest} to {newest}"
            )
        raise _UnlikeError(
            f"{sys.executable} is Python {version}, for which the debugger's own stepper {wanted} "
            f"is not built, and {own}. Install it: "
            f"{shlex.quote(sys.executable)} -m pip install torch-stepper=={wanted}"
        )


class _UnlikeError(Exception):
    pass


def _reason(error: Exception) -> str:
    """Why there is no session, and what to do."""
    if isinstance(error, _UnlikeError):
        return str(error)
    from stepper.support.needed import explain_import

    return explain_import(error) or f"{type(error).__name__}: {error}"


def _forget() -> None:
    """The program sees nothing of a debugger that does not watch it."""
    for name in list(sys.modules):
        if name.partition(".")[0] == "stepper":
            del sys.modules[name]
    # Our import waits for Dynamo's, and would look for what is not there any more.
    sys.meta_path[:] = [
        finder
        for finder in sys.meta_path
        if str(getattr(finder, "__module__", "")).partition(".")[0] != "stepper"
    ]


def _refuse(text: str, reason: str) -> None:
    """Tell the front end: a `Refused` of `stepper.model.control`, whose encoder may be just what is
    missing, so its bytes stand here."""
    import json

    words = reason.encode(errors="replace")
    body = b"\x82\xa4type\xa7refused\xa4text\xdb" + len(words).to_bytes(4, "big") + words
    try:
        channel = json.loads(text)["channel"]
        os.write(channel, len(body).to_bytes(4, "big") + body)
        os.close(channel)
    except (ValueError, TypeError, KeyError, OSError):
        return


_begin()
del sys.modules["sitecustomize"]
# The user's own, if there is one. If not, the ImportError is what `site` expects of a missing
# `sitecustomize`; either way nothing of this module stays behind.
import sitecustomize  # type: ignore[import-not-found]  # noqa: E402, F401  # the program's own, if it has one
