"""The symbols of a pattern: which tokens of a vocabulary its characters, words and classes are.

Texts of a pattern consist of the vocabulary's tokens without its start and end tokens, which stand
around a text and not in it.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, assert_never

from handcraft.errors import InputError, ProgramError
from handcraft.patterns import syntax
from handcraft.patterns.escapes import write_symbol
from handcraft.runtime.vocabulary import MOST_LISTED, Vocabulary, vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from handcraft.errors import Span
    from handcraft.runtime.vocabulary import Token

MOST_SYMBOLS = 1_000
"""Symbols that the ranges of a pattern without a vocabulary may stand for."""


def symbols_of(vocabulary: Vocabulary) -> tuple[Token, ...]:
    """Return the tokens that texts of a pattern consist of, in the order of the vocabulary."""
    markers = (vocabulary.bos, vocabulary.eos)
    return tuple(token for token in vocabulary.tokens if token not in markers)


def vocabulary_of(pattern: syntax.Pattern) -> Vocabulary:
    """Return the characters that a pattern names, in order of appearance, as a vocabulary.

    Raises:
        ProgramError: `needs-vocabulary` where the pattern speaks of symbols that it does not name,
            or names none; `pattern-too-large` where a range has too many.
    """
    found = dict.fromkeys(_named(pattern))
    if not found:
        message = "the pattern names no symbol"
        raise ProgramError("needs-vocabulary", message, pattern.span, help="give a vocabulary")
    return vocabulary("characters", tuple(found))


def masks(pattern: syntax.Pattern, vocabulary: Vocabulary) -> Mapping[Span, int]:
    """Return for the place of each symbol, class and `.` the set that it stands for.

    A set is the sum of `2**i` over its symbols, i being their places in `symbols_of`.

    Raises:
        ProgramError: `unknown-symbol`.
    """
    symbols = symbols_of(vocabulary)
    places = {str(symbol): place for place, symbol in enumerate(symbols)}
    return dict(_masks(pattern, vocabulary, places))


def _named(pattern: syntax.Pattern) -> Iterator[str]:
    match pattern:
        case syntax.EmptyText():
            return
        case syntax.Symbol(text):
            yield text
        case syntax.SymbolClass(items, False):
            for item in items:
                yield from _named(item) if isinstance(item, syntax.Symbol) else _between(item)
        case syntax.SymbolClass() | syntax.AnySymbol() | syntax.Complement():
            message = f"`{pattern.span.text}` speaks of every symbol, and no vocabulary says which"
            help_ = "give a vocabulary"
            raise ProgramError("needs-vocabulary", message, pattern.span, help=help_)
        case syntax.Repetition(part):
            yield from _named(part)
        case syntax.Concatenation(parts) | syntax.Alternatives(parts) | syntax.Intersection(parts):
            for part in parts:
                yield from _named(part)
        case _:
            assert_never(pattern)


def _between(item: syntax.SymbolRange) -> Iterator[str]:
    codes = range(ord(item.low), ord(item.high) + 1)
    if len(codes) > MOST_SYMBOLS:
        message = f"the range has {len(codes)} symbols, more than {MOST_SYMBOLS}"
        help_ = "give a vocabulary: then a range means the symbols that are in it"
        raise ProgramError("pattern-too-large", message, item.span, help=help_)
    return map(chr, codes)


def _masks(
    pattern: syntax.Pattern, vocabulary: Vocabulary, places: Mapping[str, int]
) -> Iterator[tuple[Span, int]]:
    match pattern:
        case syntax.EmptyText():
            return
        case syntax.Symbol():
            yield pattern.span, 1 << _place(pattern, vocabulary, places)
        case syntax.AnySymbol():
            yield pattern.span, (1 << len(places)) - 1
        case syntax.SymbolClass(items, is_negated):
            mask = 0
            for item in items:
                mask |= _mask(item, vocabulary, places)
            yield pattern.span, ((1 << len(places)) - 1) ^ mask if is_negated else mask
        case syntax.Complement(part) | syntax.Repetition(part):
            yield from _masks(part, vocabulary, places)
        case syntax.Concatenation(parts) | syntax.Alternatives(parts) | syntax.Intersection(parts):
            for part in parts:
                yield from _masks(part, vocabulary, places)
        case _:
            assert_never(pattern)


def _mask(
    item: syntax.Symbol | syntax.SymbolRange, vocabulary: Vocabulary, places: Mapping[str, int]
) -> int:
    if isinstance(item, syntax.Symbol):
        return 1 << _place(item, vocabulary, places)
    if vocabulary.kind == "integers":
        low, high = int(item.low), int(item.high)
        mask = sum(1 << place for text, place in places.items() if low <= int(text) <= high)
    else:
        mask = sum(1 << place for text, place in places.items() if item.low <= text <= item.high)
    if not mask:
        message = f"no symbol from `{item.low}` to `{item.high}` is in the vocabulary"
        raise ProgramError("unknown-symbol", message, item.span, help=_listed(places))
    return mask


def _place(symbol: syntax.Symbol, vocabulary: Vocabulary, places: Mapping[str, int]) -> int:
    text = symbol.text
    if text in places:
        return places[text]
    for marker, verb in ((vocabulary.bos, "begins"), (vocabulary.eos, "ends")):
        if marker is not None and text == str(marker):
            message = f"`{text}` {verb} every text and is no symbol of a pattern"
            raise ProgramError("unknown-symbol", message, symbol.span, help="remove it")
    message = f"`{text}` is not in the vocabulary"
    help_ = _way_out(text, vocabulary, places)
    raise ProgramError("unknown-symbol", message, symbol.span, help=help_)


def _way_out(text: str, vocabulary: Vocabulary, places: Mapping[str, int]) -> str:
    if vocabulary.kind == "characters" and text.isspace():
        return "white space is a symbol like any other here: remove it, or add it to the vocabulary"
    if vocabulary.kind == "words" and (words := _touching(text, vocabulary)):
        return f"white space stands between words: `{' '.join(map(write_symbol, words))}`"
    close = get_close_matches(text, places, n=1)
    if close:
        return f"write `{write_symbol(close[0])}`"
    return _listed(places)


def _touching(text: str, vocabulary: Vocabulary) -> tuple[str, ...]:
    """Return the words that stand side by side in a text, if it consists of such."""
    try:
        words = vocabulary.split(text)
    except InputError:
        return ()
    return tuple(str(word) for word in words if word != vocabulary.bos)


def _listed(places: Mapping[str, int]) -> str:
    listed = " ".join(f"`{text}`" for text in tuple(places)[:MOST_LISTED])
    return f"the symbols are {listed}{' ...' if len(places) > MOST_LISTED else ''}"
