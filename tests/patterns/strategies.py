"""Random patterns, automata and texts of them, and an oracle that shares nothing with the rest."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import TYPE_CHECKING, TypeAlias, assert_never

from hypothesis import strategies as st

from handcraft.errors import Source, Span
from handcraft.patterns import syntax
from handcraft.patterns.automaton import distances, numbered
from handcraft.patterns.escapes import write_symbol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hypothesis.strategies import DrawFn, SearchStrategy

    from handcraft.patterns.automaton import Automaton
    from handcraft.patterns.syntax import Pattern
    from handcraft.runtime.vocabulary import Token

Tokens: TypeAlias = "tuple[Token, ...]"

NOWHERE = Span(Source(""), 0, 0)
MOST_STATES = 12


def patterns(symbols: str = "ab", *, boolean: bool = True) -> SearchStrategy[Pattern]:
    """Return a strategy for patterns, also with `~`, `&` and what Python's `re` writes otherwise.

    Args:
        symbols: the characters that they are about.
        boolean: whether `~` and `&` are among the operators.
    """
    symbol = st.sampled_from(symbols).map(lambda text: syntax.Symbol(text, NOWHERE))
    classes = st.builds(
        syntax.SymbolClass,
        st.lists(symbol, min_size=1, max_size=3).map(tuple),
        st.booleans(),
        st.just(NOWHERE),
    )
    leaves = st.one_of(
        symbol,
        symbol,
        classes,
        st.just(syntax.AnySymbol(NOWHERE)),
        st.just(syntax.EmptyText(NOWHERE)),
    )

    def larger(inner: SearchStrategy[Pattern]) -> SearchStrategy[Pattern]:
        several = st.lists(inner, min_size=2, max_size=3).map(tuple)
        kinds: list[SearchStrategy[Pattern]] = [
            several.map(lambda parts: syntax.Concatenation(parts, NOWHERE)),
            several.map(lambda parts: syntax.Alternatives(parts, NOWHERE)),
            st.builds(_repetition, inner, st.integers(0, 2), st.none() | st.integers(0, 2)),
        ]
        if boolean:
            kinds += [
                several.map(lambda parts: syntax.Intersection(parts, NOWHERE)),
                inner.map(lambda part: syntax.Complement(part, NOWHERE)),
            ]
        return st.one_of(kinds)

    return st.recursive(leaves, larger, max_leaves=8)


@st.composite
def automata(draw: DrawFn, symbols: str = "ab", most: int = MOST_STATES) -> Automaton:
    """Draw an automaton that need not be minimal, with any states accepting."""
    size = draw(st.integers(1, most))
    states = st.integers(0, size - 1)
    row = st.lists(states, min_size=len(symbols), max_size=len(symbols)).map(tuple)
    rows = draw(st.lists(row, min_size=size, max_size=size).map(tuple))
    return numbered(tuple(symbols), 0, draw(st.frozensets(states)), rows)


@st.composite
def words(draw: DrawFn, automaton: Automaton, most: int = 20) -> Tokens:
    """Draw a word of the language of an automaton that has one, of about `most` symbols at most."""
    text: list[Token] = []
    state = automaton.start
    size = draw(st.integers(0, most))
    away = distances(automaton)
    while len(text) < size or state not in automaton.accepting:
        rows = zip(automaton.symbols, automaton.transitions[state], strict=True)
        ways = [(symbol, target) for symbol, target in rows if target in automaton.live]
        if len(text) >= size:
            ways = [way for way in ways if away[way[1]] < away[state]]
        if not ways:
            break
        symbol, state = draw(st.sampled_from(ways))
        text.append(symbol)
    return tuple(text)


@st.composite
def walks(draw: DrawFn, automaton: Automaton, size: int) -> Tokens:
    """Draw a live text of `size` symbols, or fewer where it cannot go on, half of them edited once.

    An edit replaces one symbol by any other one, which may kill the text.
    """
    text: list[Token] = []
    state = automaton.start
    while len(text) < size and (following := automaton.following(state)):
        text.append(draw(st.sampled_from(following)))
        state = automaton.transitions[state][automaton.symbols.index(text[-1])]
    is_edited: bool = draw(st.booleans())
    if text and is_edited:
        text[draw(st.integers(0, len(text) - 1))] = draw(st.sampled_from(automaton.symbols))
    return tuple(text)


def texts(symbols: str, most: int) -> Iterator[str]:
    """Yield every text of at most `most` symbols."""
    for size in range(most + 1):
        for letters in product(symbols, repeat=size):
            yield "".join(letters)


def written(pattern: Pattern) -> str:
    """Return a pattern as text, with brackets around every part that is not a symbol."""
    match pattern:
        case syntax.EmptyText():
            return "()"
        case syntax.AnySymbol():
            return "."
        case syntax.Symbol(text):
            return write_symbol(text)
        case syntax.SymbolClass(items, is_negated):
            inner = "".join(
                item.text if isinstance(item, syntax.Symbol) else f"{item.low}-{item.high}"
                for item in items
            )
            return f"[{'^' if is_negated else ''}{inner}]"
        case syntax.Concatenation(parts):
            return "".join(map(_bracketed, parts))
        case syntax.Alternatives(parts):
            return "|".join(map(_bracketed, parts))
        case syntax.Intersection(parts):
            return "&".join(map(_bracketed, parts))
        case syntax.Complement(part):
            return "~" + _bracketed(part)
        case syntax.Repetition(part, least, most):
            return f"{_bracketed(part)}{_times(least, most)}"
        case _:
            assert_never(pattern)


def holds(pattern: Pattern, text: str) -> bool:
    """Return whether a text is one of a pattern's, by trying every way to divide it."""

    @cache
    def of(part: Pattern, start: int, end: int) -> bool:
        match part:
            case syntax.EmptyText():
                return start == end
            case syntax.AnySymbol():
                return end == start + 1
            case syntax.Symbol(symbol):
                return text[start:end] == symbol
            case syntax.SymbolClass(items, is_negated):
                symbols = [item.text for item in items if isinstance(item, syntax.Symbol)]
                return end == start + 1 and (text[start] in symbols) != is_negated
            case syntax.Concatenation((first, *rest)):
                if not rest:
                    return of(first, start, end)
                row = syntax.Concatenation(tuple(rest), NOWHERE)
                middles = range(start, end + 1)
                return any(of(first, start, m) and of(row, m, end) for m in middles)
            case syntax.Alternatives(parts):
                return any(of(each, start, end) for each in parts)
            case syntax.Intersection(parts):
                return all(of(each, start, end) for each in parts)
            case syntax.Complement(each):
                return not of(each, start, end)
            case syntax.Repetition(each, least, most):
                if start == end:
                    return least == 0 or of(each, start, end)
                if most == 0:
                    return False
                fewer = None if most is None else most - 1
                others = syntax.Repetition(each, max(least - 1, 0), fewer, NOWHERE)
                if least and of(each, start, start) and of(others, start, end):
                    return True
                middles = range(start + 1, end + 1)
                return any(of(each, start, m) and of(others, m, end) for m in middles)
            case _:
                raise AssertionError(f"no pattern: {part}")

    return of(pattern, 0, len(text))


def _repetition(part: Pattern, least: int, more: int | None) -> Pattern:
    return syntax.Repetition(part, least, None if more is None else least + more, NOWHERE)


def _bracketed(pattern: Pattern) -> str:
    text = written(pattern)
    return text if isinstance(pattern, syntax.Symbol | syntax.SymbolClass) else f"({text})"


def _times(least: int, most: int | None) -> str:
    known = {(0, None): "*", (1, None): "+", (0, 1): "?"}
    if (least, most) in known:
        return known[least, most]
    return f"{{{least},{'' if most is None else most}}}"
