"""Syntax errors of patterns: what the parser stumbled on becomes what the author did."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lark import Token
from lark.exceptions import UnexpectedToken

from handcraft.errors import ProgramError, Source, Span

if TYPE_CHECKING:
    from lark.exceptions import UnexpectedInput

_TIMES = frozenset("*+?{")
_BRACES = re.compile(r"\{[^{}]*\}")
_CLOSING = {"LPAR": ")", "OPEN": "]"}
_ITSELF = "the symbol itself is `\\{}`"


def diagnose(error: UnexpectedInput, source: Source) -> ProgramError:
    """Return the `syntax` error that tells where the text stops being a pattern, and why."""
    start = _start(error, source)
    stack = _stack(error)
    found = source.text[start : start + 1]
    span = Span(source, start, start + 1)
    if found == "\\":
        message = "nothing follows the backslash"
        return _told(message, span, "a backslash itself is `\\\\`")
    opened = next((token for token in reversed(stack) if token.type in _CLOSING), None)
    if not found and opened is not None:
        place = opened.start_pos or 0
        help_ = f"write `{_CLOSING[opened.type]}` where it ends, or `\\{opened[0]}` for the symbol"
        bracket = Span(source, place, place + 1)
        return _told(f"`{opened[0]}` is not closed", bracket, help_)
    if found == "{" and not _BRACES.match(source.text, start):
        help_ = f"write `{{2}}`, `{{2,}}` or `{{2,4}}`; {_ITSELF.format('{')}"
        return _told("`{` is not closed", span, help_)
    if found in ("]", "}"):
        return _told(f"`{found}` closes nothing", span, _ITSELF.format(found))
    if found == "^" or found == "$":
        message = f"`{found}` is no part of a pattern, which always tells the whole text"
        return _told(message, span, f"remove it; {_ITSELF.format(found)}")
    before = stack[-1] if stack else None
    if found and found in _TIMES:
        return _repetition(source, start, before)
    return _missing(source, start, before, opened)


def _start(error: UnexpectedInput, source: Source) -> int:
    if isinstance(error, UnexpectedToken):
        is_end = error.token.type == "$END"
        return len(source.text) if is_end else error.token.start_pos or 0
    return error.pos_in_stream  # type: ignore[return-value]  # lark says None


def _stack(error: UnexpectedInput) -> list[Token]:
    """Return the tokens that were read and still wait for what belongs to them."""
    interactive = getattr(error, "interactive_parser", None)
    values = interactive.parser_state.value_stack if interactive is not None else ()
    return [value for value in values if isinstance(value, Token)]


def _repetition(source: Source, start: int, before: Token | None) -> ProgramError:
    end = source.text.index("}", start) + 1 if source.text[start] == "{" else start + 1
    span = Span(source, start, end)
    if before is not None and before.type in ("TIMES", "COUNT") and before.end_pos == start:
        message = f"`{span.text}` follows the repetition `{before}`"
        help_ = "repetitions are never lazy or possessive here; put brackets around the first"
        return _told(message, span, help_)
    if source.text.startswith("(?", start - 1):
        return _told("`(?` begins no group", span, f"write `(...)`; {_ITSELF.format('?')}")
    return _told(f"`{span.text}` repeats nothing", span, _ITSELF.format(source.text[start]))


def _missing(
    source: Source, start: int, before: Token | None, opened: Token | None
) -> ProgramError:
    found = source.text[start : start + 1]
    span = Span(source, start, start + 1)
    if before is not None and before.type in ("_AND", "_NOT"):
        place = before.start_pos or 0
        operator = Span(source, place, place + 1)
        message = f"nothing follows `{before}`"
        return _told(message, operator, f"the empty text is `()`; {_ITSELF.format(before)}")
    if found == ")" and opened is None:
        return _told("`)` closes nothing", span, f"remove it; {_ITSELF.format(')')}")
    assert found == "&", f"an unforeseen mistake at {start} of {source.text!r}"
    help_ = f"the empty text is `()`; {_ITSELF.format('&')}"
    return _told("nothing stands before `&`", span, help_)


def _told(message: str, span: Span, help_: str) -> ProgramError:
    return ProgramError("syntax", message, span, help=help_)
