"""Syntax tree to an indented listing: one node a line, with the line of the source it is from."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import fields
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from handcraft.errors import Span
from handcraft.language.literals import write_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from handcraft.language import syntax

    Node: TypeAlias = syntax.Module | syntax.Statement | syntax.Expression | syntax.Parameter


def dump(module: syntax.Module) -> str:
    """Return the tree as text: line number, depth by indentation, the role of a part, the node.

    `x = y + 1;` in line 3 gives

        3  Assign x
        3    values: Binary +
        3      left: Name y
        3      right: Number 1
    """
    text = module.span.source.text
    starts = [0, *(at + 1 for at, character in enumerate(text) if character == "\n")]
    width = len(str(len(starts)))
    return "".join(
        f"{bisect_right(starts, node.span.start):>{width}}  {'  ' * depth}{role}{_head(node)}\n"
        for statement in module.body
        for node, role, depth in _walk(statement, "", 0)
    )


def _walk(node: Node, role: str, depth: int) -> Iterator[tuple[Node, str, int]]:
    yield node, role, depth
    for name, part in _parts(node):
        yield from _walk(part, f"{name}: ", depth + 1)


def _parts(node: Node) -> Iterator[tuple[str, Node]]:
    for field in fields(node):
        match getattr(node, field.name):
            case Span() | str() | bool() | Fraction() | None:
                continue
            case tuple() as several:
                yield from _several(field.name, several)
            case part:
                yield field.name, part


def _several(
    name: str, parts: Sequence[str | Node | tuple[str, Node] | tuple[Node, Node]]
) -> Iterator[tuple[str, Node]]:
    for part in parts:
        match part:
            case str():
                continue
            case (str() as label, value):
                yield label, value
            case (key, value):
                yield "key", key
                yield "value", value
            case single:
                yield name, single


def _head(node: Node) -> str:
    return " ".join((type(node).__name__, *_words(node)))


def _words(node: Node) -> Iterator[str]:
    for field in fields(node):
        match getattr(node, field.name):
            case str() as text:
                is_literal = field.name in {"value", "path"}
                yield write_text(text) if is_literal else text
            case bool() | Fraction() as value:
                yield str(value)
            case (str(), *_) as names:
                yield ", ".join(names)
