"""Curves with a logarithm on each axis, as an SVG that is read on a light and on a dark page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from math import ceil, floor, log10
from typing import NamedTuple

_WIDTH, _HEIGHT = 860, 460
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 360, 20, 50
_GREY = "#808080"
_COLOURS = ("#4477aa", "#ee6677", "#228833", "#aa8800", "#66ccee", "#aa3377", "#bbbbbb")
_DASHES = ("", "6 3")


class Curve(NamedTuple):
    """One line, with its name."""

    name: str
    points: Sequence[tuple[float, float]]


def plot(curves: Sequence[Curve], across: str) -> str:
    """The picture. All numbers are above 0.

    Args:
        curves: what is drawn, with at least a point each.
        across: what the horizontal axis counts.
    """
    size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">'
    return "\n".join([head, *_drawn(curves, across), "</svg>", ""])


def _drawn(curves: Sequence[Curve], across: str) -> Iterator[str]:
    xs = [log10(x) for curve in curves for x, _ in curve.points]
    ys = [log10(y) for curve in curves for _, y in curve.points]
    left, right, low, high = floor(min(xs)), ceil(max(xs)), floor(min(ys)), ceil(max(ys))
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def at(x: float, y: float) -> tuple[float, float]:
        return (
            _LEFT + (x - left) / max(right - left, 1) * width,
            _TOP + (high - y) / max(high - low, 1) * height,
        )

    for power in range(left, right + 1):
        x, bottom = at(power, low)
        yield _line(x, _TOP, x, bottom)
        yield _text(x, bottom + 18, f"{10**power:,}", "middle")
    for power in range(low, high + 1):
        x, y = at(left, power)
        yield _line(x, y, _LEFT + width, y)
        yield _text(x - 8, y + 4, f"{10**power:,}" if power >= 0 else f"{10.0**power:g}", "end")
    yield _text(_LEFT + width / 2, _HEIGHT - 8, across, "middle")
    # Names beside the ends, from the top down in the order in which the curves end.
    ends = sorted(curves, key=lambda curve: -curve.points[-1][1])
    for place, curve in enumerate(ends):
        colour = _COLOURS[place % len(_COLOURS)]
        dash = _DASHES[place // len(_COLOURS) % len(_DASHES)]
        points = [at(log10(x), log10(y)) for x, y in curve.points]
        drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        style = f'fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"'
        yield f'<polyline points="{drawn}" {style}/>'
        y = _TOP + 12 + place * 24
        key = f"{_LEFT + width + 16},{y - 4} {_LEFT + width + 40},{y - 4}"
        yield f'<polyline points="{key}" {style}/>'
        yield _text(_LEFT + width + 46, y, curve.name.replace("`", ""), "start")


def _line(x: float, y: float, to_x: float, to_y: float) -> str:
    return f'<path d="M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}" stroke="{_GREY}" opacity="0.3"/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="11" fill="{_GREY}"'
    return f"<text {place}>{escape(text)}</text>"
