"""The last symbols decide by a mean: one head that weighs them, and no neurons.

Each letter has a weight, and so has the first position, which tells short texts from longer ones.
The mean over the last symbols must have the values of each answer side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby, pairwise, product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from handcraft.compiler.patterns.writing import Writer
    from handcraft.patterns.classes import Suffix
    from handcraft.patterns.machine import Answer, Machine

MOST_LETTERS = 3
LONGEST = 4
"""Letters and symbols of a suffix that are tried."""

WEIGHTS = tuple(map(Fraction, (0, 1, 2)))
FIRST = tuple(Fraction(n, 2) for n in (0, -1, 1, -2, 2, -3, 3))
"""Weights of letters, and of the first position."""


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean that decides.

    Attributes:
        length: over how many symbols at most.
        letters: `[letter]`, its weight; the start token has the one after them.
        first: what the first symbol weighs in addition.
        answers: the answer for each value of the mean.
    """

    length: int
    letters: tuple[Fraction, ...]
    first: Fraction
    answers: Mapping[Fraction, Answer]


def mean_of(machine: Machine, kind: Suffix, front: int, room: int) -> Mean | None:
    """Return a mean that decides what the last symbols decide, if a small one does.

    Args:
        machine: the machine.
        kind: how many symbols decide.
        front: positions before the first symbol.
        room: the most symbols that a text has.
    """
    if not 2 <= kind.length <= LONGEST or machine.letter_count > MOST_LETTERS:
        return None
    texts = list(_texts(machine, kind.length, room))
    if len({answer for _, _, answer in texts}) < 2:
        return None
    found: Mean | None = None
    widest = Fraction(0)
    for letters in product(WEIGHTS, repeat=machine.letter_count + front):
        for first in (Fraction(0),) if front else FIRST:
            answers = _answers(texts, kind.length, letters, first, front)
            gap = Fraction(0) if answers is None else _gap(answers)
            if answers is not None and gap > widest:
                found, widest = Mean(kind.length, letters, first, answers), gap
    return found


def by_mean(writer: Writer, mean: Mean) -> int:
    """Return the codes of answers that a mean decides."""
    weights = dict(enumerate(mean.letters[: writer.machine.letter_count]))
    weight = writer.letters(
        {k: _whole(v) for k, v in weights.items()}, _whole(mean.letters[-1]) if writer.front else 0
    )
    if mean.first:
        indices = writer.indices()
        first = writer.lookup(
            indices, {i: _whole(mean.first) if i == 0 else 0 for i in _positions(writer)}
        )
        weight = writer.apply("+", weight, first)
    back = writer.apply("-", writer.indices(), writer.constant(mean.length - 1))
    with writer.step(f"the mean weight of the last {mean.length}"):
        averaged = writer.gathered(writer.compare(">=", writer.indices(), back), weight, 0)
    return writer.lookup(
        averaged, {_whole(value): writer.code(answer) for value, answer in mean.answers.items()}
    )


def _positions(writer: Writer) -> range:
    return range(writer.builder.header.context)


def _texts(
    machine: Machine, length: int, room: int
) -> Iterator[tuple[tuple[int, ...], bool, Answer]]:
    """Yield the last letters of texts in scope, whether the first stands first, and the answer.

    It does where the letters are the whole text, and where they fill the window.
    """
    states = range(len(machine))
    for size in range(min(length, room) + 1):
        for letters in product(range(machine.letter_count), repeat=size):
            whole = _led(machine, 0, letters)
            if whole is not None:
                yield letters, True, machine.answers[whole]
            if size == length:
                leads = {_led(machine, state, letters) for state in states} - {None}
                for state in leads:
                    assert state is not None
                    yield letters, size == room, machine.answers[state]


def _led(machine: Machine, state: int | None, letters: Sequence[int]) -> int | None:
    for letter in letters:
        state = None if state is None else machine.rows[state][letter]
    return state


def _answers(
    texts: Sequence[tuple[tuple[int, ...], bool, Answer]],
    length: int,
    letters: Sequence[Fraction],
    first: Fraction,
    front: int,
) -> dict[Fraction, Answer] | None:
    """Return the answer for each value of a mean, or None where one value has several.

    A start token is the first key of every text that is shorter than the window.
    """
    found: dict[Fraction, Answer] = {}
    for text, is_first, answer in texts:
        weights = [letters[letter] for letter in text]
        if front and is_first and len(text) < length:
            weights.insert(0, letters[-1])
        if not weights:
            continue
        total = sum(weights, Fraction(0)) + (first if is_first and not front else 0)
        if found.setdefault(total / len(weights), answer) != answer:
            return None
    runs = [answer for answer, _ in groupby(found[value] for value in sorted(found))]
    return found if len(runs) == len(set(runs)) else None


def _gap(answers: Mapping[Fraction, Answer]) -> Fraction:
    """Return the least distance of two values with different answers, in parts of all values."""
    values = sorted(answers)
    gaps = [b - a for a, b in pairwise(values) if answers[a] != answers[b]]
    return min(gaps, default=Fraction(0)) / (values[-1] - values[0] or 1)


def _whole(number: Fraction) -> int | Fraction:
    return int(number) if number.denominator == 1 else number
