"""Where a mistake is, and how it is told: sources, spans, errors and warnings.

An error prints as its place, its code, one lowercase sentence, the line with the span
underlined, and a `help:` line where a fix is known. Mistakes of users are `HandcraftError`;
a fault of the compiler itself is an `AssertionError` and shows its traceback.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

TAB = "    "
LONGEST_LINE = 160
"""Characters of a source line that an error shows; longer lines are cut around the span."""


@dataclass(frozen=True, slots=True)
class Source:
    """A text and the name under which errors show it."""

    text: str
    name: str = "<text>"


@dataclass(frozen=True, slots=True)
class Span:
    """Characters `start` to `end` (exclusive) of a source."""

    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        """Line number, counted from 1."""
        return self.source.text.count("\n", 0, self.start) + 1

    @property
    def column(self) -> int:
        """Column in characters, counted from 1."""
        return self.start - (self.source.text.rfind("\n", 0, self.start) + 1) + 1

    @property
    def text(self) -> str:
        """The characters of the span."""
        return self.source.text[self.start : self.end]

    def place(self) -> str:
        """Return `name:line:column`."""
        return f"{self.source.name}:{self.line}:{self.column}"

    def drawing(self) -> str:
        """Return the first line of the span with the span underlined."""
        text = self.source.text
        begin = text.rfind("\n", 0, self.start) + 1
        end = text.find("\n", self.start)
        end = len(text) if end == -1 else end
        first = max(begin, self.start - LONGEST_LINE // 2)
        last = min(end, first + LONGEST_LINE)
        before = text[first : self.start].replace("\t", TAB)
        marked = text[self.start : min(self.end, last)].replace("\t", TAB)
        after = text[max(self.start, min(self.end, last)) : last].replace("\t", TAB)
        margin = f"{self.line} | "
        underline = " " * (len(margin) + len(before)) + "^" * max(1, len(marked))
        return f"{margin}{before}{marked}{after}".rstrip() + f"\n{underline}"


def _told(label: str, message: str, span: Span | None, help_: str | None) -> str:
    lines = [f"{label}: {message}" if span is None else f"{span.place()}: {label}: {message}"]
    if span is not None:
        lines.append(span.drawing())
    if help_ is not None:
        lines.append(f"help: {help_}")
    return "\n".join(lines)


class HandcraftError(Exception):
    """A mistake of the user's, with its place and the way out.

    Attributes:
        code: a kebab-case word that names the kind of mistake.
        message: one lowercase sentence without a full stop.
        span: where it is, if it is in a text.
        help: what to do instead, if that is known.
    """

    def __init__(
        self, code: str, message: str, span: Span | None = None, *, help: str | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.span = span
        self.help = help

    def __str__(self) -> str:
        return _told(self.code, self.message, self.span, self.help)


class ProgramError(HandcraftError):
    """The program is wrong: change its text."""


class InputError(HandcraftError):
    """The input does not fit the program or the model: change the input."""


class MeaningError(HandcraftError):
    """The program has no meaning on this input (a division by zero, several values selected)."""


class FileError(HandcraftError):
    """A file is not what it should be, or cannot be read or written."""


class SeveralMistakesError(ProgramError):
    """The mistakes that one stage found, told together."""

    def __init__(self, errors: Sequence[HandcraftError]) -> None:
        first = errors[0]
        super().__init__(first.code, first.message, first.span, help=first.help)
        self.errors = tuple(errors)

    def __str__(self) -> str:
        return "\n\n".join(str(error) for error in self.errors)


def raise_all(errors: Sequence[HandcraftError]) -> None:
    """Raise the errors that were collected, if there are any."""
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise SeveralMistakesError(errors)


@dataclass(frozen=True, slots=True)
class Notice:
    """A warning: the program is legal, but probably not what was meant."""

    code: str
    message: str
    span: Span | None = None
    help: str | None = None

    def __str__(self) -> str:
        return _told(f"warning: {self.code}", self.message, self.span, self.help)
