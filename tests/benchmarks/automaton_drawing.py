"""Automata drawn as SVG: states in columns by the length of the shortest text that leads there.

Hence an arrow goes to the next column, stays in its column, or goes back. An arrow bends to the
left of its direction, so that arrows there and back stand apart: forwards above, backwards below.
Dead states are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb, hypot
from typing import TYPE_CHECKING

import svg

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from handcraft.patterns.automaton import Automaton
    from handcraft.runtime.vocabulary import Token

RADIUS = 20.0
ROW = 110.0
NARROWEST = 120.0
"""Width of a column; wider where a label needs more."""

MARGIN = 12.0
LETTER = 8.0
"""Width of a letter of a label, and half its height."""

BEND = 56.0
"""How far an arrow is pulled aside for each column that it goes back."""

TIP = 9.0
"""Length of an arrowhead."""

SHORTEST_RUN = 3
"""Symbols one after another that are written as a range."""


@dataclass(frozen=True, slots=True)
class Point:
    """A place, in pixels to the right and down."""

    x: float
    y: float

    def towards(self, other: Point, distance: float) -> Point:
        """Return the place at a distance from here on the way to another place."""
        length = hypot(other.x - self.x, other.y - self.y)
        share = distance / length
        return Point(self.x + share * (other.x - self.x), self.y + share * (other.y - self.y))


@dataclass(frozen=True, slots=True)
class Arrow:
    """An arrow, as a curve with four control points, and its label.

    Attributes:
        curve: from the edge of one circle to that of another.
        label: the symbols, joined.
        middle: of the label.
    """

    curve: tuple[Point, Point, Point, Point]
    label: str
    middle: Point

    def at(self, share: float) -> Point:
        """Return the place of the curve at a share of its way."""
        weights = [(1 - share) ** (3 - i) * share**i * comb(3, i) for i in range(4)]
        return Point(
            sum(w * point.x for w, point in zip(weights, self.curve, strict=True)),
            sum(w * point.y for w, point in zip(weights, self.curve, strict=True)),
        )


@dataclass(frozen=True, slots=True)
class Drawing:
    """Where everything is, the start at the origin.

    Attributes:
        places: of the live states, by number.
        arrows: that at the start, and one for each pair of states.
    """

    places: dict[int, Point]
    arrows: tuple[Arrow, ...]


def drawn(automaton: Automaton, title: str) -> str:
    """Return the picture of an automaton's live states."""
    drawing = laid_out(automaton)
    points = [arrow.at(part / 8) for arrow in drawing.arrows for part in range(9)]
    for centre, width, height in boxes(drawing):
        points.append(Point(centre.x - width, centre.y - height))
        points.append(Point(centre.x + width, centre.y + height))
    left, top = (min(ways) - MARGIN for ways in _ways(points))
    right, bottom = (max(ways) + MARGIN for ways in _ways(points))
    shift = f"translate({svg.number(-left)} {svg.number(-top)})"
    elements = [f'<g transform="{shift}">', *_elements(drawing, automaton), "</g>"]
    return svg.picture(title, right - left, bottom - top, elements)


def laid_out(automaton: Automaton) -> Drawing:
    """Return where the live states of an automaton and the arrows between them are."""
    columns = _columns(automaton)
    labels = {
        (state, target): label(automaton, state, target)
        for states in columns
        for state in states
        for target in automaton.transitions[state]
        if target in automaton.live
    }
    widest = max((half_width(text) for text in labels.values()), default=0)
    width = max(NARROWEST, 2 * widest + 2 * RADIUS + 3 * TIP)
    places = {
        state: Point(column * width, (row - (len(states) - 1) / 2) * ROW)
        for column, states in enumerate(columns)
        for row, state in enumerate(states)
    }
    arrows = tuple(
        _loop(places[state], text)
        if state == target
        else _arrow(places, text, (state, target), width, alone=(target, state) not in labels)
        for (state, target), text in labels.items()
    )
    return Drawing(places, (_straight(Point(-RADIUS - 34, 0), Point(-RADIUS - 2, 0)), *arrows))


def boxes(drawing: Drawing) -> tuple[tuple[Point, float, float], ...]:
    """Return the centre of every state and label, with half its width and height."""
    states = ((place, RADIUS, RADIUS) for place in drawing.places.values())
    labels = ((a.middle, half_width(a.label), LETTER) for a in drawing.arrows if a.label)
    return (*states, *labels)


def label(automaton: Automaton, state: int, target: int) -> str:
    """Return the symbols that lead from a state to another one, long runs of them as ranges."""
    symbols = [place for place, to in enumerate(automaton.transitions[state]) if to == target]
    return ", ".join(
        _shown(automaton.symbols, first, last) for first, last in _runs(automaton.symbols, symbols)
    )


def half_width(text: str) -> float:
    """Return half of a label's width."""
    return LETTER * len(text) / 2


def _columns(automaton: Automaton) -> list[list[int]]:
    columns = [[automaton.start]]
    seen = {automaton.start}
    while True:
        found = dict.fromkeys(
            target
            for state in columns[-1]
            for target in automaton.transitions[state]
            if target in automaton.live and target not in seen
        )
        if not found:
            return columns
        seen.update(found)
        columns.append(list(found))


def _runs(symbols: Sequence[Token], chosen: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and last of runs of neighbours, and every symbol of a short run alone."""
    start = 0
    for end in range(1, len(chosen) + 1):
        if end < len(chosen) and _are_neighbours(symbols[chosen[end - 1]], symbols[chosen[end]]):
            continue
        if end - start >= SHORTEST_RUN:
            yield chosen[start], chosen[end - 1]
        else:
            yield from ((place, place) for place in chosen[start:end])
        start = end


def _are_neighbours(first: Token, second: Token) -> bool:
    if isinstance(first, int) and isinstance(second, int):
        return second == first + 1
    letters = str(first), str(second)
    return all(len(text) == 1 and text.isalnum() for text in letters) and (
        ord(letters[1]) == ord(letters[0]) + 1
    )


def _shown(symbols: Sequence[Token], first: int, last: int) -> str:
    return str(symbols[first]) if first == last else f"{symbols[first]}-{symbols[last]}"


def _loop(at: Point, text: str) -> Arrow:
    """Return an arrow from a state to itself: above it, or below in the lower half."""
    side = 1 if at.y > 0 else -1
    edge, far = at.y + side * (RADIUS - 2), at.y + side * (RADIUS + 42)
    curve = (
        Point(at.x - 10, edge),
        Point(at.x - 26, far),
        Point(at.x + 26, far),
        Point(at.x + 10, edge + 2 * side),
    )
    return Arrow(curve, text, Point(at.x, at.y + side * (RADIUS + 44)))


def _arrow(
    places: dict[int, Point], text: str, ends: tuple[int, int], width: float, *, alone: bool
) -> Arrow:
    """Return an arrow between two states, straight if it is alone and not long."""
    start, end = (places[state] for state in ends)
    span = round(abs(end.x - start.x) / width)
    length = hypot(end.x - start.x, end.y - start.y)
    left = Point((end.y - start.y) / length, -(end.x - start.x) / length)
    if alone and span < 2:
        straight = _straight(start.towards(end, RADIUS), end.towards(start, RADIUS + 2), text)
        out = LETTER + 4 + (half_width(text) - LETTER / 2) * abs(left.x)
        middle = straight.middle
        return replace(straight, middle=Point(middle.x + out * left.x, middle.y + out * left.y))
    bend = BEND * max(span, 1)
    pulled = Point((start.x + end.x) / 2 + bend * left.x, (start.y + end.y) / 2 + bend * left.y)
    tail, head = start.towards(pulled, RADIUS), end.towards(pulled, RADIUS + 2)
    arrow = Arrow((tail, _between(tail, pulled), _between(head, pulled), head), text, pulled)
    return replace(arrow, middle=arrow.at(0.5))


def _straight(start: Point, end: Point, text: str = "") -> Arrow:
    curve = (start, _between(start, end), _between(end, start), end)
    return Arrow(curve, text, Point((start.x + end.x) / 2, (start.y + end.y) / 2))


def _between(end: Point, pulled: Point) -> Point:
    """Return the control point at two thirds of the way: so the curve is a parabola."""
    return Point(end.x + (pulled.x - end.x) * 2 / 3, end.y + (pulled.y - end.y) * 2 / 3)


def _ways(points: Sequence[Point]) -> tuple[list[float], list[float]]:
    return [point.x for point in points], [point.y for point in points]


def _elements(drawing: Drawing, automaton: Automaton) -> Iterator[str]:
    line: dict[str, str | float] = {"fill": "none", "stroke": svg.INK, "stroke_width": 1.4}
    for arrow in drawing.arrows:
        yield from _written(arrow, line)
    for state, at in drawing.places.items():
        yield svg.element("circle", cx=at.x, cy=at.y, r=RADIUS, **line)
        if state in automaton.accepting:
            yield svg.element("circle", cx=at.x, cy=at.y, r=RADIUS - 4, **line)
        yield svg.element("text", str(state), x=at.x, y=at.y + 5, text_anchor="middle")
    for arrow in drawing.arrows:
        yield from _label(arrow)


def _written(arrow: Arrow, line: dict[str, str | float]) -> Iterator[str]:
    """Yield the line of an arrow and its head."""
    tail, first, second, head = arrow.curve
    back = head.towards(second, TIP)
    aside = Point((head.y - back.y) * 0.4, (back.x - head.x) * 0.4)
    corners = (
        head,
        Point(back.x + aside.x, back.y + aside.y),
        Point(back.x - aside.x, back.y - aside.y),
    )
    curve = ", ".join(map(_pair, (first, second, back)))
    yield svg.element("path", d=f"M{_pair(tail)} C{curve}", **line)
    yield svg.element("polygon", points=" ".join(map(_pair, corners)))


def _label(arrow: Arrow) -> Iterator[str]:
    if not arrow.label:
        return
    at, half = arrow.middle, half_width(arrow.label)
    corner = {"x": at.x - half - 1, "y": at.y - LETTER}
    yield svg.element("rect", **corner, width=2 * half + 2, height=2 * LETTER, fill=svg.PAPER)
    yield svg.element("text", arrow.label, x=at.x, y=at.y + 5, text_anchor="middle")


def _pair(point: Point) -> str:
    return f"{svg.number(point.x)} {svg.number(point.y)}"
