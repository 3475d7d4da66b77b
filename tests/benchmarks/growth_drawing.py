"""How sizes grow, drawn as SVG: three panels over one axis of contexts, a line for each class."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2
from typing import TYPE_CHECKING

import svg

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#000000")
"""Told apart also by those who do not see red or green; here in the order of the classes."""

WIDTH, HEIGHT = 220.0, 230.0
LEFT, TOP, BOTTOM, GAP, KEY = 64.0, 40.0, 60.0, 92.0, 210.0
GRID = "#d0d7de"


@dataclass(frozen=True, slots=True)
class Scale:
    """Where values stand on the vertical axis of a panel.

    Attributes:
        marks: the values that are written at the axis; the first is the lowest of the panel, the
            last the highest.
        place: increases with the value.
        apart: pixels between the lines of neighbouring classes where they are equal.
    """

    marks: tuple[int, ...]
    place: Callable[[float], float]
    apart: float

    def height(self, value: float) -> float:
        """Return how far above the axis a value stands, in pixels."""
        low, high = self.place(self.marks[0]), self.place(self.marks[-1])
        return HEIGHT * (self.place(value) - low) / (high - low)


@dataclass(frozen=True, slots=True)
class Panel:
    """One size of all classes.

    Attributes:
        title: the name of the size.
        scale: of its values.
        lines: `[class][context]`.
    """

    title: str
    scale: Scale
    lines: Mapping[str, Sequence[int]]


def linear(*marks: int) -> Scale:
    """Return a scale on which equal differences look equal."""
    return Scale(marks, float, 1.6)


def logarithmic(*marks: int) -> Scale:
    """Return a scale on which equal ratios look equal."""
    return Scale(marks, log2, 0)


def drawn(contexts: Sequence[int], panels: Sequence[Panel], title: str) -> str:
    """Return the picture of the panels, side by side, with a key to their lines."""
    elements: list[str] = []
    for number, panel in enumerate(panels):
        left = LEFT + number * (WIDTH + GAP)
        elements += _axes(left, panel, contexts)
        for place, values in enumerate(panel.lines.values()):
            elements += _line(left, panel.scale, contexts, values, place)
    right = LEFT + len(panels) * (WIDTH + GAP) - GAP + 24
    for place, name in enumerate(panels[0].lines):
        elements += _key(right, TOP + 16 + 26 * place, name, COLOURS[place])
    return svg.picture(title, right + KEY, TOP + HEIGHT + BOTTOM, elements)


def _across(contexts: Sequence[int], context: int) -> float:
    low, high = log2(contexts[0]), log2(contexts[-1])
    return 12 + (WIDTH - 24) * (log2(context) - low) / (high - low)


def _axes(left: float, panel: Panel, contexts: Sequence[int]) -> Iterator[str]:
    base = TOP + HEIGHT
    yield svg.element("text", panel.title, x=left, y=TOP - 16, font_weight="bold")
    for mark in panel.scale.marks:
        y = base - panel.scale.height(mark)
        yield svg.element("line", x1=left, y1=y, x2=left + WIDTH, y2=y, stroke=GRID)
        yield svg.element("text", f"{mark:,}", x=left - 8, y=y + 5, text_anchor="end")
    for context in contexts:
        x = left + _across(contexts, context)
        yield svg.element("text", str(context), x=x, y=base + 20, text_anchor="middle")
    middle = left + WIDTH / 2
    yield svg.element("text", "context", x=middle, y=base + 44, text_anchor="middle")


def _line(
    left: float, scale: Scale, contexts: Sequence[int], values: Sequence[int], place: int
) -> Iterator[str]:
    shift = scale.apart * (place - (len(COLOURS) - 1) / 2)
    points = [
        (left + _across(contexts, context), TOP + HEIGHT - scale.height(value) + shift)
        for context, value in zip(contexts, values, strict=True)
    ]
    path = " ".join(f"{svg.number(x)},{svg.number(y)}" for x, y in points)
    colour = COLOURS[place]
    yield svg.element("polyline", points=path, fill="none", stroke=colour, stroke_width=1.6)
    for x, y in points:
        yield svg.element("circle", cx=x, cy=y, r=3, fill=colour)


def _key(x: float, y: float, name: str, colour: str) -> Iterator[str]:
    yield svg.element("line", x1=x, y1=y, x2=x + 24, y2=y, stroke=colour, stroke_width=1.6)
    yield svg.element("circle", cx=x + 12, cy=y, r=3, fill=colour)
    yield svg.element("text", name, x=x + 32, y=y + 5)
