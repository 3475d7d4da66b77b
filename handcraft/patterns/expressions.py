"""Regular expressions as an algebra: normal forms, each kept once, and their derivatives.

The derivative of an expression by a letter is the expression of what may follow that letter
(Brzozowski 1964). Modulo associativity, commutativity and idempotence of `|` an expression has
finitely many derivatives, which makes them the states of an automaton. The laws that are applied
here go further, to have few of them: `|` is distributed over what follows it, sets of letters are
joined, and what is known to hold no text, or every text, disappears.

An expression is the number under which `Expressions` keeps it, so that equal ones are one number.
A letter is a number too: symbols that a pattern cannot tell apart are one letter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, assert_never

if TYPE_CHECKING:
    from collections.abc import Iterable

Expression: TypeAlias = int

NONE: Expression = 0
"""No text at all."""

EMPTY: Expression = 1
"""The empty text alone."""

ALL: Expression = 2
"""Every text."""

MOST_WORK = 150_000
"""Parts of expressions that may be looked at while one automaton is built."""


@dataclass(frozen=True, slots=True)
class Letters:
    """One letter of a set, given as the sum of `2**letter`."""

    mask: int


@dataclass(frozen=True, slots=True)
class Empty:
    """The empty text."""


@dataclass(frozen=True, slots=True)
class Then:
    """A text of `first`, then one of `rest`; `first` is no `Then` itself."""

    first: Expression
    rest: Expression


@dataclass(frozen=True, slots=True)
class Either:
    """A text of any of the parts."""

    parts: frozenset[Expression]


@dataclass(frozen=True, slots=True)
class Both:
    """A text of all of the parts."""

    parts: frozenset[Expression]


@dataclass(frozen=True, slots=True)
class Not:
    """Any text but those of the part."""

    part: Expression


@dataclass(frozen=True, slots=True)
class Repeat:
    """From `least` to `most` texts of the part; `most` is None without end."""

    part: Expression
    least: int
    most: int | None


Form: TypeAlias = Letters | Empty | Then | Either | Both | Not | Repeat


class WorkLimitError(Exception):
    """The expressions grew beyond `MOST_WORK`."""


class Expressions:
    """The expressions over `letters` letters that are met while one automaton is built."""

    def __init__(self, letters: int) -> None:
        self._forms: list[Form] = [Letters(0), Empty(), Not(NONE)]
        self._holds_empty = [False, True, True]
        self._numbers = {form: number for number, form in enumerate(self._forms)}
        self._derivatives: dict[tuple[Expression, int], Expression] = {}
        self._work = 0
        self._any_letter = self.one_of((1 << letters) - 1)

    def holds_empty(self, expression: Expression) -> bool:
        """Return whether the empty text is one of the expression's."""
        return self._holds_empty[expression]

    def one_of(self, mask: int) -> Expression:
        """Return the expression of one letter out of a set."""
        return self._kept(Letters(mask), holds_empty=False)

    def then(self, first: Expression, rest: Expression) -> Expression:
        """Return the expression of a text of `first` and then one of `rest`."""
        if NONE in (first, rest):
            return NONE
        if first == EMPTY or (first == ALL == rest):
            return rest
        if rest == EMPTY:
            return first
        match self._forms[first]:
            case Either(parts):
                return self.either(self.then(part, rest) for part in parts)
            case Then():
                for part in reversed(self._in_a_row(first)):
                    rest = self.then(part, rest)
                return rest
            case _:
                holds_empty = self._holds_empty[first] and self._holds_empty[rest]
                return self._kept(Then(first, rest), holds_empty)

    def either(self, parts: Iterable[Expression]) -> Expression:
        """Return the expression of the texts of any of the parts."""
        mask = 0
        others: set[Expression] = set()
        for part in self._flat(parts, Either):
            match self._forms[part]:
                case Letters(more):
                    mask |= more
                case _:
                    others.add(part)
        if ALL in others:
            return ALL
        if mask:
            others.add(self.one_of(mask))
        if EMPTY in others and any(self._holds_empty[part] for part in others - {EMPTY}):
            others.discard(EMPTY)
        if len(others) < 2:
            return next(iter(others), NONE)
        if any(self.complement(part) in others for part in others if self._is_not(part)):
            return ALL
        holds_empty = any(self._holds_empty[part] for part in others)
        return self._kept(Either(frozenset(others)), holds_empty)

    def both(self, parts: Iterable[Expression]) -> Expression:
        """Return the expression of the texts that all the parts have."""
        mask = -1
        others: set[Expression] = set()
        for part in self._flat(parts, Both):
            match self._forms[part]:
                case Letters(less):
                    mask &= less
                case _:
                    others.add(part)
        if mask != -1:
            others.add(self.one_of(mask))
        others.discard(ALL)
        if NONE in others:
            return NONE
        if EMPTY in others:
            return EMPTY if all(self._holds_empty[part] for part in others) else NONE
        if len(others) < 2:
            return next(iter(others), ALL)
        if any(self.complement(part) in others for part in others if self._is_not(part)):
            return NONE
        holds_empty = all(self._holds_empty[part] for part in others)
        return self._kept(Both(frozenset(others)), holds_empty)

    def complement(self, part: Expression) -> Expression:
        """Return the expression of all texts that are none of the part's."""
        match self._forms[part]:
            case Not(inner):
                return inner
            case _:
                return self._kept(Not(part), not self._holds_empty[part])

    def repeat(self, part: Expression, least: int, most: int | None) -> Expression:
        """Return the expression of `least` to `most` texts of the part, one after another."""
        if most == 0 or part == EMPTY or (part == NONE and least == 0):
            return EMPTY
        if part == NONE or (least == most == 1):
            return part
        if part == ALL or (part == self._any_letter and least == 0 and most is None):
            return ALL
        if self._holds_empty[part]:
            least = 0  # the texts left out may all be empty
        if least == 0 and most == 1:
            return self.either((EMPTY, part))
        match self._forms[part]:
            case Repeat(_, 0, None):
                return part
            case _:
                return self._kept(Repeat(part, least, most), least == 0)

    def derivative(self, expression: Expression, letter: int) -> Expression:
        """Return the expression of what may follow `letter` at the beginning of a text."""
        known = self._derivatives.get((expression, letter))
        if known is None:
            known = self._derived(expression, letter)
            self._derivatives[expression, letter] = known
        return known

    def _derived(self, expression: Expression, letter: int) -> Expression:
        form = self._forms[expression]
        match form:
            case Empty():
                return NONE
            case Letters(mask):
                return EMPTY if mask >> letter & 1 else NONE
            case Then():
                return self._derived_row(expression, letter)
            case Either(parts):
                return self.either(self.derivative(part, letter) for part in parts)
            case Both(parts):
                return self.both(self.derivative(part, letter) for part in parts)
            case Not(part):
                return self.complement(self.derivative(part, letter))
            case Repeat(part, least, most):
                fewer = self.repeat(part, max(least - 1, 0), None if most is None else most - 1)
                return self.then(self.derivative(part, letter), fewer)
            case _:
                assert_never(form)

    def _derived_row(self, expression: Expression, letter: int) -> Expression:
        """Return the derivative of parts in a row: the letter begins any that all before allow."""
        ways: list[Expression] = []
        while isinstance(row := self._forms[expression], Then):
            ways.append(self.then(self.derivative(row.first, letter), row.rest))
            if not self._holds_empty[row.first]:
                return self.either(ways)
            expression = row.rest
        return self.either((*ways, self.derivative(expression, letter)))

    def _in_a_row(self, expression: Expression) -> list[Expression]:
        row: list[Expression] = []
        while isinstance(form := self._forms[expression], Then):
            row.append(form.first)
            expression = form.rest
        return [*row, expression]

    def _flat(
        self, parts: Iterable[Expression], kind: type[Either] | type[Both]
    ) -> Iterable[Expression]:
        for part in parts:
            form = self._forms[part]
            yield from form.parts if isinstance(form, kind) else (part,)

    def _is_not(self, part: Expression) -> bool:
        return isinstance(self._forms[part], Not)

    def _kept(self, form: Form, holds_empty: bool) -> Expression:
        self._work += len(form.parts) if isinstance(form, Either | Both) else 1
        if self._work > MOST_WORK:
            raise WorkLimitError
        number = self._numbers.setdefault(form, len(self._forms))
        if number == len(self._forms):
            self._forms.append(form)
            self._holds_empty.append(holds_empty)
        return number
