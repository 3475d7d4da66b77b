"""Pattern to minimal automaton: states are derivatives, and equal states are joined.

Symbols that no part of the pattern tells apart are one letter on the way, so that the work does
not grow with the vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from handcraft.errors import ProgramError, Source, Span
from handcraft.patterns import syntax
from handcraft.patterns.alphabet import masks, symbols_of, vocabulary_of
from handcraft.patterns.automaton import Automaton, minimal, numbered
from handcraft.patterns.expressions import EMPTY, Expression, Expressions, WorkLimitError
from handcraft.patterns.parse import parse_pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

    from handcraft.runtime.vocabulary import Vocabulary

MOST_STATES = 2_000
"""States of an automaton, before and after equal ones are joined."""

PATTERN = "<pattern>"
"""The name of a pattern's text in errors."""


def automaton_of(text: str | Source, vocabulary: Vocabulary | None = None) -> Automaton:
    """Return the minimal automaton of a pattern.

    Args:
        text: the pattern; errors give places in it.
        vocabulary: the tokens that texts consist of; without one, the characters that the pattern
            names, in order of appearance.

    Raises:
        ProgramError: `syntax`, `too-deep`, `unknown-symbol`, `needs-vocabulary`, `empty-language`,
            `pattern-too-large`.
    """
    source = Source(text, PATTERN) if isinstance(text, str) else text
    pattern = parse_pattern(source, "characters" if vocabulary is None else vocabulary.kind)
    return build(pattern, vocabulary_of(pattern) if vocabulary is None else vocabulary)


def build(pattern: syntax.Pattern, vocabulary: Vocabulary) -> Automaton:
    """Return the minimal automaton of a pattern's tree, over the vocabulary's symbols.

    Raises:
        ProgramError: `unknown-symbol`, `empty-language`, `pattern-too-large`.
    """
    sets = masks(pattern, vocabulary)
    _shortest(pattern)
    symbols = symbols_of(vocabulary)
    if not symbols:
        message = "the vocabulary has no symbols but its start and end tokens"
        raise ProgramError("needs-vocabulary", message, pattern.span, help="add some tokens")
    letter_of = _letters(frozenset(sets.values()), len(symbols))
    by_letter = {
        span: sum(1 << letter for letter in {letter_of[s] for s in _members(mask)})
        for span, mask in sets.items()
    }
    rows, accepting = _explored(pattern, by_letter, max(letter_of) + 1)
    if not accepting:
        raise _empty_language(pattern, by_letter, max(letter_of) + 1)
    transitions = tuple(tuple(row[letter] for letter in letter_of) for row in rows)
    return minimal(numbered(symbols, 0, accepting, transitions))


def _shortest(pattern: syntax.Pattern) -> int:
    """Return how many symbols every word has at least, if there is a word.

    A word of that length passes through as many states but one, all different: the shortest texts
    that lead to an accepting state from each have different lengths.
    """
    match pattern:
        case syntax.EmptyText() | syntax.Complement(syntax.EmptyText()):
            return 0
        case syntax.Symbol() | syntax.SymbolClass() | syntax.AnySymbol():
            return 1
        case syntax.Complement(part):
            _shortest(part)
            return 0
        case syntax.Concatenation(parts):
            length = sum(map(_shortest, parts))
        case syntax.Alternatives(parts):
            length = min(map(_shortest, parts))
        case syntax.Intersection(parts):
            length = max(map(_shortest, parts))
        case syntax.Repetition(part, least):
            length = least * _shortest(part)
        case _:
            assert_never(pattern)
    if length >= MOST_STATES:
        message = f"every text of this has {length} symbols or more, and so many states"
        raise _too_large(message, pattern.span)
    return length


def _letters(sets: frozenset[int], symbols: int) -> tuple[int, ...]:
    """Return each symbol's letter: two symbols share one where every set has both or none."""
    within: list[list[int]] = [[] for _ in range(symbols)]
    for number, mask in enumerate(sorted(sets)):
        for symbol in _members(mask):
            within[symbol].append(number)
    letters: dict[tuple[int, ...], int] = {}
    return tuple(letters.setdefault(tuple(numbers), len(letters)) for numbers in within)


def _members(mask: int) -> list[int]:
    return [place for place in range(mask.bit_length()) if mask >> place & 1]


def _explored(
    pattern: syntax.Pattern, sets: Mapping[Span, int], letters: int
) -> tuple[tuple[tuple[int, ...], ...], frozenset[int]]:
    """Return the derivatives of a pattern, `[state][letter]`, and those that accept.

    Raises:
        ProgramError: `pattern-too-large`.
    """
    expressions = Expressions(letters)
    try:
        first = _expression(pattern, sets, expressions)
        states = {first: 0}
        rows: list[tuple[int, ...]] = []
        queue = [first]
        for expression in queue:
            row = [expressions.derivative(expression, letter) for letter in range(letters)]
            for derivative in row:
                if derivative not in states:
                    states[derivative] = len(states)
                    queue.append(derivative)
            if len(states) > MOST_STATES:
                raise _too_large(f"the pattern has more than {MOST_STATES} states", pattern.span)
            rows.append(tuple(states[derivative] for derivative in row))
    except WorkLimitError:
        raise _too_large("the states of the pattern are too many to find", pattern.span) from None
    accepting = (
        state for expression, state in states.items() if expressions.holds_empty(expression)
    )
    return tuple(rows), frozenset(accepting)


def _expression(
    pattern: syntax.Pattern, sets: Mapping[Span, int], expressions: Expressions
) -> Expression:
    def read(part: syntax.Pattern) -> Expression:
        return _expression(part, sets, expressions)

    match pattern:
        case syntax.EmptyText():
            return EMPTY
        case syntax.Symbol() | syntax.SymbolClass() | syntax.AnySymbol():
            return expressions.one_of(sets[pattern.span])
        case syntax.Concatenation(parts):
            row = EMPTY
            for part in reversed(parts):
                row = expressions.then(read(part), row)
            return row
        case syntax.Alternatives(parts):
            return expressions.either(map(read, parts))
        case syntax.Intersection(parts):
            return expressions.both(map(read, parts))
        case syntax.Complement(part):
            return expressions.complement(read(part))
        case syntax.Repetition(part, least, most):
            return expressions.repeat(read(part), least, most)
        case _:
            assert_never(pattern)


def _empty_language(
    pattern: syntax.Pattern, sets: Mapping[Span, int], letters: int
) -> ProgramError:
    """Return the error at the smallest part that has no text, and for which the whole has none."""
    while parts := _needed(pattern):
        empty = (part for part in parts if not _explored(part, sets, letters)[1])
        if (part := next(empty, None)) is None:
            break
        pattern = part
    help_: str | None
    match pattern:
        case syntax.Intersection():
            message, help_ = "no text is of all the parts", "write `|` for texts of any of them"
        case syntax.Complement():
            message, help_ = "every text is of the part, so none is left", "remove the `~`"
        case syntax.SymbolClass():
            message, help_ = "the class has every symbol, so none is left", "remove the `^`"
        case _:
            message, help_ = "no text at all is of this pattern", None
    return ProgramError("empty-language", message, pattern.span, help=help_)


def _needed(pattern: syntax.Pattern) -> tuple[syntax.Pattern, ...]:
    """Return the parts each of which must have a text, for the pattern to have one."""
    match pattern:
        case syntax.Concatenation(parts) | syntax.Intersection(parts):
            return parts
        case syntax.Repetition(part):
            return (part,)
        case _:
            return ()


def _too_large(message: str, span: Span) -> ProgramError:
    help_ = "repeat less often, or write `*` where the number need not be counted"
    return ProgramError("pattern-too-large", message, span, help=help_)
