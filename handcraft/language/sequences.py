"""Which sequence an s-op has its values over: the text that is written, or the source beside it.

Constants belong to either, and so does what is selected of the source in the same way by every
query. A selector has the sequence of its queries and that of its keys; the source is read on its
own, so none has keys of the target for queries of the source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, assert_never

from handcraft.errors import ProgramError, Span
from handcraft.language.typed import (
    Aggregate,
    AllOf,
    AnyOf,
    Apply,
    Ask,
    Best,
    Choose,
    Compare,
    Constant,
    First,
    Full,
    Indices,
    Latest,
    NoneOf,
    Op,
    Pick,
    Tokens,
    Total,
    Width,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from handcraft.language.typed import Node

TARGET: Literal["tokens"] = "tokens"
"""The name of the sequence that a decoder reads and writes."""

SOURCE: Literal["source"] = "source"
"""The name of the sequence that an encoder reads."""


class Sides(NamedTuple):
    """The sequence of an s-op, or of a selector's queries, and that of a selector's keys.

    None stands for either sequence; of an s-op, `keys` is None.
    """

    sequence: str | None
    keys: str | None = None


def sides(op: Op, nodes: Sequence[Node], span: Span) -> Sides:
    """Return over which sequences an operation on known nodes is.

    Raises:
        ProgramError: `two-sequences` where it mixes them.
    """
    match op:
        case Tokens(sequence) | Indices(sequence):
            return Sides(sequence)
        case Ask():
            return Sides(TARGET)
        case Constant():
            return Sides(None)
        case Apply(_, operands):
            return Sides(_joined([nodes[each].sequence for each in operands], span))
        case Choose(condition, then, otherwise):
            branches = (condition, then, otherwise)
            return Sides(_joined([nodes[each].sequence for each in branches], span))
        case Pick(key, _, options):
            return Sides(_joined([nodes[each].sequence for each in (key, *options)], span))
        case Full(keys, queries):
            return Sides(queries, keys)
        case Compare(_, key, query):
            return _compared(nodes[key].sequence, nodes[query].sequence, span)
        case AllOf(left, right) | AnyOf(left, right):
            pair = (nodes[left], nodes[right])
            keys_of_both = _joined([each.keys for each in pair], span)
            return Sides(_joined([each.sequence for each in pair], span), keys_of_both)
        case NoneOf(selector) | First(selector) | Latest(selector):
            return Sides(nodes[selector].sequence, nodes[selector].keys)
        case Best(selector, score):
            _joined([nodes[selector].keys, nodes[score].sequence], span)
            return Sides(nodes[selector].sequence, nodes[selector].keys)
        case Aggregate(selector, value, default):
            _joined([nodes[selector].keys, nodes[value].sequence], span)
            own = nodes[selector].sequence
            other = None if default is None else nodes[default].sequence
            return Sides(_joined([own, other], span))
        case Total(selector, value):
            _joined([nodes[selector].keys, nodes[value].sequence], span)
            return Sides(nodes[selector].sequence)
        case Width(selector):
            return Sides(nodes[selector].sequence)
        case _:
            assert_never(op)


def _joined(parts: Iterable[str | None], span: Span) -> str | None:
    """Return the one sequence that all parts belong to, None for either."""
    named = {part for part in parts if part is not None}
    if len(named) > 1:
        message = "this mixes s-ops over the source with s-ops over the text that is written"
        help_ = "move values over first: `aggregate(select(source.indices, indices, ==), x)`"
        raise ProgramError("two-sequences", message, span, help=help_)
    return next(iter(named), None)


def _compared(key: str | None, query: str | None, span: Span) -> Sides:
    keys = key or query or TARGET
    if keys == SOURCE:
        return Sides(query, SOURCE)
    if query == SOURCE:
        message = "the source is read before anything is written: it sees no key of the target"
        help_ = "swap the arguments, so that the source has the keys"
        raise ProgramError("two-sequences", message, span, help=help_)
    return Sides(TARGET, TARGET)
