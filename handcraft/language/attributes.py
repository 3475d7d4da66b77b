"""The attributes of the source: `source.tokens`, `source.length` and others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handcraft.errors import ProgramError, Span
from handcraft.language.compile_time import Selector, Sop, Source, Thing
from handcraft.language.sequences import SOURCE
from handcraft.language.suggestions import closest
from handcraft.language.typed import Compare, Full, Indices, Tokens, Width

if TYPE_CHECKING:
    from handcraft.language.expressions import Evaluator

ATTRIBUTES = ("tokens", "indices", "length", "past", "before")


def attribute(evaluator: Evaluator, base: Thing, name: str, span: Span) -> Thing:
    """Return an attribute of the source, made where it is first used.

    Raises:
        ProgramError: `unknown-name`, also for anything else than the source.
    """
    builder = evaluator.builder
    if not isinstance(base, Source):
        raise ProgramError("unknown-name", f"there is no attribute `{name}`", span)
    match name:
        case "tokens":
            return Sop(builder.add(Tokens(SOURCE), span))
        case "indices":
            return Sop(builder.add(Indices(SOURCE), span))
        case "length":
            return Sop(builder.add(Width(builder.add(Full(SOURCE, None), span)), span))
        case "past" | "before":
            indices = builder.add(Indices(SOURCE), span)
            op = "<=" if name == "past" else "<"
            return Selector(builder.add(Compare(op, indices, indices), span))
        case _:
            near = closest(name, ATTRIBUTES)
            help_ = f"it has {', '.join(f'`source.{each}`' for each in ATTRIBUTES)}"
            if near is not None:
                help_ = f"write `source.{near}`"
            message = f"the source has no `{name}`"
            raise ProgramError("unknown-name", message, span, help=help_)


def source(evaluator: Evaluator, span: Span) -> Source:
    """Return what the name `source` stands for.

    Raises:
        ProgramError: `missing` in a program without one.
    """
    if evaluator.builder.header.source is None:
        help_ = 'declare one: `source ["hello", "world"];`'
        raise ProgramError("missing", "the program has no `source`", span, help=help_)
    return Source()
