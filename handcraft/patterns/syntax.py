"""The syntax tree of patterns: what was written, with its places.

A symbol is held as its text, since only a vocabulary knows which token that is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from handcraft.errors import Span


@dataclass(frozen=True, slots=True)
class EmptyText:
    """Nothing at all: `()`, or a side of `|` that is left empty."""

    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Symbol:
    """One symbol of the vocabulary, with its escapes read."""

    text: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SymbolRange:
    """In a class: the symbols from `low` to `high`, by code point or by number."""

    low: str
    high: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SymbolClass:
    """One symbol out of several: `[ab]`, `[a-c]`; any other than these: `[^ab]`."""

    items: tuple[Symbol | SymbolRange, ...]
    is_negated: bool
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AnySymbol:
    """Any one symbol of the vocabulary: `.`."""

    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Concatenation:
    """Parts one after another: `ab`."""

    parts: tuple[Pattern, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Alternatives:
    """Texts of any of the parts: `a|b`."""

    parts: tuple[Pattern, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Intersection:
    """Texts of all of the parts: `a&b`."""

    parts: tuple[Pattern, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Complement:
    """All texts but those of the part: `~a`."""

    part: Pattern
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Repetition:
    """From `least` to `most` texts of the part, one after another; `most` is None without end."""

    part: Pattern
    least: int
    most: int | None
    span: Span = field(compare=False, repr=False)


Pattern: TypeAlias = (
    EmptyText
    | Symbol
    | SymbolClass
    | AnySymbol
    | Concatenation
    | Alternatives
    | Intersection
    | Complement
    | Repetition
)
