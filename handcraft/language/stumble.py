"""Where a parse stopped: what was read before, what was found, and what could have stood there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from lark import Token, Tree

from handcraft.errors import Source, Span
from handcraft.language.wording import CLOSING

if TYPE_CHECKING:
    from lark.exceptions import UnexpectedToken

Part: TypeAlias = Tree[Token] | Token
"""A token, or a part of the program that is read to its end."""

_BLANK = re.compile(r"(?:\s|#.*)*")


@dataclass(frozen=True, slots=True)
class Stumble:
    """The place where parsing stopped: what stands before, what was found, what was possible."""

    source: Source
    before: tuple[Part, ...]
    found: Token
    possible: frozenset[str]

    @property
    def previous(self) -> str:
        """The kind of the token just before, or `""` where a finished part stands there."""
        last = self.before[-1] if self.before else None
        return last.type if isinstance(last, Token) else ""

    @property
    def end_of_previous(self) -> int:
        """Where the text before ends, blanks and comments left out."""
        return next((end for part in reversed(self.before) if (end := end_of(part))), 0)

    @property
    def statement(self) -> tuple[Part, ...]:
        """The parts of the statement that was being read."""
        first = len(self.before)
        while first > 0 and not _is_finished(self.before[first - 1]):
            first -= 1
            if _is_body(self.before, first):
                return self.before[first + 1 :]
        return self.before[first:]

    @property
    def opened(self) -> Token | None:
        """The innermost bracket that is open."""
        brackets = (part for part in reversed(self.before) if kind_of(part) in CLOSING)
        return next((part for part in brackets if isinstance(part, Token)), None)

    @property
    def in_body(self) -> bool:
        """Whether the innermost open bracket is the brace of a `def` or `for`."""
        at = (index for index, part in enumerate(self.before) if part is self.opened)
        return any(_is_body(self.before, index) for index in at)

    @property
    def wants_expression(self) -> bool:
        """Whether an expression could begin here."""
        return "NUMBER" in self.possible

    @property
    def wants_name(self) -> bool:
        """Whether a name and nothing else could stand here."""
        assigned = self.starts_statement and self.is_assigned
        return assigned or ("NAME" in self.possible and not self.wants_expression)

    @property
    def after_expression(self) -> bool:
        """Whether an expression could end here."""
        has_operator = "POWER" in self.possible or "SIGN" in self.possible
        return has_operator and not self.wants_expression

    @property
    def starts_statement(self) -> bool:
        """Whether a statement could begin here."""
        return "WORD" in self.possible

    @property
    def on_a_later_line(self) -> bool:
        """Whether a line ends between what stands before and what was found."""
        return "\n" in self.source.text[self.end_of_previous : self.found_at.start]

    @property
    def found_at(self) -> Span:
        """The place of what was found."""
        if self.found.type == "$END":
            return self.gap
        start = self.found.start_pos or 0
        return Span(self.source, start, start + len(self.found))

    @property
    def gap(self) -> Span:
        """The place just after what stands before."""
        return Span(self.source, self.end_of_previous, self.end_of_previous)

    @property
    def is_assigned(self) -> bool:
        """Whether what was found is a word with `=` after it."""
        blank = _BLANK.match(self.source.text, self.found_at.end)
        after = self.source.text[blank.end() : blank.end() + 2] if blank else ""
        return self.found[:1].isidentifier() and after[:1] == "=" and after != "=="

    @property
    def before_text(self) -> str:
        """The last word or sign before, as it is written."""
        last = self.before[-1] if self.before else None
        return str(last) if isinstance(last, Token) else ""


def stumble_of(error: UnexpectedToken, source: Source) -> Stumble:
    """Return what the parser knows about the token that it could not take."""
    stack = tuple(error.interactive_parser.parser_state.value_stack)
    return Stumble(source, stack, error.token, frozenset(error.accepts))


def kind_of(part: Part) -> str:
    """Return the name of the token's terminal, or of the rule."""
    return part.type if isinstance(part, Token) else str(part.data)


def end_of(part: Part) -> int:
    """Return where the part ends in the text, 0 for a part without text."""
    if isinstance(part, Token):
        return part.end_pos or 0
    return 0 if part.meta.empty else part.meta.end_pos


def start_of(part: Part) -> int:
    """Return where the part begins in the text."""
    return (part.start_pos if isinstance(part, Token) else part.meta.start_pos) or 0


def _is_finished(part: Part) -> bool:
    return kind_of(part).startswith(("__start", "__body"))


def _is_body(before: tuple[Part, ...], at: int) -> bool:
    if kind_of(before[at]) != "LBRACE":
        return False
    kinds = [kind_of(part) for part in before[max(0, at - 5) : at]]
    return kinds[-1:] == ["RPAR"] or kinds[-4:-3] == ["_FOR"]
