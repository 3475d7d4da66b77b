"""What holds for good from some symbol on: has a text left what can still change, and where to?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from handcraft.language.typed import First

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handcraft.compiler.patterns.writing import Writer
    from handcraft.patterns.machine import Answer, Inside

INSIDE = "inside"
"""The code of not having left."""


def guarded(
    writer: Writer, here: int, before: int, inner: Sequence[Inside], exits: Sequence[Answer]
) -> int:
    """Return the codes of answers that hold for good from the first exit on.

    Args:
        writer: writes the steps.
        here: the codes of what holds inside after this position.
        before: the same after the position before.
        inner: what may hold inside.
        exits: the answers that exits may have.
    """
    with writer.step("the token here leaves for good"):
        leaving = _leaving(writer, before, inner)
    left = writer.compare("!=", leaving, writer.constant(INSIDE))
    if len(set(exits)) > 1:
        left = writer.builder.add(First(left), writer.span)
    with writer.step("whether the text has left for good"):
        out = writer.gathered(left, leaving, INSIDE)
    known = {writer.code(each): writer.code(each.answer) for each in inner}
    options = [
        writer.lookup(here, known),
        *(writer.constant(writer.code(answer)) for answer in dict.fromkeys(exits)),
    ]
    values = [INSIDE, *(_left_to(writer, answer) for answer in dict.fromkeys(exits))]
    return writer.pick(out, values, options)


def _leaving(writer: Writer, before: int, inner: Sequence[Inside]) -> int:
    """Return where the symbol here leads out to, or `INSIDE`."""
    options = []
    for each in inner:
        out = {
            letter: _left_to(writer, answer)
            for letter, answer in enumerate(each.exits)
            if answer is not None
        }
        options.append(writer.letters(out, INSIDE))
    return writer.pick(before, [writer.code(each) for each in inner], options)


def _left_to(writer: Writer, answer: Answer) -> str:
    return f"left to {writer.code(answer)}"
