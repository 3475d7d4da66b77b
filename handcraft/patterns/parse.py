"""Text of a pattern to its syntax tree.

The parser is LALR and keeps its own stack, so that no text is too deeply nested for it. The tree
that it gives is at most `DEEPEST` levels deep, so that later stages may follow it by recursion;
brackets around brackets are one level.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

from handcraft.errors import ProgramError, Source, Span
from handcraft.patterns import syntax
from handcraft.patterns.escapes import read_symbol
from handcraft.patterns.mistakes import diagnose
from handcraft.shipped import shipped

if TYPE_CHECKING:
    from handcraft.runtime.vocabulary import Kind

DEEPEST = 50
"""Levels of a pattern's tree."""

LONGEST = 10_000
"""Characters of a pattern."""

LARGEST_COUNT = 1_000_000
"""What stands in the braces of a repetition is below this."""

Node: TypeAlias = Tree[Token] | Token

_INTEGER_RANGE = re.compile(r"(-?[0-9]+)-(-?[0-9]+)")
_COUNT = re.compile(r"\{\s*([0-9]*)\s*(?:(,)\s*([0-9]*)\s*)?\}")


def parse_pattern(source: Source, kind: Kind) -> syntax.Pattern:
    """Return the syntax tree of a pattern.

    Args:
        source: the whole text of the pattern.
        kind: the kind of vocabulary. Of characters, each is a symbol; words and numbers have white
            space between them.

    Raises:
        ProgramError: `syntax` where the text is no pattern, `too-deep`, `pattern-too-large`.
    """
    if len(source.text) > LONGEST:
        raise ProgramError(
            "pattern-too-large",
            f"the pattern has {len(source.text)} characters, and at most {LONGEST} are read",
            Span(source, LONGEST, LONGEST + 1),
            help="write what repeats as a repetition: `(ab){20}`",
        )
    start = "characters" if kind == "characters" else "words"
    try:
        tree = _parser().parse(source.text, start=start)
    except UnexpectedInput as error:
        raise diagnose(error, source) from None
    (alternatives,) = tree.children
    return _alternatives(alternatives, Span(source, 0, len(source.text)), kind, 1)


def grammar_text() -> str:
    """Return the text of the grammar."""
    return shipped("grammars/pattern.lark").read_text(encoding="utf-8")


@cache
def _parser() -> Lark:
    return Lark(
        grammar_text(),
        parser="lalr",
        start=["characters", "words"],
        propagate_positions=True,
        maybe_placeholders=False,
    )


def _alternatives(node: Node, span: Span, kind: Kind, depth: int) -> syntax.Pattern:
    """Return the pattern that fills a span: a whole text, or what stands in brackets."""
    assert isinstance(node, Tree)
    parts: list[syntax.Pattern] = []
    start = span.start
    for child in node.children:
        match child:
            case Token("BAR"):
                start = _span(child, span.source).end
            case Tree("empty"):
                parts.append(syntax.EmptyText(_gap(span, start)))
            case _:
                parts.append(_pattern(child, span.source, kind, depth))
    return parts[0] if len(parts) == 1 else syntax.Alternatives(tuple(parts), span)


def _gap(within: Span, start: int) -> Span:
    """Return the place of what was left out: at `start`, up to the next bar or bracket."""
    end = within.source.text.find("|", start, within.end)
    return Span(within.source, start, within.end if end == -1 else end)


def _pattern(node: Node, source: Source, kind: Kind, depth: int) -> syntax.Pattern:
    while isinstance(node, Tree) and node.data == "group":
        opening, inner, closing = node.children
        within = Span(source, _span(opening, source).end, _span(closing, source).start)
        assert isinstance(inner, Tree)
        if len(inner.children) != 1 or _is_empty(inner.children[0]):
            return _alternatives(inner, within, kind, _deeper(depth, within))
        node = inner.children[0]
    span = _span(node, source)
    if isinstance(node, Token):
        return syntax.AnySymbol(span) if node.type == "ANY" else _symbol(node, source)

    def read(child: Node) -> syntax.Pattern:
        return _pattern(child, source, kind, _deeper(depth, span))

    match node:
        case Tree("concatenation", parts):
            return syntax.Concatenation(tuple(map(read, parts)), span)
        case Tree("intersection", parts):
            return syntax.Intersection(tuple(map(read, parts)), span)
        case Tree("complement", [part]):
            return syntax.Complement(read(part), span)
        case Tree("repetition", [part, Token() as times]):
            least, most = _times(times, source)
            return syntax.Repetition(read(part), least, most, span)
        case Tree("symbol_class", [Token() as opening, *items]):
            if not items:
                message = "the class has no symbols, so nothing matches it"
                raise ProgramError("syntax", message, span, help="any one symbol is `.`")
            read_items = tuple(_item(item, source, kind) for item in items)
            return syntax.SymbolClass(read_items, opening == "[^", span)
        case _:
            raise AssertionError(f"no pattern: {node.data}")


def _deeper(depth: int, span: Span) -> int:
    if depth >= DEEPEST:
        message = f"this is more than {DEEPEST} levels deep"
        place = Span(span.source, span.start, span.start + 1)
        help_ = "write it with fewer brackets inside one another"
        raise ProgramError("too-deep", message, place, help=help_)
    return depth + 1


def _symbol(token: Token, source: Source) -> syntax.Symbol:
    span = _span(token, source)
    return syntax.Symbol(read_symbol(span), span)


def _item(node: Node, source: Source, kind: Kind) -> syntax.Symbol | syntax.SymbolRange:
    assert isinstance(node, Token)
    span = _span(node, source)
    numbers = _INTEGER_RANGE.fullmatch(span.text) if kind == "integers" else None
    if numbers:
        low, high = numbers.groups()
        is_ordered = int(low) <= int(high)
    elif node.type == "CHARACTER_RANGE":
        low, high = _ends(span)
        is_ordered = low <= high
    else:
        return _symbol(node, source)
    if not is_ordered:
        message = f"the range goes down: `{low}` comes after `{high}`"
        raise ProgramError("syntax", message, span, help=f"write `{high}-{low}`")
    return syntax.SymbolRange(low, high, span)


def _ends(span: Span) -> tuple[str, str]:
    """Return the characters at the two ends of `a-c`."""
    middle = span.text.index("-", 1)
    source, dash = span.source, span.start + middle
    return read_symbol(Span(source, span.start, dash)), read_symbol(
        Span(source, dash + 1, span.end)
    )


def _times(token: Token, source: Source) -> tuple[int, int | None]:
    """Return the least and the most repetitions that `*`, `+`, `?` or braces ask for."""
    match str(token):
        case "*":
            return 0, None
        case "+":
            return 1, None
        case "?":
            return 0, 1
    span = _span(token, source)
    count = _COUNT.fullmatch(span.text)
    if count is None or not (count[1] or count[3]):
        message = f"`{span.text}` is no number of repetitions"
        help_ = "write `{2}`, `{2,}` or `{2,4}`; the symbol itself is `\\{`"
        raise ProgramError("syntax", message, span, help=help_)
    least = _count(count[1] or "0", span)
    if count[2] is None:
        return least, least
    most = _count(count[3], span) if count[3] else None
    if most is not None and most < least:
        message = f"at most {most} is fewer than at least {least}"
        help_ = f"write `{{{most},{least}}}`"
        raise ProgramError("syntax", message, span, help=help_)
    return least, most


def _count(digits: str, span: Span) -> int:
    count = int(digits[:20])
    if count >= LARGEST_COUNT:
        message = f"a part is repeated fewer than {LARGEST_COUNT} times"
        raise ProgramError("pattern-too-large", message, span, help="write `{2,}` for no end")
    return count


def _is_empty(node: Node) -> bool:
    return isinstance(node, Tree) and node.data == "empty"


def _span(node: Node, source: Source) -> Span:
    place = node if isinstance(node, Token) else node.meta
    assert place.start_pos is not None
    assert place.end_pos is not None
    return Span(source, place.start_pos, place.end_pos)
