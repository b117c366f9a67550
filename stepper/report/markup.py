"""HTML that escapes what it is given.

An element's children are texts, which are escaped, or HTML, which is not: and HTML comes from here
only. So does every value of an attribute.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

VOID = frozenset({"meta", "path", "rect", "circle", "br"})
"""Elements without an end tag, or that have no content here."""

Attribute = str | int | float | bool | None


class Html(str):
    """A piece of a page."""

    __slots__ = ()


def escaped(text: str) -> Html:
    """A text as HTML."""
    return text if isinstance(text, Html) else Html(escape(text, quote=True))


def joined(pieces: Iterable[str], between: str = "") -> Html:
    """Pieces behind each other."""
    return Html(escaped(between).join(map(escaped, pieces)))


def element(tag: str, /, *children: str, **attributes: Attribute) -> Html:
    """An element.

    Args:
        tag: its name.
        children: texts and elements.
        attributes: by name, `_` for `-` and behind names that Python has taken (`class_`); True: it
            stands without a value; False and None: it is left out.
    """
    parts = [f"<{tag}"]
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        spelled = name.rstrip("_").replace("_", "-")
        parts.append(f" {spelled}" if value is True else f' {spelled}="{escape(str(value))}"')
    if tag in VOID:
        parts.append("/>" if tag in ("path", "rect", "circle") else ">")
        return Html("".join(parts))
    parts.append(">")
    parts.extend(map(escaped, children))
    parts.append(f"</{tag}>")
    return Html("".join(parts))
