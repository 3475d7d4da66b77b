"""What each kind of language claims, worked out literally on a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from handcraft.patterns.classes import (
    Case,
    Counting,
    General,
    Guarded,
    Kind,
    Position,
    Reset,
    Suffix,
    SuffixAtPosition,
)
from handcraft.patterns.machine import Inside

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handcraft.patterns.machine import Answer, Machine


def claimed(kind: Kind, letters: Sequence[int]) -> Answer | None:
    """Return the answer that a kind gives after a text in scope."""
    match kind:
        case Suffix(_, cases):
            return _of_cases(cases, letters)
        case Position(preperiod, period, answers):
            return answers[_folded(len(letters), preperiod, period)]
        case SuffixAtPosition(_, preperiod, period, cases_by_size):
            return _of_cases(cases_by_size[_folded(len(letters), preperiod, period)], letters)
        case Reset(resets, answers):
            return answers[_since_reset(resets, letters)[0]]
        case Counting(resets, counters, counts):
            value, since = _since_reset(resets, letters)
            totals = tuple(
                counter.folded(sum(counter.weights[letter] for letter in since))
                for counter in counters
            )
            return next(c.answer for c in counts if (c.value, c.totals) == (value, totals))
        case Guarded(inside, exits):
            for size in range(len(letters) + 1):
                answer = claimed(inside, letters[:size])
                assert isinstance(answer, Inside)
                if size == len(letters):
                    return answer.answer
                if (outside := answer.exits[letters[size]]) is not None:
                    assert outside in exits
                    return outside
            raise AssertionError("unreachable: the last size returns")
        case General(maps, answers, monoid):
            state = 0
            for letter in letters:
                state = maps[letter][state]
            if monoid is not None:
                element = 0
                for letter in letters:
                    element = monoid.products[element][monoid.generators[letter]]
                assert monoid.elements[element][0] == state
            return answers[state]
        case _:
            assert_never(kind)


def followed(machine: Machine, letters: Sequence[int]) -> Answer | None:
    """Return the machine's own answer, or None where the text leaves the scope."""
    state: int | None = 0
    for letter in letters:
        assert state is not None
        state = machine.rows[state][letter]
        if state is None:
            return None
    assert state is not None
    return machine.answers[state]


def _of_cases(cases: Sequence[Case], letters: Sequence[int]) -> Answer:
    true = [
        case
        for case in cases
        if tuple(letters[len(letters) - len(case.letters) :]) == case.letters
        and len(case.letters) <= len(letters)
        and not (case.is_whole and len(case.letters) < len(letters))
    ]
    assert len(true) == 1, (letters, true)
    return true[0].answer


def _since_reset(resets: Sequence[int | None], letters: Sequence[int]) -> tuple[int, Sequence[int]]:
    for place in reversed(range(len(letters))):
        value = resets[letters[place]]
        if value is not None:
            return value, letters[place + 1 :]
    return 0, letters


def _folded(number: int, preperiod: int, period: int) -> int:
    return number if number < preperiod else preperiod + (number - preperiod) % period
