"""Begins a session in a program that a front end starts. `site` imports this before the program.

The front end put this directory first on PYTHONPATH and the session's configuration in one
variable. Both are gone again when the program begins: `os.environ`, `sys.path`, the importer cache
and `sys.modules["sitecustomize"]` are as they would be without us. A `sitecustomize` of the user's
own runs in our place, and its errors are reported by `site` as ever.
"""

import os
import sys


def _begin() -> None:
    text = os.environ.pop("STEPPER_SESSION", None)
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if entry != here]
    sys.path_importer_cache.pop(here, None)
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if here in entries:
        entries.remove(here)
        if any(entries):
            os.environ["PYTHONPATH"] = os.pathsep.join(entries)
        else:
            del os.environ["PYTHONPATH"]
    if text is None:
        return
    # The program may not be able to import us by itself, e.g. when it runs from elsewhere.
    home = os.path.dirname(os.path.dirname(os.path.dirname(here)))
    known = home in sys.path_importer_cache
    sys.path.insert(0, home)
    try:
        from stepper.debuggee.start import begin
        from stepper.model.launch import decode_config

        begin(decode_config(text))
    except Exception:
        _give_up(text)
    finally:
        sys.path.remove(home)
        if not known:
            sys.path_importer_cache.pop(home, None)


def _give_up(text: str) -> None:
    """The front end sees the channel close, and says that the session could not begin."""
    import json

    try:
        os.close(json.loads(text)["channel"])
    except (ValueError, TypeError, KeyError, OSError):
        return


_begin()
del sys.modules["sitecustomize"]
# The user's own, if there is one. If not, the ImportError is what `site` expects of a missing
# `sitecustomize`; either way nothing of this module stays behind.
import sitecustomize  # type: ignore[import-not-found]  # noqa: E402, F401
