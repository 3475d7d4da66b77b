"""How a symbol is spelled in a pattern: escapes read and written."""

from __future__ import annotations

import re

from handcraft.errors import ProgramError, Span

OPERATORS = frozenset("()[]{}|&~.*+?^$\\")
"""The characters that stand for themselves only after a backslash."""

_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r"}
_HALVES = range(0xD800, 0xE000)
_LAST = 0x10FFFF

_CLASSES = {
    "d": "write the digits as a class: `[0-9]`",
    "w": "write the letters as a class: `[a-z]`",
    "s": "write the characters as a class: `[ \\t]`",
    "b": "a pattern tells the whole text: write what stands on both sides",
}


def read_symbol(span: Span) -> str:
    """Return what a symbol stands for, its escapes read.

    Raises:
        ProgramError: `syntax` where an escape is unknown, or no character.
    """
    pieces: list[str] = []
    end = span.start
    for escape in _ESCAPE.finditer(span.source.text, span.start, span.end):
        pieces.append(span.source.text[end : escape.start()])
        pieces.append(_character(escape[1], Span(span.source, *escape.span())))
        end = escape.end()
    pieces.append(span.source.text[end : span.end])
    return "".join(pieces)


def _character(name: str, span: Span) -> str:
    if len(name) > 1:
        code = int(name[1:], 16)
        if code in _HALVES or code > _LAST:
            message = f"`{span.text}` is no character"
            raise ProgramError("syntax", message, span, help="write the character itself")
        return chr(code)
    if name in _CONTROLS:
        return _CONTROLS[name]
    if name.isalnum():
        known = "the escapes are `\\n \\t \\r \\x41 \\u0041`, and a backslash before an operator"
        help_ = _CLASSES.get(name.lower(), known)
        raise ProgramError("syntax", f"`{span.text}` is no escape", span, help=help_)
    return name


def write_symbol(text: str) -> str:
    r"""Return how a pattern spells a symbol, outside of classes: `a`, `\*`, `how\?`."""
    return "".join("\\" + character if character in OPERATORS else character for character in text)
